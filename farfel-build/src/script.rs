//! In a build script.

use crate::answer::{Answer, Built};
use crate::command;
use crate::error::Error;
use serde_json::{Value, json};
use std::env;
use std::io::Write;
use std::path::PathBuf;

/// Compiles the project's sources with the settings of `Cargo.toml`. For `build.rs`.
///
/// Where that fails it reports what is wrong and ends the build script with exit code 1;
/// [`try_compile`] returns instead.
pub fn compile() {
    Build::new().compile();
}

/// Like [`compile`], for build scripts that go on after an error.
///
/// # Errors
///
/// Whatever [`Error`] says.
pub fn try_compile() -> Result<Built, Error> {
    Build::new().try_compile()
}

/// The source form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// Labels in columns 1 to 5, statements from column 7 on.
    Fixed,
    /// Columns mean nothing.
    Free,
}

/// What becomes of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// It is not shown.
    Allow,
    /// It is shown.
    Warn,
    /// It is an error.
    Deny,
}

/// A derivative of a subprogram: see [`Build::derive`].
///
/// Arguments are named as in the Fortran text; where their declaration does not tell the last bound, as `x(n)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derivative {
    kind: &'static str,
    subprogram: String,
    /// Without any, it is the function's own.
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

    /// The derivative of one number by arguments: one reverse sweep.
    #[must_use]
    pub fn gradient(subprogram: impl Into<String>) -> Self {
        Self::new("gradient", subprogram)
    }

    /// The derivatives of arguments by arguments: a forward sweep with as many directions as there are numbers to
    /// differentiate by, or with [`reverse`](Derivative::reverse) a reverse sweep with as many as there are to
    /// differentiate.
    #[must_use]
    pub fn jacobian(subprogram: impl Into<String>) -> Self {
        Self::new("jacobian", subprogram)
    }

    /// The Jacobian times a vector, the tangent: one forward sweep.
    #[must_use]
    pub fn jvp(subprogram: impl Into<String>) -> Self {
        Self::new("jvp", subprogram)
    }

    /// A vector, the cotangent, times the Jacobian: one reverse sweep.
    #[must_use]
    pub fn vjp(subprogram: impl Into<String>) -> Self {
        Self::new("vjp", subprogram)
    }

    /// The second derivatives of one number by one argument, and the gradient.
    #[must_use]
    pub fn hessian(subprogram: impl Into<String>) -> Self {
        Self::new("hessian", subprogram)
    }

    /// The Hessian times a vector, and the gradient, at the cost of a few gradients.
    #[must_use]
    pub fn hvp(subprogram: impl Into<String>) -> Self {
        Self::new("hvp", subprogram)
    }

    /// What is differentiated: an argument of the subprogram. Without it, the result of the function. Call it again
    /// for more.
    #[must_use]
    pub fn of(mut self, argument: impl Into<String>) -> Self {
        self.of.get_or_insert_default().push(argument.into());
        self
    }

    /// All rows of a Jacobian in one reverse sweep: faster where they are few, and columns many.
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

    /// An argument to differentiate by. Call it again for more.
    #[must_use]
    pub fn by(mut self, argument: impl Into<String>) -> Self {
        self.by.push(argument.into());
        self
    }
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
#[derive(Debug, Clone, Default)]
pub struct Build {
    /// As the protocol has them.
    changes: Vec<Value>,
}

impl Build {
    /// A build with the settings of `Cargo.toml`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Any setting: its name and value are those of `[package.metadata.farfel]`, with dots for
    /// tables in tables. A name that is none, or a value that it cannot have, is an error of the build.
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

    /// One more value for a setting that is a list.
    #[must_use]
    pub fn add(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.changes.push(json!({"add": [name, value.into()]}));
        self
    }

    /// A file or directory, relative to the project, in place of `src` and `fortran`. Call
    /// it again for more.
    #[must_use]
    pub fn source(self, path: impl Into<PathBuf>) -> Self {
        self.add("sources", text(path.into()))
    }

    /// A file or directory that gfortran gets as it is, relative to the project. Call it again for more.
    #[must_use]
    pub fn pass_through(self, path: impl Into<PathBuf>) -> Self {
        self.add("pass-through", text(path.into()))
    }

    /// How many bytes a REAL has: 4 or 8.
    #[must_use]
    pub fn real_kind(self, bytes: u8) -> Self {
        self.set("real-kind", bytes)
    }

    /// The source form of all files.
    #[must_use]
    pub fn form(self, form: Form) -> Self {
        let form = match form {
            Form::Fixed => "fixed",
            Form::Free => "free",
        };
        self.set("form", form)
    }

    /// The last column that is read in fixed form, 72 to 1000.
    #[must_use]
    pub fn line_length(self, columns: usize) -> Self {
        self.set("line-length", columns)
    }

    /// Whether the preprocessor runs on all sources, not only on those whose names end in capital
    /// letters (`.F`).
    #[must_use]
    pub fn preprocess(self, all: bool) -> Self {
        self.set("preprocess", all)
    }

    /// A name that the preprocessor knows: `NAME` or `NAME=value`. Call it again for more.
    #[must_use]
    pub fn define(self, define: impl Into<String>) -> Self {
        self.add("defines", define.into())
    }

    /// Whether lines with `D` in column 1 are code.
    #[must_use]
    pub fn debug_lines(self, are_code: bool) -> Self {
        self.set("debug-lines", are_code)
    }

    /// A subprogram that Rust can call; without any call of this, all can be called that
    /// can be. Call it again for more.
    #[must_use]
    pub fn export(self, name: impl Into<String>) -> Self {
        self.add("exports", name.into())
    }

    /// One more flag for the Fortran compiler.
    #[must_use]
    pub fn flag(self, flag: impl Into<String>) -> Self {
        self.add("flags", flag.into())
    }

    /// What becomes of a warning, or of a group of them: `all`, `warnings`. A name outdoes a group;
    /// one that is none is an error of the build.
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

    /// A subprogram that is to be made: the derivative of one that the sources have.
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

    /// One more directory for INCLUDE files.
    #[must_use]
    pub fn include(self, directory: impl Into<PathBuf>) -> Self {
        self.add("include", text(directory.into()))
    }

    /// Compiles; reports errors and ends the build script with exit code 1 if there are
    /// any.
    pub fn compile(self) {
        let mut answer = Answer::default();
        match command::run(&self.request(), &mut answer) {
            Ok(_) => send(&answer.directives),
            // Cargo runs a script that failed again in any case, and shows its output, in
            // which the other directives would be noise.
            Err(error) => {
                let headline = error.to_string().replace(char::is_control, " ");
                send(&[format!("cargo::error={headline}")]);
                if let Error::Build { text, .. } = &error {
                    // Where nobody listens there is nobody to tell.
                    let _ = write!(std::io::stderr(), "{text}");
                }
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

/// A path in a line of JSON.
fn text(path: PathBuf) -> String {
    path.to_string_lossy().into_owned()
}

/// To cargo, which reads standard output.
fn send(directives: &[String]) {
    for line in directives {
        // Where cargo no longer listens there is nobody to tell.
        let _ = writeln!(std::io::stdout(), "{line}");
    }
}
