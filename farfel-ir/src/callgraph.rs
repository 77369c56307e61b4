//! Who refers to whom among the top-level units of a program.
//!
//! Units are known by their positions in [`Program::units`], so that a walk over a large
//! program costs no look-ups by name. Both types here are pictures of a program at one
//! moment: whoever adds, removes or renames units makes them anew, once for a pass.
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
    Class, Expr, ExprKind, Name, Place, Program, Request, Stmt, StmtKind, SymId, Unit, walk_block,
};
use std::collections::HashMap;

/// Where the units of a program are, by name.
#[derive(Debug, Clone, Default)]
pub struct UnitIndex {
    by_name: HashMap<Name, usize>,
}

impl UnitIndex {
    /// The index of a program as it is now.
    pub fn of(program: &Program) -> Self {
        let mut by_name = HashMap::with_capacity(program.units.len());
        for (i, u) in program.units.iter().enumerate() {
            // Of two with one name, a fault that is reported, the first: as Program::unit.
            by_name.entry(u.name.clone()).or_insert(i);
        }
        UnitIndex { by_name }
    }

    /// The position of the unit of a name.
    pub fn get(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The unit of a name.
    pub fn unit<'p>(&self, program: &'p Program, name: &str) -> Option<&'p Unit> {
        program.units.get(self.get(name)?)
    }
}

/// Who calls, or passes on, whom.
///
/// Every list is in an order that depends on the program only.
#[derive(Debug, Clone, Default)]
pub struct CallGraph {
    names: Vec<Name>,
    /// The unit of every name that can be called: its own and those of its ENTRY points.
    units: HashMap<Name, usize>,
    references: Vec<Vec<Name>>,
    callees: Vec<Vec<usize>>,
    requests: Vec<Vec<usize>>,
}

impl CallGraph {
    /// The graph of a program whose names are resolved.
    pub fn of(program: &Program) -> Self {
        Self::staged(program, &[])
    }

    /// The graph of a program that calls derivatives which are still to be made: calling
    /// one refers to the request's head, which the derivative contains.
    pub fn staged(program: &Program, requests: &[Request]) -> Self {
        Self::build(program, requests, &found_in, true)
    }

    /// The same for a lowered program, whose units have no name without use: much faster,
    /// for it looks at names instead of statements. Lists are in the order of the names.
    pub fn of_names(program: &Program, requests: &[Request]) -> Self {
        Self::build(program, requests, &procedures_in, true)
    }

    /// The same without the derivatives that are given for procedures: who calls whom when the
    /// program runs as it is.
    pub fn of_calls(program: &Program) -> Self {
        Self::build(program, &[], &procedures_in, false)
    }

    fn build<'p>(program: &'p Program, requests: &[Request], find: &Find<'p>, given: bool) -> Self {
        let names: Vec<Name> = program.units.iter().map(|u| u.name.clone()).collect();
        let mut units = HashMap::with_capacity(names.len());
        for (i, name) in names.iter().enumerate() {
            units.entry(name.clone()).or_insert(i);
        }
        // Large programs are slow to walk through, so this looks for all at once.
        let mut references = Vec::with_capacity(names.len());
        let mut entries = Vec::new();
        for (i, unit) in program.units.iter().enumerate() {
            let mut ours = find(unit, &mut |entry| entries.push((entry, i)));
            if given {
                add_given(unit, &mut ours);
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

    /// How many units there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True without units.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The unit that can be called by a name: its own or that of an ENTRY point.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.units.get(name).copied()
    }

    /// The name of a unit.
    pub fn name(&self, unit: usize) -> &Name {
        &self.names[unit]
    }

    /// The names that a unit (with what is nested in it) calls or passes on, each once, in
    /// the order in which they are evaluated; also those that are not in the program.
    pub fn references(&self, unit: usize) -> &[Name] {
        &self.references[unit]
    }

    /// The units that a unit refers to, each once, in the same order. For the derivative
    /// of a request that is not in the program yet, that is the request's head.
    pub fn callees(&self, unit: usize) -> &[usize] {
        &self.callees[unit]
    }

    /// The requests (by position in the list that the graph was made with) whose
    /// derivatives a unit itself calls.
    pub fn requests(&self, unit: usize) -> &[usize] {
        &self.requests[unit]
    }

    /// For each unit, who refers to it, ascending.
    pub fn callers(&self) -> Vec<Vec<usize>> {
        let mut callers = vec![Vec::new(); self.len()];
        for (i, callees) in self.callees.iter().enumerate() {
            for c in callees {
                callers[*c].push(i);
            }
        }
        callers
    }

    /// The units that the roots reach, themselves included, ascending. Takes time for
    /// what it finds only, not for the whole program.
    pub fn reached(&self, roots: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut reached = self.callees_first(roots);
        reached.sort_unstable();
        reached
    }

    /// The same, each after what it refers to, as far as recursion allows.
    pub fn callees_first(&self, roots: impl IntoIterator<Item = usize>) -> Vec<usize> {
        callees_first(roots, |unit| self.callees(unit))
    }
}

/// Units so that each comes after its callees, as far as recursion allows. Recursion is
/// followed on a list, not on the stack: call chains may be long.
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

/// The groups of units that reach each other, and those that call themselves (Tarjan's
/// algorithm, on a list instead of the stack).
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

/// The part of a program that some units reach, found without looking at the rest: for
/// analyses that need the units themselves.
#[derive(Debug, Clone)]
pub struct Below<'p> {
    /// The units, each after what it refers to, as far as recursion allows.
    pub units: Vec<&'p Unit>,
    /// For each unit, the positions of those that refer to it.
    pub callers: Vec<Vec<usize>>,
}

impl<'p> Below<'p> {
    /// What the units of these names reach.
    pub fn of<'h>(program: &'p Program, heads: impl IntoIterator<Item = &'h str>) -> Self {
        let index = UnitIndex::of(program);
        // Positions in the program are replaced by positions here, in order of discovery.
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
        Below {
            units: order.iter().map(|u| &program.units[found[*u]]).collect(),
            callers,
        }
    }

    /// Calls `update` on each unit (by its position), callees first, and again on those who
    /// refer to a unit for which it returned true, until it returns false everywhere.
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

/// Gives the references of a unit, and calls a function with the names of its ENTRY points.
type Find<'p> = dyn Fn(&'p Unit, &mut dyn FnMut(&'p Name)) -> Vec<Name>;

/// The procedures that a unit names, in the order of the names.
fn procedures_in<'p>(unit: &'p Unit, entry: &mut dyn FnMut(&'p Name)) -> Vec<Name> {
    for s in &unit.body {
        if let StmtKind::Entry(e) = &s.kind {
            entry(&unit.symbols[e.name].name);
        }
    }
    let procedures = unit
        .symbols
        .iter()
        .filter(|(_, s)| s.place == Place::Global && s.class.is_procedure());
    procedures.map(|(_, s)| s.name.clone()).collect()
}

/// Adds the derivatives that are given for what a unit calls: where that is differentiated,
/// they are called.
fn add_given(unit: &Unit, found: &mut Vec<Name>) {
    for given in &unit.given {
        for name in given.tangent.iter().chain(&given.adjoint) {
            if *name != unit.name && !found.contains(name) {
                found.push(name.clone());
            }
        }
    }
    for nested in &unit.nested {
        add_given(nested, found);
    }
}

/// Keeps the first of equal numbers.
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

/// The names of all top-level procedures, of the program or external, that a unit (with
/// what is nested in it) calls or passes on: each once, in the order in which they are
/// evaluated, those of statement functions last.
pub fn references(unit: &Unit) -> Vec<Name> {
    found_in(unit, &mut |_| ())
}

/// The same, and calls `entry` with the names of the unit's ENTRY points.
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
            if s.place == Place::Global && s.class.is_procedure() {
                found.push(s.name.clone());
            }
        }
    };
    walk_block(&unit.body, &mut |s| match &s.kind {
        StmtKind::Entry(e) => entry(&unit.symbols[e.name].name),
        _ => in_statement(s, &mut look),
    });
    for (_, s) in unit.symbols.iter() {
        // What a statement function calls, it calls wherever it is referenced. Those of
        // the surroundings are looked at there.
        if let Class::StatementFunction(_, value) = &s.class
            && !matches!(s.place, Place::Host(_))
        {
            in_expr(value, &mut look);
        }
    }
    // Entries of nested subprograms are called in their surroundings only.
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

/// What is evaluated first comes first: arguments before the call.
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
