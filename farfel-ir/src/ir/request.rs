//! Derivative requests: what lowering asks of an AD tool.

use super::{AdMode, Name};
use crate::source::Span;

/// The directions of a request for several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Directions {
    /// How many they are, where that is a constant. Derivatives can then be in COMMON and
    /// keep their values between calls.
    pub count: Option<i64>,
    /// Every derivative is a LOGICAL that tells whether the tangent can be other than zero.
    pub pattern: bool,
}

/// One derivative to generate.
///
/// Requests come in an order in which each can be carried out: what one generates may be
/// differentiated again by a later one.
///
/// The program already calls the result, with this argument list (Tapenade's convention
/// for tangents): the arguments of `head` in order, each that [`Request::paired`] holds
/// followed at once by its derivative.
///
/// Reverse mode: on entry the adjoints of the dependents hold cotangents, all others zero.
/// On return those of the independents hold the gradient. All other adjoints are undefined
/// then, and so are the arguments that the head assigns and the COMMON variables that the
/// head, or what it calls, assigns: the program passes copies, and puts COMMON back. Before
/// the call it has run the head itself, to its end. So the derivative does no input or
/// output; what it would read is in its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// 1, 2, …: the number of the block.
    pub id: u32,
    /// Tangent or adjoint.
    pub mode: AdMode,
    /// The subroutine to differentiate: `DERIV1_1_ADF1`.
    pub head: Name,
    /// Appended to the names of what is generated: `_G1`. No other request has it.
    pub suffix: Name,
    /// The name that the program calls: `DERIV1_1_ADF1_G1`.
    pub derivative: Name,
    /// Positions of the head's arguments that are differentiated from (opening of ADF,
    /// closing of ADR). Whatever else has a derivative argument has derivative zero on
    /// entry.
    pub independents: Vec<usize>,
    /// Positions of the head's arguments whose derivatives are wanted (closing of ADF,
    /// opening of ADR).
    pub dependents: Vec<usize>,
    /// Positions of the head's arguments that are followed by a derivative argument:
    /// every REAL, DOUBLE PRECISION and COMPLEX one, ascending, but for arrays of assumed
    /// size that are neither independent nor dependent. Those must need no derivative.
    pub paired: Vec<usize>,
    /// Several directions in one sweep. Every derivative then has one more dimension, the
    /// first, and the last argument of the derivative is the number of directions.
    pub vector: bool,
    /// What is known of these directions.
    pub directions: Directions,
    /// The bytes of a default REAL. With 8, REAL and DOUBLE PRECISION are one type.
    pub real: u8,
    /// The AD block in the source.
    pub span: Span,
}
