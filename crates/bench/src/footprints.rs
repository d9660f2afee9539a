//! Footprints of implementations on microcontrollers: bytes of flash and of memory that a program has because of one, depth of
//! its stack, and instructions that it executes. Sizes are a linker's, the rest is counted in an emulator, so that all are the
//! same in every run and on every machine.

use crate::tables::figure;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// What one implementation of an operation takes on one processor.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Footprint {
    /// The processor.
    pub processor: String,
    /// Compiler and flags.
    pub compiler: String,
    /// The parameter set.
    pub primitive: String,
    /// The operation.
    pub operation: String,
    /// Whose it is, with its version.
    pub implementation: String,
    /// Which of several that these have.
    pub variant: String,
    /// Bytes of code and constants.
    pub flash: u64,
    /// Bytes of variables: contexts, and whatever else stays.
    pub memory: u64,
    /// Bytes of the stack at its deepest; none where no emulator runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<u64>,
    /// Instructions of the whole program with a shorter and with a longer message; none where no emulator runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<[u64; 2]>,
}

/// What was measured of footprints.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Footprints {
    /// When, in UTC.
    pub date: String,
    /// The commit of what was measured.
    pub commit: String,
    /// Bytes of the shorter and of the longer message.
    pub bytes: [u64; 2],
    /// One for each processor and implementation.
    pub rows: Vec<Footprint>,
    /// What was not measured, each with its reason.
    pub missing: Vec<String>,
}

impl Footprints {
    /// Instructions for each byte that the longer message has more.
    pub fn per_byte(&self, row: &Footprint) -> f64 {
        row.instructions.map_or(f64::NAN, |[short, long]| {
            (long as f64 - short as f64) / (self.bytes[1] as f64 - self.bytes[0] as f64)
        })
    }
}

/// What is to be measured.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FootprintRules {
    /// Bytes of a shorter and of a longer message.
    pub bytes: [u64; 2],
    /// Flags for all processors.
    pub flags: Vec<String>,
    /// On what.
    pub processors: Vec<Processor>,
    /// Of what.
    pub contenders: Vec<Contender>,
}

/// A processor without an operating system.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// What tables call it.
    pub name: String,
    /// Its compiler.
    pub compiler: String,
    /// The package of Debian that has it.
    pub package: String,
    /// The command that lists sections.
    pub size: String,
    /// Flags of the compiler that say which processor it is.
    pub flags: Vec<String>,
    /// The emulator that runs its instructions; none where there is no such one.
    #[serde(default)]
    pub emulator: Option<String>,
}

/// An implementation of an operation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contender {
    /// The parameter set.
    pub primitive: String,
    /// The operation.
    pub operation: String,
    /// The folder among the peers, whose file `version` says what it is; none for ours.
    #[serde(default)]
    pub library: Option<String>,
    /// Which of several it is.
    #[serde(default)]
    pub variant: String,
    /// Its adapter in this folder.
    pub adapter: String,
    /// What `headrace build` is given to make ours.
    #[serde(default)]
    pub build: Vec<String>,
    /// Sources of a library, below its folder; `*.c` and `*.S` at the end stand for all of a folder.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Folders of headers, below that of the library.
    #[serde(default)]
    pub include: Vec<String>,
    /// The processors that it is for; all when absent.
    #[serde(default)]
    pub only: Vec<String>,
}

impl FootprintRules {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// What is wrong, with its place where there is one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rules: FootprintRules = toml::from_str(text).map_err(|error| error.to_string())?;
        if rules.bytes[0] >= rules.bytes[1] {
            return Err("the second message must be longer than the first".into());
        }
        for contender in &rules.contenders {
            if contender.library.is_some() == contender.sources.is_empty() {
                return Err(format!("`{}`: a library has sources, and ours has none", contender.adapter));
            }
            if let Some(unknown) =
                contender.only.iter().find(|name| !rules.processors.iter().any(|one| one.name == **name))
            {
                return Err(format!("`{}`: there is no processor `{unknown}`", contender.adapter));
            }
        }
        Ok(rules)
    }
}

/// A table for each processor, and what was not measured.
pub fn table(footprints: &Footprints) -> String {
    let mut text = String::from(
        "Footprints on microcontrollers: bytes of flash and memory of a program that calls an operation once, bytes of its stack, and\n\
         instructions a byte by the difference of two messages, counted by an emulator.\n",
    );
    let mut processors: Vec<(&str, &str)> = Vec::new();
    for row in &footprints.rows {
        let processor = (row.processor.as_str(), row.compiler.as_str());
        if !processors.contains(&processor) {
            processors.push(processor);
        }
    }
    for processor in processors {
        let _ = write!(
            text,
            "\n{}: {}\n\n| primitive | operation | implementation | variant | flash | memory | stack | instructions a byte |\n\
             |---|---|---|---|--:|--:|--:|--:|\n",
            processor.0, processor.1
        );
        let own = |row: &&Footprint| (row.processor.as_str(), row.compiler.as_str()) == processor;
        for row in footprints.rows.iter().filter(own) {
            let bytes = |n: Option<u64>| n.map_or_else(|| "–".to_owned(), |n| n.to_string());
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} | {} |",
                row.primitive,
                row.operation,
                row.implementation,
                row.variant,
                row.flash,
                row.memory,
                bytes(row.stack),
                figure(footprints.per_byte(row))
            );
        }
    }
    if !footprints.missing.is_empty() {
        text.push_str("\nNot measured:\n\n");
        footprints.missing.iter().for_each(|what| {
            let _ = writeln!(text, "* {what}");
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footprints() -> Footprints {
        let row = |processor: &str, instructions: Option<[u64; 2]>| Footprint {
            processor: processor.into(),
            compiler: "cc -Os".into(),
            primitive: "p".into(),
            operation: "o".into(),
            implementation: "headrace".into(),
            variant: "v".into(),
            flash: 2256,
            memory: 136,
            stack: instructions.map(|_| 640),
            instructions,
        };
        Footprints {
            date: "now".into(),
            commit: "c".into(),
            bytes: [1000, 3000],
            rows: vec![row("a", Some([50_000, 150_000])), row("b", None)],
            missing: vec!["theirs on b: no compiler".into()],
        }
    }

    #[test]
    fn every_processor_has_a_table_and_what_is_missing_is_said() {
        let text = table(&footprints());
        assert!(text.contains("\na: cc -Os\n"), "{text}");
        assert!(text.contains("| p | o | headrace | v | 2256 | 136 | 640 | 50.0 |"), "{text}");
        assert!(text.contains("| p | o | headrace | v | 2256 | 136 | – | – |"), "{text}");
        assert!(text.contains("Not measured:\n\n* theirs on b: no compiler\n"), "{text}");
    }

    #[test]
    fn rules_that_contradict_themselves_are_refused() {
        let rules = |contender: &str| {
            FootprintRules::parse(&format!(
                "bytes = [1, 2]\nflags = []\n[[processors]]\nname = \"a\"\ncompiler = \"cc\"\npackage = \"p\"\nsize = \"size\"\nflags = []\n\
                 [[contenders]]\nprimitive = \"p\"\noperation = \"o\"\nadapter = \"x.c\"\n{contender}"
            ))
        };
        assert!(rules("build = [\"p\"]").is_ok());
        assert!(rules("library = \"l\"").is_err());
        assert!(rules("only = [\"b\"]").is_err());
    }
}
