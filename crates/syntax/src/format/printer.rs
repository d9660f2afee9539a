//! Marks to text: decides which possible line breaks become real ones.
//!
//! A group whose content fits on the rest of the line is printed flat. Otherwise its consistent breaks all become line
//! breaks, and a filling break becomes one only when what follows it, up to the next break of the group, does not fit.

use super::LINE_WIDTH;

/// Blanks for each level of indentation.
const INDENT: usize = 4;

/// One step of a layout.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mark {
    /// A lexeme: bytes of the source.
    Text(u32, u32),
    /// A comment: bytes of the source. It has no width, so that it never breaks the code before it.
    Comment(u32, u32),
    /// One blank, left out at the end of a line.
    Space,
    /// Starts a group whose lines are indented by so many levels.
    Begin(usize),
    /// Indents lines by one level, up to the `End`, and breaks where the group around it breaks.
    Indent,
    /// Ends a group or an indentation.
    End,
    /// A blank (or nothing) that becomes a line break when the group is broken.
    Break {
        /// The flat form is a blank.
        space: bool,
        /// Break only where the line is full.
        fill: bool,
    },
    /// A line break.
    Hard,
    /// A line break unless one is due already; then the indentation of that one stays.
    Fresh,
    /// With the line break that is due comes an empty line, once and not at the start of a block.
    Blank,
    /// The start of a block: no empty line may follow.
    Opener,
}

/// More than any line.
const ENDLESS: u64 = 1 << 32;

pub(super) fn print(text: &str, marks: &[Mark]) -> String {
    let widths = widths(text, marks);
    let mut printer = Printer {
        text,
        out: String::with_capacity(text.len() + text.len() / 8),
        column: 0,
        newline: None,
        blank: false,
        space: false,
        opener: true,
    };
    // Of each open group: whether it is flat, and its indentation.
    let mut groups = vec![(false, 0usize)];
    for (mark, &width) in marks.iter().zip(&widths) {
        let (flat, indent) = groups.last().copied().unwrap_or((false, 0));
        match *mark {
            Mark::Text(start, end) => printer.lexeme(start, end),
            Mark::Comment(start, end) => printer.comment(start, end),
            Mark::Space => printer.space = true,
            Mark::Begin(levels) => {
                let fits = flat || printer.fits(width);
                groups.push((fits, indent + levels));
            }
            Mark::Indent => groups.push((flat, indent + 1)),
            Mark::End => {
                if groups.len() > 1 {
                    groups.pop();
                }
            }
            Mark::Break { space, fill } => {
                let stay = flat || (fill && printer.fits(width));
                if !stay {
                    printer.newline = Some(indent);
                } else if space {
                    printer.space = true;
                }
            }
            Mark::Hard => printer.newline = Some(indent),
            Mark::Fresh => printer.newline = printer.newline.or(Some(indent)),
            Mark::Blank => printer.blank |= !printer.opener,
            Mark::Opener => printer.opener = true,
        }
    }
    printer.out.push('\n');
    printer.out
}

/// For a `Begin` and a `Break`, the width of what has to fit behind it; 0 for the other marks.
fn widths(text: &str, marks: &[Mark]) -> Vec<u64> {
    let mut before = Vec::with_capacity(marks.len() + 1);
    let mut total = 0u64;
    for mark in marks {
        before.push(total);
        total += match *mark {
            Mark::Text(start, end) => match text.get(start as usize..end as usize) {
                Some(lexeme) if lexeme.contains('\n') => ENDLESS,
                Some(lexeme) => lexeme.chars().count() as u64,
                None => 0,
            },
            Mark::Space | Mark::Break { space: true, .. } => 1,
            Mark::Hard | Mark::Fresh => ENDLESS,
            _ => 0,
        };
    }
    before.push(total);
    // From the back: where the text that cannot be broken off ends.
    let mut widths = vec![0; marks.len()];
    let mut tail = total;
    let mut levels: Vec<(u64, u64)> = Vec::new();
    // The end of the current item of the group that is being passed.
    let mut item_end = tail;
    for (at, mark) in marks.iter().enumerate().rev() {
        match mark {
            Mark::End => {
                levels.push((item_end, tail));
                item_end = tail;
            }
            Mark::Begin(_) | Mark::Indent => {
                let (outer_item, group_tail) = levels.pop().unwrap_or((tail, tail));
                widths[at] = group_tail - before[at];
                item_end = outer_item;
            }
            Mark::Break { .. } => {
                widths[at] = item_end - before[at];
                item_end = before[at];
                tail = before[at];
            }
            Mark::Hard | Mark::Fresh => {
                item_end = before[at];
                tail = before[at];
            }
            _ => {}
        }
    }
    widths
}

struct Printer<'a> {
    text: &'a str,
    out: String,
    column: usize,
    /// A line break is due, with this indentation.
    newline: Option<usize>,
    blank: bool,
    space: bool,
    opener: bool,
}

impl Printer<'_> {
    fn fits(&self, width: u64) -> bool {
        let column = match self.newline {
            Some(indent) => indent * INDENT,
            None => self.column + usize::from(self.space),
        };
        column as u64 + width <= LINE_WIDTH as u64
    }

    /// Writes the blanks and line breaks that are due.
    fn settle(&mut self) {
        match self.newline {
            _ if self.out.is_empty() => {}
            Some(indent) => {
                self.out.push('\n');
                if self.blank {
                    self.out.push('\n');
                }
                for _ in 0..indent * INDENT {
                    self.out.push(' ');
                }
                self.column = indent * INDENT;
            }
            None if self.space => {
                self.out.push(' ');
                self.column += 1;
            }
            None => {}
        }
        self.newline = None;
        self.blank = false;
        self.space = false;
        self.opener = false;
    }

    fn write(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn lexeme(&mut self, start: u32, end: u32) {
        self.settle();
        self.write(self.text.get(start as usize..end as usize).unwrap_or(""));
    }

    fn comment(&mut self, start: u32, end: u32) {
        self.settle();
        let column = self.column;
        let comment = self.text.get(start as usize..end as usize).unwrap_or("");
        let starred = comment.lines().skip(1).all(|line| line.trim_start().starts_with('*'));
        for (at, line) in comment.lines().enumerate() {
            if at == 0 {
                self.write(line.trim_end());
                continue;
            }
            self.out.push('\n');
            self.column = 0;
            if starred {
                for _ in 0..column + 1 {
                    self.out.push(' ');
                }
                self.column = column + 1;
                self.write(line.trim());
            } else {
                self.write(line.trim_end());
            }
        }
    }
}
