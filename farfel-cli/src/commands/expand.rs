//! `farfel expand`.

use std::path::PathBuf;

use farfel_driver::{Config, Session};

use super::intents::print;
use crate::args::{Expand, TextFormat};
use crate::error::{Error, Result};
use crate::shell::Shell;
use crate::{derivatives, files, project};

/// Prints the program after a stage of the compiler, or the copies of subprograms that it needs, on standard
/// output.
pub fn run(args: &Expand, shell: &mut Shell) -> Result {
    if args.explain {
        return explain(args, shell);
    }
    if args.analysis {
        return analysis(args, shell);
    }
    if let Some(page) = &args.html {
        files::replaces_no_source(page, &args.files)?;
    }
    let (sources, config) = if args.files.is_empty() {
        match project::program_or_package(&args.project)? {
            (Some(program), config) => (program, config),
            (None, config) => (farfel_driver::source_files(&config)?, config),
        }
    } else {
        files::readable(&args.files)?;
        (
            args.files.clone(),
            files::config(&args.files, &args.file_options, false)?,
        )
    };
    if let Some(page) = &args.html {
        let (both, report) = Session::of_files(&sources, &config)?.expand_by_units()?;
        shell.report(&report);
        let title = match args.files.is_empty() {
            true => config.name.clone(),
            false => files::file_list(&args.files),
        };
        let text = derivatives::page(&title, &both)?;
        return std::fs::write(page, text).map_err(|e| Error::io("write", page, &e));
    }
    let session = Session::of_files(&sources, &config)?;
    let (text, report) = match args.root.as_slice() {
        [] => session.expand(args.stage)?,
        roots => session.expand_below(args.stage, roots)?,
    };
    shell.report(&report);
    print(&text, shell)
}

/// Returns the files on the command line, if any, and the settings.
fn chosen(args: &Expand) -> Result<(Option<&[PathBuf]>, Config)> {
    if args.files.is_empty() {
        return Ok((None, project::config(&args.project)?));
    }
    files::readable(&args.files)?;
    let config = files::config(&args.files, &args.file_options, false)?;
    Ok((Some(&args.files), config))
}

fn explain(args: &Expand, shell: &mut Shell) -> Result {
    let (named, config) = chosen(args)?;
    let (copies, report) = Session::of(named, &config)?.copies()?;
    shell.report(&report);
    print(
        &match args.format {
            TextFormat::Text => copies.text(),
            TextFormat::Json => copies.json(),
        },
        shell,
    )
}

fn analysis(args: &Expand, shell: &mut Shell) -> Result {
    let (named, config) = chosen(args)?;
    let (activity, report) = Session::of(named, &config)?.activity()?;
    shell.report(&report);
    print(
        &match args.format {
            TextFormat::Text => activity.text(),
            TextFormat::Json => activity.json(),
        },
        shell,
    )
}
