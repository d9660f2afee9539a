//! `headrace run`.

use super::{Context, natives};
use crate::cli::{EngineName, RunArgs};
use crate::failure::{Outcome, WRONG};
use crate::output::{self, Output};
use crate::ports::{self, Binding, Destination};
use crate::program::ProgramHost;
use crate::progress::{Progress, Unit};
use crate::sinks::{ByteSink, LineSink, SharedOutput};
use crate::trace::Trace;
use crate::wildcards::fits;
use headrace::Workspace;
use headrace::codesign::Simulator;
use headrace::engines::{self, Choice, Machine};
use headrace::error::{Error, describe};
use headrace::feed::{Dropped, End, Feed, Sink, count_firings};
use headrace::fusing::{self, FuseWhen, Fusing};
use headrace::inputs::{Input, Source, are_known, no_such};
use headrace::mapping;
use headrace::profile::Measured;
use headrace::silence::Silence;
use headrace::stopping;
use headrace::tokens::Encoding;
use headrace::waiting;
use headrace_analysis::partition::Division;
use headrace_engine::{Blocked, Engine};
use headrace_frontend::mapping::Partitioning;
use headrace_interp::Order;
use headrace_ir::{DEFAULT_FIFO_TOKENS, IntType, Mapping, Network, Port, Scalar};
use headrace_xlim::XlimEngine;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So many threads may be had whatever the machine: what comes of a network by threads can be seen on a small one.
const FEW_THREADS: u32 = 16;

/// Runs a network until nothing can fire.
pub fn run(context: &mut Context, arguments: &RunArgs) -> Outcome<u8> {
    let inputs = arguments.inputs.iter().map(|text| ports::input(text)).collect::<Outcome<Vec<_>>>()?;
    let outputs = arguments.outputs.iter().map(|text| ports::output(text)).collect::<Outcome<Vec<_>>>()?;
    if inputs.iter().filter(|binding| binding.end == ports::Source::Standard).count() > 1 {
        return Err(Error::usage("`-` can stand for only one input"));
    }
    let mut order = firing_order(&arguments.order)?;
    if arguments.write_fifos.is_some() && order == Order::RoundRobin {
        order = Order::DemandDriven;
    }
    let designs = context.workspace.designs(&arguments.network);
    let designs = context.told(designs)?;
    let network = match &designs {
        Some(designs) => {
            check_designs(arguments, order)?;
            designs.shown.clone()
        }
        None => context.elaborate(&arguments.network, &arguments.parameters)?,
    };
    if arguments.natives_header {
        return natives::print_header(&network, &arguments.network);
    }
    let supplied = natives::supplied(context, &network, &arguments.natives)?;
    let mut feed = Feed::new(&network);
    feed.max_firings = arguments.max_firings;
    let n_bytes = feed.bind(&network, opened(&network, inputs)?, arguments.threads)?;
    bind_outputs(context, &mut feed, &network, &outputs)?;
    let trace = arguments.trace.as_deref().map(Trace::create).transpose()?;
    let choice = match arguments.engine {
        Some(EngineName::Native) if arguments.trace.is_some() || order != Order::RoundRobin => {
            return Err(Error::usage("traces and firing orders are the interpreter's; leave out --engine native"));
        }
        Some(name) => Choice::Named(name.into()),
        None if arguments.trace.is_some() || order != Order::RoundRobin => Choice::Named(engines::EngineName::Interp),
        None => Choice::Best,
    };
    let mut host = ProgramHost::open(arguments)?;
    supplied.iter().for_each(|supplied| host.supply(supplied.clone()));
    let fifo_tokens = arguments.fifo.unwrap_or(DEFAULT_FIFO_TOKENS);
    let profile = arguments.profile.is_some() || arguments.write_fifos.is_some();
    let traced = trace.is_some().then(|| traced(&network, &arguments.trace_only)).transpose()?.flatten();
    let mut settings = engines::Settings {
        choice,
        fifo_tokens,
        order,
        trace: trace.as_ref().map(Trace::sink).transpose()?,
        traced,
        profile,
        mapping: None,
        lenient_indices: arguments.lenient_indices,
        supplied,
    };
    // Firings are counted by schedulers; who maps instances wants them apart.
    let counts = profile || arguments.stats || arguments.max_firings.is_some() || arguments.mapping.is_some();
    let fusing = Fusing {
        when: if counts { FuseWhen::Never } else { arguments.fused.into() },
        known_bytes: n_bytes,
        spent_bytes: 0,
        threads: useful_threads(arguments.threads),
        fifo_tokens,
        native: fusing::is_native(arguments.fused.into(), choice),
    };
    let terminal = context.terminal;
    let whole = match designs {
        Some(designs) => {
            let options = headrace_xlim::Options { fifo_tokens, step_limit: None };
            Some(Machine::Xlim(Box::new(XlimEngine::new(designs, options))))
        }
        None => {
            let find = |workspace: &mut Workspace| workspace.operation_of(&arguments.network, &network);
            let status = &mut |text: &str| terminal.status(text);
            let started = fusing.start(&mut context.workspace, &network, find, status);
            context.told(started)?.machine()
        }
    };
    let (mut machine, network, division) = match whole {
        Some(machine) => (machine, network, None),
        None => {
            let (network, division) = divided(context, network, arguments, engines::is_native(choice))?;
            let (division, in_hardware) = division.unzip();
            if let (Some(division), Some(in_hardware)) = (&division, in_hardware.filter(|parts| parts.contains(&true)))
            {
                check_together(arguments)?;
                let parts = Partitioning { mapping: division.mapping.clone(), in_hardware };
                let status = &mut |text: &str| terminal.status(text);
                let machine = context.workspace.start_together(&network, &parts, &settings, Simulator::Best, status);
                (context.told(machine)?, network, None)
            } else {
                settings.mapping = division.as_ref().map(|division| Arc::new(division.mapping.clone()));
                let machine = context.workspace.start(&network, settings, &mut |text| terminal.status(text));
                (context.told(machine)?, network, division)
            }
        }
    };
    // A mapping to one thread is there for its FIFO sizes.
    let several = division.as_ref().is_some_and(|division| division.mapping.partitions.len() > 1);
    if (arguments.threads > 1 || several) && machine.threads() == 1 {
        context.terminal.note(&format!("the {} engine uses one thread", machine.name()));
    }
    feed.before_waiting = Some(Box::new(output::flush_standard));
    feed.silence = Some(Silence::watch(move |lasted| terminal.note(&still_running(lasted))));
    let began = Instant::now();
    let mut progress = Progress::new(terminal, n_bytes, Unit::Bytes);
    let end = feed.drive(machine.engine(), &mut host, &mut |delivered| progress.tell(delivered));
    progress.finish();
    feed.silence = None;
    let seconds = began.elapsed().as_secs_f64();
    let end = end?;
    output::flush_standard()?;
    for complaint in host.complaints() {
        context.terminal.warning(&complaint);
    }
    for part in machine.clocked() {
        context.terminal.note(&part.to_string());
    }
    machine.finish_trace()?;
    trace.iter().try_for_each(Trace::commit)?;
    if arguments.stats {
        let name = machine.name();
        context.terminal.say(&statistics(&network, machine.engine(), name, seconds));
        if let Some(division) = division.filter(|_| machine.threads() > 1) {
            let firings = machine.engine().firings();
            let division = Division::of(&network, division.mapping, &firings);
            context.terminal.say(&format!("threads\n{}", mapping::describe(&network, &division)));
        }
    }
    if let Some(measured) = machine.engine().profile() {
        let (name, firings) = (machine.name(), machine.engine().firings());
        let measured = Measured::of(&network, name, &measured, &firings, fifo_tokens);
        tell_profile(context, arguments, &network, &measured)?;
    }
    conclude(context, feed, &network, machine.engine(), host, end, arguments)
}

/// That nothing has moved for a while, and how to stop that.
fn still_running(lasted: Duration) -> String {
    format!(
        "still running: for {} s no token has come in or out; the network may never come to rest, or an action may be in a loop \
         without end (Ctrl-C stops, `--max-firings N` bounds a run)",
        lasted.as_secs()
    )
}

/// What can be said of a run of designs of XLIM, which have an engine of their own.
fn check_designs(arguments: &RunArgs, order: Order) -> Outcome {
    let refused = [
        (arguments.write_fifos.is_some(), "--write-fifos: designs of XLIM are not measured"),
        (!arguments.parameters.is_empty(), "--set: designs of XLIM have no parameters"),
        (arguments.engine.is_some(), "--engine: designs of XLIM have an engine of their own; leave it out"),
        (arguments.trace.is_some() || order != Order::RoundRobin, "traces and firing orders are the interpreter's"),
        (arguments.mapping.is_some(), "--mapping: designs of XLIM run in one thread"),
        (arguments.profile.is_some(), "--profile: designs of XLIM are not measured"),
        (!arguments.natives.is_empty(), "--natives: designs of XLIM call none"),
        (arguments.lenient_indices, "--lenient-indices: an index outside a list always ends designs of XLIM"),
    ];
    match refused.into_iter().find(|(asked, _)| *asked) {
        Some((_, why)) => Err(Error::usage(why)),
        None => Ok(()),
    }
}

/// What can be said of a run with parts in hardware.
fn check_together(arguments: &RunArgs) -> Outcome {
    let refused = [
        (arguments.trace.is_some(), "--trace: a network with parts in hardware leaves no trace"),
        (arguments.profile.is_some(), "--profile: a network with parts in hardware is not measured"),
        (arguments.order != "round-robin", "--order: the parts of a network with hardware run by turns"),
    ];
    match refused.into_iter().find(|(asked, _)| *asked) {
        Some((_, why)) => Err(Error::usage(why)),
        None => Ok(()),
    }
}

/// Prints or writes a profile, and the FIFO sizes that follow from it.
fn tell_profile(context: &Context, arguments: &RunArgs, network: &Network, measured: &Measured) -> Outcome {
    match &arguments.profile {
        Some(Some(path)) => output::write_file(path, measured.json().as_bytes())?,
        Some(None) => context.terminal.say(&measured.text()),
        None => {}
    }
    if let Some(path) = &arguments.write_fifos {
        let sized = measured.with_capacities(network);
        let one =
            Division { mapping: Mapping::numbered(1, vec![0; network.instances.len()]), work: vec![], tokens: vec![] };
        output::write_file(path, mapping::to_text(&sized, &one).as_bytes())?;
    }
    Ok(())
}

/// Which instances a trace has, by the patterns that the user gives; `None`: all.
fn traced(network: &Network, patterns: &[String]) -> Outcome<Option<Vec<bool>>> {
    let mut traced = vec![false; network.instances.len()];
    for pattern in patterns {
        let mut any = false;
        for (instance, traced) in network.instances.iter().zip(&mut traced) {
            let fits = fits(pattern, &instance.name);
            *traced |= fits;
            any |= fits;
        }
        if !any {
            let known = network.instances.iter().map(|instance| &instance.name);
            return Err(no_such("instance", pattern, known));
        }
    }
    Ok((!patterns.is_empty()).then_some(traced))
}

/// Threads of those that may be used which can be of use: each beyond the cores only waits, and costs its start.
fn useful_threads(threads: u32) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    threads.min(cores.max(FEW_THREADS))
}

/// A division, and which of its partitions become hardware.
type Divided = (Division, Vec<bool>);

/// The division of the network that the user asks for, with what of it becomes hardware, and the network with FIFOs that suit it.
fn divided(
    context: &mut Context,
    network: Arc<Network>,
    arguments: &RunArgs,
    native: bool,
) -> Outcome<(Arc<Network>, Option<Divided>)> {
    if let Some(path) = &arguments.mapping {
        let read = context.workspace.mapping(&network, path);
        let (Partitioning { mapping, in_hardware }, network) = context.told(read)?;
        let division = Division { mapping, work: Vec::new(), tokens: Vec::new() };
        return Ok((Arc::new(network), Some((division, in_hardware))));
    }
    if arguments.threads < 2 || !native {
        return Ok((network, None));
    }
    let weights = arguments.weights.as_deref().map(Measured::read).transpose()?;
    let division = mapping::automatic(&network, useful_threads(arguments.threads), weights.as_ref())?;
    if division.mapping.partitions.len() < 2 {
        return Ok((network, None));
    }
    let roomy = arguments.fifo.is_none().then(|| Arc::new(mapping::with_room(&network, &division)));
    let in_hardware = vec![false; division.mapping.partitions.len()];
    Ok((roomy.unwrap_or(network), Some((division, in_hardware))))
}

/// Says how it ended, makes the outputs appear if it ended well, and gives the exit status.
fn conclude(
    context: &Context,
    feed: Feed,
    network: &Network,
    engine: &dyn Engine,
    host: ProgramHost,
    end: End,
    arguments: &RunArgs,
) -> Outcome<u8> {
    let terminal = context.terminal;
    let report = engine.report();
    let undelivered = feed.undelivered() || stopping::has_kept(&report);
    let status = match &end {
        End::Trapped(trap) => {
            context.show_trap(trap);
            abandon(context, feed, host, arguments)?;
            return Err(Error::Told);
        }
        End::Idle if undelivered || stopping::lacks(network, &report) => {
            let inputs = if undelivered { "; input was left undelivered" } else { "" };
            terminal.error(&format!("the run stopped{inputs}\n{}", waiting::report(&report)));
            abandon(context, feed, host, arguments)?;
            return Err(Error::Stopped(String::new()));
        }
        End::Idle => {
            if let Some(full) = report.waits.iter().find(|wait| matches!(wait.blocked, Blocked::Room { .. })) {
                terminal.note(&format!("{full}, which wants no more: nothing is missing"));
            }
            let mut left = waiting::leftovers(&report);
            if let Some(first) = left.next() {
                let more = left.count();
                let more = if more > 0 { format!(", and {more} more FIFOs are not empty") } else { String::new() };
                terminal.note(&format!("tokens left over: {first}{more}"));
            }
            0
        }
        End::FiringLimit => {
            terminal.note("stopped at the limit on firings");
            0
        }
        End::Exited(status) => (*status & 0xff) as u8,
    };
    for sink in feed.sinks {
        if let Some(note) = sink.finish()? {
            terminal.note(&note);
        }
    }
    let differs = host.finish()?;
    Ok(if differs && status == 0 { WRONG } else { status })
}

/// Ends a run that did not end well: streams keep what came, and files, when the user asks for them.
fn abandon(context: &Context, feed: Feed, host: ProgramHost, arguments: &RunArgs) -> Outcome {
    if arguments.keep {
        for sink in feed.sinks {
            sink.finish()?;
        }
        return host.finish().map(|_| ());
    }
    let to_file = |text: &String| matches!(ports::output(text), Ok(Binding { end: Destination::Path(path), .. }) if path != Path::new("-"));
    if arguments.writer.is_some() || arguments.video.is_some() || arguments.outputs.iter().any(to_file) {
        context.terminal.note("the output files were not written; with --keep, they are as far as the run came");
    }
    for sink in feed.sinks {
        sink.abandon()?;
    }
    Ok(())
}

fn firing_order(text: &str) -> Outcome<Order> {
    match text.split_once(':') {
        None if text == "round-robin" => Ok(Order::RoundRobin),
        None if text == "demand-driven" => Ok(Order::DemandDriven),
        None if text == "random" => Ok(Order::Random(0)),
        Some(("random", seed)) => seed
            .parse()
            .map(Order::Random)
            .map_err(|_| Error::usage(format!("`{}` is no seed; a whole number is", seed.escape_debug()))),
        _ => Err(Error::usage(format!(
            "`{}` is no firing order; round-robin, demand-driven and random:SEED are",
            text.escape_debug()
        ))),
    }
}

/// Opens what the command line gives to inputs.
fn opened(network: &Network, bindings: Vec<Binding<ports::Source>>) -> Outcome<Vec<Input>> {
    are_known(network, bindings.iter().map(|binding| binding.port.as_str()))?;
    let open = |Binding { port, big_endian, end }: Binding<ports::Source>| {
        let source = match end {
            ports::Source::Bytes(bytes) => Source::Bytes(bytes),
            ports::Source::Numbers(numbers) => Source::Numbers(numbers),
            ports::Source::Standard => Source::Unknown { from: Box::new(io::stdin()), name: "standard input".into() },
            ports::Source::Path(path) => open_file(&path)
                .map_err(|error| Error::wrong(format!("--in {port}: {}: {}", path.display(), describe(&error))))?,
        };
        Ok(Input { port, big_endian, source })
    };
    bindings.into_iter().map(open).collect()
}

fn open_file(path: &Path) -> io::Result<Source> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let name = path.display().to_string();
    if metadata.is_dir() {
        return Err(io::Error::other("is a folder"));
    }
    // Files below /proc say that they are empty.
    Ok(match metadata.is_file() && metadata.len() > 0 {
        true => Source::Known { from: Box::new(file), length: metadata.len(), name },
        false => Source::Unknown { from: Box::new(file), name },
    })
}

/// Adds a sink for every output.
fn bind_outputs(context: &Context, feed: &mut Feed, network: &Network, bindings: &[Binding<Destination>]) -> Outcome {
    for (at, binding) in bindings.iter().enumerate() {
        if !network.outputs.iter().any(|port| port.name == binding.port) {
            return Err(no_such("output", &binding.port, network.outputs.iter().map(|port| &port.name)));
        }
        if bindings[..at].iter().any(|other| other.port == binding.port) {
            return Err(Error::usage(format!("--out {} is given twice", binding.port)));
        }
    }
    let is_line = |binding: &&Binding<Destination>| !matches!(binding.end, Destination::Path(_));
    let several_lines = bindings.iter().filter(is_line).count() > 1;
    // Chunk sizes are not a string of their own.
    let is_companion = |port: &Port| {
        let string =
            port.name.strip_suffix("Size").and_then(|name| network.outputs.iter().find(|port| port.name == name));
        let sizes = port.ty == Scalar::Int(IntType::unsigned(32));
        sizes && string.is_some_and(|string| string.ty == Scalar::Int(IntType::unsigned(8)))
    };
    let unnamed: Vec<&str> = network
        .outputs
        .iter()
        .filter(|port| !is_companion(port) && bindings.iter().all(|binding| binding.port != port.name))
        .map(|port| port.name.as_str())
        .collect();
    if unnamed.len() > 1 {
        context.terminal.note(&format!("the tokens of {} are dropped; --out names where they go", unnamed.join(", ")));
    }
    for port in &network.outputs {
        let binding = bindings.iter().find(|binding| binding.port == port.name);
        let encoding = Encoding::new(port.ty, binding.is_some_and(|binding| binding.big_endian));
        let label = several_lines.then(|| port.name.clone());
        let sink: Box<dyn Sink> = match binding.map(|binding| &binding.end) {
            None if unnamed == [port.name.as_str()] => {
                Box::new(ByteSink::new(SharedOutput::new(Output::Standard), encoding))
            }
            None => Box::new(Dropped::default()),
            Some(Destination::Path(path)) => {
                Box::new(ByteSink::new(SharedOutput::new(Output::create(path)?), encoding))
            }
            Some(Destination::Hexadecimal) => Box::new(LineSink::new(encoding, false, label)),
            Some(Destination::Numbers) => Box::new(LineSink::new(encoding, true, label)),
        };
        feed.sinks.push(sink);
    }
    Ok(())
}

/// Firings per instance and action, and the time taken.
fn statistics(network: &Network, engine: &dyn Engine, name: &str, seconds: f64) -> String {
    let mut lines = vec![format!("{:>14}  instance.action", "firings")];
    for (instance, counts) in network.instances.iter().zip(engine.firings()) {
        let actor = &network.actors[instance.actor.index()];
        for (action, count) in actor.actions.iter().zip(counts) {
            lines.push(format!("{count:>14}  {}.{}", instance.name, action.name));
        }
    }
    let total = count_firings(engine);
    lines.push(format!(
        "{total:>14}  in {seconds:.3} s on the {name} engine: {} a second",
        headrace_bench::tables::figure(total as f64 / seconds.max(1e-9))
    ));
    lines.join("\n")
}
