//! The reader of known-answer files.
//!
//! One text format for all primitives: `#` comments, records separated by empty lines, `Name = value` lines, every
//! record beginning with `Count`. Values are hex byte strings unless the name says otherwise ([`kind_of`]). The
//! reader knows the format only; what a field is for stands in the manifest.

use headrace_source::{Diagnostic, FileId, Slug, Span};
use num_bigint::BigUint;

/// A known-answer file does not follow its format.
pub const FORMAT: Slug = "known-answer-format";

/// Longer files are refused, so that memory stays bounded.
pub const MAX_FILE_BYTES: usize = 16 << 20;

/// Later problems of a file are only counted.
const MAX_PROBLEMS: usize = 100;

/// More fields than any record has.
const MAX_FIELDS: usize = 64;

/// More digits than any decimal field can need.
const MAX_DIGITS: usize = 400;

/// How the value of a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Hex bytes.
    Hex,
    /// A decimal number.
    Decimal,
    /// Any text.
    Text,
    /// Hex words separated by single spaces.
    Words,
    /// A string of 0 and 1.
    Bits,
}

/// How the value of the field of that name is written.
pub fn kind_of(name: &str) -> ValueKind {
    match name {
        "Count" | "Taglen" | "Outlen" | "Counter" | "Rounds" | "Offset" | "W" | "A" | "C" | "Period" => {
            ValueKind::Decimal
        }
        "Source" | "Comment" | "Mode" | "Direction" | "Type" | "Kind" | "Cipher" | "Pad" | "Order" | "Alphabet"
        | "Alg" | "Param" | "Text" | "Name" | "Result" => ValueKind::Text,
        "Out" => ValueKind::Words,
        "Bits" => ValueKind::Bits,
        _ => ValueKind::Hex,
    }
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A byte string.
    Bytes(Vec<u8>),
    /// A number.
    Number(BigUint),
    /// A text, as it stands.
    Text,
    /// Words, each as bytes.
    Words(Vec<Vec<u8>>),
    /// Bits.
    Bits(Vec<bool>),
}

/// One line of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The value as it stands in the file.
    pub text: String,
    /// What it says.
    pub value: Value,
    /// Place of the name.
    pub span: Span,
    /// Place of the value.
    pub value_span: Span,
}

impl Field {
    /// The value as the bytes of a message: hex bytes, or the characters of a text. `None` for other kinds.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.value {
            Value::Bytes(bytes) => Some(bytes),
            Value::Text => Some(self.text.as_bytes()),
            _ => None,
        }
    }
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its index in the set that it was drawn from.
    pub count: u64,
    /// Its fields in order, `Count` included.
    pub fields: Vec<Field>,
    /// Its place: the first line.
    pub span: Span,
    /// Whether it must be rejected (`Result = FAIL`).
    pub must_fail: bool,
}

impl Record {
    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// A known-answer file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct VectorFile {
    /// All records that could be read, in order.
    pub records: Vec<Record>,
}

impl VectorFile {
    /// Reads a file. All problems are reported; records that have one are left out.
    pub fn parse(file: FileId, bytes: &[u8]) -> (VectorFile, Vec<Diagnostic>) {
        if bytes.len() > MAX_FILE_BYTES {
            return refuse(
                Span::new(file, 0, 0),
                format!("the file has {} bytes; known-answer files have at most {MAX_FILE_BYTES}", bytes.len()),
            );
        }
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let at = error.valid_up_to();
                return refuse(Span::new(file, at, at), format!("the file is not text: byte {at} is not UTF-8"));
            }
        };
        let mut reader =
            Reader { file, result: VectorFile::default(), problems: Vec::new(), n_problems: 0, open: None };
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            reader.line(line, start);
            start += line.len();
        }
        reader.close();
        if reader.result.records.is_empty() && reader.n_problems == 0 {
            reader.problem(Span::new(file, 0, 0), "the file has no records", "");
        }
        if reader.n_problems > reader.problems.len() {
            let more = reader.n_problems - reader.problems.len();
            if let Some(last) = reader.problems.last_mut() {
                last.notes.push(format!("{more} more problems are not shown"));
            }
        }
        (reader.result, reader.problems)
    }
}

fn refuse(span: Span, message: String) -> (VectorFile, Vec<Diagnostic>) {
    (VectorFile::default(), vec![Diagnostic::error(FORMAT, message).at(span, "")])
}

/// A record that is being read.
struct Open {
    span: Span,
    fields: Vec<Field>,
    sound: bool,
}

struct Reader {
    file: FileId,
    result: VectorFile,
    problems: Vec<Diagnostic>,
    n_problems: usize,
    open: Option<Open>,
}

impl Reader {
    fn problem(&mut self, span: Span, message: impl Into<String>, label: &str) {
        if let Some(open) = &mut self.open {
            open.sound = false;
        }
        self.n_problems += 1;
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Diagnostic::error(FORMAT, message).at(span, label));
        }
    }

    /// One line with its end, and the offset of its first byte.
    fn line(&mut self, line: &str, start: usize) {
        if line.starts_with('#') {
            return;
        }
        let content = line.trim_end();
        if content.is_empty() {
            self.close();
            return;
        }
        let indent = content.len() - content.trim_start().len();
        let span = Span::new(self.file, start + indent, start + content.len());
        let opened = self.open.is_none();
        if opened {
            self.open = Some(Open { span, fields: Vec::new(), sound: true });
        }
        let Some((name, value)) = content.split_once('=') else {
            self.problem(span, "a line is `Name = value`, a comment, or empty", "this has no `=`");
            return;
        };
        let value_start = start + name.len() + 1 + (value.len() - value.trim_start().len());
        let name = name.trim();
        let value = value.trim();
        let name_span = Span::new(self.file, start + indent, start + indent + name.len());
        let value_span = Span::new(self.file, value_start.min(start + content.len()), start + content.len());
        let good = name.len() <= 64
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !good {
            self.problem(
                name_span,
                "the name of a field has up to 64 letters, digits and `_`, and begins with a letter",
                "this does not",
            );
            return;
        }
        if opened && name != "Count" {
            self.problem(name_span, "a record begins with `Count`", "this record does not");
        }
        if self.open.as_ref().is_some_and(|open| open.fields.len() >= MAX_FIELDS) {
            self.problem(name_span, format!("a record has at most {MAX_FIELDS} fields"), "one too many");
            return;
        }
        let duplicate = self.open.as_ref().is_some_and(|open| open.fields.iter().any(|field| field.name == name));
        if duplicate {
            let message = if name == "Count" {
                "records are separated by an empty line"
            } else {
                "a field occurs twice in one record"
            };
            self.problem(name_span, message, "the second");
            return;
        }
        match parse_value(kind_of(name), value) {
            Ok(value_read) => {
                if let Some(open) = &mut self.open {
                    open.fields.push(Field {
                        name: name.to_owned(),
                        text: value.to_owned(),
                        value: value_read,
                        span: name_span,
                        value_span,
                    });
                }
            }
            Err((at, message)) => {
                let start = (value_span.start as usize).saturating_add(at);
                let span = Span::new(self.file, start.min(value_span.end as usize), value_span.end as usize);
                self.problem(span, format!("the value of `{name}` {message}"), "here");
            }
        }
    }

    /// The end of a record, if one is open.
    fn close(&mut self) {
        let Some(open) = &self.open else { return };
        let span = open.span;
        let field = |name: &str| open.fields.iter().find(|field| field.name == name);
        let count = field("Count").and_then(|field| match &field.value {
            Value::Number(number) => u64::try_from(number).ok(),
            _ => None,
        });
        let result = field("Result").map(|field| (field.text.clone(), field.value_span));
        if count.is_none() && open.sound {
            self.problem(span, "`Count` must be below 2^64", "in this record");
        }
        let must_fail = match result {
            None => false,
            Some((text, span)) => {
                if text != "FAIL" {
                    self.problem(span, "the only `Result` is `FAIL`; valid records have none", "here");
                }
                true
            }
        };
        if let (Some(open), Some(count)) = (self.open.take(), count)
            && open.sound
        {
            self.result.records.push(Record { count, fields: open.fields, span, must_fail });
        }
    }
}

/// The value, or where in the text and what is wrong with it.
fn parse_value(kind: ValueKind, text: &str) -> Result<Value, (usize, String)> {
    match kind {
        ValueKind::Text => Ok(Value::Text),
        ValueKind::Hex => hex(text).map(Value::Bytes),
        ValueKind::Decimal => {
            if let Some(at) = text.bytes().position(|b| !b.is_ascii_digit()) {
                return Err((at, "must be a decimal number".into()));
            }
            if text.len() > MAX_DIGITS {
                return Err((0, format!("has more than {MAX_DIGITS} digits")));
            }
            text.parse().map(Value::Number).map_err(|_| (0, "must be a decimal number".into()))
        }
        ValueKind::Words => {
            let mut words = Vec::new();
            let mut at = 0;
            for word in text.split(' ') {
                if word.is_empty() {
                    return Err((at, "must be hex words with single spaces".into()));
                }
                words.push(hex(word).map_err(|(inner, message)| (at + inner, message))?);
                at += word.len() + 1;
            }
            Ok(Value::Words(words))
        }
        ValueKind::Bits => {
            if let Some(at) = text.bytes().position(|b| b != b'0' && b != b'1') {
                return Err((at, "must be a string of 0 and 1".into()));
            }
            Ok(Value::Bits(text.bytes().map(|b| b == b'1').collect()))
        }
    }
}

/// Bytes of an even number of hex digits; otherwise the offset of the problem and the problem.
pub(crate) fn hex(text: &str) -> Result<Vec<u8>, (usize, String)> {
    let digits = text.as_bytes();
    let digit = |b: u8| (b as char).to_digit(16).map(|d| d as u8);
    if let Some(at) = digits.iter().position(|b| digit(*b).is_none()) {
        let shown = text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or('\u{fffd}');
        return Err((at, format!("has `{}`, which is no hex digit", shown.escape_debug())));
    }
    if !digits.len().is_multiple_of(2) {
        return Err((digits.len() - 1, format!("has {} hex digits; a byte has two", digits.len())));
    }
    Ok(digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |byte, b| byte << 4 | digit(*b).unwrap_or(0))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (VectorFile, Vec<String>) {
        let (file, problems) = VectorFile::parse(FileId(0), text.as_bytes());
        let shown = problems
            .iter()
            .map(|p| {
                let span = p.primary.as_ref().unwrap().span;
                let cut = &text[span.start as usize..span.end as usize];
                format!("{} @ {cut}", p.message)
            })
            .collect();
        (file, shown)
    }

    #[test]
    fn reads_every_kind_of_value() {
        let (file, problems) = parse(
            "# head\n\nCount = 7\r\nKey = 00fF\r\nPT =\nText = Zg== \nOut = 0a 0b0c\nBits = 101\nC = 1442695040888963407\nResult = FAIL\n\n\n# tail\nCount = 9\nMsg = 61\n",
        );
        assert_eq!(problems, Vec::<String>::new());
        let [first, second] = file.records.as_slice() else { panic!("{file:?}") };
        assert_eq!((first.count, first.must_fail), (7, true));
        assert_eq!((second.count, second.must_fail), (9, false));
        let value = |name: &str| first.field(name).unwrap().value.clone();
        assert_eq!(value("Key"), Value::Bytes(vec![0, 255]));
        assert_eq!(value("PT"), Value::Bytes(vec![]));
        assert_eq!(first.field("Text").unwrap().bytes(), Some(&b"Zg=="[..]));
        assert_eq!(value("Out"), Value::Words(vec![vec![10], vec![11, 12]]));
        assert_eq!(value("Bits"), Value::Bits(vec![true, false, true]));
        assert_eq!(value("C"), Value::Number(BigUint::from(1442695040888963407u64)));
    }

    #[test]
    fn reports_all_problems_at_their_places() {
        let (file, problems) = parse(
            "Key = 00\n\nCount = 1\nKey = 0g\nPT = 012\nIV 00\n\nCount = x\n\nCount = 2\nKey = 00\nKey = 01\nResult = PASS\nOut = 00  00\nBits = 2\n9 = 00\n\nCount = 3\nCount = 4\n\nCount = 5\nKey = aa\n",
        );
        assert_eq!(
            problems,
            [
                "a record begins with `Count` @ Key",
                "the value of `Key` has `g`, which is no hex digit @ g",
                "the value of `PT` has 3 hex digits; a byte has two @ 2",
                "a line is `Name = value`, a comment, or empty @ IV 00",
                "the value of `Count` must be a decimal number @ x",
                "a field occurs twice in one record @ Key",
                "the value of `Out` must be hex words with single spaces @  00",
                "the value of `Bits` must be a string of 0 and 1 @ 2",
                "the name of a field has up to 64 letters, digits and `_`, and begins with a letter @ 9",
                "the only `Result` is `FAIL`; valid records have none @ PASS",
                "records are separated by an empty line @ Count",
            ]
        );
        assert_eq!(file.records.len(), 1, "only the sound record is kept");
        assert_eq!(file.records[0].count, 5);
    }

    #[test]
    fn survives_junk() {
        for junk in [&b"\xff\xfe\x00"[..], b"\0\0\0", b"=", b"\n=\n", b"Count", b""] {
            let (file, problems) = VectorFile::parse(FileId(0), junk);
            assert!(file.records.is_empty());
            assert!(!problems.is_empty(), "{junk:?}");
        }
        let many = "x\n\n".repeat(1000);
        let (_, problems) = VectorFile::parse(FileId(0), many.as_bytes());
        assert_eq!(problems.len(), MAX_PROBLEMS);
        assert_eq!(problems.last().unwrap().notes, ["900 more problems are not shown"]);
        let long = format!("Count = {}\n", "9".repeat(1_000_000));
        assert_eq!(VectorFile::parse(FileId(0), long.as_bytes()).1.len(), 1);
    }

    #[test]
    fn a_record_has_a_bounded_number_of_fields() {
        let fields: String = (0..100_000).map(|n| format!("F{n} = 00\n")).collect();
        let (file, problems) = parse(&format!("Count = 1\n{fields}\nCount = 2\nKey = 00\n"));
        assert_eq!(problems[0], "a record has at most 64 fields @ F63");
        assert_eq!(file.records.len(), 1);
    }

    #[test]
    fn an_empty_decimal_is_a_problem() {
        let (_, problems) = parse("Count =\n");
        assert_eq!(problems.len(), 1);
    }
}
