//! Every form of every description, run on this machine beside the interpreter: the same operands, the same results.

use headrace_engine::{CollectingHost, Engine};
use headrace_instructions::{Description, Form, descriptions, meaning};
use headrace_interp::{Interpreter, Options};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Draws of all operands for each form and constant.
const CASES: usize = 64;
/// Constants that are tried: all that choose a kind, and some of any.
const CONSTANTS: [u8; 12] = [0x00, 0x01, 0x02, 0x03, 0x10, 0x11, 0x1b, 0x36, 0x63, 0x96, 0xca, 0xff];

#[cfg(target_arch = "x86_64")]
fn is_there(feature: &str) -> bool {
    macro_rules! any {
        ($($name:tt)*) => { match feature { $($name => is_x86_feature_detected!($name),)* _ => panic!("no feature {feature} is known") } };
    }
    match feature {
        "pclmul" => is_x86_feature_detected!("pclmulqdq"),
        _ => {
            any!("aes" "avx2" "avx512bw" "avx512f" "avx512vbmi" "avx512vl" "gfni" "sha" "sse2" "ssse3" "vaes" "vpclmulqdq")
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn is_there(_feature: &str) -> bool {
    false
}

struct Run<'a> {
    description: &'a Description,
    form: &'a Form,
    constant: Option<u8>,
    /// Registers of each operand, one after the other.
    operands: Vec<Vec<u8>>,
}

fn runs(descriptions: &[Description]) -> Vec<Run<'_>> {
    let mut state = 0x853c_49e6_748f_ea9bu64;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 56) as u8
    };
    let mut runs = Vec::new();
    for description in descriptions {
        let constants: Vec<Option<u8>> = match description.operands.iter().find(|operand| operand.immediate) {
            Some(operand) => {
                let fitting = CONSTANTS.into_iter().filter(|&constant| u32::from(constant) >> operand.token_bits == 0);
                fitting.map(Some).collect()
            }
            None => vec![None],
        };
        for form in description.forms.iter().filter(|form| form.features.iter().all(|feature| is_there(feature))) {
            for &constant in &constants {
                let n = CASES * form.bits as usize / 8;
                let registers = description.operands.iter().filter(|operand| !operand.immediate);
                let operands = registers.map(|_| (0..n).map(|_| draw()).collect()).collect();
                runs.push(Run { description, form, constant, operands });
            }
        }
    }
    runs
}

fn program(runs: &[Run]) -> String {
    let mut text = String::from("#include <immintrin.h>\n#include <stdio.h>\n#include <stdlib.h>\n");
    for (number, run) in runs.iter().enumerate() {
        let bits = run.form.bits;
        let (load, store) = match bits {
            128 => ("_mm_loadu_si128((const __m128i *)(p", "_mm_storeu_si128((__m128i *)(q"),
            256 => ("_mm256_loadu_si256((const __m256i *)(p", "_mm256_storeu_si256((__m256i *)(q"),
            _ => ("_mm512_loadu_si512((const void *)(p", "_mm512_storeu_si512((void *)(q"),
        };
        let bytes = bits / 8;
        let _ = writeln!(
            text,
            "__attribute__((target(\"{}\"))) static void f{number}(const unsigned char *p, unsigned char *q) {{\n  \
             for (int i = 0; i < {CASES}; i++)\n    {store} + {bytes} * i), {}(",
            run.form.features.join(","),
            run.form.intrinsic
        );
        let mut registers = 0;
        for (position, operand) in run.description.operands.iter().enumerate() {
            text.push_str(if position == 0 { "" } else { ", " });
            if operand.immediate {
                let _ = write!(text, "{}", run.constant.unwrap_or(0));
            } else {
                let _ = write!(text, "{load} + {bytes} * ({registers} * {CASES} + i)))");
                registers += 1;
            }
        }
        text.push_str("));\n}\n");
    }
    text.push_str("int main(void) {\n  static unsigned char p[1 << 16], q[1 << 16];\n");
    for (number, run) in runs.iter().enumerate() {
        let given = run.operands.iter().map(Vec::len).sum::<usize>();
        let result = CASES * run.form.bits as usize / 8;
        let _ = writeln!(
            text,
            "  if (fread(p, 1, {given}, stdin) != {given}) return 1;\n  f{number}(p, q);\n  \
             if (fwrite(q, 1, {result}, stdout) != {result}) return 1;"
        );
    }
    text.push_str("  return 0;\n}\n");
    text
}

fn on_the_machine(runs: &[Run], compiler: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, binary) = (folder.path().join("run.c"), folder.path().join("run"));
    std::fs::write(&source, program(runs)).expect("written");
    let output = Command::new(compiler).arg("-O1").arg("-o").arg(&binary).arg(&source).output().expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut child =
        Command::new(&binary).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
    let given: Vec<u8> = runs.iter().flat_map(|run| run.operands.concat()).collect();
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(&given));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("it was written").expect("all was read");
    assert!(output.status.success());
    output.stdout
}

fn interpreted(run: &Run) -> Vec<u8> {
    let parameters = match &run.description.parameter {
        Some(name) => vec![(name.clone(), (run.form.bits / 8).to_string())],
        None => Vec::new(),
    };
    let network = meaning(&run.description.name, &parameters).expect("it elaborates");
    let wide = if run.description.parameter.is_some() { run.form.bits } else { run.description.result.bits() };
    let firings = CASES * (run.form.bits / wide) as usize;
    let mut engine = Interpreter::new(network, Options::default()).expect("it runs");
    let mut left: Vec<Vec<u8>> = Vec::new();
    let mut registers = run.operands.iter();
    for operand in &run.description.operands {
        left.push(match operand.immediate {
            true => vec![run.constant.unwrap_or(0); firings],
            false => registers.next().expect("one for each").clone(),
        });
    }
    let mut result = Vec::new();
    loop {
        let mut moved = 0;
        for (input, tokens) in left.iter_mut().enumerate() {
            let size = (run.description.operands[input].token_bits as usize).div_ceil(8);
            moved += tokens.drain(..engine.write(input, tokens) * size).count();
        }
        engine.run(None, &mut CollectingHost::default()).expect("no trap");
        moved += engine.read(0, &mut result);
        if moved == 0 {
            return result;
        }
    }
}

#[test]
fn meanings_are_what_the_machine_does() {
    let descriptions = descriptions().expect("all are usable");
    let Some(compiler) =
        ["cc", "gcc", "clang"].into_iter().find(|name| Command::new(name).arg("--version").output().is_ok())
    else {
        eprintln!("not run: no C compiler");
        return;
    };
    let runs = runs(&descriptions);
    let done = on_the_machine(&runs, compiler);
    let mut rest = &done[..];
    for run in &runs {
        let (result, after) = rest.split_at(CASES * run.form.bits as usize / 8);
        rest = after;
        assert_eq!(interpreted(run), result, "{} with constant {:?}", run.form.intrinsic, run.constant);
    }
    let tried: std::collections::BTreeSet<&str> = runs.iter().map(|run| run.form.intrinsic.as_str()).collect();
    let forms: usize = descriptions.iter().map(|description| description.forms.len()).sum();
    println!("{} of {forms} forms, {} runs of {CASES}", tried.len(), runs.len());
}

#[test]
fn descriptions_are_complete() {
    for description in descriptions().expect("all are usable") {
        assert!(!description.forms.is_empty(), "{}", description.name);
        assert!(description.forms.windows(2).all(|pair| pair[0].bits < pair[1].bits), "{}", description.name);
        for form in &description.forms {
            assert!(form.bits.is_multiple_of(description.result.bits()), "{}", form.intrinsic);
        }
    }
    assert!(headrace_instructions::description("no such instruction").is_err());
}
