//! Hashes of units.

use farfel_lang::ir::{
    Attribute, ProcedureDirective, Program, SpecKind, Stmt, StmtKind, SymId, Unit, walk_block,
};
use farfel_lang::print::{Options, print_unit};
use farfel_lang::{Sources, Span};
use std::fmt::Write as _;
use std::num::NonZero;

/// The hashes of one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest {
    /// The hash of its text without comments: everything that matters to a compiler or an AD tool.
    pub text: blake3::Hash,
    /// The hash of the files, lines and columns of its statements.
    pub places: blake3::Hash,
    /// The hash of everything that its callers must know.
    pub interface: blake3::Hash,
    /// Whether the compiled unit contains line numbers even without debug information, for messages about I/O
    /// errors.
    pub names_lines: bool,
}

/// Returns the digests of all units, in order.
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
    // Collected first, because hashing many short parts is slower.
    let mut places: Vec<u8> = Vec::with_capacity(16 * (unit.specs.len() + unit.body.len() + 4));
    let mut last = None;
    let mut put = |span: Span| {
        if let Some(file) = sources.get(span.file) {
            if last != Some(span.file) {
                places.extend((file.name.len() as u64).to_le_bytes());
                places.extend(file.name.as_bytes());
                last = Some(span.file);
            }
            let at = file.line_column(span.start);
            places.extend((at.line as u64).to_le_bytes());
            places.extend((at.column as u64).to_le_bytes());
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

    // Writing to a string cannot fail. Names contain no blanks, so the parts remain distinct.
    let mut interface = String::new();
    let _ = writeln!(interface, "{:?} {}", unit.kind, unit.name);
    let mut symbol = |id: Option<SymId>| {
        let Some(symbol) = id.map(|s| &unit.symbols[s]) else {
            interface.push_str("*\n");
            return;
        };
        let _ = match symbol.ty {
            Some(ty) => write!(interface, "{ty}"),
            None => write!(interface, "-"),
        };
        interface.push_str(match (symbol.is_array(), symbol.class.is_procedure()) {
            (true, _) => " array\n",
            (_, true) => " procedure\n",
            _ => "\n",
        });
    };
    symbol(unit.result);
    unit.args.iter().for_each(|arg| symbol(arg.sym()));
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Entry(e) = &s.kind {
            let name = &unit.symbols[e.name];
            let _ = writeln!(
                interface,
                "ENTRY {} {:?} {}",
                name.name,
                name.ty,
                e.args.len()
            );
        }
    });
    let mut text = print_unit(unit, &options);
    if unit.joint {
        text.push_str("joint\n");
    }
    if unit.constant {
        text.push_str("constant\n");
    }
    if unit.leaves_derivatives {
        text.push_str("leaves derivatives\n");
    }
    for given in &unit.directives {
        // The position of this directive does not matter.
        let given = ProcedureDirective {
            span: Span::NONE,
            ..given.clone()
        };
        let _ = writeln!(text, "{given:?}");
    }
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Do(d) = &s.kind
            && let Some(mark) = &d.directive
        {
            let _ = writeln!(text, "{}", mark.kind);
        }
    });
    for (_, s) in unit
        .symbols
        .iter()
        .filter(|(_, s)| s.has(Attribute::Constant))
    {
        let _ = writeln!(text, "constant {}", s.name);
    }
    Digest {
        text: blake3::hash(text.as_bytes()),
        places: blake3::hash(&places),
        interface: blake3::hash(interface.as_bytes()),
        names_lines,
    }
}
