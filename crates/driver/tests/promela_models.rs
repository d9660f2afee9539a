//! Models that `headrace build --target promela` makes, checked by Spin; what it finds is run on the interpreter.

#[path = "../../frontend/tests/support/folders.rs"]
mod folders;
#[allow(dead_code, reason = "programs for targets that print code")]
mod projects;

use folders::Folders;
use headrace_engine::{CollectingHost, Engine, Outcome};
use headrace_frontend::{Session, Top, elaborate};
use headrace_interp::{Interpreter, Options, Order};
use projects::Folder;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether Spin is there; says so where it is not.
fn is_here() -> bool {
    let found = Command::new("spin").arg("-V").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("not run: no spin");
    }
    found
}

/// What is said of one model, and whether it is free of what is asked for.
fn check(project: &Path, what: &str, model: &str, switches: &[&str]) -> (bool, String) {
    let mut command = Command::new("sh");
    // The checker of a small model runs for less time than it is compiled.
    command.arg("check.sh").args([what, model]).args(switches).env("CFLAGS", "-O0 -w").current_dir(project);
    let output = command.output().expect("a shell starts");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(matches!(output.status.code(), Some(0 | 1)), "{what} of {model}:\n{said}");
    (output.status.code() == Some(0), said)
}

/// The folder below which a project was made.
fn sources(project: &Path) -> &Path {
    project.ancestors().nth(2).expect("projects are in a folder of their own")
}

/// What `headrace analyze --firings` says of what was found, and its exit status.
fn replayed(project: &Path, network: &str, model: &str, more: &[&str]) -> (Option<i32>, String) {
    let firings = project.join(format!("build/{model}-deadlock.firings"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_headrace"));
    command.args(["analyze", network, "--firings"]).arg(firings).args(more).current_dir(sources(project));
    let output = command.output().expect("the command starts");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code(), said)
}

/// Four tokens go to the left, then four to the right, and are joined in pairs.
fn write_deal(folder: &Folder) {
    folder.write(
        "Deal.cal",
        "actor Deal() uint(size=8) In ==> uint(size=8) Left, uint(size=8) Right:
            uint(size=8) n := 0;
            left: action In:[x] ==> Left:[x] guard n < 4 do n := n + 1; end
            right: action In:[x] ==> Right:[x] guard n >= 4 do n := if n = 7 then 0 else n + 1 end; end
        end",
    );
    folder.write(
        "Join.cal",
        "actor Join() uint(size=8) Left, uint(size=8) Right ==> uint(size=8) Out:
            both: action Left:[a], Right:[b] ==> Out:[a, b] end
        end",
    );
    folder.write(
        "Dealt.nl",
        "network Dealt() uint(size=8) In ==> uint(size=8) Out:
        entities
            deal = Deal();
            join = Join();
        structure
            In --> deal.In;
            deal.Left --> join.Left;
            deal.Right --> join.Right;
            join.Out --> Out;
        end",
    );
}

#[test]
fn a_deadlock_is_found_and_is_one_of_the_network_and_larger_fifos_have_none() {
    if !is_here() {
        return;
    }
    let folder = Folder::new();
    write_deal(&folder);
    let project = folder.build("promela", &["Dealt.nl", "--fifo", "3"]);
    let (free, said) = check(&project, "deadlock", "Dealt", &[]);
    assert!(!free, "{said}");
    for line in
        ["left deal.Left --> join.Left: 3 of 3", "room deal.left", "wait join.both Right 0 of 1", "undelivered In"]
    {
        assert!(said.contains(line), "{line} in:\n{said}");
    }
    let (free, _) = check(&project, "deadlock", "Dealt", &["-DEVERY_ORDER"]);
    assert!(!free);
    let (status, said) = replayed(&project, "Dealt.nl", "Dealt", &["--fifo", "3"]);
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("confirmed") && said.contains("deal.left waits for room"), "{said}");
    assert!(said.contains("the same as in the model"), "{said}");
    // The same steps do not stop a network with more room.
    let (status, said) = replayed(&project, "Dealt.nl", "Dealt", &["--fifo", "64"]);
    assert_eq!(status, Some(0), "{said}");

    let project = folder.build("promela", &["Dealt.nl", "--fifo", "4"]);
    for switches in [&[][..], &["-DEVERY_ORDER"]] {
        let (free, said) = check(&project, "deadlock", "Dealt", switches);
        assert!(free, "{said}");
    }
    // Eight tokens fit where writers do not wait, the ninth does not.
    let (free, said) = check(&project, "overflow", "Dealt", &["-DTOKENS=8"]);
    assert!(free, "{said}");
    for switches in [&["-DTOKENS=9"][..], &["-DTOKENS=9", "-DEVERY_ORDER"]] {
        let (free, said) = check(&project, "overflow", "Dealt", switches);
        assert!(!free && said.contains("n_join_Left"), "{said}");
    }
}

/// Actors of which both actions may have a guard that does not hold: whoever takes the guards for opposites of each other, or
/// for true, misses that.
#[test]
fn guards_that_do_not_hold_together_stop_a_model_too() {
    if !is_here() {
        return;
    }
    let folder = Folder::new();
    for (name, actor) in [
        // The range of `z` says nothing about the sum.
        (
            "Sum",
            "actor Sum() uint(size=8) A, uint(size=8) B ==> uint(size=8) Out:
                uint(size=8) z := 255;
                action A:[x], B:[y] ==> Out:[1] guard x + y <= z do z := 255; end
            end",
        ),
        // A variable and a port have one name and are two.
        (
            "Alike",
            "actor Alike() uint(size=8) In ==> uint(size=8) Out:
                uint(size=8) In := 9;
                a: action In:[x] ==> Out:[1] guard In > 3 do In := x; end
                b: action In:[x] ==> Out:[2] guard x <= 3 do In := x; end
            end",
        ),
        // What is no number is neither.
        (
            "Neither",
            "actor Neither() float In ==> uint(size=8) Out:
                less: action In:[x] ==> Out:[1] guard x < 1.0 end
                more: action In:[x] ==> Out:[2] guard x >= 1.0 end
            end",
        ),
    ] {
        folder.write(&format!("{name}.cal"), actor);
        let project = folder.build("promela", &[&format!("{name}.cal"), "--fifo", "2"]);
        let (free, said) = check(&project, "deadlock", name, &[]);
        assert!(!free, "{name}: {said}");
    }
}

#[test]
fn a_source_without_end_has_a_model() {
    let folder = Folder::new();
    folder.write("Tick.cal", "actor Tick() ==> uint(size=8) Out: action ==> Out:[1] end end");
    folder.build("promela", &["Tick.cal"]);
}

#[test]
fn choices_by_priority_and_data_and_circles_are_modelled() {
    if !is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write(
        "Sieve.cal",
        "actor Sieve() uint(size=8) In ==> uint(size=8) Large, uint(size=8) Small, bool IsLarge:
            large: action In:[x] ==> Large:[x], IsLarge:[true] guard x >= 100 end
            small: action In:[x] ==> Small:[x], IsLarge:[false] end
            priority large > small; end
        end",
    );
    folder.write(
        "Merge.cal",
        "actor Merge() uint(size=8) Large, uint(size=8) Small, bool IsLarge ==> uint(size=8) Out:
            first: action IsLarge:[l] ==> guard l end
            large: action Large:[x] ==> Out:[x] end
            small: action IsLarge:[l], Small:[x] ==> Out:[x] guard not l end
            schedule fsm ready:
                ready (first) --> taking;
                taking (large) --> ready;
                ready (small) --> ready;
            end
        end",
    );
    folder.write(
        "Sorted.nl",
        "network Sorted() uint(size=8) In ==> uint(size=8) Out:
        entities
            sieve = Sieve();
            merge = Merge();
        structure
            In --> sieve.In;
            sieve.Large --> merge.Large;
            sieve.Small --> merge.Small;
            sieve.IsLarge --> merge.IsLarge;
            merge.Out --> Out;
        end",
    );
    let project = folder.build("promela", &["Sorted.nl", "--fifo", "2"]);
    for switches in [&[][..], &["-DEVERY_ORDER"]] {
        let (free, said) = check(&project, "deadlock", "Sorted", switches);
        assert!(free, "{said}");
    }

    // Each large one is joined with one of all, so small ones come to fill the FIFO. Which come is a choice.
    folder.write(
        "Joined.nl",
        "network Joined() uint(size=8) In ==> uint(size=8) Out, uint(size=8) Small:
        entities
            sieve = Sieve();
            join = Join();
        structure
            In --> sieve.In;
            In --> join.Right;
            sieve.Large --> join.Left;
            sieve.Small --> Small;
            join.Out --> Out;
        end",
    );
    write_deal(&folder);
    let project = folder.build("promela", &["Joined.nl", "--fifo", "3"]);
    let (free, said) = check(&project, "deadlock", "Joined", &[]);
    assert!(!free && said.contains("left In --> join.Right: 3 of 3"), "{said}");
    let (status, said) = replayed(&project, "Joined.nl", "Joined", &["--fifo", "3"]);
    assert_eq!(status, Some(3), "{said}");

    // What comes first decides, and that depends on the order of firings: another one than the usual.
    folder.write(
        "First.cal",
        "actor First() bool A, bool B ==> bool Out:
            a: action A:[x] ==> Out:[x] end
            b: action B:[x] ==> end
            both: action A:[x], B:[y] ==> Out:[x or y] end
            schedule fsm ready: ready (a) --> going; ready (b) --> ended; going (both) --> going; end
            priority a > b; end
        end",
    );
    folder.write("Echo.cal", "actor Echo() bool In ==> bool Out: back: action In:[x] ==> Out:[x] end end");
    folder.write(
        "Race.nl",
        "network Race() bool FREE, bool In ==> bool Out:
        entities
            linux = Echo();
            register = First();
        structure
            FREE --> linux.In;
            linux.Out --> register.A;
            In --> register.B;
            register.Out --> Out;
        end",
    );
    let project = folder.build("promela", &["Race.nl", "--fifo", "2"]);
    let (free, said) = check(&project, "deadlock", "Race", &[]);
    assert!(!free && said.contains("undelivered FREE"), "{said}");
    let (status, said) = replayed(&project, "Race.nl", "Race", &["--fifo", "2"]);
    assert_eq!(status, Some(3), "{said}");

    // Each waits for the other: nothing ever comes in, and nothing is left over.
    folder.write(
        "Circle.nl",
        "network Circle() ==>:
        entities
            a = Echo();
            b = Echo();
        structure
            a.Out --> b.In;
            b.Out --> a.In;
        end",
    );
    let project = folder.build("promela", &["Circle.nl"]);
    let (free, said) = check(&project, "deadlock", "Circle", &[]);
    assert!(!free && said.contains("cycle a") && said.contains("wait b.back In 0 of 1"), "{said}");
    let (status, said) = replayed(&project, "Circle.nl", "Circle", &[]);
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("in a cycle wait for tokens: a, b"), "{said}");
}

#[test]
fn an_aes_network_is_free_of_deadlock() {
    if !is_here() {
        return;
    }
    let folder = Folder::new();
    let sized = ["aes128", "--operation", "ctr", "--fifo", "16"];
    let project = folder.build("promela", &sized);
    let (free, said) = check(&project, "deadlock", "ctr", &[]);
    assert!(free, "{said}");
}

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// An actor with two inputs and two outputs whose phases move a few tokens each; with `choice` one of them depends on what comes
/// in.
fn random_actor(rng: &mut Rng, name: &str, choice: bool) -> String {
    let n = 1 + rng.below(3);
    let (mut actions, mut fsm) = (String::new(), String::new());
    for phase in 0..n {
        let mut moves = |letter: &str, ports: [&'static str; 2]| {
            let mut said = Vec::new();
            for (at, port) in ports.into_iter().enumerate() {
                let tokens: Vec<String> = (0..rng.below(3)).map(|k| format!("{letter}{at}{k}")).collect();
                if !tokens.is_empty() {
                    said.push((port, tokens));
                }
            }
            said
        };
        let mut inputs = moves("x", ["A", "B"]);
        if inputs.is_empty() {
            inputs.push(("A", vec!["x00".into()]));
        }
        let outputs = moves("y", ["P", "Q"]);
        let seen = inputs[0].1[0].clone();
        let pattern =
            inputs.iter().map(|(port, names)| format!("{port}:[{}]", names.join(", "))).collect::<Vec<_>>().join(", ");
        let product = |less: usize| {
            let one = |(port, names): &(&str, Vec<String>)| {
                let n = names.len().saturating_sub(less);
                (n > 0).then(|| format!("{port}:[{}]", vec![format!("{seen} + 1"); n].join(", ")))
            };
            outputs.iter().filter_map(one).collect::<Vec<_>>().join(", ")
        };
        if choice && phase == 0 {
            let _ = writeln!(actions, "odd{phase}: action {pattern} ==> {} guard ({seen} & 1) = 1 end", product(1));
            let _ = writeln!(actions, "even{phase}: action {pattern} ==> {} guard ({seen} & 1) = 0 end", product(0));
            let _ = writeln!(fsm, "s{phase} (odd{phase}, even{phase}) --> s{};", (phase + 1) % n);
        } else {
            let _ = writeln!(actions, "go{phase}: action {pattern} ==> {} end", product(0));
            let _ = writeln!(fsm, "s{phase} (go{phase}) --> s{};", (phase + 1) % n);
        }
    }
    let ports = "uint(size=4) A, uint(size=4) B ==> uint(size=4) P, uint(size=4) Q";
    format!("actor {name}() {ports}:\n initialize ==> P:[1] end\n{actions}schedule fsm s0:\n{fsm}end\nend\n")
}

/// Two or three actors with connections at random: what comes before, what comes in, or now and then any of them.
fn random_network(rng: &mut Rng, folder: &Folder, name: &str, choice: bool) {
    let n = 2 + rng.below(2);
    let (mut entities, mut structure) = (String::new(), String::new());
    let outputs: Vec<String> = (0..n).flat_map(|at| [format!("a{at}.P"), format!("a{at}.Q")]).collect();
    let mut n_inputs = 0;
    for at in 0..n {
        let class = format!("{name}Actor{at}");
        folder.write(&format!("{class}.cal"), &random_actor(rng, &class, choice && at == 0));
        let _ = writeln!(entities, "a{at} = {class}();");
        for port in ["A", "B"] {
            let writer = match rng.below(8) {
                0 => outputs[rng.below(outputs.len() as u64) as usize].clone(),
                1 | 2 if at > 0 => outputs[rng.below(2 * at) as usize].clone(),
                _ if port == "A" && at > 0 => format!("a{}.P", at - 1),
                _ => {
                    n_inputs += 1;
                    format!("In{n_inputs}")
                }
            };
            let _ = writeln!(structure, "{writer} --> a{at}.{port};");
        }
    }
    let _ = writeln!(structure, "a{}.P --> Out;", n - 1);
    let inputs: Vec<String> = (1..=n_inputs).map(|at| format!("uint(size=4) In{at}")).collect();
    folder.write(
        &format!("{name}.nl"),
        &format!(
            "network {name}() {} ==> uint(size=4) Out:\nentities\n{entities}structure\n{structure}end\n",
            inputs.join(", ")
        ),
    );
}

/// Tokens of each input that a run does not end with, if it ever comes to rest.
const TOKENS: usize = 1500;

/// Whether the network, fed with arbitrary tokens, comes to a stop at which every input that is read finds no room.
fn stops(folder: &Path, name: &str, fifo_tokens: u32, order: Order, seed: u64) -> bool {
    let mut session = Session::new();
    let folders = Folders(vec![PathBuf::from(folder)]);
    let network = elaborate(&mut session, &folders, &Top::Name(name.into()), &[]).expect("it elaborates");
    let mut rng = Rng(seed);
    let n_inputs = network.inputs.len();
    let options = Options { fifo_tokens, order, ..Options::default() };
    let read: Vec<bool> = (0..n_inputs)
        .map(|port| network.connections.iter().any(|it| it.source == headrace_ir::Endpoint::Boundary(port)))
        .collect();
    let mut engine = Interpreter::new(network, options).expect("it runs");
    let mut left: Vec<Vec<u8>> = (0..n_inputs).map(|_| (0..TOKENS).map(|_| rng.below(16) as u8).collect()).collect();
    let mut host = CollectingHost::default();
    let mut fired = 0;
    loop {
        let mut moved = 0;
        for (at, tokens) in left.iter_mut().enumerate().filter(|(at, _)| read[*at]) {
            let n = engine.write(at, tokens);
            tokens.drain(..n);
            moved += n;
        }
        // A ring of actors that need nothing from outside goes on for ever.
        if engine.run(Some(20_000), &mut host) != Ok(Outcome::Idle) {
            return false;
        }
        engine.read(0, &mut Vec::new());
        let now: u64 = engine.firings().iter().flatten().sum();
        if moved == 0 && now == fired {
            break;
        }
        fired = now;
    }
    left.iter().zip(&read).all(|(tokens, read)| !read || !tokens.is_empty())
}

#[test]
fn random_networks_stop_only_where_their_models_do() {
    if !is_here() {
        return;
    }
    let folder = Folder::new();
    let mut rng = Rng(5);
    let (mut n_free, mut n_stopped) = (0, 0);
    // HEADRACE_MODELS=100 tries more of them.
    let wanted = std::env::var("HEADRACE_MODELS").ok().and_then(|n| n.parse().ok()).unwrap_or(6);
    for at in 0..wanted {
        let choice = at % 3 == 2;
        let name = format!("Random{at}");
        random_network(&mut rng, &folder, &name, choice);
        let project = folder.build("promela", &[&format!("{name}.nl"), "--fifo", "4"]);
        let (free, said) = check(&project, "deadlock", &name, &[]);
        let orders = [Order::RoundRobin, Order::DemandDriven, Order::Random(1), Order::Random(2)];
        let stopped = (0..3).any(|seed| orders.iter().any(|&order| stops(sources(&project), &name, 4, order, seed)));
        assert!(!(free && stopped), "the model of {name} is free of deadlock, the network stops:\n{said}");
        if !choice {
            assert_eq!(!free, stopped, "{name}, without choices by data:\n{said}");
        }
        if at < 2 || wanted > 6 {
            let (every, said) = check(&project, "deadlock", &name, &["-DEVERY_ORDER"]);
            assert_eq!(free, every, "{name}, in every order:\n{said}");
        }
        n_free += u32::from(free);
        n_stopped += u32::from(stopped);
    }
    eprintln!("{n_free} of {wanted} are free, {n_stopped} stopped");
    assert!(n_free > 0 && n_stopped > 0, "{n_free} free, {n_stopped} stopped");
}
