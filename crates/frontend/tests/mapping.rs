//! Mapping files: what they say about a network, and what is wrong with them (`wrong-mapping`).

use headrace_frontend::mapping::Partitioning;
use headrace_frontend::{Session, SourceKind, SourceProvider, SourceText, Top, elaborate, mapping};
use headrace_ir::Network;
use headrace_source::{Diagnostic, FileId, Severity};
use headrace_syntax::xcf;

struct Texts;

impl SourceProvider for Texts {
    fn find(&self, name: &str) -> Result<Option<SourceText>, String> {
        let (text, kind) = match name {
            "Pass" => (
                "actor Pass() uint(size=8) In ==> uint(size=8) Out : action In:[x] ==> Out:[x] end end",
                SourceKind::Cal,
            ),
            "Print" => (
                "actor Print() uint(size=8) In ==> uint(size=8) Out : action In:[x] ==> Out:[x] do println(x); end end",
                SourceKind::Cal,
            ),
            "Nested" => (
                "network Nested() uint(size=8) In ==> uint(size=8) Out : \
                 entities first = Chain(); last = Print(); structure In --> first.In; first.Out --> last.In; last.Out --> Out; end",
                SourceKind::Nl,
            ),
            "Chain" => (
                "network Chain() uint(size=8) In ==> uint(size=8) Out : \
                 entities a = Pass(); b = Pass(); structure In --> a.In; a.Out --> b.In; b.Out --> Out; end",
                SourceKind::Nl,
            ),
            _ => return Ok(None),
        };
        Ok(Some(SourceText { display: name.to_owned(), text: text.to_owned(), kind }))
    }

    fn similar(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn places(&self) -> Vec<String> {
        Vec::new()
    }
}

fn network(name: &str) -> Network {
    let mut session = Session::new();
    let network = elaborate(&mut session, &Texts, &Top::Name(name.to_owned()), &[]);
    network.unwrap_or_else(|| panic!("{:?}", session.take_diagnostics()))
}

fn apply(text: &str) -> (Option<Partitioning>, Network, Vec<Diagnostic>) {
    apply_to("Chain", text)
}

fn apply_to(name: &str, text: &str) -> (Option<Partitioning>, Network, Vec<Diagnostic>) {
    let mut network = network(name);
    let (configuration, mut problems) = xcf::read(FileId(0), text);
    let mapping = configuration.and_then(|it| mapping::apply(&it, &mut network, FileId(0), &mut problems));
    (mapping, network, problems)
}

const GOOD: &str = r#"<configuration>
  <partitioning>
    <partition id="left"><instance id="a"/></partition>
    <partition id="right"><instance id="b"/></partition>
  </partitioning>
  <connections>
    <fifo-connection source="a" source-port="Out" target="b" target-port="In" size="64"/>
    <fifo-connection source-port="In" target="a" target-port="In" size="32"/>
  </connections>
</configuration>"#;

#[test]
fn a_mapping_is_read_and_written() {
    let (mapping, network, problems) = apply(GOOD);
    assert_eq!(problems, []);
    let parts = mapping.expect("it fits");
    assert!(!parts.has_hardware());
    let mapping = parts.mapping.clone();
    assert_eq!((mapping.partitions.clone(), mapping.of.clone()), (vec!["left".into(), "right".into()], vec![0, 1]));
    let crossing: Vec<bool> = network.connections.iter().map(|connection| mapping.crosses(connection)).collect();
    assert_eq!(crossing, [true, true, true]);
    let mut sizes: Vec<Option<u32>> = network.connections.iter().map(|connection| connection.fifo_tokens).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [None, Some(32), Some(64)]);
    let again = xcf::write(&mapping::describe(&network, &mapping));
    let (same, same_network, problems) = apply(&again);
    assert_eq!((same, same_network, problems), (Some(parts), network, Vec::new()));
}

#[test]
fn what_is_not_named_goes_to_the_first_partition() {
    let (mapping, _, problems) = apply(&GOOD.replace("<instance id=\"b\"/>", ""));
    assert_eq!(mapping.map(|parts| parts.mapping.of), Some(vec![0, 0]));
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].severity, Severity::Warning);
}

#[test]
fn wrong_files_are_told_what_is_wrong() {
    for (wrong, message) in [
        (GOOD.replace("id=\"b\"", "id=\"c\""), "the network has no instance `c`"),
        (GOOD.replace("id=\"b\"", "id=\"a\""), "`a` is in the partition `left` already"),
        (GOOD.replace("\"right\"", "\"left\""), "there are two partitions `left`"),
        (GOOD.replace("target=\"b\"", "target=\"a\""), "the network has no connection from `a.Out` to `a.In`"),
        (GOOD.replace("\"64\"", "\"many\""), "`many` is no number of tokens from 1 to 67108864"),
        (GOOD.replace("<instance id=\"a\"/>", "<instance/>"), "`instance` needs the attribute `id`"),
        ("<configuration/>".to_owned(), "the file has no partition"),
        ("<XDF/>".to_owned(), "expected the element `configuration`, found `XDF`"),
    ] {
        let (_, _, problems) = apply(&wrong);
        let first = problems.iter().find(|problem| problem.severity == Severity::Error);
        assert_eq!(first.map(|problem| (problem.slug, problem.message.as_str())), Some(("wrong-mapping", message)));
    }
}

/// Two partitions of the nested network, the first in hardware.
const NESTED: &str = r#"<configuration>
  <partitioning>
    <partition id="circuit" code-generator="verilog"><instance id="first"/></partition>
    <partition id="program" code-generator="c"><instance id="last"/></partition>
  </partitioning>
</configuration>"#;

#[test]
fn a_network_within_goes_to_hardware_as_one_and_software_comes_first() {
    let (parts, network, problems) = apply_to("Nested", NESTED);
    assert_eq!(problems, []);
    let parts = parts.expect("it fits");
    assert_eq!(parts.mapping.partitions, ["program", "circuit"]);
    assert_eq!(parts.in_hardware, [false, true]);
    for (instance, of) in network.instances.iter().zip(&parts.mapping.of) {
        assert_eq!(*of, usize::from(instance.name != "last"), "{}", instance.name);
    }
}

#[test]
fn what_cannot_become_hardware_is_told_so() {
    for (wrong, message) in [
        (NESTED.replace("\"c\"", "\"cobol\""), "there is no code generator `cobol`"),
        (NESTED.replace("\"c\"", "\"verilog\""), "`last` prints or calls natives, which hardware cannot"),
        (NESTED.replace("<instance id=\"first\"/>", ""), "the partition `circuit` has no instance to make hardware of"),
        (NESTED.replace("\"last\"", "\"first\""), "`first_a` is in the partition `program` already"),
        (
            NESTED.replace(
                "    <partition id=\"program\" code-generator=\"c\"><instance id=\"last\"/></partition>\n",
                "",
            ),
            "no partition names `last`",
        ),
    ] {
        let (parts, _, problems) = apply_to("Nested", &wrong);
        let first = problems.iter().find(|problem| problem.severity == Severity::Error);
        assert_eq!(first.map(|problem| (problem.slug, problem.message.as_str())), Some(("wrong-mapping", message)));
        assert!(parts.is_none() && first.is_some());
    }
}
