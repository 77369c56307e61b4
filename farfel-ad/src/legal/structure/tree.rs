//! The statements of a unit as a tree in which every jump has its target.

use super::emit::Names;
use super::io_branches::{IoBranchRewriter, StatusBranch};
use super::target::{Target, unsupported};
use farfel_lang::Span;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{
    Block, Do, DoControl, DoEnd, Expr, ExprKind, IfBlock, Label, LoopDirective, Name, Select, Stmt,
    StmtId, StmtKind, SymId, walk_block,
};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// A statement.
#[derive(Debug)]
pub(super) struct Node {
    /// Its number, in textual order.
    pub id: usize,
    /// The statement.
    pub stmt: StmtId,
    /// Its position in the source.
    pub span: Span,
    /// The kind of statement.
    pub kind: Kind,
}

/// The kinds of statement, by their effect on control flow.
#[derive(Debug)]
pub(super) enum Kind {
    /// Continues with the next statement.
    Plain(StmtKind),
    /// GOTO, RETURN, CYCLE, EXIT.
    Jump(Target),
    /// A computed GOTO.
    Computed(Vec<Target>, Expr),
    /// An assigned GOTO: the labels with their targets.
    Assigned(SymId, Vec<(Label, Target)>),
    /// An arithmetic IF.
    Arithmetic(Expr, [Target; 3]),
    /// A statement that jumps if a variable has certain values afterwards.
    StatusBranch(StatusBranch),
    /// `IF (…) statement` with a jump as its statement.
    LogicalIf(Expr, Box<Node>),
    /// IF: its arms, and ELSE.
    If(Vec<(Expr, Vec<Node>)>, Option<Vec<Node>>),
    /// SELECT CASE: the statement without the bodies of its cases, and the bodies.
    Select(Box<Select>, Vec<Vec<Node>>),
    /// A loop, with the directive for its adjoint.
    Do(DoControl, Vec<Node>, Option<Box<LoopDirective>>),
}

/// The statements of a unit, and the targets of its jumps.
pub(super) struct Tree {
    pub nodes: Vec<Node>,
    /// FORMAT statements, which are not executed.
    pub formats: Vec<Stmt>,
    pub jumps: Jumps,
}

impl Tree {
    /// Builds the tree of a block of statements. `names` supplies what is needed for statements
    /// whose outcome determines a jump.
    pub fn of(block: Block, names: &mut Names, errors: &mut Vec<Diagnostic>) -> Tree {
        let mut assigned: HashMap<SymId, BTreeSet<Label>> = HashMap::new();
        walk_block(&block, &mut |s| {
            if let StmtKind::AssignLabel(label, var) = s.kind {
                assigned.entry(var).or_default().insert(label);
            }
        });
        let mut grower = TreeBuilder {
            next: 0,
            labels: HashMap::new(),
            constructs: Vec::new(),
            formats: Vec::new(),
            assigned,
            names,
            errors,
        };
        let mut nodes = grower.block(block);
        let TreeBuilder {
            labels, formats, ..
        } = grower;
        let mut loops = Vec::new();
        let mut jumps = Vec::new();
        let mut spans = HashMap::new();
        for n in &mut nodes {
            n.resolve(&labels, &mut jumps, &mut loops, &mut spans);
        }
        for (from, to) in &jumps {
            let span = spans.get(from).copied().unwrap_or(Span::NONE);
            match to {
                Target::Label(l) => errors.push(unsupported(
                    span,
                    format!("the jump to {l} does not lead to a statement"),
                )),
                Target::At(t) | Target::EndBody(t) => {
                    let into = |r: &&Range<usize>| {
                        let inside = match to {
                            Target::At(_) => r.start < *t && *t < r.end,
                            _ => r.contains(t),
                        };
                        inside && !r.contains(from)
                    };
                    if loops.iter().any(|r| into(&r)) {
                        errors.push(unsupported(span, "this jump leads into a loop".to_owned()));
                    }
                }
                Target::After(_) | Target::Leave => {}
            }
        }
        let targets = jumps.iter().map(|(_, t)| *t).collect();
        Tree {
            nodes,
            formats,
            jumps: Jumps {
                list: jumps,
                targets,
            },
        }
    }
}

/// The jumps of a unit: the statements that jump, and their targets.
pub(super) struct Jumps {
    list: Vec<(usize, Target)>,
    targets: HashSet<Target>,
}

impl Jumps {
    /// Whether there is a jump to this target.
    pub fn is_target(&self, place: Target) -> bool {
        self.targets.contains(&place)
    }

    /// Whether all jumps out of these statements lead to `way_out`, and no jumps lead into them.
    pub fn is_closed(&self, inside: &Range<usize>, way_out: Target) -> bool {
        self.list.iter().all(|(from, to)| {
            let from = inside.contains(from);
            let there = match to {
                Target::At(t) | Target::After(t) | Target::EndBody(t) => inside.contains(t),
                Target::Leave | Target::Label(_) => false,
            };
            if from {
                there || *to == way_out
            } else {
                !there
            }
        })
    }
}

struct TreeBuilder<'a, 'u> {
    next: usize,
    labels: HashMap<Label, Target>,
    /// The enclosing constructs: the name, the number, and whether it is a loop.
    constructs: Vec<(Option<Name>, usize, bool)>,
    formats: Vec<Stmt>,
    /// The labels that are assigned to each variable.
    assigned: HashMap<SymId, BTreeSet<Label>>,
    names: &'a mut Names<'u>,
    errors: &'a mut Vec<Diagnostic>,
}

impl<'u> TreeBuilder<'_, 'u> {
    fn asker(&mut self) -> IoBranchRewriter<'_, 'u> {
        IoBranchRewriter {
            names: self.names,
            errors: self.errors,
        }
    }

    fn block(&mut self, block: Block) -> Vec<Node> {
        let mut nodes = Vec::with_capacity(block.len());
        for s in block {
            if matches!(s.kind, StmtKind::Format(_)) {
                self.formats.push(s);
            } else {
                nodes.push(self.stmt(s));
            }
        }
        nodes
    }

    fn stmt(&mut self, s: Stmt) -> Node {
        let Stmt {
            id: stmt,
            label,
            kind,
            span,
        } = s;
        let id = self.next;
        self.next += 1;
        if let Some(l) = label {
            self.labels.insert(l, Target::At(id));
        }
        let kind = match kind {
            StmtKind::Goto(l) => Kind::Jump(Target::Label(l)),
            StmtKind::Return(None) => Kind::Jump(Target::Leave),
            StmtKind::Cycle(name) => Kind::Jump(self.construct(&name, true, span)),
            StmtKind::Exit(name) => Kind::Jump(self.construct(&name, false, span)),
            StmtKind::ComputedGoto(labels, e) => {
                Kind::Computed(labels.into_iter().map(Target::Label).collect(), e)
            }
            StmtKind::AssignedGoto(var, listed) => {
                let all = self.assigned.get(&var).cloned().unwrap_or_default();
                let can = all.into_iter();
                let can = can.filter(|l| listed.is_empty() || listed.contains(l));
                let to: Vec<_> = can.map(|l| (l, Target::Label(l))).collect();
                if to.is_empty() {
                    let what = "no ASSIGN gives this GOTO a label".to_owned();
                    self.errors.push(unsupported(span, what));
                }
                Kind::Assigned(var, to)
            }
            StmtKind::AssignLabel(label, var) => Kind::Plain(StmtKind::Assign(
                Expr::var(var, span),
                Expr::int(i64::from(label), span),
            )),
            StmtKind::ArithmeticIf(e, labels) => Kind::Arithmetic(e, labels.map(Target::Label)),
            StmtKind::LogicalIf(c, inner) => {
                let inner_span = inner.span;
                let inner = self.stmt(*inner);
                match inner.kind {
                    Kind::Plain(kind) if kind != StmtKind::Continue => Kind::Plain(
                        StmtKind::LogicalIf(c, Box::new(Stmt::new(kind, inner_span))),
                    ),
                    _ => Kind::LogicalIf(c, Box::new(inner)),
                }
            }
            StmtKind::If(b) => self.if_block(b, id),
            StmtKind::Select(mut b) => {
                self.constructs.push((b.name.take(), id, false));
                let comments = std::mem::take(&mut b.comments);
                b.comments = comments
                    .into_iter()
                    .filter(|s| matches!(s.kind, StmtKind::Comment(_)))
                    .collect();
                let cases = b.cases.iter_mut();
                let bodies: Vec<Block> = cases.map(|c| std::mem::take(&mut c.body)).collect();
                let bodies = bodies.into_iter().map(|b| self.block(b)).collect();
                self.constructs.pop();
                if let Some(l) = b.end.label.take() {
                    self.labels.insert(l, Target::After(id));
                }
                Kind::Select(b, bodies)
            }
            StmtKind::Do(d) => {
                let Do {
                    name,
                    control,
                    body,
                    end,
                    end_span: _,
                    directive: mark,
                } = *d;
                self.constructs.push((name, id, true));
                let body = self.block(body);
                self.constructs.pop();
                if let DoEnd::EndDo(Some(l)) = end {
                    self.labels.insert(l, Target::EndBody(id));
                }
                Kind::Do(control, body, mark)
            }
            StmtKind::Where(mut w) => {
                w.block.name = None;
                w.block.end_label = None;
                Kind::Plain(StmtKind::Where(w))
            }
            StmtKind::Ad(b) => {
                let what = "this block has not become a derivative".to_owned();
                self.errors.push(unsupported(span, what));
                Kind::Plain(StmtKind::Ad(b))
            }
            StmtKind::Io(io) => {
                let assigned = std::mem::take(&mut self.assigned);
                let made = self.asker().io(*io, &assigned, span);
                self.assigned = assigned;
                made.map_or_else(Kind::Plain, Kind::StatusBranch)
            }
            kind @ (StmtKind::Entry(_) | StmtKind::Return(Some(_))) => {
                let what = match kind {
                    StmtKind::Entry(_) => "this ENTRY",
                    _ => "this alternate return",
                };
                let what = format!("{what} is not where it can be differentiated");
                self.errors.push(unsupported(span, what));
                Kind::Plain(kind)
            }
            kind @ (StmtKind::Comment(_)
            | StmtKind::Assign(..)
            | StmtKind::Call(..)
            | StmtKind::Continue
            | StmtKind::Stop(_)
            | StmtKind::Pause(_)
            | StmtKind::Format(_)
            | StmtKind::Allocation(_)) => Kind::Plain(kind),
        };
        Node {
            id,
            stmt,
            span,
            kind,
        }
    }

    fn if_block(&mut self, b: IfBlock, id: usize) -> Kind {
        let IfBlock {
            name,
            arms,
            otherwise,
            marks: _,
            end_label,
            end_span: _,
        } = b;
        self.constructs.push((name, id, false));
        let arms = arms.into_iter().map(|(c, b)| (c, self.block(b))).collect();
        let otherwise = otherwise.map(|b| self.block(b));
        self.constructs.pop();
        if let Some(l) = end_label {
            self.labels.insert(l, Target::After(id));
        }
        Kind::If(arms, otherwise)
    }

    /// Returns the target of CYCLE or EXIT.
    fn construct(&mut self, name: &Option<Name>, cycle: bool, span: Span) -> Target {
        let found = self
            .constructs
            .iter()
            .rev()
            .find(|(n, _, is_loop)| match name {
                Some(_) => n == name,
                None => *is_loop,
            });
        match found {
            Some((_, id, true)) if cycle => Target::EndBody(*id),
            Some((_, id, _)) if !cycle => Target::After(*id),
            _ => {
                let what = "this jump belongs to no loop".to_owned();
                self.errors.push(unsupported(span, what));
                Target::Leave
            }
        }
    }
}

impl Node {
    /// Returns the range of numbers of these statements and of all statements in them.
    pub fn range(nodes: &[Node]) -> Range<usize> {
        match (nodes.first(), nodes.last()) {
            (Some(first), Some(last)) => first.id..last.end(),
            _ => 0..0,
        }
    }

    /// Returns the number after those of this statement and of all statements in it.
    fn end(&self) -> usize {
        let last = |nodes: &[Node]| nodes.last().map(Node::end);
        let inside = match &self.kind {
            Kind::LogicalIf(_, inner) => Some(inner.end()),
            Kind::If(arms, otherwise) => {
                let arms = arms.iter().map(|(_, b)| b).chain(otherwise);
                arms.filter_map(|b| last(b)).max()
            }
            Kind::Select(_, cases) => cases.iter().filter_map(|b| last(b)).max(),
            Kind::Do(_, body, _) => last(body),
            _ => None,
        };
        inside.unwrap_or(self.id + 1)
    }

    /// Resolves labels, and records jumps and loops.
    fn resolve(
        &mut self,
        labels: &HashMap<Label, Target>,
        jumps: &mut Vec<(usize, Target)>,
        loops: &mut Vec<Range<usize>>,
        spans: &mut HashMap<usize, Span>,
    ) {
        let end = self.end();
        let id = self.id;
        let mut note = |t: &mut Target| {
            if let Target::Label(l) = t
                && let Some(found) = labels.get(l)
            {
                *t = *found;
            }
            jumps.push((id, *t));
            spans.insert(id, self.span);
        };
        match &mut self.kind {
            Kind::Plain(_) => {}
            Kind::Jump(t) => note(t),
            Kind::Computed(list, _) => list.iter_mut().for_each(note),
            Kind::Assigned(_, list) => list.iter_mut().for_each(|(_, t)| note(t)),
            Kind::Arithmetic(_, list) => list.iter_mut().for_each(note),
            Kind::StatusBranch(a) => a.cases.iter_mut().for_each(|(_, t)| note(t)),
            Kind::LogicalIf(_, inner) => inner.resolve(labels, jumps, loops, spans),
            Kind::If(arms, otherwise) => {
                let arms = arms.iter_mut().map(|(_, b)| b).chain(otherwise);
                for n in arms.flatten() {
                    n.resolve(labels, jumps, loops, spans);
                }
            }
            Kind::Select(_, cases) => {
                for n in cases.iter_mut().flatten() {
                    n.resolve(labels, jumps, loops, spans);
                }
            }
            Kind::Do(_, body, _) => {
                loops.push(id..end);
                for n in body {
                    n.resolve(labels, jumps, loops, spans);
                }
            }
        }
    }
}

/// Whether this is a simple integer or logical expression with only scalars and constants, so that
/// evaluating it once more than the program does is harmless.
pub(crate) fn is_harmless(e: &Expr) -> bool {
    let mut harmless = true;
    e.walk(&mut |e| {
        use farfel_lang::ir::BinOp::{Div, Pow};
        harmless &= match &e.kind {
            ExprKind::Int(_) | ExprKind::Logical(_) | ExprKind::Var(_) | ExprKind::Paren(_) => true,
            ExprKind::Unary(..) => true,
            ExprKind::Binary(op, ..) => !matches!(op, Div | Pow),
            _ => false,
        };
    });
    harmless
}
