//! Proves subscripts of loops before the loops begin: see [`super::frames`].

use super::arrays::{Array, is_plain, long, variable};
use super::frames::{Frame, Loop, WideLoop};
use super::poly::Poly;
use super::rewrite::CheckInserter;
use super::statement_labels::{for_each_defined, for_each_jump};
use farfel_lang::access::{self, Access};
use farfel_lang::ir::{
    BinOp, Class, DoControl, Expr, ExprKind, Stmt, StmtKind, StorageClass, SymId, Type, UnOp, Unit,
    walk_block, walk_exprs,
};
use farfel_lang::storage::Constants;
use farfel_lang::types::type_of;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The maximum number of bits of strides whose products can be compared. Larger ones are left to checks.
const STRIDE_BITS: u32 = 28;

/// The maximum number of bits of a number of elements that fit into memory.
const LENGTH_BITS: u32 = 48;

/// Whether a variable is changed only by its loop.
fn counts(inserter: &CheckInserter, var: SymId, body: &[Stmt]) -> bool {
    let symbol = &inserter.unit.symbols[var];
    let own = symbol.storage_class == StorageClass::Local && inserter.storage.range(var).is_none();
    let integer = matches!(symbol.ty, Some(Type::Integer(1 | 2 | 4 | 8)));
    own && integer && !symbol.is_array() && !changes(&inserter.unit, body).0.contains(&var)
}

/// Whether something outside a loop jumps into it.
fn is_entered(inserter: &CheckInserter, s: &Stmt) -> bool {
    let mut copy = s.clone();
    let mut inside: HashMap<u32, usize> = HashMap::new();
    copy.walk_mut(&mut |s| for_each_jump(s, &mut |label| *inside.entry(*label).or_default() += 1));
    let mut entered = false;
    for_each_defined(&mut copy, &mut |label| {
        let all = inserter.jumps.get(label).copied().unwrap_or_default();
        entered |= all > inside.get(label).copied().unwrap_or_default();
    });
    entered
}

/// Returns the variables that statements may change, and whether they call procedures.
pub(super) fn changes(unit: &Unit, block: &[Stmt]) -> (HashSet<SymId>, bool) {
    let mut changed = HashSet::new();
    let mut calls = false;
    walk_block(block, &mut |s| {
        access::statement(unit, s, false, &mut |a| match a {
            Access::Variable { sym, kind, .. } if kind.changes() => {
                changed.insert(sym);
            }
            Access::Call(call) => {
                calls = true;
                let passed = (0..call.args.len()).filter_map(|i| call.passed_variable(i));
                changed.extend(passed.map(|p| p.sym));
            }
            Access::Closure { captured, .. } => {
                calls = true;
                changed.extend(captured);
            }
            _ => {}
        });
    });
    (changed, calls)
}

impl CheckInserter<'_> {
    /// Returns the frame of a loop, if its subscripts can be analysed.
    pub(super) fn frame(&self, s: &Stmt) -> Option<Frame> {
        let StmtKind::Do(d) = &s.kind else {
            return None;
        };
        let DoControl::Count { var, from, to, .. } = &d.control else {
            return None;
        };
        let plain = |e: &Expr| is_plain(&self.unit, e);
        if !plain(from) || !plain(to) || !counts(self, *var, &d.body) {
            return None;
        }
        let mut fits = true;
        walk_block(&d.body, &mut |s| {
            fits &= !matches!(
                s.kind,
                StmtKind::Format(_)
                    | StmtKind::Entry(_)
                    | StmtKind::AssignLabel(..)
                    | StmtKind::AssignedGoto(..)
                    | StmtKind::Ad(_)
                    | StmtKind::Allocation(_)
            );
            if let StmtKind::Assign(target, value) = &s.kind
                && let ExprKind::Var(array) = target.kind
            {
                fits &= !self.is_reallocated(array, value);
            }
        });
        let mut elements = false;
        walk_exprs(&d.body, &mut |e| {
            elements |= matches!(e.kind, ExprKind::Element(..))
        });
        if !fits || !elements || is_entered(self, s) {
            return None;
        }
        let (changed, calls) = changes(&self.unit, std::slice::from_ref(s));
        Some(Frame::new(changed, calls))
    }

    /// Counts a loop in 64 bits if a frame knows its bounds, which are `plain` without checks and `checked`
    /// with them.
    pub(super) fn enter(
        &mut self,
        var: SymId,
        plain: [&Expr; 2],
        checked: [&Expr; 2],
        step: Option<&Expr>,
        body: &[Stmt],
    ) -> Option<WideLoop> {
        let all = self.frames.iter_mut();
        let own: Vec<bool> = all
            .map(|f| !std::mem::replace(&mut f.begun, true))
            .collect();
        let step = match step {
            None => 1,
            Some(e) => Constants::of(&self.unit).integer(e).filter(|s| *s != 0)?,
        };
        if self.frames.is_empty() || !counts(self, var, body) {
            return None;
        }
        let mut counted: Option<WideLoop> = None;
        for (i, own) in own.into_iter().enumerate() {
            let bound = |inserter: &mut Self, k: usize| match inserter.poly(i, plain[k], own) {
                Some(p) => Some(p),
                // These bounds are evaluated before the loop in any case.
                None if own
                    && matches!(
                        type_of(&inserter.unit, plain[k]),
                        Some(Type::Integer(1 | 2 | 4))
                    ) =>
                {
                    Some(inserter.value(i, checked[k].clone()))
                }
                None => None,
            };
            let (Some(first), Some(last)) = (bound(self, 0), bound(self, 1)) else {
                continue;
            };
            let wide = match &counted {
                Some(c) => c.wide,
                None => {
                    let name = format!("{}_W", self.unit.symbols[var].name);
                    variable(&mut self.unit, &name)
                }
            };
            let [low, high] = match step > 0 {
                true => [first.clone(), last.clone()],
                false => [last.clone(), first.clone()],
            };
            self.frames[i].loops.push(Loop {
                var,
                wide,
                low,
                high,
            });
            counted.get_or_insert(WideLoop {
                wide,
                bounds: [first, last],
            });
        }
        counted
    }

    /// Returns a variable with the value of an expression before the loop of a frame.
    fn value(&mut self, frame: usize, e: Expr) -> Poly {
        let known = self.frames[frame].values.iter();
        let e = long(e);
        if let Some((v, _)) = known.into_iter().find(|(_, x)| x.equals_ignoring_spans(&e)) {
            return Poly::variable(*v);
        }
        let name = match e.base() {
            Some(s) => format!("{}_V", self.unit.symbols[s].name),
            None => "FARFEL_V".to_owned(),
        };
        let v = variable(&mut self.unit, &name);
        self.frames[frame].values.push((v, e));
        Poly::variable(v)
    }

    /// Converts an integer expression in a loop to a polynomial in the variables of its frame. `first` means
    /// that it is evaluated where the loop begins, so that changes in the loop do not matter.
    fn poly(&mut self, frame: usize, e: &Expr, first: bool) -> Option<Poly> {
        if let Some(n) = Constants::of(&self.unit).integer(e) {
            return Some(Poly::constant(n.into()));
        }
        match &e.kind {
            ExprKind::Paren(e) | ExprKind::Unary(UnOp::Plus, e) => self.poly(frame, e, first),
            ExprKind::Unary(UnOp::Minus, e) => Some(self.poly(frame, e, first)?.times_number(-1)),
            ExprKind::Binary(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul), a, b) => {
                let (a, b) = (self.poly(frame, a, first)?, self.poly(frame, b, first)?);
                match op {
                    BinOp::Add => Some(a.plus(&b)),
                    BinOp::Sub => Some(a.minus(&b)),
                    _ => a.times(&b),
                }
            }
            ExprKind::Var(s) => {
                let running = self.frames[frame].loops.iter().rev().find(|l| l.var == *s);
                if let Some(l) = running {
                    return Some(Poly::variable(l.wide));
                }
                let kept = self.is_kept(frame, *s, first);
                kept.then(|| self.value(frame, e.clone()))
            }
            _ => None,
        }
    }

    /// Whether an INTEGER variable keeps its value throughout a loop.
    fn is_kept(&self, frame: usize, s: SymId, first: bool) -> bool {
        let symbol = &self.unit.symbols[s];
        let frame = &self.frames[frame];
        if !matches!(symbol.ty, Some(Type::Integer(1 | 2 | 4)))
            || symbol.is_array()
            || symbol.class != Class::Variable
        {
            return false;
        }
        if first {
            return true;
        }
        if frame.changed.contains(&s)
            || self
                .storage
                .overlapping(s)
                .any(|o| frame.changed.contains(&o))
        {
            return false;
        }
        match symbol.storage_class {
            StorageClass::Local => !symbol.saved || !frame.calls,
            StorageClass::Dummy => true,
            StorageClass::Common(_) => !frame.calls,
            _ => false,
        }
    }

    /// Tries to prove that a reference is within its array, unconditionally or under the conditions of its
    /// frame. Returns the subscripts as polynomials, `None` for constant ones. Returns `None` if the
    /// reference must be checked.
    pub(super) fn prove(
        &mut self,
        subscripts: &[Expr],
        array: &Array,
        length: &Poly,
    ) -> Option<Vec<Option<Poly>>> {
        let constants = Constants::of(&self.unit);
        let fixed = subscripts.iter().map(|s| constants.integer(s));
        if let Some(fixed) = fixed.collect::<Option<Vec<i64>>>() {
            let fixed: Vec<Poly> = fixed.iter().map(|n| Poly::constant((*n).into())).collect();
            let number = number(&fixed, array)?;
            let inside = number.minus(&Poly::constant(1)).value()? >= 0;
            let there = length.minus(&number).value();
            if inside && there.is_some_and(|v| v >= 0) {
                return Some(vec![None; subscripts.len()]);
            }
        }
        (0..self.frames.len()).find_map(|i| self.prove_in(i, subscripts, array, length))
    }

    fn prove_in(
        &mut self,
        frame: usize,
        subscripts: &[Expr],
        array: &Array,
        length: &Poly,
    ) -> Option<Vec<Option<Poly>>> {
        let values = self.frames[frame].values.len();
        let found = self.try_in(frame, subscripts, array, length);
        if found.is_none() {
            self.frames[frame].values.truncate(values);
        }
        found
    }

    fn try_in(
        &mut self,
        frame: usize,
        subscripts: &[Expr],
        array: &Array,
        length: &Poly,
    ) -> Option<Vec<Option<Poly>>> {
        let polys: Option<Vec<Poly>> = subscripts
            .iter()
            .map(|s| self.poly(frame, s, false))
            .collect();
        let polys = polys?;
        let number = number(&polys, array)?;
        let mut conditions = Vec::new();
        let least = self.extreme(frame, &number, false, &mut conditions)?;
        let most = self.extreme(frame, &number, true, &mut conditions)?;
        conditions.push(least.minus(&Poly::constant(1)));
        conditions.push(length.minus(&most));
        let strides: BTreeSet<SymId> = conditions
            .iter()
            .flat_map(Poly::variables)
            .filter(|s| self.is_stride(*s))
            .collect();
        for s in strides {
            let most = Poly::constant(1 << STRIDE_BITS);
            conditions.push(most.minus(&Poly::variable(s)));
        }
        let bits = |s: SymId| match () {
            () if self.is_length(s) => LENGTH_BITS,
            () if self.is_stride(s) => STRIDE_BITS,
            () if self.arrays.wide.contains(&s) => 64,
            () => 31,
        };
        for c in &conditions {
            c.fits(&bits)?;
            if c.value().is_some_and(|v| v < 0) {
                return None;
            }
        }
        let frame = &mut self.frames[frame];
        for c in conditions {
            if c.value().is_some() {
                continue;
            }
            let number = c.number();
            let least = frame
                .conditions
                .entry(c.minus(&Poly::constant(number)))
                .or_insert(number);
            *least = number.min(*least);
        }
        frame.proven += 1;
        let changed = |p: Poly| p.value().is_none().then_some(p);
        Some(polys.into_iter().map(changed).collect())
    }

    /// Whether a variable is a number of existing elements.
    fn is_length(&self, s: SymId) -> bool {
        self.given.values().any(|l| *l == s) || self.arrays.totals.contains(&s)
    }

    /// Returns the maximum or minimum over all iterations of a frame's loops, and adds the polynomials that
    /// must not be negative for it.
    fn extreme(
        &self,
        frame: usize,
        number: &Poly,
        largest: bool,
        conditions: &mut Vec<Poly>,
    ) -> Option<Poly> {
        let mut value = number.clone();
        for l in self.frames[frame].loops.iter().rev() {
            let (factor, rest) = value.split(l.wide)?;
            let mut signs = factor.factors().map(|f| f > 0);
            let Some(positive) = signs.next() else {
                continue;
            };
            if !signs.all(|s| s == positive) {
                return None;
            }
            for v in factor.variables() {
                let running = self.frames[frame].loops.iter().any(|l| l.wide == v);
                if running {
                    return None;
                }
                if !self.is_stride(v) && !self.is_length(v) {
                    conditions.push(Poly::variable(v));
                }
            }
            let end = if positive == largest { &l.high } else { &l.low };
            value = factor.times(end)?.plus(&rest);
        }
        Some(value)
    }
}

/// Returns the number of an element, from 1.
fn number(subscripts: &[Poly], array: &Array) -> Option<Poly> {
    let mut number = Poly::constant(1);
    for ((s, lower), stride) in subscripts.iter().zip(&array.lowers).zip(&array.strides) {
        number = number.plus(&s.minus(lower).times(stride)?);
    }
    Some(number)
}
