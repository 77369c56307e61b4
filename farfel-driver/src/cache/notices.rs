//! What a user should know about the cache, each thing once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What a notice is about; there is at most one for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Topic {
    Open,
    Read,
    Write,
    Collect,
    Remote,
}

#[derive(Debug, Default)]
pub(super) struct Notices(Mutex<BTreeMap<Topic, String>>);

impl Notices {
    /// Keeps a notice if it is the first of its topic.
    pub(super) fn add(&self, topic: Topic, text: impl FnOnce() -> String) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(topic).or_insert_with(text);
    }

    pub(super) fn all(&self) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().cloned().collect()
    }
}
