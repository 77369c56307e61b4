//! Expressions.

use super::{Label, Name, SymId, Type};
use crate::source::Span;

/// An expression and its source position.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// The kind of expression, with its operands.
    pub kind: ExprKind,
    /// Its position, or that of the code it was derived from.
    pub span: Span,
}

/// The kinds of expression.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// Integer constant.
    Int(i64),
    /// Real constant in canonical form (upper case, no blanks), otherwise as written: `20.0`,
    /// `1.E-3`, `0.5D0`. Double precision if it has a `D`.
    Real(Name),
    /// Complex constant `(re, im)`.
    Complex(Box<(Expr, Expr)>),
    /// `.TRUE.` or `.FALSE.`
    Logical(bool),
    /// Character constant, without its quotes; doubled quotes are single.
    Char(String),
    /// Constant with an explicit kind, `1_8` or `.TRUE._1`: an [`ExprKind::Int`] or
    /// [`ExprKind::Logical`] and the number of bytes; in generated code also an [`ExprKind::Real`].
    Kind(Box<Expr>, u8),
    /// Bit pattern in base 2, 8 or 16, in canonical form: `Z'FF'`, `O'17'`, `B'101'`.
    Bits(Name),
    /// Array constructor `(/ … /)`; items may be [`ExprKind::ImpliedDo`].
    Array(Box<ArrayConstructor>),
    /// Hollerith constant `nH…`.
    Hollerith(String),
    /// A scalar variable, a whole array, a named constant, or a procedure as an actual
    /// argument.
    Var(SymId),
    /// `NAME(…)` before resolution: array element, function reference or substring. Does not occur
    /// after `resolve`.
    Apply(SymId, Vec<Expr>),
    /// Array element (or section, when a subscript is a [`ExprKind::Range`]).
    Element(SymId, Vec<Expr>),
    /// Reference to a function: intrinsic, statement function, nested or top-level subprogram, or
    /// dummy procedure. The symbol's class and place tell which.
    Call(SymId, Vec<Expr>),
    /// Substring `base(from:to)` of a character variable or array element.
    Substring(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    /// `from:to:step` as a subscript; before resolution also the result of parsing `(a:b)`.
    Range(Option<Box<Expr>>, Option<Box<Expr>>, Option<Box<Expr>>),
    /// Operation with one operand.
    Unary(UnOp, Box<Expr>),
    /// Operation with two operands.
    Binary(BinOp, Box<Expr>, Box<Expr>),
    /// Parentheses that the user wrote. They fix the order of evaluation, so they are kept.
    Paren(Box<Expr>),
    /// A lifted procedure as an actual argument, with the variables it captures: created by `lift`,
    /// removed by `specialize`. Printed as the procedure followed by the variables.
    Closure(SymId, Vec<SymId>),
    /// Alternate return `*label` as an actual argument.
    AltReturn(Label),
    /// `(items, var = from, to, step)` in the lists of READ, WRITE, PRINT and DATA.
    ImpliedDo(Box<ImpliedDo<Expr>>),
    /// `%VAL(x)` and the like, as an actual argument.
    Percent(Percent, Box<Expr>),
    /// Keyword argument `NAME = value`, in control lists and of intrinsic procedures.
    Keyword(Name, Box<Expr>),
    /// `*`: assumed size as a bound, list-directed format, or the standard unit.
    Star,
}

/// `%VAL`, `%REF` or `%LOC`: how an actual argument is passed, or a request for its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Percent {
    /// `%VAL(x)`: by value, as in C.
    Val,
    /// `%REF(x)`: by reference, as Fortran does anyway.
    Ref,
    /// `%LOC(x)`: its address, as an integer.
    Loc,
}

impl Percent {
    /// All variants.
    pub const ALL: [Percent; 3] = [Percent::Val, Percent::Ref, Percent::Loc];

    /// Returns the keyword as written, without the percent sign.
    pub fn word(self) -> &'static str {
        match self {
            Percent::Val => "VAL",
            Percent::Ref => "REF",
            Percent::Loc => "LOC",
        }
    }
}

/// `(/ type :: items /)`.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrayConstructor {
    /// The type of the elements, if it is written explicitly.
    pub ty: Option<Type>,
    /// The explicit length, for CHARACTER.
    pub length: Option<Expr>,
    /// The items: elements, arrays of elements, and implied DOs.
    pub items: Vec<Expr>,
}

/// `(items, var = from, to, step)`.
#[derive(Debug, Clone, PartialEq)]
pub struct ImpliedDo<T> {
    /// The repeated items.
    pub items: Vec<T>,
    /// The loop variable.
    pub var: SymId,
    /// First value.
    pub from: Expr,
    /// Last value.
    pub to: Expr,
    /// Step; 1 if absent.
    pub step: Option<Expr>,
}

/// Operators with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnOp {
    /// `+x`
    Plus,
    /// `-x`
    Minus,
    /// `.NOT.x`
    Not,
}

/// Operators with two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Concat,
    Lt,
    Le,
    Eq,
    Ne,
    Gt,
    Ge,
    And,
    Or,
    Eqv,
    Neqv,
}

impl BinOp {
    /// Whether this is one of `+ - * / **`.
    pub fn is_arithmetic(self) -> bool {
        matches!(
            self,
            BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Pow
        )
    }

    /// Whether this is one of `.LT. .LE. .EQ. .NE. .GT. .GE.`
    pub fn is_relational(self) -> bool {
        matches!(
            self,
            BinOp::Lt | BinOp::Le | BinOp::Eq | BinOp::Ne | BinOp::Gt | BinOp::Ge
        )
    }

    /// Whether this is one of `.AND. .OR. .EQV. .NEQV.`
    pub fn is_logical(self) -> bool {
        matches!(self, BinOp::And | BinOp::Or | BinOp::Eqv | BinOp::Neqv)
    }
}

impl Expr {
    /// Whether evaluating the expression calls a function.
    pub fn has_calls(&self) -> bool {
        let mut found = false;
        self.walk(&mut |e| found |= matches!(e.kind, ExprKind::Call(..)));
        found
    }

    /// Returns the variable or array that a variable, element or substring refers to.
    pub fn base(&self) -> Option<SymId> {
        match &self.kind {
            ExprKind::Var(s) | ExprKind::Element(s, _) | ExprKind::Apply(s, _) => Some(*s),
            ExprKind::Substring(base, ..) => base.base(),
            _ => None,
        }
    }

    /// Returns the expressions that select the part of the variable: the subscripts of an element,
    /// the bounds of a substring.
    pub fn selectors(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Element(_, subscripts) => subscripts.iter().collect(),
            ExprKind::Substring(base, from, to) => {
                let mut all = base.selectors();
                all.extend(from.as_deref());
                all.extend(to.as_deref());
                all
            }
            _ => Vec::new(),
        }
    }

    /// Like [`Self::selectors`], mutable.
    pub fn selectors_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.kind {
            ExprKind::Element(_, subscripts) => subscripts.iter_mut().collect(),
            ExprKind::Substring(base, from, to) => {
                let mut all = base.selectors_mut();
                all.extend(from.as_deref_mut());
                all.extend(to.as_deref_mut());
                all
            }
            _ => Vec::new(),
        }
    }
}
