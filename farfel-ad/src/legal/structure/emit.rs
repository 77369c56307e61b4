//! Statements and expressions for structured code.

use farfel_lang::Span;
use farfel_lang::ir::{
    BinOp, Block, Class, Expr, ExprKind, IfBlock, Io, Name, Origin, SpecKind, Stmt, StmtKind,
    StorageClass, SymId, Symbol, Type, UnOp, Unit,
};
use farfel_lang::types::type_of;
use std::collections::HashSet;

/// The unit that is being rewritten, and the names that must not be used.
pub(super) struct Names<'u> {
    pub unit: &'u mut Unit,
    taken: &'u HashSet<Name>,
    /// Variables that share storage with others.
    tied: HashSet<SymId>,
    /// The variables that were added.
    pub new: Vec<SymId>,
    /// Whether nesting would exceed [`DEEPEST`].
    pub too_deep: bool,
}

/// The maximum nesting depth of branches.
pub(super) const DEEPEST: usize = 150;

impl<'u> Names<'u> {
    pub fn of(unit: &'u mut Unit, taken: &'u HashSet<Name>) -> Self {
        let mut tied = HashSet::new();
        for s in &unit.specs {
            if let SpecKind::Equivalence(groups) = &s.kind {
                tied.extend(groups.iter().flatten().filter_map(Expr::base));
            }
        }
        Names {
            unit,
            taken,
            tied,
            new: Vec::new(),
            too_deep: false,
        }
    }

    /// Adds a new local variable.
    pub fn variable(&mut self, wanted: &str, ty: Type, span: Span) -> SymId {
        let name = self
            .unit
            .symbols
            .unused(wanted, &|n| self.taken.contains(n));
        let symbol = Symbol {
            origin: Origin::Jump,
            ..Symbol::variable(name, ty, span)
        };
        let id = self.unit.symbols.add(symbol);
        self.new.push(id);
        id
    }

    /// Whether this is a scalar that cannot be changed under another name.
    pub fn is_own(&self, s: SymId) -> bool {
        let symbol = &self.unit.symbols[s];
        let place = matches!(
            symbol.storage_class,
            StorageClass::Local | StorageClass::Dummy
        );
        match symbol.class {
            Class::Parameter(_) => true,
            _ => place && symbol.is_variable() && !symbol.is_array() && !self.tied.contains(&s),
        }
    }

    /// Whether an expression calls anything but intrinsic functions.
    pub fn calls(&self, e: &Expr) -> bool {
        calls(self.unit, e)
    }

    /// Returns the negation of a condition.
    pub fn not(&self, e: Expr) -> Expr {
        negation(self.unit, e)
    }

    /// Writes `IF (c) THEN … ELSE …` as briefly as possible.
    pub fn choice(&mut self, c: Expr, then: Block, otherwise: Block, span: Span, out: &mut Block) {
        if then.is_empty() && otherwise.is_empty() {
            self.drop_value(c, span, out);
            return;
        }
        if then.is_empty() {
            let c = self.not(c);
            return self.choice(c, otherwise, Vec::new(), span, out);
        }
        let mut made = IfBlock {
            arms: vec![(c, then)],
            otherwise: None,
            ..IfBlock::default()
        };
        let mut otherwise = otherwise;
        match otherwise.pop() {
            Some(Stmt {
                kind: StmtKind::If(mut inner),
                ..
            }) if otherwise.is_empty() => {
                made.arms.append(&mut inner.arms);
                made.otherwise = inner.otherwise;
            }
            Some(last) => {
                otherwise.push(last);
                made.otherwise = Some(otherwise);
            }
            None => {}
        }
        out.push(Stmt::block_if(made, span));
    }

    /// Evaluates an expression whose value is not needed, if that may have side effects.
    pub fn drop_value(&mut self, e: Expr, span: Span, out: &mut Block) {
        if self.calls(&e) {
            let ty = type_of(self.unit, &e).unwrap_or(Type::LOGICAL);
            let wanted = match ty {
                Type::Logical(_) => "UNUSED",
                _ => "NUNUSED",
            };
            let unused = self.variable(wanted, ty, span);
            out.push(Stmt::assign(Expr::var(unused, span), e, span));
        }
    }
}

/// Whether an expression of a unit calls anything but intrinsic functions.
pub(crate) fn calls(unit: &Unit, e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| {
        if let ExprKind::Call(s, _) = e.kind {
            found |= !matches!(unit.symbols[s].class, Class::Intrinsic(_));
        }
    });
    found
}

fn paren(e: Expr) -> Expr {
    match e.kind {
        ExprKind::Binary(..) => {
            let span = e.span;
            Expr::parens(e, span)
        }
        _ => e,
    }
}

/// `.TRUE.` or `.FALSE.`
pub(super) fn truth(value: bool, span: Span) -> Expr {
    Expr::logical(value, span)
}

/// Whether an input or output statement jumps.
pub(crate) fn jumps(io: &Io) -> bool {
    io.control.iter().any(|c| match &c.kind {
        ExprKind::Keyword(k, v) => {
            matches!(k.as_str(), "END" | "ERR" | "EOR") && matches!(v.kind, ExprKind::Int(_))
        }
        _ => false,
    })
}

/// Returns the negation of a condition, which is also correct for NaN operands.
pub(crate) fn negation(unit: &Unit, e: Expr) -> Expr {
    let span = e.span;
    match e.kind {
        ExprKind::Unary(UnOp::Not, inner) => match inner.kind {
            ExprKind::Paren(inner) => *inner,
            _ => *inner,
        },
        ExprKind::Paren(inner) => negation(unit, *inner),
        ExprKind::Logical(value) => Expr::logical(!value, span),
        ExprKind::Binary(op, a, b) if op.is_relational() => {
            let ordered =
                |e: &Expr| matches!(type_of(unit, e), Some(Type::Integer(_) | Type::Character));
            let opposite = match op {
                BinOp::Eq => Some(BinOp::Ne),
                BinOp::Ne => Some(BinOp::Eq),
                _ if !ordered(&a) || !ordered(&b) => None,
                BinOp::Lt => Some(BinOp::Ge),
                BinOp::Ge => Some(BinOp::Lt),
                BinOp::Gt => Some(BinOp::Le),
                BinOp::Le => Some(BinOp::Gt),
                _ => None,
            };
            match opposite {
                Some(op) => Expr::binary(op, *a, *b).at(span),
                None => {
                    let e = Expr::binary(op, *a, *b).at(span);
                    Expr::not(paren(e), span)
                }
            }
        }
        _ => {
            let e = paren(e);
            Expr::not(e, span)
        }
    }
}
