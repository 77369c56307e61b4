//! Every program of `tests/programs` checks its own derivatives, by closed forms or finite differences, and
//! stops with a number if one is wrong. Each runs with all of gfortran's run-time checks, and as code
//! optimised for this machine.

use std::path::Path;
use std::process::Command;

use farfel_driver::{Config, Session};

fn program_checks_itself(source: &Path) -> datatest_stable::Result<()> {
    // No pass of the compiler may produce an invalid program, either.
    farfel_driver::verify_passes();
    let dir = tempfile::tempdir()?;
    for (name, flags) in [
        ("checked", ["-O0", "-fcheck=all"]),
        ("fast", ["-O3", "-march=native"]),
    ] {
        let mut config = Config {
            flags: flags.iter().map(|f| (*f).to_owned()).collect(),
            ..Config::default()
        };
        // Results of earlier test runs must not be used.
        config.cache.enabled = false;
        let program = dir.path().join(name);
        Session::of_files(&[source.to_owned()], &config)?.build_program(&program)?;
        let ran = loop {
            match Command::new(&program).output() {
                // A process that another test is just starting may have the file open for a moment.
                Err(e) if e.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
                ran => break ran?,
            }
        };
        if !ran.status.success() {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            return Err(format!("{name}: {}{}", text(&ran.stdout), text(&ran.stderr)).into());
        }
    }
    Ok(())
}

datatest_stable::harness! {
    { test = program_checks_itself, root = "programs", pattern = r"\.ff$" },
}
