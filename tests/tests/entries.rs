//! ENTRY points and alternate returns, called from Rust.

use crate::support::Project;

fn project(name: &str, settings: &str, main: &str) -> Project {
    let p = Project::new(name, name);
    p.append(
        "Cargo.toml",
        &format!("[package.metadata.farfel]\n{settings}\n"),
    )
    .file("fortran/entries.f", include_str!("../entries/entries.f"))
    .file("src/main.rs", main);
    p
}

#[test]
fn entry_points_and_alternate_returns() {
    let p = project("entries", "", include_str!("../entries/main.rs"));
    for profile in [&["run", "-q"][..], &["run", "-q", "--release"]] {
        let ran = p.cargo(profile);
        assert!(
            ran.ok && ran.stdout == "fine\n",
            "{}\n{}",
            ran.stdout,
            ran.stderr
        );
    }
    let bindings = p.bindings();
    // The comment before the ENTRY statement is its documentation.
    let about = "/// The value number K of those that STORE got.\n/// Nothing happens for K = 0.\n";
    assert!(bindings.contains(about), "{bindings}");
    assert!(
        bindings.contains("Defined at `fortran/entries.f:10`"),
        "{bindings}"
    );
    let left =
        "WITHG cannot be called from Rust: it is an ENTRY point of WITHF, which takes procedures";
    assert!(bindings.contains(left), "{bindings}");
}

/// The settings may name an ENTRY point alone, and instances have them as methods.
#[test]
fn by_name_and_by_instance() {
    let main = "\
mod fortran { farfel_runtime::include_bindings!(); }
fn main() {
    let mut m = fortran::Model::new();
    let mut y = 1.0;
    m.fetch(2, &mut y).unwrap();
    println!(\"{y} {}\", fortran::isq(\"q\"));
}
";
    let settings = "instance = \"Model\"\nexports = [\"fetch\", \"isq\"]";
    let p = project("entries_by_name", settings, main);
    assert_eq!(p.run(), "0 true\n");
    assert_eq!(
        p.bindings().matches("pub fn").count(),
        4,
        "{}",
        p.bindings()
    );

    let p = project("entries_not_there", "exports = [\"third\"]", main);
    let ran = p.cargo(&["build"]);
    let why = "cannot export third: there is no top-level subprogram of this name";
    assert!(!ran.ok && ran.stderr.contains(why), "{}", ran.stderr);
}
