//! Downloads of the packages through the machine's own package clients.
//!
//! The settings of pip and apt determine servers and proxies; none are known here. pip checks the archive
//! against the digest below; apt checks its own signatures and digests.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A package from pip: the version whose Fortran we want, and the digest of the archive.
struct PythonPackage {
    name: &'static str,
    version: &'static str,
    digest: &'static str,
    /// The module of its build system, which pip imports.
    build_system: &'static str,
    /// The folder in the archive that is kept; all of it if this is empty.
    part: &'static str,
}

const PYTHON: [PythonPackage; 4] = [
    PythonPackage {
        name: "scipy",
        version: "1.10.1",
        digest: "2cf9dfb80a7b4589ba4c40ce7588986d6d5cebc5457cad2c2880f6bc2d42f3a5",
        build_system: "mesonpy",
        part: "",
    },
    // All of ODEPACK, as its authors published it.
    PythonPackage {
        name: "assimulo",
        version: "3.0",
        digest: "61cdca4562745078c966cc4fab44d8bc0db11a9e6856b45c470ac65c16af9e8a",
        build_system: "setuptools.build_meta",
        part: "assimulo/thirdparty",
    },
    // NLEQ2, with permission of its authors.
    PythonPackage {
        name: "pysces",
        version: "1.2.3",
        digest: "437487624c3127f0bc5adc28b639a3ee4cbe614f2554857b3ab4c1f3813ffe42",
        build_system: "mesonpy",
        part: "pysces/nleq2",
    },
    // SLALIB, positional astronomy.
    PythonPackage {
        name: "pyslalib",
        version: "1.0.10",
        digest: "da8663bdf9db51e345214a0add057ca7f52f7a892302044e8449b730dac1b085",
        build_system: "mesonpy",
        part: "",
    },
];

/// A Debian source package. The version is that of the Debian release of this machine.
struct DebianPackage {
    name: &'static str,
    /// The name of its folder here.
    folder: &'static str,
    /// The folder in the archive that is kept; all of it if this is empty.
    part: &'static str,
}

const DEBIAN: [DebianPackage; 3] = [
    DebianPackage {
        name: "lapack",
        folder: "lapack",
        part: "",
    },
    DebianPackage {
        name: "calculix-ccx",
        folder: "calculix",
        part: "",
    },
    // DASSL, DASPK, special functions of SLATEC.
    DebianPackage {
        name: "octave",
        folder: "octave",
        part: "liboctave/external",
    },
];

/// Extensions of the files that are kept: Fortran, included files, input for its tests, licences.
const KEPT: [&str; 9] = ["f", "for", "f90", "inc", "in", "h", "txt", "dat", "cmake"];

/// pip builds a package to get its metadata. This build system answers at once.
const BUILD_SYSTEM: &str = "\
import os, sys
def get_requires_for_build_wheel(config_settings=None): return []
def prepare_metadata_for_build_wheel(directory, config_settings=None):
    name = 'NAME-VERSION.dist-info'
    os.makedirs(os.path.join(directory, name), exist_ok=True)
    with open(os.path.join(directory, name, 'METADATA'), 'w') as out:
        out.write('Metadata-Version: 2.1\\nName: NAME\\nVersion: VERSION\\n')
    return name
def build_wheel(*args, **named): raise SystemExit('this is only for pip download')
# For packages without pyproject.toml.
__legacy__ = sys.modules[__name__]
";

/// The names of the corpora of which every file is tested: folders below [`super::directory`]. Of the others,
/// only some routines are used.
pub const NAMES: [&str; 4] = ["scipy", "lapack", "calculix", "pyslalib"];

/// Whether `name` has been downloaded.
pub fn is_there(name: &str) -> bool {
    super::directory().join(name).is_dir()
}

/// Downloads what is missing. `tell` receives progress messages.
///
/// # Errors
///
/// The packages that could not be downloaded, with the reasons. The others are available nevertheless.
pub fn obtain(tell: &mut dyn FnMut(&str)) -> Result<(), String> {
    let root = super::directory();
    let root = std::path::absolute(&root).map_err(|e| format!("{}: {e}", root.display()))?;
    let mut failures = Vec::new();
    for package in &PYTHON {
        let name = package.name;
        if !is_there(name) {
            tell(&format!("{name}: asking pip"));
            let got = in_folder(&root, name, package.part, |work| python(work, package));
            failures.extend(got.err());
        }
    }
    for package in &DEBIAN {
        let (name, folder) = (package.name, package.folder);
        if !is_there(folder) {
            tell(&format!("{folder}: asking apt for the source of {name}"));
            let got = in_folder(&root, folder, package.part, |work| debian(work, name));
            failures.extend(got.err());
        }
    }
    match failures.is_empty() {
        true => Ok(()),
        false => Err(failures.join("\n")),
    }
}

/// Lets `get` fetch an archive into an empty folder, unpacks it and moves the wanted files to `name` in one
/// step, so that a folder is always complete.
fn in_folder(
    root: &Path,
    name: &str,
    part: &str,
    get: impl FnOnce(&Path) -> Result<PathBuf, String>,
) -> Result<(), String> {
    let work = root.join(format!("getting-{name}"));
    let made = (|| {
        let io = |e: io::Error| e.to_string();
        let _ = fs::remove_dir_all(&work);
        fs::create_dir_all(&work).map_err(io)?;
        let archive = get(&work)?;
        let unpacked = work.join("unpacked");
        // Python is installed, since pip is, and supports all kinds of compression.
        let mut tar = Command::new("python3");
        tar.args(["-m", "tarfile", "-e"])
            .arg(&archive)
            .arg(&unpacked);
        run(&mut tar)?;
        let mut top = only_folder(&unpacked).map_err(io)?;
        // The package of CalculiX has two folders around its sources.
        while let Ok(inner) = only_folder(&top) {
            top = inner;
        }
        let top = top.join(part);
        prune(&top).map_err(io)?;
        fs::rename(&top, root.join(name)).map_err(io)
    })();
    let _ = fs::remove_dir_all(&work);
    made.map_err(|e| format!("{name}: {e}"))
}

/// Returns the only entry of `directory`, if that is a folder.
fn only_folder(directory: &Path) -> io::Result<PathBuf> {
    let entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    match entries.as_slice() {
        [one] if one.path().is_dir() => Ok(one.path()),
        _ => Err(io::Error::other(format!(
            "{} holds not one folder",
            directory.display()
        ))),
    }
}

/// Removes files that are not needed here.
fn prune(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            prune(&path)?;
            // Fails if it is not empty.
            let _ = fs::remove_dir(&path);
        } else {
            let name = entry.file_name().to_string_lossy().to_ascii_lowercase();
            let kept = Path::new(&name)
                .extension()
                .is_some_and(|e| KEPT.iter().any(|k| e == *k));
            if !kept && !name.contains("license") {
                fs::remove_file(&path)?;
            }
        }
    }
    Ok(())
}

fn python(work: &Path, wanted: &PythonPackage) -> Result<PathBuf, String> {
    let io = |e: io::Error| e.to_string();
    let PythonPackage {
        name,
        version,
        digest,
        ..
    } = wanted;
    let stub = work.join("build-system");
    let module = stub.join(wanted.build_system.replace('.', "/") + ".py");
    let package = module.parent().unwrap_or(&stub);
    fs::create_dir_all(package).map_err(io)?;
    // Otherwise the installed package takes precedence.
    fs::write(package.join("__init__.py"), "").map_err(io)?;
    let answers = BUILD_SYSTEM.replace("NAME", name);
    fs::write(module, answers.replace("VERSION", version)).map_err(io)?;
    let list = work.join("wanted.txt");
    let line = format!("{name}=={version} --hash=sha256:{digest}\n");
    fs::write(&list, line).map_err(io)?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--quiet", "--no-deps"])
        .args(["--no-build-isolation", "--use-pep517", "--no-binary", name])
        .arg("--dest")
        .arg(work)
        .args(["--require-hashes", "--requirement"])
        .arg(&list)
        .env("PYTHONPATH", &stub)
        .env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
    run(&mut pip)?;
    archive(work)
}

/// apt needs `deb-src` lines, which most machines do not have: it gets its own sources as such lines, in a
/// folder of ours.
fn debian(work: &Path, package: &str) -> Result<PathBuf, String> {
    let io = |e: io::Error| e.to_string();
    let parts = work.join("sources");
    for folder in ["sources", "lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(work.join(folder)).map_err(io)?;
    }
    let etc = Path::new("/etc/apt");
    let mut own = vec![etc.join("sources.list")];
    own.extend(
        fs::read_dir(etc.join("sources.list.d"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.path()),
    );
    let mut some = false;
    for (i, path) in own.iter().enumerate() {
        let Ok(text) = fs::read_to_string(path) else {
            continue;
        };
        let kind = match path.extension().and_then(|e| e.to_str()) {
            Some(kind @ ("list" | "sources")) => kind,
            _ => continue,
        };
        fs::write(parts.join(format!("{i}.{kind}")), source_entries(&text)).map_err(io)?;
        some = true;
    }
    if !some {
        return Err("apt has no sources here".into());
    }
    let settings = [
        "Dir::Etc::sourcelist=/dev/null".to_owned(),
        format!("Dir::Etc::sourceparts={}", parts.display()),
        format!("Dir::State::lists={}", work.join("lists").display()),
        format!("Dir::Cache={}", work.join("cache").display()),
        "APT::Get::List-Cleanup=0".to_owned(),
        "APT::Sandbox::User=root".to_owned(),
    ];
    let apt = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.arg("-qq");
        for setting in &settings {
            apt.args(["-o", setting]);
        }
        run(apt.args(arguments).current_dir(work))
    };
    // A third-party server without sources makes this fail, which does no harm.
    let updated = apt(&["update"]);
    // Only the original sources, not Debian's changes.
    apt(&["source", "--download-only", "--tar-only", package])
        .map_err(|e| updated.err().map_or_else(String::new, |u| u + "\n") + &e)?;
    archive(work)
}

/// Converts entries for binary packages to entries for source packages, in both of apt's formats.
fn source_entries(text: &str) -> String {
    text.lines()
        .filter(|line| !line.starts_with("deb-src"))
        .map(|line| match line {
            _ if line.starts_with("deb ") || line.starts_with("deb\t") => {
                format!("deb-src{}\n", &line[3..])
            }
            _ if line.starts_with("Types:") => "Types: deb-src\n".to_owned(),
            line => format!("{line}\n"),
        })
        .collect()
}

/// Returns the archive of original sources in a folder.
fn archive(folder: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(folder).map_err(|e| e.to_string())?;
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|e| e.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.contains(".tar.") && !name.contains(".debian.") && !name.ends_with(".asc")
        })
        .collect();
    found.sort();
    found
        .into_iter()
        .next()
        .ok_or_else(|| "the package client has left no archive".into())
}

/// Runs a package client. Its output is kept for the error message.
fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|e| format!("{program}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = said.lines().rev().take(4).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Err(format!("{program}: {}\n{}", output.status, last.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::source_entries;

    #[test]
    fn entries_of_binary_packages_become_entries_of_sources() {
        assert_eq!(
            source_entries("# ours\ndeb [a=b] x://h/ s main\ndeb-src x://h/ s main\n"),
            "# ours\ndeb-src [a=b] x://h/ s main\n"
        );
        assert_eq!(
            source_entries("Types: deb deb-src\nURIs: x://h/\nSuites: s\n"),
            "Types: deb-src\nURIs: x://h/\nSuites: s\n"
        );
    }
}
