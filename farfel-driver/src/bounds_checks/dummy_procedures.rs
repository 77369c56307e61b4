//! Lengths for procedures that are arguments themselves: Rust closures, which see a call but nothing else of
//! the unit that makes it.
//!
//! Each call of a dummy procedure passes, after its arguments, an INTEGER*8 for each of them that is not a
//! procedure: the number of elements from the first one on, or of bytes in a CHARACTER. [`shape`] is what a call alone says about an
//! argument; `bind` makes slices of those that are arrays in one of the calls.

use super::arrays::{is_plain, long};
use super::rewrite::{CheckInserter, Use};
use crate::support::intrinsic;
use farfel_lang::Span;
use farfel_lang::ir::{
    BinOp, Class, DoControl, Expr, ExprKind, Stmt, StmtKind, StorageClass, SymId, Type, Unit,
    walk_block,
};
use farfel_lang::print::print_expr;
use farfel_lang::types::{rank, type_of};
use std::collections::HashSet;

/// The shape of an actual argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A single value or variable.
    One,
    /// As many elements as a declaration says.
    Declared,
    /// The rest of an array.
    Rest,
    /// An array that has no name.
    Unnamed,
}

/// Returns what the call of a procedure says about one of its arguments that is not a procedure.
pub(crate) fn shape(unit: &Unit, callee: SymId, actual: &Expr, counted: &HashSet<SymId>) -> Shape {
    match &actual.kind {
        ExprKind::Var(s) if unit.symbols[*s].is_array() => match is_open(unit, *s) {
            true => Shape::Rest,
            false => Shape::Declared,
        },
        ExprKind::Element(_, subscripts) if rank(unit, actual) == 0 => {
            // Functions receive values. A loop over the first subscript passes element by element.
            let function = unit.symbols[callee].class == Class::Function;
            let mut alone = function || !subscripts.iter().all(|s| is_plain(unit, s));
            if let Some(first) = subscripts.first() {
                first.for_each_symbol(&mut |s| alone |= counted.contains(&s));
            }
            if alone { Shape::One } else { Shape::Rest }
        }
        ExprKind::Element(_, subscripts) => {
            let simple = |s: &Expr| match &s.kind {
                ExprKind::Range(_, _, step) => step.is_none(),
                _ => rank(unit, s) == 0,
            };
            match subscripts.iter().all(simple) {
                true => Shape::Declared,
                false => Shape::Unnamed,
            }
        }
        ExprKind::Paren(e) if matches!(e.kind, ExprKind::Var(_)) => shape(unit, callee, e, counted),
        _ if rank(unit, actual) > 0 => Shape::Unnamed,
        _ => Shape::One,
    }
}

/// Whether the declaration of an array leaves its number of elements open. Old programs write `X(1)` for
/// that.
pub(crate) fn is_open(unit: &Unit, array: SymId) -> bool {
    let symbol = &unit.symbols[array];
    let last = symbol.dims.last();
    last.and_then(|d| d.upper.as_ref()).is_none_or(|upper| {
        let one = symbol.storage_class == StorageClass::Dummy && upper.kind == ExprKind::Int(1);
        upper.kind == ExprKind::Star || one
    })
}

/// Returns the loop variables of a unit.
pub(crate) fn counted(body: &[Stmt]) -> HashSet<SymId> {
    let mut counted = HashSet::new();
    walk_block(body, &mut |s| {
        if let StmtKind::Do(d) = &s.kind
            && let DoControl::Count { var, .. } = d.control
        {
            counted.insert(var);
        }
    });
    counted
}

/// Whether an actual argument is a procedure.
pub(crate) fn is_procedure(unit: &Unit, actual: &Expr) -> bool {
    match &actual.kind {
        ExprKind::Var(s) => {
            let class = &unit.symbols[*s].class;
            class.is_procedure() || matches!(class, Class::Intrinsic(_))
        }
        _ => false,
    }
}

/// Whether an actual argument is a CHARACTER.
pub(crate) fn is_text(unit: &Unit, actual: &Expr) -> bool {
    type_of(unit, actual) == Some(Type::Character)
}

/// Whether the length of a CHARACTER argument can be determined before the call, without evaluating it.
pub(crate) fn has_length(unit: &Unit, actual: &Expr) -> bool {
    match &actual.kind {
        ExprKind::Char(_) | ExprKind::Var(_) | ExprKind::Element(..) => true,
        ExprKind::Substring(_, from, to) => {
            let bounds = [from, to].into_iter().flatten();
            bounds.into_iter().all(|e| is_plain(unit, e))
        }
        ExprKind::Paren(e) => has_length(unit, e),
        ExprKind::Binary(BinOp::Concat, a, b) => has_length(unit, a) && has_length(unit, b),
        ExprKind::Call(s, _) => {
            matches!(unit.symbols[*s].class, Class::Intrinsic(i) if i.name == "CHAR")
        }
        _ => false,
    }
}

/// Whether the call of a dummy procedure passes lengths. With CHARACTER arguments it does so only in units that
/// get lengths (`measured`): elsewhere the procedure belongs to other code, which may expect the lengths of texts
/// after its arguments.
pub(crate) fn hands_over(unit: &Unit, args: &[Expr], measured: bool) -> bool {
    args.iter().all(|a| {
        is_procedure(unit, a)
            || type_of(unit, a).is_some_and(|ty| measured || ty != Type::Character)
    })
}

impl CheckInserter<'_> {
    /// Rewrites the call of a dummy procedure.
    pub(super) fn call_given(&mut self, callee: SymId, args: &mut Vec<Expr>, span: Span) {
        let all = hands_over(&self.unit, args, self.no_lengths.is_none());
        let mut lengths = Vec::new();
        for a in args.iter_mut() {
            if !all || is_procedure(&self.unit, a) {
                self.expr(a, Use::Value);
            } else if is_text(&self.unit, a) {
                lengths.push(self.text_length(a, span));
                self.expr(a, Use::Value);
            } else {
                lengths.push(self.given_length(callee, a, span));
            }
        }
        args.extend(lengths);
    }

    /// Returns the number of bytes of a CHARACTER that a dummy procedure receives. `bind` rejects those without
    /// [`has_length`].
    fn text_length(&mut self, a: &Expr, span: Span) -> Expr {
        let whole = match &a.kind {
            ExprKind::Char(text) => {
                return Expr::long(i64::try_from(text.len()).unwrap_or(0), span);
            }
            ExprKind::Binary(BinOp::Concat, first, second) => {
                let (first, second) = (
                    self.text_length(first, span),
                    self.text_length(second, span),
                );
                return Expr::binary(BinOp::Add, first, second);
            }
            ExprKind::Paren(e) => return self.text_length(e, span),
            ExprKind::Call(..) if has_length(&self.unit, a) => return Expr::long(1, span),
            // The length is the same for all elements, whether there are any or not.
            ExprKind::Element(s, _) => Expr::var(*s, span),
            ExprKind::Var(_) | ExprKind::Substring(..) => a.clone(),
            _ => return Expr::long(0, span),
        };
        let Some(len) = intrinsic(&mut self.unit, "LEN") else {
            let name = print_expr(&self.unit, a);
            self.reason(format!("the length of {name} is not known"));
            return Expr::long(0, span);
        };
        long(Expr::call(len, vec![whole], span))
    }

    /// Returns the number of elements that a dummy procedure receives, and adds the checks that they exist.
    fn given_length(&mut self, callee: SymId, a: &mut Expr, span: Span) -> Expr {
        match shape(&self.unit, callee, a, &self.counted) {
            Shape::One | Shape::Unnamed => {
                self.expr(a, Use::Value);
                Expr::long(1, span)
            }
            Shape::Declared => {
                let whole = match &a.kind {
                    ExprKind::Var(s) => Some(*s),
                    ExprKind::Paren(e) => e.base(),
                    _ => None,
                };
                let Some(whole) = whole else {
                    return self.length_behind(a, span);
                };
                self.expr(a, Use::Value);
                let total = self.total(whole).map(|total| total.expr(span));
                total.unwrap_or_else(|| Expr::long(0, span))
            }
            Shape::Rest => self.length_behind(a, span),
        }
    }

    fn length_behind(&mut self, a: &mut Expr, span: Span) -> Expr {
        let shown = print_expr(&self.unit, a);
        // If the number is unknown, the reason has been recorded.
        let count = self.count_of(a, &shown, true, span);
        count.unwrap_or_else(|| Expr::long(0, span))
    }
}
