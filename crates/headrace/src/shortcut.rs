//! Shortcuts to operations that were used before: an operation whose fused code is there starts from what was written down about it, without
//! the library being read as a whole and without its network.
//!
//! Written down is which manifests its description follows from, and the ports of its network. That it does follow from these
//! manifests alone is looked at before it is written.

use crate::engines::{EngineName, Machine};
use crate::fusing::FuseWhen;
use crate::operation::Use;
use crate::roots::{MANIFEST, is_manifest};
use crate::workspace::Workspace;
use headrace_ir::{IntType, Network, Port, Scalar};
use headrace_library::catalog::{Library, OperationSpec};
use headrace_library::manifest::{Manifest, Shape};
use headrace_native::{FusedName, Options, Shortcut, Shortcuts};
use headrace_source::{FileId, Span};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// What is known of an operation that was run before.
pub struct Known {
    /// The operation, with its parameters still to be set.
    pub spec: OperationSpec,
    /// Its network, of which there are only the ports.
    pub ports: Arc<Network>,
    /// The engine.
    pub machine: Machine,
}

/// Shortcuts for one use of an operation.
pub struct Memory {
    shortcuts: Shortcuts,
    words: Vec<String>,
}

/// What is written down.
#[derive(Serialize, Deserialize)]
struct Written {
    set: String,
    operation: String,
    /// Paths below the source root.
    manifests: Vec<String>,
    network: String,
    inputs: Vec<WrittenPort>,
    outputs: Vec<WrittenPort>,
}

#[derive(Serialize, Deserialize)]
struct WrittenPort {
    name: String,
    /// Bits of an integer, negative where it has a sign; 0 for `bool`.
    bits: i64,
}

impl Memory {
    /// For a use of an operation; `None` where what it means depends on more than the built-in library, or no fused code is
    /// wanted.
    pub fn of_use(workspace: &Workspace, wanted: &Use, fifo_tokens: u32) -> Option<Self> {
        if wanted.fused == FuseWhen::Never || wanted.engine == Some(EngineName::Interp) {
            return None;
        }
        Self::of(workspace, wanted, Options { fifo_tokens, ..Options::default() })
    }

    /// For what a use names; `None` where what it means depends on more than the built-in library.
    pub fn of(workspace: &Workspace, wanted: &Use, options: Options) -> Option<Self> {
        if !workspace.is_plain() {
            return None;
        }
        let Use { primitive, operation, variant, parameters, .. } = wanted;
        let mut words = vec![primitive.clone(), operation.clone(), variant.clone().unwrap_or_default()];
        words.extend(parameters.iter().map(|(name, value)| format!("{name}={value}")));
        Some(Self { shortcuts: Shortcuts::open(&options), words })
    }

    fn words(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }

    /// The operation, if it was compiled and written down before.
    pub fn find(&self, workspace: &mut Workspace) -> Option<Known> {
        let found = self.shortcuts.find(&self.words())?;
        let written: Written = serde_json::from_str(&found.text).ok()?;
        let library = workspace.library_at(&written.manifests)?;
        let spec = library.operation(&written.set, &written.operation)?.clone();
        let ports = Arc::new(network_of(&written)?);
        let engine = Shortcut::engine(found, &ports).ok()?;
        Some(Known { spec, ports, machine: Machine::Native(Box::new(engine)) })
    }

    /// Writes down what is to be known of an operation that was started as fused code.
    pub fn remember(&self, workspace: &mut Workspace, spec: &OperationSpec, network: &Network, fused: &FusedName) {
        if let Some(text) = text_of(workspace, spec, network) {
            self.shortcuts.remember(&self.words(), fused, &text);
        }
    }

    /// Puts the operation, which was compiled, where an installed command looks for it.
    ///
    /// # Errors
    ///
    /// What the file system says; nothing was compiled; it has ports that cannot be written down.
    pub fn install(
        &self,
        workspace: &mut Workspace,
        place: &Path,
        spec: &OperationSpec,
        network: &Network,
        fused: &FusedName,
    ) -> Result<(), String> {
        let text =
            text_of(workspace, spec, network).ok_or_else(|| format!("`{}` has no shortcut", spec.full_name()))?;
        self.shortcuts.install(place, &self.words(), fused, &text)
    }

    /// Bytes that a scheduler has moved for this use.
    pub fn spent(&self) -> u64 {
        self.shortcuts.spent(&self.words())
    }

    /// Adds to that.
    pub fn spend(&self, bytes: u64) {
        self.shortcuts.spend(&self.words(), bytes);
    }
}

/// The paths of the manifests that the description of an operation follows from: its own, and those of modes that have it.
fn manifests_of(library: &Library, spec: &OperationSpec) -> Vec<String> {
    let matters = |manifest: &&Manifest| {
        manifest.folder == spec.folder
            || manifest.shape == Shape::Mode && manifest.operations.iter().any(|operation| operation.name == spec.name)
    };
    let path = |manifest: &Manifest| match manifest.folder.as_str() {
        "" => MANIFEST.to_owned(),
        folder => format!("{folder}/{MANIFEST}"),
    };
    library.manifests().iter().filter(matters).map(path).collect()
}

/// Whether a part of the library says the same of an operation as all of it. Which operation undoes it is nothing to whoever
/// runs it.
fn is_said(part: &Library, whole: &OperationSpec) -> bool {
    let alone = part.operation(&whole.set, &whole.name).cloned();
    alone.is_some_and(|alone| OperationSpec { inverse: whole.inverse.clone(), ..alone } == *whole)
}

/// What is written down about an operation; `None` where it is not the whole truth.
fn text_of(workspace: &mut Workspace, spec: &OperationSpec, network: &Network) -> Option<String> {
    let library = workspace.library().ok()?;
    let whole = library.operation(&spec.set, &spec.name)?;
    let manifests = manifests_of(&library, whole);
    if !is_said(&workspace.library_at(&manifests)?, whole) {
        return None;
    }
    let ports = |ports: &[Port]| ports.iter().map(written).collect::<Option<Vec<_>>>();
    let written = Written {
        set: spec.set.clone(),
        operation: spec.name.clone(),
        manifests,
        network: network.name.clone(),
        inputs: ports(&network.inputs)?,
        outputs: ports(&network.outputs)?,
    };
    serde_json::to_string(&written).ok()
}

fn written(port: &Port) -> Option<WrittenPort> {
    let bits = match port.ty {
        Scalar::Bool => 0,
        Scalar::Int(IntType { signed: false, width }) => i64::from(width),
        Scalar::Int(IntType { signed: true, width }) => -i64::from(width),
        Scalar::Real(_) | Scalar::String => return None,
    };
    Some(WrittenPort { name: port.name.clone(), bits })
}

fn network_of(written: &Written) -> Option<Network> {
    let nowhere = Span::new(FileId(0), 0, 0);
    let port = |written: &WrittenPort| {
        let width = u32::try_from(written.bits.unsigned_abs()).ok()?;
        let ty = match written.bits {
            0 => Scalar::Bool,
            bits => Scalar::Int(IntType { signed: bits < 0, width }),
        };
        Some(Port { name: written.name.clone(), ty, span: nowhere })
    };
    Some(Network {
        name: written.network.clone(),
        inputs: written.inputs.iter().map(port).collect::<Option<_>>()?,
        outputs: written.outputs.iter().map(port).collect::<Option<_>>()?,
        actors: Vec::new(),
        instances: Vec::new(),
        connections: Vec::new(),
        span: nowhere,
    })
}

impl Workspace {
    /// The manifests at these paths, if there is nothing wrong that matters: what of others they refer to is not there.
    fn library_at(&mut self, paths: &[String]) -> Option<Library> {
        let texts: Vec<(String, String, Result<String, String>)> = paths
            .iter()
            .filter(|path| is_manifest(path))
            .filter_map(|path| self.roots.text(path).map(|(display, text)| (path.clone(), display, text)))
            .collect();
        let mut files = Vec::new();
        for (path, display, text) in texts {
            files.push((self.session.sources.add(display, text.ok()?), path));
        }
        let sources = &self.session.sources;
        Some(Library::load(files.iter().map(|(id, path)| (*id, path.as_str(), sources.text(*id)))).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn few_manifests_say_all_of_every_operation() {
        let mut workspace = Workspace::default();
        let library = workspace.library().expect("the library is sound");
        let mut parts: BTreeMap<Vec<String>, Library> = BTreeMap::new();
        for spec in library.operations() {
            let manifests = manifests_of(&library, spec);
            assert!(manifests.len() <= 3, "{}: {manifests:?}", spec.full_name());
            let part = parts.entry(manifests.clone());
            let part = part.or_insert_with(|| workspace.library_at(&manifests).expect("they are there"));
            assert!(is_said(part, spec), "{}", spec.full_name());
        }
    }

    #[test]
    fn ports_are_read_as_they_were_written() {
        let nowhere = Span::new(FileId(0), 0, 0);
        let types = [Scalar::Bool, Scalar::Int(IntType::unsigned(8)), Scalar::Int(IntType::signed(32))];
        let ports: Vec<Port> = types.iter().map(|ty| Port { name: ty.to_string(), ty: *ty, span: nowhere }).collect();
        let written = || ports.iter().map(written).collect::<Option<Vec<_>>>().expect("they can be written");
        let written = Written {
            set: "set".into(),
            operation: "operation".into(),
            manifests: Vec::new(),
            network: "Network".into(),
            inputs: written(),
            outputs: written(),
        };
        let text = serde_json::to_string(&written).expect("it can be written");
        let network = network_of(&serde_json::from_str(&text).expect("it can be read")).expect("it is one");
        assert!(network.inputs == ports && network.outputs == ports && network.name == "Network");
        let text = Port { name: "text".into(), ty: Scalar::String, span: nowhere };
        assert!(super::written(&text).is_none());
    }
}
