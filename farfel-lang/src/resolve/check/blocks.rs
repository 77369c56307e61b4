//! Checks AD blocks: the names in their openings and closings, and jumps into and out of them.

use super::Checker;
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    AdAssign, AdBlock, AdItem, AdMode, Class, DoEnd, Expr, ExprKind, ImpliedDo, Label, Stmt,
    StmtId, StmtKind, StorageClass, SymId, Type, Unit, VectorMode, overwritten_items, walk_block,
};
use crate::source::Span;
use crate::storage::UnitStorage;
use crate::types::{rank, type_of};
use std::collections::{HashMap, HashSet};

/// The facts about one opening or closing.
pub(super) struct DerivativeList<'a> {
    pub unit: &'a Unit,
    /// TANGENT or COTANGENT.
    pub word: &'static str,
    opening: bool,
    pub vector_mode: Option<&'a VectorMode>,
    /// Returns whether an expression already has an error, or mentions a name that does.
    pub doubt: &'a dyn Fn(&Expr) -> bool,
}

impl<'p> Checker<'_, 'p> {
    /// Checks a block. Expressions for which `doubt` holds already have an error.
    pub(super) fn ad_block(
        &mut self,
        unit: &'p Unit,
        block: &'p AdBlock,
        span: Span,
        doubt: &dyn Fn(&Expr) -> bool,
    ) {
        let (word, independents, dependents) = match block.mode {
            AdMode::Forward => ("TANGENT", &block.opening, &block.closing),
            AdMode::Reverse => ("COTANGENT", &block.closing, &block.opening),
        };
        if let Some(vector_mode) = &block.vector_mode {
            self.vector_mode(unit, block.mode, vector_mode, doubt);
        }
        for (items, opening) in [(&block.opening, true), (&block.closing, false)] {
            let list = DerivativeList {
                unit,
                word,
                opening,
                vector_mode: block.vector_mode.as_ref(),
                doubt,
            };
            for item in items {
                self.item(&list, item, &mut Vec::new());
            }
            self.given_twice(&list, items);
        }
        let mut clear = true;
        walk_block(&block.body, &mut |s| {
            s.for_each_own_expr(&mut |e| clear &= !doubt(e))
        });
        if clear {
            self.computed(unit, block, span, independents, dependents, doubt);
        }
        self.ad_jumps(unit, block);
    }

    /// Checks an item. `around` holds the variables of the implied DOs around it.
    fn item(&mut self, list: &DerivativeList, item: &AdItem, around: &mut Vec<SymId>) {
        let d = match item {
            AdItem::Assign(a) => {
                self.direction(list, a);
                if !(list.doubt)(&a.var) && !(list.doubt)(&a.other) {
                    self.assignment(list, a);
                }
                let counter = a.other.base().filter(|s| around.contains(s));
                if let Some(s) = counter.filter(|_| !list.opening) {
                    self.error(
                        Diagnostic::error(
                            &rules::NOT_ASSIGNABLE,
                            a.other.span,
                            format!(
                                "{} counts the implied DO around it and cannot be assigned",
                                list.unit.symbols[s].name
                            ),
                        )
                        .help("count with a variable of its own"),
                    );
                }
                return;
            }
            AdItem::ImpliedDo(d) => d,
        };
        let unit = list.unit;
        let ImpliedDo {
            items,
            var,
            from,
            to,
            step,
        } = &**d;
        let at = from.span;
        let mut error = |message: String| {
            let help = "an implied DO counts with a scalar variable of its own, for instance `(TANGENT(X(I)) = V(I), I = 1, N)`";
            self.error(Diagnostic::error(&rules::TYPE_MISMATCH, at, message).help(help));
        };
        let symbol = &unit.symbols[*var];
        if around.contains(var) {
            error(format!(
                "{} counts an implied DO around this one already",
                symbol.name
            ));
        } else if symbol.class == Class::Variable {
            let number = |t: Type| matches!(t, Type::Integer(_) | Type::Real(_));
            if symbol.is_array() {
                error(format!("{} is an array and cannot count", symbol.name));
            } else if let Some(t) = symbol.ty.filter(|t| !number(*t)) {
                error(format!("{} is {t} and cannot count", symbol.name));
            }
        }
        self.assignable(unit, *var, at);
        for e in [from, to].into_iter().chain(step) {
            if (list.doubt)(e) {
                continue;
            }
            self.value(unit, e, false);
            let number = |t: Type| matches!(t, Type::Integer(_) | Type::Real(_));
            if type_of(unit, e).is_some_and(|t| !number(t)) || rank(unit, e) > 0 {
                self.error(Diagnostic::error(
                    &rules::TYPE_MISMATCH,
                    e.span,
                    "the limits of an implied DO are numbers",
                ));
            }
        }
        if let Some(step) = step
            && step.kind == ExprKind::Int(0)
        {
            self.error(Diagnostic::error(
                &rules::BAD_CONSTANT,
                step.span,
                "the step of an implied DO cannot be zero",
            ));
        }
        around.push(*var);
        items.iter().for_each(|i| self.item(list, i, around));
        around.pop();
    }

    fn assignment(&mut self, list: &DerivativeList, a: &AdAssign) {
        let DerivativeList {
            unit,
            word,
            opening,
            ..
        } = *list;
        let Some(v) = a.var.base() else {
            self.error(
                Diagnostic::error(
                    &rules::AD_NOT_DIFFERENTIABLE,
                    a.var.span,
                    format!("{word} takes a variable, an array element or an array"),
                )
                .help("assign the expression to a variable first"),
            );
            return;
        };
        let symbol = &unit.symbols[v];
        let derivative = word.to_lowercase();
        if symbol.class != Class::Variable {
            let error = Diagnostic::error(
                &rules::AD_NOT_DIFFERENTIABLE,
                a.var.span,
                format!(
                    "{} is not a variable, so it has no {derivative}",
                    symbol.name
                ),
            );
            self.error(error.help("assign it to a variable first, and name that"));
        } else if let Some(t) = symbol.ty
            && !t.is_differentiable()
        {
            self.error(
                Diagnostic::error(
                    &rules::AD_NOT_DIFFERENTIABLE,
                    a.var.span,
                    format!("{} is {t}, so it has no {derivative}", symbol.name),
                )
                .related(symbol.span, "comes from here")
                .help("only REAL, DOUBLE PRECISION and COMPLEX variables have derivatives"),
            );
        }
        a.var
            .children()
            .into_iter()
            .for_each(|e| self.value(unit, e, false));
        self.shapes(unit, a, opening);
        match opening {
            true => self.value(unit, &a.other, false),
            false => {
                self.target(unit, &a.other);
                a.other
                    .children()
                    .into_iter()
                    .for_each(|e| self.value(unit, e, false));
            }
        }
        let what = match opening {
            true => format!("the {derivative} of {}", symbol.name),
            false => format!("the destination of a {derivative}"),
        };
        let found = type_of(unit, &a.other);
        if list.vector_mode.is_some_and(|s| s.pattern) {
            if let Some(t) = found.filter(|t| !a.short && !matches!(t, Type::Logical(_))) {
                let what = if opening { "value" } else { "destination" };
                self.error(
                    Diagnostic::error(
                        &rules::TYPE_MISMATCH,
                        a.other.span,
                        format!("the {what} must be LOGICAL, but this is {t}"),
                    )
                    .help("with PATTERN, TANGENT is .TRUE. where a tangent can be other than zero"),
                );
            }
        } else if let Some(t) = found.filter(|t| !t.is_numeric()) {
            self.error(
                Diagnostic::error(
                    &rules::TYPE_MISMATCH,
                    a.other.span,
                    format!("{what} must be a number, but this is {t}"),
                )
                .help("derivatives are REAL, DOUBLE PRECISION or COMPLEX, as their variables are"),
            );
        }
    }

    /// Checks shapes: a whole array requires a whole array, but a scalar value sets every element.
    fn shapes(&mut self, unit: &Unit, a: &AdAssign, opening: bool) {
        let (var, other) = (rank(unit, &a.var), rank(unit, &a.other));
        if var == other || opening && other == 0 {
            return;
        }
        let shown = |r: usize| match r {
            0 => "a scalar".to_owned(),
            1 => "an array".to_owned(),
            n => format!("an array of {n} dimensions"),
        };
        let what = if opening { "value" } else { "destination" };
        let message = format!(
            "the {what} is {}, but the variable is {}",
            shown(other),
            shown(var)
        );
        self.error(
            Diagnostic::error(&rules::RANK_MISMATCH, a.other.span, message)
                .label(what)
                .help("name an element, or use an implied DO, for instance `(G(I) = TANGENT(Y(I)), I = 1, N)`"),
        );
    }

    /// Reports assignments that are lost because the whole variable is assigned again later.
    fn given_twice(&mut self, list: &DerivativeList, items: &[AdItem]) {
        for (later, lost) in overwritten_items(items, list.opening) {
            let AdItem::Assign(later) = &items[later] else {
                continue;
            };
            let target = if list.opening {
                &later.var
            } else {
                &later.other
            };
            let Some(s) = target.base() else { continue };
            let mut span = Span::NONE;
            items[lost].for_each_assign(&mut |a| span = a.span);
            let name = &list.unit.symbols[s].name;
            let message = match list.opening {
                true => format!("{name} gets its {} twice", list.word.to_lowercase()),
                false => format!("{name} is the destination of two derivatives"),
            };
            self.error(
                Diagnostic::error(&rules::AD_TWICE, later.span, message)
                    .related(span, "this would be lost")
                    .help("leave one of them out"),
            );
        }
    }

    /// Checks that the block computes its dependent variables.
    fn computed(
        &mut self,
        unit: &'p Unit,
        block: &'p AdBlock,
        span: Span,
        independents: &[AdItem],
        dependents: &[AdItem],
        doubt: &dyn Fn(&Expr) -> bool,
    ) {
        let assigned = self.assigned.in_block(unit, &block.body);
        // This does not include the host's variables that a nested subprogram assigns, or COMMON
        // variables that any procedure assigns. A procedure that is an argument may be nested in a
        // host of this unit, or of its caller.
        let (mut calls_nested, mut calls_dummy, mut calls) = (false, false, false);
        walk_block(&block.body, &mut |s| {
            let mut look = |id: SymId| {
                let s = &unit.symbols[id];
                calls |= s.class.is_procedure();
                calls_dummy |= s.class.is_procedure() && s.storage_class == StorageClass::Dummy;
                calls_nested |= s.class.is_procedure()
                    && matches!(s.storage_class, StorageClass::Local | StorageClass::Host(_));
            };
            s.for_each_own_symbol(&mut look);
            s.for_each_own_expr(&mut |e| e.for_each_symbol(&mut look));
        });
        // An independent variable may also be a dependent variable without being assigned.
        let mut seen = HashSet::new();
        for item in independents {
            item.for_each_assign(&mut |a| seen.extend(a.var.base()));
        }
        let storage = UnitStorage::of(unit);
        let other_name = |v: SymId| {
            let mut others = storage.overlapping(v);
            others.any(|o| assigned.contains(&o) || seen.contains(&o))
        };
        let common =
            |u: &Unit, s: SymId| matches!(u.symbols[s].storage_class, StorageClass::Common(_));
        let in_common =
            |v: SymId| common(unit, v) || storage.overlapping(v).any(|o| common(unit, o));
        let host = |v: SymId, is: &dyn Fn(&Unit, SymId) -> bool| {
            matches!(unit.symbols[v].storage_class, StorageClass::Host(_))
                && self.around.iter().any(|u| {
                    let outer = u.symbols.find(&unit.symbols[v].name);
                    outer.is_some_and(|s| is(u, s))
                })
        };
        // EQUIVALENCE in outer units is not examined.
        let out_there = |v: SymId| host(v, &|u, s| !UnitStorage::of(u).is_own(s));
        let mut errors = Vec::new();
        for item in dependents {
            item.for_each_assign(&mut |a| {
                let Some(v) = a.var.base().filter(|_| !doubt(&a.var)) else {
                    return;
                };
                let outside = matches!(
                    unit.symbols[v].storage_class,
                    StorageClass::Host(_) | StorageClass::Dummy
                );
                let hidden = calls_nested
                    || calls_dummy && outside
                    || calls && (in_common(v) || host(v, &common))
                    || other_name(v)
                    || out_there(v);
                let symbol = &unit.symbols[v];
                let variable = symbol.class == Class::Variable
                    && symbol.ty.is_none_or(Type::is_differentiable);
                if variable && !assigned.contains(&v) && !seen.contains(&v) && !hidden {
                    errors.push(
                        Diagnostic::error(
                            &rules::AD_NOT_COMPUTED,
                            a.var.span,
                            format!("the block does not compute {}", symbol.name),
                        )
                        .related(span, "in this block")
                        .help("name a variable that the block assigns"),
                    );
                }
            });
        }
        errors.into_iter().for_each(|f| self.error(f));
    }

    /// Checks that a block is entered at its top and left at its bottom.
    fn ad_jumps(&mut self, unit: &Unit, block: &AdBlock) {
        let mut inside: HashSet<Label> = HashSet::new();
        let mut within: HashSet<StmtId> = HashSet::new();
        walk_block(&block.body, &mut |s| {
            within.insert(s.id);
            inside.extend(s.label);
            match &s.kind {
                StmtKind::Do(d) => {
                    if let DoEnd::EndDo(Some(l)) = d.end {
                        inside.insert(l);
                    }
                }
                StmtKind::If(b) => inside.extend(b.end_label),
                StmtKind::Select(b) => inside.extend(b.end.label),
                _ => {}
            }
        });
        let assigned = assigned_labels(unit);
        let targets = |s: &Stmt| match &s.kind {
            StmtKind::AssignedGoto(v, list) if list.is_empty() => {
                assigned.get(v).cloned().unwrap_or_default()
            }
            kind => kind.jumps(),
        };
        let name = match block.mode {
            AdMode::Forward => "ADF",
            AdMode::Reverse => "ADR",
        };
        let mut left = HashSet::new();
        walk_block(&block.body, &mut |s| {
            let what = match &s.kind {
                StmtKind::Return(_) => Some("RETURN leaves"),
                StmtKind::Entry(_) => Some("ENTRY leads into"),
                _ if targets(s).iter().any(|l| !inside.contains(l)) => Some("the jump leaves"),
                _ => None,
            };
            if let Some(what) = what {
                left.insert(s.span);
                self.error(
                    Diagnostic::error(&rules::AD_JUMP, s.span, format!("{what} the {name} block"))
                        .help(format!(
                            "leave the block at END {name}; set a flag and branch after it"
                        )),
                );
            }
        });
        // A variable that holds a label cannot be passed as an argument.
        let (mut here, mut there) = (HashMap::new(), HashSet::new());
        walk_block(&unit.body, &mut |s| {
            let inner = within.contains(&s.id);
            label_variables(unit, s, &mut |v| match inner {
                true => {
                    here.entry(v).or_insert(s.span);
                }
                false => {
                    there.insert(v);
                }
            });
        });
        let mut both: Vec<(SymId, Span)> = here.into_iter().collect();
        both.sort_by_key(|(_, span)| span.start);
        for (v, at) in both {
            if there.contains(&v) && !left.contains(&at) {
                let symbol = &unit.symbols[v].name;
                let message = format!(
                    "the label that {symbol} holds is known inside of the {name} block or outside of it, not in both"
                );
                let help = format!(
                    "write ASSIGN … TO {symbol} inside of the block, with a variable that only the block uses"
                );
                self.error(Diagnostic::error(&rules::AD_JUMP, at, message).help(help));
            }
        }
        walk_block(&unit.body, &mut |s| {
            if !within.contains(&s.id) && targets(s).iter().any(|l| inside.contains(l)) {
                self.error(
                    Diagnostic::error(
                        &rules::AD_JUMP,
                        s.span,
                        format!("the jump leads into the {name} block"),
                    )
                    .help(format!("jump to the {name} statement instead")),
                );
            }
        });
    }
}

/// Returns the possible targets of assigned GOTO statements without a list, by variable.
fn assigned_labels(unit: &Unit) -> HashMap<SymId, Vec<Label>> {
    let mut found: HashMap<SymId, Vec<Label>> = HashMap::new();
    let mut formats: HashSet<Label> = HashSet::new();
    walk_block(&unit.body, &mut |s| match &s.kind {
        StmtKind::AssignLabel(l, v) => found.entry(*v).or_default().push(*l),
        StmtKind::Format(_) => formats.extend(s.label),
        _ => {}
    });
    for spec in &unit.specs {
        if let crate::ir::SpecKind::Format(l, _) = &spec.kind {
            formats.insert(*l);
        }
    }
    for labels in found.values_mut() {
        labels.retain(|l| !formats.contains(l));
    }
    found
}

/// Calls `f` with the variables that hold labels in a statement.
fn label_variables(unit: &Unit, s: &Stmt, f: &mut dyn FnMut(SymId)) {
    match &s.kind {
        StmtKind::AssignLabel(_, v) | StmtKind::AssignedGoto(v, _) => f(*v),
        StmtKind::Io(io) => {
            for (i, c) in io.control.iter().enumerate() {
                let format = match &c.kind {
                    ExprKind::Keyword(name, e) if name == "FMT" => &**e,
                    _ if i == 1 || !io.parens => c,
                    _ => continue,
                };
                if let ExprKind::Var(v) = format.kind
                    && matches!(unit.symbols[v].ty, Some(Type::Integer(_)))
                    && unit.symbols[v].class == Class::Variable
                    && !unit.symbols[v].is_array()
                {
                    f(v);
                }
            }
        }
        _ => {}
    }
}
