//! `farfel expand`.

use farfel_build::Config;

use crate::args::Expand;
use crate::error::{Error, Result};
use crate::shell::Shell;
use crate::{files, project};

/// Prints the program after a stage of the compiler on standard output.
pub fn run(args: &Expand, shell: &mut Shell) -> Result {
    let (sources, config) = if args.files.is_empty() {
        of_project(args)?
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

fn of_project(args: &Expand) -> Result<(Vec<std::path::PathBuf>, Config)> {
    let manifest_dir = project::manifest_dir(args.manifest_path.as_deref())?;
    let names: Vec<String> = args.package.iter().cloned().collect();
    let packages = project::farfel_packages(&manifest_dir, &names, false)?;
    let [package] = packages.as_slice() else {
        return Err(match packages.len() {
            0 => Error::cannot("this project has no package that depends on farfel-build"),
            _ => Error::cannot("this workspace has several packages with Farfel sources")
                .help("name one with `-p`, or name files"),
        });
    };
    let config = Config::load(&package.dir)?;
    let sources = farfel_build::source_files(&config)?;
    Ok((sources, config))
}
