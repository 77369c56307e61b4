//! The projects that `farfel new` creates: the folders of `templates/`, embedded in the command.
//!
//! Files that end in `.j2` are rendered and lose that extension; all others are copied.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use include_dir::{Dir, DirEntry, include_dir};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, context};

use crate::error::{Error, Result};

// A link to the top-level `templates/`, so that the published package contains them, too.
static TEMPLATES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates");

/// A kind of project to start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Template {
    /// A Rust program that calls a Farfel subprogram
    Bin,
    /// A library: a Farfel subprogram, its Rust face and tests
    Lib,
    /// The equilibrium of a two-player game, with nested derivatives
    Game,
    /// Existing Fortran with COMMON blocks, called from Rust
    Legacy,
    /// A main program in Farfel, without any Rust
    Program,
}

impl Template {
    /// Returns its folder in `templates/`.
    pub fn folder(self) -> &'static str {
        match self {
            Template::Bin => "bin",
            Template::Lib => "lib",
            Template::Game => "game",
            Template::Legacy => "legacy",
            Template::Program => "program",
        }
    }

    /// Describes the project for status lines.
    pub fn describe(self) -> &'static str {
        match self {
            Template::Bin => "binary (application)",
            Template::Lib => "library",
            Template::Game => "equilibrium of a two-player game",
            Template::Legacy => "Rust face for existing Fortran",
            Template::Program => "program without Rust",
        }
    }
}

/// The variables of templates.
pub struct Values<'a> {
    /// The package's name.
    pub name: &'a str,
    /// The dependency on farfel-build, as the right-hand side of a TOML entry.
    pub farfel_build: String,
    /// The dependency on farfel-runtime, likewise.
    pub farfel_runtime: String,
}

/// Returns the files of `template`: relative paths and contents.
///
/// # Errors
///
/// A template that cannot be rendered, which tests rule out for the embedded ones.
pub fn files(template: Template, values: &Values) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let folder = TEMPLATES
        .get_dir(template.folder())
        .ok_or_else(|| Error::invalid(format!("no template `{}`", template.folder())))?;
    let mut files = Vec::new();
    collect(folder, folder.path(), values, &mut files)?;
    Ok(files)
}

fn collect(
    dir: &Dir<'_>,
    root: &Path,
    values: &Values,
    files: &mut Vec<(PathBuf, Vec<u8>)>,
) -> Result {
    for entry in dir.entries() {
        match entry {
            DirEntry::Dir(dir) => collect(dir, root, values, files)?,
            DirEntry::File(file) => {
                let path = file.path().strip_prefix(root).unwrap_or(file.path());
                if path.extension().is_some_and(|ending| ending == "j2") {
                    let text = render(path, file.contents(), values)?;
                    files.push((path.with_extension(""), text.into_bytes()));
                } else {
                    files.push((path.to_owned(), file.contents().to_owned()));
                }
            }
        }
    }
    Ok(())
}

fn render(path: &Path, text: &[u8], values: &Values) -> Result<String> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder()
        .keep_trailing_newline(true)
        .build()
        .map_err(|error| Error::invalid(error.to_string()))?;
    environment.set_syntax(syntax);
    let Values {
        name,
        farfel_build,
        farfel_runtime,
    } = values;
    let name = *name;
    let crate_name = name.replace('-', "_");
    environment
        .render_str(
            &String::from_utf8_lossy(text),
            context! { name, crate_name, farfel_build, farfel_runtime },
        )
        .map_err(|error| Error::invalid(format!("template `{}`: {error:#}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_renders_to_a_manifest_with_the_name() {
        for template in Template::value_variants() {
            let values = Values {
                name: "my-game",
                farfel_build: "\"0.1\"".into(),
                farfel_runtime: "\"0.1\"".into(),
            };
            let files = files(*template, &values).unwrap();
            let manifest = files
                .iter()
                .find(|(path, _)| path == Path::new("Cargo.toml"))
                .map(|(_, text)| String::from_utf8_lossy(text))
                .unwrap_or_else(|| panic!("{template:?} has no manifest"));
            let manifest: toml_edit::DocumentMut = manifest.parse().unwrap();
            assert_eq!(manifest["package"]["name"].as_str(), Some("my-game"));
            assert!(!files.iter().any(|(path, _)| path.ends_with("j2")));
            if *template == Template::Program {
                assert!(!files.iter().any(|(path, _)| path == Path::new("build.rs")));
                continue;
            }
            assert_eq!(
                manifest["build-dependencies"]["farfel-build"].as_str(),
                Some("0.1")
            );
            assert!(files.iter().any(|(path, _)| path == Path::new("build.rs")));
        }
    }
}
