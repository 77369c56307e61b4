//! ENTRY statements whose results have names of their own.
//!
//! `ENTRY G(X) RESULT(S)` is treated as `ENTRY G(X)` with S replaced by G everywhere: in FORTRAN 77
//! the result of an entry has the name of the entry. If G is also used for something else, that is
//! an error.

use super::Parser;
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{Expr, Implicit, Type, Unit};
use crate::syntax::open_unit::{OpenUnit, RenamedResult};

impl Parser<'_> {
    /// Gives results the names of their entries, at the end of the unit.
    pub(super) fn name_entry_results(&mut self, open_unit: &mut OpenUnit) {
        for renamed in std::mem::take(&mut open_unit.entry_results) {
            let RenamedResult {
                result,
                entry,
                span,
            } = renamed;
            let unit = &mut open_unit.unit;
            let old = unit.symbols[result].name.clone();
            let why = if unit.result == Some(result) {
                Some(format!("{old} is the result of {} too", unit.name))
            } else if entry == unit.name || unit.symbols.find(&entry).is_some() {
                Some(format!("{entry} has a meaning of its own in {}", unit.name))
            } else if unit.nested.iter().any(|n| mentions(n, &old)) {
                Some(format!("{old} is used in a nested subprogram"))
            } else {
                None
            };
            if let Some(why) = why {
                self.report(
                    Diagnostic::error(
                        &rules::UNSUPPORTED,
                        span,
                        format!("{old} cannot be the result of {entry} here: {why}"),
                    )
                    .help(format!(
                        "leave RESULT out, and assign the result to {entry}"
                    )),
                );
                continue;
            }
            let symbol = &unit.symbols[result];
            if symbol.ty.is_none() {
                // The old name determined the implicit type.
                let around = std::iter::once(&self.open_unit).chain(self.outer.iter().rev());
                let around = around.filter(|f| f.open).map(|f| &f.unit.implicit);
                let implicit = implicit(std::iter::once(&unit.implicit).chain(around), &old);
                let span = symbol.span;
                let symbol = &mut unit.symbols[result];
                if let Some((ty, length)) = implicit {
                    symbol.ty = Some(ty);
                    symbol.typed = true;
                    symbol.length = length.map(|n| Expr::int(n, span));
                }
                unit.declare(result);
            }
            unit.symbols.rename(result, entry);
        }
    }
}

/// Returns the type of an undeclared name, under rules from the innermost to the outermost.
fn implicit<'r>(
    rules: impl Iterator<Item = &'r Implicit>,
    name: &str,
) -> Option<(Type, Option<i64>)> {
    for rule in rules {
        if let Some(own) = rule.own(name) {
            return Some(own);
        }
        if rule.none {
            return None;
        }
    }
    Some((Implicit::default_type(name), None))
}

fn mentions(unit: &Unit, name: &str) -> bool {
    unit.symbols.find(name).is_some() || unit.nested.iter().any(|n| mentions(n, name))
}
