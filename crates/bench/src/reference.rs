//! The plain C references: compiled with a given compiler and its flags, loaded and called.

use headrace_private::{PrivateFolder, processes};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int};
use std::fs;
use std::path::Path;
use std::process::Command;

type Setup = unsafe extern "C" fn(*const u8, *const u8) -> c_int;
type Run = unsafe extern "C" fn(*const u8, *mut u8, usize) -> c_int;
type Version = unsafe extern "C" fn() -> *const c_char;

/// A compiled reference. Its functions are those of `bench/reference/reference.h`.
#[derive(Debug)]
pub struct Reference {
    run: Run,
    /// Name and version that it gives itself.
    pub version: String,
    /// Keeps the code loaded; dropped before the folder that it lies in.
    _library: Library,
    _folder: PrivateFolder,
}

impl Reference {
    /// Compiles `name` (a `.c` file among `sources`, all of which are written to one folder) and prepares it for a key and an
    /// initial block. `Ok(None)` when it says that it cannot run on this machine.
    pub fn build(
        name: &str,
        sources: &[(&str, &[u8])],
        compiler: &str,
        flags: &[&str],
        key: &[u8; 16],
        iv: &[u8; 16],
    ) -> Result<Option<Self>, String> {
        let folder = PrivateFolder::new()?;
        for (file, text) in sources {
            let file = Path::new(file).file_name().ok_or_else(|| format!("`{file}` names no file"))?;
            fs::write(folder.path().join(file), text).map_err(|error| error.to_string())?;
        }
        let object = folder.path().join("reference.so");
        let mut command = Command::new(compiler);
        command.current_dir(folder.path()).args(["-std=gnu11", "-fPIC", "-shared"]).args(flags);
        command.arg(name).arg("-o").arg(&object).arg("-ldl");
        processes::compile(&mut command).map_err(|said| format!("{compiler} {name}: {said}"))?;
        // SAFETY: the object was compiled from the sources just written; it has no initialisers.
        let library = unsafe { Library::new(&object) }.map_err(|error| error.to_string())?;
        // SAFETY: the types are those that reference.h declares, which every reference includes.
        let (setup, run, version) = unsafe {
            let setup = *library.get::<Setup>(b"reference_setup\0").map_err(|error| error.to_string())?;
            let run = *library.get::<Run>(b"reference_run\0").map_err(|error| error.to_string())?;
            let version = *library.get::<Version>(b"reference_version\0").map_err(|error| error.to_string())?;
            (setup, run, version)
        };
        // SAFETY: both arrays have the 16 bytes that it reads.
        if unsafe { setup(key.as_ptr(), iv.as_ptr()) } != 0 {
            return Ok(None);
        }
        // SAFETY: it returns a string that lives as long as the library.
        let version = unsafe { CStr::from_ptr(version()) }.to_string_lossy().into_owned();
        Ok(Some(Self { run, version, _library: library, _folder: folder }))
    }

    /// Encrypts whole blocks.
    pub fn encrypt(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), String> {
        if input.len() != output.len() || !input.len().is_multiple_of(16) {
            return Err(format!("{} bytes cannot become {} bytes", input.len(), output.len()));
        }
        // SAFETY: the function reads and writes that many bytes; the buffers are distinct borrows.
        match unsafe { (self.run)(input.as_ptr(), output.as_mut_ptr(), input.len()) } {
            0 => Ok(()),
            status => Err(format!("the reference failed with {status}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197, appendix C.1, and SP 800-38A, F.5.1 (first block).
    const KEY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    const CIPHERTEXT: [u8; 16] =
        [0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a];

    fn sources() -> Vec<(String, Vec<u8>)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/reference");
        let files = fs::read_dir(folder).expect("the references are there");
        files
            .map(|file| file.expect("it can be listed").path())
            .map(|path| (path.display().to_string(), fs::read(&path).expect("it can be read")))
            .collect()
    }

    #[test]
    fn references_encrypt_the_example_of_the_standard() {
        if Command::new("cc").arg("--version").output().is_err() {
            eprintln!("not run: no C compiler");
            return;
        }
        let sources = sources();
        let sources: Vec<(&str, &[u8])> = sources.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
        let plain: [u8; 16] = std::array::from_fn(|at| 17 * at as u8);
        let counter: Vec<u8> = plain.to_vec();
        for name in ["aes128_ecb_tables.c", "aes128_ecb_ring.c", "aes128_ecb_openssl.c", "aes128_ctr_openssl.c"] {
            let reference =
                Reference::build(name, &sources, "cc", &["-O1", "-Wall", "-Wextra", "-Werror"], &KEY, &plain);
            let Some(mut reference) = reference.expect("it compiles") else {
                eprintln!("not run: {name}");
                continue;
            };
            // In counter mode the encrypted counter block is the output for an input of zeros.
            let block = if name.contains("ctr") { vec![0; 16] } else { counter.clone() };
            let input = block.repeat(100);
            let mut output = vec![0; input.len()];
            reference.encrypt(&input, &mut output).expect("whole blocks");
            assert_eq!(output[..16], CIPHERTEXT, "{name}");
            if !name.contains("ctr") {
                assert!(output.chunks(16).all(|block| block == CIPHERTEXT), "{name}");
            }
            assert!(reference.encrypt(&input[1..], &mut output[1..]).is_err());
        }
    }

    #[test]
    fn what_does_not_compile_is_an_error() {
        let wrong = Reference::build("x.c", &[("x.c", b"int")], "cc", &[], &KEY, &KEY);
        assert!(wrong.is_err());
    }
}
