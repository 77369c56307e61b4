//! Growing tapes, in text that Farfel has generated.
//!
//! ```fortran
//!       TYPE FARFEL_R8; SEQUENCE; DOUBLE PRECISION, ALLOCATABLE :: V(:)
//!       INTEGER*8 TOP, MOST; END TYPE; TYPE (FARFEL_R8) TAPE_R8
//!       ...
//!       TAPE_R8%V(TAPE_R8%TOP) = X
//!       CALL F(TAPE_R8)
//! ```
//!
//! A subprogram can change the size of an allocatable array only if its callers have an explicit
//! interface, which FORTRAN 77 does not have, or if the array is a component of what they pass. In
//! the program, a growing tape is an array ([`Attribute::Growing`]), and the number of values on it and
//! the number that it has room for are variables ([`Symbol::is_component`](crate::ir::Symbol::is_component)),
//! which are arguments beside it; their first place in a list of arguments is not printed. Other types with
//! components are not supported.

use super::statement_parser::StatementParser;
use crate::ir::{
    Arg, Attribute, Dim, Entity, Expr, ExprKind, SpecKind, StorageClass, SymId, Symbol, Type,
};
use crate::source::Span;

/// The prefix of the names of the types.
pub(crate) const PREFIX: &str = "FARFEL_";

/// The component of the types that has the values.
pub(crate) const VALUES: &str = "%V";

/// The other components: the number of values, and the number that there is room for.
const COMPONENTS: [&str; 2] = ["%TOP", "%MOST"];

/// The type of these.
pub(crate) const COUNTER: Type = Type::Integer(8);

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
        let span = self.since(from);
        for sym in &list {
            let components = self.components(*sym, span);
            let symbol = &mut self.open_unit.unit.symbols[*sym];
            let dummy = symbol.storage_class == StorageClass::Dummy;
            let upper = dummy.then(|| Expr::new(ExprKind::Star, Span::NONE));
            symbol.dims = vec![Dim { lower: None, upper }];
            (symbol.ty, symbol.typed) = (Some(ty), true);
            symbol.attributes.insert(Attribute::Growing);
            symbol.tape = true;
            if !dummy {
                symbol.attributes.insert(Attribute::Allocatable);
                continue;
            }
            let unit = &mut self.open_unit.unit;
            if let Some(at) = unit.arg_position(*sym) {
                let args = components.map(Arg::Dummy);
                unit.args.splice(at + 1..at + 1, args);
            }
        }
        let entity = |sym| Entity { sym, dims: true };
        self.spec(SpecKind::Type(ty, list.into_iter().map(entity).collect()));
        true
    }

    /// Returns the variables that are the other components of a tape.
    fn components(&mut self, tape: SymId, span: Span) -> [SymId; 2] {
        let symbols = &mut self.open_unit.unit.symbols;
        let storage_class = symbols[tape].storage_class.clone();
        symbols[tape].component_names().map(|name| {
            let found = symbols.intern(&name, span);
            symbols[found] = Symbol {
                typed: true,
                storage_class: storage_class.clone(),
                ..Symbol::variable(name, COUNTER, span)
            };
            found
        })
    }

    /// Reads the component of a tape if one comes next, and returns its variable.
    pub(super) fn component_of(&mut self, tape: SymId) -> SymId {
        let end = self.component_end(self.pos);
        let component = self.text(self.pos, end);
        let symbols = &self.open_unit.unit.symbols;
        let name = format!("{}{component}", symbols[tape].name);
        self.pos = end;
        symbols.find(&name).unwrap_or(tape)
    }

    /// Returns the index after the component of a tape, if it comes next.
    pub(super) fn component_end(&self, at: usize) -> usize {
        let mut all = COMPONENTS.into_iter().chain([VALUES]);
        let there = |c: &&str| {
            let end = at + c.len();
            self.st.text.get(at..end) == Some(c.as_bytes()) && self.name_end(at + 1) == end
        };
        at + all.find(there).map_or(0, str::len)
    }

    /// Adds the components of tapes to the arguments of a call.
    pub(super) fn with_components(&self, args: Vec<Expr>) -> Vec<Expr> {
        let symbols = &self.open_unit.unit.symbols;
        let grows = |e: &Expr| match e.kind {
            ExprKind::Var(s) if symbols[s].has(Attribute::Growing) => Some(s),
            _ => None,
        };
        if !args.iter().any(|e| grows(e).is_some()) {
            return args;
        }
        let mut all = Vec::new();
        for e in args {
            let (tape, span) = (grows(&e), e.span);
            all.push(e);
            let names = tape.map(|t| symbols[t].component_names());
            let found = names.into_iter().flatten().filter_map(|n| symbols.find(&n));
            all.extend(found.map(|s| Expr::var(s, span)));
        }
        all
    }
}
