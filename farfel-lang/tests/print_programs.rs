//! Tests the printer and the parser together on whole programs: printed text reads back as the same
//! program, and means the same to a compiler.

use farfel_lang::diagnostic::rules;
use farfel_lang::ir::Program;
use farfel_lang::print::{Options, print_program};
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{Form, NoIncludes, parse};
use farfel_lang::{Diagnostic, Sources};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the programs in `tests/programs`, by name: `.ff` is Farfel, `.f` and `.f90` Fortran.
fn programs() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut programs: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    programs.sort();
    assert!(programs.len() >= 25);
    programs
}

fn is_fortran(name: &str) -> bool {
    !name.ends_with(".ff")
}

/// Returns the source form that a compiler infers from the file's name.
fn form_of(name: &str) -> Option<Form> {
    match name.rsplit_once('.') {
        Some((_, "f")) => Some(Form::Fixed),
        Some((_, "f90")) => Some(Form::Free),
        _ => None,
    }
}

/// Parses a text that must be correct; warnings are allowed.
fn read(name: &str, text: &str, form: Option<Form>) -> Program {
    let mut sources = Sources::new();
    let file = sources.add(name, text);
    let parsed = parse(&mut sources, file, form, &mut NoIncludes);
    assert_sound(&sources, &parsed.diagnostics, text);
    parsed.program
}

fn assert_sound(sources: &Sources, diagnostics: &[Diagnostic], text: &str) {
    let shown: Vec<String> = diagnostics
        .iter()
        .filter(|d| d.is_error())
        .map(|d| {
            let file = sources.get(d.span.file).unwrap();
            let place = file.line_column(d.span.start);
            format!(
                "{}:{}:{}: {}",
                file.name, place.line, place.column, d.message
            )
        })
        .collect();
    assert!(shown.is_empty(), "{}\n{text}", shown.join("\n"));
}

fn print(program: &Program, form: Form) -> String {
    print_program(
        program,
        &Options {
            form,
            line_markers: None,
            ..Options::default()
        },
    )
}

/// Runs `test` on every program, and reports those that fail.
fn for_each_program(test: impl Fn(&str, &str) + std::panic::RefUnwindSafe) {
    let failed: Vec<_> = programs()
        .into_iter()
        .filter(|(name, text)| std::panic::catch_unwind(|| test(name, text)).is_err())
        .map(|(name, _)| name)
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn printed_programs() {
    for_each_program(|name, text| {
        let program = read(name, text, form_of(name));
        insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true}, {
            insta::assert_snapshot!(name, print(&program, Form::Fixed));
        });
    });
}

#[test]
fn free_form() {
    let (_, text) = programs()
        .into_iter()
        .find(|(name, _)| name == "longlines.f")
        .unwrap();
    let printed = print(&read("longlines.f", &text, Some(Form::Fixed)), Form::Free);
    insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!("longlines_free_form", printed);
    });
}

#[test]
fn what_is_printed_reads_back_as_the_same_program() {
    for_each_program(|name, text| {
        let program = read(name, text, form_of(name));
        let fixed = print(&program, Form::Fixed);
        let again = read(&format!("fixed {name}"), &fixed, Some(Form::Fixed));
        assert_eq!(print(&again, Form::Fixed), fixed);
        assert_eq!(tree(&again), tree(&program), "{fixed}");

        let free = print(&program, Form::Free);
        let again = read(&format!("free {name}"), &free, Some(Form::Free));
        assert_eq!(print(&again, Form::Free), free);
        assert_eq!(tree(&again), tree(&program), "{free}");
    });
}

/// Returns everything in a program except the places, without blanks, which a FORMAT may have
/// anywhere.
fn tree(program: &Program) -> String {
    fn unit(u: &farfel_lang::ir::Unit, out: &mut String) {
        use std::fmt::Write;
        writeln!(
            out,
            "{:?} {} {:?} {:?} {:?} {} {} {:?}",
            u.kind, u.name, u.comments, u.args, u.result, u.typed_header, u.recursive, u.implicit
        )
        .unwrap();
        for (id, s) in u.symbols.iter() {
            writeln!(out, "{id:?} {s:?}").unwrap();
        }
        for s in &u.specs {
            writeln!(out, "{s:?}").unwrap();
        }
        for s in &u.body {
            writeln!(out, "{s:?}").unwrap();
        }
        for n in &u.nested {
            unit(n, out);
        }
    }
    let mut out = String::new();
    program.units.iter().for_each(|u| unit(u, &mut out));
    let mut without_places = String::new();
    for (i, part) in out.split("Span { file: FileId(").enumerate() {
        let part = match part.split_once(" }") {
            Some((_, rest)) if i > 0 => rest,
            _ => part,
        };
        without_places.extend(part.chars().filter(|c| *c != ' '));
    }
    without_places
}

#[test]
fn resolving_names_does_not_change_the_text() {
    for_each_program(|name, text| {
        let mut sources = Sources::new();
        let file = sources.add(name, text);
        let mut program = parse(&mut sources, file, form_of(name), &mut NoIncludes).program;
        let before = print(&program, Form::Fixed);
        assert_sound(&sources, &resolve(&mut program), text);
        assert_eq!(print(&program, Form::Fixed), before);
    });
}

#[test]
fn printed_fortran_compiles_and_computes_the_same() {
    for_each_program(|name, text| {
        if !is_fortran(name) {
            return;
        }
        let program = read(name, text, form_of(name));
        let main = program
            .units
            .iter()
            .any(|u| u.kind == farfel_lang::ir::UnitKind::Program);
        let suffix = name.rsplit_once('.').unwrap().1;
        let mut results = [
            (suffix, text.to_owned()),
            ("f", print(&program, Form::Fixed)),
            ("f90", print(&program, Form::Free)),
        ]
        .map(|(suffix, text)| compile(name, suffix, &text, main));
        let original = results[0].take();
        assert!(!main || original.as_ref().is_some_and(|o| !o.is_empty()));
        assert_eq!(results[1], original, "fixed form");
        assert_eq!(results[2], original, "free form");
    });
}

/// Compiles a program. With `main`, also runs it and returns its output.
fn compile(name: &str, suffix: &str, text: &str, main: bool) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let source: PathBuf = folder.path().join(format!("program.{suffix}"));
    std::fs::write(&source, text).unwrap();
    let mut gfortran = Command::new("gfortran");
    gfortran.args(["-std=legacy", "-w"]).current_dir(&folder);
    // The first comment of a program names the options that gfortran requires for it.
    if let Some((_, flags)) = text.lines().next().and_then(|l| l.split_once("flags: ")) {
        gfortran.args(flags.split_whitespace());
    }
    if main {
        gfortran.args(["-o", "program"]);
    } else {
        gfortran.arg("-fsyntax-only");
    }
    let output = gfortran.arg(&source).output().expect("gfortran is needed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {errors}\n{text}");
    main.then(|| {
        let output = Command::new(folder.path().join("program"))
            .current_dir(&folder)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{name}");
        String::from_utf8(output.stdout).unwrap()
    })
}

#[test]
fn programs_print_at_every_stage() {
    use farfel_lang::lower::{Stage, lower};
    for_each_program(|name, text| {
        for stage in [
            Stage::Parse,
            Stage::Lift,
            Stage::Specialize,
            Stage::Prune,
            Stage::Outline,
            Stage::Stage,
        ] {
            let mut sources = Sources::new();
            let file = sources.add(name, text);
            let mut program = parse(&mut sources, file, form_of(name), &mut NoIncludes).program;
            assert_sound(&sources, &resolve(&mut program), text);
            let lowered = lower(program, stage);
            let unsupported = |d: &Diagnostic| d.rule == &rules::AD_UNSUPPORTED;
            if lowered.diagnostics.iter().any(unsupported) {
                continue;
            }
            assert_sound(&sources, &lowered.diagnostics, text);
            for form in [Form::Fixed, Form::Free] {
                let printed = print(&lowered.program, form);
                let again = read(&format!("{name} after {stage:?}"), &printed, Some(form));
                assert_eq!(print(&again, form), printed, "{stage:?}");
            }
        }
    });
}
