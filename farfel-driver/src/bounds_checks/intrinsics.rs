//! Intrinsic procedures that would read or write outside of their arguments, or end the process: gfortran's
//! library expects that programs call them correctly.

use super::arrays::{is_plain, long};
use super::rewrite::CheckInserter;
use super::shapes::argument;
use crate::support::{MOST_DIMENSIONS, PLENTY, Support, intrinsic, shortened};
use farfel_lang::Span;
use farfel_lang::intrinsics::{Intrinsic, Shape};
use farfel_lang::ir::{ArrayConstructor, BinOp, Class, Expr, ExprKind, Type};
use farfel_lang::print::print_expr;
use farfel_lang::storage::Constants;
use farfel_lang::storage::constant::extents;
use farfel_lang::types::{rank, type_of};

/// The maximum number of values that a loop in an array constructor has.
pub(super) const MOST: i64 = 1_000_000;

/// The numbers of elements that subroutines set in an array.
const SET: [(&str, i128); 5] = [
    ("DATE_AND_TIME", 8),
    ("DTIME", 2),
    ("ETIME", 2),
    ("IDATE", 3),
    ("ITIME", 3),
];

impl CheckInserter<'_> {
    /// Checks what a function demands of its arguments, besides their shapes.
    pub(super) fn check_intrinsic(&mut self, function: &Intrinsic, args: &mut [Expr]) {
        let name = function.name;
        match name {
            "ICHAR" | "IACHAR" => {
                if let Some(text) = args.first_mut() {
                    self.has_first_character(text);
                }
            }
            "RESHAPE" => self.check_reshape(args),
            "REPEAT" | "SPREAD" | "TRANSFER" => self.limit_copies(name, args),
            _ => {}
        }
        let position = match (function.shape, name) {
            (_, "CSHIFT" | "FINDLOC") => 2,
            (_, "EOSHIFT") => 3,
            (_, "SIZE" | "SPREAD") | (Shape::Reduced | Shape::Bounds | Shape::Location, _) => 1,
            _ => return,
        };
        let shown = format!("dimension in {}", self.shown(name, args));
        let most = args.first().map_or(0, |a| rank(&self.unit, a)) + usize::from(name == "SPREAD");
        let Some(dimension) = argument_mut(args, position, "DIM") else {
            return;
        };
        // In its place there may be a mask.
        if rank(&self.unit, dimension) > 0
            || !matches!(type_of(&self.unit, dimension), Some(Type::Integer(_)))
        {
            return;
        }
        let value = Constants::of(&self.unit).integer(dimension);
        if value.is_none_or(|d| d < 1 || d > most as i64) {
            let span = dimension.span;
            let most = Expr::long(most as i64, span);
            self.limit(dimension, Expr::long(1, span), most, &shown);
        }
    }

    /// Makes an argument end the call unless it is among `count` values that begin with `low`.
    fn limit(&mut self, argument: &mut Expr, low: Expr, count: Expr, shown: &str) {
        if !self.checks {
            return;
        }
        let span = argument.span;
        let value = long(std::mem::replace(argument, Expr::int(0, span)));
        self.fails = true;
        let args = vec![value, low, count, self.what(shown, span)];
        *argument = self.call_support(Support::Subscript, args, span);
    }

    /// Returns a reference to an intrinsic function as text.
    fn shown(&self, name: &str, args: &[Expr]) -> String {
        let args: Vec<String> = args.iter().map(|a| print_expr(&self.unit, a)).collect();
        format!("{name}({})", args.join(", "))
    }

    /// Checks that a subroutine sets no more elements than an array has.
    pub(super) fn has_room_for(&mut self, subroutine: &str, args: &[Expr]) {
        let Some((_, needed)) = SET.iter().find(|(name, _)| *name == subroutine) else {
            return;
        };
        for a in args {
            let a = match &a.kind {
                ExprKind::Keyword(_, value) => value,
                _ => a,
            };
            if matches!(type_of(&self.unit, a), Some(Type::Character) | None) {
                continue;
            }
            let there = match a.kind {
                ExprKind::Var(s) if self.unit.symbols[s].is_array() => self.total(s),
                _ if rank(&self.unit, a) > 0 => None,
                _ => continue,
            };
            match there {
                Some(total) if total.value().is_some_and(|n| n >= *needed) => {}
                Some(total) if self.checks => {
                    let shown = print_expr(&self.unit, a);
                    let needed = Expr::long(i64::try_from(*needed).unwrap_or(i64::MAX), a.span);
                    let check = self.whole_check(needed, total.expr(a.span), &shown, a.span);
                    self.before.push(check);
                }
                Some(_) => {}
                None => self.reason(format!(
                    "{subroutine} sets {needed} elements, and it is not known that {} has as many",
                    print_expr(&self.unit, a)
                )),
            }
        }
    }

    /// Checks that the number of copies that a function makes is not negative, and that there is memory for them, unless
    /// that is asked for before the statement.
    fn limit_copies(&mut self, name: &str, args: &mut [Expr]) {
        let shown = self.shown(name, args);
        let all = args.to_vec();
        let Some((at, keyword)) = copies_of(name) else {
            return;
        };
        let Some(count) = argument_mut(args, at, keyword) else {
            return;
        };
        let before = self.is_known_before(count);
        let value = Constants::of(&self.unit).integer(count);
        let span = count.span;
        if value.is_none_or(|n| n < 0) {
            let shown = format!("number of copies in {shown}");
            self.limit(count, Expr::long(0, span), Expr::long(PLENTY, span), &shown);
        }
        if before || !self.checks {
            return;
        }
        let Some(bytes) = self.bytes_of_copy(name, &all) else {
            return self.reason(format!("the size of what {name} returns is not known"));
        };
        self.fails = true;
        let shown = format!("temporary values, such as {}", shortened(shown));
        let value = std::mem::replace(count, Expr::int(0, span));
        let args = vec![
            value,
            bytes,
            Expr::text(shown, span),
            Expr::text(self.place(span), span),
        ];
        *count = self.call_support(Support::Copies, args, span);
    }

    /// Checks that RESHAPE takes no more elements from its source than there are, unless PAD has some, and that ORDER is
    /// a permutation.
    fn check_reshape(&mut self, args: &mut [Expr]) {
        let shown = self.shown("RESHAPE", args);
        let unknown = format!("it is not known how many elements {shown} takes from its source");
        let (Some(source), Some(shape)) = (
            argument(args, 0, "SOURCE").cloned(),
            argument(args, 1, "SHAPE").cloned(),
        ) else {
            return self.reason(unknown);
        };
        let Some(rank) = self.number_of_values(&shape) else {
            return self.reason(unknown);
        };
        let span = shape.span;
        let mut counted = [Some(source), argument(args, 2, "PAD").cloned()].map(|values| {
            let Some(values) = values else {
                return Some(Expr::long(0, span));
            };
            let extents = self.extents(&values)?;
            Some(self.saturated(extents, span))
        });
        let (Some(there), Some(pad)) = (counted[0].take(), counted[1].take()) else {
            return self.reason(unknown);
        };
        let values = self.values(&shape, rank);
        let constants = Constants::of(&self.unit);
        let fixed: Option<Vec<i64>> = values.iter().map(|e| constants.integer(e)).collect();
        let needed = fixed.map(|all| {
            all.into_iter()
                .fold(1, |p: i64, n| p.saturating_mul(n.max(0)))
        });
        let padded = constants.integer(&pad).is_some_and(|n| n > 0);
        let enough = match (needed, constants.integer(&there)) {
            (Some(needed), Some(there)) => needed <= there || padded,
            (Some(_), None) => padded,
            _ => false,
        };
        if !enough && self.checks {
            // They are evaluated twice.
            if !values.iter().all(|e| is_plain(&self.unit, e)) {
                return self.reason(unknown);
            }
            self.fails = true;
            let what = self.what(&shown, span);
            let counts: Vec<Expr> = values
                .iter()
                .map(|e| vec![Expr::long(1, span), long(e.clone())])
                .map(|args| self.call_support(Support::Count, args, span))
                .collect();
            let needed = self.saturated(counts, span);
            let mut checked: Vec<Expr> = values.into_iter().map(long).collect();
            let first = std::mem::replace(&mut checked[0], Expr::int(0, span));
            let parts = vec![first, needed, there, pad, what];
            checked[0] = self.call_support(Support::Shape, parts, span);
            if let Some(shape) = argument_mut(args, 1, "SHAPE") {
                *shape = vector(checked, span);
            }
        }
        self.check_order(args, rank, &shown);
    }

    fn check_order(&mut self, args: &mut [Expr], rank: usize, shown: &str) {
        let Some(order) = argument(args, 3, "ORDER") else {
            return;
        };
        if self.number_of_values(order) != Some(rank) {
            return self.reason(format!(
                "ORDER in {shown} may have another size than the shape"
            ));
        }
        let span = order.span;
        let values = self.values(order, rank);
        let constants = Constants::of(&self.unit);
        let mut fixed: Vec<Option<i64>> = values.iter().map(|e| constants.integer(e)).collect();
        fixed.sort_unstable();
        if fixed.into_iter().eq((1..=rank as i64).map(Some)) || !self.checks {
            return;
        }
        if !values.iter().all(|e| is_plain(&self.unit, e)) {
            return self.reason(format!("ORDER in {shown} calls functions"));
        }
        self.fails = true;
        let mut checked: Vec<Expr> = values.into_iter().map(long).collect();
        let mut all = checked.clone();
        all.push(self.what(shown, span));
        checked[0] = self.call_support(Support::Order(rank), all, span);
        if let Some(order) = argument_mut(args, 3, "ORDER") {
            *order = vector(checked, span);
        }
    }

    /// Returns the values in a vector that has this number of them.
    fn values(&mut self, vector: &Expr, number: usize) -> Vec<Expr> {
        match &vector.kind {
            ExprKind::Array(c) => c.items.clone(),
            ExprKind::Var(s) => {
                let span = vector.span;
                let low = Constants::of(&self.unit).bounds(*s, 0).0.unwrap_or(1);
                let at = (low..).take(number).map(|k| vec![Expr::long(k, span)]);
                at.map(|k| Expr::element(*s, k, span)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the number of values in a vector of constant size.
    pub(super) fn number_of_values(&self, e: &Expr) -> Option<usize> {
        let n = match &e.kind {
            ExprKind::Array(c) => {
                let alone = |e: &Expr| {
                    !matches!(e.kind, ExprKind::ImpliedDo(_)) && rank(&self.unit, e) == 0
                };
                c.items.iter().all(alone).then_some(c.items.len())?
            }
            ExprKind::Var(s) => {
                let [n] = extents(&self.unit, &self.unit.symbols[*s].dims)?[..] else {
                    return None;
                };
                usize::try_from(n).ok()?
            }
            _ => return None,
        };
        (1..=MOST_DIMENSIONS).contains(&n).then_some(n)
    }

    /// Checks that the loops in an array constructor are not too long.
    pub(super) fn check_constructor(&mut self, items: &mut [Expr]) {
        for item in items {
            let shown = print_expr(&self.unit, item);
            let ExprKind::ImpliedDo(d) = &mut item.kind else {
                continue;
            };
            let constants = Constants::of(&self.unit);
            let count = constants.integer(&d.from).zip(constants.integer(&d.to));
            let count = count.and_then(|(from, to)| to.checked_sub(from));
            if count.is_none_or(|n| n > MOST) {
                let span = d.to.span;
                let integer =
                    |e: &Expr| matches!(type_of(&self.unit, e), Some(Type::Integer(1 | 2 | 4)));
                let simple = d.step.is_none()
                    && integer(&d.from)
                    && integer(&d.to)
                    && is_plain(&self.unit, &d.from)
                    && is_plain(&self.unit, &d.to);
                if !simple {
                    self.reason("the size of an array constructor is not a constant");
                    continue;
                }
                let Some(max) = intrinsic(&mut self.unit, "MAX") else {
                    self.reason("the size of an array constructor is not a constant");
                    continue;
                };
                // A loop that ends before its first value is empty.
                let before = Expr::binary(BinOp::Sub, long(d.from.clone()), Expr::long(1, span));
                let to = std::mem::replace(&mut d.to, Expr::int(0, span));
                d.to = Expr::call(max, vec![long(to), before.clone()], span);
                let values = Expr::long(MOST + 1, span);
                self.limit(&mut d.to, before, values, &shown);
            }
            self.check_constructor(&mut d.items);
        }
    }

    /// Checks that a text has a first character.
    fn has_first_character(&mut self, text: &mut Expr) {
        let span = text.span;
        match &mut text.kind {
            ExprKind::Keyword(_, value) => return self.has_first_character(value),
            ExprKind::Char(literal) if !literal.is_empty() => return,
            _ => {}
        }
        let constants = Constants::of(&self.unit);
        let never_empty = match &text.kind {
            ExprKind::Var(s) | ExprKind::Element(s, _) => {
                let length = self.unit.symbols[*s].length.as_ref();
                length.is_none_or(|e| constants.integer(e).is_some_and(|n| n > 0))
            }
            ExprKind::Call(f, _) => matches!(
                self.unit.symbols[*f].class,
                Class::Intrinsic(i) if matches!(i.name, "CHAR" | "ACHAR")
            ),
            // Old programs ask for one character.
            ExprKind::Substring(_, Some(from), Some(to)) => {
                is_plain(&self.unit, from) && from.equals_ignoring_spans(to)
            }
            _ => false,
        };
        if never_empty || !self.checks {
            return;
        }
        self.fails = true;
        let what = self.what(&print_expr(&self.unit, text), span);
        let value = std::mem::replace(text, Expr::int(0, span));
        *text = self.call_support(Support::First, vec![value, what], span);
    }
}

fn vector(items: Vec<Expr>, span: Span) -> Expr {
    let constructor = ArrayConstructor {
        ty: None,
        length: None,
        items,
    };
    Expr::array(constructor, span)
}

/// Returns the argument at this position, or with this keyword.
fn argument_mut<'a>(args: &'a mut [Expr], position: usize, keyword: &str) -> Option<&'a mut Expr> {
    let named = |e: &Expr| matches!(&e.kind, ExprKind::Keyword(k, _) if k == keyword);
    let positional = |e: &Expr| !matches!(e.kind, ExprKind::Keyword(..));
    let at = match args.get(position) {
        Some(e) if positional(e) => position,
        _ => args.iter().position(named)?,
    };
    match &mut args[at] {
        Expr {
            kind: ExprKind::Keyword(_, value),
            ..
        } => Some(value),
        other => Some(other),
    }
}

/// Returns where a function has the number of copies that it makes.
pub(super) fn copies_of(function: &str) -> Option<(usize, &'static str)> {
    match function {
        "REPEAT" => Some((1, "NCOPIES")),
        "SPREAD" => Some((2, "NCOPIES")),
        "TRANSFER" => Some((2, "SIZE")),
        _ => None,
    }
}
