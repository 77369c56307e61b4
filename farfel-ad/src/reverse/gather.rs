//! Gathers several terms in one derivative into one term. Its factor is a number that the forward sweep can
//! compute.
//!
//! ```fortran
//!       TEMP = P3*X + P2                           TEMP = P3*X + P2
//!       YD = (P3*XD*X + TEMP*XD)*X                 FACTOR = (P3*X + TEMP)*X + (TEMP*X + P1)
//!      *     + (TEMP*X + P1)*XD                    YD = FACTOR*XD
//! ```
//!
//! The transpose of the text on the left is a chain of multiplications, and a sum that depends on each of
//! them: none of it can begin before the cotangent of Y is there, so the longer it is, the slower. The
//! transpose of the text on the right is a single product. The factor takes no more operations than the
//! tangent, and processors compute it in parallel with Y itself.
//!
//! The factor is the derivative of an expression with respect to a variable, as far as the expression depends
//! on that variable alone. Where the factor is infinite, so is the derivative, even if the cotangent is zero.
//!
//! # Sine and cosine
//!
//! If a value is the sine of an expression and its derivative the cosine, or the other way round, the forward
//! sweep computes both: compilers turn this into one call that takes hardly longer than one of the two. This
//! is done only if the value is recorded anyway, and only outside of loops, where each iteration would record
//! one more value.
//!
//! Source: A. Griewank and A. Walther, *Evaluating Derivatives*, 2nd ed., SIAM 2008, section 10.2
//! (statement-level preaccumulation).

use super::normal::has_calls;
use super::sweep::mentions;
use super::transpose::{is_derivative, leaves};
use super::unit_builder::{UnitBuilder, literal};
use farfel_lang::Span;
use farfel_lang::intrinsics::Op;
use farfel_lang::ir::build::{binary, negative};
use farfel_lang::ir::{
    BinOp, Block, Class, DoControl, Expr, ExprKind, Stmt, StmtKind, StorageClass, SymId, Type, UnOp,
};
use farfel_lang::types::{rank, type_of};
use std::collections::{BTreeSet, HashMap};

/// Gathers terms in all linear statements of a block and of the blocks in it. `source` says whether the
/// original subprogram has a variable of some name. `direction` is the variable of loops over directions.
/// Factors of linear statements in such loops are the same in all directions and move in front of the loop.
pub(super) fn gather(
    builder: &mut UnitBuilder,
    block: Block,
    source: &dyn Fn(&str) -> bool,
    direction: Option<SymId>,
) -> Block {
    gather_in(builder, block, source, direction, false)
}

fn gather_in(
    builder: &mut UnitBuilder,
    block: Block,
    source: &dyn Fn(&str) -> bool,
    direction: Option<SymId>,
    in_loop: bool,
) -> Block {
    let mut out = Vec::with_capacity(block.len());
    let mut known = Trigonometric::default();
    for mut s in block {
        let in_loop = in_loop || matches!(s.kind, StmtKind::Do(_));
        for inner in s.blocks_mut() {
            *inner = gather_in(builder, std::mem::take(inner), source, direction, in_loop);
        }
        if let (StmtKind::Do(d), Some(direction)) = (&mut s.kind, direction)
            && matches!(d.control, DoControl::Count { var, .. } if var == direction)
        {
            let is_number = |s: &mut Stmt| match &s.kind {
                StmtKind::Assign(target, value) => {
                    !is_derivative(&builder.derivatives, target) && !mentions(value, direction)
                }
                _ => false,
            };
            out.extend(d.body.extract_if(.., is_number));
        }
        if let StmtKind::Assign(target, value) = &mut s.kind
            && is_derivative(&builder.derivatives, target)
            && rank(&builder.unit, target) == 0
            && !has_calls(builder, value)
        {
            let mut g = Gatherer {
                builder,
                target,
                source,
                before: Vec::new(),
                span: s.span,
            };
            if let Some(new) = g.sum(value) {
                *value = new;
                out.append(&mut g.before);
            }
            if !in_loop {
                beside(builder, &mut known, &mut out, value, s.span);
            }
        }
        out.push(s);
    }
    out
}

/// The sines and cosines that the last assignments of a block assign.
#[derive(Default)]
struct Trigonometric {
    /// The number of statements that have been looked at.
    seen: usize,
    /// The indices of the assignments, by variable.
    assigned: HashMap<SymId, Vec<usize>>,
}

impl Trigonometric {
    /// Looks at the statements that are new.
    fn find(&mut self, builder: &UnitBuilder, block: &[Stmt]) {
        for (i, s) in block.iter().enumerate().skip(self.seen) {
            match &s.kind {
                StmtKind::Assign(target, value) => {
                    if let (Some(t), Some(_)) = (target.base(), trigonometric(builder, value)) {
                        self.assigned.entry(t).or_default().push(i);
                    }
                }
                _ => self.assigned.clear(),
            }
        }
        self.seen = block.len();
    }

    /// The assignments to variables that an expression names.
    fn named_in(&self, e: &Expr) -> Vec<usize> {
        let mut found = Vec::new();
        e.for_each_symbol(&mut |s| found.extend(self.assigned.get(&s).into_iter().flatten()));
        found
    }
}

/// The operation, the argument and the type of a sine or cosine.
fn trigonometric(builder: &UnitBuilder, e: &Expr) -> Option<(Op, Expr, Type)> {
    match &e.kind {
        ExprKind::Call(s, args) if args.len() == 1 && rank(&builder.unit, e) == 0 => {
            match (&builder.unit.symbols[*s].class, type_of(&builder.unit, e)) {
                (Class::Intrinsic(i), Some(ty @ Type::Real(_))) => {
                    let known = matches!(i.op, Op::Sin | Op::Cos);
                    known.then(|| (i.op, args[0].clone(), ty))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Moves the sine or cosine in a factor to a variable, if the other function of the same argument is in a
/// variable that the statement reads as well.
fn beside(
    builder: &mut UnitBuilder,
    known: &mut Trigonometric,
    out: &mut Block,
    value: &mut Expr,
    span: Span,
) {
    let mut wanted = Vec::new();
    value.walk(&mut |e| wanted.extend(trigonometric(builder, e)));
    for (op, argument, ty) in wanted {
        known.find(builder, out);
        let is_other = |i: usize| match &out[i].kind {
            StmtKind::Assign(_, v) => trigonometric(builder, v)
                .is_some_and(|(o, a, _)| o != op && a.equals_ignoring_spans(&argument)),
            _ => false,
        };
        if !known.named_in(value).into_iter().any(is_other) {
            continue;
        }
        let mut call = None;
        let t = Expr::var(builder.temporary(ty), span);
        value.rewrite(&mut |e| {
            if trigonometric(builder, e)
                .is_some_and(|(o, a, _)| o == op && a.equals_ignoring_spans(&argument))
            {
                call = Some(std::mem::replace(e, t.clone()));
            }
        });
        out.extend(call.map(|call| Stmt::assign(t, call, span)));
    }
}

struct Gatherer<'a> {
    builder: &'a mut UnitBuilder,
    target: &'a Expr,
    source: &'a dyn Fn(&str) -> bool,
    /// The statements that compute factors.
    before: Block,
    span: Span,
}

/// A term of a sum: whether it is subtracted, its text, and its derivative if it has only one.
struct Term {
    minus: bool,
    text: Expr,
    only: Option<Expr>,
}

/// The factor of a derivative.
enum Factor {
    One,
    Is(Expr),
}

impl Gatherer<'_> {
    fn leaves<'e>(&self, e: &'e Expr) -> Vec<&'e Expr> {
        let mut found = Vec::new();
        leaves(&self.builder.derivatives, e, &mut found);
        found
    }

    /// The only derivative in an expression, and how often it occurs; `None` if there are several.
    fn only(&self, e: &Expr) -> Option<(Expr, usize)> {
        let found = self.leaves(e);
        let first = *found.first()?;
        let alone = found.iter().all(|l| l.equals_ignoring_spans(first))
            && rank(&self.builder.unit, first) == 0
            && !first.equals_ignoring_spans(self.target);
        alone.then(|| (first.clone(), found.len()))
    }

    /// Returns a sum with its terms gathered, or `None` if nothing changes.
    fn sum(&mut self, e: &Expr) -> Option<Expr> {
        let mut terms = Vec::new();
        self.terms(e, false, &mut terms);
        let mut changed = false;
        let mut made: Vec<(bool, Expr)> = Vec::new();
        let mut done = vec![false; terms.len()];
        for i in 0..terms.len() {
            if done[i] {
                continue;
            }
            let t = &terms[i];
            let alike: Vec<usize> = match &t.only {
                Some(d) => (i..terms.len())
                    .filter(|j| {
                        terms[*j]
                            .only
                            .as_ref()
                            .is_some_and(|o| o.equals_ignoring_spans(d))
                    })
                    .collect(),
                None => vec![i],
            };
            if let Some(d) = &t.only
                && let Some(new) = self.one(d, alike.iter().map(|j| &terms[*j]))
            {
                for j in alike {
                    done[j] = true;
                }
                changed = true;
                made.push((false, new));
                continue;
            }
            let (minus, text) = (t.minus, t.text.clone());
            let inner = self.inside(&text);
            changed |= inner.is_some();
            made.push((minus, inner.unwrap_or(text)));
        }
        if !changed {
            return None;
        }
        made.into_iter()
            .fold(None, |sum: Option<Expr>, (minus, t)| {
                Some(match (sum, minus) {
                    (None, false) => t,
                    (None, true) => negative(parenthesis(t)),
                    (Some(s), false) => binary(BinOp::Add, s, t),
                    (Some(s), true) => binary(BinOp::Sub, s, t),
                })
            })
    }

    fn terms(&self, e: &Expr, minus: bool, out: &mut Vec<Term>) {
        match &e.kind {
            ExprKind::Paren(a) | ExprKind::Unary(UnOp::Plus, a) => self.terms(a, minus, out),
            ExprKind::Unary(UnOp::Minus, a) => self.terms(a, !minus, out),
            ExprKind::Binary(BinOp::Add, a, b) => {
                self.terms(a, minus, out);
                self.terms(b, minus, out);
            }
            ExprKind::Binary(BinOp::Sub, a, b) => {
                self.terms(a, minus, out);
                self.terms(b, !minus, out);
            }
            _ => out.push(Term {
                minus,
                text: e.clone(),
                only: self.only(e).map(|(d, _)| d),
            }),
        }
    }

    /// Gathers terms inside a product or quotient.
    fn inside(&mut self, e: &Expr) -> Option<Expr> {
        let ExprKind::Binary(op @ (BinOp::Mul | BinOp::Div), a, b) = &e.kind else {
            return None;
        };
        let (a, b) = (&**a, &**b);
        if !self.leaves(a).is_empty() {
            let a = self.sum(a)?;
            Some(binary(*op, parenthesis(a), b.clone()))
        } else {
            let b = self.sum(b)?;
            Some(binary(*op, a.clone(), parenthesis(b)))
        }
    }

    /// Combines terms in the same derivative into one.
    fn one<'t>(&mut self, d: &Expr, terms: impl Iterator<Item = &'t Term>) -> Option<Expr> {
        let ty = type_of(&self.builder.unit, d).filter(|t| t.is_differentiable())?;
        let mut factor: Option<Factor> = None;
        let mut count = 0;
        for t in terms {
            count += self.leaves(&t.text).len();
            let own = self.factor(&t.text, ty)?;
            factor = Some(match (factor, t.minus) {
                (None, false) => own,
                (None, true) => Factor::Is(negative(parenthesis(self.number(own, ty)))),
                (Some(f), minus) => {
                    let op = if minus { BinOp::Sub } else { BinOp::Add };
                    let (a, b) = (self.number(f, ty), self.number(own, ty));
                    Factor::Is(binary(op, a, if minus { parenthesis(b) } else { b }))
                }
            });
        }
        let Factor::Is(factor) = factor.filter(|_| count > 1)? else {
            return None;
        };
        let factor = match self.is_worth_keeping(&factor) {
            true => {
                let t = Expr::var(self.builder.temporary(ty), self.span);
                self.before.push(Stmt::assign(t.clone(), factor, self.span));
                t
            }
            false => parenthesis(factor),
        };
        Some(binary(BinOp::Mul, factor, d.clone()))
    }

    /// Whether a factor is made of several temporaries that may be needed for nothing else.
    fn is_worth_keeping(&self, factor: &Expr) -> bool {
        let mut found: BTreeSet<SymId> = BTreeSet::new();
        factor.for_each_symbol(&mut |s| {
            let symbol = &self.builder.unit.symbols[s];
            if symbol.is_variable()
                && symbol.storage_class == StorageClass::Local
                && !(self.source)(&symbol.name)
            {
                found.insert(s);
            }
        });
        found.len() > 1
    }

    fn number(&self, factor: Factor, ty: Type) -> Expr {
        match factor {
            Factor::Is(e) => e,
            Factor::One => match ty {
                Type::Complex(_) => {
                    let part = |text| literal(text, ty, self.span);
                    Expr::complex(part("1.0"), part("0.0"), self.span)
                }
                _ => literal("1.0", ty, self.span),
            },
        }
    }

    /// The factor of the derivative in an expression that has one derivative, of type `ty`. All operands must
    /// have this type: otherwise products would be rounded differently from those of the program.
    fn factor(&self, e: &Expr, ty: Type) -> Option<Factor> {
        let is_number = |e: &Expr| {
            type_of(&self.builder.unit, e) == Some(ty)
                && rank(&self.builder.unit, e) == 0
                && self.leaves(e).is_empty()
        };
        Some(match &e.kind {
            _ if is_derivative(&self.builder.derivatives, e) => Factor::One,
            ExprKind::Paren(a) | ExprKind::Unary(UnOp::Plus, a) => self.factor(a, ty)?,
            ExprKind::Unary(UnOp::Minus, a) => {
                let a = self.factor(a, ty)?;
                Factor::Is(negative(parenthesis(self.number(a, ty))))
            }
            ExprKind::Binary(op @ (BinOp::Add | BinOp::Sub), a, b) => {
                let (a, b) = (self.factor(a, ty)?, self.factor(b, ty)?);
                let b = self.number(b, ty);
                let b = if *op == BinOp::Sub { parenthesis(b) } else { b };
                Factor::Is(binary(*op, self.number(a, ty), b))
            }
            ExprKind::Binary(BinOp::Mul, a, b) => {
                let first = self.leaves(b).is_empty();
                let (linear, number) = if first { (a, b) } else { (b, a) };
                if !is_number(number) {
                    return None;
                }
                let number = (**number).clone();
                Factor::Is(match (self.factor(linear, ty)?, first) {
                    (Factor::One, _) => number,
                    (Factor::Is(f), true) => binary(BinOp::Mul, parenthesis(f), number),
                    (Factor::Is(f), false) => binary(BinOp::Mul, number, parenthesis(f)),
                })
            }
            ExprKind::Binary(BinOp::Div, a, b) if is_number(b) => {
                let a = self.factor(a, ty)?;
                let a = parenthesis(self.number(a, ty));
                Factor::Is(binary(BinOp::Div, a, (**b).clone()))
            }
            _ => return None,
        })
    }
}

/// Puts a sum into parentheses.
fn parenthesis(e: Expr) -> Expr {
    match &e.kind {
        ExprKind::Binary(BinOp::Add | BinOp::Sub, ..) | ExprKind::Unary(..) => {
            let span = e.span;
            Expr::parens(e, span)
        }
        _ => e,
    }
}
