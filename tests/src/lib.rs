//! Helpers of the end-to-end tests: the command, and folders in which to run it.

pub mod adifor;
pub mod corpora;
pub mod tapenade;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use snapbox::assert::DEFAULT_ACTION_ENV;
use snapbox::cmd::Command;
use snapbox::{Assert, Redactions};
use tempfile::TempDir;

/// Returns the top folder of this repository.
pub fn repository() -> &'static Path {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests)
}

/// Returns the path of the paper's Listing 7.
pub fn paper() -> PathBuf {
    repository().join("example-project/fortran-main/paper.ff")
}

/// Returns the path of the command: that of these tests, or of the benches.
pub fn farfel_path() -> PathBuf {
    match std::env::var_os("CARGO_BIN_EXE_farfel-benched") {
        Some(path) => path.into(),
        None => snapbox::cmd::cargo_bin("farfel-under-test"),
    }
}

/// Returns the command, to be run in `dir` without the caller's settings. In expected output, `dir` is
/// `[DIR]` and this repository is `[FARFEL]`.
///
/// Projects of all tests share one target directory, so that their dependencies are compiled once; it is not
/// the repository's own, which cargo may keep locked. Packages of one name overwrite each other there, and tests
/// run at the same time: each test needs other names for what it builds.
pub fn farfel(dir: &Path) -> Command {
    command(&farfel_path(), dir)
}

/// Returns another program, as [`farfel`] does.
pub fn command(program: &Path, dir: &Path) -> Command {
    let mut command = Command::new(program)
        .with_assert(texts(dir))
        .current_dir(dir)
        .env("CARGO_TARGET_DIR", shared_target())
        .env("CARGO_TERM_COLOR", "never")
        .env("NO_COLOR", "1")
        .env("LC_ALL", "C.UTF-8")
        // Compiling Rust crates takes time on a small machine.
        .timeout(Duration::from_secs(900));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("FARFEL") || text.starts_with("CARGO_PKG_") {
            command = command.env_remove(&name);
        }
    }
    if program != farfel_path() {
        // The command for build scripts that cargo starts; the farfel command sets this by itself.
        command = command.env("FARFEL", farfel_path());
    }
    command.env("FARFEL_CACHE_DIR", own_cache())
}

/// Returns a cache into which no other test run has put anything, so that the steps that a test expects do
/// run; and not the user's own.
fn own_cache() -> &'static Path {
    static CACHE: OnceLock<PathBuf> = OnceLock::new();
    CACHE.get_or_init(|| {
        let caches = shared_target().with_file_name("end-to-end-caches");
        for old in fs::read_dir(&caches).into_iter().flatten().flatten() {
            let age = old.metadata().and_then(|about| about.modified()).ok();
            let age = age.and_then(|time| time.elapsed().ok());
            if age.is_none_or(|age| age > Duration::from_secs(24 * 3600)) {
                let _ = fs::remove_dir_all(old.path());
            }
        }
        let own = caches.join(std::process::id().to_string());
        let _ = fs::remove_dir_all(&own);
        own
    })
}

/// Returns the settings for comparing output with expected text when the command runs in `dir`.
pub fn texts(dir: &Path) -> Assert {
    let mut redactions = Redactions::new();
    // Names must be upper case, and values not empty; both hold.
    let _ = redactions.insert("[FARFEL]", repository());
    let _ = redactions.insert("[DIR]", dir.to_owned());
    Assert::new()
        .action_env(DEFAULT_ACTION_ENV)
        .redact_with(redactions)
}

/// Returns the target directory that the projects of all tests share.
pub fn shared_target() -> PathBuf {
    let program = farfel_path();
    let target = program.parent().and_then(Path::parent).unwrap_or(&program);
    target.join("tmp").join("end-to-end")
}

/// Creates an empty temporary directory.
///
/// # Panics
///
/// If the system has no place for temporary files.
pub fn sandbox() -> TempDir {
    tempfile::Builder::new()
        .prefix("farfel-test-")
        .tempdir()
        .expect("a place for temporary files")
}

/// Writes a file into `dir`, creating folders, and returns its path.
///
/// # Panics
///
/// If the file cannot be written.
pub fn write(dir: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap_or(dir)).expect("a folder for the file");
    fs::write(&path, text).expect("a file");
    path
}

/// Converts lines written at the margin to fixed form: comments and directives stay there, statements move
/// to column seven.
pub fn fixed(lines: &str) -> String {
    lines
        .lines()
        .map(|line| match line.trim_start() {
            "" => "\n".to_owned(),
            text if line.starts_with(['C', '*']) && text.starts_with("C ") => format!("{line}\n"),
            _ if line.starts_with("!$") => format!("{line}\n"),
            text => format!("      {text}\n"),
        })
        .collect()
}

/// Returns the bindings in the OUT_DIR of a build, with the files that they include.
///
/// # Panics
///
/// If a file cannot be read.
pub fn bindings_in(out: &Path) -> String {
    let text = fs::read_to_string(out.join("farfel_bindings.rs")).unwrap();
    let included = |line: &str| {
        let file = line.strip_prefix("include!(\"")?.strip_suffix("\");")?;
        Some(fs::read_to_string(out.join(file)).unwrap())
    };
    let lines = text
        .lines()
        .map(|l| included(l).unwrap_or_else(|| format!("{l}\n")));
    lines.collect()
}

/// Returns all files below `dir`, except those of git and cargo, sorted.
///
/// # Panics
///
/// If the directory cannot be read.
pub fn tree(dir: &Path) -> Vec<String> {
    fn walk(dir: &Path, root: &Path, names: &mut Vec<String>) {
        for entry in fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(root).unwrap_or(&path);
            if name.ends_with(".git") || name.ends_with("target") {
                continue;
            }
            if path.is_dir() {
                walk(&path, root, names);
            } else {
                names.push(name.to_string_lossy().into_owned());
            }
        }
    }
    let mut names = Vec::new();
    walk(dir, dir, &mut names);
    names.sort();
    names
}
