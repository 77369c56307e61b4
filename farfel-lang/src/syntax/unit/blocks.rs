//! Parses executable statements and the blocks that they form.

use super::{Parser, label_of};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{AdMode, BlockDelimiter, DoControl, Expr, Label, Name, Stmt, StmtKind};
use crate::source::Span;
use crate::syntax::classify::StatementKind;
use crate::syntax::form::Statement;
use crate::syntax::open_unit::{OpenBlock, OpenBlockKind, OpenIf, ad_word};
use crate::syntax::spelling::close_to;
use crate::syntax::statement_parser::is_name_letter;
use crate::syntax::stmt::{ParsedIf, no_condition};

/// The maximum nesting of blocks, which passes traverse recursively.
const MAX_BLOCKS: usize = 100;

impl Parser<'_> {
    pub(super) fn executable(
        &mut self,
        st: &Statement,
        free: bool,
        pos: usize,
        kind: StatementKind,
        name: Option<Name>,
    ) {
        let span = st.whole();
        self.check_inside(st, kind);
        match kind {
            StatementKind::If => {
                let read = self.line(st, free, pos).if_statement();
                let condition = match self.check(read) {
                    Some(ParsedIf::Simple(kind)) => return self.push(st, kind),
                    Some(ParsedIf::Block(condition)) => condition,
                    None if opens_block(st, pos) => no_condition(span),
                    None => return,
                };
                self.open(
                    st,
                    OpenBlockKind::If(OpenIf {
                        is_where: false,
                        name,
                        arms: Vec::new(),
                        marks: Vec::new(),
                        condition: Some(condition),
                    }),
                );
            }
            StatementKind::Where => self.where_(st, free, pos, name),
            StatementKind::Select => self.select(st, free, pos, name),
            StatementKind::Case => self.case(st, free, pos),
            StatementKind::Do => {
                let mut line = self.line(st, free, pos);
                let mut label = None;
                let mut error = None;
                if line.peek().is_ascii_digit() {
                    match line.label() {
                        Ok(l) => label = Some(l),
                        Err(f) => error = Some(f),
                    }
                }
                let read = match error {
                    None => line.do_control(),
                    Some(f) => Err(f),
                };
                let control = self.check(read).unwrap_or(DoControl::Forever);
                self.open(
                    st,
                    OpenBlockKind::Do {
                        name,
                        control,
                        label,
                    },
                );
            }
            StatementKind::Ad(mode) => {
                let read = self.line(st, free, pos).ad_opening(mode);
                let (vector_mode, opening) = self.check(read).unwrap_or_default();
                let block = OpenBlockKind::Ad {
                    mode,
                    vector_mode,
                    opening,
                };
                self.open(st, block);
            }
            StatementKind::ElseIf | StatementKind::Else | StatementKind::ElseWhere => {
                let mut line = self.line(st, free, pos);
                let read = match kind {
                    StatementKind::ElseIf => line.else_if().map(Some),
                    StatementKind::ElseWhere => line.else_where(),
                    _ => Ok(None),
                };
                // After an error, the remaining text is not a name.
                let name = read.is_ok().then(|| line.construct()).flatten();
                let read = read.and_then(|c| line.end().map(|()| c));
                let condition = match self.check(read) {
                    Some(c) => c,
                    None => Some(no_condition(span)),
                };
                self.otherwise(st, condition, kind == StatementKind::ElseWhere, name);
            }
            StatementKind::EndIf | StatementKind::EndWhere => {
                let is = kind == StatementKind::EndWhere;
                let word = if is { "WHERE" } else { "IF" };
                let this =
                    |k: &OpenBlockKind| matches!(k, OpenBlockKind::If(b) if b.is_where == is);
                if self.unwind(st, word, &this) {
                    self.end_name(st, free, pos);
                    self.open_unit.close(label_of(st), Vec::new(), span);
                }
            }
            StatementKind::EndSelect => {
                let this = |k: &OpenBlockKind| matches!(k, OpenBlockKind::Select { .. });
                if self.unwind(st, "SELECT CASE", &this) {
                    self.end_name(st, free, pos);
                    self.open_unit.close(label_of(st), Vec::new(), span);
                }
            }
            StatementKind::EndDo => {
                if self.unwind(st, "DO", &|k| matches!(k, OpenBlockKind::Do { .. })) {
                    self.end_name(st, free, pos);
                    self.end_do(st);
                }
            }
            StatementKind::EndAd(mode) => {
                let read = self.line(st, free, pos).ad_closing(mode);
                let closing = self.check(read).unwrap_or_default();
                if !self.closes_other_mode(st, mode) {
                    let this = |k: &OpenBlockKind| matches!(k, OpenBlockKind::Ad { mode: m, .. } if *m == mode);
                    if !self.unwind(st, ad_word(mode), &this) {
                        return;
                    }
                }
                if let Some(label) = label_of(st) {
                    // A jump to this label stays in the block, as the closing comes after it.
                    self.open_unit
                        .push(Stmt::labelled(Some(label), StmtKind::Continue, span));
                }
                self.open_unit.close(None, closing, span);
                self.end_loops(st, true);
            }
            kind => {
                if kind == StatementKind::Assignment
                    && let Some((label, name)) = looks_like_do(st)
                    && !self.open_unit.labels.contains_key(&label)
                    && !self.open_unit.declares(name)
                {
                    self.open_unit.suspects.push((label, span));
                }
                let read = self.line(st, free, pos).simple(kind);
                match self.check(read) {
                    Some(kind) => self.push(st, kind),
                    // A malformed terminal statement still ends its loops.
                    None if st.label.is_some() => self.push(st, StmtKind::Continue),
                    None => {}
                }
            }
        }
    }

    /// Adds a statement, and closes the loops that end with its label.
    pub(super) fn push(&mut self, st: &Statement, kind: StmtKind) {
        self.open_unit
            .push(Stmt::labelled(label_of(st), kind, st.whole()));
        self.end_loops(st, false);
    }

    /// Closes the loops that end with the label of a statement. `elsewhere` says that the label is
    /// inside a block that ends here, so that the loops have no terminal statement.
    fn end_loops(&mut self, st: &Statement, elsewhere: bool) {
        let Some(wanted) = label_of(st) else { return };
        let ends_here = |k: &OpenBlockKind| matches!(k, OpenBlockKind::Do { label: Some(l), .. } if *l == wanted);
        while let Some(at) = self
            .open_unit
            .blocks
            .iter()
            .rposition(|b| ends_here(&b.kind))
        {
            self.close_above(at, st.whole());
            if elsewhere
                && let Some(OpenBlock {
                    kind: OpenBlockKind::Do { label, .. },
                    ..
                }) = self.open_unit.blocks.last_mut()
            {
                *label = None;
            }
            self.open_unit.close(None, Vec::new(), st.whole());
        }
    }

    pub(super) fn open(&mut self, st: &Statement, kind: OpenBlockKind) {
        if self.open_unit.blocks.len() >= MAX_BLOCKS {
            self.give_up(st.whole(), "blocks", MAX_BLOCKS);
            return;
        }
        self.open_unit.blocks.push(OpenBlock {
            kind,
            body: Vec::new(),
            label: label_of(st),
            span: st.whole(),
        });
    }

    /// Reports and closes the blocks above index `at`.
    fn close_above(&mut self, at: usize, span: Span) {
        while self.open_unit.blocks.len() > at + 1 {
            if let Some(block) = self.open_unit.blocks.last() {
                let report = block.unclosed("this", span);
                self.report(report);
            }
            self.open_unit.close(None, Vec::new(), span);
        }
    }

    /// Closes the blocks within the innermost block of a kind; returns false if there is none.
    pub(super) fn unwind(
        &mut self,
        st: &Statement,
        word: &str,
        is: &dyn Fn(&OpenBlockKind) -> bool,
    ) -> bool {
        match self.open_unit.blocks.iter().rposition(|b| is(&b.kind)) {
            Some(at) => {
                self.close_above(at, st.whole());
                true
            }
            None => {
                let mut report = Diagnostic::error(
                    &rules::UNCLOSED_BLOCK,
                    st.whole(),
                    format!("there is no open {word} here"),
                );
                if let Some(open) = self.open_unit.blocks.last() {
                    report = report.related(
                        open.span,
                        format!("this ends with {}", open.kind.end_word()),
                    );
                }
                self.report(report);
                false
            }
        }
    }

    /// Handles END ADR when the innermost block is ADF, or vice versa: it was meant to close that
    /// block, unless one further out matches. Reports this.
    fn closes_other_mode(&mut self, st: &Statement, end: AdMode) -> bool {
        let fits = |b: &OpenBlock| matches!(b.kind, OpenBlockKind::Ad { mode, .. } if mode == end);
        if self.open_unit.blocks.iter().any(fits) {
            return false;
        }
        let Some(OpenBlock {
            kind: OpenBlockKind::Ad { mode, .. },
            span,
            ..
        }) = self.open_unit.blocks.last()
        else {
            return false;
        };
        let report = Diagnostic::error(
            &rules::UNCLOSED_BLOCK,
            st.whole(),
            format!("END {} cannot close {}", ad_word(end), ad_word(*mode)),
        )
        .related(*span, format!("this ends with END {}", ad_word(*mode)));
        self.report(report);
        true
    }

    fn otherwise(
        &mut self,
        st: &Statement,
        condition: Option<Expr>,
        is_where: bool,
        name: Option<(Name, Span)>,
    ) {
        let word = if is_where { "WHERE" } else { "IF" };
        let this = |k: &OpenBlockKind| matches!(k, OpenBlockKind::If(b) if b.is_where == is_where);
        if !self.unwind(st, word, &this) {
            return;
        }
        self.check_name(name, None);
        let mut after_else = None;
        if let Some(OpenBlock {
            kind:
                OpenBlockKind::If(OpenIf {
                    arms,
                    marks,
                    condition: current,
                    ..
                }),
            body,
            span,
            ..
        }) = self.open_unit.blocks.last_mut()
        {
            marks.push(BlockDelimiter {
                label: label_of(st),
                span: st.whole(),
            });
            let done = std::mem::take(body);
            match std::mem::replace(current, condition) {
                Some(c) => arms.push((c, done)),
                None => {
                    // Keep the statements of the first ELSE as a branch.
                    arms.push((no_condition(*span), done));
                    after_else = Some(*span);
                }
            }
        }
        if let Some(open) = after_else {
            self.report(
                Diagnostic::error(
                    &rules::UNCLOSED_BLOCK,
                    st.whole(),
                    format!("nothing but END {word} may follow the statements of ELSE"),
                )
                .related(open, format!("this {word} has an ELSE already")),
            );
        }
        self.no_target(st, "ELSE");
    }

    fn end_do(&mut self, st: &Statement) {
        let Some(OpenBlock {
            kind: OpenBlockKind::Do { label, .. },
            span,
            ..
        }) = self.open_unit.blocks.last()
        else {
            return;
        };
        match (*label, label_of(st)) {
            (None, end) => self.open_unit.close(end, Vec::new(), st.whole()),
            (Some(l), Some(end)) if l == end => self.push(st, StmtKind::Continue),
            (Some(l), _) => {
                let open = *span;
                self.report(
                    Diagnostic::error(
                        &rules::UNCLOSED_BLOCK,
                        st.whole(),
                        format!("this loop ends with a statement with label {l}"),
                    )
                    .related(open, "the loop begins here")
                    .help(format!("give END DO the label {l}")),
                );
                // A loop whose label is missing is reported once.
                self.open_unit.references.retain(|(r, ..)| *r != l);
                self.open_unit.close(None, Vec::new(), st.whole());
            }
        }
    }
}

/// Returns the label in an assignment to `DO10I`, and that name.
fn looks_like_do(st: &Statement) -> Option<(Label, &str)> {
    let text = std::str::from_utf8(&st.text).ok()?;
    let (name, _) = text.split_once('=')?;
    let rest = name.strip_prefix("DO")?;
    let variable = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let label = rest[..rest.len() - variable.len()].parse().ok()?;
    let right = variable.starts_with(|c: char| c.is_ascii_uppercase())
        && variable.bytes().all(is_name_letter);
    right.then_some((label, name))
}

/// Whether a malformed IF statement was meant to open a block: it ends with THEN or something
/// similar, or right after its condition.
fn opens_block(st: &Statement, pos: usize) -> bool {
    let text = st.text.get(pos..).unwrap_or(&[]);
    let mut depth = 0i32;
    let close = text.iter().position(|c| {
        depth += i32::from(*c == b'(') - i32::from(*c == b')');
        depth <= 0
    });
    match close {
        Some(close) => {
            let rest = std::str::from_utf8(&text[close + 1..]).unwrap_or("");
            rest.is_empty() || rest.ends_with("THEN") || close_to(rest, "THEN")
        }
        None => text.ends_with(b"THEN"),
    }
}
