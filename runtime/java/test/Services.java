package headrace.test;

import java.security.AlgorithmParameters;
import java.security.InvalidAlgorithmParameterException;
import java.security.Key;
import java.security.MessageDigest;
import java.security.Provider;
import java.security.SecureRandom;
import java.security.spec.AlgorithmParameterSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.ChaCha20ParameterSpec;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** Known answers through the JCA. */
public final class Services {
    private final Provider provider;

    public Services(Provider provider) {
        this.provider = provider;
    }

    private static Key key(Answer answer, String name) {
        return new SecretKeySpec(answer.get("KEY"), name);
    }

    private static AlgorithmParameterSpec iv(Answer answer) {
        byte[] iv = answer.find("NONCE") != null ? answer.find("NONCE") : answer.find("IV");
        return iv == null ? null : new IvParameterSpec(iv);
    }

    /** With a nonce in the class of parameters that is taken. */
    private Cipher begun(String name, int mode, Key key, Answer answer) throws Exception {
        List<AlgorithmParameterSpec> specs = new ArrayList<>();
        if (iv(answer) instanceof IvParameterSpec plain) {
            specs.add(plain);
            byte[] tag = answer.find("TAG") != null ? answer.find("TAG") : answer.find("TAG_IN");
            specs.add(new GCMParameterSpec(tag == null ? 128 : 8 * tag.length, plain.getIV()));
            if (plain.getIV().length == 12) {
                specs.add(new ChaCha20ParameterSpec(plain.getIV(), 0));
            }
        } else {
            specs.add(null);
        }
        for (AlgorithmParameterSpec spec : specs) {
            try {
                Cipher cipher = Cipher.getInstance(name, provider);
                cipher.init(mode, key, spec);
                return cipher;
            } catch (InvalidAlgorithmParameterException refused) {
                if (spec == specs.get(specs.size() - 1)) {
                    throw refused;
                }
            }
        }
        throw new AssertionError("there is something to be tried");
    }

    private static byte[] joined(byte[] one, byte[] other) {
        byte[] all = Arrays.copyOf(one, one.length + other.length);
        System.arraycopy(other, 0, all, one.length, other.length);
        return all;
    }

    /** What a service cannot be asked: keys of no bytes, and tags of which a part is known. */
    private static boolean isSaid(Answer answer) {
        return answer.get("KEY").length > 0 && !answer.isRefused();
    }

    /** No ciphertext at all, which the operation refuses: services of the JDK take it for an empty text. */
    private static boolean isNothing(Answer answer) {
        return answer.isRefused() && answer.get("INPUT").length == 0 && answer.find("TAG_IN") == null;
    }

    public void digest(String name, String operation) throws Exception {
        MessageDigest digest = MessageDigest.getInstance(name, provider);
        for (Answer answer : Answer.of(operation)) {
            byte[] input = answer.get("INPUT");
            answer.judge(name, () -> {
                digest.update(input, 0, input.length / 2);
                digest.update(input, input.length / 2, input.length - input.length / 2);
                return new Made().with("OUTPUT", digest.digest());
            });
        }
    }

    public void mac(String name, String operation) throws Exception {
        Mac mac = Mac.getInstance(name, provider);
        for (Answer answer : Answer.of(operation)) {
            if (isSaid(answer)) {
                answer.judge(name, () -> {
                    mac.init(key(answer, name), iv(answer));
                    mac.update(answer.get("INPUT"));
                    byte[] once = mac.doFinal();
                    // And again under the same key.
                    if (!Arrays.equals(once, mac.doFinal(answer.get("INPUT")))) {
                        throw new AssertionError(name + " differs under the same key");
                    }
                    return new Made().with("TAG", once);
                });
            }
        }
    }

    public void cipher(String name, String keyName, String operation, String inverse) throws Exception {
        for (Answer answer : Answer.of(operation)) {
            if (!isSaid(answer)) {
                continue;
            }
            answer.judge(name, () -> {
                Cipher cipher = begun(name, Cipher.ENCRYPT_MODE, key(answer, keyName), answer);
                return made(answer, through(cipher, answer, answer.get("INPUT")));
            });
            answer.judge(name + ", back", () -> {
                Cipher cipher = begun(name, Cipher.DECRYPT_MODE, key(answer, keyName), answer);
                // By what a program hands on beside a message, where the JDK has such parameters.
                AlgorithmParameters parameters = cipher.getParameters();
                if (parameters != null) {
                    cipher.init(Cipher.DECRYPT_MODE, key(answer, keyName), parameters);
                }
                byte[] text = joined(answer.get("OUTPUT"), answer.get("TAG"));
                byte[] back = through(cipher, answer, text);
                if (!Arrays.equals(back, answer.get("INPUT"))) {
                    throw new AssertionError(name + " is not undone");
                }
                return new Made();
            });
        }
        for (Answer answer : Answer.of(inverse)) {
            if (answer.get("KEY").length > 0 && !isNothing(answer)) {
                answer.judge(name + ", inverse", () -> {
                    Cipher cipher = begun(name, Cipher.DECRYPT_MODE, key(answer, keyName), answer);
                    return new Made().with("OUTPUT", through(cipher, answer, joined(answer.get("INPUT"), answer.get("TAG_IN"))));
                });
            }
        }
    }

    /** In two pieces. */
    private static byte[] through(Cipher cipher, Answer answer, byte[] text) throws Exception {
        if (answer.find("AD") != null) {
            cipher.updateAAD(answer.get("AD"));
        }
        byte[] first = cipher.update(text, 0, text.length / 3);
        int left = text.length - text.length / 3;
        // Room for so much must do, which programs fill without asking how much came.
        byte[] rest = new byte[cipher.getOutputSize(left)];
        int came = cipher.doFinal(text, text.length / 3, left, rest);
        rest = Arrays.copyOf(rest, came);
        return first == null ? rest : joined(first, rest);
    }

    private static Made made(Answer answer, byte[] text) {
        int length = answer.get("OUTPUT").length;
        Made made = new Made().with("OUTPUT", Arrays.copyOf(text, Math.min(length, text.length)));
        return answer.find("TAG") == null ? made : made.with("TAG", Arrays.copyOfRange(text, length, text.length));
    }

    /** Numbers have no known answers: those of two requests must differ, and large ones are served. */
    public void random(String name) throws Exception {
        SecureRandom random = SecureRandom.getInstance(name, provider);
        byte[] one = new byte[100_000];
        byte[] other = new byte[one.length];
        random.nextBytes(one);
        random.setSeed(one);
        random.nextBytes(new byte[1]);
        random.reseed();
        random.nextBytes(other);
        if (Arrays.equals(one, other) || Arrays.equals(one, new byte[one.length])) {
            throw new AssertionError(name + " repeats itself");
        }
    }
}
