//! `farfel intents`, and helpers for the other tables.

use crate::args::{Intents, TextFormat, View};
use crate::error::{Error, Result};
use crate::shell::Shell;
use crate::{files, project};
use farfel_driver::{Config, Session};
use std::path::PathBuf;

/// Prints what procedures do with their arguments and with COMMON.
pub fn run(args: &Intents, shell: &mut Shell) -> Result {
    let (named, config) = program(&args.view)?;
    let (intents, report) = Session::of(named.as_deref(), &config)?.intents()?;
    shell.report(&report);
    let text = match args.view.format {
        TextFormat::Text => intents.text(),
        TextFormat::Json => intents.json(),
    };
    print(&text, shell)
}

/// Returns the files on the command line, if any, and the settings.
pub(super) fn program(view: &View) -> Result<(Option<Vec<PathBuf>>, Config)> {
    if view.files.is_empty() {
        return project::program_or_package(&view.project);
    }
    files::readable(&view.files)?;
    let config = files::config(&view.files, &view.file_options, false)?;
    Ok((Some(view.files.clone()), config))
}

/// Writes a table to standard output.
pub(super) fn print(text: &str, shell: &mut Shell) -> Result {
    shell
        .out(text)
        .map_err(|error| Error::invalid(format!("cannot write to standard output: {error}")))
}
