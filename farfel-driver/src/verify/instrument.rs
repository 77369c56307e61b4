//! Instruments programs so that they check their derivatives while they run.
//!
//! The call of a block's derivative is replaced by the call of a wrapper with the same arguments:
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
//! A block with several directions is checked column by column: `FARFEL_V_ALSO` records the tangents of all
//! columns, and each run of the derivative has another direction in the column `FARFEL_V_CHOSEN` and the
//! program's own directions in all others. The cotangents of ADR are treated in the same way. The derivative
//! of a sparsity pattern is run as it is; if it says that nothing depends on a column, changing the variables
//! named by that column must not affect the statements.
//!
//! The subroutines are in `support.f90`.

use super::{Block, DerivativeChecks};
use farfel_lang::Span;
use farfel_lang::intrinsics::Intrinsic;
use farfel_lang::ir::Block as Statements;
use farfel_lang::ir::{
    AdMode, Arg, BinOp, Class, Dim, Expr, ExprKind, IfBlock, Name, Program, Request, Stmt,
    StmtKind, StorageClass, SymId, Symbol, Type, Unit, UnitKind, unused_name,
};
use std::collections::HashSet;

/// Puts wrappers between blocks and their derivatives. `own` are the units that are not derivatives.
/// `missing` tells which of the tangents for checks could not be generated, for example because only an
/// adjoint is given. `library` means that STOP returns to Rust.
pub(crate) fn instrument(
    program: &mut Program,
    own: &HashSet<Name>,
    plan: &DerivativeChecks,
    requests: &[Request],
    missing: &dyn Fn(usize) -> bool,
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
        let tangent = block.tangent.filter(|t| !missing(*t));
        let tangent = tangent.and_then(|t| requests.get(t));
        let name = format!("{}_V{}", request.derivative, block.number);
        let name = unused_name(&name, &|n| taken.contains(n));
        let Some(wrapper) = wrapper(head, request, tangent, plan, block, &name) else {
            continue;
        };
        taken.insert(name.clone());
        for unit in program.units.iter_mut().filter(|u| own.contains(&u.name)) {
            if let Some(s) = unit.symbols.find(&request.derivative)
                && unit.symbols[s].storage_class == StorageClass::Global
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

/// Puts a call before each STOP that ends a forked process.
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
    unit.symbols[guard].storage_class = StorageClass::Global;
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
        let call = || Stmt::call(guard, Vec::new(), span);
        match stmt.kind {
            StmtKind::Stop(_) => {
                let mut first = call();
                first.label = stmt.label.take();
                out.extend([first, stmt]);
            }
            StmtKind::LogicalIf(condition, inner) if matches!(inner.kind, StmtKind::Stop(_)) => {
                let kind = StmtKind::If(IfBlock {
                    arms: vec![(condition, vec![call(), *inner])],
                    end_span: span,
                    ..IfBlock::default()
                });
                out.push(Stmt { kind, ..stmt });
            }
            _ => out.push(stmt),
        }
    }
    out
}

/// A variable of the block with its derivative.
#[derive(Clone, Copy)]
struct Variable {
    value: SymId,
    /// A separate variable for the values at other points, since the program may have passed a constant.
    other: SymId,
    derivative: SymId,
    ty: Type,
    /// The number of dimensions, and the index of the first of their bounds in the array of bounds.
    rank: usize,
    first_bound: usize,
}

/// An element of a variable, and the corresponding element of its derivative.
#[derive(Clone)]
struct Element {
    value: Expr,
    derivative: Expr,
    ty: Type,
}

/// The tangents from which a run of the derivative starts.
#[derive(Clone, Copy)]
enum Tangents {
    /// Those of the program, or none: they are left as they are.
    Left,
    /// The direction of the run.
    One,
    /// One tangent for each of this many columns, one of which has the direction of the run.
    VectorMode(SymId),
}

fn wrapper(
    head: &Unit,
    request: &Request,
    tangent: Option<&Request>,
    plan: &DerivativeChecks,
    block: &Block,
    name: &Name,
) -> Option<Unit> {
    let reverse = request.mode == AdMode::Reverse;
    let pattern = request.directions.pattern;
    let mut w = Writer::new(head, request, name)?;
    let some = |positions: &[usize]| -> Vec<usize> {
        let known = |p: &&usize| w.variables.get(**p).is_some_and(Option::is_some);
        positions.iter().filter(known).copied().collect()
    };
    let independents = some(&request.independents);
    let dependents = some(&request.dependents);

    // The actual arguments for the head and for its derivatives.
    let plain = w.actuals(true, false);
    let both = w.actuals(true, true);
    let as_they_are = w.actuals(false, true);

    let id = [
        Expr::text(plan.package.clone(), w.span),
        w.int(block.number as i64),
    ];
    let flags = [i64::from(reverse), i64::from(tangent.is_some())].map(|f| w.int(f));
    let mut check = vec![w.call("FARFEL_V_BLOCK", [&id[..], &flags].concat())];
    check.extend(w.set_bounds(head));
    if let Some(count) = w.count {
        let columns = vec![w.var(count), w.int(i64::from(pattern))];
        check.push(w.call("FARFEL_V_COLUMNS", columns));
    }
    for (p, k) in numbered(&independents) {
        check.extend(
            w.for_parts(p, false, &mut |w, value, derivative| match w.count {
                Some(_) if reverse => {
                    vec![w.call("FARFEL_V_IN", vec![w.int(k), value, w.zero()])]
                }
                None => {
                    let along = if reverse { w.zero() } else { derivative };
                    vec![w.call("FARFEL_V_IN", vec![w.int(k), value, along])]
                }
                Some(count) => {
                    let also = match pattern {
                        true => "FARFEL_V_ALSO_IF",
                        false => "FARFEL_V_ALSO",
                    };
                    let also = w.call(also, vec![derivative]);
                    vec![
                        w.call("FARFEL_V_IN", vec![w.int(k), value, w.zero()]),
                        w.for_columns(count, vec![also]),
                    ]
                }
            }),
        );
    }
    if reverse {
        for p in &dependents {
            check.extend(
                w.for_parts(*p, false, &mut |w, _, derivative| match w.count {
                    None => vec![w.call("FARFEL_V_COTANGENT", vec![derivative])],
                    Some(count) => {
                        let also = w.call("FARFEL_V_ALSO", vec![derivative]);
                        vec![
                            w.call("FARFEL_V_COTANGENT", vec![w.zero()]),
                            w.for_columns(count, vec![also]),
                        ]
                    }
                }),
            );
        }
    }

    // Other values, and in forward mode other tangents.
    let tangents = match w.count {
        _ if reverse || pattern => Tangents::Left,
        None => Tangents::One,
        Some(count) => Tangents::VectorMode(count),
    };
    let mut run = Vec::new();
    for p in &independents {
        run.extend(w.place(*p, tangents));
    }
    let mut statements = vec![w.call(&head.name, plain)];
    for (p, k) in numbered(&dependents) {
        statements.extend(w.for_parts(p, true, &mut |w, value, _| {
            vec![w.call("FARFEL_V_OUT", vec![w.int(k), value])]
        }));
    }
    let mut arms = vec![(w.is_asked(1), statements)];
    if let Some(tangent) = tangent {
        let mut block = Vec::new();
        for p in (0..head.args.len()).filter(|p| !independents.contains(p)) {
            block.extend(w.clear(p));
        }
        for p in &independents {
            block.extend(w.numbers_from("FARFEL_V_ALONGSIDE", *p));
        }
        block.push(w.call(&tangent.derivative, both.clone()));
        for (p, k) in numbered(&dependents) {
            block.extend(w.for_parts(p, false, &mut |w, _, derivative| {
                vec![w.call("FARFEL_V_OUT", vec![w.int(k), derivative])]
            }));
        }
        arms.push((w.is_asked(3), block));
    }
    let mut otherwise = Vec::new();
    if reverse {
        for p in &dependents {
            otherwise.extend(w.numbers_from("FARFEL_V_GIVEN", *p));
        }
    }
    otherwise.push(w.call(&request.derivative, both));
    if w.count.is_some() {
        let chosen = w.function("FARFEL_V_CHOSEN", Type::INTEGER, Vec::new());
        otherwise.push(Stmt::assign(w.var(w.column), chosen, w.span));
    }
    let wanted = if reverse { &independents } else { &dependents };
    for (p, k) in numbered(wanted) {
        otherwise.extend(w.for_parts(p, true, &mut |w, value, derivative| {
            let k = w.int(k);
            vec![match (reverse, pattern) {
                (true, _) => w.call("FARFEL_V_OUT", vec![k, derivative]),
                (_, true) => w.call("FARFEL_V_OUTS_IF", vec![k, value, derivative]),
                _ => w.call("FARFEL_V_OUTS", vec![k, value, derivative]),
            }]
        }));
    }
    run.push(w.choice(arms, Some(otherwise)));
    let send = w.procedure("FARFEL_V_SEND", Class::Subroutine, None);
    let asks = w.procedure("FARFEL_V_RUN", Class::Function, Some(Type::LOGICAL));
    let want = w.procedure("FARFEL_V_WANT", Class::Function, Some(Type::LOGICAL));
    let [package, number] = id;
    let quoted = Wrapper {
        want,
        package,
        number,
        check,
        asks,
        what: w.what,
        run,
        send,
        derivative: vec![w.call(&request.derivative, as_they_are)],
    };
    w.unit.body = quoted.block(&w.unit.symbols, w.span);
    farfel_ad::spans::place_unit(&mut w.unit, request.span);
    Some(w.unit)
}

farfel_lang::quote! {
    /// The parts of a wrapper.
    struct Wrapper {
        want: SymId, package: Expr, number: Expr, check: Statements, asks: SymId, what: SymId,
        run: Statements, send: SymId, derivative: Statements,
    }
    "
    if (want(package, number)) then
      call check
      if (asks(what)) then
        call run
        call send()
      end if
    end if
    call derivative
    "
}

/// Numbers variables, from 1.
fn numbered(positions: &[usize]) -> impl Iterator<Item = (usize, i64)> {
    positions.iter().copied().zip(1..)
}

/// A wrapper under construction.
struct Writer {
    unit: Unit,
    span: Span,
    /// For each argument of the head, its variable; `None` for an argument without derivative.
    variables: Vec<Option<Variable>>,
    /// The arguments of the head.
    arguments: Vec<SymId>,
    bounds: SymId,
    counters: Vec<SymId>,
    numbers: SymId,
    what: SymId,
    /// The loop variable for the first subscript of derivatives, and the number of directions if there are
    /// several.
    column: SymId,
    count: Option<SymId>,
    /// Whether derivatives are LOGICAL.
    pattern: bool,
}

impl Writer {
    /// Creates a wrapper with the arguments of the derivative and all declarations. Returns `None` if the
    /// head has an argument that is not a variable.
    fn new(head: &Unit, request: &Request, name: &Name) -> Option<Writer> {
        let span = request.span;
        let mut unit = Unit {
            symbols: head.symbols.clone(),
            specs: head.specs.clone(),
            implicit: head.implicit.clone(),
            sizes: head.sizes,
            ..Unit::new(UnitKind::Subroutine, name.clone(), span)
        };
        let declared = |unit: &mut Unit, wanted: &str, like: Symbol| {
            let name = unit.symbols.unused(wanted, &|n| n == name.as_str());
            let id = unit.symbols.add(Symbol {
                name,
                typed: false,
                ..like
            });
            unit.declare(id);
            id
        };
        let local = |unit: &mut Unit, wanted: &str, ty: Type, size: Option<usize>| {
            let dims = size.map(|n| Dim {
                lower: None,
                upper: Some(Expr::int(n as i64, span)),
            });
            let like = Symbol {
                dims: dims.into_iter().collect(),
                ..Symbol::variable(Name::default(), ty, span)
            };
            declared(unit, wanted, like)
        };
        // Comes before the derivatives because it is their first dimension.
        let count = request.vector.then(|| {
            let like = Symbol {
                storage_class: StorageClass::Dummy,
                ..Symbol::variable(Name::default(), Type::INTEGER, span)
            };
            declared(&mut unit, "NBDIRS", like)
        });
        let (mut arguments, mut variables, mut bound) = (Vec::new(), Vec::new(), 1);
        for (position, arg) in head.args.iter().enumerate() {
            let value = arg.sym()?;
            arguments.push(value);
            unit.args.push(*arg);
            if !request.paired.contains(&position) {
                variables.push(None);
                continue;
            }
            let of = &head.symbols[value];
            let mut like = Symbol {
                storage_class: StorageClass::Dummy,
                ..of.clone()
            };
            if let Some(count) = count {
                let columns = Dim {
                    lower: None,
                    upper: Some(Expr::var(count, span)),
                };
                like.dims.insert(0, columns);
            }
            if request.directions.pattern {
                like.ty = Some(Type::Logical(1));
            }
            let derivative = declared(&mut unit, &format!("{}_V", of.name), like);
            unit.args.push(Arg::Dummy(derivative));
            // Constants of the program cannot be changed.
            let other = match request.independents.contains(&position) {
                false => value,
                true => {
                    let like = Symbol {
                        storage_class: StorageClass::Local,
                        ..of.clone()
                    };
                    declared(&mut unit, &format!("{}_W", of.name), like)
                }
            };
            variables.push(Some(Variable {
                value,
                other,
                derivative,
                ty: of.ty?,
                rank: of.dims.len(),
                first_bound: bound,
            }));
            bound += 2 * of.dims.len();
        }
        unit.args.extend(count.map(Arg::Dummy));
        let most = variables.iter().flatten().map(|v| v.rank).max();
        let counters = (1..=most.unwrap_or(0))
            .map(|i| local(&mut unit, &format!("FV_I{i}"), Type::INTEGER, None))
            .collect();
        Some(Writer {
            span,
            variables,
            arguments,
            bounds: local(&mut unit, "FV_BND", Type::INTEGER, Some(bound)),
            counters,
            numbers: local(&mut unit, "FV_NUM", Type::DOUBLE, Some(4)),
            what: local(&mut unit, "FV_WHT", Type::INTEGER, None),
            column: local(&mut unit, "FV_COL", Type::INTEGER, None),
            count,
            pattern: request.directions.pattern,
            unit,
        })
    }

    fn int(&self, value: i64) -> Expr {
        Expr::int(value, self.span)
    }

    fn zero(&self) -> Expr {
        Expr::real("0D0", self.span)
    }

    fn var(&self, symbol: SymId) -> Expr {
        Expr::var(symbol, self.span)
    }

    /// Returns an element of the array of numbers, counted from 1.
    fn number(&self, i: usize) -> Expr {
        let subscript = self.int(i as i64);
        Expr::element(self.numbers, vec![subscript], self.span)
    }

    /// Returns a procedure outside the unit; a variable with the same name is renamed.
    fn procedure(&mut self, name: &str, class: Class, ty: Option<Type>) -> SymId {
        let symbols = &mut self.unit.symbols;
        if let Some(id) = symbols.find(name) {
            if symbols[id].class == class {
                return id;
            }
            let other = symbols.unused(&format!("{name}_L"), &|_| false);
            symbols.rename(id, other);
        }
        let intrinsic = matches!(class, Class::Intrinsic(_));
        let id = symbols.add(Symbol {
            external: class == Class::Function,
            storage_class: if intrinsic {
                StorageClass::Local
            } else {
                StorageClass::Global
            },
            class,
            ty,
            ..Symbol::new(name.into(), self.span)
        });
        if !intrinsic {
            self.unit.declare(id);
        }
        id
    }

    fn call(&mut self, name: &str, args: Vec<Expr>) -> Stmt {
        let callee = self.procedure(name, Class::Subroutine, None);
        Stmt::call(callee, args, self.span)
    }

    fn function(&mut self, name: &str, ty: Type, args: Vec<Expr>) -> Expr {
        let callee = self.procedure(name, Class::Function, Some(ty));
        Expr::call(callee, args, self.span)
    }

    /// Returns a call of an intrinsic function; all functions used here exist.
    fn intrinsic(&mut self, name: &str, args: Vec<Expr>) -> Expr {
        match Intrinsic::find(name) {
            Some(known) => {
                let callee = self.procedure(name, Class::Intrinsic(known), None);
                Expr::call(callee, args, self.span)
            }
            None => self.function(name, Type::DOUBLE, args),
        }
    }

    fn choice(&self, arms: Vec<(Expr, Vec<Stmt>)>, otherwise: Option<Vec<Stmt>>) -> Stmt {
        let choice = IfBlock {
            arms,
            otherwise,
            end_span: self.span,
            ..IfBlock::default()
        };
        Stmt::block_if(choice, self.span)
    }

    /// Returns the condition that a run is asked for this.
    fn is_asked(&self, what: i64) -> Expr {
        Expr::binary(BinOp::Eq, self.var(self.what), self.int(what))
    }

    /// Returns the arguments of the head, at other points if `around`, together with their derivatives if
    /// `with`.
    fn actuals(&self, around: bool, with: bool) -> Vec<Expr> {
        let mut all = Vec::new();
        for (argument, variable) in self.arguments.iter().zip(&self.variables) {
            let value = variable.filter(|_| around).map_or(*argument, |v| v.other);
            all.push(self.var(value));
            all.extend(variable.filter(|_| with).map(|v| self.var(v.derivative)));
        }
        all.extend(self.count.filter(|_| with).map(|c| self.var(c)));
        all
    }

    /// Sets the bounds of all variables. They are evaluated only once because a block may change the
    /// variables in them.
    fn set_bounds(&self, head: &Unit) -> Vec<Stmt> {
        let mut set = Vec::new();
        for v in self.variables.iter().flatten() {
            for d in &head.symbols[v.value].dims {
                let lower = d.lower.clone().unwrap_or_else(|| self.int(1));
                // The upper bound of an assumed-size array is unknown and not needed.
                let upper = d.upper.clone().filter(|e| e.kind != ExprKind::Star);
                set.extend([lower, upper.unwrap_or_else(|| self.int(0))]);
            }
        }
        let assign = |(value, i)| Stmt::assign(self.bound(i), value, self.span);
        set.into_iter().zip(1..).map(assign).collect()
    }

    fn bound(&self, i: usize) -> Expr {
        let subscript = self.int(i as i64);
        Expr::element(self.bounds, vec![subscript], self.span)
    }

    /// Returns a loop over all directions.
    fn for_columns(&self, count: SymId, body: Vec<Stmt>) -> Stmt {
        let ends = [self.int(1), self.var(count)];
        Stmt::count(self.column, ends, None, body, self.span)
    }

    /// Applies `f` to each element of a variable, or if `other` of its counterpart at other points.
    fn for_elements(
        &mut self,
        p: usize,
        other: bool,
        f: &mut dyn FnMut(&mut Self, Element) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let Some(v) = self.variables.get(p).copied().flatten() else {
            return Vec::new();
        };
        let element = |symbol: SymId, first: Option<SymId>| {
            let subscripts = first.into_iter().chain(self.counters[..v.rank].to_vec());
            let subscripts: Vec<Expr> = subscripts.map(|s| self.var(s)).collect();
            match subscripts.is_empty() {
                true => self.var(symbol),
                false => Expr::element(symbol, subscripts, self.span),
            }
        };
        let element = Element {
            value: element(if other { v.other } else { v.value }, None),
            derivative: element(v.derivative, self.count.map(|_| self.column)),
            ty: v.ty,
        };
        let mut body = f(self, element);
        for d in 0..v.rank {
            let at = v.first_bound + 2 * d;
            let ends = [self.bound(at), self.bound(at + 1)];
            body = vec![Stmt::count(self.counters[d], ends, None, body, self.span)];
        }
        body
    }

    /// Applies `f` to each real number in a variable, in double precision. For a pattern the derivative is a
    /// LOGICAL, which belongs to both parts of a COMPLEX.
    fn for_parts(
        &mut self,
        p: usize,
        other: bool,
        f: &mut dyn FnMut(&mut Self, Expr, Expr) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        self.for_elements(p, other, &mut |w, element| {
            let Element {
                value,
                derivative,
                ty,
            } = element;
            let mut body = Vec::new();
            for part in 0..parts(ty) {
                let number = w.part(value.clone(), ty, part);
                let of = match w.pattern {
                    true => derivative.clone(),
                    false => w.part(derivative.clone(), ty, part),
                };
                body.extend(f(w, number, of));
            }
            body
        })
    }

    /// Returns a number, or one of the two parts of a COMPLEX, in double precision.
    fn part(&mut self, e: Expr, ty: Type, part: usize) -> Expr {
        match (ty, part) {
            (Type::Complex(8), 1) => self.intrinsic("DIMAG", vec![e]),
            (_, 1) => {
                let imaginary = self.intrinsic("AIMAG", vec![e]);
                self.intrinsic("DBLE", vec![imaginary])
            }
            _ => self.intrinsic("DBLE", vec![e]),
        }
    }

    /// Assigns one or two numbers to an element.
    fn set(&mut self, element: Expr, ty: Type, first: usize) -> Stmt {
        let both = || vec![self.number(first), self.number(first + 2)];
        let value = match ty {
            Type::Complex(8) => {
                let both = both();
                self.intrinsic("DCMPLX", both)
            }
            Type::Complex(_) => {
                let both = both();
                self.intrinsic("CMPLX", both)
            }
            _ => self.number(first),
        };
        Stmt::assign(element, value, self.span)
    }

    /// Stores the result of a function in the array of numbers.
    fn get(&mut self, at: usize, function: &str, args: Vec<Expr>) -> Stmt {
        let value = self.function(function, Type::DOUBLE, args);
        Stmt::assign(self.number(at), value, self.span)
    }

    /// Sets a variable to its next values, and its tangents.
    fn place(&mut self, p: usize, tangents: Tangents) -> Vec<Stmt> {
        self.for_elements(p, true, &mut |w, element| {
            let Element {
                value,
                derivative,
                ty,
            } = element.clone();
            let mut body = Vec::new();
            for i in 0..parts(ty) {
                body.push(w.get(2 * i + 1, "FARFEL_V_NEXT", Vec::new()));
                if let Tangents::One = tangents {
                    body.push(w.get(2 * i + 2, "FARFEL_V_ALONG", Vec::new()));
                }
            }
            body.push(w.set(value, ty, 1));
            match tangents {
                Tangents::Left => {}
                Tangents::One => body.push(w.set(derivative, ty, 2)),
                Tangents::VectorMode(count) => {
                    let columns = w.columns(&element, "FARFEL_V_COLUMN");
                    body.push(w.for_columns(count, columns));
                }
            }
            body
        })
    }

    /// Sets the derivatives of a variable to the results of a function; for several directions, in all
    /// columns.
    fn numbers_from(&mut self, function: &str, p: usize) -> Vec<Stmt> {
        self.for_elements(p, true, &mut |w, element| {
            let mut body = Vec::new();
            for i in 0..parts(element.ty) {
                body.push(w.get(2 * i + 1, function, Vec::new()));
            }
            match w.count {
                None => body.push(w.set(element.derivative, element.ty, 1)),
                Some(count) => {
                    let columns = w.columns(&element, "FARFEL_V_GIVEN_IN");
                    body.push(w.for_columns(count, columns));
                }
            }
            body
        })
    }

    /// Sets the derivatives of an element in the current column to the results of a function for the parts
    /// requested last.
    fn columns(&mut self, element: &Element, function: &str) -> Vec<Stmt> {
        let parts = parts(element.ty);
        let mut body = Vec::new();
        for i in 0..parts {
            // Counts back from the part requested last, which is the second of two.
            let before = self.int((parts - 1 - i) as i64);
            let args = vec![self.var(self.column), before];
            body.push(self.get(2 * i + 2, function, args));
        }
        body.push(self.set(element.derivative.clone(), element.ty, 2));
        body
    }

    /// Sets the derivatives of a variable to zero.
    fn clear(&mut self, p: usize) -> Vec<Stmt> {
        self.for_elements(p, true, &mut |w, element| {
            let zero = Expr::real("0.0", w.span);
            vec![Stmt::assign(element.derivative, zero, w.span)]
        })
    }
}

/// Returns how many real numbers make up a value.
fn parts(ty: Type) -> usize {
    match ty {
        Type::Complex(_) => 2,
        _ => 1,
    }
}
