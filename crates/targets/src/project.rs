//! What projects are made of, whatever the language: files, runs of networks, known answers.

use crate::automata::NotFused;
use headrace_ir::Network;
use headrace_library::Role;
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_transform::passes::manager::is_limited;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Files by path.
pub type Files = BTreeMap<String, Vec<u8>>;

/// What went into each network input of a run that came to rest, and what came out of each output: stored tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// One stream for each input. No port of type real may be among them.
    pub inputs: Vec<Vec<u8>>,
    /// One stream for each output.
    pub outputs: Vec<Vec<u8>>,
}

/// One message with what must come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownAnswer {
    /// Position among the operations.
    pub operation: usize,
    /// The strings that go in.
    pub strings: BTreeMap<Role, Vec<u8>>,
    /// How many words a generator is asked for.
    pub words: u32,
    /// The strings that must come out; `None` when the message must be refused.
    pub expected: Option<BTreeMap<Role, Vec<u8>>>,
}

/// Bytes of the stacks on which operations are compiled: deep networks need more than threads usually have.
const STACK_BYTES: usize = 64 << 20;

/// Does something for each of several operations, on all processors, in their order.
pub(crate) fn on_all_processors<O: Sync, T: Send>(operations: &[O], of: impl Fn(&O) -> T + Sync + Send) -> Vec<T> {
    let n_threads = usize::from(is_limited());
    // None is as many as there are processors.
    match rayon::ThreadPoolBuilder::new().num_threads(n_threads).stack_size(STACK_BYTES).build() {
        Ok(threads) => threads.install(|| operations.par_iter().map(of).collect()),
        // Without threads to be had, one after the other.
        Err(_) => operations.iter().map(of).collect(),
    }
}

/// What whoever builds a project should hear about it beside its files. Clones share what is said.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    /// Says it.
    pub(crate) fn say(&self, note: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }

    /// What has been said since it was asked for last, in its order.
    pub fn taken(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Is called after each operation, with the reason where it was to be fused and is not.
pub type OnOperation<'a> = dyn Fn(&OperationSpec, Option<NotFused>) + Sync + 'a;

/// Tests that try every answer: what makes messages of strings is a part of the project.
pub(crate) fn any_answer(_: &OperationSpec, _: &Network, _: &KnownAnswer) -> bool {
    true
}

/// Whether an operation has an interface that projects have: everything but parts, as long as strings are bytes.
pub fn is_supported(spec: &OperationSpec) -> bool {
    let mut ports = spec.inputs.iter().chain(&spec.outputs);
    spec.framing != Framing::Bare && ports.all(|port| port.bits == 8 || port.role.is_control())
}

/// An operation as it is, where it has an interface that projects have.
pub(crate) fn itself(spec: &OperationSpec) -> Vec<OperationSpec> {
    if is_supported(spec) { vec![spec.clone()] } else { Vec::new() }
}
