//! The functions and settings that build scripts use.

use crate::answer::{Answer, Built};
use crate::command;
use crate::error::Error;
use serde_json::{Value, json};
use std::env;
use std::io::Write;
use std::path::PathBuf;

/// Compiles the project's sources with the settings in `Cargo.toml`. For `build.rs`.
///
/// On failure it reports the errors and ends the build script with exit code 1; [`try_compile`] returns the
/// error instead.
pub fn compile() {
    Build::new().compile();
}

/// Like [`compile`], for build scripts that continue after an error.
///
/// # Errors
///
/// Any [`Error`].
pub fn try_compile() -> Result<Built, Error> {
    Build::new().try_compile()
}

/// The source form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// Labels in columns 1 to 5, statements from column 7 on.
    Fixed,
    /// Columns have no meaning.
    Free,
}

/// The level of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// The warning is not shown.
    Allow,
    /// The warning is shown.
    Warn,
    /// The warning is an error.
    Deny,
}

/// A derivative of a subprogram, for [`Build::derive`].
///
/// Arguments are named as in the Fortran source. If an argument's declaration leaves its last bound open, the
/// bound is given as in `x(n)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derivative {
    kind: &'static str,
    subprogram: String,
    /// The dependent variables; `None` means the function's result.
    of: Option<Vec<String>>,
    by: Vec<String>,
    reverse: bool,
}

impl Derivative {
    fn new(kind: &'static str, subprogram: impl Into<String>) -> Self {
        Derivative {
            kind,
            subprogram: subprogram.into(),
            of: None,
            by: Vec::new(),
            reverse: false,
        }
    }

    /// Creates the derivative of a scalar with respect to arguments: one reverse sweep.
    #[must_use]
    pub fn gradient(subprogram: impl Into<String>) -> Self {
        Self::new("gradient", subprogram)
    }

    /// Creates the derivatives of arguments with respect to arguments: a forward sweep with one direction for
    /// each independent number, or with [`reverse`](Derivative::reverse) a reverse sweep with one direction
    /// for each dependent number.
    #[must_use]
    pub fn jacobian(subprogram: impl Into<String>) -> Self {
        Self::new("jacobian", subprogram)
    }

    /// Creates the product of the Jacobian and a vector, the tangent: one forward sweep.
    #[must_use]
    pub fn jvp(subprogram: impl Into<String>) -> Self {
        Self::new("jvp", subprogram)
    }

    /// Creates the product of a vector, the cotangent, and the Jacobian: one reverse sweep.
    #[must_use]
    pub fn vjp(subprogram: impl Into<String>) -> Self {
        Self::new("vjp", subprogram)
    }

    /// Creates the second derivatives of a scalar with respect to one argument, and the gradient.
    #[must_use]
    pub fn hessian(subprogram: impl Into<String>) -> Self {
        Self::new("hessian", subprogram)
    }

    /// Creates the product of the Hessian and a vector, and the gradient, at the cost of a few gradients.
    #[must_use]
    pub fn hvp(subprogram: impl Into<String>) -> Self {
        Self::new("hvp", subprogram)
    }

    /// Adds a dependent variable, an argument of the subprogram. Without any, the function's result is
    /// differentiated.
    #[must_use]
    pub fn of(mut self, argument: impl Into<String>) -> Self {
        self.of.get_or_insert_default().push(argument.into());
        self
    }

    /// Computes all rows of a Jacobian in one reverse sweep, which is faster if there are few rows and many
    /// columns.
    ///
    /// ```no_run
    /// use farfel_build::{Build, Derivative};
    ///
    /// let rows = Derivative::jacobian("model").of("f").by("x").reverse();
    /// Build::new().derive("model_jacobian", rows).compile();
    /// ```
    #[must_use]
    pub fn reverse(mut self) -> Self {
        self.reverse = true;
        self
    }

    /// Adds an independent variable, an argument of the subprogram.
    #[must_use]
    pub fn by(mut self, argument: impl Into<String>) -> Self {
        self.by.push(argument.into());
        self
    }
}

/// A build with its own settings, which override those in `Cargo.toml`.
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
#[derive(Debug, Clone, Default)]
pub struct Build {
    /// The changes in the form that the protocol defines.
    changes: Vec<Value>,
}

impl Build {
    /// Creates a build with the settings in `Cargo.toml`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets any setting. Names and values are those of `[package.metadata.farfel]`, with dots for nested
    /// tables. An unknown name or an invalid value is an error of the build.
    ///
    /// ```no_run
    /// # use farfel_build::Build;
    /// Build::new().set("save-all", true).set("cache.max-size", 1024).compile();
    /// ```
    #[must_use]
    pub fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.changes.push(json!({"set": [name, value.into()]}));
        self
    }

    /// Adds a value to a setting that is a list.
    #[must_use]
    pub fn add(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.changes.push(json!({"add": [name, value.into()]}));
        self
    }

    /// Adds a file or directory, relative to the project, that is used instead of `src` and `fortran`. May be
    /// called several times.
    #[must_use]
    pub fn source(self, path: impl Into<PathBuf>) -> Self {
        self.add("sources", text(path.into()))
    }

    /// Adds a file or directory, relative to the project, that gfortran compiles as it is. May be called
    /// several times.
    #[must_use]
    pub fn pass_through(self, path: impl Into<PathBuf>) -> Self {
        self.add("pass-through", text(path.into()))
    }

    /// Sets the size of a REAL in bytes: 4 or 8.
    #[must_use]
    pub fn real_kind(self, bytes: u8) -> Self {
        self.set("real-kind", bytes)
    }

    /// Sets the source form of all files.
    #[must_use]
    pub fn form(self, form: Form) -> Self {
        let form = match form {
            Form::Fixed => "fixed",
            Form::Free => "free",
        };
        self.set("form", form)
    }

    /// Sets the last significant column in fixed form, 72 to 1000.
    #[must_use]
    pub fn line_length(self, columns: usize) -> Self {
        self.set("line-length", columns)
    }

    /// Sets whether the preprocessor runs on all sources and not only on those with a capital extension
    /// (`.F`).
    #[must_use]
    pub fn preprocess(self, all: bool) -> Self {
        self.set("preprocess", all)
    }

    /// Adds a preprocessor definition: `NAME` or `NAME=value`. May be called several times.
    #[must_use]
    pub fn define(self, define: impl Into<String>) -> Self {
        self.add("defines", define.into())
    }

    /// Sets whether lines with `D` in column 1 are compiled.
    #[must_use]
    pub fn debug_lines(self, are_code: bool) -> Self {
        self.set("debug-lines", are_code)
    }

    /// Adds a subprogram to export to Rust. If this is never called, all subprograms that Rust can call are
    /// exported. May be called several times.
    #[must_use]
    pub fn export(self, name: impl Into<String>) -> Self {
        self.add("exports", name.into())
    }

    /// Adds a flag for the Fortran compiler.
    #[must_use]
    pub fn flag(self, flag: impl Into<String>) -> Self {
        self.add("flags", flag.into())
    }

    /// Sets the level of a warning, or of a group: `all`, `warnings`. A name takes precedence over a group;
    /// an unknown name is an error of the build.
    ///
    /// ```no_run
    /// # use farfel_build::{Build, Level};
    /// Build::new().lint("unknown-procedure", Level::Deny).compile();
    /// ```
    #[must_use]
    pub fn lint(self, name: impl AsRef<str>, level: Level) -> Self {
        let level = match level {
            Level::Allow => "allow",
            Level::Warn => "warn",
            Level::Deny => "deny",
        };
        self.set(&format!("lints.{}", name.as_ref()), level)
    }

    /// Adds a subprogram to be generated: the derivative of one in the sources.
    ///
    /// ```no_run
    /// use farfel_build::{Build, Derivative};
    /// Build::new()
    ///     .derive("cost_gradient", Derivative::gradient("cost").by("x"))
    ///     .derive("model_jacobian", Derivative::jacobian("model").of("f").by("x").by("p"))
    ///     .compile();
    /// ```
    #[must_use]
    pub fn derive(self, name: impl AsRef<str>, derivative: Derivative) -> Self {
        let value = json!({
            derivative.kind: derivative.subprogram,
            "of": derivative.of,
            "by": derivative.by,
            "reverse": derivative.reverse,
        });
        self.set(&format!("derive.{}", name.as_ref()), value)
    }

    /// Adds a directory that is searched for INCLUDE files.
    #[must_use]
    pub fn include(self, directory: impl Into<PathBuf>) -> Self {
        self.add("include", text(directory.into()))
    }

    /// Compiles the project. If there are errors, reports them and ends the build script with exit code 1.
    pub fn compile(self) {
        let mut answer = Answer::default();
        match command::run(&self.request(), &mut answer) {
            Ok(_) => send(&answer.directives),
            // Cargo always reruns a script that failed, and shows its output, in which the other directives
            // would be noise.
            Err(error) => {
                let headline = error.to_string().replace(char::is_control, " ");
                send(&[format!("cargo::error={headline}")]);
                if let Error::Build { text, .. } = &error {
                    // If standard error is closed, there is nobody to tell.
                    let _ = write!(std::io::stderr(), "{text}");
                }
                std::process::exit(1);
            }
        }
    }

    /// Compiles the project.
    ///
    /// # Errors
    ///
    /// Any [`Error`]. Warnings are reported to cargo, errors are not.
    pub fn try_compile(self) -> Result<Built, Error> {
        let mut answer = Answer::default();
        let built = command::run(&self.request(), &mut answer);
        send(&answer.directives);
        built
    }

    fn request(&self) -> String {
        let check = env::var(command::REQUEST).is_ok_and(|wanted| wanted == "check");
        let want = if check { "check" } else { "build" };
        json!({"want": want, "settings": self.changes}).to_string()
    }
}

/// Converts a path to text for a line of JSON.
fn text(path: PathBuf) -> String {
    path.to_string_lossy().into_owned()
}

/// Sends directives to cargo, which reads standard output.
fn send(directives: &[String]) {
    for line in directives {
        // If cargo no longer listens, there is nobody to tell.
        let _ = writeln!(std::io::stdout(), "{line}");
    }
}
