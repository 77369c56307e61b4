//! Properties that must hold for any text. The fuzz targets use this file, too.
#![allow(dead_code)] // each target uses some of it

use farfel_lang::diagnostic::any_errors;
use farfel_lang::ir::{Level, Program, verify};
use farfel_lang::lints::Lints;
use farfel_lang::lower::{Stage, lower};
use farfel_lang::print::{Options, print_program};
use farfel_lang::resolve::{resolve, resolve_readable};
use farfel_lang::syntax::{FixedFormLayout, Form, NoIncludes, count_statements, detect, parse};
use farfel_lang::{Diagnostic, Sources};

/// Decodes bytes into text, as `farfel build` does.
pub fn text(bytes: &[u8]) -> String {
    farfel_lang::encoding::decode(bytes.to_vec())
}

/// Reading lines terminates.
pub fn lines(text: &str) {
    let mut sources = Sources::new();
    let file = sources.add("any", text);
    let _ = detect(text);
    for form in [Form::Fixed, Form::Free] {
        for (line_length, debug_lines) in [(72, false), (132, true)] {
            let layout = FixedFormLayout {
                line_length,
                debug_lines,
            };
            let count = count_statements(&sources, file, form, layout);
            assert!(count <= text.len() + 1, "{count} statements");
        }
    }
}

/// The parser reports errors within the text, and a program that it reads without errors prints as
/// text that reads back unchanged.
pub fn parser(text: &str) {
    for form in [Form::Fixed, Form::Free] {
        if let Some(program) = read(text, form) {
            printed(&program, &|_| ());
        }
    }
}

/// Like [`parser`], for the whole front end; a program without errors goes through all passes.
pub fn front_end(text: &str) {
    let mut sources = Sources::new();
    let file = sources.add("any", text);
    let mut parsed = parse(&mut sources, file, None, &mut NoIncludes);
    if any_errors(&parsed.diagnostics) {
        let found = resolve_readable(&mut parsed.program, &parsed.diagnostics, &Lints::default());
        places(&sources, &found);
        return;
    }
    let found = resolve(&mut parsed.program);
    places(&sources, &found);
    if any_errors(&found) {
        return;
    }
    assert_eq!(
        verify(&parsed.program, Level::Resolved),
        Vec::<String>::new()
    );
    printed(&parsed.program, &|program| {
        let found = resolve(program);
        assert!(!any_errors(&found), "{found:?}");
    });
    for stage in [
        Stage::Lift,
        Stage::Specialize,
        Stage::Prune,
        Stage::Outline,
        Stage::Stage,
    ] {
        let lowered = lower(parsed.program.clone(), stage);
        places(&sources, &lowered.diagnostics);
        if any_errors(&lowered.diagnostics) {
            return;
        }
        let _ = print_program(&lowered.program, &Options::default());
    }
}

fn read(text: &str, form: Form) -> Option<Program> {
    let mut sources = Sources::new();
    let file = sources.add("any", text);
    let parsed = parse(&mut sources, file, Some(form), &mut NoIncludes);
    places(&sources, &parsed.diagnostics);
    (!any_errors(&parsed.diagnostics)).then_some(parsed.program)
}

/// Errors are within the text, at character boundaries.
fn places(sources: &Sources, diagnostics: &[Diagnostic]) {
    for d in diagnostics {
        let places = d.related.iter().map(|(s, _)| *s).chain([d.span]);
        for span in places.filter(|s| !s.is_none()) {
            let file = sources.get(span.file).expect("a file");
            assert!(
                file.text
                    .get(span.start as usize..span.end as usize)
                    .is_some(),
                "{d:?}"
            );
        }
    }
}

/// Checks that a program prints, in both forms, as text that `further` accepts and that prints the
/// same again.
fn printed(program: &Program, further: &dyn Fn(&mut Program)) {
    for form in [Form::Fixed, Form::Free] {
        let options = Options {
            form,
            ..Options::default()
        };
        let first = print_program(program, &options);
        let mut sources = Sources::new();
        let file = sources.add("printed", first.as_str());
        let mut again = parse(&mut sources, file, Some(form), &mut NoIncludes);
        assert!(
            !any_errors(&again.diagnostics),
            "{first}\n{:?}",
            again.diagnostics
        );
        let second = print_program(&again.program, &options);
        assert_eq!(first, second);
        further(&mut again.program);
    }
}

/// Returns the errors in a text, if there are any.
pub fn is_right(text: &str) -> Result<(), Vec<String>> {
    let mut sources = Sources::new();
    let file = sources.add("any", text);
    let mut parsed = parse(&mut sources, file, None, &mut NoIncludes);
    let mut found = parsed.diagnostics;
    if !any_errors(&found) {
        found.extend(resolve(&mut parsed.program));
    }
    let errors = found.iter().filter(|d| d.is_error());
    let errors: Vec<String> = errors.map(|d| d.message.clone()).collect();
    match errors.is_empty() {
        true => Ok(()),
        false => Err(errors),
    }
}
