//! Affine forms of subscripts, and what can be proven about them.

use farfel_lang::Span as SourceSpan;
use farfel_lang::ir::{BinOp, Class, DoControl, Expr, ExprKind, SymId, Type, UnOp, Unit};
use farfel_lang::storage::constant;
use smallvec::{SmallVec, smallvec};

/// `constant + sum of factor * variable`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Affine {
    constant: i64,
    /// The variables with their factors, none of which is 0, in the order of the variables. Few have more than three.
    terms: SmallVec<[(SymId, i64); 3]>,
}

impl Affine {
    /// The affine form of an integer expression, if it has one.
    pub fn of(unit: &Unit, e: &Expr) -> Option<Self> {
        if let Some(n) = constant::integer(unit, e) {
            return Some(Affine {
                constant: n,
                ..Affine::default()
            });
        }
        match &e.kind {
            ExprKind::Var(s) => {
                let symbol = &unit.symbols[*s];
                let plain = symbol.is_variable()
                    && !symbol.is_array()
                    && matches!(symbol.ty, Some(Type::Integer(_)));
                plain.then(|| Affine {
                    constant: 0,
                    terms: smallvec![(*s, 1)],
                })
            }
            ExprKind::Paren(a) | ExprKind::Unary(UnOp::Plus, a) => Self::of(unit, a),
            ExprKind::Unary(UnOp::Minus, a) => Self::of(unit, a)?.times(-1),
            ExprKind::Binary(BinOp::Add, a, b) => Self::of(unit, a)?.plus(&Self::of(unit, b)?, 1),
            ExprKind::Binary(BinOp::Sub, a, b) => Self::of(unit, a)?.plus(&Self::of(unit, b)?, -1),
            ExprKind::Binary(BinOp::Mul, a, b) => {
                let (a, b) = (Self::of(unit, a)?, Self::of(unit, b)?);
                match (a.terms.is_empty(), b.terms.is_empty()) {
                    (true, _) => b.times(a.constant),
                    (_, true) => a.times(b.constant),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns a constant.
    pub fn number(n: i64) -> Self {
        Affine {
            constant: n,
            ..Affine::default()
        }
    }

    /// Returns the affine form of a variable.
    pub fn var(s: SymId) -> Self {
        Affine {
            constant: 0,
            terms: smallvec![(s, 1)],
        }
    }

    /// The index of the term of a variable, or where it would be.
    fn place(&self, s: SymId) -> Result<usize, usize> {
        self.terms.binary_search_by_key(&s, |(s, _)| *s)
    }

    fn times(mut self, k: i64) -> Option<Self> {
        self.constant = self.constant.checked_mul(k)?;
        for (_, f) in &mut self.terms {
            *f = f.checked_mul(k)?;
        }
        self.terms.retain(|(_, f)| *f != 0);
        Some(self)
    }

    /// `self + k * other`
    pub fn plus(mut self, other: &Self, k: i64) -> Option<Self> {
        self.constant = self.constant.checked_add(other.constant.checked_mul(k)?)?;
        for (s, f) in &other.terms {
            let more = f.checked_mul(k)?;
            match self.place(*s) {
                Ok(i) => {
                    let (_, mine) = self.terms.get_mut(i)?;
                    *mine = mine.checked_add(more)?;
                }
                Err(i) => self.terms.insert(i, (*s, more)),
            }
        }
        self.terms.retain(|(_, f)| *f != 0);
        Some(self)
    }

    /// Returns the coefficient of a variable.
    pub fn factor(&self, s: SymId) -> i64 {
        let found = self.place(s).ok().and_then(|i| self.terms.get(i));
        found.map_or(0, |(_, f)| *f)
    }

    /// Substitutes an affine form for a variable.
    pub fn with(mut self, s: SymId, value: &Self) -> Option<Self> {
        match self.place(s) {
            Err(_) => Some(self),
            Ok(i) => {
                let (_, f) = self.terms.remove(i);
                self.plus(value, f)
            }
        }
    }

    /// Whether all its variables have a property.
    pub fn all_vars(&self, is: &dyn Fn(SymId) -> bool) -> bool {
        self.terms.iter().all(|(s, _)| is(*s))
    }

    /// Returns an expression for it.
    pub fn to_expr(&self, span: SourceSpan) -> Expr {
        let mut sum: Option<Expr> = None;
        for (s, f) in &self.terms {
            let var = Expr::var(*s, span);
            let term = match f.unsigned_abs() {
                1 => var,
                n => {
                    let n = i64::try_from(n).unwrap_or(i64::MAX);
                    Expr::binary(BinOp::Mul, Expr::int(n, span), var)
                }
            };
            sum = Some(match (sum, *f < 0) {
                (None, false) => term,
                (None, true) => Expr::minus(term, span),
                (Some(sum), false) => Expr::binary(BinOp::Add, sum, term),
                (Some(sum), true) => Expr::binary(BinOp::Sub, sum, term),
            });
        }
        match (sum, self.constant) {
            (None, n) => Expr::int(n, span),
            (Some(sum), 0) => sum,
            (Some(sum), n) if n < 0 => {
                let n = Expr::int(n.saturating_neg(), span);
                Expr::binary(BinOp::Sub, sum, n)
            }
            (Some(sum), n) => Expr::binary(BinOp::Add, sum, Expr::int(n, span)),
        }
    }

    /// Returns the value, if there are no variables.
    pub fn value(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }
}

/// The range of values of a loop variable. Both ends are attained if the loop is executed at all.
#[derive(Debug, Clone)]
pub(crate) struct LoopRange {
    /// The loop variable.
    pub var: SymId,
    /// Its smallest value, if known.
    pub low: Option<Affine>,
    /// Its largest value, if known.
    pub high: Option<Affine>,
}

/// Whether the number is positive for all values of the loop variables.
pub(crate) fn is_positive(mut number: Affine, around: &[LoopRange]) -> bool {
    for span in around.iter().rev() {
        if let Some(n) = number.value() {
            return n > 0;
        }
        let factor = number.factor(span.var);
        let bound = match factor.signum() {
            0 => continue,
            1 => &span.low,
            _ => &span.high,
        };
        let Some(bound) = bound else { return false };
        match number.with(span.var, bound) {
            Some(n) => number = n,
            None => return false,
        }
    }
    number.value().is_some_and(|n| n > 0)
}

/// Whether this consists of arithmetic on variables and integers, and of intrinsic functions, so
/// that it can be used in a subscript.
pub(crate) fn is_simple(unit: &Unit, e: &Expr) -> bool {
    let own = match &e.kind {
        ExprKind::Int(_) | ExprKind::Var(_) | ExprKind::Paren(_) | ExprKind::Unary(..) => true,
        ExprKind::Binary(op, ..) => op.is_arithmetic() && *op != BinOp::Pow,
        ExprKind::Call(f, _) => matches!(unit.symbols[*f].class, Class::Intrinsic(_)),
        _ => false,
    };
    own && e.children().into_iter().all(|c| is_simple(unit, c))
}

/// The variable of a loop that counts by one, up or down, with its smallest and its largest value.
pub(crate) fn counted_by_one(control: &DoControl) -> Option<(SymId, &Expr, &Expr)> {
    let DoControl::Count {
        var,
        from,
        to,
        step,
    } = control
    else {
        return None;
    };
    match step.as_ref().map(|s| &s.kind) {
        None | Some(ExprKind::Int(1)) => Some((*var, from, to)),
        Some(ExprKind::Int(-1)) => Some((*var, to, from)),
        Some(ExprKind::Unary(UnOp::Minus, one)) if one.kind == ExprKind::Int(1) => {
            Some((*var, to, from))
        }
        Some(_) => None,
    }
}
