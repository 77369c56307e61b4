//! What a tool calls itself, asked once for each executable.
//!
//! Asking takes a second where a Java machine starts. The answer is kept in a file of the
//! cache directory whose name and content have the path, the size and the time of the
//! executable (and of the archives beside it that do the work). A file that is damaged, old
//! or another one's is as good as none.

use super::{Tool, ToolRunner, java};
use crate::{Config, Error, files};
use farfel_ad::external::{Job, RunError, Runner};
use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, UNIX_EPOCH};

/// How long an answer may take. A Java machine on a loaded computer has its time.
const LIMIT: Duration = Duration::from_secs(60);

/// What is kept of an answer.
const LONGEST: usize = 200;

/// What this process knows, by [`identity`].
static KNOWN: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

pub(super) fn ask(
    tool: &Tool,
    program: &Path,
    home: Option<&Path>,
    config: &Config,
) -> Result<String, Error> {
    let identity = identity(program, home).map_err(Error::io(program))?;
    if let Ok(known) = KNOWN.lock()
        && let Some(version) = known.get(&identity)
    {
        return Ok(version.clone());
    }
    let file = memory(config).map(|d| d.join(format!("{:016x}", hash(&identity))));
    let remembered = file.as_deref().and_then(|f| recall(f, &identity));
    let version = match remembered {
        Some(version) => version,
        None => {
            let version = question(tool, program)?;
            if let Some(file) = &file {
                // Without it the next build asks again.
                let _ = remember(file, &identity, &version);
            }
            version
        }
    };
    if let Ok(mut known) = KNOWN.lock() {
        known.insert(identity, version.clone());
    }
    Ok(version)
}

/// The answer of the tool itself.
fn question(tool: &Tool, program: &Path) -> Result<String, Error> {
    let broken = |reason: String| Error::ToolBroken {
        tool: tool.name,
        program: program.to_owned(),
        reason,
    };
    let job = Job {
        args: vec!["-version".into()],
        ..Job::default()
    };
    let runner = ToolRunner::new(program, [], LIMIT);
    let needs_java = tool.setting == "tapenade";
    let said = match runner.run(&job) {
        Ok(ran) => ran.said,
        Err(RunError::NotStarted(why)) => return Err(broken(why)),
        Err(RunError::TimedOut { seconds, .. }) => {
            return Err(broken(format!("no answer to -version after {seconds} s")));
        }
        // ADIFOR has no such option, and says what it is when it refuses it.
        Err(RunError::Failed { said, .. } | RunError::Missing { said, .. }) if !needs_java => said,
        Err(RunError::Failed { status, said }) => {
            let mut reason = format!("-version failed ({status})");
            if let Err(no_java) = java() {
                reason += &format!("; it needs Java: {no_java}");
            }
            if let Some(line) = first_line(&said, "") {
                reason += &format!("; it said: {line}");
            }
            return Err(broken(reason));
        }
        Err(RunError::Missing { said, .. }) => said,
    };
    let line = first_line(&said, tool.name);
    let line = line.or_else(|| first_line(&said, "").filter(|_| needs_java));
    match line {
        // The Java machine is not a part of it, and differs between machines.
        Some(line) => Ok(match line.split_once(" - Java ") {
            Some((version, _)) => version.trim_end().to_owned(),
            None => line,
        }),
        // Then it is known by what it is.
        None => {
            let name = program.file_name().unwrap_or_default().to_string_lossy();
            let bytes = fs::read(program).map_err(Error::io(program))?;
            Ok(format!("{name} ({:016x})", hash(&bytes)))
        }
    }
}

/// The first line with a word in it, in any case, made fit to be shown.
fn first_line(said: &str, word: &str) -> Option<String> {
    let word = word.to_lowercase();
    let line = said
        .lines()
        .map(str::trim)
        .find(|l| !l.is_empty() && l.to_lowercase().contains(&word))?;
    let plain = line.chars().map(|c| if c.is_control() { ' ' } else { c });
    Some(plain.take(LONGEST).collect())
}

/// What an answer depends on: path, size and time of the executable and of the archives in
/// `build/libs` of its home.
fn identity(program: &Path, home: Option<&Path>) -> std::io::Result<String> {
    let mut files = vec![program.to_owned()];
    if let Some(home) = home
        && let Ok(entries) = fs::read_dir(home.join("build").join("libs"))
    {
        let mut archives: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        archives.sort();
        files.extend(archives);
    }
    let mut text = String::new();
    for file in files {
        let about = fs::metadata(&file)?;
        // A time before 1970 is a time like any other.
        let time = about
            .modified()
            .map(|t| match t.duration_since(UNIX_EPOCH) {
                Ok(after) => format!("{after:?}"),
                Err(before) => format!("-{:?}", before.duration()),
            });
        let time = time.unwrap_or_default();
        // Escaped: one line for each file, whatever its name.
        text += &format!("{:?} {} {time}\n", file, about.len());
    }
    Ok(text)
}

fn hash(what: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Where answers are kept; `None` where nothing is.
fn memory(config: &Config) -> Option<PathBuf> {
    let cache = &config.cache;
    if !cache.enabled {
        return None;
    }
    let directory = match &cache.directory {
        Some(directory) => config.root.join(directory),
        None => user_directory()?,
    };
    Some(directory.join("tools"))
}

/// The user's directory for what can be made again.
fn user_directory() -> Option<PathBuf> {
    let variable = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    let base = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        variable("HOME").map(|h| h.join("Library").join("Caches"))
    } else {
        variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|h| h.join(".cache")))
    };
    base.map(|b| b.join("farfel"))
}

/// The text of a file: what the answer is for, the answer, and a sum of both.
fn record(identity: &str, version: &str) -> String {
    let text = format!("farfel tool 1\n{identity}{version}\n");
    format!("{text}{:016x}\n", hash(&text))
}

fn recall(file: &Path, identity: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let version = text.lines().rev().nth(1)?;
    (!version.is_empty() && text == record(identity, version)).then(|| version.to_owned())
}

fn remember(file: &Path, identity: &str, version: &str) -> Result<(), Error> {
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory).map_err(Error::io(directory))?;
    }
    files::write_if_changed(file, record(identity, version).as_bytes())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_damaged_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("deep/er/memory");
        let identity = "\"/opt/a b/tapenade\" 780 1785420480s\n";
        remember(&file, identity, "Tapenade 3.16").unwrap();
        assert_eq!(recall(&file, identity).as_deref(), Some("Tapenade 3.16"));
        // Another executable at the same place.
        assert_eq!(recall(&file, &identity.replace("780", "781")), None);
        let good = fs::read(&file).unwrap();
        for i in 0..good.len() {
            fs::write(&file, &good[..i]).unwrap();
            assert_eq!(recall(&file, identity), None, "cut at {i}");
            let mut bad = good.clone();
            bad[i] ^= 1;
            fs::write(&file, &bad).unwrap();
            assert_eq!(recall(&file, identity), None, "bit at {i}");
        }
        fs::remove_file(&file).unwrap();
        assert_eq!(recall(&file, identity), None);
    }

    #[test]
    fn the_line_that_says_it() {
        assert_eq!(
            first_line("\nhello\n ** ADIFOR \x1b[1m2.1 \n", "adifor").as_deref(),
            Some("** ADIFOR  [1m2.1")
        );
        assert_eq!(first_line("\n \n", ""), None);
        let long = first_line(&"x".repeat(1000), "").unwrap();
        assert_eq!(long.len(), LONGEST);
    }
}
