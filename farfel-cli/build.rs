//! The command embeds the templates and the pages of errors: without this, cargo would not notice a change.
#![allow(clippy::print_stdout)]

fn main() {
    println!("cargo::rerun-if-changed=templates");
    println!("cargo::rerun-if-changed=errors");
}
