//! The entries on this machine, each in a file of its own.
//!
//! ```text
//! DIRECTORY/farfel-v1/        only for the user: mode 0700
//!   CACHEDIR.TAG              keeps it out of backups
//!   ab/cdef…                  an entry, its key spread over directory and name
//!   tmp/                      files that are being written
//!   locks/                    who is computing what, see `Cache::get_or`
//!   usage, usage.lock         the size, hits and misses; see `usage`
//!   gc.lock                   who is collecting
//! ```
//!
//! All our files are under `farfel-v1`, so that a directory named by the user may hold other things; `clear`
//! removes only files with our names. The version changes whenever old entries become meaningless.
//!
//! Files are not flushed to the disk before they are renamed: after a power failure a file may have any
//! content, but then its digest is wrong.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use super::entry::{self, Entry};
use super::key::hex;

/// The entries in a directory.
#[derive(Debug)]
pub(super) struct Store {
    root: PathBuf,
    /// The user whose files are trusted; `None` if the system does not report owners.
    owner: Option<u32>,
}

/// The directory inside the user's directory, with the version of the format.
const ROOT: &str = "farfel-v1";
/// How far timestamps may be off before they are rewritten: marking an entry as used costs a write, and the
/// order of use matters only over days.
const GRAIN: Duration = Duration::from_secs(3600);

const TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
    # This directory holds results of earlier builds, made by Farfel.\n\
    # It may be removed at any time: https://bford.info/cachedir/\n";

/// The file of an entry, as found when listing all entries.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) path: PathBuf,
    pub(super) key: [u8; 32],
    pub(super) size: u64,
    pub(super) used: SystemTime,
}

impl Store {
    /// Opens the cache in a directory, and creates it if necessary.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be used: it cannot be created, or others can write to it.
    pub(super) fn open(directory: &Path) -> Result<Store, String> {
        let store = Store::create(directory)?;
        let tag = store.root.join("CACHEDIR.TAG");
        if !tag.exists() {
            // Errors do not matter, since the file is only for backup programs.
            let _ = fs::write(tag, TAG);
        }
        Ok(store)
    }

    fn create(directory: &Path) -> Result<Store, String> {
        let root = directory.join(ROOT);
        let mut reason_of_last = "other processes remove it again and again".to_owned();
        // Another process may clear the cache between creation and opening.
        for _ in 0..100 {
            for dir in [directory, &root] {
                if dir.is_dir() {
                    continue;
                }
                match make(dir) {
                    Ok(()) => {}
                    Err(e) if is_passing(&e) => reason_of_last = reason(&e),
                    Err(e) => return Err(reason(&e)),
                }
            }
            if let Some(store) = Store::existing(directory)? {
                return Ok(store);
            }
        }
        Err(reason_of_last)
    }

    /// Opens the cache in a directory if it exists.
    ///
    /// # Errors
    ///
    /// Same as [`Store::open`].
    pub(super) fn existing(directory: &Path) -> Result<Option<Store>, String> {
        let root = directory.join(ROOT);
        // Both are examined at once, since another process may remove them at any moment.
        let about = fs::metadata(directory).and_then(|outer| Ok((outer, fs::metadata(&root)?)));
        let (outer, inner) = match about {
            Ok(about) => about,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(reason(&e)),
        };
        if !inner.is_dir() {
            return Err("it is not a directory".into());
        }
        let owner = owner::check(&outer, &inner)?;
        Ok(Some(Store { root, owner }))
    }

    /// Returns the path of a file of the cache that is not an entry.
    pub(super) fn extra_file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn path(&self, key: &[u8; 32]) -> PathBuf {
        let name = hex(key);
        self.root.join(&name[..2]).join(&name[2..])
    }

    /// Reads the entry for a key. A damaged entry is removed.
    pub(super) fn read(&self, key: &[u8; 32]) -> io::Result<Option<Entry>> {
        let path = self.path(key);
        let Some((bytes, used)) = self.bytes(&path)? else {
            return Ok(None);
        };
        let entry = entry::decode(key, &bytes);
        match &entry {
            Some(_) => mark_used(&path, used),
            // Another process may have replaced it by a good one in the meantime; then that one is made
            // again.
            None => drop(fs::remove_file(&path)),
        }
        Ok(entry)
    }

    /// Whether the file of an entry is intact and for its key.
    pub(super) fn is_good(&self, item: &Item) -> io::Result<bool> {
        // An entry that has just been removed is not bad.
        let read = self.bytes(&item.path)?;
        Ok(read.is_none_or(|(bytes, _)| entry::decode(&item.key, &bytes).is_some()))
    }

    fn bytes(&self, path: &Path) -> io::Result<Option<(Vec<u8>, SystemTime)>> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let about = file.metadata()?;
        if !about.is_file() || !owner::is(self.owner, &about) {
            return Ok(None);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or(0));
        file.read_to_end(&mut bytes)?;
        Ok(Some((bytes, about.modified()?)))
    }

    /// Writes the bytes of an entry, and returns by how many bytes the cache has grown.
    pub(super) fn write(&self, key: &[u8; 32], bytes: &[u8]) -> io::Result<i64> {
        let path = self.path(key);
        let before = fs::metadata(&path).map_or(0, |about| about.len());
        self.replace(&path, bytes)?;
        let size = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        Ok(size(bytes.len() as u64).saturating_sub(size(before)))
    }

    /// Replaces a file atomically.
    pub(super) fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut result = self.try_replace(path, bytes);
        // Directories are created together with their first file; and a concurrent `clear` may remove them,
        // or the temporary file, at any moment.
        for _ in 0..100 {
            match &result {
                Err(e) if is_passing(e) => {
                    result = make(&self.root.join("tmp"))
                        .and_then(|()| make(path.parent().unwrap_or(&self.root)))
                        .and_then(|()| self.try_replace(path, bytes));
                }
                _ => break,
            }
        }
        result
    }

    fn try_replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let (temporary, mut file) = self.temporary()?;
        // Shows a concurrent sweep that the writer is alive. Without locks, the file's age decides.
        let _ = file.try_lock();
        let written = file.write_all(bytes);
        drop(file);
        let result = written.and_then(|()| fs::rename(&temporary, path));
        if let Err(e) = result {
            let _ = fs::remove_file(&temporary);
            // Windows cannot replace a file that someone has open; it contains the same entry.
            let busy = cfg!(windows) && e.kind() == ErrorKind::PermissionDenied && path.exists();
            return if busy { Ok(()) } else { Err(e) };
        }
        Ok(())
    }

    fn temporary(&self) -> io::Result<(PathBuf, File)> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let path = self.root.join("tmp").join(format!(
                "{}-{}.tmp",
                std::process::id(),
                COUNT.fetch_add(1, Ordering::Relaxed)
            ));
            // Process numbers are reused, and containers have their own.
            match private().create_new(true).open(&path) {
                Ok(file) => return Ok((path, file)),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Returns all entries, in no particular order.
    pub(super) fn items(&self) -> io::Result<Vec<Item>> {
        let mut items = Vec::new();
        for directory in list(&self.root)? {
            let name = directory.file_name();
            let Some(first) = name.to_str().filter(|n| n.len() == 2 && is_hex(n)) else {
                continue;
            };
            for file in list(&directory.path())? {
                let name = file.file_name();
                let Some(key) = name.to_str().and_then(|rest| parse(first, rest)) else {
                    continue;
                };
                // It was removed in the meantime, or is not ours.
                let Ok(about) = file.metadata() else { continue };
                if about.is_file() {
                    items.push(Item {
                        path: file.path(),
                        key,
                        size: about.len(),
                        used: about.modified()?,
                    });
                }
            }
        }
        Ok(items)
    }

    /// Removes temporary files whose writers are dead, or all of them if `all`.
    pub(super) fn sweep(&self, all: bool) -> io::Result<u64> {
        let mut count = 0;
        for directory in ["tmp", "locks"] {
            for file in list(&self.root.join(directory))? {
                let path = file.path();
                let ours = path.extension().is_some_and(|e| e == "tmp" || e == "lock");
                if ours && (all || is_stale(&path)) && fs::remove_file(&path).is_ok() {
                    count += u64::from(directory == "tmp");
                }
            }
        }
        Ok(count)
    }

    /// Removes all our files, including those of other versions. Directories that the user created stay, and
    /// so do files that are not ours.
    pub(super) fn clear(&self) -> io::Result<()> {
        self.sweep(true)?;
        for item in self.items()? {
            remove(&item.path)?;
        }
        for name in ["usage", "usage.lock", "gc.lock", "CACHEDIR.TAG"] {
            remove(&self.root.join(name))?;
        }
        for directory in list(&self.root)? {
            // Only empty directories are removed: another build may be writing.
            let _ = fs::remove_dir(directory.path());
        }
        let _ = fs::remove_dir(&self.root);
        Ok(())
    }

    /// Takes a lock, waiting for at most `patience`. Returns `None` if someone else holds it, and
    /// `Some(None)` if the system has no locks: then everybody proceeds, which costs work but not
    /// correctness.
    pub(super) fn lock(&self, name: &str, patience: Duration) -> Option<Option<File>> {
        let path = self.root.join(name);
        let open = || private().create(true).truncate(false).open(&path);
        let file = open().or_else(|e| {
            if e.kind() == ErrorKind::NotFound {
                make(path.parent().unwrap_or(&self.root))?;
            }
            open()
        });
        let Ok(file) = file else { return Some(None) };
        let start = std::time::Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            match file.try_lock() {
                Ok(()) => return Some(Some(file)),
                Err(TryLockError::Error(_)) => return Some(None),
                Err(TryLockError::WouldBlock) if start.elapsed() >= patience => return None,
                Err(TryLockError::WouldBlock) => {}
            }
            std::thread::sleep(pause.min(patience.saturating_sub(start.elapsed())));
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}

/// Marks an entry as used now, unless it is marked as used recently. Times in the future, which a clock that
/// jumps leaves behind, are corrected.
fn mark_used(path: &Path, used: SystemTime) {
    let now = SystemTime::now();
    let off = now
        .duration_since(used)
        .unwrap_or_else(|ahead| ahead.duration());
    if off > GRAIN {
        set_used(path, now);
    }
}

/// Sets the time of use. Errors are ignored, since a read-only cache remains usable.
pub(super) fn set_used(path: &Path, time: SystemTime) {
    if let Ok(file) = File::options().write(true).open(path) {
        let _ = file.set_modified(time);
    }
}

/// Whether a temporary file is abandoned: nobody has it locked, or it is old. It may belong to a live writer
/// that is just about to lock or rename it; that writer starts again.
fn is_stale(path: &Path) -> bool {
    const OLD: Duration = Duration::from_secs(24 * 3600);
    let Ok(file) = File::options().write(true).open(path) else {
        return false;
    };
    let age =
        file.metadata()
            .and_then(|about| about.modified())
            .map(|time| match SystemTime::now().duration_since(time) {
                Ok(age) => age,
                // The clock went back: as old as it is ahead.
                Err(ahead) => ahead.duration(),
            });
    match file.try_lock() {
        Ok(()) => age.is_ok_and(|age| age > Duration::from_secs(2)),
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => age.is_ok_and(|age| age > OLD),
    }
}

/// Creates a directory and its parents, accessible only to the user.
fn make(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Whether a concurrent `clear` may be the reason: a directory disappeared before a file was created in it,
/// or it existed on creation and had disappeared when examined.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists)
}

fn private() -> fs::OpenOptions {
    let mut options = File::options();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Lists a directory; empty if it does not exist.
fn list(path: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(path) {
        Ok(entries) => Ok(entries.filter_map(Result::ok).collect()),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(e) => Err(e),
    }
}

/// Removes a file that may no longer exist, and returns whether it existed.
pub(super) fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Parses the key from the names of directory and file.
fn parse(first: &str, rest: &str) -> Option<[u8; 32]> {
    if rest.len() != 62 || !is_hex(rest) {
        return None;
    }
    let text = format!("{first}{rest}");
    let mut key = [0; 32];
    for (byte, digits) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(key)
}

/// Formats the reason of an I/O error in words.
pub(super) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

/// Checks who may have written the files that we read.
#[cfg(unix)]
mod owner {
    use std::fs::Metadata;
    use std::os::unix::fs::MetadataExt;

    const OTHERS_WRITE: u32 = 0o002;
    const STICKY: u32 = 0o1000;

    /// Returns the user whose files are trusted, or the reason why the directory cannot be used.
    pub(super) fn check(outer: &Metadata, inner: &Metadata) -> Result<Option<u32>, String> {
        let me = rustix::process::geteuid().as_raw();
        let open = outer.mode() & OTHERS_WRITE != 0 && outer.mode() & STICKY == 0;
        if open || inner.mode() & OTHERS_WRITE != 0 {
            return Err("everybody can write to it".into());
        }
        // The administrator can do everything anyway.
        if inner.uid() != me || ![me, 0].contains(&outer.uid()) {
            return Err("it belongs to another user".into());
        }
        Ok(Some(me))
    }

    pub(super) fn is(owner: Option<u32>, about: &Metadata) -> bool {
        owner.is_none_or(|owner| about.uid() == owner)
    }
}

/// Checks who may have written the files that we read: here the user's own directory is assumed to be safe.
#[cfg(not(unix))]
mod owner {
    use std::fs::Metadata;

    pub(super) fn check(_outer: &Metadata, _inner: &Metadata) -> Result<Option<u32>, String> {
        Ok(None)
    }

    pub(super) fn is(_owner: Option<u32>, _about: &Metadata) -> bool {
        true
    }
}
