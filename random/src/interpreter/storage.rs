//! Storage areas, and the places in them that hold values.
//!
//! An [`Area`] is a sequence of slots. Variables that share storage through COMMON or EQUIVALENCE
//! are in one area whose slots are bytes; any other variable has an area of its own, with one slot
//! for each element. A variable, an array element, and a dummy argument, which is a variable of the
//! caller, are [`StorageLocation`]s.

use super::value::Value;
use super::{Halt, Run};
use farfel_lang::ir::Type;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

#[derive(Clone)]
enum Slot {
    /// Nothing has been assigned yet.
    Empty,
    /// A value begins here.
    Value(Value),
    /// The continuation of the value that began before.
    Rest,
    /// One character.
    Byte(u8),
}

/// A piece of storage.
pub struct Area {
    /// The size of a slot in bytes.
    step: usize,
    /// The number of slots. Slots at the end that were never written need no memory.
    count: Cell<usize>,
    slots: RefCell<Vec<Slot>>,
    /// The number of times that each slot was written.
    written: RefCell<Vec<u64>>,
    /// Whether it must not be written any more.
    frozen: Cell<bool>,
}

impl Area {
    /// Creates an area for this many elements of a type (`length` is that of a CHARACTER).
    pub fn of_elements(ty: Type, length: usize, count: usize) -> Rc<Self> {
        let (step, slots) = match ty {
            Type::Character => (1, length * count),
            _ => (size(ty, length), count),
        };
        Rc::new(Area {
            step,
            count: Cell::new(slots),
            slots: RefCell::default(),
            written: RefCell::default(),
            frozen: Cell::new(false),
        })
    }

    /// Creates an area that variables share. It grows as needed.
    pub fn shared() -> Rc<Self> {
        Rc::new(Area {
            step: 1,
            count: Cell::new(0),
            slots: RefCell::default(),
            written: RefCell::default(),
            frozen: Cell::new(false),
        })
    }

    /// Forbids further writes.
    pub fn freeze(&self) {
        self.frozen.set(true);
    }

    /// Makes the area at least this many bytes large.
    pub fn reserve(&self, bytes: usize) {
        let count = bytes.div_ceil(self.step);
        self.count.set(self.count.get().max(count));
    }

    /// Allocates memory for slots.
    fn grow(&self, count: usize) {
        let mut slots = self.slots.borrow_mut();
        if slots.len() < count {
            slots.resize(count, Slot::Empty);
            self.written.borrow_mut().resize(count, 0);
        }
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> usize {
        self.count.get() * self.step
    }
}

/// Returns the size of a value in bytes.
pub fn size(ty: Type, length: usize) -> usize {
    match ty {
        Type::Integer(n) | Type::Real(n) | Type::Logical(n) => n.into(),
        Type::Complex(n) => 2 * usize::from(n),
        Type::Character => length,
    }
}

/// The place of one value.
#[derive(Clone)]
pub struct StorageLocation {
    /// The storage area.
    pub area: Rc<Area>,
    /// The byte offset in the area.
    pub byte: usize,
    /// The type of the value.
    pub ty: Type,
    /// The length of a CHARACTER.
    pub length: usize,
}

impl StorageLocation {
    /// Allocates new storage for one value.
    pub fn new(ty: Type, length: usize) -> Self {
        StorageLocation {
            area: Area::of_elements(ty, length, 1),
            byte: 0,
            ty,
            length,
        }
    }

    /// Allocates new storage that holds a value.
    pub fn holding(value: Value) -> Result<Self, Halt> {
        let length = match &value {
            Value::Text(t) => t.len(),
            _ => 0,
        };
        let place = StorageLocation::new(value.ty(), length);
        place.write(value)?;
        Ok(place)
    }

    /// Returns the place of the `i`-th value after this one.
    pub fn after(&self, i: usize) -> StorageLocation {
        StorageLocation {
            byte: self.byte + i * size(self.ty, self.length),
            ..self.clone()
        }
    }

    /// Returns a key that is equal for two names of the same place.
    pub fn key(&self) -> (*const Area, usize) {
        (Rc::as_ptr(&self.area), self.byte)
    }

    fn slots(&self) -> Result<std::ops::Range<usize>, Halt> {
        let step = self.area.step;
        let end = self.byte + size(self.ty, self.length);
        if !self.byte.is_multiple_of(step) || !end.is_multiple_of(step) {
            return Err(Halt::not_interpreted(
                "storage that is divided in another way",
            ));
        }
        if end / step > self.area.count.get() {
            return Err(Halt::invalid("a place outside of its array"));
        }
        self.area.grow(end / step);
        Ok(self.byte / step..end / step)
    }

    /// Reads the value.
    pub fn read(&self) -> Result<Value, Halt> {
        let undefined = || Halt::invalid("a value is read before it is set");
        let range = self.slots()?;
        let slots = &self.area.slots.borrow()[range];
        if self.ty == Type::Character {
            let bytes = slots.iter().map(|s| match s {
                Slot::Byte(b) => Ok(*b),
                Slot::Empty => Err(undefined()),
                _ => Err(Halt::not_interpreted("a number read as characters")),
            });
            return bytes.collect::<Result<_, _>>().map(Value::Text);
        }
        let value = match slots.first() {
            Some(Slot::Value(v)) => v,
            Some(Slot::Empty) => return Err(undefined()),
            _ => return Err(Halt::not_interpreted("storage read as another type")),
        };
        let whole = slots[1..].iter().all(|s| matches!(s, Slot::Rest));
        if value.ty() != self.ty || !whole {
            return Err(Halt::not_interpreted("storage read as another type"));
        }
        Ok(value.clone().map(&|x| x.current()))
    }

    /// Returns the number of times that the value was written, under any name.
    pub fn writes(&self) -> Run<u64> {
        let range = self.slots()?;
        let written = &self.area.written.borrow()[range];
        Ok(written.iter().max().copied().unwrap_or(0))
    }

    /// Whether the value has been set.
    pub fn is_set(&self) -> bool {
        let Ok(range) = self.slots() else {
            return false;
        };
        let slots = &self.area.slots.borrow()[range];
        !slots.iter().any(|s| matches!(s, Slot::Empty))
    }

    /// Sets the value, as an assignment does.
    pub fn write(&self, value: Value) -> Result<(), Halt> {
        let range = self.slots()?;
        if self.area.frozen.get() {
            return Err(Halt::invalid("a constant is assigned by a dummy argument"));
        }
        let value = value.convert(self.ty)?;
        let mut written = self.area.written.borrow_mut();
        let now = written[range.clone()].iter().max().unwrap_or(&0) + 1;
        written[range.clone()].fill(now);
        let slots = &mut self.area.slots.borrow_mut()[range];
        match value {
            Value::Text(t) => {
                let padded = t.into_iter().chain(std::iter::repeat(b' '));
                for (slot, byte) in slots.iter_mut().zip(padded) {
                    *slot = Slot::Byte(byte);
                }
            }
            value => {
                slots.fill(Slot::Rest);
                if let Some(first) = slots.first_mut() {
                    *first = Slot::Value(value);
                }
            }
        }
        Ok(())
    }
}
