//! AD tools that are programs of their own: finding them and running them.
//!
//! A tool is looked for where the settings say, then where the environment says, then in
//! `PATH`. Where the settings name a place and it is not there, nothing else is taken in its
//! stead. What a tool calls itself is asked once and remembered, see `version`.

mod runner;
mod version;

pub use farfel_ad::external::{Job, Ran, RunError, Runner};
pub use runner::ToolRunner;

use crate::config::ToolSettings;
use crate::{Config, Error};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A tool that was found and answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The program, with its whole path.
    pub program: PathBuf,
    /// The directory of its installation, where it is known.
    pub home: Option<PathBuf>,
    /// What it calls itself, the first line that it prints.
    pub version: String,
    /// The directory with the run-time support of its adjoints (`ADFirstAidKit`), where it
    /// has one.
    pub kit: Option<PathBuf>,
}

/// How a tool is looked for.
struct Tool {
    /// Its name for people.
    name: &'static str,
    /// The table of its settings.
    setting: &'static str,
    /// The variable with its home.
    variable: &'static str,
    /// What its program is called, the first choice first.
    programs: &'static [&'static str],
    /// How to get it.
    help: &'static str,
}

const TAPENADE: Tool = Tool {
    name: "Tapenade",
    setting: "tapenade",
    variable: "TAPENADE_HOME",
    programs: &["tapenade"],
    help: "get it from https://team.inria.fr/ecuador/en/tapenade/ and set TAPENADE_HOME, \
           `tapenade.home` in [package.metadata.farfel] or PATH; or take the built-in engine \
           with `ad-tool = \"builtin\"`",
};

const ADIFOR: Tool = Tool {
    name: "ADIFOR",
    setting: "adifor",
    variable: "AD_HOME",
    programs: &[
        "Adifor2.1",
        "Adifor2.0",
        "Adifor",
        "adifor2.1",
        "adifor2.0",
        "adifor",
    ],
    help: "get it from https://www.mcs.anl.gov/research/projects/adifor/ and set AD_HOME, \
           `adifor.home` in [package.metadata.farfel] or PATH; or take the built-in engine \
           with `ad-tool = \"builtin\"`",
};

/// Finds Tapenade: `tapenade.home` of the settings, `TAPENADE_HOME`, `PATH`, in this order.
///
/// # Errors
///
/// [`Error::ToolNotFound`] with what was looked for; [`Error::ToolBroken`] when it does not
/// answer, because there is no Java, say.
pub fn tapenade(config: &Config) -> Result<Found, Error> {
    find(&TAPENADE, &config.tapenade, config)
}

/// Finds ADIFOR 2: `adifor.home` of the settings, `AD_HOME`, `PATH`, in this order.
///
/// # Errors
///
/// [`Error::ToolNotFound`] with what was looked for; [`Error::ToolBroken`] when it cannot be
/// started.
pub fn adifor(config: &Config) -> Result<Found, Error> {
    find(&ADIFOR, &config.adifor, config)
}

/// Where the Java is that Tapenade would run on: in `JAVA_HOME`, else in `PATH`. As Tapenade
/// has it, one that `JAVA_HOME` names and that is not there is not replaced.
///
/// # Errors
///
/// What was looked for.
pub fn java() -> Result<PathBuf, String> {
    match set("JAVA_HOME") {
        Some(home) => {
            let program = PathBuf::from(home).join("bin").join("java");
            which::which(&program)
                .map_err(|_| format!("JAVA_HOME is set, but there is no {}", program.display()))
        }
        None => which::which("java").map_err(|_| "java is not in PATH".into()),
    }
}

fn set(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|v| !v.is_empty())
}

fn find(tool: &Tool, settings: &ToolSettings, config: &Config) -> Result<Found, Error> {
    let (program, home) = locate(
        tool,
        settings,
        config,
        set(tool.variable),
        env::var_os("PATH"),
    )
    .map_err(|looked_for| Error::ToolNotFound {
        tool: tool.name,
        looked_for,
        help: tool.help,
    })?;
    let version = version::ask(tool, &program, home.as_deref(), config)?;
    let kit = home
        .as_deref()
        .map(|h| h.join("ADFirstAidKit"))
        .filter(|k| k.is_dir());
    Ok(Found {
        program,
        home,
        version,
        kit,
    })
}

/// The program and its home, or the places where they were looked for.
fn locate(
    tool: &Tool,
    settings: &ToolSettings,
    config: &Config,
    variable: Option<OsString>,
    path: Option<OsString>,
) -> Result<(PathBuf, Option<PathBuf>), Vec<String>> {
    let in_home = |home: &Path| {
        let bin = home.join("bin");
        let found = tool.programs.iter().find_map(|p| executable(&bin.join(p)));
        found.map(|program| (program, Some(home.to_owned())))
    };
    let mut looked_for = Vec::new();
    if let Some(home) = &settings.home {
        let home = absolute(config.root.join(home));
        let place = format!("{}.home of the settings, {}", tool.setting, home.display());
        return in_home(&home).ok_or_else(|| vec![why_not(tool, &home, place)]);
    }
    match variable {
        Some(home) => {
            let home = absolute(PathBuf::from(home));
            if let Some(found) = in_home(&home) {
                return Ok(found);
            }
            let place = format!("{}, {}", tool.variable, home.display());
            looked_for.push(why_not(tool, &home, place));
        }
        None => looked_for.push(format!("{}, which is not set", tool.variable)),
    }
    let path = path.unwrap_or_default();
    for name in tool.programs {
        let found = which::which_in_global(name, Some(&path))
            .ok()
            .and_then(|mut all| all.find(|p| p.is_absolute()));
        if let Some(program) = found {
            // The command may be a link to the one in the installation.
            let home = program
                .canonicalize()
                .ok()
                .and_then(|p| Some(p.parent()?.parent()?.to_owned()))
                .filter(|h| h.join("ADFirstAidKit").is_dir());
            return Ok((program, home));
        }
    }
    looked_for.push(format!("{} in PATH", tool.programs.join(", ")));
    Err(looked_for)
}

/// What is wrong with a home.
fn why_not(tool: &Tool, home: &Path, place: String) -> String {
    let bin = home.join("bin");
    if !home.is_dir() {
        return format!("{place} (no such directory)");
    }
    match tool.programs.iter().find(|p| bin.join(p).is_file()) {
        Some(program) => format!("{place} (bin/{program} is not executable)"),
        None => format!("{place} (no bin/{})", tool.programs[0]),
    }
}

/// The program at a path, with the ending that the system wants.
fn executable(path: &Path) -> Option<PathBuf> {
    which::which(path).ok()
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}
