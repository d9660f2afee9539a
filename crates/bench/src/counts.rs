//! Dynamic instruction counts under emulation. Instructions that programs execute on processors that an emulator is: counted, not
//! timed, so that they are the same in every run and on every machine.

use crate::tables::figure;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// How many instructions one implementation takes for one operation on one processor.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Count {
    /// The processor.
    pub processor: String,
    /// Compiler and flags.
    pub compiler: String,
    /// The parameter set.
    pub primitive: String,
    /// The operation.
    pub operation: String,
    /// The network, or what the reference is called.
    pub variant: String,
    /// `headrace`, or the reference.
    pub implementation: String,
    /// Bytes of the shorter and of the longer message.
    pub bytes: [u64; 2],
    /// Instructions of the whole program with each, its start included.
    pub instructions: [u64; 2],
}

impl Count {
    /// Instructions for each byte that the longer message has more.
    pub fn per_byte(&self) -> f64 {
        let [short, long] = self.instructions.map(|n| n as f64);
        (long - short) / (self.bytes[1] as f64 - self.bytes[0] as f64)
    }
}

/// What was counted, with what others published.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Counts {
    /// One for each processor and implementation of an operation.
    pub rows: Vec<Count>,
    /// Figures of others, in their own unit.
    pub publication: Publication,
}

/// What is to be counted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountRules {
    /// Bytes of a shorter and of a longer message.
    pub bytes: [u64; 2],
    /// On what.
    pub processors: Vec<Processor>,
    /// Of what.
    pub measures: Vec<Measure>,
    /// What is put beside it.
    pub publication: Publication,
}

/// A processor that an emulator is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// What tables call it.
    pub name: String,
    /// The toolchain that compiles and runs its programs.
    pub toolchain: String,
    /// Flags of the compiler.
    pub flags: Vec<String>,
}

/// Operations, and whose implementations of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Parameter sets.
    pub sets: Vec<String>,
    /// Operations of each.
    pub operations: Vec<String>,
    /// Our variants, as far as an operation has them.
    pub variants: Vec<String>,
    /// References, by their names among the peers.
    #[serde(default)]
    pub references: Vec<String>,
}

impl CountRules {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// What is wrong, with its place where there is one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rules: CountRules = toml::from_str(text).map_err(|error| error.to_string())?;
        if rules.bytes[0] >= rules.bytes[1] {
            return Err("the second message must be longer than the first".into());
        }
        Ok(rules)
    }
}

/// A figure that somebody published.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Published {
    /// What was measured.
    pub implementation: String,
    /// Parameter set and operation.
    pub primitive: String,
    /// See [`Published::primitive`].
    pub operation: String,
    /// Cycles a byte.
    pub cycles_per_byte: f64,
}

/// Published figures, with where they come from.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Publication {
    /// What it is, and on what machine the figures were taken.
    pub title: String,
    /// The figures.
    #[serde(default)]
    pub figures: Vec<Published>,
}

/// A table with a column for each processor, and one of what was published.
pub fn table(counts: &Counts) -> String {
    let Counts { rows: counts, publication } = counts;
    let mut processors: Vec<(&str, &str)> = Vec::new();
    let mut rows: Vec<[&str; 4]> = Vec::new();
    for count in counts {
        let processor = (count.processor.as_str(), count.compiler.as_str());
        if !processors.contains(&processor) {
            processors.push(processor);
        }
        let row = row_words(count);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let mut text = String::from("Instructions a byte, by the difference of two messages:\n\n");
    for (name, compiler) in &processors {
        let _ = writeln!(text, "* {name}: {compiler}");
    }
    text.push_str("\n| primitive | operation | variant | implementation |");
    for (name, _) in &processors {
        let _ = write!(text, " {name} |");
    }
    text.push_str("\n|---|---|---|---|");
    text.push_str(&"--:|".repeat(processors.len()));
    text.push('\n');
    for row in rows {
        let _ = write!(text, "| {} |", row.join(" | "));
        for processor in &processors {
            let found = counts.iter().find(|count| {
                row_words(count) == row && (count.processor.as_str(), count.compiler.as_str()) == *processor
            });
            let _ = write!(text, " {} |", figure(found.map_or(f64::NAN, Count::per_byte)));
        }
        text.push('\n');
    }
    if publication.figures.is_empty() {
        return text;
    }
    let _ = write!(
        text,
        "\n{}. These are cycles: where a processor begins one instruction a cycle at most, an\n\
         implementation that takes n instructions a byte takes n cycles a byte or more.\n\n\
         | primitive | operation | implementation | cycles a byte |\n|---|---|---|--:|\n",
        publication.title
    );
    for one in &publication.figures {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            one.primitive,
            one.operation,
            one.implementation,
            figure(one.cycles_per_byte)
        );
    }
    text
}

fn row_words(count: &Count) -> [&str; 4] {
    [&count.primitive, &count.operation, &count.variant, &count.implementation]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(processor: &str, variant: &str, long: u64) -> Count {
        Count {
            processor: processor.into(),
            compiler: "cc".into(),
            primitive: "p".into(),
            operation: "o".into(),
            variant: variant.into(),
            implementation: "headrace".into(),
            bytes: [1000, 3000],
            instructions: [50_000, long],
        }
    }

    #[test]
    fn what_does_not_grow_with_messages_is_not_counted() {
        assert_eq!(count("a", "x", 150_000).per_byte(), 50.0);
    }

    #[test]
    fn processors_are_columns_and_what_is_missing_is_said() {
        let counts = [count("a", "x", 150_000), count("b", "x", 60_000), count("a", "y", 52_000)];
        let figures = vec![Published {
            implementation: "theirs".into(),
            primitive: "p".into(),
            operation: "o".into(),
            cycles_per_byte: 2058.1,
        }];
        let table = table(&Counts { rows: counts.to_vec(), publication: Publication { title: "T".into(), figures } });
        assert!(table.contains("| implementation | a | b |"), "{table}");
        assert!(table.contains("| p | o | x | headrace | 50.0 | 5.00 |"), "{table}");
        assert!(table.contains("| p | o | y | headrace | 1.00 | – |"), "{table}");
        assert!(table.contains("| p | o | theirs | 2 058 |"), "{table}");
    }
}
