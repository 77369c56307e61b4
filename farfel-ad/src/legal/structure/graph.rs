//! Converts the tree to basic blocks, and these to structured statements.
//!
//! Whatever no jump crosses is left as it is: for example a loop that is only left at its end, or
//! an IF without jumps out of its arms. The bodies of such statements are structured separately.
//! Everything else is split into basic blocks, from which [`super::shape`] creates statements
//! again.

use super::emit::{Names, calls};
use super::shape::{Graph, Id, Term, shape};
use super::target::{Target, unsupported};
use super::tree::{Jumps, Kind, Node};
use farfel_lang::Span;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{
    BinOp, Block, DoControl, DoEnd, Expr, ExprKind, IfBlock, Stmt, StmtId, StmtKind, SymId, Type,
    UnOp, Unit, walk_block,
};
use farfel_lang::types::type_of;
use std::collections::{HashMap, HashSet};

/// Creates the structured statements of a unit.
pub(super) struct GraphBuilder<'a, 'u> {
    pub jumps: &'a Jumps,
    pub names: &'a mut Names<'u>,
    pub errors: &'a mut Vec<Diagnostic>,
}

/// A body whose graph is being built.
struct Region {
    graph: Graph,
    places: HashMap<Target, Id>,
    /// The targets that have been reached.
    bound: HashSet<Target>,
}

impl Region {
    fn place(&mut self, target: Target) -> Id {
        let graph = &mut self.graph;
        *self.places.entry(target).or_insert_with(|| graph.add())
    }

    /// Continues at this target.
    fn bind(&mut self, target: Target, from: Id, span: Span) -> Id {
        let place = self.place(target);
        self.bound.insert(target);
        self.graph.end(from, Term::Jump(place), span);
        place
    }
}

impl GraphBuilder<'_, '_> {
    /// Returns the structured statements of a body that is left by jumps to `ways_out`.
    pub fn body(&mut self, nodes: Vec<Node>, ways_out: &[Target]) -> Block {
        let mut graph = Graph::default();
        let (entry, exit) = (graph.add(), graph.add());
        let mut region = Region {
            graph,
            places: ways_out.iter().map(|t| (*t, exit)).collect(),
            bound: ways_out.iter().copied().collect(),
        };
        let last = self.nodes(&mut region, nodes, entry, exit);
        region.graph.end(last, Term::Jump(exit), Span::NONE);
        let lost = region.places.keys().find(|t| !region.bound.contains(t));
        if lost.is_some() {
            let what = "this subprogram has a jump that leads nowhere".to_owned();
            self.errors.push(unsupported(Span::NONE, what));
            return Vec::new();
        }
        shape(&mut region.graph, entry, exit, self.names)
    }

    fn nodes(&mut self, r: &mut Region, nodes: Vec<Node>, mut at: Id, exit: Id) -> Id {
        for n in nodes {
            if self.jumps.is_target(Target::At(n.id)) {
                at = r.bind(Target::At(n.id), at, n.span);
            }
            at = self.node(r, n, at, exit);
        }
        at
    }

    /// Adds a statement, and returns the block where control continues.
    fn node(&mut self, r: &mut Region, n: Node, at: Id, exit: Id) -> Id {
        let Node {
            id,
            stmt,
            span,
            kind,
        } = n;
        match kind {
            Kind::Plain(StmtKind::Continue) => at,
            Kind::Plain(kind) => {
                let stops = matches!(kind, StmtKind::Stop(_));
                r.graph.push(at, the_same(stmt, kind, span));
                if stops {
                    // Control never gets there, so the edge does no harm.
                    r.graph.end(at, Term::Jump(exit), span);
                    return r.graph.add();
                }
                at
            }
            Kind::Jump(to) => {
                let to = r.place(to);
                r.graph.end(at, Term::Jump(to), span);
                r.graph.add()
            }
            Kind::LogicalIf(c, inner) => {
                if let Kind::Jump(to) = inner.kind {
                    let (to, next) = (r.place(to), r.graph.add());
                    r.graph.end(at, Term::Branch(c, to, next), span);
                    return next;
                }
                let (then, next) = (r.graph.add(), r.graph.add());
                r.graph.end(at, Term::Branch(c, then, next), span);
                let last = self.node(r, *inner, then, exit);
                r.graph.end(last, Term::Jump(next), span);
                next
            }
            Kind::Computed(to, e) => {
                let mut cases: Vec<(Vec<Expr>, Id)> = Vec::new();
                for (i, t) in (1_i64..).zip(to) {
                    let to = r.place(t);
                    let value = Expr::int(i, span);
                    match cases.iter_mut().find(|(_, t)| *t == to) {
                        Some((values, _)) => values.push(value),
                        None => cases.push((vec![value], to)),
                    }
                }
                let next = r.graph.add();
                r.graph.end(at, Term::Switch(e, cases, next), span);
                next
            }
            Kind::Assigned(var, mut to) => {
                // The variable has one of these labels.
                if let Some((_, last)) = to.pop() {
                    let cases = to
                        .into_iter()
                        .map(|(l, t)| (vec![Expr::int(i64::from(l), span)], r.place(t)));
                    let cases = cases.collect();
                    let last = r.place(last);
                    r.graph
                        .end(at, Term::Switch(Expr::var(var, span), cases, last), span);
                }
                r.graph.add()
            }
            Kind::Arithmetic(e, to) => {
                self.arithmetic(r, e, to, at, span);
                r.graph.add()
            }
            Kind::StatusBranch(a) => {
                for s in a.stmts {
                    r.graph.push(at, s);
                }
                let cases = a.cases.into_iter().map(|(v, t)| (v, r.place(t))).collect();
                let next = r.graph.add();
                r.graph.end(at, Term::Switch(a.selector, cases, next), span);
                next
            }
            Kind::If(arms, otherwise) => {
                let out = Target::After(id);
                let blocks = arms.iter().map(|(_, b)| b).chain(&otherwise);
                let mut closed = true;
                for b in blocks {
                    closed &= self.jumps.is_closed(&Node::range(b), out);
                }
                if closed {
                    let arms = arms.into_iter();
                    let made = IfBlock {
                        arms: arms.map(|(c, b)| (c, self.body(b, &[out]))).collect(),
                        otherwise: otherwise.map(|b| self.body(b, &[out])),
                        ..IfBlock::default()
                    };
                    r.graph.push(at, the_same(stmt, StmtKind::If(made), span));
                    return self.behind(r, id, at, span);
                }
                let after = r.graph.add();
                let mut at = at;
                for (c, b) in arms {
                    let (then, next) = (r.graph.add(), r.graph.add());
                    r.graph.end(at, Term::Branch(c, then, next), span);
                    let last = self.nodes(r, b, then, exit);
                    r.graph.end(last, Term::Jump(after), span);
                    at = next;
                }
                let last = self.nodes(r, otherwise.unwrap_or_default(), at, exit);
                r.graph.end(last, Term::Jump(after), span);
                self.behind(r, id, after, span)
            }
            Kind::Select(mut select, bodies) => {
                let out = Target::After(id);
                let mut ranges = bodies.iter().map(|b| Node::range(b));
                if ranges.all(|b| self.jumps.is_closed(&b, out)) {
                    for (c, b) in select.cases.iter_mut().zip(bodies) {
                        c.body = self.body(b, &[out]);
                        c.mark.label = None;
                    }
                    let kind = StmtKind::Select(select);
                    r.graph.push(at, the_same(stmt, kind, span));
                    return self.behind(r, id, at, span);
                }
                let after = r.graph.add();
                let (mut cases, mut default) = (Vec::new(), after);
                for (c, b) in select.cases.into_iter().zip(bodies) {
                    let start = r.graph.add();
                    match c.values {
                        Some(values) => cases.push((values, start)),
                        None => default = start,
                    }
                    let last = self.nodes(r, b, start, exit);
                    r.graph.end(last, Term::Jump(after), span);
                }
                for s in select.comments {
                    r.graph.push(at, s);
                }
                let selector = select.selector;
                r.graph
                    .end(at, Term::Switch(selector, cases, default), span);
                self.behind(r, id, after, span)
            }
            Kind::Do(control, body, mark) => {
                let out = Target::EndBody(id);
                // The tangent of a function in a condition requires statements before the
                // condition.
                let asks = matches!(&control, DoControl::While(c) if self.names.calls(c));
                if !asks && self.jumps.is_closed(&Node::range(&body), out) {
                    let control = match control {
                        DoControl::Forever => DoControl::While(Expr::logical(true, span)),
                        other => other,
                    };
                    let body = self.body(body, &[out]);
                    let mut made = Stmt::do_loop(control, body, span);
                    if let StmtKind::Do(d) = &mut made.kind {
                        d.directive = mark;
                    }
                    r.graph.push(at, made);
                } else {
                    let after = self.open_loop(r, id, control, body, at, exit, span);
                    return self.behind(r, id, after, span);
                }
                self.behind(r, id, at, span)
            }
        }
    }

    /// Continues behind a construct, which may be the target of a jump.
    fn behind(&mut self, r: &mut Region, id: usize, at: Id, span: Span) -> Id {
        match self.jumps.is_target(Target::After(id)) && !r.bound.contains(&Target::After(id)) {
            true => r.bind(Target::After(id), at, span),
            false => at,
        }
    }

    /// Adds a loop that is left by jumps.
    #[allow(clippy::too_many_arguments)]
    fn open_loop(
        &mut self,
        r: &mut Region,
        id: usize,
        control: DoControl,
        body: Vec<Node>,
        at: Id,
        exit: Id,
        span: Span,
    ) -> Id {
        let (head, start, after) = (r.graph.add(), r.graph.add(), r.graph.add());
        let mut latch = Vec::new();
        match control {
            DoControl::Count {
                var,
                from,
                to,
                step,
            } => {
                let (before, left) = self.count(var, from, to, step, span, &mut latch);
                for s in before {
                    r.graph.push(at, s);
                }
                let more = Expr::binary(BinOp::Gt, Expr::var(left, span), Expr::int(0, span));
                r.graph.end(head, Term::Branch(more, start, after), span);
            }
            DoControl::While(c) => r.graph.end(head, Term::Branch(c, start, after), span),
            DoControl::Forever => r.graph.end(head, Term::Jump(start), span),
        }
        r.graph.end(at, Term::Jump(head), span);
        let last = self.nodes(r, body, start, exit);
        let last = r.bind(Target::EndBody(id), last, span);
        for s in latch {
            r.graph.push(last, s);
        }
        r.graph.end(last, Term::Jump(head), span);
        after
    }

    /// Returns the statements before a counted loop, and the variable with the number of remaining
    /// iterations. Adds to `latch` what happens after each iteration.
    fn count(
        &mut self,
        var: SymId,
        from: Expr,
        to: Expr,
        step: Option<Expr>,
        span: Span,
        latch: &mut Block,
    ) -> (Block, SymId) {
        let ty = self.names.unit.symbols[var].ty.unwrap_or(Type::INTEGER);
        let left_type = match ty {
            Type::Integer(8) => ty,
            _ => Type::INTEGER,
        };
        let left = self.names.variable("NTRIP", left_type, span);
        let mut before = Vec::new();
        // Bounds are evaluated once, before the variable is assigned.
        let simple =
            |e: &Expr| matches!(e.kind, ExprKind::Int(_) | ExprKind::Real(_)) || is_minus(e);
        let fixed = |e: &Expr| {
            let mut plain = true;
            e.walk(&mut |e| {
                plain &= match &e.kind {
                    ExprKind::Var(s) => *s != var && self.names.is_own(*s),
                    ExprKind::Int(_)
                    | ExprKind::Real(_)
                    | ExprKind::Unary(..)
                    | ExprKind::Paren(_) => true,
                    ExprKind::Binary(op, ..) => op.is_arithmetic(),
                    _ => false,
                };
            });
            plain && type_of(self.names.unit, e) == Some(ty)
        };
        let in_order = !self.names.calls(&from)
            && fixed(&to)
            && step.as_ref().is_none_or(|s| simple(s) || fixed(s));
        let set = |s: SymId, e: Expr| Stmt::assign(Expr::var(s, span), e, span);
        let step = step.unwrap_or_else(|| Expr::int(1, span));
        let start = match from.kind {
            ExprKind::Int(start) => Some(start),
            _ => None,
        };
        let is_short = |e: &Expr| matches!(e.kind, ExprKind::Var(_) | ExprKind::Int(_));
        let (first, to, step) = if in_order {
            before.push(set(var, from));
            let step = match simple(&step) {
                true => step,
                false => {
                    let s = self.names.variable("NSTEP", ty, span);
                    before.push(set(s, step));
                    Expr::var(s, span)
                }
            };
            (var, to, step)
        } else {
            let first = self
                .names
                .variable(by_type(ty, "NFIRST", "FIRST"), ty, span);
            let last = self
                .names
                .variable(by_type(ty, "NLAST", "ENDVAL"), ty, span);
            before.push(set(first, from));
            before.push(set(last, to));
            let step = match simple(&step) {
                true => step,
                false => {
                    let s = self.names.variable(by_type(ty, "NSTEP", "STEP"), ty, span);
                    before.push(set(s, step));
                    Expr::var(s, span)
                }
            };
            before.push(set(var, Expr::var(first, span)));
            (first, Expr::var(last, span), step)
        };
        let group = |e: Expr| match e.kind {
            ExprKind::Binary(..) | ExprKind::Unary(..) => Expr::parens(e, span),
            _ => e,
        };
        let first = match start {
            Some(start) => Expr::int(start, span),
            None => Expr::var(first, span),
        };
        let one = matches!(step.kind, ExprKind::Int(1));
        let count = match ty {
            Type::Integer(1 | 2) => {
                // The number of iterations may be too large for the type of the variable.
                before.push(set(left, to));
                let distance = Expr::binary(BinOp::Sub, Expr::var(left, span), first);
                let all = Expr::binary(BinOp::Add, distance, group(step.clone()));
                Expr::binary(BinOp::Div, group(all), group(step.clone()))
            }
            Type::Integer(_) if one && start == Some(1) => to,
            Type::Integer(_) if one && is_short(&to) => {
                let distance = Expr::binary(BinOp::Sub, to, first);
                Expr::binary(BinOp::Add, distance, Expr::int(1, span))
            }
            _ => {
                // (to - from + step)/step, rounded towards zero.
                let distance = Expr::binary(BinOp::Sub, group(to), first);
                let all = Expr::binary(BinOp::Add, distance, group(step.clone()));
                Expr::binary(BinOp::Div, group(all), group(step.clone()))
            }
        };
        before.push(set(left, count));
        let add = Expr::binary(BinOp::Add, Expr::var(var, span), group(step));
        latch.push(set(var, add));
        let less = Expr::binary(BinOp::Sub, Expr::var(left, span), Expr::int(1, span));
        latch.push(set(left, less));
        (before, left)
    }

    /// Adds an arithmetic IF, whose value is evaluated once.
    fn arithmetic(&mut self, r: &mut Region, e: Expr, to: [Target; 3], at: Id, span: Span) {
        let [negative, zero, positive] = to.map(|t| r.place(t));
        let against = |e: Expr, op| Expr::binary(op, e, Expr::int(0, span));
        let (e, op, yes, no) = if negative == zero {
            (e, BinOp::Le, negative, positive)
        } else if zero == positive {
            (e, BinOp::Lt, negative, positive)
        } else if negative == positive {
            (e, BinOp::Eq, zero, positive)
        } else {
            let value = match e.kind {
                ExprKind::Var(_) => e,
                _ => {
                    let ty = type_of(self.names.unit, &e).unwrap_or(Type::DOUBLE);
                    let value = self
                        .names
                        .variable(by_type(ty, "NVALUE", "VALUE"), ty, span);
                    let value = Expr::var(value, span);
                    r.graph.push(at, Stmt::assign(value.clone(), e, span));
                    value
                }
            };
            let rest = r.graph.add();
            let is_zero = against(value.clone(), BinOp::Eq);
            r.graph
                .end(rest, Term::Branch(is_zero, zero, positive), span);
            (value, BinOp::Lt, negative, rest)
        };
        r.graph.end(at, Term::Branch(against(e, op), yes, no), span);
    }
}

fn is_minus(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Unary(UnOp::Minus, a) => matches!(a.kind, ExprKind::Int(_) | ExprKind::Real(_)),
        _ => false,
    }
}

fn by_type(ty: Type, integer: &'static str, real: &'static str) -> &'static str {
    match ty {
        Type::Integer(_) => integer,
        _ => real,
    }
}

/// Whether there are only statements that reverse mode can follow, and no jumps.
pub(super) fn is_structured(unit: &Unit) -> bool {
    let mut good = true;
    walk_block(&unit.body, &mut |s| {
        good &= match &s.kind {
            StmtKind::Format(_) => true,
            _ if s.label.is_some() => false,
            StmtKind::Comment(_)
            | StmtKind::Assign(..)
            | StmtKind::Where(_)
            | StmtKind::LogicalIf(..)
            | StmtKind::Stop(_)
            | StmtKind::Pause(_)
            | StmtKind::Allocation(_) => true,
            StmtKind::If(b) => b.name.is_none() && b.end_label.is_none(),
            StmtKind::Select(b) => b.name.is_none() && b.end.label.is_none(),
            StmtKind::Call(_, args) => !args
                .iter()
                .any(|a| matches!(a.kind, ExprKind::AltReturn(_))),
            StmtKind::Io(io) => !super::emit::jumps(io),
            StmtKind::Do(d) => {
                d.end == DoEnd::EndDo(None)
                    && d.name.is_none()
                    && match &d.control {
                        DoControl::Count { .. } => true,
                        DoControl::While(c) => !calls(unit, c),
                        DoControl::Forever => false,
                    }
            }
            StmtKind::ArithmeticIf(..)
            | StmtKind::Continue
            | StmtKind::Goto(_)
            | StmtKind::ComputedGoto(..)
            | StmtKind::AssignedGoto(..)
            | StmtKind::AssignLabel(..)
            | StmtKind::Return(_)
            | StmtKind::Entry(_)
            | StmtKind::Cycle(_)
            | StmtKind::Exit(_)
            | StmtKind::Ad(_) => false,
        };
    });
    good
}
/// Returns the rewritten form of a statement, with its id.
fn the_same(id: StmtId, kind: StmtKind, span: Span) -> Stmt {
    Stmt {
        id,
        ..Stmt::new(kind, span)
    }
}
