//! The slice of control and the constant-time report of small actors and networks.

mod texts;

use headrace_analysis::carried;
use headrace_analysis::constant_time::{self, Classes, Report, name};
use headrace_analysis::control::{self, Uses};
use headrace_ir::{InstanceId, Network};
use texts::{cal, elaborated, nl};

fn actor(body: &str) -> Network {
    let text = format!("actor X() uint(size=8) Input, uint(size=8) Public ==> uint(size=8) Output :\n{body}\nend");
    elaborated(vec![cal("X", &text)], "X")
}

/// With the first input secret and nothing declassified.
fn report(network: &Network) -> Report {
    constant_time::analyse(network, &Classes { secret_inputs: vec![true, false], public_outputs: vec![false] })
}

/// What is found that does not follow from something else.
fn kinds(body: &str) -> Vec<&'static str> {
    let report = report(&actor(body));
    let mut kinds: Vec<_> =
        report.findings.iter().filter(|finding| !finding.follows).map(|finding| name(finding.decides)).collect();
    kinds.sort_unstable();
    kinds
}

#[test]
fn each_way_in_which_a_secret_shows_is_found() {
    for (body, expected) in [
        ("action Input:[x] ==> Output:[x ^ 1] end", &[][..]),
        ("action Input:[x] ==> Output:[y] var uint(size=8) y := 0 do if x > 3 then y := 1; end end", &["branch"]),
        ("action Input:[x] ==> Output:[if x > 3 then 1 else 0 end] end", &["conditional"]),
        (
            "action Input:[x] ==> Output:[n] var uint(size=8) n := 0 do while x > 0 do x := x >> 1; n := n + 1; end end",
            &["loop"],
        ),
        (
            "action Input:[x] ==> Output:[n] var uint(size=8) n := 0 do foreach int i in 0 .. x do n := n + 1; end end",
            &["loop"],
        ),
        (
            "List(type:uint(size=8), size=256) T := [i : for int i in 0 .. 255]; action Input:[x] ==> Output:[T[x]] end",
            &["address"],
        ),
        (
            "a: action Input:[x] ==> Output:[x] guard x > 3 end b: action Input:[x] ==> Output:[0] guard x <= 3 end",
            &["choice", "choice"],
        ),
        ("action Input:[x], Public:[y] ==> Output:[y mod (x | 1)] end", &["division"]),
        ("action Input:[x] ==> Output:[x mod 10] end", &[]),
        ("action Input:[x] ==> Output:[1 << (x & 7)] end", &["shift"]),
        ("action Input:[x] ==> Output:[if x = 1 and x = 2 then 1 else 0 end] end", &["conditional", "logic"]),
        (
            "List(type:uint(size=8), size=256) T := [i : for int i in 0 .. 255];
             action Input:[x], Public:[p] ==> Output:[if p = 1 and T[p] = 2 then 1 else 0 end] end",
            &[],
        ),
    ] {
        assert_eq!(kinds(body), expected, "{body}");
    }
}

#[test]
fn what_was_overwritten_is_no_secret_any_more() {
    let body =
        "uint(size=8) s; action Input:[x], Public:[p] ==> Output:[x] do s := x; s := p; if s > 3 then s := 1; end end";
    assert_eq!(kinds(body), [""; 0]);
    // Elements with constant indices are apart, others are not.
    let list = |index: &str| {
        format!(
            "action Input:[x], Public:[p] ==> Output:[x] var List(type:uint(size=8), size=4) l, uint(size=8) n := 0 do
             l[0] := x; l[{index}] := p; if l[1] > 3 then n := 1; end end"
        )
    };
    assert_eq!(kinds(&list("1")), [""; 0]);
    assert_eq!(kinds(&list("p & 3")), ["branch"]);
}

#[test]
fn calls_are_told_apart_by_their_places() {
    let body = "function f(uint(size=8) v) --> uint(size=8) : if v > 3 then 1 else 0 end end
        action Input:[x], Public:[p] ==> Output:[x ^ f(p)] end";
    assert_eq!(kinds(body), [""; 0]);
    assert_eq!(kinds(&body.replace("x ^ f(p)", "p ^ f(x)")), ["conditional"]);
    // What a procedure does to a list comes back.
    let body = "procedure g(List(type:uint(size=8), size=2) l, uint(size=8) v) begin l[1] := v; end
        action Input:[x], Public:[p] ==> Output:[x] var List(type:uint(size=8), size=2) l, uint(size=8) n := 0 do
        g(l, p); while l[1] > n do n := n + 1; end end";
    assert_eq!(kinds(body), [""; 0]);
    assert_eq!(kinds(&body.replace("g(l, p)", "g(l, x)")), ["loop"]);
}

#[test]
fn a_secret_branch_makes_what_it_assigns_secret() {
    let body = "List(type:uint(size=8), size=2) T := [5, 6];
        action Input:[x] ==> Output:[T[n]] var uint(size=1) n := 0 do if x > 3 then n := 1; end end";
    let report = report(&actor(body));
    let found: Vec<_> = report.findings.iter().map(|finding| (name(finding.decides), finding.follows)).collect();
    assert_eq!(found, [("branch", false), ("address", true)]);
}

/// The bits of a token as the published library takes them: until nothing is left of the value.
const ANY2BITS: &str = "actor Any2Bits(int WIDTH = 8) uint(size=WIDTH) Value ==> bool Bits, int Count :
    action Value:[value] ==> Bits:[bits] repeat WIDTH, Count:[n]
    var List(type:bool, size=WIDTH) bits, int n := 0
    do
        while value > 0 do
            bits[WIDTH - 1 - n] := (value & 1) = 1;
            value := value >> 1;
            n := n + 1;
        end
    end
end";

#[test]
fn the_path_leads_through_actors_and_fifos_to_the_loop() {
    let whiten = "actor Whiten() uint(size=8) In ==> uint(size=8) Out : uint(size=8) last;
        action In:[x] ==> Out:[last] do last := last ^ x; end end";
    let top = "network Top() uint(size=8) Key ==> bool Bits, int Count :
        entities w = Whiten(); b = Any2Bits(); structure Key --> w.In; w.Out --> b.Value; b.Bits --> Bits; b.Count --> Count; end";
    let network = elaborated(vec![cal("Whiten", whiten), cal("Any2Bits", ANY2BITS), nl("Top", top)], "Top");
    let report =
        constant_time::analyse(&network, &Classes { secret_inputs: vec![true], public_outputs: vec![false; 2] });
    let first = &report.findings[0];
    assert_eq!((name(first.decides), first.follows), ("loop", false));
    let steps: Vec<&str> = first.path.iter().map(|step| step.what.as_str()).collect();
    assert_eq!(steps, ["`Key`", "`w.In`", "`x`", "`w.last`", "`w.Out`", "`b.Value`", "`value`"]);
    let said = &constant_time::diagnostics(&network, &report)[0];
    assert_eq!(said.slug, "secret-dependent");
    assert!(said.notes[0].contains("`Key` → `w.In`"), "{said:#?}");
    assert!(said.notes[1].contains("in instance b"), "{said:#?}");
    assert!(said.secondary.len() >= 5, "{said:#?}");
    // With a public input there is nothing.
    let public = Classes { secret_inputs: vec![false], public_outputs: vec![false; 2] };
    assert_eq!(constant_time::analyse(&network, &public).findings, []);
}

#[test]
fn what_leaves_by_a_public_output_is_declassified() {
    let compare =
        "actor Compare() uint(size=8) A, uint(size=8) B ==> bool Same : action A:[a], B:[b] ==> Same:[a = b] end end";
    let gate = "actor Gate() bool Open ==> uint(size=8) Out :
        yes: action Open:[o] ==> Out:[1] guard o end no: action Open:[o] ==> guard not o end end";
    let top = "network Top() uint(size=8) Key, uint(size=8) TagIn ==> bool Verified, uint(size=8) Output :
        entities c = Compare(); g = Gate();
        structure Key --> c.A; TagIn --> c.B; c.Same --> g.Open; c.Same --> Verified; g.Out --> Output; end";
    let network = elaborated(vec![cal("Compare", compare), cal("Gate", gate), nl("Top", top)], "Top");
    let classes = |verified| Classes { secret_inputs: vec![true, false], public_outputs: vec![verified, false] };
    let report = constant_time::analyse(&network, &classes(true));
    assert!(report.is_constant_time() && report.findings.is_empty(), "{report:#?}");
    let declassified: Vec<_> = report.declassified.iter().map(|d| (d.port.as_str(), d.source.as_str())).collect();
    assert_eq!(declassified, [("Verified", "c.Same")]);
    assert!(!constant_time::analyse(&network, &classes(false)).is_constant_time());
}

#[test]
fn control_is_what_reaches_guards_and_bounds_through_fifos() {
    let source = "actor Source() uint(size=8) In ==> uint(size=8) Data, uint(size=8) Round :
        uint(size=8) round; uint(size=8) key;
        action In:[x] ==> Data:[x ^ key], Round:[round] do round := round + 1; key := key ^ x; end end";
    let sink = "actor Sink() uint(size=8) Data, uint(size=8) Round ==> uint(size=8) Out :
        List(type:uint(size=8), size=256) T := [i : for int i in 0 .. 255];
        a: action Data:[x], Round:[r] ==> Out:[T[x]] guard r < 10 end
        b: action Data:[x], Round:[r] ==> Out:[x] guard r >= 10 end end";
    let top = "network Top() uint(size=8) In ==> uint(size=8) Out :
        entities s = Source(); t = Sink();
        structure In --> s.In; s.Data --> t.Data; s.Round --> t.Round; t.Out --> Out; end";
    let network = elaborated(vec![cal("Source", source), cal("Sink", sink), nl("Top", top)], "Top");
    let slice = control::analyse(&network);
    let actor = &network.actors[network.instances[0].actor.index()];
    let names: Vec<&str> =
        slice.instances[0].control().map(|variable| actor.variables[variable.index()].name.as_str()).collect();
    assert_eq!(names, ["round"]);
    let uses = |target: &str| {
        let at = network.connections.iter().position(|connection| network.describe(connection).1 == target).unwrap();
        slice.connections[at]
    };
    assert!(uses("t.Round").is_control() && !uses("t.Data").is_control());
    assert!(uses("t.Data").reaches(Uses::ADDRESS) && !uses("t.Round").reaches(Uses::ADDRESS));
    assert!(uses("s.In").reaches(Uses::ADDRESS), "through the key");
    assert_eq!(uses("Out"), Uses::default());
}

/// The counter of such a loop has no bit that may be one.
#[test]
fn a_loop_that_counts_from_zero_to_zero_carries_what_its_body_does() {
    let kinds = |high: &str| {
        let body = format!(
            "uint(size=8) y; action Input:[x] ==> do foreach int i in 0 .. {high} do y := y ^ (x << i); end end"
        );
        carried::of_actor(actor(&body).actor_of(InstanceId(0)))
    };
    assert_eq!(kinds("0"), kinds("1"));
}
