package headrace;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;

/** Bytes that are overwritten when they are of no use any more. */
final class Secrets extends ByteArrayOutputStream {
    void clear() {
        Arrays.fill(buf, 0, count, (byte) 0);
        reset();
    }

    Span span() {
        return new Span(buf, 0, count);
    }

    @Override
    public synchronized void write(byte[] bytes, int from, int n) {
        if (n > buf.length - count) {
            byte[] old = buf;
            buf = Arrays.copyOf(old, (int) Math.min(Integer.MAX_VALUE - 8L, Math.max((long) count + n, 2L * count)));
            Arrays.fill(old, (byte) 0);
        }
        super.write(bytes, from, n);
    }
}
