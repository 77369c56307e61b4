//! How a command fails, and with which exit code.

use std::path::Path;

use crate::shell::Shell;

/// The user can mend it: faults in the code or the settings, files that cannot be read or
/// written, a missing compiler.
pub const EXIT_FAULTS: u8 = 1;
/// The command line asks for what cannot be done, or farfel itself could not work.
pub const EXIT_CANNOT: u8 = 2;

/// Why a command ends without success.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What the compiler or the build found.
    #[error(transparent)]
    Build(#[from] farfel_driver::Error),
    /// The command cannot do what was asked.
    #[error("{message}")]
    Cannot {
        /// What is wrong, in one sentence without full stop.
        message: String,
        /// What to do about it, where that is known.
        help: Option<String>,
        /// The exit code.
        code: u8,
    },
    /// Something else has said what is wrong; end with this code.
    #[error("exit code {0}")]
    Exit(u8),
}

/// What a command returns: the exit code of a success is not always 0, since `run` and
/// `test` hand on that of the user's program.
pub type Result<T = ()> = std::result::Result<T, Error>;

impl Error {
    /// The command line asks for what cannot be done, because of `message`.
    pub fn cannot(message: impl Into<String>) -> Self {
        Error::Cannot {
            message: message.into(),
            help: None,
            code: EXIT_CANNOT,
        }
    }

    /// Something on the disk is not as it must be.
    pub fn fault(message: impl Into<String>) -> Self {
        Error::Cannot {
            message: message.into(),
            help: None,
            code: EXIT_FAULTS,
        }
    }

    /// The command cannot `verb` what is at `path`.
    pub fn io(verb: &str, path: &Path, source: &std::io::Error) -> Self {
        Error::fault(format!(
            "cannot {verb} `{}`: {}",
            path.display(),
            reason(source)
        ))
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        match self {
            Error::Cannot { message, code, .. } => Error::Cannot {
                message,
                help: Some(help.into()),
                code,
            },
            other => other,
        }
    }

    /// Tells the user, once.
    pub fn show(&self, shell: &mut Shell) {
        match self {
            Error::Build(farfel_driver::Error::Diagnostics(report)) => {
                shell.report(report);
            }
            Error::Build(farfel_driver::Error::Io { path, source }) => {
                Error::io("read or write", path, source).show(shell);
            }
            Error::Build(error) => shell.error(error, None),
            Error::Cannot { message, help, .. } => shell.error(message, help.as_deref()),
            Error::Exit(_) => {}
        }
    }

    /// The exit code of the command.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Build(error) => error.exit_code(),
            Error::Cannot { code, .. } => *code,
            Error::Exit(code) => *code,
        }
    }
}

/// An operating system's reason in words, without the number that Rust appends.
fn reason(source: &std::io::Error) -> String {
    let text = source.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}
