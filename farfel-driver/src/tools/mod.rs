//! Finds and runs external AD tools.
//!
//! A tool is looked for at the place given in the settings, then at the one given in the environment, then in
//! `PATH`. If the settings name a place and the tool is not there, nothing else is used instead. The tool is
//! asked once for its name and version, which are then remembered, see `version`.

mod runner;
mod version;

pub use farfel_tools::external::{Job, RunError, RunResult, Runner};
pub use runner::ToolRunner;

use crate::config::ToolSettings;
use crate::{Config, Error};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A tool that was found and responds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledTool {
    /// The absolute path of the executable.
    pub program: PathBuf,
    /// The directory of its installation, if known.
    pub home: Option<PathBuf>,
    /// The tool's own name and version: the first line of its output.
    pub version: String,
    /// The directory with the run-time support of its adjoints (`ADFirstAidKit`), if it has one.
    pub kit: Option<PathBuf>,
}

/// How to look for a tool.
struct Tool {
    /// Its name for people.
    name: &'static str,
    /// The name of its table in the settings.
    setting: &'static str,
    /// The environment variable with its home directory.
    variable: &'static str,
    /// The names of its executable, in order of preference.
    programs: &'static [&'static str],
    /// How to install it.
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

/// Finds Tapenade through `tapenade.home` in the settings, `TAPENADE_HOME`, or `PATH`, in this order.
///
/// # Errors
///
/// [`Error::ToolNotFound`] with the places searched; [`Error::ToolBroken`] if it does not respond, for
/// example because there is no Java.
pub fn tapenade(config: &Config) -> Result<InstalledTool, Error> {
    find(&TAPENADE, &config.tapenade, config)
}

/// Finds ADIFOR 2 through `adifor.home` in the settings, `AD_HOME`, or `PATH`, in this order.
///
/// # Errors
///
/// [`Error::ToolNotFound`] with the places searched; [`Error::ToolBroken`] if it cannot be started.
pub fn adifor(config: &Config) -> Result<InstalledTool, Error> {
    find(&ADIFOR, &config.adifor, config)
}

/// Finds the Java on which Tapenade would run: in `JAVA_HOME`, else in `PATH`. As with Tapenade, there is no
/// fallback if `JAVA_HOME` is set but has no Java.
///
/// # Errors
///
/// A description of the place searched.
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

fn find(tool: &Tool, settings: &ToolSettings, config: &Config) -> Result<InstalledTool, Error> {
    let (program, home) = locate(
        tool,
        settings,
        config,
        set(tool.variable),
        env::var_os("PATH"),
    )
    .map_err(|looked_in| Error::ToolNotFound {
        tool: tool.name,
        looked_in,
        help: tool.help,
    })?;
    let version = version::query_cached(tool, &program, home.as_deref(), config)?;
    let kit = home
        .as_deref()
        .map(|h| h.join("ADFirstAidKit"))
        .filter(|k| k.is_dir());
    Ok(InstalledTool {
        program,
        home,
        version,
        kit,
    })
}

/// Returns the executable and its home directory, or the places searched.
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
    let mut looked_in = Vec::new();
    if let Some(home) = &settings.home {
        let home = absolute(config.root.join(home));
        let place = format!("the setting `{}.home`", tool.setting);
        return in_home(&home).ok_or_else(|| vec![why_not(tool, &place, &home)]);
    }
    match variable {
        Some(home) => {
            let home = absolute(PathBuf::from(home));
            if let Some(found) = in_home(&home) {
                return Ok(found);
            }
            looked_in.push(why_not(tool, tool.variable, &home));
        }
        None => looked_in.push(format!("{} (not set)", tool.variable)),
    }
    let path = path.unwrap_or_default();
    for name in tool.programs {
        let found = which::which_in_global(name, Some(&path))
            .ok()
            .and_then(|mut all| all.find(|p| p.is_absolute()));
        if let Some(program) = found {
            // The command may be a link into the installation.
            let home = program
                .canonicalize()
                .ok()
                .and_then(|p| Some(p.parent()?.parent()?.to_owned()))
                .filter(|h| h.join("ADFirstAidKit").is_dir());
            return Ok((program, home));
        }
    }
    looked_in.push(format!("PATH (no {})", tool.programs.join(", ")));
    Err(looked_in)
}

/// Says what is wrong with a home directory.
fn why_not(tool: &Tool, place: &str, home: &Path) -> String {
    let bin = home.join("bin");
    let why = if !home.is_dir() {
        "no such directory".to_owned()
    } else if let Some(program) = tool.programs.iter().find(|p| bin.join(p).is_file()) {
        format!("bin/{program} is not executable")
    } else {
        format!("no bin/{}", tool.programs[0])
    };
    format!("{place} ({}: {why})", home.display())
}

/// Returns the executable at a path, with the extension that the system requires.
fn executable(path: &Path) -> Option<PathBuf> {
    which::which(path).ok()
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn program(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Returns what is found through a setting, a variable and a path below a directory; the directory is
    /// shown as `D`.
    fn look(
        dir: &Path,
        tool: &Tool,
        home: Option<&str>,
        variable: Option<&str>,
        path: &[&str],
    ) -> Result<String, String> {
        let config = Config {
            root: dir.to_owned(),
            ..Config::default()
        };
        let settings = ToolSettings {
            home: home.map(PathBuf::from),
            ..ToolSettings::default()
        };
        let variable = variable.map(|v| dir.join(v).into_os_string());
        let path = env::join_paths(path.iter().map(|p| dir.join(p))).unwrap();
        let named = |text: String| text.replace(dir.to_str().unwrap(), "D");
        locate(tool, &settings, &config, variable, Some(path))
            .map(|(program, home)| {
                let home = home.map(|h| h.display().to_string()).unwrap_or_default();
                named(format!("{} of {home}", program.display()))
            })
            .map_err(|l| named(l.join(", ")))
    }

    #[test]
    fn setting_then_variable_then_path() {
        let dir = tempfile::tempdir().unwrap();
        let d = &dir.path().canonicalize().unwrap();
        for name in ["one", "two", "three"] {
            program(&d.join(name).join("bin/tapenade"), 0o755);
        }
        fs::create_dir(d.join("three/ADFirstAidKit")).unwrap();
        fs::create_dir(d.join("links")).unwrap();
        std::os::unix::fs::symlink(d.join("three/bin/tapenade"), d.join("links/tapenade")).unwrap();
        let look = |home, variable, path: &[&str]| look(d, &TAPENADE, home, variable, path);
        let (one, two) = (Some("one"), Some("two"));
        assert_eq!(
            look(one, two, &["three/bin"]).unwrap(),
            "D/one/bin/tapenade of D/one"
        );
        assert_eq!(
            look(None, two, &["three/bin"]).unwrap(),
            "D/two/bin/tapenade of D/two"
        );
        assert_eq!(
            look(None, None, &["no", "three/bin"]).unwrap(),
            "D/three/bin/tapenade of D/three"
        );
        // A link leads to the installation; without the kit the home is unknown.
        assert_eq!(
            look(None, None, &["links"]).unwrap(),
            "D/links/tapenade of D/three"
        );
        assert_eq!(
            look(None, None, &["one/bin"]).unwrap(),
            "D/one/bin/tapenade of "
        );
        // A variable that leads nowhere does not hide the command.
        assert_eq!(
            look(None, Some("no"), &["one/bin"]).unwrap(),
            "D/one/bin/tapenade of "
        );
    }

    #[test]
    fn what_was_looked_for() {
        let dir = tempfile::tempdir().unwrap();
        let d = dir.path();
        program(&d.join("here/bin/tapenade"), 0o755);
        program(&d.join("plain/bin/tapenade"), 0o644);
        fs::create_dir(d.join("empty")).unwrap();
        let look = |tool, home, variable, path: &[&str]| look(d, tool, home, variable, path);
        // There is no fallback for a place that is set but missing.
        assert_eq!(
            look(&TAPENADE, Some("no"), Some("here"), &["here/bin"]).unwrap_err(),
            "the setting `tapenade.home` (D/no: no such directory)"
        );
        assert_eq!(
            look(&TAPENADE, None, Some("plain"), &["plain/bin"]).unwrap_err(),
            "TAPENADE_HOME (D/plain: bin/tapenade is not executable), PATH (no tapenade)"
        );
        assert_eq!(
            look(&ADIFOR, None, Some("empty"), &[]).unwrap_err(),
            "AD_HOME (D/empty: no bin/Adifor2.1), \
             PATH (no Adifor2.1, Adifor2.0, Adifor, adifor2.1, adifor2.0, adifor)"
        );
        assert_eq!(
            look(&TAPENADE, None, None, &[]).unwrap_err(),
            "TAPENADE_HOME (not set), PATH (no tapenade)"
        );
    }

    #[test]
    fn the_names_of_adifor() {
        let dir = tempfile::tempdir().unwrap();
        let d = &dir.path().canonicalize().unwrap();
        program(&d.join("bin/adifor"), 0o755);
        let found = |d| look(d, &ADIFOR, None, None, &["bin"]).unwrap();
        assert_eq!(found(d), "D/bin/adifor of ");
        program(&d.join("bin/Adifor2.1"), 0o755);
        assert_eq!(found(d), "D/bin/Adifor2.1 of ");
        let in_home = look(d, &ADIFOR, Some("."), None, &[]).unwrap();
        assert!(in_home.starts_with("D/./bin/Adifor2.1") || in_home.starts_with("D/bin/Adifor2.1"));
    }
}
