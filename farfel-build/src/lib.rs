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
//! Every `.ff`, `.f`, `.for` and `.f77` file under `src` and `fortran` then is a part of one
//! library, and `farfel_runtime::include_bindings!()` brings its subprograms into Rust.
//! [`Config`] lists the settings, [`Build`] changes them in `build.rs`.
//!
//! # The way of the data
//!
//! | module | from → to |
//! |---|---|
//! | `sources` | directories → files and their text |
//! | `pipeline` | text → a lowered program with its derivatives |
//! | `assemble` | program → the Fortran that is compiled |
//! | `border` | exported subprogram → the `bind(C)` subroutine that Rust calls |
//! | `bind` | program → `farfel_bindings.rs` |
//! | `gfortran` | Fortran → object file, messages → diagnostics |
//! | `script` | all of it in a build script |
//!
//! # What is in OUT_DIR
//!
//! | file | what |
//! |---|---|
//! | `farfel_bindings.rs` | the Rust functions |
//! | `farfel.f` | the Fortran that is compiled, with line markers |
//! | `farfel.key` | compiler and flags of the last successful run |
//! | `farfel.log` | what it said |
//! | `lib….a` | the static library |
//!
//! **Invariant:** this crate owns every process and every file; `farfel-lang` and
//! `farfel-ad` start and open none.

// The examples show whole build scripts.
#![allow(clippy::needless_doctest_main)]

mod assemble;
mod bind;
mod border;
mod config;
mod error;
mod facts;
mod files;
mod gfortran;
pub mod graph;
mod names;
mod pipeline;
pub mod render;
mod rustdoc;
mod script;
mod sources;
mod stage;
pub mod timings;
pub mod toolchain;

pub use config::Config;
pub use error::Error;
pub use render::Report;
pub use script::{Build, Built, compile, try_compile};
pub use stage::{ExpandStage, UnknownStage};

use farfel_lang::ir::UnitKind;
use farfel_lang::lower::Stage;
use names::Names;
use pipeline::Goal;
use std::path::{Path, PathBuf};

/// Reads files and reports every fault: syntax, names and types, lowering, and what the AD
/// tool cannot differentiate. Compiles nothing and writes nothing.
///
/// # Errors
///
/// [`Error::Diagnostics`] when there are faults, [`Error::Io`] when a file cannot be read.
pub fn check(files: &[PathBuf], config: &Config) -> Result<Report, Error> {
    config.check()?;
    let read = pipeline::read(files, config, Goal::Program, &mut Vec::new())?;
    Ok(pipeline::differentiate(read.program, read.report, config, None)?.report)
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
    let read = pipeline::read(&found.files, config, Goal::Library, files)?;
    let exports = config.exports.as_deref();
    let done = pipeline::differentiate(read.program, read.report, config, exports)?;
    let assigned = farfel_lang::effects::Assigned::of(&done.program);
    bind::choose(&done.program, &read.written, config, &assigned)?;
    Ok(done.report)
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
        ExpandStage::Final => {
            let is_library = !has_main(&read.program);
            let exports = config.exports.as_deref().filter(|_| is_library);
            let done = pipeline::differentiate(read.program, read.report, config, exports)?;
            let text = if is_library {
                let assigned = farfel_lang::effects::Assigned::of(&done.program);
                let exports = bind::choose(&done.program, &read.written, config, &assigned)?;
                let names = Names::new(&config.name, &config.version);
                assemble::Library::new(done.program, names).text(&exports.names, None)
            } else {
                assemble::program_text(&done.program, None)
            };
            return Ok((text, done.report));
        }
    };
    let (program, _, report) = pipeline::lower_to(read.program, until, read.report, None)?;
    Ok((print(&program), report))
}

/// Who calls whom in a program, with the derivatives that it asks for: see
/// [`graph::Graph::of_calls`]. What is not called is in it only where it is exported.
///
/// # Errors
///
/// Those of [`check`], but for what the AD tool would find.
pub fn call_graph(files: &[PathBuf], config: &Config) -> Result<(graph::Graph, Report), Error> {
    let (program, requests, report) = staged(files, config)?;
    Ok((graph::Graph::of_calls(&program, &requests), report))
}

/// The steps that a build of these files takes.
///
/// # Errors
///
/// Those of [`call_graph`].
pub fn plan(files: &[PathBuf], config: &Config) -> Result<graph::Graph, Error> {
    let (program, requests, report) = staged(files, config)?;
    let files: Vec<String> = report.sources.iter().map(|(_, f)| f.name.clone()).collect();
    let is_program = has_main(&program);
    Ok(graph::of_pipeline(&files, &program, &requests, is_program))
}

/// What lowering makes of files: a program where there is a main program, else a library.
fn staged(
    files: &[PathBuf],
    config: &Config,
) -> Result<
    (
        farfel_lang::ir::Program,
        Vec<farfel_lang::ir::Request>,
        Report,
    ),
    Error,
> {
    config.check()?;
    let read = pipeline::read(files, config, Goal::Program, &mut Vec::new())?;
    let is_library = !has_main(&read.program);
    let exports = config.exports.as_deref().filter(|_| is_library);
    pipeline::lower_to(read.program, Stage::Stage, read.report, exports)
}

/// Compiles a main program and what it calls to the executable file `out`.
///
/// # Errors
///
/// Those of [`check`]; [`Error::NoMainProgram`]; [`Error::NoFortranCompiler`];
/// [`Error::Command`] when linking fails.
pub fn build_program(files: &[PathBuf], out: &Path, config: &Config) -> Result<Report, Error> {
    config.check()?;
    let read = pipeline::read(files, config, Goal::Program, &mut Vec::new())?;
    if !has_main(&read.program) {
        return Err(Error::NoMainProgram);
    }
    let done = pipeline::differentiate(read.program, read.report, config, None)?;
    let compiler = toolchain::find_or_install(config)?;
    let text = assemble::program_text(&done.program, Some(&done.report.sources));
    let scratch = files::Scratch::new()?;
    let source = scratch.path().join("farfel.f");
    files::write_if_changed(&source, text.as_bytes())?;
    let profile = gfortran::Profile {
        opt_level: "2".into(),
        debug: false,
    };
    let mut flags = gfortran::flags(config, &profile);
    // All there is stands in this one file, so that gfortran may inline everything.
    flags.push("-fwhole-program".into());
    let built = scratch.path().join("program");
    let log = scratch.path().join("farfel.log");
    let report = gfortran::compile(&compiler, &flags, &source, &built, &log, done.report)?;
    files::copy(&built, out)?;
    Ok(report)
}

fn has_main(program: &farfel_lang::ir::Program) -> bool {
    program.units.iter().any(|u| u.kind == UnitKind::Program)
}
