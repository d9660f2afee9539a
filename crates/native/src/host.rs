//! What generated code calls back: printing and natives, done by the same code as in the interpreter.

use crate::context::{Argument, Control, Host};
use headrace_engine::Host as EngineHost;
use headrace_ir::RealType;
use headrace_natives::{Argument as NativeArgument, Session, Stop, format_real};
use std::ffi::{CStr, c_char, c_int, c_void};

/// Status values and trap codes of the runtime's header.
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

fn call(bridge: &mut Bridge, name: &str, given: &[Argument]) -> Result<i64, Stop> {
    let row = headrace_natives::find(name).ok_or_else(|| format!("no platform supplies the native `{name}`"))?;
    let Some(host) = bridge.host else { return Err(Stop::Error("there is no host".to_owned())) };
    let mut arguments: Vec<NativeArgument> = given
        .iter()
        .zip(row.parameters)
        .map(|(argument, parameter)| match parameter {
            headrace_natives::Parameter::Scalar(_, word) => NativeArgument::Scalar(word.convert(argument.scalar)),
            headrace_natives::Parameter::Bytes(_) => {
                let n = argument.n_bytes as usize;
                // SAFETY: generated code passes a list of that many bytes.
                let bytes = unsafe { std::slice::from_raw_parts(argument.bytes, n) };
                NativeArgument::Bytes(bytes.to_vec())
            }
        })
        .collect();
    // SAFETY: set for the duration of the run that calls this, from a reference that outlives it.
    let host = unsafe { &mut *host };
    let result = (row.call)(&mut bridge.session, host, &mut arguments);
    for (argument, given) in arguments.iter().zip(given) {
        if let NativeArgument::Bytes(bytes) = argument {
            let n = bytes.len().min(given.n_bytes as usize);
            // SAFETY: the list has room for `n_bytes` bytes and does not overlap our copy.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), given.bytes, n) }
        }
    }
    result
}
