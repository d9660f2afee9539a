//! Name mangling. Names in VHDL, which takes capital and small letters for the same: names that would then be one, or that it
//! does not allow, are written as extended identifiers, between backslashes, where letters count as they are.

use headrace_program::language::VHDL;
use headrace_rtl::Module;
use std::collections::HashMap;

/// Spellings of the names of a module.
pub(super) struct Names {
    uses: HashMap<String, u32>,
}

impl Names {
    pub(super) fn of(module: &Module) -> Self {
        let mut uses: HashMap<String, u32> = HashMap::new();
        let values = module.signals.iter().flat_map(|signal| &signal.names).map(|(_, name)| name);
        let all = module
            .signals
            .iter()
            .map(|signal| &signal.name)
            .chain(values)
            .chain(module.tables.iter().map(|table| &table.name))
            .chain(module.memories.iter().map(|memory| &memory.name))
            .chain(module.processes.iter().map(|process| &process.name))
            .chain(module.instances.iter().map(|instance| &instance.name))
            .chain([&module.name]);
        for name in all {
            *uses.entry(name.to_ascii_lowercase()).or_default() += 1;
        }
        Names { uses }
    }

    /// How a name of the module is written.
    pub(super) fn spelled(&self, name: &str) -> String {
        let lower = name.to_ascii_lowercase();
        if self.uses.get(&lower).is_some_and(|&n| n > 1) { format!("\\{name}\\") } else { plain(name) }
    }

    /// How the variable for a signal of the module is written.
    pub(super) fn variable(&self, name: &str) -> String {
        let own = format!("v_{name}");
        let is_free = !self.uses.contains_key(&own.to_ascii_lowercase());
        let is_single = self.uses.get(&name.to_ascii_lowercase()).is_none_or(|&n| n <= 1);
        // No name of a module has a colon.
        if is_free && is_single { plain(&own) } else { format!("\\v:{name}\\") }
    }
}

/// How a name is written that nothing else can be taken for.
pub(super) fn plain(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let is_allowed = !name.contains("__") && !name.ends_with('_') && !VHDL.has_word(&lower);
    if is_allowed { name.to_owned() } else { format!("\\{name}\\") }
}
