package headrace;

/**
 * An operation: what the ports of its network are for. Ports that it does not have are {@link #NONE}.
 *
 * @param strings ports of the strings of a message, in the order in which they are given; null for those that it has not
 * @param mostWords how many a generator makes at once
 * @param blockBytes of a core; else 0
 * @param decrypts what the port {@code decrypt} is told
 * @param singleChunk the input must be one chunk
 * @param withholds output is only for messages that are verified
 */
record Operation(
        Port[] strings,
        int rekey,
        int decrypt,
        int reseed,
        int blocks,
        int verified,
        long mostWords,
        int blockBytes,
        boolean decrypts,
        boolean singleChunk,
        boolean withholds) {
    static final int NONE = -1;

    static final int KEY = 0;
    static final int NONCE = 1;
    static final int IV = 2;
    static final int SECRET_NONCE = 3;
    static final int AD = 4;
    static final int SEED = 5;
    static final int ENTROPY = 6;
    static final int INPUT = 7;
    static final int TAG_IN = 8;
    static final int SECRET_NONCE_OUT = 9;
    static final int OUTPUT = 10;
    static final int TAG = 11;

    /** Lengths from {@code min} to {@code max} bytes, in multiples of {@code multiple}. */
    record Lengths(long min, long max, long multiple) {}

    /**
     * A string at the edge of a network.
     *
     * @param sizes where its chunk sizes go, when its length can vary
     * @param lengths a length must be in one of these
     */
    record Port(int port, int sizes, Lengths... lengths) {
        boolean allows(long length) {
            for (Lengths range : lengths) {
                if (range.min <= length && length <= range.max && length % range.multiple == 0) {
                    return true;
                }
            }
            return false;
        }

        /** The longest. */
        long most() {
            long most = 0;
            for (Lengths range : lengths) {
                most = Math.max(most, range.max);
            }
            return most;
        }

        /** The only length, or {@link #NONE}. */
        int exactly() {
            boolean one = lengths.length == 1 && lengths[0].min == lengths[0].max;
            return one ? (int) lengths[0].min : NONE;
        }
    }

    boolean has(int string) {
        return strings[string] != null;
    }

    /** Whether a string of this length is legal. */
    boolean allows(int string, long length) {
        return strings[string] == null || strings[string].allows(length);
    }

    /** Output of which the length can vary comes while input goes in. */
    boolean streams() {
        return has(OUTPUT) && strings[OUTPUT].sizes() != NONE;
    }
}
