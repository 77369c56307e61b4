//! The derivatives of intrinsic functions of whole arrays, and of those that have none here.

use super::generator::{Gen, Value};
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::intrinsics::{Intrinsic, Op};
use farfel_lang::ir::{Expr, ExprKind, Type};

/// Keywords of arguments of linear functions that stand for something else than the array
/// and do not vary: what they say holds for the derivative too.
const PASSIVE: [&str; 9] = [
    "DIM", "MASK", "SHAPE", "ORDER", "NCOPIES", "SHIFT", "I", "KIND", "BACK",
];

impl Gen<'_> {
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

    /// Functions that are linear in their arguments, or have no derivative here.
    pub(super) fn array_intrinsic(
        &mut self,
        e: &Expr,
        i: &Intrinsic,
        values: Vec<Value>,
        ty: Type,
        rebuild: &dyn Fn(Vec<Expr>) -> Expr,
    ) -> Value {
        let primals = |v: &[Value]| v.iter().map(|v| v.p.clone()).collect::<Vec<Expr>>();
        // SUM(X + S) where only S varies: its derivative would be no array.
        let spread = |v: &Value| {
            let d = v.d.as_ref();
            d.is_some_and(|d| !self.is_array_valued(d)) && self.is_array_valued(&v.p)
        };
        if i.op != Op::Merge && values.iter().any(spread) {
            return self.not_known(
                e,
                i,
                "the derivative of a scalar would be spread over an array",
                "write a DO loop over the elements",
            );
        }
        match i.op {
            Op::Linear => {
                // SUM(X, MASK=…): what stands behind the array is the same for its derivative.
                let first = values
                    .iter()
                    .position(|v| match &v.p.kind {
                        ExprKind::Keyword(name, _) => !PASSIVE.contains(&name.as_str()),
                        _ => true,
                    })
                    .unwrap_or(0);
                let fills = match i.name {
                    "EOSHIFT" | "RESHAPE" => values.len() > 2,
                    "PACK" => values.len() > 2,
                    _ => false,
                };
                let others = values.iter().enumerate();
                let varied = others.filter(|(k, _)| *k != first).any(|(_, v)| v.d.is_some());
                if fills || varied {
                    return self.not_known(
                        e,
                        i,
                        "fills up with other values",
                        "write a DO loop over the elements",
                    );
                }
                let mut args = primals(&values);
                let p = rebuild(args.clone());
                let d = values.into_iter().nth(first).and_then(|v| v.d);
                let d = d.map(|d| {
                    args[first] = d;
                    rebuild(args)
                });
                Value { p, d }
            }
            Op::Bilinear => {
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
            Op::Merge if !values.iter().any(|v| matches!(v.p.kind, ExprKind::Keyword(..))) => {
                let args = primals(&values);
                let p = rebuild(args.clone());
                let zero = self.zero(ty);
                let mut d: Vec<Expr> = values
                    .into_iter()
                    .take(2)
                    .map(|v| v.d.unwrap_or_else(|| zero.clone()))
                    .collect();
                d.extend(args.into_iter().skip(2));
                Value {
                    p,
                    d: Some(rebuild(d)),
                }
            }
            _ => self.not_known(
                e,
                i,
                "derivatives would go through this",
                "compute the value by other functions, or in a DO loop; then it can be differentiated",
            ),
        }
    }

    /// Reports a function whose derivative is not known.
    pub(super) fn not_known(&mut self, e: &Expr, i: &Intrinsic, why: &str, help: &str) -> Value {
        let fault = Diagnostic::error(
            &rules::AD_UNSUPPORTED,
            e.span,
            format!(
                "the derivative of {} is not known to the built-in engine",
                i.name
            ),
        )
        .label(why)
        .help(help);
        self.errors.push(self.engine.asked_by(fault));
        Value {
            p: e.clone(),
            d: None,
        }
    }
}
