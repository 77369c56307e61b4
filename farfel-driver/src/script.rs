//! The compiler's side of the protocol between build scripts (`farfel-build`) and the compiler.
//!
//! A build script does not contain the compiler. It starts
//!
//! ```text
//! farfel build-script --protocol 1
//! ```
//!
//! in the environment that cargo has set up for the build script, and talks to it in lines of JSON. With the
//! feature `bundled` of `farfel-build` the compiler is part of the build script, which exchanges the same
//! lines with [`serve`].
//!
//! # The protocol, version 1
//!
//! The command first identifies itself, with [`ready`]:
//!
//! ```json
//! {"reason": "ready", "protocol": 1, "version": "0.1.0"}
//! ```
//!
//! `farfel-build` only accepts a command of its own version. It then writes the request as one line to the
//! command's standard input:
//!
//! ```json
//! {"want": "build", "settings": [{"set": ["real-kind", 8]}, {"add": ["flags", "-fcheck=all"]}]}
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | `want` | `build`: the library and its bindings; `check`: the bindings, and all errors that can be found without compiling |
//! | `settings` | changes to the settings in `Cargo.toml`, applied in this order: `set` a value, or `add` one to a list. Names are those of `Cargo.toml`, with dots for nested tables |
//!
//! Everything else comes from the environment, as cargo documents it for build scripts. If the variable
//! `DOCS_RS` is set, `build` writes only the bindings. Standard input stays open until the build script has
//! received the whole answer; if it closes earlier, nobody is waiting any more, and the command ends together
//! with all processes that it has started. The command answers in lines on standard output; its standard
//! error is meant for people.
//!
//! | `reason` | fields | meaning |
//! |---|---|---|
//! | `cargo` | `key`, `value` | a directive for cargo, `cargo::KEY=VALUE` |
//! | `diagnostic` | those of [`messages`](crate::messages) | an error or warning in the sources |
//! | `progress` | `done`, `steps`, `kept`, `running`, `left` | the progress of the build, every ten seconds: see [`ProgressSnapshot`] |
//! | `finished` | `library`, `bindings` | the last line on success: the files that were written |
//! | `failed` | `headline`, `text` | the last line on failure: the reason, on one line, and further text for people, coloured if standard error is a terminal |
//!
//! The build script passes directives on to cargo and ignores unknown reasons.

use crate::config::Change;
use crate::gfortran::Profile;
use crate::messages::messages;
use crate::progress::{Progress, ProgressSnapshot};
use crate::render;
use crate::session::Session;
use crate::{Built, Config, Error, Library, Link, Report, c_sources};
use serde::{Deserialize, Serialize};
use std::env;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The version of the protocol that [`serve`] implements.
pub const PROTOCOL: u32 = 1;

/// The request from a build script.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    want: RequestKind,
    settings: Vec<Change>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RequestKind {
    Build,
    Check,
}

/// A line of the answer to a build script.
#[derive(Debug, Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Reply<'a> {
    Ready {
        protocol: u32,
        version: &'a str,
    },
    Cargo {
        key: &'a str,
        value: &'a str,
    },
    Progress(&'a ProgressSnapshot),
    Finished {
        library: &'a Path,
        bindings: &'a Path,
    },
    Failed {
        headline: &'a str,
        text: &'a str,
    },
}

/// Returns the line with which the command identifies itself.
pub fn ready() -> String {
    line(&Reply::Ready {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// Serves a request in the environment of a build script and returns the exit code. `say` receives each line
/// of the answer, and `show` the progress, ten times a second.
pub fn serve(
    request: &str,
    say: &mut (dyn FnMut(&str) + Send),
    show: &(dyn Fn(&ProgressSnapshot) + Sync),
) -> u8 {
    let mut answer = Answer { say, show };
    let made = serde_json::from_str(request)
        .map_err(|e| Error::Request(e.to_string()))
        .and_then(|request| build(request, &mut answer));
    match made {
        Ok(built) => {
            answer.reply(&Reply::Finished {
                library: &built.library,
                bindings: &built.bindings,
            });
            0
        }
        Err(error) => {
            answer.failed(&error);
            error.exit_code()
        }
    }
}

fn build(request: Request, cargo: &mut Answer) -> Result<Built, Error> {
    let root = variable("CARGO_MANIFEST_DIR")?;
    let out = PathBuf::from(variable("OUT_DIR")?);
    let target = variable("TARGET")?;
    let mut config = Config::from_build_script(Path::new(&root), &request.settings)?;
    // Cargo's values for the package: in the manifest the version may be inherited from a workspace.
    config.name = variable("CARGO_PKG_NAME")?;
    config.version = variable("CARGO_PKG_VERSION")?;
    config.apply_environment(&|name| env::var(name).ok())?;
    config.check()?;
    config.libraries = Library::of_environment()?;

    for name in c_sources::variables(&target) {
        cargo.add("rerun-if-env-changed", name);
    }
    cargo.watch(&config.root.join("Cargo.toml"));
    let session = Session::of_project(&config)?;
    for directory in session.directories() {
        cargo.watch(directory);
    }
    if session.directories().is_empty() && session.reached().is_empty() {
        // Only this detects a source directory that is created later.
        cargo.watch(&config.root);
    }
    if env::var_os("CARGO_MANIFEST_LINKS").is_some() {
        let description = session.describe(&out)?;
        let (key, file) = (Library::KEY, description.display());
        cargo.add("metadata", format!("{key}={file}"));
    }
    let made = cargo.report_progress(&session.progress(), || {
        match (request.want, env::var_os("DOCS_RS")) {
            (RequestKind::Check, _) => session.check_library(&out),
            // Documentation is not linked, and docs.rs has no Fortran compiler.
            (RequestKind::Build, Some(_)) => session.write_bindings(&out),
            (RequestKind::Build, None) => session.build_library(&out, &target, &profile()),
        }
    });
    // Even if there are errors: the next build must notice that the files were corrected.
    for file in session.reached() {
        cargo.watch(&file);
    }
    let made = made?;
    for notice in &made.notices {
        cargo.warn(notice);
    }
    if let Some(link) = &made.link {
        cargo.link(link, &out);
    }
    // Nobody cares about warnings while documentation is built.
    if made.link.is_some() || request.want == RequestKind::Check {
        cargo.warnings_of(&made.report);
    }
    Ok(made)
}

/// Returns the build profile that cargo asks for.
fn profile() -> Profile {
    Profile {
        opt_level: env::var("OPT_LEVEL").unwrap_or_else(|_| "0".into()),
        debug: env::var("DEBUG").is_ok_and(|d| !matches!(d.as_str(), "false" | "0" | "none")),
    }
}

fn variable(name: &'static str) -> Result<String, Error> {
    env::var(name).map_err(|_| Error::NotABuildScript(name))
}

/// Serializes a reply, which cannot fail.
fn line(reply: &Reply) -> String {
    serde_json::to_string(reply).unwrap_or_default()
}

/// The answer to a build script while it is being given.
struct Answer<'a> {
    say: &'a mut (dyn FnMut(&str) + Send),
    show: &'a (dyn Fn(&ProgressSnapshot) + Sync),
}

/// How often progress is shown to people, and how often it is reported to the build script.
const SHOWN_EVERY: Duration = Duration::from_millis(100);
const REPORT_EVERY: Duration = Duration::from_secs(10);

impl Answer<'_> {
    /// Reports the progress of a build while `make` runs.
    fn report_progress<T>(&mut self, progress: &Progress, make: impl FnOnce() -> T) -> T {
        let (over, wait) = channel::<()>();
        std::thread::scope(move |scope| {
            scope.spawn(move || {
                let mut last_report = Instant::now();
                while wait.recv_timeout(SHOWN_EVERY) == Err(RecvTimeoutError::Timeout) {
                    let now = progress.now();
                    (self.show)(&now);
                    if last_report.elapsed() >= REPORT_EVERY {
                        self.reply(&Reply::Progress(&now));
                        last_report = Instant::now();
                    }
                }
            });
            // Dropped even if `make` panics, so that the other thread always ends.
            let _over = over;
            make()
        })
    }

    fn reply(&mut self, reply: &Reply) {
        (self.say)(&line(reply));
    }

    /// Sends a directive to cargo. Control characters in the value are escaped, so that it stays on one line.
    fn add(&mut self, key: &str, value: impl std::fmt::Display) {
        let value = value.to_string();
        let value = &*render::plain(&value);
        self.reply(&Reply::Cargo { key, value });
    }

    fn watch(&mut self, path: &Path) {
        self.add("rerun-if-changed", path.display());
    }

    fn warn(&mut self, message: &str) {
        // Cargo expects one directive for each line of a warning.
        for line in message.lines() {
            self.add("warning", line);
        }
    }

    fn link(&mut self, link: &Link, out: &Path) {
        self.add("rustc-link-search", format!("native={}", out.display()));
        for (key, value) in link.directives() {
            self.add(key, value);
        }
    }

    /// Reports each warning in full. Cargo repeats them whenever it builds the package.
    fn warnings_of(&mut self, report: &Report) {
        for message in messages(report) {
            (self.say)(&message.json());
            self.warn(&message.lines());
        }
    }

    /// Reports an error: one headline for cargo and the rest for standard error, which cargo shows when a
    /// build script fails.
    fn failed(&mut self, error: &Error) {
        let whole = error.to_string();
        let headline = render::plain(whole.lines().next().unwrap_or_default());
        let text = match error {
            Error::Diagnostics(report) => {
                for message in messages(report) {
                    (self.say)(&message.json());
                }
                let color = std::io::stderr().is_terminal()
                    || env::var("CARGO_TERM_COLOR").is_ok_and(|c| c == "always");
                render::render(report, color)
            }
            // For other errors on a single line, the headline is everything.
            _ if whole.lines().count() > 1 => whole
                .lines()
                .map(|l| format!("{}\n", render::plain(l)))
                .collect(),
            _ => String::new(),
        };
        self.reply(&Reply::Failed {
            headline: &headline,
            text: &text,
        });
    }
}

/// Returns the text that a build script prints after an internal error of Farfel.
pub fn internal_error() -> String {
    crate::internal_error(&format!("build it again with {}=1", crate::VERIFY_PASSES))
}
