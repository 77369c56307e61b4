//! Expressions and their derivatives.

use super::generator::{Generator, Value};
use crate::activity::Site;
use crate::calls::{CallSite, calls_in};
use crate::locations::{Context, Set, differentiable};
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{
    BinOp, Class, Expr, ExprKind, IfBlock, Stmt, StmtKind, StorageClass, SymId, Type, UnOp,
};
use farfel_lang::types::{rank, type_of};
use std::collections::HashSet;

impl Generator<'_> {
    /// The type of an expression; REAL if it has none.
    pub(super) fn ty(&self, e: &Expr) -> Type {
        type_of(&self.unit, e).unwrap_or(Type::REAL)
    }

    /// Whether the value of an expression varies with the independent variables.
    pub(super) fn is_varied(&self, e: &Expr) -> bool {
        let mut from = Set::with_capacity(self.space.len);
        self.engine
            .dependence
            .depends(self.source, self.space, e, &mut from);
        if !from.is_disjoint(&self.varied) {
            return true;
        }
        let mut bound = false;
        if !self.bound.is_empty() {
            e.for_each_symbol(&mut |s| {
                bound |= self.bound.get(&s).is_some_and(|v| v.d.is_some());
            });
        }
        bound
    }

    /// Whether an expression is an array.
    pub(super) fn is_array_valued(&self, e: &Expr) -> bool {
        rank(&self.unit, e) > 0
    }

    pub(super) fn has_calls(&self, e: &Expr) -> bool {
        let mut found = false;
        e.walk(&mut |x| {
            if let ExprKind::Call(s, _) = &x.kind {
                found |= !matches!(
                    self.unit.symbols[*s].class,
                    Class::Intrinsic(_) | Class::StatementFunction(..)
                );
            }
        });
        found
    }

    /// The value of an expression whose derivative is not wanted. It differs from the source if a function in
    /// it has active side effects, or if a statement function is being expanded.
    pub(super) fn primal(&mut self, e: &Expr) -> Expr {
        // The call may also be in a statement function.
        let (mut active, mut within) = (false, false);
        calls_in(self.source, e, &mut |c| {
            let own = self.reference(c, false).is_some();
            active |= own;
            within |= own && c.within.is_some();
        });
        if !active && self.bound.is_empty() {
            return e.clone();
        }
        match &e.kind {
            ExprKind::Var(s) if self.bound.contains_key(s) => self.bound[s].p.clone(),
            ExprKind::ImpliedDo(_) if active => {
                // Before the statement, the loop variable has no value yet.
                self.errors.push(
                    Diagnostic::error(
                        &rules::AD_UNSUPPORTED,
                        e.span,
                        "derivatives would go through a function call in an implied DO",
                    )
                    .help("compute the values in a DO loop before the statement"),
                );
                e.clone()
            }
            ExprKind::Call(s, args)
                if !matches!(
                    self.source.symbols[*s].class,
                    Class::Intrinsic(_) | Class::StatementFunction(..)
                ) =>
            {
                match self.reference(CallSite::new(*s, args), false) {
                    Some(Site::Known(c)) => self.active_reference(*s, args, &c).p,
                    Some(Site::Unknown) => {
                        self.unknown_procedure(*s, e.span);
                        e.clone()
                    }
                    None => self.passive_reference(*s, args, e),
                }
            }
            ExprKind::Call(s, args) if within => match &self.source.symbols[*s].class {
                Class::StatementFunction(dummies, value) => {
                    self.statement_function(*s, dummies, value, args).p
                }
                _ => self.children_primal(e),
            },
            ExprKind::Binary(op @ (BinOp::And | BinOp::Or), a, b) => self.lazy(e, *op, a, b),
            _ => self.children_primal(e),
        }
    }

    /// `A .AND. B`: statements that B needs are executed only if A does not decide the result.
    fn lazy(&mut self, e: &Expr, op: BinOp, a: &Expr, b: &Expr) -> Expr {
        let ty = self.ty(e);
        let left = self.primal(a);
        let before = std::mem::take(&mut self.pre);
        let right = self.primal(b);
        let mut then = std::mem::replace(&mut self.pre, before);
        let both = |a, b| Expr::binary(op, a, b).at(e.span);
        if then.is_empty() {
            return both(left, right);
        }
        if matches!(ty, Type::Logical(_)) && !self.is_array_valued(e) {
            let t = Expr::var(self.temporary(ty, false), self.span);
            self.pre.push(Stmt::assign(t.clone(), left, self.span));
            then.push(Stmt::assign(t.clone(), right, self.span));
            let open = match op {
                BinOp::And => t.clone(),
                _ => Expr::not(t.clone(), self.span),
            };
            self.pre.push(Stmt::block_if(
                IfBlock {
                    arms: vec![(open, then)],
                    ..IfBlock::default()
                },
                self.span,
            ));
            return t;
        }
        self.pre.append(&mut then);
        both(left, right)
    }

    fn passive_reference(&mut self, callee: SymId, args: &[Expr], e: &Expr) -> Expr {
        let call = CallSite::new(callee, args);
        let mut passed = Vec::with_capacity(args.len());
        for (i, a) in args.iter().enumerate() {
            let p = self.primal(a);
            passed.push(self.value_argument(call, i, p));
        }
        Expr::call(callee, passed, e.span)
    }

    fn children_primal(&mut self, e: &Expr) -> Expr {
        let mut new = e.clone();
        for (to, from) in new.children_mut().into_iter().zip(e.children()) {
            *to = self.primal(from);
        }
        new
    }

    /// A variable or element in a form that can be written twice: functions in subscripts are called only once.
    pub(super) fn designator(&mut self, e: &Expr) -> Expr {
        let mut new = e.clone();
        if let (ExprKind::Element(_, to), ExprKind::Element(_, from)) = (&mut new.kind, &e.kind) {
            for (t, f) in to.iter_mut().zip(from) {
                let p = self.primal(f);
                *t = if self.has_calls(&p) { self.store(p) } else { p };
            }
        }
        new
    }

    /// The derivative of a variable or element.
    pub(super) fn derivative_designator(&mut self, e: &Expr) -> Expr {
        let mut new = e.clone();
        if let ExprKind::Var(s) | ExprKind::Element(s, _) = &mut new.kind {
            *s = self.derivative_of(*s);
        }
        new.span = self.span;
        new
    }

    /// Assigns a value to a temporary, or a derivative to a temporary for derivatives; or returns the temporary
    /// that already has it.
    pub(super) fn store(&mut self, e: Expr) -> Expr {
        match self.stored(&e) {
            Some(t) => Expr::var(t, self.span),
            None => self.store_again(e),
        }
    }

    /// Returns the temporary to which the same expression was assigned before the current statement.
    fn stored(&self, e: &Expr) -> Option<SymId> {
        if self.has_calls(e) {
            return None;
        }
        let mut read = HashSet::new();
        e.for_each_symbol(&mut |s| {
            read.insert(s);
        });
        // The temporary of MAX gets another value in an IF.
        let mut assigned = HashSet::new();
        for s in self.pre.iter().rev() {
            if let StmtKind::Assign(target, value) = &s.kind
                && let ExprKind::Var(t) = target.kind
                && self.is_temporary(t)
                && !assigned.contains(&t)
                && value.equals_ignoring_spans(e)
                && type_of(&self.unit, e) == self.unit.symbols[t].ty
            {
                return Some(t);
            }
            // Anything may change in a call.
            let mut changed = false;
            s.walk(&mut |s| match &s.kind {
                StmtKind::Assign(target, value) => {
                    assigned.extend(target.base());
                    changed |= target.base().is_none_or(|t| read.contains(&t));
                    changed |= self.has_calls(value) || self.has_calls(target);
                }
                StmtKind::If(b) => changed |= b.arms.iter().any(|(c, _)| self.has_calls(c)),
                _ => changed = true,
            });
            if changed {
                return None;
            }
        }
        None
    }

    /// Assigns a value to a temporary of its own, which may be changed.
    pub(super) fn store_again(&mut self, e: Expr) -> Expr {
        let derivative = self.names_derivative(&e);
        let t = self.temporary(self.ty(&e), derivative);
        let t = Expr::var(t, self.span);
        self.pre.push(Stmt::assign(t.clone(), e, self.span));
        t
    }

    /// Prepares a value that will be written more than once: it stays as it is if it is simple, and goes to a
    /// temporary otherwise.
    pub(super) fn share(&mut self, e: Expr) -> Expr {
        if self.is_array_valued(&e) {
            self.calls_once(e)
        } else if self.weight(&e) <= 1 {
            e
        } else {
            self.store(e)
        }
    }

    /// Prepares a costly value that will be written more than once.
    pub(super) fn share_always(&mut self, e: Expr) -> Expr {
        if self.is_array_valued(&e) {
            self.calls_once(e)
        } else if self.weight(&e) == 0 {
            e
        } else {
            self.store(e)
        }
    }

    /// Prepares an array expression that will be written more than once: functions in it, which may have side
    /// effects, are called only once.
    pub(super) fn calls_once(&mut self, mut e: Expr) -> Expr {
        self.store_calls(&mut e);
        e
    }

    fn store_calls(&mut self, e: &mut Expr) {
        let function = match &e.kind {
            ExprKind::Call(s, _) => !matches!(
                self.unit.symbols[*s].class,
                Class::Intrinsic(_) | Class::StatementFunction(..)
            ),
            _ => false,
        };
        if !function {
            e.children_mut()
                .into_iter()
                .for_each(|c| self.store_calls(c));
            return;
        }
        // WHERE assigns only arrays: functions that read no arrays can be called before it.
        let mut free = true;
        e.for_each_symbol(&mut |s| free &= !self.unit.symbols[s].is_array());
        if !self.is_array_valued(e) && (free || !self.in_where) {
            *e = self.store(e.clone());
        }
    }

    /// The number of operations; a call or division counts as several.
    fn weight(&self, e: &Expr) -> usize {
        let own = match &e.kind {
            ExprKind::Call(..) | ExprKind::Binary(BinOp::Div | BinOp::Pow, ..) => 10,
            ExprKind::Binary(..) => 1,
            // Subscripts are cheap and seldom long.
            ExprKind::Element(_, subs) => {
                return if subs.iter().all(|s| self.weight(s) <= 2) {
                    0
                } else {
                    10
                };
            }
            _ => 0,
        };
        own + e.children().iter().map(|c| self.weight(c)).sum::<usize>()
    }

    /// `then` if `condition` holds, otherwise zero; computed before the statement, since FORTRAN 77 has no
    /// conditional expressions.
    pub(super) fn guarded(&mut self, condition: Expr, then: Expr, ty: Type) -> Expr {
        let otherwise = self.zero(ty);
        self.choose(condition, then, otherwise, ty)
    }

    /// `then` if `condition` holds, otherwise `otherwise`.
    pub(super) fn choose(
        &mut self,
        condition: Expr,
        then: Expr,
        otherwise: Expr,
        ty: Type,
    ) -> Expr {
        if self.engine.layout.pattern {
            // A pattern covers both cases.
            return self.bin(BinOp::Add, then, otherwise);
        }
        if self.is_array_valued(&then) || self.is_array_valued(&condition) {
            return self.call("MERGE", vec![then, otherwise, condition]);
        }
        self.choose_among(vec![(condition, then)], otherwise, ty)
    }

    /// The value of the first arm whose condition holds, or `otherwise`.
    pub(super) fn choose_among(
        &mut self,
        arms: Vec<(Expr, Expr)>,
        otherwise: Expr,
        ty: Type,
    ) -> Expr {
        let span = self.span;
        // A factor of a derivative is not itself a derivative.
        let factors = self.engine.linear || self.unit_tangents;
        let derivative = !factors || arms.iter().any(|(_, then)| self.names_derivative(then));
        let t = Expr::var(self.temporary(ty, derivative), span);
        let set = |e| vec![Stmt::assign(t.clone(), e, span)];
        self.pre.push(Stmt::block_if(
            IfBlock {
                arms: arms.into_iter().map(|(c, then)| (c, set(then))).collect(),
                otherwise: Some(set(otherwise)),
                ..IfBlock::default()
            },
            span,
        ));
        t
    }

    /// Whether an expression contains a derivative.
    fn names_derivative(&self, e: &Expr) -> bool {
        let mut found = false;
        e.for_each_symbol(&mut |s| {
            let temporaries = self.temporaries.iter().filter(|((_, d), _)| *d);
            found |= self.derivatives.values().any(|d| *d == s)
                || self.imported.values().any(|d| *d == s)
                || temporaries.flat_map(|(_, list)| list).any(|t| *t == s);
        });
        found
    }

    pub(super) fn array_unsupported(&mut self, e: &Expr) {
        self.errors.push(
            Diagnostic::error(
                &rules::AD_UNSUPPORTED,
                e.span,
                "the derivative of this array expression needs a case distinction for each element",
            )
            .help("write a DO loop over the elements"),
        );
    }

    // ---- Building expressions: no factors of one, no terms of zero. ----

    pub(super) fn bin(&self, op: BinOp, a: Expr, b: Expr) -> Expr {
        Expr::binary(op, a, b).at(self.span)
    }

    pub(super) fn neg(&self, a: Expr) -> Expr {
        match a.kind {
            ExprKind::Unary(UnOp::Minus, inner) => *inner,
            kind => Expr::minus(Expr::new(kind, a.span), self.span),
        }
    }

    pub(super) fn add(&self, a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
        match (a, b) {
            (None, x) | (x, None) => x,
            (Some(a), Some(b)) => Some(match (a.kind, b.kind) {
                (a_kind, ExprKind::Unary(UnOp::Minus, b)) => {
                    self.bin(BinOp::Sub, Expr::new(a_kind, a.span), *b)
                }
                (ExprKind::Unary(UnOp::Minus, a), b_kind) => {
                    self.bin(BinOp::Sub, Expr::new(b_kind, b.span), *a)
                }
                (ExprKind::Real(x), ExprKind::Real(y)) if x == y && is_one(&x) => {
                    self.literal("2.0", self.ty(&Expr::real(x, a.span)))
                }
                (a_kind, b_kind) => self.bin(
                    BinOp::Add,
                    Expr::new(a_kind, a.span),
                    Expr::new(b_kind, b.span),
                ),
            }),
        }
    }

    pub(super) fn sub(&self, a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
        match (a, b) {
            (a, None) => a,
            (None, Some(b)) => Some(self.neg(b)),
            (Some(a), Some(b)) => match b.kind {
                ExprKind::Unary(UnOp::Minus, b) => Some(self.bin(BinOp::Add, a, *b)),
                kind => Some(self.bin(BinOp::Sub, a, Expr::new(kind, b.span))),
            },
        }
    }

    /// The value of a real or integer constant.
    pub(super) fn constant(&self, e: &Expr) -> Option<f64> {
        match &e.kind {
            ExprKind::Int(n) => Some(*n as f64),
            ExprKind::Real(t) => t.replace(['D', 'Q'], "E").parse().ok(),
            ExprKind::Paren(a) => self.constant(a),
            ExprKind::Unary(UnOp::Minus, a) => Some(-self.constant(a)?),
            ExprKind::Var(s) => match &self.unit.symbols[*s].class {
                Class::Parameter(v) if type_of(&self.unit, v) == self.unit.symbols[*s].ty => {
                    self.constant(v)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether `one` is the constant one and can be omitted before a factor of another type.
    fn neutral(&self, one: &Expr, other: &Expr) -> bool {
        self.constant(one) == Some(1.0) && {
            let t = self.ty(other);
            self.ty(one).promote(t) == t
        }
    }

    pub(super) fn mul(&self, a: Expr, b: Expr) -> Expr {
        if self.neutral(&a, &b) {
            return b;
        }
        if self.neutral(&b, &a) {
            return a;
        }
        match (a.kind, b.kind) {
            (ExprKind::Unary(UnOp::Minus, a), b_kind) => {
                self.neg(self.mul(*a, Expr::new(b_kind, b.span)))
            }
            (a_kind, ExprKind::Unary(UnOp::Minus, b)) => {
                self.neg(self.mul(Expr::new(a_kind, a.span), *b))
            }
            (a_kind, b_kind) => self.bin(
                BinOp::Mul,
                Expr::new(a_kind, a.span),
                Expr::new(b_kind, b.span),
            ),
        }
    }

    pub(super) fn div(&self, a: Expr, b: Expr) -> Expr {
        if self.neutral(&b, &a) {
            return a;
        }
        match a.kind {
            ExprKind::Unary(UnOp::Minus, a) => self.neg(self.bin(BinOp::Div, *a, b)),
            kind => self.bin(BinOp::Div, Expr::new(kind, a.span), b),
        }
    }

    /// `k * x` for a constant written without exponent.
    pub(super) fn scale(&self, k: &str, ty: Type, x: Expr) -> Expr {
        self.mul(self.literal(k, ty), x)
    }

    /// `x ** n`
    pub(super) fn power(&self, x: Expr, n: i64) -> Expr {
        match n {
            1 => x,
            n if n < 0 => {
                let n = self.neg(Expr::int(-n, self.span));
                self.bin(BinOp::Pow, x, n)
            }
            n => self.bin(BinOp::Pow, x, Expr::int(n, self.span)),
        }
    }

    /// A call of an intrinsic function.
    pub(super) fn call(&mut self, name: &str, args: Vec<Expr>) -> Expr {
        let s = self.intrinsic(name);
        Expr::call(s, args, self.span)
    }

    // ---- Tangents. ----

    /// The value and the derivative of an expression.
    pub(super) fn tangent(&mut self, e: &Expr) -> Value {
        if !self.is_varied(e) {
            return Value {
                p: self.primal(e),
                d: None,
            };
        }
        if let Some(v) = self.by_factor(e) {
            return v;
        }
        match &e.kind {
            ExprKind::Var(s) if self.bound.contains_key(s) => {
                let mut v = self.bound[s].clone();
                if self.unit_tangents && v.d.is_some() {
                    v.d = Some(self.literal("1.0", self.ty(e)));
                }
                v
            }
            ExprKind::Var(_) | ExprKind::Element(..) if self.unit_tangents => Value {
                p: self.designator(e),
                d: Some(self.literal("1.0", self.ty(e))),
            },
            ExprKind::Var(s) | ExprKind::Element(s, _) => {
                let p = self.designator(e);
                let varied = differentiable(&self.unit.symbols[*s])
                    && self.varied.contains(self.space.loc(*s));
                let d = varied.then(|| self.derivative_designator(&p));
                Value { p, d }
            }
            ExprKind::Paren(a) => {
                let v = self.tangent(a);
                let p = match v.p.kind {
                    // A temporary needs no parentheses.
                    ExprKind::Var(_) => v.p,
                    _ => Expr::parens(v.p, e.span),
                };
                Value { p, d: v.d }
            }
            ExprKind::Unary(op, a) => {
                let v = self.tangent(a);
                let d = match op {
                    UnOp::Minus => v.d.map(|d| self.neg(d)),
                    UnOp::Plus | UnOp::Not => v.d,
                };
                Value {
                    p: Expr::unary(*op, v.p, e.span),
                    d,
                }
            }
            ExprKind::Binary(op, a, b) => self.binary(e, *op, a, b),
            ExprKind::Array(a) => self.constructor(e, a),
            ExprKind::Call(s, args) => match self.source_class(*s) {
                Class::Intrinsic(i) => self.intrinsic_tangent(e, i, *s, args),
                Class::StatementFunction(dummies, value) => {
                    self.statement_function(*s, &dummies, &value, args)
                }
                _ => match self.reference(CallSite::new(*s, args), true) {
                    Some(Site::Known(c)) => self.active_reference(*s, args, &c),
                    Some(Site::Unknown) => {
                        self.unknown_procedure(*s, e.span);
                        Value {
                            p: e.clone(),
                            d: None,
                        }
                    }
                    None => Value {
                        p: self.primal(e),
                        d: None,
                    },
                },
            },
            _ => Value {
                p: self.primal(e),
                d: None,
            },
        }
    }

    fn source_class(&self, s: SymId) -> Class {
        // Symbols of generated calls are not in the source.
        self.unit.symbols[s].class.clone()
    }

    /// A function reference whose derivative is called instead, before the statement.
    fn active_reference(&mut self, callee: SymId, args: &[Expr], context: &Context) -> Value {
        let ty = self.source.symbols[callee].ty.unwrap_or(Type::REAL);
        let (derivative, mut actuals) = self.active_call(callee, args, context);
        let p = Expr::var(self.temporary(ty, false), self.span);
        actuals.push(p.clone());
        let d = context
            .active(args.len())
            .then(|| Expr::var(self.temporary(ty, true), self.span));
        self.call_derivative(derivative, actuals, d.as_ref());
        Value { p, d }
    }

    /// Calls the derivative of a function before the statement; `d` gets the derivative of the result.
    fn call_derivative(&mut self, derivative: SymId, mut actuals: Vec<Expr>, d: Option<&Expr>) {
        let made = match d {
            Some(d) if self.engine.layout.keeps_functions() => {
                let value = Expr::call(derivative, actuals, self.span);
                Stmt::assign(d.clone(), value, self.span)
            }
            d => {
                actuals.extend(d.cloned());
                Stmt::call(derivative, actuals, self.span)
            }
        };
        self.pre.push(made);
    }

    /// `target = F(…)`: the derivative of F assigns its results directly to the target, if nothing else in
    /// the call can be the target. Returns the target and its derivative.
    pub(super) fn direct_reference(
        &mut self,
        target: &Expr,
        d_target: &Expr,
        value: &Expr,
    ) -> Option<Value> {
        let (ExprKind::Var(t), ExprKind::Call(callee, args)) = (&target.kind, &value.kind) else {
            return None;
        };
        let symbol = &self.source.symbols[*t];
        let mut elsewhere = symbol.is_array()
            || matches!(symbol.storage_class, StorageClass::Common(_))
            || self.space.tangled.contains(self.space.loc(*t))
            || symbol.ty != self.source.symbols[*callee].ty
            || !self.source.symbols[*callee].class.is_procedure();
        for a in args {
            a.for_each_symbol(&mut |s| elsewhere |= s == *t);
        }
        if elsewhere {
            return None;
        }
        let call = CallSite::new(*callee, args);
        let Some(Site::Known(context)) = self.reference(call, true) else {
            return None;
        };
        let (derivative, mut actuals) = self.active_call(*callee, args, &context);
        actuals.push(target.clone());
        let d = context.active(args.len()).then(|| d_target.clone());
        self.call_derivative(derivative, actuals, d.as_ref());
        Some(Value {
            p: target.clone(),
            d,
        })
    }

    /// The tangent of a statement function, which is expanded.
    fn statement_function(
        &mut self,
        s: SymId,
        dummies: &[SymId],
        value: &Expr,
        args: &[Expr],
    ) -> Value {
        let mut bound = Vec::new();
        for (dummy, a) in dummies.iter().zip(args) {
            let mut v = self.tangent(a);
            // The dummy argument has a type of its own.
            let ty = self.unit.symbols[*dummy].ty;
            if self.weight(&v.p) > 0 || type_of(&self.unit, &v.p) != ty {
                let t = self.temporary(ty.unwrap_or(Type::REAL), false);
                let t = Expr::var(t, self.span);
                self.pre.push(Stmt::assign(t.clone(), v.p, self.span));
                v.p = t;
            }
            if let Some(d) = v.d.take() {
                v.d = Some(if self.weight(&d) > 0 {
                    let t = Expr::var(self.temporary(self.ty(&d), true), self.span);
                    self.pre.push(Stmt::assign(t.clone(), d, self.span));
                    t
                } else {
                    d
                });
            }
            bound.push((*dummy, v));
        }
        // While the value is expanded, dummies with a tangent count as varied variables, so
        // that calls in it get their contexts.
        let varied = self.varied.clone();
        for (dummy, v) in &bound {
            let loc = self.space.loc(*dummy);
            self.varied.set(loc, v.d.is_some());
        }
        let outer = std::mem::replace(&mut self.bound, bound.into_iter().collect());
        let mut v = self.tangent(value);
        self.bound = outer;
        self.varied = varied;
        // The value is converted to the type of the statement function.
        let ty = self.unit.symbols[s].ty;
        if type_of(&self.unit, &v.p) != ty {
            let t = self.temporary(ty.unwrap_or(Type::REAL), false);
            let t = Expr::var(t, self.span);
            self.pre.push(Stmt::assign(t.clone(), v.p, self.span));
            v.p = t;
            if !ty.is_some_and(Type::is_differentiable) {
                v.d = None;
            }
        }
        Value {
            p: Expr::parens(v.p, self.span),
            d: v.d,
        }
    }

    fn binary(&mut self, e: &Expr, op: BinOp, a: &Expr, b: &Expr) -> Value {
        let rebuild = |p: Expr, q: Expr| Expr::binary(op, p, q).at(e.span);
        match op {
            BinOp::Add | BinOp::Sub => {
                let (a, b) = (self.tangent(a), self.tangent(b));
                let d = if op == BinOp::Add {
                    self.add(a.d, b.d)
                } else {
                    self.sub(a.d, b.d)
                };
                Value {
                    p: rebuild(a.p, b.p),
                    d,
                }
            }
            BinOp::Mul => {
                if let Some(divisor) = divided_by(b)
                    && self.is_varied(divisor)
                {
                    return self.times_reciprocal(e, a, b, divisor);
                }
                let (a, b) = (self.tangent(a), self.tangent(b));
                self.product(a, b, e)
            }
            BinOp::Div => {
                let ty = self.ty(e);
                let (a, b) = (self.tangent(a), self.tangent(b));
                match (a.d, b.d) {
                    (None, None) => Value {
                        p: rebuild(a.p, b.p),
                        d: None,
                    },
                    (Some(ad), None) => {
                        let b = self.share(b.p);
                        let d = self.div(ad, b.clone());
                        Value {
                            p: rebuild(a.p, b),
                            d: Some(d),
                        }
                    }
                    // The derivative of 1/B is -(1/B)**2: no second division.
                    (None, Some(bd)) if self.neutral(&a.p, &b.p) && !self.is_array_valued(&b.p) => {
                        let b = self.share(b.p);
                        let q = self.quotient(rebuild(a.p, b), ty);
                        let part = self.mul(q.clone(), bd);
                        Value {
                            d: Some(self.neg(self.mul(q.clone(), part))),
                            p: q,
                        }
                    }
                    (ad, Some(bd)) => {
                        let b = self.share(b.p);
                        let q = self.quotient(rebuild(a.p, b.clone()), ty);
                        let product = self.mul(q.clone(), bd);
                        let d = self.sub(ad, Some(product)).map(|n| self.div(n, b));
                        Value { p: q, d }
                    }
                }
            }
            BinOp::Pow => self.pow(e, a, b),
            _ => Value {
                p: self.primal(e),
                d: None,
            },
        }
    }

    /// `A*(1.0/B)`, as tangents contain it, is differentiated like a quotient, which needs no tangent of the
    /// reciprocal.
    fn times_reciprocal(&mut self, e: &Expr, a: &Expr, reciprocal: &Expr, divisor: &Expr) -> Value {
        let ty = self.ty(e);
        let (a, b) = (self.tangent(a), self.tangent(divisor));
        let divisor = self.share(b.p);
        let mut reciprocal = reciprocal.clone();
        if let ExprKind::Paren(inner) = &mut reciprocal.kind
            && let ExprKind::Binary(BinOp::Div, _, place) = &mut inner.kind
        {
            **place = divisor.clone();
        }
        let product = Expr::binary(BinOp::Mul, a.p, reciprocal).at(e.span);
        let q = self.quotient(product, ty);
        let part = b.d.map(|d| self.mul(q.clone(), d));
        Value {
            d: self.sub(a.d, part).map(|n| self.div(n, divisor)),
            p: q,
        }
    }

    fn quotient(&mut self, q: Expr, ty: Type) -> Expr {
        if self.is_array_valued(&q) {
            return Expr::parens(q, self.span);
        }
        if let Some(t) = self.stored(&q) {
            return Expr::var(t, self.span);
        }
        let t = Expr::var(self.temporary(ty, false), self.span);
        self.pre.push(Stmt::assign(t.clone(), q, self.span));
        t
    }

    pub(super) fn product(&mut self, a: Value, b: Value, e: &Expr) -> Value {
        let rebuild = |p: Expr, q: Expr| Expr::binary(BinOp::Mul, p, q).at(e.span);
        match (a.d, b.d) {
            (None, None) => Value {
                p: rebuild(a.p, b.p),
                d: None,
            },
            (Some(ad), None) => {
                let b = self.share(b.p);
                let d = self.mul(ad, b.clone());
                Value {
                    p: rebuild(a.p, b),
                    d: Some(d),
                }
            }
            (None, Some(bd)) => {
                let a = self.share(a.p);
                let d = self.mul(a.clone(), bd);
                Value {
                    p: rebuild(a, b.p),
                    d: Some(d),
                }
            }
            (Some(ad), Some(bd)) => {
                let (a, b) = (self.share(a.p), self.share(b.p));
                let d = if a.equals_ignoring_spans(&b) {
                    let ty = self.ty(&a);
                    let twice = self.scale("2.0", ty, a.clone());
                    self.mul(twice, ad)
                } else {
                    let left = self.mul(ad, b.clone());
                    let right = self.mul(a.clone(), bd);
                    match self.add(Some(left), Some(right)) {
                        Some(d) => d,
                        None => self.zero(Type::REAL),
                    }
                };
                Value {
                    p: rebuild(a, b),
                    d: Some(d),
                }
            }
        }
    }
}

/// Whether a constant is one, as the engine writes it.
fn is_one(text: &str) -> bool {
    matches!(text, "1.0" | "1.0D0")
}

/// The divisor in `(1.0/B)`.
fn divided_by(e: &Expr) -> Option<&Expr> {
    let ExprKind::Paren(inner) = &e.kind else {
        return None;
    };
    match &inner.kind {
        ExprKind::Binary(BinOp::Div, one, divisor) => match &one.kind {
            ExprKind::Real(text) if is_one(text) => Some(divisor),
            _ => None,
        },
        _ => None,
    }
}
