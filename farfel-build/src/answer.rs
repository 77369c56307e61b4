//! Reads the compiler's answer, line by line.

use crate::diagnostic::{Diagnostic, Severity};
use crate::error::Error;
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;

/// The result of a build.
#[derive(Debug)]
#[non_exhaustive]
pub struct Built {
    /// The static library; cargo has been told to link it.
    pub library: PathBuf,
    /// The Rust functions.
    pub bindings: PathBuf,
    /// The warnings, which have been passed to cargo.
    pub warnings: Vec<Diagnostic>,
}

/// The answer received so far.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Directives for cargo.
    pub directives: Vec<String>,
    diagnostics: Vec<Diagnostic>,
    end: Option<BuildEnd>,
}

#[derive(Debug)]
enum BuildEnd {
    Finished { library: PathBuf, bindings: PathBuf },
    Failed { headline: String, text: String },
}

impl Answer {
    /// Processes a line. Lines that are not understood are ignored: they are meant for other versions.
    pub fn take(&mut self, line: &str) {
        let Ok(said) = serde_json::from_str::<Value>(line) else {
            return;
        };
        let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
        match said["reason"].as_str() {
            Some("cargo") => {
                let line = format!("cargo::{}={}", text("key"), text("value"));
                self.directives.push(line);
            }
            // Cargo ignores such a line, and shows it with `-vv`.
            Some("progress") => {
                let _ = writeln!(std::io::stdout(), "farfel: {}", progress(&said));
            }
            Some("diagnostic") => self.diagnostics.push(diagnostic(&said)),
            Some("finished") => {
                self.end = Some(BuildEnd::Finished {
                    library: text("library").into(),
                    bindings: text("bindings").into(),
                });
            }
            Some("failed") => {
                self.end = Some(BuildEnd::Failed {
                    headline: text("headline"),
                    text: text("text"),
                });
            }
            _ => {}
        }
    }

    /// Adds a directive for cargo that did not come from the compiler.
    pub fn add(&mut self, key: &str, value: impl std::fmt::Display) {
        self.directives.push(format!("cargo::{key}={value}"));
    }

    /// Returns the outcome; `None` if the compiler did not report one.
    pub fn outcome(&mut self) -> Option<Result<Built, Error>> {
        let diagnostics = std::mem::take(&mut self.diagnostics);
        Some(match self.end.take()? {
            BuildEnd::Finished { library, bindings } => Ok(Built {
                library,
                bindings,
                warnings: diagnostics,
            }),
            BuildEnd::Failed { headline, text } => Err(Error::Build {
                headline,
                text,
                diagnostics,
            }),
        })
    }
}

/// Formats the progress for people.
fn progress(said: &Value) -> String {
    let number = |key: &str| said[key].as_u64().unwrap_or_default();
    let (done, steps, kept) = (number("done"), number("steps"), number("kept"));
    let running = said["running"].as_array().into_iter().flatten();
    let running: Vec<&str> = running.filter_map(Value::as_str).collect();
    format!(
        "{done} of {steps} steps, {kept} from the cache: {}",
        running.join(", ")
    )
}

fn diagnostic(said: &Value) -> Diagnostic {
    let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
    let place = said["places"].as_array().and_then(|places| places.first());
    let place = place.filter(|p| p["primary"] == true).map(|p| {
        let number = |key: &str| p[key].as_u64().unwrap_or_default() as usize;
        let file = p["file"].as_str().unwrap_or_default();
        (file.to_owned(), number("line"), number("column"))
    });
    Diagnostic {
        severity: match said["level"].as_str() {
            Some("warning") => Severity::Warning,
            _ => Severity::Error,
        },
        code: text("code"),
        message: text("message"),
        place,
        rendered: text("rendered"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_line() {
        let said = r#"{"reason":"progress","done":12,"steps":40,"kept":3,"running":["compiling A","compiling B"]}"#;
        let said: Value = serde_json::from_str(said).unwrap();
        assert_eq!(
            progress(&said),
            "12 of 40 steps, 3 from the cache: compiling A, compiling B"
        );
    }
}
