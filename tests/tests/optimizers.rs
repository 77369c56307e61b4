//! Derivatives of Fortran functions in the crates that ask for them: argmin and num-dual.

use crate::support::Project;

const SETTINGS: &str = r#"
[package.metadata.farfel]
signatures = "rust"

[package.metadata.farfel.derive]
rosen_gradient = { gradient = "rosen", by = "x" }
rosen_hessian = { hessian = "rosen", by = "x" }
wave_jvp = { jvp = "wave", by = ["x", "y"] }
"#;

/// L-BFGS on a gradient from `derive`, and functions of dual numbers with parts in Fortran. argmin and what
/// it depends on are not among the dependencies of the workspace; without network this cannot be tested.
#[test]
#[allow(clippy::print_stdout)] // what is not tested
fn functions_with_derivatives_from_fortran() {
    let p = Project::new("optimizers", "optimizers");
    let manifest = std::fs::read_to_string(p.directory.join("Cargo.toml")).unwrap();
    let dependencies = "[dependencies]\n\
        argmin = { version = '0.11', default-features = false }\n\
        argmin-math = { version = '0.5', default-features = false, features = ['vec'] }\n\
        num-dual = { version = '0.15.1', default-features = false }\n";
    let manifest = manifest
        .replacen("[dependencies]\n", dependencies, 1)
        .replacen(
            "/farfel-runtime'",
            "/farfel-runtime', features = ['argmin', 'num-dual']",
            1,
        );
    p.file("Cargo.toml", manifest + SETTINGS)
        .file(
            "fortran/functions.f",
            include_str!("../optimizers/functions.f"),
        )
        .file("src/main.rs", include_str!("../optimizers/main.rs"));
    let fetched = p.cargo(&["fetch"]);
    let offline = ["failed to download", "failed to get", "Could not resolve"];
    if !fetched.ok && offline.iter().any(|o| fetched.stderr.contains(o)) {
        println!(
            "not tested, argmin cannot be downloaded:\n{}",
            fetched.stderr
        );
        return;
    }
    assert_eq!(p.run(), "fine\n");
}
