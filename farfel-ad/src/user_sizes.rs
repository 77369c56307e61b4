//! Constants for sizes that cannot be determined from the program. Users define them in [`SIZES_FILE`], by the
//! conventions of Tapenade.

use crate::layout::SIZES_FILE;
use farfel_lang::Span;
use farfel_lang::ir::{Name, Spec, SpecKind, Symbol, Type, Unit};

/// Returns the name of the constant for the last subscript of an array in a dimension, which is counted from 0.
pub(crate) fn last_subscript(array: &str, dimension: usize) -> Name {
    format!("ISIZE{}OF{array}", dimension + 1).into()
}

/// Returns the symbol of a constant, for a unit that has none of this name yet. The declaration is in the file.
pub(crate) fn constant(name: Name, span: Span) -> Symbol {
    Symbol::variable(name, Type::INTEGER, span)
}

/// Adds the INCLUDE of the file, unless the unit has it.
pub(crate) fn include(unit: &mut Unit, span: Span) {
    let kind = SpecKind::Include(SIZES_FILE.to_owned());
    if unit.specs.iter().any(|s| s.kind == kind) {
        return;
    }
    let implicit = |s: &Spec| s.kind == SpecKind::Implicit;
    let after = unit.specs.iter().rposition(implicit);
    let at = after.map_or(0, |i| i + 1);
    unit.specs.insert(at, Spec { kind, span });
}
