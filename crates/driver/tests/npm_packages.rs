//! Packages that `headrace build --target wasm` makes: Node.js runs them, and they give the known answers.

#[expect(dead_code, reason = "each test uses a part of it")]
mod projects;

use projects::{Folder, is_here};
use std::process::Command;

/// Builds a package and runs its test; says how many tests passed, which is nothing where there is no Node.js.
fn built_and_tested(folder: &Folder, what: &[&str]) -> Option<String> {
    let project = folder.build("wasm", what);
    if !is_here("node") {
        return None;
    }
    let mut test = Command::new("node");
    let said = folder.run_in(&project, test.args(["--test", "--test-reporter=tap", "test/test.js"]));
    assert!(said.contains("# fail 0"), "{what:?}:\n{said}");
    assert!(!said.contains("Warning"), "{what:?}:\n{said}");
    Some(said)
}

/// How many tests passed.
fn passed(said: &str) -> usize {
    let line = said.lines().find_map(|line| line.strip_prefix("# pass "));
    line.and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[test]
fn operations_of_every_shape_give_known_answers() {
    let folder = Folder::new();
    for (what, least) in [
        (&["aes128", "--operation", "encrypt", "--operation", "ctr", "--operation", "cbc-decrypt"][..], 3),
        (&["chacha20"], 1),
        (&["sha256"], 1),
        (&["aes128-cmac"], 2),
        (&["ascon-aead128"], 2),
        (&["ctr-drbg-aes128"], 1),
    ] {
        if let Some(said) = built_and_tested(&folder, what) {
            assert!(passed(&said) >= least, "{what:?}:\n{said}");
        }
    }
}

#[test]
fn several_sets_are_one_package() {
    let folder = Folder::new();
    let what = ["aes128-ccm", "sha256", "hmac-sha256", "--name", "three", "--unfused"];
    if let Some(said) = built_and_tested(&folder, &what) {
        assert!(passed(&said) >= 5, "{said}");
    }
    let index = std::fs::read_to_string(folder.path().join("projects/aes128-ccm/index.js")).expect("it has an index");
    assert!(index.contains("export { Sha256Hash, sha256 } from './src/sha256_hash.js';"), "{index}");
}

#[test]
fn networks_do_what_the_interpreter_does() {
    let folder = Folder::new();
    if let Some(said) = built_and_tested(&folder, &folder.write_wide()) {
        assert_eq!(passed(&said), 1, "{said}");
    }
}

#[test]
fn natives_and_prints_reach_the_host() {
    let folder = Folder::new();
    let host = "import { Context } from './projects/Host/index.js';
        const context = new Context();
        const said = [];
        const host = {
          print: (bytes) => said.push(Buffer.from(bytes).toString()),
          printReal: (value, bits) => said.push(`${value}/${bits}`),
          native: (name, given) => {
            said.push(`${name}(${given.map((one) => (typeof one === 'bigint' ? one : [...one])).join('; ')})`);
            return said.length > 9 ? undefined : 7n;
          },
        };
        context.write_In(Int32Array.of(5, 6));
        console.log(context.run(undefined, host), said.join('|'), context.read_Out());
        context.clear();
    ";
    let actor = "import std.stdio.Writer.Writer_write;
    actor Host() int In ==> int Out:
        action In:[x] ==> Out:[x + 1]
        do println(\"got \" + x); Writer_write(x); end
    end";
    folder.write("Host.cal", actor);
    folder.write("host.mjs", host);
    if built_and_tested(&folder, &["Host.cal"]).is_some() {
        let said = folder.run(Command::new("node").arg("host.mjs"));
        assert!(
            said.starts_with("0 got |5|\n|Writer_write(5)|got |6|\n|Writer_write(6) Int32Array(2) [ 6, 7 ]"),
            "{said}"
        );
    }
}

/// A program that imports packages by their names, as their users do. Where they are fetched it counts how often.
const USER: &str = "
    import { readFile } from 'node:fs/promises';
    let fetched = 0;
    globalThis.fetch = async (url) => {
      fetched += 1;
      return new Response(await readFile(url));
    };
    const { sha256, hex } = await import('sha256');
    const { Hash } = await import('sha256/hash');
    const { aeadEncrypt, aeadDecrypt, AeadEncrypt } = await import('ascon-aead128');
    const abc = new TextEncoder().encode('abc');
    console.log(hex(sha256(abc)), hex(new Hash().message(abc)) === hex(await sha256(abc.buffer)));

    const [key, nonce] = [new Uint8Array(16), new Uint8Array(16)];
    const { out, tag } = aeadEncrypt({ key, nonce, input: abc });
    console.log(hex(aeadDecrypt({ key, nonce, ad: new Uint8Array(0), input: out, tag })));
    const code = (work) => {
      try {
        work();
      } catch (error) {
        return `${error.name} ${error.code}`;
      }
    };
    tag[3] ^= 1;
    console.log(code(() => aeadDecrypt({ key, nonce, input: out, tag })));
    console.log(code(() => aeadEncrypt({ key: abc, nonce, input: abc })));
    for (const none of [undefined, null, 'text', abc, abc.buffer]) {
      console.log(code(() => aeadEncrypt(none)), code(() => new AeadEncrypt().message(none)));
    }
    console.log(code(() => sha256('abc')));
    console.log(`fetched ${fetched}`);
";

/// What Node.js finds under the conditions of a bundler for browsers is fetched, and neither has what the other needs.
#[test]
fn conditions_say_how_modules_are_read() {
    let folder = Folder::new();
    let hash = folder.build("wasm", &["sha256", "--unfused"]);
    folder.build("wasm", &["ascon-aead128", "--unfused"]);
    for file in ["index.js", "src/hash.js", "src/message.js", "src/network.js", "src/no_files.js"] {
        let text = std::fs::read_to_string(hash.join(file)).expect("it is there");
        assert!(!text.contains("'node:"), "{file}:\n{text}");
    }
    if !is_here("node") {
        return;
    }
    let projects = hash.parent().expect("projects stand in a folder");
    std::fs::rename(projects, folder.path().join("node_modules")).expect("it can be moved");
    folder.write("user.mjs", USER);
    let no_strings = "TypeError ERR_INVALID_ARG_TYPE TypeError ERR_INVALID_ARG_TYPE\n".repeat(5);
    for (conditions, fetched) in [(&[][..], 0), (&["--conditions=browser"], 3)] {
        let said = folder.run(Command::new("node").args(conditions).arg("user.mjs"));
        let expected = format!(
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad true\n616263\n\
             OperationError REFUSED\nOperationError KEY_LENGTH\n{no_strings}TypeError ERR_INVALID_ARG_TYPE\nfetched {fetched}\n"
        );
        assert_eq!(said, expected, "{conditions:?}");
    }
}

/// Functions are called as what they compute is called.
#[test]
fn functions_have_names_that_users_know() {
    let folder = Folder::new();
    for (what, exported) in [
        (&["sha3-256"][..], "Hash, sha3_256"),
        (&["hmac-sha256"], "Mac, mac"),
        (&["aes128", "--operation", "cbc-encrypt"], "CbcEncrypt, cbcEncrypt"),
        (&["aes128", "--operation", "encrypt"], "Encrypt"),
    ] {
        let project = folder.build("wasm", &[what, &["--unfused"]].concat());
        let index = std::fs::read_to_string(project.join("index.js")).expect("it is there");
        assert!(index.contains(&format!("export {{ {exported} }} from")), "{what:?}:\n{index}");
        std::fs::remove_dir_all(project).expect("it can be removed");
    }
}
