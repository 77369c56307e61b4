//! Files that sources include, and their folders.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::paths::joined;

/// The maximum number of files of a folder that are considered as included files.
const MOST_FILES: usize = 50_000;

/// The files that sources include.
#[derive(Debug, Default)]
pub(super) struct Included {
    /// Folders that must be searched, because there is no file of that name beside the source.
    pub folders: Vec<PathBuf>,
    /// The included files, each with the files that include it.
    pub files: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
}

/// Returns the files that some sources of a folder include, directly or indirectly. `known` are folders that
/// are searched anyway.
pub(super) fn of(dir: &Path, sources: &BTreeSet<PathBuf>, known: &[PathBuf]) -> Included {
    let mut included = Included::default();
    let mut all: Option<Vec<PathBuf>> = None;
    let mut queue: Vec<PathBuf> = sources.iter().cloned().collect();
    let mut seen: BTreeSet<PathBuf> = sources.clone();
    while let Some(file) = queue.pop() {
        for name in names_in(&dir.join(&file)) {
            let beside = file.parent().unwrap_or(Path::new(""));
            let places = || {
                let listed = known.iter().chain(&included.folders);
                std::iter::once(beside).chain(listed.map(PathBuf::as_path))
            };
            let mut found = places()
                .map(|folder| joined(folder, &name))
                .find(|path| dir.join(path).is_file());
            // Compilers that run in the folder itself look there, too.
            if found.is_none() && dir.join(&name).is_file() {
                included.folders.push(PathBuf::from("."));
                found = Some(joined(Path::new(""), &name));
            }
            if found.is_none() {
                let all = all.get_or_insert_with(|| all_files(dir));
                let mut ending = all.iter().filter(|path| path.ends_with(&name));
                if let (Some(only), None) = (ending.next(), ending.next()) {
                    let depth = Path::new(&name).components().count();
                    let folder = only.ancestors().nth(depth).unwrap_or(Path::new(""));
                    let folder = match folder.as_os_str().is_empty() {
                        true => Path::new("."),
                        false => folder,
                    };
                    included.folders.push(folder.to_owned());
                    found = Some(only.clone());
                }
            }
            let Some(found) = found.filter(|found| *found != file) else {
                continue;
            };
            let by = included.files.entry(found.clone()).or_default();
            by.insert(file.clone());
            if seen.insert(found.clone()) {
                queue.push(found);
            }
        }
    }
    included
}

/// Returns the names in INCLUDE statements and `#include` lines.
fn names_in(file: &Path) -> BTreeSet<String> {
    let bytes = fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let is_c = farfel_driver::is_c_source_name(file);
    text.lines()
        .filter_map(|line| name_in(line, is_c))
        .collect()
}

fn name_in(line: &str, is_c: bool) -> Option<String> {
    let line = line.trim();
    let (rest, directive) = match line.strip_prefix('#') {
        Some(rest) => (rest.trim_start(), true),
        None => (line, false),
    };
    if is_c && !directive {
        return None;
    }
    let word = rest
        .get(..7)
        .filter(|w| w.eq_ignore_ascii_case("include"))?;
    let rest = rest[word.len()..].trim_start();
    let quote = rest
        .chars()
        .next()
        .filter(|c| *c == '"' || *c == '\'' && !directive)?;
    let (name, _) = rest[1..].split_once(quote)?;
    let name = name.trim();
    (!name.is_empty() && !Path::new(name).is_absolute()).then(|| name.to_owned())
}

/// Returns all files of a folder, except hidden ones.
fn all_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut queue = vec![PathBuf::new()];
    while let Some(folder) = queue.pop() {
        for entry in fs::read_dir(dir.join(&folder))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name();
            let is_hidden = name.to_string_lossy().starts_with('.') || name == "target";
            let kind = entry.file_type().ok().filter(|_| !is_hidden);
            match kind {
                Some(kind) if kind.is_dir() => queue.push(folder.join(name)),
                Some(kind) if kind.is_file() => files.push(folder.join(name)),
                _ => {}
            }
        }
        if files.len() > MOST_FILES {
            break;
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::super::tests::folder;
    use super::*;

    #[test]
    fn lines_that_include() {
        for (line, name) in [
            ("      INCLUDE 'a.inc'", Some("a.inc")),
            ("  include \"sub/a.inc\" ! why", Some("sub/a.inc")),
            ("#include \"a.h\"", Some("a.h")),
            ("#include <stdio.h>", None),
            ("      INCLUDED = 'a'", None),
            ("C     INCLUDE 'a'", None),
            ("      include 'a", None),
            ("é", None),
        ] {
            assert_eq!(name_in(line, false).as_deref(), name, "{line}");
        }
        assert_eq!(name_in(" include 'a.inc'", true), None);
    }

    #[test]
    fn folders_are_found() {
        let dir = folder(&[
            (
                "src/a.f",
                " include 'one.inc'\n include 'beside.inc'\n include 'twice.inc'\n",
            ),
            ("src/beside.inc", ""),
            ("common/inc/one.inc", " include 'inc/two.inc'\n"),
            ("common/inc/two.inc", " include 'one.inc'\n"),
            ("x/twice.inc", ""),
            ("y/twice.inc", ""),
            ("top/b.f", " include 'also.inc'\n"),
            ("also.inc", ""),
            ("old/also.inc", ""),
        ]);
        let sources = BTreeSet::from([PathBuf::from("top/b.f")]);
        let included = of(dir.path(), &sources, &[]);
        assert_eq!(included.folders, [PathBuf::from(".")]);
        assert!(included.files.contains_key(Path::new("also.inc")));
        let sources = BTreeSet::from([PathBuf::from("src/a.f")]);
        let included = of(dir.path(), &sources, &[]);
        assert_eq!(
            included.folders,
            ["common/inc", "common"].map(PathBuf::from)
        );
        let files: Vec<&Path> = included.files.keys().map(PathBuf::as_path).collect();
        let expected = ["common/inc/one.inc", "common/inc/two.inc", "src/beside.inc"];
        assert_eq!(files, expected.map(Path::new));
    }
}
