//! L-values. Places: what a root and indices lead to.

use super::NotFused;
use super::expression::{Part, bits_of_value};
use super::numbers::bits_of;
use super::symbolic_execution::{Frame, LocalValue, State, Walk};
use super::symbolic_store::{List, ListId};
use crate::kernel::graph::MAX_BITS;
use crate::kernel::{Effect, NodeId, Table, TableId};
use headrace_ir::{LocalId, Place, Root, Scalar, Type, Value};
use headrace_source::Span;

/// A list; the index of an element of it, or a node that computes one and the length of the list; how many elements lie
/// there, and of what type.
pub(crate) type Found = (ListId, Result<usize, (NodeId, usize)>, usize, Scalar);

impl Walk<'_, '_> {
    /// The table of a constant list.
    pub fn constant_table(&mut self, frame: &Frame, root: Root, elements: &[Value], width: u32) -> TableId {
        let Root::Actor(variable) = root else { return TableId(0) };
        let actor = self.network.instances[frame.instance].actor.index();
        if let Some(&known) = self.tables.get(&(actor, variable)) {
            return known;
        }
        let name = self.actor(frame).variables[variable.index()].name.clone();
        let keep = crate::kernel::graph::mask(width);
        let elements = elements.iter().map(|value| bits_of_value(value) & keep).collect();
        let table = self.graph.add_table(Table { name, width, elements });
        self.tables.insert((actor, variable), table);
        table
    }

    /// The list at the root of a place, and its type.
    pub fn root(&mut self, state: &mut State, frame: &Frame, root: Root, span: Span) -> Result<(Part, Type), NotFused> {
        match root {
            Root::Actor(variable) => {
                let declared = &self.actor(frame).variables[variable.index()];
                let ty = declared.ty.clone();
                if let Some(list) = self.variables[frame.instance][variable.index()] {
                    return Ok((Part { list, start: 0 }, ty));
                }
                // A constant list as a whole: a copy.
                let initial = declared.whole_initial();
                let Value::List(elements) = &*initial else {
                    return Err(NotFused::new("a constant is used as a list", span));
                };
                let (width, _) = self.zero(&ty, span)?;
                let nodes = elements.iter().map(|value| self.graph.number(bits_of_value(value), width)).collect();
                let list = state.add_list(List::of_values(width, nodes));
                Ok((Part { list, start: 0 }, ty))
            }
            Root::Local(local) => {
                let ty = frame.types[local.index()].clone();
                match frame.locals[local.index()] {
                    LocalValue::List(part) => Ok((part, ty)),
                    LocalValue::Cell(list) => Ok((Part { list, start: 0 }, ty)),
                    LocalValue::Scalar(_) => Err(NotFused::new("a scalar is used as a list", span)),
                }
            }
        }
    }

    /// The value of a scalar local that is a node.
    pub fn scalar_local(&mut self, state: &mut State, frame: &Frame, local: LocalId) -> Option<(NodeId, Scalar)> {
        let ty = frame.types[local.index()].element;
        match frame.locals[local.index()] {
            LocalValue::Scalar(node) => {
                let (low, high) = state.facts.range(self.graph, node);
                Some((if low == high { self.graph.number(low, self.graph.width(node)) } else { node }, ty))
            }
            LocalValue::Cell(list) => Some((self.read(state, list, 0), ty)),
            LocalValue::List(_) => None,
        }
    }

    pub(super) fn set_local(&mut self, state: &mut State, frame: &mut Frame, local: LocalId, value: NodeId) {
        match frame.locals[local.index()] {
            LocalValue::Cell(list) => self.write(state, list, 0, value),
            _ => frame.locals[local.index()] = LocalValue::Scalar(value),
        }
    }

    /// The list that a place lies in, and the index of its first element if that is known, else its node.
    pub fn find(&mut self, state: &mut State, frame: &Frame, place: &Place) -> Result<Found, NotFused> {
        let (part, ty) = self.root(state, frame, place.root, place.span)?;
        let length = ty.after_indices(place.indices.len()).len();
        let whole = state.list(part.list).elements.len();
        let at = self.position(state, frame, place, &ty, part.start, whole)?;
        Ok((part.list, at.map_err(|index| (index, whole)), length, ty.element))
    }

    /// Where a place begins in a list of `whole` elements, if what its indices count from lies at `start`; a node where
    /// an index is not known.
    fn position(
        &mut self,
        state: &mut State,
        frame: &Frame,
        place: &Place,
        ty: &Type,
        start: usize,
        whole: usize,
    ) -> Result<Result<usize, NodeId>, NotFused> {
        let mut offset = start;
        let mut unknown: Option<NodeId> = None;
        // Bits that hold any position of the list.
        let bits = bits_of(0, whole as i128 - 1);
        for (depth, index) in place.indices.iter().enumerate() {
            let size = ty.dims[depth] as usize;
            let stride = ty.after_indices(depth + 1).len();
            let number = self.number(state, frame, index)?;
            let range = number.range.unwrap_or_default();
            if range.0 == range.1 {
                let Some(at) = usize::try_from(range.0).ok().filter(|&at| at < size) else {
                    return Err(NotFused::new("an index is outside of its list", index.span));
                };
                offset += at * stride;
                continue;
            }
            if range.0 < 0 || range.1 >= size as i128 {
                // The program is right to rely on what no analysis sees; that it does not hold is an error at run time.
                let width = self.graph.width(number.node).max(bits) + 1;
                let wide = self.in_bits(number, width);
                let bound = self.graph.number(size as u128, width);
                let condition = self.graph.less(wide, bound);
                if state.facts.decide(self.graph, condition) != Some(true) {
                    state.push(Effect::Check { condition, index: wide, length: size, span: index.span });
                    state.facts.assume(self.graph, condition, true);
                }
            }
            let at = self.in_bits(number, bits);
            let stride = self.graph.number(stride as u128, bits);
            let at = self.graph.product(at, stride);
            unknown = Some(match unknown {
                Some(others) => self.graph.sum(others, at),
                None => at,
            });
        }
        Ok(match unknown {
            None => Ok(offset),
            Some(node) => {
                let offset = self.graph.number(offset as u128, bits);
                Err(self.graph.sum(node, offset))
            }
        })
    }

    /// The value of a scalar place.
    pub fn load(&mut self, state: &mut State, frame: &Frame, place: &Place) -> Result<(NodeId, Scalar), NotFused> {
        // Constants of the actor need no memory.
        if let Root::Actor(variable) = place.root {
            let declared = &self.actor(frame).variables[variable.index()];
            if !declared.mutable {
                return self.constant_element(state, frame, place, &declared.whole_initial(), &declared.ty);
            }
        }
        if let (Root::Local(local), true) = (place.root, place.indices.is_empty())
            && let Some((node, ty)) = self.scalar_local(state, frame, local)
        {
            return Ok((node, ty));
        }
        let (list, at, _, ty) = self.find(state, frame, place)?;
        let node = match at {
            Ok(index) => self.read(state, list, index),
            Err((index, _)) => self.read_somewhere(state, list, index),
        };
        Ok((node, ty))
    }

    fn constant_element(
        &mut self,
        state: &mut State,
        frame: &Frame,
        place: &Place,
        value: &Value,
        ty: &Type,
    ) -> Result<(NodeId, Scalar), NotFused> {
        let width = ty.element.width();
        if width > MAX_BITS || width == 0 || matches!(ty.element, Scalar::Real(_)) {
            return Err(NotFused::new("a constant is of a type that transitions do not have", place.span));
        }
        if !ty.is_list() {
            let value = bits_of_value(value);
            return Ok((self.graph.number(value, width), ty.element));
        }
        let Value::List(elements) = value else {
            return Err(NotFused::new("a constant list has no elements", place.span));
        };
        let index = match self.position(state, frame, place, ty, 0, elements.len())? {
            Ok(at) => {
                let value = elements.get(at).map_or(0, bits_of_value);
                return Ok((self.graph.number(value, width), ty.element));
            }
            Err(index) => index,
        };
        let table = self.constant_table(frame, place.root, elements, width);
        Ok((self.graph.lookup(table, index), ty.element))
    }
}
