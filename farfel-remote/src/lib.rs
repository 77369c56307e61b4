//! The shared tier of Farfel's cache: bytes by name, on a server or in a directory.
//!
//! A blocking front of [OpenDAL](https://opendal.apache.org), in a crate of its own because
//! it brings a network client: only those who share a cache compile it. What the bytes mean,
//! and whether they are to be trusted, is the matter of `farfel-driver`.
//!
//! | address | what |
//! |---|---|
//! | `redis://[USER[:PASSWORD]@]HOST[:PORT][/DB]`, `rediss://…` | a Redis server; with TLS |
//! | `s3://BUCKET[/FOLDER][?region=…&endpoint=…]` | S3 and what is like it; keys from the environment or `~/.aws` |
//! | `webdav://[USER:PASSWORD@]HOST[:PORT]/FOLDER`, `webdavs://…` | WebDAV; folders are made |
//! | `http://…`, `https://…` | a server that takes GET and PUT |
//! | `file:///FOLDER` | a directory, such as one on a file server |
//!
//! **Invariant:** every call ends within the time limit, whatever the other side does; no
//! error has a part of the address in it, which may hold a password.

// Whatever users do, they get a message.
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

/// A shared cache. Threads use it by reference.
pub struct Remote {
    service: Service,
    timeout: Duration,
    /// None only while it is dropped.
    runtime: Option<Runtime>,
}

impl Remote {
    /// Understands an address. Nothing is sent before the first read or write.
    ///
    /// # Errors
    ///
    /// The address is none of those that this module lists; there is no thread or, for
    /// addresses with TLS, no certificate to trust.
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

    /// The bytes that have a name, none if it has none.
    ///
    /// # Errors
    ///
    /// There are more than `limit` bytes; the time is over; whatever the other side says.
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

    /// Gives bytes a name.
    ///
    /// # Errors
    ///
    /// The time is over; whatever the other side says.
    pub fn write(&self, name: &str, bytes: Vec<u8>) -> Result<(), Error> {
        let service = self.service.clone();
        let name = name.to_owned();
        self.within(async move {
            let operator = service.operator().await?;
            operator.write(&name, bytes).await?;
            Ok(())
        })
    }

    /// Runs something on the runtime's own thread, so that it works wherever the caller is,
    /// and leaves it behind when the time is over.
    fn within<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let runtime = self.runtime.as_ref().ok_or(Error::Threads)?;
        let (sender, receiver) = mpsc::sync_channel(1);
        let task = runtime.spawn(async move {
            // Nobody listens any more when the time is over.
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
        // Looking up a host's name cannot be stopped; nobody waits for it.
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
