//! Loop distribution in programs: a loop as two, one over iterations that are independent of each other and one over what is
//! carried. The first runs in wide lanes; the second, where it is a recurrence modulo a number, with powers in lanes.

use super::blocks::ForFeatures;
use super::registers::ARCHITECTURE;
use super::residues::FEATURES;
use super::{CONTEXT, Functions, Fused};
use crate::building::Building;
use headrace_program::{Argument, Expr, FeatureSet, FeatureSetId, FunctionId, Place, Type};
use headrace_transform::kernel::{Carry, Loop};
use headrace_transform::passes::distribution::{self, distribute};
use headrace_transform::passes::modular_recurrence::{self, ModularRecurrence, modular_recurrence};
use headrace_vectorize::residues::LEAST_BLOCKS;

/// A loop as two, in order of their execution.
struct InTwo {
    first: FunctionId,
    serial: FunctionId,
    /// For many iterations, and how many these are.
    many: Option<(FunctionId, u64)>,
    serial_is_last: bool,
}

impl Fused<'_> {
    /// Functions that run a loop whose iterations depend on each other as two, the fastest first.
    pub(super) fn distributed_loops(
        &self,
        body: &Loop,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Vec<ForFeatures> {
        let mut found = Vec::new();
        match distribution::PASS.tried(|| distribute(body)) {
            Some(parts) => {
                let lanes = self.wide_lanes(&parts.independent, building, functions);
                if lanes.is_empty() {
                    return found;
                }
                let serial = self.iterations(&parts.serial, &[], None, building, functions);
                let recurrence = modular_recurrence::PASS.tried(|| modular_recurrence(&parts.serial));
                for variant in lanes {
                    let names = building.features[variant.features.index()].names.clone();
                    let in_two =
                        |many| InTwo { first: variant.iterations, serial, many, serial_is_last: parts.reads_output };
                    // Registers of 512 bits are asked for together with products of 52 bits.
                    let is_wide = names.iter().any(|name| name.starts_with("avx512"));
                    let residues = recurrence.as_ref().filter(|_| is_wide);
                    let many = residues.and_then(|one| self.many(&parts.serial, one, building, functions));
                    if many.is_some() {
                        let more = [&names[..], &FEATURES.map(str::to_owned)].concat();
                        found.push(self.in_two(in_two(many), more, building, functions));
                    }
                    found.push(self.in_two(in_two(None), names, building, functions));
                }
            }
            None => {
                let Some(recurrence) = modular_recurrence::PASS.tried(|| modular_recurrence(body)) else {
                    return found;
                };
                let Some(many) = self.many(body, &recurrence, building, functions) else { return found };
                let is_serial = |carry: &Carry| *carry == Carry::True;
                let part = |serial: bool| {
                    let carried = body.carried.iter().filter(|one| is_serial(&one.carry) == serial).cloned().collect();
                    Loop { carried, ..body.clone() }
                };
                let first = self.iterations(&part(false).with_own_counters(), &[], None, building, functions);
                let serial = self.iterations(&part(true).with_own_counters(), &[], None, building, functions);
                let in_two = InTwo { first, serial, many: Some(many), serial_is_last: true };
                found.push(self.in_two(in_two, FEATURES.map(str::to_owned).to_vec(), building, functions));
            }
        }
        found
    }

    /// A function that runs a loop as two on any machine, where what is independent may run side by side.
    pub(super) fn distributed(
        &self,
        body: &Loop,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Option<FunctionId> {
        let own = self.lanes?;
        let parts = distribution::PASS.tried(|| distribute(body))?;
        let lanes = self.side_by_side(own, None, &parts.independent, building, functions)?;
        let first = self.iterations(&parts.independent, &[lanes], None, building, functions);
        let serial = self.iterations(&parts.serial, &[], None, building, functions);
        let in_two = InTwo { first, serial, many: None, serial_is_last: parts.reads_output };
        Some(self.both(in_two, None, building, functions))
    }

    /// The function for many iterations of a recurrence modulo a number, and from how many on it pays.
    fn many(
        &self,
        body: &Loop,
        recurrence: &ModularRecurrence,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Option<(FunctionId, u64)> {
        let function = self.residues(body, recurrence, building, functions).ok()?;
        Some((function, LEAST_BLOCKS.div_ceil(recurrence.blocks)))
    }

    fn features(&self, mut names: Vec<String>, building: &mut Building) -> FeatureSetId {
        names.sort_unstable();
        names.dedup();
        building.features(FeatureSet { architecture: ARCHITECTURE, names })
    }

    /// A function that runs both loops.
    fn in_two(
        &self,
        parts: InTwo,
        names: Vec<String>,
        building: &mut Building,
        functions: &mut Functions,
    ) -> ForFeatures {
        let features = self.features(names, building);
        let iterations = self.both(parts, Some(features), building, functions);
        ForFeatures { features, iterations, not_first: false }
    }

    /// The same, for machines with features if some are given.
    fn both(
        &self,
        parts: InTwo,
        features: Option<FeatureSetId>,
        building: &mut Building,
        functions: &mut Functions,
    ) -> FunctionId {
        let InTwo { first, serial, many, serial_is_last } = parts;
        let mut f = self.begin();
        let n = f.scalar_parameter("n_iterations", Type::U32);
        let n = f.read(n);
        let arguments = || vec![Argument::Reference(Place::variable(CONTEXT)), Argument::Value(n.clone())];
        if serial_is_last {
            f.call(None, first, arguments());
        }
        match many {
            None => f.call(None, serial, arguments()),
            Some((many, least)) => f.either(
                n.clone().at_least(Expr::u32(least as u32)),
                |f| f.call(None, many, arguments()),
                |f| f.call(None, serial, arguments()),
            ),
        }
        if !serial_is_last {
            f.call(None, first, arguments());
        }
        f.features = features;
        let about =
            "runs a loop as two: iterations that are independent of each other, and what goes on from one to the next";
        functions.add(building, f, "distributed", about, None)
    }
}
