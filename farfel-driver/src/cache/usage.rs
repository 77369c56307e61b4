//! The size of the cache and its hits and misses, kept in one small file.
//!
//! The size is the sum of what writers say they added, so that no build has to list the directory. A process
//! that is killed may fail to record its additions; therefore the size is recounted now and then, and
//! whenever the file is missing or damaged.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::time::Duration;

use super::key::hex;
use super::store::Store;

/// Hits and misses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// How often an entry was found.
    pub hits: u64,
    /// How often it was not.
    pub misses: u64,
}

/// The contents of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Usage {
    pub(super) bytes: u64,
    /// The number of updates since the size was last counted.
    updates: u64,
    pub(super) kinds: BTreeMap<String, Counts>,
}

const NAME: &str = "usage";
const TITLE: &str = "farfel cache usage 1";
/// After this many updates the size is recounted.
const COUNT_AGAIN: u64 = 250;
/// How long to wait for another process that updates the file, which normally takes far less.
const PATIENCE: Duration = Duration::from_millis(100);

/// Reads the file, if it exists and is intact.
pub(super) fn read(store: &Store) -> Option<Usage> {
    parse(&fs::read_to_string(store.extra_file(NAME)).ok()?)
}

/// Updates the file and returns its new contents. Returns `None` if another process holds the lock for long:
/// then the change is lost, and the next recount corrects it.
pub(super) fn update(store: &Store, change: impl FnOnce(&mut Usage)) -> io::Result<Option<Usage>> {
    let Some(_lock) = store.lock("usage.lock", PATIENCE) else {
        return Ok(None);
    };
    let count = || -> io::Result<u64> { Ok(store.items()?.iter().map(|item| item.size).sum()) };
    let mut usage = match read(store) {
        Some(mut usage) => {
            change(&mut usage);
            usage.updates += 1;
            if usage.updates >= COUNT_AGAIN {
                usage.bytes = count()?;
                usage.updates = 0;
            }
            usage
        }
        // The files on the disk already include the change.
        None => {
            let mut usage = Usage::default();
            change(&mut usage);
            usage.bytes = count()?;
            usage
        }
    };
    usage.kinds.retain(|kind, _| is_name(kind));
    store.replace(&store.extra_file(NAME), text(&usage).as_bytes())?;
    Ok(Some(usage))
}

fn is_name(kind: &str) -> bool {
    !kind.is_empty() && !kind.contains(char::is_whitespace)
}

fn text(usage: &Usage) -> String {
    let mut text = format!("{TITLE}\nbytes {} {}\n", usage.bytes, usage.updates);
    for (kind, counts) in &usage.kinds {
        let _ = writeln!(text, "kind {kind} {} {}", counts.hits, counts.misses);
    }
    let check = check(&text);
    let _ = writeln!(text, "check {check}");
    text
}

fn parse(text: &str) -> Option<Usage> {
    let (body, line) = text.strip_suffix('\n')?.rsplit_once('\n')?;
    let body = format!("{body}\n");
    if line.strip_prefix("check ")? != check(&body) {
        return None;
    }
    let mut lines = body.lines();
    if lines.next()? != TITLE {
        return None;
    }
    let mut usage = Usage::default();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["bytes", bytes, updates] => {
                usage.bytes = bytes.parse().ok()?;
                usage.updates = updates.parse().ok()?;
            }
            ["kind", kind, hits, misses] => {
                let counts = Counts {
                    hits: hits.parse().ok()?,
                    misses: misses.parse().ok()?,
                };
                usage.kinds.insert(kind.to_owned(), counts);
            }
            _ => return None,
        }
    }
    Some(usage)
}

fn check(text: &str) -> String {
    hex(&blake3::hash(text.as_bytes()).as_bytes()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_as_it_was_or_not_at_all() {
        let mut usage = Usage {
            bytes: 12,
            updates: 3,
            ..Usage::default()
        };
        usage
            .kinds
            .insert("compile".into(), Counts { hits: 1, misses: 2 });
        let text = text(&usage);
        assert_eq!(parse(&text), Some(usage));
        for i in 0..text.len() {
            assert_eq!(parse(&text[..i]), None, "{i}");
            let mut damaged = text.clone().into_bytes();
            damaged[i] ^= 1;
            assert_eq!(parse(str::from_utf8(&damaged).unwrap()), None, "{i}");
        }
    }
}
