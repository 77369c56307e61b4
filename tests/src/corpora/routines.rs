//! Real routines that are differentiated unmodified, and their sources.
//!
//! The programs in `tests/corpora/derivatives` call each of them through a small subroutine, and pass it to a
//! library that uses its derivatives: one library checks them, and one in `benches` times them.

use super::build::Program;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The programs, and the folders of the routines that they differentiate, then those of what these call.
pub const PROGRAMS: [(&str, &[&str]); 13] = [
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
        "packed",
        &[
            "lapack/BLAS/SRC/",
            "lapack/SRC/d",
            "lapack/SRC/ieeeck.f",
            "lapack/SRC/il",
            "lapack/SRC/iparmq.f",
            "lapack/SRC/xerbla.f",
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
    ("slalib", &["pyslalib/"]),
    (
        "octave",
        &[
            "octave/slatec-fn/",
            "octave/slatec-err/",
            "octave/blas-xtra/",
            "octave/daspk/",
            "octave/dassl/",
            "octave/dasrt/",
            "octave/odepack/",
            "octave/quadpack/",
            "scipy/scipy/special/mach/",
            "lapack/BLAS/SRC/",
            "lapack/SRC/d",
            "lapack/SRC/ieeeck.f",
            "lapack/SRC/il",
            "lapack/SRC/iparmq.f",
            "lapack/INSTALL/dlamch.f",
            "lapack/SRC/xerbla.f",
        ],
    ),
    (
        "integrators",
        &[
            "assimulo/odepack/",
            "assimulo/hairer/radau_decsol.f",
            "pysces/linalg_nleq2.f",
            "pysces/nleq2.f",
            "pysces/wnorm.f",
            "pysces/zib",
        ],
    ),
];

/// Whether the corpora with these folders have been downloaded.
pub fn are_there(folders: &[&str]) -> bool {
    let mut names = folders.iter().filter_map(|f| f.split('/').next());
    names.all(super::obtain::is_there)
}

/// Whether the routines in these folders are from other packages than SciPy, LAPACK and CalculiX.
pub fn is_beyond(folders: &[&str]) -> bool {
    let name = folders.first().and_then(|f| f.split('/').next());
    name.is_some_and(|n| !["scipy", "lapack", "calculix"].contains(&n))
}

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
    files_of(&drivers().join(format!("{name}.ff")), folders, library)
}

/// Returns the files of a program with this main program, and with a library.
///
/// # Errors
///
/// A file cannot be read.
pub fn files_of(main: &Path, folders: &[&str], library: &Path) -> Result<Vec<PathBuf>, String> {
    let program = Program {
        main: main.to_string_lossy().into_owned(),
        folders: folders.iter().map(|f| (*f).to_owned()).collect(),
    };
    let mut files = program.sources()?.paths();
    files.push(library.to_owned());
    Ok(files)
}

/// The subroutines of the libraries to which the programs pass routines, with the name first.
const LIBRARY: [&str; 3] = ["CALL SCALAR('", "CALL VECTOR('", "CALL VECFWD('"];

/// Divides one of [`PROGRAMS`]: returns the name of each routine, and the text of the main program with only
/// that routine and the internal subprograms that it needs.
///
/// # Errors
///
/// The file cannot be read.
pub fn one_by_one(name: &str) -> Result<Vec<(String, String)>, String> {
    let path = drivers().join(format!("{name}.ff"));
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let parts = parts(&text);
    let routines = parts.iter().enumerate();
    let routines = routines.filter_map(|(i, part)| match part {
        Part::Call(name, _) => Some((name.clone(), with_only(&parts, i))),
        _ => None,
    });
    Ok(routines.collect())
}

/// A part of a main program.
enum Part {
    /// The call that passes the routine with this name to the library.
    Call(String, String),
    /// An internal subprogram with everything in it.
    Internal(String, String),
    /// Another statement.
    Other(String),
}

impl Part {
    fn text(&self) -> &str {
        match self {
            Part::Call(_, text) | Part::Internal(_, text) | Part::Other(text) => text,
        }
    }
}

/// Divides a main program. Internal subprograms begin and end in column 9.
fn parts(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if (inside || line.starts_with("     +"))
            && let Some(Part::Call(_, text) | Part::Internal(_, text) | Part::Other(text)) =
                parts.last_mut()
        {
            text.push_str(line);
            text.push('\n');
            inside &= line.trim_end() != "        END";
            continue;
        }
        let text = format!("{line}\n");
        let routine = LIBRARY
            .iter()
            .find_map(|c| line.trim_start().strip_prefix(c));
        let name = |rest: &str, end: char| rest.split(end).next().unwrap_or_default().to_owned();
        parts.push(match (routine, line.strip_prefix("        SUBROUTINE ")) {
            (Some(rest), _) => Part::Call(name(rest, '\''), text),
            (None, Some(rest)) => {
                inside = true;
                Part::Internal(name(rest, '('), text)
            }
            (None, None) => Part::Other(text),
        });
    }
    parts
}

/// Returns the program with only one of the calls.
fn with_only(parts: &[Part], call: usize) -> String {
    let mut kept: Vec<bool> = parts.iter().map(|p| matches!(p, Part::Other(_))).collect();
    kept[call] = true;
    loop {
        let names = |text: &str| {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            words.map(str::to_owned).collect::<Vec<_>>()
        };
        let kept_parts = parts.iter().zip(&kept).filter(|(_, kept)| **kept);
        let known: HashSet<String> = kept_parts.flat_map(|(p, _)| names(p.text())).collect();
        let needed = |p: &Part| matches!(p, Part::Internal(name, _) if known.contains(name));
        match (0..parts.len()).find(|i| !kept[*i] && needed(&parts[*i])) {
            Some(i) => kept[i] = true,
            None => break,
        }
    }
    let kept = parts.iter().zip(&kept).filter(|(_, kept)| **kept);
    kept.map(|(p, _)| p.text()).collect()
}
