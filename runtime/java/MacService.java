package headrace;

import java.security.InvalidAlgorithmParameterException;
import java.security.InvalidKeyException;
import java.security.Key;
import java.security.ProviderException;
import java.security.spec.AlgorithmParameterSpec;
import java.util.Arrays;
import javax.crypto.MacSpi;
import javax.crypto.spec.IvParameterSpec;

/** A message authentication code as a {@code Mac}. */
final class MacService extends MacSpi {
    private final Flow flow;
    private final OpenMessage message;
    private Key key;
    private byte[] iv;

    MacService(Flow flow) {
        this.flow = flow;
        message = new OpenMessage(flow, this::strings);
    }

    @Override
    protected int engineGetMacLength() {
        return flow.operation.strings()[Operation.TAG].exactly();
    }

    @Override
    protected void engineInit(Key key, AlgorithmParameterSpec spec)
            throws InvalidKeyException, InvalidAlgorithmParameterException {
        boolean hasIv = flow.operation.has(Operation.NONCE) || flow.operation.has(Operation.IV);
        if (spec != null && !(hasIv && spec instanceof IvParameterSpec)) {
            throw new InvalidAlgorithmParameterException(hasIv ? "an IvParameterSpec is wanted" : "there is no nonce");
        }
        // A string may be empty without being mentioned; a nonce is always chosen.
        boolean maybeEmpty = hasIv && ivRole() == Operation.IV;
        iv = spec instanceof IvParameterSpec parameters ? parameters.getIV() : maybeEmpty ? new byte[0] : null;
        if (hasIv && (iv == null || !flow.operation.allows(ivRole(), iv.length))) {
            throw new InvalidAlgorithmParameterException(
                    spec == null ? "an IvParameterSpec is wanted" : "the nonce has a length that is not allowed");
        }
        this.key = key;
        takeKey();
    }

    private int ivRole() {
        return flow.operation.has(Operation.NONCE) ? Operation.NONCE : Operation.IV;
    }

    private void takeKey() throws InvalidKeyException {
        byte[] bytes = key == null ? null : key.getEncoded();
        if (bytes == null) {
            throw new InvalidKeyException("the bytes of the key are not known");
        }
        message.forget();
        try {
            flow.key(Span.of(bytes));
        } catch (MessageException error) {
            throw new InvalidKeyException(error.getMessage(), error);
        } finally {
            Arrays.fill(bytes, (byte) 0);
        }
    }

    private Span[] strings() {
        Span[] strings = Flow.strings();
        strings[ivRole()] = Span.of(iv);
        return strings;
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
    protected byte[] engineDoFinal() {
        byte[] tag = new byte[engineGetMacLength()];
        message.end(Flow.TAG_ROOM, new Room(tag, 0, tag.length));
        return tag;
    }

    @Override
    protected void engineReset() {
        if (message.hasBegun()) {
            try {
                takeKey();
            } catch (InvalidKeyException error) {
                throw new ProviderException(error);
            }
        }
    }
}
