//! `farfel man`.

use std::io;
use std::path::Path;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::args::{self, Cli};
use crate::error::{Error, Result};
use crate::shell::Shell;

/// Prints the page of the command itself, or writes the pages of all commands to a directory.
pub fn run(args: &args::Man, shell: &mut Shell) -> Result {
    let cli = Cli::command();
    let Some(dir) = &args.output else {
        let page = page(cli).map_err(|e| Error::invalid(e.to_string()))?;
        return shell
            .out(&String::from_utf8_lossy(&page))
            .map_err(|error| Error::invalid(format!("cannot write to standard output: {error}")));
    };
    std::fs::create_dir_all(dir).map_err(|e| Error::io("make", dir, &e))?;
    let mut written = 1;
    for command in cli.get_subcommands().filter(|c| !c.is_hide_set()) {
        let name = format!("farfel-{}", command.get_name());
        // Manual pages are looked up by this name; the usage line keeps the blank.
        let usage = format!("farfel {}", command.get_name());
        let command = command.clone().display_name(&name).bin_name(usage);
        write(dir, &name, command)?;
        written += 1;
    }
    write(dir, "farfel", cli)?;
    shell.status(
        "Written",
        format_args!("{written} pages to `{}`", dir.display()),
    );
    Ok(())
}

fn write(dir: &Path, name: &str, command: clap::Command) -> Result {
    let path = dir.join(format!("{name}.1"));
    let text = page(command).map_err(|e| Error::io("write", &path, &e))?;
    std::fs::write(&path, text).map_err(|e| Error::io("write", &path, &e))
}

fn page(command: clap::Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(page)
}
