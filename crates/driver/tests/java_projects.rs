//! Projects that `headrace build --target java` makes: a JDK alone compiles them without a warning, they give the known
//! answers, and programs reach them through the JCA by names of the JDK's own providers.

#[expect(dead_code, reason = "each test uses a part of it")]
mod projects;

use projects::{Folder, is_here, sample};
use std::path::Path;
use std::process::Command;

/// Builds a project and runs its test; gives what the test said. It must test something.
fn built_and_tested(folder: &Folder, what: &[&str]) -> String {
    let project = folder.build("java", what);
    let said = folder.run(Command::new("make").arg("-s").arg("-C").arg(&project).arg("test"));
    assert!(!said.contains("warning"), "{what:?}:\n{said}");
    said
}

fn tools_are_here() -> bool {
    is_here("javac") && is_here("make")
}

#[test]
fn operations_of_every_shape_give_known_answers() {
    if !tools_are_here() {
        return;
    }
    let folder = Folder::new();
    for what in sample(&[
        &[
            "aes128",
            "--operation",
            "encrypt",
            "--operation",
            "ctr",
            "--operation",
            "cbc-pad-encrypt",
            "--operation",
            "cbc-pad-decrypt",
        ][..],
        &["chacha20"],
        &["sha256"],
        &["ascon-aead128"],
        &["hex"],
        // The same classes around networks with their scheduler, which are compiled sooner.
        &["aes128-cmac", "--unfused"],
        &["aes128-ccm", "--unfused"],
        // With a string that most messages do without.
        &["kmac128", "--unfused"],
        &["ctr-drbg-aes128", "--unfused"],
    ]) {
        let said = built_and_tested(&folder, what);
        let last = said.lines().last().expect("it says something");
        let count: usize = last.trim_end_matches(" known answers").parse().expect("a number of answers");
        assert!(count > 0, "{what:?} tests nothing");
    }
}

#[test]
fn several_sets_are_one_project() {
    if !tools_are_here() {
        return;
    }
    let folder = Folder::new();
    let what = ["aes128-ccm", "aes192-ccm", "sha256", "hmac-sha256", "--name", "three", "--unfused"];
    let said = built_and_tested(&folder, &what);
    assert!(said.contains("aes192-ccm-aead-decrypt") && said.contains("sha256-hash"), "{said}");
    // One provider has the services of them all.
    let provider = folder.path().join("projects/aes128-ccm/src/main/java/headrace/three/ThreeProvider.java");
    let text = std::fs::read_to_string(provider).expect("there is a provider");
    for name in ["\"AES_128/CCM/NoPadding\"", "\"AES_192/CCM/NoPadding\"", "\"sha-256\"", "\"hmacsha256\""] {
        assert!(text.to_lowercase().contains(&name.to_lowercase()), "{name}:\n{text}");
    }
}

#[test]
fn networks_do_what_the_interpreter_does() {
    if !tools_are_here() {
        return;
    }
    let folder = Folder::new();
    let (wide, tells) = (folder.write_wide(), folder.write_tells());
    built_and_tested(&folder, &wide);
    built_and_tested(&folder, &tells);
    for program in projects::conformance() {
        built_and_tested(&folder, &[&program]);
    }
}

/// What a user writes who knows nothing of the provider but that it comes first.
const PROGRAM: &str = r#"
import java.security.MessageDigest;
import java.security.Provider;
import java.security.Security;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.ServiceLoader;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

public final class Program {
    static String report() throws Exception {
        Cipher cipher = Cipher.getInstance("AES/CTR/NoPadding");
        cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(new byte[16], "AES"), new IvParameterSpec(new byte[16]));
        byte[] text = cipher.doFinal("a message of no particular length".getBytes());
        Cipher back = Cipher.getInstance("AES/CTR/NoPadding");
        back.init(Cipher.DECRYPT_MODE, new SecretKeySpec(new byte[16], "AES"), new IvParameterSpec(new byte[16]));
        // In its own place.
        back.doFinal(text.clone(), 0, text.length, text, 0);
        return cipher.getProvider().getName().startsWith("Headrace") + " " + new String(text) + " "
                + HexFormat.of().formatHex(cipher.doFinal(text));
    }

    static boolean longer() throws Exception {
        // A key that the provider does not take: the next one serves it.
        Cipher cipher = Cipher.getInstance("AES/CTR/NoPadding");
        cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(new byte[32], "AES"), new IvParameterSpec(new byte[16]));
        return cipher.getProvider().getName().startsWith("Headrace");
    }

    public static void main(String[] arguments) throws Exception {
        String before = report();
        ServiceLoader.load(Provider.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.getName().startsWith("Headrace"))
                .forEach(provider -> Security.insertProviderAt(provider, 1));
        String after = report();
        if (!before.startsWith("false ") || !after.equals(before.replaceFirst("false", "true")) || longer()) {
            throw new AssertionError(before + "\n" + after);
        }
    }
}
"#;

#[test]
fn programs_are_served_without_knowing_it() {
    if !tools_are_here() {
        return;
    }
    let folder = Folder::new();
    let project = folder.build("java", &["aes128", "--operation", "ctr"]);
    folder.run(Command::new("make").arg("-s").arg("-C").arg(&project).arg("test"));
    folder.write("Program.java", PROGRAM);
    folder.run(Command::new("java").arg("-cp").arg(project.join("build/classes")).arg("Program.java"));
}

/// Archives are modules under a name of their own, with the services of the provider, and go with sources and documentation.
#[test]
fn archives_are_modules() {
    if !tools_are_here() || !is_here("jar") || !is_here("javadoc") {
        return;
    }
    let folder = Folder::new();
    let project = folder.build("java", &["aes128", "--operation", "ctr", "--unfused"]);
    let said = folder.run(Command::new("make").arg("-s").arg("-C").arg(&project).arg("jars"));
    assert!(!said.contains("warning"), "{said}");
    let archive = project.join("build/aes128-0.1.0.jar");
    let described = folder.run(Command::new("java").arg("-p").arg(&archive).args(["-d", "headrace.aes128"]));
    for line in
        [".jar automatic", "requires java.base", "provides java.security.Provider with headrace.aes128.Aes128Provider"]
    {
        assert!(described.contains(line), "{described}");
    }
    let listed = |kind: &str| {
        let archive = project.join(format!("build/aes128-0.1.0{kind}.jar"));
        folder.run(Command::new("jar").arg("--list").arg("--file").arg(archive))
    };
    assert!(listed("").contains("aes128/Ctr.class") && !listed("").contains("Test"), "{}", listed(""));
    assert!(listed("-sources").contains("aes128/Ctr.java") && listed("-javadoc").contains("aes128/Ctr.html"));
    folder.write("Program.java", PROGRAM);
    let mut java = Command::new("java");
    folder.run(java.arg("-p").arg(&archive).args(["--add-modules", "headrace.aes128", "Program.java"]));
    // Of Maven, which fetches what it does that with.
    let pom = std::fs::read_to_string(project.join("pom.xml")).expect("it is a project of Maven");
    assert!(pom.contains("<Automatic-Module-Name>headrace.aes128<"), "{pom}");
}

/// What programs for the JDK write besides: names that do not follow from those of the library, parameters that are handed on.
const NAMES: &str = r#"
import java.nio.ByteBuffer;
import java.security.AlgorithmParameters;
import java.security.DrbgParameters;
import java.security.Provider;
import java.security.SecureRandom;
import java.security.Security;
import java.util.Arrays;
import java.util.ServiceLoader;
import javax.crypto.Cipher;
import javax.crypto.KeyGenerator;
import javax.crypto.Mac;
import javax.crypto.SecretKey;
import javax.crypto.spec.ChaCha20ParameterSpec;
import javax.crypto.spec.SecretKeySpec;

public final class Names {
    static void sure(boolean is, String what) {
        if (!is) {
            throw new AssertionError(what);
        }
    }

    static void sureOurs(Provider provider, boolean ours) {
        sure(provider.getName().startsWith("Headrace") == ours, provider.getName());
    }

    static Mac mac(SecretKey key, boolean ours) throws Exception {
        Mac mac = Mac.getInstance("HmacSHA3-256");
        mac.init(key);
        sureOurs(mac.getProvider(), ours);
        return mac;
    }

    static byte[] stream(int counter, boolean ours) throws Exception {
        Cipher cipher = Cipher.getInstance("ChaCha20");
        SecretKey key = new SecretKeySpec(new byte[32], "ChaCha20");
        cipher.init(Cipher.ENCRYPT_MODE, key, new ChaCha20ParameterSpec(new byte[12], counter));
        sureOurs(cipher.getProvider(), ours);
        return cipher.doFinal(new byte[100]);
    }

    public static void main(String[] arguments) throws Exception {
        byte[] text = "a letter of any length".getBytes();
        SecretKey key = KeyGenerator.getInstance("DESede").generateKey();
        SecretKey aes = new SecretKeySpec(new byte[16], "AES");
        SecretKey macKey = new SecretKeySpec(new byte[20], "HmacSHA3-256");
        byte[] tag = mac(macKey, false).doFinal(text);
        byte[] stream = stream(0, false);
        ServiceLoader.load(Provider.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.getName().startsWith("Headrace"))
                .forEach(provider -> Security.insertProviderAt(provider, 1));

        // An initial block that the provider chooses, and the parameters that say so.
        Cipher ours = Cipher.getInstance("DESede/CBC/PKCS5Padding");
        ours.init(Cipher.ENCRYPT_MODE, key);
        sureOurs(ours.getProvider(), true);
        byte[] encrypted = ours.doFinal(text);
        sure(ours.getOutputSize(text.length) == encrypted.length, "room");
        AlgorithmParameters parameters = AlgorithmParameters.getInstance("DESede");
        parameters.init(ours.getParameters().getEncoded());
        Cipher theirs = Cipher.getInstance("TripleDES/CBC/PKCS5Padding", "SunJCE");
        theirs.init(Cipher.DECRYPT_MODE, key, parameters);
        sure(Arrays.equals(theirs.doFinal(encrypted), text), "DESede");

        sure(Arrays.equals(mac(macKey, true).doFinal(text), tag), "HmacSHA3-256");
        sure(Arrays.equals(stream(0, true), stream), "ChaCha20");
        // A nonce that the provider chooses, and buffers that hold just what comes.
        Cipher aead = Cipher.getInstance("AES/GCM/NoPadding");
        aead.init(Cipher.ENCRYPT_MODE, aes);
        sureOurs(aead.getProvider(), true);
        ByteBuffer sealed = ByteBuffer.allocate(text.length + 16);
        aead.updateAAD(text);
        aead.doFinal(ByteBuffer.wrap(text), sealed);
        Cipher opens = Cipher.getInstance("AES/GCM/NoPadding", "SunJCE");
        opens.init(Cipher.DECRYPT_MODE, aes, aead.getParameters());
        opens.updateAAD(text);
        sure(Arrays.equals(opens.doFinal(sealed.array()), text), "GCM");
        aead.init(Cipher.ENCRYPT_MODE, aes);
        aead.update(text);
        try {
            aead.updateAAD(text);
            throw new AssertionError("associated data behind the message");
        } catch (IllegalStateException late) {
            sure(late.getMessage().contains("before"), "why");
        }
        sure(Arrays.equals(stream(1, true), 0, 36, stream, 64, 100), "ChaCha20, from block 1");
        // What it cannot do goes to the next provider.
        stream(1 << 20, false);
        sureOurs(SecureRandom.getInstance("DRBG").getProvider(), true);
        SecureRandom strong = SecureRandom.getInstance("DRBG", DrbgParameters.instantiation(256, DrbgParameters.Capability.NONE, null));
        sureOurs(strong.getProvider(), false);
    }
}
"#;

/// What other parts of the JDK do with services.
const PROMISES: &str = include_str!("java/Promises.java");

/// By names and parameters that the JDK knows, by what else it does with services, and call by call.
#[test]
fn services_are_as_those_of_the_jdk() {
    if !tools_are_here() {
        return;
    }
    let folder = Folder::new();
    let mut classes = Vec::new();
    for what in [
        &["tdes", "--operation", "cbc-pad-encrypt", "--operation", "cbc-pad-decrypt", "--unfused"][..],
        &["hmac-sha3-256", "--operation", "mac", "--unfused"],
        &["chacha20", "--unfused"],
        &["hash-drbg-sha256", "--unfused"],
        &["aes128-gcm", "--unfused"],
        &["chacha20-poly1305", "--unfused"],
        &["sha256", "--unfused"],
        &["aes128", "--operation", "ctr", "--unfused"],
    ] {
        let project = folder.build("java", what);
        folder.run(Command::new("make").arg("-s").arg("-C").arg(&project).arg("build/compiled"));
        // Of Maven, whose compiler plugin is of the version that it happens to take: old ones know two of these.
        let pom = std::fs::read_to_string(project.join("pom.xml")).expect("it is a project of Maven");
        for setting in ["source", "target", "release"] {
            assert!(pom.contains(&format!("<maven.compiler.{setting}>17<")), "{pom}");
        }
        classes.push(project.join("build/classes").display().to_string());
    }
    folder.write("Names.java", NAMES);
    folder.run(Command::new("java").arg("-cp").arg(classes.join(":")).arg("Names.java"));
    folder.write("Promises.java", PROMISES);
    folder.run(Command::new("java").arg("-cp").arg(classes.join(":")).arg("Promises.java"));

    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/models/java/run.sh");
    let mut run = Command::new("sh");
    run.arg(models).arg(env!("CARGO_BIN_EXE_headrace")).env("PROJECTS", folder.path().join("projects"));
    // A second or two, but on a machine that has much else to do.
    let said = folder.run(run.args(["--sequences", "1500", "--seconds", "20"]));
    let count = said.lines().last().and_then(|line| line.split(' ').next()?.parse::<u64>().ok());
    assert!(count.is_some_and(|count| count > 10), "{said}");
    assert!(said.ends_with(" sequences, 0 differences\n"), "{said}");
}
