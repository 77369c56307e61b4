//! Errors of commands, with their exit codes.

use std::path::Path;

use crate::shell::Shell;

/// An error that the user can fix: in the code or the settings, a file that cannot be read or written, a
/// missing compiler.
pub const EXIT_ERRORS: u8 = 1;
/// An invalid command line, or an internal failure.
pub const EXIT_INVALID: u8 = 2;

/// The reason why a command fails.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error from the compiler or the build.
    #[error(transparent)]
    Build(#[from] farfel_driver::Error),
    /// The command cannot do what was asked.
    #[error("{message}")]
    Message {
        /// The error, in one sentence without a full stop.
        message: String,
        /// What to do about it, if known.
        help: Option<String>,
        /// The exit code.
        code: u8,
    },
    /// The error has already been reported; end with this code.
    #[error("exit code {0}")]
    Exit(u8),
}

/// The result of a command. The exit code after success is not always 0, since `run` and `test` return that
/// of the user's program.
pub type Result<T = ()> = std::result::Result<T, Error>;

impl Error {
    /// Returns the error for an impossible request, because of `message`.
    pub fn invalid(message: impl Into<String>) -> Self {
        Error::Message {
            message: message.into(),
            help: None,
            code: EXIT_INVALID,
        }
    }

    /// Returns an error that the user can fix.
    pub fn fixable(message: impl Into<String>) -> Self {
        Error::Message {
            message: message.into(),
            help: None,
            code: EXIT_ERRORS,
        }
    }

    /// Returns the error that the command cannot `verb` the file at `path`.
    pub fn io(verb: &str, path: &Path, source: &std::io::Error) -> Self {
        Error::fixable(format!(
            "cannot {verb} `{}`: {}",
            path.display(),
            reason(source)
        ))
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        match self {
            Error::Message { message, code, .. } => Error::Message {
                message,
                help: Some(help.into()),
                code,
            },
            other => other,
        }
    }

    /// Reports the error to the user, unless it has already been reported.
    pub fn show(&self, shell: &mut Shell) {
        match self {
            Error::Build(farfel_driver::Error::Diagnostics(report)) => {
                shell.report(report);
            }
            Error::Build(farfel_driver::Error::Io { path, source }) => {
                Error::io("read or write", path, source).show(shell);
            }
            Error::Build(error) => shell.error(error, None),
            Error::Message { message, help, .. } => shell.error(message, help.as_deref()),
            Error::Exit(_) => {}
        }
    }

    /// Returns the exit code of the command.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Build(error) => error.exit_code(),
            Error::Message { code, .. } => *code,
            Error::Exit(code) => *code,
        }
    }
}

/// Returns the operating system's reason in words, without the number that Rust appends.
fn reason(source: &std::io::Error) -> String {
    let text = source.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}
