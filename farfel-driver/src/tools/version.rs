//! The name and version of a tool, asked once for each executable (and the archives beside it that do the
//! work), see [`tool_answers`].

use super::{Tool, ToolRunner, java};
use crate::cache::{Entry, Key};
use crate::{Config, Error, tool_answers};
use farfel_tools::external::{Job, RunError, Runner};
use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

/// The time limit of an answer, long enough for a Java machine on a loaded computer.
const LIMIT: Duration = Duration::from_secs(60);

/// The maximum number of characters kept of an answer.
const LONGEST: usize = 200;

/// The name of the file with the answer in a cache entry.
const VERSION: &str = "version";

/// The answers that this process knows, by [`identity`].
static KNOWN: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

pub(super) fn query_cached(
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
    let memory = tool_answers::memory(config);
    let key = Key::builder("tool").field("executable", &identity).finish();
    let remembered = memory.get(&key).and_then(|entry| {
        let version = entry.file(VERSION)?.to_owned();
        String::from_utf8(version).ok()
    });
    let version = match remembered {
        Some(version) => version,
        None => {
            let version = query(tool, program)?;
            memory.put(&key, &Entry::one(VERSION, version.clone()));
            version
        }
    };
    if let Ok(mut known) = KNOWN.lock() {
        known.insert(identity, version.clone());
    }
    Ok(version)
}

/// Asks the tool itself.
fn query(tool: &Tool, program: &Path) -> Result<String, Error> {
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
        Ok(ran) => ran.output,
        Err(RunError::NotStarted(why)) => return Err(broken(why)),
        Err(RunError::TimedOut { seconds, .. }) => {
            return Err(broken(format!("no answer to -version after {seconds} s")));
        }
        // ADIFOR has no such option, and identifies itself when it rejects it.
        Err(RunError::Failed { output: said, .. } | RunError::Missing { output: said, .. })
            if !needs_java =>
        {
            said
        }
        Err(RunError::Failed {
            status,
            output: said,
        }) => {
            let mut reason = format!("-version failed ({status})");
            if let Err(no_java) = java() {
                reason += &format!("; it needs Java: {no_java}");
            }
            if let Some(line) = first_line(&said, "") {
                reason += &format!("; it said: {line}");
            }
            return Err(broken(reason));
        }
        Err(RunError::Missing { output: said, .. }) => said,
    };
    let line = first_line(&said, tool.name);
    let line = line.or_else(|| first_line(&said, "").filter(|_| needs_java));
    match line {
        // The Java machine is not part of the tool, and differs between machines.
        Some(line) => Ok(match line.split_once(" - Java ") {
            Some((version, _)) => version.trim_end().to_owned(),
            None => line,
        }),
        // Otherwise it is identified by a hash of its executable.
        None => {
            let name = program.file_name().unwrap_or_default().to_string_lossy();
            let bytes = fs::read(program).map_err(Error::io(program))?;
            Ok(format!("{name} ({:016x})", hash(&bytes)))
        }
    }
}

/// Returns the first line that contains a word, in any case, made fit for display.
fn first_line(said: &str, word: &str) -> Option<String> {
    let word = word.to_lowercase();
    let line = said
        .lines()
        .map(str::trim)
        .find(|l| !l.is_empty() && l.to_lowercase().contains(&word))?;
    let plain = line.chars().map(|c| if c.is_control() { ' ' } else { c });
    Some(plain.take(LONGEST).collect())
}

/// Returns the identity of everything that an answer depends on: the executable and the archives in
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
    tool_answers::file_identity(&files)
}

fn hash(what: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

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
