//! Keeps the cache within its size limit by removing the least recently used entries first.
//!
//! Entries are removed only because of the limit and never because of their age, so that a clock that jumps
//! loses nothing. A time of use in the future is treated as now and rewritten, so that it does not keep an
//! entry forever either.

use std::io;
use std::time::{Duration, SystemTime};

use super::store::{self, Item, Store};
use super::usage;

/// The result of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Collected {
    /// The number of entries removed.
    pub removed: u64,
    /// Their total size in bytes.
    pub removed_bytes: u64,
    /// The number of entries left.
    pub left: u64,
    /// Their total size in bytes.
    pub left_bytes: u64,
}

/// If the entries have more than `bound` bytes, removes entries until at most `target` bytes are left.
/// Returns `None` if another process is collecting.
pub(super) fn collect(store: &Store, bound: u64, target: u64) -> io::Result<Option<Collected>> {
    let Some(_lock) = store.lock("gc.lock", Duration::ZERO) else {
        return Ok(None);
    };
    store.sweep(false)?;
    let mut items = store.items()?;
    let now = SystemTime::now();
    bring_back(&items, now);
    items.sort_by_key(|item| (item.used.min(now), item.used, item.key));
    let mut done = Collected {
        left: items.len() as u64,
        left_bytes: items.iter().map(|item| item.size).sum(),
        ..Collected::default()
    };
    if done.left_bytes > bound {
        for item in &items {
            if done.left_bytes <= target {
                break;
            }
            // On Windows the file may be open; then it stays until the next collection.
            match store::remove(&item.path) {
                Ok(true) => {
                    done.removed += 1;
                    done.removed_bytes += item.size;
                }
                Ok(false) => {}
                Err(_) if cfg!(windows) => continue,
                Err(e) => return Err(e),
            }
            done.left -= 1;
            done.left_bytes -= item.size;
        }
    }
    usage::update(store, |usage| usage.bytes = done.left_bytes)?;
    Ok(Some(done))
}

/// Sets times of use in the future to now.
fn bring_back(items: &[Item], now: SystemTime) {
    for item in items {
        if item.used > now + Duration::from_secs(60) {
            store::set_used(&item.path, now);
        }
    }
}
