//! `farfel completions`.

use clap::CommandFactory;

use crate::args::Cli;
use crate::error::{Error, Result};
use crate::shell::Shell;

/// Prints the completion script for `kind`.
pub fn run(kind: clap_complete::Shell, shell: &mut Shell) -> Result {
    let mut script = Vec::new();
    clap_complete::generate(kind, &mut Cli::command(), "farfel", &mut script);
    shell
        .out(&String::from_utf8_lossy(&script))
        .map_err(|error| Error::invalid(format!("cannot write to standard output: {error}")))
}
