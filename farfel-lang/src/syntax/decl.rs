//! Parses specification statements, which define the symbols and leave a [`Spec`] that records
//! where each fact is written.

use super::statement_parser::{ParseResult, StatementParser};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    Class, Dim, Entity, Expr, ExprKind, Intent, Name, SaveItem, Spec, SpecKind, StorageClass,
    SymId, Type,
};
use crate::source::Span;
use std::collections::HashSet;

impl StatementParser<'_> {
    pub(super) fn spec(&mut self, kind: SpecKind) {
        let span = self.st.whole();
        self.open_unit.unit.specs.push(Spec { kind, span });
    }

    pub(super) fn conflict(&mut self, span: Span, message: String, sym: SymId) {
        let first = self.open_unit.unit.symbols[sym].span;
        self.diagnostics.push(
            Diagnostic::error(&rules::CONFLICTING_DECLARATION, span, message)
                .related(first, "first mentioned here"),
        );
    }

    /// Parses an expression or `*`.
    pub(super) fn bound(&mut self) -> ParseResult<Expr> {
        let from = self.pos;
        if self.peek() == b'*' && matches!(self.at(from + 1), b')' | b',') {
            self.pos += 1;
            return Ok(Expr::new(ExprKind::Star, self.since(from)));
        }
        self.expr()
    }

    /// Parses `(bounds)`.
    pub(super) fn dims(&mut self) -> ParseResult<Vec<Dim>> {
        self.expect(b'(')?;
        let mut dims = Vec::new();
        loop {
            if self.eat(b':') {
                let upper = match self.peek() {
                    b',' | b')' => None,
                    _ => Some(self.bound()?),
                };
                dims.push(Dim { lower: None, upper });
            } else {
                let first = self.bound()?;
                if self.eat(b':') {
                    let upper = match self.peek() {
                        b',' | b')' => None,
                        _ => Some(self.bound()?),
                    };
                    dims.push(Dim {
                        lower: Some(first),
                        upper,
                    });
                } else {
                    dims.push(Dim {
                        lower: None,
                        upper: Some(first),
                    });
                }
            }
            if self.list_ends()? {
                return Ok(dims);
            }
        }
    }

    pub(super) fn set_dims(&mut self, sym: SymId, span: Span, dims: Vec<Dim>) {
        if self.open_unit.unit.symbols[sym].is_array() {
            let name = self.open_unit.unit.symbols[sym].name.clone();
            self.conflict(
                span,
                format!("the bounds of {name} are declared twice"),
                sym,
            );
            return;
        }
        self.open_unit.unit.symbols[sym].dims = dims;
    }

    pub(super) fn set_type(&mut self, sym: SymId, span: Span, ty: Type, length: Option<Expr>) {
        let symbol = &mut self.open_unit.unit.symbols[sym];
        if symbol.typed {
            let name = symbol.name.clone();
            let old = symbol.ty;
            if old != Some(ty) {
                let old = old.map_or_else(String::new, |t| format!(" {t} and"));
                self.conflict(span, format!("{name} is declared{old} {ty}"), sym);
                return;
            }
        }
        symbol.ty = Some(ty);
        symbol.typed = true;
        if length.is_some() {
            symbol.length = length;
        }
    }

    /// Parses `DIMENSION A(10), B(N)`.
    pub fn dimension(&mut self) -> ParseResult<()> {
        self.colons();
        let mut list = Vec::new();
        loop {
            let (sym, span) = self.expect_sym("the name of an array")?;
            let dims = self.dims()?;
            self.set_dims(sym, span, dims);
            list.push(sym);
            if !self.eat(b',') {
                break;
            }
        }
        self.end()?;
        self.spec(SpecKind::Dimension(list));
        Ok(())
    }

    /// Skips `::` if it comes next.
    pub(super) fn colons(&mut self) -> bool {
        let found = self.peek() == b':' && self.at(self.pos + 1) == b':';
        if found {
            self.pos += 2;
        }
        found
    }

    /// Parses `PARAMETER (A = 1, B = 2*A)`, or the same without parentheses.
    pub fn parameter(&mut self) -> ParseResult<()> {
        let parens = self.eat(b'(');
        let mut list = Vec::new();
        loop {
            let (sym, span) = self.expect_sym("a name")?;
            self.expect(b'=')?;
            let value = self.expr()?;
            self.set_parameter(sym, span, value);
            list.push(sym);
            if !self.eat(b',') {
                break;
            }
        }
        if parens {
            self.expect(b')')?;
        }
        self.end()?;
        self.spec(SpecKind::Parameter(list));
        Ok(())
    }

    pub(super) fn set_parameter(&mut self, sym: SymId, span: Span, value: Expr) {
        let symbol = &mut self.open_unit.unit.symbols[sym];
        let name = symbol.name.clone();
        if symbol.class != Class::Unknown || symbol.storage_class != StorageClass::Local {
            let what = match (&symbol.class, &symbol.storage_class) {
                (Class::Parameter(_), _) => "is given a value twice",
                (_, StorageClass::Dummy) => "is a dummy argument and cannot be a constant",
                (_, StorageClass::Result) => "is the function's result and cannot be a constant",
                (_, StorageClass::Common(_)) => "is in a COMMON block and cannot be a constant",
                (_, StorageClass::Pointee(_)) => {
                    "lies where a pointer points and cannot be a constant"
                }
                _ => "is something else already and cannot be a constant",
            };
            self.conflict(span, format!("{name} {what}"), sym);
            return;
        }
        symbol.class = Class::Parameter(Box::new(value));
    }

    /// Parses `EXTERNAL names` and `INTRINSIC names`.
    pub fn procedures(&mut self, external: bool) -> ParseResult<()> {
        self.colons();
        let mut list = Vec::new();
        loop {
            let (sym, _) = self.expect_sym("the name of a procedure")?;
            if external {
                self.open_unit.unit.symbols[sym].external = true;
            }
            list.push(sym);
            if !self.eat(b',') {
                break;
            }
        }
        self.end()?;
        self.spec(if external {
            SpecKind::External(list)
        } else {
            SpecKind::Intrinsic(list)
        });
        Ok(())
    }

    /// Parses `COMMON /BLOCK/ names, /OTHER/ names`.
    pub fn common(&mut self) -> ParseResult<()> {
        let mut blocks: Vec<(Name, Vec<Entity>)> = Vec::new();
        let mut block = Name::default();
        loop {
            if self.eat(b'/') {
                block = match self.name() {
                    Some((n, _)) => n.into(),
                    None => Name::default(),
                };
                self.expect(b'/')?;
                blocks.push((block.clone(), Vec::new()));
            } else if blocks.is_empty() {
                blocks.push((block.clone(), Vec::new()));
            }
            let (sym, span) = self.expect_sym("a variable")?;
            let dims = self.peek() == b'(';
            if dims {
                let bounds = self.dims()?;
                self.set_dims(sym, span, bounds);
            }
            self.set_common(sym, span, &block);
            if let Some((_, list)) = blocks.last_mut() {
                list.push(Entity { sym, dims });
            }
            let comma = self.eat(b',');
            if self.done() {
                if comma {
                    return Err(self.expected("a variable"));
                }
                break;
            }
            if !comma && self.peek() != b'/' {
                return Err(self.expected("`,` or `/`"));
            }
        }
        self.spec(SpecKind::Common(blocks));
        Ok(())
    }

    fn set_common(&mut self, sym: SymId, span: Span, block: &Name) {
        let symbol = &mut self.open_unit.unit.symbols[sym];
        let what = match (&symbol.storage_class, &symbol.class) {
            (StorageClass::Local, Class::Parameter(_)) => "is a constant and cannot be in COMMON",
            (StorageClass::Local, _) => {
                symbol.storage_class = StorageClass::Common(block.clone());
                return;
            }
            (StorageClass::Dummy, _) => "is a dummy argument and cannot be in COMMON",
            (StorageClass::Result, _) => "is the function's result and cannot be in COMMON",
            (StorageClass::Pointee(_), _) => "lies where a pointer points and cannot be in COMMON",
            _ => "is in a COMMON block twice",
        };
        let message = format!("{} {what}", symbol.name);
        self.conflict(span, message, sym);
    }

    /// Parses `EQUIVALENCE (A, B(1)), (C, D)`.
    pub fn equivalence(&mut self) -> ParseResult<()> {
        let mut groups = Vec::new();
        loop {
            self.expect(b'(')?;
            let mut group = Vec::new();
            loop {
                group.push(self.designator()?);
                if !self.eat(b',') {
                    break;
                }
            }
            self.expect(b')')?;
            groups.push(group);
            if !self.eat(b',') {
                break;
            }
        }
        self.end()?;
        self.spec(SpecKind::Equivalence(groups));
        Ok(())
    }

    /// Parses `SAVE` or `SAVE A, /BLOCK/`.
    pub fn save(&mut self) -> ParseResult<()> {
        self.colons();
        let mut items = Vec::new();
        if !self.done() {
            loop {
                if self.eat(b'/') {
                    let (name, _) = self.expect_name("the name of a COMMON block")?;
                    self.expect(b'/')?;
                    items.push(SaveItem::Common(name.into()));
                } else {
                    let (sym, _) = self.expect_sym("a variable or `/`")?;
                    self.open_unit.unit.symbols[sym].saved = true;
                    items.push(SaveItem::Var(sym));
                }
                if !self.eat(b',') {
                    break;
                }
            }
        }
        self.end()?;
        self.spec(SpecKind::Save(items));
        Ok(())
    }

    /// Parses `NAMELIST /GROUP/ names`.
    pub fn namelist(&mut self) -> ParseResult<()> {
        loop {
            self.expect(b'/')?;
            let (group, span) = self.expect_sym("the name of the group")?;
            self.expect(b'/')?;
            let mut members = Vec::new();
            loop {
                let (sym, _) = self.expect_sym("a variable")?;
                members.push(sym);
                if !self.eat(b',') || self.peek() == b'/' {
                    break;
                }
            }
            if self.open_unit.unit.symbols[group].class == Class::Unknown {
                self.open_unit.unit.symbols[group].class = Class::Namelist(members);
                self.spec(SpecKind::Namelist(group));
            } else {
                let name = self.open_unit.unit.symbols[group].name.clone();
                self.conflict(span, format!("{name} is declared twice"), group);
            }
            if self.done() {
                return Ok(());
            }
        }
    }

    /// Parses `INTENT(IN) names`.
    pub fn intent_statement(&mut self) -> ParseResult<()> {
        let intent = self.intent()?;
        self.colons();
        let mut list = Vec::new();
        loop {
            let (sym, _) = self.expect_sym("a dummy argument")?;
            list.push(sym);
            if !self.eat(b',') {
                break;
            }
        }
        self.end()?;
        self.spec(SpecKind::Intent(intent, list));
        Ok(())
    }

    pub(super) fn intent(&mut self) -> ParseResult<Intent> {
        self.expect(b'(')?;
        let intent = if self.keyword("IN OUT") {
            Intent::InOut
        } else if self.keyword("IN") {
            Intent::In
        } else if self.keyword("OUT") {
            Intent::Out
        } else {
            return Err(self.expected("IN, OUT or INOUT"));
        };
        self.expect(b')')?;
        Ok(intent)
    }

    /// Whether the statement is `NAME(names) = …` and NAME is not an array declared here or in a
    /// host. Among the specifications it is then a statement function.
    pub fn is_statement_function(&self) -> bool {
        let end = self.name_end(self.pos);
        if self.st.label.is_some() || self.at(end) != b'(' {
            return false;
        }
        let mut at = end + 1;
        if self.at(at) != b')' {
            loop {
                let e = self.name_end(at);
                if e == at {
                    return false;
                }
                at = e;
                match self.at(at) {
                    b',' => at += 1,
                    b')' => break,
                    _ => return false,
                }
            }
        }
        if self.at(at + 1) != b'=' {
            return false;
        }
        let name = self.text(self.pos, end);
        let own = self.open_unit.unit.symbols.find(name);
        if let Some(s) = own {
            let s = &self.open_unit.unit.symbols[s];
            return !s.is_array() && s.storage_class == StorageClass::Local;
        }
        let around = self.hosts.iter().rev().find_map(|h| {
            let s = h.unit.symbols.find(name)?;
            Some(&h.unit.symbols[s])
        });
        around.is_none_or(|s| !s.is_array())
    }

    /// Parses `NAME(names) = value`.
    pub fn statement_function(&mut self) -> ParseResult<()> {
        let (sym, span) = self.expect_sym("a name")?;
        self.expect(b'(')?;
        let mut args: Vec<SymId> = Vec::new();
        let mut seen = HashSet::new();
        while let Some((name, place)) = self.name() {
            let arg = self.intern(name, place);
            if !seen.insert(arg) {
                self.conflict(place, format!("the argument {name} is listed twice"), arg);
            }
            args.push(arg);
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b')')?;
        self.expect(b'=')?;
        let value = self.expr()?;
        self.end()?;
        let symbol = &mut self.open_unit.unit.symbols[sym];
        if symbol.class != Class::Unknown {
            let message = format!("{} is defined twice", symbol.name);
            self.conflict(span, message, sym);
            return Ok(());
        }
        symbol.class = Class::StatementFunction(args, Box::new(value));
        self.spec(SpecKind::StatementFunction(sym));
        Ok(())
    }
}
