//! The derivative checks of a program that are made while it runs.

use serde::{Deserialize, Serialize};

/// The checks of a program.
#[derive(Debug, Clone)]
pub(crate) struct DerivativeChecks {
    /// The name of the package.
    pub package: String,
    pub blocks: Vec<Block>,
}

/// The number of directions of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Directions {
    /// One direction.
    One,
    /// Several directions: `DIRECTIONS = n`.
    Several,
    /// A sparsity pattern: `PATTERN = n`.
    Pattern,
}

/// An AD block in one of the subprograms that remain after lowering.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Block {
    /// Its number in its package, from 1.
    pub number: usize,
    /// The name of the package.
    pub package: String,
    /// The file and line, `game.ff:12`.
    pub place: String,
    /// The subprogram, which may be a copy made by lowering.
    pub unit: String,
    /// Whether the block is ADR and not ADF.
    pub reverse: bool,
    /// Its directions.
    pub directions: Directions,
    /// The independent variables.
    pub independents: Vec<String>,
    /// The dependent variables.
    pub dependents: Vec<String>,
    /// The reason why it cannot be checked, if there is one.
    pub refused: Option<String>,
    /// A part of it that is constant because of a directive or a setting, which finite differences do not
    /// know.
    pub constant: Option<String>,
    /// Whether some of its variables are in single precision.
    pub(crate) single: bool,
    pub(crate) request: usize,
    /// The request of the tangent that belongs to an adjoint.
    pub(crate) tangent: Option<usize>,
}

impl Block {
    /// Returns the relative rounding error of its numbers.
    pub(crate) fn epsilon(&self) -> f64 {
        match self.single {
            true => f64::from(f32::EPSILON),
            false => f64::EPSILON,
        }
    }
}

impl DerivativeChecks {
    /// Whether a request only serves checks, which can do without it if necessary.
    pub(crate) fn is_optional(&self, request: usize) -> bool {
        self.blocks.iter().any(|b| b.tangent == Some(request))
    }
}
