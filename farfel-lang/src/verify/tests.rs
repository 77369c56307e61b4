//! Tests that the verifier detects programs that a pass has broken, each in one way.

use super::*;
use crate::Sources;
use crate::ir::{ExprKind, StmtKind, Type};
use crate::syntax::{NoIncludes, parse};

fn read(text: &str) -> Program {
    let mut sources = Sources::new();
    let file = sources.add("a.f", text);
    let mut program = parse(&mut sources, file, None, &mut NoIncludes).program;
    let errors = crate::resolve::resolve(&mut program);
    assert!(!crate::diagnostic::any_errors(&errors), "{errors:?}");
    program
}

const TEXT: &str = "      SUBROUTINE S(X, Y, N)
      REAL A(3, 3)
      A(1, N) = X
      DO 10 I = 1, N
      IF (A(1, I) .GT. X) GOTO 10
      Y = Y + A(1, I)*T
   10 CONTINUE
      T = Y
      CALL TWO(X, Y)
      END
      SUBROUTINE TWO(P, Q)
      Q = P + Q
      P = 1
      END
";

/// Returns the errors in a program all of whose units are new.
fn errors(verifier: &Verifier, program: &Program, primals: &Primals) -> Vec<String> {
    match ir::verify(program, Level::Staged) {
        errors if errors.is_empty() => verifier.errors(program, &|_| true, primals),
        errors => errors,
    }
}

/// Returns the errors after `pass` has run.
fn broken(pass: &dyn Fn(&mut Program)) -> Vec<String> {
    turn_on();
    let mut program = read(TEXT);
    let verifier = Verifier::of(&program);
    pass(&mut program);
    errors(&verifier, &program, &Primals::default())
}

fn symbol(program: &Program, name: &str) -> SymId {
    program.units[0].symbols.find(name).unwrap()
}

#[test]
fn each_kind_of_error_is_found() {
    type Pass = Box<dyn Fn(&mut Program)>;
    let cases: Vec<(&str, Pass)> = vec![
        (
            "a jump to 20, which is not there",
            Box::new(|p| {
                ir::walk_block_mut(&mut p.units[0].body, &mut |s| {
                    if let StmtKind::Goto(label) = &mut s.kind {
                        *label = 20;
                    }
                });
            }),
        ),
        (
            "the label 10 occurs twice",
            Box::new(|p| p.units[0].body[0].label = Some(10)),
        ),
        (
            "a loop ends at 10, but its last statement is another one",
            Box::new(|p| {
                if let StmtKind::Do(d) = &mut p.units[0].body[1].kind {
                    let last = d.body.pop().unwrap();
                    d.body.insert(0, last);
                }
            }),
        ),
        (
            "an element of A with 1 subscripts, not 2",
            Box::new(|p| {
                ir::rewrite_exprs(&mut p.units[0].body, &mut |e| {
                    if let ExprKind::Element(_, subscripts) = &mut e.kind {
                        subscripts.truncate(1);
                    }
                });
            }),
        ),
        (
            "the condition is REAL, not LOGICAL",
            Box::new(|p| {
                let x = symbol(p, "X");
                ir::walk_block_mut(&mut p.units[0].body, &mut |s| {
                    if let StmtKind::LogicalIf(c, _) = &mut s.kind {
                        c.kind = ExprKind::Var(x);
                    }
                });
            }),
        ),
        (
            "arithmetic needs numbers, but this is LOGICAL",
            Box::new(|p| {
                let t = symbol(p, "T");
                p.units[0].symbols[t].ty = Some(Type::LOGICAL);
            }),
        ),
        (
            "TWO takes 2 arguments, but 1 is given",
            Box::new(|p| {
                if let StmtKind::Call(_, args) = &mut p.units[0].body[3].kind {
                    args.pop();
                }
            }),
        ),
        (
            "this is INTEGER, but TWO wants REAL here",
            Box::new(|p| {
                let n = symbol(p, "N");
                if let StmtKind::Call(_, args) = &mut p.units[0].body[3].kind {
                    args[0].kind = ExprKind::Var(n);
                }
            }),
        ),
        (
            "the call of TWO passes Y and Y, which are the same storage, and assigns it",
            Box::new(|p| {
                let y = symbol(p, "Y");
                let unit = &mut p.units[0];
                unit.origin = Origin::Derivative;
                unit.symbols[y].origin = Origin::Derivative;
                if let StmtKind::Call(_, args) = &mut unit.body[3].kind {
                    args[0].kind = ExprKind::Var(y);
                }
            }),
        ),
        (
            "T is read where nothing has given it a value",
            Box::new(|p| {
                let t = symbol(p, "T");
                let unit = &mut p.units[0];
                unit.origin = Origin::Derivative;
                unit.symbols[t].origin = Origin::Generated;
            }),
        ),
        (
            "two units named S",
            Box::new(|p| p.units.push(p.units[0].clone())),
        ),
    ];
    assert_eq!(broken(&|_| ()), Vec::<String>::new());
    for (wanted, pass) in cases {
        let found = broken(&*pass);
        assert!(
            found.iter().any(|f| f.contains(wanted)),
            "{wanted}: {found:?}"
        );
    }
}

#[test]
fn a_derivative_is_as_undefined_as_its_variable() {
    let program = |first: &str| {
        let mut program = read(&format!(
            "      SUBROUTINE S_G(X, XD, N, Y, YD)
      {first}
      IF (N .GT. 1) TD = XD
      YD = T*TD
      Y = T
      END
"
        ));
        let unit = &mut program.units[0];
        unit.origin = Origin::Derivative;
        for name in ["TD", "XD", "YD"] {
            let s = unit.symbols.find(name).unwrap();
            unit.symbols[s].origin = Origin::Derivative;
        }
        let sym = |name| unit.symbols.find(name).unwrap();
        let of = vec![(sym("TD"), sym("T")), (sym("YD"), sym("Y"))];
        let primals = Primals::of_tangents([("S_G".into(), of)]);
        let verifier = Verifier::of(&program);
        errors(&verifier, &program, &primals)
    };
    let found = program("T = X");
    assert_eq!(
        found,
        ["S_G: TD is read where not every way has given it a value"]
    );
    assert_eq!(program("IF (N .GT. 1) T = X"), Vec::<String>::new());
}

#[test]
fn what_the_user_wrote_is_no_error_of_a_pass() {
    let program = read(
        "      PROGRAM MAIN
      CALL S(1.0)
      CALL T(X, X)
      END
      SUBROUTINE S(N)
      PRINT *, N
      END
      SUBROUTINE T(A, B)
      A = B
      END
",
    );
    let mut verifier = Verifier::of(&program);
    assert!(verifier.after("nothing", &program, Level::Staged).is_ok());
}

#[test]
fn who_calls_what_has_changed_is_looked_at() {
    let mut program = read(TEXT);
    let mut verifier = Verifier::of(&program);
    let mut after = |program: &Program| {
        let found = verifier.after("test", program, Level::Staged);
        found.map_err(|d| d.message)
    };
    assert_eq!(after(&program), Ok(()));
    // Only the type of an argument changes, and nothing in its caller.
    let p = program.units[1].symbols.find("P").unwrap();
    program.units[1].symbols[p].ty = Some(Type::LOGICAL);
    let found = after(&program).unwrap_err();
    let wanted = "S: this is REAL, but TWO wants LOGICAL here";
    assert!(found.contains(wanted), "{found}");
    // The program has lost a unit.
    program.units.truncate(1);
    assert_eq!(after(&program), Ok(()));
}

#[test]
fn what_passes_said_of_the_program_is_no_error_of_theirs() {
    let text = "      SUBROUTINE S(X)
      CALL T(X)
      END
      SUBROUTINE T(N)
      N = 1
      END
";
    let program = read(&text.replace("T(X)", "G(X)"));
    let place = |text: &str| text.find("X)\n      END").unwrap() as u32;
    let after = |said: &[Diagnostic]| {
        let mut verifier = Verifier::of(&program);
        let mut bound = program.clone();
        let g = bound.units[0].symbols.find("G").unwrap();
        bound.units[0].symbols.rename(g, "T".into());
        verifier.record_diagnostics(said);
        verifier.after("test", &bound, Level::Staged)
    };
    assert!(after(&[]).is_err());
    let file = program.units[0].span.file;
    let span = Span {
        file,
        start: place(text),
        end: place(text) + 1,
    };
    let said = Diagnostic::warning(&rules::ARGUMENT_TYPE, span, "this is REAL");
    assert_eq!(after(&[said]), Ok(()));
}

/// Returns the errors in derivatives, given the pairs of each derivative and its variable.
fn tangents(text: &str, pairs: &[(&str, &[(&str, &str)])]) -> Vec<String> {
    let mut program = read(text);
    let mut primals = Vec::new();
    for (name, pairs) in pairs {
        let unit = program.units.iter_mut().find(|u| u.name == *name).unwrap();
        unit.origin = Origin::Derivative;
        let sym = |n: &str| unit.symbols.find(n).unwrap();
        let of: Vec<_> = pairs.iter().map(|(d, p)| (sym(d), sym(p))).collect();
        for (d, _) in &of {
            unit.symbols[*d].origin = Origin::Derivative;
        }
        primals.push(((*name).into(), of));
    }
    errors(
        &Verifier::of(&program),
        &program,
        &Primals::of_tangents(primals),
    )
}

#[test]
fn one_tangent_one_variable() {
    let text = "      SUBROUTINE S_G(X, XD, Y, YD, Z, ZD)
      YD = 2*XD
      Y = 2*X
      ZD = YD
      Z = Y
      END
";
    let found = |pairs: &[(&str, &str)]| tangents(text, &[("S_G", pairs)]);
    let right = [("XD", "X"), ("YD", "Y"), ("ZD", "Z")];
    assert_eq!(found(&right), Vec::<String>::new());
    assert_eq!(
        found(&[("XD", "X"), ("YD", "Y"), ("ZD", "Y")]),
        ["S_G: YD and ZD are both the derivative of Y"]
    );
    assert_eq!(
        found(&[("XD", "X"), ("XD", "Y"), ("ZD", "Z")]),
        ["S_G: XD holds the derivatives of X and Y"]
    );
}

#[test]
fn derivatives_share_storage_as_their_variables_do() {
    let found = |specs: &str| {
        let text = format!(
            "      SUBROUTINE S_G(X, XD)
      REAL A(2), AD(2)
{specs}      AD(1) = 2*XD
      AD(2) = XD
      A(1) = 2*X
      A(2) = X
      BD = AD(1)
      B = A(1)
      XD = BD
      X = B
      END
"
        );
        let pairs = [("XD", "X"), ("AD", "A"), ("BD", "B")];
        tangents(&text, &[("S_G", &pairs)])
    };
    let none = Vec::<String>::new();
    assert_eq!(found(""), none);
    assert_eq!(found("      EQUIVALENCE (A(2), B), (AD(2), BD)\n"), none);
    assert_eq!(
        found("      EQUIVALENCE (AD(2), BD)\n"),
        ["S_G: AD and BD share storage, but A and B do not"]
    );
    assert_eq!(
        found("      EQUIVALENCE (A, B)\n"),
        ["S_G: A and B share storage, but AD and BD do not"]
    );
    assert_eq!(
        found("      COMMON /C/ A, B\n      COMMON /D/ AD, BD\n"),
        none
    );
    assert_eq!(
        found("      COMMON /C/ A, B\n      COMMON /D/ AD\n      EQUIVALENCE (AD, BD)\n"),
        ["S_G: AD and BD share storage, but A and B do not"]
    );
}

#[test]
fn calls_pass_tangents_beside_their_variables() {
    let found = |args: &str| {
        let text = format!(
            "      SUBROUTINE S_G(X, XD, Y, YD, N)
      REAL X(N), XD(N), Y(N), YD(N)
      T = 1
      TD = 0
      CALL F_G({args})
      END
      SUBROUTINE F_G(A, AD, B, BD)
      BD = 2*AD
      B = 2*A
      END
"
        );
        let outer = [("XD", "X"), ("YD", "Y"), ("TD", "T")];
        let inner = [("AD", "A"), ("BD", "B")];
        tangents(&text, &[("S_G", &outer), ("F_G", &inner)])
    };
    let none = Vec::<String>::new();
    assert_eq!(found("X(1), XD(1), Y(2), YD(2)"), none);
    assert_eq!(found("X(1) + 1, XD(1), Y(2), YD(2)"), none);
    assert_eq!(
        found("X(1), YD(1), Y(2), YD(2)"),
        ["S_G: the call of F_G passes YD for the derivative of X"]
    );
    assert_eq!(
        found("T, TD, Y(2), XD(2)"),
        ["S_G: the call of F_G passes XD for the derivative of Y"]
    );
}

/// Returns the errors if `S_G` makes a call that the user's text does not contain.
fn generated_call(call: &str, callee: &str) -> Vec<String> {
    let text = format!(
        "      SUBROUTINE S_G(X, XD, Y)
      COMMON /C/ C
      COMMON /C_G/ CD, ED(2)
      CD = XD
      {call}
      Y = X + C
      END
      SUBROUTINE S(X)
      COMMON /C/ C
      CALL USER(C)
      END
      SUBROUTINE USER(P)
      COMMON /C/ C
      C = 2*P
      END
{callee}"
    );
    let mut program = read(&text);
    let unit = &mut program.units[0];
    unit.origin = Origin::Derivative;
    for name in ["CD", "ED", "XD"] {
        let s = unit.symbols.find(name).unwrap();
        unit.symbols[s].origin = Origin::Derivative;
    }
    errors(&Verifier::of(&program), &program, &Primals::default())
}

#[test]
fn calls_that_pass_what_is_in_common() {
    let callee = |common: &str, body: &str| {
        format!(
            "      SUBROUTINE T(P)
      COMMON /C_G/ {common}
      {body}
      END
      SUBROUTINE PASSES(Q)
      CALL T(Q)
      END
      SUBROUTINE SETS
      COMMON /C_G/ D, E(2)
      D = 1
      END
      SUBROUTINE BOTH(Q)
      CALL T(Q)
      CALL SETS
      END
"
        )
    };
    let error = |name: &str| {
        let what = "which is in COMMON there, too, and assigned";
        vec![format!("S_G: the call of {name} passes CD, {what}")]
    };
    let none = Vec::<String>::new();
    let whole = "D, E(2)";
    // One is assigned and the other is used, either way round.
    assert_eq!(
        generated_call("CALL T(CD)", &callee(whole, "D = D + P")),
        error("T")
    );
    assert_eq!(
        generated_call("CALL T(CD)", &callee(whole, "P = P + D")),
        error("T")
    );
    assert_eq!(
        generated_call("CALL T(CD)", &callee("G(3)", "G(1) = P")),
        error("T")
    );
    assert_eq!(
        generated_call("CALL PASSES(CD)", &callee(whole, "D = P")),
        error("PASSES")
    );
    // Through a procedure that is called.
    let calls = callee(whole, "CALL SETS\n      P = P + 1");
    assert_eq!(generated_call("CALL T(CD)", &calls), error("T"));
    // Nothing is assigned, or the other one is not used, or the storage is different.
    assert_eq!(
        generated_call("CALL T(CD)", &callee(whole, "X = P + D")),
        none
    );
    assert_eq!(generated_call("CALL T(CD)", &callee(whole, "P = 1")), none);
    assert_eq!(
        generated_call("CALL T(CD)", &callee(whole, "E(1) = P")),
        none
    );
    assert_eq!(generated_call("CALL T(XD)", &callee(whole, "D = P")), none);
    // Passed on to one procedure after the other.
    assert_eq!(
        generated_call("CALL BOTH(CD)", &callee("F(3)", "P = P + 1")),
        none
    );
}

#[test]
fn what_the_user_passes_of_common_derivatives_do_too() {
    let broken = |origin: Origin| {
        let text = "      SUBROUTINE S_G(X)
      COMMON /C/ C
      CALL USER(C)
      END
      SUBROUTINE USER(P)
      COMMON /C/ C
      C = 2*P
      END
";
        let mut program = read(text);
        let mut source = program.units[0].clone();
        let unit = &mut program.units[0];
        unit.origin = Origin::Derivative;
        let c = unit.symbols.find("C").unwrap();
        unit.symbols[c].origin = Origin::Derivative;
        source.name = "S".into();
        source.origin = origin;
        program.units.push(source);
        let verifier = Verifier::of(&program);
        let new = |u: &Unit| u.name == "S_G";
        verifier.errors(&program, &new, &Primals::default())
    };
    assert_eq!(broken(Origin::Written), Vec::<String>::new());
    assert_eq!(broken(Origin::Derivative).len(), 1);
}
