//! The remote tier over a map in memory that can be made to misbehave.

use super::*;
use crate::cache::key::Key;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;

#[derive(Default)]
struct Map {
    entries: Mutex<BTreeMap<String, Vec<u8>>>,
    reads: AtomicUsize,
    pause: Duration,
    fails: bool,
}

impl Map {
    fn change(&self, change: impl Fn(&mut Vec<u8>)) {
        self.entries.lock().unwrap().values_mut().for_each(change);
    }

    fn names(&self) -> Vec<String> {
        self.entries.lock().unwrap().keys().cloned().collect()
    }
}

impl Backend for Map {
    fn read(&self, name: &str, _limit: u64) -> Result<Option<Vec<u8>>, String> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        thread::sleep(self.pause);
        match self.fails {
            true => Err("it refuses".into()),
            false => Ok(self.entries.lock().unwrap().get(name).cloned()),
        }
    }

    fn write(&self, name: &str, bytes: Vec<u8>) -> Result<(), String> {
        thread::sleep(self.pause);
        if self.fails {
            return Err("it refuses".into());
        }
        self.entries.lock().unwrap().insert(name.into(), bytes);
        Ok(())
    }
}

fn key(n: usize) -> Key {
    Key::builder("test").field("n", n.to_string()).finish()
}

fn entry(n: usize) -> Entry {
    Entry::one("n", n.to_string())
}

fn bytes(n: usize) -> Vec<u8> {
    entry::encode(&key(n), &entry(n)).unwrap()
}

/// Makes one run over a map, and returns its notices.
fn run(map: &Arc<Map>, secret: Option<&str>, work: impl FnOnce(&Remote)) -> Vec<String> {
    let settings = CacheSettings {
        remote: Some("test://user:secret@host/place?token=secret".into()),
        remote_timeout: 100,
        ..CacheSettings::default()
    };
    limited(map, &settings, secret, work)
}

fn limited(
    map: &Arc<Map>,
    settings: &CacheSettings,
    secret: Option<&str>,
    work: impl FnOnce(&Remote),
) -> Vec<String> {
    let notices = Arc::new(Notices::default());
    let backend: Arc<dyn Backend> = Arc::clone(map) as _;
    let remote = Remote::new(backend, settings, secret, &notices);
    work(&remote);
    remote.finish();
    notices.all()
}

fn put(remote: &Remote, n: usize) {
    remote.put(key(n).digest(), bytes(n));
}

fn get(remote: &Remote, n: usize) -> Option<Entry> {
    remote.get(key(n).digest()).map(|(found, _)| found)
}

const NOTHING: [String; 0] = [];

#[test]
fn what_one_uploads_another_gets_with_the_bytes_for_its_own_disk() {
    let map = Arc::new(Map::default());
    let notices = run(&map, None, |remote| (0..50).for_each(|n| put(remote, n)));
    assert_eq!(notices, NOTHING);
    assert_eq!(map.names().len(), 50);
    let notices = run(&map, None, |remote| {
        let found = remote.get(key(7).digest());
        assert_eq!(found, Some((entry(7), bytes(7))));
        assert_eq!(get(remote, 50), None);
    });
    assert_eq!(notices, NOTHING);
}

#[test]
fn one_that_is_only_read_gets_nothing() {
    let map = Arc::new(Map::default());
    let settings = CacheSettings {
        remote_read_only: true,
        ..CacheSettings::default()
    };
    let notices = limited(&map, &settings, None, |remote| put(remote, 1));
    assert_eq!((map.names().len(), notices.len()), (0, 0));
}

#[test]
fn one_that_refuses_is_asked_once() {
    let map = Arc::new(Map {
        fails: true,
        ..Map::default()
    });
    let notices = run(&map, None, |remote| {
        for n in 0..5 {
            assert_eq!(get(remote, n), None);
            put(remote, n);
        }
    });
    let expected = "the remote cache test://host/place is not used in this run: it refuses";
    assert_eq!(notices, [expected]);
    assert_eq!(map.reads.load(Ordering::Relaxed), 1);
    // Uploads are not retried again and again either.
    let notices = run(&map, None, |remote| (0..5).for_each(|n| put(remote, n)));
    assert_eq!(notices, [expected]);
}

#[test]
fn what_is_no_entry_ends_it() {
    let map = Arc::new(Map::default());
    run(&map, None, |remote| (0..5).for_each(|n| put(remote, n)));
    for garbage in [&b"<html>Log in first"[..], b"", b"\0"] {
        map.change(|bytes| *bytes = garbage.to_vec());
        let before = map.reads.load(Ordering::Relaxed);
        let notices = run(&map, None, |remote| {
            (0..5).for_each(|n| assert_eq!(get(remote, n), None));
        });
        assert_eq!(notices.len(), 1);
        assert!(
            notices[0].ends_with("something that is not an entry"),
            "{notices:?}"
        );
        assert_eq!(map.reads.load(Ordering::Relaxed), before + 1);
    }
}

#[test]
fn a_damaged_entry_is_made_again_and_replaced_but_three_are_too_many() {
    let map = Arc::new(Map::default());
    run(&map, None, |remote| (0..5).for_each(|n| put(remote, n)));
    map.change(|bytes| *bytes.last_mut().unwrap() ^= 1);
    let damaged = "an entry of the remote cache test://host/place is damaged";
    let notices = run(&map, None, |remote| {
        assert_eq!(get(remote, 0), None);
        put(remote, 0);
    });
    assert_eq!(notices, [damaged]);
    let before = map.reads.load(Ordering::Relaxed);
    let notices = run(&map, None, |remote| {
        assert_eq!(get(remote, 0), Some(entry(0)));
        (1..5).for_each(|n| assert_eq!(get(remote, n), None));
    });
    assert_eq!(notices, [damaged]);
    assert_eq!(map.reads.load(Ordering::Relaxed), before + 4);
    // A truncated entry is damaged, wherever it is cut.
    map.change(|bytes| bytes.truncate(bytes.len() / 2));
    run(&map, None, |remote| assert_eq!(get(remote, 1), None));
    map.change(|bytes| bytes.truncate(3));
    run(&map, None, |remote| assert_eq!(get(remote, 1), None));
}

#[test]
fn an_entry_under_the_name_of_another_is_not_taken() {
    let map = Arc::new(Map::default());
    run(&map, None, |remote| (0..2).for_each(|n| put(remote, n)));
    map.change(|bytes| *bytes = super::tests::bytes(0));
    run(&map, None, |remote| {
        assert_eq!(get(remote, 1), None);
        assert_eq!(get(remote, 0), Some(entry(0)));
    });
}

#[test]
fn with_a_secret_only_what_is_sealed_with_it_is_taken() {
    let map = Arc::new(Map::default());
    run(&map, None, |remote| put(remote, 1));
    let unsealed = map.names().remove(0);
    run(&map, Some("ours"), |remote| {
        assert_eq!(get(remote, 1), None);
        put(remote, 1);
    });
    run(&map, Some("ours"), |remote| {
        assert_eq!(get(remote, 1), Some(entry(1)))
    });
    run(&map, Some("theirs"), |remote| {
        assert_eq!(get(remote, 1), None)
    });
    run(&map, None, |remote| {
        assert_eq!(get(remote, 1), Some(entry(1)))
    });
    // Whoever can write but does not know the secret cannot plant an entry.
    let sealed = map
        .names()
        .into_iter()
        .find(|name| *name != unsealed)
        .unwrap();
    let theirs = Seal::new(Some("theirs")).close(bytes(1));
    for planted in [bytes(1), theirs, [bytes(1), vec![0; 32]].concat()] {
        map.entries.lock().unwrap().insert(sealed.clone(), planted);
        let notices = run(&map, Some("ours"), |remote| {
            assert_eq!(get(remote, 1), None)
        });
        assert_eq!(
            notices,
            [
                "an entry of the remote cache test://host/place is damaged, or not sealed \
              with this secret"
            ]
        );
    }
}

#[test]
fn one_that_answers_slowly_for_nothing_is_given_up() {
    let map = Arc::new(Map {
        pause: Duration::from_millis(60),
        ..Map::default()
    });
    let notices = run(&map, None, |remote| {
        (0..20).for_each(|n| assert_eq!(get(remote, n), None));
    });
    assert_eq!(
        notices,
        ["the remote cache test://host/place is not used in this run: it is too slow"]
    );
    // Five times a hundred milliseconds are allowed.
    assert!(map.reads.load(Ordering::Relaxed) <= 9);
}

#[test]
fn uploads_keep_nobody_waiting() {
    let map = Arc::new(Map {
        pause: Duration::from_millis(50),
        ..Map::default()
    });
    let start = Instant::now();
    let notices = run(&map, None, |remote| {
        (0..1000).for_each(|n| put(remote, n));
    });
    // All of them would take 50 seconds.
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(
        notices,
        [
            "the remote cache test://host/place is not used in this run: it takes what is \
          uploaded too slowly"
        ]
    );
    assert!(map.names().len() < 200);
}

#[test]
fn nothing_secret_is_shown() {
    for (address, text) in [
        ("redis://h:1/2", "redis://h:1/2"),
        ("redis://u:p@h:1/2", "redis://h:1/2"),
        ("redis://:p@ss/wo:rd@h:1/2", "redis://h:1/2"),
        ("redis://:p?w#o@h", "redis://"),
        ("https://h/x?token=secret", "https://h/x"),
        ("https://h/x?token=se@cret", "https://"),
        ("https://u:p@h/x#secret", "https://h/x"),
        ("redis://user:secret", "redis://"),
        ("redis://user:p@[::1]:1/2", "redis://[::1]:1/2"),
        ("redis://[::1]/2", "redis://[::1]/2"),
        ("secret", "(not an address)"),
    ] {
        assert_eq!(shown(address), text, "{address}");
    }
}

#[cfg(not(feature = "remote-cache"))]
#[test]
fn without_the_feature_a_notice_names_it() {
    let notices = Arc::new(Notices::default());
    let settings = CacheSettings {
        remote: Some("redis://:secret@localhost".into()),
        ..CacheSettings::default()
    };
    assert!(Remote::open(&settings, &notices).is_none());
    assert_eq!(
        notices.all(),
        [
            "the remote cache redis://localhost is not used: Farfel was compiled \
          without the feature `remote-cache`"
        ]
    );
}
