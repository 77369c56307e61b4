//! From source text to programs with derivatives.

use farfel_ad::{AdTool, differentiate_all_warning};
use farfel_lang::diagnostic::{Severity, any_errors};
use farfel_lang::ir::{Program, Request};
use farfel_lang::lower::{Stage, lower};
use farfel_lang::print::{Options as PrintOptions, print_program};
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{NoIncludes, parse};
use farfel_lang::{Diagnostic, Sources};
use std::fmt::Write;

/// A parsed program, with the sources that its spans refer to.
pub struct Source {
    pub sources: Sources,
    pub program: Program,
}

pub fn read(text: &str) -> Source {
    let mut sources = Sources::new();
    let file = sources.add("test.ff", text);
    let parsed = parse(&mut sources, file, None, &mut NoIncludes);
    let mut program = parsed.program;
    let mut found = parsed.diagnostics;
    found.extend(resolve(&mut program));
    let source = Source { sources, program };
    assert!(!any_errors(&found), "{}\n{text}", source.show(&found));
    source
}

impl Source {
    /// Formats diagnostics as `warning CODE line:column message | help`, one per line.
    pub fn show(&self, diagnostics: &[Diagnostic]) -> String {
        let place = |span: farfel_lang::Span| {
            self.sources
                .get(span.file)
                .map(|f| f.line_column(span.start))
                .map_or_else(|| "-".to_owned(), |p| format!("{}:{}", p.line, p.column))
        };
        let mut out = String::new();
        for d in diagnostics {
            let severity = match d.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            };
            let (code, at) = (d.rule.code, place(d.span));
            writeln!(out, "{severity} {code} {at} {}", d.message).unwrap();
            for (span, text) in &d.related {
                writeln!(out, "  {} {text}", place(*span)).unwrap();
            }
            if let Some(h) = &d.help {
                writeln!(out, "  help: {h}").unwrap();
            }
        }
        out
    }

    /// Lowers the program, and returns its requests.
    pub fn lowered(&mut self) -> Vec<Request> {
        let lowered = lower(std::mem::take(&mut self.program), Stage::Stage);
        let bad = any_errors(&lowered.diagnostics);
        assert!(!bad, "{}", self.show(&lowered.diagnostics));
        self.program = lowered.program;
        lowered.requests
    }

    /// Carries out all requests. Returns the Fortran text and the warnings, or the errors.
    pub fn differentiated(
        &self,
        tool: &dyn AdTool,
        requests: &[Request],
    ) -> Result<(String, String), String> {
        let mut warnings = Vec::new();
        differentiate_all_warning(tool, self.program.clone(), requests, &mut warnings)
            .map(|p| {
                let text = print_program(&p, &PrintOptions::default());
                (text, self.show(&warnings))
            })
            .map_err(|d| self.show(&d))
    }
}

impl Source {
    /// Returns a request as lowering would create it.
    pub fn request(
        &self,
        id: u32,
        mode: farfel_lang::ir::AdMode,
        head: &str,
        independents: &[&str],
        dependents: &[&str],
    ) -> Request {
        let unit = self.program.unit(head).expect("the head is in the program");
        let position = |n: &&str| {
            unit.args
                .iter()
                .position(|a| a.sym().is_some_and(|s| unit.symbols[s].name == **n))
                .expect("an argument of the head")
        };
        let paired = (0..unit.args.len())
            .filter(|i| {
                unit.args[*i].sym().is_some_and(|s| {
                    let s = &unit.symbols[s];
                    s.ty.is_some_and(farfel_lang::ir::Type::is_differentiable)
                })
            })
            .collect();
        let suffix = format!("_G{id}");
        Request {
            id,
            mode,
            head: head.into(),
            derivative: format!("{head}{suffix}").into(),
            suffix: suffix.into(),
            independents: independents.iter().map(position).collect(),
            dependents: dependents.iter().map(position).collect(),
            paired,
            vector: false,
            directions: farfel_lang::ir::Directions::default(),
            real: 4,
            span: unit.name_span,
        }
    }
}
