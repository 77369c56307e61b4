//! The setting `float-errors`.

use crate::support::Project;

#[test]
fn floating_point_exceptions_are_errors() {
    let p = Project::new("float_errors", "float_errors");
    let settings =
        "[package.metadata.farfel]\nfloat-errors = [\"invalid\", \"zero\", \"overflow\"]\n";
    p.append("Cargo.toml", settings)
        .file("fortran/floats.f", include_str!("../float_errors/floats.f"))
        .file("src/main.rs", include_str!("../float_errors/main.rs"));
    for profile in [&["run", "-q"][..], &["run", "-q", "--release"]] {
        let ran = p.cargo(profile);
        assert!(
            ran.ok && ran.stdout == "fine\n",
            "{}\n{}",
            ran.stdout,
            ran.stderr
        );
    }
    p.file(
        "Cargo.toml",
        std::fs::read_to_string(p.directory.join("Cargo.toml"))
            .unwrap()
            .replace("overflow", "inexact"),
    );
    let ran = p.cargo(&["build"]);
    assert!(
        !ran.ok && ran.stderr.contains("unknown variant `inexact`"),
        "{}",
        ran.stderr
    );
}
