//! Calls that change only slices of arrays, or nothing unless a flag is set: adjoints keep no more than that, for calls of
//! which only the values matter and for calls that are executed again. Each is compared with differences.

use crate::support::differences::{adjoint, program};
use crate::support::{CHECKED, FAST, compare, expand, run};

/// F changes the flag ON between its calls of STEP, which changes D in COMMON. D is needed between them.
fn with_flag(step: &str) -> String {
    format!(
        "
      DOUBLE PRECISION D(600)
      COMMON /C/ D
      COMMON /L/ ON, M
      LOGICAL ON
      DO I = 1, 600
        D(I) = 0.001D0*I
      END DO
      ON = .FALSE.
      M = 0
      DO IT = 1, 5
        V(1) = V(1)*D(3)*A + V(2)*D(600)
        CALL STEP(IT)
        V(2) = V(2)*(1D0 + D(3)*V(1))
        IF (MOD(IT, 2) .EQ. 0) ON = .NOT. ON
        M = M + 1
      END DO
      V(3) = V(2)*D(3)
      END
      SUBROUTINE STEP(IT)
      DOUBLE PRECISION D(600)
      COMMON /C/ D
      COMMON /L/ ON, M
      LOGICAL ON
{step}"
    )
}

#[test]
fn nothing_is_kept_where_a_flag_is_not_set() {
    let cases = [
        "      IF (ON) D(3) = 0.2D0*IT\n",
        "      IF (ON) THEN\n        DO I = 1, 600, 2\n          D(I) = 0.1D0*IT\n        END DO\n      END IF\n",
        "      IF (.NOT. ON) THEN\n        M = M + 1\n      ELSE IF (IT .GT. 1) THEN\n        D(3) = 0.2D0*IT\n      END IF\n",
        "      IF (IT .EQ. 1 .OR. .NOT. ON) THEN\n        M = M + 1\n      ELSE\n        CALL DEEP(IT)\n      END IF
      END\n      SUBROUTINE DEEP(IT)\n      DOUBLE PRECISION D(600)\n      COMMON /C/ D\n      D(3) = 0.3D0*IT\n",
        "      IF (IT .GT. 0) CALL DEEP(IT)
      END\n      SUBROUTINE DEEP(IT)\n      DOUBLE PRECISION D(600)\n      COMMON /C/ D\n      COMMON /L/ ON, M\n      LOGICAL ON
      IF (ON .AND. IT .GT. 1) D(3) = 0.3D0*IT\n",
        "      IF (.NOT. ON) RETURN\n      D(3) = 0.2D0*IT\n",
    ];
    for step in cases {
        let text = adjoint(&with_flag(step));
        let saves = text.find("IF (ON)").expect(&text);
        assert!(text[saves..].contains("= D"), "{text}");
    }
}

/// A procedure without source changes the flag before the reverse sweep begins, which must find what was saved.
#[test]
fn flags_that_a_procedure_without_source_changes() {
    let body = with_flag("      IF (ON) D(3) = 0.2D0*IT\n").replace(
        "      V(3) = V(2)*D(3)\n",
        "      V(3) = V(2)*D(3)\n!farfel: external(TURN(K), reads = (K))\n      CALL TURN(1)\n",
    );
    let text = expand(&program(&body)).unwrap();
    assert!(text.contains("IF (ON)"), "{text}");
    let hidden = "
      SUBROUTINE TURN(K)
      COMMON /L/ ON, M
      LOGICAL ON
      ON = .NOT. ON
      END
";
    for flags in [CHECKED, FAST] {
        compare(&run(&format!("{text}{hidden}"), flags), 1e-6, &text);
    }
}

#[test]
fn flags_that_do_not_tell_whether_an_array_changes() {
    let cases = [
        // It changes where the flag is not set as well.
        "      IF (ON) D(3) = 0.2D0*IT\n      IF (IT .EQ. 3) D(600) = 0.5D0\n",
        "      IF (ON) THEN\n        D(3) = 0.2D0*IT\n      ELSE\n        D(600) = 0.3D0*IT\n      END IF\n",
        "      IF (ON .OR. IT .EQ. 3) D(3) = 0.2D0*IT\n",
        // The flag changes.
        "      ON = .TRUE.\n      IF (ON) D(3) = 0.2D0*IT\n      ON = .FALSE.\n",
        "      IF (ON) D(3) = 0.2D0*IT\n      CALL FLIP
      END\n      SUBROUTINE FLIP\n      COMMON /L/ OTHER, M\n      LOGICAL OTHER\n      OTHER = .NOT. OTHER\n",
    ];
    for step in cases {
        let text = adjoint(&with_flag(step));
        assert!(!text.contains("IF (ON)"), "{text}");
    }
}

/// A call with a flag that is executed again; it reads the array whatever the flag is.
#[test]
fn flags_of_calls_that_are_executed_again() {
    for read in ["D(3)", "D(600)"] {
        let body = format!(
            "
      DOUBLE PRECISION D(600)
      COMMON /C/ D
      COMMON /L/ ON
      LOGICAL ON
      DO I = 1, 600
        D(I) = 0.001D0*I
      END DO
      ON = .FALSE.
      DO IT = 1, 5
        CALL STEP(IT, V)
        IF (IT .EQ. 3) D(600) = D(600)*V(1)
        ON = MOD(IT, 3) .NE. 0
        D(3) = D(3) + 0.1D0*V(2)*A
      END DO
      V(3) = V(2)*D(3)
      END
      SUBROUTINE STEP(IT, V)
!farfel: checkpoint
      DOUBLE PRECISION D(600), V(5)
      COMMON /C/ D
      COMMON /L/ ON
      LOGICAL ON
      V(1) = V(1)*(1D0 + {read}*V(2)) + V(2)*D(599)
      IF (ON) THEN
        D(599) = D(3)*0.5D0 + 0.2D0*IT*V(1)
        D(3) = D(3)*V(2)
      END IF
      V(2) = V(2)*(1D0 - D(599)*V(4))
"
        );
        let text = adjoint(&body);
        assert!(text.contains("IF (ON)"), "{text}");
    }
}

/// Slices of calls that are executed again. They read other slices, which change elsewhere.
#[test]
fn slices_of_calls_that_are_executed_again() {
    let step = |change: &str| {
        format!(
            "
      DOUBLE PRECISION D(4, 5)
      DO I = 1, 4
        DO K = 1, 5
          D(I, K) = 0.1D0*I*K
        END DO
      END DO
      DO IT = 1, 3
        DO K = 1, 5
          V(1) = V(1)*(1D0 + 0.1D0*D(1, 6 - K))
          CALL STEP(D, K, V)
          V(K) = V(K)*D(2, K)
          D(2, 6 - K) = D(2, 6 - K)*(1D0 + 0.01D0*V(3)*A)
        END DO
        D(4, IT) = 0.3D0*V(2)
      END DO
      V(2) = V(2)*D(3, 2)
      END
      SUBROUTINE STEP(D, K, V)
!farfel: checkpoint
      DOUBLE PRECISION D(4, 5), V(5)
      T = 0
      DO L = 1, 5
        V(K) = V(K) + 0.1D0*D(2, L)*D(4, L)*V(L)
      END DO
{change}      V(K) = V(K)*(1D0 + 0.1D0*D(3, K))
"
        )
    };
    let known = [
        "      DO I = 1, 4\n        D(I, K) = 0.2D0*V(1)/I + D(I, K)*0.1D0\n      END DO\n",
        "      CALL SET(D(1, K), V)
      V(4) = V(4)*D(1, K)*D(4, K)
      END
      SUBROUTINE SET(E, V)
      DOUBLE PRECISION E(4), V(5)
      DO I = 1, 4
        E(I) = 0.2D0*V(1)/I + E(I)*0.1D0
      END DO
      END
      SUBROUTINE UNUSED(D, K, V)
      DOUBLE PRECISION D(4, 5), V(5)
",
    ];
    for change in known {
        let text = adjoint(&step(change));
        assert!(text.contains("D(1:4, "), "{text}");
    }
    // Two columns; parts of two columns; an array of unknown size.
    let unknown = [
        ("D(1, K)", "E(6)", "MIN(4, 20 - 4*(K - 1))"),
        ("D(2, K)", "E(4)", "MIN(4, 19 - 4*(K - 1))"),
        ("D(1, K)", "E(*)", "MIN(6, 20 - 4*(K - 1))"),
    ];
    for (passed, declared, n) in unknown {
        let change = format!(
            "      CALL SET({passed}, V, {n})
      V(4) = V(4)*D(1, K)*D(4, K)
      END
      SUBROUTINE SET(E, V, N)
      DOUBLE PRECISION {declared}, V(5)
      DO I = 1, N
        E(I) = 0.2D0*V(1)/I + E(I)*0.1D0
      END DO
      END
      SUBROUTINE UNUSED(D, K, V)
      DOUBLE PRECISION D(4, 5), V(5)
"
        );
        adjoint(&step(&change));
    }
}

/// Elements that begin slices, in calls of which only the values matter.
#[test]
fn slices_that_begin_with_an_element_that_is_passed() {
    for (first, size, known) in [
        ("1, K, J", 4, true),
        ("1, K, J", 3, true),
        ("1, 1, J", 20, true),
        ("1, 1, J", 9, true),
        ("2, K, J", 3, false),
        ("1, K, J", 5, false),
    ] {
        let text = adjoint(&format!(
            "
      DOUBLE PRECISION D(4, 5, 3)
      DO I = 1, 4
        DO K = 1, 5
          DO J = 1, 3
            D(I, K, J) = 0.1D0*I*K/J
          END DO
        END DO
      END DO
      DO J = 1, 2
        DO K = 1, 5
          V(K) = V(K)*(1 + V(1)*D(2,K,1)*D(3,K,2)*D(1,K,3)/10)
          CALL SET(D({first}), K + J)
          V(1) = V(1)*A + V(K)*D(4,1,1)*D(1,2,2)
        END DO
      END DO
      END
      SUBROUTINE SET(E, N)
      DOUBLE PRECISION E({size})
      DO I = 1, {size}
        E(I) = 0.02D0*N/I
      END DO
"
        ));
        assert_eq!(text.contains("MIN(3, J)"), known, "{first} {size}\n{text}");
    }
}

/// STEP reads and changes D, which F changes as well. What the reverse sweep of STEP reads must be there again.
fn with_step(declarations: &str, call: &str, step: &str) -> String {
    format!(
        "
      DOUBLE PRECISION D(4, 5)
{declarations}      KK = 2
      DO I = 1, 4
        DO K = 1, 5
          D(I, K) = 0.1D0*I*K
        END DO
      END DO
      DO IT = 1, 2
        DO K = 1, 5
          J = 6 - K
{call}          IF (KK .GT. 1) D(2, KK - 1) = D(2, KK - 1)*0.8D0
          IF (KK .LT. 5) D(4, KK + 1) = D(4, KK + 1)*0.7D0
          D(2, 3) = D(2, 3)*1.01D0
          IF (K .LT. 5) D(4, K + 1) = 0.2D0*IT*K
          D(3, J) = D(3, J) + 0.01D0*V(1)*A
          KK = MOD(KK + K, 5) + 1
        END DO
        D(1, 4) = 0.3D0*IT
      END DO
      V(2) = V(2)*D(3, 2)
      END
{step}"
    )
}

#[test]
fn slices_that_reverse_sweeps_read() {
    let argument = |body: &str| {
        format!(
            "      SUBROUTINE STEP(D, K, V)\n      DOUBLE PRECISION D(4, 5), V(5), T\n      COMMON /K/ KK\n{body}"
        )
    };
    let read = [
        // Before and after it changes the slice.
        "      V(K) = V(K)*D(2, K)*D(4, K)\n      DO I = 1, 4\n        D(I, K) = 0.2D0*K/I + 0.1D0*V(1)\n      END DO\n      V(1) = V(1)*D(2, K)\n",
        "      DO I = 1, 4, 2\n        D(I, K) = D(I, K)*1.1D0\n      END DO\n      V(1) = V(1)*(D(1, K) + D(2, K)*V(K))\n",
        // Two slices, which overlap for some arguments.
        "      V(K) = V(K)*D(2, K)*D(2, 3)\n      D(2, K) = 0.4D0*K\n",
        "      V(K) = V(K)*D(2, K)\n      D(2, 6 - K) = 0.4D0*K\n",
        // The slice depends on a variable that changes.
        "      V(K) = V(K)*D(2, KK)\n      D(1, KK) = 0.4D0*K\n",
        "      L = MOD(K, 5) + 1\n      V(K) = V(K)*D(2, L)\n      D(2, L) = 0.4D0*K\n",
        "      V(1) = V(1)*D(2, K)\n      D(2, K) = 0.4D0*K\n      V(2) = V(2)*D(2, K)\n      KK = KK + 1\n      IF (KK .GT. 5) KK = 1\n      V(3) = V(3)*D(4, KK)\n",
        // Many elements.
        "      DO I = 1, 3
        T = D(I, K) + D(I + 1, K)*V(1) - D(4 - I, K)
        V(K) = V(K)*0.5D0 + 0.01D0*T*D(1 + MOD(2*I, 4), K)
        V(I) = V(I) + 0.01D0*D(4, K)*V(K)*D(5 - I, K)
        V(I) = V(I) + 0.01D0*D(1 + MOD(I, 4), K)*D(1, K)*V(2)
        V(I + 1) = V(I + 1)*(1D0 - 0.01D0*D(3, K)*D(2, K))
        D(I, K) = D(I, K)*0.9D0
      END DO\n",
        // Through another call.
        "      CALL DEEP(K, D, V)
      V(5) = V(5)*D(1, K)
      END
      SUBROUTINE DEEP(L, E, V)
      DOUBLE PRECISION E(4, 5), V(5)
      V(L) = V(L)*E(2, L)*E(3, L)
      E(2, L) = 0.3D0*L
      V(L) = V(L)*E(2, L)\n",
        // Through a call with an element, of a size that is passed.
        "      CALL DEEP(4, D(1, K), V)
      V(5) = V(5)*D(1, K)
      END
      SUBROUTINE DEEP(N, E, V)
      DOUBLE PRECISION E(N), V(5)
      V(1) = V(1)*E(2)*E(3)
      E(2) = 0.3D0*N
      V(1) = V(1)*E(2)\n",
        "      CALL DEEP(3 + K/5, D(1, K), V)
      V(5) = V(5)*D(1, K)
      END
      SUBROUTINE DEEP(N, E, V)
      DOUBLE PRECISION E(N), V(5)
      V(1) = V(1)*E(2)*E(N)
      E(N) = 0.3D0*N
      V(1) = V(1)*E(N)\n",
    ];
    for body in read {
        for call in ["K", "J", "KK", "6 - K"] {
            let call = format!("          CALL STEP(D, {call}, V)\n");
            // A call may not change the variable of its own argument.
            if call.contains("KK") && body.contains("KK = ") {
                continue;
            }
            adjoint(&with_step("      COMMON /K/ KK\n", &call, &argument(body)));
        }
    }
}

/// The variable that selects a slice changes in the call, which gets its value before.
#[test]
fn slices_by_a_value_that_a_call_changes() {
    for call in ["KK + 0", "(KK)"] {
        adjoint(&format!(
            "
      DOUBLE PRECISION D(4, 5)
      COMMON /K/ KK
      DO I = 1, 4
        DO K = 1, 5
          D(I, K) = 0.1D0*I*K
        END DO
      END DO
      KK = 2
      CALL STEP(D, {call}, V)
      D(2, KK - 1) = 0.3D0*A
      V(1) = V(1)*D(2, 2)
      END
      SUBROUTINE STEP(D, K, V)
      DOUBLE PRECISION D(4, 5), V(5)
      COMMON /K/ KK
      V(K) = V(K)*D(2, K)*D(4, K)
      KK = KK + 1
"
        ));
    }
}

/// All values that a call that is executed again starts from, and what is needed from before it, are kept once.
#[test]
fn what_is_needed_twice_is_kept_once() {
    let text = adjoint(
        "
      DOUBLE PRECISION D(30), E(30), S
      DO I = 1, 30
        D(I) = 0.01D0*I
        E(I) = 0.02D0*I
      END DO
      S = 0.5D0
      DO IT = 1, 4
        V(1) = V(1)*D(3)*S*E(30 - IT)
        CALL STEP(D, E, S, IT, V)
        V(2) = V(2)*D(30)*S + E(7)*A
      END DO
      END
      SUBROUTINE STEP(D, E, S, IT, V)
!farfel: checkpoint
      DOUBLE PRECISION D(30), E(30), S, V(5)
      DO I = 2, 30
        D(I) = D(I)*0.9D0 + 0.1D0*D(I - 1)*V(3)*S
        S = S + 0.01D0*D(I)*E(I)
        E(I) = E(I) + S*0.1D0
      END DO
      V(4) = V(4)*D(30)*E(3)
",
    );
    for saved in ["= D", "= E", "= S"] {
        let count = text
            .lines()
            .filter(|l| l.contains("TAPE") && l.contains(saved));
        assert_eq!(count.count(), 1, "{saved}\n{text}");
    }
}
