//! Makes the text of derivatives shorter; what is executed stays the same.
//!
//! * A generated temporary that is read once, by a later assignment of the same stretch, is replaced by its
//!   value where that saves a line.
//! * `IF (…) THEN` with one assignment becomes a single statement if it fits into a line.

use super::increments::{INDENT, WIDTH, all_places, assignment, lines, may_share};
use super::preaccumulate::{named_in_specs, stretch_len};
use farfel_lang::ir::{
    Block, Class, Expr, ExprKind, Origin, Stmt, StmtKind, StorageClass, SymId, Unit,
    for_each_symbol,
};
use farfel_lang::print::print_expr;
use farfel_lang::storage::UnitStorage;
use farfel_lang::types::type_of;
use std::collections::{HashMap, HashSet};

/// Shortens the text of a derivative.
pub(crate) fn shorten(unit: &mut Unit) {
    let mut body = std::mem::take(&mut unit.body);
    let mut named: HashMap<SymId, usize> = HashMap::new();
    for_each_symbol(&body, &mut |s| *named.entry(s).or_default() += 1);
    let mut specified = HashSet::new();
    named_in_specs(unit, &mut specified);
    let once = |s: SymId| {
        let symbol = &unit.symbols[s];
        let plain = symbol.is_variable()
            && !symbol.is_array()
            && !symbol.saved
            && !symbol.tape
            && symbol.origin == Origin::Generated
            && symbol.storage_class == StorageClass::Local;
        plain && named.get(&s) == Some(&2) && !specified.contains(&s)
    };
    let pass = Pass {
        unit,
        storage: UnitStorage::of(unit),
        once: &once,
    };
    let mut gone = Vec::new();
    pass.block(&mut body, 0, &mut gone);
    unit.body = body;
    gone.into_iter().for_each(|s| unit.undeclare(s));
}

struct Pass<'a> {
    unit: &'a Unit,
    storage: UnitStorage,
    /// Whether a variable is a temporary that is assigned once and read once.
    once: &'a dyn Fn(SymId) -> bool,
}

impl Pass<'_> {
    fn block(&self, block: &mut Block, indent: usize, gone: &mut Vec<SymId>) {
        let mut at = 0;
        while at < block.len() {
            if let Some(temporary) = self.put_into_reader(block, at, indent) {
                gone.push(temporary);
                block.remove(at);
                // The value of one before may go there now.
                at = at.saturating_sub(1);
                continue;
            }
            if !matches!(block[at].kind, StmtKind::Where(_)) {
                for inner in block[at].blocks_mut() {
                    self.block(inner, indent + INDENT[0], gone);
                }
            }
            self.single(&mut block[at], indent);
            at += 1;
        }
    }

    /// Puts the value of a temporary where it is read. Returns the temporary, whose assignment is to be removed.
    fn put_into_reader(&self, block: &mut [Stmt], at: usize, indent: usize) -> Option<SymId> {
        let (target, value) = assignment(&block[at])?;
        let ExprKind::Var(temporary) = target.kind else {
            return None;
        };
        let ty = type_of(self.unit, target);
        // A sine and a cosine beside each other are computed together. What a tape contains is read at once: the
        // adjoint of this adjoint saves what it reads later.
        let mut stays = false;
        value.walk(&mut |e| {
            stays |= match e.kind {
                ExprKind::Call(..) => true,
                ExprKind::Element(s, _) => self.unit.symbols[s].tape,
                _ => false,
            }
        });
        if stays
            || !(self.once)(temporary)
            || block[at].label.is_some()
            || type_of(self.unit, value) != ty
            || stretch_len(self.unit, &block[at..at + 1]) == 0
        {
            return None;
        }
        let after = at + 1;
        let reader = (after..after + stretch_len(self.unit, &block[after..])).find(|i| {
            let read = assignment(&block[*i])
                .is_some_and(|(t, v)| names(t, temporary) || names(v, temporary));
            read && block[*i].label.is_none()
        })?;
        let (place, sum) = assignment(&block[reader])?;
        if names(place, temporary) || type_of(self.unit, place) != ty {
            return None;
        }
        let between = block[after..reader].iter().filter_map(assignment);
        let between: Vec<&Expr> = between.map(|(t, _)| t).collect();
        let free = |e: &Expr| {
            let shares = |b: &&Expr| may_share(self.unit, &self.storage, b, e);
            !between.iter().any(shares)
        };
        if !all_places(value, &free) {
            return None;
        }
        let mut new = sum.clone();
        self.put(&mut new, temporary, value);
        let before = lines(self.unit, target, value, indent) + lines(self.unit, place, sum, indent);
        if lines(self.unit, place, &new, indent) >= before {
            return None;
        }
        if let StmtKind::Assign(_, sum) = &mut block[reader].kind {
            *sum = new;
        }
        Some(temporary)
    }

    /// Replaces a variable by its value, in parentheses where these matter.
    fn put(&self, e: &mut Expr, variable: SymId, value: &Expr) {
        let bare = match &value.kind {
            ExprKind::Paren(inner) => inner,
            _ => value,
        };
        let is_variable = |e: &Expr| matches!(e.kind, ExprKind::Var(s) if s == variable);
        if is_variable(e) {
            *e = bare.clone();
            return;
        }
        let intrinsic = match &e.kind {
            ExprKind::Call(f, _) => matches!(self.unit.symbols[*f].class, Class::Intrinsic(_)),
            _ => false,
        };
        let delimited = intrinsic || matches!(e.kind, ExprKind::Paren(_) | ExprKind::Element(..));
        let atom = matches!(bare.kind, ExprKind::Var(_) | ExprKind::Element(..));
        for operand in e.children_mut() {
            match is_variable(operand) {
                true if delimited || atom => *operand = bare.clone(),
                true => *operand = Expr::parens(bare.clone(), bare.span),
                false => self.put(operand, variable, value),
            }
        }
    }

    /// Makes an IF with one assignment a single statement.
    fn single(&self, s: &mut Stmt, indent: usize) {
        let StmtKind::If(b) = &mut s.kind else { return };
        if b.otherwise.is_some() || b.name.is_some() || b.end_label.is_some() {
            return;
        }
        let [(condition, body)] = b.arms.as_mut_slice() else {
            return;
        };
        let [inner] = body.as_mut_slice() else { return };
        let Some((target, value)) = assignment(inner).filter(|_| inner.label.is_none()) else {
            return;
        };
        let text = |e: &Expr| print_expr(self.unit, e).len();
        let length = "IF () ".len() + text(condition) + text(target) + " = ".len() + text(value);
        if indent + length > WIDTH {
            return;
        }
        let inner = inner.clone();
        s.kind = StmtKind::LogicalIf(condition.clone(), Box::new(inner));
    }
}

/// Whether an expression names a variable.
fn names(e: &Expr, variable: SymId) -> bool {
    let mut found = false;
    e.for_each_symbol(&mut |s| found |= s == variable);
    found
}
