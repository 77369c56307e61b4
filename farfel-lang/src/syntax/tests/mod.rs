//! Tests of the parser. They all use the helper functions here.

mod ad;
mod declarations;
mod errors;
mod expressions;
mod forms;
mod layout;
mod robust;
mod statements;
mod units;

use super::{Form, Loader, Parsed, parse};
use crate::ir::{Expr, ExprKind, StmtKind, UnOp, Unit};
use crate::print::{Options, print_program};
use crate::source::Sources;
use std::sync::Arc;

/// INCLUDE files by name.
struct Files(&'static [(&'static str, &'static str)]);

impl Loader for Files {
    fn load(&mut self, _from: &str, name: &str) -> Result<(String, Arc<str>), String> {
        match self.0.iter().find(|(n, _)| *n == name) {
            Some((n, text)) => Ok(((*n).to_owned(), (*text).into())),
            None => Err("no such file".to_owned()),
        }
    }
}

fn read_with(
    text: &str,
    form: Option<Form>,
    files: &'static [(&'static str, &'static str)],
) -> (Sources, Parsed) {
    let mut sources = Sources::new();
    let file = sources.add("a.ff", text);
    let parsed = parse(&mut sources, file, form, &mut Files(files));
    (sources, parsed)
}

fn read(text: &str, form: Option<Form>) -> (Sources, Parsed) {
    read_with(text, form, &[])
}

/// Applies `f` to the first item of each row, compares the result with the second, and shows all
/// rows that differ.
#[track_caller]
fn table(rows: &[(&str, &str)], f: impl Fn(&str) -> String) {
    let mut wrong = String::new();
    for (text, expected) in rows {
        let got = f(text);
        if got != *expected {
            wrong.push_str(&format!(
                "--- {text}\n    expected: {expected}\n    got:      {got}\n"
            ));
        }
    }
    assert_eq!(wrong, "", "\n{wrong}");
}

/// Describes errors, one per line: `line:column-line:column code message`, then related places,
/// then help.
fn describe(sources: &Sources, parsed: &Parsed) -> String {
    let mut out = String::new();
    for d in &parsed.diagnostics {
        let place = |offset| {
            sources.get(d.span.file).map_or("?".to_owned(), |f| {
                let p = f.line_column(offset);
                format!("{}:{}", p.line, p.column)
            })
        };
        let name = match sources.get(d.span.file) {
            Some(f) if f.name != "a.ff" => format!("{} ", f.name),
            _ => String::new(),
        };
        out.push_str(&format!(
            "{name}{}-{} {} {}\n",
            place(d.span.start),
            place(d.span.end),
            d.rule.code,
            d.message
        ));
        for (span, text) in &d.related {
            out.push_str(&format!("  {}: {text}\n", place(span.start)));
        }
        if let Some(help) = &d.help {
            out.push_str(&format!("  help: {help}\n"));
        }
    }
    out
}

/// Returns the errors of a text whose form is detected.
fn errors(text: &str) -> String {
    let (sources, parsed) = read(text, None);
    describe(&sources, &parsed)
}

/// Returns the errors of a text in free form.
fn errors_free(text: &str) -> String {
    let (sources, parsed) = read(text, Some(Form::Free));
    describe(&sources, &parsed)
}

/// Parses a text without errors.
#[track_caller]
fn good(text: &str, form: Option<Form>) -> Vec<Unit> {
    let (sources, parsed) = read(text, form);
    let errors = describe(&sources, &parsed);
    assert_eq!(errors, "", "{errors}\nin:\n{text}");
    parsed.program.units
}

/// Prints a text without errors in fixed form.
#[track_caller]
fn printed(text: &str, form: Option<Form>) -> String {
    let units = good(text, form);
    let text = print_program(&crate::ir::Program { units }, &Options::default());
    // The header given to a main program without one.
    text.strip_prefix("      PROGRAM MAIN\n")
        .unwrap_or(&text)
        .to_owned()
}

/// Puts lines into the columns of fixed form, followed by END. Lines with a label or a continuation
/// mark must already have their columns.
fn fixed(lines: &str) -> String {
    let mut out = String::new();
    for line in lines.lines() {
        let placed = line.starts_with(' ');
        if !placed {
            out.push_str("      ");
        }
        out.push_str(line);
        out.push('\n');
    }
    out.push_str("      END\n");
    out
}

/// Returns what the statements of a program print as, without its END. The lines need no columns.
#[track_caller]
fn body(lines: &str) -> String {
    let text = printed(&fixed(lines), Some(Form::Fixed));
    let text = text.strip_suffix("      END\n").unwrap_or(&text);
    text.trim_end_matches('\n').to_owned()
}

/// Returns the shape of an expression, operators first.
#[track_caller]
fn shape(expression: &str) -> String {
    let units = good(&fixed(&format!("X = {expression}")), Some(Form::Fixed));
    shape_of(&units)
}

/// Like [`shape`], in free form.
#[track_caller]
fn shape_free(expression: &str) -> String {
    let units = good(&format!("X = {expression}\nEND\n"), Some(Form::Free));
    shape_of(&units)
}

fn shape_of(units: &[Unit]) -> String {
    match &units[0].body[0].kind {
        StmtKind::Assign(_, value) => show(&units[0], value),
        other => format!("{other:?}"),
    }
}

fn show(unit: &Unit, e: &Expr) -> String {
    let name = |s| unit.symbols[s].name.as_str();
    let list = |l: &[Expr]| {
        l.iter()
            .map(|e| show(unit, e))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let maybe = |e: &Option<Box<Expr>>| e.as_ref().map_or("_".to_owned(), |e| show(unit, e));
    match &e.kind {
        ExprKind::Int(n) => n.to_string(),
        ExprKind::Real(r) => r.to_string(),
        ExprKind::Complex(p) => format!("{{{} {}}}", show(unit, &p.0), show(unit, &p.1)),
        ExprKind::Logical(b) => b.to_string(),
        ExprKind::Char(s) => format!("{s:?}"),
        ExprKind::Hollerith(s) => format!("H{s:?}"),
        ExprKind::Var(s) => name(*s).to_owned(),
        ExprKind::Apply(s, a) => format!("{}[{}]", name(*s), list(a)),
        ExprKind::Substring(b, l, h) => {
            format!("{}<{} {}>", show(unit, b), maybe(l), maybe(h))
        }
        ExprKind::Range(a, b, c) => format!("{}:{}:{}", maybe(a), maybe(b), maybe(c)),
        ExprKind::Unary(op, a) => {
            let op = match op {
                UnOp::Plus => "+",
                UnOp::Minus => "-",
                UnOp::Not => "not",
            };
            format!("({op} {})", show(unit, a))
        }
        ExprKind::Binary(op, a, b) => {
            let op = format!("{op:?}").to_lowercase();
            format!("({op} {} {})", show(unit, a), show(unit, b))
        }
        ExprKind::Paren(a) => format!("|{}|", show(unit, a)),
        other => format!("{other:?}"),
    }
}

/// Returns the names and values of the symbols, as far as the parser knows them.
fn symbols(unit: &Unit) -> String {
    let mut out = String::new();
    for (_, s) in unit.symbols.iter() {
        let dims: Vec<String> = s
            .dims
            .iter()
            .map(|d| {
                let part = |e: &Option<Expr>| {
                    e.as_ref().map_or("_".to_owned(), |e| match e.kind {
                        ExprKind::Star => "*".to_owned(),
                        _ => show(unit, e),
                    })
                };
                format!("{}..{}", part(&d.lower), part(&d.upper))
            })
            .collect();
        out.push_str(&s.name);
        if let Some(ty) = s.ty {
            out.push_str(&format!(" {ty}"));
        }
        if let Some(length) = &s.length {
            match length.kind {
                ExprKind::Star => out.push_str("*(*)"),
                _ => out.push_str(&format!("*{}", show(unit, length))),
            }
        }
        if !dims.is_empty() {
            out.push_str(&format!("({})", dims.join(", ")));
        }
        match &s.class {
            crate::ir::Class::Unknown => {}
            crate::ir::Class::Parameter(v) => out.push_str(&format!(" = {}", show(unit, v))),
            crate::ir::Class::StatementFunction(args, v) => {
                let args: Vec<_> = args
                    .iter()
                    .map(|a| unit.symbols[*a].name.as_str())
                    .collect();
                out.push_str(&format!(" ({}) = {}", args.join(", "), show(unit, v)));
            }
            crate::ir::Class::Namelist(m) => {
                let m: Vec<_> = m.iter().map(|a| unit.symbols[*a].name.as_str()).collect();
                out.push_str(&format!(" group of {}", m.join(", ")));
            }
            other => out.push_str(&format!(" {other:?}")),
        }
        match &s.storage_class {
            crate::ir::StorageClass::Local => {}
            crate::ir::StorageClass::Common(b) => out.push_str(&format!(" in /{b}/")),
            other => out.push_str(&format!(" {other:?}")),
        }
        if s.external {
            out.push_str(" external");
        }
        if s.saved {
            out.push_str(" saved");
        }
        out.push('\n');
    }
    out
}
