//! Libraries: packages whose Farfel and Fortran subprograms other packages call.
//!
//! Their sources are read together with those of the package that uses them, so that derivatives go through
//! them and gfortran inlines across package boundaries. Each package compiles the parts of a library that it
//! needs itself, under its own names: nothing is linked twice, whichever versions of a library are in use.
//!
//! A build script learns of libraries from cargo. The build script of a package with a `links` key writes a
//! [`Description`] to its OUT_DIR and reports the file to cargo, which passes its path on to the build
//! scripts of dependent packages as `DEP_…_FARFEL_LIBRARY`.

use crate::parse::parse;
use crate::pass_through::passed_through;
use crate::sources::{self, find};
use crate::{Config, Error, Library, files};
use farfel_lang::ir::Program;
use farfel_lang::packages::{Package, join};
use farfel_lang::syntax::Form;
use farfel_lang::{Diagnostic, Sources};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

impl Library {
    /// Reads the library in a directory by its `Cargo.toml`, without the libraries that it uses. The version
    /// is given by the caller, who has it from cargo, because it may be inherited from a workspace.
    ///
    /// # Errors
    ///
    /// Its settings contain errors, or its sources cannot be found.
    pub fn in_directory(directory: &Path, version: &str) -> Result<Library, Error> {
        let mut config = Config::from_manifest(directory)?;
        config.version = version.to_owned();
        let mut files = find(&config)?.files;
        let passed = passed_through(&files, &config)?;
        files.retain(|f| !passed.contains(f));
        Ok(Library {
            config,
            files,
            passed,
            uses: Vec::new(),
            direct: false,
        })
    }

    /// The metadata key under which cargo passes the file that
    /// [`Session::describe`](crate::Session::describe) writes to the build scripts of dependent packages.
    pub const KEY: &str = "farfel_library";

    /// Returns the libraries of the package whose build script is running.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] if a library's description cannot be parsed, [`Error::Io`].
    pub fn of_environment() -> Result<Vec<Library>, Error> {
        let mut libraries = Vec::new();
        let mut known = HashMap::new();
        for (variable, path) in descriptions() {
            let index = load(&variable, &path, &mut libraries, &mut known)?;
            libraries[index].direct = true;
        }
        Ok(libraries)
    }

    /// Returns the prefix of the library's file names in messages, built as cargo names package directories:
    /// it does not depend on this machine.
    pub(crate) fn shown_as(&self) -> String {
        format!("{}-{}", self.config.name, self.config.version)
    }

    fn shown(&self) -> String {
        format!("{} {}", self.config.name, self.config.version)
    }
}

/// The description of a package with a `links` key for the packages that depend on it.
#[derive(Debug, Serialize, Deserialize)]
struct Description {
    /// The version of this format: another version of this crate may write another one.
    format: u32,
    name: String,
    version: String,
    root: PathBuf,
    files: Vec<PathBuf>,
    passed: Vec<PathBuf>,
    file_flags: BTreeMap<PathBuf, Vec<String>>,
    real_kind: u8,
    save_all: bool,
    free_form: Option<bool>,
    line_length: usize,
    preprocess: bool,
    defines: Vec<String>,
    debug_lines: bool,
    include: Vec<PathBuf>,
    /// The descriptions of the libraries that it uses directly.
    libraries: Vec<PathBuf>,
}

const FORMAT: u32 = 2;

/// The name of the file with a [`Description`], in OUT_DIR.
const FILE: &str = "farfel-library.json";

/// The suffix of the variables that cargo sets for a build script.
const VARIABLE_END: &str = "_FARFEL_LIBRARY";

/// Writes the description of this package for its users.
pub(crate) fn describe(
    config: &Config,
    sources: &[PathBuf],
    passed: &[PathBuf],
    out: &Path,
) -> Result<PathBuf, Error> {
    let description = Description {
        format: FORMAT,
        name: config.name.clone(),
        version: config.version.clone(),
        root: config.root.clone(),
        files: sources.to_vec(),
        passed: passed.to_vec(),
        file_flags: config.file_flags.clone(),
        real_kind: config.real_kind,
        save_all: config.is_static(),
        free_form: config.form.map(|f| f == Form::Free),
        line_length: config.line_length,
        preprocess: config.preprocess,
        defines: config.defines.clone(),
        debug_lines: config.debug_lines,
        include: config.include.clone(),
        libraries: descriptions().into_iter().map(|(_, path)| path).collect(),
    };
    let path = out.join(FILE);
    let text = serde_json::to_vec_pretty(&description).map_err(|e| Error::io(&path)(e.into()))?;
    files::write_if_changed(&path, &text)?;
    Ok(path)
}

/// Returns the library descriptions that cargo has announced to this build script: the name of the variable
/// and the file, sorted by name.
fn descriptions() -> Vec<(String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = std::env::vars_os()
        .filter_map(|(name, path)| Some((name.into_string().ok()?, path.into())))
        .filter(|(name, _)| name.starts_with("DEP_") && name.ends_with(VARIABLE_END))
        .collect();
    found.sort();
    found
}

/// Reads a description and, recursively, those that it names. Cargo's dependencies have no cycles.
fn load(
    origin: &str,
    path: &Path,
    libraries: &mut Vec<Library>,
    known: &mut HashMap<PathBuf, usize>,
) -> Result<usize, Error> {
    if let Some(index) = known.get(path) {
        return Ok(*index);
    }
    let text = std::fs::read(path).map_err(Error::io(path))?;
    let unreadable = |message: String| Error::Config {
        origin: origin.to_owned(),
        message,
    };
    let description: Description = serde_json::from_slice(&text)
        .map_err(|e| unreadable(format!("{} cannot be read: {e}", path.display())))?;
    if description.format != FORMAT {
        let by = "was written by another version of farfel-build; have all packages use the same";
        return Err(unreadable(format!("{} {by}", path.display())));
    }
    let uses = description
        .libraries
        .iter()
        .map(|p| load(origin, p, libraries, known))
        .collect::<Result<_, _>>()?;
    let form = |free| if free { Form::Free } else { Form::Fixed };
    let index = libraries.len();
    libraries.push(Library {
        config: Config {
            root: description.root,
            name: description.name,
            version: description.version,
            real_kind: description.real_kind,
            save_all: description.save_all,
            form: description.free_form.map(form),
            line_length: description.line_length,
            preprocess: description.preprocess,
            defines: description.defines,
            debug_lines: description.debug_lines,
            include: description.include,
            file_flags: description.file_flags,
            ..Config::default()
        },
        files: description.files,
        passed: description.passed,
        uses,
        direct: false,
    });
    known.insert(path.to_owned(), index);
    Ok(index)
}

/// The libraries of a package after parsing.
pub(crate) struct Libraries {
    packages: Vec<Package>,
    /// The indices of those that the package uses directly.
    direct: Vec<usize>,
}

impl Libraries {
    /// Parses the libraries. Their files are added to `sources`, and all files read to `included`.
    pub(crate) fn parse(
        config: &Config,
        sources: &mut Sources,
        included: &mut Vec<PathBuf>,
    ) -> Result<(Libraries, Vec<Diagnostic>), Error> {
        let mut diagnostics = Vec::new();
        let mut packages = Vec::new();
        for library in &config.libraries {
            agrees(library, config)?;
            let how = Config {
                shown_as: Some(library.shown_as()),
                fc: config.fc.clone(),
                install: config.install,
                ..library.config.clone()
            };
            included.extend(library.files.iter().cloned());
            let (mut program, errors) = parse(&library.files, &how, sources, included)?;
            diagnostics.extend(errors);
            program
                .units
                .retain(|u| u.kind != farfel_lang::ir::UnitKind::Program);
            packages.push(Package {
                name: library.shown(),
                suffix: sources::as_name(&library.shown()),
                program,
                uses: library.uses.clone(),
            });
        }
        let direct = config.libraries.iter().enumerate();
        let direct: Vec<usize> = direct.filter(|(_, l)| l.direct).map(|(i, _)| i).collect();
        Ok((Libraries { packages, direct }, diagnostics))
    }

    /// The programs of those that the package uses directly.
    pub(crate) fn direct(&self) -> Vec<&Program> {
        let programs = self.direct.iter().filter_map(|i| self.packages.get(*i));
        programs.map(|p| &p.program).collect()
    }

    /// Adds to a program the parts of the libraries that it uses.
    pub(crate) fn join(self, program: &mut Program) -> Vec<Diagnostic> {
        match self.packages.is_empty() {
            true => Vec::new(),
            false => join(program, &self.direct, self.packages),
        }
    }
}

/// Checks that the library has the same meaning when compiled with the package's settings.
fn agrees(library: &Library, config: &Config) -> Result<(), Error> {
    let differs = |message: String| {
        Err(Error::Config {
            origin: format!("library {}", library.shown()),
            message,
        })
    };
    if library.config.real_kind != config.real_kind {
        return differs(format!(
            "its REAL has {} bytes and that of {} has {}; set `real-kind` alike in both",
            library.config.real_kind, config.name, config.real_kind
        ));
    }
    if library.config.is_static() && !config.is_static() {
        return differs(format!(
            "its local variables keep their values between calls; set `save-all = true` in {}, too",
            config.name
        ));
    }
    Ok(())
}
