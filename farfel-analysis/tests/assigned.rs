//! Which arguments procedures assign.

use farfel_analysis::assigned::Assigned;
use farfel_ir::Sources;
use farfel_lang::syntax::{Form, NoIncludes, parse};

fn program(text: &str) -> farfel_ir::ir::Program {
    let mut sources = Sources::new();
    let file = sources.add("a.f", text);
    let mut program = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes).program;
    let faults = farfel_lang::resolve::resolve(&mut program);
    assert!(!farfel_ir::diagnostic::any_errors(&faults), "{faults:?}");
    program
}

#[test]
fn a_function_that_a_statement_function_calls_may_assign() {
    let text = "      SUBROUTINE S(X, Y, Z)
      EXTERNAL G
      F(A) = A + G(Y)
      X = F(Z)
      END
      FUNCTION G(Y)
      Y = 1
      G = Y
      END
";
    let known = Assigned::of(&program(text));
    let found: Vec<bool> = (0..3).map(|i| known.argument("S", i)).collect();
    assert_eq!(found, [true, true, false]);
}

#[test]
fn values_are_not_assigned() {
    let text = "      SUBROUTINE S(X, Y, Z)
      CALL SET((X))
      CALL SET(Y + 0.0)
      CALL SET(%VAL(Z))
      END
      SUBROUTINE SET(A)
      A = 1
      END
";
    let known = Assigned::of(&program(text));
    let found: Vec<bool> = (0..3).map(|i| known.argument("S", i)).collect();
    assert_eq!(found, [false; 3]);
}

#[test]
fn two_units_of_one_name_come_to_an_end() {
    let text = "\
C
      SUBROUTINE A(X)
      X = 1
      CALL A(X)
      END
      SUBROUTINE A(X)
      CALL A(Y)
      END
";
    let mut sources = Sources::new();
    let file = sources.add("a.f", text);
    let mut program = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes).program;
    assert!(!farfel_lang::resolve::resolve(&mut program).is_empty());
    assert!(Assigned::of(&program).argument("A", 0));
}
