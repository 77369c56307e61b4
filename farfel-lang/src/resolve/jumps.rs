//! Checks for jumps into loops, and for ENTRY within blocks.

use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{DoEnd, Label, Stmt, StmtKind, Unit};
use crate::source::Span;
use std::collections::HashMap;

/// Reports statements that lead into the middle of a block of a unit.
pub(super) fn check(unit: &Unit, diagnostics: &mut Vec<Diagnostic>) {
    let mut checker = JumpChecker::default();
    checker.block(&unit.body, 0, diagnostics);
    for (label, span, from) in &checker.jumps {
        let Some(to) = checker.labels.get(label) else {
            continue;
        };
        let Some(entered) = to.iter().find(|l| !from.contains(l)) else {
            continue;
        };
        diagnostics.push(
            Diagnostic::error(
                &rules::BAD_LABEL,
                *span,
                format!("the jump to {label} leads into a loop"),
            )
            .label("the loop's variable would have no value")
            .related(checker.loops[*entered].span, "the loop begins here")
            .help(
                "put the statements that are outside of the loop (its extended range, before \
                 FORTRAN 77) into it, or into a subroutine",
            ),
        );
    }
}

#[derive(Default)]
struct JumpChecker {
    loops: Vec<Loop>,
    /// The loops that are open.
    open: Vec<usize>,
    /// The loops that contain each label.
    labels: HashMap<Label, Vec<usize>>,
    jumps: Vec<(Label, Span, Vec<usize>)>,
}

struct Loop {
    span: Span,
    end: DoEnd,
}

impl JumpChecker {
    fn block(&mut self, block: &[Stmt], depth: usize, diagnostics: &mut Vec<Diagnostic>) {
        for s in block {
            self.statement(s, depth, diagnostics);
        }
    }

    fn statement(&mut self, s: &Stmt, depth: usize, diagnostics: &mut Vec<Diagnostic>) {
        if let Some(label) = s.label {
            self.label(label);
        }
        for label in s.kind.jumps() {
            self.jumps.push((label, s.span, self.open.clone()));
        }
        match &s.kind {
            StmtKind::Do(d) => {
                self.open.push(self.loops.len());
                self.loops.push(Loop {
                    span: s.span,
                    end: d.end,
                });
                self.block(&d.body, depth + 1, diagnostics);
                if let DoEnd::EndDo(Some(label)) = d.end {
                    self.label(label);
                }
                self.open.pop();
            }
            StmtKind::LogicalIf(_, inner) => self.statement(inner, depth, diagnostics),
            StmtKind::Entry(_) if depth > 0 => diagnostics.push(
                Diagnostic::error(
                    &rules::MISPLACED_STATEMENT,
                    s.span,
                    "ENTRY is not allowed inside a block",
                )
                .help("put it before or after the block"),
            ),
            _ => {
                for b in s.blocks() {
                    self.block(b, depth + 1, diagnostics);
                }
                match &s.kind {
                    StmtKind::If(b) => b.end_label.iter().for_each(|l| self.label(*l)),
                    StmtKind::Select(b) => b.end.label.iter().for_each(|l| self.label(*l)),
                    _ => {}
                }
            }
        }
    }

    fn label(&mut self, label: Label) {
        // Loops may share their last statement, and a jump to it is valid from within any of them.
        let ends = |l: &usize| self.loops[*l].end == DoEnd::Label(label);
        let to = match self.open.iter().position(ends) {
            Some(first) => &self.open[..=first],
            None => &self.open,
        };
        if !to.is_empty() {
            self.labels.insert(label, to.to_vec());
        }
    }
}
