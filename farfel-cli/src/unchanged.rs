//! Whether anything has changed since a project was last checked without errors.
//!
//! Reading and differentiating a large project takes longer than cargo needs to see that there is nothing to
//! do. So a success is recorded in the target directory: the settings, and the sizes and modification times
//! of all files that were read, of the Fortran compiler and of this program.
//!
//! **Invariant:** no build output depends on this. The build script reads the sources by itself; a wrong
//! record, for whatever reason, only means that an error is shown as the output of the build script.

use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use farfel_driver::Config;

use crate::args::CargoOptions;

/// The line before the files that were read.
const READ: &str = "read\n";

/// The state of a project.
pub struct ProjectState {
    manifest_dir: PathBuf,
    /// The target directory that the command line names.
    target_dir: Option<PathBuf>,
    /// The name of the file in which the last good state of these packages is recorded.
    name: String,
    /// The settings and the sources.
    state: String,
}

impl ProjectState {
    /// Returns the state of the packages with these settings; `None` if the sources cannot be listed.
    pub fn of<'a>(
        manifest_dir: &Path,
        options: &CargoOptions,
        configs: impl Iterator<Item = &'a Config>,
    ) -> Option<Self> {
        let mut state = format!("farfel {}\n", env!("CARGO_PKG_VERSION"));
        state += &file_state(&std::env::current_exe().ok()?);
        for config in configs {
            // Writing to a String cannot fail.
            let _ = writeln!(state, "{config:?}");
            for file in farfel_driver::source_files(config).ok()? {
                state += &file_state(&file);
            }
        }
        let mut hasher = DefaultHasher::new();
        (manifest_dir, &options.package, &options.exclude).hash(&mut hasher);
        options.workspace.hash(&mut hasher);
        Some(ProjectState {
            manifest_dir: manifest_dir.to_owned(),
            target_dir: options.target_dir.clone(),
            name: format!("checked-{:016x}", hasher.finish()),
            state,
        })
    }

    /// Whether the state is the recorded one.
    pub fn is_recorded(&self) -> bool {
        let Some(Ok(recorded)) = self.file().map(fs::read_to_string) else {
            return false;
        };
        let Some(read) = recorded
            .strip_prefix(&self.state)
            .and_then(|rest| rest.strip_prefix(READ))
        else {
            return false;
        };
        read.lines().all(|line| {
            let path = line.rsplit('\t').next().unwrap_or_default();
            file_state(Path::new(path)).strip_suffix('\n') == Some(line)
        })
    }

    /// Records the state, and the other files that it depends on: `read`, as they are now, and `lock`, the
    /// Cargo.lock, which cargo may write.
    pub fn record(self, read: &[PathBuf], lock: PathBuf) -> Record {
        let mut text = self.state.clone() + READ;
        text.extend(read.iter().map(|path| file_state(path)));
        let record = Record {
            state: self,
            text,
            lock,
        };
        record.write();
        record
    }

    /// The file of the record; `None` without a target directory.
    fn file(&self) -> Option<PathBuf> {
        let target = target_dir(&self.manifest_dir, self.target_dir.as_deref())?;
        Some(target.join("farfel").join(&self.name))
    }
}

/// The record of a success, which is written at once, and again when this value is dropped, after cargo:
/// before the first build there is no Cargo.lock, and no target directory. Cargo creates that, since it marks
/// a new one as a cache.
#[must_use]
pub struct Record {
    state: ProjectState,
    text: String,
    lock: PathBuf,
}

impl Record {
    fn write(&self) {
        if let Some(file) = self.state.file() {
            // Without the record, the next command only reads the sources again.
            let _ = write(&file, &(self.text.clone() + &file_state(&self.lock)));
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.write();
    }
}

/// Writes atomically, because two commands may do so at once.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    let dir = file.parent().unwrap_or(file);
    fs::create_dir_all(dir)?;
    let mut written = tempfile::NamedTempFile::new_in(dir)?;
    std::io::Write::write_all(&mut written, text.as_bytes())?;
    written.persist(file)?;
    Ok(())
}

/// Returns a line that changes when the file does.
fn file_state(path: &Path) -> String {
    let shown = path.display();
    let known = fs::metadata(path).and_then(|m| Ok((m.len(), m.modified()?)));
    match known {
        Ok((length, time)) => {
            let time = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            format!("{length}\t{}\t{shown}\n", time.as_nanos())
        }
        Err(_) => format!("missing\t{shown}\n"),
    }
}

/// Returns the target directory of the project, if it has been built before. Running cargo would take too
/// long; if cargo's own settings name another directory, this returns nothing.
fn target_dir(manifest_dir: &Path, named: Option<&Path>) -> Option<PathBuf> {
    let variables = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"];
    let variable = || {
        let set = variables.iter().find_map(std::env::var_os);
        set.map(PathBuf::from)
    };
    if let Some(dir) = named.map(Path::to_owned).or_else(variable) {
        return dir.is_dir().then_some(dir);
    }
    let dir = std::path::absolute(manifest_dir).ok()?;
    let target = dir
        .ancestors()
        .find(|dir| dir.join("Cargo.toml").is_file() && dir.join("target").is_dir())?;
    Some(target.join("target"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn options() -> CargoOptions {
        let cli = crate::args::Cli::try_parse_from(["farfel", "build"]).unwrap();
        match cli.command {
            crate::args::Command::Build(build) => build.cargo,
            _ => unreachable!(),
        }
    }

    fn project() -> (tempfile::TempDir, Config) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("fortran")).unwrap();
        fs::create_dir_all(dir.path().join("built")).unwrap();
        fs::write(dir.path().join("Cargo.toml"), "[package]\nname = \"p\"\n").unwrap();
        fs::write(dir.path().join("fortran/a.ff"), "      END\n").unwrap();
        fs::write(dir.path().join("fortran/a.inc"), "C\n").unwrap();
        let config = Config::load(dir.path()).unwrap();
        (dir, config)
    }

    fn state(dir: &Path, config: &Config) -> ProjectState {
        let mut options = options();
        options.target_dir = Some(dir.join("built"));
        ProjectState::of(dir, &options, [config].into_iter()).unwrap()
    }

    #[test]
    fn every_change_is_seen() {
        let (dir, config) = project();
        let dir = dir.path();
        let included = dir.join("fortran/a.inc");
        assert!(
            !state(dir, &config).is_recorded(),
            "nothing is recorded yet"
        );
        let lock = || dir.join("Cargo.lock");
        let keep = || drop(state(dir, &config).record(std::slice::from_ref(&included), lock()));
        keep();
        assert!(state(dir, &config).is_recorded());

        fs::write(dir.join("fortran/a.ff"), "C\n      END\n").unwrap();
        assert!(!state(dir, &config).is_recorded(), "a source has changed");
        keep();
        fs::write(&included, "C more\n").unwrap();
        assert!(
            !state(dir, &config).is_recorded(),
            "an INCLUDE file has changed"
        );
        keep();
        fs::write(dir.join("fortran/b.ff"), "      END\n").unwrap();
        assert!(!state(dir, &config).is_recorded(), "a source has come");
        keep();
        fs::remove_file(dir.join("fortran/b.ff")).unwrap();
        assert!(!state(dir, &config).is_recorded(), "a source has gone");
        keep();
        let other = Config {
            real_kind: 8,
            ..config.clone()
        };
        assert!(!state(dir, &other).is_recorded(), "a setting has changed");
        assert!(state(dir, &config).is_recorded());
    }

    #[test]
    fn a_damaged_record_is_none() {
        let (dir, config) = project();
        drop(state(dir.path(), &config).record(&[], dir.path().join("Cargo.lock")));
        let now = state(dir.path(), &config);
        assert!(now.is_recorded());
        let file = now.file().unwrap();
        for text in ["", "read\n", "farfel"] {
            fs::write(&file, text).unwrap();
            assert!(!now.is_recorded());
        }
    }

    #[test]
    fn a_first_build_is_recorded_when_cargo_has_made_the_target_directory() {
        let (dir, config) = project();
        let target = dir.path().join("target");
        let mut options = options();
        options.target_dir = Some(target.clone());
        let state = || ProjectState::of(dir.path(), &options, [&config].into_iter()).unwrap();
        let record = state().record(&[], dir.path().join("Cargo.lock"));
        assert!(!target.exists(), "cargo creates it");
        fs::create_dir(&target).unwrap();
        fs::write(dir.path().join("Cargo.lock"), "version = 4\n").unwrap();
        assert!(!state().is_recorded());
        drop(record);
        assert!(state().is_recorded());

        fs::remove_dir_all(&target).unwrap();
        drop(state().record(&[], dir.path().join("Cargo.lock")));
        assert!(!target.exists(), "cargo has created none");
    }
}
