//! Side effects of procedures, and the arguments they assign.

use farfel_analysis::effects::{
    Assigned, DummyAssumptions, Effect, Effects, EffectsOptions, KnownDummy, Locations, SideEffects,
};
use farfel_ir::Sources;
use farfel_ir::ir::{Name, Program, StorageClass, SymId, Unit};
use farfel_lang::syntax::{Form, NoIncludes, parse};
use fixedbitset::FixedBitSet;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns a program, and whether it has errors.
fn resolved(text: &str) -> (Program, bool) {
    let mut sources = Sources::new();
    let file = sources.add("a.f", text);
    let mut program = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes).program;
    let errors = farfel_lang::resolve::resolve(&mut program);
    (program, farfel_ir::diagnostic::any_errors(&errors))
}

fn program(text: &str) -> Program {
    let (program, errors) = resolved(text);
    assert!(!errors);
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

/// Each way into a unit counts what can be executed from there: behind a RETURN nothing, and whatever a jump leads
/// to.
#[test]
fn entry_points_assign_what_they_reach() {
    let text = "      SUBROUTINE S(X, Y)
      X = Y
      RETURN
      ENTRY E(Y)
      IF (Y .GT. 0) GOTO 10
      RETURN
      ENTRY F(X, Y, Z)
      Z = X
      GOTO (10, 20), INT(Z)
      RETURN
   10 CALL SET(Y)
      RETURN
   20 Z = 1
      END
      SUBROUTINE SET(A)
      A = 1
      END
";
    let known = Assigned::of(&program(text));
    let of =
        |name: &str, args| -> Vec<bool> { (0..args).map(|i| known.argument(name, i)).collect() };
    assert_eq!(of("S", 2), [true, false]);
    assert_eq!(of("E", 1), [true]);
    assert_eq!(of("F", 3), [false, true, true]);
}

/// A way that reaches an AD block executes the statements in it.
#[test]
fn entry_points_assign_what_blocks_assign() {
    let text = "      SUBROUTINE S(X, Y)
      Y = X
      RETURN
      ENTRY E(X, Y, Z)
      ADF(TANGENT(X) = 1)
      ADR(COTANGENT(Y) = 1)
      Y = SIN(X)
      END ADR(Z = COTANGENT(X))
      END ADF(W = TANGENT(Z))
      PRINT *, W
      END
";
    let known = Assigned::of(&program(text));
    let of =
        |name: &str, args| -> Vec<bool> { (0..args).map(|i| known.argument(name, i)).collect() };
    assert_eq!(of("S", 2), [false, true]);
    assert_eq!(of("E", 3), [false, true, true]);
}

#[test]
fn a_function_that_calls_itself_is_looked_at_again() {
    let text = "      RECURSIVE FUNCTION F(X, Y, N)
      IF (N .GT. 0) Z = F(Y, X, N - 1)
      X = 1
      F = Z
      END
";
    let known = Assigned::of(&program(text));
    let found: Vec<bool> = (0..3).map(|i| known.argument("F", i)).collect();
    assert_eq!(found, [true, true, false]);
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
    let (program, errors) = resolved(text);
    assert!(errors);
    assert!(Assigned::of(&program).argument("A", 0));
}

/// Numbers COMMON variables in the order of their symbols in each unit.
struct Numbered<'u>(&'u Unit);

impl Numbered<'_> {
    fn in_common(&self) -> impl Iterator<Item = SymId> {
        let symbols = self.0.symbols.iter();
        let shared = symbols.filter(|(_, s)| matches!(s.storage_class, StorageClass::Common(_)));
        shared.map(|(id, _)| id)
    }
}

impl Locations for Numbered<'_> {
    fn loc(&self, s: SymId) -> Option<usize> {
        Some(s.0 as usize)
    }

    fn common(&self, number: usize) -> Option<usize> {
        self.in_common().nth(number).map(|s| s.0 as usize)
    }
}

fn effects(program: &Program, commons: usize, dummies: DummyAssumptions) -> Effects {
    let numbered: Vec<Numbered> = program.units.iter().map(Numbered).collect();
    let locations = numbered.iter().map(|n| (n.0, n as &dyn Locations));
    let units: Vec<_> = locations.collect();
    let question = EffectsOptions {
        commons,
        reads: true,
        dummies,
        ..EffectsOptions::default()
    };
    Effects::of(&units, question)
}

/// Returns the assigned slots, the read slots, and the other side effects.
fn seen(effect: &Effect) -> (Vec<usize>, Vec<usize>, SideEffects) {
    let slots = |set: &FixedBitSet| set.ones().collect();
    (
        slots(&effect.assigned),
        slots(&effect.read),
        effect.side_effects,
    )
}

#[test]
fn effects_go_through_calls() {
    let text = "      SUBROUTINE TOP(A, B, N)
      COMMON /C/ P, Q
      CALL MID(B, A)
      IF (N .GT. 0) STOP
      END
      SUBROUTINE MID(X, Y)
      COMMON /C/ P, Q
      CALL LOW(X)
      Y = Q
      END
      SUBROUTINE LOW(X)
      COMMON /C/ P, Q
      P = X
      END
";
    let known = effects(&program(text), 2, DummyAssumptions::Anything);
    let of = |name: &str| seen(known.get(name).unwrap());
    // The slots are the arguments, the result, P, Q.
    assert_eq!(of("LOW"), (vec![2], vec![0], SideEffects::Nothing));
    assert_eq!(of("MID"), (vec![1, 3], vec![0, 4], SideEffects::Nothing));
    assert_eq!(
        of("TOP"),
        (vec![0, 4], vec![1, 2, 5], SideEffects::Repeatable)
    );
}

#[test]
fn functions_assign_their_results() {
    let text = "      FUNCTION F(X)
      F = X
      END
      FUNCTION G(X)
      G = F(X)
      PRINT *, X
      END
      FUNCTION H(X)
      H = G(X)
      READ *, Y
      END
";
    let known = effects(&program(text), 0, DummyAssumptions::Anything);
    let of = |name: &str| seen(known.get(name).unwrap());
    assert_eq!(of("F"), (vec![1], vec![0], SideEffects::Nothing));
    // Output may appear again, but nothing may be read twice.
    assert_eq!(of("G"), (vec![1], vec![0], SideEffects::Repeatable));
    assert_eq!(of("H"), (vec![1], vec![0], SideEffects::Once));
}

#[test]
fn procedures_without_text_may_do_anything_to_what_they_get() {
    let text = "      SUBROUTINE S(A, B, C, D)
      CALL OTHER(A, (B))
      CALL KNOWN(C, D)
      END
      SUBROUTINE KNOWN(X)
      END
      SUBROUTINE LAST(I)
      CALL EXIT(I)
      END
";
    // KNOWN is passed a surplus argument, of which it cannot know.
    let known = effects(&program(text), 0, DummyAssumptions::Anything);
    let of = |name: &str| seen(known.get(name).unwrap());
    assert_eq!(of("S"), (vec![0], vec![0, 1], SideEffects::Once));
    assert_eq!(of("LAST"), (vec![0], vec![0], SideEffects::Repeatable));
}

const TAKES_A_PROCEDURE: &str = "      SUBROUTINE S(F, A, B)
      EXTERNAL F
      CALL F(A, B)
      END
      SUBROUTINE ONE(X, Y)
      X = 1
      END
      SUBROUTINE TWO(X, Y)
      X = Y
      END
";

#[derive(Debug)]
struct OneOrTwo([Name; 2]);

impl KnownDummy for OneOrTwo {
    fn targets(&self) -> &[Name] {
        &self.0
    }

    fn effect(&self, targets: Effect) -> Option<Effect> {
        Some(targets)
    }
}

#[test]
fn dummy_procedures_do_what_is_thought_of_them() {
    let of = |dummies: DummyAssumptions| {
        let known = effects(&program(TAKES_A_PROCEDURE), 0, dummies);
        seen(known.get("S").unwrap())
    };
    let (a, b) = (1, 2);
    assert_eq!(
        of(DummyAssumptions::Anything),
        (vec![a, b], vec![a, b], SideEffects::Once)
    );
    assert_eq!(
        of(DummyAssumptions::Harmless),
        (vec![], vec![a, b], SideEffects::Once)
    );
    assert_eq!(
        of(DummyAssumptions::Closures),
        (vec![a, b], vec![a, b], SideEffects::Once)
    );
    let targets = OneOrTwo(["ONE".into(), "TWO".into()]);
    let known: Box<dyn KnownDummy> = Box::new(targets);
    let all = HashMap::from([(("S".into(), "F".into()), known)]);
    assert_eq!(
        of(DummyAssumptions::Known(all)),
        (vec![a], vec![b], SideEffects::Nothing)
    );
}

/// The number of statements that were analysed.
static ANALYSED: AtomicUsize = AtomicUsize::new(0);

/// Each unit is analysed after the procedures that it calls, wherever they are in the program: the time is linear.
#[test]
fn units_without_recursion_are_analysed_once() {
    const UNITS: usize = 50;
    for callees_come_first in [true, false] {
        let mut order: Vec<usize> = (0..UNITS).collect();
        if callees_come_first {
            order.reverse();
        }
        let units: Vec<String> = order
            .into_iter()
            .map(|i| {
                let body = match i + 1 {
                    UNITS => "X = 1".into(),
                    next => format!("CALL S{next}(X)"),
                };
                format!("      SUBROUTINE S{i}(X)\n      {body}\n      END\n")
            })
            .collect();
        let program = program(&units.concat());
        let numbered: Vec<Numbered> = program.units.iter().map(Numbered).collect();
        let locations = numbered.iter().map(|n| (n.0, n as &dyn Locations));
        let units: Vec<_> = locations.collect();
        ANALYSED.store(0, Ordering::Relaxed);
        let effects = Effects::of(
            &units,
            EffectsOptions {
                find_effects: |effects, unit, at, statement, touched| {
                    ANALYSED.fetch_add(1, Ordering::Relaxed);
                    effects.statement(unit, at, statement, touched);
                },
                ..EffectsOptions::default()
            },
        );
        assert!(effects.get("S0").is_some_and(|e| e.assigned.contains(0)));
        assert_eq!(ANALYSED.load(Ordering::Relaxed), UNITS);
    }
}
