//! `farfel explain`.

use std::fmt::Write as _;

use farfel_lang::diagnostic::{Rule, rules};
use farfel_lang::lints;

use crate::args::Explain;
use crate::error::{Error, Result};
use crate::shell::Shell;

/// Prints what a rule is about, or all rules.
pub fn run(args: &Explain, shell: &mut Shell) -> Result {
    let mut text = String::new();
    match &args.name {
        Some(name) => {
            let rule = lints::rule(name).map_err(Error::cannot)?;
            // Infallible, here and below: it is a String.
            let _ = writeln!(text, "{} {}: {}", rule.code, rule.name, level(rule));
            let _ = writeln!(text, "\n{}", rule.explanation);
            if rule.level.is_some() {
                let _ = writeln!(
                    text,
                    "\nSet its level with `-A`, `-W` or `-D {0}`, with `{0} = \"allow\"` under\n\
                     [package.metadata.farfel.lints] in Cargo.toml, or for one program unit with the\n\
                     comment `!farfel: allow({0})` in it.",
                    rule.name
                );
            }
        }
        None => {
            for rule in rules::ALL {
                let _ = writeln!(text, "{} {:<24} {}", rule.code, rule.name, level(rule));
            }
        }
    }
    shell
        .out(&text)
        .map_err(|error| Error::cannot(format!("cannot write to standard output: {error}")))
}

fn level(rule: &Rule) -> &'static str {
    rule.level.map_or("error", |l| l.word())
}
