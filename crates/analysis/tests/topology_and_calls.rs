//! Orders of instances along their FIFOs, and who calls whom.

mod texts;

use headrace_analysis::calls::Calls;
use headrace_analysis::topology::{neighbours, sources_first};
use headrace_ir::Network;
use texts::{cal, elaborated, nl};

/// Instances of one actor with two inputs and an output, connected like this.
fn network(entities: &str, structure: &str) -> Network {
    let two =
        "actor T() uint(size=8) A, uint(size=8) B ==> uint(size=8) Out : action A:[a], B:[b] ==> Out:[a + b] end end";
    let text =
        format!("network Top() uint(size=8) In ==> uint(size=8) Out : entities {entities} structure {structure} end");
    elaborated(vec![cal("T", two), nl("Top", &text)], "Top")
}

fn names(network: &Network, instances: &[usize]) -> String {
    let names: Vec<&str> = instances.iter().map(|&at| network.instances[at].name.as_str()).collect();
    names.join(" ")
}

#[test]
fn tokens_flow_along_the_order_and_loops_are_cut() {
    let chain = network(
        "c = T(); a = T(); b = T();",
        "In --> a.A; In --> a.B; a.Out --> b.A; a.Out --> b.B; b.Out --> c.A; a.Out --> c.B; c.Out --> Out;",
    );
    assert_eq!(names(&chain, &sources_first(&chain)), "a b c");
    let circle =
        network("b = T(); a = T();", "In --> a.A; b.Out --> a.B; a.Out --> b.A; a.Out --> b.B; b.Out --> Out;");
    assert_eq!(names(&circle, &sources_first(&circle)), "a b", "from where tokens come in");
}

#[test]
fn neighbours_come_once_and_one_that_feeds_itself_is_its_own() {
    let fed = network("a = T(); b = T();", "In --> a.A; a.Out --> a.B; a.Out --> b.A; a.Out --> b.B; b.Out --> Out;");
    assert_eq!(names(&fed, &neighbours(&fed, 0)), "a b");
    assert_eq!(names(&fed, &neighbours(&fed, 1)), "a");
}

#[test]
fn calls_in_values_come_before_those_in_places_and_circles_are_recursive() {
    let text = "actor X() uint(size=8) In ==> uint(size=8) Out :
        List(type:uint(size=8), size=4) l;
        function f(uint(size=8) v) --> uint(size=8) : v ^ 1 end
        function at(uint(size=8) v) --> uint(size=8) : v & 3 end
        procedure store(uint(size=8) v) begin l[at(v)] := f(v); end
        function even(uint(size=8) v) --> bool : if v = 0 then true else odd(v - 1) end end
        function odd(uint(size=8) v) --> bool : if v = 0 then false else even(v - 1) end end
        action In:[x] ==> Out:[if even(x) then 1 else 0 end] do store(x); end
    end";
    let network = elaborated(vec![cal("X", text)], "X");
    let actor = &network.actors[0];
    let number =
        |name: &str| actor.procedures.iter().position(|procedure| procedure.name == name).expect("a procedure");
    let calls = Calls::of(actor);
    assert_eq!(calls.from(number("store")), [number("f"), number("at")]);
    assert!(calls.is_recursive(number("even")) && calls.is_recursive(number("odd")));
    assert!(!calls.is_recursive(number("store")) && !calls.is_recursive(number("f")));
}
