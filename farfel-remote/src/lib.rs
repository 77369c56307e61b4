//! The shared tier of Farfel's cache: bytes by name, on a server or in a directory.
//!
//! A blocking wrapper around [OpenDAL](https://opendal.apache.org), in a separate crate because it
//! pulls in a network client: only users who share a cache compile it. What the bytes mean, and
//! whether they can be trusted, is up to `farfel-driver`.
//!
//! | address | service |
//! |---|---|
//! | `redis://[USER[:PASSWORD]@]HOST[:PORT][/DB]`, `rediss://…` | a Redis server; with TLS |
//! | `s3://BUCKET[/FOLDER][?region=…&endpoint=…]` | S3 and compatible services; keys from the environment or `~/.aws` |
//! | `webdav://[USER:PASSWORD@]HOST[:PORT]/FOLDER`, `webdavs://…` | WebDAV; folders are created |
//! | `http://…`, `https://…` | a server that supports GET and PUT |
//! | `file:///FOLDER` | a directory, such as one on a file server |
//!
//! **Invariant:** every call returns within the time limit, whatever the other side does; no error
//! message contains any part of the address, which may include a password.

// Whatever users write, they get a diagnostic and never a panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod address;
mod error;

pub use error::Error;

use address::Service;
use futures_util::TryStreamExt;
use opendal_core::ErrorKind;
use std::sync::mpsc;
use std::time::Duration;
use tokio::runtime::Runtime;

/// A shared cache. Threads can share it by reference.
pub struct Remote {
    service: Service,
    timeout: Duration,
    /// `None` only during drop.
    runtime: Option<Runtime>,
}

impl Remote {
    /// Parses an address. Nothing is sent before the first read or write.
    ///
    /// # Errors
    ///
    /// The address is not one of those listed in this module's documentation; a thread cannot be
    /// started; or, for addresses with TLS, there is no trusted certificate.
    pub fn open(address: &str, timeout: Duration) -> Result<Remote, Error> {
        let service = address::service(address, timeout)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("farfel remote cache")
            .enable_all()
            .build()
            .map_err(|_| Error::Threads)?;
        Ok(Remote {
            service,
            timeout,
            runtime: Some(runtime),
        })
    }

    /// Returns the bytes with this name, or `None` if there are none.
    ///
    /// # Errors
    ///
    /// There are more than `limit` bytes; the time limit is exceeded; any error that the other side
    /// reports.
    pub fn read(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>, Error> {
        let service = self.service.clone();
        let name = name.to_owned();
        let result = self.within(async move {
            let operator = service.operator().await?;
            let mut stream = operator.reader(&name).await?.into_stream(..).await?;
            let mut bytes = Vec::new();
            while let Some(part) = stream.try_next().await? {
                if (bytes.len() + part.len()) as u64 > limit {
                    return Err(Error::TooLarge);
                }
                for part in part {
                    bytes.extend_from_slice(&part);
                }
            }
            Ok(bytes)
        });
        match result {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Error::NotFound) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Stores bytes under a name.
    ///
    /// # Errors
    ///
    /// The time limit is exceeded; any error that the other side reports.
    pub fn write(&self, name: &str, bytes: Vec<u8>) -> Result<(), Error> {
        let service = self.service.clone();
        let name = name.to_owned();
        self.within(async move {
            let operator = service.operator().await?;
            operator.write(&name, bytes).await?;
            Ok(())
        })
    }

    /// Runs a future on the runtime's own thread, so that the caller may be in any context, and
    /// abandons it at the time limit.
    fn within<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let runtime = self.runtime.as_ref().ok_or(Error::Threads)?;
        let (sender, receiver) = mpsc::sync_channel(1);
        let task = runtime.spawn(async move {
            // Nobody is listening any more after the time limit.
            let _ = sender.send(work.await);
        });
        receiver.recv_timeout(self.timeout).unwrap_or_else(|e| {
            task.abort();
            Err(match e {
                mpsc::RecvTimeoutError::Timeout if self.service.hides_refusal() => {
                    Error::TimeoutOrRefused(self.timeout)
                }
                mpsc::RecvTimeoutError::Timeout => Error::Timeout(self.timeout),
                mpsc::RecvTimeoutError::Disconnected => Error::Threads,
            })
        })
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // A host name lookup cannot be interrupted, so this does not wait for it.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl From<opendal_core::Error> for Error {
    fn from(error: opendal_core::Error) -> Error {
        match error.kind() {
            ErrorKind::NotFound => Error::NotFound,
            ErrorKind::PermissionDenied => Error::Refused,
            ErrorKind::RateLimited => Error::TooOften,
            ErrorKind::Unsupported => Error::Unsupported,
            ErrorKind::ConfigInvalid => Error::Settings,
            _ => error::cause(&error),
        }
    }
}
