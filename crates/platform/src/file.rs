//! Data files: texts in TOML with the places of what stands in them.
//!
//! Those of platforms are packed with the program; files of users, of mappings too, are made of their paths and texts.

use crate::Wrong;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// What a platform is, and so which part of the program reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Many small processors in a grid, with FIFOs between them.
    Array,
    /// A stream processor: clusters of ALUs under one controller.
    Stream,
    /// Several cores for cryptography behind one scheduler.
    CryptoProcessor,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::Array => "array",
            Kind::Stream => "stream processor",
            Kind::CryptoProcessor => "crypto-processor",
        })
    }
}

/// What every platform's file begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// What it is.
    pub kind: Kind,
    /// What it is, for readers.
    pub about: String,
}

/// A word of a file with its place there, for diagnostics.
pub type Mention = toml::Spanned<String>;

/// A text in TOML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// What it is called: its file name without the ending.
    pub name: String,
    /// Where it is, for diagnostics.
    pub path: String,
    /// What stands in it.
    pub text: String,
}

impl File {
    /// A file of a user, by the path that it was named with.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let path = path.into();
        let last = path.rsplit(['/', '\\']).next().unwrap_or(&path);
        Self { name: last.strip_suffix(".toml").unwrap_or(last).to_owned(), path, text: text.into() }
    }

    /// What stands in the file as a value, whose fields are its keys.
    ///
    /// # Errors
    ///
    /// Where it is not TOML, a key is missing or unknown (if `T` denies that), or a value is none of its key.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Wrong> {
        toml::from_str(&self.text).map_err(|error| match error.span() {
            Some(span) => self.wrong(span, error.message()),
            None => Wrong::new(&self.path, error.message()),
        })
    }

    /// What a platform's file begins with.
    ///
    /// # Errors
    ///
    /// Where it does not say what it is.
    pub fn head(&self) -> Result<Head, Wrong> {
        self.parse()
    }

    /// Keys that stand in another file of the same kind and not in this one, with the tables that they are in, sorted: `a.b`.
    ///
    /// Of tables that may stand several times (`[[a.b]]`) the name is one key. What is no TOML lacks nothing.
    pub fn lacks(&self, other: &File) -> Vec<String> {
        let keys = |file: &File| toml::from_str(&file.text).map(|table| keys_of(&table)).unwrap_or_default();
        let own: BTreeSet<String> = keys(self);
        match own.is_empty() {
            true => Vec::new(),
            false => keys(other).difference(&own).cloned().collect(),
        }
    }

    /// A problem at a place of the file, in bytes from its beginning.
    pub fn wrong(&self, place: Range<usize>, problem: impl Into<String>) -> Wrong {
        let before = self.text.get(..place.start).unwrap_or(&self.text);
        let line_begin = before.rfind('\n').map_or(0, |at| at + 1);
        let line = 1 + before.matches('\n').count();
        let column = 1 + before[line_begin..].chars().count();
        Wrong { path: self.path.clone(), place: Some((line, column)), problem: problem.into() }
    }

    /// A problem at a word of the file.
    pub fn wrong_at(&self, mention: &Mention, problem: impl Into<String>) -> Wrong {
        self.wrong(mention.span(), problem)
    }
}

/// Keys of a table with those of tables in it; a figure with its source is one.
pub fn keys_of(table: &toml::Table) -> BTreeSet<String> {
    let of = |(key, value): (&String, &toml::Value)| match value {
        toml::Value::Table(inner) if !inner.contains_key("value") => {
            keys_of(inner).into_iter().map(|below| format!("{key}.{below}")).collect()
        }
        _ => vec![key.clone()],
    };
    table.iter().flat_map(of).collect()
}

/// The platforms that the program comes with, by name.
pub fn built_in() -> &'static [File] {
    static ALL: LazyLock<Vec<File>> = LazyLock::new(|| {
        let file = |(name, text): &(&str, &str)| File::new(format!("platforms/{name}.toml"), *text);
        FILES.iter().map(file).collect()
    });
    &ALL
}

/// The platform of a name that the program comes with.
///
/// # Errors
///
/// Where there is none, with those that there are.
pub fn find(name: &str) -> Result<&'static File, Wrong> {
    built_in().iter().find(|file| file.name == name).ok_or_else(|| {
        let all: Vec<&str> = built_in().iter().map(|file| file.name.as_str()).collect();
        let problem =
            format!("there is no platform of that name; there are {}; a file is named by its path", all.join(", "));
        Wrong::new(name, problem)
    })
}
