//! The modules provided by compilers, as far as FORTRAN 77 code uses them.

use crate::ir::{Class, Expr, Symbol, Type};
use crate::source::Span;

/// The meaning of a name in a module.
#[derive(Debug, Clone, Copy)]
pub(super) enum ModuleItem {
    /// A function of this type.
    Function(Type),
    /// A subroutine.
    Subroutine,
    /// An INTEGER constant.
    Constant(i64),
}

impl ModuleItem {
    /// Gives a symbol this meaning.
    pub fn apply_to(self, symbol: &mut Symbol, span: Span) {
        match self {
            ModuleItem::Function(ty) => {
                symbol.ty = Some(ty);
                symbol.typed = true;
                symbol.external = true;
            }
            ModuleItem::Subroutine => symbol.external = true,
            ModuleItem::Constant(value) => {
                symbol.ty = Some(Type::INTEGER);
                symbol.typed = true;
                symbol.class = Class::Parameter(Box::new(Expr::int(value, span)));
            }
        }
    }
}

const INTEGER: ModuleItem = ModuleItem::Function(Type::INTEGER);
const LOGICAL: ModuleItem = ModuleItem::Function(Type::LOGICAL);
const DOUBLE: ModuleItem = ModuleItem::Function(Type::DOUBLE);

const OMP: &[(&str, ModuleItem)] = &[
    ("OMP_DESTROY_LOCK", ModuleItem::Subroutine),
    ("OMP_DESTROY_NEST_LOCK", ModuleItem::Subroutine),
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
    ("OMP_INIT_LOCK", ModuleItem::Subroutine),
    ("OMP_INIT_NEST_LOCK", ModuleItem::Subroutine),
    ("OMP_IN_PARALLEL", LOGICAL),
    ("OMP_LOCK_KIND", ModuleItem::Constant(8)),
    ("OMP_NEST_LOCK_KIND", ModuleItem::Constant(8)),
    ("OMP_SCHED_KIND", ModuleItem::Constant(4)),
    ("OMP_SET_DYNAMIC", ModuleItem::Subroutine),
    ("OMP_SET_LOCK", ModuleItem::Subroutine),
    ("OMP_SET_MAX_ACTIVE_LEVELS", ModuleItem::Subroutine),
    ("OMP_SET_NESTED", ModuleItem::Subroutine),
    ("OMP_SET_NUM_THREADS", ModuleItem::Subroutine),
    ("OMP_TEST_LOCK", LOGICAL),
    ("OMP_UNSET_LOCK", ModuleItem::Subroutine),
];

const ISO_ENV: &[(&str, ModuleItem)] = &[
    ("ERROR_UNIT", ModuleItem::Constant(0)),
    ("INPUT_UNIT", ModuleItem::Constant(5)),
    ("INT16", ModuleItem::Constant(2)),
    ("INT32", ModuleItem::Constant(4)),
    ("INT64", ModuleItem::Constant(8)),
    ("INT8", ModuleItem::Constant(1)),
    ("OUTPUT_UNIT", ModuleItem::Constant(6)),
    ("REAL128", ModuleItem::Constant(16)),
    ("REAL32", ModuleItem::Constant(4)),
    ("REAL64", ModuleItem::Constant(8)),
];

const ISO_C: &[(&str, ModuleItem)] = &[
    ("C_CHAR", ModuleItem::Constant(1)),
    ("C_BOOL", ModuleItem::Constant(1)),
    ("C_DOUBLE", ModuleItem::Constant(8)),
    ("C_DOUBLE_COMPLEX", ModuleItem::Constant(8)),
    ("C_FLOAT", ModuleItem::Constant(4)),
    ("C_FLOAT_COMPLEX", ModuleItem::Constant(4)),
    ("C_INT", ModuleItem::Constant(4)),
    ("C_INT32_T", ModuleItem::Constant(4)),
    ("C_INT64_T", ModuleItem::Constant(8)),
    ("C_LONG", ModuleItem::Constant(8)),
    ("C_LONG_LONG", ModuleItem::Constant(8)),
    ("C_SHORT", ModuleItem::Constant(2)),
    ("C_SIZE_T", ModuleItem::Constant(8)),
];

/// Returns the names in a module that is provided by compilers.
pub(super) fn names(module: &str) -> Option<&'static [(&'static str, ModuleItem)]> {
    match module {
        "OMP_LIB" => Some(OMP),
        "ISO_FORTRAN_ENV" => Some(ISO_ENV),
        "ISO_C_BINDING" => Some(ISO_C),
        _ => None,
    }
}
