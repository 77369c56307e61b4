//! Tests the interpreter against closed forms, and compiled programs against the interpreter.

use farfel_random::compiled::{self, Tolerance, compare, expand};
use farfel_random::interpreter::{self, Options, Printed};
use farfel_random::{repository, sandbox};

/// Interprets a program whose lines are not indented.
fn interpret(source: &str) -> Result<Vec<f64>, String> {
    let read = compiled::read(source)?;
    let outcome = interpreter::run(&read.program, &Options::default()).map_err(|f| {
        let line = f.span.map_or(0, |s| read.line(s));
        format!("line {line}: {f}")
    })?;
    if let Some(code) = outcome.stop {
        return Err(format!("STOP {code}"));
    }
    let number = |p: Printed| match p {
        Printed::Real(x, _) => x,
        Printed::Text(t) => t.parse().unwrap_or(f64::NAN),
    };
    Ok(outcome.output.into_iter().flatten().map(number).collect())
}

/// Returns the fixed-form text of a program from lines without indentation, including labels. Adds
/// the END of the main program.
fn layout(lines: &str) -> String {
    let line = |l: &str| {
        let l = l.trim();
        let digits = l.bytes().take_while(u8::is_ascii_digit).count();
        format!("{:>5} {}\n", &l[..digits], l[digits..].trim_start())
    };
    lines.lines().chain(["END"]).map(line).collect()
}

fn check(lines: &str, expected: &[f64]) {
    let source = layout(lines);
    let found = interpret(&source).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs().max(1.0);
    let same = found.len() == expected.len() && found.iter().zip(expected).all(close);
    assert!(same, "{found:?} but expected {expected:?}\n{source}");
}

const DOUBLE: &str = "IMPLICIT DOUBLE PRECISION (A-H,O-Z)\n";

fn check_double(lines: &str, expected: &[f64]) {
    check(&format!("{DOUBLE}{lines}"), expected);
}

#[test]
fn derivatives_of_every_function() {
    let x = 0.3_f64;
    let t: f64 = x.tan();
    let functions: &[(&str, f64)] = &[
        ("SIN(X)", x.cos()),
        ("COS(X)", -x.sin()),
        ("TAN(X)", 1.0 + t * t),
        ("ASIN(X)", 1.0 / (1.0 - x * x).sqrt()),
        ("ACOS(X)", -1.0 / (1.0 - x * x).sqrt()),
        ("ATAN(X)", 1.0 / (1.0 + x * x)),
        ("ATAN2(X, 2D0)", 2.0 / (4.0 + x * x)),
        ("ATAN2(2D0, X)", -2.0 / (4.0 + x * x)),
        ("SINH(X)", x.cosh()),
        ("COSH(X)", x.sinh()),
        ("TANH(X)", 1.0 - x.tanh().powi(2)),
        ("EXP(X)", x.exp()),
        ("LOG(X)", 1.0 / x),
        ("LOG10(X)", 1.0 / (x * 10_f64.ln())),
        ("SQRT(X)", 0.5 / x.sqrt()),
        ("ABS(-X)", 1.0),
        ("SIGN(X, -1D0)", -1.0),
        ("MOD(5*X, 1D0)", 5.0),
        ("MOD(7D0, X)", -23.0),
        ("DIM(X, 1D0)", 0.0),
        ("DIM(X, 0.1D0)", 1.0),
        ("MAX(X, X*X, 0.1D0)", 1.0),
        ("MIN(X, X*X)", 2.0 * x),
        ("X**3", 3.0 * x * x),
        ("X**(-2)", -2.0 / x.powi(3)),
        ("X**0", 0.0),
        ("X**2.5D0", 2.5 * x.powf(1.5)),
        ("2**X", 2_f64.powf(x) * 2_f64.ln()),
        ("X**X", x.powf(x) * (x.ln() + 1.0)),
        ("-X/(1+X)", -1.0 / (1.0 + x).powi(2)),
        ("AINT(7*X) + NINT(X)", 0.0),
        ("ABS(CMPLX(X, 4*X))", 17_f64.sqrt()),
        ("DBLE(EXP(DCMPLX(0D0, 1D0)*X))", -x.sin()),
        ("AIMAG(DCMPLX(X, 1D0)**2)", 2.0),
        ("DIMAG(1/DCMPLX(X, X))", 0.5 / (x * x)),
    ];
    for (text, expected) in functions {
        if text.contains("CMPLX(X, 4") {
            continue; // In single precision: see below.
        }
        check_double(
            &format!(
                "COMPLEX*16 Z\nX = 0.3D0\nADF(X)\nY = {text}\nEND ADF(D = TANGENT(Y))\nPRINT *, D"
            ),
            &[*expected],
        );
        check_double(
            &format!("X = 0.3D0\nADR(Y)\nY = {text}\nEND ADR(D = COTANGENT(X))\nPRINT *, D"),
            &[*expected],
        );
    }
}

#[test]
fn second_derivatives_in_any_mix_of_modes() {
    // f = sin(x)*x**3: f'' = -sin(x) x**3 + 6 x**2 cos(x) + 6 x sin(x)
    let x = 0.7_f64;
    let second = -x.sin() * x.powi(3) + 6.0 * x * x * x.cos() + 6.0 * x * x.sin();
    let open = |r: bool, x: &str, y: &str| match r {
        false => format!("ADF({x})\n"),
        true => format!("ADR({y})\n"),
    };
    let close = |r: bool, d: &str, y: &str, x: &str| match r {
        false => format!("END ADF({d} = TANGENT({y}))\n"),
        true => format!("END ADR({d} = COTANGENT({x}))\n"),
    };
    for (outer, inner) in [(false, false), (false, true), (true, false), (true, true)] {
        let text = format!(
            "X = 0.7D0\n{}{}Y = SIN(X)*X**3\n{}{}PRINT *, Y, D, D2",
            open(outer, "X", "D"),
            open(inner, "X", "Y"),
            close(inner, "D", "Y", "X"),
            close(outer, "D2", "D", "X"),
        );
        let first = x.cos() * x.powi(3) + 3.0 * x * x * x.sin();
        check_double(&text, &[x.sin() * x.powi(3), first, second]);
    }
}

#[test]
fn third_derivative_by_reverse_over_forward_over_reverse() {
    check_double(
        "X = 2\nADR(D2)\nADF(X)\nADR(Y)\nY = X**5\nEND ADR(D1 = COTANGENT(X))
         END ADF(D2 = TANGENT(D1))\nEND ADR(D3 = COTANGENT(X))\nPRINT *, D1, D2, D3",
        &[80.0, 160.0, 240.0],
    );
}

#[test]
fn perturbations_are_not_confused() {
    // d/dx (x * d/dy (x + y)) = 1, not 2.
    check_double(
        "X = 3\nADF(X)\nY = 5\nADF(Y)\nZ = X + Y\nEND ADF(DZ = TANGENT(Z))
         W = X*DZ\nEND ADF(DW = TANGENT(W))\nPRINT *, DW",
        &[1.0],
    );
    // The same through a nested function that sees X, in mixed modes.
    check_double(
        "FUNCTION G(Y)\nG = X*X*Y + Y*Y\nEND
         X = 3\nADR(W)\nY = 5\nADF(Y)\nZ = G(Y)\nEND ADF(DZ = TANGENT(Z))
         W = X*DZ\nEND ADR(DW = COTANGENT(X))\nPRINT *, DZ, DW",
        // dz = x**2 + 2y = 19, w = x**3 + 10 x
        &[19.0, 37.0],
    );
}

#[test]
fn a_block_differentiates_by_a_name() {
    // T and W are one variable; the derivative is with respect to W.
    check_double(
        "SUBROUTINE S(T)\nADF(W)\nY = W*T\nEND ADF(D = TANGENT(Y))\nADF(T)\nY = W*W*T
         END ADF(E = TANGENT(Y))\nEND
         W = 3\nCALL S(W)\nPRINT *, D, E",
        &[3.0, 9.0],
    );
    // The same holds for a variable in COMMON beside a dummy argument that holds it, and for the
    // one that a procedure sees.
    check(
        "SUBROUTINE S(T)\nCOMMON /C/ X\nFUNCTION F(Q)\nF = Q*T\nEND\nADF(X)\nY = T*X
         END ADF(D = TANGENT(Y))\nPRINT *, D\nCALL SLOPE(F)\nEND
         SUBROUTINE SLOPE(F)\nEXTERNAL F\nCOMMON /C/ X\nADF(X)\nY = F(X)
         END ADF(D = TANGENT(Y))\nPRINT *, D\nEND
         PROGRAM P\nCOMMON /C/ X\nX = 3\nCALL S(X)",
        &[3.0, 3.0],
    );
    // In COMMON they remain one variable.
    check(
        "FUNCTION F(T)\nCOMMON /C/ X\nF = X*T\nEND
         PROGRAM P\nCOMMON /C/ X\nX = 3\nADF(X)\nY = F(X)
         END ADF(D = TANGENT(Y))\nPRINT *, D",
        &[6.0],
    );
}

#[test]
fn openings_and_closings() {
    // Opening expressions of ADR are evaluated at the end of the forward sweep.
    check_double(
        "X = 2\nADR(COTANGENT(Y) = Y - 1)\nY = X*X\nEND ADR(G = COTANGENT(X))\nPRINT *, Y, G",
        &[4.0, 12.0],
    );
    // Those of ADF are evaluated before the block, all with plain values.
    check_double(
        "X = 2\nY = 3\nADF(TANGENT(X) = Y, TANGENT(Y) = X)\nX = X*Y\nZ = X + Y
         END ADF(D = TANGENT(Z), X = TANGENT(X), E = TANGENT(X))\nPRINT *, X, D, E",
        // x' = y*y + x*x = 13, z' = x' + 2
        &[13.0, 15.0, 13.0],
    );
    // Unlisted variables have tangent zero, even those set by an earlier block.
    check_double(
        "X = 2\nADF(X)\nY = X*X\nEND ADF\nADF(TANGENT(Z) = 1)\nZ = Y\nEND ADF(D = TANGENT(Z))
         PRINT *, D, Z",
        &[0.0, 4.0],
    );
    // An implied DO with a stride, whole arrays, one value for a whole array.
    check_double(
        "DIMENSION X(4), V(4), Y(4)\nDO 10 I = 1, 4\nV(I) = I\n10 X(I) = 10*I
         ADF((TANGENT(X(I)) = V(I), I = 1, 4, 2))\nDO 20 I = 1, 4\nY(I) = X(I)*X(1)\n20 CONTINUE
         END ADF(V = TANGENT(Y))\nPRINT *, V
         ADF(TANGENT(X) = 1)\nS = X(1) + X(4)\nEND ADF(D = TANGENT(S))\nPRINT *, D
         ADR(S)\nS = X(1)*X(2)\nEND ADR((V(5-I) = COTANGENT(X(I)), I = 1, 4))\nPRINT *, V",
        &[20.0, 20.0, 60.0, 40.0, 2.0, 0.0, 0.0, 10.0, 20.0],
    );
    // A dependent variable that is also independent, and a destination that is independent.
    check_double(
        "X = 3\nADR(X)\nX = X**2\nEND ADR(X = COTANGENT(X))\nPRINT *, X",
        &[6.0],
    );
}

#[test]
fn nested_subprograms_are_closures() {
    check(
        "SUBROUTINE APPLY(F, N)\nEXTERNAL F\nIF (N .EQ. 0) THEN\nCALL F(N)\nELSE\nCALL AGAIN(F, N-1)\nEND IF\nEND
         SUBROUTINE AGAIN(F, N)\nEXTERNAL F\nCALL APPLY(F, N)\nEND
         PROGRAM P\nSUBROUTINE OUTER(K)\nSUBROUTINE INNER(N)\nTOTAL = TOTAL + K + N\nEND
         CALL APPLY(INNER, 3)\nEND
         TOTAL = 0\nCALL OUTER(5)\nCALL OUTER(7)\nPRINT *, TOTAL",
        &[12.0],
    );
    // Each activation has its own variables: the closure sees the activation that created it
    // (Knuth's man or boy).
    check(
        "RECURSIVE SUBROUTINE A(F, K)\nEXTERNAL F\nSUBROUTINE B\nPRINT *, K\nEND
         IF (K .EQ. 1) THEN\nCALL A(B, 2)\nELSE\nCALL F\nEND IF\nEND
         SUBROUTINE NONE\nEND
         PROGRAM P\nEXTERNAL NONE\nCALL A(NONE, 1)",
        &[1.0],
    );
    // An implicit variable of a nested subprogram belongs to the top-level unit.
    check(
        "PROGRAM P\nSUBROUTINE S\nSUBROUTINE T\nX = X + 1\nEND\nX = 1\nCALL T\nEND
         X = 10\nCALL S\nPRINT *, X",
        &[2.0],
    );
}

#[test]
fn storage_is_shared_as_fortran_says() {
    check(
        "SUBROUTINE S(A, N)\nREAL A(N, *)\nCOMMON /C/ X, Y(3)\nA(2, 2) = 7\nX = 1\nY(3) = 9\nEND
         PROGRAM P\nREAL B(10)\nCOMMON /C/ Z(4)\nEQUIVALENCE (Q, B(6)), (R, Z(4))
         CALL S(B(3), 2)\nPRINT *, Q, R, Z(1)",
        &[7.0, 9.0, 1.0],
    );
    check(
        "FUNCTION NEXT(I)\nSAVE N\nDATA N /5/\nN = N + I\nNEXT = N\nEND
         PROGRAM P\nI = NEXT(1)\nI = NEXT(2)\nPRINT *, I",
        &[8.0],
    );
    let undefined = interpret(&layout("PRINT *, X")).unwrap_err();
    assert_eq!(undefined, "line 1: a value is read before it is set");
}

#[test]
fn control_flow() {
    check(
        "SUBROUTINE S(N, *, *)\nRETURN N\nEND
         PROGRAM P\nDO 10 I = 0, 2\nCALL S(I, *20, *30)\nPRINT *, 0\nGOTO 10
   20 PRINT *, 1\nGOTO 10\n   30 PRINT *, 2\n   10 CONTINUE\nPRINT *, I
         DO 40 J = 1, 3\nDO 40 K = 1, J\n   40 N = J*K\nPRINT *, J, K, N
         DO 50 X = 1.0, 0.0, -0.25\n   50 CONTINUE\nPRINT *, X
         SELECT CASE (N)\nCASE (:8)\nPRINT *, 1\nCASE (9)\nPRINT *, 2\nEND SELECT",
        &[0.0, 1.0, 2.0, 3.0, 4.0, 4.0, 9.0, -0.25, 2.0],
    );
}

/// Returns the Farfel files in a folder.
fn files(folder: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(repository().join(folder)).unwrap();
    let paths = entries.map(|e| e.unwrap().path());
    paths
        .filter(|p| p.extension().is_some_and(|e| e == "ff"))
        .collect()
}

#[test]
fn programs_that_check_themselves() {
    let text = |path: &std::path::PathBuf| std::fs::read_to_string(path).unwrap();
    let library: String = files("gallery/lib").iter().map(text).collect();
    let alone = files("tests/programs").into_iter().map(|p| (text(&p), p));
    // The interpreter would take minutes for its 100,000 steps.
    let long = |p: &std::path::PathBuf| p.ends_with("heat.ff");
    let with_library = files("gallery")
        .into_iter()
        .filter(|p| !long(p))
        .map(|p| (text(&p) + &library, p));
    let mut errors = Vec::new();
    let mut count = 0;
    for (text, path) in alone.chain(with_library) {
        match interpret(&text) {
            Ok(_) => count += 1,
            // The interpreter does not support formats and files.
            Err(e) if e.contains("not interpreted") => {}
            Err(e) => errors.push(format!("{}: {e}", path.display())),
        }
    }
    assert!(errors.is_empty(), "{errors:#?}");
    assert!(count > 15, "{count}");
}

#[test]
fn the_paper_s_example() {
    let read = compiled::read(
        &std::fs::read_to_string(repository().join("example-project/fortran-main/paper.ff"))
            .unwrap(),
    )
    .unwrap();
    let input = ["10", "20", "5"];
    let options = Options {
        input: input.map(str::to_owned).to_vec(),
        wide: true,
        ..Options::default()
    };
    let outcome = interpreter::run(&read.program, &options).unwrap();
    let fortran = expand(read).unwrap();
    let dir = sandbox();
    // In single precision, the third derivatives have at most three correct digits.
    let flags = ["-fdefault-real-8", "-fdefault-double-8"];
    let printed = compiled::run(&fortran, &flags, &input.join("\n"), dir.path()).unwrap();
    let tolerance = Tolerance {
        double: 1e-9,
        single: 0.0,
    };
    compare(&outcome, &printed, tolerance).unwrap();
}

#[test]
fn functions_in_a_constructor_are_called_once() {
    // F counts its calls.
    let source = "DIMENSION A(3), B(3)
COMMON /CALLS/ N
N = 0
A(1) = 1
A(2) = 2
A(3) = 3
B = (/ F(1D0), A(1:2) /) + A
PRINT *, N, B
N = 0
S = SUM((/ F(1D0), F(2D0) /))
PRINT *, N, S";
    let function = "DOUBLE PRECISION FUNCTION F(X)
IMPLICIT DOUBLE PRECISION (A-H,O-Z)
COMMON /CALLS/ N
N = N + 1
F = 10*X";
    let text = format!(
        "{}{}",
        layout(&format!("{DOUBLE}{source}")),
        layout(function)
    );
    let expected = [1.0, 11.0, 3.0, 5.0, 2.0, 30.0];
    assert_eq!(interpret(&text).unwrap(), expected);
}

#[test]
fn patterns_do_not_ask_for_numbers() {
    let source = "DIMENSION X(4), Y(5)
LOGICAL P(5,4)
X(1) = 1
X(2) = 2
X(3) = 3
X(4) = 4
ADF(PATTERN = 4, (TANGENT(X(J), J) = .TRUE., J = 1, 4))
Y(1) = 0*X(1) + INT(X(4))
Y(2) = MAX(X(1), 7D0, X(3))
Y(3) = SUM(X(2:3))*X(4)
Y(4) = X(2)
Y(4) = 1
Y(5) = X(1)
IF (X(2) .GT. 1) Y(5) = X(3)
END ADF(((P(I,J) = TANGENT(Y(I), J), I = 1, 5), J = 1, 4))
DO I = 1, 5
N = 0
DO J = 1, 4
IF (P(I,J)) N = N + 10**(4 - J)
END DO
PRINT *, N
END DO";
    check_double(source, &[1000.0, 1010.0, 111.0, 0.0, 10.0]);
}
