//! What statements do to variables: reads and writes, in the order in which they happen.

use super::commons::{Commons, WholeProgram};
use super::{Intents, VariableUse};
use crate::access::{self, Access, Call};
use farfel_ir::ir::{
    AdBlock, Arg, Attribute, Class, Expr, SpecKind, Stmt, StmtKind, StorageClass, SymId, Unit,
    walk_block,
};
use farfel_ir::source::Span;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// What happens to a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventKind {
    /// Its value is needed.
    Read,
    /// Its value may be needed, by a procedure.
    MayRead,
    /// It is passed to a procedure without source, which may read it.
    Passed,
    /// All of it gets a value.
    Write,
    /// A part of it, or all of it, gets a value.
    Part,
    /// A procedure without source may assign it.
    Unknown,
    /// After this, all of it has a value, or control does not get here.
    Set,
}

/// An access to a variable.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    /// The variable, by its number among those that are tracked.
    pub bit: u32,
    pub kind: EventKind,
    pub span: Span,
}

const NONE: u32 = u32::MAX;

/// The variables of a unit whose values can be tracked: only the unit's own statements and the
/// procedures that it calls can access them.
#[derive(Default)]
pub(super) struct TrackedVariables {
    bits: Vec<u32>,
    pub symbols: Vec<SymId>,
    /// Pieces of COMMON blocks. Their numbers follow those of the symbols.
    pub pieces: Vec<u32>,
    /// The pieces of variables in COMMON blocks, as indices into `pieces`.
    ranges: HashMap<SymId, Range<u32>>,
    /// Whether procedures are assumed to set everything that they may set.
    pub assume_set: bool,
}

impl TrackedVariables {
    /// Also tracks COMMON variables and variables of the enclosing unit, for summaries of what a
    /// procedure does, independent of when. `pieces`: the pieces that the unit and its callees may
    /// access. `around`: what is tracked in the enclosing unit.
    pub fn whole(
        unit: &Unit,
        commons: &Commons,
        pieces: Vec<u32>,
        around: Option<&TrackedVariables>,
    ) -> Self {
        let mut tracked = TrackedVariables {
            bits: vec![NONE; unit.symbols.len()],
            pieces,
            ..TrackedVariables::default()
        };
        let place = |piece: u32| tracked.pieces.partition_point(|p| *p < piece) as u32;
        for (s, range) in commons.variables(unit) {
            let range = place(range.start)..place(range.end);
            tracked.ranges.insert(s, range);
        }
        for (id, s) in unit.symbols.iter() {
            match s.storage_class {
                StorageClass::Dummy | StorageClass::Result if s.class == Class::Variable => {}
                StorageClass::Host(outer) if s.class == Class::Variable => {
                    if let Some(range) = around.and_then(|a| a.ranges.get(&outer)) {
                        tracked.ranges.insert(id, range.clone());
                        continue;
                    }
                }
                _ => continue,
            }
            tracked.bits[id.0 as usize] = tracked.symbols.len() as u32;
            tracked.symbols.push(id);
        }
        tracked
    }

    /// Returns the number of tracked variables and pieces.
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
                // All local variables keep their values.
                SpecKind::Save(list) if list.is_empty() => {
                    let locals = unit
                        .symbols
                        .iter()
                        .filter(|(_, s)| s.storage_class == StorageClass::Local);
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
                if let StorageClass::Host(outer) = s.storage_class {
                    close(outer);
                }
            }
        }
        let mut bits = vec![NONE; unit.symbols.len()];
        let mut symbols = Vec::new();
        for (id, s) in unit.symbols.iter() {
            let own = match s.storage_class {
                StorageClass::Local => !s.saved && s.init.is_none(),
                StorageClass::Dummy | StorageClass::Result => true,
                _ => false,
            };
            let fixed = s.has(Attribute::Allocatable) || s.has(Attribute::Volatile);
            if own && s.class == Class::Variable && !fixed && open[id.0 as usize] {
                bits[id.0 as usize] = symbols.len() as u32;
                symbols.push(id);
            }
        }
        TrackedVariables {
            bits,
            symbols,
            ..TrackedVariables::default()
        }
    }

    pub fn bit(&self, s: SymId) -> Option<u32> {
        self.bits
            .get(s.0 as usize)
            .copied()
            .filter(|bit| *bit != NONE)
    }
}

/// Collects the events of the statements of a unit.
pub(super) struct EventFinder<'a> {
    pub unit: &'a Unit,
    pub tracked: &'a TrackedVariables,
    pub intents: &'a Intents,
    /// Set if everything that procedures do is tracked.
    pub whole: Option<&'a WholeProgram<'a>>,
    pub events: Vec<Event>,
}

impl<'a> EventFinder<'a> {
    fn add(&mut self, s: SymId, kind: EventKind, span: Span) {
        if let Some(bit) = self.tracked.bit(s) {
            self.events.push(Event { bit, kind, span });
        } else if let Some(range) = self.tracked.ranges.get(&s) {
            let first = self.tracked.symbols.len() as u32;
            let bits = range.clone().map(|p| first + p);
            self.events
                .extend(bits.map(|bit| Event { bit, kind, span }));
        }
    }

    /// Adds the events of a statement itself, or for an AD block those of everything in it.
    /// `masked`: whether the statement is under a mask, so that assignments affect only some
    /// elements.
    pub fn statement(&mut self, stmt: &'a Stmt, masked: bool) {
        let unit = self.unit;
        match &stmt.kind {
            StmtKind::Ad(block) => {
                let first = self.events.len();
                access::ad_block(unit, block, &mut |a| self.access(a));
                self.plain_reads(block, first);
            }
            _ => access::statement(unit, stmt, masked, &mut |a| self.access(a)),
        }
    }

    /// Adds definite reads in an AD block. The order of events in a block is not tracked, but
    /// variables that nothing in it sets are read as anywhere else. `first`: the index of the
    /// block's first event.
    fn plain_reads(&mut self, block: &'a AdBlock, first: usize) {
        let unit = self.unit;
        let read = |k| matches!(k, EventKind::Read | EventKind::MayRead | EventKind::Passed);
        let set = self.events[first..].iter().filter(|e| !read(e.kind));
        let set: HashSet<u32> = set.map(|e| e.bit).collect();
        let mut reads = Vec::new();
        let mut look = |a: Access<'a>| {
            if let Access::Variable {
                sym,
                kind: access::AccessKind::Read,
                span,
                ..
            } = a
            {
                reads.push((sym, span));
            }
        };
        for item in &block.opening {
            item.for_each_assign(&mut |a| access::expression(unit, &a.other, &mut look));
        }
        walk_block(&block.body, &mut |s| {
            if !matches!(s.kind, StmtKind::Ad(_)) {
                access::statement(unit, s, true, &mut look);
            }
        });
        for (sym, span) in reads {
            if let Some(bit) = self.tracked.bit(sym).filter(|b| !set.contains(b)) {
                let kind = EventKind::Read;
                self.events.push(Event { bit, kind, span });
            }
        }
    }

    /// Adds the events before the first statement. `args`: the arguments of the entry point, if it
    /// is known.
    pub fn entry(&mut self, args: Option<&[Arg]>) {
        let unit = self.unit;
        access::at_entry(unit, args, &mut |a| match a {
            // One entry point needs them, but it is not known which.
            Access::Variable { sym, span, .. } if args.is_none() => {
                self.add(sym, EventKind::MayRead, span);
            }
            other => self.access(other),
        });
    }

    fn access(&mut self, a: Access<'a>) {
        match a {
            Access::Variable {
                sym, kind, span, ..
            } => {
                let kind = match kind {
                    access::AccessKind::Read => EventKind::Read,
                    access::AccessKind::MayRead => EventKind::MayRead,
                    access::AccessKind::Write => EventKind::Write,
                    access::AccessKind::Part
                    | access::AccessKind::Allocate
                    | access::AccessKind::Free => EventKind::Part,
                    access::AccessKind::MayWrite => EventKind::Unknown,
                };
                self.add(sym, kind, span);
            }
            Access::Call(call) => self.call(&call),
            Access::Closure { captured, span, .. } => {
                for s in captured {
                    self.add(*s, EventKind::MayRead, span);
                    self.add(*s, EventKind::Unknown, span);
                }
            }
            Access::SideEffect(_) => {}
        }
    }

    fn call(&mut self, call: &Call) {
        let (callee, args) = (call.callee, call.args);
        let symbol = &self.unit.symbols[callee];
        let joined;
        let known = match (symbol.storage_class.clone(), self.whole) {
            (StorageClass::Global, _) => self.intents.known(&symbol.name, args.len()),
            (StorageClass::Result, Some(_)) => self.intents.known(&self.unit.name, args.len()),
            (StorageClass::Dummy, Some(whole)) => {
                joined = whole.dummy(self.unit, callee, self.intents, args.len());
                joined.as_ref()
            }
            _ => None,
        };
        let pieces = known.map_or(&[][..], |k| &k.pieces);
        let known = known.map(|k| k.args.as_slice());
        let place = |piece: u32| {
            let at = self.tracked.pieces.binary_search(&piece).ok()?;
            Some((self.tracked.symbols.len() + at) as u32)
        };
        let pieces: Vec<(u32, VariableUse)> = pieces
            .iter()
            .filter_map(|(piece, used)| Some((place(*piece)?, *used)))
            .collect();
        // All values are read before the procedure sets any.
        let span = args.first().map_or(symbol.span, |a| a.span);
        for (bit, used) in &pieces {
            if used.reads {
                self.events.push(Event {
                    bit: *bit,
                    kind: EventKind::MayRead,
                    span,
                });
            }
        }
        let mut sets = Vec::new();
        for i in 0..args.len() {
            let Some(passed) = call.passed_variable(i) else {
                continue;
            };
            // A procedure without source may do anything.
            let used = known.map_or(
                VariableUse {
                    reads: true,
                    writes: true,
                    ..VariableUse::default()
                },
                |k| k[i],
            );
            if used.reads {
                let kind = match known {
                    Some(_) => EventKind::MayRead,
                    None => EventKind::Passed,
                };
                self.add(passed.sym, kind, passed.span);
            }
            let whole = passed.whole && !self.unit.symbols[passed.sym].is_array();
            let set = used.writes && whole && self.tracked.assume_set;
            if let Some(kind) = written(used, whole && call.certain) {
                sets.push((passed, kind));
                sets.extend(set.then_some((passed, EventKind::Set)));
            }
        }
        for (passed, kind) in sets {
            self.add(passed.sym, kind, passed.span);
        }
        for (bit, used) in pieces {
            if let Some(kind) = written(used, call.certain) {
                self.events.push(Event { bit, kind, span });
            }
        }
    }
}

/// Returns the event for a use by a callee. `all`: whether a variable that the callee always sets
/// gets a value completely.
fn written(used: VariableUse, all: bool) -> Option<EventKind> {
    match (used.always && all, used.assigned, used.writes) {
        (true, true, _) => Some(EventKind::Write),
        (true, false, _) => Some(EventKind::Set),
        (false, true, _) => Some(EventKind::Part),
        (false, false, true) => Some(EventKind::Unknown),
        _ => None,
    }
}
