//! Benchmark adapter. Target `opencl` in measurements.

use crate::contender::{Contender, Made, PROJECT, Subject};
use crate::device::contender::{OBJECT, files};
use crate::toolchain::Step;

/// With kernels in OpenCL C.
pub(crate) const CONTENDER: Contender = Contender { files, build: by_c_compiler, made: Made::Object(OBJECT) };

fn by_c_compiler(subject: &Subject<'_>) -> Vec<Step> {
    let include = format!("-I{PROJECT}/src");
    let flags = ["-std=c11", "-O3", "-fPIC", "-shared", "-Wl,-Bsymbolic", &include, "contender.c"];
    let words = [subject.tool(0)].into_iter().chain(flags).map(str::to_owned).chain(subject.sources("src/", &[".c"]));
    vec![Step::new(words.chain(["-o", OBJECT, "-lm", "-pthread", "-lOpenCL"].map(str::to_owned)))]
}
