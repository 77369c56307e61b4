//! Finds arguments of a procedure that the user passes which can only be inputs, or cannot be inputs, by what its
//! callers do with their variables.
//!
//! A procedure that assigns a variable which its caller never reads again before assigning it has no effect, so that
//! the variable can as well be passed by value:
//!
//! ```text
//!       DO 10 I = 1, N
//!       TI = T0 + I*H
//!    10 CALL RHS(TI, Y, DY)
//! ```
//!
//! A variable to which nothing has been assigned before the call cannot be an input, whatever comments say.

use super::full_assignment::{Step, all_paths, mentions, touches};
use farfel_lang::effects::closure_may_assign;
use farfel_lang::flow::FlowGraph;
use farfel_lang::ir::{
    Attribute, Class, ExprKind, SpecKind, StmtKind, StorageClass, SymId, Type, Unit, walk_block,
};

/// What the calls of a dummy procedure in a unit show about its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passed {
    /// For each argument whether it cannot be assigned, or nothing would depend on that.
    pub values: Vec<bool>,
    /// For each argument whether some call passes a variable that has no value.
    pub undefined: Vec<bool>,
}

impl Passed {
    /// Combines this with the calls in another unit; nothing if the numbers of arguments differ.
    pub(super) fn and(self, other: Passed) -> Option<Passed> {
        let both = |a: &[bool], b: &[bool], of: fn(bool, bool) -> bool| -> Vec<bool> {
            a.iter().zip(b).map(|(a, b)| of(*a, *b)).collect()
        };
        (self.values.len() == other.values.len()).then(|| Passed {
            values: both(&self.values, &other.values, |a, b| a && b),
            undefined: both(&self.undefined, &other.undefined, |a, b| a || b),
        })
    }
}

/// Looks at the calls of a dummy procedure in a unit. Returns `None` if there are none, or if the unit has parts that
/// the analysis does not follow.
pub(super) fn passed(unit: &Unit, procedure: SymId) -> Option<Passed> {
    let mut followed = unit.nested.is_empty();
    walk_block(&unit.body, &mut |s| {
        followed &= !matches!(s.kind, StmtKind::Ad(_) | StmtKind::Entry(_));
    });
    if !followed || unit.symbols[procedure].class != Class::Subroutine {
        return None;
    }
    let flow = FlowGraph::of(unit);
    let mut all: Option<Passed> = None;
    for (node, stmt) in flow.stmts.iter().enumerate() {
        let StmtKind::Call(callee, args) = &stmt.kind else {
            continue;
        };
        if *callee != procedure {
            continue;
        }
        let variable = |k: usize| match args[k].kind {
            ExprKind::Var(s) if is_own(unit, s) => Some(s),
            _ => None,
        };
        let here = Passed {
            values: (0..args.len())
                .map(|k| {
                    let kept = variable(k).is_some_and(|s| {
                        is_number(unit, s) && has_value(&flow, node, s) && is_unread(&flow, node, s)
                    });
                    kept || !closure_may_assign(unit, procedure, k, &args[k])
                })
                .collect(),
            undefined: (0..args.len())
                .map(|k| {
                    let base = args[k].base().filter(|s| is_own(unit, *s));
                    base.is_some_and(|s| is_unset(&flow, node, s))
                })
                .collect(),
        };
        all = Some(match all {
            Some(others) => others.and(here)?,
            None => here,
        });
    }
    all
}

/// Checks whether a variable belongs to the unit alone, and loses its value when the unit returns.
fn is_own(unit: &Unit, s: SymId) -> bool {
    let symbol = &unit.symbols[s];
    let saves_all = |kind: &SpecKind| matches!(kind, SpecKind::Save(list) if list.is_empty());
    let shares = |kind: &SpecKind| match kind {
        SpecKind::Equivalence(groups) => groups.iter().flatten().any(|e| mentions(e, s)),
        _ => false,
    };
    let hidden = unit.symbols.iter().any(|(_, other)| match &other.class {
        Class::StatementFunction(_, value) => mentions(value, s),
        _ => false,
    });
    let has = |a| symbol.has(a);
    symbol.is_variable()
        && symbol.storage_class == StorageClass::Local
        && !symbol.saved
        && !symbol.tape
        && symbol.init.is_none()
        && !has(Attribute::Target)
        && !has(Attribute::Volatile)
        && !hidden
        && !unit
            .specs
            .iter()
            .any(|spec| saves_all(&spec.kind) || shares(&spec.kind))
}

fn is_number(unit: &Unit, s: SymId) -> bool {
    let symbol = &unit.symbols[s];
    !symbol.is_array() && symbol.ty.is_some_and(|ty| ty != Type::Character)
}

/// Checks whether a statement assigns a variable without using its value.
fn assigns(flow: &FlowGraph, node: usize, s: SymId) -> bool {
    match flow.stmts.get(node).map(|stmt| &stmt.kind) {
        Some(StmtKind::Assign(to, value)) => {
            to.kind == ExprKind::Var(s) && !mentions(value, s) && !flow.masked[node]
        }
        _ => false,
    }
}

/// Checks whether every path to a node assigns a variable.
fn has_value(flow: &FlowGraph, node: usize, s: SymId) -> bool {
    let mut seen = vec![false; flow.len()];
    let mut open = flow.predecessors[node].clone();
    while let Some(at) = open.pop() {
        if std::mem::replace(&mut seen[at], true) || assigns(flow, at, s) {
            continue;
        }
        if at == flow.entry {
            return false;
        }
        open.extend(&flow.predecessors[at]);
    }
    true
}

/// Checks whether no path from a node reads a variable before assigning it.
fn is_unread(flow: &FlowGraph, node: usize, s: SymId) -> bool {
    let next = flow.successors[node].clone();
    all_paths(flow, next, &mut |at| match flow.stmts.get(at) {
        _ if assigns(flow, at, s) => Step::End,
        Some(stmt) if touches(stmt, s) => Step::Fail,
        _ => Step::GoOn,
    })
}

/// Checks whether nothing before a node has to do with a variable.
fn is_unset(flow: &FlowGraph, node: usize, s: SymId) -> bool {
    let before = flow.before(node);
    let mut earlier = flow
        .stmts
        .iter()
        .zip(&before)
        .filter(|(_, before)| **before);
    !earlier.any(|(stmt, _)| touches(stmt, s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfel_lang::resolve::resolve;
    use farfel_lang::syntax::{NoIncludes, ReadOptions, parse_with};
    use farfel_lang::{Sources, diagnostic};

    /// Which arguments of F the unit only passes as values, and which have none: `v` and `u`.
    #[track_caller]
    fn check(lines: &[&str], expected: &str) {
        let source = ["SUBROUTINE S(F, N, X, Y)", "EXTERNAL F", "DIMENSION Y(N)"];
        let source: String = [&source, lines, &["END"]]
            .concat()
            .iter()
            .map(|line| {
                let label = line.chars().take_while(char::is_ascii_digit).count();
                format!("{:<6}{}\n", &line[..label], line[label..].trim_start())
            })
            .collect();
        let mut sources = Sources::new();
        let file = sources.add("a.f", source.clone());
        let mut parsed = parse_with(&mut sources, file, &ReadOptions::default(), &mut NoIncludes);
        let errors = [parsed.diagnostics, resolve(&mut parsed.program)].concat();
        assert!(!diagnostic::any_errors(&errors), "{source}\n{errors:?}");
        let unit = &parsed.program.units[0];
        let shown = passed(unit, unit.symbols.find("F").unwrap()).map(|p| {
            let one = |(v, u): (&bool, &bool)| match (v, u) {
                (true, _) => 'v',
                (_, true) => 'u',
                _ => '-',
            };
            p.values
                .iter()
                .zip(&p.undefined)
                .map(one)
                .collect::<String>()
        });
        assert_eq!(shown.as_deref().unwrap_or("nothing"), expected, "{source}");
    }

    #[test]
    fn what_is_never_read_again() {
        check(&["T = X + 1", "CALL F(T, Y)"], "v-");
        check(&["T = X + 1", "CALL F(T, Y)", "X = T"], "--");
        check(&["DO 10 I = 1, N", "T = X + I", "10 CALL F(T, Y)"], "v-");
        // What the procedure does becomes the value of the next iteration.
        check(
            &["T = X", "DO 10 I = 1, N", "CALL F(T, Y)", "10 T = T + 1"],
            "--",
        );
        // Set again before it is read.
        check(
            &[
                "T = X",
                "CALL F(T, Y)",
                "IF (N .EQ. 1) RETURN",
                "T = 2",
                "X = T",
            ],
            "v-",
        );
        // In another call.
        check(
            &["T = X", "CALL F(T, Y)", "T = 2", "CALL F(T, Y)", "X = T"],
            "--",
        );
    }

    #[test]
    fn what_others_can_read() {
        check(&["X = 1", "CALL F(X, Y)"], "--");
        check(&["COMMON /C/ T", "T = 1", "CALL F(T, Y)"], "--");
        check(&["SAVE T", "T = 1", "CALL F(T, Y)"], "--");
        check(&["SAVE", "T = 1", "CALL F(T, Y)"], "--");
        check(
            &["EQUIVALENCE (T, U)", "T = 1", "CALL F(T, Y)", "X = U"],
            "--",
        );
        check(&["CHARACTER*3 T", "T = 'A'", "CALL F(T, Y)"], "--");
        check(&["CALL F(X + 1, (X))"], "vv");
    }

    #[test]
    fn what_has_no_value() {
        check(&["CALL F(T, Y)", "X = T"], "u-");
        check(&["CALL F(T, Y)"], "u-");
        check(&["DIMENSION W(3)", "CALL F(W, Y)", "X = W(1)"], "u-");
        // On some path.
        check(&["IF (N .EQ. 1) T = 1", "CALL F(T, Y)"], "--");
        check(&["DO 10 I = 1, N", "CALL F(T, Y)", "10 X = T"], "--");
        check(&["READ *, T", "CALL F(T, Y)", "X = T"], "--");
        check(&["X = 1"], "nothing");
    }
}
