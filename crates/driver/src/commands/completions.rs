//! `headrace completions`.
//!
//! What `use` takes is not in the declaration of the command line: the library decides. The scripts of bash, zsh and fish know it
//! as it is when they are printed.

use super::Context;
use crate::cli::{Cli, CompletionsArgs};
use crate::failure::Outcome;
use crate::output;
use clap::CommandFactory;
use clap_complete::Shell;
use headrace_library::catalog::{Framing, Library};
use std::collections::BTreeMap;

/// Prints the completion script of a shell.
pub fn completions(context: &mut Context, arguments: &CompletionsArgs) -> Outcome {
    output::print(script(&context.library()?, arguments.shell).as_bytes())
}

/// The completion script of a shell.
fn script(library: &Library, shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "headrace", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    let operations = operations(library);
    match shell {
        Shell::Bash => for_bash(script, &operations),
        Shell::Zsh => for_zsh(script, &operations),
        Shell::Fish => for_fish(script, &operations),
        _ => script,
    }
}

/// Parameter sets by the operations that they have, as they stand in a script.
fn operations(library: &Library) -> BTreeMap<String, Vec<String>> {
    let mut of_set: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for spec in library.operations().iter().filter(|spec| spec.framing != Framing::Bare) {
        of_set.entry(&spec.set).or_default().push(&spec.name);
    }
    let mut sets: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (set, mut names) in of_set {
        names.sort_unstable();
        sets.entry(names.join(" ")).or_default().push(set.to_owned());
    }
    sets
}

/// Every parameter set once.
fn sets(operations: &BTreeMap<String, Vec<String>>) -> String {
    let mut sets: Vec<&str> = operations.values().flatten().map(String::as_str).collect();
    sets.sort_unstable();
    sets.join(" ")
}

/// `case` branches that print the operations of the set `$1`, for shells like that of POSIX.
fn branches(operations: &BTreeMap<String, Vec<String>>) -> String {
    let branch = |(names, sets): (&String, &Vec<String>)| format!("        {}) echo '{names}' ;;\n", sets.join("|"));
    operations.iter().map(branch).collect()
}

fn for_bash(script: String, operations: &BTreeMap<String, Vec<String>>) -> String {
    format!(
        r#"{script}
_headrace_operations() {{
    case "$1" in
{}    esac
}}

_headrace_with_library() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}"
    if [[ "${{COMP_WORDS[1]}}" == use && "$cur" != -* ]]; then
        case "$COMP_CWORD" in
            2) COMPREPLY=($(compgen -W '{}' -- "$cur")); return ;;
            3) COMPREPLY=($(compgen -W "$(_headrace_operations "${{COMP_WORDS[2]}}")" -- "$cur")); return ;;
        esac
    fi
    _headrace "$@"
}}

complete -F _headrace_with_library -o bashdefault -o default headrace
"#,
        branches(operations),
        sets(operations)
    )
}

/// How the script for zsh has the words of `use`: what completes them is replaced.
const ZSH_WORDS: [(&str, &str); 2] = [
    ("':primitive -- A parameter set, such as aes128:_default'", "':primitive -- A parameter set:_headrace_sets'"),
    (
        "':operation -- An operation, such as ctr, cbc-decrypt, hash:_default'",
        "':operation -- An operation:_headrace_operations'",
    ),
];

fn for_zsh(script: String, operations: &BTreeMap<String, Vec<String>>) -> String {
    let functions = format!(
        r#"
_headrace_operations_of() {{
    case "$1" in
{}    esac
}}

_headrace_sets() {{
    compadd -- {}
}}

_headrace_operations() {{
    local word
    for word in "${{words[@]}}"; do
        local -a known=(${{=$(_headrace_operations_of "$word")}})
        if (( $#known )); then
            compadd -- $known
            return
        fi
    done
}}

_headrace() {{"#,
        branches(operations),
        sets(operations)
    );
    let script = ZSH_WORDS.iter().fold(script, |script, (from, to)| script.replace(from, to));
    script.replacen("\n_headrace() {", &functions, 1)
}

fn for_fish(script: String, operations: &BTreeMap<String, Vec<String>>) -> String {
    let branch = |(names, sets): (&String, &Vec<String>)| {
        format!("        case {}\n            string split ' ' -- '{names}'\n", sets.join(" "))
    };
    let branches: String = operations.iter().map(branch).collect();
    let words = |number: usize| {
        format!("-n '__fish_headrace_using_subcommand use; and test (count (commandline -opc)) -eq {number}'")
    };
    format!(
        "{script}\nfunction __fish_headrace_operations\n    switch $argv[1]\n{branches}    end\nend\n\
         complete -c headrace {} -f -a '{}'\n\
         complete -c headrace {} -f -a '(__fish_headrace_operations (commandline -opc)[3])'\n",
        words(2),
        sets(operations),
        words(3)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Colour;
    use crate::terminal::Terminal;
    use headrace::Workspace;
    use std::process::Command;

    fn library() -> Library {
        Context::new(Terminal::new(Colour::Never), Workspace::default()).library().expect("the library is sound")
    }

    #[test]
    fn scripts_know_the_library() {
        let library = library();
        for (shell, function) in [
            (Shell::Bash, "_headrace_with_library"),
            (Shell::Zsh, ":_headrace_operations'"),
            (Shell::Fish, "commandline -opc)[3]"),
        ] {
            let script = script(&library, shell);
            assert!(script.contains(function) && script.contains("aes128-gcm"), "{shell}");
        }
        let zsh = script(&library, Shell::Zsh);
        assert!(ZSH_WORDS.iter().all(|(_, to)| zsh.contains(to)) && zsh.contains("\n_headrace_sets() {"));
    }

    #[test]
    fn bash_completes_primitives_and_their_operations() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("script");
        std::fs::write(&path, script(&library(), Shell::Bash)).expect("the folder is writable");
        let completed = |line: &str| -> Option<Vec<String>> {
            let words: Vec<&str> = line.split(' ').collect();
            let command = format!(
                ". '{}'; COMP_WORDS=({}); COMP_CWORD={}; _headrace_with_library headrace '{}' ''; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
                path.display(),
                words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
                words.len() - 1,
                words.last().copied().unwrap_or_default()
            );
            let output = Command::new("bash").args(["--norc", "-c", &command]).output().ok()?;
            Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
        };
        let Some(sets) = completed("headrace use aes128-") else {
            eprintln!("not run: no bash");
            return;
        };
        assert!(sets.contains(&"aes128-gcm".into()) && sets.iter().all(|set| set.starts_with("aes128-")), "{sets:?}");
        let of = |line: &str| completed(line).expect("it was there before");
        assert_eq!(of("headrace use sha256 "), ["hash"]);
        assert!(of("headrace use aes128 cbc-").contains(&"cbc-decrypt".into()));
        assert_eq!(of("headrace use aes128 ctr --ke"), ["--key"]);
        assert!(of("headrace ").contains(&"seal".into()));
    }
}
