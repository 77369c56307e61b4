//! The dependencies of a new project on farfel-build and farfel-runtime.
//!
//! Until the crates are published these are paths: to the workspace from which this command was built, if it
//! still exists, or to the one that the user names.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The source of farfel-build and farfel-runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A directory that contains both.
    Path(PathBuf),
    /// This version on crates.io.
    Version(&'static str),
}

impl Source {
    /// Returns the directory that the user has named, or else the workspace from which this command was
    /// built, or else the registry.
    ///
    /// # Errors
    ///
    /// The named directory does not contain the crates.
    pub fn find(named: Option<&Path>) -> Result<Self> {
        if let Some(dir) = named {
            if !holds_crates(dir) {
                return Err(Error::invalid(format!(
                    "`{}` does not hold farfel-build and farfel-runtime",
                    dir.display()
                ))
                .help("`--farfel-path` (or FARFEL_PATH) names a checkout of Farfel"));
            }
            let dir = std::path::absolute(dir).map_err(|e| Error::io("find", dir, &e))?;
            return Ok(Source::Path(dir));
        }
        let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
        Ok(match built_from.filter(|dir| holds_crates(dir)) {
            Some(dir) => Source::Path(dir.to_owned()),
            None => Source::Version(env!("CARGO_PKG_VERSION")),
        })
    }

    /// Returns the right-hand side of a dependency on `package` in a Cargo.toml.
    pub fn requirement(&self, package: &str) -> String {
        match self {
            Source::Path(dir) => {
                let path = dir.join(package).to_string_lossy().into_owned();
                format!("{{ path = {} }}", toml_edit::Value::from(path))
            }
            Source::Version(version) => format!("\"{version}\""),
        }
    }

    /// Describes the source for a status line.
    pub fn describe(&self) -> String {
        match self {
            Source::Path(dir) => format!(
                "farfel-build and farfel-runtime in `{}` (see --farfel-path)",
                dir.display()
            ),
            Source::Version(version) => {
                format!("farfel-build and farfel-runtime {version} from crates.io")
            }
        }
    }
}

fn holds_crates(dir: &Path) -> bool {
    ["farfel-build", "farfel-runtime"]
        .iter()
        .all(|package| dir.join(package).join("Cargo.toml").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_we_were_built_from_is_found() {
        let Source::Path(dir) = Source::find(None).unwrap() else {
            panic!("a version, although the workspace is there")
        };
        assert!(dir.join("farfel-build/Cargo.toml").is_file());
    }

    #[test]
    fn a_named_directory_must_hold_the_crates() {
        let error = Source::find(Some(Path::new("/"))).unwrap_err();
        assert!(error.to_string().contains("does not hold"), "{error}");
    }

    #[test]
    fn paths_are_quoted_as_toml_has_it() {
        let source = Source::Path(PathBuf::from("/a \"b\"\\c"));
        let line = format!("x = {}", source.requirement("farfel-build"));
        let document: toml_edit::DocumentMut = line.parse().unwrap();
        let path = Path::new("/a \"b\"\\c").join("farfel-build");
        assert_eq!(document["x"]["path"].as_str(), path.to_str());
    }
}
