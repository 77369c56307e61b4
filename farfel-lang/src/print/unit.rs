//! Prints program units: headers, the order of the parts, nested subprograms.

use super::line::Line;
use super::scope::Scope;
use super::writer::Writer;
use crate::ir::{Arg, Remarks, SymId, Type, Unit, UnitKind};

impl Writer<'_> {
    /// Prints a unit with everything in it.
    pub(super) fn unit(&mut self, unit: &Unit) {
        let Unit {
            origin: _,
            kind: _,
            name: _,
            span,
            name_span: _,
            end_span,
            comments,
            remarks: Remarks { before, after },
            args: _,
            result: _,
            typed_header: _,
            recursive: _,
            contained: _,
            symbols: _,
            implicit: _,
            specs: _,
            body,
            nested,
            directives: _,
            one_direction: _,
            stmt_ids: _,
            constant: _,
            joint: _,
            leaves_derivatives: _,
            sizes: _,
        } = unit;
        let scope = Scope::new(unit);
        for block in before {
            self.comments(block);
            self.gap();
        }
        self.comments(comments);
        self.statement(None, *span, |l| l.header(&scope));
        self.specs(&scope);
        let (behind, before): (Vec<&Unit>, Vec<&Unit>) = nested.iter().partition(|n| n.contained);
        let inner = |units: Vec<&Unit>, w: &mut Self| {
            for unit in units {
                w.open();
                w.unit(unit);
                w.close();
            }
        };
        inner(before, self);
        self.block(&scope, body);
        if !behind.is_empty() {
            self.fixed_statement(None, *end_span, "CONTAINS");
            inner(behind, self);
        }
        self.fixed_statement(None, *end_span, "END");
        for block in after {
            self.gap();
            self.comments(block);
        }
    }

    fn comments(&mut self, comments: &[String]) {
        for c in comments {
            self.comment(c);
        }
    }
}

impl Line {
    /// Prints the first statement of a unit.
    fn header(&mut self, scope: &Scope) {
        let unit = scope.unit;
        if unit.recursive {
            self.push("RECURSIVE ");
        }
        match unit.kind {
            UnitKind::Program => self.push("PROGRAM "),
            UnitKind::Subroutine => self.push("SUBROUTINE "),
            UnitKind::Function => {
                if let (true, Some(result)) = (unit.typed_header, unit.result) {
                    self.result_type(scope, result);
                }
                self.push("FUNCTION ");
            }
            UnitKind::BlockData => {
                self.push("BLOCK DATA");
                if !unit.name.is_empty() {
                    self.push(" ");
                }
            }
        }
        self.push(&unit.name);
        match unit.kind {
            UnitKind::Subroutine if unit.args.is_empty() => {}
            UnitKind::Subroutine | UnitKind::Function => self.dummies(scope, &unit.args),
            UnitKind::Program | UnitKind::BlockData => {}
        }
        if let (UnitKind::Function, Some(result)) = (unit.kind, scope.result_clause()) {
            self.push(" ");
            self.gap();
            self.put(format_args!("RESULT({result})"));
        }
    }

    fn result_type(&mut self, scope: &Scope, result: SymId) {
        let symbol = &scope.unit.symbols[result];
        if let Some(ty) = symbol.ty {
            self.put(ty);
            if ty == Type::Character {
                self.length(scope, symbol.length.as_ref());
            }
            self.push(" ");
        }
    }

    /// Prints `(X, *)`, the dummy arguments of a header or ENTRY.
    pub(super) fn dummies(&mut self, scope: &Scope, args: &[Arg]) {
        // The components of a tape come with it.
        let component = |s: SymId| scope.unit.symbols[s].is_component();
        let written = args.iter().filter(|a| !a.sym().is_some_and(component));
        self.open();
        self.list(written, |l, a| match a {
            Arg::Dummy(s) => l.push(scope.callee(*s)),
            Arg::AltReturn(_) => l.push("*"),
        });
        self.close();
    }
}
