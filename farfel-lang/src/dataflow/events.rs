//! What statements do to variables: reads and writes, in the order in which they happen.

use super::{Intents, Use};
use crate::effects::io_targets;
use crate::intrinsics::Op;
use crate::ir::{
    AdItem, Attribute, Class, DoControl, Expr, ExprKind, Io, IoKind, Place, SpecKind, Stmt,
    StmtKind, SymId, Unit,
};
use crate::source::Span;
use std::collections::HashSet;

/// What happens to a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its value is needed.
    Read,
    /// Its value may be needed, by a procedure.
    MayRead,
    /// All of it gets a value.
    Write,
    /// Some of it gets a value here, or all of it.
    Part,
    /// A procedure whose text is not known may give it a value.
    Unknown,
}

/// Something that happens to a variable.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    /// Which variable, by its number among those that are followed.
    pub bit: u32,
    pub kind: Kind,
    pub span: Span,
}

const NONE: u32 = u32::MAX;

/// The variables of a unit whose values can be followed: only the unit's own statements and
/// the procedures that it calls reach them.
pub(super) struct Followed {
    bits: Vec<u32>,
    pub symbols: Vec<SymId>,
}

impl Followed {
    pub fn of(unit: &Unit) -> Self {
        let mut open = vec![true; unit.symbols.len()];
        let mut close = |s: SymId| {
            if let Some(o) = open.get_mut(s.0 as usize) {
                *o = false;
            }
        };
        for spec in &unit.specs {
            match &spec.kind {
                SpecKind::Equivalence(groups) => groups
                    .iter()
                    .flatten()
                    .filter_map(Expr::base)
                    .for_each(&mut close),
                SpecKind::Pointer(list) => list.iter().for_each(|(p, _)| close(*p)),
                // Everything keeps its value.
                SpecKind::Save(list) if list.is_empty() => {
                    let locals = unit.symbols.iter().filter(|(_, s)| s.place == Place::Local);
                    locals.for_each(|(id, _)| close(id));
                }
                _ => {}
            }
        }
        for (_, s) in unit.symbols.iter() {
            if let Class::Namelist(members) = &s.class {
                members.iter().copied().for_each(&mut close);
            }
        }
        for nested in &unit.nested {
            for (_, s) in nested.symbols.iter() {
                if let Place::Host(outer) = s.place {
                    close(outer);
                }
            }
        }
        let mut bits = vec![NONE; unit.symbols.len()];
        let mut symbols = Vec::new();
        for (id, s) in unit.symbols.iter() {
            let own = match s.place {
                Place::Local => !s.saved && s.init.is_none(),
                Place::Dummy | Place::Result => true,
                _ => false,
            };
            let fixed = s.has(Attribute::Allocatable) || s.has(Attribute::Volatile);
            if own && s.class == Class::Variable && !fixed && open[id.0 as usize] {
                bits[id.0 as usize] = symbols.len() as u32;
                symbols.push(id);
            }
        }
        Followed { bits, symbols }
    }

    pub fn bit(&self, s: SymId) -> Option<u32> {
        self.bits
            .get(s.0 as usize)
            .copied()
            .filter(|bit| *bit != NONE)
    }
}

/// Finds the events of the statements of a unit.
pub(super) struct Finder<'a> {
    pub unit: &'a Unit,
    pub followed: &'a Followed,
    pub intents: &'a Intents,
    pub events: Vec<Event>,
}

impl Finder<'_> {
    fn add(&mut self, s: SymId, kind: Kind, span: Span) {
        if let Some(bit) = self.followed.bit(s) {
            self.events.push(Event { bit, kind, span });
        }
    }

    /// The events of a statement itself. `masked`: under a mask, so that assignments reach
    /// only some elements.
    pub fn statement(&mut self, stmt: &Stmt, masked: bool) {
        match &stmt.kind {
            StmtKind::Assign(target, value) => {
                self.read(value);
                self.target(target, !masked);
            }
            StmtKind::Do(d) => {
                stmt.for_each_own_expr(&mut |e| self.read(e));
                if let DoControl::Count { var, .. } = d.control {
                    self.add(var, Kind::Write, stmt.span);
                }
            }
            StmtKind::Call(s, args) => self.call(*s, args),
            StmtKind::AssignLabel(_, var) => self.add(*var, Kind::Write, stmt.span),
            StmtKind::AssignedGoto(var, _) => self.add(*var, Kind::Read, stmt.span),
            StmtKind::Io(io) => self.io(io),
            StmtKind::Allocation(_) => {
                stmt.for_each_own_expr(&mut |e| {
                    e.for_each_symbol(&mut |s| {
                        self.add(s, Kind::Part, e.span);
                    })
                });
            }
            StmtKind::Ad(block) => {
                // What happens in it, in which order, is not followed.
                let mut all = |s: SymId| {
                    self.add(s, Kind::MayRead, stmt.span);
                    self.add(s, Kind::Part, stmt.span);
                };
                crate::ir::for_each_symbol(&block.body, &mut all);
                for item in block.opening.iter().chain(&block.closing) {
                    item.for_each_expr(&mut |e| e.for_each_symbol(&mut all));
                    loop_variables(item, &mut all);
                }
            }
            _ => stmt.for_each_own_expr(&mut |e| self.read(e)),
        }
    }

    /// An expression whose value is needed.
    fn read(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Int(_) | ExprKind::Real(_) => {}
            ExprKind::Var(s) => self.add(*s, Kind::Read, e.span),
            ExprKind::Element(s, subscripts) => {
                subscripts.iter().for_each(|x| self.read(x));
                self.add(*s, Kind::Read, e.span);
            }
            ExprKind::Binary(_, a, b) => {
                self.read(a);
                self.read(b);
            }
            ExprKind::Unary(_, a) | ExprKind::Paren(a) => self.read(a),
            ExprKind::Call(s, args) => match &self.unit.symbols[*s].class {
                // Inquiries ask for no value, and which functions are some is not said.
                Class::Intrinsic(i) if i.op == Op::Other => {
                    for a in args {
                        match a.base() {
                            Some(s) => self.add(s, Kind::MayRead, a.span),
                            None => self.read(a),
                        }
                    }
                }
                Class::Intrinsic(_) | Class::StatementFunction(..) => {
                    args.iter().for_each(|a| self.read(a));
                }
                _ => self.call(*s, args),
            },
            ExprKind::ImpliedDo(d) => {
                self.read(&d.from);
                self.read(&d.to);
                d.step.iter().for_each(|s| self.read(s));
                self.add(d.var, Kind::Write, e.span);
                d.items.iter().for_each(|i| self.read(i));
            }
            ExprKind::Percent(_, a) => {
                if let Some(s) = a.base() {
                    self.add(s, Kind::MayRead, e.span);
                    self.add(s, Kind::Unknown, e.span);
                }
            }
            _ => e.children().into_iter().for_each(|c| self.read(c)),
        }
    }

    fn target(&mut self, target: &Expr, all: bool) {
        match &target.kind {
            ExprKind::Var(s) => {
                let kind = if all { Kind::Write } else { Kind::Part };
                self.add(*s, kind, target.span);
            }
            ExprKind::Substring(base, from, to) => {
                from.iter().chain(to).for_each(|e| self.read(e));
                self.target(base, false);
            }
            ExprKind::Element(s, subscripts) => {
                subscripts.iter().for_each(|e| self.read(e));
                self.add(*s, Kind::Part, target.span);
            }
            ExprKind::ImpliedDo(d) => {
                self.read(&d.from);
                self.read(&d.to);
                d.step.iter().for_each(|s| self.read(s));
                self.add(d.var, Kind::Write, target.span);
                d.items.iter().for_each(|i| self.target(i, false));
            }
            _ => {}
        }
    }

    fn io(&mut self, io: &Io) {
        let mut written = HashSet::new();
        io_targets(self.unit, io, &mut written);
        for c in &io.control {
            let value = match &c.kind {
                ExprKind::Keyword(_, e) => e,
                _ => c,
            };
            match value.base() {
                Some(s) if written.contains(&s) => {
                    value.children().into_iter().for_each(|e| self.read(e));
                    self.add(s, Kind::Part, value.span);
                }
                _ => self.read(value),
            }
        }
        if io.kind == IoKind::Read {
            // After the end of the file the items have no values.
            let certain = !io.control.iter().any(
                |c| matches!(&c.kind, ExprKind::Keyword(n, _) if matches!(n.as_str(), "END" | "ERR" | "EOR" | "IOSTAT")),
            );
            io.items.iter().for_each(|e| self.target(e, certain));
        } else {
            io.items.iter().for_each(|e| self.read(e));
        }
    }

    fn call(&mut self, callee: SymId, args: &[Expr]) {
        let symbol = &self.unit.symbols[callee];
        let known = match symbol.place {
            Place::Global => self.intents.known(&symbol.name, args.len()),
            _ => None,
        };
        // All values are read before the procedure sets any.
        let mut sets = Vec::new();
        for (i, a) in args.iter().enumerate() {
            let used = known.map(|k| k[i]);
            let Some(s) = a.base().or_else(|| self.behind(a)) else {
                self.read(a);
                continue;
            };
            if !matches!(a.kind, ExprKind::Var(_)) {
                a.children()
                    .into_iter()
                    .filter(|c| c.base() != Some(s))
                    .for_each(|c| self.read(c));
            }
            let Use {
                reads,
                writes,
                assigned,
                always,
            } = used.unwrap_or(Use {
                reads: true,
                writes: true,
                assigned: false,
                always: false,
            });
            if reads {
                self.add(s, Kind::MayRead, a.span);
            }
            let whole = matches!(a.kind, ExprKind::Var(_)) && !self.unit.symbols[s].is_array();
            if always && whole {
                sets.push((s, Kind::Write, a.span));
            } else if assigned {
                sets.push((s, Kind::Part, a.span));
            } else if writes {
                sets.push((s, Kind::Unknown, a.span));
            }
        }
        for (s, kind, span) in sets {
            self.add(s, kind, span);
        }
    }

    /// The variable behind `%REF(x)` and `NAME = x`.
    fn behind(&self, a: &Expr) -> Option<SymId> {
        match &a.kind {
            ExprKind::Percent(_, e) | ExprKind::Keyword(_, e) => e.base(),
            _ => None,
        }
    }
}

fn loop_variables(item: &AdItem, f: &mut dyn FnMut(SymId)) {
    if let AdItem::ImpliedDo(d) = item {
        f(d.var);
        d.items.iter().for_each(|i| loop_variables(i, f));
    }
}
