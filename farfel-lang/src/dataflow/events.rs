//! What statements do to variables: reads and writes, in the order in which they happen.

use super::commons::{Commons, Whole};
use super::{Intents, Use};
use crate::effects::io_targets;
use crate::intrinsics::Op;
use crate::ir::{
    AdBlock, AdItem, Attribute, Class, DoControl, Expr, ExprKind, Io, IoKind, Place, SpecKind,
    Stmt, StmtKind, SymId, Unit, walk_block,
};
use crate::source::Span;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

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
    /// All of it has a value, or this is never reached.
    Set,
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
#[derive(Default)]
pub(super) struct Followed {
    bits: Vec<u32>,
    pub symbols: Vec<SymId>,
    /// Pieces of COMMON blocks, behind the symbols.
    pub pieces: Vec<u32>,
    /// The pieces of variables that lie in COMMON blocks, by their places among them.
    ranges: HashMap<SymId, Range<u32>>,
}

impl Followed {
    /// Also the variables of COMMON blocks and those of the surroundings, for one who wants
    /// to know what a procedure does and not when. `pieces`: those that the unit and what it
    /// calls may reach. `around`: what is followed in the surroundings.
    pub fn whole(
        unit: &Unit,
        commons: &Commons,
        pieces: Vec<u32>,
        around: Option<&Followed>,
    ) -> Self {
        let mut followed = Followed {
            bits: vec![NONE; unit.symbols.len()],
            pieces,
            ..Followed::default()
        };
        let place = |piece: u32| followed.pieces.partition_point(|p| *p < piece) as u32;
        for (s, range) in commons.variables(unit) {
            let range = place(range.start)..place(range.end);
            followed.ranges.insert(s, range);
        }
        for (id, s) in unit.symbols.iter() {
            match s.place {
                Place::Dummy | Place::Result if s.class == Class::Variable => {}
                Place::Host(outer) if s.class == Class::Variable => {
                    if let Some(range) = around.and_then(|a| a.ranges.get(&outer)) {
                        followed.ranges.insert(id, range.clone());
                        continue;
                    }
                }
                _ => continue,
            }
            followed.bits[id.0 as usize] = followed.symbols.len() as u32;
            followed.symbols.push(id);
        }
        followed
    }

    /// How many variables and pieces are followed.
    pub fn len(&self) -> usize {
        self.symbols.len() + self.pieces.len()
    }

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
        Followed {
            bits,
            symbols,
            ..Followed::default()
        }
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
    /// All is followed that procedures do.
    pub whole: Option<&'a Whole<'a>>,
    pub events: Vec<Event>,
}

impl Finder<'_> {
    fn add(&mut self, s: SymId, kind: Kind, span: Span) {
        if let Some(bit) = self.followed.bit(s) {
            self.events.push(Event { bit, kind, span });
        } else if let Some(range) = self.followed.ranges.get(&s) {
            let first = self.followed.symbols.len() as u32;
            let bits = range.clone().map(|p| first + p);
            self.events
                .extend(bits.map(|bit| Event { bit, kind, span }));
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
            StmtKind::Ad(block) if self.whole.is_some() => self.ad_block(block),
            StmtKind::Ad(block) => {
                // What happens in it, in which order, is not followed.
                let mut all = |s: SymId| {
                    self.add(s, Kind::MayRead, stmt.span);
                    self.add(s, Kind::Part, stmt.span);
                };
                crate::ir::for_each_symbol(&block.body, &mut all);
                if let Some(s) = &block.several {
                    s.count.for_each_symbol(&mut all);
                }
                for item in block.opening.iter().chain(&block.closing) {
                    item.for_each_expr(&mut |e| e.for_each_symbol(&mut all));
                    loop_variables(item, &mut all);
                }
            }
            _ => stmt.for_each_own_expr(&mut |e| self.read(e)),
        }
    }

    /// Everything that an AD block may do.
    fn ad_block(&mut self, block: &AdBlock) {
        let first = self.events.len();
        if let Some(s) = &block.several {
            self.read(&s.count);
        }
        let mut all = Vec::new();
        walk_block(&block.body, &mut |s| all.push(s));
        for s in all {
            self.statement(s, true);
        }
        for (items, opening) in [(&block.opening, true), (&block.closing, false)] {
            for item in items {
                item.for_each_assign(&mut |a| {
                    self.read(&a.var);
                    a.direction.iter().for_each(|k| self.read(k));
                    match opening {
                        true => self.read(&a.other),
                        false => self.target(&a.other, false),
                    }
                });
                let mut loops = Vec::new();
                loop_variables(item, &mut |s| loops.push(s));
                for s in loops {
                    self.add(s, Kind::Part, block.end_span);
                }
            }
        }
        for e in self.events.iter_mut().skip(first) {
            e.kind = match e.kind {
                Kind::Read | Kind::MayRead => Kind::MayRead,
                Kind::Write | Kind::Part | Kind::Set => Kind::Part,
                Kind::Unknown => Kind::Unknown,
            };
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
                Class::StatementFunction(_, value) if self.whole.is_some() => {
                    args.iter().for_each(|a| self.read(a));
                    // Those of the surroundings name symbols of the surroundings.
                    if !matches!(self.unit.symbols[*s].place, Place::Host(_)) {
                        self.read(value);
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
            let group = value.base().map(|s| &self.unit.symbols[s].class);
            match value.base() {
                Some(_) if let Some(Class::Namelist(members)) = group => {
                    let kind = match io.kind {
                        IoKind::Read => Kind::Part,
                        _ => Kind::MayRead,
                    };
                    for s in members {
                        self.add(*s, kind, value.span);
                    }
                }
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
        let joined;
        let known = match (symbol.place.clone(), self.whole) {
            (Place::Global, _) => self.intents.known(&symbol.name, args.len()),
            (Place::Result, Some(_)) => self.intents.known(&self.unit.name, args.len()),
            (Place::Dummy, Some(whole)) => {
                joined = whole.dummy(self.unit, callee, self.intents, args.len());
                joined.as_ref()
            }
            _ => None,
        };
        let pieces = known.map_or(&[][..], |k| &k.pieces);
        let known = known.map(|k| k.args.as_slice());
        // All values are read before the procedure sets any.
        let mut sets = Vec::new();
        let span = args.first().map_or(symbol.span, |a| a.span);
        for (piece, used) in pieces {
            let Ok(at) = self.followed.pieces.binary_search(piece) else {
                continue;
            };
            let bit = (self.followed.symbols.len() + at) as u32;
            if used.reads {
                let kind = Kind::MayRead;
                self.events.push(Event { bit, kind, span });
            }
        }
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
                let kind = if assigned { Kind::Write } else { Kind::Set };
                sets.push((s, kind, a.span));
            } else if assigned {
                sets.push((s, Kind::Part, a.span));
            } else if writes {
                sets.push((s, Kind::Unknown, a.span));
            }
        }
        for (s, kind, span) in sets {
            self.add(s, kind, span);
        }
        for (piece, used) in pieces {
            let Ok(at) = self.followed.pieces.binary_search(piece) else {
                continue;
            };
            let bit = (self.followed.symbols.len() + at) as u32;
            let kind = match (used.always, used.assigned, used.writes) {
                (true, true, _) => Kind::Write,
                (true, false, _) => Kind::Set,
                (false, true, _) => Kind::Part,
                (false, false, true) => Kind::Unknown,
                _ => continue,
            };
            self.events.push(Event { bit, kind, span });
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
