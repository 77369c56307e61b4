//! What procedures do with their arguments, and which variables are read before they can
//! have a value: the values of variables followed along the control flow of each unit,
//! callees before callers.
//!
//! Where only faults are looked for, variables of COMMON blocks are left out, and each unit is
//! looked at once: what a procedure does that calls itself, directly or through others, is not
//! known where it is called on the way, so that it may do anything. [`procedures`] finds a fixed
//! point, COMMON blocks, ENTRY points and dummy procedures included.

mod commons;
mod events;
mod unit;

use crate::callgraph::CallGraph;
use crate::ir::{Name, Program, Unit};
use crate::source::Span;
pub use commons::{Argument, CommonUse, Procedure, procedures};
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
    /// On every way to the end (also when none leads there) all of it gets a value; of arrays only by whole-array
    /// assignment.
    pub always: bool,
}

impl Use {
    /// The INTENT that would say so, as far as one can.
    pub fn intent(self) -> &'static str {
        match (self.reads, self.writes) {
            (false, false) => "unused",
            (true, false) => "in",
            (false, true) => "out",
            (true, true) => "inout",
        }
    }
}

impl Use {
    /// Adds what may be done besides, at any time.
    fn also(&mut self, other: Use) {
        self.reads |= other.reads;
        self.writes |= other.writes;
        self.assigned |= other.assigned;
    }
}

/// What a procedure does with its arguments and with pieces of COMMON blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Summary {
    args: Vec<Use>,
    /// Ascending.
    pieces: Vec<(u32, Use)>,
}

impl Summary {
    /// Either this or another procedure is called, with as many arguments.
    fn join(&mut self, other: &Summary) {
        for (ours, theirs) in self.args.iter_mut().zip(&other.args) {
            ours.always &= theirs.always;
            ours.also(*theirs);
        }
        let mut pieces: std::collections::BTreeMap<u32, Use> = self.pieces.drain(..).collect();
        let theirs: HashMap<u32, Use> = other.pieces.iter().copied().collect();
        for (piece, ours) in &mut pieces {
            ours.always &= theirs.get(piece).is_some_and(|t| t.always);
        }
        for (piece, used) in theirs {
            let fresh = Use {
                always: false,
                ..used
            };
            pieces.entry(piece).or_insert(fresh).also(used);
        }
        self.pieces = pieces.into_iter().collect();
    }
}

/// What each top-level procedure does with its arguments.
#[derive(Debug, Default)]
pub struct Intents {
    by_name: HashMap<Name, Summary>,
}

impl Intents {
    /// Of a program whose names are resolved.
    pub fn of(program: &Program) -> Self {
        analyse(program, &mut |_, _, _| {})
    }

    /// What the procedure does with its arguments, in order; `None` for one without text.
    pub fn get(&self, procedure: &str) -> Option<&[Use]> {
        self.by_name.get(procedure).map(|s| s.args.as_slice())
    }

    /// The same, if the number of arguments is right.
    fn known(&self, procedure: &str, args: usize) -> Option<&Summary> {
        let known = self.by_name.get(procedure);
        known.filter(|k| k.args.len() == args)
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
            .or_insert_with(|| Summary {
                args: findings.args,
                pieces: Vec::new(),
            });
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

    fn read(text: &str) -> Program {
        let mut sources = Sources::new();
        let file = sources.add("a.f", text);
        let mut program = parse(&mut sources, file, None, &mut NoIncludes).program;
        let faults = crate::resolve::resolve(&mut program);
        assert!(!crate::diagnostic::any_errors(&faults), "{faults:?}");
        program
    }

    fn shown(u: Use) -> String {
        let always = if u.always && u.writes { "!" } else { "" };
        format!("{}{always}", u.intent())
    }

    /// `in`, `out`, `inout` or `unused` for each argument of S; with `!` where it is set on
    /// every way.
    fn intents(text: &str) -> String {
        let program = read(text);
        let intents = Intents::of(&program);
        let uses = intents.get("S").unwrap().iter().map(|u| shown(*u));
        uses.collect::<Vec<_>>().join(" ")
    }

    /// What all procedures do: `NAME X:in Y:out! /B/ Z:inout`.
    fn all(text: &str) -> String {
        let program = read(text);
        let mut out = String::new();
        for p in procedures(&program, 4) {
            out += p.entry.as_ref().unwrap_or(&p.unit.name);
            for a in &p.args {
                let name = &p.unit.symbols[a.sym].name;
                let used = if a.procedure {
                    "procedure".into()
                } else {
                    shown(a.used)
                };
                out += &format!(" {name}:{used}");
            }
            for c in &p.commons {
                out += &format!(" /{}/", c.block);
                for (name, used) in &c.variables {
                    out += &format!(" {name}:{}", shown(*used));
                }
            }
            for name in &p.unknown {
                out += &format!(" ?{name}");
            }
            out.push('\n');
        }
        out
    }

    #[test]
    fn what_procedures_do_with_their_arguments() {
        for (body, expected) in [
            ("A = B", "out! in unused"),
            ("A = A + B", "inout! in unused"),
            ("IF (B .GT. 0) A = 1", "out in unused"),
            (
                "IF (B .GT. 0) THEN\n      A = 1\n      ELSE\n      A = C\n      END IF",
                "out! in in",
            ),
            // Not where the loop has no turns.
            ("DO 10 I = 1, 3\n   10 A = B", "out in unused"),
            ("READ *, A, B", "out! out! unused"),
            (
                "READ (*, *, END = 10) A\n   10 CONTINUE",
                "out unused unused",
            ),
            ("IF (B .GT. 0) RETURN\n      A = 1", "out in unused"),
            ("IF (B .GT. 0) STOP\n      A = 1", "out! in unused"),
            ("A = 1\n      B = A", "out! out! unused"),
            (
                "GOTO 20\n   10 A = B\n      RETURN\n   20 B = 1\n      GOTO 10",
                "out! out! unused",
            ),
            // Through calls: of known procedures exactly, of others whatever may be.
            ("CALL T(A, B)", "out! inout unused"),
            ("CALL T(A + 1, B)", "in inout unused"),
            ("CALL UNKNOWN(A)", "inout unused unused"),
            ("A = F(B)", "out! in unused"),
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

    #[test]
    fn common_blocks_are_followed_through_calls() {
        let text = "      PROGRAM P
      COMMON /B/ X, Y(2), N
      CALL SET(2.0)
      PRINT *, X
      CALL SHIFT
      END
      SUBROUTINE SET(V)
      COMMON /B/ X, Y1, Y2, N
      X = V
      Y1 = V
      CALL COUNT
      END
      SUBROUTINE COUNT
      COMMON /B/ DUMMY(3), K
      K = K + 1
      END
      SUBROUTINE SHIFT
      CALL COUNT
      CALL OTHER
      END
      BLOCK DATA
      COMMON /B/ X, Y(2), N
      DATA N /0/
      END
";
        assert_eq!(
            all(text),
            "\
P /B/ X:out! Y:out N:inout!
SET V:in /B/ X:out! Y1:out! Y2:unused N:inout!
COUNT /B/ DUMMY:unused K:inout!
SHIFT /B/ X:unused Y:unused N:inout! ?OTHER
"
        );
    }

    #[test]
    fn recursion_is_a_fixed_point() {
        let text = "      RECURSIVE SUBROUTINE A(N, X, Y, Z)
      IF (N .LE. 0) THEN
      Y = X
      RETURN
      END IF
      CALL B(N - 1, X, Y, Z)
      END
      RECURSIVE SUBROUTINE B(M, P, Q, R)
      COMMON /T/ TURNS
      TURNS = TURNS + 1
      CALL A(M, P, Q, R)
      END
      RECURSIVE FUNCTION FACT(N) RESULT(F)
      F = 1
      IF (N .GT. 1) F = N*FACT(N - 1)
      END
      RECURSIVE SUBROUTINE FOREVER(X)
      CALL FOREVER(X)
      END
";
        assert_eq!(
            all(text),
            "\
A N:in X:in Y:out! Z:unused /T/ TURNS:inout
B M:in P:in Q:out! R:unused /T/ TURNS:inout!
FACT N:in
FOREVER X:unused
"
        );
    }

    #[test]
    fn entries_and_dummy_procedures_and_statement_functions() {
        let text = "      SUBROUTINE S(A, B)
      COMMON C
      F(T) = T + C
      A = F(1.0)
      RETURN
      ENTRY E(B, D)
      B = D
      END
      SUBROUTINE USES(G, X, Y)
      CALL G(X, Y)
      END
      SUBROUTINE BOTH(X, Y)
      EXTERNAL E, S
      CALL USES(E, X, Y)
      CALL USES(S, X, Y)
      CALL E(X, Y)
      END
      SUBROUTINE LOST(H, X)
      CALL H(X)
      END
      SUBROUTINE LIST(X, Y)
      NAMELIST /N/ X
      WRITE (6, N)
      END
";
        assert_eq!(
            all(text),
            "\
S A:out! B:unused // C:in
E B:out! D:in // C:unused
USES G:procedure X:out! Y:in // C:in
BOTH X:out! Y:in // C:in
LOST H:procedure X:inout ?H
LIST X:in Y:unused
"
        );
    }

    #[test]
    fn nested_procedures_and_derivatives() {
        let text = "      SUBROUTINE S(A, B, C, D, E)
        SUBROUTINE INNER(X)
        X = A
        B = 2
        CALL FAR
        END
      CALL INNER(C)
      ADF(A)
      Y = A*D
      END ADF(E = TANGENT(Y))
      END
      SUBROUTINE FAR
      COMMON /F/ Z
      Z = 1
      END
";
        assert_eq!(
            all(text),
            "\
S A:in B:out C:inout D:in E:out /F/ Z:out
INNER X:out! /F/ Z:out!
FAR /F/ Z:out!
"
        );
    }
}
