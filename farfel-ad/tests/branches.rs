//! How the reverse sweep finds the arm of a branch, and what it executes there. Each adjoint is compared with
//! differences.

use crate::support::differences::adjoint;

/// The statements that open or divide a block, each with a statement behind it that divides or closes one.
fn empty_arms(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let opens = |l: &str| {
        l.starts_with("ELSE") || l.starts_with("CASE") || l.starts_with("IF") && l.ends_with("THEN")
    };
    let closes = |l: &str| {
        ["ELSE", "CASE", "END IF", "END SELECT"]
            .iter()
            .any(|w| l.starts_with(w))
    };
    let pairs = lines.windows(2).filter(|w| opens(w[0]) && closes(w[1]));
    pairs.map(|w| w[0]).collect()
}

#[test]
fn arms_without_statements_are_not_written() {
    // The first, a middle and the last arm; CASE DEFAULT; a function as a condition.
    let bodies = [
        "
      DOUBLE PRECISION T
      LOGICAL L
      DO I = 1, 3
        K = I
        T = V(I)
        IF (K .EQ. 1) THEN
          M = 3
        ELSE IF (T .GT. 0.6D0) THEN
          V(I) = T*T*A
        ELSE IF (T .GT. 0.2D0) THEN
          M = 4
        ELSE
          V(I) = T*SIN(T)
        END IF
        IF (K .EQ. 2) THEN
          M = 5
        ELSE IF (K .EQ. 3) THEN
          V(I) = V(I)*V(M)
        END IF
        L = T .GT. 0.55D0
        IF (L) THEN
          V(4) = V(4)*T
        ELSE IF (K .EQ. 2) THEN
          M = 2
        ELSE IF (K .EQ. 3) THEN
          M = 1
        END IF
      END DO
",
        "
      DO I = 1, 4
        SELECT CASE (I)
        CASE (1)
          K = 2
        CASE (2)
          V(1) = V(1)*V(2)*A
        CASE (3)
          K = 3
        CASE DEFAULT
          K = 4
        END SELECT
        SELECT CASE (I)
        CASE (3)
          K = 5
        CASE DEFAULT
          V(K) = V(K)*V(1)
        END SELECT
      END DO
",
    ];
    for body in bodies {
        let text = adjoint(body);
        let (_, reverse) = text.split_once("A_G1 = 0").unwrap_or(("", &text));
        assert_eq!(empty_arms(reverse), Vec::<&str>::new(), "{text}");
    }
}

#[test]
fn jumps_are_recorded_once() {
    // One number for the outer IF, and one for what the jump leads past, which the inner IF sets as well.
    let text = adjoint(
        "
      DO I = 1, 3
        IF (V(1) .GT. 0.4D0) THEN
          V(1) = V(1)*A
          IF (V(2) .GT. 0.6D0) GOTO 10
          V(2) = V(2)*V(1)
        ELSE
          V(1) = V(1)*V(2)
        END IF
        V(3) = V(3)*V(1)*V(2)
        V(4) = V(4)*V(3)
        V(3) = V(3)*V(4)
   10   V(5) = V(5)*V(1)
        V(2) = V(2)*V(5)
        V(5) = V(5)*V(2)
      END DO
",
    );
    let stores = text.lines().map(str::trim);
    let stores = stores.filter(|l| l.starts_with("TAPE_I4_G1(")).count();
    assert_eq!(stores, 2, "{text}");
}

/// One arm relies on what the next statement records; another one records the same variable with another value.
#[test]
fn a_variable_that_is_recorded_in_an_arm_and_behind_it() {
    adjoint(
        "
      DO I = 1, 4
        MODE = I + 1
        IF (I .NE. 2) THEN
          IF (V(2) .GT. 0.6D0) THEN
            V(2) = V(2)*V(1)
            MODE = 1
          ELSE
            V(1) = V(1)*V(2)
            MODE = 2
          END IF
        ELSE
          IF (MODE .EQ. 3) THEN
            V(3) = V(3)*V(3)
          END IF
          V(3) = V(3)*A
          MODE = 4
        END IF
        IF (MODE .EQ. 1) THEN
          V(4) = V(4)*V(1)
        END IF
        V(5) = V(5)*V(4)
      END DO
",
    );
}

#[test]
fn short_ends_of_jumps_are_copied() {
    let text = adjoint(
        "
      K = 0
      DO I = 1, 3
        IF (V(I) .GT. 0.6D0) THEN
          V(I) = V(I)*A
          IF (V(2) .GT. 0.6D0) GOTO 10
          V(2) = V(2)*V(1)
        ELSE IF (V(1) .GT. 0.8D0) THEN
          GOTO 10
        END IF
        GOTO 20
   10   K = K + 1
   20   V(5) = V(5)*V(1)*K
      END DO
",
    );
    assert!(!text.contains("IWAY"), "{text}");
}

#[test]
fn comments_of_the_source_are_not_copied() {
    let text = adjoint(
        "
C     A comment
      V(1) = V(1)*V(2)
      IF (A .GT. 0.5D0) THEN
C       Another one
        V(1) = V(1)*A*V(1)
      END IF
",
    );
    assert!(
        !text.contains("omment") && !text.contains("nother"),
        "{text}"
    );
}

/// The assignments of numbers to a variable that takes the place of jumps.
fn numbers_of(text: &str, variable: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    let numbers = lines.filter_map(|l| l.strip_prefix(variable)?.strip_prefix(" = "));
    numbers.map(str::to_owned).collect()
}

#[test]
fn the_most_frequent_value_comes_before_branches() {
    // As in the unrolled loops of BLAS: what follows is executed after two of four arms.
    let text = adjoint(
        "
      DO I = 1, 4
        IF (I .EQ. 1) THEN
          V(1) = V(1)*A
          GOTO 10
        ELSE IF (I .EQ. 2) THEN
          V(2) = V(2)*V(1)
          GOTO 20
        ELSE IF (V(3) .GT. 0.9D0) THEN
          V(3) = V(3)*V(2)
          GOTO 20
        END IF
        V(3) = V(3)*V(3)
   10   V(4) = V(4)*V(3)*V(1)
        V(3) = V(4)*V(2)
        V(2) = V(2)*V(4)
        V(1) = V(2)*V(4)
   20   V(5) = V(5)*V(4)
      END DO
",
    );
    assert_eq!(numbers_of(&text, "IWAY"), ["2", "1", "1"], "{text}");
    assert_eq!(empty_arms(&text), Vec::<&str>::new(), "{text}");
}

/// Values that a path assigns after others, in branches behind branches and in loops, stay.
#[test]
fn values_after_others_are_assigned_in_branches() {
    let bodies = [
        "
      DO I = 1, 5
        IF (I .NE. 3) THEN
          IF (V(I) .GT. 0.6D0) THEN
            V(I) = V(I)*A
            IF (V(1) .GT. 0.45D0) GOTO 20
            IF (I .EQ. 5) GOTO 10
          END IF
          V(2) = V(2)*V(1)
          IF (V(2) .LT. 0.3D0) GOTO 20
          IF (I .EQ. 2) GOTO 10
          V(3) = V(3)*V(2)
        END IF
        IF (I .EQ. 4) GOTO 20
        V(4) = V(4)*V(3)
        V(1) = V(1)*V(4)
        V(3) = V(1)*V(3)
        V(2) = V(1)*V(3)
   10   V(5) = V(5)*V(1)
        V(4) = V(5)*V(4)
        V(3) = V(5)*V(3)
        V(2) = V(5)*V(3)
   20   V(1) = V(1)*V(5)
      END DO
",
        "
      DO I = 1, 4
        DO K = 1, 5
          V(K) = V(K)*A
          IF (V(K) .LT. 0.2D0*I) GOTO 10
          IF (V(K) .GT. 0.8D0) GOTO 20
        END DO
        V(1) = V(1)*V(2)
        GOTO 20
   10   V(2) = V(2)*V(K)
        V(3) = V(2)*V(3)
        V(4) = V(2)*V(3) + V(4)
        V(5) = V(2)*V(4)
   20   V(3) = V(3) + V(1)*V(2)
      END DO
",
    ];
    for body in bodies {
        adjoint(body);
    }
}

#[test]
fn branches_in_branches_are_joined() {
    let text = adjoint(
        "
      DO I = 1, 4
        K = I
        IF (K .GT. 1) THEN
          IF (K .LT. 4) THEN
            V(K) = V(K)*V(1)
            V(1) = V(1)*V(K)
          END IF
        END IF
        IF (V(K) .GT. 0.55D0) THEN
          V(K) = V(K)*A
        ELSE
          IF (K .EQ. 1) THEN
            V(2) = V(2)*V(1)
          ELSE
            V(3) = V(3)*V(1)
          END IF
        END IF
      END DO
",
    );
    let both = "IF (K .GT. 1 .AND. K .LT. 4) THEN";
    assert_eq!(text.matches(both).count(), 2, "{text}");
    // In the forward sweep, the arm also records that it was executed.
    assert!(text.contains("ELSE IF (K .EQ. 1) THEN"), "{text}");
}

/// The second condition has no value where the first one is false: an element outside of its array, or a division by zero.
#[test]
fn conditions_that_depend_on_others_stay_apart() {
    let text = adjoint(
        "
      DO I = 0, 6
        IF (I .GE. 1 .AND. I .LE. 5) THEN
          IF (V(I) .GT. 0.55D0) THEN
            V(I) = V(I)*A
            V(1) = V(1)*V(I)
          END IF
        END IF
        IF (I .NE. 0) THEN
          IF (6/I .GT. 1) THEN
            V(2) = V(2)*V(1)
            V(1) = V(2)*V(1)
          END IF
        END IF
      END DO
",
    );
    assert!(
        !text.contains(".AND. V(I)") && !text.contains(".AND. 6/I"),
        "{text}"
    );
}

#[test]
fn variables_of_one_type_are_declared_together() {
    let text = adjoint(
        "
      DOUBLE PRECISION S
      PARAMETER (N = 3)
      DOUBLE PRECISION T(N), R
      INTEGER L
      S = V(1)*A
      DO I = 1, N
        T(I) = S*V(I)
        R = T(I)*V(I + 1)
        V(I) = R*R*S
      END DO
      L = 2
      V(L) = V(L)*S
",
    );
    let begins = |w: &str| text.lines().filter(|l| l.trim().starts_with(w)).count();
    // T has the size N, which is declared before it; the last is that of the tape.
    assert_eq!(begins("DOUBLE PRECISION"), 3, "{text}");
}
