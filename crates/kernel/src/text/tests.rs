//! Texts that are read and printed again, and texts that are refused.

use super::{block_text, loop_text, read, read_block, read_loop, text};
use crate::graph::{Graph, Op};
use crate::verify::{verify, verify_block, verify_loop};

/// A state that adds what comes in to what came before, and one that ends.
const SUM: &str = r#"automaton {
  object o0 "sum" 8 x 2 persistent variable 0 1 { 0x0 0x5 }
  object o1 "list \"of\" bytes" 8 x 4 local list {}
  values {
    table t0 "twice" 8 { 0x0 0x2 0x4 0x6 }
    v0:64 = const 0x0
    v1:8 = entry o0 v0
    v2:8 = input 0 0
    v3:8 = add v1 v2
    v4:2 = extract v3 6
    v5:8 = lookup t0 v4
    v6:8 = const 0xff
    v7:1 = eq v3 v6
    v8:8 = loaded 3
  }
  state 0 "idle" {
    fsm { 0 }
    fills { 0 16 }
    known o0 1 0x5
    loop 1 {
      values {
        v0:64 = const 0x0
        v1:8 = entry o0 v0
        v2:8 = input 0 0
        v3:8 = add v1 v2
      }
      consumes 1x8 produces 1x8
      output 0 0 v3
      carried o0 0 v3 true
      trips unless v0 0
      paths {
        values {
          v0:8 = const 0x1
        }
        path 1 once {
          trips above v0 0x0 0x1
          set o0 1 v0
        }
        last 1 often to 1 {
          step o0 1 0x3
        }
      }
    }
    wait {
      input 0 1 {
        branch {
          load 3 o1 v0
        }
        v7 {
          go {
            store o0 v0 v8
            while @0:1:2 {
            }
            v7 {
              output 0 0 v5
            }
          }
          consumes 1 produces 1 to 1
        }
        else {
          deoptimize
        }
      }
    }
  }
  state 1 "done" {
    fsm { 1 }
    fills { 0 0 }
    end
  }
  open "of a \"byte\" nobody knows"
  path 1 whole { 0 1 }
  message 0 1 { 0 1 }
  piece 1 1 { 1 }
}
"#;

#[test]
fn what_is_read_prints_as_it_was() {
    let automaton = read(SUM).expect("it is right");
    assert_eq!(text(&automaton), SUM);
    // The bound of its loop is no condition.
    assert_eq!(verify(&automaton), ["state 0, loop 0: a bound is no value of the loop, or does not come nearer"]);
}

#[test]
fn remarks_and_spaces_are_nothing() {
    let spread = SUM.replace(" {", "\n{ # a remark } \"\n").replace('\t', " ");
    assert_eq!(text(&read(&spread).expect("it is right")), SUM);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (right, wrong, expected) in [
        ("automaton {", "network {", "expected `automaton`, found `network`"),
        ("add v1 v2", "add v1 v9", "expected a value that stands before, found `v9`"),
        ("v4:2", "v4:0", "expected v4 and its bits, as in v4:8, found `v4:0`"),
        ("v4:2", "v5:2", "expected v4 and its bits, as in v4:8, found `v5:2`"),
        ("0x5 }", "5 }", "expected a number that begins with 0x, found `5`"),
        ("8 x 4 local", "8 x 99999999 local", "expected at most 16777216 elements, found `99999999`"),
        ("lookup t0", "lookup t1", "expected a table that stands before, found `t1`"),
        ("@0:1:2", "@0:1", "expected a place, as in @0:10:20, found `@0:1`"),
        ("state 1", "state 2", "expected state 1, found `2`"),
        (
            "piece 1 1 { 1 }\n}",
            "piece 1 1 { 1 }\n",
            "expected `state`, `open`, `path`, `message`, `piece` or `}`, found the end",
        ),
        ("\"done\"", "\"done", "expected the end of a string"),
    ] {
        let said = read(&SUM.replacen(right, wrong, 1)).map(|_| ()).expect_err(wrong).to_string();
        let (at, problem) = said.split_once(": ").expect("it has a line");
        assert_eq!(problem, expected, "{wrong}");
        let line = 1 + SUM.split(right).next().unwrap_or_default().matches('\n').count();
        let at: usize = at.trim_start_matches("line ").parse().expect("it has a line");
        assert!(at.abs_diff(line) <= 2, "{wrong}: {said}");
    }
    let deep =
        format!("automaton {{ values {{}} state 0 \"\" {{ fsm {{}} fills {{}} {}", "branch { if v0 { ".repeat(3_000));
    assert!(read(&deep).is_err());
}

#[test]
fn what_is_no_automaton_is_told() {
    let right = SUM.replace("trips unless v0 0", "trips above v3 0x0 0x1");
    assert_eq!(verify(&read(&right).expect("it is right")), Vec::<String>::new());
    for (right_part, wrong, expected) in [
        ("v3:8 = add v1 v2", "v3:16 = add v1 v2", "does not fit its operands"),
        ("to 1\n", "to 7\n", "leads to state 7, which is not there"),
        ("load 3 o1 v0", "load 4 o1 v0", "load 3 comes behind what needs it"),
        ("output 0 0 v5", "output 0 1 v5", "token 1 of port 0 is not among those produced"),
        (
            "persistent variable 0 1 { 0x0 0x5 }",
            "persistent variable 0 1 { 0x0 0x105 }",
            "does not begin with elements that fit",
        ),
        ("known o0 1 0x5", "known o0 2 0x5", "what is known of o0 is not inside"),
        ("consumes 1 produces 1 to", "consumes 1 1 produces 1 to", "waits for no tokens"),
        ("input 0 1 {", "input 0 0 {", "waits for no tokens of port 0, or twice"),
        ("fsm { 1 }", "fsm { 1 1 }", "other numbers of actors"),
        ("often to 1 {", "often to 9 {", "leads to a state that is not there"),
        ("path 1 whole { 0 1 }", "path 1 whole { 0 5 }", "lead through a state that is not there"),
        ("path 1 once {", "path 0 once {", "a path takes no iteration"),
    ] {
        let changed = right.replacen(right_part, wrong, 1);
        assert_ne!(changed, right, "{wrong}");
        let problems = verify(&read(&changed).unwrap_or_else(|problem| panic!("{wrong}: {problem}")));
        if wrong.starts_with("consumes 1 1") {
            // There is no other transition that it could differ from.
            assert_eq!(problems, Vec::<String>::new());
            continue;
        }
        assert!(problems.iter().any(|problem| problem.contains(expected)), "{wrong}: {problems:?}");
    }
}

/// A loop that adds bytes and counts, by itself.
const ADDS: &str = r#"loop {
  object o0 "sum" 8 x 1 persistent
  object o1 "number" 32 x 1 persistent
  values {
    v0:32 = const 0x0
    v1:8 = entry o0 v0
    v2:8 = input 0 0
    v3:8 = add v1 v2
    v4:32 = entry o1 v0
    v5:32 = const 0x1
    v6:32 = add v4 v5
  }
  consumes 1x8 produces 1x8
  output 0 0 v3
  carried o0 0 v3 true
  carried o1 0 v6 counter 0 0
  counter v4 0x1
}
"#;

/// Effects that add bytes, by themselves.
const ADDS_ONE: &str = r#"block {
  object o0 "sum" 8 x 4 persistent
  object o1 "kept" 8 x 2 local
  indexed 1 filled { 1 }
  values {
    v0:32 = const 0x0
    v1:8 = loaded 7
    v2:8 = input 0 0
    v3:8 = add v1 v2
  }
  effects {
    load 7 o0 v0
    store o1 v0 v3
    output 0 0 v3
  }
}
"#;

#[test]
fn loops_and_blocks_by_themselves_print_as_they_were() {
    let body = read_loop(ADDS).expect("it is right");
    assert_eq!((loop_text(&body).as_str(), verify_loop(&body)), (ADDS, Vec::new()));
    let block = read_block(ADDS_ONE).expect("it is right");
    assert_eq!((block_text(&block).as_str(), verify_block(&block)), (ADDS_ONE, Vec::new()));
}

#[test]
fn what_is_no_loop_or_block_is_told() {
    for (right, wrong, expected) in [
        ("produces 1x8", "produces 2x16", "token 0 of port 0 does not fit"),
        ("carried o1 0 v6 counter 0 0", "carried o0 0 v3 counter 0 0", "o0 0 does not fit, or is carried twice"),
        ("v3:8 = add v1 v2", "v3:8 = add v1 v0", "does not fit its operands"),
    ] {
        let said = verify_loop(&read_loop(&ADDS.replacen(right, wrong, 1)).expect("it can be read"));
        assert!(said.iter().any(|problem| problem.contains(expected)), "{wrong}: {said:?}");
    }
    for (right, wrong, expected) in [
        ("filled { 1 }", "filled { 2 }", "speaks of objects that are not there"),
        ("load 7 o0 v0", "load 6 o0 v0", "load 7 comes behind what needs it"),
    ] {
        let said = verify_block(&read_block(&ADDS_ONE.replacen(right, wrong, 1)).expect("it can be read"));
        assert!(said.iter().any(|problem| problem.contains(expected)), "{wrong}: {said:?}");
    }
    assert!(read_loop(&ADDS.replacen("loop {", "block {", 1)).is_err());
    assert!(read_loop(&format!("{ADDS} more")).is_err());
}

#[test]
fn what_has_one_value_only_is_that_constant_whenever_it_is_asked_for() {
    let mut graph = Graph::new();
    let (zero, count) = (graph.number(0, 1), graph.input(0, 0, 6));
    let first = graph.add(Op::ShiftRight(zero, count), 1);
    assert_eq!((first, graph.add(Op::ShiftRight(zero, count), 1)), (zero, zero));
}
