//! Projects without Rust: main programs in Farfel, with a `Cargo.toml` for their settings.
//!
//! Cargo finds nothing to build in such a project, and rejects it. So it is built here: each source with a
//! main program becomes an executable, together with all sources that have none. Main programs under `tests/`
//! and `test/` are tests, in packages with Rust, too.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use farfel_driver::{Config, Session};

use crate::args::{CargoOptions, LintOptions, Targets, Test};
use crate::error::{EXIT_ERRORS, Error, Result};
use crate::shell::Shell;
use crate::{cargo, compiler, files, libraries, manifest, watched};

/// A project without Rust.
pub struct Project {
    /// Its settings, with the libraries that it uses.
    pub config: Config,
    /// All its sources except those of tests.
    pub sources: Vec<PathBuf>,
    /// The sources of its tests.
    pub tests: Vec<PathBuf>,
    programs: Vec<Program>,
    /// The sources without a main program.
    common: Vec<PathBuf>,
}

/// A main program.
struct Program {
    name: String,
    /// Its source, then all others that it may call.
    files: Vec<PathBuf>,
}

impl Project {
    /// Returns the project in a directory, if it is one without Rust.
    ///
    /// # Errors
    ///
    /// Its settings or sources have errors.
    pub fn in_directory(dir: &Path) -> Result<Option<Project>> {
        let Some(manifest) = manifest::manifest_without_rust(dir) else {
            return Ok(None);
        };
        let mut config = Config::load(dir)?;
        if farfel_driver::source_files(&config)?.is_empty() {
            return Ok(None);
        }
        libraries::by_path(&mut config, dir, &manifest)?;
        Project::with_settings(config).map(Some)
    }

    /// Returns the sources of a package with Rust, and its tests in Fortran, if it has any.
    ///
    /// # Errors
    ///
    /// Its settings or sources have errors.
    pub fn beside_rust(options: &CargoOptions, targets: &Targets) -> Result<Option<Project>> {
        let selected = [&options.package, &options.bin, &options.example];
        if options.workspace
            || selected.iter().any(|s| !s.is_empty())
            || !cargo::parts(targets).is_empty()
        {
            return Ok(None);
        }
        let dir = manifest::manifest_dir(options.manifest_path.as_deref())?;
        let Some(manifest) = manifest::manifest_of_package(&dir) else {
            return Ok(None);
        };
        let helpers = manifest.get("build-dependencies");
        if helpers
            .and_then(|h| h.get(manifest::BUILD_HELPER))
            .is_none()
        {
            return Ok(None);
        }
        let mut config = Config::load(&dir)?;
        let tests = farfel_driver::test_files(&config)?;
        if farfel_driver::main_programs(&tests, &config)?.is_empty() {
            return Ok(None);
        }
        libraries::of_package(&mut config, &dir, &manifest)?;
        Project::with_settings(config).map(Some)
    }

    fn with_settings(config: Config) -> Result<Project> {
        let sources = farfel_driver::source_files(&config)?;
        let main = farfel_driver::main_programs(&sources, &config)?;
        let is_main = |file: &&PathBuf| main.contains(file);
        let mut common: Vec<PathBuf> = sources.iter().filter(|f| !is_main(f)).cloned().collect();
        common.extend(farfel_driver::c_source_files(&config)?);
        let names = match &main[..] {
            [_] => vec![config.name.clone()],
            _ => names_of(&main, &config.root),
        };
        let programs = main.iter().zip(names).map(|(file, name)| Program {
            name,
            files: with(file, &common),
        });
        let tests = farfel_driver::test_files(&config)?;
        Ok(Project {
            tests,
            programs: programs.collect(),
            config,
            sources,
            common,
        })
    }

    /// Returns the selected project, if it is one without Rust.
    ///
    /// # Errors
    ///
    /// As [`Project::in_directory`]; there is no project.
    pub fn find(options: &CargoOptions, targets: &Targets) -> Result<Option<Project>> {
        let dir = manifest::manifest_dir(options.manifest_path.as_deref())?;
        let found = Project::in_directory(&dir)?;
        if found.is_some() {
            cargo::not_without_rust(options, targets)?;
        }
        Ok(found)
    }

    /// Returns the selected programs; without names, all of them.
    fn chosen(&self, names: &[String]) -> Result<Vec<&Program>> {
        if self.programs.is_empty() {
            return Err(Error::fixable(format!(
                "no source of `{}` has a main program, and there is no Rust either",
                self.config.name
            ))
            .help("write a PROGRAM, or add Rust with `farfel init` and a `src/lib.rs`"));
        }
        if let Some(name) = names
            .iter()
            .find(|n| self.programs.iter().all(|p| p.name != **n))
        {
            return Err(
                Error::fixable(format!("no program `{name}` in this project"))
                    .help(format!("there are: {}", self.names())),
            );
        }
        let chosen = |p: &&Program| names.is_empty() || names.contains(&p.name);
        Ok(self.programs.iter().filter(chosen).collect())
    }

    /// Returns the sources of the program if there is only one; `None` for a library.
    ///
    /// # Errors
    ///
    /// There are several.
    pub fn only_program(&self) -> Result<Option<Vec<PathBuf>>> {
        match self.programs.as_slice() {
            [] => Ok(None),
            [only] => Ok(Some(only.files.clone())),
            _ => Err(Error::fixable(format!(
                "this project has several programs: {}",
                self.names()
            ))
            .help("name the files of one")),
        }
    }

    /// Returns the sources for tests: the subprograms of the project, and the sources that tests share. If
    /// the project has a single program, its source is included, so that subprograms in it can be tested,
    /// too.
    fn beside_tests(&self, tests: &[PathBuf]) -> Vec<PathBuf> {
        let mut common = match self.programs.as_slice() {
            [only] => only.files.clone(),
            _ => self.common.clone(),
        };
        let shared = self.tests.iter().filter(|f| !tests.contains(f));
        common.extend(shared.cloned());
        common
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.programs.iter().map(|p| p.name.as_str()).collect();
        names.join(", ")
    }

    fn config(&self, release: bool, lints: Option<&LintOptions>) -> Result<Config> {
        let mut config = self.config.clone();
        if release && config.opt_level.is_none() {
            config.opt_level = Some("3".into());
        } else if config.debug.is_none() {
            // For source lines in backtraces.
            config.debug = Some(!release);
        }
        lints.map_or(Ok(()), |l| l.apply(&mut config))?;
        Ok(config)
    }

    /// Returns the folder for executables.
    fn folder(&self, release: bool, options: &CargoOptions) -> PathBuf {
        let variables = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"];
        let set = || {
            variables
                .iter()
                .find_map(std::env::var_os)
                .map(PathBuf::from)
        };
        let target = options.target_dir.clone().or_else(set);
        let target = target.unwrap_or_else(|| self.config.root.join("target"));
        target.join(if release { "release" } else { "debug" })
    }
}

/// `farfel build`; returns the executables.
///
/// # Errors
///
/// The sources have errors; there is no compiler.
pub fn build(
    project: &Project,
    release: bool,
    options: &CargoOptions,
    lints: Option<&LintOptions>,
    shell: &mut Shell,
) -> Result<Vec<PathBuf>> {
    let started = Instant::now();
    let chosen = project.chosen(&options.bin)?;
    let config = project.config(release, lints)?;
    compiler::ensure(&config, shell)?;
    let folder = project.folder(release, options);
    make(&folder)?;
    let mut made = Vec::new();
    for program in chosen {
        let what = format!("{} v{}", program.name, config.version);
        let out = files::executable(&folder, &program.name);
        let session = Session::of_main(&program.files, &config)?.with_times_in(times_of(&out));
        let built = watched::build(&session, what, shell, |s| s.build_program(&out))?;
        files::show_built(&built, shell);
        made.push(out);
    }
    let shown: Vec<String> = made
        .iter()
        .map(|p| format!("`{}`", near(p).display()))
        .collect();
    let seconds = started.elapsed().as_secs_f64();
    shell.status(
        "Finished",
        format_args!("{} in {seconds:.2}s", shown.join(", ")),
    );
    Ok(made)
}

/// `farfel clean`: removes the files that [`build`] and [`test`] have created.
///
/// # Errors
///
/// A file cannot be removed.
pub fn clean(
    project: &Project,
    only_release: bool,
    options: &CargoOptions,
    shell: &mut Shell,
) -> Result {
    let tests = farfel_driver::main_programs(&project.tests, &project.config)?;
    let tests = tests.iter().map(|t| PathBuf::from("tests").join(stem(t)));
    let programs = project.programs.iter().map(|p| PathBuf::from(&p.name));
    let names: Vec<PathBuf> = programs.chain(tests).collect();
    let mut removed = 0;
    for release in [false, true] {
        if only_release && !release {
            continue;
        }
        let folder = project.folder(release, options);
        for name in &names {
            let file = files::executable(&folder, name);
            // The recorded times that the next build would have used.
            let times = times_of(&file);
            let _ = std::fs::remove_dir_all(&times);
            let _ = times.parent().map(std::fs::remove_dir);
            match std::fs::remove_file(&file) {
                Ok(()) => removed += 1,
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                Err(e) => return Err(Error::io("remove", &file, &e)),
            }
        }
    }
    let files = if removed == 1 { "file" } else { "files" };
    shell.status("Removed", format_args!("{removed} {files}"));
    Ok(())
}

/// `farfel run`; fails with the exit code of the program.
///
/// # Errors
///
/// Those of [`build`]; there are several programs and none is named.
pub fn run(
    project: &Project,
    release: bool,
    options: &CargoOptions,
    arguments: &[std::ffi::OsString],
    shell: &mut Shell,
) -> Result<u8> {
    if project.chosen(&options.bin)?.len() > 1 {
        return Err(Error::fixable("this project has several programs")
            .help(format!("choose one with `--bin`: {}", project.names())));
    }
    let made = build(project, release, options, None, shell)?;
    let Some(program) = made.first() else {
        return Ok(0);
    };
    let mut command = Command::new(near(program));
    command.args(arguments);
    shell.status("Running", cargo::command_line(&command));
    Ok(cargo::code(cargo::status(command, shell)?))
}

/// `farfel check`.
///
/// # Errors
///
/// The sources have errors.
pub fn check(project: &Project, lints: &LintOptions, shell: &mut Shell) -> Result {
    let config = project.config(false, Some(lints))?;
    if project.programs.is_empty() {
        let session = Session::of_project(&config)?;
        let report = watched::run(&session, shell, Session::check)?;
        shell.report(&report);
        files::show_note(&session, shell);
        files::show_passed(&session, shell);
        shell.status("Checked", &config.name);
        return Ok(());
    }
    for program in project.chosen(&[])? {
        let session = Session::of_main(&program.files, &config)?;
        let report = watched::run(&session, shell, Session::check)?;
        shell.report(&report);
        files::show_note(&session, shell);
        files::show_passed(&session, shell);
        shell.status("Checked", &program.name);
    }
    Ok(())
}

/// Returns the programs for `farfel verify`: the tests, or else the programs, each with its name and sources;
/// only the named programs, if any are named.
///
/// # Errors
///
/// There is no program; a source cannot be read.
pub fn to_verify(project: &Project, names: &[String]) -> Result<Vec<(String, Vec<PathBuf>)>> {
    let tests = farfel_driver::main_programs(&project.tests, &project.config)?;
    if names.is_empty() && !tests.is_empty() {
        let common = project.beside_tests(&tests);
        let tests = tests.iter();
        return Ok(tests.map(|t| (stem(t), with(t, &common))).collect());
    }
    let chosen = project.chosen(names)?.into_iter();
    Ok(chosen.map(|p| (p.name.clone(), p.files.clone())).collect())
}

/// `farfel test`: each main program under `tests/` and `test/` runs with the sources of the project, and
/// passes if its exit code is 0.
///
/// # Errors
///
/// The sources have errors; a test fails.
pub fn test(project: &Project, args: &Test, shell: &mut Shell) -> Result {
    let mut config = project.config(args.release, None)?;
    let tests = farfel_driver::main_programs(&project.tests, &config)?;
    if tests.is_empty() {
        shell.note("there are no tests: a main program in `tests/` or `test/` is one, and passes if it ends with exit code 0");
        return Ok(());
    }
    compiler::ensure(&config, shell)?;
    config.debug = config.debug.or(Some(true));
    let common = project.beside_tests(&tests);
    let folder = project.folder(args.release, &args.cargo).join("tests");
    make(&folder)?;
    let (mut passed, mut failed) = (0, Vec::new());
    for test in &tests {
        let name = stem(test);
        if args
            .name
            .as_ref()
            .is_some_and(|wanted| !name.contains(wanted.as_str()))
        {
            continue;
        }
        let out = files::executable(&folder, &name);
        let session = Session::of_main(&with(test, &common), &config)?;
        let session = session.with_times_in(times_of(&out));
        let built = watched::run(&session, shell, |s| s.build_program(&out))?;
        files::show_built(&built, shell);
        if args.no_run {
            continue;
        }
        let output = Command::new(&out)
            .args(&args.arguments)
            .current_dir(&project.config.root)
            .stdin(Stdio::null())
            .output()
            .map_err(|source| Error::io("run", &out, &source))?;
        let good = output.status.success();
        say(
            shell,
            &format!("test {name} ... {}\n", if good { "ok" } else { "FAILED" }),
        )?;
        match good {
            true => passed += 1,
            false => {
                let mut text = output.stdout;
                text.extend(output.stderr);
                let code = cargo::code(output.status);
                failed.push((name, code, String::from_utf8_lossy(&text).into_owned()));
            }
        }
    }
    if args.no_run {
        return Ok(());
    }
    for (name, code, text) in &failed {
        say(
            shell,
            &format!("\n---- {name}: exit code {code} ----\n{text}"),
        )?;
    }
    let result = if failed.is_empty() { "ok" } else { "FAILED" };
    let count = failed.len();
    say(
        shell,
        &format!("\ntest result: {result}. {passed} passed; {count} failed\n"),
    )?;
    match count {
        0 => Ok(()),
        _ => Err(Error::Exit(EXIT_ERRORS)),
    }
}

fn say(shell: &mut Shell, text: &str) -> Result {
    shell
        .out(text)
        .map_err(|error| Error::invalid(format!("cannot write to standard output: {error}")))
}

/// Returns the folder in which the build of an executable records its times, beside the executable.
fn times_of(out: &Path) -> PathBuf {
    let name = out.file_name().unwrap_or_default();
    out.with_file_name(".farfel").join(name)
}

/// Returns a source followed by others.
fn with(file: &Path, others: &[PathBuf]) -> Vec<PathBuf> {
    let others = others.iter().filter(|other| *other != file);
    std::iter::once(file.to_owned())
        .chain(others.cloned())
        .collect()
}

/// Returns the names of programs: those of their files, with the folder or the extension if that is
/// ambiguous.
fn names_of(files: &[PathBuf], dir: &Path) -> Vec<String> {
    let stems: Vec<String> = files.iter().map(|f| stem(f)).collect();
    let paths: Vec<String> = files
        .iter()
        .map(|f| f.strip_prefix(dir).unwrap_or(f).with_extension(""))
        .map(|f| {
            f.components()
                .map(|c| c.as_os_str().to_string_lossy())
                .collect::<Vec<_>>()
                .join("-")
        })
        .collect();
    let ending = |f: &PathBuf| {
        f.extension()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    // Some file systems are case-insensitive.
    let is_one = |names: &[String], name: &str| {
        names
            .iter()
            .filter(|n| n.eq_ignore_ascii_case(name))
            .count()
            == 1
    };
    files
        .iter()
        .zip(stems.iter().zip(&paths))
        .map(
            |(file, (stem, path))| match (is_one(&stems, stem), is_one(&paths, path)) {
                (true, _) => stem.clone(),
                (false, true) => path.clone(),
                (false, false) => format!("{path}-{}", ending(file)),
            },
        )
        .collect()
}

fn stem(file: &Path) -> String {
    file.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Returns a path relative to the current directory, as users would write it.
pub fn near(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    let inside = here.and_then(|here| Some(path.strip_prefix(here).ok()?.to_owned()));
    inside.unwrap_or_else(|| path.to_owned())
}

fn make(folder: &Path) -> Result {
    std::fs::create_dir_all(folder).map_err(|source| Error::io("make", folder, &source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_have_names_of_their_own() {
        let files = ["/p/a.f", "/p/src/b.f", "/p/old/b.f", "/p/c.f", "/p/c.f90"].map(PathBuf::from);
        assert_eq!(
            names_of(&files, Path::new("/p")),
            ["a", "src-b", "old-b", "c-f", "c-f90"]
        );
    }
}
