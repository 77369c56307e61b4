//! Stored answers of gfortran about texts of the corpora and the texts generated from them, kept beside the
//! corpora between runs.
//!
//! The key of an answer is a digest of everything on which it depends: the text, how it is compiled,
//! gfortran's version, and how answers are compared. So a stored answer is the one that gfortran would give
//! again, and an interrupted long run resumes where it stopped.

use std::collections::HashMap;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::compiler::{Text, version};

/// The kind of question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Whether gfortran accepts it.
    Accepted,
    /// The code that gfortran generates.
    Code,
}

/// The code that compares answers is part of the key.
const COMPARISON: &[u8] = include_bytes!("assembler.rs");

struct Known {
    path: PathBuf,
    answers: HashMap<String, String>,
}

fn known() -> &'static Mutex<Known> {
    static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let path = super::directory().join(format!("known-of-{}", version()));
        let text = fs::read_to_string(&path).unwrap_or_default();
        let answers = text
            .lines()
            .filter_map(|l| l.split_once(' '))
            .map(|(digest, answer)| (digest.to_owned(), answer.to_owned()))
            .collect();
        Mutex::new(Known { path, answers })
    })
}

fn digest(question: Question, text: &Text) -> String {
    let mut digest = blake3::Hasher::new();
    let form = format!("{question:?} {:?} {} ", text.form, text.preprocess);
    digest.update(form.as_bytes());
    digest.update(text.folder.as_os_str().as_encoded_bytes());
    if question == Question::Code {
        digest.update(COMPARISON);
    }
    digest.update(b"\n");
    digest.update(text.text.as_bytes());
    digest.finalize().to_hex().to_string()
}

/// Returns the stored answer, if any.
pub fn answered(question: Question, text: &Text) -> Option<String> {
    let known = known().lock().unwrap_or_else(PoisonError::into_inner);
    known.answers.get(&digest(question, text)).cloned()
}

/// Returns the stored answer, or else that of `ask`, which is then stored if there is one. An answer is one
/// word.
///
/// # Errors
///
/// Those of `ask`.
pub fn answer(
    question: Question,
    text: &Text,
    ask: impl FnOnce() -> Result<String, String>,
) -> Result<String, String> {
    if let Some(answer) = answered(question, text) {
        return Ok(answer);
    }
    let answer = ask()?;
    let digest = digest(question, text);
    let mut known = known().lock().unwrap_or_else(PoisonError::into_inner);
    let file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&known.path);
    // A failure to store only costs time. The line is written at once, because other processes may append
    // lines, too.
    let line = format!("{digest} {answer}\n");
    let _ = file.and_then(|mut f| f.write_all(line.as_bytes()));
    known.answers.insert(digest, answer.clone());
    Ok(answer)
}
