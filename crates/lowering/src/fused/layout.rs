//! Where the parts of a fused network lie in its context.

use crate::boundary::outside;
use crate::building::{Building, MAX_ELEMENTS};
use headrace_ir::{Network, Port, Scalar};
use headrace_program::{Expr, FieldType, Place, RecordId, Type, VariableId};
use headrace_transform::control::{Automaton, Holds};
use headrace_transform::kernel::{Object, ObjectId};

/// Fields of the context.
pub(super) struct Fields {
    pub context: RecordId,
    /// The network with its scheduler, where the automaton may leave to it.
    pub scheduled: Option<u32>,
    /// It goes on: `Bool`.
    pub left: u32,
    /// The state: `U32`.
    pub state: u32,
    /// Transitions that may still run: `U64`.
    pub budget: u32,
    /// The last run ended because room was missing: `Bool`.
    pub full: u32,
    /// An error of the program ended it: `Bool`.
    pub failed: u32,
    /// Of each object, where it lives from transition to transition.
    pub objects: Vec<Option<u32>>,
    pub inputs: Vec<Buffer>,
    pub outputs: Vec<Buffer>,
}

/// Tokens that wait at a port: they lie one beside the other, from `first` on.
pub(super) struct Buffer {
    /// The tokens, as the outside has them.
    pub tokens: u32,
    /// Which is the first: `U32`.
    pub first: u32,
    /// How many there are: `U32`.
    pub there: u32,
    /// For how many there is room.
    pub size: u32,
    /// Type of an element outside.
    pub element: Type,
    pub scalar: Scalar,
}

/// Tokens that wait at a port which has few for each message, such as keys and sizes.
const FEW_TOKENS: u32 = 256;

/// The type in which elements of a width are stored; beyond 64 bits there are two for each.
pub(super) fn element(width: u32) -> Type {
    match width {
        ..=8 => Type::U8,
        9..=16 => Type::U16,
        17..=32 => Type::U32,
        _ => Type::U64,
    }
}

/// Stored elements of an object.
pub(super) fn stored_length(object: &Object) -> u64 {
    object.length as u64 * if object.width > 64 { 2 } else { 1 }
}

impl Fields {
    /// The tokens that an input port of a loop stands for: those of the network, and behind them tokens that were just made, of
    /// the output ports.
    pub fn read(&self, port: usize) -> &Buffer {
        match port.checked_sub(self.inputs.len()) {
            None => &self.inputs[port],
            Some(port) => &self.outputs[port],
        }
    }

    /// Lays out the context; what is too large for it is the reason why not.
    pub fn new(
        network: &Network,
        automaton: &Automaton,
        scheduled: Option<RecordId>,
        boundary_tokens: u32,
        building: &mut Building,
    ) -> Result<Fields, String> {
        let short = network.name.rsplit('.').next().unwrap_or(&network.name);
        let about = format!("the whole state of {}", network.name);
        let context = building.record(&format!("{short}_fused"), &about, Vec::new());
        let scalar = FieldType::Scalar;
        let state = building.field(context, "state", scalar(Type::U32), "where the control is");
        let budget = building.field(context, "budget", scalar(Type::U64), "steps that are left");
        let full = building.field(context, "full", scalar(Type::Bool), "room was missing");
        let failed = building.field(context, "failed", scalar(Type::Bool), "an index was outside of its list");
        let left = building.field(context, "left", scalar(Type::Bool), "the network with its scheduler goes on");
        let mut objects = Vec::new();
        for (object, holds) in automaton.objects.iter().zip(&automaton.holds) {
            if !object.lives_on() {
                objects.push(None);
                continue;
            }
            if stored_length(object) > MAX_ELEMENTS {
                return Err(format!("`{}` is too large", object.name));
            }
            let ty = FieldType::Array(element(object.width), stored_length(object) as u32);
            let about = match holds {
                Holds::Variable(instance, _) => format!("of `{}`", network.instances[instance.index()].name),
                Holds::Fifo(_) => "tokens of a FIFO".to_owned(),
                Holds::Local => String::new(),
            };
            objects.push(Some(building.field(context, &object.name, ty, &about)));
        }
        let sizes = |most: Vec<u64>, in_bulk: Vec<bool>| {
            most.into_iter().zip(in_bulk).map(move |(most, in_bulk)| {
                let least = if in_bulk { boundary_tokens } else { boundary_tokens.min(FEW_TOKENS) };
                (most, most.saturating_mul(2).max(least.into()))
            })
        };
        let (n_inputs, n_outputs) = (network.inputs.len(), network.outputs.len());
        let (read_in_bulk, written_in_bulk) = automaton.in_bulk(n_inputs, n_outputs);
        let awaited = sizes(automaton.most_awaited(n_inputs), read_in_bulk);
        let inputs = buffers(context, "in", &network.inputs, awaited, building)?;
        let produced = sizes(automaton.most_produced(n_outputs), written_in_bulk);
        let outputs = buffers(context, "out", &network.outputs, produced, building)?;
        let scheduled = scheduled.map(|record| {
            building.field(context, "scheduled", FieldType::Record(record), "the network with its scheduler")
        });
        Ok(Fields { context, scheduled, left, state, budget, full, failed, objects, inputs, outputs })
    }
}

fn buffers(
    context: RecordId,
    direction: &str,
    ports: &[Port],
    sizes: impl Iterator<Item = (u64, u64)>,
    building: &mut Building,
) -> Result<Vec<Buffer>, String> {
    let buffer = |(port, (most, size)): (&Port, (u64, u64))| {
        if port.ty.width() > 64 {
            return Err(format!("tokens of `{}` have more than 64 bits", port.name));
        }
        if size > MAX_ELEMENTS {
            return Err(format!("`{}` needs room for {most} tokens at once", port.name));
        }
        let (element, name) = (outside(port.ty), &port.name);
        let index = FieldType::Scalar(Type::U32);
        Ok(Buffer {
            first: building.field(context, &format!("{direction}_{name}_first"), index, "the first token that waits"),
            there: building.field(context, &format!("{direction}_{name}_there"), index, "tokens that wait"),
            tokens: building.field(
                context,
                &format!("{direction}_{name}"),
                FieldType::Array(element, size as u32),
                "tokens at the boundary",
            ),
            size: size as u32,
            element,
            scalar: port.ty,
        })
    };
    ports.iter().zip(sizes).map(buffer).collect()
}

/// The types of slots, which lanes have each of their own.
pub(super) const SLOTS: [Type; 2] = [Type::U32, Type::U64];

/// Where the slots of a lane lie.
#[derive(Clone, Debug)]
pub(super) struct LaneSlots {
    /// The objects that stand for them.
    pub objects: [ObjectId; 2],
    /// The fields that they are elements of.
    pub fields: [Option<u32>; 2],
    /// Which lane it is.
    pub lane: VariableId,
    /// How many there are.
    pub count: u32,
}

impl LaneSlots {
    /// The same of another lane.
    pub fn of(&self, lane: VariableId) -> Self {
        Self { lane, ..self.clone() }
    }

    /// Where the lane has its own of a slot.
    pub fn index(&self, slot: Expr) -> Expr {
        slot.times(Expr::u32(self.count)).plus(Expr::read(Place::variable(self.lane), Type::U32))
    }
}
