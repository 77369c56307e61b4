//! The cost of state in instances: a stencil over COMMON, and a call that only increments a counter, called
//! from Rust as methods of an instance and under the lock of the library, in one run.

#![allow(clippy::print_stdout)]

use farfel_tests::{command, farfel, repository, sandbox, shared_target, write};
use std::process::ExitCode;

/// The maximum times with an instance, relative to those with the lock.
const MOST: [(&str, f64); 2] = [("stencil", 1.15), ("counter", 0.5)];

fn main() -> ExitCode {
    let dir = sandbox();
    let dir = dir.path();
    let path = repository().display();
    let package = |folder: &str, name: &str, more: &str| {
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\nlinks = \"{name}\"\n\
             [package.metadata.farfel]\nopt-level = 3\n{more}\
             farfel-runtime = {{ path = \"{path}/farfel-runtime\" }}\n\
             [build-dependencies]\nfarfel-build = {{ path = \"{path}/farfel-build\" }}\n"
        );
        let file = |name: &str| format!("{folder}{name}");
        write(dir, &file("Cargo.toml"), manifest);
        write(
            dir,
            &file("build.rs"),
            "fn main() { farfel_build::compile(); }\n",
        );
        write(
            dir,
            &file("fortran/state.f"),
            include_str!("programs/state.f"),
        );
    };
    package("locked/", "state-locked", "[dependencies]\n");
    write(
        dir,
        "locked/src/lib.rs",
        "farfel_runtime::include_bindings!();\n",
    );
    package(
        "",
        "state-by-instance",
        "instance = \"Model\"\n[workspace]\n[dependencies]\nstate-locked = { path = \"locked\" }\n",
    );
    write(dir, "src/main.rs", include_str!("programs/state.rs"));
    farfel(dir).args(["build", "--release"]).assert().success();
    let program = shared_target().join("release/state-by-instance");
    let ran = command(&program, dir).assert().success();
    let output = String::from_utf8_lossy(&ran.get_output().stdout).into_owned();
    println!("subprogram      ratio   nanoseconds by instance\n{output}");
    let mut good = true;
    for (name, most) in MOST {
        let line = output.lines().find_map(|l| l.strip_prefix(name));
        let ratio = line.and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok());
        if ratio.is_none_or(|r| r > most) {
            println!("{name} takes more than {most} times as long by instance");
            good = false;
        }
    }
    match good {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
