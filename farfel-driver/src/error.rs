//! What can go wrong in a build.

use crate::render::plain;
use crate::report::Report;
use crate::stage::ExpandStage;
use std::path::PathBuf;

/// Why there is no library or program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The sources have faults; the report holds all of them.
    #[error("{}", crate::render::headline(.0))]
    Diagnostics(Report),

    /// The settings in `Cargo.toml`, the environment or the builder are wrong.
    #[error("{origin}: {message}")]
    Config {
        /// Where the setting stands: `Cargo.toml` or the name of a variable.
        origin: String,
        /// What is wrong with it, and what it may be.
        message: String,
    },

    /// There is no AD tool of this name.
    #[error("unknown AD tool `{0}`; use `builtin`, `tapenade` or `adifor`")]
    AdTool(String),

    /// An AD tool that is a program of its own is not on this machine.
    #[error("{tool} was not found: looked in {}; {help}", looked_in.join(", "))]
    ToolNotFound {
        /// Its name.
        tool: &'static str,
        /// The places, in order, each with what is wrong there.
        looked_in: Vec<String>,
        /// How to get it, and what can be had without it.
        help: &'static str,
    },

    /// An AD tool is on this machine and does not work.
    #[error("{tool} at {} does not work: {reason}", program.display())]
    ToolBroken {
        /// Its name.
        tool: &'static str,
        /// Its program.
        program: PathBuf,
        /// What it did.
        reason: String,
    },

    /// `exports` names what cannot be called from Rust, or what does not exist.
    #[error("cannot export {name}: {reason}")]
    Export {
        /// The subprogram as named in the settings.
        name: String,
        /// Why not.
        reason: String,
    },

    /// The state of a library cannot belong to instances, as `instance` asks.
    #[error("`instance = \"{name}\"` cannot be, because of {unit}: {reason}")]
    Instance {
        /// What the settings call the type.
        name: String,
        /// The subprogram.
        unit: String,
        /// What is wrong with it.
        reason: String,
    },

    /// A stage of the compiler has no subprogram of this name.
    #[error(
        "there is no subprogram {name} after the stage `{stage}`{}",
        and_those(copies)
    )]
    NoSubprogram {
        /// The name.
        name: String,
        /// The stage.
        stage: ExpandStage,
        /// The names of what has been made of such a subprogram.
        copies: Vec<String>,
    },

    /// The files hold no main program, so there is nothing to run.
    #[error(
        "there is no main program: no PROGRAM statement, and no statements outside of subprograms"
    )]
    NoMainProgram,

    /// Procedures that are declared EXTERNAL are nowhere among the files.
    #[error(
        "no file defines {}; if a library does, name it by the setting `link`: `link = [\"lapack\", \"blas\"]`",
        .0.join(", ")
    )]
    Undefined(Vec<String>),

    /// Procedures are in files that the settings leave out.
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

    /// Libraries that the settings name are not there.
    #[error(
        "neither the linker nor pkg-config finds {}, which the setting `link` names; {}",
        libraries(.0),
        how_to_get(.0)
    )]
    NoLibrary(Vec<String>),

    /// A source file cannot be laid out anew.
    #[error("{name} is left as it is: {reason}")]
    Format {
        /// The file.
        name: String,
        /// Why.
        reason: String,
    },

    /// There is no Fortran compiler.
    #[error(
        "no Fortran compiler found: looked for {}; {help}",
        looked_for.join(", ")
    )]
    NoFortranCompiler {
        /// The commands that were tried, in order.
        looked_for: Vec<String>,
        /// How to get one on this system.
        help: String,
    },

    /// There are C sources and no C compiler for the target.
    #[error("no C compiler for the C sources: {0}; the variable CC can name one")]
    CCompiler(String),

    /// Installing the Fortran compiler failed.
    #[error("gfortran was not installed: {0}")]
    Install(String),

    /// A command could not be started, or failed in a way that says nothing about the
    /// sources.
    #[error("{command}: {reason}")]
    Command {
        /// The command with its arguments.
        command: String,
        /// What it said.
        reason: String,
    },

    /// A file or directory could not be read or written.
    #[error("{}: {source}", plain(&path.to_string_lossy()))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },

    /// `compile()` was called outside of a build script.
    #[error("{0} is not set: farfel_build::compile() is for build.rs, where cargo sets it")]
    NotABuildScript(&'static str),

    /// A build script asks for what cannot be understood.
    #[error("the request of the build script cannot be read: {0}")]
    Request(String),
}

/// Which copies there are, behind a message that what they are copies of is not there.
fn and_those(copies: &[String]) -> String {
    match copies {
        [] => String::new(),
        copies => format!("; there are {}", copies.join(", ")),
    }
}

impl Error {
    /// The exit code that a command ends with: 1 where the user can mend it (the sources,
    /// the settings, the machine), 2 where Farfel itself or a tool misbehaved.
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

    /// For `map_err`: an error of input or output with the path it is about.
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

/// How libraries get here.
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
