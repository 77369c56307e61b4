//! Array statements as loops.

use super::shape::{argument, plus, value_of};
use super::{Writer, is_simple};
use farfel_lang::intrinsics::{Intrinsic, Shape};
use farfel_lang::ir::{BinOp, Block, Class, Expr, ExprKind, IfBlock, Stmt, StmtKind, SymId, Type};

impl Writer<'_> {
    /// Returns the statements that replace a statement; preparatory statements are added to
    /// `before`.
    pub(super) fn statement(&mut self, s: &Stmt) -> Option<Block> {
        match &s.kind {
            StmtKind::Assign(target, value) if self.rank(target) == 0 => {
                let target = self.scalar(target)?;
                let value = self.scalar(value)?;
                Some(vec![self.assign(target, value)])
            }
            StmtKind::Assign(target, value) => self.array_assignment(target, value, None),
            StmtKind::Where(w) => self.masked(&w.block),
            StmtKind::Call(callee, args) => {
                let args = args.iter().map(|a| self.actual(a));
                let args = args.collect::<Option<Vec<Expr>>>()?;
                Some(vec![Stmt::call(*callee, args, s.span)])
            }
            _ => None,
        }
    }

    /// Writes `target = value`, for those elements that are selected by a mask.
    fn array_assignment(
        &mut self,
        target: &Expr,
        value: &Expr,
        mask: Option<SymId>,
    ) -> Option<Block> {
        let target = self.invariant(target)?;
        if mask.is_none()
            && let Some(made) = self.matrix_product(&target, value)
        {
            return Some(made);
        }
        let value = self.invariant(value)?;
        let extents = self.fixed_extents(&target)?;
        let mut overlaps = self.meets(&target, &value, true);
        if let ExprKind::Element(_, subscripts) = &target.kind {
            // The selection of elements is evaluated before the assignment.
            overlaps |= subscripts.iter().any(|s| self.meets(&target, s, false));
        }
        let masked = |w: &mut Self, at: &[Expr], body: Block| match mask {
            Some(m) => vec![Stmt::either(w.at(m, at), body, Vec::new())],
            None => body,
        };
        if !overlaps {
            return self.loops(&extents, &mut |w, at| {
                let mut body = Vec::new();
                let value = w.element(&value, at, &mut body)?;
                let to = w.element(&target, at, &mut body)?;
                body.push(w.assign(to, value));
                Some(masked(w, at, body))
            });
        }
        let array = self.array_by_elements(self.ty(&target)?, &extents, &target);
        let mut out = self.loops(&extents, &mut |w, at| {
            let mut body = Vec::new();
            let value = w.element(&value, at, &mut body)?;
            body.push(w.assign(w.at(array, at), value));
            Some(masked(w, at, body))
        })?;
        out.extend(self.loops(&extents, &mut |w, at| {
            let mut body = Vec::new();
            let to = w.element(&target, at, &mut body)?;
            body.push(w.assign(to, w.at(array, at)));
            Some(masked(w, at, body))
        })?);
        Some(out)
    }

    /// Whether an expression contains elements of the assigned variable other than the current one.
    /// `aligned`: whether the expression has the same subscripts as the target.
    fn meets(&self, target: &Expr, e: &Expr, aligned: bool) -> bool {
        let Some(base) = target.base() else {
            return false;
        };
        match &e.kind {
            ExprKind::Var(s) => {
                self.overlap(*s, base) && !(aligned && e.equals_ignoring_spans(target))
            }
            ExprKind::Element(s, subscripts) => {
                self.overlap(*s, base) && !(aligned && e.equals_ignoring_spans(target))
                    || subscripts.iter().any(|s| self.meets(target, s, false))
            }
            ExprKind::Call(s, args) => {
                let symbol = &self.unit.symbols[*s];
                let (reads, elemental) = match &symbol.class {
                    Class::Intrinsic(i) => (false, i.shape == Shape::Elemental),
                    Class::StatementFunction(_, value) => (self.meets(target, value, false), false),
                    // The function may read COMMON.
                    _ => (self.is_shared(base), false),
                };
                reads
                    || args
                        .iter()
                        .any(|a| self.meets(target, a, aligned && elemental))
            }
            _ => e.children().iter().any(|c| self.meets(target, c, aligned)),
        }
    }

    /// Writes `C = MATMUL(A, B)`, column by column of A.
    fn matrix_product(&mut self, target: &Expr, value: &Expr) -> Option<Block> {
        let ExprKind::Call(s, args) = &value.kind else {
            return None;
        };
        let is_product =
            matches!(self.unit.symbols[*s].class, Class::Intrinsic(i) if i.name == "MATMUL");
        let plain = |w: &Self, e: &Expr| {
            matches!(e.kind, ExprKind::Var(_) | ExprKind::Element(..))
                && is_simple(w.unit, e)
                && !w.meets(target, e, false)
        };
        let [a, b] = args.as_slice() else { return None };
        let same_type = self.ty(target) == self.ty(value);
        if !is_product || !same_type || self.rank(a) != 2 || !plain(self, a) || !plain(self, b) {
            return None;
        }
        let (a, b) = (self.invariant(a)?, self.invariant(b)?);
        let extents = self.fixed_extents(target)?;
        let inner = self.fixed_extents(&b)?.into_iter().next()?;
        let (rows, columns) = extents.split_first()?;
        let zero = self.zero(self.ty(target)?);
        let mut out = self.loops(&extents, &mut |w, at| {
            let to = w.element(target, at, &mut Vec::new())?;
            Some(vec![w.assign(to, zero.clone())])
        })?;
        let order: Vec<Expr> = [rows.clone(), inner]
            .into_iter()
            .chain(columns.iter().cloned())
            .collect();
        out.extend(self.loops(&order, &mut |w, at| {
            let (i, k) = (at.first()?, at.get(1)?);
            let j = at.get(2);
            let place =
                |first: &Expr| -> Vec<Expr> { [first].into_iter().chain(j).cloned().collect() };
            let mut none = Vec::new();
            let to = w.element(target, &place(i), &mut none)?;
            let left = w.element(&a, &[i.clone(), k.clone()], &mut none)?;
            let right = w.element(&b, &place(k), &mut none)?;
            let term = w.binary(BinOp::Mul, left, right);
            let sum = w.binary(BinOp::Add, to.clone(), term);
            Some(vec![w.assign(to, sum)])
        })?);
        Some(out)
    }

    /// Writes a WHERE construct.
    fn masked(&mut self, b: &IfBlock) -> Option<Block> {
        let blocks = b.arms.iter().map(|(_, block)| block).chain(&b.otherwise);
        let mut assignments = Vec::new();
        for s in blocks.flatten() {
            match &s.kind {
                StmtKind::Assign(target, value) => assignments.push((target, value)),
                StmtKind::Comment(_) => {}
                _ => return None,
            }
        }
        let Some((first, _)) = assignments.first() else {
            return Some(Vec::new());
        };
        // The assigned variables must not be read otherwise.
        let masks = b.arms.iter().map(|(m, _)| m);
        let read = masks.chain(assignments.iter().map(|(_, v)| *v));
        let mut alone = true;
        for e in read {
            alone &= assignments.iter().all(|(t, _)| !self.meets(t, e, true));
        }
        for (t, _) in &assignments {
            let others = assignments.iter().map(|(o, _)| *o);
            alone &= others.into_iter().all(|o| !self.meets(t, o, true));
        }
        match alone {
            true => self.masked_together((*first).clone(), b),
            false => self.masked_apart((*first).clone(), b),
        }
    }

    /// Writes one loop, in which each element passes through all statements.
    fn masked_together(&mut self, first: Expr, b: &IfBlock) -> Option<Block> {
        let mut arms = Vec::new();
        for (mask, block) in &b.arms {
            arms.push((self.invariant(mask)?, self.invariants(block)?));
        }
        let otherwise = match &b.otherwise {
            Some(block) => self.invariants(block)?,
            None => Vec::new(),
        };
        let first = self.invariant(&first)?;
        let extents = self.fixed_extents(&first)?;
        self.loops(&extents, &mut |w, at| {
            let assigned = |w: &mut Self, list: &[(Expr, Expr)]| {
                let mut out = Vec::new();
                for (target, value) in list {
                    let value = w.element(value, at, &mut out)?;
                    let to = w.element(target, at, &mut out)?;
                    out.push(w.assign(to, value));
                }
                Some(out)
            };
            let mut rest = assigned(w, &otherwise)?;
            for (mask, list) in arms.iter().rev() {
                let mut out = Vec::new();
                let mask = w.element(mask, at, &mut out)?;
                let then = assigned(w, list)?;
                out.push(Stmt::either(mask, then, rest));
                rest = out;
            }
            Some(rest)
        })
    }

    fn invariants(&mut self, block: &[Stmt]) -> Option<Vec<(Expr, Expr)>> {
        let mut out = Vec::new();
        for s in block {
            if let StmtKind::Assign(target, value) = &s.kind {
                out.push((self.invariant(target)?, self.invariant(value)?));
            }
        }
        Some(out)
    }

    /// Stores each mask in a temporary array, and writes a separate loop for each assignment.
    fn masked_apart(&mut self, first: Expr, b: &IfBlock) -> Option<Block> {
        let first = self.invariant(&first)?;
        let extents = self.fixed_extents(&first)?;
        let span = self.span;
        let logical = |yes| Expr::logical(yes, span);
        // The elements that no mask has selected yet.
        let open = self.array_by_elements(Type::LOGICAL, &extents, &first);
        let now = self.array_by_elements(Type::LOGICAL, &extents, &first);
        let begin = self.loops(&extents, &mut |w, at| {
            Some(vec![w.assign(w.at(open, at), logical(true))])
        })?;
        self.before.extend(begin);
        let arms = b.arms.iter().map(|(m, block)| (Some(m), block));
        for (mask, block) in arms.chain(b.otherwise.iter().map(|block| (None, block))) {
            let mask = match mask {
                Some(m) => Some(self.invariant(m)?),
                None => None,
            };
            let chosen = self.loops(&extents, &mut |w, at| {
                let (open, now) = (w.at(open, at), w.at(now, at));
                let mut then = Vec::new();
                let yes = match &mask {
                    Some(m) => w.element(m, at, &mut then)?,
                    None => logical(true),
                };
                then.push(w.assign(now.clone(), yes));
                let not = Expr::not(now.clone(), span);
                then.push(w.assign(open.clone(), not));
                let otherwise = vec![w.assign(now, logical(false))];
                Some(vec![Stmt::either(open, then, otherwise)])
            })?;
            self.before.extend(chosen);
            for s in block {
                if let StmtKind::Assign(target, value) = &s.kind {
                    let made = self.array_assignment(target, value, Some(now))?;
                    self.before.extend(made);
                }
            }
        }
        Some(Vec::new())
    }

    /// Evaluates an array constructor into a temporary array.
    pub(super) fn constructed(&mut self, e: &Expr, items: &[Expr], ty: Type) -> Option<Expr> {
        let extents = self.fixed_extents(e)?;
        let array = self.array(ty, &extents);
        let single =
            |w: &Self, i: &Expr| w.rank(i) == 0 && !matches!(i.kind, ExprKind::ImpliedDo(_));
        if items.iter().all(|i| single(self, i)) {
            for (k, i) in items.iter().enumerate() {
                let value = self.scalar(i)?;
                let to = self.at(array, &[Expr::int(k as i64 + 1, self.span)]);
                let stmt = self.assign(to, value);
                self.before.push(stmt);
            }
            return Some(Expr::var(array, e.span));
        }
        let n = self.scalar_variable(Type::INTEGER);
        let begin = self.assign(n.clone(), Expr::int(0, self.span));
        self.before.push(begin);
        for i in items {
            self.item(i, array, &n)?;
        }
        Some(Expr::var(array, e.span))
    }

    fn next(&self, n: &Expr) -> Stmt {
        self.assign(n.clone(), plus(n.clone(), 1))
    }

    /// Appends the elements of an item to the `n` elements that the array already has.
    fn item(&mut self, item: &Expr, array: SymId, n: &Expr) -> Option<()> {
        if let ExprKind::ImpliedDo(d) = &item.kind {
            // The variable is local to the constructor.
            let var = self.variable("IE", Type::INTEGER, Vec::new());
            let before = std::mem::take(&mut self.before);
            let after = std::mem::take(&mut self.after);
            for i in &d.items {
                let mut i = i.clone();
                i.for_each_symbol_mut(&mut |s| {
                    if *s == d.var {
                        *s = var;
                    }
                });
                self.item(&i, array, n)?;
            }
            let mut body = std::mem::replace(&mut self.before, before);
            body.extend(std::mem::replace(&mut self.after, after));
            let (from, to) = (self.fixed(d.from.clone()), self.fixed(d.to.clone()));
            let step = d.step.clone().map(|s| self.fixed(s));
            let stmt = Stmt::count(var, [from, to], step, body, self.span);
            self.before.push(stmt);
            return Some(());
        }
        if self.rank(item) == 0 {
            let value = self.scalar(item)?;
            let made = [
                self.next(n),
                self.assign(self.at(array, std::slice::from_ref(n)), value),
            ];
            self.before.extend(made);
            return Some(());
        }
        let item = self.invariant(item)?;
        let extents = self.fixed_extents(&item)?;
        let made = self.loops(&extents, &mut |w, at| {
            let mut body = Vec::new();
            let value = w.element(&item, at, &mut body)?;
            body.push(w.next(n));
            body.push(w.assign(w.at(array, std::slice::from_ref(n)), value));
            Some(body)
        })?;
        self.before.extend(made);
        Some(())
    }

    /// Evaluates PACK or UNPACK into a temporary array.
    pub(super) fn packed(&mut self, e: &Expr, i: &Intrinsic, args: &[Expr]) -> Option<Expr> {
        let ty = self.ty(value_of(args.first()?))?;
        let mask = argument(args, 1, &["MASK"])?;
        let mask = self.invariant(mask)?;
        let n = self.scalar_variable(Type::INTEGER);
        let begin = self.assign(n.clone(), Expr::int(0, self.span));
        if i.name == "UNPACK" {
            let vector = self.invariant(argument(args, 0, &["VECTOR"])?)?;
            let field = self.invariant(argument(args, 2, &["FIELD"])?)?;
            let extents = self.fixed_extents(&mask)?;
            let array = self.array(ty, &extents);
            self.before.push(begin);
            let made = self.loops(&extents, &mut |w, at| {
                let mut then = vec![w.next(&n)];
                let value = w.element(&vector, std::slice::from_ref(&n), &mut then)?;
                then.push(w.assign(w.at(array, at), value));
                let mut otherwise = Vec::new();
                let value = w.element(&field, at, &mut otherwise)?;
                otherwise.push(w.assign(w.at(array, at), value));
                let mut out = Vec::new();
                let mask = w.element(&mask, at, &mut out)?;
                out.push(Stmt::either(mask, then, otherwise));
                Some(out)
            })?;
            self.before.extend(made);
            return Some(Expr::var(array, e.span));
        }
        let of = self.invariant(argument(args, 0, &["ARRAY"])?)?;
        let vector = match argument(args, 2, &["VECTOR"]) {
            Some(v) => Some(self.invariant(v)?),
            None => None,
        };
        let extents = self.fixed_extents(&of)?;
        let size = match &vector {
            Some(v) => self.size(v)?,
            None if self.rank(&mask) == 0 => self.size(&of)?,
            None => self.call("COUNT", vec![mask.clone()])?,
        };
        let size = self.fixed(size);
        let array = self.array(ty, std::slice::from_ref(&size));
        self.before.push(begin);
        let made = self.loops(&extents, &mut |w, at| {
            let mut then = vec![w.next(&n)];
            let value = w.element(&of, at, &mut then)?;
            then.push(w.assign(w.at(array, std::slice::from_ref(&n)), value));
            let mut out = Vec::new();
            let mask = w.element(&mask, at, &mut out)?;
            out.push(Stmt::either(mask, then, Vec::new()));
            Some(out)
        })?;
        self.before.extend(made);
        if let Some(vector) = vector {
            let c = self.counter();
            let at = [Expr::var(c, self.span)];
            let mut body = Vec::new();
            let value = self.element(&vector, &at, &mut body)?;
            body.push(self.assign(self.at(array, &at), value));
            let stmt = Stmt::count(c, [plus(n, 1), size], None, body, self.span);
            self.free_counters(1);
            self.before.push(stmt);
        } else if self.rank(&mask) == 0 {
            // With a scalar mask the result may be empty: then its size is different.
            let constant = matches!(mask.kind, ExprKind::Logical(true));
            return constant.then(|| Expr::var(array, e.span));
        }
        Some(Expr::var(array, e.span))
    }
}
