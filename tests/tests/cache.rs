//! `farfel cache`, and its row in the output of the doctor.

use farfel_driver::CacheSettings;
use farfel_driver::cache::{Cache, Entry, Key};
use farfel_tests::{farfel, sandbox, write};
use snapbox::str;
use std::fs;
use std::path::Path;

fn fill(directory: &Path) {
    let cache = Cache::open(&CacheSettings {
        directory: Some(directory.to_owned()),
        ..CacheSettings::default()
    });
    for (kind, n) in [("compile", 1), ("compile", 2), ("tapenade", 3)] {
        let key = Key::builder(kind).field("n", n.to_string()).finish();
        for _ in 0..n {
            cache.get(&key);
        }
        cache.put(&key, &Entry::one("object", vec![0; 300_000]));
        cache.get(&key);
    }
    cache.finish();
    assert_eq!(cache.notices(), [""; 0]);
}

#[test]
fn what_there_is() {
    let dir = sandbox();
    let cache = |action: &str| {
        farfel(dir.path())
            .env("FARFEL_CACHE_DIR", dir.path().join("kept"))
            .env("FARFEL_CACHE_REMOTE", "redis://user:secret@localhost:1/0")
            .args(["cache", action])
    };
    cache("stats")
        .assert()
        .success()
        .stderr_eq("")
        .stdout_eq(str![[r#"
directory  [DIR]/kept
  entries  0
     size  0 bytes of 5.0 GiB
   remote  redis://localhost:1/0

"#]]);
    assert!(!dir.path().join("kept").exists());
    fill(&dir.path().join("kept"));
    cache("stats")
        .assert()
        .success()
        .stderr_eq("")
        .stdout_eq(str![[r#"
directory  [DIR]/kept
  entries  3
     size  879.2 KiB of 5.0 GiB
   remote  redis://localhost:1/0
     hits  compile   2 of 5, 40 %
           tapenade  1 of 4, 25 %

"#]]);
    cache("verify")
        .assert()
        .success()
        .stdout_eq("")
        .stderr_eq(str![[r#"
    Verified 3 entries

"#]]);
    cache("gc")
        .assert()
        .success()
        .stdout_eq("")
        .stderr_eq(str![[r#"
     Removed 0 entries, 0 bytes; 3 entries, 879.2 KiB left

"#]]);
    cache("clear")
        .assert()
        .success()
        .stdout_eq("")
        .stderr_eq(str![[r#"
     Removed 3 entries, 879.2 KiB

"#]]);
    assert_eq!(fs::read_dir(dir.path().join("kept")).unwrap().count(), 0);
}

#[test]
fn what_is_damaged_and_what_is_too_much() {
    let dir = sandbox();
    let kept = dir.path().join("kept");
    fill(&kept);
    // Settings of the project, with a path relative to it.
    write(
        dir.path(),
        "Cargo.toml",
        "[package]\nname = 'p'\n[package.metadata.farfel.cache]\ndirectory = 'kept'\n",
    );
    fs::create_dir(dir.path().join("below")).unwrap();
    let cache = |arguments: &[&str]| {
        farfel(dir.path())
            .current_dir(dir.path().join("below"))
            .env_remove("FARFEL_CACHE_DIR")
            .arg("cache")
            .args(arguments)
    };
    let hex = Key::builder("compile").field("n", "2").finish().hex();
    let entry = kept.join("farfel-v1").join(&hex[..2]).join(&hex[2..]);
    fs::write(entry, "farfel").unwrap();
    cache(&["verify"]).assert().success().stderr_eq(str![[r#"
warning: 1 entry was damaged and removed; builds make them again
    Verified 2 entries

"#]]);
    cache(&["verify"]).assert().success().stderr_eq(str![[r#"
    Verified 2 entries

"#]]);
    cache(&["gc", "--max-size", "0"])
        .assert()
        .success()
        .stderr_eq(str![[r#"
     Removed 2 entries, 586.1 KiB; 0 entries, 0 bytes left

"#]]);
    cache(&["gc", "--max-size", "much"]).assert().code(2);
}

#[cfg(unix)]
#[test]
fn a_directory_that_is_not_to_be_trusted() {
    use std::os::unix::fs::PermissionsExt;
    let dir = sandbox();
    let kept = dir.path().join("kept");
    fill(&kept);
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o777)).unwrap();
    let farfel = || farfel(dir.path()).env("FARFEL_CACHE_DIR", &kept);
    for action in ["stats", "verify", "gc", "clear"] {
        farfel()
            .args(["cache", action])
            .assert()
            .code(1)
            .stderr_eq(str![[r#"
error: cannot read or write `[DIR]/kept`: everybody can write to it

"#]]);
    }
    let doctor = farfel().arg("doctor").assert();
    let text = String::from_utf8_lossy(&doctor.get_output().stdout).into_owned();
    let row = text.lines().find(|line| line.contains(" cache "));
    let row = row.unwrap_or_else(|| panic!("{text}"));
    assert!(row.starts_with("optional  cache "), "{row}");
    assert!(row.ends_with("/kept: everybody can write to it"), "{row}");
}

#[test]
fn the_doctor_shows_where_results_are_kept() {
    let dir = sandbox();
    let doctor = farfel(dir.path())
        .env("FARFEL_CACHE_DIR", dir.path().join("kept"))
        // What Tapenade says of its version would be kept.
        .env_remove("TAPENADE_HOME")
        .env("FARFEL_CACHE_REMOTE", "redis://user:secret@127.0.0.1:1/0")
        .arg("doctor")
        .assert();
    let text = String::from_utf8_lossy(&doctor.get_output().stdout).into_owned();
    let kept = dir.path().join("kept");
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("cache "))
        .collect();
    assert_eq!(rows.len(), 2, "{text}");
    assert!(
        rows[0].starts_with("      ok  cache ")
            && rows[0].ends_with(&format!(" bytes of 5.0 GiB ({})", kept.display())),
        "{text}"
    );
    assert!(
        rows[1].starts_with("optional  remote cache ")
            && rows[1].ends_with("  not used: connection refused (redis://127.0.0.1:1/0)"),
        "{text}"
    );
}
