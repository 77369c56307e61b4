//! What subprograms do that their callers in Rust must know: do they share state, can
//! they STOP.

use farfel_lang::ir::{
    Class, Expr, ExprKind, Name, Place, Program, SaveItem, SpecKind, StmtKind, SymId, Symbol, Type,
    Unit, walk_block, walk_exprs,
};
use farfel_lang::storage::constant::integer as constant;
use std::collections::{HashMap, HashSet};

/// Local arrays larger than this many bytes are not on the stack, so they are shared by
/// all threads. gfortran is told the same number.
pub(crate) const MAX_STACK_ARRAY: u64 = 65536;

/// What is known of every top-level unit of a program.
pub(crate) struct Facts {
    /// May be run by one thread at a time: it, or what it calls, uses COMMON, saved
    /// variables, input or output, or something unknown.
    pub shares_state: HashSet<Name>,
    /// May execute STOP, itself or in what it calls.
    pub stops: HashSet<Name>,
    /// May be left half-way: by STOP, or by a panic of a closure that stands for a procedure.
    pub unwinds: HashSet<Name>,
}

impl Facts {
    /// Analyses a resolved, lowered program. `all_static`: every local variable is in
    /// static memory.
    pub(crate) fn of(program: &Program, all_static: bool) -> Facts {
        let entries = entries(program);
        let mut callees: HashMap<Name, HashSet<Name>> = HashMap::new();
        let mut facts = Facts {
            shares_state: HashSet::new(),
            stops: HashSet::new(),
            unwinds: HashSet::new(),
        };
        for unit in &program.units {
            let mut shares = all_static || has_shared_data(unit);
            let mut known = HashSet::new();
            let mut unwinds = false;
            for (_, symbol) in procedures(unit) {
                match &symbol.place {
                    Place::Global => match entries.get(&symbol.name) {
                        Some(owner) => {
                            known.insert(owner.clone());
                        }
                        None => shares = true,
                    },
                    // A closure that Rust gives, on whose thread it runs: no other can be
                    // left when all is lowered.
                    Place::Dummy => unwinds = true,
                    _ => {}
                }
            }
            let mut stops = false;
            walk_block(&unit.body, &mut |s| match &s.kind {
                StmtKind::Io(_) | StmtKind::Pause(_) => shares = true,
                StmtKind::Stop(_) => stops = true,
                _ => {}
            });
            callees.insert(unit.name.clone(), known);
            if shares {
                facts.shares_state.insert(unit.name.clone());
            }
            if stops {
                facts.stops.insert(unit.name.clone());
            }
            if stops || unwinds {
                facts.unwinds.insert(unit.name.clone());
            }
        }
        spread(&callees, &mut facts.shares_state);
        spread(&callees, &mut facts.stops);
        spread(&callees, &mut facts.unwinds);
        facts
    }
}

/// Adds whoever calls something in the set, directly or not.
fn spread(callees: &HashMap<Name, HashSet<Name>>, set: &mut HashSet<Name>) {
    loop {
        let before = set.len();
        for (unit, called) in callees {
            if !called.is_disjoint(set) {
                set.insert(unit.clone());
            }
        }
        if set.len() == before {
            return;
        }
    }
}

/// Every name under which the program's units can be called, ENTRY names too, and the unit
/// it belongs to.
pub(crate) fn entries(program: &Program) -> HashMap<Name, Name> {
    let mut entries = HashMap::new();
    for unit in &program.units {
        let points = unit.entry_points();
        entries.extend(points.map(|e| (e.name.clone(), unit.name.clone())));
    }
    entries
}

/// The procedures that a unit calls or passes on, not intrinsic ones.
pub(crate) fn procedures(unit: &Unit) -> impl Iterator<Item = (SymId, &Symbol)> {
    unit.symbols
        .iter()
        .filter(|(_, s)| s.class.is_procedure() && s.name != unit.name)
}

fn has_shared_data(unit: &Unit) -> bool {
    let declared = unit.specs.iter().any(|s| {
        matches!(
            s.kind,
            SpecKind::Common(_) | SpecKind::Data(_) | SpecKind::Save(_)
        )
    });
    declared
        || unit.symbols.iter().any(|(_, s)| {
            s.saved
                || matches!(s.place, Place::Common(_))
                || (s.place == Place::Local && s.is_variable() && is_static(unit, s))
        })
}

/// Does a unit keep values of its own between calls? Copies of it would each keep their own.
pub(crate) fn keeps_state(unit: &Unit) -> bool {
    let declared = unit.specs.iter().any(|s| match &s.kind {
        SpecKind::Data(_) => true,
        SpecKind::Save(items) => {
            items.is_empty() || items.iter().any(|i| matches!(i, SaveItem::Var(_)))
        }
        _ => false,
    });
    declared || unit.symbols.iter().any(|(_, s)| s.saved)
}

/// A local array of fixed size that is too large for the stack.
fn is_static(unit: &Unit, symbol: &Symbol) -> bool {
    if !symbol.is_array() {
        return false;
    }
    let size = match symbol.ty {
        Some(Type::Integer(n) | Type::Real(n) | Type::Logical(n)) => u64::from(n),
        Some(Type::Complex(n)) => 2 * u64::from(n),
        // The length of a CHARACTER is rarely long, but it may be.
        _ => 1024,
    };
    let mut elements: u64 = 1;
    for dim in &symbol.dims {
        let (lower, upper) = (&dim.lower, &dim.upper);
        let Some(upper) = upper else {
            return false; // allocatable: on the heap
        };
        let lower = lower.as_ref().map_or(Some(1), |e| constant(unit, e));
        match (lower, constant(unit, upper)) {
            (Some(lower), Some(upper)) => {
                let extent = upper.saturating_sub(lower).saturating_add(1).max(0);
                elements = elements.saturating_mul(extent.unsigned_abs());
            }
            // An automatic array is on the stack or on the heap. A bound that is constant
            // but not understood counts as large.
            _ => return !mentions_variable(unit, symbol),
        }
    }
    // REAL may be made twice as large.
    elements.saturating_mul(size).saturating_mul(2) > MAX_STACK_ARRAY
}

fn mentions_variable(unit: &Unit, symbol: &Symbol) -> bool {
    let mut found = false;
    let bounds = symbol.dims.iter().flat_map(|d| [&d.lower, &d.upper]);
    for bound in bounds.flatten() {
        bound.for_each_symbol(&mut |s| found |= unit.symbols[s].is_variable());
    }
    found
}

/// Calls `f` with every call of a unit: the procedure and its actual arguments.
pub(crate) fn for_each_call<'a>(unit: &'a Unit, f: &mut dyn FnMut(SymId, &'a [Expr])) {
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Call(callee, args) = &s.kind {
            f(*callee, args);
        }
    });
    let mut function = |e: &'a Expr| {
        if let ExprKind::Call(callee, args) = &e.kind
            && unit.symbols[*callee].class.is_procedure()
        {
            f(*callee, args);
        }
    };
    walk_exprs(&unit.body, &mut function);
    for (_, symbol) in unit.symbols.iter() {
        if let Class::StatementFunction(_, value) = &symbol.class {
            value.walk(&mut function);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfel_lang::Sources;
    use farfel_lang::resolve::resolve;
    use farfel_lang::syntax::{Form, NoIncludes, parse};

    /// The facts of a program of subroutine A and others: does A share state, does it stop.
    fn check(lines: &[&str]) -> (bool, bool) {
        let text: String = lines.iter().map(|l| format!("      {l}\n")).collect();
        let mut sources = Sources::new();
        let file = sources.add("a.f", text.as_str());
        let parsed = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes);
        let mut program = parsed.program;
        let faults = [parsed.diagnostics, resolve(&mut program)].concat();
        assert!(
            !farfel_lang::diagnostic::any_errors(&faults),
            "{text}\n{faults:?}"
        );
        let facts = Facts::of(&program, false);
        (facts.shares_state.contains("A"), facts.stops.contains("A"))
    }

    #[test]
    fn what_shares_state() {
        for (lines, shares) in [
            (
                &["SUBROUTINE A(X)", "Y = X", "X = Y + SIN(X)", "END"][..],
                false,
            ),
            (&["SUBROUTINE A(X)", "COMMON /C/ Y", "X = Y", "END"], true),
            (&["SUBROUTINE A(X)", "SAVE Y", "X = Y", "END"], true),
            (&["SUBROUTINE A(X)", "DATA Y /1.0/", "X = Y", "END"], true),
            (&["SUBROUTINE A(X)", "WRITE (*, *) X", "END"], true),
            (&["SUBROUTINE A(X)", "EXTERNAL B", "CALL B(X)", "END"], true),
            (
                &["SUBROUTINE A(F)", "EXTERNAL F", "CALL F(1.0)", "END"],
                false,
            ),
            // On the stack, in static memory, on the stack or the heap.
            (
                &[
                    "SUBROUTINE A(X)",
                    "PARAMETER (N = 8)",
                    "REAL W(N*N, 0:99)",
                    "X = W(1, 0)",
                    "END",
                ],
                false,
            ),
            (
                &[
                    "SUBROUTINE A(X)",
                    "PARAMETER (N = 80)",
                    "REAL W(N*N, 0:99)",
                    "X = W(1, 0)",
                    "END",
                ],
                true,
            ),
            (
                &[
                    "SUBROUTINE A(X, N)",
                    "REAL W(N, 100000)",
                    "X = W(1, 1)",
                    "END",
                ],
                false,
            ),
            (
                &["SUBROUTINE A(X)", "REAL X(100000)", "X(1) = 0", "END"],
                false,
            ),
            // Through calls, also recursive ones; not from callers.
            (
                &[
                    "SUBROUTINE A(X)",
                    "CALL B(X)",
                    "END",
                    "SUBROUTINE B(X)",
                    "X = C(X)",
                    "END",
                    "FUNCTION C(X)",
                    "PRINT *, X",
                    "C = X",
                    "END",
                ],
                true,
            ),
            (
                &[
                    "SUBROUTINE A(X)",
                    "X = 1",
                    "END",
                    "SUBROUTINE B(X)",
                    "PRINT *, X",
                    "CALL A(X)",
                    "END",
                ],
                false,
            ),
        ] {
            assert_eq!(check(lines), (shares, false), "{lines:?}");
        }
    }

    #[test]
    fn what_stops() {
        let callee = [
            "SUBROUTINE A(X)",
            "IF (X .GT. 0) Y = B(X)",
            "END",
            "FUNCTION B(X)",
            "B = X",
            "IF (X .GT. 1) STOP",
            "END",
        ];
        assert_eq!(check(&callee), (false, true));
    }
}
