//! Presents the results of checks, for people and for programs.

use super::{CheckResult, Verdict};
use std::fmt::Write as _;

/// Formats a table with a line for each block, followed by the messages.
pub fn text(checked: &[CheckResult]) -> String {
    let mut rows = vec![[
        "block".to_owned(),
        "unit".into(),
        "kind".into(),
        "points".into(),
        "error".into(),
        "checked by".into(),
        "verdict".into(),
    ]];
    for c in checked {
        let done = !matches!(c.verdict, Verdict::Refused | Verdict::NotRun);
        rows.push([
            c.block.place.clone(),
            c.block.unit.clone(),
            if c.block.reverse { "ADR" } else { "ADF" }.into(),
            c.points.to_string(),
            c.error.map_or_else(|| "-".into(), |e| format!("{e:.1e}")),
            if done { c.method } else { "-" }.into(),
            c.verdict.words().into(),
        ]);
    }
    let mut widths = [0; 7];
    for row in &rows {
        for (w, cell) in widths.iter_mut().zip(row) {
            *w = (*w).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for (i, (cell, w)) in row.iter().zip(widths).enumerate() {
            let gap = if i == 0 { "" } else { "  " };
            let _ = match i {
                3 | 4 => write!(line, "{gap}{cell:>w$}"),
                _ => write!(line, "{gap}{cell:<w$}"),
            };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    for c in checked.iter().filter(|c| !c.notes.is_empty()) {
        let _ = writeln!(
            out,
            "\n{} {}: {}",
            c.block.place,
            c.block.unit,
            c.verdict.words()
        );
        for note in &c.notes {
            let _ = writeln!(out, "  {note}");
        }
    }
    out
}

/// Formats the results as JSON: a list of objects.
pub fn json(checked: &[CheckResult]) -> String {
    let rows: Vec<serde_json::Value> = checked
        .iter()
        .map(|c| {
            serde_json::json!({
                "block": c.block.place,
                "unit": c.block.unit,
                "package": c.block.package,
                "kind": if c.block.reverse { "ADR" } else { "ADF" },
                "independents": c.block.independents,
                "dependents": c.block.dependents,
                "points": c.points,
                "error": c.error,
                "verdict": c.verdict.words().to_lowercase(),
                "notes": c.notes,
            })
        })
        .collect();
    let mut text = serde_json::to_string_pretty(&rows).unwrap_or_default();
    text.push('\n');
    text
}
