import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.InvalidAlgorithmParameterException;
import java.security.MessageDigest;
import java.security.Provider;
import java.security.Security;
import java.security.spec.AlgorithmParameterSpec;
import java.util.Arrays;
import java.util.HexFormat;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.ChaCha20ParameterSpec;
import javax.crypto.spec.GCMParameterSpec;
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
        Provider known = Security.getProvider(arguments[0]);
        Provider provider =
                known != null ? known : (Provider) Class.forName(arguments[0]).getConstructor().newInstance();
        Message message = open(provider, arguments[1], arguments[2], key, iv);
        System.out.println("ready " + (known != null ? System.getProperty("java.version") : provider.getVersionStr()));
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            long runs = Long.parseLong(line.strip());
            if (runs == 0) {
                int count = open(provider, arguments[1], arguments[2], key, iv).process(input, output);
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

    private static Message open(Provider provider, String service, String name, byte[] key, byte[] iv)
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
                return messages(cipher, new SecretKeySpec(key, algorithm), iv);
            }
            default -> throw new IllegalArgumentException(service);
        }
    }

    /** Messages with the initial block and with another in turn, because there are ciphers that refuse the same twice. */
    private static Message messages(Cipher cipher, SecretKeySpec key, byte[] iv) throws Exception {
        if (iv.length == 0) {
            return (in, out) -> {
                cipher.init(Cipher.ENCRYPT_MODE, key);
                return cipher.doFinal(in, 0, in.length, out, 0);
            };
        }
        byte[] other = iv.clone();
        other[0] ^= 1;
        AlgorithmParameterSpec[] turns = {parameters(cipher, key, iv), parameters(cipher, key, other)};
        return new Message() {
            private int turn;

            @Override
            public int process(byte[] in, byte[] out) throws Exception {
                cipher.init(Cipher.ENCRYPT_MODE, key, turns[turn]);
                turn ^= 1;
                return cipher.doFinal(in, 0, in.length, out, 0);
            }
        };
    }

    /** What the cipher takes beside its key. */
    private static AlgorithmParameterSpec parameters(Cipher cipher, SecretKeySpec key, byte[] iv) throws Exception {
        for (AlgorithmParameterSpec spec : new AlgorithmParameterSpec[] {new IvParameterSpec(iv), new GCMParameterSpec(128, iv)}) {
            try {
                cipher.init(Cipher.DECRYPT_MODE, key, spec);
                return spec;
            } catch (InvalidAlgorithmParameterException wantsAnother) {
                // The next one.
            }
        }
        return new ChaCha20ParameterSpec(iv, 0);
    }

    private static byte[] bytes(String digits) {
        return digits.equals("-") ? new byte[0] : HexFormat.of().parseHex(digits);
    }
}
