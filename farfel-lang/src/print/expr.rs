//! Prints expressions.
//!
//! [`ExprKind::Paren`] holds the user's own parentheses. The printer adds others where the text
//! would parse as another tree without them.

use super::line::Line;
use super::scope::Scope;
use crate::ir::{
    ArrayConstructor, Attribute, BinOp, Dim, Expr, ExprKind, ImpliedDo, SymId, Type, UnOp,
};
use crate::syntax::growing::VALUES;

/// The precedence of an operator (ANSI X3.9-1978, 6.5; Fortran 90, 7.1.1). An operand needs
/// parentheses if its precedence is less than its position requires.
type Precedence = u8;

const EQUIVALENCE: Precedence = 1;
const OR: Precedence = 2;
const AND: Precedence = 3;
const NOT: Precedence = 4;
const RELATION: Precedence = 5;
const CONCATENATION: Precedence = 6;
const SUM: Precedence = 7;
const PRODUCT: Precedence = 8;
const POWER: Precedence = 9;
const PRIMARY: Precedence = 10;

/// The text of an operator and the precedence that it requires of its operands.
struct Operator {
    text: &'static str,
    precedence: Precedence,
    left: Precedence,
    right: Precedence,
}

fn operator(op: BinOp) -> Operator {
    let (text, precedence) = match op {
        BinOp::Add => (" + ", SUM),
        BinOp::Sub => (" - ", SUM),
        BinOp::Mul => ("*", PRODUCT),
        BinOp::Div => ("/", PRODUCT),
        BinOp::Pow => ("**", POWER),
        BinOp::Concat => (" // ", CONCATENATION),
        BinOp::Lt => (" .LT. ", RELATION),
        BinOp::Le => (" .LE. ", RELATION),
        BinOp::Eq => (" .EQ. ", RELATION),
        BinOp::Ne => (" .NE. ", RELATION),
        BinOp::Gt => (" .GT. ", RELATION),
        BinOp::Ge => (" .GE. ", RELATION),
        BinOp::And => (" .AND. ", AND),
        BinOp::Or => (" .OR. ", OR),
        BinOp::Eqv => (" .EQV. ", EQUIVALENCE),
        BinOp::Neqv => (" .NEQV. ", EQUIVALENCE),
    };
    // Most operators are left-associative, `**` is right-associative, and relational operators are
    // not associative.
    let (left, right) = match op {
        BinOp::Pow => (PRIMARY, POWER),
        op if op.is_relational() => (CONCATENATION, CONCATENATION),
        _ => (precedence, precedence + 1),
    };
    Operator {
        text,
        precedence,
        left,
        right,
    }
}

/// Returns the text of a unary operator and the precedence that it requires of its operand. A sign
/// has the precedence of a sum, not of a product: `-A*B` is `-(A*B)`, and a sign cannot follow
/// another operator.
fn sign(op: UnOp) -> Operator {
    let (text, precedence, right) = match op {
        UnOp::Plus => ("+", SUM, PRODUCT),
        UnOp::Minus => ("-", SUM, PRODUCT),
        UnOp::Not => (".NOT. ", NOT, RELATION),
    };
    Operator {
        text,
        precedence,
        left: right,
        right,
    }
}

fn precedence(expr: &Expr) -> Precedence {
    match &expr.kind {
        // A negative constant is printed as a constant with a sign.
        ExprKind::Int(n) if *n < 0 => SUM,
        ExprKind::Real(text) if text.starts_with(['-', '+']) => SUM,
        ExprKind::Unary(op, _) => sign(*op).precedence,
        ExprKind::Binary(op, ..) => operator(*op).precedence,
        ExprKind::Int(_)
        | ExprKind::Real(_)
        | ExprKind::Complex(_)
        | ExprKind::Logical(_)
        | ExprKind::Char(_)
        | ExprKind::Hollerith(_)
        | ExprKind::Bits(_)
        | ExprKind::Kind(..)
        | ExprKind::Array(_)
        | ExprKind::Var(_)
        | ExprKind::Apply(..)
        | ExprKind::Element(..)
        | ExprKind::Call(..)
        | ExprKind::Substring(..)
        | ExprKind::Range(..)
        | ExprKind::Paren(_)
        | ExprKind::Closure(..)
        | ExprKind::AltReturn(_)
        | ExprKind::ImpliedDo(_)
        | ExprKind::Percent(..)
        | ExprKind::Keyword(..)
        | ExprKind::Star => PRIMARY,
    }
}

impl Line {
    /// Prints an expression.
    pub(super) fn expr(&mut self, scope: &Scope, expr: &Expr) {
        match &expr.kind {
            ExprKind::Int(n) => self.put(n),
            ExprKind::Real(text) => self.push(text),
            ExprKind::Complex(parts) => {
                let (re, im) = &**parts;
                self.open();
                self.expr(scope, re);
                self.comma();
                self.expr(scope, im);
                self.close();
            }
            ExprKind::Logical(true) => self.push(".TRUE."),
            ExprKind::Logical(false) => self.push(".FALSE."),
            ExprKind::Char(text) => self.character(text),
            ExprKind::Bits(text) => self.push(text),
            ExprKind::Kind(constant, kind) => {
                self.expr(scope, constant);
                self.put(format_args!("_{}", Type::bytes(*kind)));
            }
            ExprKind::Array(array) => self.constructor(scope, array),
            ExprKind::Hollerith(text) => {
                self.put(crate::encoding::len(text));
                self.push("H");
                self.push(text);
            }
            ExprKind::Var(s) => self.push(scope.name(*s)),
            ExprKind::Element(s, args) => {
                self.push(scope.name(*s));
                self.component(scope, *s);
                self.arguments(scope, args);
            }
            ExprKind::Apply(s, args) | ExprKind::Call(s, args) => {
                self.push(scope.callee(*s));
                self.arguments(scope, args);
            }
            ExprKind::Substring(base, from, to) => {
                self.expr(scope, base);
                self.open();
                self.range(scope, from.as_deref(), to.as_deref());
                self.close();
            }
            ExprKind::Range(from, to, step) => {
                self.range(scope, from.as_deref(), to.as_deref());
                if let Some(step) = step {
                    self.push(":");
                    self.expr(scope, step);
                }
            }
            ExprKind::Unary(op, operand) => {
                let op = sign(*op);
                self.push(op.text);
                self.operand(scope, operand, op.right);
            }
            ExprKind::Binary(..) => self.binary(scope, expr),
            ExprKind::Paren(inner) => {
                self.open();
                self.expr(scope, inner);
                self.close();
            }
            ExprKind::Closure(procedure, captured) => {
                self.push(scope.name(*procedure));
                for s in captured {
                    self.comma();
                    self.push(scope.name(*s));
                }
            }
            ExprKind::AltReturn(label) => {
                self.push("*");
                self.put(label);
            }
            ExprKind::ImpliedDo(implied) => self.implied_do(scope, implied, Self::expr),
            ExprKind::Percent(how, value) => {
                self.put(format_args!("%{}", how.word()));
                self.open();
                self.expr(scope, value);
                self.close();
            }
            ExprKind::Keyword(name, value) => {
                self.push(name);
                self.push("=");
                self.expr(scope, value);
            }
            ExprKind::Star => self.push("*"),
        }
    }

    /// Prints the component of a growing tape, and nothing for any other symbol.
    pub(super) fn component(&mut self, scope: &Scope, s: SymId) {
        if is_growing(scope, s) {
            self.push(VALUES);
        }
    }

    /// Prints `(/ type :: items /)`.
    fn constructor(&mut self, scope: &Scope, array: &ArrayConstructor) {
        let ArrayConstructor { ty, length, items } = array;
        self.push("(/ ");
        match ty {
            // The `*` form of a type is valid in declarations only.
            Some(Type::Real(n) | Type::Complex(n)) if *n != 4 && *n != 8 => {
                let word = if matches!(ty, Some(Type::Real(_))) {
                    "REAL"
                } else {
                    "COMPLEX"
                };
                self.put(format_args!("{word}({}) :: ", Type::bytes(*n)));
            }
            Some(Type::Complex(8)) => self.push("COMPLEX(8) :: "),
            Some(Type::Integer(n)) if *n != 4 => {
                self.put(format_args!("INTEGER({}) :: ", Type::bytes(*n)))
            }
            Some(Type::Logical(n)) if *n != 4 => {
                self.put(format_args!("LOGICAL({}) :: ", Type::bytes(*n)))
            }
            Some(Type::Character) => {
                self.push("CHARACTER");
                if let Some(length) = length {
                    self.push("(LEN=");
                    self.expr(scope, length);
                    self.close();
                }
                self.push(" :: ");
            }
            Some(ty) => self.put(format_args!("{ty} :: ")),
            None => {}
        }
        self.gap();
        self.exprs(scope, items);
        self.push(" /)");
    }

    /// Prints expressions separated by commas.
    pub(super) fn exprs(&mut self, scope: &Scope, exprs: &[Expr]) {
        self.list(exprs, |l, e| l.expr(scope, e));
    }

    /// Prints `(a, b)`.
    pub(super) fn arguments(&mut self, scope: &Scope, args: &[Expr]) {
        self.open();
        let symbol = |e: &Expr| match e.kind {
            ExprKind::Var(s) => Some(s),
            _ => None,
        };
        let has_tape = args.iter().filter_map(symbol).any(|s| is_growing(scope, s));
        // The components of a tape come with it.
        let mut components: Vec<SymId> = Vec::new();
        let written = args.iter().filter(|e| {
            let component = |s: &SymId| scope.unit.symbols[*s].is_component();
            let comes = symbol(e).filter(|s| has_tape && component(s) && !components.contains(s));
            components.extend(comes);
            comes.is_none()
        });
        self.list(written, |l, e| l.expr(scope, e));
        self.close();
    }

    /// Prints names of variables separated by commas.
    pub(super) fn names(&mut self, scope: &Scope, syms: &[SymId]) {
        self.list(syms, |l, s| l.push(scope.name(*s)));
    }

    /// Prints `(items, var = from, to, step)`; `item` prints each item.
    pub(super) fn implied_do<T>(
        &mut self,
        scope: &Scope,
        implied: &ImpliedDo<T>,
        mut item: impl FnMut(&mut Self, &Scope, &T),
    ) {
        let ImpliedDo {
            items,
            var,
            from,
            to,
            step,
        } = implied;
        self.open();
        self.list(items, |l, i| item(l, scope, i));
        self.comma();
        self.push(scope.name(*var));
        self.push(" = ");
        self.bounds(scope, from, to, step.as_ref());
        self.close();
    }

    /// Prints `from, to, step` of a loop.
    pub(super) fn bounds(&mut self, scope: &Scope, from: &Expr, to: &Expr, step: Option<&Expr>) {
        self.expr(scope, from);
        self.comma();
        self.expr(scope, to);
        if let Some(step) = step {
            self.comma();
            self.expr(scope, step);
        }
    }

    /// Prints `(lower:upper, …)`.
    pub(super) fn dims(&mut self, scope: &Scope, dims: &[Dim]) {
        self.open();
        self.list(dims, |l, d| {
            let Dim { lower, upper } = d;
            if let Some(lower) = lower {
                l.expr(scope, lower);
            }
            if lower.is_some() || upper.is_none() {
                l.push(":");
            }
            if let Some(upper) = upper {
                l.expr(scope, upper);
            }
        });
        self.close();
    }

    /// Prints a character constant with its quotes.
    pub(super) fn character(&mut self, text: &str) {
        self.push("'");
        for (i, part) in text.split('\'').enumerate() {
            if i > 0 {
                self.push("''");
            }
            self.push(part);
        }
        self.push("'");
    }

    fn range(&mut self, scope: &Scope, from: Option<&Expr>, to: Option<&Expr>) {
        if let Some(from) = from {
            self.expr(scope, from);
        }
        self.push(":");
        if let Some(to) = to {
            self.expr(scope, to);
        }
    }

    fn operand(&mut self, scope: &Scope, expr: &Expr, needed: Precedence) {
        if precedence(expr) < needed {
            self.open();
            self.expr(scope, expr);
            self.close();
        } else {
            self.expr(scope, expr);
        }
    }

    /// Prints a chain of operations, `a + b - c + …`. Generated sums may have thousands of terms,
    /// so the left operands are traversed iteratively.
    fn binary(&mut self, scope: &Scope, expr: &Expr) {
        let mut pending = Vec::new();
        let mut first = expr;
        let mut needed = EQUIVALENCE;
        while let ExprKind::Binary(op, left, right) = &first.kind
            && precedence(first) >= needed
        {
            let op = operator(*op);
            needed = op.left;
            pending.push((op, right));
            first = left;
        }
        self.operand(scope, first, needed);
        for (op, right) in pending.into_iter().rev() {
            self.operator(op.text);
            self.operand(scope, right, op.right);
        }
    }
}

fn is_growing(scope: &Scope, s: SymId) -> bool {
    scope.unit.symbols[s].has(Attribute::Growing)
}
