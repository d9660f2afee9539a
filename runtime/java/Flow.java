package headrace;

import headrace.MessageException.Reason;
import headrace.Operation.Port;
import java.util.Arrays;

/**
 * Messages through a generated network: what stands between the methods of an operation and the ports of its network.
 *
 * <p>Tokens go in as there is room for them and out as there is room in the caller's buffer, so no memory is needed beyond
 * the network's own.
 */
final class Flow {
    /** The top bit of a chunk size marks the last chunk of its string. */
    private static final int LAST_CHUNK = 1 << 31;

    private static final int CHUNK_MOST = 1 << 30;

    private enum State {
        NO_KEY,
        /** A key is sent as soon as it is given; {@code Rekey} says of the next message that it is there already. */
        NEW_KEY,
        KEYED,
        OPEN,
        DESTROYED
    }

    /** Numbers of {@link #rooms}: what may come out at the end. */
    static final int SECRET_NONCE_ROOM = 0;

    static final int OUTPUT_ROOM = 1;
    static final int TAG_ROOM = 2;

    final Operation operation;
    private final Network network;
    private State state = State.NO_KEY;
    private long inputBytes;

    Flow(Operation operation, Network network) {
        this.operation = operation;
        this.network = network;
    }

    /** Strings that go in, none of them given. */
    static Span[] strings() {
        return new Span[Operation.TAG_IN + 1];
    }

    /** Room for what comes out: secret nonce, output, tag. */
    static Room[] rooms() {
        return new Room[] {Room.none(), Room.none(), Room.none()};
    }

    private static void sure(boolean condition, Reason reason) throws MessageException {
        if (!condition) {
            throw new MessageException(reason);
        }
    }

    private void live() {
        if (state == State.DESTROYED) {
            throw new IllegalStateException("it was destroyed");
        }
    }

    /** The same from here on, apart from this. */
    Flow copy() {
        live();
        Flow copy = new Flow(operation, network.copy());
        copy.state = state;
        copy.inputBytes = inputBytes;
        return copy;
    }

    /** Overwrites all state. */
    void destroy() {
        network.clear();
        state = State.DESTROYED;
    }

    boolean isDestroyed() {
        return state == State.DESTROYED;
    }

    // --- tokens in ---

    private void put(int port, Span span) throws MessageException {
        int sent = 0;
        while (sent < span.count()) {
            int n = network.put(port, span.bytes(), span.from() + sent, span.count() - sent);
            if (n == 0) {
                sure(network.run(), Reason.STUCK);
                n = network.put(port, span.bytes(), span.from() + sent, span.count() - sent);
                sure(n > 0, Reason.STUCK);
            }
            sent += n;
        }
    }

    private void putWord(int port, int word) throws MessageException {
        if (port != Operation.NONE && !network.putWord(port, word)) {
            sure(network.run() && network.putWord(port, word), Reason.STUCK);
        }
    }

    private void putFlag(int port, boolean flag) throws MessageException {
        putWord(port, flag ? 1 : 0);
    }

    /** A string that is known whole. */
    private void putString(int role, Span given) throws MessageException {
        Port string = operation.strings()[role];
        if (string == null) {
            return;
        }
        Span span = given == null ? Span.EMPTY : given;
        if (string.sizes() == Operation.NONE) {
            put(string.port(), span);
            return;
        }
        int from = span.from();
        int rest = span.count();
        for (; rest > CHUNK_MOST; from += CHUNK_MOST, rest -= CHUNK_MOST) {
            putWord(string.sizes(), CHUNK_MOST);
            put(string.port(), new Span(span.bytes(), from, CHUNK_MOST));
        }
        putWord(string.sizes(), LAST_CHUNK | rest);
        put(string.port(), new Span(span.bytes(), from, rest));
    }

    // --- input and output together ---

    /** Moves input in, and output that streams out, until all is taken and nothing moves any more. */
    private void pump(Span input, Room out) throws MessageException {
        boolean streams = operation.streams();
        Port from = operation.strings()[Operation.INPUT];
        Port to = operation.strings()[Operation.OUTPUT];
        int sent = 0;
        int moved;
        do {
            moved = 0;
            if (from != null && sent < input.count()) {
                int n = network.put(from.port(), input.bytes(), input.from() + sent, input.count() - sent);
                sent += n;
                moved += n;
            }
            sure(network.run(), Reason.STUCK);
            if (streams) {
                if (!out.isFull()) {
                    int n = network.get(to.port(), out.bytes, out.from + out.used, out.left());
                    out.used += n;
                    moved += n;
                }
                while (network.getWord(to.sizes()) >= 0) {
                    moved++;
                }
            }
        } while (moved != 0 && (streams || sent < input.count()));
        if (streams && out.isFull()) {
            nothingMore(to.port());
        }
        sure(sent == input.count(), Reason.STUCK);
    }

    private void nothingMore(int port) throws MessageException {
        byte[] more = new byte[1];
        int n = network.get(port, more, 0, 1);
        more[0] = 0;
        sure(n == 0, Reason.ROOM);
    }

    /** A further chunk of input. */
    private void chunk(Span input, int last, Room out) throws MessageException {
        Port from = operation.strings()[Operation.INPUT];
        putWord(from == null ? Operation.NONE : from.sizes(), input.count() | last);
        pump(input, out);
    }

    /** A string that came out whole. */
    private void take(int role, Room to) throws MessageException {
        Port string = operation.strings()[role];
        if (string == null) {
            return;
        }
        to.used = network.get(string.port(), to.bytes, to.from, to.size);
        if (to.isFull()) {
            nothingMore(string.port());
        }
        if (string.sizes() != Operation.NONE) {
            while (network.getWord(string.sizes()) >= 0) {
                // Chunk sizes of a string that is whole tell nothing.
            }
        }
        sure(string.allows(to.used), Reason.STUCK);
    }

    /** A message that is not authentic was processed to its end like any other, so its key is still good. */
    private void ended(MessageException error) throws MessageException {
        boolean whole = error == null || error.reason() == Reason.REFUSED;
        state = whole && operation.rekey() != Operation.NONE ? State.KEYED : State.NO_KEY;
        if (error != null) {
            throw error;
        }
    }

    private static int count(Span span) {
        return span == null ? 0 : span.count();
    }

    // --- messages ---

    /** Takes a key, which is used from the next message on. One that is refused leaves everything as it was. */
    void key(Span key) throws MessageException {
        live();
        sure(operation.allows(Operation.KEY, key.count()), Reason.KEY_LENGTH);
        state = State.NO_KEY;
        network.restart();
        putFlag(operation.rekey(), true);
        boolean core = operation.blockBytes() != 0;
        if (core) {
            // The key of a core comes with a burst: an empty one.
            putFlag(operation.decrypt(), operation.decrypts());
        }
        putString(Operation.KEY, key);
        if (core) {
            putWord(operation.blocks(), 0);
        }
        state = core ? State.KEYED : State.NEW_KEY;
    }

    /** All that comes before the input; {@code inputSize} is the token of an input that must be one chunk. */
    void begin(Span[] strings, int inputSize) throws MessageException {
        live();
        boolean keyed = operation.rekey() != Operation.NONE;
        boolean seeds = keyed && operation.has(Operation.SEED) && strings[Operation.SEED] != null;
        State before = state;
        sure(!keyed || seeds || before == State.NEW_KEY || before == State.KEYED, Reason.ORDER);
        for (int role = Operation.NONCE; role <= Operation.ENTROPY; role++) {
            sure(!isSent(role, strings) || operation.allows(role, count(strings[role])), Reason.STRING_LENGTH);
        }
        state = State.NO_KEY;
        if (!keyed || seeds) {
            network.restart();
        }
        if (keyed && before != State.NEW_KEY) {
            putFlag(operation.rekey(), seeds);
        }
        putFlag(operation.decrypt(), operation.decrypts());
        putFlag(operation.reseed(), strings[Operation.ENTROPY] != null);
        if (operation.singleChunk()) {
            Port input = operation.strings()[Operation.INPUT];
            putWord(input == null ? Operation.NONE : input.sizes(), inputSize);
        }
        for (int role = Operation.NONCE; role <= Operation.ENTROPY; role++) {
            if (isSent(role, strings)) {
                putString(role, strings[role]);
            }
        }
        inputBytes = 0;
        state = State.OPEN;
    }

    /** A generator that goes on is sent neither seed nor entropy. */
    private boolean isSent(int role, Span[] strings) {
        boolean optional = operation.reseed() != Operation.NONE && (role == Operation.SEED || role == Operation.ENTROPY);
        return operation.has(role) && (!optional || strings[role] != null);
    }

    private long inputWith(long more) {
        return (state == State.OPEN ? inputBytes : 0) + more;
    }

    /** The message that is under way, or the next, may have so many further bytes of input and end there. */
    boolean allowsInput(long more) {
        return operation.allows(Operation.INPUT, inputWith(more));
    }

    /** It may have so many further bytes of input. */
    boolean hasPlaceFor(long more) {
        Port input = operation.strings()[Operation.INPUT];
        return input == null || input.most() >= inputWith(more);
    }

    /** Takes a piece of input. */
    void update(Span input, Room out) throws MessageException {
        live();
        sure(state == State.OPEN, Reason.ORDER);
        // A counter that came round would make a key stream come again.
        sure(hasPlaceFor(input.count()), Reason.INPUT_LENGTH);
        try {
            int from = input.from();
            int rest = input.count();
            while (rest > 0) {
                int n = Math.min(rest, CHUNK_MOST);
                chunk(new Span(input.bytes(), from, n), 0, out);
                inputBytes += n;
                from += n;
                rest -= n;
            }
        } catch (MessageException error) {
            ended(error);
        }
    }

    /** All that follows the last input. */
    private void finish(Span[] strings, Room[] rooms, boolean isPumped) throws MessageException {
        putString(Operation.TAG_IN, strings[Operation.TAG_IN]);
        if (operation.has(Operation.TAG_IN) || !isPumped) {
            pump(Span.EMPTY, rooms[OUTPUT_ROOM]);
        }
        take(Operation.SECRET_NONCE_OUT, rooms[SECRET_NONCE_ROOM]);
        if (!operation.streams()) {
            take(Operation.OUTPUT, rooms[OUTPUT_ROOM]);
        }
        take(Operation.TAG, rooms[TAG_ROOM]);
        verified();
    }

    private void verified() throws MessageException {
        if (operation.verified() != Operation.NONE) {
            long verified = network.getWord(operation.verified());
            sure(verified >= 0, Reason.STUCK);
            sure(verified != 0, Reason.REFUSED);
        }
    }

    private boolean tagFits(Span[] strings) {
        return operation.allows(Operation.TAG_IN, count(strings[Operation.TAG_IN]));
    }

    /** Ends a message that was begun. */
    void end(Span[] strings, Room[] rooms) throws MessageException {
        live();
        sure(state == State.OPEN, Reason.ORDER);
        MessageException failed = null;
        try {
            sure(operation.allows(Operation.INPUT, inputBytes), Reason.INPUT_LENGTH);
            sure(tagFits(strings), Reason.STRING_LENGTH);
            Port input = operation.strings()[Operation.INPUT];
            putWord(input == null ? Operation.NONE : input.sizes(), LAST_CHUNK);
            finish(strings, rooms, false);
        } catch (MessageException error) {
            failed = error;
        }
        ended(failed);
    }

    /** A whole message. */
    void whole(Span[] strings, Room[] rooms) throws MessageException {
        whole(strings, rooms, false);
    }

    /** A whole message, whose output may be wanted in spite of its tag, by who verifies it in another way. */
    void whole(Span[] strings, Room[] rooms, boolean inSpite) throws MessageException {
        live();
        Span input = strings[Operation.INPUT] == null ? Span.EMPTY : strings[Operation.INPUT];
        sure(operation.allows(Operation.INPUT, input.count()), Reason.INPUT_LENGTH);
        sure(tagFits(strings), Reason.STRING_LENGTH);
        begin(strings, LAST_CHUNK | input.count());
        MessageException failed = null;
        try {
            if (operation.singleChunk()) {
                pump(input, rooms[OUTPUT_ROOM]);
            } else {
                int from = input.from();
                int rest = input.count();
                for (; rest > CHUNK_MOST; from += CHUNK_MOST, rest -= CHUNK_MOST) {
                    chunk(new Span(input.bytes(), from, CHUNK_MOST), 0, rooms[OUTPUT_ROOM]);
                }
                chunk(new Span(input.bytes(), from, rest), LAST_CHUNK, rooms[OUTPUT_ROOM]);
            }
            finish(strings, rooms, true);
        } catch (MessageException error) {
            failed = inSpite && error.reason() == Reason.REFUSED ? null : error;
            if (failed != null && operation.withholds()) {
                Arrays.asList(rooms).forEach(Room::clear);
            }
        }
        ended(failed);
    }

    /** Blocks of a core. */
    void blocks(Span input, Room out) throws MessageException {
        live();
        sure(state == State.KEYED, Reason.ORDER);
        sure(input.count() % operation.blockBytes() == 0, Reason.INPUT_LENGTH);
        sure(out.size >= input.count(), Reason.ROOM);
        MessageException failed = null;
        try {
            putFlag(operation.rekey(), false);
            putFlag(operation.decrypt(), operation.decrypts());
            putWord(operation.blocks(), input.count() / operation.blockBytes());
            int from = operation.strings()[Operation.INPUT].port();
            int to = operation.strings()[Operation.OUTPUT].port();
            int sent = 0;
            while (out.used < input.count()) {
                int in = network.put(from, input.bytes(), input.from() + sent, input.count() - sent);
                sure(network.run(), Reason.STUCK);
                int got = network.get(to, out.bytes, out.from + out.used, input.count() - out.used);
                sure(in + got > 0, Reason.STUCK);
                sent += in;
                out.used += got;
            }
        } catch (MessageException error) {
            failed = error;
        }
        ended(failed);
    }

    /** Words of a generator. */
    void words(int words, Span[] strings, Room out) throws MessageException {
        live();
        sure(Integer.toUnsignedLong(words) <= operation.mostWords(), Reason.INPUT_LENGTH);
        MessageException failed = null;
        try {
            begin(strings, 0);
        } catch (MessageException error) {
            if (error.reason() == Reason.ORDER || error.reason() == Reason.STRING_LENGTH) {
                throw error;
            }
            failed = error;
        }
        if (failed == null) {
            try {
                putWord(operation.blocks(), words);
                int port = operation.strings()[Operation.OUTPUT].port();
                int n;
                do {
                    sure(network.run(), Reason.STUCK);
                    if (out.isFull()) {
                        nothingMore(port);
                        break;
                    }
                    n = network.get(port, out.bytes, out.from + out.used, out.left());
                    out.used += n;
                } while (n > 0);
                verified();
            } catch (MessageException error) {
                failed = error;
            }
        }
        ended(failed);
    }
}
