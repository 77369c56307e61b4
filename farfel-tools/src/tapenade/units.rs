//! Calls and names of single units, and units from our own source.

use super::stack;
use farfel_ad::spans;
use farfel_lang::ir::{
    Class, Name, StmtKind, StorageClass, Unit, for_each_reference, walk_block_mut,
};
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{Form, NoIncludes, parse};
use farfel_lang::{Sources, Span};

/// Parses units from our own source.
pub(super) fn own_units(text: &str, span: Span) -> Vec<Unit> {
    let mut sources = Sources::new();
    let file = sources.add("own", text);
    let mut program = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes).program;
    program.units.iter_mut().for_each(stack::declare_calls);
    let errors = resolve(&mut program);
    debug_assert!(errors.is_empty(), "{errors:?}\n{text}");
    for u in &mut program.units {
        spans::place_unit(u, span);
    }
    program.units
}

/// Returns the top-level and external procedures that a unit calls.
pub(super) fn called(unit: &Unit) -> Vec<Name> {
    let mut found: Vec<Name> = Vec::new();
    for_each_reference(&unit.body, &mut |r| {
        let s = &unit.symbols[r.procedure];
        if s.storage_class == StorageClass::Global
            && !matches!(s.class, Class::Intrinsic(_))
            && !found.contains(&s.name)
        {
            found.push(s.name.clone());
        }
    });
    found
}

/// Renames a unit.
pub(super) fn rename_self(unit: &mut Unit, new: &Name) {
    let old = std::mem::replace(&mut unit.name, new.clone());
    if let Some(r) = unit.result
        && unit.symbols[r].name == old
    {
        unit.symbols.rename(r, new.clone());
    } else if let Some(s) = unit.symbols.find(&old)
        && unit.symbols[s].storage_class == StorageClass::Global
    {
        unit.symbols.rename(s, new.clone());
    }
}

/// Renames references to a top-level unit in another unit.
pub(super) fn rename_in(unit: &mut Unit, old: &str, new: &Name) {
    if let Some(s) = unit.symbols.find(old)
        && unit.symbols[s].storage_class == StorageClass::Global
    {
        unit.symbols.rename(s, new.clone());
    }
}

/// Removes statements without effect: CONTINUE without a label.
pub(super) fn tidy(unit: &mut Unit) {
    walk_block_mut(&mut unit.body, &mut |s| {
        for b in s.blocks_mut() {
            b.retain(|s| s.label.is_some() || !matches!(s.kind, StmtKind::Continue));
        }
    });
    unit.body
        .retain(|s| s.label.is_some() || !matches!(s.kind, StmtKind::Continue));
}
