//! Identifiers: letters, digits and underscores, none twice in a scope, none that a language keeps for itself.

use crate::language::Language;
use std::collections::HashMap;

/// The names of one scope.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Each with the number that is tried first for another one like it.
    used: HashMap<String, u32>,
    /// Whose words are not given.
    language: Option<&'static Language>,
}

/// Letters, digits and underscores only, beginning with a letter.
pub fn identifier(name: &str) -> String {
    let mut text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        text.insert(0, 'x');
    }
    text
}

/// `SubBytes` as `sub_bytes`, for languages and places where names are written so.
pub fn snake_case(name: &str) -> String {
    let mut text = String::new();
    let letters: Vec<char> = name.chars().collect();
    for (at, &c) in letters.iter().enumerate() {
        let after_small = at > 0 && (letters[at - 1].is_ascii_lowercase() || letters[at - 1].is_ascii_digit());
        let before_small =
            at > 0 && letters[at - 1].is_ascii_uppercase() && letters.get(at + 1).is_some_and(char::is_ascii_lowercase);
        if c.is_ascii_uppercase() && (after_small || before_small) && !text.ends_with('_') {
            text.push('_');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

/// `sub_bytes` or `SubBytes` as `SubBytes`, for types.
pub fn camel_case(name: &str) -> String {
    name.split('_')
        .map(|part| {
            let mut letters = part.chars();
            letters.next().map_or(String::new(), |first| first.to_ascii_uppercase().to_string() + letters.as_str())
        })
        .collect()
}

impl Names {
    /// A scope in which these words are taken.
    pub fn without(words: &[&str]) -> Self {
        Self { used: words.iter().map(|word| ((*word).to_owned(), 2)).collect(), language: None }
    }

    /// A scope of a language, which keeps its words.
    pub fn of(language: &'static Language) -> Self {
        Self { used: HashMap::new(), language: Some(language) }
    }

    fn is_taken(&self, name: &str) -> bool {
        self.used.contains_key(name) || self.language.is_some_and(|language| language.has_word(name))
    }

    /// A name like this one that the scope does not have yet, nor with any of these endings, which it then has, too.
    pub fn fresh_with(&mut self, like: &str, endings: &[&str]) -> String {
        let base = identifier(like);
        let is_free = |name: &str| !endings.iter().any(|ending| self.is_taken(&format!("{name}{ending}")));
        let mut wanted = base.clone();
        let mut number = 2;
        while self.is_taken(&wanted) || !is_free(&wanted) {
            wanted = format!("{base}_{number}");
            number += 1;
        }
        let name = self.fresh(&wanted);
        for ending in endings {
            self.used.insert(format!("{name}{ending}"), 2);
        }
        name
    }

    /// A name like this one that the scope does not have yet.
    pub fn fresh(&mut self, like: &str) -> String {
        let mut base = identifier(like);
        if self.language.is_some_and(|language| language.has_beginning(&base)) {
            base.insert_str(0, "x_");
        }
        if !self.is_taken(&base) {
            self.used.insert(base.clone(), 2);
            return base;
        }
        let mut number = self.used.get(&base).copied().unwrap_or(2);
        let name = loop {
            let name = format!("{base}_{number}");
            number += 1;
            if !self.is_taken(&name) {
                break name;
            }
        };
        self.used.insert(name.clone(), 2);
        self.used.insert(base, number);
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_given_once() {
        let mut names = Names::without(&["loop"]);
        assert_eq!(names.fresh("loop"), "loop_2");
        assert_eq!(names.fresh("a[0]"), "a_0_");
        assert_eq!(names.fresh("a_0_"), "a_0__2");
        assert_eq!(names.fresh("2nd"), "x2nd");
    }

    #[test]
    fn families_of_names_are_given_once() {
        let mut names = Names::default();
        assert_eq!(names.fresh_with("A", &["_init", "_lists"]), "A");
        assert_eq!(names.fresh("A_init"), "A_init_2");
        assert_eq!(names.fresh("B_lists"), "B_lists");
        assert_eq!(names.fresh_with("B", &["_init", "_lists"]), "B_2");
        assert_eq!(names.fresh_with("A", &["_init"]), "A_2");
    }

    #[test]
    fn names_are_kept_where_the_language_allows_it() {
        let mut names = Names::of(&crate::language::C);
        assert_eq!(names.fresh("round"), "round");
        assert_eq!(names.fresh("round"), "round_2");
        assert_eq!(names.fresh("while"), "while_2");
        assert_eq!(names.fresh("while"), "while_3");
        assert_eq!(names.fresh("uint8_t"), "uint8_t_2");
        assert_eq!(names.fresh("hr_index"), "x_hr_index");
        assert_eq!(names.fresh("UINT8_MAX"), "x_UINT8_MAX");
        assert_eq!(names.fresh("_x[0]"), "x_x_0_");
    }

    #[test]
    fn words_are_told_apart() {
        assert_eq!(snake_case("SubBytes"), "sub_bytes");
        assert_eq!(snake_case("AES128Round"), "aes128_round");
        assert_eq!(snake_case("CBCMode"), "cbc_mode");
        assert_eq!(camel_case("sub_bytes"), "SubBytes");
    }
}
