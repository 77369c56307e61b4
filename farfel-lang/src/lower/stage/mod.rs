//! AD blocks become calls of derivatives, and requests for them.
//!
//! Every real and complex argument of a derivative is followed by its tangent or
//! cotangent. The two modes are in `forward` and `reverse`, with what they write; `order`
//! finds the order in which derivatives can be generated.

mod effects;
mod entry;
mod forward;
mod input;
mod order;
mod reverse;
mod suffix;

pub(super) use order::order;

use self::effects::HeadEffects;
use self::suffix::Suffixes;
use super::calls::has_ad_blocks;
use super::compact::Changed;
use super::naming::taken_names;
use super::outline::Blocks;
use super::prune::reached;
use super::state::share;
use crate::callgraph::CallGraph;
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    AdAssign, AdBlock, AdItem, AdMode, Attributes, BinOp, Class, Dim, Do, DoControl, DoEnd, Expr,
    ExprKind, Name, Place, Program, Request, Stmt, StmtKind, SymId, Symbol, Symbols, Type, Unit,
    unused_name,
};
use crate::source::Span;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Replaces the blocks. Returns what is requested, in the order of the text. Adds the
/// names of the units that it changes to `changed`.
pub(super) fn stage(
    program: &mut Program,
    blocks: &Blocks,
    changed: &mut Changed,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Request> {
    // Derivatives are copies of what they differentiate.
    // What is in `changed` may have names without use.
    let graph = match changed.is_empty() {
        true => CallGraph::of_names(program, &[]),
        false => CallGraph::of(program),
    };
    let copied = reached(&graph, blocks.keys());
    share(program, &copied, changed);
    let mut taken = taken_names(program);
    let mut suffixes = Suffixes::of(program);
    let heads: HashMap<Name, Unit> = program
        .units
        .iter()
        .filter(|u| blocks.contains_key(&u.name))
        .map(|u| (u.name.clone(), u.clone()))
        .collect();
    let effects = HeadEffects::of(program, blocks);
    let mut requests = Vec::new();
    for unit in &mut program.units {
        if !has_ad_blocks(&unit.body) {
            continue;
        }
        changed.insert(unit.name.clone());
        let body = std::mem::take(&mut unit.body);
        let mut stager = Stager {
            unit,
            blocks,
            heads: &heads,
            effects: &effects,
            taken: &mut taken,
            suffixes: &mut suffixes,
            requests: &mut requests,
            frozen: BTreeMap::new(),
            diagnostics,
        };
        let body = stager.statements(body);
        unit.body = body;
    }
    requests
}

/// The call that the statements of a block have become.
struct HeadCall<'a> {
    head: &'a Unit,
    /// The block; its body is empty.
    block: AdBlock,
    callee: SymId,
    actuals: Vec<Expr>,
    /// The variables or procedures that the actual arguments are.
    symbols: Vec<SymId>,
    /// Positions of the arguments that the opening names.
    given: Vec<usize>,
    request: Request,
}

impl HeadCall<'_> {
    fn position(&self, s: SymId) -> Option<usize> {
        self.symbols.iter().position(|x| *x == s)
    }
}

struct Stager<'a> {
    unit: &'a mut Unit,
    blocks: &'a Blocks,
    heads: &'a HashMap<Name, Unit>,
    effects: &'a HashMap<Name, HeadEffects>,
    taken: &'a mut HashSet<Name>,
    suffixes: &'a mut Suffixes,
    requests: &'a mut Vec<Request>,
    /// Variables that bounds of arrays depend on and that the block at hand changes, with
    /// those that hold their values from before it.
    frozen: BTreeMap<SymId, SymId>,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl<'a> Stager<'a> {
    fn statements(&mut self, block: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(block.len());
        for mut stmt in block {
            for inner in stmt.blocks_mut() {
                *inner = self.statements(std::mem::take(inner));
            }
            match stmt.kind {
                StmtKind::Ad(ad) => {
                    let mut new = self.block(*ad, stmt.span);
                    if let Some(first) = new.first_mut() {
                        first.label = stmt.label;
                    }
                    out.extend(new);
                }
                kind => out.push(Stmt { kind, ..stmt }),
            }
        }
        out
    }

    fn block(&mut self, mut block: AdBlock, span: Span) -> Vec<Stmt> {
        let Some(Stmt {
            kind: StmtKind::Call(callee, actuals),
            ..
        }) = std::mem::take(&mut block.body).into_iter().next()
        else {
            return Vec::new();
        };
        let head_name = self.unit.symbols[callee].name.clone();
        let (Some(made_from), Some(head)) =
            (self.blocks.get(&head_name), self.heads.get(&head_name))
        else {
            return Vec::new();
        };
        let suffix = self.suffixes.unused(made_from.number, &made_from.tag);
        let derivative = unused_name(&format!("{head_name}{suffix}"), &|n| self.taken.contains(n));
        self.taken.insert(derivative.clone());

        let symbols: Vec<SymId> = actuals.iter().filter_map(Expr::base).collect();
        let is_real = |s: SymId| {
            let s = &self.unit.symbols[s];
            s.class == Class::Variable && s.ty.is_some_and(Type::is_differentiable)
        };
        let bases = |items: &[AdItem]| -> Vec<usize> {
            super::outline::bases(items)
                .into_iter()
                .filter_map(|s| symbols.iter().position(|x| *x == s))
                .collect()
        };
        let (given, taken) = (bases(&block.opening), bases(&block.closing));
        // The tangent of an array of assumed size cannot be stored. Where the block only
        // passes the array on, it may need none; the AD tool sees whether that is so.
        let needs_none = |p: usize| {
            assumed_size(&self.unit.symbols[symbols[p]])
                && !given.contains(&p)
                && !taken.contains(&p)
        };
        let paired: Vec<usize> = (0..symbols.len())
            .filter(|p| is_real(symbols[*p]) && !needs_none(*p))
            .collect();
        let (independents, dependents) = match block.mode {
            AdMode::Forward => (given.clone(), taken),
            AdMode::Reverse => (taken, given.clone()),
        };
        let request = Request {
            id: made_from.number,
            mode: block.mode,
            head: head_name,
            suffix,
            derivative,
            independents,
            dependents,
            paired,
            vector: false,
            span,
        };
        let call = HeadCall {
            head,
            block,
            callee,
            actuals,
            symbols,
            given,
            request,
        };
        match call.block.mode {
            AdMode::Forward => self.forward(&call),
            AdMode::Reverse => self.reverse(call),
        }
    }

    /// The call of the derivative, and the request for it. `tangents` are the derivatives
    /// of arguments; `instead` are what is passed instead of arguments themselves.
    fn call_derivative(
        &mut self,
        call: &HeadCall,
        tangents: &BTreeMap<usize, SymId>,
        instead: &BTreeMap<usize, SymId>,
    ) -> Stmt {
        let span = call.request.span;
        let mut args = Vec::new();
        for (p, a) in call.actuals.iter().enumerate() {
            args.push(match instead.get(&p) {
                Some(s) => Expr::var(*s, span),
                None => a.clone(),
            });
            if let Some(t) = tangents.get(&p) {
                args.push(Expr::var(*t, span));
            }
        }
        let called = self.unit.symbols.add(Symbol {
            class: Class::Subroutine,
            place: Place::Global,
            ..Symbol::new(call.request.derivative.clone(), span)
        });
        self.requests.push(call.request.clone());
        Stmt::new(StmtKind::Call(called, args), span)
    }

    /// The closing: derivatives to their destinations, where they are not there already.
    fn close(
        &mut self,
        call: &HeadCall,
        tangents: &BTreeMap<usize, SymId>,
        direct: &BTreeMap<usize, SymId>,
    ) -> Vec<Stmt> {
        let mut out = Vec::new();
        for item in &call.block.closing {
            let passed_itself = matches!(item, AdItem::Assign(a)
                if a.var.base().and_then(|s| call.position(s)).is_some_and(|p| direct.get(&p).copied() == a.other.base()));
            if !passed_itself {
                let tangents = |s: SymId| call.position(s).and_then(|p| tangents.get(&p).copied());
                out.extend(self.loops(item, false, &tangents, call.block.end_span));
            }
        }
        out
    }

    /// The variables of the closing whose derivatives can be computed right into their
    /// destinations: whole variables of the same type and shape that have no other part in
    /// the block.
    fn direct_destinations(&self, call: &HeadCall) -> BTreeMap<usize, SymId> {
        let HeadCall { block, symbols, .. } = call;
        let mut found: BTreeMap<usize, SymId> = BTreeMap::new();
        let mut taken: Vec<SymId> = Vec::new();
        // All that is named besides the destinations themselves.
        let mut named: HashSet<SymId> = HashSet::new();
        for item in &block.closing {
            item.for_each_assign(&mut |a| {
                taken.extend(a.var.base());
                a.var.for_each_symbol(&mut |s| named.extend([s]));
                if !matches!(a.other.kind, ExprKind::Var(_)) {
                    a.other.for_each_symbol(&mut |s| named.extend([s]));
                }
            });
            loop_bounds(item, &mut |e| e.for_each_symbol(&mut |s| named.extend([s])));
        }
        let equivalenced = self.equivalenced();
        // The opening is evaluated while tangents are being set.
        for item in &block.opening {
            item.for_each_expr(&mut |e| e.for_each_symbol(&mut |s| named.extend([s])));
        }
        for item in &block.closing {
            let AdItem::Assign(AdAssign { var, other, .. }) = item else {
                continue;
            };
            let (ExprKind::Var(v), ExprKind::Var(dest)) = (&var.kind, &other.kind) else {
                continue;
            };
            let Some(p) = call.position(*v) else {
                continue;
            };
            let (sv, sd) = (&self.unit.symbols[*v], &self.unit.symbols[*dest]);
            let fits = sv.ty == sd.ty
                && sv.dims == sd.dims
                && matches!(sd.place, Place::Local | Place::Dummy | Place::Result);
            if fits
                && !call.given.contains(&p)
                && !symbols.contains(dest)
                && taken.iter().filter(|d| *d == v).count() == 1
                && !found.values().any(|d| d == dest)
                && !equivalenced.contains(dest)
                && !named.contains(dest)
                && !assumed_size(sd)
            {
                found.insert(p, *dest);
            }
        }
        found
    }

    fn equivalenced(&self) -> HashSet<SymId> {
        let mut found = HashSet::new();
        for s in &self.unit.specs {
            if let crate::ir::SpecKind::Equivalence(groups) = &s.kind {
                groups.iter().flatten().for_each(|e| found.extend(e.base()));
            }
        }
        found
    }

    /// A local variable for the derivative of `of`.
    fn tangent(&mut self, of: SymId, call: &HeadCall) -> SymId {
        let s = &self.unit.symbols[of];
        if assumed_size(s) {
            let what = match call.block.mode {
                AdMode::Forward => "tangent",
                AdMode::Reverse => "cotangent",
            };
            self.diagnostics.push(
                Diagnostic::error(
                    &rules::AD_UNSUPPORTED,
                    call.request.span,
                    format!(
                        "{} has {}, so that its {what} cannot be stored",
                        s.name,
                        s.openness()
                    ),
                )
                .related(s.span, "declared here")
                .help(format!("declare its bounds, for instance {}(N)", s.name)),
            );
        }
        let wanted = format!("{}{}", s.name, call.request.suffix);
        self.local(of, &wanted, call.request.span)
    }

    /// A new local variable like `of`.
    fn local(&mut self, of: SymId, wanted: &str, span: Span) -> SymId {
        let s = self.unit.symbols[of].clone();
        let name = self
            .unit
            .symbols
            .unused(wanted, &|n| self.taken.contains(n));
        let id = self.unit.symbols.add(Symbol {
            name,
            place: Place::Local,
            external: false,
            saved: false,
            init: None,
            attributes: Attributes::default(),
            typed: false,
            span,
            ..s
        });
        self.unit.declare(id);
        id
    }

    /// `TANGENT(v) = value` for a variable, element or whole array.
    fn open(&mut self, a: &AdAssign, tangent: SymId, span: Span) -> Vec<Stmt> {
        let value = match &a.other.kind {
            ExprKind::Int(1) if a.short => one(self.unit.symbols[tangent].ty, span),
            _ => a.other.clone(),
        };
        match &a.var.kind {
            ExprKind::Var(v) if self.unit.symbols[*v].is_array() => {
                self.set_all(tangent, *v, &value, span)
            }
            ExprKind::Var(_) => vec![Stmt::assign(Expr::var(tangent, span), value, span)],
            ExprKind::Element(_, subscripts) => {
                let target = Expr::new(ExprKind::Element(tangent, subscripts.clone()), span);
                vec![Stmt::assign(target, value, span)]
            }
            _ => Vec::new(),
        }
    }

    /// Statements for one item, its implied DO as loops. `opening`: values to tangents;
    /// else tangents to destinations.
    fn loops(
        &mut self,
        item: &AdItem,
        opening: bool,
        tangents: &dyn Fn(SymId) -> Option<SymId>,
        span: Span,
    ) -> Vec<Stmt> {
        match item {
            AdItem::ImpliedDo(d) => {
                let body: Vec<Stmt> = d
                    .items
                    .iter()
                    .flat_map(|i| self.loops(i, opening, tangents, span))
                    .collect();
                vec![Stmt::new(
                    StmtKind::Do(Box::new(Do {
                        name: None,
                        control: DoControl::Count {
                            var: d.var,
                            from: d.from.clone(),
                            to: d.to.clone(),
                            step: d.step.clone(),
                        },
                        body,
                        end: DoEnd::EndDo(None),
                        end_span: Span::NONE,
                    })),
                    span,
                )]
            }
            AdItem::Assign(a) => {
                let Some(t) = a.var.base().and_then(tangents) else {
                    return Vec::new();
                };
                if opening {
                    return self.open(a, t, span);
                }
                let mut value = a.var.clone();
                if let ExprKind::Var(s) | ExprKind::Element(s, _) = &mut value.kind {
                    *s = t;
                }
                match (&a.other.kind, &a.var.kind) {
                    (ExprKind::Var(dest), ExprKind::Var(v)) if self.unit.symbols[*v].is_array() => {
                        self.set_all(*dest, *v, &value, span)
                    }
                    _ => vec![Stmt::assign(a.other.clone(), value, span)],
                }
            }
        }
    }

    /// Sets every element of `target`, which has the bounds of `shape`. Whole arrays in
    /// `value` are taken element by element.
    fn set_all(&mut self, target: SymId, shape: SymId, value: &Expr, span: Span) -> Vec<Stmt> {
        let dims = self.dims(shape);
        if dims.is_empty() {
            return vec![Stmt::assign(Expr::var(target, span), value.clone(), span)];
        }
        let indices: Vec<SymId> = (1..=dims.len()).map(|k| self.index(k)).collect();
        let subscripts: Vec<Expr> = indices.iter().map(|i| Expr::var(*i, span)).collect();
        let element = |s: SymId| {
            let theirs = self.dims(s);
            let shifted = subscripts
                .iter()
                .zip(dims.iter().zip(&theirs))
                .map(|(i, (ours, theirs))| {
                    shift(i, ours.lower.as_ref(), theirs.lower.as_ref(), span)
                })
                .collect();
            ExprKind::Element(s, shifted)
        };
        let mut value = value.clone();
        each_operand(&self.unit.symbols, &mut value, &mut |e| {
            if let ExprKind::Var(s) = e.kind
                && self.unit.symbols[s].dims.len() == subscripts.len()
            {
                e.kind = element(s);
            }
        });
        let target = Expr::new(element(target), span);
        let mut body = vec![Stmt::assign(target, value, span)];
        // The first index runs fastest.
        for (i, d) in indices.iter().zip(&dims) {
            let control = DoControl::Count {
                var: *i,
                from: d.lower.clone().unwrap_or_else(|| Expr::int(1, span)),
                to: d.upper.clone().unwrap_or_else(|| Expr::int(1, span)),
                step: None,
            };
            body = vec![Stmt::new(
                StmtKind::Do(Box::new(Do {
                    name: None,
                    control,
                    body,
                    end: DoEnd::EndDo(None),
                    end_span: Span::NONE,
                })),
                span,
            )];
        }
        body
    }

    /// The bounds of an array, as they were before the block.
    fn dims(&self, s: SymId) -> Vec<Dim> {
        let mut dims = self.unit.symbols[s].dims.clone();
        for e in dims
            .iter_mut()
            .flat_map(|d| d.lower.iter_mut().chain(&mut d.upper))
        {
            e.for_each_symbol_mut(&mut |s| *s = *self.frozen.get(s).unwrap_or(s));
        }
        dims
    }

    /// The loop variable for the dimension `k`, shared by all loops of the unit.
    fn index(&mut self, k: usize) -> SymId {
        let wanted = format!("I{k}_G");
        if let Some(s) = self.unit.symbols.find(&wanted)
            && self.unit.symbols[s].span.is_none()
        {
            return s;
        }
        let name = self
            .unit
            .symbols
            .unused(&wanted, &|n| self.taken.contains(n));
        let id = self
            .unit
            .symbols
            .add(Symbol::variable(name, Type::INTEGER, Span::NONE));
        self.unit.declare(id);
        id
    }
}

/// True for `X(*)` and `X(:)`.
fn assumed_size(s: &Symbol) -> bool {
    s.dims.iter().any(|d| {
        matches!(
            d.upper.as_ref().map(|u| &u.kind),
            Some(ExprKind::Star) | None
        )
    })
}

/// Calls `f` on the variables that stand for their elements where an expression is
/// evaluated element by element. A function of the program takes arrays as they are.
fn each_operand(symbols: &Symbols, e: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    if let ExprKind::Call(s, _) = &e.kind
        && !matches!(symbols[*s].class, Class::Intrinsic(_))
    {
        return;
    }
    for operand in e.children_mut() {
        each_operand(symbols, operand, f);
    }
    f(e);
}

/// `index`, which counts from one lower bound, as a subscript that counts from another.
fn shift(index: &Expr, from: Option<&Expr>, to: Option<&Expr>, span: Span) -> Expr {
    let same = match (from, to) {
        (None, None) => true,
        (Some(a), Some(b)) => a.kind == b.kind,
        (Some(e), None) | (None, Some(e)) => e.kind == ExprKind::Int(1),
    };
    if same {
        return index.clone();
    }
    let one = || Expr::int(1, span);
    let offset = Expr::binary(BinOp::Sub, index.clone(), from.cloned().unwrap_or_else(one));
    Expr::binary(BinOp::Add, offset, to.cloned().unwrap_or_else(one))
}

/// Calls `f` on the bounds and steps of the implied DOs of an item.
fn loop_bounds<'e>(item: &'e AdItem, f: &mut dyn FnMut(&'e Expr)) {
    if let AdItem::ImpliedDo(d) = item {
        [&d.from, &d.to]
            .into_iter()
            .chain(&d.step)
            .for_each(&mut *f);
        d.items.iter().for_each(|i| loop_bounds(i, f));
    }
}

fn zero(ty: Option<Type>, span: Span) -> Expr {
    constant("0.0", ty, span)
}

fn one(ty: Option<Type>, span: Span) -> Expr {
    constant("1.0", ty, span)
}

fn constant(text: &str, ty: Option<Type>, span: Span) -> Expr {
    let text = match ty {
        Some(Type::Real(8) | Type::Complex(8)) => format!("{text}D0"),
        _ => text.to_owned(),
    };
    Expr::new(ExprKind::Real(text.into()), span)
}
