//! Checks for reads of generated variables that nothing has set.

use crate::dataflow::DoubtfulRead;
use crate::ir::{Name, Origin, SymId, Unit};
use std::collections::{HashMap, HashSet};

/// Judges the reads in one generated unit that some path reaches without a value. `uninitialised`
/// holds the names of variables that the user's own text reads without a value.
pub(super) fn check(
    unit: &Unit,
    found: Vec<DoubtfulRead>,
    primals: Option<&Vec<(SymId, SymId)>>,
    uninitialised: &HashSet<Name>,
    errors: &mut Vec<String>,
) {
    let primals: Option<HashMap<SymId, SymId>> = primals.map(|p| p.iter().copied().collect());
    let includes = |s: &crate::ir::Spec| matches!(s.kind, crate::ir::SpecKind::Include(_));
    let includes = unit.specs.iter().any(includes);
    for d in found {
        let symbol = &unit.symbols[d.sym];
        // Undeclared names are declared in the user's INCLUDE file: sizes of arrays.
        if includes && !symbol.typed && symbol.origin != Origin::Written {
            continue;
        }
        // It is unknown which elements of a passed array are read, and a procedure without source
        // may set an argument without reading it.
        let certain = d.certain || d.known && !symbol.is_array();
        let error = match symbol.origin {
            // The user's variables may lack a value on paths that do not need it. What a procedure
            // reads of its arguments is not known exactly.
            Origin::Written => d.certain && d.never && !uninitialised.contains(&symbol.name),
            Origin::Jump => d.certain && d.never,
            Origin::Generated => d.certain && (d.never || primals.is_some()),
            Origin::Derivative => {
                certain && {
                    // A derivative is undefined where its variable is.
                    match primals.as_ref().map(|p| p.get(&d.sym)) {
                        Some(Some(p)) if d.never => !d.others_never.contains(p),
                        Some(Some(p)) => !d.others.contains(p),
                        Some(None) => d.certain,
                        // Reverse sweeps take the same branches as forward sweeps.
                        None => d.never,
                    }
                }
            }
        };
        if error {
            let ways = match d.never {
                true => "nothing",
                false => "not every way",
            };
            errors.push(format!(
                "{}: {} is read where {ways} has given it a value",
                unit.name, symbol.name
            ));
        }
    }
}
