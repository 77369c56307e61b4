//! Warns of code that is legal, or compiles, but is probably a mistake: variables without a value,
//! unused names and unreachable code, recursion without RECURSIVE, and obsolescent constructs.

use crate::callgraph::cycles;
use crate::dataflow::{self, Findings, Intents};
use crate::diagnostic::{Diagnostic, Rule, rules};
use crate::ir::{
    AdItem, Class, DoControl, DoEnd, Expr, ExprKind, Intent, Label, Name, Program, SaveItem,
    SpecKind, Stmt, StmtKind, StorageClass, SymId, Type, Unit, UnitKind, for_each_reference,
    for_each_symbol, walk_block,
};
use crate::lints::Lints;
use crate::source::Span;
use crate::targets::CallTargets;
use std::collections::HashSet;

/// Checks all top-level units except those whose indices are in `faulty`.
pub(super) fn warn(
    program: &Program,
    faulty: &HashSet<usize>,
    lints: &Lints,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut warnings = Warnings {
        enabled: EnabledChecks::of(lints),
        diagnostics,
    };
    let intents = dataflow::analyse(program, &mut |i, unit, findings| {
        if !faulty.contains(&i) {
            warnings.findings(unit, findings);
        }
    });
    for (i, unit) in program.units.iter().enumerate() {
        if !faulty.contains(&i) {
            warnings.unit(unit);
            shared_loops(&mut vec![unit], warnings.diagnostics);
            warnings.constants(unit, &intents);
        }
    }
}

/// Which of the more expensive checks are enabled.
struct EnabledChecks {
    variables: bool,
    arguments: bool,
    labels: bool,
    implicit: bool,
    obsolescent: bool,
}

impl EnabledChecks {
    fn of(lints: &Lints) -> Self {
        EnabledChecks {
            variables: lints.is_enabled(&rules::UNUSED_VARIABLE),
            arguments: lints.is_enabled(&rules::UNUSED_ARGUMENT),
            labels: lints.is_enabled(&rules::UNUSED_LABEL),
            implicit: lints.is_enabled(&rules::IMPLICIT_TYPING),
            obsolescent: lints.is_enabled(&rules::OBSOLESCENT),
        }
    }
}

struct Warnings<'a> {
    enabled: EnabledChecks,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Warnings<'_> {
    fn warn(&mut self, rule: &'static Rule, span: Span, text: String) -> &mut Diagnostic {
        self.diagnostics.push(Diagnostic::warning(rule, span, text));
        let last = self.diagnostics.len() - 1;
        &mut self.diagnostics[last]
    }

    /// Reports the findings of the data-flow analysis.
    fn findings(&mut self, unit: &Unit, findings: &Findings) {
        for u in &findings.unset {
            let s = &unit.symbols[u.sym];
            // Reported once, below.
            if findings.no_result && unit.result == Some(u.sym) {
                continue;
            }
            let (text, label) = match (u.set_elsewhere, s.is_array()) {
                (true, false) => (" before anything sets it", "it can have no value here"),
                (true, true) => (
                    " before anything sets it",
                    "no element of it can have a value here",
                ),
                (false, _) => (", but nothing sets it", "it has no value"),
            };
            let named = unit.symbols.iter().filter(|(id, s)| {
                let has_value = !findings.unset.iter().any(|u| u.sym == *id);
                has_value && s.class == Class::Variable && s.storage_class != StorageClass::Global
            });
            let help = match u.set_elsewhere {
                true if s.storage_class == StorageClass::Local
                    && unit.kind != UnitKind::Program =>
                {
                    Some(format!(
                        "write SAVE {} if it shall keep its value from one call to the next",
                        s.name
                    ))
                }
                true => None,
                false => crate::spelling::closest(&s.name, named.map(|(_, s)| s.name.as_str()))
                    .map(|name| format!("did you mean {name}?")),
            };
            let text = format!("{} is used{text}", s.name);
            let d = self.warn(&rules::USED_BEFORE_SET, u.span, text);
            d.label = label.into();
            d.help = help;
        }
        for s in &findings.unreachable {
            self.warn(
                &rules::UNREACHABLE_CODE,
                s.span,
                "nothing leads to this statement".into(),
            );
        }
        if findings.no_result {
            self.warn(
                &rules::RESULT_NOT_SET,
                unit.name_span,
                format!("the function {} never sets its result", unit.name),
            );
        }
        self.intents(unit, findings);
    }

    /// Reports assignments to arguments with INTENT(IN).
    fn intents(&mut self, unit: &Unit, findings: &Findings) {
        for spec in &unit.specs {
            let SpecKind::Intent(Intent::In, list) = &spec.kind else {
                continue;
            };
            for (sym, span, called) in &findings.writes {
                if !list.contains(sym) {
                    continue;
                }
                let name = &unit.symbols[*sym].name;
                let d = if *called {
                    let text = format!("{name} has INTENT(IN), but the procedure may set it");
                    Diagnostic::warning(&rules::INTENT, *span, text)
                } else {
                    let text = format!("{name} has INTENT(IN) and cannot be set");
                    Diagnostic::error(&rules::INTENT, *span, text)
                };
                let d = d.related(spec.span, "declared here");
                self.diagnostics
                    .push(d.help("declare INTENT(INOUT), or set a copy"));
            }
        }
    }

    fn unit(&mut self, unit: &Unit) {
        if self.enabled.variables || self.enabled.arguments {
            self.unused(unit);
        }
        if self.enabled.labels {
            self.labels(unit);
        }
        if self.enabled.implicit {
            self.implicit(unit);
        }
        if self.enabled.obsolescent {
            walk_block(&unit.body, &mut |s| self.old(unit, s));
        }
        loops(unit, &unit.body, &mut Vec::new(), self.diagnostics);
        for nested in &unit.nested {
            self.unit(nested);
        }
    }

    /// Reports constants that procedures assign.
    fn constants(&mut self, unit: &Unit, intents: &Intents) {
        let mut call = |callee: SymId, args: &[Expr]| {
            let symbol = &unit.symbols[callee];
            if symbol.storage_class != StorageClass::Global {
                return;
            }
            let Some(uses) = intents.get(&symbol.name) else {
                return;
            };
            for (a, used) in args.iter().zip(uses) {
                let constant = match &a.kind {
                    ExprKind::Var(s) => matches!(unit.symbols[*s].class, Class::Parameter(_)),
                    ExprKind::Int(_) | ExprKind::Real(_) | ExprKind::Logical(_) => true,
                    _ => false,
                };
                if constant && used.always && used.assigned {
                    let text = format!("{} sets this argument, but it is a constant", symbol.name);
                    let d = Diagnostic::warning(&rules::CONSTANT_SET, a.span, text);
                    self.diagnostics.push(d.help("pass a variable"));
                }
            }
        };
        for_each_reference(&unit.body, &mut |r| call(r.procedure, r.args));
    }

    fn unused(&mut self, unit: &Unit) {
        let used = used(unit);
        let idle = |id: SymId, place: &StorageClass| {
            let s = &unit.symbols[id];
            s.class == Class::Variable && s.storage_class == *place && !used[id.0 as usize]
        };
        if self.enabled.variables {
            let names: Vec<SymId> = unit
                .symbols
                .iter()
                .filter(|(id, s)| {
                    // Not every unit uses everything that an INCLUDE file declares.
                    let declared = s.typed || s.is_array();
                    idle(*id, &StorageClass::Local) && declared && s.span.file == unit.span.file
                })
                .map(|(id, _)| id)
                .collect();
            for id in names {
                let s = &unit.symbols[id];
                let text = format!("nothing uses {}", s.name);
                self.warn(&rules::UNUSED_VARIABLE, s.span, text);
            }
        }
        if self.enabled.arguments {
            for id in unit.args.iter().filter_map(|a| a.sym()) {
                if idle(id, &StorageClass::Dummy) {
                    let s = &unit.symbols[id];
                    let text = format!("{} does not use its argument {}", unit.name, s.name);
                    self.warn(&rules::UNUSED_ARGUMENT, s.span, text);
                }
            }
        }
    }

    fn labels(&mut self, unit: &Unit) {
        let mut named: HashSet<Label> = HashSet::new();
        let mut defined: Vec<(Label, Span)> = Vec::new();
        for spec in &unit.specs {
            if let SpecKind::Format(label, _) = spec.kind {
                defined.push((label, spec.span));
            }
        }
        walk_block(&unit.body, &mut |s| {
            defined.extend(s.label.map(|l| (l, s.span)));
            match &s.kind {
                StmtKind::Goto(l) | StmtKind::AssignLabel(l, _) => {
                    named.insert(*l);
                }
                StmtKind::ArithmeticIf(_, l) => named.extend(l),
                StmtKind::ComputedGoto(l, _) | StmtKind::AssignedGoto(_, l) => named.extend(l),
                StmtKind::Do(d) => {
                    if let DoEnd::Label(l) = d.end {
                        named.insert(l);
                    }
                }
                StmtKind::Io(io) => {
                    for c in &io.control {
                        let value = match &c.kind {
                            ExprKind::Keyword(_, e) => &e.kind,
                            other => other,
                        };
                        if let ExprKind::Int(n) = value {
                            named.extend(Label::try_from(*n));
                        }
                    }
                }
                _ => {}
            }
            s.for_each_own_expr(&mut |e| {
                e.walk(&mut |e| {
                    if let ExprKind::AltReturn(l) = e.kind {
                        named.insert(l);
                    }
                });
            });
        });
        for (label, span) in defined {
            if !named.contains(&label) {
                let text = format!("nothing refers to the label {label}");
                self.warn(&rules::UNUSED_LABEL, span, text);
            }
        }
    }

    fn implicit(&mut self, unit: &Unit) {
        for (_, s) in unit.symbols.iter() {
            let own = !matches!(
                s.storage_class,
                StorageClass::Host(_) | StorageClass::Global
            );
            let constant = matches!(s.class, Class::Parameter(_));
            if !s.typed && own && (s.class == Class::Variable || constant) {
                let Some(ty) = s.ty else { continue };
                if unit.typed_header && unit.result.is_some_and(|r| unit.symbols[r].name == s.name)
                {
                    continue;
                }
                let text = format!("{} is {ty} by its first letter alone", s.name);
                let d = self.warn(&rules::IMPLICIT_TYPING, s.span, text);
                d.help = Some(format!("declare `{ty} {}`", s.name));
            }
        }
    }

    fn old(&mut self, unit: &Unit, stmt: &Stmt) {
        let what = match &stmt.kind {
            StmtKind::AssignLabel(..) => "ASSIGN",
            StmtKind::AssignedGoto(..) => "the assigned GOTO",
            StmtKind::ArithmeticIf(..) => "the arithmetic IF",
            StmtKind::ComputedGoto(..) => "the computed GOTO",
            StmtKind::Pause(_) => "PAUSE",
            StmtKind::Entry(_) => "ENTRY",
            StmtKind::Return(Some(_)) => "the alternate return",
            StmtKind::Do(d) => match &d.control {
                DoControl::Count { var, .. }
                    if matches!(unit.symbols[*var].ty, Some(Type::Real(_))) =>
                {
                    "a loop whose variable is not a whole number"
                }
                _ => match (d.body.last().map(|s| &s.kind), d.end) {
                    (Some(StmtKind::Do(inner)), DoEnd::Label(l))
                        if inner.end == DoEnd::Label(l) =>
                    {
                        "the end that two loops share"
                    }
                    _ => return,
                },
            },
            _ => return,
        };
        self.warn(
            &rules::OBSOLESCENT,
            stmt.span,
            format!("{what} is obsolescent"),
        );
    }
}

/// Reports loop variables that are assigned in their loop.
fn loops(
    unit: &Unit,
    block: &[Stmt],
    open: &mut Vec<(SymId, Span)>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for s in block {
        one_loop(unit, s, open, diagnostics);
    }
}

fn one_loop(
    unit: &Unit,
    stmt: &Stmt,
    open: &mut Vec<(SymId, Span)>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut check = |s: SymId, span: Span, open: &[(SymId, Span)]| {
        if let Some((_, at)) = open.iter().find(|(v, _)| *v == s) {
            diagnostics.push(
                Diagnostic::error(
                    &rules::LOOP_VARIABLE,
                    span,
                    format!("{} is set inside of its own loop", unit.symbols[s].name),
                )
                .related(*at, "the loop that counts it"),
            );
        }
    };
    let mut opened = false;
    match &stmt.kind {
        StmtKind::Assign(target, _) if !open.is_empty() => {
            if let ExprKind::Var(s) = target.kind {
                check(s, target.span, open);
            }
        }
        StmtKind::Io(io) if !open.is_empty() && io.kind == crate::ir::IoKind::Read => {
            for item in &io.items {
                if let ExprKind::Var(s) = item.kind {
                    check(s, item.span, open);
                }
            }
        }
        StmtKind::Do(d) => {
            if let DoControl::Count { var, .. } = d.control {
                check(var, stmt.span, open);
                open.push((var, stmt.span));
                opened = true;
            }
        }
        StmtKind::LogicalIf(_, inner) => one_loop(unit, inner, open, diagnostics),
        StmtKind::Ad(block) => {
            for item in block.opening.iter().chain(&block.closing) {
                implied(item, &mut |var, span| check(var, span, open));
            }
            for item in &block.closing {
                item.for_each_assign(&mut |a| {
                    if let ExprKind::Var(s) = a.other.kind {
                        check(s, a.other.span, open);
                    }
                });
            }
        }
        _ => {}
    }
    for b in stmt.blocks() {
        loops(unit, b, open, diagnostics);
    }
    if opened {
        open.pop();
    }
}

/// Reports loops around calls of nested subprograms that use the same loop variables. `path` holds
/// the units around, outermost first, followed by the unit to check.
fn shared_loops(path: &mut Vec<&Unit>, diagnostics: &mut Vec<Diagnostic>) {
    let Some(unit) = path.last().copied() else {
        return;
    };
    if path.len() > 1 || !unit.nested.is_empty() {
        calls_in_loops(path, &unit.body, &mut Vec::new(), diagnostics);
    }
    for nested in &unit.nested {
        path.push(nested);
        shared_loops(path, diagnostics);
        path.pop();
    }
}

fn calls_in_loops(
    path: &[&Unit],
    block: &[Stmt],
    open: &mut Vec<((usize, SymId), Span)>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for stmt in block {
        let mut opened = false;
        if !open.is_empty() {
            for callee in nested_callees(path, stmt) {
                let name = &callee[callee.len() - 1].name;
                let mut counted = Vec::new();
                counted_loops(&callee, &mut Vec::new(), &mut counted);
                let shared = counted.iter().find_map(|(variable, at, by)| {
                    let around = open.iter().find(|(v, _)| v == variable)?;
                    Some((around, at, by))
                });
                let Some((((level, s), around), at, by)) = shared else {
                    continue;
                };
                let variable = &path[*level].symbols[*s].name;
                diagnostics.push(
                    Diagnostic::warning(
                        &rules::SHARED_LOOP_VARIABLE,
                        stmt.span,
                        format!(
                            "{name} is called in a loop that counts {variable}, and changes it"
                        ),
                    )
                    .related(*around, "the loop around the call")
                    .related(*at, format!("the same {variable} in {by}"))
                    .help(format!("declare {variable} in {by}: what it does not declare is that of the units around")),
                );
            }
        }
        if let StmtKind::Do(d) = &stmt.kind
            && let DoControl::Count { var, .. } = d.control
        {
            open.push((owner(path, var), stmt.span));
            opened = true;
        }
        for b in stmt.blocks() {
            calls_in_loops(path, b, open, diagnostics);
        }
        if let StmtKind::LogicalIf(_, inner) = &stmt.kind {
            calls_in_loops(path, std::slice::from_ref(inner), open, diagnostics);
        }
        if opened {
            open.pop();
        }
    }
}

/// Returns the owner of a variable: the index of a unit in the path, and the symbol there.
fn owner(path: &[&Unit], mut s: SymId) -> (usize, SymId) {
    let mut level = path.len() - 1;
    while let StorageClass::Host(outer) = path[level].symbols[s].storage_class
        && level > 0
    {
        s = outer;
        level -= 1;
    }
    (level, s)
}

/// Returns the nested subprograms that a statement itself names, each with the units around it.
fn nested_callees<'p>(path: &[&'p Unit], stmt: &'p Stmt) -> Vec<Vec<&'p Unit>> {
    let mut named = Vec::new();
    if let StmtKind::Call(s, _) = stmt.kind {
        named.push(s);
    }
    stmt.for_each_own_expr(&mut |e| e.for_each_symbol(&mut |s| named.push(s)));
    named.sort_unstable();
    named.dedup();
    let unit = path[path.len() - 1];
    let found = named.into_iter().filter_map(|s| {
        let symbol = &unit.symbols[s];
        if !symbol.class.is_procedure()
            || matches!(
                symbol.storage_class,
                StorageClass::Dummy | StorageClass::Global
            )
        {
            return None;
        }
        (1..=path.len()).rev().find_map(|n| {
            let nested = path[n - 1].nested.iter().find(|u| u.name == symbol.name)?;
            Some(path[..n].iter().copied().chain([nested]).collect())
        })
    });
    found.collect()
}

/// A loop: its variable as given by [`owner`], its place, and the unit that contains it.
type CountedLoop = ((usize, SymId), Span, Name);

/// Collects the loops of a nested subprogram, and of those that it calls, that use variables of the
/// units around.
fn counted_loops<'p>(path: &[&'p Unit], seen: &mut Vec<&'p Unit>, counted: &mut Vec<CountedLoop>) {
    let unit = path[path.len() - 1];
    if seen.iter().any(|u| std::ptr::eq(*u, unit)) {
        return;
    }
    seen.push(unit);
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Do(d) = &s.kind
            && let DoControl::Count { var, .. } = d.control
        {
            let variable = owner(path, var);
            if variable.0 + 1 < path.len() {
                counted.push((variable, s.span, unit.name.clone()));
            }
        }
        for callee in nested_callees(path, s) {
            counted_loops(&callee, seen, counted);
        }
    });
}

/// Calls `f` with the variables of implied DOs and the places where they begin to count.
fn implied(item: &AdItem, f: &mut dyn FnMut(SymId, Span)) {
    if let AdItem::ImpliedDo(d) = item {
        f(d.var, d.from.span);
        d.items.iter().for_each(|i| implied(i, f));
    }
}

/// Returns which names a unit or one nested in it uses, apart from their own declarations.
fn used(unit: &Unit) -> Vec<bool> {
    let mut used = vec![false; unit.symbols.len()];
    let mut mark = |s: SymId| {
        if let Some(u) = used.get_mut(s.0 as usize) {
            *u = true;
        }
    };
    for_each_symbol(&unit.body, &mut mark);
    let mut in_expr = |e: &Expr| e.for_each_symbol(&mut mark);
    for (_, s) in unit.symbols.iter() {
        if matches!(s.storage_class, StorageClass::Host(_)) {
            continue;
        }
        for d in &s.dims {
            d.lower.iter().chain(&d.upper).for_each(&mut in_expr);
        }
        s.length.iter().for_each(&mut in_expr);
        if let Class::Parameter(e) | Class::StatementFunction(_, e) = &s.class {
            in_expr(e);
        }
    }
    for spec in &unit.specs {
        match &spec.kind {
            SpecKind::Equivalence(groups) => groups.iter().flatten().for_each(&mut in_expr),
            SpecKind::Data(sets) => {
                for set in sets {
                    set.targets.iter().for_each(&mut in_expr);
                }
            }
            _ => {}
        }
    }
    for spec in &unit.specs {
        match &spec.kind {
            SpecKind::Pointer(list) => list.iter().for_each(|(p, e)| {
                mark(*p);
                mark(e.sym);
            }),
            SpecKind::Save(list) => list.iter().for_each(|i| {
                if let SaveItem::Var(s) = i {
                    mark(*s);
                }
            }),
            _ => {}
        }
    }
    for (_, s) in unit.symbols.iter() {
        match &s.class {
            Class::Namelist(members) => members.iter().copied().for_each(&mut mark),
            Class::StatementFunction(args, _) => args.iter().copied().for_each(&mut mark),
            _ => {}
        }
    }
    for nested in &unit.nested {
        for (_, s) in nested.symbols.iter() {
            if let StorageClass::Host(outer) = s.storage_class {
                mark(outer);
            }
        }
    }
    used
}

/// Reports procedures that call themselves, directly or through others, without RECURSIVE.
pub(super) fn recursion(
    program: &Program,
    targets: &CallTargets,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let certain: HashSet<usize> = cycles(targets.direct()).into_iter().flatten().collect();
    for group in cycles(targets.callees()) {
        for &i in &group {
            let Some(unit) = program.units.get(i) else {
                continue;
            };
            if unit.recursive {
                continue;
            }
            let others: Vec<&str> = group
                .iter()
                .filter(|o| **o != i)
                .filter_map(|o| program.units.get(*o).map(|u| u.name.as_str()))
                .take(3)
                .collect();
            let through = match others.is_empty() {
                true => String::new(),
                false => format!(" through {}", others.join(", ")),
            };
            // It is not known which procedures are passed together.
            let calls = match certain.contains(&i) {
                true => "calls",
                false => "may call",
            };
            diagnostics.push(
                Diagnostic::warning(
                    &rules::RECURSION,
                    unit.name_span,
                    format!("{} {calls} itself{through}", unit.name),
                )
                .help("write RECURSIVE before SUBROUTINE or FUNCTION; without it local variables may be shared by all its calls"),
            );
        }
    }
}
