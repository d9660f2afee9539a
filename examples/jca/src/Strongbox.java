import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.Provider;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.HexFormat;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Locks letters into boxes: an initial block, the letter under AES in counter mode, and an HMAC of both. A key is 16 bytes for
 * the cipher and 32 for the HMAC. Whose algorithms these are, the configuration of the JDK decides.
 */
public final class Strongbox {
    private static final int KEY_BYTES = 16;
    private static final int MAC_KEY_BYTES = 32;
    private static final int IV_BYTES = 16;
    private static final int PIECE_BYTES = 1 << 16;

    private final SecretKeySpec key;
    private final SecretKeySpec macKey;

    private Strongbox(Path file) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        if (bytes.length != KEY_BYTES + MAC_KEY_BYTES) {
            throw new IOException(file + " has " + bytes.length + " bytes; a key has " + (KEY_BYTES + MAC_KEY_BYTES));
        }
        key = new SecretKeySpec(bytes, 0, KEY_BYTES, "AES");
        macKey = new SecretKeySpec(bytes, KEY_BYTES, MAC_KEY_BYTES, "HmacSHA256");
        Arrays.fill(bytes, (byte) 0);
    }

    private static void served(String algorithm, Provider provider) {
        System.err.println(algorithm + ": " + provider.getName());
    }

    private Cipher cipher(int mode, byte[] iv) throws GeneralSecurityException {
        Cipher cipher = Cipher.getInstance("AES/CTR/NoPadding");
        cipher.init(mode, key, new IvParameterSpec(iv));
        served("AES/CTR/NoPadding", cipher.getProvider());
        return cipher;
    }

    private Mac mac() throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(macKey);
        served("HmacSHA256", mac.getProvider());
        return mac;
    }

    /** What takes a piece of a file. */
    private interface Piece {
        void take(byte[] bytes, int count) throws IOException;
    }

    /** Hands on so many bytes of a file, piece after piece. */
    private static void pieces(InputStream in, long count, Piece piece) throws IOException {
        byte[] bytes = new byte[PIECE_BYTES];
        for (long left = count; left > 0; ) {
            int n = in.read(bytes, 0, (int) Math.min(left, bytes.length));
            if (n < 0) {
                throw new IOException("the file became shorter while it was read");
            }
            piece.take(bytes, n);
            left -= n;
        }
    }

    private static void write(OutputStream out, byte[] bytes) throws IOException {
        // A cipher that keeps what is no whole block yet gives nothing.
        if (bytes != null) {
            out.write(bytes);
        }
    }

    private static void fingerprint(Path file) throws IOException, GeneralSecurityException {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        try (InputStream in = Files.newInputStream(file)) {
            pieces(in, Files.size(file), (bytes, count) -> digest.update(bytes, 0, count));
        }
        System.out.println(HexFormat.of().formatHex(digest.digest()) + "  " + file);
        served("SHA-256", digest.getProvider());
    }

    private void lock(Path letter, Path box) throws IOException, GeneralSecurityException {
        SecureRandom random = new SecureRandom();
        byte[] iv = new byte[IV_BYTES];
        random.nextBytes(iv);
        served("SecureRandom", random.getProvider());
        Cipher cipher = cipher(Cipher.ENCRYPT_MODE, iv);
        Mac mac = mac();
        mac.update(iv);
        try (InputStream in = Files.newInputStream(letter); OutputStream out = Files.newOutputStream(box)) {
            out.write(iv);
            pieces(in, Files.size(letter), (bytes, count) -> {
                byte[] encrypted = cipher.update(bytes, 0, count);
                if (encrypted != null) {
                    mac.update(encrypted);
                    out.write(encrypted);
                }
            });
            byte[] rest = cipher.doFinal();
            mac.update(rest);
            out.write(rest);
            out.write(mac.doFinal());
        }
    }

    /** Reads a box twice, so that nothing of a letter is written of which the tag is wrong. */
    private void open(Path box, Path letter) throws IOException, GeneralSecurityException {
        Mac mac = mac();
        long encrypted = Files.size(box) - IV_BYTES - mac.getMacLength();
        if (encrypted < 0) {
            throw new IOException(box + " is too short for a box");
        }
        try (InputStream in = Files.newInputStream(box)) {
            pieces(in, IV_BYTES + encrypted, (bytes, count) -> mac.update(bytes, 0, count));
            if (!MessageDigest.isEqual(mac.doFinal(), in.readNBytes(mac.getMacLength()))) {
                throw new IOException(box + " is not what was locked under this key");
            }
        }
        try (InputStream in = Files.newInputStream(box); OutputStream out = Files.newOutputStream(letter)) {
            Cipher cipher = cipher(Cipher.DECRYPT_MODE, in.readNBytes(IV_BYTES));
            pieces(in, encrypted, (bytes, count) -> write(out, cipher.update(bytes, 0, count)));
            write(out, cipher.doFinal());
        }
    }

    public static void main(String[] arguments) throws GeneralSecurityException {
        String command = arguments.length == 0 ? "" : arguments[0];
        try {
            if (command.equals("fingerprint") && arguments.length == 2) {
                fingerprint(Path.of(arguments[1]));
            } else if (command.equals("lock") && arguments.length == 4) {
                new Strongbox(Path.of(arguments[1])).lock(Path.of(arguments[2]), Path.of(arguments[3]));
            } else if (command.equals("open") && arguments.length == 4) {
                new Strongbox(Path.of(arguments[1])).open(Path.of(arguments[2]), Path.of(arguments[3]));
            } else {
                System.err.println("usage: Strongbox fingerprint FILE | lock KEY LETTER BOX | open KEY BOX LETTER");
                System.exit(2);
            }
        } catch (IOException error) {
            System.err.println(error.getMessage());
            System.exit(1);
        }
    }
}
