//! Single files, without a project.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use farfel_driver::{Config, Session};
use farfel_lang::syntax::Form;

use crate::args::{FileOptions, SourceForm};
use crate::error::{Error, Result};
use crate::libraries;
use crate::shell::Shell;

/// Returns the path of a program's executable. The name may contain dots.
pub fn executable(folder: &Path, name: impl AsRef<OsStr>) -> PathBuf {
    let mut name = name.as_ref().to_owned();
    name.push(std::env::consts::EXE_SUFFIX);
    folder.join(name)
}

/// Returns the settings for `files`: those of the project that contains the first one, if any, with its
/// libraries, overridden by those of the environment and then of the command line.
///
/// # Errors
///
/// The settings of the project or of the environment are wrong, or its libraries cannot be found.
pub fn config(files: &[PathBuf], options: &FileOptions, release: bool) -> Result<Config> {
    let project = project_of(&files[0])?;
    let mut config = Config::load(&project)?;
    libraries::of_project(&mut config, &project)?;
    // Paths in the project's settings are relative to the project, those on the command line to the current
    // directory, and messages name files as on the command line.
    for dir in &mut config.include {
        *dir = project.join(&*dir);
    }
    if let Some(fc) = &mut config.fc
        && fc.components().count() > 1
    {
        *fc = project.join(&*fc);
    }
    config.root = PathBuf::from(".");
    // INCLUDE also looks in the project and beside the files.
    config.include.push(project);
    config.include.extend(files.iter().map(|file| dir_of(file)));
    let FileOptions {
        real_kind,
        form,
        fc,
        include,
    } = options;
    config.include.splice(0..0, include.iter().cloned());
    config.include_anywhere = true;
    if let Some(kind) = real_kind {
        config.real_kind = *kind;
    }
    if let Some(form) = form {
        config.form = Some(match form {
            SourceForm::Fixed => Form::Fixed,
            SourceForm::Free => Form::Free,
        });
    }
    if let Some(fc) = fc {
        config.fc = Some(fc.clone());
    }
    if release {
        config.opt_level = Some("3".into());
    } else if config.debug.is_none() {
        // For source lines in backtraces.
        config.debug = Some(true);
    }
    Ok(config)
}

/// Returns the nearest parent directory with a Cargo.toml, or else the file's own directory.
fn project_of(file: &Path) -> Result<PathBuf> {
    let dir = std::path::absolute(dir_of(file)).map_err(|e| Error::io("find", file, &e))?;
    let project = dir.ancestors().find(|dir| dir.join("Cargo.toml").is_file());
    Ok(project.unwrap_or(&dir).to_owned())
}

fn dir_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Checks that all `files` can be read and that not all of them are empty, before anything is started for
/// them.
///
/// # Errors
///
/// The first one that cannot be read, by name; or that all are empty.
pub fn readable(files: &[PathBuf]) -> Result {
    let mut empty = true;
    for file in files {
        empty &= read(file)?.trim_ascii().is_empty();
    }
    if empty {
        return Err(Error::fixable(format!(
            "nothing to compile: `{}` is empty",
            file_list(files)
        )));
    }
    Ok(())
}

/// Checks that no source is overwritten: `out` is neither one of `sources` nor named like a source. This
/// catches a forgotten name after `-o`.
///
/// # Errors
///
/// It is, or is named like one.
pub fn replaces_no_source(out: &Path, sources: &[PathBuf]) -> Result {
    let same = |source: &PathBuf| match (out.canonicalize(), source.canonicalize()) {
        (Ok(out), Ok(source)) => out == source,
        _ => false,
    };
    match farfel_driver::is_source_name(out) || sources.iter().any(same) {
        true => Err(Error::invalid(format!(
            "`{}` is a source, which would be replaced",
            out.display()
        ))
        .help("name another file to write")),
        false => Ok(()),
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let name = path.display();
    if path.is_dir() {
        return Err(
            Error::fixable(format!("`{name}` is a directory, not a source file"))
                .help("name source files, or a project with `--manifest-path`"),
        );
    }
    if !path.exists() && path.extension().is_none() {
        return Err(
            Error::fixable(format!("no such file `{name}`")).help(format!(
                "arguments for the program go after `--`: `-- {name}`"
            )),
        );
    }
    farfel_driver::read_file(path).map_err(|source| Error::io("read", path, &source))
}

/// Formats file names for a status line.
pub fn file_list(files: &[PathBuf]) -> String {
    let names: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    few(&names)
}

/// Formats file names if there are only a few; otherwise their number, and the first.
pub fn few<N: AsRef<str>>(names: &[N]) -> String {
    let listed = |names: &[N]| {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        names.join(", ")
    };
    match names {
        [a, b, c, _, _, _, ..] => {
            let first = [a, b, c].map(AsRef::as_ref).join(", ");
            format!("{} files ({first}, ...)", names.len())
        }
        _ => listed(names),
    }
}

/// Shows notes about sources that are not built.
pub fn show_note(session: &Session, shell: &mut Shell) {
    // Errors in them have been reported before.
    if let Ok(Some(note)) = session.note() {
        shell.warn(note);
    }
}

/// Lists the files that a check has not read, because gfortran compiles them as they are.
pub fn show_passed(session: &Session, shell: &mut Shell) {
    const NAMED: usize = 5;
    let passed = session.passed_through().unwrap_or_default();
    let names = passed.iter().take(NAMED).cloned().collect::<Vec<_>>();
    let more = match passed.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    if !names.is_empty() {
        shell.status(
            "Passing on",
            format_args!(
                "{}{more}, which gfortran compiles as they are in a build",
                names.join(", ")
            ),
        );
    }
}

/// Shows notes and warnings about a program that was built.
pub fn show_built(built: &farfel_driver::BuiltProgram, shell: &mut Shell) {
    shell.report(&built.report);
    for notice in &built.notices {
        shell.warn(notice);
    }
}

#[cfg(test)]
mod tests {
    use super::few;

    #[test]
    fn many_files_are_counted() {
        assert_eq!(few(&["a.f", "b.f"]), "a.f, b.f");
        assert_eq!(few(&["a", "b", "c", "d", "e"]), "a, b, c, d, e");
        assert_eq!(
            few(&["a", "b", "c", "d", "e", "f"]),
            "6 files (a, b, c, ...)"
        );
    }
}
