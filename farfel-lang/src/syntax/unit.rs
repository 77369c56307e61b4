//! Program units: which statement belongs where, blocks, labels, comments, INCLUDE.

use super::classify::{Kind, words};
use super::form::{CHAR, Comment, Reader, Statement};
use super::line::{Line, Read};
use super::stmt::{If, no_condition};
use super::{Form, Loader, Parsed, detect};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    AdBlock, AdItem, AdMode, Block, Do, DoControl, DoEnd, Expr, IfBlock, Label, Name, Place,
    Program, Spec, SpecKind, Stmt, StmtKind, Unit, UnitKind, unused_name,
};
use crate::source::{FileId, Sources, Span};
use std::collections::{HashMap, HashSet};

/// How deep blocks, and units, may nest: passes walk them by recursion.
const MAX_BLOCKS: usize = 100;
const MAX_UNITS: usize = 50;
/// How deep, and how often, files may include each other.
const MAX_INCLUDE_DEPTH: usize = 32;
const MAX_INCLUDES: usize = 10_000;

/// A program unit that is being read.
#[derive(Debug)]
pub(super) struct Frame {
    pub unit: Unit,
    /// False for what stands between units.
    open: bool,
    /// Executable statements have begun.
    executable: bool,
    /// A main program without PROGRAM statement.
    implicit: bool,
    /// The column that the header begins in.
    column: u32,
    blocks: Vec<Open>,
    labels: HashMap<Label, Span>,
    references: Vec<(Label, Span)>,
    /// Assignments to `DO10I`, before there is a label 10: may be loops without comma.
    suspects: Vec<(Label, Span)>,
}

/// A block that is not closed yet.
#[derive(Debug)]
struct Open {
    kind: OpenKind,
    /// Statements of the block, or of its last arm.
    body: Block,
    label: Option<Label>,
    span: Span,
}

#[derive(Debug)]
enum OpenKind {
    If {
        arms: Vec<(Expr, Block)>,
        /// The condition of the arm that is being read; `None` in ELSE.
        condition: Option<Expr>,
    },
    Do {
        name: Option<Name>,
        control: DoControl,
        label: Option<Label>,
    },
    Ad {
        mode: AdMode,
        opening: Vec<AdItem>,
    },
}

impl OpenKind {
    fn word(&self) -> &'static str {
        match self {
            OpenKind::If { .. } => "IF",
            OpenKind::Do { .. } => "DO",
            OpenKind::Ad { mode, .. } => ad_word(*mode),
        }
    }

    fn end_word(&self) -> String {
        match self {
            OpenKind::Do {
                label: Some(label), ..
            } => format!("a statement with label {label}"),
            kind => format!("END {}", kind.word()),
        }
    }
}

fn ad_word(mode: AdMode) -> &'static str {
    match mode {
        AdMode::Forward => "ADF",
        AdMode::Reverse => "ADR",
    }
}

fn unit_word(kind: UnitKind) -> &'static str {
    match kind {
        UnitKind::Program => "PROGRAM",
        UnitKind::Subroutine => "SUBROUTINE",
        UnitKind::Function => "FUNCTION",
        UnitKind::BlockData => "BLOCK DATA",
    }
}

impl Frame {
    fn new(kind: UnitKind, name: &str, span: Span) -> Self {
        Frame {
            unit: Unit::new(kind, name.into(), span),
            open: true,
            executable: false,
            implicit: false,
            column: 0,
            blocks: Vec::new(),
            labels: HashMap::new(),
            references: Vec::new(),
            suspects: Vec::new(),
        }
    }

    /// What stands between units.
    fn none() -> Self {
        Frame {
            open: false,
            ..Frame::new(UnitKind::Program, "", Span::NONE)
        }
    }

    /// Notes that a statement refers to a label.
    pub fn refer(&mut self, label: Label, span: Span) {
        self.references.push((label, span));
    }

    /// A type is declared for the name.
    fn declares(&self, name: &str) -> bool {
        let symbols = &self.unit.symbols;
        symbols.find(name).is_some_and(|s| symbols[s].typed)
    }

    fn push(&mut self, statement: Stmt) {
        match self.blocks.last_mut() {
            Some(block) => block.body.push(statement),
            None => self.unit.body.push(statement),
        }
    }

    fn spec(&mut self, kind: SpecKind, span: Span) {
        self.unit.specs.push(Spec { kind, span });
    }

    /// Closes the innermost block.
    fn close(&mut self, end_label: Option<Label>, closing: Vec<AdItem>, end_span: Span) {
        let Some(block) = self.blocks.pop() else {
            return;
        };
        let Open {
            kind,
            body,
            label,
            span,
        } = block;
        let kind = match kind {
            OpenKind::If {
                mut arms,
                condition,
            } => {
                let otherwise = match condition {
                    Some(c) => {
                        arms.push((c, body));
                        None
                    }
                    None => Some(body),
                };
                StmtKind::If(IfBlock {
                    arms,
                    otherwise,
                    end_label,
                })
            }
            OpenKind::Do {
                name,
                control,
                label: terminal,
            } => StmtKind::Do(Box::new(Do {
                name,
                control,
                body,
                end: match terminal {
                    Some(l) => DoEnd::Label(l),
                    None => DoEnd::EndDo(end_label),
                },
            })),
            OpenKind::Ad { mode, opening } => StmtKind::Ad(Box::new(AdBlock {
                mode,
                opening,
                body,
                closing,
                end_span,
            })),
        };
        self.push(Stmt { label, kind, span });
    }
}

struct Parser<'a> {
    sources: &'a mut Sources,
    loader: &'a mut dyn Loader,
    /// The file that is read, after those that include it.
    readers: Vec<Reader>,
    includes: usize,
    units: Vec<Unit>,
    /// The first of `units` that is a main program without PROGRAM statement.
    implicit: Option<usize>,
    diagnostics: Vec<Diagnostic>,
    /// The unit that is read.
    frame: Frame,
    /// The units around it.
    outer: Vec<Frame>,
    comments: Vec<Comment>,
}

pub(super) fn parse(
    sources: &mut Sources,
    file: FileId,
    form: Option<Form>,
    loader: &mut dyn Loader,
) -> Parsed {
    let text = sources
        .get(file)
        .map_or_else(|| "".into(), |f| f.text.clone());
    let form = form.unwrap_or_else(|| detect(&text));
    let mut parser = Parser {
        sources,
        loader,
        readers: vec![Reader::new(file, text, form)],
        includes: 0,
        units: Vec::new(),
        implicit: None,
        diagnostics: Vec::new(),
        frame: Frame::none(),
        outer: Vec::new(),
        comments: Vec::new(),
    };
    parser.run();
    let mut diagnostics = parser.diagnostics;
    // What is found out at the end of a unit belongs further up.
    diagnostics.sort_by_key(|d| (d.span.file, d.span.start));
    Parsed {
        program: Program {
            units: parser.units,
        },
        diagnostics,
    }
}

impl Parser<'_> {
    fn run(&mut self) {
        let mut st = Statement::new();
        let mut last = Span::NONE;
        while let Some(reader) = self.readers.last_mut() {
            let found = reader.next(&mut st);
            let free = reader.is_free();
            self.comments.append(&mut st.comments);
            if !found {
                self.readers.pop();
                continue;
            }
            last = st.whole();
            let before = self.diagnostics.len();
            let (depth, references) = (self.outer.len(), self.frame.references.len());
            if let Some(fault) = st.fault.take() {
                self.diagnostics.push(*fault);
                self.statement(&st, free);
                // What else is wrong with the statement follows from the fault.
                self.diagnostics.truncate(before + 1);
            } else {
                self.statement(&st, free);
            }
            if self.diagnostics.len() > before && self.outer.len() == depth {
                // A faulty statement may mean other labels than those it names.
                self.frame.references.truncate(references);
            }
        }
        self.finish(last);
    }

    fn line<'a>(&'a mut self, st: &'a Statement, free: bool, pos: usize) -> Line<'a> {
        Line {
            st,
            pos,
            free,
            frame: &mut self.frame,
            hosts: &self.outer,
            diagnostics: &mut self.diagnostics,
            depth: 0,
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Reports the fault of a statement, if there is one.
    fn check<T>(&mut self, read: Read<T>) -> Option<T> {
        match read {
            Ok(t) => Some(t),
            Err(fault) => {
                self.diagnostics.push(*fault);
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
                        "the label stands on a line without a statement",
                    )
                    .help("a statement that does nothing is CONTINUE"),
                );
            }
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
        if kind == Kind::Include {
            return self.include(st, free, pos);
        }
        if !self.frame.open && !self.begin_main(st, kind) {
            if matches!(kind, Kind::Unknown | Kind::Foreign) {
                self.unknown(st, free, kind, pos);
            }
            return;
        }
        if let Some((label, span)) = st.label {
            self.define(label, span);
        }
        match kind {
            Kind::Unknown | Kind::Foreign => self.unknown(st, free, kind, pos),
            Kind::End => self.end(st, free, pos),
            Kind::Data | Kind::Namelist => {
                self.keep_comments();
                let mut line = self.line(st, free, pos);
                let read = match kind {
                    Kind::Data => line.data(),
                    _ => line.namelist(),
                };
                self.check(read);
            }
            Kind::Format => self.format(st, free, pos),
            kind if kind.is_specification() => self.specification(st, free, pos, kind),
            Kind::Assignment
                if !self.frame.executable && self.line(st, free, pos).is_statement_function() =>
            {
                self.keep_comments();
                let read = self.line(st, free, pos).statement_function();
                self.check(read);
            }
            kind => {
                // ENTRY alone leaves the specifications open.
                self.frame.executable |= kind != Kind::Entry;
                self.comments_to_body();
                self.executable(st, free, pos, kind, name);
            }
        }
    }

    /// Begins a main program without PROGRAM statement; false where the statement is not
    /// one that could begin it.
    fn begin_main(&mut self, st: &Statement, kind: Kind) -> bool {
        match kind {
            Kind::Unknown | Kind::Foreign => return false,
            Kind::End if self.units.is_empty() => {}
            Kind::End | Kind::EndIf | Kind::EndDo | Kind::EndAd(_) | Kind::Else | Kind::ElseIf => {
                self.report(
                    Diagnostic::error(
                        &rules::UNCLOSED_BLOCK,
                        st.whole(),
                        "there is nothing open that this could close",
                    )
                    .help("the program unit before has ended already"),
                );
                return false;
            }
            _ => {}
        }
        self.frame = Frame {
            implicit: true,
            column: st.column,
            ..Frame::new(UnitKind::Program, "MAIN", st.whole())
        };
        true
    }

    fn define(&mut self, label: Label, span: Span) {
        let old = *self.frame.labels.entry(label).or_insert(span);
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

    fn specification(&mut self, st: &Statement, free: bool, pos: usize, kind: Kind) {
        if self.frame.executable {
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
            Kind::Type => line.type_statement(),
            Kind::Dimension => line.dimension(),
            Kind::Parameter => line.parameter(),
            Kind::Implicit => line.implicit(),
            Kind::External => line.procedures(true),
            Kind::Intrinsic => line.procedures(false),
            Kind::Common => line.common(),
            Kind::Equivalence => line.equivalence(),
            Kind::Save => line.save(),
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
        if self.frame.executable {
            self.frame.push(Stmt {
                label: Some(label),
                kind: StmtKind::Format(text),
                span,
            });
        } else {
            self.frame.spec(SpecKind::Format(label, text), span);
        }
    }

    fn executable(
        &mut self,
        st: &Statement,
        free: bool,
        pos: usize,
        kind: Kind,
        name: Option<Name>,
    ) {
        let span = st.whole();
        match kind {
            Kind::If => {
                let read = self.line(st, free, pos).if_statement();
                let condition = match self.check(read) {
                    Some(If::Simple(kind)) => return self.push(st, kind),
                    Some(If::Block(condition)) => condition,
                    None if opens_block(st, pos) => no_condition(span),
                    None => return,
                };
                self.open(
                    st,
                    OpenKind::If {
                        arms: Vec::new(),
                        condition: Some(condition),
                    },
                );
            }
            Kind::Do => {
                let mut line = self.line(st, free, pos);
                let mut label = None;
                let mut fault = None;
                if line.peek().is_ascii_digit() {
                    match line.label() {
                        Ok(l) => label = Some(l),
                        Err(f) => fault = Some(f),
                    }
                }
                let read = match fault {
                    None => line.do_control(),
                    Some(f) => Err(f),
                };
                let control = self.check(read).unwrap_or(DoControl::Forever);
                self.open(
                    st,
                    OpenKind::Do {
                        name,
                        control,
                        label,
                    },
                );
            }
            Kind::Ad(mode) => {
                let read = self.line(st, free, pos).ad_opening(mode);
                let opening = self.check(read).unwrap_or_default();
                self.open(st, OpenKind::Ad { mode, opening });
            }
            Kind::ElseIf | Kind::Else => {
                let condition = if kind == Kind::ElseIf {
                    let read = self.line(st, free, pos).else_if();
                    Some(self.check(read).unwrap_or_else(|| no_condition(span)))
                } else {
                    None
                };
                self.otherwise(st, condition);
            }
            Kind::EndIf => {
                if self.unwind(st, "IF", &|k| matches!(k, OpenKind::If { .. })) {
                    self.frame.close(label_of(st), Vec::new(), span);
                }
            }
            Kind::EndDo => {
                if self.unwind(st, "DO", &|k| matches!(k, OpenKind::Do { .. })) {
                    self.end_do(st);
                }
            }
            Kind::EndAd(mode) => {
                let read = self.line(st, free, pos).ad_closing(mode);
                let closing = self.check(read).unwrap_or_default();
                if !self.closes_other_mode(st, mode) {
                    let this =
                        |k: &OpenKind| matches!(k, OpenKind::Ad { mode: m, .. } if *m == mode);
                    if !self.unwind(st, ad_word(mode), &this) {
                        return;
                    }
                }
                self.frame.close(None, closing, span);
            }
            kind => {
                if kind == Kind::Assignment
                    && let Some((label, name)) = looks_like_do(st)
                    && !self.frame.labels.contains_key(&label)
                    && !self.frame.declares(name)
                {
                    self.frame.suspects.push((label, span));
                }
                let read = self.line(st, free, pos).simple(kind);
                match self.check(read) {
                    Some(kind) => self.push(st, kind),
                    // A faulty terminal statement still ends its loops.
                    None if st.label.is_some() => self.push(st, StmtKind::Continue),
                    None => {}
                }
            }
        }
    }

    /// Adds a statement, and closes the loops that end with its label.
    fn push(&mut self, st: &Statement, kind: StmtKind) {
        self.frame.push(Stmt {
            label: label_of(st),
            kind,
            span: st.whole(),
        });
        let Some(label) = label_of(st) else { return };
        let ends_here =
            |k: &OpenKind| matches!(k, OpenKind::Do { label: Some(l), .. } if *l == label);
        while let Some(at) = self.frame.blocks.iter().rposition(|b| ends_here(&b.kind)) {
            self.close_above(at, st.whole());
            self.frame.close(None, Vec::new(), st.whole());
        }
    }

    fn open(&mut self, st: &Statement, kind: OpenKind) {
        if self.frame.blocks.len() >= MAX_BLOCKS {
            self.give_up(st.whole(), "blocks", MAX_BLOCKS);
            return;
        }
        self.frame.blocks.push(Open {
            kind,
            body: Vec::new(),
            label: label_of(st),
            span: st.whole(),
        });
    }

    /// Ends the reading of a text that nests too deep.
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
    }

    /// Closes, with a report, the blocks above index `at`.
    fn close_above(&mut self, at: usize, span: Span) {
        while self.frame.blocks.len() > at + 1 {
            if let Some(block) = self.frame.blocks.last() {
                let report = Diagnostic::error(
                    &rules::UNCLOSED_BLOCK,
                    block.span,
                    format!("{} is not closed", block.kind.word()),
                )
                .label("opened here")
                .related(
                    span,
                    format!("{} is missing before this", block.kind.end_word()),
                );
                self.report(report);
            }
            self.frame.close(None, Vec::new(), span);
        }
    }

    /// Makes the innermost block of a kind the last one; false when there is none.
    fn unwind(&mut self, st: &Statement, word: &str, is: &dyn Fn(&OpenKind) -> bool) -> bool {
        match self.frame.blocks.iter().rposition(|b| is(&b.kind)) {
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
                if let Some(open) = self.frame.blocks.last() {
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

    /// END ADR where the innermost block is ADF, or the other way round, was meant to
    /// close it, unless one further out fits. Reports that.
    fn closes_other_mode(&mut self, st: &Statement, end: AdMode) -> bool {
        let fits = |b: &Open| matches!(b.kind, OpenKind::Ad { mode, .. } if mode == end);
        if self.frame.blocks.iter().any(fits) {
            return false;
        }
        let Some(Open {
            kind: OpenKind::Ad { mode, .. },
            span,
            ..
        }) = self.frame.blocks.last()
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

    fn otherwise(&mut self, st: &Statement, condition: Option<Expr>) {
        if !self.unwind(st, "IF", &|k| matches!(k, OpenKind::If { .. })) {
            return;
        }
        let mut after_else = None;
        if let Some(Open {
            kind:
                OpenKind::If {
                    arms,
                    condition: current,
                },
            body,
            span,
            ..
        }) = self.frame.blocks.last_mut()
        {
            let done = std::mem::take(body);
            match std::mem::replace(current, condition) {
                Some(c) => arms.push((c, done)),
                None => {
                    // Keep what stands in the first ELSE readable as an arm.
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
                    "nothing but END IF may follow the statements of ELSE",
                )
                .related(open, "this IF has an ELSE already"),
            );
        }
        if let Some((_, span)) = st.label {
            // A label of ELSE cannot be jumped to.
            self.report(Diagnostic::warning(
                &rules::BAD_LABEL,
                span,
                "the label of ELSE has no effect",
            ));
        }
    }

    fn end_do(&mut self, st: &Statement) {
        let Some(Open {
            kind: OpenKind::Do { label, .. },
            span,
            ..
        }) = self.frame.blocks.last()
        else {
            return;
        };
        match (*label, label_of(st)) {
            (None, end) => self.frame.close(end, Vec::new(), st.whole()),
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
                self.frame.close(None, Vec::new(), st.whole());
            }
        }
    }

    fn unknown(&mut self, st: &Statement, free: bool, kind: Kind, pos: usize) {
        self.comments.clear();
        let whole = st.whole();
        let mut line = self.line(st, free, 0);
        let report = if kind == Kind::Foreign {
            line.pos = 0;
            Diagnostic::error(
                &rules::UNSUPPORTED,
                whole,
                format!("Farfel does not know {} statements", line.text(0, pos)),
            )
        } else {
            let word = line.first_word().to_owned();
            if word.is_empty() {
                *line.expected("a statement")
            } else {
                let mut report = Diagnostic::error(
                    &rules::UNKNOWN_STATEMENT,
                    whole,
                    "this is no statement that Farfel knows",
                );
                if let Some(meant) = suggestion(&word) {
                    report = report.help(format!("did you mean {meant}?"));
                } else if let Some(at) = st.cut_off {
                    report = report.related(at, "what stands beyond column 72 is not read");
                }
                report
            }
        };
        self.report(report);
    }

    // Comments.

    /// Comments go where the statement after them goes: among the specifications, or the
    /// executable statements once these have begun.
    fn keep_comments(&mut self) {
        if self.frame.executable {
            return self.comments_to_body();
        }
        for c in self.comments.drain(..) {
            self.frame.spec(SpecKind::Comment(c.text), c.span);
        }
    }

    fn comments_to_body(&mut self) {
        for c in std::mem::take(&mut self.comments) {
            self.frame
                .push(Stmt::new(StmtKind::Comment(c.text), c.span));
        }
    }

    /// The block of comments that stands right before a header. What stands before it
    /// goes to the unit around, if there is one.
    fn take_documentation(&mut self) -> Vec<String> {
        let first = self
            .comments
            .iter()
            .rposition(|c| c.apart)
            .unwrap_or_default();
        let documentation = self.comments.split_off(first.min(self.comments.len()));
        if self.frame.open {
            self.keep_comments();
        }
        self.comments.clear();
        documentation.into_iter().map(|c| c.text).collect()
    }

    // Units.

    fn header(&mut self, st: &Statement, free: bool, pos: usize, kind: Kind) {
        if self.frame.open {
            self.check_place(st, kind);
        }
        if self.outer.len() >= MAX_UNITS {
            return self.give_up(st.whole(), "subprograms", MAX_UNITS);
        }
        let documentation = self.take_documentation();
        let mut frame = Frame::new(UnitKind::Subroutine, "", st.whole());
        frame.column = st.column;
        frame.unit.comments = documentation;
        let mut line = Line {
            st,
            pos,
            free,
            frame: &mut frame,
            hosts: &[],
            diagnostics: &mut self.diagnostics,
            depth: 0,
        };
        let read = match kind {
            Kind::Program => line.program_header(),
            Kind::BlockData => line.block_data_header(),
            _ => line.subprogram_header(),
        };
        self.check(read);
        let around = std::mem::replace(&mut self.frame, frame);
        if around.open {
            self.outer.push(around);
        }
        if let Some((label, span)) = st.label {
            self.define(label, span);
        }
    }

    /// A header inside of a unit: right for subprograms before the executable statements.
    /// Otherwise, reports it and closes what must have been meant to end before.
    fn check_place(&mut self, st: &Statement, kind: Kind) {
        let whole = st.whole();
        let unit = &self.frame.unit;
        let here = format!("{} {}", unit_word(unit.kind), unit.name);
        let head = unit.span;
        if kind != Kind::Subprogram {
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
        if !self.frame.executable {
            return;
        }
        // Code that is indented more than the header around was meant to be inside.
        let inside = st.column > self.frame.column && !self.frame.implicit;
        if inside {
            self.report(
                Diagnostic::error(
                    &rules::MISPLACED_STATEMENT,
                    whole,
                    format!("the executable statements of {here} have begun already"),
                )
                .related(head, "the unit begins here")
                .help(
                    "nested subprograms stand after the specification statements and before \
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

    /// Ends the unit, and those around it that begin in `column` or later, without
    /// further reports.
    fn close_units(&mut self, span: Span, column: u32) {
        let before = self.diagnostics.len();
        loop {
            self.close_unit(span);
            if !self.frame.open || self.frame.column < column {
                break;
            }
        }
        self.diagnostics.truncate(before);
    }

    fn end(&mut self, st: &Statement, free: bool, pos: usize) {
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
        let unit = &self.frame.unit;
        let wrong = kind.is_some_and(|k| k != unit.kind)
            || name.is_some_and(|n| n != unit.name && !self.frame.implicit);
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
            // Jumping to END returns.
            self.comments_to_body();
            self.frame.push(Stmt {
                label: Some(label),
                kind: StmtKind::Continue,
                span,
            });
        }
        self.close_unit(st.whole());
    }

    /// Ends the unit: what is open in it is reported, and so are labels that are missing.
    fn close_unit(&mut self, span: Span) {
        self.keep_comments();
        while let Some(block) = self.frame.blocks.last() {
            let report = Diagnostic::error(
                &rules::UNCLOSED_BLOCK,
                block.span,
                format!("{} is not closed", block.kind.word()),
            )
            .label("opened here")
            .related(
                span,
                format!(
                    "{} is missing before the end of the program unit",
                    block.kind.end_word()
                ),
            );
            // A loop whose label is missing is reported once.
            if let OpenKind::Do { label: Some(l), .. } = block.kind {
                self.frame.references.retain(|(r, _)| *r != l);
            }
            self.report(report);
            self.frame.close(None, Vec::new(), span);
        }
        let around = self.outer.pop().unwrap_or_else(Frame::none);
        let frame = std::mem::replace(&mut self.frame, around);
        for (label, span) in &frame.references {
            if !frame.labels.contains_key(label) {
                self.report(Diagnostic::error(
                    &rules::BAD_LABEL,
                    *span,
                    format!("there is no statement with label {label} in this program unit"),
                ));
            }
        }
        for (label, span) in &frame.suspects {
            if let Some(at) = frame.labels.get(label) {
                self.report(
                    Diagnostic::warning(
                        &rules::SYNTAX,
                        *span,
                        "without a comma this is an assignment, not a DO statement",
                    )
                    .related(*at, "the loop would end here")
                    .help("separate the first and the last value of the loop by a comma"),
                );
            }
        }
        let mut unit = frame.unit;
        unit.end_span = span;
        if self.frame.open {
            self.frame.unit.nested.push(unit);
        } else {
            if frame.implicit && self.implicit.is_none() {
                self.implicit = Some(self.units.len());
            }
            self.units.push(unit);
        }
    }

    /// Ends the text: what is still open is reported.
    fn finish(&mut self, last: Span) {
        let end = Span::new(last.file, last.end, last.end);
        while self.frame.open {
            let unit = &self.frame.unit;
            let what = if self.frame.implicit {
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
        // A second one is a fault, which its name then shows.
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

    // INCLUDE.

    fn include(&mut self, st: &Statement, free: bool, pos: usize) {
        if st.text.get(pos) != Some(&CHAR) || st.text.len() != pos + 1 {
            let mut line = self.line(st, free, pos);
            if line.eat(CHAR) {
                let read = line.end();
                self.check(read);
            } else {
                let fault = line.expected("the name of a file in quotes");
                self.report(*fault);
            }
            return;
        }
        let name = st.string_value(pos);
        let span = st.span(pos, pos + 1);
        let from = self
            .sources
            .get(st.file)
            .map_or_else(String::new, |f| f.name.clone());
        let failed = |why: String| {
            Diagnostic::error(
                &rules::INCLUDE_FAILED,
                span,
                format!("cannot include `{name}`: {why}"),
            )
        };
        self.includes += 1;
        if self.readers.len() > MAX_INCLUDE_DEPTH || self.includes > MAX_INCLUDES {
            let report = failed("too many files include each other".to_owned());
            self.report(report);
            return;
        }
        let (shown, text) = match self.loader.load(&from, name) {
            Ok(found) => found,
            Err(why) => {
                let report = failed(why);
                self.report(report);
                return;
            }
        };
        let open = |r: &Reader| self.sources.get(r.file).is_some_and(|f| f.name == shown);
        if self.readers.iter().any(open) {
            let report = failed("it includes itself".to_owned());
            self.report(report);
            return;
        }
        let form = if free { Form::Free } else { Form::Fixed };
        let file = self.sources.add(shown, text.clone());
        self.readers.push(Reader::new(file, text, form));
    }
}

fn label_of(st: &Statement) -> Option<Label> {
    st.label.map(|(l, _)| l)
}

/// The label in an assignment to `DO10I`, and that name.
fn looks_like_do(st: &Statement) -> Option<(Label, &str)> {
    let text = std::str::from_utf8(&st.text).ok()?;
    let (name, _) = text.split_once('=')?;
    let rest = name.strip_prefix("DO")?;
    let variable = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let label = rest[..rest.len() - variable.len()].parse().ok()?;
    let right = variable.starts_with(|c: char| c.is_ascii_uppercase())
        && variable.bytes().all(super::line::is_name_letter);
    right.then_some((label, name))
}

/// A faulty IF statement was meant to open a block: it ends with THEN or something like
/// it, or right after its condition.
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

impl Line<'_> {
    fn program_header(&mut self) -> Read<()> {
        self.frame.unit.kind = UnitKind::Program;
        self.frame.unit.name = "MAIN".into();
        let (name, span) = self.expect_name("the name of the program")?;
        self.frame.unit.name = name.into();
        self.frame.unit.name_span = span;
        self.end()
    }

    fn block_data_header(&mut self) -> Read<()> {
        self.frame.unit.kind = UnitKind::BlockData;
        if let Some((name, span)) = self.name() {
            self.frame.unit.name = name.into();
            self.frame.unit.name_span = span;
        }
        self.end()
    }

    fn subprogram_header(&mut self) -> Read<()> {
        let mut recursive = self.keyword("RECURSIVE");
        let mut ty = None;
        if self.keyword_end(self.pos, "FUNCTION").is_none()
            && self.keyword_end(self.pos, "SUBROUTINE").is_none()
        {
            ty = Some(self.type_spec()?);
        }
        recursive |= self.keyword("RECURSIVE");
        self.frame.unit.recursive = recursive;
        let function = self.keyword("FUNCTION");
        if function {
            self.frame.unit.kind = UnitKind::Function;
        } else if !self.keyword("SUBROUTINE") {
            return Err(self.expected("FUNCTION or SUBROUTINE"));
        }
        let (name, span) = self.expect_name(if function {
            "the name of the function"
        } else {
            "the name of the subroutine"
        })?;
        self.frame.unit.name = name.into();
        self.frame.unit.name_span = span;
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
        if function {
            result = Some(self.intern(name, span));
        }
        let read = self.dummies();
        if function
            && read.is_ok()
            && self
                .keyword_end(self.pos, "RESULT")
                .is_some_and(|e| self.at(e) == b'(')
        {
            self.keyword("RESULT");
            self.expect(b'(')?;
            let (sym, _) = self.expect_sym("the name of the result")?;
            self.expect(b')')?;
            result = Some(sym);
        }
        if let Some(sym) = result {
            let symbol = &mut self.frame.unit.symbols[sym];
            symbol.place = Place::Result;
            if let Some(spec) = ty {
                symbol.ty = Some(spec.ty);
                symbol.typed = true;
                symbol.length = spec.length;
                self.frame.unit.typed_header = true;
            }
            self.frame.unit.result = Some(sym);
        }
        self.frame.unit.args = read?;
        self.end()
    }
}

/// The keyword that a word may have been meant to be.
fn suggestion(word: &str) -> Option<&'static str> {
    words().filter(|w| w.len() > 2).find(|w| {
        let compact: String = w.chars().filter(|c| *c != ' ').collect();
        // What follows the keyword may stick to it.
        let most = word.len().min(compact.len() + 1);
        (compact.len().saturating_sub(1)..=most)
            .filter_map(|n| word.get(..n))
            .any(|start| close_to(start, &compact))
    })
}

/// One letter wrong, missing, extra, or two exchanged.
pub(super) fn close_to(word: &str, meant: &str) -> bool {
    let (a, b) = (word.as_bytes(), meant.as_bytes());
    if a.len().abs_diff(b.len()) > 1 || a == b {
        return false;
    }
    let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[same..], &b[same..]);
    match a.len().cmp(&b.len()) {
        std::cmp::Ordering::Less => *a == b[1..],
        std::cmp::Ordering::Greater => a[1..] == *b,
        std::cmp::Ordering::Equal => {
            a[1..] == b[1..] || a.len() >= 2 && a[0] == b[1] && a[1] == b[0] && a[2..] == b[2..]
        }
    }
}
