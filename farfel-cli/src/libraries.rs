//! The libraries that a project uses, as cargo would report them to its build script.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Node, Package, PackageId};
use farfel_driver::{Config, Library};
use toml_edit::{DocumentMut, Item, TableLike};

use crate::args::CargoOptions;
use crate::error::{Error, Result};
use crate::{cargo, manifest};

/// The crate that every project depends on and that is not a library.
const RUNTIME: &str = "farfel-runtime";

/// Adds the libraries of the package in `dir` to its settings. Returns false if only the build script of one
/// of them knows how its sources are read.
///
/// # Errors
///
/// Cargo cannot read the project, or the settings of a library have errors.
pub fn add(config: &mut Config, dir: &Path, options: Option<&CargoOptions>) -> Result<bool> {
    // Running cargo takes time.
    if !may_have_some(dir) {
        return Ok(true);
    }
    let mut command = MetadataCommand::new();
    command
        .cargo_path(cargo::find()?)
        .manifest_path(dir.join("Cargo.toml"));
    if let Some(options) = options {
        command.other_options(cargo::for_metadata(options));
    }
    let metadata = command.exec().map_err(manifest::metadata_error)?;
    let manifest = dir.join("Cargo.toml").canonicalize().ok();
    let Some(own) = metadata
        .packages
        .iter()
        .find(|p| p.manifest_path.as_std_path().canonicalize().ok() == manifest)
    else {
        return Ok(true);
    };
    let mut found = LibrarySearch {
        packages: &metadata,
        nodes: nodes(&metadata),
        libraries: Vec::new(),
        known: HashMap::new(),
        all_by_settings: true,
    };
    for index in found.of(&own.id)? {
        found.libraries[index].direct = true;
    }
    config.libraries = found.libraries;
    Ok(found.all_by_settings)
}

/// Adds the libraries of the project in `dir`, if there is one that has Farfel sources.
///
/// # Errors
///
/// Those of [`add`] and [`by_path`].
pub fn of_project(config: &mut Config, dir: &Path) -> Result {
    if let Some(manifest) = manifest::manifest_without_rust(dir) {
        return by_path(config, dir, &manifest);
    }
    let text = std::fs::read_to_string(dir.join("Cargo.toml")).unwrap_or_default();
    let manifest = text.parse::<DocumentMut>().ok();
    let builds = manifest.is_some_and(|m| {
        let list = m.get("build-dependencies").and_then(Item::as_table_like);
        list.is_some_and(|l| l.contains_key("farfel-build"))
    });
    if builds {
        add(config, dir, None)?;
    }
    Ok(())
}

/// Adds the libraries of a project without Rust, which names them by their paths, since cargo cannot be asked
/// about it.
///
/// # Errors
///
/// A dependency cannot be used in this way.
pub fn by_path(config: &mut Config, dir: &Path, manifest: &DocumentMut) -> Result {
    let mut found = PathSearch::default();
    let dependencies = dependencies(manifest).into_iter();
    for (name, path) in dependencies.filter(|(name, _)| name != RUNTIME) {
        let Some(path) = path else {
            return Err(Error::fixable(format!(
                "the dependency `{name}` has no `path`, and only cargo knows where others are"
            ))
            .help("a project without Rust uses libraries in directories: `path = \"…\"`"));
        };
        let index = found.add(&dir.join(path))?.ok_or_else(|| {
            Error::fixable(format!("the dependency `{name}` has no Farfel sources"))
        })?;
        found.libraries[index].direct = true;
    }
    config.libraries = found.libraries;
    Ok(())
}

/// Adds the Fortran of the path dependencies of a package with Rust. Its other dependencies are pure Rust.
///
/// # Errors
///
/// A manifest or a source cannot be read.
pub fn of_package(config: &mut Config, dir: &Path, manifest: &DocumentMut) -> Result {
    let mut found = PathSearch::default();
    for (name, path) in dependencies(manifest) {
        if let Some(path) = path.filter(|_| name != RUNTIME)
            && let Some(index) = found.add(&dir.join(path))?
        {
            found.libraries[index].direct = true;
        }
    }
    config.libraries = found.libraries;
    Ok(())
}

/// The libraries found so far, by path.
#[derive(Default)]
struct PathSearch {
    libraries: Vec<Library>,
    known: HashMap<PathBuf, Option<usize>>,
}

impl PathSearch {
    /// Adds the library in a directory, if there is one, and returns its index.
    fn add(&mut self, dir: &Path) -> Result<Option<usize>> {
        let file = dir.join("Cargo.toml");
        let io = |source: std::io::Error| Error::io("read", &file, &source);
        let dir = dir.canonicalize().map_err(io)?;
        if let Some(known) = self.known.get(&dir) {
            return Ok(*known);
        }
        // Cargo would not build a package that depends on itself.
        self.known.insert(dir.clone(), None);
        let text = std::fs::read_to_string(&file).map_err(io)?;
        let manifest: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
            Error::fixable(format!("`{}`: {}", file.display(), error.message()))
        })?;
        let mut uses = Vec::new();
        // Dependencies of a crate may also be pure Rust.
        for (name, path) in dependencies(&manifest) {
            if let Some(path) = path.filter(|_| name != RUNTIME) {
                uses.extend(self.add(&dir.join(path))?);
            }
        }
        let package = manifest.get("package").and_then(Item::as_table_like);
        let version = package.and_then(|p| p.get("version")?.as_str());
        let library = Library::in_directory(&dir, version.unwrap_or("0.0.0"))?;
        let index = (!(library.files.is_empty() && library.passed.is_empty())).then(|| {
            self.libraries.push(Library { uses, ..library });
            self.libraries.len() - 1
        });
        self.known.insert(dir, index);
        Ok(index)
    }
}

/// Returns the dependencies in a manifest, with their paths.
fn dependencies(manifest: &DocumentMut) -> Vec<(String, Option<PathBuf>)> {
    let list = manifest.get("dependencies").and_then(Item::as_table_like);
    let path = |item: &Item| Some(PathBuf::from(item.as_table_like()?.get("path")?.as_str()?));
    list.iter()
        .flat_map(|list| list.iter())
        .map(|(name, item)| (name.to_owned(), path(item)))
        .collect()
}

/// Whether the package has any dependency that could be a library.
fn may_have_some(dir: &Path) -> bool {
    let Some(manifest) = std::fs::read_to_string(dir.join("Cargo.toml"))
        .ok()
        .and_then(|text| text.parse::<DocumentMut>().ok())
    else {
        return true;
    };
    let depends = |table: &dyn TableLike| {
        table
            .get("dependencies")
            .and_then(Item::as_table_like)
            .is_some_and(|list| list.iter().any(|(name, _)| name != RUNTIME))
    };
    let targets = manifest.get("target").and_then(Item::as_table_like);
    depends(manifest.as_table())
        || targets.is_some_and(|t| {
            t.iter()
                .filter_map(|(_, target)| target.as_table_like())
                .any(depends)
        })
}

fn nodes(metadata: &Metadata) -> HashMap<&PackageId, &Node> {
    let nodes = metadata.resolve.iter().flat_map(|r| &r.nodes);
    nodes.map(|n| (&n.id, n)).collect()
}

/// The libraries found so far.
struct LibrarySearch<'a> {
    packages: &'a Metadata,
    nodes: HashMap<&'a PackageId, &'a Node>,
    libraries: Vec<Library>,
    known: HashMap<&'a PackageId, usize>,
    all_by_settings: bool,
}

impl<'a> LibrarySearch<'a> {
    /// Returns the indices of the libraries that a package uses directly.
    fn of(&mut self, package: &PackageId) -> Result<Vec<usize>> {
        let Some(node) = self.nodes.get(package).copied() else {
            return Ok(Vec::new());
        };
        let is_used = |d: &&cargo_metadata::NodeDep| {
            let kinds = &d.dep_kinds;
            kinds.iter().any(|k| k.kind == DependencyKind::Normal)
        };
        let mut used = Vec::new();
        for dependency in node.deps.iter().filter(is_used) {
            let package = self.packages.packages.iter();
            let package = package.clone().find(|p| p.id == dependency.pkg);
            if let Some(package) = package.filter(|p| is_library(p)) {
                used.push(self.add(package)?);
            }
        }
        Ok(used)
    }

    fn add(&mut self, package: &'a Package) -> Result<usize> {
        if let Some(index) = self.known.get(&package.id) {
            return Ok(*index);
        }
        let uses = self.of(&package.id)?;
        let manifest = package.manifest_path.as_std_path();
        let dir = manifest.parent().unwrap_or(manifest);
        self.all_by_settings &= manifest::builds_by_settings_alone(dir);
        let library = Library::in_directory(dir, &package.version.to_string())?;
        let index = self.libraries.len();
        self.libraries.push(Library { uses, ..library });
        self.known.insert(&package.id, index);
        Ok(index)
    }
}

/// Whether a package is a library: it has a `links` key, and its build script compiles Farfel sources.
fn is_library(package: &Package) -> bool {
    package.links.is_some()
        && package
            .dependencies
            .iter()
            .any(|d| d.name == manifest::BUILD_HELPER && d.kind == DependencyKind::Build)
}
