//! Writes sums and other reductions as loops.

use super::Writer;
use super::shape::{argument, value_of};
use farfel_lang::Span;
use farfel_lang::intrinsics::Intrinsic;
use farfel_lang::ir::build::{grouped, literal};
use farfel_lang::ir::{BinOp, Block, Expr, Stmt, Type};

/// The kinds of reduction.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Sum,
    Product,
    Max,
    Min,
    /// The square root of the sum of squares.
    Norm,
}

impl Kind {
    pub(super) fn of(name: &str) -> Option<Kind> {
        Some(match name {
            "SUM" => Kind::Sum,
            "PRODUCT" => Kind::Product,
            "MAXVAL" => Kind::Max,
            "MINVAL" => Kind::Min,
            "NORM2" => Kind::Norm,
            _ => return None,
        })
    }
}

/// Creates a value from the subscripts of an element; statements that must precede it are appended
/// to the block.
type Make<'m, 'u> = &'m mut dyn FnMut(&mut Writer<'u>, &[Expr], &mut Block) -> Option<Expr>;

/// Returns 1 as a constant of this type.
fn one(ty: Type, span: Span) -> Expr {
    let one = literal("1.0", ty, span);
    match ty {
        Type::Complex(_) => Expr::complex(one, literal("0.0", ty, span), span),
        _ => one,
    }
}

impl<'u> Writer<'u> {
    /// Returns the MASK argument of a reduction.
    pub(super) fn mask_of<'e>(&self, args: &'e [Expr]) -> Option<&'e Expr> {
        let logical = |e: &&Expr| matches!(self.ty(e), Some(Type::Logical(_)));
        let second = argument(args, 1, &["MASK"]).filter(logical);
        second.or_else(|| argument(args, 2, &["MASK"]).filter(logical))
    }

    /// Returns an expression for a reduction with a scalar result, computed by loops.
    pub(super) fn reduction(
        &mut self,
        e: &Expr,
        i: &'static Intrinsic,
        args: &[Expr],
    ) -> Option<Expr> {
        let ty = self.ty(e)?;
        if !ty.is_differentiable() {
            return Some(e.clone());
        }
        let array = value_of(args.first()?);
        if i.name == "DOT_PRODUCT" {
            let a = self.invariant(array)?;
            let b = self.invariant(value_of(args.get(1)?))?;
            let conjugate = matches!(self.ty(&a), Some(Type::Complex(_)));
            let extents = self.fixed_extents(&a)?;
            let (t, made) = self.accumulated(
                Kind::Sum,
                ty,
                &extents,
                &mut |w, k, pre| {
                    let mut left = w.element(&a, k, pre)?;
                    if conjugate {
                        left = w.call("CONJG", vec![left])?;
                    }
                    let right = w.element(&b, k, pre)?;
                    Some(w.binary(BinOp::Mul, left, right))
                },
                None,
            )?;
            self.before.extend(made);
            return Some(t);
        }
        let kind = Kind::of(i.name)?;
        let d = self.dim_of(args);
        if d.is_some() && self.rank(array) != 1 {
            return None;
        }
        if kind == Kind::Norm && d.is_none() {
            let array = Expr::var(self.materialised(array)?, array.span);
            return self.call("NORM2", vec![array]);
        }
        let mask = match self.mask_of(args).cloned() {
            Some(m) => Some(self.invariant(&m)?),
            None => None,
        };
        let array = self.invariant(array)?;
        let extents = self.fixed_extents(&array)?;
        let mut masked =
            |w: &mut Writer<'u>, k: &[Expr], pre: &mut Block| w.element(mask.as_ref()?, k, pre);
        let (t, made) = self.accumulated(
            kind,
            ty,
            &extents,
            &mut |w, k, pre| w.element(&array, k, pre),
            mask.is_some().then_some(&mut masked),
        )?;
        self.before.extend(made);
        Some(t)
    }

    /// Returns a variable with the result of a reduction, and the statements that compute it.
    pub(super) fn accumulated(
        &mut self,
        kind: Kind,
        ty: Type,
        extents: &[Expr],
        value: Make<'_, 'u>,
        mask: Option<Make<'_, 'u>>,
    ) -> Option<(Expr, Block)> {
        let span = self.span;
        let t = self.scalar_variable(ty);
        let extreme = matches!(kind, Kind::Max | Kind::Min) && !self.pattern;
        // Whether no element has been visited yet.
        let first = extreme.then(|| self.scalar_variable(Type::LOGICAL));
        let logical = |yes| Expr::logical(yes, span);
        let begin = match kind {
            Kind::Sum | Kind::Norm => self.zero(ty),
            Kind::Product => one(ty, span),
            Kind::Max => {
                let huge = self.call("HUGE", vec![t.clone()])?;
                Expr::minus(huge, span)
            }
            Kind::Min => self.call("HUGE", vec![t.clone()])?,
        };
        let mut out = vec![self.assign(t.clone(), begin)];
        if let Some(first) = &first {
            out.push(self.assign(first.clone(), logical(true)));
        }
        let mut mask = mask;
        let looped = self.loops(extents, &mut |w, k| {
            let mut body = Vec::new();
            let condition = match &mut mask {
                Some(mask) => Some(mask(w, k, &mut body)?),
                None => None,
            };
            let mut inner = Vec::new();
            let v = value(w, k, &mut inner)?;
            match kind {
                Kind::Sum | Kind::Norm => {
                    let v = match kind {
                        Kind::Norm => {
                            let base = Expr::parens(v, span);
                            w.binary(BinOp::Pow, base, Expr::int(2, span))
                        }
                        _ => v,
                    };
                    let sum = w.binary(BinOp::Add, t.clone(), grouped(v));
                    inner.push(w.assign(t.clone(), sum));
                }
                Kind::Product => {
                    let v = Expr::parens(v, span);
                    let product = w.binary(BinOp::Mul, t.clone(), v);
                    inner.push(w.assign(t.clone(), product));
                }
                Kind::Max | Kind::Min if w.pattern => {
                    let name = if kind == Kind::Max { "MAX" } else { "MIN" };
                    let best = w.call(name, vec![t.clone(), v])?;
                    inner.push(w.assign(t.clone(), best));
                }
                Kind::Max | Kind::Min => {
                    let of_one = w.scalar_variable(ty);
                    let op = if kind == Kind::Max {
                        BinOp::Gt
                    } else {
                        BinOp::Lt
                    };
                    let quoted = Better {
                        better: w.binary(op, of_one.clone(), t.clone()),
                        of_one,
                        v,
                        first: first.clone()?,
                        t: t.clone(),
                    };
                    inner.extend(quoted.block(&w.unit.symbols, span));
                }
            }
            match condition {
                Some(c) => body.push(Stmt::either(c, inner, Vec::new())),
                None => body.append(&mut inner),
            }
            Some(body)
        })?;
        out.extend(looped);
        if kind == Kind::Norm {
            let root = self.call("SQRT", vec![t.clone()])?;
            out.push(self.assign(t.clone(), root));
        }
        Some((t, out))
    }
}

farfel_lang::quote! {
    /// Takes a value if it is the first, or better than the current one.
    struct Better { of_one: Expr, v: Expr, first: Expr, better: Expr, t: Expr }
    "
    of_one = v
    if (first .or. better) then
      t = of_one
      first = .false.
    end if
    "
}
