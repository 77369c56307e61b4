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
//! Every `.ff`, `.f`, `.for`, `.f77`, `.f90`, `.f95`, `.f03` and `.f08` file under `src` and `fortran` then is a part of one
//! library, and `farfel_runtime::include_bindings!()` brings its subprograms into Rust.
//! Settings are in `Cargo.toml`, under `[package.metadata.farfel]`; [`Build`] changes them in `build.rs`.
//! What programs in Farfel look like, [`gallery`] shows.
//!
//! # Where the compiler is
//!
//! This crate is small: it runs the `farfel` command of its own version (`cargo install farfel-cli`), which is
//! looked for
//!
//! 1. where the variable `FARFEL` says,
//! 2. as `bin/farfel` in `CARGO_HOME` (`~/.cargo`),
//! 3. on `PATH`.
//!
//! With the feature `bundled` the compiler is compiled into the build script, and nothing need be
//! installed; in return the first build takes minutes. A command that `FARFEL` names is used all the same if it
//! has the right version.
//!
//! ```toml
//! [build-dependencies]
//! farfel-build = { version = "0.1", features = ["bundled"] }
//! ```
//!
//! On docs.rs there is no command. A package that is documented there turns the feature on:
//!
//! ```toml
//! [features]
//! bundled = ["farfel-build/bundled"]
//!
//! [package.metadata.docs.rs]
//! features = ["bundled"]
//! ```
//!
//! # Libraries
//!
//! A package with a `links` key in its `Cargo.toml` is a library: packages that depend on it can
//! call its subprograms in Farfel, and differentiate them. Its build script says
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
//! | `farfel-timings.json` | what ran when in the last run of the build script: `farfel build --timings` shows it |
//!
//! **Invariant:** a door for build scripts, and no more: [`Build`] collects settings, `command` has them
//! built, by another process or by the compiler inside, and `answer` reads what that says, with each `diagnostic`; `error` is what can go wrong, and `script` what
//! build scripts call. The protocol is described in `farfel_driver::script`.

// Whatever users do, they get a message.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]
// The examples show whole build scripts.
#![allow(clippy::needless_doctest_main)]

mod answer;
mod command;
mod diagnostic;
mod error;
#[cfg(doc)]
pub mod gallery;
mod script;

pub use answer::Built;
pub use diagnostic::{Diagnostic, Severity};
pub use error::Error;
pub use script::{Build, Derivative, Form, Level, compile, try_compile};
pub use serde_json::Value;
