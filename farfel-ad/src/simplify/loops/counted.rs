//! Counted loops, and how their iterations access elements.

use farfel_lang::ir::{
    BinOp, Class, Do, DoControl, Expr, ExprKind, Stmt, StmtKind, SymId, Type, UnOp, Unit,
};
use farfel_lang::storage::{UnitStorage, constant};
use farfel_lang::types::type_of;

/// A counted loop.
pub(super) struct CountedLoop<'a> {
    pub var: SymId,
    pub from: &'a Expr,
    pub to: &'a Expr,
    pub step: i64,
    pub body: &'a [Stmt],
}

/// Returns the loop of a statement, if it is a counted loop without a name and with a constant step.
pub(super) fn counted<'a>(unit: &Unit, stmt: &'a Stmt) -> Option<CountedLoop<'a>> {
    let StmtKind::Do(d) = &stmt.kind else {
        return None;
    };
    let Do {
        name: None,
        control:
            DoControl::Count {
                var,
                from,
                to,
                step,
            },
        body,
        ..
    } = &**d
    else {
        return None;
    };
    let step = match step {
        None => 1,
        Some(e) => constant::integer(unit, e)?,
    };
    Some(CountedLoop {
        var: *var,
        from,
        to,
        step,
        body,
    })
}

/// How the iterations of a loop access an element.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Each iteration accesses the element after that of the previous one, or as many elements on as the step.
    Stream,
    /// All iterations access the same element.
    Fixed,
}

pub(super) struct AccessAnalyser<'a> {
    pub unit: &'a Unit,
    pub storage: &'a UnitStorage,
    /// The variable of the loop.
    pub var: SymId,
}

impl AccessAnalyser<'_> {
    /// Whether a variable is a scalar INTEGER that shares storage with nothing.
    pub fn is_plain(&self, var: SymId) -> bool {
        let s = &self.unit.symbols[var];
        matches!(s.ty, Some(Type::Integer(_))) && !s.is_array() && self.storage.is_own(var)
    }

    /// Whether an expression is the loop's variable.
    pub fn is_var(&self, e: &Expr) -> bool {
        matches!(e.kind, ExprKind::Var(s) if s == self.var)
    }

    fn depends(&self, e: &Expr) -> bool {
        let mut found = false;
        e.for_each_symbol(&mut |s| found |= s == self.var);
        found
    }

    /// Whether an INTEGER expression has the same value when it is evaluated again after some iterations,
    /// given that the body assigns only REAL variables.
    pub fn is_steady(&self, e: &Expr) -> bool {
        let mut steady = matches!(type_of(self.unit, e), Some(Type::Integer(_)));
        e.walk(&mut |x| {
            steady &= match &x.kind {
                ExprKind::Int(_) | ExprKind::Unary(..) | ExprKind::Paren(_) => true,
                ExprKind::Binary(op, ..) => op.is_arithmetic(),
                ExprKind::Var(s) => *s != self.var && self.is_integer(*s),
                ExprKind::Element(s, _) => self.is_integer(*s),
                _ => false,
            }
        });
        steady
    }

    /// Whether a symbol is an INTEGER variable or constant that no assignment to a REAL variable changes.
    fn is_integer(&self, s: SymId) -> bool {
        let symbol = &self.unit.symbols[s];
        let apart = match symbol.class {
            Class::Variable => self.storage.is_own(s) || !self.shares_with_real(s),
            Class::Parameter(_) => true,
            _ => false,
        };
        matches!(symbol.ty, Some(Type::Integer(_))) && apart
    }

    fn shares_with_real(&self, s: SymId) -> bool {
        let mut others = self.storage.overlapping(s);
        others.any(|o| !matches!(self.unit.symbols[o].ty, Some(Type::Integer(_))))
    }

    /// The coefficient of the loop's variable in an expression that is linear in it.
    pub fn coefficient(&self, e: &Expr) -> Option<i64> {
        match &e.kind {
            ExprKind::Var(s) if *s == self.var => Some(1),
            _ if !self.depends(e) => Some(0),
            ExprKind::Paren(a) | ExprKind::Unary(UnOp::Plus, a) => self.coefficient(a),
            ExprKind::Binary(BinOp::Add, a, b) => {
                self.coefficient(a)?.checked_add(self.coefficient(b)?)
            }
            ExprKind::Binary(BinOp::Sub, a, b) => {
                self.coefficient(a)?.checked_sub(self.coefficient(b)?)
            }
            _ => None,
        }
    }

    /// How iterations access a scalar or an element: at the same place or at the next one.
    pub fn access(&self, e: &Expr) -> Option<Access> {
        match &e.kind {
            ExprKind::Var(s) if !self.unit.symbols[*s].is_array() => Some(Access::Fixed),
            ExprKind::Element(_, subscripts) => {
                let (first, others) = subscripts.split_first()?;
                let scalar = |s: &Expr| matches!(type_of(self.unit, s), Some(Type::Integer(_)));
                if !subscripts.iter().all(|s| scalar(s) && !self.names_array(s))
                    || others.iter().any(|s| self.depends(s))
                {
                    return None;
                }
                match self.coefficient(first)? {
                    1 => Some(Access::Stream),
                    0 => Some(Access::Fixed),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn names_array(&self, e: &Expr) -> bool {
        let mut found = false;
        e.walk(&mut |x| {
            found |= match &x.kind {
                ExprKind::Var(s) => self.unit.symbols[*s].is_array(),
                ExprKind::Range(..) | ExprKind::Call(..) => true,
                _ => false,
            }
        });
        found
    }
}

/// Whether two expressions are the same variable or element, written alike.
pub(super) fn same_place(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Var(x), ExprKind::Var(y)) => x == y,
        (ExprKind::Element(x, s), ExprKind::Element(y, t)) => {
            x == y && s.len() == t.len() && s.iter().zip(t).all(|(s, t)| same_text(s, t))
        }
        _ => false,
    }
}

/// Whether two INTEGER expressions are written alike.
pub(super) fn same_text(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Int(x), ExprKind::Int(y)) => x == y,
        (ExprKind::Paren(x), ExprKind::Paren(y)) => same_text(x, y),
        (ExprKind::Unary(p, x), ExprKind::Unary(q, y)) => p == q && same_text(x, y),
        (ExprKind::Binary(p, x, s), ExprKind::Binary(q, y, t)) => {
            p == q && same_text(x, y) && same_text(s, t)
        }
        _ => same_place(a, b),
    }
}
