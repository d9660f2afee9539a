//! Finding operations by the words that commands take: a prefix of primitive, set, or set and operation.

use headrace_source::{Diagnostic, Slug};

use crate::catalog::{Library, OperationSpec};
use crate::spelling::{nearest, some_of};

/// A word names nothing in the library, or several things where one is wanted.
pub const UNKNOWN_NAME: Slug = "library-unknown-name";

impl Library {
    /// The operations that the words of a command name, in the order of the library, each once: `aes`, `aes128`,
    /// `aes128 ctr`, `aes128-ctr`, and several of them (`aes128 ctr des`). A word after a set narrows it to the
    /// operations that begin so, unless it names a primitive or a set itself. No words: everything.
    pub fn select(&self, words: &[&str]) -> Result<Vec<&OperationSpec>, Diagnostic> {
        let mut chosen = vec![words.is_empty(); self.operations.len()];
        let mut group: Option<(&str, Vec<usize>)> = None;
        let mut narrowed: Vec<usize> = Vec::new();
        let mut close = |group: Option<(&str, Vec<usize>)>, narrowed: &mut Vec<usize>| {
            let found = match group {
                Some((_, all)) if narrowed.is_empty() => all,
                _ => std::mem::take(narrowed),
            };
            for at in found {
                if let Some(flag) = chosen.get_mut(at) {
                    *flag = true;
                }
            }
            narrowed.clear();
        };
        for word in words {
            if let Some((_, all)) = &group {
                let inner = self.narrow(all, word);
                if !inner.is_empty() && self.exactly(word).is_empty() {
                    narrowed.extend(inner);
                    continue;
                }
            }
            let found = self.named(word);
            if found.is_empty() {
                return Err(self.unknown(word, group.as_ref().map(|(name, all)| (*name, &**all))));
            }
            close(group.take(), &mut narrowed);
            group = Some((word, found));
        }
        close(group, &mut narrowed);
        Ok(self.operations.iter().zip(chosen).filter_map(|(spec, chosen)| chosen.then_some(spec)).collect())
    }

    /// The one operation that a set and the beginning of an operation's name mean, as in `use aes128 ctr`. A set with
    /// one operation needs none; a primitive stands for its set of the same name.
    pub fn find(&self, set: &str, operation: Option<&str>) -> Result<&OperationSpec, Diagnostic> {
        let all = self.named(set);
        if all.is_empty() {
            return Err(self.unknown(set, None));
        }
        let inner = match operation {
            Some(name) => self.narrow(&all, name),
            None => all.clone(),
        };
        if let Some(operation) = operation.filter(|_| inner.is_empty()) {
            return Err(self.no_operation(set, operation, &all));
        }
        let mut found: Vec<&OperationSpec> = inner.iter().filter_map(|at| self.operations.get(*at)).collect();
        // A set that is called as its primitive, `rc5`, is meant before the others of the primitive.
        if found.iter().any(|spec| spec.set == set) {
            found.retain(|spec| spec.set == set);
        }
        if let [one] = found.as_slice() {
            return Ok(one);
        }
        let words: Vec<&str> = std::iter::once(set).chain(operation).collect();
        let names: Vec<String> = found.iter().map(|spec| spec.full_name()).collect();
        let meant = words.join(" ");
        let message = format!("`{}` means {} operations; one is wanted", meant.escape_debug(), names.len());
        Err(Diagnostic::error(UNKNOWN_NAME, message).note(format!("they are {}", some_of(&names, "and"))))
    }

    /// That a set has no such operation, and what may be meant: one that is called nearly so, a set of its own (`aes128 gcm` is
    /// `aes128-gcm`), or other sets that do have it, those made of this one first (`aes mac` is `aes128-cmac mac`).
    fn no_operation(&self, set: &str, operation: &str, all: &[usize]) -> Diagnostic {
        let own: Vec<&OperationSpec> = all.iter().filter_map(|at| self.operations.get(*at)).collect();
        let diagnostic = Diagnostic::error(
            UNKNOWN_NAME,
            format!("`{}` has no operation `{}`", set.escape_debug(), operation.escape_debug()),
        );
        let two_words = |spec: &OperationSpec| format!("{} {}", spec.set, spec.name);
        let composed = |spec: &&OperationSpec| {
            let is_of = |other: &&OperationSpec| spec.set.strip_prefix(&other.set) == Some(&*format!("-{operation}"));
            own.iter().any(is_of)
        };
        let composed: Vec<String> = self.operations.iter().filter(composed).map(two_words).collect();
        if !composed.is_empty() {
            return diagnostic.help(format!("did you mean {}?", some_of(&composed, "or")));
        }
        let mut names: Vec<&str> = own.iter().map(|spec| spec.name.as_str()).collect();
        names.sort_unstable_by_key(|name| (name.len(), *name));
        names.dedup();
        if let Some(near) = nearest(operation, names.iter().copied()) {
            return diagnostic.help(format!("did you mean `{near}`?"));
        }
        let mut others: Vec<&OperationSpec> = self.operations.iter().filter(|spec| spec.name == operation).collect();
        others.sort_by_key(|spec| {
            let is_related = own.iter().any(|other| spec.set.starts_with(&other.primitive));
            (!is_related, spec.set.len(), &spec.set)
        });
        let others: Vec<String> = others.into_iter().map(two_words).collect();
        let diagnostic = diagnostic.note(format!("its operations are {}", some_of(&names, "and")));
        if others.is_empty() { diagnostic } else { diagnostic.help(format!("there is {}", some_of(&others, "and"))) }
    }

    fn indices(&self, wanted: impl Fn(&OperationSpec) -> bool) -> Vec<usize> {
        self.operations.iter().enumerate().filter_map(|(at, spec)| wanted(spec).then_some(at)).collect()
    }

    /// Those of `all` whose operation is called `word`, or else begins so.
    fn narrow(&self, all: &[usize], word: &str) -> Vec<usize> {
        let matching = |test: &dyn Fn(&str) -> bool| -> Vec<usize> {
            all.iter().copied().filter(|at| self.operations.get(*at).is_some_and(|s| test(&s.name))).collect()
        };
        let exact = matching(&|name| name == word);
        if exact.is_empty() && !word.is_empty() {
            return matching(&|name| name.starts_with(word));
        }
        exact
    }

    /// What is called `word` in full: a set, a primitive, or a set and operation. A set comes before a primitive of
    /// the same name, which it would be the better part of anyway.
    fn exactly(&self, word: &str) -> Vec<usize> {
        let by_primitive = self.indices(|spec| spec.primitive == word);
        if !by_primitive.is_empty() {
            return by_primitive;
        }
        let by_set = self.indices(|spec| spec.set == word);
        if !by_set.is_empty() {
            return by_set;
        }
        self.indices(|spec| spec.full_name() == word)
    }

    /// What `word` names in full, or else begins.
    fn named(&self, word: &str) -> Vec<usize> {
        let exact = self.exactly(word);
        if !exact.is_empty() || word.is_empty() {
            return exact;
        }
        let prefix = self.indices(|s| s.primitive.starts_with(word) || s.set.starts_with(word));
        if !prefix.is_empty() {
            return prefix;
        }
        self.indices(|spec| spec.full_name().starts_with(word))
    }

    fn unknown(&self, word: &str, group: Option<(&str, &[usize])>) -> Diagnostic {
        let shown = word.escape_debug();
        let mut candidates: Vec<&str> =
            self.operations.iter().flat_map(|spec| [spec.primitive.as_str(), spec.set.as_str()]).collect();
        let mut diagnostic = match group {
            Some((group, all)) => {
                let mut names: Vec<&str> =
                    all.iter().filter_map(|at| self.operations.get(*at)).map(|spec| spec.name.as_str()).collect();
                names.sort_unstable();
                names.dedup();
                candidates.extend(&names);
                Diagnostic::error(
                    UNKNOWN_NAME,
                    format!(
                        "`{shown}` is no operation of `{}`, and no primitive or parameter set",
                        group.escape_debug()
                    ),
                )
                .note(format!("the operations are {}", some_of(&names, "and")))
            }
            None => {
                let mut names: Vec<&str> = self.operations.iter().map(|spec| spec.set.as_str()).collect();
                names.sort_unstable();
                names.dedup();
                let diagnostic =
                    Diagnostic::error(UNKNOWN_NAME, format!("there is no primitive or parameter set `{shown}`"));
                if names.is_empty() {
                    diagnostic.note("the library is empty: no manifest was found")
                } else {
                    diagnostic.note(format!("the parameter sets are {}", some_of(&names, "and")))
                }
            }
        };
        let full: Vec<String> = self.operations.iter().map(|s| s.full_name()).collect();
        candidates.extend(full.iter().map(String::as_str));
        if let Some(near) = nearest(word, candidates) {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        diagnostic
    }
}
