//! Has a request served, by the `farfel` command or by the bundled compiler.

use crate::answer::{Answer, Built};
use crate::error::Error;
use serde_json::Value;
use std::env;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The environment variable with the path of the command.
const VARIABLE: &str = "FARFEL";

/// The environment variable by which `farfel check` asks for a check instead of a build.
pub(crate) const REQUEST: &str = "FARFEL_REQUEST";

/// The version of the protocol, which `farfel_driver::script` describes.
const PROTOCOL: &str = "1";

/// Serves the request with whichever compiler is available.
pub(crate) fn run(request: &str, answer: &mut Answer) -> Result<Built, Error> {
    answer.add("rerun-if-env-changed", VARIABLE);
    answer.add("rerun-if-env-changed", REQUEST);
    #[cfg(feature = "bundled")]
    {
        // A command is faster than the bundled compiler because it was compiled with optimization.
        if let Some(command) = named()
            && let Ok(running) = RunningCommand::start(&command)
        {
            return running.serve(request, answer);
        }
        inside(request, answer)
    }
    #[cfg(not(feature = "bundled"))]
    RunningCommand::start(&find()?)?.serve(request, answer)
}

/// Returns the command that the user, or a command that runs cargo, has named.
fn named() -> Option<PathBuf> {
    let named = env::var_os(VARIABLE).filter(|name| !name.is_empty());
    named.map(PathBuf::from)
}

/// Finds the command, whatever its version.
#[cfg(not(feature = "bundled"))]
fn find() -> Result<PathBuf, Error> {
    let name = format!("farfel{}", env::consts::EXE_SUFFIX);
    let mut looked_in = Vec::new();
    match named() {
        Some(command) if command.is_file() => return Ok(command),
        Some(command) => {
            let looked_in = vec![format!("{VARIABLE} names {}", command.display())];
            return Err(Error::NoCommand { looked_in });
        }
        None => looked_in.push(format!("{VARIABLE} is not set")),
    }
    let home = env::home_dir().map(|home| home.join(".cargo"));
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from).or(home);
    if let Some(home) = cargo_home {
        let command = home.join("bin").join(&name);
        if command.is_file() {
            return Ok(command);
        }
        looked_in.push(format!("there is no {}", command.display()));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|dir| dir.join(&name));
    match on_path.into_iter().find(|command| command.is_file()) {
        Some(command) => Ok(command),
        None => {
            looked_in.push("there is none on PATH".into());
            Err(Error::NoCommand { looked_in })
        }
    }
}

/// A running command of this version that waits for a request.
struct RunningCommand {
    command: PathBuf,
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl RunningCommand {
    fn start(command: &Path) -> Result<RunningCommand, Error> {
        let failed = |reason: String| Error::Command {
            command: command.to_owned(),
            reason,
        };
        let mut child = Command::new(command)
            .args(["build-script", "--protocol", PROTOCOL])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| failed(format!("cannot be started: {e}")))?;
        let Some(out) = child.stdout.take() else {
            return Err(failed("its output cannot be read".into()));
        };
        let mut lines = BufReader::new(out).lines();
        let first = lines.next().and_then(Result::ok).unwrap_or_default();
        let ready: Value = serde_json::from_str(&first).unwrap_or_default();
        let version = ready["version"].as_str();
        if ready["reason"] == "ready" && version == Some(env!("CARGO_PKG_VERSION")) {
            return Ok(RunningCommand {
                command: command.to_owned(),
                child,
                lines,
            });
        }
        let version = version.map(str::to_owned).or_else(|| version_of(command));
        // Whatever command it is, it ends when its input is closed.
        drop(child.stdin.take());
        let _ = child.kill();
        let _ = child.wait();
        Err(Error::WrongVersion {
            command: command.to_owned(),
            version,
        })
    }

    fn serve(mut self, request: &str, answer: &mut Answer) -> Result<Built, Error> {
        // Another build of the command may have the same version and behave differently.
        answer.add("rerun-if-changed", self.command.display());
        // Kept open, because the command ends when it is closed. If the command has ended already, its output
        // says why.
        let mut input = self.child.stdin.take();
        if let Some(input) = &mut input {
            let _ = writeln!(input, "{request}").and_then(|()| input.flush());
        }
        for line in self.lines.by_ref().map_while(Result::ok) {
            answer.take(&line);
        }
        let status = self.child.wait();
        drop(input);
        answer.outcome().unwrap_or_else(|| {
            let reason = match status {
                Ok(status) => format!("it has ended without an answer, with {status}"),
                Err(e) => format!("its exit status is not available: {e}"),
            };
            Err(Error::Command {
                command: self.command,
                reason,
            })
        })
    }
}

/// Asks a command older than the protocol for its version: `farfel 0.0.9`.
fn version_of(command: &Path) -> Option<String> {
    let said = Command::new(command)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    let said = String::from_utf8(said.ok()?.stdout).ok()?;
    let mut words = said.split_whitespace();
    let of_farfel = words.next() == Some("farfel");
    words.next().filter(|_| of_farfel).map(str::to_owned)
}

/// Serves the request with the bundled compiler.
#[cfg(feature = "bundled")]
fn inside(request: &str, answer: &mut Answer) -> Result<Built, Error> {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    let serve = || farfel_driver::script::serve(request, &mut |line| answer.take(line), &|_| {});
    if let Err(panic) = catch_unwind(AssertUnwindSafe(serve)) {
        let said = farfel_driver::script::internal_error();
        let _ = writeln!(std::io::stderr(), "error: farfel itself has failed\n{said}");
        resume_unwind(panic);
    }
    let nothing = || Error::Command {
        command: "farfel-build".into(),
        reason: "the compiler inside has given no answer".into(),
    };
    answer.outcome().unwrap_or_else(|| Err(nothing()))
}
