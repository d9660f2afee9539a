import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.security.AlgorithmParameters;
import java.security.Key;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.MessageDigest;
import java.security.Provider;
import java.security.ProviderException;
import java.security.SecureRandom;
import java.security.Security;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.ServiceLoader;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.CipherInputStream;
import javax.crypto.CipherOutputStream;
import javax.crypto.KeyGenerator;
import javax.crypto.Mac;
import javax.crypto.SealedObject;
import javax.crypto.SecretKey;
import javax.crypto.ShortBufferException;
import javax.crypto.spec.ChaCha20ParameterSpec;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** What the rest of the JDK does with services of a provider, which the model-based test does not reach. */
public final class Promises {
    private static final byte[] TEXT = "what nobody else is to read, of some length that is no number of blocks".getBytes();

    static void sure(boolean is, String what) {
        if (!is) {
            throw new AssertionError(what);
        }
    }

    static void sureOurs(Provider provider) {
        sure(provider.getName().startsWith("Headrace"), provider.getName());
    }

    /** Streams and sealed objects there, with keys that the JDK makes, and back by the JDK's own cipher. */
    static void streams(String name, String keyName, int bits) throws Exception {
        KeyGenerator generator = KeyGenerator.getInstance(keyName);
        generator.init(bits);
        SecretKey key = generator.generateKey();
        Cipher cipher = Cipher.getInstance(name);
        cipher.init(Cipher.ENCRYPT_MODE, key);
        sureOurs(cipher.getProvider());
        AlgorithmParameters parameters = cipher.getParameters();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (CipherOutputStream stream = new CipherOutputStream(out, cipher)) {
            for (byte value : TEXT) {
                stream.write(value);
            }
        }
        for (String provider : new String[] {cipher.getProvider().getName(), "SunJCE"}) {
            Cipher back = Cipher.getInstance(name, provider);
            back.init(Cipher.DECRYPT_MODE, key, parameters);
            try (CipherInputStream stream = new CipherInputStream(new ByteArrayInputStream(out.toByteArray()), back)) {
                sure(Arrays.equals(stream.readAllBytes(), TEXT), name + " in streams, " + provider);
            }
        }
        cipher.init(Cipher.ENCRYPT_MODE, key);
        SealedObject sealed = new SealedObject("a sealed text", cipher);
        sure(sealed.getObject(key).equals("a sealed text"), name + " sealed");
        sure(sealed.getObject(key, "SunJCE").equals("a sealed text"), name + " sealed, opened by the JDK");
    }

    /** A pair of keys goes through `wrap` and comes back. */
    static void wrapped(String name, Key key) throws Exception {
        KeyPair pair = KeyPairGenerator.getInstance("EC").generateKeyPair();
        for (Object[] row : new Object[][] {
            {pair.getPublic(), "EC", Cipher.PUBLIC_KEY}, {pair.getPrivate(), "EC", Cipher.PRIVATE_KEY}, {key, "AES", Cipher.SECRET_KEY}
        }) {
            Cipher cipher = Cipher.getInstance(name);
            cipher.init(Cipher.WRAP_MODE, key);
            sureOurs(cipher.getProvider());
            byte[] bytes = cipher.wrap((Key) row[0]);
            Cipher back = Cipher.getInstance(name, "SunJCE");
            back.init(Cipher.UNWRAP_MODE, key, cipher.getParameters());
            sure(back.unwrap(bytes, (String) row[1], (int) row[2]).equals(row[0]), name + " wrapped");
            Cipher own = Cipher.getInstance(name, cipher.getProvider());
            own.init(Cipher.UNWRAP_MODE, key, cipher.getParameters());
            sure(own.unwrap(bytes, (String) row[1], (int) row[2]).equals(row[0]), name + " unwrapped");
        }
    }

    /** A genuine message stays one, if its first place was too small; with tags of every length. */
    static void tooSmall(SecretKey key) throws Exception {
        for (int bits = 96; bits <= 128; bits += 8) {
            GCMParameterSpec spec = new GCMParameterSpec(bits, Arrays.copyOf(TEXT, 12));
            Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
            cipher.init(Cipher.ENCRYPT_MODE, key, spec);
            sureOurs(cipher.getProvider());
            byte[] sealed = new byte[TEXT.length + bits / 8];
            for (int mode : new int[] {Cipher.ENCRYPT_MODE, Cipher.DECRYPT_MODE}) {
                byte[] in = mode == Cipher.ENCRYPT_MODE ? TEXT : sealed.clone();
                byte[] out = mode == Cipher.ENCRYPT_MODE ? sealed : new byte[TEXT.length];
                if (mode == Cipher.DECRYPT_MODE) {
                    cipher.init(mode, key, spec);
                }
                cipher.updateAAD(TEXT);
                try {
                    cipher.doFinal(in, 0, in.length, new byte[10], 0);
                    throw new AssertionError("it has no room");
                } catch (ShortBufferException expected) {
                    sure(cipher.doFinal(in, 0, in.length, out, 0) == out.length, "the length");
                }
                sure(mode == Cipher.ENCRYPT_MODE || Arrays.equals(out, TEXT), "GCM with tags of " + bits);
            }
            Cipher theirs = Cipher.getInstance("AES/GCM/NoPadding", "SunJCE");
            theirs.init(Cipher.DECRYPT_MODE, key, spec);
            theirs.updateAAD(TEXT);
            sure(Arrays.equals(theirs.doFinal(sealed), TEXT), "GCM of the JDK with tags of " + bits);
            sealed[sealed.length - 1] ^= 1;
            cipher.updateAAD(TEXT);
            try {
                cipher.doFinal(sealed);
                throw new AssertionError("a forgery with a tag of " + bits);
            } catch (AEADBadTagException expected) {
                // As it must be.
            }
        }
    }

    /** Objects of their own in threads, and clones of one that go on apart. */
    static void threads() throws Exception {
        MessageDigest common = MessageDigest.getInstance("SHA-256");
        sureOurs(common.getProvider());
        common.update(TEXT);
        Mac mac = Mac.getInstance("HmacSHA3-256");
        mac.init(new SecretKeySpec(TEXT, "HmacSHA3-256"));
        sureOurs(mac.getProvider());
        mac.update(TEXT);
        List<Thread> threads = new ArrayList<>();
        List<Throwable> wrong = new ArrayList<>();
        for (int number = 0; number < 4; number++) {
            byte own = (byte) number;
            MessageDigest digest = (MessageDigest) common.clone();
            Mac code = (Mac) mac.clone();
            threads.add(new Thread(() -> {
                try {
                    for (int n = 0; n < 50; n++) {
                        digest.update(own);
                        code.update(own);
                    }
                    byte[] all = Arrays.copyOf(TEXT, TEXT.length + 50);
                    Arrays.fill(all, TEXT.length, all.length, own);
                    sure(Arrays.equals(digest.digest(), MessageDigest.getInstance("SHA-256", "SUN").digest(all)), "a digest in a thread");
                    Mac theirs = Mac.getInstance("HmacSHA3-256", "SunJCE");
                    theirs.init(new SecretKeySpec(TEXT, "HmacSHA3-256"));
                    sure(Arrays.equals(code.doFinal(), theirs.doFinal(all)), "a code in a thread");
                } catch (Exception | AssertionError error) {
                    synchronized (wrong) {
                        wrong.add(error);
                    }
                }
            }));
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        sure(wrong.isEmpty(), wrong.toString());
    }

    /** No message goes on where its key stream would come again. */
    static void counters() throws Exception {
        Cipher cipher = Cipher.getInstance("ChaCha20");
        cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(new byte[32], "ChaCha20"), new ChaCha20ParameterSpec(new byte[12], 2));
        sureOurs(cipher.getProvider());
        Object service = cipher.getProvider().getService("Cipher", "ChaCha20").newInstance(null);
        Method init = service.getClass().getDeclaredMethod("engineInit", int.class, Key.class,
                java.security.spec.AlgorithmParameterSpec.class, SecureRandom.class);
        init.setAccessible(true);
        init.invoke(service, Cipher.ENCRYPT_MODE, new SecretKeySpec(new byte[32], "ChaCha20"),
                new ChaCha20ParameterSpec(new byte[12], 2), null);
        Method update = service.getClass().getDeclaredMethod("engineUpdate", byte[].class, int.class, int.class);
        update.setAccessible(true);
        update.invoke(service, new byte[1], 0, 1);
        Field message = service.getClass().getDeclaredField("message");
        message.setAccessible(true);
        Field taken = message.get(service).getClass().getDeclaredField("taken");
        taken.setAccessible(true);
        // As if all but ten bytes of 2^32 blocks had gone by, of which the first two were passed over.
        taken.setLong(message.get(service), 64L * ((1L << 32) - 2) - 10);
        update.invoke(service, new byte[10], 0, 10);
        try {
            update.invoke(service, new byte[1], 0, 1);
            throw new AssertionError("the counter comes round");
        } catch (java.lang.reflect.InvocationTargetException error) {
            sure(error.getCause() instanceof ProviderException, "" + error.getCause());
        }
    }

    public static void main(String[] arguments) throws Exception {
        ServiceLoader.load(Provider.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.getName().startsWith("Headrace"))
                .forEach(provider -> Security.insertProviderAt(provider, 1));
        SecretKey key = new SecretKeySpec(Arrays.copyOf(TEXT, 16), "AES");
        streams("AES/GCM/NoPadding", "AES", 128);
        streams("AES/CTR/NoPadding", "AES", 128);
        streams("DESede/CBC/PKCS5Padding", "DESede", 168);
        streams("ChaCha20-Poly1305", "ChaCha20", 256);
        wrapped("AES/GCM/NoPadding", key);
        wrapped("AES/CTR/NoPadding", key);
        tooSmall(key);
        threads();
        counters();
        // By numbers of standards, and by what keys are taken.
        sureOurs(MessageDigest.getInstance("2.16.840.1.101.3.4.2.1").getProvider());
        sureOurs(MessageDigest.getInstance("OID.2.16.840.1.101.3.4.2.1").getProvider());
        Cipher numbered = Cipher.getInstance("2.16.840.1.101.3.4.1.6");
        numbered.init(Cipher.ENCRYPT_MODE, key);
        sureOurs(numbered.getProvider());
        Provider.Service service = numbered.getProvider().getService("Cipher", "AES_128/GCM/NoPadding");
        sure("RAW".equals(service.getAttribute("SupportedKeyFormats")), "formats of keys");
        sure(service.supportsParameter(key), "secret keys are taken");
        sure(!service.supportsParameter(KeyPairGenerator.getInstance("EC").generateKeyPair().getPublic()), "public keys are not");
        Cipher named = Cipher.getInstance("ChaCha20/None/NoPadding");
        named.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(new byte[32], "ChaCha20"));
        sureOurs(named.getProvider());
    }
}
