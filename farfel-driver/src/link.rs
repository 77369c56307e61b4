//! The libraries named by the setting `link`: where they are, and how to link them.
//!
//! The linker finds most of them by itself. For the others, `pkg-config` (or the program named by
//! `PKG_CONFIG`) is asked, which may know a directory, or another name of the library.

use crate::process::{self, Limits};
use crate::toolchain::Compiler;
use crate::{Config, mpi};
use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directories that the linker searches by default, in addition to those given by the compiler.
const OF_THE_LINKER: [&str; 4] = ["/usr/local/lib64", "/usr/local/lib", "/lib", "/usr/lib"];

/// The location of a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LibraryLocation {
    /// The linker finds this file by itself.
    Linker(PathBuf),
    /// `pkg-config`, or the compiler command of MPI, says how to link it.
    Command {
        /// The directories to be searched.
        folders: Vec<PathBuf>,
        /// The libraries to be linked, in order.
        libraries: Vec<String>,
    },
}

/// Looks for a library. `flags` are flags of the compiler, which may name directories (`-L`). Returns `None`
/// if neither the linker nor `pkg-config` is known to find the library.
#[must_use]
pub fn locate(compiler: &Compiler, name: &str, flags: &[String]) -> Option<LibraryLocation> {
    if name == mpi::NAME {
        let found = mpi::find()?;
        return Some(LibraryLocation::Command {
            folders: found.folders,
            libraries: found.libraries,
        });
    }
    let folders = searched(compiler, flags);
    if let Some(file) = file_in(&folders, name) {
        return Some(LibraryLocation::Linker(file));
    }
    // `pkg-config` only knows this machine.
    let is_cross = env::var_os("TARGET").is_some_and(|target| Some(target) != env::var_os("HOST"));
    if is_cross { None } else { ask_pkg_config(name) }
}

/// Returns the folders that the linker searches.
fn searched(compiler: &Compiler, flags: &[String]) -> Vec<PathBuf> {
    let mut folders = folders_in(flags);
    folders.extend(compiler.library_folders());
    folders.extend(OF_THE_LINKER.map(PathBuf::from));
    folders
}

/// How to link several libraries.
#[derive(Debug, Default)]
pub(crate) struct LinkedLibraries {
    /// The directories to be searched.
    pub folders: Vec<PathBuf>,
    /// The libraries in order.
    pub libraries: Vec<String>,
    files: Vec<PathBuf>,
}

impl LinkedLibraries {
    /// Looks for the named libraries. Those that are not found are left to the linker, which may know more.
    pub(crate) fn of<'a>(
        names: impl Iterator<Item = &'a String>,
        compiler: &Compiler,
        flags: &[String],
    ) -> LinkedLibraries {
        let mut linked = LinkedLibraries::default();
        for name in names {
            match locate(compiler, name, flags) {
                Some(LibraryLocation::Command { folders, libraries }) => {
                    let all = [&folders[..], &searched(compiler, flags)].concat();
                    let files = libraries.iter().filter_map(|l| file_in(&all, l));
                    linked.files.extend(files);
                    linked.libraries.extend(libraries);
                    linked.folders.extend(folders);
                }
                place => {
                    linked.libraries.push(name.clone());
                    if let Some(LibraryLocation::Linker(file)) = place {
                        linked.files.push(file);
                    }
                }
            }
        }
        linked
    }

    /// Returns the flags for gfortran.
    pub(crate) fn flags(&self) -> Vec<String> {
        let folders = self.folders.iter().map(|f| format!("-L{}", f.display()));
        let libraries = self.libraries.iter().map(|l| format!("-l{l}"));
        folders.chain(libraries).collect()
    }

    /// Returns the identity of the library files.
    pub(crate) fn identity(&self) -> String {
        let mut identity = String::new();
        for file in &self.files {
            // An unreadable file is left to the linker to report.
            if let Ok(bytes) = std::fs::read(file) {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                let _ = write!(identity, "\n{name} {}", blake3::hash(&bytes).to_hex());
            }
        }
        identity
    }
}

/// Returns those of the procedures that the libraries in the settings may contain, because a string in their
/// files ends in the name. Good enough for warnings, but for nothing else.
pub(crate) fn may_have(config: &Config, procedures: &BTreeSet<String>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if config.link.is_empty() || procedures.is_empty() {
        return found;
    }
    let Ok(compiler) = crate::toolchain::find(config) else {
        return found;
    };
    let wanted: BTreeSet<Vec<u8>> = procedures
        .iter()
        .map(|name| format!("{}_", name.to_ascii_lowercase()).into_bytes())
        .collect();
    for file in LinkedLibraries::of(config.link.iter(), &compiler, &config.flags).files {
        for name in names_in(&std::fs::read(file).unwrap_or_default(), &wanted) {
            let name =
                String::from_utf8_lossy(name.strip_suffix(b"_").unwrap_or(name)).into_owned();
            found.insert(name.to_ascii_uppercase());
        }
    }
    found
}

/// Returns the wanted names in which strings in a file end.
fn names_in<'a>(bytes: &[u8], wanted: &'a BTreeSet<Vec<u8>>) -> BTreeSet<&'a [u8]> {
    let mut found = BTreeSet::new();
    let longest = wanted.iter().map(Vec::len).max().unwrap_or(0);
    for string in bytes.split(|b| *b == 0).filter(|s| s.ends_with(b"_")) {
        // A string table may store a name only as the end of another one.
        let start = string.len().saturating_sub(longest);
        for at in start..string.len() {
            if let Some(name) = wanted.get(&string[at..]) {
                found.insert(name.as_slice());
            }
        }
    }
    found
}

fn folders_in(flags: &[String]) -> Vec<PathBuf> {
    let named = flags.iter().filter_map(|f| f.strip_prefix("-L"));
    named.filter(|f| !f.is_empty()).map(PathBuf::from).collect()
}

/// Returns the file of a library.
fn file_in(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    let endings = ["so", "dylib", "tbd", "dll.a", "a"];
    let files = |folder: &PathBuf| endings.map(|ending| folder.join(format!("lib{name}.{ending}")));
    folders.iter().flat_map(files).find(|file| file.is_file())
}

fn ask_pkg_config(name: &str) -> Option<LibraryLocation> {
    let command = env::var_os("PKG_CONFIG").unwrap_or_else(|| "pkg-config".into());
    let lower = name.to_ascii_lowercase();
    let netlib = format!("{lower}-netlib");
    // Packages that have other names than their libraries.
    let other = match name {
        "netcdff" => "netcdf-fortran",
        _ => &lower,
    };
    [name, other, &netlib].iter().find_map(|package| {
        let mut command = Command::new(&command);
        command.args(["--libs", package]);
        let ran = process::run(&mut command, &Limits::QUESTION).ok()?;
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        ran.status.success().then(|| place_in(&text)).flatten()
    })
}

/// Parses the output of `pkg-config --libs`.
fn place_in(text: &str) -> Option<LibraryLocation> {
    let words = || text.split_whitespace();
    let folders = words().filter_map(|w| w.strip_prefix("-L"));
    let libraries: Vec<String> = words()
        .filter_map(|w| w.strip_prefix("-l"))
        .map(str::to_owned)
        .collect();
    (!libraries.is_empty()).then(|| LibraryLocation::Command {
        folders: folders.map(|f| Path::new(f).to_owned()).collect(),
        libraries,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pkg_config_says() {
        assert_eq!(
            place_in("-L/opt/x/lib -pthread -lone -ltwo \n"),
            Some(LibraryLocation::Command {
                folders: vec!["/opt/x/lib".into()],
                libraries: vec!["one".into(), "two".into()],
            })
        );
        assert_eq!(place_in("\n"), None);
    }

    #[test]
    fn folders_that_flags_name() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("libmine.a");
        std::fs::write(&file, "one").unwrap();
        let compiler = crate::toolchain::find(&crate::Config::default()).unwrap();
        let flags = [format!("-L{}", dir.path().display())];
        let place = LibraryLocation::Linker(file.clone());
        assert_eq!(locate(&compiler, "mine", &flags), Some(place));
        assert_eq!(
            locate(&compiler, "farfel-has-no-such-library", &flags),
            None
        );
        let names = ["mine".to_owned()];
        let linked = || LinkedLibraries::of(names.iter(), &compiler, &flags);
        let before = linked().identity();
        std::fs::write(&file, "two").unwrap();
        assert_ne!(before, linked().identity());
        assert_eq!(linked().flags(), ["-lmine"]);
    }

    #[test]
    fn names_in_string_tables() {
        let wanted = ["dscal_", "zdscal_", "none_", "al_"].map(|n| n.as_bytes().to_vec());
        let wanted = BTreeSet::from(wanted);
        let found = names_in(b"\0x\0zdscal_\0nones_\0none\0", &wanted);
        let expected: [&[u8]; 3] = [b"al_", b"dscal_", b"zdscal_"];
        assert_eq!(found, BTreeSet::from(expected));
    }
}
