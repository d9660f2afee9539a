package models;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A sequence of calls on an object under test and on its model. */
final class Run {
    private final Subject subject;
    private final Listed listed;
    /** How often each listed difference was met. */
    final Map<String, Long> tolerated = new TreeMap<>();

    Run(Subject subject, Listed listed) {
        this.subject = subject;
        this.listed = listed;
    }

    /** What came of a call on either side; {@code isOfForm}: the model says the same of the call in its plain form. */
    record Step(Call call, String ours, String theirs, boolean isOfForm) {
        boolean differs() {
            return !ours.equals(theirs);
        }

        boolean ours(String exception) {
            return ours.equals("throws " + exception);
        }

        boolean theirs(String exception) {
            return theirs.equals("throws " + exception);
        }

        /** On either side. */
        boolean failed() {
            return Run.failed(ours) || Run.failed(theirs);
        }
    }

    private static boolean failed(String outcome) {
        return outcome.startsWith("throws ");
    }

    /** What is no message, so that it ends here. */
    private static boolean isRefused(String outcome, Call call) {
        return outcome.equals("throws AEADBadTagException")
                || outcome.equals("throws BadPaddingException")
                || failed(outcome) && !outcome.endsWith("IllegalStateException") && call.text().startsWith("cipher.unwrap");
    }

    /** The model after these calls, in their plain forms. */
    private Objects model(List<Call> history) {
        Objects model = subject.objects(subject.theirs);
        for (Call before : history) {
            before.plainly(model);
        }
        return model;
    }

    /** Runs until there is a difference that is not listed, or one after which both go different ways. */
    List<Step> steps(List<Call> calls) {
        List<Step> steps = new ArrayList<>();
        Objects ours = subject.objects(subject.ours);
        Objects theirs = subject.objects(subject.theirs);
        // The calls that made the model what it is.
        List<Call> history = new ArrayList<>();
        boolean isSettled = true;
        for (Call call : calls) {
            if (!isSettled && call.text().matches("cipher\\.get(IV|Parameters).*")) {
                // After an `init` that failed nothing is promised.
                continue;
            }
            String said = call.outcome(theirs);
            String outcome = call.outcome(ours);
            boolean isPlain = true;
            if (!said.equals(outcome)) {
                theirs = model(history);
                String plainly = call.plainly(theirs);
                if (outcome.equals(plainly)) {
                    // The model does so, too, but not in this form.
                    isPlain = false;
                }
                steps.add(new Step(call, outcome, said, !isPlain));
                String slug = listed.slug(subject, steps.get(steps.size() - 1), steps);
                if (slug == null || isPlain) {
                    if (slug != null) {
                        tolerated.merge(slug, 1L, Long::sum);
                    }
                    return steps;
                }
                tolerated.merge(slug, 1L, Long::sum);
                said = plainly;
            } else {
                steps.add(new Step(call, outcome, said, false));
            }
            if (call.settles()) {
                isSettled = !failed(said);
                history.add(call);
            } else if (failed(said)) {
                if (isRefused(said, call)) {
                    while (!history.isEmpty() && !history.get(history.size() - 1).settles()) {
                        history.remove(history.size() - 1);
                    }
                }
                theirs = model(history);
            } else {
                history.add(call);
            }
        }
        return steps;
    }

    boolean differs(List<Call> calls) {
        List<Step> steps = steps(calls);
        if (steps.isEmpty()) {
            return false;
        }
        Step last = steps.get(steps.size() - 1);
        return last.differs() && listed.slug(subject, last, steps) == null;
    }

    /** Without the calls that the difference does not need. */
    List<Call> shrunk(List<Call> calls) {
        List<Call> few = new ArrayList<>(calls);
        for (int size = Math.max(1, few.size() / 2); size > 0; size /= 2) {
            for (int at = 0; at < few.size(); ) {
                List<Call> fewer = new ArrayList<>(few.subList(0, at));
                fewer.addAll(few.subList(Math.min(few.size(), at + size), few.size()));
                if (differs(fewer)) {
                    few = fewer;
                } else {
                    at += size;
                }
            }
        }
        return few;
    }

    void show(List<Call> calls) {
        for (Step step : steps(calls)) {
            System.out.println("    " + step.call().text());
            System.out.println("        " + (step.differs() ? "ours:    " + step.ours() : step.ours()));
            if (step.differs()) {
                System.out.println("        the JDK: " + step.theirs());
            }
        }
    }
}
