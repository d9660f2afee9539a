package headrace;

import java.security.InvalidKeyException;
import java.security.Key;
import java.security.KeyFactory;
import java.security.NoSuchAlgorithmException;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.spec.SecretKeySpec;

/** Keys that were wrapped in others. */
final class Keys {
    private Keys() {}

    /** The bytes of a key that is to be wrapped. */
    static byte[] bytes(Key key) throws InvalidKeyException {
        byte[] bytes = key.getEncoded();
        if (bytes == null || bytes.length == 0) {
            throw new InvalidKeyException("the key that is to be wrapped has no encoding");
        }
        return bytes;
    }

    /** The key that these bytes encode, which are overwritten. */
    static Key key(byte[] bytes, String algorithm, int type) throws InvalidKeyException, NoSuchAlgorithmException {
        try {
            return switch (type) {
                case Cipher.SECRET_KEY -> new SecretKeySpec(bytes, algorithm);
                case Cipher.PRIVATE_KEY ->
                        KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(bytes));
                case Cipher.PUBLIC_KEY -> KeyFactory.getInstance(algorithm).generatePublic(new X509EncodedKeySpec(bytes));
                default -> throw new NoSuchAlgorithmException("there is no such type of keys");
            };
        } catch (InvalidKeySpecException error) {
            throw new InvalidKeyException("the bytes are no key of " + algorithm, error);
        } finally {
            Arrays.fill(bytes, (byte) 0);
        }
    }
}
