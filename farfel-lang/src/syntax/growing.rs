//! Growing tapes, in text that Farfel has generated.
//!
//! ```fortran
//!       TYPE FARFEL_R8; SEQUENCE; DOUBLE PRECISION, ALLOCATABLE :: V(:)
//!       END TYPE; TYPE (FARFEL_R8) TAPE_R8
//!       ...
//!       TAPE_R8%V(TOP_R8) = X
//! ```
//!
//! A subprogram can change the size of an allocatable array only if its callers have an explicit
//! interface, which FORTRAN 77 does not have, or if the array is a component of what they pass. In
//! the program, a growing tape is simply an array ([`Attribute::Growing`]); other types with
//! components are not supported.

use super::statement_parser::StatementParser;
use crate::ir::{Attribute, Dim, Entity, Expr, ExprKind, SpecKind, StorageClass, Type};
use crate::source::Span;

/// The prefix of the names of the types.
pub(crate) const PREFIX: &str = "FARFEL_";

/// The component of the types.
pub(crate) const COMPONENT: &str = "%V";

/// Returns the suffix after the prefix: `R8` for DOUBLE PRECISION.
pub(crate) fn suffix(ty: Type) -> String {
    match ty {
        Type::Integer(k) => format!("I{k}"),
        Type::Real(k) => format!("R{k}"),
        Type::Complex(k) => format!("C{k}"),
        Type::Logical(k) => format!("L{k}"),
        Type::Character => "CH".to_owned(),
    }
}

/// Returns the type of the elements, given the name of the type of the tape.
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

impl StatementParser<'_> {
    /// Whether this is the first line of the definition of a type for tapes.
    pub(super) fn growing_type(&self) -> bool {
        let end = self.name_end(self.pos);
        end == self.st.text.len() && elements(self.text(self.pos, end)).is_some()
    }

    /// Parses `(FARFEL_R8) TAPE_R8, OTHER` after TYPE. Returns false without consuming anything if
    /// the statement is something else.
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
            let symbol = &mut self.open_unit.unit.symbols[*sym];
            let dummy = symbol.storage_class == StorageClass::Dummy;
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

    /// Returns the index after the component of a tape, if it comes next.
    pub(super) fn grown_end(&self, at: usize) -> usize {
        let end = at + COMPONENT.len();
        let there = self.st.text.get(at..end) == Some(COMPONENT.as_bytes());
        match there && self.name_end(at + 1) == end {
            true => end,
            false => at,
        }
    }
}
