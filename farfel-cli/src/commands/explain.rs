//! `farfel explain`.

use std::fmt::Write as _;

use farfel_lang::diagnostic::{Rule, rules};
use farfel_lang::lints;

use crate::args::Explain;
use crate::error::{Error, Result};
use crate::error_pages;
use crate::shell::Shell;

/// Headings of the groups of codes, by prefix; the first match counts.
const GROUPS: &[(&str, &str)] = &[
    ("F00", "Text and syntax"),
    ("F014", "Constants and storage"),
    ("F01", "Names, types and calls"),
    ("F02", "Nested subprograms"),
    ("F03", "Differentiation"),
    ("F04", "The Fortran compiler"),
    ("F05", "Suspicious code"),
    ("F09", "Farfel itself"),
];

/// Prints the page of a rule, or the list of all rules.
pub fn run(args: &Explain, shell: &mut Shell) -> Result {
    let text = match &args.name {
        Some(name) => error_pages::render(lints::rule(name).map_err(Error::invalid)?),
        None => list(),
    };
    shell
        .out(&text)
        .map_err(|error| Error::invalid(format!("cannot write to standard output: {error}")))
}

/// Formats the list of all rules, by group.
fn list() -> String {
    let mut text = String::new();
    for (group, rules) in grouped() {
        let gap = if text.is_empty() { "" } else { "\n" };
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(text, "{gap}{group}");
        for rule in rules {
            let _ = writeln!(text, "  {} {:<24} {}", rule.code, rule.name, level(rule));
        }
    }
    text + "\n`farfel explain CODE` says more, with an example.\n"
}

/// Returns the groups in the order of codes, with their rules.
fn grouped() -> Vec<(&'static str, Vec<&'static Rule>)> {
    let mut groups: Vec<(&str, Vec<&Rule>)> = Vec::new();
    for rule in rules::ALL {
        let mut fit = GROUPS
            .iter()
            .filter(|(begin, _)| rule.code.starts_with(begin));
        let group = fit.next().map_or("", |(_, group)| *group);
        match groups.last_mut() {
            Some((last, rules)) if *last == group => rules.push(rule),
            _ => groups.push((group, vec![rule])),
        }
    }
    groups
}

fn level(rule: &Rule) -> &'static str {
    rule.level.map_or("error", |l| l.word())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/errors.md` lists all rules in the same groups, with the first sentence of their pages.
    /// `FARFEL_UPDATE=1 cargo test -p farfel-cli explain` updates it.
    #[test]
    fn the_index_has_all_rules() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/errors.md");
        let text = std::fs::read_to_string(&path).unwrap();
        let (head, _) = text.split_once("\n## ").unwrap();
        let mut index = head.to_owned();
        for (group, rules) in grouped() {
            assert!(!group.is_empty(), "{}", rules[0].code);
            write!(
                index,
                "\n## {group}\n\n| code | name | level | about |\n|---|---|---|---|\n"
            )
            .unwrap();
            for rule in rules {
                let (code, name, level) = (rule.code, rule.name, level(rule));
                let summary = error_pages::summary(rule);
                let about = summary.split_inclusive(". ").next().unwrap().trim_end();
                writeln!(
                    index,
                    "| [{code}](errors/{code}.md) | `{name}` | {level} | {about} |"
                )
                .unwrap();
            }
        }
        if std::env::var_os("FARFEL_UPDATE").is_some() {
            std::fs::write(&path, &index).unwrap();
        } else {
            assert_eq!(text, index, "FARFEL_UPDATE=1 writes it anew");
        }
    }

    #[test]
    fn the_list_fits_a_terminal() {
        let list = list();
        assert!(list.lines().all(|l| l.len() <= 80), "{list}");
        assert_eq!(list.matches("  F0").count(), rules::ALL.len());
    }
}
