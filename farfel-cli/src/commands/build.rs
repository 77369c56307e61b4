//! `farfel build`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::args::Build;
use crate::error::{EXIT_FAULTS, Error, Result};
use crate::shell::Shell;
use crate::{cargo, compiler, files, project};

/// Compiles a project with cargo, or single files to one executable.
pub fn run(args: &Build, shell: &mut Shell) -> Result {
    if args.files.is_empty() {
        project::prepare(&args.cargo, shell)?;
        let command = cargo::command("build", args.release, &args.cargo, shell)?;
        return faults(cargo::status(command, shell)?);
    }
    let started = Instant::now();
    cargo::not_for_files(&args.cargo)?;
    files::readable(&args.files)?;
    let config = files::config(&args.files, &args.file_options, args.release)?;
    compiler::ensure(&config, shell)?;
    let out = match &args.output {
        Some(out) => out.clone(),
        None => executable_for(&args.files[0])?,
    };
    shell.status("Compiling", files::shown(&args.files));
    let report = farfel_build::build_program(&args.files, &out, &config)?;
    files::show_warnings(&report, shell);
    let seconds = started.elapsed().as_secs_f64();
    shell.status(
        "Finished",
        format_args!("`{}` in {seconds:.2}s", out.display()),
    );
    Ok(())
}

/// Cargo ends with 101 for whatever it was; here that means faults in the code.
pub fn faults(status: std::process::ExitStatus) -> Result {
    match cargo::code(status) {
        0 => Ok(()),
        101 => Err(Error::Exit(EXIT_FAULTS)),
        code => Err(Error::Exit(code)),
    }
}

/// `game.ff` makes `game` in the current directory, as a compiler would put it.
fn executable_for(source: &Path) -> Result<PathBuf> {
    let stem = source
        .file_stem()
        .ok_or_else(|| Error::cannot(format!("`{}` is no source file", source.display())))?;
    let out = PathBuf::from(stem).with_extension(std::env::consts::EXE_EXTENSION);
    if out == source {
        return Err(Error::cannot(format!(
            "the executable would replace its source `{}`",
            source.display()
        ))
        .help("name the executable with `-o`"));
    }
    Ok(out)
}
