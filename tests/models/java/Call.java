package models;

/**
 * A call, with all that it is given. What it does to an object depends on nothing else, so that a sequence of calls can be
 * repeated, also without some of them.
 *
 * @param text how it is shown
 * @param settles a call that begins anew, whatever comes of it: `init`
 * @param action what it does; what it says is compared
 * @param plain the same in the plainest form there is, with arrays that lie apart: what any form must come to
 */
record Call(String text, boolean settles, Action action, Action plain) {
    Call(String text, boolean settles, Action action) {
        this(text, settles, action, action);
    }

    /** What a call does to the objects of a sequence. */
    @FunctionalInterface
    interface Action {
        String on(Objects objects) throws Exception;
    }

    /** What comes of it: bytes, numbers, or the class of an exception. */
    String outcome(Objects objects) {
        return outcome(action, objects);
    }

    String plainly(Objects objects) {
        return outcome(plain, objects);
    }

    private static String outcome(Action action, Objects objects) {
        try {
            return action.on(objects);
        } catch (Exception error) {
            return "throws " + error.getClass().getSimpleName();
        }
    }
}
