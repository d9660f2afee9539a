//! A parallel test driver: known answers on engines: jobs side by side, the cases of each on one engine after the other.

use super::jobs::{File, Job};
use super::{Done, Finding, Listener, Place, in_turn};
use crate::engines::{self, Available, EngineName, NotStarted};
use crate::primitive::Runner;
use headrace_engine::Engine;
use headrace_ir::{DEFAULT_FIFO_TOKENS, Network};
use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Runs jobs on engines, so many at a time; gives what came of each by its number.
pub(super) fn run(
    jobs: &[Job],
    mut order: Vec<usize>,
    files: &[File],
    workers: usize,
    listener: &dyn Listener,
) -> Vec<(usize, Done)> {
    let n_jobs = order.len();
    // The slow ones first, so that the last one to end is a short one.
    let weight = |job: &Job| {
        job.cases.iter().map(|(file, case)| if files[*file].cases[*case].is_chain() { 1000 } else { 1 }).sum::<usize>()
    };
    let is_slow = |job: &Job| matches!(job.place, Place::Engine(EngineName::Interp));
    order.sort_by_key(|at| std::cmp::Reverse((is_slow(&jobs[*at]), weight(&jobs[*at]))));
    let next = AtomicUsize::new(0);
    in_turn(
        || order.get(next.fetch_add(1, Ordering::Relaxed)),
        workers.min(n_jobs),
        |at| {
            let done = vec![(*at, run_job(&jobs[*at], files))];
            listener.finished(&done);
            done
        },
        |n| listener.networks(n, n_jobs),
    )
}

fn run_job(job: &Job, files: &[File]) -> Done {
    let began = Instant::now();
    let all_fail = |message: &str| vec![Finding::Failed(message.to_owned()); job.cases.len()];
    let findings = match (&job.network, job.place) {
        (Err(message), _) => all_fail(message),
        (Ok(_), Place::Project(_)) => all_fail("a project is no engine"),
        (Ok(network), Place::Engine(engine)) => match engines::Factory::new(engine, network, DEFAULT_FIFO_TOKENS) {
            Err(problem) => match in_the_way(&problem) {
                // That says nothing about the network.
                Some(why) => vec![Finding::NotRun(Cow::Owned(why)); job.cases.len()],
                None => all_fail(&problem.describe()),
            },
            Ok(factory) => play(job, files, network, &factory),
        },
    };
    Done { findings, seconds: began.elapsed().as_secs_f64() }
}

/// What keeps compiled code from running here now, whatever it is compiled of.
fn in_the_way(problem: &NotStarted) -> Option<String> {
    match problem {
        NotStarted::Wrong(_) => None,
        NotStarted::MissingTool(why) | NotStarted::Unable(why) => Some(engines::first_line(why).to_owned()),
        // A compiler that refuses this program and takes another one has found a mistake in this one.
        NotStarted::Failed(_) => match engines::availability(EngineName::Native) {
            Available::Here(_) => None,
            Available::Missing(why) => Some(why),
        },
    }
}

/// Plays the cases of a job on one engine after another; a new engine only after a failure.
fn play(job: &Job, files: &[File], network: &Network, factory: &engines::Factory) -> Vec<Finding> {
    let mut runner: Option<Runner> = None;
    let mut findings = Vec::with_capacity(job.cases.len());
    for (file, case) in &job.cases {
        let case = &files[*file].cases[*case];
        let verdict = case.perform(&job.spec, |call| {
            let mut current = match runner.take() {
                Some(current) => current,
                None => {
                    let engine: Box<dyn Engine> = factory.engine().map_err(|problem| problem.describe())?;
                    Runner::new(&job.spec, network, engine)
                }
            };
            let answer = current.perform(&call.input)?;
            runner = Some(current);
            Ok::<_, String>(answer)
        });
        findings.push(verdict.map_or_else(Finding::Failed, Finding::from));
    }
    findings
}
