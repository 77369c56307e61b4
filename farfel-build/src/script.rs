//! In a build script.

use farfel_driver::{Config, Error, Level, Library, Link, Profile, Report, Session, render};
use farfel_lang::Severity;
use farfel_lang::syntax::Form;
use std::env;
use std::io::{IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

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
        let target = variable("TARGET")?;
        let mut config = Config::from_manifest(Path::new(&root))?;
        // The package as cargo sees it: the version may be inherited.
        config.name = variable("CARGO_PKG_NAME")?;
        config.version = variable("CARGO_PKG_VERSION")?;
        for change in self.changes {
            change(&mut config)?;
        }
        config.apply_environment(&|name| env::var(name).ok())?;
        config.check()?;
        config.libraries = Library::of_environment()?;
        with_report(|| build(&config, &out, &target, directives))
    }
}

/// Where Farfel itself fails, says on standard error what to do.
fn with_report<T>(f: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let variable = farfel_driver::VERIFY_PASSES;
        let rest = farfel_driver::fault_of_farfel(&format!("build it again with {variable}=1"));
        let _ = writeln!(std::io::stderr(), "error: farfel itself has failed\n{rest}");
        resume_unwind(panic)
    })
}

fn build(
    config: &Config,
    out: &Path,
    target: &str,
    cargo: &mut Directives,
) -> Result<Built, Error> {
    for name in farfel_driver::variables(target) {
        cargo.add("rerun-if-env-changed", name);
    }
    cargo.watch(&config.root.join("Cargo.toml"));
    let session = Session::of_project(config)?;
    for directory in session.directories() {
        cargo.watch(directory);
    }
    if session.directories().is_empty() && session.reached().is_empty() {
        // A directory that comes later is seen only so.
        cargo.watch(&config.root);
    }
    if env::var_os("CARGO_MANIFEST_LINKS").is_some() {
        let description = session.describe(out)?;
        let (key, file) = (Library::KEY, description.display());
        cargo.add("metadata", format!("{key}={file}"));
    }
    let made = match env::var_os("DOCS_RS") {
        // Documentation links nothing, and docs.rs has no Fortran compiler.
        Some(_) => session.write_bindings(out),
        None => {
            let profile = Profile {
                opt_level: env::var("OPT_LEVEL").unwrap_or_else(|_| "0".into()),
                debug: env::var("DEBUG")
                    .is_ok_and(|d| !matches!(d.as_str(), "false" | "0" | "none")),
            };
            session.build_library(out, target, &profile)
        }
    };
    // Also where there are faults: the next build is to see that they are gone.
    for file in session.reached() {
        cargo.watch(&file);
    }
    let made = made?;
    for notice in &made.notices {
        cargo.warn(notice);
    }
    if let Some(link) = &made.link {
        cargo.link(link, out);
        cargo.warnings_of(&made.report);
    }
    Ok(Built {
        library: made.library,
        bindings: made.bindings,
        report: made.report,
    })
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

    fn link(&mut self, link: &Link, out: &Path) {
        self.add("rustc-link-search", format!("native={}", out.display()));
        self.add("rustc-link-lib", format!("static={}", link.library));
        for d in &link.directories {
            self.add("rustc-link-search", format!("native={}", d.display()));
        }
        // A program without any dynamic library: what rustc links then brings libm along, and
        // "dynamic" libraries that the linker finds as archives make it crash at its start.
        let is_static = env::var("CARGO_CFG_TARGET_FEATURE")
            .is_ok_and(|f| f.split(',').any(|f| f == "crt-static"));
        for l in &link.libraries {
            match (is_static, *l) {
                (false, _) => self.add("rustc-link-lib", format!("dylib={l}")),
                (true, "m") => {}
                (true, _) => self.add("rustc-link-lib", format!("static:-bundle={l}")),
            }
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
