package models;

import java.security.Provider;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;

/** A service that the provider under test and one of the JDK have: how objects of it are made, and calls of them. */
abstract class Subject {
    final String name;
    final Provider ours;
    final Provider theirs;

    Subject(String name, Provider ours, Provider theirs) {
        this.name = name;
        this.ours = ours;
        this.theirs = theirs;
    }

    /** Whether a text names what it is: the type of the service, and behind it classes of parameters of ciphers, if not any. */
    abstract boolean isOne(String services);

    abstract Callable<Object> made(Provider provider);

    /** A sequence of calls. */
    abstract List<Call> calls(Random random);

    Objects objects(Provider provider) {
        return new Objects(made(provider));
    }
}
