//! `farfel build`.

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use farfel_driver::Session;
use farfel_driver::timings::{self, Timings};

use crate::args::{Build, CargoOptions};
use crate::error::{EXIT_ERRORS, Error, Result};
use crate::programs::Project;
use crate::shell::Shell;
use crate::timings::{self as timings_page, BuildRecord};
use crate::{cargo, compiler, files, programs, project, watched};

/// Compiles a project with cargo, or single files to one executable.
pub fn run(args: &Build, shell: &mut Shell) -> Result {
    if args.files.is_empty() {
        if let Some(project) = Project::find(&args.cargo, &args.targets)? {
            if args.timings {
                let help = "`farfel build --timings FILES` measures the build of a program";
                return Err(Error::invalid(
                    "`--timings` is for cargo, and there is no Rust in this project",
                )
                .help(help));
            }
            programs::build(
                &project,
                args.release,
                &args.cargo,
                Some(&args.lints),
                shell,
            )?;
            return Ok(());
        }
        let started = SystemTime::now();
        let _record = project::prepare(&args.cargo, Some(&args.lints), shell)?;
        let mut command = cargo::command("build", args.release, &args.cargo, shell)?;
        command.args(cargo::parts(&args.targets));
        args.lints.hand_on(&mut command);
        if !args.timings {
            return errors(cargo::status(command, shell)?);
        }
        let (status, scripts) = cargo::status_and_scripts(command, shell)?;
        errors(status)?;
        return project_timings(&args.cargo, scripts, started, shell);
    }
    let started = Instant::now();
    cargo::not_for_files(&args.cargo, &args.targets)?;
    files::readable(&args.files)?;
    let mut config = files::config(&args.files, &args.file_options, args.release)?;
    args.lints.apply(&mut config)?;
    compiler::ensure(&config, shell)?;
    let out = match &args.output {
        Some(out) => {
            files::replaces_no_source(out, &args.files)?;
            out.clone()
        }
        None => executable_for(&args.files[0])?,
    };
    let session = Session::of_files(&args.files, &config)?;
    let built = watched::build(&session, files::file_list(&args.files), shell, |s| {
        s.build_program(&out)
    })?;
    files::show_built(&built, shell);
    if args.timings {
        let mut name = out.file_name().unwrap_or_default().to_owned();
        name.push("-timings.html");
        let built = BuildRecord {
            name: files::file_list(&args.files),
            timings: built.timings,
            fresh: false,
        };
        write_page(
            &out.with_file_name(name),
            &built.name.clone(),
            &[built],
            shell,
        )?;
    }
    let seconds = started.elapsed().as_secs_f64();
    shell.status(
        "Finished",
        format_args!("`{}` in {seconds:.2}s", out.display()),
    );
    Ok(())
}

/// Writes the timings page of a project from the records of its build scripts.
fn project_timings(
    options: &CargoOptions,
    scripts: cargo::BuildScripts,
    started: SystemTime,
    shell: &mut Shell,
) -> Result {
    let mut built = Vec::new();
    for (name, out_dir) in scripts {
        // Records of another version may be unreadable.
        let Ok(Some(timings)) = Timings::read(&out_dir) else {
            continue;
        };
        let written = std::fs::metadata(out_dir.join(timings::FILE)).and_then(|m| m.modified());
        let fresh = written.is_ok_and(|time| time < started);
        built.push(BuildRecord {
            name,
            timings,
            fresh,
        });
    }
    if built.is_empty() {
        return Err(Error::fixable("no build script has left timings").help(
            "packages with Farfel sources have a build script that calls farfel_build::compile()",
        ));
    }
    built.sort_by(|a, b| a.name.cmp(&b.name));
    for package in built.iter().filter(|b| b.fresh) {
        shell.note(format_args!(
            "nothing has changed in {}, so its build script did not run; the page has the times of the previous build",
            package.name
        ));
    }
    let page = project::target_dir(options)?
        .join("farfel-timings")
        .join("farfel-timings.html");
    let names: Vec<&str> = built.iter().map(|b| b.name.as_str()).collect();
    let title = names.join(", ");
    write_page(&page, &title, &built, shell)
}

fn write_page(path: &Path, title: &str, built: &[BuildRecord], shell: &mut Shell) -> Result {
    let page = timings_page::page(title, built)?;
    let dir = path.parent().unwrap_or(path);
    if !dir.as_os_str().is_empty() {
        std::fs::create_dir_all(dir).map_err(|source| Error::io("make", dir, &source))?;
    }
    std::fs::write(path, page).map_err(|source| Error::io("write", path, &source))?;
    shell.status("Timings", format_args!("in `{}`", path.display()));
    Ok(())
}

/// Turns a failure of cargo into an exit code: cargo returns 101 for every failure; here it means errors in
/// the code.
pub fn errors(status: std::process::ExitStatus) -> Result {
    match cargo::code(status) {
        0 => Ok(()),
        101 => Err(Error::Exit(EXIT_ERRORS)),
        code => Err(Error::Exit(code)),
    }
}

/// Returns the executable's path, which is in the current directory, as with other compilers: `game` for
/// `game.ff`.
fn executable_for(source: &Path) -> Result<PathBuf> {
    let stem = source
        .file_stem()
        .ok_or_else(|| Error::invalid(format!("`{}` is not a source file", source.display())))?;
    let out = files::executable(Path::new(""), stem);
    if out == source {
        return Err(Error::invalid(format!(
            "the executable would replace its source `{}`",
            source.display()
        ))
        .help("name the executable with `-o`"));
    }
    Ok(out)
}
