//! C identifiers for CAL names: kept as they are where C allows it, changed where it does not or where they would clash.

use std::collections::HashSet;

/// Words that mean something in C, in the headers that generated code includes, or as a macro of common platforms.
const TAKEN: &[&str] = &[
    "alignas",
    "alignof",
    "asm",
    "auto",
    "bool",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "control",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "errno",
    "extern",
    "false",
    "float",
    "for",
    "goto",
    "i386",
    "if",
    "inline",
    "int",
    "linux",
    "lists",
    "long",
    "main",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "nullptr",
    "offsetof",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "strcmp",
    "strlen",
    "struct",
    "switch",
    "true",
    "typedef",
    "typeof",
    "union",
    "unix",
    "unsigned",
    "v",
    "void",
    "volatile",
    "while",
    "NULL",
    "INFINITY",
    "NAN",
    "class",
    "delete",
    "export",
    "friend",
    "mutable",
    "namespace",
    "new",
    "operator",
    "private",
    "protected",
    "public",
    "template",
    "this",
    "throw",
    "try",
    "using",
    "virtual",
    "catch",
    "explicit",
    "typename",
    "and",
    "or",
    "not",
    "xor",
];

/// A set of names of one scope.
#[derive(Clone, Debug, Default)]
pub struct Names {
    used: HashSet<String>,
}

/// Letters, digits and underscores only, beginning with a letter.
pub fn identifier(name: &str) -> String {
    let mut text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        text.insert(0, 'x');
    }
    text
}

impl Names {
    /// A name like `name` that C allows and that was not given before.
    pub fn fresh(&mut self, name: &str) -> String {
        let base = identifier(name);
        let reserved = |text: &str| {
            TAKEN.contains(&text)
                || text.starts_with("hr_")
                || text.starts_with("HR_")
                || text.starts_with("headrace_")
                || text.starts_with("HEADRACE_")
                || is_limit_macro(text)
        };
        let mut text = base.clone();
        let mut number = 2;
        while reserved(&text) || self.used.contains(&text) {
            text = format!("{base}_{number}");
            number += 1;
        }
        self.used.insert(text.clone());
        text
    }
}

/// `INT32_C`, `UINT8_MAX`, `FLT_EPSILON` and their like.
fn is_limit_macro(text: &str) -> bool {
    let prefixes =
        ["INT", "UINT", "PTRDIFF_", "SIZE_", "SIG_ATOMIC_", "WCHAR_", "WINT_", "FLT_", "DBL_", "LDBL_", "DECIMAL_"];
    prefixes.iter().any(|prefix| text.starts_with(prefix))
        || (text.ends_with("_t")
            && (text.contains("int") || ["size_t", "ptrdiff_t", "wchar_t", "max_align_t"].contains(&text)))
}
