//! Compilers with a thread sanitizer.

use headrace_native::Compiler;
use std::path::Path;
use std::process::Command;

/// What a command says; the error is the same of one that fails.
pub fn run(folder: &Path, command: &mut Command) -> Result<String, String> {
    let output = command.current_dir(folder).output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(text) } else { Err(text) }
}

/// Whether a program under the sanitizer can be made and started here.
fn sanitizer_works(folder: &Path, compiler: &str) -> bool {
    std::fs::write(folder.join("try.c"), "int main(void) { return 0; }\n").is_ok()
        && run(folder, Command::new(compiler).args(["-fsanitize=thread", "try.c", "-o", "try"])).is_ok()
        && run(folder, &mut Command::new(folder.join("try"))).is_ok()
}

/// The first compiler whose programs run under the sanitizer.
pub fn compiler(folder: &Path) -> Option<&'static str> {
    ["gcc", "clang"].into_iter().find(|name| Compiler::named(name).is_some() && sanitizer_works(folder, name))
}
