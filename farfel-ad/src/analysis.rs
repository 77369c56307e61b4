//! The results of the engine's analyses, for inspection: in which contexts the subprograms below a
//! request are differentiated, and what is active in each.
//!
//! Two calls share a derivative if they need the same [`Context`]: the same inputs have a
//! derivative, and the derivatives of the same outputs are used. A subprogram gets at most
//! [`MOST_CONTEXTS`](crate::tangent::MOST_CONTEXTS) such derivatives. Calls that would need another
//! one share a last one, in which everything is active that can be.
//!
//! An adjoint has the contexts of the tangent that it is generated from. For adjoints, the analysis
//! also tells what is recorded: which values the forward sweep tapes at which statement, what
//! subprograms preserve for their callers, and which statements are omitted because neither sweep
//! needs their results (adjoint liveness).

use crate::activity::{Activity, Problem};
use crate::flow::FlowGraph;
use crate::layout::Unknown;
use crate::locations::{Context, Space, differentiable};
use crate::reverse::Recorded;
pub use crate::reverse::memory::{JointUnit, Tape};
use crate::tangent::{Engine, Tangent, inspect_linear_tangents, inspect_tangents};
use farfel_lang::Span;
use farfel_lang::dataflow::{Procedure, VariableUse, procedures};
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{AdMode, Expr, Name, Program, Request, StmtKind, SymId, Unit, walk_block};
use std::collections::HashSet;

/// The analysis of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Analysis {
    /// The derivatives, starting with that of the head.
    pub derivatives: Vec<InContext>,
    /// The subprograms below the head through which no derivative propagates.
    pub passive: Vec<Name>,
    /// The tapes of an adjoint.
    pub tapes: Vec<Tape>,
    /// For an adjoint, the subprograms whose calls are reversed jointly: they are re-executed in
    /// the reverse sweep.
    pub joint: Vec<JointUnit>,
}

/// A subprogram in one context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InContext {
    /// The subprogram.
    pub unit: Name,
    /// The name of its derivative.
    pub derivative: Name,
    /// Whether it is the fallback that is shared by all calls beyond the limit on contexts.
    pub shared: bool,
    /// Its arguments, its result, the COMMON variables that it declares or that have a derivative,
    /// and its active local variables.
    pub variables: Vec<Variable>,
    /// The variables whose values before the call are needed by some caller, so that an adjoint
    /// preserves them.
    pub kept_for_callers: Vec<Name>,
    /// The variables whose values after the forward sweep are needed by the reverse sweep.
    pub needed_after: Vec<Name>,
    /// The statements with an entry, in the order of the source.
    pub statements: Vec<Statement>,
}

/// A statement of a subprogram in one context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The source position.
    pub span: Span,
    /// Whether a derivative propagates through it.
    pub active: bool,
    /// The variables that the forward sweep of an adjoint tapes here before they are overwritten.
    pub kept: Vec<Name>,
    /// Whether an adjoint omits it because the value is not needed.
    pub left_out: bool,
}

/// A variable of a subprogram in one context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name in the subprogram, or for COMMON that the subprogram does not declare, its name in
    /// the unit that does.
    pub name: Name,
    /// What kind of variable it is.
    pub role: Role,
    /// Whether its value depends on independent variables.
    pub varied: Ends,
    /// Whether its derivative is read later.
    pub useful: Ends,
    /// What the subprogram does with its value; not known for local variables.
    pub used: Option<VariableUse>,
}

/// What kind of variable it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// An argument.
    Argument,
    /// The result of a FUNCTION.
    Result,
    /// In this COMMON block; empty for blank COMMON.
    Common(Name),
    /// A local variable that is varied and useful at some statement.
    Local,
}

/// Whether something holds at the entry and at the exit of a subprogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ends {
    /// At the entry.
    pub entry: bool,
    /// At the return.
    pub exit: bool,
}

/// Analyses a request. `most_tape` is the limit for the size of one tape in bytes, if one is set.
///
/// # Errors
///
/// Code that cannot be differentiated, with its position in the source.
pub fn analyse(
    program: &Program,
    request: &Request,
    most_tape: Option<u64>,
) -> Result<Analysis, Vec<Diagnostic>> {
    let mut seen = program.clone();
    farfel_lang::lower::as_globals(&mut seen);
    let program = &seen;
    let mut found = Analysis::default();
    if request.mode == AdMode::Reverse {
        (found.tapes, found.joint) = crate::reverse::memory::tapes(program, request, most_tape)?;
    }
    let (prepared, recorded) = match request.mode {
        AdMode::Forward => (None, Vec::new()),
        AdMode::Reverse => (
            Some(crate::reverse::prepared(program, request)?),
            crate::reverse::recorded(program, request, most_tape)?,
        ),
    };
    let inspect = &mut |engine: &Engine, made: &[Tangent]| {
        let known = procedures(engine.program, request.real);
        let of = |t: &Tangent| {
            let kept = recorded.iter().find(|r| r.derivative == t.unit.name);
            Some(in_context(engine, &known, engine.find(&t.of)?, t, kept))
        };
        found.derivatives = made.iter().filter_map(of).collect();
        let is_below = |u: &&Unit| engine.dependence.summary(&u.name).is_some();
        let below = engine.program.units.iter().filter(is_below);
        found.passive = below
            .filter(|u| made.iter().all(|t| t.of != u.name))
            .map(|u| u.name.clone())
            .collect();
    };
    match &prepared {
        None => inspect_tangents(program, request, inspect)?,
        Some(prepared) => inspect_linear_tangents(prepared, request, inspect)?,
    }
    Ok(found)
}

fn in_context(
    engine: &Engine,
    known: &[Procedure],
    unit: &Unit,
    made: &Tangent,
    recorded: Option<&Recorded>,
) -> InContext {
    let commons = &engine.dependence.commons;
    let space = Space::of(unit, commons);
    let flow = FlowGraph::of(unit);
    // All contexts have been admitted by now, so each call gets the same one as before.
    let admit = |name: &str, c: Context| engine.registry.borrow().admit(name, c);
    let problem = Problem {
        unit,
        space: &space,
        flow: &flow,
        dependence: &engine.dependence,
        admit: &admit,
        assume: engine.layout.unknown == Unknown::Provided,
    };
    let Context { inputs, outputs } = &made.context;
    let activity = problem.solve(&space.locs(inputs), &space.locs(outputs));
    let procedure = known
        .iter()
        .find(|p| p.within.is_none() && p.entry.is_none() && p.unit.name == unit.name);
    let view = ActivityView {
        space: &space,
        flow: &flow,
        activity: &activity,
    };

    let mut variables = Vec::new();
    for s in unit.args.iter().filter_map(|a| a.sym()) {
        if !unit.symbols[s].is_variable() {
            continue;
        }
        let used = procedure.and_then(|p| p.args.iter().find(|a| a.sym == s));
        variables.push(view.variable(unit, s, Role::Argument, used.map(|a| a.used)));
    }
    if let Some(s) = unit.result {
        variables.push(view.variable(unit, s, Role::Result, None));
    }
    for (k, common) in commons.vars.iter().enumerate() {
        let declared = crate::locations::common_members(unit);
        let own = declared.get(&common.block);
        let loc = space.common(k);
        let (varied, useful) = view.ends(loc, common.differentiable);
        if own.is_none() && !view.is_active(loc) {
            continue;
        }
        let owner = engine.find(&common.unit);
        let name = match own.and_then(|members| members.get(common.position)) {
            Some(s) => unit.symbols[*s].name.clone(),
            None => owner.map_or_else(Name::default, |u| u.symbols[common.sym].name.clone()),
        };
        let block = procedure.and_then(|p| p.commons.iter().find(|c| c.block == common.block));
        let used = block.map(|c| match commons.irregular.contains(&common.block) {
            true => c
                .variables
                .iter()
                .fold(VariableUse::default(), |all, (_, u)| VariableUse {
                    reads: all.reads || u.reads,
                    writes: all.writes || u.writes,
                    ..all
                }),
            false => c
                .variables
                .get(common.position)
                .map_or_else(VariableUse::default, |v| v.1),
        });
        variables.push(Variable {
            name,
            role: Role::Common(common.block.clone()),
            varied,
            useful,
            used,
        });
    }
    let outside: Vec<usize> = (0..space.slots).filter_map(|s| space.slot(s)).collect();
    for (id, s) in unit.symbols.iter() {
        let loc = space.loc(id);
        if differentiable(s) && !outside.contains(&loc) && view.is_active(loc) {
            variables.push(view.variable(unit, id, Role::Local, None));
        }
    }
    InContext {
        unit: unit.name.clone(),
        derivative: made.unit.name.clone(),
        shared: engine
            .registry
            .borrow()
            .is_shared(&unit.name, &made.context),
        variables,
        kept_for_callers: recorded.map_or_else(Vec::new, |r| r.before.clone()),
        needed_after: recorded.map_or_else(Vec::new, |r| r.after.clone()),
        statements: statements(unit, made, recorded),
    }
}

/// Collects the statements with an entry.
fn statements(unit: &Unit, made: &Tangent, recorded: Option<&Recorded>) -> Vec<Statement> {
    let mut active: HashSet<Span> = HashSet::new();
    walk_block(&made.unit.body, &mut |s| {
        let derivative = |e: &Expr| e.base().is_some_and(|b| made.derivatives.contains(&b));
        let own = match &s.kind {
            StmtKind::Assign(to, _) => derivative(to),
            StmtKind::Call(_, args) => args.iter().any(derivative),
            _ => false,
        };
        if own {
            active.insert(s.span);
        }
    });
    let mut found: Vec<Statement> = Vec::new();
    walk_block(&unit.body, &mut |s| {
        let plain = matches!(s.kind, StmtKind::Assign(..) | StmtKind::Call(..));
        let kept = recorded.iter().flat_map(|r| &r.kept);
        let kept: Vec<Name> = kept
            .filter(|(at, _)| *at == s.span)
            .map(|(_, n)| n.clone())
            .collect();
        let carried_out = recorded.and_then(|r| r.carried_out.as_ref());
        let new = Statement {
            span: s.span,
            active: plain && active.contains(&s.span),
            kept,
            left_out: plain && carried_out.is_some_and(|c| !c.contains(&s.span)),
        };
        let something = new.active || new.left_out || !new.kept.is_empty();
        if something && !s.span.is_none() && found.iter().all(|f| f.span != s.span) {
            found.push(new);
        }
    });
    found.sort_by_key(|s| (s.span.file, s.span.start));
    found
}

struct ActivityView<'a> {
    space: &'a Space,
    flow: &'a FlowGraph<'a>,
    activity: &'a Activity,
}

impl ActivityView<'_> {
    fn variable(&self, unit: &Unit, s: SymId, role: Role, used: Option<VariableUse>) -> Variable {
        let symbol = &unit.symbols[s];
        let (varied, useful) = self.ends(self.space.loc(s), differentiable(symbol));
        Variable {
            name: symbol.name.clone(),
            role,
            varied,
            useful,
            used,
        }
    }

    fn ends(&self, loc: usize, differentiable: bool) -> (Ends, Ends) {
        let Activity {
            varied,
            live,
            live_on_entry,
            ..
        } = self.activity;
        let at = |sets: &[crate::locations::Set], node: usize| {
            differentiable && sets.get(node).is_some_and(|s| s.contains(loc))
        };
        (
            Ends {
                entry: at(varied, self.flow.entry),
                exit: at(varied, self.flow.exit),
            },
            Ends {
                entry: differentiable && live_on_entry.contains(loc),
                exit: at(live, self.flow.exit),
            },
        )
    }

    /// Whether there is a statement after which it is varied and its derivative is live.
    fn is_active(&self, loc: usize) -> bool {
        let Activity { varied, live, .. } = self.activity;
        (0..self.flow.len()).any(|i| {
            live[i].contains(loc)
                && self.flow.successors[i]
                    .iter()
                    .any(|n| varied[*n].contains(loc))
        })
    }
}
