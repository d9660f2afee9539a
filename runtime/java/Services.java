package headrace;

import java.security.NoSuchAlgorithmException;
import java.security.Provider;
import java.util.function.Supplier;

/** A service of a provider that is made by a function, not found by the name of a class. */
final class Services extends Provider.Service {
    private final Supplier<Object> make;

    Services(Provider provider, String type, Supplier<Object> make, String algorithm) {
        super(provider, type, algorithm, Services.class.getName(), null, null);
        this.make = make;
    }

    @Override
    public Object newInstance(Object parameter) throws NoSuchAlgorithmException {
        // As of a generator of which a certain strength is demanded: the next provider may have it.
        if (parameter != null) {
            throw new NoSuchAlgorithmException(getAlgorithm() + " takes no parameters");
        }
        return make.get();
    }
}
