//! Parses type statements with attributes, and the statements for single attributes.

use super::statement_parser::{ParseResult, StatementParser};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    Attribute, DataSet, Dim, Entity, Expr, Intent, SaveItem, SpecKind, StorageClass, SymId, Type,
};
use crate::source::Span;

/// The attributes between a type and `::`.
#[derive(Default)]
struct DeclaredAttributes {
    dims: Option<Vec<Dim>>,
    intent: Option<Intent>,
    external: bool,
    parameter: bool,
    intrinsic: bool,
    saved: bool,
    attributes: Vec<Attribute>,
}

/// Attributes of later standards, with advice on what to use instead.
const UNSUPPORTED: [(&str, &str); 9] = [
    (
        "POINTER",
        "use ALLOCATABLE for arrays whose size is decided at run time",
    ),
    (
        "CONTIGUOUS",
        "leave it out: all arrays that Farfel knows are contiguous",
    ),
    (
        "VALUE",
        "leave it out, and assign the argument to a variable before changing it",
    ),
    (
        "ASYNCHRONOUS",
        "leave it out: input and output wait for their end",
    ),
    ("PUBLIC", "leave it out: there are no modules"),
    ("PRIVATE", "leave it out: there are no modules"),
    ("PROTECTED", "leave it out: there are no modules"),
    (
        "BIND",
        "leave it out: Farfel makes what other languages call",
    ),
    (
        "KIND",
        "write it in parentheses behind the type, for instance `REAL(KIND=8)`",
    ),
];

impl StatementParser<'_> {
    /// Parses `type names` or `type, attributes :: names = values`.
    pub fn type_statement(&mut self) -> ParseResult<()> {
        let spec = self.type_spec()?;
        let attributed = self.peek() == b',';
        let mut declared = DeclaredAttributes::default();
        while attributed && self.eat(b',') {
            self.attribute(&mut declared)?;
        }
        let colons = self.colons();
        if attributed && !colons {
            return Err(self.expected("`::`"));
        }
        let mut groups: Vec<(Type, Vec<Entity>)> = Vec::new();
        let mut data = Vec::new();
        let mut all = Vec::new();
        loop {
            let (sym, span) = self.expect_sym("a name")?;
            let (mut ty, mut length) = (spec.ty, spec.length.clone());
            if self.peek() == b'*' {
                (ty, length) = self.own_size(ty)?;
            }
            let mut dims = false;
            if self.peek() == b'(' {
                let bounds = self.dims()?;
                self.set_dims(sym, span, bounds);
                dims = true;
            } else if let Some(bounds) = &declared.dims {
                self.set_dims(sym, span, bounds.clone());
                dims = true;
            }
            if self.peek() == b'*' {
                (ty, length) = self.own_size(ty)?;
            }
            self.set_type(sym, span, ty, length);
            let entity = Entity { sym, dims };
            match groups.last_mut() {
                Some((t, list)) if *t == ty => list.push(entity),
                _ => groups.push((ty, vec![entity])),
            }
            all.push(sym);
            if self.eat(b'/') {
                let values = self.data_values()?;
                self.open_unit.unit.symbols[sym].saved = true;
                data.push(DataSet {
                    targets: vec![Expr::var(sym, span)],
                    values,
                });
            } else if colons && declared.parameter {
                self.expect(b'=')?;
                let value = self.expr()?;
                self.set_parameter(sym, span, value);
            } else if colons && self.eat(b'=') {
                let value = self.expr()?;
                self.set_initial(sym, span, value, &declared);
            } else if self.peek() == b'=' && !colons {
                let mut error = self.expected("`,` or the end of the statement");
                error.help = Some("an initial value takes `::` before the names".to_owned());
                return Err(error);
            }
            if !self.eat(b',') {
                break;
            }
        }
        self.end()?;
        self.note(groups, data, all, declared);
        Ok(())
    }

    /// Parses one attribute between the type and `::`.
    fn attribute(&mut self, declared: &mut DeclaredAttributes) -> ParseResult<()> {
        if self.keyword("DIMENSION") {
            declared.dims = Some(self.dims()?);
        } else if self.keyword("INTENT") {
            declared.intent = Some(self.intent()?);
        } else if self.keyword("EXTERNAL") {
            declared.external = true;
        } else if self.keyword("INTRINSIC") {
            declared.intrinsic = true;
        } else if self.keyword("PARAMETER") {
            declared.parameter = true;
        } else if self.keyword("SAVE") || self.keyword("STATIC") {
            declared.saved = true;
        } else if let Some(a) = Attribute::ALL.into_iter().find(|a| self.keyword(a.word())) {
            declared.attributes.push(a);
        } else {
            let from = self.pos;
            if let Some((word, help)) = UNSUPPORTED.iter().find(|(w, _)| self.keyword(w)) {
                return Err(Box::new(
                    Diagnostic::error(
                        &rules::UNSUPPORTED,
                        self.since(from),
                        format!("Farfel does not support the attribute {word}"),
                    )
                    .help(*help),
                ));
            }
            return Err(self.expected(
                "ALLOCATABLE, DIMENSION, EXTERNAL, INTENT, OPTIONAL, PARAMETER, SAVE, TARGET \
                 or VOLATILE",
            ));
        }
        Ok(())
    }

    fn set_initial(&mut self, sym: SymId, span: Span, value: Expr, declared: &DeclaredAttributes) {
        let symbol = &mut self.open_unit.unit.symbols[sym];
        let allocatable = declared.attributes.contains(&Attribute::Allocatable);
        let what = match symbol.storage_class {
            StorageClass::Dummy => "is a dummy argument and has the value that callers give it",
            StorageClass::Result => "is the function's result and cannot have an initial value",
            StorageClass::Pointee(_) => {
                "lies where a pointer points and cannot have an initial value"
            }
            _ if allocatable => "is not there before ALLOCATE and cannot have an initial value",
            _ => {
                symbol.saved = true;
                symbol.init = Some(Box::new(value));
                return;
            }
        };
        let message = format!("{} {what}", symbol.name);
        self.conflict(span, message, sym);
    }

    /// Records what a type statement declares.
    fn note(
        &mut self,
        groups: Vec<(Type, Vec<Entity>)>,
        data: Vec<DataSet>,
        all: Vec<SymId>,
        declared: DeclaredAttributes,
    ) {
        // The bounds of a constant may depend on the constant before it.
        let one_by_one = declared.parameter
            && all.len() > 1
            && groups.iter().any(|(_, l)| l.iter().any(|e| e.dims));
        for (ty, list) in groups {
            if one_by_one {
                for e in list {
                    self.spec(SpecKind::Type(ty, vec![e]));
                    self.spec(SpecKind::Parameter(vec![e.sym]));
                }
            } else {
                self.spec(SpecKind::Type(ty, list));
            }
        }
        if !data.is_empty() {
            self.spec(SpecKind::Data(data));
        }
        if let Some(intent) = declared.intent {
            self.spec(SpecKind::Intent(intent, all.clone()));
        }
        if declared.external {
            for sym in &all {
                self.open_unit.unit.symbols[*sym].external = true;
            }
            self.spec(SpecKind::External(all.clone()));
        }
        if declared.intrinsic {
            self.spec(SpecKind::Intrinsic(all.clone()));
        }
        if declared.parameter && !one_by_one {
            self.spec(SpecKind::Parameter(all.clone()));
        }
        for attribute in declared.attributes {
            let list = all.iter().map(|sym| Entity {
                sym: *sym,
                dims: false,
            });
            self.set_attribute(attribute, list.collect());
        }
        if declared.saved {
            for sym in &all {
                self.open_unit.unit.symbols[*sym].saved = true;
            }
            self.spec(SpecKind::Save(all.into_iter().map(SaveItem::Var).collect()));
        }
    }

    fn set_attribute(&mut self, attribute: Attribute, list: Vec<Entity>) {
        for e in &list {
            self.open_unit.unit.symbols[e.sym]
                .attributes
                .insert(attribute);
        }
        self.spec(SpecKind::Attribute(attribute, list));
    }

    /// Parses `ALLOCATABLE A(:, :), B` and the like.
    pub fn attribute_statement(&mut self, attribute: Attribute) -> ParseResult<()> {
        self.colons();
        let mut list = Vec::new();
        loop {
            let (sym, span) = self.expect_sym("a variable")?;
            let dims = self.peek() == b'(';
            if dims {
                let bounds = self.dims()?;
                self.set_dims(sym, span, bounds);
            }
            list.push(Entity { sym, dims });
            if !self.eat(b',') {
                break;
            }
        }
        self.end()?;
        self.set_attribute(attribute, list);
        Ok(())
    }

    /// Parses `POINTER (P, A(10)), (Q, B)`: Cray pointers.
    pub fn cray_pointers(&mut self) -> ParseResult<()> {
        if self.peek() != b'(' {
            let mut error = self.expected("`(`, the name of a pointer and that of its target");
            error.help = Some(
                "Farfel supports Cray pointers, `POINTER (P, A)`; for arrays whose \
                 size is decided at run time use ALLOCATABLE"
                    .to_owned(),
            );
            return Err(error);
        }
        let mut pairs = Vec::new();
        loop {
            self.expect(b'(')?;
            let (pointer, at) = self.expect_sym("the name of a pointer")?;
            self.expect(b',')?;
            let (sym, span) = self.expect_sym("the name of what it points to")?;
            let dims = self.peek() == b'(';
            if dims {
                let bounds = self.dims()?;
                self.set_dims(sym, span, bounds);
            }
            self.expect(b')')?;
            self.set_pointee(pointer, at, sym, span);
            pairs.push((pointer, Entity { sym, dims }));
            if !self.eat(b',') {
                break;
            }
        }
        self.end()?;
        self.spec(SpecKind::Pointer(pairs));
        Ok(())
    }

    fn set_pointee(&mut self, pointer: SymId, at: Span, sym: SymId, span: Span) {
        let symbols = &mut self.open_unit.unit.symbols;
        // Without a declaration it is an integer that can hold an address.
        if !symbols[pointer].typed {
            symbols[pointer].ty = Some(Type::Integer(8));
        }
        let wrong = match (&symbols[sym].storage_class, &symbols[pointer].storage_class) {
            _ if pointer == sym => Some((sym, span, "cannot point to itself")),
            (_, StorageClass::Pointee(_)) => {
                Some((pointer, at, "is what another pointer points to"))
            }
            (StorageClass::Local, _) if symbols[sym].saved => Some((
                sym,
                span,
                "has storage of its own and cannot be where a pointer points",
            )),
            (StorageClass::Local, _) => None,
            (StorageClass::Pointee(_), _) => Some((sym, span, "is what another pointer points to")),
            (StorageClass::Dummy, _) => Some((
                sym,
                span,
                "is a dummy argument and cannot be where a pointer points",
            )),
            _ => Some((
                sym,
                span,
                "has storage of its own and cannot be where a pointer points",
            )),
        };
        match wrong {
            None => symbols[sym].storage_class = StorageClass::Pointee(pointer),
            Some((what, span, why)) => {
                let message = format!("{} {why}", symbols[what].name);
                self.conflict(span, message, what);
            }
        }
    }
}
