//! Avoids duplicate work: if several threads or processes need the same entry at once, one makes it and the
//! others wait.
//!
//! This only saves work, and correctness does not depend on it: if a lock cannot be taken, or is held for too
//! long, both do the work and write the same entry.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::key::Key;
use super::store::Store;

/// How long to wait for another process: longer than the default time limit of any tool.
const PATIENCE: Duration = Duration::from_secs(900);

/// The keys of the entries that threads of this process are making.
#[derive(Default)]
pub(super) struct PendingEntries {
    keys: Mutex<HashSet<[u8; 32]>>,
    changed: Condvar,
}

/// The right to make one entry. Dropping it releases the right, and the system does so if the process is
/// killed.
pub(super) struct EntryPermit<'f> {
    pending: &'f PendingEntries,
    key: [u8; 32],
    lock: Option<(File, PathBuf)>,
}

impl PendingEntries {
    /// Waits until nobody else is making the entry with this key.
    pub(super) fn enter(&self, store: Option<&Store>, key: &Key) -> EntryPermit<'_> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        while keys.contains(key.digest()) {
            keys = self
                .changed
                .wait(keys)
                .unwrap_or_else(PoisonError::into_inner);
        }
        keys.insert(*key.digest());
        drop(keys);
        // From here on the permit is released whatever happens.
        let mut permit = EntryPermit {
            pending: self,
            key: *key.digest(),
            lock: None,
        };
        permit.lock = store.and_then(|store| {
            let name = format!("locks/{}.lock", key.hex());
            let file = store.lock(&name, PATIENCE)??;
            Some((file, store.extra_file(&name)))
        });
        permit
    }
}

impl Drop for EntryPermit<'_> {
    fn drop(&mut self) {
        if let Some((file, path)) = self.lock.take() {
            // Those who wait for the lock on this very file will find the entry; those who come later create
            // a new file.
            let _ = fs::remove_file(path);
            drop(file);
        }
        let mut keys = self
            .pending
            .keys
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        keys.remove(&self.key);
        drop(keys);
        self.pending.changed.notify_all();
    }
}
