//! Tests of the reduction of programs.

use farfel_random::compiled::read;
use farfel_random::generated::{Case, Item, smaller};
use farfel_random::interpreter::{self, Options};

/// Parses lines into items; the lines of a construct or subprogram are in brackets.
fn items(lines: &mut std::str::Lines<'_>) -> Vec<Item> {
    let mut all = Vec::new();
    while let Some(line) = lines.next() {
        match line.trim() {
            "[" => all.push(Item::Group(items(lines))),
            "]" => return all,
            line => all.push(Item::Line(line.into())),
        }
    }
    all
}

/// Reduces a program that must still run and contain a text, and returns the result.
fn left(lines: &str, what: &str) -> String {
    let case = Case {
        name: "C1".into(),
        units: items(&mut lines.lines()),
    };
    let runs = |case: &Case| {
        let text = case.program();
        let read = read(&text).ok()?;
        let outcome = interpreter::run(&read.program, &Options::default()).ok();
        outcome.filter(|o| text.contains(what) && !o.output.is_empty())
    };
    assert!(runs(&case).is_some(), "{lines}");
    let small = || smaller(&case, &mut |c| runs(c).is_some()).text();
    let once = small();
    assert_eq!(once, small());
    once.lines().map(|l| l.trim().to_owned() + "\n").collect()
}

const PROGRAM: &str = "[
    SUBROUTINE C1
    IMPLICIT DOUBLE PRECISION (A-H,O-Z)
    [
    SUBROUTINE S1(X, Y, K)
    DOUBLE PRECISION T
    T = 0.5D0
    Y = T*SIN(X)**K
    END
    ]
    X = 0.25D0
    Y = 0
    [
    DO 10 I = 1, 3
    [
    IF (X .LT. 2) THEN
    X = X + 0.125D0*ATAN2(X, 1D0 + Y**2)
    CALL S1(X, Y, I)
    END IF
    ]
    10 CONTINUE
    ]
    PRINT *, X, Y
    END
    ]";

#[test]
fn statements_lose_what_is_not_needed() {
    let found = left(PROGRAM, "ATAN2(");
    // What remains: the subroutine, the function of constants, and something to print.
    assert!(found.lines().count() <= 5, "{found}");
    assert!(found.contains("=ATAN2(1D0,1D0)"), "{found}");
}

#[test]
fn arguments_go_with_what_is_passed_for_them() {
    let found = left(PROGRAM, "CALL S1");
    assert!(found.contains("SUBROUTINE S1\n"), "{found}");
    assert!(found.contains("CALL S1\n"), "{found}");
    assert!(!found.contains("DO 10"), "{found}");
    assert!(found.lines().count() <= 7, "{found}");
}

#[test]
fn declarations_stay_as_long_as_their_names() {
    let found = left(PROGRAM, "SIN(");
    // Without the declaration, T would be a variable of the host.
    let uses_t = found.matches('T').count() > 0 && found.contains("T=");
    assert!(!uses_t || found.contains("DOUBLE PRECISION T"), "{found}");
}
