//! Static memory allocation. Where tables, texts and arrays of functions lie in the memory of a module.
//!
//! From the beginning: nothing (so that no address is 0), what natives are given, tables, texts, the stack of arrays, which
//! grows downwards, tokens that go in and out, and then contexts, as many as the wrapper makes.

use crate::layout::{Layouts, array_bytes};
use headrace_program::{Function, FunctionId, Module, Stmt, Type, VariableId, VariableKind};
use rustc_hash::FxHashSet;

/// What natives are given: whether the program is to stop, then 16 bytes for each argument.
pub(super) const NATIVE: u32 = 16;

/// Most arguments of a native.
const NATIVE_ARGUMENTS: u32 = 32;

/// Bytes for tokens that go in and out at once.
pub(super) const BUFFER_BYTES: u32 = 1 << 14;

/// Calls of procedures that call themselves, one in another: the lowered program allows no more.
const MOST_CALLS: u64 = 10_000;

/// Most bytes of the stack: what needs more stops with an error.
const MOST_STACK: u64 = 64 << 20;

/// Addresses.
pub(super) struct Memory {
    pub(super) layouts: Layouts,
    pub(super) tables: Vec<u32>,
    pub(super) texts: u32,
    /// Where each text ends, from the first on; 0 before them.
    pub(super) text_ends: u32,
    /// Where the stack ends, and where it begins.
    pub(super) stack_end: u32,
    pub(super) stack_start: u32,
    pub(super) buffer: u32,
    /// Where contexts may lie.
    pub(super) contexts: u32,
}

impl Memory {
    pub(super) fn of(module: &Module) -> Self {
        let mut at = NATIVE + 16 * (1 + NATIVE_ARGUMENTS);
        let mut take = |bytes: u32, alignment: u32| {
            let start = at.next_multiple_of(alignment);
            at = start + bytes;
            start
        };
        let tables = module.tables.iter().map(|table| {
            let bytes = array_bytes(table.element, table.values.len() as u32);
            take(bytes, table.element.bytes())
        });
        let tables = tables.collect();
        let texts = take(module.texts.iter().map(|text| text.len() as u32).sum(), 1);
        let text_ends = take(4 * (module.texts.len() as u32 + 1), 4);
        let stack_end = take(0, 16);
        let stack_bytes = stack_bytes(module);
        let stack_start = take(stack_bytes, 16) + stack_bytes;
        let buffer = take(BUFFER_BYTES, 16);
        let contexts = take(0, 16);
        Self { layouts: Layouts::of(module), tables, texts, text_ends, stack_end, stack_start, buffer, contexts }
    }
}

/// Bytes of the arrays of a function.
pub(super) fn frame(function: &Function) -> Frame {
    let mut bytes = 0;
    let arrays = function.variables.iter().enumerate().map(|(at, variable)| match variable.kind {
        VariableKind::Array(ty, len) if !function.is_parameter(VariableId(at as u32)) => {
            let start = bytes;
            bytes += array_bytes(ty, len).next_multiple_of(8);
            Some((start, ty, len))
        }
        _ => None,
    });
    let arrays = arrays.collect();
    Frame { arrays, bytes: bytes.next_multiple_of(16) }
}

/// The arrays of a function in memory.
pub(super) struct Frame {
    /// For each variable that is one: where it begins, type and number of its elements.
    pub(super) arrays: Vec<Option<(u32, Type, u32)>>,
    pub(super) bytes: u32,
}

/// Enough for the longest chain of calls.
fn stack_bytes(module: &Module) -> u32 {
    let n = module.functions.len();
    let callees: Vec<FxHashSet<usize>> = module.functions.iter().map(|function| callees(&function.body)).collect();
    let own: Vec<u64> = module.functions.iter().map(|function| u64::from(frame(function).bytes)).collect();
    // What calls itself, through others or not, takes its frame for each of the calls that may be open.
    let calls_itself = |at: usize| {
        let mut seen = FxHashSet::default();
        let mut open: Vec<usize> = callees[at].iter().copied().collect();
        while let Some(next) = open.pop() {
            if next == at {
                return true;
            }
            if seen.insert(next) {
                open.extend(&callees[next]);
            }
        }
        false
    };
    let recursive: Vec<bool> = (0..n).map(calls_itself).collect();
    let repeated = (0..n).filter(|&at| recursive[at]).map(|at| own[at]).max().unwrap_or(0) * MOST_CALLS;
    // Callees come before callers, but for those that call themselves.
    let mut deep = vec![0; n];
    for at in 0..n {
        let inner = callees[at].iter().filter(|&&callee| callee < at).map(|&callee| deep[callee]).max();
        deep[at] = own[at] + inner.unwrap_or(0);
    }
    let chain: u64 = if recursive.contains(&true) { own.iter().sum() } else { deep.into_iter().max().unwrap_or(0) };
    (chain + repeated + 64).min(MOST_STACK).next_multiple_of(16) as u32
}

fn callees(block: &[Stmt]) -> FxHashSet<usize> {
    let mut found = FxHashSet::default();
    for statement in block {
        if let Stmt::Call { function: FunctionId(id), .. } = statement {
            found.insert(*id as usize);
        }
        statement.blocks().into_iter().for_each(|block| found.extend(callees(block)));
    }
    found
}
