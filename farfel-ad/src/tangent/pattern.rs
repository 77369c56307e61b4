//! Finds which tangents can be nonzero.
//!
//! The code that computes tangents in several directions computes their pattern if every tangent is a LOGICAL
//! that is .TRUE. if any of the tangents that its value is made from is. Values that happen to be zero do not
//! remove anything from the pattern. The branches that the program takes are followed; branches inside
//! intrinsic functions count as if all were taken, and a sum of an array that comes from a single number
//! counts as if the array had elements.

use super::generator::{Generator, Value};
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{
    BinOp, Class, Expr, ExprKind, Spec, SpecKind, StmtKind, SymId, Type, walk_block,
};
use farfel_lang::types::rank;
use std::collections::HashSet;

/// The type of patterns.
const PATTERN: Type = Type::Logical(1);

/// What patterns are made from.
pub(super) struct Patterns<'a> {
    pub is_tangent: &'a dyn Fn(SymId) -> bool,
    /// Whether a tangent, or a part of one, is an array apart from the directions.
    pub is_array: &'a dyn Fn(&Expr) -> bool,
    /// The function ANY, as [`Generator::pattern_of_arrays`] writes it.
    pub any: Option<SymId>,
}

impl Patterns<'_> {
    /// Returns an expression for whether any of the tangents in an expression is set.
    pub fn any_of(&self, e: &Expr) -> Expr {
        let none = || Expr::logical(false, e.span);
        let mut found: Vec<Expr> = Vec::new();
        self.tangents_in(e, &mut found);
        found
            .into_iter()
            .reduce(|a, b| Expr::binary(BinOp::Or, a, b))
            .unwrap_or_else(none)
    }

    /// Whether the result of [`Self::any_of`] is an array.
    fn gives_array(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Binary(_, a, b) => self.gives_array(a) || self.gives_array(b),
            ExprKind::Var(_) | ExprKind::Element(..) => (self.is_array)(e),
            _ => false,
        }
    }

    /// Adds the tangents in an expression, each once.
    fn tangents_in(&self, e: &Expr, found: &mut Vec<Expr>) {
        let one = match &e.kind {
            ExprKind::Var(s) | ExprKind::Element(s, _) => (self.is_tangent)(*s).then(|| e.clone()),
            ExprKind::Call(s, args) if Some(*s) == self.any => {
                let args: Vec<Expr> = args.iter().map(|a| self.any_of(a)).collect();
                match &args[..] {
                    // An array whose elements all come from one tangent, `A*SUM(XD)`.
                    [one] if !self.gives_array(one) => {
                        self.tangents_in(one, found);
                        None
                    }
                    _ => Some(Expr::call(*s, args, e.span)),
                }
            }
            _ => {
                for c in e.children() {
                    self.tangents_in(c, found);
                }
                None
            }
        };
        if let Some(one) = one.filter(|one| !found.iter().any(|f| f.kind == one.kind)) {
            found.push(one);
        }
    }
}

impl Generator<'_> {
    /// The pattern of a function of whole arrays that is not elemental: a scalar depends on all elements.
    pub(super) fn pattern_of_arrays(
        &mut self,
        values: Vec<Value>,
        rebuild: &dyn Fn(Vec<Expr>) -> Expr,
    ) -> Value {
        let p = values.iter().map(|v| v.p.clone()).collect();
        let mut all = None;
        for mut d in values.into_iter().filter_map(|v| v.d) {
            if let ExprKind::Keyword(_, inner) = d.kind {
                d = *inner;
            }
            if self.is_array_valued(&d) {
                d = self.call("ANY", vec![d]);
            }
            all = self.add(all, Some(d));
        }
        Value {
            p: rebuild(p),
            d: all,
        }
    }

    /// The function ANY, if the unit has it.
    pub(super) fn any_function(&self) -> Option<SymId> {
        let any = self.unit.symbols.find("ANY")?;
        let intrinsic = matches!(self.unit.symbols[any].class, Class::Intrinsic(_));
        intrinsic.then_some(any)
    }

    /// Reports values that are not computed from their operands element by element.
    pub(super) fn refuse_patterns(&self, tangents: &HashSet<SymId>) -> Result<(), Vec<Diagnostic>> {
        let is_tangent = |s: SymId| tangents.contains(&s);
        let mut errors = Vec::new();
        walk_block(&self.unit.body, &mut |s| {
            let StmtKind::Assign(target, value) = &s.kind else {
                return;
            };
            if !target.base().is_some_and(is_tangent) {
                return;
            }
            let mut refused = false;
            value.walk(&mut |e| refused |= matches!(e.kind, ExprKind::Array(_)));
            let mut found = Vec::new();
            let any = self.any_function();
            let patterns = Patterns {
                is_tangent: &is_tangent,
                is_array: &|e| rank(&self.unit, e) > 0,
                any,
            };
            patterns.tangents_in(value, &mut found);
            let to = rank(&self.unit, target);
            refused |= found.iter().any(|t| rank(&self.unit, t) > to);
            if refused {
                let error = Diagnostic::error(
                    &rules::AD_DIRECTIONS,
                    s.span,
                    "patterns do not go through array constructors and the like",
                );
                let error = error.help("assign the elements one by one");
                errors.push(self.engine.with_ad_block(error));
            }
        });
        match errors.is_empty() {
            true => Ok(()),
            false => Err(errors),
        }
    }

    /// Declares the tangents LOGICAL.
    pub(super) fn make_logical(&mut self, tangents: &HashSet<SymId>) {
        for t in tangents {
            self.unit.symbols[*t].ty = Some(PATTERN);
        }
        let mut specs = Vec::with_capacity(self.unit.specs.len());
        for mut spec in std::mem::take(&mut self.unit.specs) {
            match &mut spec.kind {
                // Keep the order: bounds are declared before the arrays that use them.
                SpecKind::Type(ty, list) => {
                    let of = |s: SymId| match tangents.contains(&s) {
                        true => PATTERN,
                        false => *ty,
                    };
                    for run in list.chunk_by(|a, b| of(a.sym) == of(b.sym)) {
                        let Some(first) = run.first() else { continue };
                        specs.push(Spec {
                            kind: SpecKind::Type(of(first.sym), run.to_vec()),
                            span: spec.span,
                        });
                    }
                    continue;
                }
                SpecKind::Data(sets) => {
                    for set in sets {
                        let own = set.targets.iter().filter_map(Expr::base);
                        if own.clone().count() > 0 && own.clone().all(|s| tangents.contains(&s)) {
                            for (_, value) in &mut set.values {
                                value.kind = ExprKind::Logical(false);
                            }
                        }
                    }
                }
                _ => {}
            }
            specs.push(spec);
        }
        self.unit.specs = specs;
    }
}
