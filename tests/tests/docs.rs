//! README.md and the pages in `docs`: the examples work as printed, and the links are valid.

use std::fs;
use std::path::{Path, PathBuf};

use farfel_tests::{farfel, fixed, repository, sandbox, write};

/// Returns README.md and the pages in `docs` and `docs/errors`.
fn pages() -> Vec<PathBuf> {
    let folders = ["docs", "docs/errors"].map(|f| fs::read_dir(repository().join(f)).unwrap());
    let paths = folders.into_iter().flatten().map(|f| f.unwrap().path());
    let docs = paths.filter(|path| path.is_file());
    docs.chain([repository().join("README.md")]).collect()
}

fn page(name: &str) -> String {
    fs::read_to_string(repository().join(name)).unwrap()
}

/// Returns a section of a page, up to the next heading of the same level.
fn section(page_name: &str, heading: &str) -> String {
    let text = page(page_name);
    let (_, rest) = text.split_once(&format!("\n## {heading}\n")).unwrap();
    rest.split("\n## ").next().unwrap().to_owned()
}

/// Returns the code blocks of a text in a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let inside = text.split("```").skip(1).step_by(2);
    let parts = inside.map(|b| b.split_once('\n').unwrap());
    let wanted = parts.filter(|(l, _)| *l == language);
    wanted.map(|(_, code)| code.to_owned()).collect()
}

#[test]
fn the_readme_is_short_and_its_program_prints_what_is_shown() {
    let text = page("README.md");
    assert!(text.len() <= 8 * 1024, "README.md has {} bytes", text.len());
    let shown = section("README.md", "What it looks like");
    let dir = sandbox();
    write(dir.path(), "price.ff", &blocks(&shown, "fortran")[0]);
    let said = farfel(dir.path()).args(["run", "-q", "price.ff"]).assert();
    said.success()
        .stdout_eq(&blocks(&shown, "text")[0])
        .stderr_eq("");
}

/// Returns the anchors of a page, as GitHub derives them from headings.
fn anchors(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|heading| {
            let words = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = words
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

/// Returns the targets of a page's links, without those to other sites.
fn links(page: &Path) -> Vec<(PathBuf, String)> {
    let text = fs::read_to_string(page).unwrap();
    let targets = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let near = targets.filter(|target| !target.contains("://"));
    near.map(|target| {
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        let path = match file {
            "" => page.to_owned(),
            _ => page.parent().unwrap().join(file),
        };
        (path, anchor.to_owned())
    })
    .collect()
}

#[test]
fn links_lead_somewhere_and_the_index_has_every_page() {
    let mut checked = 0;
    for page in pages() {
        for (target, anchor) in links(&page) {
            let from = page.display();
            assert!(target.exists(), "{from}: {}", target.display());
            if !anchor.is_empty() {
                assert!(anchors(&target).contains(&anchor), "{from}: #{anchor}");
            }
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked} links");
    let index = repository().join("docs/README.md");
    let errors = links(&repository().join("docs/errors.md"));
    let listed: Vec<PathBuf> = links(&index)
        .into_iter()
        .chain(errors)
        .map(|(path, _)| path)
        .collect();
    for page in pages() {
        let known = page == index || page == repository().join("README.md");
        assert!(known || listed.contains(&page), "{}", page.display());
    }
}

#[test]
fn fortran_that_is_supported() {
    let text = page("docs/fortran.md");
    let programs = blocks(&text, "fortran");
    assert_eq!(programs.len(), 2);
    let dir = sandbox();
    for (name, program) in ["old.f", "new.f90"].iter().zip(&programs) {
        write(dir.path(), name, program);
    }
    let old = farfel(dir.path()).args(["run", "-q", "old.f"]).stdin("");
    old.assert().success().stdout_eq(" done\n").stderr_eq("");
    let new = farfel(dir.path()).args(["run", "-q", "new.f90"]);
    new.assert().success().stdout_eq("").stderr_eq("");
    // Y is 0 except for the elements from 6 on, which are SQRT(I) multiplied twice by the sum of all roots.
    let roots = |i: i32| f64::from(i).sqrt();
    let factor = (1..=10).map(roots).sum::<f64>().powi(2);
    let expected = (1..=10).map(|i| if i < 6 { 0.0 } else { roots(i) * factor });
    let written = fs::read_to_string(dir.path().join("scale.txt")).unwrap();
    let written: Vec<f64> = written
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    assert_eq!(written.len(), 10);
    for (number, right) in written.iter().zip(expected) {
        assert!((number - right).abs() < 1e-9, "{written:?}");
    }
}

/// Each statement in the table is an error in a Farfel source, with a message that says so, and is left to
/// gfortran if the file name implies newer Fortran.
#[test]
fn fortran_that_is_not_supported() {
    let table = section("docs/fortran.md", "What is not accepted");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let statements: Vec<&str> = rows.map(|row| row.split('`').next().unwrap()).collect();
    assert!(statements.len() > 12, "{statements:?}");
    let dir = sandbox();
    for statement in statements {
        let is_unit = statement.contains("module ") || statement.contains("function ");
        let before = if is_unit { "" } else { "subroutine s(n)\n" };
        let text = format!("{before}{statement}\nend\n");
        write(dir.path(), "s.f90", &text);
        let said = farfel(dir.path())
            .args(["check", "s.f90"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(
            said.contains("1 file is modern Fortran"),
            "{statement}: {said}"
        );
        write(dir.path(), "s.ff", format!("!farfel: form=free\n{text}"));
        let check = ["check", "--message-format", "json", "s.ff"];
        let said = farfel(dir.path()).args(check).assert().code(1);
        let said = String::from_utf8_lossy(&said.get_output().stdout).into_owned();
        let syntax = said
            .lines()
            .next()
            .unwrap_or_default()
            .contains("\"code\":\"F000");
        assert!(syntax, "{statement}: {said}");
    }
}

#[test]
fn modern_fortran_as_printed() {
    let dir = sandbox();
    let dir = dir.path();
    let root = repository().display();
    let shown = section("docs/rust.md", "Modern Fortran");
    write(
        dir,
        "Cargo.toml",
        format!(
            "[package]\nname = \"shapes\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
             [dependencies]\nfarfel-runtime = {{ path = \"{root}/farfel-runtime\" }}\n\
             [build-dependencies]\nfarfel-build = {{ path = \"{root}/farfel-build\" }}\n"
        ),
    );
    write(dir, "build.rs", BUILD);
    write(dir, "src/shapes.f90", &blocks(&shown, "fortran")[0]);
    let rust = &blocks(&shown, "rust")[0];
    let (declared, called) = rust.split_once("\n\n").unwrap();
    let bindings = "mod fortran {\n    farfel_runtime::include_bindings!();\n}\n";
    write(
        dir,
        "src/main.rs",
        format!("{bindings}{declared}\nfn main() {{ {called} }}\n"),
    );
    let said = farfel(dir).args(["run", "-q"]).assert().success();
    said.stdout_eq("12.5664\n");
}

const BUILD: &str = "fn main() {\n    farfel_build::compile();\n}\n";

#[test]
fn libraries_and_closures_as_printed() {
    let dir = sandbox();
    let root = repository().display();
    let build =
        format!("\n[build-dependencies]\nfarfel-build = {{ path = \"{root}/farfel-build\" }}\n");
    let runtime = format!("farfel-runtime = {{ path = \"{root}/farfel-runtime\" }}");

    let libraries = |language| blocks(&page("docs/libraries.md"), language);
    let closures = |language| blocks(&section("docs/rust.md", "Closures"), language);
    let derivatives = |language| {
        blocks(
            &section("docs/rust.md", "Derivatives of closures"),
            language,
        )
    };

    let solvers = dir.path().join("solvers");
    let package = libraries("toml")[0].clone() + "edition = \"2024\"\n";
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

    let app = dir.path().join("printed");
    let dependencies = libraries("toml")[1].replace("farfel-runtime = \"0.1\"", &runtime);
    let package = "[package]\nname = \"printed\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n";
    write(
        &app,
        "Cargo.toml",
        format!("{package}{dependencies}{build}"),
    );
    write(&app, "build.rs", BUILD);
    write(&app, "fortran/cubrt.ff", &libraries("fortran")[0]);
    write(&app, "fortran/area.ff", &closures("fortran")[0]);
    write(&app, "fortran/newton.ff", &derivatives("fortran")[0]);
    let closure = closures("rust")[0].clone() + &derivatives("rust")[0];
    let main = format!(
        "mod fortran {{\n    farfel_runtime::include_bindings!();\n}}\n\nfn main() {{\n\
         println!(\"{{:.9}}\", fortran::cubrt(27.0));\n{closure}}}\n"
    );
    write(&app, "src/main.rs", main);
    let said = farfel(&app).args(["run", "-q"]).assert().success();
    said.stdout_eq("3.000000000\n2.0000 after 1001 calls\n1.414214 after 6 iterations\n")
        .stderr_eq("");

    // A single file in the project has its libraries.
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
