//! Builds whose progress is shown, and what Ctrl-C does.

use std::fmt::Display;
use std::sync::{Arc, Mutex, Once, PoisonError};

use farfel_driver::Session;
use farfel_driver::progress::Progress;

use crate::progress::{self, Mode};
use crate::shell::{Shell, Verbosity};

/// The exit code that a shell shows for what Ctrl-C has ended: 128 and the number of the signal.
const INTERRUPTED: i32 = 130;

/// Who decides how to end.
enum State {
    /// Nobody: the command ends.
    Idle,
    /// A program that this one runs. The terminal sends Ctrl-C to it as well.
    Child,
    /// A build: its line goes, and how far it came is said.
    Build(Arc<Progress>),
}

static STATE: Mutex<State> = Mutex::new(State::Idle);

/// The terminal sends Ctrl-C to what we run as well as to us: how to end is its decision,
/// and we end after it.
pub fn leave_to_children() {
    set(State::Child);
}

/// Does something that takes a while: what it does is shown meanwhile, and Ctrl-C leaves a clean terminal
/// and says how far it came.
pub fn run<T>(session: &Session, shell: &Shell, work: impl FnOnce(&Session) -> T) -> T {
    let progress = session.progress();
    let mode = mode(shell);
    set(State::Build(progress.clone()));
    let made = progress::shown(&progress, mode, shell.colors_err(), || work(session));
    set(State::Idle);
    made
}

/// Builds `what`, as [`run`] does. That it is compiled is said when there is something to compile, or errors.
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

/// How progress is shown here.
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
        // Where that cannot be, Ctrl-C ends us at once, which is no disaster.
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
