//! C identifiers for CAL names: kept as they are where C allows it, changed where it does not or where they would clash.

use headrace_program::names::identifier;
use rustc_hash::FxHashSet;

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
    used: FxHashSet<String>,
}

impl Names {
    /// A name like `name` that C allows and that was not given before.
    pub fn fresh(&mut self, name: &str) -> String {
        let mut base = identifier(name);
        let prefixes = ["hr_", "HR_", "headrace_", "HEADRACE_"];
        if prefixes.iter().any(|prefix| base.starts_with(prefix)) || is_limit_macro(&base) {
            // No number behind would help.
            base.insert_str(0, "x_");
        }
        let mut text = base.clone();
        let mut number = 2;
        while TAKEN.contains(&text.as_str()) || self.used.contains(&text) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_where_c_allows_it() {
        let mut names = Names::default();
        assert_eq!(names.fresh("round"), "round");
        assert_eq!(names.fresh("round"), "round_2");
        assert_eq!(names.fresh("while"), "while_2");
        assert_eq!(names.fresh("uint8_t"), "x_uint8_t");
        assert_eq!(names.fresh("hr_index"), "x_hr_index");
        assert_eq!(names.fresh("UINT8_MAX"), "x_UINT8_MAX");
        assert_eq!(names.fresh("_x[0]"), "x_x_0_");
        assert_eq!(names.fresh("2nd"), "x2nd");
    }
}
