package headrace;

import headrace.MessageException.Reason;
import java.security.InvalidKeyException;
import java.security.MessageDigest;
import java.security.ProviderException;
import java.util.Arrays;
import java.util.function.Supplier;
import javax.crypto.AEADBadTagException;
import javax.crypto.BadPaddingException;
import javax.crypto.IllegalBlockSizeException;
import javax.crypto.ShortBufferException;

/**
 * Messages of a {@code Cipher} under one key: what went in and how much of it came out, so that it is known what comes before
 * anything is done. What is verified, and what must be known whole, is kept until its message ends.
 */
final class CipherMessage {
    private final CipherKind kind;
    private final boolean encrypts;
    private final CipherKind.Terms terms;
    private final byte[] key;
    private final Supplier<Flow> forward;
    private Flow flow;

    private boolean open;
    /** No associated data any more. */
    private boolean late;
    /** The nonce had its message. */
    private boolean over;
    /** How many bytes of the message went into the network that have not come out. */
    private int inside;
    /** How many bytes of the message went into it. */
    private long taken;

    private final Secrets held = new Secrets();
    private final Secrets ad = new Secrets();

    /** The key is the message's from now on. */
    CipherMessage(
            CipherKind kind, Flow flow, boolean encrypts, CipherKind.Terms terms, byte[] key, Supplier<Flow> forward)
            throws InvalidKeyException {
        this.kind = kind;
        this.flow = flow;
        this.encrypts = encrypts;
        this.terms = terms;
        this.key = key;
        this.forward = forward;
        try {
            flow.key(Span.of(key));
        } catch (MessageException error) {
            throw new InvalidKeyException(error.getMessage(), error);
        }
    }

    /** Gives up everything but what works on the messages. */
    Flow ended() {
        held.clear();
        ad.clear();
        Arrays.fill(key, (byte) 0);
        return flow.isDestroyed() ? null : flow;
    }

    // --- how much comes ---

    private boolean keeps() {
        return kind.isAead() && !encrypts || flow.operation.singleChunk();
    }

    private int total(int count) {
        return Math.addExact(Math.addExact(inside, held.size()), count);
    }

    /** What a piece makes come, exactly where the JDK says so, and at most elsewhere. */
    int due(int count) {
        int whole = keeps() ? 0 : total(count) - (kind.pads() && !encrypts ? kind.blockBytes() : 0);
        return whole > 0 ? whole - whole % kind.unit() : 0;
    }

    /** Room in which a piece of that length can be worked on. */
    int mostNow(int count) {
        return keeps() ? 0 : total(count);
    }

    /** Room for what comes if the message ends with so many bytes. */
    int mostAtEnd(int count) {
        int total = total(count);
        if (!encrypts) {
            return Math.max(0, total - terms.tagBytes());
        }
        return Math.addExact(total, kind.pads() ? kind.blockBytes() - total % kind.blockBytes() : terms.tagBytes());
    }

    static void sureOfRoom(int left, int wanted) throws ShortBufferException {
        if (left < wanted) {
            throw new ShortBufferException("room for " + wanted + " bytes is wanted");
        }
    }

    void sureOfNonce() {
        if (over) {
            throw new IllegalStateException("a further message needs a nonce of its own");
        }
    }

    // --- pieces ---

    void associate(byte[] bytes, int from, int count) {
        sureOfNonce();
        if (late) {
            throw new IllegalStateException("associated data comes before the message");
        }
        if (!flow.operation.has(Operation.AD)) {
            throw new IllegalStateException("it takes no associated data");
        }
        ad.write(bytes, from, count);
    }

    /** The message itself begins. */
    void closeAssociated() {
        sureOfNonce();
        late = true;
    }

    private Span[] strings() {
        Span[] strings = Flow.strings();
        if (kind.hasIv()) {
            strings[kind.ivRole()] = Span.of(terms.iv());
        }
        if (flow.operation.has(Operation.AD)) {
            strings[Operation.AD] = ad.span();
        }
        return strings;
    }

    private void begin() throws MessageException {
        if (!open) {
            flow.begin(strings(), 0);
            open = true;
            byte[] before = new byte[CipherKind.KEY_STREAM_BLOCK];
            for (int block = 0; block < terms.blocksBefore(); block++) {
                flow.update(Span.of(before), new Room(new byte[CipherKind.KEY_STREAM_BLOCK], 0, CipherKind.KEY_STREAM_BLOCK));
            }
        }
    }

    /** No message is longer than its counter counts. */
    private void sureOfLength(int count) {
        long all = (long) terms.blocksBefore() * CipherKind.KEY_STREAM_BLOCK + taken + held.size() + count;
        if (all > kind.mostBytes() || !keeps() && !flow.hasPlaceFor((long) held.size() + count)) {
            throw new ProviderException("the message is longer than one may be");
        }
    }

    private void feed(Span input, Room room) throws MessageException {
        if (input.count() > 0) {
            int used = room.used;
            flow.update(input, room);
            inside += input.count() - (room.used - used);
            taken += input.count();
        }
    }

    void update(byte[] in, int from, int count, Room room) {
        sureOfNonce();
        sureOfLength(count);
        late = true;
        if (keeps()) {
            held.write(in, from, count);
            return;
        }
        try {
            begin();
            int rest = (held.size() + count) % kind.unit();
            int whole = held.size() + count - rest;
            if (whole > 0 && held.size() > 0) {
                int first = kind.unit() - held.size();
                held.write(in, from, first);
                feed(held.span(), room);
                held.clear();
                from += first;
                count -= first;
                whole -= kind.unit();
            }
            if (whole > 0) {
                feed(new Span(in, from, whole), room);
                from += whole;
                count -= whole;
            }
            held.write(in, from, count);
        } catch (MessageException error) {
            lost();
            throw new ProviderException(error);
        }
    }

    // --- the end ---

    /** Ends the message, if the caller has room for what comes; that is in {@code room} then, which has room for anything. */
    void end(byte[] in, int from, int count, Room room, int left)
            throws ShortBufferException, IllegalBlockSizeException, BadPaddingException {
        sureOfNonce();
        sureOfLength(count);
        int total = total(count);
        int most = mostAtEnd(count);
        if (!encrypts && total < terms.tagBytes()) {
            forget();
            throw new AEADBadTagException("the tag is missing");
        }
        // In the order of the JDK. What padding leaves of a block is not known before.
        sureOfRoom(left, !encrypts && kind.isBlockCipher() ? most - kind.blockBytes() : most);
        boolean nothing = total == 0 && !open && kind.pads() && !encrypts;
        if (!nothing && !kind.isAead() && !flow.allowsInput((long) held.size() + count)) {
            throw new IllegalBlockSizeException(Reason.INPUT_LENGTH.toString());
        }
        if (!kind.pads()) {
            sureOfRoom(left, most);
        }
        Flow before = left < most ? flow.copy() : null;
        int insideBefore = inside;
        long takenBefore = taken;
        boolean openBefore = open;
        try {
            if (keeps()) {
                whole(in, from, count, room);
            } else if (!nothing) {
                rest(in, from, count, room);
            }
            if (room.used > left) {
                int wanted = room.used;
                room.clearAll();
                flow.destroy();
                flow = before;
                before = null;
                inside = insideBefore;
                taken = takenBefore;
                open = openBefore;
                sureOfRoom(left, wanted);
            }
        } catch (MessageException error) {
            room.clearAll();
            if (error.reason() == Reason.REFUSED) {
                forget();
                throw kind.isAead() ? new AEADBadTagException(error.getMessage()) : new BadPaddingException(error.getMessage());
            }
            lost();
            if (error.reason() == Reason.INPUT_LENGTH || error.reason() == Reason.STRING_LENGTH) {
                throw new IllegalBlockSizeException(error.getMessage());
            }
            throw new ProviderException(error);
        } finally {
            if (before != null) {
                before.destroy();
            }
        }
        forget();
        over = encrypts && !kind.isBlockCipher() && kind.hasIv();
    }

    /** What follows the pieces that went in. */
    private void rest(byte[] in, int from, int count, Room room) throws MessageException {
        begin();
        feed(held.span(), room);
        feed(new Span(in == null ? new byte[0] : in, from, count), room);
        Room[] rooms = Flow.rooms();
        rooms[Flow.OUTPUT_ROOM] = room.rest();
        byte[] tag = new byte[kind.isAead() ? kind.tagBytes() : 0];
        rooms[Flow.TAG_ROOM] = new Room(tag, 0, tag.length);
        flow.end(Flow.strings(), rooms);
        room.used += rooms[Flow.OUTPUT_ROOM].used;
        append(tag, room);
    }

    /** The beginning of a tag, behind the text. */
    private void append(byte[] tag, Room room) {
        if (encrypts && kind.isAead()) {
            System.arraycopy(tag, 0, room.bytes, room.from + room.used, terms.tagBytes());
            room.used += terms.tagBytes();
        }
    }

    /** The message that is known whole now. */
    private void whole(byte[] in, int from, int count, Room room) throws MessageException {
        Span text = new Span(in == null ? new byte[0] : in, from, count);
        if (held.size() > 0) {
            held.write(text.bytes(), text.from(), count);
            text = held.span();
        }
        Span[] strings = strings();
        Room[] rooms = Flow.rooms();
        rooms[Flow.OUTPUT_ROOM] = room;
        if (encrypts) {
            byte[] tag = new byte[kind.isAead() ? kind.tagBytes() : 0];
            strings[Operation.INPUT] = text;
            rooms[Flow.TAG_ROOM] = new Room(tag, 0, tag.length);
            flow.whole(strings, rooms);
            append(tag, room);
            return;
        }
        int bytes = text.count() - terms.tagBytes();
        strings[Operation.INPUT] = new Span(text.bytes(), text.from(), bytes);
        if (!kind.isAead()) {
            flow.whole(strings, rooms);
            return;
        }
        int behind = text.from() + bytes;
        byte[] tag = Arrays.copyOf(Arrays.copyOfRange(text.bytes(), behind, behind + terms.tagBytes()), kind.tagBytes());
        strings[Operation.TAG_IN] = Span.of(tag);
        boolean isCut = terms.tagBytes() < tag.length;
        flow.whole(strings, rooms, isCut);
        if (isCut && !MessageDigest.isEqual(Arrays.copyOf(tagOf(room), terms.tagBytes()), Arrays.copyOf(tag, terms.tagBytes()))) {
            throw new MessageException(Reason.REFUSED);
        }
    }

    /** The whole tag of a text: networks verify no less of one, so it is made anew and compared here. */
    private byte[] tagOf(Room text) throws MessageException {
        Flow maker = forward.get();
        byte[] again = new byte[text.used];
        byte[] tag = new byte[kind.tagBytes()];
        try {
            maker.key(Span.of(key));
            Span[] strings = strings();
            strings[Operation.INPUT] = new Span(text.bytes, text.from, text.used);
            Room[] rooms = Flow.rooms();
            rooms[Flow.OUTPUT_ROOM] = new Room(again, 0, again.length);
            rooms[Flow.TAG_ROOM] = new Room(tag, 0, tag.length);
            maker.whole(strings, rooms);
            return tag;
        } finally {
            maker.destroy();
        }
    }

    /** As after {@code init}. */
    private void forget() {
        open = false;
        late = false;
        inside = 0;
        taken = 0;
        held.clear();
        ad.clear();
    }

    /** A network that stopped amid its message begins anew. */
    private void lost() {
        forget();
        try {
            flow.key(Span.of(key));
        } catch (MessageException error) {
            flow.destroy();
        }
    }
}
