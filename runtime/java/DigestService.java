package headrace;

import java.security.DigestException;
import java.security.MessageDigestSpi;
import java.security.ProviderException;

/** A hash as a {@code MessageDigest}. */
final class DigestService extends MessageDigestSpi {
    private final Flow flow;
    private final OpenMessage message;

    DigestService(Flow flow) {
        this.flow = flow;
        message = new OpenMessage(flow, Flow::strings);
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
        message.update(input, from, count);
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
        return message.end(Flow.OUTPUT_ROOM, new Room(out, at, count));
    }

    @Override
    protected void engineReset() {
        message.forget();
    }
}
