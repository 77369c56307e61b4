//! OpenMP: derivatives of parallel loops are parallel, and equal to the sequential ones.

#![allow(clippy::print_stderr)] // says what was skipped

use farfel_tests::{farfel, fixed, sandbox, write};
use std::path::Path;
use std::process::Output;

const LOOPS: &str = include_str!("../openmp/loops.ff");
const REGIONS: &str = include_str!("../openmp/regions.ff");
const OWN_COMMONS: &str = include_str!("../openmp/own_commons.ff");
const UNNEEDED: &str = include_str!("../openmp/unneeded.ff");
const PRODUCTS: &str = include_str!("../openmp/products.ff");
/// OpenMP with the threads of POSIX.
const THREADS: &str = include_str!("../openmp/threads.c");

/// Runs a program with some flags and environment variables. Returns its output and its messages.
fn run(dir: &Path, flags: &str, variables: &[(&str, &str)]) -> (String, String) {
    let command = farfel(dir);
    let command = command
        .args(["run", "loops.ff"])
        .env("FARFEL_FFLAGS", flags)
        .envs(variables.iter().copied());
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(stdout), text(stderr));
    assert!(status.success(), "{stdout}\n{stderr}");
    (stdout, stderr)
}

/// Expands a program with OpenMP. Returns whether that succeeded, the program, and the messages.
fn expand(dir: &Path, text: &str) -> (bool, String, String) {
    write(dir, "loops.ff", text);
    let command = farfel(dir);
    let command = command
        .args(["expand", "--message-format", "short", "loops.ff"])
        .env("FARFEL_FFLAGS", "-fopenmp");
    let ran = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (ran.status.success(), text(&ran.stdout), text(&ran.stderr))
}

/// Checks that two outputs have the same words, and the same numbers to rounding.
fn close(found: &str, wanted: &str, how: &str) {
    let words = |t: &str| -> Vec<String> { t.split_whitespace().map(str::to_owned).collect() };
    let (found, wanted) = (words(found), words(wanted));
    assert_eq!(found.len(), wanted.len(), "{how}");
    for (a, b) in found.iter().zip(&wanted) {
        match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(x), Ok(y)) => {
                let most = 1e-11 * y.abs().max(1e-3);
                assert!((x - y).abs() <= most, "{how}: {x} instead of {y}");
            }
            _ => assert_eq!(a, b, "{how}"),
        }
    }
}

/// The statements of a subprogram.
fn unit<'t>(text: &'t str, head: &str) -> &'t str {
    let (_, after) = text.split_once(head).unwrap_or_else(|| panic!("{head}"));
    after.split_once("\n      END\n").unwrap().0
}

#[test]
fn twelve_loops_give_the_sequential_derivatives() {
    let dir = sandbox();
    write(dir.path(), "loops.ff", LOOPS);
    // Without OpenMP, directives are comments, and nobody is told anything about them.
    let (wanted, messages) = run(dir.path(), "", &[]);
    assert!(!messages.contains("warning"), "{messages}");
    // The program itself compares tangents and adjoints.
    assert!(!wanted.contains("wrong"), "{wanted}");
    for threads in ["1", "2", "4"] {
        for schedule in ["static", "static,3", "dynamic", "guided"] {
            let variables = [("OMP_NUM_THREADS", threads), ("OMP_SCHEDULE", schedule)];
            let (found, messages) = run(dir.path(), "-fopenmp", &variables);
            assert!(!messages.contains("warning"), "{messages}");
            close(&found, &wanted, &format!("{threads} threads, {schedule}"));
        }
    }
}

#[test]
fn all_of_their_derivatives_are_parallel() {
    let dir = sandbox();
    let (_, text, messages) = expand(dir.path(), LOOPS);
    assert_eq!(messages, "");
    let names = [
        "GATHER", "SCATTR", "SUMS", "TEMPS", "TAPED", "NESTED", "COLLAP", "INDIR", "LASTP",
        "INPLAC", "CALLS", "SHARED",
    ];
    for name in names {
        let units = text.split("\n      SUBROUTINE ").skip(1);
        let own = |u: &&str| u.starts_with(&format!("{name}_G"));
        let own: Vec<&str> = units.filter(own).collect();
        assert_eq!(own.len(), 2, "{name}");
        for u in own {
            let loops = u.matches("C$OMP PARALLEL DO").count();
            // The adjoint has both sweeps.
            let sweeps = 1 + usize::from(u.contains("_G2"));
            let written = 1 + usize::from(name == "COLLAP");
            assert_eq!(loops, sweeps * written, "{u}");
        }
    }
}

/// A subroutine with a loop, and its adjoint. `body` begins after the declarations.
fn adjoint(declarations: &str, body: &str) -> String {
    fixed(&format!(
        "SUBROUTINE GRAD(N, K, X, A, Y, G, H)\nINTEGER N, K(N)\nDOUBLE PRECISION X(N), A, Y, G(N), H\n\
         ADR(Y)\nCALL F(N, K, X, A, Y)\nEND ADR((G(I) = COTANGENT(X(I)), I = 1, N), H = COTANGENT(A))\nEND\n\
         SUBROUTINE F(N, K, X, A, Y)\nINTEGER N, K(N)\nDOUBLE PRECISION X(N), A, Y, Z(N), T\n{declarations}\n\
         Z = 0\n{body}\nY = 0\nDO I = 1, N\nY = Y + Z(I)**2\nEND DO\nEND\n"
    ))
}

/// What happens to adjoints of shared variables: proven, REDUCTION, or ATOMIC.
#[test]
fn adjoints_of_shared_variables() {
    let dir = sandbox();
    let case = |body: &str, proven: bool| {
        let text = adjoint(
            "INTEGER J",
            &format!("!$OMP PARALLEL DO PRIVATE(T, J)\n{body}"),
        );
        let (_, text, messages) = expand(dir.path(), &text);
        assert_eq!(messages, "", "{body}");
        assert!(
            text.contains("C$OMP PARALLEL DO PRIVATE(I) REDUCTION(+:A_G1)"),
            "{text}"
        );
        assert_eq!(!text.contains("C$OMP ATOMIC"), proven, "{body}\n{text}");
    };
    // Subscripts differ in different iterations.
    case("DO I = 1, N\nZ(I) = SIN(X(I)*A)\nEND DO", true);
    case("DO I = 2, N, 2\nZ(I) = SIN(X(I)*A)*X(I-1)\nEND DO", true);
    case(
        "DO I = 1, N/2\nJ = 2*I\nZ(I) = SIN(X(J)*A)*X(J-1)\nEND DO",
        true,
    );
    // Neighbours are the same elements.
    case("DO I = 2, N\nZ(I) = SIN(X(I)*A)*X(I-1)\nEND DO", false);
    // The loop assigns Z(K(I)), so that no other iteration has this K(I).
    case("DO I = 1, N\nZ(K(I)) = SIN(X(K(I))*A)\nEND DO", true);
    // Nothing says so if that happens only sometimes.
    case(
        "DO I = 1, N\nT = SIN(X(K(I))*A)\nIF (T .GT. 0) Z(K(I)) = T\nEND DO",
        false,
    );
    // X(K(I)) has other subscripts than what is assigned.
    case("DO I = 1, N\nZ(I) = SIN(X(K(I))*A)\nEND DO", false);
}

/// Loops and directives that derivatives do not follow: the derivatives are sequential, and a warning says
/// why.
#[test]
fn what_is_not_parallel_in_derivatives() {
    let dir = sandbox();
    let mut all = String::new();
    let cases = [
        "!$OMP PARALLEL DO PRIVATE(T)\nDO I = 1, N\n!$OMP CRITICAL\nA = A + X(I)\n!$OMP END CRITICAL\nZ(I) = X(I)*A\nEND DO",
        "!$OMP PARALLEL DO PRIVATE(T)\nDO I = 1, N\n!$OMP CRITICAL\nA = A + OMP_GET_NUM_THREADS()\n!$OMP END CRITICAL\nEND DO",
        "!$OMP PARALLEL SECTIONS\n!$OMP END PARALLEL SECTIONS\nZ(1) = X(1)*A",
        "!$OMP PARALLEL DO PRIVATE(T)\nDO I = 1, N\n!$OMP CRITICAL (ONE)\nA = MAX(A, X(I))\n!$OMP END CRITICAL (ONE)\nEND DO",
        "T = 1\n!$OMP PARALLEL DO REDUCTION(*:T)\nDO I = 1, N\nT = T*X(I)\nIF (T .GT. 9) T = X(I)\nEND DO\nZ(1) = T",
        "!$OMP PARALLEL DO\nDO I = 1, N\nT = X(I)\nZ(I) = T*A\nEND DO",
        "!$OMP PARALLEL\n!$OMP WORKSHARE\nZ(1) = A*X(1)\n!$OMP END WORKSHARE\n!$OMP END PARALLEL",
        "T = 2\n!$OMP PARALLEL PRIVATE(T)\n!$OMP SINGLE\nT = A*X(1)\nZ(1) = T\n!$OMP END SINGLE\n!$OMP END PARALLEL\nZ(2) = T*X(2)",
        "!$OMP PARALLEL\n!$OMP SINGLE\nN = OMP_GET_NUM_THREADS()\n!$OMP END SINGLE\n!$OMP END PARALLEL\nZ(2) = A*X(2)",
        "!$OMP PARALLEL SECTIONS\nZ(1) = A*X(1)\n!$OMP SECTION\nZ(2) = X(2)*Z(1)\n!$OMP END PARALLEL SECTIONS",
        "!$OMP PARALLEL SECTIONS\nT = A*X(1)\n!$OMP SECTION\nZ(2) = X(2)*T\n!$OMP END PARALLEL SECTIONS",
        "Z(1) = A\n!$OMP PARALLEL DO FIRSTPRIVATE(T)\nDO I = 1, N\nT = X(I)\nZ(I) = T\nEND DO",
        "!$OMP PARALLEL DO\nDO I = 2, N, 2\nZ(I) = X(I)*Z(K(1))\nEND DO",
        "Z(1) = X(1)*A\n!$ Z(1) = 2*Z(1)",
    ];
    for body in cases {
        let declared = "INTEGER OMP_GET_NUM_THREADS\nEXTERNAL OMP_GET_NUM_THREADS";
        let (ok, text, messages) = expand(dir.path(), &adjoint(declared, body));
        assert!(ok, "{messages}");
        // The program itself keeps its directives; reverse sweeps have none.
        let (original, derivatives) = text.split_once("C Adjoint of").unwrap();
        assert_eq!(
            original.contains("$OMP"),
            body.contains("$OMP"),
            "{original}"
        );
        assert!(!derivatives.contains("REDUCTION(+:A_G1"), "{derivatives}");
        let lines = messages.lines().filter(|l| l.contains("F0327"));
        lines.for_each(|l| all.push_str(&format!("{l}\n")));
    }
    insta::assert_snapshot!(all);
}

/// Sections, SINGLE, MASTER, and CRITICAL around sums: derivatives are parallel, and those of the sequential
/// program.
#[test]
fn regions_that_are_divided() {
    let dir = sandbox();
    write(dir.path(), "loops.ff", REGIONS);
    let (wanted, _) = run(dir.path(), "", &[]);
    assert!(!wanted.contains("wrong"), "{wanted}");
    for threads in ["1", "2", "4"] {
        let variables = [("OMP_NUM_THREADS", threads)];
        let (found, messages) = run(dir.path(), "-fopenmp", &variables);
        assert!(!messages.contains("warning"), "{messages}");
        close(&found, &wanted, threads);
    }
    let (_, text, _) = expand(dir.path(), REGIONS);
    // The program keeps its directives; its derivatives have parallel loops, and updates by ATOMIC.
    let (program, derivatives) = text.split_once("C Tangent of").unwrap();
    for directive in ["SECTIONS", "SINGLE", "MASTER", "CRITICAL", "BARRIER"] {
        assert!(program.contains(directive), "{directive}");
        assert!(
            !derivatives.contains(&format!("C$OMP {directive}")),
            "{directive}"
        );
    }
    // Sections twice, and two loops: in the tangent, and in each sweep of the adjoint.
    let loops = derivatives.matches("C$OMP PARALLEL DO").count();
    assert_eq!(loops, 3 * 4, "{derivatives}");
    assert!(derivatives.contains("C$OMP ATOMIC"), "{derivatives}");
}

/// Derivatives of derivatives of regions: of their tangents in parallel, of their adjoints by one thread.
#[test]
fn derivatives_of_derivatives_of_regions() {
    let dir = sandbox();
    let mut outer = String::new();
    for (name, begin, end) in [
        ("FF", "ADF(TANGENT(A) = 1)", "END ADF(H = TANGENT(G(3)))"),
        (
            "RF",
            "ADR(COTANGENT(G(3)) = 1)",
            "END ADR(H = COTANGENT(A))",
        ),
    ] {
        for inner in ["FWD", "REV"] {
            outer += &fixed(&format!(
                "{begin}\nCALL {inner}(N, X, A, G)\n{end}\nPRINT '(A, 2ES24.15)', '{name} {inner}', G(3), H\n"
            ));
        }
    }
    let wrapper = |inner: &str, open: &str, close: &str| {
        fixed(&format!(
            "SUBROUTINE {inner}(N, X, A, G)\nINTEGER N, I\nDOUBLE PRECISION X(N), A, G(N), Y\n{open}\n\
             CALL F(N, X, A, Y)\n{close}\nEND\n"
        ))
    };
    let (_, f) = REGIONS.split_once("      SUBROUTINE F(").unwrap();
    let text = fixed(
        "PROGRAM SECOND\nINTEGER N, I\nPARAMETER (N = 40)\nDOUBLE PRECISION X(N), A, G(N), H\n\
         DO I = 1, N\nX(I) = 0.3D0 + 0.01D0*I\nEND DO\nA = 0.7D0\n",
    ) + &outer
        + "      END\n"
        + &wrapper(
            "FWD",
            "ADF(TANGENT(X(3)) = 1)",
            "END ADF(G(3) = TANGENT(Y))",
        )
        + &wrapper(
            "REV",
            "ADR(Y)",
            "END ADR((G(I) = COTANGENT(X(I)), I = 1, N))",
        )
        + "      SUBROUTINE F("
        + f;
    write(dir.path(), "loops.ff", text);
    let (wanted, _) = run(dir.path(), "", &[]);
    // All four are the same second derivative.
    let second = |line: &str| {
        line.split_whitespace()
            .last()
            .unwrap()
            .parse::<f64>()
            .unwrap()
    };
    let all: Vec<f64> = wanted.lines().map(second).collect();
    assert_eq!(all.len(), 4, "{wanted}");
    assert!(
        all.iter()
            .all(|h| (h - all[0]).abs() < 1e-12 * all[0].abs() && *h != 0.0),
        "{wanted}"
    );
    for threads in ["1", "2"] {
        let (found, _) = run(dir.path(), "-fopenmp", &[("OMP_NUM_THREADS", threads)]);
        close(&found, &wanted, threads);
    }
}

/// Loops whose derivatives are sequential have the same derivatives as without OpenMP.
#[test]
fn sequential_derivatives_of_parallel_loops() {
    let dir = sandbox();
    let text = fixed(
        "PROGRAM P\nINTEGER I\nDOUBLE PRECISION X(9), Y, D, G(9)\nDO I = 1, 9\nX(I) = 1 + 0.1D0*MOD(4*I, 9)\nEND DO\n\
         ADF((TANGENT(X(I)) = 1D0*I, I = 1, 9))\nCALL F(9, X, Y)\nEND ADF(D = TANGENT(Y))\n\
         ADR(Y)\nCALL F(9, X, Y)\nEND ADR((G(I) = COTANGENT(X(I)), I = 1, 9))\n\
         PRINT '(3ES24.15)', Y, D, G\nEND\n\
         SUBROUTINE F(N, X, Y)\nINTEGER N, I\nDOUBLE PRECISION X(N), Y, P, BIG, S, W(0:10), V(3), T\n\
         P = 1\nBIG = 0\n",
    ) + "!$OMP PARALLEL DO REDUCTION(*:P) REDUCTION(MAX:BIG)\n"
        + &fixed(
            "DO I = 1, N\nP = P*SIN(X(I))\nIF (P .GT. 9) BIG = MAX(BIG, P)\nBIG = MAX(BIG, X(I)**2)\nEND DO\nS = 0\nDO I = 0, 10\nW(I) = X(1)*I\nEND DO\n",
        )
        + "!$OMP PARALLEL DO PRIVATE(T)\n"
        + &fixed("DO I = 1, N\nT = X(I)**3\n")
        + "!$OMP CRITICAL\n"
        + &fixed("S = S + T\n")
        + "!$OMP END CRITICAL\n"
        + &fixed("END DO\n")
        // The elements with even subscripts are assigned, those with odd ones are read twice.
        + "!$OMP PARALLEL DO\n"
        + &fixed("DO I = 2, N, 2\nW(I) = X(I)*W(I-1)*W(I+1) + W(I)**2\nEND DO\nV(1) = X(2)\n")
        + "!$OMP PARALLEL DO FIRSTPRIVATE(V)\n"
        + &fixed("DO I = 1, 3\nV(1) = X(I)*X(I+1)\nW(I) = W(I) + V(1)\nEND DO\n")
        + "!$OMP PARALLEL SECTIONS\n"
        + &fixed("T = SIN(P)\n")
        + "!$OMP SECTION\n"
        + &fixed("BIG = BIG*2\n")
        + "!$OMP END PARALLEL SECTIONS\n"
        + &fixed("Y = P*BIG + S*T\nDO I = 0, 10\nY = Y + W(I)*COS(1D0*I)\nEND DO\nEND\n");
    write(dir.path(), "loops.ff", &text);
    let (wanted, _) = run(dir.path(), "", &[]);
    let (found, messages) = run(dir.path(), "-fopenmp", &[("OMP_NUM_THREADS", "4")]);
    close(&found, &wanted, "sequential derivatives");
    assert!(
        messages.contains("REDUCTION(*:P) is not a sum"),
        "{messages}"
    );
    assert!(messages.contains("it assigns elements of W"), "{messages}");
}

/// Checks that derivatives are those of the sequential program, with several numbers of threads. Returns
/// the expanded program.
fn as_sequential(text: &str) -> String {
    let dir = sandbox();
    write(dir.path(), "loops.ff", text);
    let (wanted, _) = run(dir.path(), "", &[]);
    assert!(!wanted.contains("wrong"), "{wanted}");
    for (threads, schedule) in [("1", "static"), ("2", "dynamic"), ("4", "static,3")] {
        let variables = [("OMP_NUM_THREADS", threads), ("OMP_SCHEDULE", schedule)];
        let (found, messages) = run(dir.path(), "-fopenmp", &variables);
        assert!(!messages.contains("warning"), "{messages}");
        close(&found, &wanted, threads);
    }
    expand(dir.path(), text).1
}

#[test]
fn commons_of_threads() {
    let text = as_sequential(OWN_COMMONS);
    let (_, derivatives) = text.split_once("C Tangent of").unwrap();
    // The tangent, and both sweeps of the adjoint, of three loops.
    let loops = derivatives.matches("C$OMP PARALLEL DO").count();
    assert_eq!(loops, 3 * 3, "{derivatives}");
    for block in ["WORK_G1", "COEFF_G1", "WORK_G2", "COEFF_G2"] {
        let commons = derivatives.matches(&format!("COMMON /{block}/")).count();
        let own = format!("C$OMP THREADPRIVATE(/{block}/)");
        assert!(commons > 0, "{derivatives}");
        assert_eq!(derivatives.matches(&own).count(), commons, "{derivatives}");
    }
}

#[test]
fn products_and_greatest_values() {
    let text = as_sequential(PRODUCTS);
    let (_, derivatives) = text.split_once("C Tangent of").unwrap();
    let loops = derivatives.matches("C$OMP PARALLEL DO").count();
    assert_eq!(loops, 3 * 3, "{derivatives}");
}

/// The derivative of an iteration need not compute U, which is linear in C; the loop itself does.
#[test]
fn values_that_only_the_loop_itself_reads() {
    as_sequential(UNNEEDED);
}

/// Variables of threads that are not in COMMON, and values that a thread has from before.
#[test]
fn thread_private_variables_without_derivatives() {
    let dir = sandbox();
    let text = adjoint(
        "SAVE Q\nDOUBLE PRECISION Q\n!$OMP THREADPRIVATE(Q)",
        "Q = A\nZ(1) = Q*X(1)",
    );
    let (ok, _, messages) = expand(dir.path(), &text);
    let message = "Q is THREADPRIVATE and not in COMMON";
    assert!(!ok && messages.contains(message), "{messages}");
    let declared = "COMMON /C/ Q, V(3)\nDOUBLE PRECISION Q, V\n!$OMP THREADPRIVATE(/C/)";
    for (clause, statement, reason) in [
        (
            "",
            "Z(I) = Q*X(I)",
            "has a value from before, without COPYIN(/C/)",
        ),
        ("COPYIN(/C/)", "Q = Q*X(I)", "iterations read Q in /C/"),
        ("", "V(2) = V(2) + X(I)", "iterations read V in /C/"),
    ] {
        let body = format!("Q = A\n!$OMP PARALLEL DO {clause}\nDO I = 1, N\n{statement}\nEND DO");
        let (ok, _, messages) = expand(dir.path(), &adjoint(declared, &body));
        assert!(ok && messages.contains(reason), "{messages}");
    }
}

/// Compiles a Fortran program for ThreadSanitizer, and runs it with four threads. Returns what it prints;
/// nothing if ThreadSanitizer does not work here.
fn sanitized(dir: &Path, text: &str) -> Option<String> {
    write(dir, "program.f", text);
    write(dir, "threads.c", THREADS);
    let mut compiler = std::process::Command::new("gfortran");
    compiler.args([
        "-g",
        "-O1",
        "-w",
        "-fopenmp",
        "-frecursive",
        "-fsanitize=thread",
    ]);
    compiler.args(["program.f", "threads.c", "-o", "program"]);
    if !compiler.current_dir(dir).output().ok()?.status.success() {
        return None;
    }
    let mut program = std::process::Command::new(dir.join("program"));
    program.env("OMP_NUM_THREADS", "4");
    let Output { stdout, stderr, .. } = program.output().unwrap();
    let all = String::from_utf8([stdout, stderr].concat()).unwrap();
    // It cannot find its memory with some settings of the kernel.
    (!all.contains("unexpected memory mapping")).then_some(all)
}

/// ThreadSanitizer finds no races in derivatives of loops, sections and regions; it does find those of an
/// adjoint without ATOMIC.
#[test]
fn no_races() {
    let dir = sandbox();
    let race = "WARNING: ThreadSanitizer: data race";
    for text in [LOOPS, REGIONS, OWN_COMMONS, PRODUCTS] {
        let (_, expanded, _) = expand(dir.path(), text);
        let Some(printed) = sanitized(dir.path(), &expanded) else {
            assert!(std::env::var_os("FARFEL_TEST_TSAN").is_none());
            eprintln!("skipped: ThreadSanitizer does not work here");
            return;
        };
        assert!(!printed.contains(race), "{printed}");
        assert!(!printed.contains("wrong"), "{printed}");
        let lines = |t: &str| t.lines().count();
        assert!(lines(&printed) > 10, "{printed}");
    }
    let (_, expanded, _) = expand(dir.path(), LOOPS);
    let (program, derivatives) = expanded.split_once("C Tangent of").unwrap();
    let without = derivatives.replace("C$OMP ATOMIC\n", "");
    assert_ne!(without, derivatives);
    let printed = sanitized(dir.path(), &format!("{program}C Tangent of{without}")).unwrap();
    assert!(printed.contains(race), "{printed}");
}

/// Adjoints in parallel loops share what they remember of the sizes of their tapes.
#[test]
fn no_races_about_sizes_of_tapes() {
    let dir = sandbox();
    let text = fixed(
        "PROGRAM P\nINTEGER I\nDOUBLE PRECISION X(200), D(200)\nDO I = 1, 200\nX(I) = 0.8D0 + 0.001D0*I\nEND DO\n\
         CALL COLS(200, X, D)\nPRINT *, 'right', D(9) .EQ. 1\nEND\n\
         SUBROUTINE COLS(N, X, D)\nINTEGER N, I, K\nDOUBLE PRECISION X(N), D(N), Y, T, G\n\
         !$OMP PARALLEL DO PRIVATE(Y, T, G, K)\nDO I = 1, N\nT = X(I)\nADR(COTANGENT(Y) = 1)\nY = T\nK = 0\n\
         DO WHILE (Y .GT. 1D-3 .AND. K .LT. MOD(I, 9))\nY = Y*SIN(Y)\nK = K + 1\nEND DO\n\
         END ADR(G = COTANGENT(T))\nD(I) = G\nEND DO\nEND\n",
    );
    let (_, expanded, _) = expand(dir.path(), &text);
    let Some(printed) = sanitized(dir.path(), &expanded) else {
        assert!(std::env::var_os("FARFEL_TEST_TSAN").is_none());
        return;
    };
    assert_eq!(printed.trim(), "right T");
    let without = expanded
        .replace("C$OMP ATOMIC READ\n", "")
        .replace("C$OMP ATOMIC WRITE\n", "");
    let printed = sanitized(dir.path(), &without).unwrap();
    assert!(printed.contains("data race"), "{printed}");
}

/// Blocks in parallel loops: the variables that they add belong to iterations.
#[test]
fn blocks_in_parallel_loops() {
    let dir = sandbox();
    let text = fixed(
        "PROGRAM P\nINTEGER I\nDOUBLE PRECISION X(200), D(200), E\nE = 0\nDO I = 1, 200\nX(I) = 0.01D0*I\nEND DO\n\
         CALL COLS(200, X, D)\nDO I = 1, 200\nE = MAX(E, ABS(D(I) - SIN(X(I)) - X(I)*COS(X(I))))\nEND DO\n\
         IF (E .LT. 1D-14) PRINT *, 'right'\nEND\n\
         SUBROUTINE COLS(N, X, D)\nINTEGER N, I\nDOUBLE PRECISION X(N), D(N), Y, T, G\n\
         !$OMP PARALLEL DO PRIVATE(Y, T, G) SCHEDULE(DYNAMIC)\nDO I = 1, N\nT = X(I)\nADF(TANGENT(T) = 0.5)\n\
         Y = T*SIN(T)\nEND ADF(G = TANGENT(Y))\nD(I) = G\nADR(Y)\nY = T*SIN(T)\nEND ADR(G = COTANGENT(T))\n\
         D(I) = D(I) + G/2\nEND DO\nEND\n",
    );
    let (_, expanded, _) = expand(dir.path(), &text);
    let cols = unit(&expanded, "SUBROUTINE COLS(N, X, D)");
    assert!(cols.contains("PRIVATE(Y,T,G,I,T_G1"), "{cols}");
    let (out, _) = run(dir.path(), "-fopenmp", &[("OMP_NUM_THREADS", "4")]);
    assert_eq!(out.trim(), "right");
    // A variable that is used elsewhere, too, is not known to be private.
    let shared = text.replace("PRIVATE(Y, T, G)", "PRIVATE(Y, T)");
    let shared = shared.replace(
        "SUBROUTINE COLS(N, X, D)\n",
        "SUBROUTINE COLS(N, X, D)\n!farfel: allow(openmp)\n",
    );
    let (ok, _, messages) = expand(dir.path(), &shared);
    assert!(ok, "{messages}");
}

/// The derivative of a parallel derivative is sequential, and right.
#[test]
fn derivatives_of_derivatives() {
    let dir = sandbox();
    let text = fixed(
        "PROGRAM P\nINTEGER I\nDOUBLE PRECISION X(8), Y, G(8), H(8)\nDO I = 1, 8\nX(I) = 0.1D0*I\nEND DO\n\
         ADF((TANGENT(X(I)) = 1D0*I, I = 1, 8))\nADR(Y)\nCALL F(8, X, Y)\n\
         END ADR((G(I) = COTANGENT(X(I)), I = 1, 8))\nEND ADF((H(I) = TANGENT(G(I)), I = 1, 8))\n\
         PRINT '(4ES24.15)', G, H\nEND\n\
         SUBROUTINE F(N, X, Y)\nINTEGER N, I\nDOUBLE PRECISION X(N), Y, T\nY = 0\n\
         !$OMP PARALLEL DO PRIVATE(T) REDUCTION(+:Y)\nDO I = 2, N\nT = SIN(X(I)*X(I-1))\nT = T*EXP(T)\nY = Y + T*X(1)\n\
         END DO\nEND\n",
    );
    write(dir.path(), "loops.ff", &text);
    let (wanted, _) = run(dir.path(), "", &[]);
    let (found, messages) = run(dir.path(), "-fopenmp", &[("OMP_NUM_THREADS", "4")]);
    close(&found, &wanted, "second derivatives");
    let warned = messages
        .matches("the derivative of this loop is not parallel")
        .count();
    assert_eq!(warned, 1, "{messages}");
}

/// `farfel tapenade -openmp`.
#[test]
fn the_command_line_of_tapenade() {
    let dir = sandbox();
    write(
        dir.path(),
        "f.f",
        fixed(
            "SUBROUTINE F(N, X, A, Y)\nINTEGER N, I\nDOUBLE PRECISION X(N), A, Y, T\nY = 0\n\
             !$OMP PARALLEL DO PRIVATE(T) REDUCTION(+:Y)\nDO I = 2, N\nT = X(I-1)*A\nY = Y + T*SIN(T)*X(I)\nEND DO\nEND\n",
        ),
    );
    for (mode, clauses) in [
        (
            "-d",
            "C$OMP PARALLEL DO PRIVATE(I) REDUCTION(+:Y) REDUCTION(+:YD)\n",
        ),
        ("-b", "C$OMP PARALLEL DO PRIVATE(I) REDUCTION(+:AB)\n"),
    ] {
        let command = farfel(dir.path());
        let command = command.args(["tapenade", "-openmp", mode, "-head", "f(y)/(x a)", "f.f"]);
        assert!(command.output().unwrap().status.success());
        let name = format!("f_{}.f", &mode[1..]);
        let text = std::fs::read_to_string(dir.path().join(&name)).unwrap();
        assert!(text.contains(clauses), "{text}");
        // Everything that it calls is in the file.
        let mut compiler = std::process::Command::new("gfortran");
        compiler.args([
            "-fopenmp",
            "-shared",
            "-fPIC",
            "-Wl,-z,defs",
            &name,
            "-o",
            "f.so",
        ]);
        let made = compiler.current_dir(dir.path()).output().unwrap();
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
    }
}
