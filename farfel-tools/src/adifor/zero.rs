//! Setting derivatives to zero.
//!
//! ADIFOR leaves it to the caller to initialise derivatives in COMMON before the head is called. In
//! an AD block all tangents are initially zero, except the seeds.

use farfel_lang::Span;
use farfel_lang::ir::build::zero as zero_of_type;
use farfel_lang::ir::{
    Class, Entity, Expr, ExprKind, Name, Spec, SpecKind, Stmt, StorageClass, SymId, Symbol, Type,
    Unit, UnitKind,
};
use farfel_lang::storage::constant::{bounds, extents};

/// Returns statements that set a variable or array of a unit to zero; `None` if its bounds do not
/// determine the number of elements.
pub(super) fn zero(unit: &mut Unit, target: SymId, span: Span) -> Option<Vec<Stmt>> {
    let of = unit.symbols[target].clone();
    let Some(value) = zero_of(of.ty?, span) else {
        return Some(Vec::new());
    };
    if of.dims.is_empty() {
        return Some(vec![Stmt::assign(Expr::var(target, span), value, span)]);
    }
    let mut indices = Vec::new();
    for k in 1..=of.dims.len() {
        indices.push(index(unit, k, span));
    }
    let subscripts = indices.iter().map(|i| Expr::var(*i, span)).collect();
    let mut stmt = Stmt::assign(Expr::element(target, subscripts, span), value, span);
    for (dim, var) in of.dims.iter().zip(indices) {
        let to = dim.upper.clone().filter(|u| u.kind != ExprKind::Star)?;
        let from = dim.lower.clone().unwrap_or_else(|| Expr::int(1, span));
        stmt = Stmt::count(var, [from, to], None, vec![stmt], span);
    }
    Some(vec![stmt])
}

/// Returns the loop variable for the `k`th dimension.
fn index(unit: &mut Unit, k: usize, span: Span) -> SymId {
    let name = format!("IZ{k}");
    if let Some(s) = unit.symbols.find(&name)
        && unit.symbols[s].ty == Some(Type::INTEGER)
        && unit.symbols[s].storage_class == StorageClass::Local
        && unit.symbols[s].class == Class::Variable
        && !unit.symbols[s].is_array()
    {
        return s;
    }
    let name = unit.symbols.unused(&name, &|_| false);
    let id = unit.symbols.add(Symbol {
        typed: true,
        ..Symbol::variable(name, Type::INTEGER, span)
    });
    unit.declare(id);
    id
}

fn zero_of(ty: Type, span: Span) -> Option<Expr> {
    match ty {
        Type::Real(_) | Type::Complex(_) => Some(zero_of_type(ty, span)),
        // ADIFOR generates a derivative for every member of an active block.
        Type::Integer(_) => Some(Expr::int(0, span)),
        Type::Logical(_) | Type::Character => None,
    }
}

/// A COMMON block of derivatives: its name, and the unit and symbols that define its members.
pub(super) struct Block<'u> {
    pub name: Name,
    pub unit: &'u Unit,
    pub members: Vec<SymId>,
}

impl Block<'_> {
    /// Returns the type and extents of each member.
    pub fn size(&self) -> Vec<(Option<Type>, Option<Vec<i64>>)> {
        let member = |m: &SymId| {
            let s = &self.unit.symbols[*m];
            (s.ty, extents(self.unit, &s.dims))
        };
        self.members.iter().map(member).collect()
    }
}

/// Returns a subroutine that sets all members of some COMMON blocks to zero, or the name of a
/// member whose size is not constant.
pub(super) fn subroutine(name: Name, blocks: &[Block], span: Span) -> Result<Unit, Name> {
    let mut unit = Unit::new(UnitKind::Subroutine, name, span);
    for block in blocks {
        let mut entities = Vec::new();
        for m in &block.members {
            let of = &block.unit.symbols[*m];
            let dims = bounds(block.unit, &of.dims).ok_or_else(|| of.name.clone())?;
            // The same name may occur in two blocks.
            let own = unit.symbols.unused(&of.name, &|n| n == unit.name);
            let id = unit.symbols.add(Symbol {
                ty: of.ty,
                typed: true,
                dims,
                class: Class::Variable,
                storage_class: StorageClass::Common(block.name.clone()),
                ..Symbol::new(own, span)
            });
            unit.declare(id);
            entities.push(Entity {
                sym: id,
                dims: false,
            });
        }
        unit.specs.push(Spec {
            kind: SpecKind::Common(vec![(block.name.clone(), entities)]),
            span,
        });
    }
    let members: Vec<SymId> = unit.symbols.ids().collect();
    for m in members {
        let stmts = zero(&mut unit, m, span).ok_or_else(|| unit.symbols[m].name.clone())?;
        unit.body.extend(stmts);
    }
    Ok(unit)
}
