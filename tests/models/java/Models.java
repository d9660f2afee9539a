package models;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.Provider;
import java.security.Security;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.ServiceLoader;
import java.util.TreeMap;

/**
 * Random sequences of calls on services of generated providers and on those of the JDK of the same name, with whatever comes
 * of each call compared: a model-based test, whose model is the JDK. A difference is shrunk to the calls that it needs.
 *
 * <p>A call that fails leaves an object as it was, says the documentation of {@code ShortBufferException}; the JDK does not
 * always keep to it. So its object is made anew then from the calls before. After what is not authentic, or wrongly padded, it
 * goes on as after {@code init}.
 */
public final class Models {
    private static final String USAGE =
            "java models.Models [--seed N] [--sequences N] [--seconds N] [--service NAME] [--differences FILE]";

    private static final long MANY = 50_000;

    private Models() {}

    public static void main(String[] arguments) throws IOException {
        Map<String, String> options = new LinkedHashMap<>();
        for (int at = 0; at < arguments.length; at += 2) {
            if (at + 1 == arguments.length || !arguments[at].matches("--(seed|sequences|seconds|service|differences)")) {
                System.err.println(USAGE);
                System.exit(2);
            }
            options.put(arguments[at].substring(2), arguments[at + 1]);
        }
        long seed = number(options, "seed", 1);
        long most = number(options, "sequences", Long.MAX_VALUE);
        long seconds = number(options, "seconds", options.containsKey("sequences") ? 1_000_000 : 5);
        String wanted = options.get("service");
        Listed listed = new Listed(
                options.containsKey("differences") ? Files.readAllLines(Path.of(options.get("differences"))) : List.of());

        List<Subject> subjects = subjects(wanted);
        if (subjects.isEmpty()) {
            System.err.println("no service that the JDK has, too");
            System.exit(2);
        }
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        long sequences = 0;
        int differences = 0;
        Map<String, Long> counted = new TreeMap<>();
        while (sequences < most && System.nanoTime() < end && differences < 20) {
            long own = seed + sequences;
            Random random = new Random(own * 0x9e3779b97f4a7c15L);
            Subject subject = subjects.get((int) (sequences % subjects.size()));
            List<Call> calls = subject.calls(random);
            Run run = new Run(subject, listed);
            if (run.differs(calls)) {
                differences++;
                List<Call> few = run.shrunk(calls);
                System.out.println(subject.name + ", of " + subject.ours.getName() + " and " + subject.theirs.getName()
                        + "; --service '" + subject.name + "' --seed " + own + " --sequences 1");
                run.show(few);
            }
            run.tolerated.forEach((slug, n) -> counted.merge(slug, n, Long::sum));
            sequences++;
        }
        if (sequences == 0) {
            System.err.println("no sequence was run, which proves nothing");
            System.exit(2);
        }
        counted.forEach((slug, n) -> System.out.println("listed: " + slug + ": " + n));
        // Few calls need not show everything.
        int gone = sequences < MANY ? 0 : listed.missing(subjects);
        System.out.println(sequences + " sequences, " + (differences + gone) + " differences");
        System.exit(differences + gone == 0 ? 0 : 1);
    }

    private static long number(Map<String, String> options, String name, long usual) {
        String given = options.get(name);
        try {
            return given == null ? usual : Long.parseLong(given);
        } catch (NumberFormatException error) {
            // Differences have another status.
            System.err.println("--" + name + " takes a number");
            System.exit(2);
            return usual;
        }
    }

    private static List<Subject> subjects(String wanted) {
        List<Subject> subjects = new ArrayList<>();
        for (Provider ours : ServiceLoader.load(Provider.class)) {
            if (!ours.getName().startsWith("Headrace")) {
                continue;
            }
            ours.getServices().stream()
                    .filter(service -> wanted == null || service.getAlgorithm().equalsIgnoreCase(wanted))
                    .sorted((one, other) -> one.getAlgorithm().compareTo(other.getAlgorithm()))
                    .forEach(service -> {
                        for (String name : new String[] {"SUN", "SunJCE"}) {
                            try {
                                Subject subject = subject(service, ours, Security.getProvider(name));
                                if (subject != null) {
                                    subjects.add(subject);
                                }
                            } catch (GeneralSecurityException | RuntimeException none) {
                                // The JDK has nothing of that name.
                            }
                        }
                    });
        }
        return subjects;
    }

    private static Subject subject(Provider.Service service, Provider ours, Provider theirs) throws GeneralSecurityException {
        String name = service.getAlgorithm();
        Subject subject = switch (service.getType()) {
            case "Cipher" -> new CipherSubject(name, ours, theirs);
            case "MessageDigest" -> new DigestSubject(name, ours, theirs);
            case "Mac" -> new MacSubject(name, ours, theirs);
            default -> null;
        };
        if (subject != null) {
            subject.objects(theirs);
        }
        return subject;
    }
}
