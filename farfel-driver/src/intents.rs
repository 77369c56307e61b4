//! What procedures do with their arguments and with COMMON, to be looked at.

use farfel_lang::dataflow::{self, Use};
use farfel_lang::ir::{Intent, Program, SpecKind, SymId, Unit, UnitKind};
use serde::Serialize;
use std::fmt::Write as _;

/// What the procedures of a program do with what others can see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Intents {
    /// In the order of the text; an ENTRY after the unit that it stands in.
    pub procedures: Vec<Procedure>,
}

/// A procedure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Procedure {
    /// Its name.
    pub name: String,
    /// `program`, `subroutine`, `function` or `entry`.
    pub kind: &'static str,
    /// The unit that it is nested in, or that it is an ENTRY of.
    pub within: Option<String>,
    /// Its arguments, but for alternate returns.
    pub arguments: Vec<Variable>,
    /// The COMMON blocks that it declares, or that procedures use which it calls.
    pub common: Vec<Block>,
    /// Procedures without text that it calls: they are taken to read and set their
    /// arguments, and no COMMON.
    pub unknown: Vec<String>,
}

/// A COMMON block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Block {
    /// Its name; that of blank COMMON is empty.
    pub name: String,
    /// The unit by whose declaration the variables are named, where it is another one.
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
    /// It gets a value on every way through the procedure; of arrays, all elements do.
    pub always: bool,
    /// What a declaration says: `in`, `out` or `inout`.
    pub declared: Option<&'static str>,
}

impl Variable {
    fn of(name: &str, used: Use) -> Self {
        Variable {
            name: name.to_owned(),
            intent: used.intent(),
            always: used.writes && used.always,
            declared: None,
        }
    }
}

impl Intents {
    /// Of a resolved program, with a default REAL of so many bytes.
    pub fn of(program: &Program, real: u8) -> Self {
        let procedures = dataflow::procedures(program, real);
        Intents {
            procedures: procedures.iter().map(procedure).collect(),
        }
    }

    /// As a list for people.
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

    /// As JSON: `{"procedures": [{"name", "kind", "within", "arguments": [{"name", "intent",
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

/// The INTENT that a unit declares for an argument.
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

/// A line for each intent that there is.
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
