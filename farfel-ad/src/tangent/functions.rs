//! The derivatives of intrinsic functions of whole arrays, and errors for functions without a derivative.

use super::generator::{Generator, Value};
use super::possible::Obstacle;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::intrinsics::Intrinsic;
use farfel_lang::ir::{Expr, ExprKind, Type};

impl Generator<'_> {
    /// The value and the derivative of an actual argument, which may have a keyword.
    pub(super) fn actual_tangent(&mut self, a: &Expr) -> Value {
        let ExprKind::Keyword(name, value) = &a.kind else {
            return self.tangent(a);
        };
        let wrap = |e: Expr| Expr::keyword(name.clone(), e, a.span);
        let Value { p, d } = self.tangent(value);
        Value {
            p: wrap(p),
            d: d.map(wrap),
        }
    }

    /// The tangent of a function that is linear in one of its arguments.
    pub(super) fn linear(
        &mut self,
        of: usize,
        values: Vec<Value>,
        rebuild: &dyn Fn(Vec<Expr>) -> Expr,
    ) -> Value {
        // SUM(X, MASK=…): the other arguments are the same for the derivative.
        let mut args = primals(&values);
        let p = rebuild(args.clone());
        let d = values.into_iter().nth(of).and_then(|v| v.d);
        let d = d.map(|d| {
            args[of] = d;
            rebuild(args)
        });
        Value { p, d }
    }

    /// The tangent of a function that is linear in each of its arguments.
    pub(super) fn bilinear(
        &mut self,
        values: Vec<Value>,
        rebuild: &dyn Fn(Vec<Expr>) -> Expr,
    ) -> Value {
        let args = primals(&values);
        let p = rebuild(args.clone());
        let mut d = None;
        for (k, v) in values.into_iter().enumerate() {
            let term = v.d.map(|d| {
                let mut args = args.clone();
                args[k] = d;
                rebuild(args)
            });
            d = self.add(d, term);
        }
        Value { p, d }
    }

    /// MERGE: the derivative of the chosen value.
    pub(super) fn merge(
        &mut self,
        values: Vec<Value>,
        ty: Type,
        rebuild: &dyn Fn(Vec<Expr>) -> Expr,
    ) -> Value {
        let args = primals(&values);
        let p = rebuild(args.clone());
        let zero = self.zero(ty);
        let chosen = values.into_iter().take(2);
        let mut d: Vec<Expr> = chosen
            .map(|v| v.d.unwrap_or_else(|| zero.clone()))
            .collect();
        d.extend(args.into_iter().skip(2));
        Value {
            p,
            d: Some(rebuild(d)),
        }
    }

    /// Reports a function that has no tangent in its present form.
    pub(super) fn refused(&mut self, e: &Expr, i: &Intrinsic, obstacle: Obstacle) -> Value {
        if obstacle == Obstacle::EachElement {
            self.array_unsupported(e);
            return Value {
                p: e.clone(),
                d: None,
            };
        }
        let [why, help] = obstacle.message();
        self.not_known(e, i, why, help)
    }

    /// Reports a function whose derivative is not known.
    pub(super) fn not_known(&mut self, e: &Expr, i: &Intrinsic, why: &str, help: &str) -> Value {
        let error = Diagnostic::error(
            &rules::AD_UNSUPPORTED,
            e.span,
            format!(
                "the derivative of {} is not known to the built-in engine",
                i.name
            ),
        )
        .label(why)
        .help(help);
        self.errors.push(self.engine.with_ad_block(error));
        Value {
            p: e.clone(),
            d: None,
        }
    }
}

fn primals(values: &[Value]) -> Vec<Expr> {
    values.iter().map(|v| v.p.clone()).collect()
}
