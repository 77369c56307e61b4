//! What `farfel cache` does.

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

/// How the cache is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Stats {
    /// Where it is.
    pub directory: PathBuf,
    /// Whether the settings have it on.
    pub enabled: bool,
    /// How many entries it has.
    pub entries: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// How many they may have.
    pub bound: u64,
    /// How often it helped, by kind of work.
    pub kinds: BTreeMap<String, Counts>,
    /// The second cache, without what is secret in its address.
    pub remote: Option<String>,
}

/// What [`verify`] has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verified {
    /// How many entries are whole.
    pub good: u64,
    /// How many were damaged, and are removed.
    pub removed: u64,
}

/// Says how the cache is. One that was never used is empty; none is made.
///
/// # Errors
///
/// [`Error::Io`] when the directory cannot be read, or is one that is not to be trusted.
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

/// Reads every entry and removes those that are damaged. Builds do not need it: they look at
/// what they read.
///
/// # Errors
///
/// [`Error::Io`] when the directory cannot be read or is one that is not to be trusted, or
/// an entry can be neither read nor removed.
pub fn verify(settings: &CacheSettings) -> Result<Verified, Error> {
    let (directory, store) = existing(settings)?;
    let mut verified = Verified::default();
    let Some(store) = store else {
        return Ok(verified);
    };
    for item in store.items().map_err(Error::io(&directory))? {
        // What cannot be read is as bad as what is damaged.
        if store.is_good(&item).unwrap_or(false) {
            verified.good += 1;
        } else {
            store::remove(&item.path).map_err(Error::io(&item.path))?;
            verified.removed += 1;
        }
    }
    Ok(verified)
}

/// Removes what was used least recently until the cache is within its bound, and what
/// killed builds have left. None if another process is doing so.
///
/// # Errors
///
/// [`Error::Io`] when the directory cannot be read or is one that is not to be trusted, or
/// an entry cannot be removed.
pub fn gc(settings: &CacheSettings) -> Result<Option<Collected>, Error> {
    let (directory, store) = existing(settings)?;
    let Some(store) = store else {
        return Ok(Some(Collected::default()));
    };
    let bound = mebibytes(settings.max_size);
    gc::collect(&store, bound, bound).map_err(Error::io(directory))
}

/// Removes all entries. Returns how many there were and their bytes.
///
/// # Errors
///
/// [`Error::Io`] when something cannot be removed, or the directory is one that is not to be
/// trusted.
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

/// Asks the remote cache something. None if the settings name none; else its address, without
/// what is secret in it, and how long the answer took or why there is none.
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
