//! Libraries, with their bindings.

use crate::archive;
use crate::c_sources::{self, Compiled, Workshop};
use crate::cache::Key;
use crate::gfortran::{self, Profile};
use crate::library;
use crate::link::Linked;
use crate::lowered::{Context, Lowered};
use crate::names::Names;
use crate::partitions::{self, Memo, Notes, Planning, Ready};
use crate::plan::objects::{self, Kept, Means, Object, Objects};
use crate::plan::shelf::Shelf;
use crate::session::Session;
use crate::timings::From;
use crate::{Error, Report, files, toolchain, verify};
use farfel_ad::AdTool;
use farfel_lang::ir::Name;
use std::collections::BTreeSet;
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
    /// How it is linked; `None` where it was not compiled.
    pub link: Option<Link>,
    /// What is worth knowing besides: main programs that are no part of the library, that the
    /// cache cannot be used.
    pub notices: Vec<String>,
}

/// How a program is linked that uses a library.
#[derive(Debug)]
pub struct Link {
    /// The name of the library, as a linker wants it.
    pub library: String,
    /// Directories with the run-time libraries of the Fortran compiler.
    pub directories: Vec<PathBuf>,
    /// Their names.
    pub libraries: Vec<&'static str>,
    /// The libraries that the sources call.
    pub called: Vec<String>,
    /// Directories with these that the linker does not know.
    pub called_in: Vec<PathBuf>,
    /// What else the linker must be told.
    pub arguments: Vec<String>,
}

/// Where a library is made.
struct Place {
    library: PathBuf,
    bindings: PathBuf,
}

/// Parts of a library that are to be made, with the keys of their objects.
type ToMake<'a> = Vec<(Objects<'a>, Vec<Key>)>;

impl Session {
    /// Writes down in `out` what packages that depend on this one need to know of it; the file.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn describe(&self, out: &Path) -> Result<PathBuf, Error> {
        let passed = self.passed()?;
        let files = self.sources.files.iter().filter(|f| !passed.has(f));
        let files: Vec<PathBuf> = files.cloned().collect();
        library::describe(&self.config, &files, &passed.own(), out)
    }

    /// The bindings of a project alone, where nothing is compiled and nothing linked: for
    /// documentation.
    ///
    /// # Errors
    ///
    /// Those of [`Session::check`], but for what the AD tool would find.
    pub fn write_bindings(&self, out: &Path) -> Result<Built, Error> {
        self.bindings(out, &|lowered, _| Ok(lowered.staged.report.clone()))
    }

    /// The bindings of a project, and all that can be found without compiling: errors and warnings of
    /// the sources and of their derivatives.
    ///
    /// # Errors
    ///
    /// Those of [`Session::check`].
    pub fn check_library(&self, out: &Path) -> Result<Built, Error> {
        self.bindings(out, &|lowered, tool| {
            let derivatives = lowered.staged.derivatives(tool);
            self.differentiate(&lowered.staged, &derivatives)
        })
    }

    /// The bindings of a project, where `look` finds nothing wrong.
    fn bindings(
        &self,
        out: &Path,
        look: &dyn Fn(&Lowered, &dyn AdTool) -> Result<Report, Error>,
    ) -> Result<Built, Error> {
        let names = self.names();
        let ad = self.ad()?;
        let (lowered, notices) = self.whole(&BTreeSet::new(), &names, ad.adjoints_share_state)?;
        let report = look(&lowered, &*ad.tool)?;
        let place = Place::new(out, &names);
        let text = lowered.part.text(&self.config);
        files::write_if_changed(&place.bindings, text.as_bytes())?;
        Ok(Built {
            library: place.library,
            bindings: place.bindings,
            report,
            link: None,
            notices,
        })
    }

    /// Compiles a project for Rust: a static library and its bindings, in `out`. Only what has
    /// changed since the last build is made, and of that only what the cache does not have. `target`
    /// is the machine that it is for.
    ///
    /// # Errors
    ///
    /// Those of [`Session::check`]; [`Error::NoFortranCompiler`], [`Error::CCompiler`];
    /// [`Error::Command`]; [`Error::Io`].
    pub fn build_library(
        &self,
        out: &Path,
        target: &str,
        profile: &Profile,
    ) -> Result<Built, Error> {
        let config = &self.config;
        let names = self.names();
        let place = Place::new(out, &names);
        let memo = Memo::open(out);
        let shelf = Shelf::open(out)?;
        self.estimate_from(out);

        // Read, and meanwhile unchanged: what it is compiled with, and the objects of C.
        let read = self.read_partitions(&memo)?;
        let ad = self.ad();
        let compiler = toolchain::find_or_install(config);
        let c = self.compile_c(profile, &shelf);
        let (ad, compiler, mut c) = match (ad, compiler, c) {
            (Ok(ad), Ok(compiler), Ok(c)) => (ad, compiler, c),
            (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => {
                // Faults of the Fortran sources come first.
                self.whole(&BTreeSet::new(), &names, false)?;
                return Err(error);
            }
        };
        self.add_reached(c.headers.iter().cloned());
        let mut flags = compiler.target_flags()?;
        let mut as_it_is = flags.clone();
        as_it_is.extend(gfortran::flags_as_it_is(config, profile));
        flags.extend(gfortran::flags(config, profile));
        flags.push("-c".into());
        let mut warned = Report::default();
        match self.compile_passed(&compiler, &shelf, &as_it_is, &mut warned) {
            Ok(passed) => c.join(passed),
            Err(error) => {
                // And here.
                self.whole(&BTreeSet::new(), &names, false)?;
                return Err(error);
            }
        }
        self.add_reached(toolchain::files_of(&flags).map(|(_, file)| file));
        let means = Means {
            tool: &*ad.tool,
            tool_identity: &ad.identity,
            compiler: &compiler,
            compiler_identity: &compiler.identity(&flags),
            flags: &flags,
            stack: &|| ad.stack(&compiler, self.cache()),
            cache: self.cache(),
            workers: &self.workers,
            recorder: &self.recorder,
            shelf: &shelf,
            beside: &[],
        };
        let context = Context {
            config,
            names: &names,
            means: &means,
            adjoints_share_state: ad.adjoints_share_state,
        };

        // Staged, and asked which objects there are.
        let (planning, mut notices) = self.plan_library(read, &c.calls(), &memo, &context)?;
        let Planning {
            sources,
            mut diagnostics,
            left_out,
            bindings,
            parts,
            notes,
        } = planning;
        notices.extend(said_of(&left_out));
        notices.extend(bindings.notices());

        // Derivatives and objects.
        let mut order: Vec<Result<Kept, usize>> = Vec::new();
        let mut lowered = Vec::new();
        let mut layouts = Vec::new();
        for part in parts {
            match part {
                Ready::Kept(objects) => order.extend(objects.into_iter().map(Ok)),
                Ready::Lowered(part) => {
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
        let made = objects::make(&to_make, &means, &mut diagnostics)?;
        let mut objects = in_order(order, made, &to_make);
        objects.extend(c.objects);
        let mut arguments = Vec::new();
        if !c.on_stack.is_empty() {
            // rustc tells the linker that there is no such thing.
            arguments.push("-Wl,-z,execstack".to_owned());
            notices.push(format!(
                "the stack is executable, for internal procedures are passed as arguments in {}; a package that uses \
                 this one needs `cargo::rustc-link-arg={}` from its build script",
                c.on_stack.join(", "),
                arguments[0]
            ));
        }

        // Files: the library, what the next build wants to know, the bindings.
        self.write_library(&objects, &means, &names, &place, target, out)?;
        if config.verify {
            verify::write(out, to_make.iter().filter_map(|(o, _)| o.plan()))?;
        }
        notes.write(out)?;
        files::write_if_changed(&place.bindings, bindings.text(config).as_bytes())?;
        self.cache().finish();
        notices.extend(self.cache().notices());
        self.recorder.timings(self.workers.count()).write(out)?;
        // A build script ends soon, and the system takes all of it back at once. To free each
        // expression takes a good part of the time that it took to read them.
        std::mem::forget(to_make);
        std::mem::forget(lowered);
        let (directories, libraries) = compiler.runtime_libraries();
        let called = Linked::of(config.link.iter(), &compiler, &config.flags);
        let mut report = Report {
            sources,
            diagnostics,
        };
        report.extend(warned);
        Ok(Built {
            library: place.library,
            bindings: place.bindings,
            report,
            link: Some(Link {
                library: names.library(),
                directories: directories.to_vec(),
                libraries: libraries.collect(),
                called: called.libraries,
                called_in: called.folders,
                arguments,
            }),
            notices,
        })
    }

    /// Reads a large library file by file. `None` where it is built as one program.
    fn read_partitions(&self, memo: &Memo) -> Result<Option<partitions::Library>, Error> {
        let config = &self.config;
        // What keeps its values everywhere cannot be copied, the state of instances is one piece, and libraries are joined to
        // one program.
        // What C calls is known only when C is compiled.
        let one = config.is_static()
            || config.instance.is_some()
            || !config.libraries.is_empty()
            || config.verify
            || config.verify_passes
            || !self.sources.c_files.is_empty();
        if one || !self.passed()?.files.is_empty() {
            return Ok(None);
        }
        let step = self.recorder.begin("parse", "sources", 0);
        let mut included = Vec::new();
        let read = partitions::read(&self.sources.files, config, memo, &mut included)?;
        self.add_reached(included);
        self.recorder.end(step, From::Ran);
        Ok(read)
    }

    fn compile_c(&self, profile: &Profile, shelf: &Shelf) -> Result<Compiled, Error> {
        c_sources::compile(
            &self.sources.c_files,
            &Workshop {
                config: &self.config,
                profile,
                in_build_script: true,
                cache: self.cache(),
                shelf,
                workers: &self.workers,
                recorder: &self.recorder,
            },
        )
    }

    /// What is to be made of a library: of its partitions, or else of it as one program; and what is
    /// worth knowing besides.
    fn plan_library(
        &self,
        read: Option<partitions::Library>,
        called_from_c: &BTreeSet<Name>,
        memo: &Memo,
        context: &Context,
    ) -> Result<(Planning, Vec<String>), Error> {
        if let Some(read) = read {
            let step = self.recorder.begin("lower", "partitions", 0);
            if let Some(planning) = partitions::plan(read, memo, context)? {
                self.recorder.end(step, From::Ran);
                return Ok((planning, Vec::new()));
            }
        }
        let Context {
            names,
            means,
            adjoints_share_state,
            ..
        } = context;
        let (mut lowered, notices) = self.whole(called_from_c, names, *adjoints_share_state)?;
        let objects = lowered.objects(names);
        let keys = objects.keys(means);
        let layout = objects.into_layout();
        let report = &mut lowered.staged.report;
        let planning = Planning {
            sources: report.sources.clone(),
            diagnostics: std::mem::take(&mut report.diagnostics),
            left_out: Vec::new(),
            bindings: lowered.part.clone(),
            parts: vec![Ready::Lowered(Box::new((lowered, layout, keys)))],
            notes: Notes::default(),
        };
        Ok((planning, notices))
    }

    /// The library as one program, and what is worth knowing of it.
    fn whole(
        &self,
        called_from_c: &BTreeSet<Name>,
        names: &Names,
        adjoints_share_state: bool,
    ) -> Result<(Lowered, Vec<String>), Error> {
        let mut read = self.read()?;
        read.call_from_c(called_from_c);
        let mut notices = Vec::new();
        if read.written.is_empty() && self.passed()?.files.is_empty() {
            notices.push("no Fortran subprogram was found, so the library is empty".into());
        }
        notices.extend(said_of(&read.left_out));
        notices.extend(self.note()?);
        let step = self.recorder.begin("lower", "program", 0);
        let lowered = Lowered::new(read, None, &self.config, names, adjoints_share_state)?;
        self.recorder.end(step, From::Ran);
        Ok((lowered, notices))
    }

    /// Puts objects into the library, if it is not one of just these, and notes them for the next
    /// build.
    fn write_library(
        &self,
        objects: &[Kept],
        means: &Means,
        names: &Names,
        place: &Place,
        target: &str,
        out: &Path,
    ) -> Result<(), Error> {
        let shelf = means.shelf;
        let wanted: Vec<(&str, &str)> = objects
            .iter()
            .map(|k| (k.object.name.as_str(), k.key.as_str()))
            .collect();
        let mut archived = None;
        if !shelf.has_library(&place.library, wanted) {
            let step = self.recorder.begin("archive", names.library(), 0);
            let members: Vec<&Object> = objects.iter().map(|k| &k.object).collect();
            archived = Some(archive::write(&members, means, &place.library, target)?);
            self.recorder.end(step, From::Ran);
        }
        // What was said of an object may be said of other lines now.
        let about: Vec<_> = objects
            .iter()
            .map(|k| (k.object.name.as_str(), &k.object.about))
            .collect();
        if archived.is_some() || !shelf.is_about(&about) {
            let known = objects
                .iter()
                .map(|k| {
                    let Kept {
                        object,
                        key,
                        recipe,
                    } = k;
                    let (name, about) = (object.name.clone(), object.about.clone());
                    (name, key.clone(), recipe.clone(), about)
                })
                .collect();
            shelf.close(out, archived.as_deref(), known)?;
        }
        Ok(())
    }
}

impl Place {
    fn new(out: &Path, names: &Names) -> Place {
        Place {
            library: out.join(format!("lib{}.a", names.library())),
            bindings: out.join("farfel_bindings.rs"),
        }
    }
}

/// Objects that are there, and those that were made where `order` has how many of a part, in the
/// order in which they belong.
fn in_order(order: Vec<Result<Kept, usize>>, made: Vec<Object>, of: &ToMake) -> Vec<Kept> {
    let keys = of.iter().flat_map(|(_, keys)| keys);
    let mut made = made.into_iter().zip(keys).map(|(object, key)| Kept {
        object,
        key: key.hex(),
        recipe: key.recipe().to_owned(),
    });
    let mut all: Vec<Kept> = Vec::new();
    for next in order {
        match next {
            Ok(kept) => all.push(kept),
            Err(count) => all.extend(made.by_ref().take(count)),
        }
    }
    all
}

fn said_of(left_out: &[Name]) -> impl Iterator<Item = String> {
    let said = |name: &Name| format!("the main program {name} is not a part of the library");
    left_out.iter().map(said)
}
