//! `farfel check`.

use farfel_driver::Session;

use super::build::errors;
use crate::args::{CargoOptions, Check};
use crate::error::Result;
use crate::programs::Project;
use crate::shell::Shell;
use crate::{cargo, files, programs, project, watched};

/// Checks single files, or a whole project including its Rust code.
pub fn run(args: &Check, shell: &mut Shell) -> Result {
    if !args.files.is_empty() {
        cargo::not_for_files(&args.cargo, &args.targets)?;
        files::readable(&args.files)?;
        let mut config = files::config(&args.files, &args.file_options, args.release)?;
        args.lints.apply(&mut config)?;
        let session = Session::of_files(&args.files, &config)?;
        let report = watched::run(&session, shell, Session::check)?;
        shell.report(&report);
        files::show_note(&session, shell);
        files::show_passed(&session, shell);
        shell.status("Checked", files::file_list(&args.files));
        return Ok(());
    }
    if let Some(project) = Project::find(&args.cargo, &args.targets)? {
        return programs::check(&project, &args.lints, shell);
    }
    let _record = project::prepare(&args.cargo, Some(&args.lints), shell)?;
    for session in project::sessions(&args.cargo)? {
        files::show_passed(&session, shell);
    }
    // Uses a separate profile directory, because a build has objects in its OUT_DIRs and a check has none:
    // this way neither invalidates the results of the other.
    let base = match (&args.cargo.profile, args.release) {
        (Some(name), _) => name,
        (None, true) => "release",
        (None, false) => "dev",
    };
    let options = CargoOptions {
        profile: Some(PROFILE.into()),
        ..args.cargo.clone()
    };
    let mut command = cargo::command("check", false, &options, shell)?;
    command.args(cargo::parts(&args.targets));
    command.args(["--config", &format!("profile.{PROFILE}.inherits={base:?}")]);
    command.env(REQUEST, "check");
    args.lints.hand_on(&mut command);
    errors(cargo::status(command, shell)?)
}

/// The environment variable that tells build scripts not to compile anything.
const REQUEST: &str = "FARFEL_REQUEST";

/// The cargo profile of checks.
pub const PROFILE: &str = "farfel-check";
