package models;

import java.nio.ByteBuffer;
import java.security.Key;
import java.security.Provider;
import java.security.PublicKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import javax.crypto.Mac;
import javax.crypto.SecretKey;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** A `Mac`. */
final class MacSubject extends Subject {
    MacSubject(String name, Provider ours, Provider theirs) {
        super(name, ours, theirs);
    }

    @Override
    boolean isOne(String services) {
        return services.equals("Mac");
    }

    @Override
    Callable<Object> made(Provider provider) {
        return () -> Mac.getInstance(name, provider);
    }

    @Override
    List<Call> calls(Random random) {
        List<Call> calls = new ArrayList<>();
        if (random.nextInt(12) > 0) {
            calls.add(init(random, 0, 0));
        }
        for (int n = 1 + random.nextInt(14); n > 0; n--) {
            calls.add(call(random));
        }
        return calls;
    }

    /** A key that tells nothing of its bytes. */
    private record Silent() implements SecretKey {
        @Override
        public String getAlgorithm() {
            return "AES";
        }

        @Override
        public String getFormat() {
            return null;
        }

        @Override
        public byte[] getEncoded() {
            return null;
        }
    }

    /** A public key, whatever it says. */
    private record Open() implements PublicKey {
        @Override
        public String getAlgorithm() {
            return "RSA";
        }

        @Override
        public String getFormat() {
            return "X.509";
        }

        @Override
        public byte[] getEncoded() {
            return new byte[32];
        }
    }

    /** Keys that are refused, wherever one is wanted. */
    static Key wrongKey(int which) {
        return which % 2 == 0 ? new Silent() : new Open();
    }

    private static Call init(Random random, int slot, int wrong) {
        byte[] key = Bytes.random(random, 1 + random.nextInt(200));
        return of("mac" + slot + ".init(" + (wrong == 0 ? "key [" + key.length + "]" : "wrong " + wrong) + ")", slot, mac -> {
            switch (wrong) {
                case 0 -> mac.init(new SecretKeySpec(key, "any"));
                case 1 -> mac.init(null);
                case 2, 3 -> mac.init(wrongKey(wrong));
                default -> mac.init(new SecretKeySpec(key, "any"), new IvParameterSpec(key));
            }
            return "done";
        });
    }

    private static Call call(Random random) {
        int slot = random.nextInt(Objects.SLOTS);
        byte[] bytes = Bytes.random(random, Bytes.length(random));
        String in = "[" + bytes.length + "]";
        String object = "mac" + slot;
        switch (random.nextInt(12)) {
            case 0:
                return of(object + ".update(one byte)", slot, mac -> {
                    mac.update((byte) bytes.length);
                    return "done";
                });
            case 1, 2: {
                int from = random.nextInt(8) - 1;
                int count = Math.max(0, bytes.length - 5) + random.nextInt(7) - 1;
                return of(object + ".update(" + in + ", " + from + ", " + count + ")", slot, mac -> {
                    mac.update(bytes, from, count);
                    return "done";
                });
            }
            case 3, 4: {
                Bytes.Form form = Bytes.Form.any(random);
                return of(object + ".update(" + form + in + ")", slot, mac -> {
                    ByteBuffer buffer = form.of(bytes);
                    mac.update(buffer);
                    return "left " + buffer.remaining();
                });
            }
            case 5:
                return of(object + ".doFinal()", slot, mac -> Bytes.hex(mac.doFinal()));
            case 6:
                return of(object + ".doFinal(" + in + ")", slot, mac -> Bytes.hex(mac.doFinal(bytes)));
            case 7: {
                int size = random.nextInt(100);
                int at = random.nextInt(9);
                return of(object + ".doFinal(new byte[" + size + "], " + at + ")", slot, mac -> {
                    byte[] out = new byte[size];
                    mac.doFinal(out, at);
                    return Bytes.hex(out);
                });
            }
            case 8:
                return of(object + ".reset()", slot, mac -> {
                    mac.reset();
                    return "done";
                });
            case 9:
                return init(random, slot, random.nextInt(5));
            case 10:
                return of(object + ".getMacLength()", slot, mac -> "" + mac.getMacLength());
            default: {
                int to = random.nextInt(Objects.SLOTS);
                return new Call("mac" + to + " = " + object + ".clone()", false, objects -> {
                    objects.put(to, objects.get(slot, Mac.class).clone());
                    return "done";
                });
            }
        }
    }

    private interface OnMac {
        String on(Mac mac) throws Exception;
    }

    private static Call of(String text, int slot, OnMac action) {
        return new Call(text, false, objects -> action.on(objects.get(slot, Mac.class)));
    }
}
