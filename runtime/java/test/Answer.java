package headrace.test;

import headrace.MessageException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/** A message and what comes of it, from the file of known answers beside the test. */
public final class Answer {
    private static final byte[] EMPTY = {};
    private static int count;
    private static int failed;

    /** What may fail. */
    @FunctionalInterface
    public interface Test {
        void run() throws Exception;
    }

    private final Map<String, byte[]> strings = new HashMap<>();
    private int words;
    private boolean refused;

    private Answer() {}

    /** The answers of an operation. */
    public static List<Answer> of(String operation) throws IOException {
        List<Answer> answers = new ArrayList<>();
        try (InputStream file = Answer.class.getResourceAsStream("/known_answers.txt");
                BufferedReader reader = new BufferedReader(new InputStreamReader(file, StandardCharsets.US_ASCII))) {
            boolean wanted = false;
            Answer answer = new Answer();
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                String[] parts = line.split(" ", 2);
                switch (parts[0]) {
                    case "operation" -> wanted = parts[1].equals(operation);
                    case "words" -> answer.words = Integer.parseInt(parts[1]);
                    case "accepted", "refused" -> {
                        answer.refused = parts[0].equals("refused");
                        if (wanted) {
                            answers.add(answer);
                        }
                        answer = new Answer();
                    }
                    case "#" -> {}
                    default -> {
                        boolean empty = parts[1].equals("-");
                        answer.strings.put(parts[0], empty ? EMPTY : HexFormat.of().parseHex(parts[1]));
                    }
                }
            }
        }
        return answers;
    }

    /** Tests something, as far as it does what it must, and says what came of it; for those without Maven. */
    public static void report(String what, Test test) throws Exception {
        int before = count;
        int wrong = 0;
        try {
            test.run();
        } catch (AssertionError error) {
            System.out.println(error.getMessage());
            wrong = 1;
        }
        failed += wrong;
        System.out.println(what + ": " + Math.max(0, count - before - wrong) + " passed, " + wrong + " failed");
    }

    /** Ends the test of everything. */
    public static void finish() {
        System.out.println(count + " known answers");
        if (failed > 0) {
            System.exit(1);
        }
    }

    /** A string, or nothing. */
    public byte[] find(String string) {
        return strings.get(string);
    }

    /** A string, empty where there is none. */
    public byte[] get(String string) {
        return strings.getOrDefault(string, EMPTY);
    }

    /** How many words are wanted. */
    public int words() {
        return words;
    }

    /** Whether it must be refused. */
    public boolean isRefused() {
        return refused;
    }

    /** Room for every string that comes out. */
    public ByteBuffer room() {
        int most = strings.values().stream().mapToInt(bytes -> bytes.length).max().orElse(0);
        byte[] bytes = new byte[most + 1024];
        Arrays.fill(bytes, (byte) 0xa5);
        return ByteBuffer.wrap(bytes);
    }

    /** Holds an attempt to what must come of it. */
    public void judge(String what, Callable<Made> attempt) {
        count++;
        Made made;
        try {
            made = attempt.call();
        } catch (java.security.GeneralSecurityException error) {
            boolean stuck = error instanceof MessageException message && message.reason() == MessageException.Reason.STUCK;
            if (refused && !stuck) {
                return;
            }
            throw new AssertionError(what + ": " + error.getMessage(), error);
        } catch (Exception error) {
            throw new AssertionError(what + ": " + error.getMessage(), error);
        }
        if (refused) {
            throw new AssertionError(what + ": it was not refused");
        }
        made.strings().forEach((string, bytes) -> {
            byte[] wanted = strings.get(string);
            // Of a tag the first bytes may be all that is known.
            boolean isCut = wanted != null && string.equals("TAG") && wanted.length < bytes.length;
            byte[] got = isCut ? Arrays.copyOf(bytes, wanted.length) : bytes;
            if (wanted != null && !Arrays.equals(wanted, got)) {
                HexFormat hex = HexFormat.of();
                throw new AssertionError(what + ": " + string + " is " + hex.formatHex(got) + ", not " + hex.formatHex(wanted));
            }
        });
    }
}
