//! Intrinsic procedures that do more than compute a value: vendor extensions, and the intrinsic
//! subroutines of Fortran 90.
//!
//! All passes treat them as procedures whose source is unknown.

use crate::scalar::Type;

/// A procedure of the compiler's library.
#[derive(Debug, PartialEq, Eq)]
pub struct Vendor {
    /// The name.
    pub name: &'static str,
    /// Whether it can be invoked with CALL.
    pub subroutine: bool,
    /// The type of its result, if it can be used as a function.
    pub function: Option<Type>,
}

/// Returns the vendor procedure with this name (in upper case).
///
/// ```
/// # use farfel_ir::intrinsics::vendor;
/// # use farfel_ir::ir::Type;
/// assert_eq!(vendor("TIME").and_then(|v| v.function), Some(Type::INTEGER));
/// ```
pub fn vendor(name: &str) -> Option<&'static Vendor> {
    let at = VENDOR.binary_search_by(|v| v.name.cmp(name)).ok()?;
    VENDOR.get(at)
}

/// Whether `name` is one of the procedures that old programs use without declaring them.
///
/// ```
/// # use farfel_ir::intrinsics::is_vendor_procedure;
/// assert!(is_vendor_procedure("GETARG") && !is_vendor_procedure("DGEMM"));
/// ```
pub fn is_vendor_procedure(name: &str) -> bool {
    vendor(name).is_some()
}

const fn both(name: &'static str, function: Type) -> Vendor {
    Vendor {
        name,
        subroutine: true,
        function: Some(function),
    }
}

const fn function(name: &'static str, function: Type) -> Vendor {
    Vendor {
        name,
        subroutine: false,
        function: Some(function),
    }
}

const fn subroutine(name: &'static str) -> Vendor {
    Vendor {
        name,
        subroutine: true,
        function: None,
    }
}

/// Sorted by name.
static VENDOR: &[Vendor] = &[
    subroutine("ABORT"),
    function("ACCESS", Type::INTEGER),
    subroutine("ALARM"),
    subroutine("BACKTRACE"),
    both("CHDIR", Type::INTEGER),
    both("CHMOD", Type::INTEGER),
    function("COMMAND_ARGUMENT_COUNT", Type::INTEGER),
    subroutine("CPU_TIME"),
    both("CTIME", Type::Character),
    subroutine("DATE_AND_TIME"),
    both("DTIME", Type::REAL),
    both("ETIME", Type::REAL),
    subroutine("EXECUTE_COMMAND_LINE"),
    subroutine("EXIT"),
    both("FDATE", Type::Character),
    both("FGET", Type::INTEGER),
    both("FGETC", Type::INTEGER),
    subroutine("FLUSH"),
    function("FNUM", Type::INTEGER),
    both("FPUT", Type::INTEGER),
    both("FPUTC", Type::INTEGER),
    subroutine("FREE"),
    both("FSEEK", Type::INTEGER),
    both("FSTAT", Type::INTEGER),
    both("FTELL", Type::Integer(8)),
    subroutine("GERROR"),
    subroutine("GETARG"),
    both("GETCWD", Type::INTEGER),
    subroutine("GETENV"),
    function("GETGID", Type::INTEGER),
    subroutine("GETLOG"),
    function("GETPID", Type::INTEGER),
    function("GETUID", Type::INTEGER),
    subroutine("GET_COMMAND"),
    subroutine("GET_COMMAND_ARGUMENT"),
    subroutine("GET_ENVIRONMENT_VARIABLE"),
    subroutine("GMTIME"),
    both("HOSTNM", Type::INTEGER),
    function("IARGC", Type::INTEGER),
    subroutine("IDATE"),
    function("IERRNO", Type::INTEGER),
    function("IRAND", Type::INTEGER),
    function("ISATTY", Type::LOGICAL),
    subroutine("ITIME"),
    both("KILL", Type::INTEGER),
    both("LINK", Type::INTEGER),
    both("LSTAT", Type::INTEGER),
    subroutine("LTIME"),
    function("MALLOC", Type::Integer(8)),
    function("MCLOCK", Type::INTEGER),
    function("MCLOCK8", Type::Integer(8)),
    subroutine("MOVE_ALLOC"),
    subroutine("MVBITS"),
    subroutine("PERROR"),
    function("RAN", Type::REAL),
    function("RAND", Type::REAL),
    subroutine("RANDOM_INIT"),
    subroutine("RANDOM_NUMBER"),
    subroutine("RANDOM_SEED"),
    both("RENAME", Type::INTEGER),
    function("SECNDS", Type::REAL),
    both("SECOND", Type::REAL),
    both("SIGNAL", Type::INTEGER),
    subroutine("SLEEP"),
    subroutine("SRAND"),
    both("STAT", Type::INTEGER),
    both("SYMLNK", Type::INTEGER),
    both("SYSTEM", Type::INTEGER),
    subroutine("SYSTEM_CLOCK"),
    function("TIME", Type::INTEGER),
    function("TIME8", Type::Integer(8)),
    both("TTYNAM", Type::Character),
    both("UMASK", Type::INTEGER),
    both("UNLINK", Type::INTEGER),
];

#[cfg(test)]
mod tests {
    #[test]
    fn vendor_procedures_are_sorted() {
        assert!(super::VENDOR.is_sorted_by(|a, b| a.name < b.name));
    }
}
