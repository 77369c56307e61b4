//! Intrinsic procedures that would read or write outside of their arguments, or end the process: gfortran's
//! library expects that programs call them correctly.

use super::arrays::{is_plain, long};
use super::rewrite::CheckInserter;
use crate::support::{Support, intrinsic};
use farfel_lang::intrinsics::{Intrinsic, Shape};
use farfel_lang::ir::{BinOp, Class, Expr, ExprKind, SymId, Type};
use farfel_lang::print::print_expr;
use farfel_lang::storage::Constants;
use farfel_lang::types::{rank, type_of};

/// The maximum number of elements or copies that an expression creates and that is not checked.
const MOST: i64 = 1_000_000;

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
                    self.has_first_character(name, text);
                }
            }
            "REPEAT" => self.is_few(name, args, 1, "NCOPIES"),
            "SPREAD" => self.is_few(name, args, 2, "NCOPIES"),
            "TRANSFER" => self.is_few(name, args, 2, "SIZE"),
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

    /// Checks that the number of elements or copies that a function creates is not too large, if an argument says so.
    fn is_few(&mut self, name: &str, args: &mut [Expr], position: usize, keyword: &str) {
        let what = match keyword {
            "NCOPIES" => "number of copies",
            _ => "size",
        };
        let shown = format!("{what} in {}", self.shown(name, args));
        let text = args.first().cloned();
        let Some(count) = argument_mut(args, position, keyword) else {
            return;
        };
        let value = Constants::of(&self.unit).integer(count);
        if value.is_some_and(|n| (0..=MOST).contains(&n)) {
            return;
        }
        let span = count.span;
        let mut most = Expr::long(MOST, span);
        if name == "REPEAT" {
            // The same number of bytes at most.
            let len = intrinsic(&mut self.unit, "LEN").zip(intrinsic(&mut self.unit, "MAX"));
            let (Some((len, max)), Some(text)) = (len, text.filter(|t| is_plain(&self.unit, t)))
            else {
                return self.reason(format!("the size of what {name} returns is not known"));
            };
            let length = long(Expr::call(len, vec![text], span));
            let length = Expr::call(max, vec![length, Expr::long(1, span)], span);
            most = Expr::binary(BinOp::Div, most, length);
        }
        let values = Expr::binary(BinOp::Add, most, Expr::long(1, span));
        self.limit(count, Expr::long(0, span), values, &shown);
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

    /// Reduces a text that may be empty to its first character, whose existence is checked like that of any
    /// substring.
    fn has_first_character(&mut self, function: &str, text: &mut Expr) {
        let span = text.span;
        let constants = Constants::of(&self.unit);
        let never_empty = |s: SymId| {
            let length = self.unit.symbols[s].length.as_ref();
            length.is_none_or(|e| constants.integer(e).is_some_and(|n| n > 0))
        };
        let one = |e: &Option<Box<Expr>>| e.clone().unwrap_or_else(|| Box::new(Expr::int(1, span)));
        match &mut text.kind {
            ExprKind::Keyword(_, value) => return self.has_first_character(function, value),
            ExprKind::Paren(inner) => return self.has_first_character(function, inner),
            ExprKind::Char(literal) if !literal.is_empty() => return,
            ExprKind::Var(s) | ExprKind::Element(s, _) => {
                let s = *s;
                if self.unit.symbols[s].is_variable() {
                    if !never_empty(s) {
                        let base = Box::new(std::mem::replace(text, Expr::int(0, span)));
                        let one = || Some(Box::new(Expr::int(1, span)));
                        text.kind = ExprKind::Substring(base, one(), one());
                    }
                    return;
                }
                if never_empty(s) {
                    return;
                }
            }
            ExprKind::Substring(_, from, to) => {
                let first = one(from);
                if is_plain(&self.unit, &first) {
                    *from = Some(first.clone());
                    *to = Some(first);
                    return;
                }
            }
            ExprKind::Call(f, _) => match self.unit.symbols[*f].class {
                Class::Intrinsic(i) if matches!(i.name, "CHAR" | "ACHAR") => return,
                Class::Intrinsic(_) => {}
                _ if never_empty(*f) => return,
                _ => {}
            },
            _ => {}
        }
        self.reason(format!("the text that {function} gets may be empty"));
    }
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
