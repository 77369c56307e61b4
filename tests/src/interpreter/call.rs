//! How subprograms are called.

use super::scope::{Binding, Frame, result_of};
use super::storage::Place;
use super::{Code, Flow, Halt, Machine, Procedure, Run, Value};
use farfel_lang::ir::{Class, Expr, ExprKind, Label, Place as Home};
use std::rc::Rc;

/// What a dummy argument gets.
pub enum Actual<'p> {
    /// A variable, array element or array: its place. Of an expression, a new one.
    Place(Place),
    /// A procedure.
    Procedure(Procedure<'p>),
    /// Where an alternate return goes.
    Label(Label),
}

/// More activations than this, one in the other, are taken for a recursion without end.
const DEEPEST: usize = 5000;

impl<'p> Machine<'p> {
    /// What the arguments of a call are.
    pub fn actuals(&self, f: &Rc<Frame<'p>>, args: &'p [Expr]) -> Run<Vec<Actual<'p>>> {
        args.iter().map(|e| self.actual(f, e)).collect()
    }

    fn actual(&self, f: &Rc<Frame<'p>>, e: &'p Expr) -> Run<Actual<'p>> {
        let variable = |s| {
            let symbol = &f.unit.symbols[s];
            symbol.class == Class::Variable || symbol.place == Home::Result
        };
        match &e.kind {
            ExprKind::Var(s) if variable(*s) => Ok(Actual::Place(self.place(f, e)?)),
            ExprKind::Var(s) if !matches!(f.unit.symbols[*s].class, Class::Parameter(_)) => {
                match self.lookup(f, *s)? {
                    Binding::Procedure(p) => Ok(Actual::Procedure(p)),
                    _ => Err(Halt::not_interpreted("this as an argument")),
                }
            }
            ExprKind::Element(..) if self.is_array(f, e) => {
                Err(Halt::not_interpreted("a section as an argument"))
            }
            ExprKind::Element(..) | ExprKind::Substring(..) => Ok(Actual::Place(self.place(f, e)?)),
            ExprKind::AltReturn(l) => Ok(Actual::Label(*l)),
            _ => Ok(Actual::Place(Place::holding(self.eval(f, e, None)?)?)),
        }
        .map_err(|h| h.at(e.span))
    }

    /// Calls a procedure: the result of a function, and the alternate return that was taken.
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
                        Actual::Place(p) => p.read(),
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
