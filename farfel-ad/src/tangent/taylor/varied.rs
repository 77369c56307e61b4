//! Which variables depend on the independent variable, in everything that a function reaches.
//!
//! The answer is one set for each unit: the same for all calls, and for all statements.

use crate::numbers::differentiable;
use farfel_lang::callgraph::{ReachableUnits, UnitIndex};
use farfel_lang::intrinsics::Op;
use farfel_lang::ir::{
    Class, DoControl, Expr, ExprKind, IoKind, Name, Program, SaveItem, SpecKind, Stmt, StmtKind,
    StorageClass, SymId, Type, Unit,
};
use farfel_lang::types::{rank, type_of};
use std::collections::{HashMap, HashSet};

/// The varied variables of all units that a function reaches.
pub(super) struct Varied<'p> {
    program: &'p Program,
    index: UnitIndex,
    of: HashMap<Name, HashSet<SymId>>,
    changed: bool,
}

impl<'p> Varied<'p> {
    /// Finds the variables that depend on a dummy argument of `head`. `None` if Taylor arithmetic does not
    /// support everything that they pass through.
    pub(super) fn find(program: &'p Program, head: &Unit, independent: SymId) -> Option<Self> {
        let below = ReachableUnits::of(program, [head.name.as_str()]);
        let none = |u: &&Unit| (u.name.clone(), HashSet::new());
        let mut all = Varied {
            program,
            index: UnitIndex::of(program),
            of: below.units.iter().map(none).collect(),
            changed: true,
        };
        all.insert(head, independent);
        while std::mem::take(&mut all.changed) {
            for unit in &below.units {
                for s in &unit.body {
                    s.walk(&mut |s| all.statement(unit, s));
                }
            }
        }
        let supported = |u: &&Unit| !all.is_touched(&u.name) || all.supports(u);
        below.units.iter().all(supported).then_some(all)
    }

    /// The unit with this name.
    pub(super) fn unit(&self, name: &str) -> Option<&'p Unit> {
        self.index.unit(self.program, name)
    }

    /// The varied variables of a unit.
    pub(super) fn variables(&self, unit: &str) -> Option<&HashSet<SymId>> {
        self.of.get(unit)
    }

    /// Whether a unit has varied variables.
    pub(super) fn is_touched(&self, unit: &str) -> bool {
        self.variables(unit).is_some_and(|v| !v.is_empty())
    }

    /// Whether a variable is varied.
    pub(super) fn has(&self, unit: &Unit, s: SymId) -> bool {
        self.variables(&unit.name).is_some_and(|v| v.contains(&s))
    }

    /// The unit that a symbol calls, if its source is known.
    pub(super) fn callee(&self, unit: &Unit, s: SymId) -> Option<&'p Unit> {
        let symbol = &unit.symbols[s];
        (symbol.storage_class == StorageClass::Global && symbol.class.is_procedure())
            .then(|| self.unit(&symbol.name))
            .flatten()
    }

    /// Whether the value of an expression depends on the independent variable in a differentiable way.
    pub(super) fn is_varied(&self, unit: &Unit, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Var(s) | ExprKind::Element(s, _) => self.has(unit, *s),
            ExprKind::Paren(a) | ExprKind::Unary(_, a) | ExprKind::Percent(_, a) => {
                self.is_varied(unit, a)
            }
            ExprKind::Binary(_, a, b) => {
                is_number(unit, e) && (self.is_varied(unit, a) || self.is_varied(unit, b))
            }
            ExprKind::Call(s, args) => {
                let by_arguments = || args.iter().any(|a| self.is_varied(unit, a));
                match &unit.symbols[*s].class {
                    Class::Intrinsic(i) => {
                        let constant = matches!(i.op, Op::Aint | Op::Anint | Op::Nint | Op::Other);
                        !constant && is_number(unit, e) && by_arguments()
                    }
                    Class::StatementFunction(_, value) => {
                        is_number(unit, e) && (self.is_varied(unit, value) || by_arguments())
                    }
                    _ => self
                        .callee(unit, *s)
                        .is_some_and(|f| f.result.is_some_and(|r| self.has(f, r))),
                }
            }
            ExprKind::Array(_) | ExprKind::Keyword(..) => self.mentions(unit, e),
            _ => false,
        }
    }

    /// Whether a varied variable occurs in an expression.
    fn mentions(&self, unit: &Unit, e: &Expr) -> bool {
        let mut any = false;
        e.for_each_symbol(&mut |s| any |= self.has(unit, s));
        any
    }

    /// Whether a unit neither assigns a variable nor passes it to another one.
    pub(super) fn is_only_read(&self, unit: &Unit, s: SymId) -> bool {
        let mut only = true;
        for stmt in &unit.body {
            stmt.walk(&mut |x| {
                x.for_each_own_expr(&mut |e| {
                    e.walk(&mut |x| {
                        if let ExprKind::Call(f, args) = &x.kind
                            && unit.symbols[*f].class.is_procedure()
                        {
                            only &= !args.iter().any(|a| variable(a) == Some(s));
                        }
                    });
                });
                match &x.kind {
                    StmtKind::Assign(target, _) => only &= variable(target) != Some(s),
                    StmtKind::Call(_, args) => {
                        only &= !args.iter().any(|a| variable(a) == Some(s));
                    }
                    StmtKind::Io(io) => only &= io.kind != IoKind::Read,
                    StmtKind::Do(d) => {
                        only &= !matches!(d.control, DoControl::Count { var, .. } if var == s);
                    }
                    _ => {}
                }
            });
        }
        only
    }

    fn insert(&mut self, unit: &Unit, s: SymId) {
        if differentiable(&unit.symbols[s])
            && let Some(set) = self.of.get_mut(&unit.name)
        {
            self.changed |= set.insert(s);
        }
    }

    fn statement(&mut self, unit: &Unit, s: &Stmt) {
        s.for_each_own_expr(&mut |e| {
            e.walk(&mut |x| {
                if let ExprKind::Call(f, args) = &x.kind {
                    self.bind(unit, *f, args);
                }
            });
        });
        match &s.kind {
            StmtKind::Assign(target, value) => {
                if let Some(t) = variable(target)
                    && self.is_varied(unit, value)
                {
                    self.insert(unit, t);
                }
            }
            StmtKind::Call(callee, args) => self.bind(unit, *callee, args),
            _ => {}
        }
    }

    /// Associates the arguments of a call. A variable is varied in both units or in none of them, so that
    /// its coefficients can be passed.
    fn bind(&mut self, unit: &Unit, callee: SymId, args: &[Expr]) {
        let Some(called) = self.callee(unit, callee) else {
            return;
        };
        for (dummy, actual) in called.args.iter().zip(args) {
            let Some(dummy) = dummy.sym() else { continue };
            if self.is_varied(unit, actual) {
                self.insert(called, dummy);
            }
            if self.has(called, dummy)
                && let Some(v) = variable(actual)
            {
                self.insert(unit, v);
            }
        }
    }

    /// Whether Taylor arithmetic supports a unit with varied variables.
    fn supports(&self, unit: &Unit) -> bool {
        let Some(varied) = self.variables(&unit.name) else {
            return false;
        };
        let plain = unit.directives.is_empty()
            && unit.nested.is_empty()
            && !unit.constant
            && !unit.leaves_derivatives
            && unit.entry_points().count() == 1
            && unit.args.iter().all(|a| a.sym().is_some());
        let mut fine = plain
            && varied.iter().all(|s| is_plain_variable(unit, *s))
            && !share_or_keep(unit, varied);
        for s in &unit.body {
            s.walk(&mut |s| fine = fine && self.supports_statement(unit, s));
        }
        fine
    }

    fn supports_statement(&self, unit: &Unit, s: &Stmt) -> bool {
        let mut fine = true;
        s.for_each_own_expr(&mut |e| {
            e.walk(&mut |x| {
                if let ExprKind::Call(f, args) = &x.kind {
                    fine &= self.supports_call(unit, *f, args);
                }
            });
        });
        let whole = |e: &Expr| rank(unit, e) > 0;
        fine && match &s.kind {
            StmtKind::Assign(target, value) => {
                let active = variable(target).is_some_and(|t| self.has(unit, t));
                !(active && (whole(target) || whole(value)))
            }
            StmtKind::Call(callee, args) => self.supports_call(unit, *callee, args),
            // Threads would share the coefficients of the variables that each has for itself.
            StmtKind::Do(d) if d.parallel().is_some() => false,
            StmtKind::Do(d) => match d.control {
                DoControl::Count { var, .. } => !self.has(unit, var),
                _ => true,
            },
            StmtKind::Io(io) if io.kind == IoKind::Read => {
                !io.items.iter().any(|e| self.mentions(unit, e))
            }
            StmtKind::Where(_)
            | StmtKind::Allocation(_)
            | StmtKind::Entry(_)
            | StmtKind::Ad(_)
            | StmtKind::Return(Some(_)) => false,
            _ => true,
        }
    }

    /// Whether the derivative of a procedure is not needed, or can be computed.
    fn supports_call(&self, unit: &Unit, callee: SymId, args: &[Expr]) -> bool {
        if let Class::Intrinsic(_) | Class::StatementFunction(..) = unit.symbols[callee].class {
            return true;
        }
        let Some(called) = self.callee(unit, callee) else {
            return !args.iter().any(|a| self.mentions(unit, a));
        };
        called.args.len() == args.len()
            && called.args.iter().zip(args).all(|(dummy, actual)| {
                let Some(dummy) = dummy.sym() else {
                    return false;
                };
                // Only variables have elements with coefficients.
                !self.has(called, dummy)
                    || variable(actual).is_some_and(|v| {
                        matches!(actual.kind, ExprKind::Var(_)) && self.has(unit, v)
                            || rank(unit, actual) == 0
                    })
                    || rank(unit, actual) == 0 && !called.symbols[dummy].is_array()
            })
    }
}

/// The variable that an expression designates, or is an element of.
pub(super) fn variable(e: &Expr) -> Option<SymId> {
    match e.kind {
        ExprKind::Var(s) | ExprKind::Element(s, _) => Some(s),
        _ => None,
    }
}

fn is_number(unit: &Unit, e: &Expr) -> bool {
    type_of(unit, e).is_some_and(Type::is_differentiable)
}

/// Whether a variable is a REAL or DOUBLE PRECISION one of its unit, so that its coefficients can be
/// variables beside it.
fn is_plain_variable(unit: &Unit, s: SymId) -> bool {
    let symbol = &unit.symbols[s];
    let place = matches!(
        symbol.storage_class,
        StorageClass::Local | StorageClass::Dummy | StorageClass::Result
    );
    place
        && matches!(symbol.ty, Some(Type::Real(_)))
        && !symbol.saved
        && symbol.init.is_none()
        && symbol.attributes.iter().next().is_none()
        && !symbol.is_assumed_shape()
        && !symbol.tape
        && !symbol.whole
}

/// Whether some of these variables share storage, or keep their values until the next call.
fn share_or_keep(unit: &Unit, varied: &HashSet<SymId>) -> bool {
    let mut found = false;
    let mut look = |e: &Expr| e.for_each_symbol(&mut |s| found |= varied.contains(&s));
    let local = |s: &SymId| unit.symbols[*s].storage_class == StorageClass::Local;
    let mut kept = false;
    for spec in &unit.specs {
        match &spec.kind {
            SpecKind::Equivalence(groups) => groups.iter().flatten().for_each(&mut look),
            SpecKind::Data(sets) => sets.iter().flat_map(|d| &d.targets).for_each(&mut look),
            SpecKind::Save(items) if items.is_empty() => kept |= varied.iter().any(local),
            SpecKind::Save(items) => {
                let named = |i: &SaveItem| matches!(i, SaveItem::Var(s) if varied.contains(s));
                kept |= items.iter().any(named);
            }
            _ => {}
        }
    }
    found || kept
}
