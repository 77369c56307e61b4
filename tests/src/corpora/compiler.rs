//! What gfortran thinks of a text, remembered beside the corpora where the text is one of
//! theirs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};

use farfel_lang::encoding::{decode, encode};
use farfel_lang::syntax::Form;

use super::assembler::comparable;

/// A text with what gfortran has to know about it.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    /// The text itself.
    pub text: &'a str,
    /// Its form.
    pub form: Form,
    /// Whether the C preprocessor reads it first.
    pub preprocess: bool,
    /// Where it looks for INCLUDE files.
    pub folder: &'a Path,
}

/// gfortran as all here call it: old Fortran, no warnings, the text from standard input.
fn gfortran(text: &Text, more: &[&str]) -> Result<std::process::Output, String> {
    let language = match (text.form, text.preprocess) {
        (Form::Fixed, false) => "f77",
        (Form::Fixed, true) => "f77-cpp-input",
        (Form::Free, false) => "f95",
        (Form::Free, true) => "f95-cpp-input",
    };
    // A module that one run writes must not change what the next one says.
    let modules = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut child = Command::new("gfortran")
        .args(["-std=legacy", "-w", "-x", language])
        .arg("-J")
        .arg(modules.path())
        .args(more)
        .arg("-I")
        .arg(text.folder)
        .arg("-")
        .current_dir(scratch())
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("gfortran: {e}"))?;
    let mut input = child.stdin.take().ok_or("gfortran has no standard input")?;
    let bytes = encode(text.text).into_owned();
    // It may write before it has read everything.
    let writer = std::thread::spawn(move || {
        // It need not read to the end.
        let _ = input.write_all(&bytes);
    });
    let output = child
        .wait_with_output()
        .map_err(|e| format!("gfortran: {e}"));
    let _ = writer.join();
    output
}

fn scratch() -> PathBuf {
    let folder = super::directory().join("scratch");
    let _ = fs::create_dir_all(&folder);
    folder
}

/// Whether gfortran accepts a text.
///
/// # Errors
///
/// Its first messages, when it does not.
pub fn accepts(text: &Text) -> Result<(), String> {
    let output = gfortran(text, &["-fsyntax-only"])?;
    match output.status.success() {
        true => Ok(()),
        false => Err(first_messages(&String::from_utf8_lossy(&output.stderr))),
    }
}

/// The assembler text of a program without optimisation, but for what [`comparable`] leaves
/// out. Two texts with the same one mean the same.
///
/// # Errors
///
/// The first messages of gfortran, when it does not accept the text.
pub fn assembler(text: &Text) -> Result<String, String> {
    let output = gfortran(text, &["-O0", "-S", "-o", "-"])?;
    if !output.status.success() {
        return Err(first_messages(&String::from_utf8_lossy(&output.stderr)));
    }
    Ok(comparable(&String::from_utf8_lossy(&output.stdout)))
}

/// The text behind the C preprocessor.
///
/// # Errors
///
/// Why there is none.
pub fn preprocessed(text: &Text) -> Result<String, String> {
    let output = gfortran(text, &["-E", "-P", "-cpp"])?;
    match output.status.success() {
        true => Ok(decode(output.stdout)),
        false => Err(first_messages(&String::from_utf8_lossy(&output.stderr))),
    }
}

/// Messages with the lines that they are about.
fn first_messages(said: &str) -> String {
    let lines = said.lines().filter(|l| !l.trim().is_empty());
    lines.take(4).collect::<Vec<_>>().join(" | ")
}

/// What gfortran said about original files, kept between runs.
struct Remembered {
    path: PathBuf,
    known: BTreeMap<String, bool>,
}

fn remembered() -> &'static Mutex<Remembered> {
    static REMEMBERED: OnceLock<Mutex<Remembered>> = OnceLock::new();
    REMEMBERED.get_or_init(|| {
        let path = super::directory().join(format!("accepted-by-{}", version()));
        let text = fs::read_to_string(&path).unwrap_or_default();
        let known = text
            .lines()
            .filter_map(|l| l.split_once(' '))
            .map(|(digest, verdict)| (digest.to_owned(), verdict == "yes"))
            .collect();
        Mutex::new(Remembered { path, known })
    })
}

/// gfortran's version.
pub fn version() -> String {
    let output = Command::new("gfortran").arg("-dumpfullversion").output();
    output.map_or_else(
        |_| String::new(),
        |o| String::from_utf8_lossy(&o.stdout).trim().to_owned(),
    )
}

/// Where gfortran has files such as `omp_lib.h`.
pub fn own_includes() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let output = Command::new("gfortran")
            .arg("-print-file-name=finclude")
            .output();
        output.map_or_else(
            |_| PathBuf::new(),
            |o| String::from_utf8_lossy(&o.stdout).trim().into(),
        )
    })
}

/// As [`accepts`], for texts that never change: what gfortran says is asked once.
///
/// # Panics
///
/// Another thread has panicked here.
pub fn accepts_original(text: &Text) -> bool {
    let mut digest = blake3::Hasher::new();
    digest.update(text.text.as_bytes());
    digest.update(text.folder.as_os_str().as_encoded_bytes());
    let digest = digest.finalize().to_hex().to_string();
    let known = |r: &Remembered| r.known.get(&digest).copied();
    if let Some(verdict) = known(&remembered().lock().expect("no panic")) {
        return verdict;
    }
    let verdict = accepts(text).is_ok();
    let mut remembered = remembered().lock().expect("no panic");
    remembered.known.insert(digest.clone(), verdict);
    let mut line = String::new();
    let _ = writeln!(line, "{digest} {}", if verdict { "yes" } else { "no" });
    let file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&remembered.path);
    // Not being remembered costs time only.
    let _ = file.and_then(|mut f| f.write_all(line.as_bytes()));
    verdict
}
