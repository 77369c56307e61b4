//! Timing of programs side by side.
//!
//! Figures of one machine mean little on another, and little on the same machine an hour later. The
//! benchmarks therefore report *ratios in one run*: the programs take turns, each counts the processor time
//! of its own process, and the minimum of several turns is kept, since other load on the machine can only add
//! to it.

pub mod generate;
pub mod memory;

use nix::sys::resource::{UsageWho, getrusage};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::time::Duration;

/// Returns the exit code of a benchmark, and prints its errors on standard error: 0 without errors, 1 with
/// errors, 2 if it could not run.
pub fn exit_code(outcome: Result<Vec<String>, Box<dyn std::error::Error>>) -> ExitCode {
    let (errors, code) = match outcome {
        Ok(errors) if errors.is_empty() => (errors, ExitCode::SUCCESS),
        Ok(errors) => (errors, ExitCode::FAILURE),
        Err(e) => (vec![e.to_string()], ExitCode::from(2)),
    };
    for error in errors {
        let _ = writeln!(std::io::stderr(), "{error}");
    }
    code
}

/// A clock for the processor time of this process, which does not include other load on the machine.
#[derive(Debug)]
pub struct Clock {
    since: Duration,
}

impl Clock {
    /// Creates a clock that starts now.
    ///
    /// # Errors
    ///
    /// If the system does not provide the time of a process.
    pub fn new() -> std::io::Result<Self> {
        Ok(Clock { since: own_time()? })
    }

    /// Returns the time since the last call, or since the clock was created.
    ///
    /// # Errors
    ///
    /// If the system does not provide the time of a process.
    pub fn lap(&mut self) -> std::io::Result<Duration> {
        let now = own_time()?;
        let lap = now.saturating_sub(self.since);
        self.since = now;
        Ok(lap)
    }
}

/// Why a program could not be timed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program could not be started, or its input or output failed.
    #[error("{}: {source}", program.display())]
    Io {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },

    /// The program failed.
    #[error("{} ended with {status}: {stderr}", program.display())]
    Failed {
        /// The program.
        program: PathBuf,
        /// Its exit status.
        status: std::process::ExitStatus,
        /// Its standard error.
        stderr: String,
    },

    /// The program wrote something that is not a list of numbers.
    #[error("{} wrote {output:?}, which is not a list of numbers", program.display())]
    NotNumbers {
        /// The program.
        program: PathBuf,
        /// Its standard output.
        output: String,
    },

    /// Two runs of a program with the same input had different results.
    #[error("{} had the result {first:?} once and {later:?} later", program.display())]
    Unsteady {
        /// The program.
        program: PathBuf,
        /// The result of its first run.
        first: Vec<f64>,
        /// The result of a later run.
        later: Vec<f64>,
    },
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The processor time of the process, including about a millisecond for starting the program.
    pub time: Duration,
    /// The numbers that it wrote on standard output.
    pub result: Vec<f64>,
}

/// Runs `program` on `input` once.
///
/// # Errors
///
/// All of [`Error`] except [`Error::Unsteady`].
pub fn run(program: &Path, input: &str) -> Result<Run, Error> {
    // The system adds up the time of all children, so there must be one at a time.
    static ONE_CHILD: Mutex<()> = Mutex::new(());
    let _one = ONE_CHILD.lock().unwrap_or_else(|e| e.into_inner());
    let io = |source| Error::Io {
        program: program.to_owned(),
        source,
    };

    let before = processor_time(UsageWho::RUSAGE_CHILDREN).map_err(io)?;
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(io)?;
    if let Some(mut stdin) = child.stdin.take() {
        match stdin.write_all(input.as_bytes()) {
            // The program ended without reading all input: its status and output tell more.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => {}
            written => written.map_err(io)?,
        }
    }
    let ended = child.wait_with_output().map_err(io)?;
    let time = processor_time(UsageWho::RUSAGE_CHILDREN)
        .map_err(io)?
        .saturating_sub(before);

    if !ended.status.success() {
        return Err(Error::Failed {
            program: program.to_owned(),
            status: ended.status,
            stderr: String::from_utf8_lossy(&ended.stderr).into_owned(),
        });
    }
    let output = String::from_utf8_lossy(&ended.stdout);
    match output.split_whitespace().map(str::parse).collect() {
        Ok(result) => Ok(Run { time, result }),
        Err(_) => Err(Error::NotNumbers {
            program: program.to_owned(),
            output: output.into_owned(),
        }),
    }
}

/// Runs the programs on `input` in turns, `turns` times each (at least once), and returns the run with the
/// minimum time of each, in the order of `programs`.
///
/// # Errors
///
/// All of [`Error`].
pub fn take_turns(programs: &[&Path], input: &str, turns: usize) -> Result<Vec<Run>, Error> {
    let mut best = programs
        .iter()
        .map(|program| run(program, input))
        .collect::<Result<Vec<Run>, Error>>()?;
    for _ in 1..turns {
        for (program, best) in programs.iter().zip(&mut best) {
            let again = run(program, input)?;
            if again.result != best.result {
                return Err(Error::Unsteady {
                    program: program.to_path_buf(),
                    first: best.result.clone(),
                    later: again.result,
                });
            }
            best.time = best.time.min(again.time);
        }
    }
    Ok(best)
}

/// Returns the processor time that this process has taken so far, with all its threads.
///
/// # Errors
///
/// The system's error if it does not provide the time.
pub fn own_time() -> std::io::Result<Duration> {
    processor_time(UsageWho::RUSAGE_SELF)
}

/// Returns the processor time of all processes that this one has started and waited for, and of those that
/// they have waited for.
///
/// # Errors
///
/// The system's error if it does not provide the time.
pub fn children_time() -> std::io::Result<Duration> {
    processor_time(UsageWho::RUSAGE_CHILDREN)
}

/// Returns user plus system time: their sum is exact, while the division between the two is only sampled,
/// every few milliseconds.
fn processor_time(of: UsageWho) -> std::io::Result<Duration> {
    let usage = getrusage(of)?;
    let part = |n: i64| n.unsigned_abs();
    Ok([usage.user_time(), usage.system_time()]
        .iter()
        .map(|t| Duration::from_secs(part(t.tv_sec())) + Duration::from_micros(part(t.tv_usec())))
        .sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    /// Writes `body` as a shell script and passes its path to `check`.
    fn with_program(body: &str, check: impl FnOnce(&Path)) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        check(&path);
    }

    #[test]
    fn a_program_reads_its_input_and_its_numbers_are_read() {
        with_program("read a; read b; echo \" $b\"; echo $a.5E+01", |program| {
            assert_eq!(run(program, "1\n2\n").unwrap().result, [2.0, 15.0]);
        });
    }

    #[test]
    fn the_time_is_that_of_the_program() {
        let counting = |n: u32| format!("i=0; while [ $i -lt {n} ]; do i=$((i+1)); done");
        with_program(&counting(200_000), |long| {
            with_program(&counting(10), |short| {
                let best = take_turns(&[long, short], "", 2).unwrap();
                assert!(
                    best[0].time > 5 * best[1].time,
                    "{:?} against {:?}",
                    best[0].time,
                    best[1].time
                );
            });
        });
    }

    #[test]
    fn a_program_that_fails_says_why() {
        with_program("echo no good >&2; exit 3", |program| {
            let said = run(program, "not read").unwrap_err().to_string();
            assert!(said.contains("exit status: 3: no good"), "{said}");
        });
    }

    #[test]
    fn what_is_not_a_number_is_no_result() {
        with_program("echo 50.0 fifty", |program| {
            assert!(matches!(
                run(program, "").unwrap_err(),
                Error::NotNumbers { .. }
            ));
        });
    }

    #[test]
    fn a_result_that_changes_is_an_error() {
        with_program("echo 1 >>\"$0.runs\"; wc -l <\"$0.runs\"", |program| {
            assert!(take_turns(&[program], "", 1).is_ok());
            let changed = take_turns(&[program], "", 2).unwrap_err();
            assert!(matches!(changed, Error::Unsteady { .. }), "{changed}");
        });
    }
}
