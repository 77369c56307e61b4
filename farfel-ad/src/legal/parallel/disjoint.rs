//! Proves that different iterations of a parallel loop access different elements of an array.
//!
//! The adjoint of a loop adds to the adjoint of an array wherever the loop reads the array. Iterations
//! that read the same element then change the same variable, although they did not before. Two
//! things prove that this does not happen:
//!
//! - The subscripts, if they are sums of integer variables: `X(2*I)` and `X(2*I + 1)` are never the
//!   same for different I.
//! - The loop itself, since its author says that iterations do not conflict: if an iteration assigns
//!   `Y(K(I))`, no other iteration accesses that element. So different iterations have different
//!   K(I), which then holds for `X(K(I))` as well.
//!
//! Source: J. Hückelheim, M. Schanen, S. H. K. Narayanan and P. Hovland, *FormAD: Automatic
//! differentiation of parallel loops with formal methods*, ICPP 2022. It lets a solver prove what
//! is compared as text here.

use crate::affine::Affine;
use farfel_lang::ir::{
    BinOp, Class, DoControl, Expr, ExprKind, Name, Stmt, StmtKind, StorageClass, SymId, Unit,
    for_each_symbol,
};
use farfel_lang::storage::constant;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The body of a parallel loop.
pub(super) struct LoopBody<'b> {
    pub unit: &'b Unit,
    pub body: &'b [Stmt],
    /// The loop variable.
    pub var: SymId,
    /// The step, if it is known.
    pub step: Option<i64>,
    pub shared: &'b [SymId],
    pub first_private: &'b [SymId],
    /// The shared variables that are updated by ATOMIC.
    pub atomic: &'b BTreeSet<SymId>,
    /// The variables that the body assigns.
    pub assigned: &'b HashSet<SymId>,
    /// Which arguments of units are scalars.
    pub scalars: &'b HashMap<Name, Vec<bool>>,
}

/// The blocks around a statement: for each, an id of the statement that contains it, and its number there.
type Path = Vec<(usize, usize)>;

/// An access of an array element.
struct Element<'b> {
    array: SymId,
    subscripts: &'b [Expr],
    writes: bool,
    reads: bool,
    path: Path,
    /// The position of the statement in the order of the text.
    place: usize,
}

/// An assignment of a scalar.
struct Definition<'b> {
    path: Path,
    place: usize,
    value: Option<&'b Expr>,
}

#[derive(Default)]
struct Accesses<'b> {
    elements: Vec<Element<'b>>,
    /// Arrays with accesses of other kinds.
    others: HashSet<SymId>,
    definitions: HashMap<SymId, Vec<Definition<'b>>>,
    /// The variables of inner loops, with the paths of their bodies.
    counters: HashMap<SymId, Vec<Path>>,
    calls: bool,
    /// Whether statements may be skipped by jumps.
    jumps: bool,
    statements: usize,
}

/// Returns the shared arrays of which no two iterations access the same element.
pub(super) fn disjoint(l: &LoopBody) -> Vec<SymId> {
    let mut all = Accesses::default();
    all.block(l, l.body, &Vec::new());
    let is = |s: &SymId| {
        let symbol = &l.unit.symbols[*s];
        let common = matches!(symbol.storage_class, StorageClass::Common(_));
        symbol.is_array() && !all.others.contains(s) && !(common && all.calls)
    };
    let arrays = l.shared.iter().copied().filter(is);
    arrays.filter(|s| all.proves(l, *s)).collect()
}

/// Returns the variables that only one iteration of a loop uses, if each iteration executes another
/// arm of an IF, as sections do.
pub(crate) fn of_one_iteration(unit: &Unit, body: &[Stmt], var: SymId) -> BTreeSet<SymId> {
    let mut stmts = (body.iter()).filter(|s| !matches!(s.kind, StmtKind::Comment(_)));
    let arms = match (stmts.next().map(|s| &s.kind), stmts.next()) {
        (Some(StmtKind::If(block)), None) if block.otherwise.is_none() => &block.arms,
        _ => return BTreeSet::new(),
    };
    let mut numbers = HashSet::new();
    let mut users: HashMap<SymId, usize> = HashMap::new();
    for (condition, arm) in arms {
        let number = match &condition.kind {
            ExprKind::Binary(BinOp::Eq, a, b) if matches!(a.kind, ExprKind::Var(v) if v == var) => {
                constant::integer(unit, b)
            }
            _ => None,
        };
        match number {
            Some(n) if numbers.insert(n) => {}
            _ => return BTreeSet::new(),
        }
        let mut used = HashSet::new();
        for_each_symbol(arm, &mut |s| {
            used.insert(s);
        });
        for s in used {
            *users.entry(s).or_default() += 1;
        }
    }
    let alone = users.into_iter().filter(|(_, n)| *n == 1).map(|(s, _)| s);
    // Subprograms may use variables in COMMON, too.
    alone
        .filter(|s| {
            let symbol = &unit.symbols[*s];
            let common = matches!(symbol.storage_class, StorageClass::Common(_));
            symbol.is_variable() && !common
        })
        .collect()
}

impl<'b> Accesses<'b> {
    fn block(&mut self, l: &LoopBody<'b>, block: &'b [Stmt], path: &Path) {
        for s in block {
            self.statements += 1;
            let place = self.statements;
            match &s.kind {
                StmtKind::Assign(target, value) => {
                    self.expr(l, value, path, place);
                    for c in target.children() {
                        self.expr(l, c, path, place);
                    }
                    match &target.kind {
                        ExprKind::Element(array, subscripts) => {
                            self.element(*array, subscripts, true, false, path, place);
                        }
                        ExprKind::Var(v) if !l.unit.symbols[*v].is_array() => {
                            self.define(*v, path, place, Some(value));
                        }
                        _ => self.others.extend(target.base()),
                    }
                }
                StmtKind::Call(callee, args) => {
                    self.calls = true;
                    self.call(l, *callee, args, path, place);
                }
                _ => {
                    self.jumps |= matches!(
                        s.kind,
                        StmtKind::Return(_) | StmtKind::Cycle(_) | StmtKind::Exit(_)
                    ) || !s.kind.jumps().is_empty();
                    s.for_each_own_expr(&mut |e| self.expr(l, e, path, place));
                }
            }
            if let StmtKind::LogicalIf(_, inner) = &s.kind {
                let mut inside = path.clone();
                inside.push((place, 0));
                self.block(l, std::slice::from_ref(&**inner), &inside);
            }
            for (n, b) in s.blocks().into_iter().enumerate() {
                let mut inside = path.clone();
                inside.push((place, n));
                if let StmtKind::Do(d) = &s.kind
                    && let DoControl::Count { var, .. } = d.control
                {
                    self.counters.entry(var).or_default().push(inside.clone());
                }
                self.block(l, b, &inside);
            }
        }
    }

    fn define(&mut self, v: SymId, path: &Path, place: usize, value: Option<&'b Expr>) {
        let definition = Definition {
            path: path.clone(),
            place,
            value,
        };
        self.definitions.entry(v).or_default().push(definition);
    }

    fn element(
        &mut self,
        array: SymId,
        subscripts: &'b [Expr],
        writes: bool,
        reads: bool,
        path: &Path,
        place: usize,
    ) {
        let ranges = subscripts
            .iter()
            .any(|e| matches!(e.kind, ExprKind::Range(..)));
        if ranges {
            self.others.insert(array);
            return;
        }
        self.elements.push(Element {
            array,
            subscripts,
            writes,
            reads,
            path: path.clone(),
            place,
        });
    }

    fn expr(&mut self, l: &LoopBody<'b>, e: &'b Expr, path: &Path, place: usize) {
        match &e.kind {
            ExprKind::Var(s) if l.unit.symbols[*s].is_array() => {
                self.others.insert(*s);
            }
            ExprKind::Element(s, subscripts) => {
                self.element(*s, subscripts, false, true, path, place);
            }
            ExprKind::Call(f, args) if !matches!(l.unit.symbols[*f].class, Class::Intrinsic(_)) => {
                self.calls = true;
                return self.call(l, *f, args, path, place);
            }
            _ => {}
        }
        for c in e.children() {
            self.expr(l, c, path, place);
        }
    }

    fn call(&mut self, l: &LoopBody<'b>, f: SymId, args: &'b [Expr], path: &Path, place: usize) {
        let known = l.scalars.get(&l.unit.symbols[f].name);
        for (i, a) in args.iter().enumerate() {
            let scalar = known.and_then(|k| k.get(i)).copied().unwrap_or(false);
            match &a.kind {
                ExprKind::Element(s, subscripts) if scalar => {
                    // The callee may assign it.
                    self.element(*s, subscripts, false, true, path, place);
                    subscripts.iter().for_each(|c| self.expr(l, c, path, place));
                }
                ExprKind::Element(s, subscripts) => {
                    self.others.insert(*s);
                    subscripts.iter().for_each(|c| self.expr(l, c, path, place));
                }
                ExprKind::Var(s) if l.unit.symbols[*s].is_array() => {
                    self.others.insert(*s);
                }
                ExprKind::Var(s) => self.define(*s, path, place, None),
                _ => self.expr(l, a, path, place),
            }
        }
    }

    /// Whether no two iterations access the same element of an array.
    fn proves(&self, l: &LoopBody, array: SymId) -> bool {
        let reads: Vec<&Element> = self
            .elements
            .iter()
            .filter(|e| e.array == array && e.reads)
            .collect();
        let mut pairs = reads.iter().enumerate();
        pairs.all(|(i, a)| {
            reads[i..]
                .iter()
                .all(|b| self.by_subscripts(l, a, b) || self.by_assignments(l, a, b))
        })
    }

    /// Whether two elements differ in different iterations because of their subscripts.
    fn by_subscripts(&self, l: &LoopBody, a: &Element, b: &Element) -> bool {
        a.subscripts.iter().zip(b.subscripts).any(|(x, y)| {
            let (Some(x), Some(y)) = (self.affine(l, a, x), self.affine(l, b, y)) else {
                return false;
            };
            let factor = x.factor(l.var);
            if factor == 0 || factor != y.factor(l.var) {
                return false;
            }
            let Some(distance) = x.plus(&y, -1).and_then(|d| d.value()) else {
                return false;
            };
            let step = factor.checked_mul(l.step.unwrap_or(1)).unwrap_or(0);
            distance == 0 || step != 0 && distance.abs() < step.abs()
        })
    }

    /// A subscript as a sum of the loop variable and variables that do not change in the loop.
    fn affine(&self, l: &LoopBody, at: &Element, e: &Expr) -> Option<Affine> {
        let mut form = Affine::of(l.unit, e)?;
        for _ in 0..8 {
            let Some(s) = self.first_changing(l, &form) else {
                return Some(form);
            };
            let value = self.single_value(s, at)?;
            form = form.with(s, &Affine::of(l.unit, value)?)?;
        }
        None
    }

    fn first_changing(&self, l: &LoopBody, form: &Affine) -> Option<SymId> {
        let ids = l.unit.symbols.ids();
        ids.into_iter()
            .find(|s| *s != l.var && form.factor(*s) != 0 && !self.is_fixed(l, *s))
    }

    /// Whether a variable has the same value in all iterations.
    fn is_fixed(&self, l: &LoopBody, s: SymId) -> bool {
        let common = matches!(l.unit.symbols[s].storage_class, StorageClass::Common(_));
        let outer = l.shared.contains(&s) || l.first_private.contains(&s);
        let changes =
            l.assigned.contains(&s) || self.counters.contains_key(&s) || common && self.calls;
        let is_constant = !l.unit.symbols[s].is_variable();
        s != l.var && !changes && (outer || is_constant)
    }

    /// The value that a variable always has at an access, if it is assigned once.
    fn single_value(&self, s: SymId, at: &Element) -> Option<&'b Expr> {
        let [one] = self.definitions.get(&s)?.as_slice() else {
            return None;
        };
        let before = one.place < at.place && at.path.starts_with(&one.path);
        (before && !self.counters.contains_key(&s)).then_some(one.value?)
    }

    /// Whether two elements differ in different iterations because the loop assigns elements with the same
    /// subscripts, which other iterations then do not access.
    fn by_assignments(&self, l: &LoopBody, a: &Element, b: &Element) -> bool {
        let promised =
            |w: &&Element| w.writes && l.shared.contains(&w.array) && !l.atomic.contains(&w.array);
        !self.jumps
            && [(a, b), (b, a)].into_iter().any(|(a, b)| {
                let mut writes = self.elements.iter().filter(promised);
                writes.any(|w| {
                    self.is_same(l, w, a)
                        && (w.array == b.array
                            || self
                                .elements
                                .iter()
                                .any(|o| o.array == w.array && self.is_same(l, o, b)))
                })
            })
    }

    /// Whether an iteration that accesses `b` also accesses an element with the same subscripts by `a`.
    fn is_same(&self, l: &LoopBody, a: &Element, b: &Element) -> bool {
        let same = a.subscripts.len() == b.subscripts.len()
            && (a.subscripts.iter().zip(b.subscripts)).all(|(x, y)| x.equals_ignoring_spans(y));
        if !same || !b.path.starts_with(&a.path) {
            return false;
        }
        let mut steady = true;
        for e in a.subscripts {
            e.walk(&mut |e| {
                steady &= match &e.kind {
                    ExprKind::Var(s) => {
                        *s == l.var
                            || self.is_fixed(l, *s)
                            || self.counts_around(*s, a)
                            || self.is_single(*s, a, b)
                    }
                    ExprKind::Element(s, _) => {
                        l.shared.contains(s)
                            && !l.assigned.contains(s)
                            && !(self.calls
                                && matches!(
                                    l.unit.symbols[*s].storage_class,
                                    StorageClass::Common(_)
                                ))
                    }
                    ExprKind::Call(f, _) => {
                        matches!(l.unit.symbols[*f].class, Class::Intrinsic(_))
                    }
                    ExprKind::Int(_)
                    | ExprKind::Binary(..)
                    | ExprKind::Unary(..)
                    | ExprKind::Paren(_) => true,
                    _ => false,
                };
            });
        }
        steady
    }

    /// Whether a variable counts a loop around an access, and no other.
    fn counts_around(&self, s: SymId, at: &Element) -> bool {
        match self.counters.get(&s).map(Vec::as_slice) {
            Some([body]) => at.path.starts_with(body) && !self.definitions.contains_key(&s),
            _ => false,
        }
    }

    /// Whether a variable has one value at both accesses.
    fn is_single(&self, s: SymId, a: &Element, b: &Element) -> bool {
        let one = |at: &Element| match self.definitions.get(&s).map(Vec::as_slice) {
            Some([one]) => one.place < at.place && at.path.starts_with(&one.path),
            _ => false,
        };
        !self.counters.contains_key(&s) && one(a) && one(b)
    }
}
