//! A real Tapenade, where there is one.

use farfel_ad::external::{Job, Ran, RunError, Runner};
use farfel_ad::tapenade::{Options, Tapenade, Version};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Starts a program in a fresh directory.
pub struct Program(pub PathBuf);

impl Runner for Program {
    fn run(&self, job: &Job) -> Result<Ran, RunError> {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in &job.inputs {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let out = Command::new(&self.0)
            .args(&job.args)
            .current_dir(dir.path())
            .output()
            .map_err(|e| RunError::NotStarted(e.to_string()))?;
        let said = String::from_utf8_lossy(&out.stdout).into_owned()
            + &String::from_utf8_lossy(&out.stderr);
        if !out.status.success() {
            return Err(RunError::Failed {
                status: out.status.to_string(),
                said,
            });
        }
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if entry.file_type().unwrap().is_file() && !job.inputs.iter().any(|(n, _)| *n == name) {
                let bytes = std::fs::read(entry.path()).unwrap();
                files.insert(name, bytes.iter().map(|b| char::from(*b)).collect());
            }
        }
        if let Some(file) = job.outputs.iter().find(|f| !files.contains_key(*f)) {
            let file = file.clone();
            return Err(RunError::Missing { file, said });
        }
        Ok(Ran { said, files })
    }
}

/// Where the real one is installed.
#[expect(clippy::print_stderr, reason = "says which tests did not run")]
pub fn home() -> Option<PathBuf> {
    let home = std::env::var_os("TAPENADE_HOME").filter(|h| !h.is_empty());
    if home.is_none() {
        eprintln!("skipped: TAPENADE_HOME is not set, so there is no Tapenade to test with");
    }
    home.map(PathBuf::from)
}

/// The real one, or `None` and a word on standard error.
pub fn real(options: Options) -> Option<Tapenade> {
    let program = home()?.join("bin/tapenade");
    Some(Tapenade {
        version: version(&program),
        options,
        runner: Arc::new(Program(program)),
    })
}

fn version(program: &Path) -> Version {
    let out = Command::new(program).arg("-version").output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    said.parse().unwrap_or_else(|e| panic!("{e}: {said}"))
}
