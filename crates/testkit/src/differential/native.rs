//! Native code for many networks at a time, in the two forms that the C target has.

use headrace_engine::Engine;
use headrace_ir::{Mapping, Network};
use headrace_native::{Batch, Compiler, Member, Options};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How native code is made.
#[derive(Clone, Debug)]
pub struct Native {
    compiler: Compiler,
    sanitize: bool,
    strict: bool,
    /// Where libraries are put while they are needed.
    work: PathBuf,
}

/// The two forms of generated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Reports run-time errors and counts firings.
    Checked,
    /// As it is delivered: neither.
    Delivered,
}

/// A network to compile, the capacity of FIFOs whose source does not say one, and its mapping.
pub type Wanted = (Arc<Network>, u32, Option<Arc<Mapping>>);

/// A library with the code of some networks.
pub struct Compiled {
    batch: Batch,
}

/// What generated code promises not to draw.
const WARNINGS: [&str; 3] = ["-Wall", "-Wextra", "-Werror"];

impl Native {
    /// Takes the compiler that is named, or the first that is found.
    pub fn new(compiler: Option<&str>, sanitize: bool, strict: bool, work: &Path) -> Result<Self, String> {
        let compiler = match compiler {
            Some(name) => Compiler::named(name).ok_or_else(|| format!("{name} does not answer"))?,
            None => Compiler::find().ok_or("no C compiler (on Debian: apt-get install gcc libc6-dev)")?,
        };
        Ok(Self { compiler, sanitize, strict, work: work.to_owned() })
    }

    /// Compiles networks, each with the size of its FIFOs and with a mapping if threads run it, into one library.
    pub fn compile(&self, networks: &[Wanted], form: Form) -> Result<Compiled, String> {
        let mut flags = vec!["-std=c11", "-ffp-contract=off"];
        flags.extend(if self.strict { &WARNINGS[..] } else { &["-w"] });
        // Most of the time of a comparison is the compiler's.
        flags.push(if self.sanitize || form == Form::Delivered { "-O1" } else { "-O0" });
        if self.sanitize {
            flags.extend(["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
        }
        let checked = form == Form::Checked;
        let options = Options {
            checked,
            count_firings: checked,
            compiler: Some(self.compiler.clone()),
            flags: flags.into_iter().map(str::to_owned).collect(),
            cache: Some(self.work.clone()),
            ..Options::default()
        };
        let prefixes: Vec<String> = (0..networks.len()).map(|i| format!("case{i}")).collect();
        let members: Vec<Member<'_>> = prefixes
            .iter()
            .zip(networks)
            .map(|(prefix, (network, fifo_tokens, mapping))| Member {
                prefix,
                network,
                fifo_tokens: *fifo_tokens,
                mapping: mapping.as_ref(),
            })
            .collect();
        let batch = Batch::compile_mapped(&members, &options).map_err(|error| error.to_string())?;
        Ok(Compiled { batch })
    }
}

impl Compiled {
    /// A fresh engine for the network at this position.
    pub fn engine(&self, at: usize, network: &Arc<Network>) -> Result<Box<dyn Engine>, String> {
        let engine = self.batch.engine(at, network.clone()).map_err(|error| error.to_string())?;
        Ok(Box::new(engine))
    }
}
