//! What is walked: regions of memory, what of them is secret, and calls of functions one after the other.

use crate::Error;
use crate::debug::{self, Lines};
use crate::finding::{Finding, Findings, Kind};
use crate::image::Image;
use crate::memory::{Loaded, Space, low};
use crate::registers::RSP;
use crate::state::State;
use crate::value::{Numbers, Region as Base, Value};
use crate::walk::{Walk, Work};
use iced_x86::{Decoder, DecoderOptions, Formatter as _, GasFormatter, Register};
use std::collections::BTreeMap;
use std::ops::Range;

/// A walk is begun again for jumps that it learns about; so often at most.
const MOST_REPEATS: usize = 256;

/// What a region holds before the first call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// Secrets.
    Secret,
    /// Public bytes of which nothing is known.
    Public,
    /// Zeros.
    Zero,
    /// Nothing but pointers to the beginning of another region.
    PointersTo(RegionId),
}

/// Names a region of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionId(usize);

/// An argument of a call, or a number in a general register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// This number.
    Number(i64),
    /// A public number of which nothing is known.
    Public,
    /// A secret number.
    Secret,
    /// A pointer into a region, so many bytes behind its beginning.
    Pointer(RegionId, i64),
}

/// What a walk found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// As they were found: later ones may follow from earlier ones.
    pub findings: Vec<Finding>,
    /// Instructions that were executed, every round of a loop counted.
    pub instructions: u64,
}

impl Report {
    /// Whether nothing was found.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }
}

#[derive(Debug)]
struct Region {
    name: String,
    contents: Contents,
    alignment: u32,
    declared: Vec<(Range<u64>, bool)>,
    pointers: Vec<(u64, RegionId, i64)>,
}

/// Regions and calls.
#[derive(Debug)]
pub struct Scenario<'a> {
    image: &'a Image,
    regions: Vec<Region>,
    calls: Vec<(u64, Vec<Argument>)>,
    budget: u64,
    program: bool,
}

impl<'a> Scenario<'a> {
    /// Nothing yet. As many instructions are executed at most as [`Scenario::budget`] says, 100 million if it is not
    /// used.
    #[must_use]
    pub fn new(image: &'a Image) -> Self {
        Self { image, regions: Vec::new(), calls: Vec::new(), budget: 100_000_000, program: false }
    }

    /// Sets how many instructions are executed at most; a walk that needs more ends with a finding.
    pub fn budget(&mut self, instructions: u64) {
        self.budget = instructions;
    }

    /// Lets the variables of the file hold what they hold when a program begins. Otherwise nothing is known of those
    /// that can change, since the first call may not be the first of all.
    pub fn begin_program(&mut self) {
        self.program = true;
    }

    /// Adds a region. No two regions overlap, and nothing else points into one.
    pub fn region(&mut self, name: &str, contents: Contents) -> RegionId {
        let name = name.to_owned();
        self.regions.push(Region { name, contents, alignment: 1, declared: Vec::new(), pointers: Vec::new() });
        RegionId(self.regions.len() - 1)
    }

    /// Promises that a region begins at a multiple of so many bytes, a power of two. Without a promise it begins
    /// anywhere.
    pub fn align(&mut self, region: RegionId, bytes: u32) {
        if let Some(region) = self.regions.get_mut(region.0) {
            region.alignment = bytes;
        }
    }

    /// The region of that name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<RegionId> {
        self.regions.iter().position(|region| region.name == name).map(RegionId)
    }

    /// Makes some bytes of a region secret, or public and unknown.
    pub fn declare(&mut self, region: RegionId, bytes: Range<u64>, secret: bool) {
        if let Some(region) = self.regions.get_mut(region.0) {
            region.declared.push((bytes, secret));
        }
    }

    /// The same for what a path means in a struct that lies at the region's beginning: names joined by points, `*` for
    /// any field, `[3]` for an element of an array and `[]` for all. The struct is looked up in the debug information.
    ///
    /// # Errors
    /// There is no debug information of the struct, or the path leads nowhere.
    pub fn declare_field(&mut self, region: RegionId, structure: &str, path: &str, secret: bool) -> Result<(), Error> {
        for bytes in debug::field(self.image, structure, path)? {
            self.declare(region, bytes, secret);
        }
        Ok(())
    }

    /// Lets a region hold a pointer, so many bytes behind its beginning.
    pub fn point(&mut self, region: RegionId, at: u64, to: RegionId, offset: i64) {
        if let Some(region) = self.regions.get_mut(region.0) {
            region.pointers.push((at, to, offset));
        }
    }

    /// Adds a call.
    ///
    /// # Errors
    /// The file has no such function.
    pub fn call(&mut self, function: &str, arguments: &[Argument]) -> Result<(), Error> {
        let known = self.image.function(function).ok_or_else(|| Error::NoFunction(function.to_owned()))?;
        self.calls.push((known.range.start, arguments.to_vec()));
        Ok(())
    }

    /// Adds a call that is written like `f(&context, 16, public, *secret)`: `&NAME` and `&NAME+8` point into the region
    /// of that name, `*secret`, `*public` and `*zero` to one of its own that holds that, `secret` and `public` are
    /// numbers.
    ///
    /// # Errors
    /// It is not written so, or names something that is not there.
    pub fn call_text(&mut self, text: &str) -> Result<(), Error> {
        let wrong = |what: &str| Error::Scenario(format!("`{text}`: {what}"));
        let (function, rest) = text.trim().split_once('(').ok_or_else(|| wrong("a call is FUNCTION(ARGUMENT, …)"))?;
        let list = rest.strip_suffix(')').ok_or_else(|| wrong("the closing parenthesis is missing"))?;
        let mut arguments = Vec::new();
        for (at, word) in list.split(',').map(str::trim).filter(|word| !word.is_empty()).enumerate() {
            arguments.push(self.argument(word, at).ok_or_else(|| wrong(&format!("`{word}` is no argument")))?);
        }
        self.call(function.trim(), &arguments)
    }

    /// Adds a region that is written like `context=zero`: its name, and `secret`, `public`, `zero` or, for a region of
    /// pointers, `&NAME` of the region that they point to. `context@64=zero` begins at a multiple of 64 bytes, a power
    /// of two.
    ///
    /// # Errors
    /// It is not written so, or names a region that is not there.
    pub fn region_text(&mut self, text: &str) -> Result<RegionId, Error> {
        let wrong = || {
            Error::Scenario(format!(
                "`{text}`: a region is NAME=secret, =public, =zero or =&REGION, or NAME@ALIGNMENT=…"
            ))
        };
        let (name, contents) = text.split_once('=').ok_or_else(wrong)?;
        let contents = match contents {
            "secret" => Contents::Secret,
            "public" => Contents::Public,
            "zero" => Contents::Zero,
            _ => Contents::PointersTo(contents.strip_prefix('&').and_then(|name| self.named(name)).ok_or_else(wrong)?),
        };
        let (name, alignment) = name.split_once('@').unwrap_or((name, "1"));
        let alignment = alignment.parse().ok().filter(|bytes: &u32| bytes.is_power_of_two()).ok_or_else(wrong)?;
        let region = self.region(name, contents);
        self.align(region, alignment);
        Ok(region)
    }

    /// Declares what is written like `context[16..32]`, in bytes, or `context:STRUCT.path.to.field`, as
    /// [`Scenario::declare_field`] reads it, secret or public.
    ///
    /// # Errors
    /// It is not written so, or names something that is not there.
    pub fn declare_text(&mut self, text: &str, secret: bool) -> Result<(), Error> {
        let wrong = || Error::Scenario(format!("`{text}`: it is REGION[FROM..TO] or REGION:STRUCT.FIELD"));
        if let Some((name, path)) = text.split_once(':') {
            let region = self.named(name).ok_or_else(wrong)?;
            let (structure, path) = path.split_once('.').ok_or_else(wrong)?;
            return self.declare_field(region, structure, path, secret);
        }
        let (name, range) = text.strip_suffix(']').and_then(|text| text.split_once('[')).ok_or_else(wrong)?;
        let region = self.named(name).ok_or_else(wrong)?;
        let (from, to) = range.split_once("..").ok_or_else(wrong)?;
        match (from.parse(), to.parse()) {
            (Ok(from), Ok(to)) if from <= to => self.declare(region, from..to, secret),
            _ => return Err(wrong()),
        }
        Ok(())
    }

    fn argument(&mut self, word: &str, at: usize) -> Option<Argument> {
        let own = format!("argument {at} of call {}", self.calls.len());
        Some(match word {
            "public" => Argument::Public,
            "secret" => Argument::Secret,
            "*secret" => Argument::Pointer(self.region(&own, Contents::Secret), 0),
            "*public" => Argument::Pointer(self.region(&own, Contents::Public), 0),
            "*zero" => Argument::Pointer(self.region(&own, Contents::Zero), 0),
            _ => match word.strip_prefix('&') {
                Some(place) => {
                    let (name, offset) = place.split_once('+').unwrap_or((place, "0"));
                    Argument::Pointer(self.named(name.trim())?, offset.trim().parse().ok()?)
                }
                None => Argument::Number(word.parse().ok()?),
            },
        })
    }

    fn begin(&self) -> State {
        let spaces = self.regions.iter().map(|region| {
            let mut space = match region.contents {
                Contents::Secret => Space::new(true, false),
                Contents::Public => Space::new(false, false),
                Contents::Zero => Space::new(false, true),
                Contents::PointersTo(other) => Space::of_pointers(Base::Given(other.0)),
            };
            space.alignment = i64::from(region.alignment.max(1));
            for (bytes, secret) in &region.declared {
                space.declare(bytes.start.cast_signed(), bytes.end.cast_signed(), *secret, None);
            }
            for (at, to, offset) in &region.pointers {
                let what =
                    Loaded { lanes: None, secret: 0, value: Value::pointer(Base::Given(to.0), *offset), known: None };
                space.store(&Numbers::One(at.cast_signed()), 8, &what, None);
            }
            space
        });
        let mut state = State::new(spaces.collect());
        state.image = Space::new(false, self.program);
        state
    }

    /// Puts arguments where the System V calling convention wants them.
    fn iteration(&self, state: &mut State, arguments: &[Argument]) {
        const REGISTERS: [Register; 6] =
            [Register::RDI, Register::RSI, Register::RDX, Register::RCX, Register::R8, Register::R9];
        // The return address, which nothing reads, stands at the multiple of 16 below which a function's frame begins.
        state.set(RSP, Value::pointer(Base::Stack, -8));
        for (at, argument) in arguments.iter().enumerate() {
            let (secret, value) = match argument {
                Argument::Number(n) => (0, Value::number(*n)),
                Argument::Public => (0, Value::ANY),
                Argument::Secret => (low(8), Value::ANY),
                Argument::Pointer(region, offset) => (0, Value::pointer(Base::Given(region.0), *offset)),
            };
            let what = Loaded { lanes: None, secret, value, known: None };
            match REGISTERS.get(at) {
                Some(register) => state.write(*register, &what),
                None => {
                    let offset = i64::try_from(8 * (at - REGISTERS.len())).unwrap_or(0);
                    state.stack.store(&Numbers::One(offset), 8, &what, None);
                }
            }
        }
    }

    /// Walks all calls.
    #[must_use]
    pub fn walk(&self) -> Report {
        let mut indirect = BTreeMap::new();
        let mut work = Work::default();
        let mut findings = Findings::default();
        for repeat in 0..=MOST_REPEATS {
            findings = Findings::default();
            let mut state = self.begin();
            let mut discovered = false;
            for (entry, arguments) in &self.calls {
                self.iteration(&mut state, arguments);
                let walk = Walk::new(self.image, &mut findings, &mut work, self.budget, &mut indirect);
                let (returned, more) = walk.run(*entry, state.clone());
                discovered |= more;
                match returned {
                    Some(after) => state = after,
                    None if discovered => break,
                    None => {
                        findings.add(Kind::NotUnderstood, *entry, "the function does not return");
                        break;
                    }
                }
            }
            if !discovered {
                break;
            }
            if repeat == MOST_REPEATS {
                findings.add(Kind::NotUnderstood, 0, "there are too many indirect jumps");
            }
        }
        Report { findings: self.describe(&findings), instructions: work.instructions }
    }

    fn describe(&self, findings: &Findings) -> Vec<Finding> {
        let lines = Lines::new(self.image);
        let mut formatter = GasFormatter::new();
        let one = |(address, kind, detail): (u64, Kind, &str)| {
            let mut decoder = Decoder::with_ip(64, self.image.bytes(address), address, DecoderOptions::NONE);
            let mut instruction = String::new();
            formatter.format(&decoder.decode(), &mut instruction);
            let function = self.image.function_at(address).map_or_else(String::new, |function| function.name.clone());
            let source = lines.of(address);
            Finding { kind, address, function, instruction, detail: detail.to_owned(), source }
        };
        findings.in_order().into_iter().map(one).collect()
    }
}
