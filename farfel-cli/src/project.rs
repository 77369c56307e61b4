//! Projects: where they are and which Farfel sources they have.

use std::path::{Path, PathBuf};

use cargo_metadata::{MetadataCommand, Package};

use crate::cargo;
use crate::error::{Error, Result};

/// The directory of the project's Cargo.toml: the one that is named, else the nearest
/// from the current directory upwards.
///
/// # Errors
///
/// There is none.
pub fn manifest_dir(manifest_path: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = manifest_path {
        if path.file_name().is_none_or(|name| name != "Cargo.toml") {
            return Err(Error::cannot(format!(
                "`--manifest-path` must name a Cargo.toml, not `{}`",
                path.display()
            )));
        }
        if !path.is_file() {
            return Err(Error::fault(format!("no such file `{}`", path.display())));
        }
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        return Ok(dir.unwrap_or(Path::new(".")).to_owned());
    }
    let here =
        std::env::current_dir().map_err(|source| Error::io("read", Path::new("."), &source))?;
    here.ancestors()
        .find(|dir| dir.join("Cargo.toml").is_file())
        .map(Path::to_owned)
        .ok_or_else(|| {
            Error::fault(format!("no Cargo.toml in `{}` or above it", here.display()))
                .help("`farfel new NAME` makes a project; `farfel run FILE.ff` needs none")
        })
}

/// The packages with Farfel sources that `packages` selects: by name, all of the
/// workspace, or as cargo does without either.
///
/// # Errors
///
/// Cargo cannot read the project.
pub fn farfel_packages(
    manifest_dir: &Path,
    names: &[String],
    workspace: bool,
) -> Result<Vec<Package>> {
    let metadata = MetadataCommand::new()
        .cargo_path(cargo::find()?)
        .manifest_path(manifest_dir.join("Cargo.toml"))
        .no_deps()
        .exec()
        .map_err(|error| match error {
            cargo_metadata::Error::CargoMetadata { stderr } => {
                let text = stderr.trim();
                Error::fault(text.strip_prefix("error: ").unwrap_or(text).to_owned())
            }
            other => Error::cannot(format!("cannot run cargo metadata: {other}")),
        })?;
    let members = metadata.workspace_packages();
    for name in names {
        if !members.iter().any(|package| package.name.as_str() == name) {
            return Err(Error::cannot(format!(
                "no package `{name}` in this project"
            )));
        }
    }
    let root = metadata.root_package().map(|package| package.id.clone());
    let selected = members.into_iter().filter(|package| {
        if !names.is_empty() {
            names.iter().any(|name| package.name.as_str() == name)
        } else {
            workspace || root.as_ref().is_none_or(|root| *root == package.id)
        }
    });
    let uses_farfel = |package: &&Package| {
        package
            .dependencies
            .iter()
            .any(|dependency| dependency.name == "farfel-build")
    };
    Ok(selected.filter(uses_farfel).cloned().collect())
}

/// Where a package is.
pub fn dir_of(package: &Package) -> PathBuf {
    let manifest = package.manifest_path.as_std_path();
    manifest.parent().unwrap_or(manifest).to_owned()
}
