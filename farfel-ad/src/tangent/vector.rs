//! Several directions at once.
//!
//! Every statement of a tangent is linear in tangents. So a derivative for several directions is the
//! derivative for one direction, in which each tangent has one more dimension and the assignments to tangents
//! are in a loop over the directions. Neighbouring assignments share a loop: no direction reads what another
//! one computes.
//!
//! The additional dimension is the first. What a caller passes from some element on is then the tangent of
//! the same elements, direction by direction.

use super::generator::Generator;
use super::pattern::Patterns;
use crate::custom_rules::directions as given;
use crate::layout::Extent;
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{
    Arg, Attribute, BinOp, Block, Class, DataSet, Dim, Do, DoEnd, Entity, Expr, ExprKind, IfBlock,
    Spec, SpecKind, Stmt, StmtKind, StorageClass, SymId, Symbol, Type, walk_block,
};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The facts for rewriting statements.
struct Directions<'a> {
    /// For each symbol that is a tangent, the number of its dimensions without that of the directions.
    ranks: Vec<Option<usize>>,
    /// The loop variable.
    direction: SymId,
    /// The number of directions: the argument, and the upper bound of loops.
    count: SymId,
    last: Expr,
    /// Tangents are LOGICAL.
    pattern: bool,
    /// The function ANY, if the unit has it.
    any: Option<SymId>,
    /// The derivatives of procedures that are called.
    called: &'a HashSet<SymId>,
    /// The arrays of the unit.
    arrays: HashSet<SymId>,
    /// What becomes of the calls of given derivatives, by the procedure and the arguments.
    given: Vec<(SymId, Vec<Expr>, Block)>,
}

impl Generator<'_> {
    /// Makes the unit compute the tangents of several directions, and `more` as well.
    pub(super) fn vectorize(
        &mut self,
        tangents: &HashSet<SymId>,
        more: &mut Block,
    ) -> Result<(), Vec<Diagnostic>> {
        let span = self.source.span;
        let mut ranks = vec![None; self.unit.symbols.len()];
        for t in tangents {
            ranks[t.0 as usize] = Some(self.unit.symbols[*t].dims.len());
        }
        let count = self.unused("NBDIRS");
        let count = self.unit.symbols.add(Symbol {
            storage_class: StorageClass::Dummy,
            typed: true,
            ..Symbol::variable(count, Type::INTEGER, span)
        });
        self.unit.args.push(Arg::Dummy(count));
        self.count = Some(count);
        let extent = match self.engine.layout.extent {
            Extent::Argument => Expr::var(count, span),
            Extent::Exactly(n) | Extent::AtMost(n) => Expr::int(n, span),
            Extent::OfUser => {
                let name = self.unused("NBDIRSMAX");
                Expr::var(self.constant_of_user(&name), span)
            }
        };
        self.refuse_stored(tangents)?;
        let first = self
            .unit
            .specs
            .iter()
            .rposition(|s| s.kind == SpecKind::Implicit);
        self.unit.specs.insert(
            first.map_or(0, |i| i + 1),
            Spec {
                kind: SpecKind::Type(
                    Type::INTEGER,
                    vec![Entity {
                        sym: count,
                        dims: false,
                    }],
                ),
                span,
            },
        );
        if self.engine.layout.pattern {
            self.refuse_patterns(tangents)?;
        }
        self.widen(tangents, &extent);
        if self.engine.layout.pattern {
            self.make_logical(tangents);
        }
        let name = self.unused("ND");
        let direction = self.declare_new(Symbol::variable(name, Type::INTEGER, span));
        let directions = Directions {
            ranks,
            direction,
            count,
            last: match self.engine.layout.extent {
                Extent::Exactly(_) => extent,
                _ => Expr::var(count, span),
            },
            pattern: self.engine.layout.pattern,
            any: self.any_function(),
            called: &HashSet::new(),
            arrays: (self.unit.symbols.iter())
                .filter(|(_, s)| s.is_array())
                .map(|(id, _)| id)
                .collect(),
            given: Vec::new(),
        };
        let given = self.given_calls(&directions)?;
        let directions = Directions {
            given,
            called: &self.called,
            ..directions
        };
        let body = std::mem::take(&mut self.unit.body);
        let body = directions.block(body);
        *more = directions.block(std::mem::take(more));
        let mut looped = false;
        for made in [&body, &*more] {
            farfel_lang::ir::for_each_symbol(made, &mut |s| looped |= s == direction);
        }
        self.unit.body = body;
        match looped {
            true => self.direction = Some(direction),
            false => self.unit.undeclare(direction),
        }
        Ok(())
    }

    /// These derivatives, and all other derivatives that the unit has in COMMON.
    pub(super) fn all_derivatives(&self, tangents: &HashSet<SymId>) -> HashSet<SymId> {
        let mut tangents = tangents.clone();
        tangents.extend(self.imported.values());
        let blocks: Vec<&StorageClass> = tangents
            .iter()
            .map(|t| &self.unit.symbols[*t].storage_class)
            .filter(|p| matches!(p, StorageClass::Common(_)))
            .collect();
        let all = self.unit.symbols.iter();
        let shared = all.filter(|(_, s)| blocks.iter().any(|b| **b == s.storage_class));
        let shared: Vec<SymId> = shared.map(|(id, _)| id).collect();
        tangents.extend(shared);
        tangents
    }

    /// Reports variables whose derivatives cannot have the number of directions as a bound, if only the
    /// caller knows this number: those that keep their values between calls, or are in COMMON or EQUIVALENCE.
    fn refuse_stored(&self, tangents: &HashSet<SymId>) -> Result<(), Vec<Diagnostic>> {
        if self.engine.layout.extent != Extent::Argument {
            return Ok(());
        }
        let equivalent: HashSet<SymId> = (self.unit.specs.iter())
            .filter_map(|spec| match &spec.kind {
                SpecKind::Equivalence(groups) => Some(groups),
                _ => None,
            })
            .flat_map(|groups| groups.iter().flatten())
            .filter_map(Expr::base)
            .filter(|s| tangents.contains(s))
            .collect();
        let mut stored: Vec<&Symbol> = self
            .derivatives
            .iter()
            .filter(|(_, d)| tangents.contains(d))
            .filter(|(of, at)| {
                let d = &self.unit.symbols[**at];
                matches!(d.storage_class, StorageClass::Common(_))
                    || d.saved
                    || equivalent.contains(at)
                    || self.space.saved.contains(self.space.loc(**of))
            })
            .map(|(of, _)| &self.unit.symbols[*of])
            .collect();
        let vars = &self.engine.dependence.commons.vars;
        let imported = vars.iter().enumerate().filter(|(k, v)| {
            self.imported.contains_key(k) || self.whole_blocks.contains_key(&v.block)
        });
        stored.extend(
            imported.filter_map(|(_, var)| {
                Some(&self.engine.program.unit(&var.unit)?.symbols[var.sym])
            }),
        );
        let Some(first) = stored
            .into_iter()
            .min_by_key(|s| (s.span.start, s.name.clone()))
        else {
            return Ok(());
        };
        let (span, name) = (first.span, &first.name);
        let error = Diagnostic::error(
            &rules::AD_DIRECTIONS,
            span,
            format!("derivatives in several directions would go through {name}, which is in COMMON or EQUIVALENCE or keeps its value between calls"),
        )
        .help("let the number of directions be a constant, as in `DIRECTIONS = 8`, or pass it as an argument");
        Err(vec![self.engine.with_ad_block(error)])
    }

    /// Adds the dimension for the directions to the declarations of tangents.
    fn widen(&mut self, tangents: &HashSet<SymId>, extent: &Expr) {
        let span = self.source.span;
        let mut elsewhere: HashSet<SymId> = HashSet::new();
        for spec in &self.unit.specs {
            match &spec.kind {
                SpecKind::Dimension(list) => elsewhere.extend(list),
                SpecKind::Common(blocks) => elsewhere.extend(
                    blocks
                        .iter()
                        .flat_map(|(_, l)| l)
                        .filter(|e| e.dims)
                        .map(|e| e.sym),
                ),
                _ => {}
            }
        }
        for t in tangents {
            let symbol = &mut self.unit.symbols[*t];
            // ALLOCATE gives the extent.
            let given = !symbol.has(Attribute::Allocatable);
            symbol.dims.insert(
                0,
                Dim {
                    lower: None,
                    upper: given.then(|| extent.clone()),
                },
            );
        }
        // A repeat count in DATA must be a single constant.
        let mut repeats: Vec<(usize, usize, i64)> = Vec::new();
        for (at, spec) in self.unit.specs.iter_mut().enumerate() {
            match &mut spec.kind {
                SpecKind::Type(_, list) => {
                    for e in list {
                        e.dims |= tangents.contains(&e.sym) && !elsewhere.contains(&e.sym);
                    }
                }
                SpecKind::Equivalence(groups) => {
                    for e in groups.iter_mut().flatten() {
                        if let ExprKind::Element(s, subscripts) = &mut e.kind
                            && tangents.contains(s)
                        {
                            subscripts.insert(0, Expr::int(1, span));
                        }
                    }
                }
                SpecKind::Data(sets) => {
                    for (k, DataSet { targets, values }) in sets.iter_mut().enumerate() {
                        let own = targets
                            .iter()
                            .all(|t| matches!(t.kind, ExprKind::Var(s) if tangents.contains(&s)));
                        if let (true, [(repeat, _)]) = (own, values.as_slice()) {
                            let n = match repeat.as_ref().map(|r| &r.kind) {
                                Some(ExprKind::Int(n)) => *n,
                                _ => 1,
                            };
                            repeats.push((at, k, n));
                        }
                    }
                }
                _ => {}
            }
        }
        let mut shifted = 0;
        for (at, k, n) in repeats {
            let (added, repeat) = self.multiple(extent, n);
            shifted += added;
            if let Some(SpecKind::Data(sets)) =
                self.unit.specs.get_mut(at + shifted).map(|s| &mut s.kind)
                && let Some((count, _)) = sets.get_mut(k).and_then(|s| s.values.first_mut())
            {
                *count = Some(repeat);
            }
        }
    }
}

/// A call, by its procedure and arguments, and the statements that replace it.
type ReplacedCall = (SymId, Vec<Expr>, Block);

impl Generator<'_> {
    /// Returns what becomes of each call of a given derivative: a loop over the directions.
    fn given_calls(
        &mut self,
        directions: &Directions,
    ) -> Result<Vec<ReplacedCall>, Vec<Diagnostic>> {
        let mut calls: Vec<(SymId, Vec<Expr>)> = Vec::new();
        let given = &self.given;
        walk_block(&self.unit.body, &mut |s| {
            if let StmtKind::Call(callee, args) = &s.kind
                && given.contains_key(callee)
                && !calls.iter().any(|(c, a)| c == callee && a == args)
            {
                calls.push((*callee, args.clone()));
            }
        });
        let mut copies: HashMap<(SymId, bool), SymId> = HashMap::new();
        let mut found = Vec::new();
        let mut errors = Vec::new();
        for (callee, args) in calls {
            let procedure = self.given[&callee];
            let Some(rule) = self.engine.dependence.rule(self.source, procedure).cloned() else {
                continue;
            };
            let span = args.first().map_or(self.source.span, |a| a.span);
            let of = &self.source.symbols[procedure];
            let text = self.engine.find(&of.name);
            let function = of.class == Class::Function;
            let is_scalar = |i: usize| match text {
                Some(text) => {
                    let dummy = text.args.get(i).and_then(|a| a.sym());
                    dummy.is_some_and(|s| !text.symbols[s].is_array())
                }
                None => function,
            };
            let symbols = self.unit.symbols.clone();
            let environment = given::Directions {
                direction: directions.direction,
                last: directions.last.clone(),
                is_derivative: &|e| e.base().is_some_and(|s| directions.is_tangent(s)),
                is_scalar: &is_scalar,
                changes: &|i| {
                    rule.sets.contains(&i) || rule.outputs.contains(&i) && rule.inputs.contains(&i)
                },
                changes_derivative: &|i| rule.sets.contains(&i) || rule.outputs.contains(&i),
                subscripted: false,
            };
            let made = given::one_by_one(
                callee,
                &args,
                &rule,
                &environment,
                &symbols,
                span,
                &mut |s, dims, one_direction| {
                    if let Some(known) = copies.get(&(s, one_direction)) {
                        return *known;
                    }
                    let of = &symbols[s];
                    let name = self.unused(&format!("{}1", of.name));
                    let copy = Symbol {
                        dims,
                        ..Symbol::variable(name, of.ty.unwrap_or(Type::REAL), span)
                    };
                    let copy = self.declare_new(copy);
                    copies.insert((s, one_direction), copy);
                    copy
                },
            );
            let mut made = match made {
                Ok(made) => made,
                Err(open) => {
                    errors.push(self.open_arrays(&open, span));
                    continue;
                }
            };
            // Without directions, the procedure must run all the same.
            let mut primals = Vec::new();
            let mut rest = args.iter();
            for i in 0..=rule.args {
                primals.extend(rest.next().cloned());
                if rule.is_active(i) {
                    rest.next();
                }
            }
            let plain = match function.then(|| primals.pop()).flatten() {
                Some(value) => {
                    // So that it has a value whatever the number of directions.
                    let ty = of.ty.unwrap_or(Type::REAL);
                    made.insert(0, Stmt::assign(value.clone(), self.zero(ty), span));
                    self.unit.declare(procedure);
                    Stmt::assign(value, Expr::call(procedure, primals, span), span)
                }
                None => Stmt::call(procedure, primals, span),
            };
            if !matches!(directions.last.kind, ExprKind::Int(1..)) {
                let none = Expr::binary(BinOp::Lt, directions.last.clone(), Expr::int(1, span));
                let kind = StmtKind::If(IfBlock {
                    arms: vec![(none, vec![plain])],
                    otherwise: None,
                    ..IfBlock::default()
                });
                made.push(Stmt::new(kind, span));
            }
            found.push((callee, args, made));
        }
        match errors.is_empty() {
            true => Ok(found),
            false => Err(errors),
        }
    }

    /// Reports arrays of unknown size that a given derivative gets, and asks callers for their sizes.
    fn open_arrays(&self, open: &BTreeSet<SymId>, span: Span) -> Diagnostic {
        let name = |s: &SymId| self.unit.symbols[*s].name.clone();
        let places = open.iter().map(|s| (self.source.name.clone(), name(s)));
        self.engine.open_arguments.borrow_mut().extend(places);
        let array = open.first().map(name).unwrap_or_default();
        let (message, help) = given::unknown_bounds(&array);
        let error = Diagnostic::error(&rules::AD_DIRECTIONS, span, message).help(help);
        self.engine.with_ad_block(error)
    }
}

impl Directions<'_> {
    /// What becomes of a call, if it is of a given derivative.
    fn given_call(&self, callee: SymId, args: &[Expr]) -> Option<&Block> {
        let mut known = self.given.iter();
        let found = known.find(|(c, a, _)| *c == callee && a.as_slice() == args);
        found.map(|(.., made)| made)
    }

    fn is_tangent(&self, s: SymId) -> bool {
        self.rank(s).is_some()
    }

    fn rank(&self, s: SymId) -> Option<usize> {
        self.ranks.get(s.0 as usize).copied().flatten()
    }

    /// Whether a tangent, or a part of one, is an array apart from the directions.
    fn is_array(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Var(s) => self.rank(*s).is_some_and(|r| r > 0),
            ExprKind::Element(_, subscripts) => {
                let mut found = false;
                for s in subscripts {
                    s.walk(&mut |x| {
                        found |= match x.kind {
                            ExprKind::Range(..) | ExprKind::Array(_) => true,
                            ExprKind::Var(s) => self.arrays.contains(&s),
                            _ => false,
                        }
                    });
                }
                found
            }
            _ => false,
        }
    }

    fn block(&self, block: Block) -> Block {
        let mut out: Block = Vec::new();
        // Whether the last statement of `out` is a loop over directions that can take more statements.
        let mut open = false;
        for mut s in block {
            let span = s.span;
            match &mut s.kind {
                StmtKind::Assign(target, value)
                    if target.base().is_some_and(|t| self.is_tangent(t)) =>
                {
                    if self.pattern {
                        let patterns = Patterns {
                            is_tangent: &|s| self.is_tangent(s),
                            is_array: &|e| self.is_array(e),
                            any: self.any,
                        };
                        *value = patterns.any_of(value);
                    }
                    self.one_direction(target);
                    self.one_direction(value);
                    let label = s.label.take();
                    match out.last_mut().map(|last| &mut last.kind) {
                        Some(StmtKind::Do(d)) if open && label.is_none() => d.body.push(s),
                        _ => out.push(Stmt {
                            label,
                            ..self.all_directions(vec![s])
                        }),
                    }
                    open = true;
                    continue;
                }
                StmtKind::LogicalIf(condition, inner) => {
                    let made = self.block(vec![(**inner).clone()]);
                    s.kind = match <[Stmt; 1]>::try_from(made) {
                        Ok([one]) if !matches!(one.kind, StmtKind::Do(_)) => {
                            StmtKind::LogicalIf(condition.clone(), Box::new(one))
                        }
                        made => StmtKind::If(IfBlock {
                            arms: vec![(
                                condition.clone(),
                                made.map_or_else(|m| m, |one| one.into()),
                            )],
                            otherwise: None,
                            ..IfBlock::default()
                        }),
                    };
                }
                StmtKind::If(b) => {
                    for (_, arm) in &mut b.arms {
                        *arm = self.block(std::mem::take(arm));
                    }
                    b.otherwise = b.otherwise.take().map(|b| self.block(b));
                }
                StmtKind::Select(b) => {
                    for c in &mut b.cases {
                        c.body = self.block(std::mem::take(&mut c.body));
                    }
                }
                StmtKind::Do(d) => {
                    d.body = self.block(std::mem::take(&mut d.body));
                    self.close(d);
                }
                StmtKind::Allocation(a) if !a.free => {
                    for o in &mut a.objects {
                        if let ExprKind::Element(s, bounds) = &mut o.kind
                            && self.is_tangent(*s)
                        {
                            bounds.insert(0, self.last.clone());
                        }
                    }
                }
                StmtKind::Call(callee, args) if self.given_call(*callee, args).is_some() => {
                    let mut made = self.given_call(*callee, args).cloned().unwrap_or_default();
                    let label = s.label.take();
                    if let Some(first) = made.first_mut() {
                        first.label = label;
                    }
                    out.append(&mut made);
                    open = false;
                    continue;
                }
                StmtKind::Call(callee, args) => {
                    for a in args.iter_mut() {
                        self.first_direction(a);
                    }
                    if self.called.contains(callee) {
                        args.push(Expr::var(self.count, span));
                    }
                }
                _ => {}
            }
            open = matches!(&s.kind, StmtKind::Comment(_)) && open;
            if open && let Some(StmtKind::Do(d)) = out.last_mut().map(|last| &mut last.kind) {
                d.body.push(s);
                continue;
            }
            out.push(s);
        }
        out
    }

    /// Gives a loop an END DO of its own if its last statement has become a loop or a block.
    fn close(&self, d: &mut Do) {
        let DoEnd::Label(label) = d.end else { return };
        let ends = d.body.last().is_some_and(|last| match &last.kind {
            StmtKind::Do(inner) => inner.end == DoEnd::Label(label),
            StmtKind::If(_) | StmtKind::Select(_) => false,
            _ => last.label == Some(label),
        });
        if !ends {
            d.end = DoEnd::EndDo(None);
        }
    }

    fn all_directions(&self, body: Block) -> Stmt {
        let span = body.first().map_or(farfel_lang::Span::NONE, |s| s.span);
        let ends = [Expr::int(1, span), self.last.clone()];
        Stmt::count(self.direction, ends, None, body, span)
    }

    /// Restricts the tangents in an expression to the direction of the loop.
    fn one_direction(&self, e: &mut Expr) {
        let direction = Expr::var(self.direction, e.span);
        match &mut e.kind {
            ExprKind::Var(s) if self.is_tangent(*s) => {
                let mut subscripts = vec![direction];
                let all = || Expr::range(None, None, None, e.span);
                subscripts.extend((0..self.rank(*s).unwrap_or(0)).map(|_| all()));
                e.kind = ExprKind::Element(*s, subscripts);
            }
            ExprKind::Element(s, subscripts) if self.is_tangent(*s) => {
                subscripts.insert(0, direction);
            }
            _ => {
                for c in e.children_mut() {
                    self.one_direction(c);
                }
            }
        }
    }

    /// A tangent as an actual argument: its first element, or all directions of a section.
    fn first_direction(&self, e: &mut Expr) {
        let span = e.span;
        if let ExprKind::Element(s, subscripts) = &mut e.kind
            && self.is_tangent(*s)
        {
            let first = match subscripts.iter().any(|s| self.selects_several(s)) {
                true => Expr::range(None, None, None, span),
                false => Expr::int(1, span),
            };
            subscripts.insert(0, first);
        }
    }

    /// Whether a subscript is a range or an array of subscripts.
    fn selects_several(&self, subscript: &Expr) -> bool {
        let mut several = false;
        subscript.walk(&mut |e| {
            several |= match &e.kind {
                ExprKind::Range(..) | ExprKind::Array(_) => true,
                ExprKind::Var(s) => self.arrays.contains(s),
                _ => false,
            };
        });
        several
    }
}

impl Generator<'_> {
    /// Returns `n` times an extent in a form that DATA accepts, and the number of declarations that this has added.
    fn multiple(&mut self, extent: &Expr, n: i64) -> (usize, Expr) {
        let span = self.source.span;
        let constant = match extent.kind {
            ExprKind::Int(m) => return (0, Expr::int(n.saturating_mul(m), span)),
            ExprKind::Var(s) if n != 1 => s,
            _ => return (0, extent.clone()),
        };
        let name = self.unused(&format!("{}X{n}", self.unit.symbols[constant].name));
        let value = Expr::binary(BinOp::Mul, Expr::int(n, span), extent.clone());
        let s = self.unit.symbols.add(Symbol {
            class: Class::Parameter(Box::new(value)),
            typed: true,
            ..Symbol::variable(name, Type::INTEGER, span)
        });
        let before = self.unit.specs.len();
        self.unit.declare(s);
        self.unit.add_spec(SpecKind::Parameter(vec![s]), span);
        (self.unit.specs.len() - before, Expr::var(s, span))
    }
}
