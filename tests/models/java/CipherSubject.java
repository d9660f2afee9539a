package models;

import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.Provider;
import java.security.spec.AlgorithmParameterSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import javax.crypto.Cipher;
import javax.crypto.spec.ChaCha20ParameterSpec;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** A `Cipher`: what it takes is found by trying, so that nothing is known of it but its name. */
final class CipherSubject extends Subject {
    /** Lengths of keys that both take. */
    private final List<Integer> keyLengths = new ArrayList<>();

    final String keyName;
    /** What the JDK calls its parameters; nothing where it has none. */
    String parametersName;

    /** Length of the nonce or initial block; 0: there is none. */
    int ivBytes;

    boolean takesGcm;
    boolean takesChaCha;
    boolean takesIv;
    /** A key stream without parameters. */
    boolean isStream;

    /** Whether tags follow. */
    boolean isAead;

    CipherSubject(String name, Provider ours, Provider theirs) throws GeneralSecurityException {
        super(name, ours, theirs);
        String first = name.split("[/_]")[0];
        keyName = Character.isLetter(first.charAt(0)) ? first : "AES";
        for (int bytes : new int[] {5, 8, 16, 24, 32}) {
            if (takes(ours, bytes) && takes(theirs, bytes)) {
                keyLengths.add(bytes);
            }
        }
        if (keyLengths.isEmpty()) {
            throw new GeneralSecurityException("there is no key that both take");
        }
        Cipher cipher = Cipher.getInstance(name, theirs);
        cipher.init(Cipher.ENCRYPT_MODE, key(keyLengths.get(0), 1));
        ivBytes = cipher.getIV() == null ? 0 : cipher.getIV().length;
        parametersName = cipher.getParameters() == null ? null : cipher.getParameters().getAlgorithm();
        isAead = cipher.getOutputSize(0) > 0 && cipher.doFinal().length > 0 && !name.toLowerCase().contains("padding")
                || name.toLowerCase().contains("gcm");
        isStream = ivBytes == 0 && cipher.getBlockSize() == 0;
        byte[] iv = new byte[ivBytes];
        takesIv = ivBytes > 0 && initialises(new IvParameterSpec(iv));
        takesGcm = ivBytes > 0 && initialises(new GCMParameterSpec(128, iv));
        takesChaCha = ivBytes == 12 && initialises(new ChaCha20ParameterSpec(iv, 1));
    }

    private boolean takes(Provider provider, int bytes) {
        try {
            Cipher.getInstance(name, provider).init(Cipher.ENCRYPT_MODE, key(bytes, 1));
            return true;
        } catch (GeneralSecurityException refused) {
            return false;
        }
    }

    private boolean initialises(AlgorithmParameterSpec spec) {
        try {
            Cipher.getInstance(name, theirs).init(Cipher.ENCRYPT_MODE, key(keyLengths.get(0), 1), spec);
            return true;
        } catch (GeneralSecurityException refused) {
            return false;
        }
    }

    /** One of several keys of a length. */
    Key key(int bytes, int which) {
        return new SecretKeySpec(Bytes.random(new Random(1000L * bytes + which), bytes), keyName);
    }

    int keyBytes(Random random) {
        return keyLengths.get(random.nextInt(keyLengths.size()));
    }

    AlgorithmParameterSpec spec(byte[] iv, int tagBits, int counter) {
        return takesGcm
                ? new GCMParameterSpec(tagBits, iv)
                : takesChaCha ? new ChaCha20ParameterSpec(iv, counter) : takesIv ? new IvParameterSpec(iv) : null;
    }

    @Override
    boolean isOne(String services) {
        List<String> words = List.of(services.split(" "));
        String own = takesGcm ? "GCMParameterSpec" : takesChaCha ? "ChaCha20ParameterSpec" : isAead ? "IvParameterSpec" : isStream ? "streams" : "blocks";
        return words.get(0).equals("Cipher") && (words.size() == 1 || words.contains(own));
    }

    @Override
    Callable<Object> made(Provider provider) {
        return () -> Cipher.getInstance(name, provider);
    }

    @Override
    List<Call> calls(Random random) {
        CipherCalls calls = new CipherCalls(this, random);
        if (random.nextInt(15) == 0) {
            calls.noise();
        }
        for (int n = 1 + random.nextInt(3); n > 0; n--) {
            calls.message();
        }
        return calls.listed;
    }
}
