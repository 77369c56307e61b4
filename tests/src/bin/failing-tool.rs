//! A tool that misbehaves in the way that the first argument selects.
//!
//! It is used in the tests of the runner; see `tests/tests/tools.rs`.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mode = arguments.first().map_or("", String::as_str);
    match act(mode, &arguments) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "failing-tool: {mode}: {error}");
            ExitCode::from(99)
        }
    }
}

fn act(mode: &str, arguments: &[String]) -> std::io::Result<u8> {
    match mode {
        // Copies its input to its output, and reports what it finds.
        "good" => {
            let text = fs::read_to_string("in.f")?;
            fs::write("out.f", text)?;
            fs::create_dir("AD_cache")?;
            fs::write("AD_cache/x.aux", "aux")?;
            say(&format!("arguments {:?}\n", &arguments[1..]));
            let mut variables: Vec<String> = std::env::vars().map(|(n, _)| n).collect();
            variables.sort();
            say(&format!("variables {}\n", variables.join(" ")));
            say(&format!("at {}\n", std::env::current_dir()?.display()));
            writeln!(std::io::stderr(), "and an error line")?;
        }
        "crash" => {
            fs::write("out.f", "half")?;
            say("something went wrong\n");
            return Ok(3);
        }
        "signal" => std::process::abort(),
        // The grandchild hangs too, in the same process group, with our standard streams.
        "hang" => {
            start(&["wait"], false)?;
            say("working\n");
            wait();
        }
        // The same, but one that left the group.
        "hang-away" => {
            start(&["wait"], true)?;
            say("working\n");
            wait();
        }
        "wait" => wait(),
        // Succeeds, but leaves a process in the background, without our streams.
        "daemon" => {
            let mut command = command(&["wait"], true)?;
            command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
            fs::write("out.f", "fine")?;
        }
        // The same with our streams.
        "daemon-streams" => {
            start(&["wait"], true)?;
            fs::write("out.f", "fine")?;
        }
        // The same in our group.
        "background" => {
            start(&["wait"], false)?;
            fs::write("out.f", "fine")?;
        }
        "garbage" => {
            let bytes: Vec<u8> = (0..=255).cycle().take(4096).collect();
            fs::write("out.f", &bytes)?;
            std::io::stdout().write_all(&bytes)?;
        }
        // Additional output beside the requested file.
        "garbage-beside" => {
            fs::write("out.f", b"      END ! \xe4\n")?;
            fs::write("noise.bin", [0, 1, 2])?;
        }
        "nothing" => say("done\n"),
        "asks" => {
            let mut answer = String::new();
            let n = std::io::stdin().read_to_string(&mut answer)?;
            fs::write("out.f", format!("{n} bytes"))?;
        }
        "flood" => {
            let line = [b'x'; 1 << 16];
            for _ in 0..arguments[1].parse::<usize>().unwrap_or(0) {
                std::io::stdout().write_all(&line)?;
                std::io::stderr().write_all(&line)?;
            }
            fs::write("out.f", "fine")?;
        }
        "flood-forever" => loop {
            std::io::stdout().write_all(&[b'x'; 1 << 16])?;
        },
        "many-files" => {
            for i in 0..10_001 {
                fs::write(format!("f{i}"), "")?;
            }
        }
        "large-files" => {
            for i in 0..2 {
                fs::File::create(format!("large{i}"))?.set_len(200 << 20)?;
            }
        }
        "deletes" => {
            let here = std::env::current_dir()?;
            fs::remove_dir_all(&here)?;
        }
        // Replaces its directory by a link to another one, which contains the requested file.
        #[cfg(unix)]
        "swaps" => {
            let here = std::env::current_dir()?;
            fs::remove_dir_all(&here)?;
            std::os::unix::fs::symlink(&arguments[1], &here)?;
        }
        // Links in place of the requested file: to a file, to a directory.
        #[cfg(unix)]
        "links" => {
            std::os::unix::fs::symlink(format!("{}/secret", arguments[1]), "out.f")?;
            std::os::unix::fs::symlink(&arguments[1], "folder")?;
        }
        // A pipe in place of the requested file: opening it blocks.
        "pipe" => {
            Command::new("mkfifo").arg("out.f").status()?;
        }
        // A directory that its owner may not look into.
        #[cfg(unix)]
        "locks" => {
            use std::os::unix::fs::PermissionsExt;
            fs::create_dir_all("locked/inner")?;
            fs::write("locked/inner/file", "")?;
            for path in ["locked/inner", "locked"] {
                fs::set_permissions(path, fs::Permissions::from_mode(0o000))?;
            }
            fs::write("out.f", "fine")?;
        }
        other => {
            say(&format!("no mode {other}\n"));
            return Ok(98);
        }
    }
    Ok(0)
}

fn say(text: &str) {
    let _ = write!(std::io::stdout(), "{text}");
    let _ = std::io::stdout().flush();
}

/// Waits longer than any test, but not for ever.
fn wait() {
    std::thread::sleep(Duration::from_secs(300));
}

/// Starts this program again, with our streams; with `away`, in a separate session.
fn start(arguments: &[&str], away: bool) -> std::io::Result<()> {
    command(arguments, away)?.spawn().map(drop)
}

fn command(arguments: &[&str], away: bool) -> std::io::Result<Command> {
    let program = std::env::current_exe()?;
    let mut command = if away {
        let mut command = Command::new("setsid");
        command.arg(program);
        command
    } else {
        Command::new(program)
    };
    command.args(arguments);
    Ok(command)
}
