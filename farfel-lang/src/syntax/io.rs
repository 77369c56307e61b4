//! Parses input and output statements.

use super::open_unit::LabelUse;
use super::spelling::close_to;
use super::statement_parser::{ParseResult, StatementParser};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{Expr, ExprKind, ImpliedDo, Io, IoKind, StmtKind};

/// The controls that every input or output statement accepts.
const OF_ALL: &str = "UNIT ERR IOSTAT IOMSG";

/// The additional controls of a statement: those of the standard, and those of old compilers.
fn controls(kind: IoKind) -> &'static str {
    match kind {
        IoKind::Read | IoKind::Write | IoKind::Print => {
            "FMT NML REC END EOR ADVANCE SIZE POS ID ASYNCHRONOUS BLANK DECIMAL DELIM PAD ROUND SIGN \
             KEY KEYID"
        }
        IoKind::Open => {
            "FILE STATUS ACCESS FORM RECL BLANK POSITION ACTION DELIM PAD NEWUNIT CONVERT ENCODING \
             DECIMAL ROUND SIGN ASYNCHRONOUS NAME TYPE READONLY SHARED DISPOSE DISP CARRIAGECONTROL \
             CC RECORDSIZE RECORDTYPE ORGANIZATION SHARE MAXREC ASSOCIATEVARIABLE INITIALSIZE \
             EXTENDSIZE USEROPEN DEFAULTFILE BLOCKSIZE BUFFERED BUFFERCOUNT NOSPANBLOCKS KEY"
        }
        IoKind::Close => "STATUS DISPOSE DISP",
        IoKind::Inquire => {
            "FILE EXIST OPENED NUMBER NAMED NAME ACCESS SEQUENTIAL DIRECT FORM FORMATTED UNFORMATTED \
             RECL NEXTREC BLANK POSITION ACTION READ WRITE READWRITE DELIM PAD SIZE POS STREAM \
             ENCODING DECIMAL ROUND SIGN ASYNCHRONOUS PENDING ID IOLENGTH CONVERT CARRIAGECONTROL \
             SHARE KEYED ORGANIZATION RECORDTYPE"
        }
        _ => "",
    }
}

impl StatementParser<'_> {
    /// Reads what follows READ, WRITE, PRINT, OPEN, …
    pub fn io(&mut self, kind: IoKind) -> ParseResult<StmtKind> {
        let parens = self.peek() == b'(' && self.is_control(kind);
        let mut control = Vec::new();
        let mut items = Vec::new();
        let lists = matches!(kind, IoKind::Read | IoKind::Write);
        if parens {
            control = self.control(kind)?;
            let length = |e: &Expr| matches!(&e.kind, ExprKind::Keyword(w, _) if w == "IOLENGTH");
            if lists || kind == IoKind::Inquire && control.iter().any(length) {
                self.eat(b',');
                if !self.done() {
                    items = self.io_list()?;
                }
            }
        } else if matches!(kind, IoKind::Read | IoKind::Print) {
            control.push(self.format_or_unit(true)?);
            if self.eat(b',') {
                items = self.io_list()?;
            }
        } else if matches!(
            kind,
            IoKind::Rewind | IoKind::Backspace | IoKind::Endfile | IoKind::Flush
        ) {
            control.push(self.format_or_unit(false)?);
        } else {
            return Err(self.expected("`(`"));
        }
        self.end()?;
        Ok(StmtKind::Io(Box::new(Io {
            kind,
            control,
            parens,
            items,
        })))
    }

    /// Whether the next parentheses enclose a control list. In `READ (F), X` and `PRINT (F), X`
    /// they belong to the format, and in `REWIND (U)` to the unit. Old programs have a comma after
    /// the list, too: `READ (5, *), X`.
    fn is_control(&self, kind: IoKind) -> bool {
        match kind {
            IoKind::Print => false,
            IoKind::Read => match self.closing(self.pos) {
                Some(close) if self.at(close + 1) == b',' => self.is_list(close),
                _ => true,
            },
            _ => true,
        }
    }

    /// Whether the parentheses from here to `close` enclose more than the format of `READ (F), X`.
    fn is_list(&self, close: usize) -> bool {
        let from = self.pos + 1;
        let unit = self.at(from) == b'*' || self.digits_end(from) == close;
        let end = self.name_end(from);
        let is_named = end > from && self.at(end) == b'=' && self.at(end + 1) != b'=';
        let mut depth = 0i32;
        unit || is_named
            || (from..close).any(|at| {
                depth += match self.at(at) {
                    b'(' => 1,
                    b')' => -1,
                    _ => 0,
                };
                depth == 0 && self.at(at) == b','
            })
    }

    /// Parses a format label, `*`, or an expression.
    fn format_or_unit(&mut self, format: bool) -> ParseResult<Expr> {
        let from = self.pos;
        if self.eat(b'*') {
            return Ok(Expr::new(ExprKind::Star, self.since(from)));
        }
        let end = self.digits_end(from);
        if format && end > from && matches!(self.at(end), 0 | b',') {
            let label = self.label_for(LabelUse::Format)?;
            return Ok(Expr::int(i64::from(label), self.since(from)));
        }
        self.expr()
    }

    /// Parses `(UNIT, FMT, IOSTAT=I)`.
    fn control(&mut self, kind: IoKind) -> ParseResult<Vec<Expr>> {
        self.expect(b'(')?;
        let mut list = Vec::new();
        loop {
            let from = self.pos;
            let end = self.name_end(from);
            if end > from && self.at(end) == b'=' && self.at(end + 1) != b'=' {
                self.known_control(kind, self.text(from, end), &list)?;
                let word = standard(kind, self.text(from, end));
                self.pos = end + 1;
                let label = matches!(word, "END" | "ERR" | "EOR")
                    || matches!(word, "FMT") && {
                        let digits = self.digits_end(self.pos);
                        digits > self.pos && matches!(self.at(digits), b',' | b')')
                    };
                let value = if label {
                    let at = self.pos;
                    let n = self.label_for(match word {
                        "FMT" => LabelUse::Format,
                        _ => LabelUse::Jump,
                    })?;
                    Expr::int(i64::from(n), self.since(at))
                } else {
                    self.format_or_unit(false)?
                };
                if !(kind == IoKind::Open && is_usual(word, &value)) {
                    list.push(Expr::new(
                        ExprKind::Keyword(word.into(), Box::new(value)),
                        self.since(from),
                    ));
                }
            } else if let Some(words) = self.lone_word(kind, end) {
                self.pos = end;
                let span = self.since(from);
                list.extend(words.map(|(word, value)| {
                    let value = Expr::new(ExprKind::Char(value.to_owned()), span);
                    Expr::new(ExprKind::Keyword(word.into(), Box::new(value)), span)
                }));
            } else {
                let formatted = matches!(kind, IoKind::Read | IoKind::Write);
                let digits = self.digits_end(from);
                let ends = matches!(self.at(digits), b',' | b')');
                if formatted && list.len() == 1 && digits > from && ends {
                    let n = self.label_for(LabelUse::Format)?;
                    list.push(Expr::int(i64::from(n), self.since(from)));
                } else {
                    list.push(self.format_or_unit(false)?);
                }
            }
            if self.list_ends()? {
                return Ok(list);
            }
        }
    }

    /// Checks that a statement accepts a control and has it only once.
    fn known_control(&self, kind: IoKind, word: &str, list: &[Expr]) -> ParseResult<()> {
        let span = self.st.span(self.pos, self.pos + word.len());
        let again = list
            .iter()
            .any(|e| matches!(&e.kind, ExprKind::Keyword(w, _) if w == standard(kind, word)));
        if again {
            let message = format!("{word}= is given twice");
            return Err(Box::new(Diagnostic::error(&rules::SYNTAX, span, message)));
        }
        let own = controls(kind);
        if own.split(' ').chain(OF_ALL.split(' ')).any(|w| w == word) {
            return Ok(());
        }
        let mut error = Diagnostic::error(
            &rules::SYNTAX,
            span,
            format!("this statement has no {word}="),
        );
        let similar = own.split(' ').chain(OF_ALL.split(' '));
        if let Some(meant) = similar.into_iter().find(|w| close_to(word, w)) {
            error = error.help(format!("did you mean {meant}=?"));
        }
        Err(Box::new(error))
    }

    /// Returns the standard Fortran equivalent, if any, of READONLY and similar words, which appear
    /// alone in OPEN.
    fn lone_word(&self, kind: IoKind, end: usize) -> Option<Option<(&'static str, &'static str)>> {
        if kind != IoKind::Open || !matches!(self.at(end), b',' | b')') {
            return None;
        }
        match self.text(self.pos, end) {
            "READONLY" => Some(Some(("ACTION", "READ"))),
            // The files of gfortran always are.
            "SHARED" | "NOSPANBLOCKS" => Some(None),
            _ => None,
        }
    }

    /// Parses items up to the end of the statement.
    fn io_list(&mut self) -> ParseResult<Vec<Expr>> {
        let mut items = Vec::new();
        loop {
            items.push(self.io_item()?);
            if !self.eat(b',') {
                return Ok(items);
            }
        }
    }

    /// Parses an expression or an implied DO.
    pub(super) fn io_item(&mut self) -> ParseResult<Expr> {
        let from = self.pos;
        if self.peek() != b'(' || !self.is_implied_do(from) {
            return self.expr();
        }
        self.pos += 1;
        self.enter()?;
        let mut items = Vec::new();
        while items.is_empty() || !self.at_loop_control() {
            items.push(self.io_item()?);
            if !self.eat(b',') {
                return Err(self.expected("`,`"));
            }
        }
        self.implied_do(items, from)
    }

    /// Parses what follows the items of an implied DO that begins at `from`:
    /// `var = from, to, step)`.
    pub(super) fn implied_do(&mut self, items: Vec<Expr>, from: usize) -> ParseResult<Expr> {
        self.leave();
        let (var, low, high, step) = self.loop_control()?;
        self.expect(b')')?;
        let made = ImpliedDo {
            items,
            var,
            from: low,
            to: high,
            step,
        };
        Ok(Expr::implied_do(made, self.since(from)))
    }

    /// Whether `NAME =` comes next.
    pub fn at_loop_control(&self) -> bool {
        let end = self.name_end(self.pos);
        end > self.pos && self.at(end) == b'=' && self.at(end + 1) != b'='
    }

    /// Whether a single `=` occurs directly within the parentheses that open at `open`.
    fn is_implied_do(&self, open: usize) -> bool {
        let mut depth = 0;
        let mut at = open;
        loop {
            match self.at(at) {
                0 => return false,
                b'(' => depth += 1,
                b')' => {
                    depth -= 1;
                    if depth == 0 {
                        return false;
                    }
                }
                b'=' if depth == 1 => {
                    if self.at(at + 1) == b'=' {
                        at += 1;
                    } else if !matches!(self.at(at - 1), b'/' | b'<' | b'>') {
                        return true;
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }
}

/// Whether a specifier of old compilers requests what gfortran does anyway: lines without carriage
/// control, shared files, sequential records. How much memory and disk space a file gets makes no
/// difference.
fn is_usual(word: &str, value: &Expr) -> bool {
    let is = |words: &[&str]| matches!(&value.kind, ExprKind::Char(c) if words.iter().any(|w| c.trim_end().eq_ignore_ascii_case(w)));
    match word {
        "CARRIAGECONTROL" => is(&["LIST"]),
        "SHARE" => is(&["DENYNONE"]),
        "ORGANIZATION" => is(&["SEQUENTIAL"]),
        "BUFFERED" => is(&["YES", "NO"]),
        "BLOCKSIZE" | "BUFFERCOUNT" | "INITIALSIZE" | "EXTENDSIZE" => {
            matches!(value.kind, ExprKind::Int(_))
        }
        _ => false,
    }
}

/// Returns the standard keyword for one that only old compilers know.
fn standard(kind: IoKind, word: &str) -> &str {
    match (kind, word) {
        (IoKind::Open, "NAME") => "FILE",
        (IoKind::Open, "RECORDSIZE") => "RECL",
        (IoKind::Open, "CC") => "CARRIAGECONTROL",
        (IoKind::Open, "TYPE") | (IoKind::Close, "DISPOSE" | "DISP") => "STATUS",
        _ => word,
    }
}
