//! The commands, one per module.

mod build;
mod build_script;
mod cache;
mod check;
mod completions;
mod doctor;
mod expand;
mod explain;
mod export;
mod fmt;
mod graph;
mod intents;
mod man;
mod new;
mod run;
mod storage;
mod tapenade;
mod test;
mod to_cargo;
mod verify;

use crate::args::Command;
use crate::error::Result;
use crate::shell::Shell;

/// Runs `command`.
///
/// # Errors
///
/// Those of the command, see [`crate::error::Error`].
pub fn run(command: Command, shell: &mut Shell) -> Result {
    match command {
        Command::New(args) => new::new(&args, shell),
        Command::Init(args) => new::init(&args, shell),
        Command::Build(args) => build::run(&args, shell),
        Command::Run(args) => run::run(&args, shell),
        Command::Test(args) => test::run(&args, shell),
        Command::Check(args) => check::run(&args, shell),
        Command::Bench(args) => to_cargo::bench(&args, shell),
        Command::Doc(args) => to_cargo::doc(&args, shell),
        Command::Clean(args) => to_cargo::clean(&args, shell),
        Command::Add(args) => to_cargo::run("add", &args, shell),
        Command::Update(args) => to_cargo::run("update", &args, shell),
        Command::Tree(args) => to_cargo::run("tree", &args, shell),
        Command::Install(args) => to_cargo::install(&args, shell),
        Command::Watch(_) => to_cargo::watch(),
        Command::Man(args) => man::run(&args, shell),
        Command::Verify(args) => verify::run(&args, shell),
        Command::Expand(args) => expand::run(&args, shell),
        Command::Export(args) => export::run(&args, shell),
        Command::Fmt(args) => fmt::run(&args, shell),
        Command::Explain(args) => explain::run(&args, shell),
        Command::Graph(args) => graph::run(&args, shell),
        Command::Intents(args) => intents::run(&args, shell),
        Command::Storage(args) => storage::run(&args, shell),
        Command::Tapenade(args) => tapenade::run(&args, shell),
        Command::Cache(args) => cache::run(&args.action, shell),
        Command::Doctor(args) => doctor::run(&args, shell),
        Command::BuildScript(args) => build_script::run(&args, shell),
        Command::Completions { shell: kind } => completions::run(kind, shell),
    }
}
