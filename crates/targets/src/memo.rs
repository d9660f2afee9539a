//! Memoisation. What is made once, whoever asks for it first.

use rustc_hash::FxHashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A value for each key, made for the first who asks. Clones share what was made.
#[derive(Clone)]
pub struct Memo<K, V>(Arc<Mutex<FxHashMap<K, Arc<OnceLock<V>>>>>);

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Eq + Hash, V: Clone> Memo<K, V> {
    /// The value of a key. Who asks for it while it is made waits; other values are made meanwhile.
    pub fn get(&self, key: K, make: impl FnOnce() -> V) -> V {
        let place = Arc::clone(self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default());
        place.get_or_init(make).clone()
    }
}

impl<K: fmt::Debug, V> fmt::Debug for Memo<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(made.keys()).finish()
    }
}
