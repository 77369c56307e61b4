//! C sources of a project, compiled through the `cc` crate, with the same cache and dependency tracking as
//! Fortran.
//!
//! A file is preprocessed first. The result is what is compiled, and its hash is part of the key, so that an
//! object is made again if any header that it reads changes. The names of these headers are in the line
//! markers, so that a build script can watch them.
//!
//! C and Fortran call each other by the convention of Unix compilers: the procedure `SOLVE` is `solve_` in C,
//! and so is the COMMON block `/SOLVE/`. What C calls in this way keeps its name in the object files
//! ([`ForeignObjects::calls`]); everything else in them is private to the library.

use crate::cache::{Cache, Entry, Key, Origin};
use crate::config::VARIABLES;
use crate::files::{self, Scratch};
use crate::gfortran::{self, Profile};
use crate::plan::object_store::{ObjectInfo, ObjectStore};
use crate::plan::objects::KeyedObject;
use crate::plan::objects::Object;
use crate::plan::recorder::Recorder;
use crate::process::{self, Limits};
use crate::timings::StepOrigin;
use crate::toolchain::HOST;
use crate::workers::Workers;
use crate::{Config, Error, Report, mpi, preprocess, sources};
use farfel_lang::encoding::decode;
use farfel_lang::ir::Name;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The objects of C sources, and what must be known about them when Fortran is compiled.
#[derive(Default)]
pub(crate) struct ForeignObjects {
    pub objects: Vec<KeyedObject>,
    /// The headers that were read, except those of the system.
    pub headers: BTreeSet<PathBuf>,
    /// The sources whose objects run code on the stack: they pass procedures as arguments that access
    /// variables of the enclosing procedure.
    pub on_stack: Vec<String>,
    names: ObjectSymbols,
}

impl ForeignObjects {
    /// Adds an object and the name of its source.
    pub(crate) fn add(&mut self, object: KeyedObject, source: &str) {
        self.names.add(&object.object.code);
        if runs_on_stack(&object.object.code) {
            self.on_stack.push(source.to_owned());
        }
        self.objects.push(object);
    }

    /// Adds other objects, which know those in `self` and are known to them.
    pub(crate) fn join(&mut self, other: ForeignObjects) {
        self.objects.extend(other.objects);
        self.headers.extend(other.headers);
        self.on_stack.extend(other.on_stack);
        self.names.wanted.extend(other.names.wanted);
        self.names.defined.extend(other.names.defined);
        self.names.main |= other.names.main;
    }

    /// Returns the names that the objects need and none of them defines: procedures and COMMON blocks by
    /// their Fortran names, and possibly others.
    pub(crate) fn calls(&self) -> BTreeSet<Name> {
        &self.names.wanted - &self.names.defined
    }

    /// Whether one of the objects has the function `main`.
    pub(crate) fn has_main(&self) -> bool {
        self.names.main
    }
}

/// The tools with which C is compiled.
pub(crate) struct CTools<'a> {
    pub config: &'a Config,
    pub profile: &'a Profile,
    /// Whether cargo determines the target. Otherwise it is this machine.
    pub in_build_script: bool,
    pub cache: &'a Cache,
    pub object_store: &'a ObjectStore,
    pub workers: &'a Workers,
    pub recorder: &'a Recorder,
}

/// Compiles the C sources among some files.
///
/// # Errors
///
/// [`Error::CCompiler`] if there is no compiler; [`Error::Diagnostics`] with the errors in all files.
pub(crate) fn compile(files: &[PathBuf], tools: &CTools) -> Result<ForeignObjects, Error> {
    let sources = files.iter().filter(|f| sources::is_c_source_name(f));
    let sources = sources.map(|f| (f.clone(), sources::shown(tools.config, f), false));
    let mut sources: Vec<_> = sources.collect();
    let scratch = Scratch::new()?;
    if mpi::is_linked(tools.config) {
        sources.push(runtime(&scratch, mpi::RUNTIME_NAME, mpi::RUNTIME)?);
    }
    compile_all(&sources, tools)
}

/// Compiles a run-time library of Farfel.
///
/// # Errors
///
/// Same as [`compile`].
pub(crate) fn compile_runtime(
    name: &str,
    text: &str,
    tools: &CTools,
) -> Result<ForeignObjects, Error> {
    let scratch = Scratch::new()?;
    let source = runtime(&scratch, name, text)?;
    compile_all(&[source], tools)
}

/// Writes the source of a run-time library. Returns the file, its name in messages, and that it is ours.
fn runtime(scratch: &Scratch, name: &str, text: &str) -> Result<(PathBuf, String, bool), Error> {
    let file = scratch.path().join(name);
    files::write_if_changed(&file, text.as_bytes())?;
    Ok((file, name.to_owned(), true))
}

/// Compiles files, with their names in messages and whether they are parts of Farfel.
fn compile_all(files: &[(PathBuf, String, bool)], tools: &CTools) -> Result<ForeignObjects, Error> {
    if files.is_empty() {
        return Ok(ForeignObjects::default());
    }
    let tool = tool(tools)?;
    let identity = identity(&tool)?;
    let made: Vec<OnceLock<Result<CObject, Failure>>> =
        files.iter().map(|_| OnceLock::new()).collect();
    let no_needs = vec![Vec::new(); files.len()];
    tools.recorder.progress.announce(files.len());
    tools.workers.run(&no_needs, &|i, worker| {
        let (path, name, ours) = &files[i];
        let one = Source {
            path,
            name: name.clone(),
            ours: *ours,
            tool: &tool,
            identity: &identity,
        };
        made[i].get_or_init(|| one.object(tools, worker));
        true
    });
    let mut all = ForeignObjects::default();
    let mut errors = Report::default();
    for (one, (_, name, _)) in made.into_iter().zip(files) {
        let Some(one) = one.into_inner() else {
            continue;
        };
        match one {
            Ok(one) => {
                all.headers.extend(one.headers);
                all.add(one.object, name);
            }
            Err(Failure::Error(e)) => return Err(e),
            Err(Failure::CompilerOutput(output, file)) => errors.add(&output, file),
        }
    }
    if !errors.diagnostics.is_empty() {
        return Err(Error::Diagnostics(errors));
    }
    Ok(all)
}

/// Returns the environment variables that influence a build for a target: those of settings, those by which
/// compilers and tools are found, and those by which `cc` finds the C compiler and its flags.
pub fn variables(target: &str) -> Vec<String> {
    let of = |name: &str| {
        [
            name.to_owned(),
            format!("HOST_{name}"),
            format!("TARGET_{name}"),
            format!("{name}_{target}"),
            format!("{name}_{}", target.replace(['-', '.'], "_")),
        ]
    };
    let mut names: Vec<String> = VARIABLES.iter().map(|n| (*n).to_owned()).collect();
    names.push("CRATE_CC_NO_DEFAULTS".to_owned());
    names.extend(["CC", "CFLAGS"].iter().flat_map(|name| of(name)));
    names
}

/// Returns the C compiler with its flags for the target.
fn tool(tools: &CTools) -> Result<cc::Tool, Error> {
    let scratch = Scratch::new()?;
    let mut build = cc::Build::new();
    build.out_dir(scratch.path());
    // Old code causes countless warnings, none of which is about Farfel.
    build.warnings(false).extra_warnings(false);
    build.cargo_metadata(false);
    build.cargo_warnings(false).cargo_debug(false);
    if !tools.in_build_script {
        build.target(HOST).host(HOST);
    }
    let level = tools.config.opt_level.as_deref();
    build.opt_level_str(level.unwrap_or(&tools.profile.opt_level));
    build.debug(tools.config.debug.unwrap_or(tools.profile.debug));
    build
        .try_get_compiler()
        .map_err(|e| Error::CCompiler(e.to_string()))
}

/// Returns the identity of a compiler, which is its own description.
fn identity(tool: &cc::Tool) -> Result<String, Error> {
    let output = process::run(tool.to_command().arg("--version"), &Limits::QUESTION);
    let output = output
        .map_err(|e| Error::CCompiler(format!("`{}` does not run: {e}", tool.path().display())))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A file to be compiled.
struct Source<'a> {
    path: &'a Path,
    /// Its name as shown in messages.
    name: String,
    /// It is a part of Farfel, and in a temporary directory.
    ours: bool,
    tool: &'a cc::Tool,
    identity: &'a str,
}

/// The result of compiling a file.
struct CObject {
    object: KeyedObject,
    headers: Vec<PathBuf>,
}

enum Failure {
    Error(Error),
    /// The compiler's output about the file with this name and text.
    CompilerOutput(String, (String, String)),
}

impl std::convert::From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

impl Source<'_> {
    fn object(&self, tools: &CTools, worker: usize) -> Result<CObject, Failure> {
        let mut scratch = Scratch::new()?;
        let root = match tools.config.root.as_os_str().is_empty() {
            true => Path::new("."),
            false => &tools.config.root,
        };
        let step = tools.recorder.begin("preprocess", &self.name, worker);
        let mut command = self.command(root);
        command.arg("-E");
        if self.ours {
            // No line markers: the name of the directory is different each time.
            command.arg("-P");
        }
        for define in &tools.config.defines {
            command.arg(format!("-D{define}"));
        }
        for directory in &tools.config.include {
            command.arg("-I").arg(directory);
        }
        // A name that does not depend on the location of the project.
        let relative = preprocess::relative(self.path, tools.config);
        command.arg(relative.strip_prefix(".").unwrap_or(&relative));
        let text = self.run(&mut command, &mut scratch)?;
        let headers = headers(&String::from_utf8_lossy(&text), root, self.path);
        tools.recorder.end(step, StepOrigin::Ran);

        let flags: Vec<_> = self
            .tool
            .args()
            .iter()
            .map(|a| a.to_string_lossy())
            .collect();
        let key = Key::builder("c")
            .field("farfel", crate::identity::identity())
            .field("compiler", self.identity)
            .field("flags", flags.join("\n"))
            .field("text", blake3::hash(&text).as_bytes())
            .finish();
        let name = self.name.replace(['/', '\\', ':'], "-");
        let mut step = tools.recorder.begin("compile", &self.name, worker);
        let (about, code, from) = match self.found(&name, &key, tools) {
            Some(found) => found,
            None => {
                tools.recorder.works(&mut step, "C source".into());
                let preprocessed = scratch.path().join("farfel.i");
                let output = scratch.path().join("output.o");
                files::write_if_changed(&preprocessed, &text)?;
                let mut command = self.command(root);
                let mut map = std::ffi::OsString::from("-ffile-prefix-map=");
                map.push(std::path::absolute(root).map_err(Error::io(root))?);
                map.push("=.");
                command.arg(map).args(["-x", "cpp-output", "-c"]);
                command.arg(&preprocessed).arg("-o").arg(&output);
                self.run(&mut command, &mut scratch)?;
                let code = std::fs::read(&output).map_err(Error::io(&output))?;
                (ObjectInfo::default(), code, StepOrigin::Ran)
            }
        };
        let mut about = about;
        let took = tools.recorder.end(step, from);
        if from == StepOrigin::Ran {
            about.took_ms = took;
            let entry = Entry {
                files: vec![
                    (
                        "about".into(),
                        serde_json::to_vec(&about).unwrap_or_default(),
                    ),
                    ("code".into(), code.clone()),
                ],
            };
            tools.cache.put(&key, &entry);
        }
        if from != StepOrigin::Fresh {
            tools.object_store.put(&name, &code, &text)?;
        }
        Ok(CObject {
            object: KeyedObject {
                object: Object { name, about, code },
                key: key.hex(),
                recipe: key.recipe().to_owned(),
            },
            headers,
        })
    }

    /// Returns the object from the last build or the cache, if there is one.
    fn found(
        &self,
        name: &str,
        key: &Key,
        tools: &CTools,
    ) -> Option<(ObjectInfo, Vec<u8>, StepOrigin)> {
        if let Some((about, code)) = tools.object_store.find(name, &key.hex()) {
            return Some((about.clone(), code, StepOrigin::Fresh));
        }
        let (entry, origin) = tools.cache.find(key)?;
        let from = match origin {
            Origin::Remote => StepOrigin::Remote,
            _ => StepOrigin::Cache,
        };
        let about = serde_json::from_slice(entry.file("about")?).ok()?;
        Some((about, entry.file("code")?.to_owned(), from))
    }

    /// Returns the compiler command with its flags, to be run in the project.
    fn command(&self, root: &Path) -> Command {
        let mut command = self.tool.to_command();
        command.current_dir(root);
        if std::env::var_os("SOURCE_DATE_EPOCH").is_none() {
            command.env("SOURCE_DATE_EPOCH", "0");
        }
        command
    }

    /// Runs the command and returns its output.
    fn run(&self, command: &mut Command, scratch: &mut Scratch) -> Result<Vec<u8>, Failure> {
        for name in ["TMPDIR", "TMP", "TEMP"] {
            command.env(name, scratch.path());
        }
        let limits = Limits {
            // Headers are long.
            output: 256 << 20,
            ..Limits::COMPILER
        };
        let ran = process::run_watched(command, &limits, scratch.watch()).map_err(|e| {
            Error::Command {
                command: format!("{command:?}"),
                reason: e.to_string(),
            }
        })?;
        if ran.status.success() {
            return Ok(ran.stdout);
        }
        let output = String::from_utf8_lossy(&ran.stderr).into_owned();
        let text = std::fs::read(self.path).map(decode).unwrap_or_default();
        Err(Failure::CompilerOutput(output, (self.name.clone(), text)))
    }
}

impl Report {
    /// Adds the diagnostics in a C compiler's output about a file.
    fn add(&mut self, output: &str, (name, text): (String, String)) {
        let file = self.sources.add(name, text);
        // The format is that of gfortran, but in lower case.
        let capital = output
            .replace(": fatal error: ", ": Fatal Error: ")
            .replace(": error: ", ": Error: ");
        let (found, rest) = gfortran::messages(&capital, &self.sources);
        let before = self.diagnostics.len();
        self.diagnostics.extend(found);
        if self.diagnostics.len() == before {
            let first = rest.first().map_or(output.trim(), |line| line.as_str());
            self.diagnostics.push(farfel_lang::Diagnostic::error(
                &farfel_lang::diagnostic::rules::COMPILER,
                farfel_lang::Span::new(file, 0, 0),
                format!("the C compiler says: {first}"),
            ));
        }
    }
}

/// Returns the files that preprocessed text comes from, except those of the system and the source itself.
fn headers(text: &str, root: &Path, source: &Path) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    for line in text.lines().filter(|l| l.starts_with("# ")) {
        let mut parts = line.splitn(3, '"');
        let (Some(_), Some(name), Some(flags)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let of_the_system = flags.split(' ').any(|f| f == "3");
        let path = root.join(name);
        if !of_the_system && !name.starts_with('<') && path != source && path.is_file() {
            found.insert(path);
        }
    }
    found.into_iter().collect()
}

/// Whether an object declares that it needs an executable stack.
fn runs_on_stack(code: &[u8]) -> bool {
    let Ok(file) = object::File::parse(code) else {
        return false;
    };
    let note = file.section_by_name(".note.GNU-stack");
    let executable = u64::from(object::elf::SHF_EXECINSTR);
    note.is_some_and(|note| match note.flags() {
        object::SectionFlags::Elf { sh_flags } => sh_flags & executable != 0,
        _ => false,
    })
}

/// The global names in objects by which Fortran knows them.
#[derive(Default)]
struct ObjectSymbols {
    defined: BTreeSet<Name>,
    wanted: BTreeSet<Name>,
    main: bool,
}

impl ObjectSymbols {
    fn add(&mut self, code: &[u8]) {
        let Ok(file) = object::File::parse(code) else {
            return;
        };
        for symbol in file.symbols().filter(|s| s.is_global()) {
            let Ok(name) = symbol.name() else { continue };
            // On Apple's systems, linker symbols have another underscore in front.
            let name = match file.format() {
                object::BinaryFormat::MachO => name.strip_prefix('_').unwrap_or(name),
                _ => name,
            };
            self.main |= name == "main" && !symbol.is_undefined();
            let name = match name {
                // gfortran's name for blank COMMON, which has no name in a program.
                "__BLNK__" => "",
                name => match name.strip_suffix('_') {
                    Some(name) => name,
                    None => continue,
                },
            };
            // A Fortran COMMON block belongs to everybody.
            let set = match symbol.is_undefined() || symbol.is_common() {
                true => &mut self.wanted,
                false => &mut self.defined,
            };
            set.insert(name.to_ascii_uppercase().into());
        }
    }
}
