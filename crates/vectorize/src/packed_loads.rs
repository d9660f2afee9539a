//! Packed loads: values put together of neighbouring bytes as one load and a shuffle. Bytes of elements that lie side by
//! side, in any order, need not be put together one by one.

use crate::blocks::BYTES;
use headrace_transform::kernel::{Graph, NodeId, Object, ObjectId, Op};

/// Sixteen bytes of the elements of an object, where the lowest byte of an element lies first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedLoad {
    /// The object, which lives on between calls.
    pub object: ObjectId,
    /// The element that they begin with.
    pub first: usize,
    /// Which of them each byte of the value is, the lowest first; `None`: they lie in its order.
    pub order: Option<[u8; BYTES]>,
}

impl PackedLoad {
    /// The load for a value that is put together of parts, the highest first; `None` where they are something else than whole bytes of
    /// one object, or lie too far apart.
    pub fn of(graph: &Graph, objects: &[Object], parts: &[NodeId]) -> Option<PackedLoad> {
        let mut places = Vec::with_capacity(BYTES);
        let mut found = None;
        for &part in parts.iter().rev() {
            let width = graph.width(part);
            let (element, lo) = match *graph.op(part) {
                Op::Extract(from, lo) => (from, lo),
                _ => (part, 0),
            };
            let Op::Entry { object, index } = *graph.op(element) else { return None };
            let size = graph.width(element) / 8;
            let in_bytes =
                [8, 16, 32, 64].contains(&graph.width(element)) && width.is_multiple_of(8) && lo.is_multiple_of(8);
            if !in_bytes || *found.get_or_insert((object, size)) != (object, size) {
                return None;
            }
            let index = u32::try_from(graph.constant(index)?).ok()?;
            let start = index.checked_mul(size)? + lo / 8;
            places.extend((0..width / 8).map(|byte| start + byte));
        }
        let (object, size) = found?;
        let places: [u32; BYTES] = places.try_into().ok()?;
        let kept = objects.get(object.0 as usize)?;
        let first = places.iter().min()? / size * size;
        let order = places.map(|place| place - first);
        let is_there = (first as usize + BYTES).div_ceil(size as usize) <= kept.length;
        if !kept.persistent || !is_there || order.iter().any(|&at| at >= BYTES as u32) {
            return None;
        }
        let order = order.map(|at| at as u8);
        let in_order = order.iter().enumerate().all(|(at, &place)| usize::from(place) == at);
        Some(PackedLoad { object, first: (first / size) as usize, order: (!in_order).then_some(order) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_another_order_of_bytes_are_a_load_and_a_shuffle() {
        let object = |width| Object { name: "w".into(), width, length: 8, persistent: true, residue: None };
        let mut graph = Graph::new();
        let mut parts = Vec::new();
        for word in 0..4u32 {
            let index = graph.number(u128::from(word + 4), 32);
            let entry = graph.entry(ObjectId(0), index, 32);
            parts.extend([24, 16, 8, 0].map(|lo| graph.extract(entry, lo, 8)));
        }
        // The highest first: the first part is the lowest byte.
        parts.reverse();
        let load = PackedLoad::of(&graph, &[object(32)], &parts).unwrap();
        assert_eq!((load.object, load.first), (ObjectId(0), 4));
        assert_eq!(load.order, Some([3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12]));
        // The object ends before sixteen bytes do.
        assert_eq!(PackedLoad::of(&graph, &[Object { length: 7, ..object(32) }], &parts), None);
        let index = graph.number(0, 32);
        parts[3] = graph.entry(ObjectId(1), index, 8);
        assert_eq!(PackedLoad::of(&graph, &[object(32), object(8)], &parts), None);
    }
}
