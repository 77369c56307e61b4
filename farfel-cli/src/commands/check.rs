//! `farfel check`.

use farfel_driver::Session;

use super::build::faults;
use crate::args::Check;
use crate::error::Result;
use crate::programs::Project;
use crate::shell::Shell;
use crate::{cargo, files, programs, project};

/// Looks for faults: in single files, or in all that a project has, Rust included.
pub fn run(args: &Check, shell: &mut Shell) -> Result {
    if !args.files.is_empty() {
        cargo::not_for_files(&args.cargo)?;
        files::readable(&args.files)?;
        let mut config = files::config(&args.files, &args.file_options, args.release)?;
        args.lints.apply(&mut config)?;
        let report = Session::of_files(&args.files, &config)?.check()?;
        files::show_warnings(&report, shell);
        shell.status("Checked", files::shown(&args.files));
        return Ok(());
    }
    if let Some(project) = Project::find(&args.cargo)? {
        return programs::check(&project, &args.lints, shell);
    }
    project::prepare(&args.cargo, Some(&args.lints), shell)?;
    let mut command = cargo::command("check", args.release, &args.cargo, shell)?;
    args.lints.hand_on(&mut command);
    faults(cargo::status(command, shell)?)
}
