//! `farfel storage`.

use crate::args::{Storage, TextFormat};
use crate::error::{Error, Result};
use crate::shell::Shell;
use crate::{files, project};

/// Prints where the variables of a program lie in COMMON and EQUIVALENCE.
pub fn run(args: &Storage, shell: &mut Shell) -> Result {
    let (program, config) = if args.files.is_empty() {
        project::program_or_package(&args.project)?
    } else {
        files::readable(&args.files)?;
        let config = files::config(&args.files, &args.file_options, false)?;
        (Some(args.files.clone()), config)
    };
    let named = program.as_deref();
    let (storage, report) = farfel_build::storage(named, &config)?;
    files::show_warnings(&report, shell);
    let text = match args.format {
        TextFormat::Text => storage.text(),
        TextFormat::Json => storage.json(),
    };
    shell
        .out(&text)
        .map_err(|error| Error::cannot(format!("cannot write to standard output: {error}")))
}
