//! Turns AD blocks into calls of derivatives, and requests for these.
//!
//! Every real and complex argument of a derivative is followed by its tangent or cotangent.
//! `forward` and `reverse` generate the statements of the two modes; `order` finds an order in
//! which the derivatives can be generated.

mod assign;
mod effects;
mod forward;
mod input;
mod observers;
mod order;
mod reverse;
mod suffix;

pub(super) use order::order;

use self::effects::HeadEffects;
use self::observers::Observers;
use self::suffix::Suffixes;
use super::bounds::{self, EntryBounds};
use super::calls::has_ad_blocks;
use super::compact::ChangedUnits;
use super::naming::taken_names;
use super::outline::OutlinedBlocks;
use super::prune::reached;
use super::saved_variables::share;
use crate::callgraph::CallGraph;
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    AdAssign, AdBlock, AdItem, AdMode, Attributes, Class, Dim, Directions, Expr, ExprKind, Name,
    Origin, Program, Request, Stmt, StmtKind, StorageClass, SymId, Symbol, Type, Unit, unused_name,
};
use crate::source::Span;
use crate::storage::constant::integer;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Replaces the blocks. Returns the requests in textual order. `real` is the size of a default REAL
/// in bytes. Adds the names of the units that it changes to `changed`.
pub(super) fn stage(
    program: &mut Program,
    blocks: &OutlinedBlocks,
    real: u8,
    changed: &mut ChangedUnits,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Request> {
    // Derivatives are copies of the units that they differentiate. Units in `changed` may contain
    // unused names.
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
    let mut changing = bounds::changing(program);
    let mut requests = Vec::new();
    for unit in &mut program.units {
        if !has_ad_blocks(&unit.body) {
            continue;
        }
        changed.insert(unit.name.clone());
        let observers = Observers::of(unit);
        let body = std::mem::take(&mut unit.body);
        let unit_name = unit.name.clone();
        let mut stager = Stager {
            unit,
            real,
            blocks,
            heads: &heads,
            effects: &effects,
            observers: &observers,
            taken: &mut taken,
            suffixes: &mut suffixes,
            requests: &mut requests,
            on_entry: EntryBounds::of(changing.remove(&unit_name).unwrap_or_default()),
            diagnostics,
        };
        let body = stager.statements(body);
        let on_entry = stager.on_entry;
        unit.body = on_entry.save_at_entries(unit, body);
    }
    requests
}

/// The call that replaces the statements of a block.
struct HeadCall<'a> {
    head: &'a Unit,
    /// The block, with an empty body.
    block: AdBlock,
    callee: SymId,
    actuals: Vec<Expr>,
    /// The variables or procedures of the actual arguments.
    symbols: Vec<SymId>,
    /// The positions of the arguments that the opening names.
    in_opening: Vec<usize>,
    request: Request,
}

impl HeadCall<'_> {
    fn position(&self, s: SymId) -> Option<usize> {
        self.symbols.iter().position(|x| *x == s)
    }
}

struct Stager<'a> {
    unit: &'a mut Unit,
    /// The size of a default REAL in bytes.
    real: u8,
    blocks: &'a OutlinedBlocks,
    heads: &'a HashMap<Name, Unit>,
    effects: &'a HashMap<Name, HeadEffects>,
    observers: &'a Observers,
    taken: &'a mut HashSet<Name>,
    suffixes: &'a mut Suffixes,
    requests: &'a mut Vec<Request>,
    /// The values on entry on which the unit's array bounds depend.
    on_entry: EntryBounds,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl<'a> Stager<'a> {
    /// Returns the bounds of an array as of the entry to the unit.
    fn bounds(&mut self, s: SymId) -> Vec<Dim> {
        self.on_entry.seen(self.unit, s, self.taken).dims
    }

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
            AdItem::bases(items)
                .into_iter()
                .filter_map(|s| symbols.iter().position(|x| *x == s))
                .collect()
        };
        let (in_opening, taken) = (bases(&block.opening), bases(&block.closing));
        // The tangent of an array of assumed size cannot be stored. If the block only passes the
        // array on, it may need none; the AD tool determines whether that is so.
        let needs_none = |p: usize| {
            assumed_size(&self.unit.symbols[symbols[p]])
                && !in_opening.contains(&p)
                && !taken.contains(&p)
        };
        let paired: Vec<usize> = (0..symbols.len())
            .filter(|p| is_real(symbols[*p]) && !needs_none(*p))
            .collect();
        let (independents, dependents) = match block.mode {
            AdMode::Forward => (in_opening.clone(), taken),
            AdMode::Reverse => (taken, in_opening.clone()),
        };
        let vector_mode = block.vector_mode.as_ref();
        let directions = Directions {
            count: vector_mode.and_then(|s| integer(self.unit, &s.count)),
            pattern: vector_mode.is_some_and(|s| s.pattern),
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
            vector: vector_mode.is_some(),
            directions,
            real: self.real,
            span,
        };
        let call = HeadCall {
            head,
            block,
            callee,
            actuals,
            symbols,
            in_opening,
            request,
        };
        match call.block.mode {
            AdMode::Forward => self.forward(&call),
            AdMode::Reverse => self.reverse(call),
        }
    }

    /// Returns the call of the derivative and records the request for it. `tangents` holds the
    /// derivatives of arguments, `instead` the variables passed in place of arguments.
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
        args.extend(call.block.vector_mode.iter().map(|s| s.count.clone()));
        let called = self.unit.symbols.add(Symbol {
            class: Class::Subroutine,
            storage_class: StorageClass::Global,
            ..Symbol::new(call.request.derivative.clone(), span)
        });
        self.requests.push(call.request.clone());
        Stmt::call(called, args, span)
    }

    /// Returns the closing: assigns derivatives to their destinations, unless they are already
    /// there.
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

    /// Returns the destinations in the closing into which derivatives can be computed directly:
    /// whole variables of the same type and shape that play no other part in the block.
    fn direct_destinations(&self, call: &HeadCall) -> BTreeMap<usize, SymId> {
        let HeadCall { block, symbols, .. } = call;
        let mut found: BTreeMap<usize, SymId> = BTreeMap::new();
        if block.vector_mode.is_some() {
            return found;
        }
        let mut taken: Vec<SymId> = Vec::new();
        // All names other than the destinations themselves.
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
        // Statement functions in it read variables that the opening does not name.
        let mut before = 0;
        while before < named.len() {
            before = named.len();
            for (id, f) in self.unit.symbols.iter() {
                if let Class::StatementFunction(_, value) = &f.class
                    && named.contains(&id)
                {
                    value.for_each_symbol(&mut |s| named.extend([s]));
                }
            }
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
                && matches!(
                    sd.storage_class,
                    StorageClass::Local | StorageClass::Dummy | StorageClass::Result
                );
            if fits
                && !call.in_opening.contains(&p)
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

    /// Adds a local variable for the derivative of `of`.
    fn tangent(&mut self, of: SymId, call: &HeadCall) -> SymId {
        let s = &self.unit.symbols[of];
        if assumed_size(s) {
            let what = match call.block.mode {
                AdMode::Forward => "tangent",
                AdMode::Reverse => "cotangent",
            };
            self.diagnostics.push(
                Diagnostic::error(
                    &rules::AD_SIZE,
                    call.request.span,
                    format!(
                        "{} has {}, so that its {what} cannot be stored",
                        s.name,
                        s.missing_bounds()
                    ),
                )
                .related(s.span, "declared here")
                .help(format!("declare its bounds, for instance {}(N)", s.name)),
            );
        }
        let wanted = format!("{}{}", s.name, call.request.suffix);
        let mut like = self.unit.symbols[of].clone();
        if let Some(vector_mode) = &call.block.vector_mode {
            let directions = Dim {
                lower: None,
                upper: Some(vector_mode.count.clone()),
            };
            like.dims.insert(0, directions);
            if vector_mode.pattern {
                like.ty = Some(Type::Logical(1));
                like.length = None;
            }
        }
        self.local_like(like, &wanted, call.request.span)
    }

    /// Adds a local variable like `of`.
    fn local(&mut self, of: SymId, wanted: &str, span: Span) -> SymId {
        let like = self.unit.symbols[of].clone();
        self.local_like(like, wanted, span)
    }

    fn local_like(&mut self, like: Symbol, wanted: &str, span: Span) -> SymId {
        let name = self
            .unit
            .symbols
            .unused(wanted, &|n| self.taken.contains(n));
        let id = self.unit.symbols.add(Symbol {
            name,
            storage_class: StorageClass::Local,
            external: false,
            saved: false,
            init: None,
            attributes: Attributes::default(),
            typed: false,
            span,
            origin: Origin::Generated,
            ..like
        });
        self.unit.declare(id);
        id
    }
}

/// Whether an array is declared as `X(*)` or `X(:)`.
fn assumed_size(s: &Symbol) -> bool {
    s.dims.iter().any(|d| {
        matches!(
            d.upper.as_ref().map(|u| &u.kind),
            Some(ExprKind::Star) | None
        )
    })
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
    if let Some(Type::Logical(_)) = ty {
        return Expr::logical(false, span);
    }
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
    Expr::real(text, span)
}
