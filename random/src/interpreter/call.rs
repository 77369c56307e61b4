//! Calls of subprograms.

use super::scope::{Binding, Frame, result_of};
use super::storage::{Area, StorageLocation};
use super::{Code, Flow, Halt, Machine, Procedure, Run, Value};
use farfel_lang::ir::{Class, Expr, ExprKind, Label, StorageClass as Home, Type};
use std::rc::Rc;

/// The value passed for a dummy argument.
pub enum Actual<'p> {
    /// The place of a variable, array element or array. An expression has a new place.
    Location(StorageLocation),
    /// A copy of the elements of a section that are not contiguous, and the places that receive its
    /// values afterwards.
    Copy(StorageLocation, Vec<StorageLocation>),
    /// A procedure.
    Procedure(Procedure<'p>),
    /// The target of an alternate return.
    Label(Label),
}

/// The maximum depth of activations. Deeper ones are taken for endless recursion.
const DEEPEST: usize = 5000;

impl<'p> Machine<'p> {
    /// Evaluates the arguments of a call.
    pub fn actuals(&self, f: &Rc<Frame<'p>>, args: &'p [Expr]) -> Run<Vec<Actual<'p>>> {
        args.iter().map(|e| self.actual(f, e)).collect()
    }

    fn actual(&self, f: &Rc<Frame<'p>>, e: &'p Expr) -> Run<Actual<'p>> {
        let variable = |s| {
            let symbol = &f.unit.symbols[s];
            symbol.class == Class::Variable || symbol.storage_class == Home::Result
        };
        match &e.kind {
            ExprKind::Var(s) if variable(*s) => Ok(Actual::Location(self.place(f, e)?)),
            ExprKind::Var(s) if !matches!(f.unit.symbols[*s].class, Class::Parameter(_)) => {
                match self.lookup(f, *s)? {
                    Binding::Procedure(p) => Ok(Actual::Procedure(p)),
                    _ => Err(Halt::not_interpreted("this as an argument")),
                }
            }
            ExprKind::Element(..) if self.is_array(f, e) => {
                self.section_as_argument(self.places(f, e)?)
            }
            ExprKind::Element(..) | ExprKind::Substring(..) => {
                Ok(Actual::Location(self.place(f, e)?))
            }
            ExprKind::AltReturn(l) => Ok(Actual::Label(*l)),
            _ => {
                let actual = match self.array_in(f, e) {
                    Some(array) => {
                        let count = self.count_of(f, array)?;
                        self.values_as_argument(&self.values(f, e, count)?)?
                    }
                    None => Actual::Location(StorageLocation::holding(self.eval(f, e, None)?)?),
                };
                // For anything else, compilers create a separate place.
                let mut constant = true;
                e.walk(&mut |e| {
                    constant &= !matches!(e.kind, ExprKind::Call(..)) && e.base().is_none()
                });
                if let (true, true, Actual::Location(p)) = (self.strict, constant, &actual) {
                    p.area.freeze();
                }
                Ok(actual)
            }
        }
        .map_err(|h| h.at(e.span))
    }

    /// Passes an expression with several values.
    fn values_as_argument(&self, values: &[Value]) -> Run<Actual<'p>> {
        let Some(first) = values.first() else {
            return Ok(Actual::Location(StorageLocation::new(Type::DOUBLE, 0)));
        };
        let place = StorageLocation {
            area: Area::of_elements(first.ty(), 0, values.len()),
            ..StorageLocation::new(first.ty(), 0)
        };
        for (i, value) in values.iter().enumerate() {
            place.after(i).write(value.clone())?;
        }
        Ok(Actual::Location(place))
    }

    fn section_as_argument(&self, places: Vec<StorageLocation>) -> Run<Actual<'p>> {
        self.coverage.note("section as argument");
        let Some(first) = places.first() else {
            return Err(Halt::not_interpreted(
                "a section without elements as argument",
            ));
        };
        let follows = |(i, p): (usize, &StorageLocation)| p.key() == first.after(i).key();
        if places.iter().enumerate().all(follows) {
            return Ok(Actual::Location(first.clone()));
        }
        let area = Area::of_elements(first.ty, first.length, places.len());
        let copy = StorageLocation {
            area,
            byte: 0,
            ..first.clone()
        };
        for (i, place) in places.iter().enumerate() {
            if place.is_set() {
                copy.after(i).write(place.read()?)?;
            }
        }
        Ok(Actual::Copy(copy, places))
    }

    /// Calls a procedure. Returns the result of a function, and the alternate return that was
    /// taken.
    pub fn call(
        &self,
        callee: &Procedure<'p>,
        actuals: &[Actual<'p>],
    ) -> Run<(Option<Value>, Option<Label>)> {
        let (unit, entry) = match callee.code {
            Code::Unit(unit, entry) => (unit, entry),
            Code::Intrinsic(i) => {
                let values: Run<Vec<Value>> = actuals
                    .iter()
                    .map(|a| match a {
                        Actual::Location(p) => p.read(),
                        _ => Err(Halt::invalid("an intrinsic function gets no value")),
                    })
                    .collect();
                return Ok((Some(self.elemental(i, &values?)?), None));
            }
        };
        self.depth.set(self.depth.get() + 1);
        if self.depth.get() > DEEPEST {
            return Err(Halt::invalid("too many activations of subprograms"));
        }
        let frame = self.enter(unit, entry, callee.host.clone(), actuals)?;
        self.coverage.call(callee, actuals);
        let flow = self.body(&frame, &unit.body, entry)?;
        self.coverage.returned();
        for a in actuals {
            let Actual::Copy(copy, places) = a else {
                continue;
            };
            for (i, place) in places.iter().enumerate() {
                // The elements that the procedure has assigned.
                if copy.after(i).writes()? > u64::from(place.is_set()) {
                    place.write(copy.after(i).read()?)?;
                }
            }
        }
        self.depth.set(self.depth.get() - 1);
        let label = match flow {
            Flow::Return(Some(n)) => usize::try_from(n - 1)
                .ok()
                .and_then(|i| frame.labels.get(i).copied()),
            _ => None,
        };
        let result = match result_of(unit, entry) {
            Some(r) => Some(self.variable(&frame, r)?.place.read()?),
            None => None,
        };
        Ok((result, label))
    }
}
