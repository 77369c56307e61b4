//! Runs other programs with limits on time and output, and leaves nothing of them behind.
//!
//! The following holds for every program that [`run`] starts:
//!
//! * There is no shell. Arguments are passed as they are.
//! * Standard input is empty: a program that asks for input gets end-of-file.
//! * At its time limit the program is killed with all processes that it started. The same happens when this
//!   process ends, for whatever reason, see [`watch`]. Processes that it leaves running when it ends are
//!   killed, too.
//! * Its output is read while it runs, up to a limit. The rest is dropped and counted.
//!
//! On systems other than Unix, `taskkill` ends a program with its children at the time limit; there is no
//! watch.

pub(crate) mod tree;
pub(crate) mod watch;

use std::io::{ErrorKind, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use watch::Watchdog;

/// The limits of a program.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// The maximum running time.
    pub time: Duration,
    /// The maximum number of bytes kept of each stream.
    pub output: usize,
    /// Whether standard error goes to standard output, in the order of writing.
    pub together: bool,
    /// Whether to look for processes that it left running, even if they left its process group.
    pub strays: bool,
}

impl Limits {
    /// For a query that is answered at once, such as `--version`.
    pub(crate) const QUESTION: Limits = Limits {
        time: Duration::from_secs(60),
        output: 1 << 20,
        together: false,
        strays: false,
    };

    /// For a compiler, which takes minutes for a module of 100,000 lines.
    pub(crate) const COMPILER: Limits = Limits {
        time: Duration::from_secs(4 * 60 * 60),
        output: 16 << 20,
        together: false,
        strays: false,
    };
}

/// The output of a program and its exit status.
#[derive(Debug)]
pub(crate) struct Output {
    /// The exit status.
    pub status: ExitStatus,
    /// Standard output, and standard error if both go together.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
}

/// The reason why a program has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessError {
    /// It could not be started.
    #[error("{0}")]
    NotStarted(#[from] std::io::Error),
    /// It exceeded its time limit.
    #[error("timed out after {} s", limit.as_secs_f64())]
    TimedOut {
        /// The time limit.
        limit: Duration,
        /// Its output so far, from both streams.
        output: Vec<u8>,
    },
    /// It cannot be killed, or the system cannot report how it ended.
    #[error("its exit status is not available: {0}")]
    Lost(std::io::Error),
}

/// Runs a program to its end. Streams set in `command` are replaced.
///
/// # Errors
///
/// Any [`ProcessError`]. A program that fails is not an error here.
pub(crate) fn run(command: &mut Command, limits: &Limits) -> Result<Output, ProcessError> {
    run_watched(command, limits, &mut Watchdog::new(None))
}

/// Like [`run`], with a watch that also guards something else.
pub(crate) fn run_watched(
    command: &mut Command,
    limits: &Limits,
    watch: &mut Watchdog,
) -> Result<Output, ProcessError> {
    let deadline = Instant::now() + limits.time;
    let (mut running, streams) = Running::start(command, limits, watch)?;
    let readers = streams
        .into_iter()
        .map(|stream| running.keep(stream, limits.output))
        .collect::<Result<Vec<_>, _>>()?;
    #[cfg(unix)]
    running.tell_end()?;
    let in_time = running.wait(deadline);
    tree::kill_group(&running.child);
    if !in_time || limits.strays {
        tree::kill_marked(watch.mark());
    }
    // A killed process ends at once, unless it waits for a disk that does not answer.
    running.wait(Instant::now() + PATIENCE);
    // A stream is closed when the last process that holds it ends. A process that left the group may still
    // hold it.
    if !running.all_closed(SHORT) {
        tree::kill_marked(watch.mark());
        running.all_closed(PATIENCE);
    }
    watch.ended();
    if !running.ended {
        return Err(ProcessError::Lost(ErrorKind::TimedOut.into()));
    }
    let status = running.child.wait().map_err(ProcessError::Lost)?;
    let mut streams = readers.iter().map(|kept| match kept.lock() {
        Ok(mut kept) => kept.take(),
        Err(poisoned) => poisoned.into_inner().take(),
    });
    let stdout = streams.next().unwrap_or_default();
    let stderr = streams.next().unwrap_or_default();
    if in_time {
        Ok(Output {
            status,
            stdout,
            stderr,
        })
    } else {
        Err(ProcessError::TimedOut {
            limit: limits.time,
            output: [stdout, stderr].concat(),
        })
    }
}

/// How long to wait for an event that must come, before giving up.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait for an event that should come at once, before investigating.
const SHORT: Duration = Duration::from_millis(200);

/// How often to ask whether a program has ended, if it cannot be waited for.
const POLL: Duration = Duration::from_millis(10);

enum Event {
    /// The program ended. It is still to be waited for, so that its process number is not reused.
    #[cfg_attr(not(unix), expect(dead_code))]
    Ended,
    /// Nobody writes to a stream any more.
    Closed,
}

type Stream = Box<dyn Read + Send>;

/// A program that has not been waited for.
struct Running {
    child: Child,
    ended: bool,
    /// The number of open streams.
    open: usize,
    sender: Sender<Event>,
    events: Receiver<Event>,
}

impl Running {
    /// Starts a program in a process group of its own.
    fn start(
        command: &mut Command,
        limits: &Limits,
        watch: &mut Watchdog,
    ) -> Result<(Running, Vec<Stream>), ProcessError> {
        command.stdin(Stdio::null());
        command.env(watch::VARIABLE, watch.mark());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let mut streams: Vec<Stream> = Vec::new();
        if limits.together {
            let (reader, writer) = std::io::pipe()?;
            command.stdout(writer.try_clone()?).stderr(writer);
            streams.push(Box::new(reader));
        } else {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let started = spawn(command);
        // Our own end of the pipe would keep it open.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = started?;
        watch.started(child.id());
        if let Some(stdout) = child.stdout.take() {
            streams.push(Box::new(stdout));
        }
        if let Some(stderr) = child.stderr.take() {
            streams.push(Box::new(stderr));
        }
        let (sender, events) = channel();
        let running = Running {
            child,
            ended: false,
            open: streams.len(),
            sender,
            events,
        };
        Ok((running, streams))
    }

    /// Reads a stream to its end in a thread, so that the program is never blocked by us.
    fn keep(
        &self,
        stream: Stream,
        bound: usize,
    ) -> Result<Arc<Mutex<BoundedOutput>>, ProcessError> {
        let kept = Arc::new(Mutex::new(BoundedOutput::default()));
        let ours = Arc::clone(&kept);
        let events = self.sender.clone();
        thread::Builder::new().spawn(move || {
            read(stream, bound, &ours);
            // The receiver may be gone.
            let _ = events.send(Event::Closed);
        })?;
        Ok(kept)
    }

    /// Sends [`Event::Ended`] when the program ends, but does not reap it: until it is reaped, its number,
    /// which is that of its group, cannot be reused.
    #[cfg(unix)]
    fn tell_end(&self) -> Result<(), ProcessError> {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let pid = Pid::from_child(&self.child);
        let events = self.sender.clone();
        thread::Builder::new().spawn(move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while waitid(WaitId::Pid(pid), options).err() == Some(rustix::io::Errno::INTR) {}
            let _ = events.send(Event::Ended);
        })?;
        Ok(())
    }

    /// Waits until the program has ended. Returns whether it has.
    fn wait(&mut self, deadline: Instant) -> bool {
        while !self.ended {
            let left = deadline.saturating_duration_since(Instant::now());
            // If nobody reports the end, the program is polled.
            let step = if cfg!(unix) { left } else { left.min(POLL) };
            match self.events.recv_timeout(step) {
                Ok(Event::Ended) => self.ended = true,
                Ok(Event::Closed) => self.open -= 1,
                Err(_) if !cfg!(unix) && matches!(self.child.try_wait(), Ok(Some(_))) => {
                    self.ended = true;
                }
                Err(_) if left.is_zero() => break,
                Err(_) => {}
            }
        }
        self.ended
    }

    /// Waits until all streams are closed. Returns whether they are.
    fn all_closed(&mut self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        while self.open > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(Event::Closed) => self.open -= 1,
                Ok(Event::Ended) => self.ended = true,
                Err(_) => return false,
            }
        }
        true
    }
}

impl Drop for Running {
    /// Kills the program if an error occurred in between.
    fn drop(&mut self) {
        if !self.ended {
            tree::kill_group(&self.child);
            // Reaps it if it is gone. Never waits.
            let _ = self.child.try_wait();
        }
    }
}

/// Starts a program. A file that was just written, for example by a package manager, is busy until all
/// processes that have it open, including their children, have closed it; hence the retries.
fn spawn(command: &mut Command) -> std::io::Result<Child> {
    let mut pause = Duration::from_millis(5);
    loop {
        match command.spawn() {
            Err(e) if e.kind() == ErrorKind::ExecutableFileBusy && pause < SHORT => {
                thread::sleep(pause);
                pause *= 2;
            }
            result => return result,
        }
    }
}

/// The part of a stream that is kept.
#[derive(Default)]
struct BoundedOutput {
    bytes: Vec<u8>,
    dropped: u64,
}

impl BoundedOutput {
    fn take(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.bytes);
        if self.dropped > 0 {
            let note = format!("\n({} more bytes were dropped)\n", self.dropped);
            bytes.extend(note.into_bytes());
        }
        bytes
    }
}

fn read(mut stream: Stream, bound: usize, kept: &Mutex<BoundedOutput>) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let n = match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let Ok(mut kept) = kept.lock() else { break };
        let room = bound.saturating_sub(kept.bytes.len()).min(n);
        kept.bytes.extend_from_slice(&buffer[..room]);
        kept.dropped += (n - room) as u64;
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(text: &str, limits: &Limits) -> Result<Output, ProcessError> {
        run(Command::new("/bin/sh").args(["-c", text]), limits)
    }

    #[test]
    fn streams_and_status() {
        let output = shell("echo out; echo err >&2; exit 7", &Limits::QUESTION).unwrap();
        assert_eq!(output.status.code(), Some(7));
        assert_eq!(
            (&output.stdout[..], &output.stderr[..]),
            (&b"out\n"[..], &b"err\n"[..])
        );
        let together = Limits {
            together: true,
            ..Limits::QUESTION
        };
        let output = shell("echo out; echo err >&2; echo out", &together).unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "out\nerr\nout\n");
    }

    #[test]
    fn each_stream_is_bounded() {
        let bound = Limits {
            output: 10,
            ..Limits::QUESTION
        };
        let output = shell("printf 0123456789; printf 0123456789abc >&2", &bound).unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "0123456789");
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            "0123456789\n(3 more bytes were dropped)\n"
        );
    }

    #[test]
    fn time_is_up() {
        let start = Instant::now();
        let short = Limits {
            time: Duration::from_millis(300),
            ..Limits::QUESTION
        };
        // A background process that holds the stream, and one that waits for it.
        let error = shell("echo on; sleep 60 & sleep 60; wait", &short).unwrap_err();
        assert_eq!(error.to_string(), "timed out after 0.3 s");
        assert!(matches!(error, ProcessError::TimedOut { output, .. } if output == b"on\n"));
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn what_is_not_there() {
        let error = run(&mut Command::new("/no/such/program"), &Limits::QUESTION).unwrap_err();
        assert!(matches!(error, ProcessError::NotStarted(_)), "{error}");
    }
}
