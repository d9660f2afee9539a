//! What an XCF file says about a network: its names become instances and connections.

use headrace_ir::{Connection, Endpoint, Mapping, Network};
use headrace_source::{Diagnostic, FileId, Span};
use headrace_syntax::xcf::{Configuration, FifoConnection, Named, Partition};
use std::collections::HashMap;

/// Names of what makes software of a partition: ours, and what other tools call theirs.
const SOFTWARE: [&str; 2] = ["c", "sw"];

/// The same for hardware.
const HARDWARE: [&str; 2] = ["verilog", "hw"];

/// The partitions of a network, and what each of its partitions becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitioning {
    /// The instances of each, those in software first.
    pub mapping: Mapping,
    /// For each partition whether it becomes hardware.
    pub in_hardware: Vec<bool>,
}

impl Partitioning {
    /// Whether some partition becomes hardware.
    pub fn has_hardware(&self) -> bool {
        self.in_hardware.contains(&true)
    }
}

/// The division that a configuration describes; the capacities that it gives go into the network. A name that is no
/// instance's but a network's within stands for all instances of that. Instances that it does
/// not name go into its first partition in software, with a warning. Errors say which names the network does not have, and what
/// cannot become hardware.
pub fn apply(
    configuration: &Configuration,
    network: &mut Network,
    file: FileId,
    problems: &mut Vec<Diagnostic>,
) -> Option<Partitioning> {
    let mut n_errors = 0;
    let mut error = |message: String, span: Span, help: Option<String>| {
        n_errors += 1;
        let mut problem = Diagnostic::error("wrong-mapping", message).at(span, "");
        problem.help = help;
        problems.push(problem);
    };
    let names: HashMap<&str, usize> =
        network.instances.iter().enumerate().map(|(at, instance)| (instance.name.as_str(), at)).collect();
    if configuration.partitions.is_empty() {
        error("the file has no partition".to_owned(), Span::new(file, 0, 0), None);
    }
    // What leads from an input straight to an output belongs to the first, and needs no hardware.
    let mut partitions: Vec<(&Partition, bool)> = Vec::new();
    for partition in &configuration.partitions {
        let generator = partition.generator.as_ref();
        let named = |names: [&str; 2]| generator.is_some_and(|it| names.contains(&it.text.as_str()));
        if let Some(wrong) = generator.filter(|_| !named(SOFTWARE) && !named(HARDWARE)) {
            let help = "`c` makes software of a partition, as where nothing is said, and `verilog` hardware".to_owned();
            error(format!("there is no code generator `{}`", wrong.text.escape_debug()), wrong.span, Some(help));
        }
        partitions.push((partition, named(HARDWARE)));
    }
    partitions.sort_by_key(|(_, in_hardware)| *in_hardware);
    let mut of: Vec<Option<usize>> = vec![None; network.instances.len()];
    let acting = Mapping::acting(network);
    for (at, (partition, in_hardware)) in partitions.iter().enumerate() {
        let Partition { id, instances, .. } = partition;
        if partitions[..at].iter().any(|(other, _)| other.id.text == id.text) {
            error(format!("there are two partitions `{}`", id.text), id.span, None);
        }
        for Named { text, span } in instances {
            let own = names.get(text.as_str()).map_or_else(|| within(network, text), |&one| vec![one]);
            if own.is_empty() {
                let help = "`headrace analyze NETWORK` lists the instances by their flat names".to_owned();
                error(format!("the network has no instance `{text}`"), *span, Some(help));
            }
            for instance in own {
                let name = &network.instances[instance].name;
                if let Some(first) = of[instance] {
                    let first = &partitions[first].0.id.text;
                    error(format!("`{name}` is in the partition `{first}` already"), *span, None);
                } else if *in_hardware && acting.iter().any(|acting| acting.index() == instance) {
                    let help = "name it in a partition of which `c` makes software".to_owned();
                    error(format!("`{name}` prints or calls natives, which hardware cannot"), *span, Some(help));
                }
                of[instance] = of[instance].or(Some(at));
            }
        }
        if *in_hardware && instances.is_empty() {
            error(format!("the partition `{}` has no instance to make hardware of", id.text), id.span, None);
        }
    }
    let mut capacities = Vec::new();
    for fifo in &configuration.connections {
        match network.connections.iter().position(|connection| matches(network, connection, fifo)) {
            Some(at) => capacities.push((at, fifo.size)),
            None => error(
                format!(
                    "the network has no connection from `{}` to `{}`",
                    end(&fifo.source, &fifo.source_port),
                    end(&fifo.target, &fifo.target_port)
                ),
                fifo.span,
                None,
            ),
        }
    }
    if n_errors > 0 {
        return None;
    }
    let unnamed: Vec<&str> =
        network.instances.iter().zip(&of).filter(|(_, of)| of.is_none()).map(|(i, _)| i.name.as_str()).collect();
    if let (Some(first), Some((partition, in_hardware))) = (unnamed.first(), partitions.first()) {
        let others = if unnamed.len() > 1 { format!(" and {} others", unnamed.len() - 1) } else { String::new() };
        let message =
            format!("no partition names `{first}`{others}; what is not named runs in `{}`", partition.id.text);
        // Whatever nobody named was not meant for hardware.
        let mut problem = Diagnostic::warning("wrong-mapping", message).at(partition.id.span, "");
        if *in_hardware {
            problem = Diagnostic::error("wrong-mapping", format!("no partition names `{first}`{others}"));
            problem.help = Some("name it in a partition in hardware, or add one in software for it".to_owned());
        }
        problems.push(problem);
        if *in_hardware {
            return None;
        }
    }
    for (at, size) in capacities {
        if let (Some(size), Some(connection)) = (size, network.connections.get_mut(at)) {
            connection.fifo_tokens = Some(size);
        }
    }
    let in_hardware = partitions.iter().map(|(_, in_hardware)| *in_hardware).collect();
    let partitions = partitions.iter().map(|(partition, _)| partition.id.text.clone()).collect();
    let of = of.into_iter().map(|of| of.unwrap_or(0)).collect();
    Some(Partitioning { mapping: Mapping { partitions, of }, in_hardware })
}

/// The instances of the network within another that has this flat name.
fn within(network: &Network, name: &str) -> Vec<usize> {
    let is_in = |path: &[String]| (1..path.len()).any(|depth| path[..depth].join("_") == name);
    (0..network.instances.len()).filter(|&at| is_in(&network.instances[at].path)).collect()
}

/// The configuration that describes a mapping of a network, with the capacities that its FIFOs ask for.
pub fn describe(network: &Network, mapping: &Mapping) -> Configuration {
    let named = |text: &str| Named { text: text.to_owned(), span: Span::default() };
    let partitions = mapping.partitions.iter().enumerate().map(|(at, id)| {
        let own = network.instances.iter().zip(&mapping.of).filter(|(_, of)| **of == at);
        Partition {
            id: named(id),
            generator: None,
            instances: own.map(|(instance, _)| named(&instance.name)).collect(),
        }
    });
    let connections = network.connections.iter().filter(|connection| connection.fifo_tokens.is_some());
    let connections = connections.map(|connection| {
        let (source, source_port) = split(network, connection.source, &network.source_port(connection).name);
        let (target, target_port) = split(network, connection.target, &network.target_port(connection).name);
        let size = connection.fifo_tokens;
        FifoConnection { source, source_port, target, target_port, size, span: Span::default() }
    });
    Configuration { partitions: partitions.collect(), connections: connections.collect() }
}

fn split(network: &Network, endpoint: Endpoint, port: &str) -> (String, String) {
    let instance = match endpoint {
        Endpoint::Boundary(_) => String::new(),
        Endpoint::Instance(instance, _) => network.instances[instance.index()].name.clone(),
    };
    (instance, port.to_owned())
}

fn matches(network: &Network, connection: &Connection, fifo: &FifoConnection) -> bool {
    split(network, connection.source, &network.source_port(connection).name)
        == (fifo.source.clone(), fifo.source_port.clone())
        && split(network, connection.target, &network.target_port(connection).name)
            == (fifo.target.clone(), fifo.target_port.clone())
}

fn end(instance: &str, port: &str) -> String {
    if instance.is_empty() { port.to_owned() } else { format!("{instance}.{port}") }
}
