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

/// The state of a project, and the file in which the last good state is recorded.
pub struct Unchanged {
    note: PathBuf,
    /// The settings and the sources.
    state: String,
}

impl Unchanged {
    /// Returns the state of the packages with these settings. `None` if there is no target directory to
    /// record it in, that is, before the first build, or if the sources cannot be listed.
    pub fn of<'a>(
        manifest_dir: &Path,
        options: &CargoOptions,
        configs: impl Iterator<Item = &'a Config>,
    ) -> Option<Self> {
        let target = target_dir(manifest_dir, options)?;
        let mut state = format!("farfel {}\n", env!("CARGO_PKG_VERSION"));
        state += &stand(&std::env::current_exe().ok()?);
        for config in configs {
            // Writing to a String cannot fail.
            let _ = writeln!(state, "{config:?}");
            for file in farfel_driver::source_files(config).ok()? {
                state += &stand(&file);
            }
        }
        let mut hasher = DefaultHasher::new();
        (manifest_dir, &options.package, &options.exclude).hash(&mut hasher);
        options.workspace.hash(&mut hasher);
        let name = format!("checked-{:016x}", hasher.finish());
        Some(Unchanged {
            note: target.join("farfel").join(name),
            state,
        })
    }

    /// Whether the state is the recorded one.
    pub fn holds(&self) -> bool {
        let Ok(noted) = fs::read_to_string(&self.note) else {
            return false;
        };
        let Some(read) = noted
            .strip_prefix(&self.state)
            .and_then(|rest| rest.strip_prefix(READ))
        else {
            return false;
        };
        read.lines().all(|line| {
            let path = line.rsplit('\t').next().unwrap_or_default();
            stand(Path::new(path)).strip_suffix('\n') == Some(line)
        })
    }

    /// Records the state, and `read`: the other files that it depends on.
    pub fn keep(&self, read: &[PathBuf]) {
        let mut text = self.state.clone() + READ;
        text.extend(read.iter().map(|path| stand(path)));
        // Without the record, the next command only reads the sources again.
        let _ = write(&self.note, &text);
    }
}

/// Writes atomically, because two commands may do so at once.
fn write(note: &Path, text: &str) -> std::io::Result<()> {
    let dir = note.parent().unwrap_or(note);
    fs::create_dir_all(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    std::io::Write::write_all(&mut file, text.as_bytes())?;
    file.persist(note)?;
    Ok(())
}

/// Returns a line that changes when the file does.
fn stand(path: &Path) -> String {
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
fn target_dir(manifest_dir: &Path, options: &CargoOptions) -> Option<PathBuf> {
    let named = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"];
    let variable = || named.iter().find_map(std::env::var_os).map(PathBuf::from);
    if let Some(dir) = options.target_dir.clone().or_else(variable) {
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

    fn state(dir: &Path, config: &Config) -> Unchanged {
        let mut options = options();
        options.target_dir = Some(dir.join("built"));
        Unchanged::of(dir, &options, [config].into_iter()).unwrap()
    }

    #[test]
    fn every_change_is_seen() {
        let (dir, config) = project();
        let dir = dir.path();
        let included = dir.join("fortran/a.inc");
        assert!(!state(dir, &config).holds(), "nothing is noted yet");
        let keep = || state(dir, &config).keep(std::slice::from_ref(&included));
        keep();
        assert!(state(dir, &config).holds());

        fs::write(dir.join("fortran/a.ff"), "C\n      END\n").unwrap();
        assert!(!state(dir, &config).holds(), "a source has changed");
        keep();
        fs::write(&included, "C more\n").unwrap();
        assert!(!state(dir, &config).holds(), "an INCLUDE file has changed");
        keep();
        fs::write(dir.join("fortran/b.ff"), "      END\n").unwrap();
        assert!(!state(dir, &config).holds(), "a source has come");
        keep();
        fs::remove_file(dir.join("fortran/b.ff")).unwrap();
        assert!(!state(dir, &config).holds(), "a source has gone");
        keep();
        let other = Config {
            real_kind: 8,
            ..config.clone()
        };
        assert!(!state(dir, &other).holds(), "a setting has changed");
        assert!(state(dir, &config).holds());
    }

    #[test]
    fn a_damaged_note_is_none() {
        let (dir, config) = project();
        let now = state(dir.path(), &config);
        now.keep(&[]);
        assert!(now.holds());
        for text in ["", "read\n", "farfel"] {
            fs::write(&now.note, text).unwrap();
            assert!(!now.holds());
        }
    }

    #[test]
    fn without_a_target_directory_there_is_nothing_to_note() {
        let (dir, config) = project();
        let mut options = options();
        options.target_dir = Some(dir.path().join("none"));
        assert!(Unchanged::of(dir.path(), &options, [&config].into_iter()).is_none());
    }
}
