//! A build script without cargo: it does the same, and need not be compiled for each test. It is the test
//! program itself, started again.

use farfel_driver::timings::{StepOrigin, Timings};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The environment variable that tells the test below to act as the build script.
const MARK: &str = "FARFEL_TEST_SCRIPT";

/// Selects another build script than the usual one.
pub const KIND: &str = "KIND_OF_SCRIPT";

#[test]
#[ignore = "this is the build script of other tests"]
fn the_build_script() {
    if std::env::var_os(MARK).is_none() {
        return;
    }
    let build = farfel_build::Build::new();
    match std::env::var(KIND).as_deref() {
        Ok("builder") => build
            .source("src/a.ff")
            .source("src/deep")
            .real_kind(8)
            .flag("-fno-inline")
            .set("exports", ["ALPHA"])
            .export("GAMMA")
            .lint("unused-variable", farfel_build::Level::Allow)
            .set("save-all", true)
            .compile(),
        Ok("wrong") => build.set("real-knd", 8).compile(),
        Ok("try") => {
            let built = build.try_compile();
            let _ = write!(std::io::stderr(), "{built:?}");
        }
        _ => farfel_build::compile(),
    }
}

/// A package, and where it is built.
#[derive(Clone)]
pub struct Script {
    pub root: PathBuf,
    pub out: PathBuf,
    variables: BTreeMap<String, String>,
}

/// Returns the directory in which a test builds.
pub fn sandbox() -> TempDir {
    tempfile::Builder::new()
        .prefix("farfel-test-")
        .tempdir()
        .unwrap()
}

/// Returns a project that has been built.
pub fn built(dir: &Path) -> Script {
    let script = Script::new(dir, "plan");
    library(&script);
    script.run();
    script
}

/// The outcome of a run.
#[derive(Debug)]
pub struct ScriptOutput {
    pub ok: bool,
    /// Its warnings and errors, as cargo shows them.
    pub warnings: Vec<String>,
    pub errors: Vec<String>,
    pub stderr: String,
}

impl Script {
    /// Creates the package `name` in `dir/root`, built in `dir/out` with a cache in `dir/cache`.
    pub fn new(dir: &Path, name: &str) -> Script {
        let script = Script {
            root: dir.join("root"),
            out: dir.join("out"),
            variables: BTreeMap::new(),
        };
        for d in [&script.root, &script.out, &dir.join("tmp")] {
            fs::create_dir_all(d).unwrap();
        }
        let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        script
            .with("CARGO_PKG_NAME", name)
            .with("CARGO_PKG_VERSION", "0.1.0")
            .with("TARGET", &target)
            .with("HOST", target)
            .with("OPT_LEVEL", "0")
            .with("DEBUG", "false")
            .with("NUM_JOBS", "2")
            .with("TMPDIR", path(&dir.join("tmp")))
            .with("FARFEL_CACHE_DIR", path(&dir.join("cache")))
    }

    /// Uses sources in another directory.
    #[must_use]
    pub fn at(mut self, root: &Path) -> Script {
        self.root = root.to_owned();
        self
    }

    /// Sets a variable, which need not be an environment variable of the test.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Script {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Builds in another directory.
    #[must_use]
    pub fn into_out(mut self, out: &Path) -> Script {
        fs::create_dir_all(out).unwrap();
        self.out = out.to_owned();
        self
    }

    /// Writes a file of the package.
    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) -> &Script {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Changes a file of the package; the replaced text must exist.
    #[track_caller]
    pub fn edit(&self, name: &str, old: &str, new: &str) -> &Script {
        let text = fs::read_to_string(self.root.join(name)).unwrap();
        assert!(text.contains(old), "{old} in {name}");
        self.file(name, text.replace(old, new))
    }

    /// Returns the command that runs it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .arg("script::the_build_script")
            .args(["--exact", "--ignored", "--nocapture"])
            .current_dir(&self.root);
        for (name, _) in std::env::vars() {
            if name.starts_with("FARFEL") || name.ends_with("MAKEFLAGS") || name == "FC" {
                command.env_remove(name);
            }
        }
        command
            .env(MARK, "1")
            .env("CARGO_MANIFEST_DIR", &self.root)
            .env("OUT_DIR", &self.out)
            .envs(&self.variables);
        command
    }

    pub fn try_run(&self) -> ScriptOutput {
        ScriptOutput::from(self.command().output().unwrap())
    }

    /// Runs it, which must go well.
    #[track_caller]
    pub fn run(&self) -> ScriptOutput {
        let said = self.try_run();
        assert!(said.ok, "{:?}\n{}", said.errors, said.stderr);
        said
    }

    /// Runs it, which must succeed, and lists the steps whose results did not exist already.
    #[track_caller]
    pub fn made(&self) -> Vec<String> {
        self.run();
        self.steps()
    }

    /// Returns the derivatives and objects of the last run that did not exist already, sorted: `request F_T`,
    /// `compile f` and why, `cache f`.
    #[track_caller]
    pub fn steps(&self) -> Vec<String> {
        let timings = Timings::read(&self.out).unwrap().unwrap();
        let mut made: Vec<String> = timings
            .steps
            .iter()
            .filter(|s| s.kind == "compile" || s.kind == "request")
            .filter_map(|s| match s.from {
                StepOrigin::Ran => Some(match &s.reason {
                    Some(reason) => format!("{} {}: {reason}", s.kind, s.name),
                    None => format!("{} {}", s.kind, s.name),
                }),
                StepOrigin::Cache => Some(format!("cache {}", s.name)),
                StepOrigin::Remote => Some(format!("remote {}", s.name)),
                StepOrigin::Fresh => None,
            })
            .collect();
        made.sort();
        made
    }

    /// Returns the library and the bindings.
    pub fn results(&self) -> (Vec<u8>, Vec<u8>) {
        let bindings = fs::read(self.out.join("farfel_bindings.rs")).unwrap();
        (fs::read(self.library()).unwrap(), bindings)
    }

    /// Returns the path of the library.
    pub fn library(&self) -> PathBuf {
        let files = fs::read_dir(&self.out).unwrap();
        files
            .map(|f| f.unwrap().path())
            .find(|p| p.extension().is_some_and(|e| e == "a"))
            .expect("a library")
    }
}

impl std::convert::From<Output> for ScriptOutput {
    fn from(output: Output) -> ScriptOutput {
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let all = |key: &str| {
            let lines = stdout.lines().filter_map(|l| l.strip_prefix(key));
            lines.map(str::to_owned).collect()
        };
        ScriptOutput {
            ok: output.status.success(),
            warnings: all("cargo::warning="),
            errors: all("cargo::error="),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

fn path(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Asserts that these are equal. Reports where they differ, not their contents.
#[track_caller]
pub fn assert_same(one: &(Vec<u8>, Vec<u8>), other: &(Vec<u8>, Vec<u8>), what: &str) {
    for (name, a, b) in [
        ("library", &one.0, &other.0),
        ("bindings", &one.1, &other.1),
    ] {
        if a != b {
            let at = a.iter().zip(b).position(|(x, y)| x != y);
            let around = |v: &[u8]| {
                let at = at.unwrap_or(v.len().saturating_sub(1));
                let part = &v[at.saturating_sub(60)..(at + 60).min(v.len())];
                String::from_utf8_lossy(part).into_owned()
            };
            panic!(
                "{what}: the {name} differ at {at:?} of {} and {}:\n{}\n{}",
                a.len(),
                b.len(),
                around(a),
                around(b)
            );
        }
    }
}

/// Creates an executable script.
pub fn program(file: &Path, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    file.to_owned()
}

/// Writes a library of several objects, with everything that connects them: `ALPHA`, `BETA` and `GAMMA` each
/// differentiate a subprogram of their own (`LEAFA` …), the first two the long `LONG`, which is a separate
/// object, the last two the short `SHORT`, which is copied; `DELTA` and `EPSILON` share a COMMON block with
/// initial values; `ZETA` prints.
pub fn library(script: &Script) {
    script.file(
        "Cargo.toml",
        "[package]\nname = 'plan'\nversion = '0.1.0'\n[package.metadata.farfel]\n\
         exports = ['ALPHA', 'BETA', 'GAMMA', 'DELTA', 'EPSILON', 'ZETA']\n",
    );
    sources(script);
}

/// Writes the sources of [`library`].
pub fn sources(script: &Script) {
    let leaf = |name: &str, factor: u32| {
        format!(
            "C     The leaf {name}.\n      DOUBLE PRECISION FUNCTION {name}(X)\n      \
             DOUBLE PRECISION X\n      {name} = {factor}*X*X\n      END\n\n"
        )
    };
    let derivative = |name: &str, expression: &str| {
        format!(
            "C     The slope of a sum.\n      DOUBLE PRECISION FUNCTION {name}(X)\n      \
             DOUBLE PRECISION X, Y, D, LEAFA, LEAFB, LEAFG, LONG, SHORT\n      ADF(X)\n        \
             Y = {expression}\n      END ADF(D = TANGENT(Y))\n      {name} = D\n      END\n\n"
        )
    };
    script.file(
        "src/a.ff",
        derivative("ALPHA", "LEAFA(X) + LONG(X)")
            + &leaf("LEAFA", 2)
            + "      DOUBLE PRECISION FUNCTION SHORT(X)\n      DOUBLE PRECISION X\n      \
               SHORT = 5*X*X\n      END\n",
    );
    let mut long = String::from(
        "      DOUBLE PRECISION FUNCTION LONG(X)\n      DOUBLE PRECISION X\n      LONG = 7*X*X\n",
    );
    for i in 0..400 {
        long += &format!("      IF (X .EQ. {i}.25D0) LONG = LONG + 1\n");
    }
    long += "      END\n\n";
    script.file(
        "src/deep/b.ff",
        derivative("BETA", "LEAFB(X) + LONG(X) + SHORT(X)")
            + &leaf("LEAFB", 3)
            + &long
            + &derivative("GAMMA", "LEAFG(X) + SHORT(X)")
            + &leaf("LEAFG", 4),
    );
    script.file(
        "fortran/c.f",
        "      DOUBLE PRECISION FUNCTION DELTA(X)\n      DOUBLE PRECISION X, F\n      \
         COMMON /SCALE/ F\n      DELTA = F*X\n      END\n\n      \
         SUBROUTINE EPSILON(X)\n      DOUBLE PRECISION X, F\n      COMMON /SCALE/ F\n      \
         F = X\n      END\n\n      \
         BLOCK DATA\n      DOUBLE PRECISION F\n      COMMON /SCALE/ F\n      \
         DATA F /11.0D0/\n      END\n\n      \
         SUBROUTINE ZETA(X)\n      DOUBLE PRECISION X\n      PRINT *, X\n      END\n",
    );
}
