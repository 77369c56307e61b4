//! The shared cache with real servers on this machine: Redis, WebDAV, plain HTTP, a directory; and with
//! servers that hang, lie, refuse and crash.

use crate::servers::{self, Behaviour, Redis, Web};
use farfel_driver::CacheSettings;
use farfel_driver::cache::{self, Cache, Entry, Key, Origin};
use farfel_tests::{fixed, sandbox};
use std::path::Path;
use std::time::{Duration, Instant};

fn key(n: usize) -> Key {
    Key::builder("test").field("n", n.to_string()).finish()
}

fn entry(n: usize) -> Entry {
    Entry {
        files: vec![
            ("log".into(), format!("said {n}").into_bytes()),
            ("object".into(), vec![n as u8; 1000 * n]),
        ],
    }
}

fn settings(directory: &Path, remote: &str) -> CacheSettings {
    CacheSettings {
        directory: Some(directory.to_owned()),
        remote: Some(remote.to_owned()),
        // Long enough on a busy machine, when nothing is intentionally slow.
        remote_timeout: 10_000,
        ..CacheSettings::default()
    }
}

/// The first entry is large, so it is transferred in several pieces.
const ENTRIES: [usize; 4] = [2000, 1, 0, 30];

/// Checks that two machines with local caches share entries through a remote one.
fn is_shared(remote: &str) {
    let dir = sandbox();
    let (here, there) = (dir.path().join("here"), dir.path().join("there"));
    let first = Cache::open(&settings(&here, remote));
    for n in ENTRIES {
        assert_eq!(first.get(&key(n)), None);
        first.put(&key(n), &entry(n));
    }
    first.finish();
    assert_eq!(first.notices(), [""; 0]);

    let second = Cache::open(&settings(&there, remote));
    for n in ENTRIES {
        assert_eq!(second.find(&key(n)), Some((entry(n), Origin::Remote)));
        // Now it is in the local cache, too.
        assert_eq!(second.find(&key(n)), Some((entry(n), Origin::Here)));
    }
    assert_eq!(second.get(&key(99)), None);
    second.finish();
    assert_eq!(second.notices(), [""; 0]);
    let (_, answer) = cache::reach_remote(&settings(&there, remote)).unwrap();
    assert!(answer.is_ok(), "{answer:?}");

    let reader = CacheSettings {
        remote_read_only: true,
        ..settings(&dir.path().join("reader"), remote)
    };
    let third = Cache::open(&reader);
    assert_eq!(third.find(&key(30)), Some((entry(30), Origin::Remote)));
    third.put(&key(99), &entry(1));
    third.finish();
    let fourth = Cache::open(&settings(&dir.path().join("fourth"), remote));
    assert_eq!(fourth.get(&key(99)), None);
    assert_eq!(fourth.notices(), [""; 0]);
}

/// Checks that a build with an unusable shared cache uses its local cache, and reports the reason once.
/// Returns the message after the address.
fn is_survived(remote: &str, timeout: u64) -> String {
    let dir = sandbox();
    let settings = CacheSettings {
        remote_timeout: timeout,
        ..settings(dir.path(), remote)
    };
    let start = Instant::now();
    let cache = Cache::open(&settings);
    for n in 0..20 {
        assert_eq!(cache.get(&key(n)), None);
        cache.put(&key(n), &entry(n));
        assert_eq!(cache.get(&key(n)), Some(entry(n)));
    }
    cache.finish();
    assert!(
        start.elapsed() < Duration::from_millis(2 * timeout) + Duration::from_secs(5),
        "it took {:?}",
        start.elapsed()
    );
    let mut notices = cache.notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    let notice = notices.remove(0);
    assert!(!notice.contains("secret"), "{notice}");
    let (_, why) = notice
        .split_once(" is not used")
        .unwrap_or_else(|| panic!("{notice}"));
    let why = why
        .trim_start_matches(" in this run")
        .trim_start_matches(": ");
    why.to_owned()
}

#[test]
fn redis() {
    let Some(server) = Redis::start(None) else {
        return;
    };
    is_shared(&server.address(""));
    // Other numbers select other databases.
    is_shared(&server.address("/3"));
}

#[test]
fn redis_with_a_password() {
    let Some(server) = Redis::start(Some("s:e/c@r?e#t")) else {
        return;
    };
    let port = server.port;
    is_shared(&format!(
        "redis://:s%3Ae%2Fc%40r%3Fe%23t@127.0.0.1:{port}/0"
    ));
    for wrong in ["", ":secret@", "user:secret@"] {
        let why = is_survived(&format!("redis://{wrong}127.0.0.1:{port}"), 1_000);
        assert!(why.ends_with("refuses access"), "{why}");
    }
}

#[test]
fn redis_that_dies_or_stops_between_two_requests() {
    let Some(mut server) = Redis::start(None) else {
        return;
    };
    let dir = sandbox();
    let settings = CacheSettings {
        remote_timeout: 1_000,
        ..settings(&dir.path().join("a"), &server.address(""))
    };
    let cache = Cache::open(&settings);
    assert_eq!(cache.get(&key(1)), None);
    cache.put(&key(1), &entry(1));
    // Uploads run in the background.
    let other = CacheSettings {
        directory: Some(dir.path().join("b")),
        ..settings.clone()
    };
    let start = Instant::now();
    while Cache::open(&other).find(&key(1)).is_none() {
        assert!(start.elapsed() < Duration::from_secs(20), "no upload");
        std::thread::sleep(Duration::from_millis(50));
    }
    server.kill();
    for n in 2..10 {
        assert_eq!(cache.get(&key(n)), None);
        cache.put(&key(n), &entry(n));
        assert_eq!(cache.get(&key(n)), Some(entry(n)));
    }
    cache.finish();
    let notices = cache.notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(
        notices[0].contains(" is not used in this run: "),
        "{notices:?}"
    );
}

#[test]
fn a_directory() {
    let dir = sandbox();
    let place = dir.path().join("shared place");
    let address = format!("file://{}", place.display()).replace(' ', "%20");
    is_shared(&address);
    assert!(place.is_dir());
    // A path at which there can be no directory.
    let file = farfel_tests::write(dir.path(), "file", "");
    let why = is_survived(&format!("file://{}/x", file.display()), 5_000);
    assert_eq!(why, "not a directory");
}

#[test]
fn web_dav() {
    let server = Web::start(Behaviour::WebDav);
    is_shared(&server.address("webdav", "/team/cache"));
}

#[test]
fn web_dav_with_a_password() {
    let server = Web::start(Behaviour::Password);
    is_shared(
        &server
            .address("webdav", "/cache")
            .replace("://", "://user:s%40cret@"),
    );
    for user in ["", "user:secret@"] {
        let address = server.address("webdav", "/cache");
        let why = is_survived(&address.replace("://", &format!("://{user}")), 5_000);
        assert_eq!(why, "it refuses access");
    }
}

#[test]
fn a_web_server_that_takes_get_and_put() {
    let server = Web::start(Behaviour::GetAndPut);
    is_shared(&server.address("http", "/cache"));
    let asked = server.asked();
    assert!(
        asked
            .iter()
            .all(|line| line.starts_with("GET ") || line.starts_with("PUT ")),
        "{asked:?}"
    );
    // One request for each requested entry.
    let gets = asked.iter().filter(|line| line.starts_with("GET ")).count();
    assert_eq!(gets, 4 + 5 + 1 + 1 + 1);
}

#[test]
fn nobody_is_there() {
    // The port was free a moment ago.
    let port = servers::free_port();
    for scheme in ["redis", "webdav", "http"] {
        let address = format!("{scheme}://user:secret@127.0.0.1:{port}/0");
        assert_eq!(
            is_survived(&address, 5_000),
            "connection refused",
            "{scheme}"
        );
    }
    let why = is_survived("http://secret@host.invalid/place?secret", 5_000);
    assert!(!why.contains("invalid"), "{why}");
}

#[test]
fn a_server_that_hangs() {
    let server = Web::start(Behaviour::Hang);
    for scheme in ["redis", "webdav", "http"] {
        let why = is_survived(&server.address(scheme, "/0"), 300);
        assert!(
            why.starts_with("it did not answer within 300 ms"),
            "{scheme}: {why}"
        );
    }
}

#[test]
fn a_server_that_never_ends() {
    let server = Web::start(Behaviour::Drip);
    let why = is_survived(&server.address("http", "/"), 500);
    assert_eq!(why, "it did not answer within 500 ms");
}

#[test]
fn a_server_that_answers_garbage() {
    let server = Web::start(Behaviour::Garbage);
    let why = is_survived(&server.address("http", "/"), 5_000);
    assert_eq!(why, "it answered with something that is not an entry");
    let server = Web::start(Behaviour::Noise);
    for scheme in ["redis", "webdav", "http"] {
        is_survived(&server.address(scheme, "/0"), 5_000);
    }
    let server = Web::start(Behaviour::Fault);
    let why = is_survived(&server.address("http", "/"), 5_000);
    assert_eq!(why, "it answers with HTTP status 503");
}

#[test]
fn a_server_that_dies_midway() {
    let server = Web::start(Behaviour::Die);
    for scheme in ["webdav", "http"] {
        is_survived(&server.address(scheme, "/0"), 5_000);
    }
}

#[test]
fn addresses_that_mean_nothing() {
    for (address, why) in [
        (
            "secret",
            "its address is wrong: it does not begin with `…://`",
        ),
        (
            "gopher://secret@h/",
            "`gopher://` is not one of redis, rediss, s3, webdav, webdavs, http, https, file",
        ),
        (
            "redis://:secret@h/x",
            "its address is wrong: the path of a Redis address must be a number",
        ),
        (
            "redis://h:secret",
            "its address is wrong: the port is not a number",
        ),
        (
            "s3://b/?secret=1",
            "its address is wrong: `?region=` and `?endpoint=` are known",
        ),
    ] {
        let dir = sandbox();
        let cache = Cache::open(&settings(dir.path(), address));
        cache.put(&key(1), &entry(1));
        assert_eq!(cache.get(&key(1)), Some(entry(1)));
        cache.finish();
        let notices = cache.notices();
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(
            notices[0].ends_with(&format!(" is not used: {why}")),
            "{notices:?}"
        );
        assert!(!notices[0].contains("secret"), "{notices:?}");
    }
}

/// Two machines build the same program; S3 requires signed requests.
#[test]
fn builds_that_share_what_they_compiled_over_s3() {
    let server = Web::start(Behaviour::GetAndPut);
    let dir = sandbox();
    let source = fixed("X = 2.0\nPRINT *, X*X\nEND");
    farfel_tests::write(dir.path(), "main.ff", source);
    let remote = format!(
        "s3://bucket/team?region=here&endpoint={}",
        server.address("http", "")
    );
    let build = |machine: &str| {
        let farfel = || {
            farfel_tests::farfel(dir.path())
                .env("FARFEL_CACHE_DIR", dir.path().join(machine))
                .env("FARFEL_CACHE_REMOTE", &remote)
                .env("AWS_ACCESS_KEY_ID", "user")
                .env("AWS_SECRET_ACCESS_KEY", "secret")
        };
        let output = format!("{machine}.exe");
        farfel()
            .args(["build", "main.ff", "-o", &output])
            .assert()
            .success();
        let stats = farfel().args(["cache", "stats"]).assert().success();
        String::from_utf8_lossy(&stats.get_output().stdout).into_owned()
    };
    let first = build("first");
    assert!(first.contains(" 0 of 1, 0 %"), "{first}");
    let puts = |server: &Web| {
        let asked = server.asked();
        asked
            .iter()
            .filter(|line| line.starts_with("PUT /bucket/team/"))
            .count()
    };
    assert_eq!(puts(&server), 1, "{:?}", server.asked());
    let second = build("second");
    assert!(second.contains(" 1 of 1, 100 %"), "{second}");
    assert_eq!(puts(&server), 1);
    let program = |machine: &str| std::fs::read(dir.path().join(format!("{machine}.exe"))).unwrap();
    assert!(program("first") == program("second"));
}
