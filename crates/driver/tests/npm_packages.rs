//! Packages that `headrace build --target wasm` makes: Node.js runs them, and they give the known answers.

use std::path::Path;
use std::process::Command;

/// Runs a command, which must end well, and gives all that it said.
fn run(command: &mut Command) -> String {
    let output = command.output().expect("the command starts");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}:\n{said}");
    said
}

/// Builds a package and runs its test; says how many tests passed, which is nothing where there is no Node.js.
fn built_and_tested(folder: &Path, what: &[&str]) -> Option<String> {
    let name = Path::new(what[0]).file_name().expect("a name");
    let project = folder.join("projects").join(name);
    let mut build = Command::new(env!("CARGO_BIN_EXE_headrace"));
    run(build.current_dir(folder).arg("build").args(what).args(["--target", "wasm", "-o"]).arg(&project));
    if !Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("not run: no node (scripts/tools.sh node)");
        return None;
    }
    let mut test = Command::new("node");
    let said = run(test.current_dir(&project).args(["--test", "--test-reporter=tap", "test/test.js"]));
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
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    for (what, least) in [
        (&["aes128", "--operation", "encrypt", "--operation", "ctr", "--operation", "cbc-decrypt"][..], 3),
        (&["chacha20"], 1),
        (&["sha256"], 1),
        (&["aes128-cmac"], 2),
        (&["ascon-aead128"], 2),
        (&["ctr-drbg-aes128"], 1),
    ] {
        if let Some(said) = built_and_tested(folder.path(), what) {
            assert!(passed(&said) >= least, "{what:?}:\n{said}");
        }
    }
}

#[test]
fn networks_do_what_the_interpreter_does() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let wide = "actor Wide() uint(size=100) In, int(size=7) Small ==> uint(size=100) Out, bool Odd:
        int(size=130) sum := -1;
        action In:[x], Small:[y] ==> Out:[sum / 3], Odd:[(sum & 1) = 1]
        do sum := sum * 5 + (x << 9) - y; end
    end";
    std::fs::write(folder.path().join("Wide.cal"), wide).expect("the folder is writable");
    if let Some(said) = built_and_tested(folder.path(), &["Wide.cal"]) {
        assert_eq!(passed(&said), 1, "{said}");
    }
}

#[test]
fn natives_and_prints_reach_the_host() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let host = "import { Context } from './projects/Host.cal/index.js';
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
    std::fs::write(folder.path().join("Host.cal"), actor).expect("the folder is writable");
    std::fs::write(folder.path().join("host.mjs"), host).expect("the folder is writable");
    if built_and_tested(folder.path(), &["Host.cal"]).is_some() {
        let said = run(Command::new("node").current_dir(folder.path()).arg("host.mjs"));
        assert!(
            said.starts_with("0 got |5|\n|Writer_write(5)|got |6|\n|Writer_write(6) Int32Array(2) [ 6, 7 ]"),
            "{said}"
        );
    }
}
