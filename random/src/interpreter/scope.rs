//! Activations of subprograms, and the meaning of names in them.

use super::call::Actual;
use super::storage::{Area, StorageLocation, size};
use super::value::Value;
use super::{Code, Halt, Machine, Procedure, Run};
use farfel_lang::ir::{
    Attribute, Class, Dim, Expr, ExprKind, Label, Name, SpecKind, Stmt, StmtKind,
    StorageClass as Home, SymId, Symbol, Type, Unit, UnitKind, walk_block,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// An activation of a subprogram.
pub struct Frame<'p> {
    /// The subprogram.
    pub unit: &'p Unit,
    /// The activation of its host, for a nested subprogram.
    pub host: Option<Rc<Frame<'p>>>,
    /// The meanings of its symbols, as far as they are known.
    bindings: RefCell<Vec<Option<Binding<'p>>>>,
    /// The targets of alternate returns.
    pub labels: Vec<Label>,
    /// The activation to which this belongs, while a statement function is evaluated.
    base: Option<Rc<Frame<'p>>>,
}

/// The meaning of a name.
#[derive(Clone)]
pub enum Binding<'p> {
    /// A variable or array.
    Variable(Variable),
    /// A procedure.
    Procedure(Procedure<'p>),
    /// A name that cannot be used, with the reason.
    Unusable(Halt),
}

/// A variable or array.
#[derive(Clone)]
pub struct Variable {
    /// Its place, or that of its first element.
    pub place: StorageLocation,
    /// The bounds of an array.
    pub shape: Option<Rc<Shape>>,
}

/// The lower bounds and extents of all dimensions; the last extent is `None` for an array of
/// assumed size.
pub struct Shape(pub Vec<(i64, Option<i64>)>);

impl Shape {
    /// Returns the number of elements.
    pub fn count(&self) -> Run<usize> {
        let mut count = 1;
        for (_, extent) in &self.0 {
            let extent =
                extent.ok_or_else(|| Halt::invalid("a whole array of assumed size is used"))?;
            count *= usize::try_from(extent).unwrap_or(0);
        }
        Ok(count)
    }

    /// Returns the number of elements before the one with these subscripts.
    pub fn index(&self, subscripts: &[i64]) -> Run<usize> {
        let (mut index, mut stride) = (0, 1);
        if subscripts.len() != self.0.len() {
            return Err(Halt::invalid("a wrong number of subscripts"));
        }
        for (s, (lower, extent)) in subscripts.iter().zip(&self.0) {
            let at = s - lower;
            if at < 0 || extent.is_some_and(|e| at >= e) {
                return Err(Halt::invalid(format!("the subscript {s} is out of bounds")));
            }
            index += at * stride;
            stride *= extent.unwrap_or(1);
        }
        Ok(usize::try_from(index).unwrap_or(0))
    }
}

/// The variables of a unit that share storage through COMMON or EQUIVALENCE: the block, or the
/// variable after which the area is named, and the first byte.
#[derive(Default)]
pub struct Layout(HashMap<SymId, (StorageBlock, usize)>);

#[derive(Clone, PartialEq)]
enum StorageBlock {
    Common(Name),
    /// An EQUIVALENCE class outside of COMMON, with its total size.
    Class(SymId, usize),
}

impl<'p> Frame<'p> {
    /// Returns the activation itself, for closures.
    fn base(self: &Rc<Self>) -> Rc<Self> {
        self.base.clone().unwrap_or_else(|| self.clone())
    }

    /// Returns the activation with other variables for some symbols, for statement functions.
    pub fn with(self: &Rc<Self>, new: Vec<(SymId, Variable)>) -> Rc<Self> {
        let mut bindings = self.bindings.borrow().clone();
        for (s, variable) in new {
            bindings[s.0 as usize] = Some(Binding::Variable(variable));
        }
        Rc::new(Frame {
            unit: self.unit,
            host: self.host.clone(),
            bindings: RefCell::new(bindings),
            labels: self.labels.clone(),
            base: Some(self.base()),
        })
    }

    /// Binds a symbol to another variable.
    pub fn bind(&self, s: SymId, variable: Variable) {
        self.bindings.borrow_mut()[s.0 as usize] = Some(Binding::Variable(variable));
    }

    /// Returns the dummy arguments that are variables, with their meanings.
    pub fn dummies(&self) -> Vec<(SymId, Variable)> {
        let bindings = self.bindings.borrow();
        let all = self.unit.symbols.iter().zip(bindings.iter());
        let dummy = |((s, symbol), bound): ((SymId, &Symbol), &Option<Binding<'p>>)| match bound {
            Some(Binding::Variable(v)) if symbol.storage_class == Home::Dummy => {
                Some((s, v.clone()))
            }
            _ => None,
        };
        all.filter_map(dummy).collect()
    }

    /// Returns the activation and the symbol in it to which a symbol is linked.
    pub fn owner(self: &Rc<Self>, s: SymId) -> Run<(Rc<Frame<'p>>, SymId)> {
        match self.unit.symbols[s].storage_class {
            Home::Host(outer) => match &self.host {
                Some(host) => host.owner(outer),
                None => Err(Halt::invalid("a name of surroundings that are not there")),
            },
            _ => Ok((self.clone(), s)),
        }
    }
}

impl<'p> Machine<'p> {
    /// Creates an activation of a unit before its first statement. Without `actuals` it has no
    /// arguments, as for initial values.
    pub fn enter(
        &self,
        unit: &'p Unit,
        entry: Option<&'p Stmt>,
        host: Option<Rc<Frame<'p>>>,
        actuals: &[Actual<'p>],
    ) -> Run<Rc<Frame<'p>>> {
        let frame = self.frame(unit, host, actuals);
        {
            let mut live = self.live.borrow_mut();
            if live.len() >= 1024 && live.len().is_power_of_two() {
                live.retain(|f| f.strong_count() > 0);
            }
            live.push(Rc::downgrade(&frame));
        }
        let args = match entry.map(|s| &s.kind) {
            Some(StmtKind::Entry(e)) => &e.args,
            _ => &unit.args,
        };
        if args.len() != actuals.len() {
            return Err(Halt::invalid("a wrong number of arguments"));
        }
        // Arguments on which array bounds depend come first, whatever their order.
        let pairs: Vec<(SymId, &Actual)> = args
            .iter()
            .zip(actuals)
            .filter_map(|(a, actual)| Some((a.sym()?, actual)))
            .collect();
        let is_array = |s: SymId| unit.symbols[s].is_array();
        let (mut left, scalars): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|p| is_array(p.0));
        for (s, actual) in scalars {
            let bound = self.associate(&frame, s, actual)?;
            frame.bindings.borrow_mut()[s.0 as usize] = Some(bound);
        }
        // Bounds may be elements of other arrays.
        while !left.is_empty() {
            let before = left.len();
            let mut halt = None;
            left.retain(|(s, actual)| match self.associate(&frame, *s, actual) {
                Ok(bound) => {
                    frame.bindings.borrow_mut()[s.0 as usize] = Some(bound);
                    false
                }
                Err(h) => {
                    halt = Some(h);
                    true
                }
            });
            if let (true, Some(halt)) = (left.len() == before, halt) {
                return Err(halt);
            }
        }
        for (s, symbol) in unit.symbols.iter() {
            // Bounds have their current values.
            if symbol.class == Class::Variable && !matches!(symbol.storage_class, Home::Host(_)) {
                let bound = self.lookup(&frame, s);
                if let Err(halt) = bound {
                    frame.bindings.borrow_mut()[s.0 as usize] = Some(Binding::Unusable(halt));
                }
            }
        }
        Ok(frame)
    }

    /// Creates an activation without any bindings.
    pub fn frame(
        &self,
        unit: &'p Unit,
        host: Option<Rc<Frame<'p>>>,
        actuals: &[Actual<'p>],
    ) -> Rc<Frame<'p>> {
        let label = |a: &Actual<'p>| match a {
            Actual::Label(l) => Some(*l),
            _ => None,
        };
        Rc::new(Frame {
            unit,
            host,
            bindings: RefCell::new(vec![None; unit.symbols.len()]),
            labels: actuals.iter().filter_map(label).collect(),
            base: None,
        })
    }

    /// Returns the meaning of a symbol.
    pub fn lookup(&self, f: &Rc<Frame<'p>>, s: SymId) -> Run<Binding<'p>> {
        let bound = f.bindings.borrow()[s.0 as usize].clone();
        match bound {
            Some(Binding::Unusable(halt)) => return Err(halt),
            Some(b) => return Ok(b),
            None => {}
        }
        let symbol = &f.unit.symbols[s];
        if let Home::Host(_) = symbol.storage_class {
            let (owner, outer) = f.owner(s)?;
            return self.lookup(&owner, outer);
        }
        let binding = match &symbol.class {
            Class::Variable => Binding::Variable(self.allocate(f, s, symbol)?),
            Class::Function | Class::Subroutine | Class::Procedure => {
                Binding::Procedure(self.procedure(f, symbol)?)
            }
            Class::Intrinsic(i) => Binding::Procedure(Procedure {
                code: Code::Intrinsic(i),
                host: None,
            }),
            _ => return Err(Halt::not_interpreted(format!("{} here", symbol.name))),
        };
        f.bindings.borrow_mut()[s.0 as usize] = Some(binding.clone());
        Ok(binding)
    }

    /// Returns the variable for which a symbol stands.
    pub fn variable(&self, f: &Rc<Frame<'p>>, s: SymId) -> Run<Variable> {
        match self.lookup(f, s)? {
            Binding::Variable(v) => Ok(v),
            _ => Err(Halt::invalid(format!(
                "{} is no variable",
                f.unit.symbols[s].name
            ))),
        }
    }

    /// Returns a type as it is in this run.
    pub fn ty(&self, ty: Type) -> Type {
        match ty {
            Type::Real(4) if self.wide => Type::DOUBLE,
            Type::Complex(4) if self.wide => Type::Complex(8),
            _ => ty,
        }
    }

    /// Returns the type and length of a variable.
    pub fn kind_of(&self, f: &Rc<Frame<'p>>, symbol: &'p Symbol) -> Run<(Type, usize)> {
        let none = || Halt::invalid(format!("{} has no type", symbol.name));
        let ty = self.ty(symbol.ty.ok_or_else(none)?);
        if ty != Type::Character {
            return Ok((ty, 0));
        }
        let length = match &symbol.length {
            None => 1,
            Some(e) => self.eval(f, e, None)?.as_integer()?,
        };
        Ok((ty, usize::try_from(length).unwrap_or(0)))
    }

    /// Returns the current bounds of an array.
    pub fn shape(&self, f: &Rc<Frame<'p>>, dims: &'p [Dim]) -> Run<Option<Rc<Shape>>> {
        let mut bounds = Vec::new();
        for d in dims {
            let lower = match &d.lower {
                Some(e) => self.eval(f, e, None)?.as_integer()?,
                None => 1,
            };
            let extent = match &d.upper {
                Some(e) if e.kind == ExprKind::Star => None,
                Some(e) => Some((self.eval(f, e, None)?.as_integer()? - lower + 1).max(0)),
                None => return Err(Halt::not_interpreted("arrays of deferred shape")),
            };
            bounds.push((lower, extent));
        }
        Ok((!bounds.is_empty()).then(|| Rc::new(Shape(bounds))))
    }

    /// Allocates storage for a variable of this unit that is not an argument.
    fn allocate(&self, f: &Rc<Frame<'p>>, s: SymId, symbol: &'p Symbol) -> Run<Variable> {
        let unit = f.unit;
        match symbol.storage_class {
            Home::Dummy => {
                let message = format!("{} is no argument of this entry", symbol.name);
                return Err(Halt::invalid(message));
            }
            Home::Pointee(_) => return Err(Halt::not_interpreted("Cray pointers")),
            Home::Result if unit.result != Some(s) => {
                // The results of entries are one variable.
                let first = unit.result.map(|r| self.variable(f, r)).transpose()?;
                let (ty, _) = self.kind_of(f, symbol)?;
                return match first {
                    Some(v) if v.place.ty == ty && v.shape.is_none() => Ok(v),
                    _ => Err(Halt::not_interpreted(
                        "entries with results of several types",
                    )),
                };
            }
            _ => {}
        }
        let (ty, length) = self.kind_of(f, symbol)?;
        if symbol.has(Attribute::Allocatable) {
            // A growing tape has no fixed extent.
            let extent = (!symbol.has(Attribute::Growing)).then_some(0);
            let none = symbol.dims.iter().map(|_| (1, extent)).collect();
            return Ok(Variable {
                place: StorageLocation {
                    area: Area::of_elements(ty, length, 0),
                    byte: 0,
                    ty,
                    length,
                },
                shape: Some(Rc::new(Shape(none))),
            });
        }
        let shape = self.shape(f, &symbol.dims)?;
        let count = shape.as_ref().map_or(Ok(1), |s| s.count())?;
        let bytes = count * size(ty, length);
        let shared = self.layout(f)?.0.get(&s).cloned();
        let (area, byte) = match shared {
            Some((StorageBlock::Common(block), byte)) => {
                let mut commons = self.commons.borrow_mut();
                let area = commons.entry(block).or_insert_with(Area::shared).clone();
                area.reserve(byte + bytes);
                (area, byte)
            }
            Some((StorageBlock::Class(leader, all), byte)) => {
                let keep = self.members(f, leader)?.into_iter();
                let keep = keep.map(|m| &unit.symbols[m]).any(|m| is_static(unit, m));
                let area = match keep {
                    true => self.fixed(unit, leader, Area::shared),
                    // The first one creates the area for all.
                    false => self.class_area(f, leader)?,
                };
                area.reserve(all);
                (area, byte)
            }
            None if is_static(unit, symbol) => {
                let new = || Area::of_elements(ty, length, count);
                (self.fixed(unit, s, new), 0)
            }
            None => (Area::of_elements(ty, length, count), 0),
        };
        let place = StorageLocation {
            area,
            byte,
            ty,
            length,
        };
        Ok(Variable { place, shape })
    }

    fn fixed(&self, unit: &'p Unit, s: SymId, new: impl FnOnce() -> Rc<Area>) -> Rc<Area> {
        let mut statics = self.statics.borrow_mut();
        statics.entry((unit, s)).or_insert_with(new).clone()
    }

    /// Returns the area of an EQUIVALENCE class in this activation.
    fn class_area(&self, f: &Rc<Frame<'p>>, leader: SymId) -> Run<Rc<Area>> {
        for m in self.members(f, leader)? {
            if let Some(Binding::Variable(v)) = &f.bindings.borrow()[m.0 as usize] {
                return Ok(v.place.area.clone());
            }
        }
        Ok(Area::shared())
    }

    fn members(&self, f: &Rc<Frame<'p>>, leader: SymId) -> Run<Vec<SymId>> {
        let layout = self.layout(f)?;
        let is_member =
            |shared: &StorageBlock| matches!(shared, StorageBlock::Class(l, _) if *l == leader);
        let members = layout.0.iter().filter(|(_, (shared, _))| is_member(shared));
        Ok(members.map(|(m, _)| *m).collect())
    }

    /// Whether a variable is in COMMON or EQUIVALENCE.
    pub fn shares_storage(&self, f: &Rc<Frame<'p>>, s: SymId) -> Run<bool> {
        Ok(self.layout(f)?.0.contains_key(&s))
    }

    /// Returns the shared storage of a unit.
    fn layout(&self, f: &Rc<Frame<'p>>) -> Run<Rc<Layout>> {
        let key: *const Unit = f.unit;
        let known = self.layouts.borrow().get(&key).cloned();
        if let Some(layout) = known {
            return Ok(layout);
        }
        let layout = Rc::new(self.lay_out(f)?);
        self.layouts.borrow_mut().insert(key, layout.clone());
        Ok(layout)
    }

    fn lay_out(&self, f: &Rc<Frame<'p>>) -> Run<Layout> {
        let unit = f.unit;
        let bytes = |s: SymId| -> Run<usize> {
            let symbol = &unit.symbols[s];
            let (ty, length) = self.kind_of(f, symbol)?;
            let shape = self.shape(f, &symbol.dims)?;
            Ok(shape.map_or(Ok(1), |s| s.count())? * size(ty, length))
        };
        // EQUIVALENCE: where each variable begins, relative to the leader of its class.
        let mut classes: HashMap<SymId, (SymId, i64)> = HashMap::new();
        for spec in &unit.specs {
            let SpecKind::Equivalence(groups) = &spec.kind else {
                continue;
            };
            for group in groups {
                let mut first: Option<(SymId, i64)> = None;
                for e in group {
                    let (s, offset) = self.offset(f, e)?;
                    let (leader, begin) = *classes.entry(s).or_insert((s, 0));
                    let Some((other, point)) = first else {
                        first = Some((leader, begin + offset));
                        continue;
                    };
                    // Both classes are merged so that the two points coincide.
                    let shift = point - (begin + offset);
                    for (l, b) in classes.values_mut().filter(|(l, _)| *l == leader) {
                        (*l, *b) = (other, *b + shift);
                    }
                }
            }
        }
        let mut layout = Layout::default();
        let mut ends: HashMap<Name, usize> = HashMap::new();
        for spec in &unit.specs {
            let SpecKind::Common(blocks) = &spec.kind else {
                continue;
            };
            for (block, members) in blocks {
                let end = ends.entry(block.clone()).or_default();
                for m in members {
                    let begin = *end as i64;
                    let (leader, own) = classes.get(&m.sym).copied().unwrap_or((m.sym, 0));
                    let place = |b: i64| {
                        let before = || Halt::invalid("EQUIVALENCE extends COMMON at its front");
                        let byte = usize::try_from(begin + b - own).map_err(|_| before())?;
                        Ok::<_, Halt>((StorageBlock::Common(block.clone()), byte))
                    };
                    layout.0.insert(m.sym, place(own)?);
                    for (s, (_, b)) in classes.iter().filter(|(_, (l, _))| *l == leader) {
                        layout.0.insert(*s, place(*b)?);
                    }
                    *end += bytes(m.sym)?;
                }
            }
        }
        let leaders: Vec<SymId> = classes.values().map(|(l, _)| *l).collect();
        for leader in leaders {
            let members: Vec<(SymId, i64)> = classes
                .iter()
                .filter(|(s, (l, _))| *l == leader && !layout.0.contains_key(s))
                .map(|(s, (_, b))| (*s, *b))
                .collect();
            let begin = members.iter().map(|(_, b)| *b).min().unwrap_or(0);
            let mut all = 0;
            for (s, b) in &members {
                all = all.max((b - begin) as usize + bytes(*s)?);
            }
            for (s, b) in members {
                let shared = StorageBlock::Class(leader, all);
                layout.0.insert(s, (shared, (b - begin) as usize));
            }
        }
        Ok(layout)
    }

    /// Returns the variable of an item in EQUIVALENCE, and the byte offset in it.
    fn offset(&self, f: &Rc<Frame<'p>>, e: &'p Expr) -> Run<(SymId, i64)> {
        let (s, subscripts) = match &e.kind {
            ExprKind::Var(s) => (*s, None),
            ExprKind::Element(s, subscripts) => (*s, Some(subscripts)),
            _ => return Err(Halt::not_interpreted("EQUIVALENCE of a substring")),
        };
        let symbol = &f.unit.symbols[s];
        let (ty, length) = self.kind_of(f, symbol)?;
        let index = match (subscripts, self.shape(f, &symbol.dims)?) {
            (Some(subscripts), Some(shape)) => {
                let at: Run<Vec<i64>> = subscripts
                    .iter()
                    .map(|s| self.eval(f, s, None)?.as_integer())
                    .collect();
                shape.index(&at?)?
            }
            _ => 0,
        };
        Ok((s, (index * size(ty, length)) as i64))
    }

    /// Returns the procedure for which a symbol stands, in the unit that knows it.
    fn procedure(&self, f: &Rc<Frame<'p>>, symbol: &'p Symbol) -> Run<Procedure<'p>> {
        let name = &symbol.name;
        if symbol.storage_class == Home::Local {
            let found = f.unit.nested.iter().find_map(|u| code(u, name));
            if let Some(code) = found {
                let host = Some(f.base());
                return Ok(Procedure { code, host });
            }
        }
        if symbol.storage_class == Home::Dummy {
            return Err(Halt::invalid(format!(
                "{name} is no argument of this entry"
            )));
        }
        let found = self.program.units.iter().find_map(|u| code(u, name));
        match found {
            Some(code) => Ok(Procedure { code, host: None }),
            None => Err(Halt::not_interpreted(format!(
                "{name}, which the program does not define"
            ))),
        }
    }

    /// Returns the procedure that a reference calls. In a function that refers to itself, a
    /// variable has the same name.
    pub fn callee(&self, f: &Rc<Frame<'p>>, s: SymId) -> Run<Procedure<'p>> {
        let symbol = &f.unit.symbols[s];
        if symbol.storage_class == Home::Result {
            let host = f.host.clone();
            return match code(f.unit, &symbol.name) {
                Some(code) => Ok(Procedure { code, host }),
                None => Err(Halt::invalid("a result is called")),
            };
        }
        match self.lookup(f, s)? {
            Binding::Procedure(p) => Ok(p),
            _ => Err(Halt::invalid(format!("{} is no procedure", symbol.name))),
        }
    }

    /// Returns the meaning of a dummy argument in an activation that begins.
    fn associate(&self, f: &Rc<Frame<'p>>, s: SymId, actual: &Actual<'p>) -> Run<Binding<'p>> {
        let symbol = &f.unit.symbols[s];
        let place = match actual {
            Actual::Procedure(p) => return Ok(Binding::Procedure(p.clone())),
            Actual::Label(_) => return Err(Halt::invalid("a label for a variable")),
            Actual::Location(p) | Actual::Copy(p, _) => p,
        };
        let mut place = place.clone();
        if symbol.class != Class::Variable {
            return Err(Halt::invalid(format!("{} gets no procedure", symbol.name)));
        }
        let open = matches!(&symbol.length, Some(e) if e.kind == ExprKind::Star);
        let (ty, length) = match open {
            true => (Type::Character, place.length),
            false => self.kind_of(f, symbol)?,
        };
        if ty != place.ty {
            let message = format!("{} for a dummy argument of type {ty}", place.ty);
            return Err(Halt::not_interpreted(message));
        }
        place.length = length;
        let shape = self.shape(f, &symbol.dims)?;
        Ok(Binding::Variable(Variable { place, shape }))
    }
}

/// Returns the code that a unit provides under a name: that of the unit itself, or from one of its
/// entries.
fn code<'p>(unit: &'p Unit, name: &Name) -> Option<Code<'p>> {
    if unit.name == *name && matches!(unit.kind, UnitKind::Function | UnitKind::Subroutine) {
        return Some(Code::Unit(unit, None));
    }
    let mut found = None;
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Entry(e) = &s.kind
            && unit.symbols[e.name].name == *name
        {
            found = Some(Code::Unit(unit, Some(s)));
        }
    });
    found
}

/// Whether a variable keeps its value between activations.
fn is_static(unit: &Unit, symbol: &Symbol) -> bool {
    let all = |s: &farfel_lang::ir::Spec| matches!(&s.kind, SpecKind::Save(l) if l.is_empty());
    let own = !matches!(symbol.storage_class, Home::Dummy | Home::Result);
    own && (symbol.saved || symbol.init.is_some() || unit.specs.iter().any(all))
}

/// Returns the variable that holds the result of a function, or of one of its entries.
pub fn result_of(unit: &Unit, entry: Option<&Stmt>) -> Option<SymId> {
    match entry.map(|s| &s.kind) {
        Some(StmtKind::Entry(e)) if unit.kind == UnitKind::Function => Some(e.name),
        _ => unit.result,
    }
}

/// Creates a variable that is not an array.
pub fn scalar(value: Value) -> Run<Variable> {
    Ok(Variable {
        place: StorageLocation::holding(value)?,
        shape: None,
    })
}
