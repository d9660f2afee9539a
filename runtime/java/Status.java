package headrace;

/** Why a run returned. */
public enum Status {
    /** Nothing can fire until tokens come or are taken. */
    IDLE,
    /** The limit was reached. */
    LIMIT,
    /** The host stopped the program. */
    STOPPED,
    /** Calls nest too deep. */
    TOO_DEEP;

    static Status of(int number) {
        return values()[Math.min(number, TOO_DEEP.ordinal())];
    }
}
