//! Assembler and disassembler: programs as text and back.

use super::{Instruction, OUTSIDE, Opcode, Source, Target};
use std::fmt::Write as _;

/// A program as text, an instruction a line.
pub fn disassemble(instructions: &[Instruction]) -> String {
    let mut text = String::new();
    for instruction in instructions {
        let _ = match instruction {
            Instruction::Do { nops, op, to, a, b, sets, condition } => {
                let _ = write!(text, "{}{} {}, {}", margin(*nops), op.name(), target(*to), source(*a));
                if !op.is_unary() {
                    let _ = write!(text, ", {}", source(*b));
                }
                if let Some(flag) = sets {
                    let _ = write!(text, " !{flag}");
                }
                if let Some((flag, is_set)) = condition {
                    let _ = write!(text, " ?{}{flag}", if *is_set { "" } else { "~" });
                }
                writeln!(text)
            }
            Instruction::Repeat { nops, times, length } => writeln!(text, "{}rpt {times}, {length}", margin(*nops)),
            Instruction::Generate { generator, at } => writeln!(text, "{}gen {generator}, {at}", margin(0)),
            Instruction::Loop { nops, flag, to } => writeln!(text, "{}loop {to} ?{flag}", margin(*nops)),
        };
    }
    text
}

fn margin(nops: u8) -> String {
    if nops == 0 { "    ".into() } else { format!("{nops:<4}") }
}

fn source(source: Source) -> String {
    match source {
        Source::Memory(at) => format!("[{at}]"),
        Source::Immediate(value) => value.to_string(),
        Source::Input(port) => format!("in{port}"),
        Source::Peek(port) => format!("peek{port}"),
        Source::Bypass => "byp".into(),
        Source::Pointer(pointer) => format!("*p{pointer}"),
        Source::Generator(generator) => format!("g{generator}"),
    }
}

fn target(target: Target) -> String {
    match target {
        Target::Nowhere => "-".into(),
        Target::Memory(at) => format!("[{at}]"),
        Target::Pointer(pointer) => format!("p{pointer}"),
        Target::Generator(generator) => format!("g{generator}"),
        Target::Links(links) => {
            let inside = (0..31).filter(|link| links >> link & 1 == 1).map(|link| format!("out{link}"));
            let outside = (links & OUTSIDE != 0).then(|| "out".to_owned());
            inside.chain(outside).collect::<Vec<_>>().join("+")
        }
    }
}

/// A program from its text.
///
/// # Errors
///
/// The first line that is no instruction, by its number from 1, and why.
pub fn assemble(text: &str) -> Result<Vec<Instruction>, (usize, String)> {
    let mut all = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.split(';').next().unwrap_or_default().trim();
        if !line.is_empty() {
            all.push(instruction(line).map_err(|why| (at + 1, why))?);
        }
    }
    Ok(all)
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| format!("`{}` is no number that may stand here", text.trim()))
}

fn instruction(line: &str) -> Result<Instruction, String> {
    let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let (nops, name, rest) = match first.starts_with(|c: char| c.is_ascii_digit()) {
        true => {
            let (name, rest) = rest.trim().split_once(char::is_whitespace).ok_or("an instruction is missing")?;
            (number(first)?, name, rest.trim())
        }
        false => (0, first, rest.trim()),
    };
    let two = |text: &str| -> Result<(String, String), String> {
        let (a, b) = text.split_once(',').ok_or_else(|| format!("`{name}` takes two numbers"))?;
        Ok((a.trim().to_owned(), b.trim().to_owned()))
    };
    match name {
        "rpt" => {
            let (times, length) = two(rest)?;
            let (times, length) = (number(&times)?, number(&length)?);
            if times == 0 || length == 0 {
                return Err("`rpt` repeats at least one instruction once".into());
            }
            return Ok(Instruction::Repeat { nops, times, length });
        }
        "gen" => {
            let (generator, at) = two(rest)?;
            return Ok(Instruction::Generate { generator: number(&generator)?, at: number(&at)? });
        }
        "loop" => {
            let (to, flag) = rest.split_once('?').ok_or("`loop` takes a flag")?;
            return Ok(Instruction::Loop { nops, flag: number(flag)?, to: number(to)? });
        }
        _ => {}
    }
    let op = Opcode::ALL.iter().find(|(_, known)| *known == name).map(|(op, _)| *op);
    let op = op.ok_or_else(|| format!("there is no instruction `{name}`"))?;
    let (rest, condition) = match rest.split_once('?') {
        Some((rest, flag)) => {
            let flag = flag.trim();
            let (is_set, flag) = flag.strip_prefix('~').map_or((true, flag), |flag| (false, flag));
            (rest.trim(), Some((number(flag)?, is_set)))
        }
        None => (rest, None),
    };
    let (rest, sets) = match rest.split_once('!') {
        Some((rest, flag)) => (rest.trim(), Some(number(flag)?)),
        None => (rest, None),
    };
    let parts: Vec<&str> = rest.split(',').map(str::trim).collect();
    let n = if op.is_unary() { 2 } else { 3 };
    if parts.len() != n {
        return Err(format!("`{name}` takes {} operands behind its target", n - 1));
    }
    let b = if op.is_unary() { Source::Immediate(0) } else { read_source(parts[2])? };
    Ok(Instruction::Do { nops, op, to: read_target(parts[0])?, a: read_source(parts[1])?, b, sets, condition })
}

fn read_source(text: &str) -> Result<Source, String> {
    if let Some(inside) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return Ok(Source::Memory(number(inside)?));
    }
    for (prefix, make) in [
        ("in", (|n| Source::Input(n)) as fn(u8) -> Source),
        ("peek", |n| Source::Peek(n)),
        ("*p", |n| Source::Pointer(n)),
        ("g", |n| Source::Generator(n)),
    ] {
        if let Some(rest) = text.strip_prefix(prefix) {
            return Ok(make(number(rest)?));
        }
    }
    match text {
        "byp" => Ok(Source::Bypass),
        _ => Ok(Source::Immediate(number(text)?)),
    }
}

fn read_target(text: &str) -> Result<Target, String> {
    if let Some(inside) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return Ok(Target::Memory(number(inside)?));
    }
    if text == "-" {
        return Ok(Target::Nowhere);
    }
    if text.starts_with("out") {
        let mut links = 0;
        for link in text.split('+') {
            let link = link.trim().strip_prefix("out").ok_or_else(|| format!("`{link}` is no link"))?;
            links |= match link {
                "" => OUTSIDE,
                link => match number::<u32>(link)? {
                    link @ 0..=30 => 1 << link,
                    link => return Err(format!("there is no link {link}")),
                },
            };
        }
        return Ok(Target::Links(links));
    }
    if let Some(rest) = text.strip_prefix('p') {
        return Ok(Target::Pointer(number(rest)?));
    }
    match text.strip_prefix('g') {
        Some(rest) => Ok(Target::Generator(number(rest)?)),
        None => Err(format!("`{text}` is no place for a result")),
    }
}
