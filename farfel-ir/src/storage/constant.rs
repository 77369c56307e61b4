//! Evaluation of constant expressions (ANSI X3.9-1978, section 6).
//!
//! ```
//! use farfel_ir::{Sources, storage::constant};
//! use farfel_lang::{resolve::resolve, syntax};
//! let mut sources = Sources::new();
//! let text = "      PARAMETER (N = 3, M = 2**N - 1)\n      REAL A(M*N)\n      A(1) = 0\n      END\n";
//! let file = sources.add("a.ff", text);
//! let mut parsed = syntax::parse(&mut sources, file, None, &mut syntax::NoIncludes);
//! resolve(&mut parsed.program);
//! let unit = &parsed.program.units[0];
//! let bound = unit.symbols[unit.symbols.find("A").unwrap()].dims[0].upper.as_ref();
//! assert_eq!(constant::integer(unit, bound.unwrap()), Some(21));
//! ```

use super::value::{self, EvaluationResult, NoValue, Value};
use crate::encoding::by_bytes;
use crate::intrinsics::Intrinsic;
use crate::ir::{
    Attribute, Class, DefaultSizes, Dim, Expr, ExprKind, SpecKind, StorageClass, SymId, Type, UnOp,
    Unit,
};
use crate::source::Span;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};

/// Returns the value of an INTEGER constant expression of a unit; `None` for any other expression.
pub fn integer(unit: &Unit, e: &Expr) -> Option<i64> {
    Constants::of(unit).integer(e)
}

/// Whether the bounds of a dimension contain names. In a host-associated array these belong to the
/// enclosing unit.
pub fn names_in(d: &Dim) -> bool {
    let mut any = false;
    let bounds = d.lower.iter().chain(&d.upper);
    bounds.for_each(|e| e.for_each_symbol(&mut |_| any = true));
    any
}

/// Returns the number of elements in each dimension of an array of a unit, where it is constant; an
/// empty list for a scalar.
pub fn extents(unit: &Unit, dims: &[Dim]) -> Option<Vec<i64>> {
    let constants = Constants::of(unit);
    let extent = |d: &Dim| {
        let low = match &d.lower {
            Some(e) => constants.integer(e)?,
            None => 1,
        };
        let high = constants.integer(d.upper.as_ref()?)?;
        high.checked_sub(low)?.checked_add(1)
    };
    dims.iter().map(extent).collect()
}

/// Returns the bounds of an array of a unit as integer constants, where they are constant.
pub fn bounds(unit: &Unit, dims: &[Dim]) -> Option<Vec<Dim>> {
    let constants = Constants::of(unit);
    let number = |e: &Expr| constants.integer(e).map(|n| Expr::int(n, e.span));
    let plain = |d: &Dim| {
        Some(Dim {
            lower: match &d.lower {
                Some(e) => Some(number(e)?),
                None => None,
            },
            upper: Some(number(d.upper.as_ref()?)?),
        })
    };
    dims.iter().map(plain).collect()
}

/// The depth of dependencies between named constants beyond which all are evaluated in the order of
/// their definitions.
const DEEP: usize = 64;

/// Is notified of the operations encountered during evaluation.
pub(super) trait Observer {
    /// An operation on constants has no value.
    fn wrong(&mut self, span: Span, why: NoValue);
    /// An array element, with the values of its subscripts where they are constant.
    fn element(&mut self, span: Span, array: SymId, at: &[Option<i64>]);
    /// A substring of a variable or array element, with its limits where they are constant.
    fn substring(&mut self, base: &Expr, from: Option<(i64, Span)>, to: Option<(i64, Span)>);
}

/// An observer that ignores everything.
struct IgnoreAll;

impl Observer for IgnoreAll {
    fn wrong(&mut self, _: Span, _: NoValue) {}
    fn element(&mut self, _: Span, _: SymId, _: &[Option<i64>]) {}
    fn substring(&mut self, _: &Expr, _: Option<(i64, Span)>, _: Option<(i64, Span)>) {}
}

/// The constants of a unit. Each is evaluated at most once.
pub struct Constants<'a> {
    /// The unit.
    pub unit: &'a Unit,
    /// The constants of the enclosing unit.
    around: Option<&'a Constants<'a>>,
    sizes: DefaultSizes,
    /// The values so far; `None` for a constant without a value.
    known: RefCell<FxHashMap<SymId, Option<Value>>>,
    /// The stack of named constants being evaluated: each is needed for the one before.
    active: RefCell<Vec<SymId>>,
    /// Whether all constants have been evaluated in the order of their definitions.
    in_order: Cell<bool>,
    /// Named constants that depend on themselves.
    self_dependent: RefCell<Vec<SymId>>,
    /// Variables of active implied DOs, with their current values.
    loops: RefCell<Vec<(SymId, i64)>>,
}

impl<'a> Constants<'a> {
    /// Returns the constants of a top-level unit. In a nested unit, those of the enclosing unit
    /// would be unknown: see [`Constants::nested`].
    pub fn of(unit: &'a Unit) -> Self {
        Constants {
            unit,
            around: None,
            sizes: unit.sizes,
            known: RefCell::default(),
            active: RefCell::default(),
            in_order: Cell::default(),
            self_dependent: RefCell::default(),
            loops: RefCell::default(),
        }
    }

    /// Returns the same constants with a default REAL of `bytes` bytes, as selected by the setting
    /// `real-kind`.
    #[must_use]
    pub fn with_real(self, bytes: u8) -> Self {
        let sizes = DefaultSizes {
            real: bytes,
            ..self.sizes
        };
        Constants { sizes, ..self }
    }

    /// Returns the constants of a unit nested in this one.
    pub fn nested<'b>(&'b self, unit: &'b Unit) -> Constants<'b>
    where
        'a: 'b,
    {
        Constants {
            unit,
            around: Some(self),
            sizes: self.sizes,
            known: RefCell::default(),
            active: RefCell::default(),
            in_order: Cell::default(),
            self_dependent: RefCell::default(),
            loops: RefCell::default(),
        }
    }

    /// Returns the value of an expression; `None` if it is not constant, or has no value.
    pub fn value(&self, e: &Expr) -> Option<Value> {
        self.evaluate(e, &mut IgnoreAll)
    }

    /// Returns the value of an expression if it is a constant INTEGER.
    pub fn integer(&self, e: &Expr) -> Option<i64> {
        match e.kind {
            ExprKind::Int(n) => Some(n),
            _ => self.value(e)?.integer(),
        }
    }

    /// Returns the value of a named constant, converted to its type.
    pub fn named(&self, id: SymId) -> Option<Value> {
        let s = &self.unit.symbols[id];
        if let StorageClass::Host(outer) = s.storage_class {
            return self.around?.named(outer);
        }
        let Class::Parameter(ref e) = s.class else {
            return None;
        };
        if let Some(known) = self.known.borrow().get(&id) {
            return known.clone();
        }
        let depth = self.active.borrow().len();
        if self.active.borrow().contains(&id) {
            self.self_dependent.borrow_mut().push(id);
            return None;
        }
        if depth == DEEP && !self.in_order.replace(true) {
            self.evaluate_in_order();
        }
        if depth > 2 * DEEP {
            return None;
        }
        self.active.borrow_mut().push(id);
        let value = self.value(e).and_then(|v| self.converted(v, id).ok()?);
        self.active.borrow_mut().pop();
        self.known.borrow_mut().insert(id, value.clone());
        value
    }

    /// Evaluates all named constants in the order of their definitions, so that each depends only
    /// on known ones.
    fn evaluate_in_order(&self) {
        for spec in &self.unit.specs {
            if let SpecKind::Parameter(list) = &spec.kind {
                for s in list {
                    if !self.active.borrow().contains(s) {
                        self.named(*s);
                    }
                }
            }
        }
    }

    /// Whether the value of a named constant depends on the constant itself.
    pub(super) fn depends_on_itself(&self, id: SymId) -> bool {
        self.named(id).is_none() && self.self_dependent.borrow().contains(&id)
    }

    /// Converts a value to the type of a constant or variable.
    pub(super) fn converted(&self, v: Value, id: SymId) -> EvaluationResult {
        let s = &self.unit.symbols[id];
        let length = match &s.length {
            None => Some(1),
            Some(e) => self.integer(e),
        };
        match s.ty {
            Some(ty) => value::convert(v, ty, length),
            // Names are not resolved yet.
            None => Ok(Some(v)),
        }
    }

    /// Returns the lower and upper bound of a dimension (counted from 0), where they are constant.
    pub fn bounds(&self, id: SymId, dimension: usize) -> (Option<i64>, Option<i64>) {
        let s = &self.unit.symbols[id];
        if s.has(Attribute::Allocatable) {
            // ALLOCATE and assignments of whole arrays determine both bounds.
            return (None, None);
        }
        if let StorageClass::Host(outer) = s.storage_class {
            return match self.around {
                Some(around) => around.bounds(outer, dimension),
                // The bounds refer to names of the enclosing unit.
                None => match s.dims.get(dimension) {
                    Some(d) if !names_in(d) => self.bounds_of(d),
                    _ => (None, None),
                },
            };
        }
        let Some(d) = s.dims.get(dimension) else {
            return (None, None);
        };
        self.bounds_of(d)
    }

    fn bounds_of(&self, d: &Dim) -> (Option<i64>, Option<i64>) {
        let low = match &d.lower {
            Some(e) => self.integer(e),
            None => Some(1),
        };
        (low, d.upper.as_ref().and_then(|e| self.integer(e)))
    }

    /// Returns the alignment of a variable in bytes.
    pub(super) fn alignment(&self, id: SymId) -> i64 {
        match self.unit.symbols[id].ty.map(|ty| self.sizes.stored(ty)) {
            Some(Type::Real(10) | Type::Complex(10)) => 16,
            Some(Type::Integer(n) | Type::Real(n) | Type::Complex(n) | Type::Logical(n)) => {
                i64::from(n).max(1)
            }
            Some(Type::Character) | None => 1,
        }
    }

    /// Returns the size of a scalar variable or an array element in bytes.
    pub fn element_size(&self, id: SymId) -> Option<i64> {
        let s = &self.unit.symbols[id];
        if let StorageClass::Host(outer) = s.storage_class {
            return self.around?.element_size(outer);
        }
        match self.sizes.stored(s.ty?) {
            // A REAL*10 is stored in sixteen bytes.
            Type::Real(10) => Some(16),
            Type::Complex(10) => Some(32),
            Type::Integer(n) | Type::Real(n) | Type::Logical(n) => Some(n.into()),
            Type::Complex(n) => Some(2 * i64::from(n)),
            Type::Character => match &s.length {
                None => Some(1),
                // A negative length counts as zero.
                Some(e) => Some(self.integer(e)?.max(0)),
            },
        }
    }

    /// Returns the number of elements of a variable: 1 for a scalar.
    pub fn count(&self, id: SymId) -> Option<i64> {
        let dims = self.unit.symbols[id].dims.len();
        (0..dims).try_fold(1i64, |count, k| {
            let (low, high) = self.bounds(id, k);
            let extent = high?.checked_sub(low?)?.checked_add(1)?.max(0);
            count.checked_mul(extent)
        })
    }

    /// Returns the size of a variable or array in bytes.
    pub fn size(&self, id: SymId) -> Option<i64> {
        self.element_size(id)?.checked_mul(self.count(id)?)
    }

    /// Returns the offset in bytes, within its variable, of the variable, element or substring that
    /// an expression refers to, where it is constant.
    pub fn offset(&self, e: &Expr) -> Option<i64> {
        match &e.kind {
            ExprKind::Var(_) => Some(0),
            ExprKind::Element(s, subscripts) => {
                let mut stride = self.element_size(*s)?;
                let mut at = 0i64;
                for (k, e) in subscripts.iter().enumerate() {
                    let (low, high) = self.bounds(*s, k);
                    let steps = self.integer(e)?.checked_sub(low?)?;
                    at = at.checked_add(stride.checked_mul(steps)?)?;
                    // The last upper bound is not needed, and is often `*`.
                    if k + 1 < subscripts.len() {
                        let extent = high?.checked_sub(low?)?.checked_add(1)?;
                        stride = stride.checked_mul(extent)?;
                    }
                }
                Some(at)
            }
            ExprKind::Substring(base, from, _) => {
                let from = match from {
                    Some(e) => self.integer(e)?,
                    None => 1,
                };
                self.offset(base)?.checked_add(from.checked_sub(1)?)
            }
            _ => None,
        }
    }

    /// Runs `f` while the variable of an implied DO has this value.
    pub(super) fn with<T>(&self, var: SymId, value: i64, f: impl FnOnce() -> T) -> T {
        self.loops.borrow_mut().push((var, value));
        let result = f();
        self.loops.borrow_mut().pop();
        result
    }

    /// Returns the value of an expression. Visits every part of it exactly once, even where the
    /// value is known not to be constant.
    pub(super) fn evaluate(&self, e: &Expr, seen: &mut dyn Observer) -> Option<Value> {
        let computed = match &e.kind {
            // Larger constants have a larger kind, where compilers accept them at all.
            ExprKind::Int(n) => {
                let kind = if i32::try_from(*n).is_ok() { 4 } else { 8 };
                return Some(Value::Integer(*n, kind));
            }
            ExprKind::Real(text) => real_constant(text),
            ExprKind::Complex(p) => {
                let (re, im) = (self.evaluate(&p.0, seen), self.evaluate(&p.1, seen));
                let (re, im) = (re?, im?);
                let kind = match re.ty().promote(im.ty()) {
                    Type::Real(k) => k,
                    _ => 4,
                };
                return Some(Value::Complex(re.number()?, im.number()?, kind));
            }
            ExprKind::Logical(b) => return Some(Value::Logical(*b)),
            ExprKind::Kind(e, kind) => match e.kind {
                ExprKind::Int(n) => value::integer(n.into(), *kind),
                ExprKind::Logical(b) => return Some(Value::Logical(b)),
                ExprKind::Real(ref text) => real_constant(text),
                _ => return None,
            },
            ExprKind::Bits(text) => return bits(text),
            ExprKind::Char(s) => return Some(Value::Character(by_bytes(s))),
            ExprKind::Var(s) => return self.variable(*s),
            ExprKind::Element(s, subscripts) => {
                self.element(e.span, *s, subscripts, seen);
                return None;
            }
            // The parser evaluates kinds before names are resolved.
            ExprKind::Call(s, args) | ExprKind::Apply(s, args) => self.call(*s, args, seen),
            ExprKind::Substring(base, from, to) => {
                return self.substring(base, from.as_deref(), to.as_deref(), seen);
            }
            ExprKind::Paren(a) | ExprKind::Keyword(_, a) => return self.evaluate(a, seen),
            // The most negative number is written as the negation of a constant that is too large
            // by one.
            ExprKind::Unary(UnOp::Minus, a) if a.kind == ExprKind::Int(1 << 31) => {
                return Some(Value::Integer(i32::MIN.into(), 4));
            }
            ExprKind::Unary(op, a) => match self.evaluate(a, seen) {
                Some(a) => value::unary(*op, a),
                None => return None,
            },
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.evaluate(a, seen), self.evaluate(b, seen));
                match (a, b) {
                    (Some(a), Some(b)) => value::binary(*op, a, b),
                    _ => return None,
                }
            }
            _ => {
                e.children().into_iter().for_each(|c| self.observe(c, seen));
                return None;
            }
        };
        computed.unwrap_or_else(|why| {
            seen.wrong(e.span, why);
            None
        })
    }

    /// Shows an expression to the observer, without computing its value where there is nothing to
    /// observe.
    pub(super) fn observe(&self, e: &Expr, seen: &mut dyn Observer) {
        // Most expressions are leaves, in which there is nothing to observe.
        let leaf = matches!(
            e.kind,
            ExprKind::Var(_) | ExprKind::Char(_) | ExprKind::Int(_) | ExprKind::Star
        );
        if !leaf {
            self.evaluate(e, seen);
        }
    }

    fn variable(&self, s: SymId) -> Option<Value> {
        let symbol = &self.unit.symbols[s];
        match symbol.class {
            Class::Parameter(_) => self.named(s),
            Class::Variable => {
                let loops = self.loops.borrow();
                let (_, n) = loops.iter().rev().find(|(v, _)| *v == s)?;
                Some(Value::Integer(*n, 8))
            }
            _ => None,
        }
    }

    fn element(&self, span: Span, s: SymId, subscripts: &[Expr], seen: &mut dyn Observer) {
        // An array has at most seven dimensions, or fifteen in later standards.
        let mut at = [None; 15];
        let mut known = false;
        for (k, e) in subscripts.iter().enumerate() {
            let value = self.evaluate(e, seen).and_then(|v| v.integer());
            known |= value.is_some();
            if let Some(slot) = at.get_mut(k) {
                *slot = value;
            }
        }
        if known && subscripts.len() <= at.len() {
            seen.element(span, s, &at[..subscripts.len()]);
        }
    }

    fn substring(
        &self,
        base: &Expr,
        from: Option<&Expr>,
        to: Option<&Expr>,
        seen: &mut dyn Observer,
    ) -> Option<Value> {
        let whole = self.evaluate(base, seen);
        let mut limit = |e: Option<&Expr>| {
            let e = e?;
            Some((self.evaluate(e, seen)?.integer()?, e.span))
        };
        let (low, high) = (limit(from), limit(to));
        if low.is_some() || high.is_some() {
            seen.substring(base, low, high);
        }
        let Value::Character(text) = whole? else {
            return None;
        };
        let all = text.chars().count() as i64;
        let low = from.map_or(Some(1), |_| Some(low?.0))?;
        let high = to.map_or(Some(all), |_| Some(high?.0))?;
        if low > high {
            return Some(Value::Character(String::new()));
        }
        let skip = usize::try_from(low.checked_sub(1)?).ok()?;
        let take = usize::try_from(high).ok()?.checked_sub(skip)?;
        (high <= all).then(|| Value::Character(text.chars().skip(skip).take(take).collect()))
    }

    fn call(&self, s: SymId, args: &[Expr], seen: &mut dyn Observer) -> EvaluationResult {
        let symbol = &self.unit.symbols[s];
        let called = match symbol.class {
            Class::Intrinsic(i) => Some(i),
            Class::Unknown if !symbol.is_array() => Intrinsic::find(&symbol.name),
            _ => None,
        };
        let Some(i) = called else {
            args.iter().for_each(|a| self.observe(a, seen));
            return Ok(None);
        };
        // The length and the kind of a variable are known even where its value is not.
        if let ("LEN" | "KIND", [a]) = (i.name, args)
            && let Some(n) = self.inquiry(i.name, a)
        {
            return Ok(Some(Value::Integer(n, 4)));
        }
        let values: Vec<Option<Value>> = args.iter().map(|a| self.evaluate(a, seen)).collect();
        let Some(mut values) = values.into_iter().collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let keyword = |a: &Expr| match &a.kind {
            ExprKind::Keyword(k, _) => Some(k.clone()),
            _ => None,
        };
        let position = |word: &str, place: Option<usize>| {
            let named = args
                .iter()
                .position(|a| keyword(a).is_some_and(|k| k == word));
            named.or(place.filter(|p| args.get(*p).is_some_and(|a| keyword(a).is_none())))
        };
        if i.name == "SELECTED_REAL_KIND" {
            let of = |word, place| {
                let value = position(word, Some(place)).map(|p| values[p].integer());
                value.unwrap_or(Some(0))
            };
            let (digits, range) = (of("P", 0), of("R", 1));
            return Ok(digits.zip(range).map(|(p, r)| value::real_kind(p, r)));
        }
        let kind = match i.kind_at {
            Some(at) => position("KIND", Some(at.into())),
            None => None,
        };
        let kind = kind.map(|p| values.remove(p));
        if let ("KIND", [v]) = (i.name, values.as_slice()) {
            let kind = match self.sizes.stored(v.ty()) {
                Type::Integer(k) | Type::Real(k) | Type::Complex(k) | Type::Logical(k) => k,
                Type::Character => 1,
            };
            return Ok(Some(Value::Integer(kind.into(), 4)));
        }
        let ty = i.result_type(&values.iter().map(Value::ty).collect::<Vec<_>>());
        let ty = match kind {
            None => Some(ty),
            Some(kind) => kind
                .integer()
                .and_then(|k| u8::try_from(k).ok())
                .map(|bytes| self.sizes.written(ty, bytes)),
        };
        ty.map_or(Ok(None), |ty| value::intrinsic(i.name, &values, ty))
    }

    /// Returns a property of a variable that does not depend on its value: LEN or KIND.
    fn inquiry(&self, name: &str, e: &Expr) -> Option<i64> {
        let v = match &e.kind {
            ExprKind::Var(v) | ExprKind::Element(v, _) => *v,
            _ => return None,
        };
        let s = &self.unit.symbols[v];
        match (name, self.sizes.stored(s.ty?)) {
            ("LEN", Type::Character) if s.is_variable() => self.element_size(v),
            ("KIND", Type::Character) => Some(1),
            ("KIND", Type::Integer(k) | Type::Real(k) | Type::Complex(k) | Type::Logical(k)) => {
                Some(k.into())
            }
            _ => None,
        }
    }
}

/// `Z'FF'`, `O'17'`, `B'101'`; `None` for those that do not fit into a default INTEGER.
fn bits(text: &str) -> Option<Value> {
    let radix = match text.bytes().next()? {
        b'Z' => 16,
        b'O' => 8,
        b'B' => 2,
        _ => return None,
    };
    let digits = text.get(1..)?.trim_matches('\'');
    let n = i32::from_str_radix(digits, radix).ok()?;
    Some(Value::Integer(n.into(), 4))
}

/// `1.5`, `1.E-3`, `0.5D0`, `1Q0`
fn real_constant(text: &str) -> EvaluationResult {
    let kind = match text.bytes().find(u8::is_ascii_alphabetic) {
        Some(b'D') => 8,
        Some(b'Q') => 16,
        _ => 4,
    };
    let plain = text.replace(['D', 'Q'], "E");
    plain
        .parse()
        .map_or(Ok(None), |x: f64| value::real(x, kind))
}
