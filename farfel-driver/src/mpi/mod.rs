//! MPI: where it is installed, and the run-time library with the derivatives of its calls.
//!
//! With the setting `link = ["mpi"]`, the compiler command of an MPI installation (`mpif90`, or the one that
//! the variable `MPIFC` names) is asked how it compiles. Its folders are searched by INCLUDE, its libraries
//! are linked, and the run-time library, `runtime.c`, is compiled with its headers. `farfel_ad::mpi` is the
//! table of the calls that have derivatives.

use crate::Config;
use crate::config::MPI_COMPILER;
use crate::process::{self, Limits};
use std::path::PathBuf;
use std::process::Command;

/// The name of the library in the setting `link`.
pub(crate) const NAME: &str = "mpi";

/// The run-time library.
pub(crate) const RUNTIME: &str = include_str!("runtime.c");

/// The name of the run-time library's file in messages.
pub(crate) const RUNTIME_NAME: &str = "farfel_mpi.c";

/// An INCLUDE file of Open MPI with nothing but INTERFACE blocks, of MPI_SIZEOF.
const INTERFACES: &str = "mpif-sizeof.h";

/// How an MPI installation compiles and links.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Installation {
    /// The folders with `mpif.h` and `mpi.h`.
    pub include: Vec<PathBuf>,
    /// The folders with libraries.
    pub folders: Vec<PathBuf>,
    /// The libraries in order.
    pub libraries: Vec<String>,
}

/// Whether the settings name MPI, those of the project or of a dependency.
pub(crate) fn is_linked(config: &Config) -> bool {
    let libraries = config.libraries.iter().flat_map(|l| &l.config.link);
    config.link.iter().chain(libraries).any(|l| l == NAME)
}

/// Returns the settings with the INCLUDE folders of MPI, if the settings name it and it is installed.
pub(crate) fn with_include(config: &Config) -> Config {
    let mut config = config.clone();
    if is_linked(&config)
        && let Some(found) = find()
    {
        config.include.extend(found.include);
    }
    config
}

/// Whether INCLUDE of this file has no effect.
pub(crate) fn is_left_out(config: &Config, file: &str) -> bool {
    file == INTERFACES && is_linked(config)
}

/// Asks the compiler command of MPI. Returns `None` if there is none.
pub(crate) fn find() -> Option<Installation> {
    let named = std::env::var(MPI_COMPILER).ok().filter(|c| !c.is_empty());
    let commands = match named {
        Some(command) => vec![command],
        None => vec!["mpif90".to_owned(), "mpifort".to_owned()],
    };
    commands.iter().find_map(|command| {
        let mut command = Command::new(command);
        // Both Open MPI and MPICH print the compiler's command line.
        command.arg("-show");
        let ran = process::run(&mut command, &Limits::QUESTION).ok()?;
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        ran.status.success().then(|| installation(&text)).flatten()
    })
}

/// Parses a compiler's command line.
fn installation(line: &str) -> Option<Installation> {
    let mut found = Installation::default();
    for word in line.split_whitespace() {
        let add = |list: &mut Vec<PathBuf>, folder: &str| {
            let folder = PathBuf::from(folder);
            if !list.contains(&folder) {
                list.push(folder);
            }
        };
        if let Some(folder) = word.strip_prefix("-I") {
            add(&mut found.include, folder);
        } else if let Some(folder) = word.strip_prefix("-L") {
            add(&mut found.folders, folder);
        } else if let Some(library) = word.strip_prefix("-l") {
            found.libraries.push(library.to_owned());
        }
    }
    (!found.libraries.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_compiler_commands_say() {
        let open = installation("gfortran -I/a/mod -I/a/lib -L/a/lib -lmpi_mpifh -lmpi\n");
        assert_eq!(
            open,
            Some(Installation {
                include: vec!["/a/mod".into(), "/a/lib".into()],
                folders: vec!["/a/lib".into()],
                libraries: vec!["mpi_mpifh".into(), "mpi".into()],
            })
        );
        let mpich = "gfortran -O2 -Wl,-z,relro -I/b -I/b -L/c -lmpichfort -lmpich";
        let mpich = installation(mpich).unwrap();
        assert_eq!(mpich.include, [PathBuf::from("/b")]);
        assert_eq!(mpich.libraries, ["mpichfort", "mpich"]);
        assert_eq!(installation("gfortran: unknown option"), None);
    }
}
