package headrace;

import headrace.MessageException.Reason;
import java.io.ByteArrayOutputStream;
import java.security.AlgorithmParameters;
import java.security.InvalidAlgorithmParameterException;
import java.security.InvalidKeyException;
import java.security.Key;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.security.spec.AlgorithmParameterSpec;
import java.security.spec.InvalidParameterSpecException;
import java.util.Arrays;
import java.util.function.Supplier;
import javax.crypto.AEADBadTagException;
import javax.crypto.BadPaddingException;
import javax.crypto.Cipher;
import javax.crypto.CipherSpi;
import javax.crypto.IllegalBlockSizeException;
import javax.crypto.NoSuchPaddingException;
import javax.crypto.ShortBufferException;
import javax.crypto.spec.ChaCha20ParameterSpec;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;

/**
 * A pair of operations as a {@code Cipher}. Messages whose tag or padding is verified, and those that must be known whole,
 * are kept until they end; a tag follows the ciphertext.
 */
final class CipherService extends CipherSpi {
    /** What RFC 5116, section 3.1, recommends where nonces may have other lengths, too. */
    private static final int USUAL_NONCE_BYTES = 12;

    private final Supplier<Flow> forward;
    private final Supplier<Flow> inverse;
    private final int blockBytes;
    private final boolean pads;
    private final String parametersName;

    private Flow flow;
    private boolean encrypts;
    private Key key;
    private byte[] iv;
    /** The nonce or initial block has its own length alone, or must be a new one for each message that is encrypted. */
    private boolean used;

    private boolean open;
    /** How many bytes of the message went in that have not come out. */
    private long inside;
    private final Secrets kept = new Secrets();
    private final Secrets ad = new Secrets();

    /** Bytes that are overwritten when they are of no use any more. */
    private static final class Secrets extends ByteArrayOutputStream {
        void clear() {
            Arrays.fill(buf, (byte) 0);
            reset();
        }

        Span span() {
            return new Span(buf, 0, count);
        }

        /** What is in it, but for the last bytes. */
        Span without(int last) {
            return new Span(buf, 0, count - last);
        }

        @Override
        public synchronized void write(byte[] bytes, int from, int n) {
            if (n > buf.length - count) {
                byte[] old = buf;
                buf = Arrays.copyOf(old, Math.max(count + n, 2 * count));
                Arrays.fill(old, (byte) 0);
            }
            super.write(bytes, from, n);
        }
    }

    CipherService(Supplier<Flow> forward, Supplier<Flow> inverse, int blockBytes, boolean pads, String parametersName) {
        this.forward = forward;
        this.inverse = inverse;
        this.blockBytes = blockBytes;
        this.pads = pads;
        this.parametersName = parametersName;
    }

    // --- what it is ---

    @Override
    protected void engineSetMode(String mode) throws NoSuchAlgorithmException {
        throw new NoSuchAlgorithmException("the mode is a part of the name");
    }

    @Override
    protected void engineSetPadding(String padding) throws NoSuchPaddingException {
        throw new NoSuchPaddingException("the padding is a part of the name");
    }

    @Override
    protected int engineGetBlockSize() {
        return blockBytes;
    }

    @Override
    protected byte[] engineGetIV() {
        return iv == null ? null : iv.clone();
    }

    /** Those of other providers, which know how they are encoded; none of a cipher that they do not know. */
    @Override
    protected AlgorithmParameters engineGetParameters() {
        if (iv == null) {
            return null;
        }
        AlgorithmParameterSpec plain = new IvParameterSpec(iv);
        AlgorithmParameterSpec[] specs = isAead()
                ? new AlgorithmParameterSpec[] {new GCMParameterSpec(8 * tagBytes(), iv), plain}
                : new AlgorithmParameterSpec[] {plain};
        for (AlgorithmParameterSpec spec : specs) {
            try {
                AlgorithmParameters parameters = AlgorithmParameters.getInstance(parametersName);
                parameters.init(spec);
                return parameters;
            } catch (NoSuchAlgorithmException | InvalidParameterSpecException none) {
                // The next one.
            }
        }
        return null;
    }

    @Override
    protected int engineGetKeySize(Key key) throws InvalidKeyException {
        byte[] bytes = encoded(key);
        Arrays.fill(bytes, (byte) 0);
        return 8 * bytes.length;
    }

    /** The role of what every message begins with. */
    private int ivRole() {
        return flow.operation.has(Operation.NONCE) ? Operation.NONCE : Operation.IV;
    }

    private boolean hasIv() {
        return flow.operation.has(Operation.NONCE) || flow.operation.has(Operation.IV);
    }

    private boolean isAead() {
        return flow.operation.has(Operation.TAG) || flow.operation.has(Operation.TAG_IN);
    }

    private boolean keeps() {
        return isAead() || flow.operation.withholds() || flow.operation.singleChunk();
    }

    private int tagBytes() {
        int role = flow.operation.has(Operation.TAG) ? Operation.TAG : Operation.TAG_IN;
        return isAead() ? flow.operation.strings()[role].exactly() : 0;
    }

    /** Nothing comes out that did not go in, but for tags and padding. */
    @Override
    protected int engineGetOutputSize(int inputBytes) {
        long most = inputBytes + inside + kept.size();
        if (flow != null && encrypts) {
            most += isAead() ? tagBytes() : pads ? blockBytes - most % blockBytes : 0;
        }
        return Math.toIntExact(most);
    }

    // --- keys and parameters ---

    private static byte[] encoded(Key key) throws InvalidKeyException {
        byte[] bytes = key == null ? null : key.getEncoded();
        if (bytes == null) {
            throw new InvalidKeyException("the bytes of the key are not known");
        }
        return bytes;
    }

    private void takeKey() throws InvalidKeyException {
        byte[] bytes = encoded(key);
        try {
            flow.key(Span.of(bytes));
        } catch (MessageException error) {
            throw new InvalidKeyException(error.getMessage(), error);
        } finally {
            Arrays.fill(bytes, (byte) 0);
        }
    }

    @Override
    protected void engineInit(int mode, Key key, SecureRandom random) throws InvalidKeyException {
        try {
            init(mode, key, null, random);
        } catch (InvalidAlgorithmParameterException error) {
            throw new InvalidKeyException(error.getMessage(), error);
        }
    }

    @Override
    protected void engineInit(int mode, Key key, AlgorithmParameterSpec spec, SecureRandom random)
            throws InvalidKeyException, InvalidAlgorithmParameterException {
        init(mode, key, spec, random);
    }

    @Override
    protected void engineInit(int mode, Key key, AlgorithmParameters parameters, SecureRandom random)
            throws InvalidKeyException, InvalidAlgorithmParameterException {
        AlgorithmParameterSpec spec = null;
        if (parameters != null) {
            try {
                boolean withTag = parameters.getAlgorithm().equalsIgnoreCase("GCM");
                spec = withTag
                        ? parameters.getParameterSpec(GCMParameterSpec.class)
                        : parameters.getParameterSpec(IvParameterSpec.class);
            } catch (InvalidParameterSpecException error) {
                throw new InvalidAlgorithmParameterException(error);
            }
        }
        init(mode, key, spec, random);
    }

    private void init(int mode, Key newKey, AlgorithmParameterSpec spec, SecureRandom random)
            throws InvalidKeyException, InvalidAlgorithmParameterException {
        if (mode != Cipher.ENCRYPT_MODE && mode != Cipher.DECRYPT_MODE) {
            throw new UnsupportedOperationException("keys are not wrapped");
        }
        boolean encrypting = mode == Cipher.ENCRYPT_MODE;
        if (flow != null && (encrypts != encrypting || flow.isDestroyed())) {
            flow.destroy();
            flow = null;
        }
        kept.clear();
        ad.clear();
        open = false;
        inside = 0;
        encrypts = encrypting;
        // Another key leaves nothing of the one before, and one that is refused neither.
        flow = flow != null ? flow : (encrypts ? forward : inverse).get();
        byte[] before = encrypts && isAead() ? iv : null;
        boolean sameKey = key != null && key.equals(newKey);
        key = newKey;
        try {
            takeKey();
        } catch (InvalidKeyException refused) {
            flow.destroy();
            throw refused;
        }
        iv = ivOf(spec, random);
        used = false;
        if (sameKey && before != null && Arrays.equals(before, iv)) {
            used = true;
            throw new InvalidAlgorithmParameterException("a nonce is used twice under one key");
        }
    }

    private byte[] ivOf(AlgorithmParameterSpec spec, SecureRandom random) throws InvalidAlgorithmParameterException {
        byte[] given;
        if (spec == null) {
            given = null;
        } else if (spec instanceof IvParameterSpec parameters) {
            given = parameters.getIV();
        } else if (spec instanceof GCMParameterSpec parameters && isAead()) {
            if (parameters.getTLen() != 8 * tagBytes()) {
                throw new InvalidAlgorithmParameterException("tags have " + 8 * tagBytes() + " bits");
            }
            given = parameters.getIV();
        } else if (spec instanceof ChaCha20ParameterSpec parameters && blockBytes == 0 && !isAead()) {
            // What the JDK takes for a stream cipher with a nonce, which may begin behind the first block there.
            if (parameters.getCounter() != 0) {
                throw new InvalidAlgorithmParameterException("the key stream begins at block 0");
            }
            given = parameters.getNonce();
        } else {
            throw new InvalidAlgorithmParameterException("an IvParameterSpec is wanted");
        }
        if (!hasIv()) {
            if (given != null) {
                throw new InvalidAlgorithmParameterException("there is no initial block");
            }
            return null;
        }
        if (given == null) {
            int length = flow.operation.strings()[ivRole()].exactly();
            if (length == Operation.NONE && isAead() && flow.operation.allows(ivRole(), USUAL_NONCE_BYTES)) {
                length = USUAL_NONCE_BYTES;
            }
            if (!encrypts || length == Operation.NONE) {
                throw new InvalidAlgorithmParameterException("an initial block or nonce is wanted");
            }
            given = new byte[length];
            (random == null ? new SecureRandom() : random).nextBytes(given);
        }
        if (!flow.operation.allows(ivRole(), given.length)) {
            throw new InvalidAlgorithmParameterException("the initial block or nonce has a length that is not allowed");
        }
        return given;
    }

    // --- messages ---

    private void sureOfInit() {
        if (flow == null) {
            throw new IllegalStateException("it has no key yet");
        }
        if (used && encrypts && isAead()) {
            throw new IllegalStateException("a further message needs a nonce of its own");
        }
    }

    @Override
    protected void engineUpdateAAD(byte[] bytes, int from, int count) {
        sureOfInit();
        if (!flow.operation.has(Operation.AD)) {
            throw new UnsupportedOperationException("it takes no associated data");
        }
        if (kept.size() > 0) {
            throw new IllegalStateException("associated data comes before the message");
        }
        ad.write(bytes, from, count);
    }

    private Span[] strings() {
        Span[] strings = Flow.strings();
        if (hasIv()) {
            strings[ivRole()] = Span.of(iv);
        }
        if (flow.operation.has(Operation.AD)) {
            strings[Operation.AD] = ad.span();
        }
        return strings;
    }

    /** What a call needs at most, where the caller has it, or apart. */
    private Room roomFor(int count, byte[] out, int at) {
        // A mode holds back two blocks and a byte at most.
        int most = Math.addExact(engineGetOutputSize(count), 3 * blockBytes);
        return out.length - at >= most ? new Room(out, at, out.length - at) : new Room(new byte[most], 0, most);
    }

    private int deliver(Room room, byte[] out, int at) throws ShortBufferException {
        if (room.bytes != out) {
            boolean fits = room.used <= out.length - at;
            if (fits) {
                System.arraycopy(room.bytes, 0, out, at, room.used);
            }
            Arrays.fill(room.bytes, (byte) 0);
            if (!fits) {
                throw new ShortBufferException(room.used + " bytes came");
            }
        }
        return room.used;
    }

    private byte[] cut(Room room) {
        byte[] out = Arrays.copyOfRange(room.bytes, room.from, room.from + room.used);
        room.clear();
        return out;
    }

    private void update(byte[] in, int from, int count, Room room) {
        sureOfInit();
        if (keeps()) {
            kept.write(in, from, count);
            return;
        }
        try {
            begin();
            flow.update(new Span(in, from, count), room);
            inside += count - room.used;
        } catch (MessageException error) {
            open = false;
            inside = 0;
            throw new IllegalStateException(error);
        }
    }

    private void begin() throws MessageException {
        if (!open) {
            flow.begin(strings(), 0);
            open = true;
        }
    }

    private void end(byte[] in, int from, int count, Room room) throws IllegalBlockSizeException, BadPaddingException {
        sureOfInit();
        boolean done = false;
        try {
            if (keeps()) {
                if (count > 0) {
                    kept.write(in, from, count);
                }
                whole(room);
            } else {
                begin();
                if (count > 0) {
                    flow.update(new Span(in, from, count), room);
                }
                Room[] rooms = Flow.rooms();
                rooms[Flow.OUTPUT_ROOM] = new Room(room.bytes, room.from + room.used, room.left());
                flow.end(Flow.strings(), rooms);
                room.used += rooms[Flow.OUTPUT_ROOM].used;
            }
            done = true;
        } catch (MessageException error) {
            room.clear();
            if (error.reason() == Reason.INPUT_LENGTH) {
                throw new IllegalBlockSizeException(error.getMessage());
            }
            if (error.reason() == Reason.REFUSED) {
                done = true;
                throw isAead() ? new AEADBadTagException(error.getMessage()) : new BadPaddingException(error.getMessage());
            }
            throw new IllegalStateException(error);
        } finally {
            open = false;
            inside = 0;
            used = true;
            kept.clear();
            ad.clear();
            if (!done) {
                try {
                    takeKey();
                } catch (InvalidKeyException lost) {
                    flow.destroy();
                }
            }
        }
    }

    private void whole(Room room) throws MessageException, AEADBadTagException {
        Span[] strings = strings();
        Room[] rooms = Flow.rooms();
        rooms[Flow.OUTPUT_ROOM] = room;
        strings[Operation.INPUT] = kept.span();
        int tag = tagBytes();
        if (flow.operation.has(Operation.TAG_IN)) {
            if (kept.size() < tag) {
                throw new AEADBadTagException("the tag is missing");
            }
            Span text = kept.without(tag);
            strings[Operation.INPUT] = text;
            strings[Operation.TAG_IN] = new Span(text.bytes(), text.count(), tag);
        }
        if (flow.operation.has(Operation.TAG)) {
            byte[] made = new byte[tag];
            rooms[Flow.TAG_ROOM] = new Room(made, 0, tag);
            flow.whole(strings, rooms);
            System.arraycopy(made, 0, room.bytes, room.from + room.used, tag);
            room.used += tag;
        } else {
            flow.whole(strings, rooms);
        }
    }

    @Override
    protected byte[] engineUpdate(byte[] in, int from, int count) {
        Room room = roomFor(count, new byte[0], 0);
        update(in, from, count, room);
        return cut(room);
    }

    @Override
    protected int engineUpdate(byte[] in, int from, int count, byte[] out, int at) throws ShortBufferException {
        Room room = apart(in, out) ? roomFor(count, out, at) : roomFor(count, new byte[0], 0);
        update(in, from, count, room);
        return deliver(room, out, at);
    }

    @Override
    protected byte[] engineDoFinal(byte[] in, int from, int count) throws IllegalBlockSizeException, BadPaddingException {
        Room room = roomFor(count, new byte[0], 0);
        end(in, from, count, room);
        return cut(room);
    }

    @Override
    protected int engineDoFinal(byte[] in, int from, int count, byte[] out, int at)
            throws ShortBufferException, IllegalBlockSizeException, BadPaddingException {
        Room room = apart(in, out) ? roomFor(count, out, at) : roomFor(count, new byte[0], 0);
        end(in, from, count, room);
        return deliver(room, out, at);
    }

    /** Output over its own input would overwrite what is still to be read. */
    private static boolean apart(byte[] in, byte[] out) {
        return in != out;
    }
}
