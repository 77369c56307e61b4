//! Stages blocks in reverse mode.
//!
//! Block number 1 in UNIT, whose statements have become the subroutine UNIT_ADR1, turns into
//!
//! ```fortran
//!       Z_C1 = Z
//!       CALL UNIT_ADR1(X, Z, Y)
//!       X_G1 = 0.0
//!       Z_G1 = 0.0
//!       Y_G1 = Y - YOBS
//!       CALL UNIT_ADR1_G1(X, X_G1, Z_C1, Z_G1, Y_C1, Y_G1)
//!       G = X_G1
//! ```
//!
//! The statements themselves run first, once, as ordinary code: STOP, input and output happen
//! there, and every variable gets its value. The seeds of the cotangents use these values. The
//! derivative then runs from the same starting point: it receives copies of the variables that the
//! statements assign, here Z and Y, which hold the values from before the block where those can
//! matter.
//!
//! If the statements only give values to local variables that nothing else names, they do not run:
//! the derivative computes what it needs.
//!
//! COMMON variables that the statements change have their earlier values while the derivative runs,
//! and the later ones again after it.
//!
//! If the closing assigns a cotangent to a plain variable that plays no other part in the block,
//! that variable itself is passed.

use super::effects::{ChangedCommon, HeadEffects, RequiredValue};
use super::{HeadCall, Stager, assumed_size};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{AdItem, Class, Expr, ExprKind, Stmt, SymId, Type};
use crate::lower::calls::intrinsic_symbol;
use crate::lower::import::Import;
use crate::source::Span;
use crate::storage::members;
use std::collections::BTreeMap;

impl Stager<'_> {
    pub(super) fn reverse(&mut self, mut call: HeadCall) -> Vec<Stmt> {
        if call.request.independents.is_empty() {
            // No derivative is requested.
            return vec![Stmt::call(call.callee, call.actuals, call.request.span)];
        }
        self.own_loop_variables(&mut call);
        let call = &call;
        let HeadCall {
            block,
            symbols,
            request,
            ..
        } = call;
        let span = request.span;
        let Some(effects) = self.effects.get(&request.head) else {
            return Vec::new();
        };
        self.diagnostics.extend(effects.errors.iter().cloned());
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let mut copies = BTreeMap::new();
        let unseen = self.is_unseen(call, effects);
        for (p, s) in symbols.iter().enumerate().filter(|_| !unseen) {
            if self.unit.symbols[*s].class == Class::Variable && effects.assigned[p] {
                if assumed_size(&self.unit.symbols[*s]) {
                    self.no_copy(*s, span);
                    continue;
                }
                let copy = self.copy(*s, 'C', call);
                copies.insert(p, copy);
                match effects.starts[p] {
                    RequiredValue::Anything => {}
                    RequiredValue::Before => before.extend(self.assign(copy, *s, span)),
                    RequiredValue::After => after.push((copy, *s)),
                }
            }
        }
        let mut commons = Vec::new();
        for changed in &effects.commons {
            for s in self.common(changed) {
                let entry = self.copy(s, 'C', call);
                let result = self.copy(s, 'P', call);
                before.extend(self.assign(entry, s, span));
                commons.push((s, entry, result));
            }
        }
        let mut out = before;
        if !unseen {
            out.push(Stmt::call(call.callee, call.actuals.clone(), span));
        }
        for (copy, s) in after {
            out.extend(self.assign(copy, s, span));
        }

        let direct = self.direct_destinations(call);
        let mut tangents: BTreeMap<usize, SymId> = BTreeMap::new();
        for p in &request.paired {
            let s = symbols[*p];
            let tangent = match direct.get(p) {
                Some(dest) => *dest,
                None => self.tangent(s, call),
            };
            tangents.insert(*p, tangent);
            // Elements that the opening does not name also have a zero cotangent.
            let whole = block
                .opening
                .iter()
                .any(|i| matches!(i, AdItem::Assign(a) if a.direction.is_none() && a.var.kind == ExprKind::Var(s)));
            if !whole {
                out.extend(self.set_zero(tangent, s, span));
            }
        }
        for item in &block.opening {
            let tangents = |s: SymId| call.position(s).and_then(|p| tangents.get(&p).copied());
            out.extend(self.loops(item, true, &tangents, span));
        }
        for (s, entry, result) in &commons {
            out.extend(self.assign(*result, *s, span));
            out.extend(self.assign(*s, *entry, span));
        }
        out.push(self.call_derivative(call, &tangents, &copies));
        for (s, _, result) in &commons {
            out.extend(self.assign(*s, *result, span));
        }
        out.extend(self.close(call, &tangents, &direct));
        out
    }

    /// Whether the statements do nothing but give values to variables that nothing else names.
    fn is_unseen(&self, call: &HeadCall, effects: &HeadEffects) -> bool {
        let head = &call.request.head;
        let seen = |p: usize, s: SymId| {
            let fresh = effects.starts[p] != RequiredValue::Anything;
            effects.assigned[p] && !self.observers.is_unseen(s, head, fresh)
        };
        let mut all = call.symbols.iter().enumerate();
        effects.only_computes && !all.any(|(p, s)| seen(p, *s))
    }

    /// Replaces the variables of implied DOs in the block by new ones if the statements assign
    /// them, as their values are needed after the block.
    fn own_loop_variables(&mut self, call: &mut HeadCall) {
        let Some(effects) = self.effects.get(&call.request.head) else {
            return;
        };
        let mut items = std::mem::take(&mut call.block.opening);
        let opening = items.len();
        items.append(&mut call.block.closing);
        let mut new: BTreeMap<SymId, SymId> = BTreeMap::new();
        for item in &mut items {
            item.for_each_loop_var_mut(&mut |v| {
                let ours = call.position(*v).is_some_and(|p| effects.assigned[p]);
                if ours && !new.contains_key(v) {
                    let wanted = format!("{}{}", self.unit.symbols[*v].name, call.request.suffix);
                    new.insert(*v, self.local(*v, &wanted, call.request.span));
                }
            });
            rename_loops(item, &new);
        }
        call.block.closing = items.split_off(opening);
        call.block.opening = items;
    }

    fn no_copy(&mut self, s: SymId, span: Span) {
        let s = &self.unit.symbols[s];
        let help = match s.dims.len() {
            1 => format!("declare its bounds, for instance {}(N)", s.name),
            _ => format!(
                "declare the last bound of {}, for instance N instead of *",
                s.name
            ),
        };
        self.diagnostics.push(
            Diagnostic::error(
                &rules::AD_SIZE,
                span,
                format!(
                    "{} has {}, so that its values from before the block cannot be kept",
                    s.name,
                    s.missing_bounds()
                ),
            )
            .label("this block assigns it")
            .related(s.span, "declared here")
            .help(help),
        );
    }

    /// Adds a local variable for values of `of`.
    fn copy(&mut self, of: SymId, letter: char, call: &HeadCall) -> SymId {
        let wanted = format!("{}_{letter}{}", self.unit.symbols[of].name, call.request.id);
        let copy = self.local(of, &wanted, call.request.span);
        let s = &self.unit.symbols[copy];
        if s.ty == Some(Type::Character)
            && matches!(s.length.as_ref().map(|l| &l.kind), Some(ExprKind::Star))
        {
            let len = intrinsic_symbol(self.unit, "LEN", call.request.span);
            let span = call.request.span;
            let length = Expr::call(len, vec![Expr::var(of, span)], span);
            self.unit.symbols[copy].length = Some(length);
        }
        copy
    }

    /// Returns `to = from`, element by element for arrays, which have the same bounds.
    fn assign(&mut self, to: SymId, from: SymId, span: Span) -> Vec<Stmt> {
        self.set_all(to, from, &Expr::var(from, span), None, span)
    }

    /// Returns the variables of a COMMON block that change. Declares the block in this unit if it
    /// does not yet do so.
    fn common(&mut self, changed: &ChangedCommon) -> Vec<SymId> {
        if let Some(from) = &changed.from
            && members(self.unit, &changed.block).is_empty()
        {
            let mut import = Import::new(from);
            for m in members(from, &changed.block) {
                import.symbol(self.unit, m);
            }
        }
        let all = members(self.unit, &changed.block);
        let positions = changed.positions.iter();
        positions.filter_map(|i| all.get(*i)).copied().collect()
    }
}

/// Renames the variables of implied DOs, and references to them within the DO.
fn rename_loops(item: &mut AdItem, new: &BTreeMap<SymId, SymId>) {
    let AdItem::ImpliedDo(d) = item else { return };
    d.items.iter_mut().for_each(|i| rename_loops(i, new));
    if let Some(ours) = new.get(&d.var) {
        let theirs = std::mem::replace(&mut d.var, *ours);
        for i in &mut d.items {
            i.for_each_expr_mut(&mut |e| {
                e.for_each_symbol_mut(&mut |s| {
                    if *s == theirs {
                        *s = *ours;
                    }
                });
            });
        }
    }
}
