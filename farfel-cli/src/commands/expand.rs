//! `farfel expand`.

use crate::args::Expand;
use crate::error::{Error, Result};
use crate::shell::Shell;
use crate::{files, project};

/// Prints the program after a stage of the compiler on standard output.
pub fn run(args: &Expand, shell: &mut Shell) -> Result {
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
