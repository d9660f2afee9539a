//! The blocks of a function and how its loops nest.
//!
//! Loops are the components of a weak topological order (Bourdoncle, «Efficient chaotic iteration strategies with widenings»,
//! 1993): a strongly connected part with its head taken out falls apart into smaller ones, and so on. Numbering blocks in that
//! order makes everything in a loop come after its head and before what follows the loop, also where a loop has several
//! entries.

use crate::image::Image;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// As many instructions of one function are read.
const MOST: usize = 1 << 20;

/// Instructions that are executed one after the other.
#[derive(Debug)]
pub(crate) struct Block {
    pub instructions: Vec<Instruction>,
    /// Its number in the order.
    pub order: u32,
    /// The heads of the loops around it, by number, outermost first; of a head, also its own.
    pub loops: Vec<u32>,
}

/// A function: what can be reached from its entry without calls.
#[derive(Debug)]
pub(crate) struct Graph {
    pub entry: u64,
    pub blocks: BTreeMap<u64, Block>,
}

impl Graph {
    /// Reads a function; `indirect` says where its indirect jumps were seen to go.
    pub(crate) fn read(image: &Image, entry: u64, indirect: &BTreeMap<u64, BTreeSet<u64>>) -> Self {
        let mut instructions: HashMap<u64, Instruction> = HashMap::new();
        let mut leaders = BTreeSet::from([entry]);
        let mut open = vec![entry];
        let inside = |target: u64| target == entry || !image.begins_function(target);
        while let Some(start) = open.pop() {
            let mut at = start;
            while !instructions.contains_key(&at) && instructions.len() < MOST {
                let mut decoder = Decoder::with_ip(64, image.bytes(at), at, DecoderOptions::NONE);
                let instruction = decoder.decode();
                instructions.insert(at, instruction);
                let (targets, ends) = successors(&instruction, indirect);
                for target in targets.into_iter().filter(|target| inside(*target)) {
                    if leaders.insert(target) || !instructions.contains_key(&target) {
                        open.push(target);
                    }
                }
                at = instruction.next_ip();
                if ends {
                    leaders.insert(at);
                }
                if stops(&instruction) || !inside(at) {
                    break;
                }
            }
        }
        let mut blocks = BTreeMap::new();
        let mut edges: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for leader in &leaders {
            let mut block = Vec::new();
            let mut at = *leader;
            while let Some(instruction) = instructions.get(&at) {
                block.push(*instruction);
                at = instruction.next_ip();
                if leaders.contains(&at) || stops(instruction) {
                    break;
                }
            }
            let Some(last) = block.last() else { continue };
            let (mut next, _) = successors(last, indirect);
            if !stops(last) {
                next.push(last.next_ip());
            }
            next.retain(|target| inside(*target) && instructions.contains_key(target));
            edges.insert(*leader, next);
            blocks.insert(*leader, Block { instructions: block, order: 0, loops: Vec::new() });
        }
        let mut graph = Self { entry, blocks };
        let all: BTreeSet<u64> = graph.blocks.keys().copied().collect();
        let mut number = 0;
        graph.arrange(&all, entry, &edges, &[], &mut number);
        graph
    }

    /// Numbers the blocks of a part, of which `entry` comes first; blocks that it does not reach come last.
    fn arrange(
        &mut self,
        part: &BTreeSet<u64>,
        entry: u64,
        edges: &BTreeMap<u64, Vec<u64>>,
        around: &[u32],
        number: &mut u32,
    ) {
        for component in components(part, entry, edges) {
            let Some(head) = component.first().copied() else { continue };
            let itself = edges.get(&head).is_some_and(|next| next.contains(&head));
            let mut loops = around.to_vec();
            if component.len() > 1 || itself {
                loops.push(*number);
            }
            if let Some(block) = self.blocks.get_mut(&head) {
                (block.order, block.loops) = (*number, loops.clone());
            }
            *number += 1;
            let rest: BTreeSet<u64> = component[1..].iter().copied().collect();
            if !rest.is_empty() {
                let first = edges.get(&head).and_then(|next| next.iter().find(|next| rest.contains(next)));
                self.arrange(&rest, first.copied().unwrap_or(component[1]), edges, &loops, number);
            }
        }
    }
}

/// Where else an instruction goes, and whether a block ends with it.
fn successors(instruction: &Instruction, indirect: &BTreeMap<u64, BTreeSet<u64>>) -> (Vec<u64>, bool) {
    match instruction.flow_control() {
        FlowControl::Next => (Vec::new(), false),
        FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
            (vec![instruction.near_branch_target()], true)
        }
        FlowControl::IndirectBranch => {
            (indirect.get(&instruction.ip()).map(|targets| targets.iter().copied().collect()).unwrap_or_default(), true)
        }
        _ => (Vec::new(), true),
    }
}

/// Whether control never goes on behind an instruction.
fn stops(instruction: &Instruction) -> bool {
    matches!(
        instruction.flow_control(),
        FlowControl::UnconditionalBranch
            | FlowControl::IndirectBranch
            | FlowControl::Return
            | FlowControl::Interrupt
            | FlowControl::Exception
    ) || instruction.is_invalid()
}

/// The strongly connected components of a part in topological order, each with the block first through which a search from
/// `entry` comes into it.
fn components(part: &BTreeSet<u64>, entry: u64, edges: &BTreeMap<u64, Vec<u64>>) -> Vec<Vec<u64>> {
    let next = |block: u64| edges.get(&block).into_iter().flatten().copied().filter(|next| part.contains(next));
    // Kosaraju: blocks in the reverse of the order in which a depth-first search leaves them …
    let mut left = Vec::new();
    let mut seen = BTreeSet::new();
    for root in std::iter::once(entry).chain(part.iter().copied()) {
        if !part.contains(&root) || !seen.insert(root) {
            continue;
        }
        let mut path = vec![(root, next(root).collect::<Vec<_>>())];
        while let Some((block, rest)) = path.last_mut() {
            match rest.pop() {
                Some(target) if seen.insert(target) => path.push((target, next(target).collect())),
                Some(_) => {}
                None => {
                    left.push(*block);
                    path.pop();
                }
            }
        }
    }
    // … each with what reaches it and is not taken yet.
    let mut back: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for block in part {
        for target in next(*block) {
            back.entry(target).or_default().push(*block);
        }
    }
    let mut taken = BTreeSet::new();
    let mut found = Vec::new();
    for root in left.into_iter().rev() {
        if !taken.insert(root) {
            continue;
        }
        let (mut component, mut open) = (vec![root], vec![root]);
        while let Some(block) = open.pop() {
            for source in back.get(&block).into_iter().flatten() {
                if taken.insert(*source) {
                    component.push(*source);
                    open.push(*source);
                }
            }
        }
        found.push(component);
    }
    found
}
