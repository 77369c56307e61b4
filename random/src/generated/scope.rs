//! What is visible in each unit, and which units read and assign it.

use std::collections::BTreeSet;

/// A variable, whatever names it has.
pub type Entity = usize;

/// The type and shape of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A number.
    Scalar,
    /// An array from `lower` on. `whole` says whether its extent is known in the unit.
    Array {
        lower: i64,
        extent: i64,
        whole: bool,
    },
    /// An array of three rows, from `lower` on, and columns 1 to 3.
    Matrix { lower: i64, whole: bool },
    /// An INTEGER from 0 to 3.
    Integer,
    /// A COMPLEX number.
    Complex,
}

impl Shape {
    /// Whether this is one or several real numbers.
    pub fn is_number(self) -> bool {
        !matches!(self, Shape::Integer | Shape::Complex)
    }
}

/// A name of a variable.
#[derive(Debug, Clone)]
pub struct Var {
    pub entity: Entity,
    pub name: String,
    pub shape: Shape,
    /// Whether statements may assign it.
    pub assignable: bool,
    /// Whether it is in COMMON or EQUIVALENCE.
    pub common: bool,
    /// Whether it has single precision.
    pub single: bool,
}

impl Var {
    /// Creates a variable in COMMON or EQUIVALENCE.
    pub fn shared(name: &str, entity: Entity, shape: Shape) -> Self {
        Var {
            entity,
            name: name.into(),
            shape,
            assignable: true,
            common: true,
            single: false,
        }
    }
}

/// A dummy argument as callers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Param {
    /// A number that is only read.
    In,
    /// A number that is assigned.
    Out,
    /// A number that is assigned as well; its actual argument is a value that nothing else can
    /// access.
    Copy,
    /// An array of three numbers, likewise passed by value.
    ArrayCopy,
    /// An INTEGER from 0 to 3, likewise passed by value.
    IntegerCopy,
    /// An array of three numbers, and whether it is assigned.
    Array(bool),
    /// A three by three array, and whether it is assigned.
    Matrix(bool),
    /// The number three, which array bounds use, and whether it is assigned afterwards; it is then
    /// a copy.
    Extent(bool),
    /// An INTEGER from 0 to 3 that is only read.
    Integer,
    /// An INTEGER from 1 to 3 that is only read: the column of a matrix.
    Level,
    /// A COMPLEX number, and whether it is assigned.
    Complex(bool),
    /// A LOGICAL, and whether it is assigned; it is then a copy.
    Logical(bool),
    /// A CHARACTER of any length, and whether it is assigned.
    Text(bool),
    /// A procedure.
    Procedure(Signature),
}

/// The facts about a subprogram that callers need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Whether it is a function, which has no visible side effects.
    pub function: bool,
    pub params: Vec<Param>,
    /// The number of labels to which a subroutine may return.
    pub alternate: usize,
}

/// The variables that are read and assigned, besides the arguments.
#[derive(Debug, Clone, Default)]
pub struct Effects {
    pub reads: BTreeSet<Entity>,
    pub writes: BTreeSet<Entity>,
    /// Whether a dummy procedure of a host is called, so that there may be more effects.
    pub unknown: bool,
}

impl Effects {
    pub fn add(&mut self, other: &Effects) {
        self.reads.extend(&other.reads);
        self.writes.extend(&other.writes);
        self.unknown |= other.unknown;
    }
}

/// A name of a procedure.
#[derive(Debug, Clone)]
pub struct Callable {
    pub name: String,
    pub signature: Signature,
    /// The effects. Those of a dummy procedure are unknown; the caller that passes it adds them.
    pub effects: Effects,
    /// Whether it may be an actual argument (statement functions may not).
    pub passable: bool,
    /// Whether it is a dummy procedure.
    pub dummy: bool,
}

/// What is visible in a unit.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    pub vars: Vec<Var>,
    pub procedures: Vec<Callable>,
    /// Conditions on LOGICAL and CHARACTER variables.
    pub flags: Vec<String>,
}

impl Scope {
    /// Hides a host's name by one of the unit's own.
    fn hide(&mut self, name: &str) {
        self.vars.retain(|v| v.name != name);
        self.procedures.retain(|p| p.name != name);
    }

    pub fn add_var(&mut self, var: Var) {
        self.hide(&var.name);
        self.vars.push(var);
    }

    pub fn add_procedure(&mut self, procedure: Callable) {
        self.hide(&procedure.name);
        self.procedures.push(procedure);
    }
}
