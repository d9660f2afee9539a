//! Linear analysis over GF(2). Every bit as an exclusive or of bits that no exclusive or explains.
//!
//! What is linear over GF(2) is written in many ways: shifts and masks, conditional exclusive ors, products with
//! constants that do it, tables that happen to be affine, tokens of one bit. [`Forms`] says of each bit of each node
//! which *source* bits it is the exclusive or of. Sources are bits of tokens and objects, bits of nodes that are not
//! linear, and bits of *atoms*: a table's non-linear function ([`spaces`]) of an index that is itself a list of forms.
//! Two look-ups in different tables of one space at the same index are the same atom, so the merged and the plain
//! writing of a cipher's round have the same forms.
//!
//! Example: `(b << 1) ^ (if b >> 7 = 1 then 0x1b else 0)` on a byte b has the forms `b7, b0+b7, b1, b2+b7, b3+b7, b4,
//! b5, b6` from the lowest bit on.
//!
//! A node with a form longer than [`MAX_TERMS`] is a source itself.

mod form;
pub mod spaces;

pub use form::Form;
use spaces::{InSpace, Spaces};

use crate::kernel::{Graph, NodeId, Op};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Longest form.
pub const MAX_TERMS: usize = 160;

/// A value whose bits are sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// A node.
    Node(NodeId),
    /// An atom by number.
    Atom(usize),
}

/// A table's non-linear function at an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Atom {
    /// Number of the space.
    pub space: usize,
    /// The index, the lowest bit first.
    pub index: Vec<Form>,
}

/// Forms of all nodes that some roots need.
#[derive(Clone, Debug, Default)]
pub struct Forms {
    forms: FxHashMap<NodeId, Rc<[Form]>>,
    sources: Vec<(Source, u32)>,
    first_bit: FxHashMap<Source, u32>,
    atoms: Vec<Atom>,
    atom_numbers: FxHashMap<Atom, usize>,
    /// For each atom, a node that holds its index in the low bits.
    index_nodes: Vec<NodeId>,
}

impl Forms {
    /// The forms of all nodes that the roots need. Spaces are shared by graphs that are compared.
    pub fn new(graph: &Graph, roots: impl IntoIterator<Item = NodeId>, spaces: &mut Spaces) -> Forms {
        let mut forms = Forms::default();
        let mut tables = FxHashMap::default();
        for id in graph.reachable(roots) {
            let own = forms.linear(graph, id, spaces, &mut tables);
            let own = match own {
                Some(own) if own.iter().all(|form| form.terms().len() <= MAX_TERMS) => own,
                _ => forms.bits_of(Source::Node(id), graph.width(id)),
            };
            forms.forms.insert(id, own.into());
        }
        forms
    }

    /// The forms of a node's bits, the lowest first; empty for nodes that the roots did not need.
    pub fn of(&self, id: NodeId) -> &[Form] {
        self.forms.get(&id).map_or(&[], |forms| forms)
    }

    /// The value and the bit that a number in a form stands for.
    pub fn source(&self, number: u32) -> (Source, u32) {
        self.sources[number as usize]
    }

    /// The atoms, those that others need first.
    pub fn atoms(&self) -> &[Atom] {
        &self.atoms
    }

    /// A node of the graph that holds an atom's index in its low bits.
    pub fn index_node(&self, atom: usize) -> NodeId {
        self.index_nodes[atom]
    }

    /// Whether a node is a source.
    pub fn is_source(&self, id: NodeId) -> bool {
        self.first_bit.contains_key(&Source::Node(id))
    }

    fn bits_of(&mut self, source: Source, width: u32) -> Vec<Form> {
        let first = match self.first_bit.get(&source) {
            Some(&first) => first,
            None => {
                let first = self.sources.len() as u32;
                self.sources.extend((0..width).map(|bit| (source, bit)));
                self.first_bit.insert(source, first);
                first
            }
        };
        (first..first + width).map(Form::bit).collect()
    }

    fn linear(
        &mut self,
        graph: &Graph,
        id: NodeId,
        spaces: &mut Spaces,
        tables: &mut FxHashMap<u32, Option<InSpace>>,
    ) -> Option<Vec<Form>> {
        let node = graph.node(id);
        let width = node.width;
        let of = |id: &NodeId| self.of(*id).to_vec();
        let bit = |value: u128, at: u32| value >> at & 1 == 1;
        match &node.op {
            Op::Const(value) => Some((0..width).map(|at| Form::constant(bit(*value, at))).collect()),
            Op::Not(a) => Some(of(a).iter().map(|form| form.with_one(!form.one())).collect()),
            Op::Xor(a, b) => Some(of(a).iter().zip(of(b)).map(|(a, b)| a.xor(&b)).collect()),
            // Where bits of one operand are known.
            Op::And(a, b) => of(a).iter().zip(&of(b)).map(|(a, b)| and(a, b)).collect(),
            Op::Or(a, b) => {
                let not = |form: &Form| form.with_one(!form.one());
                of(a).iter().zip(&of(b)).map(|(a, b)| and(&not(a), &not(b)).map(|form| not(&form))).collect()
            }
            Op::Extract(a, lo) => Some(of(a)[*lo as usize..(lo + width) as usize].to_vec()),
            Op::Concat(parts) => Some(parts.iter().rev().flat_map(of).collect()),
            Op::SignExtend(a) => {
                let mut forms = of(a);
                let top = forms.last()?.clone();
                forms.resize(width as usize, top);
                Some(forms)
            }
            Op::Select(c, a, b) => {
                let condition = of(c).first()?.clone();
                let choose = |(a, b): (&Form, &Form)| {
                    let difference = a.xor(b);
                    and(&condition, &difference).map(|chosen| b.xor(&chosen))
                };
                of(a).iter().zip(&of(b)).map(choose).collect()
            }
            Op::Add(a, b) if width == 1 => Some(vec![of(a)[0].xor(&of(b)[0])]),
            Op::Lookup(table, index) => {
                let elements = graph.table(*table);
                let form =
                    tables.entry(table.0).or_insert_with(|| spaces.table_form(&elements.elements, elements.width));
                let form = form.as_ref()?;
                let bits = elements.elements.len().trailing_zeros() as usize;
                let mut forms = of(index);
                if forms.iter().skip(bits).any(|form| *form != Form::ZERO) {
                    return None;
                }
                forms.resize(bits, Form::ZERO);
                let functions = match form.space {
                    None => Vec::new(),
                    Some(space) => {
                        let size = spaces.get(space).n_outputs() as u32;
                        let atom = self.atom(Atom { space, index: forms.clone() }, *index);
                        self.bits_of(Source::Atom(atom), size)
                    }
                };
                let map = &form.map;
                let output = |bit: usize| {
                    let from_index = map.linear.ones_in_row(bit).map(|i| &forms[i]);
                    let from_functions = map.output.ones_in_row(bit).map(|j| &functions[j]);
                    let constant = Form::constant(map.constant.get(bit));
                    from_index.chain(from_functions).fold(constant, |sum, form| sum.xor(form))
                };
                Some((0..map.constant.len()).map(output).collect())
            }
            _ => None,
        }
    }

    fn atom(&mut self, atom: Atom, index: NodeId) -> usize {
        if let Some(&number) = self.atom_numbers.get(&atom) {
            return number;
        }
        self.atoms.push(atom.clone());
        self.index_nodes.push(index);
        self.atom_numbers.insert(atom, self.atoms.len() - 1);
        self.atoms.len() - 1
    }
}

/// The product of two forms, where it is linear.
fn and(a: &Form, b: &Form) -> Option<Form> {
    match (a.known(), b.known()) {
        (Some(false), _) | (_, Some(false)) => Some(Form::ZERO),
        (Some(true), _) => Some(b.clone()),
        (_, Some(true)) => Some(a.clone()),
        _ if a == b => Some(a.clone()),
        _ if a.terms() == b.terms() => Some(Form::ZERO),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubling_in_a_field_is_linear_however_it_is_written() {
        let mut graph = Graph::new();
        let b = graph.input(0, 0, 8);
        let doubled = graph.shift_left_by(b, 1);
        let top = graph.extract(b, 7, 1);
        let (polynomial, zero) = (graph.number(0x1b, 8), graph.number(0, 8));
        let chosen = graph.select(top, polynomial, zero);
        let by_choice = graph.xor(doubled, chosen);
        let mask = graph.sign_extend(top, 8);
        let masked = graph.and(mask, polynomial);
        let by_mask = graph.xor(doubled, masked);
        let wide = graph.zero_extend(b, 16);
        let carry = graph.shift_right_by(wide, 7);
        let factor = graph.number(0x1b, 16);
        let product = graph.product(carry, factor);
        let low = graph.extract(product, 0, 8);
        let by_product = graph.xor(doubled, low);
        let mut spaces = Spaces::default();
        let forms = Forms::new(&graph, [by_choice, by_mask, by_product], &mut spaces);
        let terms: Vec<&[u32]> = forms.of(by_choice).iter().map(Form::terms).collect();
        assert_eq!(terms, [&[7][..], &[0, 7], &[1], &[2, 7], &[3, 7], &[4], &[5], &[6]]);
        assert_eq!(forms.of(by_choice), forms.of(by_mask));
        assert_eq!(forms.of(by_choice), forms.of(by_product));
    }

    #[test]
    fn what_is_not_linear_is_a_source() {
        let mut graph = Graph::new();
        let (a, b) = (graph.input(0, 0, 8), graph.input(0, 1, 8));
        let both = graph.and(a, b);
        let mixed = graph.xor(both, a);
        let forms = Forms::new(&graph, [mixed], &mut Spaces::default());
        assert!(forms.is_source(both));
        let (source, bit) = forms.source(forms.of(mixed)[3].terms()[1]);
        assert_eq!((source, bit), (Source::Node(both), 3));
    }
}
