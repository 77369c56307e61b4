//! The interface of all AD tools.

use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{Program, Request, Unit};

/// Something that differentiates programs.
pub trait AdTool: Send + Sync {
    /// Its name, as users choose it.
    fn name(&self) -> &str;

    /// New units to add to the program: the derivative of `request.head` and of all below
    /// it that is active. A unit that bears the name of one in the program replaces it. Adds to
    /// `warnings` what is worth knowing: where a derivative is dropped silently.
    ///
    /// # Errors
    ///
    /// What cannot be differentiated, at its place in the source.
    fn differentiate_warning(
        &self,
        program: &Program,
        request: &Request,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Vec<Unit>, Vec<Diagnostic>>;

    /// [`AdTool::differentiate_warning`] for those who do not ask for warnings.
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
