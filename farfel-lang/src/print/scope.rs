//! Which name a symbol has in the text.

use crate::ir::{ExprKind, SymId, Unit, UnitKind, unused_name, walk_exprs};

/// A unit whose names are being printed.
pub(super) struct Scope<'a> {
    pub(super) unit: &'a Unit,
    /// A recursive function that calls itself needs another name for its result, because
    /// its own name with arguments would mean the result: the result and that name.
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

    /// The name of a variable, constant, or procedure that is passed on.
    pub(super) fn name(&self, sym: SymId) -> &str {
        match &self.result {
            Some((r, name)) if *r == sym => name,
            _ => &self.unit.symbols[sym].name,
        }
    }

    /// The name of a procedure that is called.
    pub(super) fn callee(&self, sym: SymId) -> &str {
        &self.unit.symbols[sym].name
    }

    /// What RESULT names in the header, where it is needed.
    pub(super) fn result_clause(&self) -> Option<&str> {
        let name = self.name(self.unit.result?);
        (name != self.unit.name).then_some(name)
    }
}

/// True when the unit's statements call `sym` as a function.
fn calls(unit: &Unit, sym: SymId) -> bool {
    let mut found = false;
    walk_exprs(&unit.body, &mut |e| {
        found |= matches!(&e.kind, ExprKind::Call(s, _) | ExprKind::Apply(s, _) if *s == sym);
    });
    found
}
