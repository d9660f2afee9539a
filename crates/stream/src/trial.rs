//! Trials of kernels: random tokens and keys, on the simulator and by the evaluator of loops.

use crate::kernel::Kernel;
use crate::legalize::is_chain;
use crate::machine::Machine;
use crate::simulate::{self, Data, Fault, Outcome};
use crate::words::{BITS, Stream, Why, WordCode};
use headrace_kernel::Loop;
use headrace_kernel::evaluate::{World, run_loop};
use headrace_kernel::graph::mask;
use headrace_scheduling::chance::states;
use std::time::Instant;

/// Numbers by chance, for a seed always the same.
pub(crate) fn numbers(seed: u64) -> impl FnMut() -> u128 {
    let mut state = states(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut next = move || u128::from(state() >> 32);
    move || next() << 96 | next() << 64 | next() << 32 | next()
}

/// Words of a stream of tokens.
pub fn words_of(stream: &Stream, tokens: &[u128]) -> Vec<u32> {
    let per_record = stream.tokens as usize;
    let mut words = Vec::new();
    for record in tokens.chunks(per_record) {
        let base = words.len();
        words.resize(base + stream.words as usize, 0_u32);
        for (at, token) in record.iter().enumerate() {
            let mut below = 0;
            for (word, lo, width) in stream.place(at as u64) {
                words[base + word as usize] |= ((token >> below) as u32 & mask(width) as u32) << lo;
                below += width;
            }
        }
    }
    words
}

/// Tokens of the words of a stream.
pub fn tokens_of(stream: &Stream, words: &[u32]) -> Vec<u128> {
    let mut tokens = Vec::new();
    for record in words.chunks(stream.words as usize) {
        for at in 0..stream.tokens {
            let mut below = 0;
            let mut token = 0;
            for (word, lo, width) in stream.place(at) {
                token |= (u128::from(record[word as usize] >> lo) & mask(width)) << below;
                below += width;
            }
            tokens.push(token);
        }
    }
    tokens
}

/// Takes the streams of channels apart, or puts them together: record `i` of channel `c` is record `i * n + c` of all.
pub fn interleave(channels: &[Vec<u32>], words: usize) -> Vec<u32> {
    let records = channels.iter().map(|one| one.len() / words.max(1)).max().unwrap_or(0);
    let mut all = Vec::with_capacity(records * words * channels.len());
    for record in 0..records {
        for channel in channels {
            all.extend_from_slice(&channel[record * words..(record + 1) * words]);
        }
    }
    all
}

/// Whether two loops over the same ports and objects do the same on some random tokens and objects.
pub fn means_the_same(one: &Loop, other: &Loop) -> bool {
    const ITERATIONS: usize = 3;
    let mut next = numbers(7);
    (0..2).all(|_| {
        let objects: Vec<Vec<u128>> = one
            .objects
            .iter()
            .map(|object| (0..object.length).map(|_| next() & mask(object.width)).collect())
            .collect();
        let inputs: Vec<Vec<u128>> = one
            .consumes
            .iter()
            .map(|&(n, bits)| (0..n as usize * ITERATIONS).map(|_| next() & mask(bits)).collect())
            .collect();
        let world =
            World { consumed: vec![0; inputs.len()], inputs, outputs: vec![Vec::new(); one.produces.len()], objects };
        let run = |body: &Loop| {
            let mut world = world.clone();
            run_loop(body, &mut world, ITERATIONS as u64);
            (world.outputs, world.objects)
        };
        run(one) == run(other)
    })
}

/// Holds a kernel to its loop on so many iterations and a half: cycles of clusters in a second of simulation.
///
/// # Errors
///
/// The first difference.
pub fn trial(kernel: &Kernel, machine: &Machine, body: &Loop, iterations: usize, seed: u64) -> Result<f64, String> {
    let channels = is_chain(body);
    let run = |data: &Data| simulate::run(kernel, machine, body, data, channels);
    trial_of(&kernel.placed.code, machine, body, iterations, seed, &run)
}

/// The same of what runs some code in another way.
///
/// # Errors
///
/// The first difference.
pub fn trial_of(
    code: &WordCode,
    machine: &Machine,
    body: &Loop,
    iterations: usize,
    seed: u64,
    run: &dyn Fn(&Data) -> Result<Outcome, Fault>,
) -> Result<f64, String> {
    let clusters = *machine.clusters as usize;
    let channels = is_chain(body);
    let mut next = numbers(seed);
    let object = |object: &headrace_kernel::Object, next: &mut dyn FnMut() -> u128| -> Vec<u128> {
        (0..object.length).map(|_| next() & mask(object.width)).collect()
    };
    let tables: Vec<Vec<u128>> = body.objects.iter().map(|one| object(one, &mut next)).collect();
    let indexed = body.read_at_unknown_places();
    let carried: Vec<bool> =
        (0..body.objects.len()).map(|at| body.carried.iter().any(|one| one.object.0 as usize == at)).collect();
    let n_worlds = if channels { clusters } else { 1 };
    // Records that do not fill all clusters in the last iteration; channels have all of theirs.
    let records = if channels { iterations * clusters } else { iterations * clusters + clusters / 2 };
    let mut worlds = Vec::new();
    for _ in 0..n_worlds {
        let mut objects = tables.clone();
        for (at, elements) in objects.iter_mut().enumerate() {
            // What all clusters look up is the same for all; the rest is each channel's own.
            if carried[at] || !indexed.contains(&headrace_kernel::ObjectId(at as u32)) {
                *elements = object(&body.objects[at], &mut next);
            }
        }
        let per_world = records / n_worlds;
        let inputs =
            body.consumes.iter().map(|&(n, bits)| (0..n as usize * per_world).map(|_| next() & mask(bits)).collect());
        let inputs: Vec<Vec<u128>> = inputs.collect();
        worlds.push(World {
            consumed: vec![0; inputs.len()],
            inputs,
            outputs: vec![Vec::new(); body.produces.len()],
            objects,
        });
    }
    let streams = code.inputs.iter().map(|stream| {
        let of = |world: &World| words_of(stream, &world.inputs[stream.port as usize]);
        interleave(&worlds.iter().map(of).collect::<Vec<_>>(), stream.words as usize)
    });
    let data = Data {
        streams: streams.collect(),
        records,
        objects: worlds.iter().map(|world| world.objects.clone()).collect(),
        given: Vec::new(),
    };
    // Tokens before the first are zero for both.
    let start = Instant::now();
    let outcome = run(&data).map_err(|fault| fault.to_string())?;
    let seconds = start.elapsed().as_secs_f64();
    for world in &mut worlds {
        run_loop(body, world, (records / n_worlds) as u64);
    }
    for (number, stream) in code.outputs.iter().enumerate() {
        let of = |world: &World| words_of(stream, &world.outputs[stream.port as usize]);
        let expected = interleave(&worlds.iter().map(of).collect::<Vec<_>>(), stream.words as usize);
        if let Some(at) = (0..expected.len()).find(|&at| outcome.streams[number].get(at) != Some(&expected[at])) {
            return Err(format!(
                "word {at} of {} of the stream to port {} is {:08x}, and should be {:08x}",
                expected.len(),
                stream.port,
                outcome.streams[number].get(at).copied().unwrap_or(0),
                expected[at]
            ));
        }
    }
    // What chains came to.
    for (at, one) in code.carried.iter().enumerate().filter(|(_, one)| one.why == Why::Chain) {
        let values = &outcome.carried[at];
        if values.is_empty() {
            continue;
        }
        for (cluster, world) in worlds.iter().enumerate() {
            let (expected, compared) = match one.first {
                crate::words::First::Elements { object, word } => {
                    let of = &body.objects[object as usize];
                    let big_endian = code.inputs.first().is_none_or(|stream| stream.big_endian);
                    let all = vec![mask(of.width); of.length];
                    let of_elements = |elements: &[u128]| simulate::packed(elements, of.width, word, big_endian);
                    (of_elements(&world.objects[object as usize]), of_elements(&all))
                }
                crate::words::First::Element { object, index, word } => {
                    let width = body.objects[object as usize].width - BITS * word;
                    ((world.objects[object as usize][index] >> (BITS * word)) as u32, mask(width.min(BITS)) as u32)
                }
                _ => continue,
            };
            if (values[cluster] ^ expected) & compared != 0 {
                return Err(format!(
                    "carried word {at} of cluster {cluster} is {:08x}, and should be {expected:08x}",
                    values[cluster]
                ));
            }
        }
    }
    Ok(outcome.cycles as f64 * clusters as f64 / seconds)
}
