package headrace;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** Room for a string that comes out, and how much of it is used. */
final class Room {
    final byte[] bytes;
    final int from;
    final int size;
    int used;
    /** Where what came goes in the end, unless it is there already. */
    private final ByteBuffer buffer;

    Room(byte[] bytes, int from, int size) {
        java.util.Objects.checkFromIndexSize(from, size, bytes.length);
        this.bytes = bytes;
        this.from = from;
        this.size = size;
        this.buffer = null;
    }

    /** What is left of a buffer, from its position on. */
    Room(ByteBuffer buffer) {
        this.buffer = buffer;
        boolean direct = !buffer.hasArray();
        this.bytes = direct ? new byte[buffer.remaining()] : buffer.array();
        this.from = direct ? 0 : buffer.arrayOffset() + buffer.position();
        this.size = buffer.remaining();
    }

    static Room none() {
        return new Room(new byte[0], 0, 0);
    }

    int left() {
        return size - used;
    }

    boolean isFull() {
        return used == size;
    }

    /** What is left of it. */
    Room rest() {
        return new Room(bytes, from + used, left());
    }

    /** Overwrites all of it, whatever was counted. */
    void clearAll() {
        Arrays.fill(bytes, from, from + size, (byte) 0);
        used = 0;
    }

    void clear() {
        Arrays.fill(bytes, from, from + used, (byte) 0);
        used = 0;
    }

    /** Moves the position of the buffer behind what came. */
    void done() {
        if (buffer.hasArray()) {
            buffer.position(buffer.position() + used);
        } else {
            buffer.put(bytes, from, used);
            clear();
        }
    }
}
