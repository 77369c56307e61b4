//! Terminal sessions: the output of typed commands in terminals of 40 and of 120 columns. The snapshots show
//! the screen after each command, as a terminal draws it: lines updated in place have been overwritten, and
//! long ones are wrapped where the terminal wraps them.
#![cfg(target_os = "linux")]

use farfel_tests::{farfel_path, fixed, sandbox, write};
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whether `script` of util-linux, which emulates a terminal, is installed.
fn can_play() -> bool {
    Command::new("script").arg("--version").output().is_ok()
}

/// Returns the screen after a command in a terminal of this width.
fn screen(dir: &Path, command: &str, columns: u16) -> String {
    let here = farfel_path().with_file_name("");
    // The command must be called farfel here, whatever its name in the tests.
    let bin = dir.join(".bin");
    if !bin.exists() {
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(farfel_path(), bin.join("farfel")).unwrap();
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{}:{path}", bin.display(), here.display());
    let run = format!("stty cols {columns} rows 400; {command}");
    let mut script = Command::new("script");
    for (name, _) in std::env::vars() {
        if name.starts_with("FARFEL") || name.starts_with("CARGO_PKG_") {
            script.env_remove(name);
        }
    }
    let output = script
        .args(["-qefc", &run, "/dev/null"])
        .current_dir(dir)
        .env_remove("CI")
        .env_remove("COLUMNS")
        .env("PATH", path)
        .env("TERM", "xterm")
        .env("LC_ALL", "C.UTF-8")
        .env("NO_COLOR", "1")
        .env_remove("CARGO_TARGET_DIR")
        .env("FARFEL_CACHE_DIR", dir.join(".cache"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let mut terminal = vt100::Parser::new(
        NonZero::new(400).unwrap(),
        NonZero::new(columns).unwrap(),
        0,
    );
    terminal.process(&output.stdout);
    let rows = terminal.screen().rows(0, columns);
    let rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
    let code = match output.status.code() {
        Some(0) => String::new(),
        code => format!("[exit code {}]\n", code.unwrap_or(-1)),
    };
    format!("$ {command}\n{}\n{code}\n", rows.join("\n").trim_end())
}

/// Removes the times in `in 0.12s`, which a narrow terminal may wrap.
fn without_times(text: &str) -> String {
    let mut parts = text.split(" in ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let time = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '\n');
        out += " in ";
        out += match time.starts_with('s') && time.len() < part.len() {
            true => "[..]",
            false => &part[..part.len() - time.len()],
        };
        out += time;
    }
    out
}

/// Runs commands in terminals of both widths, each in a directory that `prepare` has filled.
fn session(name: &str, prepare: fn(&Path), commands: &[&str]) {
    if !can_play() {
        return;
    }
    for columns in [40, 120] {
        let dir = sandbox();
        prepare(dir.path());
        let screens: String = commands
            .iter()
            .map(|command| screen(dir.path(), command, columns))
            .collect();
        insta::assert_snapshot!(format!("session_{name}_{columns}"), without_times(&screens));
    }
}

#[test]
fn a_program_from_nothing() {
    session(
        "new",
        |_| {},
        &[
            "farfel new stone --template program --vcs none",
            "cd stone && farfel run",
            "cd stone && farfel run",
            "cd stone && farfel test",
            "cd stone && farfel verify",
            "cd stone && farfel clean",
        ],
    );
}

#[test]
fn errors_and_what_they_mean() {
    session(
        "errors",
        |dir| {
            let text = "PROGRAM AREA\nIMPLICIT NONE\nREAL RADIUS, UNUSED\nRADIUS = 2\n\
                        PRINT *, 3.14*RADUIS**2\nCALL FLUSHH(6)\nX = SQRT(1 +\nEND\n";
            write(dir, "area.f", fixed(text));
        },
        &[
            "farfel check area.f",
            "farfel check area.f --message-format short",
            "farfel explain F0101",
            "farfel run aera.f",
            "farfel chekc area.f",
        ],
    );
}

#[test]
fn a_folder_of_fortran() {
    session(
        "init",
        |dir| {
            let main = "PROGRAM FALL\nREAL HEIGHT\nPRINT '(F8.3)', HEIGHT(2.0)\nEND\n";
            let height = "FUNCTION HEIGHT(T)\nCOMMON /EARTH/ G\nHEIGHT = G*T**2/2\nEND\n\
                          BLOCK DATA\nCOMMON /EARTH/ G\nDATA G /9.81/\nEND\n";
            write(dir, "fall/fall.f", fixed(main));
            write(dir, "fall/height.f", fixed(height));
            write(
                dir,
                "fall/Makefile",
                "FFLAGS = -O2\nfall: fall.o height.o\n\t$(FC) $(FFLAGS) -o $@ $^\n",
            );
        },
        &[
            "cd fall && farfel init --vcs none",
            "cd fall && farfel build",
            "cd fall && farfel run",
            "cd fall && farfel graph",
            "cd fall && farfel storage",
            "cd fall && farfel intents",
        ],
    );
}

#[test]
fn help() {
    session(
        "help",
        |_| {},
        &[
            "farfel",
            "farfel build --help",
            "farfel verify --help",
            "farfel explain --help",
        ],
    );
}
