//! The transpose of a linear statement.
//!
//! `YD = a*XD + b*ZD` becomes `XB = XB + a*YB`, `ZB = ZB + b*YB`, `YB = 0`: the factor that a derivative has
//! in the tangent is also the factor of the cotangent on its way back (A. Griewank and A. Walther,
//! *Evaluating Derivatives*, 2nd ed., SIAM 2008, section 3.2). The tangent and the cotangent of a variable
//! have the same symbol.
//!
//! Cotangents of complex numbers are defined by the real inner product Re(conj(a)*b), so factors become their
//! conjugates.

use super::unit_builder::{UnitBuilder, zero};
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::intrinsics::Op;
use farfel_lang::ir::build::{binary, increment, negative};
use farfel_lang::ir::{
    BinOp, Block, Class, Expr, ExprKind, Stmt, StmtKind, SymId, Type, UnOp, Unit,
};
use farfel_lang::types::{rank, type_of};
use std::collections::HashSet;

/// Whether an expression is a derivative or an element of one.
pub(super) fn is_derivative(derivatives: &HashSet<SymId>, e: &Expr) -> bool {
    e.base().is_some_and(|s| derivatives.contains(&s))
        && matches!(e.kind, ExprKind::Var(_) | ExprKind::Element(..))
}

/// The derivatives in a linear expression.
pub(super) fn leaves<'e>(derivatives: &HashSet<SymId>, e: &'e Expr, out: &mut Vec<&'e Expr>) {
    if is_derivative(derivatives, e) {
        out.push(e);
        return;
    }
    for c in e.children() {
        leaves(derivatives, c, out);
    }
}

/// Returns the transpose of `target = value`. `same_place` says whether two derivatives with different names
/// may share storage.
pub(super) fn transpose(
    builder: &mut UnitBuilder,
    target: &Expr,
    value: &Expr,
    span: Span,
    same_place: &dyn Fn(SymId, SymId) -> bool,
) -> Result<Block, Diagnostic> {
    let ty = type_of(&builder.unit, target).unwrap_or(Type::REAL);
    let reset = || Stmt::assign(target.clone(), zero(ty, span), span);
    let mut found = Vec::new();
    leaves(&builder.derivatives, value, &mut found);
    let Some(base) = target.base() else {
        return Ok(Vec::new());
    };
    if found.is_empty() {
        return Ok(vec![reset()]);
    }
    let is_self = |e: &Expr| e.equals_ignoring_spans(target);
    let selfs = found.iter().filter(|e| is_self(e)).count();
    let overlaps = |e: &Expr| e.base().is_some_and(|s| s == base || same_place(s, base));
    let overlapping = found.iter().filter(|e| !is_self(e) && overlaps(e)).count();
    let mut t = Transposer {
        builder,
        span,
        target,
        own: None,
        out: Vec::new(),
        keep_self: true,
    };
    let kept = selfs == 1 && keeps_itself(value, target);
    let is_array = rank(&t.builder.unit, target) > 0;
    if is_array && overlapping > usize::from(kept) {
        return Err(overlap(span));
    }
    if !is_array && (overlapping > usize::from(kept) || selfs > 1) {
        let seed = Expr::var(t.builder.derivative_temporary(ty), span);
        let mut out = vec![Stmt::assign(seed.clone(), target.clone(), span)];
        if kept {
            // The element keeps its cotangent, and contributions to overlapping elements are added.
            t.own = Some(Expr::star(span));
        } else {
            out.push(reset());
            t.keep_self = false;
        }
        t.expr(value, seed)?;
        out.append(&mut t.out);
        return Ok(out);
    }
    t.expr(value, target.clone())?;
    let own = t.own.take();
    let mut out = std::mem::take(&mut t.out);
    match own {
        // A contribution to what may be another element of the same array comes last: it may be the element
        // that the other statements read.
        _ if kept => {
            let changes = |s: &Stmt| matches!(&s.kind, StmtKind::Assign(t, _) if overlaps(t));
            if let Some(at) = out.iter().position(changes) {
                out[at..].rotate_left(1);
            }
        }
        Some(own) => out.push(Stmt::assign(target.clone(), own, span)),
        None => out.push(reset()),
    }
    Ok(out)
}

fn overlap(span: Span) -> Diagnostic {
    Diagnostic::error(
        &rules::AD_UNSUPPORTED,
        span,
        "the adjoint of this assignment to an array from itself is not known",
    )
    .help("write a DO loop over the elements")
}

/// Whether a derivative is added to itself with factor one.
fn keeps_itself(e: &Expr, target: &Expr) -> bool {
    match &e.kind {
        ExprKind::Paren(a) | ExprKind::Unary(UnOp::Plus, a) => keeps_itself(a, target),
        ExprKind::Binary(BinOp::Add, a, b) => keeps_itself(a, target) || keeps_itself(b, target),
        ExprKind::Binary(BinOp::Sub, a, _) => keeps_itself(a, target),
        _ => e.equals_ignoring_spans(target),
    }
}

struct Transposer<'m> {
    builder: &'m mut UnitBuilder,
    span: Span,
    target: &'m Expr,
    /// The new value of the cotangent of the target itself.
    own: Option<Expr>,
    out: Block,
    keep_self: bool,
}

impl Transposer<'_> {
    fn depends(&self, e: &Expr) -> bool {
        let mut found = Vec::new();
        leaves(&self.builder.derivatives, e, &mut found);
        !found.is_empty()
    }

    fn unit(&self) -> &Unit {
        &self.builder.unit
    }

    /// For each derivative in `e`, adds `seed` times its factor in `e` to its cotangent.
    fn expr(&mut self, e: &Expr, seed: Expr) -> Result<(), Diagnostic> {
        let seed = self.fit(e, seed);
        match &e.kind {
            ExprKind::Var(_) | ExprKind::Element(..) => {
                if is_derivative(&self.builder.derivatives, e) {
                    self.leaf(e, seed);
                }
                Ok(())
            }
            ExprKind::Paren(a) | ExprKind::Unary(UnOp::Plus, a) => self.expr(a, seed),
            ExprKind::Unary(UnOp::Minus, a) => self.expr(a, negative(seed)),
            // The seed is one number for a whole sum of arrays, but a scalar in it counts once for each element.
            ExprKind::Binary(BinOp::Add | BinOp::Sub, a, b)
                if rank(self.unit(), e) > 0
                    && rank(self.unit(), &seed) == 0
                    && [a, b]
                        .iter()
                        .any(|c| rank(self.unit(), c) == 0 && self.depends(c)) =>
            {
                Err(self.unknown(e))
            }
            ExprKind::Binary(BinOp::Add, a, b) => {
                self.part(a, seed.clone())?;
                self.part(b, seed)
            }
            ExprKind::Binary(BinOp::Sub, a, b) => {
                self.part(a, seed.clone())?;
                self.part(b, negative(seed))
            }
            ExprKind::Binary(BinOp::Mul, a, b) => {
                let (factor, linear) = if self.depends(a) { (b, a) } else { (a, b) };
                let factor = self.conjugate((**factor).clone());
                let product = self.product(factor, seed);
                let seed = self.shared(linear, product);
                self.part(linear, seed)
            }
            ExprKind::Binary(BinOp::Div, a, b) => {
                let divisor = self.conjugate((**b).clone());
                let quotient = match seed.kind {
                    ExprKind::Unary(UnOp::Minus, inner) => {
                        negative(binary(BinOp::Div, *inner, divisor))
                    }
                    kind => binary(BinOp::Div, Expr::new(kind, seed.span), divisor),
                };
                let seed = self.shared(a, quotient);
                self.part(a, seed)
            }
            ExprKind::Call(s, args) => match self.unit().symbols[*s].class {
                Class::Intrinsic(i) => self.intrinsic(e, i.op, i.name, *s, args, seed),
                _ => Err(self.unknown(e)),
            },
            _ => Err(self.unknown(e)),
        }
    }

    fn part(&mut self, e: &Expr, seed: Expr) -> Result<(), Diagnostic> {
        if self.depends(e) {
            self.expr(e, seed)
        } else {
            Ok(())
        }
    }

    fn product(&self, factor: Expr, seed: Expr) -> Expr {
        match (factor.kind, seed.kind) {
            (ExprKind::Unary(UnOp::Minus, f), s) => {
                negative(self.product(*f, Expr::new(s, seed.span)))
            }
            (f, ExprKind::Unary(UnOp::Minus, s)) => {
                negative(self.product(Expr::new(f, factor.span), *s))
            }
            (f, s) => binary(
                BinOp::Mul,
                Expr::new(f, factor.span),
                Expr::new(s, seed.span),
            ),
        }
    }

    fn conjugate(&mut self, factor: Expr) -> Expr {
        match type_of(self.unit(), &factor) {
            Some(Type::Complex(_)) => self.builder.call("CONJG", vec![factor], self.span),
            _ => factor,
        }
    }

    /// Assigns a seed that several derivatives get to a temporary, so that it is computed only once.
    fn shared(&mut self, e: &Expr, seed: Expr) -> Expr {
        let mut found = Vec::new();
        leaves(&self.builder.derivatives, e, &mut found);
        if found.len() < 2 || rank(self.unit(), &seed) > 0 {
            return seed;
        }
        let ty = type_of(self.unit(), &seed).unwrap_or(Type::REAL);
        let t = Expr::var(self.builder.derivative_temporary(ty), self.span);
        self.out.push(Stmt::assign(t.clone(), seed, self.span));
        t
    }

    /// Adapts the type and shape of a seed to the expression that it belongs to.
    fn fit(&mut self, e: &Expr, mut seed: Expr) -> Expr {
        let (of, is) = (type_of(self.unit(), e), type_of(self.unit(), &seed));
        if rank(self.unit(), e) == 0 && rank(self.unit(), &seed) > 0 {
            seed = self.builder.call("SUM", vec![seed], self.span);
        }
        match (of, is) {
            (Some(Type::Real(_)), Some(Type::Complex(kind))) => self.real_part(seed, kind),
            _ => seed,
        }
    }

    fn real_part(&mut self, e: Expr, kind: u8) -> Expr {
        let name = if kind == 8 { "DBLE" } else { "REAL" };
        self.builder.call(name, vec![e], self.span)
    }

    fn imaginary_part(&mut self, e: Expr, kind: u8) -> Expr {
        let name = if kind == 8 { "DIMAG" } else { "AIMAG" };
        self.builder.call(name, vec![e], self.span)
    }

    fn leaf(&mut self, e: &Expr, seed: Expr) {
        if self.keep_self && e.equals_ignoring_spans(self.target) {
            self.own = Some(match (self.own.take(), seed.kind) {
                (Some(own), _) if own.kind == ExprKind::Star => own,
                // It occurs several times in the value.
                (Some(own), ExprKind::Unary(UnOp::Minus, less)) => binary(BinOp::Sub, own, *less),
                (Some(own), kind) => binary(BinOp::Add, own, Expr::new(kind, seed.span)),
                (None, kind) => Expr::new(kind, seed.span),
            });
            return;
        }
        let mut to = e.clone();
        to.span = self.span;
        let tape = e.base().is_some_and(|s| self.unit().symbols[s].tape);
        self.out.push(match tape {
            // An element of a tape is read only once.
            true => Stmt::assign(to, seed, self.span),
            false => increment(to, seed, self.span),
        });
    }

    fn intrinsic(
        &mut self,
        e: &Expr,
        op: Op,
        name: &str,
        s: SymId,
        args: &[Expr],
        seed: Expr,
    ) -> Result<(), Diagnostic> {
        let span = self.span;
        let seed_type = type_of(self.unit(), &seed);
        let keywords = args.iter().any(|a| matches!(a.kind, ExprKind::Keyword(..)));
        match op {
            Op::Convert if !keywords => match (type_of(self.unit(), e), args) {
                (Some(Type::Complex(kind)), [re, im, ..]) => {
                    let complex = matches!(seed_type, Some(Type::Complex(_)));
                    if self.depends(re) {
                        let part = match complex {
                            true => self.real_part(seed.clone(), kind),
                            false => seed.clone(),
                        };
                        self.expr(re, part)?;
                    }
                    if self.depends(im) && complex {
                        let part = self.imaginary_part(seed, kind);
                        self.expr(im, part)?;
                    }
                    Ok(())
                }
                (_, [a, ..]) => self.part(a, seed),
                _ => Err(self.unknown(e)),
            },
            Op::Aimag => {
                let Some(a) = args.first() else {
                    return Err(self.unknown(e));
                };
                let ty = seed_type.unwrap_or(Type::REAL);
                let name = match ty {
                    Type::Real(8) => "DCMPLX",
                    _ => "CMPLX",
                };
                let seed = self.builder.call(name, vec![zero(ty, span), seed], span);
                self.expr(a, seed)
            }
            Op::Conjg => {
                let Some(a) = args.first() else {
                    return Err(self.unknown(e));
                };
                let seed = match seed_type {
                    Some(Type::Complex(_)) => self.builder.call("CONJG", vec![seed], span),
                    _ => seed,
                };
                self.expr(a, seed)
            }
            Op::Dprod => match args {
                [a, b] => {
                    let (factor, linear) = if self.depends(a) { (b, a) } else { (a, b) };
                    let seed = self.product(factor.clone(), seed);
                    self.part(linear, seed)
                }
                _ => Err(self.unknown(e)),
            },
            Op::Linear if name == "SUM" && args.len() == 1 => self.part(&args[0], seed),
            Op::Linear if name == "TRANSPOSE" && args.len() == 1 => {
                let seed = Expr::call(s, vec![seed], span);
                self.part(&args[0], seed)
            }
            Op::Linear if name == "SCALE" && args.len() == 2 && !keywords => {
                let scaled = vec![seed, args[1].clone()];
                self.part(&args[0], Expr::call(s, scaled, span))
            }
            Op::Bilinear if name == "DOT_PRODUCT" && args.len() == 2 => {
                let (factor, linear) = match self.depends(&args[0]) {
                    true => (&args[1], &args[0]),
                    false => (&args[0], &args[1]),
                };
                if matches!(type_of(self.unit(), e), Some(Type::Complex(_))) {
                    return Err(self.unknown(e));
                }
                let seed = self.product(factor.clone(), seed);
                self.part(linear, seed)
            }
            Op::Merge if args.len() == 3 && !keywords => {
                let ty = type_of(self.unit(), e).unwrap_or(Type::REAL);
                let none = zero(ty, span);
                let mask = &args[2];
                let rebuild = |a: Expr, b: Expr| Expr::call(s, vec![a, b, mask.clone()], span);
                self.part(&args[0], rebuild(seed.clone(), none.clone()))?;
                self.part(&args[1], rebuild(none, seed))
            }
            _ => Err(self.unknown(e)),
        }
    }

    fn unknown(&self, e: &Expr) -> Diagnostic {
        let span = if e.span == Span::NONE {
            self.span
        } else {
            e.span
        };
        Diagnostic::error(
            &rules::AD_UNSUPPORTED,
            span,
            "the adjoint of this expression is not known to the built-in engine",
        )
        .help("compute it in DO loops over the elements; then it can be differentiated")
    }
}
