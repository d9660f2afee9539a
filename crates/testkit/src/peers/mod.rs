//! Every operation of the crypto library against independent implementations, on random messages.
//!
//! All messages of an operation go through one running network, several of them at a time, with keys that change at
//! random in between and strings cut into chunks at random; verifying operations are also given forgeries. What has no
//! peer is held against itself: each message alone, in one chunk, through a fresh network on the interpreter.
//!
//! | module | holds |
//! | --- | --- |
//! | `library` | the library of a repository, read from its folder |
//! | `messages` | the messages of a seed |
//! | `chunks` | where their strings are cut |
//! | `campaign` | one operation, from its first message to its verdict |
//! | `shrinking` | how little of it shows a failure |
//! | `summary` | lines and JSON |

pub mod campaign;
pub mod chunks;
pub mod library;
pub mod messages;
mod shrinking;
mod summary;

pub use campaign::{Engine, Plan, Report, Reports};

use crate::rng::Rng;
use headrace_library::catalog::{Framing, OperationSpec};
use library::Shipped;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Runs every operation and variant of the scope, as many at a time as `jobs`; tells each line when it is there.
pub fn run(
    shipped: &Shipped,
    scope: &[&OperationSpec],
    plan: &Plan,
    jobs: usize,
    tell: &(dyn Fn(&str) + Sync),
) -> Reports {
    let mut work: Vec<(&OperationSpec, &str)> = scope
        .iter()
        .filter(|spec| spec.framing != Framing::Bare)
        .flat_map(|spec| spec.variants.iter().map(|variant| (*spec, variant.name.as_str())))
        .filter(|(_, variant)| plan.variant.as_deref().is_none_or(|only| only == *variant))
        .collect();
    if plan.deadline.is_some() {
        // Where time ends before the work does, the seed says what has been done by then.
        Rng::new(plan.seed).shuffle(&mut work);
    }
    let width = work.iter().map(|(spec, variant)| spec.full_name().len() + variant.len()).max().unwrap_or(0) + 2;
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<Report>>> = work.iter().map(|_| Mutex::new(None)).collect();
    let one = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((spec, variant)) = work.get(at) else { return };
            let report = campaign::run(shipped, spec, variant, plan);
            tell(&report.line(width));
            *done[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, work.len().max(1)) {
            // Deep hierarchies need more than the usual stack.
            let worker = std::thread::Builder::new().stack_size(64 << 20);
            if worker.spawn_scoped(scope, one).is_err() {
                one();
            }
        }
    });
    Reports(done.into_iter().filter_map(|report| report.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
}
