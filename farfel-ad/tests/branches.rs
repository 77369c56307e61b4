//! How the reverse sweep finds the arm of a branch, and what it executes there. Each adjoint is compared with
//! differences.

mod support;
use support::differences::adjoint;

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
