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
