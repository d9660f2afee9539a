//! The pass manager: runs passes one after the other and checks what each requires and establishes.
//!
//! A pass whose requirement does not hold of what it is given is not tried; one that requires what an earlier pass of the
//! list gave up is a mistake of the list, and a [`Fault`]. After each pass its result goes through the verifier, and what the
//! pass establishes is looked at: always where somebody asks for it, in pipelines of printers where debug assertions are.
//!
//! Whatever calls passes asks [`Pass::tried`] first, which knows what is left out of this process ([`leave_out`]) to find
//! the pass that is at fault by bisection.

use super::pass::{Code, Form, Pass, Property, Seen};
use super::select_instructions::Choice;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// What this process leaves out.
#[derive(Clone, Debug, Default)]
pub struct LeftOut {
    /// Names of passes that change nothing.
    pub passes: Vec<&'static str>,
    /// How many times passes may change something, all together; the rest changes nothing.
    pub limit: Option<u64>,
}

static LEFT_OUT: OnceLock<LeftOut> = OnceLock::new();
static N_CHANGES: AtomicU64 = AtomicU64::new(0);
static LAST: OnceLock<&'static str> = OnceLock::new();

/// Leaves passes out of everything that this process compiles from now on: for finding which is at fault. Said once, before
/// the first is tried; `false` where it has been said before.
pub fn leave_out(left_out: LeftOut) -> bool {
    LEFT_OUT.set(left_out).is_ok()
}

/// How many times passes have changed something or would have, and the name of the last one that a limit let through.
/// Counted only where something is left out.
pub fn n_changes() -> (u64, Option<&'static str>) {
    (N_CHANGES.load(Ordering::Relaxed), LAST.get().copied())
}

/// Whether the number of changes is limited. Who does several things at once does them one after the other then, so that
/// the same limit lets the same changes through each time.
pub fn is_limited() -> bool {
    LEFT_OUT.get().is_some_and(|left_out| left_out.limit.is_some())
}

impl Pass {
    /// What the pass makes, where it is not left out: every call of its function goes through this.
    pub fn tried<T>(&self, make: impl FnOnce() -> Option<T>) -> Option<T> {
        let Some(left_out) = LEFT_OUT.get() else { return make() };
        if left_out.passes.contains(&self.name) {
            return None;
        }
        let made = make()?;
        let number = N_CHANGES.fetch_add(1, Ordering::Relaxed) + 1;
        match left_out.limit {
            Some(limit) if number > limit => return None,
            Some(limit) if number == limit => {
                let _ = LAST.set(self.name);
            }
            _ => {}
        }
        Some(made)
    }

    /// What it makes of a loop or of effects; `None` where it changes nothing, or is not for them.
    pub fn apply(&self, code: Seen<'_>, choice: Option<&Choice>) -> Option<Code> {
        self.tried(|| match (self.form, code) {
            (Form::Loop(pass) | Form::Either(pass, _), Seen::Loop(body)) => pass(body).map(Code::Loop),
            (Form::Block(pass) | Form::Either(_, pass), Seen::Block(block)) => pass(block).map(Code::Block),
            (Form::Parts(pass), Seen::Loop(body)) => pass(body).map(Code::Parts),
            (Form::Instructions(pass), Seen::Loop(body)) => pass(body, choice?).map(Code::Parts),
            (Form::Loop(_) | Form::Parts(_) | Form::Instructions(_), Seen::Block(_))
            | (Form::Block(_), Seen::Loop(_)) => None,
        })
    }
}

/// Which pass is at fault, or at the wrong place, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its name.
    pub pass: &'static str,
    /// What is wrong, as a sentence without a full stop and without its subject.
    pub problem: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pass, self.problem)
    }
}

/// What a pass did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its name.
    pub pass: &'static str,
    /// Values before it.
    pub before: usize,
    /// Values after it, if it changed something and what it made is in one part.
    pub after: Option<usize>,
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.pass)?;
        self.after.map_or(Ok(()), |after| write!(f, " ({} to {after} values)", self.before))
    }
}

/// When an observer is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before a pass.
    Before,
    /// After a pass that changed something.
    Changed,
    /// After one that did not, or was not tried.
    Kept,
}

/// What is called before and after each pass.
pub type Observer<'a> = dyn FnMut(&'static Pass, Moment, &str) + 'a;

/// Runs passes.
#[derive(Default)]
pub struct Manager<'a> {
    /// The instructions that may be selected; without them that changes nothing.
    pub choice: Option<&'a Choice>,
    /// Whether results are verified.
    pub verifies: bool,
    /// Gets the text before and after each pass.
    pub observer: Option<&'a mut Observer<'a>>,
    /// What each pass did, in order, where somebody wants to know.
    pub records: Option<Vec<Record>>,
    /// The passes that changed something, in order.
    pub changed: Vec<&'static Pass>,
}

impl Manager<'_> {
    /// Runs passes in order. `None` where none changed anything.
    ///
    /// # Errors
    ///
    /// The first pass that requires what another gave up, or that comes behind parts, or whose result is not as it must be.
    pub fn run(
        &mut self,
        passes: impl IntoIterator<Item = &'static Pass>,
        start: Seen<'_>,
    ) -> Result<Option<Code>, Fault> {
        let mut now: Option<Code> = None;
        let mut given_up: Vec<(Property, &'static str)> = Vec::new();
        for pass in passes {
            let fault = |problem: String| Fault { pass: pass.name, problem };
            if let Some((property, by)) = given_up.iter().find(|(property, _)| pass.requires.contains(property)) {
                return Err(fault(format!("requires {property}, which {by} gives up")));
            }
            let seen = match &now {
                None => start,
                Some(code) => code.seen().ok_or_else(|| fault("comes behind a pass that makes parts".to_owned()))?,
            };
            self.observe(pass, Moment::Before, || seen.text());
            let mut requires = pass.requires.iter().filter(|property| !property.is_tracked());
            let made =
                if requires.all(|property| property.holds(seen, seen)) { pass.apply(seen, self.choice) } else { None };
            if let Some(made) = made.as_ref().filter(|_| self.verifies) {
                self.check(pass, seen, made)?;
            }
            if let Some(records) = &mut self.records {
                let after = made.as_ref().and_then(Code::seen).map(Seen::n_values);
                records.push(Record { pass: pass.name, before: seen.n_values(), after });
            }
            match &made {
                Some(made) => self.observe(pass, Moment::Changed, || made.text()),
                None => self.observe(pass, Moment::Kept, || seen.text()),
            }
            if made.is_some() {
                self.changed.push(pass);
                given_up.extend(pass.gives_up.iter().map(|property| (*property, pass.name)));
                now = made;
            }
        }
        Ok(now)
    }

    fn observe(&mut self, pass: &'static Pass, moment: Moment, text: impl FnOnce() -> String) {
        if let Some(observer) = &mut self.observer {
            observer(pass, moment, &text());
        }
    }

    /// Whether a result is verified, and has what the pass establishes.
    fn check(&self, pass: &Pass, before: Seen<'_>, made: &Code) -> Result<(), Fault> {
        let fault = |problem: String| Fault { pass: pass.name, problem };
        if let Some(problem) = made.problems().first() {
            return Err(fault(format!("made what is not right: {problem}")));
        }
        let now: Vec<Seen<'_>> = match made {
            Code::Parts(parts) => parts.loops().into_iter().map(|(_, body)| Seen::Loop(body)).collect(),
            Code::Loop(_) | Code::Block(_) => made.seen().into_iter().collect(),
        };
        // Of parts, what is established holds of the first.
        let lacks = |property: &&Property| now.first().is_some_and(|now| !property.holds(*now, before));
        match pass.establishes.iter().find(lacks) {
            Some(property) => Err(fault(format!("does not establish {property}"))),
            None => Ok(()),
        }
    }
}
