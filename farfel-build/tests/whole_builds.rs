//! Whole builds that meet damaged files, full disks, a compiler that crashes, each other, and
//! a clock that jumps: they say so or mend it, and what they make is right.
#![cfg(target_os = "linux")]

#[path = "support/script.rs"]
mod script;
mod support;

use script::{Said, Script, assert_same, library, program};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};
use support::Project;
use tempfile::TempDir;

#[test]
#[ignore = "this is the build script of the other tests"]
fn the_build_script() {
    script::be_it();
}

fn sandbox() -> TempDir {
    tempfile::Builder::new()
        .prefix("farfel-test-")
        .tempdir()
        .unwrap()
}

/// A project that has been built.
fn built(dir: &Path) -> Script {
    let script = Script::new(dir, "plan");
    library(&script);
    script.run();
    script
}

/// All files below a directory, sorted.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// What is in a directory, except how long it took.
fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let lasting = |p: &PathBuf| !p.ends_with("farfel-timings.json") && !p.ends_with("farfel.state");
    files(dir)
        .into_iter()
        .filter(lasting)
        .map(|p| (p.strip_prefix(dir).unwrap().to_owned(), fs::read(&p).unwrap()))
        .collect()
}

#[test]
fn whatever_is_damaged_is_mended() {
    let dir = sandbox();
    let p = built(dir.path());
    let before = contents(&p.out);
    assert!(before.len() >= 6 * 2 + 2, "{}", before.len());
    let no_cache = dir.path().join("none");
    for file in files(&p.out) {
        let good = fs::read(&file).unwrap();
        let mut changed = good.clone();
        changed[good.len() / 2] ^= 1;
        for (damage, bytes) in [
            ("half", Some(&good[..good.len() / 2])),
            ("empty", Some(&good[..0])),
            ("changed", Some(&changed[..])),
            ("longer", Some(&[&good[..], b"\n{}"].concat()[..])),
            ("gone", None),
        ] {
            match bytes {
                Some(bytes) => fs::write(&file, bytes).unwrap(),
                None => fs::remove_file(&file).unwrap(),
            }
            // From the cache, or where nothing but the last build is known.
            let run = match damage {
                "changed" => p.clone().with("FARFEL_CACHE_DIR", no_cache.to_str().unwrap()),
                _ => p.clone(),
            };
            run.run();
            let after = contents(&p.out);
            for (one, other) in before.iter().zip(&after) {
                assert!(one == other, "{} {damage}: {:?}", file.display(), one.0);
            }
            assert_eq!(before.len(), after.len());
            // And it is known again.
            p.run();
            assert_eq!(p.steps(), [""; 0], "{} {damage}", file.display());
        }
    }
    // The directory of objects is gone, or is none.
    fs::remove_dir_all(p.out.join("farfel")).unwrap();
    p.run();
    assert!(contents(&p.out) == before);
    fs::remove_dir_all(p.out.join("farfel")).unwrap();
    fs::write(p.out.join("farfel"), "").unwrap();
    let said = p.try_run();
    assert!(!said.ok && said.errors[0].contains("out/farfel"), "{:?}", said.errors);
    fs::remove_file(p.out.join("farfel")).unwrap();
    p.run();
    assert!(contents(&p.out) == before);
}

/// The cache itself: an object that is damaged there is made again.
#[test]
fn a_damaged_cache_is_mended() {
    let dir = sandbox();
    let p = built(dir.path());
    let before = p.results();
    let cache = dir.path().join("cache");
    let entries: Vec<PathBuf> = files(&cache)
        .into_iter()
        .filter(|f| f.file_name().unwrap().len() == 62)
        .collect();
    assert!(entries.len() >= 6);
    for (i, entry) in entries.iter().enumerate() {
        let mut bytes = fs::read(entry).unwrap();
        match i % 3 {
            0 => bytes.truncate(bytes.len() / 2),
            1 => bytes.clear(),
            _ => {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
            }
        }
        fs::write(entry, bytes).unwrap();
    }
    let other = p.clone().into_out(&dir.path().join("other"));
    other.run();
    assert!(!other.steps().iter().any(|s| s.starts_with("cache")));
    assert_same(&other.results(), &before, "damaged cache");
    let third = p.clone().into_out(&dir.path().join("third"));
    third.run();
    assert!(third.steps().iter().all(|s| s.starts_with("cache")));
}

/// Runs a shell script as root of a namespace of its own, in which it may mount; `None`
/// where the machine does not allow that.
fn with_mounts(text: &str, p: &Script) -> Option<std::process::Output> {
    let allowed = Command::new("unshare")
        .args(["-rm", "sh", "-c", "mount -t tmpfs none /mnt"])
        .stderr(Stdio::null())
        .status();
    if !allowed.is_ok_and(|s| s.success()) {
        eprintln!("skipped: this machine allows no mounts in a namespace");
        return None;
    }
    let script = p.command();
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-ec", text, "sh"]);
    command.arg(script.get_program()).args(script.get_args());
    command.current_dir(&p.root);
    for (name, value) in script.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Some(output)
}

#[test]
fn a_disk_that_is_full() {
    let dir = sandbox();
    let p = built(dir.path());
    let before = p.results();
    let needed: usize = files(&p.out).iter().map(|f| fs::metadata(f).unwrap().len() as usize).sum();
    let log = dir.path().join("log");
    fs::create_dir(&log).unwrap();
    let copy = dir.path().join("copy");
    // OUT_DIR with more and more room, always empty at first: what stops it is another file
    // each time. Then there is room. First nothing is known, then all is.
    let mut seen = 0;
    for (cache, step) in [("empty", 5), ("cache", 12)] {
        let text = format!(
            "mount -t tmpfs none \"$OUT_DIR\"
            for percent in $(seq 2 {step} 130); do
              rm -rf \"$OUT_DIR\"/*
              size=$(({needed} * percent / 100 / 4096 * 4096))
              mount -o remount,size=$size none \"$OUT_DIR\"
              \"$@\" > '{log}'/$percent.out 2> '{log}'/$percent.err && echo 0 > '{log}'/$percent.code || echo $? > '{log}'/$percent.code
              ls -d \"$OUT_DIR\"/farfel-????????????* >> '{log}'/left || true
              if [ $percent = 12 ] || [ $percent = 62 ] || [ $(cat '{log}'/$percent.code) = 0 ]; then
                mount -o remount,size=100m none \"$OUT_DIR\"
                \"$@\" > '{log}'/after.out
                cmp \"$OUT_DIR\"/*.a '{lib}'
                cmp \"$OUT_DIR\"/farfel_bindings.rs '{bindings}'
              fi
            done",
            step = if cache == "empty" { 60 / 12 * 2 } else { step / 3 },
            log = log.display(),
            lib = copy.join("lib").display(),
            bindings = copy.join("bindings").display(),
        );
        fs::create_dir_all(&copy).unwrap();
        fs::write(copy.join("lib"), &before.0).unwrap();
        fs::write(copy.join("bindings"), &before.1).unwrap();
        let p = p.clone().with("FARFEL_CACHE_DIR", dir.path().join(cache).to_str().unwrap());
        let p = p.into_out(&dir.path().join("full"));
        if with_mounts(&text, &p).is_none() {
            return;
        }
        let mut good = 0;
        for file in files(&log) {
            if file.extension().is_some_and(|e| e == "code") {
                let code = fs::read_to_string(&file).unwrap();
                let out = fs::read_to_string(file.with_extension("out")).unwrap();
                let err = fs::read_to_string(file.with_extension("err")).unwrap();
                match code.trim() {
                    "0" => good += 1,
                    _ => {
                        seen += 1;
                        assert!(
                            out.contains("No space left on device") || err.contains("No space left"),
                            "{}: {out}\n{err}",
                            file.display()
                        );
                        assert!(out.contains("cargo::error="), "{out}");
                        assert!(!err.contains("panicked"), "{err}");
                    }
                }
                fs::remove_file(&file).unwrap();
            }
        }
        assert!(good > 0, "{cache}");
    }
    assert!(seen >= 20, "{seen}");
}
