//! The README's examples of libraries and closures, as they are printed there.

use std::fs;

use farfel_tests::{farfel, fixed, repository, sandbox, write};

/// The blocks of code in a section, each with its language.
fn blocks(section: &str) -> Vec<(String, String)> {
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    let (_, rest) = readme.split_once(&format!("\n## {section}\n")).unwrap();
    let section = rest.split("\n## ").next().unwrap();
    let inside = section.split("```").skip(1).step_by(2);
    let parts = inside.map(|b| b.split_once('\n').unwrap());
    parts.map(|(l, text)| (l.into(), text.into())).collect()
}

fn block(section: &str, language: &str, number: usize) -> String {
    let mut found = blocks(section).into_iter().filter(|(l, _)| l == language);
    found.nth(number).unwrap().1
}

const BUILD: &str = "fn main() {\n    farfel_build::compile();\n}\n";

#[test]
fn libraries_and_closures_as_printed() {
    let dir = sandbox();
    let root = repository().display();
    let build =
        format!("\n[build-dependencies]\nfarfel-build = {{ path = \"{root}/farfel-build\" }}\n");
    let runtime = format!("farfel-runtime = {{ path = \"{root}/farfel-runtime\" }}");

    let solvers = dir.path().join("solvers");
    let package = block("Libraries", "toml", 0) + "edition = \"2024\"\n";
    let manifest = format!("{package}\n[dependencies]\n{runtime}\n{build}");
    write(&solvers, "Cargo.toml", manifest);
    write(&solvers, "build.rs", BUILD);
    write(
        &solvers,
        "src/lib.rs",
        "farfel_runtime::include_bindings!();\n",
    );
    let newton = "FUNCTION ROOT(F, X0, N)
IMPLICIT DOUBLE PRECISION (A-H, O-Z)
EXTERNAL F
X = X0
DO I = 1, N
ADF(X)
Y = F(X)
END ADF(S = TANGENT(Y))
X = X - Y/S
END DO
ROOT = X
END
";
    write(&solvers, "fortran/root.ff", fixed(newton));

    let app = dir.path().join("app");
    let dependencies = block("Libraries", "toml", 1).replace("farfel-runtime = \"0.1\"", &runtime);
    let package = "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n";
    write(
        &app,
        "Cargo.toml",
        format!("{package}{dependencies}{build}"),
    );
    write(&app, "build.rs", BUILD);
    write(&app, "fortran/cubrt.ff", block("Libraries", "fortran", 0));
    write(&app, "fortran/area.ff", block("Closures", "fortran", 0));
    let closure = block("Closures", "rust", 0);
    let main = format!(
        "mod fortran {{\n    farfel_runtime::include_bindings!();\n}}\n\nfn main() {{\n\
         println!(\"{{:.9}}\", fortran::cubrt(27.0));\n{closure}}}\n"
    );
    write(&app, "src/main.rs", main);
    let said = farfel(&app).args(["run", "-q"]).assert().success();
    said.stdout_eq("3.000000000\n2.0000 after 1001 calls\n")
        .stderr_eq("");

    // A file by itself, in the project, has its libraries.
    let alone = "PROGRAM ALONE
DOUBLE PRECISION ROOT
DOUBLE PRECISION FUNCTION LINE(X)
DOUBLE PRECISION X
LINE = 2*X - 5
END
PRINT '(F5.2)', ROOT(LINE, 1D0, 3)
END
";
    write(&app, "studies/alone.ff", fixed(alone));
    let said = farfel(&app)
        .args(["run", "-q", "studies/alone.ff"])
        .assert()
        .success();
    said.stdout_eq(" 2.50\n");
}
