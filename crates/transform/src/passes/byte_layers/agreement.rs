//! Semantics of byte layers, and their validation. What layers mean, and whether that is what the loop means.

use super::{ByteLayers, Layer, Place, apply};
use crate::kernel::evaluate::{World, run_loop};
use crate::kernel::evidence::{DRAWS, ITERATIONS, drawn};
use crate::kernel::{Loop, ObjectId};
use rustc_hash::FxHashSet;

/// Bits of a byte.
const BITS: u32 = 8;

/// Bytes of a list of elements or tokens of some bits, the lowest of each first.
fn byte_of(list: &[u128], width: u32, at: usize) -> Option<u8> {
    let per = (width / BITS).max(1) as usize;
    list.get(at / per).map(|&value| (value >> (at % per * BITS as usize)) as u8)
}

fn put_byte(list: &mut [u128], width: u32, at: usize, byte: u8) -> Option<()> {
    let (per, shift) = ((width / BITS).max(1) as usize, BITS as usize);
    let value = list.get_mut(at / per)?;
    let lo = at % per * shift;
    *value = *value & !(0xff << lo) | u128::from(byte) << lo;
    Some(())
}

/// Does what layers say of an iteration; `None` where they speak of what is not there.
pub(super) fn run(found: &ByteLayers, body: &Loop, world: &mut World) -> Option<()> {
    let mut values: Vec<Vec<u8>> = Vec::new();
    for layer in &found.layers {
        let bytes: Option<Vec<u8>> = match layer {
            Layer::Tokens { port, first, n } => {
                let tokens = world.inputs.get(*port)?.get(world.consumed[*port]..)?;
                (*first..first + n).map(|at| byte_of(tokens, body.consumes[*port].1, at)).collect()
            }
            Layer::Elements { object, first, n, .. } => {
                let (elements, width) = (world.objects.get(object.0 as usize)?, body.objects[object.0 as usize].width);
                (*first..first + n).map(|at| byte_of(elements, width, at)).collect()
            }
            Layer::Sum { constant, terms } => {
                let mut sum = constant.clone();
                for term in terms {
                    let table = |x: u8| term.table.map_or(x, |table| found.tables[table][usize::from(x)]);
                    for (lane, byte) in sum.iter_mut().enumerate() {
                        let taken = term.orders.iter().filter_map(|order| *order.get(lane)?);
                        let of = |from: u8| values[term.layer].get(usize::from(from)).copied().unwrap_or(0);
                        let added = taken.fold(0, |sum, from| sum ^ table(of(from)));
                        *byte ^= apply(&term.map, added);
                    }
                }
                Some(sum)
            }
        };
        values.push(bytes?);
    }
    for (tokens, &(n, _)) in world.outputs.iter_mut().zip(&body.produces) {
        tokens.resize(tokens.len() + n as usize, 0);
    }
    for written in &found.written {
        for (at, lane) in written.order.iter().enumerate() {
            let byte = lane.map_or(0, |lane| values[written.layer].get(usize::from(lane)).copied().unwrap_or(0));
            match written.place {
                Place::Tokens { port, first } => {
                    let (n, width) = body.produces[port];
                    let from = world.outputs[port].len() - n as usize;
                    put_byte(&mut world.outputs[port][from..], width, first + at, byte)?;
                }
                Place::Next(layer) => {
                    let Layer::Elements { object, first, .. } = found.layers.get(layer)? else { return None };
                    let width = body.objects[object.0 as usize].width;
                    put_byte(world.objects.get_mut(object.0 as usize)?, width, first + at, byte)?;
                }
            }
        }
    }
    for (consumed, &(n, _)) in world.consumed.iter_mut().zip(&body.consumes) {
        *consumed += n as usize;
    }
    Some(())
}

/// Whether layers say what the loop says, of random tokens and elements: all tokens, and the elements that they write.
/// What goes on otherwise, counters, is not theirs.
pub fn layers_agree(body: &Loop, found: &ByteLayers) -> bool {
    let written: FxHashSet<ObjectId> = found
        .written
        .iter()
        .filter_map(|written| match written.place {
            Place::Next(layer) => match found.layers.get(layer) {
                Some(Layer::Elements { object, .. }) => Some(*object),
                _ => None,
            },
            Place::Tokens { .. } => None,
        })
        .collect();
    (0..DRAWS).all(|seed| {
        let mut meant = drawn(body, ITERATIONS, seed);
        let mut said = meant.clone();
        run_loop(body, &mut meant, ITERATIONS);
        (0..ITERATIONS).all(|_| run(found, body, &mut said).is_some())
            && meant.outputs == said.outputs
            && written.iter().all(|object| meant.objects[object.0 as usize] == said.objects[object.0 as usize])
    })
}
