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
//! This compiles every `.ff`, `.f`, `.for`, `.f77`, `.f90`, `.f95`, `.f03` and `.f08` file under `src` and
//! `fortran` into one library, and `farfel_runtime::include_bindings!()` makes its subprograms available in
//! Rust. Settings are in `Cargo.toml`, under `[package.metadata.farfel]`; [`Build`] overrides them in
//! `build.rs`. For example programs in Farfel see [`gallery`].
//!
//! # How the compiler is found
//!
//! This crate is small: it runs the `farfel` command of the same version (`cargo install farfel-cli`), which
//! is looked for
//!
//! 1. at the path in the environment variable `FARFEL`,
//! 2. as `bin/farfel` in `CARGO_HOME` (`~/.cargo`),
//! 3. on `PATH`.
//!
//! With the feature `bundled` the compiler is compiled into the build script and nothing needs to be
//! installed, but the first build takes minutes. Even then, a command named by `FARFEL` is used if it has the
//! right version.
//!
//! ```toml
//! [build-dependencies]
//! farfel-build = { version = "0.1", features = ["bundled"] }
//! ```
//!
//! On docs.rs the command is not installed. A package that is documented there enables the feature:
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
//! A package with a `links` key in its `Cargo.toml` is a library: packages that depend on it can call its
//! subprograms from Farfel, and differentiate them. Its build script tells cargo where to find its
//! description, and cargo passes that on as `DEP_…_FARFEL_LIBRARY`.
//!
//! # Contents of OUT_DIR
//!
//! | file | contents |
//! |---|---|
//! | `farfel_bindings.rs` | the Rust functions; for a large library, the list of their files |
//! | `farfel_bindings/of_*.rs`, `raw_*.rs` | each function, and its form in the module `raw`; `shared.rs` has their locks |
//! | `lib….a` | the static library |
//! | `farfel/*.f` | the Fortran of each object file, with line markers |
//! | `farfel/*.o` | the object files |
//! | `farfel.state` | the inputs of the object files and the library, their hashes, and the diagnostics |
//! | `farfel.partitions` | what is known about the parts of a large library, so that unchanged parts need not be read again |
//! | `farfel-timings.json` | what ran when in the last run of the build script, as shown by `farfel build --timings` |
//!
//! **Invariant:** this crate is an interface for build scripts and nothing else: [`Build`] collects settings;
//! `command` has them built, by another process or by the bundled compiler; `answer` parses the result, each
//! `diagnostic` included; `error` has the errors, and `script` the functions that build scripts call. The
//! protocol is described in `farfel_driver::script`.

// Whatever the user does, the result must be a message and not a panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]
// The examples show complete build scripts.
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
