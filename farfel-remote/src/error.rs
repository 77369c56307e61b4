//! Why the shared cache did not do what it was asked.

use std::time::Duration;

/// Why the shared cache did not do what it was asked. No message has a part of its address.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The address cannot be read.
    #[error("its address is wrong: {0}")]
    Address(&'static str),
    /// The address is of a kind that is not known.
    #[error("`{0}://` is none of redis, rediss, s3, webdav, webdavs, http, https, file")]
    Scheme(String),
    /// The address can be read but means nothing to the service.
    #[error("its address or its settings in the environment are wrong or incomplete")]
    Settings,
    /// No thread could be started.
    #[error("no thread could be started for it")]
    Threads,
    /// TLS cannot be used.
    #[error("there are no certificates to check it by")]
    Tls,
    /// The time limit is over.
    #[error("it did not answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// Nothing has this name.
    #[error("it has no such entry")]
    NotFound,
    /// User or password are wrong, or may not do this.
    #[error("it refuses access")]
    Refused,
    /// The server asks for patience.
    #[error("it gets too many requests")]
    TooOften,
    /// The server cannot do this.
    #[error("it cannot do what is needed")]
    Unsupported,
    /// There are more bytes than there can be.
    #[error("an answer is too large")]
    TooLarge,
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

/// What the system says about a failed connection. Other texts may quote the address, and are
/// not shown.
pub(crate) fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<std::io::Error>()
            && io.raw_os_error().is_some()
        {
            let text = io.to_string();
            let end = text.find(" (os error").unwrap_or(text.len());
            return text[..end].to_lowercase();
        }
        next = error.source();
    }
    "it failed, or answered something that cannot be understood".into()
}
