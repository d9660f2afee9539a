package models;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Differences that the README of a project lists, so that they are none to this test: what is shown there says which, and each
 * is recognised here. One that can show and does not is one, too.
 *
 * <p>A line of the table: its name, the services that have it, the first and last version of the JDK where it shows, and what it
 * is, with bars between them.
 */
final class Listed {
    private record Line(String slug, String services, int since, int until, boolean isSeldom) {
        boolean applies(Subject subject) {
            int version = Runtime.version().feature();
            return since <= version && version <= until && subject.isOne(services);
        }

        /** Of what is mended in a later version it is not known here in which. */
        boolean mustShow() {
            return !isSeldom && (until == EVER || Runtime.version().feature() == since);
        }
    }

    private interface Recognised {
        boolean in(Subject subject, Run.Step step, List<Run.Step> steps);
    }

    private static final int EVER = Integer.MAX_VALUE;
    private static final Map<String, Recognised> KNOWN = new HashMap<>();

    private final List<Line> lines = new ArrayList<>();
    private final Set<String> met = new HashSet<>();

    static {
        KNOWN.put("no-key", (subject, step, steps) -> step.call().text().contains(", no key,") && step.theirs("NullPointerException")
                && step.ours("InvalidKeyException"));
        KNOWN.put("no-spec-to-decrypt", (subject, step, steps) -> step.call().text().matches(".*, no (spec|parameters),.*")
                && step.ours("InvalidAlgorithmParameterException") && step.theirs().equals("done"));
        KNOWN.put("less-than-a-tag", (subject, step, steps) -> step.ours("AEADBadTagException")
                        && (step.theirs("ProviderException") || step.theirs("ShortBufferException"))
                || step.ours("InvalidKeyException") && step.theirs("ProviderException"));
        Recognised overlap = (subject, step, steps) -> step.isOfForm()
                && steps.stream().anyMatch(before -> before.call().text().matches(".*(\\(all, |same buffer).*"));
        KNOWN.put("overlap", overlap);
        KNOWN.put("overlap-of-blocks", overlap);
        KNOWN.put("associated-data-in-buffers", (subject, step, steps) -> step.isOfForm()
                && steps.stream().anyMatch(before -> before.call().text().matches("cipher.updateAAD\\([A-Z].*")));
        KNOWN.put("two-reasons", (subject, step, steps) -> step.ours("ShortBufferException") && step.theirs("AEADBadTagException"));
        KNOWN.put("room-for-the-tag", (subject, step, steps) -> step.call().text().contains(".update(")
                && (!step.ours().startsWith("throws") || step.ours("IllegalStateException")) && step.theirs("ShortBufferException"));
        KNOWN.put("long-key-amid-message", (subject, step, steps) -> !step.failed()
                && steps.stream().anyMatch(before -> before.call().text().matches("mac.\\.init\\(key \\[(6[5-9]|[7-9].|1..|2..)].*")));
        KNOWN.put("nonce-to-decrypt", (subject, step, steps) -> step.call().text().startsWith("cipher.init(DECRYPT")
                && step.ours().equals("done") && step.theirs("InvalidKeyException"));
        KNOWN.put("more-keys", (subject, step, steps) -> step.call().text().matches(".*, key of another (name|length),.*")
                && step.ours().equals("done") && step.theirs("InvalidKeyException"));
        KNOWN.put("again", (subject, step, steps) ->
                (step.isOfForm() || step.theirs("IllegalStateException") && !step.ours().startsWith("throws Ill"))
                && steps.stream().anyMatch(before -> before.call().text().contains(".doFinal") && !before.ours().startsWith("throws")));
        KNOWN.put("offset-beyond", (subject, step, steps) -> step.ours("ShortBufferException")
                && step.theirs("ArrayIndexOutOfBoundsException"));
    }

    Listed(List<String> table) {
        for (String text : table) {
            if (text.isBlank() || text.startsWith("#")) {
                continue;
            }
            String[] parts = text.split(" *\\| *", 4);
            String range = parts[2].split(" ")[0];
            String[] versions = range.split("-");
            int since = Integer.parseInt(versions[0]);
            int until = versions.length > 1 ? Integer.parseInt(versions[1]) : range.endsWith("-") ? EVER : since;
            Line line = new Line(parts[0], parts[1], since, until, parts[2].endsWith(" seldom"));
            if (!KNOWN.containsKey(line.slug)) {
                throw new IllegalArgumentException("nothing recognises `" + line.slug + "`");
            }
            lines.add(line);
        }
    }

    /** The listed difference that a step shows, or nothing. */
    String slug(Subject subject, Run.Step step, List<Run.Step> steps) {
        for (Line line : lines) {
            if (line.applies(subject) && KNOWN.get(line.slug).in(subject, step, steps)) {
                met.add(line.slug);
                return line.slug;
            }
        }
        return null;
    }

    /** How many could have shown and did not. */
    int missing(List<Subject> subjects) {
        int missing = 0;
        for (Line line : lines) {
            if (!met.contains(line.slug) && line.mustShow() && subjects.stream().anyMatch(line::applies)) {
                System.out.println("listed, and gone: " + line.slug);
                missing++;
            }
        }
        return missing;
    }
}
