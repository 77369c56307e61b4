//! The input of ADIFOR: the closure of the head, the script, the composition file.

use super::names::Names;
use super::{MOST_DIRECTIONS, Options, no_reverse_mode};
use crate::external::Job;
use farfel_lang::Span;
use farfel_lang::callgraph::ReachableUnits;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::effects::procedure_dummies;
use farfel_lang::intrinsics::{Op, is_vendor_procedure};
use farfel_lang::ir::{
    Arg, Class, DoControl, Expr, ExprKind, Program, Request, SpecKind, Stmt, StmtKind,
    StorageClass, Unit, UnitKind, walk_block,
};
use farfel_lang::print::{Options as PrintOptions, print_program};

/// A job, with what is needed to read its result.
pub(super) struct Prepared {
    pub job: Job,
    /// The closure in the form that the tool reads; the head is the last unit.
    pub closure: Vec<Unit>,
    pub names: Names,
    /// The source text of the closure.
    pub text: String,
    /// The name of the file that the derivatives will be in.
    pub output: String,
}

impl Prepared {
    /// Returns the head in the form that the tool reads.
    pub fn head(&self) -> Option<&Unit> {
        self.closure.last()
    }
}

/// Creates the job for a request.
pub(super) fn prepare(
    program: &Program,
    request: &Request,
    options: &Options,
) -> Result<Prepared, Vec<Diagnostic>> {
    if let Some(d) = no_reverse_mode(request) {
        return Err(vec![d]);
    }
    let graph = ReachableUnits::of(program, [request.head.as_str()]);
    if graph.units.is_empty() {
        let message = format!("there is no {} to differentiate", request.head);
        let d = Diagnostic::error(&rules::AD_UNKNOWN_PROCEDURE, request.span, message);
        return Err(vec![d]);
    }
    let mut errors = Vec::new();
    for unit in &graph.units {
        check_language(unit, options, &mut errors);
        check_procedures(program, unit, options, &mut errors);
    }
    let lines = extra(options, request, &mut errors);
    if !errors.is_empty() {
        errors.sort_by_key(|d: &Diagnostic| (d.span.file, d.span.start));
        errors.dedup();
        return Err(errors);
    }
    let mut closure: Vec<Unit> = graph.units.iter().map(|u| (*u).clone()).collect();
    closure.iter_mut().for_each(strip);
    let names = Names::of(&closure);
    closure.iter_mut().for_each(|u| names.for_tool(u));
    let text = print_program(
        &Program {
            units: closure.clone(),
        },
        &PrintOptions {
            comments: false,
            ..PrintOptions::default()
        },
    );
    let base = names.tool(&request.head).to_ascii_lowercase();
    let output = format!("{}_{base}.f", names.prefix.to_ascii_lowercase());
    let script = script(request, &closure, &names, &base, lines);
    let job = Job {
        inputs: vec![
            (format!("{base}.adf"), script),
            (format!("{base}.cmp"), format!("{base}.f\n")),
            (format!("{base}.f"), text.clone()),
        ],
        args: vec![format!("AD_SCRIPT={base}.adf")],
        outputs: vec![output.clone()],
    };
    Ok(Prepared {
        job,
        closure,
        names,
        text,
        output,
    })
}

/// Writes the script.
fn script(
    request: &Request,
    closure: &[Unit],
    names: &Names,
    base: &str,
    mut lines: Vec<(String, String)>,
) -> String {
    let variables = |positions: &[usize]| -> String {
        let head = closure.last();
        let list: Vec<String> = positions
            .iter()
            .filter_map(|p| {
                let head = head?;
                let s = head.args.get(*p)?.sym()?;
                Some(head.symbols[s].name.to_ascii_lowercase())
            })
            .collect();
        list.join(", ")
    };
    let mut out = String::new();
    let mut put = |key: &str, value: &str| {
        // The user's value takes precedence over ours.
        let given = lines.iter().position(|(k, _)| k == key);
        let value = given.map_or(value.to_owned(), |at| lines.remove(at).1);
        out.push_str(&format!("{key:<20} = {value}\n"));
    };
    let directions = if request.vector { MOST_DIRECTIONS } else { 1 };
    put("AD_TOP", base);
    put("AD_PMAX", &directions.to_string());
    put("AD_IVARS", &variables(&request.independents));
    put("AD_DVARS", &variables(&request.dependents));
    put("AD_PROG", &format!("{base}.cmp"));
    put("AD_OUTPUT_DIR", ".");
    put("AD_PREFIX", &names.prefix.to_ascii_lowercase());
    if !request.vector {
        put("AD_SUPPRESS_LDG", "true");
        put("AD_SUPPRESS_NUM_COLS", "true");
    }
    put("AD_EXCEPTION_FLAVOR", "performance");
    if !request.vector {
        put("AD_SCALAR_GRADIENTS", "true");
    }
    for (key, value) in lines {
        out.push_str(&format!("{key:<20} = {value}\n"));
    }
    out
}

/// Parses the user's additional lines into keys and values.
fn extra(
    options: &Options,
    request: &Request,
    errors: &mut Vec<Diagnostic>,
) -> Vec<(String, String)> {
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut error = |message: String| {
        let d = Diagnostic::error(&rules::AD_TOOL, request.span, message);
        errors.push(d.help("options for ADIFOR are lines `KEY = value` of its script"));
    };
    for line in &options.extra {
        let Some((key, value)) = line.split_once('=') else {
            error(format!(
                "`{}` is not a line of an ADIFOR script",
                line.escape_debug()
            ));
            continue;
        };
        let (key, value) = (key.trim().to_ascii_uppercase(), value.trim().to_owned());
        let is_key =
            key.starts_with("AD_") && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_key || value.is_empty() || value.chars().any(char::is_control) {
            error(format!(
                "`{}` is not a line of an ADIFOR script",
                line.escape_debug()
            ));
        } else if RESERVED_KEYS.contains(&key.as_str()) || key == "AD_PMAX" && !request.vector {
            error(format!("{key} is Farfel's to decide"));
        } else {
            lines.retain(|(k, _)| *k != key);
            lines.push((key, value));
        }
    }
    lines
}

/// The keys that tell ADIFOR what to differentiate and what the result looks like.
const RESERVED_KEYS: &[&str] = &[
    "AD_TOP",
    "AD_IVARS",
    "AD_DVARS",
    "AD_OVARS",
    "AD_PROG",
    "AD_SCRIPT",
    "AD_OUTPUT_DIR",
    "AD_PREFIX",
    "AD_SUPPRESS_LDG",
    "AD_SUPPRESS_NUM_COLS",
    "AD_SCALAR_GRADIENTS",
];

/// Removes what is not FORTRAN 77 and has no effect.
fn strip(unit: &mut Unit) {
    unit.comments.clear();
    unit.specs
        .retain(|s| !matches!(s.kind, SpecKind::Comment(_) | SpecKind::Intent(..)));
    strip_block(&mut unit.body);
}

fn strip_block(block: &mut Vec<Stmt>) {
    block.retain(|s| !matches!(s.kind, StmtKind::Comment(_)));
    for s in block {
        if let StmtKind::Do(d) = &mut s.kind {
            d.name = None;
        }
        for b in s.blocks_mut() {
            strip_block(b);
        }
    }
}

/// Reports code that ADIFOR 2 cannot read, or handles incorrectly.
fn check_language(unit: &Unit, options: &Options, errors: &mut Vec<Diagnostic>) {
    errors.extend(crate::refuse::refuse_for_tool(unit, false));
    let mut refuse = |span: Span, message: &str, help: &str| {
        let d = Diagnostic::error(&rules::AD_OTHER_TOOL, span.or(unit.span), message);
        errors.push(d.help(help));
    };
    let not_77 = "ADIFOR 2 reads FORTRAN 77 only; the built-in engine reads this";
    if unit.recursive {
        refuse(unit.name_span, "ADIFOR 2 knows no recursion", not_77);
    }
    if let Some(r) = unit.result
        && unit.kind == UnitKind::Function
        && unit.symbols[r].name != unit.name
    {
        refuse(
            unit.symbols[r].span,
            "ADIFOR 2 does not know RESULT",
            not_77,
        );
    }
    for (id, s) in unit.symbols.iter() {
        let dummy = unit.arg_position(id).is_some();
        let open = s.dims.iter().any(|d| d.upper.is_none());
        let adjustable = s.is_variable()
            && s.dims.iter().any(|d| {
                let bound = d.lower.iter().chain(&d.upper);
                bound.into_iter().any(|e| variable_bound(unit, e))
            });
        if open {
            refuse(s.span, "ADIFOR 2 does not know ALLOCATABLE", not_77);
        } else if adjustable && !dummy {
            let message = format!(
                "ADIFOR 2 knows no local arrays of adjustable size like {}",
                s.name
            );
            refuse(s.span, &message, not_77);
        }
        if let Class::Intrinsic(i) = s.class
            && matches!(i.op, Op::Erf | Op::Erfc | Op::Gamma | Op::LogGamma)
            && !options.allows(i.name)
        {
            let message = format!("ADIFOR 2 has no derivative of {}", i.name);
            refuse(
                s.span,
                &message,
                "the built-in engine has one of ERF and ERFC",
            );
        }
    }
    let refused_expr = |e: &Expr| match &e.kind {
        ExprKind::Element(_, subscripts) => subscripts
            .iter()
            .any(|s| matches!(s.kind, ExprKind::Range(..))),
        _ => false,
    };
    walk_block(&unit.body, &mut |s| {
        let array = |e: &Expr| matches!(e.kind, ExprKind::Var(v) if unit.symbols[v].is_array());
        let what = match &s.kind {
            StmtKind::Exit(_) => Some("EXIT"),
            StmtKind::Cycle(_) => Some("CYCLE"),
            StmtKind::Do(d) if matches!(d.control, DoControl::Forever) => Some("DO without end"),
            StmtKind::Assign(target, _) if array(target) => Some("assignment of whole arrays"),
            _ => None,
        };
        if let Some(what) = what {
            refuse(s.span, &format!("ADIFOR 2 does not know {what}"), not_77);
        }
        s.for_each_own_expr(&mut |e| {
            e.walk(&mut |e| {
                if refused_expr(e) {
                    refuse(e.span, "ADIFOR 2 does not know sections of arrays", not_77);
                }
            });
        });
    });
    for a in &unit.args {
        if let Arg::AltReturn(span) = a {
            refuse(*span, "ADIFOR 2 does not know alternate returns", not_77);
        }
    }
}

/// Reports procedures whose source ADIFOR will not see.
fn check_procedures(
    program: &Program,
    unit: &Unit,
    options: &Options,
    errors: &mut Vec<Diagnostic>,
) {
    for (_, s) in procedure_dummies(unit) {
        let s = &unit.symbols[s];
        if !options.allows(&s.name) {
            errors.push(
                Diagnostic::error(
                    &rules::AD_UNKNOWN_PROCEDURE,
                    s.span,
                    format!("ADIFOR 2 does not differentiate through {}, a dummy procedure", s.name),
                )
                .help("call the procedure by its name, or let a subprogram get it whose caller Farfel sees"),
            );
        }
    }
    for (_, s) in unit.symbols.iter() {
        let procedure = s.class.is_procedure() && s.storage_class == StorageClass::Global;
        if procedure
            && program.unit(&s.name).is_none()
            && !is_vendor_procedure(&s.name)
            && !options.allows(&s.name)
        {
            errors.push(
                Diagnostic::error(
                    &rules::AD_UNKNOWN_PROCEDURE,
                    s.span,
                    format!(
                        "{} is called where a derivative is wanted, and its text is not known",
                        s.name
                    ),
                )
                .help(format!(
                    "add its source, or `allow-unknown = [\"{}\"]` if its derivatives are zero",
                    s.name.to_ascii_lowercase()
                )),
            );
        }
    }
}

/// Whether a bound depends on a variable.
fn variable_bound(unit: &Unit, bound: &Expr) -> bool {
    let mut found = false;
    bound.for_each_symbol(&mut |s| found |= unit.symbols[s].is_variable());
    found
}
