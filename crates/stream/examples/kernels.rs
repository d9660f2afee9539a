//! Prints the kernels of operations of the library on a machine: `kernels MACHINE SET OPERATION[:VARIANT] …`; `all` for all. `ROUNDS=1`: rounds alone.

use folders::Folders;
use headrace_frontend::{Session, Top, elaborate};
use headrace_kernel::Loop;
use headrace_library::samples;
use headrace_stream::choose::{bytes_of, kernel_of, ways};
use headrace_stream::kernel::Scheduling;
use headrace_stream::machine::Machine;
use headrace_transform::control::{Limits, automaton_of};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[path = "../../frontend/tests/support/folders.rs"]
mod folders;
#[path = "../../library/tests/loading/mod.rs"]
mod loading;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let file = headrace_platform::find(&arguments[0]).expect("a platform");
    let machine = Machine::read(file).unwrap_or_else(|wrong| panic!("{wrong}"));
    let library = loading::library(&[]);
    let roots = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")];
    let roots: Vec<PathBuf> = roots;
    for operation in library.operations() {
        let wanted = |pair: &[String]| {
            let name = pair.get(1).map_or(operation.name.as_str(), String::as_str);
            let (name, variant) = name.split_once(':').map_or((name, None), |(name, it)| (name, Some(it)));
            (operation.set == pair[0] && operation.name == name).then(|| operation.variant(variant))
        };
        let found = match arguments[1] == "all" {
            true => Some(operation.variant(None)),
            false => arguments[1..].chunks(2).find_map(wanted),
        };
        let Some(Some(variant)) = found else { continue };
        let text = variant.network.to_string();
        let mut session = Session::new();
        let Some(network) = elaborate(&mut session, &Folders(roots.clone()), &Top::Expression(text), &[]) else {
            println!("{}: {:?}", operation.full_name(), session.take_diagnostics().first());
            continue;
        };
        let ports = || network.inputs.iter().map(|port| port.name.as_str());
        let explored = automaton_of(&network, &samples::streams(operation, ports()), &Limits::default());
        let automaton = match explored {
            Ok(automaton) => automaton,
            Err(reason) => {
                println!("{}: {}", operation.full_name(), reason.reason);
                continue;
            }
        };
        let loops = automaton.states.iter().flat_map(|state| &state.loops);
        let Some(body) = loops
            .map(|one| &one.body)
            .max_by_key(|body| (body.graph.reachable(body.roots()).len(), (bytes_of(body) * 8.0) as u64))
        else {
            println!("{}: no loops", operation.full_name());
            continue;
        };
        show(&operation.full_name(), body, &machine);
    }
}

fn show(name: &str, body: &Loop, machine: &Machine) {
    if std::env::var_os("WAYS").is_some() {
        println!(
            "raw {:?} {:?}",
            headrace_transform::passes::tabulate::constant_tables(body).is_some(),
            headrace_transform::passes::tabulate::tabulate(body).is_some()
        );
    }
    let start = Instant::now();
    let all = match ways(body, machine, false) {
        Ok(all) => all,
        Err(reason) => return println!("{name}: no form: {reason}"),
    };
    let found = start.elapsed();
    if std::env::var_os("WAYS").is_some() {
        for way in &all {
            let tables: Vec<_> =
                way.placed.code.tables.iter().map(|table| (&table.name, table.length, table.bits)).collect();
            println!(
                "  {} shares {} {:?} {:?} rec {} {:?}",
                way.form.name, way.shares, way.choice, way.bounds, way.rec_mii, tables
            );
            if let Err(reason) = headrace_stream::kernel::compile(&way.placed, machine, Scheduling::Modulo) {
                println!("     {reason}");
            }
        }
    }
    match headrace_stream::reroll::rolled_of(&all, machine) {
        Err(reason) => println!("{name}: no rounds: {reason}"),
        Ok((rolled, way)) => {
            let parts = [&rolled.before, &rolled.round, &rolled.after].map(|it| it.schedule.ii);
            println!(
                "{name} rolled: {}, {:?}, {} rounds, {parts:?} c/B {:.3}; microcode {} registers {}",
                way.form.name,
                way.choice,
                rolled.rounds,
                rolled.interval() as f64 / way.bytes() / f64::from(*machine.clusters),
                rolled.microcode_words(),
                rolled.registers()
            );
            if std::env::var_os("LISTING").is_some() {
                for phase in [&rolled.before, &rolled.round, &rolled.after] {
                    println!("{}", headrace_stream::text::kernel_text("phase", phase, machine, &[], &[]));
                    for (at, op) in phase.ops.iter().enumerate() {
                        println!(
                            "{at} cycle {} latency {}: {:?} {:?}",
                            phase.schedule.begins[at], op.latency, op.what, op.operands
                        );
                    }
                }
            }
            let body = &way.form.body;
            let run = |data: &headrace_stream::simulate::Data| rolled.run(machine, body, data);
            let code = &way.placed.code;
            match headrace_stream::trial::trial_of(code, machine, body, 3, 1, &run) {
                Ok(_) => println!("   values agree"),
                Err(problem) => println!("   WRONG: {problem}"),
            }
        }
    }
    if std::env::var_os("ROUNDS").is_some() {
        return;
    }
    for scheduling in [Scheduling::Modulo, Scheduling::List] {
        let start = Instant::now();
        match kernel_of(&all, machine, scheduling) {
            Err(reason) => {
                let way = &all[0];
                println!(
                    "{name} {scheduling:?}: {reason}; bounds {:?} rec {} {:?}",
                    way.bounds, way.rec_mii, way.choice
                );
            }
            Ok((kernel, way)) => {
                let bytes = way.bytes() * f64::from(*machine.clusters);
                println!(
                    "{name} {scheduling:?}: {} B, {}, {:?} shares {}, sp {}, ops {:?}, res {} rec {} II {} len {} c/B {:.3}; live {} standing {} spilled {} words {} overflow {} conflicts {} unrolled {}; {found:?} {:?}",
                    way.bytes(),
                    way.form.name,
                    way.choice,
                    way.shares,
                    way.placed.scratchpad_words,
                    kernel.work(machine.unit.len()),
                    kernel.res_mii,
                    kernel.rec_mii,
                    kernel.schedule.ii,
                    kernel.length(),
                    kernel.schedule.ii as f64 / bytes,
                    kernel.max_live,
                    kernel.standing.len(),
                    kernel.spilled.len(),
                    kernel.registers.words,
                    kernel.registers.overflow,
                    kernel.registers.conflicts,
                    kernel.registers.unrolled,
                    start.elapsed()
                );
                if std::env::var_os("LISTING").is_some() {
                    println!("{}", headrace_stream::text::kernel_text("kernel", &kernel, machine, &[], &[]));
                }
                check(&kernel, machine, &way.form.body);
            }
        }
    }
}

fn check(kernel: &headrace_stream::kernel::Kernel, machine: &Machine, body: &Loop) {
    match headrace_stream::trial::trial(kernel, machine, body, 5, 1) {
        Ok(rate) => println!("   values agree; {:.1} million cluster-cycles a second", rate / 1e6),
        Err(problem) => println!("   WRONG: {problem}"),
    }
}
