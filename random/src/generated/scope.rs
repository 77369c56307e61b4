//! What is visible where, and who reads and assigns what.

use std::collections::BTreeSet;

/// A variable, whatever its names.
pub type Entity = usize;

/// What a variable is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A number.
    Scalar,
    /// An array from `lower` on; `whole`: its extent is known in the unit.
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
    /// Real numbers, one or several.
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
    /// Statements may assign it.
    pub assignable: bool,
    /// It lies in COMMON or EQUIVALENCE.
    pub common: bool,
    /// Of single precision.
    pub single: bool,
}

impl Var {
    /// One in COMMON or EQUIVALENCE.
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

/// A dummy argument, as callers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Param {
    /// A number that is only read.
    In,
    /// A number that is assigned.
    Out,
    /// A number that is assigned, too; what it gets is a value, which nobody else has a name for.
    Copy,
    /// An array of three numbers, likewise.
    ArrayCopy,
    /// An INTEGER from 0 to 3, likewise.
    IntegerCopy,
    /// An array of three numbers, and whether it is assigned.
    Array(bool),
    /// One of three times three.
    Matrix(bool),
    /// The number three, which bounds of arrays use, and whether it is assigned afterwards, as a
    /// copy.
    Extent(bool),
    /// An INTEGER from 0 to 3, only read.
    Integer,
    /// A COMPLEX number, and whether it is assigned.
    Complex(bool),
    /// A LOGICAL, and whether it is assigned, as a copy.
    Logical(bool),
    /// A CHARACTER of any length, and whether it is assigned.
    Text(bool),
    /// A procedure.
    Procedure(Signature),
}

/// What callers must know of a subprogram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// A function changes nothing that others see.
    pub function: bool,
    pub params: Vec<Param>,
    /// To how many labels a subroutine may return.
    pub alternate: usize,
}

/// Who is read and assigned besides the arguments.
#[derive(Debug, Clone, Default)]
pub struct Effects {
    pub reads: BTreeSet<Entity>,
    pub writes: BTreeSet<Entity>,
    /// A dummy procedure of the surroundings is called: there may be more.
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
    /// Of a dummy procedure nothing is known; who passes it adds it.
    pub effects: Effects,
    /// May be an actual argument (statement functions may not).
    pub passable: bool,
    /// A dummy procedure.
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
    /// A name of the unit's own hides that of the surroundings.
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
