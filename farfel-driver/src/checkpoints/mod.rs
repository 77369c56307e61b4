//! Loops with `!farfel: checkpoint(n, disk = m)`: the run-time library that writes states to files, `runtime.c`.
//! `farfel_ad` generates the calls.

use crate::plan::objects::KeyedObject;
use farfel_ad::CHECKPOINT_PREFIX;
use farfel_lang::ir::{LoopDirectiveKind, Program, StmtKind, walk_block};
use object::{Object as _, ObjectSymbol as _};

/// The run-time library.
pub(crate) const RUNTIME: &str = include_str!("runtime.c");

/// The name of its file in messages.
pub(crate) const RUNTIME_NAME: &str = "farfel_checkpoint.c";

/// Whether a program has a loop with states in files.
pub(crate) fn are_asked_for(program: &Program) -> bool {
    let mut found = false;
    for unit in &program.units {
        walk_block(&unit.body, &mut |s| {
            if let StmtKind::Do(d) = &s.kind
                && let Some(directive) = &d.directive
            {
                let disk = |k: &LoopDirectiveKind| match k {
                    LoopDirectiveKind::Checkpoint { disk, .. } => *disk > 0,
                    _ => false,
                };
                found |= disk(&directive.kind);
            }
        });
    }
    found
}

/// Whether one of the objects calls the run-time library.
pub(crate) fn are_called(objects: &[KeyedObject]) -> bool {
    let prefix = CHECKPOINT_PREFIX.to_ascii_lowercase();
    objects.iter().any(|o| {
        let Ok(file) = object::File::parse(o.object.code.as_slice()) else {
            return false;
        };
        file.symbols().any(|s| {
            let name = s.name().unwrap_or_default();
            s.is_undefined() && name.trim_start_matches('_').starts_with(&prefix)
        })
    })
}
