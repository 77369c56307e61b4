//! Builds with a progress line, and the handling of Ctrl-C.

use std::fmt::Display;
use std::sync::{Arc, Mutex, Once, PoisonError};

use farfel_driver::Session;
use farfel_driver::progress::Progress;

use crate::progress::{self, Mode};
use crate::shell::{Shell, Verbosity};

/// The exit code that a shell shows after Ctrl-C: 128 plus the number of the signal.
const INTERRUPTED: i32 = 130;

/// What decides how the process ends on Ctrl-C.
enum State {
    /// Nothing: the command ends.
    Idle,
    /// A child process, to which the terminal also sends Ctrl-C.
    Child,
    /// A build: its line is erased, and its progress reported.
    Build(Arc<Progress>),
}

static STATE: Mutex<State> = Mutex::new(State::Idle);

/// Leaves Ctrl-C to the child processes: the terminal sends it to them as well, they decide how to end, and
/// this process ends after them.
pub fn leave_to_children() {
    set(State::Child);
}

/// Runs a long operation with a progress line; Ctrl-C leaves a clean terminal and reports how far it got.
pub fn run<T>(session: &Session, shell: &Shell, work: impl FnOnce(&Session) -> T) -> T {
    let progress = session.progress();
    let mode = mode(shell);
    set(State::Build(progress.clone()));
    let made = progress::with_progress_line(&progress, mode, shell.colors_err(), || work(session));
    set(State::Idle);
    made
}

/// Builds `what`, as [`run`] does, and prints `Compiling` once there is something to compile, or an error.
pub fn build<T, E>(
    session: &Session,
    what: impl Display,
    shell: &mut Shell,
    work: impl FnOnce(&Session) -> Result<T, E>,
) -> Result<T, E> {
    let status = Arc::new(Mutex::new(shell.status_line("Compiling", what)));
    let (line, color, mode) = (status.clone(), shell.color(), mode(shell));
    session.progress().on_work(move || {
        if let Some(line) = line.lock().unwrap_or_else(PoisonError::into_inner).take() {
            progress::line_above(&line, mode, color);
        }
    });
    let made = run(session, shell, work);
    if made.is_err()
        && let Some(line) = status.lock().unwrap_or_else(PoisonError::into_inner).take()
    {
        shell.rendered(&line);
    }
    made
}

/// Returns the mode of the progress line.
pub fn mode(shell: &Shell) -> Mode {
    match shell.verbosity {
        Verbosity::Quiet => Mode::Silent,
        Verbosity::Normal | Verbosity::Verbose => Mode::of_terminal(),
    }
}

fn set(state: State) {
    static HANDLER: Once = Once::new();
    *STATE.lock().unwrap_or_else(PoisonError::into_inner) = state;
    HANDLER.call_once(|| {
        // If this fails, Ctrl-C ends the process at once, which does little harm.
        let _ = ctrlc::set_handler(|| {
            let state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
            match &*state {
                State::Child => return,
                State::Build(progress) => progress::interrupted(&progress.now()),
                State::Idle => {}
            }
            std::process::exit(INTERRUPTED);
        });
    });
}
