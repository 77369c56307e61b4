//! Calls in loops that overwrite slices of arrays: adjoints keep the slice, where it is known, and the whole array
//! elsewhere. Each is compared with differences.

use crate::support::differences::adjoint;

/// F with a loop over slices that SET overwrites; D is an argument of SET, or in COMMON.
fn with_loop(declarations: &str, call: &str) -> String {
    format!(
        "
      DOUBLE PRECISION D(4, 5)
{declarations}      N = 0
      DO I = 1, 4
        DO K = 1, 5
          D(I, K) = 0.1D0*I*K
        END DO
      END DO
      DO IT = 1, 3
        DO K = 1, 5
          V(K) = V(K)*V(1)*D(2, K)
{call}          DO I = 1, 4
            V(K) = V(K)*(1D0 + 0.1D0*D(I, K)) + D(I, 2)*A*V(K)
          END DO
        END DO
      END DO
"
    )
}

#[test]
fn slices_of_arguments_and_of_common_blocks() {
    let of_argument = "      END
      SUBROUTINE SET(D, K, N)
      DOUBLE PRECISION D(4, 5)
      CALL DEEPER(K, D, N)
      END
      SUBROUTINE DEEPER(L, E, N)
      DOUBLE PRECISION E(4, 5)
      N = N + 1
      DO I = 1, 4, 2
        E(I, L) = 0.2D0*N
        IF (N .GT. 7) E(I + 1, L) = 0.3D0*I
      END DO
";
    let of_common = "      END
      SUBROUTINE SET(K, N)
      COMMON /C/ E
      DOUBLE PRECISION E(4, 5)
      N = N + 1
      DO I = 1, 4
        E(I, K) = 0.2D0*N/I
      END DO
";
    let argument = with_loop("", "          CALL SET(D, K, N)\n") + of_argument;
    let common = with_loop("      COMMON /C/ D\n", "          CALL SET(K, N)\n") + of_common;
    for body in [argument, common] {
        let text = adjoint(&body);
        assert!(text.contains("= D(1:4, "), "{text}");
    }
}

#[test]
fn whole_arrays_where_the_slice_is_not_known() {
    // The argument changes; two slices; another shape; an element that is passed on; a slice that is not the same in the
    // reverse sweep.
    let cases = [
        (
            "K",
            "      DOUBLE PRECISION D(4, 5)\n      L = MOD(K*3, 5) + 1\n      D(1, L) = 0.02D0*N",
        ),
        (
            "K",
            "      DOUBLE PRECISION D(4, 5)\n      D(1, K) = 0.02D0*N\n      D(2, 3) = 0.04D0*N",
        ),
        (
            "K",
            "      DOUBLE PRECISION D(2, 10)\n      D(2, K) = 0.02D0*N",
        ),
        (
            "K",
            "      DOUBLE PRECISION D(4, 5)\n      CALL ONE(D(2, K), N)",
        ),
        (
            "J",
            "      DOUBLE PRECISION D(4, 5)\n      D(3, K) = 0.02D0*N",
        ),
    ];
    for (argument, set) in cases {
        let call = format!(
            "          J = MOD(K + IT, 5) + 1\n          N = N + 1\n          CALL SET(D, {argument}, N)\n"
        );
        let body = with_loop("", &call)
            + "      END\n      SUBROUTINE SET(D, K, N)\n"
            + set
            + "\n      END\n      SUBROUTINE ONE(E, N)\n      DOUBLE PRECISION E\n      E = 0.02D0*N\n";
        adjoint(&body);
    }
}

/// Nothing is assigned where the slice would be outside of the array.
#[test]
fn slices_outside_of_the_array() {
    let text = adjoint(
        "
      DOUBLE PRECISION D(4, 5)
      N = 0
      DO I = 1, 4
        DO K = 1, 5
          D(I, K) = 0.1D0*I*K
        END DO
      END DO
      DO IT = 1, 3
        DO K = 0, 7
          V(1) = V(1) + 0.1D0*V(2)*D(3, 2)*D(1, 5)
          CALL SET(D, K, N)
          V(3) = V(3)*(1D0 + 0.1D0*A*D(1, 5))*(1D0 + 0.1D0*D(3, 2))
        END DO
      END DO
      END
      SUBROUTINE SET(D, K, N)
      DOUBLE PRECISION D(4, 5)
      N = N + 1
      IF (K .LT. 1) RETURN
      DO I = 1, 4
        IF (K .LT. 6) D(I, K) = 0.02D0*N/I
      END DO
",
    );
    assert!(text.contains("MIN(5, K)"), "{text}");
}

/// The reverse sweep needs the argument that selects the slice, which nothing else in it does.
#[test]
fn slices_by_an_argument_that_the_caller_changes() {
    adjoint(
        "
      DOUBLE PRECISION D(4, 5, 3)
      N = 0
      DO I = 1, 4
        DO K = 1, 5
          DO J = 1, 3
            D(I, K, J) = 0.1D0*I*K/J
          END DO
        END DO
      END DO
      J = 1
      DO IT = 1, 4
        CALL LEVELS(D, J, N)
        DO K = 1, 5
          V(K) = V(K)*(1 + V(1)*D(2,K,1)*D(3,K,2)*D(1,K,3)/10)
        END DO
        J = MOD(J, 3) + 1
        V(1) = V(1)*A
      END DO
      END
      SUBROUTINE LEVELS(D, J, N)
      DOUBLE PRECISION D(4, 5, 3)
      DO K = 1, 5
        CALL SET(D, K, J, N)
      END DO
      END
      SUBROUTINE SET(D, K, J, N)
      DOUBLE PRECISION D(4, 5, 3)
      N = N + 1
      DO I = 1, 4
        D(I, K, J) = 0.02D0*N/I
      END DO
",
    );
    adjoint(
        "
      DOUBLE PRECISION D(4, 5, 3), Y
      COMMON /C/ D, N
      N = 0
      DO I = 1, 4
        DO K = 1, 5
          DO J = 1, 3
            D(I, K, J) = 0.1D0*I*K/J
          END DO
        END DO
      END DO
      J = 1
      Y = A
      DO IT = 1, 4
        CALL LEVELS(V, J)
        J = MOD(J, 3) + 1
        V(1) = V(1)*A
      END DO
      END
      SUBROUTINE LEVELS(V, J)
      DOUBLE PRECISION D(4, 5, 3), V(5)
      COMMON /C/ D, N
      DO K = 1, 5
        V(K) = V(K)*(1 + V(1)*D(2,K,1)*D(3,K,2)*D(1,K,3)/10)
        CALL SET(K, J)
      END DO
      END
      SUBROUTINE SET(K, J)
      DOUBLE PRECISION D(4, 5, 3)
      COMMON /C/ D, N
      N = N + 1
      DO I = 1, 4
        D(I, K, J) = 0.02D0*N/I
      END DO
",
    );
}
