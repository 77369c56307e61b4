//! The libraries that the setting `link` names: where they are, and how they are linked.
//!
//! The linker finds most of them by itself. Those that it does not find are asked of `pkg-config` (`PKG_CONFIG` names
//! another one), which may know a folder, or that the library is called otherwise.

use crate::Config;
use crate::process::{self, Limits};
use crate::toolchain::Compiler;
use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the linker looks by itself, besides what the compiler tells it.
const OF_THE_LINKER: [&str; 4] = ["/usr/local/lib64", "/usr/local/lib", "/lib", "/usr/lib"];

/// Where a library is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The linker finds it by itself: this file.
    Linker(PathBuf),
    /// `pkg-config` says how it is linked.
    PkgConfig {
        /// Folders that have to be searched.
        folders: Vec<PathBuf>,
        /// What is linked, in order.
        libraries: Vec<String>,
    },
}

/// Looks for a library, with flags of the compiler that may name folders (`-L`). `None` where neither the linker nor
/// `pkg-config` is known to find it.
#[must_use]
pub fn look(compiler: &Compiler, name: &str, flags: &[String]) -> Option<Place> {
    let mut folders = folders_in(flags);
    folders.extend(compiler.library_folders());
    folders.extend(OF_THE_LINKER.map(PathBuf::from));
    if let Some(file) = file_in(&folders, name) {
        return Some(Place::Linker(file));
    }
    // It knows this machine only.
    let is_cross = env::var_os("TARGET").is_some_and(|target| Some(target) != env::var_os("HOST"));
    if is_cross { None } else { ask_pkg_config(name) }
}

/// How libraries are linked.
#[derive(Debug, Default)]
pub(crate) struct Linked {
    /// Folders that have to be searched.
    pub folders: Vec<PathBuf>,
    /// The libraries in order.
    pub libraries: Vec<String>,
    files: Vec<PathBuf>,
}

impl Linked {
    /// The named libraries. Those that are not found are left to the linker, which may know more.
    pub(crate) fn of<'a>(
        names: impl Iterator<Item = &'a String>,
        compiler: &Compiler,
        flags: &[String],
    ) -> Linked {
        let mut linked = Linked::default();
        for name in names {
            match look(compiler, name, flags) {
                Some(Place::PkgConfig { folders, libraries }) => {
                    let files = libraries.iter().filter_map(|l| file_in(&folders, l));
                    linked.files.extend(files);
                    linked.libraries.extend(libraries);
                    linked.folders.extend(folders);
                }
                place => {
                    linked.libraries.push(name.clone());
                    if let Some(Place::Linker(file)) = place {
                        linked.files.push(file);
                    }
                }
            }
        }
        linked
    }

    /// The flags for gfortran.
    pub(crate) fn flags(&self) -> Vec<String> {
        let folders = self.folders.iter().map(|f| format!("-L{}", f.display()));
        let libraries = self.libraries.iter().map(|l| format!("-l{l}"));
        folders.chain(libraries).collect()
    }

    /// What distinguishes the files from others of their names.
    pub(crate) fn identity(&self) -> String {
        let mut identity = String::new();
        for file in &self.files {
            // What cannot be read is the linker's to complain of.
            if let Ok(bytes) = std::fs::read(file) {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                let _ = write!(identity, "\n{name} {}", blake3::hash(&bytes).to_hex());
            }
        }
        identity
    }
}

/// Those of some procedures that the libraries of the settings may have: names in their files that end so. Good for
/// warnings, no more.
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
    for file in Linked::of(config.link.iter(), &compiler, &config.flags).files {
        for name in names_in(&std::fs::read(file).unwrap_or_default(), &wanted) {
            let name =
                String::from_utf8_lossy(name.strip_suffix(b"_").unwrap_or(name)).into_owned();
            found.insert(name.to_ascii_uppercase());
        }
    }
    found
}

/// The wanted names that strings in a file end with.
fn names_in<'a>(bytes: &[u8], wanted: &'a BTreeSet<Vec<u8>>) -> BTreeSet<&'a [u8]> {
    let mut found = BTreeSet::new();
    let longest = wanted.iter().map(Vec::len).max().unwrap_or(0);
    for string in bytes.split(|b| *b == 0).filter(|s| s.ends_with(b"_")) {
        // A string table has a name once that others end with.
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

/// The file of a library.
fn file_in(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    let endings = ["so", "dylib", "tbd", "dll.a", "a"];
    let files = |folder: &PathBuf| endings.map(|ending| folder.join(format!("lib{name}.{ending}")));
    folders.iter().flat_map(files).find(|file| file.is_file())
}

fn ask_pkg_config(name: &str) -> Option<Place> {
    let command = env::var_os("PKG_CONFIG").unwrap_or_else(|| "pkg-config".into());
    let lower = name.to_ascii_lowercase();
    let netlib = format!("{lower}-netlib");
    // Where its package is called otherwise.
    let other = match name {
        "netcdff" => "netcdf-fortran",
        _ => &lower,
    };
    [name, other, &netlib].iter().find_map(|package| {
        let mut command = Command::new(&command);
        command.args(["--libs", package]);
        let said = process::run(&mut command, &Limits::QUESTION).ok()?;
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        said.status.success().then(|| place_in(&text)).flatten()
    })
}

/// What `pkg-config --libs` says.
fn place_in(text: &str) -> Option<Place> {
    let words = || text.split_whitespace();
    let folders = words().filter_map(|w| w.strip_prefix("-L"));
    let libraries: Vec<String> = words()
        .filter_map(|w| w.strip_prefix("-l"))
        .map(str::to_owned)
        .collect();
    (!libraries.is_empty()).then(|| Place::PkgConfig {
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
            Some(Place::PkgConfig {
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
        let place = Place::Linker(file.clone());
        assert_eq!(look(&compiler, "mine", &flags), Some(place));
        assert_eq!(look(&compiler, "farfel-has-no-such-library", &flags), None);
        let names = ["mine".to_owned()];
        let linked = || Linked::of(names.iter(), &compiler, &flags);
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
