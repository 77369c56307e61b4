//! The state that the parts of the generator share while they generate the series of one unit.

use super::varied::Varied;
use crate::tangent::Engine;
use farfel_lang::Span;
use farfel_lang::intrinsics::Intrinsic;
use farfel_lang::ir::{
    Block, Class, Expr, ExprKind, Name, Origin, Stmt, StorageClass, SymId, Symbol, Type, Unit,
    build,
};
use farfel_lang::types::type_of;
use std::collections::HashMap;

/// A value and the coefficients of its Taylor series, from that of `t`; `None` is zero.
#[derive(Debug, Clone)]
pub(super) struct Series {
    pub(super) value: Expr,
    pub(super) terms: Vec<Option<Expr>>,
}

/// A unit under construction.
pub(super) struct TaylorUnit<'a> {
    pub(super) engine: &'a Engine<'a>,
    pub(super) varied: &'a Varied<'a>,
    /// The names of these units' Taylor series.
    pub(super) names: &'a HashMap<Name, Name>,
    /// The unit of the program.
    pub(super) source: &'a Unit,
    /// The unit under construction. It begins as a copy, so that symbols keep their handles.
    pub(super) unit: Unit,
    /// The highest order.
    pub(super) order: usize,
    /// The variables for the coefficients of each varied variable, from the first.
    pub(super) coefficients: HashMap<SymId, Vec<SymId>>,
    /// The independent variable, if the unit does not change it: its series is known.
    pub(super) unchanged: Option<SymId>,
    /// The dummy arguments of a statement function that is being expanded.
    pub(super) bound: HashMap<SymId, Series>,
    /// Statements to execute before the current one.
    pub(super) before: Block,
    pub(super) span: Span,
    pub(super) temporaries: HashMap<Type, Vec<SymId>>,
    pub(super) used: HashMap<Type, usize>,
}

impl TaylorUnit<'_> {
    /// A value without derivatives.
    pub(super) fn constant(&self, value: Expr) -> Series {
        Series {
            value,
            terms: vec![None; self.order],
        }
    }

    /// A whole number as a constant of a type.
    pub(super) fn number(&self, n: usize, ty: Type) -> Expr {
        build::literal(&format!("{n}.0"), ty, self.span)
    }

    /// Whether an expression has derivatives.
    pub(super) fn is_active(&self, e: &Expr) -> bool {
        if self.bound.is_empty() {
            return self.varied.is_varied(self.source, e);
        }
        let mut any = false;
        e.for_each_symbol(&mut |s| {
            any |= match self.bound.get(&s) {
                Some(b) => b.terms.iter().any(Option::is_some),
                None => self.varied.has(self.source, s),
            };
        });
        any && self.ty(e).is_some_and(Type::is_differentiable)
    }

    /// The value of an expression.
    pub(super) fn primal(&self, e: &Expr) -> Expr {
        let mut e = e.clone();
        if !self.bound.is_empty() {
            e.rewrite(&mut |x| {
                if let ExprKind::Var(s) = x.kind
                    && let Some(b) = self.bound.get(&s)
                {
                    *x = b.value.clone();
                }
            });
        }
        e
    }

    /// The type of an expression of the source.
    pub(super) fn ty(&self, e: &Expr) -> Option<Type> {
        type_of(self.source, e)
    }

    /// Assigns a value to a temporary before the current statement, and returns that.
    pub(super) fn keep(&mut self, value: Expr, ty: Type) -> Expr {
        let t = self.temporary(ty);
        self.before.push(Stmt::assign(t.clone(), value, self.span));
        t
    }

    /// A variable for one statement.
    pub(super) fn temporary(&mut self, ty: Type) -> Expr {
        let used = self.used.entry(ty).or_default();
        let n = *used;
        *used += 1;
        let known = self.temporaries.get(&ty).and_then(|l| l.get(n)).copied();
        let symbol = known.unwrap_or_else(|| {
            let name = self.unused("TEMP");
            let symbol = self.declare(Symbol::variable(name, ty, self.span));
            self.temporaries.entry(ty).or_default().push(symbol);
            symbol
        });
        Expr::var(symbol, self.span)
    }

    /// A call of an intrinsic function. `None` if its name means something else in the unit.
    pub(super) fn call(&mut self, name: &str, args: Vec<Expr>) -> Option<Expr> {
        let symbol = match self.unit.symbols.find(name) {
            Some(s) => matches!(self.unit.symbols[s].class, Class::Intrinsic(_)).then_some(s)?,
            None => self.unit.symbols.add(Symbol {
                class: Class::Intrinsic(Intrinsic::find(name)?),
                storage_class: StorageClass::Global,
                ..Symbol::new(name.into(), Span::NONE)
            }),
        };
        Some(Expr::call(symbol, args, self.span))
    }

    pub(super) fn unused(&self, wanted: &str) -> Name {
        self.engine.unused_name(&self.unit.symbols, wanted)
    }

    pub(super) fn declare(&mut self, symbol: Symbol) -> SymId {
        let id = self.unit.symbols.add(Symbol {
            typed: true,
            origin: Origin::Derivative,
            ..symbol
        });
        self.unit.declare(id);
        id
    }
}
