//! Units compute the same after jumps have been removed.

mod generate;
mod table;

use crate::support::{FAST, run};
use farfel_ad::passes::{Form, Forms, Goal, legalise};
use farfel_lang::callgraph::ReachableUnits;
use farfel_lang::ir::{Program, StmtKind, walk_block};
use farfel_lang::print::{Options, print_program};
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{self, NoIncludes, parse};
use farfel_lang::{Diagnostic, Sources};
use std::borrow::Cow;

/// Reads a program, which must have no errors.
fn read(text: &str) -> Program {
    let mut sources = Sources::new();
    let file = sources.add("test.f", text);
    let parsed = parse(
        &mut sources,
        file,
        Some(syntax::Form::Fixed),
        &mut NoIncludes,
    );
    let mut program = parsed.program;
    let mut errors = parsed.diagnostics;
    errors.extend(resolve(&mut program));
    errors.retain(|d| d.is_error());
    assert!(errors.is_empty(), "{errors:#?}\n{text}");
    program
}

/// Removes the jumps below `head` from a program.
fn structure(program: &Program, head: &str) -> Result<Program, Vec<Diagnostic>> {
    let goal = Goal {
        heads: &[head],
        request: None,
        named: &[],
        tag: "",
    };
    let forms = Forms::of(&[Form::NoJumps]);
    Ok(legalise(Cow::Borrowed(program), forms, &goal)?
        .program
        .into_owned())
}

/// Removes the jumps below `head` from a text.
fn without_jumps(text: &str, head: &str) -> String {
    let made = structure(&read(text), head).unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
    for u in ReachableUnits::of(&made, [head]).units {
        walk_block(&u.body, &mut |s| {
            let jumps = matches!(
                s.kind,
                StmtKind::Goto(_)
                    | StmtKind::ComputedGoto(..)
                    | StmtKind::AssignedGoto(..)
                    | StmtKind::AssignLabel(..)
                    | StmtKind::ArithmeticIf(..)
                    | StmtKind::Return(_)
                    | StmtKind::Cycle(_)
                    | StmtKind::Exit(_)
                    | StmtKind::Entry(_)
                    | StmtKind::Continue
            );
            assert!(!jumps, "{:?}\n{text}", s.kind);
            assert!(
                s.label.is_none() || matches!(s.kind, StmtKind::Format(_)),
                "{:?}\n{text}",
                s.kind
            );
        });
    }
    print_program(&made, &Options::default())
}

/// Checks that a program prints the same before and after.
fn same(text: &str) {
    let after = without_jumps(text, "P");
    // Without floating-point traps, since there are NaNs.
    let checked = &["-O0", "-fcheck=all"];
    let expected = run(text, checked);
    assert!(!expected.trim().is_empty(), "prints nothing\n{text}");
    for flags in [checked, FAST] {
        let got = run(&after, flags);
        assert_eq!(got, expected, "{text}\n{after}");
    }
}

#[test]
fn programs_of_the_table_print_the_same() {
    same(&table::program());
}

/// Random subprograms with jumps of all kinds.
#[test]
fn random_programs_print_the_same() {
    let from = |name: &str, or: u64| {
        let found = std::env::var(name).ok().and_then(|v| v.parse().ok());
        found.unwrap_or(or)
    };
    let (cases, seed) = (from("FARFEL_CASES", 16), from("FARFEL_SEED", 1));
    let mut done = 0;
    while done < cases {
        let n = (cases - done).min(40);
        same(&generate::program(n, seed + done));
        done += n;
    }
}

/// Typical library code: counted loops stay as they are, and few variables are added.
#[test]
fn typical_patterns() {
    let text = include_str!("structure/patterns.f");
    let made = read(text).units.into_iter().fold(read(text), |p, u| {
        structure(&p, &u.name).unwrap_or_else(|e| panic!("{e:#?}"))
    });
    insta::assert_snapshot!(print_program(&made, &Options::default()));
}

/// Many jumps across each other do not exhaust the memory.
#[test]
fn very_many_jumps() {
    let jumps = |n: usize| {
        let tests: String = (0..n)
            .map(|i| format!("      IF (X .EQ. {i}) GOTO 10\n      X = X + 1\n"))
            .collect();
        format!("      SUBROUTINE H(X)\n{tests}      X = 5\n   10 X = X*2\n      END\n")
    };
    without_jumps(&jumps(100), "H");
    let errors = structure(&read(&jumps(3000)), "H").unwrap_err();
    assert_eq!(errors[0].message, "H has too many jumps over each other");
}

/// What cannot be restructured is reported at its place.
#[test]
fn errors() {
    let head = "      SUBROUTINE H(X)\n      EXTERNAL G\n";
    for (body, expected) in [
        (
            "      CALL G(X, *10)\n   10 X = 1\n",
            "G, which gets alternate returns, is not in the program",
        ),
        ("      GOTO L\n", "no ASSIGN gives this GOTO a label"),
    ] {
        let text = format!("{head}{body}      END\n");
        let errors = structure(&read(&text), "H").expect_err(&text);
        let found: Vec<&str> = errors.iter().map(|d| d.message.as_str()).collect();
        assert_eq!(found, [expected], "{text}");
        assert!(
            text[errors[0].span.start as usize..]
                .starts_with(body.trim().split('\n').next().unwrap())
        );
    }
}
