//! The cost of the border between Rust and Fortran: calls of generated functions and of closures, compared with
//! calls of `extern "C"` functions, in one run.

#![allow(clippy::print_stdout)]

use farfel_tests::{command, farfel, repository, sandbox, shared_target, write};
use std::process::ExitCode;

/// The maximum number of nanoseconds by which a call takes longer.
const MOST: [(&str, f64); 5] = [
    ("scalar", 5.0),
    ("result", 5.0),
    ("array", 5.0),
    ("closure", 5.0),
    ("closure with arrays", 5.0),
];

const MANIFEST: &str = "\
[package]
name = \"border\"
version = \"0.1.0\"
edition = \"2024\"
[package.metadata.farfel]
signatures = \"fortran\"
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
    write(dir, "fortran/border.f", include_str!("programs/border.f"));
    write(
        dir,
        "fortran/raw.f90",
        include_str!("programs/border_raw.f90"),
    );
    write(dir, "src/main.rs", include_str!("programs/border.rs"));
    farfel(dir).args(["build", "--release"]).assert().success();
    let program = shared_target().join("release/border");
    let ran = command(&program, dir).assert().success();
    let output = String::from_utf8_lossy(&ran.get_output().stdout).into_owned();
    println!("call     nanoseconds more   nanoseconds without bindings\n{output}");
    let mut good = true;
    for (name, most) in MOST {
        let numbers = output.lines().find_map(|l| l.strip_prefix(name));
        // The name is followed by a number, not by a longer name.
        let more = numbers.and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok());
        if more.is_none_or(|more| more > most) {
            println!("{name}: a call takes more than {most} ns longer");
            good = false;
        }
    }
    match good {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
