//! Constructors of expressions and statements: one for each kind, and arithmetic in the style of
//! generated programs.
//!
//! The constructors are functions of [`Expr`] and [`Stmt`] and build exactly what they say, with
//! the given span. The functions of this module know the style of generated code: [`sum`],
//! [`difference`] and [`product`] parenthesise operands, [`choice`] and [`count`] return nothing
//! where the statement would do nothing.

use super::{
    Allocation, ArrayConstructor, BinOp, Block, Do, DoControl, DoEnd, Expr, ExprKind, IfBlock,
    ImpliedDo, Io, Label, Name, Select, Stmt, StmtId, StmtKind, SymId, Type, UnOp, Where,
};
use crate::source::Span;

impl Expr {
    /// An expression with a span. To create a particular kind, call the function for that kind.
    pub fn new(kind: ExprKind, span: Span) -> Self {
        Expr { kind, span }
    }

    /// Returns the same expression with another span.
    pub fn at(self, span: Span) -> Self {
        Expr { span, ..self }
    }

    /// A variable (or whole array, or procedure name).
    pub fn var(sym: SymId, span: Span) -> Self {
        Expr::new(ExprKind::Var(sym), span)
    }

    /// An integer constant.
    pub fn int(value: i64, span: Span) -> Self {
        Expr::new(ExprKind::Int(value), span)
    }

    /// A constant with an explicit kind in bytes: `1_8`.
    pub fn of_size(constant: Expr, bytes: u8, span: Span) -> Self {
        Expr::new(ExprKind::Kind(Box::new(constant), bytes), span)
    }

    /// An 8-byte integer constant, the size of tape positions: `1_8`.
    pub fn long(value: i64, span: Span) -> Self {
        Expr::of_size(Expr::int(value, span), 8, span)
    }

    /// A real constant in canonical form.
    pub fn real(text: impl Into<Name>, span: Span) -> Self {
        Expr::new(ExprKind::Real(text.into()), span)
    }

    /// A complex constant, or an expression that will become one.
    pub fn complex(re: Expr, im: Expr, span: Span) -> Self {
        Expr::new(ExprKind::Complex(Box::new((re, im))), span)
    }

    /// `.TRUE.` or `.FALSE.`
    pub fn logical(value: bool, span: Span) -> Self {
        Expr::new(ExprKind::Logical(value), span)
    }

    /// A character constant.
    pub fn text(text: impl Into<String>, span: Span) -> Self {
        Expr::new(ExprKind::Char(text.into()), span)
    }

    /// An element of an array, or a section if a subscript is a range.
    pub fn element(array: SymId, subscripts: Vec<Expr>, span: Span) -> Self {
        Expr::new(ExprKind::Element(array, subscripts), span)
    }

    /// `text(from:to)`
    pub fn substring(text: Expr, from: Expr, to: Expr, span: Span) -> Self {
        let bound = |e| Some(Box::new(e));
        Expr::new(
            ExprKind::Substring(Box::new(text), bound(from), bound(to)),
            span,
        )
    }

    /// A reference to a function.
    pub fn call(function: SymId, args: Vec<Expr>, span: Span) -> Self {
        Expr::new(ExprKind::Call(function, args), span)
    }

    /// `from:to:step` as a subscript.
    pub fn range(from: Option<Expr>, to: Option<Expr>, step: Option<Expr>, span: Span) -> Self {
        let [from, to, step] = [from, to, step].map(|e| e.map(Box::new));
        Expr::new(ExprKind::Range(from, to, step), span)
    }

    /// `NAME = value`
    pub fn keyword(name: impl Into<Name>, value: Expr, span: Span) -> Self {
        Expr::new(ExprKind::Keyword(name.into(), Box::new(value)), span)
    }

    /// `(/ … /)`
    pub fn array(array: ArrayConstructor, span: Span) -> Self {
        Expr::new(ExprKind::Array(Box::new(array)), span)
    }

    /// `(items, var = from, to, step)`
    pub fn implied_do(implied: ImpliedDo<Expr>, span: Span) -> Self {
        Expr::new(ExprKind::ImpliedDo(Box::new(implied)), span)
    }

    /// `*`
    pub fn star(span: Span) -> Self {
        Expr::new(ExprKind::Star, span)
    }

    /// `op a`
    pub fn unary(op: UnOp, a: Expr, span: Span) -> Self {
        Expr::new(ExprKind::Unary(op, Box::new(a)), span)
    }

    /// `.NOT.a`
    pub fn not(a: Expr, span: Span) -> Self {
        Expr::unary(UnOp::Not, a, span)
    }

    /// `-a`, even if `a` already has a sign; see [`negative`].
    pub fn minus(a: Expr, span: Span) -> Self {
        Expr::unary(UnOp::Minus, a, span)
    }

    /// `a op b`, with a span that covers both.
    pub fn binary(op: BinOp, a: Expr, b: Expr) -> Self {
        let span = a.span.to(b.span);
        Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), span)
    }

    /// `(a)`, whatever `a` is; see [`paren`].
    pub fn parens(a: Expr, span: Span) -> Self {
        Expr::new(ExprKind::Paren(Box::new(a)), span)
    }
}

impl Stmt {
    /// A statement without a label. To create a particular kind, call the function for that kind.
    pub fn new(kind: StmtKind, span: Span) -> Self {
        Stmt::labelled(None, kind, span)
    }

    /// A statement with an optional label.
    pub fn labelled(label: Option<Label>, kind: StmtKind, span: Span) -> Self {
        Stmt {
            id: StmtId::NONE,
            label,
            kind,
            span,
        }
    }

    /// `target = value`
    pub fn assign(target: Expr, value: Expr, span: Span) -> Self {
        Stmt::new(StmtKind::Assign(target, value), span)
    }

    /// `CALL subroutine(args)`
    pub fn call(subroutine: SymId, args: Vec<Expr>, span: Span) -> Self {
        Stmt::new(StmtKind::Call(subroutine, args), span)
    }

    /// `CONTINUE`
    pub fn continues(span: Span) -> Self {
        Stmt::new(StmtKind::Continue, span)
    }

    /// `GOTO label`
    pub fn goto(label: Label, span: Span) -> Self {
        Stmt::new(StmtKind::Goto(label), span)
    }

    /// `RETURN`
    pub fn returns(span: Span) -> Self {
        Stmt::new(StmtKind::Return(None), span)
    }

    /// `EXIT` from the enclosing loop.
    pub fn exit(span: Span) -> Self {
        Stmt::new(StmtKind::Exit(None), span)
    }

    /// `STOP code`, with a number or a text.
    pub fn stop(code: Expr, span: Span) -> Self {
        Stmt::new(StmtKind::Stop(Some(code)), span)
    }

    /// `IF (condition) statement`
    pub fn logical_if(condition: Expr, statement: Stmt, span: Span) -> Self {
        Stmt::new(StmtKind::LogicalIf(condition, Box::new(statement)), span)
    }

    /// IF and ELSE IF arms, and optionally ELSE; see [`choice`].
    pub fn branches(arms: Vec<(Expr, Block)>, otherwise: Option<Block>, span: Span) -> Self {
        let block = IfBlock {
            arms,
            otherwise,
            ..IfBlock::default()
        };
        Stmt::block_if(block, span)
    }

    /// `IF (condition) THEN … ELSE …`, without ELSE if that would be empty.
    pub fn either(condition: Expr, then: Block, otherwise: Block) -> Self {
        let span = condition.span;
        let otherwise = (!otherwise.is_empty()).then_some(otherwise);
        Stmt::branches(vec![(condition, then)], otherwise, span)
    }

    /// A complete block IF.
    pub fn block_if(block: IfBlock, span: Span) -> Self {
        Stmt::new(StmtKind::If(block), span)
    }

    /// A complete `SELECT CASE`.
    pub fn select(select: Select, span: Span) -> Self {
        Stmt::new(StmtKind::Select(Box::new(select)), span)
    }

    /// A complete loop.
    pub fn repeat(d: Do, span: Span) -> Self {
        Stmt::new(StmtKind::Do(Box::new(d)), span)
    }

    /// `DO var = from, to, step` … `END DO`
    ///
    /// ```
    /// use farfel_ir::Span;
    /// use farfel_ir::ir::{Expr, Stmt, StmtKind, Symbol, Symbols, Type};
    ///
    /// let mut symbols = Symbols::default();
    /// let i = symbols.add(Symbol::variable("I".into(), Type::INTEGER, Span::NONE));
    /// let ends = [Expr::int(1, Span::NONE), Expr::int(10, Span::NONE)];
    /// let empty = Stmt::count(i, ends, None, Vec::new(), Span::NONE);
    /// assert!(matches!(empty.kind, StmtKind::Do(d) if d.body.is_empty()));
    /// ```
    pub fn count(
        var: SymId,
        [from, to]: [Expr; 2],
        step: Option<Expr>,
        body: Block,
        span: Span,
    ) -> Self {
        let control = DoControl::Count {
            var,
            from,
            to,
            step,
        };
        Stmt::repeat(repeating(control, body), span)
    }

    /// `DO WHILE (condition)` … `END DO`
    pub fn do_while(condition: Expr, body: Block, span: Span) -> Self {
        Stmt::do_loop(DoControl::While(condition), body, span)
    }

    /// A loop that ends with END DO, with one span for all of it.
    pub fn do_loop(control: DoControl, body: Block, span: Span) -> Self {
        let made = Do {
            end_span: span,
            ..repeating(control, body)
        };
        Stmt::repeat(made, span)
    }

    /// `ALLOCATE (objects)`
    pub fn allocate(objects: Vec<Expr>, span: Span) -> Self {
        let made = Allocation {
            free: false,
            objects,
            control: Vec::new(),
        };
        Stmt::allocation(made, span)
    }

    /// A complete ALLOCATE or DEALLOCATE.
    pub fn allocation(allocation: Allocation, span: Span) -> Self {
        Stmt::new(StmtKind::Allocation(Box::new(allocation)), span)
    }

    /// A complete READ, WRITE or other I/O statement.
    pub fn io(io: Io, span: Span) -> Self {
        Stmt::new(StmtKind::Io(Box::new(io)), span)
    }

    /// A complete WHERE.
    pub fn masked(masked: Where, span: Span) -> Self {
        Stmt::new(StmtKind::Where(Box::new(masked)), span)
    }

    /// A comment on a line of its own.
    pub fn comment(text: impl Into<String>, span: Span) -> Self {
        Stmt::new(StmtKind::Comment(text.into().into()), span)
    }
}

/// A loop that ends with END DO.
fn repeating(control: DoControl, body: Block) -> Do {
    Do {
        name: None,
        control,
        body,
        end: DoEnd::EndDo(None),
        end_span: Span::NONE,
        directive: None,
    }
}

/// `a op b`, with a span that covers both.
pub fn binary(op: BinOp, a: Expr, b: Expr) -> Expr {
    Expr::binary(op, a, b)
}

/// `-a`; if `a` is negated already, returns its operand.
pub fn negative(a: Expr) -> Expr {
    match a.kind {
        ExprKind::Unary(UnOp::Minus, inner) => *inner,
        kind => Expr::minus(Expr::new(kind, a.span), a.span),
    }
}

/// Parenthesises the expression if it is an operation.
pub fn paren(e: Expr) -> Expr {
    match e.kind {
        ExprKind::Binary(..) | ExprKind::Unary(..) => {
            let span = e.span;
            Expr::parens(e, span)
        }
        _ => e,
    }
}

/// Parenthesises the expression if it is a sum or has a sign.
pub fn grouped(e: Expr) -> Expr {
    match e.kind {
        ExprKind::Binary(BinOp::Add | BinOp::Sub, ..) | ExprKind::Unary(..) => paren(e),
        _ => e,
    }
}

/// A real constant whose precision matches `ty`, from text without an exponent: `2.0`.
pub fn literal(text: &str, ty: Type, span: Span) -> Expr {
    let text = match ty {
        Type::Real(8) | Type::Complex(8) => format!("{text}D0"),
        Type::Real(16) | Type::Complex(16) => format!("{text}Q0"),
        _ => text.to_owned(),
    };
    Expr::real(text, span)
}

/// Zero of this type.
pub fn zero(ty: Type, span: Span) -> Expr {
    let part = literal("0.0", ty, span);
    match ty {
        Type::Complex(_) => Expr::complex(part.clone(), part, span),
        _ => part,
    }
}

/// `a + (b)`
pub fn sum(a: Expr, b: Expr) -> Expr {
    binary(BinOp::Add, a, paren(b))
}

/// `a - (b)`
pub fn difference(a: Expr, b: Expr) -> Expr {
    binary(BinOp::Sub, a, paren(b))
}

/// `(a)*(b)`
pub fn product(a: Expr, b: Expr) -> Expr {
    binary(BinOp::Mul, paren(a), paren(b))
}

/// `to = to + what`, written as a difference if `what` is negated.
pub fn increment(to: Expr, what: Expr, span: Span) -> Stmt {
    let (op, what) = match what.kind {
        ExprKind::Unary(UnOp::Minus, inner) => (BinOp::Sub, *inner),
        kind => (BinOp::Add, Expr::new(kind, what.span)),
    };
    let sum = binary(op, to.clone(), what);
    Stmt::assign(to, sum, span)
}

/// A counted loop, or nothing if its body is empty.
pub fn count(
    var: SymId,
    from: Expr,
    to: Expr,
    step: Option<Expr>,
    body: Block,
    span: Span,
) -> Option<Stmt> {
    (!body.is_empty()).then(|| Stmt::count(var, [from, to], step, body, span))
}

/// IF … ELSE …, or nothing if all arms are empty.
pub fn choice(arms: Vec<(Expr, Block)>, otherwise: Block, span: Span) -> Option<Stmt> {
    if otherwise.is_empty() && arms.iter().all(|(_, b)| b.is_empty()) {
        return None;
    }
    let otherwise = (!otherwise.is_empty()).then_some(otherwise);
    Some(Stmt::branches(arms, otherwise, span))
}
