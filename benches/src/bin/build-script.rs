//! The code of a project's build script.

fn main() {
    farfel_build::compile();
}
