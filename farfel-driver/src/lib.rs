//! Builds programs and libraries in Farfel and Fortran: from settings and sources to object files and
//! bindings.
//!
//! A [`Session`] has the settings and leads through the stages; [`Session::build_library`] is what a
//! build script does, by way of `farfel-build`, and [`Session::build_program`] what `farfel run` does.
//!
//! # The way of the data
//!
//! | stage | module | from → to |
//! |---|---|---|
//! | settings | `config` | `Cargo.toml`, environment, calls → [`Config`] |
//! | | `library` | what cargo says of dependencies → their sources and settings |
//! | read | `sources` | directories → files and their text |
//! | | `pass_through` | files → those that gfortran gets as they are, with their modules |
//! | | `preprocess` | text with lines for a preprocessor → text with line markers |
//! | | `parse` | texts → programs, side by side |
//! | | `derive` | subprograms and settings → subprograms that compute their derivatives |
//! | | `reach` | files of a program → those that it reaches, where several define one subprogram |
//! | | `read` | programs → one, with its libraries, names resolved |
//! | staged | `staged` | program → lowered program, and the derivatives that it asks for |
//! | | `lowered` | the same of a library, with what Rust can call |
//! | | `partitions` | a large library → parts that know nothing of each other, each redone only when it has changed |
//! | derivatives | `ad` | settings → the AD tool, with its runs remembered |
//! | | [`tools`] | settings → an AD tool that is a program of its own |
//! | objects | `plan` | staged program → object files, each made only when what it reads has changed |
//! | | `guard` | program → the same, which does not leave its arrays |
//! | | `ends` | program → the same, which does not end the process; `support` has what it and `guard` call |
//! | | `locals` | program → the same, whose derivatives have no static arrays that threads would share |
//! | | `instances` | program → the same, whose COMMON and saved variables each call gets, where the settings ask for it |
//! | | `assemble` | program → the Fortran that is compiled |
//! | | `border` | exported subprogram → the `bind(C)` subroutine that Rust calls; `traps` has it look at floating-point exceptions |
//! | | `gfortran` | Fortran → object file, messages → diagnostics |
//! | | `c_sources` | C → object files, and what they call |
//! | | `passed` | Fortran that gfortran gets as it is → object files and module files |
//! | | `archive` | object files → static library |
//! | bindings | `bind` | program → `farfel_bindings.rs`; `facts`, `calls`, `names` and `rustdoc` say what must be in it |
//! | all of it | `session`, `build` | the stages in order; a program, a library |
//!
//! Besides:
//!
//! | module | what |
//! |---|---|
//! | `views` | a program for people: [`analysis`], [`copies`], [`graph`], [`intents`], [`side_by_side`], [`storage`]; `annotate` and `legible` help |
//! | [`mod@format`] | source files → the same, laid out anew |
//! | [`verify`], `checks` | programs that check their derivatives while they run, and what they found |
//! | [`render`], [`messages`], [`sarif`], `error`, `report` | faults → text; the same as data |
//! | [`script`] | a request of a build script → what it asks for |
//! | [`cache`], `remember`, `codec`, `identity` | what earlier builds have made; what tools say of themselves |
//! | [`link`], [`debian`] | libraries that the settings name, and the packages that have them |
//! | `process`, [`toolchain`], `files` | other programs within limits; gfortran; files |
//! | `workers`, [`timings`], [`progress`] | what runs side by side, when it ran, and how far it is |
//! | `passes`, `stage` | verifying passes; the stages that `farfel expand` shows |
//!
//! **Invariant:** this crate owns every process and every file; `farfel-lang`,
//! `farfel-ad` and `farfel-tools` start and open none.

// Whatever users do, they get a message.
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
mod build;
mod c_sources;
pub mod cache;
mod calls;
mod checks;
mod codec;
mod config;
pub mod copies;
pub mod debian;
mod derive;
mod ends;
mod error;
mod facts;
mod files;
pub mod format;
mod gfortran;
pub mod graph;
mod guard;
mod identity;
mod instances;
pub mod intents;
mod legible;
mod library;
pub mod link;
mod locals;
mod lowered;
pub mod messages;
mod names;
mod parse;
mod partitions;
mod pass_through;
mod passed;
mod passes;
mod plan;
mod preprocess;
mod process;
pub mod progress;
mod reach;
mod read;
mod remember;
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
pub mod toolchain;
pub mod tools;
mod traps;
pub mod verify;
mod views;
mod workers;

pub use build::{Built, BuiltProgram, Link};
pub use config::{CacheSettings, Config, Library, ToolSettings, Trap};
pub use derive::Derived;
pub use error::Error;
pub use farfel_lang::diagnostic::Level;
pub use gfortran::Profile;
pub use pass_through::passed_through;
pub use passes::{REPORT, VERIFY_PASSES, fault_of_farfel, verifies_passes, verify_passes};
pub use report::Report;
pub use session::{Session, main_programs};
pub use sources::{
    c_source_files, is_c_source_name, is_source_name, read_file, source_files, test_files,
};
pub use stage::{ExpandStage, UnknownStage};
