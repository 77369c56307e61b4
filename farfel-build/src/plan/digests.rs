//! What a unit is, as hashes.

use farfel_lang::ir::{Program, SpecKind, Stmt, StmtKind, Unit, walk_block};
use farfel_lang::print::{Options, print_unit};
use farfel_lang::{Sources, Span};
use std::num::NonZero;

/// The hashes of one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest {
    /// Its text without comments: all that a compiler or an AD tool makes something of.
    pub text: blake3::Hash,
    /// The files, lines and columns that its statements come from.
    pub places: blake3::Hash,
    /// What a call of it must know.
    pub interface: blake3::Hash,
    /// The compiled unit knows line numbers even without debug information: messages about
    /// faulty input and output name them.
    pub names_lines: bool,
}

/// The digests of all units, in order.
pub(crate) fn digests(program: &Program, sources: &Sources) -> Vec<Digest> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let size = program.units.len().div_ceil(threads).max(64);
    std::thread::scope(|scope| {
        let parts: Vec<_> = program
            .units
            .chunks(size)
            .map(|units| {
                scope.spawn(move || {
                    units
                        .iter()
                        .map(|u| digest(u, sources))
                        .collect::<Vec<Digest>>()
                })
            })
            .collect();
        parts
            .into_iter()
            .flat_map(|p| {
                p.join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    })
}

fn digest(unit: &Unit, sources: &Sources) -> Digest {
    let options = Options {
        comments: false,
        ..Options::default()
    };
    let mut places = blake3::Hasher::new();
    let mut last = None;
    let mut put = |span: Span| {
        if let Some(file) = sources.get(span.file) {
            if last != Some(span.file) {
                places.update(&(file.name.len() as u64).to_le_bytes());
                places.update(file.name.as_bytes());
                last = Some(span.file);
            }
            let at = file.line_column(span.start);
            places.update(&(at.line as u64).to_le_bytes());
            places.update(&(at.column as u64).to_le_bytes());
        }
    };
    put(unit.span);
    for spec in &unit.specs {
        if !matches!(spec.kind, SpecKind::Comment(_)) {
            put(spec.span);
        }
    }
    let mut names_lines = false;
    walk_block(&unit.body, &mut |s: &Stmt| match s.kind {
        StmtKind::Comment(_) => {}
        StmtKind::Io(_) => {
            put(s.span);
            names_lines = true;
        }
        _ => put(s.span),
    });
    put(unit.end_span);

    let mut interface = blake3::Hasher::new();
    let mut say = |text: String| {
        interface.update(&(text.len() as u64).to_le_bytes());
        interface.update(text.as_bytes());
    };
    say(format!("{:?} {}", unit.kind, unit.name));
    let result = unit.result.map(|r| &unit.symbols[r]);
    say(format!("{:?}", result.map(|s| s.ty)));
    for arg in &unit.args {
        let symbol = arg.sym().map(|s| &unit.symbols[s]);
        say(format!(
            "{:?}",
            symbol.map(|s| (s.ty, s.is_array(), s.class.is_procedure()))
        ));
    }
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Entry(e) = &s.kind {
            let name = &unit.symbols[e.name];
            say(format!(
                "ENTRY {} {:?} {}",
                name.name,
                name.ty,
                e.args.len()
            ));
        }
    });
    Digest {
        text: blake3::hash(print_unit(unit, &options).as_bytes()),
        places: places.finalize(),
        interface: interface.finalize(),
        names_lines,
    }
}
