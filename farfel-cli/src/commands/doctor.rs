//! `farfel doctor`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anstyle::{AnsiColor, Style};
use farfel_driver::toolchain::{self, Family};
use farfel_driver::{CacheSettings, Config, cache as build_cache, debian, link, tools};

use super::cache;
use crate::args::Doctor;
use crate::error::{EXIT_ERRORS, Error, Result};
use crate::shell::Shell;
use crate::{cargo, compiler, manifest};

/// A tool or library that Farfel uses, and its state.
struct Finding {
    name: String,
    state: State,
}

enum State {
    /// Installed: version and location.
    There(String),
    /// Missing and required; with the command that installs it.
    Missing { why: String, fix: String },
    /// Missing, but needed only for some features.
    Optional(String),
}

/// Reports which tools are installed and which are missing, and installs missing ones with `--fix`.
pub fn run(args: &Doctor, shell: &mut Shell) -> Result {
    let mut findings = examine()?;
    let gfortran_missing = findings
        .iter()
        .any(|finding| finding.name == GFORTRAN && matches!(finding.state, State::Missing { .. }));
    if args.fix && gfortran_missing {
        compiler::install(shell)?;
        findings = examine()?;
    }
    if args.fix && install_libraries(shell)? {
        findings = examine()?;
    }
    shell
        .out(&table(&findings))
        .map_err(|error| Error::invalid(format!("cannot write to standard output: {error}")))?;
    let mut missing = findings.iter().filter_map(|finding| match &finding.state {
        State::Missing { fix, .. } => Some((&finding.name, fix)),
        _ => None,
    });
    match missing.next() {
        None => Ok(()),
        Some((name, fix)) => {
            shell.error(format_args!("{name} is missing"), Some(fix));
            for (name, fix) in missing {
                shell.error(format_args!("{name} is missing"), Some(fix));
            }
            Err(Error::Exit(EXIT_ERRORS))
        }
    }
}

const GFORTRAN: &str = "gfortran";

fn examine() -> Result<Vec<Finding>> {
    let config = Config::load(&manifest_dir())?;
    let mut findings = vec![
        Finding {
            name: "cargo".into(),
            state: match cargo::find() {
                Ok(path) => there(&path, "--version"),
                Err(error) => missing(error.to_string(), RUSTUP),
            },
        },
        Finding {
            name: "rustc".into(),
            state: needed_on_path("rustc", "--version", RUSTUP),
        },
        Finding {
            name: "C compiler".into(),
            state: needed_on_path(
                "cc",
                "--version",
                "`apt-get install gcc libc6-dev`, or your system's own way (rustc links with it)",
            ),
        },
    ];
    match toolchain::find(&config) {
        Ok(compiler) => {
            let name = match compiler.family {
                Family::Gfortran => GFORTRAN,
                Family::Flang => "flang",
            };
            findings.push(Finding {
                name: name.into(),
                state: State::There(format!(
                    "{} ({})",
                    compiler.version,
                    compiler.path.display()
                )),
            });
            findings.push(Finding {
                name: "Fortran run-time library".into(),
                state: match compiler.runtime_libraries().0.first() {
                    Some(path) => State::There(path.display().to_string()),
                    None => missing("the compiler does not know where it is", FIX),
                },
            });
        }
        Err(error) => findings.push(Finding {
            name: GFORTRAN.into(),
            state: missing(error.to_string(), FIX),
        }),
    }
    let libraries = libraries(&config).into_iter();
    findings.extend(libraries.map(|(name, state)| Finding {
        name: format!("library {name}"),
        state,
    }));
    findings.extend(ad_tools(&config));
    findings.extend(caches(&config.cache));
    Ok(findings)
}

/// Checks the libraries that the setting `link` names.
fn libraries(config: &Config) -> Vec<(&String, State)> {
    let Ok(compiler) = toolchain::find(config) else {
        return Vec::new();
    };
    let state = |name: &String| match link::locate(&compiler, name, &config.flags) {
        Some(link::LibraryLocation::Linker(file)) => State::There(file.display().to_string()),
        Some(link::LibraryLocation::Command { folders, libraries }) => {
            let folders = folders.iter().map(|f| format!("-L{}", f.display()));
            let words = folders.chain(libraries.iter().map(|l| format!("-l{l}")));
            let words: Vec<String> = words.collect();
            let by = match name.as_str() {
                "mpi" => "mpif90",
                _ => "pkg-config",
            };
            State::There(format!("{}, by {by}", words.join(" ")))
        }
        None => missing(
            "neither the linker nor pkg-config finds it",
            &match debian::package_of(name) {
                Some(package) => {
                    format!("{FIX} where there is apt-get: `apt-get install {package}`")
                }
                None => {
                    "install what has it, or name its folder: `flags = [\"-L/opt/lib\"]`".into()
                }
            },
        ),
    };
    config.link.iter().map(|name| (name, state(name))).collect()
}

/// Installs the Debian packages of missing libraries. Returns whether there were any.
fn install_libraries(shell: &mut Shell) -> Result<bool> {
    let config = Config::load(&manifest_dir())?;
    let missing = libraries(&config).into_iter();
    let missing = missing.filter(|(_, state)| matches!(state, State::Missing { .. }));
    let packages: BTreeSet<&str> = missing
        .filter_map(|(name, _)| debian::package_of(name))
        .collect();
    let packages: Vec<&str> = packages.into_iter().collect();
    if packages.is_empty() {
        return Ok(false);
    }
    let mut say = |line: &str| shell.status("Installing", line);
    match toolchain::install_debian(&packages, &mut say) {
        Some(installed) => installed.map(|()| true).map_err(Error::from),
        None => Ok(false),
    }
}

/// Checks the caches, which builds can do without.
fn caches(settings: &CacheSettings) -> Vec<Finding> {
    let here = match build_cache::stats(settings) {
        _ if !settings.enabled => State::Optional("the settings have it off".into()),
        Ok(stats) => State::There(format!(
            "{} of {} ({})",
            cache::size(stats.bytes),
            cache::size(stats.bound),
            stats.directory.display()
        )),
        Err(error) => State::Optional(format!("not used: {error}")),
    };
    let mut findings = vec![Finding {
        name: "cache".into(),
        state: here,
    }];
    if let Some((address, reached)) = build_cache::reach_remote(settings) {
        findings.push(Finding {
            name: "remote cache".into(),
            state: match reached {
                Ok(took) => State::There(format!("answers in {} ms ({address})", took.as_millis())),
                Err(why) => State::Optional(format!("not used: {why} ({address})")),
            },
        });
    }
    findings
}

/// Checks the external AD tools and their requirements. Only the one that the settings choose is required.
fn ad_tools(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut tapenade_is_here = false;
    for (name, tool, found) in [
        ("Tapenade", "tapenade", tools::tapenade(config)),
        ("ADIFOR", "adifor", tools::adifor(config)),
    ] {
        let chosen = config.ad_tool == tool;
        tapenade_is_here |= tool == "tapenade" && !is_not_found(&found);
        let state = match found {
            Ok(found) => State::There(format!("{} ({})", found.version, found.program.display())),
            Err(farfel_driver::Error::ToolNotFound {
                looked_in, help, ..
            }) => {
                let why = format!("not found: looked in {}", looked_in.join(", "));
                if chosen {
                    missing(why, help)
                } else {
                    State::Optional(format!("{why}; only `ad-tool = \"{tool}\"` needs it"))
                }
            }
            Err(error) if chosen => missing(error.to_string(), "mend it, or choose another tool"),
            Err(error) => State::Optional(error.to_string()),
        };
        findings.push(Finding {
            name: name.into(),
            state,
        });
    }
    let java_is_needed = config.ad_tool == "tapenade";
    let state = match tools::java() {
        Ok(path) => there(&path, "-version"),
        Err(why) if java_is_needed => missing(why, "install a Java runtime; Tapenade needs it"),
        Err(why) if tapenade_is_here => State::Optional(format!("{why}; Tapenade needs it")),
        Err(why) => State::Optional(format!("{why}; only Tapenade needs it")),
    };
    findings.push(Finding {
        name: "Java".into(),
        state,
    });
    findings
}

fn is_not_found<T>(found: &std::result::Result<T, farfel_driver::Error>) -> bool {
    matches!(found, Err(farfel_driver::Error::ToolNotFound { .. }))
}

const RUSTUP: &str = "install Rust: https://rustup.rs";
const FIX: &str = "`farfel doctor --fix` installs it";

fn missing(why: impl Into<String>, fix: &str) -> State {
    State::Missing {
        why: why.into(),
        fix: fix.into(),
    }
}

fn needed_on_path(program: &str, version: &str, fix: &str) -> State {
    match which::which(program) {
        Ok(path) => there(&path, version),
        Err(_) => missing("not found on PATH", fix),
    }
}

/// Returns the version and location of a program; the version is the first line of its output.
fn there(path: &Path, version: &str) -> State {
    let output = Command::new(path).arg(version).output();
    let line = output.ok().and_then(|output| {
        // Java writes its version to standard error.
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&text)
            .lines()
            .next()
            .map(str::to_owned)
    });
    State::There(match line {
        Some(line) => format!("{line} ({})", path.display()),
        None => path.display().to_string(),
    })
}

/// Returns the directory of the project in the current directory, if any: it may name a compiler.
fn manifest_dir() -> PathBuf {
    manifest::manifest_dir(None).unwrap_or_else(|_| PathBuf::from("."))
}

fn table(findings: &[Finding]) -> String {
    const OK: Style = AnsiColor::BrightGreen.on_default().bold();
    const BAD: Style = AnsiColor::BrightRed.on_default().bold();
    const PLAIN: Style = AnsiColor::BrightBlack.on_default();
    let width = findings.iter().map(|finding| finding.name.len()).max();
    let width = width.unwrap_or(0);
    findings
        .iter()
        .map(|Finding { name, state }| {
            let (style, word, text) = match state {
                State::There(what) => (OK, "ok", what),
                State::Missing { why, .. } => (BAD, "missing", why),
                State::Optional(why) => (PLAIN, "optional", why),
            };
            format!("{style}{word:>8}{style:#}  {name:width$}  {text}\n")
        })
        .collect()
}
