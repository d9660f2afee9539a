//! Instructions of machines as data.
//!
//! A description is two files in `descriptions`. `NAME.cal` says what the instruction means: an actor whose one firing
//! has the operands as tokens (the lowest bits of a register first) in the order in which C passes them, and the
//! result. `NAME.toml` says how it is used:
//!
//! ```toml
//! commutative = [["A", "B"]]      # operands that can be exchanged, if there are some
//! immediate = "Immediate"         # the operand that must be a constant, if there is one
//! parameter = "BYTES"             # of the actor, if the instruction works on whole registers: their bytes
//!
//! [[form]]                        # one for each width of registers
//! bits = 128
//! intrinsic = "_mm_aesenc_si128"  # of C, and of Rust
//! features = ["aes"]              # that a machine must have, by the names that C compilers give them
//! ```
//!
//! A wider form does in each part of its registers what the actor does, unless it has a parameter. The tests run every
//! form of every description on the machine beside the interpreter. What an instruction takes stands with the cost models
//! of machines (`crates/machines`), under its name.

pub mod features;
pub mod llvm;
mod meaning;
pub mod registers;

pub use meaning::{choice, graph};

use headrace_frontend::{Session, SourceKind, SourceProvider, SourceText, Top, elaborate};
use headrace_ir::{Network, Scalar};
use headrace_source::Diagnostic;
use serde::Deserialize;

static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

const FOLDER: &str = "crates/instructions/descriptions/";
const PACKAGE: &str = "crates.instructions.descriptions";

/// How an instruction is used with registers of one width.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// Width of the registers.
    pub bits: u32,
    /// What C and Rust call it.
    pub intrinsic: String,
    /// What a machine must have, by the names that C compilers give it.
    pub features: Vec<String>,
    /// Whether it has only an encoding from before AVX: it takes hundreds of cycles on some machines while the upper
    /// halves of vector registers are in use (Intel 64 and IA-32 Architectures Optimization Reference Manual, «Mixing
    /// AVX Code with SSE Code»; measured with SHA-256 on such a machine).
    #[serde(default)]
    pub legacy: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Use {
    #[serde(default)]
    commutative: Vec<(String, String)>,
    immediate: Option<String>,
    parameter: Option<String>,
    #[serde(rename = "form")]
    forms: Vec<Form>,
}

/// An operand or the result: tokens of one firing, the lowest bits first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Name of the port.
    pub name: String,
    /// Bits of a token.
    pub token_bits: u32,
    /// Number of tokens.
    pub n_tokens: u32,
    /// Whether it must be a constant.
    pub immediate: bool,
}

impl Operand {
    /// Bits in all.
    pub fn bits(&self) -> u32 {
        self.token_bits * self.n_tokens
    }
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Description {
    /// Its name.
    pub name: String,
    /// What is passed to it, in order.
    pub operands: Vec<Operand>,
    /// What it gives.
    pub result: Operand,
    /// Positions of operands that can be exchanged.
    pub commutative: Vec<(usize, usize)>,
    /// Parameter of the actor that is the number of bytes of a register.
    pub parameter: Option<String>,
    /// How it is used with registers of each width, the narrowest first.
    pub forms: Vec<Form>,
    /// What it means, with registers of 128 bits.
    pub meaning: Network,
}

/// Why a description cannot be used.
#[derive(Clone, Debug)]
pub struct Unusable {
    /// The instruction.
    pub name: String,
    /// What is wrong, for readers.
    pub problem: String,
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "description of {}: {}", self.name, self.problem)
    }
}

struct Packed;

impl SourceProvider for Packed {
    fn find(&self, name: &str) -> Result<Option<SourceText>, String> {
        let path = format!("{}.cal", name.replace('.', "/"));
        let file = FILES.iter().find(|(other, _)| *other == path);
        Ok(file.map(|(path, text)| SourceText {
            display: (*path).to_owned(),
            text: (*text).to_owned(),
            kind: SourceKind::Cal,
        }))
    }

    fn similar(&self, _name: &str) -> Vec<String> {
        Vec::new()
    }

    fn places(&self) -> Vec<String> {
        vec!["descriptions of instructions".to_owned()]
    }
}

/// Names of all instructions, in alphabetical order.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().filter_map(|(path, _)| path.strip_prefix(FOLDER)?.strip_suffix(".toml"))
}

/// All descriptions, in alphabetical order.
///
/// # Errors
///
/// The first that is wrong; tests see to it that none is.
pub fn descriptions() -> Result<Vec<Description>, Unusable> {
    names().map(description).collect()
}

/// A description by name.
///
/// # Errors
///
/// What is wrong with it, or that there is none.
pub fn description(name: &str) -> Result<Description, Unusable> {
    let wrong = |problem: String| Unusable { name: name.to_owned(), problem };
    let path = format!("{FOLDER}{name}.toml");
    let text = FILES.iter().find(|(other, _)| *other == path).ok_or_else(|| wrong("there is none".to_owned()))?.1;
    let used: Use = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let meaning = meaning(name, &[]).map_err(|problems| {
        wrong(problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>().join("; "))
    })?;
    let [instance] = &meaning.instances[..] else { return Err(wrong("its meaning is not one actor".to_owned())) };
    let actor = &meaning.actors[instance.actor.0 as usize];
    let [action] = &actor.actions[..] else { return Err(wrong("its meaning is not one action".to_owned())) };
    let bits = |ty: Scalar| ty.as_int().map(|int| int.width).ok_or_else(|| wrong("a port has no bits".to_owned()));
    let mut operands = Vec::new();
    for (port, declared) in actor.inputs.iter().enumerate() {
        let n_tokens: u64 =
            action.consumes.iter().filter(|pattern| pattern.port == port).map(|pattern| pattern.tokens()).sum();
        operands.push(Operand {
            name: declared.name.to_string(),
            token_bits: bits(declared.ty)?,
            n_tokens: n_tokens as u32,
            immediate: used.immediate.as_deref() == Some(&*declared.name),
        });
    }
    let ([declared], [output]) = (&actor.outputs[..], &action.produces[..]) else {
        return Err(wrong("its meaning has more than one result".to_owned()));
    };
    let result = Operand {
        name: declared.name.to_string(),
        token_bits: bits(declared.ty)?,
        n_tokens: output.tokens() as u32,
        immediate: false,
    };
    let position = |name: &String| {
        let found = operands.iter().position(|operand| operand.name == *name);
        found.ok_or_else(|| wrong(format!("there is no operand {name}")))
    };
    let commutative =
        used.commutative.iter().map(|(a, b)| Ok((position(a)?, position(b)?))).collect::<Result<_, Unusable>>()?;
    if let Some(immediate) = &used.immediate {
        position(immediate)?;
    }
    Ok(Description {
        name: name.to_owned(),
        operands,
        result,
        commutative,
        parameter: used.parameter,
        forms: used.forms,
        meaning,
    })
}

/// What an instruction means, with parameters as (name, expression).
///
/// # Errors
///
/// What the front end said.
pub fn meaning(name: &str, parameters: &[(String, String)]) -> Result<Network, Vec<Diagnostic>> {
    let mut session = Session::new();
    let top = Top::Name(format!("{PACKAGE}.{name}"));
    elaborate(&mut session, &Packed, &top, parameters).ok_or_else(|| session.take_diagnostics())
}
