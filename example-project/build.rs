//! Compiles `fortran/` and writes Rust bindings for it.

fn main() {
    farfel_build::compile();
}
