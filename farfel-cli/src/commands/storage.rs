//! `farfel storage`.

use farfel_driver::Session;

use super::intents;
use crate::args::{Storage, TextFormat};
use crate::error::Result;
use crate::shell::Shell;

/// Prints the layout of the variables in COMMON and EQUIVALENCE.
pub fn run(args: &Storage, shell: &mut Shell) -> Result {
    let (named, config) = intents::program(&args.view)?;
    let (storage, report) = Session::of(named.as_deref(), &config)?.storage()?;
    shell.report(&report);
    if storage.text().is_empty() {
        shell.note("there is no COMMON and no EQUIVALENCE");
    }
    let text = match args.view.format {
        TextFormat::Text => storage.text(),
        TextFormat::Json => storage.json(),
    };
    intents::print(&text, shell)
}
