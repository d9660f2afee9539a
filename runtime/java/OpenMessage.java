package headrace;

import java.security.ProviderException;
import java.util.function.Supplier;

/** A message whose input comes in pieces and whose output comes at its end. It begins with the first piece, or at its end. */
final class OpenMessage {
    private final Flow flow;
    private final Supplier<Span[]> strings;
    private boolean open;

    /** What {@code strings} gives is asked for when a message begins. */
    OpenMessage(Flow flow, Supplier<Span[]> strings) {
        this.flow = flow;
        this.strings = strings;
    }

    boolean hasBegun() {
        return open;
    }

    /** What was begun is not ended. */
    void forget() {
        open = false;
    }

    private void begin() throws MessageException {
        if (!open) {
            flow.begin(strings.get(), 0);
            open = true;
        }
    }

    void update(byte[] input, int from, int count) {
        try {
            begin();
            flow.update(new Span(input, from, count), Room.none());
        } catch (MessageException error) {
            open = false;
            throw new ProviderException(error);
        }
    }

    /** Ends it; the bytes that come, of which it says how many, are put into {@code result}, the room of that number. */
    int end(int number, Room result) {
        Room[] rooms = Flow.rooms();
        rooms[number] = result;
        try {
            begin();
            flow.end(Flow.strings(), rooms);
        } catch (MessageException error) {
            throw new ProviderException(error);
        } finally {
            open = false;
        }
        return result.used;
    }
}
