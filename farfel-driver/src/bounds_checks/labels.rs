//! Replaces assigned GOTO: ASSIGN sets its variable to the index of a label among those that it can have, and
//! the jump looks the label up. A jump by a variable that was never set ends the call, or the program.

use farfel_lang::ir::{
    Block, Expr, Label, SpecKind, Stmt, StmtKind, StorageClass, SymId, Unit, walk_block,
};
use std::collections::{BTreeMap, BTreeSet};

/// Rewrites the assigned GOTOs of a unit and the ASSIGN statements that they depend on, except if a label is
/// that of a FORMAT. Returns whether there was one.
pub(crate) fn number(unit: &Unit, body: &mut Block) -> bool {
    let mut labels: BTreeMap<SymId, BTreeSet<Label>> = BTreeMap::new();
    walk_block(body, &mut |s| match &s.kind {
        StmtKind::AssignLabel(label, var) => {
            labels.entry(*var).or_default().insert(*label);
        }
        StmtKind::AssignedGoto(var, _) => {
            labels.entry(*var).or_default();
        }
        _ => {}
    });
    walk_block(body, &mut |s| {
        if let StmtKind::Io(io) = &s.kind {
            io.control.iter().for_each(|e| {
                e.for_each_symbol(&mut |s| {
                    labels.remove(&s);
                });
            });
        }
    });
    let labels: BTreeMap<SymId, Vec<Label>> = labels
        .into_iter()
        .map(|(var, labels)| (var, labels.into_iter().collect()))
        .collect();
    let variables: Vec<SymId> = labels.keys().copied().collect();
    let mut numbers = LabelNumbers {
        labels,
        unit,
        jumps: false,
    };
    numbers.block(body);
    let jumps = numbers.jumps;
    // On entry to the unit, no variable has a label. Variables that are kept between calls are 0 before the
    // first call.
    let keeps = unit
        .specs
        .iter()
        .any(|s| matches!(s.kind, SpecKind::Save(_) | SpecKind::Data(_)));
    for var in variables.into_iter().filter(|_| jumps && !keeps) {
        let symbol = &unit.symbols[var];
        if symbol.storage_class == StorageClass::Local && !symbol.saved && symbol.init.is_none() {
            let span = symbol.span;
            let none = Stmt::assign(Expr::var(var, span), Expr::int(0, span), span);
            body.insert(0, none);
        }
    }
    jumps
}

struct LabelNumbers<'a> {
    /// The possible labels of each variable, in order.
    labels: BTreeMap<SymId, Vec<Label>>,
    unit: &'a Unit,
    jumps: bool,
}

impl LabelNumbers<'_> {
    fn block(&mut self, block: &mut Block) {
        for mut s in std::mem::take(block) {
            s.blocks_mut().into_iter().for_each(|b| self.block(b));
            if let StmtKind::LogicalIf(condition, inner) = &mut s.kind
                && let Some(statements) = self.statements(inner)
            {
                let condition = std::mem::replace(condition, Expr::logical(true, s.span));
                s.kind = Stmt::branches(vec![(condition, statements)], None, s.span).kind;
            } else if let Some(mut statements) = self.statements(&s) {
                statements[0].label = s.label;
                block.append(&mut statements);
                continue;
            }
            block.push(s);
        }
    }

    /// Returns the replacement of a statement, if it has one.
    fn statements(&mut self, s: &Stmt) -> Option<Block> {
        let span = s.span;
        match &s.kind {
            StmtKind::AssignLabel(label, var) => {
                let at = self.labels.get(var)?.iter().position(|l| l == label)?;
                let number = Expr::int(i64::try_from(at).ok()? + 1, span);
                Some(vec![Stmt::assign(Expr::var(*var, span), number, span)])
            }
            StmtKind::AssignedGoto(var, _) => {
                let labels = self.labels.get(var)?.clone();
                self.jumps = true;
                let text = format!("GOTO {} has no label", self.unit.symbols[*var].name);
                let end = Stmt::stop(Expr::text(text, span), span);
                let jump = StmtKind::ComputedGoto(labels.clone(), Expr::var(*var, span));
                match labels.is_empty() {
                    true => Some(vec![end]),
                    false => Some(vec![Stmt::new(jump, span), end]),
                }
            }
            _ => None,
        }
    }
}
