//! Token lists of C. Printed code as tokens: text, and the names in it with what is done to them. What is called, read or
//! assigned in code is asked of this form; characters are made of it last.

use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;
use std::rc::Rc;

/// What something is called in the code: a local, a parameter, a function, a table. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Name(Rc<str>);

impl Name {
    /// As it is spelled.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Name {
        Name(name.into())
    }
}

impl From<String> for Name {
    fn from(name: String) -> Name {
        Name(name.into())
    }
}

/// For what is not code: members of structures, longer names made of this one.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Code of texts, names and numbers, one after the other.
macro_rules! text {
    ($($part:expr),* $(,)?) => {{
        let mut text = $crate::c::text::Text::default();
        $( $crate::c::text::Part::add_to(&$part, &mut text); )*
        text
    }};
}
pub(crate) use text;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Token {
    /// No name that anybody asks for. Two of them never follow each other.
    Plain(String),
    /// A name whose value counts.
    Read(Name),
    /// A name that is declared, assigned or filled.
    Written(Name),
}

/// A piece of code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Text(Vec<Token>);

impl Text {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is nothing but a name.
    pub fn is_name(&self) -> bool {
        matches!(self.0.as_slice(), [Token::Read(_) | Token::Written(_)])
    }

    /// The same as what an assignment changes: the variable that it begins with is written, not read.
    pub fn as_target(&self) -> Text {
        let mut target = self.clone();
        if let Some(first) = target.0.first_mut()
            && let Token::Read(name) = first
        {
            *first = Token::Written(name.clone());
        }
        target
    }

    /// The same as what a function fills that is given a pointer to it: so is the variable if it is all that is there.
    pub fn as_filled(&self) -> Text {
        if self.is_name() { self.as_target() } else { self.clone() }
    }

    /// Every name in it, read or written.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.0.iter().filter_map(|token| match token {
            Token::Plain(_) => None,
            Token::Read(name) | Token::Written(name) => Some(name),
        })
    }

    /// Every name that is read.
    fn names_read(&self) -> impl Iterator<Item = &Name> {
        self.0.iter().filter_map(|token| match token {
            Token::Read(name) => Some(name),
            Token::Plain(_) | Token::Written(_) => None,
        })
    }

    /// The same with names in the place of others.
    pub fn renamed(&self, names: &FxHashMap<Name, Name>) -> Text {
        let other = |name: &Name| names.get(name).unwrap_or(name).clone();
        let tokens = self.0.iter().map(|token| match token {
            Token::Plain(text) => Token::Plain(text.clone()),
            Token::Read(name) => Token::Read(other(name)),
            Token::Written(name) => Token::Written(other(name)),
        });
        Text(tokens.collect())
    }

    fn push(&mut self, text: &str) {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(Token::Plain(last)) => last.push_str(text),
            _ => self.0.push(Token::Plain(text.to_owned())),
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|token| match token {
            Token::Plain(text) => f.write_str(text),
            Token::Read(name) | Token::Written(name) => f.write_str(name.as_str()),
        })
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        text![text]
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Text {
        text![text]
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        text![text]
    }
}

impl From<&Text> for Text {
    fn from(text: &Text) -> Text {
        text.clone()
    }
}

impl From<Name> for Text {
    fn from(name: Name) -> Text {
        text![name]
    }
}

impl From<&Name> for Text {
    fn from(name: &Name) -> Text {
        text![name]
    }
}

/// What code is put together of by [`text!`].
pub trait Part {
    /// Adds it to the end.
    fn add_to(&self, text: &mut Text);
}

/// A name where it is declared.
pub struct Declared<'n>(pub &'n Name);

impl Part for Declared<'_> {
    fn add_to(&self, text: &mut Text) {
        text.0.push(Token::Written(self.0.clone()));
    }
}

/// A name that is the same in every function.
#[derive(Clone, Copy, Debug)]
pub struct Fixed(pub &'static str);

impl Part for Fixed {
    fn add_to(&self, text: &mut Text) {
        text.0.push(Token::Read(self.0.into()));
    }
}

impl Part for Name {
    fn add_to(&self, text: &mut Text) {
        text.0.push(Token::Read(self.clone()));
    }
}

impl Part for Text {
    fn add_to(&self, text: &mut Text) {
        for token in &self.0 {
            match token {
                Token::Plain(more) => text.push(more),
                name => text.0.push(name.clone()),
            }
        }
    }
}

impl Part for str {
    fn add_to(&self, text: &mut Text) {
        text.push(self);
    }
}

impl Part for String {
    fn add_to(&self, text: &mut Text) {
        text.push(self);
    }
}

impl<T: Part + ?Sized> Part for &T {
    fn add_to(&self, text: &mut Text) {
        (*self).add_to(text);
    }
}

macro_rules! shown {
    ($($ty:ty),*) => {$(
        impl Part for $ty {
            fn add_to(&self, text: &mut Text) {
                text.push(&self.to_string());
            }
        }
    )*};
}
shown!(u32, u64, usize, i32, bool);

/// Parts of a list with commas between them.
pub fn listed(parts: &[Text]) -> Text {
    joined(parts, ", ")
}

/// Parts with the same between any two of them.
pub fn joined(parts: &[Text], between: &str) -> Text {
    let mut text = Text::default();
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            text.push(between);
        }
        part.add_to(&mut text);
    }
    text
}

/// A line of a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Line {
    /// How far it is indented.
    pub depth: usize,
    /// Without its end.
    pub text: Text,
}

/// Lines of a function, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lines(pub Vec<Line>);

impl Lines {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every name in them, read or written.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.0.iter().flat_map(|line| line.text.names())
    }

    /// Whether a name is in them.
    pub fn mention(&self, name: &str) -> bool {
        self.names().any(|other| other.as_str() == name)
    }

    /// Names whose values count.
    pub fn names_read(&self) -> FxHashSet<&Name> {
        self.0.iter().flat_map(|line| line.text.names_read()).collect()
    }

    /// Where a name is declared: the first line that writes it.
    pub fn declaration_of(&self, name: &Name) -> Option<usize> {
        let declares =
            |line: &Line| line.text.0.iter().any(|token| matches!(token, Token::Written(other) if other == name));
        self.0.iter().position(declares)
    }

    /// The same with names in the place of others.
    pub fn renamed(&self, names: &FxHashMap<Name, Name>) -> Lines {
        let line = |line: &Line| Line { depth: line.depth, text: line.text.renamed(names) };
        Lines(self.0.iter().map(line).collect())
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|line| writeln!(f, "{:1$}{2}", "", 4 * line.depth, line.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: Text) -> Line {
        Line { depth: 1, text }
    }

    #[test]
    fn what_is_read_is_not_what_is_written_or_a_part_of_another_name() {
        let (x, fx) = (Name::from("x"), Name::from("fx"));
        let lines = Lines(vec![line(text!["int ", Declared(&x), ";"]), line(text![fx, "(x_1);"])]);
        assert_eq!(lines.to_string(), "    int x;\n    fx(x_1);\n");
        assert_eq!(lines.names_read(), FxHashSet::from_iter([&fx]));
        assert!(lines.mention("x") && !lines.mention("x_1"));
        assert_eq!(lines.declaration_of(&x), Some(0));
    }

    #[test]
    fn whole_names_are_renamed() {
        let (x, y, f) = (Name::from("x"), Name::from("y"), Name::from("f"));
        let text = text![f, "(", x, ", fx) + x_1 - ", x];
        let renamed = text.renamed(&FxHashMap::from_iter([(x, y), (f, Name::from("g"))]));
        assert_eq!(renamed.to_string(), "g(y, fx) + x_1 - y");
    }

    #[test]
    fn code_is_equal_however_it_was_put_together() {
        let x = Name::from("x");
        let index = text!["[", 3u32, "]"];
        assert_eq!(text![x, "[", "3", "] = 0;"], text![x, index, " = 0;"]);
        assert_ne!(text![x], text!["x"]);
        assert_eq!(text![x, "[0]"].as_target(), text![Declared(&x), "[0]"]);
        assert_eq!(text![x, "[0]"].as_filled(), text![x, "[0]"]);
    }
}
