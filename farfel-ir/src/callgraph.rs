//! The call graph of the top-level units of a program.
//!
//! Units are identified by their positions in [`Program::units`], so that walking a large program
//! needs no lookups by name. Both types here are snapshots of a program: a pass that adds, removes
//! or renames units has to rebuild them, once per pass.
//!
//! ```
//! # use farfel_ir::{Sources, callgraph::CallGraph};
//! # use farfel_lang::{resolve::resolve, syntax::{NoIncludes, parse}};
//! # let text = "      SUBROUTINE A(X)\n      CALL B(X)\n      END\n      SUBROUTINE B(X)\n      X = 1\n      END\n      SUBROUTINE C(X)\n      X = 2\n      END\n";
//! # let mut sources = Sources::new();
//! # let file = sources.add("a.f", text);
//! # let mut program = parse(&mut sources, file, None, &mut NoIncludes).program;
//! # assert!(resolve(&mut program).is_empty());
//! // SUBROUTINE A calls B; nobody calls C.
//! let graph = CallGraph::of(&program);
//! let a = graph.index("A").unwrap();
//! assert_eq!(graph.references(a), ["B"]);
//! assert_eq!(graph.reached([a]), [0, 1]);
//! ```

use crate::ir::{
    Class, Expr, ExprKind, Name, Program, Request, Stmt, StmtKind, StorageClass, SymId, Unit,
    walk_block,
};
use std::collections::HashMap;

/// The positions of a program's units, by name.
#[derive(Debug, Clone, Default)]
pub struct UnitIndex {
    by_name: HashMap<Name, usize>,
}

impl UnitIndex {
    /// Builds the index of a program in its current state.
    pub fn of(program: &Program) -> Self {
        let mut by_name = HashMap::with_capacity(program.units.len());
        for (i, u) in program.units.iter().enumerate() {
            // Of two units with the same name (a reported error) it uses the first, as
            // Program::unit does.
            by_name.entry(u.name.clone()).or_insert(i);
        }
        UnitIndex { by_name }
    }

    /// Returns the position of the unit with this name.
    pub fn get(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Returns the unit with this name.
    pub fn unit<'p>(&self, program: &'p Program, name: &str) -> Option<&'p Unit> {
        program.units.get(self.get(name)?)
    }
}

/// Which units call, or pass as an argument, which others.
///
/// The order of every list depends on the program only.
#[derive(Debug, Clone, Default)]
pub struct CallGraph {
    names: Vec<Name>,
    /// The unit of every callable name: its own and those of its ENTRY points.
    units: HashMap<Name, usize>,
    references: Vec<Vec<Name>>,
    callees: Vec<Vec<usize>>,
    requests: Vec<Vec<usize>>,
}

impl CallGraph {
    /// Builds the graph of a program whose names are resolved.
    pub fn of(program: &Program) -> Self {
        Self::staged(program, &[])
    }

    /// Builds the graph of a program that calls derivatives which are yet to be generated: a call
    /// of one is a reference to the request's head, which the derivative contains.
    pub fn staged(program: &Program, requests: &[Request]) -> Self {
        Self::build(program, requests, &found_in, true)
    }

    /// Like [`Self::staged`], for a lowered program, whose units have no unused names: much faster,
    /// because it looks at symbols instead of statements. Lists are in the order of the symbols.
    pub fn of_names(program: &Program, requests: &[Request]) -> Self {
        Self::build(program, requests, &procedures_in, true)
    }

    /// Like [`Self::of_names`], without the derivatives that are given for procedures: who calls
    /// whom when the program runs as it is.
    pub fn of_calls(program: &Program) -> Self {
        Self::build(program, &[], &procedures_in, false)
    }

    /// Like [`Self::of_calls`], for a program with derivatives, whose units may have unused names:
    /// only statements count.
    pub fn of_executed(program: &Program) -> Self {
        Self::build(program, &[], &found_in, false)
    }

    fn build<'p>(
        program: &'p Program,
        requests: &[Request],
        find: &FindReferences<'p>,
        given: bool,
    ) -> Self {
        let names: Vec<Name> = program.units.iter().map(|u| u.name.clone()).collect();
        let mut units = HashMap::with_capacity(names.len());
        for (i, name) in names.iter().enumerate() {
            units.entry(name.clone()).or_insert(i);
        }
        // Walking large programs is slow, so one walk collects everything.
        let mut references = Vec::with_capacity(names.len());
        let mut entries = Vec::new();
        for (i, unit) in program.units.iter().enumerate() {
            let mut ours = find(unit, &mut |entry| entries.push((entry, i)));
            if given {
                add_custom_derivatives(unit, &mut ours);
            }
            references.push(ours);
        }
        for (name, i) in entries {
            units.entry(name.clone()).or_insert(i);
        }
        let asked: HashMap<&Name, usize> = requests
            .iter()
            .enumerate()
            .map(|(i, r)| (&r.derivative, i))
            .collect();
        let mut callees = Vec::with_capacity(names.len());
        let mut called = Vec::with_capacity(names.len());
        for list in &references {
            let mut ours: Vec<usize> = Vec::with_capacity(list.len());
            let mut theirs = Vec::new();
            for name in list {
                let to = match (units.get(name), asked.get(name)) {
                    (to, None) => to,
                    (made, Some(r)) => {
                        theirs.push(*r);
                        made.or_else(|| units.get(&requests[*r].head))
                    }
                };
                ours.extend(to);
            }
            dedup(&mut ours);
            callees.push(ours);
            called.push(theirs);
        }
        CallGraph {
            names,
            units,
            references,
            callees,
            requests: called,
        }
    }

    /// Returns the number of units.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no units.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the unit that can be called by this name: its own or that of an ENTRY point.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.units.get(name).copied()
    }

    /// Returns the name of a unit.
    pub fn name(&self, unit: usize) -> &Name {
        &self.names[unit]
    }

    /// Returns the names that a unit (including nested subprograms) calls or passes as arguments,
    /// each once, in order of evaluation, including names that are not in the program.
    pub fn references(&self, unit: usize) -> &[Name] {
        &self.references[unit]
    }

    /// Returns the units that a unit refers to, each once, in the same order. The derivative of a
    /// request that is not in the program yet is represented by the request's head.
    pub fn callees(&self, unit: usize) -> &[usize] {
        &self.callees[unit]
    }

    /// Returns the requests whose derivatives a unit itself calls, by their positions in the list
    /// that the graph was built with.
    pub fn requests(&self, unit: usize) -> &[usize] {
        &self.requests[unit]
    }

    /// Returns for each unit the units that refer to it, ascending.
    pub fn callers(&self) -> Vec<Vec<usize>> {
        let mut callers = vec![Vec::new(); self.len()];
        for (i, callees) in self.callees.iter().enumerate() {
            for c in callees {
                callers[*c].push(i);
            }
        }
        callers
    }

    /// Returns the units that are reachable from the roots, including the roots, ascending. The
    /// time depends on the size of the result only, not on that of the program.
    pub fn reached(&self, roots: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut reached = self.callees_first(roots);
        reached.sort_unstable();
        reached
    }

    /// Returns the same units as [`Self::reached`], each after those it refers to, as far as
    /// recursion allows.
    pub fn callees_first(&self, roots: impl IntoIterator<Item = usize>) -> Vec<usize> {
        callees_first(roots, |unit| self.callees(unit))
    }
}

/// Returns the units reachable from the roots, each after its callees, as far as recursion allows.
/// Uses an explicit stack, because call chains may be long.
pub fn callees_first<'a>(
    roots: impl IntoIterator<Item = usize>,
    callees: impl Fn(usize) -> &'a [usize],
) -> Vec<usize> {
    let mut seen = std::collections::HashSet::new();
    let mut order = Vec::new();
    // Each entry: a unit, and how many of its callees have been followed.
    let mut path: Vec<(usize, usize)> = Vec::new();
    for root in roots {
        if seen.insert(root) {
            path.push((root, 0));
        }
        while let Some((unit, next)) = path.pop() {
            match callees(unit).get(next) {
                Some(callee) => {
                    path.push((unit, next + 1));
                    if seen.insert(*callee) {
                        path.push((*callee, 0));
                    }
                }
                None => order.push(unit),
            }
        }
    }
    order
}

/// Returns the groups of mutually recursive units, and the units that call themselves (Tarjan's
/// algorithm with an explicit stack).
pub fn cycles(calls: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let n = calls.len();
    let (mut number, mut low) = (vec![NEW; n], vec![0; n]);
    let mut on_stack = vec![false; n];
    let mut stack = Vec::new();
    let mut found = Vec::new();
    let mut count = 0;
    for root in 0..n {
        if number[root] != NEW {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some((unit, next)) = path.pop() {
            if next == 0 {
                number[unit] = count;
                low[unit] = count;
                count += 1;
                stack.push(unit);
                on_stack[unit] = true;
            }
            if let Some(&to) = calls[unit].get(next) {
                path.push((unit, next + 1));
                if number[to] == NEW {
                    path.push((to, 0));
                } else if on_stack[to] {
                    low[unit] = low[unit].min(number[to]);
                }
                continue;
            }
            if let Some((parent, _)) = path.last() {
                low[*parent] = low[*parent].min(low[unit]);
            }
            if low[unit] == number[unit] {
                let mut group = Vec::new();
                while let Some(u) = stack.pop() {
                    on_stack[u] = false;
                    group.push(u);
                    if u == unit {
                        break;
                    }
                }
                group.sort_unstable();
                if group.len() > 1 || calls[unit].contains(&unit) {
                    found.push(group);
                }
            }
        }
    }
    found
}

/// The part of a program that is reachable from some units, found without looking at the rest: for
/// analyses that need the units themselves.
#[derive(Debug, Clone)]
pub struct ReachableUnits<'p> {
    /// The units, each after those it refers to, as far as recursion allows.
    pub units: Vec<&'p Unit>,
    /// For each unit, the positions of the units that refer to it.
    pub callers: Vec<Vec<usize>>,
}

impl<'p> ReachableUnits<'p> {
    /// Collects the units that are reachable from the units with these names.
    pub fn of<'h>(program: &'p Program, heads: impl IntoIterator<Item = &'h str>) -> Self {
        let index = UnitIndex::of(program);
        // Positions in the program are mapped to positions here, in order of discovery.
        let mut found: Vec<usize> = Vec::new();
        let mut place: HashMap<usize, usize> = HashMap::new();
        let mut callees: Vec<Vec<usize>> = Vec::new();
        let mut see = |unit: usize, found: &mut Vec<usize>| {
            *place.entry(unit).or_insert_with(|| {
                found.push(unit);
                found.len() - 1
            })
        };
        let mut roots = Vec::new();
        for head in heads.into_iter().filter_map(|h| index.get(h)) {
            roots.push(see(head, &mut found));
        }
        while let Some(unit) = found.get(callees.len()) {
            let names = references(&program.units[*unit]);
            let mut list: Vec<usize> = names
                .iter()
                .filter_map(|n| index.get(n))
                .map(|u| see(u, &mut found))
                .collect();
            dedup(&mut list);
            callees.push(list);
        }
        let order = callees_first(roots, |u| &callees[u]);
        let mut at = vec![0; order.len()];
        for (i, u) in order.iter().enumerate() {
            at[*u] = i;
        }
        let mut callers = vec![Vec::new(); order.len()];
        for (i, u) in order.iter().enumerate() {
            for callee in &callees[*u] {
                callers[at[*callee]].push(i);
            }
        }
        ReachableUnits {
            units: order.iter().map(|u| &program.units[found[*u]]).collect(),
            callers,
        }
    }

    /// Calls `update` on each unit (by its position), callees first, and again on those that refer
    /// to a unit for which it returned true, until it returns false for all.
    pub fn fixed_point(&self, mut update: impl FnMut(usize) -> bool) {
        let mut stale = vec![true; self.units.len()];
        while stale.contains(&true) {
            for i in 0..self.units.len() {
                if std::mem::take(&mut stale[i]) && update(i) {
                    for &c in &self.callers[i] {
                        stale[c] = true;
                    }
                }
            }
        }
    }
}

/// Returns the references of a unit, and calls a function with the names of its ENTRY points.
type FindReferences<'p> = dyn Fn(&'p Unit, &mut dyn FnMut(&'p Name)) -> Vec<Name>;

/// Returns the procedures that a unit names, in the order of its symbols.
fn procedures_in<'p>(unit: &'p Unit, entry: &mut dyn FnMut(&'p Name)) -> Vec<Name> {
    for s in &unit.body {
        if let StmtKind::Entry(e) = &s.kind {
            entry(&unit.symbols[e.name].name);
        }
    }
    let procedures = unit
        .symbols
        .iter()
        .filter(|(_, s)| s.storage_class == StorageClass::Global && s.class.is_procedure());
    procedures.map(|(_, s)| s.name.clone()).collect()
}

/// Adds the user-supplied derivatives of procedures that a unit calls: differentiating the unit
/// creates calls of them.
fn add_custom_derivatives(unit: &Unit, found: &mut Vec<Name>) {
    for given in &unit.directives {
        for name in given.tangent.iter().chain(&given.adjoint) {
            if *name != unit.name && !found.contains(name) {
                found.push(name.clone());
            }
        }
    }
    for nested in &unit.nested {
        add_custom_derivatives(nested, found);
    }
}

/// Removes duplicates, keeping the first of each.
fn dedup(list: &mut Vec<usize>) {
    if list.len() > 16 {
        let mut seen = std::collections::HashSet::with_capacity(list.len());
        list.retain(|x| seen.insert(*x));
    } else {
        let mut kept = 0;
        for i in 0..list.len() {
            let x = list[i];
            if !list[..kept].contains(&x) {
                list[kept] = x;
                kept += 1;
            }
        }
        list.truncate(kept);
    }
}

/// Returns the names of all top-level or external procedures that a unit (including nested
/// subprograms) calls or passes as arguments: each once, in order of evaluation, those in statement
/// functions last.
pub fn references(unit: &Unit) -> Vec<Name> {
    found_in(unit, &mut |_| ())
}

/// Like [`references`], and calls `entry` with the names of the unit's ENTRY points.
fn found_in<'p>(unit: &'p Unit, entry: &mut dyn FnMut(&'p Name)) -> Vec<Name> {
    let mut found = Vec::new();
    collect(unit, entry, &mut found);
    if !unit.nested.is_empty() {
        let mut seen = std::collections::HashSet::new();
        found.retain(|n| seen.insert(n.clone()));
    }
    found
}

fn collect<'p>(unit: &'p Unit, entry: &mut dyn FnMut(&'p Name), found: &mut Vec<Name>) {
    let mut seen = vec![false; unit.symbols.len()];
    let mut look = |id: SymId| {
        if !std::mem::replace(&mut seen[id.0 as usize], true) {
            let s = &unit.symbols[id];
            if s.storage_class == StorageClass::Global && s.class.is_procedure() {
                found.push(s.name.clone());
            }
        }
    };
    walk_block(&unit.body, &mut |s| match &s.kind {
        StmtKind::Entry(e) => entry(&unit.symbols[e.name].name),
        _ => in_statement(s, &mut look),
    });
    for (_, s) in unit.symbols.iter() {
        // The references of a statement function count wherever it is used. Statement functions of
        // the enclosing unit are handled there.
        if let Class::StatementFunction(_, value) = &s.class
            && !matches!(s.storage_class, StorageClass::Host(_))
        {
            in_expr(value, &mut look);
        }
    }
    // Entries of nested subprograms can only be called within the enclosing unit.
    unit.nested
        .iter()
        .for_each(|n| collect(n, &mut |_| (), found));
}

fn in_statement(stmt: &Stmt, f: &mut dyn FnMut(SymId)) {
    stmt.for_each_own_expr(&mut |e| in_expr(e, f));
    if let StmtKind::Call(callee, _) = &stmt.kind {
        f(*callee);
    }
}

/// Visits references in order of evaluation: arguments before the call.
fn in_expr(e: &Expr, f: &mut dyn FnMut(SymId)) {
    match &e.kind {
        ExprKind::Var(s) => f(*s),
        ExprKind::Apply(s, args) | ExprKind::Element(s, args) | ExprKind::Call(s, args) => {
            args.iter().for_each(|a| in_expr(a, f));
            f(*s);
        }
        ExprKind::Closure(s, captured) => {
            f(*s);
            captured.iter().copied().for_each(f);
        }
        ExprKind::Binary(_, a, b) => {
            in_expr(a, f);
            in_expr(b, f);
        }
        ExprKind::Int(_) | ExprKind::Real(_) => {}
        _ => e.children().into_iter().for_each(|c| in_expr(c, f)),
    }
}
