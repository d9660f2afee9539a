//! What LLVM makes of an instruction is what C makes of its intrinsic: both are compiled and run on this machine.

use super::module::module;
use crate::layout::array_bytes;
use headrace_instructions::{descriptions, features, registers};
use headrace_program::{
    FeatureSet, FeatureSetId, Function, FunctionId, Instruction, Interface, Module, Place, Record, RecordId, Stmt,
    Type, Variable, VariableId, VariableKind, VectorOperand, VectorStmt,
};
use std::fmt::Write as _;
use std::process::Command;

/// Bytes of the widest register.
const WIDE: u32 = 64;

/// What an instruction is tried with.
struct Trial {
    instruction: Instruction,
    n_registers: usize,
    constant: Option<u8>,
    features: Vec<String>,
}

/// Constants that mean something for every width, and something else each.
const CONSTANTS: [u8; 3] = [0, 1, 17];

/// How many registers an operation on whole registers takes, and which constants, if it takes one.
fn operands(name: &str) -> (usize, &'static [u8]) {
    match name {
        "left64" | "right64" => (1, &[1, 19, 63]),
        "left_bytes" | "right_bytes" => (1, &[0, 3, 15]),
        "align" => (2, &[0, 5, 16]),
        "multiply" => (2, &CONSTANTS),
        "affine" => (2, &CONSTANTS),
        "select_parts" => (2, &[0x20, 0x31, 0x13]),
        "multiply_add_low52" | "multiply_add_high52" => (3, &[]),
        _ => (2, &[]),
    }
}

fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut add =
        |name: &str, bits: u32, intrinsic: &str, n_registers: usize, constants: &[u8], features: Vec<String>| {
            let own = registers::features(bits).iter().map(|&name| name.to_owned());
            let features: Vec<String> = own.chain(features).collect();
            let constants: Vec<Option<u8>> = match constants {
                [] => vec![None],
                constants => constants.iter().copied().map(Some).collect(),
            };
            for constant in constants {
                let instruction = Instruction { name: name.to_owned(), bits, intrinsic: intrinsic.to_owned() };
                trials.push(Trial { instruction, n_registers, constant, features: features.clone() });
            }
        };
    for description in descriptions().expect("they are usable") {
        let immediate = description.operands.iter().find(|operand| operand.immediate);
        let n_registers = description.operands.iter().filter(|operand| !operand.immediate).count();
        let constants: &[u8] = match immediate.map(|operand| operand.bits()) {
            None => &[],
            Some(..4) => &[0, 1, 3],
            Some(_) => &CONSTANTS,
        };
        for form in &description.forms {
            add(&description.name, form.bits, &form.intrinsic, n_registers, constants, form.features.clone());
        }
    }
    for (name, intrinsics) in registers::all() {
        let (n_registers, constants) = operands(name);
        let more = ["avx512f", "avx512ifma", "avx512vl", "gfni", "pclmul", "vpclmulqdq"].map(str::to_owned).to_vec();
        for (bits, intrinsic) in [128, 256, 512].into_iter().zip(intrinsics).filter(|(_, name)| !name.is_empty()) {
            add(name, bits, intrinsic, n_registers, constants, more.clone());
        }
    }
    trials
}

/// A function that applies an instruction to the first bytes of arrays.
fn function(at: usize, trial: &Trial) -> Function {
    let bits = trial.instruction.bits;
    let mut variables = vec![Variable { name: "context".to_owned(), kind: VariableKind::Record(RecordId(0)) }];
    let array = |mutable| VariableKind::Reference { element: Type::U8, len: WIDE, mutable };
    for name in ["to", "a", "b", "c"] {
        variables.push(Variable { name: name.to_owned(), kind: array(name == "to") });
    }
    let parameters = (0..5).map(VariableId).collect();
    let mut body = Vec::new();
    let mut register = |name: &str| {
        variables.push(Variable { name: name.to_owned(), kind: VariableKind::Vector(bits) });
        VariableId(variables.len() as u32 - 1)
    };
    let start = || headrace_program::Expr::u32(0);
    let mut operands = Vec::new();
    for number in 0..trial.n_registers {
        let to = register(&format!("r{number}"));
        let place = Place::variable(VariableId(2 + number as u32));
        body.push(Stmt::Vector(VectorStmt::Load { to, place, index: start() }));
        operands.push(VectorOperand::Register(to));
    }
    operands.extend(trial.constant.map(VectorOperand::Immediate));
    let result = register("result");
    body.push(Stmt::Vector(VectorStmt::Apply { to: result, instruction: at as u32, operands }));
    let place = Place::variable(VariableId(1));
    body.push(Stmt::Vector(VectorStmt::Store { place, index: start(), from: result }));
    let features = Some(FeatureSetId(at as u32));
    Function { name: format!("trial_{at}"), about: String::new(), variables, parameters, result: None, features, body }
}

/// A program that compares all results with those of C; it ends with 4 where the machine lacks an instruction.
fn comparison(trials: &[Trial]) -> String {
    let mut text = "#include <immintrin.h>\n#include <stdio.h>\n#include <string.h>\n\
                    static _Alignas(64) unsigned char a[64], b[64], c[64], got[64], wanted[64];\nstatic int wrong;\n"
        .to_owned();
    let mut calls = String::new();
    for (at, Trial { instruction: Instruction { bits, intrinsic, .. }, n_registers, constant, features }) in
        trials.iter().enumerate()
    {
        let ty = crate::vector::register_type(*bits);
        let loaded: Vec<String> = ["a", "b", "c"][..*n_registers]
            .iter()
            .map(|name| format!("{}((const {ty} *){name})", crate::vector::load(*bits)))
            .chain(constant.map(|constant| constant.to_string()))
            .collect();
        let _ = write!(
            text,
            "void trial_{at}(void *context, unsigned char *to, const unsigned char *a, const unsigned char *b, const unsigned char *c) \
             __asm__(\"t_trial_{at}\");\n__attribute__((target(\"{}\"))) static void try_{at}(void) {{\n    \
             {}(({ty} *)wanted, {intrinsic}({}));\n    trial_{at}(a, got, a, b, c);\n    \
             if (memcmp(got, wanted, {}) != 0) {{\n        printf(\"{intrinsic} {constant:?}\\n\");\n        wrong = 1;\n    }}\n}}\n",
            features.join(","),
            crate::vector::store(*bits),
            loaded.join(", "),
            bits / 8
        );
        let _ = writeln!(calls, "    try_{at}();");
    }
    format!(
        "{text}int main(void) {{\n    unsigned state = 1;\n    for (int round = 0; round < 20; round++) {{\n        \
         for (int i = 0; i < 64; i++) {{\n            state = state * 1664525u + 1013904223u;\n            a[i] = state >> 24;\n            \
         b[i] = state >> 16;\n            c[i] = state >> 8 ^ state >> 20;\n        }}\n{calls}    }}\n    return wrong;\n}}\n"
    )
}

/// Whether this machine has all of the features.
fn are_here(trials: &[Trial]) -> bool {
    let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags: Vec<&str> =
        flags.lines().find(|line| line.starts_with("flags")).unwrap_or("").split_whitespace().collect();
    let has = |name: &String| {
        let own = match name.as_str() {
            "sse4.1" => "sse4_1",
            "pclmul" => "pclmulqdq",
            "sha" => "sha_ni",
            other => other,
        };
        flags.iter().any(|flag| *flag == own || *flag == own.replace("avx512v", "avx512_v"))
    };
    trials.iter().flat_map(|trial| &trial.features).all(|name| features::bit(name).is_some() && has(name))
}

#[test]
fn instructions_do_in_llvm_what_they_do_in_c() {
    let trials = trials();
    let clang = ["clang-19", "clang-18", "clang-17", "clang-16"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok());
    let Some(clang) = clang.filter(|_| cfg!(all(target_arch = "x86_64", target_os = "linux"))) else {
        eprintln!("not run: no clang for x86-64");
        return;
    };
    let mut functions: Vec<Function> = trials.iter().enumerate().map(|(at, trial)| function(at, trial)).collect();
    let nothing = Function {
        name: "nothing".to_owned(),
        about: String::new(),
        variables: functions[0].variables[..1].to_vec(),
        parameters: vec![VariableId(0)],
        result: None,
        features: None,
        body: Vec::new(),
    };
    functions.push(nothing);
    let nothing = FunctionId(trials.len() as u32);
    // Each is called from outside.
    let output = |at: usize| headrace_program::Output {
        name: String::new(),
        element: Type::U8,
        words: 1,
        read: FunctionId(at as u32),
        waiting: nothing,
    };
    let field = headrace_program::Field {
        name: "any".to_owned(),
        ty: headrace_program::FieldType::Array(Type::U8, WIDE),
        about: String::new(),
    };
    let printed = Module {
        name: "trials".to_owned(),
        records: vec![Record { name: "Context".to_owned(), about: String::new(), fields: vec![field] }],
        tables: Vec::new(),
        texts: Vec::new(),
        natives: Vec::new(),
        features: trials
            .iter()
            .map(|trial| FeatureSet { architecture: "x86_64", names: trial.features.clone() })
            .collect(),
        instructions: trials.iter().map(|trial| trial.instruction.clone()).collect(),
        functions,
        interface: Interface {
            context: RecordId(0),
            init: nothing,
            run: nothing,
            lacks_room: nothing,
            inputs: Vec::new(),
            outputs: (0..trials.len()).map(output).collect(),
            streams: Vec::new(),
        },
    };
    assert_eq!(array_bytes(Type::U8, WIDE), WIDE);
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("it is writable");
    write("trials.ll", &module("", &printed, "t", Some("x86_64")));
    write("compare.c", &comparison(&trials));
    let mut compile = Command::new(clang);
    compile.current_dir(folder.path()).args(["-O1", "-Wno-override-module", "trials.ll", "compare.c", "-o", "compare"]);
    let output = compile.output().expect("clang starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    if !are_here(&trials) {
        eprintln!("not run, but compiled: this machine lacks some of the instructions");
        return;
    }
    let output = Command::new(folder.path().join("compare")).output().expect("it starts");
    assert!(output.status.success(), "{}{}", output.status, String::from_utf8_lossy(&output.stdout));
}
