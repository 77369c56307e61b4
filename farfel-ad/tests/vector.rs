//! Several directions at once.
//!
//! Programs that check their own derivatives run with each derivative replaced by one for two directions, the
//! second twice the first: the results must be the same, and those of the second direction exactly twice
//! those of the first.

use crate::support;
use farfel_ad::{AdTool, Builtin, differentiate_all};
use farfel_lang::diagnostic::any_errors;
use farfel_lang::ir::{
    AdMode, BinOp, Dim, Expr, ExprKind, IfBlock, Program, Request, Stmt, StmtKind, StorageClass,
    SymId, Symbol, Type, Unit,
};
use farfel_lang::lower::{Stage, lower};
use farfel_lang::print::{Options, print_program};
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{NoIncludes, parse};
use farfel_lang::{Sources, Span};

/// The exit code of a program in which the directions disagree.
const DISAGREE: i64 = 77;

/// Returns a program without its derivatives, and the requests for them.
fn lowered(source: &str) -> (Program, Vec<Request>) {
    let mut sources = Sources::new();
    let file = sources.add("test.ff", source);
    let parsed = parse(&mut sources, file, None, &mut NoIncludes);
    assert!(!any_errors(&parsed.diagnostics), "{:?}", parsed.diagnostics);
    let mut program = parsed.program;
    let errors = resolve(&mut program);
    assert!(!errors.iter().any(|f| f.is_error()), "{errors:?}");
    let lowered = lower(program, Stage::Stage);
    (lowered.program, lowered.requests)
}

/// The request for several directions. `count` is their number, if the request contains it.
fn several(request: &Request, count: Option<i64>) -> Request {
    let mut directions = request.directions;
    directions.count = count;
    Request {
        directions,
        suffix: format!("{}V", request.suffix).into(),
        derivative: format!("{}V", request.derivative).into(),
        vector: true,
        ..request.clone()
    }
}

/// A program with all derivatives, which internally use derivatives for two directions. Returns its text, how
/// many requests this was done for, and the errors of the others.
fn doubled(source: &str, count: Option<i64>) -> (String, usize, Vec<String>) {
    let (program, requests) = lowered(source);
    let mut program = differentiate_all(&Builtin, program, &requests).unwrap();
    let (mut done, mut refused) = (0, Vec::new());
    for r in requests.iter().filter(|r| !r.vector) {
        match Builtin.differentiate(&program, &several(r, count)) {
            Ok(units) => {
                let one = program.unit(&r.derivative).unwrap();
                let Some(wrapper) = wrapper(one, r) else {
                    continue;
                };
                *program.unit_mut(&r.derivative).unwrap() = wrapper;
                program.units.extend(units);
                done += 1;
            }
            Err(errors) => refused.extend(errors.into_iter().map(|f| f.message)),
        }
    }
    (print_program(&program, &Options::default()), done, refused)
}

/// A derivative for one direction that calls the one for two. `None` if an array has no bounds that a copy
/// could be declared with.
fn wrapper(one: &Unit, request: &Request) -> Option<Unit> {
    let span = Span::NONE;
    let mut unit = one.clone();
    unit.comments.clear();
    // Only the arguments of the old unit are needed.
    unit.body.clear();
    let mut actuals = Vec::new();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut at = 0;
    let mut position = 0;
    while at < one.args.len() {
        let s = one.args[at].sym()?;
        actuals.push(Expr::var(s, span));
        at += 1;
        if request.paired.contains(&position) {
            let d = one.args[at].sym()?;
            at += 1;
            let of = unit.symbols[d].clone();
            let known = |dim: &Dim| matches!(&dim.upper, Some(u) if u.kind != ExprKind::Star);
            if !of.dims.iter().all(known) {
                return None;
            }
            let mut dims = of.dims.clone();
            dims.insert(
                0,
                Dim {
                    lower: None,
                    upper: Some(Expr::int(2, span)),
                },
            );
            let name = unit.symbols.unused(&format!("{}W", of.name), &|_| false);
            let w = unit.symbols.add(Symbol {
                name,
                dims,
                storage_class: StorageClass::Local,
                typed: true,
                ..of.clone()
            });
            unit.declare(w);
            let direction = |n: i64| {
                let mut subscripts = vec![Expr::int(n, span)];
                let all = Expr::new(ExprKind::Range(None, None, None), span);
                subscripts.extend(of.dims.iter().map(|_| all.clone()));
                Expr::new(ExprKind::Element(w, subscripts), span)
            };
            let twice = |e: Expr| Expr::binary(BinOp::Mul, Expr::int(2, span), e);
            before.push(Stmt::assign(direction(1), Expr::var(d, span), span));
            before.push(Stmt::assign(direction(2), twice(Expr::var(d, span)), span));
            // Other cotangents are undefined at the end.
            let wanted =
                request.mode == AdMode::Forward || request.independents.contains(&position);
            actuals.push(Expr::var(w, span));
            if !wanted {
                position += 1;
                continue;
            }
            after.push(Stmt::assign(Expr::var(d, span), direction(1), span));
            let differs = Expr::binary(BinOp::Ne, direction(2), twice(direction(1)));
            let differs = match of.dims.is_empty() {
                true => differs,
                false => {
                    let any = procedure(&mut unit, "ANY", true);
                    Expr::new(ExprKind::Call(any, vec![differs]), span)
                }
            };
            let stop = Stmt::new(StmtKind::Stop(Some(Expr::int(DISAGREE, span))), span);
            after.push(Stmt::new(
                StmtKind::If(IfBlock {
                    arms: vec![(differs, vec![stop])],
                    otherwise: None,
                    ..IfBlock::default()
                }),
                span,
            ));
        }
        position += 1;
    }
    actuals.push(Expr::int(2, span));
    let callee = procedure(&mut unit, &several(request, None).derivative, false);
    before.push(Stmt::new(StmtKind::Call(callee, actuals), span));
    before.extend(after);
    unit.body = before;
    Some(unit)
}

fn procedure(unit: &mut Unit, name: &str, function: bool) -> SymId {
    use farfel_lang::ir::Class;
    match unit.symbols.find(name) {
        Some(s) => s,
        None => unit.symbols.add(Symbol {
            ty: function.then_some(Type::LOGICAL),
            class: if function {
                Class::Function
            } else {
                Class::Subroutine
            },
            storage_class: StorageClass::Global,
            ..Symbol::new(name.into(), Span::NONE)
        }),
    }
}

/// Returns how many requests were carried out. Errors must contain one of `known`.
fn check_programs(count: Option<i64>, known: &[&str]) -> usize {
    let mut total = 0;
    for (name, source) in support::programs_that_check_themselves() {
        let (fortran, done, refused) = doubled(&source, count);
        if done > 0 {
            support::run(&fortran, support::FAST);
        }
        for message in refused {
            assert!(
                known.iter().any(|k| message.contains(k)),
                "{}: {message}",
                name.display()
            );
        }
        total += done;
    }
    total
}

#[test]
fn programs_that_check_themselves_run_with_two_directions() {
    // If only the caller knows the number, COMMON, EQUIVALENCE and SAVE are refused.
    let total = check_programs(
        None,
        &[
            "COMMON or EQUIVALENCE or keeps its value",
            "which shares its storage with other variables",
        ],
    );
    assert!(total >= 250, "{total}");
}

#[test]
fn programs_that_check_themselves_run_with_a_constant_number_of_directions() {
    let all = check_programs(
        Some(2),
        &[
            "which shares its storage with other variables",
            // CALL ROOT(X, X), which is not valid Fortran.
            "the call reads this array by one argument and assigns it by another",
        ],
    );
    assert!(all >= 330, "{all}");
}
