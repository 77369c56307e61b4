//! Cotangents of tapes begin with zero.
//!
//! An adjoint that is differentiated again has a tape. In the adjoint of the adjoint its
//! cotangent gets values where values are taken from it, but not there where nothing that counts
//! comes of them. So the adjoint's end is told to be the end of what it has put there:
//!
//! ```fortran
//!       USED = TOP
//!       CALL ... what takes values from the tape ...
//!       TAPE(1:USED) = 0
//! ```
//!
//! Nobody reads these values. But the adjoint of this, which comes first, sets the cotangents to
//! zero, as many as are used.

use crate::activity::is_pop;
use farfel_lang::Span;
use farfel_lang::ir::{
    Expr, ExprKind, Name, Place, Program, Stmt, StmtKind, SymId, Symbol, Type, Unit, walk_block,
};
use std::collections::HashSet;

/// Are there tapes of which [`clear`] may have something to tell?
pub(crate) fn has_tapes(program: &Program) -> bool {
    program.units.iter().any(|u| own_tapes(u).next().is_some())
}

/// Tells of each tape in a program how far it is used.
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

/// The tapes that a unit has for itself and that have cotangents.
fn own_tapes(unit: &Unit) -> impl Iterator<Item = SymId> + '_ {
    let own = |s: &Symbol| {
        let differentiable = s.ty.is_some_and(Type::is_differentiable);
        s.tape && !s.dims.is_empty() && s.place == Place::Local && differentiable
    };
    unit.symbols
        .iter()
        .filter(move |(_, s)| own(s))
        .map(|(id, _)| id)
}

/// Does an assignment set places of a tape to a constant, which is zero? Its derivative is made whether it is used or
/// not: there the cotangent of the tape begins with zero.
///
/// Ranges are the used part of a tape, single elements those that the adjoint of a push has used up.
/// Where nothing that counts is made of what it took from there, nothing else sets their cotangent.
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
    // What is put and taken in this unit alone has a cotangent in any case.
    let call = uses.iter().rev().find_map(|u| u.by_call);
    // Where nothing is taken, all that is there has been put.
    let first = uses.iter().position(|u| u.takes);
    let first = first.or_else(|| Some(uses.iter().rposition(|u| u.puts)? + 1));
    let (Some(first), Some([top, most])) = (first, call) else {
        return;
    };
    let span = Span::NONE;
    // Where more is put on it later, all of it may be used. Where the program does not stop when it is full, nobody
    // knows the most: that is taken out.
    let sets = |s: &Stmt| matches!(&s.kind, StmtKind::Assign(to, _) if to.reads_as(&Expr::var(most, span)));
    let mut used = unit.body.iter().any(sets).then_some(most);
    if !uses.iter().skip(first).any(|u| u.puts) {
        let name = unit.symbols.unused("USED", &|_| false);
        let count = unit
            .symbols
            .add(Symbol::variable(name, Type::Integer(8), span));
        unit.declare(count);
        used = Some(count);
        let set = Stmt::assign(Expr::var(count, span), Expr::var(top, span), span);
        // Comments before a statement are about it; a directive must stand right before its loop.
        let is_comment = |s: &Stmt| matches!(s.kind, StmtKind::Comment(_));
        let before = unit.body[..first].iter().rev();
        let comments = before.take_while(|s| is_comment(s)).count();
        unit.body.insert(first - comments, set);
    }
    let (from, to) = match used {
        Some(used) => (Some(Expr::int(1, span)), Some(Expr::var(used, span))),
        None => (None, None),
    };
    // Of several directions, whose dimensions come first, all.
    let others = unit.symbols[tape].dims.len().saturating_sub(1);
    let all = || Expr::range(None, None, None, span);
    let mut part: Vec<Expr> = std::iter::repeat_with(all).take(others).collect();
    part.push(Expr::range(from, to, None, span));
    let part = Expr::element(tape, part, span);
    unit.body.push(Stmt::assign(part, Expr::int(0, span), span));
}

/// May it tell how many values are on a tape?
fn is_counter(s: &Symbol) -> bool {
    s.ty == Some(Type::Integer(8)) && s.dims.is_empty() && s.is_variable()
}

/// What statements do with a tape.
#[derive(Default)]
struct Use {
    takes: bool,
    puts: bool,
    /// How many values there are and can be, where a call puts or takes some. What it puts, a call that
    /// has no derivative may take.
    by_call: Option<[SymId; 2]>,
}

impl Use {
    /// Of one statement, without those in it; `seen` are the procedures that are known.
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
                    // Where the call is differentiated, the derivative of the tape comes first.
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

    /// Of a procedure that gets the tape as its argument of this number.
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
            // Read from text, not all that are tapes are known to be (`tapes`).
            Some((unit, tape)) if unit.symbols[tape].tape => {
                walk_block(&unit.body, &mut |s| self.add(program, unit, s, tape, seen));
            }
            _ => (self.takes, self.puts) = (true, true),
        }
    }
}
