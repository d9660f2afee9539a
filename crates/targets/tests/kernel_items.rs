//! Loops printed as kernels of devices, against what they mean: any number of iterations, in one launch and in several.
//! OpenCL runs on whatever device there is (PoCL, where nothing else is); kernels in CUDA run on the processor.

#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "kernel/compile.rs"]
mod compile;
#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "kernel/loops.rs"]
mod loops;
#[path = "kernel/random.rs"]
mod random;

use compile::array;
use headrace_targets::c::kernel::{Alone, Items, LoopNames, element_type, items, prelude};
use headrace_targets::c::{Dialect, RUNTIME};
use headrace_targets::{cuda, opencl};
use headrace_transform::kernel::Loop;
use headrace_transform::kernel::evaluate::{World, run_loop};
use random::Random;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// What a launch moves of a port at most: long calls are several launches.
const LAUNCH_BYTES: usize = 1 << 11;

/// Iterations of a call.
const ITERATIONS: [usize; 6] = [1, 2, 63, 64, 65, 700];

struct Case {
    name: String,
    body: Loop,
    kernel: Items,
}

fn cases() -> Vec<Case> {
    let mut random = Random::new(9);
    let mut all = vec![
        ("rotating".to_owned(), loops::rotating(4)),
        ("feistel".to_owned(), loops::feistel(&mut random, 3)),
        ("substitution".to_owned(), loops::substitution(2, false)),
        ("substitution in counter mode".to_owned(), loops::substitution(2, true)),
        ("waiting".to_owned(), loops::waiting(24)),
        ("delayed".to_owned(), loops::delayed(1)),
        ("counting".to_owned(), loops::counting()),
        ("overflowing".to_owned(), loops::overflowing()),
        ("pieces".to_owned(), loops::in_pieces(7, 3, 1)),
    ];
    for i in 0..12 {
        let n_input = random.of(&[1, 3, 4, 8, 12, 16, 64]);
        all.push((format!("random {i}"), loops::random_loop(&mut random, n_input, 64, 256)));
    }
    let mut cases: Vec<Case> = Vec::new();
    for (name, body) in all {
        let (function, at) = (format!("k{}", cases.len()), cases.len());
        let state = format!("struct s{at}");
        match items(&body, &LoopNames { function: &function, state: &state, names: &Alone(at) }) {
            Ok(kernel) => cases.push(Case { name, body, kernel }),
            Err(error) => println!("{name}: {}", error.0),
        }
    }
    assert!(cases.len() >= 18, "{} cases can be printed", cases.len());
    cases
}

/// The program that calls all kernels, and what it must print.
fn program(cases: &[Case]) -> (String, Vec<(String, String)>) {
    let mut random = Random::new(78);
    let mut text = format!("#include \"headrace_device.h\"\n#include <stdio.h>\n{}", prelude());
    text.push_str("extern const struct headrace_kernels t_kernels;\n");
    let mut main = format!(
        "int main(void)\n{{\n  char why[256] = \"\";\n  struct headrace_device *device = headrace_device_open(NULL, why, sizeof why);\n  \
         struct headrace_helpers helpers;\n  if (!device) {{ printf(\"%s\\n\", why); return 4; }}\n  helpers = headrace_device_helpers(device);\n  \
         headrace_device_launch_bytes(device, {LAUNCH_BYTES});\n  headrace_device_least_bytes(device, 1);\n"
    );
    let mut expected = Vec::new();
    for (at, Case { name, body, kernel }) in cases.iter().enumerate() {
        let _ = writeln!(text, "{}struct s{at} {{", kernel.given);
        for object in &body.objects {
            let _ = writeln!(text, "  {} {}[{}];", element_type(object.width), object.name, object.length);
        }
        let ports: Vec<String> = (kernel.ports.iter())
            .map(|port| match port.is_input {
                true => format!("{{{}, NULL, {}}}", port.name, port.bytes),
                false => format!("{{NULL, {}, {}}}", port.name, port.bytes),
            })
            .collect();
        let _ = write!(
            text,
            "  uint8_t unused;\n}};\nstatic bool run{at}(const struct headrace_helpers *helpers, const struct s{at} *s, const uint8_t *in0, uint8_t *out0, size_t iterations)\n{{\n  \
             const struct headrace_iterations all = {{&t_kernels, {at}, {}, iterations, {{{}}}}};\n  struct {}_given given;\n  \
             memset(&given, 0, sizeof given);\n  (void)s;\n  (void)in0;\n{}  \
             return headrace_device_takes(helpers, &all) && headrace_device_runs(helpers, &all, &given, sizeof given);\n}}\n",
            ports.len(),
            ports.join(", "),
            kernel.name,
            kernel.fill
        );
        let elements: Vec<Vec<u128>> =
            body.objects.iter().map(|o| (0..o.length).map(|_| random.bits(o.width)).collect()).collect();
        let (n_in, n_out) = (body.consumes[0].0 as usize, body.produces[0].0 as usize);
        let most = ITERATIONS[ITERATIONS.len() - 1];
        let token = |i: usize| (i * 7 + i / 256 * 3 + i / 9) as u128 & 255;
        let tokens: Vec<u128> = (0..n_in * most).map(token).collect();
        let initial: String = elements.iter().map(|values| array(values) + ",").collect();
        for n in ITERATIONS {
            let mut world = World {
                inputs: vec![tokens.clone()],
                consumed: vec![0],
                outputs: vec![Vec::new()],
                objects: elements.clone(),
            };
            run_loop(body, &mut world, n as u64);
            let hash = world.outputs[0]
                .iter()
                .fold(0xcbf2_9ce4_8422_2325_u64, |h, &token| (h ^ (token as u64 & 255)).wrapping_mul(0x100_0000_01b3));
            expected.push((format!("{name}, {n} iterations"), format!("1 {hash:x}")));
            let _ = writeln!(
                main,
                "  {{ static const struct s{at} s = {{{initial}0}}; static uint8_t in[{0}], out[{1}]; uint64_t h = 0xcbf29ce484222325u;\n    \
                 for (size_t i = 0; i < {0} - 1; i++) in[i + 1] = (uint8_t)(i * 7 + i / 256 * 3 + i / 9);\n    \
                 const bool done = run{at}(&helpers, &s, in + 1, out + 1, {n});\n    \
                 for (size_t i = 0; i < {2}; i++) h = (h ^ out[i + 1]) * 0x100000001b3u;\n    \
                 printf(\"%d %llx\\n\", done, (unsigned long long)h); if (!done) printf(\"%s\\n\", headrace_device_error(device)); }}",
                n_in * most + 1,
                n_out * most + 1,
                n_out * n
            );
        }
    }
    main.push_str("  headrace_device_close(device);\n  return 0;\n}\n");
    (text + &main, expected)
}

/// Runs a command in the folder; what it said, and whether it ended well.
fn run(folder: &Path, command: &mut Command) -> (String, Option<i32>) {
    let output = command.current_dir(folder).env("POCL_CACHE_DIR", folder).output();
    match output {
        Ok(output) => {
            let said = [output.stdout, output.stderr].concat();
            (String::from_utf8_lossy(&said).into_owned(), output.status.code())
        }
        Err(error) => (error.to_string(), None),
    }
}

/// Compiles the program with the kernels in a dialect and compares what it prints, unless `probe` shows that it cannot
/// be.
fn compare(dialect: &Dialect, commands: &[&[&str]], probe: &[&str]) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let folder = folder.path();
    std::fs::write(
        folder.join("probe.c"),
        "#include <CL/cl.h>\nint main(void) { return clGetPlatformIDs(0, 0, 0) == 1; }\n",
    )
    .expect("it is writable");
    if let [tool, arguments @ ..] = probe {
        let (said, code) = run(folder, Command::new(tool).args(arguments));
        if code != Some(0) {
            eprintln!("not run: {probe:?} says {said} (scripts/tools.sh opencl)");
            return;
        }
    }
    let cases = cases();
    let (program, expected) = program(&cases);
    let kernels: Vec<Items> = cases.into_iter().map(|case| case.kernel).collect();
    let (name, text) = (dialect.kernels)("", "t", &kernels);
    let mut files = (dialect.runtime)();
    files.extend(RUNTIME.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())));
    files.insert(name, text.into_bytes());
    files.insert("main.c".to_owned(), program.into_bytes());
    for (path, text) in files {
        std::fs::write(folder.join(path.trim_start_matches("src/")), text).expect("the folder is writable");
    }
    for command in commands {
        let (said, code) = run(folder, Command::new(command[0]).args(&command[1..]));
        assert_eq!((said.as_str(), code), ("", Some(0)), "{command:?}");
    }
    let (said, code) = run(folder, &mut Command::new(folder.join("main")));
    if code == Some(4) {
        eprintln!("not run: {said}");
    } else {
        assert_eq!(code, Some(0), "{said}");
        let lines: Vec<&str> = said.lines().collect();
        for ((name, expected), line) in expected.iter().zip(&lines) {
            assert_eq!(line, expected, "{name}, {dialect:?}:\n{said}");
        }
        assert_eq!(lines.len(), expected.len(), "{said}");
    }
}

const C_FLAGS: [&str; 6] = ["-O1", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"];

#[test]
fn kernels_in_opencl_do_what_loops_mean() {
    let mut command = vec!["cc"];
    command.extend(C_FLAGS);
    command.extend(["-Wno-unused", "-I.", "main.c", "t_kernels.c", "headrace_opencl.c", "-lOpenCL", "-o", "main"]);
    compare(&opencl::DIALECT, &[&command], &["cc", "probe.c", "-lOpenCL", "-o", "probe"]);
}

#[test]
fn kernels_in_cuda_do_what_loops_mean() {
    let cxx = ["c++", "-O1", "-std=c++11", "-x", "c++", "-fno-exceptions", "-Wall", "-Wextra", "-Werror", "-I.", "-c"];
    let mut command = vec!["cc"];
    command.extend(C_FLAGS);
    command.extend(["-Wno-unused", "-I.", "main.c", "t_kernels.o", "headrace_cuda.o", "-o", "main"]);
    let compiled = |source: &'static str, object: &'static str| {
        let mut command = cxx.to_vec();
        command.extend([source, "-o", object]);
        command
    };
    let (kernels, runtime) = (compiled("t_kernels.cu", "t_kernels.o"), compiled("headrace_cuda.cu", "headrace_cuda.o"));
    compare(&cuda::DIALECT, &[&kernels, &runtime, &command], &["c++", "--version"]);
}
