//! The shared tier of Farfel's cache.

use std::time::Duration;

/// A remote cache.
pub struct Remote {}

/// Why the remote cache cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Remote {
    /// Opens.
    ///
    /// # Errors
    ///
    /// Not yet.
    pub fn open(_url: &str, _timeout: Duration) -> Result<Remote, Error> {
        Err(Error("not supported yet".into()))
    }

    /// Reads.
    ///
    /// # Errors
    ///
    /// Not yet.
    pub fn read(&self, _name: &str, _limit: u64) -> Result<Option<Vec<u8>>, Error> {
        Ok(None)
    }

    /// Writes.
    ///
    /// # Errors
    ///
    /// Not yet.
    pub fn write(&self, _name: &str, _bytes: Vec<u8>) -> Result<(), Error> {
        Ok(())
    }
}
