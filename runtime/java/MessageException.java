package headrace;

import java.security.GeneralSecurityException;

/** Why there is no result. After any but a refused message the message is lost, and one under a key needs its key again. */
public final class MessageException extends GeneralSecurityException {
    private static final long serialVersionUID = 1L;

    /** The reasons. */
    public enum Reason {
        /** The key has a length that is not allowed. */
        KEY_LENGTH("the key has a length that is not allowed"),
        /** The initial block, nonce, associated data, seed or tag has. */
        STRING_LENGTH("a string beside the input has a length that is not allowed"),
        /** The input has; or more words are asked for than a request may. */
        INPUT_LENGTH("the input has a length that is not allowed"),
        /** A buffer for output is too small. */
        ROOM("a buffer for output is too small"),
        /** No key or seed yet, or a message goes on that was not begun. */
        ORDER("there is no key yet, or no message was begun"),
        /** The network stopped: a mistake of the network. */
        STUCK("the network stopped"),
        /** The message is not authentic or not well-formed, or the generator must be seeded anew: there is no output. */
        REFUSED("the message is refused");

        private final String text;

        Reason(String text) {
            this.text = text;
        }
    }

    private final Reason reason;

    MessageException(Reason reason) {
        super(reason.text);
        this.reason = reason;
    }

    /** The reason. */
    public Reason reason() {
        return reason;
    }
}
