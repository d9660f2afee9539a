//! What the user sees on standard error: diagnostics, notes, counts.

use crate::cli::Colour;
use codespan_reporting::diagnostic as drawn;
use codespan_reporting::files::{Error, Files};
use codespan_reporting::term::termcolor::{Buffer, Color, ColorSpec, WriteColor};
use codespan_reporting::term::{self, Config, Styles, StylesWriter};
use headrace::words::plural;
use headrace_source::{Diagnostic, FileId, Severity, SourceMap, Span};
use std::cell::OnceCell;
use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::ops::Range;

/// Most diagnostics that are drawn; the counts cover all.
const MAX_DRAWN: usize = 200;

/// A line longer than this is not drawn: it would bury the message.
const MAX_LINE_BYTES: usize = 1000;

/// Standard error.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    coloured: bool,
    /// True when standard error is a terminal, so that progress may be shown.
    pub interactive: bool,
}

/// Numbers of problems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
}

impl Terminal {
    /// Standard error, coloured as the user wants.
    pub fn new(colour: Colour) -> Self {
        let interactive = std::io::stderr().is_terminal();
        let coloured = match colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => interactive && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        };
        Self { coloured, interactive }
    }

    fn buffer(self) -> Buffer {
        if self.coloured { Buffer::ansi() } else { Buffer::no_color() }
    }

    fn print(self, buffer: &Buffer) {
        // Nothing is left to tell it to when standard error is closed.
        let _ = std::io::stderr().lock().write_all(buffer.as_slice());
    }

    /// Draws diagnostics in the order of their places, one a place, and returns how many there are.
    pub fn show(self, sources: &SourceMap, diagnostics: &[Diagnostic]) -> Counts {
        let mut buffer = self.buffer();
        let counts = draw_all(&mut buffer, sources, diagnostics);
        self.print(&buffer);
        counts
    }

    /// A line that begins with `error: `.
    pub fn error(self, message: &str) {
        self.line("error", Color::Red, message);
    }

    /// A line that begins with `warning: `.
    pub fn warning(self, message: &str) {
        self.line("warning", Color::Yellow, message);
    }

    /// A line that begins with `note: `.
    pub fn note(self, message: &str) {
        self.line("note", Color::Green, message);
    }

    fn line(self, kind: &str, colour: Color, message: &str) {
        let mut buffer = self.buffer();
        let _ = buffer.set_color(ColorSpec::new().set_fg(Some(colour)).set_bold(true));
        let _ = write!(buffer, "{kind}");
        let _ = buffer.set_color(ColorSpec::new().set_bold(true));
        let _ = write!(buffer, ": ");
        let _ = buffer.reset();
        let _ = writeln!(buffer, "{}", printable(message));
        self.print(&buffer);
    }

    /// A line that the next one replaces, on a terminal; empty to remove it.
    pub fn status(self, text: &str) {
        if self.interactive {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[K{}", printable(text));
        }
    }

    /// Text as it is.
    pub fn say(self, text: &str) {
        let mut buffer = self.buffer();
        let _ = writeln!(buffer, "{}", printable(text));
        self.print(&buffer);
    }
}

impl Counts {
    /// `2 errors, 1 warning`; empty when there are none.
    pub fn describe(self) -> String {
        let count = |n: usize, what: &str| (n > 0).then(|| plural(n, what));
        let parts: Vec<_> =
            [count(self.errors, "error"), count(self.warnings, "warning")].into_iter().flatten().collect();
        parts.join(", ")
    }
}

/// The text without characters that would drive the terminal.
fn printable(text: &str) -> String {
    let harmless = |c: char| !c.is_control() || c == '\n' || c == '\t';
    text.chars().map(|c| if harmless(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// Draws diagnostics as [`Terminal::show`] does.
pub fn draw_all(buffer: &mut Buffer, sources: &SourceMap, diagnostics: &[Diagnostic]) -> Counts {
    let mut sorted: Vec<&Diagnostic> = diagnostics.iter().collect();
    sorted.sort_by_key(|diagnostic| {
        let place = diagnostic.primary.as_ref().map(|label| (label.span.file, label.span.start));
        (place.is_none(), place, std::cmp::Reverse(diagnostic.severity))
    });
    let mut places = HashSet::new();
    sorted.retain(|diagnostic| match &diagnostic.primary {
        Some(label) => places.insert(label.span),
        None => true,
    });
    let files = DrawnFiles::new(sources);
    let drawn = chosen(&sorted);
    let mut counts = Counts::default();
    for (diagnostic, is_drawn) in sorted.iter().zip(drawn) {
        match diagnostic.severity {
            Severity::Error => counts.errors += 1,
            Severity::Warning => counts.warnings += 1,
            Severity::Note => {}
        }
        if is_drawn {
            draw(buffer, &files, diagnostic);
        }
    }
    if sorted.len() > MAX_DRAWN {
        let _ = writeln!(buffer, "… and {} more\n", sorted.len() - MAX_DRAWN);
    }
    counts
}

/// Which of many diagnostics are drawn: no warning takes the place of an error.
fn chosen(sorted: &[&Diagnostic]) -> Vec<bool> {
    let is_error = |diagnostic: &Diagnostic| diagnostic.severity == Severity::Error;
    let n_errors = sorted.iter().filter(|diagnostic| is_error(diagnostic)).count();
    let (mut errors, mut others) = (MAX_DRAWN, MAX_DRAWN.saturating_sub(n_errors));
    let takes = |room: &mut usize| {
        let there = *room > 0;
        *room = room.saturating_sub(1);
        there
    };
    sorted.iter().map(|diagnostic| takes(if is_error(diagnostic) { &mut errors } else { &mut others })).collect()
}

fn draw(buffer: &mut Buffer, files: &DrawnFiles, diagnostic: &Diagnostic) {
    let severity = match diagnostic.severity {
        Severity::Error => drawn::Severity::Error,
        Severity::Warning => drawn::Severity::Warning,
        Severity::Note => drawn::Severity::Note,
    };
    let mut notes: Vec<String> = diagnostic.notes.iter().map(|note| printable(note)).collect();
    notes.extend(diagnostic.help.iter().map(|help| format!("help: {}", printable(help))));
    let mut labels = Vec::new();
    let primary = diagnostic.primary.iter().map(|label| (drawn::LabelStyle::Primary, label));
    let secondary = diagnostic.secondary.iter().map(|label| (drawn::LabelStyle::Secondary, label));
    for (style, label) in primary.chain(secondary) {
        if files.is_drawable(label.span) {
            let range = label.span.start as usize..label.span.end as usize;
            labels.push(drawn::Label::new(style, label.span.file, range).with_message(printable(&label.text)));
        } else {
            let (line, column) = files.sources.position(label.span);
            let name = files.sources.name(label.span.file);
            notes.push(format!("at {}:{line}:{column}: {}", printable(name), printable(&label.text)));
        }
    }
    let mut picture = drawn::Diagnostic::new(severity)
        .with_message(printable(&diagnostic.message))
        .with_labels(labels)
        .with_notes(notes);
    // Run-time errors of programs have no slug.
    picture.code = Some(diagnostic.slug.to_owned()).filter(|slug| !slug.is_empty());
    let styles = Styles::default();
    let config = Config { tab_width: 4, ..Config::default() };
    let _ = term::emit_to_write_style(&mut StylesWriter::new(&mut *buffer, &styles), &config, files, &picture);
}

/// The texts with their line starts, found when a text is first drawn.
struct DrawnFiles<'a> {
    sources: &'a SourceMap,
    line_starts: Vec<OnceCell<Vec<usize>>>,
}

impl<'a> DrawnFiles<'a> {
    fn new(sources: &'a SourceMap) -> Self {
        Self { sources, line_starts: (0..sources.len()).map(|_| OnceCell::new()).collect() }
    }

    fn starts(&self, id: FileId) -> Result<&Vec<usize>, Error> {
        let cell = self.line_starts.get(id.0 as usize).ok_or(Error::FileMissing)?;
        Ok(cell.get_or_init(|| codespan_reporting::files::line_starts(self.sources.text(id)).collect()))
    }

    /// True when the span lies in its text, on character boundaries, and its lines can be shown: they are not too
    /// long and have no characters that would drive the terminal.
    fn is_drawable(&self, span: Span) -> bool {
        let Ok(starts) = self.starts(span.file) else { return false };
        let text = self.sources.text(span.file);
        let (start, end) = (span.start as usize, span.end as usize);
        let boundaries = start <= end && text.is_char_boundary(start) && text.is_char_boundary(end);
        let line = |offset: usize| starts.partition_point(|begin| *begin <= offset) - 1;
        boundaries
            && [line(start), line(end)].into_iter().all(|at| {
                let line_end = starts.get(at + 1).copied().unwrap_or(text.len());
                let line = &text[starts[at]..line_end];
                line.len() <= MAX_LINE_BYTES
                    && !line.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\r' | '\n'))
            })
    }
}

impl<'a> Files<'a> for DrawnFiles<'a> {
    type FileId = FileId;
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, id: FileId) -> Result<&'a str, Error> {
        Ok(self.sources.name(id))
    }

    fn source(&'a self, id: FileId) -> Result<&'a str, Error> {
        Ok(self.sources.text(id))
    }

    fn line_index(&'a self, id: FileId, offset: usize) -> Result<usize, Error> {
        Ok(self.starts(id)?.partition_point(|begin| *begin <= offset).saturating_sub(1))
    }

    fn line_range(&'a self, id: FileId, line: usize) -> Result<Range<usize>, Error> {
        let starts = self.starts(id)?;
        let missing = || Error::LineTooLarge { given: line, max: starts.len().saturating_sub(1) };
        let start = *starts.get(line).ok_or_else(missing)?;
        Ok(start..starts.get(line + 1).copied().unwrap_or_else(|| self.sources.text(id).len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawing(sources: &SourceMap, diagnostics: &[Diagnostic]) -> (String, Counts) {
        let mut buffer = Buffer::no_color();
        let counts = draw_all(&mut buffer, sources, diagnostics);
        (String::from_utf8_lossy(buffer.as_slice()).into_owned(), counts)
    }

    #[test]
    fn no_warning_takes_the_place_of_an_error() {
        let warnings = (0..MAX_DRAWN).map(|n| Diagnostic::warning("impure-guard", format!("warning {n}")));
        let errors = (0..3).map(|n| Diagnostic::error("unknown-port", format!("error {n}")));
        let (text, counts) = drawing(&SourceMap::default(), &warnings.chain(errors).collect::<Vec<_>>());
        assert_eq!(counts, Counts { errors: 3, warnings: MAX_DRAWN });
        assert!((0..3).all(|n| text.contains(&format!("error {n}"))), "{text}");
        assert!(text.contains(&format!("warning {}\n", MAX_DRAWN - 4)) && text.contains("… and 3 more"), "{text}");
    }

    #[test]
    fn places_notes_and_help_are_drawn() {
        let mut sources = SourceMap::default();
        let file = sources.add("Aes.nl", "one\nkey.Out --> round.Key;\nkey.Go --> round.Go;\n");
        let diagnostic = Diagnostic::error("rate-mismatch", "no repetition vector")
            .at(Span::new(file, 4, 26), "`key` makes 16 tokens a firing")
            .also(Span::new(file, 27, 46), "1 and 1")
            .note("16 r = 11 s")
            .help("change a rate");
        let (text, counts) = drawing(&sources, &[diagnostic]);
        assert_eq!(counts, Counts { errors: 1, warnings: 0 });
        for expected in [
            "error[rate-mismatch]: no repetition vector",
            "Aes.nl:2:1",
            "^^^^",
            "----",
            "= 16 r = 11 s",
            "= help: change",
        ] {
            assert!(text.contains(expected), "{expected} is missing in\n{text}");
        }
    }

    #[test]
    fn one_problem_a_place_in_the_order_of_places() {
        let mut sources = SourceMap::default();
        let file = sources.add("A.cal", "abc def");
        let at =
            |start, message: &str| Diagnostic::error("syntax-error", message).at(Span::new(file, start, start + 3), "");
        let (text, counts) = drawing(&sources, &[at(4, "second"), at(0, "first"), at(0, "again")]);
        assert_eq!(counts.errors, 2);
        assert!(text.find("first") < text.find("second"));
        assert!(!text.contains("again"));
    }

    #[test]
    fn wild_spans_long_lines_and_control_characters_are_survived() {
        let mut sources = SourceMap::default();
        let long = sources.add("long.cal", "x".repeat(100_000));
        let wide = sources.add("wide.cal", "ääää\u{1b}[31m");
        let diagnostics = [
            Diagnostic::error("syntax-error", "in a long line \u{1b}[31m").at(Span::new(long, 5000, 5001), "here"),
            Diagnostic::error("syntax-error", "inside a character").at(Span::new(wide, 1, 3), "here"),
            Diagnostic::error("syntax-error", "beyond the end").at(Span::new(wide, 500, 600), "here"),
            Diagnostic::error("syntax-error", "at the end").at(Span::new(wide, 13, 13), "here"),
        ];
        let (text, counts) = drawing(&sources, &diagnostics);
        assert_eq!(counts.errors, 4);
        assert!(text.len() < 5000, "{}", text.len());
        assert!(text.contains("long.cal:1:5001"));
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}
