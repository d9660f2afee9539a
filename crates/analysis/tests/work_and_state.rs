//! The work of firings, and how state is carried from one to the next.

mod texts;

use headrace_analysis::carried::{self, Kind};
use headrace_analysis::operations::{self, KINDS, Work};
use headrace_ir::Network;
use texts::{cal, elaborated, nl};

fn actor(body: &str) -> Network {
    let text = format!("actor X() uint(size=8) In, uint(size=8) Ctl ==> uint(size=8) Out :\n{body}\nend");
    elaborated(vec![cal("X", &text)], "X")
}

fn work(body: &str) -> Work {
    operations::of_actor(&actor(body).actors[0])[0]
}

fn count(work: &Work, kind: &str) -> u64 {
    work.operations.counts[KINDS.iter().position(|name| *name == kind).unwrap()]
}

#[test]
fn operations_are_counted_with_their_loops() {
    let found = work("action In:[x] ==> Out:[((x ^ 3) + 1) * 5] end");
    assert_eq!((found.operations.total(), found.depth, found.at_least), (3, 3, false), "{found:?}");
    assert_eq!((count(&found, "bits"), count(&found, "add"), count(&found, "multiply")), (1, 1, 1));
}

#[test]
fn chains_go_through_loops() {
    let body = "List(type:uint(size=8), size=8) t := [i : for int i in 0 .. 7]; uint(size=8) x;
        action In:[y] ==> do foreach int i in 0 .. 7 do x := x ^ t[i]; end end";
    let found = work(body);
    assert_eq!((count(&found, "bits"), count(&found, "load"), found.depth, found.at_least), (8, 8, 9, false));
    let sum = work("uint(size=8) x; action In:[y] ==> do foreach int i in 0 .. 7 do x := y ^ 1; end end");
    assert_eq!((count(&sum, "bits"), sum.depth), (8, 1), "iterations that do not need one another");
    assert!(work("action In:[y] ==> Out:[y] do while y > 0 do y := y >> 1; end end").at_least);
}

#[test]
fn calls_add_their_work_and_depth() {
    let body = "function f(uint(size=8) v) --> uint(size=8) : (v ^ 1) & 3 end
        procedure g(List(type:uint(size=8), size=2) l) begin l[0] := f(l[0]); l[1] := f(f(l[1])); end
        action In:[x] ==> Out:[l[1]] var List(type:uint(size=8), size=2) l do g(l); end";
    let found = work(body);
    assert_eq!(count(&found, "bits"), 6);
    // Element 0 comes first, then two calls on the deepest element of the list, then a load.
    assert!(found.depth >= 6, "{found:?}");
}

/// The kind of each variable, by name.
fn kinds(body: &str) -> Vec<(String, Kind)> {
    let network = actor(body);
    let actor = &network.actors[0];
    let kinds = carried::of_actor(actor);
    actor.variables.iter().zip(kinds).filter(|(v, _)| v.mutable).map(|(v, kind)| (v.name.clone(), kind)).collect()
}

fn kind(body: &str) -> Kind {
    kinds(body)[0].1
}

#[test]
fn each_way_of_carrying_state_is_told() {
    for (body, expected) in [
        ("uint(size=8) s; action In:[x] ==> Out:[x] do s := x; end", Kind::Unused),
        ("uint(size=8) s; a: action Ctl:[k] ==> do s := k; end b: action In:[x] ==> Out:[x ^ s] end", Kind::Held),
        ("uint(size=8) s; action In:[x] ==> Out:[s] do s := s + 3; end", Kind::Counter),
        ("uint(size=8) s; action In:[x] ==> Out:[s] do if s = 9 then s := 0; else s := s + 1; end end", Kind::Counter),
        ("uint(size=8) s; action In:[x] ==> Out:[s] do s := s + x; end", Kind::Affine),
        ("uint(size=8) s; action In:[x] ==> Out:[s] do s := 5 * s + x; end", Kind::Affine),
        ("uint(size=8) s; action In:[x] ==> Out:[s] do s := s ^ x; end", Kind::Linear),
        ("uint(size=8) s; action In:[x] ==> Out:[s] do s := ((s << 3) | (s >> 5)) ^ x; end", Kind::Linear),
        ("uint(size=8) s; action In:[x] ==> Out:[s] do s := (s >> 1) ^ (-(s & 1) & 0x8e); end", Kind::Linear),
        (
            "uint(size=8) s; action In:[x] ==> Out:[s] do s := (s >> 1) ^ (if (s & 1) = 1 then 0x8e else 0 end); end",
            Kind::Linear,
        ),
        ("uint(size=8) s; action In:[x] ==> Out:[s] do s := (s ^ x) + 1; end", Kind::True),
        ("uint(size=8) s; action In:[x] ==> Out:[s] do s := s & (s >> 1); end", Kind::True),
        ("uint(size=8) s; action In:[x] ==> Out:[s] do if s > x then s := 0; end end", Kind::True),
        ("uint(size=8) s; action In:[x] ==> Out:[s] do if s > x then s := 0; else s := s + 1; end end", Kind::True),
        ("uint(size=8) s; action In:[x] ==> Out:[s] do s := (s >> 1) + (s & 1); end", Kind::True),
    ] {
        assert_eq!(kind(body), expected, "{body}");
    }
}

#[test]
fn variables_that_need_one_another_are_taken_together() {
    let feistel = "uint(size=8) l; uint(size=8) r; uint(size=8) t;
        action In:[x] ==> Out:[l] do t := l; l := r ^ x; r := t; end";
    let found = kinds(feistel);
    assert_eq!(found[0], ("l".into(), Kind::Linear));
    assert_eq!(found[1], ("r".into(), Kind::Linear));
    assert_eq!(found[2].1, Kind::Unused);
    let table = "List(type:uint(size=8), size=256) T := [i : for int i in 0 .. 255]; uint(size=8) s; uint(size=8) n;
        action In:[x] ==> Out:[s] do s := T[s ^ x]; n := n + 1; end";
    assert_eq!(kinds(table), [("s".to_owned(), Kind::True), ("n".to_owned(), Kind::Counter)]);
}

#[test]
fn a_product_by_shifts_and_xors_is_linear_in_its_factor() {
    let body = "uint(size=8) acc; uint(size=8) h;
        a: action Ctl:[k] ==> do h := k; end
        b: action In:[x] ==> Out:[acc] var uint(size=8) v, uint(size=8) z := 0 do
            v := h;
            acc := acc ^ x;
            foreach int i in 0 .. 7 do
                z := z ^ (v & -((acc >> (7 - i)) & 1));
                v := (v >> 1) ^ (0xe1 & -(v & 1));
            end
            acc := z;
        end";
    assert_eq!(kinds(body), [("acc".to_owned(), Kind::Linear), ("h".to_owned(), Kind::Held)]);
}

#[test]
fn a_list_is_held_though_its_elements_are_set_one_by_one() {
    let body = "List(type:uint(size=8), size=2) k; List(type:uint(size=8), size=2) s; uint(size=8) n;
        a: action Ctl:[x] ==> do k[0] := x; k[1] := x + 1; end
        b: action In:[x] ==> Out:[k[0]] do s[0] := s[1]; s[1] := x ^ k[1]; n := (n + x) mod 16; end";
    let expected = [("k", Kind::Held), ("s", Kind::Linear), ("n", Kind::Affine)];
    let found = kinds(&body.replace("Out:[k[0]]", "Out:[k[0] ^ s[0]]"));
    let found: Vec<(&str, Kind)> = found.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
    assert_eq!(found, expected);
}

#[test]
fn loops_of_fifos_carry_state() {
    let add = "actor Add() uint(size=8) In, uint(size=8) Last ==> uint(size=8) Out :
        action In:[x], Last:[y] ==> Out:[x + y] end end";
    let delay = "actor Delay() uint(size=8) In ==> uint(size=8) Out :
        start: action ==> Out:[0] end go: action In:[x] ==> Out:[x] end
        schedule fsm s : s (start) --> t; t (go) --> t; end end";
    let top = "network Top() uint(size=8) In ==> uint(size=8) Out :
        entities first = Delay(); a = Add(); d = Delay();
        structure In --> first.In; first.Out --> a.In; a.Out --> d.In; d.Out --> a.Last; a.Out --> Out; end";
    let network = elaborated(vec![cal("Add", add), cal("Delay", delay), nl("Top", top)], "Top");
    let names: Vec<Vec<&str>> = carried::loops(&network)
        .iter()
        .map(|group| group.iter().map(|id| network.instances[id.index()].name.as_str()).collect())
        .collect();
    assert_eq!(names, [["a", "d"]]);
}
