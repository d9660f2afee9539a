//! What came out of a comparison, in a form that survives a pipe between processes.

use std::fmt;

/// Kinds of outcomes. All but [`Kind::Agrees`] are failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// All runs showed the same.
    Agrees,
    /// The front end refused a generated program.
    Refused,
    /// The interpreter refused the network that the front end made.
    Malformed,
    /// A run-time error in the interpreter.
    InterpreterTrap,
    /// The interpreter did not come to an end.
    InterpreterRunaway,
    /// Two firing orders or FIFO sizes of the interpreter differ.
    OrdersDiffer,
    /// The interpreter differs from itself in arbitrary precision.
    PrecisionDiffers,
    /// The C compiler refused the generated C.
    CompilerRefused,
    /// A run-time error in native code.
    NativeTrap,
    /// Native code did not come to an end.
    NativeRunaway,
    /// The interpreter and the native code differ.
    NativeDiffers,
    /// The process died: a panic, a signal or a sanitizer's finding.
    Crashed,
    /// The process took too long.
    TimedOut,
}

impl Kind {
    const ALL: [Self; 13] = [
        Self::Agrees,
        Self::Refused,
        Self::Malformed,
        Self::InterpreterTrap,
        Self::InterpreterRunaway,
        Self::OrdersDiffer,
        Self::PrecisionDiffers,
        Self::CompilerRefused,
        Self::NativeTrap,
        Self::NativeRunaway,
        Self::NativeDiffers,
        Self::Crashed,
        Self::TimedOut,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Refused => "refused",
            Self::Malformed => "malformed",
            Self::InterpreterTrap => "interpreter-trap",
            Self::InterpreterRunaway => "interpreter-runaway",
            Self::OrdersDiffer => "orders-differ",
            Self::PrecisionDiffers => "precision-differs",
            Self::CompilerRefused => "compiler-refused",
            Self::NativeTrap => "native-trap",
            Self::NativeRunaway => "native-runaway",
            Self::NativeDiffers => "native-differs",
            Self::Crashed => "crashed",
            Self::TimedOut => "timed-out",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What came out for one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The kind: a shrunk program has to keep it.
    pub kind: Kind,
    /// Further detail that a shrunk program has to keep: the slug of a diagnostic, the engine.
    pub mark: String,
    /// For people, one line.
    pub detail: String,
}

impl Verdict {
    /// A verdict; line ends in the detail become blanks.
    pub fn new(kind: Kind, mark: impl Into<String>, detail: impl Into<String>) -> Self {
        let detail: String = detail.into();
        Self { kind, mark: mark.into().replace([' ', '\n'], "-"), detail: detail.replace(['\n', '\r'], " ") }
    }

    /// All runs showed the same.
    pub fn agrees() -> Self {
        Self::new(Kind::Agrees, "-", "")
    }

    /// Whether this is a failure.
    pub fn fails(&self) -> bool {
        self.kind != Kind::Agrees
    }

    /// Whether a smaller program with this verdict is an example of `other`.
    pub fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind && self.mark == other.mark
    }

    /// Reads what [`fmt::Display`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.splitn(3, ' ');
        let kind = Kind::named(words.next()?)?;
        let mark = words.next()?.to_owned();
        Some(Self { kind, mark, detail: words.next().unwrap_or("").to_owned() })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.mark.is_empty() { "-" } else { &self.mark };
        write!(f, "{} {mark} {}", self.kind.name(), self.detail)
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Verdict};

    #[test]
    fn a_verdict_survives_being_printed() {
        for kind in Kind::ALL {
            let verdict = Verdict::new(kind, "a mark", "some\ndetail");
            assert_eq!(Verdict::parse(&verdict.to_string()), Some(verdict));
        }
        assert_eq!(Verdict::parse("nonsense - x"), None);
    }
}
