//! The Fortran compiler: found, or installed when it is missing.

use std::path::PathBuf;

use farfel_driver::{Config, toolchain};

use crate::error::{Error, Result};
use crate::shell::Shell;

/// Ensures that there is a Fortran compiler, and returns its path.
///
/// A missing one is installed with the system's package manager, with a message; `FARFEL_INSTALL=0` prevents
/// that. One that the user has named is never replaced.
///
/// # Errors
///
/// There is none, and it cannot or must not be installed.
pub fn ensure(config: &Config, shell: &mut Shell) -> Result<PathBuf> {
    match toolchain::find(config) {
        Ok(compiler) => Ok(compiler.path),
        Err(farfel_driver::Error::NoFortranCompiler { .. })
            if config.fc.is_none() && may_install() =>
        {
            install(shell)?;
            Ok(toolchain::find(config)?.path)
        }
        Err(error) => Err(error.into()),
    }
}

/// Installs gfortran, and reports what is done.
///
/// # Errors
///
/// The package manager is unknown or fails.
pub fn install(shell: &mut Shell) -> Result {
    shell.status(
        "Installing",
        "gfortran, which is missing (FARFEL_INSTALL=0 prevents this)",
    );
    toolchain::install(&mut |line| shell.status("Installing", line))?;
    Ok(())
}

/// Whether the user allows installing missing tools.
pub fn may_install() -> bool {
    std::env::var_os("FARFEL_INSTALL").is_none_or(|value| value != "0")
}

impl From<farfel_driver::Report> for Error {
    fn from(report: farfel_driver::Report) -> Self {
        Error::Build(farfel_driver::Error::Diagnostics(report))
    }
}
