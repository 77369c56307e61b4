//! Loops whose control involves derivatives: writes that control as statements.
//!
//! `DO T = X, Y, H` with a varied real T is written with an INTEGER that counts iterations, and a
//! statement that adds H to T; `DO WHILE (F(X))` where F changes variables evaluates F in a
//! separate statement. Both become endless loops that are left by EXIT, with the same meaning as
//! before.

use farfel_lang::Span;
use farfel_lang::callgraph::references;
use farfel_lang::intrinsics::Intrinsic;
use farfel_lang::ir::build::choice;
use farfel_lang::ir::{
    BinOp, Block, Class, Do, DoControl, DoEnd, Expr, ExprKind, Label, LoopDirectiveKind, Name,
    Program, Stmt, StmtKind, StorageClass, SymId, Symbol, Type, Unit, walk_block, walk_block_mut,
};
use std::collections::HashSet;

/// Which loops to rewrite.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum LoopSelection {
    /// Those with a real counter between bounds that may be varied.
    Counting,
    /// Those whose condition calls a procedure.
    Conditions,
}

/// Whether there is such a loop.
pub(crate) fn has_loops(program: &Program, which: LoopSelection) -> bool {
    program.units.iter().any(|u| has_wanted(u, which))
}

fn has_wanted(unit: &Unit, which: LoopSelection) -> bool {
    let mut found = false;
    walk_block(&unit.body, &mut |s| found |= is_wanted(unit, s, which));
    found
}

/// Rewrites loops. Loops with a directive for their adjoint are left as they are.
pub(crate) fn written_as_statements(program: &mut Program, which: LoopSelection) {
    for unit in &mut program.units {
        if !has_wanted(unit, which) {
            continue;
        }
        let mut body = std::mem::take(&mut unit.body);
        // Labels stay where they are, but loops no longer end at them.
        walk_block_mut(&mut body, &mut |s| {
            if let StmtKind::Do(d) = &mut s.kind {
                d.end = DoEnd::EndDo(None);
            }
        });
        rewritten(unit, body, |writer, body| writer.block(body, which));
    }
}

/// Whether there is a fixed-point loop.
pub(crate) fn has_fixed_points(program: &Program) -> bool {
    program.units.iter().any(has_fixed_point)
}

fn has_fixed_point(unit: &Unit) -> bool {
    let mut marked = false;
    walk_block(&unit.body, &mut |s| marked |= fixed_point(s).is_some());
    marked
}

/// Rewrites fixed-point loops that are left by EXIT at the end of an iteration, or by a GOTO behind
/// the loop, as DO WHILE: their adjoint requires complete iterations.
pub(crate) fn with_conditions(program: &mut Program) {
    for unit in &mut program.units {
        if !has_fixed_point(unit) {
            continue;
        }
        let body = std::mem::take(&mut unit.body);
        rewritten(unit, body, |writer, body| writer.conditions(body));
    }
}

/// Replaces the statements of a unit by rewritten ones, and declares the variables that they need.
pub(super) fn rewritten(
    unit: &mut Unit,
    mut body: Block,
    rewrite: impl FnOnce(&mut Writer, &mut Block),
) {
    let taken: HashSet<Name> = references(unit).into_iter().collect();
    let mut writer = Writer {
        unit,
        taken,
        new: Vec::new(),
    };
    rewrite(&mut writer, &mut body);
    let new = writer.new;
    unit.body = body;
    if !new.is_empty() {
        crate::legal::structure::name_saved(unit, &new);
    }
    for s in new {
        unit.declare(s);
    }
}

fn fixed_point(s: &Stmt) -> Option<&Do> {
    let StmtKind::Do(d) = &s.kind else {
        return None;
    };
    let mark = d.directive.as_ref()?;
    matches!(mark.kind, LoopDirectiveKind::FixedPoint { .. }).then_some(d)
}

/// Returns the position and the condition of a statement that leaves a loop at the end of an
/// iteration; `behind`: the label of the statement after the loop.
fn last_exit(d: &Do, behind: Option<Label>) -> Option<(usize, Expr)> {
    let plain = |s: &Stmt| matches!(s.kind, StmtKind::Comment(_) | StmtKind::Continue);
    let at = d.body.iter().rposition(|s| !plain(s))?;
    let last = d.body.get(at)?;
    let leaves = |s: &Stmt| match &s.kind {
        StmtKind::Exit(name) => name.is_none() || *name == d.name,
        StmtKind::Goto(l) => Some(*l) == behind,
        _ => false,
    };
    let condition = match &last.kind {
        StmtKind::LogicalIf(c, inner) if leaves(inner) => c,
        StmtKind::If(b) => match (b.arms.as_slice(), &b.otherwise) {
            ([(c, block)], None) if matches!(block.as_slice(), [s] if leaves(s)) => c,
            _ => return None,
        },
        _ => return None,
    };
    // A CYCLE, or a jump to a label at or behind the condition, could bypass it.
    let labels: Vec<Label> = d.body[at..].iter().filter_map(|s| s.label).collect();
    let mut past = false;
    walk_block(&d.body, &mut |s| match &s.kind {
        StmtKind::Cycle(_) => past = true,
        StmtKind::Goto(l) => past |= labels.contains(l),
        StmtKind::ComputedGoto(..) | StmtKind::ArithmeticIf(..) | StmtKind::AssignedGoto(..) => {
            past |= !labels.is_empty();
        }
        _ => {}
    });
    (!past).then(|| (at, condition.clone()))
}

fn is_wanted(unit: &Unit, s: &Stmt, which: LoopSelection) -> bool {
    let StmtKind::Do(d) = &s.kind else {
        return false;
    };
    if d.directive.is_some() {
        return false;
    }
    match &d.control {
        DoControl::Count {
            var,
            from,
            to,
            step,
        } => {
            let mut varies = false;
            for e in [from, to].into_iter().chain(step) {
                e.for_each_symbol(&mut |s| {
                    let s = &unit.symbols[s];
                    let real = s.ty.is_some_and(Type::is_differentiable);
                    varies |= real && !matches!(s.class, Class::Parameter(_));
                });
            }
            varies
                && which == LoopSelection::Counting
                && unit.symbols[*var].ty.is_some_and(Type::is_differentiable)
        }
        DoControl::While(c) => {
            let mut calls = false;
            c.walk(&mut |e| {
                if let ExprKind::Call(s, _) = &e.kind {
                    calls |= !matches!(unit.symbols[*s].class, Class::Intrinsic(_));
                }
            });
            calls && which == LoopSelection::Conditions
        }
        DoControl::Forever => false,
    }
}

/// Writes statements that need new variables.
pub(super) struct Writer<'u> {
    /// The unit, without its statements.
    pub unit: &'u mut Unit,
    taken: HashSet<Name>,
    new: Vec<SymId>,
}

impl Writer<'_> {
    /// Adds a new variable.
    pub fn variable(&mut self, wanted: &str, ty: Type) -> Expr {
        let taken = |n: &str| self.taken.contains(n) || n == self.unit.name;
        let name = self.unit.symbols.unused(wanted, &taken);
        let mut symbol = Symbol::variable(name, ty, Span::NONE);
        symbol.typed = true;
        let s = self.unit.symbols.add(symbol);
        self.new.push(s);
        Expr::var(s, Span::NONE)
    }

    /// Returns the intrinsic INT, unless the name has another meaning.
    fn whole(&mut self) -> Option<SymId> {
        Some(match self.unit.symbols.find("INT") {
            Some(s) => matches!(self.unit.symbols[s].class, Class::Intrinsic(_)).then_some(s)?,
            None => self.unit.symbols.add(Symbol {
                class: Class::Intrinsic(Intrinsic::find("INT")?),
                storage_class: StorageClass::Global,
                ..Symbol::new("INT".into(), Span::NONE)
            }),
        })
    }

    fn block(&mut self, block: &mut Block, which: LoopSelection) {
        let mut out = Vec::with_capacity(block.len());
        for mut s in std::mem::take(block) {
            for b in s.blocks_mut() {
                self.block(b, which);
            }
            let made = match is_wanted(self.unit, &s, which) {
                true => self.open(&s),
                false => None,
            };
            let Some(mut made) = made else {
                out.push(s);
                continue;
            };
            if let Some(first) = made.first_mut() {
                first.label = s.label;
            }
            out.append(&mut made);
        }
        *block = out;
    }

    fn conditions(&mut self, block: &mut Block) {
        let mut out: Block = Vec::with_capacity(block.len());
        let labels: Vec<Option<Label>> = block.iter().map(|s| s.label).collect();
        for (i, mut s) in std::mem::take(block).into_iter().enumerate() {
            for b in s.blocks_mut() {
                self.conditions(b);
            }
            let behind = labels.get(i + 1).copied().flatten();
            let found = fixed_point(&s).and_then(|d| last_exit(d, behind));
            let Some((at, condition)) = found else {
                out.push(s);
                continue;
            };
            let span = s.span;
            let set = |to: &Expr, value: Expr| Stmt::assign(to.clone(), value, span);
            let StmtKind::Do(d) = &mut s.kind else {
                continue;
            };
            if matches!(&d.control, DoControl::Count { var, .. }
                if self.unit.symbols[*var].ty.is_some_and(Type::is_differentiable))
            {
                out.push(s);
                continue;
            }
            let mut before = Vec::new();
            let more = self.variable("LMORE", Type::LOGICAL);
            before.push(set(&more, Expr::logical(true, span)));
            let mut going = more.clone();
            let mut latch = Vec::new();
            let control = std::mem::replace(&mut d.control, DoControl::Forever);
            match control {
                DoControl::Forever => {}
                DoControl::While(c) => going = Expr::binary(BinOp::And, going, c),
                DoControl::Count {
                    var,
                    from,
                    to,
                    step,
                } => {
                    let ty = self.unit.symbols[var].ty.unwrap_or(Type::INTEGER);
                    let (n, by) = (self.variable("NTRIP", ty), self.variable("KSTEP", ty));
                    let first = self.variable("KFIRST", ty);
                    let k = Expr::var(var, span);
                    let quoted = Counted {
                        first,
                        from,
                        by: by.clone(),
                        step: step.unwrap_or_else(|| Expr::int(1, span)),
                        n: n.clone(),
                        to,
                        k: k.clone(),
                    };
                    before.extend(quoted.block(&self.unit.symbols, span));
                    let left = Expr::binary(BinOp::Gt, n.clone(), Expr::int(0, span));
                    latch = CountedOn { k, by, n }.block(&self.unit.symbols, span);
                    going = Expr::binary(BinOp::And, going, left);
                }
            }
            d.control = DoControl::While(going);
            d.end = DoEnd::EndDo(None);
            let condition = Expr::parens(condition, span);
            let not = Expr::not(condition, span);
            let label = d.body.get(at).and_then(|s| s.label);
            d.body.truncate(at);
            d.body.push(Stmt {
                label,
                ..set(&more, not)
            });
            d.body.extend(choice(vec![(more, latch)], Vec::new(), span));
            if let Some(first) = before.first_mut() {
                first.label = s.label.take();
            }
            out.append(&mut before);
            out.push(s);
        }
        *block = out;
    }

    /// Returns an endless loop for a loop, with the statements that precede it.
    fn open(&mut self, s: &Stmt) -> Option<Block> {
        let StmtKind::Do(d) = &s.kind else {
            return None;
        };
        let span = s.span;
        let body = d.body.clone();
        let mut made = match &d.control {
            DoControl::While(c) => {
                let quoted = While {
                    more: self.variable("LMORE", Type::LOGICAL),
                    condition: c.clone(),
                    body,
                };
                quoted.block(&self.unit.symbols, span)
            }
            DoControl::Count {
                var,
                from,
                to,
                step,
            } => {
                let ty = self.unit.symbols[*var].ty?;
                let (last, by) = (self.variable("TEND", ty), self.variable("TSTEP", ty));
                let n = self.variable("NTRIP", Type::INTEGER);
                let k = self.variable("KTRIP", Type::INTEGER);
                let first = self.variable("TFIRST", ty);
                let quoted = Steps {
                    first,
                    from: from.clone(),
                    last,
                    to: to.clone(),
                    by,
                    step: step.clone().unwrap_or_else(|| Expr::int(1, span)),
                    n,
                    int: self.whole()?,
                    t: Expr::var(*var, span),
                    k,
                    body,
                };
                quoted.block(&self.unit.symbols, span)
            }
            DoControl::Forever => return None,
        };
        // It keeps its name, as EXIT and CYCLE may use it.
        if let Some(Stmt {
            kind: StmtKind::Do(open),
            ..
        }) = made.last_mut()
        {
            open.name = d.name.clone();
            open.end_span = d.end_span;
        }
        Some(made)
    }
}

farfel_lang::quote! {
    /// The statements before a counted loop whose iterations are counted down in `n`.
    struct Counted {
        first: Expr, from: Expr, by: Expr, step: Expr, n: Expr, to: Expr, k: Expr,
    }
    "
    first = from
    by = step
    n = to
    n = (n - first + by)/by
    k = first
    "
}

farfel_lang::quote! {
    /// The end of an iteration of such a loop.
    struct CountedOn { k: Expr, by: Expr, n: Expr }
    "
    k = k + by
    n = n - 1
    "
}

farfel_lang::quote! {
    /// A DO WHILE loop.
    struct While { more: Expr, condition: Expr, body: Block }
    "
    do
      more = condition
      if (.not. more) exit
      call body
    end do
    "
}

farfel_lang::quote! {
    /// A DO loop with a real variable. Bounds are evaluated once, before the variable is assigned;
    /// the number of iterations follows ANSI X3.9-1978, 11.10.3.
    struct Steps {
        first: Expr, from: Expr, last: Expr, to: Expr, by: Expr, step: Expr, n: Expr, int: SymId,
        t: Expr, k: Expr, body: Block,
    }
    "
    first = from
    last = to
    by = step
    n = int((last - first + by)/by)
    t = first
    k = 0
    do
      if (k > 0) t = t + by
      k = k + 1
      if (k > n) exit
      call body
    end do
    "
}
