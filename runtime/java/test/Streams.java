package headrace.test;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;

/** Elements of streams, which are written as their bytes, least significant first. */
public final class Streams {
    private Streams() {}

    private static ByteBuffer parse(String[] digits) {
        return ByteBuffer.wrap(HexFormat.of().parseHex(String.join("", digits))).order(ByteOrder.LITTLE_ENDIAN);
    }

    public static byte[] bytes(String... digits) {
        return parse(digits).array();
    }

    public static short[] shorts(String... digits) {
        ByteBuffer bytes = parse(digits);
        short[] elements = new short[bytes.remaining() / 2];
        bytes.asShortBuffer().get(elements);
        return elements;
    }

    public static int[] ints(String... digits) {
        ByteBuffer bytes = parse(digits);
        int[] elements = new int[bytes.remaining() / 4];
        bytes.asIntBuffer().get(elements);
        return elements;
    }

    public static long[] longs(String... digits) {
        ByteBuffer bytes = parse(digits);
        long[] elements = new long[bytes.remaining() / 8];
        bytes.asLongBuffer().get(elements);
        return elements;
    }

    public static float[] floats(String... digits) {
        ByteBuffer bytes = parse(digits);
        float[] elements = new float[bytes.remaining() / 4];
        bytes.asFloatBuffer().get(elements);
        return elements;
    }

    public static double[] doubles(String... digits) {
        ByteBuffer bytes = parse(digits);
        double[] elements = new double[bytes.remaining() / 8];
        bytes.asDoubleBuffer().get(elements);
        return elements;
    }

    /** Demands what must be so. */
    public static void sure(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what + " differs");
        }
    }
}
