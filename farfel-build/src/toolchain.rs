//! The Fortran compiler: finding it, asking it, installing it.

use crate::process::{self, Limits};
use crate::{Config, Error};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Fortran compiler that was found and answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// The command.
    pub path: PathBuf,
    /// What it says to `-dumpfullversion`: `12.2.0`.
    pub version: String,
    /// The machine that it compiles for: `x86_64-linux-gnu`.
    pub machine: String,
}

/// Versions that may be installed only under a name with their number, newest first.
const VERSIONS: std::ops::RangeInclusive<u32> = 9..=17;

/// Finds gfortran: the one of the settings (`fc`, `FARFEL_FC`) if there is one, else the
/// first that works of `$FC`, `gfortran` for the target machine where cargo cross-compiles,
/// `gfortran`, and `gfortran-17` down to `gfortran-9`.
///
/// # Errors
///
/// [`Error::NoFortranCompiler`] with what was looked for.
pub fn find(config: &Config) -> Result<Compiler, Error> {
    let cross = match (std::env::var("TARGET"), std::env::var("HOST")) {
        (Ok(target), Ok(host)) if target != host => Some(target),
        _ => None,
    };
    let candidates = match &config.fc {
        Some(fc) => vec![fc.clone()],
        None => candidates(std::env::var_os("FC").map(PathBuf::from), cross.as_deref()),
    };
    let mut looked_for = Vec::new();
    for candidate in candidates {
        // A path is relative to the project, a bare name is looked up in PATH.
        let command = match candidate.components().count() {
            0 => continue,
            1 => candidate.clone(),
            _ => config.root.join(&candidate),
        };
        match which::which(&command).ok().and_then(|path| ask(&path)) {
            Some(compiler) => return Ok(compiler),
            None => looked_for.push(candidate.display().to_string()),
        }
    }
    Err(Error::NoFortranCompiler {
        looked_for,
        help: how_to_install(),
    })
}

/// Like [`find`]; where there is none and the settings say `install`, installs one first.
pub(crate) fn find_or_install(config: &Config) -> Result<Compiler, Error> {
    match find(config) {
        Err(Error::NoFortranCompiler { .. }) if config.install && config.fc.is_none() => {
            install(&mut |command| {
                // Said aloud even where standard error is closed to nobody's loss.
                let _ = writeln!(std::io::stderr(), "farfel: no gfortran; running {command}");
            })?;
            find(config)
        }
        other => other,
    }
}

fn candidates(fc: Option<PathBuf>, cross: Option<&str>) -> Vec<PathBuf> {
    fc.into_iter()
        .chain(cross.into_iter().flat_map(|target| {
            // `aarch64-unknown-linux-gnu` is `aarch64-linux-gnu` to GCC.
            [target.to_owned(), target.replace("-unknown-", "-")]
                .map(|t| PathBuf::from(format!("{t}-gfortran")))
        }))
        .chain([PathBuf::from("gfortran")])
        .chain(
            VERSIONS
                .rev()
                .map(|v| PathBuf::from(format!("gfortran-{v}"))),
        )
        .collect()
}

/// What a command says of itself, if it is gfortran.
fn ask(path: &Path) -> Option<Compiler> {
    let answer = |flag| {
        let output = process::run(command(path).arg(flag), &Limits::QUESTION).ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    let version = answer("-dumpfullversion")?;
    version
        .starts_with(|c: char| c.is_ascii_digit())
        .then_some(())?;
    let machine = answer("-dumpmachine")?;
    Some(Compiler {
        path: path.to_owned(),
        version,
        machine,
    })
}

/// A command whose messages are in English, so that they can be read.
fn command(path: &Path) -> Command {
    let mut command = Command::new(path);
    command.env("LC_ALL", "C");
    command
}

impl Compiler {
    /// What distinguishes it from other compilers. No path is in it.
    pub(crate) fn identity(&self, flags: &[String]) -> String {
        let mut identity = format!("{} {}", self.version, self.machine);
        if flags.iter().any(|f| f.ends_with("=native")) {
            // What that means depends on the machine.
            let mut command = self.command();
            command.args(flags).args(["-Q", "--help=target"]);
            if let Ok(output) = process::run(&mut command, &Limits::QUESTION) {
                identity.push('\n');
                identity.push_str(&String::from_utf8_lossy(&output.stdout));
            }
        }
        identity
    }

    /// A command that runs the compiler, with messages in English.
    pub fn command(&self) -> Command {
        command(&self.path)
    }

    /// What has to be linked to compiled Fortran: the directories to search and the
    /// libraries in order.
    pub fn runtime_libraries(&self) -> (Vec<PathBuf>, Vec<&'static str>) {
        let mut directories = Vec::new();
        let mut libraries = Vec::new();
        // libquadmath exists only on machines that need it for REAL*16.
        for (name, needed) in [("gfortran", true), ("quadmath", false), ("m", true)] {
            let directory = ["so", "dylib", "dll.a", "a"]
                .iter()
                .find_map(|end| self.library_directory(&format!("lib{name}.{end}")));
            if needed || directory.is_some() {
                libraries.push(name);
            }
            if let Some(d) = directory
                && !directories.contains(&d)
            {
                directories.push(d);
            }
        }
        (directories, libraries)
    }

    /// The directory of a library that the compiler brings along; `None` when there is no
    /// such file. Links are not followed: the file that a linker opens by its name is the
    /// link.
    fn library_directory(&self, file: &str) -> Option<PathBuf> {
        let mut command = self.command();
        command.arg(format!("-print-file-name={file}"));
        let output = process::run(&mut command, &Limits::QUESTION).ok()?;
        // It answers with the bare name where there is no such file.
        let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        (path.is_absolute() && path.exists())
            .then(|| path.parent().map(Path::to_owned))
            .flatten()
    }
}

/// A package manager: its command, what comes before the installation, the installation.
struct Manager {
    command: &'static str,
    refresh: &'static [&'static str],
    install: &'static [&'static str],
    /// Runs as the user, not as root.
    as_user: bool,
}

const MANAGERS: &[Manager] = &[
    Manager {
        command: "apt-get",
        refresh: &["update"],
        install: &["install", "--yes", "--no-install-recommends", "gfortran"],
        as_user: false,
    },
    Manager {
        command: "dnf",
        refresh: &[],
        install: &["install", "--assumeyes", "gcc-gfortran"],
        as_user: false,
    },
    Manager {
        command: "pacman",
        refresh: &[],
        install: &[
            "--sync",
            "--refresh",
            "--needed",
            "--noconfirm",
            "gcc-fortran",
        ],
        as_user: false,
    },
    Manager {
        command: "zypper",
        refresh: &[],
        install: &["--non-interactive", "install", "gcc-fortran"],
        as_user: false,
    },
    Manager {
        command: "apk",
        refresh: &[],
        install: &["add", "gfortran", "musl-dev"],
        as_user: false,
    },
    Manager {
        command: "brew",
        refresh: &[],
        install: &["install", "gcc"],
        as_user: true,
    },
];

/// The package manager of this system.
fn manager() -> Option<&'static Manager> {
    MANAGERS.iter().find(|m| which::which(m.command).is_ok())
}

/// A sentence part that says how to get gfortran here.
fn how_to_install() -> String {
    let set = "or set FARFEL_FC to a gfortran that is elsewhere";
    match manager() {
        Some(m) => {
            let sudo = if m.as_user { "" } else { "sudo " };
            format!(
                "install it with `farfel doctor --fix` or `{sudo}{} {}`, let the build do it with FARFEL_INSTALL=1, {set}",
                m.command,
                m.install.join(" ")
            )
        }
        None => format!("install GNU Fortran (gfortran), {set}"),
    }
}

/// Installs gfortran with the system's package manager. Every command is given to `say`
/// before it runs; what the commands print goes to standard error.
///
/// Needs root, or `sudo` that asks for no password (brew: neither).
///
/// # Errors
///
/// [`Error::Install`] when there is no package manager, no permission, or a command fails.
pub fn install(say: &mut dyn FnMut(&str)) -> Result<(), Error> {
    let Some(manager) = manager() else {
        let known: Vec<&str> = MANAGERS.iter().map(|m| m.command).collect();
        return Err(Error::Install(format!(
            "no package manager found, looked for {}",
            known.join(", ")
        )));
    };
    let prefix = prefix(manager)?;
    for (args, required) in [(manager.refresh, false), (manager.install, true)] {
        if args.is_empty() {
            continue;
        }
        let words: Vec<&str> = prefix
            .iter()
            .copied()
            .chain([manager.command])
            .chain(args.iter().copied())
            .collect();
        let line = words.join(" ");
        say(&line);
        let status = Command::new(words[0])
            .args(&words[1..])
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(std::process::Stdio::null())
            // A build script's standard output belongs to cargo.
            .stdout(std::io::stderr())
            .status()
            .map_err(|e| Error::Install(format!("`{line}`: {e}")))?;
        // A refresh that fails for one repository of many may still do.
        if required && !status.success() {
            return Err(Error::Install(format!("`{line}` failed ({status})")));
        }
    }
    Ok(())
}

/// What to put before the package manager's command to have its permissions.
fn prefix(manager: &Manager) -> Result<Vec<&'static str>, Error> {
    let quiet = |words: &[&str]| {
        Command::new(words[0])
            .args(&words[1..])
            .stdin(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .output()
            .ok()
            .filter(|o| o.status.success())
    };
    let root = quiet(&["id", "-u"]).is_some_and(|o| o.stdout.trim_ascii() == b"0");
    if manager.as_user || root {
        // sudo and env are needed for nothing.
        Ok(Vec::new())
    } else if quiet(&["sudo", "-n", "true"]).is_some() {
        // sudo drops the environment.
        Ok(vec!["sudo", "-n", "env", "DEBIAN_FRONTEND=noninteractive"])
    } else {
        Err(Error::Install(format!(
            "`{} {}` needs root, and `sudo -n` is not possible here",
            manager.command,
            manager.install.join(" ")
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_candidates() {
        let list = candidates(Some("f77".into()), Some("aarch64-unknown-linux-gnu"));
        let list: Vec<&str> = list.iter().map(|p| p.to_str().unwrap()).collect();
        assert_eq!(
            list[..5],
            [
                "f77",
                "aarch64-unknown-linux-gnu-gfortran",
                "aarch64-linux-gnu-gfortran",
                "gfortran",
                "gfortran-17"
            ]
        );
        assert_eq!(list.last(), Some(&"gfortran-9"));
    }

    #[test]
    fn what_is_set_and_missing_is_not_replaced() {
        let config = Config {
            fc: Some("no-such-gfortran".into()),
            ..Config::default()
        };
        let error = find(&config).unwrap_err();
        let message = error.to_string();
        assert!(
            message.starts_with("no Fortran compiler found: looked for no-such-gfortran; install"),
            "{message}"
        );
        assert!(message.contains("FARFEL_FC"), "{message}");
        assert_eq!(error.exit_code(), 1);
    }

    #[test]
    fn the_compiler_of_this_machine_answers() {
        let compiler = find(&Config::default()).unwrap();
        let (directories, libraries) = compiler.runtime_libraries();
        assert!(libraries.contains(&"gfortran") && libraries.contains(&"m"));
        assert!(directories.iter().any(|d| {
            std::fs::read_dir(d).is_ok_and(|mut l| {
                l.any(|f| {
                    f.is_ok_and(|f| f.file_name().to_string_lossy().starts_with("libgfortran"))
                })
            })
        }));
    }
}
