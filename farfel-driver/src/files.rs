//! Writing files: whole or not at all, and only when their content changes.

use crate::Error;
use crate::process::watch::{Watch, unforeseeable};
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Writes a file if its content differs, through a temporary file beside it, so that a
/// reader never sees half of it. Returns whether it was written.
pub(crate) fn write_if_changed(path: &Path, content: &[u8]) -> Result<bool, Error> {
    // What is of another length need not be read.
    let same = fs::metadata(path).is_ok_and(|m| m.len() == content.len() as u64);
    if same && fs::read(path).is_ok_and(|old| old == content) {
        return Ok(false);
    }
    replace(path, content, 0o666)?;
    Ok(true)
}

/// Replaces a file that exists: what a link leads to, with its permissions.
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

/// Removes a file; it need not exist.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io(path)(e)),
        _ => Ok(()),
    }
}

/// A directory for files that are needed only for a moment. Nobody else may look into it,
/// and nobody can know its name beforehand. It goes when this is dropped, and when this
/// process is killed before, see [`Watch`].
pub(crate) struct Scratch {
    path: PathBuf,
    watch: Watch,
}

impl Scratch {
    pub(crate) fn new() -> Result<Scratch, Error> {
        Scratch::new_in(&std::env::temp_dir())
    }

    /// One in a directory that is not the system's, so that what is made in it can be moved
    /// to there.
    pub(crate) fn new_in(base: &Path) -> Result<Scratch, Error> {
        // The directory of a program that runs in it is another one.
        let base = std::path::absolute(base).map_err(Error::io(base))?;
        loop {
            let path = base.join(format!("farfel-{}", unforeseeable()));
            // First the watch: this process may be killed as soon as the directory is there.
            let watch = Watch::new(Some(&path));
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

    /// What guards it, for a program that runs in it.
    pub(crate) fn watch(&mut self) -> &mut Watch {
        &mut self.watch
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove_tree(&self.path);
    }
}

/// Makes a directory that only its owner may read and write.
pub(crate) fn private_directory(path: &Path) -> std::io::Result<()> {
    #[cfg_attr(not(unix), expect(unused_mut))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Removes a directory with all that is in it, links but not what they lead to. Best effort:
/// it is in the system's directory for such files.
fn remove_tree(path: &Path) {
    for _ in 0..3 {
        match fs::remove_dir_all(path) {
            Err(e) if e.kind() != ErrorKind::NotFound => open_up(path),
            _ => return,
        }
    }
}

/// Gives their owner all rights on directories, which a program may have taken away.
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

/// Writes a program that can be run, whole or not at all.
pub(crate) fn write_program(path: &Path, code: &[u8]) -> Result<(), Error> {
    replace(path, code, 0o777)
}

/// Puts a file in the place of what there is. The temporary file beside it is a new one
/// whose name nobody can know beforehand: a link that waits there is not written through.
fn replace(path: &Path, content: &[u8], mode: u32) -> Result<(), Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", unforeseeable()));
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
        // Best effort: the first error is the one to report.
        let _ = fs::remove_file(&temporary);
        Error::Io {
            path: path.to_owned(),
            source,
        }
    })
}

/// Removes what [`replace`] leaves in a directory when it is killed. Best effort. Nobody else
/// may be writing there.
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
        // What a dead writer left goes, and nothing else.
        let mut left = file.into_os_string();
        left.push(format!(".{}.tmp", unforeseeable()));
        fs::write(&left, b"thr").unwrap();
        fs::write(dir.path().join("other.tmp"), b"").unwrap();
        remove_temporary(dir.path());
        assert!(!Path::new(&left).exists());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
