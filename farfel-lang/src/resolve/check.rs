//! Checks calls between units, types and AD blocks. (The parser checks labels.)

mod arguments;
mod blocks;
mod io;
mod operands;
mod vector_mode;

use crate::diagnostic::{Diagnostic, rules};
use crate::effects::Assigned;
use crate::ir::{
    Arg, Class, DoControl, EntryPoint, Expr, ExprKind, IoKind, Name, Program, Stmt, StmtKind,
    StorageClass, SymId, Type, Unit, walk_block,
};
use crate::source::Span;
use crate::targets::CallTargets;
use crate::types::{rank, type_of};
use std::collections::{HashMap, HashSet};

/// The entry points of a program by name.
pub(crate) type EntryPoints<'p> = HashMap<&'p Name, EntryPoint<'p>>;

/// Returns the entry points of some units by name.
pub(crate) fn entry_points_of(units: &[Unit]) -> EntryPoints<'_> {
    let points = units.iter().flat_map(Unit::entry_points);
    points.map(|e| (e.name, e)).collect()
}

/// Checks all units. Top-level units whose indices are in `faulty` contain unresolved names, with
/// errors among the `diagnostics`; only their statements that do not involve these are checked.
pub(super) fn check(
    program: &Program,
    faulty: &HashSet<usize>,
    targets: &CallTargets,
    real: u8,
    diagnostics: &mut Vec<Diagnostic>,
) {
    // Only AD blocks need this.
    let assigned = if program.units.iter().any(has_ad_blocks) {
        Assigned::of(program)
    } else {
        Assigned::default()
    };
    let globals = entry_points_of(&program.units);
    for (i, unit) in program.units.iter().enumerate() {
        let errors = match faulty.contains(&i) {
            true => Some(error_spans(unit, diagnostics)),
            false => None,
        };
        let mut checker = Checker {
            globals: &globals,
            assigned: &assigned,
            targets,
            real,
            around: Vec::new(),
            diagnostics,
        };
        match errors {
            None => checker.unit(unit),
            Some(errors) => checker.statements_without(unit, &errors),
        }
    }
}

/// Checks one unit on its own, without the facts about AD blocks and dummy procedures that only the
/// whole program supplies.
pub(super) fn unit<'p>(unit: &'p Unit, globals: &EntryPoints<'p>) -> Vec<Diagnostic> {
    alone(globals, |checker| checker.unit(unit))
}

/// Checks one argument of a call.
pub(super) fn argument(
    unit: &Unit,
    actual: &Expr,
    callee: EntryPoint,
    dummy: Arg,
) -> Vec<Diagnostic> {
    let globals = EntryPoints::new();
    alone(&globals, |checker| {
        checker.argument(unit, actual, callee, dummy);
    })
}

/// Returns the diagnostics of a checker that has no facts about AD blocks and dummy procedures.
fn alone<'p>(
    globals: &EntryPoints<'p>,
    check: impl FnOnce(&mut Checker<'_, 'p>),
) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    check(&mut Checker {
        globals,
        assigned: &Assigned::default(),
        targets: &CallTargets::default(),
        real: 4,
        around: Vec::new(),
        diagnostics: &mut diagnostics,
    });
    diagnostics
}

/// Returns the places of the errors in a unit; for two conflicting declarations, the places of
/// both.
fn error_spans(unit: &Unit, diagnostics: &[Diagnostic]) -> Vec<Span> {
    let whole = unit.span.to(unit.end_span);
    diagnostics
        .iter()
        .filter(|d| d.is_error() && overlap(d.span, whole))
        .flat_map(|d| {
            let conflict = d.rule == &rules::CONFLICTING_DECLARATION;
            let others = d.related.iter().filter(move |_| conflict);
            std::iter::once(d.span).chain(others.map(|(s, _)| *s))
        })
        .collect()
}

fn overlap(a: Span, b: Span) -> bool {
    a.file == b.file && a.start <= b.end && b.start <= a.end
}

fn has_ad_blocks(unit: &Unit) -> bool {
    let mut found = false;
    walk_block(&unit.body, &mut |s| {
        found |= matches!(s.kind, StmtKind::Ad(_))
    });
    found || unit.nested.iter().any(has_ad_blocks)
}

struct Checker<'a, 'p> {
    globals: &'a EntryPoints<'p>,
    assigned: &'a Assigned,
    targets: &'a CallTargets,
    /// The size of a default REAL in bytes.
    real: u8,
    /// The units around the current one, outermost first.
    around: Vec<&'p Unit>,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl<'p> Checker<'_, 'p> {
    fn unit(&mut self, unit: &'p Unit) {
        super::interfaces::declarations(unit, self.diagnostics);
        walk_block(&unit.body, &mut |s| self.statement(unit, s));
        super::jumps::check(unit, self.diagnostics);
        let mut shapes = super::arrays::ShapeChecker::new(unit, self.diagnostics);
        walk_block(&unit.body, &mut |s| shapes.statement(s));
        self.function_types(unit);
        for (_, s) in unit.symbols.iter() {
            // The facts about a link are checked in the unit that declares it.
            if matches!(s.storage_class, StorageClass::Host(_)) {
                continue;
            }
            let bounds = s.dims.iter().flat_map(|d| d.lower.iter().chain(&d.upper));
            for b in bounds.clone() {
                let wrong =
                    !matches!(type_of(unit, b), Some(Type::Integer(_)) | None) || rank(unit, b) > 0;
                if wrong {
                    self.error(Diagnostic::error(
                        &rules::TYPE_MISMATCH,
                        b.span,
                        format!("a bound of {} is not a whole number", s.name),
                    ));
                }
            }
            let value = match &s.class {
                Class::Parameter(e) | Class::StatementFunction(_, e) => Some(&**e),
                _ => None,
            };
            if let Class::StatementFunction(dummies, _) = &s.class {
                self.statement_function_dummies(unit, &s.name, dummies);
            }
            bounds.chain(&s.length).chain(value).for_each(|e| {
                self.value(unit, e, false);
                self.expression(unit, e);
            });
        }
        self.around.push(unit);
        for n in &unit.nested {
            self.unit(n);
        }
        self.around.pop();
    }

    /// Checks the statements that have no error yet and mention no name that does.
    fn statements_without(&mut self, unit: &'p Unit, errors: &[Span]) {
        let hit = |s: Span| errors.iter().any(|f| overlap(*f, s));
        let doubtful: Vec<bool> = unit
            .symbols
            .iter()
            .map(|(_, s)| {
                let untyped = s.class == Class::Variable && s.ty.is_none();
                s.class == Class::Unknown || untyped || hit(s.span)
            })
            .collect();
        walk_block(&unit.body, &mut |s| {
            let unclear = |n: SymId| doubtful.get(n.0 as usize).is_none_or(|d| *d);
            if let StmtKind::Ad(block) = &s.kind {
                // In an opening or closing, the unaffected expressions are checked.
                let doubt = |e: &Expr| {
                    let mut doubt = hit(e.span);
                    e.for_each_symbol(&mut |n| doubt |= unclear(n));
                    doubt
                };
                self.ad_block(unit, block, s.span, &doubt);
                return;
            }
            let mut doubt = hit(s.span);
            let mut name = |n: SymId| doubt |= unclear(n);
            s.for_each_own_symbol(&mut name);
            s.for_each_own_expr(&mut |e| e.for_each_symbol(&mut name));
            if !doubt {
                self.statement(unit, s);
            }
        });
        self.around.push(unit);
        for n in &unit.nested {
            self.statements_without(n, errors);
        }
        self.around.pop();
    }

    fn error(&mut self, diagnostic: Diagnostic) {
        if !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    fn statement(&mut self, unit: &'p Unit, stmt: &'p Stmt) {
        self.controls(unit, stmt);
        match &stmt.kind {
            StmtKind::Assign(target, value) => {
                self.target(unit, target);
                self.assignment_types(unit, target, value);
            }
            StmtKind::Do(d) => {
                if let DoControl::Count { var, .. } = &d.control {
                    self.loop_variable(unit, *var, stmt.span);
                }
            }
            StmtKind::Call(s, args) => self.call(unit, *s, args, stmt.span),
            StmtKind::Io(io) => self.io(unit, io, stmt.span),
            StmtKind::Ad(block) => self.ad_block(unit, block, stmt.span, &|_| false),
            StmtKind::If(b) => {
                for (c, _) in &b.arms {
                    self.condition(unit, c);
                }
            }
            StmtKind::LogicalIf(c, _) => self.condition(unit, c),
            _ => {}
        }
        match &stmt.kind {
            // Variables that are assigned have checks of their own.
            StmtKind::Ad(_) => {}
            StmtKind::Io(io) if io.kind == IoKind::Read => {}
            StmtKind::Io(io) => io.items.iter().for_each(|e| self.value(unit, e, false)),
            StmtKind::Assign(target, value) => {
                target
                    .children()
                    .into_iter()
                    .chain([value])
                    .for_each(|e| self.value(unit, e, false));
            }
            StmtKind::Call(_, args) => args.iter().for_each(|e| self.value(unit, e, true)),
            _ => stmt.for_each_own_expr(&mut |e| self.value(unit, e, false)),
        }
        stmt.for_each_own_expr(&mut |e| self.expression(unit, e));
    }

    /// Checks the operators and calls in an expression.
    fn expression(&mut self, unit: &'p Unit, e: &Expr) {
        e.walk(&mut |e| self.operands(unit, e));
        e.walk(&mut |e| match &e.kind {
            ExprKind::Call(s, args) => self.call(unit, *s, args, e.span),
            ExprKind::Binary(op, a, b) if op.is_arithmetic() => {
                for x in [a, b] {
                    if let Some(t @ (Type::Logical(_) | Type::Character)) = type_of(unit, x) {
                        self.error(Diagnostic::error(
                            &rules::TYPE_MISMATCH,
                            x.span,
                            format!("arithmetic needs numbers, but this is {t}"),
                        ));
                    }
                }
            }
            _ => {}
        });
    }

    /// Checks that names in expressions are values, except for actual arguments, which may be
    /// procedures.
    fn value(&mut self, unit: &Unit, e: &Expr, argument: bool) {
        match &e.kind {
            ExprKind::Var(s) if !argument => {
                let symbol = &unit.symbols[*s];
                let what = match &symbol.class {
                    Class::Function | Class::Procedure | Class::Intrinsic(_) => "a function",
                    Class::Subroutine => "a subroutine",
                    Class::StatementFunction(..) => "a statement function",
                    Class::Namelist(_) => "a NAMELIST group",
                    Class::Variable | Class::Parameter(_) | Class::Unknown => return,
                };
                let d = Diagnostic::error(
                    &rules::NOT_A_VALUE,
                    e.span,
                    format!("{} is {what}, not a value", symbol.name),
                )
                .related(symbol.span, format!("{} comes from here", symbol.name));
                self.error(match what {
                    "a subroutine" | "a NAMELIST group" => d,
                    _ => d.help(format!("write {}(…) with its arguments", symbol.name)),
                });
            }
            ExprKind::Call(s, args) => {
                let passes = match unit.symbols[*s].class {
                    // These also accept procedures.
                    Class::Intrinsic(i) => matches!(i.name, "LOC" | "PRESENT"),
                    Class::StatementFunction(..) => false,
                    _ => true,
                };
                args.iter().for_each(|a| self.value(unit, a, passes));
            }
            ExprKind::Keyword(..) => {}
            ExprKind::Percent(_, a) => self.value(unit, a, true),
            _ => e
                .children()
                .into_iter()
                .for_each(|c| self.value(unit, c, false)),
        }
    }

    fn condition(&mut self, unit: &Unit, condition: &Expr) {
        if let Some(t) = type_of(unit, condition)
            && !matches!(t, Type::Logical(_))
        {
            self.error(
                Diagnostic::error(
                    &rules::TYPE_MISMATCH,
                    condition.span,
                    format!("the condition is {t}, not LOGICAL"),
                )
                .help("compare it with something, for instance `.NE. 0`"),
            );
        }
    }

    fn target(&mut self, unit: &Unit, target: &Expr) {
        let Some(s) = target.base() else {
            if let ExprKind::Call(s, args) = &target.kind {
                let name = &unit.symbols[*s].name;
                let help = super::help_for_subscripts(&unit.symbols, *s, args);
                self.error(
                    Diagnostic::error(
                        &rules::NOT_ASSIGNABLE,
                        target.span,
                        format!("{name} is a function, so {name}(…) cannot be assigned"),
                    )
                    .help(help),
                );
            }
            return;
        };
        self.assignable(unit, s, target.span);
    }

    fn loop_variable(&mut self, unit: &Unit, var: SymId, span: Span) {
        self.assignable(unit, var, span);
    }

    fn assignable(&mut self, unit: &Unit, s: SymId, span: Span) {
        let symbol = &unit.symbols[s];
        let what = match &symbol.class {
            Class::Variable | Class::Unknown => return,
            Class::Parameter(_) => "a named constant",
            Class::StatementFunction(..) => "a statement function",
            Class::Function | Class::Subroutine | Class::Procedure => "a procedure",
            Class::Intrinsic(_) => "an intrinsic function",
            Class::Namelist(_) => "a NAMELIST group",
        };
        self.error(
            Diagnostic::error(
                &rules::NOT_ASSIGNABLE,
                span,
                format!("{} is {what} and cannot be assigned", symbol.name),
            )
            .related(symbol.span, format!("{} comes from here", symbol.name)),
        );
    }

    fn assignment_types(&mut self, unit: &Unit, target: &Expr, value: &Expr) {
        let (Some(t), Some(v)) = (type_of(unit, target), type_of(unit, value)) else {
            return;
        };
        let fits = match (t, v) {
            (Type::Character, Type::Character) | (Type::Logical(_), Type::Logical(_)) => true,
            // Character constants in numeric variables are an old extension.
            (_, Type::Character) => matches!(value.kind, ExprKind::Char(_)),
            (Type::Integer(_), Type::Logical(_)) | (Type::Logical(_), Type::Integer(_)) => true,
            _ => t.is_numeric() && v.is_numeric(),
        };
        if !fits {
            self.error(Diagnostic::error(
                &rules::TYPE_MISMATCH,
                value.span,
                format!("a {v} value cannot be assigned to a {t} variable"),
            ));
        }
    }
}

fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}

fn count(n: usize) -> String {
    match n {
        0 => "none is".into(),
        1 => "1 is".into(),
        n => format!("{n} are"),
    }
}
