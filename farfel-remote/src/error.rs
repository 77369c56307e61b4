//! Errors of the shared cache.

use std::time::Duration;

/// Why an operation on the shared cache failed. No message contains any part of its address.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The address cannot be parsed.
    #[error("its address is wrong: {0}")]
    Address(&'static str),
    /// The scheme of the address is unknown.
    #[error("`{0}://` is not one of redis, rediss, s3, webdav, webdavs, http, https, file")]
    Scheme(String),
    /// The address can be parsed but is not valid for the service.
    #[error("its address or its settings in the environment are wrong or incomplete")]
    Settings,
    /// A thread could not be started.
    #[error("no thread could be started for it")]
    Threads,
    /// TLS is unavailable.
    #[error("there are no certificates to check it by")]
    Tls,
    /// The time limit was exceeded.
    #[error("it did not answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The time limit was exceeded; the client may have kept retrying with a wrong password.
    #[error("it did not answer within {} ms, or refuses access", .0.as_millis())]
    TimeoutOrRefused(Duration),
    /// There is no entry with this name.
    #[error("it has no such entry")]
    NotFound,
    /// User or password are wrong, or lack permission.
    #[error("it refuses access")]
    Refused,
    /// The server limits the rate of requests.
    #[error("it gets too many requests")]
    TooOften,
    /// The server does not support the operation.
    #[error("it cannot do what is needed")]
    Unsupported,
    /// There are more bytes than allowed.
    #[error("an answer is too large")]
    TooLarge,
    /// Any other failure.
    #[error("{0}")]
    Failed(String),
}

/// Returns what the system or the server says about a failure, as far as it cannot contain an
/// address: the reason of a failed connection, or the status of a response.
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
    // The status of a response is only available as text.
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
    /// Returns the system's message for a failed connection.
    pub(crate) fn connection(error: &std::io::Error) -> Error {
        let text = error.to_string();
        let end = text.find(" (os error").unwrap_or(text.len());
        Error::Failed(text[..end].to_lowercase())
    }
}
