//! Which compiler this is.

/// What distinguishes this compiler from others: results of equal ones are equal.
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
