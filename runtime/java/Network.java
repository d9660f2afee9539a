package headrace;

/** What the networks of operations can do. Ports are numbered. */
interface Network {
    /** As it begins. */
    void restart();

    /** Overwrites all state. */
    void clear();

    /** The same from here on, apart from this. */
    Network copy();

    /** Writes bytes to an input and says for how many there was room. */
    int put(int port, byte[] bytes, int from, int count);

    /** Writes one token to an input; false when there is no room. */
    boolean putWord(int port, int word);

    /** Fires until nothing can fire; false when it was stopped. */
    boolean run();

    /** Takes bytes from an output and says how many there were. */
    int get(int port, byte[] bytes, int from, int count);

    /** Takes one token from an output; negative when there is none. */
    long getWord(int port);
}
