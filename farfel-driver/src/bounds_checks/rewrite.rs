//! Rewrites the statements of one unit with checks.

use super::arrays::{
    Array, ArrayContext, Arrays, Length, is_allocated_here, is_plain, long, number,
};
use super::frames::Frame;
use super::poly::Poly;
use super::statement_labels::{construct, last_label};
use super::{CheckPass, CheckedUnit};
use crate::support::{MOST_DIMENSIONS, Support, intrinsic, shortened};
use farfel_lang::ir::{
    BinOp, Block, Class, DoEnd, Expr, ExprKind, Name, Origin, Stmt, StmtKind, StorageClass, SymId,
    Symbol, Type, Unit, walk_block_mut,
};
use farfel_lang::print::print_expr;
use farfel_lang::storage::{Constants, UnitStorage};
use farfel_lang::types::rank;
use farfel_lang::{Sources, Span};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The arguments that are used although the unit may have been entered where they do not exist, with these ENTRY points:
/// their numbers, from 0, and their names.
pub(super) type Absent = HashMap<SymId, Vec<(usize, String)>>;

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
    /// The arguments that may not exist where they are used.
    pub absent: Absent,
    /// The variable that tells at which ENTRY point the unit has been entered, if that matters.
    pub entered: Option<SymId>,
    support: HashMap<Support, SymId>,
    /// Statements to be inserted before the current one.
    pub before: Block,
    /// Whether no expression of the current statement calls a procedure, which may be a CALL: what holds before the
    /// statement then also holds where its expressions are evaluated.
    pub undisturbed: bool,
    /// The variables of implied DOs in the current statement, which have no values before it.
    pub implied: HashSet<SymId>,
    /// The variables that it assigns while it uses others: arrays, and what input and output change.
    pub assigned: HashSet<SymId>,
    /// Whether it is an input or output statement.
    pub transfers: bool,
    /// Whether it may evaluate only parts of its expressions, behind .AND. or .OR.
    pub decides: bool,
    /// Statements to be inserted after it.
    after: Block,
    /// Whether some checks are made at run time.
    pub fails: bool,
    /// Whether a statement asks for memory only for texts.
    pub surprises: bool,
    /// The reasons why something is not covered.
    pub reasons: BTreeSet<String>,
    /// The largest label in use.
    pub last_label: u32,
    /// The names of constructs.
    pub names: HashSet<Name>,
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
            absent: Absent::new(),
            entered: None,
            support: HashMap::new(),
            before: Vec::new(),
            undisturbed: false,
            implied: HashSet::new(),
            assigned: HashSet::new(),
            transfers: false,
            decides: false,
            after: Vec::new(),
            fails: false,
            surprises: false,
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
    pub(super) fn run(mut self, mut body: Block) -> CheckedUnit {
        unlabel_loops(&mut body);
        self.last_label = last_label(&self.unit, &body);
        walk_block_mut(&mut body, &mut |s| {
            self.names.extend(construct(s).cloned());
            self.versions &= !is_parallel(s);
        });
        // What precedes a loop must not use arguments that only some of its statements use.
        self.versions &= self.entered.is_none();
        self.note_changes(&body);
        self.statement_functions();
        let mut body = self.block(body);
        self.note_entries(&mut body);
        self.fails |= self.arrays.overflows;
        let mut all = std::mem::take(&mut self.arrays.entry);
        for (sym, total) in std::mem::take(&mut self.arrays.automatic) {
            all.extend(self.size_check(sym, &total));
        }
        all.extend(body);
        self.unit.body = all;
        CheckedUnit {
            unit: self.unit,
            fails: self.fails,
            surprises: self.surprises,
            reasons: self.reasons,
        }
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

    pub(super) fn context(&self) -> ArrayContext<'_> {
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
        self.look_at(&s);
        self.require_arguments_of(&s);
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
            self.make_room(&s);
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
        self.make_room(s);
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

    pub(super) fn nested(&mut self, block: Block) -> Block {
        let outer = std::mem::take(&mut self.before);
        let flags = (self.transfers, self.decides);
        let held = (
            self.undisturbed,
            std::mem::take(&mut self.implied),
            std::mem::take(&mut self.assigned),
        );
        let made = self.block(block);
        self.before = outer;
        (self.undisturbed, self.implied, self.assigned) = held;
        (self.transfers, self.decides) = flags;
        made
    }

    /// Whether an assignment gives an array another shape.
    pub(super) fn is_reallocated(&self, array: SymId, value: &Expr) -> bool {
        is_allocated_here(&self.unit.symbols[array]) && rank(&self.unit, value) > 0
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
            false => (Class::Function, support.ty()),
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

    pub(super) fn call_statement(&mut self, support: Support, args: Vec<Expr>, span: Span) -> Stmt {
        Stmt::call(self.support(support), args, span)
    }

    /// Returns the text that a failed check shows: the reference and its place.
    pub(super) fn what(&self, shown: &str, span: Span) -> Expr {
        let shown = shortened(shown.to_owned());
        Expr::text(format!("{shown} at {}", self.place(span)), span)
    }

    /// Returns a place in the source, for people.
    pub(super) fn place(&self, span: Span) -> String {
        let place = self.pass.sources.and_then(|s| place_of(s, span));
        place.unwrap_or_else(|| self.unit.name.to_string())
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
    pub(super) fn whole(&mut self, sym: SymId, span: Span) {
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

    /// Returns a statement that ends the call unless there is memory for this number of bytes.
    pub(super) fn room_check(&mut self, bytes: Expr, shown: &str, span: Span) -> Stmt {
        let args = vec![
            bytes,
            Expr::text(shortened(shown.to_owned()), span),
            Expr::text(self.place(span), span),
        ];
        Stmt::call(self.support(Support::Room), args, span)
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
