//! Checks generated calls for a variable that is passed twice where the callee assigns it: as two
//! arguments, or as an argument to a procedure that also accesses it through COMMON.

use crate::dataflow::{self, Intents, Procedure, VariableUse};
use crate::ir::{
    Class, EntryPoint, Expr, ExprKind, Name, Origin, Program, StmtKind, SymId, Symbol, Unit,
    for_each_reference, walk_block,
};
use crate::resolve::EntryPoints;
use crate::source::Span;
use crate::storage::{StorageRange, UnitStorage};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

/// Checks the calls of one generated unit.
pub(super) fn check(
    unit: &Unit,
    intents: &Intents,
    callable: &EntryPoints,
    procedures: &CommonUses,
    errors: &mut Vec<String>,
) {
    let storage = UnitStorage::of(unit);
    for_each_reference(&unit.body, &mut |r| {
        let (args, span) = (r.args, r.span);
        let callee = &unit.symbols[r.procedure];
        if !matches!(callee.class, Class::Subroutine | Class::Function) {
            return;
        }
        let (Some(uses), Some(called)) = (intents.get(&callee.name), callable.get(&callee.name))
        else {
            return;
        };
        if uses.len() != args.len() {
            return;
        }
        let dummy = |i: usize| {
            let dummy = called.args.get(i).and_then(|a| a.sym());
            dummy.map(|s| &called.unit.symbols[s])
        };
        let array = |i: usize| dummy(i).is_some_and(Symbol::is_array);
        let whole = |i: usize| dummy(i).is_some_and(|s| s.whole);
        let mut twice = Vec::new();
        for (j, b) in args.iter().enumerate() {
            for (i, a) in args[..j].iter().enumerate() {
                let assigned = |i: usize| uses[i].writes && uses[i].assigned;
                if !assigned(i) && !assigned(j) || whole(i) || whole(j) {
                    continue;
                }
                if let Some(both) = overlap(unit, &storage, (a, array(i)), (b, array(j)))
                    && arguments_alias_matters(called, i, j)
                {
                    twice.push(both);
                }
            }
        }
        // If the user's call does this, its derivative does too.
        let written = |s: &SymId| unit.symbols[*s].origin == Origin::Written;
        if twice.iter().any(|(a, b)| written(a) && written(b)) {
            return;
        }
        let generated = |s: &SymId| !written(s);
        let commons = procedures.aliased_commons(unit, &storage, &callee.name, args, &generated);
        if let Some(s) = commons.first()
            && !procedures.user_does(span)
        {
            errors.push(format!(
                "{}: the call of {} passes {}, which is in COMMON there, too, and assigned",
                unit.name, callee.name, unit.symbols[*s].name
            ));
        }
        // The derivative may leave out the arguments that the user's call passes twice.
        if let Some((a, b)) = twice.first()
            && !procedures.user_passes_twice(span)
        {
            let name = |s: &SymId| &unit.symbols[*s].name;
            errors.push(format!(
                "{}: the call of {} passes {} and {}, which are the same storage, and assigns it",
                unit.name,
                callee.name,
                name(a),
                name(b)
            ));
        }
    });
}

/// What procedures do with COMMON, computed on first use.
pub(super) struct CommonUses<'p> {
    program: &'p Program,
    known: OnceCell<HashMap<&'p Name, Procedure<'p>>>,
    /// The user's calls that pass a COMMON variable to a procedure for which the aliasing matters.
    users: OnceCell<Vec<Span>>,
    /// The user's calls that pass a variable twice.
    twice: OnceCell<Vec<Span>>,
}

impl<'p> CommonUses<'p> {
    /// Creates an empty table for a program.
    pub fn of(program: &'p Program) -> Self {
        CommonUses {
            program,
            known: OnceCell::new(),
            users: OnceCell::new(),
            twice: OnceCell::new(),
        }
    }

    /// Returns the actual arguments of a call that are COMMON variables which the procedure also
    /// accesses through COMMON, in such a way that it matters. `which` selects the variables to
    /// check.
    fn aliased_commons(
        &self,
        unit: &Unit,
        storage: &UnitStorage,
        callee: &Name,
        args: &[Expr],
        which: &dyn Fn(&SymId) -> bool,
    ) -> Vec<SymId> {
        let mut found = Vec::new();
        for (i, a) in args.iter().enumerate() {
            // It is unknown how far an array extends that begins at an element.
            if let ExprKind::Var(s) = a.kind
                && which(&s)
                && unit.symbols[s].is_variable()
                && let Some(bytes) = CommonBytes::of(storage, s)
                && self.alias_matters(callee, i, &bytes, &mut HashSet::new())
            {
                found.push(s);
            }
        }
        found
    }

    /// Whether the user's own call at a place passes a COMMON variable in this way. If so, its
    /// derivative does too.
    fn user_does(&self, span: Span) -> bool {
        let users = self.users.get_or_init(|| {
            let written = |u: &&Unit| u.origin != Origin::Derivative;
            let mut found = Vec::new();
            for unit in self.program.units.iter().filter(written) {
                let storage = UnitStorage::of(unit);
                for_each_reference(&unit.body, &mut |r| {
                    let (args, span) = (r.args, r.span);
                    let callee = &unit.symbols[r.procedure].name;
                    if !self
                        .aliased_commons(unit, &storage, callee, args, &|_| true)
                        .is_empty()
                    {
                        found.push(span);
                    }
                });
            }
            found
        });
        users.iter().any(|s| meet(s, span))
    }

    /// Whether the user's own call at a place passes a variable twice.
    fn user_passes_twice(&self, span: Span) -> bool {
        let users = self.twice.get_or_init(|| {
            let written = |u: &&Unit| u.origin != Origin::Derivative;
            let mut found = Vec::new();
            for unit in self.program.units.iter().filter(written) {
                let storage = UnitStorage::of(unit);
                for_each_reference(&unit.body, &mut |r| {
                    let pairs = r.args.iter().enumerate();
                    let mut pairs =
                        pairs.flat_map(|(j, b)| r.args[..j].iter().map(move |a| (a, b)));
                    // Either dummy argument may be the array.
                    let twice = |(a, b): (&Expr, &Expr)| {
                        overlap(unit, &storage, (a, true), (b, false))
                            .or_else(|| overlap(unit, &storage, (a, false), (b, true)))
                            .is_some()
                    };
                    if pairs.any(twice) {
                        found.push(r.span);
                    }
                });
            }
            found
        });
        users.iter().any(|s| meet(s, span))
    }

    fn get(&self, name: &Name) -> Option<&Procedure<'p>> {
        let known = self.known.get_or_init(|| {
            let all = dataflow::procedures(self.program, 4).into_iter();
            let own = all.filter(|p| p.within.is_none() && p.entry.is_none());
            own.map(|p| (&p.unit.name, p)).collect()
        });
        known.get(name)
    }

    /// Returns what a procedure does with some bytes of a COMMON block, directly or through calls.
    fn of_bytes(&self, procedure: &Procedure, bytes: &CommonBytes) -> VariableUse {
        let mut all = VariableUse::default();
        for block in procedure.commons.iter().filter(|c| c.block == bytes.block) {
            let Some(unit) = self.program.unit(&block.declared_in) else {
                continue;
            };
            let storage = UnitStorage::of(unit);
            for (name, used) in &block.variables {
                let variable = unit.symbols.find(name);
                if variable
                    .and_then(|s| storage.range(s))
                    .is_some_and(|s| bytes.meet(s))
                {
                    all.reads |= used.reads;
                    all.writes |= used.writes && used.assigned;
                }
            }
        }
        all
    }

    /// Whether it matters to a procedure that one of its arguments is storage that it also accesses
    /// as COMMON. If it only passes the argument on, that depends on the procedures that receive
    /// it.
    fn alias_matters(
        &self,
        name: &Name,
        argument: usize,
        bytes: &CommonBytes,
        seen: &mut HashSet<(Name, usize)>,
    ) -> bool {
        if !seen.insert((name.clone(), argument)) {
            return false;
        }
        let Some(procedure) = self.get(name) else {
            return false;
        };
        let dummy = procedure.unit.args.get(argument).and_then(|a| a.sym());
        let used = procedure.args.iter().find(|a| Some(a.sym) == dummy);
        let (Some(dummy), Some(used)) = (dummy, used.map(|a| a.used)) else {
            return false;
        };
        let common = self.of_bytes(procedure, bytes);
        let assigns = used.writes && used.assigned;
        if !(assigns && (common.reads || common.writes) || common.writes && (assigns || used.reads))
        {
            return false;
        }
        let (mut own, mut handed) = (false, Vec::new());
        for_each_use(procedure.unit, dummy, &mut |to| match to {
            Some((callee, i)) => handed.push((procedure.unit.symbols[callee].name.clone(), i)),
            None => own = true,
        });
        own || handed
            .iter()
            .any(|(n, i)| self.alias_matters(n, *i, bytes, seen))
    }
}

/// Whether two places in the sources overlap.
fn meet(a: &Span, b: Span) -> bool {
    a.file == b.file && a.start <= b.end && b.start <= a.end
}

/// A range of bytes in a COMMON block.
struct CommonBytes {
    block: Name,
    from: i64,
    to: i64,
}

impl CommonBytes {
    /// Returns the bytes of a variable, if it is in COMMON.
    fn of(storage: &UnitStorage, variable: SymId) -> Option<Self> {
        let spot = storage.range(variable)?;
        Some(CommonBytes {
            block: storage.areas()[spot.area].block.clone()?,
            from: spot.start,
            to: spot.end,
        })
    }

    fn meet(&self, spot: StorageRange) -> bool {
        self.from < spot.end && spot.start < self.to
    }
}

/// Calls `f` for each use of a dummy argument. Where a statement passes it on, `f` receives the
/// procedure and the position of the argument.
fn for_each_use(unit: &Unit, dummy: SymId, f: &mut dyn FnMut(Option<(SymId, usize)>)) {
    walk_block(&unit.body, &mut |s| {
        let StmtKind::Call(callee, args) = &s.kind else {
            s.for_each_own_expr(&mut |e| uses(e, dummy, &mut || f(None)));
            return;
        };
        for (i, a) in args.iter().enumerate() {
            if a.base() == Some(dummy) {
                f(Some((*callee, i)));
                let within = a.children().into_vec().into_iter();
                within.for_each(|e| uses(e, dummy, &mut || f(None)));
            } else {
                uses(a, dummy, &mut || f(None));
            }
        }
    });
}

fn uses(e: &Expr, s: SymId, f: &mut dyn FnMut()) {
    e.for_each_symbol(&mut |x| {
        if x == s {
            f();
        }
    });
}

/// Whether it matters to a unit that two of its arguments are the same variable. It does not if the
/// unit only passes them on, to one procedure after the other.
fn arguments_alias_matters(called: &EntryPoint, i: usize, j: usize) -> bool {
    let dummy = |i: usize| called.args.get(i).and_then(|a| a.sym());
    let (Some(x), Some(y)) = (dummy(i), dummy(j)) else {
        return true;
    };
    let mut minds = false;
    walk_block(&called.unit.body, &mut |s| {
        let args = match &s.kind {
            StmtKind::Call(_, args) => args.as_slice(),
            _ => &[],
        };
        let names = |s: SymId| args.iter().any(|a| a.base() == Some(s));
        minds |= names(x) && names(y);
        let mut named = |e: &Expr| e.for_each_symbol(&mut |s| minds |= s == x || s == y);
        match &s.kind {
            StmtKind::Call(_, args) => {
                let within = args.iter().flat_map(|a| a.children().into_vec());
                within.for_each(&mut named);
            }
            _ => s.for_each_own_expr(&mut named),
        }
    });
    minds
}

/// Returns the variables of two actual arguments whose storage certainly overlaps. The flag of each
/// argument says whether its dummy argument is an array.
fn overlap(
    unit: &Unit,
    storage: &UnitStorage,
    (a, a_array): (&Expr, bool),
    (b, b_array): (&Expr, bool),
) -> Option<(SymId, SymId)> {
    let (x, y) = (a.base()?, b.base()?);
    if !unit.symbols[x].is_variable() || !unit.symbols[y].is_variable() {
        return None;
    }
    let whole = |e: &Expr, array: bool| matches!(e.kind, ExprKind::Var(s) if array || !unit.symbols[s].is_array());
    let same = match (whole(a, a_array), whole(b, b_array)) {
        (true, true) => x == y || storage.overlap(x, y),
        // An element lies within its array, but an array argument may begin after it.
        (true, false) | (false, true) => x == y && !(a_array && b_array),
        (false, false) => x == y && a.equals_ignoring_spans(b),
    };
    same.then_some((x, y))
}
