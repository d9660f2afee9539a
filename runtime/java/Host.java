package headrace;

import java.util.OptionalLong;

/** What networks that print or call native procedures need. */
public interface Host {
    /** Shows bytes. */
    void print(byte[] bytes, int from, int count);

    /** Shows the shortest decimal that reads back the same in a format of 16, 32 or 64 bits. */
    void printReal(double value, int bits);

    /** A native procedure: its result, or nothing when the program is to stop. */
    OptionalLong call(String name, Argument[] arguments);

    /** An argument of a native procedure. */
    sealed interface Argument permits Value, Bytes {}

    /** A number. */
    record Value(long value) implements Argument {}

    /** A list of bytes, which the native may change. */
    record Bytes(byte[] array, int from, int count) implements Argument {}
}
