//! What the AD engine finds out about each AD block, to be looked at: see
//! [`farfel_ad::analysis`].

use crate::verify::Block;
use farfel_ad::analysis::{Analysis, Ends, InContext, Role, Tape, Variable};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The activity of all AD blocks and of what they call.
#[derive(Debug, Clone)]
pub struct Activity {
    pub(crate) blocks: Vec<(Block, Analysis)>,
}

impl Activity {
    /// For people.
    ///
    /// ```text
    /// model.ff:4 SLOPE: ADF, Y by X
    ///
    ///   SLOPE_ADF1_G1, tangent of SLOPE_ADF1
    ///     X  argument  in   varied: entry, exit  useful: entry
    ///     Y  argument  out  varied: exit         useful: exit
    /// ```
    pub fn text(&self) -> String {
        let mut text = String::new();
        if self.blocks.is_empty() {
            text.push_str("There is no AD block\n");
        }
        for (i, (block, analysis)) in self.blocks.iter().enumerate() {
            if i > 0 {
                text.push('\n');
            }
            // Infallible, here and below: it is a String.
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
            }
            for tape in &analysis.tapes {
                let _ = writeln!(text, "\n  {}", said(tape));
            }
            if !analysis.passive.is_empty() {
                let names: Vec<&str> = analysis.passive.iter().map(|n| n.as_str()).collect();
                let _ = writeln!(text, "\n  without derivatives: {}", names.join(", "));
            }
        }
        text
    }

    /// As JSON: `[{"block", "unit", "kind", "independents", "dependents", "derivatives": [{"unit",
    /// "derivative", "shared", "variables": [{"name", "role", "common", "varied": ["entry",
    /// "exit"], "useful", "reads", "writes"}]}], "tapes":
    /// [{"type", "bytes", "values", "most"}], "passive"}]`. `role` is `argument`, `result`,
    /// `common` or `local`; what is active only inside is `local`.
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
                "passive": a.passive.iter().map(|n| n.as_str()).collect::<Vec<_>>(),
            })
        };
        let blocks: Vec<Value> = self.blocks.iter().map(block).collect();
        let mut text = serde_json::to_string_pretty(&blocks).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// `tape of DOUBLE PRECISION: 2*N + 3 values of 8 bytes`
fn said(tape: &Tape) -> String {
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
