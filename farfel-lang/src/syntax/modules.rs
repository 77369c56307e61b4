//! The modules provided by compilers, as far as FORTRAN 77 code uses them.

use crate::ir::{Class, Expr, Symbol, Type};
use crate::source::Span;

/// The meaning of a name in a module.
#[derive(Debug, Clone, Copy)]
pub(super) enum Meaning {
    /// A function of this type.
    Function(Type),
    /// A subroutine.
    Subroutine,
    /// An INTEGER constant.
    Constant(i64),
}

impl Meaning {
    /// Gives a symbol this meaning.
    pub fn give(self, symbol: &mut Symbol, span: Span) {
        match self {
            Meaning::Function(ty) => {
                symbol.ty = Some(ty);
                symbol.typed = true;
                symbol.external = true;
            }
            Meaning::Subroutine => symbol.external = true,
            Meaning::Constant(value) => {
                symbol.ty = Some(Type::INTEGER);
                symbol.typed = true;
                symbol.class = Class::Parameter(Box::new(Expr::int(value, span)));
            }
        }
    }
}

const INTEGER: Meaning = Meaning::Function(Type::INTEGER);
const LOGICAL: Meaning = Meaning::Function(Type::LOGICAL);
const DOUBLE: Meaning = Meaning::Function(Type::DOUBLE);

const OMP: &[(&str, Meaning)] = &[
    ("OMP_DESTROY_LOCK", Meaning::Subroutine),
    ("OMP_DESTROY_NEST_LOCK", Meaning::Subroutine),
    ("OMP_GET_ACTIVE_LEVEL", INTEGER),
    ("OMP_GET_DYNAMIC", LOGICAL),
    ("OMP_GET_LEVEL", INTEGER),
    ("OMP_GET_MAX_ACTIVE_LEVELS", INTEGER),
    ("OMP_GET_MAX_THREADS", INTEGER),
    ("OMP_GET_NESTED", LOGICAL),
    ("OMP_GET_NUM_PROCS", INTEGER),
    ("OMP_GET_NUM_THREADS", INTEGER),
    ("OMP_GET_TEAM_SIZE", INTEGER),
    ("OMP_GET_THREAD_LIMIT", INTEGER),
    ("OMP_GET_THREAD_NUM", INTEGER),
    ("OMP_GET_WTICK", DOUBLE),
    ("OMP_GET_WTIME", DOUBLE),
    ("OMP_INIT_LOCK", Meaning::Subroutine),
    ("OMP_INIT_NEST_LOCK", Meaning::Subroutine),
    ("OMP_IN_PARALLEL", LOGICAL),
    ("OMP_LOCK_KIND", Meaning::Constant(8)),
    ("OMP_NEST_LOCK_KIND", Meaning::Constant(8)),
    ("OMP_SCHED_KIND", Meaning::Constant(4)),
    ("OMP_SET_DYNAMIC", Meaning::Subroutine),
    ("OMP_SET_LOCK", Meaning::Subroutine),
    ("OMP_SET_MAX_ACTIVE_LEVELS", Meaning::Subroutine),
    ("OMP_SET_NESTED", Meaning::Subroutine),
    ("OMP_SET_NUM_THREADS", Meaning::Subroutine),
    ("OMP_TEST_LOCK", LOGICAL),
    ("OMP_UNSET_LOCK", Meaning::Subroutine),
];

const ISO_ENV: &[(&str, Meaning)] = &[
    ("ERROR_UNIT", Meaning::Constant(0)),
    ("INPUT_UNIT", Meaning::Constant(5)),
    ("INT16", Meaning::Constant(2)),
    ("INT32", Meaning::Constant(4)),
    ("INT64", Meaning::Constant(8)),
    ("INT8", Meaning::Constant(1)),
    ("OUTPUT_UNIT", Meaning::Constant(6)),
    ("REAL128", Meaning::Constant(16)),
    ("REAL32", Meaning::Constant(4)),
    ("REAL64", Meaning::Constant(8)),
];

const ISO_C: &[(&str, Meaning)] = &[
    ("C_CHAR", Meaning::Constant(1)),
    ("C_BOOL", Meaning::Constant(1)),
    ("C_DOUBLE", Meaning::Constant(8)),
    ("C_DOUBLE_COMPLEX", Meaning::Constant(8)),
    ("C_FLOAT", Meaning::Constant(4)),
    ("C_FLOAT_COMPLEX", Meaning::Constant(4)),
    ("C_INT", Meaning::Constant(4)),
    ("C_INT32_T", Meaning::Constant(4)),
    ("C_INT64_T", Meaning::Constant(8)),
    ("C_LONG", Meaning::Constant(8)),
    ("C_LONG_LONG", Meaning::Constant(8)),
    ("C_SHORT", Meaning::Constant(2)),
    ("C_SIZE_T", Meaning::Constant(8)),
];

/// Returns the names in a module that is provided by compilers.
pub(super) fn names(module: &str) -> Option<&'static [(&'static str, Meaning)]> {
    match module {
        "OMP_LIB" => Some(OMP),
        "ISO_FORTRAN_ENV" => Some(ISO_ENV),
        "ISO_C_BINDING" => Some(ISO_C),
        _ => None,
    }
}
