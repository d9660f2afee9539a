//! Mapping files: what they say about a network, and what is wrong with them (`wrong-mapping`).

use headrace_frontend::{Session, SourceKind, SourceProvider, SourceText, Top, elaborate, mapping};
use headrace_ir::{Mapping, Network};
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

fn chain() -> Network {
    let mut session = Session::new();
    let network = elaborate(&mut session, &Texts, &Top::Name("Chain".to_owned()), &[]);
    network.unwrap_or_else(|| panic!("{:?}", session.take_diagnostics()))
}

fn apply(text: &str) -> (Option<Mapping>, Network, Vec<Diagnostic>) {
    let mut network = chain();
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
    let mapping = mapping.expect("it fits");
    assert_eq!((mapping.partitions.clone(), mapping.of.clone()), (vec!["left".into(), "right".into()], vec![0, 1]));
    let crossing: Vec<bool> = network.connections.iter().map(|connection| mapping.crosses(connection)).collect();
    assert_eq!(crossing, [true, true, true]);
    let mut sizes: Vec<Option<u32>> = network.connections.iter().map(|connection| connection.fifo_tokens).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [None, Some(32), Some(64)]);
    let again = xcf::write(&mapping::describe(&network, &mapping));
    let (same, same_network, problems) = apply(&again);
    assert_eq!((same, same_network, problems), (Some(mapping), network, Vec::new()));
}

#[test]
fn what_is_not_named_goes_to_the_first_partition() {
    let (mapping, _, problems) = apply(&GOOD.replace("<instance id=\"b\"/>", ""));
    assert_eq!(mapping.map(|mapping| mapping.of), Some(vec![0, 0]));
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
