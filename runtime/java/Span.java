package headrace;

/** A part of an array. */
record Span(byte[] bytes, int from, int count) {
    static final Span EMPTY = new Span(new byte[0], 0, 0);

    Span {
        java.util.Objects.checkFromIndexSize(from, count, bytes.length);
    }

    /** A whole array; nothing of nothing. */
    static Span of(byte[] bytes) {
        return bytes == null ? null : new Span(bytes, 0, bytes.length);
    }
}
