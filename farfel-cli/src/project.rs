//! Projects: where they are and which Farfel sources they have.

use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, MetadataCommand, Package};
use farfel_build::Config;

use crate::args::CargoOptions;
use crate::error::{Error, Result};
use crate::shell::Shell;
use crate::{cargo, compiler};

/// What comes before cargo builds a project: its Farfel sources are read, so that faults in
/// them are shown once and plainly, not as the output of a build script that failed; and the
/// Fortran compiler is installed if it is missing.
///
/// # Errors
///
/// There is no project; its sources or settings have faults; there is no compiler.
pub fn prepare(options: &CargoOptions, shell: &mut Shell) -> Result {
    let manifest_dir = manifest_dir(options.manifest_path.as_deref())?;
    check_sources(&manifest_dir, options, shell)?;
    compiler::ensure(&Config::load(&manifest_dir)?, shell)
}

/// Reads the Farfel sources of the packages that `options` select. Warnings are left to
/// the build script, which cargo runs and whose warnings it keeps.
fn check_sources(manifest_dir: &Path, options: &CargoOptions, shell: &mut Shell) -> Result {
    let mut faulty = None;
    for package in farfel_packages(manifest_dir, &options.package, options.workspace)? {
        let dir = dir_of(&package);
        if options.exclude.contains(&package.name) || !builds_by_settings_alone(&dir) {
            continue;
        }
        shell.verbose(
            "Reading",
            format_args!("Farfel sources of {}", package.name),
        );
        let checked = Config::load(&dir).and_then(|config| farfel_build::check_project(&config));
        // All packages are read before giving up, so that all faults are seen at once.
        if let Err(error) = checked
            && let Some(before) = faulty.replace(error)
        {
            Error::from(before).show(shell);
        }
    }
    faulty.map_or(Ok(()), |error| Err(error.into()))
}

/// Whether the build script takes the settings of `Cargo.toml` as they are. One that uses
/// the builder may read other sources, or in another way, so that only it can tell.
fn builds_by_settings_alone(dir: &Path) -> bool {
    std::fs::read_to_string(dir.join("build.rs"))
        .is_ok_and(|text| text.contains("farfel_build::compile()") && !text.contains("Build::"))
}

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
        package.dependencies.iter().any(|dependency| {
            dependency.name == "farfel-build" && dependency.kind == DependencyKind::Build
        })
    };
    Ok(selected.filter(uses_farfel).cloned().collect())
}

/// Where a package is.
pub fn dir_of(package: &Package) -> PathBuf {
    let manifest = package.manifest_path.as_std_path();
    manifest.parent().unwrap_or(manifest).to_owned()
}
