//! Words that a language keeps for itself, as data, and how names of a program that are such words are spelled.
//!
//! The words stand in `words/`, a file a language, with where they come from. They are keywords, names that are there without
//! being asked for, macros, and what printed code itself makes or has. Two ways lead around them: a scope that grows
//! ([`crate::names::Names::of`]) gives a name with a number, a printer whose names are settled before spells them with a mark
//! that no other name of the program ends in ([`Language::spelled`]).

use std::collections::HashSet;
use std::sync::OnceLock;

/// A language, by what it keeps for itself.
pub struct Language {
    /// What it is called.
    pub name: &'static str,
    /// Texts of words with blanks between them; a line that begins with `#` says where they come from, and a word that ends in
    /// `*` stands for all that begin so.
    texts: &'static [&'static str],
    /// What names end in that would otherwise be words of the language, or end so themselves.
    mark: &'static str,
    parsed: OnceLock<Words>,
}

/// The words of a language.
struct Words {
    whole: HashSet<&'static str>,
    beginnings: Vec<&'static str>,
}

macro_rules! languages {
    ($($(#[$doc:meta])* $constant:ident = $name:literal, $mark:literal, [$($file:literal),*];)*) => {
        $($(#[$doc])* pub static $constant: Language = Language {
            name: $name,
            texts: &[$(include_str!(concat!("../words/", $file, ".txt"))),*],
            mark: $mark,
            parsed: OnceLock::new(),
        };)*

        /// All of them.
        pub static ALL: &[&Language] = &[$(&$constant),*];
    };
}

languages! {
    /// C, as C++ can include it.
    C = "c", "_x", ["c", "c_own"];
    /// C++.
    CPP = "cpp", "_x", ["c", "cpp"];
    /// Rust.
    RUST = "rust", "__", ["rust"];
    /// Java.
    JAVA = "java", "__", ["java"];
    /// JavaScript, and TypeScript, which declares its types.
    JAVASCRIPT = "javascript", "_", ["javascript"];
    /// Promela.
    PROMELA = "promela", "_x", ["promela"];
    /// Verilog, as tools for SystemVerilog take it.
    VERILOG = "verilog", "_x", ["verilog"];
    /// VHDL, in small letters.
    VHDL = "vhdl", "_x", ["vhdl"];
}

impl std::fmt::Debug for Language {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Language {
    fn parsed(&self) -> &Words {
        self.parsed.get_or_init(|| {
            let words = || self.words();
            Words {
                whole: words().filter(|word| !word.ends_with('*')).collect(),
                beginnings: words().filter_map(|word| word.strip_suffix('*')).collect(),
            }
        })
    }

    /// Its words, as they stand in the data, also those that end in `*`.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        let lines = self.texts.iter().flat_map(|text| text.lines());
        lines.filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace)
    }

    /// Whether it keeps this very word.
    pub fn has_word(&self, name: &str) -> bool {
        self.parsed().whole.contains(name)
    }

    /// Whether it keeps all names that begin as this one does: no number behind would help.
    pub fn has_beginning(&self, name: &str) -> bool {
        self.parsed().beginnings.iter().any(|beginning| name.starts_with(beginning))
    }

    /// Whether a program cannot have this name.
    pub fn reserves(&self, name: &str) -> bool {
        self.has_word(name) || self.has_beginning(name)
    }

    /// How an identifier is spelled. Different ones are spelled differently.
    pub fn spelled(&self, name: &str) -> String {
        if self.reserves(name) || name.ends_with(self.mark) { format!("{name}{}", self.mark) } else { name.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_apart() {
        assert_eq!(RUST.spelled("round"), "round");
        assert_eq!(RUST.spelled("Ok"), "Ok__");
        assert_eq!(RUST.spelled("Ok__"), "Ok____");
        assert_eq!(CPP.spelled("UINT8_MAX"), "UINT8_MAX_x");
        for language in ALL {
            let names: Vec<String> =
                language.words().map(|word| word.trim_end_matches('*').to_owned()).filter(|word| word != "_").collect();
            let marked = names.iter().map(|name| format!("{name}{}", language.mark));
            let all: HashSet<String> = names.iter().cloned().chain(marked).collect();
            let spelled: HashSet<String> = all.iter().map(|name| language.spelled(name)).collect();
            assert_eq!(all.len(), spelled.len(), "{}", language.name);
            assert!(spelled.iter().all(|name| !language.has_word(name)), "{}", language.name);
        }
    }

    #[test]
    fn words_are_those_of_the_languages() {
        let has = |language: &Language, words: &str| {
            words.split(' ').filter(|word| !language.reserves(word)).map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(has(&C, "errno NULL INT_MAX EOF stdin linux unix I true restrict uint8_t M_PI hr_x").is_empty());
        assert!(has(&CPP, "errno NULL INT_MAX co_await std concept").is_empty());
        assert!(has(&RUST, "Ok Err Some None Vec Default core std crate yield u128 TABLE_x").is_empty());
        assert!(has(&JAVA, "record String Integer Override hashCode yield _").is_empty());
        assert!(has(&JAVASCRIPT, "await yield arguments").is_empty());
        assert!(has(&PROMELA, "proctype ltl at_x").is_empty());
    }
}
