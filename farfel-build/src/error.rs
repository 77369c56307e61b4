//! The errors of a build.

use crate::diagnostic::Diagnostic;
use std::fmt;
use std::path::PathBuf;

/// The reason why a build failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The sources, the settings or the machine do not permit a build.
    Build {
        /// The first reason, on one line.
        headline: String,
        /// Further text for people; may be empty.
        text: String,
        /// The errors and warnings in the sources.
        diagnostics: Vec<Diagnostic>,
    },
    /// There is no `farfel` command, and the compiler is not bundled.
    NoCommand {
        /// The places where the command was looked for.
        looked_in: Vec<String>,
    },
    /// The command's version differs from this crate's.
    WrongVersion {
        /// The command.
        command: PathBuf,
        /// Its version, if it reports one.
        version: Option<String>,
    },
    /// The command could not be started, or ended without an answer.
    Command {
        /// The command.
        command: PathBuf,
        /// What happened.
        reason: String,
    },
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Build { headline, .. } => f.write_str(headline),
            Error::NoCommand { looked_in } => write!(
                f,
                "the farfel command was not found ({}); install it with `{}`, or have the compiler \
                 compiled into the build script: `{}` in Cargo.toml",
                looked_in.join(", "),
                install(),
                bundled()
            ),
            Error::WrongVersion { command, version } => {
                let version = version.as_deref().unwrap_or("of another version");
                write!(
                    f,
                    "{} is farfel {version}, and this package uses farfel-build {VERSION}; install the same \
                     version with `{}`, or name another command by the variable FARFEL",
                    command.display(),
                    install()
                )
            }
            Error::Command { command, reason } => write!(f, "{}: {reason}", command.display()),
        }
    }
}

impl std::error::Error for Error {}

/// Returns the command that installs this version of `farfel`: from the sources beside this crate, if there
/// are any.
fn install() -> String {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../farfel-cli");
    match std::fs::canonicalize(beside) {
        Ok(path) => format!("cargo install --path {}", path.display()),
        Err(_) => {
            format!("cargo install farfel-cli@{VERSION}` or `cargo binstall farfel-cli@{VERSION}")
        }
    }
}

/// Returns the dependency that bundles the compiler.
fn bundled() -> String {
    "farfel-build = { …, features = [\"bundled\"] }".into()
}
