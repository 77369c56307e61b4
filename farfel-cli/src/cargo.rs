//! Running cargo, and returning its exit code.

use std::ffi::{OsStr, OsString};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use cargo_metadata::Message;

use crate::args::{CargoOptions, Targets};
use crate::error::{Error, Result};
use crate::progress::{self, Mode};
use crate::shell::{MessageFormat, Shell, Verbosity};
use crate::watched;

/// Returns the cargo that runs this process as its subcommand, or else the one on PATH.
///
/// # Errors
///
/// There is neither.
pub fn find() -> Result<PathBuf> {
    if let Some(cargo) = std::env::var_os("CARGO").filter(|cargo| !cargo.is_empty()) {
        return Ok(cargo.into());
    }
    which::which("cargo").map_err(|_| {
        Error::invalid("cannot find cargo, neither by $CARGO nor on PATH")
            .help("install Rust: https://rustup.rs")
    })
}

/// Returns a cargo command with the options that all our uses share.
pub fn command(
    subcommand: &str,
    release: bool,
    options: &CargoOptions,
    shell: &Shell,
) -> Result<Command> {
    let mut command = plain(subcommand, shell)?;
    if let Some(format) = message_format(shell) {
        command.args(["--message-format", format]);
    }
    if release {
        command.arg("--release");
    }
    command.args(words(options));
    Ok(command)
}

/// Returns a cargo command with the environment that all our uses share.
///
/// # Errors
///
/// There is no cargo.
pub fn plain(subcommand: &str, shell: &Shell) -> Result<Command> {
    let mut command = Command::new(find()?);
    // Variables that `cargo run` set for this process are not meant for the project.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text == "OUT_DIR"
            || text.starts_with("CARGO_PKG_")
            || text.starts_with("CARGO_MANIFEST_")
        {
            command.env_remove(&name);
        }
    }
    if farfel_driver::verifies_passes() {
        command.env(farfel_driver::VERIFY_PASSES, "1");
    }
    if cfg!(unix) && watched::mode(shell) == Mode::Moves {
        command.env(progress::TERMINAL, "/dev/tty");
    }
    if let Some(us) = command_for_build_scripts() {
        command.env(COMMAND, us);
    }
    command.arg(subcommand);
    command.args(["--color", shell.color_flag()]);
    match shell.verbosity {
        Verbosity::Quiet => command.arg("--quiet"),
        Verbosity::Normal => &mut command,
        Verbosity::Verbose => command.arg("--verbose"),
    };
    Ok(command)
}

/// Returns cargo's format for messages of rustc, if it is not the default.
fn message_format(shell: &Shell) -> Option<&'static str> {
    match shell.messages {
        MessageFormat::Json => Some("json"),
        MessageFormat::Short => Some("short"),
        MessageFormat::Human | MessageFormat::Github | MessageFormat::Sarif => None,
    }
}

/// The environment variable that tells build scripts which farfel to run.
const COMMAND: &str = "FARFEL";

/// Returns the command for build scripts, if they would not find this one by themselves. Cargo runs a build
/// script again when the variable changes, so it is left alone if possible: then `farfel build` and `cargo
/// build` can alternate.
fn command_for_build_scripts() -> Option<PathBuf> {
    if std::env::var_os(COMMAND).is_some_and(|named| !named.is_empty()) {
        return None;
    }
    let us = std::env::current_exe().ok()?;
    let name = format!("farfel{}", std::env::consts::EXE_SUFFIX);
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let installed = home.map(|home| home.join("bin").join(&name));
    let found = installed
        .filter(|command| command.is_file())
        .or_else(|| which::which(&name).ok());
    // `cargo-farfel` is in the same folder.
    let directory = |command: &Path| Some(command.canonicalize().ok()?.parent()?.to_owned());
    let is_us = found.is_some_and(|found| directory(&found) == directory(&us));
    (!is_us).then_some(us)
}

/// Checks that no option for cargo was given, because single files are built without it.
///
/// # Errors
///
/// The first option that only cargo understands.
pub fn not_for_files(options: &CargoOptions, targets: &Targets) -> Result {
    match words(options).into_iter().chain(parts(targets)).next() {
        None => Ok(()),
        Some(option) => Err(Error::invalid(format!(
            "`{}` is for projects, but there are files on the command line",
            option.display()
        ))),
    }
}

/// Returns the options that determine which packages there are.
pub fn for_metadata(options: &CargoOptions) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for features in &options.features {
        words.extend(["--features".to_owned(), features.clone()]);
    }
    for (name, given) in [
        ("--all-features", options.all_features),
        ("--no-default-features", options.no_default_features),
        ("--locked", options.locked),
        ("--offline", options.offline),
    ] {
        if given {
            words.push(name.to_owned());
        }
    }
    words
}

/// Checks that no option was given that has no meaning without Rust.
///
/// # Errors
///
/// The first option that only cargo understands.
pub fn not_without_rust(options: &CargoOptions, targets: &Targets) -> Result {
    let asked = CargoOptions {
        manifest_path: None,
        target_dir: None,
        bin: Vec::new(),
        // Both are always the case without cargo.
        locked: false,
        offline: false,
        ..options.clone()
    };
    match words(&asked).into_iter().chain(parts(targets)).next() {
        None => Ok(()),
        Some(option) => Err(Error::invalid(format!(
            "`{}` is for cargo, and there is no Rust in this project",
            option.display()
        ))),
    }
}

/// Returns the options for the selected targets, as on cargo's command line.
pub fn parts(targets: &Targets) -> Vec<OsString> {
    let Targets {
        lib,
        bins,
        examples,
        tests,
        benches,
        all_targets,
    } = targets;
    let all = [
        ("--lib", lib),
        ("--bins", bins),
        ("--examples", examples),
        ("--tests", tests),
        ("--benches", benches),
        ("--all-targets", all_targets),
    ];
    let given = all.into_iter().filter(|(_, given)| **given);
    given.map(|(name, _)| name.into()).collect()
}

/// Returns the options as on cargo's command line.
fn words(options: &CargoOptions) -> Vec<OsString> {
    // Destructured, so that no option can be forgotten here.
    let CargoOptions {
        manifest_path,
        package,
        workspace,
        exclude,
        bin,
        example,
        features,
        all_features,
        no_default_features,
        profile,
        target,
        target_dir,
        jobs,
        locked,
        offline,
    } = options;
    let mut words: Vec<OsString> = Vec::new();
    let mut pair = |name: &str, value: &OsStr| words.extend([name.into(), value.to_owned()]);
    for (name, values) in [
        ("--package", package),
        ("--exclude", exclude),
        ("--bin", bin),
        ("--example", example),
        ("--features", features),
    ] {
        values.iter().for_each(|value| pair(name, value.as_ref()));
    }
    for (name, value) in [
        ("--manifest-path", manifest_path),
        ("--target-dir", target_dir),
    ] {
        value.iter().for_each(|value| pair(name, value.as_ref()));
    }
    for (name, value) in [
        ("--profile", profile),
        ("--target", target),
        ("--jobs", jobs),
    ] {
        value.iter().for_each(|value| pair(name, value.as_ref()));
    }
    for (name, given) in [
        ("--workspace", *workspace),
        ("--all-features", *all_features),
        ("--no-default-features", *no_default_features),
        ("--locked", *locked),
        ("--offline", *offline),
    ] {
        if given {
            words.push(name.into());
        }
    }
    words
}

/// Runs `command` on this process's terminal and returns its exit status.
///
/// # Errors
///
/// It cannot be started.
pub fn status(mut command: Command, shell: &mut Shell) -> Result<ExitStatus> {
    shell.verbose("Running", command_line(&command));
    watched::leave_to_children();
    let status = command.status().map_err(|source| {
        let program = PathBuf::from(command.get_program());
        Error::io("run", &program, &source)
    })?;
    clean_up(status, shell);
    Ok(status)
}

/// Erases the progress line that an interrupted build script may have left on the terminal.
fn clean_up(status: ExitStatus, shell: &Shell) {
    if !status.success() && watched::mode(shell) == Mode::Moves {
        progress::erase();
    }
}

/// The packages whose build scripts belong to a build, with their OUT_DIRs.
pub type BuildScripts = Vec<(String, PathBuf)>;

/// Like [`status`] for a build, but also returns the packages whose build scripts belong to it, whether or
/// not these had to run.
///
/// # Errors
///
/// It cannot be started.
pub fn status_and_scripts(
    mut command: Command,
    shell: &mut Shell,
) -> Result<(ExitStatus, BuildScripts)> {
    if let Some(format) = message_format(shell) {
        return Err(Error::invalid(format!(
            "`--message-format {format}` is not possible here: what cargo says is needed for the table or page"
        )));
    }
    command
        .arg("--message-format=json-render-diagnostics")
        .stdout(Stdio::piped());
    shell.verbose("Running", command_line(&command));
    watched::leave_to_children();
    let program = PathBuf::from(command.get_program());
    let cannot = |source| Error::io("run", &program, &source);
    let mut running = command.spawn().map_err(cannot)?;
    let mut scripts = Vec::new();
    if let Some(out) = running.stdout.take() {
        // Lines that cannot be parsed as messages are skipped.
        for message in Message::parse_stream(BufReader::new(out)).map_while(|m| m.ok()) {
            if let Message::BuildScriptExecuted(script) = message {
                let name = package_name(&script.package_id.repr).to_owned();
                scripts.push((name, script.out_dir.into_std_path_buf()));
            }
        }
    }
    let status = running.wait().map_err(cannot)?;
    clean_up(status, shell);
    Ok((status, scripts))
}

/// Returns the name in a package id: `path+file:///dir/name#0.1.0`, `…#name@0.1.0`.
fn package_name(id: &str) -> &str {
    let (before, version) = id.rsplit_once('#').unwrap_or((id, ""));
    match version.split_once('@') {
        Some((name, _)) => name,
        None => before.rsplit('/').next().unwrap_or(before),
    }
}

/// Returns the exit code that a shell would show for `status`: 128 plus the number for signals.
pub fn code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(u8::MAX);
    }
    match status.code() {
        // Windows has 32-bit codes; one that does not fit must not look like success.
        Some(code) => u8::try_from(code).unwrap_or(u8::MAX),
        None => u8::MAX,
    }
}

/// Formats a command line for display.
pub fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words.map(quoted).collect();
    format!("`{}`", words.join(" "))
}

fn quoted(word: &OsStr) -> String {
    let text = OsString::from(word).to_string_lossy().into_owned();
    if text.is_empty() || text.contains(char::is_whitespace) {
        format!("'{text}'")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    use crate::args::{Cli, Command as Farfel};

    #[test]
    fn every_option_reaches_cargo() {
        let given = "farfel build -q --color never --release --manifest-path a/Cargo.toml -p one -p two \
            --workspace --exclude three --bin b --example e -F f --all-features \
            --no-default-features --target t --target-dir d -j 3 --locked --offline";
        let cli = Cli::try_parse_from(given.split_whitespace()).unwrap();
        let shell = Shell::new(
            cli.global.verbosity(),
            cli.global.color(),
            MessageFormat::Human,
        );
        let Farfel::Build(build) = cli.command else {
            panic!("not build")
        };
        let command = command("build", build.release, &build.cargo, &shell).unwrap();
        let words: Vec<&str> = command.get_args().map(|w| w.to_str().unwrap()).collect();
        assert_eq!(
            words.join(" "),
            "build --color never --quiet --release --package one --package two --exclude three --bin b \
             --example e --features f --manifest-path a/Cargo.toml --target-dir d --target t \
             --jobs 3 --workspace --all-features --no-default-features --locked --offline"
        );
    }

    #[test]
    fn names_of_packages() {
        for (id, name) in [
            ("path+file:///projects/demo#0.1.0", "demo"),
            ("path+file:///projects/dir#demo@0.1.0", "demo"),
            ("registry+https://example.org/index#cc@1.2.0", "cc"),
            ("odd", "odd"),
        ] {
            assert_eq!(package_name(id), name);
        }
    }

    #[cfg(unix)]
    #[test]
    fn signals_are_128_and_their_number() {
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(code(ExitStatus::from_raw(9)), 128 + 9);
        assert_eq!(code(ExitStatus::from_raw(7 << 8)), 7);
        assert_eq!(code(ExitStatus::from_raw(0)), 0);
    }
}
