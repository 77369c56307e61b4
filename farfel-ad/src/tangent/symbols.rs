//! The symbols that a derivative unit adds: derivatives, temporaries, intrinsic functions.

use super::allocate::is_allocated_here;
use super::generator::Generator;
use crate::activity::dummy_key;
use crate::custom_rules::rules::placeholder_name;
use crate::layout::SIZES_FILE;
use crate::locations::{Context, common_members, differentiable};
use crate::user_sizes;
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::intrinsics::Intrinsic;
use farfel_lang::ir::build;
use farfel_lang::ir::{
    Class, DataSet, Dim, Entity, Expr, ExprKind, Name, Origin, SaveItem, Spec, SpecKind, Stmt,
    StorageClass, SymId, Symbol, Type,
};
use farfel_lang::storage::constant;

/// The origin of a symbol that is modelled on another: what is like something that the user wrote is its derivative.
fn made_by_differentiation(like: Origin) -> Origin {
    match like {
        Origin::Written | Origin::Derivative => Origin::Derivative,
        Origin::Generated | Origin::Jump => Origin::Generated,
    }
}

impl Generator<'_> {
    /// Adds a symbol and writes its declaration, even if implicit typing would give it the same type.
    pub(super) fn declare_new(&mut self, symbol: Symbol) -> SymId {
        let id = self.unit.symbols.add(Symbol {
            typed: true,
            origin: made_by_differentiation(symbol.origin),
            ..symbol
        });
        self.unit.declare_added(id);
        id
    }

    /// A name that is used neither in this unit nor for any unit or COMMON block.
    pub(super) fn unused(&self, wanted: &str) -> Name {
        self.engine.unused_name(&self.unit.symbols, wanted)
    }

    /// The name for the derivative of a variable.
    pub(super) fn derivative_name(&self, of: &str) -> Name {
        self.unused(&self.engine.layout.variables.of(of))
    }

    /// Makes `d` the derivative of `of` from now on.
    pub(super) fn pair(&mut self, of: SymId, d: SymId) {
        self.pairs.push((d, of));
        self.derivatives.insert(of, d);
    }

    /// The variable that holds the derivative of a variable, which is declared if necessary.
    pub(super) fn derivative_of(&mut self, s: SymId) -> SymId {
        if let Some(d) = self.derivatives.get(&s) {
            return *d;
        }
        let loc = self.space.loc(s);
        if self.space.tangled.contains(loc)
            && self.space.common_at(loc).is_some()
            && self.shares(loc)
        {
            self.tangled_blocks(loc);
            if let Some(d) = self.derivatives.get(&s) {
                return *d;
            }
        }
        if let StorageClass::Common(block) = self.unit.symbols[s].storage_class.clone()
            && self.shares(self.space.loc(s))
        {
            self.derivative_block(&block);
            if let Some(d) = self.derivatives.get(&s) {
                return *d;
            }
        }
        let of = self.unit.symbols[s].clone();
        let elsewhere = self.engine.layout.fortran_77
            && of.storage_class == StorageClass::Dummy
            && constant::extents(&self.unit, &of.dims).is_none();
        if elsewhere && let Some(slot) = self.source.arg_position(s) {
            let mut names = self.engine.registry.borrow_mut();
            names.request_argument(&self.source.name, slot);
        }
        let open = |u: &Option<Expr>| !u.as_ref().is_some_and(|u| u.kind != ExprKind::Star);
        let allocated = is_allocated_here(&of);
        if !elsewhere && !allocated && of.dims.iter().any(|d| open(&d.upper)) {
            // This can only be an argument of the head that the request does not pair with a derivative.
            self.errors.push(
                Diagnostic::error(
                    &rules::AD_SIZE,
                    of.span,
                    format!(
                        "{} has {}, so that its tangent cannot be stored",
                        of.name,
                        of.missing_bounds()
                    ),
                )
                .help(format!("declare its bounds, for instance {}(N)", of.name)),
            );
        }
        let loc = self.space.loc(s);
        let keeps =
            self.activity.kept.contains(loc) && !self.engine.begun_anew.contains(&self.source.name);
        // The reverse sweeps of all calls add to the same cotangent, which their head sets to zero.
        let shared = keeps && self.engine.layout.adjoint && !self.space.tangled.contains(loc);
        let name = self.derivative_name(&of.name);
        let block = shared.then(|| {
            let mut names = self.engine.registry.borrow_mut();
            names.block_of_kept(&self.source.name, &of.name)
        });
        let d = self.declare_new(Symbol {
            name,
            storage_class: block
                .clone()
                .map_or(StorageClass::Local, StorageClass::Common),
            saved: keeps && !shared,
            init: None,
            external: false,
            ..of.clone()
        });
        self.pair(s, d);
        match block {
            Some(block) => self.common_spec(
                block,
                vec![Entity {
                    sym: d,
                    dims: false,
                }],
            ),
            None if keeps => self.keep(d, &of),
            None => {}
        }
        if self.space.tangled.contains(loc) {
            self.derivative_equivalence(loc);
        }
        d
    }

    /// Ties the derivatives of the variables at a location together, like the variables themselves.
    pub(super) fn derivative_equivalence(&mut self, loc: usize) {
        if !self.tied.insert(loc) {
            return;
        }
        if self.by_numbers(loc) {
            self.tie_numbers(loc);
            return;
        }
        let groups: Vec<Vec<Expr>> = self
            .source
            .specs
            .iter()
            .filter_map(|s| match &s.kind {
                SpecKind::Equivalence(groups) => Some(groups),
                _ => None,
            })
            .flatten()
            .filter(|g| {
                g.iter()
                    .filter_map(Expr::base)
                    .any(|s| self.space.loc(s) == loc)
            })
            .cloned()
            .collect();
        // All at once: the requested symbol is known already.
        let members: Vec<SymId> = groups.iter().flatten().filter_map(Expr::base).collect();
        for s in members {
            let of = self.unit.symbols[s].clone();
            if !differentiable(&of) {
                // It ties other variables to each other.
                let names = |g: &&Vec<Expr>| g.iter().any(|e| e.base() == Some(s));
                if groups.iter().filter(names).count() > 1 {
                    self.placeholder(s, StorageClass::Local);
                }
                continue;
            }
            if !self.derivatives.contains_key(&s) {
                let name = self.derivative_name(&of.name);
                let d = self.declare_new(Symbol {
                    name,
                    external: false,
                    init: None,
                    ..of
                });
                self.pair(s, d);
            }
        }
        let mut tied: Vec<Vec<Expr>> = Vec::new();
        for group in groups {
            let mut of_group = Vec::new();
            for mut e in group {
                if let ExprKind::Var(s) | ExprKind::Element(s, _) = &mut e.kind
                    && let Some(d) = self.derivatives.get(s).or(self.placeholders.get(s))
                {
                    *s = *d;
                    of_group.push(e);
                }
            }
            if of_group.len() > 1 {
                tied.push(of_group);
            }
        }
        if !tied.is_empty() {
            self.insert_spec(SpecKind::Equivalence(tied));
        }
    }

    /// Makes a derivative keep its value between calls, with the initial value zero.
    fn keep(&mut self, d: SymId, of: &Symbol) {
        let span = of.span;
        let zero = self.zero(of.ty.unwrap_or(Type::REAL));
        let mut elements = 1i64;
        for dim in &of.dims {
            let low = dim
                .lower
                .as_ref()
                .map_or(Some(1), |e| constant::integer(&self.unit, e));
            let high = dim
                .upper
                .as_ref()
                .and_then(|e| constant::integer(&self.unit, e));
            match (low, high) {
                (Some(l), Some(h)) => elements = elements.saturating_mul(h - l + 1),
                _ => {
                    self.errors.push(Diagnostic::error(
                        &rules::AD_SIZE,
                        span,
                        format!("the size of {}, which is saved, is not constant", of.name),
                    ));
                    return;
                }
            }
        }
        let repeat = (elements != 1).then(|| Expr::int(elements, span));
        if !self
            .unit
            .specs
            .iter()
            .any(|s| matches!(&s.kind, SpecKind::Save(l) if l.is_empty()))
        {
            self.unit.specs.push(Spec {
                kind: SpecKind::Save(vec![SaveItem::Var(d)]),
                span,
            });
        }
        self.unit.specs.push(Spec {
            kind: SpecKind::Data(vec![DataSet {
                targets: vec![Expr::var(d, span)],
                values: vec![(repeat, zero)],
            }]),
            span,
        });
    }

    /// Whether the derivative of what is at a COMMON location is itself in COMMON. For a block that units
    /// divide differently it always is: variables that overlap several members need them to be contiguous.
    pub(super) fn shares(&self, loc: usize) -> bool {
        let k = self.space.common_at(loc);
        k.is_none_or(|k| self.is_one_location(k) || self.engine.registry.borrow().shares(k))
    }

    /// Declares the block of derivatives that belongs to a COMMON block of this unit.
    pub(super) fn derivative_block(&mut self, block: &Name) {
        let number = self.engine.dependence.commons.find(block, 0);
        let whole = number.filter(|k| self.is_one_location(*k));
        if whole.is_some_and(|k| self.by_numbers(self.space.common(k))) {
            self.block_of_numbers(block);
            return;
        }
        let members: Vec<SymId> = common_members(&self.unit).remove(block).unwrap_or_default();
        let name = self.engine.registry.borrow_mut().block(block);
        let mut entities = Vec::new();
        for m in members {
            let of = self.unit.symbols[m].clone();
            let loc = self.space.loc(m);
            if !self.shares(loc) {
                continue;
            }
            if !differentiable(&of) {
                if self.space.tangled.contains(loc) {
                    let sym = self.placeholder(m, StorageClass::Common(name.clone()));
                    entities.push(Entity { sym, dims: false });
                }
                continue;
            }
            let d = self.derivative_name(&of.name);
            let d = self.declare_new(Symbol {
                name: d,
                storage_class: StorageClass::Common(name.clone()),
                saved: false,
                init: None,
                ..of
            });
            self.pair(m, d);
            entities.push(Entity {
                sym: d,
                dims: false,
            });
        }
        self.common_spec(name, entities);
    }

    /// Declares a COMMON block of derivatives, unless it is empty.
    pub(super) fn common_spec(&mut self, name: Name, entities: Vec<Entity>) {
        if entities.is_empty() {
            return;
        }
        self.insert_spec(SpecKind::Common(vec![(name, entities)]));
    }

    /// Adds a specification after the declarations and before what must follow them.
    pub(super) fn insert_spec(&mut self, kind: SpecKind) {
        let at = self
            .unit
            .specs
            .iter()
            .position(|s| matches!(s.kind, SpecKind::Data(_) | SpecKind::StatementFunction(_)))
            .unwrap_or(self.unit.specs.len());
        self.unit.specs.insert(
            at,
            Spec {
                kind,
                span: self.span,
            },
        );
    }

    /// The derivative of the COMMON variable with number `k`, even in a unit that does not declare its block.
    pub(super) fn common_derivative(&mut self, k: usize) -> Option<SymId> {
        let var = self.engine.dependence.commons.vars.get(k)?.clone();
        let own = common_members(&self.unit);
        if let Some(members) = own.get(&var.block) {
            return members
                .get(var.position)
                .copied()
                .map(|s| self.derivative_of(s));
        }
        if let Some(d) = self.imported.get(&k) {
            return Some(*d);
        }
        let owner = self.engine.find(&var.unit)?;
        let members = common_members(owner).remove(&var.block)?;
        let name = self.engine.registry.borrow_mut().block(&var.block);
        let mut entities = Vec::new();
        for (position, m) in members.iter().enumerate() {
            let of = &owner.symbols[*m];
            let number = self.engine.dependence.commons.find(&var.block, position);
            let shared = number.is_none_or(|n| self.engine.registry.borrow().shares(n));
            if !differentiable(of) || !shared {
                continue;
            }
            let span = self.span;
            let dims: Option<Vec<Dim>> = of
                .dims
                .iter()
                .map(|d| {
                    let lower = match &d.lower {
                        Some(e) => Some(Expr::int(constant::integer(owner, e)?, span)),
                        None => None,
                    };
                    let upper = Some(Expr::int(
                        constant::integer(owner, d.upper.as_ref()?)?,
                        span,
                    ));
                    Some(Dim { lower, upper })
                })
                .collect();
            let d = self.derivative_name(&of.name);
            let d = self.declare_new(Symbol {
                dims: dims?,
                ty: of.ty,
                class: Class::Variable,
                storage_class: StorageClass::Common(name.clone()),
                ..Symbol::new(d, span)
            });
            if let Some(n) = number {
                self.imported.insert(n, d);
            }
            entities.push(Entity {
                sym: d,
                dims: false,
            });
        }
        self.common_spec(name, entities);
        self.imported.get(&k).copied()
    }

    /// The symbol of the derivative of a procedure in a context. The derivative will be generated.
    pub(super) fn derivative_procedure(
        &mut self,
        callee: SymId,
        args: usize,
        context: &Context,
    ) -> SymId {
        let of = self.source.symbols[callee].clone();
        if of.storage_class == StorageClass::Dummy {
            let key = dummy_key(&self.source.name, &of.name);
            let mut active = context.inputs.clone();
            active.union_with(&context.outputs);
            let mut names = self.engine.registry.borrow_mut();
            names.request_dummy(&key, &active);
            names.set_argument_count(&key, args);
            drop(names);
            if let Some(s) = self.procedures.get(&callee) {
                self.called.insert(*s);
                self.dummy_calls.insert(*s, (callee, args));
                return *s;
            }
            // Not an argument yet: it will be, in the next round.
        }
        let known = self.engine.dependence.callee(self.source, callee).is_some();
        let given = self.given_derivative(callee, context);
        let is_given = given.is_some() && !self.engine.linear;
        let name = {
            let mut names = self.engine.registry.borrow_mut();
            match (known, given) {
                (_, Some(given)) => given,
                _ if of.storage_class == StorageClass::Dummy => {
                    self.engine.layout.units.of(&of.name).into()
                }
                (true, _) => names.request(&of.name, args, context),
                (false, _) => {
                    let mut active = context.inputs.clone();
                    active.union_with(&context.outputs);
                    let name = names.request_unknown(&of.name, args, &active);
                    match self.engine.linear {
                        true => placeholder_name(&of.name),
                        false => name,
                    }
                }
            }
        };
        let ty = of.ty.unwrap_or(Type::REAL);
        let function = self.engine.layout.keeps_functions()
            && of.class == Class::Function
            && context.active(args);
        let class = match function {
            true => Class::Function,
            false => Class::Subroutine,
        };
        if let Some(s) = self.unit.symbols.find(&name) {
            if self.unit.symbols[s].class == class {
                // So far, it may only have been passed as an argument.
                self.called.insert(s);
                if is_given {
                    self.given.insert(s, callee);
                }
                return s;
            }
            // A variable got this name before the procedure did.
            let other = self.unused(&name);
            self.unit.symbols.rename(s, other);
        }
        let symbol = Symbol {
            class,
            storage_class: StorageClass::Global,
            ..Symbol::new(name, self.span)
        };
        let s = match function {
            // A function that calls itself must not declare itself.
            true if symbol.name == self.unit.name => self.unit.symbols.add(Symbol {
                ty: Some(ty),
                ..symbol
            }),
            true => self.declare_new(Symbol {
                ty: Some(ty),
                external: true,
                ..symbol
            }),
            false => self.unit.symbols.add(symbol),
        };
        self.called.insert(s);
        if is_given {
            self.given.insert(s, callee);
        }
        s
    }

    /// The derivative of a procedure that is passed for a dummy procedure, if the callee needs it.
    pub(super) fn passed_derivative(
        &mut self,
        callee: &str,
        position: usize,
        actual: SymId,
    ) -> Option<SymId> {
        let unit = self.engine.find(callee)?;
        let dummy = unit.args.get(position)?.sym()?;
        let key = dummy_key(callee, &unit.symbols[dummy].name);
        let wanted = self.engine.registry.borrow().dummy(&key).cloned()?;
        let of = self.source.symbols[actual].clone();
        if of.storage_class == StorageClass::Dummy {
            let own = dummy_key(&self.source.name, &of.name);
            let mut names = self.engine.registry.borrow_mut();
            names.request_dummy(&own, &wanted);
            // It must also suit the active arguments that it is called with here.
            if let Some(more) = names.dummy(&own).cloned() {
                names.request_dummy(&key, &more);
            }
            names.copy_argument_count(&own, &key);
            names.copy_argument_count(&key, &own);
            return self.procedures.get(&actual).copied();
        }
        let name = self
            .engine
            .registry
            .borrow_mut()
            .request_passed(&of.name, &key);
        // A unit that only passes a function on may not know its type.
        let declared = self.engine.find(&of.name);
        let declared = declared.and_then(|u| u.symbols[u.result?].ty);
        let of = Symbol {
            ty: declared.or(of.ty),
            ..of
        };
        if let Some(s) = self.unit.symbols.find(&name) {
            if self.unit.symbols[s].class.is_procedure() {
                self.unit.symbols[s].external = true;
                self.unit.declare(s);
                return Some(s);
            }
            let other = self.unused(&name);
            self.unit.symbols.rename(s, other);
        }
        Some(self.passed_procedure(name, &key, &of))
    }

    /// Adds a symbol for the derivative of a procedure that is passed for a dummy procedure, or for that of
    /// the dummy procedure itself.
    pub(super) fn passed_procedure(&mut self, name: Name, dummy: &str, of: &Symbol) -> SymId {
        let passive = self.engine.registry.borrow().has_passive_result(dummy);
        match passive && of.class == Class::Function {
            true => self.procedure(
                name,
                &Symbol {
                    class: Class::Subroutine,
                    ty: None,
                    ..of.clone()
                },
            ),
            false => self.procedure(name, of),
        }
    }

    /// Adds a symbol for the derivative of a procedure, declared EXTERNAL.
    pub(super) fn procedure(&mut self, name: Name, of: &Symbol) -> SymId {
        let function = self.engine.layout.keeps_functions() && of.class == Class::Function;
        self.declare_new(Symbol {
            ty: of.ty.filter(|_| function),
            class: match function {
                true => Class::Function,
                false => Class::Subroutine,
            },
            storage_class: StorageClass::Global,
            external: true,
            ..Symbol::new(name, self.span)
        })
    }

    /// Sets a whole derivative to zero.
    pub(super) fn zero_whole(&mut self, d: SymId) -> Stmt {
        let span = self.span;
        let symbol = self.unit.symbols[d].clone();
        let zero = self.zero(symbol.ty.unwrap_or(Type::REAL));
        // ALLOCATE determines its size.
        let deferred = symbol.dims.iter().any(|d| d.upper.is_none());
        if symbol.dims.is_empty() || deferred || !self.engine.layout.fortran_77 {
            return Stmt::assign(Expr::var(d, span), zero, span);
        }
        // FORTRAN 77 has no assignment to whole arrays.
        let counters = self.counters(symbol.dims.len());
        let subscripts = counters.iter().map(|c| Expr::var(*c, span)).collect();
        let element = Expr::element(d, subscripts, span);
        let mut made = Stmt::assign(element, zero, span);
        for (i, (dim, var)) in symbol.dims.iter().zip(counters).enumerate() {
            let from = dim.lower.clone().unwrap_or_else(|| Expr::int(1, span));
            let to = match &dim.upper {
                Some(u) if u.kind != ExprKind::Star => u.clone(),
                _ => self.size(d, i),
            };
            made = Stmt::count(var, [from, to], None, vec![made], span);
        }
        made
    }

    /// A user-defined constant for the size of the last dimension of an assumed-size array.
    fn size(&mut self, d: SymId, dim: usize) -> Expr {
        let of = self.derivatives.iter().find(|(_, x)| **x == d);
        let of = of.map_or(d, |(s, _)| *s);
        let of = self.unit.symbols[of].clone();
        if !self.engine.layout.ask_sizes {
            self.errors.push(
                Diagnostic::error(
                    &rules::AD_SIZE,
                    of.span,
                    format!(
                        "{} has assumed size, so that its derivative cannot be set to zero",
                        of.name
                    ),
                )
                .help(format!(
                    "declare its bounds, for instance {}(N), make it an independent, or define its size in {SIZES_FILE}",
                    of.name
                )),
            );
        }
        let name = user_sizes::last_subscript(&of.name, dim);
        let s = match self.sizes.get(&name) {
            Some(s) => *s,
            None => {
                let s = self.constant_of_user(&name);
                self.sizes.insert(name, s);
                s
            }
        };
        Expr::var(s, self.span)
    }

    /// A constant that the user defines in [`SIZES_FILE`].
    pub(super) fn constant_of_user(&mut self, name: &Name) -> SymId {
        if let Some(s) = self.unit.symbols.find(name) {
            return s;
        }
        user_sizes::include(&mut self.unit, self.span);
        let constant = user_sizes::constant(name.clone(), self.span);
        self.unit.symbols.add(constant)
    }

    /// A temporary for the current statement.
    pub(super) fn temporary(&mut self, ty: Type, derivative: bool) -> SymId {
        let used = self.temporaries_used.entry((ty, derivative)).or_default();
        let n = *used;
        *used += 1;
        if let Some(t) = self
            .temporaries
            .get(&(ty, derivative))
            .and_then(|l| l.get(n))
        {
            return *t;
        }
        let name = match derivative {
            true => self.derivative_name("TEMP"),
            false => self.unused("TEMP"),
        };
        let id = self.declare_new(Symbol::variable(name, ty, self.span));
        self.temporaries
            .entry((ty, derivative))
            .or_default()
            .push(id);
        id
    }

    /// Loop variables of generated loops.
    pub(super) fn counters(&mut self, n: usize) -> Vec<SymId> {
        while self.counters.len() < n {
            let name = self.unused("II1");
            let span = self.source.span;
            let counter = self.declare_new(Symbol::variable(name, Type::INTEGER, span));
            self.counters.push(counter);
        }
        self.counters[..n].to_vec()
    }

    /// The symbol of an intrinsic function, which is added if necessary.
    pub(super) fn intrinsic(&mut self, name: &str) -> SymId {
        if let Some(s) = self.unit.symbols.find(name) {
            let symbol = &self.unit.symbols[s];
            if matches!(symbol.class, Class::Intrinsic(_)) {
                return s;
            }
            if symbol.storage_class == StorageClass::Global {
                self.errors.push(
                    Diagnostic::error(
                        &rules::AD_UNSUPPORTED,
                        self.span,
                        format!("the derivative needs the intrinsic function {name}, but {name} is another procedure here"),
                    )
                    .related(symbol.span, "named here")
                    .help("rename the procedure"),
                );
                return s;
            }
            // A variable of the user's: its name is not visible elsewhere.
            let other = self.unused(name);
            self.unit.symbols.rename(s, other);
        }
        let class = match Intrinsic::find(name) {
            Some(i) => Class::Intrinsic(i),
            None => Class::Function,
        };
        self.unit.symbols.add(Symbol {
            class,
            storage_class: StorageClass::Global,
            ..Symbol::new(name.into(), Span::NONE)
        })
    }

    /// A constant of the (real) type of `ty`, given as text without an exponent: `2.0`.
    pub(super) fn literal(&self, text: &str, ty: Type) -> Expr {
        build::literal(text, ty, self.span)
    }

    /// Zero of a type.
    pub(super) fn zero(&self, ty: Type) -> Expr {
        build::zero(ty, self.span)
    }
}
