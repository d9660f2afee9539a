package models;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.Provider;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;

/** A `MessageDigest`. */
final class DigestSubject extends Subject {
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
        String in = "[" + bytes.length + "]";
        String object = "digest" + slot;
        switch (random.nextInt(11)) {
            case 0:
                return of(object + ".update(one byte)", slot, digest -> {
                    digest.update((byte) bytes.length);
                    return "done";
                });
            case 1, 2: {
                int from = random.nextInt(8) - 1;
                int count = Math.max(0, bytes.length - 5) + random.nextInt(7) - 1;
                return of(object + ".update(" + in + ", " + from + ", " + count + ")", slot, digest -> {
                    digest.update(bytes, from, count);
                    return "done";
                });
            }
            case 3, 4: {
                Bytes.Form form = Bytes.Form.any(random);
                return of(object + ".update(" + form + in + ")", slot, digest -> {
                    ByteBuffer buffer = form.of(bytes);
                    digest.update(buffer);
                    return "left " + buffer.remaining();
                });
            }
            case 5:
                return of(object + ".digest()", slot, digest -> Bytes.hex(digest.digest()));
            case 6:
                return of(object + ".digest(" + in + ")", slot, digest -> Bytes.hex(digest.digest(bytes)));
            case 7: {
                int size = random.nextInt(100);
                int at = random.nextInt(9) - 2;
                int count = random.nextInt(100);
                return of(object + ".digest(new byte[" + size + "], " + at + ", " + count + ")", slot, digest -> {
                    byte[] out = new byte[size];
                    int came = digest.digest(out, at, count);
                    return came + ": " + Bytes.hex(out);
                });
            }
            case 8:
                return of(object + ".reset()", slot, digest -> {
                    digest.reset();
                    return "done";
                });
            case 9:
                return of(object + ".getDigestLength()", slot, digest -> "" + digest.getDigestLength());
            default: {
                int to = random.nextInt(Objects.SLOTS);
                return new Call("digest" + to + " = " + object + ".clone()", false, objects -> {
                    objects.put(to, objects.get(slot, MessageDigest.class).clone());
                    return "done";
                });
            }
        }
    }

    private interface OnDigest {
        String on(MessageDigest digest) throws Exception;
    }

    private static Call of(String text, int slot, OnDigest action) {
        return new Call(text, false, objects -> action.on(objects.get(slot, MessageDigest.class)));
    }
}
