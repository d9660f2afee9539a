//! `headrace build`.

use super::Context;
use crate::cli::{BuildArgs, ListArgs, Listing};
use crate::engines::c_compiler;
use crate::failure::{Failure, Outcome};
use crate::fills::Interpreted;
use crate::progress::{Progress, Unit};
use crate::project_folder::{self, Beside};
use crate::projects::{answer, answers_of};
use crate::terminal::plural;
use crate::workspaces;
use headrace_engine::{CollectingHost, Engine, Outcome as Stop};
use headrace_exchange::Running;
use headrace_hardware::Datapath;
use headrace_interp::Interpreter;
use headrace_ir::{Int, IntType, Network, Scalar};
use headrace_library::catalog::{Library, OperationSpec, VariantSpec};
use headrace_library::framing::{Message, Outcome as Came};
use headrace_library::known_answers::cases;
use headrace_library::manifest::Manifest;
use headrace_library::samples;
use headrace_library::vectors::VectorFile;
use headrace_native::LocalTrials;
use headrace_targets::Target;
use headrace_targets::automata::NotFused;
use headrace_targets::c::Options;
use headrace_targets::c::kernel::Trials;
use headrace_targets::c::small::{Fills, estimate};
use headrace_targets::project::{Files, KnownAnswer, Recording};
use headrace_transform::passes;
use headrace_transform::passes::manager::LeftOut;
use headrace_transform::passes::pass::Pass;
use std::sync::{Arc, Mutex, PoisonError};

/// Writes a project for a network, or for the operations of a parameter set.
pub fn build(context: &mut Context, arguments: &BuildArgs) -> Outcome {
    if arguments.target == "list" {
        return super::list::list(context, &ListArgs { what: Listing::Targets, json: false });
    }
    let Some(target) = headrace_targets::ALL.iter().find(|target| target.name == arguments.target) else {
        let known: Vec<&str> = headrace_targets::ALL.iter().map(|target| target.name).collect();
        let wrong = arguments.target.escape_debug();
        return Err(Failure::usage(format!("`{wrong}` is no target; there are {}", known.join(", "))));
    };
    if arguments.tune && !target.tunes {
        return Err(Failure::usage(format!("target {} prints no loops that could be tuned", target.name)));
    }
    if arguments.networks.is_empty() && !target.takes_all {
        return Err(Failure::usage("NETWORK is missing"));
    }
    if let Some(prefix) = &arguments.prefix {
        check_prefix(prefix, target)?;
    }
    if arguments.name.is_some() && target.takes_all {
        return Err(Failure::usage(format!("--name: what target {} makes has a name of its own", target.name)));
    }
    if arguments.main && target.name != "c" {
        return Err(Failure::usage(format!("--main: target {} makes no programs; c does", target.name)));
    }
    if arguments.small && target.name != "c" {
        return Err(Failure::usage(format!("--small: target {} makes nothing small; c does", target.name)));
    }
    if !arguments.hardware.words().is_empty() && !matches!(target.name, "verilog" | "vhdl") {
        let what = arguments.hardware.words().join(" ");
        return Err(Failure::usage(format!("{what}: target {} makes no hardware; verilog and vhdl do", target.name)));
    }
    if (!arguments.passes.is_empty() || arguments.pass_limit.is_some()) && arguments.small {
        return Err(Failure::usage("--passes, --pass-limit: small code goes through no passes"));
    }
    let folder = arguments.output.as_deref().ok_or_else(|| Failure::usage("-o DIR is missing"))?;
    let beside = if arguments.force { Beside::Force } else { Beside::Nothing };
    project_folder::check(folder, beside)?;
    leave_out_passes(arguments)?;
    let library = context.library()?;
    let mut files = match arguments.networks.as_slice() {
        [network] if arguments.small && !is_of_library(&library, network) => {
            return Err(Failure::usage(
                "--small makes operations of the library, whose messages say how full FIFOs get",
            ));
        }
        [network] if !is_of_library(&library, network) => {
            if arguments.name.is_some() {
                return Err(Failure::usage("--name is for parameter sets of the library; a network has its own name"));
            }
            let of_network = target.of_network.ok_or_else(|| not_of_library(network))?;
            let network = context.elaborate(network, &arguments.parameters)?;
            let recording = record(&network, arguments.fifo);
            show_refused(context, of_network(&network, recording.as_ref(), &options(arguments)?))?
        }
        [_, _, ..] if !target.gathers => {
            return Err(Failure::usage(format!(
                "target {} makes a project of one parameter set at a time; {} make one of several",
                target.name,
                gathering()
            )));
        }
        _ if arguments.main => {
            return Err(Failure::usage(
                "--main makes a program of a network; of a primitive, name the network that is meant",
            ));
        }
        networks => {
            let sets = sets_of(&library, networks, target)?;
            let name = project_name(arguments, &sets)?;
            of_library(context, &library, &sets, &name, arguments, target)?
        }
    };
    for line in headrace_targets::notes(&files) {
        context.terminal.note(&line);
    }
    if let Some(manifest) = files.get_mut("Cargo.toml").filter(|_| workspaces::is_stranger(folder)) {
        manifest.extend_from_slice(workspaces::APART.as_bytes());
    }
    project_folder::write(folder, &files, beside)?;
    if let Some(limit) = arguments.pass_limit {
        let (n, last) = passes::manager::n_changes();
        let last = last.map_or(String::new(), |last| format!("; change {limit} is by {last}"));
        context.terminal.note(&format!("passes change something {} in all{last}", plural(n as usize, "time")));
    }
    context.terminal.say(&format!(
        "{} in {}; build and test with: {}",
        plural(files.len(), "file"),
        folder.display(),
        target.test.replace("{}", &folder.display().to_string())
    ));
    Ok(())
}

/// Leaves out what the command line says, each pass with a hyphen before its name.
fn leave_out_passes(arguments: &BuildArgs) -> Outcome {
    if arguments.passes.is_empty() && arguments.pass_limit.is_none() {
        return Ok(());
    }
    let name = |word: &String| {
        let pass = word.strip_prefix('-').and_then(Pass::named).map(|pass| pass.name);
        pass.ok_or_else(|| {
            let wrong = word.escape_debug();
            Failure::usage(format!(
                "--passes: `{wrong}` is no pass with a hyphen before it; `headrace list passes` lists them"
            ))
        })
    };
    let names = arguments.passes.iter().map(name).collect::<Outcome<Vec<_>>>()?;
    passes::manager::leave_out(LeftOut { passes: names, limit: arguments.pass_limit });
    Ok(())
}

/// Tokens for each input of a network whose run is recorded.
const RECORDED_TOKENS: usize = 256;

/// Most firings of a recorded run.
const RECORDED_FIRINGS: u64 = 1 << 20;

/// Most bytes of output of a recorded run; a source without end makes more.
const RECORDED_BYTES: usize = 1 << 20;

/// A run on the interpreter with arbitrary tokens, the same each time. None where the streams would not tell: when they
/// may depend on the order of firings or on the outside, when nothing comes out, or when the run does not come to rest.
pub(super) fn record(network: &Network, fifo_tokens: u32) -> Option<Recording> {
    let is_real = |ty: Scalar| matches!(ty, Scalar::Real(_) | Scalar::String);
    if network.inputs.iter().chain(&network.outputs).any(|port| is_real(port.ty))
        || network.actors.iter().any(|actor| !actor.natives.is_empty())
        || !headrace_analysis::order_dependence::diagnostics(network).is_empty()
    {
        return None;
    }
    // A linear congruential generator modulo 2^64 (Knuth's MMIX constants); its upper bits are the arbitrary ones.
    let mut state = 0x0123_4567_89ab_cdef_u64;
    let mut arbitrary = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let mut token = |ty: Scalar| {
        // Counts and sizes stand in wide tokens; small ones let more happen.
        let most = if ty.width() > 16 { 32 } else { u64::MAX };
        let wrapped = Int::from(arbitrary() % most).wrap(ty.as_int().unwrap_or(IntType::unsigned(1)));
        wrapped.to_le_bytes(ty.storage_bytes())
    };
    let inputs: Vec<Vec<u8>> =
        network.inputs.iter().map(|port| (0..RECORDED_TOKENS).flat_map(|_| token(port.ty)).collect()).collect();
    let options = headrace_interp::Options { fifo_tokens, ..headrace_interp::Options::default() };
    let mut engine = Interpreter::new(network.clone(), options).ok()?;
    let mut host = CollectingHost::default();
    let mut outputs = vec![Vec::new(); network.outputs.len()];
    let mut left = inputs.clone();
    loop {
        let mut moved = 0;
        for (at, (port, tokens)) in network.inputs.iter().zip(&mut left).enumerate() {
            let n = engine.write(at, tokens);
            tokens.drain(..n * port.ty.storage_bytes());
            moved += n;
        }
        if engine.run(Some(RECORDED_FIRINGS), &mut host) != Ok(Stop::Idle) {
            return None;
        }
        moved += outputs.iter_mut().enumerate().map(|(at, stream)| engine.read(at, stream)).sum::<usize>();
        if outputs.iter().map(Vec::len).sum::<usize>() > RECORDED_BYTES {
            return None;
        }
        if moved == 0 {
            break;
        }
    }
    outputs.iter().any(|stream| !stream.is_empty()).then_some(Recording { inputs, outputs })
}

/// The command that makes the files stands in their first line; where they go does not.
pub(super) fn options(arguments: &BuildArgs) -> Outcome<Options> {
    let mut words = vec!["headrace".to_owned(), env!("CARGO_PKG_VERSION").into(), "build".into()];
    words.extend(
        arguments
            .networks
            .iter()
            .map(|network| if network.contains(['(', ' ']) { format!("'{network}'") } else { network.clone() }),
    );
    words.extend(["--target".into(), arguments.target.clone()]);
    words.extend(arguments.parameters.iter().flat_map(|parameter| ["--set".to_owned(), parameter.clone()]));
    words.extend(arguments.variant.iter().flat_map(|variant| ["--variant".to_owned(), variant.clone()]));
    words.extend(arguments.operations.iter().flat_map(|operation| ["--operation".to_owned(), operation.clone()]));
    words.extend(arguments.prefix.iter().flat_map(|prefix| ["--prefix".to_owned(), format!("'{prefix}'")]));
    words.extend(arguments.name.iter().flat_map(|name| ["--name".to_owned(), name.clone()]));
    words.extend(arguments.unfused.then(|| "--unfused".to_owned()));
    words.extend(arguments.small.then(|| "--small".to_owned()));
    words.extend(arguments.main.then(|| "--main".to_owned()));
    words.extend(arguments.tune.then(|| "--tune".to_owned()));
    words.extend(arguments.hardware.words());
    words.extend((!arguments.passes.is_empty()).then(|| format!("--passes={}", arguments.passes.join(","))));
    words.extend(arguments.pass_limit.map(|limit| format!("--pass-limit {limit}")));
    words.extend((arguments.fifo != 512).then(|| format!("--fifo {}", arguments.fifo)));
    let trials = match arguments.tune {
        true => Some(Arc::new(LocalTrials::new(c_compiler()?)) as Arc<dyn Trials>),
        false => None,
    };
    let (command, fused) = (words.join(" "), !arguments.unfused);
    let main = arguments.main;
    let usual = Options::default();
    let package_prefix = arguments.prefix.clone().unwrap_or(usual.package_prefix);
    let small = arguments.small.then(|| Arc::new(Interpreted) as Arc<dyn Fills>);
    Ok(Options {
        command,
        package_prefix,
        fifo_tokens: arguments.fifo,
        fused,
        trials,
        main,
        small,
        hardware: headrace_hardware::Options {
            datapath: if arguments.hardware.datapath { Datapath::Always } else { Datapath::Auto },
            rounds_per_cycle: arguments.hardware.rounds,
            wide_ports: arguments.hardware.wide_ports,
            ..headrace_hardware::Options::default()
        },
        ..Options::default()
    })
}

/// That names which begin so are names of packages.
fn check_prefix(prefix: &str, target: &Target) -> Outcome {
    if target.name != "rust" {
        return Err(Failure::usage(format!(
            "--prefix: what target {} makes is no package with a prefix; rust's is",
            target.name
        )));
    }
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if prefix.len() > MOST_PREFIX || !prefix.chars().all(fits) || prefix.starts_with(|c: char| !c.is_ascii_lowercase())
    {
        let wrong = prefix.escape_debug();
        return Err(Failure::usage(format!(
            "--prefix `{wrong}`: it begins with a small letter and has small letters, digits, `-` and `_`, {MOST_PREFIX} at most"
        )));
    }
    Ok(())
}

/// Most bytes of the prefix of a package: registries take names of 64.
const MOST_PREFIX: usize = 32;

fn show_refused(context: &Context, made: Result<Files, Vec<headrace_source::Diagnostic>>) -> Outcome<Files> {
    made.map_err(|problems| {
        context.show(&problems);
        Failure::said()
    })
}

pub(super) fn is_of_library(library: &Library, name: &str) -> bool {
    let is_called =
        |manifest: &Manifest| manifest.primitive == name || manifest.sets.iter().any(|set| set.name == name);
    library.manifests().iter().any(is_called)
}

/// The targets that make one project of several parameter sets.
fn gathering() -> String {
    let names: Vec<&str> =
        headrace_targets::ALL.iter().filter(|target| target.gathers).map(|target| target.name).collect();
    names.join(", ")
}

/// Most bytes of a name that is made of others.
const LONGEST_NAME: usize = 64;

/// What a project is called: as is asked for, as its only parameter set, or as what was named for it.
fn project_name(arguments: &BuildArgs, sets: &[&str]) -> Outcome<String> {
    match (&arguments.name, sets) {
        (Some(name), _) => {
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(fits) {
                let wrong = name.escape_debug();
                return Err(Failure::usage(format!(
                    "--name `{wrong}`: a name begins with a letter and has letters, digits, `-` and `_`"
                )));
            }
            // Files that projects ship with are called so.
            if spelled(name).starts_with("headrace") {
                return Err(Failure::usage(format!("--name `{name}`: names that begin with `headrace` are taken")));
            }
            Ok(name.clone())
        }
        (None, [only]) => Ok((*only).to_owned()),
        (None, _) => {
            let name = arguments.networks.join("-");
            // Where everything is taken nobody reads it.
            if name.len() > LONGEST_NAME && arguments.target != "openssl" {
                return Err(Failure::usage("--name NAME is wanted: the names of so many sets make none for a project"));
            }
            Ok(name)
        }
    }
}

/// A name as far as all languages tell it from others.
fn spelled(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// That no two things in a project of several sets would have one name.
fn check_names(name: &str, offered: &[(OperationSpec, Arc<Network>)]) -> Outcome {
    let own = spelled(name);
    for (at, (spec, _)) in offered.iter().enumerate() {
        let full = spelled(&spec.full_name());
        if let Some((other, _)) = offered[..at].iter().find(|(other, _)| spelled(&other.full_name()) == full) {
            return Err(Failure::usage(format!(
                "`{} {}` and `{} {}` would have one name in one project: build them apart",
                other.set, other.name, spec.set, spec.name
            )));
        }
        if [spelled(&spec.set), full].contains(&own) {
            return Err(Failure::usage(format!(
                "--name `{name}`: the project cannot be called like `{}`, which is part of it",
                spec.set
            )));
        }
    }
    Ok(())
}

fn not_of_library(name: &str) -> Failure {
    Failure::usage(format!("`{}` is no primitive and no parameter set of the library", name.escape_debug()))
}

/// The parameter sets that are meant: one, several for a target that gathers them, or all that have a place in it.
pub(super) fn sets_of<'l>(library: &'l Library, names: &[String], target: &Target) -> Outcome<Vec<&'l str>> {
    let mut all: Vec<(&str, &str)> = Vec::new();
    for spec in library.operations() {
        if !all.contains(&(&spec.primitive, &spec.set)) {
            all.push((&spec.primitive, &spec.set));
        }
    }
    let mut sets: Vec<&str> = Vec::new();
    for name in names {
        // A parameter set may be called as its primitive.
        let mut found: Vec<&str> = all.iter().map(|(_, set)| *set).filter(|set| set == name).collect();
        if found.is_empty() {
            found.extend(all.iter().filter(|(primitive, _)| primitive == name).map(|(_, set)| *set));
        }
        if found.is_empty() {
            return Err(not_of_library(name));
        }
        if found.len() > 1 && !target.takes_all {
            let several = found.join(", ");
            let wanted = if target.gathers { "say which are wanted" } else { "one is wanted" };
            return Err(Failure::usage(format!("`{name}` has several parameter sets; {wanted}: {several}")));
        }
        found.retain(|set| !sets.contains(set));
        sets.extend(found);
    }
    if names.is_empty() {
        let has_place =
            |set: &str| library.operations().iter().any(|spec| spec.set == set && !(target.offers)(spec).is_empty());
        sets = all.iter().map(|(_, set)| *set).filter(|set| has_place(set)).collect();
    }
    Ok(sets)
}

/// The operations of parameter sets that are asked for, or all that have a place in the target.
fn of_library(
    context: &mut Context,
    library: &Library,
    sets: &[&str],
    name: &str,
    arguments: &BuildArgs,
    target: &Target,
) -> Outcome<Files> {
    let listed = sets.join("`, `");
    let several = sets.len() > 1;
    let is_meant = |spec: &&OperationSpec| sets.contains(&spec.set.as_str());
    let specs: Vec<&OperationSpec> = library.operations().iter().filter(is_meant).collect();
    if let Some(wrong) = arguments.operations.iter().find(|name| !specs.iter().any(|spec| spec.name == **name)) {
        let known: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        return Err(Failure::usage(format!("`{listed}` has no operation `{wrong}`; there are {}", known.join(", "))));
    }
    let is_wanted = |spec: &OperationSpec| arguments.operations.is_empty() || arguments.operations.contains(&spec.name);
    // What somebody names should be there.
    if !target.takes_all
        && let Some(without) = sets.iter().find(|set| !specs.iter().any(|spec| spec.set == **set && is_wanted(spec)))
    {
        let known: Vec<&str> =
            specs.iter().filter(|spec| spec.set == *without).map(|spec| spec.name.as_str()).collect();
        return Err(Failure::usage(format!(
            "`{without}` has no operation `{}`; ask for one of its own by another --operation ({}), or leave it out",
            arguments.operations.join("`, `"),
            known.join(", ")
        )));
    }
    if let Some(variant) = arguments.variant.as_deref().filter(|_| several)
        && !specs.iter().any(|spec| is_wanted(spec) && spec.variant(Some(variant)).is_some())
    {
        let mut known: Vec<&str> = Vec::new();
        specs.iter().flat_map(|spec| &spec.variants).for_each(|found| {
            if !known.contains(&found.name.as_str()) {
                known.push(&found.name);
            }
        });
        return Err(Failure::usage(format!(
            "none of `{listed}` has a variant `{}`; there are {}",
            variant.escape_debug(),
            known.join(", ")
        )));
    }
    let mut offered: Vec<(OperationSpec, Arc<Network>)> = Vec::new();
    let mut left_out = Vec::new();
    for spec in specs.into_iter().filter(|spec| is_wanted(spec)) {
        let offers = (target.offers)(spec);
        if offers.is_empty() {
            left_out.push(if several { spec.full_name() } else { spec.name.clone() });
        }
        for mut offer in offers {
            offer.among_sets = several;
            let found = offer.variant(arguments.variant.as_deref());
            // Of several sets those have a variant that know it.
            let variant = found.or(offer.variant(None).filter(|_| several)).ok_or_else(|| {
                let known: Vec<&str> = spec.variants.iter().map(|variant| variant.name.as_str()).collect();
                Failure::usage(format!("`{}` has no such variant; there are {}", spec.full_name(), known.join(", ")))
            })?;
            let is_asked_for = arguments.variant.is_some() && found.is_some();
            let network = match arguments.small && !is_asked_for {
                true => smallest(context, &offer, variant)?,
                false => context.elaborate(&variant.network.to_string(), &[])?,
            };
            offered.push((offer, network));
        }
    }
    if offered.is_empty() {
        return Err(Failure::usage(format!("no operation of `{listed}` has an interface in this target yet")));
    }
    if several || name != sets[0] {
        check_names(name, &offered)?;
    }
    // Of everything nobody wants to hear what is left out.
    if !left_out.is_empty() && !arguments.networks.is_empty() {
        context
            .terminal
            .note(&format!("left out, because they have no interface in this target: {}", left_out.join(", ")));
    }
    let operations: Vec<(&OperationSpec, Arc<Network>)> =
        offered.iter().map(|(spec, network)| (spec, network.clone())).collect();
    let mut answers = match target.known_answers {
        true => known_answers(context, library, &operations)?,
        false => Vec::new(),
    };
    for (at, (spec, network)) in operations.iter().enumerate().filter(|_| target.known_answers) {
        if !answers.iter().any(|answer| answer.operation == at) {
            answers.extend(recorded_answers(at, spec, network));
        }
    }
    let mut titles: Vec<&str> = Vec::new();
    for (spec, _) in &operations {
        if !titles.contains(&spec.title.as_str()) && (several || titles.is_empty()) {
            titles.push(&spec.title);
        }
    }
    let title = format!("{}, {}", titles.join("; "), sets.join(", "));
    let borrowed: Vec<(&OperationSpec, &Network)> =
        operations.iter().map(|(spec, network)| (*spec, network.as_ref())).collect();
    let progress = Mutex::new((0, Progress::new(context.terminal, borrowed.len() as u64, Unit::Steps)));
    let kept = Mutex::new(Vec::new());
    let told = |spec: &OperationSpec, refused: Option<NotFused>| {
        if let Some(refused) = refused {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push((spec.full_name(), refused));
        }
        let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.0 += 1;
        let done = progress.0;
        progress.1.tell(done);
    };
    let made = (target.of_operations)(name, &title, &borrowed, &answers, &options(arguments)?, &told);
    progress.into_inner().unwrap_or_else(PoisonError::into_inner).1.finish();
    for (name, refused) in kept.into_inner().unwrap_or_else(PoisonError::into_inner) {
        context.terminal.note(&keeps_scheduler(context, &name, &refused));
    }
    show_refused(context, made)
}

/// The network of the variant that gets smallest, among those that are constant-time where the usual one is and not where it
/// is not.
fn smallest(context: &mut Context, offer: &OperationSpec, usual: &VariantSpec) -> Outcome<Arc<Network>> {
    let mut all = Vec::new();
    for variant in offer.variants.iter().filter(|variant| variant.constant_time == usual.constant_time) {
        all.push(context.elaborate(&variant.network.to_string(), &[])?);
    }
    let network = all.into_iter().min_by_key(|network| estimate(network));
    network.ok_or_else(|| Failure::wrong(format!("`{}` has no variant", offer.full_name())))
}

/// That an operation is slower than it could be, and why.
fn keeps_scheduler(context: &Context, name: &str, refused: &NotFused) -> String {
    let sources = &context.session.sources;
    let place = refused.span.map_or(String::new(), |span| {
        let (line, column) = sources.position(span);
        format!(" ({}:{line}:{column})", sources.name(span.file))
    });
    format!("`{name}` keeps the scheduler that fires actor after actor: {}{place}", refused.reason)
}

/// The library's known answers for these operations: single messages.
pub(super) fn known_answers(
    context: &mut Context,
    library: &Library,
    operations: &[(&OperationSpec, Arc<Network>)],
) -> Outcome<Vec<KnownAnswer>> {
    let scope: Vec<&OperationSpec> = operations.iter().map(|(spec, _)| *spec).collect();
    let mut answers = Vec::new();
    for manifest in
        library.manifests().iter().filter(|manifest| scope.iter().any(|spec| spec.folder == manifest.folder))
    {
        for path in library.vector_files(manifest) {
            let name = path.rsplit('/').next().unwrap_or(&path);
            let Some((display, text)) = context.roots.text(&path) else {
                return Err(Failure::wrong(format!("the manifest names `{path}`, which is not there")));
            };
            let text = text.map_err(Failure::wrong)?;
            let id = context.session.sources.add(display, text.clone());
            let (file, problems) = VectorFile::parse(id, text.as_bytes());
            context.show(&problems);
            for case in cases(library, name, &file, &scope).cases {
                let position = scope.iter().position(|spec| spec.set == case.set && spec.name == case.operation);
                let Some(operation) = position.filter(|_| case.arguments.is_empty()) else { continue };
                answers.extend(answers_of(operation, scope[operation], &case.plan));
            }
        }
    }
    Ok(answers)
}

/// What the interpreter makes of typical messages: for operations of which nobody has published answers.
fn recorded_answers(operation: usize, spec: &OperationSpec, network: &Network) -> Vec<KnownAnswer> {
    let messages = samples::messages(spec).into_iter();
    messages.filter_map(|message| interpreted_answer(operation, spec, network, &message)).collect()
}

/// What the interpreter makes of a message, unless that is too long for the test of a project.
pub(super) fn interpreted_answer(
    operation: usize,
    spec: &OperationSpec,
    network: &Network,
    message: &Message,
) -> Option<KnownAnswer> {
    let engine = Interpreter::new(network.clone(), headrace_interp::Options::default()).ok()?;
    let outcome = Running::new(spec, network, Box::new(engine)).perform(message).ok()?;
    let strings = match outcome {
        Came::Accepted(strings) => Some(strings.into_iter().collect()),
        Came::Rejected => None,
    };
    answer(operation, spec, message, strings)
}
