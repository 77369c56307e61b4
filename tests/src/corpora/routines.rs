//! Real routines that are differentiated unmodified, and their sources.
//!
//! The programs in `tests/corpora/derivatives` call each of them through a small subroutine, and pass it to a
//! library that uses its derivatives: one library checks them, and one in `benches` times them.

use super::build::Program;
use std::path::{Path, PathBuf};

/// The programs, and the folders of the routines that they differentiate.
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

/// Returns the folder of the programs.
pub fn drivers() -> PathBuf {
    crate::repository().join("tests/corpora/derivatives")
}

/// Returns the files of one of [`PROGRAMS`], with a library.
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
