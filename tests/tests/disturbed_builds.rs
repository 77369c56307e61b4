//! Whole builds with damaged files, full disks, a compiler that crashes, concurrent builds, and a clock that
//! jumps: they report the problem or recover, and their results are right.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stderr)] // says what was skipped

use crate::script::{self, Script, ScriptOutput, assert_same, built, library, program, sandbox};
use crate::support::Project;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

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

/// Returns the contents of a directory, except times.
fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let lasting = |p: &PathBuf| !p.ends_with("farfel-timings.json") && !p.ends_with("farfel.state");
    files(dir)
        .into_iter()
        .filter(lasting)
        .map(|p| {
            (
                p.strip_prefix(dir).unwrap().to_owned(),
                fs::read(&p).unwrap(),
            )
        })
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
            // With the cache, or with nothing but the last build.
            let run = match damage {
                "changed" => p
                    .clone()
                    .with("FARFEL_CACHE_DIR", no_cache.to_str().unwrap()),
                _ => p.clone(),
            };
            run.run();
            let after = contents(&p.out);
            for (one, other) in before.iter().zip(&after) {
                assert!(one == other, "{} {damage}: {:?}", file.display(), one.0);
            }
            assert_eq!(before.len(), after.len());
            // And the result is stored again.
            if damage == "gone" {
                assert_eq!(p.made(), [""; 0], "{}", file.display());
            }
        }
    }
    // The directory of objects is missing, or is not a directory.
    fs::remove_dir_all(p.out.join("farfel")).unwrap();
    p.run();
    assert!(contents(&p.out) == before);
    fs::remove_dir_all(p.out.join("farfel")).unwrap();
    fs::write(p.out.join("farfel"), "").unwrap();
    let said = p.try_run();
    assert!(
        !said.ok && said.errors[0].contains("out/farfel"),
        "{:?}",
        said.errors
    );
    fs::remove_file(p.out.join("farfel")).unwrap();
    p.run();
    assert!(contents(&p.out) == before);
}

/// The cache itself: a damaged object is built again.
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

/// Runs a shell script as root of a new namespace, in which it may mount file systems; `None` if the machine
/// does not allow that.
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
    let (library, bindings) = p.results();
    let good = dir.path().join("good");
    fs::create_dir(&good).unwrap();
    fs::write(good.join("library"), &library).unwrap();
    fs::write(good.join("bindings"), &bindings).unwrap();
    let sizes = files(&p.out)
        .into_iter()
        .map(|f| fs::metadata(f).unwrap().len());
    let needed: u64 = sizes.sum();
    // OUT_DIR on file systems of increasing size, always empty at first: each time another file runs out of
    // space. Finally there is enough. Once without a cache, once with everything cached.
    let all: Vec<u64> = (1..20).map(|n| n * 7).collect();
    let mut failures = 0;
    for (cache, percents) in [("empty", &[5, 30, 60, 90, 105, 132][..]), ("cache", &all)] {
        let log = dir.path().join(format!("log-{cache}"));
        fs::create_dir(&log).unwrap();
        let sizes: Vec<String> = percents
            .iter()
            .map(|p| (needed * p / 100).to_string())
            .collect();
        // The small file system has no space for the messages either.
        let text = format!(
            "cd '{}'
            mount -t tmpfs none \"$OUT_DIR\"
            for size in {}; do
              rm -rf \"$OUT_DIR\"/* '{}'
              mount -o remount,size=$size \"$OUT_DIR\"
              code=0; \"$@\" > $size.out 2> $size.err || code=$?
              echo $code > $size.code
              for f in \"$OUT_DIR\"/*.a; do [ ! -e \"$f\" ] || cmp \"$f\" '{good}/library'; done
              mount -o remount,size=100m \"$OUT_DIR\"
              \"$@\" > after.out
              cmp \"$OUT_DIR\"/*.a '{good}/library'
              cmp \"$OUT_DIR\"/farfel_bindings.rs '{good}/bindings'
              for f in \"$OUT_DIR\"/farfel-?????????????????* \"$OUT_DIR\"/*.tmp; do
                [ ! -e \"$f\" ] || {{ echo \"left: $f\"; exit 1; }}
              done
            done",
            log.display(),
            sizes.join(" "),
            dir.path().join("empty").display(),
            good = good.display(),
        );
        let p = p
            .clone()
            .with("FARFEL_CACHE_DIR", dir.path().join(cache).to_str().unwrap());
        if with_mounts(&text, &p.into_out(&dir.path().join("full"))).is_none() {
            return;
        }
        let mut successes = 0;
        for size in sizes {
            let read = |what: &str| fs::read_to_string(log.join(format!("{size}.{what}"))).unwrap();
            if read("code") == "0\n" {
                successes += 1;
                continue;
            }
            failures += 1;
            let (out, err) = (read("out"), read("err"));
            assert!(out.contains("cargo::error="), "{size}: {out}\n{err}");
            assert!(
                format!("{out}{err}").contains("No space left"),
                "{size}: {out}\n{err}"
            );
            assert!(!err.contains("panicked"), "{size}: {err}");
        }
        assert!(successes > 0, "{cache}");
    }
    assert!(failures > 14, "{failures}");
}

#[test]
fn directories_that_cannot_be_written() {
    let dir = sandbox();
    let p = built(dir.path());
    p.edit("src/a.ff", "2*X*X", "3*X*X");
    let log = dir.path().join("log");
    fs::create_dir(&log).unwrap();
    // OUT_DIR, the cache, and the folder of temporary files.
    let text = "
        mount --bind \"$OUT_DIR\" \"$OUT_DIR\"
        mount -o remount,bind,ro \"$OUT_DIR\"
        ! \"$@\" > LOG/out 2>&1
        umount \"$OUT_DIR\"
        mount --bind \"$TMPDIR\" \"$TMPDIR\"
        mount -o remount,bind,ro \"$TMPDIR\"
        ! \"$@\" > LOG/tmp 2>&1
        umount \"$TMPDIR\"
        mount --bind \"$FARFEL_CACHE_DIR\" \"$FARFEL_CACHE_DIR\"
        mount -o remount,bind,ro \"$FARFEL_CACHE_DIR\"
        \"$@\" > LOG/cache 2>&1
        umount \"$FARFEL_CACHE_DIR\"
        mount -t tmpfs -o size=64k,mode=700 none \"$FARFEL_CACHE_DIR\"
        rm -r \"$OUT_DIR\"/*
        \"$@\" > LOG/full 2>&1
        ";
    let text = text.replace("LOG", log.to_str().unwrap());
    if with_mounts(&text, &p).is_none() {
        return;
    }
    let said = |name: &str, key: &str| -> Vec<String> {
        let text = fs::read_to_string(log.join(name)).unwrap();
        assert!(!text.contains("panicked"), "{text}");
        let lines = text.lines().filter_map(|l| l.strip_prefix(key));
        lines.map(str::to_owned).collect()
    };
    for (name, place) in [("out", "/out"), ("tmp", "/tmp")] {
        let errors = said(name, "cargo::error=");
        let [error] = &errors[..] else {
            panic!("{errors:?}")
        };
        assert!(error.contains("Read-only file system"), "{error}");
        assert!(error.contains(place), "{error}");
    }
    for (name, why) in [("cache", "read-only"), ("full", "no space left on device")] {
        let warnings = said(name, "cargo::warning=");
        let [warning] = &warnings[..] else {
            panic!("{warnings:?}")
        };
        assert!(warning.contains(why), "{warning}");
    }
    let other = p.clone().into_out(&dir.path().join("other"));
    other.run();
    assert_same(&p.results(), &other.results(), "after all that");
}

/// Several builds of a crate share a cache that is empty at first.
#[test]
fn builds_at_once() {
    let dir = sandbox();
    let p = Script::new(dir.path(), "plan");
    library(&p);
    for change in ["2*X*X", "3*X*X"] {
        p.edit("src/a.ff", "2*X*X", change);
        let places = ["one", "two", "three"].map(|d| p.clone().into_out(&dir.path().join(d)));
        let running = places.each_ref().map(|p| {
            let mut command = p.command();
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        });
        for run in running {
            let said = ScriptOutput::from(run.wait_with_output().unwrap());
            assert!(said.ok, "{:?}\n{}", said.errors, said.stderr);
            assert_eq!(said.warnings, [""; 0]);
        }
        let fresh = p
            .clone()
            .into_out(&dir.path().join(change.replace('*', "")))
            .with(
                "FARFEL_CACHE_DIR",
                dir.path().join("other").to_str().unwrap(),
            );
        fresh.run();
        for place in &places {
            assert_same(&place.results(), &fresh.results(), "at once");
            place.run();
            assert_eq!(place.steps(), [""; 0]);
        }
    }
}

/// gfortran crashes at the third object, once.
#[test]
fn a_compiler_that_crashes_once() {
    let dir = sandbox();
    let p = built(dir.path());
    let before = p.results();
    let ill = dir.path().join("ill");
    let fc = program(
        &dir.path().join("bin/fc"),
        &format!(
            "#!/bin/sh\ncase \"$*\" in *' -c '*) n=$(cat '{0}'); echo $((n - 1)) > '{0}'\n\
             [ $n = 1 ] && kill -SEGV $$;; esac\nexec gfortran \"$@\"\n",
            ill.display()
        ),
    );
    let p = p
        .with("FARFEL_FC", fc.to_str().unwrap())
        .with("NUM_JOBS", "1")
        .with("FARFEL_CACHE_DIR", dir.path().join("new").to_str().unwrap())
        .into_out(&dir.path().join("other"));
    fs::write(&ill, "3").unwrap();
    let said = p.try_run();
    assert!(!said.ok);
    assert!(
        said.stderr.contains("SIGSEGV") || said.errors[0].contains("SIGSEGV"),
        "{:?}\n{}",
        said.errors,
        said.stderr
    );
    assert!(
        files(&p.out)
            .iter()
            .all(|f| !f.ends_with("libfarfel_plan_0_1_0.a"))
    );
    p.run();
    assert_same(&p.results(), &before, "after the crash");
    // Results completed before or meanwhile are not built again.
    let steps = p.steps();
    let made = steps.iter().filter(|s| s.starts_with("compile")).count();
    assert_eq!(made, 1, "{steps:?}");
}

/// Timestamps do not matter.
#[test]
fn a_clock_that_jumps() {
    let dir = sandbox();
    let p = built(dir.path());
    let day = Duration::from_secs(24 * 3600);
    let mut factor = 2;
    for (of_sources, of_results) in [(3700, 44000), (44000, 3700), (3700, 3700), (44000, 44000)] {
        p.edit(
            "src/a.ff",
            &format!("{factor}*X*X\n      END\n\n"),
            &format!("{}*X*X\n      END\n\n", factor + 20),
        );
        factor += 20;
        let set = |files: Vec<PathBuf>, days: u32| {
            for f in files {
                let file = fs::File::options().write(true).open(f).unwrap();
                file.set_modified(SystemTime::UNIX_EPOCH + day * days)
                    .unwrap();
            }
        };
        set(files(&p.root), of_sources);
        set(files(&p.out), of_results);
        set(files(&dir.path().join("cache")), of_results);
        p.run();
        let steps = p.steps();
        assert_eq!(
            steps,
            [
                "compile alpha: changed: text of LEAFA",
                "request ALPHA_ADF1_G1ALPHA"
            ]
        );
        let other = p.clone().into_out(&dir.path().join(factor.to_string()));
        set(files(&dir.path().join("cache")), of_results);
        other.run();
        let steps = other.steps();
        assert!(
            steps.len() == 6 && steps.iter().all(|s| s.starts_with("cache")),
            "{steps:?}"
        );
        assert_same(&p.results(), &other.results(), "times");
    }
}

/// Two packages of several objects, with equal names of everything, in one program.
#[test]
fn two_libraries_in_one_program() {
    let dir = sandbox();
    let p = Project::new("linked", "linked");
    let exports = "\n[package.metadata.farfel]\n\
                   exports = ['ALPHA', 'BETA', 'GAMMA', 'DELTA', 'EPSILON', 'ZETA']\n";
    let manifest = fs::read_to_string(p.directory.join("Cargo.toml")).unwrap();
    p.file(
        "below/Cargo.toml",
        manifest
            .replace("[workspace]\n", "")
            .replace("'linked'", "'linked-below'")
            + exports,
    );
    p.file("below/build.rs", "fn main() { farfel_build::compile(); }\n");
    p.file("below/src/lib.rs", "farfel_runtime::include_bindings!();\n");
    p.append("Cargo.toml", exports);
    let manifest = fs::read_to_string(p.directory.join("Cargo.toml")).unwrap();
    p.file(
        "Cargo.toml",
        manifest.replace(
            "[dependencies]\n",
            "[dependencies]\nlinked-below = { path = 'below' }\n",
        ),
    );
    script::sources(&Script::new(dir.path(), "").at(&p.directory));
    let below = Script::new(dir.path(), "").at(&p.directory.join("below"));
    script::sources(&below);
    // Each function has another value in the other package.
    for (file, old, new) in [
        ("src/a.ff", "2*X*X", "200*X*X"),
        ("src/a.ff", "5*X*X", "500*X*X"),
        ("src/deep/b.ff", "3*X*X", "300*X*X"),
        ("src/deep/b.ff", "7*X*X", "700*X*X"),
        ("src/deep/b.ff", "4*X*X", "400*X*X"),
        ("fortran/c.f", "11.0D0", "1100.0D0"),
    ] {
        below.edit(file, old, new);
    }
    p.file(
        "src/main.rs",
        "farfel_runtime::include_bindings!();
use linked_below as below;
fn main() {
    println!(\"{} {} {} {}\", alpha(1.5), beta(1.5), gamma(1.5), delta(1.5));
    println!(\"{} {} {} {}\", below::alpha(1.5), below::beta(1.5), below::gamma(1.5), below::delta(1.5));
    epsilon(2.0);
    println!(\"{} {}\", delta(1.5), below::delta(1.5));
    below::epsilon(3.0);
    println!(\"{} {}\", delta(1.5), below::delta(1.5));
}
",
    );
    let expected = "27 45 27 16.5\n2700 4500 2700 1650\n3 1650\n3 4.5\n";
    assert_eq!(p.run(), expected);
    assert!(fs::read_dir(p.out().join("farfel")).unwrap().count() >= 12);
    let ran = p.cargo(&["run", "-q", "--release"]);
    assert_eq!(ran.stdout, expected, "{}", ran.stderr);
}
