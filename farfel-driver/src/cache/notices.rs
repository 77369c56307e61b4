//! Notices about the cache for the user, each shown once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The subject of a notice; there is at most one notice for each.
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
    /// Stores a notice if it is the first one on its topic.
    pub(super) fn add(&self, topic: Topic, text: impl FnOnce() -> String) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(topic).or_insert_with(text);
    }

    pub(super) fn all(&self) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().cloned().collect()
    }
}
