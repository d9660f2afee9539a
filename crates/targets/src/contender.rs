//! How projects take part in measurements: what stands beside the project of one operation, so that it processes one message
//! after another through the interface that its users have, and what builds that.
//!
//! Languages that link with C become shared objects with the functions of `bench/peers/peer.h`. The others become programs
//! that do what their standard input says (`bench/contenders/README.md`). Both may include what lies in those folders.

use crate::operation::{Function, Parameter, functions, parameters};
use crate::project::Files;
use crate::toolchain::Step;
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;

/// The folder of the project, beside the rest.
pub const PROJECT: &str = "project";

/// How projects of a target take part.
#[derive(Clone, Copy, Debug)]
pub struct Contender {
    /// What stands beside the project.
    pub files: fn(&Subject<'_>) -> Result<Files, String>,
    /// What builds both.
    pub build: fn(&Subject<'_>) -> Vec<Step>,
    /// What is there then.
    pub made: Made,
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The operation.
    pub spec: &'a OperationSpec,
    /// The files of its project.
    pub project: &'a Files,
    /// The command for each tool of the first toolchain of the target.
    pub tools: &'a [String],
}

impl Subject<'_> {
    /// The command for a tool, by its number.
    pub(crate) fn tool(&self, number: usize) -> &str {
        self.tools.get(number).map_or("", String::as_str)
    }

    /// The files of the project with one of these endings, where they lie.
    pub(crate) fn sources(&self, below: &str, endings: &[&str]) -> Vec<String> {
        let wanted = |path: &&String| path.starts_with(below) && endings.iter().any(|ending| path.ends_with(ending));
        self.project.keys().filter(wanted).map(|path| format!("{PROJECT}/{path}")).collect()
    }
}

/// What building gives.
#[derive(Clone, Copy, Debug)]
pub enum Made {
    /// A shared object, at this path.
    Object(&'static str),
    /// A program, to be started by this.
    Program(fn(&Subject<'_>) -> Step),
}

/// What a whole message of an operation is given, in the order of its strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// The initial block or nonce.
    Iv,
    /// The input.
    Input,
    /// Room for what comes out.
    Output,
}

/// The strings of whole messages, for operations that take a key, an initial block or nonce and an input, and give one
/// string.
///
/// # Errors
///
/// Why the operation is none of these.
pub(crate) fn arguments<'s>(spec: &'s OperationSpec) -> Result<Vec<(Argument, Parameter<'s>)>, String> {
    if !functions(spec).contains(&Function::Message) {
        return Err(format!("`{}` has no whole messages", spec.full_name()));
    }
    let argument = |parameter: Parameter<'s>| {
        let kind = match parameter.port.role {
            Role::Iv | Role::Nonce => Argument::Iv,
            Role::Input => Argument::Input,
            Role::Output | Role::Tag => Argument::Output,
            other => return Err(format!("`{}` has a string `{}` too", spec.full_name(), other.name())),
        };
        Ok((kind, parameter))
    };
    let listed: Vec<_> = parameters(spec, Function::Message).into_iter().map(argument).collect::<Result<_, _>>()?;
    let count = |kind: Argument| listed.iter().filter(|(other, _)| *other == kind).count();
    if count(Argument::Iv) > 1 || count(Argument::Input) != 1 || count(Argument::Output) != 1 {
        return Err(format!("`{}` gives several strings", spec.full_name()));
    }
    Ok(listed)
}

/// The arguments of a function, in words of the language.
pub(crate) fn call(spec: &OperationSpec, word: impl Fn(Argument) -> &'static str) -> Result<String, String> {
    let words: Vec<&str> = arguments(spec)?.into_iter().map(|(kind, _)| word(kind)).collect();
    Ok(words.join(", "))
}
