//! What several toolchains need of the same operations is printed once: control automata for all of them, files for
//! those of one target.

use headrace_targets::automata::Automata;
use headrace_targets::memo::Memo;
use headrace_targets::project::Files;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// What a project is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Subject<'j> {
    pub(super) variant: &'j str,
    /// What the records give the networks.
    pub(super) arguments: &'j [(String, String)],
    pub(super) set: &'j str,
}

/// The files of a project; or why there are none.
pub(super) type Outcome = Result<Arc<Files>, String>;

/// What is printed of a subject for any toolchain.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) automata: Automata,
    /// By the name of the target, and whether networks are fused.
    pub(super) files: Memo<(&'static str, bool), Outcome>,
}

/// Subjects that are kept: more than are under way at a time.
const MOST_KEPT: usize = 48;

/// What was printed of the last subjects.
#[derive(Default)]
pub(super) struct Kept<'j>(Mutex<VecDeque<(Subject<'j>, Arc<Shared>)>>);

impl<'j> Kept<'j> {
    /// What there is of a subject; it is now the last.
    pub(super) fn of(&self, subject: Subject<'j>) -> Arc<Shared> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().position(|(known, _)| *known == subject).and_then(|at| kept.remove(at));
        let (_, shared) = known.unwrap_or_else(|| (subject, Arc::default()));
        kept.push_back((subject, Arc::clone(&shared)));
        if kept.len() > MOST_KEPT {
            kept.pop_front();
        }
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(set: &str) -> Subject<'_> {
        Subject { variant: "standard", arguments: &[], set }
    }

    #[test]
    fn a_target_prints_once_as_long_as_its_subject_is_kept() {
        let sets: Vec<String> = (0..=MOST_KEPT).map(|at| format!("set{at}")).collect();
        let kept = Kept::default();
        let mut n_printed = 0;
        let mut printed = |at: usize, target| {
            let shared = kept.of(numbered(&sets[at]));
            let count = || {
                n_printed += 1;
                Ok(Arc::default())
            };
            shared.files.get((target, true), count).expect("it is printed");
            n_printed
        };
        assert_eq!([printed(0, "c"), printed(0, "c"), printed(0, "rust")], [1, 1, 2]);
        // One more than are kept, and the first is forgotten.
        for at in 1..=MOST_KEPT {
            assert_eq!(printed(at, "c"), 2 + at);
        }
        assert_eq!([printed(MOST_KEPT, "c"), printed(0, "c")], [2 + MOST_KEPT, 3 + MOST_KEPT]);
    }
}
