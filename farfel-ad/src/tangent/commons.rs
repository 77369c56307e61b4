//! Derivatives of what program units see differently: COMMON blocks that are not divided alike
//! everywhere, or that share storage by EQUIVALENCE.
//!
//! The derivatives stand in a block that is divided as the block is in the same unit, so that each
//! of them lies over the derivatives of what its variable lies over. For variables without
//! derivatives something of the same size stands there.

use super::stmt::Gen;
use crate::locations::common_members;
use farfel_lang::ir::{Class, Dim, Entity, Expr, Name, Place, SymId, Symbol, Type, Unit};
use farfel_lang::storage::constant;

impl Gen<'_> {
    /// Declares the derivatives of all that is at a location which is in COMMON, and shared.
    pub(super) fn tangled_blocks(&mut self, loc: usize) {
        for (block, members) in common_members(self.source) {
            let here = members.iter().any(|m| self.space.loc(*m) == loc);
            let known =
                |m: &SymId| self.derivatives.contains_key(m) || self.placeholders.contains_key(m);
            if here && !members.iter().any(known) {
                self.derivative_block(&block);
            }
        }
        self.derivative_equivalence(loc);
    }

    /// What holds the place of a variable that has no derivative.
    pub(super) fn placeholder(&mut self, of: SymId, place: Place) -> SymId {
        if let Some(p) = self.placeholders.get(&of) {
            return *p;
        }
        let symbol = self.unit.symbols[of].clone();
        let name = self.derivative_name(&symbol.name);
        let p = self.declare_new(like(symbol, name, place));
        self.placeholders.insert(of, p);
        p
    }

    /// Does a COMMON variable stand for its whole block?
    pub(super) fn is_one_location(&self, k: usize) -> bool {
        let commons = &self.engine.dependence.commons;
        let block = commons.vars.get(k).map(|v| &v.block);
        block.is_some_and(|b| commons.irregular.contains(b))
    }

    /// The derivatives of a whole block, of which units see different variables.
    pub(super) fn whole_block(&mut self, k: usize) -> Vec<SymId> {
        let Some(var) = self.engine.dependence.commons.vars.get(k).cloned() else {
            return Vec::new();
        };
        let own = common_members(self.source).remove(&var.block);
        if let Some(members) = own {
            self.tangled_blocks(self.space.common(k));
            let both = members
                .iter()
                .map(|m| (self.derivatives.get(m), self.placeholders.get(m)));
            return both.filter_map(|(d, p)| d.or(p)).copied().collect();
        }
        if let Some(all) = self.imported_blocks.get(&k) {
            return all.clone();
        }
        let Some(owner) = self.engine.find(&var.unit) else {
            return Vec::new();
        };
        let members = common_members(owner).remove(&var.block).unwrap_or_default();
        let block = self.engine.names.borrow_mut().block(&var.block);
        let mut all = Vec::new();
        for m in members {
            let of = &owner.symbols[m];
            let name = self.derivative_name(&of.name);
            let dims = of.dims.iter().map(|d| constant_dim(owner, d)).collect();
            let symbol = Symbol {
                dims,
                ..Symbol::variable(of.name.clone(), of.ty.unwrap_or(Type::REAL), self.span)
            };
            let d = self.declare_new(like(symbol, name, Place::Common(block.clone())));
            all.push(d);
        }
        let entities = all.iter().map(|sym| Entity {
            sym: *sym,
            dims: false,
        });
        self.common_spec(block, entities.collect());
        self.imported_blocks.insert(k, all.clone());
        all
    }
}

/// A variable of the same size that can be set to zero.
fn like(of: Symbol, name: Name, place: Place) -> Symbol {
    let ty = match of.ty {
        Some(Type::Logical(kind)) => Some(Type::Integer(kind)),
        ty => ty,
    };
    Symbol {
        name,
        ty,
        place,
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
