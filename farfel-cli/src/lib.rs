//! The `farfel` command.
//!
//! It parses arguments, calls [`farfel_driver`] and cargo, and shows the results; it knows nothing about the
//! language.
//!
//! | module | contents |
//! |---|---|
//! | `args`, `lints` | the command line; lint levels given on it |
//! | `commands` | a module for each command |
//! | `shell`, `progress` | all terminal output; the line that shows the progress of a build |
//! | `watched` | builds with progress, and Ctrl-C |
//! | `error` | the errors of commands, with their exit codes |
//! | `error_pages` | the pages of `docs/errors`, which `farfel explain` prints |
//! | `files` | single files |
//! | `project`, `manifest`, `libraries` | projects: their locations, manifests and libraries |
//! | `programs` | projects without Rust |
//! | `cargo` | running cargo, and returning its exit code |
//! | `compiler` | finding or installing gfortran |
//! | `unchanged` | whether anything has changed since the last check without errors |
//! | `template`, `package_name`, `dependency` | the projects that `farfel new` creates |
//! | `existing` | analysis of a folder that `farfel init` turns into a project |
//! | `drawing`, `timings`, `derivatives` | the graph, the report of a build, the sources beside the generated code |
//! | `pages`, `links` | the common parts of their HTML pages; links to sources |
//!
//! Exit codes: 0 success; 1 errors that the user can correct, mostly in the code; 2 an invalid command line,
//! or an internal failure. `run` and `test` return the exit code of the program that they run.

// User errors must be reported as messages, never as panics.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod args;
mod cargo;
mod commands;
mod compiler;
mod dependency;
mod derivatives;
mod drawing;
mod error;
mod error_pages;
mod existing;
mod files;
mod libraries;
mod links;
mod lints;
mod manifest;
mod package_name;
mod pages;
mod programs;
mod progress;
mod project;
mod shell;
mod template;
mod timings;
mod unchanged;
mod watched;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use crate::error::{EXIT_ERRORS, EXIT_INVALID, Error};
use crate::shell::Shell;

/// A compiler allocates and frees many small pieces. This allocator takes a sixth off the time of large builds.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs the command with the process's arguments.
///
/// As `cargo-farfel`, it skips the first argument, the subcommand name that cargo passes.
pub fn main() -> ExitCode {
    let arguments = without_subcommand_name(std::env::args_os());
    let cli = match args::Cli::try_parse_from(split_tapenade_options(arguments)) {
        Ok(cli) => cli,
        Err(usage) => {
            // A closed terminal is no reason to fail differently.
            let _ = usage.print();
            return if usage.use_stderr() {
                ExitCode::from(EXIT_INVALID)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    let mut shell = Shell::new(
        cli.global.verbosity(),
        cli.global.color(),
        cli.global.message_format,
    );
    if let Some(dir) = &cli.global.directory
        && let Err(error) = std::env::set_current_dir(dir)
    {
        Error::io("work in", dir, &error).show(&mut shell);
        return ExitCode::from(EXIT_ERRORS);
    }
    if cli.global.verifies_passes() {
        farfel_driver::verify_passes();
    }
    let in_build_script = matches!(cli.command, args::Command::BuildScript(_));
    std::panic::set_hook(Box::new(move |panic| {
        let rest = match in_build_script {
            true => farfel_driver::script::internal_error(),
            false => farfel_driver::internal_error("run it again with `--verify-passes`"),
        };
        // A closed terminal is no reason to fail differently.
        let _ = writeln!(
            std::io::stderr(),
            "error: farfel itself has failed: {panic}\n{rest}"
        );
    }));
    let ran = std::panic::AssertUnwindSafe(|| commands::run(cli.command, &mut shell));
    let code = match std::panic::catch_unwind(ran) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            error.show(&mut shell);
            ExitCode::from(error.exit_code())
        }
        Err(_) => ExitCode::from(EXIT_INVALID),
    };
    shell.finish();
    code
}

/// Drops the subcommand name: `cargo farfel build` starts `cargo-farfel farfel build`.
fn without_subcommand_name(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let by_cargo = arguments
        .first()
        .and_then(|program| Path::new(program).file_stem())
        .is_some_and(|stem| stem == "cargo-farfel");
    if by_cargo && arguments.get(1).is_some_and(|name| name == "farfel") {
        arguments.remove(1);
    }
    arguments
}

/// Inserts `--` after `farfel tapenade`, whose arguments clap must not parse: `-vector` is not `-v`.
fn split_tapenade_options(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let mut at = 1;
    while let Some(word) = arguments.get(at).and_then(|a| a.to_str()) {
        match word {
            "tapenade" => {
                arguments.insert(at + 1, "--".into());
                break;
            }
            "--color" => at += 2,
            _ if word.starts_with('-') => at += 1,
            _ => break,
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(arguments: &[&str]) -> Vec<OsString> {
        without_subcommand_name(arguments.iter().map(OsString::from))
    }

    #[test]
    fn options_of_tapenade_are_left_alone() {
        let apart =
            |words: &[&str]| split_tapenade_options(words.iter().map(OsString::from).collect());
        assert_eq!(
            apart(&[
                "farfel", "-q", "--color", "never", "tapenade", "-vector", "a.f"
            ]),
            [
                "farfel", "-q", "--color", "never", "tapenade", "--", "-vector", "a.f"
            ]
        );
        assert_eq!(
            apart(&["farfel", "run", "tapenade"]),
            ["farfel", "run", "tapenade"]
        );
    }

    #[test]
    fn only_the_cargo_form_drops_its_name() {
        assert_eq!(
            stripped(&["/bin/cargo-farfel", "farfel", "build"]),
            ["/bin/cargo-farfel", "build"]
        );
        assert_eq!(
            stripped(&["farfel", "new", "farfel"]),
            ["farfel", "new", "farfel"]
        );
        assert_eq!(stripped(&["cargo-farfel"]), ["cargo-farfel"]);
    }
}
