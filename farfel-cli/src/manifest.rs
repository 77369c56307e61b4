//! Manifests of projects: where they are, and what they contain, without asking cargo.

use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item};

use crate::error::{Error, Result};

/// The crate that compiles the sources of a package.
pub const BUILD_HELPER: &str = "farfel-build";

/// Whether the build script uses the settings of `Cargo.toml` unchanged. One that uses the builder may read
/// other sources, or read them differently, so only it knows.
pub fn builds_by_settings_alone(dir: &Path) -> bool {
    std::fs::read_to_string(dir.join("build.rs"))
        .is_ok_and(|text| text.contains("farfel_build::compile()") && !text.contains("Build::"))
}

/// Returns the directory of the project's Cargo.toml: the named one, or else the nearest one from the current
/// directory upwards.
///
/// # Errors
///
/// There is none.
pub fn manifest_dir(manifest_path: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = manifest_path {
        if path.file_name().is_none_or(|name| name != "Cargo.toml") {
            return Err(Error::invalid(format!(
                "`--manifest-path` must name a Cargo.toml, not `{}`",
                path.display()
            )));
        }
        if !path.is_file() {
            return Err(Error::fixable(format!("no such file `{}`", path.display())));
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
            Error::fixable(format!("no Cargo.toml in `{}` or above it", here.display()))
                .help("`farfel new NAME` makes a project; `farfel run FILE.ff` needs none")
        })
}

/// Converts an error of `cargo metadata`.
pub fn metadata_error(error: cargo_metadata::Error) -> Error {
    match error {
        cargo_metadata::Error::CargoMetadata { stderr } => {
            let text = stderr.trim();
            Error::fixable(text.strip_prefix("error: ").unwrap_or(text).to_owned())
        }
        other => Error::invalid(format!("cannot run cargo metadata: {other}")),
    }
}

/// Returns the manifest of a package in which cargo finds nothing to build.
pub fn manifest_without_rust(dir: &Path) -> Option<DocumentMut> {
    let rust = ["build.rs", "src/main.rs", "src/lib.rs", "src/bin"];
    if rust.iter().any(|file| dir.join(file).exists()) {
        return None;
    }
    let manifest = manifest_of_package(dir)?;
    let package = manifest.get("package").and_then(Item::as_table_like)?;
    let targets = ["lib", "bin", "example", "test", "bench"];
    let names_rust = targets.iter().any(|key| manifest.contains_key(key));
    (!names_rust && !package.contains_key("build")).then_some(manifest)
}

/// Returns the manifest of a package; `None` if there is none that can be read.
pub fn manifest_of_package(dir: &Path) -> Option<DocumentMut> {
    let text = std::fs::read_to_string(dir.join("Cargo.toml")).ok()?;
    let manifest: DocumentMut = text.parse().ok()?;
    manifest.contains_key("package").then_some(manifest)
}
