//! Writes files atomically, and only if their content changes.

use crate::Error;
use crate::process::watch::{Watchdog, unpredictable_name};
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Writes a file if its content differs, through a temporary file beside it, so that a reader never sees half
/// of it. Returns whether it was written.
pub(crate) fn write_if_changed(path: &Path, content: &[u8]) -> Result<bool, Error> {
    // If the lengths differ, the file need not be read.
    let same = fs::metadata(path).is_ok_and(|m| m.len() == content.len() as u64);
    if same && fs::read(path).is_ok_and(|old| old == content) {
        return Ok(false);
    }
    replace(path, content, 0o666)?;
    Ok(true)
}

/// Replaces an existing file, following links and keeping its permissions.
pub(crate) fn rewrite(path: &Path, content: &[u8]) -> Result<(), Error> {
    let real = path.canonicalize().map_err(Error::io(path))?;
    let permissions = fs::metadata(&real).map_err(Error::io(path))?.permissions();
    if permissions.readonly() {
        return Err(Error::io(path)(ErrorKind::PermissionDenied.into()));
    }
    #[cfg(unix)]
    let mode = std::os::unix::fs::PermissionsExt::mode(&permissions) & 0o777;
    #[cfg(not(unix))]
    let mode = 0o666;
    replace(&real, content, mode)?;
    fs::set_permissions(&real, permissions).map_err(Error::io(path))
}

/// Removes a file if it exists.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io(path)(e)),
        _ => Ok(()),
    }
}

/// A directory for short-lived files. Nobody else may access it, and its name is unpredictable. It is removed
/// when this is dropped, or if this process is killed before, see [`Watchdog`].
pub(crate) struct Scratch {
    path: PathBuf,
    watch: Watchdog,
}

impl Scratch {
    pub(crate) fn new() -> Result<Scratch, Error> {
        Scratch::new_in(&std::env::temp_dir())
    }

    /// Creates one in a directory other than the system's, so that its files can be moved to that directory.
    pub(crate) fn new_in(base: &Path) -> Result<Scratch, Error> {
        // A program that runs in it has another working directory.
        let base = std::path::absolute(base).map_err(Error::io(base))?;
        loop {
            let path = base.join(format!("farfel-{}", unpredictable_name()));
            // The watch comes first: this process may be killed as soon as the directory exists.
            let watch = Watchdog::new(Some(&path));
            match private_directory(&path) {
                Ok(()) => return Ok(Scratch { path, watch }),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::io(path)(e)),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the watch that guards it, for a program that runs in it.
    pub(crate) fn watch(&mut self) -> &mut Watchdog {
        &mut self.watch
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove_tree(&self.path);
    }
}

/// Creates a directory that only its owner may read and write.
pub(crate) fn private_directory(path: &Path) -> std::io::Result<()> {
    #[cfg_attr(not(unix), expect(unused_mut))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Removes a directory with everything in it, including links but not their targets. Errors are ignored,
/// since it is in the system's directory for temporary files.
fn remove_tree(path: &Path) {
    for _ in 0..3 {
        match fs::remove_dir_all(path) {
            Err(e) if e.kind() != ErrorKind::NotFound => open_up(path),
            _ => return,
        }
    }
}

/// Gives the owner all rights on directories, which a program may have removed.
fn open_up(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mut left = vec![path.to_owned()];
        while let Some(path) = left.pop() {
            // The metadata of a link are its own.
            if fs::symlink_metadata(&path).is_ok_and(|m| m.is_dir()) {
                let _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o700));
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                left.extend(entries.map(|e| e.path()));
            }
        }
    }
    #[cfg(not(unix))]
    let _ = path;
}

/// Writes an executable file atomically.
pub(crate) fn write_program(path: &Path, code: &[u8]) -> Result<(), Error> {
    replace(path, code, 0o777)
}

/// Replaces a file. The temporary file beside it is a new one with an unpredictable name, so that nothing can
/// be written through a link planted there.
fn replace(path: &Path, content: &[u8], mode: u32) -> Result<(), Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", unpredictable_name()));
    let temporary = PathBuf::from(name);
    let write = || {
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
        #[cfg(not(unix))]
        let _ = mode;
        options.open(&temporary)?.write_all(content)?;
        fs::rename(&temporary, path)
    };
    write().map_err(|source| {
        // Errors are ignored: the first error is the one to report.
        let _ = fs::remove_file(&temporary);
        Error::Io {
            path: path.to_owned(),
            source,
        }
    })
}

/// Removes the files that [`replace`] leaves in a directory when it is killed. Errors are ignored. Nobody
/// else may be writing there.
pub(crate) fn remove_temporary(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours = name
            .to_str()
            .and_then(|n| n.strip_suffix(".tmp")?.rsplit_once('.'))
            .is_some_and(|(_, n)| n.len() == 32 && n.bytes().all(|b| b.is_ascii_hexdigit()));
        if ours {
            let _ = fs::remove_file(entry.path());
        }
    }
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
        // Files left by dead writers are removed, and nothing else.
        let mut left = file.into_os_string();
        left.push(format!(".{}.tmp", unpredictable_name()));
        fs::write(&left, b"thr").unwrap();
        fs::write(dir.path().join("other.tmp"), b"").unwrap();
        remove_temporary(dir.path());
        assert!(!Path::new(&left).exists());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
