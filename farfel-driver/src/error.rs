//! The errors of a build.

use crate::render::plain;
use crate::report::Report;
use crate::stage::ExpandStage;
use std::path::PathBuf;

/// The reason why a library or program could not be built or inspected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The sources contain errors; the report holds all of them.
    #[error("{}", crate::render::headline(.0))]
    Diagnostics(Report),

    /// The settings in `Cargo.toml`, the environment or the builder are wrong.
    #[error("{origin}: {message}")]
    Config {
        /// The origin of the setting: `Cargo.toml` or the name of an environment variable.
        origin: String,
        /// What is wrong with it, and which values are allowed.
        message: String,
    },

    /// There is no AD tool with this name.
    #[error("unknown AD tool `{0}`; use `builtin`, `tapenade` or `adifor`")]
    AdTool(String),

    /// An AD tool that runs as an external program is not installed.
    #[error("{tool} was not found: looked in {}; {help}", looked_in.join(", "))]
    ToolNotFound {
        /// The tool's name.
        tool: &'static str,
        /// The places searched, in order, each with the reason why the tool was not found there.
        looked_in: Vec<String>,
        /// How to install it, and what is available without it.
        help: &'static str,
    },

    /// An AD tool is installed but does not work.
    #[error("{tool} at {} does not work: {reason}", program.display())]
    ToolBroken {
        /// The tool's name.
        tool: &'static str,
        /// The tool's executable.
        program: PathBuf,
        /// What went wrong.
        reason: String,
    },

    /// `exports` names a subprogram that cannot be called from Rust or does not exist.
    #[error("cannot export {name}: {reason}")]
    Export {
        /// The subprogram as named in the settings.
        name: String,
        /// Why it cannot be exported.
        reason: String,
    },

    /// The state of a library cannot belong to instances, as the setting `instance` asks.
    #[error("`instance = \"{name}\"` cannot be, because of {unit}: {reason}")]
    Instance {
        /// The name of the type in the settings.
        name: String,
        /// The subprogram that prevents it.
        unit: String,
        /// What the problem with the subprogram is.
        reason: String,
    },

    /// The program has no subprogram with this name after the given stage.
    #[error(
        "there is no subprogram {name} after the stage `{stage}`{}",
        and_those(copies)
    )]
    NoSubprogram {
        /// The name.
        name: String,
        /// The stage.
        stage: ExpandStage,
        /// The names of the copies that were made of a subprogram with this name.
        copies: Vec<String>,
    },

    /// The files contain no main program, so there is nothing to run.
    #[error(
        "there is no main program: no PROGRAM statement, and no statements outside of subprograms"
    )]
    NoMainProgram,

    /// No file defines these procedures, which are declared EXTERNAL.
    #[error(
        "no file defines {}; if a library does, name it by the setting `link`: `link = [\"lapack\", \"blas\"]`",
        .0.join(", ")
    )]
    Undefined(Vec<String>),

    /// Procedures are defined in files that the settings exclude.
    #[error(
        "{} {} in {}, which the setting `exclude` leaves out: build it again without that to see what is wrong there",
        names.join(", "),
        if names.len() == 1 { "is" } else { "are" },
        files.join(", ")
    )]
    LeftOut {
        /// The procedures.
        names: Vec<String>,
        /// The files.
        files: Vec<String>,
    },

    /// The libraries named in the settings were not found.
    #[error(
        "neither the linker nor pkg-config finds {}, which the setting `link` names; {}",
        libraries(.0),
        how_to_get(.0)
    )]
    NoLibrary(Vec<String>),

    /// A source file cannot be reformatted.
    #[error("{name} is left as it is: {reason}")]
    Format {
        /// The file.
        name: String,
        /// The reason.
        reason: String,
    },

    /// No Fortran compiler was found.
    #[error(
        "no Fortran compiler found: looked for {}; {help}",
        looked_for.join(", ")
    )]
    NoFortranCompiler {
        /// The commands that were tried, in order.
        looked_for: Vec<String>,
        /// How to install one on this system.
        help: String,
    },

    /// There are C sources and no C compiler for the target.
    #[error("no C compiler for the C sources: {0}; the variable CC can name one")]
    CCompiler(String),

    /// Installing the Fortran compiler failed.
    #[error("gfortran was not installed: {0}")]
    Install(String),

    /// A command could not be started, or failed for a reason that has nothing to do with the sources.
    #[error("{command}: {reason}")]
    Command {
        /// The command with its arguments.
        command: String,
        /// Its error message.
        reason: String,
    },

    /// A file or directory could not be read or written.
    #[error("{}: {source}", plain(&path.to_string_lossy()))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error from the operating system.
        source: std::io::Error,
    },

    /// `compile()` was called outside a build script.
    #[error("{0} is not set: farfel_build::compile() is for build.rs, where cargo sets it")]
    NotABuildScript(&'static str),

    /// The request from a build script cannot be parsed.
    #[error("the request of the build script cannot be read: {0}")]
    Request(String),
}

/// Lists the existing copies, to be appended to the message that a subprogram does not exist.
fn and_those(copies: &[String]) -> String {
    match copies {
        [] => String::new(),
        copies => format!("; there are {}", copies.join(", ")),
    }
}

impl Error {
    /// Returns the exit code for this error: 1 if the user can fix it (the sources, the settings, the
    /// machine), 2 if Farfel itself or a tool misbehaved.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Diagnostics(_)
            | Error::Config { .. }
            | Error::AdTool(_)
            | Error::ToolNotFound { .. }
            | Error::ToolBroken { .. }
            | Error::Export { .. }
            | Error::Instance { .. }
            | Error::NoMainProgram
            | Error::NoSubprogram { .. }
            | Error::Format { .. }
            | Error::Undefined(_)
            | Error::LeftOut { .. }
            | Error::NoLibrary(_)
            | Error::NoFortranCompiler { .. }
            | Error::CCompiler(_)
            | Error::Install(_)
            | Error::Io { .. }
            | Error::NotABuildScript(_) => 1,
            Error::Command { .. } | Error::Request(_) => 2,
        }
    }

    /// Converts an I/O error to an [`Error`] about the given path, for use in `map_err`.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io { path, source }
    }
}

fn libraries(names: &[String]) -> String {
    let what = if names.len() == 1 {
        "the library"
    } else {
        "the libraries"
    };
    format!("{what} {}", names.join(", "))
}

/// Says how to install the given libraries.
fn how_to_get(names: &[String]) -> String {
    let packages = names.iter().filter_map(|n| crate::debian::package_of(n));
    let packages: Vec<&str> = packages.collect();
    match packages.len() == names.len() {
        true => format!(
            "`farfel doctor --fix` installs what Debian calls {}",
            packages.join(", ")
        ),
        false => "install what has it, or name its folder: `flags = [\"-L/opt/lib\"]`".into(),
    }
}
