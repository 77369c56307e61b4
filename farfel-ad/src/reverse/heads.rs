//! Adjoints of several heads at once that are called from outside.
//!
//! Each head becomes one subroutine with both sweeps. A subprogram below a head has separate sweeps,
//! FOO_B_FWD and FOO_B_BWD, with the tapes as additional arguments. If the forward sweep records nothing, the
//! original subprogram is called, and the reverse sweep is FOO_B. A head that is also called by other
//! subprograms gets both forms.

use super::known::Facts;
use super::made::Known;
use super::{Part, World, prepare, state};
use crate::custom_rules::rules::Rules;
use crate::layout::Layout;
use crate::layout::{GROWING, MOST_TAPE};
use crate::locations::{Commons, Context, Set, common_members};
use crate::tangent::{self, Head, Provide, Tangent, Tangents};
use farfel_lang::Span;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{
    Expr, Name, Place, Program, Request, StmtKind, SymId, Unit, for_each_reference, unused_name,
    walk_block,
};
use farfel_lang::verify::Primals;
use std::collections::{HashMap, HashSet};

/// What the adjoints of one run are made for: a request or heads.
pub(super) struct Order {
    /// The AD block that requests them, or [`Span::NONE`].
    pub span: Span,
    /// The derivatives that are called from outside, or passed as arguments.
    pub roots: HashSet<Name>,
    /// The suffix of the names of added symbols.
    pub suffix: Name,
    /// They are made for heads that are called from outside, not for an AD block.
    pub heads: bool,
    /// The derivatives that are given, not generated.
    pub rules: Rules,
}

impl Order {
    /// The order for a request of the compiler.
    pub fn of(request: &Request, closure: &Program) -> Self {
        Order {
            span: request.span,
            roots: HashSet::from([request.derivative.clone()]),
            suffix: request.suffix.clone(),
            heads: false,
            rules: Rules::of(closure),
        }
    }

    /// The name of the forward sweep of a subprogram `of` whose tangent is called `name`.
    pub fn forward_name(&self, of: &Name, name: &Name) -> Name {
        match name.strip_prefix(of.as_str()) {
            _ if self.heads => format!("{name}_FWD").into(),
            Some(rest) => format!("{of}_F{rest}").into(),
            None => format!("{name}_F{}", self.suffix).into(),
        }
    }
}

/// The adjoint of a subprogram, or one of its sweeps.
#[derive(Debug)]
pub struct Adjoint {
    /// The subprogram that it is the derivative of.
    pub of: Name,
    /// The context of a head, if it is the adjoint of one.
    pub head: Option<Context>,
    /// The derivative.
    pub unit: Unit,
}

/// The adjoints of some heads.
#[derive(Debug)]
pub struct Adjoints {
    /// The derivatives.
    pub units: Vec<Adjoint>,
    /// Procedures without source text whose derivatives are called.
    pub provide: Vec<Provide>,
    /// The dependence analysis that slots are numbered by.
    pub dependence: crate::depend::Dependence,
}

/// Returns the adjoints of some heads and of the active subprograms below them, laid out by `layout`.
///
/// # Errors
///
/// Returns an error for each construct that cannot be differentiated, with its place in the source.
pub fn differentiate_heads(
    program: &Program,
    heads: &[Head],
    layout: &Layout,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Adjoints, Vec<Diagnostic>> {
    let names: Vec<&str> = heads.iter().map(|h| h.unit.as_str()).collect();
    let closure = prepare::prepare_heads(program, &names)?;
    let heads = &tangent::renumbered(heads, program, &closure.program)?[..];
    let mut undone = HashSet::new();
    let (
        Begun {
            world,
            contexts,
            provide,
            dependence,
        },
        known,
    ) = loop {
        let mut found = Vec::new();
        let made = tangent::linear_heads(&closure.program, heads, layout, &undone, &mut found)?;
        let mut begun = Begun::of(&closure.program, heads, layout, made)?;
        let known = begun.world.known_with_declarations(&closure.program);
        if !World::undo(&closure.program, &known, &mut undone) {
            warnings.extend(closure.warnings.iter().cloned());
            warnings.append(&mut found);
            break (begun, known);
        }
    };
    let made_units = world.units(&closure.program, known, warnings)?;
    let (mut of, mut units): (Vec<Name>, Vec<Unit>) =
        made_units.into_iter().map(|m| (m.of, m.unit)).unzip();
    closure.finish(&mut units, &Name::default());
    units.iter_mut().for_each(Unit::number);
    let legal = Some(&closure.program);
    crate::verify::made_of("reverse", program, legal, &units, &Primals::default())?;
    // Added units are not the derivative of anything.
    of.extend(units[of.len()..].iter().map(|u| u.name.clone()));
    let adjoints = of.into_iter().zip(units).map(|(of, unit)| {
        let context = contexts.iter().find(|(n, _)| *n == unit.name);
        Adjoint {
            of,
            head: context.map(|(_, c)| c.clone()),
            unit,
        }
    });
    Ok(Adjoints {
        units: adjoints.collect(),
        provide,
        dependence,
    })
}

/// The state from which the adjoints of heads are generated.
struct Begun {
    world: World,
    contexts: Vec<(Name, Context)>,
    provide: Vec<Provide>,
    dependence: crate::depend::Dependence,
}

impl Begun {
    fn of(
        closure: &Program,
        heads: &[Head],
        layout: &Layout,
        made: Tangents,
    ) -> Result<Self, Vec<Diagnostic>> {
        let names: Vec<&str> = heads.iter().map(|h| h.unit.as_str()).collect();
        let is_head = |t: &Tangent| heads.iter().any(|h| h.unit == t.of);
        let passed = passed(&made.units);
        let is_root = |t: &&Tangent| is_head(t) || passed.contains(&t.unit.name);
        let order = Order {
            span: Span::NONE,
            roots: (made.units.iter().filter(is_root))
                .map(|t| t.unit.name.clone())
                .collect(),
            suffix: Name::default(),
            heads: true,
            rules: Rules::assumed(&made.provide, &made.dependence.rules),
        };
        let contexts = (made.units.iter().filter(|t| is_head(t)))
            .map(|t| (t.unit.name.clone(), t.context.clone()))
            .collect();
        let mut world = World::of(closure, made.units, order)?;
        world.most_growing = MOST_TAPE * GROWING;
        world.state = state::of(closure, &names, &world.commons, layout.real);
        Ok(Begun {
            world,
            contexts,
            provide: made.provide,
            dependence: made.dependence,
        })
    }
}

impl World {
    /// Like [`World::known`], after declaring in the units all COMMON blocks whose variables the sweeps must
    /// name.
    fn known_with_declarations(&mut self, closure: &Program) -> Known {
        let mut known = self.known();
        while self.declare(closure, &known.swept) {
            known = self.known();
        }
        known
    }

    /// Returns what the units must preserve for each other, and their sweeps.
    fn known(&mut self) -> Known {
        let facts = self.facts();
        name_backward(self, &facts);
        let mut errors = Vec::new();
        let swept = self.all_swept(&facts, &mut errors);
        Known {
            facts,
            swept,
            errors,
        }
    }
}

/// Names the reverse sweeps. The plain name of a derivative is reserved for the unit that has the
/// derivative's arguments, so a reverse sweep gets another name if it takes a tape, or if the complete
/// adjoint exists as well.
fn name_backward(world: &mut World, facts: &[Facts]) {
    let mut taken: HashSet<Name> = (world.parts.iter())
        .flat_map(|p| [p.name.clone(), p.forward_name.clone()])
        .collect();
    for (p, facts) in world.parts.iter_mut().zip(facts) {
        p.backward_name = p.name.clone();
        let own = !p.is_called_from_outside && !facts.forward && facts.tapes.is_empty();
        if !p.root && !own {
            p.backward_name = unused_name(&format!("{}_BWD", p.name), &|n| taken.contains(n));
            taken.insert(p.backward_name.clone());
        }
    }
}

/// Members of COMMON blocks: the block, and the zero-based position in it.
pub(super) type Members = HashSet<(Name, usize)>;

/// The COMMON derivatives that are set when a head's adjoint is called: those of its dependent variables. If
/// a block is a single location, all of its members.
pub(super) fn given_in_common(tangents: &[Tangent], root: &Tangent, commons: &Commons) -> Members {
    let numbers: Set = (root.context.outputs.ones())
        .filter_map(|slot| slot.checked_sub(root.args + 1))
        .collect();
    let mut found = Members::new();
    for t in tangents {
        let members = common_members(&t.unit);
        for (slot, d) in &t.by_slot {
            let Place::Common(block) = &t.unit.symbols[*d].place else {
                continue;
            };
            let number = slot.checked_sub(t.args + 1);
            let position = members
                .get(block)
                .and_then(|m| m.iter().position(|s| s == d));
            let (Some(k), Some(position)) = (number, position) else {
                continue;
            };
            if !numbers.contains(k) {
                continue;
            }
            let whole = commons.irregular.contains(&commons.vars[k].block);
            let members = members.get(block).map_or(0, Vec::len);
            let positions = match whole {
                true => 0..members,
                false => position..position + 1,
            };
            found.extend(positions.map(|p| (block.clone(), p)));
        }
    }
    found
}

/// Removes the value of a function from the arguments of its adjoint: the caller has no use for it.
pub(super) fn hide_result(unit: &mut Unit, value: Option<SymId>) {
    let Some(value) = value else { return };
    unit.args.retain(|a| a.sym() != Some(value));
    unit.symbols[value].place = Place::Local;
}

/// The names of all procedures that the tangents call.
pub(super) fn called(tangents: &[Tangent]) -> HashSet<Name> {
    let mut found = HashSet::new();
    for t in tangents {
        walk_block(&t.unit.body, &mut |s| {
            if let StmtKind::Call(callee, _) = &s.kind {
                found.insert(t.unit.symbols[*callee].name.clone());
            }
        });
    }
    found
}

/// The names of tangents that are passed as arguments. The procedures that receive them call their adjoints
/// like those of heads, with both sweeps in one unit.
fn passed(tangents: &[Tangent]) -> HashSet<Name> {
    let mut found = HashSet::new();
    for t in tangents {
        for_each_reference(&t.unit.body, &mut |call| {
            let named = call.args.iter().filter_map(Expr::base);
            let symbols = named.map(|s| &t.unit.symbols[s]);
            let procedures = symbols.filter(|s| s.class.is_procedure());
            found.extend(procedures.map(|s| s.name.clone()));
        });
    }
    found
}

/// The parts that are reachable from a head, including itself.
pub(super) fn reached<'p>(
    parts: &'p [Part],
    root: &'p Part,
    index: &HashMap<Name, usize>,
) -> Vec<&'p Part> {
    let mut found = vec![root];
    let mut seen: HashSet<usize> = HashSet::new();
    let mut at = 0;
    while let Some(p) = found.get(at).copied() {
        walk_block(&p.body, &mut |s| {
            if let StmtKind::Call(callee, _) = &s.kind
                && let Some(i) = index.get(&p.make.unit.symbols[*callee].name)
                && seen.insert(*i)
            {
                found.extend(parts.get(*i));
            }
        });
        at += 1;
    }
    found
}
