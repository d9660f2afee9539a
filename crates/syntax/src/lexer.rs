//! Text to lexemes: the smallest parts that the grammar knows, and the comments between them.
//!
//! One pass over the bytes. Whatever cannot start a lexeme is reported once for each run of such characters and left
//! out, so that the parser sees a sequence of good lexemes that ends in [`Kind::Eof`]. The bytes of a text are exactly:
//! blanks, comments, lexemes, and what a diagnostic was reported for.

use headrace_source::{Diagnostic, FileId, Span};

use crate::problems::Problems;

/// The longest text that is read. A tree takes up to some fifty times the memory of its text.
pub const MAX_FILE_BYTES: usize = 64 << 20;

/// One lexeme or comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lexeme {
    /// What it is.
    pub kind: Kind,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Lexeme {
    /// The bytes that it was written with.
    pub fn text(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

macro_rules! kinds {
    (keywords { $($keyword:ident $word:literal,)* } symbols { $($symbol:ident $sign:literal,)* }) => {
        /// Kinds of lexemes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)] // one variant a keyword or sign, written beside it
        pub enum Kind {
            Ident,
            Int,
            Real,
            Str,
            LineComment,
            BlockComment,
            $($keyword,)*
            $($symbol,)*
            Eof,
        }

        impl Kind {
            /// The text of a keyword or sign; `None` for the other kinds.
            pub fn fixed_text(self) -> Option<&'static str> {
                match self {
                    $(Kind::$keyword => Some($word),)*
                    $(Kind::$symbol => Some($sign),)*
                    _ => None,
                }
            }

            /// True for words that cannot be names.
            pub fn is_keyword(self) -> bool {
                matches!(self, $(Kind::$keyword)|*)
            }
        }

        pub(crate) fn keyword(word: &str) -> Kind {
            match word {
                $($word => Kind::$keyword,)*
                _ => Kind::Ident,
            }
        }
    };
}

// `half`, `double`, `size`, `type` and `local`, which Orcc reserves, and the words that only networks use are told from
// names by where they stand.
kinds! {
    keywords {
        Action "action",
        Actor "actor",
        And "and",
        Begin "begin",
        Bool "bool",
        DivInt "div",
        Do "do",
        Else "else",
        Elsif "elsif",
        End "end",
        False "false",
        Float "float",
        For "for",
        Foreach "foreach",
        Fsm "fsm",
        Function "function",
        Guard "guard",
        If "if",
        Import "import",
        In "in",
        Initialize "initialize",
        IntType "int",
        ListType "List",
        Mod "mod",
        Not "not",
        Or "or",
        Package "package",
        Priority "priority",
        Procedure "procedure",
        Regexp "regexp",
        Repeat "repeat",
        Schedule "schedule",
        StringType "String",
        Then "then",
        True "true",
        UintType "uint",
        Unit "unit",
        Var "var",
        While "while",
    }
    symbols {
        Plus "+",
        Minus "-",
        Star "*",
        StarStar "**",
        Slash "/",
        Amp "&",
        AmpAmp "&&",
        Bar "|",
        BarBar "||",
        Caret "^",
        Tilde "~",
        Shl "<<",
        Shr ">>",
        Eq "=",
        EqEq "==",
        Ne "!=",
        Lt "<",
        Le "<=",
        Gt ">",
        Ge ">=",
        Hash "#",
        Assign ":=",
        LongArrow "-->",
        DoubleArrow "==>",
        FatArrow "=>",
        DotDot "..",
        Colon ":",
        Semicolon ";",
        Comma ",",
        Dot ".",
        Question "?",
        At "@",
        OpenParen "(",
        CloseParen ")",
        OpenBracket "[",
        CloseBracket "]",
        OpenBrace "{",
        CloseBrace "}",
    }
}

/// What [`lex`] returns.
pub struct Lexed {
    /// Without comments; the last one is [`Kind::Eof`].
    pub lexemes: Vec<Lexeme>,
    /// In order.
    pub comments: Vec<Lexeme>,
    /// What was wrong, in order.
    pub(crate) problems: Problems,
}

/// Splits a text into lexemes. `text` is at most [`MAX_FILE_BYTES`] long; a longer one gives only a diagnostic.
pub fn lex(file: FileId, text: &str) -> Lexed {
    let mut lexer = Lexer {
        file,
        text,
        bytes: text.as_bytes(),
        at: 0,
        lexemes: Vec::new(),
        comments: Vec::new(),
        problems: Problems::default(),
    };
    if text.len() > MAX_FILE_BYTES {
        lexer.problems.push(
            Diagnostic::error(
                "file-too-large",
                format!("the file has {} bytes; at most {MAX_FILE_BYTES} are read", text.len()),
            )
            .at(Span::new(file, 0, 0), ""),
        );
        lexer.at = text.len();
    } else {
        lexer.lexemes.reserve(text.len() / 5 + 1);
        lexer.run();
    }
    let end = lexer.at as u32;
    lexer.lexemes.push(Lexeme { kind: Kind::Eof, start: end, end });
    Lexed { lexemes: lexer.lexemes, comments: lexer.comments, problems: lexer.problems }
}

struct Lexer<'a> {
    file: FileId,
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    lexemes: Vec<Lexeme>,
    comments: Vec<Lexeme>,
    problems: Problems,
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

static WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = is_word(byte as u8);
        byte += 1;
    }
    table
};

impl Lexer<'_> {
    fn run(&mut self) {
        if self.text.starts_with('\u{feff}') {
            self.at = 3;
        }
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0c => self.at += 1,
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(),
                b'0'..=b'9' => self.number(),
                b'"' | b'\'' => self.string(byte),
                b'/' if self.peek(1) == b'/' => self.line_comment(),
                b'/' if self.peek(1) == b'*' => self.block_comment(),
                b'.' if self.peek(1).is_ascii_digit() => self.number(),
                _ => self.symbol(byte),
            }
        }
    }

    /// The byte `ahead` of the current one, 0 beyond the end.
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn span(&self, start: usize) -> Span {
        Span::new(self.file, start, self.at)
    }

    fn push(&mut self, kind: Kind, start: usize) {
        self.lexemes.push(Lexeme { kind, start: start as u32, end: self.at as u32 });
    }

    fn skip_word(&mut self) {
        while WORD[self.peek(0) as usize] {
            self.at += 1;
        }
    }

    fn word(&mut self) {
        let start = self.at;
        self.skip_word();
        let word = &self.text[start..self.at];
        self.push(keyword(word), start);
    }

    fn digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    fn number(&mut self) {
        let start = self.at;
        let radix = match (self.peek(0), self.peek(1)) {
            (b'0', b'x' | b'X') => Some("hexadecimal"),
            (b'0', b'b' | b'B') => Some("binary"),
            _ => None,
        };
        if let Some(radix) = radix {
            self.at += 2;
            self.skip_word();
            let digits = &self.bytes[start + 2..self.at];
            let good = !digits.is_empty()
                && digits.iter().all(|digit| match radix {
                    "binary" => matches!(digit, b'0' | b'1'),
                    _ => digit.is_ascii_hexdigit(),
                });
            if !good {
                self.malformed_number(start, format!("not a {radix} number"), None);
            }
            return self.push(Kind::Int, start);
        }
        self.digits();
        let mut kind = Kind::Int;
        // `1..3` is a range: the two dots win over the real number `1.`
        if self.peek(0) == b'.' && self.peek(1) != b'.' {
            kind = Kind::Real;
            self.at += 1;
            self.digits();
        }
        if matches!(self.peek(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if self.peek(1 + sign).is_ascii_digit() {
                kind = Kind::Real;
                self.at += 1 + sign;
                self.digits();
            }
        }
        let number_end = self.at;
        self.skip_word();
        if self.at > number_end {
            let message = format!("`{}` is neither a number nor a name", shortened(&self.text[start..self.at]));
            self.malformed_number(start, message, None);
            kind = Kind::Int;
        } else if kind == Kind::Int && self.at - start > 1 && self.bytes[start] == b'0' {
            let octal = self.bytes[start..self.at].iter().all(|digit| *digit < b'8');
            if !octal {
                self.malformed_number(
                    start,
                    "a number that starts with 0 is octal and has no digit 8 or 9".into(),
                    Some("leave out the leading 0 to write a decimal number"),
                );
            }
        }
        self.push(kind, start);
    }

    fn malformed_number(&mut self, start: usize, message: String, help: Option<&str>) {
        let mut diagnostic = Diagnostic::error("malformed-number", message).at(self.span(start), "");
        if let Some(help) = help {
            diagnostic = diagnostic.help(help);
        }
        self.problems.push(diagnostic);
    }

    fn string(&mut self, quote: u8) {
        let start = self.at;
        self.at += 1;
        loop {
            match self.bytes.get(self.at) {
                None | Some(b'\n') => {
                    if self.bytes[self.at - 1] == b'\r' {
                        self.at -= 1;
                    }
                    let quote = quote as char;
                    self.problems.push(
                        Diagnostic::error("unterminated-string", "the string does not end on its line")
                            .at(self.span(start), format!("no closing {quote} before the end of the line"))
                            .help("write \\n for a line break inside a string"),
                    );
                    break;
                }
                Some(b'\\') => {
                    // The escaped character, which may be a line break or several bytes long.
                    self.at += 1;
                    self.at += self.text[self.at..].chars().next().map_or(0, char::len_utf8);
                }
                Some(&byte) => {
                    self.at += 1;
                    if byte == quote {
                        break;
                    }
                }
            }
        }
        self.push(Kind::Str, start);
    }

    fn comment(&mut self, kind: Kind, start: usize) {
        self.comments.push(Lexeme { kind, start: start as u32, end: self.at as u32 });
    }

    fn line_comment(&mut self) {
        let start = self.at;
        let rest = &self.bytes[start..];
        self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        if self.bytes[self.at - 1] == b'\r' {
            self.at -= 1;
        }
        self.comment(Kind::LineComment, start);
    }

    fn block_comment(&mut self) {
        let start = self.at;
        match self.text[start + 2..].find("*/") {
            Some(length) => self.at = start + 2 + length + 2,
            None => {
                self.at = self.text.len();
                self.problems.push(
                    Diagnostic::error("unterminated-comment", "the comment does not end")
                        .at(Span::new(self.file, start, start + 2), "no `*/` after this `/*`"),
                );
            }
        }
        self.comment(Kind::BlockComment, start);
    }

    fn symbol(&mut self, byte: u8) {
        let next = self.peek(1);
        let (kind, length) = match (byte, next) {
            (b'+', _) => (Kind::Plus, 1),
            (b'-', b'-') if self.peek(2) == b'>' => (Kind::LongArrow, 3),
            (b'-', _) => (Kind::Minus, 1),
            (b'*', b'*') => (Kind::StarStar, 2),
            (b'*', _) => (Kind::Star, 1),
            (b'/', _) => (Kind::Slash, 1),
            (b'&', b'&') => (Kind::AmpAmp, 2),
            (b'&', _) => (Kind::Amp, 1),
            (b'|', b'|') => (Kind::BarBar, 2),
            (b'|', _) => (Kind::Bar, 1),
            (b'^', _) => (Kind::Caret, 1),
            (b'~', _) => (Kind::Tilde, 1),
            (b'<', b'<') => (Kind::Shl, 2),
            (b'<', b'=') => (Kind::Le, 2),
            (b'<', _) => (Kind::Lt, 1),
            (b'>', b'>') => (Kind::Shr, 2),
            (b'>', b'=') => (Kind::Ge, 2),
            (b'>', _) => (Kind::Gt, 1),
            (b'=', b'=') if self.peek(2) == b'>' => (Kind::DoubleArrow, 3),
            (b'=', b'=') => (Kind::EqEq, 2),
            (b'=', b'>') => (Kind::FatArrow, 2),
            (b'=', _) => (Kind::Eq, 1),
            (b'!', b'=') => (Kind::Ne, 2),
            (b'#', _) => (Kind::Hash, 1),
            (b':', b'=') => (Kind::Assign, 2),
            (b':', _) => (Kind::Colon, 1),
            (b';', _) => (Kind::Semicolon, 1),
            (b',', _) => (Kind::Comma, 1),
            (b'.', b'.') => (Kind::DotDot, 2),
            (b'.', _) => (Kind::Dot, 1),
            (b'?', _) => (Kind::Question, 1),
            (b'@', _) => (Kind::At, 1),
            (b'(', _) => (Kind::OpenParen, 1),
            (b')', _) => (Kind::CloseParen, 1),
            (b'[', _) => (Kind::OpenBracket, 1),
            (b']', _) => (Kind::CloseBracket, 1),
            (b'{', _) => (Kind::OpenBrace, 1),
            (b'}', _) => (Kind::CloseBrace, 1),
            _ => return self.junk(byte),
        };
        let start = self.at;
        self.at += length;
        self.push(kind, start);
    }

    /// Skips a run of characters that no lexeme starts with.
    fn junk(&mut self, first: u8) {
        let start = self.at;
        for c in self.text[start..].chars() {
            let good = c.is_ascii_graphic() && !matches!(c, '!' | '%' | '$' | '\\' | '`');
            if good || c.is_ascii_whitespace() {
                break;
            }
            self.at += c.len_utf8();
        }
        let run = &self.text[start..self.at];
        let message = match run.chars().count() {
            1 if first.is_ascii_graphic() => format!("`{run}` has no meaning here"),
            1 => format!("unexpected character {}", described(run)),
            count => format!("{count} unexpected characters"),
        };
        let mut diagnostic = Diagnostic::error("unexpected-character", message).at(self.span(start), "");
        match run {
            "%" => diagnostic = diagnostic.help("the remainder is written `a mod b`"),
            "!" => diagnostic = diagnostic.help("negation is written `not a`"),
            _ => {}
        }
        self.problems.push(diagnostic);
        if self.at == start {
            self.at += 1;
        }
    }
}

/// True for what can be a name in a program: a word that is no keyword.
pub fn is_name(text: &str) -> bool {
    is_identifier(text) && keyword(text) == Kind::Ident
}

/// True for a word, be it a keyword or not.
pub(crate) fn is_identifier(text: &str) -> bool {
    text.bytes().all(|byte| WORD[byte as usize]) && text.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
}

/// A character named so that also an invisible one can be recognised.
fn described(run: &str) -> String {
    run.chars()
        .next()
        .map(|c| match c {
            c if c.is_control() || c.is_whitespace() => format!("U+{:04X}", c as u32),
            c => format!("`{c}` (U+{:04X})", c as u32),
        })
        .unwrap_or_default()
}

/// The start of a text that may be long.
pub(crate) fn shortened(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_string(),
    }
}

/// The value of a string literal, with its quotes given. `Err` holds the byte offsets, within the literal, of an
/// escape that means nothing.
pub(crate) fn unescape(literal: &str) -> Result<String, (usize, usize)> {
    let mut inner = literal;
    if let Some(quote) = literal.chars().next() {
        inner = inner.strip_prefix(quote).unwrap_or(inner);
        inner = inner.strip_suffix(quote).unwrap_or(inner);
    }
    let mut value = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        value.push_str(&rest[..at]);
        let offset = 1 + inner.len() - rest.len() + at;
        let escape = &rest[at + 1..];
        let Some(c) = escape.chars().next() else {
            // Only an unterminated string ends in a backslash, and that is reported already.
            return Ok(value);
        };
        let mut length = c.len_utf8();
        value.push(match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            '0' => '\0',
            '"' | '\'' | '\\' | '\n' => c,
            'u' => {
                length = 5;
                escape
                    .get(1..5)
                    .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
                    .and_then(|digits| u32::from_str_radix(digits, 16).ok())
                    .and_then(char::from_u32)
                    .ok_or((offset, offset + 2))?
            }
            _ => return Err((offset, offset + 1 + length)),
        });
        rest = &escape[length..];
    }
    value.push_str(rest);
    Ok(value)
}

/// The literal that [`unescape`] reads back, in double quotes.
pub(crate) fn escaped(value: &str) -> String {
    let mut literal = String::with_capacity(value.len() + 2);
    literal.push('"');
    for c in value.chars() {
        match c {
            '"' | '\\' => {
                literal.push('\\');
                literal.push(c);
            }
            '\n' => literal.push_str("\\n"),
            '\t' => literal.push_str("\\t"),
            '\r' => literal.push_str("\\r"),
            c if c.is_control() && (c as u32) < 0x10000 => {
                literal.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => literal.push(c),
        }
    }
    literal.push('"');
    literal
}
