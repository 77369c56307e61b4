//! The cache: results of earlier builds, shared by all crates, profiles and checkouts.
//!
//! An entry is a few files under a [`Key`], and a key is a hash of all inputs of the work that makes these
//! files. Nothing needs to be invalidated: changed inputs have another key. Entries are in the user's cache
//! directory and in a remote cache, if the settings name one.
//!
//! ```no_run
//! use farfel_driver::{CacheSettings, cache::{Cache, Entry, Key}};
//!
//! let cache = Cache::open(&CacheSettings::default());
//! let key = Key::builder("compile").field("text", "      END\n").finish();
//! let (entry, _) = cache.get_or(&key, || Ok::<_, ()>(Entry::one("object", "…")))?;
//! cache.finish();
//! # Ok::<_, ()>(())
//! ```
//!
//! # Guarantees
//!
//! - A wrong entry is never returned: each contains its key and a digest, which are checked on every read. A
//!   damaged entry is removed and made again.
//! - Files are written under a temporary name and renamed. A process that is killed at any moment leaves at
//!   most a file under `tmp`, which the next collection removes.
//! - The cache never makes a build fail. Its errors become notices, each shown once.
//! - Any number of processes and threads can use it at once; only collections and updates of the size take
//!   locks, and nobody waits long for them.
//! - Only the user's own files are read: the directory is accessible only to the user (mode 0700). A
//!   directory that belongs to someone else, or is writable by everybody, is not used.
//! - If the clock jumps, nothing is lost, and nothing is kept forever; see `gc`.
//!
//! | module | what |
//! |---|---|
//! | `key` | the hash of all inputs |
//! | `entry` | the byte format of an entry |
//! | `store` | entries as local files |
//! | `usage` | the size, hits and misses |
//! | `gc` | enforcement of the size limit |
//! | `remote` | the second tier |
//! | `pending` | concurrent requests for the same entry |
//! | `maintain` | the operations of `farfel cache` |

mod entry;
mod gc;
mod home;
mod key;
mod maintain;
mod notices;
mod pending;
mod remote;
mod store;
mod usage;

pub use entry::Entry;
pub use gc::Collected;
pub use key::{Key, KeyBuilder};
pub use maintain::{Stats, Verified, clear, gc, reach_remote, stats, verify};
pub use usage::Counts;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::config::CacheSettings;
use notices::{Notices, Topic};
use pending::PendingEntries;
use remote::Remote;
use store::{Store, reason};

/// The cache as used by one run. Threads share it by reference.
///
/// Dropping it has the effect of [`Cache::finish`], without waiting for uploads.
pub struct Cache {
    directory: PathBuf,
    store: Option<Store>,
    remote: Option<Remote>,
    bound: u64,
    notices: Arc<Notices>,
    pending: PendingEntries,
    /// Set when a write has failed, since the next one would fail, too.
    full: AtomicBool,
    /// By how many bytes the cache has grown since the usage file was last updated.
    grown: AtomicI64,
    counts: Mutex<BTreeMap<&'static str, Counts>>,
}

/// The origin of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// From this machine, or from another thread or process that was making it at the same time.
    Here,
    /// From the remote cache.
    Remote,
    /// It was made now.
    Made,
}

/// Growth is recorded whenever it exceeds this many bytes, because a process that is killed cannot record
/// what it added.
const PORTION: i64 = 64 << 20;

impl Cache {
    /// Opens the cache that the settings name. Never fails: a cache that cannot be used stays empty, and a
    /// notice says so.
    pub fn open(settings: &CacheSettings) -> Cache {
        let mut cache = Cache::disabled();
        if !settings.enabled {
            return cache;
        }
        cache.bound = mebibytes(settings.max_size);
        match directory(settings) {
            Ok(directory) => {
                match Store::open(&directory) {
                    Ok(store) => cache.store = Some(store),
                    Err(why) => cache.notices.add(Topic::Open, || {
                        format!("the cache in `{}` is not used: {why}", directory.display())
                    }),
                }
                cache.directory = directory;
            }
            Err(why) => cache
                .notices
                .add(Topic::Open, || format!("there is no cache: {why}")),
        }
        cache.remote = Remote::open(settings, &cache.notices);
        cache
    }

    /// Returns a cache that holds nothing.
    pub fn disabled() -> Cache {
        Cache {
            directory: PathBuf::new(),
            store: None,
            remote: None,
            bound: 0,
            notices: Arc::default(),
            pending: PendingEntries::default(),
            full: AtomicBool::new(false),
            grown: AtomicI64::new(0),
            counts: Mutex::default(),
        }
    }

    /// Returns the entry for a key, if there is one: complete, undamaged, and for this key.
    pub fn get(&self, key: &Key) -> Option<Entry> {
        self.find(key).map(|(entry, _)| entry)
    }

    /// Like [`Cache::get`], and also returns where the entry was.
    pub fn find(&self, key: &Key) -> Option<(Entry, Origin)> {
        let found = self.find_uncounted(key);
        self.count(key, found.is_some());
        found
    }

    fn find_uncounted(&self, key: &Key) -> Option<(Entry, Origin)> {
        if let Some(found) = self.find_local(key) {
            return Some((found, Origin::Here));
        }
        let (entry, bytes) = self.remote.as_ref()?.get(key.digest())?;
        self.write(key, &bytes);
        Some((entry, Origin::Remote))
    }

    fn find_local(&self, key: &Key) -> Option<Entry> {
        let read = self.store.as_ref()?.read(key.digest());
        read.unwrap_or_else(|e| {
            self.notice(Topic::Read, "cannot be read", &e);
            None
        })
    }

    /// Stores an entry if possible. On failure, for example because the disk is full, a notice says so once.
    pub fn put(&self, key: &Key, entry: &Entry) {
        if self.store.is_none() && self.remote.is_none() {
            return;
        }
        let Some(bytes) = entry::encode(key, entry) else {
            return;
        };
        self.write(key, &bytes);
        if let Some(remote) = &self.remote {
            remote.put(key.digest(), bytes);
        }
    }

    fn write(&self, key: &Key, bytes: &[u8]) {
        let Some(store) = &self.store else { return };
        // An entry larger than the limit would only evict all others.
        if bytes.len() as u64 > self.bound || self.full.load(Ordering::Relaxed) {
            return;
        }
        match store.write(key.digest(), bytes) {
            Ok(growth) => {
                let grown = self.grown.fetch_add(growth, Ordering::Relaxed) + growth;
                if grown > PORTION {
                    self.settle();
                }
            }
            Err(e) => {
                self.full.store(true, Ordering::Relaxed);
                self.notice(Topic::Write, "cannot be written", &e);
            }
        }
    }

    /// Returns the entry for a key, or makes it with `make` and stores it if there is none. If several
    /// threads or processes ask for the same key at once, one makes the entry and the others wait for it; if
    /// that one fails or is killed, the next of them makes it.
    ///
    /// `make` must not wait for anything that another caller of this function may hold, such as a jobserver
    /// token: acquire tokens before the call. Nor may it ask for the same key.
    ///
    /// # Errors
    ///
    /// The error of `make`; nothing is stored then.
    pub fn get_or<E>(
        &self,
        key: &Key,
        make: impl FnOnce() -> Result<Entry, E>,
    ) -> Result<(Entry, Origin), E> {
        if let Some(found) = self.find(key) {
            return Ok(found);
        }
        let _permit = self.pending.enter(self.store.as_ref(), key);
        // Another process may have made it while we waited.
        if let Some(found) = self.find_local(key) {
            return Ok((found, Origin::Here));
        }
        let entry = make()?;
        self.put(key, &entry);
        Ok((entry, Origin::Made))
    }

    /// Returns the errors of the cache so far, each once, for `cargo::warning`.
    pub fn notices(&self) -> Vec<String> {
        self.notices.all()
    }

    /// Ends the use of the cache: records the size, collects if the limit is exceeded, and waits for uploads,
    /// at most for the time limit of the remote cache.
    pub fn finish(&self) {
        self.settle();
        if let Some(remote) = &self.remote {
            remote.finish();
        }
    }

    /// Records the size and the counts, and collects if necessary.
    fn settle(&self) {
        let Some(store) = &self.store else { return };
        let grown = self.grown.swap(0, Ordering::Relaxed);
        let counts = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *counts)
        };
        if self.full.load(Ordering::Relaxed) || (grown == 0 && counts.is_empty()) {
            return;
        }
        let settled = usage::update(store, |usage| {
            usage.bytes = usage.bytes.saturating_add_signed(grown);
            for (kind, now) in counts {
                let all = usage.kinds.entry(kind.to_owned()).or_default();
                all.hits = all.hits.saturating_add(now.hits);
                all.misses = all.misses.saturating_add(now.misses);
            }
        })
        .and_then(|usage| match usage {
            // Removes more than necessary, so that not every build has to collect.
            Some(usage) if usage.bytes > self.bound => {
                gc::collect(store, self.bound, self.bound / 10 * 9).map(|_| ())
            }
            _ => Ok(()),
        });
        if let Err(e) = settled {
            // A read-only cache is used without complaint.
            if grown != 0 {
                self.notice(Topic::Collect, "cannot be collected", &e);
            }
        }
    }

    fn count(&self, key: &Key, hit: bool) {
        if self.store.is_none() {
            return;
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = counts.entry(key.kind()).or_default();
        if hit {
            counts.hits += 1;
        } else {
            counts.misses += 1;
        }
    }

    fn notice(&self, topic: Topic, what: &str, error: &io::Error) {
        self.notices.add(topic, || {
            format!(
                "the cache in `{}` {what}: {}",
                self.directory.display(),
                reason(error)
            )
        });
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.settle();
    }
}

/// Returns the directory of the cache with these settings.
fn directory(settings: &CacheSettings) -> Result<PathBuf, String> {
    settings
        .directory
        .clone()
        .or_else(home::directory)
        .ok_or_else(|| "you have no home directory; set FARFEL_CACHE_DIR".into())
}

fn mebibytes(n: u64) -> u64 {
    n.saturating_mul(1 << 20)
}
