//! CHARACTER arguments, arrays, results and arguments of closures, with values.

mod support;
use support::Project;

const SETTINGS: &str = "[package.metadata.farfel]\n";

#[test]
fn texts_go_to_fortran_and_back() {
    let p = Project::new("texts", "texts");
    p.append("Cargo.toml", &format!("{SETTINGS}signatures = 'fortran'\n"))
        .file("fortran/texts.f", include_str!("../texts/texts.f"))
        .file("src/main.rs", include_str!("../texts/main.rs"));
    assert_eq!(p.run(), "fine\n");
    let bindings = p.bindings();
    for expected in [
        "// HARD1 cannot be called from Rust: its argument F is a procedure whose argument 1 is a CHARACTER of which \
         it is not known how long it is.\n",
        "// HARD2 cannot be called from Rust: its argument F is a procedure whose argument 1 is an array of CHARACTER.\n",
        "// HARD3 cannot be called from Rust: its argument F is a procedure whose result is CHARACTER.\n",
        "// HARD4 cannot be called from Rust: its argument F is a procedure whose argument 1 is one, too, and takes a \
         CHARACTER.\n",
        "// HARD5 cannot be called from Rust: the length of its argument C is not constant.\n",
        "/// CHARACTER*5 NAMES(N)\n",
        "/// CHARACTER*(*) FUNCTION TWICE(T)\n",
    ] {
        assert!(bindings.contains(expected), "{expected}\n{bindings}");
    }
    assert!(!bindings.contains("exposed!"), "{bindings}");
}
