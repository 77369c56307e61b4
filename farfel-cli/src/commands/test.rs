//! `farfel test`.

use crate::args::Test;
use crate::error::{Error, Result};
use crate::programs::Project;
use crate::shell::Shell;
use crate::{cargo, programs, project};

/// Runs the tests of a project with cargo and, if they pass, the tests in Fortran; returns cargo's exit code
/// if they fail.
pub fn run(args: &Test, shell: &mut Shell) -> Result {
    if let Some(project) = Project::find(&args.cargo, &args.targets)? {
        return programs::test(&project, args, shell);
    }
    let _record = project::prepare(&args.cargo, None, shell)?;
    let mut command = cargo::command("test", args.release, &args.cargo, shell)?;
    command.args(cargo::parts(&args.targets));
    if args.no_run {
        command.arg("--no-run");
    }
    if args.no_fail_fast {
        command.arg("--no-fail-fast");
    }
    command.args(&args.name).arg("--").args(&args.arguments);
    match cargo::code(cargo::status(command, shell)?) {
        0 => match Project::beside_rust(&args.cargo, &args.targets)? {
            Some(project) => programs::test(&project, args, shell),
            None => Ok(()),
        },
        code => Err(Error::Exit(code)),
    }
}
