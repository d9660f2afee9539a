package models;

import java.nio.ByteBuffer;
import java.security.AlgorithmParameters;
import java.security.Key;
import java.security.KeyPairGenerator;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.security.spec.AlgorithmParameterSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import javax.crypto.Cipher;
import javax.crypto.spec.ChaCha20ParameterSpec;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** Calls of a `Cipher`: messages in pieces of every form, and what else a program may do meanwhile. */
final class CipherCalls {
    private static final int[] MODES = {Cipher.ENCRYPT_MODE, Cipher.DECRYPT_MODE, Cipher.WRAP_MODE, Cipher.UNWRAP_MODE};
    private static final String[] MODE_NAMES = {"ENCRYPT", "DECRYPT", "WRAP", "UNWRAP"};

    /** A public and a private key to be wrapped. */
    private static final Key[] PAIR = pair();

    final List<Call> listed = new ArrayList<>();
    private final CipherSubject subject;
    private final Random random;

    CipherCalls(CipherSubject subject, Random random) {
        this.subject = subject;
        this.random = random;
    }

    private static Key[] pair() {
        try {
            KeyPairGenerator generator = KeyPairGenerator.getInstance("EC", "SunEC");
            var pair = generator.generateKeyPair();
            return new Key[] {pair.getPublic(), pair.getPrivate()};
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(error);
        }
    }

    /** A source of numbers that gives the same to everybody. */
    private static final class Same extends SecureRandom {
        private static final long serialVersionUID = 1L;
        private final Random numbers;

        Same(long seed) {
            super(null, null);
            numbers = new Random(seed);
        }

        @Override
        public void nextBytes(byte[] bytes) {
            numbers.nextBytes(bytes);
        }
    }

    private interface OnCipher {
        String on(Cipher cipher) throws Exception;
    }

    private void add(String text, OnCipher action) {
        listed.add(new Call("cipher." + text, false, objects -> action.on(objects.get(0, Cipher.class))));
    }

    private void add(String text, OnCipher action, OnCipher plain) {
        // An empty piece has no other form: arrays of no bytes do not reach a service.
        OnCipher other = text.contains("[0]") && text.startsWith("update(") ? action : plain;
        listed.add(new Call("cipher." + text, false, objects -> action.on(objects.get(0, Cipher.class)),
                objects -> other.on(objects.get(0, Cipher.class))));
    }

    private int of(int... choices) {
        return choices[random.nextInt(choices.length)];
    }

    private boolean rarely() {
        return random.nextInt(12) == 0;
    }

    // --- messages ---

    /** What a message is begun with. */
    private record Begun(int mode, Key key, byte[] iv, int tagBits, int counter) {}

    /** A message from `init` to its end, mostly right. */
    void message() {
        int which = random.nextInt(8);
        int mode = which < 3 ? 0 : which < 6 ? 1 : which - 4;
        int keyBytes = subject.keyBytes(random);
        Key key = subject.key(keyBytes, 1 + random.nextInt(2));
        // Few nonces, so that some come again.
        int ivBytes = subject.takesGcm && random.nextInt(4) == 0 ? of(1, 8, 16, 20) : subject.ivBytes;
        byte[] iv = Bytes.random(new Random(random.nextInt(6)), ivBytes);
        int tagBits = of(128, 128, 96, 104, 112, 120);
        int counter = of(0, 1, 1, 2, 7);
        Begun begun = new Begun(mode, key, iv, tagBits, counter);
        init(begun);
        if (mode == 2) {
            wrap();
            return;
        }
        byte[] text = Bytes.random(random, Bytes.length(random));
        byte[] ad = subject.isAead && random.nextBoolean() ? Bytes.random(random, Bytes.length(random)) : new byte[0];
        if (mode == 1 || mode == 3) {
            text = encrypted(begun, mode == 3 ? secret() : text, mode == 3 ? new byte[0] : ad);
        }
        if (mode == 3) {
            unwrap(text);
            return;
        }
        for (int from = 0; from < ad.length; ) {
            int n = Math.min(ad.length - from, 1 + random.nextInt(ad.length));
            associate(Arrays.copyOfRange(ad, from, from + n));
            from += n;
            noiseAtTimes();
        }
        int from = 0;
        while (from < text.length && random.nextInt(4) > 0) {
            int n = Math.min(text.length - from, of(1, 7, 8, 15, 16, 17, 32, 33, 48, text.length));
            update(Arrays.copyOfRange(text, from, from + n));
            from += n;
            noiseAtTimes();
        }
        finish(Arrays.copyOfRange(text, from, text.length));
        if (random.nextInt(3) == 0) {
            // A further one under the same key, for which some want another nonce.
            update(Bytes.random(random, Bytes.length(random)));
            finish(Bytes.random(random, Bytes.length(random)));
        }
    }

    private byte[] secret() {
        byte[][] keys = {Bytes.random(random, 16), Bytes.random(random, 32), PAIR[0].getEncoded(), PAIR[1].getEncoded()};
        return keys[random.nextInt(keys.length)];
    }

    /** What the JDK makes of a text, as a rule. */
    private byte[] encrypted(Begun begun, byte[] text, byte[] ad) {
        try {
            Cipher cipher = Cipher.getInstance(subject.name, subject.theirs);
            AlgorithmParameterSpec spec = subject.spec(begun.iv, begun.tagBits, begun.counter);
            cipher.init(Cipher.ENCRYPT_MODE, begun.key, spec);
            cipher.updateAAD(ad);
            byte[] sealed = cipher.doFinal(text);
            if (sealed.length > 0 && random.nextInt(6) == 0) {
                sealed[random.nextInt(sealed.length)] ^= (byte) (1 << random.nextInt(8));
            }
            return random.nextInt(15) == 0 ? Arrays.copyOf(sealed, random.nextInt(sealed.length + 1)) : sealed;
        } catch (GeneralSecurityException | RuntimeException whole) {
            // Such as a text that is no number of blocks.
            return text;
        }
    }

    private void init(Begun begun) {
        int mode = MODES[begun.mode];
        int form = random.nextInt(5) == 0 ? 4 + random.nextInt(12) : random.nextInt(4);
        long seed = random.nextLong();
        AlgorithmParameterSpec spec = subject.spec(begun.iv, begun.tagBits, begun.counter);
        byte[] other = Bytes.random(random, of(0, 5, 7, 12, 16));
        int wrong = random.nextInt(6);
        String[] forms = {
            "key, spec", "key, spec, random", "key, parameters", "key, random", "key", "key, no spec, random",
            "key, no parameters, random", "no key", "key of another name", "key of another length", "wrong key",
            "spec of another length", "spec of another class", "parameters of another algorithm", "tag of another length",
            "parameters of nothing"
        };
        String text = "cipher.init(" + MODE_NAMES[begun.mode] + ", " + forms[form] + ", nonce " + Bytes.hex(begun.iv) + ", "
                + begun.tagBits + ", " + begun.counter + (form > 7 ? ", " + wrong + ", [" + other.length + "]" : "") + ")";
        listed.add(new Call(text, true, objects -> {
            Cipher cipher = objects.get(0, Cipher.class);
            Same numbers = new Same(seed);
            Key key = begun.key;
            switch (form) {
                case 0 -> cipher.init(mode, key, spec);
                case 1 -> cipher.init(mode, key, spec, numbers);
                case 2 -> {
                    if (subject.parametersName == null) {
                        cipher.init(mode, key, spec);
                    } else {
                        AlgorithmParameters parameters = AlgorithmParameters.getInstance(subject.parametersName);
                        parameters.init(spec);
                        cipher.init(mode, key, parameters);
                    }
                }
                case 3 -> cipher.init(mode, key, numbers);
                case 4 -> cipher.init(mode, key, spec);
                case 5 -> cipher.init(mode, key, (AlgorithmParameterSpec) null, numbers);
                case 6 -> cipher.init(mode, key, (AlgorithmParameters) null, numbers);
                case 7 -> cipher.init(mode, null, spec);
                case 8 -> cipher.init(mode, new SecretKeySpec(key.getEncoded(), wrong == 0 ? "" + subject.keyName.toLowerCase() : "Foo"), spec);
                case 9 -> cipher.init(mode, new SecretKeySpec(new byte[3 + wrong], subject.keyName), spec);
                case 10 -> cipher.init(mode, MacSubject.wrongKey(wrong), spec);
                case 11 -> cipher.init(mode, key, subject.spec(other, begun.tagBits, begun.counter));
                case 12 -> cipher.init(mode, key, wrong % 3 == 0
                        ? new IvParameterSpec(begun.iv)
                        : wrong % 3 == 1 ? new GCMParameterSpec(128, begun.iv) : new ChaCha20ParameterSpec(new byte[12], 1));
                case 13 -> {
                    AlgorithmParameters parameters = AlgorithmParameters.getInstance(wrong % 2 == 0 ? "DES" : "GCM");
                    parameters.init(wrong % 2 == 0 ? new IvParameterSpec(new byte[8]) : new GCMParameterSpec(128, begun.iv));
                    cipher.init(mode, key, parameters);
                }
                case 14 -> cipher.init(mode, key, subject.spec(begun.iv, new int[] {0, 32, 64, 88, 100, 136}[wrong], begun.counter));
                default -> cipher.init(mode, key, AlgorithmParameters.getInstance("AES"));
            }
            return "done";
        }));
    }

    private void wrap() {
        byte[] secret = Bytes.random(random, of(8, 16, 16, 24, 32, 5));
        int which = random.nextInt(4);
        Key key = which < 2 ? new SecretKeySpec(secret, "AES") : PAIR[which - 2];
        add("wrap(key " + which + " [" + secret.length + "])", cipher -> Bytes.hex(cipher.wrap(key)));
        noiseAtTimes();
    }

    private void unwrap(byte[] wrapped) {
        int type = of(Cipher.SECRET_KEY, Cipher.SECRET_KEY, Cipher.PUBLIC_KEY, Cipher.PRIVATE_KEY);
        String algorithm = type == Cipher.SECRET_KEY ? "AES" : rarely() ? "Nothing" : "EC";
        add("unwrap([" + wrapped.length + "], " + algorithm + ", " + type + ")", cipher -> {
            Key key = cipher.unwrap(wrapped, algorithm, type);
            return key.getAlgorithm() + " " + Bytes.hex(key.getEncoded());
        });
        noiseAtTimes();
    }

    private void associate(byte[] bytes) {
        if (random.nextBoolean()) {
            add("updateAAD([" + bytes.length + "])", cipher -> {
                cipher.updateAAD(Bytes.joined(new byte[3], bytes), 3, bytes.length);
                return "done";
            });
        } else {
            Bytes.Form form = Bytes.Form.any(random);
            add("updateAAD(" + form + " [" + bytes.length + "])", cipher -> {
                ByteBuffer buffer = form.of(bytes);
                cipher.updateAAD(buffer);
                return "left " + buffer.remaining();
            }, cipher -> {
                cipher.updateAAD(bytes);
                return "left 0";
            });
        }
    }

    // --- pieces and ends ---

    private static String shown(byte[] came) {
        return came == null ? "" : Bytes.hex(came);
    }

    private static OnCipher plain(byte[] bytes, boolean last, String behind) {
        return cipher -> {
            byte[] came = last ? cipher.doFinal(bytes) : cipher.update(bytes);
            return (came == null ? 0 : came.length) + ": " + shown(came) + behind;
        };
    }

    /** Where it may, a piece comes first in vain, into a room that is too small. */
    private void update(byte[] bytes) {
        if (random.nextInt(4) == 0) {
            piece(bytes, false, random.nextInt(bytes.length + 2) - 1);
        }
        piece(bytes, false, -1);
    }

    private void finish(byte[] bytes) {
        if (random.nextInt(3) == 0) {
            piece(bytes, true, random.nextInt(bytes.length + 20));
        }
        piece(bytes, true, -1);
    }

    /** A piece, the last one or not, in any form; with so much room, where the form has room. */
    private void piece(byte[] bytes, boolean last, int given) {
        boolean tight = given >= 0;
        int room = tight ? given : bytes.length + 600 + 2 * subject.ivBytes;
        String name = last ? "doFinal" : "update";
        String in = "[" + bytes.length + "]";
        switch (tight ? 2 + random.nextInt(4) : random.nextInt(8)) {
            case 0 -> add(name + "(" + in + ")", cipher -> shown(last ? cipher.doFinal(bytes) : cipher.update(bytes)));
            case 1 -> add(name + "(" + in + ", 3, " + bytes.length + ")", cipher -> {
                byte[] longer = Bytes.joined(Bytes.joined(new byte[3], bytes), new byte[2]);
                return shown(last ? cipher.doFinal(longer, 3, bytes.length) : cipher.update(longer, 3, bytes.length));
            });
            case 2, 3 -> {
                int at = of(0, 0, 3, 11, 64);
                boolean beyond = rarely() && tight;
                int from = beyond ? at + room + 1 : at;
                add(name + "(" + in + ", 0, " + bytes.length + ", new byte[" + (at + room) + "], " + from + ")", cipher -> {
                    byte[] out = new byte[at + room];
                    int came = last
                            ? cipher.doFinal(bytes, 0, bytes.length, out, from)
                            : cipher.update(bytes, 0, bytes.length, out, from);
                    return came + ": " + Bytes.hex(out, from, came);
                }, plain(bytes, last, ""));
            }
            case 4, 5 -> {
                Bytes.Form form = Bytes.Form.any(random);
                Bytes.Form to = Bytes.Form.writable(random);
                add(name + "(" + form + in + ", " + to + " room " + room + ")", cipher -> {
                    ByteBuffer buffer = form.of(bytes);
                    ByteBuffer out = to.room(room);
                    int at = out.position();
                    int came = last ? cipher.doFinal(buffer, out) : cipher.update(buffer, out);
                    return came + ": " + Bytes.put(out, at) + ", left " + buffer.remaining();
                }, plain(bytes, last, ", left 0"));
            }
            case 6 -> {
                int from = of(0, 0, 5, 40);
                int to = of(0, 0, 5, 16, 40, 41);
                add(name + "(all, " + from + ", " + bytes.length + ", all, " + to + ")", cipher -> {
                    byte[] all = new byte[Math.max(from, to) + room];
                    System.arraycopy(bytes, 0, all, from, bytes.length);
                    int came = last ? cipher.doFinal(all, from, bytes.length, all, to) : cipher.update(all, from, bytes.length, all, to);
                    return came + ": " + Bytes.hex(all, to, came);
                }, plain(bytes, last, ""));
            }
            default -> {
                int from = of(0, 0, 5, 40);
                int to = of(0, 0, 5, 16, 40, 41);
                boolean direct = random.nextBoolean();
                add(name + "(buffer at " + from + in + ", same buffer at " + to + (direct ? ", direct)" : ")"), cipher -> {
                    int size = Math.max(from, to) + room;
                    ByteBuffer all = direct ? ByteBuffer.allocateDirect(size) : ByteBuffer.allocate(size);
                    all.position(from).put(bytes).flip().position(from);
                    ByteBuffer out = all.duplicate().clear().position(to);
                    int came = last ? cipher.doFinal(all, out) : cipher.update(all, out);
                    return came + ": " + Bytes.put(out, to) + ", left " + all.remaining();
                }, plain(bytes, last, ", left 0"));
            }
        }
    }

    // --- what else may be done ---

    private void noiseAtTimes() {
        if (random.nextInt(5) == 0) {
            noise();
        }
    }

    void noise() {
        int n = Bytes.length(random);
        switch (random.nextInt(9)) {
            case 0 -> add("getIV()", cipher -> Bytes.hex(cipher.getIV()));
            case 1 -> add("getBlockSize()", cipher -> "" + cipher.getBlockSize());
            case 2 -> add("getOutputSize(" + n + ")", cipher -> "" + cipher.getOutputSize(n));
            case 3 -> add("getParameters()", cipher -> {
                AlgorithmParameters parameters = cipher.getParameters();
                if (parameters == null) {
                    return "none";
                }
                // Without a nonce one is chosen, of which the length is known.
                byte[] encoded = parameters.getEncoded();
                return parameters.getAlgorithm() + " " + (cipher.getIV() == null ? "" + encoded.length : Bytes.hex(encoded));
            });
            case 4 -> associate(Bytes.random(random, n));
            case 5 -> wrap();
            case 6 -> unwrap(Bytes.random(random, n));
            case 7 -> add("doFinal(room 3, 1)", cipher -> "" + cipher.doFinal(new byte[3], 1));
            default -> piece(Bytes.random(random, n), random.nextInt(4) == 0, random.nextBoolean() ? -1 : random.nextInt(n + 3));
        }
    }
}
