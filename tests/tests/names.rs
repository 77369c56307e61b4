//! An additional block or copy in one subprogram: the code of other subprograms is not built again.
#![cfg(target_os = "linux")]

use crate::script::{Script, assert_same};

const BLOCK: &str = "      ADF(X)
      E = CUBE(X)
      END ADF(D = TANGENT(E))
      A = A + D
";

/// Writes twelve exported subprograms, each in a separate file. All differentiate the same function, and pass
/// a nested one to the same function that differentiates it.
fn library(script: &Script) {
    let names: Vec<String> = (b'A'..=b'L')
        .map(|c| format!("{0}{0}", c as char))
        .collect();
    script.file(
        "Cargo.toml",
        format!(
            "[package]\nname = 'names'\nversion = '0.1.0'\n[package.metadata.farfel]\n\
             exports = {names:?}\n"
        ),
    );
    for name in &names {
        script.file(&format!("src/{name}.ff"), user(name));
    }
    script.file(
        "src/shared.ff",
        "      FUNCTION CUBE(X)
      CUBE = X**3
      END
      FUNCTION SLOPE(F, X)
      EXTERNAL F
      ADF(X)
      Y = F(X) + CUBE(X)
      END ADF(SLOPE = TANGENT(Y))
      END
",
    );
}

fn user(name: &str) -> String {
    // Long enough for a separate object.
    let long = "      IF (A .GT. 1E3) A = A/2\n".repeat(40);
    format!(
        "      FUNCTION {name}(X)
        FUNCTION FUN(T)
        FUN = T*X + CUBE(T)
        END
      A = 0
{BLOCK}{long}      {name} = A + SLOPE(FUN, X)
      END
"
    )
}

#[test]
fn blocks_and_copies_keep_their_names() {
    let dir = tempfile::Builder::new()
        .prefix("farfel-test-")
        .tempdir()
        .unwrap();
    let p = Script::new(dir.path(), "names");
    library(&p);
    let made = p.made();
    let count = |made: &[String], what: &str| made.iter().filter(|s| s.starts_with(what)).count();
    assert_eq!((count(&made, "compile"), count(&made, "request")), (12, 24));
    let first = p.results();

    // An additional block in the first one.
    p.edit("src/AA.ff", BLOCK, &BLOCK.repeat(2));
    let made = p.made();
    assert_eq!(
        made[1..],
        [
            "request AA_ADF1_G1AA",
            "request AA_ADF2_G2AA",
            made[3].as_str()
        ]
    );
    assert!(made[0].starts_with("compile aa: changed:"), "{made:?}");
    assert!(made[3].starts_with("request SLOPE_1"), "{made:?}");
    p.edit("src/AA.ff", &BLOCK.repeat(2), BLOCK);
    assert_eq!(p.made(), ["cache aa"]);
    assert_same(&p.results(), &first, "a block less");

    // An additional copy.
    let fun = "        FUNCTION FUN(T)";
    let early = "        FUNCTION EARLY(T)\n        EARLY = T*T\n        END\n";
    p.edit("src/AA.ff", fun, &format!("{early}{fun}"));
    p.edit("src/AA.ff", "A = 0", "A = SLOPE(EARLY, X)");
    let made = p.made();
    assert_eq!(
        (count(&made, "compile"), count(&made, "request")),
        (1, 3),
        "{made:?}"
    );
    p.edit("src/AA.ff", early, "");
    p.edit("src/AA.ff", "A = SLOPE(EARLY, X)", "A = 0");
    assert_eq!(p.made(), ["cache aa"]);
    assert_same(&p.results(), &first, "a copy less");

    // An additional subprogram, before all others in the alphabet and in the text.
    p.file("src/A.ff", user("A"));
    p.edit("Cargo.toml", "exports = [", "exports = [\"A\", ");
    let made = p.made();
    assert_eq!(
        (count(&made, "compile"), count(&made, "request")),
        (1, 2),
        "{made:?}"
    );
    assert_eq!(made.len(), 3, "{made:?}");

    // The incremental result equals that of a fresh build.
    let fresh = Script::new(&dir.path().join("fresh"), "names").at(&p.root);
    fresh.run();
    assert_same(&p.results(), &fresh.results(), "in steps and at once");
}
