//! In a build script.

use crate::cache::{Cache, Key};
use crate::config::VARIABLES;
use crate::gfortran::{self, Profile};
use crate::names::Names;
use crate::pipeline::{self, Goal};
use crate::plan::objects::{self, Means, Object, Objects};
use crate::plan::recorder::Recorder;
use crate::plan::shelf::Shelf;
use crate::plan::workers::Workers;
use crate::shares::{self, Context, Kept, Lowered, Memo, Notes, Planning, Ready};
use crate::timings::From;
use crate::{
    Config, Error, Report, ad, archive, files, library, render, sources, toolchain, verify,
};
use farfel_lang::Severity;
use farfel_lang::diagnostic::Level;
use farfel_lang::ir::Name;
use farfel_lang::syntax::Form;
use std::env;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Compiles the project's sources with the settings of `Cargo.toml`. For `build.rs`.
///
/// Where that fails it reports what is wrong and ends the build script with exit code 1;
/// [`try_compile`] returns instead.
pub fn compile() {
    Build::new().compile();
}

/// Like [`compile`], for build scripts that go on after a fault.
///
/// # Errors
///
/// Whatever [`Error`] says.
pub fn try_compile() -> Result<Built, Error> {
    Build::new().try_compile()
}

/// What a build made.
#[derive(Debug)]
pub struct Built {
    /// The static library; cargo has been told to link it.
    pub library: PathBuf,
    /// The Rust functions.
    pub bindings: PathBuf,
    /// The warnings.
    pub report: Report,
}

/// A build with settings of its own, which override those of `Cargo.toml`.
///
/// ```no_run
/// fn main() {
///     farfel_build::Build::new()
///         .source("numerics")
///         .real_kind(8)
///         .flag("-fcheck=bounds")
///         .compile();
/// }
/// ```
#[derive(Default)]
pub struct Build {
    changes: Vec<Change>,
}

/// A setting that the builder overrides.
type Change = Box<dyn FnOnce(&mut Config) -> Result<(), Error>>;

impl Build {
    /// A build with the settings of `Cargo.toml`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Any settings: `change` gets those of `Cargo.toml` and of the calls before this one.
    #[must_use]
    pub fn configure(mut self, change: impl FnOnce(&mut Config) + 'static) -> Self {
        self.changes.push(Box::new(|c| {
            change(c);
            Ok(())
        }));
        self
    }

    /// A file or directory, relative to the project, in place of `src` and `fortran`. Call
    /// it again for more.
    #[must_use]
    pub fn source(self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        self.configure(|c| c.sources.get_or_insert_default().push(path))
    }

    /// How many bytes a REAL has: 4 or 8.
    #[must_use]
    pub fn real_kind(self, bytes: u8) -> Self {
        self.configure(move |c| c.real_kind = bytes)
    }

    /// The source form of all files.
    #[must_use]
    pub fn form(self, form: Form) -> Self {
        self.configure(move |c| c.form = Some(form))
    }

    /// The last column that is read in fixed form, 72 to 1000.
    #[must_use]
    pub fn line_length(self, columns: usize) -> Self {
        self.configure(move |c| c.line_length = columns)
    }

    /// Whether the preprocessor runs on all sources, not only on those whose names end in capital
    /// letters (`.F`).
    #[must_use]
    pub fn preprocess(self, all: bool) -> Self {
        self.configure(move |c| c.preprocess = all)
    }

    /// A name that the preprocessor knows: `NAME` or `NAME=value`. Call it again for more.
    #[must_use]
    pub fn define(self, define: impl Into<String>) -> Self {
        let define = define.into();
        self.configure(|c| c.defines.push(define))
    }

    /// Whether lines with `D` in column 1 are code.
    #[must_use]
    pub fn debug_lines(self, are_code: bool) -> Self {
        self.configure(move |c| c.debug_lines = are_code)
    }

    /// A subprogram that Rust can call; without any call of this, all can be called that
    /// can be. Call it again for more.
    #[must_use]
    pub fn export(self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.configure(|c| c.exports.get_or_insert_default().push(name))
    }

    /// One more flag for the Fortran compiler.
    #[must_use]
    pub fn flag(self, flag: impl Into<String>) -> Self {
        let flag = flag.into();
        self.configure(|c| c.flags.push(flag))
    }

    /// What becomes of a warning: see [`Config::lints`]. A name that is none is an error of
    /// the build. Later calls outdo earlier ones.
    ///
    /// ```no_run
    /// # use farfel_build::{Build, Level};
    /// Build::new().lint("unknown-procedure", Level::Deny).compile();
    /// ```
    #[must_use]
    pub fn lint(mut self, name: impl Into<String>, level: Level) -> Self {
        let name = name.into();
        self.changes.push(Box::new(move |c| {
            c.lints.set(&name, level).map_err(|message| Error::Config {
                origin: "Build::lint".into(),
                message,
            })
        }));
        self
    }

    /// One more directory for INCLUDE files.
    #[must_use]
    pub fn include(self, directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        self.configure(|c| c.include.push(directory))
    }

    /// Compiles; reports faults and ends the build script with exit code 1 if there are
    /// any.
    pub fn compile(self) {
        let mut directives = Directives::default();
        match self.run(&mut directives) {
            Ok(_) => directives.send(),
            // Cargo runs a script that failed again in any case, and shows its output, in
            // which the other directives would be noise.
            Err(error) => {
                report_error(&error);
                std::process::exit(1);
            }
        }
    }

    /// Compiles.
    ///
    /// # Errors
    ///
    /// Whatever [`Error`] says. Warnings are reported to cargo, errors are not.
    pub fn try_compile(self) -> Result<Built, Error> {
        let mut directives = Directives::default();
        let built = self.run(&mut directives);
        directives.send();
        built
    }

    fn run(self, directives: &mut Directives) -> Result<Built, Error> {
        let root = variable("CARGO_MANIFEST_DIR")?;
        let out = PathBuf::from(variable("OUT_DIR")?);
        // Tests have those two as well.
        variable("TARGET")?;
        let mut config = Config::from_manifest(Path::new(&root))?;
        // The package as cargo sees it: the version may be inherited.
        config.name = variable("CARGO_PKG_NAME")?;
        config.version = variable("CARGO_PKG_VERSION")?;
        for change in self.changes {
            change(&mut config)?;
        }
        config.apply_environment(&|name| env::var(name).ok())?;
        config.check()?;
        config.libraries = library::of_environment()?;
        build(&config, &out, directives)
    }
}

fn build(config: &Config, out: &Path, cargo: &mut Directives) -> Result<Built, Error> {
    let recorder = Recorder::new();
    for name in VARIABLES {
        cargo.add("rerun-if-env-changed", name);
    }
    cargo.watch(&config.root.join("Cargo.toml"));
    let found = sources::find(config)?;
    for path in found.files.iter().chain(&found.directories) {
        cargo.watch(path);
    }
    if found.directories.is_empty() && found.files.is_empty() {
        // A directory that comes later is seen only so.
        cargo.watch(&config.root);
    }
    if env::var_os("CARGO_MANIFEST_LINKS").is_some() {
        let description = library::describe(config, &found.files, out)?;
        cargo.add(
            "metadata",
            format!("{}={}", library::KEY, description.display()),
        );
    }
    let cache = Arc::new(Cache::open(&config.cache));
    let names = Names::new(&config.name, &config.version);
    let bindings_file = out.join("farfel_bindings.rs");
    let library = out.join(format!("lib{}.a", names.library()));
    if env::var_os("DOCS_RS").is_some() {
        // Documentation links nothing, and docs.rs has no Fortran compiler.
        let ad = ad::choose(config, &cache)?;
        let adjoints = ad.adjoints_share_state;
        let (lowered, _) = whole(&found.files, config, &names, adjoints, &recorder, cargo)?;
        files::write_if_changed(&bindings_file, lowered.part.text(config).as_bytes())?;
        return Ok(Built {
            library,
            bindings: bindings_file,
            report: lowered.staged.report,
        });
    }

    let memo = Memo::open(out);
    let mut included = Vec::new();
    let step = recorder.begin("parse", "sources", 0);
    // What keeps its values everywhere cannot be copied, and libraries are joined to one program.
    let one = config.is_static() || !config.libraries.is_empty() || config.verify;
    let read = match one {
        true => None,
        false => shares::read(&found.files, config, &memo, &mut included)?,
    };
    recorder.end(step, From::Ran);
    let ad = ad::choose(config, &cache);
    let compiler = toolchain::find_or_install(config);
    let whole = |adjoints: bool, cargo: &mut Directives| {
        whole(&found.files, config, &names, adjoints, &recorder, cargo)
    };
    // Faults of the sources come first.
    let (ad, compiler) = match (ad, compiler) {
        (Ok(ad), Ok(compiler)) => (ad, compiler),
        (Err(error), _) | (_, Err(error)) => {
            whole(false, cargo)?;
            return Err(error);
        }
    };
    let profile = Profile {
        opt_level: env::var("OPT_LEVEL").unwrap_or_else(|_| "0".into()),
        debug: env::var("DEBUG").is_ok_and(|d| !matches!(d.as_str(), "false" | "0" | "none")),
    };
    let mut flags = gfortran::flags(config, &profile);
    flags.push("-c".into());
    if !compiler.machine.contains("mingw") {
        flags.push("-fPIC".into());
    }
    let workers = Workers::from_environment();
    let shelf = Shelf::open(out)?;
    let means = Means {
        tool: &*ad.tool,
        tool_identity: &ad.identity,
        compiler: &compiler,
        compiler_identity: &compiler.identity(&flags),
        flags: &flags,
        stack: &|| ad.stack(&compiler, &cache),
        cache: &cache,
        workers: &workers,
        recorder: &recorder,
        shelf: &shelf,
    };
    let context = Context {
        config,
        names: &names,
        means: &means,
        adjoints_share_state: ad.adjoints_share_state,
        memo: &memo,
    };
    let step = recorder.begin("lower", "shares", 0);
    let planned = match read {
        Some(read) => shares::plan(read, &context)?,
        None => None,
    };
    let front = match planned {
        Some(planning) => {
            recorder.end(step, From::Ran);
            included.iter().for_each(|p| cargo.watch(p));
            planning
        }
        None => {
            let (mut lowered, left_out) = whole(ad.adjoints_share_state, cargo)?;
            let objects = lowered.objects(&names);
            let keys = objects.keys(&means);
            let layout = objects.into_layout();
            let report = &mut lowered.staged.report;
            Planning {
                sources: report.sources.clone(),
                diagnostics: std::mem::take(&mut report.diagnostics),
                left_out,
                bindings: lowered.part.clone(),
                parts: vec![Ready::Lowered(Box::new((lowered, layout, keys)))],
                notes: Notes::default(),
            }
        }
    };
    let Planning {
        sources,
        mut diagnostics,
        left_out,
        bindings,
        parts,
        notes,
    } = front;
    for (_, file) in toolchain::files_of(&flags) {
        cargo.watch(&file);
    }
    for name in &left_out {
        cargo.warn(&format!(
            "the main program {name} is not a part of the library"
        ));
    }
    let bindings = bindings.text(config);

    // What is there, what is to be made, and in which order they belong.
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
    let to_make: Vec<(Objects, Vec<Key>)> = lowered
        .iter()
        .zip(layouts)
        .map(|(program, (layout, keys))| (program.objects_with(&names, layout), keys))
        .collect();
    let made = objects::make(&to_make, &means, &mut diagnostics)?;
    let keys = to_make.iter().flat_map(|(_, keys)| keys);
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
    let wanted: Vec<(&str, &str)> = all
        .iter()
        .map(|k| (k.object.name.as_str(), k.key.as_str()))
        .collect();
    let mut archived = None;
    if !shelf.has_library(&library, wanted) {
        let step = recorder.begin("archive", names.library(), 0);
        let target = env::var("TARGET").unwrap_or_default();
        let objects: Vec<&Object> = all.iter().map(|k| &k.object).collect();
        archived = Some(archive::write(&objects, &means, &library, &target)?);
        recorder.end(step, From::Ran);
    }
    // What was said of an object may be said of other lines now.
    let about: Vec<_> = all
        .iter()
        .map(|k| (k.object.name.as_str(), &k.object.about))
        .collect();
    if archived.is_some() || !shelf.is_about(&about) {
        let known = all
            .into_iter()
            .map(|k| (k.object.name, k.key, k.recipe, k.object.about))
            .collect();
        shelf.close(out, archived.as_deref(), known)?;
    }
    notes.write(out)?;
    if config.verify {
        verify::write(out, to_make.iter().filter_map(|(o, _)| o.plan()))?;
    }
    files::write_if_changed(&bindings_file, bindings.as_bytes())?;
    cache.finish();
    for notice in cache.notices() {
        cargo.warn(&notice);
    }
    recorder.timings(workers.count()).write(out)?;
    // A build script ends soon, and the system takes all of it back at once. To free each
    // expression takes a good part of the time that it took to read them.
    std::mem::forget(to_make);
    std::mem::forget(lowered);
    let report = Report {
        sources,
        diagnostics,
    };

    cargo.add("rustc-link-search", format!("native={}", out.display()));
    cargo.add("rustc-link-lib", format!("static={}", names.library()));
    let (directories, libraries) = compiler.runtime_libraries();
    for d in directories {
        cargo.add("rustc-link-search", format!("native={}", d.display()));
    }
    // A program without any dynamic library: what rustc links then brings libm along, and
    // "dynamic" libraries that the linker finds as archives make it crash at its start.
    let is_static =
        env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|f| f.split(',').any(|f| f == "crt-static"));
    for l in libraries {
        match (is_static, l) {
            (false, _) => cargo.add("rustc-link-lib", format!("dylib={l}")),
            (true, "m") => {}
            (true, _) => cargo.add("rustc-link-lib", format!("static:-bundle={l}")),
        }
    }
    cargo.warnings_of(&report);
    Ok(Built {
        library,
        bindings: bindings_file,
        report,
    })
}

/// The library as one program, and the names of main programs in its files.
fn whole(
    paths: &[PathBuf],
    config: &Config,
    names: &Names,
    adjoints_share_state: bool,
    recorder: &Recorder,
    cargo: &mut Directives,
) -> Result<(Lowered, Vec<Name>), Error> {
    let mut included = Vec::new();
    let step = recorder.begin("parse", "sources", 0);
    let read = pipeline::read(paths, config, Goal::Library, &mut included);
    included.iter().for_each(|p| cargo.watch(p));
    let mut read = read?;
    recorder.end(step, From::Ran);
    if read.written.is_empty() {
        cargo.warn("no Fortran subprogram was found, so the library is empty");
    }
    let left_out = std::mem::take(&mut read.left_out);
    let step = recorder.begin("lower", "program", 0);
    let lowered = Lowered::new(read, None, config, names, adjoints_share_state)?;
    recorder.end(step, From::Ran);
    Ok((lowered, left_out))
}

fn variable(name: &'static str) -> Result<String, Error> {
    env::var(name).map_err(|_| Error::NotABuildScript(name))
}

/// Lines for cargo, which reads standard output.
#[derive(Default)]
struct Directives(Vec<String>);

impl Directives {
    /// Whatever the value is, it stays one directive.
    fn add(&mut self, key: &str, value: impl std::fmt::Display) {
        let value = value.to_string();
        self.0
            .push(format!("cargo::{key}={}", render::plain(&value)));
    }

    fn watch(&mut self, path: &Path) {
        self.add("rerun-if-changed", path.display());
    }

    fn warn(&mut self, message: &str) {
        // Cargo shows one line each.
        for line in message.lines() {
            self.add("warning", line);
        }
    }

    fn warnings_of(&mut self, report: &Report) {
        for d in &report.diagnostics {
            if d.severity == Severity::Warning {
                let place = report.sources.get(d.span.file).map(|f| {
                    let place = f.line_column(d.span.start);
                    format!("{}:{}:{}: ", f.name, place.line, place.column)
                });
                self.warn(&format!("{}{}", place.unwrap_or_default(), d.message));
            }
        }
    }

    fn send(&self) {
        for line in &self.0 {
            // Where cargo no longer listens there is nobody to tell.
            let _ = writeln!(std::io::stdout(), "{line}");
        }
    }
}

/// One headline to cargo, the rest to standard error, which cargo shows when a build script
/// fails.
fn report_error(error: &Error) {
    let headline = error.to_string();
    let headline = render::plain(headline.lines().next().unwrap_or_default());
    let _ = writeln!(std::io::stdout(), "cargo::error={headline}");
    let text = match error {
        Error::Diagnostics(report) => {
            let color = std::io::stderr().is_terminal()
                || env::var("CARGO_TERM_COLOR").is_ok_and(|c| c == "always");
            render::render(report, color)
        }
        // The headline said the rest.
        other if other.to_string().lines().count() > 1 => {
            let text = other.to_string();
            text.lines()
                .map(|l| format!("{}\n", render::plain(l)))
                .collect()
        }
        _ => String::new(),
    };
    let _ = write!(std::io::stderr(), "{text}");
}
