package headrace.test;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;

/** Strings that came out. */
public final class Made {
    private final Map<String, byte[]> strings = new HashMap<>();

    /** With what a buffer holds up to its position. */
    public Made with(String string, ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.position()];
        buffer.duplicate().flip().get(bytes);
        return with(string, bytes);
    }

    /** With these bytes. */
    public Made with(String string, byte[] bytes) {
        strings.put(string, bytes);
        return this;
    }

    Map<String, byte[]> strings() {
        return strings;
    }
}
