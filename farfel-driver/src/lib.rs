//! Builds programs and libraries in Farfel and Fortran: from settings and sources to object files and
//! bindings.
//!
//! A [`Session`] holds the settings and runs the stages. Build scripts call [`Session::build_library`]
//! (through `farfel-build`), and `farfel run` calls [`Session::build_program`].
//!
//! # Data flow
//!
//! | stage | module | from → to |
//! |---|---|---|
//! | settings | `config` | `Cargo.toml`, environment, builder calls → [`Config`] |
//! | | `library` | cargo's information about dependencies → their sources and settings |
//! | read | `sources` | directories → files and their text |
//! | | `pass_through` | files → those that gfortran compiles unchanged, with their modules |
//! | | `preprocess` | text with preprocessor directives → text with line markers |
//! | | `parse` | texts → programs, in parallel |
//! | | `derive` | subprograms and settings → subprograms that compute their derivatives |
//! | | `reach` | files of a program → those that it reaches, where several define the same subprogram |
//! | | `read` | programs → one program, including its libraries, with names resolved |
//! | staged | `staged` | program → lowered program and the derivatives that it requests |
//! | | `lowered` | the same for a library, with the subprograms that Rust can call |
//! | | `partitions` | a large library → independent parts, each rebuilt only when it has changed |
//! | derivatives | `ad` | settings → the AD tool, with its results cached |
//! | | [`tools`] | settings → an AD tool that runs as an external program |
//! | objects | `plan` | staged program → object files, each rebuilt only when its inputs have changed |
//! | | `bounds_checks` | program → the same program with array accesses checked |
//! | | `ends` | program → the same program, which never ends the process; `support` has the routines that it and `bounds_checks` call |
//! | | `locals` | program → the same program, without static variables in derivatives that threads would share |
//! | | `instances` | program → the same program, with COMMON and saved variables passed to each call, if the settings ask for it |
//! | | `assemble` | program → the Fortran that is compiled |
//! | | `border` | exported subprogram → the `bind(C)` subroutine that Rust calls; `traps` makes it check floating-point exceptions |
//! | | `gfortran` | Fortran → object file, compiler messages → diagnostics; `flang` for the other compiler |
//! | | `memory` | makes objects with derivatives keep their memory between calls; the run-time library of programs for that |
//! | | `c_sources` | C → object files, and the procedures that they call |
//! | | `checkpoints` | program → the run-time library that writes checkpoints to files, if it is needed |
//! | | `mpi` | settings → the MPI installation; the run-time library for derivatives of its calls |
//! | | `pass_through_objects` | pass-through Fortran → object files and module files |
//! | | `archive` | object files → static library |
//! | bindings | `bind` | program → `farfel_bindings.rs`, and the interfaces for C and Python; `facts`, `calls`, `names` and `rustdoc` determine their contents |
//! | all | `session`, `build` | all stages in order, for a program or a library |
//!
//! The other modules:
//!
//! | module | what |
//! |---|---|
//! | `views` | a program as users look at it: [`analysis`], [`copies`], [`graph`], [`intents`], [`side_by_side`], [`storage`]; `annotate` and `legible` help |
//! | [`mod@format`] | source files → the same files, reformatted |
//! | [`verify`], `derivative_checks` | programs that check their derivatives while they run, and the results |
//! | [`render`], [`messages`], [`sarif`], `error`, `report` | diagnostics and errors → text, or data |
//! | [`script`] | a build script's request → its answer |
//! | [`cache`], `tool_answers`, `codec`, `identity` | results of earlier builds; the identities of tools |
//! | [`link`], [`debian`] | libraries that the settings name, and the packages that contain them |
//! | `process`, [`toolchain`], `files` | external programs with limits; gfortran; files |
//! | `workers`, [`timings`], [`progress`] | parallel tasks, when they ran, and how far the build is |
//! | `passes`, `stage` | verification of passes; the stages that `farfel expand` shows |
//!
//! **Invariant:** this crate owns every process and every file; `farfel-lang`, `farfel-ad` and `farfel-tools`
//! start no process and open no file.

// Whatever the user does, the result must be a message and not a panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod ad;
pub mod analysis;
mod annotate;
mod archive;
mod assemble;
mod bind;
mod border;
mod bounds_checks;
mod build;
mod c_sources;
pub mod cache;
mod calls;
mod checkpoints;
mod codec;
mod config;
pub mod copies;
pub mod debian;
mod derivative_checks;
mod derive;
mod ends;
mod error;
mod facts;
mod files;
mod flang;
pub mod format;
mod gfortran;
pub mod graph;
mod identity;
mod instances;
pub mod intents;
mod legible;
mod library;
pub mod link;
mod locals;
mod lowered;
mod memory;
pub mod messages;
mod mpi;
mod names;
mod parse;
mod partitions;
mod pass_through;
mod pass_through_objects;
mod passes;
mod plan;
mod preprocess;
mod process;
pub mod progress;
mod reach;
mod read;
pub mod render;
mod report;
mod rustdoc;
pub mod sarif;
pub mod script;
mod session;
pub mod side_by_side;
mod sources;
mod stage;
mod staged;
pub mod storage;
mod support;
pub mod timings;
mod tool_answers;
pub mod toolchain;
pub mod tools;
mod traps;
pub mod verify;
mod views;
mod workers;

pub use bind::CInterface;
pub use build::{Built, BuiltProgram, Link};
pub use config::{CacheSettings, Config, Library, ToolSettings, Trap};
pub use derive::DerivedSubprogram;
pub use error::Error;
pub use farfel_lang::diagnostic::Level;
pub use gfortran::Profile;
pub use pass_through::passed_through;
pub use passes::{REPORT, VERIFY_PASSES, internal_error, verifies_passes, verify_passes};
pub use report::Report;
pub use session::{Session, main_programs};
pub use sources::{
    c_source_files, is_c_source_name, is_source_name, read_file, source_files, test_files,
};
pub use stage::{ExpandStage, UnknownStage};
