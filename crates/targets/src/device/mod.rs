//! What targets for devices have in common: projects in C of which a device runs the wide loops.
//!
//! The host is the project that target `c` makes. Kernels are printed by `c/kernel/items.rs`, the calls by
//! `c/fused/elsewhere.rs`, once for all dialects; a dialect says in which file kernels stand, what stands above them and
//! around them, and what a project ships with to run them.

mod build;
pub(crate) mod contender;
mod test;

use crate::c::Options;
use crate::c::kernel::{Items, arithmetic};
use crate::project::Files;
use crate::{cuda, opencl};
pub(crate) use build::Device;
use std::fmt::Write as _;
pub(crate) use test::{harness, long};

/// The language of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// OpenCL C 1.2.
    OpenCl,
    /// CUDA C++.
    Cuda,
}

/// What every dialect has: the interface of devices, and what is alike behind it.
const SHARED: [(&str, &str); 2] = [
    ("src/headrace_device.h", include_str!("../../../../runtime/device/headrace_device.h")),
    ("src/headrace_device_common.h", include_str!("../../../../runtime/device/headrace_device_common.h")),
];

/// Several bytes as one number.
const BYTES: &str = include_str!("../../../../runtime/device/headrace_bytes.h");

impl Dialect {
    /// The name of the language.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Dialect::OpenCl => "OpenCL C",
            Dialect::Cuda => "CUDA",
        }
    }

    /// The file with the kernels of a network.
    pub fn kernels(self, head: &str, prefix: &str, kernels: &[Items]) -> (String, Vec<u8>) {
        let (ending, text) = match self {
            Dialect::OpenCl => ("c", opencl::kernels(head, prefix, kernels)),
            Dialect::Cuda => ("cu", cuda::kernels(head, prefix, kernels)),
        };
        (format!("{prefix}_kernels.{ending}"), text.into_bytes())
    }

    /// What a project ships with to run them.
    pub fn runtime(self) -> Files {
        let (own, made) = match self {
            Dialect::OpenCl => (opencl::RUNTIME, None),
            Dialect::Cuda => (cuda::RUNTIME, Some(cuda::functions())),
        };
        let shipped = own.iter().chain(&SHARED).map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
        shipped.chain(made.map(|(path, text)| (path.to_owned(), text.into_bytes()))).collect()
    }
}

/// Options of a project for a dialect.
pub(crate) fn options(options: &Options, dialect: Dialect) -> Options {
    Options { device: Some(dialect), ..options.clone() }
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
