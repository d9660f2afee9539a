package models;

import java.security.Key;
import java.security.Provider;
import java.security.PublicKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import javax.crypto.Mac;
import javax.crypto.SecretKey;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** A `Mac`. */
final class MacSubject extends Subject {
    private static final Pieces<Mac> PIECES =
            new Pieces<>(Mac.class, "mac", Mac::update, Mac::update, Mac::update, Mac::reset, Mac::clone);

    MacSubject(String name, Provider ours, Provider theirs) {
        super(name, ours, theirs);
    }

    @Override
    boolean isOne(String services) {
        return services.equals("Mac");
    }

    @Override
    Callable<Object> made(Provider provider) {
        return () -> Mac.getInstance(name, provider);
    }

    @Override
    List<Call> calls(Random random) {
        List<Call> calls = new ArrayList<>();
        if (random.nextInt(12) > 0) {
            calls.add(init(random, 0, 0));
        }
        for (int n = 1 + random.nextInt(14); n > 0; n--) {
            calls.add(call(random));
        }
        return calls;
    }

    /** A key that tells nothing of its bytes. */
    private record Silent() implements SecretKey {
        @Override
        public String getAlgorithm() {
            return "AES";
        }

        @Override
        public String getFormat() {
            return null;
        }

        @Override
        public byte[] getEncoded() {
            return null;
        }
    }

    /** A public key, whatever it says. */
    private record Open() implements PublicKey {
        @Override
        public String getAlgorithm() {
            return "RSA";
        }

        @Override
        public String getFormat() {
            return "X.509";
        }

        @Override
        public byte[] getEncoded() {
            return new byte[32];
        }
    }

    /** Keys that are refused, wherever one is wanted. */
    static Key wrongKey(int which) {
        return which % 2 == 0 ? new Silent() : new Open();
    }

    private static Call init(Random random, int slot, int wrong) {
        byte[] key = Bytes.random(random, 1 + random.nextInt(200));
        return PIECES.call(slot, ".init(" + (wrong == 0 ? "key [" + key.length + "]" : "wrong " + wrong) + ")", mac -> {
            switch (wrong) {
                case 0 -> mac.init(new SecretKeySpec(key, "any"));
                case 1 -> mac.init(null);
                case 2, 3 -> mac.init(wrongKey(wrong));
                default -> mac.init(new SecretKeySpec(key, "any"), new IvParameterSpec(key));
            }
            return "done";
        });
    }

    private static Call call(Random random) {
        int slot = random.nextInt(Objects.SLOTS);
        byte[] bytes = Bytes.random(random, Bytes.length(random));
        return switch (random.nextInt(12)) {
            case 0 -> PIECES.oneByte(slot, bytes);
            case 1, 2 -> PIECES.part(random, slot, bytes);
            case 3, 4 -> PIECES.buffer(random, slot, bytes);
            case 5 -> PIECES.call(slot, ".doFinal()", mac -> Bytes.hex(mac.doFinal()));
            case 6 -> PIECES.call(slot, ".doFinal([" + bytes.length + "])", mac -> Bytes.hex(mac.doFinal(bytes)));
            case 7 -> {
                int size = random.nextInt(100);
                int at = random.nextInt(9);
                yield PIECES.call(slot, ".doFinal(new byte[" + size + "], " + at + ")", mac -> {
                    byte[] out = new byte[size];
                    mac.doFinal(out, at);
                    return Bytes.hex(out);
                });
            }
            case 8 -> PIECES.anew(slot);
            case 9 -> init(random, slot, random.nextInt(5));
            case 10 -> PIECES.call(slot, ".getMacLength()", mac -> "" + mac.getMacLength());
            default -> PIECES.copy(random, slot);
        };
    }
}
