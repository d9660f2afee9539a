//! Passphrases: from a file, from the environment, or typed on the terminal, which shows nothing of them.

use crate::failure::Outcome;
use headrace::Error;
use headrace::error::describe;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use zeroize::Zeroizing;

/// The environment variable that has one.
pub const VARIABLE: &str = "HEADRACE_PASSPHRASE";

/// Longest passphrase, in bytes.
const MOST_BYTES: usize = 4096;

/// The terminal that shows nothing, and how it was before, for the one who interrupts the command.
static SILENT: Mutex<Option<(File, Termios)>> = Mutex::new(None);

/// The passphrase: the first line of the file that is named, else the variable, else what is typed, which is asked for twice where
/// a mistake would be found out too late.
///
/// # Errors
///
/// There is none, it is empty or too long, or what was typed differs.
pub fn passphrase(file: Option<&Path>, twice: bool) -> Outcome<Zeroizing<Vec<u8>>> {
    let found = if let Some(path) = file {
        let failed = |error: io::Error| Error::io(path.display(), &error);
        line(&mut File::open(path).map_err(failed)?).map_err(failed)?
    } else if let Some(text) = std::env::var_os(VARIABLE) {
        Zeroizing::new(text.into_encoded_bytes())
    } else {
        let typed = typed("Passphrase: ")?;
        // An empty one is refused below.
        if twice && !typed.is_empty() && *self::typed("The same again: ")? != *typed {
            return Err(Error::wrong("the two passphrases differ"));
        }
        typed
    };
    if found.is_empty() {
        return Err(Error::wrong("the passphrase is empty"));
    }
    if found.len() > MOST_BYTES {
        return Err(Error::wrong(format!("the passphrase is longer than {MOST_BYTES} bytes")));
    }
    Ok(found)
}

/// The first line, without its end; what is longer than a passphrase may be is cut off behind that.
fn line(from: &mut impl Read) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut line = Zeroizing::new(Vec::with_capacity(MOST_BYTES + 1));
    let mut byte = Zeroizing::new([0]);
    while line.len() <= MOST_BYTES {
        match from.read(&mut *byte) {
            Ok(0) => break,
            Ok(_) if byte[0] == b'\n' => break,
            Ok(_) => line.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(line)
}

/// What is typed.
fn typed(prompt: &str) -> Outcome<Zeroizing<Vec<u8>>> {
    let missing = |error: io::Error| {
        let why = describe(&error);
        Error::wrong(format!(
            "there is no terminal to ask for the passphrase ({why}); --passphrase-file or {VARIABLE} gives it"
        ))
    };
    let mut terminal = File::options().read(true).write(true).open("/dev/tty").map_err(missing)?;
    let before = tcgetattr(&terminal).map_err(|error| missing(error.into()))?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    // The end of the line is shown: what comes next stands below it.
    silent.local_modes.insert(LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG);
    *held() = Some((terminal.try_clone().map_err(missing)?, before));
    let restored = Restored;
    tcsetattr(&terminal, OptionalActions::Flush, &silent).map_err(|error| missing(error.into()))?;
    terminal.write_all(prompt.as_bytes()).and_then(|()| terminal.flush()).map_err(missing)?;
    let typed = line(&mut terminal).map_err(missing)?;
    drop(restored);
    Ok(typed)
}

/// Restores the terminal when it goes.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        restore_terminal();
    }
}

fn held() -> std::sync::MutexGuard<'static, Option<(File, Termios)>> {
    SILENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the terminal show again what is typed.
pub fn restore_terminal() {
    if let Some((terminal, before)) = held().take() {
        // A terminal that is gone needs no restoring.
        let _ = tcsetattr(&terminal, OptionalActions::Now, &before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passphrase_is_a_line() {
        let of = |text: &[u8]| line(&mut &text[..]).expect("memory can be read").to_vec();
        assert_eq!(of(b"one two"), b"one two");
        assert_eq!(of(b" one two \r\nthree"), b" one two ");
        assert_eq!(of(b"\n"), b"");
        assert_eq!(of(&[b'x'; 3 * MOST_BYTES]).len(), MOST_BYTES + 1);
    }

    #[test]
    fn files_give_passphrases() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("passphrase");
        let given = |text: &[u8]| {
            std::fs::write(&path, text).expect("the folder is writable");
            passphrase(Some(&path), true).map(|found| found.to_vec()).map_err(|error| error.to_string())
        };
        assert_eq!(given(b"secret\n"), Ok(b"secret".to_vec()));
        assert_eq!(given(b"\n"), Err("the passphrase is empty".into()));
        assert!(given(&[b'x'; MOST_BYTES + 1]).is_err());
        assert!(passphrase(Some(&folder.path().join("none")), false).is_err());
    }
}
