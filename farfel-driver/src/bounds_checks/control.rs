//! Conditions and loops, and what is known of a statement before it is executed.

use super::rewrite::{CheckInserter, Use};
use super::statement_labels::{construct, for_each_defined, for_each_jump};
use farfel_lang::ir::{
    BinOp, Block, Class, DoControl, Expr, ExprKind, IfBlock, IoKind, Name, Stmt, StmtKind, SymId,
    walk_block,
};
use farfel_lang::types::rank;
use std::collections::{HashMap, HashSet};

impl CheckInserter<'_> {
    /// Requires the arguments that a statement uses, without the statements in it, unless its conditions are looked at on
    /// their own.
    pub(super) fn require_arguments_of(&mut self, s: &Stmt) {
        let on_their_own = match &s.kind {
            StmtKind::If(_) | StmtKind::Entry(_) => true,
            StmtKind::Do(d) => matches!(d.control, DoControl::While(_)),
            _ => false,
        };
        if self.entered.is_none() || on_their_own {
            return;
        }
        let mut used = Vec::new();
        let mut note = |s: &Stmt| {
            s.for_each_own_symbol(&mut |s| used.push(s));
            s.for_each_own_expr(&mut |e| e.for_each_symbol(&mut |s| used.push(s)));
        };
        match &s.kind {
            StmtKind::Where(_) => walk_block(std::slice::from_ref(s), &mut note),
            _ => note(s),
        }
        self.require_arguments(&used, s.span);
    }

    /// Notes whether the values of scalars stay the same while a statement is executed, and its implied DOs.
    pub(super) fn look_at(&mut self, s: &Stmt) {
        // The others change what they name.
        let mut calls = matches!(&s.kind, StmtKind::Io(io)
            if !matches!(io.kind, IoKind::Read | IoKind::Write | IoKind::Print));
        self.transfers = matches!(s.kind, StmtKind::Io(_));
        let mut implied = HashSet::new();
        let mut decides = false;
        let mut look = |e: &Expr| {
            self.look_into(e, &mut calls, &mut implied);
            decides |= has_and(e);
        };
        match &s.kind {
            // The statements in it belong to it.
            StmtKind::Where(_) => walk_block(std::slice::from_ref(s), &mut |s| {
                s.for_each_own_expr(&mut look);
            }),
            // Each condition is looked at on its own.
            StmtKind::If(_) => {}
            _ => s.for_each_own_expr(&mut look),
        }
        self.undisturbed = !calls;
        self.implied = implied;
        self.decides = decides;
        let mut assigned = HashSet::new();
        let mut note = |s: &Stmt| match &s.kind {
            StmtKind::Assign(target, _) if rank(&self.unit, target) > 0 => {
                assigned.extend(target.base());
            }
            StmtKind::Io(io) => {
                let mut add = |e: &Expr| e.for_each_symbol(&mut |s| assigned.extend([s]));
                io.control.iter().for_each(&mut add);
                if io.kind == IoKind::Read {
                    io.items.iter().for_each(|e| bases(e, &mut assigned));
                }
            }
            _ => {}
        };
        match &s.kind {
            StmtKind::Where(_) => walk_block(std::slice::from_ref(s), &mut note),
            _ => note(s),
        }
        self.assigned = assigned;
    }

    /// Notes whether an expression calls procedures, and its implied DOs.
    fn look_into(&self, e: &Expr, calls: &mut bool, implied: &mut HashSet<SymId>) {
        e.walk(&mut |e| match &e.kind {
            ExprKind::Call(f, _) => {
                *calls |= !matches!(
                    self.unit.symbols[*f].class,
                    Class::Intrinsic(_) | Class::StatementFunction(..)
                );
            }
            ExprKind::ImpliedDo(d) => {
                implied.insert(d.var);
            }
            _ => {}
        });
    }

    pub(super) fn if_block(&mut self, block: &mut IfBlock) {
        let mut done = Vec::new();
        for (mut condition, body) in std::mem::take(&mut block.arms) {
            let checks = self.condition(&mut condition);
            done.push((checks, condition, self.nested(body)));
        }
        let mut otherwise = block.otherwise.take().map(|body| self.nested(body));
        let mut arms = Vec::new();
        // What must precede the condition of an ELSE IF is executed only if the ones before it are false.
        for (k, (mut checks, condition, body)) in done.into_iter().enumerate().rev() {
            let span = condition.span;
            arms.insert(0, (condition, body));
            if k == 0 {
                self.before.append(&mut checks);
            } else if !checks.is_empty() {
                let rest = Stmt::branches(std::mem::take(&mut arms), otherwise.take(), span);
                checks.push(rest);
                otherwise = Some(checks);
                block.marks.truncate(k - 1);
            }
        }
        block.arms = arms;
        block.otherwise = otherwise;
    }

    /// Rewrites a condition; returns what must precede its evaluation.
    fn condition(&mut self, condition: &mut Expr) -> Block {
        let outer = std::mem::take(&mut self.before);
        let (mut calls, mut implied) = (false, HashSet::new());
        self.look_into(condition, &mut calls, &mut implied);
        self.undisturbed = !calls;
        self.implied = implied;
        self.decides = has_and(condition);
        let mut used = Vec::new();
        condition.for_each_symbol(&mut |s| used.push(s));
        self.require_arguments(&used, condition.span);
        self.make_room_for_value(condition);
        self.expr(condition, Use::Value);
        std::mem::replace(&mut self.before, outer)
    }

    pub(super) fn do_loop(&mut self, s: Stmt, directives: Block, made: &mut Block) {
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
        let mut repeated = Vec::new();
        match &mut d.control {
            DoControl::While(condition) => {
                let mut checks = self.condition(condition);
                // What must precede the condition is executed each time.
                if !checks.is_empty() {
                    let end = Expr::not(Expr::parens(condition.clone(), span), span);
                    checks.push(Stmt::logical_if(end, Stmt::exit(span), span));
                    d.control = DoControl::Forever;
                    repeated = checks;
                }
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
        inner.splice(0..0, repeated);
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
}

fn has_and(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e.kind, ExprKind::Binary(BinOp::And | BinOp::Or, ..)));
    found
}

/// Adds the variables that READ assigns for an item.
fn bases(item: &Expr, found: &mut HashSet<SymId>) {
    match &item.kind {
        ExprKind::ImpliedDo(d) => {
            found.insert(d.var);
            d.items.iter().for_each(|e| bases(e, found));
        }
        _ => found.extend(item.base()),
    }
}
