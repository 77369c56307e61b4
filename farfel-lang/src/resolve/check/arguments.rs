//! Checks that calls match the procedures that they call.

use super::{Checker, count, plural, rank};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    Arg, Class, EntryPoint, Expr, ExprKind, Name, StorageClass, SymId, Symbol, Type, Unit,
    UnitKind, walk_exprs,
};
use crate::source::Span;
use crate::storage::constant::{self, names_in};
use crate::types::type_of;

impl<'p> Checker<'_, 'p> {
    /// Returns the subprogram that a symbol of `unit` calls, if the program determines it.
    fn callee(&self, unit: &'p Unit, s: SymId) -> Option<EntryPoint<'p>> {
        let symbol = &unit.symbols[s];
        match symbol.storage_class {
            StorageClass::Global => self.globals.get(&symbol.name).copied(),
            StorageClass::Local => nested(unit, &symbol.name),
            StorageClass::Result => unit.entry_points().find(|e| *e.name == symbol.name),
            StorageClass::Host(_) => self
                .around
                .iter()
                .rev()
                .find_map(|u| nested(u, &symbol.name)),
            StorageClass::Dummy | StorageClass::Common(_) | StorageClass::Pointee(_) => None,
        }
    }

    pub(super) fn call(&mut self, unit: &'p Unit, s: SymId, args: &[Expr], span: Span) {
        let symbol = &unit.symbols[s];
        if let Class::Intrinsic(i) = symbol.class {
            let (least, most) = (usize::from(i.args.0), usize::from(i.args.1));
            if args.len() < least || (args.len() > most && i.args.1 != u8::MAX) {
                let wants = if least == most {
                    least.to_string()
                } else {
                    format!("at least {least}")
                };
                self.error(Diagnostic::error(
                    &rules::ARGUMENT_MISMATCH,
                    span,
                    format!(
                        "{} takes {wants} argument{}, not {}",
                        i.name,
                        plural(least),
                        args.len()
                    ),
                ));
            }
            return;
        }
        if !symbol.class.is_procedure() && symbol.storage_class != StorageClass::Result {
            return;
        }
        super::super::interfaces::keywords(&symbol.name, args, self.diagnostics);
        let Some(callee) = self.callee(unit, s) else {
            self.dummy_call(unit, s, args, span);
            return;
        };
        super::super::interfaces::explicit(unit, callee, span, self.diagnostics);
        self.arguments(unit, callee, args, span);
    }

    /// Checks that a call of a dummy procedure matches all procedures for which it may stand. Only
    /// the first mismatch is reported.
    fn dummy_call(&mut self, unit: &'p Unit, s: SymId, args: &[Expr], span: Span) {
        let Some(position) = unit.args.iter().position(|a| *a == Arg::Dummy(s)) else {
            return;
        };
        if !self.around.is_empty() {
            return;
        }
        let before = self.diagnostics.len();
        for target in self.targets.of_dummy(&unit.name, position) {
            let Some(callee) = self.globals.get(&target.name).copied() else {
                continue;
            };
            // What is called as something else is reported when it is bound.
            let differs = matches!(
                (&unit.symbols[s].class, callee.unit.kind),
                (Class::Function, UnitKind::Subroutine) | (Class::Subroutine, UnitKind::Function)
            );
            if differs {
                continue;
            }
            self.arguments(unit, callee, args, span);
            if self.diagnostics.len() > before {
                let more = args.len() > callee.args.len();
                for d in &mut self.diagnostics[before..] {
                    let text = format!("{} can be {} here", unit.symbols[s].name, callee.name);
                    d.related.push((target.passed, text));
                    if more {
                        let first = match callee.args.len() {
                            0 => "none".to_owned(),
                            1 => "the first one".to_owned(),
                            n => format!("the first {n}"),
                        };
                        d.help = Some(format!(
                            "{} gets {first}; if the types differ, the program ends here",
                            callee.name
                        ));
                    }
                }
                return;
            }
        }
    }

    fn arguments(&mut self, unit: &'p Unit, callee: EntryPoint, args: &[Expr], span: Span) {
        if args.len() != callee.args.len() {
            let n = callee.args.len();
            self.error(
                Diagnostic::warning(
                    &rules::ARGUMENT_MISMATCH,
                    span,
                    format!(
                        "{} takes {n} argument{}, but {} given",
                        callee.name,
                        plural(n),
                        count(args.len())
                    ),
                )
                .related(callee.span, "defined here"),
            );
            return;
        }
        for (actual, dummy) in args.iter().zip(callee.args) {
            self.argument(unit, actual, callee, *dummy);
        }
    }

    pub(super) fn argument(&mut self, unit: &Unit, actual: &Expr, callee: EntryPoint, dummy: Arg) {
        let Arg::Dummy(d) = dummy else {
            if !matches!(actual.kind, ExprKind::AltReturn(_)) {
                self.error(Diagnostic::error(
                    &rules::ARGUMENT_MISMATCH,
                    actual.span,
                    format!("{} wants an alternate return `*label` here", callee.name),
                ));
            }
            return;
        };
        let wanted = &callee.unit.symbols[d];
        let procedure = match &actual.kind {
            ExprKind::Var(v) => {
                let c = &unit.symbols[*v].class;
                c.is_procedure() || matches!(c, Class::Intrinsic(_))
            }
            ExprKind::Closure(..) => true,
            _ => false,
        };
        let mismatch = |rule, text: String| {
            Diagnostic::warning(rule, actual.span, text).related(
                wanted.span,
                format!("the dummy argument {} of {}", wanted.name, callee.name),
            )
        };
        if wanted.class.is_procedure() != procedure {
            let (has, wants) = if procedure {
                ("a procedure", "data")
            } else {
                ("data", "a procedure")
            };
            let d = mismatch(
                &rules::ARGUMENT_MISMATCH,
                format!("this is {has}, but {} wants {wants} here", callee.name),
            );
            // There are four kinds of names that look like procedures but are not.
            let named = match actual.kind {
                ExprKind::Var(v) if !procedure => Some(&unit.symbols[v]),
                _ => None,
            };
            let help = named.and_then(|s| match (&s.class, &s.storage_class) {
                (Class::StatementFunction(..), _) => Some(format!(
                    "a statement function cannot be passed; make {} a nested FUNCTION",
                    s.name
                )),
                (_, StorageClass::Result) => Some(format!(
                    "inside of {0} its name means the result; FUNCTION {0}(...) RESULT(R) gives \
                     that another name",
                    unit.name
                )),
                (Class::Variable, StorageClass::Local) if self.globals.contains_key(&s.name) => {
                    Some(format!(
                        "{0} is a variable here; write EXTERNAL {0} for the subprogram of this name",
                        s.name
                    ))
                }
                _ => None,
            });
            self.error(match help {
                Some(help) => d.help(help),
                None => d,
            });
            return;
        }
        if procedure
            || matches!(
                actual.kind,
                ExprKind::Hollerith(_) | ExprKind::AltReturn(_) | ExprKind::Percent(..)
            )
        {
            return;
        }
        let (Some(given), Some(ty)) = (type_of(unit, actual), wanted.ty) else {
            return;
        };
        let differ = given.with_real(self.real) != ty.with_real(self.real);
        if differ && wanted.class == Class::Variable {
            let text = (given == Type::Character) != (ty == Type::Character);
            let rule = match text {
                true => &rules::ARGUMENT_MISMATCH,
                false => &rules::ARGUMENT_TYPE,
            };
            let d = mismatch(
                rule,
                format!("this is {given}, but {} wants {ty} here", callee.name),
            );
            let d = match (&actual.kind, given, ty) {
                (ExprKind::Int(n), Type::Integer(_), Type::Real(4)) => {
                    d.help(format!("write {n}.0"))
                }
                (ExprKind::Int(n), Type::Integer(_), Type::Real(8)) => {
                    d.help(format!("write {n}.0D0"))
                }
                (_, Type::Real(4), Type::Real(8)) => {
                    d.help("declare it DOUBLE PRECISION, or convert it with DBLE")
                }
                _ => d,
            };
            self.error(d);
            return;
        }
        let scalar = match &actual.kind {
            ExprKind::Var(v) => !unit.symbols[*v].is_array() && ty != Type::Character,
            ExprKind::Element(..) | ExprKind::Substring(..) | ExprKind::Char(_) => false,
            // Some intrinsic functions return arrays for scalar arguments.
            ExprKind::Call(s, _) if matches!(unit.symbols[*s].class, Class::Intrinsic(_)) => false,
            _ => ty != Type::Character && rank(unit, actual) == 0,
        };
        if wanted.is_array() && scalar {
            self.error(mismatch(
                &rules::ARGUMENT_SHAPE,
                format!("this is a scalar, but {} wants an array here", callee.name),
            ));
            return;
        }
        if ty != Type::Character
            && let (Some(has), Some(wants)) = (elements(unit, actual), size(callee.unit, wanted))
            && has < wants
        {
            self.error(mismatch(
                &rules::ARGUMENT_SHAPE,
                format!(
                    "this has {has} element{}, but {} wants {wants} here",
                    if has == 1 { "" } else { "s" },
                    callee.name
                ),
            ));
        }
    }

    /// Checks that functions have the same type in their definition and where they are used.
    pub(super) fn function_types(&mut self, unit: &'p Unit) {
        for (id, s) in unit.symbols.iter() {
            if s.class != Class::Function {
                continue;
            }
            let Some(callee) = self.callee(unit, id) else {
                continue;
            };
            if callee.unit.kind != UnitKind::Function {
                self.error(
                    Diagnostic::error(
                        &rules::ARGUMENT_MISMATCH,
                        s.span,
                        format!("{} is used as a function, but it is a subroutine", s.name),
                    )
                    .related(callee.span, "defined here")
                    .help(format!("write CALL {}(…)", s.name)),
                );
                continue;
            }
            let Some(result) = callee.result.and_then(|r| callee.unit.symbols[r].ty) else {
                continue;
            };
            if let Some(t) = s.ty
                && t != result
                && references(unit, id)
            {
                self.error(
                    Diagnostic::error(
                        &rules::TYPE_MISMATCH,
                        s.span,
                        format!("{} is {t} here, but the function is {result}", s.name),
                    )
                    .related(callee.span, "defined here")
                    .help(format!("declare `{result} {}` in {}", s.name, unit.name)),
                );
            }
        }
    }
}

/// Returns an entry point of a subprogram nested in a unit.
fn nested<'p>(unit: &'p Unit, name: &Name) -> Option<EntryPoint<'p>> {
    let mut points = unit.nested.iter().flat_map(Unit::entry_points);
    points.find(|e| e.name == name)
}

/// Whether the unit itself references the function. If a function is only passed on, its type does
/// not matter.
fn references(unit: &Unit, function: SymId) -> bool {
    let mut found = false;
    walk_exprs(&unit.body, &mut |e| {
        found |= matches!(e.kind, ExprKind::Call(s, _) if s == function);
    });
    found
}

/// Returns the number of elements of an array with constant bounds.
fn size(unit: &Unit, array: &Symbol) -> Option<i64> {
    let foreign =
        matches!(array.storage_class, StorageClass::Host(_)) && array.dims.iter().any(names_in);
    if array.dims.is_empty() || foreign {
        return None;
    }
    array.dims.iter().try_fold(1i64, |n, d| {
        let extent = extent(unit, d)?.1;
        n.checked_mul(extent)
    })
}

/// Returns the lower bound and the number of elements of a dimension with constant bounds.
fn extent(unit: &Unit, d: &crate::ir::Dim) -> Option<(i64, i64)> {
    let bound = |e: &Expr| constant::integer(unit, e);
    let lower = match &d.lower {
        Some(e) => bound(e)?,
        None => 1,
    };
    let upper = bound(d.upper.as_ref()?)?;
    let extent = upper.checked_sub(lower)?.checked_add(1)?;
    Some((lower, extent.max(0)))
}

/// Like [`size`], for an array as declared in the unit. A last bound of 1 in a dummy argument was
/// the way to write assumed size before `*` existed.
fn own_size(unit: &Unit, array: &Symbol) -> Option<i64> {
    let last = array.dims.last().and_then(|d| d.upper.as_ref())?;
    let old = array.storage_class == StorageClass::Dummy && matches!(last.kind, ExprKind::Int(1));
    if old { None } else { size(unit, array) }
}

/// Returns the number of elements from the beginning of an actual argument to the end of its array.
fn elements(unit: &Unit, actual: &Expr) -> Option<i64> {
    match &actual.kind {
        ExprKind::Var(s) => own_size(unit, &unit.symbols[*s]),
        ExprKind::Element(s, subscripts) => {
            let array = &unit.symbols[*s];
            let all = own_size(unit, array)?;
            let (mut before, mut stride) = (0i64, 1i64);
            for (e, d) in subscripts.iter().zip(&array.dims) {
                let (lower, extent) = extent(unit, d)?;
                let at = constant::integer(unit, e)?.checked_sub(lower)?;
                before = before.checked_add(at.checked_mul(stride)?)?;
                stride = stride.checked_mul(extent)?;
            }
            all.checked_sub(before)
        }
        _ => None,
    }
}
