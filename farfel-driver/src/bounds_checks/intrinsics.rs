//! Intrinsic procedures that would read or write outside of their arguments, or end the process: gfortran's
//! library expects that programs call them correctly.

use super::arrays::is_plain;
use super::rewrite::CheckInserter;
use farfel_lang::intrinsics::{Intrinsic, Shape};
use farfel_lang::ir::{Class, Expr, ExprKind, SymId, Type};
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
            "REPEAT" => self.is_few(name, argument(args, 1, "NCOPIES")),
            "SPREAD" => self.is_few(name, argument(args, 2, "NCOPIES")),
            "TRANSFER" => self.is_few(name, argument(args, 2, "SIZE")),
            _ => {}
        }
        let position = match (function.shape, name) {
            (_, "CSHIFT" | "FINDLOC") => 2,
            (_, "EOSHIFT") => 3,
            (_, "SIZE" | "SPREAD") | (Shape::Reduced | Shape::Bounds | Shape::Location, _) => 1,
            _ => return,
        };
        // In its place there may be a mask.
        let dimension = argument(args, position, "DIM").filter(|e| {
            rank(&self.unit, e) == 0 && matches!(type_of(&self.unit, e), Some(Type::Integer(_)))
        });
        let Some(dimension) = dimension else {
            return;
        };
        let most = args.first().map_or(0, |a| rank(&self.unit, a)) + usize::from(name == "SPREAD");
        let value = Constants::of(&self.unit).integer(dimension);
        if value.is_none_or(|d| d < 1 || d > most as i64) {
            self.reason(format!("the dimension that {name} gets is not a constant"));
        }
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
                ExprKind::Var(s) if self.unit.symbols[s].is_array() => self.constant_total(s),
                _ if rank(&self.unit, a) > 0 => None,
                _ => continue,
            };
            if there.is_none_or(|n| n < *needed) {
                self.reason(format!(
                    "{subroutine} sets {needed} elements, and it is not known that {} has as many",
                    print_expr(&self.unit, a)
                ));
            }
        }
    }

    fn constant_total(&mut self, sym: SymId) -> Option<i128> {
        self.total(sym).and_then(|total| total.value())
    }

    /// Checks that the size of what a function creates is a constant, if an argument says so.
    fn is_few(&mut self, name: &str, count: Option<&Expr>) {
        let value = count.map(|e| Constants::of(&self.unit).integer(e));
        if value.is_some_and(|v| v.is_none_or(|n| !(0..=MOST).contains(&n))) {
            self.reason(format!("the size of what {name} returns is not a constant"));
        }
    }

    /// Checks that the loops in an array constructor have constant bounds.
    pub(super) fn check_constructor(&mut self, items: &[Expr]) {
        for item in items {
            let ExprKind::ImpliedDo(d) = &item.kind else {
                continue;
            };
            let constants = Constants::of(&self.unit);
            let count = constants.integer(&d.from).zip(constants.integer(&d.to));
            let count = count.and_then(|(from, to)| to.checked_sub(from));
            if count.is_none_or(|n| n > MOST) {
                self.reason("the size of an array constructor is not a constant");
            }
            self.check_constructor(&d.items);
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
fn argument<'a>(args: &'a [Expr], position: usize, keyword: &str) -> Option<&'a Expr> {
    let positional = |e: &&Expr| !matches!(e.kind, ExprKind::Keyword(..));
    args.get(position).filter(positional).or_else(|| {
        args.iter().find_map(|a| match &a.kind {
            ExprKind::Keyword(k, value) if k == keyword => Some(&**value),
            _ => None,
        })
    })
}
