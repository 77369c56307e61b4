//! Replaces assigned GOTO and assigned formats: ASSIGN sets its variable to the index of a label among those that it
//! can have, and the jump, or the input or output statement, looks the label up. With a variable that was never set,
//! it ends the call, or the program.

use farfel_lang::ir::{
    BinOp, Block, Expr, ExprKind, Io, Label, SpecKind, Stmt, StmtKind, StorageClass, SymId, Type,
    Unit, walk_block,
};
use std::collections::{BTreeMap, BTreeSet};

/// Rewrites the assigned GOTOs and formats of a unit, and the ASSIGN statements that they depend on. Returns whether
/// there was one.
pub(crate) fn number(unit: &Unit, body: &mut Block) -> bool {
    let mut labels: BTreeMap<SymId, BTreeSet<Label>> = BTreeMap::new();
    let mut formats: BTreeSet<Label> = BTreeSet::new();
    for spec in &unit.specs {
        if let SpecKind::Format(label, _) = &spec.kind {
            formats.insert(*label);
        }
    }
    walk_block(body, &mut |s| match &s.kind {
        StmtKind::AssignLabel(label, var) => {
            labels.entry(*var).or_default().insert(*label);
        }
        StmtKind::AssignedGoto(var, _) => {
            labels.entry(*var).or_default();
        }
        StmtKind::Io(io) => {
            let assigned = assigned_format(unit, io);
            assigned.map(|(_, var)| labels.entry(var).or_default());
        }
        StmtKind::Format(_) => formats.extend(s.label),
        _ => {}
    });
    let labels: BTreeMap<SymId, VariableLabels> = labels
        .into_iter()
        .map(|(var, labels)| {
            let (formats, jumps) = labels.into_iter().partition(|l| formats.contains(l));
            (var, VariableLabels { jumps, formats })
        })
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

/// The possible labels of a variable. Their indices, from 1, are in the order of these lists together.
struct VariableLabels {
    jumps: Vec<Label>,
    formats: Vec<Label>,
}

struct LabelNumbers<'a> {
    labels: BTreeMap<SymId, VariableLabels>,
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
                let labels = self.labels.get(var)?;
                let mut all = labels.jumps.iter().chain(&labels.formats);
                let at = all.position(|l| l == label)?;
                let number = Expr::int(i64::try_from(at).ok()? + 1, span);
                Some(vec![Stmt::assign(Expr::var(*var, span), number, span)])
            }
            StmtKind::AssignedGoto(var, _) => {
                let labels = self.labels.get(var)?.jumps.clone();
                self.jumps = true;
                let text = format!("GOTO {} has no label", self.unit.symbols[*var].name);
                let end = Stmt::stop(Expr::text(text, span), span);
                let jump = StmtKind::ComputedGoto(labels.clone(), Expr::var(*var, span));
                match labels.is_empty() {
                    true => Some(vec![end]),
                    false => Some(vec![Stmt::new(jump, span), end]),
                }
            }
            StmtKind::Io(io) => {
                let (at, var) = assigned_format(self.unit, io)?;
                let labels = self.labels.get(&var)?;
                self.jumps = true;
                let text = format!("{} has no label of a format", self.unit.symbols[var].name);
                let arms = labels.formats.iter().enumerate().filter_map(|(k, label)| {
                    let index = i64::try_from(labels.jumps.len() + k).ok()? + 1;
                    let mut io = io.clone();
                    let label = Expr::int(i64::from(*label), span);
                    match &mut io.control[at].kind {
                        ExprKind::Keyword(_, format) => **format = label,
                        _ => io.control[at] = label,
                    }
                    let condition =
                        Expr::binary(BinOp::Eq, Expr::var(var, span), Expr::int(index, span));
                    Some((condition, vec![Stmt::new(StmtKind::Io(io), span)]))
                });
                let arms: Vec<(Expr, Block)> = arms.collect();
                let end = Stmt::stop(Expr::text(text, span), span);
                match arms.is_empty() {
                    true => Some(vec![end]),
                    false => Some(vec![Stmt::branches(arms, Some(vec![end]), span)]),
                }
            }
            _ => None,
        }
    }
}

/// Returns the position of a statement's format in its control list, and the variable, if it is one for ASSIGN.
fn assigned_format(unit: &Unit, io: &Io) -> Option<(usize, SymId)> {
    let at = io.format()?;
    let format = match &io.control[at].kind {
        ExprKind::Keyword(_, format) => &format.kind,
        kind => kind,
    };
    let ExprKind::Var(var) = format else {
        return None;
    };
    let symbol = &unit.symbols[*var];
    let number = matches!(symbol.ty, Some(Type::Integer(_)));
    (symbol.is_variable() && number && !symbol.is_array()).then_some((at, *var))
}
