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
//! # What is in OUT_DIR
//!
//! | file | what |
//! |---|---|
//! | `farfel_bindings.rs` | the Rust functions |
//! | `lib….a` | the static library |
//! | `farfel/*.f` | the Fortran of each object file, with line markers |
//! | `farfel/*.o` | the object files |
//! | `farfel.state` | what they and the library were made from, their hashes, and what was said |
//! | `farfel.partitions` | what is known of the parts of a large library, so that what has not changed is not read again |
//! | `farfel-timings.json` | what ran when in the last run of the build script: [`timings`] |
//!
//! **Invariant:** a door for build scripts, and no more: [`Build`] collects settings, [`farfel_driver`]
//! builds, and what it says becomes lines for cargo.

// Whatever users do, they get a message.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]
// The examples show whole build scripts.
#![allow(clippy::needless_doctest_main)]

#[cfg(doc)]
pub mod gallery;
mod script;

pub use farfel_driver::{CacheSettings, Config, Error, Level, Library, Report, ToolSettings};
pub use farfel_driver::{render, timings};
pub use farfel_lang::syntax::Form;
pub use script::{Build, Built, compile, try_compile};
