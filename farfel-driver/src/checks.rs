//! What is checked of a program while it runs.

use serde::{Deserialize, Serialize};

/// What is checked of a program.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The package.
    pub package: String,
    pub blocks: Vec<Block>,
}

/// How many directions a block has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Directions {
    /// One.
    One,
    /// Several: `DIRECTIONS = n`.
    Several,
    /// A pattern: `PATTERN = n`.
    Pattern,
}

/// An AD block, as it stands in one subprogram that lowering leaves.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Block {
    /// It counts from 1 in its package.
    pub number: usize,
    /// The package.
    pub package: String,
    /// The file and line, `game.ff:12`.
    pub place: String,
    /// The subprogram: a copy where lowering makes copies.
    pub unit: String,
    /// ADR, not ADF.
    pub reverse: bool,
    /// Its directions.
    pub directions: Directions,
    /// The variables that it is differentiated by.
    pub independents: Vec<String>,
    /// The variables whose derivatives it asks for.
    pub dependents: Vec<String>,
    /// Why it cannot be checked.
    pub refused: Option<String>,
    /// What in it is constant because a directive or a setting says so: differences do not know
    /// that.
    pub constant: Option<String>,
    /// Some of its variables are in single precision.
    pub(crate) single: bool,
    pub(crate) request: usize,
    /// The request of the tangent that belongs to an adjoint.
    pub(crate) tangent: Option<usize>,
}

impl Block {
    /// The relative error of its numbers.
    pub(crate) fn epsilon(&self) -> f64 {
        match self.single {
            true => f64::from(f32::EPSILON),
            false => f64::EPSILON,
        }
    }
}

impl Plan {
    /// Is a request only for checks, so that they do without it if need be?
    pub(crate) fn is_optional(&self, request: usize) -> bool {
        self.blocks.iter().any(|b| b.tangent == Some(request))
    }
}
