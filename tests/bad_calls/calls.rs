//! Makes wrong calls, and reports how each of them ends.

use farfel_runtime::Error;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The number of calls so far, and the name of the last one.
static MADE: AtomicUsize = AtomicUsize::new(0);
static LAST: Mutex<String> = Mutex::new(String::new());
static BAD: AtomicUsize = AtomicUsize::new(0);

/// Makes a call that must end with an error or a panic, and prints its message.
pub fn wrong<T: Debug>(name: &str, call: impl FnOnce() -> Result<T, Error>) {
    report(name, outcome(name, call));
}

/// Prints the outcome of a call.
pub fn report(name: &str, (good, message): (bool, String)) {
    println!("{name}: {message}");
    if !good {
        BAD.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns whether a call ends with an error or a panic, and its message.
pub fn outcome<T: Debug>(name: &str, call: impl FnOnce() -> Result<T, Error>) -> (bool, String) {
    MADE.fetch_add(1, Ordering::Relaxed);
    name.clone_into(&mut LAST.lock().unwrap());
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => (false, format!("MUST NOT RETURN {value:?}")),
        // The rest of the message is that of gfortran's library, which differs from version to version.
        Ok(Err(Error::Io { file, line, .. })) => {
            (true, format!("input or output failed ({file}:{line})"))
        }
        Ok(Err(error)) => (true, error.to_string()),
        Err(payload) => match payload.downcast::<String>() {
            Ok(text) => (true, format!("panic: {text}")),
            Err(payload) => match payload.downcast::<&str>() {
                Ok(text) => (true, format!("panic: {text}")),
                Err(_) => (false, "a panic WITHOUT MESSAGE".to_owned()),
            },
        },
    }
}

/// An array between guard elements.
pub fn fenced<T: Copy + PartialEq + Debug>(
    value: T,
    fence: T,
    n: usize,
    run: impl FnOnce(&mut [T]),
) {
    let mut all = vec![fence; n + 64];
    all[32..32 + n].fill(value);
    run(&mut all[32..32 + n]);
    assert!(
        all[..32].iter().all(|v| *v == fence),
        "written before: {all:?}"
    );
    assert!(
        all[32 + n..].iter().all(|v| *v == fence),
        "written behind: {all:?}"
    );
}

/// Ends the process if no call ends for some minutes: valgrind takes one for 2**31 iterations.
pub fn watch() {
    std::thread::spawn(|| {
        let mut made = usize::MAX;
        while made != MADE.load(Ordering::Relaxed) {
            made = MADE.load(Ordering::Relaxed);
            std::thread::sleep(Duration::from_secs(300));
        }
        println!("{} DOES NOT END", LAST.lock().unwrap());
        std::process::exit(3);
    });
}

/// The number of calls that did not end as they must.
pub fn bad() -> usize {
    BAD.load(Ordering::Relaxed)
}
