//! Real routines that are differentiated unchanged: which, and where they are.
//!
//! The programs in `tests/corpora/derivatives` call each through a small subroutine, and give it
//! to a library that does something with its derivatives: there is one that checks them, and one
//! in `benches` that times them.

use super::build::Program;
use std::path::{Path, PathBuf};

/// The programs, and where the routines are that they differentiate.
pub const PROGRAMS: [(&str, &[&str]); 9] = [
    (
        "cdflib",
        &["scipy/scipy/special/cdflib/", "scipy/scipy/stats/"],
    ),
    ("specfun", &["scipy/scipy/special/specfun/"]),
    (
        "amos",
        &["scipy/scipy/special/amos/", "scipy/scipy/special/mach/"],
    ),
    ("fitpack", &["scipy/scipy/interpolate/fitpack/"]),
    (
        "quadpack",
        &[
            "scipy/scipy/integrate/quadpack/",
            "scipy/scipy/integrate/mach/",
            "lapack/SRC/dgtsv.f",
            "lapack/SRC/xerbla.f",
        ],
    ),
    (
        "linear",
        &[
            "lapack/BLAS/SRC/",
            "lapack/SRC/d",
            "lapack/SRC/ieeeck.f",
            "lapack/SRC/il",
            "lapack/SRC/iparmq.f",
            "lapack/INSTALL/dlamch.f",
            "lapack/SRC/xerbla.f",
            "scipy/scipy/optimize/__nnls/",
            "scipy/scipy/optimize/minpack",
        ],
    ),
    (
        "ode",
        &["scipy/scipy/integrate/dop/", "scipy/scipy/integrate/tests/"],
    ),
    (
        "solvers",
        &[
            "scipy/scipy/integrate/odepack/",
            "scipy/scipy/integrate/mach/",
            "lapack/BLAS/SRC/",
            "lapack/SRC/d",
            "lapack/SRC/ieeeck.f",
            "lapack/SRC/il",
            "lapack/SRC/iparmq.f",
            "lapack/INSTALL/dlamch.f",
            "lapack/SRC/xerbla.f",
        ],
    ),
    ("calculix", &["calculix/"]),
];

/// Where the programs are.
pub fn drivers() -> PathBuf {
    crate::repository().join("tests/corpora/derivatives")
}

/// The files of one of [`PROGRAMS`], with a library.
///
/// # Errors
///
/// A file cannot be read.
pub fn files(name: &str, folders: &[&str], library: &Path) -> Result<Vec<PathBuf>, String> {
    let main = drivers().join(format!("{name}.ff"));
    let program = Program {
        main: main.to_string_lossy().into_owned(),
        folders: folders.iter().map(|f| (*f).to_owned()).collect(),
    };
    let mut files = program.sources()?.paths();
    files.push(library.to_owned());
    Ok(files)
}
