package models;

import java.nio.ByteBuffer;
import java.util.Random;

/**
 * Calls that digests and codes have alike: a message in pieces of every form, beginning anew, and clones amid a message.
 *
 * @param type their class
 * @param name what an object is called, in front of the number of its slot
 */
record Pieces<T>(
        Class<T> type, String name, One<T> one, Part<T> part, Buffer<T> buffer, Reset<T> reset, Copied<T> copied) {
    interface One<T> {
        void to(T object, byte piece);
    }

    interface Part<T> {
        void to(T object, byte[] bytes, int from, int count);
    }

    interface Buffer<T> {
        void to(T object, ByteBuffer piece);
    }

    interface Reset<T> {
        void of(T object);
    }

    interface Copied<T> {
        Object of(T object) throws CloneNotSupportedException;
    }

    /** What a call does with an object. */
    interface Action<T> {
        String on(T object) throws Exception;
    }

    /** A call of the object in a slot; {@code text} is what stands behind its name. */
    Call call(int slot, String text, Action<T> action) {
        return new Call(name + slot + text, false, objects -> action.on(objects.get(slot, type)));
    }

    Call oneByte(int slot, byte[] bytes) {
        return call(slot, ".update(one byte)", object -> {
            one.to(object, (byte) bytes.length);
            return "done";
        });
    }

    /** A part of an array, now and then one that is not in it. */
    Call part(Random random, int slot, byte[] bytes) {
        int from = random.nextInt(8) - 1;
        int count = Math.max(0, bytes.length - 5) + random.nextInt(7) - 1;
        return call(slot, ".update([" + bytes.length + "], " + from + ", " + count + ")", object -> {
            part.to(object, bytes, from, count);
            return "done";
        });
    }

    Call buffer(Random random, int slot, byte[] bytes) {
        Bytes.Form form = Bytes.Form.any(random);
        return call(slot, ".update(" + form + "[" + bytes.length + "])", object -> {
            ByteBuffer piece = form.of(bytes);
            buffer.to(object, piece);
            return "left " + piece.remaining();
        });
    }

    Call anew(int slot) {
        return call(slot, ".reset()", object -> {
            reset.of(object);
            return "done";
        });
    }

    Call copy(Random random, int slot) {
        int to = random.nextInt(Objects.SLOTS);
        return new Call(name + to + " = " + name + slot + ".clone()", false, objects -> {
            objects.put(to, copied.of(objects.get(slot, type)));
            return "done";
        });
    }
}
