//! Vector mode: several directions in one sweep.
//!
//! The tool declares derivatives with room for a constant number of directions, which is defined in
//! an include file. Here this is replaced by the actual number of directions, which is the last
//! argument.

use farfel_lang::ir::{
    Class, Entity, ExprKind, Spec, SpecKind, StorageClass, SymId, Unit, for_each_symbol_mut,
    walk_exprs,
};

/// The include file. The value is never used.
pub(super) const DIFFSIZES: &str = "      INTEGER NBDIRSMAX\n      PARAMETER (NBDIRSMAX=1)\n";

/// Why a unit cannot be generalised.
pub(super) enum NotGeneralisable {
    /// An array that outlives the call.
    Static(String),
    /// The number of directions is not an argument.
    NoCount,
}

/// Replaces the constant by the number of directions.
pub(super) fn generalise(unit: &mut Unit) -> Result<(), NotGeneralisable> {
    let Some(max) = unit.symbols.find("NBDIRSMAX") else {
        return Ok(());
    };
    let Some(count) = unit.symbols.find("NBDIRS") else {
        return if uses(unit, max) {
            Err(NotGeneralisable::NoCount)
        } else {
            remove(unit, max);
            Ok(())
        };
    };
    if unit.symbols[count].storage_class != StorageClass::Dummy {
        return Err(NotGeneralisable::NoCount);
    }
    let ids: Vec<SymId> = unit.symbols.ids().collect();
    for id in ids {
        let mut sized = false;
        let s = &mut unit.symbols[id];
        for d in &mut s.dims {
            for e in d.lower.iter_mut().chain(&mut d.upper) {
                e.for_each_symbol_mut(&mut |s| {
                    if *s == max {
                        *s = count;
                        sized = true;
                    }
                });
            }
        }
        if sized && (s.saved || matches!(s.storage_class, StorageClass::Common(_))) {
            return Err(NotGeneralisable::Static(s.name.to_string()));
        }
    }
    for_each_symbol_mut(&mut unit.body, &mut |s| {
        if *s == max {
            *s = count;
        }
    });
    remove(unit, max);
    declare_first(unit, count);
    Ok(())
}

/// Declares a variable before everything else, so that bounds can refer to it.
pub(super) fn declare_first(unit: &mut Unit, sym: SymId) {
    unit.undeclare(sym);
    let span = unit.span;
    let Some(ty) = unit.symbols[sym].ty else {
        return;
    };
    let at = usize::from(matches!(
        unit.specs.first().map(|s| &s.kind),
        Some(SpecKind::Implicit)
    ));
    let kind = SpecKind::Type(ty, vec![Entity { sym, dims: false }]);
    unit.specs.insert(at, Spec { kind, span });
}

fn uses(unit: &Unit, sym: SymId) -> bool {
    let mut found = false;
    walk_exprs(&unit.body, &mut |e| {
        found |= matches!(e.kind, ExprKind::Var(s) if s == sym);
    });
    let bounds = unit.symbols.iter().flat_map(|(_, s)| &s.dims);
    for e in bounds.flat_map(|d| d.lower.iter().chain(&d.upper)) {
        e.for_each_symbol(&mut |s| found |= s == sym);
    }
    found
}

/// Removes a named constant.
fn remove(unit: &mut Unit, sym: SymId) {
    unit.undeclare(sym);
    if let Class::Parameter(_) = unit.symbols[sym].class {
        // The symbol stays in the table, but nothing refers to it any more.
        unit.symbols[sym].storage_class = StorageClass::Local;
    }
}
