//! Texts, and values of all other types, that reverse sweeps need and forward sweeps overwrite.

use crate::support::{check, expand};

/// Derivatives of `F(X, Y)` by reverse mode, and second derivatives by all four ways of nesting, against
/// differences. `units` has F and what it calls. In it, `@[C]` is a number with a derivative that depends on
/// the letter C: the reverse sweep needs the letter to know which number it was.
fn differences(units: &str) -> String {
    let units = units
        .replace("SUBROUTINE F(", "SUBROUTINE F0(")
        .replace("@[", "CHOICE(1 + MOD(ICHAR(")
        .replace(']', "), 7))")
        .replace(
            "DOUBLE PRECISION X, Y",
            "DOUBLE PRECISION CHOICE\n      COMMON /CHOSEN/ CHOICE(7)\n      DOUBLE PRECISION X, Y",
        );
    let broken = |line: &str| match line.split_at_checked(70) {
        Some((start, end)) => format!("{start}\n     +{end}\n"),
        None => format!("{line}\n"),
    };
    let units: String = units.lines().map(broken).collect();
    let second = [("FR", "F", "R"), ("RF", "R", "F"), ("RR", "R", "R")].map(|(name, outer, inner)| {
        let ends = |mode: &str, d: &str, y: &str| match mode {
            "F" => ("      ADF(X)\n".to_owned(), format!("      END ADF({d} = TANGENT({y}))\n")),
            _ => (format!("      ADR({y})\n"), format!("      END ADR({d} = COTANGENT(X))\n")),
        };
        let (begin, end) = ends(outer, "H", "G");
        let (inner_begin, inner_end) = ends(inner, "G", "Y");
        format!(
            "      SUBROUTINE {name}(X, H)\n      DOUBLE PRECISION X, Y, G, H\n{begin}{inner_begin}      CALL F(X, Y)\n{inner_end}{end}      END\n"
        )
    });
    format!(
        "      PROGRAM MAIN
      DOUBLE PRECISION X, Y, G, H(3), P, M, E
      CHARACTER*2 NAMES(3)
      DATA NAMES /'FR', 'RF', 'RR'/
      E = 1D-5
      X = 0.7D0
      DO I = 1, 2
        CALL GRAD(X, G)
        CALL F(X + E, P)
        CALL F(X - E, M)
        PRINT *, 'first', G, (P - M)/(2*E)
        CALL FR(X, H(1))
        CALL RF(X, H(2))
        CALL RR(X, H(3))
        CALL GRAD(X + E, P)
        CALL GRAD(X - E, M)
        DO K = 1, 3
          PRINT *, NAMES(K), H(K), (P - M)/(2*E)
        END DO
        X = X + 0.4D0
      END DO
      END
      SUBROUTINE GRAD(X, G)
      DOUBLE PRECISION X, Y, G
      ADR(Y)
      CALL F(X, Y)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X, Y, CHOICE
      COMMON /CHOSEN/ CHOICE(7)
      DO I = 1, 7
        CHOICE(I) = 0.5D0 + 0.4D0*COS(I*X)
      END DO
      CALL F0(X, Y)
      END
{}{units}",
        second.concat()
    )
}

#[test]
fn texts_of_any_length() {
    // Scalars that are changed by assignments, WRITE and READ, and used in factors, subscripts and loop bounds.
    check(
        &differences(
            "      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X, Y, W(9)
      CHARACTER*8 NAME, OTHER
      CHARACTER C, D*1
      NAME = 'square'
      Y = @[NAME(2:2)]*X*X
      OTHER = NAME
      DO I = 1, 9
        W(I) = SIN(I*X)
      END DO
      Y = Y*W(INDEX(NAME, 'a'))
      WRITE (NAME, '(A,I3.3)') 'n', 42
      Y = Y*X + W(INDEX(NAME, '2'))*Y
      READ (NAME, '(A4)') OTHER
      Y = Y*LEN_TRIM(OTHER)*X
      C = OTHER(2:2)
      D = OTHER(3:3)
      Y = Y*(ICHAR(C) - ICHAR(D))*X
      OTHER = ' '
      C = 'a'
      Y = Y*Y*@[C]
      C = 'b'
      D = C
      Y = Y*Y*LEN_TRIM(OTHER // C)*0.1D0*ICHAR(D)
      D = 'x'
      NAME = D
      Y = Y*LEN_TRIM(NAME)*SIN(X)
      NAME = D // C
      END
",
        ),
        1e-6,
    );
    // Lengths that are expressions, in loops and calls, with changes to the variables that they depend on.
    check(
        &differences(
            "      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X, Y
      CHARACTER*7 A
      CHARACTER*20 B
      A = 'abcdefg'
      B = 'a text of twenty ch.'
      Y = X
      DO I = 1, 3
        N = 3 + I
        CALL S(A, X, Y, N)
        N = 3 + I
        CALL S(B(I:I + 9), X, Y, N)
        A(I:I) = B(N - 40:N - 40)
      END DO
      END
      SUBROUTINE S(T, X, Y, N)
      CHARACTER*(*) T
      CHARACTER*(N) U
      CHARACTER*(LEN(T)) V
      CHARACTER*(2*N + 1) W
      DOUBLE PRECISION X, Y
      U = T
      V = T
      W = T // U
      Y = SIN(Y)*@[U(2:2)]*X
      U(1:2) = V(3:4)
      N = N + 40
      Y = Y*Y*@[U(2:2)]*@[W(N - 40:N - 40)]
      U = V
      W = U // 'x'
      T(2:) = U // 'y'
      Y = COS(Y)*X*@[T(LEN(T):LEN(T))]*@[V(1:1)]
      T = 'z'
      V = T
      Y = Y*X*@[V(1:1)]
      V = 'w'
      END
",
        ),
        1e-6,
    );
}

#[test]
fn arrays_and_parts_of_texts() {
    check(
        &differences(
            "      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X, Y
      CHARACTER*3 L(-1:1, 2)
      CHARACTER*5 C(4)
      COMMON /TEXTS/ C, K
      CHARACTER*10 E
      CHARACTER*4 TAG
      CHARACTER P(5)*2, Q*10
      EQUIVALENCE (P, Q)
      Y = X
      K = 1
      C(1) = 'one'
      C(2) = 'two'
      C(3) = 'three'
      C(4) = 'four'
      Q = '0123456789'
      DO J = 1, 2
        L(0, J) = 'abc'
        DO I = -1, 1
          L(I, J) = C(I + J + 1)
          Y = Y*@[L(I, J)(2:2)] + X*@[P(3)(2:2)]
          IF (I .EQ. 0) L(I, J)(J:J + 1) = 'ab'
          K = K + I
          C(MOD(J, 4) + 1)(I + 2:I + 2) = CHAR(70 + K)
          Y = Y*X*@[L(0, J)(2:2)]
        END DO
        Q(5:6) = 'xy'
        P(J) = C(J)
        CALL MIXED(L, X, Y)
        CALL MIXED(L(-1, J), X, Y)
        M = J
        E = Q
        CALL PART(E(M:M + 4), M, X, Y)
        CALL PART((E(3:)), M, X, Y)
        CALL BOTH(E, E(2:4) // E(1:1), X, Y)
        CALL BOTH(E, (E), X, Y)
        CALL BOTH(E, TAG(J), X, Y)
      END DO
      END
      CHARACTER*4 FUNCTION TAG(I)
      WRITE (TAG, '(A,I1)') 'tag', I
      END
      SUBROUTINE MIXED(L, X, Y)
      CHARACTER*3 L(*)
      CHARACTER*5 C(4)
      COMMON /TEXTS/ C, K
      DOUBLE PRECISION X, Y
      L(2) = C(3)
      Y = SIN(Y)*X*@[L(2)(1:1)]*@[C(4)(1:1)]
      L(2) = C(K)(2:)
      C(4)(1:1) = L(2)(3:3)
      Y = Y*X*@[L(2)(2:2)]
      L(2) = ' '
      END
      SUBROUTINE PART(S, M, X, Y)
      CHARACTER*(*) S
      DOUBLE PRECISION X, Y
      Y = Y + SIN(X*Y*@[S(M:M)])
      S(M:M) = 'q'
      M = M + 1
      Y = Y*COS(X*@[S(M:M)])
      S = 'r'
      END
      SUBROUTINE BOTH(S, T, X, Y)
      CHARACTER*(*) S, T
      DOUBLE PRECISION X, Y
      Y = Y + SIN(X*Y*@[S(2:2)])
      S(2:2) = T(1:1)
      Y = Y*COS(X*@[T(2:2)])*(0.2D0 + 0.1D0*LEN(T)*X)
      S(2:2) = 'b'
      END
",
        ),
        1e-6,
    );
}

/// Loops whose iterations are executed again, loops whose end is not known in advance, and nested calls.
#[test]
fn texts_go_from_iteration_to_iteration() {
    let units = "      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X, Y
      CHARACTER*6 S
      CHARACTER*2 L(3)
      INTEGER I
      S = 'abcdef'
      L(1) = 'ab'
      L(2) = 'cd'
      L(3) = 'ef'
      Y = X
      CALL WORK(S, L, X, Y)
      I = 0
      DO WHILE (S .NE. 'stop')
        I = I + 1
        Y = Y + SIN(X*@[S(I:I)])*Y
        CALL TURN(S, I)
        S(2:2) = S(3:3)
        IF (I .GE. 5) S = 'stop'
      END DO
      END
      SUBROUTINE WORK(S, L, X, Y)
      CHARACTER*(*) S
      CHARACTER*2 L(3)
      DOUBLE PRECISION X, Y
      INTEGER I
MARK
      DO I = 1, 7
        Y = SIN(X*@[S(2:2)])*Y + @[L(2)(2:2)]*X
        CALL TURN(S, I)
        L(MOD(I, 3) + 1) = S(I/2 + 1:)
        CALL TURN(L(2), 1)
      END DO
      END
      SUBROUTINE TURN(S, I)
      CHARACTER*(*) S
      INTEGER I, K
      CHARACTER C
      C = S(1:1)
      DO K = 2, LEN(S)
        S(K - 1:K - 1) = S(K:K)
      END DO
      S(LEN(S):) = CHAR(ICHAR(C) + MOD(I, 2))
      END
";
    check(&differences(&units.replace("MARK\n", "")), 1e-6);
    // Adjoints of adjoints of such loops are refused.
    let marked = units.replace("MARK", "!farfel: checkpoint(2)");
    let source = differences(&marked);
    let at = source.find("      SUBROUTINE RR(").unwrap();
    let end = at + source[at..].find("      END\n").unwrap();
    let once = format!(
        "{}      SUBROUTINE RR(X, H)\n      DOUBLE PRECISION X, H\n      CALL FR(X, H)\n{}",
        &source[..at],
        &source[end..]
    );
    check(&once, 1e-6);
}

/// Undefined values are saved like others.
#[test]
fn texts_without_a_value() {
    let source = "      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X, Y
      INTEGER I
      Y = X
      DO I = 1, 3
        CALL S(I, X, Y)
      END DO
      END
      SUBROUTINE S(I, X, Y)
      DOUBLE PRECISION X, Y
      CHARACTER*9 A, B(3)
      INTEGER I
      IF (I .EQ. 2) A = 'two'
      IF (I .EQ. 3) B(2) = 'three'
      CALL USE(A, B, I, X, Y)
      A = 'new'
      B(1) = A
      B(2) = A
      B(3) = A
      CALL USE(A, B, I, X, Y)
      END
      SUBROUTINE USE(A, B, I, X, Y)
      CHARACTER*(*) A, B(3)
      DOUBLE PRECISION X, Y
      INTEGER I
      IF (I .EQ. 2) Y = Y*@[A(1:1)]*SIN(X)
      IF (I .EQ. 3) Y = Y*@[B(2)(3:3)]*SIN(X)
      END
";
    check(&differences(source), 1e-6);
}

/// Every type that a variable can have, as a scalar and as an array.
#[test]
fn values_of_all_types() {
    let types = [
        ("INTEGER*1", "3", "-2", "V*0.4D0"),
        ("INTEGER*2", "300", "-200", "V*4D-3"),
        ("INTEGER", "30000", "-20000", "V*4D-5"),
        ("INTEGER*8", "3000000000_8", "-2000000000_8", "V*4D-10"),
        ("LOGICAL", ".TRUE.", ".FALSE.", "MERGE(1.5D0, 0.7D0, V)"),
        ("LOGICAL*1", ".TRUE.", ".FALSE.", "MERGE(1.5D0, 0.7D0, V)"),
        ("LOGICAL*2", ".TRUE.", ".FALSE.", "MERGE(1.5D0, 0.7D0, V)"),
        ("LOGICAL*8", ".TRUE.", ".FALSE.", "MERGE(1.5D0, 0.7D0, V)"),
        ("REAL", "1.25", "-0.5", "V"),
        ("DOUBLE PRECISION", "1.25D0", "-0.5D0", "V"),
        ("REAL*16", "1.25Q0", "-0.5Q0", "DBLE(V)"),
        ("COMPLEX", "(1.25, 2.0)", "(-0.5, 1.0)", "DBLE(V)"),
        ("COMPLEX*16", "(1.25D0, 1.5D0)", "(-0.5D0, 1D0)", "DIMAG(V)"),
        ("CHARACTER", "'a'", "'b'", "@[V]"),
        ("CHARACTER*5", "'abc'", "'de'", "@[V(2:2)]"),
    ];
    let mut units =
        "      SUBROUTINE F(X, Y)\n      DOUBLE PRECISION X, Y\n      Y = X\n".to_owned();
    for k in 0..types.len() {
        units += &format!("      CALL T{k}(X, Y)\n");
    }
    units += "      END\n";
    for (k, (ty, one, other, factor)) in types.iter().enumerate() {
        let of = |v: &str| factor.replace('V', v);
        let (scalar, element) = (of("V"), of("W(2)"));
        units += &format!(
            "      SUBROUTINE T{k}(X, Y)
      DOUBLE PRECISION X, Y, Z
      {ty} V, W(3)
      V = {one}
      W(1) = {other}
      W(2) = {one}
      W(3) = V
      Z = 0
      DO I = 1, 3
        Z = Z + SIN(X + I)*{scalar}
        Z = Z*COS(X*I)*{element}
        V = {other}
        W(2) = {other}
      END DO
      CALL A{k}(V, W, X, Z)
      Z = Z*COS(X)*{scalar}
      V = {one}
      CALL A{k}(V, W, X, Z)
      Y = Y*COS(Z)
      V = {other}
      END
      SUBROUTINE A{k}(V, W, X, Y)
      {ty} V, W(3)
      DOUBLE PRECISION X, Y
      Y = Y + {scalar}*SIN(X)*{element}
      V = W(1)
      CALL B{k}(W)
      Y = Y + {scalar}*SIN(X*Y)*{element}
      END
      SUBROUTINE B{k}(W)
      {ty} W(3)
      W(2) = W(1)
      END
"
        );
    }
    check(&differences(&units), 1e-6);
}

/// The reverse sweep sees the text as it is after the call, and has no variable for what it was before.
#[test]
fn arguments_whose_length_is_not_known() {
    let text = |argument: &str| {
        format!(
            "      SUBROUTINE GRAD(X, Y, T, I, G)
      CHARACTER*4 T
      DOUBLE PRECISION X, Y, G
      ADR(Y)
      CALL S(T, {argument}, X, Y)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE S(T, U, X, Y)
      CHARACTER*(*) T, U
      DOUBLE PRECISION X, Y
      T = ' '
      Y = X*ICHAR(U(1:1))
      END
"
        )
    };
    let error = expand(&text("(T(I:I + 1))")).unwrap_err();
    let expected = "F0314 5:17 the call changes what this argument is made of, and its length is not known before";
    assert_eq!(error.trim(), expected);
    for known in ["(T)", "(T(2:3))", "T // 'X'"] {
        expand(&text(known)).unwrap();
    }
}

/// Blocks with texts that units divide differently, where one unit declares less than another changes, and
/// units that do not declare the blocks and use the names of their members for other things.
#[test]
fn texts_in_common() {
    check(
        &differences(
            "      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X, Y
      INTEGER A, I
      A = 2
      Y = X
      CALL FIRST
      DO I = 1, 3
        CALL NEXT(I)
        CALL USES(X, Y)
        CALL EIGHT(X, Y)
        CALL FOUR(X, Y, I)
        CALL EIGHT(X, Y)
        CALL PARTS(X, Y, A)
        CALL WORDS(X, Y)
        A = A + 1
      END DO
      END
      SUBROUTINE FIRST
      CHARACTER*8 A
      COMMON /T/ A
      PARAMETER (N = 5, M = 2)
      CHARACTER*(N) L(M, 0:M)
      COMMON /W/ W(M), K, L
      A = 'abcdefgh'
      W(1) = 1
      W(2) = 2
      K = 3
      L = 'qrstu'
      END
      SUBROUTINE NEXT(I)
      CALL NEXT1(I)
      END
      SUBROUTINE NEXT1(I)
      CHARACTER*4 A, B
      COMMON /T/ A, B
      PARAMETER (N = 5, M = 2)
      CHARACTER*(N) L(M, 0:M)
      COMMON /W/ W(M), K, L
      A(I:I) = B(2:2)
      B = A(3:4) // 'xyz'
      L(2, I - 1)(2:3) = B
      K = K + I
      W(2) = K + 0.5
      END
      SUBROUTINE USES(X, Y)
      DOUBLE PRECISION X, Y
      CHARACTER*5 L(6)
      COMMON /W/ W(2), K, L
      Y = Y*@[L(2)(2:2)]
      Y = Y + SIN(X*@[L(4)(3:3)])*0.1D0*K*W(2)
      END
      SUBROUTINE FOUR(X, Y, I)
      DOUBLE PRECISION X, Y
      CHARACTER*4 A
      COMMON /T/ A
      Y = Y*@[A(3:3)]*X
      CALL NEXT1(I)
      Y = SIN(Y)*@[A(3:3)]*X
      END
      SUBROUTINE EIGHT(X, Y)
      DOUBLE PRECISION X, Y
      CHARACTER*8 A
      COMMON /T/ A
      Y = Y + X*@[A(6:6)]
      A(5:) = 'new'
      Y = Y + X*@[A(6:6)]
      END
      SUBROUTINE PARTS(X, Y, I)
      DOUBLE PRECISION X, Y
      CHARACTER*2 A(2)
      COMMON /T/ A
      CALL EIGHT(X, Y)
      A(2) = 'pa'
      CALL EIGHT(X, Y)
      Y = Y + COS(X*@[A(2)(2:2)])*I
      END
      SUBROUTINE WORDS(X, Y)
      DOUBLE PRECISION X, Y
      COMMON /W/ W(2)
      Y = Y*COS(W(2)*X*0.1D0)
      CALL NEXT(2)
      Y = Y*COS(W(2)*X*0.1D0)
      W(2) = 0.1
      CALL USES(X, Y)
      END
",
        ),
        1e-6,
    );
}
