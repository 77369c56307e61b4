//! Parses ALLOCATE and DEALLOCATE.

use super::statement_parser::{ParseResult, StatementParser};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{Allocation, Expr, ExprKind, StmtKind};

impl StatementParser<'_> {
    /// Parses `ALLOCATE (A(N), B(0:N, 3), STAT=IERR)` or `DEALLOCATE (A, B)`.
    pub fn allocation(&mut self, free: bool) -> ParseResult<StmtKind> {
        self.expect(b'(')?;
        let (mut objects, mut control) = (Vec::new(), Vec::new());
        loop {
            let from = self.pos;
            let end = self.name_end(from);
            if end > from && self.at(end) == b'=' {
                let name = self.text(from, end);
                let known: &[&str] = match free {
                    true => &["STAT", "ERRMSG"],
                    false => &["STAT", "ERRMSG", "SOURCE", "MOLD"],
                };
                if !known.contains(&name) {
                    return Err(Box::new(Diagnostic::error(
                        &rules::SYNTAX,
                        self.st.span(from, end),
                        format!("expected STAT= or the name of an array, found `{name}=`"),
                    )));
                }
                self.pos = end + 1;
                let value = Box::new(self.expr()?);
                control.push(Expr::new(
                    ExprKind::Keyword(name.into(), value),
                    self.since(from),
                ));
            } else {
                objects.push(self.designator()?);
                if self.peek() == b':' {
                    let mut error = self.expected("`,` or `)`");
                    error.help =
                        Some("the type belongs in the declaration of the array".to_owned());
                    return Err(error);
                }
            }
            if self.list_ends()? {
                break;
            }
        }
        if objects.is_empty() {
            return Err(self.expected("the name of an array"));
        }
        Ok(StmtKind::Allocation(Box::new(Allocation {
            free,
            objects,
            control,
        })))
    }
}
