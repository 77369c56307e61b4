//! Kills a program with all processes that it started.

use std::process::Child;

/// Kills the process group that `child` leads. The child must not have been reaped, so that its number is
/// still its own.
#[cfg(unix)]
pub(crate) fn kill_group(child: &Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    // If the group is already empty, there is nothing to do.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

/// Kills `child` and the processes that it started.
#[cfg(windows)]
pub(crate) fn kill_group(child: &Child) {
    use std::process::{Command, Stdio};
    let _ = Command::new("taskkill")
        .args(["/T", "/F", "/PID", &child.id().to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}

#[cfg(not(any(unix, windows)))]
pub(crate) fn kill_group(_: &Child) {}

/// Kills all processes with a mark in their environment, see [`super::watch`]. This reaches processes that
/// left their process group, as daemons do.
#[cfg(target_os = "linux")]
pub(crate) fn kill_marked(mark: &str) {
    use rustix::process::{Pid, Signal, kill_process};
    let entry = format!("{}={mark}", super::watch::VARIABLE);
    // One of them may have started another one in the meantime.
    for _ in 0..ROUNDS {
        let found = marked(&entry);
        if found.is_empty() {
            return;
        }
        for pid in found.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn kill_marked(_: &str) {}

/// How many times processes are looked for.
#[cfg(target_os = "linux")]
const ROUNDS: usize = 50;

/// Returns the processes whose environment contains an entry. Environments of other users' processes cannot
/// be read, and processes that have ended have none.
#[cfg(target_os = "linux")]
fn marked(entry: &str) -> Vec<i32> {
    let Ok(list) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    list.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            std::fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|e| e.split(|b| *b == 0).any(|v| v == entry.as_bytes()))
        })
        .collect()
}
