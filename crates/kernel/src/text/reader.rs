//! Reader of the textual form, by recursive descent; see there.
//!
//! What it reads has the form of an automaton; whether it is one is what [`crate::verify`] tells.

use crate::automaton::{
    Arrival, Automaton, Awaited, ControlState, CountedLoop, CountedPath, CountedPaths, Holds, LastIteration, Next,
    Part, Path, Step, Trips, Update, Window,
};
use crate::graph::MAX_BITS;
use crate::{
    Block, Carried, Carry, Counter, Effect, Graph, Loop, NodeId, Object, ObjectId, Op, Residue, Table, TableId,
    Transition,
};
use headrace_ir::{InstanceId, StateId, VariableId};
use headrace_source::{FileId, Span};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Blocks inside of one another, at most.
const DEEPEST: usize = 2_000;

/// The longest list that an object may be.
const LONGEST: usize = 1 << 24;

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Line, from 1.
    pub line: usize,
    /// What was expected there.
    pub problem: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

type Read<T> = Result<T, Wrong>;

/// The automaton of a text.
///
/// # Errors
///
/// The first place that is not as the textual form has it.
pub fn read(text: &str) -> Read<Automaton> {
    whole(text, "nothing behind the automaton", Reader::automaton)
}

/// The loop of a text.
///
/// # Errors
///
/// The first place that is not as the textual form has it.
pub fn read_loop(text: &str) -> Read<Loop> {
    whole(text, "nothing behind the loop", Reader::alone)
}

/// The block of a text.
///
/// # Errors
///
/// The first place that is not as the textual form has it.
pub fn read_block(text: &str) -> Read<Block> {
    whole(text, "nothing behind the block", Reader::block)
}

/// All of a text as one thing.
fn whole<T>(text: &str, nothing: &str, one: impl FnOnce(&mut Reader) -> Read<T>) -> Read<T> {
    let mut reader = Reader { tokens: tokens(text)?, at: 0, depth: 0 };
    let found = one(&mut reader)?;
    match reader.tokens.get(reader.at) {
        None => Ok(found),
        Some(_) => Err(reader.wrong(nothing)),
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Open,
    Close,
}

/// Tokens and their lines.
fn tokens(text: &str) -> Read<Vec<(usize, Token)>> {
    let mut all = Vec::new();
    let mut line = 1;
    let mut rest = text.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '\n' => line += 1,
            '#' => while rest.next_if(|c| *c != '\n').is_some() {},
            '{' => all.push((line, Token::Open)),
            '}' => all.push((line, Token::Close)),
            '"' => {
                let mut value = String::new();
                loop {
                    match rest.next() {
                        Some('"') => break,
                        Some('\\') => match rest.next() {
                            Some('n') => value.push('\n'),
                            Some(c @ ('\\' | '"')) => value.push(c),
                            _ => return Err(Wrong { line, problem: "expected \\n, \\\\ or \\\"".into() }),
                        },
                        Some('\n') | None => {
                            return Err(Wrong { line, problem: "expected the end of a string".into() });
                        }
                        Some(c) => value.push(c),
                    }
                }
                all.push((line, Token::Text(value)));
            }
            c if c.is_whitespace() => {}
            c => {
                let mut word = String::from(c);
                while let Some(c) = rest.next_if(|c| !c.is_whitespace() && !matches!(c, '{' | '}' | '"' | '#')) {
                    word.push(c);
                }
                all.push((line, Token::Word(word)));
            }
        }
    }
    Ok(all)
}

struct Reader {
    tokens: Vec<(usize, Token)>,
    at: usize,
    depth: usize,
}

/// Values by the numbers that they have in the text.
struct Values {
    graph: Graph,
    names: Vec<NodeId>,
}

impl Reader {
    fn wrong(&self, expected: &str) -> Wrong {
        let line = self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |token| token.0);
        let found = match self.tokens.get(self.at).map(|token| &token.1) {
            None => "the end".to_owned(),
            Some(Token::Word(word)) => format!("`{word}`"),
            Some(Token::Text(text)) => format!("{text:?}"),
            Some(Token::Open) => "`{`".to_owned(),
            Some(Token::Close) => "`}`".to_owned(),
        };
        Wrong { line, problem: format!("expected {expected}, found {found}") }
    }

    fn peek(&self) -> Option<&str> {
        match self.tokens.get(self.at) {
            Some((_, Token::Word(word))) => Some(word),
            _ => None,
        }
    }

    fn word(&mut self, expected: &str) -> Read<String> {
        let Some(word) = self.peek().map(str::to_owned) else { return Err(self.wrong(expected)) };
        self.at += 1;
        Ok(word)
    }

    /// Takes a word, if it is the next one.
    fn takes(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        self.at += usize::from(found);
        found
    }

    fn keyword(&mut self, word: &str) -> Read<()> {
        if self.takes(word) { Ok(()) } else { Err(self.wrong(&format!("`{word}`"))) }
    }

    fn string(&mut self) -> Read<String> {
        match self.tokens.get(self.at) {
            Some((_, Token::Text(text))) => {
                let text = text.clone();
                self.at += 1;
                Ok(text)
            }
            _ => Err(self.wrong("a string")),
        }
    }

    fn open(&mut self) -> Read<()> {
        if !matches!(self.tokens.get(self.at), Some((_, Token::Open))) {
            return Err(self.wrong("`{`"));
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("fewer blocks inside of one another"));
        }
        self.at += 1;
        Ok(())
    }

    /// Takes the end of a block, if it is there.
    fn closes(&mut self) -> bool {
        let found = matches!(self.tokens.get(self.at), Some((_, Token::Close)));
        self.at += usize::from(found);
        self.depth -= usize::from(found);
        found
    }

    fn close(&mut self) -> Read<()> {
        if self.closes() { Ok(()) } else { Err(self.wrong("`}`")) }
    }

    fn parsed<T: FromStr>(&mut self, text: &str, expected: &str) -> Read<T> {
        text.parse().map_err(|_| {
            self.at -= 1;
            self.wrong(expected)
        })
    }

    fn number<T: FromStr>(&mut self) -> Read<T> {
        let word = self.word("a number")?;
        self.parsed(&word, "a number")
    }

    /// A number in hexadecimal digits.
    fn hexadecimal(&mut self) -> Read<u128> {
        let word = self.word("a number that begins with 0x")?;
        word.strip_prefix("0x").and_then(|digits| u128::from_str_radix(digits, 16).ok()).ok_or_else(|| {
            self.at -= 1;
            self.wrong("a number that begins with 0x")
        })
    }

    /// A number behind a letter.
    fn behind<T: FromStr>(&mut self, letter: char, what: &str) -> Read<T> {
        let word = self.word(what)?;
        match word.strip_prefix(letter).map(str::to_owned) {
            Some(number) => self.parsed(&number, what),
            None => {
                self.at -= 1;
                Err(self.wrong(what))
            }
        }
    }

    fn object(&mut self) -> Read<ObjectId> {
        self.behind('o', "an object").map(ObjectId)
    }

    fn value(&mut self, values: &Values) -> Read<NodeId> {
        let number: usize = self.behind('v', "a value")?;
        values.names.get(number).copied().ok_or_else(|| {
            self.at -= 1;
            self.wrong("a value that stands before")
        })
    }

    fn elements(&mut self) -> Read<Vec<u128>> {
        let mut all = Vec::new();
        self.open()?;
        while !self.closes() {
            all.push(self.hexadecimal()?);
        }
        Ok(all)
    }

    /// Numbers between braces.
    fn numbers<T: FromStr>(&mut self) -> Read<Vec<T>> {
        let mut all = Vec::new();
        self.open()?;
        while !self.closes() {
            all.push(self.number()?);
        }
        Ok(all)
    }

    /// Numbers up to a word.
    fn until<T: FromStr>(&mut self, word: &str) -> Read<Vec<T>> {
        let mut all = Vec::new();
        while !self.takes(word) {
            all.push(self.number()?);
        }
        Ok(all)
    }

    fn automaton(&mut self) -> Read<Automaton> {
        let mut automaton = Automaton::default();
        self.keyword("automaton")?;
        self.open()?;
        while self.takes("object") {
            self.one_object(&mut automaton)?;
        }
        let values = self.values()?;
        while !self.closes() {
            match self.word("`state`, `open`, `path`, `message`, `piece` or `}`")?.as_str() {
                "state" => {
                    let number: usize = self.number()?;
                    if number != automaton.states.len() {
                        self.at -= 1;
                        return Err(self.wrong(&format!("state {}", automaton.states.len())));
                    }
                    let state = self.state(&values, &automaton.objects)?;
                    automaton.states.push(state);
                }
                "open" => automaton.open = Some(self.string()?),
                "path" => {
                    let n_parts = self.number()?;
                    let is_whole = self.takes("whole");
                    if !is_whole {
                        self.keyword("part")?;
                    }
                    let arrival = match (self.takes("pieces"), self.takes("chunks")) {
                        (true, _) => Arrival::InPieces,
                        (_, true) => Arrival::InChunks,
                        _ => Arrival::AtOnce,
                    };
                    let states = BTreeSet::from_iter(self.numbers()?);
                    automaton.paths.push(Path { n_parts, is_whole, arrival, states });
                }
                kind @ ("message" | "piece") => {
                    let (from, to) = (self.number()?, self.number()?);
                    let states = BTreeSet::from_iter(self.numbers()?);
                    automaton.parts.push(Part { from, to, states, is_piece: kind == "piece" });
                }
                _ => {
                    self.at -= 1;
                    return Err(self.wrong("`state`, `open`, `path`, `message`, `piece` or `}`"));
                }
            }
        }
        automaton.graph = values.graph;
        Ok(automaton)
    }

    /// A loop by itself.
    fn alone(&mut self) -> Read<Loop> {
        self.keyword("loop")?;
        self.open()?;
        let objects = self.objects()?;
        let values = self.values()?;
        let mut body = self.iteration(&values, objects)?;
        body.graph = values.graph;
        self.close()?;
        Ok(body)
    }

    /// Effects by themselves.
    fn block(&mut self) -> Read<Block> {
        self.keyword("block")?;
        self.open()?;
        let objects = self.objects()?;
        self.keyword("indexed")?;
        let n_indexed = self.number()?;
        self.keyword("filled")?;
        let filled = self.numbers()?.into_iter().map(ObjectId).collect();
        let values = self.values()?;
        self.keyword("effects")?;
        let effects = self.effects(&values)?;
        self.close()?;
        Ok(Block { graph: values.graph, objects, effects, n_indexed, filled })
    }

    /// Objects of which it is not said what they hold.
    fn objects(&mut self) -> Read<Vec<Object>> {
        let mut all = Vec::new();
        while self.takes("object") {
            let mut object = self.described(all.len())?;
            object.residue = self.residue()?;
            all.push(object);
        }
        Ok(all)
    }

    /// The number of an object, which is the next one, and what stands behind it, up to what it holds.
    fn described(&mut self, expected: usize) -> Read<Object> {
        let number: usize = self.behind('o', "an object")?;
        if number != expected {
            self.at -= 1;
            return Err(self.wrong(&format!("o{expected}")));
        }
        let (name, width) = (self.string()?, self.width()?);
        self.keyword("x")?;
        let length: usize = self.number()?;
        if length > LONGEST {
            self.at -= 1;
            return Err(self.wrong(&format!("at most {LONGEST} elements")));
        }
        let persistent = self.takes("persistent");
        if !persistent {
            self.keyword("local")?;
        }
        Ok(Object { name, width, length, persistent, residue: None })
    }

    fn residue(&mut self) -> Read<Option<Residue>> {
        Ok(match self.takes("residue") {
            true => Some(Residue { limb_bits: self.number()?, bits: self.number()?, less: self.number()? }),
            false => None,
        })
    }

    fn one_object(&mut self, automaton: &mut Automaton) -> Read<()> {
        let mut object = self.described(automaton.objects.len())?;
        let holds = match self.word("`variable`, `fifo` or `list`")?.as_str() {
            "variable" => Holds::Variable(InstanceId(self.number()?), VariableId(self.number()?)),
            "fifo" => Holds::Fifo(self.number()?),
            "list" => Holds::Local,
            _ => {
                self.at -= 1;
                return Err(self.wrong("`variable`, `fifo` or `list`"));
            }
        };
        object.residue = self.residue()?;
        automaton.initial.push(self.elements()?);
        automaton.objects.push(object);
        automaton.holds.push(holds);
        Ok(())
    }

    fn width(&mut self) -> Read<u32> {
        let width: u32 = self.number()?;
        if (1..=MAX_BITS).contains(&width) {
            return Ok(width);
        }
        self.at -= 1;
        Err(self.wrong(&format!("1 to {MAX_BITS} bits")))
    }

    fn values(&mut self) -> Read<Values> {
        let mut values = Values { graph: Graph::new(), names: Vec::new() };
        self.keyword("values")?;
        self.open()?;
        while self.takes("table") {
            let number: u32 = self.behind('t', "a table")?;
            let (name, width) = (self.string()?, self.width()?);
            let elements = self.elements()?.into();
            if values.graph.add_table(Table { name, width, elements }) != TableId(number) {
                return Err(self.wrong("tables in order, each with elements of its own"));
            }
        }
        while !self.closes() {
            let word = self.word("a value or `}`")?;
            let head = word.strip_prefix('v').and_then(|word| word.split_once(':'));
            let head = head.and_then(|(number, width)| Some((number.parse().ok()?, width.parse().ok()?)));
            let Some((number, width @ 1..=MAX_BITS)) = head.filter(|head: &(usize, u32)| head.0 == values.names.len())
            else {
                self.at -= 1;
                return Err(self.wrong(&format!("v{} and its bits, as in v{0}:8", values.names.len())));
            };
            debug_assert_eq!(number, values.names.len());
            self.keyword("=")?;
            let op = self.operation(&values)?;
            let id = values.graph.add(op, width);
            values.names.push(id);
        }
        Ok(values)
    }

    fn table(&mut self, values: &Values) -> Read<TableId> {
        let table: u32 = self.behind('t', "a table")?;
        if (table as usize) < values.graph.tables().len() {
            return Ok(TableId(table));
        }
        self.at -= 1;
        Err(self.wrong("a table that stands before"))
    }

    fn operation(&mut self, values: &Values) -> Read<Op> {
        let word = self.word("an operation")?;
        macro_rules! of {
            ($op:ident, 1) => {
                Op::$op(self.value(values)?)
            };
            ($op:ident, 2) => {
                Op::$op(self.value(values)?, self.value(values)?)
            };
        }
        Ok(match word.as_str() {
            "const" => Op::Const(self.hexadecimal()?),
            "input" => Op::Input { port: self.number()?, offset: self.number()? },
            "entry" => Op::Entry { object: self.object()?, index: self.value(values)? },
            "loaded" => Op::Loaded(self.number()?),
            "not" => of!(Not, 1),
            "and" => of!(And, 2),
            "or" => of!(Or, 2),
            "xor" => of!(Xor, 2),
            "add" => of!(Add, 2),
            "sub" => of!(Sub, 2),
            "mul" => of!(Mul, 2),
            "udiv" => of!(Divide, 2),
            "urem" => of!(Remainder, 2),
            "shl" => of!(ShiftLeft, 2),
            "lshr" => of!(ShiftRight, 2),
            "ashr" => of!(ShiftRightSigned, 2),
            "rotl" => of!(RotateLeft, 2),
            "extract" => Op::Extract(self.value(values)?, self.number()?),
            "concat" => Op::Concat(self.operands(values)?.into()),
            "sext" => of!(SignExtend, 1),
            "eq" => of!(Equal, 2),
            "ult" => of!(Less, 2),
            "slt" => of!(LessSigned, 2),
            "select" => Op::Select(self.value(values)?, self.value(values)?, self.value(values)?),
            "lookup" => Op::Lookup(self.table(values)?, self.value(values)?),
            "lookup_bytes" => Op::LookupBytes(self.table(values)?, self.value(values)?),
            "instruction" => Op::Instruction { description: self.number()?, operands: self.operands(values)?.into() },
            _ => {
                self.at -= 1;
                return Err(self.wrong("an operation"));
            }
        })
    }

    /// Values as long as there are some on this line.
    fn operands(&mut self, values: &Values) -> Read<Vec<NodeId>> {
        let mut all = Vec::new();
        while self.peek().is_some_and(|word| word.starts_with('v') && !word.contains(':')) {
            all.push(self.value(values)?);
        }
        Ok(all)
    }

    fn state(&mut self, values: &Values, objects: &[Object]) -> Read<ControlState> {
        let description = self.string()?;
        self.open()?;
        self.keyword("fsm")?;
        let fsm = self.numbers()?.into_iter().map(StateId).collect();
        self.keyword("fills")?;
        let fills = self.numbers()?;
        let mut known = Vec::new();
        while self.takes("known") {
            known.push((self.object()?, self.number()?, self.hexadecimal()?));
        }
        let mut loops = Vec::new();
        while self.takes("loop") {
            loops.push(self.counted(objects)?);
        }
        let step = self.step(values)?;
        self.close()?;
        Ok(ControlState { step, loops, description, fsm, fills, known })
    }

    fn step(&mut self, values: &Values) -> Read<Step> {
        Ok(match self.word("`branch`, `wait`, `go`, `end` or `deoptimize`")?.as_str() {
            "branch" => {
                let before = self.effects(values)?;
                let condition = self.value(values)?;
                let then = Box::new(self.in_block(values)?);
                self.keyword("else")?;
                Step::Branch { before, condition, then, otherwise: Box::new(self.in_block(values)?) }
            }
            "wait" => {
                let mut awaited = Vec::new();
                self.open()?;
                while !self.closes() {
                    self.keyword("input")?;
                    let (port, tokens) = (self.number()?, self.number()?);
                    awaited.push(Awaited { port, tokens, step: self.in_block(values)? });
                }
                Step::Wait(awaited)
            }
            "go" => {
                let effects = self.effects(values)?;
                self.keyword("consumes")?;
                let consumes = self.until("produces")?;
                let produces = self.until("to")?;
                Step::Go { transition: Transition { effects, consumes, produces }, target: self.number()? }
            }
            "end" => Step::End,
            "deoptimize" => Step::Deoptimize,
            _ => {
                self.at -= 1;
                return Err(self.wrong("`branch`, `wait`, `go`, `end` or `deoptimize`"));
            }
        })
    }

    fn in_block(&mut self, values: &Values) -> Read<Step> {
        self.open()?;
        let step = self.step(values)?;
        self.close()?;
        Ok(step)
    }

    fn place(&mut self) -> Read<Span> {
        let word = self.word("a place, as in @0:10:20")?;
        let parts: Vec<u32> = word.strip_prefix('@').unwrap_or_default().split(':').flat_map(str::parse).collect();
        let &[file, start, end] = parts.as_slice() else {
            self.at -= 1;
            return Err(self.wrong("a place, as in @0:10:20"));
        };
        Ok(Span { file: FileId(file), start, end })
    }

    fn effects(&mut self, values: &Values) -> Read<Vec<Effect>> {
        let mut all = Vec::new();
        self.open()?;
        while !self.closes() {
            all.push(match self.word("an effect or `}`")?.as_str() {
                "load" => Effect::Load { id: self.number()?, object: self.object()?, index: self.value(values)? },
                "store" => {
                    Effect::Store { object: self.object()?, index: self.value(values)?, value: self.value(values)? }
                }
                "output" => Effect::Output { port: self.number()?, offset: self.number()?, value: self.value(values)? },
                "check" => Effect::Check {
                    condition: self.value(values)?,
                    index: self.value(values)?,
                    length: self.number()?,
                    span: self.place()?,
                },
                "while" => {
                    let span = self.place()?;
                    let before = self.effects(values)?;
                    let condition = self.value(values)?;
                    Effect::While { before, condition, body: self.effects(values)?, span }
                }
                "if" => {
                    let condition = self.value(values)?;
                    let then = self.effects(values)?;
                    self.keyword("else")?;
                    Effect::If { condition, then, otherwise: self.effects(values)? }
                }
                _ => {
                    self.at -= 1;
                    return Err(self.wrong("an effect or `}`"));
                }
            });
        }
        Ok(all)
    }

    /// Numbers of tokens and their bits, up to another word.
    fn widths(&mut self) -> Read<Vec<(u64, u32)>> {
        let mut all = Vec::new();
        while let Some((n, width)) = self.peek().and_then(|word| word.split_once('x')) {
            let (Ok(n), Ok(width @ 1..=MAX_BITS)) = (n.parse(), width.parse()) else {
                return Err(self.wrong("tokens and their bits, as in 16x8"));
            };
            self.at += 1;
            all.push((n, width));
        }
        Ok(all)
    }

    fn counted(&mut self, objects: &[Object]) -> Read<CountedLoop> {
        let transitions = self.number()?;
        self.open()?;
        let values = self.values()?;
        let mut body = self.iteration(&values, objects.to_vec())?;
        let (read, written) = (self.windows("reads", &values)?, self.windows("writes", &values)?);
        let trips = self.trips(&values)?;
        body.graph = values.graph;
        let rounds = if self.takes("paths") { Some(self.paths()?) } else { None };
        self.close()?;
        Ok(CountedLoop { body, read, written, trips, transitions, rounds })
    }

    /// Lists that an iteration reads or writes at places that go on.
    fn windows(&mut self, word: &str, values: &Values) -> Read<Vec<Window>> {
        let mut all = Vec::new();
        while self.takes(word) {
            all.push(Window { object: self.object()?, start: self.value(values)? });
        }
        Ok(all)
    }

    /// An iteration, behind its values and up to its counters; its graph is still empty.
    fn iteration(&mut self, values: &Values, objects: Vec<Object>) -> Read<Loop> {
        self.keyword("consumes")?;
        let consumes = self.widths()?;
        self.keyword("produces")?;
        let produces = self.widths()?;
        let (mut outputs, mut carried, mut counters) = (Vec::new(), Vec::new(), Vec::new());
        while self.takes("output") {
            outputs.push((self.number()?, self.number()?, self.value(values)?));
        }
        while self.takes("carried") {
            let (object, index, next) = (self.object()?, self.number()?, self.value(values)?);
            let carry = match self.word("`counter`, `delay` or `true`")?.as_str() {
                "counter" => Carry::Counter { counter: self.number()?, lo: self.number()? },
                "delay" => Carry::Delay,
                "true" => Carry::True,
                _ => {
                    self.at -= 1;
                    return Err(self.wrong("`counter`, `delay` or `true`"));
                }
            };
            carried.push(Carried { object, index, next, carry });
        }
        while self.takes("counter") {
            counters.push(Counter { start: self.value(values)?, step: self.hexadecimal()? });
        }
        Ok(Loop { graph: Graph::new(), objects, consumes, produces, outputs, carried, counters })
    }

    fn trips(&mut self, values: &Values) -> Read<Vec<Trips>> {
        let mut all = Vec::new();
        while self.takes("trips") {
            all.push(match self.word("`unless`, `above` or `below`")?.as_str() {
                "unless" => Trips::Unless(self.value(values)?, self.number::<u8>()? == 1),
                "above" => {
                    Trips::Above { value: self.value(values)?, limit: self.hexadecimal()?, step: self.hexadecimal()? }
                }
                "below" => {
                    Trips::Below { value: self.value(values)?, limit: self.hexadecimal()?, step: self.hexadecimal()? }
                }
                _ => {
                    self.at -= 1;
                    return Err(self.wrong("`unless`, `above` or `below`"));
                }
            });
        }
        Ok(all)
    }

    fn paths(&mut self) -> Read<CountedPaths> {
        self.open()?;
        let values = self.values()?;
        let mut ways = Vec::new();
        while self.takes("path") {
            let (iterations, once) = self.often()?;
            ways.push(self.path(&values, iterations, once)?);
        }
        let last = match self.takes("last") {
            true => {
                let (iterations, once) = self.often()?;
                self.keyword("to")?;
                let target = self.number()?;
                Some(LastIteration { way: self.path(&values, iterations, once)?, target })
            }
            false => None,
        };
        self.close()?;
        Ok(CountedPaths { graph: values.graph, ways, last })
    }

    fn often(&mut self) -> Read<(u64, bool)> {
        let iterations = self.number()?;
        let once = self.takes("once");
        if !once {
            self.keyword("often")?;
        }
        Ok((iterations, once))
    }

    fn path(&mut self, values: &Values, iterations: u64, once: bool) -> Read<CountedPath> {
        self.open()?;
        let trips = self.trips(values)?;
        let mut updates = Vec::new();
        while !self.closes() {
            let word = self.word("`set`, `step` or `}`")?;
            if word != "set" && word != "step" {
                self.at -= 1;
                return Err(self.wrong("`set`, `step` or `}`"));
            }
            let (object, index) = (self.object()?, self.number()?);
            let next = match word.as_str() {
                "set" => Next::Value(self.value(values)?),
                _ => Next::Step(self.hexadecimal()?),
            };
            updates.push(Update { object, index, next });
        }
        Ok(CountedPath { iterations, once, trips, updates })
    }
}
