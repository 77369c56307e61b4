//! Verification of the program after every pass of the compiler.

/// The environment variable that makes build scripts verify passes, if set to `1`.
pub const VERIFY_PASSES: &str = "FARFEL_VERIFY_PASSES";

/// Enables verification of the program after every pass of the compiler, in this process.
pub fn verify_passes() {
    farfel_lang::verify::turn_on();
}

/// Whether [`verify_passes`] has been called.
pub fn verifies_passes() -> bool {
    farfel_lang::verify::is_requested()
}

/// Returns the text printed after an internal error of Farfel, to follow the description of the error. `ask`
/// says how the user enables the verification of passes: ``run it again with `--verify-passes` ``.
///
/// ```
/// let said = farfel_driver::internal_error("run it again with `--verify-passes`");
/// assert!(said.contains("--verify-passes") && said.contains(farfel_driver::REPORT));
/// ```
pub fn internal_error(ask: &str) -> String {
    let again = match verifies_passes() {
        true => String::new(),
        false => format!("  {ask}, which may tell the pass that is at fault;\n"),
    };
    format!("{again}  please report it with this message and the source: {REPORT}")
}

/// The address for reports of internal errors.
pub const REPORT: &str = farfel_lang::verify::REPORT;
