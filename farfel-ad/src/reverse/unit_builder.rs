//! Adds symbols to a unit for reverse mode.

use crate::user_sizes;
use farfel_lang::Span;
use farfel_lang::intrinsics::Intrinsic;
pub(super) use farfel_lang::ir::build::{literal, zero};
use farfel_lang::ir::{
    Class, Dim, Entity, Expr, ExprKind, Name, Origin, SpecKind, StmtIds, StorageClass, SymId,
    Symbol, Type, Unit,
};
use std::collections::HashSet;

/// A unit under construction.
#[derive(Debug, Clone)]
pub(super) struct UnitBuilder {
    pub unit: Unit,
    /// The suffix of all added names. No name of the user's ends like this.
    suffix: Name,
    /// The variables that hold derivatives, including added temporaries.
    pub derivatives: HashSet<SymId>,
    /// The variables that keep a value from the forward sweep for the reverse sweep.
    pub kept: HashSet<SymId>,
    counters: Vec<SymId>,
    counters_used: usize,
    /// The symbols that are not yet written to the declarations of the unit. While sweeps are made,
    /// declarations are deferred, since trial sweeps are undone.
    deferred: Option<Vec<SymId>>,
    /// Renamed symbols with their previous names.
    renamed: Vec<(SymId, Name)>,
    /// Whether the user defines sizes that the unit does not tell.
    asks_sizes: bool,
    /// The constants that stand for such sizes.
    sizes: HashSet<SymId>,
}

/// The state of a builder, to which it can return.
#[derive(Debug)]
pub(super) struct BuilderState {
    symbols: usize,
    counters: usize,
    counters_used: usize,
    deferred: usize,
    renamed: usize,
    statements: StmtIds,
}

/// Additions made after a state and then undone.
#[derive(Debug)]
pub(super) struct UndoneSymbols {
    symbols: Vec<Symbol>,
    derivatives: Vec<SymId>,
    kept: Vec<SymId>,
    counters: Vec<SymId>,
    counters_used: usize,
    deferred: Vec<SymId>,
    renamed: Vec<(SymId, Name)>,
    sizes: Vec<SymId>,
    statements: StmtIds,
}

impl UnitBuilder {
    pub fn new(unit: Unit, suffix: Name, derivatives: HashSet<SymId>) -> Self {
        UnitBuilder {
            unit,
            suffix,
            derivatives,
            kept: HashSet::new(),
            counters: Vec::new(),
            counters_used: 0,
            deferred: None,
            renamed: Vec::new(),
            asks_sizes: false,
            sizes: HashSet::new(),
        }
    }

    /// Makes the builder ask users for sizes that the unit does not tell, if `asks`.
    #[must_use]
    pub fn asking_sizes(self, asks: bool) -> Self {
        UnitBuilder {
            asks_sizes: asks,
            ..self
        }
    }

    /// Whether users must define sizes.
    pub fn has_asked_sizes(&self) -> bool {
        !self.sizes.is_empty()
    }

    /// Returns a copy that can return to earlier points: it defers declarations.
    pub fn for_sweeps(&self) -> Self {
        UnitBuilder {
            deferred: Some(Vec::new()),
            ..self.clone()
        }
    }

    /// Writes the deferred declarations. From now on, declarations are written immediately.
    pub fn write_declarations(&mut self) {
        let deferred = self.deferred.take().into_iter().flatten();
        self.unit.declare_all(deferred);
        if !self.sizes.is_empty() {
            user_sizes::include(&mut self.unit, Span::NONE);
        }
    }

    /// The current state.
    pub fn state(&self) -> BuilderState {
        BuilderState {
            symbols: self.unit.symbols.len(),
            counters: self.counters.len(),
            counters_used: self.counters_used,
            deferred: self.deferred.as_ref().map_or(0, Vec::len),
            renamed: self.renamed.len(),
            statements: self.unit.stmt_ids.clone(),
        }
    }

    /// Undoes everything that was added after a state.
    pub fn roll_back(&mut self, state: &BuilderState) -> UndoneSymbols {
        debug_assert!(self.deferred.is_some(), "the declarations are written");
        let symbols = self.unit.symbols.split_off(state.symbols);
        let added = (state.symbols..state.symbols + symbols.len()).map(|s| SymId(s as u32));
        let kept = added.clone().filter(|s| self.kept.remove(s)).collect();
        let sizes = added.clone().filter(|s| self.sizes.remove(s)).collect();
        let derivatives = added.filter(|s| self.derivatives.remove(s)).collect();
        let mut renamed = Vec::new();
        for (s, old) in self.renamed.split_off(state.renamed).into_iter().rev() {
            if (s.0 as usize) < state.symbols {
                renamed.push((s, self.unit.symbols[s].name.clone()));
                self.unit.symbols.rename(s, old);
            }
        }
        renamed.reverse();
        let deferred = self.deferred.as_mut().map(|l| l.split_off(state.deferred));
        UndoneSymbols {
            symbols,
            derivatives,
            kept,
            counters: self.counters.split_off(state.counters),
            counters_used: std::mem::replace(&mut self.counters_used, state.counters_used),
            deferred: deferred.unwrap_or_default(),
            renamed,
            sizes,
            statements: std::mem::replace(&mut self.unit.stmt_ids, state.statements.clone()),
        }
    }

    /// Redoes what was undone, starting from the same state.
    pub fn redo(&mut self, added: UndoneSymbols) {
        for (s, name) in added.renamed {
            self.rename(s, name);
        }
        for s in added.symbols {
            self.unit.symbols.add(s);
        }
        self.derivatives.extend(added.derivatives);
        self.kept.extend(added.kept);
        self.sizes.extend(added.sizes);
        self.counters.extend(added.counters);
        self.counters_used = added.counters_used;
        self.deferred
            .iter_mut()
            .for_each(|l| l.extend(&added.deferred));
        self.unit.stmt_ids = added.statements;
    }

    fn rename(&mut self, s: SymId, name: Name) {
        let old = self.unit.symbols[s].name.clone();
        self.unit.symbols.rename(s, name);
        if self.deferred.is_some() {
            self.renamed.push((s, old));
        }
    }

    /// Writes the declaration of a symbol, immediately or deferred.
    fn write_declaration(&mut self, s: SymId) {
        match &mut self.deferred {
            Some(deferred) => deferred.push(s),
            None => self.unit.declare(s),
        }
    }

    /// Returns a name that is not used in the unit.
    pub fn unused(&self, wanted: &str) -> Name {
        let wanted = format!("{wanted}{}", self.suffix);
        let symbols = &self.unit.symbols;
        symbols.unused(&wanted, &|n| n == self.unit.name)
    }

    /// Adds a local variable.
    pub fn variable(&mut self, wanted: &str, ty: Type) -> SymId {
        self.declare(Symbol::variable(self.unused(wanted), ty, Span::NONE))
    }

    /// Adds a symbol and declares it.
    pub fn declare(&mut self, symbol: Symbol) -> SymId {
        let id = self.unit.symbols.add(Symbol {
            typed: true,
            origin: match symbol.origin {
                Origin::Written => Origin::Generated,
                made => made,
            },
            ..symbol
        });
        self.write_declaration(id);
        id
    }

    /// Adds a temporary.
    pub fn temporary(&mut self, ty: Type) -> SymId {
        self.variable("TEMP", ty)
    }

    /// Adds a temporary for a derivative.
    pub fn derivative_temporary(&mut self, ty: Type) -> SymId {
        let t = self.variable("TEMPB", ty);
        self.derivatives.insert(t);
        t
    }

    /// Takes `n` loop variables. Return them with [`UnitBuilder::free_counters`].
    pub fn take_counters(&mut self, n: usize) -> Vec<SymId> {
        let from = self.counters_used;
        while self.counters.len() < from + n {
            let c = self.variable("II", Type::INTEGER);
            self.counters.push(c);
        }
        self.counters_used += n;
        self.counters[from..from + n].to_vec()
    }

    /// Returns the last subscript of an array in a dimension that its declaration leaves open, as a constant that
    /// the user defines; `None` if users are not asked. They know the arrays of the sources, not their derivatives.
    pub fn size_of_user(&mut self, array: SymId, dimension: usize, span: Span) -> Option<Expr> {
        if !self.asks_sizes || self.derivatives.contains(&array) {
            return None;
        }
        let name = user_sizes::last_subscript(&self.unit.symbols[array].name, dimension);
        let s = match self.unit.symbols.find(&name) {
            Some(s) => s,
            None => self.unit.symbols.add(user_sizes::constant(name, span)),
        };
        self.sizes.insert(s);
        if self.deferred.is_none() {
            user_sizes::include(&mut self.unit, span);
        }
        Some(Expr::var(s, span))
    }

    /// Returns `n` loop variables.
    pub fn free_counters(&mut self, n: usize) {
        self.counters_used = self.counters_used.saturating_sub(n);
    }

    /// Returns a call of an intrinsic function. If a variable of the unit has that name, it is renamed.
    pub fn call(&mut self, name: &str, args: Vec<Expr>, span: Span) -> Expr {
        let s = match self.unit.symbols.find(name) {
            Some(s) if matches!(self.unit.symbols[s].class, Class::Intrinsic(_)) => s,
            found => {
                if let Some(other) = found {
                    let free = self.unused(name);
                    self.rename(other, free);
                }
                let class = Intrinsic::find(name).map_or(Class::Function, Class::Intrinsic);
                self.unit.symbols.add(Symbol {
                    class,
                    storage_class: StorageClass::Global,
                    ..Symbol::new(name.into(), Span::NONE)
                })
            }
        };
        Expr::call(s, args, span)
    }

    /// Returns the symbol of a top-level procedure, and adds it if necessary.
    pub fn procedure(&mut self, name: &Name, class: Class, ty: Option<Type>) -> SymId {
        if let Some(s) = self.unit.symbols.find(name) {
            let symbol = &self.unit.symbols[s];
            if symbol.storage_class == StorageClass::Global && symbol.class == class {
                self.write_declaration(s);
                return s;
            }
            let free = self.unused(name);
            self.rename(s, free);
        }
        let function = class == Class::Function;
        let symbol = Symbol {
            class,
            ty,
            storage_class: StorageClass::Global,
            external: function,
            ..Symbol::new(name.clone(), Span::NONE)
        };
        match function {
            true => self.declare(symbol),
            false => self.unit.symbols.add(symbol),
        }
    }

    /// Declares a COMMON block of another unit and returns its members.
    pub fn import(&mut self, from: &Unit, block: &Name, members: &[SymId]) -> Vec<SymId> {
        let span = Span::NONE;
        let mut entities = Vec::new();
        for m in members {
            let of = &from.symbols[*m];
            let constant = |e: &Option<Expr>| {
                let e = e.as_ref()?;
                if let Some(n) = farfel_lang::storage::constant::integer(from, e) {
                    return Some(Expr::int(n, span));
                }
                // The maximum number of directions, which the user defines in an include file.
                let ExprKind::Var(s) = e.kind else {
                    return None;
                };
                let own = self.unit.symbols.find(&from.symbols[s].name)?;
                Some(Expr::var(own, span))
            };
            let dims = of
                .dims
                .iter()
                .map(|d| Dim {
                    lower: constant(&d.lower),
                    upper: constant(&d.upper),
                })
                .collect();
            let name = self.unused(&of.name);
            let s = self.declare(Symbol {
                ty: of.ty,
                length: constant(&of.length),
                dims,
                class: Class::Variable,
                storage_class: StorageClass::Common(block.clone()),
                ..Symbol::new(name, span)
            });
            entities.push(s);
        }
        let list = entities
            .iter()
            .map(|s| Entity {
                sym: *s,
                dims: false,
            })
            .collect();
        self.unit
            .add_spec(SpecKind::Common(vec![(block.clone(), list)]), span);
        entities
    }
}
