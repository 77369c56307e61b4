//! Where in shared storage the numbers lie that can have derivatives.
//!
//! Two variables that share storage can have derivatives that share theirs wherever both see the same
//! numbers in it: of one type, beginning at the same bytes. What is no number, INTEGERs or unused
//! bytes, need not count: for another program unit it may be a number. So derivatives that share
//! storage are laid out by numbers: each of those that any of the variables is made of has its
//! place, in the order of the storage, and nothing else has.
//!
//! That is so for any number of directions. The derivative of a variable has them as its first
//! dimension, so that all directions of a number stand together, and a stretch of numbers has its
//! derivatives one after the other. (With the directions last, an array that a caller passes from
//! some element on would have no derivative that is an array.) And patterns, whose derivatives are
//! all of one size, are laid out likewise.

use farfel_lang::ir::{Attribute, Symbol, Type, Unit};
use farfel_lang::storage::constant::Constants;
use farfel_lang::storage::{Area, Member};

/// True for a variable or array that can have a derivative.
pub fn differentiable(s: &Symbol) -> bool {
    s.is_variable() && s.ty.is_some_and(Type::is_differentiable) && !s.has(Attribute::Constant)
}

/// The numbers of some storage, as all variables in it see them.
#[derive(Debug, Clone, Default)]
pub struct Numbers {
    /// By where they begin; apart.
    runs: Vec<Run>,
    /// Some see other numbers than others, or what they see depends on sizes that are not known.
    pub uneven: bool,
}

/// Numbers of one type, one after the other.
#[derive(Debug, Clone, Copy)]
struct Run {
    start: i64,
    /// Bytes of one.
    size: i64,
    count: i64,
    ty: Type,
}

impl Run {
    fn end(&self) -> i64 {
        self.start
            .saturating_add(self.size.saturating_mul(self.count))
    }

    /// How many of them begin before a byte.
    fn before(&self, byte: i64) -> i64 {
        let bytes = byte.saturating_sub(self.start).max(0);
        let whole = bytes / self.size + i64::from(bytes % self.size > 0);
        whole.min(self.count)
    }
}

/// Neighbouring numbers of one type.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    /// The first byte.
    pub from: i64,
    /// The byte behind the last.
    pub to: i64,
    /// How many there are.
    pub count: i64,
    /// Their type.
    pub ty: Type,
}

impl Numbers {
    /// The numbers that some variables of a stretch of storage are made of.
    pub fn of<'m>(unit: &Unit, members: impl IntoIterator<Item = &'m Member>) -> Self {
        let mut numbers = Numbers::default();
        numbers.add(unit, members);
        numbers
    }

    /// Adds those that a program unit sees in an area of its storage.
    pub fn add_area(&mut self, unit: &Unit, area: &Area) {
        self.uneven |= !area.exact;
        self.add(unit, &area.members);
    }

    fn add<'m>(&mut self, unit: &Unit, members: impl IntoIterator<Item = &'m Member>) {
        let constants = Constants::of(unit);
        for m in members {
            let of = &unit.symbols[m.sym];
            if !differentiable(of) {
                continue;
            }
            match (of.ty, constants.element_size(m.sym)) {
                (Some(ty), Some(size)) if size > 0 => self.insert(Run {
                    start: m.start,
                    size,
                    count: m.size / size,
                    ty,
                }),
                _ => self.uneven = true,
            }
        }
    }

    fn insert(&mut self, new: Run) {
        let mut at = new.start;
        let mut added = Vec::new();
        let mut add = |from: i64, to: i64| {
            if from < to {
                added.push(Run {
                    start: from,
                    count: (to - from) / new.size,
                    ..new
                });
            }
        };
        for old in &self.runs {
            if old.start >= new.end() || new.start >= old.end() {
                continue;
            }
            let apart = old.start.saturating_sub(new.start);
            if old.ty != new.ty || old.size != new.size || apart % new.size != 0 {
                self.uneven = true;
                return;
            }
            add(at, old.start);
            at = old.end();
        }
        add(at, new.end());
        self.runs.extend(added);
        self.runs.sort_by_key(|r| r.start);
    }

    /// How many numbers begin at one byte or behind it, and before another one.
    pub fn count(&self, from: i64, to: i64) -> i64 {
        let begin = |r: &Run| r.before(to).saturating_sub(r.before(from)).max(0);
        self.runs.iter().map(begin).fold(0, i64::saturating_add)
    }

    /// These numbers, by their types.
    pub fn between(&self, from: i64, to: i64) -> Vec<Stretch> {
        let mut found: Vec<Stretch> = Vec::new();
        for r in &self.runs {
            let (first, end) = (r.before(from), r.before(to));
            if first >= end {
                continue;
            }
            let byte = |n: i64| r.start.saturating_add(n.saturating_mul(r.size));
            let new = Stretch {
                from: byte(first),
                to: byte(end),
                count: end - first,
                ty: r.ty,
            };
            match found.last_mut() {
                Some(last) if last.ty == new.ty => {
                    last.to = new.to;
                    last.count = last.count.saturating_add(new.count);
                }
                _ => found.push(new),
            }
        }
        found
    }
}
