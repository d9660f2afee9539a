use super::agreement::run;
use super::*;
use crate::kernel::evaluate::{World, run_loop};
use crate::kernel::{Graph, Object, Table};

const N: usize = 16;

/// Bytes that go from iteration to iteration: a substitution of a sum with tokens, moved, doubled ones added to it,
/// twice; what is written is also what goes on.
fn cipher(swapped: bool) -> Loop {
    let mut graph = Graph::new();
    let object = |name: &str| Object { name: name.into(), width: 8, length: N, persistent: true, residue: None };
    let entry = |graph: &mut Graph, object: u32, at: usize| {
        let index = graph.number(at as u128, 32);
        graph.entry(ObjectId(object), index, 8)
    };
    let substituted = |x: u128| (x * 167 + 41) % 256;
    let elements: Vec<u128> = (0..256).map(|x| substituted(x) ^ substituted(x) >> 3).collect();
    let table = graph.add_table(Table { name: "box".into(), width: 8, elements: elements.into() });
    let mut state: Vec<NodeId> = (0..N)
        .map(|i| {
            let (old, token) = (entry(&mut graph, 0, i), graph.input(0, i as i64, 8));
            graph.xor(old, token)
        })
        .collect();
    for _ in 0..2 {
        let looked: Vec<NodeId> = (0..N).map(|i| graph.lookup(table, state[(5 * i + 3) % N])).collect();
        for (i, byte) in state.iter_mut().enumerate() {
            let next = looked[(i + 1) % N];
            let (up, top) = (graph.shift_left_by(next, 1), graph.extract(next, 7, 1));
            let (reduced, zero) = (graph.number(0x1d, 8), graph.number(0, 8));
            let carried = graph.select(top, reduced, zero);
            let key = entry(&mut graph, 1, i);
            *byte = [up, carried, key].iter().fold(looked[i], |a, b| graph.xor(a, *b));
        }
    }
    if swapped {
        // A sum with carries of two bytes.
        state[0] = graph.sum(state[0], state[1]);
    }
    let carried =
        state.iter().enumerate().map(|(index, &next)| Carried { object: ObjectId(0), index, next, carry: Carry::True });
    Loop {
        objects: vec![object("state"), object("keys")],
        consumes: vec![(N as u64, 8)],
        produces: vec![(N as u64, 8)],
        outputs: state.iter().enumerate().map(|(at, &value)| (0, at as u64, value)).collect(),
        carried: carried.collect(),
        counters: Vec::new(),
        graph,
    }
}

#[test]
fn layers_say_what_the_loop_says() {
    let body = cipher(false);
    let found = byte_layers(&body).expect("layers");
    assert_eq!(found.tables.len(), 1);
    // The state, tokens, keys, their sum, and the two rounds.
    assert_eq!(found.layers.len(), 6);
    let world = World {
        inputs: vec![(0..5 * N as u128).map(|x| x * x % 251).collect()],
        consumed: vec![0],
        outputs: vec![Vec::new()],
        objects: vec![(0..N as u128).map(|x| x * 9).collect(), (0..N as u128).map(|x| x * 77 % 256).collect()],
    };
    let (mut meant, mut said) = (world.clone(), world);
    run_loop(&body, &mut meant, 5);
    (0..5).for_each(|_| run(&found, &body, &mut said).expect("places that are there"));
    assert_eq!(said.outputs, meant.outputs);
    assert_eq!(said.objects, meant.objects);
}

#[test]
fn rounds_that_do_the_same_have_the_same_permutations() {
    let found = byte_layers(&cipher(false)).expect("layers");
    let orders = |layer: &Layer| match layer {
        Layer::Sum { terms, .. } => terms.iter().map(|term| (term.map, term.orders.clone())).collect::<Vec<_>>(),
        _ => Vec::new(),
    };
    let [.., first, second] = found.layers.as_slice() else { panic!("no rounds") };
    assert_eq!(orders(first), orders(second));
}

#[test]
fn sums_with_carries_are_no_layers() {
    assert_eq!(byte_layers(&cipher(true)), None);
}

#[test]
fn maps_are_said_by_fewer() {
    let times =
        |factor: u8| IDENTITY.map(|x| (0..3).filter(|bit| factor >> bit & 1 == 1).fold(0, |sum, bit| sum ^ x << bit));
    let order = |at: u8| BTreeSet::from([vec![Some(at)]]);
    let mut maps = BTreeMap::from([(IDENTITY, order(0)), (times(2), order(1)), (times(3), order(2))]);
    fewer_maps(&mut maps);
    assert_eq!(maps.len(), 2);
    let sum = |lane: u8| {
        let of = |(map, orders): (&Linear, &BTreeSet<Order>)| {
            orders.iter().filter(|order| order[0] == Some(lane)).fold(0, |sum, _| sum ^ apply(map, 0x15))
        };
        maps.iter().map(of).fold(0, |a, b| a ^ b)
    };
    assert_eq!([sum(0), sum(1), sum(2)], [0x15, 0x2a, 0x3f]);
}
