//! Projects as a user would have them, built by cargo.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread::{self, ThreadId};

/// A crate in a directory of its own, which an earlier run may have left.
pub struct Project {
    pub directory: PathBuf,
}

/// The outcome of a command.
pub struct Ran {
    pub ok: bool,
    pub stdout: String,
    pub stderr: String,
}

impl Project {
    /// Creates a package `name` in a directory that may have another name. Tests run at the same time and
    /// share a target directory: each needs names that no other has.
    #[track_caller]
    pub fn new(directory: &str, name: &str) -> Project {
        static TAKEN: Mutex<BTreeMap<String, ThreadId>> = Mutex::new(BTreeMap::new());
        for name in [format!("projects/{directory}"), format!("package {name}")] {
            let by = thread::current().id();
            let owner = *TAKEN.lock().unwrap().entry(name.clone()).or_insert(by);
            assert_eq!(owner, by, "another test has `{name}`");
        }
        let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join("projects");
        let directory = base.join(directory);
        // It may not exist.
        let _ = fs::remove_dir_all(&directory);
        let project = Project { directory };
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        project.file(
            "Cargo.toml",
            format!(
                "[package]\nname = '{name}'\nversion = '0.1.0'\nedition = '2024'\n[workspace]\n\
                 [dependencies]\nfarfel-runtime = {{ path = '{0}/farfel-runtime' }}\n\
                 [build-dependencies]\nfarfel-build = {{ path = '{0}/farfel-build' }}\n",
                workspace.display()
            ),
        );
        // The same versions as the workspace, so that nothing is downloaded.
        fs::copy(
            workspace.join("Cargo.lock"),
            project.directory.join("Cargo.lock"),
        )
        .unwrap();
        project.file("build.rs", "fn main() {\n    farfel_build::compile();\n}\n");
        project
    }

    /// Writes a file.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Adds to a file.
    pub fn append(&self, name: &str, content: &str) -> &Self {
        let old = fs::read_to_string(self.directory.join(name)).unwrap();
        self.file(name, old + content)
    }

    /// Runs cargo in the project.
    pub fn cargo(&self, args: &[&str]) -> Ran {
        self.cargo_with(args, &[])
    }

    /// Runs cargo in the project with environment variables.
    pub fn cargo_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Ran {
        self.program_with(Path::new(env!("CARGO")), args, variables)
    }

    /// Runs a program in the project as [`cargo_with`](Project::cargo_with).
    pub fn program_with(&self, program: &Path, args: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(&self.directory)
            .env(
                "CARGO_TARGET_DIR",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("target"),
            )
            .env("CARGO_TERM_COLOR", "never")
            // The command for its build script.
            .env("FARFEL", farfel_tests::farfel_path())
            // Each project has a separate cache, which is empty at first.
            .env("FARFEL_CACHE_DIR", self.directory.join("cache"));
        for name in [
            "FARFEL_FC",
            "FC",
            "FARFEL_CACHE_REMOTE",
            "FARFEL_AD_TOOL",
            "FARFEL_FFLAGS",
            "FARFEL_INSTALL",
            "FARFEL_STATIC_RUNTIME",
            "RUST_BACKTRACE",
        ] {
            command.env_remove(name);
        }
        for (name, value) in variables {
            command.env(name, value);
        }
        let output = command.output().unwrap();
        Ran {
            ok: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Builds and runs it; returns what it prints.
    #[track_caller]
    pub fn run(&self) -> String {
        let ran = self.cargo(&["run", "-q"]);
        assert!(ran.ok, "{}\n{}", ran.stdout, ran.stderr);
        ran.stdout
    }
}

impl Project {
    /// Returns the bindings that the last build generated.
    pub fn bindings(&self) -> String {
        farfel_tests::bindings_in(&self.out())
    }

    /// Returns OUT_DIR of the last build.
    pub fn out(&self) -> PathBuf {
        let name = self.package();
        let build = Path::new(env!("CARGO_TARGET_TMPDIR")).join("target/debug/build");
        fs::read_dir(build)
            .unwrap()
            .map(|e| e.unwrap().path())
            .filter(|p| {
                let dir = p.file_name().unwrap().to_string_lossy().into_owned();
                dir.starts_with(&format!("{name}-"))
            })
            .filter(|p| p.join("out").exists())
            // Builds with other settings leave their own; cargo writes this file whenever the script has run.
            .max_by_key(|p| {
                fs::metadata(p.join("output"))
                    .and_then(|m| m.modified())
                    .ok()
            })
            .unwrap()
            .join("out")
    }

    fn package(&self) -> String {
        let manifest = fs::read_to_string(self.directory.join("Cargo.toml")).unwrap();
        manifest.split('\'').nth(1).unwrap().to_owned()
    }
}
