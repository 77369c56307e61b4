//! Two that make the same thing at once: one does it, the others wait.
//!
//! This saves work and is needed for nothing else: when a lock cannot be had, or is kept for
//! too long, both do the work and write the same entry.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::key::Key;
use super::store::Store;

/// How long to wait for another process: longer than any tool may run by default.
const PATIENCE: Duration = Duration::from_secs(900);

/// What the threads of this process are making.
#[derive(Default)]
pub(super) struct Flights {
    keys: Mutex<HashSet<[u8; 32]>>,
    changed: Condvar,
}

/// The right to make one thing; given back when dropped, and by the system when the process
/// is killed.
pub(super) struct Turn<'f> {
    flights: &'f Flights,
    key: [u8; 32],
    lock: Option<(File, PathBuf)>,
}

impl Flights {
    /// Waits until nobody else makes what the key names.
    pub(super) fn enter(&self, store: Option<&Store>, key: &Key) -> Turn<'_> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        while keys.contains(key.digest()) {
            keys = self
                .changed
                .wait(keys)
                .unwrap_or_else(PoisonError::into_inner);
        }
        keys.insert(*key.digest());
        drop(keys);
        // From here on the turn is given back whatever happens.
        let mut turn = Turn {
            flights: self,
            key: *key.digest(),
            lock: None,
        };
        turn.lock = store.and_then(|store| {
            let name = format!("locks/{}.lock", key.hex());
            let file = store.lock(&name, PATIENCE)??;
            Some((file, store.beside(&name)))
        });
        turn
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some((file, path)) = self.lock.take() {
            // Who waits for this very file finds the entry; who comes later makes a new file.
            let _ = fs::remove_file(path);
            drop(file);
        }
        let mut keys = self
            .flights
            .keys
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        keys.remove(&self.key);
        drop(keys);
        self.flights.changed.notify_all();
    }
}
