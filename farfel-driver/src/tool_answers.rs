//! What other programs say about themselves, asked once for each executable.
//!
//! Asking takes milliseconds, and a second if a Java machine starts. Answers are kept in the local cache
//! under the identity of the executable; see [`file_identity`].

use crate::Config;
use crate::cache::Cache;
use crate::config::CacheSettings;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Returns the identity of files, one line for each: its path, its canonical path, size and modification
/// time, and if the system has them also its inode number and change time, which no program can set.
pub(crate) fn file_identity(files: &[PathBuf]) -> std::io::Result<String> {
    let mut text = String::new();
    for file in files {
        let about = fs::metadata(file)?;
        // A time before 1970 is a time like any other.
        let time = about
            .modified()
            .map(|t| match t.duration_since(UNIX_EPOCH) {
                Ok(after) => format!("{after:?}"),
                Err(before) => format!("-{:?}", before.duration()),
            });
        let time = time.unwrap_or_default();
        // Escaped, so that each file is one line, whatever its name.
        text += &format!(
            "{file:?} {:?} {} {time}",
            fs::canonicalize(file)?,
            about.len()
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            text += &format!(
                " {} {}.{:09}",
                about.ino(),
                about.ctime(),
                about.ctime_nsec()
            );
        }
        text.push('\n');
    }
    Ok(text)
}

/// Whether a program is a script, which runs other programs, so that its identity does not determine its
/// behaviour.
pub(crate) fn is_script(program: &Path) -> bool {
    let by_name = program
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("bat") || e.eq_ignore_ascii_case("cmd"));
    let mut start = [0; 2];
    by_name
        || !File::open(program).is_ok_and(|mut f| f.read_exact(&mut start).is_ok())
        || start == *b"#!"
}

/// Returns the local cache. Other machines would not have the same executable in the same place.
pub(crate) fn memory(config: &Config) -> Cache {
    Cache::open(&CacheSettings {
        remote: None,
        ..config.cache.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_is_another_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a\nb");
        let of = |file: &Path| file_identity(&[file.to_owned()]).unwrap();
        fs::write(&file, "one").unwrap();
        let first = of(&file);
        assert_eq!(first.lines().count(), 1);
        assert_eq!(of(&file), first);
        let time = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(&file, "more").unwrap();
        let longer = of(&file);
        assert_ne!(longer, first);
        // With the same size and modification time as before.
        fs::rename(&file, dir.path().join("old")).unwrap();
        fs::write(&file, "one").unwrap();
        let written = File::options().write(true).open(&file).unwrap();
        written.set_modified(time).unwrap();
        #[cfg(unix)]
        assert_ne!(of(&file), first);
        fs::remove_file(&file).unwrap();
        assert!(file_identity(&[file]).is_err());
    }

    #[test]
    fn scripts() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("program");
        for (text, expected) in [("#!/bin/sh\n", true), ("\x7fELF", false), ("", true)] {
            fs::write(&file, text).unwrap();
            assert_eq!(is_script(&file), expected, "{text:?}");
        }
        assert!(is_script(Path::new("gfortran.CMD")));
    }
}
