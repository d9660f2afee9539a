//! What an XCF file says about a network: its names become instances and connections.

use headrace_ir::{Connection, Endpoint, Mapping, Network};
use headrace_source::{Diagnostic, FileId, Span};
use headrace_syntax::xcf::{Configuration, FifoConnection, Named, Partition};
use std::collections::HashMap;

/// The mapping that a configuration describes; the capacities that it gives go into the network. Instances that it does
/// not name go into its first partition, with a warning. Errors say which names the network does not have.
pub fn apply(
    configuration: &Configuration,
    network: &mut Network,
    file: FileId,
    problems: &mut Vec<Diagnostic>,
) -> Option<Mapping> {
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
    let mut of: Vec<Option<usize>> = vec![None; network.instances.len()];
    for (partition, Partition { id, instances }) in configuration.partitions.iter().enumerate() {
        if configuration.partitions[..partition].iter().any(|other| other.id.text == id.text) {
            error(format!("there are two partitions `{}`", id.text), id.span, None);
        }
        for Named { text, span } in instances {
            match names.get(text.as_str()) {
                None => {
                    let help = "`headrace analyze NETWORK` lists the instances by their flat names".to_owned();
                    error(format!("the network has no instance `{text}`"), *span, Some(help));
                }
                Some(&at) => match of[at] {
                    None => of[at] = Some(partition),
                    Some(first) => {
                        let first = &configuration.partitions[first].id.text;
                        error(format!("`{text}` is in the partition `{first}` already"), *span, None);
                    }
                },
            }
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
    if let (Some(first), Some(partition)) = (unnamed.first(), configuration.partitions.first()) {
        let others = if unnamed.len() > 1 { format!(" and {} others", unnamed.len() - 1) } else { String::new() };
        let message =
            format!("no partition names `{first}`{others}; what is not named runs in `{}`", partition.id.text);
        problems.push(Diagnostic::warning("wrong-mapping", message).at(partition.id.span, ""));
    }
    for (at, size) in capacities {
        if let (Some(size), Some(connection)) = (size, network.connections.get_mut(at)) {
            connection.fifo_tokens = Some(size);
        }
    }
    let partitions = configuration.partitions.iter().map(|partition| partition.id.text.clone()).collect();
    Some(Mapping { partitions, of: of.into_iter().map(|of| of.unwrap_or(0)).collect() })
}

/// The configuration that describes a mapping of a network, with the capacities that its FIFOs ask for.
pub fn describe(network: &Network, mapping: &Mapping) -> Configuration {
    let named = |text: &str| Named { text: text.to_owned(), span: Span::default() };
    let partitions = mapping.partitions.iter().enumerate().map(|(at, id)| {
        let own = network.instances.iter().zip(&mapping.of).filter(|(_, of)| **of == at);
        Partition { id: named(id), instances: own.map(|(instance, _)| named(&instance.name)).collect() }
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
