//! The memory of derivatives: their tapes, and other large arrays of the subprograms that are compiled with
//! them.
//!
//! Each thread keeps the memory that such arrays have given back, and the next call takes it from there. So
//! repeated calls do not ask the operating system for memory, which would have to provide every page anew.
//!
//! ```
//! use farfel_runtime::memory;
//!
//! memory::set_limit(64 << 20); // each thread keeps at most 64 MB; the default is 256 MB
//! let usage = memory::usage(); // of this thread
//! println!("in use: {}, kept: {}, peak: {}", usage.in_use, usage.kept, usage.peak);
//! memory::release(); // gives back what this thread keeps
//! ```
//!
//! The environment variable `FARFEL_KEPT_MEMORY` sets the limit in megabytes. What would exceed it is
//! given back at once. If the process has a limit of address space (`ulimit -v`), a thread keeps at most an
//! eighth of that. When a thread ends, it gives back everything.
//!
//! A call that ends before its END, by STOP or by a panic in a closure, leaves its arrays to the next one. Those smaller
//! than 16 KB are lost.
//!
//! All blocks come from `malloc`, and whoever frees one may do so with `free`. On systems other than Linux,
//! and with compilers other than gfortran, derivatives use `malloc` directly, and nothing is kept or counted.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The size of the smallest arrays that are kept and counted. `malloc` itself is fast for smaller ones.
const LEAST: usize = 16 << 10;

/// The maximum number of blocks that a thread keeps.
const MOST_BLOCKS: usize = 64;

/// The limit if nothing else is set.
const DEFAULT_LIMIT: usize = 256 << 20;

/// The bytes that a thread keeps at most; `UNKNOWN` until it is needed.
static LIMIT: AtomicUsize = AtomicUsize::new(UNKNOWN);
const UNKNOWN: usize = usize::MAX;

/// How much memory a thread uses for tapes and other arrays of at least 16 KB in derivatives, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// In arrays of calls that are in progress.
    pub in_use: usize,
    /// Kept for the next call.
    pub kept: usize,
    /// The maximum of `in_use` since the thread began, or since the last [`release`].
    pub peak: usize,
}

/// Returns the memory that this thread uses.
#[must_use]
pub fn usage() -> Usage {
    let usage = |pool: &Pool| Usage {
        in_use: pool.in_use,
        kept: pool.kept_bytes,
        peak: pool.peak,
    };
    with_pool(|pool| usage(pool)).unwrap_or_default()
}

/// Gives back the memory that this thread keeps. The peak starts anew.
pub fn release() {
    with_pool(|pool| {
        pool.shrink(0, 0);
        pool.peak = pool.in_use;
    });
}

/// Sets the number of bytes that each thread keeps at most. It applies to this thread at once, to others
/// when they next give back an array.
pub fn set_limit(bytes: usize) {
    LIMIT.store(bytes.min(UNKNOWN - 1), Ordering::Relaxed);
    with_pool(|pool| pool.shrink(limit(), MOST_BLOCKS));
}

/// Returns the number of bytes that each thread keeps at most.
#[must_use]
pub fn limit() -> usize {
    let known = LIMIT.load(Ordering::Relaxed);
    if known != UNKNOWN {
        return known;
    }
    let set = std::env::var("FARFEL_KEPT_MEMORY").ok();
    let set = set.and_then(|s| s.trim().parse::<usize>().ok());
    let limit = match set {
        Some(megabytes) => megabytes.saturating_mul(1 << 20).min(UNKNOWN - 1),
        None => address_space().map_or(DEFAULT_LIMIT, |all| DEFAULT_LIMIT.min(all / 8)),
    };
    LIMIT.store(limit, Ordering::Relaxed);
    limit
}

/// Whether `malloc` has a block of this size now. What this thread keeps is given back if that is necessary.
pub(crate) fn is_there(bytes: usize) -> bool {
    asks(bytes) || {
        with_pool(|pool| pool.shrink(0, 0));
        asks(bytes)
    }
}

/// Asks `malloc` for a block of this size, and gives it back.
#[allow(unsafe_code)]
fn asks(bytes: usize) -> bool {
    // SAFETY: the block is not used, and given back once. An optimizer that knew that it is not used would leave
    // out both calls.
    unsafe {
        let block = std::hint::black_box(c::malloc(bytes));
        c::free(block);
        !block.is_null()
    }
}

/// Returns the limit of this process's address space, if there is one.
fn address_space() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits
        .lines()
        .find(|l| l.starts_with("Max address space"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

/// A block of memory from `malloc`.
#[derive(Debug, Clone, Copy)]
struct Block {
    address: *mut c_void,
    bytes: usize,
}

/// The memory of a thread.
#[derive(Debug)]
struct Pool {
    /// The blocks for the next calls, the one that was given back last at the end.
    kept: Vec<Block>,
    kept_bytes: usize,
    /// The blocks of calls in progress that end with the call, the newest at the end.
    lent: Vec<Block>,
    in_use: usize,
    peak: usize,
}

thread_local! {
    static POOL: RefCell<Pool> = const {
        RefCell::new(Pool { kept: Vec::new(), kept_bytes: 0, lent: Vec::new(), in_use: 0, peak: 0 })
    };

    /// The length of `lent`, which every call reads: this takes no more than a load.
    static LENT: Cell<usize> = const { Cell::new(0) };
}

/// Applies `f` to the thread's pool, unless the thread is ending.
fn with_pool<T>(f: impl FnOnce(&mut Pool) -> T) -> Option<T> {
    POOL.try_with(|pool| Some(f(&mut *pool.try_borrow_mut().ok()?)))
        .ok()
        .flatten()
}

/// Returns the number of blocks that calls in progress have.
#[inline]
pub(crate) fn lent() -> usize {
    LENT.with(Cell::get)
}

/// Takes back the blocks of calls that were abandoned: all but the oldest `before`.
pub(crate) fn take_back(before: usize) {
    if lent() <= before {
        return;
    }
    with_pool(|pool| {
        for block in pool.lent.split_off(before) {
            pool.in_use -= block.bytes;
            pool.keep(block);
        }
        LENT.set(pool.lent.len());
    });
}

impl Pool {
    /// Returns a kept block with at least this size, if there is one that is not much larger.
    fn find(&mut self, bytes: usize) -> Option<Block> {
        let fits = |b: &Block| b.bytes >= bytes && b.bytes / 4 <= bytes;
        let blocks = self.kept.iter().enumerate();
        let (at, _) = blocks
            .filter(|(_, b)| fits(b))
            .min_by_key(|(_, b)| b.bytes)?;
        let block = self.kept.remove(at);
        self.kept_bytes -= block.bytes;
        Some(block)
    }

    /// Keeps a block if the limit permits it, in place of older ones if necessary.
    fn keep(&mut self, block: Block) {
        let limit = limit();
        if block.bytes > limit {
            give_back(block);
            return;
        }
        self.shrink(limit - block.bytes, MOST_BLOCKS - 1);
        self.kept_bytes += block.bytes;
        self.kept.push(block);
    }

    /// Gives back the oldest blocks, so that at most this much is kept.
    fn shrink(&mut self, bytes: usize, blocks: usize) {
        let mut gone = 0;
        while self.kept.len() - gone > blocks || self.kept_bytes > bytes {
            let Some(block) = self.kept.get(gone) else {
                break;
            };
            give_back(*block);
            self.kept_bytes -= block.bytes;
            gone += 1;
        }
        self.kept.drain(..gone);
    }

    /// Records that a call has a block.
    fn lend(&mut self, block: Block) {
        self.lent.push(block);
        LENT.set(self.lent.len());
        self.in_use += block.bytes;
        self.peak = self.peak.max(self.in_use);
    }

    /// Records that a call no longer has a block.
    fn returned(&mut self, address: *mut c_void) {
        if let Some(at) = self.lent.iter().rposition(|b| b.address == address) {
            self.in_use -= self.lent.remove(at).bytes;
            LENT.set(self.lent.len());
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shrink(0, 0);
    }
}

/// Gives a block back to `malloc`.
#[allow(unsafe_code)]
fn give_back(block: Block) {
    // SAFETY: all blocks come from `malloc`, and a block in a pool belongs to it alone.
    unsafe { c::free(block.address) }
}

/// The functions of the C library.
#[allow(unsafe_code)]
mod c {
    use std::ffi::c_void;

    unsafe extern "C" {
        pub fn malloc(bytes: usize) -> *mut c_void;
        #[cfg(target_os = "linux")]
        pub fn calloc(count: usize, bytes: usize) -> *mut c_void;
        #[cfg(target_os = "linux")]
        pub fn realloc(address: *mut c_void, bytes: usize) -> *mut c_void;
        #[cfg(target_os = "linux")]
        pub fn malloc_usable_size(address: *mut c_void) -> usize;
        pub fn free(address: *mut c_void);
    }
}

/// What derivatives remember from call to call of the sizes of their tapes. Threads share it.
#[allow(unsafe_code)]
mod remembered {
    use std::sync::atomic::{AtomicI64, Ordering};

    /// `FARFEL_REMEMBERED_V1(VARIABLE)`: how much an earlier call of a derivative has put on a tape.
    ///
    /// # Safety
    ///
    /// The argument must be an INTEGER*8 that only this function and [`farfel_remember_v1_`] use.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn farfel_remembered_v1_(variable: *mut i64) -> i64 {
        // SAFETY: guaranteed by the caller.
        unsafe { AtomicI64::from_ptr(variable) }.load(Ordering::Relaxed)
    }

    /// `CALL FARFEL_REMEMBER_V1(VARIABLE, VALUE)`.
    ///
    /// # Safety
    ///
    /// As for [`farfel_remembered_v1_`]; the value must be an INTEGER*8.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn farfel_remember_v1_(variable: *mut i64, value: *const i64) {
        // SAFETY: guaranteed by the caller.
        unsafe { AtomicI64::from_ptr(variable).store(*value, Ordering::Relaxed) }
    }
}

/// What code compiled by gfortran calls in place of `malloc` and the others. The numbers in the names are
/// versions, so that two versions of this crate can be linked into one program.
///
/// The functions whose names contain `outliving` are for code in which an array may outlive the call that
/// allocates it: such an array is kept when it is given back, but not counted, and not taken back from a call
/// that is abandoned.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod linux {
    use super::{Block, LEAST, c, with_pool};
    use std::ffi::c_void;

    /// Returns a block, or null if there is no memory.
    fn take(bytes: usize, ends_with_call: bool) -> *mut c_void {
        if bytes < LEAST {
            // SAFETY: any size is valid.
            return unsafe { c::malloc(bytes) };
        }
        let found = with_pool(|pool| pool.find(bytes)).flatten();
        let block = found.or_else(|| {
            // SAFETY: any size is valid.
            let mut address = unsafe { c::malloc(bytes) };
            if address.is_null() {
                super::with_pool(|pool| pool.shrink(0, 0));
                // SAFETY: as above.
                address = unsafe { c::malloc(bytes) };
            }
            (!address.is_null()).then_some(Block { address, bytes })
        });
        let Some(block) = block else {
            return std::ptr::null_mut();
        };
        if ends_with_call {
            with_pool(|pool| pool.lend(block));
        }
        block.address
    }

    fn take_zeros(count: usize, bytes: usize, ends_with_call: bool) -> *mut c_void {
        match count.checked_mul(bytes) {
            Some(all) if all >= LEAST => {
                let address = take(all, ends_with_call);
                if !address.is_null() {
                    // SAFETY: the block has at least this size.
                    unsafe { address.cast::<u8>().write_bytes(0, all) };
                }
                address
            }
            // SAFETY: any sizes are valid.
            _ => unsafe { c::calloc(count, bytes) },
        }
    }

    /// # Safety
    ///
    /// As for `realloc`.
    unsafe fn resize(address: *mut c_void, bytes: usize, ends_with_call: bool) -> *mut c_void {
        // SAFETY: guaranteed by the caller.
        let resized = unsafe { c::realloc(address, bytes) };
        if !resized.is_null() {
            with_pool(|pool| {
                pool.returned(address);
                if ends_with_call && bytes >= LEAST {
                    pool.lend(Block {
                        address: resized,
                        bytes,
                    });
                }
            });
        }
        resized
    }

    #[unsafe(no_mangle)]
    extern "C" fn farfel_malloc_v1(bytes: usize) -> *mut c_void {
        take(bytes, true)
    }

    #[unsafe(no_mangle)]
    extern "C" fn farfel_malloc_outliving_v1(bytes: usize) -> *mut c_void {
        take(bytes, false)
    }

    #[unsafe(no_mangle)]
    extern "C" fn farfel_calloc_v1(count: usize, bytes: usize) -> *mut c_void {
        take_zeros(count, bytes, true)
    }

    #[unsafe(no_mangle)]
    extern "C" fn farfel_calloc_outliving_v1(count: usize, bytes: usize) -> *mut c_void {
        take_zeros(count, bytes, false)
    }

    /// # Safety
    ///
    /// As for `realloc`.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn farfel_realloc_v1(address: *mut c_void, bytes: usize) -> *mut c_void {
        // SAFETY: guaranteed by the caller.
        unsafe { resize(address, bytes, true) }
    }

    /// # Safety
    ///
    /// As for `realloc`.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn farfel_realloc_outliving_v1(
        address: *mut c_void,
        bytes: usize,
    ) -> *mut c_void {
        // SAFETY: guaranteed by the caller.
        unsafe { resize(address, bytes, false) }
    }

    /// # Safety
    ///
    /// As for `free`.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn farfel_free_v1(address: *mut c_void) {
        if address.is_null() {
            return;
        }
        // SAFETY: the address is that of a block from `malloc`.
        let bytes = unsafe { c::malloc_usable_size(address) };
        let kept = bytes >= LEAST
            && with_pool(|pool| {
                pool.returned(address);
                pool.keep(Block { address, bytes });
            })
            .is_some();
        if !kept {
            // SAFETY: guaranteed by the caller.
            unsafe { c::free(address) }
        }
    }

    /// `CALL FARFEL_MEMORY_V1(IN_USE, KEPT, PEAK)`, for Fortran: [`usage`](super::usage) as INTEGER*8.
    ///
    /// # Safety
    ///
    /// The arguments must be three INTEGER*8.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn farfel_memory_v1_(in_use: *mut i64, kept: *mut i64, peak: *mut i64) {
        let usage = super::usage();
        let number = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
        // SAFETY: guaranteed by the caller.
        unsafe {
            *in_use = number(usage.in_use);
            *kept = number(usage.kept);
            *peak = number(usage.peak);
        }
    }

    /// `CALL FARFEL_RELEASE_V1`, for Fortran: [`release`](super::release).
    #[unsafe(no_mangle)]
    extern "C" fn farfel_release_v1_() {
        super::release();
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use crate::memory::{
            LIMIT, Usage, is_there, lent, limit, release, set_limit, take_back, usage,
        };
        use std::panic::{AssertUnwindSafe, catch_unwind};
        use std::sync::Mutex;
        use std::sync::atomic::Ordering;

        /// Tests that change the limit run one after the other.
        static ALONE: Mutex<()> = Mutex::new(());

        const MB: usize = 1 << 20;

        /// Runs a test in a thread with an empty pool.
        fn in_thread(test: impl FnOnce() + Send) {
            let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
            set_limit(256 * MB);
            std::thread::scope(|s| s.spawn(test).join()).unwrap();
        }

        fn free(address: *mut c_void) {
            unsafe { farfel_free_v1(address) }
        }

        #[test]
        fn memory_is_there_or_not() {
            assert!(is_there(1 << 20));
            assert!(!is_there(1 << 60));
        }

        #[test]
        fn blocks_are_used_again() {
            in_thread(|| {
                let first = farfel_malloc_v1(3 * MB);
                let other = farfel_malloc_v1(MB);
                assert_eq!(usage().in_use, 4 * MB);
                free(first);
                free(other);
                assert_eq!((usage().in_use, usage().peak), (0, 4 * MB));
                assert!(usage().kept >= 4 * MB);
                assert_eq!(farfel_malloc_v1(MB), other);
                // The smallest block that is large enough.
                assert_eq!(farfel_malloc_v1(MB), first);
                // Not one that is much larger.
                free(first);
                assert_ne!(farfel_malloc_v1(LEAST), first);
                let zeros = farfel_calloc_v1(3, MB);
                assert_eq!(zeros, first);
                let bytes = unsafe { std::slice::from_raw_parts(zeros.cast::<u8>(), 3 * MB) };
                assert!(bytes.iter().all(|b| *b == 0));
                let larger = unsafe { farfel_realloc_v1(zeros, 5 * MB) };
                assert!(!larger.is_null());
                free(larger);
                release();
                assert_eq!(usage().kept, 0);
            });
        }

        #[test]
        fn small_and_empty_arrays_are_those_of_malloc() {
            in_thread(|| {
                free(std::ptr::null_mut());
                free(farfel_malloc_v1(LEAST / 2));
                free(farfel_calloc_v1(0, 8));
                assert_eq!(usage(), Usage::default());
                // A compiler may otherwise assume that memory that nobody uses can be had.
                assert!(std::hint::black_box(farfel_calloc_v1(usize::MAX, 16)).is_null());
                assert!(std::hint::black_box(farfel_malloc_v1(isize::MAX as usize - 64)).is_null());
            });
        }

        #[test]
        fn the_limit_holds() {
            in_thread(|| {
                set_limit(4 * MB);
                let blocks = [MB, MB, 3 * MB / 2, 5 * MB].map(|n| farfel_malloc_v1(n));
                blocks.into_iter().for_each(free);
                let kept = usage().kept;
                assert!((3 * MB..=4 * MB).contains(&kept), "{kept}");
                // The oldest is gone.
                free(farfel_malloc_v1(2 * MB));
                let kept = usage().kept;
                assert!((3 * MB..=4 * MB).contains(&kept), "{kept}");
                set_limit(0);
                assert_eq!(usage().kept, 0);
                free(farfel_malloc_v1(MB));
                assert_eq!(usage().kept, 0);
            });
        }

        #[test]
        fn many_blocks() {
            in_thread(|| {
                let blocks: Vec<_> = (0..200).map(|_| farfel_malloc_v1(LEAST)).collect();
                assert_eq!(usage().in_use, 200 * LEAST);
                blocks.into_iter().for_each(free);
                assert_eq!(usage().in_use, 0);
                assert!(usage().kept < 65 * 2 * LEAST, "{}", usage().kept);
            });
        }

        /// What [`catch_end`](crate::catch_end) does with memory.
        fn call(body: impl FnOnce()) -> std::thread::Result<()> {
            let before = lent();
            catch_unwind(AssertUnwindSafe(body)).inspect_err(|_| take_back(before))
        }

        fn abandon() -> ! {
            std::panic::resume_unwind(Box::new(1))
        }

        #[test]
        fn abandoned_calls_leave_their_memory() {
            in_thread(|| {
                let outer = farfel_malloc_v1(MB);
                for _ in 0..10 {
                    let ended = call(|| {
                        farfel_malloc_v1(2 * MB);
                        let inner = call(|| {
                            farfel_malloc_v1(3 * MB);
                            abandon();
                        });
                        assert!(inner.is_err());
                        assert_eq!(usage().in_use, 3 * MB);
                        abandon();
                    });
                    assert!(ended.is_err());
                    assert_eq!(usage().in_use, MB);
                }
                assert_eq!(usage().peak, 6 * MB);
                assert!(usage().kept < 6 * MB, "{}", usage().kept);
                free(outer);
                // What outlives calls is not taken from them.
                let mut outlives = std::ptr::null_mut();
                let ended = call(|| {
                    outlives = farfel_malloc_outliving_v1(8 * MB);
                    abandon();
                });
                assert!(ended.is_err());
                assert_ne!(farfel_malloc_v1(8 * MB), outlives);
                free(outlives);
                assert_eq!(farfel_malloc_v1(8 * MB), outlives);
            });
        }

        #[test]
        fn threads_keep_their_own() {
            in_thread(|| {
                free(farfel_malloc_v1(MB));
                let before = usage();
                let far = std::thread::spawn(|| {
                    assert_eq!(usage(), Usage::default());
                    let mine = farfel_malloc_v1(MB);
                    free(mine);
                    (
                        mine as usize,
                        usage().kept,
                        farfel_malloc_v1(2 * MB) as usize,
                    )
                });
                let (_, kept, from_there) = far.join().unwrap();
                assert!(kept >= MB);
                assert_eq!(usage(), before);
                // Whoever frees a block of another thread keeps it.
                free(from_there as *mut c_void);
                assert!(usage().kept >= 3 * MB);
            });
        }

        #[test]
        fn the_limit_of_address_space_counts() {
            in_thread(|| {
                LIMIT.store(crate::memory::UNKNOWN, Ordering::Relaxed);
                let all = crate::memory::address_space();
                let most = all.map_or(256 * MB, |all| (256 * MB).min(all / 8));
                assert_eq!(limit(), most);
            });
        }
    }
}
