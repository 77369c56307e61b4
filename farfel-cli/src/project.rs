//! Finding projects and their Farfel sources.

use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};
use farfel_driver::{Config, Session};
use toml_edit::{DocumentMut, TableLike};

use crate::args::{CargoOptions, LintOptions, OneProject};
use crate::error::{Error, Result};
use crate::manifest::{BUILD_HELPER, builds_by_settings_alone, manifest_dir, metadata_error};
use crate::programs::Project;
use crate::shell::Shell;
use crate::unchanged::{ProjectState, Record};
use crate::{cargo, compiler, libraries, watched};

/// Prepares for a build by cargo: reads the Farfel sources, so that errors in them are shown once and
/// plainly, not as the output of a failed build script; and installs the Fortran compiler if it is missing.
/// Does nothing if nothing has changed since the last success, of which the result is the record. It is kept
/// until cargo has ended.
///
/// # Errors
///
/// There is no project; its sources or settings have errors; there is no compiler.
pub fn prepare(
    options: &CargoOptions,
    lints: Option<&LintOptions>,
    shell: &mut Shell,
) -> Result<Option<Record>> {
    let manifest_dir = manifest_dir(options.manifest_path.as_deref())?;
    let mut packages = checkable(&manifest_dir, options)?;
    let main = Config::load(&manifest_dir)?;
    for (_, config) in &mut packages {
        lints.map_or(Ok(()), |l| l.apply(config))?;
    }
    let configs = || packages.iter().map(|(_, config)| config);
    let before = ProjectState::of(&manifest_dir, options, configs().chain([&main]));
    // Programs that parse the messages get all of them; people get warnings from the build script.
    if !shell.messages.is_for_programs() && before.as_ref().is_some_and(ProjectState::is_recorded) {
        shell.verbose("Fresh", "Farfel sources");
        return Ok(None);
    }
    // Only now, because running cargo takes longer than a build without changes.
    let mut readable = Vec::new();
    for (package, mut config) in packages {
        if libraries::add(&mut config, &package.dir, Some(options))? {
            readable.push((package, config));
        }
    }
    let packages = readable;
    let mut files = Vec::new();
    check_sources(&packages, &mut files, shell)?;
    files.push(compiler::ensure(&main, shell)?);
    Ok(before.map(|before| before.record(&files, manifest_dir.join("Cargo.lock"))))
}

/// Reads the Farfel sources of packages, and adds the files that were read to `files`. Warnings are left to
/// the build script, whose warnings cargo stores.
fn check_sources(
    packages: &[(Member, Config)],
    files: &mut Vec<PathBuf>,
    shell: &mut Shell,
) -> Result {
    let mut faulty = None;
    for (package, config) in packages {
        shell.verbose(
            "Reading",
            format_args!("Farfel sources of {}", package.name),
        );
        // All packages are read before giving up, to show all errors at once.
        let checked = Session::of_project(config).and_then(|session| {
            let checked = watched::run(&session, shell, Session::check);
            files.extend(session.reached());
            checked
        });
        match checked {
            Ok(report) if shell.messages.is_for_programs() => shell.report(&report),
            Ok(_) => {}
            Err(error) => {
                if let Some(before) = faulty.replace(error) {
                    Error::from(before).show(shell);
                }
            }
        }
    }
    faulty.map_or(Ok(()), |error| Err(error.into()))
}

/// Returns the selected packages whose sources can be read before their build scripts run, with their
/// settings.
fn checkable(manifest_dir: &Path, options: &CargoOptions) -> Result<Vec<(Member, Config)>> {
    farfel_packages(manifest_dir, &options.package, options.workspace)?
        .into_iter()
        .filter(|package| {
            !options.exclude.contains(&package.name) && builds_by_settings_alone(&package.dir)
        })
        .map(|package| {
            let config = Config::load(&package.dir)?;
            Ok((package, config))
        })
        .collect()
}

/// Returns the Farfel sources of the packages that [`prepare`] reads.
///
/// # Errors
///
/// There is no project; its settings have errors.
pub fn sessions(options: &CargoOptions) -> Result<Vec<Session>> {
    let manifest_dir = manifest_dir(options.manifest_path.as_deref())?;
    let packages = checkable(&manifest_dir, options)?;
    let sessions = packages
        .iter()
        .map(|(_, config)| Session::of_project(config));
    Ok(sessions.collect::<std::result::Result<Vec<_>, _>>()?)
}

/// Returns the program to inspect: for a project without Rust the sources of its program, and its settings;
/// otherwise only the settings of the selected package.
///
/// # Errors
///
/// There are several programs, or those of [`config`].
pub fn program_or_package(project: &OneProject) -> Result<(Option<Vec<PathBuf>>, Config)> {
    let dir = manifest_dir(project.manifest_path.as_deref())?;
    match Project::in_directory(&dir)? {
        Some(found) => {
            let files = found.only_program()?;
            Ok((files, found.config))
        }
        None => Ok((None, config(project)?)),
    }
}

/// Returns the settings of the selected package.
///
/// # Errors
///
/// There is no such package, or there are several.
pub fn config(project: &OneProject) -> Result<Config> {
    let manifest_dir = manifest_dir(project.manifest_path.as_deref())?;
    let names: Vec<String> = project.package.iter().cloned().collect();
    let packages = farfel_packages(&manifest_dir, &names, false)?;
    let [package] = packages.as_slice() else {
        return Err(match packages.len() {
            0 => Error::invalid("this project has no package that depends on farfel-build"),
            _ => Error::invalid("this workspace has several packages with Farfel sources")
                .help("name one with `-p`, or name files"),
        });
    };
    let mut config = Config::load(&package.dir)?;
    libraries::add(&mut config, &package.dir, None)?;
    Ok(config)
}

/// A package of a project.
#[derive(Debug)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// The directory of its Cargo.toml.
    pub dir: PathBuf,
}

/// Returns the selected packages with Farfel sources: by name, all of the workspace, or, as in cargo, by
/// default the one in the current directory, or else all.
///
/// # Errors
///
/// Cargo cannot read the project.
pub fn farfel_packages(
    manifest_dir: &Path,
    names: &[String],
    workspace: bool,
) -> Result<Vec<Member>> {
    if names.is_empty()
        && !workspace
        && let Some(members) = package_here(manifest_dir)
    {
        return Ok(members);
    }
    let metadata = metadata(manifest_dir)?;
    let members = metadata.workspace_packages();
    for name in names {
        if !members.iter().any(|package| package.name.as_str() == name) {
            return Err(Error::invalid(format!(
                "no package `{name}` in this project"
            )));
        }
    }
    let selected = members.into_iter().filter(|package| {
        names.is_empty() || names.iter().any(|name| package.name.as_str() == name)
    });
    let with_farfel = selected.filter(|package| {
        package.dependencies.iter().any(|dependency| {
            dependency.name == BUILD_HELPER && dependency.kind == DependencyKind::Build
        })
    });
    Ok(with_farfel
        .map(|package| {
            let manifest = package.manifest_path.as_std_path();
            Member {
                name: package.name.to_string(),
                dir: manifest.parent().unwrap_or(manifest).to_owned(),
            }
        })
        .collect())
}

/// Returns cargo's metadata of a project.
fn metadata(manifest_dir: &Path) -> Result<Metadata> {
    MetadataCommand::new()
        .cargo_path(cargo::find()?)
        .manifest_path(manifest_dir.join("Cargo.toml"))
        .no_deps()
        .exec()
        .map_err(metadata_error)
}

/// Returns the packages of a project if its target directory is outside the project, so that others may share
/// it: then only their files may be removed.
///
/// # Errors
///
/// As of [`target_dir`].
pub fn packages_in_shared_target(options: &CargoOptions) -> Result<Option<Vec<String>>> {
    let dir = manifest_dir(options.manifest_path.as_deref())?;
    let known = metadata(&dir)?;
    let root = known.workspace_root.as_std_path();
    let target = match &options.target_dir {
        Some(dir) => std::path::absolute(dir).unwrap_or_else(|_| dir.clone()),
        None => known.target_directory.as_std_path().to_owned(),
    };
    let own = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if own(&target).starts_with(own(root)) {
        return Ok(None);
    }
    let members = known.workspace_packages();
    Ok(Some(members.iter().map(|p| p.name.to_string()).collect()))
}

/// Returns cargo's target directory for these options.
///
/// # Errors
///
/// There is no project, or cargo cannot read it.
pub fn target_dir(options: &CargoOptions) -> Result<PathBuf> {
    match &options.target_dir {
        Some(dir) => Ok(dir.clone()),
        None => {
            let dir = manifest_dir(options.manifest_path.as_deref())?;
            Ok(metadata(&dir)?.target_directory.into_std_path_buf())
        }
    }
}

/// Returns cargo's target directory for the project in `manifest_dir`, and its lock file, which may not exist.
///
/// # Errors
///
/// Cargo cannot read the project.
pub fn target_and_lock(manifest_dir: &Path) -> Result<(PathBuf, PathBuf)> {
    let known = metadata(manifest_dir)?;
    let lock = known.workspace_root.join("Cargo.lock");
    Ok((
        known.target_directory.into_std_path_buf(),
        lock.into_std_path_buf(),
    ))
}

/// Returns the package in `manifest_dir` if it has Farfel sources. Running cargo would take longer than a
/// build without changes should. `None` if only cargo knows: the manifest describes only a workspace, or has
/// errors.
fn package_here(manifest_dir: &Path) -> Option<Vec<Member>> {
    let text = std::fs::read_to_string(manifest_dir.join("Cargo.toml")).ok()?;
    let manifest: DocumentMut = text.parse().ok()?;
    let name = manifest.get("package")?.get("name")?.as_str()?;
    let is_helper = |(key, dependency): (&str, &toml_edit::Item)| {
        dependency
            .get("package")
            .map_or(key == BUILD_HELPER, |package| {
                package.as_str() == Some(BUILD_HELPER)
            })
    };
    let names_it = |table: &dyn TableLike| {
        table
            .get("build-dependencies")
            .and_then(toml_edit::Item::as_table_like)
            .is_some_and(|dependencies| dependencies.iter().any(is_helper))
    };
    let targets = manifest
        .get("target")
        .and_then(toml_edit::Item::as_table_like);
    let for_targets = targets.is_some_and(|targets| {
        targets
            .iter()
            .filter_map(|(_, target)| target.as_table_like())
            .any(names_it)
    });
    let uses_farfel = names_it(manifest.as_table()) || for_targets;
    Some(
        uses_farfel
            .then(|| Member {
                name: name.to_owned(),
                dir: manifest_dir.to_owned(),
            })
            .into_iter()
            .collect(),
    )
}
