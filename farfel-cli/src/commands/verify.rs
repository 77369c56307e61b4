//! `farfel verify`.

use std::ffi::OsString;
use std::io::stderr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use farfel_driver::verify::{self, Block, Verdict, table};
use farfel_driver::{Config, Session};
use tempfile::TempDir;

use super::{build::errors, intents::print};
use crate::args::{Targets, TextFormat, Verify};
use crate::error::{EXIT_ERRORS, Error, Result};
use crate::programs::Project;
use crate::shell::Shell;
use crate::{cargo, compiler, files, programs, project, watched};

/// Checks the derivatives of all AD blocks that a program or tests execute, and prints a table.
pub fn run(args: &Verify, shell: &mut Shell) -> Result {
    if !cfg!(unix) {
        return Err(Error::invalid(
            "checks of derivatives run in processes that are forked, which this system has not",
        ));
    }
    let checks = Checks::new(args)?;
    let (blocks, ended) = if !args.files.is_empty() {
        cargo::not_for_files(&args.cargo, &Targets::default())?;
        files::readable(&args.files)?;
        let mut config = files::config(&args.files, &args.file_options, args.release)?;
        checked(&mut config, args);
        let program = checks.folder.path().join("program");
        checks.program(&args.files, &program, &config, args, shell)?
    } else if let Some(project) = Project::find(&args.cargo, &Targets::default())? {
        checks.without_rust(&project, args, shell)?
    } else {
        checks.with_cargo(args, shell)?
    };
    if blocks.is_empty() {
        shell.note("there is no AD block");
    }
    let checked = verify::results(blocks, &checks.results())?;
    let text = match args.format {
        TextFormat::Text => table::text(&checked),
        TextFormat::Json => table::json(&checked),
    };
    print(&text, shell)?;
    if let Some(what) = ended {
        shell.warn(format!("{what}, so that later blocks may be missing"));
    }
    match checked.iter().any(|c| c.verdict == Verdict::Wrong) {
        true => Err(Error::Exit(EXIT_ERRORS)),
        false => Ok(()),
    }
}

/// The blocks that were checked, and how the program ended if it failed.
type VerifiedRun = (Vec<Block>, Option<String>);

struct Checks {
    /// The folder with the results.
    folder: TempDir,
    variables: Vec<(&'static str, OsString)>,
}

impl Checks {
    fn new(args: &Verify) -> Result<Checks> {
        let folder = tempfile::Builder::new()
            .prefix("farfel-verify-")
            .tempdir()
            .map_err(|source| Error::io("write in", &std::env::temp_dir(), &source))?;
        let results = folder.path().join("results");
        let scratch = folder.path().join("results.d");
        std::fs::create_dir(&scratch).map_err(|e| Error::io("make", &scratch, &e))?;
        Ok(Checks {
            variables: vec![
                (verify::OUT, results.into()),
                (verify::POINTS, args.points.to_string().into()),
                (verify::SECONDS, args.seconds.to_string().into()),
                // A forked process has only one thread.
                ("RUST_TEST_THREADS", "1".into()),
            ],
            folder,
        })
    }

    fn results(&self) -> PathBuf {
        self.folder.path().join("results")
    }

    /// Runs a program that checks itself. Its output goes to standard error, because the table is on standard
    /// output.
    fn run(&self, mut command: Command, shell: &mut Shell) -> Result<Option<String>> {
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdout(Stdio::from(stderr()));
        let shown = cargo::command_line(&command);
        let status = cargo::status(command, shell)?;
        Ok((!status.success()).then(|| {
            let code = cargo::code(status);
            format!("{shown} has ended with exit code {code}")
        }))
    }

    fn program(
        &self,
        sources: &[PathBuf],
        program: &Path,
        config: &Config,
        args: &Verify,
        shell: &mut Shell,
    ) -> Result<VerifiedRun> {
        compiler::ensure(config, shell)?;
        let what = programs::near(&sources[0]).display().to_string();
        let session = Session::of_main(sources, config)?;
        let built = watched::build(&session, what, shell, |s| s.build_program(program))?;
        files::show_built(&built, shell);
        let mut command = Command::new(program);
        command.args(&args.arguments);
        Ok((built.blocks, self.run(command, shell)?))
    }

    /// Checks a project without Rust: its tests, or else its programs.
    fn without_rust(
        &self,
        project: &Project,
        args: &Verify,
        shell: &mut Shell,
    ) -> Result<VerifiedRun> {
        let mut blocks = Vec::new();
        let mut ended = None;
        for (name, sources) in programs::to_verify(project, &args.cargo.bin)? {
            let mut config = project.config.clone();
            // Blocks are numbered separately in each program.
            let plain = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
            config.name = format!("{}-{plain}", config.name);
            checked(&mut config, args);
            let program = self.folder.path().join(&name);
            let (more, how) = self.program(&sources, &program, &config, args, shell)?;
            blocks.extend(more);
            ended = ended.or(how);
        }
        Ok((blocks, ended))
    }

    fn with_cargo(&self, args: &Verify, shell: &mut Shell) -> Result<VerifiedRun> {
        if args.double {
            return Err(Error::invalid(
                "`--double` would change what Rust calls, and is for programs in Farfel alone",
            ));
        }
        let _record = project::prepare(&args.cargo, None, shell)?;
        let runs_program = !args.cargo.bin.is_empty();
        let (build, run) = match runs_program {
            true => ("build", "run"),
            false => ("test", "test"),
        };
        let mut command = cargo::command(build, args.release, &args.cargo, shell)?;
        if !runs_program {
            command.arg("--no-run");
        }
        command.env(verify::ON, "1");
        let (status, scripts) = cargo::status_and_scripts(command, shell)?;
        errors(status)?;
        let blocks = scripts.iter().flat_map(|(_, out)| verify::blocks_in(out));
        let blocks = blocks.collect();
        let mut command = cargo::command(run, args.release, &args.cargo, shell)?;
        if !runs_program {
            command.arg("--no-fail-fast");
        }
        command.env(verify::ON, "1");
        command.arg("--").args(&args.arguments);
        Ok((blocks, self.run(command, shell)?))
    }
}

/// Adjusts the settings for a program that checks itself.
fn checked(config: &mut Config, args: &Verify) {
    config.verify = true;
    if args.double {
        config.real_kind = 8;
    }
}
