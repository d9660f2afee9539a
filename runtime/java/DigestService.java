package headrace;

import java.security.DigestException;
import java.security.MessageDigestSpi;
import java.security.ProviderException;

/** A hash as a {@code MessageDigest}. */
final class DigestService extends MessageDigestSpi {
    private final Flow flow;
    private boolean open;

    DigestService(Flow flow) {
        this.flow = flow;
    }

    private void begin() throws MessageException {
        if (!open) {
            flow.begin(Flow.strings(), 0);
            open = true;
        }
    }

    @Override
    protected int engineGetDigestLength() {
        return flow.operation.strings()[Operation.OUTPUT].exactly();
    }

    @Override
    protected void engineUpdate(byte input) {
        engineUpdate(new byte[] {input}, 0, 1);
    }

    @Override
    protected void engineUpdate(byte[] input, int from, int count) {
        try {
            begin();
            flow.update(new Span(input, from, count), Room.none());
        } catch (MessageException error) {
            open = false;
            throw new ProviderException(error);
        }
    }

    @Override
    protected byte[] engineDigest() {
        byte[] digest = new byte[engineGetDigestLength()];
        try {
            engineDigest(digest, 0, digest.length);
        } catch (DigestException error) {
            throw new ProviderException(error);
        }
        return digest;
    }

    @Override
    protected int engineDigest(byte[] out, int at, int count) throws DigestException {
        if (count < engineGetDigestLength()) {
            throw new DigestException("the digest has " + engineGetDigestLength() + " bytes");
        }
        Room[] rooms = Flow.rooms();
        rooms[Flow.OUTPUT_ROOM] = new Room(out, at, count);
        try {
            begin();
            flow.end(Flow.strings(), rooms);
        } catch (MessageException error) {
            throw new ProviderException(error);
        } finally {
            open = false;
        }
        return rooms[Flow.OUTPUT_ROOM].used;
    }

    @Override
    protected void engineReset() {
        open = false;
    }
}
