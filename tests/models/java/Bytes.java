package models;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;

/** Strings, and the forms in which they are given. */
final class Bytes {
    private Bytes() {}

    static byte[] random(Random random, int count) {
        byte[] bytes = new byte[count];
        random.nextBytes(bytes);
        return bytes;
    }

    /** Mostly short, about the length of blocks, now and then long. */
    static int length(Random random) {
        return switch (random.nextInt(12)) {
            case 0, 1 -> 0;
            case 2 -> 1;
            case 3, 4 -> 8 * random.nextInt(9);
            case 5 -> 8 * random.nextInt(9) + 1;
            case 6 -> 8 * random.nextInt(9) + 7;
            case 7 -> 200 + random.nextInt(2000);
            default -> random.nextInt(70);
        };
    }

    static String hex(byte[] bytes) {
        if (bytes == null) {
            return "null";
        }
        String all = HexFormat.of().formatHex(bytes);
        return bytes.length <= 40 ? all : all.substring(0, 32) + "… of " + bytes.length + ", " + Arrays.hashCode(bytes);
    }

    static String hex(byte[] bytes, int from, int count) {
        return hex(Arrays.copyOfRange(bytes, from, from + count));
    }

    static byte[] joined(byte[] one, byte[] other) {
        byte[] all = Arrays.copyOf(one, one.length + other.length);
        System.arraycopy(other, 0, all, one.length, other.length);
        return all;
    }

    /** A form of buffers. */
    enum Form {
        HEAP,
        SLICE,
        DIRECT,
        READ_ONLY,
        READ_ONLY_DIRECT;

        static Form any(Random random) {
            return values()[random.nextInt(values().length)];
        }

        static Form writable(Random random) {
            return values()[random.nextInt(3)];
        }

        private ByteBuffer empty(int count) {
            return switch (this) {
                case HEAP, READ_ONLY -> ByteBuffer.allocate(count);
                case SLICE -> ByteBuffer.allocate(count + 12).slice(7, count);
                default -> ByteBuffer.allocateDirect(count);
            };
        }

        /** With some bytes before and behind. */
        ByteBuffer of(byte[] bytes) {
            ByteBuffer buffer = empty(bytes.length + 5);
            buffer.position(3).put(bytes).flip().position(3);
            return this == READ_ONLY || this == READ_ONLY_DIRECT ? buffer.asReadOnlyBuffer() : buffer;
        }

        ByteBuffer room(int count) {
            return empty(count + 4).position(4);
        }
    }

    /** What was put between two positions. */
    static String put(ByteBuffer buffer, int from) {
        byte[] bytes = new byte[buffer.position() - from];
        buffer.duplicate().position(from).get(bytes);
        return hex(bytes);
    }
}
