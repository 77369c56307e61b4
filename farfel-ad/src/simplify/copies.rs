//! Merges temporaries with the variables that they are copied to.
//!
//! ```fortran
//!       TEMP = V/U                          Q = V/U
//!       QD = (VD - TEMP*UD)/U               QD = (VD - Q*UD)/U
//!       Q = TEMP
//!       ...                                 ...
//!       UB = UB - TEMP*TEMPB                UB = UB - Q*TEMPB
//! ```
//!
//! This is possible if nothing names the variable between the two assignments, and if it still has the value of the
//! temporary wherever that is read: a data-flow analysis follows, for each copy, whether the temporary may have this value,
//! whether it may have another one, and whether the variable may have been assigned since.

use super::preaccumulate::named_in_specs;
use super::shorter::is_local_scalar;
use farfel_lang::flow::FlowGraph;
use farfel_lang::ir::{
    Block, Class, DoControl, Expr, ExprKind, Origin, Stmt, StmtId, StmtKind, StorageClass, SymId,
    Type, Unit, for_each_symbol,
};
use farfel_lang::solve::{Graph, May, forward_each};
use std::collections::{HashMap, HashSet};

/// The number of statements between a value and its copy, at most.
const MOST_APART: usize = 50;

/// The number of times that copies are looked for: merging some allows others.
const MOST_TURNS: usize = 4;

/// Merges temporaries with the variables that they are copied to.
pub(crate) fn merge_copies(unit: &mut Unit) {
    let mut replaced = HashSet::new();
    for _ in 0..MOST_TURNS {
        unit.number();
        let merged = merged(unit);
        if merged.is_empty() {
            break;
        }
        let mut body = std::mem::take(&mut unit.body);
        apply(&mut body, &merged);
        unit.body = body;
        replaced.extend(merged.iter().map(|m| m.copy.temporary));
    }
    for_each_symbol(&unit.body, &mut |s| {
        replaced.remove(&s);
    });
    unit.undeclare_all(&|s| replaced.contains(&s));
}

/// A variable that gets the value of a temporary.
struct CopiedValue {
    temporary: SymId,
    variable: SymId,
    /// The assignment of the temporary.
    defined: StmtId,
    /// The statements between the two assignments.
    between: Vec<StmtId>,
    /// The assignment of the variable.
    copied: StmtId,
}

/// A copy to be merged, with the statements that read the temporary.
struct Merged {
    copy: CopiedValue,
    readers: Vec<StmtId>,
}

/// The facts: which definitions of temporaries may be the last ones, and for which copies the variable may have been assigned
/// since.
struct Facts {
    /// The temporary of each definition, a bit each. A definition that is copied has the number of the copy.
    definitions: Vec<SymId>,
    /// By temporary, its definitions.
    of_temporary: HashMap<SymId, May>,
    /// By variable, the bits of its copies that say that it may have been assigned since.
    of_variable: HashMap<SymId, May>,
    /// By node, what it assigns.
    assigned: HashMap<usize, Vec<Assigned>>,
}

#[derive(Clone, Copy)]
enum Assigned {
    Temporary { definition: usize },
    Variable { symbol: SymId, copy: Option<usize> },
}

impl Facts {
    /// Returns the facts about copies. `None` if a loop is executed in parallel, where each thread has its own variables.
    fn of(unit: &Unit, flow: &FlowGraph, copies: &[CopiedValue]) -> Option<Self> {
        let mut facts = Facts {
            definitions: copies.iter().map(|c| c.temporary).collect(),
            of_temporary: HashMap::new(),
            of_variable: HashMap::new(),
            assigned: HashMap::new(),
        };
        let defined: HashMap<StmtId, usize> = (copies.iter().enumerate())
            .map(|(k, c)| (c.defined, k))
            .collect();
        let copied: HashMap<StmtId, usize> = (copies.iter().enumerate())
            .map(|(k, c)| (c.copied, k))
            .collect();
        let temporaries: HashSet<SymId> = copies.iter().map(|c| c.temporary).collect();
        let variables: HashSet<SymId> = copies.iter().map(|c| c.variable).collect();
        for (node, s) in flow.stmts.iter().enumerate() {
            if let StmtKind::Do(d) = &s.kind
                && d.directive.is_some()
            {
                return None;
            }
            assigned_by(unit, s, flow.masked[node], &mut |x| {
                let assigned = if temporaries.contains(&x) {
                    let definition = match defined.get(&s.id) {
                        Some(k) if copies[*k].temporary == x => *k,
                        _ => {
                            facts.definitions.push(x);
                            facts.definitions.len() - 1
                        }
                    };
                    Assigned::Temporary { definition }
                } else if variables.contains(&x) {
                    let copy = copied.get(&s.id).copied();
                    let copy = copy.filter(|k| copies[*k].variable == x);
                    Assigned::Variable { symbol: x, copy }
                } else {
                    return;
                };
                facts.assigned.entry(node).or_default().push(assigned);
            });
        }
        for (d, temporary) in facts.definitions.iter().enumerate() {
            let all = facts.of_temporary.entry(*temporary).or_default();
            all.grow_and_insert(d);
        }
        let first = facts.definitions.len();
        for (k, c) in copies.iter().enumerate() {
            let all = facts.of_variable.entry(c.variable).or_default();
            all.grow_and_insert(first + k);
        }
        Some(facts)
    }

    /// The bit that says that the variable of a copy may have been assigned since.
    fn broken(&self, copy: usize) -> usize {
        self.definitions.len() + copy
    }

    /// Makes what holds before a node what holds after it.
    fn transfer(&self, node: usize, fact: &mut May) {
        for a in self.assigned.get(&node).into_iter().flatten() {
            match a {
                Assigned::Temporary { definition } => {
                    let temporary = self.definitions[*definition];
                    fact.difference_with(&self.of_temporary[&temporary]);
                    fact.insert(*definition);
                }
                Assigned::Variable { symbol, copy } => {
                    fact.union_with(&self.of_variable[symbol]);
                    copy.iter().for_each(|k| fact.remove(self.broken(*k)));
                }
            }
        }
    }
}

/// Returns the copies that can be merged at once.
fn merged(unit: &Unit) -> Vec<Merged> {
    let mut specified = HashSet::new();
    named_in_specs(unit, &mut specified);
    for (_, s) in unit.symbols.iter() {
        match &s.class {
            Class::Namelist(members) => specified.extend(members),
            // A pointer may point to any variable.
            _ if matches!(s.storage_class, StorageClass::Pointee(_)) => return Vec::new(),
            _ => {}
        }
    }
    let local = |s: SymId| {
        let number = matches!(unit.symbols[s].ty, Some(Type::Real(_) | Type::Complex(_)));
        number && is_local_scalar(unit, s, &specified)
    };
    let temporary = |s: SymId| unit.symbols[s].origin == Origin::Generated && local(s);
    let mut copies = Vec::new();
    add_copies(unit, &unit.body, &temporary, &local, &mut copies);
    // Variables that are temporaries of other copies wait for the next turn.
    let temporaries: HashSet<SymId> = copies.iter().map(|c| c.temporary).collect();
    copies.retain(|c| !temporaries.contains(&c.variable));
    if copies.is_empty() {
        return Vec::new();
    }
    let flow = FlowGraph::of(unit);
    let Some(facts) = Facts::of(unit, &flow, &copies) else {
        return Vec::new();
    };
    let mut readers: Vec<Vec<StmtId>> = vec![Vec::new(); copies.len()];
    let mut failed = vec![false; copies.len()];
    let visit = &mut |node: usize, fact: &May| {
        let Some(s) = flow.stmts.get(node) else {
            return;
        };
        let mut passed = HashSet::new();
        passed_by(unit, s, &mut |x| {
            passed.insert(x);
        });
        for_each_own_read(s, &mut |x| {
            let Some(definitions) = facts.of_temporary.get(&x) else {
                return;
            };
            let reaching: Vec<usize> = fact.intersection(definitions).collect();
            let alone = reaching.len() == 1 && !passed.contains(&x);
            for k in reaching.into_iter().filter(|d| *d < copies.len()) {
                let c = &copies[k];
                let valid = s.id == c.copied
                    || c.between.contains(&s.id)
                    || !fact.contains(facts.broken(k));
                match alone && valid {
                    true => readers[k].push(s.id),
                    false => failed[k] = true,
                }
            }
        });
    };
    let mut start = May::with_capacity(facts.broken(copies.len()));
    // Before its copy, a variable has any value.
    start.insert_range(facts.broken(0)..);
    let transfer = &mut |node: usize, fact: &mut May| facts.transfer(node, fact);
    forward_each(&Graph::of(&flow), flow.entry, start, transfer, visit);
    // Of two copies to one variable, neither may be read between the assignments of the other.
    let mut taken: HashMap<SymId, (HashSet<StmtId>, HashSet<StmtId>)> = HashMap::new();
    let mut found = Vec::new();
    for ((copy, readers), failed) in copies.into_iter().zip(readers).zip(failed) {
        let (between, read) = taken.entry(copy.variable).or_default();
        let apart = readers.iter().all(|r| !between.contains(r))
            && copy.between.iter().all(|b| !read.contains(b));
        if !failed && apart {
            between.extend(&copy.between);
            read.extend(&readers);
            found.push(Merged { copy, readers });
        }
    }
    found
}

/// Finds the copies in a block and in the blocks inside it.
fn add_copies(
    unit: &Unit,
    block: &[Stmt],
    temporary: &dyn Fn(SymId) -> bool,
    local: &dyn Fn(SymId) -> bool,
    found: &mut Vec<CopiedValue>,
) {
    for (i, s) in block.iter().enumerate() {
        s.blocks()
            .iter()
            .for_each(|b| add_copies(unit, b, temporary, local, found));
        let Some((t, _)) = scalar_assignment(s) else {
            continue;
        };
        if !temporary(t) {
            continue;
        }
        let mut between: Vec<&Stmt> = Vec::new();
        for s in block[i + 1..].iter().take(MOST_APART) {
            if s.label.is_some() {
                break;
            }
            if let Some((x, value)) = scalar_assignment(s) {
                if x == t {
                    break;
                }
                if let ExprKind::Var(from) = value.kind
                    && from == t
                {
                    let named = between.iter().any(|s| names(s, x));
                    if local(x) && unit.symbols[x].ty == unit.symbols[t].ty && !named {
                        found.push(CopiedValue {
                            temporary: t,
                            variable: x,
                            defined: block[i].id,
                            between: between.iter().map(|s| s.id).collect(),
                            copied: s.id,
                        });
                    }
                    break;
                }
            }
            if !matches!(s.kind, StmtKind::Assign(..) | StmtKind::Comment(_)) {
                break;
            }
            between.push(s);
        }
    }
}

/// Returns the variable and the value of an assignment to a scalar.
fn scalar_assignment(s: &Stmt) -> Option<(SymId, &Expr)> {
    match &s.kind {
        StmtKind::Assign(target, value) => match target.kind {
            ExprKind::Var(x) => Some((x, value)),
            _ => None,
        },
        _ => None,
    }
}

fn names(s: &Stmt, x: SymId) -> bool {
    let mut named = false;
    for_each_symbol(std::slice::from_ref(s), &mut |y| named |= x == y);
    named
}

/// Calls `f` on every variable that a statement itself may assign.
fn assigned_by(unit: &Unit, s: &Stmt, masked: bool, f: &mut dyn FnMut(SymId)) {
    match &s.kind {
        StmtKind::Assign(target, _) if !masked => {
            if let ExprKind::Var(x) = target.kind {
                f(x);
            }
        }
        StmtKind::Do(d) => {
            if let DoControl::Count { var, .. } = d.control {
                f(var);
            }
        }
        _ => {}
    }
    passed_by(unit, s, f);
}

/// Calls `f` on every variable that a statement itself passes on by reference: something else may read and assign it.
fn passed_by(unit: &Unit, s: &Stmt, f: &mut dyn FnMut(SymId)) {
    match &s.kind {
        StmtKind::Assign(..)
        | StmtKind::Do(_)
        | StmtKind::If(_)
        | StmtKind::LogicalIf(..)
        | StmtKind::ArithmeticIf(..)
        | StmtKind::Select(_)
        | StmtKind::ComputedGoto(..) => {
            // Functions may assign their arguments.
            s.for_each_own_expr(&mut |e| {
                e.walk(&mut |e| {
                    if let ExprKind::Call(callee, args) | ExprKind::Apply(callee, args) = &e.kind
                        && !matches!(unit.symbols[*callee].class, Class::Intrinsic(_))
                    {
                        args.iter().filter_map(Expr::base).for_each(&mut *f);
                    }
                });
            });
        }
        _ => {
            s.for_each_own_symbol(f);
            s.for_each_own_expr(&mut |e| e.for_each_symbol(f));
        }
    }
}

/// Calls `f` on every variable that a statement itself may read.
fn for_each_own_read(s: &Stmt, f: &mut dyn FnMut(SymId)) {
    match &s.kind {
        StmtKind::Assign(target, value) => {
            value.for_each_symbol(f);
            target
                .children()
                .into_iter()
                .for_each(|c| c.for_each_symbol(f));
        }
        _ => {
            s.for_each_own_symbol(f);
            s.for_each_own_expr(&mut |e| e.for_each_symbol(f));
        }
    }
}

/// Replaces the temporaries of merged copies.
fn apply(body: &mut Block, merged: &[Merged]) {
    let defined: HashMap<StmtId, SymId> = (merged.iter())
        .map(|m| (m.copy.defined, m.copy.variable))
        .collect();
    let copied: HashSet<StmtId> = merged.iter().map(|m| m.copy.copied).collect();
    let mut read: HashMap<StmtId, HashMap<SymId, SymId>> = HashMap::new();
    for m in merged {
        for reader in &m.readers {
            let of_reader = read.entry(*reader).or_default();
            of_reader.insert(m.copy.temporary, m.copy.variable);
        }
    }
    let mut rewrite = |s: &mut Stmt| {
        if let Some(names) = read.get(&s.id) {
            let put = |e: &mut Expr| {
                e.for_each_symbol_mut(&mut |x| {
                    if let Some(new) = names.get(x) {
                        *x = *new;
                    }
                });
            };
            match &mut s.kind {
                StmtKind::Assign(target, value) => {
                    put(value);
                    target.children_mut().into_iter().for_each(put);
                }
                _ => s.for_each_own_expr_mut(&mut |e| put(e)),
            }
        }
        if let Some(x) = defined.get(&s.id)
            && let StmtKind::Assign(target, _) = &mut s.kind
        {
            target.kind = ExprKind::Var(*x);
        }
    };
    body.iter_mut().for_each(|s| s.walk_mut(&mut rewrite));
    remove(body, &copied);
}

fn remove(block: &mut Block, gone: &HashSet<StmtId>) {
    block.retain(|s| !gone.contains(&s.id));
    for s in block {
        s.blocks_mut().into_iter().for_each(|b| remove(b, gone));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfel_lang::print::print_expr;
    use farfel_lang::{Sources, resolve::resolve, syntax};

    /// Returns the assignments of a subroutine after copies of T, as a generated temporary, were merged.
    fn merged(body: &str) -> Vec<String> {
        let mut sources = Sources::new();
        let text = format!(
            "      SUBROUTINE S(A, B)\n      REAL A, B, T, X, Y\n{body}      END\n      FUNCTION F(Z)\n      F = Z\n      END\n"
        );
        let file = sources.add("s.f", text);
        let mut parsed = syntax::parse(&mut sources, file, None, &mut syntax::NoIncludes);
        assert!(resolve(&mut parsed.program).is_empty());
        let unit = &mut parsed.program.units[0];
        let t = unit.symbols.find("T").unwrap();
        unit.symbols[t].origin = Origin::Generated;
        merge_copies(unit);
        let mut found = Vec::new();
        for s in &unit.body {
            s.walk(&mut |s| {
                if let StmtKind::Assign(target, value) = &s.kind {
                    let [target, value] = [target, value].map(|e| print_expr(unit, e));
                    found.push(format!("{target} = {value}"));
                }
            });
        }
        found
    }

    #[test]
    fn a_copy_is_merged_where_the_variable_has_the_value() {
        let body = "      T = A/B\n      A = T*B\n      X = T\n      IF (A .GT. 0) B = T\n";
        assert_eq!(merged(body), ["X = A/B", "A = X*B", "B = X"]);
    }

    #[test]
    fn a_copy_stays_where_the_variable_may_have_another_value() {
        let kept = [
            // The variable, or the temporary, may be assigned before the temporary is read.
            "      T = A/B\n      X = T\n      IF (A .GT. 0) X = 1\n      B = T*X\n",
            "      T = A/B\n      X = T\n      IF (A .GT. 0) T = 1\n      B = T*X\n",
            // In the iteration before.
            "      DO I = 1, 3\n        B = B*T\n        X = 2\n        T = A/B\n        X = T\n        X = X + 1\n      END DO\n      A = X\n",
            // The variable is named in between.
            "      X = A\n      T = A/B\n      B = X\n      X = T\n      A = T\n",
            // A function may change the temporary.
            "      T = A/B\n      X = T\n      A = F(T)\n      B = T*X\n",
            // Statements come between from elsewhere.
            "      T = A/B\n   10 X = T\n      T = 2*T\n      IF (T .LT. 9) GOTO 10\n      A = X\n",
        ];
        for body in kept {
            let assignments = merged(body);
            let stays = assignments.iter().any(|s| s == "X = T");
            assert!(stays, "{body}{assignments:#?}");
        }
    }
}
