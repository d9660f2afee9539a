//! Repetition vectors, what contradicts them, periods and deadlocks of small networks.

mod texts;

use headrace_analysis::schedule::{Outcome, order_text};
use headrace_analysis::{balance, schedule};
use headrace_ir::Network;
use texts::{cal, elaborated, nl};

/// A network of these actors with this inside.
fn network(actors: &[(&'static str, &str)], inside: &str) -> Network {
    let mut texts: Vec<_> = actors.iter().map(|(name, text)| cal(name, text)).collect();
    texts.push(nl("Top", &format!("network Top() uint(size=8) In ==> uint(size=8) Out : {inside} end")));
    elaborated(texts, "Top")
}

/// Takes `n` tokens and makes `m`.
fn actor(name: &str, n: u32, m: u32) -> String {
    format!(
        "actor {name}() uint(size=8) In ==> uint(size=8) Out :
         action In:[x] repeat {n} ==> Out:[y] repeat {m} var List(type:uint(size=8), size={m}) y end end"
    )
}

#[test]
fn rates_are_balanced_by_the_smallest_numbers() {
    let network = network(
        &[("A", &actor("A", 1, 2)), ("B", &actor("B", 3, 1)), ("C", &actor("C", 2, 5))],
        "entities a = A(); b = B(); c = C();
         structure In --> a.In; a.Out --> b.In; b.Out --> c.In; c.Out --> Out;",
    );
    let balance = balance::analyse(&network);
    assert_eq!(balance.islands.len(), 1);
    assert_eq!(balance.islands[0].cycles, [3, 2, 1]);
    let outcomes = schedule::analyse(&network, &balance);
    let Outcome::Runs(period) = &outcomes[0] else { panic!("{outcomes:?}") };
    assert_eq!(period.least, [2 + 3 - 1, 1 + 2 - 1]);
    assert_eq!(order_text(&network, &period.demand_driven), "2 a, b, a, b, c");
    assert_eq!(period.demand_driven.most, [4, 2]);
    assert_eq!(period.small.most, [4, 2]);
}

#[test]
fn a_mismatch_names_the_fifos_and_the_equations() {
    let fork = "actor Fork() uint(size=8) In ==> uint(size=8) Data, uint(size=8) Go :
        action In:[x] ==> Data:[x, x], Go:[x] end end";
    let join = "actor Join() uint(size=8) Data, uint(size=8) Go ==> uint(size=8) Out :
        action Data:[x], Go:[y] ==> Out:[x ^ y] end end";
    let network = network(
        &[("Fork", fork), ("Join", join)],
        "entities f = Fork(); j = Join();
         structure In --> f.In; f.Data --> j.Data; f.Go --> j.Go; j.Out --> Out;",
    );
    let balance = balance::analyse(&network);
    assert!(balance.islands[0].cycles.is_empty());
    let said = balance::diagnostics(&network, &balance);
    assert_eq!(said.len(), 1);
    assert_eq!((said[0].slug, said[0].message.as_str()), ("rate-mismatch", "network `Top` has no repetition vector"));
    assert_eq!(said[0].secondary.len(), 1);
    assert_eq!(said[0].notes, ["r(f) = r(j) and 2·r(f) = r(j) have only the zero solution"]);
    assert_eq!(schedule::analyse(&network, &balance), [Outcome::Unbalanced]);
}

const ADD: &str = "actor Add() uint(size=8) In, uint(size=8) Last ==> uint(size=8) Out :
    START add: action In:[x], Last:[y] ==> Out:[x + y] end FSM end";

const LOOP: &str = "entities a = Add(); structure In --> a.In; a.Out --> a.Last; a.Out --> Out;";

#[test]
fn a_loop_without_tokens_is_a_deadlock() {
    let stuck = network(&[("Add", &ADD.replace("START", "").replace("FSM", ""))], LOOP);
    let outcomes = schedule::analyse(&stuck, &balance::analyse(&stuck));
    let Outcome::Deadlock(found) = &outcomes[0] else { panic!("{outcomes:?}") };
    assert_eq!((found[0].needed, found[0].there), (1, 0));
    assert_eq!(schedule::diagnostics(&stuck, &outcomes)[0].slug, "deadlock");
    let begun = ADD
        .replace("START", "start: action ==> Out:[0] end")
        .replace("FSM", "schedule fsm s : s (start) --> t; t (add) --> t; end");
    let runs = network(&[("Add", &begun)], LOOP);
    let outcomes = schedule::analyse(&runs, &balance::analyse(&runs));
    let Outcome::Runs(period) = &outcomes[0] else { panic!("{outcomes:?}") };
    assert_eq!(order_text(&runs, &period.small), "2 a");
}
