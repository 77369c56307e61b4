//! flang, LLVM's Fortran compiler, as a second compiler: how to recognise it, and its flags.
//!
//! Everything else chooses flags for gfortran; [`flags`] translates them. Generated code is the same for both
//! compilers: it needs neither the layout of descriptors nor the names of either.

use std::path::{Path, PathBuf};

/// The run-time libraries of a version, in linking order. Those that do not exist are left out.
pub(crate) const LIBRARIES: [&str; 3] = ["flang_rt.runtime", "FortranRuntime", "FortranDecimal"];

/// Returns the version in the answer to `--version`, if it is flang's: `Debian flang version 22.1.8 (…)`.
pub(crate) fn version(answer: &str) -> Option<String> {
    let line = answer.lines().next()?;
    let (before, rest) = line.split_once("version ")?;
    let known = before.contains("flang") && !before.contains("flang-classic");
    let version = rest.split(|c: char| c.is_whitespace()).next()?;
    (known && version.starts_with(|c: char| c.is_ascii_digit())).then(|| version.to_owned())
}

/// Returns the folders in which the run-time libraries may be: under the compiler's resources, or beside it.
pub(crate) fn library_folders(resources: &Path, machine: &str) -> Vec<PathBuf> {
    let inside = resources.join("lib");
    let beside = resources.ancestors().nth(2).map(Path::to_owned);
    [inside.join(machine), inside.join("linux"), inside]
        .into_iter()
        .chain(beside)
        .collect()
}

/// Translates flags for gfortran. Those that only gfortran knows and that are not needed are dropped; what the
/// user has chosen beyond that is passed on.
pub(crate) fn flags<'a>(flags: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    // Warnings are about the program that Farfel has checked itself.
    // Arrays whose size depends on the call are on the heap, where it can be checked that there is room for them.
    let mut result = ["-w", "-mmlir", "-fdynamic-heap-array"]
        .map(str::to_owned)
        .to_vec();
    for flag in flags {
        let text = flag.as_str();
        match text {
            "-std=legacy"
            | "-fdollar-ok"
            | "-fno-diagnostics-show-caret"
            | "-fno-tree-slp-vectorize"
            | "-fira-region=all"
            | "-fno-tree-loop-vectorize"
            | "-gno-record-gcc-switches"
            | "-fwhole-program"
            | "-ffree-line-length-none"
            | "-fno-aggressive-loop-optimizations"
            | "-ffrontend-optimize"
            | "-fstack-clash-protection"
            // Frames can always be unwound.
            | "-fexceptions"
            | "-fcray-pointer"
            | "-fdec-static"
            | "-fbacktrace" => {}
            "-Os" => result.push("-O2".into()),
            "-Ofast" => result.extend(["-O3", "-ffast-math"].map(str::to_owned)),
            _ => match text.strip_prefix("-fmax-stack-var-size=") {
                // Larger arrays are on the heap. gfortran puts them into static memory.
                Some(bytes) => {
                    result.push("-mmlir".into());
                    result.push(format!("-fstack-array-size={bytes}"));
                }
                None if text.starts_with("-ffile-prefix-map=") => {}
                None => result.push(flag.clone()),
            },
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for (answer, known) in [
            (
                "Debian flang version 22.1.8 (1~deb12u1)\nTarget: x",
                Some("22.1.8"),
            ),
            ("flang-new version 19.1.7\n", Some("19.1.7")),
            (
                "GNU Fortran (Debian 12.2.0-14+deb12u1) 12.2.0\nversion 1",
                None,
            ),
            ("Debian clang version 14.0.6", None),
            ("", None),
        ] {
            assert_eq!(version(answer).as_deref(), known, "{answer}");
        }
    }

    #[test]
    fn flags_are_translated() {
        let given = [
            "-std=legacy",
            "-ffixed-form",
            "-Os",
            "-fmax-stack-var-size=65536",
            "-ffile-prefix-map=/a=.",
            "-march=native",
        ];
        let given = given.map(str::to_owned);
        assert_eq!(
            flags(&given),
            [
                "-w",
                "-mmlir",
                "-fdynamic-heap-array",
                "-ffixed-form",
                "-O2",
                "-mmlir",
                "-fstack-array-size=65536",
                "-march=native"
            ]
        );
    }

    #[test]
    fn folders() {
        let folders = library_folders(
            Path::new("/usr/lib/llvm-22/lib/clang/22"),
            "x86_64-pc-linux-gnu",
        );
        for expected in [
            "/usr/lib/llvm-22/lib/clang/22/lib/x86_64-pc-linux-gnu",
            "/usr/lib/llvm-22/lib",
        ] {
            assert!(folders.contains(&PathBuf::from(expected)), "{folders:?}");
        }
    }
}
