//! What a child process does: makes cases, runs them on the engines and says what came out, line by line, so that its
//! supervisor knows which case a crash belongs to.

use super::interpreted;
use super::mapping;
use super::native::{Compiled, Form, Native, Wanted};
use super::observe::{Observed, Stopped, difference, observe};
use super::program;
use super::verdict::{Kind, Verdict};
use crate::generate::{Case, Cuts, Knobs, generate};
use crate::rng::Rng;
use headrace_ir::{DEFAULT_FIFO_TOKENS, Network};
use std::sync::Arc;

/// Which cases, and on which engines.
#[derive(Clone, Debug)]
pub struct Work {
    /// Seed of the first case.
    pub first_seed: u64,
    /// Number of cases.
    pub cases: u64,
    /// What to leave out of each.
    pub cuts: Cuts,
    /// How to make native code, if it is compared.
    pub native: Option<Native>,
    /// Native code runs on several threads, with a random mapping for each case.
    pub threads: bool,
}

/// A case that the interpreter agrees with itself on.
struct Judged {
    seed: u64,
    case: Case,
    network: Arc<Network>,
    fifo_tokens: u32,
    /// What the interpreter shows with these FIFOs.
    expected: Observed,
}

/// Judges the cases; every line for the supervisor goes to `say`.
pub fn run(work: &Work, say: &mut dyn FnMut(String)) {
    let mut judged = Vec::new();
    for i in 0..work.cases {
        let seed = work.first_seed.wrapping_add(i);
        say(format!("start {seed}"));
        match interpreted(seed, &work.cuts) {
            Ok(one) if work.native.is_some() => judged.push(one),
            Ok(one) => say(format!("verdict {seed} {}", agreement(&one))),
            Err(verdict) => say(format!("verdict {seed} {verdict}")),
        }
    }
    if let Some(native) = &work.native {
        // The form follows the seed, so that a case fails alone as it fails among others.
        let (checked, delivered): (Vec<_>, Vec<_>) = judged.into_iter().partition(|one| one.seed % 2 == 0);
        compare_native(native, work.threads, Form::Checked, &checked, say);
        compare_native(native, work.threads, Form::Delivered, &delivered, say);
    }
}

fn agreement(one: &Judged) -> Verdict {
    let telling = one.expected.outputs.iter().any(|o| !o.is_empty()) || !one.expected.printed.is_empty();
    Verdict::new(Kind::Agrees, "-", if telling { "telling" } else { "silent" })
}

fn interpreted(seed: u64, cuts: &Cuts) -> Result<Judged, Verdict> {
    let case = generate(seed, &Knobs::default());
    let network = Arc::new(program::elaborate(&case, cuts)?);
    let reference = interpreted::judge(&network, &case.inputs, seed)?;
    let mut rng = Rng::new(!seed);
    // Native code is built for one size of its FIFOs; half of the cases take small ones.
    let fifo_tokens = if rng.chance(50) { DEFAULT_FIFO_TOKENS } else { rng.range(1, 9) as u32 };
    let expected = if fifo_tokens == DEFAULT_FIFO_TOKENS {
        reference
    } else {
        let order = headrace_interp::Order::RoundRobin;
        interpreted::interpret(&network, &case.inputs, order, fifo_tokens, false)?
    };
    Ok(Judged { seed, case, network, fifo_tokens, expected })
}

fn compare_native(native: &Native, threads: bool, form: Form, judged: &[Judged], say: &mut dyn FnMut(String)) {
    if judged.is_empty() {
        return;
    }
    let wanted = |one: &Judged| {
        let mapping = threads.then(|| Arc::new(mapping::random(&one.network, one.seed)));
        (one.network.clone(), one.fifo_tokens, mapping)
    };
    let networks: Vec<Wanted> = judged.iter().map(wanted).collect();
    match native.compile(&networks, form) {
        Ok(compiled) => {
            for (at, one) in judged.iter().enumerate() {
                say(format!("start {}", one.seed));
                say(format!("verdict {} {}", one.seed, compare(&compiled, form, at, one)));
            }
        }
        Err(message) if judged.len() == 1 => {
            let verdict = Verdict::new(Kind::CompilerRefused, "-", message);
            say(format!("verdict {} {verdict}", judged[0].seed));
        }
        // One of them spoils the rest: each half by itself.
        Err(_) => {
            let (a, b) = judged.split_at(judged.len() / 2);
            compare_native(native, threads, form, a, say);
            compare_native(native, threads, form, b, say);
        }
    }
}

fn compare(compiled: &Compiled, form: Form, at: usize, one: &Judged) -> Verdict {
    let mut engine = match compiled.engine(at, &one.network) {
        Ok(engine) => engine,
        Err(message) => return Verdict::new(Kind::CompilerRefused, "-", message),
    };
    match observe(engine.as_mut(), &one.network, &one.case.inputs) {
        Ok(mut shown) => {
            if form == Form::Delivered {
                shown.firings.clear();
            }
            match difference(&one.expected, &shown, true) {
                Some(text) => {
                    let text = format!("interpreter and native ({form:?}), {} tokens: {text}", one.fifo_tokens);
                    Verdict::new(Kind::NativeDiffers, "-", text)
                }
                None => agreement(one),
            }
        }
        Err(Stopped::Trapped(message)) => Verdict::new(Kind::NativeTrap, "-", message),
        Err(Stopped::RanAway) => Verdict::new(Kind::NativeRunaway, "-", format!("{} tokens", one.fifo_tokens)),
    }
}
