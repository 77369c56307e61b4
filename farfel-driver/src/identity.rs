//! The identity of this compiler.

/// Returns the identity of this compiler: compilers with equal identities give equal results.
pub(crate) fn identity() -> String {
    format!(
        "{} {} {} {} {}",
        env!("CARGO_PKG_VERSION"),
        farfel_lang::VERSION,
        farfel_ad::VERSION,
        farfel_tools::VERSION,
        env!("FARFEL_SOURCES")
    )
}
