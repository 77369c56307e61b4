//! Makes the adjoints of tapes start with zero.
//!
//! An adjoint that is differentiated again has a tape. In the adjoint of the adjoint, the adjoint
//! of the tape is set where values are popped from the tape, but not where nothing useful depends
//! on these values. So a statement at the end marks the end of use of the values that were pushed:
//!
//! ```fortran
//!       USED = TOP
//!       CALL ... what takes values from the tape ...
//!       TAPE(1:USED) = 0
//! ```
//!
//! The cleared values are never read. But the adjoint of this statement, which is executed first,
//! sets the adjoints to zero, as many as are used.

use crate::activity::is_pop;
use farfel_lang::Span;
use farfel_lang::ir::{
    Expr, ExprKind, Name, Program, Stmt, StmtKind, StorageClass, SymId, Symbol, Type, Unit,
    walk_block,
};
use std::collections::HashSet;

/// Whether there are tapes for which [`clear`] may have something to do.
pub(crate) fn has_tapes(program: &Program) -> bool {
    program.units.iter().any(|u| own_tapes(u).next().is_some())
}

/// Marks the end of use of each tape in a program.
pub(crate) fn clear(program: &mut Program) {
    let mut bodies: Vec<(usize, Unit)> = Vec::new();
    for (i, unit) in program.units.iter().enumerate() {
        let tapes: Vec<SymId> = own_tapes(unit).collect();
        let mut new = None;
        for tape in tapes {
            clear_one(program, new.get_or_insert_with(|| unit.clone()), tape);
        }
        bodies.extend(new.map(|u| (i, u)));
    }
    for (i, unit) in bodies {
        program.units[i] = unit;
    }
}

/// Returns the local tapes of a unit that have adjoints.
fn own_tapes(unit: &Unit) -> impl Iterator<Item = SymId> + '_ {
    let own = |s: &Symbol| {
        let differentiable = s.ty.is_some_and(Type::is_differentiable);
        s.tape && !s.dims.is_empty() && s.storage_class == StorageClass::Local && differentiable
    };
    unit.symbols
        .iter()
        .filter(move |(_, s)| own(s))
        .map(|(id, _)| id)
}

/// Whether an assignment sets elements of a tape to a constant, which is zero. Its derivative is
/// generated whether or not it is useful: it initialises the adjoint of the tape with zero.
///
/// Ranges are the used part of a tape, single elements are those that the adjoint of a push has
/// consumed. If nothing useful depends on a popped value, nothing else sets its adjoint.
pub(crate) fn clears(unit: &Unit, target: &Expr, value: &Expr) -> bool {
    let ExprKind::Element(tape, _) = target.kind else {
        return false;
    };
    let mut constant = true;
    value.for_each_symbol(&mut |_| constant = false);
    constant && unit.symbols[tape].tape
}

fn clear_one(program: &Program, unit: &mut Unit, tape: SymId) {
    let use_of = |s: &Stmt| {
        let mut found = Use::default();
        s.walk(&mut |s| found.add(program, unit, s, tape, &mut HashSet::new()));
        found
    };
    let uses: Vec<Use> = unit.body.iter().map(use_of).collect();
    // Values that only this unit pushes and pops have an adjoint in any case.
    let call = uses.iter().rev().find_map(|u| u.by_call);
    // If nothing is popped, everything has been pushed.
    let first = uses.iter().position(|u| u.takes);
    let first = first.or_else(|| Some(uses.iter().rposition(|u| u.puts)? + 1));
    let (Some(first), Some([top, most])) = (first, call) else {
        return;
    };
    let span = Span::NONE;
    // If more is pushed later, the whole tape may be used. If the program does not stop when the
    // tape is full, the maximum is not known and omitted.
    let sets = |s: &Stmt| matches!(&s.kind, StmtKind::Assign(to, _) if to.equals_ignoring_spans(&Expr::var(most, span)));
    let mut used = unit.body.iter().any(sets).then_some(most);
    if !uses.iter().skip(first).any(|u| u.puts) {
        let name = unit.symbols.unused("USED", &|_| false);
        let count = unit
            .symbols
            .add(Symbol::variable(name, Type::Integer(8), span));
        unit.declare(count);
        used = Some(count);
        let set = Stmt::assign(Expr::var(count, span), Expr::var(top, span), span);
        // Comments before a statement refer to it; a directive must immediately precede its loop.
        let is_comment = |s: &Stmt| matches!(s.kind, StmtKind::Comment(_));
        let before = unit.body[..first].iter().rev();
        let comments = before.take_while(|s| is_comment(s)).count();
        unit.body.insert(first - comments, set);
    }
    let (from, to) = match used {
        Some(used) => (Some(Expr::int(1, span)), Some(Expr::var(used, span))),
        None => (None, None),
    };
    // In vector mode, the leading dimensions are the directions: clear all of them.
    let others = unit.symbols[tape].dims.len().saturating_sub(1);
    let all = || Expr::range(None, None, None, span);
    let mut part: Vec<Expr> = std::iter::repeat_with(all).take(others).collect();
    part.push(Expr::range(from, to, None, span));
    let part = Expr::element(tape, part, span);
    unit.body.push(Stmt::assign(part, Expr::int(0, span), span));
}

/// Whether this variable may be the counter of a tape.
fn is_counter(s: &Symbol) -> bool {
    s.ty == Some(Type::Integer(8)) && s.dims.is_empty() && s.is_variable()
}

/// What statements do with a tape.
#[derive(Default)]
struct Use {
    takes: bool,
    puts: bool,
    /// The current and the maximum number of values, if a call pushes or pops any. What it pushes
    /// may be popped by a call that has no derivative.
    by_call: Option<[SymId; 2]>,
}

impl Use {
    /// Adds one statement, without those in it; `seen` are the procedures that have been visited.
    fn add(
        &mut self,
        program: &Program,
        unit: &Unit,
        s: &Stmt,
        tape: SymId,
        seen: &mut HashSet<(Name, usize)>,
    ) {
        match &s.kind {
            StmtKind::Assign(target, value) => {
                self.takes |= is_pop(unit, value) && value.base() == Some(tape);
                self.puts |= target.base() == Some(tape);
            }
            StmtKind::Call(callee, args) => {
                let name = &unit.symbols[*callee].name;
                let passed = |a: &Expr| matches!(a.kind, ExprKind::Var(s) if s == tape);
                for i in (0..args.len()).filter(|i| passed(&args[*i])) {
                    let mut inner = Use::default();
                    inner.below(program, name, i, seen);
                    self.takes |= inner.takes;
                    self.puts |= inner.puts;
                    // If the call has been differentiated, the derivative of the tape follows
                    // first.
                    let mut counters = args.iter().skip(i + 1).filter_map(|a| match a.kind {
                        ExprKind::Var(s) => is_counter(&unit.symbols[s]).then_some(s),
                        _ => None,
                    });
                    if (inner.takes || inner.puts)
                        && let (Some(top), Some(most)) = (counters.next(), counters.next())
                    {
                        self.by_call = Some([top, most]);
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds a procedure that receives the tape as the argument at this position.
    fn below(
        &mut self,
        program: &Program,
        name: &Name,
        argument: usize,
        seen: &mut HashSet<(Name, usize)>,
    ) {
        if !seen.insert((name.clone(), argument)) {
            return;
        }
        let callee = program.unit(name);
        let own = callee.and_then(|u| Some((u, u.args.get(argument)?.sym()?)));
        match own {
            // In a program that was parsed, not every tape is known to be one (`tapes`).
            Some((unit, tape)) if unit.symbols[tape].tape => {
                walk_block(&unit.body, &mut |s| self.add(program, unit, s, tape, seen));
            }
            _ => (self.takes, self.puts) = (true, true),
        }
    }
}
