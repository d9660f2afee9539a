//! Networks in which every kind of thing is called by words of languages: what a word means there must not matter.
//!
//! A network has as many names as are given, all in one role; what comes out depends on each of them. Names are spelled as they
//! come, so those must be identifiers of CAL.

use super::One;
use crate::differential::program::elaborate_texts;
use crate::generate::{Scalar, Stream};
use headrace_program::language;
use num_bigint::BigInt;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What a name can be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Variables of an actor that change.
    Variable,
    /// Lists of an actor that never change, and those that do.
    List,
    /// Variables of an action, and those of its loops.
    Local,
    /// Tokens that an action reads.
    Token,
    /// Functions.
    Function,
    /// Procedures.
    Procedure,
    /// Parameters of functions and procedures.
    Parameter,
    /// Parameters of actors.
    Constant,
    /// Actions of an actor with state.
    Action,
    /// States of a schedule.
    State,
    /// Ports of actors.
    Port,
    /// Ports of the network.
    Boundary,
    /// Instances.
    Instance,
    /// Actors, with state and an action `init`.
    Actor,
    /// Networks inside the network.
    Network,
    /// Packages of actors.
    Package,
    /// Units, with a constant and a function each.
    Unit,
}

/// All of them.
pub const ROLES: &[Role] = &[
    Role::Variable,
    Role::List,
    Role::Local,
    Role::Token,
    Role::Function,
    Role::Procedure,
    Role::Parameter,
    Role::Constant,
    Role::Action,
    Role::State,
    Role::Port,
    Role::Boundary,
    Role::Instance,
    Role::Actor,
    Role::Network,
    Role::Package,
    Role::Unit,
];

/// Most names of a network: programs around networks have no more ports.
pub const MOST: usize = 60;

/// Names that printed code has or makes, and such as come close to how it makes them.
const MADE: &str = "\
    init step run state network clear key message update final write read inspect firings control part partitions context \
    scheduled self fired budget out self_ started blocked scalars lists Context Control Host Status fsm_state zero zero_Control \
    init_2 init_2_2 state_ state__ x x_ x__ x_x x_x_x A a a_b b_c a_b_c a_ b_ a__b tokens n_tokens bytes at room first there \
    i0 i1 i n s v p w iterations n_iterations words0_ t0 t1 v0 V0 c0 label_0 loop_0 kernel_0 table_0 TABLE_0 returned host host_x whole_x TEXTS_x \
    names_init names_scalars names_lists names_fire names_fire_2 Names Names_2 Top Top_2 Network Names_init Names_lists \
    write_In read_Out waiting_Out write_In_bytes In_bytes Out_room lacks_room limited stopped depth \
    size length length_ name prototype constructor toString valueOf hasOwnProperty get set \
    Foo foo FOO fOO foo_1 foo_2 foo1 foo_1_ foo_1__";

/// Every word of every language that is an identifier of CAL and no keyword, and names that printed code makes.
pub fn words() -> Vec<String> {
    let listed = language::ALL.iter().flat_map(|language| language.words());
    // Of beginnings, one that begins so.
    let listed = listed.map(|word| word.strip_suffix('*').map_or(word.to_owned(), |begin| format!("{begin}Q")));
    let all: BTreeSet<String> = listed.chain(MADE.split_whitespace().map(str::to_owned)).collect();
    all.into_iter().filter(|word| is_usable(word)).collect()
}

/// Words of one language alone, and names that printed code makes.
pub fn words_of(name: &str) -> Vec<String> {
    let own: BTreeSet<&str> = language::ALL
        .iter()
        .filter(|language| language.name == name)
        .flat_map(|language| language.words())
        .chain(MADE.split_whitespace())
        .map(|word| word.trim_end_matches('*'))
        .collect();
    words().into_iter().filter(|word| own.contains(word.trim_end_matches('Q')) || own.contains(word.as_str())).collect()
}

/// Whether CAL has it as the name of a variable.
fn is_usable(word: &str) -> bool {
    let text = format!("package p;\n\nunit {word} :\n    int {word} = 1;\nend\n");
    elaborate_texts(
        vec![
            (format!("p/{word}.cal"), text),
            (
                "p/Q7.cal".to_owned(),
                format!(
                    "package p;\n\nimport p.{word}.*;\n\nactor Q7() uint(size=8) In ==> uint(size=8) Out :\n    \
                     {word}: action In:[q7] ==> Out:[q7 + {word}] end\nend\n"
                ),
            ),
        ],
        "p.Q7",
    )
    .is_ok()
}

/// An actor of one action.
fn increment(class: &str) -> String {
    format!(
        "actor {class}() uint(size=8) q7i ==> uint(size=8) q7o :\n    uint(size=8) q7s := 1;\n    \
         init: action q7i:[q7x] ==> q7o:[q7x + q7s] do q7s := q7s + 1; end\nend\n"
    )
}

/// A chain of instances of these classes, by these names.
fn chain(imports: &str, instances: &[(String, String)]) -> String {
    let mut text = format!("package p;\n\n{imports}network Top() uint(size=8) In ==> uint(size=8) Out :\nentities\n");
    for (name, class) in instances {
        let _ = writeln!(text, "    {name} = {class}();");
    }
    text.push_str("structure\n");
    let mut from = "In".to_owned();
    for (name, _) in instances {
        let _ = writeln!(text, "    {from} --> {name}.q7i;");
        from = format!("{name}.q7o");
    }
    let _ = write!(text, "    {from} --> Out;\nend\n");
    text
}

/// An actor `Top` of these members.
fn actor(head: &str, members: &str) -> String {
    format!("package p;\n\n{head}actor Top() uint(size=8) In ==> uint(size=8) Out :\n{members}end\n")
}

/// The files of a network that has these names in a role; its top is `p.Top`.
pub fn texts(role: Role, names: &[String]) -> Vec<(String, String)> {
    let cal = |text: String| vec![("p/Top.cal".to_owned(), text)];
    let numbered = || names.iter().enumerate();
    let lines =
        |line: &dyn Fn(usize, &str) -> String| -> String { numbered().map(|(at, name)| line(at, name)).collect() };
    match role {
        Role::Variable => {
            let members = lines(&|at, name| format!("    uint(size=16) {name} := {at};\n"));
            let body =
                lines(&|_, name| format!("        {name} := {name} * 3 + q7x;\n        q7s := q7s * 5 + {name};\n"));
            cal(actor(
                "",
                &format!("{members}    action In:[q7x] ==> Out:[q7s] var uint(size=16) q7s := 0 do\n{body}    end\n"),
            ))
        }
        Role::List => {
            let member = |at: usize, name: &str| {
                let sign = if at.is_multiple_of(2) { "=" } else { ":=" };
                format!("    List(type: uint(size=16), size=3) {name} {sign} [{at}, 7, {}];\n", at + 2)
            };
            let body = lines(&|at, name| {
                let write =
                    if at.is_multiple_of(2) { String::new() } else { format!("        {name}[q7x mod 3] := q7s;\n") };
                format!("        q7s := q7s * 5 + {name}[(q7x + {at}) mod 3];\n{write}")
            });
            cal(actor(
                "",
                &format!(
                    "{}    action In:[q7x] ==> Out:[q7s] var uint(size=16) q7s := 0 do\n{body}    end\n",
                    lines(&member)
                ),
            ))
        }
        Role::Local => {
            let vars: Vec<String> =
                numbered().map(|(at, name)| format!("uint(size=16) {name} := q7x + {at}")).collect();
            let body = lines(&|_, name| format!("        {name} := {name} * q7x;\n        q7s := q7s * 5 + {name};\n"));
            let loops = lines(&|at, name| {
                format!(
                    "        foreach uint(size=8) {name} in 0 .. 3 do q7t := q7t * 3 + {name} * q7x; end\n        \
                     q7t := q7t + q7l([ {name} + q7t : for uint(size=8) {name} in {at} .. {} ]);\n",
                    at + 2
                )
            });
            cal(actor(
                "",
                &format!(
                    "    function q7l(List(type: uint(size=16), size=3) q7v) --> uint(size=16) : q7v[0] + 2 * q7v[1] + 3 * q7v[2] end\n    \
                 action In:[q7x] ==> Out:[q7s] var uint(size=16) q7s := 0, {} do\n{body}    end\n    \
                 action In:[q7x] ==> Out:[q7t] guard q7x mod 3 = 1 var uint(size=16) q7t := 0 do\n{loops}    end\n",
                    vars.join(", ")
                ),
            ))
        }
        Role::Token => {
            let sum = lines(&|_, name| format!("        q7s := q7s * 3 + {name};\n"));
            cal(actor(
                "",
                &format!(
                    "    uint(size=16) q7n := 0;\n    action In:[{}] ==> Out:[q7s] guard {} = q7n mod 2 var uint(size=16) q7s := q7n do\n{sum}        \
                 q7n := q7n + 2;\n    end\n",
                    names.join(", "),
                    "0"
                ),
            ))
        }
        Role::Function => {
            let members = lines(&|at, name| {
                format!("    function {name}(uint(size=16) q7p) --> uint(size=16) : q7p * 3 + {at} + q7z end\n")
            });
            let body = lines(&|_, name| format!("        q7s := {name}(q7s);\n"));
            cal(actor(
                "",
                &format!(
                    "    uint(size=16) q7z := 1;\n{members}    action In:[q7x] ==> Out:[q7s] var uint(size=16) q7s := q7x do\n{body}        q7z := q7s;\n    end\n"
                ),
            ))
        }
        Role::Procedure => {
            let members = lines(&|at, name| {
                format!("    procedure {name}(uint(size=16) q7p) begin q7z := q7z * 3 + q7p + {at}; end\n")
            });
            let body = lines(&|_, name| format!("        {name}(q7x);\n"));
            cal(actor(
                "",
                &format!("    uint(size=16) q7z := 1;\n{members}    action In:[q7x] ==> Out:[q7z] do\n{body}    end\n"),
            ))
        }
        Role::Parameter => {
            let list = |role: &str| {
                numbered().map(|(_, name)| format!("uint(size=16) {name}{role}")).collect::<Vec<_>>().join(", ")
            };
            let sum = names.iter().fold("0".to_owned(), |sum, name| format!("({sum} * 3 + {name}) mod 65536"));
            let body = lines(&|_, name| format!("        q7z := q7z * 5 + {name};\n"));
            let given = |by: &str| numbered().map(|(at, _)| format!("{by} + {at}")).collect::<Vec<_>>().join(", ");
            cal(actor(
                "",
                &format!(
                    "    uint(size=16) q7z := 1;\n    function q7f({0}) --> uint(size=16) : {sum} end\n    procedure q7g({0}) begin\n{body}    end\n    \
                 action In:[q7x] ==> Out:[q7z + q7f({1})] do\n        q7g({1});\n    end\n",
                    list(""),
                    given("q7x")
                ),
            ))
        }
        Role::Constant => {
            let list: Vec<String> = names.iter().map(|name| format!("uint(size=8) {name}")).collect();
            let given: Vec<String> = numbered().map(|(at, name)| format!("{name} = {}", at + 3)).collect();
            let body = lines(&|_, name| format!("        q7s := q7s * 5 + {name};\n"));
            vec![
                (
                    "p/Q7.cal".to_owned(),
                    format!(
                        "package p;\n\nactor Q7({}) uint(size=8) In ==> uint(size=8) Out :\n    action In:[q7x] ==> Out:[q7s] var uint(size=16) q7s := q7x do\n{body}    end\nend\n",
                        list.join(", ")
                    ),
                ),
                (
                    "p/Top.nl".to_owned(),
                    format!(
                        "package p;\n\nnetwork Top() uint(size=8) In ==> uint(size=8) Out :\nentities\n    q7 = Q7({});\nstructure\n    In --> q7.In;\n    q7.Out --> Out;\nend\n",
                        given.join(", ")
                    ),
                ),
            ]
        }
        Role::Action => {
            let n = names.len();
            let members = lines(&|at, name| {
                format!(
                    "    {name}: action In:[q7x] ==> Out:[q7x + {at}] guard q7n = {at} do q7n := (q7n + 1) mod {n}; end\n"
                )
            });
            cal(actor("", &format!("    uint(size=16) q7n := 0;\n{members}")))
        }
        Role::State => {
            let arrows = lines(&|at, name| {
                format!(
                    "        {name}({}) --> {};\n",
                    if at % 2 == 0 { "q7a" } else { "q7b" },
                    names[(at + 1) % names.len()]
                )
            });
            cal(actor(
                "",
                &format!(
                    "    uint(size=16) q7n := 0;\n    q7a: action In:[q7x] ==> Out:[q7x + q7n] do q7n := q7n + 1; end\n    \
                 q7b: action In:[q7x] ==> Out:[q7x * 2] do q7n := q7n * 3; end\n    schedule fsm {} :\n{arrows}    end\n",
                    names[0]
                ),
            ))
        }
        Role::Port => {
            let ports: Vec<String> = names.iter().map(|name| format!("uint(size=8) {name}")).collect();
            let list = ports.join(", ");
            let outputs: Vec<String> = numbered().map(|(at, name)| format!("{name}:[q7x + {at}]")).collect();
            let inputs: Vec<String> = numbered().map(|(at, name)| format!("{name}:[q7t{at}]")).collect();
            let sum = lines(&|at, _| format!("        q7s := q7s * 3 + q7t{at};\n"));
            let wires = lines(&|_, name| format!("    q7f.{name} --> q7j.{name};\n"));
            vec![
                (
                    "p/Q7F.cal".to_owned(),
                    format!(
                        "package p;\n\nactor Q7F() uint(size=8) q7i ==> {list} :\n    action q7i:[q7x] ==> {} end\nend\n",
                        outputs.join(", ")
                    ),
                ),
                (
                    "p/Q7J.cal".to_owned(),
                    format!(
                        "package p;\n\nactor Q7J() {list} ==> uint(size=8) q7o :\n    action {} ==> q7o:[q7s] var uint(size=16) q7s := 0 do\n{sum}    end\nend\n",
                        inputs.join(", ")
                    ),
                ),
                (
                    "p/Top.nl".to_owned(),
                    format!(
                        "package p;\n\nnetwork Top() uint(size=8) In ==> uint(size=8) Out :\nentities\n    q7f = Q7F();\n    q7j = Q7J();\nstructure\n    In --> q7f.q7i;\n{wires}    q7j.q7o --> Out;\nend\n"
                    ),
                ),
            ]
        }
        Role::Boundary => {
            let ports: Vec<String> = names.iter().map(|name| format!("uint(size=8) {name}")).collect();
            let list = ports.join(", ");
            let entities = lines(&|at, _| format!("    q7e{at} = Q7();\n"));
            let wires = lines(&|at, name| format!("    {name} --> q7e{at}.q7i;\n    q7e{at}.q7o --> {name};\n"));
            vec![
                ("p/Q7.cal".to_owned(), format!("package p;\n\n{}", increment("Q7"))),
                (
                    "p/Top.nl".to_owned(),
                    format!(
                        "package p;\n\nnetwork Top() {list} ==> {list} :\nentities\n{entities}structure\n{wires}end\n"
                    ),
                ),
            ]
        }
        Role::Instance => {
            let instances: Vec<(String, String)> = names.iter().map(|name| (name.clone(), "Q7".to_owned())).collect();
            vec![
                ("p/Q7.cal".to_owned(), format!("package p;\n\n{}", increment("Q7"))),
                ("p/Top.nl".to_owned(), chain("", &instances)),
            ]
        }
        Role::Actor | Role::Network | Role::Package => {
            let class =
                |name: &str| if role == Role::Package { format!("p.{name}.Q7") } else { format!("p.q7.{name}") };
            let instances: Vec<(String, String)> =
                numbered().map(|(at, name)| (format!("q7e{at}"), class(name))).collect();
            let mut files = vec![("p/Top.nl".to_owned(), chain("", &instances))];
            if role == Role::Network {
                files.push(("p/Q7.cal".to_owned(), format!("package p;\n\n{}", increment("Q7"))));
            }
            for name in names {
                files.push(match role {
                    Role::Actor => (format!("p/q7/{name}.cal"), format!("package p.q7;\n\n{}", increment(name))),
                    Role::Package => (format!("p/{name}/Q7.cal"), format!("package p.{name};\n\n{}", increment("Q7"))),
                    _ => (
                        format!("p/q7/{name}.nl"),
                        format!(
                            "package p.q7;\n\nnetwork {name}() uint(size=8) q7i ==> uint(size=8) q7o :\nentities\n    q7 = p.Q7();\nstructure\n    q7i --> q7.q7i;\n    q7.q7o --> q7o;\nend\n"
                        ),
                    ),
                });
            }
            files
        }
        Role::Unit => {
            let mut files: Vec<(String, String)> = numbered()
                .map(|(at, name)| {
                    let text = format!(
                        "package p.q7;\n\nunit {name} :\n    uint(size=16) q7c{at} = {at} + 1;\n    \
                         function {name}(uint(size=16) q7p) --> uint(size=16) : q7p * 3 + q7c{at} end\nend\n"
                    );
                    (format!("p/q7/{name}.cal"), text)
                })
                .collect();
            let imports = lines(&|_, name| format!("import p.q7.{name}.*;\n"));
            let body = lines(&|at, name| format!("        q7s := {name}(q7s) + q7c{at};\n"));
            files.push((
                "p/Top.cal".to_owned(),
                actor(
                    &format!("{imports}\n"),
                    &format!("    action In:[q7x] ==> Out:[q7s] var uint(size=16) q7s := q7x do\n{body}    end\n"),
                ),
            ));
            files
        }
    }
}

/// The network that has these names in a role, with tokens that make each of them matter.
///
/// # Errors
///
/// Why there is nothing to compare with.
pub fn network(role: Role, names: &[String]) -> Result<One, String> {
    let network = elaborate_texts(texts(role, names), "p.Top").map_err(|verdict| format!("{role:?}: {verdict}"))?;
    let inputs = network.inputs.iter().enumerate().map(|(at, port)| Stream {
        port: port.name.clone(),
        scalar: Scalar::Int { signed: false, bits: 8 },
        tokens: (0..3 * names.len()).map(|token| BigInt::from((7 * token + at + 1) % 251)).collect(),
    });
    let inputs = inputs.collect();
    One::of(role as u64, network, inputs, headrace_ir::DEFAULT_FIFO_TOKENS).map_err(|why| format!("{role:?}: {why}"))
}

/// Networks that have these names in every role.
///
/// # Errors
///
/// Why one of them has nothing to compare with.
pub fn networks(names: &[String]) -> Result<Vec<One>, String> {
    let mut all = Vec::new();
    for part in names.chunks(MOST) {
        for &role in ROLES {
            let mut one = network(role, part)?;
            one.seed = all.len() as u64;
            all.push(one);
        }
    }
    Ok(all)
}
