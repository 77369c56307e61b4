//! The published packages: licences in each of them, all files that they compile, settings for docs.rs, and
//! the Rust version that they require.

use farfel_tests::repository;
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use toml_edit::DocumentMut;

/// Returns the published crates, with their manifests, in the order of CONTRIBUTING.md.
fn published() -> Vec<(String, DocumentMut)> {
    let text = fs::read_to_string(repository().join("CONTRIBUTING.md")).unwrap();
    let (_, releasing) = text.split_once("## Releasing").unwrap();
    let (list, _) = releasing.split_once("are published").unwrap();
    let names = list.split('`').skip(1).step_by(2);
    names
        .map(|name| {
            let manifest = repository().join(name).join("Cargo.toml");
            let manifest = fs::read_to_string(manifest).unwrap();
            (name.to_owned(), manifest.parse().unwrap())
        })
        .collect()
}

/// Runs cargo and returns its output.
fn cargo(args: &[&str]) -> String {
    let out = Command::new(env!("CARGO"))
        .args(args)
        .arg("--offline")
        .current_dir(repository())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{args:?}: {said}");
    String::from_utf8(out.stdout).unwrap()
}

/// Returns the files of a package.
fn files(name: &str) -> Vec<String> {
    let list = cargo(&["package", "--list", "--allow-dirty", "-p", name]);
    list.lines().map(str::to_owned).collect()
}

#[test]
fn every_package_has_its_licences() {
    let published = published();
    assert!(published.len() > 8, "{published:?}");
    for (name, manifest) in &published {
        let files = files(name);
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let there = files.iter().any(|file| file == licence);
            assert!(there, "{name}: no {licence}\n{files:?}");
            let text = fs::read(repository().join(name).join(licence)).unwrap();
            let ours = fs::read(repository().join(licence)).unwrap();
            assert_eq!(text, ours, "{name}");
        }
        let docs = &manifest["package"]["metadata"]["docs"]["rs"]["targets"];
        assert!(docs.is_array(), "{name}");
    }
}

/// Templates, pages of errors and the gallery are links to folders outside of the crates that embed them.
#[test]
fn folders_that_are_links_are_in_the_package() {
    let mut linked = Vec::new();
    for (name, _) in published() {
        let root = repository().join(&name);
        for entry in fs::read_dir(&root).unwrap() {
            let folder = entry.unwrap().path();
            if !folder.is_symlink() || !folder.is_dir() {
                continue;
            }
            let packaged = files(&name);
            for file in below(&folder) {
                let file = file.strip_prefix(&root).unwrap().to_str().unwrap();
                assert!(packaged.iter().any(|f| f == file), "{name}: no {file}");
            }
            linked.push(folder.file_name().unwrap().to_owned());
        }
    }
    linked.sort();
    assert_eq!(linked, ["errors", "gallery", "templates"]);
}

/// Returns the files in a folder, which must have some.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(below(&path));
        } else {
            files.push(path);
        }
    }
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

/// Cargo accepts all dependencies of a crate with the oldest Rust that it declares. `.ci/msrv` builds our own
/// code with it.
#[test]
fn dependencies_are_content_with_the_oldest_rust() {
    // Dependencies that only other systems need have not been downloaded.
    let about = Command::new("rustc").arg("-vV").output().unwrap();
    let about = String::from_utf8(about.stdout).unwrap();
    let host = about.lines().find_map(|l| l.strip_prefix("host: "));
    let mut args = vec!["metadata", "--format-version", "1"];
    args.extend(["--filter-platform", host.unwrap()]);
    let metadata: Value = serde_json::from_str(&cargo(&args)).unwrap();
    let minor = |version: &str| -> u32 { version.split('.').nth(1).unwrap().parse().unwrap() };
    let asked: HashMap<String, u32> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| {
            let text = |key: &str| package[key].as_str();
            let name = format!("{} v{}", text("name").unwrap(), text("version").unwrap());
            (name, text("rust_version").map_or(0, minor))
        })
        .collect();
    for (name, _) in published() {
        let mut args = vec!["tree", "--prefix", "none", "--no-dedupe", "--format", "{p}"];
        args.extend(["--edges", "normal,build", "--package", &name]);
        if name == "farfel-build" {
            args.extend(["--features", "bundled"]);
        }
        let tree = cargo(&args);
        let words = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let mut tree = tree.lines().filter(|line| !line.is_empty()).map(words);
        let own = asked[&tree.next().unwrap()];
        assert!(own > 0, "{name} names no Rust");
        for dependency in tree {
            let needs = asked[&dependency];
            assert!(
                needs <= own,
                "{name} is for Rust 1.{own}, {dependency} for 1.{needs}"
            );
        }
    }
}

/// The dependencies of a crate in the workspace are published before it.
#[test]
fn crates_are_published_in_an_order_that_works() {
    let published = published();
    for (at, (name, manifest)) in published.iter().enumerate() {
        let earlier: Vec<&str> = published[..at].iter().map(|(n, _)| n.as_str()).collect();
        for table in ["dependencies", "build-dependencies"] {
            let Some(table) = manifest.get(table).and_then(|t| t.as_table_like()) else {
                continue;
            };
            for (dependency, _) in table.iter().filter(|(d, _)| d.starts_with("farfel-")) {
                assert!(earlier.contains(&dependency), "{name} needs {dependency}");
            }
        }
    }
    let publishes = |manifest: &DocumentMut| {
        let publish = manifest["package"].get("publish");
        publish.and_then(|p| p.as_bool()) != Some(false)
    };
    for entry in fs::read_dir(repository()).unwrap() {
        let manifest = entry.unwrap().path().join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&manifest) else {
            continue;
        };
        let manifest: DocumentMut = text.parse().unwrap();
        let name = manifest["package"]["name"].as_str().unwrap();
        let listed = published.iter().any(|(n, _)| n == name);
        assert!(listed || !publishes(&manifest), "{name} is not in the list");
    }
}
