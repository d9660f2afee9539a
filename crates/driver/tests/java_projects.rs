//! Projects that `headrace build --target java` makes: a JDK alone compiles them without a warning, they give the known
//! answers, and programs reach them through the JCA by names of the JDK's own providers.

mod projects;

use projects::{Folder, is_here};
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
    for what in [
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
        &["aes128-cmac"],
        &["aes128-ccm"],
        &["ascon-aead128"],
        &["ctr-drbg-aes128"],
        &["hex"],
    ] {
        let said = built_and_tested(&folder, what);
        let last = said.lines().last().expect("it says something");
        let count: usize = last.trim_end_matches(" known answers").parse().expect("a number of answers");
        assert!(count > 0, "{what:?} tests nothing");
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
