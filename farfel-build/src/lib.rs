//! Compiles Farfel and Fortran sources into a Rust crate.
//!
//! In `Cargo.toml`:
//!
//! ```toml
//! [dependencies]
//! farfel-runtime = "0.1"
//!
//! [build-dependencies]
//! farfel-build = "0.1"
//! ```
//!
//! In `build.rs`:
//!
//! ```no_run
//! fn main() {
//!     farfel_build::compile();
//! }
//! ```
//!
//! Every `.ff`, `.f`, `.for`, `.f77` and `.f90` file under `src` and `fortran` then is a part of one
//! library, and `farfel_runtime::include_bindings!()` brings its subprograms into Rust.
//! [`Config`] lists the settings, [`Build`] changes them in `build.rs`. What programs in Farfel
//! look like, [`gallery`] shows.
//!
//! # Libraries
//!
//! A package with a `links` key in its `Cargo.toml` is a library: packages that depend on it can
//! call its subprograms in Farfel, and differentiate them ([`Library`]). Its build script says
//! so to cargo, which hands it on as `DEP_…_FARFEL_LIBRARY`.
//!
//! # The way of the data
//!
//! | module | from → to |
//! |---|---|
//! | `sources` | directories → files and their text |
//! | `preprocess` | text with lines for a preprocessor → text with line markers |
//! | `pipeline` | text → a lowered program, and the derivatives that it asks for |
//! | `library` | what cargo says of dependencies → their subprograms in the program |
//! | `ad` | settings → the AD tool, with its runs remembered |
//! | `plan` | lowered program → object files, each made only when what it reads has changed |
//! | `assemble` | program → the Fortran that is compiled |
//! | `border` | exported subprogram → the `bind(C)` subroutine that Rust calls |
//! | `bind` | program → `farfel_bindings.rs` |
//! | `process` | command → what it said, within limits |
//! | `remember` | what tools and compilers say of themselves, asked once |
//! | `tools` | settings → an AD tool that is a program of its own |
//! | `gfortran` | Fortran → object file, messages → diagnostics |
//! | `archive` | object files → static library |
//! | [`mod@format`] | source files → the same, laid out anew |
//! | [`cache`] | what was made in earlier builds |
//! | `codec` | what is noted between builds ↔ bytes |
//! | `shares` | a large library → parts that know nothing of each other, each redone only when it has changed |
//! | `script` | all of it in a build script |
//!
//! # What is in OUT_DIR
//!
//! | file | what |
//! |---|---|
//! | `farfel_bindings.rs` | the Rust functions |
//! | `lib….a` | the static library |
//! | `farfel/*.f` | the Fortran of each object file, with line markers |
//! | `farfel/*.o` | the object files |
//! | `farfel.state` | what they and the library were made from, their hashes, and what was said |
//! | `farfel.shares` | what is known of the parts of a large library, so that what has not changed is not read again |
//! | `farfel-timings.json` | what ran when in the last run of the build script: [`timings`] |
//!
//! **Invariant:** this crate owns every process and every file; `farfel-lang` and
//! `farfel-ad` start and open none.

// Whatever users do, they get a message.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]
// The examples show whole build scripts.
#![allow(clippy::needless_doctest_main)]

mod ad;
pub mod analysis;
mod annotate;
mod archive;
mod assemble;
mod bind;
mod border;
pub mod cache;
mod codec;
mod config;
pub mod copies;
mod error;
mod facts;
mod files;
pub mod format;
#[cfg(doc)]
pub mod gallery;
mod gfortran;
pub mod graph;
pub mod intents;
mod legible;
mod library;
mod names;
mod pipeline;
mod plan;
mod preprocess;
mod process;
mod reading;
mod remember;
pub mod render;
mod rustdoc;
mod script;
mod shares;
pub mod side_by_side;
mod sources;
mod stage;
pub mod storage;
pub mod timings;
pub mod toolchain;
pub mod tools;
pub mod verify;

pub use config::{CacheSettings, Config, ToolSettings};
pub use error::Error;
pub use farfel_lang::diagnostic::Level;
pub use library::Library;
pub use render::Report;
pub use script::{Build, Built, compile, try_compile};
/// What distinguishes this compiler from others: results of equal ones are equal.
pub(crate) fn identity() -> String {
    format!(
        "{} {} {} {}",
        env!("CARGO_PKG_VERSION"),
        farfel_lang::VERSION,
        farfel_ad::VERSION,
        env!("FARFEL_SOURCES")
    )
}

pub use sources::is_source_name;
pub use stage::{ExpandStage, UnknownStage};

use cache::Cache;
use facts::Facts;
use farfel_lang::Sources;
use farfel_lang::effects::Assigned;
use farfel_lang::ir::UnitKind;
use farfel_lang::lower::Stage;
use names::Names;
use pipeline::Goal;
use plan::derivatives::{Derivatives, Staged};
use plan::interfaces::interfaces;
use plan::objects::{self, Means, Objects, Target};
use plan::recorder::Recorder;
use plan::shelf::Shelf;
use plan::workers::Workers;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use timings::Timings;

/// Reads files and reports every fault: syntax, names and types, lowering, and what the AD
/// tool cannot differentiate. Compiles nothing and writes nothing.
///
/// # Errors
///
/// [`Error::Diagnostics`] when there are faults, [`Error::Io`] when a file cannot be read.
pub fn check(files: &[PathBuf], config: &Config) -> Result<Report, Error> {
    check_for(files, Goal::Program, config)
}

/// Like [`check`] for the main program in the first of the files: those in others are left out.
///
/// # Errors
///
/// Those of [`check`].
pub fn check_main(files: &[PathBuf], config: &Config) -> Result<Report, Error> {
    check_for(files, Goal::First, config)
}

fn check_for(files: &[PathBuf], goal: Goal, config: &Config) -> Result<Report, Error> {
    config.check()?;
    let read = pipeline::read(files, config, goal, &mut Vec::new())?;
    let staged = pipeline::stage(read, None)?;
    check_derivatives(&staged, config)
}

/// Those of the files that have a main program.
///
/// # Errors
///
/// [`Error::Io`] when a file cannot be read. Faults in it are left to who compiles it.
pub fn main_programs(files: &[PathBuf], config: &Config) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for file in files {
        let only = std::slice::from_ref(file);
        let (program, _) = pipeline::parse(only, config, &mut Sources::new(), &mut Vec::new())?;
        if has_main(&program) {
            found.push(file.clone());
        }
    }
    Ok(found)
}

fn check_derivatives(staged: &Staged, config: &Config) -> Result<Report, Error> {
    let cache = Arc::new(Cache::open(&config.cache));
    let ad = ad::choose(config, &cache)?;
    let derivatives = Derivatives::new(staged, &*ad.tool);
    pipeline::differentiate(staged, &derivatives, &Workers::from_environment())
}

/// Like [`check`] for the sources of a project, read as its build script reads them: main
/// programs are left out, and what the settings export must exist.
///
/// # Errors
///
/// Those of [`check`]; [`Error::Config`] when a source that the settings name does not
/// exist, [`Error::Export`].
pub fn check_project(config: &Config) -> Result<Report, Error> {
    check_project_reading(config, &mut Vec::new())
}

/// Like [`check_project`], and adds every file that was read to `files`, INCLUDE files too:
/// as long as none of them changes and no source comes or goes, the outcome is the same.
///
/// # Errors
///
/// Those of [`check_project`].
pub fn check_project_reading(config: &Config, files: &mut Vec<PathBuf>) -> Result<Report, Error> {
    config.check()?;
    let found = sources::find(config)?;
    files.extend(found.files.iter().cloned());
    let mut read = pipeline::read(&found.files, config, Goal::Library, files)?;
    let written = std::mem::take(&mut read.written);
    let mut staged = pipeline::stage(read, config.exports.as_deref())?;
    let report = check_derivatives(&staged, config)?;
    let derivatives = interfaces(&staged, false);
    let program = &mut staged.program;
    program.units.extend(derivatives);
    bind::choose(program, &written, config, &Assigned::with_closures(program))?;
    Ok(report)
}

/// The source files of a project, sorted: those that the settings name, else all under
/// `src` and `fortran`.
///
/// # Errors
///
/// [`Error::Io`] when a directory cannot be read, [`Error::Config`] when a source that the
/// settings name does not exist.
pub fn source_files(config: &Config) -> Result<Vec<PathBuf>, Error> {
    Ok(sources::find(config)?.files)
}

/// The program after a stage as Fortran text. [`ExpandStage::Final`] is what is compiled,
/// without line markers: a program where there is a main program, else a library.
///
/// # Errors
///
/// Those of [`check`]; for the final stage of a library also [`Error::Export`].
pub fn expand(
    files: &[PathBuf],
    stage: ExpandStage,
    config: &Config,
) -> Result<(String, Report), Error> {
    config.check()?;
    let read = pipeline::read(files, config, Goal::Program, &mut Vec::new())?;
    let print = |program: &_| {
        farfel_lang::print::print_program(program, &farfel_lang::print::Options::default())
    };
    let until = match stage {
        ExpandStage::Parse => Stage::Parse,
        ExpandStage::Lift => Stage::Lift,
        ExpandStage::Specialize => Stage::Specialize,
        ExpandStage::Prune => Stage::Prune,
        ExpandStage::Outline => Stage::Outline,
        ExpandStage::Stage => Stage::Stage,
        ExpandStage::Final => return expand_final(read, config, false),
    };
    let (program, _, report) = pipeline::lower_to(read, until, None)?;
    Ok((print(&program), report))
}

/// The program as [`ExpandStage::Final`] has it, with the lines of the sources that it comes from.
///
/// # Errors
///
/// Those of [`expand`].
pub fn expand_by_lines(
    files: &[PathBuf],
    config: &Config,
) -> Result<(side_by_side::SideBySide, Report), Error> {
    config.check()?;
    let read = pipeline::read(files, config, Goal::Program, &mut Vec::new())?;
    let (text, report) = expand_final(read, config, true)?;
    let lines = side_by_side::SideBySide::of(&text, &report.sources);
    Ok((lines, report))
}

/// What the built-in engine finds out about the AD blocks of files or, without them, of the
/// project.
///
/// # Errors
///
/// Those of [`check`].
pub fn analysis(
    files: Option<&[PathBuf]>,
    config: &Config,
) -> Result<(analysis::Activity, Report), Error> {
    let (staged, _) = staged(files, config)?;
    let cache = Arc::new(Cache::open(&config.cache));
    let ad = ad::choose(config, &cache)?;
    let derivatives = Derivatives::new(&staged, &*ad.tool);
    derivatives.make_all(&Workers::from_environment());
    let mut said = staged.report.diagnostics.clone();
    let mut blocks = Vec::new();
    for block in verify::blocks(&staged, config) {
        let program = derivatives.seen_by(block.request);
        let request = &staged.requests[block.request];
        match farfel_ad::analysis::analyse(&program, request, config.real_kind, config.tape_bytes())
        {
            Ok(found) => blocks.push((block, found)),
            Err(faults) => {
                // What is missing below says more than that it is missing.
                let below = derivatives.said(derivatives.needs(block.request).iter().copied());
                let faults = if below.is_empty() { faults } else { below };
                let new = faults.into_iter().filter(|d| !said.contains(d));
                let new: Vec<_> = new.collect();
                said.extend(new);
            }
        }
    }
    let report = pipeline::settle(staged.report.sources.clone(), said, &staged.lints)?;
    let activity = analysis::Activity::new(blocks, &staged.report.sources);
    Ok((activity, report))
}

fn expand_final(
    mut read: pipeline::Read,
    config: &Config,
    line_markers: bool,
) -> Result<(String, Report), Error> {
    let is_library = !has_main(&read.program);
    let exports = config.exports.as_deref().filter(|_| is_library);
    let written = std::mem::take(&mut read.written);
    let staged = pipeline::stage(read, exports)?;
    let cache = Arc::new(Cache::open(&config.cache));
    let ad = ad::choose(config, &cache)?;
    let derivatives = Derivatives::new(&staged, &*ad.tool);
    let report = pipeline::differentiate(&staged, &derivatives, &Workers::from_environment())?;
    let mut program = staged.program.clone();
    program
        .units
        .extend(interfaces(&staged, ad.adjoints_share_state));
    let assigned = Assigned::with_closures(&program);
    let facts = Facts::of(&program, config.is_static());
    let names = Names::new(&config.name, &config.version);
    let exports;
    let target = if is_library {
        exports = bind::choose(&program, &written, config, &assigned)?.names;
        Target::Library {
            exports: &exports,
            names: &names,
            facts: &facts,
            part: false,
        }
    } else {
        Target::Program
    };
    let objects = Objects::new(&staged, target);
    let texts: Vec<String> = objects
        .groups()
        .iter()
        .map(|g| {
            let (text, _) = objects.text(g, &derivatives, true);
            let text = match line_markers {
                true => text,
                false => annotate::annotated(&text, &report.sources),
            };
            match g.alone {
                true => text,
                false => format!("C     Object file {}.o\n{text}", g.name),
            }
        })
        .collect();
    Ok((texts.join("\n"), report))
}

/// Who calls whom in a program, with the derivatives that it asks for: see
/// [`graph::Graph::of_calls`]. Of files, or without them of the project, read as its build
/// script reads it.
///
/// # Errors
///
/// Those of [`check`], but for what the AD tool would find; those of [`source_files`].
pub fn call_graph(
    files: Option<&[PathBuf]>,
    config: &Config,
) -> Result<(graph::Graph, Report), Error> {
    let (staged, _) = staged(files, config)?;
    let graph = graph::Graph::of_calls(&staged.program, &staged.requests);
    Ok((graph, staged.report))
}

/// COMMON blocks and EQUIVALENCE classes, of files or, without them, of the project, as they
/// are written.
///
/// # Errors
///
/// Those of [`check`], but for what lowering and the AD tool would find.
pub fn storage(
    files: Option<&[PathBuf]>,
    config: &Config,
) -> Result<(storage::Storage, Report), Error> {
    let read = read(files, config)?;
    let real = if config.real_kind == 8 { 8 } else { 4 };
    Ok((storage::Storage::of(&read.program, real), read.report))
}

/// What procedures do with their arguments and with COMMON, of files or, without them, of the
/// project, as they are written.
///
/// # Errors
///
/// Those of [`storage()`].
pub fn intents(
    files: Option<&[PathBuf]>,
    config: &Config,
) -> Result<(intents::Intents, Report), Error> {
    let read = read(files, config)?;
    let real = if config.real_kind == 8 { 8 } else { 4 };
    Ok((intents::Intents::of(&read.program, real), read.report))
}

/// Which subprograms are copied for the procedures that they get as arguments, for which
/// calls, and which are not: of files or, without them, of the project.
///
/// # Errors
///
/// Those of [`check`], but for what the AD tool would find.
pub fn explain_copies(
    files: Option<&[PathBuf]>,
    config: &Config,
) -> Result<(copies::Copies, Report), Error> {
    let read = read(files, config)?;
    let is_library = !has_main(&read.program);
    pipeline::explain(read, config.exports.as_deref().filter(|_| is_library))
}

/// The steps of a build, of files or, without them, of the project. The notes have the
/// beginning of a hash of all sources that the step depends on: as long as it stays,
/// so does what the step makes.
///
/// # Errors
///
/// Those of [`call_graph`]; for a library also [`Error::Export`].
pub fn plan(files: Option<&[PathBuf]>, config: &Config) -> Result<(graph::Graph, Report), Error> {
    let (staged, written) = staged(files, config)?;
    let graph = if has_main(&staged.program) {
        plan::view::graph(&staged, None)
    } else {
        let mut program = staged.program.clone();
        program.units.extend(interfaces(&staged, false));
        let exports = bind::choose(
            &program,
            &written,
            config,
            &Assigned::with_closures(&program),
        )?;
        plan::view::graph(&staged, Some(&exports.names))
    };
    Ok((graph, staged.report))
}

/// The program in files, or that of the project.
fn read(files: Option<&[PathBuf]>, config: &Config) -> Result<pipeline::Read, Error> {
    config.check()?;
    match files {
        Some(files) => pipeline::read(files, config, Goal::Program, &mut Vec::new()),
        None => {
            let found = sources::find(config)?;
            pipeline::read(&found.files, config, Goal::Library, &mut Vec::new())
        }
    }
}

/// What lowering makes of files, or of the project, and what the user wrote in them.
fn staged(
    files: Option<&[PathBuf]>,
    config: &Config,
) -> Result<(Staged, Vec<pipeline::Written>), Error> {
    let mut read = read(files, config)?;
    // There is something to see also where nothing is compiled yet.
    if read.exports.as_ref().is_some_and(Vec::is_empty) {
        read.exports = Some(read.written.iter().map(|w| w.name.to_string()).collect());
    }
    let is_library = !has_main(&read.program);
    let exports = config.exports.as_deref().filter(|_| is_library);
    let written = std::mem::take(&mut read.written);
    Ok((pipeline::stage(read, exports)?, written))
}

/// A program that was built.
#[derive(Debug)]
pub struct BuiltProgram {
    /// The warnings.
    pub report: Report,
    /// What ran when.
    pub timings: Timings,
    /// The AD blocks that it checks, if it was compiled with [`Config::verify`].
    pub blocks: Vec<verify::Block>,
    /// What is worth knowing besides: that the cache cannot be used, say.
    pub notices: Vec<String>,
}

/// Compiles a main program and what it calls to the executable file `out`. What the cache
/// has is not compiled again.
///
/// # Errors
///
/// Those of [`check`]; [`Error::NoMainProgram`]; [`Error::NoFortranCompiler`];
/// [`Error::Command`] when linking fails.
pub fn build_program(
    files: &[PathBuf],
    out: &Path,
    config: &Config,
) -> Result<BuiltProgram, Error> {
    build_for(files, Goal::Program, out, config)
}

/// Like [`build_program`] for the main program in the first of the files: those in others are
/// left out.
///
/// # Errors
///
/// Those of [`build_program`].
pub fn build_main(files: &[PathBuf], out: &Path, config: &Config) -> Result<BuiltProgram, Error> {
    build_for(files, Goal::First, out, config)
}

fn build_for(
    files: &[PathBuf],
    goal: Goal,
    out: &Path,
    config: &Config,
) -> Result<BuiltProgram, Error> {
    config.check()?;
    let recorder = Recorder::new();
    let step = recorder.begin("parse", "sources", 0);
    let read = pipeline::read(files, config, goal, &mut Vec::new())?;
    recorder.end(step, timings::From::Ran);
    if !has_main(&read.program) {
        return Err(Error::NoMainProgram);
    }
    let step = recorder.begin("lower", "program", 0);
    let mut staged = pipeline::stage(read, None)?;
    if config.verify {
        verify::prepare(&mut staged, config);
    }
    recorder.end(step, timings::From::Ran);
    let cache = Arc::new(Cache::open(&config.cache));
    let ad = ad::choose(config, &cache)?;
    let compiler = toolchain::find_or_install(config)?;
    let profile = gfortran::Profile {
        opt_level: "2".into(),
        debug: false,
    };
    let mut flags = gfortran::flags(config, &profile);
    // All there is stands in this one file, so that gfortran may inline everything.
    flags.push("-fwhole-program".into());
    let workers = Workers::from_environment();
    let mut diagnostics = std::mem::take(&mut staged.report.diagnostics);
    let objects = Objects::new(&staged, Target::Program);
    let means = Means {
        tool: &*ad.tool,
        tool_identity: &ad.identity,
        compiler: &compiler,
        compiler_identity: &compiler.identity(&flags),
        flags: &flags,
        stack: &|| ad.stack(&compiler, &cache),
        cache: &cache,
        workers: &workers,
        recorder: &recorder,
        shelf: &Shelf::default(),
    };
    let keys = objects.keys(&means);
    let made = objects::make(&[(objects, keys)], &means, &mut diagnostics)?;
    if let Some(program) = made.first() {
        files::write_program(out, &program.code)?;
    }
    cache.finish();
    Ok(BuiltProgram {
        blocks: staged.verify.map(|p| p.blocks).unwrap_or_default(),
        timings: recorder.timings(workers.count()),
        notices: cache.notices(),
        report: Report {
            sources: staged.report.sources,
            diagnostics,
        },
    })
}

fn has_main(program: &farfel_lang::ir::Program) -> bool {
    program.units.iter().any(|u| u.kind == UnitKind::Program)
}
