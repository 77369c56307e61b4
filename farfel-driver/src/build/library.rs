//! Builds libraries with their bindings.

use crate::archive;
use crate::bind::{self, BindingsPart, CInterface};
use crate::c_sources::{self, CTools, ForeignObjects};
use crate::cache::Key;
use crate::checkpoints;
use crate::gfortran::{self, Profile};
use crate::library;
use crate::link::LinkedLibraries;
use crate::lowered::{LibraryContext, Lowered};
use crate::names::Names;
use crate::partitions::{self, LibraryPlan, Memo, NextMemo, PlannedPart};
use crate::plan::object_store::ObjectStore;
use crate::plan::objects::{self, BuildTools, KeyedObject, Object, Objects};
use crate::session::Session;
use crate::timings::StepOrigin;
use crate::toolchain::Family;
use crate::{Config, Error, Report, files, memory, toolchain, verify};
use farfel_ad::AdTool;
use farfel_lang::ir::Name;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A library that was built.
#[derive(Debug)]
pub struct Built {
    /// The static library.
    pub library: PathBuf,
    /// The Rust functions.
    pub bindings: PathBuf,
    /// The warnings.
    pub report: Report,
    /// How to link the library; `None` if it was not compiled.
    pub link: Option<Link>,
    /// The interface for C, if the settings ask for it.
    pub c_interface: Option<CInterface>,
    /// Other messages for the user, for example about main programs that are not part of the library, or
    /// about a cache that cannot be used.
    pub notices: Vec<String>,
}

/// How to link a program that uses the library.
#[derive(Debug)]
pub struct Link {
    /// The name of the library, in the form that a linker expects.
    pub library: String,
    /// The directories of the Fortran compiler's run-time libraries.
    pub directories: Vec<PathBuf>,
    /// The names of these run-time libraries.
    pub libraries: Vec<&'static str>,
    /// Those of them that are linked statically.
    pub statically: Vec<&'static str>,
    /// The libraries that the sources call.
    pub called: Vec<String>,
    /// The directories of these libraries that the linker does not search by default.
    pub called_in: Vec<PathBuf>,
    /// Further arguments for the linker.
    pub arguments: Vec<String>,
}

impl Link {
    /// Returns the directives that make cargo link the library, in linking order: names without `cargo::`, and
    /// values. The directory of the library itself is not included.
    pub fn directives(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![("rustc-link-lib", format!("static={}", self.library))];
        let search = |d: &PathBuf| ("rustc-link-search", format!("native={}", d.display()));
        all.extend(self.called_in.iter().map(search));
        // The libraries that the sources call come before the run-time libraries, on which they depend.
        all.extend(self.called.iter().map(|l| ("rustc-link-lib", l.clone())));
        let argument = |a: &String| ("rustc-link-arg", a.clone());
        all.extend(self.arguments.iter().map(argument));
        all.extend(self.directories.iter().map(search));
        // In a static program, rustc itself links libm, and libraries given as `dylib` that the linker
        // resolves to archives make the program crash at startup.
        let is_static = std::env::var("CARGO_CFG_TARGET_FEATURE")
            .is_ok_and(|f| f.split(',').any(|f| f == "crt-static"));
        for l in &self.libraries {
            match (is_static, *l) {
                (false, l) if self.statically.contains(&l) => {
                    all.push(("rustc-link-lib", format!("static:-bundle={l}")));
                }
                (false, _) => all.push(("rustc-link-lib", format!("dylib={l}"))),
                (true, "m") => {}
                (true, _) => all.push(("rustc-link-lib", format!("static:-bundle={l}"))),
            }
        }
        all
    }
}

/// The files to which a library is written.
struct OutputFiles {
    library: PathBuf,
    bindings: PathBuf,
}

/// Parts of a library with objects to be made, and the keys of these objects.
type ToMake<'a> = Vec<(Objects<'a>, Vec<Key>)>;

impl Session {
    /// Writes the description that dependent packages need to `out`, and returns the file.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn describe(&self, out: &Path) -> Result<PathBuf, Error> {
        let passed = self.pass_through_files()?;
        let files = self.sources.files.iter().filter(|f| !passed.has(f));
        let files: Vec<PathBuf> = files.cloned().collect();
        library::describe(&self.config, &files, &passed.own(), out)
    }

    /// Writes only the bindings of a project, without compiling or linking, as documentation requires.
    ///
    /// # Errors
    ///
    /// Same as [`Session::check`], except for the AD tool's errors.
    pub fn write_bindings(&self, out: &Path) -> Result<Built, Error> {
        self.bindings(out, &|lowered, _| Ok(lowered.staged.report.clone()))
    }

    /// Writes the bindings of a project, and reports everything that can be found without compiling: errors
    /// and warnings in the sources and in their derivatives.
    ///
    /// # Errors
    ///
    /// Same as [`Session::check`].
    pub fn check_library(&self, out: &Path) -> Result<Built, Error> {
        self.bindings(out, &|lowered, tool| {
            let derivatives = lowered.staged.derivatives(tool);
            self.differentiate(&lowered.staged, &derivatives)
        })
    }

    /// Writes the bindings of a project unless `check` finds errors.
    fn bindings(
        &self,
        out: &Path,
        check: &dyn Fn(&Lowered, &dyn AdTool) -> Result<Report, Error>,
    ) -> Result<Built, Error> {
        let names = self.names();
        let ad = self.ad()?;
        let (lowered, notices) = self.whole(&BTreeSet::new(), &names, ad.adjoints_share_state)?;
        let report = check(&lowered, &*ad.tool)?;
        let output_files = OutputFiles::new(out, &names);
        output_files.write_bindings(&lowered.part, &self.config)?;
        Ok(Built {
            library: output_files.library,
            bindings: output_files.bindings,
            report,
            link: None,
            c_interface: None,
            notices,
        })
    }

    /// Compiles a project for Rust: a static library and its bindings, in `out`. Only what has changed since
    /// the last build and is not in the cache is compiled. `target` is the target triple; with
    /// [`Config::c_interface`](crate::Config::c_interface) it is that of this command.
    ///
    /// # Errors
    ///
    /// Same as [`Session::check`]; [`Error::NoFortranCompiler`], [`Error::CCompiler`]; [`Error::Command`];
    /// [`Error::Io`].
    pub fn build_library(
        &self,
        out: &Path,
        target: &str,
        profile: &Profile,
    ) -> Result<Built, Error> {
        let config = &self.config;
        let names = self.names();
        let output_files = OutputFiles::new(out, &names);
        let memo = Memo::open(out);
        let object_store = ObjectStore::open(out)?;
        self.estimate_from(out);

        // Read the sources; then prepare what does not change: the tools to compile with, and the C objects.
        let read = self.read_partitions(&memo)?;
        let ad = self.ad();
        let compiler = toolchain::find_or_install(config);
        let c = self.compile_c(profile, &object_store);
        let (ad, compiler, mut c) = match (ad, compiler, c) {
            (Ok(ad), Ok(compiler), Ok(c)) => (ad, compiler, c),
            (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => {
                // Errors in the Fortran sources take precedence.
                self.whole(&BTreeSet::new(), &names, false)?;
                return Err(error);
            }
        };
        self.add_reached(c.headers.iter().cloned());
        let mut flags = compiler.target_flags(!config.c_interface)?;
        let mut pass_through_flags = flags.clone();
        pass_through_flags.extend(gfortran::pass_through_flags(config, profile));
        flags.extend(gfortran::flags(config, profile));
        flags.push("-c".into());
        let mut warned = Report::default();
        match self.compile_pass_through(&compiler, &object_store, &pass_through_flags, &mut warned)
        {
            Ok(passed) => c.join(passed),
            Err(error) => {
                // Here, too.
                self.whole(&BTreeSet::new(), &names, false)?;
                return Err(error);
            }
        }
        self.add_reached(toolchain::files_of(&flags).map(|(_, file)| file));
        let tools = BuildTools {
            tool: &*ad.tool,
            tool_identity: &ad.identity,
            compiler: &compiler,
            compiler_identity: &compiler.identity(&flags),
            flags: &flags,
            stack: &|| ad.stack(&compiler, self.cache()),
            cache: self.cache(),
            workers: &self.workers,
            recorder: &self.recorder,
            object_store: &object_store,
            foreign_objects: &[],
            keeps_memory: compiler.family == Family::Gfortran && memory::is_supported(),
        };
        let context = LibraryContext {
            config,
            names: &names,
            tools: &tools,
            adjoints_share_state: ad.adjoints_share_state,
        };

        // Lower the library and determine its objects.
        let (planning, mut notices) = self.plan_library(read, &c.calls(), &memo, &context)?;
        let LibraryPlan {
            sources,
            mut diagnostics,
            left_out,
            bindings,
            parts,
            next_memo,
        } = planning;
        notices.extend(left_out_notices(&left_out));
        notices.extend(bindings.notices());
        let c_interface = config
            .c_interface
            .then(|| CInterface::of(&bindings, config));
        notices.extend(c_interface.iter().flat_map(|c| c.notices.clone()));

        // Compute derivatives and compile objects.
        let mut order: Vec<Result<KeyedObject, usize>> = Vec::new();
        let mut lowered = Vec::new();
        let mut layouts = Vec::new();
        for part in parts {
            match part {
                PlannedPart::UpToDate(objects) => order.extend(objects.into_iter().map(Ok)),
                PlannedPart::Lowered(part) => {
                    let (program, layout, keys) = *part;
                    order.push(Err(keys.len()));
                    lowered.push(program);
                    layouts.push((layout, keys));
                }
            }
        }
        let to_make: ToMake = lowered
            .iter()
            .zip(layouts)
            .map(|(program, (layout, keys))| (program.objects_with(&names, layout), keys))
            .collect();
        let made = objects::make(&to_make, &tools, &mut diagnostics)?;
        let mut objects = in_order(order, made, &to_make);
        objects.extend(c.objects);
        if checkpoints::are_called(&objects) {
            let tools = self.c_tools(profile, &object_store);
            let (name, text) = (checkpoints::RUNTIME_NAME, checkpoints::RUNTIME);
            objects.extend(c_sources::compile_runtime(name, text, &tools)?.objects);
        }
        let mut arguments = Vec::new();
        if !c.on_stack.is_empty() {
            // Overrides rustc, which tells the linker not to make the stack executable.
            arguments.push("-Wl,-z,execstack".to_owned());
            notices.push(format!(
                "the stack is executable, for internal procedures are passed as arguments in {}; a package that uses \
                 this one needs `cargo::rustc-link-arg={}` from its build script",
                c.on_stack.join(", "),
                arguments[0]
            ));
        }

        // Write the files: the library, notes for the next build, the bindings.
        self.write_library(&objects, &tools, &names, &output_files, target, out)?;
        if config.verify {
            verify::write(out, to_make.iter().filter_map(|(o, _)| o.plan()))?;
        }
        next_memo.write(out)?;
        output_files.write_bindings(&bindings, config)?;
        self.cache().finish();
        notices.extend(self.cache().notices());
        self.recorder.timings(self.workers.count()).write(out)?;
        // A build script ends soon, and the system then reclaims all its memory at once. Freeing every
        // expression would take a good part of the time that it took to read them.
        std::mem::forget(to_make);
        std::mem::forget(lowered);
        let (directories, libraries) = compiler.runtime_libraries();
        let mut directories = directories.to_vec();
        let mut statically = Vec::new();
        if config.static_runtime {
            let archives = compiler.static_runtime(config.c_interface)?;
            for (name, folder) in archives {
                statically.push(name);
                if !directories.contains(&folder) {
                    directories.push(folder);
                }
            }
        }
        let called = LinkedLibraries::of(config.link.iter(), &compiler, &config.flags);
        let mut report = Report {
            sources,
            diagnostics,
        };
        report.extend(warned);
        Ok(Built {
            library: output_files.library,
            bindings: output_files.bindings,
            report,
            link: Some(Link {
                library: names.library(),
                directories,
                libraries: config
                    .has_openmp()
                    .then_some(match compiler.family {
                        toolchain::Family::Gfortran => "gomp",
                        toolchain::Family::Flang => "omp",
                    })
                    .into_iter()
                    .chain(libraries)
                    .collect(),
                statically,
                called: called.libraries,
                called_in: called.folders,
                arguments,
            }),
            c_interface,
            notices,
        })
    }

    /// Reads a large library file by file. Returns `None` if it must be built as one program.
    fn read_partitions(&self, memo: &Memo) -> Result<Option<partitions::Library>, Error> {
        let config = &self.config;
        // Static variables cannot be copied, the state of instances is one piece, all subprograms must agree about
        // COMMON blocks for Rust, and libraries are merged into one program. The procedures that C calls are known only once the C sources have been compiled.
        let one = config.is_static()
            || config.instance.is_some()
            || !config.commons.is_empty()
            || !config.libraries.is_empty()
            || config.verify
            || config.c_interface
            || config.verify_passes
            || !self.sources.c_files.is_empty();
        if one || !self.pass_through_files()?.files.is_empty() {
            return Ok(None);
        }
        let step = self.recorder.begin("parse", "sources", 0);
        let mut included = Vec::new();
        let read = partitions::read(&self.sources.files, config, memo, &mut included)?;
        self.add_reached(included);
        self.recorder.end(step, StepOrigin::Ran);
        Ok(read)
    }

    fn compile_c(
        &self,
        profile: &Profile,
        object_store: &ObjectStore,
    ) -> Result<ForeignObjects, Error> {
        c_sources::compile(&self.sources.c_files, &self.c_tools(profile, object_store))
    }

    fn c_tools<'a>(&'a self, profile: &'a Profile, object_store: &'a ObjectStore) -> CTools<'a> {
        CTools {
            config: &self.config,
            profile,
            in_build_script: !self.config.c_interface,
            cache: self.cache(),
            object_store,
            workers: &self.workers,
            recorder: &self.recorder,
        }
    }

    /// Determines what has to be made of a library, from its partitions or else as one program, and returns
    /// notices for the user with it.
    fn plan_library(
        &self,
        read: Option<partitions::Library>,
        called_from_c: &BTreeSet<Name>,
        memo: &Memo,
        context: &LibraryContext,
    ) -> Result<(LibraryPlan, Vec<String>), Error> {
        if let Some(read) = read {
            let step = self.recorder.begin("lower", "partitions", 0);
            if let Some(planning) = partitions::plan(read, memo, context)? {
                self.recorder.end(step, StepOrigin::Ran);
                return Ok((planning, Vec::new()));
            }
        }
        let LibraryContext {
            names,
            tools,
            adjoints_share_state,
            ..
        } = context;
        let (mut lowered, notices) = self.whole(called_from_c, names, *adjoints_share_state)?;
        let objects = lowered.objects(names);
        let keys = objects.keys(tools);
        let layout = objects.into_layout();
        let report = &mut lowered.staged.report;
        let planning = LibraryPlan {
            sources: report.sources.clone(),
            diagnostics: std::mem::take(&mut report.diagnostics),
            left_out: Vec::new(),
            bindings: lowered.part.clone(),
            parts: vec![PlannedPart::Lowered(Box::new((lowered, layout, keys)))],
            next_memo: NextMemo::default(),
        };
        Ok((planning, notices))
    }

    /// Lowers the library as one program, and returns notices for the user with it.
    fn whole(
        &self,
        called_from_c: &BTreeSet<Name>,
        names: &Names,
        adjoints_share_state: bool,
    ) -> Result<(Lowered, Vec<String>), Error> {
        let mut read = self.read()?;
        read.call_from_c(called_from_c);
        let mut notices = Vec::new();
        if read.written.is_empty() && self.pass_through_files()?.files.is_empty() {
            notices.push("no Fortran subprogram was found, so the library is empty".into());
        }
        notices.extend(left_out_notices(&read.left_out));
        notices.extend(self.note()?);
        let step = self.recorder.begin("lower", "program", 0);
        let lowered = Lowered::new(read, None, &self.config, names, adjoints_share_state)?;
        self.recorder.end(step, StepOrigin::Ran);
        Ok((lowered, notices))
    }

    /// Archives the objects unless the library already consists of exactly these, and records them for the
    /// next build.
    fn write_library(
        &self,
        objects: &[KeyedObject],
        tools: &BuildTools,
        names: &Names,
        output_files: &OutputFiles,
        target: &str,
        out: &Path,
    ) -> Result<(), Error> {
        let object_store = tools.object_store;
        let wanted: Vec<(&str, &str)> = objects
            .iter()
            .map(|k| (k.object.name.as_str(), k.key.as_str()))
            .collect();
        let mut archived = None;
        if !object_store.has_library(&output_files.library, wanted) {
            let step = self.recorder.begin("archive", names.library(), 0);
            let members: Vec<&Object> = objects.iter().map(|k| &k.object).collect();
            archived = Some(archive::write(
                &members,
                tools,
                &output_files.library,
                target,
            )?);
            self.recorder.end(step, StepOrigin::Ran);
        }
        // Even if the library stays the same, messages about an object may refer to other lines now.
        let about: Vec<_> = objects
            .iter()
            .map(|k| (k.object.name.as_str(), &k.object.about))
            .collect();
        if archived.is_some() || !object_store.has_infos(&about) {
            let known = objects
                .iter()
                .map(|k| {
                    let KeyedObject {
                        object,
                        key,
                        recipe,
                    } = k;
                    let (name, about) = (object.name.clone(), object.about.clone());
                    (name, key.clone(), recipe.clone(), about)
                })
                .collect();
            object_store.close(out, archived.as_deref(), known)?;
        }
        Ok(())
    }
}

impl OutputFiles {
    fn new(out: &Path, names: &Names) -> OutputFiles {
        OutputFiles {
            library: out.join(format!("lib{}.a", names.library())),
            bindings: out.join("farfel_bindings.rs"),
        }
    }

    /// Writes the bindings, and removes those of subprograms that are no longer there.
    fn write_bindings(&self, part: &BindingsPart, config: &Config) -> Result<(), Error> {
        let folder = self.bindings.with_file_name(bind::FOLDER);
        fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
        let files = part.files(config);
        for (name, text) in &files {
            files::write_if_changed(&folder.join(name), text.as_bytes())?;
        }
        files::write_if_changed(&self.bindings, part.text(config).as_bytes())?;
        let current: BTreeSet<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        for entry in fs::read_dir(&folder).map_err(Error::io(&folder))?.flatten() {
            let name = entry.file_name();
            if name.to_str().is_none_or(|name| !current.contains(name)) {
                files::remove(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// Returns all objects of the library in order. `order` has kept objects and, for each part that was made,
/// the number of its objects; these are taken from `made`.
fn in_order(
    order: Vec<Result<KeyedObject, usize>>,
    made: Vec<Object>,
    of: &ToMake,
) -> Vec<KeyedObject> {
    let keys = of.iter().flat_map(|(_, keys)| keys);
    let mut made = made.into_iter().zip(keys).map(|(object, key)| KeyedObject {
        object,
        key: key.hex(),
        recipe: key.recipe().to_owned(),
    });
    let mut all: Vec<KeyedObject> = Vec::new();
    for next in order {
        match next {
            Ok(kept) => all.push(kept),
            Err(count) => all.extend(made.by_ref().take(count)),
        }
    }
    all
}

fn left_out_notices(left_out: &[Name]) -> impl Iterator<Item = String> {
    let notice = |name: &Name| format!("the main program {name} is not a part of the library");
    left_out.iter().map(notice)
}
