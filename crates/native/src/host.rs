//! What generated code calls back: printing and natives, done by the same code as in the interpreter.

use crate::context::{Argument, Control, Host};
use crate::supplied::Supplied;
use headrace_engine::Host as EngineHost;
use headrace_ir::{RealType, Scalar};
use headrace_natives::{Argument as NativeArgument, Parameter, Session, Stop, format_real};
use std::collections::HashSet;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Arc;

/// Status values and trap codes of the runtime's header.
pub(crate) const LIMIT: u32 = 1;
pub(crate) const EXITED: u32 = 2;
pub(crate) const TRAPPED: u32 = 3;
pub(crate) const TRAP_NATIVE: u32 = 6;

/// Where the callbacks find the host of the current run.
pub(crate) struct Bridge {
    /// Only set while the network runs.
    pub host: Option<*mut dyn EngineHost>,
    /// What natives remember.
    pub session: Session,
    /// Why a native could not do its work.
    pub error: Option<String>,
    /// Natives of the user.
    pub supplied: Option<Arc<Supplied>>,
    /// Texts that these gave: programs keep them.
    pub texts: HashSet<CString>,
}

impl Bridge {
    /// A copy of a text that stays where it is; none for none.
    fn kept(&mut self, text: *const c_char) -> *const c_char {
        if text.is_null() {
            return text;
        }
        // SAFETY: a native gives texts that end with a zero.
        let text = unsafe { CStr::from_ptr(text) };
        if !self.texts.contains(text) {
            self.texts.insert(text.to_owned());
        }
        self.texts.get(text).map_or(std::ptr::null(), |text| text.as_ptr())
    }
}

pub(crate) fn table(bridge: *mut Bridge) -> Host {
    Host { user: bridge.cast(), print, print_real, native }
}

/// # Safety
///
/// `user` is the bridge that was given to [`table`], and nothing else uses it now.
unsafe fn bridge<'a>(user: *mut c_void) -> &'a mut Bridge {
    // SAFETY: by the contract of this function.
    unsafe { &mut *user.cast::<Bridge>() }
}

unsafe extern "C" fn print(user: *mut c_void, text: *const c_char, bytes: usize) {
    // SAFETY: generated code hands back the user pointer, and a text of that many bytes.
    let (bridge, text) = unsafe { (bridge(user), std::slice::from_raw_parts(text.cast::<u8>(), bytes)) };
    if let Some(host) = bridge.host {
        // SAFETY: set for the duration of the run that calls this, from a reference that outlives it.
        unsafe { (*host).print(text) }
    }
}

unsafe extern "C" fn print_real(user: *mut c_void, value: f64, bits: c_int) {
    let ty = match bits {
        16 => RealType::Half,
        32 => RealType::Float,
        _ => RealType::Double,
    };
    let text = format_real(value, ty);
    // SAFETY: as for `print`.
    unsafe { print(user, text.as_ptr().cast(), text.len()) }
}

unsafe extern "C" fn native(
    user: *mut c_void,
    name: *const c_char,
    arguments: *mut Argument,
    n_arguments: u32,
    control: *mut Control,
) -> i64 {
    // SAFETY: generated code hands back the user pointer, a terminated name and its own control structure.
    let (bridge, name, control) = unsafe { (bridge(user), CStr::from_ptr(name), &mut *control) };
    let given: &[Argument] = if n_arguments == 0 {
        &[]
    } else {
        // SAFETY: an array of that many arguments.
        unsafe { std::slice::from_raw_parts(arguments, n_arguments as usize) }
    };
    let name = name.to_string_lossy();
    let supplied = bridge.supplied.clone();
    if let Some(supplied) = supplied.filter(|supplied| supplied.has(&name)) {
        if let Some(host) = bridge.host {
            // SAFETY: set for the duration of the run that calls this, from a reference that outlives it.
            unsafe { (*host).before_supplied() }
        }
        let (answer, ty) = supplied.call_here(&name, given);
        let place = match ty {
            // SAFETY: generated code has a place for what is neither a boolean nor an integer behind the arguments.
            Some(Scalar::Real(_) | Scalar::String) => Some(unsafe { &mut *arguments.add(n_arguments as usize) }),
            _ => None,
        };
        if let Some(place) = place {
            place.real = answer.real;
            place.text = bridge.kept(answer.text);
        }
        return answer.scalar;
    }
    match call(bridge, &name, given) {
        Ok(value) => value,
        Err(Stop::Exit(status)) => {
            control.stopped = EXITED;
            control.exit_status = status;
            0
        }
        Err(Stop::Error(message)) => {
            bridge.error = Some(message);
            control.stopped = TRAPPED;
            control.trap.code = TRAP_NATIVE;
            0
        }
    }
}

/// Whether two lists have bytes in common.
fn overlap(one: &Argument, other: &Argument) -> bool {
    let (a, b) = (one.bytes.addr(), other.bytes.addr());
    a < b + other.n_bytes as usize && b < a + one.n_bytes as usize
}

/// Copies of the lists that a native only reads and that have bytes in common with another of its lists, each at the place of
/// its argument. With these in their place no two lists overlap, for no native writes two of them.
///
/// # Safety
///
/// Lists are of as many bytes as they say.
unsafe fn copies(given: &[Argument], parameters: &[Parameter]) -> Vec<Vec<u8>> {
    let is_shared = |at: usize, argument: &Argument| {
        given.iter().enumerate().any(|(other, list)| other != at && overlap(list, argument))
    };
    let copy = |(at, (argument, parameter)): (usize, (&Argument, &Parameter))| {
        if parameter.is_written() || !is_shared(at, argument) {
            return Vec::new();
        }
        // SAFETY: by the contract of this function; what overlaps another list is not null.
        unsafe { std::slice::from_raw_parts(argument.bytes, argument.n_bytes as usize) }.to_vec()
    };
    given.iter().zip(parameters).enumerate().map(copy).collect()
}

fn call(bridge: &mut Bridge, name: &str, given: &[Argument]) -> Result<i64, Stop> {
    let row = headrace_natives::find(name).ok_or_else(|| format!("no platform supplies the native `{name}`"))?;
    let Some(host) = bridge.host else { return Err(Stop::Error("there is no host".to_owned())) };
    // SAFETY: generated code passes lists of as many bytes as it says.
    let mut copies = unsafe { copies(given, row.parameters) };
    let mut arguments: Vec<NativeArgument<'_>> = given
        .iter()
        .zip(row.parameters)
        .zip(&mut copies)
        .map(|((argument, parameter), copy)| match parameter {
            Parameter::Scalar(_, word) => NativeArgument::Scalar(word.convert(argument.scalar)),
            _ if !copy.is_empty() => NativeArgument::Bytes(copy),
            _ if argument.bytes.is_null() => NativeArgument::Bytes(&mut []),
            // SAFETY: generated code passes a list of that many bytes, which nothing else uses now: what overlaps it was copied.
            _ => NativeArgument::Bytes(unsafe {
                std::slice::from_raw_parts_mut(argument.bytes, argument.n_bytes as usize)
            }),
        })
        .collect();
    // SAFETY: set for the duration of the run that calls this, from a reference that outlives it.
    let host = unsafe { &mut *host };
    (row.call)(&mut bridge.session, host, &mut arguments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_natives::Word;

    #[test]
    fn lists_that_overlap_are_copied() {
        let mut bytes = [1, 2, 3, 4];
        let pointer = bytes.as_mut_ptr();
        let list =
            |from: usize, n_bytes: u32| Argument { bytes: pointer.wrapping_add(from), n_bytes, ..Argument::NONE };
        let copied = |given: &[Argument], parameters: &[Parameter]| {
            // SAFETY: all of these lie in `bytes`.
            unsafe { copies(given, parameters) }
        };
        let none: Vec<u8> = Vec::new();
        let (read, written) = (Parameter::Bytes("read"), Parameter::Room("written"));
        let scalar = (Argument { scalar: 4, ..Argument::NONE }, Parameter::Scalar("n", Word::Int32));
        assert_eq!(
            copied(&[list(0, 2), list(2, 2), scalar.0], &[read, read, scalar.1]),
            [none.clone(), vec![], vec![]]
        );
        assert_eq!(copied(&[list(0, 3), list(2, 2)], &[read, read]), [vec![1, 2, 3], vec![3, 4]]);
        assert_eq!(copied(&[list(0, 4), list(1, 1)], &[written, read]), [none, vec![2]]);
    }

    /// Two that overlap could not both be handed over.
    #[test]
    fn no_native_writes_two_lists() {
        let written = |native: &headrace_natives::Native| {
            native.parameters.iter().filter(|parameter| parameter.is_written()).count()
        };
        assert!(headrace_natives::table().all(|native| written(native) < 2));
    }
}
