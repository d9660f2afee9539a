//! Meanings as graphs, beside the interpreter's.

use headrace_engine::{CollectingHost, Engine};
use headrace_instructions::{choice, description, descriptions, graph};
use headrace_interp::{Interpreter, Options};
use headrace_machines::{Machine, machines};
use headrace_transform::passes::linear::spaces::Spaces;
use headrace_transform::passes::select_instructions::meaning::Shape;

#[test]
fn graphs_mean_what_actors_do() {
    let mut without = Vec::new();
    for description in descriptions().expect("all are usable") {
        let start = std::time::Instant::now();
        let Some(meaning) = graph(&description).expect("it is taken") else {
            without.push(description.name.clone());
            continue;
        };
        println!(
            "{}: {:?}, {:?}",
            description.name,
            start.elapsed(),
            std::mem::discriminant(&Shape::of(&meaning, &mut Spaces::default()))
        );
        let mut engine = Interpreter::new(description.meaning.clone(), Options::default()).expect("it runs");
        let mut state = 0x1234_5678_9abc_def1u64;
        for _ in 0..50 {
            let mut operands = Vec::new();
            for (input, operand) in description.operands.iter().enumerate() {
                let mut value = 0u128;
                for _ in 0..16 {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    value = value << 8 | u128::from(state >> 56);
                }
                value &= u128::MAX >> (128 - operand.bits());
                operands.push(value);
                let bytes = operand.bits().div_ceil(8) as usize;
                assert_eq!(engine.write(input, &value.to_le_bytes()[..bytes]), operand.n_tokens as usize);
            }
            engine.run(None, &mut CollectingHost::default()).expect("no trap");
            let mut result = Vec::new();
            engine.read(0, &mut result);
            result.resize(16, 0);
            let expected = u128::from_le_bytes(result.try_into().expect("sixteen"));
            assert_eq!(meaning.evaluate(&operands), expected, "{} of {operands:x?}", description.name);
        }
    }
    // Elements of a register by index.
    assert_eq!(without, ["pshufb", "vpermb", "vpermi2b"]);
}

#[test]
fn all_together_are_made_fast_enough() {
    let start = std::time::Instant::now();
    let descriptions = descriptions().expect("all are usable");
    let read = start.elapsed();
    let choice = choice(&descriptions, |_| true).expect("all are taken");
    println!("read in {read:?}, made in {:?}", start.elapsed() - read);
    assert!(choice.names().any(|name| name == "aesenc"));
}

/// What cost models of machines say of an instruction is found by its name.
#[test]
fn instructions_with_costs_are_described() {
    let mut n_costs = 0;
    for machine in machines().all() {
        let Machine::CostModel(costs) = machine else { continue };
        for (name, cost) in &costs.instruction {
            n_costs += 1;
            let description = description(name).unwrap_or_else(|wrong| panic!("{}: {wrong}", costs.name));
            assert!(description.forms.iter().any(|form| form.bits == cost.bits), "{}: {name}", costs.name);
        }
    }
    assert!(n_costs > 0);
}
