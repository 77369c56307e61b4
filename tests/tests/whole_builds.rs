//! Whole builds with an external AD tool: which of its runs are repeated; and a build script that is killed
//! again and again, at any point. The next one that is not killed gives the same result as a fresh build.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::script::{Script, assert_same, library, program};
use farfel_tests::{farfel_path, sandbox};

/// Creates programs that log when they begin and end, and take some time.
fn tools(dir: &Path) -> PathBuf {
    let log = dir.join("log");
    fs::write(&log, "").unwrap();
    let noting = |name: &str, before: &str, does: &str| {
        let text = format!(
            "#!/bin/sh\n{before}\necho {name} >> '{log}'\nsleep 0.03\n{does}\ncode=$?\n\
             sleep 0.03\necho none >> '{log}'\nexit $code\n",
            log = log.display()
        );
        program(&dir.join("home/bin").join(name), &text);
    };
    let question = "case \"$*\" in *' -c '*) ;; *) exec gfortran \"$@\";; esac";
    noting("gfortran-slow", question, "gfortran \"$@\"");
    let question = "case $1 in -version) echo 'Tapenade 3.16 (stand-in)'; exit;; esac";
    let command = format!("'{}' tapenade \"$@\"", farfel_path().display());
    noting("tapenade", question, &command);
    log
}

/// Returns what is running according to the log.
fn running(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap();
    text.lines().last().unwrap_or("none").to_owned()
}

/// Returns the library that is being written, before it replaces the old one.
fn unfinished(out: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(out).ok()?;
    files.flatten().map(|f| f.path()).find(|f| {
        let name = f.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libfarfel_plan_0_1_0.a.") && name.ends_with(".tmp")
    })
}

fn pseudo_random(state: &mut u64, below: u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

/// Runs the subprograms of the library: `ALPHA` to `DELTA` at 1.5.
fn values(library: &Path, dir: &Path) -> String {
    let text = "#include <stdio.h>\n\
        #define F(n) void farfel_plan_0_1_0__##n(const double *, double *);\n\
        F(alpha) F(beta) F(gamma) F(delta)\n\
        #define P(n) farfel_plan_0_1_0__##n(&x, &y); printf(\"%g \", y);\n\
        int main(void) { double x = 1.5, y; P(alpha) P(beta) P(gamma) P(delta) return 0; }\n";
    let source = dir.join("main.c");
    fs::write(&source, text).unwrap();
    let program = dir.join("main");
    let linked = Command::new("gfortran")
        .args([&source, library])
        .arg("-o")
        .arg(&program)
        .status();
    assert!(linked.unwrap().success());
    String::from_utf8(Command::new(program).output().unwrap().stdout).unwrap()
}

#[test]
fn a_build_that_is_killed_at_any_moment() {
    let dir = sandbox();
    let dir = dir.path();
    let log = tools(dir);
    let p = Script::new(dir, "plan")
        .with(
            "FARFEL_FC",
            dir.join("home/bin/gfortran-slow").to_str().unwrap(),
        )
        .with("FARFEL_AD_TOOL", "tapenade")
        .with("TAPENADE_HOME", dir.join("home").to_str().unwrap());
    library(&p);
    // Large enough that writing the library takes time.
    p.edit("Cargo.toml", "'ZETA'", "'ZETA', 'LARGE'").file(
        "src/large.f",
        "      DOUBLE PRECISION FUNCTION LARGE(I)\n      DOUBLE PRECISION T(2000000)\n      \
         SAVE T\n      DATA T(1) /1.5D0/\n      LARGE = T(I)\n      END\n",
    );
    let mut random = 2026;
    let mut killed: Vec<String> = Vec::new();
    let mut factors = (2, 7);
    let mut good: Option<(Vec<u8>, Vec<u8>)> = None;
    let enough = |killed: &[String]| {
        let count = |what: &str| killed.iter().filter(|k| *k == what).count();
        killed.len() >= 15
            && count("tapenade") >= 2
            && count("gfortran-slow") >= 3
            && count("library") >= 2
            && count("none") >= 2
    };
    let start = Instant::now();
    while !enough(&killed) {
        assert!(start.elapsed() < Duration::from_secs(300), "{killed:?}");
        // Killed until it completes in spite of it.
        let library_before = good.as_ref().map(|g| g.0.clone());
        let mut seen_between = Vec::new();
        loop {
            fs::write(&log, "").unwrap();
            let mut command = p.command();
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            // When something begins or ends, or just after it; or at its start; or when part of the library
            // has been written.
            let event = pseudo_random(&mut random, 6) as usize;
            let library = pseudo_random(&mut random, 3) == 0;
            let events = || {
                fs::read(&log)
                    .unwrap()
                    .iter()
                    .filter(|b| **b == b'\n')
                    .count()
            };
            let mut ended = None;
            if library {
                // This state is short, so it is polled without a pause.
                while ended.is_none() && unfinished(&p.out).is_none() {
                    ended = child.try_wait().unwrap();
                }
            } else {
                while ended.is_none() && events() < event {
                    std::thread::sleep(Duration::from_millis(1));
                    ended = child.try_wait().unwrap();
                }
                std::thread::sleep(Duration::from_millis(pseudo_random(&mut random, 40)));
            }
            let at = running(&log);
            if let Some(status) = ended.or(child.try_wait().unwrap()) {
                assert!(status.success());
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            killed.push(match unfinished(&p.out) {
                Some(_) => "library".into(),
                None => at,
            });
            if let Ok(bytes) = fs::read(p.out.join("libfarfel_plan_0_1_0.a")) {
                seen_between.push(bytes);
            }
        }
        // Without a kill, it gives the result of a fresh build.
        p.run();
        assert_eq!(p.steps(), [""; 0]);
        let fresh = p
            .clone()
            .into_out(&dir.join(format!("fresh{}", killed.len())))
            .with("FARFEL_CACHE_DIR", dir.join("fresh").to_str().unwrap());
        fresh.run();
        let results = p.results();
        assert_same(&results, &fresh.results(), &format!("{killed:?}"));
        // After a kill there was either the old library or the new one.
        for library in seen_between {
            assert!(library == results.0 || Some(&library) == library_before.as_ref());
        }
        let (leaf, long) = factors;
        assert_eq!(
            values(&p.library(), dir),
            format!("{} {} 27 16.5 ", 3 * (leaf + long), 3 * (3 + long + 5))
        );
        good = Some(results);
        factors = (leaf + 10, long + 10);
        p.edit(
            "src/a.ff",
            &format!("LEAFA = {leaf}*"),
            &format!("LEAFA = {}*", leaf + 10),
        );
        p.edit(
            "src/deep/b.ff",
            &format!("LONG = {long}*"),
            &format!("LONG = {}*", long + 10),
        );
    }
    // Nothing in the cache is damaged, and no files of killed processes remain.
    let verified = Command::new(farfel_path())
        .args(["cache", "verify"])
        .env("FARFEL_CACHE_DIR", dir.join("cache"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&verified.stderr);
    assert!(
        verified.status.success() && said.contains("Verified"),
        "{said}"
    );
    assert!(!said.contains("damaged"), "{said}");
    let wait = Instant::now();
    loop {
        let left = fs::read_dir(dir.join("tmp")).unwrap();
        let left: Vec<PathBuf> = left.map(|e| e.unwrap().path()).collect();
        if left.is_empty() {
            break;
        }
        assert!(
            wait.elapsed() < Duration::from_secs(20),
            "files of the dead: {left:?}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let names = fs::read_dir(&p.out).unwrap();
    let mut names: Vec<String> = names
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "farfel",
            "farfel-timings.json",
            "farfel.partitions",
            "farfel.state",
            "farfel_bindings",
            "farfel_bindings.rs",
            "libfarfel_plan_0_1_0.a"
        ]
    );
}

/// With another version or other options of the AD tool, only derivatives are generated again. If the runs of
/// the tool are cached and only the compiler differs, derivatives are taken from the cache.
#[test]
fn what_depends_on_the_tool() {
    let dir = sandbox();
    let dir = dir.path();
    let log = dir.join("log");
    let tool = |version: &str| {
        fs::write(&log, "").unwrap();
        program(
            &dir.join("home/bin/tapenade"),
            &format!(
                "#!/bin/sh\ncase $1 in -version) echo 'Tapenade {version} (stand-in)'; exit;; esac\n\
                 echo run >> '{}'\nfor a; do shift; [ \"$a\" = -neutral ] || set -- \"$@\" \"$a\"; done\n\
                 exec '{}' tapenade \"$@\"\n",
                log.display(),
                farfel_path().display()
            ),
        );
    };
    let runs = || fs::read_to_string(&log).unwrap().lines().count();
    let p = Script::new(dir, "plan")
        .with("FARFEL_AD_TOOL", "tapenade")
        .with("TAPENADE_HOME", dir.join("home").to_str().unwrap());
    library(&p);
    tool("3.16");
    p.run();
    assert_eq!((runs(), p.steps().len()), (3, 9));
    assert_eq!(values(&p.library(), dir), "27 45 27 16.5 ");
    let again = |p: &Script| {
        assert_eq!(
            p.made(),
            [
                "compile alpha: changed: tool",
                "compile beta: changed: tool",
                "compile gamma: changed: tool",
                "request ALPHA_ADF1_G1ALPHA",
                "request BETA_ADF1_G1BETA",
                "request GAMMA_ADF1_G1GAMMA",
            ]
        );
        assert_eq!(values(&p.library(), dir), "27 45 27 16.5 ");
    };
    tool("3.15");
    again(&p);
    assert_eq!(runs(), 3);
    let manifest = fs::read_to_string(p.root.join("Cargo.toml")).unwrap();
    let options = "[package.metadata.farfel.tapenade]\noptions = ['-neutral']\n";
    p.file("Cargo.toml", manifest.clone() + options);
    again(&p);
    assert_eq!(runs(), 6);
    p.file("Cargo.toml", manifest);
    // Objects are compiled with other flags, from cached runs.
    let flagged = p.clone().with("OPT_LEVEL", "1");
    flagged.run();
    assert_eq!((runs(), flagged.steps().len()), (6, 9));
}
