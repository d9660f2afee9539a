//! Natives that the user supplies: C files, which are compiled here, and shared objects, whose functions are called by name.

use crate::compiled::{self, Job};
use crate::compiler::Compiler;
use crate::context::Argument;
use crate::engine::NativeError;
use crate::library::{Loaded, reason};
use headrace_engine::Argument as Given;
use headrace_ir::{Network, Scalar, Type};
use headrace_private::limits::Limits;
use headrace_targets::c::{self, natives};
use libloading::Library;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt;
use std::path::{Path, PathBuf};

/// Calls a function with arguments, and puts what it gives behind them.
type Caller = unsafe extern "C" fn(*const c_void, *mut Argument);

struct Entry {
    caller: Caller,
    function: *const c_void,
    result: Option<Scalar>,
    parameters: Vec<Type>,
}

/// A library that stays loaded.
enum Kept {
    /// Compiled here.
    Made(Loaded),
    /// The user's.
    Given(Library),
}

impl Kept {
    /// The address of a symbol, in the library or in those that it uses.
    fn address(&self, name: &str) -> Option<*const c_void> {
        // SAFETY: the symbol is only looked up.
        unsafe {
            match self {
                Kept::Made(library) => library.get::<*const c_void>(name.as_bytes()).ok().map(raw),
                Kept::Given(library) => library.get::<*const c_void>(name.as_bytes()).ok().map(raw),
            }
        }
    }

    /// The function of a name that the library defines itself: one that it only uses, as those of the system, is none of its
    /// own.
    fn defined(&self, name: &str) -> Option<*const c_void> {
        let of_process = Kept::Given(libloading::os::unix::Library::this().into());
        let found = self.address(name)?;
        (of_process.address(name) != Some(found)).then_some(found)
    }
}

fn raw(symbol: libloading::Symbol<'_, *const c_void>) -> *const c_void {
    // SAFETY: the address is used while its library is loaded.
    unsafe { symbol.into_raw() }.into_raw().cast_const()
}

/// The natives of a network that files of the user supply.
pub struct Supplied {
    entries: BTreeMap<String, Entry>,
    /// What the entries point into.
    _libraries: Vec<Kept>,
}

impl fmt::Debug for Supplied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supplied").field("names", &self.entries.keys()).finish_non_exhaustive()
    }
}

// SAFETY: functions and constants of libraries that stay loaded; one thread of a run calls natives at a time.
unsafe impl Send for Supplied {}
// SAFETY: as above.
unsafe impl Sync for Supplied {}

/// As a C file of the user is compiled: it may be old.
const FLAGS: &[&str] = &["-std=gnu11", "-O2", "-w", "-ffp-contract=off"];

/// How it is linked.
const LINKING: &[&str] = &["-Wl,-z,defs", "-Wl,--no-as-needed", "-lm"];

impl Supplied {
    /// Compiles the C files, loads everything, and finds the natives that the network declares. What the platform has, too, is
    /// taken from the files.
    ///
    /// # Errors
    ///
    /// No compiler, what the compiler said, a file that is no shared object for this machine, a native that is declared in two
    /// ways.
    pub fn new(
        network: &Network,
        files: &[PathBuf],
        compiler: Option<&Compiler>,
        cache: Option<&Path>,
    ) -> Result<Supplied, NativeError> {
        let found = compiler.cloned().or_else(Compiler::find);
        let compiler = found.ok_or(NativeError::NoCompiler)?;
        let wanted = natives::of_network(network).map_err(NativeError::Unsupported)?;
        let mut libraries = Vec::new();
        for file in files {
            libraries.push(library_of(file, &compiler, cache)?);
        }
        let mut functions = BTreeMap::new();
        for name in wanted.keys() {
            if let Some(function) = libraries.iter().find_map(|library| library.defined(name)) {
                functions.insert(*name, function);
            }
        }
        let source = natives::callers(functions.keys().filter_map(|name| wanted.get(name).copied()));
        let flags: Vec<String> = ["-std=c11", "-O2"].map(str::to_owned).to_vec();
        let callers = made(&compiler, &source, c::RUNTIME, &flags, cache)?;
        let mut entries = BTreeMap::new();
        for (name, function) in functions {
            let symbol = format!("headrace_call_{name}");
            // SAFETY: the program that was compiled just now defines it with this type.
            let caller = unsafe { callers.get::<Caller>(symbol.as_bytes()).map(|caller| *caller) };
            let caller = caller.map_err(|error| crate::engine::missing(&symbol, error))?;
            let (result, parameters) = (wanted[name].result, wanted[name].parameters.clone());
            entries.insert(name.to_owned(), Entry { caller, function, result, parameters });
        }
        libraries.push(Kept::Made(callers));
        Ok(Supplied { entries, _libraries: libraries })
    }

    /// Bare names of what is supplied.
    pub fn names(&self) -> Vec<String> {
        self.entries.keys().cloned().collect()
    }

    /// Calls a function, which changes lists where they lie.
    ///
    /// # Errors
    ///
    /// It is not supplied, or takes other arguments.
    pub fn call(&self, name: &str, given: &mut [Given<'_>]) -> Result<Given<'static>, String> {
        let entry = self.entries.get(name).ok_or_else(|| format!("nobody supplies the native `{name}`"))?;
        if entry.parameters.len() != given.len() {
            return Err(format!("`{name}` takes {} arguments", entry.parameters.len()));
        }
        let mut texts: Vec<CString> = Vec::new();
        let mut pointers: Vec<Vec<*const c_char>> = Vec::new();
        let mut arguments: Vec<Argument> = Vec::with_capacity(given.len() + 1);
        for argument in given.iter_mut() {
            arguments.push(match argument {
                Given::Scalar(scalar) => Argument { scalar: *scalar, ..Argument::NONE },
                Given::Real(real) => Argument { real: *real, ..Argument::NONE },
                Given::Text(text) => {
                    texts.push(terminated(text));
                    Argument { text: texts.last().map_or(std::ptr::null(), |text| text.as_ptr()), ..Argument::NONE }
                }
                Given::Bytes(bytes) => Argument {
                    bytes: bytes.as_mut_ptr(),
                    n_bytes: bytes.len().min(u32::MAX as usize) as u32,
                    ..Argument::NONE
                },
                Given::Texts(list) => {
                    let first = texts.len();
                    texts.extend(list.iter().map(|text| terminated(text)));
                    let mut list: Vec<*const c_char> = texts[first..].iter().map(|text| text.as_ptr()).collect();
                    let n_bytes = (list.len() * size_of::<*const c_char>()) as u32;
                    let bytes = list.as_mut_ptr().cast();
                    pointers.push(list);
                    Argument { bytes, n_bytes, ..Argument::NONE }
                }
            });
        }
        arguments.push(Argument::NONE);
        // SAFETY: the caller was made for this function and these types of arguments, with a place for what it gives.
        unsafe { (entry.caller)(entry.function, arguments.as_mut_ptr()) };
        let mut pointers = pointers.into_iter();
        for argument in given.iter_mut() {
            let Given::Texts(list) = argument else { continue };
            let left = pointers.next().unwrap_or_default();
            list.iter_mut().zip(left).for_each(|(text, pointer)| *text = read(pointer));
        }
        let given = arguments[arguments.len() - 1];
        Ok(match entry.result {
            Some(Scalar::Real(_)) => Given::Real(given.real),
            Some(Scalar::String) => Given::Text(read(given.text)),
            _ => Given::Scalar(given.scalar),
        })
    }

    /// Whether it is supplied.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// The same for arguments of generated code: what the function gives, and its type.
    pub(crate) fn call_here(&self, name: &str, given: &[Argument]) -> (Argument, Option<Scalar>) {
        let Some(entry) = self.entries.get(name) else { return (Argument::NONE, None) };
        let mut arguments = given.to_vec();
        arguments.push(Argument::NONE);
        // SAFETY: generated code hands over what the native is declared to take, of which the caller was made.
        unsafe { (entry.caller)(entry.function, arguments.as_mut_ptr()) };
        (arguments.pop().unwrap_or(Argument::NONE), entry.result)
    }
}

/// A text for C, up to its first zero.
fn terminated(text: &str) -> CString {
    let bytes: Vec<u8> = text.bytes().take_while(|&byte| byte != 0).collect();
    CString::new(bytes).unwrap_or_default()
}

/// A text of C; none is empty.
fn read(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: a native gives texts that end with a zero.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Compiles a program, or finds what was made before, and loads it.
fn made(
    compiler: &Compiler,
    source: &str,
    headers: &[(&str, &str)],
    flags: &[String],
    cache: Option<&Path>,
) -> Result<Loaded, NativeError> {
    let key = compiler.key(source, headers, flags);
    compiled::library(&Job { compiler, key: &key, source, headers, flags }, cache).map(|compiled| compiled.loaded)
}

fn library_of(file: &Path, compiler: &Compiler, cache: Option<&Path>) -> Result<Kept, NativeError> {
    let told = |why: String| NativeError::Failed(format!("{}: {why}", file.display()));
    let is_source = match file.extension().and_then(|ending| ending.to_str()) {
        Some("c") => true,
        Some("so" | "dylib") => false,
        _ => return Err(told("natives come in C files (.c) and shared objects (.so)".into())),
    };
    if !file.is_file() {
        return Err(told("there is no such file".into()));
    }
    // Only a path with a folder is taken as one by the system.
    let path = file.canonicalize().map_err(|error| told(error.to_string()))?;
    if is_source {
        let of_file = |problem: NativeError| match problem {
            NativeError::Failed(why) => told(why.replace("the generated program", "it")),
            other => other,
        };
        let mut flags: Vec<String> = FLAGS.iter().map(|&flag| flag.to_owned()).collect();
        let limits = Limits::of_environment().map_err(NativeError::Unable)?;
        // What the compiler sees with everything that is included tells whether it was compiled before.
        let text = compiler.preprocessed(&path, &flags, limits.compiling).map_err(of_file)?;
        // What is missing is told by name, now and not when it is called.
        flags.extend(LINKING.iter().filter(|_| cfg!(target_os = "linux")).map(|&flag| flag.to_owned()));
        return made(compiler, &text, &[], &flags, cache).map(Kept::Made).map_err(of_file);
    }
    let flags = libloading::os::unix::RTLD_NOW | libloading::os::unix::RTLD_LOCAL;
    // SAFETY: the user names it to be run.
    let library = unsafe { libloading::os::unix::Library::open(Some(&path), flags) };
    library
        .map(|library| Kept::Given(library.into()))
        .map_err(|error| told(format!("it cannot be loaded here, on {}: {}", std::env::consts::ARCH, reason(&error))))
}
