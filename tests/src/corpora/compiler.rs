//! Queries to gfortran about a text.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use farfel_lang::encoding::{decode, encode};
use farfel_lang::syntax::Form;

use super::assembler::{comparable, unordered};
use super::known::{Question, answer};

/// A text with the information that gfortran needs.
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

/// Runs gfortran with the common options: old Fortran, no warnings, the text from standard input.
fn gfortran(text: &Text, more: &[&str]) -> Result<std::process::Output, String> {
    let language = match (text.form, text.preprocess) {
        (Form::Fixed, false) => "f77",
        (Form::Fixed, true) => "f77-cpp-input",
        (Form::Free, false) => "f95",
        (Form::Free, true) => "f95-cpp-input",
    };
    // A module that one run writes must not affect the next one.
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
    // gfortran may write before it has read everything.
    let writer = std::thread::spawn(move || {
        // gfortran may stop reading early.
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
    let mut said = None;
    let answer = answer(Question::Accepted, text, || {
        let output = gfortran(text, &["-fsyntax-only"])?;
        let messages = first_messages(&String::from_utf8_lossy(&output.stderr));
        let yes = output.status.success();
        // If gfortran was killed, that says nothing about the text.
        if !yes && output.status.code() != Some(1) {
            return Err(format!("{}: {messages}", output.status));
        }
        said = Some(messages);
        Ok(if yes { "yes" } else { "no" }.to_owned())
    })?;
    if answer == "yes" {
        return Ok(());
    }
    match said {
        Some(said) => Err(said),
        None => {
            let output = gfortran(text, &["-fsyntax-only"])?;
            Err(first_messages(&String::from_utf8_lossy(&output.stderr)))
        }
    }
}

/// The compared properties of the code of two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The digest of the assembler text as normalised by [`comparable`].
    pub exact: String,
    /// The digest of the instructions that [`unordered`] keeps.
    pub unordered: String,
}

/// Returns the code that gfortran generates for a text. Two texts with equal code mean the same.
///
/// # Errors
///
/// Those of [`assembler`].
pub fn code(text: &Text) -> Result<Code, String> {
    let answer = answer(Question::Code, text, || {
        let code = assembler(text)?;
        let exact = blake3::hash(code.as_bytes()).to_hex();
        let unordered = blake3::hash(unordered(&code).join("\n").as_bytes()).to_hex();
        Ok(format!("{exact}-{unordered}"))
    })?;
    let (exact, unordered) = answer.split_once('-').unwrap_or_default();
    Ok(Code {
        exact: exact.to_owned(),
        unordered: unordered.to_owned(),
    })
}

/// Returns the assembler text of a program without optimisation, as normalised by [`comparable`].
///
/// # Errors
///
/// gfortran's first messages if it rejects the text.
pub fn assembler(text: &Text) -> Result<String, String> {
    let output = gfortran(text, &["-O0", "-S", "-o", "-"])?;
    if !output.status.success() {
        return Err(first_messages(&String::from_utf8_lossy(&output.stderr)));
    }
    Ok(comparable(&String::from_utf8_lossy(&output.stdout)))
}

/// Returns the output of the C preprocessor for a text.
///
/// # Errors
///
/// Its messages if it fails.
pub fn preprocessed(text: &Text) -> Result<String, String> {
    let output = gfortran(text, &["-E", "-P", "-cpp"])?;
    match output.status.success() {
        true => Ok(decode(output.stdout)),
        false => Err(first_messages(&String::from_utf8_lossy(&output.stderr))),
    }
}

/// Returns the first messages, with the lines to which they refer.
fn first_messages(said: &str) -> String {
    let lines = said.lines().filter(|l| !l.trim().is_empty());
    lines.take(4).collect::<Vec<_>>().join(" | ")
}

/// gfortran's version.
pub fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let output = Command::new("gfortran").arg("-dumpfullversion").output();
        output.map_or_else(
            |_| String::new(),
            |o| String::from_utf8_lossy(&o.stdout).trim().to_owned(),
        )
    })
}

/// Returns gfortran's folder of files such as `omp_lib.h`.
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
