//! Programs that check their derivatives while they run.
//!
//! The call of a block's derivative becomes that of a wrapper with the same arguments:
//!
//! ```fortran
//!       SUBROUTINE F_ADF1_G1_V1(X, X_V, Y, Y_V)
//!       IF (FARFEL_V_WANT('demo', 1)) THEN          forks; true in the checker
//!         CALL FARFEL_V_BLOCK('demo', 1, 0, 0)
//!         CALL FARFEL_V_IN(1, DBLE(X), DBLE(X_V))   where we are
//!         IF (FARFEL_V_RUN(WHAT)) THEN              forks for each run; true there
//!           X_W = FARFEL_V_NEXT()                   another point, another direction
//!           X_V = FARFEL_V_ALONG()
//!           IF (WHAT .EQ. 1) THEN
//!             CALL F_ADF1(X_W, Y)
//!             CALL FARFEL_V_OUT(1, DBLE(Y))
//!           ELSE
//!             CALL F_ADF1_G1(X_W, X_V, Y, Y_V)
//!             CALL FARFEL_V_OUTS(1, DBLE(Y), DBLE(Y_V))
//!           END IF
//!           CALL FARFEL_V_SEND                      does not return
//!         END IF
//!       END IF
//!       CALL F_ADF1_G1(X, X_V, Y, Y_V)
//!       END
//! ```
//!
//! The subroutines are in `support.f90`.

use super::{Block, Plan};
use crate::border::fixed_form;
use farfel_lang::Sources;
use farfel_lang::ir::{
    AdMode, Arg, Class, Expr, IfBlock, Name, Place, Program, Request, Stmt, StmtKind, SymId,
    Symbol, Type, Unit, unused_name,
};
use farfel_lang::lints::Lints;
use farfel_lang::print::{Options, print_expr, print_unit};
use farfel_lang::resolve::resolve_with;
use farfel_lang::syntax::{Form, NoIncludes, parse};
use std::collections::HashSet;

/// Puts wrappers between blocks and their derivatives. `own` are the units that are no
/// derivatives. `library`: STOP goes back to Rust.
pub(crate) fn instrument(
    program: &mut Program,
    own: &HashSet<Name>,
    plan: &Plan,
    requests: &[Request],
    library: bool,
) {
    let mut taken: HashSet<Name> = program.units.iter().map(|u| u.name.clone()).collect();
    for block in plan.blocks.iter().filter(|b| b.refused.is_none()) {
        let Some(request) = requests.get(block.request) else {
            continue;
        };
        let Some(head) = program.unit(&request.head) else {
            continue;
        };
        let tangent = block.tangent.and_then(|t| requests.get(t));
        let name = format!("{}_V{}", request.derivative, block.number);
        let name = unused_name(&name, &|n| taken.contains(n));
        let Some(wrapper) = wrapper(head, request, tangent, plan, block, &name) else {
            continue;
        };
        taken.insert(name.clone());
        for unit in program.units.iter_mut().filter(|u| own.contains(&u.name)) {
            if let Some(s) = unit.symbols.find(&request.derivative)
                && unit.symbols[s].place == Place::Global
            {
                unit.symbols.rename(s, name.clone());
            }
        }
        program.units.push(wrapper);
    }
    if library {
        for unit in &mut program.units {
            guard_stops(unit);
        }
    }
}

/// Before each STOP, what ends a process that was forked.
fn guard_stops(unit: &mut Unit) {
    let mut found = false;
    farfel_lang::ir::walk_block(&unit.body, &mut |s| {
        found |= matches!(s.kind, StmtKind::Stop(_));
    });
    if !found {
        return;
    }
    let guard = unit.symbols.intern("FARFEL_V_STOP", unit.span);
    unit.symbols[guard].class = Class::Subroutine;
    unit.symbols[guard].place = Place::Global;
    let body = std::mem::take(&mut unit.body);
    unit.body = guarded(body, guard);
}

fn guarded(block: Vec<Stmt>, guard: SymId) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(block.len());
    for mut stmt in block {
        for inner in stmt.blocks_mut() {
            *inner = guarded(std::mem::take(inner), guard);
        }
        let span = stmt.span;
        let call = || Stmt::new(StmtKind::Call(guard, Vec::new()), span);
        match stmt.kind {
            StmtKind::Stop(_) => {
                let mut first = call();
                first.label = stmt.label.take();
                out.extend([first, stmt]);
            }
            StmtKind::LogicalIf(condition, inner) if matches!(inner.kind, StmtKind::Stop(_)) => {
                out.push(Stmt {
                    kind: StmtKind::If(IfBlock {
                        arms: vec![(condition, vec![call(), *inner])],
                        end_span: span,
                        ..IfBlock::default()
                    }),
                    label: stmt.label,
                    span,
                });
            }
            _ => out.push(stmt),
        }
    }
    out
}

/// A variable of the block, with its derivative.
struct Variable<'a> {
    value: &'a str,
    /// Another variable for its values around: the program may have passed a constant.
    other: &'a str,
    derivative: &'a str,
    ty: Type,
    /// How many dimensions; the bounds of the first stand there in the array of bounds.
    rank: usize,
    first_bound: usize,
}

fn wrapper(
    head: &Unit,
    request: &Request,
    tangent: Option<&Request>,
    plan: &Plan,
    block: &Block,
    name: &Name,
) -> Option<Unit> {
    let mut unit = Unit {
        name: name.clone(),
        body: Vec::new(),
        comments: Vec::new(),
        nested: Vec::new(),
        ..head.clone()
    };
    let mut derivatives: Vec<Option<Name>> = Vec::new();
    unit.args = Vec::new();
    for (position, arg) in head.args.iter().enumerate() {
        unit.args.push(*arg);
        let symbol = arg.sym()?;
        let paired = request.paired.contains(&position);
        derivatives.push(paired.then(|| {
            let of = unit.symbols[symbol].clone();
            let wanted = format!("{}_V", of.name);
            let name = unit.symbols.unused(&wanted, &|_| false);
            let id = unit.symbols.add(Symbol {
                name: name.clone(),
                place: Place::Dummy,
                typed: false,
                ..of
            });
            unit.declare(id);
            unit.args.push(Arg::Dummy(id));
            name
        }));
    }
    // Constants of the program cannot be changed.
    let others: Vec<Name> = head
        .args
        .iter()
        .enumerate()
        .map(|(position, arg)| match arg.sym() {
            Some(s) if request.independents.contains(&position) => {
                let of = unit.symbols[s].clone();
                let wanted = format!("{}_W", of.name);
                let name = unit.symbols.unused(&wanted, &|_| false);
                let id = unit.symbols.add(Symbol {
                    name: name.clone(),
                    place: Place::Local,
                    typed: false,
                    ..of
                });
                unit.declare(id);
                name
            }
            Some(s) => unit.symbols[s].name.clone(),
            None => Name::default(),
        })
        .collect();
    let local = |wanted: &str| unit.symbols.unused(wanted, &|n| n == name.as_str());
    let (bounds, what, numbers) = (local("FV_BND"), local("FV_WHT"), local("FV_NUM"));
    let counters: Vec<Name> = (1..=7).map(|i| local(&format!("FV_I{i}"))).collect();

    let mut set_bounds = Vec::new();
    let names: Vec<Name> = head
        .args
        .iter()
        .map(|a| {
            a.sym()
                .map_or_else(Name::default, |s| head.symbols[s].name.clone())
        })
        .collect();
    let mut variables = Vec::new();
    for (position, derivative) in derivatives.iter().enumerate() {
        let (Some(derivative), Some(s)) = (derivative, head.args[position].sym()) else {
            variables.push(None);
            continue;
        };
        let symbol = &head.symbols[s];
        let first_bound = set_bounds.len() + 1;
        for d in &symbol.dims {
            let text = |e: &Expr| print_expr(head, e);
            set_bounds.push(d.lower.as_ref().map_or_else(|| "1".into(), text));
            set_bounds.push(d.upper.as_ref().map_or_else(|| "*".into(), text));
        }
        variables.push(Some(Variable {
            value: &names[position],
            other: &others[position],
            derivative,
            ty: symbol.ty?,
            rank: symbol.dims.len(),
            first_bound,
        }));
    }
    let some = |positions: &[usize]| -> Vec<usize> {
        let known = |p: &&usize| variables.get(**p).is_some_and(Option::is_some);
        positions.iter().filter(known).copied().collect()
    };
    let independents = some(&request.independents);
    let dependents = some(&request.dependents);

    let mut w = Writer {
        variables: &variables,
        bounds: &bounds,
        counters: &counters,
        numbers: &numbers,
        text: String::new(),
    };
    w.put(&format!("INTEGER {}", counters.join(", ")));
    w.put(&format!(
        "INTEGER {what}, {bounds}({})",
        set_bounds.len().max(1)
    ));
    w.put(&format!("DOUBLE PRECISION {numbers}(4)"));
    w.put("LOGICAL FARFEL_V_WANT, FARFEL_V_RUN");
    let functions = [
        "FARFEL_V_NEXT",
        "FARFEL_V_ALONG",
        "FARFEL_V_ALONGSIDE",
        "FARFEL_V_GIVEN",
    ];
    w.put(&format!("DOUBLE PRECISION {}", functions.join(", ")));
    w.put(&format!(
        "EXTERNAL FARFEL_V_WANT, FARFEL_V_RUN, {}",
        functions.join(", ")
    ));
    let reverse = request.mode == AdMode::Reverse;
    let id = format!("'{}', {}", plan.package, block.number);
    w.put(&format!("IF (FARFEL_V_WANT({id})) THEN"));
    w.put(&format!(
        "CALL FARFEL_V_BLOCK({id}, {}, {})",
        u8::from(reverse),
        u8::from(tangent.is_some())
    ));
    for (i, b) in set_bounds.iter().enumerate() {
        // Of an array of assumed size nothing is known, and nothing needed.
        let b = if b == "*" { "0" } else { b };
        w.put(&format!("{bounds}({}) = {b}", i + 1));
    }
    for (k, p) in independents.iter().enumerate() {
        w.for_parts(*p, &|value, derivative, w| {
            let along = if reverse { "0D0" } else { derivative };
            w.put(&format!("CALL FARFEL_V_IN({}, {value}, {along})", k + 1));
        });
    }
    if reverse {
        for p in &dependents {
            w.for_parts(*p, &|_, derivative, w| {
                w.put(&format!("CALL FARFEL_V_COTANGENT({derivative})"));
            });
        }
    }
    w.put(&format!("IF (FARFEL_V_RUN({what})) THEN"));
    // Other values, and in forward mode other tangents.
    independents.iter().for_each(|p| w.place(*p, !reverse));
    let plain = others.join(", ");
    let pairs = |values: &[Name]| {
        let mut all = Vec::new();
        for (value, derivative) in values.iter().zip(&derivatives) {
            all.push(value.as_str());
            all.extend(derivative.as_deref());
        }
        all.join(", ")
    };
    let both = pairs(&others);
    w.put(&format!("IF ({what} .EQ. 1) THEN"));
    w.put(&format!("CALL {}({plain})", head.name));
    for (k, p) in dependents.iter().enumerate() {
        w.for_results(*p, &|value, _, w| {
            w.put(&format!("CALL FARFEL_V_OUT({}, {value})", k + 1));
        });
    }
    if let Some(tangent) = tangent {
        w.put(&format!("ELSE IF ({what} .EQ. 3) THEN"));
        for p in (0..names.len()).filter(|p| !independents.contains(p)) {
            w.zero(p);
        }
        independents.iter().for_each(|p| w.tangents(*p));
        w.put(&format!("CALL {}({both})", tangent.derivative));
        for (k, p) in dependents.iter().enumerate() {
            w.for_parts(*p, &|_, derivative, w| {
                w.put(&format!("CALL FARFEL_V_OUT({}, {derivative})", k + 1));
            });
        }
    }
    w.put("ELSE");
    if reverse {
        dependents.iter().for_each(|p| w.cotangents(*p));
    }
    w.put(&format!("CALL {}({both})", request.derivative));
    let wanted = if reverse { &independents } else { &dependents };
    for (k, p) in wanted.iter().enumerate() {
        w.for_results(*p, &|value, derivative, w| {
            let call = match reverse {
                true => format!("CALL FARFEL_V_OUT({}, {derivative})", k + 1),
                false => format!("CALL FARFEL_V_OUTS({}, {value}, {derivative})", k + 1),
            };
            w.put(&call);
        });
    }
    w.put("END IF");
    w.put("CALL FARFEL_V_SEND");
    w.put("END IF");
    w.put("END IF");
    w.put(&format!("CALL {}({})", request.derivative, pairs(&names)));
    w.put("END");
    let body = w.text;

    let printed = print_unit(&unit, &Options::default());
    let declarations = printed
        .trim_end()
        .strip_suffix("END")?
        .trim_end_matches(' ');
    read(&format!("{declarations}{body}"), request)
}

/// The unit in a text that we have written.
fn read(text: &str, request: &Request) -> Option<Unit> {
    let mut sources = Sources::new();
    let file = sources.add("wrapper", text.to_owned());
    let mut program = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes).program;
    let faults = resolve_with(&mut program, &Lints::default());
    debug_assert!(
        !faults.iter().any(farfel_lang::Diagnostic::is_error),
        "{faults:?} in\n{text}"
    );
    let mut unit = program.units.pop()?;
    farfel_ad::spans::place_unit(&mut unit, request.span);
    Some(unit)
}

struct Writer<'a> {
    variables: &'a [Option<Variable<'a>>],
    bounds: &'a str,
    counters: &'a [Name],
    numbers: &'a str,
    text: String,
}

impl Writer<'_> {
    fn put(&mut self, statement: &str) {
        self.text.push_str(&fixed_form(statement));
    }

    /// Writes what `f` says for each element of a variable, given as a part of an expression.
    /// `other`: of its values around.
    fn for_elements(&mut self, p: usize, other: bool, f: &dyn Fn(&str, &str, Type, &mut Self)) {
        let Some(Some(v)) = self.variables.get(p) else {
            return;
        };
        let element = |name: &str| match v.rank {
            0 => name.to_owned(),
            rank => format!("{name}({})", self.counters[..rank].join(", ")),
        };
        let value = element(if other { v.other } else { v.value });
        let derivative = element(v.derivative);
        for d in (0..v.rank).rev() {
            let at = v.first_bound + 2 * d;
            let line = format!(
                "DO {} = {b}({at}), {b}({})",
                self.counters[d],
                at + 1,
                b = self.bounds
            );
            self.put(&line);
        }
        f(&value, &derivative, v.ty, self);
        for _ in 0..v.rank {
            self.put("END DO");
        }
    }

    /// The same for each real number in it, as a value in double precision.
    fn for_parts(&mut self, p: usize, f: &dyn Fn(&str, &str, &mut Self)) {
        self.parts(p, false, f);
    }

    /// The same where it has values around.
    fn for_results(&mut self, p: usize, f: &dyn Fn(&str, &str, &mut Self)) {
        self.parts(p, true, f);
    }

    fn parts(&mut self, p: usize, other: bool, f: &dyn Fn(&str, &str, &mut Self)) {
        self.for_elements(p, other, &|value, derivative, ty, w| {
            f(&format!("DBLE({value})"), &format!("DBLE({derivative})"), w);
            if let Type::Complex(kind) = ty {
                let part = |e: &str| match kind {
                    8 => format!("DIMAG({e})"),
                    _ => format!("DBLE(AIMAG({e}))"),
                };
                f(&part(value), &part(derivative), w);
            }
        });
    }

    /// Assigns one or two numbers to an element.
    fn set(&mut self, element: &str, ty: Type, first: usize) {
        let n = |i: usize| format!("{}({})", self.numbers, first + i);
        let value = match ty {
            Type::Complex(8) => format!("DCMPLX({}, {})", n(0), n(2)),
            Type::Complex(_) => format!("CMPLX({}, {})", n(0), n(2)),
            _ => n(0),
        };
        self.put(&format!("{element} = {value}"));
    }

    /// The next values of a variable, and with `both` its tangents.
    fn place(&mut self, p: usize, both: bool) {
        self.for_elements(p, true, &|value, derivative, ty, w| {
            let parts = if matches!(ty, Type::Complex(_)) { 2 } else { 1 };
            for i in 0..parts {
                w.put(&format!("{}({}) = FARFEL_V_NEXT()", w.numbers, 2 * i + 1));
                w.put(&format!("{}({}) = FARFEL_V_ALONG()", w.numbers, 2 * i + 2));
            }
            w.set(value, ty, 1);
            if both {
                w.set(derivative, ty, 2);
            }
        });
    }

    /// The tangents of a variable, from the beginning.
    fn tangents(&mut self, p: usize) {
        self.call_for("FARFEL_V_ALONGSIDE", p);
    }

    /// The next cotangents of a variable.
    fn cotangents(&mut self, p: usize) {
        self.call_for("FARFEL_V_GIVEN", p);
    }

    fn call_for(&mut self, function: &str, p: usize) {
        self.for_elements(p, true, &|_, derivative, ty, w| {
            let parts = if matches!(ty, Type::Complex(_)) { 2 } else { 1 };
            for i in 0..parts {
                w.put(&format!("{}({}) = {function}()", w.numbers, 2 * i + 1));
            }
            w.set(derivative, ty, 1);
        });
    }

    fn zero(&mut self, p: usize) {
        self.for_elements(p, true, &|_, derivative, _, w| {
            w.put(&format!("{derivative} = 0.0"));
        });
    }
}
