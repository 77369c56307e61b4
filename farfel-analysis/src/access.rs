//! What a statement does to variables, in the order in which it happens.
//!
//! This is the only place that knows it: analyses ask [`own`] (a statement without those in it),
//! [`block`] (an AD block with all in it) and [`at_entry`] (what happens before the first statement),
//! and add what they know of the procedures that are called. The terms are defined in the
//! [crate's documentation](crate).

use farfel_ir::intrinsics::Op;
use farfel_ir::ir::{
    AdBlock, AdItem, AdMode, Arg, BinOp, Class, DoControl, Expr, ExprKind, ImpliedDo, Io, IoKind,
    Percent, Place, Stmt, StmtKind, SymId, Type, Unit, walk_block,
};
use farfel_ir::source::Span;
use farfel_ir::types::type_of;

/// What happens to a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Its value is needed.
    Read,
    /// Its value may be needed.
    MayRead,
    /// All of it gets a value.
    Write,
    /// Some of it gets a value, or all of it, if the statement gets so far.
    Part,
    /// It may get a value.
    MayWrite,
    /// It gets its storage: it exists, and has no value.
    Allocate,
    /// It loses its storage, and its value.
    Free,
}

impl Kind {
    /// Does it read, perhaps?
    pub fn reads(self) -> bool {
        matches!(self, Kind::Read | Kind::MayRead)
    }

    /// Does it change the variable, perhaps?
    pub fn changes(self) -> bool {
        !self.reads()
    }

    /// The same where it may also not happen.
    #[must_use]
    pub fn perhaps(self) -> Kind {
        match self {
            Kind::Read => Kind::MayRead,
            Kind::Write => Kind::Part,
            other => other,
        }
    }
}

/// On what occasion it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The statement is there for it.
    Value,
    /// The variable counts: of a DO loop, an implied DO or an item of an AD block.
    Counter,
    /// The variable is told how it went, or what was asked: `IOSTAT=`, `STAT=`, INQUIRE.
    Answer,
}

/// Where the value of a variable comes from that is changed.
#[derive(Debug, Clone, Copy)]
pub enum Source<'e> {
    /// From outside, or nothing is said: input, answers, storage. Of what is read, always this.
    Elsewhere,
    /// It is the value of an expression; of an AD block's closing, a derivative.
    Value(&'e Expr),
    /// It counts.
    Count {
        /// From here.
        from: &'e Expr,
        /// In these steps; of one without.
        step: Option<&'e Expr>,
    },
}

/// One thing that happens.
#[derive(Debug, Clone, Copy)]
pub enum Access<'e> {
    /// To a variable. Of an array element or a substring, this is the array or the whole string.
    Variable {
        /// Which.
        sym: SymId,
        /// What happens to it.
        kind: Kind,
        /// On what occasion.
        role: Role,
        /// What value it gets.
        value: Source<'e>,
        /// Where.
        span: Span,
    },
    /// A procedure is called that is neither intrinsic nor a statement function. What its arguments
    /// need beside the variables that are passed (subscripts, expressions) has been told before.
    Call(Call<'e>),
    /// A procedure is passed on with the variables that it takes along, its last arguments. Whoever
    /// gets it may call it.
    Closure {
        /// The procedure.
        procedure: SymId,
        /// The variables.
        captured: &'e [SymId],
        /// Where.
        span: Span,
    },
    /// Something outside of the variables.
    Outside(Outside),
}

/// What happens outside of the variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outside {
    /// A file, a device, or what is known of one.
    File,
    /// Input from, or output to, a CHARACTER variable. It may fail.
    Internal,
    /// Storage comes or goes. It may fail.
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
    /// Where.
    pub span: Span,
    /// It happens whenever the statement is carried out. Not so in ELSE IF, and not beside `.AND.` and
    /// `.OR.`, whose operands need not be evaluated.
    pub certain: bool,
    /// The call stands in a statement function, which is named with these actual arguments in the
    /// statement: what the call's own arguments need of the dummy arguments comes from there.
    pub within: Option<&'e [Expr]>,
}

/// A variable that is passed by reference, so that the callee may read and change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passed {
    /// Which.
    pub sym: SymId,
    /// By its name alone, not an element or a substring.
    pub whole: bool,
    /// Where.
    pub span: Span,
}

impl<'e> Call<'e> {
    /// What is passed at a position, if that is a variable. An expression is not, nor one in
    /// parentheses, nor `%VAL(X)`: a value is passed, which the callee may change without anybody
    /// seeing it.
    pub fn passed(&self, position: usize) -> Option<Passed> {
        passed(self.args.get(position)?)
    }
}

fn passed(actual: &Expr) -> Option<Passed> {
    let e = match &actual.kind {
        ExprKind::Percent(Percent::Ref, e) | ExprKind::Keyword(_, e) => e,
        _ => actual,
    };
    Some(Passed {
        sym: e.base()?,
        whole: matches!(e.kind, ExprKind::Var(_)),
        span: actual.span,
    })
}

/// By which name the top-level procedure that a symbol calls is known: a function that calls
/// itself names its result.
pub fn callee_name(unit: &Unit, callee: SymId) -> Option<&farfel_ir::ir::Name> {
    let symbol = &unit.symbols[callee];
    match symbol.place {
        Place::Global => Some(&symbol.name),
        Place::Result => Some(&unit.name),
        _ => None,
    }
}

/// Tells `f` what a statement itself does, without the statements in it. `masked`: it stands under
/// a WHERE, so that assignments reach some elements only.
pub fn own<'e>(unit: &'e Unit, stmt: &'e Stmt, masked: bool, f: &mut dyn FnMut(Access<'e>)) {
    Finder::new(unit, f).statement(stmt, masked);
}

/// Tells `f` what the evaluation of an expression does.
pub fn value<'e>(unit: &'e Unit, e: &'e Expr, f: &mut dyn FnMut(Access<'e>)) {
    Finder::new(unit, f).read(e);
}

/// Tells `f` what an AD block does with all that is in it. The order of its statements is not
/// followed, so that nothing is certain; but for a block of one statement.
pub fn block<'e>(unit: &'e Unit, ad: &'e AdBlock, f: &mut dyn FnMut(Access<'e>)) {
    let alone = |s: &Stmt| matches!(s.kind, StmtKind::Call(..) | StmtKind::Assign(..));
    if let [s] = ad.body.as_slice()
        && alone(s)
    {
        let mut finder = Finder::new(unit, f);
        // What reverse mode begins with is evaluated in the end.
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
    let mut finder = Finder::new(unit, &mut perhaps);
    finder.opening(ad);
    walk_block(&ad.body, &mut |s| match &s.kind {
        // Of one in it, the statements are met as well.
        StmtKind::Ad(inner) => finder.ends(inner),
        _ => finder.statement(s, true),
    });
    finder.closing(ad);
}

/// Tells `f` what happens before the first statement: the bounds of arrays and the lengths of
/// strings are evaluated. `args`: the arguments with which the unit is entered; without, those of
/// any way into it.
pub fn at_entry<'e>(unit: &'e Unit, args: Option<&[Arg]>, f: &mut dyn FnMut(Access<'e>)) {
    let mut finder = Finder::new(unit, f);
    for (id, s) in unit.symbols.iter() {
        let here = match s.place {
            Place::Dummy => args.is_none_or(|a| a.iter().any(|a| a.sym() == Some(id))),
            Place::Local | Place::Result => true,
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

/// An assignment `V = V + K` of whole numbers, which can be undone.
#[derive(Debug, Clone, Copy)]
pub struct Increment<'e> {
    /// V. Undoing it reads the value that it has then.
    pub var: SymId,
    /// K, without V in it and without calls. Undoing reads it again.
    pub step: &'e Expr,
    /// V `op` K was its value before.
    pub inverse: BinOp,
}

/// Whether a statement can be undone by computing, and how.
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

struct Finder<'e, 'f> {
    unit: &'e Unit,
    f: &'f mut dyn FnMut(Access<'e>),
    /// What is met now happens whenever the statement is carried out.
    certain: bool,
    /// Statement functions whose values have been looked at: once is enough, and they may
    /// name each other so often that every time would take for ever.
    seen: Vec<SymId>,
    /// In a statement function: the arguments with which the statement names it.
    within: Option<&'e [Expr]>,
    /// The variables of the implied DOs around, in an array constructor: they are others than those
    /// outside.
    own: Vec<SymId>,
}

impl<'e, 'f> Finder<'e, 'f> {
    fn new(unit: &'e Unit, f: &'f mut dyn FnMut(Access<'e>)) -> Self {
        Finder {
            unit,
            f,
            certain: true,
            seen: Vec::new(),
            within: None,
            own: Vec::new(),
        }
    }

    fn add(&mut self, sym: SymId, kind: Kind, role: Role, span: Span) {
        self.set(sym, kind, role, Source::Elsewhere, span);
    }

    fn set(&mut self, sym: SymId, kind: Kind, role: Role, value: Source<'e>, span: Span) {
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

    /// The variable of a loop, which gets its value when the bounds are known.
    fn count(&mut self, var: SymId, from: &'e Expr, step: Option<&'e Expr>, span: Span) {
        let value = Source::Count { from, step };
        self.set(var, Kind::Write, Role::Counter, value, span);
    }

    /// The bounds and the variable of an implied DO.
    fn implied<T>(&mut self, d: &'e ImpliedDo<T>, span: Span) {
        self.read(&d.from);
        self.read(&d.to);
        d.step.iter().for_each(|s| self.read(s));
        self.count(d.var, &d.from, d.step.as_ref(), span);
    }

    fn outside(&mut self, what: Outside) {
        (self.f)(Access::Outside(what));
    }

    fn statement(&mut self, stmt: &'e Stmt, masked: bool) {
        self.seen.clear();
        match &stmt.kind {
            StmtKind::Assign(target, value) => {
                self.read(value);
                self.target(target, !masked, Source::Value(value));
            }
            StmtKind::Do(d) => match &d.control {
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
            },
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
            StmtKind::AssignLabel(_, var) => self.add(*var, Kind::Write, Role::Value, stmt.span),
            StmtKind::AssignedGoto(var, _) => self.add(*var, Kind::Read, Role::Value, stmt.span),
            StmtKind::Io(io) => self.io(io),
            StmtKind::Allocation(a) => {
                self.outside(Outside::Storage);
                for e in &a.objects {
                    let children = e.children();
                    children.into_iter().for_each(|c| self.read(c));
                    let kind = match a.free {
                        true => Kind::Free,
                        false => Kind::Allocate,
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
                            self.answer(e, name == "STAT");
                        }
                        _ => self.read(c),
                    }
                }
            }
            StmtKind::Ad(b) => self.ends(b),
            StmtKind::Stop(e) => {
                e.iter().for_each(|e| self.read(e));
                self.outside(Outside::Stop);
            }
            StmtKind::Pause(e) => {
                e.iter().for_each(|e| self.read(e));
                self.outside(Outside::Pause);
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

    /// Does something that may also not happen, if `perhaps`.
    fn perhaps(&mut self, perhaps: bool, look: impl FnOnce(&mut Self)) {
        let before = self.certain;
        self.certain &= !perhaps;
        look(self);
        self.certain = before;
    }

    /// The opening and the closing of an AD block, without the statements between them.
    fn ends(&mut self, block: &'e AdBlock) {
        self.opening(block);
        self.closing(block);
    }

    fn opening(&mut self, block: &'e AdBlock) {
        if let Some(s) = &block.several {
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
                // Of it, the derivative is given or wanted.
                match a.var.base() {
                    Some(s) => {
                        self.inner(&a.var);
                        self.add(s, Kind::MayRead, Role::Value, a.var.span);
                    }
                    None => self.read(&a.var),
                }
                a.direction.iter().for_each(|k| self.read(k));
                match opening {
                    true => self.read(&a.other),
                    // Of a whole array, an element that nothing depends on may keep its value.
                    false => {
                        let array = |s| self.unit.symbols[s].is_array();
                        let number = a.other.base().is_some_and(|s| !array(s));
                        self.target(&a.other, number, Source::Value(&a.var));
                    }
                }
            }
            AdItem::ImpliedDo(d) => {
                self.implied(d, span);
                d.items.iter().for_each(|i| self.item(i, opening, span));
            }
        }
    }

    /// An expression whose value is needed.
    fn read(&mut self, e: &'e Expr) {
        match &e.kind {
            ExprKind::Int(_) | ExprKind::Real(_) => {}
            ExprKind::Var(s) => self.add(*s, Kind::Read, Role::Value, e.span),
            ExprKind::Element(s, subscripts) | ExprKind::Apply(s, subscripts) => {
                subscripts.iter().for_each(|x| self.read(x));
                self.add(*s, Kind::Read, Role::Value, e.span);
            }
            ExprKind::Binary(op, a, b) => {
                // Either may be left out. Reads count all the same: nobody should rely on it.
                let lazy = matches!(op, BinOp::And | BinOp::Or);
                self.perhaps(lazy, |f| {
                    f.read(a);
                    f.read(b);
                });
            }
            ExprKind::Unary(_, a) | ExprKind::Paren(a) => self.read(a),
            ExprKind::Call(s, args) => match &self.unit.symbols[*s].class {
                // Inquiries ask for no value, and which functions are some is not said.
                Class::Intrinsic(i) if i.op == Op::Other => {
                    for a in args {
                        match a.base() {
                            Some(s) => {
                                a.children()
                                    .into_iter()
                                    .filter(|c| c.base() != Some(s))
                                    .for_each(|c| self.read(c));
                                self.add(s, Kind::MayRead, Role::Value, a.span);
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
            // Who knows the place may do anything at any time.
            ExprKind::Percent(Percent::Ref | Percent::Loc, a) => match a.base() {
                Some(s) => {
                    self.inner(a);
                    self.add(s, Kind::MayRead, Role::Value, e.span);
                    self.add(s, Kind::MayWrite, Role::Value, e.span);
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

    /// An item of an array constructor.
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

    /// What the value of a statement function needs besides its arguments, and the calls in it.
    fn statement_function(
        &mut self,
        s: SymId,
        dummies: &'e [SymId],
        value: &'e Expr,
        args: &'e [Expr],
        span: Span,
    ) {
        // Those of the surroundings name symbols of the surroundings.
        if self.seen.contains(&s) || matches!(self.unit.symbols[s].place, Place::Host(_)) {
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
        let mut inner = Finder {
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

    /// What stands inside a variable, element or substring: subscripts and bounds.
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

    /// Something that gets a value; `all`: whenever the statement is carried out.
    fn target(&mut self, target: &'e Expr, all: bool, value: Source<'e>) {
        match &target.kind {
            ExprKind::ImpliedDo(d) => {
                self.implied(d, target.span);
                d.items.iter().for_each(|i| self.target(i, false, value));
            }
            _ => {
                let Some(s) = target.base() else { return };
                self.inner(target);
                let whole = all && matches!(target.kind, ExprKind::Var(_));
                let kind = if whole { Kind::Write } else { Kind::Part };
                self.set(s, kind, Role::Value, value, target.span);
            }
        }
    }

    /// A variable that is told something; `always`: not only sometimes.
    fn answer(&mut self, e: &'e Expr, always: bool) {
        let Some(s) = e.base() else {
            return self.read(e);
        };
        self.inner(e);
        let whole = always && matches!(e.kind, ExprKind::Var(_));
        let kind = if whole { Kind::Write } else { Kind::Part };
        self.add(s, kind, Role::Answer, e.span);
    }

    /// An item whose length is asked for: its value does not matter.
    fn measured(&mut self, e: &'e Expr) {
        match (&e.kind, e.base()) {
            (_, Some(s)) => self.add(s, Kind::MayRead, Role::Value, e.span),
            (ExprKind::ImpliedDo(d), _) => {
                self.implied(d, e.span);
                d.items.iter().for_each(|e| self.measured(e));
            }
            _ => self.read(e),
        }
    }

    fn io(&mut self, io: &'e Io) {
        let internal = io.is_internal(self.unit);
        self.outside(match internal {
            true => Outside::Internal,
            false => Outside::File,
        });
        // After an error or the end of the file what should get values may have none.
        let certain = !io.control.iter().any(|c| {
            matches!(&c.kind, ExprKind::Keyword(n, _)
                if matches!(n.as_str(), "END" | "ERR" | "EOR" | "IOSTAT"))
        });
        // What gets a value by the list, which is read first.
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
                    IoKind::Read => Kind::Part,
                    _ => Kind::Read,
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
                all.for_each(|e| self.target(e, certain, Source::Elsewhere));
            }
            // `INQUIRE(IOLENGTH=L) list` asks how long the list would be.
            IoKind::Inquire => {
                for e in &io.items {
                    self.measured(e);
                }
            }
            _ => io.items.iter().for_each(|e| self.read(e)),
        }
        if let Some(text) = text {
            // The rest of a record is filled with blanks; of an array, records are left as they are.
            let whole = certain
                && matches!(text.kind, ExprKind::Var(s) if !self.unit.symbols[s].is_array());
            let kind = if whole { Kind::Write } else { Kind::Part };
            if let Some(s) = text.base() {
                self.add(s, kind, Role::Value, text.span);
            }
        }
        for (e, always) in answers {
            self.answer(e, always);
        }
    }

    fn call(&mut self, callee: SymId, args: &'e [Expr], span: Span) {
        for a in args {
            match passed(a) {
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
