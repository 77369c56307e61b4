//! The AD engine's analysis of each AD block, for display: see [`farfel_ad::analysis`].

use crate::verify::Block;
use farfel_ad::analysis::{Analysis, Ends, InContext, Role, Statement, Tape, Variable};
use farfel_lang::{Sources, Span};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;

/// The activity of all AD blocks and of the subprograms that they call.
#[derive(Debug, Clone)]
pub struct Activity {
    blocks: Vec<(Block, Analysis)>,
    /// The files, lines and texts of the statements.
    lines: HashMap<Span, Line>,
}

#[derive(Debug, Clone)]
struct Line {
    file: String,
    number: usize,
    text: String,
}

impl Activity {
    /// Adds source lines to the results of the engine.
    pub(crate) fn new(blocks: Vec<(Block, Analysis)>, sources: &Sources) -> Self {
        let mut lines = HashMap::new();
        for c in blocks.iter().flat_map(|(_, a)| &a.derivatives) {
            for span in c.statements.iter().map(|s| s.span) {
                if let Some(file) = sources.get(span.file) {
                    let at = file.line_column(span.start);
                    let text = file.text.get(span.start as usize..span.end as usize);
                    let first = text.unwrap_or_default().lines().next().unwrap_or_default();
                    let line = Line {
                        file: file.name.clone(),
                        number: at.line,
                        text: first.trim().to_owned(),
                    };
                    lines.insert(span, line);
                }
            }
        }
        Activity { blocks, lines }
    }

    /// Formats the analysis for people.
    ///
    /// ```text
    /// model.ff:4 SLOPE: ADF, Y by X
    ///
    ///   SLOPE_ADF1_G1, tangent of SLOPE_ADF1
    ///     X  argument  in   varied: entry, exit  useful: entry
    ///     Y  argument  out  varied: exit         useful: exit
    ///     6  Y = X*SIN(X)  active
    /// ```
    ///
    /// After the variables come the statements, with their lines: which of them are active and, for adjoints,
    /// which variables are stored there on a tape, and which statements are left out because nobody needs
    /// their values.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if self.blocks.is_empty() {
            text.push_str("There is no AD block\n");
        }
        for (i, (block, analysis)) in self.blocks.iter().enumerate() {
            if i > 0 {
                text.push('\n');
            }
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(
                text,
                "{} {}: {}, {} by {}",
                block.place,
                block.unit,
                kind(block),
                block.dependents.join(", "),
                block.independents.join(", ")
            );
            let word = match block.reverse {
                true => "adjoint",
                false => "tangent",
            };
            for c in &analysis.derivatives {
                let _ = writeln!(text, "\n  {}, {word} of {}", c.derivative, c.unit);
                if c.shared {
                    let _ = writeln!(text, "    shared by all calls in further contexts");
                }
                table(c, &mut text);
                let lists = [
                    ("kept for callers", &c.kept_for_callers),
                    ("needed by the reverse sweep as on exit", &c.needed_after),
                ];
                for (what, names) in lists.iter().filter(|(_, l)| !l.is_empty()) {
                    let names: Vec<&str> = names.iter().map(|n| n.as_str()).collect();
                    let _ = writeln!(text, "    {what}: {}", names.join(", "));
                }
                self.statements(c, &mut text);
            }
            for tape in &analysis.tapes {
                let _ = writeln!(text, "\n  {}", tape_text(tape));
            }
            for j in &analysis.joint {
                let _ = writeln!(text, "\n  calls of {} are joint: {}", j.unit, j.why);
            }
            if !analysis.passive.is_empty() {
                let names: Vec<&str> = analysis.passive.iter().map(|n| n.as_str()).collect();
                let _ = writeln!(text, "\n  without derivatives: {}", names.join(", "));
            }
        }
        text
    }

    /// Formats the analysis as JSON:
    /// `[{"block", "unit", "kind", "independents", "dependents", "derivatives": [{"unit",
    /// "derivative", "shared", "variables": [{"name", "role", "common", "varied": ["entry",
    /// "exit"], "useful", "reads", "writes"}], "keptForCallers", "neededAfter", "statements": [{"file",
    /// "line", "active", "kept", "leftOut"}]}], "tapes": [{"type", "bytes", "values", "most"}],
    /// "joint": [{"unit", "why"}], "passive"}]`. `role` is `argument`, `result`,
    /// `common` or `local`; a variable that is only active inside is `local`.
    pub fn json(&self) -> String {
        let variable = |v: &Variable| {
            json!({
                "name": v.name.as_str(),
                "role": role(&v.role),
                "common": match &v.role {
                    Role::Common(block) => Value::from(block.as_str()),
                    _ => Value::Null,
                },
                "varied": ends(v.varied),
                "useful": ends(v.useful),
                "reads": v.used.map(|u| u.reads),
                "writes": v.used.map(|u| u.writes),
            })
        };
        let derivative = |c: &InContext| {
            json!({
                "unit": c.unit.as_str(),
                "derivative": c.derivative.as_str(),
                "shared": c.shared,
                "variables": c.variables.iter().map(variable).collect::<Vec<_>>(),
                "keptForCallers": c.kept_for_callers.iter().map(|n| n.as_str()).collect::<Vec<_>>(),
                "neededAfter": c.needed_after.iter().map(|n| n.as_str()).collect::<Vec<_>>(),
                "statements": c.statements.iter().map(|s| self.statement(s)).collect::<Vec<_>>(),
            })
        };
        let block = |(b, a): &(Block, Analysis)| {
            json!({
                "block": b.place,
                "unit": b.unit,
                "kind": kind(b),
                "independents": b.independents,
                "dependents": b.dependents,
                "derivatives": a.derivatives.iter().map(derivative).collect::<Vec<_>>(),
                "tapes": a.tapes.iter().map(|t| json!({
                    "type": t.ty.to_string(),
                    "bytes": t.bytes,
                    "values": t.values,
                    "most": t.most,
                })).collect::<Vec<_>>(),
                "joint": a.joint.iter().map(|j| json!({
                    "unit": j.unit.as_str(),
                    "why": j.why,
                })).collect::<Vec<_>>(),
                "passive": a.passive.iter().map(|n| n.as_str()).collect::<Vec<_>>(),
            })
        };
        let blocks: Vec<Value> = self.blocks.iter().map(block).collect();
        let mut text = serde_json::to_string_pretty(&blocks).unwrap_or_default();
        text.push('\n');
        text
    }

    fn statement(&self, s: &Statement) -> Value {
        let line = self.lines.get(&s.span);
        json!({
            "file": line.map(|l| l.file.as_str()),
            "line": line.map(|l| l.number),
            "active": s.active,
            "kept": s.kept.iter().map(|n| n.as_str()).collect::<Vec<_>>(),
            "leftOut": s.left_out,
        })
    }

    fn statements(&self, c: &InContext, text: &mut String) {
        let known = |s: &&Statement| self.lines.contains_key(&s.span);
        let all: Vec<(&Line, &Statement)> = c
            .statements
            .iter()
            .filter(known)
            .map(|s| (&self.lines[&s.span], s))
            .collect();
        let width = all
            .iter()
            .map(|(l, _)| l.text.chars().count())
            .max()
            .unwrap_or(0);
        let mut file: Option<&str> = None;
        for (line, s) in all {
            if file != Some(&line.file) {
                let _ = writeln!(text, "    {}", line.file);
                file = Some(&line.file);
            }
            let mut remarks = Vec::new();
            if s.active {
                remarks.push("active".to_owned());
            }
            if !s.kept.is_empty() {
                let names: Vec<&str> = s.kept.iter().map(|n| n.as_str()).collect();
                remarks.push(format!("keeps {}", names.join(", ")));
            }
            if s.left_out {
                remarks.push("left out".to_owned());
            }
            let remarks = remarks.join(", ");
            let _ = writeln!(
                text,
                "    {:>5}  {:<width$}  {remarks}",
                line.number, line.text
            );
        }
    }
}

/// Describes a tape: `tape of DOUBLE PRECISION: 2*N + 3 values of 8 bytes`.
fn tape_text(tape: &Tape) -> String {
    let Tape {
        ty,
        bytes,
        values,
        number,
        most,
    } = tape;
    let room = format!("room for {most}");
    match (values, number) {
        (None, _) => format!(
            "tape of {ty}: {room} values of {bytes} bytes; how many there will be is not known before"
        ),
        (Some(_), Some(n)) if n <= most => format!("tape of {ty}: {n} values of {bytes} bytes"),
        (Some(values), _) => {
            format!("tape of {ty}: {values} values of {bytes} bytes; {room} at most")
        }
    }
}

fn kind(block: &Block) -> &'static str {
    if block.reverse { "ADR" } else { "ADF" }
}

fn role(role: &Role) -> &'static str {
    match role {
        Role::Argument => "argument",
        Role::Result => "result",
        Role::Common(_) => "common",
        Role::Local => "local",
    }
}

fn ends(e: Ends) -> Vec<&'static str> {
    let both = [(e.entry, "entry"), (e.exit, "exit")];
    let some = both.into_iter().filter(|(holds, _)| *holds);
    some.map(|(_, word)| word).collect()
}

fn table(c: &InContext, text: &mut String) {
    let rows: Vec<[String; 5]> = c
        .variables
        .iter()
        .map(|v| {
            let place = match &v.role {
                Role::Common(block) => format!("COMMON /{block}/"),
                other => role(other).to_owned(),
            };
            let at = |what: &str, e: Ends| match (&v.role, ends(e).as_slice()) {
                (Role::Local, _) | (_, []) => String::new(),
                (_, ends) => format!("{what}: {}", ends.join(", ")),
            };
            let intent = v.used.map_or("", |u| u.intent());
            let mut varied = at("varied", v.varied);
            if v.role == Role::Local {
                varied = "active inside".to_owned();
            }
            [
                v.name.to_string(),
                place,
                intent.to_owned(),
                varied,
                at("useful", v.useful),
            ]
        })
        .collect();
    let width = |i: usize| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    for row in &rows {
        let mut line = String::from("  ");
        for (cell, w) in row.iter().zip(widths) {
            let _ = write!(line, "  {cell:<w$}");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}
