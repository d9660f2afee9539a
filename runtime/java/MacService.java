package headrace;

import java.security.InvalidAlgorithmParameterException;
import java.security.InvalidKeyException;
import java.security.Key;
import java.security.ProviderException;
import java.security.spec.AlgorithmParameterSpec;
import java.util.Arrays;
import javax.crypto.MacSpi;
import javax.crypto.SecretKey;
import javax.crypto.spec.IvParameterSpec;

/** A message authentication code as a {@code Mac}. */
final class MacService extends MacSpi implements Cloneable {
    private OpenMessage message;
    private byte[] key;
    private byte[] iv;

    MacService(Flow flow) {
        message = new OpenMessage(flow);
    }

    private Operation operation() {
        return message.flow.operation;
    }

    @Override
    protected int engineGetMacLength() {
        return operation().strings()[Operation.TAG].exactly();
    }

    /** What is refused leaves the key and the message that there were. */
    @Override
    protected void engineInit(Key newKey, AlgorithmParameterSpec spec)
            throws InvalidKeyException, InvalidAlgorithmParameterException {
        boolean hasIv = operation().has(Operation.NONCE) || operation().has(Operation.IV);
        if (spec != null && !(hasIv && spec instanceof IvParameterSpec)) {
            throw new InvalidAlgorithmParameterException(hasIv ? "an IvParameterSpec is wanted" : "there is no nonce");
        }
        // A string may be empty without being mentioned; a nonce is always chosen.
        boolean maybeEmpty = hasIv && ivRole() == Operation.IV;
        byte[] newIv = spec instanceof IvParameterSpec parameters ? parameters.getIV() : maybeEmpty ? new byte[0] : null;
        if (hasIv && (newIv == null || !operation().allows(ivRole(), newIv.length))) {
            throw new InvalidAlgorithmParameterException(
                    spec == null ? "an IvParameterSpec is wanted" : "the nonce has a length that is not allowed");
        }
        byte[] bytes = newKey instanceof SecretKey ? newKey.getEncoded() : null;
        if (bytes == null) {
            throw new InvalidKeyException("a secret key is wanted whose bytes are known");
        }
        try {
            message.flow.key(Span.of(bytes));
        } catch (MessageException error) {
            Arrays.fill(bytes, (byte) 0);
            throw new InvalidKeyException(error.getMessage(), error);
        }
        message.forget();
        if (key != null) {
            Arrays.fill(key, (byte) 0);
        }
        key = bytes;
        iv = newIv;
    }

    private int ivRole() {
        return operation().has(Operation.NONCE) ? Operation.NONCE : Operation.IV;
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
        message.update(input, from, count, this::strings);
    }

    @Override
    protected byte[] engineDoFinal() {
        byte[] tag = new byte[engineGetMacLength()];
        message.end(Flow.TAG_ROOM, new Room(tag, 0, tag.length), this::strings);
        return tag;
    }

    @Override
    protected void engineReset() {
        if (message.hasBegun()) {
            message.forget();
            try {
                message.flow.key(Span.of(key));
            } catch (MessageException error) {
                throw new ProviderException(error);
            }
        }
    }

    @Override
    public Object clone() throws CloneNotSupportedException {
        MacService copy = (MacService) super.clone();
        copy.message = message.copy();
        copy.key = key == null ? null : key.clone();
        return copy;
    }
}
