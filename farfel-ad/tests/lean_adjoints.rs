//! Adjoints as one would write them by hand: what happens once needs no tape, zeros are set where they are used,
//! divisions share reciprocals, and increments are joined. Each is compared with differences.

use crate::support::differences::adjoint;

#[test]
fn what_happens_once_is_kept_in_variables() {
    let cases = [
        (
            "
      V(1) = V(1)*V(1)*A
      V(1) = SIN(V(1)*V(2))
",
            "OLD_V",
        ),
        (
            "
      IF (V(1) .GT. 0.4D0) THEN
        V(1) = V(1)*V(1)*A
        IF (V(1) .GT. 0.1D0) V(1) = V(1)*V(2)
      ELSE
        V(1) = SIN(V(1))
      END IF
      V(1) = V(1)*V(1)
",
            "BRANCH",
        ),
        (
            "
      K = 2
      SELECT CASE (K)
      CASE (1)
        K = 3
        V(1) = V(1)*V(1)*A
      CASE (2)
        K = 4
        V(1) = EXP(V(1)*A)
      END SELECT
      V(K) = V(K)*V(1)*V(1)
",
            "BRANCH",
        ),
    ];
    for (body, kept) in cases {
        let text = adjoint(body);
        assert!(text.contains(kept) && !text.contains("TAPE"), "{text}");
    }
}

#[test]
fn what_happens_again_is_on_a_tape() {
    let cases = [
        "
      K = 0
   10 V(1) = V(1)*V(1)*0.3D0 + A
      K = K + 1
      IF (K .LT. 3) GOTO 10
      V(1) = V(1)*V(1)
",
        "
      DO WHILE (V(1) .LT. 5D0)
        V(1) = V(1)*V(1) + A
      END DO
      IF (V(1) .LT. 100D0) V(1) = V(1)*V(1)
",
        "
      DO I = 1, 2
        IF (V(1) .GT. 0.4D0) THEN
          V(1) = V(1)*V(1)*A
        ELSE
          V(1) = SIN(V(1))
        END IF
      END DO
      V(1) = V(1)*V(1)
",
    ];
    for body in cases {
        let text = adjoint(body);
        assert!(text.contains("TAPE"), "{text}");
    }
}

#[test]
fn zeros_are_set_where_they_are_used() {
    let body = "
      DOUBLE PRECISION T(5)
      IF (A .GT. 0.5D0) THEN
        DO I = 1, 5
          T(I) = A*V(I)
        END DO
        V(4) = T(1)*T(2)*T(3)*T(5)
      END IF
";
    let text = adjoint(body);
    assert!(text.contains("\n        T_G1 = 0.0D0\n"), "{text}");
    // The adjoints of both share storage: neither may be cleared after the other is in use.
    let body = "
      DOUBLE PRECISION T(2), Q(2)
      EQUIVALENCE (T(1), Q(1))
      T(1) = V(1)*A
      T(2) = V(2)*V(1)
      IF (A .GT. 0.5D0) V(3) = V(3)*Q(1)*Q(2)
      V(4) = V(4)*T(1)
";
    adjoint(body);
}

#[test]
fn divisions_by_the_same_value_share_the_reciprocal() {
    let body = "
      DOUBLE PRECISION D
      D = V(1)*V(2) + A
      V(3) = V(3)/D
      V(4) = V(4)/D
      V(5) = V(5)/D
";
    let text = adjoint(body);
    assert!(text.matches("*(1.0D0/D)").count() >= 3, "{text}");
    // In a loop, it is computed before the first iteration.
    let body = "
      DO I = 2, 5
        V(I) = V(I)/A
      END DO
";
    let text = adjoint(body);
    assert!(text.contains("*(1.0D0/A)"), "{text}");
    // A divisor that changes between the divisions, and a single division.
    let body = "
      DOUBLE PRECISION D
      D = V(1)*V(2) + A
      V(3) = V(3)/D
      D = D*V(1)
      V(4) = V(4)/D
";
    let text = adjoint(body);
    assert!(!text.contains("(1.0D0/"), "{text}");
}

#[test]
fn increments_are_joined_in_front_of_what_they_wait_for() {
    let body = "
      V(4) = V(1)*V(2)
      V(5) = V(1)*V(3)
";
    let text = adjoint(body);
    assert_eq!(text.matches("V_G1(1) = ").count(), 1, "{text}");
    // The later one reads what is assigned between them.
    let body = "
      V(4) = V(1)*V(4)
      V(5) = V(1)*V(5)*V(4)
";
    adjoint(body);
}

#[test]
fn values_that_are_assigned_at_once_need_no_temporary() {
    // The quotient is used by its own derivative.
    let merged = [
        "
      DOUBLE PRECISION Q
      Q = V(1)/V(2)
      V(3) = V(3)*Q
      V(4) = V(4) + Q*A
",
        "
      DOUBLE PRECISION Q, R
      Q = V(1)/V(2)
      R = V(2)/(V(3) + Q)
      V(4) = V(4) + R*SQRT(Q + A)
",
    ];
    for body in merged {
        let text = adjoint(body);
        assert!(!text.contains("TEMP ="), "{text}");
    }
    // The variable has another value where the derivative is computed, or before it gets this one, or gets it on some
    // paths only.
    let kept = [
        "
      DOUBLE PRECISION Q
      IF (V(1) .GT. 0.2D0) THEN
        Q = V(1)/V(2)
        V(3) = V(3)*Q
      ELSE
        Q = V(2)/(1 + V(1)*V(1))
        V(4) = V(4)*Q
      END IF
",
        "
      DOUBLE PRECISION Q
      Q = V(1)/V(2)
      V(3) = V(3)*Q
      Q = V(3)/(1 + V(2)*V(2))
      V(4) = V(4)*Q
      Q = 2
      V(5) = V(5)*Q
",
        "
      DOUBLE PRECISION Q
      Q = V(1)*A
      DO I = 1, 3
        Q = V(I)/(Q*Q + V(2))
        V(3) = V(3)*Q
        IF (I .EQ. 2) Q = V(4)/(Q + 2)
        V(5) = V(5)*Q
      END DO
      V(4) = V(4)*Q
",
        "
      DOUBLE PRECISION Q, R
      Q = V(1)/V(2)
      R = Q
      IF (V(3) .GT. 0.1D0) Q = V(3)/(V(2) + 1)
      CALL CHANGE(R)
      V(4) = V(4)*Q*R
      END
      SUBROUTINE CHANGE(R)
      DOUBLE PRECISION R
      R = R*R
",
    ];
    for body in kept {
        adjoint(body);
    }
}
