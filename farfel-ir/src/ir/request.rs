//! Derivative requests: what lowering asks an AD tool to generate.

use super::{AdMode, Name};
use crate::source::Span;

/// The directions of a vector-mode request ([`Request::vector`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Directions {
    /// The number of directions, where it is a constant. Derivatives can then be in COMMON and keep
    /// their values between calls.
    pub count: Option<i64>,
    /// Every derivative is a LOGICAL that tells whether the tangent can be nonzero.
    pub pattern: bool,
}

/// One derivative to generate.
///
/// Requests are ordered so that each can be carried out in turn: what one generates may be
/// differentiated again by a later one.
///
/// The program already calls the derivative, with this argument list (Tapenade's convention for
/// tangents): the arguments of `head` in order, each of those in [`Request::paired`] immediately
/// followed by its derivative.
///
/// Reverse mode: on entry the adjoints of the dependents hold the seeds and all others are zero. On
/// return the adjoints of the independents hold the gradient. All other adjoints are then
/// undefined, and so are the arguments that the head assigns and the COMMON variables that the
/// head, or anything it calls, assigns: the program passes copies, and restores COMMON. Before the
/// call the program has run the head itself to completion. So the derivative does no input or
/// output; anything it would read is in its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The number of the block, from 1.
    pub id: u32,
    /// Tangent or adjoint.
    pub mode: AdMode,
    /// The subroutine to differentiate: `DERIV1_1_ADF1`.
    pub head: Name,
    /// Suffix for the names of everything generated: `_G1`. No other request has the same one.
    pub suffix: Name,
    /// The subroutine name that the program calls: `DERIV1_1_ADF1_G1`.
    pub derivative: Name,
    /// Positions of the head's independent arguments (opening of ADF, closing of ADR). Every other
    /// derivative argument is zero on entry.
    pub independents: Vec<usize>,
    /// Positions of the head's dependent arguments, whose derivatives are wanted (closing of ADF,
    /// opening of ADR).
    pub dependents: Vec<usize>,
    /// Positions of the head's arguments that are followed by a derivative argument, ascending:
    /// every REAL, DOUBLE PRECISION and COMPLEX argument, except assumed-size arrays that are
    /// neither independent nor dependent. Those must not need a derivative.
    pub paired: Vec<usize>,
    /// Several directions in one sweep. Every derivative then has an additional first dimension,
    /// and the last argument of the derivative is the number of directions.
    pub vector: bool,
    /// What is known about the directions of a vector-mode request.
    pub directions: Directions,
    /// The size of a default REAL in bytes. With 8, REAL and DOUBLE PRECISION are one type.
    pub real: u8,
    /// The AD block in the source.
    pub span: Span,
}
