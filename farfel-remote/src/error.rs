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
    #[error("`{0}://` is not one of redis, rediss, s3, webdav, webdavs, http, https, file")]
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
    /// The time limit is over; the client may have tried a wrong password again and again.
    #[error("it did not answer within {} ms, or refuses access", .0.as_millis())]
    TimeoutOrRefused(Duration),
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

/// What the system or the server says about a failure, as far as it cannot quote an address:
/// the reason of a failed connection, the status of an answer.
pub(crate) fn cause(error: &opendal_core::Error) -> Error {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<std::io::Error>()
            && io.raw_os_error().is_some()
        {
            return Error::connection(io);
        }
        next = error.source();
    }
    // The status of an answer is there as text only.
    let text = error.to_string();
    if ["NOAUTH", "WRONGPASS", "NOPERM"]
        .iter()
        .any(|word| text.contains(word))
    {
        return Error::Refused;
    }
    let status = text.split_once("status: ").map(|(_, rest)| rest);
    match status.and_then(|rest| rest.get(..3)?.parse::<u16>().ok()) {
        Some(401 | 403 | 407) => Error::Refused,
        Some(status) => Error::Failed(format!("it answers with HTTP status {status}")),
        None => Error::Failed("it failed, or answered what cannot be understood".into()),
    }
}

impl Error {
    /// What the system says.
    pub(crate) fn connection(error: &std::io::Error) -> Error {
        let text = error.to_string();
        let end = text.find(" (os error").unwrap_or(text.len());
        Error::Failed(text[..end].to_lowercase())
    }
}
