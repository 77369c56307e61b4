//! Prints specification statements.

use super::line::{FIXED_WIDTH, Line};
use super::scope::Scope;
use super::writer::Writer;
use crate::ir::{
    Attribute, Class, DataSet, Entity, Expr, ExprKind, Implicit, Intent, SaveItem, Spec, SpecKind,
    SymId, Type, Unit,
};
use crate::syntax::growing::{COUNTER, PREFIX, suffix};
use std::collections::HashSet;

impl Writer<'_> {
    /// Prints all specification statements of a unit.
    pub(super) fn specs(&mut self, scope: &Scope) {
        let unit = scope.unit;
        let mut implicit_done = false;
        let mut tapes = Some(growing_tapes(unit));
        let allocatable = allocatable_types(unit);
        if !unit
            .specs
            .iter()
            .any(|s| matches!(s.kind, SpecKind::Implicit))
        {
            self.implicit(unit, unit.span);
            implicit_done = true;
        }
        for spec in &unit.specs {
            let Spec { kind, span } = spec;
            match kind {
                SpecKind::Comment(comment) => self.remark(comment),
                SpecKind::ThreadPrivate(blocks) => {
                    for block in blocks {
                        self.comment(&super::openmp::thread_private(block));
                    }
                }
                SpecKind::Implicit => {
                    // One statement gives all rules.
                    if !implicit_done {
                        self.implicit(unit, *span);
                    }
                    implicit_done = true;
                }
                SpecKind::Type(ty, entities) => {
                    let grows = |e: &Entity| unit.symbols[e.sym].has(Attribute::Growing);
                    let (growing, others): (Vec<Entity>, Vec<Entity>) =
                        entities.iter().copied().partition(grows);
                    let attribute = match others.iter().all(|e| allocatable.contains(&e.sym)) {
                        true => ", ALLOCATABLE",
                        false => "",
                    };
                    for (ty, entities) in by_type(unit, *ty, &others) {
                        self.statement(None, *span, |l| {
                            l.type_statement(scope, ty, attribute, &entities);
                        });
                    }
                    if !growing.is_empty()
                        && let Some(tapes) = tapes.take()
                    {
                        for line in tape_lines(scope, &tapes) {
                            self.statement(None, *span, |l| l.push(&line));
                        }
                    }
                }
                SpecKind::Format(label, text) => {
                    self.statement(Some(*label), *span, |l| l.format(text));
                }
                SpecKind::Attribute(_, entities)
                    if entities.iter().all(|e| {
                        unit.symbols[e.sym].has(Attribute::Growing) || allocatable.contains(&e.sym)
                    }) => {}
                SpecKind::Dimension(_)
                | SpecKind::External(_)
                | SpecKind::Intrinsic(_)
                | SpecKind::Common(_)
                | SpecKind::Equivalence(_)
                | SpecKind::Parameter(_)
                | SpecKind::Save(_)
                | SpecKind::Data(_)
                | SpecKind::StatementFunction(_)
                | SpecKind::Namelist(_)
                | SpecKind::Attribute(..)
                | SpecKind::Pointer(_)
                | SpecKind::Include(_)
                | SpecKind::Use(_)
                | SpecKind::Intent(..) => {
                    self.statement(None, *span, |l| l.spec(scope, kind));
                }
            }
        }
    }

    fn implicit(&mut self, unit: &Unit, span: crate::source::Span) {
        let Implicit { none, letters } = &unit.implicit;
        if unit.implicit.is_empty() {
            return;
        }
        self.statement(None, span, |l| {
            l.push("IMPLICIT ");
            if *none {
                l.push("NONE");
            } else {
                l.implicit_rules(letters);
            }
        });
    }
}

/// The variables whose type statements have the attribute ALLOCATABLE, instead of a statement of its own.
fn allocatable_types(unit: &Unit) -> HashSet<SymId> {
    let mut named = HashSet::new();
    for spec in &unit.specs {
        if let SpecKind::Attribute(Attribute::Allocatable, list) = &spec.kind {
            named.extend(list.iter().filter(|e| !e.dims).map(|e| e.sym));
        }
    }
    let mut found = HashSet::new();
    for spec in &unit.specs {
        if let SpecKind::Type(_, list) = &spec.kind {
            let grows = |e: &&Entity| unit.symbols[e.sym].has(Attribute::Growing);
            let mut others = list.iter().filter(|e| !grows(e));
            if others.all(|e| e.dims && named.contains(&e.sym)) {
                found.extend(list.iter().filter(|e| !grows(e)).map(|e| e.sym));
            }
        }
    }
    found
}

/// Returns the growing tapes of a unit by type.
fn growing_tapes(unit: &Unit) -> Vec<(Type, Vec<SymId>)> {
    let mut tapes: Vec<(Type, Vec<SymId>)> = Vec::new();
    for spec in &unit.specs {
        if let SpecKind::Type(written, list) = &spec.kind {
            for (ty, list) in by_type(unit, *written, list) {
                let grows = list.iter().map(|e| e.sym);
                for sym in grows.filter(|s| unit.symbols[*s].has(Attribute::Growing)) {
                    match tapes.iter_mut().find(|(t, _)| *t == ty) {
                        Some((_, all)) => all.push(sym),
                        None => tapes.push((ty, vec![sym])),
                    }
                }
            }
        }
    }
    tapes
}

/// Returns the lines that define the types of growing tapes (see `syntax/growing.rs`) and declare the tapes, with several
/// statements in a line where there is room.
fn tape_lines(scope: &Scope, tapes: &[(Type, Vec<SymId>)]) -> Vec<String> {
    let mut statements = Vec::new();
    for (ty, _) in tapes {
        statements.push(format!("TYPE {PREFIX}{}", suffix(*ty)));
        statements.push("SEQUENCE".to_owned());
        statements.push(format!("{ty}, ALLOCATABLE :: V(:)"));
        statements.push(format!("{COUNTER} TOP, MOST"));
        statements.push("END TYPE".to_owned());
    }
    for (ty, tapes) in tapes {
        let names: Vec<&str> = tapes.iter().map(|s| scope.name(*s)).collect();
        let type_name = suffix(*ty);
        statements.push(format!("TYPE ({PREFIX}{type_name}) {}", names.join(", ")));
    }
    let mut lines: Vec<String> = Vec::new();
    for s in statements {
        match lines.last_mut() {
            Some(line) if line.len() + s.len() + 2 <= FIXED_WIDTH => {
                line.push_str("; ");
                line.push_str(&s);
            }
            _ => lines.push(s),
        }
    }
    lines
}

/// Groups the entities of a type statement by the current type of their symbols. There is only one
/// group unless a pass has changed the type of some of them.
fn by_type(unit: &Unit, written: Type, entities: &[Entity]) -> Vec<(Type, Vec<Entity>)> {
    let mut groups: Vec<(Type, Vec<Entity>)> = Vec::new();
    for e in entities {
        let ty = unit.symbols[e.sym].ty.unwrap_or(written);
        match groups.iter_mut().find(|(t, _)| *t == ty) {
            Some((_, group)) => group.push(*e),
            None => groups.push((ty, vec![*e])),
        }
    }
    groups
}

impl Line {
    /// Prints the specification statements that correspond directly to the tree.
    fn spec(&mut self, scope: &Scope, kind: &SpecKind) {
        let symbols = &scope.unit.symbols;
        match kind {
            SpecKind::Comment(_)
            | SpecKind::ThreadPrivate(_)
            | SpecKind::Implicit
            | SpecKind::Type(..)
            | SpecKind::Format(..) => {}
            SpecKind::Dimension(syms) => {
                self.push("DIMENSION ");
                self.list(syms, |l, s| {
                    l.push(scope.name(*s));
                    l.dims(scope, &symbols[*s].dims);
                });
            }
            SpecKind::External(syms) => {
                self.push("EXTERNAL ");
                self.list(syms, |l, s| l.push(scope.callee(*s)));
            }
            SpecKind::Intrinsic(syms) => {
                self.push("INTRINSIC ");
                self.names(scope, syms);
            }
            SpecKind::Common(blocks) => {
                self.push("COMMON ");
                for (i, (name, entities)) in blocks.iter().enumerate() {
                    if i > 0 {
                        self.comma();
                    }
                    if i > 0 || !name.is_empty() {
                        self.put(format_args!("/{name}/ "));
                        self.gap();
                    }
                    self.list(entities, |l, e| l.entity(scope, *e));
                }
            }
            SpecKind::Equivalence(groups) => {
                self.push("EQUIVALENCE ");
                self.list(groups, |l, g| l.arguments(scope, g));
            }
            SpecKind::Parameter(syms) => {
                self.push("PARAMETER (");
                self.list(syms, |l, s| {
                    l.push(scope.name(*s));
                    if let Class::Parameter(value) = &symbols[*s].class {
                        l.equals();
                        l.expr(scope, value);
                    }
                });
                self.close();
            }
            SpecKind::Save(items) => {
                self.push("SAVE");
                if !items.is_empty() {
                    self.push(" ");
                }
                self.list(items, |l, item| match item {
                    SaveItem::Var(s) => l.push(scope.name(*s)),
                    SaveItem::Common(name) => l.put(format_args!("/{name}/")),
                });
            }
            SpecKind::Data(sets) => {
                self.push("DATA ");
                self.list(sets, |l, set| l.data_set(scope, set));
            }
            SpecKind::StatementFunction(s) => {
                if let Class::StatementFunction(args, value) = &symbols[*s].class {
                    self.push(scope.name(*s));
                    self.open();
                    self.names(scope, args);
                    self.close();
                    self.push(" = ");
                    self.gap();
                    self.expr(scope, value);
                }
            }
            SpecKind::Use(text) => {
                self.push("USE ");
                for (i, piece) in text.split(", ").enumerate() {
                    if i > 0 {
                        self.comma();
                    }
                    self.push(piece);
                }
            }
            SpecKind::Include(file) => {
                self.push("INCLUDE ");
                self.put(format_args!("'{}'", file.replace('\'', "''")));
            }
            SpecKind::Namelist(s) => {
                self.put(format_args!("NAMELIST /{}/ ", scope.name(*s)));
                if let Class::Namelist(members) = &symbols[*s].class {
                    self.names(scope, members);
                }
            }
            SpecKind::Attribute(attribute, entities) => {
                self.put(format_args!("{} ", attribute.word()));
                self.list(entities, |l, e| l.entity(scope, *e));
            }
            SpecKind::Pointer(pairs) => {
                self.push("POINTER ");
                self.list(pairs, |l, (pointer, pointee)| {
                    l.open();
                    l.push(scope.name(*pointer));
                    l.comma();
                    l.entity(scope, *pointee);
                    l.close();
                });
            }
            SpecKind::Intent(intent, syms) => {
                self.push(match intent {
                    Intent::In => "INTENT(IN) ",
                    Intent::Out => "INTENT(OUT) ",
                    Intent::InOut => "INTENT(INOUT) ",
                });
                self.names(scope, syms);
            }
        }
    }

    /// Prints `type names`, with an attribute `, ALLOCATABLE` or none.
    fn type_statement(&mut self, scope: &Scope, ty: Type, attribute: &str, entities: &[Entity]) {
        let length = |e: &Entity| scope.unit.symbols[e.sym].length.as_ref();
        let same_length = entities
            .windows(2)
            .all(|w| same_length(length(&w[0]), length(&w[1])));
        self.put(ty);
        if let (Type::Character, true, Some(first)) = (ty, same_length, entities.first()) {
            self.length(scope, length(first));
        }
        let init = |e: &Entity| scope.unit.symbols[e.sym].init.as_deref();
        self.push(attribute);
        let colons = !attribute.is_empty() || entities.iter().any(|e| init(e).is_some());
        self.push(if colons { " :: " } else { " " });
        self.list(entities, |l, e| {
            l.entity(scope, *e);
            if ty == Type::Character && !same_length {
                l.length(scope, length(e));
            }
            if let Some(value) = init(e) {
                l.equals();
                l.expr(scope, value);
            }
        });
    }

    /// Prints a name, with its bounds if they belong in this statement.
    fn entity(&mut self, scope: &Scope, entity: Entity) {
        let Entity { sym, dims } = entity;
        self.push(scope.name(sym));
        if dims {
            self.dims(scope, &scope.unit.symbols[sym].dims);
        }
    }

    /// Prints the length of a CHARACTER, `*8`, `*(N+1)` or `*(*)`; nothing for length 1.
    pub(super) fn length(&mut self, scope: &Scope, length: Option<&Expr>) {
        let Some(length) = length else { return };
        self.push("*");
        if let ExprKind::Int(n) = length.kind {
            self.put(n);
        } else {
            self.arguments(scope, std::slice::from_ref(length));
        }
    }

    fn data_set(&mut self, scope: &Scope, set: &DataSet) {
        let DataSet { targets, values } = set;
        self.exprs(scope, targets);
        self.push(" /");
        self.gap();
        self.list(values, |l, (repeat, value)| {
            if let Some(repeat) = repeat {
                l.expr(scope, repeat);
                l.push("*");
            }
            l.expr(scope, value);
        });
        self.push("/");
    }

    /// Prints `REAL (A-H, O-Z), INTEGER (I-N)`: for each type the letters that imply it.
    fn implicit_rules(&mut self, letters: &[Option<(Type, Option<i64>)>; 26]) {
        let mut rules: Vec<(Type, Option<i64>)> = Vec::new();
        for rule in letters.iter().flatten() {
            if !rules.contains(rule) {
                rules.push(*rule);
            }
        }
        self.list(rules, |l, rule| {
            l.put(rule.0);
            if let (Type::Character, Some(length)) = rule {
                l.put(format_args!("*{length}"));
            }
            l.push(" (");
            l.list(ranges(letters, rule), |l, (first, last)| {
                l.put(first);
                if last > first {
                    l.put(format_args!("-{last}"));
                }
            });
            l.close();
        });
    }
}

/// Returns the ranges of letters that have a rule.
fn ranges(
    letters: &[Option<(Type, Option<i64>)>; 26],
    rule: (Type, Option<i64>),
) -> Vec<(char, char)> {
    let mut ranges: Vec<(char, char)> = Vec::new();
    let mut before = false;
    for (letter, r) in ('A'..='Z').zip(letters) {
        let here = *r == Some(rule);
        match ranges.last_mut() {
            Some(range) if here && before => range.1 = letter,
            _ if here => ranges.push((letter, letter)),
            _ => {}
        }
        before = here;
    }
    ranges
}

/// Whether two lengths of CHARACTER print the same.
fn same_length(a: Option<&Expr>, b: Option<&Expr>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => match (&a.kind, &b.kind) {
            (ExprKind::Int(a), ExprKind::Int(b)) => a == b,
            (ExprKind::Star, ExprKind::Star) => true,
            (ExprKind::Var(a), ExprKind::Var(b)) => a == b,
            _ => false,
        },
        _ => false,
    }
}
