//! The lock around subprograms that share state.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lets one thread at a time into the subprograms of a library that use COMMON, saved
/// variables or input and output.
///
/// The thread that holds it may take it again, so that Fortran code may call back into
/// Rust code that calls Fortran code.
#[derive(Debug, Default)]
pub struct Lock {
    /// Who holds the lock: the address of a variable that each thread has one of; 0 for
    /// nobody.
    owner: AtomicUsize,
    mutex: Mutex<()>,
}

/// Holds a [`Lock`] until it is dropped.
#[derive(Debug)]
pub struct Guard<'a> {
    /// `None` where the thread already held the lock.
    outermost: Option<(&'a Lock, MutexGuard<'a, ()>)>,
    /// Stays on the thread that took it, also when nested.
    not_send: PhantomData<*const ()>,
}

impl Lock {
    /// A lock that nobody holds.
    pub const fn new() -> Self {
        Lock {
            owner: AtomicUsize::new(0),
            mutex: Mutex::new(()),
        }
    }

    /// Waits until no other thread holds the lock, then takes it.
    ///
    /// A panic or STOP while it was held does not poison it: Fortran's variables are as
    /// the program left them, which is what Fortran programs expect.
    #[must_use = "the lock is released when the guard is dropped"]
    pub fn lock(&self) -> Guard<'_> {
        let me = this_thread();
        // Only this thread stores its own address, so no other order is needed.
        if self.owner.load(Ordering::Relaxed) == me {
            return Guard {
                outermost: None,
                not_send: PhantomData,
            };
        }
        let held = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        self.owner.store(me, Ordering::Relaxed);
        Guard {
            outermost: Some((self, held)),
            not_send: PhantomData,
        }
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if let Some((lock, _)) = &self.outermost {
            lock.owner.store(0, Ordering::Relaxed);
        }
    }
}

/// A number that no other living thread has; never 0.
fn this_thread() -> usize {
    thread_local!(static MARK: u8 = const { 0 });
    MARK.with(|m| std::ptr::from_ref(m).addr())
}

#[cfg(test)]
mod tests {
    use super::Lock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn one_thread_at_a_time_and_the_same_thread_again() {
        static LOCK: Lock = Lock::new();
        static INSIDE: AtomicUsize = AtomicUsize::new(0);
        std::thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| {
                    for _ in 0..200 {
                        let _outer = LOCK.lock();
                        drop(LOCK.lock());
                        assert_eq!(INSIDE.fetch_add(1, Ordering::SeqCst), 0);
                        std::thread::yield_now();
                        assert_eq!(INSIDE.fetch_sub(1, Ordering::SeqCst), 1);
                    }
                });
            }
        });
    }

    #[test]
    fn a_panic_releases_it() {
        static LOCK: Lock = Lock::new();
        let result = std::panic::catch_unwind(|| {
            let _guard = LOCK.lock();
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(result.is_err());
        std::thread::scope(|s| {
            s.spawn(|| drop(LOCK.lock()));
        });
    }
}
