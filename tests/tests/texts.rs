//! CHARACTER arguments, arrays, results and arguments of closures, with values.

use crate::support::Project;

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
        "// HARD5 cannot be called from Rust: the length of its argument C is not known to its caller.\n",
        "// HARD7 cannot be called from Rust: it is an ENTRY point of HARD6, and the length of its argument C is not \
         known to its caller.\n",
        "/// CHARACTER*5 NAMES(N)\n",
        "/// CHARACTER*(*) FUNCTION TWICE(T)\n",
    ] {
        assert!(bindings.contains(expected), "{expected}\n{bindings}");
    }
    // Only HARD6, where the length is not an argument of the ENTRY point.
    assert_eq!(bindings.matches("exposed!").count(), 1, "{bindings}");
}

/// Sizes follow from arrays of texts, and texts that are set are returned.
#[test]
fn short_functions_take_texts() {
    let main = "\
#![deny(warnings)]
#![forbid(unsafe_code)]
//! Texts and short functions.
mod fortran { farfel_runtime::include_bindings!(); }

fn main() {
    assert_eq!(fortran::kount(&[\"steel\", \"tin\"], \"tin\"), Ok(1));
    assert_eq!(fortran::raw::kount(1, &[\"steel\", \"tin\"], \"tin\"), Ok(0));
    let last = fortran::lastof(&[\"a\", \"bcd\"]).unwrap();
    assert_eq!((last.length, &*last.last), (3, \"bcd\"));
    assert_eq!(fortran::names(2).unwrap(), [\"name 1\", \"name 2\"]);
    let mut texts = [String::new(), String::new()];
    fortran::labels(2, 1, &mut texts).unwrap();
    assert_eq!(texts, [\"1,1\", \"2,1\"]);
    let mut place = [0; 5];
    fortran::twice(\"ab\", &mut place);
    assert_eq!((&place, &*fortran::word(3)), (b\"abab \", \"word 3\"));
    let mut seen = String::new();
    let each = fortran::each(|text, i| { if i == 2 { seen = text.into() } 1 }, &[\"a\", \"b\"]);
    assert!(each.is_err() && seen == \"b\");
    println!(\"fine\");
}
";
    let p = Project::new("texts_short", "texts_short");
    let names = "      SUBROUTINE NAMES(N, T)
      CHARACTER*6 T(N)
      DO 10 I = 1, N
   10 T(I) = 'name '//CHAR(ICHAR('0') + I)
      END
";
    let source = format!("{}{names}", include_str!("../texts/texts.f"));
    p.append("Cargo.toml", &format!("{SETTINGS}signatures = 'rust'\n"))
        .file("fortran/texts.f", source)
        .file("src/main.rs", main);
    assert_eq!(p.run(), "fine\n");
}
