//! A line that shows the progress of a build.
//!
//! At a terminal the line is updated in place; elsewhere, and in CI, a new line is written now and then. The
//! cursor is left at the beginning of a line that is updated, where cargo, too, overwrites it.

use std::fs::File;
use std::io::{IsTerminal, Write, stderr};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use farfel_driver::progress::{Progress, ProgressSnapshot};

const VERB: Style = AnsiColor::BrightCyan.on_default().bold();

/// The intervals for updating the line in place, and for writing a new one.
const MOVES_EVERY: Duration = Duration::from_millis(100);
const STAYS_EVERY: Duration = Duration::from_secs(10);

/// The width of a terminal that does not report it, and of the bar in a wide one.
const WIDTH: usize = 80;
const BAR: usize = 25;

/// The environment variable that tells build scripts the terminal from which `farfel build` was started.
pub const TERMINAL: &str = "FARFEL_PROGRESS";

/// Erases the line at whose beginning the cursor is.
const ERASE: &str = "\r\x1b[K";

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A line that is updated in place.
    Moves,
    /// New lines.
    Stays,
    /// Not at all.
    Silent,
}

impl Mode {
    /// Returns the mode for standard error, if progress may be shown at all. As for cargo,
    /// `CARGO_TERM_PROGRESS_WHEN` can be `never`.
    pub fn of_terminal() -> Mode {
        let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|v| v == value);
        let in_ci = std::env::var("CI").is_ok_and(|v| !v.is_empty() && v != "false");
        match stderr().is_terminal() && !in_ci && !is("TERM", "dumb") {
            _ if is("CARGO_TERM_PROGRESS_WHEN", "never") => Mode::Silent,
            true => Mode::Moves,
            false => Mode::Stays,
        }
    }
}

/// Shows the progress of a build on standard error while `make` runs.
pub fn with_progress_line<T>(
    progress: &Progress,
    mode: Mode,
    color: bool,
    make: impl FnOnce() -> T,
) -> T {
    let (every, moves) = match mode {
        Mode::Moves => (MOVES_EVERY, true),
        Mode::Stays => (STAYS_EVERY, false),
        Mode::Silent => return make(),
    };
    let (over, wait) = channel::<()>();
    std::thread::scope(move |scope| {
        scope.spawn(move || {
            let mut last = ProgressSnapshot::default();
            let mut written = false;
            while wait.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let now = progress.now();
                if now == last {
                    continue;
                }
                let _ = match moves {
                    true => write!(stderr(), "{}", moving(&now, "Building", "", width(), color)),
                    false => writeln!(stderr(), "{}", staying(&now, color)),
                };
                (last, written) = (now, true);
            }
            if moves && written {
                erase();
            }
        });
        // The other thread ends even if `make` panics.
        let _over = over;
        make()
    })
}

/// Writes a permanent line above the one that is updated in place.
pub fn line_above(line: &str, mode: Mode, color: ColorChoice) {
    // A single lock for both, and the second without colours if there should be none.
    let mut err = stderr().lock();
    if mode == Mode::Moves {
        let _ = write!(err, "{ERASE}");
    }
    let _ = writeln!(AutoStream::new(err, color), "{line}");
}

/// Erases a line that was updated in place.
pub fn erase() {
    let _ = write!(stderr(), "{ERASE}");
}

/// Reports that Ctrl-C ended a build.
pub fn interrupted(now: &ProgressSnapshot) {
    if Mode::of_terminal() == Mode::Moves {
        erase();
    }
    let kept = match now.done {
        0 => String::new(),
        done => format!(
            " after {done} of {} steps; finished object files are kept",
            now.steps
        ),
    };
    let _ = writeln!(stderr(), "{:>12} the build{kept}", "Interrupted");
}

/// The progress line of a build script, written to the terminal because the script's own output goes to
/// cargo.
pub struct ScriptLine {
    terminal: File,
    /// The package that is built.
    name: String,
    /// The progress that is currently shown.
    last: Mutex<ProgressSnapshot>,
}

impl ScriptLine {
    /// Returns the line if `farfel` started cargo at a terminal.
    pub fn of_environment() -> Option<ScriptLine> {
        let path = std::env::var_os(TERMINAL).filter(|path| !path.is_empty())?;
        let terminal = File::options().write(true).open(path).ok()?;
        terminal.is_terminal().then(|| ScriptLine {
            terminal,
            name: std::env::var("CARGO_PKG_NAME").unwrap_or_default(),
            last: Mutex::default(),
        })
    }

    /// Shows the progress.
    pub fn show(&self, now: &ProgressSnapshot) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if *last == *now {
            return;
        }
        *last = now.clone();
        let color = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        let width = terminal_size::terminal_size_of(&self.terminal);
        let width = width.map_or(WIDTH, |(width, _)| usize::from(width.0));
        let line = moving(now, "Building", &self.name, width, color);
        let _ = (&self.terminal).write_all(line.as_bytes());
    }

    /// Erases the line.
    pub fn erase(&self) {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != ProgressSnapshot::default() {
            let _ = (&self.terminal).write_all(ERASE.as_bytes());
        }
    }
}

/// Formats a line to be updated in place, in a terminal of this width.
fn moving(now: &ProgressSnapshot, verb: &str, name: &str, width: usize, color: bool) -> String {
    let mut rest = String::new();
    if !name.is_empty() {
        rest += name;
        rest.push(' ');
    }
    if let Some(full) = (BAR * now.done).checked_div(now.steps) {
        if width >= 2 * BAR + 30 {
            let head = if full < BAR { ">" } else { "" };
            let (full, empty) = ("=".repeat(full), BAR - full - head.len());
            rest += &format!("[{full}{head}{}] ", " ".repeat(empty));
        }
        rest += &format!("{}/{}", now.done, now.steps);
        if now.kept > 0 {
            rest += &format!(", {} from the cache", now.kept);
        }
        if let Some(left) = now.left_text() {
            rest += &format!(", {left}");
        }
        if !now.running.is_empty() {
            rest += ": ";
        }
    }
    rest += &now.running.join(", ");
    // One column stays free, so that no terminal wraps.
    let room = width.saturating_sub(12 + 1 + 1);
    if rest.chars().count() > room {
        let kept: String = rest.chars().take(room.saturating_sub(3)).collect();
        rest = kept + "...";
    }
    let style = if color { VERB } else { Style::new() };
    format!("{ERASE}{style}{verb:>12}{style:#} {rest}\r")
}

/// Formats a new line.
fn staying(now: &ProgressSnapshot, color: bool) -> String {
    let style = if color { VERB } else { Style::new() };
    format!("{style}{:>12}{style:#} {}", "Building", now.text())
}

/// Returns the width of the terminal on standard error.
fn width() -> usize {
    let size = terminal_size::terminal_size_of(stderr());
    size.map_or(WIDTH, |(width, _)| usize::from(width.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> ProgressSnapshot {
        ProgressSnapshot {
            done: 5,
            steps: 20,
            kept: 2,
            running: vec!["compiling SOLVE".into(), "differentiating ROOT".into()],
            left: None,
        }
    }

    /// Returns the part of a line that a terminal shows.
    fn visible(line: &str) -> &str {
        line.trim_start_matches(ERASE).trim_end_matches('\r')
    }

    #[test]
    fn lines_fit_into_their_terminals() {
        let line = moving(&now(), "Building", "", 120, false);
        assert_eq!(
            visible(&line),
            "    Building [======>                  ] 5/20, 2 from the cache: compiling SOLVE, differentiating ROOT"
        );
        let late = ProgressSnapshot {
            left: Some(42),
            ..now()
        };
        let line = moving(&late, "Building", "", 60, false);
        assert_eq!(
            visible(&line),
            "    Building 5/20, 2 from the cache, about 42 s left: co..."
        );
        let line = moving(&now(), "Building", "demo", 40, false);
        assert_eq!(visible(&line), "    Building demo 5/20, 2 from the c...");
        for width in 0..200 {
            let line = moving(&now(), "Building", "demo", width, false);
            assert!(visible(&line).len() < width.max(14 + 3), "{width}: {line}");
        }
        let all = ProgressSnapshot {
            done: 20,
            running: Vec::new(),
            ..now()
        };
        let line = moving(&all, "Building", "", 120, false);
        assert!(line.contains("[=========================] 20/20"), "{line}");
    }

    #[test]
    fn before_steps_are_known_there_is_what_runs() {
        let reading = ProgressSnapshot {
            running: vec!["reading sources".into()],
            ..ProgressSnapshot::default()
        };
        let line = moving(&reading, "Building", "", 80, false);
        assert_eq!(visible(&line), "    Building reading sources");
        assert_eq!(staying(&reading, false), "    Building reading sources");
        assert_eq!(
            staying(&now(), false),
            "    Building 5 of 20 steps, 2 from the cache: compiling SOLVE, differentiating ROOT"
        );
    }
}
