//! Evaluates expressions.

use super::number::{Function, Number, apply};
use super::scope::{Frame, scalar};
use super::storage::StorageLocation;
use super::value::{self, Value, binary, negative, precision};
use super::{Code, Halt, Machine, Run};
use farfel_lang::intrinsics::Shape;
use farfel_lang::ir::{ArrayConstructor, BinOp, Class, Expr, ExprKind, SymId, Type, UnOp};
use std::collections::HashMap;
use std::rc::Rc;

impl<'p> Machine<'p> {
    /// Evaluates an expression. With `at`, whole arrays in it stand for their element with that
    /// index.
    pub fn eval(&self, f: &Rc<Frame<'p>>, e: &'p Expr, at: Option<usize>) -> Run<Value> {
        if let Some(i) = at
            && let Some(values) = self.once.borrow().get(&std::ptr::from_ref(e))
        {
            let different = || Halt::invalid("arrays of different sizes");
            return match &e.kind {
                ExprKind::Array(_) => values.get(i).cloned().ok_or_else(different),
                _ => values.first().cloned().ok_or_else(different),
            };
        }
        match &e.kind {
            ExprKind::Int(i) => value::integer(4, Some(*i)),
            ExprKind::Real(text) => self.real(text),
            ExprKind::Complex(parts) => {
                let (re, im) = (self.eval(f, &parts.0, at)?, self.eval(f, &parts.1, at)?);
                let kind = match re.ty().promote(im.ty()) {
                    Type::Real(kind) => kind,
                    _ => 4,
                };
                let ty = self.ty(Type::Complex(kind));
                let p = precision(kind)?;
                Value::Complex(p, re.as_real()?, im.as_real()?).convert(ty)
            }
            ExprKind::Logical(l) => Ok(Value::logical(*l)),
            ExprKind::Char(text) => Ok(Value::Text(text.clone().into_bytes())),
            ExprKind::Kind(constant, bytes) => match (&constant.kind, bytes) {
                (ExprKind::Int(i), n) => value::integer(*n, Some(*i)),
                (ExprKind::Logical(l), n) => Ok(Value::Logical(*n, *l)),
                _ => Err(Halt::not_interpreted("a constant of this kind")),
            },
            ExprKind::Paren(a) | ExprKind::Unary(UnOp::Plus, a) => self.eval(f, a, at),
            ExprKind::Unary(UnOp::Minus, a) => negative(&self.eval(f, a, at)?),
            ExprKind::Unary(UnOp::Not, a) => match self.eval(f, a, at)? {
                Value::Logical(kind, l) => Ok(Value::Logical(kind, !l)),
                _ => Err(Halt::invalid(".NOT. of what is not LOGICAL")),
            },
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.eval(f, a, at)?, self.eval(f, b, at)?);
                if *op == BinOp::Pow && !matches!(a, Value::Integer(..)) {
                    self.coverage.note(match b {
                        Value::Integer(..) => "power with an INTEGER exponent",
                        _ => "power with a real exponent",
                    });
                }
                binary(*op, &a, &b)
            }
            ExprKind::Var(s) if matches!(f.unit.symbols[*s].class, Class::Parameter(_)) => {
                self.parameter(f, *s)
            }
            ExprKind::Var(_) | ExprKind::Element(..) | ExprKind::Substring(..) => {
                let places = self.places(f, e)?;
                if let (Some(s), Some(place)) = (e.base(), places.first()) {
                    let (owner, s) = f.owner(s)?;
                    let shared = self.shares_storage(&owner, s)?;
                    let symbol = &owner.unit.symbols[s];
                    self.coverage.variable(symbol, place, shared);
                }
                match (at, self.is_array(f, e)) {
                    (None, true) => Err(Halt::not_interpreted("a whole array here")),
                    (Some(i), true) => match places.get(i) {
                        Some(place) if self.unset && !place.is_set() => Ok(nothing(place)),
                        Some(place) => place.read(),
                        None => Err(Halt::invalid("arrays of different sizes")),
                    },
                    (_, false) => match places.first() {
                        Some(place) if self.unset && !place.is_set() => Ok(nothing(place)),
                        Some(place) => place.read(),
                        None => Err(Halt::invalid("nothing to read")),
                    },
                }
            }
            ExprKind::Call(s, args) => self.reference(f, *s, args, at),
            ExprKind::Apply(..)
            | ExprKind::Closure(..)
            | ExprKind::Bits(_)
            | ExprKind::Array(_)
            | ExprKind::Hollerith(_)
            | ExprKind::Range(..)
            | ExprKind::AltReturn(_)
            | ExprKind::ImpliedDo(_)
            | ExprKind::Percent(..)
            | ExprKind::Keyword(..)
            | ExprKind::Star => Err(Halt::not_interpreted("this kind of expression")),
        }
        .map_err(|h| h.at(e.span))
    }

    /// Evaluates a real constant, such as `1.5E-3` or `0.5D0`.
    fn real(&self, text: &str) -> Run<Value> {
        let kind = match text.contains('D') {
            true => 8,
            false if text.contains('Q') => 16,
            false => 4,
        };
        let parsed: Result<f64, _> = text.replace('D', "E").parse();
        let x = parsed.map_err(|_| Halt::not_interpreted(format!("the constant {text}")))?;
        let Type::Real(kind) = self.ty(Type::Real(kind)) else {
            return Err(Halt::not_interpreted("this constant"));
        };
        let p = precision(kind)?;
        Ok(Value::Real(p, Number::Plain(x).round(p)))
    }

    fn parameter(&self, f: &Rc<Frame<'p>>, s: SymId) -> Run<Value> {
        let (f, s) = f.owner(s)?;
        let symbol = &f.unit.symbols[s];
        let Class::Parameter(e) = &symbol.class else {
            return Err(Halt::invalid("no constant"));
        };
        let value = self.eval(&f, e, None)?;
        let open = matches!(&symbol.length, Some(e) if e.kind == ExprKind::Star);
        if open {
            return Ok(value);
        }
        let (ty, length) = self.kind_of(&f, symbol)?;
        let place = StorageLocation::new(ty, length);
        place.write(value)?;
        place.read()
    }

    /// Evaluates an expression for the elements of an array: element by element if it contains
    /// arrays, otherwise only once for all.
    pub fn values(&self, f: &Rc<Frame<'p>>, e: &'p Expr, count: usize) -> Run<Vec<Value>> {
        match self.array_in(f, e).is_some() {
            true => self.each(f, e, 0..count),
            false => Ok(vec![self.eval(f, e, None)?; count]),
        }
    }

    /// Evaluates an array expression for some elements. Functions that are not elemental are called
    /// once, even if there are no elements.
    pub fn each(
        &self,
        f: &Rc<Frame<'p>>,
        e: &'p Expr,
        elements: impl Iterator<Item = usize>,
    ) -> Run<Vec<Value>> {
        let mut once = HashMap::new();
        self.scalars(f, e, &mut once)?;
        let outside = self.once.replace(once);
        let values = elements.map(|i| self.eval(f, e, Some(i))).collect();
        self.once.replace(outside);
        values
    }

    /// Returns the number of elements of an array, section or constructor.
    pub fn count_of(&self, f: &Rc<Frame<'p>>, array: &'p Expr) -> Run<usize> {
        match &array.kind {
            // This does not evaluate the constructor, as functions in it must only be called once.
            ExprKind::Array(a) => a.items.iter().try_fold(0, |count, item| {
                let array = self.array_in(f, item);
                Ok(count + array.map_or(Ok(1), |array| self.count_of(f, array))?)
            }),
            _ => Ok(self.places(f, array)?.len()),
        }
    }

    /// Evaluates the elements of a constructor.
    fn constructed(&self, f: &Rc<Frame<'p>>, a: &'p ArrayConstructor) -> Run<Vec<Value>> {
        if a.ty.is_some() {
            return Err(Halt::not_interpreted("a constructor with a type"));
        }
        let mut values = Vec::new();
        for item in &a.items {
            match self.array_in(f, item) {
                Some(array) => values.extend(self.each(f, item, 0..self.count_of(f, array)?)?),
                None => values.push(self.eval(f, item, None)?),
            }
        }
        Ok(values)
    }

    /// Evaluates the parts of an array expression without elements that contain calls, and
    /// constructors.
    fn scalars(
        &self,
        f: &Rc<Frame<'p>>,
        e: &'p Expr,
        once: &mut HashMap<*const Expr, Vec<Value>>,
    ) -> Run<()> {
        if self.array_in(f, e).is_none() {
            let mut calls = false;
            e.walk(&mut |e| calls |= matches!(e.kind, ExprKind::Call(..)));
            if calls {
                once.insert(std::ptr::from_ref(e), vec![self.eval(f, e, None)?]);
            }
            return Ok(());
        }
        match &e.kind {
            ExprKind::Var(_) | ExprKind::Element(..) => Ok(()),
            ExprKind::Array(a) => {
                once.insert(std::ptr::from_ref(e), self.constructed(f, a)?);
                Ok(())
            }
            _ => e
                .children()
                .into_iter()
                .try_for_each(|e| self.scalars(f, e, once)),
        }
    }

    /// Returns a whole array or section in an expression, except one that is an argument of a
    /// function that takes it as a whole. All of them have the same number of elements.
    pub fn array_in(&self, f: &Rc<Frame<'p>>, e: &'p Expr) -> Option<&'p Expr> {
        let first = |list: Vec<&'p Expr>| list.into_iter().find_map(|e| self.array_in(f, e));
        match &e.kind {
            ExprKind::Var(_) | ExprKind::Element(..) | ExprKind::Array(_) => {
                self.is_array(f, e).then_some(e)
            }
            ExprKind::Call(s, args) => match f.unit.symbols[*s].class {
                Class::Intrinsic(i) if i.shape == Shape::Elemental => first(args.iter().collect()),
                Class::StatementFunction(..) => first(args.iter().collect()),
                _ => None,
            },
            _ => first(e.children().into_vec()),
        }
    }

    /// Whether a variable, element or section has several values.
    pub fn is_array(&self, f: &Rc<Frame<'p>>, e: &'p Expr) -> bool {
        match &e.kind {
            ExprKind::Var(s) => f.unit.symbols[*s].is_array(),
            ExprKind::Element(_, subscripts) => subscripts
                .iter()
                .any(|s| matches!(s.kind, ExprKind::Range(..)) || self.array_in(f, s).is_some()),
            ExprKind::Array(_) => true,
            _ => false,
        }
    }

    /// Returns the places that a variable, array, element, section or substring names, in storage
    /// order.
    pub fn places(&self, f: &Rc<Frame<'p>>, e: &'p Expr) -> Run<Vec<StorageLocation>> {
        match &e.kind {
            ExprKind::Var(s) => {
                let v = self.variable(f, *s)?;
                let count = v.shape.as_ref().map_or(Ok(1), |s| s.count())?;
                Ok((0..count).map(|i| v.place.after(i)).collect())
            }
            ExprKind::Element(s, _) if self.is_array(f, e) => self.section(f, *s, e),
            ExprKind::Element(..) => Ok(vec![self.place(f, e)?]),
            ExprKind::Substring(..) => Ok(vec![self.place(f, e)?]),
            _ => Err(Halt::not_interpreted("an assignment to this")),
        }
        .map_err(|h| h.at(e.span))
    }

    fn section(&self, f: &Rc<Frame<'p>>, s: SymId, e: &'p Expr) -> Run<Vec<StorageLocation>> {
        let ExprKind::Element(_, subscripts) = &e.kind else {
            return Ok(Vec::new());
        };
        self.coverage.note("section of an array");
        let v = self.variable(f, s)?;
        let none = || Halt::invalid("a section of a scalar");
        let shape = v.shape.ok_or_else(none)?;
        let mut indices: Vec<Vec<i64>> = Vec::new();
        for (e, (lower, extent)) in subscripts.iter().zip(&shape.0) {
            let integer = |e: &'p Expr| self.eval(f, e, None)?.as_integer();
            let ExprKind::Range(from, to, step) = &e.kind else {
                indices.push(match self.array_in(f, e) {
                    Some(array) => {
                        let values = self.each(f, e, 0..self.count_of(f, array)?)?;
                        let integers = values.iter().map(Value::as_integer);
                        integers.collect::<Run<_>>()?
                    }
                    None => vec![integer(e)?],
                });
                continue;
            };
            let step = step.as_ref().map_or(Ok(1), |e| integer(e))?;
            let open = || Halt::invalid("a section up to the end of an array of assumed size");
            let last = || extent.map(|n| lower + n - 1).ok_or_else(open);
            if step == 0 {
                return Err(Halt::invalid("a step of zero"));
            }
            // This also holds for a negative step (ISO/IEC 1539:1991, 6.2.2.3.1).
            let mut i = from.as_ref().map_or(Ok(*lower), |e| integer(e))?;
            let to = to.as_ref().map_or_else(last, |e| integer(e))?;
            let mut list = Vec::new();
            while (step > 0 && i <= to) || (step < 0 && i >= to) {
                list.push(i);
                i += step;
            }
            indices.push(list);
        }
        if indices.iter().any(Vec::is_empty) {
            self.coverage.note("section without elements");
        }
        // The first subscript varies fastest.
        let mut all: Vec<Vec<i64>> = vec![Vec::new()];
        for list in indices.iter().rev() {
            let before = |i: &i64, rest: &Vec<i64>| [vec![*i], rest.clone()].concat();
            all = all
                .iter()
                .flat_map(|rest| list.iter().map(|i| before(i, rest)).collect::<Vec<_>>())
                .collect();
        }
        let place = |at: &Vec<i64>| Ok(v.place.after(shape.index(at)?));
        all.iter().map(place).collect()
    }

    /// Returns the place of a scalar, or of the first element of an array.
    pub fn place(&self, f: &Rc<Frame<'p>>, e: &'p Expr) -> Run<StorageLocation> {
        match &e.kind {
            ExprKind::Var(s) => Ok(self.variable(f, *s)?.place),
            ExprKind::Element(s, subscripts) => {
                let v = self.variable(f, *s)?;
                let at: Run<Vec<i64>> = subscripts
                    .iter()
                    .map(|s| self.eval(f, s, None)?.as_integer())
                    .collect();
                let none = || Halt::invalid("subscripts of a scalar");
                let index = v.shape.ok_or_else(none)?.index(&at?)?;
                Ok(v.place.after(index))
            }
            ExprKind::Substring(base, from, to) => {
                let place = self.place(f, base)?;
                let bound = |e: &'p Option<Box<Expr>>, or: usize| match e {
                    Some(e) => self.eval(f, e, None)?.as_integer(),
                    None => Ok(or as i64),
                };
                let (from, to) = (bound(from, 1)?, bound(to, place.length)?);
                if from > to {
                    return Ok(StorageLocation { length: 0, ..place });
                }
                if from < 1 || to > place.length as i64 {
                    return Err(Halt::invalid("a substring out of bounds"));
                }
                Ok(StorageLocation {
                    byte: place.byte + from as usize - 1,
                    length: (to - from + 1) as usize,
                    ..place
                })
            }
            _ => Err(Halt::not_interpreted("a place of this kind")),
        }
        .map_err(|h| h.at(e.span))
    }

    /// Evaluates a reference to a function.
    fn reference(
        &self,
        f: &Rc<Frame<'p>>,
        s: SymId,
        args: &'p [Expr],
        at: Option<usize>,
    ) -> Run<Value> {
        if let Class::StatementFunction(..) = f.unit.symbols[s].class {
            return self.statement_function(f, s, args, at);
        }
        let callee = self.callee(f, s)?;
        if let Code::Intrinsic(i) = callee.code {
            return self.intrinsic(f, i, args, at);
        }
        let actuals = self.actuals(f, args)?;
        let (result, _) = self.call(&callee, &actuals)?;
        result.ok_or_else(|| Halt::invalid("a subroutine is used as a function"))
    }

    fn statement_function(
        &self,
        f: &Rc<Frame<'p>>,
        s: SymId,
        args: &'p [Expr],
        at: Option<usize>,
    ) -> Run<Value> {
        self.coverage.note("statement function");
        let (owner, s) = f.owner(s)?;
        let symbol = &owner.unit.symbols[s];
        let Class::StatementFunction(dummies, body) = &symbol.class else {
            return Err(Halt::invalid("no statement function"));
        };
        if dummies.len() != args.len() {
            return Err(Halt::invalid("a wrong number of arguments"));
        }
        let mut new = Vec::new();
        for (d, a) in dummies.iter().zip(args) {
            let (ty, length) = self.kind_of(&owner, &owner.unit.symbols[*d])?;
            let place = StorageLocation::new(ty, length);
            place.write(self.eval(f, a, at)?)?;
            new.push((*d, scalar(place.read()?)?));
        }
        let (ty, length) = self.kind_of(&owner, symbol)?;
        let place = StorageLocation::new(ty, length);
        place.write(self.eval(&owner.with(new), body, None)?)?;
        place.read()
    }

    /// Evaluates `SQRT(x)` and the like for REAL and DOUBLE PRECISION.
    pub fn real_function(&self, name: Function, x: &Value) -> Run<Value> {
        match x {
            Value::Real(p, x) => Ok(Value::Real(*p, apply(name, &[x], *p))),
            _ => Err(Halt::not_interpreted(format!("{name:?} of {}", x.ty()))),
        }
    }
}

/// Returns the value of a variable that was not set.
fn nothing(place: &StorageLocation) -> Value {
    match place.ty {
        Type::Integer(kind) => Value::Integer(kind, i64::from(i16::MIN)),
        Type::Logical(kind) => Value::Logical(kind, false),
        Type::Character => Value::Text(vec![b'?'; place.length]),
        Type::Real(_) => Value::Real(super::Precision::Double, Number::Plain(f64::NAN)),
        Type::Complex(_) => {
            let nan = Number::Plain(f64::NAN);
            Value::Complex(super::Precision::Double, nan.clone(), nan)
        }
    }
}
