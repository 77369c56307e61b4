//! Keeping the cache within its bound: what was used least recently goes first.
//!
//! Entries go only because of the bound, never because of their age, so that a clock which
//! jumps loses nothing. A time of use in the future counts as now and is written anew, so
//! that it keeps nothing for ever either.

use std::io;
use std::time::{Duration, SystemTime};

use super::store::{self, Item, Store};
use super::usage;

/// What a collection has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Collected {
    /// How many entries were removed.
    pub removed: u64,
    /// How many bytes they had.
    pub removed_bytes: u64,
    /// How many entries are left.
    pub left: u64,
    /// How many bytes they have.
    pub left_bytes: u64,
}

/// Removes entries until those left have at most `target` bytes, if they have more than
/// `bound`. None if another process is doing it.
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
            // On Windows it may be open; then it stays until the next time.
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

/// Times in the future become now.
fn bring_back(items: &[Item], now: SystemTime) {
    for item in items {
        if item.used > now + Duration::from_secs(60) {
            store::set_used(&item.path, now);
        }
    }
}
