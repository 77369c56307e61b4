//! Reverse mode the slow way: a tangent for each independent element.
//!
//! The result means the same as an adjoint, so that whole programs with ADR blocks can be tested without an
//! AD tool that has a reverse mode. The statements of a block must not do input or output, nor assign COMMON
//! or saved variables: they run more than once.

use farfel_ad::{AdTool, Builtin};
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::effects::Assigned;
use farfel_lang::ir::{
    AdMode, Arg, BinOp, Class, Do, DoControl, DoEnd, Expr, ExprKind, Name, Program, Request, Stmt,
    StmtKind, StorageClass, SymId, Symbol, Type, Unit,
};
use farfel_lang::source::Span;
use std::collections::BTreeMap;

/// Takes tangents from the built-in engine, and makes adjoints from tangents.
pub struct ByColumns;

impl AdTool for ByColumns {
    fn name(&self) -> &str {
        "by columns"
    }

    fn differentiate_warning(
        &self,
        program: &Program,
        request: &Request,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Vec<Unit>, Vec<Diagnostic>> {
        if request.mode == AdMode::Forward {
            return Builtin.differentiate_warning(program, request, warnings);
        }
        let tangent = Request {
            mode: AdMode::Forward,
            suffix: format!("_T{}", request.id).into(),
            derivative: format!("{}_T{}", request.head, request.id).into(),
            ..request.clone()
        };
        let mut units = Builtin.differentiate_warning(program, &tangent, warnings)?;
        units.push(adjoint(program, request, &tangent.derivative));
        Ok(units)
    }
}

const AT: Span = Span::NONE;

fn adjoint(program: &Program, request: &Request, tangent: &Name) -> Unit {
    let head = program.unit(&request.head).unwrap();
    let assigned = Assigned::of(program);
    let mut b = Builder {
        unit: Unit {
            name: request.derivative.clone(),
            body: Vec::new(),
            ..head.clone()
        },
    };
    let symbols: Vec<SymId> = head.args.iter().map(|a| a.sym().unwrap()).collect();
    let variable = |p: usize| head.symbols[symbols[p]].class == Class::Variable;
    let mut args = Vec::new();
    // Adjoints, tangents, gradients and copies, by positions of arguments.
    let (mut bars, mut dots) = (BTreeMap::new(), BTreeMap::new());
    let (mut sums, mut copies) = (BTreeMap::new(), BTreeMap::new());
    for (p, s) in symbols.iter().enumerate() {
        args.push(Arg::Dummy(*s));
        if request.paired.contains(&p) {
            let bar = b.like(*s, "BAR", StorageClass::Dummy);
            args.push(Arg::Dummy(bar));
            bars.insert(p, bar);
            dots.insert(p, b.like(*s, "DOT", StorageClass::Local));
        }
        if request.independents.contains(&p) {
            sums.insert(p, b.like(*s, "SUM", StorageClass::Local));
        }
        if variable(p) && assigned.argument(&request.head, p) {
            copies.insert(p, b.like(*s, "COPY", StorageClass::Local));
        }
    }
    b.unit.args = args;
    let called = b.unit.symbols.add(Symbol {
        class: Class::Subroutine,
        storage_class: StorageClass::Global,
        ..Symbol::new(tangent.clone(), AT)
    });
    let mut actuals = Vec::new();
    for (p, s) in symbols.iter().enumerate() {
        actuals.push(Expr::var(*copies.get(&p).unwrap_or(s), AT));
        actuals.extend(dots.get(&p).map(|d| Expr::var(*d, AT)));
    }
    let real = |text: &str| Expr::new(ExprKind::Real(text.into()), AT);
    let mut body = Vec::new();
    for (p, sum) in &sums {
        let sum = *sum;
        let one_column = |b: &mut Builder, at: &[SymId]| {
            let mut column = Vec::new();
            for dot in dots.values() {
                column.extend(b.each(*dot, "I", &|b, i| {
                    vec![Stmt::assign(b.element(*dot, i), real("0.0"), AT)]
                }));
            }
            column.push(Stmt::assign(b.element(dots[p], at), real("1.0"), AT));
            for (p, copy) in &copies {
                column.extend(b.each(*copy, "I", &|b, i| {
                    let from = b.element(symbols[*p], i);
                    vec![Stmt::assign(b.element(*copy, i), from, AT)]
                }));
            }
            column.push(Stmt::new(StmtKind::Call(called, actuals.clone()), AT));
            column.push(Stmt::assign(b.element(sum, at), real("0.0"), AT));
            for d in &request.dependents {
                column.extend(b.each(dots[d], "I", &|b, i| {
                    let product =
                        Expr::binary(BinOp::Mul, b.element(dots[d], i), b.element(bars[d], i));
                    let total = Expr::binary(BinOp::Add, b.element(sum, at), product);
                    vec![Stmt::assign(b.element(sum, at), total, AT)]
                }));
            }
            column
        };
        body.extend(b.each(sum, "J", &one_column));
    }
    for (p, sum) in &sums {
        body.extend(b.each(*sum, "I", &|b, i| {
            vec![Stmt::assign(b.element(bars[p], i), b.element(*sum, i), AT)]
        }));
    }
    b.unit.body = body;
    b.unit
}

struct Builder {
    unit: Unit,
}

impl Builder {
    /// Adds a variable of the type and shape of another one.
    fn like(&mut self, of: SymId, what: &str, place: StorageClass) -> SymId {
        let s = self.unit.symbols[of].clone();
        let name = format!("{}_{what}", s.name);
        let name = self.unit.symbols.unused(&name, &|_| false);
        let id = self.unit.symbols.add(Symbol {
            name,
            storage_class: place,
            typed: false,
            ..s
        });
        self.unit.declare(id);
        id
    }

    fn element(&self, s: SymId, indices: &[SymId]) -> Expr {
        match indices.is_empty() || self.unit.symbols[s].dims.is_empty() {
            true => Expr::var(s, AT),
            false => {
                let indices = indices.iter().map(|i| Expr::var(*i, AT)).collect();
                Expr::new(ExprKind::Element(s, indices), AT)
            }
        }
    }

    /// Statements for each element of a variable.
    fn each(
        &mut self,
        s: SymId,
        letter: &str,
        statements: &dyn Fn(&mut Builder, &[SymId]) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let dims = self.unit.symbols[s].dims.clone();
        let indices: Vec<SymId> = (1..=dims.len()).map(|k| self.index(letter, k)).collect();
        let mut body = statements(self, &indices);
        for (var, d) in indices.iter().zip(dims) {
            let control = DoControl::Count {
                var: *var,
                from: d.lower.unwrap_or_else(|| Expr::int(1, AT)),
                to: d.upper.unwrap(),
                step: None,
            };
            let (name, end) = (None, DoEnd::EndDo(None));
            body = vec![Stmt::new(
                StmtKind::Do(Box::new(Do {
                    name,
                    control,
                    body,
                    end,
                    end_span: Span::NONE,
                    directive: None,
                })),
                AT,
            )];
        }
        body
    }

    fn index(&mut self, letter: &str, k: usize) -> SymId {
        let name = format!("{letter}{k}_COLUMN");
        match self.unit.symbols.find(&name) {
            Some(s) => s,
            None => {
                let index = Symbol::variable(name.into(), Type::INTEGER, AT);
                let id = self.unit.symbols.add(index);
                self.unit.declare(id);
                id
            }
        }
    }
}
