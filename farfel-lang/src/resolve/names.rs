//! Determines the place and class of every name.

use crate::diagnostic::{Diagnostic, any_errors, rules};
use crate::intrinsics::{Intrinsic, is_vendor_procedure, vendor};
use crate::ir::{
    Class, DoControl, Expr, ExprKind, Implicit, IoKind, Name, Program, SpecKind, Stmt, StmtKind,
    StorageClass, SymId, Symbol, Type, Unit, UnitKind, walk_block_mut,
};
use crate::source::Span;
use std::collections::{HashMap, HashSet};

/// What other units see of a top-level unit.
#[derive(Clone)]
pub(super) struct Signature {
    pub class: Class,
    pub ty: Option<Type>,
    /// The length of a CHARACTER function, if it is a plain number.
    pub length: Option<Expr>,
}

impl Signature {
    /// Copies the signature to a symbol that stands for the nested subprogram.
    fn apply_to(&self, symbol: &mut Symbol) {
        symbol.class = self.class.clone();
        symbol.ty = self.ty;
        if self.length.is_some() {
            symbol.length = self.length.clone();
        }
    }
}

/// The signatures of the top-level units by name.
pub(super) struct Globals(HashMap<Name, Signature>);

impl Globals {
    pub fn of(program: &Program) -> Self {
        Globals(
            program
                .units
                .iter()
                .filter(|u| matches!(u.kind, UnitKind::Function | UnitKind::Subroutine))
                .flat_map(|u| {
                    std::iter::once((u.name.clone(), signature(u, &[]))).chain(entries(u, &[]))
                })
                .collect(),
        )
    }

    pub fn get(&self, name: &str) -> Option<&Signature> {
        self.0.get(name)
    }
}

/// Returns what a unit's callers see of it. `around` holds the IMPLICIT rules of its hosts,
/// outermost first.
fn signature(unit: &Unit, around: &[&Implicit]) -> Signature {
    let class = match unit.kind {
        UnitKind::Function => Class::Function,
        _ => Class::Subroutine,
    };
    let ty = unit.result.and_then(|r| {
        let s = &unit.symbols[r];
        let rules: Vec<&Implicit> = around.iter().copied().chain([&unit.implicit]).collect();
        s.ty.or_else(|| implicit_type(&rules, &s.name))
    });
    let length = unit.result.and_then(|r| fixed_length(unit, r, around));
    Signature { class, ty, length }
}

/// Returns the length of a CHARACTER function, if it is a plain number.
fn fixed_length(unit: &Unit, result: SymId, around: &[&Implicit]) -> Option<Expr> {
    let s = &unit.symbols[result];
    if s.ty.is_some() {
        return s
            .length
            .clone()
            .filter(|l| matches!(l.kind, ExprKind::Int(_)));
    }
    let mut rules = around.iter().copied().chain([&unit.implicit]).rev();
    let (_, length) = rules.find_map(|r| r.own(&s.name))?;
    length.map(|n| Expr::int(n, s.span))
}

/// Returns the ENTRY points of a unit, with what their callers see of them.
fn entries(unit: &Unit, around: &[&Implicit]) -> Vec<(Name, Signature)> {
    let mut found = Vec::new();
    crate::ir::walk_block(&unit.body, &mut |s| {
        if let StmtKind::Entry(e) = &s.kind {
            let symbol = &unit.symbols[e.name];
            let rules: Vec<&Implicit> = around.iter().copied().chain([&unit.implicit]).collect();
            let signature = match unit.kind {
                UnitKind::Function => Signature {
                    class: Class::Function,
                    ty: symbol.ty.or_else(|| implicit_type(&rules, &symbol.name)),
                    length: fixed_length(unit, e.name, around),
                },
                _ => Signature {
                    class: Class::Subroutine,
                    ty: None,
                    length: None,
                },
            };
            found.push((symbol.name.clone(), signature));
        }
    });
    found
}

/// Returns the type of an undeclared name under rules that are ordered from the outermost to the
/// innermost.
fn implicit_type(rules: &[&Implicit], name: &str) -> Option<Type> {
    for r in rules.iter().rev() {
        if let Some((t, _)) = r.own(name) {
            return Some(t);
        }
        if r.none {
            return None;
        }
    }
    Some(Implicit::default_type(name))
}

/// A unit around the one being resolved, or that unit itself. Its nested units are taken out while
/// they are being resolved, but the meanings of its names remain available.
struct Scope {
    unit: Unit,
    nested: HashMap<Name, Signature>,
    /// The number of the unit's own symbols. Those after them were added for nested units.
    own: usize,
}

impl Scope {
    /// Whether the unit itself mentions a name.
    fn mentions(&self, name: &str) -> bool {
        let found = self.unit.symbols.find(name);
        found.is_some_and(|s| (s.0 as usize) < self.own)
    }
}

struct Resolver<'a> {
    globals: &'a Globals,
    /// From the top-level unit to the current one.
    scopes: Vec<Scope>,
    diagnostics: &'a mut Vec<Diagnostic>,
    /// The help for each unknown name, cached because searching all names is slow.
    helps: &'a mut HashMap<(Name, bool), String>,
}

/// Resolves all names. Returns the indices of the top-level units with errors.
pub(super) fn resolve(
    program: &mut Program,
    globals: &Globals,
    diagnostics: &mut Vec<Diagnostic>,
) -> HashSet<usize> {
    let mut faulty = HashSet::new();
    let mut helps = HashMap::new();
    for (i, unit) in program.units.iter_mut().enumerate() {
        let before = diagnostics.len();
        let mut resolver = Resolver {
            globals,
            scopes: Vec::new(),
            diagnostics,
            helps: &mut helps,
        };
        let empty = Unit::new(UnitKind::Subroutine, Name::default(), Span::NONE);
        *unit = resolver.unit(std::mem::replace(unit, empty));
        if any_errors(&diagnostics[before..]) {
            faulty.insert(i);
        }
    }
    faulty
}

/// How a unit uses a name.
#[derive(Default, Clone, Copy)]
struct NameUse {
    /// The place of the first `NAME(…)` in an expression, if any.
    applied: Option<Span>,
    /// Whether it is called by CALL.
    called: bool,
    /// Whether `NAME(a:b)` occurs in an expression.
    ranged: bool,
    /// Whether it is named in an INTRINSIC statement.
    intrinsic: bool,
    /// Whether it is assigned: `NAME = …`, `DO … NAME = …` or `READ *, NAME`.
    assigned: bool,
    /// Whether it is named in a DATA or EQUIVALENCE statement.
    stored: bool,
}

impl Resolver<'_> {
    fn unit(&mut self, mut unit: Unit) -> Unit {
        self.dummies(&unit);
        let nested = std::mem::take(&mut unit.nested);
        let implicits: Vec<&Implicit> = self
            .scopes
            .iter()
            .map(|s| &s.unit.implicit)
            .chain([&unit.implicit])
            .collect();
        let signatures = nested
            .iter()
            .flat_map(|n| {
                let own = (n.name.clone(), signature(n, &implicits));
                std::iter::once(own).chain(entries(n, &implicits))
            })
            .collect();
        for (i, n) in nested.iter().enumerate() {
            if let Some(first) = nested[..i].iter().find(|f| f.name == n.name) {
                self.diagnostics.push(
                    Diagnostic::error(
                        &rules::DUPLICATE_UNIT,
                        n.name_span,
                        format!("there are two nested subprograms named {}", n.name),
                    )
                    .related(first.name_span, "the first is here"),
                );
            }
        }
        let own = unit.symbols.ids().count();
        self.scopes.push(Scope {
            unit,
            nested: signatures,
            own,
        });
        self.own_names();
        let nested = nested.into_iter().map(|n| self.unit(n)).collect();
        let Some(Scope { mut unit, .. }) = self.scopes.pop() else {
            unreachable!("pushed above")
        };
        unit.nested = nested;
        unit
    }

    /// Checks that no two dummy arguments have the same name.
    fn dummies(&mut self, unit: &Unit) {
        let symbols: Vec<SymId> = unit.args.iter().filter_map(|a| a.sym()).collect();
        for (i, s) in symbols.iter().enumerate() {
            let name = &unit.symbols[*s].name;
            let twice = symbols[..i].contains(s);
            if !twice && unit.result != Some(*s) {
                continue;
            }
            let message = match twice {
                true => format!("{} has two dummy arguments named {name}", unit.name),
                false => {
                    format!("{name} is the function's result and cannot be a dummy argument too")
                }
            };
            self.diagnostics.push(
                Diagnostic::error(&rules::CONFLICTING_DECLARATION, unit.name_span, message)
                    .help("give one of them another name"),
            );
        }
    }

    fn current(&mut self) -> &mut Unit {
        let last = self.scopes.len() - 1;
        &mut self.scopes[last].unit
    }

    /// Resolves all names of the current unit, and then its expressions.
    fn own_names(&mut self) {
        let uses = uses(self.current());
        let ids: Vec<SymId> = self.current().symbols.ids().collect();
        // A dummy argument of a statement function may share its name with a variable. They are
        // then the same symbol, which needs a type like any variable.
        for id in ids {
            let used = uses.get(&id).copied().unwrap_or_default();
            self.name(id, used);
        }
        let mut unit = std::mem::replace(
            self.current(),
            Unit::new(UnitKind::Subroutine, Name::default(), Span::NONE),
        );
        self.rewrite(&mut unit);
        *self.current() = unit;
    }

    fn name(&mut self, id: SymId, used: NameUse) {
        let level = self.scopes.len() - 1;
        let symbol = &self.scopes[level].unit.symbols[id];
        if symbol.class != Class::Unknown {
            // PARAMETER constants, statement functions and NAMELIST groups are known from the
            // parser.
            self.give_type(level, id);
            return;
        }
        let name = symbol.name.clone();
        if is_bound(symbol) {
            self.bound_name(level, id, used);
        } else if used.intrinsic {
            self.intrinsic(level, id, used);
        } else if let Some(s) = self.scopes[level].nested.get(&name) {
            let seen = s.clone();
            seen.apply_to(&mut self.scopes[level].unit.symbols[id]);
        } else if self.find_in_surroundings(level, id, used) {
        } else if used.called
            || used.applied.is_some()
                && !self.is_substring(level, id, used)
                && !self.is_scalar(level, id, used)
        {
            self.global_procedure(level, id, used);
        } else {
            self.implicit_variable(level, id);
        }
    }

    /// Resolves a name in an INTRINSIC statement.
    fn intrinsic(&mut self, level: usize, id: SymId, used: NameUse) {
        let symbol = &mut self.scopes[level].unit.symbols[id];
        match (Intrinsic::find(&symbol.name), vendor(&symbol.name)) {
            (Some(i), _) => symbol.class = Class::Intrinsic(i),
            (None, Some(v)) => {
                symbol.class = if v.subroutine && (used.called || v.function.is_none()) {
                    Class::Subroutine
                } else {
                    Class::Function
                };
                symbol.storage_class = StorageClass::Global;
                self.give_type(level, id);
            }
            (None, None) => {
                // Treat it as a function from here on, so that no further errors follow.
                symbol.class = Class::Function;
                symbol.storage_class = StorageClass::Global;
                let (span, message) = (
                    symbol.span,
                    format!("{} is not an intrinsic function", symbol.name),
                );
                self.diagnostics
                    .push(Diagnostic::error(&rules::UNKNOWN_PROCEDURE, span, message));
                self.give_type(level, id);
            }
        }
    }

    /// Resolves a name that this unit itself declares, as a dummy argument or otherwise.
    fn bound_name(&mut self, level: usize, id: SymId, used: NameUse) {
        let symbol = &self.scopes[level].unit.symbols[id];
        let name = symbol.name.clone();
        let array = symbol.is_array();
        let (place, external, typed) =
            (symbol.storage_class.clone(), symbol.external, symbol.typed);
        let nested = self.scopes[level].nested.get(&name).cloned();
        let class = if place == StorageClass::Result
            || place == StorageClass::Dummy && !external && !used.called && array
        {
            Class::Variable
        } else if used.called {
            Class::Subroutine
        } else if used.applied.is_some()
            && !array
            && !self.is_substring(level, id, used)
            && !self.is_scalar(level, id, used)
        {
            Class::Function
        } else if external {
            Class::Procedure
        } else {
            Class::Variable
        };
        let symbol = &mut self.scopes[level].unit.symbols[id];
        symbol.class = class;
        if place == StorageClass::Local && (symbol.class.is_procedure() || used.intrinsic) {
            // `REAL F` before a nested F, or a declared external or intrinsic function.
            if let Some(nested) = nested {
                nested.apply_to(symbol);
                return;
            }
            if used.intrinsic {
                self.intrinsic(level, id, used);
                return;
            }
            if !external
                && symbol.class != Class::Subroutine
                && let Some(i) = Intrinsic::find(&name)
                && (i.standard || self.globals.get(&name).is_none())
            {
                symbol.class = Class::Intrinsic(i);
                return;
            }
            symbol.storage_class = StorageClass::Global;
            if let Some(s) = self.globals.get(&name) {
                if symbol.class == Class::Procedure {
                    symbol.class = s.class.clone();
                }
                if !typed {
                    symbol.ty = None;
                }
            } else if !external && used.applied.is_some() && !is_vendor_procedure(&name) {
                let span = used.applied.unwrap_or(symbol.span);
                self.unknown_procedure(level, &name, span, true);
            }
        } else if place == StorageClass::Local
            && let Some(nested) = nested
        {
            // `REAL F` for a nested F that is only passed on.
            nested.apply_to(symbol);
            return;
        }
        self.give_type(level, id);
    }

    /// Whether `NAME(…)` can only be a substring of a scalar CHARACTER variable.
    fn is_substring(&self, level: usize, id: SymId, used: NameUse) -> bool {
        let s = &self.scopes[level].unit.symbols[id];
        used.ranged && s.ty.or_else(|| self.implicit_at(level, &s.name)) == Some(Type::Character)
    }

    /// Whether a name without bounds has storage or a value, so that it is not a function although
    /// `NAME(…)` occurs.
    fn is_scalar(&self, level: usize, id: SymId, used: NameUse) -> bool {
        let s = &self.scopes[level].unit.symbols[id];
        if s.external || used.intrinsic || s.storage_class == StorageClass::Result {
            return false;
        }
        let placed = matches!(
            s.storage_class,
            StorageClass::Common(_) | StorageClass::Pointee(_)
        );
        let known = || {
            Intrinsic::find(&s.name).is_some()
                || self.globals.get(&s.name).is_some()
                || self.scopes[level].nested.contains_key(&s.name)
        };
        placed
            || s.saved
            || s.init.is_some()
            || used.stored
            || used.assigned && (s.storage_class == StorageClass::Dummy || !known())
    }

    fn implicit_at(&self, level: usize, name: &str) -> Option<Type> {
        let rules: Vec<&Implicit> = self.scopes[..=level]
            .iter()
            .map(|s| &s.unit.implicit)
            .collect();
        implicit_type(&rules, name)
    }

    /// Returns the length that the implicit rules give a CHARACTER name.
    fn implicit_length(&self, level: usize, name: &str) -> Option<i64> {
        let mut rules = self.scopes[..=level].iter().rev();
        rules.find_map(|s| s.unit.implicit.own(name))?.1
    }

    /// Gives a symbol of the unit at `level` its implicit type.
    fn give_type(&mut self, level: usize, id: SymId) {
        let symbol = &self.scopes[level].unit.symbols[id];
        if symbol.ty.is_some()
            || matches!(
                symbol.class,
                Class::Subroutine | Class::Procedure | Class::Intrinsic(_) | Class::Namelist(_)
            )
        {
            return;
        }
        if symbol.storage_class == StorageClass::Global
            && let Some(s) = self.globals.get(&symbol.name)
            && self.implicit_at(level, &symbol.name).is_none()
        {
            // Under IMPLICIT NONE, a function of this program needs no declaration.
            let ty = s.ty;
            self.scopes[level].unit.symbols[id].ty = ty;
            return;
        }
        let name = symbol.name.clone();
        if symbol.storage_class == StorageClass::Global
            && !symbol.external
            && self.globals.get(&name).is_none()
            && let Some(ty) = vendor(&name).and_then(|v| v.function)
        {
            self.scopes[level].unit.symbols[id].ty = Some(ty);
            return;
        }
        if symbol.storage_class == StorageClass::Global
            && name == self.scopes[0].unit.name
            && let Some(s) = self.globals.get(&name)
        {
            // A function has a type of its own, even with RESULT.
            let ty = s.ty;
            self.scopes[level].unit.symbols[id].ty = ty;
            return;
        }
        match self.implicit_at(level, &name) {
            Some(t) => {
                let length = self.implicit_length(level, &name);
                let symbol = &mut self.scopes[level].unit.symbols[id];
                symbol.ty = Some(t);
                // Declarations that passes add must include the length.
                if t == Type::Character && symbol.length.is_none() {
                    symbol.length = length.map(|n| Expr::int(n, symbol.span));
                }
            }
            None => {
                let span = self.scopes[level].unit.symbols[id].span;
                self.undeclared(level, &name, span);
                self.scopes[level].unit.symbols[id].ty = Some(Implicit::default_type(&name));
            }
        }
    }

    fn undeclared(&mut self, level: usize, name: &str, span: Span) {
        let similar = self.scopes[..=level]
            .iter()
            .flat_map(|s| s.unit.symbols.iter().map(|(_, s)| s))
            .filter(|s| s.typed || s.storage_class == StorageClass::Dummy)
            .map(|s| s.name.as_str());
        let procedure = self.scopes[level].unit.symbols.find(name).is_some_and(|s| {
            let symbol = &self.scopes[level].unit.symbols[s];
            symbol.storage_class == StorageClass::Global && symbol.class.is_procedure()
        });
        let ty = Implicit::default_type(name);
        let help = match crate::spelling::closest(name, similar) {
            Some(s) => format!("did you mean {s}? Otherwise declare {name}"),
            None if procedure => self.help_for_unknown(level, name, true),
            None => format!("declare {name}, for instance `{ty} {name}`"),
        };
        self.diagnostics.push(
            Diagnostic::error(&rules::UNDECLARED, span, format!("{name} is not declared"))
                .label("IMPLICIT NONE asks for a declaration")
                .help(help),
        );
    }

    /// Looks a name up in the hosts, innermost first, and links it.
    fn find_in_surroundings(&mut self, level: usize, id: SymId, used: NameUse) -> bool {
        let name = self.scopes[level].unit.symbols[id].name.clone();
        for outer in (0..level).rev() {
            let scope = &self.scopes[outer];
            let nested = scope.nested.contains_key(&name);
            let bound = scope.unit.symbols.find(&name).filter(|s| {
                let symbol = &scope.unit.symbols[*s];
                is_bound(symbol)
                    || matches!(
                        symbol.class,
                        Class::Parameter(_) | Class::StatementFunction(..) | Class::Namelist(_)
                    )
            });
            // The name of a host that is a function, used with arguments, is the function itself
            // and not its result.
            let own_result =
                bound.is_some_and(|s| scope.unit.symbols[s].storage_class == StorageClass::Result);
            if own_result
                && used.applied.is_some()
                && !scope.unit.symbols[bound.unwrap_or(id)].is_array()
            {
                continue;
            }
            if !nested && bound.is_none() {
                continue;
            }
            let span = self.scopes[level].unit.symbols[id].span;
            if nested && bound.is_none() {
                // The host that contains it may not mention it at all.
                let scope = &mut self.scopes[outer];
                let target = scope.unit.symbols.intern(&name, span);
                scope.nested[&name].apply_to(&mut scope.unit.symbols[target]);
            }
            if let Some(b) = bound {
                self.show_procedure(outer, b, used);
            }
            self.link(outer, level, &name, span);
            return true;
        }
        false
    }

    /// Marks a name of a host that only a nested subprogram calls: a dummy procedure, or a function
    /// of which only the type is declared.
    fn show_procedure(&mut self, level: usize, id: SymId, used: NameUse) {
        if !used.called && used.applied.is_none() {
            return;
        }
        let mut at = (level, id);
        while let StorageClass::Host(h) = self.scopes[at.0].unit.symbols[at.1].storage_class {
            at = (at.0 - 1, h);
        }
        let symbol = &mut self.scopes[at.0].unit.symbols[at.1];
        let substring = used.ranged && symbol.ty == Some(Type::Character);
        if !matches!(symbol.class, Class::Variable | Class::Procedure)
            || symbol.is_array()
            || substring
        {
            return;
        }
        let class = if used.called {
            Class::Subroutine
        } else {
            Class::Function
        };
        match symbol.storage_class {
            StorageClass::Dummy | StorageClass::Global => symbol.class = class.clone(),
            StorageClass::Local if symbol.typed && self.globals.get(&symbol.name).is_some() => {
                symbol.class = class.clone();
                symbol.storage_class = StorageClass::Global;
            }
            _ => return,
        }
        self.give_type(at.0, at.1);
        // Update the links between them in the same way.
        let symbol = &self.scopes[at.0].unit.symbols[at.1];
        let (name, place, ty) = (symbol.name.clone(), symbol.storage_class.clone(), symbol.ty);
        for inner in at.0 + 1..=level {
            if let Some(s) = self.scopes[inner].unit.symbols.find(&name) {
                let symbol = &mut self.scopes[inner].unit.symbols[s];
                if matches!(symbol.storage_class, StorageClass::Host(_)) {
                    symbol.class = class.clone();
                    symbol.ty = ty;
                    if place == StorageClass::Global {
                        symbol.storage_class = StorageClass::Global;
                    }
                }
            }
        }
    }

    /// Links `name` at `level` to the symbol with that name at `outer`, through all levels between
    /// them.
    fn link(&mut self, outer: usize, level: usize, name: &Name, span: Span) {
        for inner in outer + 1..=level {
            let Some(target) = self.scopes[inner - 1].unit.symbols.find(name) else {
                continue;
            };
            let seen = self.scopes[inner - 1].unit.symbols[target].clone();
            let id = self.scopes[inner].unit.symbols.intern(name, span);
            let symbol = &mut self.scopes[inner].unit.symbols[id];
            if symbol.storage_class == StorageClass::Host(target) {
                continue;
            }
            *symbol = Symbol {
                storage_class: StorageClass::Host(target),
                span: symbol.span,
                saved: false,
                init: None,
                ..seen
            };
            // A procedure of the program is known everywhere and needs no link through the hosts.
            if self.scopes[inner - 1].unit.symbols[target].storage_class == StorageClass::Global {
                self.scopes[inner].unit.symbols[id].storage_class = StorageClass::Global;
            }
            if matches!(
                self.scopes[inner].unit.symbols[id].class,
                Class::Intrinsic(_)
            ) {
                self.scopes[inner].unit.symbols[id].storage_class = StorageClass::Local;
            }
        }
    }

    fn global_procedure(&mut self, level: usize, id: SymId, used: NameUse) {
        let symbol = &self.scopes[level].unit.symbols[id];
        let name = symbol.name.clone();
        let span = symbol.span;
        if !used.called
            && let Some(i) = Intrinsic::find(&name)
            // FORTRAN 77 has no other intrinsics, so programs define their own.
            && (i.standard || self.globals.get(&name).is_none())
        {
            self.scopes[level].unit.symbols[id].class = Class::Intrinsic(i);
            return;
        }
        let class = if used.called {
            Class::Subroutine
        } else {
            Class::Function
        };
        let is_function = class == Class::Function;
        let symbol = &mut self.scopes[level].unit.symbols[id];
        symbol.class = class;
        symbol.storage_class = StorageClass::Global;
        self.give_type(level, id);
        if self.globals.get(&name).is_none() && !is_vendor_procedure(&name) {
            self.unknown_procedure(level, &name, used.applied.unwrap_or(span), is_function);
        }
    }

    fn unknown_procedure(&mut self, level: usize, name: &Name, span: Span, function: bool) {
        let local = self.scopes[..=level].iter().any(|s| !s.nested.is_empty());
        let key = (name.clone(), function);
        let help = match self.helps.get(&key) {
            Some(help) if !local => help.clone(),
            _ => {
                let help = self.help_for_unknown(level, name, function);
                if !local {
                    self.helps.insert(key, help.clone());
                }
                help
            }
        };
        let message = if function {
            format!("there is no function or array named {name}")
        } else {
            format!("there is no subroutine named {name}")
        };
        self.diagnostics.push(
            Diagnostic::warning(&rules::UNKNOWN_PROCEDURE, span, message)
                .label("not known here")
                .help(help),
        );
    }

    fn help_for_unknown(&self, level: usize, name: &str, function: bool) -> String {
        let intrinsics = crate::intrinsics::ALL.iter().filter(|_| function);
        let known = self
            .globals
            .0
            .keys()
            .chain(self.scopes[..=level].iter().flat_map(|s| s.nested.keys()))
            .map(Name::as_str)
            .chain(intrinsics.map(|i| i.name));
        match crate::spelling::closest(name, known) {
            Some(s) => format!("did you mean {s}?"),
            None if function => format!(
                "define FUNCTION {name}, declare {name} as an array, or write EXTERNAL {name} if a library provides it"
            ),
            None => format!(
                "define SUBROUTINE {name}, or write EXTERNAL {name} if a library provides it"
            ),
        }
    }

    /// Returns the level of the unit to which an undeclared variable belongs: the top-level unit;
    /// for a subprogram after CONTAINS, its host if that has the name, and itself otherwise, as in
    /// Fortran 90.
    fn owner(&self, level: usize, name: &str) -> usize {
        let mut at = level;
        loop {
            while at > 0 && !self.scopes[at].unit.contained {
                at -= 1;
            }
            if at == 0 || !self.scopes[at - 1].mentions(name) {
                return at;
            }
            at -= 1;
        }
    }

    /// Resolves an undeclared variable.
    fn implicit_variable(&mut self, level: usize, id: SymId) {
        let symbol = &self.scopes[level].unit.symbols[id];
        let (name, span) = (symbol.name.clone(), symbol.span);
        if level == 0 {
            self.scopes[0].unit.symbols[id].class = Class::Variable;
            self.give_type(0, id);
            return;
        }
        if self.implicit_at(level, &name).is_none() {
            self.undeclared(level, &name, span);
            let symbol = &mut self.scopes[level].unit.symbols[id];
            symbol.class = Class::Variable;
            symbol.ty = Some(Implicit::default_type(&name));
            return;
        }
        let owner = self.owner(level, &name);
        let at = self.scopes[owner].unit.symbols.intern(&name, span);
        let symbol = &mut self.scopes[owner].unit.symbols[at];
        if symbol.class == Class::Unknown {
            symbol.class = Class::Variable;
            self.give_type(owner, at);
            if owner > 0 {
                self.scopes[owner].unit.declare(at);
            }
        }
        if owner < level {
            self.link(owner, level, &name, span);
        }
    }

    /// Decides what every `NAME(…)` is. Renames nothing.
    fn rewrite(&mut self, unit: &mut Unit) {
        let mut errors = Vec::new();
        {
            let Unit {
                name,
                symbols,
                body,
                specs,
                ..
            } = &mut *unit;
            let mut fix = |e: &mut Expr| rewrite_expr(name, symbols, e, &mut errors);
            walk_block_mut(body, &mut |s| {
                s.for_each_own_expr_mut(&mut |e| e.rewrite(&mut fix))
            });
            for spec in specs {
                match &mut spec.kind {
                    SpecKind::Equivalence(groups) => {
                        groups
                            .iter_mut()
                            .flatten()
                            .for_each(|e| e.rewrite(&mut fix));
                    }
                    SpecKind::Data(sets) => {
                        for set in sets {
                            set.targets.iter_mut().for_each(|e| e.rewrite(&mut fix));
                        }
                    }
                    _ => {}
                }
            }
        }
        let ids: Vec<SymId> = unit.symbols.ids().collect();
        for id in ids {
            // Expressions of a linked symbol refer to the host's symbol table.
            if matches!(unit.symbols[id].storage_class, StorageClass::Host(_)) {
                continue;
            }
            let mut symbol = unit.symbols[id].clone();
            let mut fix = |e: &mut Expr| rewrite_expr(&unit.name, &unit.symbols, e, &mut errors);
            match &mut symbol.class {
                Class::Parameter(e) | Class::StatementFunction(_, e) => e.rewrite(&mut fix),
                _ => {}
            }
            for d in &mut symbol.dims {
                d.lower
                    .iter_mut()
                    .chain(&mut d.upper)
                    .for_each(|e| e.rewrite(&mut fix));
            }
            symbol.length.iter_mut().for_each(|e| e.rewrite(&mut fix));
            symbol.init.iter_mut().for_each(|e| e.rewrite(&mut fix));
            unit.symbols[id] = symbol;
        }
        self.diagnostics.append(&mut errors);
    }
}

fn rewrite_expr(
    name: &str,
    symbols: &crate::ir::Symbols,
    e: &mut Expr,
    errors: &mut Vec<Diagnostic>,
) {
    let ExprKind::Apply(id, args) = &mut e.kind else {
        return;
    };
    let id = *id;
    let symbol = &symbols[id];
    let range = args.len() == 1 && matches!(args[0].kind, ExprKind::Range(_, _, None));
    if symbol.is_array() {
        let (rank, given) = (symbol.dims.len(), args.len());
        if rank != given {
            let s = if rank == 1 { "" } else { "s" };
            errors.push(
                Diagnostic::error(
                    &rules::RANK_MISMATCH,
                    e.span,
                    format!(
                        "{} has {rank} dimension{s} but is used with {given}",
                        symbol.name
                    ),
                )
                .related(symbol.span, "declared here"),
            );
        }
        e.kind = ExprKind::Element(id, std::mem::take(args));
    } else if range && symbol.ty == Some(Type::Character) && !symbol.class.is_procedure() {
        let Some(Expr {
            kind: ExprKind::Range(from, to, _),
            ..
        }) = args.pop()
        else {
            return;
        };
        e.kind = ExprKind::Substring(Box::new(Expr::var(id, e.span)), from, to);
    } else if symbol.class == Class::Variable
        // The result of a function that has the function's name: the function calls itself.
        && !(symbol.storage_class == StorageClass::Result && symbol.name == name)
    {
        errors.push(
            Diagnostic::error(
                &rules::NOT_A_PROCEDURE,
                e.span,
                format!("{} is a scalar, not an array or a function", symbol.name),
            )
            .label("used with arguments")
            .related(symbol.span, "first mentioned here")
            .help(super::help_for_subscripts(symbols, id, args)),
        );
        e.kind = ExprKind::Call(id, std::mem::take(args));
    } else {
        e.kind = ExprKind::Call(id, std::mem::take(args));
    }
}

/// Whether a unit declares a name itself, so that it shadows the hosts' names and is not implicit.
fn is_bound(s: &Symbol) -> bool {
    s.typed
        || s.external
        || s.saved
        || s.is_array()
        || !matches!(s.storage_class, StorageClass::Local)
}

/// Returns how the names of a unit are used in its own statements.
fn uses(unit: &Unit) -> HashMap<SymId, NameUse> {
    let mut found: HashMap<SymId, NameUse> = HashMap::new();
    let mut called = HashSet::new();
    let mut assigned = HashSet::new();
    let whole = |e: &Expr| match e.kind {
        ExprKind::Var(s) => Some(s),
        _ => None,
    };
    let expr = |e: &Expr, found: &mut HashMap<SymId, NameUse>| {
        e.walk(&mut |e| {
            if let ExprKind::Apply(s, args) = &e.kind {
                let used = found.entry(*s).or_default();
                used.applied.get_or_insert(e.span);
                used.ranged |= args.iter().any(|a| matches!(a.kind, ExprKind::Range(..)));
            }
        });
    };
    crate::ir::walk_block(&unit.body, &mut |s: &Stmt| {
        match &s.kind {
            StmtKind::Call(c, _) => called.extend([*c]),
            StmtKind::Entry(e) if unit.result.is_none() => called.extend([e.name]),
            StmtKind::Assign(target, _) => assigned.extend(whole(target)),
            StmtKind::Do(d) => {
                if let DoControl::Count { var, .. } = &d.control {
                    assigned.insert(*var);
                }
            }
            StmtKind::Io(io) if io.kind == IoKind::Read => {
                assigned.extend(io.items.iter().filter_map(whole));
            }
            _ => {}
        }
        s.for_each_own_expr(&mut |e| expr(e, &mut found));
    });
    for (_, s) in unit.symbols.iter() {
        if let Class::Parameter(e) | Class::StatementFunction(_, e) = &s.class {
            expr(e, &mut found);
        }
        s.init.iter().for_each(|e| expr(e, &mut found));
        // Expressions of a link belong to the host.
        if !matches!(s.storage_class, StorageClass::Host(_)) {
            for d in &s.dims {
                d.lower
                    .iter()
                    .chain(&d.upper)
                    .for_each(|e| expr(e, &mut found));
            }
            s.length.iter().for_each(|e| expr(e, &mut found));
        }
    }
    for s in called {
        found.entry(s).or_default().called = true;
    }
    for s in assigned {
        found.entry(s).or_default().assigned = true;
    }
    for spec in &unit.specs {
        match &spec.kind {
            SpecKind::Intrinsic(list) => {
                for s in list {
                    found.entry(*s).or_default().intrinsic = true;
                }
            }
            SpecKind::Equivalence(groups) => {
                for s in groups.iter().flatten().filter_map(whole) {
                    found.entry(s).or_default().stored = true;
                }
            }
            SpecKind::Data(sets) => {
                for s in sets.iter().flat_map(|s| &s.targets).filter_map(whole) {
                    found.entry(s).or_default().stored = true;
                }
            }
            _ => {}
        }
    }
    found
}
