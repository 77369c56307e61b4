//! Cargo's own commands: run with the environment of ours, and with an explanation in projects without Rust.

use super::build::errors;
use super::check;
use crate::args::{Bench, CargoOptions, Clean, Doc, Targets, ToCargo};
use crate::error::{Error, Result};
use crate::programs::Project;
use crate::shell::Shell;
use crate::{cargo, manifest, programs, project};

/// `farfel add`, `update`, `tree`.
pub fn run(subcommand: &str, args: &ToCargo, shell: &mut Shell) -> Result {
    not_without_rust(
        subcommand,
        "it lists dependencies in its Cargo.toml, by path",
    )?;
    let mut command = cargo::plain(subcommand, shell)?;
    command.args(&args.arguments);
    errors(cargo::status(command, shell)?)
}

/// `farfel install`: installs the project in the current directory, unless a crate name comes first or
/// options specify another source.
pub fn install(args: &ToCargo, shell: &mut Shell) -> Result {
    not_without_rust(
        "install",
        "`farfel build --release` puts the program into target/release; copy it from there",
    )?;
    let mut command = cargo::plain("install", shell)?;
    let words = || args.arguments.iter().map(|word| word.to_string_lossy());
    let names_another = words().next().is_some_and(|first| !first.starts_with('-'))
        || words().any(|w| ["--path", "--git", "--list", "--help", "-h"].contains(&&*w));
    let mut record = None;
    if !names_another {
        record = project::prepare(&CargoOptions::default(), None, shell)?;
        command.arg("--path").arg(manifest::manifest_dir(None)?);
    }
    command.args(&args.arguments);
    let installed = errors(cargo::status(command, shell)?);
    drop(record);
    installed
}

/// `farfel bench`.
pub fn bench(args: &Bench, shell: &mut Shell) -> Result {
    not_without_rust("bench", "main programs can time themselves")?;
    let _record = project::prepare(&args.cargo, None, shell)?;
    let mut command = cargo::command("bench", false, &args.cargo, shell)?;
    command.args(cargo::parts(&args.targets));
    if args.no_run {
        command.arg("--no-run");
    }
    command.args(&args.name).arg("--").args(&args.arguments);
    match cargo::code(cargo::status(command, shell)?) {
        0 => Ok(()),
        code => Err(Error::Exit(code)),
    }
}

/// `farfel doc`.
pub fn doc(args: &Doc, shell: &mut Shell) -> Result {
    not_without_rust(
        "doc",
        "`farfel graph` and `farfel intents` describe its subprograms",
    )?;
    let _record = project::prepare(&args.cargo, None, shell)?;
    let mut command = cargo::command("doc", args.release, &args.cargo, shell)?;
    for (option, given) in [
        ("--open", args.open),
        ("--no-deps", args.no_deps),
        ("--document-private-items", args.document_private_items),
    ] {
        if given {
            command.arg(option);
        }
    }
    errors(cargo::status(command, shell)?)
}

/// `farfel clean`.
pub fn clean(args: &Clean, shell: &mut Shell) -> Result {
    if let Some(project) = Project::find(&args.cargo, &Targets::default())? {
        return programs::clean(&project, args.release, &args.cargo, shell);
    }
    let shared = match args.cargo.package.is_empty() {
        true => project::packages_in_shared_target(&args.cargo)?,
        false => None,
    };
    let Some(packages) = shared else {
        let command = cargo::command("clean", args.release, &args.cargo, shell)?;
        return errors(cargo::status(command, shell)?);
    };
    // With package names, cargo cleans only one profile at a time.
    let profiles: &[&str] = match (&args.cargo.profile, args.release) {
        (Some(_), _) => &[""],
        (None, true) => &["release"],
        (None, false) => &["dev", "release", check::PROFILE],
    };
    for profile in profiles {
        let mut command = cargo::command("clean", false, &args.cargo, shell)?;
        if !profile.is_empty() {
            command.args(["--profile", profile]);
        }
        if *profile == check::PROFILE {
            command.args(["--config", &format!("profile.{profile}.inherits=\"dev\"")]);
        }
        for package in &packages {
            command.args(["--package", package]);
        }
        errors(cargo::status(command, shell)?)?;
    }
    Ok(())
}

/// `farfel watch`, which points to other tools.
pub fn watch() -> Result {
    Err(Error::invalid("farfel does not watch files").help(
        "`cargo install cargo-watch`, and then `cargo watch -s \"farfel check\"`, with any other command in its place",
    ))
}

/// Checks that the project in the current directory has Rust code for cargo.
fn not_without_rust(subcommand: &str, help: &str) -> Result {
    let dir = manifest::manifest_dir(None)?;
    match Project::in_directory(&dir)? {
        None => Ok(()),
        Some(_) => Err(Error::invalid(format!(
            "`farfel {subcommand}` is for cargo, and there is no Rust in this project"
        ))
        .help(help)),
    }
}
