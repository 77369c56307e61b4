//! `farfel expand`.

use crate::args::{Expand, TextFormat};
use crate::error::{Error, Result};
use crate::shell::Shell;
use crate::{files, project};

/// Prints the program after a stage of the compiler, or what copies it needs, on standard
/// output.
pub fn run(args: &Expand, shell: &mut Shell) -> Result {
    if args.explain {
        return explain(args, shell);
    }
    let (sources, config) = if args.files.is_empty() {
        match project::program_or_package(&args.project)? {
            (Some(program), config) => (program, config),
            (None, config) => (farfel_build::source_files(&config)?, config),
        }
    } else {
        files::readable(&args.files)?;
        (
            args.files.clone(),
            files::config(&args.files, &args.file_options, false)?,
        )
    };
    let (text, report) = farfel_build::expand(&sources, args.stage, &config)?;
    files::show_warnings(&report, shell);
    shell
        .out(&text)
        .map_err(|error| Error::cannot(format!("cannot write to standard output: {error}")))
}

fn explain(args: &Expand, shell: &mut Shell) -> Result {
    let config = if args.files.is_empty() {
        project::config(&args.project)?
    } else {
        files::readable(&args.files)?;
        files::config(&args.files, &args.file_options, false)?
    };
    let named = (!args.files.is_empty()).then_some(args.files.as_slice());
    let (copies, report) = farfel_build::explain_copies(named, &config)?;
    files::show_warnings(&report, shell);
    let text = match args.format {
        TextFormat::Text => copies.text(),
        TextFormat::Json => copies.json(),
    };
    shell
        .out(&text)
        .map_err(|error| Error::cannot(format!("cannot write to standard output: {error}")))
}
