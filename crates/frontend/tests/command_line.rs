//! What is given on the command line: a name, a file, an instantiation, parameters.

#[expect(dead_code, reason = "each test uses a part of it")]
mod support;

use headrace_frontend::{Node, Session, SourceKind, SourceText, Top, elaborate, hierarchy};
use headrace_ir::Value;
use support::{Texts, problems};

const ADD: &str = "
package p;
actor Add(int N, uint(size=8) T[2] = [0, 0], bool NEG = false) uint(size=8) In ==> uint(size=8) Out :
    action In:[x] ==> Out:[if NEG then x - N else x + N + T[0] end] end
end
";

const HOST: &str = "
package p;
network Host(entity Inner, int TIMES = 2) uint(size=8) In ==> uint(size=8) Out :
entities
    inner = [Inner() : for i in 0 .. TIMES - 1];
structure
    In --> inner[0].In;
    foreach i in 0 .. TIMES - 2 do
        inner[i].Out --> inner[i + 1].In;
    end
    inner[TIMES - 1].Out --> Out;
end
";

fn texts() -> Texts {
    Texts::default().cal("p.Add", ADD).nl("p.Host", HOST)
}

fn run(top: Top, set: &[(&str, &str)]) -> Result<Vec<Vec<(String, Value)>>, Vec<String>> {
    let set: Vec<(String, String)> = set.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let mut session = Session::new();
    match elaborate(&mut session, &texts(), &top, &set) {
        Some(network) => {
            Ok(network.instances.iter().map(|i| network.actors[i.actor.index()].parameters.clone()).collect())
        }
        None => Err(problems(&mut session)),
    }
}

fn name(text: &str) -> Top {
    Top::Name(text.to_string())
}

fn expression(text: &str) -> Top {
    Top::Expression(text.to_string())
}

fn n(parameters: &[(String, Value)]) -> &Value {
    &parameters[0].1
}

#[test]
fn parameters_are_set_by_name() {
    let actors = run(name("p.Add"), &[("N", "3 + 4"), ("T", "[1, 30]"), ("NEG", "true")]).expect("no errors");
    let int = |value: i64| Value::Int(value.into());
    assert_eq!(
        actors[0],
        [
            ("N".to_string(), int(7)),
            ("T".to_string(), Value::List(vec![int(1), int(30)])),
            ("NEG".to_string(), Value::Bool(true))
        ]
    );
}

#[test]
fn an_instantiation_brings_its_parameters_and_others_replace_them() {
    let actors = run(expression("p.Host(Inner = p.Add(N = 5), TIMES = 3)"), &[("TIMES", "1")]).expect("no errors");
    assert_eq!(actors.len(), 1);
    assert_eq!(*n(&actors[0]), Value::Int(5i64.into()));
}

#[test]
fn an_entity_is_set_like_a_value() {
    let actors = run(name("p.Host"), &[("Inner", "p.Add(N = 9)")]).expect("no errors");
    assert_eq!(actors.len(), 2);
    assert_eq!(*n(&actors[1]), Value::Int(9i64.into()));
}

#[test]
fn what_is_wrong_is_said() {
    assert_eq!(
        run(name("p.Add"), &[]),
        Err(vec!["missing-parameter 3:15 `p.Add` needs a value for its parameter `N`".to_string()])
    );
    assert_eq!(
        run(name("p.Add"), &[("M", "1")]),
        Err(vec!["unknown-parameter - `p.Add` has no parameter `M`".to_string()])
    );
    assert_eq!(run(name("p.Ad"), &[]), Err(vec!["missing-class - there is no actor or network `p.Ad`".to_string()]));
    assert!(run(name("p.Add"), &[("N", "1 +")]).is_err());
    assert!(run(name("p.Add"), &[("N", "true")]).is_err());
    assert!(run(name("p.Host"), &[("Inner", "3")]).is_err());
    assert!(run(expression("p.Host(Inner = p.Add)"), &[]).is_err());
    assert!(run(expression("; drop"), &[]).is_err());
}

#[test]
fn a_text_needs_no_place_in_a_source_root() {
    let text = ADD.replace("int N,", "int N = 1,");
    let source = SourceText { display: "Add.cal".to_string(), text, kind: SourceKind::Cal };
    assert_eq!(run(Top::Source(source, None), &[]).map(|actors| actors.len()), Ok(1));
}

#[test]
fn the_hierarchy_has_the_levels_and_their_connections() {
    let mut session = Session::new();
    let top = expression("p.Host(Inner = p.Host(Inner = p.Add(N = 1)))");
    let Some(Node::Network(outer)) = hierarchy(&mut session, &texts(), &top, &[]) else {
        panic!("{:#?}", problems(&mut session))
    };
    let names: Vec<&str> = outer.children.iter().map(|child| child.name.as_str()).collect();
    assert_eq!(names, ["inner_0", "inner_1"]);
    assert_eq!(outer.links.len(), 3);
    assert_eq!(outer.describe_source(outer.links[1].from), "inner_0.Out");
    assert_eq!(outer.describe_target(outer.links[1].to), "inner_1.In");
    let Node::Network(inner) = &outer.children[1].node else { panic!("a network") };
    assert_eq!(inner.children[0].node.class(), "p.Add");
}
