package models;

import java.security.MessageDigest;
import java.security.Provider;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;

/** A `MessageDigest`. */
final class DigestSubject extends Subject {
    private static final Pieces<MessageDigest> PIECES = new Pieces<>(
            MessageDigest.class,
            "digest",
            MessageDigest::update,
            MessageDigest::update,
            MessageDigest::update,
            MessageDigest::reset,
            MessageDigest::clone);

    DigestSubject(String name, Provider ours, Provider theirs) {
        super(name, ours, theirs);
    }

    @Override
    boolean isOne(String services) {
        return services.equals("MessageDigest");
    }

    @Override
    Callable<Object> made(Provider provider) {
        return () -> MessageDigest.getInstance(name, provider);
    }

    @Override
    List<Call> calls(Random random) {
        List<Call> calls = new ArrayList<>();
        for (int n = 1 + random.nextInt(14); n > 0; n--) {
            calls.add(call(random));
        }
        return calls;
    }

    private static Call call(Random random) {
        int slot = random.nextInt(Objects.SLOTS);
        byte[] bytes = Bytes.random(random, Bytes.length(random));
        return switch (random.nextInt(11)) {
            case 0 -> PIECES.oneByte(slot, bytes);
            case 1, 2 -> PIECES.part(random, slot, bytes);
            case 3, 4 -> PIECES.buffer(random, slot, bytes);
            case 5 -> PIECES.call(slot, ".digest()", digest -> Bytes.hex(digest.digest()));
            case 6 -> PIECES.call(slot, ".digest([" + bytes.length + "])", digest -> Bytes.hex(digest.digest(bytes)));
            case 7 -> {
                int size = random.nextInt(100);
                int at = random.nextInt(9) - 2;
                int count = random.nextInt(100);
                yield PIECES.call(slot, ".digest(new byte[" + size + "], " + at + ", " + count + ")", digest -> {
                    byte[] out = new byte[size];
                    int came = digest.digest(out, at, count);
                    return came + ": " + Bytes.hex(out);
                });
            }
            case 8 -> PIECES.anew(slot);
            case 9 -> PIECES.call(slot, ".getDigestLength()", digest -> "" + digest.getDigestLength());
            default -> PIECES.copy(random, slot);
        };
    }
}
