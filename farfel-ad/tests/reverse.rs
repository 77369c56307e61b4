//! ADR blocks with handwritten adjoints, compiled and run: tests the code that lowering puts around the call
//! of an adjoint.
//!
//! The adjoints do everything that they are allowed to do: they leave nonsense in the primal arguments and
//! COMMON variables that the block assigns, and in cotangents that were not requested. Tangents come from the
//! built-in engine.

use crate::support::{CHECKED, FAST, compare, expand_with, run};
use farfel_ad::{AdTool, Builtin};
use farfel_lang::ir::{AdMode, Program, Request, Unit};
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{Form, NoIncludes, parse};
use farfel_lang::{Diagnostic, Sources};

/// An AD tool with the adjoints in its text, which have the names that requests give them.
struct ByHand(&'static str);

impl AdTool for ByHand {
    fn name(&self) -> &str {
        "by hand"
    }

    fn differentiate_warning(
        &self,
        program: &Program,
        request: &Request,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Vec<Unit>, Vec<Diagnostic>> {
        if request.mode == AdMode::Forward {
            return Builtin.differentiate_warning(program, request, warnings);
        }
        let mut sources = Sources::new();
        let file = sources.add("hand.f", self.0);
        let mut parsed = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes);
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
        let found = resolve(&mut parsed.program);
        assert!(found.is_empty(), "{found:?}");
        let mut units = parsed.program.units;
        let names: Vec<_> = units.iter().map(|u| u.name.clone()).collect();
        assert!(
            names.contains(&request.derivative),
            "no {}",
            request.derivative
        );
        // Units above a derivative belong to it.
        let at = names.iter().position(|n| *n == request.derivative).unwrap();
        let from = names[..at]
            .iter()
            .rposition(|n| n.contains("_ADR"))
            .map_or(0, |i| i + 1);
        Ok(units.drain(from..=at).collect())
    }
}

/// Runs with all checks and with optimisation. Output lines are `name value expected`.
fn check(source: &str, adjoints: &'static str) -> String {
    let (fortran, _) =
        expand_with(source, &ByHand(adjoints)).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let mut out = String::new();
    for flags in [CHECKED, FAST] {
        out = run(&fortran, flags);
        compare(&out, 1e-6, &fortran);
    }
    out
}

#[test]
fn cotangents_see_the_primal_results() {
    check(
        "
      PROGRAM P
      X = 3
      YOBS = 4
      Y = -1
      ADR(COTANGENT(Y) = Y - YOBS)
      Y = X**2
      END ADR(G = COTANGENT(X))
      PRINT *, 'y', Y, 9.0
      PRINT *, 'x', X, 3.0
      PRINT *, 'g', G, 5.0*6.0
      END
",
        "
      SUBROUTINE P_ADR1_G1(X, XB, Y, YB)
      XB = 2*X*YB
      YB = -777
      Y = -777
      END
",
    );
}

#[test]
fn in_out_and_both_independent_and_dependent() {
    check(
        "
      PROGRAM P
      X = 3
      ADR(COTANGENT(X) = 1)
      X = X*X
      END ADR(G = COTANGENT(X))
      PRINT *, 'x', X, 9.0
      PRINT *, 'g', G, 6.0
C     The gradient takes the place of the variable
      ADR(X)
      X = X*X
      END ADR(X = COTANGENT(X))
      PRINT *, 'x', X, 18.0
      END
",
        "
      SUBROUTINE P_ADR1_G1(X, XB)
      XB = 2*X*XB
      X = -777
      END
      SUBROUTINE P_ADR2_G2(X, XB)
      XB = 2*X*XB
      X = -777
      END
",
    );
}

/// Arrays with bounds, an integer and a text that change, and a bound that is only read.
#[test]
fn all_kinds_of_arguments_keep_their_primal_values() {
    check(
        "
      PROGRAM P
      DOUBLE PRECISION X(0:2), Y(2, 3), G(3)
      CHARACTER*5 C
      X(0) = 2
      X(1) = 3
      X(2) = 5
      DO 10 J = 1, 3
      DO 10 I = 1, 2
   10 Y(I, J) = 10*I + J
      C = 'FIRST'
      K = 1
      CALL S(X, 3, Y, K, C, G)
      PRINT *, 'g1', G(1), 11D0*7
      PRINT *, 'g2', G(2), 12D0*8
      PRINT *, 'g3', G(3), 13D0*9
      PRINT *, 'k', K, 4
      PRINT *, 'y12', Y(1, 2), 36D0
      PRINT *, 'y22', Y(2, 2), 22D0
      PRINT *, 'y13', Y(1, 3), 65D0
      PRINT *, 'c', ICHAR(C(1:1)), ICHAR('L')
      END
      SUBROUTINE S(X, N, Y, K, C, G)
      DOUBLE PRECISION X(0:N-1), Y(2, N), G(N), W(3)
      CHARACTER*(*) C
      DATA W /7D0, 8D0, 9D0/
      ADR((COTANGENT(Y(1, I)) = W(I), I = 1, N))
      DO I = 1, N
      IF (C .EQ. 'FIRST') Y(K, I) = Y(K, I)*X(I - 1)
      END DO
      C = 'LAST'
      K = K + N
      END ADR(G = COTANGENT(X))
      END
",
        "
      SUBROUTINE S_ADR1_G1(X, XB, C, I, K, N, Y, YB)
      DOUBLE PRECISION X(0:N-1), XB(0:N-1), Y(2, N), YB(2, N)
      CHARACTER*(*) C
      IF (C .NE. 'FIRST') STOP 1
      IF (K .NE. 1) STOP 2
      DO 10 I = N, 1, -1
      XB(I - 1) = XB(I - 1) + Y(K, I)*YB(K, I)
      YB(K, I) = X(I - 1)*YB(K, I)
   10 Y(K, I) = -777
      YB(2, 2) = -777
      K = -777
      C = 'WRONG'
      I = -777
      END
",
    );
}

/// Values of a loop variable that the block and an implied DO share; the expressions see the primal values.
#[test]
fn loop_variables_keep_their_primal_values() {
    check(
        "
      PROGRAM P
      REAL X(4), Y(4), G(4)
      DO 10 I = 1, 4
      G(I) = 0
      Y(I) = 0
   10 X(I) = 3 - I
      ADR((COTANGENT(Y(I)) = 10*I + L, I = 1, 4))
      L = 0
      DO I = 1, 4
        IF (X(I) .LE. 0) EXIT
        Y(I) = X(I)**2
        L = L + 1
      END DO
      END ADR((G(I) = COTANGENT(X(I)), I = 1, I - 1))
      PRINT *, 'i', I, 3
      PRINT *, 'l', L, 2
      PRINT *, 'y1', Y(1), 4.0
      PRINT *, 'g1', G(1), 12*4.0
      PRINT *, 'g2', G(2), 22*2.0
      PRINT *, 'g3', G(3), 0.0
      END
",
        "
      SUBROUTINE P_ADR1_G1(X, XB, I, L, Y, YB)
      REAL X(4), XB(4), Y(4), YB(4)
      DO 10 I = 1, 2
      XB(I) = XB(I) + 2*X(I)*YB(I)
   10 YB(I) = 0
      I = -777
      L = -777
      END
",
    );
}

#[test]
fn destinations_that_the_opening_and_the_closing_read() {
    check(
        "
      PROGRAM P
      REAL X(2), G(2), H(3)
      X(1) = 3
      X(2) = 4
      G(1) = 10
      G(2) = 2
      ADR(COTANGENT(Y) = G(1))
      Y = X(1)*X(2)
      END ADR(G = COTANGENT(X))
      PRINT *, 'g1', G(1), 40.0
      PRINT *, 'g2', G(2), 30.0
C     The old D chooses the element of H, the new one that of G
      D = 2
      X(1) = 1
      Z = 0.5
      ADR(Y)
      Y = X(1)*Z**2
      END ADR(H(INT(D)) = COTANGENT(Z), D = COTANGENT(Z),
     +    G(INT(D)) = COTANGENT(X(1)))
      PRINT *, 'h2', H(2), 1.0
      PRINT *, 'd', D, 1.0
      PRINT *, 'g1', G(1), 0.25
      END
"
        .replace(
            "      D = 2\n",
            "      D = 2\n      X(1) = 1\n      Z = 0.5\n",
        )
        .as_str(),
        "
      SUBROUTINE P_ADR1_G1(X, XB, Y, YB)
      REAL X(2), XB(2)
      XB(1) = XB(1) + X(2)*YB
      XB(2) = XB(2) + X(1)*YB
      END
      SUBROUTINE P_ADR2_G2(Z, ZB, X, XB, Y, YB)
      REAL X(2), XB(2)
      ZB = 2*X(1)*Z*YB
      XB(1) = Z**2*YB
      END
",
    );
}

#[test]
fn input_and_output_happen_once() {
    let out = check(
        "
      PROGRAM P
      X = 3
      ADR(Y)
      CALL F(X, Y)
      END ADR(G = COTANGENT(X))
      PRINT *, 'g', G, 6.0
      ADR(Y)
      IF (X .GT. 0) THEN
        PRINT *, 'stops', 1.0, 1.0
        STOP
      END IF
      Y = X
      END ADR(G = COTANGENT(X))
      PRINT *, 'goes_on', 0.0, 1.0
      END
      SUBROUTINE F(X, Y)
      PRINT *, 'inside', X, 3.0
      Y = X**2
      END
",
        "
      SUBROUTINE P_ADR1_G1(X, XB, Y, YB)
      XB = 2*X*YB
      END
      SUBROUTINE P_ADR2_G2(X, XB, Y, YB)
      XB = YB
      END
",
    );
    assert_eq!(out.lines().count(), 3, "{out}");
}

/// The adjoint finds the values that were read, and these are preserved.
#[test]
fn input_happens_once() {
    check(
        include_str!("support/reads_once.ff"),
        "
      SUBROUTINE P_ADR1_G1(X, XB, A, AB, B, BB, C, I, Y, YB)
      REAL A(2), AB(2)
      CHARACTER*8 C
      READ (C, *) B
      XB = B*A(2)*YB
      A(2) = -777
      B = -777
      C = ' '
      END
",
    );
}

#[test]
fn arrays_keep_their_bounds() {
    check(
        "
      PROGRAM P
      COMMON /SIZE/ M
      REAL X(4), Y(4), G(4)
      DO 10 I = 1, 4
      X(I) = I
      Y(I) = -1
   10 G(I) = -1
      M = 1
      N = 4
      CALL S(X, N, Y, G)
      PRINT *, 'n', N, 2
      PRINT *, 'm', M, 3
      DO 20 I = 1, 4
      PRINT *, 'y', Y(I), REAL(I**2)
   20 PRINT *, 'g', G(I), 2.0*I**3
      END
      SUBROUTINE S(X, N, Y, G)
      COMMON /SIZE/ M
      REAL X(N), Y(M:N), G(N)
      ADR(COTANGENT(Y) = Y)
      DO I = M, N
        Y(I) = X(I)**2
      END DO
      N = N - 2
      M = M + 2
      END ADR(G = COTANGENT(X))
      END
",
        "
      SUBROUTINE S_ADR1_G1(X, XB, I, N, Y, YB)
      COMMON /SIZE/ M
      REAL X(N), XB(N), Y(M:N), YB(M:N)
      DO 10 I = M, N
   10 XB(I) = XB(I) + 2*X(I)*YB(I)
      N = -777
      M = -777
      END
",
    );
}

/// Named and blank COMMON and saved variables: declared only below the block, with other shapes, and changed
/// by a cotangent expression.
#[test]
fn common_is_as_before_for_the_adjoint_and_as_after_behind_it() {
    check(
        "
      PROGRAM P
      DATA N /1/
      CALL INIT
      X = 3
      ADR(COTANGENT(Y) = WEIGHT(Y))
      CALL F(X, Y)
      END ADR(G = COTANGENT(X))
      PRINT *, 'y', Y, 3.0*2*1
      PRINT *, 'g', G, 2.0*6
      CALL LOOK
      PRINT *, 'f', F2(1.0), 2.0
      END
      SUBROUTINE INIT
      COMMON W(3), K
      COMMON /SCALE/ S, T
      W(1) = 2
      W(2) = 20
      K = 5
      S = 1
      T = 0
      END
      SUBROUTINE LOOK
      COMMON W(3), K
      COMMON /SCALE/ S, T
      PRINT *, 'w1', W(1), -2.0
      PRINT *, 'w2', W(2), 20.0
      PRINT *, 'k', K, 6
      PRINT *, 's', S, 7.0
      PRINT *, 't', T, 1.0
      END
      SUBROUTINE F(X, Y)
      COMMON V, V2, V3, K
      COMMON /SCALE/ S, T
      Y = X*V*F2(S)
      V = -V
      K = K + 1
      S = 7
      END
      FUNCTION F2(S)
      SAVE M
      DATA M /0/
      M = M + 1
      F2 = S*M
      END
      FUNCTION WEIGHT(Y)
      COMMON /SCALE/ S, T
      T = T + 1
      WEIGHT = Y
      END
",
        "
      SUBROUTINE P_ADR1_G1(X, XB, Y, YB)
      COMMON V, V2, V3, K
      COMMON /SCALE/ S, T
      COMMON /F2_M/ M
      IF (M .NE. 0) STOP 3
      IF (K .NE. 5) STOP 4
      IF (S .NE. 1) STOP 5
      XB = V*S*(M + 1)*YB
      V = -777
      K = -777
      S = -777
      M = -777
      END
",
    );
}

#[test]
fn in_loops_branches_and_functions() {
    check(
        "
      PROGRAM P
      REAL X(4)
      DO 10 I = 1, 4
   10 X(I) = (I - 2)*1.5
      DO 20 I = 1, 4
   20 PRINT *, 'slope', SLOPE(X, I), 3*MAX(X(I), 0.0)**2
      END
      FUNCTION SLOPE(X, I)
      REAL X(4)
      IF (X(I) .GT. 0) THEN
        ADR(Y)
        Y = X(I)**3
        END ADR(SLOPE = COTANGENT(X(I)))
      ELSE
        SLOPE = 0
      END IF
      END
",
        "
      SUBROUTINE SLOPE_ADR1_G1(X, XB, I, Y, YB)
      REAL X(4), XB(4)
      XB(I) = XB(I) + 3*X(I)**2*YB
      Y = -777
      END
",
    );
}

/// The gradient of a derivative, the derivative of a gradient, the gradient of a gradient.
#[test]
fn blocks_in_blocks() {
    check(
        "
      PROGRAM P
      DOUBLE PRECISION X, A, B, C, D, Y
      X = 2
      A = 3
C     ADF in ADR
      ADR(D)
        ADF(X)
        Y = A*X**3
        END ADF(D = TANGENT(Y))
      END ADR(B = COTANGENT(X), C = COTANGENT(A))
      PRINT *, 'y', Y, 24D0
      PRINT *, 'd', D, 36D0
      PRINT *, 'd_x', B, 36D0
      PRINT *, 'd_a', C, 12D0
C     ADR in ADF
      ADF(X)
        ADR(Y)
        Y = A*X**3
        END ADR(D = COTANGENT(X), C = COTANGENT(A))
      END ADF(B = TANGENT(D), A = TANGENT(C))
      PRINT *, 'y', Y, 24D0
      PRINT *, 'd', D, 36D0
      PRINT *, 'c', C, 8D0
      PRINT *, 'd_x', B, 36D0
      PRINT *, 'c_x', A, 12D0
C     ADR in ADR
      A = 3
      ADR(D)
        ADR(Y)
        Y = A*X**3
        END ADR(D = COTANGENT(X))
      END ADR(B = COTANGENT(X), C = COTANGENT(A))
      PRINT *, 'y', Y, 24D0
      PRINT *, 'd', D, 36D0
      PRINT *, 'd_x', B, 36D0
      PRINT *, 'd_a', C, 12D0
      END
",
        "
      SUBROUTINE P_ADR1_G1(X, XB, A, AB, Y, YB, D, DB)
      DOUBLE PRECISION X, XB, A, AB, Y, YB, D, DB
      XB = 6*A*X*DB
      AB = 3*X**2*DB
      Y = -777
      D = -777
      END
      SUBROUTINE P_ADF2_ADR5_G5(X, XB, A, AB, Y, YB)
      DOUBLE PRECISION X, XB, A, AB, Y, YB
      XB = 3*A*X**2*YB
      AB = X**3*YB
      YB = 0
      Y = -777
      END
      SUBROUTINE P_ADR3_ADR6_G6(X, XB, A, AB, Y, YB)
      DOUBLE PRECISION X, XB, A, AB, Y, YB
      XB = 3*A*X**2*YB
      AB = 0
      Y = -777
      END
      SUBROUTINE P_ADR3_G3(X, XB, A, AB, Y, YB, D, DB)
      DOUBLE PRECISION X, XB, A, AB, Y, YB, D, DB
      XB = 6*A*X*DB
      AB = 3*X**2*DB
      END
",
    );
}
