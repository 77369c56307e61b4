//! A program unit that is being parsed, and its open blocks.

use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    AdBlock, AdItem, AdMode, Block, BlockDelimiter, Case, Do, DoControl, DoEnd, Expr, IfBlock,
    Label, Name, Select, Spec, SpecKind, Stmt, StmtKind, SymId, Unit, UnitKind, VectorMode, Where,
};
use crate::source::Span;
use std::collections::{HashMap, HashSet};

/// A program unit that is being parsed.
#[derive(Debug)]
pub(super) struct OpenUnit {
    pub unit: Unit,
    /// Whether a unit is open; false for the text between units.
    pub(super) open: bool,
    /// Whether executable statements have begun.
    pub(super) executable: bool,
    /// Whether CONTAINS was read, so that only subprograms may follow.
    pub(super) contains: bool,
    /// Whether this is a main program without a PROGRAM statement.
    pub(super) implicit: bool,
    /// The column in which the header begins.
    pub(super) column: u32,
    pub(super) blocks: Vec<OpenBlock>,
    pub(super) labels: HashMap<Label, Span>,
    /// The labels of ELSE and CASE, which nothing may jump to, with the keyword.
    pub(super) dead_labels: HashMap<Label, &'static str>,
    /// The labels of FORMAT statements.
    pub(super) formats: HashSet<Label>,
    /// The labels of declarations, which nothing can jump to.
    pub(super) declarations: HashSet<Label>,
    pub(super) references: Vec<(Label, Span, LabelUse)>,
    /// Assignments to `DO10I` before there is a label 10, which may be loops without a comma.
    pub(super) suspects: Vec<(Label, Span)>,
    /// The results that ENTRY statements name with RESULT.
    pub(super) entry_results: Vec<RenamedResult>,
}

/// The result of an ENTRY that has another name than the ENTRY.
#[derive(Debug)]
pub(super) struct RenamedResult {
    pub(super) result: SymId,
    pub(super) entry: Name,
    /// The place of the result's name in the ENTRY statement.
    pub(super) span: Span,
}

/// The purpose of a reference to a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LabelUse {
    /// As the target of a jump.
    Jump,
    /// As the format of input or output.
    Format,
    /// Either, in ASSIGN.
    Either,
}

/// A block that has not been closed yet.
#[derive(Debug)]
pub(super) struct OpenBlock {
    pub(super) kind: OpenBlockKind,
    /// The statements of the block, or of its last branch.
    pub(super) body: Block,
    pub(super) label: Option<Label>,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum OpenBlockKind {
    /// IF, and also WHERE, which has branches of the same form.
    If(OpenIf),
    Select {
        name: Option<Name>,
        selector: Expr,
        comments: Block,
        cases: Vec<Case>,
        /// The values of the current case, and its CASE; `None` before the first.
        current: Option<(Option<Vec<Expr>>, BlockDelimiter)>,
    },
    Do {
        name: Option<Name>,
        control: DoControl,
        label: Option<Label>,
    },
    Ad {
        mode: AdMode,
        vector_mode: Option<VectorMode>,
        opening: Vec<AdItem>,
    },
}

#[derive(Debug)]
pub(super) struct OpenIf {
    pub(super) is_where: bool,
    pub(super) name: Option<Name>,
    pub(super) arms: Vec<(Expr, Block)>,
    pub(super) marks: Vec<BlockDelimiter>,
    /// The condition of the current branch; `None` in ELSE.
    pub(super) condition: Option<Expr>,
}

impl OpenBlock {
    /// Returns the error that a block was not closed before the item at a place.
    pub(super) fn unclosed(&self, before: &str, span: Span) -> Diagnostic {
        let word = self.kind.word();
        let message = format!("{word} is not closed");
        let missing = format!("{} is missing before {before}", self.kind.end_word());
        Diagnostic::error(&rules::UNCLOSED_BLOCK, self.span, message)
            .label("opened here")
            .related(span, missing)
    }
}

impl OpenBlockKind {
    pub(super) fn word(&self) -> &'static str {
        match self {
            OpenBlockKind::If(b) if b.is_where => "WHERE",
            OpenBlockKind::If(_) => "IF",
            OpenBlockKind::Select { .. } => "SELECT CASE",
            OpenBlockKind::Do { .. } => "DO",
            OpenBlockKind::Ad { mode, .. } => ad_word(*mode),
        }
    }

    pub(super) fn end_word(&self) -> String {
        match self {
            OpenBlockKind::Do {
                label: Some(label), ..
            } => format!("a statement with label {label}"),
            OpenBlockKind::Select { .. } => "END SELECT".to_owned(),
            kind => format!("END {}", kind.word()),
        }
    }

    /// Returns the name of the construct.
    pub(super) fn name(&self) -> Option<&Name> {
        match self {
            OpenBlockKind::If(OpenIf { name, .. })
            | OpenBlockKind::Select { name, .. }
            | OpenBlockKind::Do { name, .. } => name.as_ref(),
            OpenBlockKind::Ad { .. } => None,
        }
    }
}

pub(super) fn ad_word(mode: AdMode) -> &'static str {
    match mode {
        AdMode::Forward => "ADF",
        AdMode::Reverse => "ADR",
    }
}

pub(super) fn unit_word(kind: UnitKind) -> &'static str {
    match kind {
        UnitKind::Program => "PROGRAM",
        UnitKind::Subroutine => "SUBROUTINE",
        UnitKind::Function => "FUNCTION",
        UnitKind::BlockData => "BLOCK DATA",
    }
}

impl OpenUnit {
    pub(super) fn new(kind: UnitKind, name: &str, span: Span) -> Self {
        OpenUnit {
            unit: Unit::new(kind, name.into(), span),
            open: true,
            executable: false,
            contains: false,
            implicit: false,
            column: 0,
            blocks: Vec::new(),
            labels: HashMap::new(),
            dead_labels: HashMap::new(),
            formats: HashSet::new(),
            declarations: HashSet::new(),
            references: Vec::new(),
            suspects: Vec::new(),
            entry_results: Vec::new(),
        }
    }

    /// Represents the text between units.
    pub(super) fn none() -> Self {
        OpenUnit {
            open: false,
            ..OpenUnit::new(UnitKind::Program, "", Span::NONE)
        }
    }

    /// Records that a statement refers to a label.
    pub fn refer(&mut self, label: Label, span: Span, purpose: LabelUse) {
        self.references.push((label, span, purpose));
    }

    /// Returns the error if a label belongs to a statement of the wrong kind for the reference.
    pub(super) fn misused(
        &self,
        label: Label,
        span: Span,
        purpose: LabelUse,
    ) -> Option<Diagnostic> {
        let format = self.formats.contains(&label);
        let (message, help) = if purpose == LabelUse::Format && !format {
            (
                format!("the statement with label {label} is not a FORMAT statement"),
                "name the label of a FORMAT statement, or write `*` or the format itself, as in `'(I5)'`",
            )
        } else if purpose == LabelUse::Jump && format {
            (
                format!("{label} is the label of a FORMAT statement, where nothing can jump to"),
                "put the label on the statement after it",
            )
        } else if self.declarations.contains(&label) {
            (
                format!("{label} is the label of a declaration, where nothing can jump to"),
                "put the label on an executable statement",
            )
        } else {
            return None;
        };
        let there = self.labels.get(&label).copied();
        let error = Diagnostic::error(&rules::BAD_LABEL, span, message).help(help);
        Some(match there {
            Some(there) => error.related(there, "the label is here"),
            None => error,
        })
    }

    /// Whether the type of a name is declared.
    pub fn declares(&self, name: &str) -> bool {
        let symbols = &self.unit.symbols;
        symbols.find(name).is_some_and(|s| symbols[s].typed)
    }

    pub(super) fn push(&mut self, statement: Stmt) {
        match self.blocks.last_mut() {
            Some(block) => block.body.push(statement),
            None => self.unit.body.push(statement),
        }
    }

    pub(super) fn spec(&mut self, kind: SpecKind, span: Span) {
        self.unit.specs.push(Spec { kind, span });
    }

    /// Closes the innermost block.
    pub(super) fn close(&mut self, end_label: Option<Label>, closing: Vec<AdItem>, end_span: Span) {
        let Some(block) = self.blocks.pop() else {
            return;
        };
        let OpenBlock {
            kind,
            body,
            label,
            span,
        } = block;
        let kind = match kind {
            OpenBlockKind::If(OpenIf {
                is_where,
                name,
                mut arms,
                marks,
                condition,
            }) => {
                let otherwise = match condition {
                    Some(c) => {
                        arms.push((c, body));
                        None
                    }
                    None => Some(body),
                };
                let block = IfBlock {
                    name,
                    arms,
                    otherwise,
                    marks,
                    end_label,
                    end_span,
                };
                if is_where {
                    StmtKind::Where(Box::new(Where {
                        statement: false,
                        block,
                    }))
                } else {
                    StmtKind::If(block)
                }
            }
            OpenBlockKind::Select {
                name,
                selector,
                mut comments,
                mut cases,
                current,
            } => {
                match current {
                    Some((values, mark)) => cases.push(Case { values, body, mark }),
                    None => comments = body,
                }
                StmtKind::Select(Box::new(Select {
                    name,
                    selector,
                    comments,
                    cases,
                    end: BlockDelimiter {
                        label: end_label,
                        span: end_span,
                    },
                }))
            }
            OpenBlockKind::Do {
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
                end_span,
                directive: None,
            })),
            OpenBlockKind::Ad {
                mode,
                vector_mode,
                opening,
            } => StmtKind::Ad(Box::new(AdBlock {
                mode,
                vector_mode,
                opening,
                body,
                closing,
                end_span,
            })),
        };
        self.push(Stmt::labelled(label, kind, span));
    }
}
