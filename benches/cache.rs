//! The cost of the cache: storing and getting one entry, by size.
//!
//! `cargo bench -p farfel-benches --bench cache`. Build scripts are compiled without optimisation unless the
//! user says otherwise: `--profile dev` measures that.

use divan::Bencher;
use divan::counter::BytesCount;
use farfel_driver::CacheSettings;
use farfel_driver::cache::{Cache, Entry, Key};
use tempfile::TempDir;

fn main() {
    divan::main();
}

/// 4 kB, 100 kB and 2 MB.
const SIZES: [usize; 3] = [4_000, 100_000, 2_000_000];

fn sandbox() -> (TempDir, Cache) {
    let dir = tempfile::tempdir().expect("a place for temporary files");
    let cache = Cache::open(&CacheSettings {
        directory: Some(dir.path().to_owned()),
        ..CacheSettings::default()
    });
    (dir, cache)
}

fn entry(size: usize) -> Entry {
    let object: Vec<u8> = (0..size).map(|n| (n * 31 % 251) as u8).collect();
    Entry::one("object", object)
}

fn key(n: usize) -> Key {
    Key::builder("bench").field("n", n.to_string()).finish()
}

#[divan::bench(args = SIZES)]
fn get(bencher: Bencher, size: usize) {
    let (_dir, cache) = sandbox();
    cache.put(&key(0), &entry(size));
    bencher
        .counter(BytesCount::new(size))
        .bench_local(|| cache.get(&key(0)).expect("it was put"));
    assert_eq!(cache.notices(), [""; 0]);
}

#[divan::bench]
fn get_what_is_not_there(bencher: Bencher) {
    let (_dir, cache) = sandbox();
    bencher.bench_local(|| cache.get(&key(0)));
}

#[divan::bench(args = SIZES)]
fn put(bencher: Bencher, size: usize) {
    let (_dir, cache) = sandbox();
    let entry = entry(size);
    // New and replaced entries, without filling the disk.
    let mut n = 0;
    bencher.counter(BytesCount::new(size)).bench_local(|| {
        n = (n + 1) % 50;
        cache.put(&key(n), &entry);
    });
    assert_eq!(cache.notices(), [""; 0]);
}

/// The cost for a build in which nothing has changed.
#[divan::bench]
fn open_get_one_and_finish(bencher: Bencher) {
    let (dir, cache) = sandbox();
    cache.put(&key(0), &entry(4_000));
    cache.finish();
    let settings = CacheSettings {
        directory: Some(dir.path().to_owned()),
        ..CacheSettings::default()
    };
    bencher.bench_local(|| {
        let cache = Cache::open(&settings);
        assert!(cache.get(&key(0)).is_some());
        cache.finish();
    });
}

/// The key of a text of the size of a large subprogram.
#[divan::bench]
fn key_of_100_kb(bencher: Bencher) {
    let text = "      X = X + 1\n".repeat(6_250);
    bencher.bench_local(|| Key::builder("bench").field("text", &text).finish());
}
