//! Rounds of a block cipher, however written, become the instructions that compute them.

mod blocks;

use blocks::*;
use headrace_transform::kernel::{Graph, NodeId, Op};
use headrace_transform::passes::select_instructions::{Choice, Selection, check, select};

fn selected(graph: &Graph, roots: &[NodeId]) -> Selection {
    let choice = Choice::new(meanings(), |_| true);
    let start = std::time::Instant::now();
    let selection = select(graph, roots, &[], &choice).expect("the round is there");
    println!("{} nodes in {:?}", graph.len(), start.elapsed());
    assert!(check((graph, roots), (&selection.graph, &selection.roots), &choice, 20));
    selection
}

fn counts(selection: &Selection) -> Vec<(&str, usize)> {
    selection.instructions.iter().map(|(name, count)| (name.as_str(), *count)).collect()
}

/// The whole block stays in one register: what is left beside instructions is packing, unpacking and adding of 128
/// bits.
fn stays_packed(selection: &Selection) {
    let graph = &selection.graph;
    for id in graph.reachable(selection.roots.iter().copied()) {
        let width = graph.width(id);
        match graph.op(id) {
            Op::Instruction { .. } | Op::Input { .. } | Op::Entry { .. } | Op::Const(_) => {}
            Op::Concat(_) | Op::Xor(..) => assert_eq!(width, 128, "{:?}", graph.node(id)),
            Op::Extract(from, _) => assert!(graph.width(*from) == 128 || graph.width(*from) == 32),
            other => panic!("{other:?} is left"),
        }
    }
    for (i, &root) in selection.roots.iter().enumerate() {
        assert!(matches!(graph.op(root), Op::Extract(_, lo) if *lo == 8 * i as u32), "byte {i} left its place");
    }
}

#[test]
fn bytes_as_in_the_standard() {
    for (rounds, inner) in [(10, 9), (14, 13)] {
        let mut graph = Graph::new();
        let block = tokens(&mut graph, 0);
        let roots = encrypt(&mut graph, &block, rounds);
        let selection = selected(&graph, &roots);
        assert_eq!(counts(&selection), [("last_round", 1), ("round", inner)]);
        stays_packed(&selection);
    }
}

#[test]
fn bytes_backwards_with_keys_as_they_are() {
    let mut graph = Graph::new();
    let block = tokens(&mut graph, 0);
    let roots = decrypt(&mut graph, &block, 10);
    let selection = selected(&graph, &roots);
    assert_eq!(counts(&selection), [("back_round", 9), ("last_back_round", 1), ("unmix", 9)]);
    stays_packed(&selection);
}

#[test]
fn tables_of_words() {
    for decrypting in [false, true] {
        let mut graph = Graph::new();
        let block = tokens(&mut graph, 0);
        let roots = with_word_tables(&mut graph, &block, 10, decrypting);
        let selection = selected(&graph, &roots);
        let expected =
            if decrypting { [("back_round", 9), ("last_back_round", 1)] } else { [("last_round", 1), ("round", 9)] };
        assert_eq!(counts(&selection), expected);
        stays_packed(&selection);
    }
}

#[test]
fn data_of_a_mode_is_added_with_the_last_key() {
    let mut graph = Graph::new();
    let (counter, data) = (tokens(&mut graph, 0), tokens(&mut graph, 1));
    let stream = encrypt(&mut graph, &counter, 10);
    let roots = add(&mut graph, &stream, &data);
    let selection = selected(&graph, &roots);
    assert_eq!(counts(&selection), [("last_round", 1), ("round", 9)]);
    stays_packed(&selection);
    let Op::Extract(last, 0) = *selection.graph.op(selection.roots[0]) else { panic!("not the instruction's result") };
    assert!(matches!(selection.graph.op(last), Op::Instruction { .. }));
}

#[test]
fn chained_blocks_meet_the_next_key_off_the_chain() {
    let mut graph = Graph::new();
    let (first, second) = (tokens(&mut graph, 0), tokens(&mut graph, 1));
    let one = encrypt(&mut graph, &first, 10);
    let next = add(&mut graph, &one, &second);
    let two = encrypt(&mut graph, &next, 10);
    let roots = [one, two].concat();
    let selection = selected(&graph, &roots);
    assert_eq!(counts(&selection), [("last_round", 2), ("round", 18)]);
    // From the first result's instruction to the second's there is nothing but instructions.
    let graph = &selection.graph;
    let Op::Extract(mut at, 0) = *graph.op(selection.roots[16]) else { panic!("not packed") };
    let mut chain = 0;
    while let Op::Instruction { operands, .. } = graph.op(at) {
        chain += 1;
        at = operands[0];
    }
    assert_eq!(chain, 20);
}

/// Both ciphers end in the same result, which is that of the second without what is the first's alone.
#[test]
fn a_ciphertext_is_added_to_what_another_cipher_made() {
    let mut graph = Graph::new();
    let (first, second) = (tokens(&mut graph, 0), tokens(&mut graph, 1));
    let one = encrypt(&mut graph, &first, 10);
    let other = encrypt(&mut graph, &second, 10);
    let sum = add(&mut graph, &other, &one);
    let selection = selected(&graph, &[one, sum].concat());
    assert_eq!(counts(&selection), [("last_round", 2), ("round", 18)]);
}

#[test]
fn two_results_of_one_block() {
    let mut graph = Graph::new();
    let (counter, data) = (tokens(&mut graph, 0), tokens(&mut graph, 1));
    let stream = encrypt(&mut graph, &counter, 10);
    let text = add(&mut graph, &stream, &data);
    let roots = [stream, text].concat();
    let selection = selected(&graph, &roots);
    assert_eq!(counts(&selection), [("last_round", 1), ("round", 9)]);
    let xors = selection.graph.reachable(selection.roots.iter().copied());
    let xors = xors.iter().filter(|id| matches!(selection.graph.op(**id), Op::Xor(..)));
    assert_eq!(xors.count(), 2, "whitening, and the data");
}

/// Rounds on one block with other constants, which need nothing of each other, in one sum.
#[test]
fn sums_of_rounds_that_nothing_comes_before() {
    let mut graph = Graph::new();
    let (block, data) = (tokens(&mut graph, 0), tokens(&mut graph, 1));
    let round = |graph: &mut Graph, state: &[NodeId]| {
        let elements = s_box().map(u128::from);
        let table = headrace_transform::kernel::Table { name: "s".into(), width: 8, elements: elements.into() };
        let table = graph.add_table(table);
        let state: Vec<NodeId> = state.iter().map(|&byte| graph.lookup(table, byte)).collect();
        let state = shift_rows(&state, false);
        mix_columns(graph, &state)
    };
    // The state before, and what comes of it with what is added.
    let mut state = data.clone();
    let mut results = Vec::new();
    for constant in [0x00, 0x5a, 0x3c] {
        let number = graph.number(constant, 8);
        let other: Vec<NodeId> = block.iter().map(|&byte| graph.xor(byte, number)).collect();
        let enciphered = round(&mut graph, &other);
        state = add(&mut graph, &enciphered, &state);
        results.push(round(&mut graph, &state));
    }
    let roots = results.concat();
    let choice = Choice::new(meanings(), |_| true);
    let selection = select(&graph, &roots, &results, &choice).expect("rounds are there");
    assert!(check((&graph, &roots), (&selection.graph, &selection.roots), &choice, 20));
    assert_eq!(counts(&selection), [("round", 6)]);
}

/// Columns of a round that nothing else ties to each other are one block where they stand beside each other.
#[test]
fn one_round_is_a_block_where_its_results_are() {
    let mut graph = Graph::new();
    let block = tokens(&mut graph, 0);
    let elements = s_box().map(u128::from);
    let table = headrace_transform::kernel::Table { name: "s".into(), width: 8, elements: elements.into() };
    let table = graph.add_table(table);
    let state: Vec<NodeId> = block.iter().map(|&byte| graph.lookup(table, byte)).collect();
    let state = shift_rows(&state, false);
    let state = mix_columns(&mut graph, &state);
    let key = round_key(&mut graph, 1);
    let roots = add(&mut graph, &state, &key);
    let choice = Choice::new(meanings(), |_| true);
    let selection = select(&graph, &roots, std::slice::from_ref(&roots), &choice).expect("the round is there");
    assert!(check((&graph, &roots), (&selection.graph, &selection.roots), &choice, 20));
    assert_eq!(counts(&selection), [("round", 1)]);
    stays_packed(&selection);
}

/// What is substituted in one lane is needed to know what is in the next.
#[test]
fn bytes_of_a_state_that_need_each_other() {
    let mut graph = Graph::new();
    let (block, data) = (tokens(&mut graph, 0), tokens(&mut graph, 1));
    let mut before = data[0];
    let mut state = Vec::new();
    for byte in block {
        before = graph.and(before, byte);
        state.push(before);
    }
    // The first key of the rounds is taken away again.
    let key = round_key(&mut graph, 0);
    let state = add(&mut graph, &state, &key);
    let roots = encrypt(&mut graph, &state, 10);
    let selection = selected(&graph, &roots);
    assert_eq!(counts(&selection), [("last_round", 1), ("round", 9)]);
}

#[test]
fn another_matrix_is_not_the_instruction() {
    let mut graph = Graph::new();
    let block = tokens(&mut graph, 0);
    // Rows are shifted the other way.
    let mut state = block;
    for round in 0..4 {
        let key = round_key(&mut graph, round);
        state = add(&mut graph, &state, &key);
        let elements = s_box().map(u128::from);
        let table = headrace_transform::kernel::Table { name: "s".into(), width: 8, elements: elements.into() };
        let table = graph.add_table(table);
        state = state.iter().map(|&byte| graph.lookup(table, byte)).collect();
        state = shift_rows(&state, false);
        state = mix_columns(&mut graph, &state);
        state[3] = graph.xor(state[3], state[7]);
    }
    let choice = Choice::new(meanings(), |_| true);
    if let Some(selection) = select(&graph, &state, &[], &choice) {
        assert!(check((&graph, &state), (&selection.graph, &selection.roots), &choice, 20));
    }
}

#[test]
fn what_the_machine_lacks_is_not_used() {
    let mut graph = Graph::new();
    let block = tokens(&mut graph, 0);
    let roots = encrypt(&mut graph, &block, 10);
    let choice = Choice::new(meanings(), |name| name == "back_round");
    assert!(select(&graph, &roots, &[], &choice).is_none());
}
