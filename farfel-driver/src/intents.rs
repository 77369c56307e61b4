//! What procedures do with their arguments and with COMMON, for display.

use farfel_lang::dataflow::{self, VariableUse};
use farfel_lang::ir::{Intent, Program, SpecKind, SymId, Unit, UnitKind};
use serde::Serialize;
use std::fmt::Write as _;

/// What the procedures of a program do with data that others can access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Intents {
    /// The procedures in source order; an ENTRY follows the unit that contains it.
    pub procedures: Vec<Procedure>,
}

/// A procedure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Procedure {
    /// Its name.
    pub name: String,
    /// `program`, `subroutine`, `function` or `entry`.
    pub kind: &'static str,
    /// The unit in which it is nested, or of which it is an ENTRY.
    pub within: Option<String>,
    /// Its arguments, except alternate returns.
    pub arguments: Vec<Variable>,
    /// The COMMON blocks that it declares, or that its callees use.
    pub common: Vec<Block>,
    /// The procedures without source that it calls: they are assumed to read and set their arguments, and to
    /// use no COMMON.
    pub unknown: Vec<String>,
}

/// A COMMON block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Block {
    /// Its name; empty for blank COMMON.
    pub name: String,
    /// The unit whose declaration names the variables, if it is another one.
    pub declared_in: Option<String>,
    /// Its variables in the order of the block.
    pub variables: Vec<Variable>,
}

/// An argument, or a variable of a COMMON block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// `in`, `out`, `inout`, `unused`, or `procedure`.
    pub intent: &'static str,
    /// Whether it is set on every path through the procedure, and for an array, whether all elements are.
    pub always: bool,
    /// The declared intent: `in`, `out` or `inout`.
    pub declared: Option<&'static str>,
}

impl Variable {
    fn of(name: &str, used: VariableUse) -> Self {
        Variable {
            name: name.to_owned(),
            intent: used.intent(),
            always: used.writes && used.always,
            declared: None,
        }
    }
}

impl Intents {
    /// Analyses a resolved program with a default REAL of this many bytes.
    pub fn of(program: &Program, real: u8) -> Self {
        let procedures = dataflow::procedures(program, real);
        Intents {
            procedures: procedures.iter().map(procedure).collect(),
        }
    }

    /// Formats the intents as a list for people.
    ///
    /// ```text
    /// SUBROUTINE STEP
    ///   in              N, H
    ///   inout           X
    ///   out, in part    TRACE
    ///   COMMON /STATE/
    ///     in            T
    /// ```
    pub fn text(&self) -> String {
        let mut text = String::new();
        for p in &self.procedures {
            let _ = write!(text, "{} {}", p.kind.to_ascii_uppercase(), p.name);
            let _ = match &p.within {
                Some(within) => writeln!(text, " in {within}"),
                None => writeln!(text),
            };
            table(&mut text, &p.arguments, 2);
            for block in &p.common {
                let _ = match block.name.as_str() {
                    "" => write!(text, "  blank COMMON"),
                    name => write!(text, "  COMMON /{name}/"),
                };
                let _ = match &block.declared_in {
                    Some(unit) => writeln!(text, ", as {unit} declares it"),
                    None => writeln!(text),
                };
                table(&mut text, &block.variables, 4);
            }
            if !p.unknown.is_empty() {
                let _ = writeln!(text, "  without text    {}", p.unknown.join(", "));
            }
        }
        text
    }

    /// Formats the intents as JSON:
    /// `{"procedures": [{"name", "kind", "within", "arguments": [{"name", "intent",
    /// "always", "declared"}], "common": [{"name", "declared_in", "variables"}],
    /// "unknown"}]}`.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

fn procedure(p: &dataflow::Procedure) -> Procedure {
    let kind = match (&p.entry, p.unit.kind) {
        (Some(_), _) => "entry",
        (None, UnitKind::Program) => "program",
        (None, UnitKind::Function) => "function",
        (None, UnitKind::Subroutine) => "subroutine",
        (None, UnitKind::BlockData) => "block data",
    };
    let within = match (&p.entry, p.within) {
        (Some(_), _) => Some(p.unit),
        (None, within) => within,
    };
    let arguments = p.args.iter().map(|a| {
        let name = &p.unit.symbols[a.sym].name;
        let variable = Variable::of(name, a.used);
        match a.procedure {
            true => Variable {
                intent: "procedure",
                always: false,
                ..variable
            },
            false => Variable {
                declared: declared(p.unit, a.sym),
                ..variable
            },
        }
    });
    let common = p.commons.iter().map(|c| Block {
        name: c.block.to_string(),
        declared_in: (c.declared_in != p.unit.name).then(|| c.declared_in.to_string()),
        variables: c
            .variables
            .iter()
            .map(|(name, used)| Variable::of(name, *used))
            .collect(),
    });
    Procedure {
        name: p.entry.as_ref().unwrap_or(&p.unit.name).to_string(),
        kind,
        within: within.map(|u| u.name.to_string()),
        arguments: arguments.collect(),
        common: common.collect(),
        unknown: p.unknown.iter().map(ToString::to_string).collect(),
    }
}

/// Returns the INTENT that a unit declares for an argument.
fn declared(unit: &Unit, argument: SymId) -> Option<&'static str> {
    unit.specs.iter().find_map(|s| match &s.kind {
        SpecKind::Intent(intent, list) if list.contains(&argument) => Some(match intent {
            Intent::In => "in",
            Intent::Out => "out",
            Intent::InOut => "inout",
        }),
        _ => None,
    })
}

/// Writes a line for each intent that occurs.
fn table(text: &mut String, variables: &[Variable], indent: usize) {
    const ROWS: [(&str, &str, Option<bool>); 6] = [
        ("in", "in", None),
        ("out", "out", Some(true)),
        ("out, in part", "out", Some(false)),
        ("inout", "inout", None),
        ("procedure", "procedure", None),
        ("unused", "unused", None),
    ];
    for (title, intent, always) in ROWS {
        let of_row = |v: &&Variable| v.intent == intent && always.is_none_or(|a| v.always == a);
        let names: Vec<String> = variables
            .iter()
            .filter(of_row)
            .map(|v| match v.declared {
                Some(d) if d != intent => format!("{} (declared {d})", v.name),
                _ => v.name.clone(),
            })
            .collect();
        if !names.is_empty() {
            let width = 18 - indent;
            let _ = writeln!(text, "{:indent$}{title:width$}{}", "", names.join(", "));
        }
    }
}
