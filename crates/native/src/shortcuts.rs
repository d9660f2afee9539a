//! Shortcuts: what was compiled, found by the words that asked for it. Neither is the network elaborated, nor its scheduler
//! printed, nor the compiler asked who it is; these are most of what a short command does.
//!
//! A shortcut is an entry of the cache that names another, the library, and has a text of whoever made it, who says there what he
//! must know of the network. Its own name is a hash of the words, of this program, and of the compiler that would be asked first.
//! Beside the cache there is what was compiled when the command was installed, in `lib/headrace` beside its `bin`: that needs no
//! compiler, so its names have none.

use crate::NativeError;
use crate::compiled::{self, Compiled};
use crate::compiler::Compiler;
use crate::engine::{NativeEngine, Options};
use crate::fused::{self, FusedName};
use crate::library::Loaded;
use headrace_ir::Network;
use headrace_private::cache::{Cache, Installed, LIBRARY, SHORTCUT, SPENT};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where shortcuts are kept.
#[derive(Debug)]
pub struct Shortcuts {
    cache: Option<Cache>,
    installed: Option<Installed>,
    /// The compiler that would be asked first, if there is one.
    compiler: Option<Compiler>,
    options: Options,
}

/// A shortcut that leads somewhere.
#[derive(Debug)]
pub struct Shortcut {
    /// What its maker has written down.
    pub text: String,
    loaded: Loaded,
    fifo_tokens: u32,
}

impl Shortcut {
    /// An engine, for a network of which nothing need be known but its ports.
    ///
    /// # Errors
    ///
    /// No memory, or a library that is no network.
    pub fn engine(self, ports: &Arc<Network>) -> Result<NativeEngine, NativeError> {
        let compiled = Compiled { loaded: self.loaded, not_kept: None };
        fused::started(compiled, Vec::new(), self.fifo_tokens, ports, 1)
    }
}

impl Shortcuts {
    /// Those of the user, and those that were made when the command was installed.
    pub fn open(options: &Options) -> Self {
        Self {
            cache: compiled::cache(options.cache.as_deref()).ok(),
            installed: place_of_installed().and_then(|place| Installed::open(&place)),
            compiler: options.compiler.clone().or_else(Compiler::first),
            options: options.clone(),
        }
    }

    /// What these words lead to, if somebody went there before and it is still there.
    pub fn find(&self, words: &[&str]) -> Option<Shortcut> {
        let installed = self.installed.as_ref().and_then(|installed| {
            self.found(&self.key(words, None), &|key: &str, kind: &str| installed.get(key, kind))
        });
        installed.or_else(|| {
            let (cache, compiler) = (self.cache.as_ref()?, self.compiler.as_ref()?);
            self.found(&self.key(words, Some(compiler)), &|key: &str, kind: &str| cache.get(key, kind))
        })
    }

    fn found(&self, key: &str, get: &dyn Fn(&str, &str) -> Option<Vec<u8>>) -> Option<Shortcut> {
        let entry = String::from_utf8(get(key, SHORTCUT)?).ok()?;
        let (library, text) = entry.split_once('\n')?;
        let loaded = Loaded::from_bytes(&get(library, LIBRARY)?).ok()?;
        Some(Shortcut { text: text.to_owned(), loaded, fifo_tokens: self.options.fifo_tokens })
    }

    /// Writes down where these words lead: to code that was compiled, or found.
    pub fn remember(&self, words: &[&str], fused: &FusedName, text: &str) {
        let (Some(cache), Some(compiler)) = (&self.cache, &self.compiler) else { return };
        // Where the first one does not answer and another has compiled, who comes next must ask again.
        if fused.compiler.is(compiler) {
            let entry = format!("{}\n{text}", fused.key);
            // Without it the next run takes the long way.
            let _ = cache.put(&self.key(words, Some(compiler)), SHORTCUT, entry.as_bytes());
        }
    }

    /// Puts what was compiled, with where these words lead, into a folder that is there for those who install the command.
    ///
    /// # Errors
    ///
    /// What the file system says; that nothing was compiled.
    pub fn install(&self, place: &Path, words: &[&str], fused: &FusedName, text: &str) -> Result<(), String> {
        let cache = self.cache.as_ref().ok_or("there is no cache to take it from")?;
        let library = cache.get(&fused.key, LIBRARY).ok_or("nothing is kept of what was compiled")?;
        headrace_private::cache::install(place, &fused.key, LIBRARY, &library)?;
        let entry = format!("{}\n{text}", fused.key);
        headrace_private::cache::install(place, &self.key(words, None), SHORTCUT, entry.as_bytes())
    }

    /// The name of what these words lead to.
    fn key(&self, words: &[&str], compiler: Option<&Compiler>) -> String {
        let own = format!("shortcut of {} with FIFOs of {} tokens", fused::identity(), self.options.fifo_tokens);
        let words: Vec<(&str, &str)> = words.iter().map(|word| (*word, "")).collect();
        match compiler {
            Some(compiler) => compiler.unversioned().key(&own, &words, &self.options.flags),
            None => crate::compiler::plain_key(&own, &words),
        }
    }

    /// What was spent on what these words ask for because it was not fused, in bytes that a scheduler moves in that time. Each
    /// compiler has a count of its own: that one has failed says nothing of another.
    pub fn spent(&self, words: &[&str]) -> u64 {
        self.cache.as_ref().map_or(0, |cache| cache.number(&self.key(words, self.compiler.as_ref()), SPENT))
    }

    /// Adds to that.
    pub fn spend(&self, words: &[&str], bytes: u64) {
        if let Some(cache) = &self.cache {
            cache.add(&self.key(words, self.compiler.as_ref()), SPENT, bytes);
        }
    }
}

/// Where an installed command has what was compiled with it.
fn place_of_installed() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    Some(program.parent()?.parent()?.join("lib/headrace"))
}
