//! What guards the programs that run, and their files, against our own end.
//!
//! A build script can be killed at any moment, and a program in a process group of its own
//! does not see the terminal's Ctrl-C. So another process watches: its standard input is a
//! pipe that only we write to. When we end, by whatever cause, the system closes the pipe,
//! and the watch kills what runs and removes our scratch directory. It has a process group
//! of its own, so that Ctrl-C passes it by, and holds none of our streams, so that cargo
//! does not wait for it.
//!
//! The watch is `/bin/sh` with a text that stands here. Nothing of the user's is in that
//! text; the mark and the directory are arguments that it never reads as commands. On
//! systems without `/bin/sh` nothing watches.
//!
//! A program is found by its process group and, on Linux, by a mark in its environment that
//! its children inherit, whatever group they go to.

use std::path::Path;

/// The variable with the mark.
pub(crate) const VARIABLE: &str = "FARFEL_RUN";

/// Guards one program at a time and perhaps a directory. When this is dropped, nothing is
/// guarded any more.
pub(crate) struct Watch {
    mark: String,
    #[cfg(unix)]
    watcher: Option<std::process::Child>,
}

impl Watch {
    /// A watch that removes `directory` when this process ends before it is dropped.
    pub(crate) fn new(directory: Option<&Path>) -> Watch {
        let mark = unforeseeable();
        #[cfg(not(unix))]
        let _ = directory;
        Watch {
            #[cfg(unix)]
            watcher: watcher(&mark, directory),
            mark,
        }
    }

    /// What stands in the environment of the programs that it guards.
    pub(crate) fn mark(&self) -> &str {
        &self.mark
    }

    /// From now on it guards the process group with this number.
    pub(crate) fn started(&mut self, group: u32) {
        self.say(group);
    }

    /// The group is gone, and its number may become another one's.
    pub(crate) fn ended(&mut self) {
        self.say(0);
    }

    #[cfg(unix)]
    fn say(&mut self, group: u32) {
        use std::io::Write;
        if let Some(pipe) = self.watcher.as_mut().and_then(|w| w.stdin.as_mut()) {
            // Where there is no watch, the build is still right.
            let _ = writeln!(pipe, "{group}");
        }
    }

    #[cfg(not(unix))]
    fn say(&mut self, _: u32) {}
}

#[cfg(unix)]
impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(watcher) = &mut self.watcher {
            // Before its pipe is closed. That it is gone is certain only when waited for.
            let _ = watcher.kill();
            let _ = watcher.wait();
        }
    }
}

/// Reads the number of the process group to guard, the last line counts; at the end of its
/// input kills the group (never 0 or 1, which mean other things), kills what has the mark,
/// and removes the directory, again where what was killed has made a file meanwhile.
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

/// A name that nobody can know beforehand: 128 bits, from the keys that the standard library
/// takes from the system's random numbers for its hash tables.
pub(crate) fn unforeseeable() -> String {
    use std::hash::{BuildHasher, RandomState};
    let half = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", half(), half())
}
