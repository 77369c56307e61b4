//! What the parallel loops of derivatives need so that no two threads change the same variable.
//!
//! [`crate::legal::parallel`] has made the body of each parallel loop a call of a subroutine, so that
//! only arguments and COMMON variables are shared. The author of the program says that iterations do
//! not conflict in these. The tangent accesses the derivative of a variable where the program
//! accesses the variable, so that it has the same clauses. The adjoint of a shared variable is
//! changed where the program only reads the variable:
//!
//! | the shared variable | its adjoint |
//! |---|---|
//! | no two iterations access the same element (proven) | is changed as it is |
//! | the loop does not assign it, and it is a scalar or a small array | REDUCTION: each thread adds to its own |
//! | the loop does not assign it | ATOMIC, if the adjoint is only added to |
//! | a sum, by REDUCTION or ATOMIC | is only read |
//! | anything else | the loop is sequential, and a warning says so |
//!
//! [`settle`] decides this for the generated code itself, and also checks there what it relies on:
//! which variables the subroutine assigns, and that it assigns no other elements of shared arrays
//! than those that the original accesses.

use crate::legal::called::called;
use crate::legal::parallel::disjoint::of_one_iteration;
use crate::legal::parallel::{sequential, sums};
use farfel_lang::Span;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::build::paren;
use farfel_lang::ir::{
    BinOp, Block, Do, DoControl, Expr, ExprKind, Name, Parallel, Program, Reduction, SpecKind,
    Stmt, StmtKind, StorageClass, SymId, Unit, walk_block, walk_block_mut,
};
use farfel_lang::openmp;
use farfel_lang::print::print_expr;
use farfel_lang::storage::constant;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The maximum number of elements of an array of which each thread gets its own.
const SMALL: i64 = 4096;

/// A derivative unit.
pub(crate) struct DerivativeUnit<'u> {
    /// The subprogram that it is the derivative of.
    pub of: &'u Name,
    pub unit: &'u mut Unit,
    /// The variables that hold derivatives.
    pub derivatives: &'u HashSet<SymId>,
    /// Pairs of a derivative and its variable.
    pub primals: &'u [(SymId, SymId)],
}

/// What a loop needs.
#[derive(Default)]
struct Decision {
    /// Derivatives to which all iterations add.
    reductions: Vec<SymId>,
    /// Variables whose values after the loop do not matter, although iterations assign them.
    first_private: Vec<SymId>,
    /// Derivatives that are updated by ATOMIC.
    atomic: Vec<SymId>,
    /// The variables of the called subroutine that are updated by ATOMIC.
    in_callee: BTreeSet<SymId>,
}

/// The subprograms that are iterations of parallel loops.
pub(crate) fn iterations(program: &Program) -> HashSet<Name> {
    let mut found = HashSet::new();
    for u in &program.units {
        walk_block(&u.body, &mut |s| {
            if let StmtKind::Do(d) = &s.kind
                && d.parallel().is_some()
            {
                found.extend(d.body.iter().filter_map(|s| match &s.kind {
                    StmtKind::Call(f, _) => Some(u.symbols[*f].name.clone()),
                    _ => None,
                }));
            }
        });
    }
    found
}

/// Whether a unit has parallel loops.
pub(crate) fn has_loops(unit: &Unit) -> bool {
    has_loops_in(&unit.body)
}

/// Whether statements contain parallel loops.
pub(crate) fn has_loops_in(block: &Block) -> bool {
    let mut found = false;
    walk_block(block, &mut |s| {
        found |= matches!(&s.kind, StmtKind::Do(d) if d.parallel().is_some());
    });
    found
}

/// Gives each thread its own of the variables that remember the sizes of growing tapes.
pub(crate) fn own_tape_sizes(unit: &mut Unit) {
    let kept: Vec<Name> = (unit.symbols.iter())
        .filter(|(_, s)| s.tape && s.saved && s.storage_class == StorageClass::Local)
        .map(|(_, s)| s.name.clone())
        .collect();
    let span = unit.span;
    for name in kept {
        let text = format!("$OMP THREADPRIVATE({name})");
        unit.add_spec(SpecKind::Comment(text.into()), span);
    }
}

/// Decides what the parallel loops of generated units need, and adds it. `primal` is the program that
/// they are the derivatives of, in the form from which they were made.
pub(crate) fn settle(
    units: &mut [DerivativeUnit],
    primal: &Program,
    warnings: &mut Vec<Diagnostic>,
) {
    let mut blocks = openmp::thread_private_blocks(&primal.units);
    let block_of = |u: &DerivativeUnit, s: SymId| match &u.unit.symbols[s].storage_class {
        StorageClass::Common(block) => Some(block.clone()),
        _ => None,
    };
    if !blocks.is_empty() {
        // The derivatives of what threads have of their own are their own, too.
        for u in units.iter() {
            for (d, p) in u.primals {
                if block_of(u, *p).is_some_and(|b| blocks.contains(&b)) {
                    blocks.extend(block_of(u, *d));
                }
            }
        }
        openmp::spread_thread_private(units.iter_mut().map(|u| &mut *u.unit), &blocks);
    }
    if !units.iter().any(|u| has_loops(u.unit)) {
        return;
    }
    let index: HashMap<Name, usize> = (units.iter().enumerate())
        .map(|(i, u)| (u.unit.name.clone(), i))
        .collect();
    let program = Settled {
        units: &*units,
        index: &index,
        primal,
    };
    let mut decisions: Vec<Vec<Result<Option<Decision>, String>>> = Vec::new();
    let mut atomics: BTreeMap<usize, BTreeSet<SymId>> = BTreeMap::new();
    for u in units.iter() {
        let mut found = Vec::new();
        walk_block(&u.unit.body, &mut |s| {
            if let StmtKind::Do(d) = &s.kind
                && let Some(clauses) = d.parallel()
            {
                let decision = program.decide(u, d, clauses);
                if let Ok(Some((callee, decision))) = &decision {
                    let all = atomics.entry(*callee).or_default();
                    all.extend(decision.in_callee.iter().copied());
                }
                found.push(decision.map(|d| d.map(|(_, d)| d)));
            }
        });
        decisions.push(found);
    }
    for (u, found) in units.iter_mut().zip(decisions) {
        let mut found = found.into_iter();
        walk_block_mut(&mut u.unit.body, &mut |s| {
            let span = s.span;
            let StmtKind::Do(d) = &mut s.kind else { return };
            let at = d.directive.as_ref().map_or(span, |m| m.span);
            let Some(clauses) = d.parallel_mut() else {
                return;
            };
            match found.next() {
                Some(Ok(Some(decision))) => apply(clauses, decision),
                Some(Ok(None)) => {}
                Some(Err(why)) => {
                    warnings.push(sequential(at, clauses.sections, &why));
                    d.directive = None;
                }
                None => d.directive = None,
            }
        });
    }
    for (callee, variables) in atomics {
        add_atomics(&mut units[callee].unit.body, &variables);
    }
}

fn apply(clauses: &mut Parallel, decision: Decision) {
    let Decision {
        reductions,
        first_private,
        atomic,
        in_callee: _,
    } = decision;
    if clauses.reverse {
        clauses.reductions.clear();
    }
    for s in reductions {
        clauses.shared.retain(|x| *x != s);
        clauses.reductions.push((Reduction::Add, s));
    }
    clauses.first_private.extend(first_private);
    clauses.atomic.extend(atomic);
}

/// Puts ATOMIC before the updates of shared variables in the original iterations that derivatives call.
pub(crate) fn settle_originals(units: &mut [Unit]) {
    let mut wanted: Vec<(Name, BTreeSet<usize>)> = Vec::new();
    for u in units.iter() {
        walk_block(&u.body, &mut |s| {
            let StmtKind::Do(d) = &s.kind else { return };
            let Some(clauses) = d.parallel() else { return };
            if clauses.reverse || clauses.atomic.is_empty() {
                return;
            }
            if let Some((f, args)) = only_call(d) {
                let atomic = |a: &Expr| a.base().is_some_and(|s| clauses.atomic.contains(&s));
                let at = args.iter().enumerate().filter(|(_, a)| atomic(a));
                let name = u.symbols[f].name.clone();
                wanted.push((name, at.map(|(i, _)| i).collect()));
                // COMMON variables are updated under their own names.
                for s in &clauses.atomic {
                    let symbol = &u.symbols[*s];
                    if matches!(symbol.storage_class, StorageClass::Common(_))
                        && let Some(callee) = units.iter().find(|c| c.name == u.symbols[f].name)
                        && let Some(own) = callee.symbols.find(&symbol.name)
                    {
                        let position = usize::MAX - own.0 as usize;
                        if let Some((_, all)) = wanted.last_mut() {
                            all.insert(position);
                        }
                    }
                }
            }
        });
    }
    for (name, positions) in wanted {
        let Some(callee) = units.iter_mut().find(|u| u.name == name) else {
            continue;
        };
        let variables: BTreeSet<SymId> = positions
            .into_iter()
            .filter_map(|p| match callee.args.get(p) {
                Some(a) => a.sym(),
                None => callee
                    .symbols
                    .ids()
                    .find(|s| usize::MAX - s.0 as usize == p),
            })
            .collect();
        add_atomics(&mut callee.body, &variables);
    }
}

/// Whether a unit has statements with ATOMIC.
pub(crate) fn has_atomics(unit: &Unit) -> bool {
    let mut found = false;
    walk_block(&unit.body, &mut |s| {
        found |= matches!(&s.kind, StmtKind::Comment(c) if openmp::is_atomic(c));
    });
    found
}

/// Returns the call that the body of a loop consists of.
fn only_call(d: &Do) -> Option<(SymId, &[Expr])> {
    let mut stmts = d
        .body
        .iter()
        .filter(|s| !matches!(s.kind, StmtKind::Comment(_)));
    match (stmts.next().map(|s| &s.kind), stmts.next()) {
        (Some(StmtKind::Call(f, args)), None) => Some((*f, args)),
        _ => None,
    }
}

struct Settled<'s, 'u> {
    units: &'s [DerivativeUnit<'u>],
    index: &'s HashMap<Name, usize>,
    primal: &'s Program,
}

impl<'s> Settled<'s, '_> {
    fn unit(&self, name: &str) -> Option<&'s Unit> {
        match self.index.get(name) {
            Some(i) => self.units.get(*i).map(|u| &*u.unit),
            None => self.primal.units.iter().find(|u| u.name == name),
        }
    }

    /// Decides what a loop needs. Returns nothing for a loop of the original iterations.
    fn decide(
        &self,
        u: &DerivativeUnit,
        d: &Do,
        clauses: &Parallel,
    ) -> Result<Option<(usize, Decision)>, String> {
        let (f, args) = only_call(d).ok_or("derivatives are computed between the iterations")?;
        let unit = &*u.unit;
        let Some(&callee) = self.index.get(&unit.symbols[f].name) else {
            return Ok(None);
        };
        let iteration = Iteration {
            program: self,
            caller: u,
            callee: &self.units[callee],
            clauses,
            var: match d.control {
                DoControl::Count { var, .. } => var,
                _ => return Err("the number of its iterations is not known".to_owned()),
            },
            args,
            assigned: self.assigned(&self.units[callee]),
        };
        let decision = match clauses.reverse {
            true => iteration.adjoint()?,
            false => iteration.tangent()?,
        };
        Ok(Some((callee, decision)))
    }

    /// The variables that a unit assigns.
    fn assigned(&self, u: &DerivativeUnit) -> HashSet<SymId> {
        self.assigned_in(u.unit, &mut Vec::new())
    }

    fn assigned_in(&self, unit: &Unit, above: &mut Vec<Name>) -> HashSet<SymId> {
        let mut found = HashSet::new();
        above.push(unit.name.clone());
        walk_block(&unit.body, &mut |s| {
            match &s.kind {
                StmtKind::Assign(target, _) => found.extend(target.base()),
                StmtKind::Do(d) => {
                    if let DoControl::Count { var, .. } = d.control {
                        found.insert(var);
                    }
                }
                StmtKind::Call(f, args) => self.passed(unit, *f, args, above, &mut found),
                StmtKind::Io(_) | StmtKind::Allocation(_) => s.for_each_own_expr(&mut |e| {
                    found.extend(e.base());
                }),
                _ => {}
            }
            s.for_each_own_expr(&mut |e| {
                e.walk(&mut |e| {
                    if let ExprKind::Call(f, args) = &e.kind
                        && !matches!(
                            unit.symbols[*f].class,
                            farfel_lang::ir::Class::Intrinsic(_)
                                | farfel_lang::ir::Class::StatementFunction(..)
                        )
                    {
                        self.passed(unit, *f, args, above, &mut found);
                    }
                });
            });
        });
        above.pop();
        found
    }

    fn passed(
        &self,
        unit: &Unit,
        f: SymId,
        args: &[Expr],
        above: &mut Vec<Name>,
        found: &mut HashSet<SymId>,
    ) {
        let name = &unit.symbols[f].name;
        let callee = match above.contains(name) {
            true => None,
            false => self.unit(name),
        };
        let theirs = callee.map(|c| (c, self.assigned_in(c, above)));
        for (i, a) in args.iter().enumerate() {
            let Some(base) = a.base() else { continue };
            let assigns = theirs.as_ref().is_none_or(|(c, assigned)| {
                let dummy = c.args.get(i).and_then(|a| a.sym());
                dummy.is_none_or(|d| assigned.contains(&d))
            });
            if assigns {
                found.insert(base);
            }
        }
    }

    /// The units that a unit reaches, without itself.
    fn below(&self, unit: &Unit) -> Vec<&'s Unit> {
        let mut found: Vec<&Unit> = Vec::new();
        let mut open: Vec<Name> = called(unit).collect();
        while let Some(name) = open.pop() {
            if let Some(u) = self.unit(&name)
                && found.iter().all(|f| f.name != u.name)
            {
                found.push(u);
                open.extend(called(u));
            }
        }
        found
    }
}

/// An iteration of a parallel loop of a derivative.
struct Iteration<'d, 's, 'u> {
    program: &'d Settled<'s, 'u>,
    caller: &'d DerivativeUnit<'u>,
    callee: &'d DerivativeUnit<'u>,
    clauses: &'d Parallel,
    var: SymId,
    args: &'d [Expr],
    /// The variables that the callee assigns.
    assigned: HashSet<SymId>,
}

/// A shared variable: an argument, or a COMMON variable.
struct SharedVariable {
    /// In the loop; `None` for a COMMON variable that the caller does not declare.
    actual: Option<SymId>,
    /// In the subroutine.
    own: SymId,
    /// Whether it is passed as an argument.
    passed: bool,
}

impl Iteration<'_, '_, '_> {
    fn name(&self, s: SymId) -> &Name {
        &self.caller.unit.symbols[s].name
    }

    /// The variables that the subroutine shares with other iterations.
    fn shared(&self) -> Vec<SharedVariable> {
        let callee = &*self.callee.unit;
        let mut found = Vec::new();
        for (dummy, a) in callee.args.iter().zip(self.args) {
            let (Some(own), Some(actual)) = (dummy.sym(), a.base()) else {
                continue;
            };
            found.push(SharedVariable {
                actual: Some(actual),
                own,
                passed: true,
            });
        }
        for (own, s) in callee.symbols.iter() {
            let StorageClass::Common(block) = &s.storage_class else {
                continue;
            };
            let caller = &self.caller.unit.symbols;
            let actual = caller.find(&s.name).filter(
                |x| matches!(&caller[*x].storage_class, StorageClass::Common(b) if b == block),
            );
            found.push(SharedVariable {
                actual,
                own,
                passed: false,
            });
        }
        found
    }

    /// The variable that a derivative in the caller belongs to.
    fn primal(&self, derivative: SymId) -> Option<SymId> {
        let mut pairs = self.caller.primals.iter();
        pairs.find(|(d, _)| *d == derivative).map(|(_, p)| *p)
    }

    fn is_derivative(&self, v: &SharedVariable) -> bool {
        self.callee.derivatives.contains(&v.own)
            || v.actual
                .is_some_and(|s| self.caller.derivatives.contains(&s))
    }

    fn tangent(&self) -> Result<Decision, String> {
        let mut decision = Decision::default();
        let body = &self.callee.unit.body;
        for v in self.shared() {
            let Some(actual) = v.actual else { continue };
            if self.callee.unit.is_thread_private(v.own) {
                continue;
            }
            if self.clauses.atomic.contains(&actual) {
                decision.in_callee.insert(v.own);
            }
            if !self.is_derivative(&v) {
                let known = self.clauses.has(actual) || actual == self.var;
                if self.assigned.contains(&v.own) && v.passed && !known {
                    return Err(format!("its iterations share {}", self.name(actual)));
                }
                continue;
            }
            if !self.assigned.contains(&v.own) {
                continue;
            }
            let primal = self.primal(actual);
            match primal.and_then(|p| self.clauses.reduction(p)) {
                Some(Reduction::Add) => decision.reductions.push(actual),
                Some(op) => {
                    return Err(format!(
                        "the derivative of REDUCTION({}:{}) is not a sum",
                        op.word(),
                        primal.map_or(self.name(actual), |p| self.name(p))
                    ));
                }
                None => {}
            }
            match primal {
                Some(p) if self.clauses.atomic.contains(&p) => {
                    decision.in_callee.insert(v.own);
                    decision.atomic.push(actual);
                }
                Some(p) if self.clauses.has(p) => {}
                _ if !v.passed => {}
                _ => return Err(format!("its iterations share {}", self.name(actual))),
            }
        }
        for s in &decision.in_callee {
            if !sums::only_updates(body, *s) {
                let name = &self.callee.unit.symbols[*s].name;
                return Err(format!("{name} is not only updated by ATOMIC"));
            }
        }
        Ok(decision)
    }

    fn adjoint(&self) -> Result<Decision, String> {
        let mut decision = Decision::default();
        let callee = &*self.callee.unit;
        let original = self.program.primal.units.iter();
        let original = original
            .clone()
            .find(|u| u.name == *self.callee.of)
            .ok_or("its original is not known")?;
        let assigned_before = self.program.assigned_in(original, &mut Vec::new());
        let is_assigned_before = |name: &Name| {
            let s = original.symbols.find(name);
            s.is_none_or(|s| assigned_before.contains(&s))
        };
        // The variables that need not be checked element by element: threads have their own, or only one
        // iteration uses them.
        let mut own: HashSet<SymId> = HashSet::new();
        let number = original.args.first().and_then(|a| a.sym());
        let alone = number.map(|n| of_one_iteration(original, &original.body, n));
        let alone: HashSet<&Name> = (alone.iter().flatten())
            .map(|s| &original.symbols[*s].name)
            .collect();
        for v in self.shared() {
            if !self.assigned.contains(&v.own) {
                continue;
            }
            if callee.is_thread_private(v.own) {
                own.insert(v.own);
                continue;
            }
            let is_derivative = self.is_derivative(&v);
            let symbol = &callee.symbols[v.own];
            let Some(actual) = v.actual else {
                if is_derivative {
                    return Err(format!("its iterations share {}", symbol.name));
                }
                continue;
            };
            if actual == self.var {
                return Err("it changes the loop variable".to_owned());
            }
            let subject = match is_derivative {
                true => self
                    .primal(actual)
                    .ok_or_else(|| format!("its iterations share {}", self.name(actual)))?,
                false => actual,
            };
            if alone.contains(self.name(subject)) {
                own.insert(v.own);
                continue;
            }
            let of = |list: &[SymId]| list.contains(&subject);
            let reduced = self.clauses.reduction(subject).is_some();
            if !is_derivative {
                if reduced {
                    decision.first_private.push(actual);
                    own.insert(v.own);
                } else if of(&self.clauses.atomic) {
                    decision.in_callee.insert(v.own);
                } else if v.passed && !of(&self.clauses.shared) {
                    return Err(format!("its iterations share {}", self.name(actual)));
                }
                continue;
            }
            if reduced || of(&self.clauses.atomic) {
                return Err(format!("it changes {}", self.name(actual)));
            }
            if of(&self.clauses.disjoint) {
                continue;
            }
            let primal_name = self.name(subject);
            if is_assigned_before(primal_name) {
                return Err(format!(
                    "it assigns elements of {primal_name}, and others are not proven to be read by one iteration only"
                ));
            }
            if v.passed && is_small(&self.caller.unit.symbols[actual], self.caller.unit) {
                decision.reductions.push(actual);
                own.insert(v.own);
            } else if sums::only_updates(&callee.body, v.own) {
                decision.in_callee.insert(v.own);
                decision.atomic.push(actual);
            } else {
                return Err(format!(
                    "several iterations may read the same elements of {primal_name}, so that they would change {} at the same time",
                    self.name(actual)
                ));
            }
        }
        for s in &decision.in_callee {
            if !sums::only_updates(&callee.body, *s) {
                let name = &callee.symbols[*s].name;
                return Err(format!("{name} is not only updated"));
            }
        }
        self.check_elements(original, &own)?;
        self.check_below()?;
        Ok(decision)
    }

    /// Checks that the subroutine assigns no other elements of shared variables than those that the original
    /// accesses.
    fn check_elements(&self, original: &Unit, own: &HashSet<SymId>) -> Result<(), String> {
        let mut accessed: HashSet<String> = HashSet::new();
        walk_block(&original.body, &mut |s| {
            s.for_each_own_expr(&mut |e| {
                e.walk(&mut |e| {
                    if matches!(e.kind, ExprKind::Element(..) | ExprKind::Var(_)) {
                        accessed.insert(print_expr(original, e));
                    }
                });
            });
        });
        let callee = &*self.callee.unit;
        let pairs: HashMap<SymId, SymId> = self.callee.primals.iter().copied().collect();
        let is_shared = |s: SymId| {
            let class = &callee.symbols[s].storage_class;
            !own.contains(&s) && matches!(class, StorageClass::Dummy | StorageClass::Common(_))
        };
        let as_before = |e: &Expr| {
            let mut e = e.clone();
            let whole;
            match &mut e.kind {
                ExprKind::Element(s, _) | ExprKind::Var(s) => {
                    whole = callee.symbols[*s].is_array();
                    if let Some(p) = pairs.get(s) {
                        *s = *p;
                    }
                }
                _ => return false,
            }
            let whole = whole && matches!(e.kind, ExprKind::Var(_));
            !whole && accessed.contains(&print_expr(callee, &e))
        };
        let mut wrong: Option<&Name> = None;
        walk_block(&callee.body, &mut |s| {
            match &s.kind {
                StmtKind::Assign(target, _) => {
                    if let Some(base) = target.base()
                        && is_shared(base)
                        && !as_before(target)
                    {
                        wrong.get_or_insert(&callee.symbols[base].name);
                    }
                }
                StmtKind::Call(f, args) => {
                    let name = &callee.symbols[*f].name;
                    // The original accesses what it accessed before.
                    if !self.program.index.contains_key(name)
                        && self.program.primal.units.iter().any(|u| u.name == *name)
                    {
                        return;
                    }
                    let theirs = self.program.unit(name);
                    let assigned = theirs.map(|u| self.program.assigned_in(u, &mut Vec::new()));
                    for (i, a) in args.iter().enumerate() {
                        let Some(base) = a.base().filter(|b| is_shared(*b)) else {
                            continue;
                        };
                        let dummy = theirs.and_then(|u| u.args.get(i)?.sym());
                        let assigns = match (&assigned, dummy) {
                            (Some(all), Some(d)) => all.contains(&d),
                            _ => true,
                        };
                        let scalar = match (theirs, dummy) {
                            (Some(u), Some(d)) => !u.symbols[d].is_array(),
                            _ => false,
                        };
                        if assigns && !(scalar && as_before(a)) {
                            wrong.get_or_insert(&callee.symbols[base].name);
                        }
                    }
                }
                _ => {}
            }
        });
        match wrong {
            None => Ok(()),
            Some(name) => Err(format!(
                "its iterations are not proven to change different elements of {name}"
            )),
        }
    }

    /// Checks that derivatives below the subroutine change no COMMON variables.
    fn check_below(&self) -> Result<(), String> {
        for u in self.program.below(self.callee.unit) {
            if !self.program.index.contains_key(&u.name) {
                continue;
            }
            for s in self.program.assigned_in(u, &mut Vec::new()) {
                let symbol = &u.symbols[s];
                if u.is_thread_private(s) {
                    continue;
                }
                if matches!(symbol.storage_class, StorageClass::Common(_)) {
                    return Err(format!("{} changes {} in COMMON", u.name, symbol.name));
                }
                if symbol.saved && symbol.storage_class == StorageClass::Local {
                    return Err(format!(
                        "{} keeps {} from call to call",
                        u.name, symbol.name
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Whether each thread can have its own copy of a variable.
fn is_small(symbol: &farfel_lang::ir::Symbol, unit: &Unit) -> bool {
    let mut size: i64 = 1;
    for d in &symbol.dims {
        let lower = match &d.lower {
            None => Some(1),
            Some(e) => constant::integer(unit, e),
        };
        let upper = d.upper.as_ref().and_then(|e| constant::integer(unit, e));
        let (Some(lower), Some(upper)) = (lower, upper) else {
            return false;
        };
        size = size.saturating_mul(upper.saturating_sub(lower).saturating_add(1).max(0));
    }
    size <= SMALL
}

/// Puts ATOMIC before the statements that update some variables.
fn add_atomics(block: &mut Block, variables: &BTreeSet<SymId>) {
    if variables.is_empty() {
        return;
    }
    let mut out: Block = Vec::with_capacity(block.len());
    for mut s in std::mem::take(block) {
        let span = s.span;
        if let StmtKind::LogicalIf(condition, inner) = &s.kind
            && matches!(&inner.kind, StmtKind::Assign(t, _) if t.base().is_some_and(|b| variables.contains(&b)))
        {
            let mut arm = vec![(**inner).clone()];
            add_atomics(&mut arm, variables);
            let mut made = Stmt::branches(vec![(condition.clone(), arm)], None, span);
            made.label = s.label;
            out.push(made);
            continue;
        }
        s.blocks_mut()
            .into_iter()
            .for_each(|b| add_atomics(b, variables));
        if let StmtKind::Assign(target, value) = &s.kind
            && target.base().is_some_and(|b| variables.contains(&b))
        {
            let marked = out
                .last()
                .is_some_and(|s| matches!(&s.kind, StmtKind::Comment(c) if openmp::is_atomic(c)));
            if !marked {
                out.push(Stmt::comment("$OMP ATOMIC", Span::NONE));
            }
            if let Some(value) = as_update(target, value) {
                s.kind = StmtKind::Assign(target.clone(), value);
            }
        }
        out.push(s);
    }
    *block = out;
}

/// Writes the value of an update as `target + …`.
fn as_update(target: &Expr, value: &Expr) -> Option<Expr> {
    let terms = sums::added(target, value)?;
    let mut sum: Option<(Expr, bool)> = None;
    for (e, negative) in terms {
        sum = Some(match sum {
            None => (e.clone(), negative),
            Some((sum, minus)) => {
                // With the first term subtracted, the others have the opposite sign.
                let op = match negative != minus {
                    true => BinOp::Sub,
                    false => BinOp::Add,
                };
                let e = match e.kind {
                    ExprKind::Binary(BinOp::Add | BinOp::Sub, ..) | ExprKind::Unary(..) => {
                        paren(e.clone())
                    }
                    _ => e.clone(),
                };
                (Expr::binary(op, sum, e), minus)
            }
        });
    }
    let (sum, minus) = sum?;
    let sum = match sum.kind {
        ExprKind::Binary(BinOp::Add | BinOp::Sub, ..) | ExprKind::Unary(..) => paren(sum),
        _ => sum,
    };
    let op = match minus {
        true => BinOp::Sub,
        false => BinOp::Add,
    };
    Some(Expr::binary(op, target.clone(), sum))
}
