//! Prints statements that contain others: IF, SELECT CASE, WHERE, DO.

use super::scope::Scope;
use super::writer::Writer;
use crate::ir::{
    BlockDelimiter, Case, Do, DoEnd, IfBlock, Label, LoopDirectiveKind, Name, Select, Stmt,
    StmtKind,
};
use crate::source::Span;

impl Writer<'_> {
    pub(super) fn if_block(
        &mut self,
        scope: &Scope,
        label: Option<Label>,
        span: Span,
        block: &IfBlock,
    ) {
        self.arms(scope, label, span, block, &IF);
    }

    pub(super) fn where_block(
        &mut self,
        scope: &Scope,
        label: Option<Label>,
        span: Span,
        block: &IfBlock,
    ) {
        self.arms(scope, label, span, block, &WHERE);
    }

    fn arms(
        &mut self,
        scope: &Scope,
        label: Option<Label>,
        span: Span,
        block: &IfBlock,
        words: &ConstructKeywords,
    ) {
        let IfBlock {
            name,
            arms,
            otherwise,
            marks,
            end_label,
            end_span,
        } = block;
        let mark = |i: usize| marks.get(i).copied().unwrap_or_default();
        for (i, (condition, body)) in arms.iter().enumerate() {
            if i == 0 {
                self.statement(label, span, |l| {
                    if let Some(name) = name {
                        l.put(format_args!("{name}: "));
                    }
                    l.condition(scope, words.first, condition, words.then);
                });
            } else {
                let BlockDelimiter { label, span } = mark(i - 1);
                self.statement(label, span.or(condition.span), |l| {
                    l.condition(scope, words.other, condition, words.then);
                    if let Some(name) = name {
                        l.put(format_args!(" {name}"));
                    }
                });
            }
            self.inside(scope, body);
        }
        if let Some(body) = otherwise {
            let BlockDelimiter { label, span } = mark(arms.len().saturating_sub(1));
            self.fixed_statement(label, span, &with_name(words.last, name.as_ref()));
            self.inside(scope, body);
        }
        self.fixed_statement(*end_label, *end_span, &with_name(words.end, name.as_ref()));
    }

    pub(super) fn select(
        &mut self,
        scope: &Scope,
        label: Option<Label>,
        span: Span,
        select: &Select,
    ) {
        let Select {
            name,
            selector,
            comments,
            cases,
            end,
        } = select;
        self.statement(label, span, |l| {
            if let Some(name) = name {
                l.put(format_args!("{name}: "));
            }
            l.condition(scope, "SELECT CASE (", selector, ")");
        });
        self.inside(scope, comments);
        for Case { values, body, mark } in cases {
            self.statement(mark.label, mark.span, |l| {
                match values {
                    Some(values) => {
                        l.push("CASE ");
                        l.arguments(scope, values);
                    }
                    None => l.push("CASE DEFAULT"),
                }
                if let Some(name) = name {
                    l.put(format_args!(" {name}"));
                }
            });
            self.inside(scope, body);
        }
        self.fixed_statement(end.label, end.span, &with_name("END SELECT", name.as_ref()));
    }

    pub(super) fn do_loop(&mut self, scope: &Scope, label: Option<Label>, span: Span, d: &Do) {
        let Do {
            name,
            control,
            body,
            end,
            end_span,
            directive: mark,
        } = d;
        match mark.as_ref().map(|m| &m.kind) {
            None | Some(LoopDirectiveKind::Replayed) => {}
            Some(LoopDirectiveKind::Parallel(clauses)) => {
                let text = super::openmp::directive(scope, clauses);
                self.comment(&text);
            }
            Some(kind) => self.comment(&format!("farfel: {kind}")),
        }
        self.statement(label, span, |l| {
            if let Some(name) = name {
                l.put(format_args!("{name}: "));
            }
            l.push("DO");
            if let DoEnd::Label(end) = end {
                l.put(format_args!(" {end}"));
            }
            l.do_control(scope, control);
        });
        let last = match end {
            DoEnd::EndDo(label) => {
                self.inside(scope, body);
                let text = with_name("END DO", name.as_ref());
                return self.fixed_statement(*label, *end_span, &text);
            }
            DoEnd::Label(end) => *end,
        };
        // For a loop with a label, only END DO can carry the construct name.
        let text = match name {
            Some(name) => format!("END DO {name}"),
            None => "CONTINUE".to_owned(),
        };
        match body.split_last() {
            // A CONTINUE ends the block in the text, so it is indented like the loop.
            Some((stmt, rest)) if stmt.label == Some(last) && stmt.kind == StmtKind::Continue => {
                self.inside(scope, rest);
                self.fixed_statement(Some(last), stmt.span, &text);
            }
            Some((stmt, _)) if ends_at(stmt, last) => self.inside(scope, body),
            _ => {
                // A pass has removed the statement with the label.
                self.inside(scope, body);
                self.fixed_statement(Some(last), Span::NONE, &text);
            }
        }
    }
}

/// The keywords of a construct with branches.
struct ConstructKeywords {
    first: &'static str,
    other: &'static str,
    then: &'static str,
    last: &'static str,
    end: &'static str,
}

const IF: ConstructKeywords = ConstructKeywords {
    first: "IF (",
    other: "ELSE IF (",
    then: ") THEN",
    last: "ELSE",
    end: "END IF",
};

const WHERE: ConstructKeywords = ConstructKeywords {
    first: "WHERE (",
    other: "ELSEWHERE (",
    then: ")",
    last: "ELSEWHERE",
    end: "END WHERE",
};

fn with_name(word: &str, name: Option<&Name>) -> String {
    match name {
        Some(name) => format!("{word} {name}"),
        None => word.to_owned(),
    }
}

/// Whether the text of `stmt` ends with a statement labelled `label`.
fn ends_at(stmt: &Stmt, label: Label) -> bool {
    match &stmt.kind {
        // Loops that share a label also share its statement. If it is missing in the inner loop, it
        // is added there.
        StmtKind::Do(d) => d.end == DoEnd::Label(label) || d.end == DoEnd::EndDo(Some(label)),
        StmtKind::If(b) => b.end_label == Some(label),
        StmtKind::Select(_) => false,
        StmtKind::Where(w) => w.statement && stmt.label == Some(label),
        _ => stmt.label == Some(label),
    }
}
