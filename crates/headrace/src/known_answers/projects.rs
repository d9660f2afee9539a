//! Known answers in projects: what a target prints for operations is built and its test run, as its user would.
//!
//! A project is of one parameter set in one variant; some are built at once where that saves time. Its test says how many
//! attempts passed and failed for each operation ([`toolchain::read`]): an operation of which one attempt fails, or of
//! which the test does not say that it tried all answers, has failed with all of its records.

use super::jobs::{File, Job};
use super::kept::{Kept, Outcome, Shared, Subject};
use super::queue::Queue;
use super::{Done, Finding, Listener, Place, in_turn, processors};
use crate::build::answers::{NO_FRAMING, NO_INTERFACE, TOO_LONG, Unanswered, answers_of, completed_answers, is_whole};
use crate::toolchains::{Found, run as run_step, workshop, write_files};
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_library::known_answers::Case;
use headrace_source::Diagnostic;
use headrace_targets::Options;
use headrace_targets::project::{KnownAnswer, is_supported};
use headrace_targets::toolchain::{self, Batch, Member, Toolchain};
use headrace_targets::{ALL, Target};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How projects are built and run.
pub(super) struct Plan {
    /// The tools of each toolchain, by its name.
    pub(super) found: HashMap<&'static str, Found>,
    /// Batches at a time.
    pub(super) workers: usize,
    /// For each command.
    pub(super) limit: Duration,
}

/// The operations of one parameter set in one variant, by the numbers of their jobs.
struct Project<'j> {
    target: &'static Target,
    toolchain: &'static Toolchain,
    subject: Subject<'j>,
    jobs: Vec<usize>,
}

/// Runs jobs in projects; gives what came of each by its number.
pub(super) fn run(
    jobs: &[Job],
    wanted: Vec<usize>,
    files: &[File],
    plan: &Plan,
    listener: &dyn Listener,
) -> Vec<(usize, Done)> {
    let batches = batches(projects(jobs, &wanted));
    let kept = Kept::default();
    let n_projects: usize = batches.iter().map(Vec::len).sum();
    let workers = plan.workers.min(batches.len()).max(1);
    let cores = (processors() / workers).max(1);
    let n_done = Mutex::new(0);
    let queue = Queue::of(&batches, NEAR, |batch| batch.iter().map(|project| project.subject).collect());
    in_turn(
        || queue.next(),
        workers,
        |batch| {
            let printed = Printed::of(batch, jobs, files, &kept);
            queue.made(batch);
            let done = printed.done(jobs, plan, cores);
            listener.finished(&done);
            let mut n_done = n_done.lock().unwrap_or_else(PoisonError::into_inner);
            *n_done += batch.len();
            listener.projects(*n_done, n_projects);
            done
        },
        |_| {},
    )
}

/// Jobs of one set, one variant and the same arguments go into one project. Large ones come first, so that the last one to
/// end is a small one, and what differs in nothing but its toolchain stands together.
fn projects<'j>(jobs: &'j [Job], wanted: &[usize]) -> Vec<Project<'j>> {
    let mut found: BTreeMap<(Subject<'j>, &'static str), Project<'j>> = BTreeMap::new();
    for at in wanted {
        let job = &jobs[*at];
        let Place::Project(toolchain) = job.place else { continue };
        let of = |target: &&Target| target.toolchains.iter().any(|other| other.name == toolchain.name);
        let Some(target) = ALL.iter().find(of) else { continue };
        let subject =
            Subject { variant: &job.variant, arguments: job.arguments.as_slice(), set: job.spec.set.as_str() };
        let new = || Project { target, toolchain, subject, jobs: Vec::new() };
        found.entry((subject, toolchain.name)).or_insert_with(new).jobs.push(*at);
    }
    let mut found: Vec<Project<'j>> = found.into_values().collect();
    found.sort_by_key(|project| std::cmp::Reverse(project.jobs.len()));
    found
}

/// How far back a project may join a batch, and ahead of others a batch may go: what it shares with others is still kept
/// then.
const NEAR: usize = 40;

/// Projects that are built at once: of one toolchain, as many as it likes, and no set twice. They stay in their order as far
/// as that goes.
fn batches(projects: Vec<Project<'_>>) -> Vec<Vec<Project<'_>>> {
    let mut batches: Vec<Vec<Project<'_>>> = Vec::new();
    for project in projects {
        let has_room = |batch: &&mut Vec<Project<'_>>| {
            batch.len() < project.toolchain.at_once
                && batch[0].toolchain.name == project.toolchain.name
                && batch.iter().all(|other| other.subject.set != project.subject.set)
        };
        match batches.iter_mut().rev().take(NEAR).find(has_room) {
            Some(batch) => batch.push(project),
            None => batches.push(vec![project]),
        }
    }
    batches
}

/// A batch whose projects are printed.
struct Printed<'b, 'j> {
    projects: &'b [Project<'j>],
    /// Of each project its files, or why there are none.
    files: Vec<Outcome>,
    /// For each job what is known before anything runs: of every case a finding, or that its project decides.
    findings: HashMap<usize, Vec<Option<Finding>>>,
    /// For each job how many answers its project has.
    answers: HashMap<usize, usize>,
    began: Instant,
}

impl<'b, 'j> Printed<'b, 'j> {
    fn of(projects: &'b [Project<'j>], jobs: &[Job], files: &[File], kept: &Kept<'j>) -> Self {
        let began = Instant::now();
        let mut printed =
            Self { projects, files: Vec::new(), findings: HashMap::new(), answers: HashMap::new(), began };
        for project in projects {
            let made = printed.print(project, jobs, files, &kept.of(project.subject));
            printed.files.push(made);
        }
        printed
    }

    fn print(&mut self, project: &Project<'_>, jobs: &[Job], files: &[File], shared: &Shared) -> Outcome {
        let mut operations: Vec<(&OperationSpec, &Network)> = Vec::new();
        let mut known: Vec<KnownAnswer> = Vec::new();
        let mut problem = None;
        for at in &project.jobs {
            let job = &jobs[*at];
            let before = known.len();
            let findings = job.cases.iter().map(|(file, case)| {
                if !is_supported(&job.spec) {
                    return Some(Finding::not_run(NO_INTERFACE));
                }
                let holds = |answer: &KnownAnswer| match &job.network {
                    Ok(network) => (project.target.holds)(&job.spec, network, answer),
                    Err(_) => true,
                };
                match answers_to(&files[*file].cases[*case], operations.len(), job) {
                    Ok(answers) if !answers.iter().all(holds) => Some(Finding::not_run(NO_FRAMING)),
                    Ok(answers) => {
                        known.extend(answers);
                        None
                    }
                    Err(Unanswered::NotHeld(why)) => Some(Finding::not_run(why)),
                    Err(Unanswered::Wrong(why)) => Some(Finding::Failed(why)),
                }
            });
            let findings: Vec<Option<Finding>> = findings.collect();
            self.findings.insert(*at, findings);
            self.answers.insert(*at, known.len() - before);
            if known.len() > before {
                match &job.network {
                    Ok(network) => operations.push((job.spec.as_ref(), network)),
                    Err(message) => problem = Some(message.clone()),
                }
            }
        }
        if let Some(problem) = problem {
            return Err(problem);
        }
        let Some((first, _)) = operations.first() else { return Ok(Arc::default()) };
        let set = project.subject.set;
        let title = format!("{}, {set}", first.title);
        let command = format!("headrace {} test", env!("CARGO_PKG_VERSION"));
        let fused = project.toolchain.fused;
        let options = Options { command, fused, automata: Some(shared.automata.clone()), ..Options::default() };
        shared.files.get((project.target.name, fused), || {
            (project.target.of_operations)(set, &title, &operations, &known, &options, &|_, _| {})
                .map(Arc::new)
                .map_err(|problems: Vec<Diagnostic>| crate::primitive::messages(&problems))
        })
    }

    /// Builds the projects, runs their tests, and says what came of each job.
    fn done(self, jobs: &[Job], plan: &Plan, cores: usize) -> Vec<(usize, Done)> {
        let mut members = Vec::new();
        let mut told: Vec<Option<Told>> = Vec::new();
        for (at, (project, files)) in self.projects.iter().zip(&self.files).enumerate() {
            match files {
                // Nothing to build.
                Ok(files) if files.is_empty() => told.push(None),
                Ok(files) => {
                    members.push((at, Member { folder: format!("p{at}"), set: project.subject.set, files }));
                    told.push(None);
                }
                Err(message) => told.push(Some(Told::nothing(message))),
            }
        }
        if let (Some(project), false) = (self.projects.first(), members.is_empty()) {
            for (at, answer) in built_and_tested(project.toolchain, &members, plan, cores) {
                told[at] = Some(answer);
            }
        }
        let n_jobs: usize = self.projects.iter().map(|project| project.jobs.len()).sum();
        let seconds = self.began.elapsed().as_secs_f64() / n_jobs.max(1) as f64;
        let mut done = Vec::new();
        for (project, told) in self.projects.iter().zip(&told) {
            let tried: Vec<usize> = project.jobs.iter().copied().filter(|at| self.answers[at] > 0).collect();
            let mut by_project: HashMap<usize, Finding> = match told {
                None => HashMap::new(),
                Some(told) => tried.iter().map(|at| (*at, told.of(&jobs[*at].spec.name, self.answers[at]))).collect(),
            };
            // What spoils a test beside its operations spoils all of them.
            if let Some(complaint) = told.as_ref().and_then(|told| told.complaint.as_ref())
                && by_project.values().all(|finding| matches!(finding, Finding::Passed))
            {
                by_project.values_mut().for_each(|finding| *finding = Finding::Failed(complaint.clone()));
            }
            for at in &project.jobs {
                let of_project = by_project.get(at).cloned().unwrap_or(Finding::not_run(TOO_LONG));
                let own = self.findings[at].iter();
                let findings = own.map(|own| own.clone().unwrap_or_else(|| of_project.clone())).collect();
                done.push((*at, Done { findings, seconds }));
            }
        }
        done
    }
}

/// What the test of a project holds of a case.
fn answers_to(case: &Case, operation: usize, job: &Job) -> Result<Vec<KnownAnswer>, Unanswered> {
    let answers = answers_of(operation, &job.spec, &case.plan);
    match &job.network {
        _ if is_whole(&case.plan) && !answers.is_empty() => Ok(answers),
        Ok(network) => completed_answers(operation, &job.spec, network, case),
        Err(message) => Err(Unanswered::Wrong(message.clone())),
    }
}

/// What the test of a project told.
struct Told {
    /// All that it said.
    said: String,
    /// Why it did not end well, if it did not.
    complaint: Option<String>,
}

impl Told {
    /// A test that could not be run.
    fn nothing(why: &str) -> Self {
        Self { said: String::new(), complaint: Some(why.to_owned()) }
    }

    /// What it told of an operation with so many answers.
    fn of(&self, operation: &str, n_answers: usize) -> Finding {
        let because = |what: String| match &self.complaint {
            Some(complaint) => Finding::Failed(format!("{what}: {complaint}")),
            None => Finding::Failed(what),
        };
        match toolchain::read(&self.said).get(operation) {
            None => because(format!("the test of the project says nothing of `{operation}`")),
            Some(counts) if counts.failed > 0 => {
                because(format!("{} of {} attempts fail", counts.failed, counts.passed + counts.failed))
            }
            Some(counts) if counts.passed < n_answers => {
                because(format!("the test of the project tried {} of {n_answers} answers", counts.passed))
            }
            Some(_) => Finding::Passed,
        }
    }
}

/// Builds projects at once, and runs the test of each: what these tell. Where they cannot be built, one of them is to blame:
/// each half by itself.
fn built_and_tested(
    toolchain: &Toolchain,
    members: &[(usize, Member<'_>)],
    plan: &Plan,
    cores: usize,
) -> Vec<(usize, Told)> {
    let all_fail = |why: &str| members.iter().map(|(at, _)| (*at, Told::nothing(why))).collect();
    let Some(found) = plan.found.get(toolchain.name) else { return all_fail("its tools were not looked for") };
    let own: Vec<Member<'_>> = members.iter().map(|(_, member)| member.clone()).collect();
    let batch = Batch { toolchain, members: &own, tools: &found.commands, jobs: cores };
    let folder = match workshop() {
        Ok(folder) => folder,
        Err(why) => return all_fail(&why),
    };
    if let Err(why) = written(folder.path(), toolchain, &batch) {
        return all_fail(&why);
    }
    for step in (toolchain.build)(&batch) {
        let Some(complaint) = run_step(&step, folder.path(), plan.limit).complaint() else { continue };
        if members.len() == 1 {
            return all_fail(&complaint);
        }
        drop(folder);
        let (one, other) = members.split_at(members.len() / 2);
        let mut said = built_and_tested(toolchain, one, plan, cores);
        said.extend(built_and_tested(toolchain, other, plan, cores));
        return said;
    }
    let test = |(at, member): &(usize, Member<'_>)| {
        let said = run_step(&(toolchain.test)(&batch, member), folder.path(), plan.limit);
        (*at, Told { complaint: said.complaint(), said: said.text })
    };
    members.iter().map(test).collect()
}

fn written(folder: &Path, toolchain: &Toolchain, batch: &Batch<'_>) -> Result<(), String> {
    for member in batch.members {
        write_files(&folder.join(&member.folder), member.files)?;
    }
    write_files(folder, &(toolchain.join)(batch.members))
}
