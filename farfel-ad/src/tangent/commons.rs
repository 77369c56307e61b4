//! Derivatives of storage that is seen in different ways: COMMON blocks that units divide differently, and
//! variables that share storage by EQUIVALENCE.
//!
//! If all units see the same [`NumberLayout`] in a block, its derivatives are in a block that has a place for
//! each of these numbers in every unit. For numbers that have no name in a unit, because it has INTEGERs
//! there, for instance, or ends its block before them, an array is declared as a placeholder.
//!
//! Otherwise a COMPLEX variable overlaps two REAL variables, or an array is used in turn with one type and
//! with another. Then the derivatives are in a block that is divided like the original block in the same
//! unit, so that each of them overlaps the derivatives of what its variable overlaps. Variables without
//! derivatives are represented by something of the same size. This works for one direction only: several
//! would be laid out differently for different types.

use super::generator::Generator;
use crate::locations::{common_members, differentiable};
use crate::numbers::NumberLayout;
use farfel_lang::ir::{
    Class, Dim, Entity, Expr, Name, SpecKind, StorageClass, SymId, Symbol, Type, Unit,
};
use farfel_lang::storage::constant::{self, Constants};
use farfel_lang::storage::{Member, UnitStorage};

impl Generator<'_> {
    /// Declares the derivatives of everything at a location that is in COMMON and shared.
    pub(super) fn tangled_blocks(&mut self, loc: usize) {
        for (block, members) in common_members(self.source) {
            let here = members.iter().any(|m| self.space.loc(*m) == loc);
            let known =
                |m: &SymId| self.derivatives.contains_key(m) || self.placeholders.contains_key(m);
            let whole = self.whole_blocks.contains_key(&block);
            if here && !whole && !members.iter().any(known) {
                self.derivative_block(&block);
            }
        }
        self.derivative_equivalence(loc);
    }

    /// The placeholder for a variable that has no derivative.
    pub(super) fn placeholder(&mut self, of: SymId, place: StorageClass) -> SymId {
        if let Some(p) = self.placeholders.get(&of) {
            return *p;
        }
        let symbol = self.unit.symbols[of].clone();
        let name = self.derivative_name(&symbol.name);
        let p = self.declare_new(like(symbol, name, place));
        self.placeholders.insert(of, p);
        p
    }

    /// Whether the derivatives of shared storage are laid out by [`NumberLayout`].
    pub(super) fn by_numbers(&self, loc: usize) -> bool {
        self.engine.layout.vector || !self.space.uneven.contains(loc)
    }

    /// Whether a COMMON variable represents its whole block.
    pub(super) fn is_one_location(&self, k: usize) -> bool {
        let commons = &self.engine.dependence.commons;
        let block = commons.vars.get(k).map(|v| &v.block);
        block.is_some_and(|b| commons.irregular.contains(b))
    }

    /// The derivatives of a whole block in which units see different variables.
    pub(super) fn whole_block(&mut self, k: usize) -> Vec<SymId> {
        let Some(var) = self.engine.dependence.commons.vars.get(k).cloned() else {
            return Vec::new();
        };
        let own = common_members(self.source).remove(&var.block);
        if let Some(members) = own {
            self.tangled_blocks(self.space.common(k));
            if let Some(all) = self.whole_blocks.get(&var.block) {
                return all.clone();
            }
            let both = members
                .iter()
                .map(|m| (self.derivatives.get(m), self.placeholders.get(m)));
            return both.filter_map(|(d, p)| d.or(p)).copied().collect();
        }
        if let Some(all) = self.whole_blocks.get(&var.block) {
            return all.clone();
        }
        if self.by_numbers(self.space.common(k)) {
            return self.block_of_numbers(&var.block);
        }
        let Some(owner) = self.engine.find(&var.unit) else {
            return Vec::new();
        };
        let members = common_members(owner).remove(&var.block).unwrap_or_default();
        let block = self.engine.registry.borrow_mut().block(&var.block);
        let mut all = Vec::new();
        for m in members {
            let of = &owner.symbols[m];
            let name = self.derivative_name(&of.name);
            let dims = of.dims.iter().map(|d| constant_dim(owner, d)).collect();
            let symbol = Symbol {
                dims,
                ..Symbol::variable(of.name.clone(), of.ty.unwrap_or(Type::REAL), self.span)
            };
            let d = self.declare_new(like(symbol, name, StorageClass::Common(block.clone())));
            all.push(d);
        }
        let entities = all.iter().map(|sym| Entity {
            sym: *sym,
            dims: false,
        });
        self.common_spec(block, entities.collect());
        self.whole_blocks.insert(var.block, all.clone());
        all
    }

    /// Declares the derivatives of a block that units divide differently, laid out by numbers.
    pub(super) fn block_of_numbers(&mut self, block: &Name) -> Vec<SymId> {
        let commons = &self.engine.dependence.commons;
        let numbers = commons.numbers.get(block).cloned().unwrap_or_default();
        let name = self.engine.registry.borrow_mut().block(block);
        let mut made = Pieces {
            numbers,
            pieces: Vec::new(),
            storage_class: StorageClass::Common(name.clone()),
        };
        let storage = UnitStorage::of(self.source);
        let mut members = storage
            .block(block)
            .map_or(&[][..], |a| &a.members)
            .to_vec();
        members.retain(|m| m.named);
        let nameless = match block.is_empty() {
            true => self.engine.layout.blank_common.into(),
            false => block.clone(),
        };
        let mut at = 0;
        for m in members {
            self.stand_ins(&mut made, &nameless, at, m.start);
            at = m.start.saturating_add(m.size);
            let of = self.unit.symbols[m.sym].clone();
            if differentiable(&of) {
                let name = self.derivative_name(&of.name);
                let d = self.declare_new(like(of, name, made.storage_class.clone()));
                self.pair(m.sym, d);
                made.pieces.push(Piece::of(&m, d));
            } else {
                self.stand_ins(&mut made, &of.name, m.start, at);
            }
        }
        self.stand_ins(&mut made, &nameless, at, i64::MAX);
        let all: Vec<SymId> = made.pieces.iter().map(|p| p.sym).collect();
        let entities = all.iter().map(|sym| Entity {
            sym: *sym,
            dims: false,
        });
        self.common_spec(name, entities.collect());
        self.whole_blocks.insert(block.clone(), all.clone());
        let others = storage.block(block).into_iter().flat_map(|a| &a.members);
        let others: Vec<Member> = others.filter(|m| !m.named).copied().collect();
        self.tie_to(&mut made, &others);
        all
    }

    /// Declares placeholders for numbers that have no name in the unit.
    fn stand_ins(&mut self, made: &mut Pieces, of: &str, from: i64, to: i64) {
        for s in made.numbers.between(from, to) {
            let symbol = Symbol {
                storage_class: made.storage_class.clone(),
                dims: vec![Dim {
                    lower: None,
                    upper: Some(Expr::int(s.count, self.span)),
                }],
                ..Symbol::variable(self.derivative_name(of), s.ty, self.span)
            };
            made.pieces.push(Piece {
                from: s.from,
                to: s.to,
                sym: self.declare_new(symbol),
            });
        }
    }

    /// Ties the derivatives of all variables at a location together like the variables themselves, laid out
    /// by numbers.
    pub(super) fn tie_numbers(&mut self, loc: usize) {
        let storage = UnitStorage::of(self.source);
        for area in storage.areas() {
            let whole = |b: &Name| self.whole_blocks.contains_key(b);
            if area.block.as_ref().is_some_and(whole) {
                continue;
            }
            let here = |m: &&Member| {
                self.space.loc(m.sym) == loc && differentiable(&self.source.symbols[m.sym])
            };
            let mut members: Vec<Member> = area.members.iter().filter(here).copied().collect();
            let mut made = Pieces {
                numbers: NumberLayout::of(self.source, &members),
                pieces: Vec::new(),
                storage_class: StorageClass::Local,
            };
            // Members of COMMON are in order already.
            if area.block.is_some() && self.shares(loc) {
                for m in members.extract_if(.., |m| m.named) {
                    let d = self.derivative_of(m.sym);
                    made.pieces.push(Piece::of(&m, d));
                }
            }
            self.tie_to(&mut made, &members);
        }
    }

    /// Ties the derivatives of variables, in the order of their places, to what is there and to each other.
    fn tie_to(&mut self, made: &mut Pieces, members: &[Member]) {
        let mut tied = Vec::new();
        for m in members {
            let of = self.unit.symbols[m.sym].clone();
            if !differentiable(&of) {
                continue;
            }
            let d = match self.derivatives.get(&m.sym) {
                Some(d) => *d,
                None => {
                    let name = self.derivative_name(&of.name);
                    let d = self.declare_new(like(of, name, StorageClass::Local));
                    self.pair(m.sym, d);
                    d
                }
            };
            let mut over = made.pieces.iter();
            if let Some(p) = over.find(|p| p.from <= m.start && m.start < p.to) {
                let at = made.numbers.count(p.from, m.start);
                tied.push(vec![self.element_at(p.sym, at), Expr::var(d, self.span)]);
            }
            made.pieces.push(Piece::of(m, d));
        }
        if !tied.is_empty() {
            self.insert_spec(SpecKind::Equivalence(tied));
        }
    }

    /// The element of an array that has `before` elements before it.
    fn element_at(&self, array: SymId, mut before: i64) -> Expr {
        if before == 0 {
            return Expr::var(array, self.span);
        }
        let constants = Constants::of(&self.unit);
        let dims = 0..self.unit.symbols[array].dims.len();
        let subscripts = dims.map(|k| {
            let (low, high) = constants.bounds(array, k);
            let low = low.unwrap_or(1);
            let extent = high.map_or(1, |high| high - low + 1).max(1);
            let subscript = Expr::int(low + before % extent, self.span);
            before /= extent;
            subscript
        });
        Expr::element(array, subscripts.collect(), self.span)
    }
}

/// Derivatives that are laid out by numbers.
struct Pieces {
    numbers: NumberLayout,
    pieces: Vec<Piece>,
    /// The place of their symbols: a COMMON block, or local.
    storage_class: StorageClass,
}

/// One of these derivatives, with the range of bytes of the numbers that it belongs to.
struct Piece {
    from: i64,
    to: i64,
    sym: SymId,
}

impl Piece {
    fn of(m: &Member, sym: SymId) -> Self {
        Piece {
            from: m.start,
            to: m.start.saturating_add(m.size),
            sym,
        }
    }
}

/// A variable of the same size that can be set to zero.
fn like(of: Symbol, name: Name, place: StorageClass) -> Symbol {
    let ty = match of.ty {
        Some(Type::Logical(kind)) => Some(Type::Integer(kind)),
        ty => ty,
    };
    Symbol {
        name,
        ty,
        storage_class: place,
        class: Class::Variable,
        external: false,
        saved: false,
        init: None,
        ..of
    }
}

fn constant_dim(unit: &Unit, d: &Dim) -> Dim {
    let number = |e: &Expr| constant::integer(unit, e).map(|n| Expr::int(n, e.span));
    Dim {
        lower: d.lower.as_ref().and_then(number),
        upper: d.upper.as_ref().and_then(number),
    }
}
