//! One build, or one look at a program, stage by stage.
//!
//! | stage | method | what it gives |
//! |---|---|---|
//! | settings | [`Session::of_project`], [`Session::of_files`], [`Session::of_main`] | which sources, and what becomes of them |
//! | read | `read` | their text as one program, whose names are resolved |
//! | staged | `stage` | that program lowered; it calls derivatives that are not made yet |
//! | derivatives | `differentiate` | those derivatives |
//! | objects, bindings | [`Session::build_library`], [`Session::build_program`] | files |
//!
//! Whoever only looks at a program (the module `views`) stops at the stage that has what is shown.
//! Each stage reports all faults that it finds, and none begins after faults.

use crate::ad::{self, Chosen};
use crate::c_sources::{self, Compiled, Workshop};
use crate::cache::Cache;
use crate::gfortran::{self, Profile};
use crate::names::Names;
use crate::pass_through::{self, Passed};
use crate::passed;
use crate::plan::recorder::Recorder;
use crate::plan::shelf::Shelf;
use crate::progress::Progress;
use crate::read::{self, Beside, Goal, Read};
use crate::sources::{self, Found};
use crate::staged::{self, Staged};
use crate::timings::{From, Timings};
use crate::toolchain::Compiler;
use crate::workers::Workers;
use crate::{Config, Error, Report, toolchain};
use farfel_ad::schedule::Derivatives;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Settings and sources, and what all stages share.
pub struct Session {
    pub(crate) config: Config,
    pub(crate) goal: Goal,
    pub(crate) sources: Found,
    pub(crate) workers: Workers,
    pub(crate) recorder: Recorder,
    cache: OnceLock<Arc<Cache>>,
    reached: Mutex<BTreeSet<PathBuf>>,
    passed: OnceLock<Passed>,
    /// Where a program's build notes what took how long.
    pub(crate) times: Option<PathBuf>,
}

impl Session {
    /// The sources of a project, as its build script reads them: main programs are left out.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] when a setting has a value that it cannot have, or a source that the
    /// settings name does not exist; [`Error::Io`] when a directory cannot be read.
    pub fn of_project(config: &Config) -> Result<Session, Error> {
        config.check()?;
        let found = sources::find(config)?;
        Ok(Session::new(config, Goal::Library, found))
    }

    /// A program, or subprograms, in files.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] when a setting has a value that it cannot have.
    pub fn of_files(files: &[PathBuf], config: &Config) -> Result<Session, Error> {
        config.check()?;
        Ok(Session::new(config, Goal::Program, named(files)))
    }

    /// The main program in the first of the files: those in others are left out.
    ///
    /// # Errors
    ///
    /// Those of [`Session::of_files`].
    pub fn of_main(files: &[PathBuf], config: &Config) -> Result<Session, Error> {
        config.check()?;
        Ok(Session::new(config, Goal::First, named(files)))
    }

    /// The files, if any are named, else the project.
    ///
    /// # Errors
    ///
    /// Those of [`Session::of_project`].
    pub fn of(files: Option<&[PathBuf]>, config: &Config) -> Result<Session, Error> {
        match files {
            Some(files) => Session::of_files(files, config),
            None => Session::of_project(config),
        }
    }

    fn new(config: &Config, goal: Goal, sources: Found) -> Session {
        let reached = match goal {
            Goal::Library => sources.all().into_iter().collect(),
            Goal::Program | Goal::First => BTreeSet::new(),
        };
        Session {
            config: config.clone(),
            goal,
            sources,
            workers: Workers::from_environment(),
            recorder: Recorder::new(),
            cache: OnceLock::new(),
            reached: Mutex::new(reached),
            passed: OnceLock::new(),
            times: None,
        }
    }

    /// The files that gfortran gets as they are.
    pub(crate) fn passed(&self) -> Result<&Passed, Error> {
        if let Some(passed) = self.passed.get() {
            return Ok(passed);
        }
        let mut passed = Passed::among(&self.sources.all(), &self.config)?;
        match self.goal {
            Goal::Library => passed.leave_out_mains(|_| false),
            Goal::Program => {}
            Goal::First => {
                let first = self.sources.files.first();
                passed.leave_out_mains(|path| first.is_some_and(|f| f == path));
            }
        }
        for library in &self.config.libraries {
            passed.add_library(library, &self.config)?;
        }
        passed.look();
        self.add_reached(passed.reached.iter().cloned());
        Ok(self.passed.get_or_init(|| passed))
    }

    /// What there is to say of files that gfortran gets as they are though no setting names them.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or a setting names what is not there.
    pub fn note(&self) -> Result<Option<String>, Error> {
        Ok(self.passed()?.note())
    }

    /// The names of the files that gfortran gets as they are, whatever the reason.
    ///
    /// # Errors
    ///
    /// Those of [`Session::note`].
    pub fn passed_through(&self) -> Result<Vec<String>, Error> {
        let files = self.passed()?.files.iter().filter(|f| !f.of_library);
        Ok(files.map(|f| f.name.clone()).collect())
    }

    /// Has gfortran compile the files that it gets as they are, to see whether it takes them. Nothing is left
    /// but what the cache keeps.
    ///
    /// # Errors
    ///
    /// [`Error::Diagnostics`] with what it refuses; [`Error::NoFortranCompiler`].
    pub fn check_passed_through(&self) -> Result<Report, Error> {
        let mut report = Report::default();
        if self.passed()?.files.is_empty() {
            return Ok(report);
        }
        let profile = Profile {
            opt_level: "0".into(),
            debug: false,
        };
        let compiler = toolchain::find_or_install(&self.config)?;
        let flags = gfortran::flags_as_it_is(&self.config, &profile);
        self.compile_passed(&compiler, &Shelf::default(), &flags, &mut report)?;
        self.cache().finish();
        Ok(report)
    }

    /// Compiles the C sources, to see whether the compiler takes them. Nothing is left but what the cache keeps.
    ///
    /// # Errors
    ///
    /// [`Error::Diagnostics`] with what it refuses; there is no C compiler.
    pub fn check_c(&self) -> Result<(), Error> {
        let files = self.sources.all();
        if files.iter().any(|f| sources::is_c_source_name(f)) {
            let profile = Profile {
                opt_level: "2".into(),
                debug: false,
            };
            let with = Workshop {
                config: &self.config,
                profile: &profile,
                in_build_script: false,
                cache: self.cache(),
                shelf: &Shelf::default(),
                workers: &self.workers,
                recorder: &self.recorder,
            };
            c_sources::compile(&files, &with)?;
            self.cache().finish();
        }
        Ok(())
    }

    /// Compiles the files that gfortran gets as they are. What it warned of is added to `report`.
    pub(crate) fn compile_passed(
        &self,
        compiler: &Compiler,
        shelf: &Shelf,
        flags: &[String],
        report: &mut Report,
    ) -> Result<Compiled, Error> {
        let with = passed::Shop {
            config: &self.config,
            compiler,
            flags,
            cache: self.cache(),
            shelf,
            workers: &self.workers,
            recorder: &self.recorder,
        };
        passed::compile(self.passed()?, &with, report)
    }

    /// The files that have been read so far, INCLUDE files and C headers too, also where a stage
    /// found faults: as long as none of them changes and no source comes or goes, the outcome is
    /// the same.
    pub fn reached(&self) -> Vec<PathBuf> {
        let reached = self.reached.lock();
        let reached = reached.unwrap_or_else(PoisonError::into_inner);
        reached.iter().cloned().collect()
    }

    /// The directories in which sources were looked for; none where all are named.
    pub fn directories(&self) -> &[PathBuf] {
        &self.sources.directories
    }

    /// How far the build is, also for those who look from other threads.
    pub fn progress(&self) -> Arc<Progress> {
        self.recorder.progress.clone()
    }

    /// The build of a program notes in a directory what took how long, so that the next one can say how long it may
    /// take. A library's does so by itself.
    #[must_use]
    pub fn with_times_in(self, directory: PathBuf) -> Session {
        Session {
            times: Some(directory),
            ..self
        }
    }

    /// What the last build in a directory took is what this one may take.
    pub(crate) fn estimate_from(&self, directory: &Path) {
        // Without that there is no estimate.
        if let Ok(Some(last)) = Timings::read(directory) {
            self.recorder
                .progress
                .estimate_from(&last, self.workers.count());
        }
    }

    pub(crate) fn add_reached(&self, files: impl IntoIterator<Item = PathBuf>) {
        let reached = self.reached.lock();
        reached
            .unwrap_or_else(PoisonError::into_inner)
            .extend(files);
    }

    /// What earlier builds have made.
    pub(crate) fn cache(&self) -> &Arc<Cache> {
        let open = || Arc::new(Cache::open(&self.config.cache));
        self.cache.get_or_init(open)
    }

    /// The AD tool of the settings.
    pub(crate) fn ad(&self) -> Result<Chosen, Error> {
        ad::choose(&self.config, self.cache())
    }

    /// How the library is called.
    pub(crate) fn names(&self) -> Names {
        Names::new(&self.config.name, &self.config.version)
    }

    /// From text to one program: parses, puts the parts together, resolves names.
    pub(crate) fn read(&self) -> Result<Read, Error> {
        let step = self.recorder.begin("parse", "sources", 0);
        let mut included = Vec::new();
        let passed = self.passed()?;
        let mut files = self.sources.all();
        let beside = Beside {
            first: files.first().cloned(),
            passed: passed.externals(),
            left_out: passed.left_out.iter().map(|(n, _)| n.clone()).collect(),
            mentioned: passed.words(),
        };
        files.retain(|f| !passed.has(f));
        let read = read::read(&files, &self.config, self.goal, beside, &mut included);
        self.add_reached(included);
        let read = read?;
        passed.check()?;
        self.recorder.end(step, From::Ran);
        Ok(read)
    }

    /// Lowers a program up to its derivatives. `exports` are the subprograms that must stay
    /// callable; without them, all that can be, or the main program.
    pub(crate) fn stage(&self, read: Read, exports: Option<&[String]>) -> Result<Staged, Error> {
        let step = self.recorder.begin("lower", "program", 0);
        let staged = staged::stage(read, exports)?;
        self.recorder.end(step, From::Ran);
        Ok(staged)
    }

    /// Makes all derivatives of a program, side by side; whether they could be made, they know.
    pub(crate) fn make_all(&self, staged: &Staged, derivatives: &Derivatives) {
        let needs: Vec<Vec<usize>> = (0..staged.requests.len())
            .map(|r| derivatives.needs(r).iter().copied().collect())
            .collect();
        let progress = &self.recorder.progress;
        progress.announce(needs.len());
        let make = |request: usize, worker| {
            let name = &staged.requests[request].derivative;
            progress.begin(worker, format!("differentiating {name}"));
            let made = derivatives.make(request);
            progress.end(worker);
            progress.done(From::Ran);
            made
        };
        self.workers.run(&needs, &make);
    }

    /// The same where they must be: the report has also what the AD tool has to say.
    pub(crate) fn differentiate(
        &self,
        staged: &Staged,
        derivatives: &Derivatives,
    ) -> Result<Report, Error> {
        self.make_all(staged, derivatives);
        let mut diagnostics = staged.report.diagnostics.clone();
        diagnostics.extend(derivatives.said(0..staged.requests.len()));
        staged.explain(&mut diagnostics);
        read::settle(staged.report.sources.clone(), diagnostics, &staged.lints)
    }
}

/// Those of the files that have a main program.
///
/// # Errors
///
/// [`Error::Io`] when a file cannot be read. Faults in it are left to who compiles it.
pub fn main_programs(files: &[PathBuf], config: &Config) -> Result<Vec<PathBuf>, Error> {
    let passed = pass_through::mains(files, config)?;
    let is_passed = |path: &PathBuf| passed.iter().any(|(p, _)| p == path);
    let others: Vec<PathBuf> = files.iter().filter(|f| !is_passed(f)).cloned().collect();
    let found = read::main_programs(&others, config)?;
    let has = |path: &PathBuf| found.contains(path) || passed.contains(&(path.clone(), true));
    Ok(files.iter().filter(|f| has(f)).cloned().collect())
}

/// Files that are named: those of C stand among them.
fn named(files: &[PathBuf]) -> Found {
    Found {
        files: files.to_vec(),
        ..Found::default()
    }
}
