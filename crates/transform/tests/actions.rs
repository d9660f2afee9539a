//! Transitions of single actions do what firings do, for any values of variables and tokens.

use folders::Folders;
use headrace_frontend::{Session, Top, elaborate};
use headrace_ir::{ActionId, Actor};
use headrace_transform::control::{ActionTransition, transition_of_action};
use headrace_transform::kernel::Effect;
use headrace_transform::kernel::evaluate::{World, run};
use std::path::Path;

#[path = "../../frontend/tests/support/folders.rs"]
mod folders;

fn sums() -> Actor {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut session = Session::new();
    let roots = Folders(vec![root.join("tests"), root.join("../..")]);
    let network = elaborate(&mut session, &roots, &Top::Expression("networks.Sums".into()), &[]);
    network.unwrap_or_else(|| panic!("{:?}", session.take_diagnostics())).actors.remove(0)
}

fn of(actor: &Actor, name: &str) -> Result<ActionTransition, String> {
    let at = actor.actions.iter().position(|action| action.name == name).expect("it is there");
    transition_of_action(actor, ActionId(at as u32)).map_err(|why| why.reason)
}

/// Elements of the objects of a transition, given those of variables by name.
fn world(actor: &Actor, found: &ActionTransition, inputs: Vec<Vec<u128>>, held: &[(&str, &[u128])]) -> World {
    let elements = |(at, object): (usize, &headrace_transform::kernel::Object)| {
        let name = found.variables[at].map(|variable| actor.variables[variable.index()].name.as_str());
        let known = held.iter().find(|(held, _)| Some(*held) == name);
        known.map_or_else(|| vec![0; object.length], |(_, elements)| elements.to_vec())
    };
    let objects = found.objects.iter().enumerate().map(elements).collect();
    World { inputs, objects, outputs: vec![Vec::new(); found.transition.produces.len()], ..World::default() }
}

fn held(actor: &Actor, found: &ActionTransition, world: &World, name: &str) -> Vec<u128> {
    let is_it = |variable: &Option<headrace_ir::VariableId>| {
        variable.is_some_and(|variable| actor.variables[variable.index()].name == name)
    };
    let at = found.variables.iter().position(is_it).expect("it is an object");
    world.objects[at].clone()
}

/// Runs a transition once; gives whether its guard held.
fn fire(found: &ActionTransition, world: &mut World) -> Option<bool> {
    let mut effects = found.transition.effects.clone();
    if let Some(value) = found.guard {
        effects.push(Effect::Output { port: world.outputs.len() as u32, offset: 0, value });
        world.outputs.push(Vec::new());
    }
    world.consumed = vec![0; world.inputs.len()];
    assert!(run(&found.graph, &effects, world, &mut 10_000));
    found.guard.map(|_| world.outputs.pop().is_some_and(|tokens| tokens == [1]))
}

#[test]
fn an_action_with_a_guard_is_a_transition_and_a_bit() {
    let actor = sums();
    let found = of(&actor, "add").unwrap_or_else(|why| panic!("{why}"));
    assert_eq!((&found.transition.consumes[..], &found.transition.produces[..]), (&[1, 0][..], &[0][..]));
    for (sum, x, at, holds) in
        [(9_u128, 8_u128, 2_usize, true), (9, 9, 3, false), (200, 3, 1, false), (255, 200, 0, true)]
    {
        let inputs = vec![vec![x], Vec::new()];
        let before = [("sum", &[sum][..]), ("last", &[7, 6, 5, 4]), ("at", &[at as u128])];
        let mut world = world(&actor, &found, inputs, &before);
        assert_eq!(fire(&found, &mut world), Some(holds), "{x} < {sum}");
        let mut last = vec![7, 6, 5, 4];
        last[at] = x;
        assert_eq!(held(&actor, &found, &world, "sum"), [(sum + x) & 0xff]);
        assert_eq!(held(&actor, &found, &world, "last"), last);
        assert_eq!(held(&actor, &found, &world, "at"), [(at as u128 + 1) & 3]);
    }
}

#[test]
fn what_variables_hold_first_is_not_known_and_no_store_is_dead() {
    let actor = sums();
    let found = of(&actor, "show").unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(found.guard, None);
    let mut world = world(&actor, &found, vec![Vec::new(); 2], &[("sum", &[77]), ("last", &[9, 0, 0, 0])]);
    fire(&found, &mut world);
    assert_eq!(world.outputs, [vec![77, 9]]);
    assert_eq!(held(&actor, &found, &world, "sum"), [0]);
}

#[test]
fn loops_as_long_as_data_say_are_effects_or_refused() {
    let actor = sums();
    let Ok(found) = of(&actor, "bounded") else { return };
    let mut world = world(&actor, &found, vec![Vec::new(), vec![37]], &[("sum", &[1])]);
    fire(&found, &mut world);
    assert_eq!(held(&actor, &found, &world, "sum"), [37]);
}
