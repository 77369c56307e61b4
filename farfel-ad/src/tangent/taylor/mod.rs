//! Derivatives of higher order in one direction.
//!
//! The tangent of a tangent has a derivative for each pair of directions, so that code and work double with
//! each level of nested ADF blocks. If all of them differentiate with respect to the same scalar, the
//! derivative of order n is n! times a coefficient of one Taylor series, and work and code grow with the
//! square of n:
//!
//! ```fortran
//!       ADF(X)
//!       ADF(X)
//!       ADF(X)
//!       Y = EXP(X)
//!       END ADF(Y1 = TANGENT(Y))
//!       END ADF(Y2 = TANGENT(Y1))
//!       END ADF(Y3 = TANGENT(Y2))
//! ```
//!
//! The innermost block is a subroutine of X and Y, and its tangent an ordinary one. The unit remembers what its
//! arguments are ([`OneDirection`]). The tangent of such a unit with respect to the same argument is the
//! series of the innermost subroutine, one order higher, and not a tangent of generated code:
//!
//! ```fortran
//!       SUBROUTINE ADF1_G3_G2_G1(X, X_G1, X_G2, X_G3, Y, …)
//!       X_T1 = 1.0D0
//!       X_T2 = 0.0D0
//!       X_T3 = 0.0D0
//!       CALL ADF1_T3_G1(X, X_T1, X_T2, X_T3, Y, Y_T1, Y_T2, Y_T3)
//!       Y_G3_G2_G1 = 6.0D0*Y_T3*X_G3*X_G2*X_G1
//! ```
//!
//! [`varied`] finds what depends on X, and whether all of it is supported: variables in COMMON, complex ones and
//! some intrinsic functions are not. Then the tangent is generated in the usual way. [`unit`] writes the
//! series of a subprogram, [`series`] those of expressions, both with the state in [`generator`].

mod generator;
mod series;
mod unit;
mod varied;

use super::{Engine, Tangent, TangentRequest};
use crate::passes::{self, Form, Forms, Goal};
use farfel_lang::callgraph::ReachableUnits;
use farfel_lang::ir::{
    Arg, DirectionalArg, Expr, ExprKind, Name, OneDirection, Origin, Program, Request, SpecKind,
    Stmt, StorageClass, SymId, Symbol, Type, Unit, UnitKind, build,
};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use varied::Varied;

/// The lowest order that is computed as a series. The second derivative by two tangents is as short.
const LEAST_ORDER: usize = 3;

/// The highest order: the factorials have to be exact.
const HIGHEST_ORDER: usize = 20;

/// The forms that series are made from.
const FORMS: Forms = Forms::of(&[
    Form::ElementsByName,
    Form::PlainCounters,
    Form::PlainConditions,
    Form::Elements,
]);

/// What the arguments of the tangent of an AD block are, if the block has one independent scalar and reaches
/// no other derivatives.
pub(crate) fn first_order(program: &Program, request: &Request) -> Option<OneDirection> {
    let head = program.unit(&request.head)?;
    let [independent] = request.independents[..] else {
        return None;
    };
    let x = &head.symbols[head.args.get(independent)?.sym()?];
    let below = ReachableUnits::of(program, [request.head.as_str()]);
    let usable = matches!(x.ty, Some(Type::Real(_)))
        && !x.is_array()
        && !request.vector
        && !request.directions.pattern
        && !request.dependents.contains(&independent)
        && head.kind == UnitKind::Subroutine
        && below.units.iter().all(|u| u.origin != Origin::Derivative);
    if !usable {
        return None;
    }
    let mut args = Vec::new();
    let mut seed = None;
    for i in 0..head.args.len() {
        args.push(DirectionalArg::Value(i));
        if !request.paired.contains(&i) {
            continue;
        }
        args.push(match i == independent {
            true => DirectionalArg::Seed,
            false if request.dependents.contains(&i) => DirectionalArg::Derivative {
                of: i,
                order: 1,
                seeds: Vec::new(),
            },
            false => DirectionalArg::Unused(i),
        });
        if i == independent {
            seed = Some(args.len() - 1);
        }
    }
    let seed = seed?;
    for a in &mut args {
        if let DirectionalArg::Derivative { seeds, .. } = a {
            seeds.push(seed);
        }
    }
    Some(OneDirection {
        unit: request.derivative.clone(),
        of: request.head.clone(),
        independent,
        order: 1,
        args,
    })
}

/// What the arguments of the derivative of a unit are, if the unit computes derivatives in one direction, and
/// the derivative is in the same one.
pub(crate) fn next_order(source: &Unit, wanted: &TangentRequest) -> Option<OneDirection> {
    let known = source.one_direction.as_deref()?;
    if known.unit != source.name
        || known.args.len() != source.args.len()
        || known.order >= HIGHEST_ORDER
    {
        return None;
    }
    let x = DirectionalArg::Value(known.independent);
    let x = known.args.iter().position(|a| *a == x)?;
    let context = &wanted.context;
    if !context.inputs.ones().eq([x]) || context.outputs.ones().any(|o| o >= source.args.len()) {
        return None;
    }
    // The position of each argument among the new ones.
    let mut places = Vec::new();
    let mut next = 0;
    for i in 0..source.args.len() {
        places.push(next);
        next += 1 + usize::from(context.active(i));
    }
    let seed = places[x] + 1;
    let moved = |seeds: &[usize]| -> Vec<usize> { seeds.iter().map(|s| places[*s]).collect() };
    let mut args = Vec::new();
    for (i, a) in known.args.iter().enumerate() {
        let here = match a {
            DirectionalArg::Derivative { of, order, seeds } => DirectionalArg::Derivative {
                of: *of,
                order: *order,
                seeds: moved(seeds),
            },
            a => a.clone(),
        };
        args.push(here.clone());
        if !context.active(i) {
            continue;
        }
        args.push(match here {
            DirectionalArg::Value(v) if v == known.independent => DirectionalArg::Seed,
            DirectionalArg::Value(v) => DirectionalArg::Derivative {
                of: v,
                order: 1,
                seeds: vec![seed],
            },
            DirectionalArg::Derivative {
                of,
                order,
                mut seeds,
            } => {
                seeds.push(seed);
                DirectionalArg::Derivative {
                    of,
                    order: order + 1,
                    seeds,
                }
            }
            DirectionalArg::Seed | DirectionalArg::Unused(_) => return None,
        });
    }
    Some(OneDirection {
        unit: wanted.name.clone(),
        order: known.order + 1,
        args,
        ..known.clone()
    })
}

/// Returns a derivative of higher order, as a call of a Taylor series, which is added to the units that
/// `engine` generates. `None` if that is not possible, or not worthwhile.
pub(crate) fn by_series(
    engine: &Engine,
    wanted: &TangentRequest,
    made: &OneDirection,
) -> Option<Tangent> {
    if made.order < LEAST_ORDER {
        return None;
    }
    let series = Series::of(engine, made)?;
    let mut unit = Wrapper::of(engine, series, wanted, made)?;
    unit.number();
    let derivatives = made.args.iter().zip(&unit.args);
    let derivatives = derivatives.filter(|(a, _)| !matches!(a, DirectionalArg::Value(_)));
    let derivatives = derivatives.filter_map(|(_, a)| a.sym()).collect();
    Some(Tangent {
        of: wanted.unit.clone(),
        args: wanted.args,
        context: wanted.context.clone(),
        unit,
        derivatives,
        primals: Vec::new(),
        by_slot: Vec::new(),
        assigned_in_pairs: HashSet::new(),
        zeroed_on_entry: HashSet::new(),
        added: HashSet::new(),
        direction: None,
        dummies: HashMap::new(),
        zero: Vec::new(),
    })
}

/// The Taylor series of a subroutine.
struct Series {
    /// The subroutine.
    of: Unit,
    /// The name of the one that computes the coefficients.
    name: Name,
    /// The positions of the arguments that have coefficients.
    varied: Vec<usize>,
}

impl Series {
    /// Generates the series, and those of everything that the subroutine calls.
    fn of(engine: &Engine, made: &OneDirection) -> Option<Self> {
        let goal = Goal {
            heads: &[made.of.as_str()],
            request: None,
            named: &[],
            tag: "",
        };
        let legal = passes::legalise(Cow::Borrowed(engine.program), FORMS, &goal).ok()?;
        let same = |(a, b): (&Unit, &Unit)| a.name == b.name && a.args == b.args;
        let units = engine.program.units.iter().zip(&legal.program.units);
        if engine.program.units.len() != legal.program.units.len() || !units.into_iter().all(same) {
            return None;
        }
        let head = legal.program.unit(&made.of)?;
        let independent = head.args.get(made.independent)?.sym()?;
        let varied = Varied::find(&legal.program, head, independent)?;
        let positions = head.args.iter().enumerate();
        let unchanged = varied
            .is_only_read(head, independent)
            .then_some(independent);
        let positions = positions.filter(|(_, a)| {
            a.sym()
                .is_some_and(|s| varied.has(head, s) && Some(s) != unchanged)
        });
        let positions = positions.map(|(i, _)| i).collect();
        let key = (made.of.clone(), made.order);
        let known = engine.taylor.borrow().get(&key).cloned();
        let name = match known {
            Some(name) => name,
            None => {
                let below = ReachableUnits::of(&legal.program, [made.of.as_str()]);
                let mut names = BTreeMap::new();
                for u in below.units.iter().filter(|u| varied.is_touched(&u.name)) {
                    let wanted = format!("{}_T{}", u.name, made.order);
                    let wanted = engine.layout.units.of(&wanted);
                    names.insert(&u.name, engine.registry.borrow_mut().global(&wanted));
                }
                let names: HashMap<Name, Name> =
                    names.into_iter().map(|(u, n)| (u.clone(), n)).collect();
                let mut added = Vec::new();
                for u in below.units.iter().filter(|u| names.contains_key(&u.name)) {
                    let unchanged = unchanged.filter(|_| u.name == made.of);
                    let made = made.order;
                    added.push(unit::taylor_unit(
                        engine, &varied, &names, u, unchanged, made,
                    )?);
                }
                engine.added.borrow_mut().extend(added);
                let name = names.get(&made.of)?.clone();
                engine.taylor.borrow_mut().insert(key, name.clone());
                name
            }
        };
        Some(Series {
            of: head.clone(),
            name,
            varied: positions,
        })
    }
}

/// The derivative that calls the series.
struct Wrapper;

impl Wrapper {
    fn of(
        engine: &Engine,
        series: Series,
        wanted: &TangentRequest,
        made: &OneDirection,
    ) -> Option<Unit> {
        let mut unit = series.of;
        let span = unit.span;
        let values: Vec<SymId> = unit.args.iter().map(|a| a.sym()).collect::<Option<_>>()?;
        strip(&mut unit, &values);
        unit.name = wanted.name.clone();
        unit.origin = Origin::Derivative;
        unit.comments = vec![format!(
            " Derivatives of {} up to order {} with respect to {}",
            made.of, made.order, unit.symbols[values[made.independent]].name
        )];
        unit.one_direction = None;
        let declare = |unit: &mut Unit, name: &str, of: SymId, storage_class: StorageClass| {
            let symbol = unit.symbols[of].clone();
            let id = unit.symbols.add(Symbol {
                name: engine.unused_name(&unit.symbols, name),
                storage_class,
                typed: true,
                origin: Origin::Derivative,
                ..symbol
            });
            unit.declare(id);
            id
        };
        // The arguments.
        let names = |of: &str, order: usize| match order {
            1 => engine.layout.variables.of(of),
            n => engine.layout.variables.of(&format!("{of}_{n}")),
        };
        let mut args = Vec::new();
        for a in &made.args {
            let (of, order) = match a {
                DirectionalArg::Value(i) => {
                    args.push(*values.get(*i)?);
                    continue;
                }
                DirectionalArg::Derivative { of, order, .. } => (*values.get(*of)?, *order),
                DirectionalArg::Unused(of) => (*values.get(*of)?, 1),
                DirectionalArg::Seed => (values[made.independent], 1),
            };
            let name = names(&unit.symbols[of].name.clone(), order);
            args.push(declare(&mut unit, &name, of, StorageClass::Dummy));
        }
        // The coefficients.
        let mut coefficients: HashMap<usize, Vec<SymId>> = HashMap::new();
        for i in &series.varied {
            let of = values[*i];
            let symbol = &unit.symbols[of];
            let assumed = symbol.dims.iter().any(|d| match &d.upper {
                Some(e) => matches!(e.kind, ExprKind::Star),
                None => true,
            });
            if assumed {
                return None;
            }
            let name = symbol.name.clone();
            let all = (1..=made.order)
                .map(|k| declare(&mut unit, &format!("{name}_T{k}"), of, StorageClass::Local));
            coefficients.insert(*i, all.collect());
        }
        let var = |s: SymId| Expr::var(s, span);
        let ty = |unit: &Unit, s: SymId| unit.symbols[s].ty;
        let mut body = Vec::new();
        let mut actuals = Vec::new();
        for (i, value) in values.iter().enumerate() {
            actuals.push(var(*value));
            for (k, c) in coefficients.get(&i).into_iter().flatten().enumerate() {
                let first = i == made.independent && k == 0;
                let start = if first { "1.0" } else { "0.0" };
                let start = build::literal(start, ty(&unit, *c)?, span);
                body.push(Stmt::assign(var(*c), start, span));
                actuals.push(var(*c));
            }
        }
        let procedure = unit.symbols.add(Symbol {
            class: farfel_lang::ir::Class::Subroutine,
            storage_class: StorageClass::Global,
            ..Symbol::new(series.name, farfel_lang::Span::NONE)
        });
        body.push(Stmt::call(procedure, actuals, span));
        // The derivatives.
        for (a, s) in made.args.iter().zip(&args) {
            let DirectionalArg::Derivative { of, order, seeds } = a else {
                continue;
            };
            let ty = ty(&unit, *s)?;
            let value = match coefficients.get(of).and_then(|c| c.get(order - 1)) {
                None => build::zero(ty, span),
                Some(c) => {
                    let mut value = var(*c);
                    let factorial: u64 = (1..=*order as u64).product();
                    if factorial > 1 {
                        let factorial = build::literal(&format!("{factorial}.0"), ty, span);
                        value = build::product(factorial, value);
                    }
                    for seed in seeds {
                        value = build::product(value, var(*args.get(*seed)?));
                    }
                    value
                }
            };
            body.push(Stmt::assign(var(*s), value, span));
        }
        unit.args = args.into_iter().map(Arg::Dummy).collect();
        unit.body = body;
        Some(unit)
    }
}

/// Removes what only the statements of a unit need: all variables but the arguments and those in their
/// bounds.
fn strip(unit: &mut Unit, args: &[SymId]) {
    let mut needed: HashSet<SymId> = args.iter().copied().collect();
    let mut open: Vec<SymId> = args.to_vec();
    while let Some(s) = open.pop() {
        let symbol = &unit.symbols[s];
        let mut add = |e: &Expr| {
            e.for_each_symbol(&mut |s| {
                if needed.insert(s) {
                    open.push(s);
                }
            });
        };
        for d in &symbol.dims {
            d.lower.iter().chain(&d.upper).for_each(&mut add);
        }
        if let farfel_lang::ir::Class::Parameter(value) = &symbol.class {
            add(value);
        }
    }
    unit.body.clear();
    unit.specs.retain(|s| {
        matches!(
            s.kind,
            SpecKind::Implicit
                | SpecKind::Type(..)
                | SpecKind::Dimension(_)
                | SpecKind::Parameter(_)
                | SpecKind::Common(_)
                | SpecKind::ThreadPrivate(_)
                | SpecKind::External(_)
                | SpecKind::Intent(..)
                | SpecKind::Use(_)
                | SpecKind::Include(_)
        )
    });
    let common = |s: SymId| matches!(unit.symbols[s].storage_class, StorageClass::Common(_));
    let gone: HashSet<SymId> = unit
        .symbols
        .ids()
        .filter(|s| !needed.contains(s) && !common(*s))
        .collect();
    unit.undeclare_all(&|s| gone.contains(&s));
}
