//! The common interface of AD tools.

use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{Program, Request, Unit};

/// A tool that differentiates programs.
pub trait AdTool: Send + Sync {
    /// The tool's name, as users select it.
    fn name(&self) -> &str;

    /// Returns new units to add to the program: the derivative of `request.head` and of every
    /// active unit below it. A unit with the name of an existing one replaces it. Adds warnings
    /// where a derivative is lost silently.
    ///
    /// # Errors
    ///
    /// Code that cannot be differentiated, with its position in the source.
    fn differentiate_warning(
        &self,
        program: &Program,
        request: &Request,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Vec<Unit>, Vec<Diagnostic>>;

    /// Like [`AdTool::differentiate_warning`], without the warnings.
    ///
    /// # Errors
    ///
    /// Those of [`AdTool::differentiate_warning`].
    fn differentiate(
        &self,
        program: &Program,
        request: &Request,
    ) -> Result<Vec<Unit>, Vec<Diagnostic>> {
        self.differentiate_warning(program, request, &mut Vec::new())
    }
}
