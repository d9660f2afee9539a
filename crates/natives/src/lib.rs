//! Native procedures: functions and procedures without a body, which the platform supplies.
//!
//! One [`Native`] a procedure: its name, its signature and what it does. As in the tools that the published programs were
//! written for, a native is bound by its bare name, whatever unit or actor declares it; [`check`] holds the declarations
//! of a network against the table.
//!
//! Scalars are converted to the types of the table on the way in ([`Word::convert`]) and to the declared type of the
//! result on the way out. Every engine calls the same functions: the interpreter directly, generated C through the
//! callback of its host, which finds the row by its bare name.
//!
//! How reals are shown is [`format_real`], which is part of the representation.

mod compare;
mod display;
mod image;
mod simulation;
mod sound;
mod source;
mod writer;

pub use headrace_ir::real::{self, format_real};

pub use headrace_engine::Argument;

use headrace_engine::Host;
use headrace_ir::{IntType, Network, Scalar, Type};
use headrace_source::Diagnostic;
use std::collections::HashSet;

/// The type of a scalar parameter or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// `bool`
    Bool,
    /// `uint(size=8)`
    Uint8,
    /// `int(size=16)`
    Int16,
    /// `int(size=32)`
    Int32,
    /// `uint(size=32)`
    Uint32,
}

impl Word {
    /// The type in CAL.
    pub fn scalar(self) -> Scalar {
        match self {
            Word::Bool => Scalar::Bool,
            Word::Uint8 => Scalar::Int(IntType::unsigned(8)),
            Word::Int16 => Scalar::Int(IntType::signed(16)),
            Word::Int32 => Scalar::Int(IntType::signed(32)),
            Word::Uint32 => Scalar::Int(IntType::unsigned(32)),
        }
    }

    /// A value as it is after conversion to this type.
    pub fn convert(self, value: i64) -> i64 {
        match self {
            Word::Bool => i64::from(value != 0),
            Word::Uint8 => i64::from(value as u8),
            Word::Int16 => i64::from(value as i16),
            Word::Int32 => i64::from(value as i32),
            Word::Uint32 => i64::from(value as u32),
        }
    }

    fn accepts(self, declared: Scalar) -> bool {
        match self {
            Word::Bool => declared == Scalar::Bool,
            _ => matches!(declared, Scalar::Int(int) if int.width <= 64),
        }
    }
}

/// A parameter of a native.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// A scalar by value. A declaration may have another width or signedness.
    Scalar(&'static str, Word),
    /// A list of integers of 8 bits, of any length and dimensions, by reference, which the native reads.
    Bytes(&'static str),
    /// The same, which the native writes.
    Room(&'static str),
    /// A list that the native leaves alone, of any kind.
    Unused(&'static str),
}

impl Parameter {
    /// True when the native may write what is passed.
    pub fn is_written(self) -> bool {
        matches!(self, Parameter::Room(_))
    }
}

/// Why a native does not return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It ends the program with this status.
    Exit(i32),
    /// It cannot do its work.
    Error(String),
}

impl From<String> for Stop {
    fn from(message: String) -> Self {
        Stop::Error(message)
    }
}

/// What natives remember between calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    source_position: usize,
    source_loops_done: u32,
    golden_position: usize,
    pictures_compared: u64,
}

/// What a native does: gives its result, or 0 when it has none.
pub type Call = for<'a> fn(&mut Session, &mut dyn Host, &mut [Argument<'a>]) -> Result<i64, Stop>;

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Native {
    /// The unit that declares it in the library that ships with the compiler.
    pub unit: &'static str,
    /// Its name, by which it is bound.
    pub name: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
    /// Type of the result, for functions.
    pub result: Option<Word>,
    /// What it does.
    pub call: Call,
}

impl Native {
    /// The signature in CAL.
    pub fn cal_signature(&self) -> String {
        let parameters: Vec<String> = self
            .parameters
            .iter()
            .map(|parameter| match parameter {
                Parameter::Scalar(name, word) => format!("{} {name}", word.scalar()),
                Parameter::Bytes(name) | Parameter::Room(name) => format!("List(type:uint(size=8), size=…) {name}"),
                Parameter::Unused(name) => format!("List(type:…, size=…) {name}"),
            })
            .collect();
        let parameters = parameters.join(", ");
        match self.result {
            Some(word) => format!("function {}({parameters}) --> {}", self.name, word.scalar()),
            None => format!("procedure {}({parameters})", self.name),
        }
    }

    /// True when a declaration with these types can be bound to this row.
    pub fn accepts(&self, parameters: &[Type], result: Option<Scalar>) -> bool {
        parameters.len() == self.parameters.len()
            && parameters.iter().zip(self.parameters).all(|(declared, parameter)| match parameter {
                Parameter::Scalar(_, word) => !declared.is_list() && word.accepts(declared.element),
                Parameter::Bytes(_) | Parameter::Room(_) => {
                    declared.is_list() && matches!(declared.element, Scalar::Int(int) if int.width <= 8)
                }
                Parameter::Unused(_) => declared.is_list() && declared.element != Scalar::String,
            })
            && match (self.result, result) {
                (None, None) => true,
                (Some(word), Some(declared)) => word.accepts(declared),
                _ => false,
            }
    }
}

/// All natives, sorted by unit and name.
pub fn table() -> impl Iterator<Item = &'static Native> {
    [
        source::NATIVES,
        writer::NATIVES,
        compare::NATIVES,
        display::NATIVES,
        image::NATIVES,
        sound::NATIVES,
        simulation::NATIVES,
    ]
    .into_iter()
    .flatten()
}

/// The row to which a native is bound. Only the last component of a qualified name counts.
pub fn find(name: &str) -> Option<&'static Native> {
    let bare = bare_name(name);
    table().find(|native| native.name == bare)
}

/// The last component of a qualified name, by which natives are bound.
pub fn bare_name(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Every native that the network declares and that cannot be bound. Natives that the user supplies, by their bare names, need
/// none of the table; what cannot be handed to C at all is refused of these. Actors without a body are never supplied.
pub fn check(network: &Network, supplied: &[String]) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut seen = HashSet::new();
    for actor in &network.actors {
        let is_native = actor.annotations.iter().any(|annotation| annotation.name == "native");
        if is_native && actor.actions.is_empty() && seen.insert((actor.span, &actor.class)) {
            diagnostics.push(
                Diagnostic::error("unknown-native", format!("no platform supplies the native actor `{}`", actor.class))
                    .at(actor.span, "declared here without actions")
                    .help("the actors of `std.io` read and write files"),
            );
        }
    }
    for native in network.actors.iter().flat_map(|actor| &actor.natives) {
        if !seen.insert((native.span, &native.name)) {
            continue;
        }
        let name = bare_name(&native.name);
        if supplied.iter().any(|other| other == name) {
            if native.parameters.iter().map(|ty| ty.element).chain(native.result).any(is_too_wide) {
                diagnostics.push(
                    Diagnostic::error(
                        "native-signature",
                        format!(
                            "the native `{}` has integers of more than 64 bits, which C does not have",
                            native.name
                        ),
                    )
                    .at(native.span, "declared here"),
                );
            }
            continue;
        }
        match find(name) {
            None => diagnostics.push(
                Diagnostic::error("unknown-native", format!("no platform supplies the native `{}`", native.name))
                    .at(native.span, "declared here without a body")
                    .help(
                        "`headrace run --natives FILE.c` supplies it as a C function, which --natives-header declares",
                    ),
            ),
            Some(row) if !row.accepts(&native.parameters, native.result) => diagnostics.push(
                Diagnostic::error(
                    "native-signature",
                    format!("the native `{}` is not declared as the platform supplies it", native.name),
                )
                .at(native.span, "its types differ")
                .note(format!("it is `{}`", row.cal_signature())),
            ),
            Some(_) => {}
        }
    }
    diagnostics
}

fn is_too_wide(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Int(int) if int.width > 64)
}

fn scalar(arguments: &[Argument<'_>], at: usize) -> Result<i64, Stop> {
    match arguments.get(at) {
        Some(Argument::Scalar(value)) => Ok(*value),
        _ => Err(Stop::Error(format!("argument {at} of a native is not a scalar"))),
    }
}

fn bytes<'s>(arguments: &'s mut [Argument<'_>], at: usize) -> Result<&'s mut [u8], Stop> {
    match arguments.get_mut(at) {
        Some(Argument::Bytes(list)) => Ok(list),
        _ => Err(Stop::Error(format!("argument {at} of a native is not a list of bytes"))),
    }
}

fn count(arguments: &[Argument<'_>], at: usize) -> Result<usize, Stop> {
    let value = scalar(arguments, at)?;
    usize::try_from(value).map_err(|_| Stop::Error(format!("a native cannot take {value} bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_engine::CollectingHost;

    fn call(
        name: &str,
        session: &mut Session,
        host: &mut CollectingHost,
        arguments: &mut [Argument<'_>],
    ) -> Result<i64, Stop> {
        (find(name).expect("in the table").call)(session, host, arguments)
    }

    #[test]
    fn names_are_unique() {
        let mut names = HashSet::new();
        assert!(table().all(|native| names.insert(native.name)));
        assert!(table().count() > 15);
    }

    #[test]
    fn binds_by_bare_name() {
        assert_eq!(find("some.where.Source.source_readByte").map(|row| row.name), Some("source_readByte"));
        assert!(find("source_readBytes").is_none());
    }

    #[test]
    fn accepts_other_widths_but_not_other_kinds() {
        let row = find("source_readNBytes").expect("in the table");
        let list = Type::list(Scalar::Int(IntType::unsigned(8)), vec![4]);
        let count = Type::scalar(Scalar::Int(IntType::unsigned(12)));
        assert!(row.accepts(&[list.clone(), count.clone()], None));
        assert!(!row.accepts(&[list.clone(), Type::scalar(Scalar::Bool)], None));
        assert!(!row.accepts(&[Type::list(Scalar::Int(IntType::unsigned(16)), vec![4]), count.clone()], None));
        assert!(row.accepts(&[Type::list(Scalar::Int(IntType::signed(8)), vec![2, 4]), count.clone()], None));
        assert!(!row.accepts(&[list], None));
        assert!(!row.accepts(&[count.clone(), count], Some(Scalar::Bool)));
    }

    #[test]
    fn reads_the_source_and_starts_over() {
        let mut session = Session::default();
        let mut host = CollectingHost { source: vec![1, 2, 3], ..CollectingHost::default() };
        assert_eq!(call("source_init", &mut session, &mut host, &mut []), Ok(0));
        assert_eq!(call("source_sizeOfFile", &mut session, &mut host, &mut []), Ok(3));
        assert_eq!(call("source_readByte", &mut session, &mut host, &mut []), Ok(1));
        let mut room = [9; 4];
        let mut arguments = [Argument::Bytes(&mut room), Argument::Scalar(2)];
        assert_eq!(call("source_readNBytes", &mut session, &mut host, &mut arguments), Ok(0));
        assert_eq!(arguments[0], Argument::Bytes(&mut [2, 3, 9, 9]));
        assert!(matches!(
            call("source_readNBytes", &mut session, &mut host, &mut arguments),
            Err(Stop::Error(message)) if message.contains("2 bytes")
        ));
        assert_eq!(call("source_readByte", &mut session, &mut host, &mut []), Ok(1));
        assert_eq!(call("source_rewind", &mut session, &mut host, &mut []), Ok(0));
        assert_eq!(call("source_readByte", &mut session, &mut host, &mut []), Ok(1));
        assert_eq!(call("source_exit", &mut session, &mut host, &mut [Argument::Scalar(7)]), Err(Stop::Exit(7)));
    }

    #[test]
    fn compares_with_the_golden_file() {
        let mut session = Session::default();
        let mut host = CollectingHost { golden: vec![1, 2, 3, 4], ..CollectingHost::default() };
        let mut equal = [1, 2];
        let mut good = [Argument::Bytes(&mut equal), Argument::Scalar(2)];
        assert_eq!(call("compare_NBytes", &mut session, &mut host, &mut good), Ok(0));
        let mut bad = [Argument::Scalar(9)];
        assert_eq!(call("compare_readByte", &mut session, &mut host, &mut bad), Err(Stop::Exit(1)));
        assert_eq!(host.complaints, ["byte 2 is 0x09 and the golden file has 0x03"]);
    }
}
