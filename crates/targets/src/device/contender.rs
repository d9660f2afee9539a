//! Projects for devices in measurements: a shared object over the functions of the project, with a device as its help.

use crate::c::contender::{Help, shim};
use crate::contender::{Contender, Made, PROJECT, Subject, arguments};
use crate::cuda::toolchain::{DRIVER, NVCC};
use crate::project::Files;
use crate::toolchain::Step;

/// With kernels in OpenCL C.
pub(crate) const OPENCL: Contender = Contender { files, build: by_c_compiler, made: Made::Object(OBJECT) };

/// With kernels in CUDA.
pub(crate) const CUDA: Contender = Contender { files: files_for_nvcc, build: by_nvcc, made: Made::Object(OBJECT) };

/// What is built.
const OBJECT: &str = "contender.so";

fn files(subject: &Subject<'_>) -> Result<Files, String> {
    arguments(subject.spec)?;
    if !subject.project.keys().any(|path| path.contains("_kernels.")) {
        return Err("a message has no loops that a device could run, so that the processor does it all, as in C".into());
    }
    Ok(Files::from([("contender.c".to_owned(), shim(subject.spec, Help::Device).into_bytes())]))
}

fn files_for_nvcc(subject: &Subject<'_>) -> Result<Files, String> {
    if subject.tool(NVCC).is_empty() || subject.tool(DRIVER).is_empty() {
        let lack = if subject.tool(NVCC).is_empty() { "nvcc" } else { "GPU" };
        return Err(format!(
            "there is no {lack}, and the processor in the place of a device says nothing of its speed"
        ));
    }
    files(subject)
}

fn by_c_compiler(subject: &Subject<'_>) -> Vec<Step> {
    let include = format!("-I{PROJECT}/src");
    let flags = ["-std=c11", "-O3", "-fPIC", "-shared", "-Wl,-Bsymbolic", &include, "contender.c"];
    let words = [subject.tool(0)].into_iter().chain(flags).map(str::to_owned).chain(subject.sources("src/", &[".c"]));
    vec![Step::new(words.chain(["-o", OBJECT, "-lm", "-pthread", "-lOpenCL"].map(str::to_owned)))]
}

/// Kernels for the devices that are here; what is C, the compiler behind nvcc compiles.
fn by_nvcc(subject: &Subject<'_>) -> Vec<Step> {
    let include = format!("-I{PROJECT}/src");
    let flags = ["-O3", "-arch=native", "-Xcompiler", "-fPIC", "-shared", "-Xlinker", "-Bsymbolic", &include];
    let words = [subject.tool(NVCC)].into_iter().chain(flags).chain(["contender.c"]).map(str::to_owned);
    let sources = subject.sources("src/", &[".c", ".cu"]);
    vec![Step::new(words.chain(sources).chain(["-o", OBJECT, "-lm"].map(str::to_owned)))]
}
