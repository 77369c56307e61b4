//! Derivatives of higher order in one direction.

use crate::support::{FAST, check, expand, run};
use std::fmt::Write;

/// The order of the derivatives that are checked.
const ORDER: usize = 5;

/// A subroutine `D(X, D)` with nested blocks around some statements that compute Y from X.
fn nest(name: &str, declarations: &str, statements: &str, order: usize) -> String {
    let mut text =
        format!("      SUBROUTINE {name}(X, D)\n      DOUBLE PRECISION X, D({order}), Y");
    for k in 1..=order {
        write!(text, ", T{k}").unwrap();
    }
    text.push('\n');
    text.push_str(declarations);
    text.push_str(&"      ADF(X)\n".repeat(order));
    text.push_str(statements);
    for k in 1..=order {
        let of = match k {
            1 => "Y".to_owned(),
            k => format!("T{}", k - 1),
        };
        writeln!(text, "      END ADF(T{k} = TANGENT({of}))").unwrap();
    }
    for k in 1..=order {
        writeln!(text, "      D({k}) = T{k}").unwrap();
    }
    text + "      END\n"
}

/// Each derivative against differences of that of the next lower order. The first two are ordinary tangents.
fn against_differences(cases: &[(&str, &str, f64)], subprograms: &str) -> String {
    let mut main = String::from("      PROGRAM MAIN\n      DOUBLE PRECISION X\n");
    for i in 0..cases.len() {
        writeln!(main, "      EXTERNAL D{i}").unwrap();
    }
    let mut units = String::new();
    for (i, (declarations, statements, x)) in cases.iter().enumerate() {
        let name = format!("D{i}");
        writeln!(main, "      X = {x:?}D0").unwrap();
        writeln!(main, "      CALL SHOW({name}, '{name}', X)").unwrap();
        units += &nest(&name, declarations, statements, ORDER);
    }
    let show = format!(
        "
      SUBROUTINE SHOW(D, NAME, X)
      EXTERNAL D
      CHARACTER*(*) NAME
      DOUBLE PRECISION X, H, A({ORDER}), L({ORDER}), R({ORDER})
      INTEGER K
      H = 1D-4
      CALL D((X), A)
      CALL D(X - H, L)
      CALL D(X + H, R)
      DO K = 2, {ORDER}
        PRINT *, NAME, A(K), (R(K - 1) - L(K - 1))/(2*H)
      END DO
      END
"
    );
    let source = format!("{main}      END\n{show}{units}{subprograms}");
    check(&source, 1e-5);
    expand(&source).unwrap()
}

#[test]
fn every_operation_and_intrinsic_function() {
    let y = |e: &str| format!("      Y = {e}\n");
    let expressions = [
        ("X*X*X/(2 + X) - X", 0.7),
        ("(1 + X)/X/(X - 3) - 2/X", 0.7),
        ("SIN(X)*COS(2*X) + TAN(X/2)", 0.7),
        ("EXP(X*X)*LOG(1 + X) + LOG10(X)", 0.7),
        ("SQRT(X + X**2)*ASIN(X/2) + ACOS(X/3)", 0.7),
        ("ATAN(X*X) + ATAN2(X, 1 + X*X) + ATAN2(2.0D0, X)", 0.7),
        ("SINH(X)*COSH(X/2) + TANH(X - 1)", 0.7),
        ("ERF(X)*ERFC(X/2)", 0.7),
        ("X**5 + X**(-3) + (1 + X)**2.0D0 + (-X)**3", 0.7),
        ("X**2.5D0 + X**(-0.5D0) + 2.0D0**X + 1.5D0**(X*X)", 0.7),
        ("MAX(X*X, X**3, 0.1D0)*MIN(X, SIN(X), 2.0D0)", 0.7),
        ("MAX(X*X, X**3, 0.1D0)*MIN(X, SIN(X), 2.0D0)", 1.7),
        ("ABS(X*X - 3)*SIGN(X**3, -2.0D0) + DIM(X**3, X*X)", 1.7),
        ("MOD(EXP(X), 0.4D0)*X + MOD(2.0D0, EXP(X)/9)", 0.7),
        (
            "DPROD(REAL(1.5), REAL(2.5))*X + DBLE(X**7)*INT(X) + NINT(X)*X",
            1.7,
        ),
        ("((X))*(-X) + (+X)**6 - (-(X - 1)*X)/2", 0.7),
        ("X**0 + X**1*0.5*SIN(X)", 0.7),
    ];
    let statements: Vec<(String, f64)> = expressions.iter().map(|(e, x)| (y(e), *x)).collect();
    let cases: Vec<(&str, &str, f64)> = statements
        .iter()
        .map(|(s, x)| ("", s.as_str(), *x))
        .collect();
    let fortran = against_differences(&cases, "");
    for i in 0..cases.len() {
        let series = format!("Taylor coefficients of D{i}_ADF1_ADF2_ADF3_ADF4_ADF5 up to order 5");
        assert!(fortran.contains(&series), "{series}\n{fortran}");
    }
}

#[test]
fn statements_and_calls() {
    let cases = [
        // Loops, arrays, jumps.
        (
            "      DOUBLE PRECISION A(4), S\n      INTEGER I, J\n",
            "      A(1) = X
      DO 10 I = 2, 4
   10 A(I) = A(I - 1)*SIN(A(I - 1)) + I
      S = 0
      DO 30 I = 1, 4
        DO 30 J = 1, I
          IF (J .EQ. 3) GOTO 30
          S = S + A(J)/A(I)
   30 CONTINUE
      IF (S .GT. 100) S = 2*S
      IF (S .LT. 1) THEN
        Y = S**2
      ELSE
        Y = EXP(-S)
      END IF
",
            0.7,
        ),
        // Functions and subroutines, with the same argument in several roles.
        (
            "      DOUBLE PRECISION F, B(3)\n      EXTERNAL F\n",
            "      CALL FILL(B, 3, X, 2.0D0)
      CALL SWAP(B(1), B(3))
      Y = F(X, B(2)) + F(2*X, 1.0D0) + F(B(1), X)
",
            0.7,
        ),
        // The independent variable changes; a value that does not depend on it replaces one that does.
        (
            "      DOUBLE PRECISION Z\n      INTEGER I\n",
            "      Z = X
      X = X*X + 1
      DO I = 1, 2
        Y = X*Z*I
        Z = 3
      END DO
      X = 2*X
      Y = Y*X
",
            0.7,
        ),
        // Statement functions, single precision inside.
        (
            "      DOUBLE PRECISION P, Q, U, V\n      P(U, V) = U*V + Q(U)\n      Q(U) = U**3 - 1\n",
            "      Y = P(X, SIN(X)) + P(2.0D0, X*X)\n",
            0.7,
        ),
        // Whole arrays.
        (
            "      DOUBLE PRECISION A(3), B(3)\n",
            "      A = X\n      A(2) = X*X\n      B = A*A + SIN(A)\n      Y = B(1)*B(2) + SUM(A)\n",
            0.7,
        ),
        // Exponents that are variables.
        (
            "      INTEGER N\n",
            "      Y = 0\n      DO N = -3, 7\n        Y = Y + SIN(X)**N/(N + 10)\n      END DO\n",
            0.7,
        ),
        // A recursive definition, and printing.
        (
            "      DOUBLE PRECISION Z\n      INTEGER K\n",
            "      K = 0
      Z = X
   10 K = K + 1
      Z = Z + 1/Z
      IF (K .LT. 3) GOTO 10
      SELECT CASE (K)
      CASE (3)
        Y = LOG(Z)
      CASE DEFAULT
        Y = 0
      END SELECT
",
            0.7,
        ),
    ];
    let subprograms = "
      DOUBLE PRECISION FUNCTION F(A, B)
      DOUBLE PRECISION A, B
      F = A*EXP(-B)
      IF (A .GT. 100) RETURN
      F = F + A/(1 + B*B)
      END
      SUBROUTINE FILL(B, N, X, C)
      INTEGER N, I
      DOUBLE PRECISION B(N), X, C
      DO I = 1, N
        B(I) = SIN(X*I) + C
      END DO
      END
      SUBROUTINE SWAP(A, B)
      DOUBLE PRECISION A, B, T
      T = A
      A = B
      B = T
      END
";
    let fortran = against_differences(&cases, subprograms);
    for i in [0, 1, 2, 3, 5, 6] {
        let series = format!("Taylor coefficients of D{i}_ADF1_ADF2_ADF3_ADF4_ADF5 up to order 5");
        assert!(fortran.contains(&series), "{series}\n{fortran}");
    }
}

/// What has no series here has tangents of tangents, which are right, too.
#[test]
fn what_has_no_series() {
    let cases = [
        (
            "      DOUBLE PRECISION C\n      COMMON /CC/ C\n",
            "      C = X*X\n      CALL USEC(Y)\n",
            0.7,
        ),
        (
            "      DOUBLE PRECISION Z(2), W\n      EQUIVALENCE (Z(1), W)\n",
            "      W = X\n      Z(2) = W**3\n      Y = Z(1)*Z(2)**2\n",
            0.7,
        ),
        (
            "      COMPLEX*16 Z\n",
            "      Z = DCMPLX(X, X*X)\n      Z = EXP(Z)\n      Y = DBLE(Z) + DIMAG(Z)\n",
            0.7,
        ),
        (
            "      INTEGER N\n",
            "      N = 4\n      Y = X**N + GAMMA(X) + X**X\n",
            1.7,
        ),
    ];
    let subprograms = "
      SUBROUTINE USEC(Y)
      DOUBLE PRECISION Y, C
      COMMON /CC/ C
      Y = SIN(C)
      END
";
    let fortran = against_differences(&cases, subprograms);
    assert!(!fortran.contains("Taylor coefficients"), "{fortran}");
}

/// Other uses of the derivatives in between, other variables, and statements between the blocks.
#[test]
fn mixed_with_other_derivatives() {
    let source = "
      PROGRAM MAIN
      DOUBLE PRECISION X, Z, Y, G, T1, T2, T3, T4, W
      X = 0.7D0
      Z = 1.3D0
C     Statements between the blocks.
      ADF(X)
      ADF(X)
      ADF(X)
      Y = SIN(X*Z)
      END ADF(T1 = TANGENT(Y))
      G = T1*X + Y
      END ADF(T2 = TANGENT(G))
      END ADF(T3 = TANGENT(T2))
      PRINT *, 'first', T1, Z*COS(X*Z)
      W = -Z*Z*SIN(X*Z)
      PRINT *, 'second', T2, W*X + 2*Z*COS(X*Z)
      PRINT *, 'third', T3, -Z**3*COS(X*Z)*X + 3*W
C     Seeds other than one, and another variable outside.
      ADF(Z)
      ADF(TANGENT(X) = 2.0D0)
      ADF(TANGENT(X) = 3.0D0)
      ADF(TANGENT(X) = 0.5D0)
      Y = SIN(X*Z)
      END ADF(T1 = TANGENT(Y))
      END ADF(T2 = TANGENT(T1))
      END ADF(T3 = TANGENT(T2))
      END ADF(T4 = TANGENT(T3))
      PRINT *, 'seeds', T3, -3*Z**3*COS(X*Z)
      PRINT *, 'other', T4, -9*Z**2*COS(X*Z) + 3*Z**3*X*SIN(X*Z)
C     Adjoints outside.
      ADR(T4)
      ADF(X)
      ADF(X)
      ADF(X)
      Y = SIN(X*Z)
      END ADF(T1 = TANGENT(Y))
      END ADF(T2 = TANGENT(T1))
      END ADF(T3 = TANGENT(T2))
      T4 = T3
      END ADR(T1 = COTANGENT(X), T2 = COTANGENT(Z))
      PRINT *, 'cotx', T1, Z**4*SIN(X*Z)
      PRINT *, 'cotz', T2, -3*Z**2*COS(X*Z) + Z**3*X*SIN(X*Z)
      END
";
    check(source, 1e-12);
    assert!(expand(source).unwrap().contains("Taylor coefficients"));
}

/// SQRT has the derivative zero at zero, and whole powers have all of theirs there.
#[test]
fn at_zero() {
    let nests = nest("A", "", "      Y = X**3 + SQRT(X)\n", 4)
        + &nest(
            "C",
            "      INTEGER N\n",
            "      Y = 0\n      DO N = 0, 6\n        Y = Y + SIN(X)**N\n      END DO\n",
            4,
        )
        + &nest("B", "", "      Y = X**4.0D0 + ABS(X)**5 + X**4.5D0\n", 4);
    check(
        &format!(
            "
      PROGRAM MAIN
      DOUBLE PRECISION D(4)
      CALL A(0.0D0, D)
      PRINT *, 'third', D(3), 6.0D0
      PRINT *, 'fourth', D(4), 0.0D0
      CALL B(0.0D0, D)
      PRINT *, 'third', D(3), 0.0D0
      PRINT *, 'fourth', D(4), 24.0D0
C     The sum of SIN(X)**N for N = 0, …, 6.
      CALL C(0.0D0, D)
      PRINT *, 'third', D(3), -1.0D0 + 6.0D0
      PRINT *, 'fourth', D(4), -8.0D0 + 24.0D0
      END
{nests}"
        ),
        1e-12,
    );
}

/// Arrays as results, and values that the block leaves as they are.
#[test]
fn arrays_of_results() {
    check(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X, V(3), T1(3), T2(3), T3(3)
      INTEGER I
      X = 0.7D0
      V(3) = 5
      ADF(X)
      ADF(X)
      ADF(X)
      DO I = 1, 2
        V(I) = X**(I + 3)*EXP(X)
      END DO
      IF (X .GT. 100) V(3) = X
      END ADF(T1 = TANGENT(V))
      END ADF(T2 = TANGENT(T1))
      END ADF(T3 = TANGENT(T2))
      PRINT *, 'kept', V(3), 5.0D0
      PRINT *, 'zero', T3(3), 0.0D0
      END
",
        1e-12,
    );
}

/// Code grows with the square of the order.
#[test]
fn eight_levels_are_short() {
    let nests = nest("D", "", "      Y = SIN(X)*EXP(X)/(1 + X*X)\n", 8);
    let source = format!(
        "      PROGRAM MAIN
      DOUBLE PRECISION D(8)
      CALL D8(0.7D0, D)
      END
{}",
        nests.replace("SUBROUTINE D(", "SUBROUTINE D8(")
    );
    let fortran = expand(&source).unwrap();
    let lines = fortran.lines().count();
    assert!(lines < 1000, "{lines} lines\n{fortran}");
    run(&fortran, &[FAST, &[]].concat());
}
