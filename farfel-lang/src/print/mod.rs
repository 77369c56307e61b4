//! Tree to text.
//!
//! Any [`Program`], at any stage, as Fortran (or Farfel) that reads back as the same
//! tree. The printer adds nothing of its own but what the text needs: parentheses where
//! precedence would otherwise read another tree, continuation lines, and an IMPLICIT
//! statement where the rules stand in no [`crate::ir::Spec`]. It declares nothing: facts that no
//! specification statement writes down stay unwritten
//! ([`Unit::declare`](crate::ir::Unit::declare) is for the passes).
//!
//! | module | what |
//! |---|---|
//! | `line` | one statement on as many lines as it needs, in both forms |
//! | `writer` | the whole text: indentation, labels, comments, line markers |
//! | `directive` | `C$OMP …` on as many lines as it needs |
//! | `scope` | which name a symbol has in the text |
//! | `expr` | expressions |
//! | `spec` | specification statements |
//! | `stmt` | executable statements |
//! | `blocks` | those that hold others: IF, SELECT CASE, WHERE, DO |
//! | `unit` | headers, order of the parts, nested subprograms |

mod blocks;
mod directive;
mod expr;
mod line;
mod scope;
mod spec;
mod stmt;
mod unit;
mod writer;

use crate::ir::{Expr, Program, Unit};
use crate::source::Sources;

pub use crate::syntax::Form;
pub(crate) use directive::lay_out as lay_out_directive;
use line::Line;
pub(crate) use line::whole_characters;
use scope::Scope;
use writer::Writer;

/// How a program is printed.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// Fixed form (`.f`) or free form (`.f90`).
    pub form: Form,
    /// With the sources of the program, a line `# 12 "src/game.ff"` stands before each
    /// statement that does not come from the line a compiler would assume, so that its
    /// messages and debug information name the user's lines.
    pub line_markers: Option<&'a Sources>,
    /// Line markers stand before every statement; `# 0 ""` before one that comes from nowhere.
    pub every_line: bool,
    /// Whether comments are printed. Directives (`C$OMP …`) are in any case.
    pub comments: bool,
}

impl Default for Options<'_> {
    /// Fixed form with comments, without line markers.
    fn default() -> Self {
        Options {
            form: Form::Fixed,
            line_markers: None,
            every_line: false,
            comments: true,
        }
    }
}

/// The text of a whole program, its units in order with an empty line between them.
pub fn print_program(program: &Program, options: &Options) -> String {
    let Program { units } = program;
    let mut writer = Writer::new(options);
    for (i, unit) in units.iter().enumerate() {
        if i > 0 {
            writer.empty_line();
        }
        writer.unit(unit);
    }
    writer.finish()
}

/// The text of one top-level unit with all it holds.
pub fn print_unit(unit: &Unit, options: &Options) -> String {
    let mut writer = Writer::new(options);
    writer.unit(unit);
    writer.finish()
}

/// The text of an expression of `unit` on one line, for messages and comments.
pub fn print_expr(unit: &Unit, expr: &Expr) -> String {
    let mut line = Line::default();
    line.expr(&Scope::new(unit), expr);
    line.into_text()
}
