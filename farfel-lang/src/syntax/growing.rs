//! Tapes that grow, in text that Farfel has generated.
//!
//! ```fortran
//!       TYPE FARFEL_R8; SEQUENCE
//!         DOUBLE PRECISION, ALLOCATABLE :: V(:); END TYPE
//!       TYPE (FARFEL_R8) TAPE_R8
//!       ...
//!       TAPE_R8%V(TOP_R8) = X
//! ```
//!
//! A subprogram can give an allocatable array another size only where its callers have an explicit interface, which
//! FORTRAN 77 has not, or where it is a component of what they pass. For the program it is an array of its own
//! ([`Attribute::Growing`]); other types with components are not known.

use super::line::Line;
use crate::ir::{Attribute, Dim, Entity, Expr, ExprKind, Place, SpecKind, Type};
use crate::source::Span;

/// How the names of the types begin.
pub(crate) const PREFIX: &str = "FARFEL_";

/// The component of the types.
pub(crate) const COMPONENT: &str = "%V";

/// What comes behind the prefix: `R8` for DOUBLE PRECISION.
pub(crate) fn suffix(ty: Type) -> String {
    match ty {
        Type::Integer(k) => format!("I{k}"),
        Type::Real(k) => format!("R{k}"),
        Type::Complex(k) => format!("C{k}"),
        Type::Logical(k) => format!("L{k}"),
        Type::Character => "CH".to_owned(),
    }
}

/// The type of the elements, by the name of the type of the tape.
fn elements(name: &str) -> Option<Type> {
    let rest = name.strip_prefix(PREFIX)?;
    if rest == suffix(Type::Character) {
        return Some(Type::Character);
    }
    let bytes: u8 = rest.get(1..)?.parse().ok()?;
    let ty = match rest.as_bytes().first()? {
        b'I' => Type::Integer(bytes),
        b'R' => Type::Real(bytes),
        b'C' => Type::Complex(bytes),
        b'L' => Type::Logical(bytes),
        _ => return None,
    };
    (suffix(ty) == rest).then_some(ty)
}

impl Line<'_> {
    /// Is it the first line of a type for tapes?
    pub(super) fn growing_type(&self) -> bool {
        let end = self.name_end(self.pos);
        end == self.st.text.len() && elements(self.text(self.pos, end)).is_some()
    }

    /// `(FARFEL_R8) TAPE_R8, OTHER`, behind TYPE; false, and nothing done, where it is something else.
    pub(super) fn growing_tapes(&mut self) -> bool {
        if self.peek() != b'(' {
            return false;
        }
        let from = self.pos + 1;
        let end = self.name_end(from);
        let Some(ty) = elements(self.text(from, end)).filter(|_| self.at(end) == b')') else {
            return false;
        };
        self.pos = end + 1;
        self.colons();
        let mut list = Vec::new();
        loop {
            let Ok((sym, _)) = self.expect_sym("a name") else {
                return false;
            };
            list.push(sym);
            if !self.eat(b',') {
                break;
            }
        }
        if self.end().is_err() {
            return false;
        }
        for sym in &list {
            let symbol = &mut self.frame.unit.symbols[*sym];
            let dummy = symbol.place == Place::Dummy;
            let upper = dummy.then(|| Expr::new(ExprKind::Star, Span::NONE));
            symbol.dims = vec![Dim { lower: None, upper }];
            (symbol.ty, symbol.typed) = (Some(ty), true);
            symbol.attributes.insert(Attribute::Growing);
            symbol.tape = true;
            if !dummy {
                symbol.attributes.insert(Attribute::Allocatable);
            }
        }
        let entity = |sym| Entity { sym, dims: true };
        self.spec(SpecKind::Type(ty, list.into_iter().map(entity).collect()));
        true
    }

    /// Goes past the component of a tape, if it comes next.
    pub(super) fn grown_end(&self, at: usize) -> usize {
        let end = at + COMPONENT.len();
        let there = self.st.text.get(at..end) == Some(COMPONENT.as_bytes());
        match there && self.name_end(at + 1) == end {
            true => end,
            false => at,
        }
    }
}
