//! What targets for devices have in common: projects in C of which a device runs the wide loops.
//!
//! The host is the project that target `c` makes. Kernels are printed by `c/kernel/work_items.rs`, the calls by
//! `c/fused/offload.rs`, once for all dialects; a dialect (`c/project/device.rs`) says in which file kernels stand, what
//! stands above them and around them, and what a project ships with to run them.

pub(crate) mod contender;

use crate::c::kernel::{Items, arithmetic};
use crate::project::Files;
use std::fmt::Write as _;

/// What every dialect has: the interface of devices, and what is alike behind it.
const SHARED: [(&str, &str); 2] = [
    ("src/headrace_device.h", include_str!("../../../../runtime/device/headrace_device.h")),
    ("src/headrace_device_common.h", include_str!("../../../../runtime/device/headrace_device_common.h")),
];

/// Several bytes as one number.
const BYTES: &str = include_str!("../../../../runtime/device/headrace_bytes.h");

/// What a project ships with to run kernels, some of it for one dialect only.
pub(crate) fn runtime(own: &[(&str, &str)]) -> Files {
    own.iter().chain(&SHARED).map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
}

/// The functions that kernels call, below what a dialect puts above them.
pub(crate) fn functions() -> String {
    format!("{BYTES}{}", arithmetic())
}

/// The kernels of a network, below [`functions`].
pub(crate) fn text(kernels: &[Items]) -> String {
    let mut text = String::new();
    for kernel in kernels {
        let evidence: Vec<String> = kernel.evidence.iter().map(ToString::to_string).collect();
        let _ = write!(text, "\n/* {}: {}. */\n{}\n{}", kernel.name, evidence.join("; "), kernel.given, kernel.text);
    }
    text
}
