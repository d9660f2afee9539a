//! SIMD levels in C: which of them functions are printed for, how a function asks for one, and how a program finds out
//! whether it is there.

pub use headrace_machines::simd::Machine;

use headrace_machines::CostModel;
use headrace_machines::machines;
use headrace_machines::simd::{Architecture, Dispatch};

/// The levels of x86-64, the least first. The first runs wherever the compiler has vector extensions.
pub fn levels() -> &'static [Machine] {
    machines().levels(Architecture::X86_64)
}

/// The level of AArch64 that all have.
pub fn arm() -> Option<&'static Machine> {
    machines().levels(Architecture::Aarch64).first()
}

/// The level of x86-64 or AArch64 of a name.
pub fn named(name: &str) -> Option<&'static Machine> {
    levels().iter().chain(arm()).find(|machine| machine.name == name)
}

/// The levels that every loop is printed for that gains from them, the highest first.
pub fn for_every_loop() -> impl Iterator<Item = &'static Machine> {
    levels().iter().rev().filter(|machine| machine.dispatch == Dispatch::EveryLoop)
}

/// The level that loops of affine maps of bytes are printed for.
pub fn for_affine_maps() -> Option<&'static Machine> {
    levels().iter().rev().find(|machine| machine.dispatch == Dispatch::AffineMaps)
}

/// The least level with vectors of so many bits.
pub fn of_width(bits: u32) -> Option<&'static Machine> {
    levels().iter().find(|machine| machine.vector_bits == bits)
}

/// What operations take in functions that are for no level.
pub(super) fn usual_costs() -> &'static CostModel {
    machines().usual_costs()
}

/// What stands before a function that uses a level.
pub fn attribute(machine: &Machine) -> String {
    match machine.features.as_slice() {
        [] => String::new(),
        features => format!("__attribute__((target(\"{}\"))) ", features.join(",")),
    }
}

/// Features that not every compiler has a name for: register (0 is EBX, 1 is ECX) and bit of leaf 7 of `cpuid`.
const BY_CPUID: &[(&str, u32, u32)] = &[("sha", 0, 29), ("vaes", 1, 9)];

/// What a processor must have before a function is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Needs {
    /// Nothing: the function stands outside of what is for one architecture.
    Nothing,
    /// These features, if there are some, of the architecture that it is for.
    Features(Vec<String>),
}

impl Needs {
    /// These features.
    pub fn of<'a>(features: impl IntoIterator<Item = &'a (impl AsRef<str> + 'a + ?Sized)>) -> Needs {
        Needs::Features(features.into_iter().map(|feature| feature.as_ref().to_owned()).collect())
    }

    /// The features.
    pub fn features(&self) -> &[String] {
        match self {
            Needs::Nothing => &[],
            Needs::Features(features) => features,
        }
    }

    /// The same as a condition of the preprocessor, true where compilers use the features unasked; `None` where it has no name
    /// for one, or where there is nothing to ask.
    pub fn given(&self) -> Option<String> {
        let defined = |feature: &String| {
            let name = feature.to_ascii_uppercase().replace('.', "_");
            feature
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
                .then(|| format!("defined(__{name}__)"))
        };
        let all: Option<Vec<String>> = self.features().iter().map(defined).collect();
        all.filter(|all| !all.is_empty()).map(|all| all.join(" && "))
    }

    /// The same as a condition of C; it needs [`super::prelude`].
    pub fn condition(&self) -> String {
        supported(self.features())
    }
}

/// A condition of C that is true where the processor has all features; it needs [`super::prelude`].
fn supported<'a>(features: impl IntoIterator<Item = &'a (impl AsRef<str> + 'a)>) -> String {
    let conditions: Vec<String> = features
        .into_iter()
        .map(|feature| {
            let feature = feature.as_ref();
            match BY_CPUID.iter().find(|(name, ..)| *name == feature) {
                Some((_, register, bit)) => format!("hr_supports_leaf7(\"{feature}\", {register}, {bit})"),
                None => format!("__builtin_cpu_supports(\"{feature}\")"),
            }
        })
        .collect();
    if conditions.is_empty() { "1".to_owned() } else { conditions.join(" && ") }
}
