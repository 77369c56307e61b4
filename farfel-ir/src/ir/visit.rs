//! Traversal and rewriting of trees.
//!
//! The `walk` functions call a function on every expression, outermost first; the `rewrite`
//! functions call it innermost first and let it replace the expression. Both exist for a single
//! expression and for everything in a block of statements.

use super::{AdItem, Block, Do, DoControl, Entry, Expr, ExprKind, IfBlock, Stmt, StmtKind, SymId};
use crate::source::Span;
use smallvec::{SmallVec, smallvec};

impl Expr {
    /// Returns the direct operands.
    pub fn children(&self) -> SmallVec<[&Expr; 2]> {
        match &self.kind {
            ExprKind::Int(_)
            | ExprKind::Real(_)
            | ExprKind::Logical(_)
            | ExprKind::Char(_)
            | ExprKind::Hollerith(_)
            | ExprKind::Bits(_)
            | ExprKind::Var(_)
            | ExprKind::Closure(..)
            | ExprKind::AltReturn(_)
            | ExprKind::Star => SmallVec::new(),
            ExprKind::Complex(p) => smallvec![&p.0, &p.1],
            ExprKind::Apply(_, a) | ExprKind::Element(_, a) | ExprKind::Call(_, a) => {
                a.iter().collect()
            }
            ExprKind::Substring(b, lo, hi) => std::iter::once(&**b)
                .chain(lo.as_deref())
                .chain(hi.as_deref())
                .collect(),
            ExprKind::Range(a, b, c) => a
                .as_deref()
                .into_iter()
                .chain(b.as_deref())
                .chain(c.as_deref())
                .collect(),
            ExprKind::Unary(_, a)
            | ExprKind::Paren(a)
            | ExprKind::Kind(a, _)
            | ExprKind::Percent(_, a)
            | ExprKind::Keyword(_, a) => smallvec![&**a],
            ExprKind::Binary(_, a, b) => smallvec![&**a, &**b],
            ExprKind::Array(a) => a.length.iter().chain(&a.items).collect(),
            ExprKind::ImpliedDo(d) => d
                .items
                .iter()
                .chain([&d.from, &d.to])
                .chain(d.step.as_ref())
                .collect(),
        }
    }

    /// Whether this expression is equal to another one, ignoring spans.
    ///
    /// ```
    /// use farfel_ir::Span;
    /// use farfel_ir::ir::Expr;
    ///
    /// let one = Expr::int(1, Span::NONE);
    /// assert!(one.equals_ignoring_spans(&Expr::int(1, Span::NONE)));
    /// assert!(!one.equals_ignoring_spans(&Expr::int(2, Span::NONE)));
    /// ```
    pub fn equals_ignoring_spans(&self, other: &Expr) -> bool {
        use ExprKind as K;
        let own = match (&self.kind, &other.kind) {
            (K::Apply(a, _), K::Apply(b, _))
            | (K::Element(a, _), K::Element(b, _))
            | (K::Call(a, _), K::Call(b, _)) => a == b,
            (K::Unary(a, _), K::Unary(b, _)) => a == b,
            (K::Binary(a, ..), K::Binary(b, ..)) => a == b,
            (K::Kind(_, a), K::Kind(_, b)) => a == b,
            (K::Percent(a, _), K::Percent(b, _)) => a == b,
            (K::Keyword(a, _), K::Keyword(b, _)) => a == b,
            (K::Paren(_), K::Paren(_)) | (K::Complex(_), K::Complex(_)) => true,
            (K::Substring(_, a, b), K::Substring(_, c, d)) => {
                a.is_some() == c.is_some() && b.is_some() == d.is_some()
            }
            (K::Range(a, b, c), K::Range(d, e, f)) => {
                a.is_some() == d.is_some()
                    && b.is_some() == e.is_some()
                    && c.is_some() == f.is_some()
            }
            (K::Array(a), K::Array(b)) => a.ty == b.ty && a.length.is_some() == b.length.is_some(),
            (K::ImpliedDo(a), K::ImpliedDo(b)) => {
                a.var == b.var && a.step.is_some() == b.step.is_some()
            }
            // All others have no operands.
            (a, b) => a == b,
        };
        if !own {
            return false;
        }
        let (mine, its) = (self.children(), other.children());
        mine.len() == its.len()
            && mine
                .iter()
                .zip(its)
                .all(|(a, b)| a.equals_ignoring_spans(b))
    }

    /// Returns the direct operands, mutable.
    pub fn children_mut(&mut self) -> SmallVec<[&mut Expr; 2]> {
        match &mut self.kind {
            ExprKind::Int(_)
            | ExprKind::Real(_)
            | ExprKind::Logical(_)
            | ExprKind::Char(_)
            | ExprKind::Hollerith(_)
            | ExprKind::Bits(_)
            | ExprKind::Var(_)
            | ExprKind::Closure(..)
            | ExprKind::AltReturn(_)
            | ExprKind::Star => SmallVec::new(),
            ExprKind::Complex(p) => smallvec![&mut p.0, &mut p.1],
            ExprKind::Apply(_, a) | ExprKind::Element(_, a) | ExprKind::Call(_, a) => {
                a.iter_mut().collect()
            }
            ExprKind::Substring(b, lo, hi) => std::iter::once(&mut **b)
                .chain(lo.as_deref_mut())
                .chain(hi.as_deref_mut())
                .collect(),
            ExprKind::Range(a, b, c) => a
                .as_deref_mut()
                .into_iter()
                .chain(b.as_deref_mut())
                .chain(c.as_deref_mut())
                .collect(),
            ExprKind::Unary(_, a)
            | ExprKind::Paren(a)
            | ExprKind::Kind(a, _)
            | ExprKind::Percent(_, a)
            | ExprKind::Keyword(_, a) => smallvec![&mut **a],
            ExprKind::Binary(_, a, b) => smallvec![&mut **a, &mut **b],
            ExprKind::Array(a) => a.length.iter_mut().chain(&mut a.items).collect(),
            ExprKind::ImpliedDo(d) => d
                .items
                .iter_mut()
                .chain([&mut d.from, &mut d.to])
                .chain(d.step.as_mut())
                .collect(),
        }
    }

    /// Calls `f` on this expression and all expressions in it, outermost first.
    pub fn walk<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(self);
        match &self.kind {
            // The most common kinds, without allocating a list of operands.
            ExprKind::Int(_) | ExprKind::Real(_) | ExprKind::Var(_) => {}
            ExprKind::Apply(_, a) | ExprKind::Element(_, a) | ExprKind::Call(_, a) => {
                a.iter().for_each(|c| c.walk(f));
            }
            ExprKind::Unary(_, a) | ExprKind::Paren(a) => a.walk(f),
            ExprKind::Binary(_, a, b) => {
                a.walk(f);
                b.walk(f);
            }
            _ => self.children().into_iter().for_each(|c| c.walk(f)),
        }
    }

    /// Calls `f` on this expression and all expressions in it, innermost first; `f` may replace
    /// them.
    pub fn rewrite(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match &mut self.kind {
            ExprKind::Int(_) | ExprKind::Real(_) | ExprKind::Var(_) => {}
            ExprKind::Apply(_, a) | ExprKind::Element(_, a) | ExprKind::Call(_, a) => {
                a.iter_mut().for_each(|c| c.rewrite(f));
            }
            ExprKind::Unary(_, a) | ExprKind::Paren(a) => a.rewrite(f),
            ExprKind::Binary(_, a, b) => {
                a.rewrite(f);
                b.rewrite(f);
            }
            _ => self.children_mut().into_iter().for_each(|c| c.rewrite(f)),
        }
        f(self);
    }

    /// Calls `f` on every symbol in the expression, once for each occurrence.
    pub fn for_each_symbol(&self, f: &mut dyn FnMut(SymId)) {
        self.walk(&mut |e| match &e.kind {
            ExprKind::Var(s)
            | ExprKind::Apply(s, _)
            | ExprKind::Element(s, _)
            | ExprKind::Call(s, _) => f(*s),
            ExprKind::Closure(s, captured) => {
                f(*s);
                captured.iter().copied().for_each(&mut *f);
            }
            ExprKind::ImpliedDo(d) => f(d.var),
            _ => {}
        });
    }

    /// Calls `f` on every symbol in the expression, mutable.
    pub fn for_each_symbol_mut(&mut self, f: &mut dyn FnMut(&mut SymId)) {
        self.rewrite(&mut |e| match &mut e.kind {
            ExprKind::Var(s)
            | ExprKind::Apply(s, _)
            | ExprKind::Element(s, _)
            | ExprKind::Call(s, _) => f(s),
            ExprKind::Closure(s, captured) => {
                f(s);
                captured.iter_mut().for_each(&mut *f);
            }
            ExprKind::ImpliedDo(d) => f(&mut d.var),
            _ => {}
        });
    }
}

impl AdItem {
    /// Calls `f` on the outermost expressions of the item.
    pub fn for_each_expr<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match self {
            AdItem::Assign(a) => {
                f(&a.var);
                a.direction.iter().for_each(&mut *f);
                f(&a.other);
            }
            AdItem::ImpliedDo(d) => {
                d.items.iter().for_each(|i| i.for_each_expr(f));
                f(&d.from);
                f(&d.to);
                d.step.iter().for_each(f);
            }
        }
    }

    /// Calls `f` on the outermost expressions of the item, mutable.
    pub fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            AdItem::Assign(a) => {
                f(&mut a.var);
                a.direction.iter_mut().for_each(&mut *f);
                f(&mut a.other);
            }
            AdItem::ImpliedDo(d) => {
                d.items.iter_mut().for_each(|i| i.for_each_expr_mut(f));
                f(&mut d.from);
                f(&mut d.to);
                d.step.iter_mut().for_each(f);
            }
        }
    }

    /// Calls `f` on the symbols outside of expressions, which are loop variables.
    pub fn for_each_loop_var_mut(&mut self, f: &mut dyn FnMut(&mut SymId)) {
        if let AdItem::ImpliedDo(d) = self {
            f(&mut d.var);
            d.items.iter_mut().for_each(|i| i.for_each_loop_var_mut(f));
        }
    }
}

impl IfBlock {
    /// Returns the blocks of all arms, in order.
    pub fn blocks(&self) -> SmallVec<[&Block; 4]> {
        let arms = self.arms.iter().map(|(_, b)| b);
        arms.chain(self.otherwise.as_ref()).collect()
    }

    /// Returns the blocks of all arms, mutable.
    pub fn blocks_mut(&mut self) -> SmallVec<[&mut Block; 4]> {
        let arms = self.arms.iter_mut().map(|(_, b)| b);
        arms.chain(self.otherwise.as_mut()).collect()
    }
}

impl Stmt {
    /// Returns the blocks directly inside the statement.
    pub fn blocks(&self) -> SmallVec<[&Block; 4]> {
        match &self.kind {
            StmtKind::If(b) => b.blocks(),
            StmtKind::Where(w) => w.block.blocks(),
            StmtKind::Select(s) => std::iter::once(&s.comments)
                .chain(s.cases.iter().map(|c| &c.body))
                .collect(),
            StmtKind::Do(d) => smallvec![&d.body],
            StmtKind::Ad(a) => smallvec![&a.body],
            _ => SmallVec::new(),
        }
    }

    /// Returns the blocks directly inside the statement, mutable.
    pub fn blocks_mut(&mut self) -> SmallVec<[&mut Block; 4]> {
        match &mut self.kind {
            StmtKind::If(b) => b.blocks_mut(),
            StmtKind::Where(w) => w.block.blocks_mut(),
            StmtKind::Select(s) => std::iter::once(&mut s.comments)
                .chain(s.cases.iter_mut().map(|c| &mut c.body))
                .collect(),
            StmtKind::Do(d) => smallvec![&mut d.body],
            StmtKind::Ad(a) => smallvec![&mut a.body],
            _ => SmallVec::new(),
        }
    }

    /// Calls `f` on this statement and all statements in it, in textual order.
    pub fn walk<'a>(&'a self, f: &mut dyn FnMut(&'a Stmt)) {
        f(self);
        if let StmtKind::LogicalIf(_, s) = &self.kind {
            s.walk(f);
        }
        for b in self.blocks() {
            b.iter().for_each(|s| s.walk(f));
        }
    }

    /// Calls `f` on this statement and all statements in it, in textual order, mutable.
    pub fn walk_mut(&mut self, f: &mut dyn FnMut(&mut Stmt)) {
        f(self);
        if let StmtKind::LogicalIf(_, s) = &mut self.kind {
            s.walk_mut(f);
        }
        for b in self.blocks_mut() {
            b.iter_mut().for_each(|s| s.walk_mut(f));
        }
    }

    /// Calls `f` on the outermost expressions of this statement itself, not of the statements
    /// inside it.
    pub fn for_each_own_expr<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match &self.kind {
            StmtKind::Comment(_)
            | StmtKind::Continue
            | StmtKind::Goto(_)
            | StmtKind::AssignedGoto(..)
            | StmtKind::AssignLabel(..)
            | StmtKind::Format(_)
            | StmtKind::Entry(_)
            | StmtKind::Cycle(_)
            | StmtKind::Exit(_) => {}
            StmtKind::Assign(a, b) => {
                f(a);
                f(b);
            }
            StmtKind::If(IfBlock { arms, .. }) => arms.iter().for_each(|(c, _)| f(c)),
            StmtKind::Where(w) => w.block.arms.iter().for_each(|(c, _)| f(c)),
            StmtKind::Select(s) => {
                f(&s.selector);
                s.cases.iter().flat_map(|c| &c.values).flatten().for_each(f);
            }
            StmtKind::LogicalIf(c, _)
            | StmtKind::ArithmeticIf(c, _)
            | StmtKind::ComputedGoto(_, c) => f(c),
            StmtKind::Do(d) => {
                match &d.control {
                    DoControl::Count { from, to, step, .. } => {
                        f(from);
                        f(to);
                        step.iter().for_each(&mut *f);
                    }
                    DoControl::While(c) => f(c),
                    DoControl::Forever => {}
                }
                d.parallel().iter().for_each(|p| p.for_each_expr(f));
            }
            StmtKind::Call(_, args) => args.iter().for_each(f),
            StmtKind::Return(e) | StmtKind::Stop(e) | StmtKind::Pause(e) => e.iter().for_each(f),
            StmtKind::Io(io) => io.control.iter().chain(&io.items).for_each(f),
            StmtKind::Allocation(a) => a.objects.iter().chain(&a.control).for_each(f),
            StmtKind::Ad(b) => {
                b.vector_mode.iter().for_each(|s| f(&s.count));
                let items = b.opening.iter().chain(&b.closing);
                items.for_each(|i| i.for_each_expr(f));
            }
        }
    }

    /// Like [`Stmt::for_each_own_expr`], mutable.
    pub fn for_each_own_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match &mut self.kind {
            StmtKind::Comment(_)
            | StmtKind::Continue
            | StmtKind::Goto(_)
            | StmtKind::AssignedGoto(..)
            | StmtKind::AssignLabel(..)
            | StmtKind::Format(_)
            | StmtKind::Entry(_)
            | StmtKind::Cycle(_)
            | StmtKind::Exit(_) => {}
            StmtKind::Assign(a, b) => {
                f(a);
                f(b);
            }
            StmtKind::If(IfBlock { arms, .. }) => arms.iter_mut().for_each(|(c, _)| f(c)),
            StmtKind::Where(w) => w.block.arms.iter_mut().for_each(|(c, _)| f(c)),
            StmtKind::Select(s) => {
                f(&mut s.selector);
                let values = s.cases.iter_mut().flat_map(|c| &mut c.values);
                values.flatten().for_each(f);
            }
            StmtKind::LogicalIf(c, _)
            | StmtKind::ArithmeticIf(c, _)
            | StmtKind::ComputedGoto(_, c) => f(c),
            StmtKind::Do(d) => {
                match &mut d.control {
                    DoControl::Count { from, to, step, .. } => {
                        f(from);
                        f(to);
                        step.iter_mut().for_each(&mut *f);
                    }
                    DoControl::While(c) => f(c),
                    DoControl::Forever => {}
                }
                d.parallel_mut()
                    .into_iter()
                    .for_each(|p| p.for_each_expr_mut(f));
            }
            StmtKind::Call(_, args) => args.iter_mut().for_each(f),
            StmtKind::Return(e) | StmtKind::Stop(e) | StmtKind::Pause(e) => {
                e.iter_mut().for_each(f)
            }
            StmtKind::Io(io) => io.control.iter_mut().chain(&mut io.items).for_each(f),
            StmtKind::Allocation(a) => {
                a.objects.iter_mut().chain(&mut a.control).for_each(f);
            }
            StmtKind::Ad(b) => {
                b.vector_mode.iter_mut().for_each(|s| f(&mut s.count));
                for i in b.opening.iter_mut().chain(&mut b.closing) {
                    i.for_each_expr_mut(f);
                }
            }
        }
    }

    /// Calls `f` on the symbols of this statement itself that occur outside of its expressions: the
    /// called subroutine, loop variables, variables in clauses of OpenMP, assigned labels, entries.
    pub fn for_each_own_symbol_mut(&mut self, f: &mut dyn FnMut(&mut SymId)) {
        match &mut self.kind {
            StmtKind::Call(s, _) | StmtKind::AssignedGoto(s, _) | StmtKind::AssignLabel(_, s) => {
                f(s)
            }
            StmtKind::Do(d) => {
                let Do { control, .. } = &mut **d;
                if let DoControl::Count { var, .. } = control {
                    f(var);
                }
                d.parallel_mut()
                    .into_iter()
                    .for_each(|p| p.for_each_symbol_mut(f));
            }
            StmtKind::Entry(e) => {
                let Entry { name, args } = &mut **e;
                f(name);
                for a in args {
                    if let super::Arg::Dummy(s) = a {
                        f(s);
                    }
                }
            }
            StmtKind::Ad(b) => {
                for i in b.opening.iter_mut().chain(&mut b.closing) {
                    i.for_each_loop_var_mut(f);
                }
            }
            _ => {}
        }
    }

    /// Like [`Stmt::for_each_own_symbol_mut`], read-only.
    pub fn for_each_own_symbol(&self, f: &mut dyn FnMut(SymId)) {
        fn loop_vars(i: &AdItem, f: &mut dyn FnMut(SymId)) {
            if let AdItem::ImpliedDo(d) = i {
                f(d.var);
                d.items.iter().for_each(|i| loop_vars(i, f));
            }
        }
        match &self.kind {
            StmtKind::Call(s, _) | StmtKind::AssignedGoto(s, _) | StmtKind::AssignLabel(_, s) => {
                f(*s)
            }
            StmtKind::Do(d) => {
                if let DoControl::Count { var, .. } = &d.control {
                    f(*var);
                }
                d.parallel().iter().for_each(|p| p.for_each_symbol(f));
            }
            StmtKind::Entry(e) => {
                f(e.name);
                e.args.iter().filter_map(|a| a.sym()).for_each(f);
            }
            StmtKind::Ad(b) => b
                .opening
                .iter()
                .chain(&b.closing)
                .for_each(|i| loop_vars(i, f)),
            _ => {}
        }
    }
}

/// Calls `f` on every statement of a block and all statements in them, in textual order.
pub fn walk_block<'a>(block: &'a [Stmt], f: &mut dyn FnMut(&'a Stmt)) {
    block.iter().for_each(|s| s.walk(f));
}

/// Like [`walk_block`], mutable.
pub fn walk_block_mut(block: &mut [Stmt], f: &mut dyn FnMut(&mut Stmt)) {
    block.iter_mut().for_each(|s| s.walk_mut(f));
}

/// Calls `f` on every expression in a block, outermost first.
pub fn walk_exprs<'a>(block: &'a [Stmt], f: &mut dyn FnMut(&'a Expr)) {
    walk_block(block, &mut |s| s.for_each_own_expr(&mut |e| e.walk(f)));
}

/// A reference to a procedure with its actual arguments: a CALL statement or a function reference.
#[derive(Debug, Clone, Copy)]
pub struct Reference<'a> {
    /// The procedure, which can also be an intrinsic or a statement function.
    pub procedure: SymId,
    /// The actual arguments.
    pub args: &'a [Expr],
    /// The position of the statement or expression.
    pub span: Span,
    /// Whether this is a function reference.
    pub function: bool,
}

/// Calls `f` on every reference to a procedure in a block, from the outside in within each
/// statement.
pub fn for_each_reference<'a>(block: &'a [Stmt], f: &mut dyn FnMut(Reference<'a>)) {
    walk_block(block, &mut |s| for_each_own_reference(s, f));
}

/// Like [`for_each_reference`], for a statement without the statements in it.
pub fn for_each_own_reference<'a>(s: &'a Stmt, f: &mut dyn FnMut(Reference<'a>)) {
    if let StmtKind::Call(procedure, args) = &s.kind {
        f(Reference {
            procedure: *procedure,
            args,
            span: s.span,
            function: false,
        });
    }
    s.for_each_own_expr(&mut |e| {
        e.walk(&mut |e| {
            if let ExprKind::Call(procedure, args) = &e.kind {
                f(Reference {
                    procedure: *procedure,
                    args,
                    span: e.span,
                    function: true,
                });
            }
        });
    });
}

/// Calls `f` on every expression in a block, innermost first; `f` may replace them.
pub fn rewrite_exprs(block: &mut [Stmt], f: &mut dyn FnMut(&mut Expr)) {
    walk_block_mut(block, &mut |s| {
        s.for_each_own_expr_mut(&mut |e| e.rewrite(f))
    });
}

/// Calls `f` on every symbol in a block, once for each occurrence.
pub fn for_each_symbol(block: &[Stmt], f: &mut dyn FnMut(SymId)) {
    walk_block(block, &mut |s| {
        s.for_each_own_symbol(f);
        s.for_each_own_expr(&mut |e| e.for_each_symbol(f));
    });
}

/// Calls `f` on every symbol in a block, mutable.
pub fn for_each_symbol_mut(block: &mut [Stmt], f: &mut dyn FnMut(&mut SymId)) {
    walk_block_mut(block, &mut |s| {
        s.for_each_own_symbol_mut(f);
        s.for_each_own_expr_mut(&mut |e| e.for_each_symbol_mut(f));
    });
}
