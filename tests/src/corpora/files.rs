//! The Fortran files of the corpora.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use farfel_lang::syntax::Form;

/// A Fortran file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct File {
    /// Its path below [`super::directory`], with slashes.
    pub name: String,
}

impl File {
    /// Returns its path.
    pub fn path(&self) -> PathBuf {
        super::directory().join(&self.name)
    }

    /// Returns its extension.
    fn extension(&self) -> &str {
        self.name.rsplit_once('.').map_or("", |(_, e)| e)
    }

    /// Whether the C preprocessor reads the file first.
    pub fn is_preprocessed(&self) -> bool {
        self.extension().starts_with('F')
    }

    /// Returns the source form that its name implies.
    pub fn form(&self) -> Form {
        match self.extension().ends_with("90") {
            true => Form::Free,
            false => Form::Fixed,
        }
    }

    /// Whether it belongs to a sample of one file in `so_many`, a power of two. Samples never change, and a
    /// smaller sample is part of a larger one.
    pub fn is_in_sample(&self, so_many: u8) -> bool {
        let digest = blake3::hash(self.name.as_bytes());
        digest.as_bytes()[0].is_multiple_of(so_many)
    }

    /// Returns the folder for INCLUDE: its own.
    pub fn folder(&self) -> PathBuf {
        let path = self.path();
        path.parent().map_or_else(PathBuf::new, Path::to_owned)
    }

    /// Returns its text.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn text(&self) -> std::io::Result<Arc<str>> {
        Ok(decoded(fs::read(self.path())?))
    }
}

/// Decodes a file's bytes as `farfel build` does.
pub fn decoded(bytes: Vec<u8>) -> Arc<str> {
    farfel_lang::encoding::decode(bytes).into()
}

/// The Fortran files whose names begin with `start`, sorted: of the corpus that `start` names up to a slash, or
/// of those of which every file is tested.
pub fn files(start: &str) -> Vec<File> {
    fn walk(directory: &Path, name: &str, found: &mut Vec<File>) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let part = entry.file_name().to_string_lossy().into_owned();
            let name = match name {
                "" => part,
                name => format!("{name}/{part}"),
            };
            if entry.path().is_dir() {
                walk(&entry.path(), &name, found);
            } else if ["f", "F", "for", "f90", "F90"]
                .contains(&File { name: name.clone() }.extension())
            {
                found.push(File { name });
            }
        }
    }
    let root = super::directory();
    let mut found = Vec::new();
    match start.split_once('/') {
        Some((name, _)) => walk(&root.join(name), name, &mut found),
        None => {
            for name in super::obtain::NAMES {
                walk(&root.join(name), name, &mut found);
            }
        }
    }
    found.retain(|f| f.name.starts_with(start));
    found.sort();
    found
}
