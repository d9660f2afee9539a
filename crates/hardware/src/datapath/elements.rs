//! Register merging: elements of variables that always hold the same value are one.
//!
//! A key schedule that only selects writes every bit of a key many times. Elements with the same initial value into which each task
//! stores the same value, or none, never differ; all who read one of them read the first instead, and those that nobody reads any
//! more are gone.

use super::region::{Region, Task};
use headrace_kernel::{Graph, NodeId, ObjectId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// What an element is told from others by: bits, initial value, and what each task stores there.
type History = (u32, u128, Vec<(usize, NodeId)>);

impl Region {
    /// The region with elements merged, where some can be; variables that are read at computed places stay as they are.
    pub(crate) fn with_merged_elements(mut self) -> Region {
        while let Some(smaller) = self.merged() {
            self = smaller;
        }
        self
    }

    fn merged(&self) -> Option<Region> {
        let roots = self.tasks.iter().flat_map(Task::roots).chain(self.conditions_of_all());
        let nodes = self.graph.reachable(roots);
        let mut whole: FxHashSet<ObjectId> = self.begins.keys().copied().collect();
        let mut read: FxHashSet<(ObjectId, usize)> = FxHashSet::default();
        for &id in &nodes {
            if let Op::Entry { object, index } = self.graph.op(id) {
                match self.graph.constant(*index) {
                    Some(index) => _ = read.insert((*object, index as usize)),
                    None => _ = whole.insert(*object),
                }
            }
        }
        let mut stored: FxHashMap<(ObjectId, usize), Vec<(usize, NodeId)>> = FxHashMap::default();
        for (number, task) in self.tasks.iter().enumerate() {
            for &(object, index, value) in &task.stores {
                stored.entry((object, index)).or_default().push((number, value));
            }
        }
        // The first of those that are alike stands for all; what nothing is stored into has its value from the beginning.
        let mut places: Vec<(ObjectId, usize)> = read.into_iter().filter(|place| !whole.contains(&place.0)).collect();
        places.sort_unstable();
        let mut first: FxHashMap<History, (ObjectId, usize)> = FxHashMap::default();
        let mut stands_for: FxHashMap<(ObjectId, usize), (ObjectId, usize)> = FxHashMap::default();
        for &place in &places {
            let initial = self.initial[place.0.0 as usize].get(place.1).copied().unwrap_or(0);
            let history =
                (self.objects[place.0.0 as usize].width, initial, stored.get(&place).cloned().unwrap_or_default());
            stands_for.insert(place, *first.entry(history).or_insert(place));
        }
        let n_merged = stands_for.iter().filter(|(place, other)| place != other).count();
        if n_merged == 0 {
            return None;
        }
        // Elements that are left move together.
        let mut kept: FxHashMap<ObjectId, Vec<usize>> = FxHashMap::default();
        for place in &places {
            if stands_for[place] == *place {
                kept.entry(place.0).or_default().push(place.1);
            }
        }
        let touched: FxHashSet<ObjectId> = places.iter().map(|place| place.0).collect();
        let position = |(object, index): (ObjectId, usize)| {
            kept.get(&object).and_then(|all| all.iter().position(|&other| other == index)).map(|at| (object, at))
        };
        let mut region = Region { graph: Graph::with_tables_of(&self.graph), ..self.clone() };
        let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for id in nodes {
            let place = match self.graph.op(id) {
                Op::Entry { object, index } => self.graph.constant(*index).map(|index| (*object, index as usize)),
                _ => None,
            };
            let value = match place.and_then(|place| stands_for.get(&place)).and_then(|&place| position(place)) {
                Some((object, at)) => {
                    let index = region.graph.number(at as u128, 32);
                    region.graph.entry(object, index, self.graph.width(id))
                }
                None => region.graph.copy(&self.graph, id, &new)?,
            };
            new.insert(id, value);
        }
        region.substitute(&new);
        for task in &mut region.tasks {
            task.stores.retain_mut(|store| {
                if !touched.contains(&store.0) {
                    return true;
                }
                let at = position((store.0, store.1));
                store.1 = at.map_or(0, |place| place.1);
                at.is_some()
            });
        }
        for object in touched {
            let of = object.0 as usize;
            let elements = kept.get(&object).cloned().unwrap_or_default();
            let initial = &self.initial[of];
            region.initial[of] = elements.iter().map(|&at| initial.get(at).copied().unwrap_or(0)).collect();
            region.objects[of].length = elements.len().max(1);
        }
        Some(region)
    }
}
