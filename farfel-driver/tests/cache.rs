//! The local cache, from outside: damage, kills, crowds, full disks, clocks.

// Tests report on standard error that they were skipped.
#![allow(clippy::print_stderr)]

use farfel_driver::CacheSettings;
use farfel_driver::cache::{self, Cache, Entry, Key, Origin};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

fn sandbox() -> (TempDir, CacheSettings) {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(&dir.path().join("cache"));
    (dir, settings)
}

fn settings(directory: &Path) -> CacheSettings {
    CacheSettings {
        directory: Some(directory.to_owned()),
        ..CacheSettings::default()
    }
}

fn key(n: usize) -> Key {
    Key::builder("test").field("n", n.to_string()).finish()
}

/// The only correct entry for `key(n)`.
fn entry(n: usize) -> Entry {
    sized(n, 100 + n * 37 % 5000)
}

fn sized(n: usize, length: usize) -> Entry {
    Entry {
        files: vec![
            ("log".into(), n.to_string().into_bytes()),
            ("object".into(), vec![n as u8; length]),
        ],
    }
}

/// All files under a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            all.extend(files(&entry.path()));
        } else {
            all.push(entry.path());
        }
    }
    all
}

/// The file of an entry.
fn file(settings: &CacheSettings, n: usize) -> PathBuf {
    let hex = key(n).hex();
    let root = settings.directory.as_ref().unwrap().join("farfel-v1");
    root.join(&hex[..2]).join(&hex[2..])
}

fn quiet(cache: &Cache) {
    assert_eq!(cache.notices(), Vec::<String>::new());
}

#[test]
fn what_one_build_puts_the_next_gets() {
    let (_dir, settings) = sandbox();
    let cache = Cache::open(&settings);
    assert_eq!(cache.get(&key(1)), None);
    cache.put(&key(1), &entry(1));
    cache.put(&key(2), &Entry::default());
    assert_eq!(cache.find(&key(1)), Some((entry(1), Origin::Here)));
    cache.finish();
    quiet(&cache);
    drop(cache);
    let cache = Cache::open(&settings);
    assert_eq!(cache.get(&key(1)), Some(entry(1)));
    assert_eq!(cache.get(&key(2)), Some(Entry::default()));
    assert_eq!(cache.get(&key(3)), None);
    cache.finish();
    quiet(&cache);
    let stats = cache::stats(&settings).unwrap();
    assert_eq!(stats.entries, 2);
    assert_eq!(
        (stats.kinds["test"].hits, stats.kinds["test"].misses),
        (3, 2)
    );
    let sizes: u64 = [1, 2]
        .map(|n| fs::metadata(file(&settings, n)).unwrap().len())
        .iter()
        .sum();
    assert_eq!(stats.bytes, sizes);
}

#[test]
fn one_that_is_off_or_was_never_used_is_empty_and_makes_nothing() {
    let (dir, settings) = sandbox();
    for cache in [
        Cache::disabled(),
        Cache::open(&CacheSettings {
            enabled: false,
            ..settings.clone()
        }),
    ] {
        cache.put(&key(1), &entry(1));
        assert_eq!(cache.get(&key(1)), None);
        let (made, origin) = cache.get_or(&key(1), || Ok::<_, ()>(entry(1))).unwrap();
        assert_eq!((made, origin), (entry(1), Origin::Made));
        cache.finish();
        quiet(&cache);
    }
    assert_eq!(cache::stats(&settings).unwrap().entries, 0);
    assert_eq!(cache::verify(&settings).unwrap().good, 0);
    assert_eq!(cache::gc(&settings).unwrap().unwrap().left, 0);
    assert_eq!(cache::clear(&settings).unwrap().removed, 0);
    assert_eq!(files(dir.path()), Vec::<PathBuf>::new());
}

#[test]
fn damaged_truncated_and_swapped_files_count_as_absent_and_go() {
    let (_dir, settings) = sandbox();
    let cache = Cache::open(&settings);
    cache.put(&key(1), &entry(1));
    cache.put(&key(2), &entry(2));
    let path = file(&settings, 1);
    let whole = fs::read(&path).unwrap();
    let damaged = |i: usize| {
        let mut bytes = whole.clone();
        bytes[i] ^= 0x10;
        bytes
    };
    let others = fs::read(file(&settings, 2)).unwrap();
    for bytes in [
        damaged(0),
        damaged(whole.len() / 2),
        damaged(whole.len() - 1),
        whole[..whole.len() - 1].to_vec(),
        whole[..20].to_vec(),
        Vec::new(),
        [&whole[..], b"\n"].concat(),
        vec![0; whole.len()],
        others,
    ] {
        fs::write(&path, &bytes).unwrap();
        assert_eq!(cache.get(&key(1)), None);
        assert!(!path.exists());
    }
    fs::write(&path, damaged(50)).unwrap();
    let verified = cache::verify(&settings).unwrap();
    assert_eq!((verified.good, verified.removed), (1, 1));
    cache.put(&key(1), &entry(1));
    assert_eq!(cache.get(&key(1)), Some(entry(1)));
    // A directory in place of a file is not an entry either.
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(cache.get(&key(1)), None);
}

/// Acts as another process if the environment says so, see [`child`]. Otherwise it does nothing.
#[test]
fn child_process() {
    let Ok(task) = std::env::var("FARFEL_TEST_TASK") else {
        return;
    };
    let settings = settings(Path::new(&std::env::var_os("FARFEL_TEST_DIR").unwrap()));
    let seed: usize = std::env::var("FARFEL_TEST_SEED").unwrap().parse().unwrap();
    let mut random = Random(seed as u64);
    match &*task {
        // Until the process is killed.
        "put" => loop {
            let cache = Cache::open(&settings);
            for _ in 0..20 {
                let n = random.below(200);
                cache.put(&key(n), &entry(n));
            }
            cache.finish();
        },
        "crowd" => {
            for round in 0..60 {
                let cache = Cache::open(&settings);
                for _ in 0..20 {
                    let n = random.below(60);
                    match cache.get(&key(n)) {
                        Some(found) => assert_eq!(found, entry(n)),
                        None => cache.put(&key(n), &entry(n)),
                    }
                }
                cache.finish();
                quiet(&cache);
                match (round + seed) % 10 {
                    3 => drop(cache::gc(&settings).unwrap()),
                    6 => drop(cache::clear(&settings).unwrap()),
                    8 => assert_eq!(cache::verify(&settings).unwrap().removed, 0),
                    _ => {}
                }
            }
        }
        "once" => {
            let cache = Cache::open(&settings);
            let make = || {
                let path = settings.directory.as_ref().unwrap().join("../made");
                let mut made = fs::read_to_string(&path).unwrap_or_default();
                made.push('x');
                thread::sleep(Duration::from_millis(300));
                fs::write(path, made).unwrap();
                Ok::<_, ()>(entry(1))
            };
            assert_eq!(cache.get_or(&key(1), make).unwrap().0, entry(1));
        }
        "fill" => {
            let cache = Cache::open(&settings);
            for n in 0..100 {
                cache.put(&key(n), &sized(n, 50_000));
            }
            cache.finish();
            let notices = cache.notices();
            assert_eq!(notices.len(), 1, "{notices:?}");
            assert!(notices[0].contains(" cannot be written: "), "{notices:?}");
            for n in 0..100 {
                let found = cache.get(&key(n));
                assert!(found.is_none_or(|found| found == sized(n, 50_000)));
            }
            assert_eq!(cache::verify(&settings).unwrap().removed, 0);
        }
        other => panic!("{other}"),
    }
}

fn child(task: &str, settings: &CacheSettings, seed: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "cache::child_process", "--nocapture"])
        .env("FARFEL_TEST_TASK", task)
        .env("FARFEL_TEST_DIR", settings.directory.as_ref().unwrap())
        .env("FARFEL_TEST_SEED", seed.to_string())
        .stdout(Stdio::null());
    command
}

fn all_succeed(children: Vec<Child>) {
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        // Knuth's generator; the upper bits are good enough.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

#[test]
fn killed_at_any_moment_it_leaves_no_wrong_entry() {
    let (_dir, settings) = sandbox();
    let mut random = Random(7);
    for seed in 0..40 {
        let mut child = child("put", &settings, seed).spawn().unwrap();
        thread::sleep(Duration::from_micros(5_000 + random.below(30_000) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let verified = cache::verify(&settings).unwrap();
    assert_eq!(verified.removed, 0);
    assert!(verified.good > 20, "the children did nothing: {verified:?}");
    let cache = Cache::open(&settings);
    let found = (0..200).filter_map(|n| Some((n, cache.get(&key(n))?)));
    assert_eq!(
        found
            .inspect(|(n, found)| assert_eq!(*found, entry(*n)))
            .count() as u64,
        verified.good
    );
    quiet(&cache);
    // The files that they were writing are removed, and the size is correct.
    for path in files(&settings.directory.clone().unwrap().join("farfel-v1/tmp")) {
        let old = SystemTime::now() - Duration::from_secs(60);
        fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(old)
            .unwrap();
    }
    let collected = cache::gc(&settings).unwrap().unwrap();
    assert_eq!(collected.left, verified.good);
    let left = files(&settings.directory.unwrap());
    assert!(
        !left
            .iter()
            .any(|path| path.extension().is_some_and(|e| e == "tmp")),
        "{left:?}"
    );
}

#[test]
fn processes_that_put_get_collect_verify_and_clear_at_once() {
    let (_dir, mut settings) = sandbox();
    settings.max_size = 1;
    let children = (0..4).map(|seed| child("crowd", &settings, seed).spawn().unwrap());
    all_succeed(children.collect());
    assert_eq!(cache::verify(&settings).unwrap().removed, 0);
}

#[test]
fn threads_and_processes_that_want_the_same_make_it_once() {
    let (dir, settings) = sandbox();
    let children = (0..3).map(|seed| child("once", &settings, seed).spawn().unwrap());
    all_succeed(children.collect());
    assert_eq!(fs::read_to_string(dir.path().join("made")).unwrap(), "x");

    let cache = Cache::open(&settings);
    let made = AtomicUsize::new(0);
    thread::scope(|scope| {
        for n in 0..16 {
            let (cache, made) = (&cache, &made);
            scope.spawn(move || {
                let n = 2 + n % 2;
                let make = || {
                    made.fetch_add(1, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(20));
                    Ok::<_, ()>(entry(n))
                };
                assert_eq!(cache.get_or(&key(n), make).unwrap().0, entry(n));
            });
        }
    });
    assert_eq!(made.into_inner(), 2);
}

#[test]
fn when_making_fails_the_next_one_makes_it() {
    let (_dir, settings) = sandbox();
    let cache = Cache::open(&settings);
    assert_eq!(cache.get_or(&key(1), || Err("no")), Err("no"));
    let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        cache.get_or(&key(1), || -> Result<Entry, ()> {
            panic!("as the test wants")
        })
    }));
    assert!(panics.is_err());
    // A maker that was killed does not leave it locked either.
    let mut killed = child("once", &settings, 0).spawn().unwrap();
    thread::sleep(Duration::from_millis(150));
    killed.kill().unwrap();
    killed.wait().unwrap();
    let made = cache.get_or(&key(1), || Ok::<_, ()>(entry(1)));
    assert_eq!(made, Ok((entry(1), Origin::Made)));
    let again = cache.get_or(&key(1), || Err(()));
    assert_eq!(again, Ok((entry(1), Origin::Here)));
    let locks = settings.directory.unwrap().join("farfel-v1/locks");
    assert_eq!(files(&locks), Vec::<PathBuf>::new());
}

fn set_used(settings: &CacheSettings, n: usize, time: SystemTime) {
    let file = fs::File::options().write(true).open(file(settings, n));
    file.unwrap().set_modified(time).unwrap();
}

fn hours(n: u64) -> Duration {
    Duration::from_secs(n * 3600)
}

fn there(settings: &CacheSettings) -> Vec<usize> {
    (0..20).filter(|n| file(settings, *n).exists()).collect()
}

#[test]
fn what_was_used_least_recently_goes_first_once_the_bound_is_passed() {
    let (_dir, mut settings) = sandbox();
    settings.max_size = 1;
    let cache = Cache::open(&settings);
    let now = SystemTime::now();
    for n in 0..9 {
        cache.put(&key(n), &sized(n, 100_000));
        set_used(&settings, n, now - hours(100 - n as u64));
    }
    cache.finish();
    assert_eq!(there(&settings), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    // Using an entry counts.
    assert!(cache.get(&key(0)).is_some());
    assert!(cache.get(&key(3)).is_some());
    cache.put(&key(9), &sized(9, 100_000));
    cache.put(&key(10), &sized(10, 100_000));
    cache.finish();
    // Nine tenths of a MiB are left: nine of these.
    assert_eq!(there(&settings), [0, 3, 4, 5, 6, 7, 8, 9, 10]);
    // An entry larger than the limit is not kept.
    cache.put(&key(11), &sized(11, 1 << 20));
    cache.finish();
    assert_eq!(there(&settings), [0, 3, 4, 5, 6, 7, 8, 9, 10]);
    quiet(&cache);
    let collected = cache::gc(&CacheSettings {
        max_size: 0,
        ..settings.clone()
    });
    let collected = collected.unwrap().unwrap();
    assert_eq!(
        (collected.removed, collected.left, collected.left_bytes),
        (9, 0, 0)
    );
}

#[test]
fn a_clock_that_jumps_loses_nothing_and_keeps_nothing_for_ever() {
    let (_dir, mut settings) = sandbox();
    settings.max_size = 1;
    let cache = Cache::open(&settings);
    let now = SystemTime::now();
    // The clock was ten years ahead for a while, then in 1970.
    for n in 0..9 {
        cache.put(&key(n), &sized(n, 100_000));
    }
    for n in 0..4 {
        set_used(&settings, n, now + hours(87_600));
    }
    for n in 4..6 {
        set_used(&settings, n, SystemTime::UNIX_EPOCH);
    }
    cache.finish();
    assert_eq!(cache::gc(&settings).unwrap().unwrap().removed, 0);
    for n in 0..9 {
        let used = fs::metadata(file(&settings, n))
            .unwrap()
            .modified()
            .unwrap();
        assert!(used < now + hours(1), "{n} would stay for ever");
    }
    // Entries from the future count as new, and age like all others: a day later all but two are used, and
    // these two are removed.
    for n in (0..9).filter(|n| ![1, 2].contains(n)) {
        set_used(&settings, n, now + hours(24));
    }
    for n in 9..11 {
        cache.put(&key(n), &sized(n, 100_000));
        set_used(&settings, n, now + hours(25));
    }
    cache.finish();
    let left = there(&settings);
    assert!(!left.contains(&1) && !left.contains(&2), "{left:?}");
    assert_eq!(left.len(), 9, "{left:?}");
}

#[test]
fn damaged_counts_do_no_harm() {
    let (_dir, mut settings) = sandbox();
    settings.max_size = 1;
    let usage = settings.directory.clone().unwrap().join("farfel-v1/usage");
    let cache = Cache::open(&settings);
    for n in 0..5 {
        cache.put(&key(n), &sized(n, 100_000));
    }
    cache.finish();
    for damage in ["", "farfel cache usage 1\nbytes 0 0\ncheck 0\n", "\0\0\0"] {
        fs::write(&usage, damage).unwrap();
        cache.put(&key(6), &sized(6, 100_000));
        cache.get(&key(6));
        cache.finish();
        assert_eq!(there(&settings), [0, 1, 2, 3, 4, 6]);
    }
    // A usage file with too small a size does not let the cache grow.
    fs::remove_file(&usage).unwrap();
    for n in 7..15 {
        cache.put(&key(n), &sized(n, 100_000));
    }
    cache.finish();
    assert_eq!(there(&settings).len(), 9);
    quiet(&cache);
}

#[test]
fn only_what_is_ours_goes() {
    let (dir, settings) = sandbox();
    let directory = settings.directory.clone().unwrap();
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("letter.txt"), "mine").unwrap();
    let cache = Cache::open(&settings);
    cache.put(&key(1), &entry(1));
    cache.finish();
    drop(cache);
    fs::write(directory.join("farfel-v1/notes"), "mine").unwrap();
    let tag = fs::read_to_string(directory.join("farfel-v1/CACHEDIR.TAG")).unwrap();
    assert!(tag.starts_with("Signature: 8a477f597d28d172789f06886806bc55\n"));
    assert_eq!(cache::clear(&settings).unwrap().removed, 1);
    assert_eq!(
        files(dir.path()),
        [
            directory.join("letter.txt"),
            directory.join("farfel-v1/notes")
        ]
    );
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown};

    fn notice(settings: &CacheSettings) -> String {
        let cache = Cache::open(settings);
        cache.put(&key(1), &entry(1));
        assert_eq!(cache.get(&key(1)), None);
        cache.finish();
        let mut notices = cache.notices();
        assert_eq!(notices.len(), 1, "{notices:?}");
        notices.remove(0)
    }

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_not_used() {
        let (_dir, settings) = sandbox();
        let directory = settings.directory.clone().unwrap();
        let root = directory.join("farfel-v1");
        Cache::open(&settings).put(&key(1), &entry(1));
        let made = fs::metadata(&root).unwrap().permissions().mode();
        assert_eq!(made & 0o777, 0o700);
        assert!(file(&settings, 1).exists());
        for path in [&directory, &root] {
            mode(path, 0o777);
            let text = notice(&settings);
            assert!(
                text.ends_with(" is not used: everybody can write to it"),
                "{text}"
            );
            assert!(cache::stats(&settings).is_err());
            mode(path, 0o700);
        }
        // Nobody can remove other users' files there.
        mode(&directory, 0o1777);
        assert_eq!(Cache::open(&settings).get(&key(1)), Some(entry(1)));
    }

    #[test]
    fn what_belongs_to_another_user_is_not_used() {
        let (_dir, settings) = sandbox();
        let directory = settings.directory.clone().unwrap();
        let cache = Cache::open(&settings);
        cache.put(&key(1), &entry(1));
        let path = file(&settings, 1);
        if chown(&path, Some(54321), None).is_err() {
            eprintln!("skipped: only the administrator can give files away");
            return;
        }
        assert_eq!(cache.get(&key(1)), None);
        for path in [&directory, &directory.join("farfel-v1")] {
            chown(path, Some(54321), None).unwrap();
            let text = notice(&settings);
            assert!(
                text.ends_with(" is not used: it belongs to another user"),
                "{text}"
            );
            chown(path, Some(0), None).unwrap();
        }
    }

    #[test]
    fn a_place_where_nothing_can_be_made_is_not_used() {
        let (dir, mut settings) = sandbox();
        fs::write(dir.path().join("file"), "").unwrap();
        settings.directory = Some(dir.path().join("file/cache"));
        let text = notice(&settings);
        assert!(text.ends_with(" is not used: not a directory"), "{text}");
        assert!(cache::stats(&settings).is_err());
    }

    /// Returns a shell that can mount a file system that only it sees.
    fn with_mount(script: &str) -> Option<Command> {
        let works = Command::new("unshare")
            .args(["--mount", "sh", "-c", "mount -t tmpfs tmpfs /mnt"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !works {
            eprintln!("skipped: no file system can be mounted here");
            return None;
        }
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-ec", script]);
        Some(command)
    }

    fn like(mut shell: Command, child: &Command) -> bool {
        shell
            .arg("sh")
            .arg(child.get_program())
            .args(child.get_args());
        for (name, value) in child.get_envs() {
            shell.env(name, value.unwrap_or_default());
        }
        shell.status().unwrap().success()
    }

    #[test]
    fn a_full_disk_is_a_notice() {
        let script = "mount -t tmpfs -o size=1m,mode=700 tmpfs \"$FARFEL_TEST_DIR\"\n\"$@\"";
        let Some(shell) = with_mount(script) else {
            return;
        };
        let (_dir, settings) = sandbox();
        fs::create_dir(settings.directory.as_ref().unwrap()).unwrap();
        assert!(like(shell, &child("fill", &settings, 0)));
    }

    #[test]
    fn a_disk_that_can_only_be_read_is_a_notice_and_its_entries_are_used() {
        let script = "mount --bind \"$FARFEL_TEST_DIR\" \"$FARFEL_TEST_DIR\"\n\
            mount -o remount,bind,ro \"$FARFEL_TEST_DIR\"\n\"$@\"";
        let Some(shell) = with_mount(script) else {
            return;
        };
        let (_dir, settings) = sandbox();
        let cache = Cache::open(&settings);
        cache.put(&key(1), &sized(1, 50_000));
        set_used(&settings, 1, SystemTime::now() - hours(50));
        drop(cache);
        assert!(like(shell, &child("fill", &settings, 0)));
    }
}
