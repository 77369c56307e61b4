//! Initial values of variables: DATA, and values in declarations.

use super::scope::{Frame, scalar};
use super::storage::StorageLocation;
use super::value::Value;
use super::{Halt, Machine, Run};
use farfel_lang::ir::{DataSet, Expr, ExprKind, SpecKind, Unit};
use std::rc::Rc;

impl<'p> Machine<'p> {
    /// Sets the variables of DATA statements, in all units.
    pub fn initialise(&self) -> Run<()> {
        self.program
            .units
            .iter()
            .try_for_each(|u| self.initialise_unit(u, None))
    }

    fn initialise_unit(&self, unit: &'p Unit, host: Option<Rc<Frame<'p>>>) -> Run<()> {
        let frame = self.frame(unit, host, &[]);
        for spec in &unit.specs {
            if let SpecKind::Data(sets) = &spec.kind {
                let set = sets.iter().try_for_each(|s| self.set(&frame, s));
                set.map_err(|h| h.at(spec.span))?;
            }
        }
        for (s, symbol) in unit.symbols.iter() {
            if let Some(value) = &symbol.init {
                let variable = self.variable(&frame, s)?;
                if variable.shape.is_some() {
                    return Err(Halt::not_interpreted("values of arrays in declarations"));
                }
                variable.place.write(self.eval(&frame, value, None)?)?;
            }
        }
        let nested = &mut unit.nested.iter();
        nested.try_for_each(|n| self.initialise_unit(n, Some(frame.clone())))
    }

    fn set(&self, f: &Rc<Frame<'p>>, set: &'p DataSet) -> Run<()> {
        let mut places = Vec::new();
        for target in &set.targets {
            self.targets(f, target, &mut places)?;
        }
        let mut places = places.into_iter();
        for (repeat, value) in &set.values {
            let count = match repeat {
                Some(e) => self.eval(f, e, None)?.as_integer()?,
                None => 1,
            };
            let value = self.eval(f, value, None)?;
            for _ in 0..count {
                let too_many = || Halt::invalid("DATA has more values than variables");
                let place = places.next().ok_or_else(too_many)?;
                place.write(value.clone())?;
            }
        }
        match places.next() {
            None => Ok(()),
            Some(_) => Err(Halt::invalid("DATA has more variables than values")),
        }
    }

    /// Collects all places that a target names, in order.
    fn targets(&self, f: &Rc<Frame<'p>>, e: &'p Expr, found: &mut Vec<StorageLocation>) -> Run<()> {
        let ExprKind::ImpliedDo(d) = &e.kind else {
            found.extend(self.places(f, e)?);
            return Ok(());
        };
        let integer = |e: &'p Expr| self.eval(f, e, None)?.as_integer();
        let (from, to) = (integer(&d.from)?, integer(&d.to)?);
        let step = d.step.as_ref().map_or(Ok(1), integer)?;
        if step == 0 {
            return Err(Halt::invalid("a step of zero"));
        }
        let mut i = from;
        while (step > 0 && i <= to) || (step < 0 && i >= to) {
            // The variable of the loop is only known within it.
            let inner = f.with(vec![(d.var, scalar(Value::integer(i))?)]);
            for item in &d.items {
                self.targets(&inner, item, found)?;
            }
            i += step;
        }
        Ok(())
    }
}
