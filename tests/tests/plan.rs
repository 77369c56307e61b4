//! The steps that are repeated when something changes; and results that do not depend on earlier builds, or
//! on where, when and with how many workers they are built.
#![cfg(target_os = "linux")]

use crate::script::{Script, assert_same, built, library, program, sandbox};
use std::fs;
use std::path::Path;

/// Returns the results of a fresh build of the same sources.
fn clean(script: &Script, dir: &Path) -> (Vec<u8>, Vec<u8>) {
    let out = tempfile::tempdir_in(dir).unwrap();
    let cache = out.path().join("cache");
    let fresh = script
        .clone()
        .into_out(&out.path().join("out"))
        .with("FARFEL_CACHE_DIR", cache.to_str().unwrap());
    fresh.run();
    fresh.results()
}

#[test]
fn a_change_is_made_again_where_it_reaches() {
    let dir = sandbox();
    let p = built(dir.path());
    let all = [
        "compile alpha: it is new",
        "compile beta: it is new",
        "compile delta: it is new",
        "compile gamma: it is new",
        "compile shared-long: it is new",
        "compile zeta: it is new",
        "request ALPHA_ADF1_G1ALPHA",
        "request BETA_ADF1_G1BETA",
        "request GAMMA_ADF1_G1GAMMA",
    ];
    assert_eq!(p.steps(), all);
    let first = p.results();
    assert_eq!(p.made(), [""; 0]);
    // A leaf of one derivative.
    p.edit("src/a.ff", "2*X*X", "20*X*X");
    assert_eq!(
        p.made(),
        [
            "compile alpha: changed: text of LEAFA",
            "request ALPHA_ADF1_G1ALPHA"
        ]
    );
    // A leaf that is copied to two.
    p.edit("src/a.ff", "5*X*X", "50*X*X");
    assert_eq!(
        p.made(),
        [
            "compile beta: changed: text of SHORT",
            "compile gamma: changed: text of SHORT",
            "request BETA_ADF1_G1BETA",
            "request GAMMA_ADF1_G1GAMMA",
        ]
    );
    // A separate object, which is differentiated in two.
    p.edit("src/deep/b.ff", "7*X*X", "70*X*X");
    assert_eq!(
        p.made(),
        [
            "compile alpha: changed: text of LONG",
            "compile beta: changed: text of LONG",
            "compile shared-long: changed: text of LONG",
            "request ALPHA_ADF1_G1ALPHA",
            "request BETA_ADF1_G1BETA",
        ]
    );
    // A subprogram without derivative; and initial values, which do not belong to a subprogram.
    p.edit("fortran/c.f", "DELTA = F*X", "DELTA = 2*F*X");
    assert_eq!(p.made(), ["compile delta: changed: text of DELTA"]);
    p.edit("fortran/c.f", "11.0D0", "12.0D0");
    assert_eq!(p.made(), ["compile delta: changed: text of BLOCK DATA"]);
    // The result is that of a fresh build.
    assert_same(&p.results(), &clean(&p, dir.path()), "after many changes");
    // Back to the start: all results are stored.
    library(&p);
    assert_eq!(
        p.made(),
        [
            "cache alpha",
            "cache beta",
            "cache delta",
            "cache gamma",
            "cache shared-long"
        ]
    );
    assert_same(&p.results(), &first, "back again");
    // If an exported subprogram is removed, so is its object, and a new one is built.
    let manifest = "'DELTA', 'EPSILON', 'ZETA'";
    p.edit("Cargo.toml", manifest, "'DELTA', 'EPSILON'");
    assert_eq!(p.made(), [""; 0]);
    assert!(!p.out.join("farfel/zeta.o").exists());
    assert_same(&p.results(), &clean(&p, dir.path()), "one less");
    p.edit("Cargo.toml", "'DELTA', 'EPSILON'", manifest);
    assert_eq!(p.made(), ["cache zeta"]);
    assert_same(&p.results(), &first, "one more");
}

#[test]
fn comments_are_no_change() {
    let dir = sandbox();
    let p = built(dir.path());
    let before = p.results();
    // Instead.
    p.edit("src/a.ff", "The slope of a sum.", "A derivative.");
    assert_eq!(p.made(), [""; 0]);
    let after = p.results();
    assert!(after.0 == before.0, "the library");
    let bindings = |r: &(Vec<u8>, Vec<u8>)| String::from_utf8(r.1.clone()).unwrap();
    let told = |r| bindings(r).contains("/// A derivative.");
    assert!(told(&after) && !told(&before));
    // An edit that moves lines, in each file: only code that prints contains line numbers.
    for file in ["src/a.ff", "src/deep/b.ff", "fortran/c.f"] {
        let text = fs::read_to_string(p.root.join(file)).unwrap();
        p.file(file, format!("C     New.\n\n{text}"));
    }
    assert_eq!(p.made(), ["compile zeta: changed: lines"]);
    assert!(bindings(&p.results()).contains("`fortran/c.f:21`"));
    // With coverage or debug information, all code contains them.
    let covered = p.clone().with("FARFEL_FFLAGS", "--coverage");
    assert_eq!(covered.made().len(), 9, "{:?}", covered.steps());
    covered.edit("src/a.ff", "C     New.\n", "C     New.\nC     One.\n");
    let made = covered.made();
    assert!(
        made.contains(&"compile alpha: changed: lines".to_owned()),
        "{made:?}"
    );
    covered.edit("src/a.ff", "C     New.\nC     One.\n", "C     New.\n");
    let debug = p.with("DEBUG", "true");
    assert_eq!(debug.made().len(), 9, "{:?}", debug.steps());
    debug.edit("src/a.ff", "C     New.\n", "C     New.\nC     More.\n");
    let made = debug.made();
    let compiled: Vec<&str> = made
        .iter()
        .filter_map(|s| s.strip_prefix("compile "))
        .collect();
    // SHORT is further down in the same file.
    assert_eq!(
        compiled,
        [
            "alpha: changed: lines",
            "beta: changed: lines",
            "gamma: changed: lines"
        ]
    );
    assert_same(&debug.results(), &clean(&debug, dir.path()), "debug");
}

#[test]
fn objects_are_shared_between_directories() {
    let dir = sandbox();
    let p = built(dir.path());
    let cached = [
        "cache alpha",
        "cache beta",
        "cache delta",
        "cache gamma",
        "cache shared-long",
        "cache zeta",
    ];
    // After `cargo clean`.
    let before = p.results();
    fs::remove_dir_all(&p.out).unwrap();
    fs::create_dir(&p.out).unwrap();
    assert_eq!(p.made(), cached);
    assert_same(&p.results(), &before, "after cargo clean");
    // In another target directory.
    let other = p.clone().into_out(&dir.path().join("other/out"));
    assert_eq!(other.made(), cached);
    assert_same(&other.results(), &before, "another target directory");
    // In another checkout.
    let cache = dir.path().join("cache");
    let checkout = Script::new(&dir.path().join("elsewhere"), "plan")
        .with("FARFEL_CACHE_DIR", cache.to_str().unwrap());
    library(&checkout);
    assert_eq!(checkout.made(), cached);
    assert_same(&checkout.results(), &before, "another checkout");
    // In another profile with the same flags, by more workers.
    let profile = checkout.clone().into_out(&dir.path().join("profile/out"));
    let profile = profile.with("PROFILE", "release").with("NUM_JOBS", "7");
    assert_eq!(profile.made(), cached);
    assert_same(&profile.results(), &before, "another profile");
    // Its symbols contain the name of the package, so those of another package do not match.
    let renamed = profile.with("CARGO_PKG_NAME", "other");
    assert_eq!(renamed.made().len(), 9);
    assert!(!renamed.steps().iter().any(|s| s.starts_with("cache")));
}

#[test]
fn other_tools_and_flags_make_everything_again() {
    let dir = sandbox();
    let p = built(dir.path());
    let count = |p: &Script, reason: &str| {
        let made = p.made();
        let end = format!(": changed: {reason}");
        let compiled = made.iter().filter(|s| s.ends_with(&end)).count();
        let requests = made.iter().filter(|s| s.starts_with("request")).count();
        (compiled, requests, made.len())
    };
    let flagged = p.clone().with("FARFEL_FFLAGS", "-fno-inline");
    assert_eq!(count(&flagged, "flags"), (6, 3, 9));
    let optimised = p.clone().with("OPT_LEVEL", "1");
    assert_eq!(count(&optimised, "flags"), (6, 3, 9));
    // The same flags again: the results are in the cache.
    assert_eq!(p.made().len(), 6);
    // A different compiler.
    let fc = |version: &str| {
        let text = format!(
            "#!/bin/sh\ncase $1 in -dumpfullversion|-dumpversion|--version) \
             gfortran \"$@\" | sed 's/[0-9][0-9]*[.][.0-9]*/{version}/'; exit;; esac\nexec gfortran \"$@\"\n"
        );
        let file = dir.path().join("bin/fc");
        program(&file, &text);
        p.clone().with("FARFEL_FC", file.to_str().unwrap())
    };
    let other = fc("12.9.9");
    assert_eq!(count(&other, "compiler"), (6, 3, 9));
    assert_eq!(other.made(), [""; 0]);
    assert_eq!(count(&fc("13.1.0"), "compiler"), (6, 3, 9));
    // A file that a flag names.
    let options = dir.path().join("options");
    fs::write(&options, "-fno-inline").unwrap();
    let named = p
        .clone()
        .with("FARFEL_FFLAGS", format!("@{}", options.display()));
    assert_eq!(count(&named, "compiler"), (6, 3, 9));
    fs::write(&options, "-fno-inline -fwrapv").unwrap();
    assert_eq!(count(&named, "compiler"), (6, 3, 9));
}

/// Warnings of gfortran and the AD tool are stored with the object.
#[test]
fn warnings_are_said_again() {
    let dir = sandbox();
    let p = Script::new(dir.path(), "plan").with("FARFEL_FFLAGS", "-Winteger-division");
    library(&p);
    p.edit("src/a.ff", "2*X*X", "2*X*X + 3/2");
    p.edit(
        "src/a.ff",
        "SHORT = 5*X*X",
        "K = X\n      SHORT = 5*X*X + K",
    );
    let expected = |division: usize, lost: usize| {
        [
            format!("src/a.ff:{lost}:7: F0307 the derivative ends here: K is an INTEGER"),
            format!(
                "src/a.ff:{division}:7: F0401 Integer division truncated to constant '1' \
                 [-Winteger-division]"
            ),
        ]
    };
    let said = |p: &Script| {
        let mut said = p.run().warnings;
        // Only the lines with positions; others show the marked code.
        said.retain(|s| s.starts_with("src/"));
        said.sort_by_key(|s| !s.contains("derivative"));
        said
    };
    assert_eq!(said(&p), expected(13, 18));
    assert_eq!(said(&p), expected(13, 18));
    assert_eq!(p.steps(), [""; 0]);
    // In another directory, from the cache.
    let other = p.clone().into_out(&dir.path().join("other"));
    assert_eq!(said(&other), expected(13, 18));
    let steps = other.steps();
    assert!(steps.iter().all(|s| s.starts_with("cache")), "{steps:?}");
    // Longer and shorter lines before them.
    p.edit("src/a.ff", "The slope of a sum.", "A slope.");
    assert_eq!(said(&p), expected(13, 18));
    assert_eq!(p.steps(), [""; 0]);
    // Other lines: the messages are updated, and nothing else.
    p.edit("src/a.ff", "C     The leaf", "C     New.\nC     The leaf");
    assert_eq!(said(&p), expected(14, 19));
    let steps = p.steps();
    assert_eq!(said(&p), expected(14, 19));
    assert_eq!(p.steps(), [""; 0]);
    assert_eq!(steps.len(), 6, "{steps:?}");
    // Fixed.
    p.edit("src/a.ff", "3/2", "1");
    p.edit("src/a.ff", "K = X", "K = INT(X)");
    assert_eq!(said(&p), [""; 0]);
    assert_eq!(said(&p), [""; 0]);
}

#[test]
fn without_a_cache_the_last_build_is_known() {
    let dir = sandbox();
    let p = Script::new(dir.path(), "plan");
    library(&p);
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let p = p.with("FARFEL_CACHE_DIR", file.join("cache").to_str().unwrap());
    let said = p.run();
    assert_eq!(said.warnings.len(), 1, "{:?}", said.warnings);
    assert!(
        said.warnings[0].contains("is not used: not a directory"),
        "{:?}",
        said.warnings
    );
    let before = p.results();
    assert_eq!(p.made(), [""; 0]);
    p.edit("src/a.ff", "2*X*X", "3*X*X");
    assert_eq!(
        p.made(),
        [
            "compile alpha: changed: text of LEAFA",
            "request ALPHA_ADF1_G1ALPHA"
        ]
    );
    p.edit("src/a.ff", "3*X*X", "2*X*X");
    assert_eq!(
        p.made(),
        [
            "compile alpha: changed: text of LEAFA",
            "request ALPHA_ADF1_G1ALPHA"
        ]
    );
    assert_same(&p.results(), &before, "back again");
}

/// Byte for byte: on any machine, in any directory and order.
#[test]
fn results_are_the_same_everywhere() {
    let dir = sandbox();
    for (level, debug) in [("0", "true"), ("3", "false")] {
        let build = |name: &str, jobs: &str| {
            let base = dir.path().join(name).join(level);
            let p = Script::new(&base, "plan")
                .with("OPT_LEVEL", level)
                .with("DEBUG", debug)
                .with("NUM_JOBS", jobs);
            library(&p);
            p
        };
        let one = build("cobblestone", "1");
        one.run();
        // No archiver is run, whatever it would do.
        let other = build("a much longer name, with blanks", "4").with("AR", "/bin/false");
        // Its files are in another order.
        for name in ["src/a.ff", "fortran/c.f", "src/deep/b.ff"] {
            let path = other.root.join(name);
            let text = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            other.file("zzz", "");
            other.file(name, text);
        }
        other.run();
        let results = one.results();
        assert_same(&results, &other.results(), level);
        for bytes in [&results.0, &results.1] {
            for name in [
                "cobblestone",
                "farfel-test-",
                "/tmp",
                dir.path().to_str().unwrap(),
            ] {
                let found = bytes.windows(name.len()).any(|w| w == name.as_bytes());
                assert!(!found, "{name} at level {level}");
            }
        }
        // Members of an archive have a time, an owner and a group.
        let mut at = 8;
        let mut members = 0;
        while let Some(header) = results.0.get(at..at + 60) {
            let field = |from: usize, to: usize| {
                String::from_utf8_lossy(&header[from..to]).trim().to_owned()
            };
            assert_eq!(
                [field(16, 28), field(28, 34), field(34, 40)],
                ["0", "0", "0"]
            );
            let size: usize = field(48, 58).parse().unwrap();
            at += 60 + size + size % 2;
            members += 1;
        }
        assert!(members >= 7, "{members}");
    }
}
