package models;

import java.security.GeneralSecurityException;
import java.util.concurrent.Callable;

/** Objects of one provider that a sequence of calls is about: the first, and clones. */
final class Objects {
    static final int SLOTS = 3;

    private final Object[] slots = new Object[SLOTS];

    Objects(Callable<Object> first) {
        try {
            slots[0] = first.call();
        } catch (GeneralSecurityException error) {
            throw new IllegalArgumentException(error);
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    /** The object in a slot; of an empty one the first. */
    <T> T get(int slot, Class<T> type) {
        return type.cast(slots[slot] == null ? slots[0] : slots[slot]);
    }

    void put(int slot, Object object) {
        slots[slot] = object;
    }
}
