//! Valid names of new packages.

use crate::error::{Error, Result};

/// Keywords of all Rust editions, including reserved ones.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "Self", "static", "struct", "super", "trait", "true", "try", "type",
    "typeof", "union", "unsafe", "unsized", "use", "virtual", "where", "while", "yield", "_",
];

/// Crates that every program can see; a package of the same name would hide or break them.
const TAKEN: &[&str] = &[
    "alloc",
    "core",
    "proc_macro",
    "std",
    "test",
    "farfel_build",
    "farfel_runtime",
];

/// Folders that cargo creates in its target directory, where a program of the same name would clash.
const ARTIFACTS: &[&str] = &["build", "deps", "examples", "incremental"];

/// Names that Windows reserves for devices.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul"];

/// Checks a package name by the rules of cargo and Rust, since it becomes a crate name.
///
/// # Errors
///
/// The first rule that it violates, with a remedy.
pub fn check(name: &str) -> Result {
    let error = |why: String| {
        Err(
            Error::invalid(format!("`{name}` cannot be a package name: {why}"))
                .help("give another name with `--name NAME`; the directory can keep its own"),
        )
    };
    if name.is_empty() {
        return error("it is empty".into());
    }
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        return error("it starts with a digit".into());
    }
    if name.starts_with('-') {
        return error("it starts with `-`".into());
    }
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if let Some(letter) = name.chars().find(|letter| !allowed(*letter)) {
        return error(format!(
            "`{letter}` is neither an ASCII letter, a digit, `-` nor `_`"
        ));
    }
    let crate_name = name.replace('-', "_");
    if KEYWORDS.contains(&crate_name.as_str()) {
        return error("it is a keyword of Rust".into());
    }
    if TAKEN.contains(&crate_name.as_str()) {
        return error("a crate that the project uses has that name".into());
    }
    if ARTIFACTS.contains(&name) {
        return error("cargo has a folder of that name among its output".into());
    }
    if DEVICES.contains(&name.to_ascii_lowercase().as_str()) {
        return error("Windows keeps that name for a device".into());
    }
    Ok(())
}

/// Returns a valid name close to another: invalid characters become `-`, and taken names get a suffix.
pub fn near(name: &str) -> String {
    let allowed = |letter: char| match letter.is_ascii_alphanumeric() || letter == '_' {
        true => letter,
        false => '-',
    };
    let plain: String = name.chars().map(allowed).collect();
    let plain = plain.trim_matches('-');
    match plain.starts_with(|first: char| first.is_ascii_digit()) {
        _ if plain.is_empty() => "fortran".into(),
        true => format!("fortran-{plain}"),
        false if check(plain).is_err() => format!("{plain}-fortran"),
        false => plain.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cargos_and_rusts() {
        for good in ["demo", "my-game", "a1", "_x", "Farfel", "x_y-z"] {
            assert!(check(good).is_ok(), "{good}");
        }
        for (bad, why) in [
            ("", "empty"),
            ("1st", "digit"),
            ("-x", "starts with `-`"),
            ("a b", "` ` is neither"),
            ("größe", "`ö` is neither"),
            ("match", "keyword"),
            ("self", "keyword"),
            ("farfel-runtime", "crate"),
            ("std", "crate"),
            ("deps", "folder"),
            ("NUL", "Windows"),
        ] {
            let message = check(bad).unwrap_err().to_string();
            assert!(message.contains(why), "{bad}: {message}");
        }
    }

    #[test]
    fn names_that_are_near() {
        for (name, expected) in [
            ("demo", "demo"),
            ("specfun.f", "specfun-f"),
            ("my model ", "my-model"),
            ("2DStiff", "fortran-2DStiff"),
            ("test", "test-fortran"),
            ("...", "fortran"),
        ] {
            let found = near(name);
            assert_eq!(found, expected);
            check(&found).unwrap();
        }
    }
}
