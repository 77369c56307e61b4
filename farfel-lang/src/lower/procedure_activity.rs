//! Determines which derivatives of a procedure without source AD blocks need.
//!
//! A block needs the derivative of a procedure if an argument of a call may depend on its independents
//! and if a dependent may depend on what the call computes. The order of statements does not matter
//! here, and all calls of a subprogram count as one, so the answer may contain derivatives that the AD
//! tool, which knows more, does not use. It never lacks one.
//!
//! If a block is inside another one, also in a subprogram that the other one calls, the outer block
//! differentiates the derivative of the inner one. So the answer is a set of sequences, from the
//! innermost block outwards: the tangent, the tangent of the adjoint, ….

use super::calls::global;
use crate::callgraph::CallGraph;
use crate::effects::{Assigned, closure_may_assign};
use crate::ir::{
    AdBlock, AdItem, AdMode, DoControl, Expr, ExprKind, Name, Program, SpecKind, Stmt, StmtKind,
    StorageClass, SymId, Unit, for_each_reference, for_each_symbol, walk_block,
};
use crate::types::type_of;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The derivatives of a procedure that a program needs: for each, the modes of the blocks, innermost
/// first.
pub(super) type Derivatives = BTreeSet<Vec<AdMode>>;

/// A program, and the AD blocks in it.
pub(super) struct Activity<'p> {
    program: &'p Program,
    graph: &'p CallGraph,
    assigned: Assigned,
    /// For each unit, the first of the names that EQUIVALENCE gives to the same storage.
    storage: Vec<HashMap<SymId, SymId>>,
    constant: HashSet<&'p Name>,
    blocks: Vec<Block<'p>>,
}

struct Block<'p> {
    unit: usize,
    block: &'p AdBlock,
    facts: Facts<'p>,
    /// The indices of the blocks inside it whose derivatives have a derivative in this block.
    inner: Vec<usize>,
}

/// A variable, the result of a function, or a COMMON block.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Location<'p> {
    Local(usize, SymId),
    Common(&'p Name),
}

/// What is known of the statements of one block and of the units that they call.
#[derive(Default)]
struct Facts<'p> {
    /// May depend on the independents.
    varied: HashSet<Location<'p>>,
    /// The dependents may depend on it.
    useful: HashSet<Location<'p>>,
    /// The references to functions without source on whose values the dependents may depend.
    useful_values: HashSet<*const Expr>,
}

impl<'p> Activity<'p> {
    pub(super) fn of(program: &'p Program, graph: &'p CallGraph) -> Activity<'p> {
        let units = || program.units.iter();
        let named = units().flat_map(|u| &u.directives);
        let named = named.filter(|g| g.is_constant()).map(|g| &g.procedure);
        let own = units().filter(|u| u.constant).map(|u| &u.name);
        let mut activity = Activity {
            program,
            graph,
            assigned: Assigned::of(program),
            storage: units().map(equivalences).collect(),
            constant: named.chain(own).collect(),
            blocks: Vec::new(),
        };
        let mut blocks: Vec<Block> = Vec::new();
        for (i, unit) in units().enumerate() {
            walk_block(&unit.body, &mut |s| {
                if let StmtKind::Ad(block) = &s.kind {
                    blocks.push(Block {
                        unit: i,
                        block,
                        facts: activity.facts(i, block),
                        inner: Vec::new(),
                    });
                }
            });
        }
        let inner: Vec<Vec<usize>> = (blocks.iter())
            .map(|outer| {
                let mut found = Vec::new();
                activity.for_each_statement(outer.unit, outer.block, &mut |unit, s| {
                    let StmtKind::Ad(inner) = &s.kind else {
                        return;
                    };
                    let same = |b: &Block| std::ptr::eq(b.block, &raw const **inner);
                    let passes = activity.enters(unit, inner, &outer.facts)
                        && activity.leaves(unit, inner, &outer.facts);
                    found.extend(blocks.iter().position(same).filter(|_| passes));
                });
                found
            })
            .collect();
        for (block, inner) in blocks.iter_mut().zip(inner) {
            block.inner = inner;
        }
        activity.blocks = blocks;
        activity
    }

    /// Returns the derivatives of a procedure without source that the blocks need.
    pub(super) fn derivatives(&self, procedure: &Name) -> Derivatives {
        let mut found = Derivatives::new();
        for (i, b) in self.blocks.iter().enumerate() {
            if self.is_active(b, procedure) {
                self.outwards(&mut vec![i], &mut found);
            }
        }
        found
    }

    /// Adds the derivative that belongs to a sequence of blocks, and those of longer sequences.
    fn outwards(&self, chain: &mut Vec<usize>, found: &mut Derivatives) {
        let modes = chain.iter().map(|b| self.blocks[*b].block.mode);
        found.insert(modes.collect());
        let last = chain[chain.len() - 1];
        for (outer, b) in self.blocks.iter().enumerate() {
            // A block inside itself is an error that is reported elsewhere.
            if b.inner.contains(&last) && !chain.contains(&outer) {
                chain.push(outer);
                self.outwards(chain, found);
                chain.pop();
            }
        }
    }

    /// Calls `f` on the statements of a block and of the units that it reaches.
    fn for_each_statement(
        &self,
        unit: usize,
        block: &'p AdBlock,
        f: &mut dyn FnMut(usize, &'p Stmt),
    ) {
        let mut called = BTreeSet::new();
        for_each_reference(&block.body, &mut |r| {
            called.extend(self.unit(unit, r.procedure));
            let passed = r.args.iter().filter_map(|a| match a.kind {
                ExprKind::Var(s) | ExprKind::Closure(s, _) => self.unit(unit, s),
                _ => None,
            });
            called.extend(passed);
        });
        walk_block(&block.body, &mut |s| f(unit, s));
        for i in self.graph.reached(called) {
            if let Some(u) = self.program.units.get(i) {
                walk_block(&u.body, &mut |s| f(i, s));
            }
        }
    }

    /// The unit of the program that a symbol of a unit names.
    fn unit(&self, unit: usize, s: SymId) -> Option<usize> {
        let name = global(&self.program.units[unit].symbols, s)?;
        let index = self.graph.index(name)?;
        (index < self.program.units.len()).then_some(index)
    }

    fn is_constant(&self, unit: usize, s: SymId) -> bool {
        self.constant
            .contains(&self.program.units[unit].symbols[s].name)
    }

    fn location(&self, unit: usize, s: SymId) -> Option<Location<'p>> {
        let s = self.storage[unit].get(&s).copied().unwrap_or(s);
        let symbol = &self.program.units[unit].symbols[s];
        match &symbol.storage_class {
            StorageClass::Common(block) => Some(Location::Common(block)),
            _ if symbol.is_variable() => Some(Location::Local(unit, s)),
            _ => None,
        }
    }

    fn carries(&self, unit: usize, e: &Expr) -> bool {
        type_of(&self.program.units[unit], e).is_none_or(|t| t.is_differentiable())
    }

    /// The location of a variable that can have a derivative.
    fn target(&self, unit: usize, e: &Expr) -> Option<Location<'p>> {
        let base = e.base()?;
        let ty = self.program.units[unit].symbols[base].ty;
        let location = self.location(unit, base)?;
        ty.is_none_or(|t| t.is_differentiable()).then_some(location)
    }

    /// Whether a call of a procedure without source may assign an argument.
    fn may_assign(&self, unit: usize, procedure: SymId, position: usize, actual: &Expr) -> bool {
        closure_may_assign(&self.program.units[unit], procedure, position, actual)
    }

    /// The dummy argument of a unit at a position, and whether the unit may assign it.
    fn dummy(&self, unit: usize, position: usize) -> Option<(Location<'p>, bool)> {
        let u = &self.program.units[unit];
        let dummy = u.args.get(position)?.sym()?;
        let location = self.location(unit, dummy)?;
        Some((location, self.assigned.argument(&u.name, position)))
    }

    fn result(&self, unit: usize) -> Option<Location<'p>> {
        self.location(unit, self.program.units[unit].result?)
    }

    fn facts(&self, unit: usize, block: &'p AdBlock) -> Facts<'p> {
        let (independents, dependents) = block.named();
        let locations = |list: Vec<SymId>| -> HashSet<Location<'p>> {
            let found = list.into_iter().filter_map(|s| self.location(unit, s));
            found.collect()
        };
        let mut facts = Facts {
            varied: locations(independents),
            useful: locations(dependents),
            ..Facts::default()
        };
        let mut statements = Vec::new();
        self.for_each_statement(unit, block, &mut |u, s| statements.push((u, s)));
        let size = |f: &Facts| f.varied.len() + f.useful.len() + f.useful_values.len();
        loop {
            let before = size(&facts);
            for (u, s) in &statements {
                self.vary(*u, s, &mut facts);
            }
            for (u, s) in statements.iter().rev() {
                self.use_(*u, s, &mut facts);
            }
            if size(&facts) == before {
                return facts;
            }
        }
    }

    /// Adds what a statement computes from varied variables.
    fn vary(&self, unit: usize, s: &'p Stmt, facts: &mut Facts<'p>) {
        match &s.kind {
            StmtKind::Assign(to, value) if self.varies(unit, value, facts) => {
                facts.varied.extend(self.target(unit, to));
            }
            StmtKind::Do(d) => {
                if let DoControl::Count {
                    var,
                    from,
                    to,
                    step,
                } = &d.control
                    && [from, to]
                        .into_iter()
                        .chain(step)
                        .any(|e| self.varies(unit, e, facts))
                {
                    facts
                        .varied
                        .extend(self.target(unit, &Expr::var(*var, s.span)));
                }
            }
            StmtKind::Ad(block) if self.enters(unit, block, facts) => {
                for_each_destination(block, &mut |e| facts.varied.extend(self.target(unit, e)));
            }
            _ => {}
        }
        for_each_own_reference(s, &mut |procedure, args| {
            if self.is_constant(unit, procedure) {
                return;
            }
            match self.unit(unit, procedure) {
                Some(callee) => {
                    for (i, a) in args.iter().enumerate() {
                        let Some((dummy, assigned)) = self.dummy(callee, i) else {
                            continue;
                        };
                        if self.varies(unit, a, facts) {
                            facts.varied.insert(dummy.clone());
                        }
                        if assigned && facts.varied.contains(&dummy) {
                            facts.varied.extend(self.target(unit, a));
                        }
                    }
                }
                None if args.iter().any(|a| self.varies(unit, a, facts)) => {
                    let assigned = args.iter().enumerate();
                    let assigned =
                        assigned.filter(|(i, a)| self.may_assign(unit, procedure, *i, a));
                    facts
                        .varied
                        .extend(assigned.filter_map(|(_, a)| self.target(unit, a)));
                }
                None => {}
            }
        });
    }

    /// Whether the value of an expression may depend on varied variables.
    fn varies(&self, unit: usize, e: &'p Expr, facts: &Facts<'p>) -> bool {
        if !self.carries(unit, e) {
            return false;
        }
        match &e.kind {
            ExprKind::Var(s) | ExprKind::Element(s, _) => self
                .location(unit, *s)
                .is_some_and(|l| facts.varied.contains(&l)),
            ExprKind::Call(f, _) if self.is_constant(unit, *f) => false,
            ExprKind::Call(f, args) => match self.unit(unit, *f) {
                Some(callee) => self
                    .result(callee)
                    .is_some_and(|l| facts.varied.contains(&l)),
                None => args.iter().any(|a| self.varies(unit, a, facts)),
            },
            _ => e
                .children()
                .into_iter()
                .any(|c| self.varies(unit, c, facts)),
        }
    }

    /// Adds the variables from which a statement computes useful ones.
    fn use_(&self, unit: usize, s: &'p Stmt, facts: &mut Facts<'p>) {
        match &s.kind {
            StmtKind::Assign(to, value)
                if self
                    .target(unit, to)
                    .is_some_and(|l| facts.useful.contains(&l)) =>
            {
                self.use_value(unit, value, facts);
            }
            StmtKind::Ad(block) if self.leaves(unit, block, facts) => {
                // The derivative may depend on everything that the statements compute.
                let mut all = HashSet::new();
                for_each_symbol(&block.body, &mut |s| {
                    all.insert(s);
                });
                all.extend(AdItem::bases(&block.opening));
                let all = all.into_iter().filter_map(|s| self.location(unit, s));
                facts.useful.extend(all);
                for_each_reference(&block.body, &mut |r| {
                    if let Some(callee) = self.unit(unit, r.procedure) {
                        facts.useful.extend(self.result(callee));
                    }
                    for a in r.args {
                        self.use_value(unit, a, facts);
                    }
                });
                walk_block(&block.body, &mut |s| {
                    s.for_each_own_expr(&mut |e| self.use_value(unit, e, facts));
                });
                for item in &block.opening {
                    item.for_each_assign(&mut |a| self.use_value(unit, &a.other, facts));
                }
            }
            _ => {}
        }
        for_each_own_reference(s, &mut |procedure, args| {
            if self.is_constant(unit, procedure) {
                return;
            }
            let is_useful = |a: &Expr, facts: &Facts<'p>| {
                let location = self.target(unit, a);
                location.is_some_and(|l| facts.useful.contains(&l))
            };
            match self.unit(unit, procedure) {
                Some(callee) => {
                    for (i, a) in args.iter().enumerate() {
                        let Some((dummy, assigned)) = self.dummy(callee, i) else {
                            continue;
                        };
                        if assigned && is_useful(a, facts) {
                            facts.useful.insert(dummy.clone());
                        }
                        if facts.useful.contains(&dummy) {
                            self.use_value(unit, a, facts);
                        }
                    }
                }
                None => {
                    let assigns = |(i, a): (usize, &Expr)| {
                        self.may_assign(unit, procedure, i, a) && is_useful(a, facts)
                    };
                    if args.iter().enumerate().any(assigns) {
                        args.iter().for_each(|a| self.use_value(unit, a, facts));
                    }
                }
            }
        });
    }

    /// Adds the variables on which the value of an expression depends.
    fn use_value(&self, unit: usize, e: &'p Expr, facts: &mut Facts<'p>) {
        if !self.carries(unit, e) {
            return;
        }
        match &e.kind {
            ExprKind::Var(s) | ExprKind::Element(s, _) => {
                facts.useful.extend(self.location(unit, *s));
            }
            ExprKind::Call(f, _) if self.is_constant(unit, *f) => {}
            ExprKind::Call(f, args) => match self.unit(unit, *f) {
                Some(callee) => facts.useful.extend(self.result(callee)),
                None => {
                    facts.useful_values.insert(e);
                    args.iter().for_each(|a| self.use_value(unit, a, facts));
                }
            },
            _ => {
                for c in e.children() {
                    self.use_value(unit, c, facts);
                }
            }
        }
    }

    /// Whether a block depends on what varies.
    fn enters(&self, unit: usize, block: &'p AdBlock, facts: &Facts<'p>) -> bool {
        let mut found = facts
            .varied
            .iter()
            .any(|l| matches!(l, Location::Common(_)));
        let mut check = |s: SymId| {
            let location = self.location(unit, s);
            found |= location.is_some_and(|l| facts.varied.contains(&l));
        };
        for_each_symbol(&block.body, &mut check);
        for item in block.opening.iter().chain(&block.closing) {
            item.for_each_assign(&mut |a| {
                a.other.for_each_symbol(&mut check);
                a.var.for_each_symbol(&mut check);
            });
        }
        found
    }

    /// Whether derivatives that a block computes are useful.
    fn leaves(&self, unit: usize, block: &'p AdBlock, facts: &Facts<'p>) -> bool {
        let mut found = false;
        for_each_destination(block, &mut |e| {
            let location = self.target(unit, e);
            found |= location.is_some_and(|l| facts.useful.contains(&l));
        });
        found
    }

    /// Whether a block needs the derivative of a procedure without source.
    fn is_active(&self, b: &Block<'p>, procedure: &Name) -> bool {
        let mut active = false;
        self.for_each_statement(b.unit, b.block, &mut |unit, s| {
            let symbols = &self.program.units[unit].symbols;
            let is_it = |f: SymId| global(symbols, f) == Some(procedure);
            let varies = |args: &'p [Expr]| args.iter().any(|a| self.varies(unit, a, &b.facts));
            if let StmtKind::Call(f, args) = &s.kind
                && is_it(*f)
                && varies(args)
            {
                active |= args.iter().enumerate().any(|(i, a)| {
                    let target = self.target(unit, a);
                    self.may_assign(unit, *f, i, a)
                        && target.is_some_and(|l| b.facts.useful.contains(&l))
                });
            }
            s.for_each_own_expr(&mut |e| {
                e.walk(&mut |e| {
                    if let ExprKind::Call(f, args) = &e.kind
                        && is_it(*f)
                        && varies(args)
                    {
                        active |= b.facts.useful_values.contains(&std::ptr::from_ref(e));
                    }
                });
            });
        });
        active
    }
}

/// Calls `f` on the variables to which the closing of a block assigns derivatives.
fn for_each_destination<'p>(block: &'p AdBlock, f: &mut dyn FnMut(&'p Expr)) {
    for item in &block.closing {
        item.for_each_assign(&mut |a| f(&a.other));
    }
}

/// Calls `f` on the calls of a statement itself, not of the statements inside it.
fn for_each_own_reference<'p>(s: &'p Stmt, f: &mut dyn FnMut(SymId, &'p [Expr])) {
    if let StmtKind::Call(procedure, args) = &s.kind {
        f(*procedure, args);
    }
    s.for_each_own_expr(&mut |e| {
        e.walk(&mut |e| {
            if let ExprKind::Call(procedure, args) = &e.kind {
                f(*procedure, args);
            }
        });
    });
}

/// Returns the first name for the storage of each variable in an EQUIVALENCE, COMMON before others.
fn equivalences(unit: &Unit) -> HashMap<SymId, SymId> {
    let mut groups: Vec<BTreeSet<SymId>> = Vec::new();
    for spec in &unit.specs {
        let SpecKind::Equivalence(written) = &spec.kind else {
            continue;
        };
        for names in written {
            let mut group: BTreeSet<SymId> = names.iter().filter_map(Expr::base).collect();
            groups.retain(|other| {
                let joined = !other.is_disjoint(&group);
                if joined {
                    group.extend(other);
                }
                !joined
            });
            groups.push(group);
        }
    }
    let mut first = HashMap::new();
    for group in groups {
        let shared =
            |s: &&SymId| matches!(unit.symbols[**s].storage_class, StorageClass::Common(_));
        let representative = group.iter().find(shared).or(group.first()).copied();
        for s in &group {
            if let Some(r) = representative {
                first.insert(*s, r);
            }
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::AdMode::{Forward, Reverse};

    /// The derivatives of a procedure that the blocks of a program need.
    fn needed(text: &str, procedure: &str) -> Vec<Vec<AdMode>> {
        let mut sources = crate::Sources::new();
        let file = sources.add("a.ff", text);
        let mut parsed =
            crate::syntax::parse(&mut sources, file, None, &mut crate::syntax::NoIncludes);
        let errors = crate::resolve::resolve(&mut parsed.program);
        assert!(!crate::diagnostic::any_errors(&errors), "{errors:?}");
        let graph = CallGraph::of(&parsed.program);
        let activity = Activity::of(&parsed.program, &graph);
        activity
            .derivatives(&procedure.into())
            .into_iter()
            .collect()
    }

    const PASSIVE: &str = "
      SUBROUTINE S(X, P, Z)
      EXTERNAL W, F, G
      COMMON /C/ Q
      ADF(X)
      IF (G(X) .GT. 0) P = 3
      Q = W(P)
      CALL INNER(X, Y)
      END ADF(Z = TANGENT(Y))
      END
      SUBROUTINE INNER(A, B)
      COMMON /C/ Q
      EXTERNAL F
      B = Q*F(A)
      END
";

    #[test]
    fn only_what_derivatives_go_through_counts() {
        assert_eq!(needed(PASSIVE, "F"), [[Forward]]);
        assert!(needed(PASSIVE, "W").is_empty());
        assert!(needed(PASSIVE, "G").is_empty());
    }

    #[test]
    fn blocks_in_blocks_need_derivatives_of_derivatives() {
        let text = "
      SUBROUTINE S(X, H)
      ADF(X)
      CALL SLOPE(X, D)
      END ADF(H = TANGENT(D))
      END
      SUBROUTINE SLOPE(X, D)
      EXTERNAL F
      ADR(Y)
      Y = F(X)
      END ADR(D = COTANGENT(X))
      END
";
        assert_eq!(
            needed(text, "F"),
            [vec![Forward], vec![Reverse], vec![Reverse, Forward]]
        );
    }
}
