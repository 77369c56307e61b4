//! What procedures do with their arguments, and which variables are read before they can
//! have a value: the values of variables followed along the control flow of each unit,
//! callees before callers.
//!
//! Each unit is looked at once. What a procedure does that calls itself, directly or through
//! others, is not known where it is called on the way: it may do anything.

mod events;
mod unit;

use crate::callgraph::CallGraph;
use crate::ir::{Name, Program, Unit};
use crate::source::Span;
use std::collections::HashMap;
pub use unit::Findings;

/// What a procedure does with a dummy argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Use {
    /// It may need the value that the caller gives.
    pub reads: bool,
    /// It may give it a value.
    pub writes: bool,
    /// A statement gives it a value, here or in a procedure that is called; without this,
    /// only a procedure without text may.
    pub assigned: bool,
    /// On every way to the end all of it gets a value; of arrays only by whole-array
    /// assignment.
    pub always: bool,
}

impl Use {
    /// The INTENT that would say so, as far as one can.
    pub fn intent(self) -> &'static str {
        match (self.reads, self.writes) {
            (_, false) => "in",
            (false, true) => "out",
            (true, true) => "inout",
        }
    }
}

/// What each top-level procedure does with its arguments.
#[derive(Debug, Default)]
pub struct Intents {
    by_name: HashMap<Name, Vec<Use>>,
}

impl Intents {
    /// Of a program whose names are resolved.
    pub fn of(program: &Program) -> Self {
        analyse(program, &mut |_, _, _| {})
    }

    /// What the procedure does with its arguments, in order; `None` for one without text.
    pub fn get(&self, procedure: &str) -> Option<&[Use]> {
        self.by_name.get(procedure).map(Vec::as_slice)
    }

    /// The same, if the number of arguments is right.
    fn known(&self, procedure: &str, args: usize) -> Option<&[Use]> {
        self.get(procedure).filter(|k| k.len() == args)
    }
}

/// A variable that is read where nothing can have given it a value.
#[derive(Debug, Clone, Copy)]
pub struct Unset {
    /// Which.
    pub sym: crate::ir::SymId,
    /// Where it is read.
    pub span: Span,
    /// The unit gives it a value elsewhere.
    pub set_elsewhere: bool,
}

/// Follows the values of all units, and calls `found` with what was found in each, nested
/// ones included, and with the position of the top-level unit.
pub(crate) fn analyse<'p>(
    program: &'p Program,
    found: &mut dyn FnMut(usize, &'p Unit, &Findings<'p>),
) -> Intents {
    let graph = CallGraph::of(program);
    let mut intents = Intents::default();
    for i in graph.callees_first(0..program.units.len()) {
        let unit = &program.units[i];
        let findings = unit::follow(unit, &intents);
        found(i, unit, &findings);
        // Of two units with one name (a fault that is reported) the first counts.
        intents
            .by_name
            .entry(unit.name.clone())
            .or_insert(findings.args);
        nested(i, unit, &intents, found);
    }
    intents
}

fn nested<'p>(
    top: usize,
    unit: &'p Unit,
    intents: &Intents,
    found: &mut dyn FnMut(usize, &'p Unit, &Findings<'p>),
) {
    for n in &unit.nested {
        found(top, n, &unit::follow(n, intents));
        nested(top, n, intents, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sources;
    use crate::syntax::{NoIncludes, parse};

    /// `in`, `out` or `inout` for each argument of S; with `!` where it is set on every way.
    fn intents(text: &str) -> String {
        let mut sources = Sources::new();
        let file = sources.add("a.f", text);
        let mut program = parse(&mut sources, file, None, &mut NoIncludes).program;
        let faults = crate::resolve::resolve(&mut program);
        assert!(!crate::diagnostic::any_errors(&faults), "{faults:?}");
        let intents = Intents::of(&program);
        let shown = intents.get("S").unwrap().iter().map(|u| {
            let always = if u.always { "!" } else { "" };
            format!("{}{always}", u.intent())
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_procedures_do_with_their_arguments() {
        for (body, expected) in [
            ("A = B", "out! in in"),
            ("A = A + B", "inout! in in"),
            ("IF (B .GT. 0) A = 1", "out in in"),
            (
                "IF (B .GT. 0) THEN\n      A = 1\n      ELSE\n      A = C\n      END IF",
                "out! in in",
            ),
            // Not where the loop has no turns.
            ("DO 10 I = 1, 3\n   10 A = B", "out in in"),
            ("READ *, A, B", "out! out! in"),
            ("READ (*, *, END = 10) A\n   10 CONTINUE", "out in in"),
            ("IF (B .GT. 0) RETURN\n      A = 1", "out in in"),
            ("IF (B .GT. 0) STOP\n      A = 1", "out! in in"),
            ("A = 1\n      B = A", "out! out! in"),
            (
                "GOTO 20\n   10 A = B\n      RETURN\n   20 B = 1\n      GOTO 10",
                "out! out! in",
            ),
            // Through calls: of known procedures exactly, of others whatever may be.
            ("CALL T(A, B)", "out! inout in"),
            ("CALL T(A + 1, B)", "in inout in"),
            ("CALL UNKNOWN(A)", "inout in in"),
            ("A = F(B)", "out! in in"),
            ("CALL S(A, B, C)", "inout inout inout"),
        ] {
            let text = format!(
                "      SUBROUTINE S(A, B, C)
      EXTERNAL UNKNOWN
      {body}
      END
      SUBROUTINE T(X, Y)
      X = Y
      IF (X .GT. 0) Y = 1
      END
      FUNCTION F(X)
      F = X
      END
"
            );
            assert_eq!(intents(&text), expected, "{body}");
        }
    }
}
