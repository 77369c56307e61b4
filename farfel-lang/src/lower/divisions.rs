//! Divides once where a product has several divisors.
//!
//! `R*A/K*X/(K + 1.0)` becomes `R*A*X/(K*(K + 1.0))`: a division takes as long as three to ten multiplications.
//! If the result replaces one of the factors, as in the terms of a series, the division does not wait for it
//! either: `R = R*A/K` becomes `R = R*(A/K)`, so that the divisions of several iterations run at the same time.
//!
//! Values may differ in their last bits, and a product of divisors may overflow where the quotients did not, so
//! that only programs that ask for it are changed ([`Options::combine_divisions`](super::Options)). Derivatives
//! are generated from what this pass leaves.
//!
//! Parentheses are respected, and nothing is divided or multiplied with less precision than before: factors of
//! the type of the result come first.

use crate::ir::build::literal;
use crate::ir::{BinOp, Expr, ExprKind, Program, Stmt, StmtKind, Type, UnOp, Unit, walk_block_mut};
use crate::source::Span;
use crate::types::type_of;

/// Rewrites the quotients in the executable statements of a program.
pub fn combine_divisions(program: &mut Program) {
    program.units.iter_mut().for_each(rewrite_unit);
}

fn rewrite_unit(unit: &mut Unit) {
    let mut body = std::mem::take(&mut unit.body);
    walk_block_mut(&mut body, &mut |s| rewrite_statement(unit, s));
    unit.body = body;
    unit.nested.iter_mut().for_each(rewrite_unit);
}

fn rewrite_statement(unit: &Unit, s: &mut Stmt) {
    // A value that is a whole number could become the one below.
    if let StmtKind::Assign(target, _) = &s.kind
        && matches!(type_of(unit, target), Some(Type::Integer(_)))
    {
        return;
    }
    if let StmtKind::Assign(target, value) = &mut s.kind
        && matches!(target.kind, ExprKind::Var(_))
    {
        let value = match &mut value.kind {
            ExprKind::Unary(UnOp::Minus, a) => a,
            _ => value,
        };
        return rewrite(unit, value, Some(target));
    }
    s.for_each_own_expr_mut(&mut |e| rewrite(unit, e, None));
}

/// Rewrites the quotients in an expression. `target` is the variable that it is assigned to.
fn rewrite(unit: &Unit, e: &mut Expr, target: Option<&Expr>) {
    match Quotient::of(unit, e).and_then(|q| q.rewritten(unit, target)) {
        Some(rewritten) => *e = rewritten,
        None => rewrite_operands(unit, e),
    }
}

/// Rewrites the quotients in the operands of an expression. What is in front of `*` or `/` is part of the same
/// product.
fn rewrite_operands(unit: &Unit, e: &mut Expr) {
    if let ExprKind::Binary(BinOp::Mul | BinOp::Div, a, b) = &mut e.kind {
        rewrite_operands(unit, a);
        rewrite(unit, b, None);
    } else {
        let operands = e.children_mut();
        operands.into_iter().for_each(|x| rewrite(unit, x, None));
    }
}

/// A product of factors over a product of divisors.
struct Quotient {
    /// The type of the value.
    ty: Type,
    /// The factors in front of the first division and behind it, in their order.
    factors: Vec<Expr>,
    /// At least one.
    divisors: Vec<Expr>,
}

impl Quotient {
    /// Takes an expression apart that contains divisions of this kind, if it is one.
    fn of(unit: &Unit, e: &Expr) -> Option<Quotient> {
        let mut operations = Vec::new();
        let mut first = e;
        while let ExprKind::Binary(op @ (BinOp::Mul | BinOp::Div), a, b) = &first.kind {
            operations.push((*op, &**b));
            first = a;
        }
        operations.reverse();
        if !operations.iter().any(|(op, _)| *op == BinOp::Div) {
            return None;
        }
        let types: Option<Vec<Type>> = std::iter::once(first)
            .chain(operations.iter().map(|(_, b)| *b))
            .map(|x| type_of(unit, x))
            .collect();
        let types = types?;
        let ty = types.iter().copied().reduce(Type::promote)?;
        if !ty.is_differentiable() {
            return None;
        }
        // What is computed in another type, such as the quotient of two integers, remains as it is.
        let so_far = types.iter().scan(types[0], |all, x| {
            *all = all.promote(*x);
            Some(*all)
        });
        let other = so_far.skip(1).take_while(|t| *t != ty).count();
        let (kept, combined) = operations.split_at(other);
        let first = kept.iter().fold(first.clone(), |a, (op, b)| {
            Expr::binary(*op, a, (*b).clone())
        });
        let of = |wanted: BinOp| {
            let chosen = combined.iter().filter(move |(op, _)| *op == wanted);
            chosen.map(|(_, b)| (*b).clone())
        };
        let divisors: Vec<Expr> = of(BinOp::Div).collect();
        let factors = std::iter::once(first).chain(of(BinOp::Mul)).collect();
        (!divisors.is_empty()).then_some(Quotient {
            ty,
            factors,
            divisors,
        })
    }

    /// Returns the quotient with one division, behind the factor that it replaces; nothing if it is that already.
    fn rewritten(mut self, unit: &Unit, target: Option<&Expr>) -> Option<Expr> {
        let replaced = |x: &Expr| target.is_some_and(|t| is_variable(x) && x.base() == t.base());
        let replaced = self.factors.iter().position(replaced);
        let several = self.divisors.len() > 1;
        // The reciprocal alone would not be any faster.
        let replaced = replaced.filter(|_| several || self.factors.len() > 1);
        if !several && replaced.is_none() {
            return None;
        }
        let operands = self.factors.iter_mut().chain(&mut self.divisors);
        operands.for_each(|x| rewrite(unit, x, None));
        let replaced = replaced.map(|i| self.factors.remove(i));
        let Quotient { ty, .. } = self;
        let divisor = product(in_order(unit, self.divisor_type(unit), self.divisors));
        let divisor = match several {
            true => parenthesized(divisor),
            false => divisor,
        };
        let quotient = Expr::binary(
            BinOp::Div,
            product(in_order(unit, ty, self.factors)),
            divisor,
        );
        Some(match replaced {
            Some(variable) => Expr::binary(BinOp::Mul, variable, parenthesized(quotient)),
            None => quotient,
        })
    }

    /// Returns the type in which the divisors are multiplied: real ones of a complex value are real.
    fn divisor_type(&self, unit: &Unit) -> Type {
        match self.ty {
            Type::Complex(bytes) => {
                let types = self.divisors.iter().filter_map(|x| type_of(unit, x));
                types.fold(Type::Real(bytes), Type::promote)
            }
            ty => ty,
        }
    }
}

fn is_variable(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Var(_))
}

/// Puts factors into an order in which they are multiplied as values of type `ty`.
fn in_order(unit: &Unit, ty: Type, factors: Vec<Expr>) -> Vec<Expr> {
    let is_of_type = |x: &Expr| type_of(unit, x) == Some(ty);
    if factors.len() == 1 || factors.iter().take(2).any(is_of_type) {
        return factors;
    }
    let span = factors.first().map_or(Span::NONE, |x| x.span);
    let (mut first, others): (Vec<Expr>, Vec<Expr>) = factors.into_iter().partition(is_of_type);
    if first.is_empty() {
        first.push(literal("1.0", ty, span));
    }
    first.extend(others);
    first
}

/// Multiplies factors. Those behind the first are parenthesized if they are products or quotients themselves.
fn product(factors: Vec<Expr>) -> Expr {
    let operand = |x: Expr| match x.kind {
        ExprKind::Binary(BinOp::Mul | BinOp::Div, ..) => parenthesized(x),
        _ => x,
    };
    let product = factors
        .into_iter()
        .reduce(|a, b| Expr::binary(BinOp::Mul, a, operand(b)));
    product.unwrap_or_else(|| Expr::real("1.0", Span::NONE))
}

fn parenthesized(e: Expr) -> Expr {
    let span = e.span;
    Expr::parens(e, span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print;
    use crate::source::Sources;
    use crate::{resolve, syntax};

    /// Statements about which the types matter, and what becomes of them.
    const STATEMENTS: [(&str, &str); 27] = [
        ("R = Y*A/K/B*X", "R = Y*A*X/(K*B)"),
        ("R = R*A/K*X/(K + 1.0D0)", "R = R*(A*X/(K*(K + 1.0D0)))"),
        (
            "R = -.5D0*R*(2*K - 1)/K/(2*K + 1)*X",
            "R = -R*(.5D0*(2*K - 1)*X/(1.0D0*K*(2*K + 1)))",
        ),
        ("R = R*A/K", "R = R*(A/K)"),
        ("R = R/K", "R = R/K"),
        ("R = R/K/L", "R = R*(1.0D0/(1.0D0*K*L))"),
        ("R = K*R*L/A", "R = R*(1.0D0*K*L/A)"),
        ("R = K/A*L/B", "R = 1.0D0*K*L/(A*B)"),
        ("R = K*X/A*L/B", "R = K*X*L/(A*B)"),
        // Not in INTEGER or REAL what was not in INTEGER or REAL, and the other way round.
        ("R = K/L/2*X", "R = K/L/2*X"),
        ("R = K/L*X/A/B", "R = K/L*X/(A*B)"),
        ("R = S/T*X/A/B", "R = S/T*X/(A*B)"),
        ("R = X/S/T", "R = X/(1.0D0*S*T)"),
        ("S = S*T/K/T", "S = S*(T/(K*T))"),
        ("K = K/L/2", "K = K/L/2"),
        ("K = K*X/A", "K = K*X/A"),
        ("K = X/A/B", "K = X/A/B"),
        // What is parenthesized is computed first.
        ("R = (X/A)/B", "R = (X/A)/B"),
        ("R = (X/A/B)*Y", "R = (X/(A*B))*Y"),
        ("R = X/(A/B)/Y", "R = X/((A/B)*Y)"),
        ("R = X + R/A/B", "R = X + R/(A*B)"),
        ("R = X/A/2**K", "R = X/(A*2**K)"),
        ("V(K) = V(L/2/2)/A/B", "V(K) = V(L/2/2)/(A*B)"),
        ("R = DSQRT(X/A/B)/Y", "R = DSQRT(X/(A*B))/Y"),
        ("C = Z*X/A/B", "C = Z*X/(A*B)"),
        ("C = C/Z*A/K", "C = C*(A/(Z*K))"),
        ("IF (X/A/B .GT. Y/A) R = 1", "IF (X/(A*B) .GT. Y/A) R = 1"),
    ];

    #[test]
    fn products_have_one_divisor() {
        let body: String = STATEMENTS
            .iter()
            .map(|(s, _)| format!("      {s}\n"))
            .collect();
        let text = format!(
            "      SUBROUTINE F(R, A, B, X, Y, V, C, Z, S, T, K, L)
      DOUBLE PRECISION R, A, B, X, Y, V(9)
      COMPLEX*16 C, Z
      REAL S, T
{body}      END
"
        );
        let mut sources = Sources::new();
        let file = sources.add("f.f", text);
        let mut parsed = syntax::parse(&mut sources, file, None, &mut syntax::NoIncludes);
        let found = resolve::resolve(&mut parsed.program);
        assert!(
            parsed.diagnostics.is_empty() && found.is_empty(),
            "{found:?}"
        );
        combine_divisions(&mut parsed.program);
        let printed = print::print_program(&parsed.program, &print::Options::default());
        let statements = printed.lines().map(str::trim).skip(4);
        let wanted = STATEMENTS.map(|(_, wanted)| wanted);
        assert_eq!(statements.take(wanted.len()).collect::<Vec<_>>(), wanted);
    }
}
