//! The names of symbols in the printed text.

use crate::ir::{ExprKind, SymId, Unit, UnitKind, unused_name, walk_exprs};

/// A unit whose names are being printed.
pub(super) struct Scope<'a> {
    pub(super) unit: &'a Unit,
    /// The result and its name, for a recursive function that calls itself: its result needs
    /// another name, because the function's own name with arguments would refer to the result.
    result: Option<(SymId, String)>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(unit: &'a Unit) -> Self {
        let result = unit
            .result
            .filter(|r| {
                unit.kind == UnitKind::Function
                    && unit.recursive
                    && unit.symbols[*r].name == unit.name
                    && calls(unit, *r)
            })
            .map(|r| {
                let taken = |n: &str| unit.symbols.find(n).is_some();
                let name = unused_name(&format!("{}_RESULT", unit.name), &taken);
                (r, name.to_string())
            });
        Scope { unit, result }
    }

    /// Returns the name of a variable or constant, or of a procedure that is passed on.
    pub(super) fn name(&self, sym: SymId) -> &str {
        match &self.result {
            Some((r, name)) if *r == sym => name,
            _ => &self.unit.symbols[sym].name,
        }
    }

    /// Returns the name of a procedure that is called.
    pub(super) fn callee(&self, sym: SymId) -> &str {
        &self.unit.symbols[sym].name
    }

    /// Returns the name in the RESULT clause of the header, if one is needed.
    pub(super) fn result_clause(&self) -> Option<&str> {
        let name = self.name(self.unit.result?);
        (name != self.unit.name).then_some(name)
    }
}

/// Whether the unit's statements call `sym` as a function.
fn calls(unit: &Unit, sym: SymId) -> bool {
    let mut found = false;
    walk_exprs(&unit.body, &mut |e| {
        found |= matches!(&e.kind, ExprKind::Call(s, _) | ExprKind::Apply(s, _) if *s == sym);
    });
    found
}
