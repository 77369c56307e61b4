//! What a statement does to variables, in the order in which it happens.
//!
//! This is the only place with that knowledge: analyses call [`statement`] (a statement without
//! those in it), [`ad_block`] (an AD block with everything in it) and [`at_entry`] (what happens
//! before the first statement), and add what they know about the called procedures. The terms are
//! defined in the [crate's documentation](crate).

use farfel_ir::intrinsics::Op;
use farfel_ir::ir::{
    AdBlock, AdItem, AdMode, Arg, BinOp, Class, DoControl, Expr, ExprKind, ImpliedDo, Io, IoKind,
    Percent, Stmt, StmtKind, StorageClass, SymId, Type, Unit, walk_block,
};
use farfel_ir::source::Span;
use farfel_ir::types::type_of;

/// What happens to a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    /// Its value is needed.
    Read,
    /// Its value may be needed.
    MayRead,
    /// All of it gets a value.
    Write,
    /// A part of it, or all of it, gets a value, if the statement gets that far.
    Part,
    /// It may get a value.
    MayWrite,
    /// It gets storage: it exists, but has no value.
    Allocate,
    /// It loses its storage and its value.
    Free,
}

impl AccessKind {
    /// Whether it reads, or may read, the variable.
    pub fn reads(self) -> bool {
        matches!(self, AccessKind::Read | AccessKind::MayRead)
    }

    /// Whether it changes, or may change, the variable.
    pub fn changes(self) -> bool {
        !self.reads()
    }

    /// Returns the kind for an access that may not happen.
    #[must_use]
    pub fn perhaps(self) -> AccessKind {
        match self {
            AccessKind::Read => AccessKind::MayRead,
            AccessKind::Write => AccessKind::Part,
            other => other,
        }
    }
}

/// The purpose of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It is the statement's main purpose.
    Value,
    /// The variable is a counter: of a DO loop, an implied DO or an item of an AD block.
    Counter,
    /// The variable receives a status or the result of an inquiry: `IOSTAT=`, `STAT=`, INQUIRE.
    Status,
}

/// The source of a variable's new value.
#[derive(Debug, Clone, Copy)]
pub enum NewValue<'e> {
    /// From outside, or unspecified: input, status, storage. Used for all reads.
    Elsewhere,
    /// The value of an expression; in the closing of an AD block, a derivative.
    Value(&'e Expr),
    /// It is a counter.
    Count {
        /// The initial value.
        from: &'e Expr,
        /// The step; 1 if absent.
        step: Option<&'e Expr>,
    },
}

/// A single access or side effect.
#[derive(Debug, Clone, Copy)]
pub enum Access<'e> {
    /// An access to a variable. For an array element or a substring, this is the whole array or
    /// string.
    Variable {
        /// The variable.
        sym: SymId,
        /// The kind of access.
        kind: AccessKind,
        /// Its purpose.
        role: Role,
        /// The new value.
        value: NewValue<'e>,
        /// The position.
        span: Span,
    },
    /// A call of a procedure that is neither intrinsic nor a statement function. The accesses
    /// needed for its arguments other than the passed variables (subscripts, expressions) have been
    /// reported before.
    Call(Call<'e>),
    /// A procedure that is passed as an argument with the variables it captures, which become its
    /// last arguments. The callee may call it.
    Closure {
        /// The procedure.
        procedure: SymId,
        /// The captured variables.
        captured: &'e [SymId],
        /// The position.
        span: Span,
    },
    /// A side effect outside of the variables.
    SideEffect(SideEffect),
}

/// Side effects outside of variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideEffect {
    /// A file or device is accessed, or queried, other than by output.
    File,
    /// Output to a file or device.
    Output,
    /// Input from, or output to, a CHARACTER variable. It may fail.
    Internal,
    /// Storage is allocated or deallocated. It may fail.
    Storage,
    /// The program ends.
    Stop,
    /// The program waits.
    Pause,
}

/// A call.
#[derive(Debug, Clone, Copy)]
pub struct Call<'e> {
    /// The procedure's symbol.
    pub callee: SymId,
    /// The actual arguments.
    pub args: &'e [Expr],
    /// The position.
    pub span: Span,
    /// Whether it happens whenever the statement is executed. This is not the case in ELSE IF, or
    /// in operands of `.AND.` and `.OR.`, which need not be evaluated.
    pub certain: bool,
    /// Set if the call is in a statement function: the actual arguments with which the statement
    /// refers to the statement function, for references to its dummy arguments in the call's own
    /// arguments.
    pub within: Option<&'e [Expr]>,
}

/// A variable that is passed by reference, so that the callee may read and change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassedVariable {
    /// The variable.
    pub sym: SymId,
    /// Whether the variable itself is passed, not an element or a substring.
    pub whole: bool,
    /// The position.
    pub span: Span,
}

impl<'e> Call<'e> {
    /// Returns the variable that is passed at a position, if any. For an expression, including one
    /// in parentheses and `%VAL(X)`, only a value is passed: if the callee changes it, that has no
    /// effect on the caller.
    pub fn passed_variable(&self, position: usize) -> Option<PassedVariable> {
        passed_variable(self.args.get(position)?)
    }
}

fn passed_variable(actual: &Expr) -> Option<PassedVariable> {
    let e = match &actual.kind {
        ExprKind::Percent(Percent::Ref, e) | ExprKind::Keyword(_, e) => e,
        _ => actual,
    };
    Some(PassedVariable {
        sym: e.base()?,
        whole: matches!(e.kind, ExprKind::Var(_)),
        span: actual.span,
    })
}

/// Returns the name of the top-level procedure that a symbol calls: a function that calls itself
/// refers to its result.
pub fn callee_name(unit: &Unit, callee: SymId) -> Option<&farfel_ir::ir::Name> {
    let symbol = &unit.symbols[callee];
    match symbol.storage_class {
        StorageClass::Global => Some(&symbol.name),
        StorageClass::Result => Some(&unit.name),
        _ => None,
    }
}

/// Reports to `f` what a statement itself does, without the statements in it. `masked`: whether it
/// is under a WHERE, so that assignments affect only some elements.
pub fn statement<'e>(unit: &'e Unit, stmt: &'e Stmt, masked: bool, f: &mut dyn FnMut(Access<'e>)) {
    AccessFinder::new(unit, f).statement(stmt, masked);
}

/// Reports to `f` what the evaluation of an expression does.
pub fn expression<'e>(unit: &'e Unit, e: &'e Expr, f: &mut dyn FnMut(Access<'e>)) {
    AccessFinder::new(unit, f).read(e);
}

/// Reports to `f` what an AD block does, including everything in it. The order of its statements is
/// not tracked, so nothing is certain, except in a block of one statement.
pub fn ad_block<'e>(unit: &'e Unit, ad: &'e AdBlock, f: &mut dyn FnMut(Access<'e>)) {
    let alone = |s: &Stmt| matches!(s.kind, StmtKind::Call(..) | StmtKind::Assign(..));
    if let [s] = ad.body.as_slice()
        && alone(s)
    {
        let mut finder = AccessFinder::new(unit, f);
        // The seeds of reverse mode are evaluated after the statements.
        if ad.mode == AdMode::Forward {
            finder.opening(ad);
        }
        finder.statement(s, false);
        if ad.mode == AdMode::Reverse {
            finder.opening(ad);
        }
        return finder.closing(ad);
    }
    let mut perhaps = |a: Access<'e>| {
        f(match a {
            Access::Variable {
                sym,
                kind,
                role,
                value,
                span,
            } => Access::Variable {
                sym,
                kind: kind.perhaps(),
                role,
                value,
                span,
            },
            Access::Call(c) => Access::Call(Call {
                certain: false,
                ..c
            }),
            outside => outside,
        });
    };
    let mut finder = AccessFinder::new(unit, &mut perhaps);
    finder.opening(ad);
    walk_block(&ad.body, &mut |s| match &s.kind {
        // The statements of a nested block are visited by this walk, too.
        StmtKind::Ad(inner) => finder.ends(inner),
        _ => finder.statement(s, true),
    });
    finder.closing(ad);
}

/// Reports to `f` what happens before the first statement: the bounds of arrays and the lengths of
/// strings are evaluated. `args`: the arguments of the entry point; `None` for those of all entry
/// points.
pub fn at_entry<'e>(unit: &'e Unit, args: Option<&[Arg]>, f: &mut dyn FnMut(Access<'e>)) {
    let mut finder = AccessFinder::new(unit, f);
    for (id, s) in unit.symbols.iter() {
        let here = match s.storage_class {
            StorageClass::Dummy => args.is_none_or(|a| a.iter().any(|a| a.sym() == Some(id))),
            StorageClass::Local | StorageClass::Result => true,
            _ => false,
        };
        if !here || s.class.is_procedure() {
            continue;
        }
        let bounds = s.dims.iter().flat_map(|d| d.lower.iter().chain(&d.upper));
        for e in bounds.chain(&s.length) {
            finder.read(e);
        }
    }
}

/// An integer assignment `V = V + K`, which can be undone by computation.
#[derive(Debug, Clone, Copy)]
pub struct Increment<'e> {
    /// The variable V. Undoing reads its value at that time.
    pub var: SymId,
    /// The step K, which contains neither V nor calls. Undoing reads it again.
    pub step: &'e Expr,
    /// The operator that recovers the previous value: V `op` K.
    pub inverse: BinOp,
}

/// Returns how a statement can be undone by computation, if it can.
pub fn increment<'e>(unit: &Unit, stmt: &'e Stmt) -> Option<Increment<'e>> {
    let StmtKind::Assign(target, value) = &stmt.kind else {
        return None;
    };
    let ExprKind::Var(var) = target.kind else {
        return None;
    };
    let symbol = &unit.symbols[var];
    if !matches!(symbol.ty, Some(Type::Integer(_))) || symbol.is_array() {
        return None;
    }
    let ExprKind::Binary(op, a, b) = &value.kind else {
        return None;
    };
    let is_var = |e: &Expr| matches!(e.kind, ExprKind::Var(s) if s == var);
    let (step, inverse) = match op {
        BinOp::Add if is_var(a) => (b, BinOp::Sub),
        BinOp::Add if is_var(b) => (a, BinOp::Sub),
        BinOp::Sub if is_var(a) => (b, BinOp::Add),
        _ => return None,
    };
    let mut fixed = matches!(type_of(unit, step), Some(Type::Integer(_)));
    step.walk(&mut |e| match &e.kind {
        ExprKind::Call(s, _) => {
            fixed &= matches!(unit.symbols[*s].class, Class::Intrinsic(_));
        }
        _ => fixed &= e.base() != Some(var),
    });
    fixed.then_some(Increment { var, step, inverse })
}

struct AccessFinder<'e, 'f> {
    unit: &'e Unit,
    f: &'f mut dyn FnMut(Access<'e>),
    /// Whether the current code is executed whenever the statement is.
    certain: bool,
    /// Statement functions that have been visited in this statement. Visiting each once is enough;
    /// as they may refer to each other many times, visiting every reference could take exponential
    /// time.
    seen: Vec<SymId>,
    /// In a statement function: the actual arguments with which the statement refers to it.
    within: Option<&'e [Expr]>,
    /// The variables of the enclosing implied DOs in an array constructor, which are distinct from
    /// the variables of the same names outside.
    own: Vec<SymId>,
}

impl<'e, 'f> AccessFinder<'e, 'f> {
    fn new(unit: &'e Unit, f: &'f mut dyn FnMut(Access<'e>)) -> Self {
        AccessFinder {
            unit,
            f,
            certain: true,
            seen: Vec::new(),
            within: None,
            own: Vec::new(),
        }
    }

    fn add(&mut self, sym: SymId, kind: AccessKind, role: Role, span: Span) {
        self.set(sym, kind, role, NewValue::Elsewhere, span);
    }

    fn set(&mut self, sym: SymId, kind: AccessKind, role: Role, value: NewValue<'e>, span: Span) {
        if self.own.contains(&sym) {
            return;
        }
        (self.f)(Access::Variable {
            sym,
            kind,
            role,
            value,
            span,
        });
    }

    /// Reports the assignment to a loop variable, after the evaluation of the bounds.
    fn count(&mut self, var: SymId, from: &'e Expr, step: Option<&'e Expr>, span: Span) {
        let value = NewValue::Count { from, step };
        self.set(var, AccessKind::Write, Role::Counter, value, span);
    }

    /// Reports the bounds and the variable of an implied DO.
    fn implied<T>(&mut self, d: &'e ImpliedDo<T>, span: Span) {
        self.read(&d.from);
        self.read(&d.to);
        d.step.iter().for_each(|s| self.read(s));
        self.count(d.var, &d.from, d.step.as_ref(), span);
    }

    fn side_effect(&mut self, what: SideEffect) {
        (self.f)(Access::SideEffect(what));
    }

    fn statement(&mut self, stmt: &'e Stmt, masked: bool) {
        self.seen.clear();
        match &stmt.kind {
            StmtKind::Assign(target, value) => {
                self.read(value);
                self.target(target, !masked, NewValue::Value(value));
            }
            StmtKind::Do(d) => {
                d.parallel()
                    .iter()
                    .for_each(|p| p.for_each_expr(&mut |e| self.read(e)));
                match &d.control {
                    DoControl::Count {
                        var,
                        from,
                        to,
                        step,
                    } => {
                        self.read(from);
                        self.read(to);
                        step.iter().for_each(|s| self.read(s));
                        self.count(*var, from, step.as_ref(), stmt.span);
                    }
                    DoControl::While(c) => self.read(c),
                    DoControl::Forever => {}
                }
            }
            StmtKind::If(b) => {
                for (i, (c, _)) in b.arms.iter().enumerate() {
                    self.perhaps(i > 0, |f| f.read(c));
                }
            }
            StmtKind::Where(w) => {
                for (i, (c, _)) in w.block.arms.iter().enumerate() {
                    self.perhaps(i > 0, |f| f.read(c));
                }
            }
            StmtKind::Call(s, args) => self.call(*s, args, stmt.span),
            StmtKind::AssignLabel(_, var) => {
                self.add(*var, AccessKind::Write, Role::Value, stmt.span)
            }
            StmtKind::AssignedGoto(var, _) => {
                self.add(*var, AccessKind::Read, Role::Value, stmt.span)
            }
            StmtKind::Io(io) => self.io(io),
            StmtKind::Allocation(a) => {
                self.side_effect(SideEffect::Storage);
                for e in &a.objects {
                    let children = e.children();
                    children.into_iter().for_each(|c| self.read(c));
                    let kind = match a.free {
                        true => AccessKind::Free,
                        false => AccessKind::Allocate,
                    };
                    if let Some(s) = e.base() {
                        self.add(s, kind, Role::Value, e.span);
                    }
                }
                for c in &a.control {
                    match &c.kind {
                        ExprKind::Keyword(name, e)
                            if matches!(name.as_str(), "STAT" | "ERRMSG") =>
                        {
                            self.status(e, name == "STAT");
                        }
                        _ => self.read(c),
                    }
                }
            }
            StmtKind::Ad(b) => self.ends(b),
            StmtKind::Stop(e) => {
                e.iter().for_each(|e| self.read(e));
                self.side_effect(SideEffect::Stop);
            }
            StmtKind::Pause(e) => {
                e.iter().for_each(|e| self.read(e));
                self.side_effect(SideEffect::Pause);
            }
            StmtKind::Comment(_)
            | StmtKind::Select(_)
            | StmtKind::LogicalIf(..)
            | StmtKind::ArithmeticIf(..)
            | StmtKind::Continue
            | StmtKind::Goto(_)
            | StmtKind::ComputedGoto(..)
            | StmtKind::Return(_)
            | StmtKind::Format(_)
            | StmtKind::Entry(_)
            | StmtKind::Cycle(_)
            | StmtKind::Exit(_) => stmt.for_each_own_expr(&mut |e| self.read(e)),
        }
    }

    /// Visits code that may not be executed, if `perhaps` is true.
    fn perhaps(&mut self, perhaps: bool, look: impl FnOnce(&mut Self)) {
        let before = self.certain;
        self.certain &= !perhaps;
        look(self);
        self.certain = before;
    }

    /// Visits the opening and the closing of an AD block, without the statements between them.
    fn ends(&mut self, block: &'e AdBlock) {
        self.opening(block);
        self.closing(block);
    }

    fn opening(&mut self, block: &'e AdBlock) {
        if let Some(s) = &block.vector_mode {
            self.read(&s.count);
        }
        for item in &block.opening {
            self.item(item, true, block.end_span);
        }
    }

    fn closing(&mut self, block: &'e AdBlock) {
        for item in &block.closing {
            self.item(item, false, block.end_span);
        }
    }

    fn item(&mut self, item: &'e AdItem, opening: bool, span: Span) {
        match item {
            AdItem::Assign(a) => {
                // The derivative of this variable is seeded or requested.
                match a.var.base() {
                    Some(s) => {
                        self.inner(&a.var);
                        self.add(s, AccessKind::MayRead, Role::Value, a.var.span);
                    }
                    None => self.read(&a.var),
                }
                a.direction.iter().for_each(|k| self.read(k));
                match opening {
                    true => self.read(&a.other),
                    // In a whole array, elements that do not depend on anything may keep their
                    // values.
                    false => {
                        let array = |s| self.unit.symbols[s].is_array();
                        let number = a.other.base().is_some_and(|s| !array(s));
                        self.target(&a.other, number, NewValue::Value(&a.var));
                    }
                }
            }
            AdItem::ImpliedDo(d) => {
                self.implied(d, span);
                d.items.iter().for_each(|i| self.item(i, opening, span));
            }
        }
    }

    /// Visits an expression whose value is needed.
    fn read(&mut self, e: &'e Expr) {
        match &e.kind {
            ExprKind::Int(_) | ExprKind::Real(_) => {}
            ExprKind::Var(s) => self.add(*s, AccessKind::Read, Role::Value, e.span),
            ExprKind::Element(s, subscripts) | ExprKind::Apply(s, subscripts) => {
                subscripts.iter().for_each(|x| self.read(x));
                self.add(*s, AccessKind::Read, Role::Value, e.span);
            }
            ExprKind::Binary(op, a, b) => {
                // Either operand may not be evaluated. Both still count as read: programs should
                // not rely on it.
                let lazy = matches!(op, BinOp::And | BinOp::Or);
                self.perhaps(lazy, |f| {
                    f.read(a);
                    f.read(b);
                });
            }
            ExprKind::Unary(_, a) | ExprKind::Paren(a) => self.read(a),
            ExprKind::Call(s, args) => match &self.unit.symbols[*s].class {
                // Inquiries do not need a value, and the table does not mark them.
                Class::Intrinsic(i) if i.op == Op::Other => {
                    for a in args {
                        match a.base() {
                            Some(s) => {
                                a.children()
                                    .into_iter()
                                    .filter(|c| c.base() != Some(s))
                                    .for_each(|c| self.read(c));
                                self.add(s, AccessKind::MayRead, Role::Value, a.span);
                            }
                            None => self.read(a),
                        }
                    }
                }
                Class::Intrinsic(_) => args.iter().for_each(|a| self.read(a)),
                Class::StatementFunction(dummies, value) => {
                    args.iter().for_each(|a| self.read(a));
                    self.statement_function(*s, dummies, value, args, e.span);
                }
                _ => self.call(*s, args, e.span),
            },
            ExprKind::ImpliedDo(d) => {
                self.implied(d, e.span);
                d.items.iter().for_each(|i| self.read(i));
            }
            ExprKind::Array(a) => a.items.iter().for_each(|i| self.listed(i)),
            // Code that knows the address may do anything at any time.
            ExprKind::Percent(Percent::Ref | Percent::Loc, a) => match a.base() {
                Some(s) => {
                    self.inner(a);
                    self.add(s, AccessKind::MayRead, Role::Value, e.span);
                    self.add(s, AccessKind::MayWrite, Role::Value, e.span);
                }
                None => self.read(a),
            },
            ExprKind::Closure(procedure, captured) => (self.f)(Access::Closure {
                procedure: *procedure,
                captured,
                span: e.span,
            }),
            _ => e.children().into_iter().for_each(|c| self.read(c)),
        }
    }

    /// Visits an item of an array constructor.
    fn listed(&mut self, item: &'e Expr) {
        let ExprKind::ImpliedDo(d) = &item.kind else {
            return self.read(item);
        };
        self.read(&d.from);
        self.read(&d.to);
        d.step.iter().for_each(|s| self.read(s));
        self.own.push(d.var);
        d.items.iter().for_each(|i| self.listed(i));
        self.own.pop();
    }

    /// Visits the value of a statement function: what it needs besides its arguments, and the calls
    /// in it.
    fn statement_function(
        &mut self,
        s: SymId,
        dummies: &'e [SymId],
        value: &'e Expr,
        args: &'e [Expr],
        span: Span,
    ) {
        // Host-associated statement functions refer to symbols of the enclosing unit.
        if self.seen.contains(&s)
            || matches!(self.unit.symbols[s].storage_class, StorageClass::Host(_))
        {
            return;
        }
        self.seen.push(s);
        let outer = &mut self.f;
        let mut within = |a: Access<'e>| match a {
            Access::Variable { sym, .. } if dummies.contains(&sym) => {}
            Access::Variable {
                sym,
                kind,
                role,
                value,
                ..
            } => outer(Access::Variable {
                sym,
                kind,
                role,
                value,
                span,
            }),
            other => outer(other),
        };
        let mut inner = AccessFinder {
            unit: self.unit,
            f: &mut within,
            certain: self.certain,
            seen: std::mem::take(&mut self.seen),
            within: self.within.or(Some(args)),
            own: std::mem::take(&mut self.own),
        };
        inner.read(value);
        (self.seen, self.own) = (inner.seen, inner.own);
    }

    /// Visits the expressions inside a variable, element or substring: subscripts and bounds.
    fn inner(&mut self, e: &'e Expr) {
        match &e.kind {
            ExprKind::Substring(base, from, to) => {
                self.inner(base);
                from.iter().chain(to).for_each(|e| self.read(e));
            }
            ExprKind::Element(_, subscripts) | ExprKind::Apply(_, subscripts) => {
                subscripts.iter().for_each(|e| self.read(e));
            }
            _ => {}
        }
    }

    /// Visits the target of an assignment. `all`: whether it is assigned whenever the statement is
    /// executed.
    fn target(&mut self, target: &'e Expr, all: bool, value: NewValue<'e>) {
        match &target.kind {
            ExprKind::ImpliedDo(d) => {
                self.implied(d, target.span);
                d.items.iter().for_each(|i| self.target(i, false, value));
            }
            _ => {
                let Some(s) = target.base() else { return };
                self.inner(target);
                let whole = all && matches!(target.kind, ExprKind::Var(_));
                let kind = if whole {
                    AccessKind::Write
                } else {
                    AccessKind::Part
                };
                self.set(s, kind, Role::Value, value, target.span);
            }
        }
    }

    /// Visits a variable that receives a status or the result of an inquiry. `always`: whether it
    /// does in every execution.
    fn status(&mut self, e: &'e Expr, always: bool) {
        let Some(s) = e.base() else {
            return self.read(e);
        };
        self.inner(e);
        let whole = always && matches!(e.kind, ExprKind::Var(_));
        let kind = if whole {
            AccessKind::Write
        } else {
            AccessKind::Part
        };
        self.add(s, kind, Role::Status, e.span);
    }

    /// Visits an item that is only measured: its value does not matter.
    fn measured(&mut self, e: &'e Expr) {
        match (&e.kind, e.base()) {
            (_, Some(s)) => self.add(s, AccessKind::MayRead, Role::Value, e.span),
            (ExprKind::ImpliedDo(d), _) => {
                self.implied(d, e.span);
                d.items.iter().for_each(|e| self.measured(e));
            }
            _ => self.read(e),
        }
    }

    fn io(&mut self, io: &'e Io) {
        let internal = io.is_internal(self.unit);
        self.side_effect(match io.kind {
            _ if internal => SideEffect::Internal,
            IoKind::Write | IoKind::Print | IoKind::Flush => SideEffect::Output,
            _ => SideEffect::File,
        });
        // After an error or at the end of the file, the items may not have been assigned.
        let certain = !io.control.iter().any(|c| {
            matches!(&c.kind, ExprKind::Keyword(n, _)
                if matches!(n.as_str(), "END" | "ERR" | "EOR" | "IOSTAT"))
        });
        // Variables assigned by the control list, which is read first.
        let mut answers: Vec<(&'e Expr, bool)> = Vec::new();
        let mut text = None;
        for (i, c) in io.control.iter().enumerate() {
            let (name, value) = match &c.kind {
                ExprKind::Keyword(name, e) => (name.as_str(), &**e),
                _ if i == 0 => ("UNIT", c),
                _ => ("", c),
            };
            if let Some(s) = value.base()
                && let Class::Namelist(members) = &self.unit.symbols[s].class
            {
                let kind = match io.kind {
                    IoKind::Read => AccessKind::Part,
                    _ => AccessKind::Read,
                };
                for s in members {
                    self.add(*s, kind, Role::Value, value.span);
                }
                continue;
            }
            match name {
                "UNIT" if internal && io.kind == IoKind::Write => {
                    self.inner(value);
                    text = Some(value);
                }
                "UNIT" => self.read(value),
                "IOSTAT" => answers.push((value, true)),
                "IOMSG" | "NEWUNIT" | "SIZE" | "ID" => answers.push((value, false)),
                _ if name != "FILE" && !name.is_empty() && io.kind == IoKind::Inquire => {
                    answers.push((value, false));
                }
                _ => self.read(value),
            }
        }
        match io.kind {
            IoKind::Read => {
                let all = io.items.iter();
                all.for_each(|e| self.target(e, certain, NewValue::Elsewhere));
            }
            // `INQUIRE(IOLENGTH=L) list` determines the length of the list.
            IoKind::Inquire => {
                for e in &io.items {
                    self.measured(e);
                }
            }
            _ => io.items.iter().for_each(|e| self.read(e)),
        }
        if let Some(text) = text {
            // The rest of a record is padded with blanks; the remaining records of an array are
            // left unchanged.
            let whole = certain
                && matches!(text.kind, ExprKind::Var(s) if !self.unit.symbols[s].is_array());
            let kind = if whole {
                AccessKind::Write
            } else {
                AccessKind::Part
            };
            if let Some(s) = text.base() {
                self.add(s, kind, Role::Value, text.span);
            }
        }
        for (e, always) in answers {
            self.status(e, always);
        }
    }

    fn call(&mut self, callee: SymId, args: &'e [Expr], span: Span) {
        for a in args {
            match passed_variable(a) {
                Some(_) => match &a.kind {
                    ExprKind::Percent(_, e) | ExprKind::Keyword(_, e) => self.inner(e),
                    _ => self.inner(a),
                },
                None => self.read(a),
            }
        }
        (self.f)(Access::Call(Call {
            callee,
            args,
            span,
            certain: self.certain,
            within: self.within,
        }));
    }
}
