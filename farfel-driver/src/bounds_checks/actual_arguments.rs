//! Checks of calls: what is passed must be as large as the dummy argument, and arrays are passed with the number of
//! their elements.

use super::arrays::{Length, is_plain, long, number};
use super::rewrite::{CheckInserter, Use};
use crate::support::{Support, intrinsic};
use farfel_lang::Span;
use farfel_lang::ir::{BinOp, Expr, ExprKind, StorageClass, SymId, Type};
use farfel_lang::print::print_expr;
use farfel_lang::storage::Constants;
use farfel_lang::types::{rank, type_of};
impl CheckInserter<'_> {
    pub(super) fn call(&mut self, callee: SymId, args: &mut Vec<Expr>, span: Span) {
        let symbol = &self.unit.symbols[callee];
        if symbol.storage_class == StorageClass::Dummy {
            return self.call_given(callee, args, span);
        }
        let name = match symbol.storage_class {
            StorageClass::Result => self.unit.name.clone(),
            _ => symbol.name.clone(),
        };
        let Some(target) = self.pass.interfaces.get(&name) else {
            if !super::is_harmless(symbol) {
                self.reason(format!("{name} is called, whose text is not there"));
            }
            self.has_room_for(&name, args);
            // An unknown procedure receives its arguments as they are, and may use all of them.
            for a in args {
                self.expr(a, Use::Value);
            }
            return;
        };
        if target.args.len() != args.len() {
            self.reason(format!("{name} is called with another number of arguments"));
            args.iter_mut().for_each(|a| self.expr(a, Use::Inside));
            return;
        }
        // The caller must provide enough room for the result.
        if let Some((ty, length)) = target.result {
            let (here, expected) = super::result_of(&self.unit, callee);
            let text = ty == Some(Type::Character);
            if ty != here || (text && (length.is_none() || length != expected)) {
                self.reason(format!(
                    "the result of {name} is of another type or length here"
                ));
            }
        }
        let mut lengths = Vec::new();
        for (a, dummy) in args.iter_mut().zip(&target.args) {
            match dummy {
                super::Dummy::Other => self.expr(a, Use::Inside),
                super::Dummy::Scalar { size, any } => {
                    let shown = print_expr(&self.unit, a);
                    self.scalar(a, *size, *any, &name, &shown);
                }
                super::Dummy::Array { size, any } => {
                    let length = self.length_of(a, *size, *any, &name, span);
                    if target.measured {
                        lengths.push(length);
                    }
                }
            }
        }
        args.extend(lengths);
    }

    /// Checks what is passed to a scalar of `size` bytes.
    fn scalar(&mut self, a: &mut Expr, size: Option<i64>, any: bool, callee: &str, shown: &str) {
        // Old programs pass `'DGER '` for a CHARACTER*6. What lies behind the constant is arbitrary, so that blanks
        // are as good.
        if let ExprKind::Char(text) = &mut a.kind
            && let Some(size) = size.and_then(|size| usize::try_from(size).ok())
            && text.len() < size
        {
            text.push_str(&" ".repeat(size - text.len()));
        }
        let there = self.size_of(a);
        let length = match there {
            None if !any => self.length_now(a),
            _ => None,
        };
        if let ExprKind::Var(s) = a.kind
            && self.unit.symbols[s].is_array()
        {
            // Passes its first element.
            self.first_element(s, a.span);
        } else {
            self.expr(a, Use::Value);
        }
        let enough = match (size, there) {
            _ if any => true,
            (Some(size), Some(there)) => size <= there,
            (Some(size), None) => match length {
                Some(length) if self.checks => {
                    let shown = format!("LEN({shown})");
                    let needed = Expr::long(size, a.span);
                    let check = self.whole_check(needed, length, &shown, a.span);
                    self.before.push(check);
                    true
                }
                _ => false,
            },
            _ => false,
        };
        if !enough {
            self.reason(format!("{callee} takes more than {shown} is"));
        }
    }

    /// Returns the size of a scalar or an array element in bytes.
    fn size_of(&self, e: &Expr) -> Option<i64> {
        let real = self.pass.real;
        let length = |e: &Option<Expr>| match e {
            None => Some(1),
            Some(e) => Constants::of(&self.unit).integer(e),
        };
        match &e.kind {
            ExprKind::Var(s) | ExprKind::Element(s, _) if self.unit.symbols[*s].is_variable() => {
                let symbol = &self.unit.symbols[*s];
                super::bytes(symbol.ty?, real).or_else(|| length(&symbol.length))
            }
            ExprKind::Char(text) | ExprKind::Hollerith(text) => i64::try_from(text.len()).ok(),
            ExprKind::Paren(e) => self.size_of(e),
            _ => super::bytes(type_of(&self.unit, e)?, real),
        }
    }

    /// Returns the length of a text that is passed on, as an INTEGER*8 that is evaluated before the statement.
    fn length_now(&mut self, e: &Expr) -> Option<Expr> {
        let span = e.span;
        if type_of(&self.unit, e) != Some(Type::Character) || rank(&self.unit, e) > 0 {
            return None;
        }
        let is_text = |s: SymId| self.unit.symbols[s].is_variable();
        let whole = match &e.kind {
            ExprKind::Var(s) | ExprKind::Element(s, _) if is_text(*s) => Expr::var(*s, span),
            ExprKind::Substring(base, from, to) => {
                let bounds = || [from, to].into_iter().flatten();
                let base = base.base().filter(|s| is_text(*s))?;
                if !bounds().all(|b| self.is_known_before(b)) {
                    return None;
                }
                let first = from
                    .as_ref()
                    .map_or(Expr::long(1, span), |e| long((**e).clone()));
                let last = match to {
                    Some(e) => long((**e).clone()),
                    None => {
                        let len = intrinsic(&mut self.unit, "LEN")?;
                        long(Expr::call(len, vec![Expr::var(base, span)], span))
                    }
                };
                return Some(self.call_support(Support::Count, vec![first, last], span));
            }
            _ => return None,
        };
        let len = intrinsic(&mut self.unit, "LEN")?;
        Some(long(Expr::call(len, vec![whole], span)))
    }

    fn first_element(&mut self, s: SymId, span: Span) {
        if !self.checks {
            return;
        }
        match self.array(s).length {
            Length::Known(length) => {
                if length.value().is_none_or(|v| v < 1) {
                    let shown = self.unit.symbols[s].name.to_string();
                    let one = Expr::long(1, span);
                    let check = self.whole_check(one, length.expr(span), &shown, span);
                    self.before.push(check);
                }
            }
            Length::Trusted => {}
            Length::Unknown(why) => self.reason(why),
        }
    }

    /// Returns the number of elements of `size` bytes from the start of an actual argument on.
    fn length_of(
        &mut self,
        a: &mut Expr,
        size: Option<i64>,
        any: bool,
        callee: &str,
        span: Span,
    ) -> Expr {
        let there = self.size_of(a);
        let shown = print_expr(&self.unit, a);
        let count = self.count_of(a, &shown, false, span);
        let Some(count) = count else {
            return Expr::long(1 << 60, span);
        };
        match (there, size) {
            (Some(a), Some(b)) if a == b || b == 0 => count,
            (Some(a), Some(b)) => {
                let bytes =
                    Expr::binary(BinOp::Mul, Expr::parens(count, span), Expr::long(a, span));
                Expr::binary(BinOp::Div, bytes, Expr::long(b, span))
            }
            _ if any => count,
            _ => {
                self.reason(format!(
                    "the length of {shown} is not known, which {callee} gets"
                ));
                Expr::long(1 << 60, span)
            }
        }
    }

    /// Returns the number of elements of its own type from the start of an actual argument on; `None` if it
    /// is unknown. `declared` limits the number to the declared size for an array that is not a dummy
    /// argument.
    pub(super) fn count_of(
        &mut self,
        a: &mut Expr,
        shown: &str,
        declared: bool,
        span: Span,
    ) -> Option<Expr> {
        let scalar = rank(&self.unit, a) == 0;
        match &mut a.kind {
            ExprKind::Var(s) if self.unit.symbols[*s].is_variable() => {
                let s = *s;
                if !self.unit.symbols[s].is_array() {
                    let rest = self.arrays.rest(&self.unit, s, 1, &self.context());
                    return Some(Expr::long(i64::try_from(rest).unwrap_or(1), span));
                }
                match self.array(s).length {
                    Length::Known(length) => Some(length.expr(span)),
                    Length::Trusted => None,
                    Length::Unknown(why) => {
                        self.reason(why);
                        None
                    }
                }
            }
            ExprKind::Element(s, subscripts) if self.unit.symbols[*s].is_array() => {
                let s = *s;
                subscripts.iter_mut().for_each(|x| self.expr(x, Use::Value));
                let array = self.array(s);
                let length = match &array.length {
                    Length::Known(length) => length.clone(),
                    Length::Trusted => return None,
                    Length::Unknown(why) => {
                        let why = why.clone();
                        self.reason(why);
                        return None;
                    }
                };
                let length =
                    match declared && self.unit.symbols[s].storage_class != StorageClass::Dummy {
                        true => self.total(s).unwrap_or(length),
                        false => length,
                    };
                if subscripts.len() != array.lowers.len() {
                    self.reason(format!("{shown} has another number of subscripts"));
                    return None;
                }
                if subscripts.iter().any(|s| self.selects_several(s)) {
                    let Some(bounds) = self.section_bounds(s, subscripts, &array, span) else {
                        self.reason(format!("the section {shown} is not simple"));
                        return None;
                    };
                    let count = self.section_count(&bounds, subscripts, false, span);
                    if self.checks {
                        self.section(s, subscripts, &array, &length, shown, span);
                    }
                    return Some(count);
                }
                if !subscripts.iter().all(|s| is_plain(&self.unit, s)) {
                    self.reason(format!("functions are called in the subscripts of {shown}"));
                    return None;
                }
                let number = number(subscripts, &array, span);
                if let (ExprKind::Kind(n, 8), Some(length)) = (&number.kind, length.value())
                    && let ExprKind::Int(n) = n.kind
                {
                    let rest = if n < 1 {
                        0
                    } else {
                        (length - i128::from(n) + 1).max(0)
                    };
                    return Some(Expr::long(i64::try_from(rest).unwrap_or(0), span));
                }
                let args = vec![number, length.expr(span)];
                Some(self.call_support(Support::Rest, args, span))
            }
            ExprKind::Substring(..) => {
                self.expr(a, Use::Value);
                self.reason(format!("{shown} is passed for an array"));
                None
            }
            ExprKind::Var(_) => {
                self.reason(format!("{shown} is passed for an array"));
                None
            }
            _ if scalar => {
                self.expr(a, Use::Value);
                Some(Expr::long(1, span))
            }
            ExprKind::Paren(e) if matches!(e.kind, ExprKind::Var(_)) => {
                let base = e.base();
                let total = base.and_then(|s| self.total(s));
                self.expr(a, Use::Value);
                total.map(|t| t.expr(span))
            }
            _ => {
                self.expr(a, Use::Inside);
                self.reason(format!("{shown} is passed for an array"));
                None
            }
        }
    }
}
