import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.InvalidAlgorithmParameterException;
import java.security.InvalidKeyException;
import java.security.MessageDigest;
import java.security.Provider;
import java.security.Security;
import java.security.spec.AlgorithmParameterSpec;
import java.util.Arrays;
import java.util.HexFormat;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.ChaCha20ParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Processes messages with a service of the JCA, as README.md says. Arguments: class of the provider, or its name, service, name of the
 * algorithm; then key, initial block, input and output.
 */
public final class Jca {
    private Jca() {}

    /** One message; says how many bytes came out. */
    interface Message {
        int process(byte[] input, byte[] output) throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        int strings = arguments.length - 4;
        byte[] key = bytes(arguments[strings]);
        byte[] iv = bytes(arguments[strings + 1]);
        byte[] input = Files.readAllBytes(Path.of(arguments[strings + 2]));
        Path result = Path.of(arguments[strings + 3]);
        byte[] output = new byte[2 * input.length + 64];
        Provider provider = Security.getProvider(arguments[0]);
        if (provider == null) {
            provider = (Provider) Class.forName(arguments[0]).getConstructor().newInstance();
        }
        Message message = open(provider, arguments[1], arguments[2], key, iv, input, output);
        System.out.println("ready " + provider.getVersionStr());
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            long runs = Long.parseLong(line.strip());
            if (runs == 0) {
                int count = message.process(input, output);
                Files.write(result, Arrays.copyOf(output, count));
                System.out.println(0);
            } else {
                System.out.println(timed(message, input, output, runs));
            }
        }
    }

    private static long timed(Message message, byte[] input, byte[] output, long runs) throws Exception {
        long start = System.nanoTime();
        for (long run = 0; run < runs; run++) {
            message.process(input, output);
        }
        return System.nanoTime() - start;
    }

    private static Message open(
            Provider provider, String service, String name, byte[] key, byte[] iv, byte[] input, byte[] output)
            throws Exception {
        String algorithm = name.split("/")[0];
        switch (service) {
            case "MessageDigest" -> {
                MessageDigest digest = MessageDigest.getInstance(name, provider);
                return (in, out) -> {
                    digest.update(in);
                    return digest.digest(out, 0, out.length);
                };
            }
            case "Mac" -> {
                Mac mac = Mac.getInstance(name, provider);
                mac.init(new SecretKeySpec(key, algorithm));
                return (in, out) -> {
                    mac.update(in);
                    mac.doFinal(out, 0);
                    return mac.getMacLength();
                };
            }
            case "Cipher" -> {
                Cipher cipher = Cipher.getInstance(name, provider);
                SecretKeySpec secret = new SecretKeySpec(key, algorithm);
                // Every message begins anew. Where a cipher takes no nonce twice to encrypt, it does so to decrypt, which is the
                // same for key streams; that the outputs are, whoever asks compares.
                AlgorithmParameterSpec parameters = parameters(cipher, secret, iv);
                Message encrypts = with(cipher, Cipher.ENCRYPT_MODE, secret, parameters);
                try {
                    encrypts.process(input, output);
                    encrypts.process(input, output);
                    return encrypts;
                } catch (InvalidKeyException once) {
                    return with(cipher, Cipher.DECRYPT_MODE, secret, parameters);
                }
            }
            default -> throw new IllegalArgumentException(service);
        }
    }

    private static Message with(Cipher cipher, int mode, SecretKeySpec key, AlgorithmParameterSpec parameters) {
        return (in, out) -> {
            if (parameters == null) {
                cipher.init(mode, key);
            } else {
                cipher.init(mode, key, parameters);
            }
            return cipher.doFinal(in, 0, in.length, out, 0);
        };
    }

    /** What the cipher takes beside its key. */
    private static AlgorithmParameterSpec parameters(Cipher cipher, SecretKeySpec key, byte[] iv) throws Exception {
        if (iv.length == 0) {
            return null;
        }
        try {
            cipher.init(Cipher.DECRYPT_MODE, key, new IvParameterSpec(iv));
            return new IvParameterSpec(iv);
        } catch (InvalidAlgorithmParameterException wantsCounter) {
            return new ChaCha20ParameterSpec(iv, 0);
        }
    }

    private static byte[] bytes(String digits) {
        return digits.equals("-") ? new byte[0] : HexFormat.of().parseHex(digits);
    }
}
