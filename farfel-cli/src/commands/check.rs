//! `farfel check`.

use farfel_build::Config;

use super::build::faults;
use crate::args::Check;
use crate::error::{Error, Result};
use crate::shell::Shell;
use crate::{cargo, compiler, files, project};

/// Looks for faults: in single files, or in all that a project has, Rust included.
pub fn run(args: &Check, shell: &mut Shell) -> Result {
    if !args.files.is_empty() {
        files::readable(&args.files)?;
        let config = files::config(&args.files, &args.file_options, args.release)?;
        let report = farfel_build::check(&args.files, &config)?;
        files::show_warnings(&report, shell);
        shell.status("Checked", files::shown(&args.files));
        return Ok(());
    }
    let manifest_dir = project::manifest_dir(args.cargo.manifest_path.as_deref())?;
    let packages =
        project::farfel_packages(&manifest_dir, &args.cargo.package, args.cargo.workspace)?;
    let mut faulty = None;
    for package in &packages {
        let dir = project::dir_of(package);
        let config = Config::load(&dir)?;
        let sources = farfel_build::source_files(&config)?;
        let files = match sources.len() {
            1 => "1 file".to_owned(),
            several => format!("{several} files"),
        };
        shell.status(
            "Checking",
            format_args!("Farfel sources of {} ({files})", package.name),
        );
        // All packages are read before giving up, so that all faults are seen at once.
        if let Err(error) = farfel_build::check(&sources, &config) {
            if let Some(before) = faulty.replace(error) {
                Error::from(before).show(shell);
            }
        }
    }
    if let Some(error) = faulty {
        return Err(error.into());
    }
    compiler::ensure(&Config::load(&manifest_dir)?, shell)?;
    let command = cargo::command("check", args.release, &args.cargo, shell)?;
    faults(cargo::status(command, shell)?)
}
