package headrace;

import java.nio.ByteBuffer;
import java.security.AlgorithmParameters;
import java.security.InvalidAlgorithmParameterException;
import java.security.InvalidKeyException;
import java.security.Key;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.security.spec.AlgorithmParameterSpec;
import java.util.Arrays;
import java.util.function.Supplier;
import javax.crypto.BadPaddingException;
import javax.crypto.Cipher;
import javax.crypto.CipherSpi;
import javax.crypto.IllegalBlockSizeException;
import javax.crypto.NoSuchPaddingException;
import javax.crypto.ShortBufferException;

/**
 * A pair of operations as a {@code Cipher}: what the JCA calls. A call that fails leaves everything as it was, but for what is
 * not authentic or wrongly padded, which ends its message. A tag follows the ciphertext.
 */
final class CipherService extends CipherSpi {
    private final Supplier<Flow> forward;
    private final Supplier<Flow> inverse;
    private final CipherKind kind;

    /** None until there is a key. */
    private CipherMessage message;

    private boolean encrypts;
    private CipherKind.Terms terms;
    /** With which a message was begun, so that none begins with them again. */
    private byte[] lastKey;

    private byte[] lastIv;

    CipherService(Supplier<Flow> forward, Supplier<Flow> inverse, CipherKind kind) {
        this.forward = forward;
        this.inverse = inverse;
        this.kind = kind;
    }

    // --- what it is ---

    @Override
    protected void engineSetMode(String mode) throws NoSuchAlgorithmException {
        if (kind.isBlockCipher() || !mode.equalsIgnoreCase("None")) {
            throw new NoSuchAlgorithmException("the mode is a part of the name");
        }
    }

    @Override
    protected void engineSetPadding(String padding) throws NoSuchPaddingException {
        if (kind.isBlockCipher() || !padding.equalsIgnoreCase("NoPadding")) {
            throw new NoSuchPaddingException("the padding is a part of the name");
        }
    }

    @Override
    protected int engineGetBlockSize() {
        return kind.blockBytes();
    }

    @Override
    protected byte[] engineGetIV() {
        return terms == null || terms.iv() == null ? null : terms.iv().clone();
    }

    @Override
    protected AlgorithmParameters engineGetParameters() {
        return kind.parameters(terms);
    }

    @Override
    protected int engineGetKeySize(Key key) throws InvalidKeyException {
        byte[] bytes = CipherKind.encoded(key);
        try {
            kind.sureOfKey(key, bytes);
        } finally {
            Arrays.fill(bytes, (byte) 0);
        }
        return 8 * bytes.length;
    }

    @Override
    protected int engineGetOutputSize(int inputBytes) {
        return message == null ? inputBytes : message.mostAtEnd(inputBytes);
    }

    // --- keys and parameters ---

    @Override
    protected void engineInit(int mode, Key key, SecureRandom random) throws InvalidKeyException {
        try {
            engineInit(mode, key, (AlgorithmParameterSpec) null, random);
        } catch (InvalidAlgorithmParameterException error) {
            throw new InvalidKeyException(error.getMessage(), error);
        }
    }

    @Override
    protected void engineInit(int mode, Key key, AlgorithmParameters parameters, SecureRandom random)
            throws InvalidKeyException, InvalidAlgorithmParameterException {
        engineInit(mode, key, kind.specOf(parameters), random);
    }

    @Override
    protected void engineInit(int mode, Key key, AlgorithmParameterSpec spec, SecureRandom random)
            throws InvalidKeyException, InvalidAlgorithmParameterException {
        boolean encrypting = mode == Cipher.ENCRYPT_MODE || mode == Cipher.WRAP_MODE;
        Flow flow = message == null ? null : message.ended();
        message = null;
        if (flow != null && encrypts != encrypting) {
            flow.destroy();
            flow = null;
        }
        encrypts = encrypting;
        byte[] bytes = null;
        boolean done = false;
        try {
            // In the order of the JDK: a call that is wrong in two ways is refused for the same one.
            if (kind.isBlockCipher()) {
                bytes = CipherKind.encoded(key);
            }
            boolean wraps = mode != Cipher.ENCRYPT_MODE && mode != Cipher.DECRYPT_MODE;
            sureOfMode(spec == null && wraps);
            terms = kind.terms(spec, encrypts, random);
            sureOfMode(wraps);
            if (bytes == null) {
                bytes = CipherKind.encoded(key);
            }
            if (kind.isAeadMode()) {
                sureOfNonce(bytes);
                kind.sureOfKey(key, bytes);
            } else {
                kind.sureOfKey(key, bytes);
                sureOfNonce(bytes);
            }
            flow = flow != null ? flow : (encrypts ? forward : inverse).get();
            message = new CipherMessage(kind, flow, encrypts, terms, bytes, forward);
            done = true;
        } finally {
            // A key that is refused leaves nothing of the one before.
            if (!done) {
                terms = null;
            }
            if (!done && flow != null) {
                flow.destroy();
            }
            if (!done && bytes != null) {
                Arrays.fill(bytes, (byte) 0);
            }
        }
    }

    private void sureOfMode(boolean wraps) {
        if (wraps && kind.isStream()) {
            throw new UnsupportedOperationException("keys are not wrapped in a key stream");
        }
    }

    /** What is encrypted with a nonce under a key is a message of its own. */
    private void sureOfNonce(byte[] key) throws InvalidKeyException, InvalidAlgorithmParameterException {
        if (kind.isBlockCipher() || !kind.hasIv()) {
            return;
        }
        boolean same = java.security.MessageDigest.isEqual(key, lastKey) && Arrays.equals(terms.iv(), lastIv);
        if (encrypts && same) {
            String why = "a nonce is used twice under one key";
            if (kind.isAeadMode()) {
                throw new InvalidAlgorithmParameterException(why);
            }
            throw new InvalidKeyException(why);
        }
        // As in the JDK, where what a key stream decrypted counts, too.
        if (encrypts || kind.isStream()) {
            if (lastKey != null) {
                Arrays.fill(lastKey, (byte) 0);
            }
            lastKey = key.clone();
            lastIv = terms.iv();
        }
    }

    private CipherMessage sure() {
        if (message == null) {
            throw new IllegalStateException("it has no key yet");
        }
        return message;
    }

    // --- associated data ---

    @Override
    protected void engineUpdateAAD(byte[] bytes, int from, int count) {
        if (kind.isBlockCipher() || !kind.hasIv()) {
            throw new UnsupportedOperationException("it takes no associated data");
        }
        sure().associate(bytes, from, count);
    }

    @Override
    protected void engineUpdateAAD(ByteBuffer bytes) {
        Span given = given(bytes);
        try {
            engineUpdateAAD(given.bytes(), given.from(), given.count());
        } finally {
            forget(bytes, given.bytes());
        }
        bytes.position(bytes.limit());
    }

    // --- messages ---

    private static byte[] cut(Room room) {
        if (room.used == room.bytes.length) {
            return room.bytes;
        }
        byte[] out = Arrays.copyOf(room.bytes, room.used);
        room.clearAll();
        return out;
    }

    /** The caller's room, where all has room that may come and nothing is read there any more; or apart. */
    private static Room room(byte[] in, byte[] out, int at, int left, int most) {
        boolean apart = in == out || left < most;
        return apart ? new Room(new byte[most], 0, most) : new Room(out, at, most);
    }

    private static int deliver(Room room, byte[] out, int at) {
        if (room.bytes != out && room.used > 0) {
            System.arraycopy(room.bytes, 0, out, at, room.used);
            int used = room.used;
            room.clearAll();
            return used;
        }
        return room.used;
    }

    /** How much room there is behind an offset; none anywhere at all is less than none there. */
    private int left(byte[] out, int at) {
        if (at < 0 && kind.isBlockCipher()) {
            throw new ArrayIndexOutOfBoundsException(at);
        }
        return out == null || at < 0 ? -1 : out.length - at;
    }

    @Override
    protected byte[] engineUpdate(byte[] in, int from, int count) {
        int most = sure().mostNow(count);
        Room room = new Room(new byte[most], 0, most);
        message.update(in, from, count, room);
        return cut(room);
    }

    @Override
    protected int engineUpdate(byte[] in, int from, int count, byte[] out, int at) throws ShortBufferException {
        if (kind.isStream()) {
            sure().sureOfNonce();
        }
        return update(in, from, count, out, at, left(out, at));
    }

    private int update(byte[] in, int from, int count, byte[] out, int at, int left) throws ShortBufferException {
        CipherMessage.sureOfRoom(left, sure().due(count));
        Room room = room(in, out, at, left, message.mostNow(count));
        message.update(in, from, count, room);
        return deliver(room, out, at);
    }

    @Override
    protected byte[] engineDoFinal(byte[] in, int from, int count) throws IllegalBlockSizeException, BadPaddingException {
        int most = sure().mostAtEnd(count);
        Room room = new Room(new byte[most], 0, most);
        try {
            message.end(in, from, count, room, most);
        } catch (ShortBufferException error) {
            throw new IllegalStateException(error);
        }
        return cut(room);
    }

    @Override
    protected int engineDoFinal(byte[] in, int from, int count, byte[] out, int at)
            throws ShortBufferException, IllegalBlockSizeException, BadPaddingException {
        int left = left(out, at);
        if (kind.isStream() && kind.isAead() && encrypts) {
            CipherMessage.sureOfRoom(left, sure().mostAtEnd(count));
        }
        return end(in, from, count, out, at, left);
    }

    private int end(byte[] in, int from, int count, byte[] out, int at, int left)
            throws ShortBufferException, IllegalBlockSizeException, BadPaddingException {
        Room room = room(in, out, at, left, sure().mostAtEnd(count));
        message.end(in, from, count, room, left);
        return deliver(room, out, at);
    }

    // --- buffers ---

    @Override
    protected int engineUpdate(ByteBuffer in, ByteBuffer out) throws ShortBufferException {
        int count = in.remaining();
        if (count == 0 && !kind.isAeadMode()) {
            return 0;
        }
        CipherMessage.sureOfRoom(out.remaining(), kind.isBlockCipher() ? engineGetOutputSize(count) : sure().due(count));
        if (count == 0) {
            sure().closeAssociated();
            return 0;
        }
        Span given = given(in);
        byte[] to = to(out);
        try {
            return taken(in, out, to, update(given.bytes(), given.from(), count, to, at(out), out.remaining()));
        } finally {
            forget(in, given.bytes());
            forget(out, to);
        }
    }

    @Override
    protected int engineDoFinal(ByteBuffer in, ByteBuffer out)
            throws ShortBufferException, IllegalBlockSizeException, BadPaddingException {
        int count = in.remaining();
        if (!kind.isAeadMode()) {
            CipherMessage.sureOfRoom(out.remaining(), engineGetOutputSize(count));
        }
        Span given = given(in);
        byte[] to = to(out);
        try {
            return taken(in, out, to, end(given.bytes(), given.from(), count, to, at(out), out.remaining()));
        } finally {
            forget(in, given.bytes());
            forget(out, to);
        }
    }

    /** What is left of a buffer, whose position stays. */
    private static Span given(ByteBuffer in) {
        if (in.hasArray()) {
            return new Span(in.array(), in.arrayOffset() + in.position(), in.remaining());
        }
        byte[] copy = new byte[in.remaining()];
        in.duplicate().get(copy);
        return Span.of(copy);
    }

    /** Where the bytes of a buffer are, or go on their way to it. */
    private static byte[] to(ByteBuffer out) {
        return out.hasArray() ? out.array() : new byte[out.remaining()];
    }

    /** Overwrites the copy of a buffer whose own bytes are not at hand. */
    private static void forget(ByteBuffer buffer, byte[] bytes) {
        if (!buffer.hasArray()) {
            Arrays.fill(bytes, (byte) 0);
        }
    }

    private static int at(ByteBuffer out) {
        return out.hasArray() ? out.arrayOffset() + out.position() : 0;
    }

    private static int taken(ByteBuffer in, ByteBuffer out, byte[] came, int count) {
        in.position(in.limit());
        if (out.hasArray()) {
            out.position(out.position() + count);
        } else {
            out.put(came, 0, count);
        }
        return count;
    }

    // --- keys in messages ---

    @Override
    protected byte[] engineWrap(Key key) throws IllegalBlockSizeException, InvalidKeyException {
        byte[] bytes = Keys.bytes(key);
        try {
            return engineDoFinal(bytes, 0, bytes.length);
        } catch (BadPaddingException never) {
            throw new IllegalStateException(never);
        } finally {
            Arrays.fill(bytes, (byte) 0);
        }
    }

    @Override
    protected Key engineUnwrap(byte[] wrapped, String algorithm, int type)
            throws InvalidKeyException, NoSuchAlgorithmException {
        byte[] bytes;
        try {
            bytes = engineDoFinal(wrapped, 0, wrapped.length);
        } catch (BadPaddingException | IllegalBlockSizeException error) {
            throw new InvalidKeyException("no key was wrapped so: " + error.getMessage(), error);
        }
        return Keys.key(bytes, algorithm, type);
    }
}
