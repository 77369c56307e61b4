//! The cost of bounds checks: subprograms called from Rust, with and without checks, in one run.

#![allow(clippy::print_stdout)]

use farfel_tests::{command, farfel, repository, sandbox, shared_target, write};
use std::process::ExitCode;

/// The maximum time of subprograms with checks, relative to the time without.
const MOST: [(&str, f64); 3] = [
    // Each loop is checked once, before it begins.
    ("stencil", 1.15),
    // Declarations prove all subscripts; the rest is noise.
    ("proven", 1.05),
    // Each subscript is checked.
    ("index array", 3.25),
];

const MANIFEST: &str = "\
[package]
name = \"checks\"
version = \"0.1.0\"
edition = \"2024\"
[package.metadata.farfel]
unchecked = [\"stencr\", \"fixedr\", \"gathrr\"]
opt-level = 3
[workspace]
";

fn main() -> ExitCode {
    let dir = sandbox();
    let dir = dir.path();
    let path = repository().display();
    let dependencies = format!(
        "[dependencies]\nfarfel-runtime = {{ path = \"{path}/farfel-runtime\" }}\n\
         [build-dependencies]\nfarfel-build = {{ path = \"{path}/farfel-build\" }}\n"
    );
    write(dir, "Cargo.toml", format!("{MANIFEST}{dependencies}"));
    write(dir, "build.rs", "fn main() { farfel_build::compile(); }\n");
    write(dir, "fortran/checks.f", include_str!("programs/checks.f"));
    write(dir, "src/main.rs", include_str!("programs/checks.rs"));
    farfel(dir).args(["build", "--release"]).assert().success();
    let program = shared_target().join("release/checks");
    let ran = command(&program, dir).assert().success();
    let output = String::from_utf8_lossy(&ran.get_output().stdout).into_owned();
    println!("subprogram      ratio   microseconds without checks\n{output}");
    let mut good = true;
    for (name, most) in MOST {
        let line = output.lines().find_map(|l| l.strip_prefix(name));
        let ratio = line.and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok());
        if ratio.is_none_or(|r| r > most) {
            println!("{name} takes more than {most} times as long with checks");
            good = false;
        }
    }
    match good {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
