package headrace;

import java.security.NoSuchAlgorithmException;
import java.security.Provider;
import java.security.Security;
import java.util.Map;
import java.util.function.Supplier;

/** A service of a provider that is made by a function, not found by the name of a class. */
final class Services extends Provider.Service {
    /** Those of the JDK, which know services by further names and by the numbers of standards. */
    private static final String[] JDK = {"SUN", "SunJCE"};

    private final Supplier<Object> make;

    Services(Provider provider, String type, Supplier<Object> make, String algorithm) {
        super(provider, type, algorithm, Services.class.getName(), null, attributes(type));
        this.make = make;
    }

    /** What keys a service takes, so that nobody asks it in vain. */
    private static Map<String, String> attributes(String type) {
        return switch (type) {
            case "Cipher", "Mac" -> Map.of("SupportedKeyFormats", "RAW");
            default -> Map.of("ImplementedIn", "Software");
        };
    }

    @Override
    public Object newInstance(Object parameter) throws NoSuchAlgorithmException {
        // As of a generator of which a certain strength is demanded: the next provider may have it.
        if (parameter != null) {
            throw new NoSuchAlgorithmException(getAlgorithm() + " takes no parameters");
        }
        return make.get();
    }

    /** How the JDK spells a name that is another one for a service of its own; else the name itself. */
    static String nameInTheJdk(String type, String algorithm) {
        for (String name : JDK) {
            Provider provider = Security.getProvider(name);
            Provider.Service service = provider == null ? null : provider.getService(type, algorithm);
            if (service != null) {
                return service.getAlgorithm();
            }
        }
        return algorithm;
    }
}
