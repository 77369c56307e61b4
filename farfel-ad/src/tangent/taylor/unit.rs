//! A unit that computes the Taylor series of its variables: each statement with one for each coefficient.

use super::generator::{Series, TaylorUnit};
use super::varied::{Varied, variable};
use crate::tangent::Engine;
use farfel_lang::Span;
use farfel_lang::ir::{
    Arg, Block, Class, DoEnd, Expr, ExprKind, Name, Origin, Stmt, StmtKind, StorageClass, SymId,
    Symbol, Unit, UnitKind,
};
use std::collections::HashMap;

/// Returns the subroutine that computes a unit with the Taylor coefficients of all its varied variables, up
/// to an order. Each varied argument is followed by its coefficients, except for the independent variable if
/// nothing changes it; the last arguments of a function are its result and the coefficients of it. `None` if
/// something in it is not supported.
pub(super) fn taylor_unit(
    engine: &Engine,
    varied: &Varied,
    names: &HashMap<Name, Name>,
    source: &Unit,
    unchanged: Option<SymId>,
    order: usize,
) -> Option<Unit> {
    let mut unit = source.clone();
    unit.name = names.get(&source.name)?.clone();
    unit.origin = Origin::Derivative;
    unit.comments = vec![format!(
        " Taylor coefficients of {} up to order {order}",
        source.name
    )];
    let mut t = TaylorUnit {
        engine,
        varied,
        names,
        source,
        unit,
        order,
        coefficients: HashMap::new(),
        unchanged,
        bound: HashMap::new(),
        before: Vec::new(),
        span: source.span,
        temporaries: HashMap::new(),
        used: HashMap::new(),
    };
    let mut all: Vec<SymId> = varied.variables(&source.name)?.iter().copied().collect();
    all.sort_unstable();
    for s in all.into_iter().filter(|s| Some(*s) != unchanged) {
        let symbols = (1..=order).map(|k| t.coefficient(s, k)).collect();
        t.coefficients.insert(s, symbols);
    }
    t.header();
    t.unit.body = t.block(&source.body)?;
    Some(t.unit)
}

impl TaylorUnit<'_> {
    /// Declares the variable for coefficient `k` of a variable.
    fn coefficient(&mut self, of: SymId, k: usize) -> SymId {
        let symbol = self.source.symbols[of].clone();
        let name = self.unused(&format!("{}_T{k}", symbol.name));
        let storage_class = match symbol.storage_class {
            StorageClass::Local => StorageClass::Local,
            _ => StorageClass::Dummy,
        };
        self.declare(Symbol {
            name,
            storage_class,
            ..symbol
        })
    }

    fn header(&mut self) {
        let mut args = Vec::new();
        let add = |s: SymId, args: &mut Vec<Arg>, all: &HashMap<SymId, Vec<SymId>>| {
            args.push(Arg::Dummy(s));
            args.extend(all.get(&s).into_iter().flatten().map(|c| Arg::Dummy(*c)));
        };
        for s in self.source.args.iter().filter_map(|a| a.sym()) {
            add(s, &mut args, &self.coefficients);
        }
        if let Some(result) = self.unit.result.take() {
            self.unit.typed_header = false;
            self.unit.symbols[result].storage_class = StorageClass::Dummy;
            self.unit.symbols[result].typed = true;
            self.unit.declare(result);
            self.unit.kind = UnitKind::Subroutine;
            add(result, &mut args, &self.coefficients);
        }
        self.unit.args = args;
    }

    fn block(&mut self, block: &[Stmt]) -> Option<Block> {
        let mut out = Vec::with_capacity(block.len());
        for s in block {
            out.extend(self.statement(s)?);
        }
        Some(out)
    }

    /// The statements that a statement becomes; its label moves to the first of them.
    fn statement(&mut self, s: &Stmt) -> Option<Block> {
        self.span = s.span;
        self.used.clear();
        let own = self.kind(s)?;
        let mut out = std::mem::take(&mut self.before);
        out.extend(own);
        if let Some(first) = out.first_mut() {
            first.label = s.label;
        }
        Some(out)
    }

    fn kind(&mut self, s: &Stmt) -> Option<Block> {
        let span = s.span;
        let mut kind = s.kind.clone();
        match &mut kind {
            StmtKind::Assign(target, value) => {
                if let Some(t) = variable(target)
                    && let Some(terms) = self.coefficients.get(&t).cloned()
                {
                    return self.assign(target, value, &terms);
                }
            }
            StmtKind::Call(callee, args) => {
                let touched = self.varied.callee(self.source, *callee);
                if touched.is_some_and(|u| self.varied.is_touched(&u.name)) {
                    let (procedure, actuals) = self.call_of(*callee, args)?;
                    return Some(vec![Stmt::call(procedure, actuals, span)]);
                }
            }
            StmtKind::If(b) => {
                for (_, arm) in &mut b.arms {
                    *arm = self.block(arm)?;
                }
                if let Some(otherwise) = &mut b.otherwise {
                    *otherwise = self.block(otherwise)?;
                }
            }
            StmtKind::Select(b) => {
                for case in &mut b.cases {
                    case.body = self.block(&case.body)?;
                }
            }
            StmtKind::LogicalIf(condition, inner) => {
                let mut made = self.statement(inner)?;
                if made.len() != 1 || made[0].kind != inner.kind {
                    let arms = vec![(condition.clone(), made)];
                    return Some(vec![Stmt::branches(arms, None, span)]);
                }
                if let Some(only) = made.pop() {
                    **inner = only;
                }
            }
            StmtKind::Do(d) => {
                d.body = self.block(&d.body)?;
                // The statement with the label may have become several.
                if let DoEnd::Label(_) = d.end {
                    d.end = DoEnd::EndDo(None);
                }
            }
            _ => {}
        }
        Some(vec![Stmt::new(kind, span)])
    }

    /// An assignment to a varied variable: higher coefficients first, since lower ones do not depend on
    /// them.
    fn assign(&mut self, target: &Expr, value: &Expr, terms: &[SymId]) -> Option<Block> {
        let ty = self.ty(target)?;
        let series = self.series(value)?;
        let mut out = Vec::with_capacity(terms.len() + 1);
        for (symbol, term) in terms.iter().zip(&series.terms).rev() {
            let mut to = target.clone();
            if let ExprKind::Var(v) | ExprKind::Element(v, _) = &mut to.kind {
                *v = *symbol;
            }
            let term = term.clone().unwrap_or_else(|| self.number(0, ty));
            out.push(Stmt::assign(to, term, self.span));
        }
        out.push(Stmt::assign(target.clone(), series.value, self.span));
        Some(out)
    }

    /// The procedure that computes the series of a called one, and its arguments, without the result.
    pub(super) fn call_of(&mut self, callee: SymId, args: &[Expr]) -> Option<(SymId, Vec<Expr>)> {
        let called = self.varied.callee(self.source, callee)?;
        let mut actuals = Vec::new();
        for (dummy, actual) in called.args.iter().zip(args) {
            let dummy = dummy.sym()?;
            if !self.varied.has(called, dummy) {
                actuals.push(self.primal(actual));
                continue;
            }
            let series = match variable(actual) {
                Some(v) if self.bound.contains_key(&v) => self.series(actual)?,
                Some(v) => self.whole(actual, v)?,
                None => self.series(actual)?,
            };
            let ty = called.symbols[dummy].ty?;
            let is_variable = variable(actual).is_some_and(|v| !self.bound.contains_key(&v));
            if is_variable {
                actuals.push(series.value);
                actuals.extend(series.terms.into_iter().flatten());
                continue;
            }
            actuals.push(series.value);
            for term in series.terms {
                let term = term.unwrap_or_else(|| self.number(0, ty));
                // A constant of its own, which nothing can assign.
                actuals.push(self.keep(term, ty));
            }
        }
        let name = self.names.get(&called.name)?;
        let procedure = match self.unit.symbols.find(name) {
            Some(s) => s,
            None => self.unit.symbols.add(Symbol {
                class: Class::Subroutine,
                storage_class: StorageClass::Global,
                ..Symbol::new(name.clone(), Span::NONE)
            }),
        };
        Some((procedure, actuals))
    }

    /// A variable or element with its coefficients, as an argument.
    fn whole(&mut self, e: &Expr, of: SymId) -> Option<Series> {
        let terms = self.coefficients.get(&of)?.clone();
        let term = |s: &SymId| {
            let mut same = e.clone();
            if let ExprKind::Var(v) | ExprKind::Element(v, _) = &mut same.kind {
                *v = *s;
            }
            Some(same)
        };
        Some(Series {
            value: e.clone(),
            terms: terms.iter().map(term).collect(),
        })
    }
}
