//! The second tier: a cache that is shared with others.
//!
//! It is asked for entries that are not on this machine, and receives those that are made here, unless it is
//! read-only. If it is slow, down or broken, the build continues without it: the first error is reported and
//! ends its use for this run.
//!
//! # Who must be trusted
//!
//! A remote entry is checked against its own digest and the requested key, which detects damage and mix-ups.
//! This says nothing about who has made the entry: **whoever can write to the remote cache can put objects
//! there that your build links.** Grant write access only to those whom you would allow to commit: CI writes,
//! and everybody else sets `remote-read-only`. With a secret in the environment variable
//! `FARFEL_CACHE_SECRET`, entries are sealed with it (a keyed BLAKE3 hash), and entries that are not sealed
//! with it are rejected: then the server and the network need not be trusted, but only those who know the
//! secret.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::entry::{self, Entry};
use super::key::hex;
use super::notices::{Notices, Topic};
use crate::config::CacheSettings;

/// A store of bytes by name. Calls end within the time limit, or shortly after it.
pub(super) trait Backend: Send + Sync {
    /// Returns the bytes stored under a name, or `None` if there are none. More than `limit` bytes are an
    /// error.
    fn read(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>, String>;
    /// Stores bytes under a name.
    fn write(&self, name: &str, bytes: Vec<u8>) -> Result<(), String>;
}

/// The remote tier as used by one run.
pub(super) struct Remote {
    backend: Arc<dyn Backend>,
    shown: String,
    seal: Seal,
    timeout: Duration,
    state: Arc<State>,
    uploads: Mutex<Option<Uploads>>,
    /// The total time of reads that found nothing.
    wasted: Mutex<Duration>,
}

struct State {
    given_up: AtomicBool,
    damaged: AtomicU32,
    notices: Arc<Notices>,
}

struct Uploads {
    queue: SyncSender<(String, Vec<u8>)>,
    done: Receiver<()>,
}

/// The maximum size of an entry in bytes. Larger ones are not worth the wait, and nobody may exhaust our
/// memory.
const LIMIT: u64 = 1 << 30;
/// The maximum number of waiting uploads. Uploads that find the queue full are dropped.
const QUEUE: usize = 64;
/// The remote cache is abandoned after fruitless waits that add up to this many timeouts.
const WASTE: u32 = 5;
/// The remote cache is abandoned after this many damaged entries.
const DAMAGED: u32 = 3;
/// The environment variable with the secret that seals entries.
const SECRET: &str = "FARFEL_CACHE_SECRET";

impl Remote {
    /// Opens the tier that the settings name, if they name one and it can be used.
    pub(super) fn open(settings: &CacheSettings, notices: &Arc<Notices>) -> Option<Remote> {
        let url = settings.remote.as_deref()?;
        let secret = std::env::var(SECRET).ok().filter(|s| !s.is_empty());
        match connect(url, Duration::from_millis(settings.remote_timeout)) {
            Ok(backend) => Some(Remote::new(backend, settings, secret.as_deref(), notices)),
            Err(why) => {
                notices.add(Topic::Remote, || {
                    format!("the remote cache {} is not used: {why}", shown(url))
                });
                None
            }
        }
    }

    pub(super) fn new(
        backend: Arc<dyn Backend>,
        settings: &CacheSettings,
        secret: Option<&str>,
        notices: &Arc<Notices>,
    ) -> Remote {
        let state = Arc::new(State {
            given_up: AtomicBool::new(false),
            damaged: AtomicU32::new(0),
            notices: Arc::clone(notices),
        });
        let shown = settings.remote.as_deref().map(shown).unwrap_or_default();
        let uploads = if settings.remote_read_only {
            None
        } else {
            Uploads::start(Arc::clone(&backend), Arc::clone(&state), shown.clone())
        };
        Remote {
            backend,
            shown,
            seal: Seal::new(secret),
            timeout: Duration::from_millis(settings.remote_timeout),
            state,
            uploads: Mutex::new(uploads),
            wasted: Mutex::default(),
        }
    }

    /// Returns the entry for a key, and its bytes for the local tier.
    pub(super) fn get(&self, key: &[u8; 32]) -> Option<(Entry, Vec<u8>)> {
        if self.state.is_given_up() {
            return None;
        }
        let start = Instant::now();
        let found = match self.backend.read(&self.seal.name(key), LIMIT) {
            Ok(None) => None,
            Ok(Some(bytes)) => self.opened(key, bytes),
            Err(why) => {
                self.state.give_up(&self.shown, &why);
                None
            }
        };
        if found.is_none() {
            let mut wasted = self.wasted.lock().unwrap_or_else(PoisonError::into_inner);
            *wasted += start.elapsed();
            if *wasted > self.timeout * WASTE {
                self.state.give_up(&self.shown, "it is too slow");
            }
        }
        found
    }

    /// Decodes remote bytes into the entry for a key, if they are valid.
    fn opened(&self, key: &[u8; 32], bytes: Vec<u8>) -> Option<(Entry, Vec<u8>)> {
        if !entry::begins(&bytes) {
            // For example a login page of a web server, or another program's data.
            let why = "it answered with something that is not an entry";
            self.state.give_up(&self.shown, why);
            return None;
        }
        let opened = self.seal.open(bytes);
        let found = opened.and_then(|bytes| Some((entry::decode(key, &bytes)?, bytes)));
        if found.is_none() {
            // An interrupted upload may have left it. The entry that is made now replaces it, so this is no
            // reason to give up at once.
            let damaged = match self.seal {
                Seal::None => "damaged",
                Seal::Secret { .. } => "damaged, or not sealed with this secret",
            };
            self.state.notices.add(Topic::Remote, || {
                format!("an entry of the remote cache {} is {damaged}", self.shown)
            });
            if self.state.damaged.fetch_add(1, Ordering::Relaxed) + 1 >= DAMAGED {
                self.state.given_up.store(true, Ordering::Relaxed);
            }
        }
        found
    }

    /// Uploads an entry in the background, unless too many are waiting.
    pub(super) fn put(&self, key: &[u8; 32], bytes: Vec<u8>) {
        if self.state.is_given_up() {
            return;
        }
        let uploads = self.uploads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(uploads) = uploads.as_ref() {
            // If the queue is full, someone else will upload the entry at some time.
            let job = (self.seal.name(key), self.seal.close(bytes));
            let _ = uploads.queue.try_send(job);
        }
    }

    /// Waits for the uploads, at most for the time limit. Nothing is uploaded afterwards.
    pub(super) fn finish(&self) {
        let uploads = self
            .uploads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(Uploads { queue, done }) = uploads else {
            return;
        };
        drop(queue);
        if self.state.is_given_up() {
            return;
        }
        // The thread drops its end of the channel when it has finished.
        if done.recv_timeout(self.timeout) == Err(RecvTimeoutError::Timeout) {
            let why = "it takes what is uploaded too slowly";
            self.state.give_up(&self.shown, why);
        }
    }
}

impl State {
    fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    fn give_up(&self, shown: &str, why: &str) {
        self.given_up.store(true, Ordering::Relaxed);
        self.notices.add(Topic::Remote, || {
            format!("the remote cache {shown} is not used in this run: {why}")
        });
    }
}

impl Uploads {
    /// Starts the upload thread; `None` if it cannot be started.
    fn start(backend: Arc<dyn Backend>, state: Arc<State>, shown: String) -> Option<Uploads> {
        let (queue, waiting) = sync_channel::<(String, Vec<u8>)>(QUEUE);
        let (ended, done) = sync_channel::<()>(0);
        let work = move || {
            // Dropped at the end, which is what `finish` waits for.
            let _ended = ended;
            for (name, bytes) in waiting {
                if state.is_given_up() {
                    break;
                }
                if let Err(why) = backend.write(&name, bytes) {
                    state.give_up(&shown, &why);
                }
            }
        };
        let thread = thread::Builder::new().name("farfel uploads".into());
        thread.spawn(work).ok()?;
        Some(Uploads { queue, done })
    }
}

/// How entries are named and sealed remotely. Each secret has its own names, so that users with and without
/// it do not overwrite each other's entries.
enum Seal {
    None,
    Secret { key: [u8; 32], folder: String },
}

impl Seal {
    fn new(secret: Option<&str>) -> Seal {
        let Some(secret) = secret else {
            return Seal::None;
        };
        let folder = blake3::derive_key("farfel 2026-11 cache folder", secret.as_bytes());
        Seal::Secret {
            key: blake3::derive_key("farfel 2026-11 cache seal", secret.as_bytes()),
            folder: hex(&folder[..4]),
        }
    }

    fn name(&self, key: &[u8; 32]) -> String {
        let name = hex(key);
        let (first, rest) = name.split_at(2);
        match self {
            Seal::None => format!("farfel-v1/{first}/{rest}"),
            Seal::Secret { folder, .. } => format!("farfel-v1-{folder}/{first}/{rest}"),
        }
    }

    /// Appends the seal to the bytes of an entry.
    fn close(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        if let Seal::Secret { key, .. } = self {
            let seal = blake3::keyed_hash(key, &bytes);
            bytes.extend_from_slice(seal.as_bytes());
        }
        bytes
    }

    /// Returns the bytes of an entry without their seal, if they are sealed as required.
    fn open(&self, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
        if let Seal::Secret { key, .. } = self {
            let (body, seal) = bytes.split_last_chunk::<32>()?;
            // This comparison takes constant time.
            if blake3::keyed_hash(key, body) != *seal {
                return None;
            }
            let length = body.len();
            bytes.truncate(length);
        }
        Some(bytes)
    }
}

/// Returns an address without the parts that may be secret: user, password, query and fragment.
pub(super) fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        // This is not an address, so all of it may be a secret.
        return "(not an address)".into();
    };
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (place, query) = rest.split_at(end);
    let place = match place.rsplit_once('@') {
        Some((_, place)) => place,
        // Either a password that is not encoded properly, or a query: impossible to tell.
        None if query.contains('@') => "",
        None => place,
    };
    let host = place.split('/').next().unwrap_or(place);
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    if !host.ends_with(']') && port.contains(|c: char| !c.is_ascii_digit()) {
        // This is not a port but a password, whose host was forgotten.
        return format!("{scheme}://");
    }
    format!("{scheme}://{place}")
}

/// Returns the address of the remote cache as it may be shown, and the time that an answer takes.
pub(super) fn reach(settings: &CacheSettings) -> Option<(String, Result<Duration, String>)> {
    let url = settings.remote.as_deref()?;
    let timeout = Duration::from_millis(settings.remote_timeout);
    let start = Instant::now();
    let answer = connect(url, timeout)
        .and_then(|backend| backend.read(&Seal::new(None).name(&[0; 32]), LIMIT))
        .map(|_| start.elapsed());
    Some((shown(url), answer))
}

#[cfg(feature = "remote-cache")]
fn connect(url: &str, timeout: Duration) -> Result<Arc<dyn Backend>, String> {
    struct There(farfel_remote::Remote);
    impl Backend for There {
        fn read(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>, String> {
            self.0.read(name, limit).map_err(|e| e.to_string())
        }

        fn write(&self, name: &str, bytes: Vec<u8>) -> Result<(), String> {
            self.0.write(name, bytes).map_err(|e| e.to_string())
        }
    }
    let remote = farfel_remote::Remote::open(url, timeout).map_err(|e| e.to_string())?;
    Ok(Arc::new(There(remote)))
}

#[cfg(not(feature = "remote-cache"))]
fn connect(_url: &str, _timeout: Duration) -> Result<Arc<dyn Backend>, String> {
    Err("Farfel was compiled without the feature `remote-cache`".into())
}

#[cfg(test)]
mod tests;
