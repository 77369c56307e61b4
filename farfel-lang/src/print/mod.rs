//! The printer: turns a tree into text.
//!
//! Prints any [`Program`], at any stage, as Fortran (or Farfel) that parses back to the same tree.
//! The printer adds only what the text needs: parentheses where the text would otherwise parse as
//! another tree, continuation lines, and an IMPLICIT statement if the implicit rules appear in no
//! [`crate::ir::Spec`]. It declares nothing: a fact that no specification statement contains is not
//! printed ([`Unit::declare`](crate::ir::Unit::declare) is for the passes).
//!
//! | module | prints |
//! |---|---|
//! | `line` | one statement on as many lines as it needs, in both forms |
//! | `writer` | the whole text: indentation, labels, comments, line markers |
//! | `directive` | directives, `C$OMP …`, on as many lines as they need |
//! | `openmp` | the directive before a parallel loop |
//! | `scope` | the name of a symbol in the text |
//! | `expr` | expressions |
//! | `spec` | specification statements |
//! | `stmt` | executable statements |
//! | `blocks` | statements that contain others: IF, SELECT CASE, WHERE, DO |
//! | `unit` | headers, the order of the parts, nested subprograms |

mod blocks;
mod directive;
mod expr;
mod line;
mod openmp;
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

/// The options for printing a program.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// Fixed form (`.f`) or free form (`.f90`).
    pub form: Form,
    /// The sources of the program, to print line markers. A marker such as `# 12 "src/game.ff"`
    /// then precedes each statement that does not come from the line that a compiler would assume,
    /// so that compiler messages and debug information refer to the user's lines.
    pub line_markers: Option<&'a Sources>,
    /// Whether to print a line marker before every statement; `# 0 ""` if it comes from no source.
    pub every_line: bool,
    /// Whether to print comments. Directives (`C$OMP …`) are always printed.
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

/// Prints a whole program, its units in order and separated by empty lines.
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

/// Prints one top-level unit with everything in it.
pub fn print_unit(unit: &Unit, options: &Options) -> String {
    let mut writer = Writer::new(options);
    writer.unit(unit);
    writer.finish()
}

/// Prints an expression of `unit` on one line, for messages and comments.
pub fn print_expr(unit: &Unit, expr: &Expr) -> String {
    let mut line = Line::default();
    line.expr(&Scope::new(unit), expr);
    line.into_text()
}
