//! Every program of `tests/programs` checks its own derivatives, by closed forms or
//! differences, and stops with a number where one is wrong. Each runs with all of
//! gfortran's checks at run time, and as optimised code for this machine.

use std::path::Path;
use std::process::Command;

use farfel_driver::{Config, Session};

fn program_checks_itself(source: &Path) -> datatest_stable::Result<()> {
    // Nor may any pass of the compiler break the program.
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
        // What an earlier run of the tests compiled says nothing about this one.
        config.cache.enabled = false;
        let program = dir.path().join(name);
        Session::of_files(&[source.to_owned()], &config)?.build_program(&program)?;
        let ran = loop {
            match Command::new(&program).output() {
                // A process that another test starts right now has the file open for a moment.
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
