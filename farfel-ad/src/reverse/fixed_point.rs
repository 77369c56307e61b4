//! Loops with `!farfel: fixed-point`, which iterate until z = f(z, x).
//!
//! The forward sweep is the loop itself and records nothing about its iterations. At its end z is the fixed
//! point, so that only the Jacobian J of f at this point matters. The reverse sweep executes one more
//! iteration with a tape, and goes back over that tape again and again: the cotangents of z become z̄, Jᵀz̄,
//! (Jᵀ)²z̄, …, while those of x accumulate the contribution of each. The sum of these is the solution of w =
//! z̄ + Jᵀw, which is propagated to x. The adjoint ends when nothing changes any more.
//!
//! Adjoints in place of Tapenade's iterate w itself, where `C$AD FP-LOOP "Z" adj_reduction=1.e-6` says when they end: the function
//! ADFIXEDPOINT_NOTREDUCED decides, which is in Tapenade's library unless the program has its own. It can do so for all processes
//! together. For loops that contain a linear solver with a tolerance, the results are then those of Tapenade's adjoint.
//!
//! Source: B. Christianson, *Reverse accumulation and attractive fixed points*, Optimization
//! Methods and Software 3(4), 1994.

use super::recompute::{Control, SavedStates, SavedValue, when};
use super::save;
use super::sweep::Sweeper;
use super::sweep_data::{Replay, StateVariable, Sweeps};
use super::tape::TapeKind;
use super::tbr::Needs;
use super::unit_builder::{UnitBuilder, zero};
use super::{AdjointEngine, Part};
use crate::affine::{Affine, LoopRange};
use crate::locations::Set;
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::build::binary;
use farfel_lang::ir::{
    BinOp, Block, Class, Do, DoControl, Expr, LoopDirective, LoopDirectiveKind, Name, Program,
    Stmt, StmtKind, SymId, Type, walk_block,
};
use std::collections::BTreeSet;

/// The default tolerance: smaller changes, relative to the largest one, count as none.
const TOLERANCE: &str = "1D-14";

/// The default number of iterations after which the adjoint gives up.
const ITERATIONS: u32 = 1_000_000;

/// The function of adjoints by Tapenade that decides whether to iterate again: of the sum of the squares of all changes, which is
/// -1 at first, and of the factor by which it must be reduced.
pub const NOT_REDUCED: &str = "ADFIXEDPOINT_NOTREDUCED";

/// The relative change below which nothing changes any more where that function decides.
const SETTLED: &str = "1D-12";

/// When the adjoint of a fixed-point loop ends.
pub(super) struct FixedPointEnd<'d> {
    /// The relative change, or by Tapenade's directive the factor by which changes must be reduced.
    pub tolerance: Option<&'d str>,
    /// The number of iterations after which it gives up.
    pub iterations: Option<u32>,
    /// The variables that become stationary, by Tapenade's directive.
    pub variables: &'d [Name],
}

/// What the adjoint of a fixed-point loop does if it ends as Tapenade's.
struct EndOfTapenade {
    /// The cotangents of the variables that become stationary.
    named: Vec<SymId>,
    /// The cotangents that the loop propagates to, which each iteration begins with anew.
    others: SavedStates,
}

impl AdjointEngine {
    /// The parts that fixed-point loops call. Their calls are split: the second execution of a joint call would
    /// write over the tape of the iteration, to which the reverse sweep returns.
    pub(super) fn below_fixed_points(&self) -> BTreeSet<usize> {
        let mut called = BTreeSet::new();
        for p in &self.parts {
            walk_block(&p.body, &mut |s| {
                if let StmtKind::Do(d) = &s.kind
                    && is_fixed_point(d)
                {
                    called.extend(self.called_by(&p.builder, &d.body));
                }
            });
        }
        self.with_called(called)
    }
}

/// The types of the arguments of [`NOT_REDUCED`].
#[derive(Debug, Clone, Copy)]
pub(super) struct NotReduced {
    changes: Type,
    /// The factor; `None` for a function in C, where it is a float whatever the size of REAL is.
    factor: Option<Type>,
}

impl NotReduced {
    /// Those of the program's own function, if it has one. `real` is the size of a default REAL in bytes.
    pub fn of(program: &Program, real: u8) -> Self {
        let own = program.unit(NOT_REDUCED);
        let ty = |position: usize| {
            let unit = own?;
            let ty = unit.symbols[unit.args.get(position)?.sym()?].ty;
            ty.filter(|t| matches!(t, Type::Real(_)))
        };
        let eight_bytes = match real {
            8 => Type::REAL,
            _ => Type::DOUBLE,
        };
        NotReduced {
            changes: ty(0).unwrap_or(eight_bytes),
            factor: ty(1),
        }
    }

    /// The factor as an argument.
    fn factor(self, factor: String, span: Span) -> Expr {
        match self.factor {
            Some(Type::Real(4)) => Expr::real(factor, span),
            Some(Type::Real(8)) => Expr::real(double(&factor), span),
            _ => Expr::of_size(Expr::real(factor, span), Type::FOUR_BYTES, span),
        }
    }
}

/// Whether there is a fixed-point loop among some statements.
pub(super) fn has_fixed_point(block: &Block) -> bool {
    let mut found = false;
    walk_block(block, &mut |s| {
        found |= matches!(&s.kind, StmtKind::Do(d) if is_fixed_point(d));
    });
    found
}

/// Whether a loop is marked as a fixed-point loop.
fn is_fixed_point(d: &Do) -> bool {
    let kind = d.directive.as_ref().map(|d| &d.kind);
    matches!(kind, Some(LoopDirectiveKind::FixedPoint { .. }))
}

impl Sweeper<'_> {
    pub(super) fn fixed_point(
        &mut self,
        d: &Do,
        control: Option<Control>,
        until: FixedPointEnd,
        at: Span,
        span: Span,
        needs: &mut Needs,
    ) -> Option<Sweeps> {
        let around = control.map(|(var, ..)| LoopRange {
            var,
            low: None::<Affine>,
            high: None,
        });
        self.in_fixed_point += 1;
        let iteration = self.one_iteration(around, &d.body);
        self.in_fixed_point -= 1;
        let (once, own) = iteration?;
        let whole = Stmt::repeat(d.clone(), span);
        let whole = std::slice::from_ref(&whole);
        self.refuse_unrepeatable(whole, at);
        let touched = self
            .engine
            .touched_in(&self.builder.unit, self.space, whole);
        let derivatives = self.derivative_locs();
        let var_loc = control.map(|(v, ..)| self.space.loc(v));
        let mut assigned = touched.assigned.clone();
        assigned.difference_with(&derivatives);
        var_loc.into_iter().for_each(|l| assigned.set(l, false));
        let exposed = self.exposed(&d.body);
        let mut changing = touched.assigned.clone();
        changing.intersect_with(&derivatives);
        changing.intersect_with(&exposed);
        let mut others = touched.assigned;
        others.union_with(&touched.read);
        others.intersect_with(&derivatives);
        others.difference_with(&changing);
        let (cotangents, open) = self.cotangents(&changing, at);
        self.not_comparable(open, at);
        let by_tapenade = self.end_of_tapenade(&cotangents, &others, &until, at);

        // What is needed from before the loop.
        let (mut forward, mut restore) = (Vec::new(), Vec::new());
        if let Some((var, ..)) = control {
            (forward, restore) = self.overwrite(&Expr::var(var, span), needs, span);
            needs.changed(var);
        }
        let (push, pop) = self.overwrite_all(&assigned, needs, span);
        forward.extend(push);
        self.changed(&assigned, needs);
        // The reverse sweep starts from the values after the loop.
        for loc in exposed.ones() {
            if !derivatives.contains(loc) && Some(loc) != var_loc {
                needs.add_all(loc);
            }
        }
        if let Some((_, from, to, step)) = control {
            for e in [from, to].into_iter().chain(step) {
                self.read(e, needs);
            }
        }

        // The values that going back over the tape reads first, and changes.
        let mut end = assigned.clone();
        end = end.ones().filter(|l| own.has(*l)).collect();
        let values = self.members(&end, at);
        let values = SavedStates::of(&mut self.builder, values);
        let cotangents = SavedStates::of(&mut self.builder, cotangents);
        let rounds = self.builder.variable("ROUNDS", Type::INTEGER);
        let x = |s: SymId| Expr::var(s, span);
        let set = |s: SymId, e: Expr| Stmt::assign(Expr::var(s, span), e, span);
        let one = || Expr::int(1, span);
        let all = |_: SymId| true;

        // Forward.
        forward.push(set(rounds, Expr::int(0, span)));
        forward.push(Stmt::repeat(
            Do {
                body: self.primal(&d.body),
                directive: None,
                ..d.clone()
            },
            span,
        ));

        // Backward.
        let mut back = Vec::new();
        if let Some((var, from, to, step)) = control {
            back.push(set(var, self.last_value(from, to, step, span)));
        }
        let slots = if by_tapenade.is_some() { 3 } else { 1 };
        let mut storage = vec![(&values, 1), (&cotangents, slots)];
        storage.extend(by_tapenade.as_ref().map(|t| (&t.others, 1)));
        for (saved, slots) in &storage {
            let slots = Expr::int(*slots, span);
            back.extend(saved.sizes(span));
            back.extend(saved.reserve(&mut self.builder, &mut self.tapes, slots, span));
        }
        back.extend(once.forward.iter().cloned());
        for (saved, slots) in &storage {
            for slot in 1..=*slots {
                let slot = Expr::int(slot, span);
                back.extend(saved.copy(
                    &mut self.builder,
                    &mut self.tapes,
                    slot,
                    false,
                    &all,
                    span,
                ));
            }
        }
        let kinds: Vec<TapeKind> = self.tapes.used.keys().copied().collect();
        let mut begin = Vec::new();
        for kind in kinds {
            let top = self.tapes.vars(&mut self.builder, kind).top();
            let end = self.builder.variable("END", Type::Integer(8));
            back.push(set(end, x(top)));
            begin.push(set(top, x(end)));
        }
        begin.extend(values.copy(&mut self.builder, &mut self.tapes, one(), true, &all, span));
        begin.extend(once.backward);
        let mut loops = match &by_tapenade {
            None => self.own_rounds(rounds, begin, &cotangents, &until, span),
            Some(end) => self.rounds_of_tapenade(rounds, begin, &cotangents, end, &until, span),
        };
        for s in &mut loops {
            if let StmtKind::Do(made) = &mut s.kind
                && matches!(made.control, DoControl::While(_))
            {
                made.directive = Some(Box::new(LoopDirective {
                    kind: LoopDirectiveKind::Replayed,
                    span: at,
                }));
            }
        }
        back.append(&mut loops);
        for (saved, _) in storage.iter().rev() {
            back.extend(saved.release(&mut self.builder, &mut self.tapes, span));
        }
        let mut backward = match control {
            None => back,
            // Without any iteration, z keeps its value.
            Some((_, from, to, step)) => {
                let trips = self.trips(from, to, step, span);
                when(
                    binary(BinOp::Gt, trips, Expr::int(0, span)),
                    back,
                    Vec::new(),
                    span,
                )
            }
        };
        backward.extend(pop);
        backward.extend(restore);
        if self.trial == 0 {
            let saved = storage
                .iter()
                .flat_map(|(saved, slots)| (0..*slots).flat_map(|_| saved.members.iter().cloned()));
            let state = saved.collect();
            self.replays.insert(
                rounds,
                Replay {
                    slots: 1,
                    filed: 0,
                    steps: [one(), one(), one()],
                    state,
                    body: once.forward,
                },
            );
        }
        Some(Sweeps { forward, backward })
    }

    /// Goes back over the iteration until nothing changes any more.
    fn own_rounds(
        &mut self,
        rounds: SymId,
        back: Block,
        cotangents: &SavedStates,
        until: &FixedPointEnd,
        span: Span,
    ) -> Block {
        let change = self.builder.variable("CHANGE", Type::Real(8));
        let largest = self.builder.variable("LARGEST", Type::Real(8));
        let compare = cotangents.compare(&mut self.builder, &mut self.tapes, change, span);
        let limit = until.iterations.unwrap_or(ITERATIONS);
        let quoted = Rounds {
            rounds,
            change,
            largest,
            tolerance: Expr::real(double(until.tolerance.unwrap_or(TOLERANCE)), span),
            limit: Expr::int(i64::from(limit), span),
            back,
            compare,
        };
        quoted.block(&self.builder.unit.symbols, span)
    }

    /// Goes back over the iteration as Tapenade's adjoint does. There are three saved states: z̄, w, and how w has changed.
    fn rounds_of_tapenade(
        &mut self,
        rounds: SymId,
        back: Block,
        cotangents: &SavedStates,
        end: &EndOfTapenade,
        until: &FixedPointEnd,
        span: Span,
    ) -> Block {
        let squares = self
            .builder
            .variable("CUMUL", self.engine.goal.not_reduced.changes);
        let change = self.builder.variable("CHANGE", Type::Real(8));
        let largest = self.builder.variable("LARGEST", Type::Real(8));
        let again = self.builder.variable("AGAIN", Type::INTEGER);
        let settled = self.builder.variable("SETTLED", Type::INTEGER);
        let x = |s: SymId| Expr::var(s, span);
        let set = |s: Expr, e: Expr| Stmt::assign(s, e, span);
        let all = |_: SymId| true;
        let named = |s: SymId| end.named.contains(&s);
        let one = || Expr::int(1, span);
        let (builder, tapes) = (&mut self.builder, &mut self.tapes);

        let add = |b: &mut UnitBuilder, v: SavedValue| {
            let [first, old, changed] = [0, 1, 2].map(|n| (v.place)(n));
            let by = binary(BinOp::Sub, v.value.clone(), old.clone());
            let more = binary(BinOp::Sub, by.clone(), changed.clone());
            let more = b.call("ABS", vec![more], span);
            let mut out = vec![
                set(v.value.clone(), binary(BinOp::Add, v.value.clone(), first)),
                set(x(change), binary(BinOp::Add, x(change), more)),
                set(changed.clone(), by),
                set(old, v.value),
            ];
            if named(v.of) {
                let size = match b.unit.symbols[v.of].ty {
                    Some(Type::Complex(_)) => b.call("ABS", vec![changed], span),
                    _ => changed,
                };
                let square = binary(BinOp::Mul, size.clone(), size);
                out.push(set(x(squares), binary(BinOp::Add, x(squares), square)));
            }
            out
        };
        let compare = cotangents.for_each_value(builder, tapes, one(), &all, &add, span);
        let rest = |_: &mut UnitBuilder, v: SavedValue| vec![set(v.value, (v.place)(2))];
        let rest = cotangents.for_each_value(builder, tapes, one(), &all, &rest, span);
        let zero = |b: &mut UnitBuilder, v: SavedValue| {
            let ty = b.unit.symbols[v.of].ty;
            ty.map(|ty| set(v.value, zero(ty, span)))
                .into_iter()
                .collect()
        };
        let forget = cotangents.for_each_value(builder, tapes, one(), &named, &zero, span);
        let renew = end.others.copy(builder, tapes, one(), true, &all, span);
        let reduction = until.tolerance.unwrap_or(TOLERANCE).replace('D', "E");
        let limit = until.iterations.unwrap_or(ITERATIONS);
        let function = builder.procedure(&NOT_REDUCED.into(), Class::Function, Some(Type::INTEGER));
        let quoted = RoundsOfTapenade {
            rounds,
            squares,
            change,
            largest,
            again,
            settled,
            not_reduced: function,
            reduction: (self.engine.goal.not_reduced).factor(reduction, span),
            tolerance: Expr::real(SETTLED.to_owned(), span),
            limit: Expr::int(i64::from(limit), span),
            renew,
            back,
            compare,
            rest,
            forget,
        };
        quoted.block(&self.builder.unit.symbols, span)
    }

    /// Whether and how the adjoint ends as Tapenade's: if the directive says so, and all cotangents can be saved, those that change
    /// under one name.
    fn end_of_tapenade(
        &mut self,
        cotangents: &[StateVariable],
        others: &Set,
        until: &FixedPointEnd,
        at: Span,
    ) -> Option<EndOfTapenade> {
        let mut locs = cotangents.iter().map(|m| self.space.loc(m.var));
        let tangled = locs.any(|l| self.space.tangled.contains(l));
        if !self.engine.goal.heads || until.tolerance.is_none() || tangled {
            return None;
        }
        let symbols = &self.builder.unit.symbols;
        let variables = until.variables.iter().filter_map(|v| symbols.find(v));
        let variables: Set = variables.map(|v| self.space.loc(v)).collect();
        let own = &self.engine.parts[self.part].primals;
        let own = own
            .iter()
            .map(|(d, v)| (self.space.loc(*d), self.space.loc(*v)));
        // The unit may not name the derivatives of variables in COMMON itself.
        let common = |p: &Part, s: SymId| {
            let number = p.space.common_at(p.space.loc(s))?;
            Some(self.space.common(number))
        };
        let in_common = self.engine.parts.iter().flat_map(|p| {
            let pairs = p.primals.iter();
            pairs.filter_map(move |(d, v)| Some((common(p, *d)?, common(p, *v)?)))
        });
        let named = own.chain(in_common).filter(|(_, v)| variables.contains(*v));
        let named: Set = named.map(|(d, _)| d).collect();
        let is_named = |s: &SymId| named.contains(self.space.loc(*s));
        let named: Vec<SymId> = cotangents.iter().map(|m| m.var).filter(is_named).collect();
        if named.is_empty() {
            return None;
        }
        let (others, open) = self.cotangents(others, at);
        open.is_empty().then(|| EndOfTapenade {
            named,
            others: SavedStates::of(&mut self.builder, others),
        })
    }

    /// Adds errors for cotangents that cannot be compared.
    fn not_comparable(&mut self, open: Vec<(String, &'static str)>, at: Span) {
        if self.trial > 0 {
            return;
        }
        for (why, help) in open {
            let why = format!("whether the adjoint of this loop has converged is not known: {why}");
            self.errors
                .push(Diagnostic::error(&rules::AD_LOOP, at, why).help(help));
        }
    }

    /// The cotangents at some locations, to be saved, and why some cannot be saved.
    fn cotangents(
        &mut self,
        locs: &Set,
        at: Span,
    ) -> (Vec<StateVariable>, Vec<(String, &'static str)>) {
        let mut found = Vec::new();
        let mut open = Vec::new();
        let mut missing = Vec::new();
        for loc in locs.ones() {
            let mut any = false;
            for id in self.builder.unit.symbols.ids() {
                let s = &self.builder.unit.symbols[id];
                if !s.is_variable()
                    || !self.builder.derivatives.contains(&id)
                    || self.space.loc(id) != loc
                {
                    continue;
                }
                any = true;
                let Some(kind) = s.ty.map(TapeKind::of) else {
                    continue;
                };
                let why = format!("{} has {}", s.name, s.missing_bounds());
                match save::bounds(&mut self.builder, id, at) {
                    Some(bounds) => found.push(StateVariable {
                        var: id,
                        kind,
                        bounds,
                    }),
                    None => open.push((why, "declare the bounds of the array")),
                }
            }
            if !any {
                missing.push(loc);
            }
        }
        for loc in missing {
            let why = "what this loop calls changes the derivative of a COMMON variable";
            self.undeclared(loc, why, at);
        }
        (found, open)
    }
}

farfel_lang::quote! {
    /// Goes back over one iteration until nothing changes any more.
    struct Rounds {
        rounds: SymId, change: SymId, largest: SymId, tolerance: Expr, limit: Expr,
        back: Block, compare: Block,
    }
    "
    rounds = 0
    largest = 0.0D0
    change = 1.0D0
    do while (change > tolerance*largest)
      call back
      change = 0.0D0
      call compare
      rounds = rounds + 1
      if (change > largest) then
        largest = change
      end if
      if (rounds >= limit .and. change > tolerance*largest) then
        stop 'Farfel: the adjoint of a fixed-point loop does not come to an end'
      end if
    end do
    "
}

farfel_lang::quote! {
    /// Goes back over one iteration until a function says that the cotangents hardly change any more, and then once more, from the
    /// final ones. If they do not change at all, it is told so: it does not know of elements that the loop keeps as they are.
    /// What comes before the loop does not influence the variables that become stationary.
    struct RoundsOfTapenade {
        rounds: SymId, squares: SymId, change: SymId, largest: SymId, again: SymId, settled: SymId,
        not_reduced: SymId, reduction: Expr, tolerance: Expr, limit: Expr,
        renew: Block, back: Block, compare: Block, rest: Block, forget: Block,
    }
    "
    rounds = 0
    largest = 0.0D0
    settled = 0
    squares = -1.0D0
    again = 1
    do while (again /= 0)
      again = not_reduced(squares, reduction)
      call renew
      call back
      squares = 0.0D0
      change = 0.0D0
      call compare
      rounds = rounds + 1
      if (change > largest) then
        largest = change
      end if
      if (change <= tolerance*largest) then
        squares = 0.0D0
        settled = 1
      end if
      if (rounds >= limit .and. again /= 0) then
        stop 'Farfel: the adjoint of a fixed-point loop does not come to an end'
      end if
    end do
    call rest
    if (settled == 0) then
      call forget
    end if
    "
}

/// A real constant in double precision.
fn double(text: &str) -> String {
    let text = text.replace('E', "D");
    match text.contains('D') {
        true => text,
        false => format!("{text}D0"),
    }
}
