//! The calls of a unit, with a uniform view of CALL statements and function references.

use crate::callgraph::UnitIndex;
use crate::diagnostic::{Diagnostic, rules};
use crate::intrinsics::Intrinsic;
use crate::ir::{
    Class, EntryPoint, Expr, ExprKind, Name, Spec, SpecKind, Stmt, StmtKind, StorageClass, SymId,
    Symbol, Symbols, Type, Unit, UnitKind, for_each_reference, walk_block, walk_block_mut,
};
use crate::source::Span;
use crate::types::type_of;

/// Calls `f` with the procedure and the actual arguments of every call, innermost first.
pub(super) fn for_each_call_mut(block: &mut [Stmt], f: &mut dyn FnMut(&mut SymId, &mut Vec<Expr>)) {
    for_each_placed_call_mut(block, &mut |callee, args, _| f(callee, args));
}

/// Like [`for_each_call_mut`], with the span of each call.
pub(super) fn for_each_placed_call_mut(
    block: &mut [Stmt],
    f: &mut dyn FnMut(&mut SymId, &mut Vec<Expr>, Span),
) {
    walk_block_mut(block, &mut |s| {
        s.for_each_own_expr_mut(&mut |e| {
            e.rewrite(&mut |e| {
                if let ExprKind::Call(callee, args) = &mut e.kind {
                    f(callee, args, e.span);
                }
            });
        });
        if let StmtKind::Call(callee, args) = &mut s.kind {
            f(callee, args, s.span);
        }
    });
}

/// Calls `f` with the procedure and the actual arguments of every call.
pub(super) fn for_each_call<'a>(block: &'a [Stmt], f: &mut dyn FnMut(SymId, &'a [Expr])) {
    for_each_reference(block, &mut |r| f(r.procedure, r.args));
}

/// Declares the procedures selected by `which` EXTERNAL if they are passed on. Fortran 77 requires
/// the declaration; Farfel infers it.
pub(super) fn declare_procedures(unit: &mut Unit, which: &dyn Fn(&Symbol) -> bool) {
    let mut passed = Vec::new();
    for_each_call(&unit.body, &mut |_, args| {
        for a in args {
            if let ExprKind::Var(s) | ExprKind::Closure(s, _) = a.kind
                && unit.symbols[s].class.is_procedure()
                && which(&unit.symbols[s])
                && !passed.contains(&s)
            {
                passed.push(s);
            }
        }
    });
    for id in passed {
        unit.symbols[id].external = true;
        unit.declare(id);
    }
}

/// Returns the name of the top-level unit or external procedure for which a symbol stands.
pub(super) fn global(symbols: &Symbols, id: SymId) -> Option<&Name> {
    let s = &symbols[id];
    (s.class.is_procedure() && s.storage_class == StorageClass::Global).then_some(&s.name)
}

/// The properties of a subprogram that its callers see.
#[derive(Debug, Clone)]
pub(super) struct CallerView {
    pub class: Class,
    pub ty: Option<Type>,
    /// The length of its result if that is constant. Otherwise the caller's declaration gives it.
    pub length: Option<Expr>,
}

pub(super) fn caller_view_of(unit: &Unit) -> CallerView {
    let result = match unit.kind {
        UnitKind::Function => unit.result.map(|r| &unit.symbols[r]),
        _ => {
            return CallerView {
                class: Class::Subroutine,
                ty: None,
                length: None,
            };
        }
    };
    let length = result.and_then(|r| r.length.clone());
    CallerView {
        class: Class::Function,
        ty: result.and_then(|r| r.ty),
        length: length.filter(|e| matches!(e.kind, ExprKind::Int(_))),
    }
}

/// A procedure that an actual argument names and that is known statically: a top-level or external
/// procedure, or an intrinsic function.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum KnownProcedure {
    /// A top-level or external procedure of this name.
    Global(Name),
    /// An intrinsic function of this name.
    Intrinsic(&'static str),
    /// Any procedure that a caller outside of the program may pass.
    Outside,
}

impl KnownProcedure {
    /// Returns the procedure for which a symbol stands as an actual argument, unless it is a dummy
    /// procedure or data.
    pub fn of(symbols: &Symbols, id: SymId) -> Option<KnownProcedure> {
        match symbols[id].class {
            Class::Intrinsic(i) => Some(KnownProcedure::Intrinsic(i.name)),
            _ => global(symbols, id).cloned().map(KnownProcedure::Global),
        }
    }

    /// Returns the symbol of `unit` for the procedure. `known` describes the procedure if it is a
    /// unit of the program; `seen` is the dummy procedure, which supplies the same facts for other
    /// procedures, and the length of the result where the caller declares it.
    pub fn symbol(
        &self,
        unit: &mut Unit,
        known: Option<CallerView>,
        seen: (SymId, &Symbol),
    ) -> SymId {
        let (dummy, seen) = seen;
        match self {
            KnownProcedure::Outside => dummy,
            KnownProcedure::Global(name) => {
                let external = known.is_none();
                let length = seen.length.clone();
                let known = match known {
                    Some(known) => CallerView {
                        length: known.length.or(length),
                        ..known
                    },
                    None => CallerView {
                        class: seen.class.clone(),
                        ty: seen.ty,
                        length,
                    },
                };
                procedure_symbol(unit, name, known, external, seen.span)
            }
            KnownProcedure::Intrinsic(name) => intrinsic_symbol(unit, name, seen.span),
        }
    }
}

pub(super) fn intrinsic_symbol(unit: &mut Unit, name: &str, span: Span) -> SymId {
    let Some(intrinsic) = Intrinsic::find(name) else {
        unreachable!("constants name intrinsics that exist")
    };
    if let Some(s) = unit.symbols.find(name) {
        if unit.symbols[s].class == Class::Intrinsic(intrinsic) {
            return s;
        }
        let other = unit.symbols.unused(&format!("{name}_LOCAL"), &|_| false);
        unit.symbols.rename(s, other);
    }
    let id = unit.symbols.add(Symbol {
        class: Class::Intrinsic(intrinsic),
        ..Symbol::new(name.into(), span)
    });
    // It may be passed on, which requires this statement.
    unit.specs.insert(
        0,
        Spec {
            kind: SpecKind::Intrinsic(vec![id]),
            span,
        },
    );
    if unit
        .specs
        .get(1)
        .is_some_and(|s| s.kind == SpecKind::Implicit)
    {
        unit.specs.swap(0, 1);
    }
    id
}

/// Returns the symbol of `unit` for a top-level or external procedure. A local name that conflicts
/// is renamed.
fn procedure_symbol(
    unit: &mut Unit,
    name: &Name,
    seen: CallerView,
    external: bool,
    span: Span,
) -> SymId {
    if let Some(s) = unit.symbols.find(name) {
        if global(&unit.symbols, s).is_some() {
            return s;
        }
        let other = unit.symbols.unused(&format!("{name}_LOCAL"), &|_| false);
        unit.symbols.rename(s, other);
        // The implicit type of the renamed symbol does not change, as the first letter stays the
        // same; an explicit declaration refers to the symbol.
    }
    let CallerView { class, ty, length } = seen;
    let declared = class == Class::Function || external;
    let symbol = Symbol {
        class,
        ty,
        length: length.filter(|_| ty == Some(Type::Character)),
        external,
        storage_class: StorageClass::Global,
        ..Symbol::new(name.clone(), span)
    };
    let id = unit.symbols.add(symbol);
    if declared {
        unit.declare(id);
    }
    id
}

/// Checks the calls of a dummy procedure against the procedure `target` for which it stands. The
/// last `captured` arguments of `target` are added by the compiler.
pub(super) fn check_calls(
    unit: &Unit,
    dummy: SymId,
    target: &Unit,
    captured: usize,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let name = &unit.symbols[dummy].name;
    let wanted = &target.args[..target.args.len().saturating_sub(captured)];
    // Problems that only cause warnings in calls by name only cause warnings here.
    let mut error = |d: Diagnostic| {
        let d = d.related(target.name_span, format!("what {name} stands for"));
        if !diagnostics
            .iter()
            .any(|known| known.span == d.span && known.rule == d.rule)
        {
            diagnostics.push(d);
        }
    };
    let entry = EntryPoint {
        unit: target,
        name: &target.name,
        span: target.name_span,
        args: wanted,
        result: target.result,
        statement: None,
    };
    let result = target.result.and_then(|r| target.symbols[r].ty);
    let mut check = |args: &[Expr], span: Span, function: bool| {
        if function != (target.kind == UnitKind::Function) {
            let (has, wants) = if function {
                ("function", "a subroutine")
            } else {
                ("subroutine", "a function")
            };
            let d = Diagnostic::warning(
                &rules::ARGUMENT_MISMATCH,
                span,
                format!(
                    "{name} is called as a {has} here, but {} is {wants}",
                    target.name
                ),
            );
            error(d.help("if this is executed, the program ends"));
        } else if args.len() != wanted.len() {
            let n = wanted.len();
            let s = if n == 1 { "" } else { "s" };
            let given = match args.len() {
                0 => "none is".to_owned(),
                1 => "1 is".to_owned(),
                given => format!("{given} are"),
            };
            error(Diagnostic::warning(
                &rules::ARGUMENT_MISMATCH,
                span,
                format!("{} takes {n} argument{s}, but {given} given", target.name),
            ));
        } else if function && result != unit.symbols[dummy].ty {
            if let (Some(a), Some(b)) = (unit.symbols[dummy].ty, result) {
                error(Diagnostic::error(
                    &rules::TYPE_MISMATCH,
                    span,
                    format!("{name} is {a} here, but {} is {b}", target.name),
                ));
            }
        } else {
            for (a, d) in args.iter().zip(wanted) {
                let procedure = matches!(&a.kind, ExprKind::Var(s) | ExprKind::Closure(s, _)
                    if unit.symbols[*s].class.is_procedure());
                if let Some(d) = d.sym()
                    && procedure != target.symbols[d].class.is_procedure()
                {
                    let (has, wants) = if procedure {
                        ("a procedure", "data")
                    } else {
                        ("data", "a procedure")
                    };
                    error(Diagnostic::error(
                        &rules::ARGUMENT_MISMATCH,
                        a.span.or(span),
                        format!("this is {has}, but {} wants {wants} here", target.name),
                    ));
                    continue;
                }
                for mut found in crate::resolve::errors_of_argument(unit, a, entry, *d) {
                    found.span = found.span.or(span);
                    error(found);
                }
            }
        }
    };
    for_each_reference(&unit.body, &mut |r| {
        if r.procedure == dummy {
            check(r.args, r.span, r.function);
        }
    });
}

/// Checks the calls of a dummy procedure against the intrinsic function for which it stands, and
/// which is passed at `passed`.
pub(super) fn check_intrinsic(
    unit: &Unit,
    dummy: SymId,
    name: &str,
    passed: Span,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let Some(intrinsic) = Intrinsic::find(name) else {
        return;
    };
    let symbol = &unit.symbols[dummy];
    let mut found = Vec::new();
    for_each_reference(&unit.body, &mut |r| {
        if r.procedure != dummy {
            return;
        }
        let (args, span, is_function) = (r.args, r.span, r.function);
        let types: Option<Vec<Type>> = args.iter().map(|a| type_of(unit, a)).collect();
        let (least, most) = intrinsic.args;
        let other = match (intrinsic.takes, &types) {
            (Some(wanted), Some(types)) => args.iter().zip(types).find(|(_, t)| **t != wanted),
            _ => None,
        };
        let result = types.as_ref().map(|t| intrinsic.result_type(t));
        let error = if !is_function {
            (
                span,
                format!("{name} is a function, but {} is called", symbol.name),
            )
        } else if args.len() < usize::from(least) || args.len() > usize::from(most) {
            (
                span,
                format!(
                    "{name} does not take {} argument{}",
                    args.len(),
                    if args.len() == 1 { "" } else { "s" }
                ),
            )
        } else if let (Some((a, given)), Some(wanted)) = (other, intrinsic.takes) {
            (
                a.span,
                format!("this is {given}, but {name} wants {wanted} here"),
            )
        } else if let (Some(given), Some(ty)) = (result, symbol.ty)
            && given != ty
        {
            (
                span,
                format!("{} is {ty} here, but {name} is {given}", symbol.name),
            )
        } else {
            return;
        };
        found.push(error);
    });
    for (span, message) in found {
        let mut d = Diagnostic::error(&rules::ARGUMENT_MISMATCH, span, message);
        if !passed.is_none() {
            d = d.related(passed, format!("{name} is passed here"));
        }
        let same = |k: &Diagnostic| k.span == d.span && k.rule == d.rule;
        if !diagnostics.iter().any(same) {
            diagnostics.push(d);
        }
    }
}

/// Whether a block contains AD blocks.
pub(super) fn has_ad_blocks(block: &[Stmt]) -> bool {
    block.iter().any(|s| match &s.kind {
        StmtKind::Ad(_) => true,
        _ => s.blocks().into_iter().any(|b| has_ad_blocks(b)),
    })
}

/// The top-level units that a unit mentions, as indices into the program.
pub(super) struct UnitReferences {
    /// The units that it calls or passes on, each once, in the order of their first mention.
    pub references: Vec<usize>,
    /// The lifted subprograms that it passes on, each once, in textual order.
    pub closures: Vec<usize>,
    /// Whether it passes closures on, including those of procedures that are not in the program.
    pub passes_closures: bool,
}

impl UnitReferences {
    /// Collects the mentions in a unit without nested subprograms.
    pub fn of(unit: &Unit, index: &UnitIndex) -> Self {
        let symbols = &unit.symbols;
        let mut seen = vec![false; symbols.len()];
        let mut references = Vec::new();
        let mut look = |id: SymId| {
            if !std::mem::replace(&mut seen[id.0 as usize], true)
                && let Some(n) = global(symbols, id)
            {
                references.extend(index.get(n));
            }
        };
        let mut closures: Vec<usize> = Vec::new();
        let mut passes_closures = false;
        let mut passed = |args: &[Expr]| {
            for a in args {
                if let ExprKind::Closure(s, _) = a.kind {
                    passes_closures = true;
                    closures.extend(
                        index
                            .get(&symbols[s].name)
                            .filter(|c| !closures.contains(c)),
                    );
                }
            }
        };
        walk_block(&unit.body, &mut |s| {
            if let StmtKind::Call(_, args) = &s.kind {
                passed(args);
            }
            s.for_each_own_symbol(&mut look);
            s.for_each_own_expr(&mut |e| {
                e.walk(&mut |e| match &e.kind {
                    ExprKind::Call(s, args) => {
                        look(*s);
                        passed(args);
                    }
                    ExprKind::Var(s) | ExprKind::Apply(s, _) | ExprKind::Element(s, _) => look(*s),
                    ExprKind::Closure(s, captured) => {
                        look(*s);
                        captured.iter().copied().for_each(&mut look);
                    }
                    ExprKind::ImpliedDo(d) => look(d.var),
                    _ => {}
                });
            });
        });
        for (_, s) in symbols.iter() {
            if let Class::StatementFunction(_, e) = &s.class
                && !matches!(s.storage_class, StorageClass::Host(_))
            {
                e.for_each_symbol(&mut look);
            }
        }
        UnitReferences {
            references,
            closures,
            passes_closures,
        }
    }
}
