//! Build scripts: what `farfel-build` asks for, and what it is told.
//!
//! A build script does not contain the compiler. It starts
//!
//! ```text
//! farfel build-script --protocol 1
//! ```
//!
//! with cargo's environment as its own, and talks to it in lines of JSON. With the feature `bundled` of
//! `farfel-build` the compiler is in the build script, and the same lines go to [`serve`] and come from it.
//!
//! # The protocol, version 1
//!
//! The command first says who it is, with [`ready`]:
//!
//! ```json
//! {"reason": "ready", "protocol": 1, "version": "0.1.0"}
//! ```
//!
//! `farfel-build` goes on only with a command of its own version. It then writes one line to standard input,
//! the request:
//!
//! ```json
//! {"want": "build", "settings": [{"set": ["real-kind", 8]}, {"add": ["flags", "-fcheck=all"]}]}
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | `want` | `build`: the library and its bindings; `check`: the bindings, and all that can be found without compiling |
//! | `settings` | changes of the settings in `Cargo.toml`, in this order: `set` a value, `add` one to a list. Names are those of `Cargo.toml`, with dots for tables in tables |
//!
//! Everything else is in the environment, as cargo documents it for build scripts; where the variable `DOCS_RS`
//! is set, `build` writes bindings alone. Standard input stays open until the build script has all that it
//! waits for: where it ends earlier nobody waits any more, and the command ends with all that it has
//! started. It answers with lines on standard output; what is written to standard error is for people.
//!
//! | `reason` | fields | meaning |
//! |---|---|---|
//! | `cargo` | `key`, `value` | a line for cargo, `cargo::KEY=VALUE` |
//! | `diagnostic` | those of [`messages`](crate::messages) | an error or warning in the sources |
//! | `progress` | `done`, `steps`, `kept`, `running`, `left` | how far it is, every ten seconds: see [`Now`] |
//! | `finished` | `library`, `bindings` | the last line: the files that were made |
//! | `failed` | `headline`, `text` | the last line: why there are none, on one line; what people see besides, coloured where standard error is a terminal |
//!
//! The build script hands on lines for cargo and ignores reasons that it does not know.

use crate::config::Change;
use crate::gfortran::Profile;
use crate::messages::messages;
use crate::progress::{Now, Progress};
use crate::render;
use crate::session::Session;
use crate::{Built, Config, Error, Library, Link, Report, c_sources};
use serde::{Deserialize, Serialize};
use std::env;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The version of the protocol.
pub const PROTOCOL: u32 = 1;

/// What a build script asks for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    want: Want,
    settings: Vec<Change>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Want {
    Build,
    Check,
}

/// What it is told.
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
    Progress(&'a Now),
    Finished {
        library: &'a Path,
        bindings: &'a Path,
    },
    Failed {
        headline: &'a str,
        text: &'a str,
    },
}

/// The line by which the command says who it is.
pub fn ready() -> String {
    line(&Reply::Ready {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// Does what a request asks for, in the environment of a build script; `say` gets each line of the answer, and
/// `show`, ten times a second, how far it is. The exit code that goes with it.
pub fn serve(
    request: &str,
    say: &mut (dyn FnMut(&str) + Send),
    show: &(dyn Fn(&Now) + Sync),
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
    // The package as cargo sees it: the version may be inherited.
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
        // A directory that comes later is seen only so.
        cargo.watch(&config.root);
    }
    if env::var_os("CARGO_MANIFEST_LINKS").is_some() {
        let description = session.describe(&out)?;
        let (key, file) = (Library::KEY, description.display());
        cargo.add("metadata", format!("{key}={file}"));
    }
    let made = cargo.telling(&session.progress(), || {
        match (request.want, env::var_os("DOCS_RS")) {
            (Want::Check, _) => session.check_library(&out),
            // Documentation links nothing, and docs.rs has no Fortran compiler.
            (Want::Build, Some(_)) => session.write_bindings(&out),
            (Want::Build, None) => session.build_library(&out, &target, &profile()),
        }
    });
    // Also where there are faults: the next build is to see that they are gone.
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
    // Those of documentation are nobody's concern.
    if made.link.is_some() || request.want == Want::Check {
        cargo.warnings_of(&made.report);
    }
    Ok(made)
}

/// How cargo wants it compiled.
fn profile() -> Profile {
    Profile {
        opt_level: env::var("OPT_LEVEL").unwrap_or_else(|_| "0".into()),
        debug: env::var("DEBUG").is_ok_and(|d| !matches!(d.as_str(), "false" | "0" | "none")),
    }
}

fn variable(name: &'static str) -> Result<String, Error> {
    env::var(name).map_err(|_| Error::NotABuildScript(name))
}

/// A reply as a line. All of them can be written.
fn line(reply: &Reply) -> String {
    serde_json::to_string(reply).unwrap_or_default()
}

/// What is said to a build script.
struct Answer<'a> {
    say: &'a mut (dyn FnMut(&str) + Send),
    show: &'a (dyn Fn(&Now) + Sync),
}

/// How often progress is shown, and how often it is said.
const SHOWN_EVERY: Duration = Duration::from_millis(100);
const SAID_EVERY: Duration = Duration::from_secs(10);

impl Answer<'_> {
    /// Says how far a build is while `make` makes it.
    fn telling<T>(&mut self, progress: &Progress, make: impl FnOnce() -> T) -> T {
        let (over, wait) = channel::<()>();
        std::thread::scope(move |scope| {
            scope.spawn(move || {
                let mut said = Instant::now();
                while wait.recv_timeout(SHOWN_EVERY) == Err(RecvTimeoutError::Timeout) {
                    let now = progress.now();
                    (self.show)(&now);
                    if said.elapsed() >= SAID_EVERY {
                        self.reply(&Reply::Progress(&now));
                        said = Instant::now();
                    }
                }
            });
            // Whatever comes of it, the other thread sees the end.
            let _over = over;
            make()
        })
    }

    fn reply(&mut self, reply: &Reply) {
        (self.say)(&line(reply));
    }

    /// A line for cargo: whatever the value is, it stays one.
    fn add(&mut self, key: &str, value: impl std::fmt::Display) {
        let value = value.to_string();
        let value = &*render::plain(&value);
        self.reply(&Reply::Cargo { key, value });
    }

    fn watch(&mut self, path: &Path) {
        self.add("rerun-if-changed", path.display());
    }

    fn warn(&mut self, message: &str) {
        // Cargo shows one line each.
        for line in message.lines() {
            self.add("warning", line);
        }
    }

    fn link(&mut self, link: &Link, out: &Path) {
        self.add("rustc-link-search", format!("native={}", out.display()));
        self.add("rustc-link-lib", format!("static={}", link.library));
        for d in &link.called_in {
            self.add("rustc-link-search", format!("native={}", d.display()));
        }
        // Before the libraries that they need themselves.
        for l in &link.called {
            self.add("rustc-link-lib", l);
        }
        for argument in &link.arguments {
            self.add("rustc-link-arg", argument);
        }
        for d in &link.directories {
            self.add("rustc-link-search", format!("native={}", d.display()));
        }
        // A program without any dynamic library: what rustc links then brings libm along, and
        // "dynamic" libraries that the linker finds as archives make it crash at its start.
        let is_static = env::var("CARGO_CFG_TARGET_FEATURE")
            .is_ok_and(|f| f.split(',').any(|f| f == "crt-static"));
        for l in &link.libraries {
            match (is_static, *l) {
                (false, _) => self.add("rustc-link-lib", format!("dylib={l}")),
                (true, "m") => {}
                (true, _) => self.add("rustc-link-lib", format!("static:-bundle={l}")),
            }
        }
    }

    /// Warnings, each whole: cargo shows them whenever it builds the package.
    fn warnings_of(&mut self, report: &Report) {
        for message in messages(report) {
            (self.say)(&message.json());
            self.warn(&message.lines());
        }
    }

    /// One headline for cargo, the rest for standard error, which cargo shows when a build script fails.
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
            // The headline said the rest.
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

/// What is said in a build script where Farfel itself fails, after what failed.
pub fn fault_of_farfel() -> String {
    crate::fault_of_farfel(&format!("build it again with {}=1", crate::VERIFY_PASSES))
}
