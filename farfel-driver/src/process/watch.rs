//! Guards running programs, and their files, against the end of this process.
//!
//! A build script can be killed at any moment, and a program in a process group of its own does not receive
//! the terminal's Ctrl-C. Therefore another process watches: its standard input is a pipe to which only this
//! process writes. When this process ends, for whatever reason, the system closes the pipe, and the watch
//! kills the running program and removes our scratch directory. The watch has a process group of its own, so
//! that Ctrl-C does not reach it, and holds none of our streams, so that cargo does not wait for it.
//!
//! The watch is `/bin/sh` with the script in this file. The script contains nothing from the user; the mark
//! and the directory are arguments that it never interprets as commands. On systems without `/bin/sh` there
//! is no watch.
//!
//! A program is identified by its process group and, on Linux, by a mark in its environment, which its
//! children inherit whatever group they move to.

use std::path::Path;

/// The environment variable with the mark.
pub(crate) const VARIABLE: &str = "FARFEL_RUN";

/// Guards one program at a time, and optionally a directory. Dropping it ends the guard.
pub(crate) struct Watchdog {
    mark: String,
    #[cfg(unix)]
    watcher: Option<std::process::Child>,
}

impl Watchdog {
    /// Starts a watch that removes `directory` if this process ends before the watch is dropped.
    pub(crate) fn new(directory: Option<&Path>) -> Watchdog {
        let mark = unpredictable_name();
        #[cfg(not(unix))]
        let _ = directory;
        Watchdog {
            #[cfg(unix)]
            watcher: watcher(&mark, directory),
            mark,
        }
    }

    /// Returns the mark for the environment of the guarded programs.
    pub(crate) fn mark(&self) -> &str {
        &self.mark
    }

    /// Starts guarding the process group with this number.
    pub(crate) fn started(&mut self, group: u32) {
        self.say(group);
    }

    /// Stops guarding: the group is gone, and its number may be reused.
    pub(crate) fn ended(&mut self) {
        self.say(0);
    }

    #[cfg(unix)]
    fn say(&mut self, group: u32) {
        use std::io::Write;
        if let Some(pipe) = self.watcher.as_mut().and_then(|w| w.stdin.as_mut()) {
            // Without the watch the build is still correct.
            let _ = writeln!(pipe, "{group}");
        }
    }

    #[cfg(not(unix))]
    fn say(&mut self, _: u32) {}
}

#[cfg(unix)]
impl Drop for Watchdog {
    fn drop(&mut self) {
        if let Some(watcher) = &mut self.watcher {
            // Killed before its pipe is closed. Only waiting makes sure that it is gone.
            let _ = watcher.kill();
            let _ = watcher.wait();
        }
    }
}

/// Reads the number of the process group to guard, the last line counts. At the end of its input it kills the
/// group (never 0 or 1, which have other meanings), kills processes with the mark, and removes the directory,
/// again if a killed process has created a file in the meantime.
#[cfg(unix)]
const TEXT: &str = r#"
group=0
while read -r line; do group=$line; done
[ "$group" -gt 1 ] && kill -s KILL -- "-$group"
for round in 1 2 3 4 5; do
    found=$(grep -lsF -e "$1" /proc/[0-9]*/environ)
    [ -n "$found" ] || break
    for file in $found; do
        file=${file#/proc/}
        kill -s KILL "${file%/environ}"
    done
done
[ -n "$2" ] || exit 0
for round in 1 2 3 4 5 6 7 8 9 10; do
    rm -rf -- "$2"
    [ -e "$2" ] || break
    sleep 1
done
"#;

#[cfg(unix)]
fn watcher(mark: &str, directory: Option<&Path>) -> Option<std::process::Child> {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    Command::new("/bin/sh")
        .args(["-c", TEXT, "farfel-watch"])
        .arg(format!("{VARIABLE}={mark}"))
        .arg(directory.unwrap_or(Path::new("")))
        .env_clear()
        .env("PATH", "/usr/bin:/bin:/run/current-system/sw/bin")
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}

/// Returns an unpredictable name: 128 bits from the keys that the standard library takes from the system's
/// random numbers for its hash tables.
pub(crate) fn unpredictable_name() -> String {
    use std::hash::{BuildHasher, RandomState};
    let half = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", half(), half())
}
