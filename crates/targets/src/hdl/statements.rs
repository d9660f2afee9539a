//! Statements of processes: what their blocks are made of is the same in each language; a language has words for it.

use headrace_rtl::{Bits, Expr, Stmt, Target};
use std::fmt::Write as _;

/// What a language writes around conditions, values and blocks.
pub(crate) struct Words {
    pub(crate) comment: &'static str,
    /// Before a condition and behind it.
    pub(crate) condition: [&'static str; 2],
    /// What stands before a choice that is all of the other branch of one.
    pub(crate) else_if: &'static str,
    pub(crate) otherwise: &'static str,
    pub(crate) end_if: &'static str,
    /// Before the value of a case and behind it.
    pub(crate) case: [&'static str; 2],
    /// Before a value of an arm and behind it.
    pub(crate) arm: [&'static str; 2],
    /// What begins the arm for all other values.
    pub(crate) rest: &'static str,
    pub(crate) end_arm: Option<&'static str>,
    pub(crate) end_case: &'static str,
    /// A statement that does nothing, where a block must have one.
    pub(crate) nothing: Option<&'static str>,
}

/// What spells the parts of statements.
pub(crate) trait Statements {
    fn words(&self) -> &'static Words;

    fn assignment(&self, target: &Target, value: &Expr) -> String;

    fn condition(&self, value: &Expr) -> String;

    /// The value that a case is about.
    fn subject(&self, value: &Expr) -> String;

    /// One of the values of a case.
    fn choice(&self, subject: &Expr, value: &Bits) -> String;
}

/// The statements of a block, indented so many times.
pub(crate) fn block(language: &dyn Statements, statements: &[Stmt], depth: usize, out: &mut String) {
    let words = language.words();
    let indent = "  ".repeat(depth);
    if let Some(nothing) = words.nothing
        && statements.iter().all(|one| matches!(one, Stmt::Comment(_)))
    {
        let _ = writeln!(out, "{indent}{nothing}");
    }
    for statement in statements {
        match statement {
            Stmt::Comment(text) => {
                let _ = writeln!(out, "{indent}{} {}", words.comment, text.replace('\n', " "));
            }
            Stmt::Assign(target, value) => {
                let _ = writeln!(out, "{indent}{}", language.assignment(target, value));
            }
            Stmt::If(condition, yes, no) => {
                out.push_str(&indent);
                branches(language, condition, yes, no, depth, out);
                let _ = writeln!(out, "{indent}{}", words.end_if);
            }
            Stmt::Case(subject, arms, rest) => {
                let _ = writeln!(out, "{indent}{}{}{}", words.case[0], language.subject(subject), words.case[1]);
                let mut arm = |begin: &str, body: &[Stmt]| {
                    let _ = writeln!(out, "{indent}  {begin}");
                    block(language, body, depth + 2, out);
                    if let Some(end) = words.end_arm {
                        let _ = writeln!(out, "{indent}  {end}");
                    }
                };
                for (value, body) in arms {
                    arm(&format!("{}{}{}", words.arm[0], language.choice(subject, value), words.arm[1]), body);
                }
                arm(words.rest, rest);
                let _ = writeln!(out, "{indent}{}", words.end_case);
            }
        }
    }
}

/// A choice without its end.
fn branches(language: &dyn Statements, condition: &Expr, yes: &[Stmt], no: &[Stmt], depth: usize, out: &mut String) {
    let words = language.words();
    let indent = "  ".repeat(depth);
    let _ = writeln!(out, "{}{}{}", words.condition[0], language.condition(condition), words.condition[1]);
    block(language, yes, depth + 1, out);
    match no {
        [] => {}
        // A chain of choices needs no block in a block.
        [Stmt::If(condition, yes, no)] => {
            let _ = write!(out, "{indent}{}", words.else_if);
            branches(language, condition, yes, no, depth, out);
        }
        _ => {
            let _ = writeln!(out, "{indent}{}", words.otherwise);
            block(language, no, depth + 1, out);
        }
    }
}
