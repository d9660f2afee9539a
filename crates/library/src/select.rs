//! Finding operations by the words that commands take: a prefix of primitive, set, or set and operation.

use headrace_source::{Diagnostic, Slug};

use crate::catalog::{Library, OperationSpec};
use crate::spelling::{listing, nearest};

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
        let mut words = vec![set];
        words.extend(operation);
        let mut found = self.select(&words)?;
        // A set that is called as its primitive, `rc5`, is meant before the others of the primitive.
        if found.iter().any(|spec| spec.set == set) {
            found.retain(|spec| spec.set == set);
        }
        let exact = operation.and_then(|name| found.iter().find(|spec| spec.name == name));
        match (exact, found.as_slice()) {
            (Some(one), _) if found.iter().filter(|s| s.name == one.name).count() == 1 => Ok(one),
            (_, [one]) => Ok(one),
            (_, many) => {
                let names: Vec<String> = many.iter().map(|spec| spec.full_name()).collect();
                let shown = names.get(..16).unwrap_or(&names);
                let mut diagnostic = Diagnostic::error(
                    UNKNOWN_NAME,
                    format!("`{}` means {} operations; one is wanted", words.join(" ").escape_debug(), many.len()),
                )
                .note(format!("they are {}", listing(shown, "and")));
                if shown.len() < names.len() {
                    diagnostic = diagnostic.note(format!("and {} more", names.len() - shown.len()));
                }
                Err(diagnostic)
            }
        }
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
                .note(format!("the operations are {}", listing(&names, "and")))
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
                    diagnostic.note(format!("the parameter sets are {}", listing(&names, "and")))
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
