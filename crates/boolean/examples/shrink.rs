//! Walks from circuits for one known function to smaller ones and prints each that is better than all before:
//! `cargo run --release --example shrink -- NAME two|three SECONDS [SEED] [FILE]`. The walk begins with what is known, with what
//! arithmetic in composite fields and synthesis give, or with the circuit in the file.

use headrace_boolean::basis::Basis;
use headrace_boolean::circuit::{Circuit, lookup_tables::cover, text};
use headrace_boolean::known::{self, Gates};
use headrace_boolean::synthesis::recursive_selection::{Selection, select};
use headrace_boolean::synthesis::resubstitution::{Walk, shrink};
use headrace_boolean::{composite_field, synthesis};
use std::time::{Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, basis, seconds, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: shrink NAME two|three SECONDS [SEED] [FILE]");
        return;
    };
    let Some(known) = known::all().iter().find(|k| k.name == name) else {
        eprintln!("there is no function {name}");
        return;
    };
    let wide = basis == "three";
    let basis = if wide { Basis::THREE_INPUT } else { Basis::TWO_INPUT };
    let limit = Duration::from_secs(seconds.parse().unwrap_or(10));
    let mut seed: u64 = rest.first().and_then(|s| s.parse().ok()).unwrap_or(1);
    let mut starts: Vec<Circuit> = Vec::new();
    match rest.get(1).map(|path| std::fs::read_to_string(path).map(|t| text::read(&t))) {
        Some(Ok(Ok(c))) => starts.push(cover(&c, &basis, 50)),
        Some(problem) => eprintln!("the file is no circuit: {problem:?}"),
        None => {
            let fits = known.circuits.iter().filter(|c| wide || c.gates == Gates::TwoInput);
            starts.extend(fits.map(|c| cover(&c.circuit, &basis, 50)));
            let search = composite_field::Search { n_builds: 1200, n_kept: 24, work: 500_000 };
            starts.extend(composite_field::circuits(&known.table, search).iter().map(|c| cover(c, &basis, 50)));
            if known.table.n_inputs() <= 6 {
                starts.push(synthesis::synthesise(&known.table, &basis, 2000));
            }
        }
    }
    let begin = Instant::now();
    let Some(mut best) = starts.iter().min_by_key(|c| basis.cost(c)).cloned() else { return };
    eprintln!("{name}: begins with {}", basis.cost(&best));
    println!("# {name} {}\n{}", basis.cost(&best), text::write(&best));
    let mut pool = starts;
    while begin.elapsed() < limit {
        seed += 1;
        let slot = (seed % pool.len() as u64) as usize;
        let slack = (seed / 7 % 3) as usize;
        let c = shrink(&pool[slot], &basis, Walk { steps: 2000, seed, slack });
        assert_eq!(c.prove(&known.table), Ok(()));
        if basis.cost(&c) <= basis.cost(&pool[slot]) {
            pool[slot] = c.clone();
        }
        if basis.cost(&c) < basis.cost(&best) {
            best = c;
            eprintln!("{name}: {} after {:?}", basis.cost(&best), begin.elapsed());
            println!("# {name} {}\n{}", basis.cost(&best), text::write(&best));
        }
        // A new one comes in from time to time, and the worst is given up.
        if seed.is_multiple_of(64) && known.table.n_inputs() <= 6 {
            let options = Selection { n_branches: 2, n_pairs: 40, seed };
            let c = select(&known.table, &basis, options);
            pool.push(shrink(&c, &basis, Walk { steps: 20_000, seed, slack: 1 }));
        }
        if seed.is_multiple_of(64)
            && pool.len() > 3
            && let Some(i) = (0..pool.len()).max_by_key(|i| basis.cost(&pool[*i]))
        {
            pool.swap_remove(i);
        }
    }
}
