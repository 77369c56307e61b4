//! Compiles pass-through Fortran to objects and module files.
//!
//! An object is a function of its text with all INCLUDE files, of compiler and flags, and of the module files
//! that it reads. gfortran finds no other module files except those of the system, because the ones that a
//! file may read are put in a directory of their own. Therefore an object is made again if the interface of a
//! module that it uses has changed, but not if only the module's subprograms have.

use crate::c_sources::ForeignObjects;
use crate::cache::{Cache, Entry, Key, Origin};
use crate::codec::{Reader, Writer};
use crate::gfortran::{self, Failure, Source};
use crate::pass_through::scan::ModuleReference;
use crate::pass_through::{PassThroughFile, PassThroughFiles, order};
use crate::plan::messages;
use crate::plan::object_store::{ObjectInfo, ObjectStore};
use crate::plan::objects::{KeyedObject, Object, reason};
use crate::plan::recorder::Recorder;
use crate::timings::StepOrigin;
use crate::toolchain::Compiler;
use crate::workers::Workers;
use crate::{Config, Error, Report};
use farfel_lang::encoding::encode;
use farfel_lang::syntax::Form;
use farfel_lang::{Diagnostic, diagnostic::any_errors};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The tools with which the files are compiled.
pub(crate) struct PassThroughTools<'a> {
    pub config: &'a Config,
    pub compiler: &'a Compiler,
    /// The flags for all files.
    pub flags: &'a [String],
    pub cache: &'a Cache,
    pub object_store: &'a ObjectStore,
    pub workers: &'a Workers,
    pub recorder: &'a Recorder,
}

/// Module files by their names.
type Modules = BTreeMap<String, Vec<u8>>;

/// The result of compiling a file.
struct PassThroughObject {
    object: KeyedObject,
    modules: Modules,
    warnings: Vec<Diagnostic>,
}

/// Compiles all files, in parallel as far as their modules allow. The compiler's warnings are added to
/// `report`.
///
/// # Errors
///
/// [`Error::Diagnostics`] with the compiler's errors.
pub(crate) fn compile(
    passed: &PassThroughFiles,
    tools: &PassThroughTools,
    report: &mut Report,
) -> Result<ForeignObjects, Error> {
    let mut all = ForeignObjects::default();
    let files = &passed.files;
    if files.is_empty() {
        return Ok(all);
    }
    passed.check()?;
    let needs: Vec<Vec<usize>> = order::needs(files)
        .iter()
        .map(|needs| needs.iter().map(|(n, _)| *n).collect())
        .collect();
    let made: Vec<OnceLock<Result<PassThroughObject, Failure>>> =
        files.iter().map(|_| OnceLock::new()).collect();
    tools.recorder.progress.announce(files.len());
    tools.workers.run(&needs, &|i, worker| {
        let given = needs[i]
            .iter()
            .filter_map(|n| made[*n].get()?.as_ref().ok());
        let given = given.flat_map(|one| &one.modules);
        let one = files[i].object(given.collect(), passed, tools, worker);
        made[i].get_or_init(|| one).is_ok()
    });
    let mut found = Vec::new();
    let mut error = None;
    for (one, file) in made.into_iter().zip(files) {
        let Some(one) = one.into_inner() else {
            continue;
        };
        match one {
            Ok(one) => {
                // Warnings in a library have been shown to its author.
                found.extend(one.warnings.into_iter().filter(|_| !file.of_library));
                all.add(one.object, &file.name);
            }
            Err(Failure::Diagnostics(errors)) => found.extend(errors),
            Err(Failure::Error(e)) => error = error.or(Some(e)),
        }
    }
    tools.config.lints.apply(&mut found);
    let found = Report {
        sources: passed.sources.clone(),
        diagnostics: found,
    };
    if any_errors(&found.diagnostics) {
        return Err(Error::Diagnostics(found));
    }
    report.extend(found);
    let read = files.iter().flat_map(PassThroughFile::module_files);
    all.headers.extend(read.map(|(_, path)| path));
    match error {
        Some(error) => Err(error),
        None => Ok(all),
    }
}

impl PassThroughFile {
    /// Returns the module files that this file may read: those of the project, and those of other packages if
    /// `include` names their directory.
    fn reads(&self, given: Vec<(&String, &Vec<u8>)>) -> Modules {
        let mut reads = Modules::new();
        let found = self.module_files().into_iter();
        reads.extend(found.filter_map(|(name, path)| Some((name, std::fs::read(path).ok()?))));
        for name in self.module_names() {
            if let Some((_, bytes)) = given.iter().find(|(n, _)| **n == name) {
                reads.insert(name, (*bytes).clone());
            }
        }
        reads
    }

    /// Returns those of the module files that belong to other packages.
    fn module_files(&self) -> Vec<(String, PathBuf)> {
        let find = |name: String| {
            let mut paths = self.include.iter().map(|dir| dir.join(&name));
            let path = paths.find(|path| path.is_file())?;
            Some((name, path))
        };
        self.module_names().filter_map(find).collect()
    }

    /// Returns the names of all module files that it may read.
    fn module_names(&self) -> impl Iterator<Item = String> {
        let uses = self.scan.uses.iter().map(|u| format!("{}.mod", u.name));
        let of_parent = |p: &ModuleReference| {
            let mut names = vec![format!("{}.smod", p.name)];
            if !p.name.contains('@') {
                names.push(format!("{}.mod", p.name));
            }
            names
        };
        uses.chain(self.scan.parents.iter().flat_map(of_parent))
    }

    fn object(
        &self,
        given: Vec<(&String, &Vec<u8>)>,
        passed: &PassThroughFiles,
        tools: &PassThroughTools,
        worker: usize,
    ) -> Result<PassThroughObject, Failure> {
        let mut step = tools.recorder.begin("compile", &self.name, worker);
        let reads = self.reads(given);
        let mut flags = self.language.clone();
        flags.extend(tools.flags.iter().chain(&self.flags).cloned());
        flags.push("-c".into());
        let mut key = Key::builder("fortran")
            .field("farfel", crate::identity::identity())
            .field("compiler", tools.compiler.identity(&flags))
            .field("flags", flags.join("\n"))
            .field("text", blake3::hash(self.text.as_bytes()).as_bytes());
        for (name, bytes) in &reads {
            key = key.field(&format!("module {name}"), blake3::hash(bytes).as_bytes());
        }
        let key = key.finish();
        let name = self.name.replace(['/', '\\', ':'], "-");
        let kept = |about: ObjectInfo, code: Vec<u8>| KeyedObject {
            object: Object {
                name: name.clone(),
                about,
                code,
            },
            key: key.hex(),
            recipe: key.recipe().to_owned(),
        };
        if let Some((about, code, modules, from)) = found(&name, &key, tools) {
            let warnings = messages::from_text(&about.messages, &passed.sources);
            if let Some(warnings) = warnings {
                step.saved_ms = Some(about.took_ms);
                tools.recorder.end(step, from);
                if from != StepOrigin::Fresh {
                    tools.object_store.put(&name, &code, &packed(&modules))?;
                }
                return Ok(PassThroughObject {
                    object: kept(about, code),
                    modules,
                    warnings,
                });
            }
        }
        let why = reason(tools.object_store.recipe(&name), key.recipe());
        tools.recorder.works(&mut step, why);
        let source = Source {
            name: match self.form {
                Form::Free => "farfel.f90",
                Form::Fixed => "farfel.f",
            },
            text: &encode(&self.text),
            modules: &reads,
        };
        let compiled = gfortran::compile_module(tools.compiler, &flags, &source, &passed.sources);
        let took_ms = tools.recorder.end(step, StepOrigin::Ran);
        let (compiled, modules) = compiled.map_err(|error| self.explained(error, tools.config))?;
        let about = ObjectInfo {
            messages: messages::to_text(&compiled.warnings, &passed.sources),
            took_ms,
            ..ObjectInfo::default()
        };
        let entry = Entry {
            files: vec![
                (
                    "about".into(),
                    serde_json::to_vec(&about).unwrap_or_default(),
                ),
                ("code".into(), compiled.output.clone()),
                ("modules".into(), packed(&modules)),
            ],
        };
        tools.cache.put(&key, &entry);
        tools
            .object_store
            .put(&name, &compiled.output, &packed(&modules))?;
        Ok(PassThroughObject {
            object: kept(about, compiled.output),
            modules,
            warnings: compiled.warnings,
        })
    }

    /// Adds help to an error about a module that was not found.
    fn explained(&self, error: Failure, config: &Config) -> Failure {
        let Failure::Diagnostics(mut errors) = error else {
            return error;
        };
        for error in &mut errors {
            let missing = error
                .message
                .split_once("module file '")
                .and_then(|(_, rest)| {
                    let (name, _) = rest.split_once('\'')?;
                    error
                        .message
                        .starts_with("Cannot open")
                        .then(|| name.to_owned())
                });
            if let Some(file) = missing {
                let (module, _) = file.split_once('.').unwrap_or((&file, ""));
                error.help = Some(format!(
                    "no source of `{}` has a module {module}: the setting `include` names folders with files like {file}, \
                     `link` the library, and `exclude` leaves sources out",
                    config.name
                ));
            }
        }
        Failure::Diagnostics(errors)
    }
}

/// Returns the results from the last build or the cache, if there are any.
fn found(
    name: &str,
    key: &Key,
    tools: &PassThroughTools,
) -> Option<(ObjectInfo, Vec<u8>, Modules, StepOrigin)> {
    if let Some((about, code, modules)) = tools.object_store.find_with_text(name, &key.hex())
        && let Some(modules) = unpacked(&modules)
    {
        return Some((about.clone(), code, modules, StepOrigin::Fresh));
    }
    let (entry, origin) = tools.cache.find(key)?;
    let from = match origin {
        Origin::Remote => StepOrigin::Remote,
        _ => StepOrigin::Cache,
    };
    let about = serde_json::from_slice(entry.file("about")?).ok()?;
    let modules = unpacked(entry.file("modules")?)?;
    Some((about, entry.file("code")?.to_owned(), modules, from))
}

/// Packs module files into one.
fn packed(modules: &Modules) -> Vec<u8> {
    let mut to = Writer::default();
    for (name, bytes) in modules {
        to.text(name);
        to.bytes(bytes);
    }
    to.0
}

fn unpacked(bytes: &[u8]) -> Option<Modules> {
    let mut from = Reader(bytes);
    let mut modules = Modules::new();
    while !from.0.is_empty() {
        modules.insert(from.text()?.to_owned(), from.bytes()?.to_owned());
    }
    Some(modules)
}
