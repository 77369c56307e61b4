//! What procedures do to their arguments: which they may assign.

use crate::ir::{
    AdItem, Arg, Class, DoControl, Expr, ExprKind, Intent, Io, IoKind, Name, Place, Program,
    SpecKind, Stmt, StmtKind, SymId, Type, Unit, walk_block,
};
use std::collections::{HashMap, HashSet};

/// For every top-level unit, which of its arguments it may assign.
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
    pub(crate) fn with_harmless_procedures(program: &Program) -> Self {
        Self::analysed(program, Trust::All)
    }

    fn analysed(program: &Program, trust: Trust) -> Self {
        let mut known = Assigned {
            trust,
            by_unit: program
                .units
                .iter()
                .map(|u| (u.name.clone(), vec![false; u.args.len()]))
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
            let mut changed = false;
            // Only ever more: of two units with one name (a fault that is reported) each
            // would undo what the other says, for ever.
            let old = known.by_unit.get_mut(&unit.name);
            for (old, arg) in old.into_iter().flatten().zip(&unit.args) {
                let now = arg.sym().is_some_and(|s| assigned.contains(&s));
                changed |= now && !*old;
                *old |= now;
            }
            if changed {
                for caller in callers.get(&unit.name).into_iter().flatten() {
                    if !std::mem::replace(&mut waiting[*caller], true) {
                        open.push(*caller);
                    }
                }
            }
        }
        known
    }

    /// Takes in a unit that was added to the program and that no known unit calls yet.
    pub fn add(&mut self, unit: &Unit) {
        let assigned = self.in_unit(unit);
        let now = unit
            .args
            .iter()
            .map(|a| a.sym().is_some_and(|s| assigned.contains(&s)))
            .collect();
        self.by_unit.insert(unit.name.clone(), now);
    }

    /// May the unit of this name assign its argument at `position`? True for unknown
    /// units.
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
            self.stmt_targets(unit, stmt, &mut found);
            stmt.for_each_own_expr(&mut |e| {
                e.walk(&mut |e| self.call_targets(unit, e, &mut found))
            });
        });
        found
    }

    fn stmt_targets(&self, unit: &Unit, stmt: &Stmt, found: &mut HashSet<SymId>) {
        match &stmt.kind {
            StmtKind::Assign(target, _) => found.extend(target.base()),
            StmtKind::Do(d) => {
                if let DoControl::Count { var, .. } = d.control {
                    found.insert(var);
                }
            }
            StmtKind::AssignLabel(_, var) => {
                found.insert(*var);
            }
            StmtKind::Call(s, args) => self.actuals(unit, *s, args, found),
            StmtKind::Io(io) => io_targets(unit, io, found),
            StmtKind::Allocation(a) => {
                found.extend(a.objects.iter().filter_map(Expr::base));
                for c in &a.control {
                    if let ExprKind::Keyword(name, e) = &c.kind
                        && matches!(name.as_str(), "STAT" | "ERRMSG")
                    {
                        found.extend(e.base());
                    }
                }
            }
            StmtKind::Ad(block) => {
                for item in &block.opening {
                    loop_variables(item, found);
                }
                for item in &block.closing {
                    loop_variables(item, found);
                    item.for_each_assign(&mut |a| found.extend(a.other.base()));
                }
            }
            _ => {}
        }
    }

    fn call_targets(&self, unit: &Unit, expr: &Expr, found: &mut HashSet<SymId>) {
        match &expr.kind {
            ExprKind::Call(s, args) => self.actuals(unit, *s, args, found),
            ExprKind::ImpliedDo(d) => {
                found.insert(d.var);
            }
            _ => {}
        }
    }

    fn actuals(&self, unit: &Unit, callee: SymId, args: &[Expr], found: &mut HashSet<SymId>) {
        let symbol = &unit.symbols[callee];
        if matches!(
            symbol.class,
            Class::Intrinsic(_) | Class::StatementFunction(..)
        ) {
            return;
        }
        // What else is passed on may assign what the callee passes to it.
        let sends = self.trust == Trust::All && args.iter().any(|a| passes_procedure(unit, a));
        for (i, a) in args.iter().enumerate() {
            let kept = match symbol.place {
                Place::Dummy => match self.trust {
                    Trust::Nothing => false,
                    Trust::All => true,
                    Trust::Closures => !closure_may_assign(unit, callee, a),
                },
                Place::Global => !self.argument(&symbol.name, i),
                _ => false,
            };
            if kept && !sends {
                continue;
            }
            match &a.kind {
                ExprKind::Var(_) | ExprKind::Element(..) | ExprKind::Substring(..) => {
                    found.extend(a.base())
                }
                ExprKind::Percent(_, a) => found.extend(a.base()),
                // Whoever gets the closure may call it, and it may assign what it took.
                ExprKind::Closure(_, captured) => found.extend(captured),
                _ => {}
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

/// The variables that an input or output statement assigns, but for those of implied DOs.
pub(crate) fn io_targets(unit: &Unit, io: &Io, found: &mut HashSet<SymId>) {
    fn items(list: &[Expr], found: &mut HashSet<SymId>) {
        for e in list {
            match &e.kind {
                ExprKind::ImpliedDo(d) => items(&d.items, found),
                _ => found.extend(e.base()),
            }
        }
    }
    if io.kind == IoKind::Read {
        items(&io.items, found);
    }
    // WRITE to a variable: an internal file.
    let internal = |e: &Expr| {
        e.base()
            .filter(|s| io.kind == IoKind::Write && unit.symbols[*s].ty == Some(Type::Character))
    };
    for (i, c) in io.control.iter().enumerate() {
        let value = match &c.kind {
            ExprKind::Keyword(_, e) => &e.kind,
            other => other,
        };
        if let ExprKind::Var(s) = value
            && let (Class::Namelist(members), IoKind::Read) = (&unit.symbols[*s].class, io.kind)
        {
            found.extend(members);
        }
        match &c.kind {
            ExprKind::Keyword(name, e) => match name.as_str() {
                "UNIT" => found.extend(internal(e)),
                "IOSTAT" | "IOMSG" | "NEWUNIT" | "SIZE" | "ID" => found.extend(e.base()),
                // INQUIRE assigns what it is asked for; FILE says of what.
                _ if io.kind == IoKind::Inquire && name != "FILE" => found.extend(e.base()),
                _ => {}
            },
            _ if i == 0 => found.extend(internal(c)),
            _ => {}
        }
    }
}

fn loop_variables(item: &AdItem, found: &mut HashSet<SymId>) {
    if let AdItem::ImpliedDo(d) = item {
        found.insert(d.var);
        d.items.iter().for_each(|i| loop_variables(i, found));
    }
}

/// The dummy arguments of a unit that are procedures.
pub fn procedure_dummies(unit: &Unit) -> impl Iterator<Item = (usize, SymId)> + '_ {
    unit.args.iter().enumerate().filter_map(|(i, a)| match a {
        Arg::Dummy(s) if unit.symbols[*s].class.is_procedure() => Some((i, *s)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sources;
    use crate::syntax::{Form, NoIncludes, parse};

    #[test]
    fn two_units_of_one_name_come_to_an_end() {
        let text = "\
C
      SUBROUTINE A(X)
      X = 1
      CALL A(X)
      END
      SUBROUTINE A(X)
      CALL A(Y)
      END
";
        let mut sources = Sources::new();
        let file = sources.add("a.f", text);
        let mut program = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes).program;
        assert!(!crate::resolve::resolve(&mut program).is_empty());
        assert!(Assigned::of(&program).argument("A", 0));
    }
}
