//! Lint levels from the command line.

use std::process::Command;

use farfel_driver::{Config, Level};

use crate::args::LintOptions;
use crate::error::{Error, Result};

/// The environment variable that passes the levels to the build script of a project.
const VARIABLE: &str = "FARFEL_LINTS";

impl LintOptions {
    fn levels(&self) -> Vec<(&str, Level)> {
        [
            (&self.allow, Level::Allow),
            (&self.warn, Level::Warn),
            (&self.deny, Level::Deny),
        ]
        .into_iter()
        .flat_map(|(names, level)| names.iter().map(move |n| (n.as_str(), level)))
        .collect()
    }

    /// Adds the levels to the settings, which they override.
    ///
    /// # Errors
    ///
    /// A name is unknown.
    pub fn apply(&self, config: &mut Config) -> Result {
        let levels = self.levels();
        config.lints.set_all(levels).map_err(Error::invalid)
    }

    /// Passes the levels to the build script that cargo runs, after those of the environment.
    pub fn hand_on(&self, command: &mut Command) {
        let mut items: Vec<String> = std::env::var(VARIABLE).into_iter().collect();
        items.retain(|i| !i.trim().is_empty());
        let levels = self.levels();
        if levels.is_empty() {
            return;
        }
        let levels = levels.iter().map(|(n, l)| format!("{n}={}", l.word()));
        items.extend(levels);
        command.env(VARIABLE, items.join(","));
    }
}
