//! Prints executable statements.

use super::line::Line;
use super::scope::Scope;
use super::writer::Writer;
use crate::encoding;
use crate::ir::{
    AdAssign, AdBlock, AdItem, AdMode, Allocation, DoControl, Entry, Expr, ExprKind, Io, IoKind,
    Label, Stmt, StmtKind,
};
use crate::source::Span;

impl Writer<'_> {
    /// Prints statements in order.
    pub(super) fn block(&mut self, scope: &Scope, block: &[Stmt]) {
        for stmt in block {
            self.stmt(scope, stmt);
        }
    }

    pub(super) fn stmt(&mut self, scope: &Scope, stmt: &Stmt) {
        let Stmt {
            id: _,
            label,
            kind,
            span,
        } = stmt;
        match kind {
            StmtKind::Comment(comment) => self.remark(comment),
            StmtKind::If(block) => self.if_block(scope, *label, *span, block),
            StmtKind::Select(select) => self.select(scope, *label, *span, select),
            StmtKind::Where(w) if !w.statement => {
                self.where_block(scope, *label, *span, &w.block);
            }
            StmtKind::LogicalIf(condition, inner) if !is_simple(&inner.kind) => {
                // A pass has put a block in place of the user's single statement.
                self.statement(*label, *span, |l| {
                    l.condition(scope, "IF (", condition, ") THEN")
                });
                self.inside(scope, std::slice::from_ref(inner));
                self.fixed_statement(None, Span::NONE, "END IF");
            }
            StmtKind::Do(d) => self.do_loop(scope, *label, *span, d),
            StmtKind::Ad(block) => self.ad_block(scope, *label, *span, block),
            StmtKind::Assign(..)
            | StmtKind::Where(_)
            | StmtKind::LogicalIf(..)
            | StmtKind::ArithmeticIf(..)
            | StmtKind::Continue
            | StmtKind::Goto(_)
            | StmtKind::ComputedGoto(..)
            | StmtKind::AssignedGoto(..)
            | StmtKind::AssignLabel(..)
            | StmtKind::Call(..)
            | StmtKind::Return(_)
            | StmtKind::Stop(_)
            | StmtKind::Pause(_)
            | StmtKind::Io(_)
            | StmtKind::Format(_)
            | StmtKind::Allocation(_)
            | StmtKind::Entry(_)
            | StmtKind::Cycle(_)
            | StmtKind::Exit(_) => self.statement(*label, *span, |l| l.simple(scope, kind)),
        }
    }

    /// Prints a block, indented.
    pub(super) fn inside(&mut self, scope: &Scope, block: &[Stmt]) {
        self.open();
        self.block(scope, block);
        self.close();
    }

    fn ad_block(&mut self, scope: &Scope, label: Option<Label>, span: Span, block: &AdBlock) {
        let AdBlock {
            mode,
            vector_mode,
            opening,
            body,
            closing,
            end_span,
        } = block;
        let keyword = match mode {
            AdMode::Forward => "ADF",
            AdMode::Reverse => "ADR",
        };
        self.statement(label, span, |l| {
            l.push(keyword);
            l.open();
            if let Some(s) = vector_mode {
                l.push(s.word());
                l.equals();
                l.expr(scope, &s.count);
                if !opening.is_empty() {
                    l.comma();
                }
            }
            l.list(opening, |l, i| l.opening_item(scope, *mode, i));
            l.close();
        });
        self.inside(scope, body);
        self.statement(None, *end_span, |l| {
            l.push("END ");
            l.push(keyword);
            if !closing.is_empty() {
                l.open();
                l.list(closing, |l, i| l.closing_item(scope, *mode, i));
                l.close();
            }
        });
    }
}

/// Whether a statement may follow `IF (…)` on its line.
fn is_simple(kind: &StmtKind) -> bool {
    match kind {
        StmtKind::Comment(_)
        | StmtKind::If(_)
        | StmtKind::Select(_)
        | StmtKind::LogicalIf(..)
        | StmtKind::Do(_)
        | StmtKind::Format(_)
        | StmtKind::Entry(_)
        | StmtKind::Ad(_) => false,
        StmtKind::Where(w) => w.statement,
        StmtKind::Assign(..)
        | StmtKind::ArithmeticIf(..)
        | StmtKind::Continue
        | StmtKind::Goto(_)
        | StmtKind::ComputedGoto(..)
        | StmtKind::AssignedGoto(..)
        | StmtKind::AssignLabel(..)
        | StmtKind::Call(..)
        | StmtKind::Return(_)
        | StmtKind::Stop(_)
        | StmtKind::Pause(_)
        | StmtKind::Io(_)
        | StmtKind::Allocation(_)
        | StmtKind::Cycle(_)
        | StmtKind::Exit(_) => true,
    }
}

impl Line {
    pub(super) fn condition(&mut self, scope: &Scope, before: &str, condition: &Expr, after: &str) {
        self.push(before);
        self.expr(scope, condition);
        self.push(after);
    }

    pub(super) fn do_control(&mut self, scope: &Scope, control: &DoControl) {
        match control {
            DoControl::Count {
                var,
                from,
                to,
                step,
            } => {
                self.put(format_args!(" {} = ", scope.name(*var)));
                self.bounds(scope, from, to, step.as_ref());
            }
            DoControl::While(condition) => self.condition(scope, " WHILE (", condition, ")"),
            DoControl::Forever => {}
        }
    }

    /// Prints a statement that contains no others.
    fn simple(&mut self, scope: &Scope, kind: &StmtKind) {
        match kind {
            StmtKind::Comment(_)
            | StmtKind::If(_)
            | StmtKind::Select(_)
            | StmtKind::Do(_)
            | StmtKind::Ad(_) => {}
            StmtKind::Where(w) => {
                for (mask, body) in &w.block.arms {
                    self.condition(scope, "WHERE (", mask, ") ");
                    self.gap();
                    body.iter().for_each(|s| self.simple(scope, &s.kind));
                }
            }
            StmtKind::Assign(target, value) => {
                self.expr(scope, target);
                self.push(" = ");
                self.gap();
                self.expr(scope, value);
            }
            StmtKind::LogicalIf(condition, inner) => {
                let Stmt {
                    id: _,
                    label: _,
                    kind,
                    span: _,
                } = &**inner;
                self.condition(scope, "IF (", condition, ") ");
                self.gap();
                self.simple(scope, kind);
            }
            StmtKind::ArithmeticIf(e, labels) => {
                self.condition(scope, "IF (", e, ") ");
                self.labels(labels);
            }
            StmtKind::Continue => self.push("CONTINUE"),
            StmtKind::Goto(label) => self.put(format_args!("GOTO {label}")),
            StmtKind::ComputedGoto(labels, e) => {
                self.push("GOTO (");
                self.labels(labels);
                self.push("), ");
                self.gap();
                self.expr(scope, e);
            }
            StmtKind::AssignedGoto(var, labels) => {
                self.put(format_args!("GOTO {}", scope.name(*var)));
                if !labels.is_empty() {
                    self.push(", (");
                    self.labels(labels);
                    self.close();
                }
            }
            StmtKind::AssignLabel(label, var) => {
                self.put(format_args!("ASSIGN {label} TO {}", scope.name(*var)));
            }
            StmtKind::Call(sub, args) => {
                self.put(format_args!("CALL {}", scope.callee(*sub)));
                if !args.is_empty() {
                    self.arguments(scope, args);
                }
            }
            StmtKind::Return(e) => self.keyword(scope, "RETURN", e.as_ref()),
            StmtKind::Stop(e) => self.keyword(scope, "STOP", e.as_ref()),
            StmtKind::Pause(e) => self.keyword(scope, "PAUSE", e.as_ref()),
            StmtKind::Io(io) => self.io(scope, io),
            StmtKind::Format(text) => self.format(text),
            StmtKind::Allocation(a) => {
                let Allocation {
                    free,
                    objects,
                    control,
                } = &**a;
                self.push(if *free { "DEALLOCATE" } else { "ALLOCATE" });
                self.push(" (");
                self.gap();
                self.list(objects.iter().chain(control), |l, e| {
                    l.expr(scope, e);
                    if let ExprKind::Var(s) = e.kind {
                        l.component(scope, s);
                    }
                });
                self.close();
            }
            StmtKind::Entry(entry) => {
                let Entry { name, args } = &**entry;
                self.put(format_args!("ENTRY {}", scope.name(*name)));
                self.dummies(scope, args);
            }
            StmtKind::Cycle(name) => self.named("CYCLE", name.as_deref()),
            StmtKind::Exit(name) => self.named("EXIT", name.as_deref()),
        }
    }

    fn labels(&mut self, labels: &[Label]) {
        self.list(labels, |l, label| l.put(label));
    }

    fn keyword(&mut self, scope: &Scope, keyword: &str, e: Option<&Expr>) {
        self.push(keyword);
        if let Some(e) = e {
            self.push(" ");
            self.expr(scope, e);
        }
    }

    fn named(&mut self, keyword: &str, name: Option<&str>) {
        self.push(keyword);
        if let Some(name) = name {
            self.push(" ");
            self.push(name);
        }
    }

    fn io(&mut self, scope: &Scope, io: &Io) {
        let Io {
            kind,
            control,
            parens,
            items,
        } = io;
        self.push(match kind {
            IoKind::Read => "READ ",
            IoKind::Write => "WRITE ",
            IoKind::Print => "PRINT ",
            IoKind::Open => "OPEN ",
            IoKind::Close => "CLOSE ",
            IoKind::Inquire => "INQUIRE ",
            IoKind::Rewind => "REWIND ",
            IoKind::Backspace => "BACKSPACE ",
            IoKind::Endfile => "ENDFILE ",
            IoKind::Flush => "FLUSH ",
        });
        if *parens {
            self.arguments(scope, control);
        } else {
            self.exprs(scope, control);
        }
        if !items.is_empty() {
            if *parens {
                self.push(" ");
                self.gap();
            } else {
                self.comma();
            }
            self.exprs(scope, items);
        }
    }

    /// Prints a FORMAT. Its text is kept as written, and broken after commas outside of character
    /// and Hollerith constants.
    pub(super) fn format(&mut self, text: &str) {
        self.push("FORMAT(");
        self.gap();
        let mut rest = text.trim_start_matches(' ');
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(format_piece(rest));
            self.push(piece);
            rest = after.trim_start_matches(' ');
            if piece.ends_with(',') {
                if rest.len() < after.len() {
                    self.push(" ");
                }
                self.gap();
            }
        }
        self.close();
    }

    fn opening_item(&mut self, scope: &Scope, mode: AdMode, item: &AdItem) {
        match item {
            AdItem::Assign(a) => {
                let AdAssign {
                    var,
                    direction,
                    other,
                    short,
                    span: _,
                } = a;
                if *short {
                    self.expr(scope, var);
                } else {
                    self.derivative(scope, mode, var, direction.as_ref());
                    self.equals();
                    self.expr(scope, other);
                }
            }
            AdItem::ImpliedDo(d) => {
                self.implied_do(scope, d, |l, s, i| l.opening_item(s, mode, i));
            }
        }
    }

    fn closing_item(&mut self, scope: &Scope, mode: AdMode, item: &AdItem) {
        match item {
            AdItem::Assign(a) => {
                let AdAssign {
                    var,
                    direction,
                    other,
                    short: _,
                    span: _,
                } = a;
                self.expr(scope, other);
                self.equals();
                self.derivative(scope, mode, var, direction.as_ref());
            }
            AdItem::ImpliedDo(d) => {
                self.implied_do(scope, d, |l, s, i| l.closing_item(s, mode, i));
            }
        }
    }

    fn derivative(&mut self, scope: &Scope, mode: AdMode, var: &Expr, direction: Option<&Expr>) {
        self.push(match mode {
            AdMode::Forward => "TANGENT",
            AdMode::Reverse => "COTANGENT",
        });
        self.open();
        self.expr(scope, var);
        if let Some(k) = direction {
            self.comma();
            self.expr(scope, k);
        }
        self.close();
    }
}

/// Returns the length of the first piece of a format: a constant, or text up to and including a
/// comma.
fn format_piece(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut i = 0;
    let mut number = None;
    while i < bytes.len() {
        match bytes[i] {
            b',' => return i + 1,
            quote @ (b'\'' | b'"') => {
                // A doubled quote parses as the end of one constant and the start of the next,
                // which amounts to the same.
                i += 1;
                while i < bytes.len() && bytes[i] != quote {
                    i += 1;
                }
                number = None;
            }
            d @ b'0'..=b'9' => {
                let n: usize = number.unwrap_or(0);
                number = Some(n.saturating_mul(10).saturating_add(usize::from(d - b'0')));
            }
            b' ' => {}
            b'H' | b'h' => {
                // A Hollerith constant. Characters are not split.
                let mut left = number.take().unwrap_or(0);
                for c in text.get(i + 1..).unwrap_or("").chars() {
                    if left == 0 {
                        break;
                    }
                    left = left.saturating_sub(encoding::width(c));
                    i += c.len_utf8();
                }
            }
            _ => number = None,
        }
        i = i.saturating_add(1);
    }
    let mut end = i.min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    end
}
