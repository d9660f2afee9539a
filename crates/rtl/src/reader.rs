//! The reader of the textual form: lines whose indentation says what belongs to what.

use crate::{
    Assign, BinaryOp, Bits, CompareOp, Connection, Design, Expr, ExprKind, Instance, Memory, MemoryRead, MemoryWrite,
    Module, Process, ShiftOp, Signal, SignalId, SignalKind, Stmt, Table, TableId, Target, Timing, UnaryOp,
};
use num_bigint::BigUint;

/// Reads a design. Only its form is looked at; [`crate::verify`] says whether it holds together.
///
/// # Errors
///
/// What is not as it should be, with its line.
pub fn read(text: &str) -> Result<Design, String> {
    let mut lines = Lines { lines: Vec::new(), at: 0 };
    for (number, line) in text.lines().enumerate() {
        let rest = line.trim_start_matches(' ');
        if !rest.is_empty() {
            lines.lines.push((number + 1, (line.len() - rest.len()) / 4, rest.trim_end()));
        }
    }
    let mut design = Design::default();
    while let Some((number, depth, line)) = lines.next_at(0) {
        let name = line.strip_prefix("module ").filter(|_| depth == 0);
        let name = name.ok_or_else(|| format!("line {number}: expected `module NAME`"))?;
        design.modules.push(module(name, &mut lines)?);
    }
    match lines.peek() {
        Some((number, ..)) => Err(format!("line {number}: this belongs to nothing")),
        None => Ok(design),
    }
}

struct Lines<'t> {
    /// Number, depth, text.
    lines: Vec<(usize, usize, &'t str)>,
    at: usize,
}

impl<'t> Lines<'t> {
    fn peek(&self) -> Option<(usize, usize, &'t str)> {
        self.lines.get(self.at).copied()
    }

    /// The next line, if it is this deep.
    fn next_at(&mut self, depth: usize) -> Option<(usize, usize, &'t str)> {
        let line = self.peek().filter(|line| line.1 == depth)?;
        self.at += 1;
        Some(line)
    }
}

fn timing(text: &str) -> Option<Timing> {
    let [interval, latency, input, beats_in, output, beats_out] = text.split(' ').collect::<Vec<_>>()[..] else {
        return None;
    };
    Some(Timing {
        interval: interval.parse().ok()?,
        latency: latency.parse().ok()?,
        input: (input.to_owned(), beats_in.parse().ok()?),
        output: (output.to_owned(), beats_out.parse().ok()?),
    })
}

/// What is written of a module before names have numbers: signals may be mentioned before they are declared.
fn module(name: &str, lines: &mut Lines<'_>) -> Result<Module, String> {
    let mut module = Module::new(name);
    let from = lines.at;
    declarations(&mut module, lines)?;
    lines.at = from;
    while let Some((number, _, line)) = lines.next_at(1) {
        let say = |what: String| format!("line {number}: {what}");
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "#" => module.about.push(rest.to_owned()),
            "timing" => {
                module.timing = Some(timing(rest).ok_or_else(|| say("six words say when blocks come out".into()))?)
            }
            "assign" => {
                let (target, value) = rest.split_once(" = ").ok_or_else(|| say("expected `=`".into()))?;
                let signal = signal(&module, target).map_err(say)?;
                let value = expression(&module, value).map_err(say)?;
                module.assigns.push(Assign { signal, value });
            }
            "process" => {
                let body = block(&module, lines, 2)?;
                module.processes.push(Process { name: rest.to_owned(), body });
            }
            "instance" => {
                let (name, inner) = rest.split_once(": ").ok_or_else(|| say("expected `:`".into()))?;
                let mut connections = Vec::new();
                while let Some((number, _, line)) = lines.next_at(2) {
                    let say = |what: String| format!("line {number}: {what}");
                    let (port, to) = line.split_once(" = ").ok_or_else(|| say("expected `=`".into()))?;
                    connections.push(Connection { port: port.into(), signal: signal(&module, to).map_err(say)? });
                }
                module.instances.push(Instance { name: name.into(), module: inner.into(), connections });
            }
            "memory" => {
                let memory = memory(&module, rest, lines).map_err(say)?;
                module.memories.push(memory);
            }
            "register" => {
                let name = rest.split(':').next().unwrap_or_default();
                let next = rest.split_once(" next ").map_or("", |(_, next)| next.split(' ').next().unwrap_or_default());
                let (id, next) = (signal(&module, name).map_err(say)?, signal(&module, next).map_err(say)?);
                if let SignalKind::Register { next: place, .. } = &mut module.signals[id.index()].kind {
                    *place = next;
                }
                skip(lines);
            }
            "input" | "output" | "wire" | "table" => skip(lines),
            _ => return Err(say(format!("`{word}` is no part of a module"))),
        }
    }
    Ok(module)
}

fn skip(lines: &mut Lines<'_>) {
    while lines.next_at(2).is_some() {}
}

/// Signals and tables, so that they have numbers.
fn declarations(module: &mut Module, lines: &mut Lines<'_>) -> Result<(), String> {
    while let Some((number, depth, line)) = lines.peek().filter(|line| line.1 > 0) {
        lines.at += 1;
        if depth > 1 {
            continue;
        }
        let say = |what: &str| format!("line {number}: {what}");
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let kind = match word {
            "input" => SignalKind::Input,
            "output" => SignalKind::Output,
            "wire" => SignalKind::Wire,
            "register" => {
                let reset = rest.split_once(" = ").and_then(|(_, rest)| rest.split(' ').next());
                let reset = reset.and_then(bits).ok_or_else(|| say("expected `= RESET next SIGNAL`"))?;
                SignalKind::Register { reset, next: SignalId(0) }
            }
            "table" => {
                module.tables.push(table(rest).ok_or_else(|| say("expected `NAME: BITS -> BITS = VALUES`"))?);
                continue;
            }
            _ => continue,
        };
        let (name, rest) = rest.split_once(": ").ok_or_else(|| say("expected `NAME: WIDTH`"))?;
        let (rest, about) = rest.split_once(" # ").unwrap_or((rest, ""));
        let width = rest.split(' ').next().and_then(|width| width.parse().ok());
        let width = width.ok_or_else(|| say("expected a width"))?;
        let mut names = Vec::new();
        while let Some((number, _, line)) = lines.peek().filter(|line| line.1 == 2 && line.2.starts_with("value ")) {
            lines.at += 1;
            let named =
                line["value ".len()..].split_once(' ').and_then(|(value, name)| Some((bits(value)?, name.into())));
            names.push(named.ok_or_else(|| format!("line {number}: expected `value BITS NAME`"))?);
        }
        module.signals.push(Signal { name: name.into(), width, kind, about: about.into(), names });
    }
    Ok(())
}

fn table(text: &str) -> Option<Table> {
    let (name, rest) = text.split_once(": ")?;
    let (widths, values) = rest.split_once(" = ")?;
    let (index_width, width) = widths.split_once(" -> ")?;
    let (index_width, width) = (index_width.parse().ok()?, width.parse().ok()?);
    let value = |text: &str| Some(Bits::new(width, BigUint::parse_bytes(text.as_bytes(), 16)?));
    Some(Table { name: name.into(), index_width, width, values: values.split(' ').map(value).collect::<Option<_>>()? })
}

fn memory(module: &Module, text: &str, lines: &mut Lines<'_>) -> Result<Memory, String> {
    let (text, about) = text.split_once(" # ").unwrap_or((text, ""));
    let sizes = text.split_once(": ").and_then(|(name, rest)| {
        let (width, depth) = rest.split_once(" x ")?;
        Some((name, width.parse().ok()?, depth.parse().ok()?))
    });
    let (name, width, depth) = sizes.ok_or("expected `NAME: WIDTH x DEPTH`")?;
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    while let Some((_, _, line)) = lines.next_at(2) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["read", address, data] => {
                reads.push(MemoryRead { address: signal(module, address)?, data: signal(module, data)? });
            }
            ["write", enable, address, data] => writes.push(MemoryWrite {
                enable: signal(module, enable)?,
                address: signal(module, address)?,
                data: signal(module, data)?,
            }),
            _ => return Err("expected `read ADDRESS DATA` or `write ENABLE ADDRESS DATA`".into()),
        }
    }
    Ok(Memory { name: name.into(), width, depth, reads, writes, about: about.into() })
}

fn signal(module: &Module, name: &str) -> Result<SignalId, String> {
    module.find(name).ok_or_else(|| format!("there is no signal `{name}`"))
}

fn block(module: &Module, lines: &mut Lines<'_>, depth: usize) -> Result<Vec<Stmt>, String> {
    let mut statements = Vec::new();
    while let Some((number, _, line)) = lines.next_at(depth) {
        let say = |what: String| format!("line {number}: {what}");
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        statements.push(match word {
            "#" => Stmt::Comment(rest.to_owned()),
            "if" => {
                let condition = expression(module, rest).map_err(say)?;
                let yes = block(module, lines, depth + 1)?;
                let has_else = lines.peek().is_some_and(|line| line.1 == depth && line.2 == "else");
                let no = if has_else {
                    lines.at += 1;
                    block(module, lines, depth + 1)?
                } else {
                    Vec::new()
                };
                Stmt::If(condition, yes, no)
            }
            "case" => {
                let value = expression(module, rest).map_err(say)?;
                let mut arms = Vec::new();
                let mut default = Vec::new();
                while let Some((number, _, line)) = lines.next_at(depth + 1) {
                    match line.strip_prefix("when ").map(bits) {
                        Some(Some(value)) => arms.push((value, block(module, lines, depth + 2)?)),
                        None if line == "default" => default = block(module, lines, depth + 2)?,
                        _ => return Err(format!("line {number}: expected `when BITS` or `default`")),
                    }
                }
                Stmt::Case(value, arms, default)
            }
            _ => {
                let (target, value) = line.split_once(" = ").ok_or_else(|| say("expected an assignment".into()))?;
                let value = expression(module, value).map_err(say)?;
                let (name, part) = match target.split_once('[') {
                    None => (target, None),
                    Some((name, rest)) => {
                        let part = rest.strip_suffix(']').and_then(|rest| rest.rsplit_once(" +: "));
                        let (at, width) = part.ok_or_else(|| say("expected `[BIT +: WIDTH]`".into()))?;
                        let width = width.parse().map_err(|_| say("expected a width".into()))?;
                        (name, Some((expression(module, at).map_err(say)?, width)))
                    }
                };
                Stmt::Assign(Target { signal: signal(module, name).map_err(say)?, part }, value)
            }
        });
    }
    Ok(statements)
}

/// `8'h1f`
fn bits(text: &str) -> Option<Bits> {
    let (width, digits) = text.split_once("'h")?;
    Some(Bits::new(width.parse().ok()?, BigUint::parse_bytes(digits.as_bytes(), 16)?))
}

fn expression(module: &Module, text: &str) -> Result<Expr, String> {
    let mut rest = text;
    let value = operand(module, &mut rest)?;
    if rest.is_empty() { Ok(value) } else { Err(format!("`{rest}` is left over")) }
}

fn word<'t>(rest: &mut &'t str) -> &'t str {
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '\'')).unwrap_or(rest.len());
    let (word, more) = rest.split_at(end);
    *rest = more;
    word
}

fn take(rest: &mut &str, what: &str) -> Result<(), String> {
    *rest = rest.strip_prefix(what).ok_or_else(|| format!("expected `{what}` before `{rest}`"))?;
    Ok(())
}

fn number(rest: &mut &str) -> Result<u32, String> {
    take(rest, ", ")?;
    let digits = word(rest);
    digits.parse().map_err(|_| format!("`{digits}` is no number"))
}

fn operand(module: &Module, rest: &mut &str) -> Result<Expr, String> {
    let name = word(rest);
    if let Some(value) = bits(name) {
        return Ok(Expr::constant(value));
    }
    if !rest.starts_with('(') {
        let id = signal(module, name)?;
        return Ok(module.get(id));
    }
    take(rest, "(")?;
    let found = operator(module, name, rest)?;
    take(rest, ")")?;
    Ok(found)
}

/// An operator with its operands, as they stand: nothing is folded, so that text and design say the same.
fn operator(module: &Module, name: &str, rest: &mut &str) -> Result<Expr, String> {
    match name {
        "lookup" => {
            let table = word(rest);
            let id = module.tables.iter().position(|one| one.name == table);
            let id = id.ok_or_else(|| format!("there is no table `{table}`"))?;
            take(rest, ", ")?;
            let index = operand(module, rest)?;
            return Ok(Expr::lookup(TableId(id as u32), index, module.tables[id].width));
        }
        "part" => {
            let id = signal(module, word(rest))?;
            take(rest, ", ")?;
            let low = operand(module, rest)?;
            let width = number(rest)?;
            return Ok(Expr { kind: ExprKind::Part(id, Box::new(low)), width });
        }
        _ => {}
    }
    let first = operand(module, rest)?;
    let own = first.width;
    let boxed = Box::new(first);
    let (kind, width) = match name {
        "slice" => {
            let low = number(rest)?;
            (ExprKind::Slice(boxed, low), number(rest)?)
        }
        "zext" | "sext" => (ExprKind::Extend(name == "sext", boxed), number(rest)?),
        "select" => {
            take(rest, ", ")?;
            let yes = operand(module, rest)?;
            take(rest, ", ")?;
            let no = operand(module, rest)?;
            let width = yes.width;
            (ExprKind::Select(boxed, Box::new(yes), Box::new(no)), width)
        }
        "concat" => {
            let mut parts = vec![*boxed];
            while rest.starts_with(", ") {
                take(rest, ", ")?;
                parts.push(operand(module, rest)?);
            }
            let width = parts.iter().map(|part| part.width).sum();
            (ExprKind::Concat(parts), width)
        }
        _ => {
            if let Some(&op) = UnaryOp::ALL.iter().find(|op| op.name() == name) {
                return Ok(Expr { kind: ExprKind::Unary(op, boxed), width: own });
            }
            take(rest, ", ")?;
            let second = Box::new(operand(module, rest)?);
            if let Some(&op) = BinaryOp::ALL.iter().find(|op| op.name() == name) {
                (ExprKind::Binary(op, boxed, second), own)
            } else if let Some(&op) = ShiftOp::ALL.iter().find(|op| op.name() == name) {
                (ExprKind::Shift(op, boxed, second), own)
            } else if let Some(&op) = CompareOp::ALL.iter().find(|op| op.name() == name) {
                (ExprKind::Compare(op, boxed, second), 1)
            } else {
                return Err(format!("`{name}` is no operator"));
            }
        }
    };
    Ok(Expr { kind, width })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    #[test]
    fn text_comes_back_as_it_was() {
        let wanted = "module fifo\n    # keeps words\n    input valid_i: 1\n    input data_i: 8\n    output data_o: 8\n    \
                      output big_o: 16\n    wire at_d: 2 # where\n    register at_q: 2 = 2'h1 next at_d\n        value 2'h0 FIRST\n    \
                      wire word: 8\n    table square: 2 -> 4 = 0 1 4 9\n    memory words: 8 x 4 # all of them\n        \
                      read at_q word\n        write valid_i at_q data_i\n    assign data_o = word\n    process step\n        \
                      # on it goes\n        at_d = at_q\n        big_o = concat(word, sext(lookup(square, at_q), 8))\n        \
                      if valid_i\n            at_d[zext(valid_i, 2) +: 1] = slice(neg(at_q), 1, 1)\n        else\n            \
                      case at_q\n                when 2'h3\n                    at_d = select(lts(at_q, 2'h1), shl(at_q, 1'h1), at_q)\n                \
                      default\n                    big_o = zext(part(data_i, at_q, 3), 16)\n\nmodule top\n    input a: 1\n    input b: 8\n    \
                      wire c: 8\n    output d: 16\n    output e: 8\n    instance u: fifo\n        valid_i = a\n        data_i = b\n        \
                      data_o = c\n        big_o = d\n    assign e = not(c)\n";
        let design = read(wanted).expect("reads");
        assert_eq!(text(&design), wanted);
        assert_eq!(crate::verify(&design), Vec::<String>::new());
    }

    #[test]
    fn mistakes_have_a_line() {
        for (text, wanted) in [
            ("modul x\n", "line 1: expected `module NAME`"),
            ("module x\n    input a: b\n", "line 2: expected a width"),
            ("module x\n    input a: 1\n    assign b = a\n", "line 3: there is no signal `b`"),
            ("module x\n    output a: 1\n    assign a = nand(a, a)\n", "line 3: `nand` is no operator"),
            ("module x\n    output a: 1\n    assign a = 1'h0 a\n", "line 3: ` a` is left over"),
        ] {
            assert_eq!(read(text).expect_err("a mistake"), wanted);
        }
    }
}
