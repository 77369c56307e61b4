//! All combinations of a variable's storage class and its uses in adjoints: whatever the reverse sweep reads
//! or restores, it must get from the end of the forward sweep. Tested in blocks and with `farfel tapenade`,
//! by finite differences.

use std::path::Path;
use std::process::Command;

use farfel_driver::{Config, Session};
use farfel_tests::tapenade::{sizes, tapenade};
use farfel_tests::{sandbox, write};

/// The storage class of the variable V.
struct Storage {
    name: &'static str,
    /// Whether the caller owns it and passes it.
    passed: bool,
    /// Declarations in addition to that of its type. `TYPE` is its type, `B` a COMMON block.
    lines: &'static [&'static str],
    /// Whether it can only be an INTEGER: the variable of an implied DO, or a variable through which no
    /// derivatives pass.
    integer: bool,
}

const fn storage(name: &'static str, lines: &'static [&'static str]) -> Storage {
    Storage {
        name,
        passed: false,
        lines,
        integer: false,
    }
}

const STORAGES: &[Storage] = &[
    storage("local", &[]),
    Storage {
        passed: true,
        ..storage("the caller's", &[])
    },
    storage("COMMON", &["COMMON /B/ V"]),
    storage("SAVE V", &["SAVE V"]),
    storage("SAVE", &["SAVE"]),
    storage("DATA", &["DATA V /1/"]),
    storage("SAVE and DATA", &["SAVE V", "DATA V /1/"]),
    Storage {
        integer: true,
        ..storage(
            "implied DO",
            &["INTEGER W(2)", "DATA (W(V), V = 1, 2) /1, 2/"],
        )
    },
    storage("EQUIVALENCE", &["TYPE W", "EQUIVALENCE (V, W)"]),
    Storage {
        integer: true,
        ..storage(
            "SAVE and EQUIVALENCE",
            &["TYPE W", "SAVE V", "EQUIVALENCE (V, W)"],
        )
    },
    storage(
        "EQUIVALENCE and COMMON",
        &["TYPE W", "COMMON /B/ W", "EQUIVALENCE (V, W)"],
    ),
];

/// A use of the variable: whether it is REAL, and the statements.
struct Use {
    real: bool,
    body: &'static str,
}

const fn counter(body: &'static str) -> Use {
    Use { real: false, body }
}

const USES: &[Use] = &[
    // A loop over values that only the caller needs again.
    counter(
        "      V = 1
   10 E(V) = 0.5D0
      V = V + 1
      IF (V .LE. 3) GOTO 10
      F = SIN(F)
",
    ),
    counter(
        "      V = 1
   10 F = F*SIN(F + 2*X(V))
      V = V + 1
      IF (V .LE. N) GOTO 10
",
    ),
    counter(
        "      V = 1
      DO WHILE (V .LT. 4)
      E(V) = 0.5D0
      V = 1 + V
      END DO
      DO WHILE (V .GT. 1)
      V = V - 1
      F = F*SIN(F + 2*X(V))
      END DO
",
    ),
    // An index that is chosen.
    counter(
        "      V = 1
      IF (X(2) .GT. X(1)) V = 2
      IF (X(3) .GT. X(V)) V = 3
      F = F*X(V)**2*X(1)
",
    ),
    // A sign that flips.
    counter(
        "      V = 1
      DO 10 I = 1, N
      F = F*COS(F + V*X(I))
   10 V = -V
",
    ),
    Use {
        real: true,
        body: "      V = 0
      DO 10 I = 1, N
      V = V + X(I)**2
   10 F = F*SIN(F + V)
",
    },
    Use {
        real: true,
        body: "      V = X(1)
      DO 10 I = 1, N
      V = V*SIN(V + X(I))
   10 CONTINUE
      F = F*V**2
",
    },
];

/// Returns the subroutine Q`n` of X and F, which calls S`n` twice; and its last line, if that is not END.
fn units(n: usize, s: &Storage, u: &Use) -> String {
    let ty = match u.real {
        true => "DOUBLE PRECISION",
        false => "INTEGER",
    };
    let (passed, own) = match s.passed {
        true => (", V", format!("      {ty} V\n")),
        false => ("", String::new()),
    };
    let lines: String = s
        .lines
        .iter()
        .map(|l| {
            format!(
                "      {}\n",
                l.replace("TYPE", ty).replace("/B/", &format!("/B{n}/"))
            )
        })
        .collect();
    format!(
        "      SUBROUTINE Q{n}(N, X, F)
      INTEGER N
      DOUBLE PRECISION X(N), F, G, E(3)
{own}      E(1) = X(1)
      E(2) = X(2)**2
      E(3) = X(3)
      F = SIN(E(1))*E(2) + E(3)
      CALL S{n}(N, X, F, E{passed})
      G = F
      CALL S{n}(N, X, F, E{passed})
      F = F*G + F
      END
      SUBROUTINE S{n}(N, X, F, E{passed})
      INTEGER N
      DOUBLE PRECISION X(N), F, E(3)
      {ty} V
{lines}{body}      END
",
        body = u.body
    )
}

/// Returns the combinations.
fn table() -> Vec<(usize, &'static Storage, &'static Use)> {
    let all = STORAGES
        .iter()
        .flat_map(|s| USES.iter().map(move |u| (s, u)))
        .filter(|(s, u)| !(s.integer && u.real));
    all.enumerate().map(|(n, (s, u))| (n, s, u)).collect()
}

/// The flags for the results: with all checks and visible uninitialised variables, and optimised.
const FLAGS: [&[&str]; 2] = [
    &[
        "-O0",
        "-fcheck=all",
        "-finit-integer=-99999",
        "-finit-real=snan",
    ],
    &["-O2"],
];

/// Runs a program that prints pairs of numbers, and returns those that disagree.
fn agree(program: &Path, what: &str) -> Vec<String> {
    let out = loop {
        match Command::new(program).output() {
            // A process that another test is just starting may have the file open for a moment.
            Err(e) if e.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
            ran => break ran.expect("the program"),
        }
    };
    let text = String::from_utf8_lossy(&out.stdout);
    let mut wrong = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |i: usize| words[i].parse::<f64>().unwrap_or(f64::NAN);
        let (found, wanted) = (number(1), number(2));
        let close = (found - wanted).abs() <= 1e-6 * wanted.abs().max(1.0);
        if !close {
            wrong.push(format!("{what}: {line}"));
        }
    }
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        wrong.push(format!("{what}: {} {said}", out.status));
    }
    assert!(!text.is_empty(), "{what}: nothing was checked");
    wrong
}

/// Finite differences of Q`n`.
const DIFFERENCES: &str = "      SUBROUTINE DIFF(Q, X, D)
      DOUBLE PRECISION X(3), D(3), Z(3), A, B, H
      EXTERNAL Q
      H = 1D-5
      DO 10 I = 1, 3
      Z(1) = X(1)
      Z(2) = X(2)
      Z(3) = X(3)
      Z(I) = X(I) + H
      CALL Q(3, Z, A)
      Z(I) = X(I) - H
      CALL Q(3, Z, B)
   10 D(I) = (A - B)/(2*H)
      END
";

/// T`n` prints the adjoint and the tangents of Q`n`, and the adjoint of three cotangents if there is one,
/// next to finite differences.
fn driver(n: usize, several: bool) -> String {
    let three = format!(
        "      DO 30 I = 1, 3
   30 FV(I) = I
      CALL Q{n}_BV(3, X, XV, F, FV, 3)
      DO 40 I = 1, 3
      DO 40 J = 1, 3
   40 PRINT *, {n}, XV(J, I), J*D(I)
"
    );
    let three = if several { three.as_str() } else { "" };
    format!(
        "      SUBROUTINE T{n}
      DOUBLE PRECISION X(3), XB(3), D(3), F, FB, XV(3, 3), FV(3)
      EXTERNAL Q{n}
      DATA X /0.4D0, 0.9D0, 0.7D0/
      CALL DIFF(Q{n}, X, D)
      FB = 1
      CALL Q{n}_B(3, X, XB, F, FB)
      DO 10 I = 1, 3
   10 PRINT *, {n}, XB(I), D(I)
      DO 20 I = 1, 3
      DO 15 J = 1, 3
   15 XB(J) = 0
      XB(I) = 1
      CALL Q{n}_D(3, X, XB, F, FB)
   20 PRINT *, {n}, FB, D(I)
{three}      END
"
    )
}

#[test]
fn drop_in_derivatives_know_where_variables_live() {
    let dir = sandbox();
    let dir = dir.path();
    let table = table();
    let sources: String = table.iter().map(|(n, s, u)| units(*n, s, u)).collect();
    write(dir, "all.f", &sources);
    sizes(dir, &[("NBDIRSMAX", 3)]);
    let heads: String = table
        .iter()
        .map(|(n, ..)| format!("q{n}(f)/(x) "))
        .collect();
    let mut main: String = table.iter().map(|(n, ..)| driver(*n, true)).collect();
    main += "      PROGRAM MAIN\n";
    for (n, ..) in &table {
        main += &format!("      CALL T{n}\n");
    }
    main += "      END\n";
    main += DIFFERENCES;
    write(dir, "main.f", &main);
    for mode in [&["-b"][..], &["-d"], &["-b", "-multi"]] {
        let line = [mode, &["-head", &heads, "-o", "out", "all.f"]].concat();
        tapenade(dir, &line).success();
    }
    let mut wrong = Vec::new();
    for flags in FLAGS {
        let sources = ["main.f", "all.f", "out_b.f", "out_d.f", "out_bv.f"];
        compile(dir, flags, &sources);
        wrong.extend(agree(&dir.join("program"), flags[0]));
    }
    for w in &mut wrong {
        let number = w.split_whitespace().nth(1).and_then(|n| n.parse().ok());
        if let Some((_, s, u)) = number.and_then(|n: usize| table.get(n)) {
            *w = format!("{w} ({}):\n{}", s.name, u.body);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Variables that keep their values between calls: a sum that grows, an array that is always set first, and a
/// constant that is passed where other calls have derivatives.
const KEPT: &str = "      SUBROUTINE Q0(N, X, F)
      INTEGER N
      DOUBLE PRECISION X(N), F
      DO 10 I = 1, N
   10 CALL GROW(X(I), F)
      END
      SUBROUTINE GROW(X, F)
      DOUBLE PRECISION X, F, T
      SAVE T
      DATA T /2D0/
      T = T*SIN(X) + X
      F = T**2
      END
      SUBROUTINE Q1(N, X, F)
      INTEGER N
      DOUBLE PRECISION X(N), F, G
      CALL WORK(N, X, G)
      CALL WORK(N, X, F)
      F = F*G
      END
      SUBROUTINE WORK(N, X, F)
      INTEGER N
      DOUBLE PRECISION X(N), F, T(4)
      SAVE T
      DO 10 I = 1, N
   10 T(I) = EXP(-X(I))*X(I)
      F = 1
      DO 20 I = 1, N
   20 F = F*SIN(T(I) + X(I))
      END
      SUBROUTINE Q2(N, X, F)
      INTEGER N
      DOUBLE PRECISION X(N), F, C, T
      CALL TWICE(X(1), F)
      F = F*X(2) + X(3)
      END
      SUBROUTINE TWICE(X, F)
      DOUBLE PRECISION X, F, C, T
      DATA C /2D0/
      CALL MUL(C, X, T)
      CALL MUL(X, T, F)
      END
      SUBROUTINE MUL(A, B, Y)
      DOUBLE PRECISION A, B, Y
      Y = A*B
      END
";

/// The same without variables that keep their values.
const REFERENCES: &str = "      SUBROUTINE R0(N, X, F)
      INTEGER N
      DOUBLE PRECISION X(N), F, T
      T = 2
      DO 10 I = 1, N
   10 T = T*SIN(X(I)) + X(I)
      F = T**2
      END
      SUBROUTINE R1(N, X, F)
      INTEGER N
      DOUBLE PRECISION X(N), F
      F = 1
      DO 20 I = 1, N
   20 F = F*SIN(EXP(-X(I))*X(I) + X(I))
      F = F**2
      END
      SUBROUTINE R2(N, X, F)
      INTEGER N
      DOUBLE PRECISION X(N), F
      F = 2*X(1)**2*X(2) + X(3)
      END
";

#[test]
fn drop_in_adjoints_of_what_is_kept_from_call_to_call() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "all.f", KEPT);
    sizes(dir, &[("NBDIRSMAX", 3)]);
    let mut main = format!("{DIFFERENCES}{REFERENCES}");
    for n in 0..3 {
        main += &format!(
            "      SUBROUTINE T{n}(MODE)
      DOUBLE PRECISION X(3), XB(3), D(3), F, FB, XV(3, 3), FV(3)
      EXTERNAL R{n}
      DATA X /0.4D0, 0.9D0, 0.7D0/
      CALL DIFF(R{n}, X, D)
      FB = 1
      DO 30 I = 1, 3
   30 FV(I) = I
      IF (MODE .EQ. 1) THEN
      CALL Q{n}_B(3, X, XB, F, FB)
      DO 10 I = 1, 3
   10 PRINT *, {n}, XB(I), D(I)
      ELSE
      CALL Q{n}_BV(3, X, XV, F, FV, 3)
      DO 40 I = 1, 3
      DO 40 J = 1, 3
   40 PRINT *, {n}, XV(J, I), J*D(I)
      END IF
      END
"
        );
    }
    main += "      PROGRAM MAIN
      DO 10 MODE = 1, 2
      CALL T0(MODE)
      CALL T1(MODE)
   10 CALL T2(MODE)
      END
";
    write(dir, "main.f", &main);
    let heads = "q0(f)/(x) q1(f)/(x) q2(f)/(x)";
    for mode in [&["-b"][..], &["-b", "-multi"]] {
        let line = [mode, &["-head", heads, "-o", "out", "all.f"]].concat();
        tapenade(dir, &line).success();
    }
    let mut wrong = Vec::new();
    for flags in FLAGS {
        compile(dir, flags, &["main.f", "all.f", "out_b.f", "out_bv.f"]);
        wrong.extend(agree(&dir.join("program"), flags[0]));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Arrays of unknown size, and whether derivatives pass through them: `(body, units, W has a derivative)`. W
/// and V are arrays of the caller that are not requested.
const OPEN: &[(&str, &str, bool)] = &[
    // It is only assigned.
    (
        "      CALL FUN#(X, F, W, 1)\n",
        "      SUBROUTINE FUN#(X, F, W, JOB)
      DOUBLE PRECISION X(3), F, W(1)
      W(1) = X(1)
      IF (JOB .EQ. 2) W(1) = W(1)*X(2)
      F = X(1)*X(2) + X(3)
      END
",
        false,
    ),
    // The result depends on it.
    (
        "      CALL FUN#(X, F, W)\n",
        "      SUBROUTINE FUN#(X, F, W)
      DOUBLE PRECISION X(3), F, W(*)
      DO 10 I = 1, 3
   10 W(I) = SIN(X(I))
      F = W(1)*W(2) + W(3)
      END
",
        true,
    ),
    // The result depends on it in a subprogram further below, through other variables.
    (
        "      CALL FUN#(X, F, W)\n",
        "      SUBROUTINE FUN#(X, F, W)
      DOUBLE PRECISION X(3), F, W(*)
      CALL INNER#(X, F, W)
      END
      SUBROUTINE INNER#(X, Y, A)
      DOUBLE PRECISION X(3), Y, A(*), T
      A(2) = X(1)**2
      T = A(2)*X(2)
      Y = T + X(3)
      END
",
        true,
    ),
    // The result depends on it in a function, one of whose arguments is only assigned.
    (
        "      DOUBLE PRECISION FUN#
      F = FUN#(X, W, V)*X(3)\n",
        "      DOUBLE PRECISION FUNCTION FUN#(X, A, C)
      DOUBLE PRECISION X(3), A(*), C(*), INNER#
      C(1) = X(2)
      FUN# = 2*INNER#(X, A)
      END
      DOUBLE PRECISION FUNCTION INNER#(X, A)
      DOUBLE PRECISION X(3), A(*)
      A(3) = EXP(X(1))
      INNER# = A(3)*X(2)
      END
",
        true,
    ),
    // The result depends on it in a function whose value is passed to another procedure.
    (
        "      CALL FUN#(X, F, W)\n",
        "      SUBROUTINE FUN#(X, F, W)
      DOUBLE PRECISION X(3), F, W(*), INNER#
      CALL MOVE#((INNER#(X, W)), F)
      F = F*X(3)
      END
      DOUBLE PRECISION FUNCTION INNER#(X, A)
      DOUBLE PRECISION X(3), A(1)
      A = SIN(X(1))
      INNER# = A(1)*X(2)
      END
      SUBROUTINE MOVE#(T, F)
      DOUBLE PRECISION T, F
      F = T**2
      END
",
        true,
    ),
    // From one to the other, without further use.
    (
        "      CALL FUN#(X, F, W, V)\n",
        "      SUBROUTINE FUN#(X, F, W, V)
      DOUBLE PRECISION X(3), F, W(*), V(*), T
      W(1) = X(1)*X(2)
      T = W(1)
      CALL MOVE#(T, V)
      F = X(1)*X(2)**2 + X(3)
      END
      SUBROUTINE MOVE#(T, V)
      DOUBLE PRECISION T, V(*)
      V(1) = T
      END
",
        false,
    ),
    // From one to the other, and to COMMON on which the result depends.
    (
        "      CALL FUN#(X, W, V)
      CALL LATER#(F)\n",
        "      SUBROUTINE FUN#(X, W, V)
      DOUBLE PRECISION X(3), W(*), V(*), Z
      COMMON /B#/ Z
      W(1) = X(1)*X(2)
      CALL MOVE#(W, V)
      END
      SUBROUTINE MOVE#(W, V)
      DOUBLE PRECISION W(*), V(*), Z
      COMMON /B#/ Z
      V(1) = W(1)
      Z = COS(V(1))
      END
      SUBROUTINE LATER#(F)
      DOUBLE PRECISION F, Z
      COMMON /B#/ Z
      F = Z**2
      END
",
        true,
    ),
];

#[test]
fn arrays_of_unknown_size_have_derivatives_where_some_go_through_them() {
    let dir = sandbox();
    let dir = dir.path();
    let mut main = DIFFERENCES.to_owned();
    let mut files = vec!["main.f".to_owned()];
    let mut calls = String::new();
    let mut made = Vec::new();
    for (n, (body, units, through)) in OPEN.iter().enumerate() {
        let text = format!(
            "      SUBROUTINE Q#(N, X, F)
      INTEGER N
      DOUBLE PRECISION X(3), F, W(40), V(40)
      COMMON /WORK#/ W, V
{body}      END
{units}"
        );
        let text = text.replace('#', &n.to_string());
        let file = format!("q{n}.f");
        write(dir, &file, &text);
        for mode in ["-d", "-b"] {
            let head = format!("q{n}(f)/(x)");
            tapenade(dir, &[mode, "-head", &head, "-o", &format!("q{n}"), &file]).success();
        }
        for (suffix, derivative) in [("d", "WD"), ("b", "WB")] {
            let made = std::fs::read_to_string(dir.join(format!("q{n}_{suffix}.f"))).unwrap();
            assert_eq!(made.contains(derivative), *through, "{made}");
        }
        main += &driver(n, false);
        calls += &format!("      CALL T{n}\n");
        files.extend(["", "_b", "_d"].map(|s| format!("q{n}{s}.f")));
        made.push((n, text));
    }
    // Without such derivatives blocks are rejected, while the drop-in would notice later that it needs them.
    blocks_agree(&made);
    main += &format!("      PROGRAM MAIN\n{calls}      END\n");
    write(dir, "main.f", &main);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let mut wrong = Vec::new();
    for flags in FLAGS {
        compile(dir, flags, &files);
        wrong.extend(agree(&dir.join("program"), flags[0]));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Compiles sources into a program.
fn compile(dir: &Path, flags: &[&str], sources: &[&str]) {
    let compiled = Command::new("gfortran")
        .args(["-std=legacy", "-w", "-o", "program"])
        .args(flags)
        .args(sources)
        .current_dir(dir)
        .output()
        .expect("gfortran");
    let said = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{said}");
}

/// Returns a program with blocks: a gradient, and the derivative of a gradient along the first axis.
fn blocks(n: usize, calls: &str) -> String {
    format!(
        "      SUBROUTINE T{n}
      DOUBLE PRECISION X(3), Z(3), G(3), D(3), H(3), A(3), B(3), F
      EXTERNAL Q{n}
      DATA X /0.4D0, 0.9D0, 0.7D0/
      CALL DIFF(Q{n}, X, D)
      CALL GRAD{n}(X, G, F)
      DO 10 I = 1, 3
   10 PRINT *, {n}, G(I), D(I)
      ADF(TANGENT(X(1)) = 1)
      ADR(F)
{calls}      END ADR((G(I) = COTANGENT(X(I)), I = 1, 3))
      END ADF((H(I) = TANGENT(G(I)), I = 1, 3))
      Z(1) = X(1) + 1D-5
      Z(2) = X(2)
      Z(3) = X(3)
      CALL GRAD{n}(Z, A, F)
      Z(1) = X(1) - 1D-5
      CALL GRAD{n}(Z, B, F)
      DO 20 I = 1, 3
   20 PRINT *, {n}, H(I), (A(I) - B(I))/2D-5
      END
      SUBROUTINE GRAD{n}(X, G, F)
      DOUBLE PRECISION X(3), G(3), F
      ADR(F)
{calls}      END ADR((G(I) = COTANGENT(X(I)), I = 1, 3))
      END
"
    )
}

/// Returns Q`n` with a nested S`n`, which captures the variable.
fn nested(n: usize, u: &Use) -> String {
    let ty = match u.real {
        true => "DOUBLE PRECISION",
        false => "INTEGER",
    };
    format!(
        "      SUBROUTINE Q{n}(N, X, F)
      INTEGER N
      DOUBLE PRECISION X(N), F, G, E(3)
      {ty} V
      SUBROUTINE S
{body}      END
      E(1) = X(1)
      E(2) = X(2)**2
      E(3) = X(3)
      F = SIN(E(1))*E(2) + E(3)
      CALL S
      G = F
      CALL S
      F = F*G + F
      END
",
        body = u.body
    )
}

fn blocks_agree(units: &[(usize, String)]) {
    let mut text = String::from("      PROGRAM MAIN\n");
    for (n, _) in units {
        text += &format!("      CALL T{n}\n");
    }
    text += "      END\n";
    text += DIFFERENCES;
    for (n, unit) in units {
        text += unit;
        text += &blocks(*n, &format!("      CALL Q{n}(3, X, F)\n"));
    }
    pairs_agree(&text);
}

/// Compiles a program and asserts that the two numbers of each line that it prints agree.
fn pairs_agree(text: &str) {
    let dir = sandbox();
    let dir = dir.path();
    let source = write(dir, "main.ff", text);
    let mut wrong = Vec::new();
    for flags in FLAGS {
        let mut config = Config {
            flags: flags.iter().map(|f| (*f).to_owned()).collect(),
            ..Config::default()
        };
        config.cache.enabled = false;
        let program = dir.join("program");
        Session::of_files(std::slice::from_ref(&source), &config)
            .and_then(|s| s.build_program(&program))
            .expect("a program");
        wrong.extend(agree(&program, flags[0]));
    }
    assert!(wrong.is_empty(), "{}\n{text}", wrong.join("\n"));
}

#[test]
fn blocks_know_where_variables_live() {
    let table = table();
    for storage in STORAGES {
        let here = table.iter().filter(|(_, s, _)| s.name == storage.name);
        let made: Vec<(usize, String)> = here.map(|(n, s, u)| (*n, units(*n, s, u))).collect();
        blocks_agree(&made);
    }
}

#[test]
fn blocks_know_what_nested_subprograms_change() {
    let made = USES.iter().enumerate();
    let made: Vec<(usize, String)> = made.map(|(n, u)| (n, nested(n, u))).collect();
    blocks_agree(&made);
}

/// A nested subprogram uses a variable directly and also gets it as an argument. EQUIVALENCE gives it other
/// names, and also to the COMMON block that contains it.
#[test]
fn captured_variables_are_passed_by_other_names() {
    let mut text = String::from("      PROGRAM MAIN\n");
    let mut units = String::new();
    let mut n = 0;
    for common in ["", "      COMMON /C/ A\n", "      COMMON /C/ B\n"] {
        for passed in ["A", "B"] {
            for assigned in ["A", "B"] {
                n += 1;
                text += &format!("      CALL P{n}\n");
                units += &format!(
                    "      SUBROUTINE P{n}
      DOUBLE PRECISION A, B
{common}      EQUIVALENCE (A, B)
        SUBROUTINE CHANGE
        {assigned} = {assigned} + 1
        END
        SUBROUTINE NEAR(X)
        DOUBLE PRECISION X, Z
        Z = X
        {assigned} = {assigned} + 1
        Z = Z + 10*X
        PRINT *, {n}, Z, 21D0
        END
        SUBROUTINE FAR(X)
        DOUBLE PRECISION X, Z
        Z = X
        CALL CHANGE
        Z = Z + 10*X
        PRINT *, {n}, Z, 32D0
        END
      A = 1
      CALL NEAR({passed})
      CALL FAR({passed})
      END
"
                );
            }
        }
    }
    pairs_agree(&(text + "      END\n" + &units));
}

/// Two destinations of an END ADF that a call makes the same variable: the later value remains.
#[test]
fn destinations_that_calls_make_one_keep_the_later_value() {
    let mut text = String::from("      PROGRAM MAIN\n");
    let mut units = String::new();
    let both = [
        ("Y = TANGENT(V), T = TANGENT(W)", 5),
        ("T = TANGENT(V), Y = TANGENT(W)", 5),
        ("T = TANGENT(W), Y = TANGENT(V)", 3),
    ];
    for (n, (destinations, expected)) in both.iter().enumerate() {
        text += &format!("      CALL P{n}\n");
        units += &format!(
            "      SUBROUTINE P{n}
      DOUBLE PRECISION Y
        SUBROUTINE S(T)
        DOUBLE PRECISION T, U, V, W
        U = 2
        ADF(TANGENT(U) = 1D0)
        V = 3*U
        W = 5*U
        END ADF({destinations})
        END
      Y = 1
      CALL S(Y)
      PRINT *, {n}, Y, {expected}D0
      END
"
        );
    }
    pairs_agree(&(text + "      END\n" + &units));
}

/// A nested function differentiates with respect to a COMMON variable that it also gets as an argument: the
/// argument is only its value, and the derivatives of both are stored separately.
#[test]
fn what_a_nested_block_differentiates_by_is_an_argument_too() {
    let text = "
      PROGRAM MAIN
      DOUBLE PRECISION Q(3), P, Y, X(3), G(3), GP, D
      COMMON Q
      DOUBLE PRECISION FUNCTION F(A)
      DOUBLE PRECISION A(3), Z, T
      ADF(TANGENT(Q) = P)
      Z = DOT_PRODUCT(A, Q)
      END ADF(T = TANGENT(Z))
      F = T
      END
      P = 0.5D0
      X(1) = 0.3D0
      X(2) = 0.7D0
      X(3) = -0.2D0
      ADR(Y)
      Q = X**2
      Y = F(Q)
      END ADR((G(I) = COTANGENT(X(I)), I = 1, 3), GP = COTANGENT(P))
      DO I = 1, 3
        PRINT *, I, G(I), 2*X(I)*P
      END DO
      PRINT *, 4, GP, X(1)**2 + X(2)**2 + X(3)**2
      ADF(TANGENT(X(2)) = 1)
      Q = X**2
      Y = F(Q)
      END ADF(D = TANGENT(Y))
      PRINT *, 5, D, 2*X(2)*P
      END
";
    pairs_agree(text);
}
