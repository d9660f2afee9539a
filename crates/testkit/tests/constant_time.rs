//! The constant-time report on everything that the library ships: what a manifest declares constant in time has no
//! finding. What it does not declare and has none either is named in the output: it may be that nobody has claimed it.

use headrace_analysis::constant_time::{Classes, Finding, analyse, name};
use headrace_ir::Network;
use headrace_library::Class;
use headrace_library::catalog::OperationSpec;
use headrace_testkit::peers::library::Shipped;
use std::collections::BTreeSet;
use std::path::Path;

fn classes(spec: &OperationSpec, network: &Network) -> Classes {
    let is = |class: Class| move |port: &headrace_ir::Port| spec.class_of(&port.name).unwrap_or(Class::Secret) == class;
    Classes {
        secret_inputs: network.inputs.iter().map(is(Class::Secret)).collect(),
        public_outputs: network.outputs.iter().map(is(Class::Public)).collect(),
    }
}

fn shown(network: &Network, finding: &Finding) -> String {
    let steps: Vec<&str> = finding.path.iter().map(|step| step.what.as_str()).collect();
    let instance = finding.instances[0];
    let actor = &network.actor_of(instance).class;
    format!(
        "{} in {actor}, bytes {}..{}: {}",
        name(finding.decides),
        finding.span.start,
        finding.span.end,
        steps.join(" → ")
    )
}

#[test]
fn what_is_declared_constant_time_has_no_finding() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shipped = Shipped::read(&root).unwrap();
    let mut wrong = Vec::new();
    let mut undeclared = BTreeSet::new();
    let (mut declared, mut leaking) = (0, 0);
    for spec in shipped.library.operations() {
        if spec.inputs.is_empty() {
            continue;
        }
        for variant in &spec.variants {
            let about = format!("{} {}", spec.full_name(), variant.name);
            let network = shipped.network(spec, &variant.name).unwrap_or_else(|why| panic!("{about}: {why}"));
            let report = analyse(&network, &classes(spec, &network));
            match (variant.constant_time, report.is_constant_time()) {
                (true, true) => declared += 1,
                (false, false) => leaking += 1,
                (false, true) => {
                    undeclared.insert(about);
                }
                (true, false) => {
                    let findings = report.findings.iter().filter(|finding| !finding.is_note() && !finding.follows);
                    let lines: Vec<String> = findings.map(|finding| shown(&network, finding)).collect();
                    wrong.push(format!("{about}:\n  {}", lines.join("\n  ")));
                }
            }
        }
    }
    println!(
        "{declared} constant in time as declared, {leaking} not; without a finding though not declared: {undeclared:#?}"
    );
    assert!(wrong.is_empty(), "{} declared constant in time have findings:\n{}", wrong.len(), wrong.join("\n"));
    assert!(declared > 0 && leaking > 0);
}
