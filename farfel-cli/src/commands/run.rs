//! `farfel run`.

use farfel_driver::Session;

use std::process::Command;

use crate::args::{Run, Targets};
use crate::error::{Error, Result};
use crate::programs::Project;
use crate::shell::Shell;
use crate::{cargo, compiler, files, programs, project, watched};

/// Runs a project with cargo, or the main program in single files. The program inherits standard input and
/// output, and its exit code is returned.
pub fn run(args: &Run, shell: &mut Shell) -> Result {
    if args.files.is_empty() {
        if let Some(project) = Project::find(&args.cargo, &Targets::default())? {
            let (release, given) = (args.release, args.arguments.as_slice());
            return ended(programs::run(&project, release, &args.cargo, given, shell)?);
        }
        let _record = project::prepare(&args.cargo, None, shell)?;
        let mut command = cargo::command("run", args.release, &args.cargo, shell)?;
        command.arg("--").args(&args.arguments);
        return ended(cargo::code(cargo::status(command, shell)?));
    }
    cargo::not_for_files(&args.cargo, &Targets::default())?;
    files::readable(&args.files)?;
    let config = files::config(&args.files, &args.file_options, args.release)?;
    compiler::ensure(&config, shell)?;

    let folder = tempfile::Builder::new()
        .prefix("farfel-run-")
        .tempdir()
        .map_err(|source| Error::io("write in", &std::env::temp_dir(), &source))?;
    let program = folder
        .path()
        .join("program")
        .with_extension(std::env::consts::EXE_EXTENSION);
    let session = Session::of_files(&args.files, &config)?;
    let built = watched::build(&session, files::file_list(&args.files), shell, |s| {
        s.build_program(&program)
    })?;
    files::show_built(&built, shell);

    let mut command = Command::new(&program);
    command.args(&args.arguments);
    shell.verbose("Running", cargo::command_line(&command));
    watched::leave_to_children();
    let mut running = command
        .spawn()
        .map_err(|source| Error::io("run", &program, &source))?;
    // A running program keeps its file open, so nothing remains, however either process ends.
    if cfg!(unix) {
        let _ = std::fs::remove_dir_all(folder.path());
    }
    let status = running
        .wait()
        .map_err(|source| Error::io("wait for", &program, &source))?;
    ended(cargo::code(status))
}

/// Returns the program's exit code.
fn ended(code: u8) -> Result {
    if code == 0 {
        Ok(())
    } else {
        Err(Error::Exit(code))
    }
}
