//! `farfel fmt`.

use farfel_driver::format::{Case, Formatted, Options, format_file};
use farfel_driver::{Config, Error as BuildError};
use farfel_lang::syntax::Form;
use std::path::PathBuf;

use crate::args::{FileOptions, Fmt, LetterCase, SourceForm};
use crate::error::{Error, Result};
use crate::programs::Project;
use crate::shell::Shell;
use crate::{files, manifest, project};

/// Formats source files.
///
/// # Errors
///
/// A file has errors, cannot be formatted, or would change although `--check` is given.
pub fn run(args: &Fmt, shell: &mut Shell) -> Result {
    if args.all {
        let dir = manifest::manifest_dir(args.project.manifest_path.as_deref())?;
        if Project::in_directory(&dir)?.is_none() {
            let packages = project::farfel_packages(&dir, &[], true)?;
            let mut all = Vec::new();
            for package in packages {
                let config = Config::load(&package.dir)?;
                all.push((farfel_driver::source_files(&config)?, config));
            }
            return lay_out(&all, args, shell);
        }
    }
    lay_out(&[sources(args)?], args, shell)
}

/// Formats the sources of packages, with the settings of each.
fn lay_out(packages: &[(Vec<PathBuf>, Config)], args: &Fmt, shell: &mut Shell) -> Result {
    let options = Options {
        form: args.form.map(|form| match form {
            SourceForm::Fixed => Form::Fixed,
            SourceForm::Free => Form::Free,
        }),
        case: match args.case {
            LetterCase::Keep => Case::Keep,
            LetterCase::Lower => Case::Lower,
            LetterCase::Upper => Case::Upper,
        },
    };
    let mut failed = false;
    let mut changed = 0;
    let each = packages.iter().flat_map(|(paths, config)| {
        // Files that cannot be read are reported below.
        let passed = farfel_driver::passed_through(paths, config).unwrap_or_default();
        let each = paths.iter();
        each.map(move |path| (path, config, passed.contains(path)))
    });
    for (path, config, passed) in each {
        if passed {
            let shown = path.display();
            match args.files.is_empty() {
                true => shell.verbose("Skipped", format_args!("{shown}, which gfortran compiles as it is")),
                false => shell.note(format_args!(
                    "`{shown}` is left as it is: it is modern Fortran, which gfortran compiles as it is"
                )),
            }
            continue;
        }
        let formatted = match format_file(path, config, &options) {
            Ok(formatted) => formatted,
            Err(error) => {
                failed = true;
                refused(error, path, shell);
                continue;
            }
        };
        if args.stdout {
            out(&formatted.after, shell)?;
            continue;
        }
        if !formatted.changed() {
            shell.verbose("Unchanged", &formatted.name);
            continue;
        }
        changed += 1;
        if args.diff {
            out(&difference(&formatted), shell)?;
        } else if args.check {
            shell.status("Differs", &formatted.name);
        } else if let Err(error) = formatted.write() {
            failed = true;
            Error::from(error).show(shell);
        } else {
            shell.status("Formatted", &formatted.name);
            if formatted.includes_left {
                shell.warn(format_args!(
                    "{} reads files by INCLUDE, which must be in the same source form",
                    formatted.name
                ));
            }
        }
    }
    if args.check && changed > 0 {
        let files = if changed == 1 { "file is" } else { "files are" };
        return Err(Error::fixable(format!(
            "{changed} {files} not laid out as `farfel fmt` does"
        ))
        .help("`farfel fmt --diff` shows what would change"));
    }
    if failed {
        return Err(Error::Exit(crate::error::EXIT_ERRORS));
    }
    Ok(())
}

fn sources(args: &Fmt) -> Result<(Vec<PathBuf>, Config)> {
    if args.files.is_empty() {
        let dir = manifest::manifest_dir(args.project.manifest_path.as_deref())?;
        if let Some(found) = Project::in_directory(&dir)? {
            let sources = found.sources.iter().chain(&found.tests);
            return Ok((sources.cloned().collect(), found.config));
        }
        let config = project::config(&args.project)?;
        return Ok((farfel_driver::source_files(&config)?, config));
    }
    files::readable(&args.files)?;
    let as_in_the_project = FileOptions {
        real_kind: None,
        form: None,
        fc: None,
        include: Vec::new(),
    };
    let config = files::config(&args.files, &as_in_the_project, false)?;
    Ok((args.files.clone(), config))
}

/// Reports why a file is left unchanged.
fn refused(error: BuildError, path: &std::path::Path, shell: &mut Shell) {
    let unreadable = matches!(error, BuildError::Diagnostics(_));
    Error::from(error).show(shell);
    if unreadable {
        let divided = std::fs::read(path).is_ok_and(|text| {
            let text = String::from_utf8_lossy(&text).to_ascii_uppercase();
            text.lines()
                .any(|l| l.starts_with('#') || l.trim_start().starts_with("INCLUDE"))
        });
        let help = divided.then_some(
            "INCLUDE files are not read and lines for a preprocessor are not followed: each \
             part that they divide a file into must close what it opens",
        );
        shell.error(
            format_args!("`{}` is left as it is: it cannot be read", path.display()),
            help,
        );
    }
}

fn difference(formatted: &Formatted) -> String {
    similar::TextDiff::from_lines(&*formatted.before, &*formatted.after)
        .unified_diff()
        .header(&formatted.name, &format!("{} (laid out)", formatted.name))
        .to_string()
}

fn out(text: &str, shell: &mut Shell) -> Result {
    shell
        .out(text)
        .map_err(|error| Error::invalid(format!("cannot write to standard output: {error}")))
}
