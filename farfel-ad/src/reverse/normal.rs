//! Brings a tangent unit into the form that sweeps are made of.
//!
//! - Blocks replace labels, and IF blocks replace logical IFs.
//! - Values that the reverse sweep evaluates again must not have changed: loop bounds that the body changes,
//!   functions in linear statements, and arguments that a call changes are assigned to temporaries first.

use super::AdjointEngine;
use super::transpose::is_derivative;
use super::unit_builder::UnitBuilder;
use crate::locations::{Set, Space};
use crate::subscripts::{begin_alike, begins};
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::build::sum;
use farfel_lang::ir::{
    BinOp, Block, Class, Do, DoControl, DoEnd, Expr, ExprKind, IfBlock, Origin, Stmt, StmtKind,
    SymId, Symbol, Type, Unit,
};
use farfel_lang::storage::constant::{Constants, integer};
use farfel_lang::types::{rank, type_of};

/// Whether an expression calls anything but intrinsic functions.
pub(super) fn has_calls(builder: &UnitBuilder, e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |x| {
        if let ExprKind::Call(s, _) = &x.kind {
            found |= !matches!(builder.unit.symbols[*s].class, Class::Intrinsic(_));
        }
    });
    found
}

pub(super) struct Normalizer<'w> {
    pub engine: &'w AdjointEngine,
    pub builder: &'w mut UnitBuilder,
    pub space: &'w Space,
    pub errors: &'w mut Vec<Diagnostic>,
}

impl Normalizer<'_> {
    pub fn block(&mut self, block: Block) -> Block {
        let mut out = Vec::with_capacity(block.len());
        for s in block {
            self.stmt(s, &mut out);
        }
        out
    }

    fn stmt(&mut self, mut s: Stmt, out: &mut Block) {
        let span = s.span;
        if let StmtKind::Format(_) = s.kind {
            out.push(s);
            return;
        }
        s.label = None;
        match s.kind {
            StmtKind::Continue => {}
            StmtKind::LogicalIf(c, inner) => {
                let arm = self.block(vec![*inner]);
                out.push(Stmt::block_if(
                    IfBlock {
                        arms: vec![(c, arm)],
                        ..IfBlock::default()
                    },
                    span,
                ));
            }
            StmtKind::If(mut b) => {
                b.end_label = None;
                b.name = None;
                b.marks.clear();
                for block in b.blocks_mut() {
                    *block = self.block(std::mem::take(block));
                }
                out.push(Stmt::block_if(b, span));
            }
            StmtKind::Select(mut b) => {
                b.end.label = None;
                b.name = None;
                b.comments.clear();
                for c in &mut b.cases {
                    c.body = self.block(std::mem::take(&mut c.body));
                }
                out.push(Stmt::select(*b, span));
            }
            StmtKind::Do(d) => self.do_loop(*d, span, out),
            StmtKind::Assign(target, value) => {
                let linear = is_derivative(&self.builder.derivatives, &target);
                let value = if linear {
                    self.without_calls(value, out)
                } else {
                    self.refuse_derivatives(&value, span);
                    value
                };
                let target = self.plain_designator(target, out);
                out.push(Stmt::assign(target, value, span));
            }
            StmtKind::Call(callee, args) => {
                let args = self.arguments(callee, args, span, out);
                out.push(Stmt::call(callee, args, span));
            }
            StmtKind::Comment(_)
            | StmtKind::Format(_)
            | StmtKind::Where(_)
            | StmtKind::Io(_)
            | StmtKind::Stop(_)
            | StmtKind::Pause(_)
            | StmtKind::Allocation(_) => out.push(s),
            StmtKind::Goto(_)
            | StmtKind::ArithmeticIf(..)
            | StmtKind::ComputedGoto(..)
            | StmtKind::AssignedGoto(..)
            | StmtKind::AssignLabel(..)
            | StmtKind::Return(_)
            | StmtKind::Entry(_)
            | StmtKind::Cycle(_)
            | StmtKind::Exit(_)
            | StmtKind::Ad(_) => self.errors.push(
                Diagnostic::error(
                    &rules::AD_CONTROL,
                    span,
                    "reverse mode cannot follow this jump",
                )
                .help("write it with IF, DO and DO WHILE"),
            ),
        }
    }

    /// Reports statements that compute something else from a derivative: they would silently have no adjoint.
    fn refuse_derivatives(&mut self, value: &Expr, span: Span) {
        let mut found = false;
        value.for_each_symbol(&mut |s| found |= self.builder.derivatives.contains(&s));
        if found {
            self.errors.push(
                Diagnostic::error(
                    &rules::AD_UNSUPPORTED,
                    span,
                    "the adjoint of this statement is not known to the built-in engine",
                )
                .help("write it in several statements"),
            );
        }
    }

    fn store(&mut self, e: Expr, out: &mut Block) -> Expr {
        let ty = type_of(&self.builder.unit, &e).unwrap_or(Type::REAL);
        let span = e.span;
        let t = Expr::var(self.builder.temporary(ty), span);
        out.push(Stmt::assign(t.clone(), e, span));
        t
    }

    /// The length of a text, if it follows from declarations.
    fn length(&mut self, e: &Expr) -> Option<Expr> {
        let span = e.span;
        let known = |builder: &UnitBuilder, e: &Expr| integer(&builder.unit, e);
        Some(match &e.kind {
            ExprKind::Char(text) => Expr::int(i64::try_from(text.chars().count()).ok()?, span),
            ExprKind::Paren(a) => self.length(a)?,
            ExprKind::Binary(BinOp::Concat, a, b) => {
                let both = sum(self.length(a)?, self.length(b)?);
                known(self.builder, &both).map_or(both, |n| Expr::int(n, span))
            }
            ExprKind::Substring(_, from, to) => {
                let from = from
                    .as_deref()
                    .map_or(Some(1), |e| known(self.builder, e))?;
                let to = known(self.builder, to.as_deref()?)?;
                Expr::int(to.checked_sub(from)?.checked_add(1)?.max(0), span)
            }
            ExprKind::Var(s) | ExprKind::Element(s, _) => {
                match Constants::of(&self.builder.unit).element_size(*s) {
                    Some(n) => Expr::int(n, span),
                    None => self.builder.call("LEN", vec![Expr::var(*s, span)], span),
                }
            }
            ExprKind::Call(f, _) => {
                let symbol = &self.builder.unit.symbols[*f];
                match (&symbol.class, &symbol.length) {
                    (Class::Intrinsic(_), _) if symbol.name == "CHAR" => Expr::int(1, span),
                    (Class::Intrinsic(_), _) => return None,
                    (_, None) => Expr::int(1, span),
                    (_, Some(length)) => Expr::int(known(self.builder, length)?, span),
                }
            }
            _ => return None,
        })
    }

    fn store_text(&mut self, e: Expr, length: Expr, out: &mut Block) -> Expr {
        let span = e.span;
        let name = self.builder.unused("TEMP");
        let t = self.builder.declare(Symbol {
            length: Some(length),
            ..Symbol::variable(name, Type::Character, span)
        });
        out.push(Stmt::assign(Expr::var(t, span), e, span));
        Expr::var(t, span)
    }

    /// Moves function calls to temporaries, since the reverse sweep needs their values and must not call them again.
    fn without_calls(&mut self, mut e: Expr, out: &mut Block) -> Expr {
        if !has_calls(self.builder, &e) {
            return e;
        }
        if let ExprKind::Call(s, _) = &e.kind
            && !matches!(self.builder.unit.symbols[*s].class, Class::Intrinsic(_))
        {
            return self.store(e, out);
        }
        for c in e.children_mut() {
            let inner = std::mem::replace(c, Expr::int(0, Span::NONE));
            *c = self.without_calls(inner, out);
        }
        e
    }

    fn plain_designator(&mut self, mut e: Expr, out: &mut Block) -> Expr {
        if has_calls(self.builder, &e) {
            for s in e.selectors_mut() {
                let inner = std::mem::replace(s, Expr::int(0, Span::NONE));
                *s = self.without_calls(inner, out);
            }
        }
        e
    }

    fn reads_any(&self, e: &Expr, locs: &Set) -> bool {
        let mut found = false;
        e.for_each_symbol(&mut |s| found |= locs.contains(self.space.loc(s)));
        found
    }

    fn do_loop(&mut self, d: Do, span: Span, out: &mut Block) {
        let body = self.block(d.body);
        let mut control = d.control;
        let mut first = Vec::new();
        let mut last = Vec::new();
        match &mut control {
            DoControl::Count {
                var,
                from,
                to,
                step,
            } => {
                let assigned = self
                    .engine
                    .assigned_in(&self.builder.unit, self.space, &body);
                for e in [&mut *from, &mut *to].into_iter().chain(step.iter_mut()) {
                    let mut own = assigned.clone();
                    own.insert(self.space.loc(*var));
                    if self.reads_any(e, &own) || has_calls(self.builder, e) {
                        let value = e.clone();
                        let ty = self.builder.unit.symbols[*var].ty.unwrap_or(Type::INTEGER);
                        let t = Expr::var(self.builder.temporary(ty), span);
                        out.push(Stmt::assign(t.clone(), value, span));
                        *e = t;
                    }
                }
                let real = !matches!(
                    self.builder.unit.symbols[*var].ty,
                    Some(Type::Integer(_)) | None
                );
                if real {
                    // The number of iterations by ANSI X3.9-1978, 11.10.3.
                    let step = step.take().unwrap_or_else(|| Expr::int(1, span));
                    let n = Expr::var(self.builder.temporary(Type::INTEGER), span);
                    let bin = |op, a, b| Expr::binary(op, a, b);
                    let paren = |e: Expr| Expr::parens(e, span);
                    let length = paren(bin(
                        BinOp::Add,
                        bin(BinOp::Sub, to.clone(), paren(from.clone())),
                        paren(step.clone()),
                    ));
                    let trips = bin(BinOp::Div, length, paren(step.clone()));
                    let trips = self.builder.call("INT", vec![trips], span);
                    out.push(Stmt::assign(n.clone(), trips, span));
                    let v = Expr::var(*var, span);
                    out.push(Stmt::assign(v.clone(), from.clone(), span));
                    last.push(Stmt::assign(
                        v.clone(),
                        bin(BinOp::Add, v, paren(step)),
                        span,
                    ));
                    let counter = self.builder.temporary(Type::INTEGER);
                    control = DoControl::Count {
                        var: counter,
                        from: Expr::int(1, span),
                        to: n,
                        step: None,
                    };
                }
            }
            DoControl::While(_) => {}
            DoControl::Forever => self.errors.push(
                Diagnostic::error(
                    &rules::AD_CONTROL,
                    span,
                    "reverse mode cannot follow a loop without an end",
                )
                .help("write it with DO WHILE"),
            ),
        }
        first.extend(body);
        first.append(&mut last);
        out.push(Stmt::repeat(
            Do {
                name: None,
                control,
                body: first,
                end: DoEnd::EndDo(None),
                end_span: d.end_span,
                directive: d.directive,
            },
            span,
        ));
    }

    /// Rewrites the arguments of a call of a tangent, so that nothing that the call changes determines which
    /// elements they are.
    fn arguments(
        &mut self,
        callee: farfel_lang::ir::SymId,
        mut args: Vec<Expr>,
        span: Span,
        out: &mut Block,
    ) -> Vec<Expr> {
        if self
            .engine
            .part_of(&self.builder.unit.symbols[callee].name)
            .is_none()
        {
            return args;
        }
        self.inputs_of_their_own(callee, &mut args, span, out);
        let call = Stmt::call(callee, args.clone(), span);
        let assigned =
            self.engine
                .assigned_in(&self.builder.unit, self.space, std::slice::from_ref(&call));
        let mut kept: Vec<(Expr, Expr)> = Vec::new();
        let effect = self
            .engine
            .effects
            .get(&self.builder.unit.symbols[callee].name);
        // The callee's reverse sweep starts from what its forward sweep has left in its copy of a value.
        let changes = |i: usize| effect.is_none_or(|e| e.assigned.contains(i));
        for (i, a) in args.iter_mut().enumerate() {
            let changed = self.reads_any(a, &assigned);
            let stored = rank(&self.builder.unit, a) == 0
                && type_of(&self.builder.unit, a).is_some()
                && (changed || has_calls(self.builder, a) || changes(i));
            match &a.kind {
                ExprKind::Element(..) | ExprKind::Substring(..) => {
                    for s in a.selectors_mut() {
                        if matches!(s.kind, ExprKind::Range(..)) {
                            continue;
                        }
                        if self.reads_any(s, &assigned) || has_calls(self.builder, s) {
                            let known = kept.iter().find(|(e, _)| e.equals_ignoring_spans(s));
                            let t = match known {
                                Some((_, t)) => t.clone(),
                                None => {
                                    let t = self.store(s.clone(), out);
                                    kept.push((s.clone(), t.clone()));
                                    t
                                }
                            };
                            *s = t;
                        }
                    }
                }
                ExprKind::Var(_) => {}
                _ if stored => {
                    let mut value = std::mem::replace(a, Expr::int(0, span));
                    if let ExprKind::Paren(inner) = value.kind {
                        value = *inner;
                    }
                    let text = type_of(&self.builder.unit, &value) == Some(Type::Character);
                    *a = match text.then(|| self.length(&value)) {
                        None => self.store(value, out),
                        Some(Some(length)) => self.store_text(value, length, out),
                        Some(None) => {
                            if changed {
                                self.errors.push(moving_text(value.span.or(span)));
                            }
                            value
                        }
                    };
                }
                _ => {}
            }
        }
        args
    }

    /// Copies arguments that the call also assigns under another argument, as in `CALL ROOT(X, X)` or
    /// `CALL APPEND(X(K), X)`: the adjoint needs the value from before the call, and a cotangent for each
    /// argument.
    fn inputs_of_their_own(
        &mut self,
        callee: SymId,
        args: &mut [Expr],
        span: Span,
        out: &mut Block,
    ) {
        let name = &self.builder.unit.symbols[callee].name;
        let (Some(scalars), Some(effect)) =
            (self.engine.scalars.get(name), self.engine.effects.get(name))
        else {
            return;
        };
        let scalar = |i: usize| scalars.get(i).copied().unwrap_or(false);
        let differentiable = |t: Type| t.is_differentiable();
        // A value that is overwritten under one name is saved for this name only, whatever its type.
        let is_array = |e: &Expr| {
            let of = e.base().map(|s| (s, &self.builder.unit.symbols[s]));
            of.is_some_and(|(s, of)| {
                let own = of.origin == Origin::Written && !self.builder.derivatives.contains(&s);
                own && of.is_array()
            })
        };
        let assigned = |i: usize| effect.assigned.contains(i);
        let arrays = (0..args.len()).filter(|i| !scalar(*i) && is_array(&args[*i]));
        let arrays: Vec<usize> = arrays.collect();
        for (n, j) in arrays.iter().enumerate() {
            let same = |i: &&usize| {
                let set = assigned(**i) || assigned(*j);
                set && begin_alike(&self.builder.unit, &args[**i], &args[*j])
            };
            let Some(i) = arrays[..n].iter().find(same) else {
                continue;
            };
            let (at, what) = match (assigned(*i), assigned(*j)) {
                (true, true) => (j, "assigns this array by two arguments"),
                (false, _) => (
                    i,
                    "reads this array by one argument and assigns it by another",
                ),
                (_, false) => (
                    j,
                    "reads this array by one argument and assigns it by another",
                ),
            };
            self.errors.push(
                Diagnostic::error(
                    &rules::AD_ALIAS,
                    args[*at].span.or(span),
                    format!("the call {what}"),
                )
                .help("give the subprogram one argument for it, or pass a copy"),
            );
            return;
        }
        for i in 0..args.len() {
            if !matches!(args[i].kind, ExprKind::Var(_) | ExprKind::Element(..))
                || effect.assigned.contains(i)
                || !type_of(&self.builder.unit, &args[i]).is_some_and(differentiable)
            {
                continue;
            }
            let written = |j: usize| {
                let array = scalar(i) && !scalar(j);
                let within = || array && is_within(&self.builder.unit, &args[i], &args[j]);
                effect.assigned.contains(j) && (args[i].equals_ignoring_spans(&args[j]) || within())
            };
            if !(0..args.len()).any(written) {
                continue;
            }
            if !scalar(i) || rank(&self.builder.unit, &args[i]) > 0 {
                self.errors.push(
                    Diagnostic::error(
                        &rules::AD_ALIAS,
                        args[i].span,
                        "the call reads this array by one argument and assigns it by another",
                    )
                    .help("pass a copy of it to be read"),
                );
                return;
            }
            let value = args[i].clone();
            args[i] = match is_derivative(&self.builder.derivatives, &value) {
                true => {
                    let ty = type_of(&self.builder.unit, &value).unwrap_or(Type::REAL);
                    let t = Expr::var(self.builder.derivative_temporary(ty), span);
                    out.push(Stmt::assign(t.clone(), value, span));
                    t
                }
                false => self.store(value, out),
            };
        }
    }
}

/// Whether an argument is an element of an array that another argument passes from its beginning.
fn is_within(unit: &Unit, element: &Expr, array: &Expr) -> bool {
    matches!(element.kind, ExprKind::Element(of, _) if array.base() == Some(of))
        && begins(unit, array)
}

/// The error for an argument whose earlier value the reverse sweep cannot know.
fn moving_text(span: Span) -> Diagnostic {
    Diagnostic::error(
        &rules::AD_ARGUMENT,
        span,
        "the call changes what this argument is made of, and its length is not known before",
    )
    .help("assign it to a variable of its own first")
}
