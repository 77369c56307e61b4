//! Specification statements: they fill the symbols, and leave a [`Spec`] that says where
//! the facts are written.

use super::line::{Line, Read};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    Class, DataSet, Dim, Entity, Expr, ExprKind, Intent, Name, Place, SaveItem, Spec, SpecKind,
    SymId, Type,
};
use crate::source::Span;
use std::collections::HashSet;

/// A type as a declaration writes it, with the length of a CHARACTER.
#[derive(Debug, Clone)]
pub(super) struct TypeSpec {
    pub ty: Type,
    pub length: Option<Expr>,
}

impl Line<'_> {
    pub(super) fn spec(&mut self, kind: SpecKind) {
        let span = self.st.whole();
        self.frame.unit.specs.push(Spec { kind, span });
    }

    fn conflict(&mut self, span: Span, message: String, sym: SymId) {
        let first = self.frame.unit.symbols[sym].span;
        self.diagnostics.push(
            Diagnostic::error(&rules::CONFLICTING_DECLARATION, span, message)
                .related(first, "first mentioned here"),
        );
    }

    /// Reads a type: `REAL*8`, `DOUBLE PRECISION`, `CHARACTER*(*)`, …
    pub fn type_spec(&mut self) -> Read<TypeSpec> {
        let from = self.pos;
        let plain = |ty| TypeSpec { ty, length: None };
        if self.keyword("DOUBLE PRECISION") {
            return Ok(plain(Type::DOUBLE));
        }
        if self.keyword("DOUBLE COMPLEX") {
            return Ok(plain(Type::Complex(8)));
        }
        if self.keyword("BYTE") {
            return Ok(plain(Type::Integer(1)));
        }
        if self.keyword("CHARACTER") {
            return Ok(TypeSpec {
                ty: Type::Character,
                length: self.length_after_character()?,
            });
        }
        let word = ["INTEGER", "REAL", "COMPLEX", "LOGICAL"]
            .into_iter()
            .find(|w| self.keyword(w));
        let Some(word) = word else {
            return Err(self.expected("a type"));
        };
        let size = if self.peek() == b'*' {
            self.pos += 1;
            self.number_needed("the size in bytes")?
        } else if self.peek() == b'(' && self.is_kind() {
            self.pos += 1;
            if !self.keyword("KIND=") {
                self.keyword("KIND =");
            }
            let size = self.number_needed("the kind")?;
            self.expect(b')')?;
            if word == "COMPLEX" { size * 2 } else { size }
        } else {
            if word == "COMPLEX" { 8 } else { 4 }
        };
        sized(word, size).map(plain).ok_or_else(|| {
            Box::new(Diagnostic::error(
                &rules::UNSUPPORTED,
                self.since(from),
                format!("there is no {word} of {size} bytes"),
            ))
        })
    }

    /// `(8)` or `(KIND=8)` after a type.
    fn is_kind(&self) -> bool {
        let at = self.pos + 1;
        self.at(at).is_ascii_digit() || self.text(at, at + 5) == "KIND="
    }

    fn number_needed(&mut self, what: &str) -> Read<i64> {
        match self.number() {
            Some((n, _)) => Ok(n),
            None => Err(self.expected(what)),
        }
    }

    /// `*8`, `*(*)`, `*(N+1)`, `(8)` or `(LEN=8)`, with an optional comma after the first.
    fn length_after_character(&mut self) -> Read<Option<Expr>> {
        if self.peek() == b'*' {
            let length = self.star_length()?;
            self.eat(b',');
            return Ok(Some(length));
        }
        if self.peek() == b'(' {
            self.pos += 1;
            if self.text(self.pos, self.pos + 4) == "LEN=" {
                self.pos += 4;
            }
            let length = self.bound()?;
            self.expect(b')')?;
            return Ok(Some(length));
        }
        Ok(None)
    }

    /// `*8`, `*(*)` or `*(N+1)`.
    fn star_length(&mut self) -> Read<Expr> {
        self.expect(b'*')?;
        if self.eat(b'(') {
            let e = self.bound()?;
            self.expect(b')')?;
            return Ok(e);
        }
        match self.number() {
            Some((n, span)) => Ok(Expr::int(n, span)),
            None => Err(self.expected("a length")),
        }
    }

    /// An expression or `*`.
    fn bound(&mut self) -> Read<Expr> {
        let from = self.pos;
        if self.peek() == b'*' && matches!(self.at(from + 1), b')' | b',') {
            self.pos += 1;
            return Ok(Expr::new(ExprKind::Star, self.since(from)));
        }
        self.expr()
    }

    /// Reads `(bounds)`.
    fn dims(&mut self) -> Read<Vec<Dim>> {
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

    fn set_dims(&mut self, sym: SymId, span: Span, dims: Vec<Dim>) {
        if self.frame.unit.symbols[sym].is_array() {
            let name = self.frame.unit.symbols[sym].name.clone();
            self.conflict(
                span,
                format!("the bounds of {name} are declared twice"),
                sym,
            );
            return;
        }
        self.frame.unit.symbols[sym].dims = dims;
    }

    fn set_type(&mut self, sym: SymId, span: Span, ty: Type, length: Option<Expr>) {
        let symbol = &mut self.frame.unit.symbols[sym];
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

    /// `type names`
    pub fn type_statement(&mut self) -> Read<()> {
        let spec = self.type_spec()?;
        let mut common_dims: Option<Vec<Dim>> = None;
        let mut intent = None;
        let mut external = false;
        let mut parameter = false;
        let mut intrinsic = false;
        let mut saved = false;
        let attributed = self.peek() == b',';
        while attributed && self.eat(b',') {
            if self.keyword("DIMENSION") {
                common_dims = Some(self.dims()?);
            } else if self.keyword("INTENT") {
                intent = Some(self.intent()?);
            } else if self.keyword("EXTERNAL") {
                external = true;
            } else if self.keyword("INTRINSIC") {
                intrinsic = true;
            } else if self.keyword("PARAMETER") {
                parameter = true;
            } else if self.keyword("SAVE") {
                saved = true;
            } else {
                return Err(self.expected("DIMENSION, INTENT, EXTERNAL, PARAMETER or SAVE"));
            }
        }
        let colons = self.peek() == b':' && self.at(self.pos + 1) == b':';
        if colons {
            self.pos += 2;
        } else if attributed {
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
            } else if let Some(bounds) = &common_dims {
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
                self.frame.unit.symbols[sym].saved = true;
                data.push(DataSet {
                    targets: vec![Expr::var(sym, span)],
                    values,
                });
            } else if colons && self.peek() == b'=' && parameter {
                self.pos += 1;
                let value = self.expr()?;
                self.set_parameter(sym, span, value);
            } else if colons && self.peek() == b'=' {
                let mut fault = self.expected("`,` or the end of the statement");
                fault.help = Some("initial values are given by a DATA statement".to_owned());
                return Err(fault);
            }
            if !self.eat(b',') {
                break;
            }
        }
        self.end()?;
        for (ty, list) in groups {
            self.spec(SpecKind::Type(ty, list));
        }
        if !data.is_empty() {
            self.spec(SpecKind::Data(data));
        }
        if let Some(intent) = intent {
            self.spec(SpecKind::Intent(intent, all.clone()));
        }
        if external {
            for sym in &all {
                self.frame.unit.symbols[*sym].external = true;
            }
            self.spec(SpecKind::External(all.clone()));
        }
        if intrinsic {
            self.spec(SpecKind::Intrinsic(all.clone()));
        }
        if parameter {
            self.spec(SpecKind::Parameter(all.clone()));
        }
        if saved {
            for sym in &all {
                self.frame.unit.symbols[*sym].saved = true;
            }
            self.spec(SpecKind::Save(all.into_iter().map(SaveItem::Var).collect()));
        }
        Ok(())
    }

    /// `*8` after a name.
    pub fn own_size(&mut self, ty: Type) -> Read<(Type, Option<Expr>)> {
        let from = self.pos;
        if ty == Type::Character {
            return Ok((ty, Some(self.star_length()?)));
        }
        self.expect(b'*')?;
        let size = self.number_needed("the size in bytes")?;
        let word = match ty {
            Type::Integer(_) => "INTEGER",
            Type::Real(_) => "REAL",
            Type::Complex(_) => "COMPLEX",
            Type::Logical(_) => "LOGICAL",
            Type::Character => "CHARACTER",
        };
        match sized(word, size) {
            Some(ty) => Ok((ty, None)),
            None => Err(Box::new(Diagnostic::error(
                &rules::UNSUPPORTED,
                self.since(from),
                format!("there is no {word} of {size} bytes"),
            ))),
        }
    }

    /// `DIMENSION A(10), B(N)`
    pub fn dimension(&mut self) -> Read<()> {
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

    fn colons(&mut self) {
        if self.peek() == b':' && self.at(self.pos + 1) == b':' {
            self.pos += 2;
        }
    }

    /// `PARAMETER (A = 1, B = 2*A)`
    pub fn parameter(&mut self) -> Read<()> {
        self.expect(b'(')?;
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
        self.expect(b')')?;
        self.end()?;
        self.spec(SpecKind::Parameter(list));
        Ok(())
    }

    fn set_parameter(&mut self, sym: SymId, span: Span, value: Expr) {
        let symbol = &mut self.frame.unit.symbols[sym];
        let name = symbol.name.clone();
        if symbol.class != Class::Unknown || symbol.place != Place::Local {
            let what = match (&symbol.class, &symbol.place) {
                (Class::Parameter(_), _) => "is given a value twice",
                (_, Place::Dummy) => "is a dummy argument and cannot be a constant",
                (_, Place::Result) => "is the function's result and cannot be a constant",
                (_, Place::Common(_)) => "is in a COMMON block and cannot be a constant",
                _ => "is something else already and cannot be a constant",
            };
            self.conflict(span, format!("{name} {what}"), sym);
            return;
        }
        symbol.class = Class::Parameter(Box::new(value));
    }

    /// `IMPLICIT NONE` or `IMPLICIT REAL*8 (A-H, O-Z)`
    pub fn implicit(&mut self) -> Read<()> {
        let first = self.frame.unit.implicit.is_empty();
        if self.keyword("NONE") {
            self.end()?;
            self.frame.unit.implicit.none = true;
        } else {
            loop {
                self.implicit_rule()?;
                if !self.eat(b',') {
                    break;
                }
            }
            self.end()?;
        }
        // One stands for all.
        if !first {
            return Ok(());
        }
        self.spec(SpecKind::Implicit);
        Ok(())
    }

    fn implicit_rule(&mut self) -> Read<()> {
        // `CHARACTER (A-B)`: the parentheses hold letters, not a length.
        let (ty, length) = if self.keyword("CHARACTER") {
            let length = match self.peek() {
                b'*' => Some(self.star_length()?),
                _ => None,
            };
            (Type::Character, length)
        } else {
            let spec = self.type_spec()?;
            (spec.ty, None)
        };
        let length = match length {
            None => None,
            Some(Expr {
                kind: ExprKind::Int(n),
                ..
            }) => Some(n),
            Some(e) => {
                return Err(Box::new(Diagnostic::error(
                    &rules::UNSUPPORTED,
                    e.span,
                    "the length in IMPLICIT must be a number",
                )));
            }
        };
        self.expect(b'(')?;
        loop {
            let first = self.letter()?;
            let last = if self.eat(b'-') {
                self.letter()?
            } else {
                first
            };
            if last < first {
                let mut fault = self.expected("a later letter");
                fault.span = self.since(self.pos - 3);
                fault.message = "the letters are in the wrong order".to_owned();
                return Err(fault);
            }
            for letter in first..=last {
                self.frame.unit.implicit.letters[usize::from(letter - b'A')] = Some((ty, length));
            }
            if self.list_ends()? {
                return Ok(());
            }
        }
    }

    fn letter(&mut self) -> Read<u8> {
        match self.peek() {
            c @ b'A'..=b'Z' if !super::line::is_name_letter(self.at(self.pos + 1)) => {
                self.pos += 1;
                Ok(c)
            }
            _ => Err(self.expected("a letter")),
        }
    }

    /// `EXTERNAL names` and `INTRINSIC names`
    pub fn procedures(&mut self, external: bool) -> Read<()> {
        self.colons();
        let mut list = Vec::new();
        loop {
            let (sym, _) = self.expect_sym("the name of a procedure")?;
            if external {
                self.frame.unit.symbols[sym].external = true;
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

    /// `COMMON /BLOCK/ names, /OTHER/ names`
    pub fn common(&mut self) -> Read<()> {
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
        let symbol = &mut self.frame.unit.symbols[sym];
        let what = match (&symbol.place, &symbol.class) {
            (Place::Local, Class::Parameter(_)) => "is a constant and cannot be in COMMON",
            (Place::Local, _) => {
                symbol.place = Place::Common(block.clone());
                return;
            }
            (Place::Dummy, _) => "is a dummy argument and cannot be in COMMON",
            (Place::Result, _) => "is the function's result and cannot be in COMMON",
            _ => "is in a COMMON block twice",
        };
        let message = format!("{} {what}", symbol.name);
        self.conflict(span, message, sym);
    }

    /// `EQUIVALENCE (A, B(1)), (C, D)`
    pub fn equivalence(&mut self) -> Read<()> {
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

    /// `SAVE` or `SAVE A, /BLOCK/`
    pub fn save(&mut self) -> Read<()> {
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
                    self.frame.unit.symbols[sym].saved = true;
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

    /// `NAMELIST /GROUP/ names`
    pub fn namelist(&mut self) -> Read<()> {
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
            if self.frame.unit.symbols[group].class == Class::Unknown {
                self.frame.unit.symbols[group].class = Class::Namelist(members);
                self.spec(SpecKind::Namelist(group));
            } else {
                let name = self.frame.unit.symbols[group].name.clone();
                self.conflict(span, format!("{name} is declared twice"), group);
            }
            if self.done() {
                return Ok(());
            }
        }
    }

    /// `INTENT(IN) names`
    pub fn intent_statement(&mut self) -> Read<()> {
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

    fn intent(&mut self) -> Read<Intent> {
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

    /// The statement is `NAME(names) = …` and NAME is no array that is declared here or
    /// around: a statement function, if it stands among the specifications.
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
        let own = self.frame.unit.symbols.find(name);
        if let Some(s) = own {
            let s = &self.frame.unit.symbols[s];
            return !s.is_array() && s.place == Place::Local;
        }
        let around = self.hosts.iter().rev().find_map(|h| {
            let s = h.unit.symbols.find(name)?;
            Some(&h.unit.symbols[s])
        });
        around.is_none_or(|s| !s.is_array())
    }

    /// `NAME(names) = value`
    pub fn statement_function(&mut self) -> Read<()> {
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
        let symbol = &mut self.frame.unit.symbols[sym];
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

/// The type of a word and a size in bytes.
fn sized(word: &str, size: i64) -> Option<Type> {
    let n = u8::try_from(size).ok()?;
    Some(match (word, n) {
        ("INTEGER", 1 | 2 | 4 | 8) => Type::Integer(n),
        ("REAL", 4 | 8 | 10 | 16) => Type::Real(n),
        ("COMPLEX", 8 | 16 | 20 | 32) => Type::Complex(n / 2),
        ("LOGICAL", 1 | 2 | 4 | 8) => Type::Logical(n),
        _ => return None,
    })
}
