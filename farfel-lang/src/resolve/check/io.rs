//! Checks input and output statements.

use super::Checker;
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{Class, Expr, ExprKind, Io, IoKind, SymId, Unit};
use crate::source::Span;
use crate::syntax::error_in_format;

impl Checker<'_, '_> {
    pub(super) fn io(&mut self, unit: &Unit, io: &Io, span: Span) {
        self.has_unit(io, span);
        if io.kind == IoKind::Read {
            self.read_items(unit, &io.items);
        }
        for c in &io.control {
            if let ExprKind::Keyword(name, e) = &c.kind
                && gets_a_value(io.kind, name)
            {
                self.destination(unit, e, &format!("{name}="));
            }
        }
        self.format(unit, io);
    }

    /// Checks that a statement with a control list specifies its unit or file.
    fn has_unit(&mut self, io: &Io, span: Span) {
        let first = io.control.first();
        let positional = first.is_some_and(|c| !matches!(c.kind, ExprKind::Keyword(..)));
        let (others, help): (&[&str], _) = match io.kind {
            _ if !io.parens || positional => return,
            IoKind::Open => (&["NEWUNIT"], "write its number first, or UNIT= or NEWUNIT="),
            IoKind::Inquire => (&["FILE", "IOLENGTH"], "write UNIT= or FILE="),
            _ => (&[], "write its number first, or UNIT="),
        };
        let given = |c: &Expr| matches!(&c.kind, ExprKind::Keyword(name, _) if name == "UNIT" || others.contains(&name.as_str()));
        if !io.control.iter().any(given) {
            let message = "this statement does not say which unit it is about";
            self.error(Diagnostic::error(&rules::SYNTAX, span, message).help(help));
        }
    }

    fn read_items(&mut self, unit: &Unit, items: &[Expr]) {
        for item in items {
            match &item.kind {
                ExprKind::ImpliedDo(d) => self.read_items(unit, &d.items),
                _ => self.destination(unit, item, "READ"),
            }
        }
    }

    /// Checks something to which `who` assigns a value.
    fn destination(&mut self, unit: &Unit, e: &Expr, who: &str) {
        if e.base().is_some() || matches!(e.kind, ExprKind::Call(..)) {
            return self.target(unit, e);
        }
        let what = match e.kind {
            ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Paren(_) => "an expression",
            _ => "a constant",
        };
        self.error(Diagnostic::error(
            &rules::NOT_ASSIGNABLE,
            e.span,
            format!("{who} needs a variable to give a value to, and this is {what}"),
        ));
    }

    /// Checks a format that is a constant.
    fn format(&mut self, unit: &Unit, io: &Io) {
        let place = match io.kind {
            IoKind::Read | IoKind::Write | IoKind::Print => usize::from(io.parens),
            _ => return,
        };
        let named = io.control.iter().find_map(|c| match &c.kind {
            ExprKind::Keyword(name, e) if name == "FMT" => Some(&**e),
            _ => None,
        });
        let second = io.control.get(place);
        let second = second.filter(|c| !matches!(c.kind, ExprKind::Keyword(..)));
        let Some(format) = named.or(second) else {
            return;
        };
        let constant = |s: SymId| match &unit.symbols[s].class {
            Class::Parameter(value) => Some(&**value),
            _ => None,
        };
        let value = match &format.kind {
            ExprKind::Var(s) => constant(*s),
            _ => Some(format),
        };
        if let Some(ExprKind::Char(text)) = value.map(|v| &v.kind)
            && let Some(error) = error_in_format(text, format.span)
        {
            self.error(error);
        }
    }
}

/// Whether the statement assigns a control.
fn gets_a_value(kind: IoKind, name: &str) -> bool {
    match name {
        "IOSTAT" | "IOMSG" | "NEWUNIT" => true,
        "SIZE" | "ID" => kind != IoKind::Write,
        "UNIT" | "FILE" | "ERR" | "ASYNCHRONOUS" => false,
        _ => kind == IoKind::Inquire,
    }
}
