//! The positions in shared storage of numbers that can have derivatives.
//!
//! The derivatives of two variables that share storage can share storage, too, wherever both
//! variables see the same numbers there: of the same type, and beginning at the same bytes.
//! INTEGERs and padding cannot simply be left out, since another program unit may see a number
//! there. So the layout of derivatives that share storage is by numbers: each number that any of
//! the variables contains has its place, in storage order, and nothing else has.
//!
//! This holds for any number of directions. The directions are the first dimension of a derivative,
//! so that all directions of a number are adjacent, and the derivatives of consecutive numbers are
//! consecutive. (If the directions were last, there would be no array with the derivative of an
//! array that a caller passes from some element on.) Patterns, whose derivatives all have the same
//! size, have the same layout.

use farfel_lang::ir::{Attribute, Symbol, Type, Unit};
use farfel_lang::storage::constant::Constants;
use farfel_lang::storage::{Area, Member};

/// Whether this is a variable or array that can have a derivative.
pub fn differentiable(s: &Symbol) -> bool {
    s.is_variable() && s.ty.is_some_and(Type::is_differentiable) && !s.has(Attribute::Constant)
}

/// The numbers in a piece of storage, as seen by all variables in it.
#[derive(Debug, Clone, Default)]
pub struct NumberLayout {
    /// Sorted by their first byte; disjoint.
    runs: Vec<NumberRun>,
    /// Whether some variables see other numbers than others, or what they see depends on unknown
    /// sizes.
    pub uneven: bool,
}

/// Consecutive numbers of one type.
#[derive(Debug, Clone, Copy)]
struct NumberRun {
    start: i64,
    /// The size of each in bytes.
    size: i64,
    count: i64,
    ty: Type,
}

impl NumberRun {
    fn end(&self) -> i64 {
        self.start
            .saturating_add(self.size.saturating_mul(self.count))
    }

    /// Returns how many of them begin before a byte.
    fn before(&self, byte: i64) -> i64 {
        let bytes = byte.saturating_sub(self.start).max(0);
        let whole = bytes / self.size + i64::from(bytes % self.size > 0);
        whole.min(self.count)
    }
}

/// Consecutive numbers of one type.
#[derive(Debug, Clone, Copy)]
pub struct NumberRange {
    /// The first byte.
    pub from: i64,
    /// The byte after the last one.
    pub to: i64,
    /// The number of numbers.
    pub count: i64,
    /// Their type.
    pub ty: Type,
}

impl NumberLayout {
    /// Collects the numbers that some variables in a piece of storage contain.
    pub fn of<'m>(unit: &Unit, members: impl IntoIterator<Item = &'m Member>) -> Self {
        let mut numbers = NumberLayout::default();
        numbers.add(unit, members);
        numbers
    }

    /// Adds the numbers that a program unit sees in an area of its storage.
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
                (Some(ty), Some(size)) if size > 0 => self.insert(NumberRun {
                    start: m.start,
                    size,
                    count: m.size / size,
                    ty,
                }),
                _ => self.uneven = true,
            }
        }
    }

    fn insert(&mut self, new: NumberRun) {
        let mut at = new.start;
        let mut added = Vec::new();
        let mut add = |from: i64, to: i64| {
            if from < to {
                added.push(NumberRun {
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

    /// Returns how many numbers begin at or after the byte `from`, and before the byte `to`.
    pub fn count(&self, from: i64, to: i64) -> i64 {
        let begin = |r: &NumberRun| r.before(to).saturating_sub(r.before(from)).max(0);
        self.runs.iter().map(begin).fold(0, i64::saturating_add)
    }

    /// Returns these numbers, grouped by type.
    pub fn between(&self, from: i64, to: i64) -> Vec<NumberRange> {
        let mut found: Vec<NumberRange> = Vec::new();
        for r in &self.runs {
            let (first, end) = (r.before(from), r.before(to));
            if first >= end {
                continue;
            }
            let byte = |n: i64| r.start.saturating_add(n.saturating_mul(r.size));
            let new = NumberRange {
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
