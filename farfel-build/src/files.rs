//! Writing files: whole or not at all, and only when their content changes.

use crate::Error;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Writes a file if its content differs, through a temporary file beside it, so that a
/// reader never sees half of it. Returns whether it was written.
pub(crate) fn write_if_changed(path: &Path, content: &[u8]) -> Result<bool, Error> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(false);
    }
    let temporary = beside(path);
    fs::write(&temporary, content)
        .and_then(|()| fs::rename(&temporary, path))
        .map_err(|source| {
            // Best effort: the first error is the one to report.
            let _ = fs::remove_file(&temporary);
            Error::Io {
                path: path.to_owned(),
                source,
            }
        })?;
    Ok(true)
}

/// Removes a file; it need not exist.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path)(e)),
        _ => Ok(()),
    }
}

/// A directory for files that are needed only for a moment.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Result<Scratch, Error> {
        Scratch::new_in(&std::env::temp_dir())
    }

    pub(crate) fn new_in(base: &Path) -> Result<Scratch, Error> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        loop {
            let path = base.join(format!(
                "farfel-{}-{}",
                std::process::id(),
                COUNT.fetch_add(1, Ordering::Relaxed)
            ));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Scratch(path)),
                // Left by a process that had our number, or laid there by someone.
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::io(path)(e)),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Best effort: it is in the system's directory for such files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Writes a program that can be run, whole or not at all.
pub(crate) fn write_program(path: &Path, code: &[u8]) -> Result<(), Error> {
    let temporary = beside(path);
    let write = || {
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o777);
        options.open(&temporary)?.write_all(code)?;
        fs::rename(&temporary, path)
    };
    write().map_err(|source| {
        let _ = fs::remove_file(&temporary);
        Error::Io {
            path: path.to_owned(),
            source,
        }
    })
}

/// The name of a temporary file in the same directory.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_once_and_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a b ä.f");
        assert!(write_if_changed(&file, b"one").unwrap());
        assert!(!write_if_changed(&file, b"one").unwrap());
        assert!(write_if_changed(&file, b"two").unwrap());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        let error = write_if_changed(&dir.path().join("no/such"), b"").unwrap_err();
        assert!(error.to_string().contains("such"), "{error}");
    }
}
