//! The formatter of `.cal` and `.nl`: the same lexemes and comments, in one layout.
//!
//! Indentation is four blanks and lines are at most 100 characters wide where lexemes allow it. Statements, members,
//! sections and connections stand on lines of their own. One blank line between two of them is kept, more are not.
//! What is too long breaks at commas, before operators and around the parts of an `if`. The rows of a list are kept as
//! written, because tables are laid out as in the standard that they come from.
//!
//! `layout` walks over the lexemes as the grammar does and says where lines may and must break; `printer` decides which
//! of them do. Nothing is printed from the tree, so nothing that the tree leaves out can get lost; at the end the lexemes
//! and comments of the result are compared with those of the text, and a difference is an error.

mod layout;
mod printer;

use headrace_source::{Diagnostic, FileId, Severity, Span};

use crate::lexer::{self, Lexeme};

/// The longest line, in characters.
pub const LINE_WIDTH: usize = 100;

/// The most passes until nothing changes.
const MOST_ITERATIONS: usize = 8;

/// Lays out a `.cal` or `.nl` text anew. The result has the same lexemes and comments in the same order, and formatting it
/// again changes nothing. A text with syntax errors is not touched: its errors are returned.
pub fn format(file: FileId, text: &str) -> Result<String, Vec<Diagnostic>> {
    let (_, diagnostics) = crate::parse(file, text);
    let errors: Vec<_> = diagnostics.into_iter().filter(|diagnostic| diagnostic.severity == Severity::Error).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    // A comment between two lexemes of a line may come to stand on a line of its own, where it is laid out differently:
    // the result is what no further pass changes.
    let mut output = pass(file, text);
    for _ in 0..MOST_ITERATIONS {
        let again = pass(file, &output);
        if again == output {
            break;
        }
        output = again;
    }
    if same(file, text, &output) {
        Ok(output)
    } else {
        Err(vec![
            Diagnostic::error(
                "format-refused",
                "the new layout would change more than blanks; the file stays as it is",
            )
            .at(Span::new(file, 0, 0), ""),
        ])
    }
}

fn pass(file: FileId, text: &str) -> String {
    let lexed = lexer::lex(file, text);
    printer::print(text, &layout::layout(text, &lexed))
}

/// True when two texts have the same lexemes and comments.
fn same(file: FileId, one: &str, other: &str) -> bool {
    let (ours, theirs) = (lexer::lex(file, one), lexer::lex(file, other));
    let equal = |ours: &[Lexeme], theirs: &[Lexeme]| {
        ours.len() == theirs.len()
            && ours
                .iter()
                .zip(theirs)
                .all(|(our, their)| our.kind == their.kind && lines(our.text(one)).eq(lines(their.text(other))))
    };
    equal(&ours.lexemes, &theirs.lexemes) && equal(&ours.comments, &theirs.comments)
}

/// The lines of a lexeme or comment without the blanks around them, which a layout may change inside a block comment.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim)
}
