//! Parses the beginning and end of program units.

use super::Parser;
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{Stmt, StmtKind, StorageClass, SymId, UnitKind, unused_name};
use crate::source::Span;
use crate::syntax::classify::StatementKind;
use crate::syntax::form::Statement;
use crate::syntax::open_unit::{OpenBlockKind, OpenUnit, unit_word};
use crate::syntax::statement_parser::{ParseResult, StatementParser};
use std::collections::HashSet;

/// The maximum nesting of units, which passes traverse recursively.
const MAX_UNITS: usize = 50;

impl Parser<'_> {
    pub(super) fn header(&mut self, st: &Statement, free: bool, pos: usize, kind: StatementKind) {
        if self.open_unit.open {
            self.check_place(st, kind);
        }
        if self.outer.len() >= MAX_UNITS {
            return self.give_up(st.whole(), "subprograms", MAX_UNITS);
        }
        let (documentation, before) = self.take_documentation();
        let mut open_unit = OpenUnit::new(UnitKind::Subroutine, "", st.whole());
        open_unit.column = st.column;
        open_unit.unit.sizes = self.sizes;
        open_unit.unit.comments = documentation;
        open_unit.unit.remarks.before = before;
        let mut line = StatementParser {
            st,
            pos,
            free,
            open_unit: &mut open_unit,
            hosts: &[],
            diagnostics: &mut self.diagnostics,
            depth: 0,
        };
        let read = match kind {
            StatementKind::Program => line.program_header(),
            StatementKind::BlockData => line.block_data_header(),
            _ => line.subprogram_header(),
        };
        self.check(read);
        open_unit.unit.contained = self.open_unit.contains;
        let around = std::mem::replace(&mut self.open_unit, open_unit);
        if around.open {
            self.outer.push(around);
        }
        if let Some((label, span)) = st.label {
            self.define(label, span);
        }
    }

    /// Handles a header within a unit, which is valid for subprograms before the executable
    /// statements. Otherwise reports it and closes the units that must have been meant to end
    /// before it.
    fn check_place(&mut self, st: &Statement, kind: StatementKind) {
        let whole = st.whole();
        let unit = &self.open_unit.unit;
        let here = format!("{} {}", unit_word(unit.kind), unit.name);
        let head = unit.span;
        if kind != StatementKind::Subprogram {
            self.report(
                Diagnostic::error(
                    &rules::UNCLOSED_BLOCK,
                    whole,
                    format!("{here} has not ended yet"),
                )
                .related(head, "it begins here")
                .help("END is missing before this line"),
            );
            return self.close_units(whole, 0);
        }
        if !self.open_unit.executable || self.open_unit.contains {
            return;
        }
        // A header indented more than the one around it was meant to be inside.
        let inside = st.column > self.open_unit.column && !self.open_unit.implicit;
        if inside {
            self.report(
                Diagnostic::error(
                    &rules::MISPLACED_STATEMENT,
                    whole,
                    format!("the executable statements of {here} have begun already"),
                )
                .related(head, "the unit begins here")
                .help(
                    "nested subprograms go between the specification statements and \
                     the executable ones; or END is missing before this line",
                ),
            );
            return;
        }
        self.report(
            Diagnostic::error(
                &rules::UNCLOSED_BLOCK,
                whole,
                format!("{here} has not ended yet"),
            )
            .related(head, "it begins here")
            .help(
                "END is missing before this line; or, if this is to be a nested subprogram, \
                 move it before the executable statements",
            ),
        );
        self.close_units(whole, st.column);
    }

    /// Ends the unit, and those around it that begin in `column` or later, without further reports.
    fn close_units(&mut self, span: Span, column: u32) {
        let before = self.diagnostics.len();
        loop {
            self.close_unit(span);
            if !self.open_unit.open || self.open_unit.column < column {
                break;
            }
        }
        self.diagnostics.truncate(before);
    }

    pub(super) fn end(&mut self, st: &Statement, free: bool, pos: usize) {
        let mut line = self.line(st, free, pos);
        let mut kind = None;
        for (word, k) in [
            ("FUNCTION", UnitKind::Function),
            ("SUBROUTINE", UnitKind::Subroutine),
            ("PROGRAM", UnitKind::Program),
            ("BLOCK DATA", UnitKind::BlockData),
        ] {
            if line.keyword(word) {
                kind = Some(k);
                break;
            }
        }
        let name = line.name().map(|(n, _)| n.to_owned());
        let read = line.end();
        let unit = &self.open_unit.unit;
        let wrong = kind.is_some_and(|k| k != unit.kind)
            || name.is_some_and(|n| n != unit.name && !self.open_unit.implicit);
        if wrong {
            let report = Diagnostic::error(
                &rules::UNCLOSED_BLOCK,
                st.whole(),
                format!(
                    "this is not the END of {} {}",
                    unit_word(unit.kind),
                    unit.name
                ),
            )
            .related(unit.span, "which begins here");
            self.report(report);
        }
        self.check(read);
        if let Some((label, span)) = st.label {
            // A jump to END returns.
            self.comments_to_body();
            self.open_unit
                .push(Stmt::labelled(Some(label), StmtKind::Continue, span));
        }
        self.close_unit(st.whole());
    }

    /// Ends the unit. Reports blocks that are still open in it, and missing labels.
    fn close_unit(&mut self, span: Span) {
        self.keep_comments();
        while let Some(block) = self.open_unit.blocks.last() {
            let report = block.unclosed("the end of the program unit", span);
            // A loop whose label is missing is reported once.
            if let OpenBlockKind::Do { label: Some(l), .. } = block.kind {
                self.open_unit.references.retain(|(r, ..)| *r != l);
            }
            self.report(report);
            self.open_unit.close(None, Vec::new(), span);
        }
        let around = self.outer.pop().unwrap_or_else(OpenUnit::none);
        let mut open_unit = std::mem::replace(&mut self.open_unit, around);
        self.name_entry_results(&mut open_unit);
        for (label, span, purpose) in &open_unit.references {
            if let Some(word) = open_unit.dead_labels.get(label) {
                self.report(
                    Diagnostic::error(
                        &rules::BAD_LABEL,
                        *span,
                        format!("the label {label} is that of {word}, where nothing can jump to"),
                    )
                    .help("put the label on the statement after it"),
                );
            } else if !open_unit.labels.contains_key(label) {
                self.report(Diagnostic::error(
                    &rules::BAD_LABEL,
                    *span,
                    format!("there is no statement with label {label} in this program unit"),
                ));
            } else if let Some(error) = open_unit.misused(*label, *span, *purpose) {
                self.report(error);
            }
        }
        for (label, span) in &open_unit.suspects {
            if let Some(at) = open_unit.labels.get(label) {
                self.report(
                    Diagnostic::warning(
                        &rules::SUSPICIOUS_LAYOUT,
                        *span,
                        "without a comma this is an assignment, not a DO statement",
                    )
                    .related(*at, "the loop would end here")
                    .help("separate the first and the last value of the loop by a comma"),
                );
            }
        }
        let mut unit = open_unit.unit;
        unit.end_span = span;
        if self.open_unit.open {
            self.open_unit.unit.nested.push(unit);
        } else {
            if open_unit.implicit && self.implicit.is_none() {
                self.implicit = Some(self.units.len());
            }
            self.units.push(unit);
        }
    }

    /// Ends the text. Reports everything that is still open.
    pub(super) fn finish(&mut self, last: Span) {
        let end = Span::new(last.file, last.end, last.end);
        while self.open_unit.open {
            let unit = &self.open_unit.unit;
            let what = if self.open_unit.implicit {
                "the main program has no END".to_owned()
            } else {
                format!("{} {} has no END", unit_word(unit.kind), unit.name)
            };
            let report = Diagnostic::error(&rules::UNCLOSED_BLOCK, unit.span, what)
                .label("begins here")
                .related(end, "the text ends here");
            self.report(report);
            self.close_unit(end);
        }
        let after = self.take_blocks();
        if let Some(unit) = self.units.last_mut() {
            unit.remarks.after = after;
        }
        // A second main program is an error, which its name then shows.
        if let Some(main) = self.implicit {
            let taken: HashSet<&str> = self
                .units
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != main)
                .map(|(_, u)| u.name.as_str())
                .collect();
            let name = unused_name("MAIN", &|n| taken.contains(n));
            self.units[main].name = name;
        }
    }
}

impl StatementParser<'_> {
    fn program_header(&mut self) -> ParseResult<()> {
        self.open_unit.unit.kind = UnitKind::Program;
        self.open_unit.unit.name = "MAIN".into();
        let (name, span) = self.expect_name("the name of the program")?;
        self.open_unit.unit.name = name.into();
        self.open_unit.unit.name_span = span;
        self.end()
    }

    fn block_data_header(&mut self) -> ParseResult<()> {
        self.open_unit.unit.kind = UnitKind::BlockData;
        if let Some((name, span)) = self.name() {
            self.open_unit.unit.name = name.into();
            self.open_unit.unit.name_span = span;
        }
        self.end()
    }

    fn subprogram_header(&mut self) -> ParseResult<()> {
        let mut recursive = self.prefixes();
        let mut ty = None;
        if self.keyword_end(self.pos, "FUNCTION").is_none()
            && self.keyword_end(self.pos, "SUBROUTINE").is_none()
        {
            ty = Some(self.type_spec()?);
        }
        recursive |= self.prefixes();
        self.open_unit.unit.recursive = recursive;
        let function = self.keyword("FUNCTION");
        if function {
            self.open_unit.unit.kind = UnitKind::Function;
        } else if !self.keyword("SUBROUTINE") {
            return Err(self.expected("FUNCTION or SUBROUTINE"));
        }
        let (name, span) = self.expect_name(if function {
            "the name of the function"
        } else {
            "the name of the subroutine"
        })?;
        self.open_unit.unit.name = name.into();
        self.open_unit.unit.name_span = span;
        if function
            && let Some(spec) = &mut ty
            && self.peek() == b'*'
        {
            // `REAL FUNCTION F*8(X)`
            let (own, length) = self.own_size(spec.ty)?;
            spec.ty = own;
            spec.length = length;
        }
        let mut result = None;
        if function && !self.has_result_clause() {
            result = Some(self.intern(name, span));
        }
        let read = self.dummies();
        if function
            && result.is_none()
            && read.is_ok()
            && self
                .keyword_end(self.pos, "RESULT")
                .is_some_and(|e| self.at(e) == b'(')
        {
            result = Some(self.result_clause()?.0);
        }
        if let Some(sym) = result {
            let symbol = &mut self.open_unit.unit.symbols[sym];
            symbol.storage_class = StorageClass::Result;
            if let Some(spec) = ty {
                symbol.ty = Some(spec.ty);
                symbol.typed = true;
                symbol.length = spec.length;
                self.open_unit.unit.typed_header = true;
            }
            self.open_unit.unit.result = Some(sym);
        }
        self.open_unit.unit.args = read?;
        self.end()
    }

    /// Reads the prefixes before and after the type of a function, and returns whether RECURSIVE is
    /// among them. PURE only states what compilers can determine themselves, so it is not kept:
    /// what is made of the subprogram need not be pure.
    fn prefixes(&mut self) -> bool {
        let mut recursive = false;
        loop {
            let from = self.pos;
            if self.keyword("RECURSIVE") {
                recursive = true;
            } else if self.keyword("ELEMENTAL") {
                let error = Diagnostic::error(
                    &rules::UNSUPPORTED,
                    self.since(from),
                    "Farfel does not support ELEMENTAL subprograms",
                )
                .label("calls with whole arrays would be loops over their elements")
                .help("leave the word out, and call it in a DO loop");
                self.diagnostics.push(error);
            } else if !self.keyword("PURE") && !self.keyword("IMPURE") {
                return recursive;
            }
        }
    }

    /// Parses `RESULT(NAME)`.
    pub(in crate::syntax) fn result_clause(&mut self) -> ParseResult<(SymId, Span)> {
        self.keyword("RESULT");
        self.expect(b'(')?;
        let result = self.expect_sym("the name of the result")?;
        self.expect(b')')?;
        Ok(result)
    }

    /// Whether RESULT follows the dummy arguments: the function's name is then not a variable.
    pub(in crate::syntax) fn has_result_clause(&self) -> bool {
        if self.peek() != b'(' {
            return false;
        }
        self.closing(self.pos)
            .and_then(|close| self.keyword_end(close + 1, "RESULT"))
            .is_some_and(|end| self.at(end) == b'(')
    }
}
