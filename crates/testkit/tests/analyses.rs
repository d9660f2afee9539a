//! The analyses on networks of the library.

use headrace_analysis::carried::{self, Kind};
use headrace_analysis::control;
use headrace_analysis::rates::{Class, classify};
use headrace_analysis::schedule::{self, Outcome};
use headrace_analysis::{balance, operations};
use headrace_ir::{Actor, Network};
use headrace_testkit::peers::library::Shipped;
use std::path::Path;
use std::sync::Arc;

fn network(set: &str, operation: &str) -> Arc<Network> {
    let shipped = Shipped::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
    let spec = shipped.library.operation(set, operation).unwrap();
    shipped.network(spec, &spec.variants[0].name).unwrap()
}

fn actor<'n>(network: &'n Network, class: &str) -> &'n Actor {
    let found = network.actors.iter().find(|actor| actor.class.ends_with(class));
    found
        .unwrap_or_else(|| panic!("no {class} among {:?}", network.actors.iter().map(|a| &a.class).collect::<Vec<_>>()))
}

#[test]
fn the_layers_of_a_round_are_static_and_have_a_period() {
    let network = network("aes128", "ctr");
    for class in ["SubBytes", "ShiftRows", "MixColumns"] {
        assert!(matches!(classify(actor(&network, class)), Class::Static(_)), "{class}");
    }
    assert!(matches!(classify(actor(&network, "Bursts")), Class::QuasiStatic { .. }));
    let balance = balance::analyse(&network);
    let island = balance.islands.iter().position(|island| island.instances.len() == 3).unwrap();
    assert_eq!(balance.islands[island].cycles, [1, 1, 1]);
    let outcome = &schedule::analyse(&network, &balance)[island];
    assert!(matches!(outcome, Outcome::Runs(period) if period.least == [16, 16]), "{outcome:?}");
    let of_sub_bytes = &operations::of_actor(actor(&network, "SubBytes"))[0];
    assert!(of_sub_bytes.operations.total() >= 32 && !of_sub_bytes.at_least, "{of_sub_bytes:?}");
}

#[test]
fn blocks_are_data_and_rounds_are_control() {
    let network = network("aes128", "ecb-encrypt");
    let slice = control::analyse(&network);
    for (connection, uses) in network.connections.iter().zip(&slice.connections) {
        let (source, target) = network.describe(connection);
        let is_round = target.ends_with(".CountedPath") || target.ends_with(".Step");
        let is_block =
            target.ends_with(".State") || target.ends_with("_sub_bytes.Input") || target.ends_with(".RoundKeys");
        assert!(!is_round || uses.is_control(), "{source} --> {target}");
        assert!(!is_block || !uses.is_control(), "{source} --> {target}");
    }
}

/// The kind of a variable of an actor of an operation.
fn kind(set: &str, operation: &str, class: &str, name: &str) -> Kind {
    let network = network(set, operation);
    let actor = actor(&network, class);
    let at = actor.variables.iter().position(|variable| variable.name == name).unwrap();
    carried::of_actor(actor)[at]
}

#[test]
fn recurrences_are_told_apart() {
    // y := (y ^ x) * h with a subkey that stays: linear in y.
    assert_eq!(kind("ghash", "mac", "HashBlocks", "y"), Kind::Linear);
    assert_eq!(kind("ghash", "mac", "HashBlocks", "h"), Kind::Held);
    assert_eq!(kind("ghash", "mac", "HashBlocks", "left"), Kind::Counter);
    assert_eq!(kind("lcg32", "generate", "Congruence", "x"), Kind::Affine);
    let network = network("aes128", "cbc-encrypt");
    let names = |group: &Vec<headrace_ir::InstanceId>| -> Vec<String> {
        group.iter().map(|id| network.instances[id.index()].name.clone()).collect()
    };
    let loops: Vec<Vec<String>> = carried::loops(&network).iter().map(names).collect();
    assert!(loops.len() == 1 && loops[0].iter().any(|name| name == "chain"), "{loops:?}");
}
