//! Loop versioning for short trip counts. Few iterations of a loop that was taken apart: both parts of them in one
//! register.
//!
//! A message of 64 bytes has four blocks of a cipher. What calls, prologues and epilogues of loops for long messages cost is
//! more than the blocks do themselves, so that as many iterations as a register has parts, and fewer, have code without
//! any: what the independent part has made goes on to the recurrence in the register where it is,
//!
//! ```text
//! x' = (x ^ a1) ∘ h^n  ^  a2 ∘ h^(n-1)  ^ … ^  an ∘ h
//! ```
//!
//! with the last `n` of the powers that are kept.

use super::blocks::{Blocks, Onward, few_blocks};
use super::loop_frame::{CFunction, LoopNames, OPERATION, Support};
use super::recurrence::{
    BYTES, Memo, REGISTERS, Registers, Value, attribute, blocks_of, constant, features, loaded_so, memo,
    store_state_so, support, turns_bytes, values_behind, values_of,
};
use super::words::NotApplicable;
use headrace_boolean::bilinear::carryless::{Op, Plan};
use headrace_instructions::Description;
use headrace_transform::kernel::Loop;
use headrace_transform::passes::distribute_recurrence::{Added, SplitLoop};
use headrace_vectorize::products::{self, of_bytes, turns_bits};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Prints both parts of a loop for few iterations, no more than a register of 512 bits has parts: the recurrence goes over
/// blocks in the register that the independent part, `selected` after instruction selection, has or makes. Only where
/// the powers that it takes are there: see [`condition`].
///
/// # Errors
///
/// Why it cannot be: powers that are not kept from call to call, or blocks that are not in one register.
pub fn short_trip(
    split: &SplitLoop,
    selected: &Loop,
    descriptions: &[Description],
    names: &LoopNames,
) -> Result<Blocks, NotApplicable> {
    let (body, recurrence, bits) = (&split.independent, &split.recurrence, 512);
    let tokens = blocks_of(split)?;
    if body.produces.iter().all(|port| port.0 == 0) {
        return Err(NotApplicable("what makes no tokens has little to save".into()));
    }
    let plan = products::plan(recurrence, bits)?;
    let Some(Memo { powers, .. }) = memo(recurrence, body, &plan, names) else {
        return Err(NotApplicable("powers are not kept from call to call".into()));
    };
    let (wide, n_keys) = (Registers { bits, turns_bits: true }, plan.prepare_y.outputs().len());
    let turned = turns_bytes(&plan);
    let statements = |blocks: &str| {
        let x = loaded_so(body, &recurrence.state, turned, names);
        let mut text = format!("      __m128i x = {x};\n");
        // Behind the powers of all registers but the last.
        let at = (REGISTERS - 1) * n_keys * 64;
        let keys = names.names.element(&powers, &at.to_string());
        let mut values = Vec::new();
        let begin = |blocks: &str| format!("HR_CL_XOR512({blocks}, HR_CL_ONLY512(x))");
        let mut value = |name: &str, value: String| values.push(Value { bits, name: name.into(), value });
        let before = match turned {
            true => {
                value(
                    "turned_",
                    format!("HR_CL_SHUFFLE512({blocks}, {})", constant(of_bytes(|at| 15 - at as u8), bits)),
                );
                value("x_", begin("turned_"));
                vec![String::new(), "x_".into()]
            }
            false => {
                value("x_", begin(blocks));
                vec!["x_".into()]
            }
        };
        let mut factors = prepared(&plan, before, wide, &mut values);
        for key in 0..n_keys {
            let value = format!("HR_CL_LAST512(n_, HR_CL_LOAD512(&{keys} + {}))", key * 64);
            values.push(Value { bits, name: format!("key{key}_"), value });
            factors.push(format!("key{key}_"));
        }
        let sums = values_of(&plan.multiply, &factors, wide, "m", &mut values);
        for (at, sum) in sums.iter().enumerate() {
            let value = format!("HR_CL_FOLDED512({sum})");
            values.push(Value { bits: 128, name: format!("whole{at}_"), value });
        }
        let whole = (0..sums.len()).map(|at| format!("whole{at}_")).collect();
        let narrow = Registers { bits: 128, ..wide };
        let result = reduced(&plan, whole, narrow, turned, &mut values);
        values.iter().for_each(|value| value.constant(&mut text));
        let _ = writeln!(text, "      x = {result};");
        store_state_so(body, recurrence, turned, names, &mut text);
        text
    };
    let onward =
        Onward { port: tokens.port, is_output: tokens.is_output, statements: &statements, features: features(bits) };
    let mut blocks = few_blocks(selected, descriptions, names, &onward)?;
    blocks.function.support.extend([128, bits].map(|bits| Support::of_all(support(bits))));
    Ok(blocks)
}

/// Prints a recurrence that is gone through once, as [`product_once`], by a power that is kept in registers of `bits`, 256
/// or 512; `otherwise` is that, for where none is.
///
/// # Errors
///
/// As [`product_once`], and where powers are not kept from call to call.
///
/// [`product_once`]: super::product_once
pub fn product_kept(
    split: &SplitLoop,
    otherwise: (&CFunction, &BTreeSet<String>),
    bits: u32,
    names: &LoopNames,
) -> Result<(CFunction, BTreeSet<String>), NotApplicable> {
    let (body, recurrence) = (&split.independent, &split.recurrence);
    let Added::Elements(added) = &recurrence.added else {
        return Err(NotApplicable("what is added are tokens".into()));
    };
    let plan = products::plan(recurrence, bits)?;
    let Some(Memo { powers, known }) = memo(recurrence, body, &plan, names) else {
        return Err(NotApplicable("powers are not kept from call to call".into()));
    };
    let features = features(bits);
    let (otherwise, needs) = otherwise;
    let [own, others] = [&features, needs].map(attribute);
    let LoopNames { function, state, .. } = names;
    let known = names.names.element(&known, "0");
    let mut text = format!(
        "{others} __attribute__((noinline)) static void {0}({state} *s, size_t iterations);\n{own} static void {function}({state} *s, size_t iterations)\n{{\n  if ({known} >> 4 != {1}) {{\n    {0}(s, iterations);\n    return;\n  }}\n",
        otherwise.name,
        bits / 128
    );
    let turned = turns_bytes(&plan);
    let [x, a] = [&recurrence.state, added].map(|bytes| loaded_so(body, bytes, turned, names));
    let narrow = Registers { bits: 128, turns_bits: turns_bits(bits) };
    let mut values = vec![Value { bits: 128, name: "x_".into(), value: format!("HR_CL_XOR128({x}, {a})") }];
    let before = if turned { vec![String::new(), "x_".into()] } else { vec!["x_".into()] };
    let mut factors = prepared(&plan, before, narrow, &mut values);
    let n_keys = plan.prepare_y.outputs().len();
    // The first power is the last part of the last register.
    factors.extend((0..n_keys).map(|key| {
        let at = ((REGISTERS - 1) * n_keys + key + 1) * bits as usize / 8 - BYTES as usize;
        format!("HR_CL_LOAD128(&{})", names.names.element(&powers, &at.to_string()))
    }));
    let sums = values_of(&plan.multiply, &factors, narrow, "m", &mut values);
    let result = reduced(&plan, sums, narrow, turned, &mut values);
    values.iter().for_each(|value| value.constant(&mut text));
    let _ = writeln!(text, "  const __m128i x = {result};");
    store_state_so(body, recurrence, turned, names, &mut text);
    text.push_str("}\n\n");
    let support = [128, bits].map(|bits| Support::of_all(support(bits))).to_vec();
    let size = OPERATION * values.len();
    Ok((CFunction { name: (*function).to_owned(), text, support, size, ..otherwise.clone() }, features))
}

/// What a plan makes of the first factor; `names` are its own and that of the factor with its bytes turned round, where that
/// is there already.
fn prepared(plan: &Plan, names: Vec<String>, registers: Registers, values: &mut Vec<Value>) -> Vec<String> {
    let program = &plan.prepare_x;
    let names = values_behind(program, names, program.ops().len(), registers, "p", values);
    program.outputs().iter().map(|&at| names[at].clone()).collect()
}

/// What a plan reduces a product to; `turned`: with its bytes still turned round.
fn reduced(plan: &Plan, product: Vec<String>, narrow: Registers, turned: bool, values: &mut Vec<Value>) -> String {
    let program = &plan.reduce;
    let operations = program.ops().len() - usize::from(turned);
    let names = values_behind(program, product, operations, narrow, "pr_", values);
    match (turned, program.ops().last()) {
        (true, Some(Op::ReverseBytes(at))) => names[*at].clone(),
        _ => names[program.outputs()[0]].clone(),
    }
}

/// When [`short_trip`] can be called.
///
/// # Errors
///
/// As [`short_trip`].
pub(super) fn condition(split: &SplitLoop, names: &LoopNames) -> Result<String, NotApplicable> {
    let plan = products::plan(&split.recurrence, 512)?;
    let Some(Memo { known, .. }) = memo(&split.recurrence, &split.independent, &plan, names) else {
        return Err(NotApplicable("powers are not kept from call to call".into()));
    };
    Ok(format!("iterations - 1 < 4 && {} >> 4 == 4", names.names.element(&known, "0")))
}
