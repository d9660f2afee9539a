package headrace;

import java.security.AlgorithmParameters;
import java.security.InvalidAlgorithmParameterException;
import java.security.InvalidKeyException;
import java.security.Key;
import java.security.NoSuchAlgorithmException;
import java.security.Provider;
import java.security.SecureRandom;
import java.security.spec.AlgorithmParameterSpec;
import java.security.spec.InvalidParameterSpecException;
import javax.crypto.spec.ChaCha20ParameterSpec;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;

/**
 * What a {@code Cipher} is and what its {@code init} takes. Where the JDK has a service of that name, this takes and refuses
 * what that does.
 *
 * @param operation the one that encrypts
 * @param blockBytes what is told to be the size of a block; 0 where there is none
 * @param unit output comes in multiples of so many bytes until the end
 * @param pads the end is padded
 * @param isBlockCipher it is a mode of a block cipher without authentication
 * @param parametersName what the JCA calls its {@code AlgorithmParameters}
 * @param parametersClass the only class of parameters that is taken; empty: any that fits
 * @param keyNames what keys may be called; none: anything
 */
record CipherKind(
        Operation operation,
        int blockBytes,
        int unit,
        boolean pads,
        boolean isBlockCipher,
        String parametersName,
        String parametersClass,
        String... keyNames) {
    /** What RFC 5116, section 3.1, recommends where nonces may have other lengths, too. */
    private static final int USUAL_NONCE_BYTES = 12;

    private static final String CHACHA20 = "ChaCha20ParameterSpec";
    private static final String GCM = "GCMParameterSpec";

    /** What is passed over before a key stream begins elsewhere than at its first block; more would take too long. */
    private static final long MOST_BLOCKS_BEFORE = 1 << 16;

    /** Bytes of a block of the key stream of ChaCha20, whose counter has 32 bits. */
    static final int KEY_STREAM_BLOCK = 64;

    /** What {@code init} settles beside a key. */
    record Terms(byte[] iv, int tagBytes, int blocksBefore) {}

    boolean isAead() {
        return operation.has(Operation.TAG);
    }

    /** An AEAD that is a mode of a block cipher, as GCM is. */
    boolean isAeadMode() {
        return isAead() && !parametersClass.equals("IvParameterSpec");
    }

    /** A key stream, authenticated or not, which no two messages may have in common. */
    boolean isStream() {
        return !isBlockCipher && !isAeadMode() && hasIv();
    }

    /** How long a message may be, so that no counter comes round: RFC 8439, section 2.8, and SP 800-38D, section 5.2.1.1. */
    long mostBytes() {
        return switch (parametersClass) {
            case GCM -> (1L << 36) - 32;
            case CHACHA20 -> KEY_STREAM_BLOCK * (1L << 32);
            case "IvParameterSpec" -> KEY_STREAM_BLOCK * ((1L << 32) - 1);
            default -> Long.MAX_VALUE;
        };
    }

    boolean hasIv() {
        return operation.has(Operation.NONCE) || operation.has(Operation.IV);
    }

    /** The role of what every message begins with. */
    int ivRole() {
        return operation.has(Operation.NONCE) ? Operation.NONCE : Operation.IV;
    }

    int tagBytes() {
        return isAead() ? operation.strings()[Operation.TAG].exactly() : 0;
    }

    /** A length of a nonce that is chosen here; or {@link Operation#NONE}. */
    private int freshBytes() {
        int length = operation.strings()[ivRole()].exactly();
        boolean usual = length == Operation.NONE && isAead() && operation.allows(ivRole(), USUAL_NONCE_BYTES);
        return usual ? USUAL_NONCE_BYTES : length;
    }

    private byte[] fresh(SecureRandom random) {
        byte[] iv = new byte[freshBytes()];
        (random == null ? new SecureRandom() : random).nextBytes(iv);
        return iv;
    }

    private static InvalidAlgorithmParameterException wrong(String why) {
        return new InvalidAlgorithmParameterException(why);
    }

    // --- keys ---

    /** The bytes of a key, if it has any. */
    static byte[] encoded(Key key) throws InvalidKeyException {
        if (key == null) {
            throw new InvalidKeyException("there is no key");
        }
        byte[] bytes = "RAW".equalsIgnoreCase(key.getFormat()) ? key.getEncoded() : null;
        if (bytes == null) {
            throw new InvalidKeyException("the bytes of the key are not known");
        }
        return bytes;
    }

    /** Demands a key of the right name and length. */
    void sureOfKey(Key key, byte[] bytes) throws InvalidKeyException {
        boolean named = keyNames.length == 0;
        for (String name : keyNames) {
            named |= name.equalsIgnoreCase(key.getAlgorithm());
        }
        if (!named) {
            throw new InvalidKeyException("the key is one of " + key.getAlgorithm() + ", not of " + keyNames[0]);
        }
        if (!operation.allows(Operation.KEY, bytes.length)) {
            throw new InvalidKeyException("the key has a length that is not allowed");
        }
    }

    // --- parameters ---

    /** What the parameters say; without any, what is chosen for a message to be encrypted. */
    Terms terms(AlgorithmParameterSpec spec, boolean encrypts, SecureRandom random)
            throws InvalidAlgorithmParameterException, InvalidKeyException {
        if (spec == null) {
            return termsOfNothing(encrypts, random);
        }
        if (!hasIv()) {
            throw wrong("there is no initial block");
        }
        byte[] iv;
        int tagBytes = tagBytes();
        int before = 0;
        if (!parametersClass.isEmpty() && !isTaken(spec)) {
            throw wrong("parameters of the class " + parametersClass + " are wanted");
        }
        if (spec instanceof IvParameterSpec given) {
            iv = given.getIV();
        } else if (spec instanceof GCMParameterSpec given && isAead()) {
            iv = given.getIV();
            tagBytes = tagBytes(given.getTLen());
        } else if (spec instanceof ChaCha20ParameterSpec given && isStream() && !isAead()) {
            iv = given.getNonce();
            before = blocksBefore(given.getCounter());
        } else {
            throw wrong("an IvParameterSpec is wanted");
        }
        if (!operation.allows(ivRole(), iv.length)) {
            throw wrong("the initial block or nonce has a length that is not allowed");
        }
        return new Terms(iv, tagBytes, before);
    }

    private boolean isTaken(AlgorithmParameterSpec spec) {
        return switch (parametersClass) {
            case GCM -> spec instanceof GCMParameterSpec;
            case CHACHA20 -> spec instanceof ChaCha20ParameterSpec;
            default -> spec instanceof IvParameterSpec;
        };
    }

    private Terms termsOfNothing(boolean encrypts, SecureRandom random)
            throws InvalidAlgorithmParameterException, InvalidKeyException {
        // RFC 8439 begins its messages at block 1, and so does the JDK where nobody says otherwise.
        int before = parametersClass.equals(CHACHA20) ? 1 : 0;
        if (!hasIv()) {
            return new Terms(null, tagBytes(), 0);
        }
        if (!encrypts || freshBytes() == Operation.NONE) {
            String why = "an initial block or nonce is wanted";
            if (isStream()) {
                throw new InvalidKeyException(why);
            }
            throw wrong(why);
        }
        return new Terms(fresh(random), tagBytes(), before);
    }

    /** Tags of these lengths are the beginnings of longer ones, where the JDK has the mode. */
    private int tagBytes(int bits) throws InvalidAlgorithmParameterException {
        boolean cuts = parametersClass.equals(GCM) && bits >= 96 && bits < 8 * tagBytes() && bits % 8 == 0;
        if (!cuts && bits != 8 * tagBytes()) {
            throw wrong("tags have " + (parametersClass.equals(GCM) ? "96, 104, 112, 120 or " : "") + 8 * tagBytes() + " bits");
        }
        return bits / 8;
    }

    private static int blocksBefore(int counter) throws InvalidAlgorithmParameterException {
        if (Integer.toUnsignedLong(counter) > MOST_BLOCKS_BEFORE) {
            throw wrong("the key stream begins behind block " + MOST_BLOCKS_BEFORE);
        }
        return counter;
    }

    /** What parameters of whatever provider say. */
    AlgorithmParameterSpec specOf(AlgorithmParameters parameters) throws InvalidAlgorithmParameterException {
        if (parameters == null) {
            return null;
        }
        String theirs = parameters.getAlgorithm();
        if (isStream() && !(isAead() && theirs.equalsIgnoreCase(parametersName))) {
            throw wrong("parameters of " + theirs + " are not taken");
        }
        try {
            boolean withTag = isAeadMode() && (parametersClass.equals(GCM) || theirs.equalsIgnoreCase("GCM"));
            return withTag
                    ? parameters.getParameterSpec(GCMParameterSpec.class)
                    : parameters.getParameterSpec(IvParameterSpec.class);
        } catch (InvalidParameterSpecException error) {
            throw new InvalidAlgorithmParameterException(error);
        }
    }

    /** Those of other providers, which know how they are encoded; none of a cipher that they do not know. */
    AlgorithmParameters parameters(Terms terms) {
        if (!hasIv() || terms == null && freshBytes() == Operation.NONE) {
            return null;
        }
        Terms told = terms != null ? terms : new Terms(fresh(null), tagBytes(), 0);
        AlgorithmParameterSpec plain = new IvParameterSpec(told.iv());
        AlgorithmParameterSpec[] specs = isAeadMode()
                ? new AlgorithmParameterSpec[] {new GCMParameterSpec(8 * told.tagBytes(), told.iv()), plain}
                : new AlgorithmParameterSpec[] {plain};
        for (AlgorithmParameterSpec spec : specs) {
            try {
                AlgorithmParameters parameters = AlgorithmParameters.getInstance(parametersName);
                // By the name that the JDK spells: programs compare it, and write it down beside the message.
                Provider provider = parameters.getProvider();
                Provider.Service service = provider.getService("AlgorithmParameters", parametersName);
                if (service != null) {
                    parameters = AlgorithmParameters.getInstance(service.getAlgorithm(), provider);
                }
                parameters.init(spec);
                return parameters;
            } catch (NoSuchAlgorithmException | InvalidParameterSpecException none) {
                // The next one.
            }
        }
        return null;
    }
}
