//! What is published: licences in every package, and what docs.rs and `cargo binstall` need.

use farfel_tests::repository;
use std::fs;
use std::process::Command;
use toml_edit::DocumentMut;

/// The crates that are published, with their manifests, in the order of CONTRIBUTING.md.
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

#[test]
fn every_package_has_its_licences() {
    let published = published();
    assert!(published.len() > 8, "{published:?}");
    for (name, manifest) in &published {
        let list = Command::new(env!("CARGO"))
            .args([
                "package",
                "--list",
                "--allow-dirty",
                "--offline",
                "-p",
                name,
            ])
            .current_dir(repository())
            .output()
            .unwrap();
        let files = String::from_utf8(list.stdout).unwrap();
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let there = files.lines().any(|file| file == licence);
            let said = String::from_utf8_lossy(&list.stderr);
            assert!(there, "{name}: no {licence}\n{files}{said}");
            let text = fs::read(repository().join(name).join(licence)).unwrap();
            let ours = fs::read(repository().join(licence)).unwrap();
            assert_eq!(text, ours, "{name}");
        }
        let docs = &manifest["package"]["metadata"]["docs"]["rs"]["targets"];
        assert!(docs.is_array(), "{name}");
    }
}

/// What a crate needs of the workspace is published before it.
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
