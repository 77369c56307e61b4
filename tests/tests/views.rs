//! `farfel graph`, `farfel storage`, `farfel intents` and `farfel build --timings`, from outside.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fs;
use std::path::Path;

use farfel_tests::{farfel, fixed, paper, sandbox, tree, write};
use snapbox::cmd::OutputAssert;
use snapbox::str;

const SLOPES: &str = "\
PROGRAM MAIN
PRINT *, SLOPE(2.0)
END
FUNCTION SLOPE(X)
ADF(X)
Y = CUBE(X)
END ADF(SLOPE = TANGENT(Y))
END
FUNCTION CUBE(X)
CUBE = X**3
END
";

fn stdout(output: &OutputAssert) -> String {
    String::from_utf8_lossy(&output.get_output().stdout).into_owned()
}

fn stderr(output: &OutputAssert) -> String {
    String::from_utf8_lossy(&output.get_output().stderr).into_owned()
}

/// Returns the output of `farfel expand --analysis` for `main.ff`.
fn analysis(dir: &Path, more: &[&str]) -> String {
    let run = farfel(dir)
        .args(["expand", "--analysis", "main.ff"])
        .args(more)
        .assert();
    stdout(&run.success())
}

/// Writes a package with `sources`, without a build: the views need none.
fn package(dir: &Path, sources: &[(&str, &str)], settings: &str) {
    let manifest = format!(
        "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [build-dependencies]\nfarfel-build = \"0.1\"\n{settings}"
    );
    write(dir, "Cargo.toml", manifest);
    write(dir, "src/lib.rs", "");
    for (name, text) in sources {
        write(dir, name, fixed(text));
    }
}

#[test]
fn the_call_graph_of_files_is_a_tree() {
    let dir = sandbox();
    write(dir.path(), "slopes.ff", fixed(SLOPES));
    farfel(dir.path())
        .args(["graph", "slopes.ff"])
        .assert()
        .success()
        .stderr_eq("")
        .stdout_eq(str![[r#"
MAIN  (main program)
└── SLOPE
    └── SLOPE_ADF1_G1  (run 1 of 1; tangent of Y by X)
        └── differentiates SLOPE_ADF1
            └── CUBE

"#]]);
    farfel(dir.path())
        .args(["graph", "slopes.ff", "--root", "cube"])
        .assert()
        .success()
        .stdout_eq("CUBE\n");
    assert_eq!(tree(dir.path()), ["slopes.ff"]);
}

/// The five runs of the AD tool in the paper, each below those that need it.
#[test]
fn the_paper_s_runs_are_in_its_order() {
    let dir = sandbox();
    let output = farfel(dir.path())
        .arg("graph")
        .arg(paper())
        .assert()
        .success();
    let text = stdout(&output);
    let places: Vec<usize> = (1..=5)
        .map(|run| text.find(&format!("run {run} of 5")).unwrap())
        .collect();
    assert!(places.is_sorted_by(|a, b| a > b), "{text}");
}

/// The whole texts, and the steps without their hashes, which depend on every detail of lowering.
#[test]
fn the_paper_s_example_in_every_format() {
    let dir = sandbox();
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let source = fs::read_to_string(paper()).unwrap();
    write(dir.path(), "paper.ff", source);
    let shown = |args: &[&str]| {
        let graph = farfel(dir.path()).args(["graph", "paper.ff"]).args(args);
        stdout(&graph.assert().success())
    };
    settings.bind(|| {
        for format in ["tree", "mermaid", "dot", "svg"] {
            let name = format!("graph_{format}");
            insta::assert_snapshot!(name, shown(&["--format", format]));
        }
        let plan: String = shown(&["--plan"])
            .lines()
            .map(|line| {
                let last = line.split([' ', '(']).next_back().unwrap_or_default();
                match last.strip_suffix(')').filter(|hash| hash.len() == 8) {
                    Some(hash) => format!("{}\n", line.replace(hash, "…")),
                    None => format!("{line}\n"),
                }
            })
            .collect();
        insta::assert_snapshot!("graph_plan", plan);
    });
}

#[test]
fn every_format_is_written_to_a_file() {
    let dir = sandbox();
    write(dir.path(), "slopes.ff", fixed(SLOPES));
    for (format, begins) in [
        ("tree", "MAIN "),
        (
            "mermaid",
            "---\ntitle: \"Calls and derivatives of slopes.ff\"\n---\nflowchart LR\n",
        ),
        ("dot", "digraph farfel {\n"),
        ("svg", "<svg xmlns="),
        ("html", "<!DOCTYPE html>\n"),
    ] {
        let args = ["graph", "slopes.ff", "--format", format];
        let printed = stdout(&farfel(dir.path()).args(args).assert().success());
        farfel(dir.path())
            .args(args)
            .args(["-o", "written"])
            .assert()
            .success()
            .stdout_eq("");
        let written = fs::read_to_string(dir.path().join("written")).unwrap();
        assert!(written.starts_with(begins), "{written}");
        assert_eq!(printed, written, "{format} is the same every time");
    }
}

/// As the build script reads it: without main programs and without subprograms that are neither exported nor
/// called.
#[test]
fn the_graph_of_a_project_is_that_of_its_library() {
    let dir = sandbox();
    package(
        dir.path(),
        &[
            ("fortran/slopes.ff", SLOPES),
            ("fortran/other.ff", "SUBROUTINE LONELY\nEND\n"),
        ],
        "[package.metadata.farfel]\nexports = [\"slope\"]\n",
    );
    write(dir.path(), "deeper/x", "");
    farfel(&dir.path().join("deeper"))
        .arg("graph")
        .assert()
        .success()
        .stdout_eq(str![[r#"
SLOPE
└── SLOPE_ADF1_G1  (run 1 of 1; tangent of Y by X)
    └── differentiates SLOPE_ADF1
        └── CUBE

"#]]);
}

#[test]
fn the_steps_of_a_build() {
    let dir = sandbox();
    package(dir.path(), &[("fortran/slopes.ff", SLOPES)], "");
    let args = ["graph", "--plan", "--manifest-path", "Cargo.toml"];
    farfel(dir.path())
        .args(args)
        .assert()
        .success()
        .stdout_eq(str![[r#"
make the library  (1 object)
└── compile farfel.f  ([..])
    └── write farfel.f  (3 subprograms; 1 derivative; [..])
        └── differentiate SLOPE_ADF1_G1  (run 1 of 1; tangent of Y by X; [..])
            └── lower  ([..])
                └── parse fortran/slopes.ff  ([..])
write the functions for Rust
└── lower (*)

"#]]);
    // A comment changes the source, but nothing that is compiled.
    let hashes = |step: &str| {
        let text = stdout(&farfel(dir.path()).args(args).assert().success());
        text.lines().find(|l| l.contains(step)).unwrap().to_owned()
    };
    let before = ["parse", "differentiate", "compile"].map(hashes);
    write(
        dir.path(),
        "fortran/slopes.ff",
        fixed(&format!("C Nothing new\n{SLOPES}")),
    );
    let after = ["parse", "differentiate", "compile"].map(hashes);
    assert_ne!(before[0], after[0]);
    assert_eq!(before[1..], after[1..]);
    write(
        dir.path(),
        "fortran/slopes.ff",
        fixed(&SLOPES.replace("X**3", "X**4")),
    );
    let changed = ["parse", "differentiate", "compile"].map(hashes);
    assert!(before.iter().zip(&changed).all(|(a, b)| a != b));
}

#[test]
fn what_cannot_be_shown() {
    let dir = sandbox();
    write(dir.path(), "slopes.ff", fixed(SLOPES));
    farfel(dir.path())
        .args(["graph", "slopes.ff", "--root", "nobody"])
        .assert()
        .code(1)
        .stdout_eq("")
        .stderr_eq(str![[r#"
error: there is no `nobody` in this graph
help: `farfel graph` shows all names; lowering may have changed them

"#]]);
    farfel(dir.path())
        .args(["graph", "slopes.ff", "-o", "no/such/place.svg"])
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
error: cannot write `no/such/place.svg`: no such file or directory

"#]]);
    farfel(dir.path())
        .args(["graph", "--format", "png"])
        .assert()
        .code(2);
    write(dir.path(), "faulty.ff", fixed("PROGRAM P\nX = F(1\nEND\n"));
    let faulty = farfel(dir.path())
        .args(["graph", "faulty.ff"])
        .assert()
        .code(1);
    assert!(
        stderr(&faulty).contains("faulty.ff:2"),
        "{}",
        stderr(&faulty)
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_hostile_file_name_is_text() {
    let dir = sandbox();
    let name = "a\"]; <b> & %%{init}%% \u{202e}31m.ff";
    write(dir.path(), name, fixed(SLOPES));
    for format in ["tree", "mermaid", "dot", "svg", "html"] {
        let output = farfel(dir.path())
            .args([
                "graph", name, "--plan", "--format", format, "--color", "always",
            ])
            .assert()
            .success();
        let text = stdout(&output);
        assert!(text.contains("31m.ff"), "{text}");
        assert!(!text.contains('\u{202e}'), "{text}");
        let is_markup = ["svg", "html"].contains(&format);
        assert!(!is_markup || !text.contains("<b>"), "{text}");
    }
}

/// Returns the data of a page's script.
fn data_of(page: &str) -> serde_json::Value {
    let (_, data) = page
        .split_once("<script type=\"application/json\" id=\"data\">")
        .unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

/// The page is self-contained, and links to the sources from where it is written.
#[test]
fn the_page_of_a_graph() {
    let dir = sandbox();
    package(dir.path(), &[("fortran/slopes.ff", SLOPES)], "");
    write(dir.path(), "out/x", "");
    let out = "out/calls.html";
    for plan in [&[][..], &["--plan"]] {
        farfel(dir.path())
            .args(["graph", "--format", "html", "-o", out])
            .args(plan)
            .assert()
            .success()
            .stdout_eq("")
            .stderr_eq("");
        let page = fs::read_to_string(dir.path().join(out)).unwrap();
        assert!(!page.contains("://"), "nothing from elsewhere: {page}");
        let data = data_of(&page);
        let files = serde_json::json!([["fortran/slopes.ff", "../fortran/slopes.ff"]]);
        assert_eq!(data["files"], files);
        assert_eq!(data["plan"], !plan.is_empty());
    }
    farfel(dir.path())
        .args(["graph", "--format", "html", "-o", out])
        .assert()
        .success();
    let data = data_of(&fs::read_to_string(dir.path().join(out)).unwrap());
    let nodes = data["nodes"].as_array().unwrap();
    let lines: Vec<(&str, u64)> = nodes
        .iter()
        .map(|n| (n["label"].as_str().unwrap(), n["line"].as_u64().unwrap()))
        .collect();
    // The derivative is at its AD block.
    let expected = [
        ("SLOPE_ADF1", 5),
        ("SLOPE", 4),
        ("CUBE", 9),
        ("SLOPE_ADF1_G1", 5),
    ];
    assert_eq!(lines, expected);
    assert_eq!(data["members"], serde_json::json!([0, 1, 2, 3]));
    for (format, link) in [
        ("svg", "<a href=\"../fortran/slopes.ff#L9\">"),
        ("dot", ", URL=\"../fortran/slopes.ff#L9\"];"),
    ] {
        farfel(dir.path())
            .args(["graph", "--format", format, "-o", "out/calls"])
            .assert()
            .success();
        let text = fs::read_to_string(dir.path().join("out/calls")).unwrap();
        assert!(text.contains(link), "{text}");
    }
}

/// Large graphs are grouped: by folder, file and name.
#[test]
fn the_page_of_a_large_graph_has_groups() {
    let dir = sandbox();
    let mut units = String::new();
    for i in 0..90 {
        units += &format!("SUBROUTINE WORK{i}\nCALL OTHER{i}\nEND\n");
    }
    let other = units
        .replace("CALL OTHER", "PRINT *, 1")
        .replace("WORK", "OTHER");
    write(dir.path(), "a/work.f", fixed(&units));
    write(dir.path(), "b/other.f", fixed(&other));
    let args = ["graph", "a/work.f", "b/other.f", "--format", "html"];
    let page = stdout(&farfel(dir.path()).args(args).assert().success());
    let data = data_of(&page);
    let groups: Vec<(&str, &str)> = data["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|g| (g["label"].as_str().unwrap(), g["kind"].as_str().unwrap()))
        .collect();
    assert_eq!(groups, [("a/work.f", "file"), ("b/other.f", "file")]);
    let inside = data["members"][0]["members"].as_array().unwrap();
    // WORK0 is the only one with its prefix.
    assert_eq!(inside[0], 0);
    assert_eq!(inside[1]["label"], "WORK1…");
}

#[test]
fn timings_of_a_program_are_beside_it() {
    let dir = sandbox();
    write(dir.path(), "slopes.ff", fixed(SLOPES));
    let output = farfel(dir.path())
        .args(["build", "slopes.ff", "-o", "slopes", "--timings"])
        .env("FARFEL_CACHE_DIR", dir.path().join("cache"))
        .assert()
        .success();
    let said = stderr(&output);
    assert!(
        said.contains("     Timings in `slopes-timings.html`\n"),
        "{said}"
    );
    let page = fs::read_to_string(dir.path().join("slopes-timings.html")).unwrap();
    assert!(page.contains("<title>Timings of slopes.ff</title>"));
    for kind in ["parse", "lower", "request", "generate", "compile"] {
        assert!(page.contains(&format!("<td>{kind}</td>")), "{kind}\n{page}");
    }
    // Passes of the lowering, of the engine, and their verification in tests.
    let passes = &page[page.find("Compiler passes").unwrap()..];
    for pass in ["lift", "stage", "tangent", "signs", "verify"] {
        assert!(
            passes.contains(&format!("<td>{pass}</td>")),
            "{pass}\n{page}"
        );
    }
}

/// The page, the message for a build that had nothing to do, and that such a build does not read the sources.
#[test]
fn timings_of_a_project() {
    let dir = sandbox();
    farfel(dir.path())
        .args(["new", "timed", "--template", "lib"])
        .assert()
        .success();
    let project = dir.path().join("timed");
    let target = project.join("target");
    let build = |args: &[&str]| {
        let output = farfel(&project)
            .arg("build")
            .args(args)
            .arg("--target-dir")
            .arg(&target)
            .env("FARFEL_CACHE_DIR", dir.path().join("cache"))
            .assert();
        (stderr(&output), output)
    };
    let page = || fs::read_to_string(target.join("farfel-timings/farfel-timings.html")).unwrap();
    let fresh = "note: nothing has changed in timed, so its build script did not run";

    let (said, output) = build(&["--timings"]);
    output.success().stdout_eq("");
    assert!(said.contains("     Timings in `"), "{said}");
    assert!(!said.contains(fresh), "{said}");
    assert!(page().contains("<title>Timings of timed</title>"));
    assert!(page().contains("<td>compile</td>"));

    let (said, _) = build(&["--timings"]);
    assert!(said.contains(fresh), "{said}");
    assert!(page().contains("Nothing has changed"));
    let (said, _) = build(&["-v"]);
    assert!(said.contains("       Fresh Farfel sources\n"), "{said}");

    // An error is shown plainly nevertheless, and again as long as it exists.
    let source = project
        .join("fortran")
        .read_dir()
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let text = fs::read_to_string(source.path()).unwrap();
    fs::write(
        source.path(),
        format!("{text}      SUBROUTINE BAD\n      X = (\n      END\n"),
    )
    .unwrap();
    for _ in 0..2 {
        let (said, output) = build(&[]);
        output.code(1);
        assert!(
            said.contains("error") && !said.contains("build script"),
            "{said}"
        );
    }
}

#[test]
fn timings_need_something_that_leaves_them() {
    let dir = sandbox();
    write(
        dir.path(),
        "Cargo.toml",
        "[package]\nname = \"plain\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n",
    );
    write(dir.path(), "src/lib.rs", "");
    let output = farfel(dir.path())
        .args(["build", "--timings"])
        .assert()
        .code(1);
    assert!(
        stderr(&output).contains("error: no build script has left timings"),
        "{}",
        stderr(&output)
    );
}

const SHAPES: &str = "\
SUBROUTINE INIT
DOUBLE PRECISION T
COMMON /STATE/ N, M, T, X(3)
COMMON W
EQUIVALENCE (X(2), PEAK)
T = 0
END
SUBROUTINE STEP
DOUBLE PRECISION S
COMMON /STATE/ N, M, S
COMMON W
CHARACTER C*4, D*2
EQUIVALENCE (C(3:4), D)
S = S + 1
END
";

#[test]
fn storage_is_a_table_of_blocks_by_unit() {
    let dir = sandbox();
    write(dir.path(), "shapes.ff", fixed(SHAPES));
    farfel(dir.path())
        .args(["storage", "shapes.ff"])
        .assert()
        .success()
        .stdout_eq(str![[r#"
Blank COMMON: 4 bytes
  INIT, STEP
          0       4  W  REAL
COMMON /STATE/: 28 bytes
  INIT
          0       4  N     INTEGER
          4       4  M     INTEGER
          8       8  T     DOUBLE PRECISION
         16      12  X     REAL
         20       4  PEAK  REAL, by EQUIVALENCE
  STEP: 16 bytes
          0       4  N  INTEGER
          4       4  M  INTEGER
          8       8  S  DOUBLE PRECISION
EQUIVALENCE in STEP: 4 bytes
          0       4  C  CHARACTER
          2       2  D  CHARACTER

"#]]);
}

#[test]
fn storage_of_a_project_counts_with_its_sizes() {
    let dir = sandbox();
    let text = "SUBROUTINE S\nCOMMON /C/ X\nX = 1\nEND\n";
    package(
        dir.path(),
        &[("fortran/s.f", text)],
        "[package.metadata.farfel]\nreal-kind = 8\n",
    );
    farfel(dir.path())
        .args(["storage", "--format", "json"])
        .assert()
        .success()
        .stderr_eq("")
        .stdout_eq(str![[r#"
{
  "common": [
    {
      "name": "C",
      "bytes": 8,
      "shapes": [
        {
          "units": [
            "S"
          ],
          "bytes": 8,
          "variables": [
            {
              "name": "X",
              "type": "REAL",
              "offset": 0,
              "bytes": 8,
              "equivalence": false
            }
          ]
        }
      ]
    }
  ],
  "equivalence": []
}

"#]]);
}

const INTENTS: &str = "\
SUBROUTINE INTEG(F, A, B, N, S, IERR)
COMMON /STATE/ NEVAL, HIST(10)
EXTERNAL F
IERR = 0
IF (N .LE. 0) THEN
IERR = 1
RETURN
END IF
S = 0
DO I = 1, N
CALL F(A + (B - A)*(I - 0.5)/N, Y)
S = S + Y*(B - A)/N
END DO
END
SUBROUTINE SQUARE(X, Y)
INTENT(INOUT) Y
COMMON /STATE/ NEVAL, HIST(10)
Y = X*X
NEVAL = NEVAL + 1
RETURN
ENTRY CUBE(X, Z)
Z = X**3
END
PROGRAM P
EXTERNAL SQUARE, PLOT
CALL INTEG(SQUARE, 0.0, 1.0, 100, S, IERR)
CALL PLOT(S)
END
";

#[test]
fn intents_are_listed_for_procedures_and_entries() {
    let dir = sandbox();
    write(dir.path(), "intents.f", fixed(INTENTS));
    farfel(dir.path())
        .args(["intents", "intents.f"])
        .assert()
        .success()
        .stdout_eq(str![[r#"
SUBROUTINE INTEG
  in              A, B, N
  out             IERR
  out, in part    S
  procedure       F
  COMMON /STATE/
    inout         NEVAL
    unused        HIST
SUBROUTINE SQUARE
  in              X
  out             Y (declared inout)
  COMMON /STATE/
    inout         NEVAL
    unused        HIST
ENTRY CUBE in SQUARE
  in              X
  out             Z
  COMMON /STATE/
    unused        NEVAL, HIST
PROGRAM P
  COMMON /STATE/, as INTEG declares it
    inout         NEVAL
    unused        HIST
  without text    PLOT

"#]]);
    let short = "SUBROUTINE S(X)\nCOMMON X1\nX = X1\nEND\n";
    write(dir.path(), "short.f", fixed(short));
    farfel(dir.path())
        .args(["intents", "short.f", "--format", "json"])
        .assert()
        .success()
        .stdout_eq(str![[r#"
{
  "procedures": [
    {
      "name": "S",
      "kind": "subroutine",
      "within": null,
      "arguments": [
        {
          "name": "X",
          "intent": "out",
          "always": true,
          "declared": null
        }
      ],
      "common": [
        {
          "name": "",
          "declared_in": null,
          "variables": [
            {
              "name": "X1",
              "intent": "in",
              "always": false,
              "declared": null
            }
          ]
        }
      ],
      "unknown": []
    }
  ]
}

"#]]);
}

/// Which call created which copy, what is shared, and what needed no copy.
#[test]
fn copies_are_explained() {
    let dir = sandbox();
    let text = "\
PROGRAM MAIN
INTRINSIC SIN
FUNCTION G(X)
G = A*X
END
A = 3
PRINT *, TWICE(G, A) + TWICE(SIN, A) + ONCE(G, 1.0) + TWICE(G, A)
END
FUNCTION TWICE(F, X)
EXTERNAL F
X = X + 1
TWICE = ONCE(F, X) + ONCE(F, X)
END
FUNCTION ONCE(F, X)
EXTERNAL F
ONCE = F(X)
END
";
    write(dir.path(), "main.ff", fixed(text));
    let explain = |more: &[&str]| {
        let run = farfel(dir.path())
            .args(["expand", "--explain", "main.ff"])
            .args(more)
            .assert();
        stdout(&run.success().stderr_eq(""))
    };
    snapbox::assert_data_eq!(
        explain(&[]),
        str![[r#"
2 copies of 2 subprograms

TWICE_1: TWICE, where F is MAIN_G with A (the argument X)
  made for MAIN, main.ff:7:16
  used by MAIN, main.ff:7:61

ONCE_1: ONCE, where F is MAIN_G with A
  made for MAIN, main.ff:7:46
  used by TWICE_1, main.ff:12:15
  used by TWICE_1, main.ff:12:28

Not copied for
  F of TWICE: always SIN
  F of ONCE: always SIN

"#]]
    );
    let json = explain(&["--format", "json"]);
    assert!(json.contains(r#""same_as": "X""#), "{json}");
    farfel(dir.path())
        .args(["expand", "--format", "json", "main.ff"])
        .assert()
        .code(2);
}

/// In a project, the exports determine what is needed.
#[test]
fn copies_of_a_project_are_explained() {
    let text = "\
SUBROUTINE ONE(Y)
EXTERNAL G, H
Y = APPLY(G, 1.0) + APPLY(H, 1.0)
END
SUBROUTINE TWO(Y)
Y = 2
END
FUNCTION APPLY(F, X)
EXTERNAL F
APPLY = F(X)
END
FUNCTION G(X)
G = X
END
FUNCTION H(X)
H = X
END
";
    let count = |settings: &str| {
        let dir = sandbox();
        package(dir.path(), &[("src/lib.ff", text)], settings);
        let run = farfel(dir.path()).args(["expand", "--explain"]).assert();
        let text = stdout(&run.success());
        text.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(count(""), "2 copies of 1 subprogram");
    let settings = "[package.metadata.farfel]\nexports = [\"two\"]\n";
    assert_eq!(count(settings), "No copies");
}

const RECORDED: &str = "\
PROGRAM MAIN
X = 2
ADR(Y)
CALL F(X, Y, 3)
END ADR(G = COTANGENT(X))
PRINT *, G
END
SUBROUTINE F(X, Y, N)
Y = 1
U = 3
DO I = 1, N
Y = Y*SIN(X)*Y
END DO
CALL G(Y)
U = Y + 1
END
SUBROUTINE G(A)
A = A*A
END
";

/// The values that adjoints save, statement by statement, and the statements that they leave out.
#[test]
fn recorded_values_and_adjoint_liveness() {
    let dir = sandbox();
    write(dir.path(), "main.ff", fixed(RECORDED));
    snapbox::assert_data_eq!(
        analysis(dir.path(), &[]),
        str![[r#"
main.ff:3 MAIN: ADR, Y by X

  MAIN_ADR1_G1, adjoint of MAIN_ADR1
    X  argument  in   varied: entry, exit  useful: entry
    Y  argument  out  varied: exit         useful: exit
    main.ff
        4  CALL F(X, Y, 3)  active

  F_G1, adjoint of F
    X  argument  in   varied: entry, exit  useful: entry
    Y  argument  out  varied: exit         useful: exit
    N  argument  in
    needed by the reverse sweep as on exit: X, N
    main.ff
        9  Y = 1           active
       10  U = 3           left out
       12  Y = Y*SIN(X)*Y  active, keeps Y
       14  CALL G(Y)       active
       15  U = Y + 1       left out

  G_G1, adjoint of G
    A  argument  inout  varied: entry, exit  useful: entry, exit
    needed by the reverse sweep as on exit: A
    main.ff
       18  A = A*A  active, left out

  tape of REAL: 3 values of 4 bytes

"#]]
    );
    let json = analysis(dir.path(), &["--format", "json"]);
    for part in ["\"leftOut\": true", "\"keptForCallers\""] {
        assert!(json.contains(part), "no {part} in\n{json}");
    }
}

const CONTEXTS: &str = "\
PROGRAM MAIN
COMMON /C/ S, K
S = 1
X = 2
ADF(X)
CALL STEP(X, T, 3)
Y = T*S + HALF(1.0)
END ADF(D = TANGENT(Y))
PRINT *, D
END
SUBROUTINE STEP(A, B, N)
COMMON /C/ S, K
B = A
DO I = 1, N
U = SIN(B)
B = U*HALF(A)
END DO
S = S + B
END
FUNCTION HALF(Q)
HALF = Q/2
END
";

#[test]
fn activity_of_each_subprogram_in_each_context() {
    let dir = sandbox();
    write(dir.path(), "main.ff", fixed(CONTEXTS));
    snapbox::assert_data_eq!(
        analysis(dir.path(), &[]),
        str![[r#"
main.ff:5 MAIN: ADF, Y by X

  MAIN_ADF1_G1, tangent of MAIN_ADF1
    X  argument    in      varied: entry, exit  useful: entry
    T  argument    out     varied: exit
    Y  argument    out     varied: exit         useful: exit
    S  COMMON /C/  inout   varied: exit
    K  COMMON /C/  unused
    main.ff
        6  CALL STEP(X, T, 3)   active
        7  Y = T*S + HALF(1.0)  active

  STEP_G1, tangent of STEP
    A  argument    in      varied: entry, exit  useful: entry
    B  argument    out     varied: exit         useful: exit
    N  argument    in
    S  COMMON /C/  inout   varied: exit         useful: exit
    K  COMMON /C/  unused
    U  local               active inside
    main.ff
       13  B = A          active
       15  U = SIN(B)     active
       16  B = U*HALF(A)  active
       18  S = S + B      active

  HALF_G1, tangent of HALF
    Q     argument  in  varied: entry, exit  useful: entry
    HALF  result        varied: exit         useful: exit
    main.ff
       21  HALF = Q/2  active

"#]]
    );
    let json = analysis(dir.path(), &["--format", "json"]);
    for part in ["\"block\": \"main.ff:5\"", "\"derivative\": \"HALF_G1\""] {
        assert!(json.contains(part), "no {part} in\n{json}");
    }
}

/// A forgotten file name after an option does not overwrite the source.
#[test]
fn what_is_written_replaces_no_source() {
    let dir = sandbox();
    package(dir.path(), &[("src/main.ff", CONTEXTS)], "");
    write(dir.path(), "plain", fixed(CONTEXTS));
    let refused = |line: &[&str], name: &str| {
        let refused = farfel(dir.path()).args(line).assert().code(2);
        assert_eq!(
            stderr(&refused),
            format!(
                "error: `{name}` is a source, which would be replaced\nhelp: name another file to write\n"
            )
        );
    };
    refused(&["expand", "--html", "src/main.ff"], "src/main.ff");
    refused(&["build", "plain", "-o", "plain"], "plain");
    refused(&["graph", "-o", "other.F", "plain"], "other.F");
    for name in ["src/main.ff", "plain"] {
        let text = fs::read_to_string(dir.path().join(name)).unwrap();
        assert_eq!(text, fixed(CONTEXTS), "{name}");
    }
    assert!(!dir.path().join("other.F").exists());
}

/// Returns the data in an element of a page of `expand --html`.
fn part(page: &str, id: &str) -> serde_json::Value {
    let element = if id == "index" { id } else { "p0" };
    let text = page.split_once(&format!(" id=\"{element}\">")).unwrap().1;
    let text = text.split_once("</script>").unwrap().0;
    if id == "index" {
        return serde_json::from_str(text).unwrap();
    }
    let bytes = STANDARD.decode(text).unwrap();
    let bytes = miniz_oxide::inflate::decompress_to_vec(&bytes).unwrap();
    let pack: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    pack[id].clone()
}

/// A source line links to all code generated from it, and back.
#[test]
fn source_and_derivatives_side_by_side() {
    let dir = sandbox();
    let hostile = fixed(CONTEXTS).replace("PRINT *, D", "PRINT *, D, '</script><b>'");
    write(dir.path(), "main.ff", hostile);
    farfel(dir.path())
        .args(["expand", "--html", "page.html", "main.ff"])
        .assert()
        .success()
        .stdout_eq("");
    let page = fs::read_to_string(dir.path().join("page.html")).unwrap();
    let index = part(&page, "index");
    let step = &index["sources"][0]["parts"][1];
    assert_eq!(step["name"], "STEP");
    assert_eq!(step["lines"], serde_json::json!([10, 19]));
    assert_eq!(
        index["sources"][0]["parts"][0]["blocks"],
        serde_json::json!([[4, 8, "ADF"]])
    );

    let source = part(&page, "s0");
    assert_eq!(source[14].as_str().unwrap().trim(), "U = SIN(B)");
    assert!(source[8].as_str().unwrap().contains("</script><b>"));
    let mut sine = Vec::new();
    for unit in step["used"].as_array().unwrap() {
        let entry = &index["generated"][unit.as_u64().unwrap() as usize];
        let unit = part(&page, &format!("g{unit}"));
        let lines = unit["text"].as_array().unwrap();
        for (text, from) in lines.iter().zip(unit["from"].as_array().unwrap()) {
            if from == 15 {
                let text = text.as_str().unwrap().trim();
                sine.push(format!("{} {text}", entry["kind"].as_str().unwrap()));
            }
        }
    }
    assert_eq!(
        sine,
        [
            // Only the derivative of the block is called.
            "tangent U_G1 = COS(B)*B_G1",
            "tangent U = SIN(B)"
        ]
    );
    // A comment has no origin, and is the title of the following lines.
    let generated = index["generated"].as_array().unwrap();
    let at = generated.iter().position(|g| g["name"] == "STEP_G1");
    let at = at.unwrap();
    assert_eq!(generated[at]["home"], serde_json::json!([0, 1]));
    let title = "Tangent of STEP: derivative of B, S with respect to A";
    assert_eq!(generated[at]["title"], title);
    let unit = part(&page, &format!("g{at}"));
    assert_eq!(unit["text"][1], format!("C {title}"));
    assert_eq!(unit["from"][1], 0);
    // It loads nothing, and no text of the program becomes markup.
    assert!(!page.contains("://") && !page.contains("<b>"), "{page}");
}
