//! The operations of `farfel cache`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::gc::{self, Collected};
use super::remote;
use super::store::{self, Store};
use super::usage::{self, Counts};
use super::{directory, mebibytes};
use crate::Error;
use crate::config::CacheSettings;

/// The state of the cache.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Stats {
    /// The directory.
    pub directory: PathBuf,
    /// Whether the settings enable it.
    pub enabled: bool,
    /// The number of entries.
    pub entries: u64,
    /// Their total size in bytes.
    pub bytes: u64,
    /// The size limit in bytes.
    pub bound: u64,
    /// Hits and misses by kind of work.
    pub kinds: BTreeMap<String, Counts>,
    /// The address of the remote cache, without secrets.
    pub remote: Option<String>,
}

/// The result of [`verify`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verified {
    /// The number of intact entries.
    pub good: u64,
    /// The number of damaged entries, which were removed.
    pub removed: u64,
}

/// Returns the state of the cache. A cache that was never used counts as empty and is not created.
///
/// # Errors
///
/// [`Error::Io`] if the directory cannot be read or must not be trusted.
pub fn stats(settings: &CacheSettings) -> Result<Stats, Error> {
    let (directory, store) = existing(settings)?;
    let mut stats = Stats {
        enabled: settings.enabled,
        entries: 0,
        bytes: 0,
        bound: mebibytes(settings.max_size),
        kinds: BTreeMap::new(),
        remote: settings.remote.as_deref().map(remote::shown),
        directory,
    };
    if let Some(store) = store {
        let items = store.items().map_err(Error::io(&stats.directory))?;
        stats.entries = items.len() as u64;
        stats.bytes = items.iter().map(|item| item.size).sum();
        stats.kinds = usage::read(&store).unwrap_or_default().kinds;
    }
    Ok(stats)
}

/// Reads every entry and removes damaged ones. Builds do not depend on it, since they check what they read.
///
/// # Errors
///
/// [`Error::Io`] if the directory cannot be read or must not be trusted, or if an entry can be neither read
/// nor removed.
pub fn verify(settings: &CacheSettings) -> Result<Verified, Error> {
    let (directory, store) = existing(settings)?;
    let mut verified = Verified::default();
    let Some(store) = store else {
        return Ok(verified);
    };
    for item in store.items().map_err(Error::io(&directory))? {
        // An unreadable entry is as bad as a damaged one.
        if store.is_good(&item).unwrap_or(false) {
            verified.good += 1;
        } else {
            store::remove(&item.path).map_err(Error::io(&item.path))?;
            verified.removed += 1;
        }
    }
    Ok(verified)
}

/// Removes the least recently used entries until the cache is within its limit, and files left behind by
/// killed builds. Returns `None` if another process is collecting.
///
/// # Errors
///
/// [`Error::Io`] if the directory cannot be read or must not be trusted, or if an entry cannot be removed.
pub fn gc(settings: &CacheSettings) -> Result<Option<Collected>, Error> {
    let (directory, store) = existing(settings)?;
    let Some(store) = store else {
        return Ok(Some(Collected::default()));
    };
    let bound = mebibytes(settings.max_size);
    gc::collect(&store, bound, bound).map_err(Error::io(directory))
}

/// Removes all entries. Returns their number and size.
///
/// # Errors
///
/// [`Error::Io`] if something cannot be removed, or if the directory must not be trusted.
pub fn clear(settings: &CacheSettings) -> Result<Collected, Error> {
    let (directory, store) = existing(settings)?;
    let mut done = Collected::default();
    if let Some(store) = store {
        let items = store.items().map_err(Error::io(&directory))?;
        store.clear().map_err(Error::io(&directory))?;
        done.removed = items.len() as u64;
        done.removed_bytes = items.iter().map(|item| item.size).sum();
    }
    Ok(done)
}

/// Sends a request to the remote cache. Returns `None` if the settings name none; else its address, without
/// secrets, and the time that the answer took or the reason why there was none.
pub fn reach_remote(settings: &CacheSettings) -> Option<(String, Result<Duration, String>)> {
    remote::reach(settings.enabled.then_some(settings)?)
}

fn existing(settings: &CacheSettings) -> Result<(PathBuf, Option<Store>), Error> {
    let other = |directory: &Path, why: String| Error::Io {
        path: directory.to_owned(),
        source: std::io::Error::other(why),
    };
    let directory = directory(settings).map_err(|why| other(Path::new("cache"), why))?;
    let store = Store::existing(&directory).map_err(|why| other(&directory, why))?;
    Ok((directory, store))
}
