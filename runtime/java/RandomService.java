package headrace;

import headrace.MessageException.Reason;
import headrace.Operation.Lengths;
import java.security.NoSuchAlgorithmException;
import java.security.Provider;
import java.security.ProviderException;
import java.security.SecureRandom;
import java.security.SecureRandomParameters;
import java.security.SecureRandomSpi;
import java.security.Security;
import java.util.Arrays;

/** A generator that can be seeded anew as a {@code SecureRandom}: its seed is from the system. */
final class RandomService extends SecureRandomSpi {
    private static final long serialVersionUID = 1L;
    /** Seeds of generators have room for a nonce and for entropy beside what is demanded at least. */
    private static final int SEED_BYTES = 64;

    private final transient Provider own;
    private final transient Flow flow;
    private transient boolean seeded;
    private transient boolean wantsEntropy;
    /** What was given to be taken in beside what the system gives. */
    private transient byte[] given = {};

    RandomService(Provider own, Flow flow) {
        this.own = own;
        this.flow = flow;
    }

    /** What the system has: the first other provider that has something. */
    private SecureRandom system() {
        for (Provider provider : Security.getProviders()) {
            if (provider.getClass() == own.getClass()) {
                continue;
            }
            for (Provider.Service service : provider.getServices()) {
                if (service.getType().equals("SecureRandom")) {
                    try {
                        return SecureRandom.getInstance(service.getAlgorithm(), provider);
                    } catch (NoSuchAlgorithmException none) {
                        // The next one.
                    }
                }
            }
        }
        throw new ProviderException("the system has no source of entropy");
    }

    private Span fresh(int role) {
        Lengths range = flow.operation.strings()[role].lengths()[0];
        byte[] bytes = new byte[(int) Math.max(range.min(), Math.min(range.max(), SEED_BYTES))];
        system().nextBytes(bytes);
        return Span.of(bytes);
    }

    @Override
    protected void engineSetSeed(byte[] seed) {
        // Taken in with the next request; never instead of what the system gives.
        byte[] both = Arrays.copyOf(given, given.length + seed.length);
        System.arraycopy(seed, 0, both, given.length, seed.length);
        Arrays.fill(given, (byte) 0);
        given = both;
    }

    /** The next request takes in entropy. */
    @Override
    protected synchronized void engineReseed(SecureRandomParameters parameters) {
        if (parameters != null) {
            throw new UnsupportedOperationException("no parameters are taken");
        }
        wantsEntropy = true;
    }

    @Override
    protected byte[] engineGenerateSeed(int count) {
        return system().generateSeed(count);
    }

    @Override
    protected synchronized void engineNextBytes(byte[] bytes) {
        int word = flow.operation.strings()[Operation.OUTPUT].exactly();
        int most = (int) Math.min(flow.operation.mostWords(), (1 << 20) / word);
        for (int from = 0; from < bytes.length; ) {
            int words = Math.min(most, Math.floorDiv(bytes.length - from + word - 1, word));
            byte[] made = new byte[words * word];
            request(words, made);
            int n = Math.min(made.length, bytes.length - from);
            System.arraycopy(made, 0, bytes, from, n);
            Arrays.fill(made, (byte) 0);
            from += n;
        }
    }

    private void request(int words, byte[] made) {
        Span[] strings = Flow.strings();
        if (!seeded) {
            strings[Operation.SEED] = fresh(Operation.SEED);
        } else if (wantsEntropy || given.length > 0) {
            strings[Operation.ENTROPY] = fresh(Operation.ENTROPY);
        }
        if (given.length > 0 && flow.operation.has(Operation.AD)) {
            Lengths range = flow.operation.strings()[Operation.AD].lengths()[0];
            strings[Operation.AD] = new Span(given, 0, (int) Math.min(range.max(), given.length));
        }
        try {
            try {
                flow.words(words, strings, new Room(made, 0, made.length));
            } catch (MessageException error) {
                if (error.reason() != Reason.REFUSED) {
                    throw error;
                }
                strings[Operation.ENTROPY] = fresh(Operation.ENTROPY);
                flow.words(words, strings, new Room(made, 0, made.length));
            }
        } catch (MessageException error) {
            seeded = false;
            throw new ProviderException(error);
        }
        seeded = true;
        wantsEntropy = false;
        Arrays.fill(given, (byte) 0);
        given = new byte[0];
    }
}
