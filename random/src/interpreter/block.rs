//! Executes AD blocks.
//!
//! A block is executed once, by an [`Invocation`] of its own. Afterwards every variable has its
//! value, without the slopes of the invocation.
//!
//! A block with several directions is also executed once: it has an invocation for each direction.
//!
//! The independent variable of a block is a variable known by one name. If a dummy argument is
//! another name for a variable that a nested procedure also sees, only one of the two is
//! independent: in `D = SLOPE(F, X)`, an F that reads X reads the value at which its derivative is
//! taken, a constant. So while the block runs, the name stands for a separate variable. Storage
//! shared through COMMON or EQUIVALENCE remains shared; in that case the dummy arguments that
//! already hold such storage become separate variables.

use super::number::{Invocation, Number};
use super::scope::{Frame, Variable};
use super::storage::{Area, StorageLocation, size};
use super::value::Value;
use super::{Flow, Halt, Machine, Run};
use farfel_lang::ir::{AdAssign, AdBlock, AdItem, AdMode, SymId};
use std::collections::{BTreeMap, HashMap};
use std::rc::{Rc, Weak};

/// The size of numbers grows at least quadratically with these.
const MOST_DIRECTIONS: i64 = 12;

impl<'p> Machine<'p> {
    /// Executes a block.
    pub fn ad_block(&self, f: &Rc<Frame<'p>>, b: &'p AdBlock) -> Run<Flow> {
        let mut invocations = Vec::new();
        let directions = self.directions(f, b)?;
        // Reverse mode needs only one invocation for all directions.
        let forward = match b.mode {
            AdMode::Forward => directions,
            AdMode::Reverse => 1,
        };
        for _ in 0..forward {
            self.tags.set(self.tags.get() + 1);
            invocations.push(Invocation::begin(self.tags.get()));
        }
        let named = match b.mode {
            AdMode::Forward => &b.opening,
            AdMode::Reverse => &b.closing,
        };
        let mut names = Vec::new();
        for item in named {
            item.for_each_assign(&mut |a| names.extend(a.var.base()));
        }
        names.sort_unstable();
        names.dedup();
        let mut own = Vec::new();
        for s in names {
            let (frame, s) = f.owner(s)?;
            match self.shares_storage(&frame, s)? {
                false => own.push(self.isolate(frame, s)?),
                true => own.extend(self.other_names(&frame, s)?),
            }
        }
        self.coverage.enter(b.mode);
        let pattern = b.vector_mode.as_ref().is_some_and(|s| s.pattern);
        let outside = self.pattern.replace(self.pattern.get() || pattern);
        match (b.mode, &invocations[..]) {
            (AdMode::Forward, all) => self.forward(f, b, all, own),
            (AdMode::Reverse, [invocation]) => {
                let count = usize::try_from(directions).unwrap_or_default();
                self.reverse(f, b, invocation, count, own)
            }
            _ => Ok(()),
        }?;
        self.pattern.set(outside);
        self.coverage.leave();
        Ok(Flow::Next)
    }

    /// Returns the number of directions of a block.
    fn directions(&self, f: &Rc<Frame<'p>>, b: &'p AdBlock) -> Run<i64> {
        let Some(several) = &b.vector_mode else {
            return Ok(1);
        };
        match self.eval(f, &several.count, None)?.as_integer()? {
            n if n > MOST_DIRECTIONS => Err(Halt::not_interpreted("so many directions")),
            n => Ok(n),
        }
    }

    /// Returns the index of the direction of an assignment in an opening or closing.
    fn direction(&self, f: &Rc<Frame<'p>>, a: &'p AdAssign, count: usize) -> Run<usize> {
        let Some(direction) = &a.direction else {
            return Ok(0);
        };
        let k = self.eval(f, direction, None)?.as_integer()?;
        let index = usize::try_from(k - 1).ok().filter(|k| *k < count);
        index.ok_or_else(|| Halt::invalid("a direction that there is not"))
    }

    /// Makes dummy arguments that hold storage of this variable, which shares it with others, names
    /// of separate variables. These must not be assigned.
    fn other_names(&self, f: &Rc<Frame<'p>>, s: SymId) -> Run<Vec<IsolatedName<'p>>> {
        let bytes = |v: &Variable| -> Run<_> {
            let count = match &v.shape {
                Some(shape) => shape.count().unwrap_or(usize::MAX),
                None => 1,
            };
            let size = count.saturating_mul(size(v.place.ty, v.place.length));
            Ok(v.place.byte..v.place.byte.saturating_add(size))
        };
        let ours = self.variable(f, s)?;
        let all = bytes(&ours)?;
        self.live.borrow_mut().retain(|f| f.strong_count() > 0);
        let live: Vec<_> = self
            .live
            .borrow()
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        let mut found = Vec::new();
        for frame in live {
            for (dummy, v) in frame.dummies() {
                let theirs = bytes(&v)?;
                if Rc::ptr_eq(&v.place.area, &ours.place.area)
                    && theirs.start < all.end
                    && all.start < theirs.end
                {
                    found.push(IsolatedName {
                        other: true,
                        ..self.isolate(frame.clone(), dummy)?
                    });
                }
            }
        }
        Ok(found)
    }

    /// Makes a name stand for a separate variable.
    fn isolate(&self, frame: Rc<Frame<'p>>, s: SymId) -> Run<IsolatedName<'p>> {
        let outside = self.variable(&frame, s)?;
        let place = &outside.place;
        let width = size(place.ty, place.length);
        let count = match &outside.shape {
            None => 1,
            Some(shape) => match shape.count() {
                Ok(count) => count,
                Err(_) => (place.area.bytes() - place.byte) / width,
            },
        };
        let inside = StorageLocation {
            area: Area::of_elements(place.ty, place.length, count),
            byte: 0,
            ..place.clone()
        };
        let mut elements = Vec::new();
        for i in 0..count {
            let (old, new) = (place.after(i), inside.after(i));
            if old.is_set() {
                new.write(old.read()?)?;
            }
            let writes = (old.writes()?, new.writes()?);
            elements.push((old, new, writes));
        }
        let shape = outside.shape.clone();
        frame.bind(
            s,
            Variable {
                place: inside,
                shape,
            },
        );
        Ok(IsolatedName {
            frame,
            s,
            outside,
            elements,
            other: false,
        })
    }

    fn forward(
        &self,
        f: &Rc<Frame<'p>>,
        b: &'p AdBlock,
        all: &[Rc<Invocation>],
        isolated: Vec<IsolatedName<'p>>,
    ) -> Run<()> {
        // All tangents are computed before any variable receives its own.
        let mut given = Vec::new();
        self.items(f, &b.opening, &mut |a| {
            let along = self.direction(f, a, all.len())?;
            given.extend(self.opening(f, a)?.into_iter().map(|(p, v)| (p, along, v)));
            Ok(())
        })?;
        let mut tangents: HashMap<_, (StorageLocation, BTreeMap<usize, Value>)> = HashMap::new();
        for (place, along, tangent) in given.into_iter().filter(|(p, ..)| p.is_set()) {
            let of_place = tangents.entry(place.key());
            let (_, of_place) = of_place.or_insert_with(|| (place, BTreeMap::new()));
            of_place.insert(along, tangent);
        }
        for (place, tangents) in tangents.into_values() {
            let mut value = place.read()?;
            for (along, tangent) in tangents {
                let own = &all[along];
                value = match tangent {
                    Value::Logical(_, true) => value.map(&|x| own.with_dependence(x.clone())),
                    Value::Logical(_, false) => value,
                    t => pairwise(value, t, &|x, t| own.with_tangent(x, t)),
                };
            }
            place.write(value)?;
        }
        self.through(f, b)?;
        let pattern = b.vector_mode.as_ref().is_some_and(|s| s.pattern);
        let mut tangents: Vec<Vec<Value>> = Vec::new();
        self.items(f, &b.closing, &mut |a| {
            let own = &all[self.direction(f, a, all.len())?];
            let tangent = |from: &StorageLocation| match from.is_set() {
                true if pattern => {
                    let (re, im) = from.read()?.as_complex()?;
                    Ok(Value::logical(own.depends(&re) || own.depends(&im)))
                }
                false if pattern => Ok(Value::logical(false)),
                true => Ok(from.read()?.map(&|x| own.tangent(x))),
                false => Ok(Value::integer(0)),
            };
            let from = self.places(f, &a.var)?;
            tangents.push(from.iter().map(tangent).collect::<Run<_>>()?);
            Ok(())
        })?;
        all.iter().for_each(|i| i.end());
        isolated.into_iter().try_for_each(IsolatedName::release)?;
        self.close(f, b, tangents)
    }

    fn reverse(
        &self,
        f: &Rc<Frame<'p>>,
        b: &'p AdBlock,
        own: &Rc<Invocation>,
        count: usize,
        isolated: Vec<IsolatedName<'p>>,
    ) -> Run<()> {
        // The closing names the independent variables: these are their values before the block.
        let mut independents: HashMap<_, Vec<Option<usize>>> = HashMap::new();
        self.items(f, &b.closing, &mut |a| {
            for place in self.places(f, &a.var)? {
                if independents.contains_key(&place.key()) {
                    continue;
                }
                let mut at = Vec::new();
                if place.is_set() {
                    let lifted = place.read()?.map(&|x| own.independent(x.clone()));
                    at = on_tape(own, &lifted);
                    place.write(lifted)?;
                }
                independents.insert(place.key(), at);
            }
            Ok(())
        })?;
        self.through(f, b)?;
        // The opening is evaluated now, with the values that the block has computed.
        let mut dependents = Vec::new();
        self.items(f, &b.opening, &mut |a| {
            let along = self.direction(f, a, count)?;
            for place in self.places(f, &a.var)? {
                dependents.push(((place.key(), along), on_tape(own, &place.read()?)));
            }
            Ok(())
        })?;
        own.end();
        let mut cotangents = HashMap::new();
        self.items(f, &b.opening, &mut |a| {
            let along = self.direction(f, a, count)?;
            for (place, value) in self.opening(f, a)? {
                // If a cotangent is set twice, the last value counts.
                let (re, im) = value.convert(place.ty)?.as_complex()?;
                cotangents.insert((place.key(), along), [re, im]);
            }
            Ok(())
        })?;
        let mut given: Vec<Vec<(usize, Number)>> = vec![Vec::new(); count];
        for (key, at) in dependents {
            // Each part of a complex number has a cotangent, with respect to the real inner
            // product.
            for (at, cotangent) in at
                .into_iter()
                .zip(cotangents.remove(&key).into_iter().flatten())
            {
                given[key.1].extend(at.map(|at| (at, cotangent)));
            }
        }
        let sums: Vec<_> = given.iter().map(|given| own.cotangents(given)).collect();
        let mut gradients: Vec<Vec<Value>> = Vec::new();
        self.items(f, &b.closing, &mut |a| {
            let sums = &sums[self.direction(f, a, count)?];
            let gradient = |from: &StorageLocation| match independents.get(&from.key()) {
                Some(at) => {
                    let sum = |at: &Option<usize>| at.map_or(Number::ZERO, |at| sums[at].clone());
                    let mut parts = at.iter().map(sum);
                    let (re, im) = (parts.next(), parts.next());
                    let re = re.unwrap_or(Number::ZERO);
                    let double = super::Precision::Double;
                    Ok(match im {
                        Some(im) => Value::Complex(double, re, im),
                        None => Value::Real(double, re),
                    })
                }
                None => Err(Halt::not_interpreted("a closing whose subscripts change")),
            };
            let from = self.places(f, &a.var)?;
            gradients.push(from.iter().map(gradient).collect::<Run<_>>()?);
            Ok(())
        })?;
        isolated.into_iter().try_for_each(IsolatedName::release)?;
        self.close(f, b, gradients)
    }

    /// Assigns the destinations of a closing, once all values are known.
    fn close(&self, f: &Rc<Frame<'p>>, b: &'p AdBlock, values: Vec<Vec<Value>>) -> Run<()> {
        let mut values = values.into_iter();
        let mut results = Vec::new();
        self.items(f, &b.closing, &mut |a| {
            let to = self.places(f, &a.other)?;
            results.extend(matched(values.next().unwrap_or_default(), to)?);
            Ok(())
        })?;
        let mut results = results.into_iter();
        results.try_for_each(|(place, value)| place.write(value))
    }

    /// Executes the statements of a block.
    fn through(&self, f: &Rc<Frame<'p>>, b: &'p AdBlock) -> Run<()> {
        match self.inside(f, &b.body)? {
            Flow::Next => Ok(()),
            _ => Err(Halt::invalid("an AD block is left before its end")),
        }
    }

    /// Visits the assignments of an opening or closing.
    fn items(
        &self,
        f: &Rc<Frame<'p>>,
        items: &'p [AdItem],
        each: &mut dyn FnMut(&'p AdAssign) -> Run<()>,
    ) -> Run<()> {
        items.iter().try_for_each(|i| self.item(f, i, each))
    }

    fn item(
        &self,
        f: &Rc<Frame<'p>>,
        item: &'p AdItem,
        each: &mut dyn FnMut(&'p AdAssign) -> Run<()>,
    ) -> Run<()> {
        match item {
            AdItem::Assign(a) => each(a).map_err(|h| h.at(a.span)),
            AdItem::ImpliedDo(d) => self.implied_do(f, d, &mut |i| self.item(f, i, each)),
        }
    }

    /// Evaluates `TANGENT(v) = expression`: returns the places of v, each with its value.
    fn opening(&self, f: &Rc<Frame<'p>>, a: &'p AdAssign) -> Run<Vec<(StorageLocation, Value)>> {
        let places = self.places(f, &a.var)?;
        let values = self.values(f, &a.other, places.len())?;
        Ok(places.into_iter().zip(values).collect())
    }
}

/// Returns the positions of the parts of a value on the tape.
fn on_tape(own: &Invocation, value: &Value) -> Vec<Option<usize>> {
    match value {
        Value::Real(_, x) => vec![own.on_tape(x)],
        Value::Complex(_, re, im) => vec![own.on_tape(re), own.on_tape(im)],
        _ => Vec::new(),
    }
}

/// Combines a value and its tangent, part by part.
fn pairwise(value: Value, tangent: Value, f: &dyn Fn(Number, Number) -> Number) -> Value {
    let (t, ti) = tangent.as_complex().unwrap_or((Number::ZERO, Number::ZERO));
    match value {
        Value::Real(p, x) => Value::Real(p, f(x, t)),
        Value::Complex(p, re, im) => Value::Complex(p, f(re, t), f(im, ti)),
        other => other,
    }
}

/// Pairs values with destinations, element by element; a single value fills a whole array.
fn matched(values: Vec<Value>, to: Vec<StorageLocation>) -> Run<Vec<(StorageLocation, Value)>> {
    if values.len() == to.len() {
        return Ok(to.into_iter().zip(values).collect());
    }
    match &values[..] {
        [one] => Ok(to.into_iter().map(|t| (t, one.clone())).collect()),
        _ => Err(Halt::invalid("arrays of different sizes")),
    }
}

/// A name that temporarily stands for a separate variable.
struct IsolatedName<'p> {
    frame: Rc<Frame<'p>>,
    s: SymId,
    /// The variable for which it stands otherwise.
    outside: Variable,
    /// Its elements there and here, and the number of times that they had been written.
    elements: Vec<(StorageLocation, StorageLocation, (u64, u64))>,
    /// Whether the block names the variable itself, and this is another name for it.
    other: bool,
}

impl IsolatedName<'_> {
    /// Makes the name stand for its original variable again, which receives the value.
    fn release(self) -> Run<()> {
        for (old, new, (old_writes, new_writes)) in self.elements {
            let not_meant = match self.other {
                true => new.writes()? != new_writes,
                false => old.writes()? != old_writes,
            };
            if not_meant {
                let what = "what a block differentiates by is assigned by another name";
                return Err(Halt::not_interpreted(what));
            }
            if !self.other && new.writes()? != new_writes && new.is_set() {
                old.write(new.read()?)?;
            }
        }
        self.frame.bind(self.s, self.outside);
        Ok(())
    }
}
