//! A session: one build of a program or library, or one inspection of it, stage by stage.
//!
//! | stage | method | result |
//! |---|---|---|
//! | settings | [`Session::of_project`], [`Session::of_files`], [`Session::of_main`] | the sources and what to do with them |
//! | read | `read` | the sources as one program, with names resolved |
//! | staged | `stage` | that program lowered; it calls derivatives that do not exist yet |
//! | derivatives | `differentiate` | those derivatives |
//! | objects, bindings | [`Session::build_library`], [`Session::build_program`] | files |
//!
//! The module `views`, which only inspects programs, stops at the stage whose result it shows. Each stage
//! reports all the errors that it finds, and no stage starts after one that had errors.

use crate::ad::{self, SelectedTool};
use crate::c_sources::{self, CTools, ForeignObjects};
use crate::cache::Cache;
use crate::gfortran::{self, Profile};
use crate::lowered::describe_closures_of_derived;
use crate::names::Names;
use crate::pass_through::{self, PassThroughFiles};
use crate::pass_through_objects;
use crate::plan::object_store::ObjectStore;
use crate::plan::recorder::Recorder;
use crate::progress::Progress;
use crate::read::{self, CheckedProgram, Goal, OtherFiles};
use crate::sources::{self, ProjectSources};
use crate::staged::{self, Staged};
use crate::timings::{StepOrigin, Timings};
use crate::toolchain::Compiler;
use crate::workers::Workers;
use crate::{Config, Error, Report, mpi, toolchain};
use farfel_ad::schedule::Derivatives;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Settings, sources, and the state that all stages share.
pub struct Session {
    pub(crate) config: Config,
    pub(crate) goal: Goal,
    pub(crate) sources: ProjectSources,
    pub(crate) workers: Workers,
    pub(crate) recorder: Recorder,
    cache: OnceLock<Arc<Cache>>,
    reached: Mutex<BTreeSet<PathBuf>>,
    pass_through: OnceLock<PassThroughFiles>,
    /// The directory in which the build of a program records its timings.
    pub(crate) times: Option<PathBuf>,
}

impl Session {
    /// Creates a session for a project's sources as its build script reads them, without main programs.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] if a setting has an invalid value or names a source that does not exist;
    /// [`Error::Io`] if a directory cannot be read.
    pub fn of_project(config: &Config) -> Result<Session, Error> {
        config.check()?;
        let found = sources::find(config)?;
        Ok(Session::new(config, Goal::Library, found))
    }

    /// Creates a session for a program, or for subprograms, in the given files.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] if a setting has an invalid value.
    pub fn of_files(files: &[PathBuf], config: &Config) -> Result<Session, Error> {
        config.check()?;
        Ok(Session::new(config, Goal::Program, sources_of_files(files)))
    }

    /// Creates a session for the main program in the first of the files; main programs in the others are left
    /// out.
    ///
    /// # Errors
    ///
    /// Same as [`Session::of_files`].
    pub fn of_main(files: &[PathBuf], config: &Config) -> Result<Session, Error> {
        config.check()?;
        Ok(Session::new(config, Goal::First, sources_of_files(files)))
    }

    /// Creates a session for the given files, or for the project if there are none.
    ///
    /// # Errors
    ///
    /// Same as [`Session::of_project`].
    pub fn of(files: Option<&[PathBuf]>, config: &Config) -> Result<Session, Error> {
        match files {
            Some(files) => Session::of_files(files, config),
            None => Session::of_project(config),
        }
    }

    fn new(config: &Config, goal: Goal, sources: ProjectSources) -> Session {
        let reached = match goal {
            Goal::Library => sources.all().into_iter().collect(),
            Goal::Program | Goal::First => BTreeSet::new(),
        };
        Session {
            config: mpi::with_include(config),
            goal,
            sources,
            workers: Workers::from_environment(),
            recorder: Recorder::new(),
            cache: OnceLock::new(),
            reached: Mutex::new(reached),
            pass_through: OnceLock::new(),
            times: None,
        }
    }

    /// Returns the pass-through files, which gfortran compiles unchanged.
    pub(crate) fn pass_through_files(&self) -> Result<&PassThroughFiles, Error> {
        if let Some(passed) = self.pass_through.get() {
            return Ok(passed);
        }
        let mut passed = PassThroughFiles::among(&self.sources.all(), &self.config)?;
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
        passed.check_modules();
        self.add_reached(passed.reached.iter().cloned());
        Ok(self.pass_through.get_or_init(|| passed))
    }

    /// Returns a message about files that are passed through although no setting names them, if there are
    /// any.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or a setting names a file that does not exist.
    pub fn note(&self) -> Result<Option<String>, Error> {
        Ok(self.pass_through_files()?.note())
    }

    /// Returns the names of all pass-through files, whether a setting names them or not.
    ///
    /// # Errors
    ///
    /// Same as [`Session::note`].
    pub fn passed_through(&self) -> Result<Vec<String>, Error> {
        let files = self
            .pass_through_files()?
            .files
            .iter()
            .filter(|f| !f.of_library);
        Ok(files.map(|f| f.name.clone()).collect())
    }

    /// Compiles the pass-through files to check whether gfortran accepts them. The results are kept only in
    /// the cache.
    ///
    /// # Errors
    ///
    /// [`Error::Diagnostics`] with gfortran's errors; [`Error::NoFortranCompiler`].
    pub fn check_passed_through(&self) -> Result<Report, Error> {
        let mut report = Report::default();
        if self.pass_through_files()?.files.is_empty() {
            return Ok(report);
        }
        let profile = Profile {
            opt_level: "0".into(),
            debug: false,
        };
        let compiler = toolchain::find_or_install(&self.config)?;
        let flags = gfortran::pass_through_flags(&self.config, &profile);
        self.compile_pass_through(&compiler, &ObjectStore::default(), &flags, &mut report)?;
        self.cache().finish();
        Ok(report)
    }

    /// Compiles the C sources to check whether the compiler accepts them. The results are kept only in the
    /// cache.
    ///
    /// # Errors
    ///
    /// [`Error::Diagnostics`] with the compiler's errors; there is no C compiler.
    pub fn check_c(&self) -> Result<(), Error> {
        let files = self.sources.all();
        if files.iter().any(|f| sources::is_c_source_name(f)) {
            let profile = Profile {
                opt_level: "2".into(),
                debug: false,
            };
            let tools = CTools {
                config: &self.config,
                profile: &profile,
                in_build_script: false,
                cache: self.cache(),
                object_store: &ObjectStore::default(),
                workers: &self.workers,
                recorder: &self.recorder,
            };
            c_sources::compile(&files, &tools)?;
            self.cache().finish();
        }
        Ok(())
    }

    /// Compiles the pass-through files. Warnings are added to `report`.
    pub(crate) fn compile_pass_through(
        &self,
        compiler: &Compiler,
        object_store: &ObjectStore,
        flags: &[String],
        report: &mut Report,
    ) -> Result<ForeignObjects, Error> {
        let tools = pass_through_objects::PassThroughTools {
            config: &self.config,
            compiler,
            flags,
            cache: self.cache(),
            object_store,
            workers: &self.workers,
            recorder: &self.recorder,
        };
        pass_through_objects::compile(self.pass_through_files()?, &tools, report)
    }

    /// Returns the files read so far, including INCLUDE files and C headers, even if a stage found errors. As
    /// long as none of them changes and no source is added or removed, the result of the session stays the
    /// same.
    pub fn reached(&self) -> Vec<PathBuf> {
        let reached = self.reached.lock();
        let reached = reached.unwrap_or_else(PoisonError::into_inner);
        reached.iter().cloned().collect()
    }

    /// Returns the directories that were searched for sources; empty if all sources are named.
    pub fn directories(&self) -> &[PathBuf] {
        &self.sources.directories
    }

    /// Returns the progress of the build, which other threads may read, too.
    pub fn progress(&self) -> Arc<Progress> {
        self.recorder.progress.clone()
    }

    /// Makes the build of a program record its timings in a directory, from which the next build estimates
    /// its duration. The build of a library always records them.
    #[must_use]
    pub fn with_times_in(self, directory: PathBuf) -> Session {
        Session {
            times: Some(directory),
            ..self
        }
    }

    /// Estimates the duration of this build from the timings of the last one in `directory`.
    pub(crate) fn estimate_from(&self, directory: &Path) {
        // If the timings cannot be read, there is no estimate.
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

    /// Returns the cache with the results of earlier builds.
    pub(crate) fn cache(&self) -> &Arc<Cache> {
        let open = || Arc::new(Cache::open(&self.config.cache));
        self.cache.get_or_init(open)
    }

    /// Returns the AD tool that the settings choose.
    pub(crate) fn ad(&self) -> Result<SelectedTool, Error> {
        ad::choose(&self.config, self.cache())
    }

    /// Returns the names of the library and of what it exports.
    pub(crate) fn names(&self) -> Names {
        Names::new(&self.config.name, &self.config.version)
    }

    /// Reads the sources into one program: parses them, joins the parts and resolves names.
    pub(crate) fn read(&self) -> Result<CheckedProgram, Error> {
        let step = self.recorder.begin("parse", "sources", 0);
        let mut included = Vec::new();
        let passed = self.pass_through_files()?;
        let mut files = self.sources.all();
        let other_files = OtherFiles {
            first: files.first().cloned(),
            passed_subprograms: passed.externals(),
            left_out: passed.left_out.iter().map(|(n, _)| n.clone()).collect(),
            mentioned: passed.words(),
        };
        files.retain(|f| !passed.has(f));
        let read = read::read(&files, &self.config, self.goal, other_files, &mut included);
        self.add_reached(included);
        let read = read?;
        passed.check()?;
        self.recorder.end(step, StepOrigin::Ran);
        Ok(read)
    }

    /// Lowers a program up to its derivatives. `exports` are the subprograms that must stay callable; if
    /// `None`, all that can be, or the main program.
    pub(crate) fn stage(
        &self,
        mut read: CheckedProgram,
        exports: Option<&[String]>,
    ) -> Result<Staged, Error> {
        let step = self.recorder.begin("lower", "program", 0);
        describe_closures_of_derived(&mut read, exports, &self.config);
        let staged = staged::stage(read, exports)?;
        self.recorder.end(step, StepOrigin::Ran);
        Ok(staged)
    }

    /// Computes all derivatives of a program in parallel. `derivatives` records which of them failed.
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
            progress.done(StepOrigin::Ran);
            made
        };
        self.workers.run(&needs, &make);
    }

    /// Computes all derivatives and fails if one of them cannot be computed. The report includes the AD
    /// tool's diagnostics.
    pub(crate) fn differentiate(
        &self,
        staged: &Staged,
        derivatives: &Derivatives,
    ) -> Result<Report, Error> {
        self.make_all(staged, derivatives);
        let mut diagnostics = staged.report.diagnostics.clone();
        diagnostics.extend(derivatives.diagnostics(0..staged.requests.len()));
        staged.explain(&mut diagnostics);
        read::finish_report(staged.report.sources.clone(), diagnostics, &staged.lints)
    }
}

/// Returns those of the files that contain a main program.
///
/// # Errors
///
/// [`Error::Io`] if a file cannot be read. Errors in the sources are left to the build that compiles them.
pub fn main_programs(files: &[PathBuf], config: &Config) -> Result<Vec<PathBuf>, Error> {
    let passed = pass_through::mains(files, config)?;
    let is_passed = |path: &PathBuf| passed.iter().any(|(p, _)| p == path);
    let others: Vec<PathBuf> = files.iter().filter(|f| !is_passed(f)).cloned().collect();
    let found = read::main_programs(&others, config)?;
    let has = |path: &PathBuf| found.contains(path) || passed.contains(&(path.clone(), true));
    Ok(files.iter().filter(|f| has(f)).cloned().collect())
}

/// Returns named files as sources, with C files among the Fortran files.
fn sources_of_files(files: &[PathBuf]) -> ProjectSources {
    ProjectSources {
        files: files.to_vec(),
        ..ProjectSources::default()
    }
}
