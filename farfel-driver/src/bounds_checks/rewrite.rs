//! Rewrites the statements of one unit with checks.

use super::CheckPass;
use super::arrays::{Array, ArrayContext, Arrays, Length, is_allocated_here, is_plain, long};
use super::frames::Frame;
use super::poly::Poly;
use crate::support::{MOST_DIMENSIONS, Support, intrinsic, shortened};
use farfel_lang::ir::{
    BinOp, Block, Class, DoControl, DoEnd, Expr, ExprKind, IfBlock, Name, Origin, Stmt, StmtKind,
    StorageClass, SymId, Symbol, Type, Unit, walk_block, walk_block_mut,
};
use farfel_lang::print::print_expr;
use farfel_lang::storage::{Constants, UnitStorage};
use farfel_lang::types::{rank, type_of};
use farfel_lang::{Sources, Span};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A unit being rewritten. Its body has been taken out.
pub(super) struct CheckInserter<'a> {
    pub pass: &'a CheckPass<'a>,
    pub unit: Unit,
    pub storage: UnitStorage,
    pub arrays: Arrays,
    /// The lengths that callers pass, by array.
    pub given: HashMap<SymId, SymId>,
    pub no_lengths: Option<String>,
    /// Whether subscripts are checked.
    pub checks: bool,
    /// The frames of the enclosing loops whose bounds are known beforehand, the outermost first.
    pub frames: Vec<Frame>,
    /// Whether loops may have a second version.
    pub versions: bool,
    support: HashMap<Support, SymId>,
    /// Statements to be inserted before the current one.
    pub before: Block,
    /// Whether what holds before the current statement also holds where the current expression is evaluated:
    /// not in a condition that is evaluated again and again, nor if the statement calls procedures.
    pub before_holds: bool,
    /// Whether no expression of the current statement calls a procedure, which may be a CALL.
    undisturbed: bool,
    /// Statements to be inserted after it.
    after: Block,
    /// Whether some checks are made at run time.
    pub fails: bool,
    /// The reasons why something is not covered.
    pub reasons: BTreeSet<String>,
    /// The largest label in use.
    pub last_label: u32,
    /// The names of constructs.
    names: HashSet<Name>,
    /// The number of jumps to each label.
    pub jumps: HashMap<u32, usize>,
    /// The loop variables.
    pub counted: HashSet<SymId>,
    /// The variables that the unit may change, and whether it calls procedures.
    pub changed: HashSet<SymId>,
    pub calls: bool,
}

/// How an expression is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Its value is used, or it is assigned.
    Value,
    /// Only the expressions inside it, such as subscripts, are evaluated.
    Inside,
}

impl<'a> CheckInserter<'a> {
    pub(super) fn new(pass: &'a CheckPass<'a>, unit: Unit) -> CheckInserter<'a> {
        CheckInserter {
            pass,
            storage: UnitStorage::of(&unit),
            unit,
            arrays: Arrays::default(),
            given: HashMap::new(),
            no_lengths: None,
            checks: true,
            frames: Vec::new(),
            versions: true,
            support: HashMap::new(),
            before: Vec::new(),
            before_holds: false,
            undisturbed: false,
            after: Vec::new(),
            fails: false,
            reasons: BTreeSet::new(),
            last_label: 0,
            names: HashSet::new(),
            jumps: HashMap::new(),
            counted: HashSet::new(),
            changed: HashSet::new(),
            calls: false,
        }
    }

    /// Rewrites the whole unit.
    pub(super) fn run(mut self, mut body: Block) -> (Unit, bool, BTreeSet<String>) {
        unlabel_loops(&mut body);
        self.last_label = last_label(&self.unit, &body);
        walk_block_mut(&mut body, &mut |s| {
            self.names.extend(construct(s).cloned());
            self.versions &= !is_parallel(s);
        });
        self.note_changes(&body);
        self.statement_functions();
        let body = self.block(body);
        self.fails |= self.arrays.overflows;
        let mut all = std::mem::take(&mut self.arrays.entry);
        for (sym, total) in std::mem::take(&mut self.arrays.automatic) {
            all.extend(self.size_check(sym, &total));
        }
        all.extend(body);
        self.unit.body = all;
        (self.unit, self.fails, self.reasons)
    }

    /// Checks that an automatic array is not so large that its size in bytes overflows.
    fn size_check(&mut self, sym: SymId, total: &Poly) -> Option<Stmt> {
        if !self.checks {
            return None;
        }
        let span = Span::NONE;
        let symbol = &self.unit.symbols[sym];
        let shown = symbol.name.to_string();
        let text = symbol.ty == Some(Type::Character);
        let constants = Constants::of(&self.unit);
        let fixed = symbol
            .length
            .as_ref()
            .is_none_or(|e| constants.integer(e).is_some());
        let most = Expr::long(1 << 40, span);
        let most = match text && !fixed {
            false => most,
            // The texts may be of any length.
            true => match intrinsic(&mut self.unit, "LEN") {
                Some(len) => {
                    let length =
                        Expr::call(len, vec![Expr::var(sym, span), Expr::int(8, span)], span);
                    let max = Expr::call(
                        intrinsic(&mut self.unit, "MAX")?,
                        vec![long(length), Expr::long(1, span)],
                        span,
                    );
                    Expr::binary(BinOp::Div, most, max)
                }
                None => {
                    self.reason(format!("the size of {shown} is not known"));
                    return None;
                }
            },
        };
        Some(self.whole_check(total.expr(span), most, &shown, span))
    }

    fn statement_functions(&mut self) {
        for id in self.unit.symbols.ids() {
            let Class::StatementFunction(args, value) = self.unit.symbols[id].class.clone() else {
                continue;
            };
            let mut value = *value;
            self.expr(&mut value, Use::Value);
            // Statements cannot be inserted before a statement function.
            if !self.before.is_empty() {
                self.before.clear();
                self.reason("a statement function uses a whole array");
            }
            self.unit.symbols[id].class = Class::StatementFunction(args, Box::new(value));
        }
    }

    pub(super) fn reason(&mut self, why: impl Into<String>) {
        if self.checks {
            self.reasons.insert(why.into());
        }
    }

    pub(super) fn array(&mut self, sym: SymId) -> Array {
        let context = ArrayContext {
            storage: &self.storage,
            given: &self.given,
            no_lengths: self.no_lengths.as_deref(),
            real: self.pass.real,
        };
        self.arrays.get(&mut self.unit, sym, &context)
    }

    pub(super) fn total(&mut self, sym: SymId) -> Option<Poly> {
        let context = ArrayContext {
            storage: &self.storage,
            given: &self.given,
            no_lengths: self.no_lengths.as_deref(),
            real: self.pass.real,
        };
        self.arrays.total(&mut self.unit, sym, &context)
    }

    fn context(&self) -> ArrayContext<'_> {
        ArrayContext {
            storage: &self.storage,
            given: &self.given,
            no_lengths: self.no_lengths.as_deref(),
            real: self.pass.real,
        }
    }

    pub(super) fn is_stride(&self, sym: SymId) -> bool {
        self.arrays.strides.contains(&sym)
    }

    // Statements.

    pub(super) fn block(&mut self, block: Block) -> Block {
        let mut made = Vec::with_capacity(block.len());
        for s in block {
            self.statement(s, &mut made);
        }
        made
    }

    fn statement(&mut self, mut s: Stmt, made: &mut Block) {
        let outer = std::mem::take(&mut self.before);
        self.undisturbed = self.is_undisturbed(&s);
        self.before_holds = self.undisturbed && !matches!(s.kind, StmtKind::Call(..));
        if matches!(s.kind, StmtKind::Do(_)) {
            let label = s.label.take();
            let span = s.span;
            // A compiler directive for a loop stays immediately before it.
            let directives = made
                .iter()
                .rev()
                .take_while(|s| is_loop_directive(s))
                .count();
            let directives = made.split_off(made.len() - directives);
            let mut loops = Vec::new();
            self.do_loop(s, directives, &mut loops);
            if let Some(label) = label {
                made.push(Stmt::labelled(Some(label), StmtKind::Continue, span));
            }
            made.append(&mut self.before);
            made.append(&mut loops);
            self.before = outer;
            return;
        }
        self.inside(&mut s);
        if !self.before.is_empty()
            && let Some(label) = s.label.take()
        {
            made.push(Stmt::labelled(Some(label), StmtKind::Continue, s.span));
        }
        made.append(&mut self.before);
        made.push(s);
        made.append(&mut self.after);
        self.before = outer;
    }

    /// Rewrites a statement that is not a loop, with everything in it.
    fn inside(&mut self, s: &mut Stmt) {
        match &mut s.kind {
            StmtKind::Assign(target, value) => {
                match target.kind {
                    // It gets the shape of the value.
                    ExprKind::Var(array) if self.is_reallocated(array, value) => {
                        self.expr(value, Use::Value);
                        self.array(array);
                        let now = self.arrays.bounds_now(&mut self.unit, array);
                        self.after.extend(now.into_iter().flatten());
                    }
                    _ => {
                        self.agree(&[target, value]);
                        self.expr(value, Use::Value);
                        self.expr(target, Use::Value);
                    }
                }
            }
            StmtKind::If(block) => self.if_block(block),
            StmtKind::Where(w) => {
                self.agree_in_where(w);
                // Its statements are inseparable from it.
                for (mask, body) in &mut w.block.arms {
                    self.expr(mask, Use::Value);
                    body.iter_mut().for_each(|s| self.inside(s));
                }
                let otherwise = w.block.otherwise.iter_mut().flatten();
                otherwise.for_each(|s| self.inside(s));
            }
            StmtKind::Select(select) => {
                self.expr(&mut select.selector, Use::Value);
                for case in &mut select.cases {
                    let body = std::mem::take(&mut case.body);
                    case.body = self.nested(body);
                }
            }
            StmtKind::LogicalIf(condition, inner) => {
                self.expr(condition, Use::Value);
                let span = inner.span;
                let inner = std::mem::replace(&mut **inner, Stmt::continues(span));
                let arm = self.nested(vec![inner]);
                let condition = std::mem::replace(condition, Expr::logical(true, span));
                s.kind = under(condition, arm, span);
            }
            StmtKind::Call(callee, args) => {
                let callee = *callee;
                let mut args = std::mem::take(args);
                self.call(callee, &mut args, s.span);
                s.kind = StmtKind::Call(callee, args);
            }
            StmtKind::Io(io) => {
                io.control.iter_mut().for_each(|c| self.expr(c, Use::Value));
                io.items.iter_mut().for_each(|i| self.expr(i, Use::Value));
            }
            StmtKind::ArithmeticIf(e, _)
            | StmtKind::ComputedGoto(_, e)
            | StmtKind::Return(Some(e))
            | StmtKind::Stop(Some(e))
            | StmtKind::Pause(Some(e)) => self.expr(e, Use::Value),
            StmtKind::Allocation(a) => {
                // Other arrays than those of the unit are reported where they are used.
                for e in &mut a.objects {
                    if let ExprKind::Element(_, bounds) = &mut e.kind {
                        bounds.iter_mut().for_each(|b| self.expr(b, Use::Value));
                    }
                    if let Some(s) = e.base()
                        && is_allocated_here(&self.unit.symbols[s])
                    {
                        self.array(s);
                        let now = self.arrays.bounds_now(&mut self.unit, s);
                        self.after.extend(now.into_iter().flatten());
                    }
                }
                a.control.iter_mut().for_each(|c| self.expr(c, Use::Value));
            }
            StmtKind::AssignedGoto(..) => self.reason("an assigned GOTO may jump to a FORMAT"),
            StmtKind::Ad(_) => self.reason("it is not lowered"),
            StmtKind::Comment(_)
            | StmtKind::Do(_)
            | StmtKind::Continue
            | StmtKind::Goto(_)
            | StmtKind::AssignLabel(..)
            | StmtKind::Return(None)
            | StmtKind::Stop(None)
            | StmtKind::Pause(None)
            | StmtKind::Format(_)
            | StmtKind::Cycle(_)
            | StmtKind::Exit(_)
            | StmtKind::Entry(_) => {}
        }
    }

    fn nested(&mut self, block: Block) -> Block {
        let outer = std::mem::take(&mut self.before);
        let held = (self.before_holds, self.undisturbed);
        let made = self.block(block);
        self.before = outer;
        (self.before_holds, self.undisturbed) = held;
        made
    }

    /// Whether the values of scalars stay the same while a statement is executed.
    fn is_undisturbed(&self, s: &Stmt) -> bool {
        let mut calls = matches!(s.kind, StmtKind::Io(_));
        let mut look = |e: &Expr| {
            e.walk(&mut |e| {
                calls |= match &e.kind {
                    ExprKind::Call(f, _) => !matches!(
                        self.unit.symbols[*f].class,
                        Class::Intrinsic(_) | Class::StatementFunction(..)
                    ),
                    ExprKind::ImpliedDo(_) => true,
                    _ => false,
                }
            });
        };
        match &s.kind {
            // The statements in it belong to it.
            StmtKind::Where(_) => walk_block(std::slice::from_ref(s), &mut |s| {
                s.for_each_own_expr(&mut look);
            }),
            _ => s.for_each_own_expr(&mut look),
        }
        !calls
    }

    /// Whether an assignment gives an array another shape.
    pub(super) fn is_reallocated(&self, array: SymId, value: &Expr) -> bool {
        is_allocated_here(&self.unit.symbols[array]) && rank(&self.unit, value) > 0
    }

    fn if_block(&mut self, block: &mut IfBlock) {
        for (k, (condition, body)) in block.arms.iter_mut().enumerate() {
            // The others are evaluated only if the first is false.
            self.before_holds &= k == 0;
            self.undisturbed &= k == 0;
            self.expr(condition, Use::Value);
            *body = self.nested(std::mem::take(body));
        }
        if let Some(body) = &mut block.otherwise {
            *body = self.nested(std::mem::take(body));
        }
    }

    // Loops.

    fn do_loop(&mut self, s: Stmt, directives: Block, made: &mut Block) {
        let Some(frame) = self.versions.then(|| self.frame(&s)).flatten() else {
            return self.plain_loop(s, directives, made);
        };
        let span = s.span;
        let Some(original) = self.relabelled(s.clone()) else {
            return self.plain_loop(s, directives, made);
        };
        self.frames.push(frame);
        let mut fast = Vec::new();
        self.plain_loop(s, directives, &mut fast);
        let Some(frame) = self.frames.pop() else {
            return;
        };
        self.before.extend(frame.snapshots(span));
        // Without checks, the conditions are assumed to hold.
        match frame.condition(span).filter(|_| self.checks) {
            None => made.append(&mut fast),
            Some(condition) => {
                let mut slow = Vec::new();
                self.versions = false;
                self.plain_loop(original, Vec::new(), &mut slow);
                self.versions = true;
                let arms = vec![(condition, fast)];
                made.push(Stmt::branches(arms, Some(slow), span));
            }
        }
    }

    /// Rewrites a loop with its checks. If an enclosing frame knows the loop's bounds, the loop counts in 64
    /// bits, so that subscripts have the values that were compared before.
    fn plain_loop(&mut self, mut s: Stmt, directives: Block, made: &mut Block) {
        let span = s.span;
        let StmtKind::Do(d) = &mut s.kind else {
            return;
        };
        let mut wide = None;
        match &mut d.control {
            DoControl::While(condition) => {
                self.before_holds = false;
                self.undisturbed = false;
                self.expr(condition, Use::Value);
            }
            DoControl::Forever => {}
            DoControl::Count {
                var,
                from,
                to,
                step,
            } => {
                let (plain_from, plain_to) = (from.clone(), to.clone());
                for e in [&mut *from, &mut *to].into_iter().chain(step.as_mut()) {
                    self.expr(e, Use::Value);
                }
                wide = self.enter(
                    *var,
                    [&plain_from, &plain_to],
                    [from, to],
                    step.as_ref(),
                    &d.body,
                );
            }
        }
        let body = std::mem::take(&mut d.body);
        let mut inner = self.nested(body);
        if let Some(counted) = wide {
            for frame in &mut self.frames {
                frame.leave(counted.wide);
            }
            if let DoControl::Count { var, from, to, .. } = &mut d.control {
                let narrow = std::mem::replace(var, counted.wide);
                [*from, *to] = counted.bounds.map(|p| p.expr(span));
                let set =
                    Stmt::assign(Expr::var(narrow, span), Expr::var(counted.wide, span), span);
                inner.insert(0, set.clone());
                d.body = inner;
                made.extend(directives);
                made.push(s);
                made.push(set);
                return;
            }
        }
        d.body = inner;
        made.extend(directives);
        made.push(s);
    }

    /// Returns a copy of a statement with new labels.
    fn relabelled(&mut self, mut s: Stmt) -> Option<Stmt> {
        let mut labels: HashMap<u32, u32> = HashMap::new();
        let mut last = self.last_label;
        for_each_defined(&mut s, &mut |label| {
            last += 1;
            labels.insert(*label, last);
        });
        if last > 99_999 {
            return None;
        }
        self.last_label = last;
        let rename = |label: &mut u32| {
            if let Some(new) = labels.get(label) {
                *label = *new;
            }
        };
        for_each_defined(&mut s, &mut |label| rename(label));
        s.walk_mut(&mut |s| for_each_jump(s, &mut |label| rename(label)));
        // Constructs get new names, too.
        let mut names: HashMap<Name, Name> = HashMap::new();
        s.walk_mut(&mut |s| {
            if let Some(name) = construct(s) {
                let taken = |n: &str| self.names.contains(n);
                let new = self.unit.symbols.unused(name, &taken);
                self.names.insert(new.clone());
                names.insert(std::mem::replace(name, new.clone()), new);
            }
        });
        s.walk_mut(&mut |s| {
            if let StmtKind::Cycle(Some(name)) | StmtKind::Exit(Some(name)) = &mut s.kind
                && let Some(new) = names.get(name)
            {
                *name = new.clone();
            }
        });
        Some(s)
    }

    // Expressions.

    pub(super) fn expr(&mut self, e: &mut Expr, how: Use) {
        let span = e.span;
        match &mut e.kind {
            ExprKind::Element(..) => {
                let shown = print_expr(&self.unit, e);
                if let ExprKind::Element(_, subscripts) = &mut e.kind {
                    let plain = subscripts.clone();
                    subscripts.iter_mut().for_each(|s| self.expr(s, Use::Value));
                    if how == Use::Value {
                        self.element(e, &plain, &shown);
                    }
                }
            }
            ExprKind::Var(s) => {
                let s = *s;
                if let Class::Namelist(members) = &self.unit.symbols[s].class {
                    let dummy = |m: &SymId| {
                        let m = &self.unit.symbols[*m];
                        m.is_array() && m.storage_class == StorageClass::Dummy
                    };
                    if members.iter().any(dummy) {
                        self.reason("an argument is in a NAMELIST");
                    }
                } else if how == Use::Value && self.unit.symbols[s].is_array() {
                    self.whole(s, e.span);
                }
            }
            ExprKind::Call(callee, args) => {
                let callee = *callee;
                match &self.unit.symbols[callee].class {
                    Class::Intrinsic(i) => {
                        let i = *i;
                        self.check_intrinsic(i, args);
                        if args.iter().filter(|a| rank(&self.unit, a) > 0).count() > 1 {
                            let args: Vec<Expr> = args.clone();
                            let call = Expr::call(callee, args.clone(), span);
                            self.agree_in_call(i, &args, &call);
                        }
                        let asks = matches!(
                            i.name,
                            "SIZE"
                                | "LBOUND"
                                | "UBOUND"
                                | "ALLOCATED"
                                | "PRESENT"
                                | "LEN"
                                | "LOC"
                                | "SHAPE"
                                | "KIND"
                        );
                        let how = if asks { Use::Inside } else { Use::Value };
                        args.iter_mut().for_each(|a| self.expr(a, how));
                    }
                    Class::StatementFunction(..) => {
                        args.iter_mut().for_each(|a| self.expr(a, Use::Value));
                    }
                    // A check that has just been inserted.
                    _ if self.support.values().any(|s| *s == callee) => {
                        args.iter_mut().for_each(|a| self.expr(a, Use::Value));
                    }
                    _ => {
                        let mut taken = std::mem::take(args);
                        self.call(callee, &mut taken, e.span);
                        e.kind = ExprKind::Call(callee, taken);
                    }
                }
            }
            ExprKind::Substring(..) => {
                let shown = print_expr(&self.unit, e);
                if let ExprKind::Substring(base, from, to) = &mut e.kind {
                    self.expr(base, how);
                    for bound in [&mut *from, &mut *to].into_iter().flatten() {
                        self.expr(bound, Use::Value);
                    }
                    if how == Use::Value {
                        self.substring(e, &shown);
                    }
                }
            }
            ExprKind::Array(constructor) => {
                self.check_constructor(&mut constructor.items);
                for child in e.children_mut() {
                    self.expr(child, how);
                }
            }
            ExprKind::Percent(..) => self.reason("an argument is passed by %VAL, %REF or %LOC"),
            _ => {
                if let ExprKind::Binary(_, a, b) = &e.kind
                    && rank(&self.unit, a) > 0
                    && rank(&self.unit, b) > 0
                {
                    self.agree(&[a, b]);
                }
                for child in e.children_mut() {
                    self.expr(child, how);
                }
            }
        }
    }

    fn support(&mut self, support: Support) -> SymId {
        if let Some(found) = self.support.get(&support) {
            return *found;
        }
        let mut symbol = Symbol::new(support.name().into(), Span::NONE);
        symbol.origin = Origin::Generated;
        symbol.storage_class = StorageClass::Global;
        (symbol.class, symbol.ty) = match support.is_subroutine() {
            true => (Class::Subroutine, None),
            false => (Class::Function, Some(Type::Integer(8))),
        };
        let id = match self.unit.symbols.find(&symbol.name) {
            Some(id) => id,
            None => self.unit.symbols.add(symbol),
        };
        self.support.insert(support, id);
        id
    }

    pub(super) fn call_support(&mut self, support: Support, args: Vec<Expr>, span: Span) -> Expr {
        Expr::call(self.support(support), args, span)
    }

    /// Returns the text that a failed check shows: the reference and its place.
    pub(super) fn what(&self, shown: &str, span: Span) -> Expr {
        let shown = shortened(shown.to_owned());
        let place = self.pass.sources.and_then(|s| place_of(s, span));
        let place = place.unwrap_or_else(|| self.unit.name.to_string());
        Expr::text(format!("{shown} at {place}"), span)
    }

    /// Puts a check into the subscripts of an element or a section. `plain` are the subscripts without
    /// checks.
    fn element(&mut self, e: &mut Expr, plain: &[Expr], shown: &str) {
        let span = e.span;
        let ExprKind::Element(sym, subscripts) = &mut e.kind else {
            return;
        };
        let sym = *sym;
        if !self.unit.symbols[sym].is_array() {
            return;
        }
        let array = self.array(sym);
        let length = match &array.length {
            Length::Trusted => return,
            Length::Unknown(why) => {
                let why = why.clone();
                return self.reason(why);
            }
            Length::Known(length) => length.clone(),
        };
        let dimensions = subscripts.len();
        if dimensions != array.lowers.len() || dimensions > MOST_DIMENSIONS {
            return self.reason(format!("{shown} has another number of subscripts"));
        }
        if subscripts.iter().any(|s| self.selects_several(s)) {
            if self.checks {
                self.section(sym, subscripts, &array, &length, shown, span);
            }
            return;
        }
        if let Some(proven) = self.prove(plain, &array, &length) {
            for (s, proven) in subscripts.iter_mut().zip(proven) {
                if let Some(p) = proven {
                    *s = p.expr(s.span);
                }
            }
            return;
        }
        if !self.checks {
            return;
        }
        self.fails = true;
        let what = self.what(shown, span);
        let n = length.expr(span);
        if let [only] = subscripts.as_mut_slice() {
            let i = long(std::mem::replace(only, Expr::int(0, span)));
            let args = vec![i, array.lowers[0].expr(span), n, what];
            *only = self.call_support(Support::Subscript, args, span);
            return;
        }
        if !subscripts.iter().all(|s| is_plain(&self.unit, s)) {
            return self.reason(format!("functions are called in the subscripts of {shown}"));
        }
        let number = number(subscripts, &array, span);
        let mut args: Vec<Expr> = subscripts.iter().cloned().map(long).collect();
        args.extend([number, n, what]);
        let checked = self.call_support(Support::Element(dimensions), args, span);
        if let Some(last) = subscripts.last_mut() {
            *last = checked;
        }
    }

    fn section(
        &mut self,
        sym: SymId,
        subscripts: &mut [Expr],
        array: &Array,
        length: &Poly,
        shown: &str,
        span: Span,
    ) {
        let Some(bounds) = self.section_bounds(sym, subscripts, array, span) else {
            return self.reason(format!("the section {shown} is not simple"));
        };
        let first: Vec<Expr> = bounds.iter().map(|b| b.lowest.clone()).collect();
        let last: Vec<Expr> = bounds.iter().map(|b| b.highest.clone()).collect();
        let count = self.section_count(&bounds, subscripts, true, span);
        let what = self.what(shown, span);
        let (e, f) = (number(&first, array, span), number(&last, array, span));
        self.fails = true;
        let check = |first: Expr| vec![long(first), e, f, length.expr(span), count, what];
        // The sum is an array of its own, so that the statement cannot change subscripts that have been compared.
        if let Some(vector) = subscripts
            .iter_mut()
            .find(|s| !matches!(s.kind, ExprKind::Range(..)) && rank(&self.unit, s) > 0)
        {
            let zero = self.call_support(Support::Section, check(Expr::long(0, span)), span);
            let values = std::mem::replace(vector, Expr::int(0, span));
            *vector = Expr::binary(BinOp::Add, Expr::parens(values, span), zero);
            return;
        }
        for (s, bounds) in subscripts.iter_mut().zip(bounds) {
            if let ExprKind::Range(from, ..) = &mut s.kind {
                *from = Some(Box::new(self.call_support(
                    Support::Section,
                    check(bounds.from),
                    span,
                )));
                return;
            }
        }
    }

    /// Whether a subscript selects several elements: it is a range or an array.
    fn selects_several(&self, subscript: &Expr) -> bool {
        matches!(subscript.kind, ExprKind::Range(..)) || rank(&self.unit, subscript) > 0
    }

    /// Returns the extreme values of a subscript that is an array, and their number as a range from 1.
    fn vector_bounds(&mut self, subscript: &Expr, alone: bool, span: Span) -> Option<Bounds> {
        // Products of larger numbers could overflow.
        let small = matches!(
            type_of(&self.unit, subscript),
            Some(Type::Integer(1 | 2 | 4))
        );
        if !self.undisturbed || !(small || alone) {
            return None;
        }
        let [lowest, highest, size] =
            ["MINVAL", "MAXVAL", "SIZE"].map(|f| intrinsic(&mut self.unit, f));
        let of = |f: SymId| long(Expr::call(f, vec![subscript.clone()], span));
        Some(Bounds {
            lowest: of(lowest?),
            highest: of(highest?),
            from: Expr::long(1, span),
            to: of(size?),
            step: None,
        })
    }

    /// Returns the bounds of a section in each dimension.
    fn section_bounds(
        &mut self,
        sym: SymId,
        subscripts: &[Expr],
        array: &Array,
        span: Span,
    ) -> Option<Vec<Bounds>> {
        let mut bounds = Vec::new();
        let ubound = match subscripts
            .iter()
            .any(|s| matches!(s.kind, ExprKind::Range(_, None, _)))
        {
            true => intrinsic(&mut self.unit, "UBOUND"),
            false => None,
        };
        for (k, s) in subscripts.iter().enumerate() {
            if !is_plain(&self.unit, s) {
                return None;
            }
            let ExprKind::Range(from, to, step) = &s.kind else {
                bounds.push(match rank(&self.unit, s) {
                    0 => Bounds::one(s),
                    _ => self.vector_bounds(s, subscripts.len() == 1, span)?,
                });
                continue;
            };
            let constants = Constants::of(&self.unit);
            let step = step.as_ref().map(|s| (constants.integer(s), (**s).clone()));
            let lower = || Some(array.lowers[k].expr(span));
            // The variables in the array's bounds may have changed since the unit was entered.
            let upper = || {
                if let Some(allocated) = self.arrays.allocated.get(&sym) {
                    return Some(Expr::var(*allocated.uppers.get(k)?, span));
                }
                let upper = self.unit.symbols[sym].dims[k].upper.as_ref()?;
                match constants.integer(upper) {
                    Some(n) => Some(Expr::long(n, span)),
                    None if upper.kind == ExprKind::Star => None,
                    None => {
                        let dimension = Expr::int(k as i64 + 1, span);
                        let args = vec![Expr::var(sym, span), dimension, Expr::int(8, span)];
                        Some(Expr::call(ubound?, args, span))
                    }
                }
            };
            let given = |e: &Option<Box<Expr>>| e.as_ref().map(|e| (**e).clone());
            // Correct for either direction.
            let from = given(from).or_else(lower)?;
            let to = given(to).or_else(upper)?;
            bounds.push(match step {
                None | Some((Some(1), _)) => Bounds::of(from, to),
                // Compilers themselves reject the constant 0.
                Some((Some(0), _)) => return None,
                Some((_, step)) => self.stepped(from, to, step, span),
            });
        }
        Some(bounds)
    }

    /// Returns the bounds of a section with a step. The last bound need not be reached.
    fn stepped(&mut self, from: Expr, to: Expr, step: Expr, span: Span) -> Bounds {
        let args = [&from, &to, &step].map(|e| long(e.clone())).to_vec();
        Bounds {
            lowest: self.call_support(Support::Lowest, args.clone(), span),
            highest: self.call_support(Support::Highest, args, span),
            from,
            to,
            step: Some(step),
        }
    }

    /// Returns the number of elements in a section; with `any`, 1 if there are some and 0 if there are none, since
    /// the number itself may be too large for an INTEGER*8.
    fn section_count(
        &mut self,
        bounds: &[Bounds],
        subscripts: &[Expr],
        any: bool,
        span: Span,
    ) -> Expr {
        let mut product: Option<Expr> = None;
        for (b, s) in bounds.iter().zip(subscripts) {
            if !self.selects_several(s) {
                continue;
            }
            let mut args = vec![long(b.from.clone()), long(b.to.clone())];
            args.extend(b.step.clone().map(long));
            let support = match (any, &b.step) {
                (true, None) => {
                    args.push(Expr::long(1, span));
                    Support::Any
                }
                (true, Some(_)) => Support::Any,
                (false, Some(_)) => Support::Steps,
                (false, None) => Support::Count,
            };
            let count = self.call_support(support, args, span);
            product = Some(match product {
                Some(p) => Expr::binary(BinOp::Mul, p, count),
                None => count,
            });
        }
        product.unwrap_or_else(|| Expr::long(1, span))
    }

    fn substring(&mut self, e: &mut Expr, shown: &str) {
        if !self.checks {
            return;
        }
        let span = e.span;
        let ExprKind::Substring(base, from, to) = &mut e.kind else {
            return;
        };
        let Some(sym) = base.base() else {
            return self.reason(format!("the length of {shown} is not known"));
        };
        let constants = Constants::of(&self.unit);
        let length = match &self.unit.symbols[sym].length {
            None => Some(1),
            Some(e) => constants.integer(e),
        };
        let first = from.as_ref().map_or(Some(1), |e| constants.integer(e));
        let last = to.as_ref().map_or(length, |e| constants.integer(e));
        if let (Some(first), Some(last), Some(length)) = (first, last, length)
            && (first > last || (first >= 1 && last <= length))
        {
            return;
        }
        if to.is_none() && first.is_some_and(|f| f >= 1) {
            return;
        }
        let length = match length {
            Some(n) => Expr::long(n, span),
            None => {
                let Some(len) = intrinsic(&mut self.unit, "LEN") else {
                    return self.reason(format!("the length of {shown} is not known"));
                };
                let whole = match &base.kind {
                    ExprKind::Element(s, _) | ExprKind::Var(s) => Expr::var(*s, span),
                    _ => return self.reason(format!("the length of {shown} is not known")),
                };
                long(Expr::call(len, vec![whole], span))
            }
        };
        let plain = |e: &Option<Box<Expr>>| e.as_ref().is_none_or(|e| is_plain(&self.unit, e));
        if !plain(to) {
            return self.reason(format!("functions are called in the bounds of {shown}"));
        }
        self.fails = true;
        let low = from.take().map_or(Expr::long(1, span), |e| long(*e));
        let high = to.as_ref().map_or(length.clone(), |e| long((**e).clone()));
        let args = vec![low, high, length, self.what(shown, span)];
        *from = Some(Box::new(self.call_support(Support::Substring, args, span)));
    }

    /// Checks the use of a whole array.
    fn whole(&mut self, sym: SymId, span: Span) {
        if !self.checks {
            return;
        }
        let array = self.array(sym);
        let length = match array.length {
            Length::Trusted => return,
            Length::Unknown(why) => return self.reason(why),
            Length::Known(length) => length,
        };
        if self.arrays.allocated.contains_key(&sym) {
            let Some(allocated) = intrinsic(&mut self.unit, "ALLOCATED") else {
                return;
            };
            let there = Expr::call(allocated, vec![Expr::var(sym, span)], span);
            let shown = self.unit.symbols[sym].name.to_string();
            let (one, none) = (Expr::long(1, span), Expr::long(0, span));
            let check = self.whole_check(one, none, &shown, span);
            let check = Stmt::logical_if(Expr::not(there, span), check, span);
            self.before.push(check);
            return;
        }
        // Without a size, gfortran rejects it.
        let Some(total) = self.total(sym).filter(|total| *total != length) else {
            return;
        };
        let rest = length.minus(&total);
        if rest.value().is_some_and(|v| v >= 0) {
            return;
        }
        let shown = self.unit.symbols[sym].name.to_string();
        let check = self.whole_check(total.expr(span), length.expr(span), &shown, span);
        self.before.push(check);
    }

    pub(super) fn whole_check(
        &mut self,
        needed: Expr,
        there: Expr,
        shown: &str,
        span: Span,
    ) -> Stmt {
        self.fails = true;
        let what = self.what(shown, span);
        let support = self.support(Support::Whole);
        Stmt::call(support, vec![needed, there, what], span)
    }

    /// Returns a statement that ends the call if two extents differ.
    pub(super) fn same_check(&mut self, a: Expr, b: Expr, shown: &str, span: Span) -> Stmt {
        self.fails = true;
        let what = self.what(shown, span);
        let support = self.support(Support::Same);
        Stmt::call(support, vec![a, b, what], span)
    }

    // Calls.

    fn call(&mut self, callee: SymId, args: &mut Vec<Expr>, span: Span) {
        let symbol = &self.unit.symbols[callee];
        if symbol.storage_class == StorageClass::Dummy {
            return self.call_given(callee, args, span);
        }
        let name = match symbol.storage_class {
            StorageClass::Result => self.unit.name.clone(),
            _ => symbol.name.clone(),
        };
        let Some(target) = self.pass.interfaces.get(&name) else {
            if !super::is_harmless(symbol) {
                self.reason(format!("{name} is called, whose text is not there"));
            }
            self.has_room_for(&name, args);
            // An unknown procedure receives its arguments as they are, and may use all of them.
            for a in args {
                self.expr(a, Use::Value);
            }
            return;
        };
        if target.args.len() != args.len() {
            self.reason(format!("{name} is called with another number of arguments"));
            args.iter_mut().for_each(|a| self.expr(a, Use::Inside));
            return;
        }
        // The caller must provide enough room for the result.
        if let Some((ty, length)) = target.result {
            let (here, expected) = super::result_of(&self.unit, callee);
            let text = ty == Some(Type::Character);
            if ty != here || (text && (length.is_none() || length != expected)) {
                self.reason(format!(
                    "the result of {name} is of another type or length here"
                ));
            }
        }
        let mut lengths = Vec::new();
        for (a, dummy) in args.iter_mut().zip(&target.args) {
            match dummy {
                super::Dummy::Other => self.expr(a, Use::Inside),
                super::Dummy::Scalar { size, any } => {
                    let shown = print_expr(&self.unit, a);
                    self.scalar(a, *size, *any, &name, &shown);
                }
                super::Dummy::Array { size, any } => {
                    let length = self.length_of(a, *size, *any, &name, span);
                    if target.measured {
                        lengths.push(length);
                    }
                }
            }
        }
        args.extend(lengths);
    }

    /// Checks what is passed to a scalar of `size` bytes.
    fn scalar(&mut self, a: &mut Expr, size: Option<i64>, any: bool, callee: &str, shown: &str) {
        // Old programs pass `'DGER '` for a CHARACTER*6. What lies behind the constant is arbitrary, so that blanks
        // are as good.
        if let ExprKind::Char(text) = &mut a.kind
            && let Some(size) = size.and_then(|size| usize::try_from(size).ok())
            && text.len() < size
        {
            text.push_str(&" ".repeat(size - text.len()));
        }
        let there = self.size_of(a);
        let length = match there {
            None if !any => self.length_now(a),
            _ => None,
        };
        if let ExprKind::Var(s) = a.kind
            && self.unit.symbols[s].is_array()
        {
            // Passes its first element.
            self.first_element(s, a.span);
        } else {
            self.expr(a, Use::Value);
        }
        let enough = match (size, there) {
            _ if any => true,
            (Some(size), Some(there)) => size <= there,
            (Some(size), None) => match length {
                Some(length) if self.checks => {
                    let shown = format!("LEN({shown})");
                    let needed = Expr::long(size, a.span);
                    let check = self.whole_check(needed, length, &shown, a.span);
                    self.before.push(check);
                    true
                }
                _ => false,
            },
            _ => false,
        };
        if !enough {
            self.reason(format!("{callee} takes more than {shown} is"));
        }
    }

    /// Returns the size of a scalar or an array element in bytes.
    fn size_of(&self, e: &Expr) -> Option<i64> {
        let real = self.pass.real;
        let length = |e: &Option<Expr>| match e {
            None => Some(1),
            Some(e) => Constants::of(&self.unit).integer(e),
        };
        match &e.kind {
            ExprKind::Var(s) | ExprKind::Element(s, _) if self.unit.symbols[*s].is_variable() => {
                let symbol = &self.unit.symbols[*s];
                super::bytes(symbol.ty?, real).or_else(|| length(&symbol.length))
            }
            ExprKind::Char(text) | ExprKind::Hollerith(text) => i64::try_from(text.len()).ok(),
            ExprKind::Paren(e) => self.size_of(e),
            _ => super::bytes(type_of(&self.unit, e)?, real),
        }
    }

    /// Returns the length of a text that is passed on, as an INTEGER*8 that is evaluated before the statement.
    fn length_now(&mut self, e: &Expr) -> Option<Expr> {
        let span = e.span;
        if type_of(&self.unit, e) != Some(Type::Character) || rank(&self.unit, e) > 0 {
            return None;
        }
        let is_text = |s: SymId| self.unit.symbols[s].is_variable();
        let whole = match &e.kind {
            ExprKind::Var(s) | ExprKind::Element(s, _) if is_text(*s) => Expr::var(*s, span),
            ExprKind::Substring(base, from, to) => {
                let bounds = || [from, to].into_iter().flatten();
                let base = base.base().filter(|s| is_text(*s))?;
                let scalar = bounds().all(|b| self.is_scalar_arithmetic(b));
                if !self.undisturbed || !scalar {
                    return None;
                }
                let first = from
                    .as_ref()
                    .map_or(Expr::long(1, span), |e| long((**e).clone()));
                let last = match to {
                    Some(e) => long((**e).clone()),
                    None => {
                        let len = intrinsic(&mut self.unit, "LEN")?;
                        long(Expr::call(len, vec![Expr::var(base, span)], span))
                    }
                };
                return Some(self.call_support(Support::Count, vec![first, last], span));
            }
            _ => return None,
        };
        let len = intrinsic(&mut self.unit, "LEN")?;
        Some(long(Expr::call(len, vec![whole], span)))
    }

    fn first_element(&mut self, s: SymId, span: Span) {
        if !self.checks {
            return;
        }
        match self.array(s).length {
            Length::Known(length) => {
                if length.value().is_none_or(|v| v < 1) {
                    let shown = self.unit.symbols[s].name.to_string();
                    let one = Expr::long(1, span);
                    let check = self.whole_check(one, length.expr(span), &shown, span);
                    self.before.push(check);
                }
            }
            Length::Trusted => {}
            Length::Unknown(why) => self.reason(why),
        }
    }

    /// Returns the number of elements of `size` bytes from the start of an actual argument on.
    fn length_of(
        &mut self,
        a: &mut Expr,
        size: Option<i64>,
        any: bool,
        callee: &str,
        span: Span,
    ) -> Expr {
        let there = self.size_of(a);
        let shown = print_expr(&self.unit, a);
        let count = self.count_of(a, &shown, false, span);
        let Some(count) = count else {
            return Expr::long(1 << 60, span);
        };
        match (there, size) {
            (Some(a), Some(b)) if a == b || b == 0 => count,
            (Some(a), Some(b)) => {
                let bytes =
                    Expr::binary(BinOp::Mul, Expr::parens(count, span), Expr::long(a, span));
                Expr::binary(BinOp::Div, bytes, Expr::long(b, span))
            }
            _ if any => count,
            _ => {
                self.reason(format!(
                    "the length of {shown} is not known, which {callee} gets"
                ));
                Expr::long(1 << 60, span)
            }
        }
    }

    /// Returns the number of elements of its own type from the start of an actual argument on; `None` if it
    /// is unknown. `declared` limits the number to the declared size for an array that is not a dummy
    /// argument.
    pub(super) fn count_of(
        &mut self,
        a: &mut Expr,
        shown: &str,
        declared: bool,
        span: Span,
    ) -> Option<Expr> {
        let scalar = rank(&self.unit, a) == 0;
        match &mut a.kind {
            ExprKind::Var(s) if self.unit.symbols[*s].is_variable() => {
                let s = *s;
                if !self.unit.symbols[s].is_array() {
                    let rest = self.arrays.rest(&self.unit, s, 1, &self.context());
                    return Some(Expr::long(i64::try_from(rest).unwrap_or(1), span));
                }
                match self.array(s).length {
                    Length::Known(length) => Some(length.expr(span)),
                    Length::Trusted => None,
                    Length::Unknown(why) => {
                        self.reason(why);
                        None
                    }
                }
            }
            ExprKind::Element(s, subscripts) if self.unit.symbols[*s].is_array() => {
                let s = *s;
                subscripts.iter_mut().for_each(|x| self.expr(x, Use::Value));
                let array = self.array(s);
                let length = match &array.length {
                    Length::Known(length) => length.clone(),
                    Length::Trusted => return None,
                    Length::Unknown(why) => {
                        let why = why.clone();
                        self.reason(why);
                        return None;
                    }
                };
                let length =
                    match declared && self.unit.symbols[s].storage_class != StorageClass::Dummy {
                        true => self.total(s).unwrap_or(length),
                        false => length,
                    };
                if subscripts.len() != array.lowers.len() {
                    self.reason(format!("{shown} has another number of subscripts"));
                    return None;
                }
                if subscripts.iter().any(|s| self.selects_several(s)) {
                    let Some(bounds) = self.section_bounds(s, subscripts, &array, span) else {
                        self.reason(format!("the section {shown} is not simple"));
                        return None;
                    };
                    let count = self.section_count(&bounds, subscripts, false, span);
                    if self.checks {
                        self.section(s, subscripts, &array, &length, shown, span);
                    }
                    return Some(count);
                }
                if !subscripts.iter().all(|s| is_plain(&self.unit, s)) {
                    self.reason(format!("functions are called in the subscripts of {shown}"));
                    return None;
                }
                let number = number(subscripts, &array, span);
                if let (ExprKind::Kind(n, 8), Some(length)) = (&number.kind, length.value())
                    && let ExprKind::Int(n) = n.kind
                {
                    let rest = if n < 1 {
                        0
                    } else {
                        (length - i128::from(n) + 1).max(0)
                    };
                    return Some(Expr::long(i64::try_from(rest).unwrap_or(0), span));
                }
                let args = vec![number, length.expr(span)];
                Some(self.call_support(Support::Rest, args, span))
            }
            ExprKind::Substring(..) => {
                self.expr(a, Use::Value);
                self.reason(format!("{shown} is passed for an array"));
                None
            }
            ExprKind::Var(_) => {
                self.reason(format!("{shown} is passed for an array"));
                None
            }
            _ if scalar => {
                self.expr(a, Use::Value);
                Some(Expr::long(1, span))
            }
            ExprKind::Paren(e) if matches!(e.kind, ExprKind::Var(_)) => {
                let base = e.base();
                let total = base.and_then(|s| self.total(s));
                self.expr(a, Use::Value);
                total.map(|t| t.expr(span))
            }
            _ => {
                self.expr(a, Use::Inside);
                self.reason(format!("{shown} is passed for an array"));
                None
            }
        }
    }
}

/// The bounds of a section in one dimension.
struct Bounds {
    /// As written, or the default.
    from: Expr,
    to: Expr,
    /// The step, unless it is 1.
    step: Option<Expr>,
    /// The extreme subscripts that actually occur.
    lowest: Expr,
    highest: Expr,
}

impl Bounds {
    fn one(subscript: &Expr) -> Bounds {
        Bounds::of(subscript.clone(), subscript.clone())
    }

    fn of(from: Expr, to: Expr) -> Bounds {
        Bounds {
            lowest: from.clone(),
            highest: to.clone(),
            from,
            to,
            step: None,
        }
    }
}

/// Returns the number of an element, from 1, computed like addresses are by compilers.
fn number(subscripts: &[Expr], array: &Array, span: Span) -> Expr {
    use farfel_lang::ir::BinOp::{Add, Mul, Sub};
    let mut number = 1i128;
    let mut sum: Option<Expr> = None;
    for (k, s) in subscripts.iter().enumerate() {
        let (lower, stride) = (&array.lowers[k], &array.strides[k]);
        let constant = match &s.kind {
            ExprKind::Int(n) => Some(i128::from(*n)),
            _ => None,
        };
        if let (Some(s), Some(l), Some(stride)) = (constant, lower.value(), stride.value()) {
            number = number.saturating_add((s - l).saturating_mul(stride));
            continue;
        }
        if let (Some(s), Some(l)) = (constant, lower.value())
            && s == l
        {
            continue;
        }
        let term = match (lower.value(), stride.value()) {
            (Some(l), Some(1)) => {
                number -= l;
                long(s.clone())
            }
            (Some(0), _) => Expr::parens(long(s.clone()), span),
            _ => Expr::parens(Expr::binary(Sub, long(s.clone()), lower.expr(span)), span),
        };
        let term = match stride.value() {
            Some(1) => term,
            _ => Expr::binary(Mul, stride.expr(span), term),
        };
        sum = Some(match sum {
            Some(sum) => Expr::binary(Add, sum, term),
            None => term,
        });
    }
    let size = i64::try_from(number.abs()).unwrap_or(i64::MAX);
    match sum {
        None if number < 0 => Expr::minus(Expr::long(size, span), span),
        None => Expr::long(size, span),
        Some(sum) if number == 0 => sum,
        Some(sum) if number < 0 => Expr::binary(Sub, sum, Expr::long(size, span)),
        Some(sum) => Expr::binary(Add, sum, Expr::long(size, span)),
    }
}

/// Formats the place of a statement for people.
pub(crate) fn place_of(sources: &Sources, span: Span) -> Option<String> {
    if span.is_none() {
        return None;
    }
    let file = sources.get(span.file)?;
    Some(format!(
        "{}:{}",
        file.name,
        file.line_column(span.start).line
    ))
}

/// Returns `IF (condition) statement`, or a block if there are several statements.
pub(crate) fn under(condition: Expr, mut arm: Block, span: Span) -> StmtKind {
    match (arm.len(), arm.pop()) {
        (1, Some(one)) if !matches!(one.kind, StmtKind::If(_)) => {
            StmtKind::LogicalIf(condition, Box::new(one))
        }
        (_, last) => {
            arm.extend(last);
            Stmt::branches(vec![(condition, arm)], None, span).kind
        }
    }
}

/// Ends every loop with END DO. The statement that used to end it remains its last statement, with its label.
pub(crate) fn unlabel_loops(body: &mut Block) {
    walk_block_mut(body, &mut |s| {
        if let StmtKind::Do(d) = &mut s.kind
            && matches!(d.end, DoEnd::Label(_))
        {
            d.end = DoEnd::EndDo(None);
        }
    });
}

/// Returns the largest label of a unit.
fn last_label(unit: &Unit, body: &Block) -> u32 {
    let mut last = 0;
    let mut copy = body.clone();
    for s in &mut copy {
        for_each_defined(s, &mut |label| last = last.max(*label));
    }
    for spec in &unit.specs {
        if let farfel_lang::ir::SpecKind::Format(label, _) = &spec.kind {
            last = last.max(*label);
        }
    }
    last
}

/// Whether a statement is a compiler directive for the following loop.
fn is_loop_directive(s: &Stmt) -> bool {
    matches!(&s.kind, StmtKind::Comment(c) if c.starts_with("GCC$") || c.starts_with("DIR$"))
}

/// Whether a statement is a directive that divides loops among threads, each with its own variables.
fn is_parallel(s: &Stmt) -> bool {
    match &s.kind {
        StmtKind::Comment(c) => c.starts_with("$OMP") || c.starts_with("$omp"),
        StmtKind::Do(d) => d.parallel().is_some(),
        _ => false,
    }
}

/// Returns the name of a construct.
fn construct(s: &mut Stmt) -> Option<&mut Name> {
    match &mut s.kind {
        StmtKind::Do(d) => d.name.as_mut(),
        StmtKind::If(b) => b.name.as_mut(),
        StmtKind::Where(w) => w.block.name.as_mut(),
        StmtKind::Select(s) => s.name.as_mut(),
        _ => None,
    }
}

/// Calls `f` with every label that is defined by a statement or within it.
pub(super) fn for_each_defined(s: &mut Stmt, f: &mut dyn FnMut(&mut u32)) {
    s.walk_mut(&mut |s| {
        s.label.iter_mut().for_each(&mut *f);
        let mut block = |b: &mut IfBlock| {
            b.end_label.iter_mut().for_each(&mut *f);
            b.marks
                .iter_mut()
                .flat_map(|m| &mut m.label)
                .for_each(&mut *f);
        };
        match &mut s.kind {
            StmtKind::If(b) => block(b),
            StmtKind::Where(w) => block(&mut w.block),
            StmtKind::Select(select) => {
                let marks = select.cases.iter_mut().map(|c| &mut c.mark);
                for mark in marks.chain([&mut select.end]) {
                    mark.label.iter_mut().for_each(&mut *f);
                }
            }
            StmtKind::Do(d) => {
                if let DoEnd::EndDo(Some(label)) = &mut d.end {
                    f(label);
                }
            }
            _ => {}
        }
    });
}

/// Calls `f` with every label to which the statement itself may jump.
pub(super) fn for_each_jump(s: &mut Stmt, f: &mut dyn FnMut(&mut u32)) {
    match &mut s.kind {
        StmtKind::Goto(label) => f(label),
        StmtKind::ArithmeticIf(_, labels) => labels.iter_mut().for_each(f),
        StmtKind::ComputedGoto(labels, _) | StmtKind::AssignedGoto(_, labels) => {
            labels.iter_mut().for_each(f);
        }
        StmtKind::AssignLabel(label, _) => f(label),
        StmtKind::Call(_, args) => {
            for a in args {
                if let ExprKind::AltReturn(label) = &mut a.kind {
                    f(label);
                }
            }
        }
        StmtKind::Io(io) => {
            for c in &mut io.control {
                if let ExprKind::Keyword(name, e) = &mut c.kind
                    && matches!(name.as_str(), "END" | "ERR" | "EOR")
                    && let ExprKind::Int(label) = &mut e.kind
                    && let Ok(mut number) = u32::try_from(*label)
                {
                    f(&mut number);
                    *label = number.into();
                }
            }
        }
        _ => {}
    }
}
