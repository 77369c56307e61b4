//! The sizes and layouts of a unit's arrays, as polynomials in variables that the unit receives from its
//! callers or sets on entry.

use super::poly::Poly;
use crate::support::{Support, intrinsic};
use farfel_lang::Span;
use farfel_lang::ir::{
    Attribute, BinOp, Class, Dim, Expr, ExprKind, Origin, Stmt, StorageClass, SymId, Symbol, Type,
    Unit,
};
use farfel_lang::storage::{Constants, UnitStorage};
use farfel_lang::types::type_of;
use std::collections::HashMap;

/// An array.
#[derive(Debug, Clone)]
pub(super) struct Array {
    /// The lower bound of each dimension.
    pub lowers: Vec<Poly>,
    /// The distance in elements between consecutive subscripts, in each dimension.
    pub strides: Vec<Poly>,
    /// The number of elements that its declaration demands, if it says so: see [`Arrays::total`].
    total: Total,
    /// The number of elements that exist.
    pub length: Length,
}

#[derive(Debug, Clone)]
enum Total {
    Open,
    Known(Poly),
    /// The value of this expression, for which no variable has been set yet.
    Later(Expr),
}

/// The number of elements that exist.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Length {
    Known(Poly),
    /// The array was created by differentiation, which chooses its bounds and its subscripts.
    Trusted,
    /// Unknown, for this reason.
    Unknown(String),
}

/// The arrays of a unit.
#[derive(Default)]
pub(super) struct Arrays {
    known: HashMap<SymId, Array>,
    /// Statements to be executed on entry to the unit.
    pub entry: Vec<Stmt>,
    /// Automatic arrays with their sizes.
    pub automatic: Vec<(SymId, Poly)>,
    /// Variables for strides, which are not negative.
    pub strides: Vec<SymId>,
    /// Variables for lower bounds that may have any 64-bit value.
    pub wide: Vec<SymId>,
    /// Variables for the sizes of whole arrays, which are not negative either.
    pub totals: Vec<SymId>,
    /// The arrays that ALLOCATE creates.
    pub allocated: HashMap<SymId, AllocatedArray>,
    /// Whether the size of an array may be too large for an INTEGER*8, so that a call ends on entry to the unit.
    pub overflows: bool,
}

/// The maximum number of bits of a size that is computed without a check.
const MOST_BITS: u32 = 62;

/// The variables for an array that ALLOCATE creates. They are set on entry to the unit, and after each ALLOCATE and
/// DEALLOCATE; without memory, the array has no elements.
#[derive(Debug, Clone)]
pub(super) struct AllocatedArray {
    lowers: Vec<SymId>,
    pub uppers: Vec<SymId>,
    /// The distance between consecutive subscripts in each dimension but the first.
    strides: Vec<SymId>,
    total: SymId,
}

/// What must be known besides the unit.
pub(super) struct ArrayContext<'a> {
    pub storage: &'a UnitStorage,
    /// The lengths that callers pass, by array.
    pub given: &'a HashMap<SymId, SymId>,
    /// The reason why callers pass no lengths.
    pub no_lengths: Option<&'a str>,
    /// The size of a default REAL in bytes.
    pub real: u8,
}

/// Declares an INTEGER*8 variable.
pub(super) fn variable(unit: &mut Unit, name: &str) -> SymId {
    let name = unit.symbols.unused(name, &|_| false);
    let id = unit
        .symbols
        .add(Symbol::variable(name, Type::Integer(8), Span::NONE));
    unit.declare(id);
    id
}

/// Converts an INTEGER expression to 64 bits.
pub(super) fn long(e: Expr) -> Expr {
    if let ExprKind::Int(n) = e.kind {
        return Expr::long(n, e.span);
    }
    let span = e.span;
    let e = match e.kind {
        ExprKind::Binary(BinOp::Mul | BinOp::Div | BinOp::Pow, ..)
        | ExprKind::Var(_)
        | ExprKind::Element(..)
        | ExprKind::Call(..)
        | ExprKind::Paren(_) => e,
        _ => Expr::parens(e, span),
    };
    Expr::binary(BinOp::Add, Expr::long(0, span), e)
}

impl Arrays {
    pub(super) fn get(&mut self, unit: &mut Unit, sym: SymId, context: &ArrayContext) -> Array {
        if let Some(found) = self.known.get(&sym) {
            return found.clone();
        }
        let made = self.of(unit, sym, context);
        self.known.insert(sym, made.clone());
        made
    }

    fn of(&mut self, unit: &mut Unit, sym: SymId, context: &ArrayContext) -> Array {
        let symbol = unit.symbols[sym].clone();
        let unknown = |why: String| Array {
            lowers: Vec::new(),
            strides: Vec::new(),
            total: Total::Open,
            length: Length::Unknown(why),
        };
        let open = symbol.dims.iter().any(|d| d.upper.is_none());
        if symbol.tape
            || symbol.has(Attribute::Growing)
            || (symbol.origin != Origin::Written && (open || symbol.has(Attribute::Allocatable)))
        {
            return Array {
                length: Length::Trusted,
                ..unknown(String::new())
            };
        }
        if is_allocated_here(&symbol)
            && let Some(array) = self.allocated_array(unit, sym)
        {
            return array;
        }
        if open || symbol.has(Attribute::Allocatable) {
            return unknown(format!(
                "the array {} has {}",
                symbol.name,
                symbol.missing_bounds()
            ));
        }
        if let StorageClass::Pointee(_) = symbol.storage_class {
            return unknown(format!("{} is where a pointer points", symbol.name));
        }
        let mut lowers = Vec::new();
        let mut strides = vec![Poly::constant(1)];
        // The number of bits that the last stride needs at most.
        let mut bits: u32 = 0;
        let mut total = Total::Open;
        for (k, dim) in symbol.dims.iter().enumerate() {
            let (low, high) = Constants::of(unit).bounds(sym, k);
            let assumed = matches!(&dim.upper, Some(e) if e.kind == ExprKind::Star);
            let bounds = [&dim.lower, &dim.upper].into_iter().flatten();
            if !bounds.clone().all(|e| is_plain(unit, e)) {
                let name = &symbol.name;
                return unknown(format!("functions are called in the bounds of {name}"));
            }
            let lower = match (low, &dim.lower) {
                (Some(low), _) => Poly::constant(low.into()),
                (None, Some(e)) => {
                    let v = self.set(
                        unit,
                        &format!("{}_L{}", symbol.name, k + 1),
                        long(e.clone()),
                    );
                    if !matches!(type_of(unit, e), Some(Type::Integer(1 | 2 | 4))) {
                        self.wide.push(v);
                    }
                    Poly::variable(v)
                }
                (None, None) => Poly::constant(1),
            };
            lowers.push(lower.clone());
            let last = k + 1 == symbol.dims.len();
            if assumed {
                continue;
            }
            let Some(before) = strides.last().cloned() else {
                continue;
            };
            // Only needed if the whole array is used, or if another dimension follows.
            let next = match (high, &dim.upper) {
                (Some(high), _) if low.is_some() => {
                    let extent = i128::from(high) - i128::from(low.unwrap_or(1)) + 1;
                    before
                        .value()
                        .map(|v| Poly::constant(v.saturating_mul(extent.max(0))))
                }
                _ => None,
            };
            bits = bits.saturating_add(extent_bits(unit, dim, low, high));
            let next = match (next, &dim.upper) {
                (Some(next), _) => next,
                (None, Some(e)) if bits > MOST_BITS => {
                    let span = Span::NONE;
                    let shown = Expr::text(format!("{} at {}", symbol.name, unit.name), span);
                    let args = vec![before.expr(span), lower.expr(span), long(e.clone()), shown];
                    let product = support_function(unit, Support::Size);
                    let value = Expr::call(product, args, span);
                    self.overflows = true;
                    if last && symbol.storage_class == StorageClass::Dummy {
                        total = Total::Later(value);
                        continue;
                    }
                    let v = self.set(unit, &format!("{}_S{}", symbol.name, k + 1), value);
                    match last {
                        true => self.totals.push(v),
                        false => self.strides.push(v),
                    }
                    Poly::variable(v)
                }
                (None, Some(e)) => {
                    let span = Span::NONE;
                    let extent = Expr::binary(BinOp::Sub, long(e.clone()), lower.expr(span));
                    let extent = match lower.value() {
                        Some(1) => long(e.clone()),
                        _ => Expr::binary(BinOp::Add, extent, Expr::long(1, span)),
                    };
                    let value = match before.value() {
                        Some(1) => extent,
                        _ => {
                            Expr::binary(BinOp::Mul, before.expr(span), Expr::parens(extent, span))
                        }
                    };
                    if last && symbol.storage_class == StorageClass::Dummy {
                        total = Total::Later(value);
                        continue;
                    }
                    let v = self.size(unit, &format!("{}_S{}", symbol.name, k + 1), value);
                    match last {
                        true => self.totals.push(v),
                        false => self.strides.push(v),
                    }
                    Poly::variable(v)
                }
                (None, None) => continue,
            };
            match last {
                true => total = Total::Known(next),
                false => strides.push(next),
            }
        }
        let length = self.length(unit, sym, &symbol, &total, context);
        Array {
            lowers,
            strides,
            total,
            length,
        }
    }

    /// Returns an array that ALLOCATE creates; `None` if the unit gives another meaning to the names of the
    /// functions that tell its bounds.
    fn allocated_array(&mut self, unit: &mut Unit, sym: SymId) -> Option<Array> {
        let name = unit.symbols[sym].name.clone();
        let rank = unit.symbols[sym].dims.len();
        let mut made = AllocatedArray {
            lowers: Vec::new(),
            uppers: Vec::new(),
            strides: Vec::new(),
            total: variable(unit, &format!("{name}_S")),
        };
        self.totals.push(made.total);
        for k in 1..=rank {
            made.lowers.push(variable(unit, &format!("{name}_L{k}")));
            made.uppers.push(variable(unit, &format!("{name}_U{k}")));
            if k < rank {
                made.strides.push(variable(unit, &format!("{name}_S{k}")));
            }
        }
        self.wide.extend(&made.lowers);
        self.strides.extend(&made.strides);
        let total = Poly::variable(made.total);
        let of = |v: &SymId| Poly::variable(*v);
        let array = Array {
            lowers: made.lowers.iter().map(of).collect(),
            strides: std::iter::once(Poly::constant(1))
                .chain(made.strides.iter().map(of))
                .collect(),
            total: Total::Known(total.clone()),
            length: Length::Known(total),
        };
        self.allocated.insert(sym, made);
        let known = self.bounds_now(unit, sym)?;
        self.entry.extend(known);
        Some(array)
    }

    /// Returns the statements that set the variables for an array that ALLOCATE creates.
    pub(super) fn bounds_now(&self, unit: &mut Unit, sym: SymId) -> Option<Vec<Stmt>> {
        let span = Span::NONE;
        let array = self.allocated.get(&sym)?;
        let [allocated, lower, upper] =
            ["ALLOCATED", "LBOUND", "UBOUND"].map(|f| intrinsic(unit, f));
        let whole = || Expr::var(sym, span);
        let set = |v: SymId, e: Expr| Stmt::assign(Expr::var(v, span), e, span);
        let all = array.lowers.iter().chain(&array.uppers);
        let all = all.chain(&array.strides).chain([&array.total]);
        let mut made: Vec<Stmt> = all.map(|v| set(*v, Expr::long(0, span))).collect();
        let mut arm = Vec::new();
        let mut product: Option<Expr> = None;
        for (k, (l, u)) in array.lowers.iter().zip(&array.uppers).enumerate() {
            let bound = |f: SymId| {
                let dimension = Expr::int(k as i64 + 1, span);
                Expr::call(f, vec![whole(), dimension, Expr::int(8, span)], span)
            };
            arm.push(set(*l, bound(lower?)));
            arm.push(set(*u, bound(upper?)));
            let way = Expr::binary(BinOp::Sub, Expr::var(*u, span), Expr::var(*l, span));
            let extent = Expr::binary(BinOp::Add, way, Expr::long(1, span));
            let value = match product {
                None => extent,
                Some(before) => Expr::binary(BinOp::Mul, before, Expr::parens(extent, span)),
            };
            let v = array.strides.get(k).unwrap_or(&array.total);
            arm.push(set(*v, value));
            product = Some(Expr::var(*v, span));
        }
        let there = Expr::call(allocated?, vec![whole()], span);
        made.push(Stmt::branches(vec![(there, arm)], None, span));
        Some(made)
    }

    fn length(
        &mut self,
        unit: &Unit,
        sym: SymId,
        symbol: &Symbol,
        total: &Total,
        context: &ArrayContext,
    ) -> Length {
        let total = match total {
            Total::Known(total) => Some(total),
            _ => None,
        };
        let count = total.and_then(Poly::value);
        match symbol.storage_class {
            StorageClass::Dummy => match (context.given.get(&sym), context.no_lengths) {
                (Some(length), _) => Length::Known(Poly::variable(*length)),
                (None, why) => Length::Unknown(match why {
                    Some(why) => why.into(),
                    None => format!("nothing is known of its argument {}", symbol.name),
                }),
            },
            _ if context.storage.range(sym).is_some() => {
                let Some(count) = count else {
                    return Length::Unknown(format!("the size of {} is not known", symbol.name));
                };
                Length::Known(Poly::constant(self.rest(unit, sym, count, context)))
            }
            StorageClass::Local | StorageClass::Result | StorageClass::Common(_) => {
                match (total, count) {
                    (Some(total), Some(_)) => Length::Known(total.clone()),
                    (Some(total), None) => {
                        self.automatic.push((sym, total.clone()));
                        Length::Known(total.clone())
                    }
                    (None, _) => {
                        Length::Unknown(format!("the size of {} is not known", symbol.name))
                    }
                }
            }
            _ => Length::Unknown(format!("where {} lies is not known", symbol.name)),
        }
    }

    /// Returns the number of elements from the first one of a variable with `count` elements to the end of
    /// its COMMON block or EQUIVALENCE class, which old programs use, too.
    pub(super) fn rest(
        &self,
        unit: &Unit,
        sym: SymId,
        count: i128,
        context: &ArrayContext,
    ) -> i128 {
        let area = context.storage.range(sym);
        let area = area.map(|spot| (spot, &context.storage.areas()[spot.area]));
        // Offsets are computed for a default REAL of four bytes.
        match (area, Constants::of(unit).element_size(sym)) {
            (Some((spot, area)), Some(size)) if area.exact && context.real == 4 && size > 0 => {
                count.max(i128::from((area.size - spot.start) / size))
            }
            _ => count,
        }
    }

    /// Returns the number of elements that the declaration of an array demands; `None` if it does not say.
    pub(super) fn total(
        &mut self,
        unit: &mut Unit,
        sym: SymId,
        context: &ArrayContext,
    ) -> Option<Poly> {
        match self.get(unit, sym, context).total {
            Total::Open => None,
            Total::Known(total) => Some(total),
            Total::Later(value) => {
                let name = format!("{}_S", unit.symbols[sym].name);
                let v = self.size(unit, &name, value);
                self.totals.push(v);
                let total = Poly::variable(v);
                if let Some(array) = self.known.get_mut(&sym) {
                    array.total = Total::Known(total.clone());
                }
                Some(total)
            }
        }
    }

    /// Returns a variable for a size, which is set on entry to the unit, to 0 if the value is negative: that
    /// is how compilers treat an upper bound below the lower one.
    fn size(&mut self, unit: &mut Unit, name: &str, value: Expr) -> SymId {
        let v = self.set(unit, name, value);
        let span = Span::NONE;
        let negative = Expr::binary(BinOp::Lt, Expr::var(v, span), Expr::long(0, span));
        let zero = Stmt::assign(Expr::var(v, span), Expr::long(0, span), span);
        self.entry.push(Stmt::logical_if(negative, zero, span));
        v
    }

    /// Returns a variable that is set on entry to the unit.
    fn set(&mut self, unit: &mut Unit, name: &str, value: Expr) -> SymId {
        let v = variable(unit, name);
        let span = Span::NONE;
        self.entry
            .push(Stmt::assign(Expr::var(v, span), value, span));
        v
    }
}

/// Whether this is an array that only its own unit allocates.
pub(super) fn is_allocated_here(symbol: &Symbol) -> bool {
    symbol.has(Attribute::Allocatable)
        && symbol.is_array()
        && symbol.storage_class == StorageClass::Local
}

/// Returns the number of bits that the extent of a dimension needs at most. `low` and `high` are its bounds, if
/// they are constants.
fn extent_bits(unit: &Unit, dim: &Dim, low: Option<i64>, high: Option<i64>) -> u32 {
    let of_constant = |n: i64| i64::BITS - n.unsigned_abs().leading_zeros();
    let of = |constant: Option<i64>, e: &Option<Expr>| match (constant, e) {
        (Some(n), _) => of_constant(n),
        (None, Some(e)) => match type_of(unit, e) {
            Some(Type::Integer(bytes @ (1 | 2 | 4))) => 8 * u32::from(bytes) - 1,
            _ => 64,
        },
        (None, None) => 1,
    };
    match (low, high) {
        (Some(low), Some(high)) => of_constant(high.saturating_sub(low).saturating_add(1)),
        // An extent that begins at 1 is the upper bound.
        (Some(1), None) => of(None, &dim.upper),
        (None, _) | (_, None) => of(low, &dim.lower).max(of(high, &dim.upper)) + 1,
    }
}

/// Returns a function for checks, as a symbol of the unit.
pub(super) fn support_function(unit: &mut Unit, support: Support) -> SymId {
    let name = support.name();
    if let Some(id) = unit.symbols.find(&name) {
        return id;
    }
    let symbol = Symbol {
        class: Class::Function,
        ty: support.ty(),
        storage_class: StorageClass::Global,
        origin: Origin::Generated,
        ..Symbol::new(name.into(), Span::NONE)
    };
    unit.symbols.add(symbol)
}

fn symbol_is_support(unit: &Unit, s: SymId) -> bool {
    let symbol = &unit.symbols[s];
    symbol.storage_class == StorageClass::Global && Support::is_name(&symbol.name)
}

/// Whether an expression can be evaluated once more without side effects and with the same result.
pub(super) fn is_plain(unit: &Unit, e: &Expr) -> bool {
    let mut plain = true;
    e.walk(&mut |e| {
        plain &= match &e.kind {
            ExprKind::Call(s, _) => match &unit.symbols[*s].class {
                // These return another value each time.
                Class::Intrinsic(i) => !matches!(i.name, "RAND" | "IRAND" | "RAN" | "SECNDS"),
                Class::StatementFunction(_, value) => is_plain(unit, value),
                // Checks have no side effect except that they may end the call.
                Class::Function => symbol_is_support(unit, *s),
                _ => false,
            },
            _ => true,
        }
    });
    plain
}

/// Returns the number of an element, from 1, computed like addresses are by compilers.
pub(super) fn number(subscripts: &[Expr], array: &Array, span: Span) -> Expr {
    use farfel_lang::ir::BinOp::{Add, Mul, Sub};
    let mut number = 1i128;
    let mut sum: Option<Expr> = None;
    for (k, s) in subscripts.iter().enumerate() {
        let (lower, stride) = (&array.lowers[k], &array.strides[k]);
        let constant = match &s.kind {
            ExprKind::Int(n) => Some(i128::from(*n)),
            _ => None,
        };
        if let (Some(s), Some(l), Some(stride)) = (constant, lower.value(), stride.value()) {
            number = number.saturating_add((s - l).saturating_mul(stride));
            continue;
        }
        if let (Some(s), Some(l)) = (constant, lower.value())
            && s == l
        {
            continue;
        }
        let term = match (lower.value(), stride.value()) {
            (Some(l), Some(1)) => {
                number -= l;
                long(s.clone())
            }
            (Some(0), _) => Expr::parens(long(s.clone()), span),
            _ => Expr::parens(Expr::binary(Sub, long(s.clone()), lower.expr(span)), span),
        };
        let term = match stride.value() {
            Some(1) => term,
            _ => Expr::binary(Mul, stride.expr(span), term),
        };
        sum = Some(match sum {
            Some(sum) => Expr::binary(Add, sum, term),
            None => term,
        });
    }
    let size = i64::try_from(number.abs()).unwrap_or(i64::MAX);
    match sum {
        None if number < 0 => Expr::minus(Expr::long(size, span), span),
        None => Expr::long(size, span),
        Some(sum) if number == 0 => sum,
        Some(sum) if number < 0 => Expr::binary(Sub, sum, Expr::long(size, span)),
        Some(sum) => Expr::binary(Add, sum, Expr::long(size, span)),
    }
}
