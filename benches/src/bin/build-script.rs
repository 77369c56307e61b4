//! What the build script of a project is.

fn main() {
    farfel_build::compile();
}
