//! Assigns statements, labels and comments to program units.
//!
//! | module | handles |
//! |---|---|
//! | `header` | the beginning and end of units |
//! | `blocks` | executable statements and the blocks that they form |
//! | `constructs` | SELECT CASE, WHERE, names of constructs |
//! | `foreign` | unsupported features of Fortran; USE |
//! | `include` | INCLUDE |

mod blocks;
mod constructs;
mod header;
mod include;
mod results;
mod unsupported;

use super::classify::StatementKind;
use super::form::{CHAR, Comment, Origins, Statement, StatementReader, sentinel};
use super::open_unit::OpenUnit;
use super::spelling::{foreign, suggestion};
use super::statement_parser::{ParseResult, StatementParser};
use super::trace::{Depth, Trace, TracedStatement};
use super::{Loader, Parsed, ReadOptions, detect};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    self, DefaultSizes, Label, Name, Program, SpecKind, Stmt, StmtKind, Unit, UnitKind,
};
use crate::source::{FileId, Sources, Span};
use std::cell::RefCell;

struct Parser<'a> {
    sources: &'a mut Sources,
    loader: &'a mut dyn Loader,
    /// The file being read, preceded by those that include it.
    readers: Vec<StatementReader>,
    includes: usize,
    units: Vec<Unit>,
    /// The index in `units` of the first main program without a PROGRAM statement.
    implicit: Option<usize>,
    diagnostics: Vec<Diagnostic>,
    /// The unit being parsed.
    open_unit: OpenUnit,
    /// The units around it.
    outer: Vec<OpenUnit>,
    comments: Vec<Comment>,
    /// The block being skipped.
    skipped: Option<unsupported::SkippedBlock>,
    /// The modules that were skipped.
    modules: Vec<Span>,
    /// Whether the rest of the text is ignored.
    given_up: bool,
    sizes: DefaultSizes,
    /// The statements as written, if they are recorded.
    traced: Option<Vec<TracedStatement>>,
}

pub(in crate::syntax) fn parse(
    sources: &mut Sources,
    file: FileId,
    options: &ReadOptions,
    loader: &mut dyn Loader,
) -> Parsed {
    let text = sources
        .get(file)
        .map_or_else(|| "".into(), |f| f.text.clone());
    let form = options.form.unwrap_or_else(|| detect(&text));
    let columns = options.layout.with_settings_in(&text);
    let origins = Origins::read(sources, file, &text);
    let reader = StatementReader::new(file, text, form, columns).with_origins(origins);
    let mut parser = Parser::new(sources, loader, reader, options.sizes);
    parser.run();
    parser.parsed()
}

/// Parses a text and records its statements as written.
pub(in crate::syntax) fn parse_traced(
    sources: &mut Sources,
    file: FileId,
    options: &ReadOptions,
    loader: &mut dyn Loader,
) -> Trace {
    let text = sources
        .get(file)
        .map_or_else(|| "".into(), |f| f.text.clone());
    let form = options.form.unwrap_or_else(|| detect(&text));
    let columns = options.layout.with_settings_in(&text);
    let reader = StatementReader::new(file, text, form, columns).verbatim();
    let mut parser = Parser::new(sources, loader, reader, options.sizes);
    parser.traced = Some(Vec::new());
    parser.run();
    let statements = parser.traced.take().unwrap_or_default();
    let Parsed {
        program,
        diagnostics,
        ..
    } = parser.parsed();
    Trace {
        statements,
        diagnostics,
        program,
    }
}

impl<'a> Parser<'a> {
    fn new(
        sources: &'a mut Sources,
        loader: &'a mut dyn Loader,
        reader: StatementReader,
        sizes: DefaultSizes,
    ) -> Self {
        Parser {
            sizes,
            sources,
            loader,
            readers: vec![reader],
            includes: 0,
            units: Vec::new(),
            implicit: None,
            diagnostics: Vec::new(),
            open_unit: OpenUnit::none(),
            outer: Vec::new(),
            comments: Vec::new(),
            skipped: None,
            modules: Vec::new(),
            given_up: false,
            traced: None,
        }
    }

    fn parsed(mut self) -> Parsed {
        let mut diagnostics = self.diagnostics;
        for unit in &mut self.units {
            crate::procedure_directives::read(unit, &mut diagnostics);
            crate::loop_directives::read(unit, &mut diagnostics);
        }
        // Errors found at the end of a unit belong further up.
        diagnostics.sort_by_key(|d| (d.span.file, d.span.start));
        Parsed {
            program: Program { units: self.units },
            diagnostics,
            modules: self.modules,
        }
    }
}

impl Parser<'_> {
    fn run(&mut self) {
        let mut st = Statement::new();
        if self.traced.is_some() {
            st.marks = Some(RefCell::default());
        }
        let mut last = Span::NONE;
        let mut warnings = Vec::new();
        while let Some(reader) = self.readers.last_mut() {
            let found = reader.next(&mut st);
            let free = reader.is_free();
            let before = self.depth();
            if self.readers.len() == 1
                && let Some(traced) = &mut self.traced
            {
                traced.push(TracedStatement::new(&mut st, before));
            }
            let trailing = found.then(|| st.take_trailing()).flatten();
            self.comments.append(&mut st.comments);
            if !found {
                self.readers.pop();
                continue;
            }
            last = st.whole();
            let before = self.diagnostics.len();
            let (depth, references) = (self.outer.len(), self.open_unit.references.len());
            let (units, includes) = (self.depth().units, self.includes);
            if let Some(mut error) = st.error.take() {
                if names_record(&st) {
                    error.help = Some(
                        "the number of a record is given by REC=, as in `READ (5, REC=12)`".into(),
                    );
                }
                self.diagnostics.push(*error);
                self.statement(&st, free);
                // Any other error in the statement is a consequence of the first.
                self.diagnostics.truncate(before + 1);
            } else {
                self.statement(&st, free);
                if let Some(at) = st.cut_off.filter(|_| st.cuts_code)
                    && self.diagnostics.len() == before
                {
                    warnings.push(cut_off(&st, at));
                }
            }
            if self.diagnostics.len() > before && self.outer.len() == depth {
                // A malformed statement may mean other labels than those that it names.
                self.open_unit.references.truncate(references);
            }
            let after = self.depth();
            if let Some(c) = trailing {
                self.keep_trailing(c, units, includes);
            }
            if let Some(traced) = self.traced.as_mut().and_then(|t| t.last_mut()) {
                traced.after = after;
                if let Some(marks) = &mut st.marks {
                    traced.marks = std::mem::take(marks.get_mut());
                }
            }
        }
        self.diagnostics.append(&mut warnings);
        let before = self.diagnostics.len();
        self.finish(last);
        if self.given_up {
            // Errors about open blocks and units would only be consequences.
            self.diagnostics.truncate(before);
        }
    }

    fn depth(&self) -> Depth {
        Depth {
            units: self.outer.len() + usize::from(self.open_unit.open),
            blocks: self.open_unit.blocks.len(),
            implicit: self.open_unit.implicit,
        }
    }

    fn line<'a>(&'a mut self, st: &'a Statement, free: bool, pos: usize) -> StatementParser<'a> {
        StatementParser {
            st,
            pos,
            free,
            open_unit: &mut self.open_unit,
            hosts: &self.outer,
            diagnostics: &mut self.diagnostics,
            depth: 0,
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Reports the error of a statement, if there is one.
    fn check<T>(&mut self, read: ParseResult<T>) -> Option<T> {
        match read {
            Ok(t) => Some(t),
            Err(error) => {
                self.diagnostics.push(*error);
                None
            }
        }
    }

    fn statement(&mut self, st: &Statement, free: bool) {
        if st.text.is_empty() {
            if let Some((_, span)) = st.label {
                self.report(
                    Diagnostic::error(
                        &rules::BAD_LABEL,
                        span,
                        "this label is on a line without a statement",
                    )
                    .help("a statement that does nothing is CONTINUE"),
                );
            }
            return;
        }
        if self.skips(st, free) {
            return;
        }
        let mut line = self.line(st, free, 0);
        let mut name = None;
        if let Some(end) = line.construct_name() {
            name = Some(Name::from(line.text(0, end)));
            line.pos = end + 1;
        }
        let kind = line.classify();
        let pos = line.pos;

        if kind.is_header() {
            return self.header(st, free, pos, kind);
        }
        if kind == StatementKind::Include {
            return self.include(st, free, pos);
        }
        if !self.open_unit.open && !self.begin_main(st, kind) {
            match kind {
                StatementKind::Unknown => self.unknown(st, free),
                StatementKind::Unsupported => self.unsupported(st, free, pos),
                _ => {}
            }
            return;
        }
        if self.open_unit.contains
            && !matches!(
                kind,
                StatementKind::Contains | StatementKind::End | StatementKind::Unknown
            )
        {
            return self.report(
                Diagnostic::error(
                    &rules::MISPLACED_STATEMENT,
                    st.whole(),
                    "only subprograms are allowed between CONTAINS and END",
                )
                .help("move the statement in front of CONTAINS, or into a subprogram"),
            );
        }
        if let Some((label, span)) = st.label {
            self.define(label, span);
            match kind {
                StatementKind::Format => self.open_unit.formats.insert(label),
                StatementKind::Data | StatementKind::Namelist => {
                    self.open_unit.declarations.insert(label)
                }
                kind if kind.is_specification() => self.open_unit.declarations.insert(label),
                _ => false,
            };
        }
        match kind {
            StatementKind::Unknown => self.unknown(st, free),
            StatementKind::Unsupported => self.unsupported(st, free, pos),
            StatementKind::Contains => self.contains(st, free, pos),
            StatementKind::Use => self.use_module(st, free, pos),
            StatementKind::End => self.end(st, free, pos),
            StatementKind::Data | StatementKind::Namelist => {
                self.keep_comments();
                let mut line = self.line(st, free, pos);
                let read = match kind {
                    StatementKind::Data => line.data(),
                    _ => line.namelist(),
                };
                self.check(read);
            }
            StatementKind::Format => self.format(st, free, pos),
            kind if kind.is_specification() => self.specification(st, free, pos, kind),
            StatementKind::Assignment
                if !self.open_unit.executable
                    && self.line(st, free, pos).is_statement_function() =>
            {
                self.keep_comments();
                let read = self.line(st, free, pos).statement_function();
                self.check(read);
            }
            kind => {
                // ENTRY alone does not end the specifications.
                self.open_unit.executable |= kind != StatementKind::Entry;
                self.comments_to_body();
                self.executable(st, free, pos, kind, name);
            }
        }
    }

    /// Begins a main program without a PROGRAM statement. Returns false if the statement cannot
    /// begin one.
    fn begin_main(&mut self, st: &Statement, kind: StatementKind) -> bool {
        match kind {
            StatementKind::Unknown | StatementKind::Unsupported => return false,
            StatementKind::End if self.units.is_empty() => {}
            StatementKind::End
            | StatementKind::EndIf
            | StatementKind::EndDo
            | StatementKind::EndSelect
            | StatementKind::EndWhere
            | StatementKind::EndAd(_)
            | StatementKind::Else
            | StatementKind::ElseIf
            | StatementKind::ElseWhere
            | StatementKind::Case => {
                self.report(
                    Diagnostic::error(
                        &rules::UNCLOSED_BLOCK,
                        st.whole(),
                        "there is nothing open that this could close",
                    )
                    .help(match self.units.is_empty() {
                        true => "the statement that opens it is missing, or was not understood",
                        false => "the program unit before has ended already",
                    }),
                );
                return false;
            }
            _ => {}
        }
        self.open_unit = OpenUnit {
            implicit: true,
            column: st.column,
            ..OpenUnit::new(UnitKind::Program, "MAIN", st.whole())
        };
        true
    }

    fn define(&mut self, label: Label, span: Span) {
        let old = *self.open_unit.labels.entry(label).or_insert(span);
        if old != span {
            self.report(
                Diagnostic::error(
                    &rules::BAD_LABEL,
                    span,
                    format!("the label {label} is defined twice"),
                )
                .related(old, "first defined here"),
            );
        }
    }

    fn specification(&mut self, st: &Statement, free: bool, pos: usize, kind: StatementKind) {
        if self.open_unit.executable {
            self.report(
                Diagnostic::error(
                    &rules::MISPLACED_STATEMENT,
                    st.whole(),
                    "a specification statement may not follow executable statements",
                )
                .help("move it to the top of the program unit"),
            );
        }
        self.keep_comments();
        let mut line = self.line(st, free, pos);
        let read = match kind {
            StatementKind::Type => line.type_statement(),
            StatementKind::Dimension => line.dimension(),
            StatementKind::Parameter => line.parameter(),
            StatementKind::Implicit => line.implicit(),
            StatementKind::External => line.procedures(true),
            StatementKind::Intrinsic => line.procedures(false),
            StatementKind::Common => line.common(),
            StatementKind::Equivalence => line.equivalence(),
            StatementKind::Save => line.save(),
            StatementKind::Attribute(a) => line.attribute_statement(a),
            StatementKind::Pointer => line.cray_pointers(),
            _ => line.intent_statement(),
        };
        self.check(read);
    }

    fn format(&mut self, st: &Statement, free: bool, pos: usize) {
        self.keep_comments();
        let read = self.line(st, free, pos).format();
        let Some(text) = self.check(read) else { return };
        let Some((label, _)) = st.label else {
            self.report(
                Diagnostic::error(
                    &rules::BAD_LABEL,
                    st.whole(),
                    "a FORMAT statement needs a label",
                )
                .help("write a number in columns 1 to 5, and name it in READ or WRITE"),
            );
            return;
        };
        let span = st.whole();
        if self.open_unit.executable {
            self.open_unit
                .push(Stmt::labelled(Some(label), StmtKind::Format(text), span));
        } else {
            self.open_unit.spec(SpecKind::Format(label, text), span);
        }
    }

    fn unknown(&mut self, st: &Statement, free: bool) {
        self.comments.clear();
        let whole = st.whole();
        let mut line = self.line(st, free, 0);
        let word = line.first_word().to_owned();
        let report = if let Some(at) = line.component() {
            line.pos = at;
            *line.expected("")
        } else if word.is_empty() {
            *line.expected("a statement")
        } else {
            let mut report =
                Diagnostic::error(&rules::UNKNOWN_STATEMENT, whole, "unrecognised statement");
            let statement = std::str::from_utf8(line.rest()).unwrap_or("");
            let block = ["ADF", "ADR", "BLOCK", "ENDBLOCK"];
            let first = block.iter().any(|w| statement.starts_with(w));
            let known = foreign(&word, statement);
            let meant = suggestion(&word).map(|meant| format!("did you mean {meant}?"));
            let help = match known {
                Some(help) if first => Some(help.to_owned()),
                known => meant.or(known.map(str::to_owned)),
            };
            if let Some(help) = help {
                report = report.help(help);
            } else if let Some(at) = st.cut_off {
                report = report.related(at, st.beyond());
            }
            report
        };
        self.report(report);
    }

    /// Stops the parsing of a text that is nested too deeply.
    fn give_up(&mut self, span: Span, what: &str, most: usize) {
        self.report(
            Diagnostic::error(
                &rules::UNSUPPORTED,
                span,
                format!("{what} are nested more than {most} deep"),
            )
            .help("nothing after this statement was read"),
        );
        self.readers.clear();
        self.given_up = true;
    }

    /// Keeps the comments with the statement that follows: among the specifications, or among the
    /// executable statements once these have begun.
    fn keep_comments(&mut self) {
        if self.open_unit.executable {
            return self.comments_to_body();
        }
        for c in self.comments.drain(..) {
            self.open_unit
                .spec(SpecKind::Comment(c.text.into()), c.span);
        }
    }

    /// Keeps the comment at the end of the line of the statement just read. Before the statement,
    /// `units` program units were open and `includes` INCLUDE files had been read.
    fn keep_trailing(&mut self, comment: Comment, units: usize, includes: usize) {
        let Comment { mut text, span, .. } = comment;
        // On a line of its own it would be a directive.
        if sentinel(&text).is_some() {
            text.insert(0, ' ');
        }
        let now = self.depth().units;
        if now > units && !self.open_unit.implicit {
            return self.open_unit.unit.comments.push(text);
        }
        let comment = ir::Comment {
            text,
            // Something else has been read in between.
            trailing: self.includes == includes,
        };
        if now < units || !self.open_unit.open {
            self.comments.push(Comment {
                text: comment.text,
                span,
                apart: true,
                trailing: false,
            });
        } else if self.open_unit.executable {
            self.open_unit
                .push(Stmt::new(StmtKind::Comment(comment), span));
        } else {
            self.open_unit.spec(SpecKind::Comment(comment), span);
        }
    }

    fn comments_to_body(&mut self) {
        for c in std::mem::take(&mut self.comments) {
            self.open_unit
                .push(Stmt::new(StmtKind::Comment(c.text.into()), c.span));
        }
    }

    /// Takes the block of comments right before a header. Comments before that block go to the unit
    /// around, if there is one; otherwise they are returned as the second value.
    fn take_documentation(&mut self) -> (Vec<String>, Vec<Vec<String>>) {
        let first = self
            .comments
            .iter()
            .rposition(|c| c.apart)
            .unwrap_or_default();
        let documentation = self.comments.split_off(first.min(self.comments.len()));
        if self.open_unit.open {
            self.keep_comments();
        }
        let documentation = documentation.into_iter().map(|c| c.text).collect();
        (documentation, self.take_blocks())
    }

    /// Takes the comments, in blocks that blank lines separate.
    fn take_blocks(&mut self) -> Vec<Vec<String>> {
        let mut blocks: Vec<Vec<String>> = Vec::new();
        for c in self.comments.drain(..) {
            match blocks.last_mut() {
                Some(block) if !c.apart => block.push(c.text),
                _ => blocks.push(vec![c.text]),
            }
        }
        blocks
    }
}

/// Whether this is `READ (5'12)`: in old compilers, the record number follows an apostrophe.
fn names_record(st: &Statement) -> bool {
    let text = st.text.as_slice();
    let control = [&b"READ("[..], b"WRITE(", b"FIND("];
    let Some(unit) = control.iter().find_map(|w| text.strip_prefix(*w)) else {
        return false;
    };
    let end = unit.iter().position(|c| !c.is_ascii_alphanumeric());
    end.is_some_and(|end| end > 0 && unit[end] == CHAR)
}

fn label_of(st: &Statement) -> Option<Label> {
    st.label.map(|(l, _)| l)
}

/// Returns the warning about a complete statement that seems to continue beyond the last column.
fn cut_off(st: &Statement, at: Span) -> Diagnostic {
    Diagnostic::warning(&rules::TEXT_CUT_OFF, at, st.beyond()).help(format!(
        "break the line before column {} and continue it with a mark in column 6",
        st.last_column + 1
    ))
}
