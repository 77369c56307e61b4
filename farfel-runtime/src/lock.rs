//! The lock around subprograms that share state.

use crate::Error;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// The time that one call of a closure may keep another thread waiting. After that, the closure is
/// assumed to be waiting for that thread.
const PATIENCE: Duration = Duration::from_secs(10);

/// The interval at which a waiting thread tries again even if nobody wakes it.
const LOOK: Duration = Duration::from_millis(20);

/// Lets one thread at a time into the subprograms of a library that use COMMON, saved variables or
/// input and output.
///
/// The lock is reentrant, so that Fortran code may call back into Rust code that calls Fortran
/// code. Other threads wait. If the thread that holds the lock is running a closure, they give up
/// after ten seconds: a closure that waits for a thread that waits for the lock would otherwise
/// deadlock.
#[derive(Debug, Default)]
pub struct Lock {
    /// The thread that holds the lock, identified by the address of a thread-local variable; 0 if
    /// there is none.
    owner: AtomicUsize,
    mutex: Mutex<()>,
    /// The nesting depth of closures running on the thread that holds the lock (`closures`), and
    /// the number of times that one has started or ended (`changes`).
    closures: AtomicUsize,
    changes: AtomicUsize,
    /// The number of waiting threads, and the means to wake them.
    waiting: AtomicUsize,
    door: Mutex<()>,
    free: Condvar,
}

/// A lock of a library. All copies of the library's bindings in a program, in several modules or in a package's
/// library and its tests, share one lock for each name, as they share the Fortran variables.
#[derive(Debug)]
pub struct SharedLock {
    name: &'static str,
    lock: OnceLock<&'static Lock>,
}

/// The locks of all libraries by their names.
static LOCKS: Mutex<BTreeMap<&'static str, &'static Lock>> = Mutex::new(BTreeMap::new());

impl SharedLock {
    /// Creates one for a name that the library and the state that it protects determine.
    pub const fn new(name: &'static str) -> Self {
        SharedLock {
            name,
            lock: OnceLock::new(),
        }
    }

    /// Returns the lock with this name.
    fn of_name(&self) -> &'static Lock {
        self.lock.get_or_init(|| {
            let mut locks = LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
            // It is needed until the program ends.
            let lock = locks.entry(self.name);
            *lock.or_insert_with(|| &*Box::leak(Box::<Lock>::default()))
        })
    }

    /// Waits for the lock and takes it; see [`Lock::lock`].
    ///
    /// # Errors
    ///
    /// Same as [`Lock::lock`].
    pub fn lock(&self) -> Result<Guard, Error> {
        self.of_name().lock()
    }

    /// Waits for the lock and takes it; see [`Lock::lock_or_panic`].
    ///
    /// # Panics
    ///
    /// Same as [`Lock::lock_or_panic`].
    #[must_use = "the lock is released when the guard is dropped"]
    pub fn lock_or_panic(&self) -> Guard {
        self.of_name().lock_or_panic()
    }
}

/// Holds a [`Lock`] until dropped.
#[derive(Debug)]
pub struct Guard {
    /// `None` if the thread already held the lock.
    outermost: Option<Outermost>,
    /// Keeps the guard, even a nested one, on the thread that took the lock.
    not_send: PhantomData<*const ()>,
}

#[derive(Debug)]
struct Outermost {
    lock: &'static Lock,
    held: MutexGuard<'static, ()>,
    /// The lock that the thread took before this one.
    before: Option<&'static Lock>,
}

impl Lock {
    /// Creates a lock that nobody holds.
    pub const fn new() -> Self {
        Lock {
            owner: AtomicUsize::new(0),
            mutex: Mutex::new(()),
            closures: AtomicUsize::new(0),
            changes: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            door: Mutex::new(()),
            free: Condvar::new(),
        }
    }

    /// Waits until no other thread holds the lock, then takes it.
    ///
    /// A panic or STOP while the lock is held does not poison it: Fortran variables keep the values
    /// that the program left in them, as Fortran programs expect.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] if another thread holds the lock and has been in a single call of a closure
    /// for ten seconds.
    pub fn lock(&'static self) -> Result<Guard, Error> {
        self.lock_within(PATIENCE)
    }

    /// Like [`Lock::lock`], for functions that return no errors.
    ///
    /// # Panics
    ///
    /// With the message of the error, where [`Lock::lock`] returns one.
    #[must_use = "the lock is released when the guard is dropped"]
    #[expect(
        clippy::panic,
        reason = "the thread that is waited for cannot go on otherwise"
    )]
    pub fn lock_or_panic(&'static self) -> Guard {
        match self.lock() {
            Ok(guard) => guard,
            Err(error) => panic!("{error}"),
        }
    }

    fn lock_within(&'static self, patience: Duration) -> Result<Guard, Error> {
        let me = this_thread();
        // Only this thread stores its own address, so no other order is needed.
        if self.owner.load(Ordering::Relaxed) == me {
            return Ok(Guard {
                outermost: None,
                not_send: PhantomData,
            });
        }
        let held = match self.try_lock() {
            Some(held) => held,
            None => self.wait(patience)?,
        };
        self.owner.store(me, Ordering::Relaxed);
        Ok(Guard {
            outermost: Some(Outermost {
                lock: self,
                held,
                before: HELD.replace(Some(self)),
            }),
            not_send: PhantomData,
        })
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, ()>> {
        match self.mutex.try_lock() {
            Ok(held) => Some(held),
            Err(TryLockError::Poisoned(held)) => Some(held.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn wait(&self, patience: Duration) -> Result<MutexGuard<'_, ()>, Error> {
        struct Waits<'a>(&'a AtomicUsize);
        impl Drop for Waits<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let _waits = Waits(&self.waiting);
        let mut since: Option<(usize, Instant)> = None;
        let mut door = self.door.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(held) = self.try_lock() {
                return Ok(held);
            }
            // As long as this number stays the same, the owner is in a single call of a closure.
            let changes = self.changes.load(Ordering::Relaxed);
            let inside = self.closures.load(Ordering::Relaxed) > 0;
            since = match since {
                _ if !inside => None,
                Some((then, at)) if then == changes => Some((then, at)),
                _ => Some((changes, Instant::now())),
            };
            if since.is_some_and(|(_, at)| at.elapsed() >= patience) {
                return Err(Error::Busy {
                    seconds: patience.as_secs(),
                });
            }
            (door, _) = self
                .free
                .wait_timeout(door, LOOK)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Records that a closure starts or ends on the thread that holds the lock.
    fn closure(&self, more: bool) {
        // Only the thread that holds the lock changes these.
        let count = self.closures.load(Ordering::Relaxed);
        let count = if more {
            count + 1
        } else {
            count.saturating_sub(1)
        };
        self.closures.store(count, Ordering::Relaxed);
        let changes = self.changes.load(Ordering::Relaxed);
        self.changes
            .store(changes.wrapping_add(1), Ordering::Relaxed);
    }
}

/// Marks the lock that this thread took last as running a closure, until dropped.
pub(crate) struct ClosureRunning(Option<&'static Lock>);

impl ClosureRunning {
    #[inline]
    pub(crate) fn new() -> ClosureRunning {
        let held = HELD.get();
        held.inspect(|l| l.closure(true));
        ClosureRunning(held)
    }
}

impl Drop for ClosureRunning {
    #[inline]
    fn drop(&mut self) {
        self.0.inspect(|l| l.closure(false));
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(Outermost { lock, held, before }) = self.outermost.take() {
            HELD.set(before);
            lock.owner.store(0, Ordering::Relaxed);
            drop(held);
            if lock.waiting.load(Ordering::SeqCst) > 0 {
                lock.free.notify_one();
            }
        }
    }
}

thread_local! {
    /// Of the locks that this thread holds, the one that it took last.
    static HELD: Cell<Option<&'static Lock>> = const { Cell::new(None) };
}

/// Returns a nonzero number that is unique among living threads.
fn this_thread() -> usize {
    thread_local!(static MARK: u8 = const { 0 });
    MARK.with(|m| std::ptr::from_ref(m).addr())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn one_thread_at_a_time_and_the_same_thread_again() {
        static LOCK: Lock = Lock::new();
        static INSIDE: AtomicUsize = AtomicUsize::new(0);
        std::thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| {
                    for _ in 0..200 {
                        let _outer = LOCK.lock_or_panic();
                        drop(LOCK.lock_or_panic());
                        assert_eq!(INSIDE.fetch_add(1, Ordering::SeqCst), 0);
                        std::thread::yield_now();
                        assert_eq!(INSIDE.fetch_sub(1, Ordering::SeqCst), 1);
                    }
                });
            }
        });
    }

    #[test]
    fn copies_of_bindings_share_a_lock() {
        static ONE: SharedLock = SharedLock::new("library 1");
        static COPY: SharedLock = SharedLock::new("library 1");
        static OTHER: SharedLock = SharedLock::new("library 2");
        assert!(std::ptr::eq(ONE.of_name(), COPY.of_name()));
        assert!(!std::ptr::eq(ONE.of_name(), OTHER.of_name()));
        let _outer = ONE.lock_or_panic();
        // Nested, as it is the same lock.
        assert!(COPY.lock().unwrap().outermost.is_none());
    }

    #[test]
    fn a_panic_releases_it() {
        static LOCK: Lock = Lock::new();
        let result = std::panic::catch_unwind(|| {
            let _guard = LOCK.lock_or_panic();
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(result.is_err());
        std::thread::scope(|s| {
            s.spawn(|| drop(LOCK.lock_or_panic()));
        });
    }

    /// A closure that waits for another thread, which waits for the lock.
    #[test]
    fn closures_do_not_wait_for_what_waits_for_them() {
        static LOCK: Lock = Lock::new();
        let _guard = LOCK.lock_or_panic();
        let _closure_running = ClosureRunning::new();
        let patience = Duration::from_millis(50);
        let result = std::thread::scope(|s| {
            let other = s.spawn(|| LOCK.lock_within(patience).map(drop));
            other.join().unwrap()
        });
        assert_eq!(result, Err(Error::Busy { seconds: 0 }));
    }

    /// Who waits for many calls of closures, each of them short, or for Fortran code, has patience.
    #[test]
    fn others_wait_as_long_as_it_takes() {
        static LOCK: Lock = Lock::new();
        let patience = Duration::from_millis(200);
        for closures in [false, true] {
            let begin = Barrier::new(2);
            std::thread::scope(|s| {
                let guard = LOCK.lock_or_panic();
                let other = s.spawn(|| {
                    begin.wait();
                    LOCK.lock_within(patience).map(drop)
                });
                begin.wait();
                for _ in 0..50 {
                    let _closure_running = closures.then(ClosureRunning::new);
                    std::thread::sleep(Duration::from_millis(10));
                }
                drop(guard);
                assert_eq!(other.join().unwrap(), Ok(()));
            });
        }
    }
}
