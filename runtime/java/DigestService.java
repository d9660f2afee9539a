package headrace;

import java.security.DigestException;
import java.security.MessageDigestSpi;
import java.security.ProviderException;

/** A hash as a {@code MessageDigest}. */
final class DigestService extends MessageDigestSpi implements Cloneable {
    private OpenMessage message;

    DigestService(Flow flow) {
        message = new OpenMessage(flow);
    }

    @Override
    protected int engineGetDigestLength() {
        return message.flow.operation.strings()[Operation.OUTPUT].exactly();
    }

    @Override
    protected void engineUpdate(byte input) {
        engineUpdate(new byte[] {input}, 0, 1);
    }

    @Override
    protected void engineUpdate(byte[] input, int from, int count) {
        message.update(input, from, count, Flow::strings);
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
        if (at < 0 || count > out.length - at) {
            throw new DigestException("there is no room for the digest there");
        }
        return message.end(Flow.OUTPUT_ROOM, new Room(out, at, count), Flow::strings);
    }

    @Override
    protected void engineReset() {
        message.forget();
    }

    @Override
    public Object clone() throws CloneNotSupportedException {
        DigestService copy = (DigestService) super.clone();
        copy.message = message.copy();
        return copy;
    }
}
