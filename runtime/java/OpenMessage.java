package headrace;

import java.security.ProviderException;
import java.util.function.Supplier;

/** A message whose input comes in pieces and whose output comes at its end. It begins with the first piece, or at its end. */
final class OpenMessage {
    final Flow flow;
    private boolean open;

    OpenMessage(Flow flow) {
        this.flow = flow;
    }

    /** The same from here on, apart from this. */
    OpenMessage copy() {
        OpenMessage copy = new OpenMessage(flow.copy());
        copy.open = open;
        return copy;
    }

    boolean hasBegun() {
        return open;
    }

    /** What was begun is not ended. */
    void forget() {
        open = false;
    }

    private void begin(Supplier<Span[]> strings) throws MessageException {
        if (!open) {
            flow.begin(strings.get(), 0);
            open = true;
        }
    }

    /** What {@code strings} gives is asked for when a message begins. */
    void update(byte[] input, int from, int count, Supplier<Span[]> strings) {
        if (count == 0) {
            return;
        }
        if (from < 0 || count < 0 || count > input.length - from) {
            throw new ArrayIndexOutOfBoundsException("from " + from + ", " + count + " bytes of " + input.length);
        }
        if (!flow.hasPlaceFor(count)) {
            throw new ProviderException("the message is longer than one may be");
        }
        try {
            begin(strings);
            flow.update(new Span(input, from, count), Room.none());
        } catch (MessageException error) {
            open = false;
            throw new ProviderException(error);
        }
    }

    /** Ends it; the bytes that come, of which it says how many, are put into {@code result}, the room of that number. */
    int end(int number, Room result, Supplier<Span[]> strings) {
        Room[] rooms = Flow.rooms();
        rooms[number] = result;
        try {
            begin(strings);
            flow.end(Flow.strings(), rooms);
        } catch (MessageException error) {
            throw new ProviderException(error);
        } finally {
            open = false;
        }
        return result.used;
    }
}
