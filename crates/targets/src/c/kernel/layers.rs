//! Vectorisation within an iteration: a state of bytes in one 512-bit register. An iteration as registers of 64 bytes,
//! one iteration after the other.
//!
//! What [`byte_layers`] finds is printed layer by layer. A table of 256 bytes lies in four registers, from which bytes
//! are chosen, so no address depends on a value; permutations are one instruction each, and so is a linear map of all
//! bytes.

use super::loop_frame::{CFunction, LoopNames, OPERATION, Support, counter_bounds, counter_ends, head};
use super::machine::Machine;
use super::words::NotApplicable;
use super::work::Work;
use headrace_boolean::byte_permute::AffineByte;
use headrace_boolean::matrix::BitMatrix;
use headrace_machines::cost_model::Layers;
use headrace_transform::kernel::evidence::{DRAWS, ITERATIONS};
use headrace_transform::kernel::{Evidence, Loop};
use headrace_transform::passes::byte_layers::{
    self, ByteLayers, IDENTITY, LANES, Layer, Linear, Order, Place, Term, apply, byte_layers, layers_agree,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What layers are held to.
const EVIDENCE: &[Evidence] = &[
    Evidence::Exhaustive { what: "functions of bytes", cases: 256 },
    Evidence::Trial { what: "layers against the loop", iterations: DRAWS * ITERATIONS },
    Evidence::Test { what: "layers", test: "crates/targets/tests/kernel_loops.rs layers_do_what_loops_mean" },
];

/// Prints a loop as layers of bytes.
///
/// # Errors
///
/// Why it cannot be: the loop is none of bytes or only moves and adds them, or the machine cannot permute and map
/// bytes.
pub(super) fn layers(body: &Loop, machine: &Machine, names: &LoopNames) -> Result<CFunction, NotApplicable> {
    if !machine.byte_permute || !machine.affine || machine.vector_bits != 8 * LANES as u32 {
        return Err(NotApplicable("bytes of a register are not permuted and mapped".into()));
    }
    let found = byte_layers::PASS.tried(|| byte_layers(body));
    let found = found.ok_or_else(|| NotApplicable("an iteration is not made of layers of bytes".into()))?;
    if !layers_agree(body, &found) {
        return Err(NotApplicable("layers say something else than the loop".into()));
    }
    let computes = |term: &Term| term.table.is_some() || term.map != IDENTITY;
    if !found.layers.iter().any(|layer| matches!(layer, Layer::Sum { terms, .. } if terms.iter().any(computes))) {
        return Err(NotApplicable("bytes are only moved and added: words do as well".into()));
    }
    let mut printer = Printer {
        found: &found,
        costs: &machine.costs.layers,
        once: String::new(),
        text: String::new(),
        constants: BTreeMap::new(),
        n_instructions: 0,
    };
    let mut registers = Vec::new();
    for number in 0..found.layers.len() {
        let register = printer.layer(body, names, number, &registers);
        registers.push(register);
    }
    let (mut loads, mut next, mut ends) = (String::new(), String::new(), String::new());
    for written in &found.written {
        let value = printer.permuted(&registers[written.layer].name, &written.order);
        let ones = ones(written.order.len());
        match written.place {
            Place::Tokens { port, first } => {
                // Before anything has its next value: it may be one from the iteration before.
                let _ = writeln!(
                    printer.text,
                    "    _mm512_mask_storeu_epi8((uint8_t *)out{port} + {first}, {ones}, {value});"
                );
            }
            Place::Next(layer) => {
                let name = format!("w{layer}_");
                let place = place(body, names, &found.layers[layer]);
                let _ = writeln!(printer.text, "    const __m512i {name} = {value};");
                let _ = writeln!(loads, "  __m512i v{layer}_ = _mm512_maskz_loadu_epi8({ones}, {place});");
                let _ = writeln!(next, "    v{layer}_ = {name};");
                let _ = writeln!(ends, "  _mm512_mask_storeu_epi8({place}, {ones}, v{layer}_);");
            }
        }
    }
    let depth = registers.iter().map(|register| register.depth).max().unwrap_or(0);
    let cycles = machine.costs.layered(depth, printer.n_instructions);
    let size = OPERATION * printer.n_instructions as usize;
    let Printer { once, text: iteration, .. } = printer;
    let mut text = head(body, Some(machine), names);
    text.push_str("  if (iterations == 0) return;\n");
    text.push_str(&counter_bounds(body, names.names));
    text.push_str(&once);
    text.push_str(&loads);
    let _ = write!(text, "  while (iterations-- != 0) {{\n{iteration}{next}");
    for (port, &(tokens, _)) in body.consumes.iter().enumerate().filter(|(_, port)| port.0 > 0) {
        let _ = writeln!(text, "    in{port} += {tokens};");
    }
    for (port, &(tokens, _)) in body.produces.iter().enumerate().filter(|(_, port)| port.0 > 0) {
        let _ = writeln!(text, "    out{port} += {tokens};");
    }
    let _ = write!(text, "  }}\n{ends}");
    text.push_str(&counter_ends(body, names.names));
    text.push_str("}\n");
    let support = vec![Support::of_all(SUPPORT)];
    Ok(CFunction {
        name: names.function.to_owned(),
        support,
        text,
        cycles,
        size,
        evidence: EVIDENCE.to_vec(),
        work: Work::default(),
    })
}

/// Looking up.
const SUPPORT: &str = "#include <immintrin.h>
#define HR_BYTES_OF(x, a, b, c, d) _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), _mm512_permutex2var_epi8(a, x, b), _mm512_permutex2var_epi8(c, x, d))
";

/// The address of a layer in memory.
fn place(body: &Loop, names: &LoopNames, layer: &Layer) -> String {
    match *layer {
        Layer::Tokens { port, first, .. } => format!("(const uint8_t *)in{port} + {first}"),
        Layer::Elements { object, first, .. } => {
            let object = &body.objects[object.0 as usize];
            format!("(uint8_t *)&{} + {first}", names.names.element(object, "0"))
        }
        Layer::Sum { .. } => String::new(),
    }
}

/// A mask of so many lanes.
fn ones(n: usize) -> String {
    format!("{:#x}u", u64::MAX >> (LANES - n.clamp(1, LANES)))
}

/// A value that is there after so many cycles.
#[derive(Clone, Debug)]
struct Register {
    depth: u32,
    name: String,
}

struct Printer<'a> {
    found: &'a ByteLayers,
    costs: &'a Layers,
    /// What stands before the loop.
    once: String,
    /// An iteration.
    text: String,
    /// Registers with constants, by their bytes.
    constants: BTreeMap<Vec<u8>, String>,
    n_instructions: u32,
}

impl Printer<'_> {
    /// The bytes of a constant as a register.
    fn constant(&mut self, mut bytes: Vec<u8>) -> String {
        bytes.resize(LANES, 0);
        if let Some(name) = self.constants.get(&bytes) {
            return name.clone();
        }
        let name = format!("k{}_", self.constants.len());
        let list: Vec<String> = bytes.iter().map(u8::to_string).collect();
        let _ = writeln!(self.once, "  static const uint8_t {name}bytes[{LANES}] = {{{}}};", list.join(","));
        let _ = writeln!(self.once, "  const __m512i {name} = _mm512_loadu_si512({name}bytes);");
        self.constants.insert(bytes, name.clone());
        name
    }

    fn computed(&mut self, depth: u32, value: &str) -> Register {
        let name = format!("r{}_", self.n_instructions);
        self.n_instructions += 1;
        let _ = writeln!(self.text, "    const __m512i {name} = {value};");
        Register { depth, name }
    }

    fn permuted(&mut self, register: &str, order: &Order) -> String {
        if order.iter().enumerate().all(|(lane, from)| from.is_none_or(|from| usize::from(from) == lane))
            && order.iter().all(Option::is_some)
        {
            return register.to_owned();
        }
        self.n_instructions += 1;
        let bytes = order.iter().map(|from| from.unwrap_or(0)).collect();
        let order_name = self.constant(bytes);
        let taken: u64 =
            order.iter().enumerate().filter(|(_, from)| from.is_some()).fold(0, |taken, (lane, _)| taken | 1 << lane);
        // What lies behind the last lane of a layer is never read.
        match taken == u64::MAX >> (LANES - order.len().clamp(1, LANES)) {
            true => format!("_mm512_permutexvar_epi8({order_name}, {register})"),
            false => format!("_mm512_maskz_permutexvar_epi8({taken:#x}u, {order_name}, {register})"),
        }
    }

    fn layer(&mut self, body: &Loop, names: &LoopNames, number: usize, registers: &[Register]) -> Register {
        let layer = &self.found.layers[number];
        let name = format!("v{number}_");
        let load = |n: usize| {
            format!("const __m512i {name} = _mm512_maskz_loadu_epi8({}, {});", ones(n), place(body, names, layer))
        };
        match layer {
            Layer::Elements { carried: true, .. } => {}
            Layer::Elements { n, .. } => _ = writeln!(self.once, "  {}", load(*n)),
            Layer::Tokens { n, .. } => {
                self.n_instructions += 1;
                let _ = writeln!(self.text, "    {}", load(*n));
            }
            Layer::Sum { constant, terms } => return self.sum(constant, terms, registers),
        }
        Register { depth: 0, name }
    }

    fn sum(&mut self, constant: &[u8], terms: &[Term], registers: &[Register]) -> Register {
        let mut all: Vec<Register> = Vec::new();
        if constant.iter().any(|&byte| byte != 0) {
            let name = self.constant(constant.to_vec());
            all.push(Register { depth: 0, name });
        }
        let mut permuted: BTreeMap<(usize, Option<usize>, &Order), Register> = BTreeMap::new();
        let mut looked_up: BTreeMap<(usize, usize), Register> = BTreeMap::new();
        for term in terms {
            let mut added = Vec::new();
            for order in &term.orders {
                let key = (term.layer, term.table, order);
                if let Some(known) = permuted.get(&key) {
                    added.push(known.clone());
                    continue;
                }
                let mut from = registers[term.layer].clone();
                if let Some(table) = term.table {
                    from = match looked_up.get(&(term.layer, table)) {
                        Some(known) => known.clone(),
                        None => self.look_up(&from, table),
                    };
                    looked_up.insert((term.layer, table), from.clone());
                }
                let value = self.permuted(&from.name, order);
                let register = match value == from.name {
                    true => from,
                    false => Register { depth: from.depth + self.costs.permute.value, ..self.computed(0, &value) },
                };
                permuted.insert(key, register.clone());
                added.push(register);
            }
            if term.map == IDENTITY {
                all.extend(added);
                continue;
            }
            let sum = self.added(added);
            let matrix = self.constant(matrix(&term.map));
            let value = format!("_mm512_gf2p8affine_epi64_epi8({}, {matrix}, 0)", sum.name);
            all.push(self.computed(sum.depth + self.costs.map.value, &value));
        }
        self.added(all)
    }

    /// The sum of registers, those first that are there first.
    fn added(&mut self, mut all: Vec<Register>) -> Register {
        while all.len() > 1 {
            all.sort_by_key(|register| std::cmp::Reverse(register.depth));
            // Three at once, but so that three are left in the end.
            let n = if all.len().is_multiple_of(2) { 2 } else { 3 };
            let parts = all.split_off(all.len() - n);
            let depth = parts.iter().map(|part| part.depth).max().unwrap_or(0) + self.costs.add.value;
            let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
            let value = match names.as_slice() {
                [a, b, c] => format!("_mm512_ternarylogic_epi64({a}, {b}, {c}, 0x96)"),
                _ => format!("_mm512_xor_si512({})", names.join(", ")),
            };
            let sum = self.computed(depth, &value);
            all.push(sum);
        }
        all.pop().unwrap_or_else(|| Register { depth: 0, name: "_mm512_setzero_si512()".to_owned() })
    }

    /// All bytes of a register looked up.
    fn look_up(&mut self, from: &Register, table: usize) -> Register {
        let values = self.found.tables[table];
        if let Some(affine) = AffineByte::of_table_of_inverses(&values) {
            let matrix = self.constant(affine.matrix.to_le_bytes().repeat(LANES / 8));
            let value = format!("_mm512_gf2p8affineinv_epi64_epi8({}, {matrix}, {})", from.name, affine.constant);
            return self.computed(from.depth + self.costs.map.value, &value);
        }
        let quarters: Vec<String> = values.chunks(LANES).map(|quarter| self.constant(quarter.to_vec())).collect();
        self.n_instructions += 3;
        let depth = from.depth + self.costs.look_up.value;
        self.computed(depth, &format!("HR_BYTES_OF({}, {})", from.name, quarters.join(", ")))
    }
}

/// A map as the instruction takes it, for all bytes of a register.
fn matrix(map: &Linear) -> Vec<u8> {
    let matrix = BitMatrix::from_u128_map(8, 8, |x| u128::from(apply(map, x as u8)));
    let affine = AffineByte::of_matrix(&matrix).map_or(0, |affine| affine.matrix);
    affine.to_le_bytes().repeat(LANES / 8)
}
