//! Benchmark adapter. Target `cuda` in measurements.

use super::toolchain::{DRIVER, NVCC};
use crate::contender::{Contender, Made, PROJECT, Subject};
use crate::device::contender::{OBJECT, files};
use crate::project::Files;
use crate::toolchain::Step;

/// With kernels in CUDA.
pub(crate) const CONTENDER: Contender = Contender { files: files_for_nvcc, build: by_nvcc, made: Made::Object(OBJECT) };

fn files_for_nvcc(subject: &Subject<'_>) -> Result<Files, String> {
    if subject.tool(NVCC).is_empty() || subject.tool(DRIVER).is_empty() {
        let lack = if subject.tool(NVCC).is_empty() { "nvcc" } else { "GPU" };
        return Err(format!(
            "there is no {lack}, and the processor in the place of a device says nothing of its speed"
        ));
    }
    files(subject)
}

/// Kernels for the devices that are here; what is C, the compiler behind nvcc compiles.
fn by_nvcc(subject: &Subject<'_>) -> Vec<Step> {
    let include = format!("-I{PROJECT}/src");
    let flags = ["-O3", "-arch=native", "-Xcompiler", "-fPIC", "-shared", "-Xlinker", "-Bsymbolic", &include];
    let words = [subject.tool(NVCC)].into_iter().chain(flags).chain(["contender.c"]).map(str::to_owned);
    let sources = subject.sources("src/", &[".c", ".cu"]);
    vec![Step::new(words.chain(sources).chain(["-o", OBJECT, "-lm"].map(str::to_owned)))]
}
