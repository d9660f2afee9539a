//! Classes and order dependence of small actors.

use headrace_analysis::order_dependence::{Dependence, diagnostics, findings};
use headrace_analysis::rates::{Class, Rates, Reason, classify, classify_in};
use headrace_frontend::{Session, SourceKind, SourceProvider, SourceText, Top, elaborate};
use headrace_ir::Network;

struct Nothing;

impl SourceProvider for Nothing {
    fn find(&self, _: &str) -> Result<Option<SourceText>, String> {
        Ok(None)
    }

    fn similar(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn places(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The network of one actor with inputs `A` and `B`, output `Out` and this body.
fn network(body: &str) -> Network {
    let text = format!("actor X() uint(size=8) A, uint(size=8) B ==> uint(size=8) Out :\n{body}\nend");
    let source = SourceText { display: "X.cal".into(), text, kind: SourceKind::Cal };
    let mut session = Session::new();
    let network = elaborate(&mut session, &Nothing, &Top::Source(source, None), &[]);
    network.unwrap_or_else(|| panic!("{:?}", session.take_diagnostics()))
}

/// (first, second, ports or none) of each finding.
fn found(body: &str) -> Vec<(String, String, Option<Vec<usize>>)> {
    let network = network(body);
    let actor = &network.actors[0];
    let name = |action: headrace_ir::ActionId| actor.actions[action.index()].name.clone();
    findings(actor)
        .into_iter()
        .map(|finding| {
            let ports = match finding.dependence {
                Dependence::Time { ports } => Some(ports),
                Dependence::Overlap => None,
            };
            (name(finding.first), name(finding.second), ports)
        })
        .collect()
}

fn time(first: &str, second: &str, ports: &[usize]) -> (String, String, Option<Vec<usize>>) {
    (first.into(), second.into(), Some(ports.to_vec()))
}

fn overlap(first: &str, second: &str) -> (String, String, Option<Vec<usize>>) {
    (first.into(), second.into(), None)
}

fn rates(consumes: [u64; 2], produces: u64) -> Rates {
    Rates { consumes: consumes.to_vec(), produces: vec![produces] }
}

#[test]
fn one_action_is_static() {
    let network = network("action A:[x, y], B:[z] repeat 3 ==> Out:[x] end");
    assert_eq!(classify(&network.actors[0]), Class::Static(rates([2, 3], 1)));
}

#[test]
fn guards_with_equal_rates_are_static() {
    let network = network("a: action A:[x] ==> Out:[x] guard x > 3 end b: action A:[x] ==> Out:[0] guard x <= 3 end");
    assert_eq!(classify(&network.actors[0]), Class::Static(rates([1, 0], 1)));
}

#[test]
fn an_fsm_can_be_cyclo_static_with_a_prefix() {
    let network = network(
        "i: action B:[x] ==> end a: action A:[x] ==> end b: action ==> Out:[1, 2] end
         schedule fsm s : s (i) --> t; t (a) --> u; u (b) --> t; end",
    );
    assert_eq!(
        classify(&network.actors[0]),
        Class::CycloStatic { prefix: vec![rates([0, 1], 0)], cycle: vec![rates([1, 0], 0), rates([0, 0], 2)] }
    );
}

#[test]
fn an_actor_that_ends_has_no_cycle() {
    let network = network("a: action A:[x] ==> Out:[x] end schedule fsm s : s (a) --> t; end");
    assert_eq!(classify(&network.actors[0]), Class::CycloStatic { prefix: vec![rates([1, 0], 1)], cycle: vec![] });
}

#[test]
fn a_choice_of_rates_is_dynamic() {
    let network = network("a: action A:[x] ==> Out:[x] guard x > 3 end b: action A:[x] ==> guard x <= 3 end");
    let Class::Dynamic { choice, reason } = classify(&network.actors[0]) else { panic!("not dynamic") };
    assert_eq!((choice.actions.0.index(), choice.actions.1.index()), (0, 1));
    assert_eq!(reason, Reason::Data(0));
}

#[test]
fn a_merge_that_takes_what_is_there_is_dynamic() {
    let network = network("a: action A:[x] ==> Out:[x] end b: action B:[x] ==> Out:[x] end priority a > b; end");
    let Class::Dynamic { reason, .. } = classify(&network.actors[0]) else { panic!("not dynamic") };
    assert_eq!(reason, Reason::Time(vec![0]));
}

#[test]
fn counts_and_flags_make_it_quasi_static() {
    let burst = network(
        "uint(size=8) left; uint(size=8) last;
         count: action A:[n] ==> do left := n; end
         item: action B:[x] ==> Out:[x ^ last] guard left > 0 do left := left - 1; last := x; end
         done: action ==> guard left = 0 end
         schedule fsm s : s (count) --> t; t (item) --> t; t (done) --> s; end",
    );
    let Class::QuasiStatic { choice, control } = classify(&burst.actors[0]) else { panic!("not quasi-static") };
    assert_eq!(choice.state.index(), 1);
    assert_eq!(control.ports, [0]);
    let names: Vec<&str> =
        control.variables.iter().map(|variable| burst.actors[0].variables[variable.index()].name.as_str()).collect();
    assert_eq!(names, ["left"]);
    let select =
        network("a: action A:[c], B:[x] ==> Out:[x] guard c > 0 end b: action A:[c] ==> Out:[0] guard c = 0 end");
    assert!(matches!(classify(&select.actors[0]), Class::QuasiStatic { .. }));
}

#[test]
fn a_merge_is_time_dependent() {
    let body = "a: action A:[x] ==> Out:[x] end b: action B:[x] ==> Out:[x] end";
    assert_eq!(found(body), [time("a", "b", &[0])]);
    assert_eq!(found(&format!("{body} priority b > a; end")), [time("b", "a", &[1])]);
    let said = diagnostics(&network(body));
    assert_eq!(said.len(), 1);
    assert_eq!(said[0].slug, "time-dependent");
}

#[test]
fn states_keep_actions_apart() {
    let body = "a: action A:[x] ==> Out:[x] end b: action B:[x] ==> Out:[x] end
                schedule fsm s : s (a) --> t; t (b) --> s; end";
    assert_eq!(found(body), []);
}

#[test]
fn exclusive_guards_are_no_dependence() {
    for guards in [
        ("x > 3", "x <= 3"),
        ("x = 3", "x != 3"),
        ("n < 5", "n = 5"),
        ("n = LIMIT", "n < LIMIT"),
        ("(x & 1) = 0", "(x & 1) != 0"),
        ("flag", "not flag"),
        ("n < m", "n >= m"),
        ("m > n", "n = m"),
        ("n >= 1 and n != 1", "n <= 1"),
        ("n = 1 or n = 2", "n > 2 or n = 0"),
        ("not (n = 1 or flag)", "n = 1"),
        ("isBig(x)", "not isBig(x)"),
        ("t[2] = 0", "t[2] = 7"),
        ("n != 4, n != 5", "n >= 4, n <= 5"),
    ] {
        let body = format!(
            "int(size=8) n; int(size=8) m; bool flag; uint(size=8) t[4]; int LIMIT = 9;
             function isBig(uint(size=8) v) --> bool : v > 100 end
             a: action A:[x], B:[y] ==> Out:[x] guard {} do n := n + 1; m := y; flag := true; t[1] := x; end
             b: action A:[x] ==> Out:[x] guard {} end",
            guards.0, guards.1
        );
        assert_eq!(found(&body), [], "{guards:?}");
    }
}

#[test]
fn guards_that_may_hold_together_are_told() {
    for guards in [
        ("x > 3", "x < 5"),
        ("n != 1", "n != 2"),
        ("n <= m", "n >= m"),
        ("t[x & 3] = 0", "t[n & 3] = 7"),
        ("n = 1 or n = 2", "n > 1"),
        ("true", "n = 1"),
    ] {
        let body = format!(
            "int(size=8) n; int(size=8) m; uint(size=8) t[4];
             a: action A:[x], B:[y] ==> Out:[x] guard {} do n := n + 1; m := y; t[1] := x; end
             b: action A:[x] ==> Out:[x] guard {} end",
            guards.0, guards.1
        );
        assert_eq!(found(&body), [time("a", "b", &[1])], "{guards:?}");
    }
}

#[test]
fn the_same_token_has_other_names() {
    let body = "a: action A:[x, y], B:[z] ==> guard y = 1 end b: action A:[p, q] ==> guard q = 2 end";
    assert_eq!(found(body), []);
    let body = "a: action A:[x, y], B:[z] ==> guard y = 1 end b: action A:[p, q] ==> guard p = 2 end";
    assert_eq!(found(body), [time("a", "b", &[1])]);
}

#[test]
fn equal_tokens_overlap_unless_a_priority_relates() {
    let body = "a: action A:[x] ==> Out:[x] guard x > 3 end b: action A:[x] ==> Out:[0] end";
    assert_eq!(found(body), [overlap("a", "b")]);
    assert_eq!(found(&format!("{body} priority a > b; end")), []);
    assert_eq!(diagnostics(&network(body))[0].slug, "overlapping-actions");
}

#[test]
fn more_tokens_for_the_first_matter_and_fewer_do_not() {
    let body = "a: action A:[x, y] ==> Out:[x] end b: action A:[x] ==> Out:[x] end priority a > b; end";
    assert_eq!(found(body), [time("a", "b", &[0])]);
    let body = "a: action A:[x] ==> Out:[x] end b: action A:[x, y] ==> Out:[x] end priority a > b; end";
    assert_eq!(found(body), []);
}

#[test]
fn comparisons_of_reals_do_not_exclude() {
    let body =
        "float f; a: action A:[x], B:[y] ==> guard f < 1.0 do f := f + 1; end b: action A:[x] ==> guard f >= 1.0 end";
    assert_eq!(found(body), [time("a", "b", &[1])]);
}

#[test]
fn what_cannot_hold_in_a_state_is_no_dependence() {
    let reader = |second: &str| {
        format!(
            "int(size=8) left := 0;
             function done() --> bool : left <= 0 end
             action A:[x] ==> guard not done() do left := left - 1; end
             set: action B:[n] ==> guard done() do left := n; end
             ready: action ==> guard done() end
             next: action ==> Out:[1] {second} end
             schedule fsm s : s (set) --> t; t (ready) --> u; u (next) --> s; end"
        )
    };
    // Every way into `u` goes through `ready`, and nothing there sets `left`.
    assert_eq!(found(&reader("")), []);
    let setting =
        reader("").replace("ready: action ==> guard done() end", "ready: action ==> guard done() do left := 3; end");
    assert_eq!(found(&setting), [time("action@4", "next", &[0])]);
    let sooner = reader("").replace("u (next) --> s;", "u (next) --> s; t (next) --> s;");
    assert_eq!(found(&sooner), [time("action@4", "next", &[0]), overlap("ready", "next")]);
}

#[test]
fn bits_of_one_value_exclude_each_other() {
    let body = |a: &str, b: &str| {
        format!(
            "uint(size=8) code := 6; function low(uint(size=8) v) --> uint(size=2) : v & 3 end
             a: action A:[x], B:[y] ==> Out:[x] guard {a} do code := y; end
             b: action A:[x] ==> Out:[x] guard {b} end"
        )
    };
    for (a, b) in
        [("(code & 3) = 2", "(code & 1) = 1"), ("low(code) = 0", "(code & 1) != 0"), ("code = 6", "(code & 3) = 3")]
    {
        assert_eq!(found(&body(a, b)), [], "{a}, {b}");
    }
    for (a, b) in [("(code & 3) = 2", "(code & 4) = 4"), ("code = 6", "(code & 3) = 2")] {
        assert_eq!(found(&body(a, b)), [time("a", "b", &[1])], "{a}, {b}");
    }
}

#[test]
fn one_report_names_all_that_can_fire_instead() {
    let body = "a: action A:[x] ==> Out:[x] end b: action B:[x] ==> Out:[x] end c: action B:[x, y] ==> Out:[x] end
                d: action B:[x] repeat 3 ==> Out:[x[0]] end e: action B:[x] repeat 4 ==> Out:[x[0]] end
                priority a > b; a > c; a > d; a > e; e > d > c > b; end";
    let said = diagnostics(&network(body));
    let first = said.iter().filter(|diagnostic| diagnostic.notes == ["so can 1 other"]).count();
    assert_eq!((first, said.iter().filter(|diagnostic| diagnostic.slug == "time-dependent").count()), (1, 4));
}

#[test]
fn what_a_parameter_cannot_hold_is_told() {
    let body = "uint(size=64) wide; uint(size=64) small;
        function clz(uint(size=32) a) --> uint(size=8) : if a = 0 then 32 else 0 end end
        a: action A:[x] ==> Out:[clz(wide) + clz(small) + clz(wide >> 32) + clz(x)]
        do wide := wide + x; small := (x & 15); end";
    let said = headrace_analysis::narrowed::diagnostics(&network(body).actors[0]);
    let said: Vec<_> = said.iter().map(|problem| (problem.slug, problem.message.as_str())).collect();
    assert_eq!(said, [("narrowing-argument", "`wide` has more bits than the parameter `a` of `clz`")]);
}

#[test]
fn tokens_of_its_own_depend_on_no_time() {
    let source = "actor X() uint(size=8) A, uint(size=8) B ==> uint(size=8) Out :
        a: action A:[x] ==> Out:[x] end b: action B:[x] ==> end priority b > a; end end";
    let unrelated = "actor X() uint(size=8) A, uint(size=8) B ==> uint(size=8) Out :
        a: action A:[x] ==> Out:[x] end b: action B:[x] ==> end end";
    let looped = |source: &'static str, connections: &str| {
        let text =
            format!("network N() uint(size=8) In ==> uint(size=8) O : entities x = X(); structure {connections} end");
        let mut session = Session::new();
        let top = Top::Source(SourceText { display: "N.nl".into(), text, kind: SourceKind::Nl }, None);
        let network = elaborate(&mut session, &One(source), &top, &[]);
        network.unwrap_or_else(|| panic!("{:?}", session.take_diagnostics()))
    };
    let own = looped(source, "In --> x.A; x.Out --> x.B; x.Out --> O;");
    assert_eq!(diagnostics(&own), []);
    assert!(!matches!(classify_in(&own, 0), Class::Dynamic { reason: Reason::Time(_), .. }));
    let foreign = looped(source, "In --> x.B; x.Out --> x.A; x.Out --> O;");
    assert_eq!(diagnostics(&foreign)[0].slug, "time-dependent");
    // Which of two goes first when both can is a question of priorities all the same.
    let open = looped(unrelated, "In --> x.B; x.Out --> x.A; x.Out --> O;");
    assert_eq!(diagnostics(&open)[0].slug, "overlapping-actions");
    assert!(!matches!(classify_in(&open, 0), Class::Dynamic { reason: Reason::Time(_), .. }));
}

/// One actor to instantiate.
struct One(&'static str);

impl SourceProvider for One {
    fn find(&self, name: &str) -> Result<Option<SourceText>, String> {
        let text = SourceText { display: "X.cal".into(), text: self.0.into(), kind: SourceKind::Cal };
        Ok((name == "X").then_some(text))
    }

    fn similar(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn places(&self) -> Vec<String> {
        Vec::new()
    }
}

#[test]
fn functions_that_double_their_arguments_are_looked_into_in_bounds() {
    let nested = format!("{}x{}", "twice(".repeat(60), ")".repeat(60));
    let body = format!(
        "function twice(int(size=64) v) --> int(size=64) : v + v end
         a: action A:[x], B:[y] ==> Out:[y] guard {nested} = 0 end b: action A:[x] ==> Out:[x] guard {nested} != 0 end"
    );
    let began = std::time::Instant::now();
    found(&body);
    assert!(began.elapsed() < std::time::Duration::from_secs(5));
}

/// The interval of the first variable, without guards and with them.
fn intervals(body: &str) -> [(Option<i64>, Option<i64>); 2] {
    use headrace_analysis::ranges::Ranges;
    let network = network(body);
    let actor = &network.actors[0];
    [Ranges::of(actor), Ranges::with_guards(actor)].map(|ranges| {
        let interval = ranges.variable(0, actor.variables[0].ty.element);
        (interval.low.to_i64(), interval.high.to_i64())
    })
}

#[test]
fn guards_bound_what_actions_count() {
    let whole = (Some(0), Some(0xffff));
    let counter = "uint(size=16) n;
        up: action A:[_x] ==> guard n < 200 do n := n + 1; end
        down: action B:[_x] ==> guard n != 0, n <= 100 do n := n - 1; end";
    assert_eq!(intervals(counter), [whole, (Some(0), Some(200))]);
    // What has been assigned is no longer what the guard saw, nor is it in a loop or behind a call that assigns it.
    let twice = "uint(size=16) n;
        up: action A:[_x] ==> guard n < 200 do n := n + 1; n := n + 1; end";
    assert_eq!(intervals(twice), [whole, whole]);
    let in_loop = "uint(size=16) n;
        up: action A:[_x] ==> guard n < 200 do foreach int i in 1 .. 3 do n := n + 1; end end";
    assert_eq!(intervals(in_loop), [whole, whole]);
    let by_call = "uint(size=16) n;
        procedure more() begin n := n + 1; end
        up: action A:[_x] ==> guard n < 200 do more(); n := n + 1; end";
    assert_eq!(intervals(by_call), [whole, whole]);
    // The other side of a comparison, and a part of a condition.
    let mirrored = "uint(size=16) n := 7;
        up: action A:[x] ==> guard 20 > n and x > 3 do n := n + 4; end";
    assert_eq!(intervals(mirrored), [whole, (Some(7), Some(23))]);
}
