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
    Memo, REGISTERS, Registers, Value, attribute, blocks_of, features, loaded, memo, store_state, support, values_of,
};
use super::words::NotApplicable;
use headrace_instructions::Description;
use headrace_transform::kernel::Loop;
use headrace_transform::passes::distribute_recurrence::{Added, SplitLoop};
use headrace_vectorize::products;
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
    let plan = products::plan(recurrence, bits)?;
    let Some(Memo { powers, .. }) = memo(recurrence, body, &plan, names) else {
        return Err(NotApplicable("powers are not kept from call to call".into()));
    };
    let (wide, n_keys) = (Registers { bits, turns_bits: true }, plan.prepare_y.outputs().len());
    let statements = |blocks: &str| {
        let mut text = format!("      __m128i x = {};\n", loaded(body, &recurrence.state, names));
        // Behind the powers of all registers but the last.
        let at = (REGISTERS - 1) * n_keys * 64;
        let keys = names.names.element(&powers, &at.to_string());
        let mut values =
            vec![Value { bits, name: "x_".into(), value: format!("HR_CL_XOR512({blocks}, HR_CL_BEGIN512(x))") }];
        let mut factors = values_of(&plan.prepare_x, &["x_".into()], wide, "p", &mut values);
        for key in 0..n_keys {
            let value = format!("HR_CL_LAST512(n_, HR_CL_LOAD512(&{keys} + {}))", key * 64);
            values.push(Value { bits, name: format!("key{key}_"), value });
            factors.push(format!("key{key}_"));
        }
        let sums = values_of(&plan.multiply, &factors, wide, "m", &mut values);
        let narrow = Registers { bits: 128, ..wide };
        let folded: Vec<String> = sums.iter().map(|sum| format!("HR_CL_FOLDED512({sum})")).collect();
        let result = values_of(&plan.reduce, &folded, narrow, "pr_", &mut values)[0].clone();
        values.iter().for_each(|value| value.constant(&mut text));
        let _ = writeln!(text, "      x = {result};");
        store_state(body, recurrence, names, &mut text);
        text
    };
    let onward =
        Onward { port: tokens.port, is_output: tokens.is_output, statements: &statements, features: features(bits) };
    let mut blocks = few_blocks(selected, descriptions, names, &onward)?;
    blocks.function.support.extend([128, bits].map(|bits| Support::of_all(support(bits))));
    Ok(blocks)
}

/// Prints a recurrence that is gone through once, as [`product_once`], by a power that is kept; `otherwise` is that, for
/// where none is.
///
/// # Errors
///
/// As [`product_once`], and where powers are not kept from call to call.
///
/// [`product_once`]: super::product_once
pub fn product_kept(
    split: &SplitLoop,
    otherwise: (&CFunction, &BTreeSet<String>),
    names: &LoopNames,
) -> Result<(CFunction, BTreeSet<String>), NotApplicable> {
    let (body, recurrence) = (&split.independent, &split.recurrence);
    let Added::Elements(added) = &recurrence.added else {
        return Err(NotApplicable("what is added are tokens".into()));
    };
    let plan = products::plan(recurrence, 512)?;
    let Some(Memo { powers, known }) = memo(recurrence, body, &plan, names) else {
        return Err(NotApplicable("powers are not kept from call to call".into()));
    };
    let features = features(512);
    let (otherwise, needs) = otherwise;
    let [own, others] = [&features, needs].map(attribute);
    let LoopNames { function, state, .. } = names;
    let known = names.names.element(&known, "0");
    let mut text = format!(
        "{others} static void {0}({state} *s, size_t iterations);\n{own} static void {function}({state} *s, size_t iterations)\n{{\n  if ({known} >> 4 != 4) {{\n    {0}(s, iterations);\n    return;\n  }}\n",
        otherwise.name
    );
    let [x, a] = [&recurrence.state, added].map(|bytes| loaded(body, bytes, names));
    let narrow = Registers { bits: 128, turns_bits: true };
    let mut values = vec![Value { bits: 128, name: "x_".into(), value: format!("HR_CL_XOR128({x}, {a})") }];
    let mut factors = values_of(&plan.prepare_x, &["x_".into()], narrow, "p", &mut values);
    let n_keys = plan.prepare_y.outputs().len();
    // The first power is the last part of the last register.
    factors.extend((0..n_keys).map(|key| {
        let at = ((REGISTERS - 1) * n_keys + key) * 64 + 48;
        format!("HR_CL_LOAD128(&{})", names.names.element(&powers, &at.to_string()))
    }));
    let sums = values_of(&plan.multiply, &factors, narrow, "m", &mut values);
    let result = values_of(&plan.reduce, &sums, narrow, "pr_", &mut values)[0].clone();
    values.iter().for_each(|value| value.constant(&mut text));
    let _ = writeln!(text, "  const __m128i x = {result};");
    store_state(body, recurrence, names, &mut text);
    text.push_str("}\n\n");
    let support = [128, 512].map(|bits| Support::of_all(support(bits))).to_vec();
    let size = OPERATION * values.len();
    Ok((CFunction { name: (*function).to_owned(), text, support, size, ..otherwise.clone() }, features))
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
