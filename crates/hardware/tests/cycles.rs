//! How many clock cycles networks take, and of what their designs are made: actors in CAL, lowered and simulated.

use headrace_frontend::{Session, SourceKind, SourceProvider, SourceText, Top, elaborate};
use headrace_hardware::{Datapath, Options, lower};
use headrace_ir::Network;
use headrace_rtl::simulate::Simulator;
use headrace_rtl::{Bits, Design, verify};
use std::collections::HashMap;

struct Texts(HashMap<String, SourceText>);

impl SourceProvider for Texts {
    fn find(&self, name: &str) -> Result<Option<SourceText>, String> {
        Ok(self.0.get(name).cloned())
    }

    fn similar(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn places(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The network `Top` of these texts, actors in CAL but for the one that begins with `network`.
fn network(texts: &[(&str, &str)]) -> Network {
    let text = |(name, text): &(&str, &str)| {
        let kind = if text.starts_with("network") { SourceKind::Nl } else { SourceKind::Cal };
        ((*name).to_owned(), SourceText { display: (*name).to_owned(), text: (*text).to_owned(), kind })
    };
    let texts = Texts(texts.iter().map(text).collect());
    let mut session = Session::new();
    let network = elaborate(&mut session, &texts, &Top::Name("Top".into()), &[]);
    network.unwrap_or_else(|| panic!("{:?}", session.take_diagnostics()))
}

fn design(network: &Network) -> Design {
    let design = lower(network, &Options { datapath: Datapath::Never, ..Options::default() })
        .expect("all of it has a place in hardware");
    assert_eq!(verify(&design), Vec::<String>::new());
    design
}

/// Gives an input one token after another and takes what comes out of `Out`, with no waiting: the tokens, and the cycle in which
/// the last of so many came.
fn run(design: &Design, inputs: &[(&str, u32, &[u64])], n: usize) -> (Vec<u64>, u64) {
    let mut simulator = Simulator::new(design).expect("it is right");
    let mut at = vec![0; inputs.len()];
    let mut out = Vec::new();
    assert!(simulator.set("Out_ready_i", Bits::new(1, 1u8)));
    while out.len() < n {
        assert!(simulator.cycles() < 100_000, "only {out:?}");
        for ((port, width, tokens), at) in inputs.iter().zip(&at) {
            let token = tokens.get(*at).copied();
            assert!(simulator.set(&format!("{port}_valid_i"), Bits::new(1, u8::from(token.is_some()))));
            assert!(simulator.set(&format!("{port}_data_i"), Bits::new(*width, token.unwrap_or(0))));
        }
        simulator.settle();
        let bit = |name: &str| simulator.get(name).is_some_and(|bit| !bit.is_zero());
        for ((port, ..), at) in inputs.iter().zip(&mut at) {
            if bit(&format!("{port}_valid_i")) && bit(&format!("{port}_ready_o")) {
                *at += 1;
            }
        }
        if bit("Out_valid_o") {
            out.push(simulator.get("Out_data_o").and_then(Bits::to_u64).expect("a small number"));
        }
        simulator.clock();
    }
    (out, simulator.cycles())
}

#[test]
fn what_needs_no_loop_fires_in_every_cycle() {
    let network = network(&[(
        "Top",
        "actor Top() uint(size=8) In ==> uint(size=8) Out:
            uint(size=8) sum := 3;
            action In:[x] ==> Out:[sum] guard x < 200 do sum := sum + x; end
            action In:[x] ==> Out:[x] guard x >= 200 end
        end",
    )]);
    let tokens: Vec<u64> = (0..100).map(|i| i * 5 % 256).collect();
    let (out, cycles) = run(&design(&network), &[("In", 8, &tokens)], 100);
    let mut sum = 3;
    let wanted = tokens.iter().map(|&x| {
        // What goes out is as it is after the body.
        sum = if x < 200 { (sum + x) % 256 } else { sum };
        if x < 200 { sum } else { x }
    });
    assert_eq!(out, wanted.collect::<Vec<_>>());
    // A token takes a cycle through each of the two FIFOs.
    assert_eq!(cycles, 100 + 2);
}

#[test]
fn an_iteration_of_a_loop_takes_a_cycle() {
    let network = network(&[(
        "Top",
        "actor Top() uint(size=8) In ==> uint(size=16) Out:
            action In:[x] ==> Out:[product]
            var uint(size=16) product := 0, uint(size=8) left := x
            do
                while left > 0 do
                    product := product + x;
                    left := left - 1;
                end
            end
        end",
    )]);
    let design = design(&network);
    let (out, ten) = run(&design, &[("In", 8, &[10])], 1);
    assert_eq!(out, [100]);
    let (out, thirty) = run(&design, &[("In", 8, &[30])], 1);
    assert_eq!(out, [900]);
    assert_eq!(thirty - ten, 20);
}

#[test]
fn lists_in_memories_and_in_registers_give_the_same() {
    let network = network(&[(
        "Top",
        "actor Top() uint(size=8) In ==> uint(size=8) Out:
            List(type:uint(size=8), size=8) kept := [1, 2, 3, 4, 5, 6, 7, 8];
            action In:[x] ==> Out:[kept[(x + 1) & 7] + kept[7]]
            do
                kept[x & 7] := kept[(x + 3) & 7] ^ x;
                foreach int i in 0 .. 6 do kept[i + 1] := kept[i + 1] + kept[i]; end
            end
        end",
    )]);
    let tokens: Vec<u64> = (0..20).map(|i| i * 37 % 256).collect();
    let (registers, fast) = run(&design(&network), &[("In", 8, &tokens)], 20);
    let options = Options { register_bits: 16, unrolled_iterations: 0, ..Options::default() };
    let in_memory = lower(&network, &options).expect("all of it has a place in hardware");
    assert_eq!(verify(&in_memory), Vec::<String>::new());
    assert!(in_memory.modules[0].memories.iter().any(|memory| memory.depth == 8));
    let (memory, slow) = run(&in_memory, &[("In", 8, &tokens)], 20);
    assert_eq!(registers, memory);
    assert!(fast < slow);
}

#[test]
fn rows_of_a_list_in_a_memory_are_read_and_written_at_once() {
    let network = network(&[(
        "Top",
        "actor Top() uint(size=8) In ==> uint(size=8) Out:
            List(type:List(type:uint(size=8), size=4), size=16) kept
                := [[16 * j + i : for int i in 0 .. 3] : for int j in 0 .. 15];
            action In:[x] ==> Out:[a[0] ^ a[3]]
            var List(type:uint(size=8), size=4) a, List(type:uint(size=8), size=4) b
            do
                a := kept[x & 15];
                foreach int i in 0 .. 3 do b[i] := a[3 - i] + x; end
                kept[(x + 5) & 15] := b;
            end
        end",
    )]);
    let tokens: Vec<u64> = (0..40).map(|i| i * 37 % 256).collect();
    let (registers, _) = run(&design(&network), &[("In", 8, &tokens)], 40);
    let options = Options { register_bits: 64, datapath: Datapath::Never, ..Options::default() };
    let in_memory = lower(&network, &options).expect("all of it has a place in hardware");
    assert_eq!(verify(&in_memory), Vec::<String>::new());
    assert!(in_memory.modules[0].memories.iter().any(|memory| (memory.width, memory.depth) == (32, 16)));
    let (memory, cycles) = run(&in_memory, &[("In", 8, &tokens)], 40);
    assert_eq!(registers, memory);
    // Sixteen to fill the memory; then a row takes two to be read and one to be written.
    assert!(cycles <= 16 + 4 * 40 + 4, "{cycles} cycles");
}

#[test]
fn bursts_between_actors_are_transferred_at_once_and_fifos_are_sized_by_a_schedule() {
    let actor = "actor Half() uint(size=8) In ==> uint(size=8) Out:
            action In:[x] repeat 4 ==> Out:[y] repeat 4
            var List(type:uint(size=8), size=4) y
            do
                foreach int i in 0 .. 3 do y[i] := x[3 - i] >> 1; end
            end
        end";
    let top = "network Top() uint(size=8) In ==> uint(size=8) Out :
        entities a = Half(); b = Half();
        structure In --> a.In; a.Out --> b.In; b.Out --> Out;
        end";
    let network = network(&[("Half", actor), ("Top", top)]);
    let design = design(&network);
    let names: Vec<&str> = design.modules.iter().map(|module| module.name.as_str()).collect();
    assert!(names.contains(&"headrace_fifo_32x2") && names.contains(&"headrace_fifo_8x4"), "{names:?}");
    let tokens: Vec<u64> = (0..32).map(|i| i * 8 % 256).collect();
    let (out, cycles) = run(&design, &[("In", 8, &tokens)], 32);
    assert_eq!(out, tokens.iter().map(|token| token / 4).collect::<Vec<_>>());
    assert!(cycles < 32 + 20, "{cycles} cycles");
}

#[test]
fn an_actor_knows_at_once_what_it_sent_to_itself() {
    // What comes back has priority: `go` may never overtake it.
    let actor = "actor Ring() uint(size=8) In, uint(size=8) Back ==> uint(size=8) Loop, uint(size=8) Out:
            back: action Back:[x, y] ==> Out:[x + y] end
            go: action In:[x] ==> Loop:[x, x + 1, x + 2, x + 3] end
            priority back > go; end
        end";
    let top = "network Top() uint(size=8) In ==> uint(size=8) Out :
        entities r = Ring();
        structure In --> r.In; r.Loop --> r.Back; r.Out --> Out;
        end";
    let design = design(&network(&[("Ring", actor), ("Top", top)]));
    let (out, _) = run(&design, &[("In", 8, &[10, 20, 30])], 6);
    assert_eq!(out, [21, 25, 41, 45, 61, 65]);
}

#[test]
fn what_has_no_place_is_refused_with_what_to_do() {
    let network = network(&[(
        "Top",
        "actor Top() uint(size=8) In ==> uint(size=8) Out:
            float sum := 0.0;
            action In:[x] ==> Out:[x] do sum := sum + 1.0; end
        end",
    )]);
    let problems = lower(&network, &Options::default()).expect_err("reals are refused");
    assert!(
        problems.iter().any(|problem| problem.message.contains("use integers as fixed-point numbers")),
        "{problems:?}"
    );
}

#[test]
fn lists_and_bursts_that_are_too_large_are_refused() {
    for (body, wanted) in [
        (
            "List(type:uint(size=4096), size=1048576) kept; action In:[x] ==> Out:[kept[x]] do kept[x] := x; end",
            "gigabit",
        ),
        ("action In:[x] repeat 1048576 ==> Out:[x[3]] end", "take 1048576 tokens"),
    ] {
        let text = format!("actor Top() uint(size=4096) In ==> uint(size=4096) Out: {body} end");
        let problems = lower(&network(&[("Top", &text)]), &Options::default()).expect_err("it is too large");
        assert!(problems.iter().any(|problem| problem.message.contains(wanted)), "{problems:?}");
    }
}

#[test]
fn a_large_burst_is_sent_from_its_memory_token_by_token() {
    let make = "actor Make() uint(size=8) In ==> uint(size=8) Out:
            action In:[x] ==> Out:[y] repeat 16384
            var List(type:uint(size=8), size=16384) y
            do y[x] := x; end
        end";
    let take = "actor Take() uint(size=8) In ==> uint(size=8) Out:
            action In:[x] repeat 8 ==> Out:[x[3]] end
        end";
    let top = "network Top() uint(size=8) In ==> uint(size=8) Out :
        entities m = Make(); t = Take();
        structure In --> m.In; m.Out --> t.In; t.Out --> Out;
        end";
    let design = design(&network(&[("Make", make), ("Take", take), ("Top", top)]));
    let widest = design.modules.iter().flat_map(|module| &module.signals).map(|signal| signal.width).max();
    assert!(widest.is_some_and(|bits| bits < 1024), "{widest:?}");
    let (out, _) = run(&design, &[("In", 8, &[11])], 2);
    assert_eq!(out, [0, 11]);
}

#[test]
fn no_actor_has_the_name_of_a_fifo_or_of_a_package() {
    for name in ["headrace_fifo_8x2", "Headrace_pkg"] {
        let text =
            format!("actor {name}() uint(size=8) In ==> uint(size=8) Out: action In:[x] ==> Out:[x + 1] end end");
        let top = format!(
            "network Top() uint(size=8) In ==> uint(size=8) Out : entities a = {name}(); structure In --> a.In; a.Out --> Out; end"
        );
        let design = design(&network(&[(name, &text), ("Top", &top)]));
        assert_eq!(run(&design, &[("In", 8, &[1, 2, 3])], 3).0, [2, 3, 4]);
    }
}

/// Messages of a side, a key and a value. The value is added to the key, and 1 or 100 to that, by what the sides have; what is on one side
/// waits for the other one.
fn two_sides(alternatives: bool) -> Network {
    let part =
        |name: &str| if alternatives { format!(" {{ string alternative = \"{name}\"; }}") } else { String::new() };
    let top = format!(
        "network Top() uint(size=8) In ==> uint(size=8) Out :
         entities
             router = Router();
             left = Side(MORE = 1){};
             right = Side(MORE = 100){};
             join = Join();
         structure
             In --> router.In;
             router.Left --> left.In;
             router.Right --> right.In;
             router.Order --> join.Order;
             left.Out --> join.Left;
             right.Out --> join.Right;
             join.Out --> Out;
             join.Done --> router.Done;
         end",
        part("left"),
        part("right")
    );
    network(&[
        ("Top", &top),
        (
            "Side",
            "network Side(int MORE = 0) uint(size=8) In ==> uint(size=8) Out :
             entities
                 work = Work();
                 add = Add(MORE = MORE);
             structure
                 In --> work.In;
                 work.Out --> add.In;
                 add.Out --> Out;
             end",
        ),
        (
            "Router",
            "actor Router() uint(size=8) In, bool Done ==> uint(size=8) Left, uint(size=8) Right, bool Order:
                 bool is_right;
                 uint(size=3) open;
                 left: action In:[side, key, x] ==> Left:[key, x], Order:[false]
                 guard side = 0, if is_right then open = 0 else open < 7 end
                 do is_right := false; open := open + 1; end
                 right: action In:[side, key, x] ==> Right:[key, x], Order:[true]
                 guard side != 0, if is_right then open < 7 else open = 0 end
                 do is_right := true; open := open + 1; end
                 done: action Done:[_d] ==> guard open > 0 do open := open - 1; end
                 priority done > left; done > right; end
             end",
        ),
        (
            "Work",
            "actor Work() uint(size=8) In ==> uint(size=8) Out:
                 List(type:uint(size=8), size=4) held;
                 start: action In:[key] ==> do foreach int i in 0 .. 3 do held[i] := key; end end
                 value: action In:[x] ==> Out:[held[1] + x] end
                 schedule fsm idle : idle (start) --> held_it; held_it (value) --> idle; end
             end",
        ),
        (
            "Add",
            "actor Add(int MORE = 0) uint(size=8) In ==> uint(size=8) Out: action In:[x] ==> Out:[x + MORE] end end",
        ),
        (
            "Join",
            "actor Join() bool Order, uint(size=8) Left, uint(size=8) Right ==> uint(size=8) Out, bool Done:
                 bool is_right;
                 order: action Order:[o] ==> do is_right := o; end
                 left: action Left:[x] ==> Out:[x], Done:[true] guard not is_right end
                 right: action Right:[x] ==> Out:[x], Done:[true] guard is_right end
                 schedule fsm idle : idle (order) --> there; there (left) --> idle; there (right) --> idle; end
             end",
        ),
    ])
}

#[test]
fn alternatives_have_once_what_both_need() {
    let sides = [0u64, 0, 1, 0, 1, 1, 1, 0, 0, 1];
    let tokens: Vec<u64> = sides.iter().zip(1..).flat_map(|(&side, n)| [side, 7 * n, 3 * n]).collect();
    let wanted: Vec<u64> =
        sides.iter().zip(1..).map(|(&side, n)| (10 * n + if side == 0 { 1 } else { 100 }) & 0xff).collect();
    for (alternatives, n_work) in [(false, 2), (true, 1)] {
        let design = design(&two_sides(alternatives));
        let top = design.modules.last().expect("is there");
        let count = |module: &str| top.instances.iter().filter(|instance| instance.module == module).count();
        assert_eq!(count("Work"), n_work, "what holds a list stands once");
        assert_eq!(count("Add") + count("Add_2"), 2, "what differs stands twice");
        assert_eq!(run(&design, &[("In", 8, &tokens)], wanted.len()).0, wanted);
    }
}
