//! Verifying the program after every pass of the compiler.

/// The variable by which build scripts are told to verify passes: `1`.
pub const VERIFY_PASSES: &str = "FARFEL_VERIFY_PASSES";

/// From now on, verifies the program after every pass of the compiler, in this process.
pub fn verify_passes() {
    farfel_lang::verify::turn_on();
}

/// Has [`verify_passes`] been called?
pub fn verifies_passes() -> bool {
    farfel_lang::verify::is_asked()
}

/// What is said where Farfel itself fails, after what failed. `ask` is how passes are verified here:
/// ``run it again with `--verify-passes` ``.
///
/// ```
/// let said = farfel_driver::fault_of_farfel("run it again with `--verify-passes`");
/// assert!(said.contains("--verify-passes") && said.contains(farfel_driver::REPORT));
/// ```
pub fn fault_of_farfel(ask: &str) -> String {
    let again = match verifies_passes() {
        true => String::new(),
        false => format!("  {ask}, which may tell the pass that is at fault;\n"),
    };
    format!("{again}  please report it with this message and the source: {REPORT}")
}

/// Where faults of Farfel are reported.
pub const REPORT: &str = farfel_lang::verify::REPORT;
