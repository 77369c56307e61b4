//! Computes the identity of the compiler that is being built, for the keys of the cache: in a checkout, two
//! builds of the same version may differ. Also records the target, for which programs without cargo are
//! compiled.

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    println!("cargo::rerun-if-changed=build.rs");
    let mut directories = vec![here.join("src")];
    // A package from a registry has no neighbours; their versions suffice.
    let neighbours = fs::read_dir(here.join(".."))
        .into_iter()
        .flatten()
        .flatten();
    for path in neighbours.map(|e| e.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // farfel-driver is in the list already.
        let makes_nothing = [
            "farfel-build",
            "farfel-driver",
            "farfel-cli",
            "farfel-remote",
            "farfel-runtime",
        ];
        if name.starts_with("farfel-") && !makes_nothing.contains(&&*name) {
            directories.push(path.join("src"));
        }
    }
    directories.sort();
    for directory in directories.iter().filter(|d| d.is_dir()) {
        println!("cargo::rerun-if-changed={}", directory.display());
        add(directory, &mut hash);
    }
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=FARFEL_TARGET={target}");
    println!("cargo::rustc-env=FARFEL_SOURCES={hash:016x}");
}

/// Adds all files of a directory, in order, to an FNV-1a hash.
fn add(directory: &Path, hash: &mut u64) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            add(&path, hash);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let content = fs::read(&path).unwrap_or_default();
        for byte in name.bytes().chain(content) {
            *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
