//! What procedures do to their arguments: which they may assign.

use crate::access::{self, Access, Call, callee_name};
use farfel_ir::ir::{
    Arg, Class, DoControl, EntryPoint, Expr, ExprKind, Intent, Name, Place, Program, SpecKind,
    Stmt, StmtKind, SymId, Unit, walk_block,
};
use std::collections::{HashMap, HashSet};

/// For every top-level unit, and for each of its ENTRY points, which of the arguments it may assign.
///
/// Found by a fixed point over the call graph; what an unknown procedure gets, it may
/// assign.
#[derive(Debug, Default)]
pub struct Assigned {
    by_unit: HashMap<Name, Vec<bool>>,
    trust: Trust,
}

/// What is thought of the procedures that a unit gets as arguments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Trust {
    /// They may assign all that they get.
    #[default]
    Nothing,
    /// They assign nothing.
    All,
    /// They assign what [`closure_may_assign`] says.
    Closures,
}

impl Assigned {
    /// Analyses a program whose names are resolved.
    pub fn of(program: &Program) -> Self {
        Self::analysed(program, Trust::Nothing)
    }

    /// Where the procedures that units still get as arguments are closures of another language,
    /// which assign only what [`closure_may_assign`] lets them.
    pub fn with_closures(program: &Program) -> Self {
        Self::analysed(program, Trust::Closures)
    }

    /// What units assign when the procedures that they get as arguments assign none of
    /// theirs.
    pub fn with_harmless_procedures(program: &Program) -> Self {
        Self::analysed(program, Trust::All)
    }

    fn analysed(program: &Program, trust: Trust) -> Self {
        let mut known = Assigned {
            trust,
            by_unit: (program.units.iter().flat_map(Unit::entry_points))
                .map(|e| (e.name.clone(), vec![false; e.args.len()]))
                .collect(),
        };
        // Whoever calls a unit whose entry changes is looked at again.
        let mut callers: HashMap<&Name, Vec<usize>> = HashMap::new();
        for (i, unit) in program.units.iter().enumerate() {
            each_callee(unit, &mut |callee| {
                callers.entry(callee).or_default().push(i)
            });
        }
        let mut open: Vec<usize> = (0..program.units.len()).collect();
        let mut waiting = vec![true; program.units.len()];
        while let Some(i) = open.pop() {
            waiting[i] = false;
            let unit = &program.units[i];
            let assigned = known.in_unit(unit);
            for EntryPoint { name, args, .. } in unit.entry_points() {
                let mut changed = false;
                // Only ever more: of two units with one name (a fault that is reported) each
                // would undo what the other says, for ever.
                let old = known.by_unit.get_mut(name);
                for (old, arg) in old.into_iter().flatten().zip(args) {
                    let now = arg.sym().is_some_and(|s| assigned.contains(&s));
                    changed |= now && !*old;
                    *old |= now;
                }
                if changed {
                    for caller in callers.get(name).into_iter().flatten() {
                        if !std::mem::replace(&mut waiting[*caller], true) {
                            open.push(*caller);
                        }
                    }
                }
            }
        }
        known
    }

    /// Takes in a unit that was added to the program and that no known unit calls yet.
    pub fn add(&mut self, unit: &Unit) {
        let assigned = self.in_unit(unit);
        for EntryPoint { name, args, .. } in unit.entry_points() {
            let now = (args.iter().map(|a| a.sym()))
                .map(|s| s.is_some_and(|s| assigned.contains(&s)))
                .collect();
            self.by_unit.insert(name.clone(), now);
        }
    }

    /// Is the text of the unit or ENTRY point of this name known?
    pub fn knows(&self, unit: &str) -> bool {
        self.by_unit.contains_key(unit)
    }

    /// May the unit or ENTRY point of this name assign its argument at `position`? True for
    /// unknown units.
    pub fn argument(&self, unit: &str, position: usize) -> bool {
        self.by_unit
            .get(unit)
            .and_then(|a| a.get(position))
            .copied()
            .unwrap_or(true)
    }

    /// The variables that the statements of a unit, or of the subprograms nested in it,
    /// may assign.
    pub fn in_unit(&self, unit: &Unit) -> HashSet<SymId> {
        let mut found = self.in_block(unit, &unit.body);
        for nested in &unit.nested {
            let inside = self.in_unit(nested);
            // In a program with faults, the variables may be those of another host, which is not there.
            for (s, symbol) in nested.symbols.iter() {
                if let Place::Host(outer) = symbol.place
                    && inside.contains(&s)
                {
                    found.insert(outer);
                }
            }
        }
        found
    }

    /// The variables that some statements of a unit may assign.
    pub fn in_block(&self, unit: &Unit, block: &[Stmt]) -> HashSet<SymId> {
        let mut found = HashSet::new();
        walk_block(block, &mut |stmt| {
            access::own(unit, stmt, false, &mut |a| match a {
                Access::Variable { sym, kind, .. } if kind.changes() => {
                    found.insert(sym);
                }
                Access::Call(call) => self.call(unit, &call, &mut found),
                _ => {}
            });
        });
        found
    }

    fn call(&self, unit: &Unit, call: &Call, found: &mut HashSet<SymId>) {
        let symbol = &unit.symbols[call.callee];
        // What else is passed on may assign what the callee passes to it.
        let sends = self.trust == Trust::All && call.args.iter().any(|a| passes_procedure(unit, a));
        for (i, a) in call.args.iter().enumerate() {
            let kept = match symbol.place {
                Place::Dummy => match self.trust {
                    Trust::Nothing => false,
                    Trust::All => true,
                    Trust::Closures => !closure_may_assign(unit, call.callee, a),
                },
                // Of what is nested here, nothing is known.
                _ => callee_name(unit, call.callee).is_some_and(|name| !self.argument(name, i)),
            };
            if kept && !sends {
                continue;
            }
            match &a.kind {
                // What a known procedure does with a closure is seen in the copy for it, which
                // `specialize` makes.
                ExprKind::Closure(_, captured) => found.extend(captured),
                _ => found.extend(call.passed(i).map(|p| p.sym)),
            }
        }
    }
}

/// May a closure of another language that stands for the dummy procedure `callee` assign this
/// actual argument? A function may not, and of what a subroutine gets no value that nothing could
/// be assigned to or that the unit itself needs as it is: variables of DO loops and in the bounds of
/// arrays, and dummy arguments with INTENT(IN).
pub fn closure_may_assign(unit: &Unit, callee: SymId, actual: &Expr) -> bool {
    let Some(base) = actual.base() else {
        return false;
    };
    let subroutine = unit.symbols[callee].class == Class::Subroutine;
    if !subroutine || !unit.symbols[base].is_variable() {
        return false;
    }
    let intent_in = unit.specs.iter().any(|s| match &s.kind {
        SpecKind::Intent(intent, l) => *intent == Intent::In && l.contains(&base),
        _ => false,
    });
    let bounds = unit.symbols.iter().flat_map(|(_, s)| &s.dims);
    let mut in_bounds = false;
    for bound in bounds.flat_map(|d| [&d.lower, &d.upper]).flatten() {
        bound.for_each_symbol(&mut |s| in_bounds |= s == base);
    }
    let mut counts = false;
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Do(d) = &s.kind {
            counts |= matches!(d.control, DoControl::Count { var, .. } if var == base);
        }
    });
    !intent_in && !in_bounds && !counts
}

/// Can compilers tell the value of an expression? They may keep it where nobody can write.
pub fn is_constant(unit: &Unit, e: &Expr) -> bool {
    let mut constant = true;
    e.walk(&mut |e| {
        constant &= match &e.kind {
            ExprKind::Var(s) | ExprKind::Element(s, _) => {
                matches!(unit.symbols[*s].class, Class::Parameter(_))
            }
            ExprKind::Call(s, _) => matches!(unit.symbols[*s].class, Class::Intrinsic(_)),
            ExprKind::Apply(..)
            | ExprKind::Closure(..)
            | ExprKind::AltReturn(_)
            | ExprKind::ImpliedDo(_)
            | ExprKind::Percent(..)
            | ExprKind::Star => false,
            _ => true,
        };
    });
    constant
}

/// Is the argument a procedure that is not an argument itself?
fn passes_procedure(unit: &Unit, actual: &Expr) -> bool {
    match actual.kind {
        ExprKind::Closure(..) => true,
        ExprKind::Var(s) => {
            let s = &unit.symbols[s];
            s.class.is_procedure() && s.place != Place::Dummy
        }
        _ => false,
    }
}

/// Calls `f` with the name of every procedure that a unit, or one nested in it, names.
fn each_callee<'p>(unit: &'p Unit, f: &mut dyn FnMut(&'p Name)) {
    for (_, s) in unit.symbols.iter() {
        if s.place == Place::Global {
            f(&s.name);
        }
    }
    unit.nested.iter().for_each(|n| each_callee(n, f));
}

/// The dummy arguments of a unit that are procedures.
pub fn procedure_dummies(unit: &Unit) -> impl Iterator<Item = (usize, SymId)> + '_ {
    unit.args.iter().enumerate().filter_map(|(i, a)| match a {
        Arg::Dummy(s) if unit.symbols[*s].class.is_procedure() => Some((i, *s)),
        _ => None,
    })
}
