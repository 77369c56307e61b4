//! Builds executable programs.

use crate::c_sources::{self, CTools};
use crate::checkpoints;
use crate::derivative_checks::Block;
use crate::gfortran::{self, Profile};
use crate::link::LinkedLibraries;
use crate::plan::object_store::ObjectStore;
use crate::plan::objects::{self, BuildTools, Objects, Target};
use crate::read::has_main;
use crate::session::Session;
use crate::timings::Timings;
use crate::toolchain::Family;
use crate::{Config, Error, Report, files, memory, sources, toolchain, verify};
use std::fs;
use std::path::{Path, PathBuf};

/// A program that was built.
#[derive(Debug)]
pub struct BuiltProgram {
    /// The warnings.
    pub report: Report,
    /// What ran when.
    pub timings: Timings,
    /// The AD blocks that the program checks if it was compiled with
    /// [`Config::verify`](crate::Config::verify).
    pub blocks: Vec<Block>,
    /// Other messages for the user, for example about a cache that cannot be used.
    pub notices: Vec<String>,
}

impl Session {
    /// Compiles a main program and everything it calls into the executable `out`. What is in the cache is not
    /// compiled again.
    ///
    /// # Errors
    ///
    /// Same as [`Session::check`]; [`Error::NoMainProgram`]; [`Error::NoFortranCompiler`]; [`Error::Command`]
    /// if linking fails.
    pub fn build_program(&self, out: &Path) -> Result<BuiltProgram, Error> {
        let Session {
            config,
            workers,
            recorder,
            ..
        } = self;
        if let Some(times) = &self.times {
            self.estimate_from(times);
        }
        let mut read = self.read()?;
        let profile = Profile {
            opt_level: "2".into(),
            debug: false,
        };
        let no_objects = ObjectStore::default();
        let c_tools = CTools {
            config,
            profile: &profile,
            in_build_script: false,
            cache: self.cache(),
            object_store: &no_objects,
            workers,
            recorder,
        };
        let mut foreign_objects = c_sources::compile(&self.sources.all(), &c_tools)?;
        let compiler = toolchain::find_or_install(config)?;
        let mut warned = Report::default();
        let pass_through_flags = gfortran::pass_through_flags(config, &profile);
        foreign_objects.join(self.compile_pass_through(
            &compiler,
            &ObjectStore::default(),
            &pass_through_flags,
            &mut warned,
        )?);
        read.call_from_c(&foreign_objects.calls());
        if !has_main(&read.program) && !foreign_objects.has_main() {
            return Err(Error::NoMainProgram);
        }
        let mut staged = self.stage(read, None)?;
        if config.verify {
            verify::prepare(&mut staged, config);
        }
        if checkpoints::are_asked_for(&staged.program) {
            let (name, text) = (checkpoints::RUNTIME_NAME, checkpoints::RUNTIME);
            foreign_objects.join(c_sources::compile_runtime(name, text, &c_tools)?);
        }
        let ad = self.ad()?;
        let mut flags = gfortran::flags(config, &profile);
        let linked = config.libraries.iter().flat_map(|l| &l.config.link);
        let mut linked = config.link.iter().chain(linked).peekable();
        let links = linked.peek().is_some();
        let linked = LinkedLibraries::of(linked, &compiler, &config.flags);
        flags.extend(linked.flags());
        if config.static_runtime {
            compiler.static_runtime(false)?;
            if compiler.family == Family::Gfortran {
                flags.push("-static-libgfortran".into());
            }
        }
        if foreign_objects.objects.is_empty() && !links {
            // The whole program is in this one file, so that gfortran may inline everything. Libraries could share
            // COMMON blocks with it.
            flags.push("-fwhole-program".into());
        }
        let keeps_memory = !staged.requests.is_empty()
            && compiler.family == Family::Gfortran
            && memory::is_supported();
        let runtime =
            || c_sources::compile_runtime(memory::RUNTIME_NAME, memory::RUNTIME, &c_tools);
        let keeps_memory = match keeps_memory.then(runtime) {
            Some(Ok(runtime)) => {
                foreign_objects.join(runtime);
                true
            }
            // Without a C compiler, memory is not kept.
            Some(Err(Error::CCompiler(_))) | None => false,
            Some(Err(error)) => return Err(error),
        };
        let foreign_objects: Vec<(String, Vec<u8>)> = foreign_objects
            .objects
            .into_iter()
            .map(|k| (k.object.name, k.object.code))
            .collect();
        let mut diagnostics = std::mem::take(&mut staged.report.diagnostics);
        let objects = Objects::new(&staged, Target::Program);
        let tools = BuildTools {
            tool: &*ad.tool,
            tool_identity: &ad.identity,
            compiler: &compiler,
            compiler_identity: &(compiler.identity(&flags) + &linked.identity()),
            flags: &flags,
            stack: &|| ad.stack(&compiler, self.cache()),
            cache: self.cache(),
            workers,
            recorder,
            object_store: &ObjectStore::default(),
            foreign_objects: &foreign_objects,
            keeps_memory,
        };
        let keys = objects.keys(&tools);
        let made = objects::make(&[(objects, keys)], &tools, &mut diagnostics);
        let made = made.map_err(|error| with_left_out(error, config))?;
        if let Some(program) = made.first() {
            files::write_program(out, &program.code)?;
        }
        let timings = recorder.timings(workers.count());
        if let Some(times) = &self.times {
            // Timings serve only for estimates, so errors do not matter.
            let _ = fs::create_dir_all(times).map(|()| timings.write(times));
        }
        self.cache().finish();
        let mut notices = self.cache().notices();
        notices.extend(self.note()?);
        let mut report = Report {
            sources: staged.report.sources,
            diagnostics,
        };
        report.extend(warned);
        Ok(BuiltProgram {
            blocks: staged.verify.map(|p| p.blocks).unwrap_or_default(),
            timings,
            notices,
            report,
        })
    }
}

/// Turns an error about undefined procedures into one that says they are in excluded files, if they are.
fn with_left_out(error: Error, config: &Config) -> Error {
    let Error::Undefined(names) = error else {
        return error;
    };
    let excluded = config.exclude.iter();
    let excluded = excluded.filter(|f| sources::is_source_name(f));
    let has = |file: &&PathBuf| {
        let text = sources::read(&config.root.join(file)).unwrap_or_default();
        text.lines().any(|line| names.contains(&defined_in(line)))
    };
    let files: Vec<String> = excluded
        .filter(has)
        .map(|f| f.display().to_string())
        .collect();
    match files.is_empty() {
        true => Error::Undefined(names),
        false => Error::LeftOut { names, files },
    }
}

/// Returns the name of the subprogram that a line may define, in upper case.
fn defined_in(line: &str) -> String {
    let line = line.to_ascii_uppercase();
    let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mut words = words.filter(|w| !w.is_empty());
    let header = ["SUBROUTINE", "FUNCTION", "ENTRY"];
    let name = words
        .find(|w| header.contains(w))
        .and_then(|_| words.next());
    name.unwrap_or_default().to_owned()
}
