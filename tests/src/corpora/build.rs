//! Programs built from many files of the corpora: in their original form, and as Farfel prints them.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use farfel_lang::encoding::encode;
use farfel_lang::print::{Options, print_program};
use farfel_lang::syntax::Form;

use super::check::{read, source};
use super::compiler::{Text, version};
use super::files::{File, files};
use super::known::{Question, answered};
use super::{in_parallel, long_run};

/// A program: the file with its main program, and where the rest of it is.
#[derive(Debug, Clone)]
pub struct Program {
    /// The file with the main program; below [`super::directory`], or a path of its own.
    pub main: String,
    /// Where subprograms are searched for, in this order: prefixes of file names. Files that define nothing
    /// needed are left out.
    pub folders: Vec<String>,
}

/// The variant of the text that is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// As it was written.
    Original,
    /// As Farfel prints it.
    Printed(Form),
}

/// A program, ready to be compiled in any variant.
#[derive(Debug)]
pub struct Sources {
    files: Vec<File>,
}

/// A linked program, which is removed when this value is dropped.
#[derive(Debug)]
pub struct Linked {
    folder: tempfile::TempDir,
    objects: Vec<PathBuf>,
}

/// Modules, which are compiled first: the Fortran 90 parts of LAPACK.
const MODULES: [&str; 2] = ["lapack/SRC/la_constants.f90", "lapack/SRC/la_xisnan.F90"];

impl Program {
    /// Finds the files.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub fn sources(&self) -> Result<Sources, String> {
        let main = File {
            name: self.main.clone(),
        };
        let mut candidates = Vec::new();
        for folder in &self.folders {
            candidates.extend(files(folder));
        }
        let texts = in_parallel(&candidates, |file| {
            source(file).map(|text| {
                let mut defined: Vec<String> = defined(&text).collect();
                // Module procedures have other names for the linker.
                if MODULES.contains(&file.name.as_str()) {
                    defined.truncate(1);
                }
                (defined, words(&text))
            })
        });
        // The first file that defines a name is used.
        let mut definitions: HashMap<&str, usize> = HashMap::new();
        let texts = texts.into_iter().collect::<Result<Vec<_>, String>>()?;
        for (i, (names, _)) in texts.iter().enumerate() {
            for name in names {
                definitions.entry(name).or_insert(i);
            }
        }
        let text = source(&main)?;
        for name in defined(&text) {
            definitions.remove(name.as_str());
        }
        let mut wanted: Vec<String> = words(&text).into_iter().collect();
        let mut taken = BTreeSet::new();
        while let Some(word) = wanted.pop() {
            if let Some(i) = definitions.get(word.as_str())
                && taken.insert(*i)
            {
                wanted.extend(texts[*i].1.iter().cloned());
            }
        }
        let mut all = vec![main];
        all.extend(taken.into_iter().map(|i| candidates[i].clone()));
        // It is also in one of the folders.
        let main = all[0].clone();
        let mut first = true;
        all.retain(|f| std::mem::take(&mut first) || *f != main);
        Ok(Sources { files: all })
    }
}

/// Returns the names of the subprograms that a text defines, as far as a superficial scan shows. A
/// superfluous name only makes a program larger.
fn defined(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter(|l| !is_comment(l)).filter_map(|line| {
        let upper = line.to_ascii_uppercase();
        let words: Vec<&str> = split(&upper).collect();
        let at = words
            .iter()
            .position(|w| ["SUBROUTINE", "FUNCTION", "ENTRY", "DATA", "MODULE"].contains(w))?;
        let is_data = words[at] == "DATA" && words.get(at.wrapping_sub(1)) != Some(&"BLOCK");
        let ends = words.first() == Some(&"END");
        match words.get(at + 1) {
            Some(name) if !is_data && !ends => Some((*name).to_owned()),
            _ => None,
        }
    })
}

fn is_comment(line: &str) -> bool {
    line.starts_with(['c', 'C', '*', '!'])
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|w| !w.is_empty())
}

/// Returns the words of a text outside of comments.
fn words(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for line in text.lines().filter(|l| !is_comment(l)) {
        let upper = line.to_ascii_uppercase();
        words.extend(split(&upper).map(str::to_owned));
    }
    words
}

impl Sources {
    /// Returns the paths of its files; the first is that of the main program.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(File::path).collect()
    }

    /// Returns the number of its files.
    pub fn count(&self) -> usize {
        self.files.len()
    }

    /// Compiles and links.
    ///
    /// # Errors
    ///
    /// gfortran's messages.
    pub fn link(&self, variant: Variant) -> Result<Linked, String> {
        let objects = super::directory().join("objects");
        fs::create_dir_all(&objects).map_err(|e| e.to_string())?;
        forget_old(&objects);
        {
            // Other tests wait until module files are complete.
            static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
            let _alone = ONE_AT_A_TIME
                .lock()
                .map_err(|_| "another test failed here")?;
            for module in MODULES {
                let file = File {
                    name: module.into(),
                };
                if self.files.contains(&file) {
                    compile(&file, Variant::Original, &objects)?;
                }
            }
        }
        let compiled = in_parallel(&self.files, |file| compile(file, variant, &objects));
        let compiled = compiled.into_iter().collect::<Result<Vec<_>, String>>()?;
        let folder = crate::sandbox();
        let mut link = Command::new("gfortran");
        // Tests contain their own versions of library routines. The first one is used.
        link.args(["-Wl,--allow-multiple-definition", "-o"])
            .arg(folder.path().join("program"));
        run(link.args(&compiled))?;
        Ok(Linked {
            folder,
            objects: compiled,
        })
    }
}

/// Compiles a file, unless it has been compiled before.
fn compile(file: &File, variant: Variant, objects: &Path) -> Result<PathBuf, String> {
    let text = source(file)?;
    let (text, form) = match variant {
        Variant::Original => (text.to_string(), file.form()),
        Variant::Printed(form) => {
            let original = Arc::clone(&text);
            let read = read(&file.path().to_string_lossy(), &text, file.form());
            let options = Options {
                form,
                ..Options::default()
            };
            match read.errors.is_empty() {
                true => {
                    let printed = print_program(&read.program, &options);
                    if long_run() && is_same_code(file, &original, &printed, form) {
                        return compile(file, Variant::Original, objects);
                    }
                    (printed, form)
                }
                // Other tests check which files these may be.
                false => (text.to_string(), file.form()),
            }
        }
    };
    let mut digest = blake3::Hasher::new();
    digest.update(version().as_bytes());
    digest.update(text.as_bytes());
    digest.update(file.folder().as_os_str().as_encoded_bytes());
    let stem = objects.join(digest.finalize().to_hex().as_str());
    let object = stem.with_extension("o");
    if object.exists() {
        return Ok(object);
    }
    let folder = crate::sandbox();
    let source = folder.path().join(match form {
        Form::Fixed => "text.f",
        Form::Free => "text.f90",
    });
    // Several tests may compile the same file: each writes it completely before renaming it.
    let unfinished = stem.with_extension(format!("{:?}", std::thread::current().id()));
    fs::write(&source, encode(&text)).map_err(|e| e.to_string())?;
    let mut gfortran = Command::new("gfortran");
    gfortran
        .args(["-std=legacy", "-w", "-O0", "-c", "-I"])
        .arg(file.folder())
        .arg("-J")
        .arg(objects)
        .arg("-o")
        .arg(&unfinished)
        .arg(&source);
    run(&mut gfortran).map_err(|e| format!("{}: {e}", file.name))?;
    fs::rename(&unfinished, &object).map_err(|e| e.to_string())?;
    Ok(object)
}

/// Whether the printed text is known to compile to the same code as the file.
fn is_same_code(file: &File, original: &str, printed: &str, form: Form) -> bool {
    let folder = file.folder();
    let known = |text, form| {
        let text = Text {
            text,
            form,
            preprocess: false,
            folder: &folder,
        };
        answered(Question::Code, &text)
    };
    let code = known(original, file.form());
    code.is_some() && code == known(printed, form)
}

/// Removes objects compiled from the output of older printers.
fn forget_old(objects: &Path) {
    for entry in fs::read_dir(objects).into_iter().flatten().flatten() {
        let made = entry.metadata().and_then(|m| m.modified());
        let old = SystemTime::now() - Duration::from_secs(3 * 24 * 3600);
        if made.is_ok_and(|made| made < old) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|e| e.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(said.lines().take(12).collect::<Vec<_>>().join("\n"))
        }
    }
}

impl Linked {
    /// Whether it consists of the same objects as `other`: every printed file has compiled to the same code.
    pub fn is_same_as(&self, other: &Linked) -> bool {
        self.objects == other.objects
    }

    /// Runs the program in an empty folder with a file as its input. Returns everything that it writes,
    /// including files.
    ///
    /// # Errors
    ///
    /// It cannot be run, or fails.
    pub fn output(&self, input: Option<&Path>) -> Result<String, String> {
        let folder = crate::sandbox();
        let stdin = match input {
            Some(path) => fs::File::open(path)
                .map_err(|e| format!("{}: {e}", path.display()))?
                .into(),
            None => Stdio::null(),
        };
        let output = Command::new(self.folder.path().join("program"))
            .current_dir(folder.path())
            .stdin(stdin)
            .output()
            .map_err(|e| e.to_string())?;
        let mut all = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut written: Vec<_> = fs::read_dir(folder.path())
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.path())
            .collect();
        written.sort();
        for path in written {
            let bytes = fs::read(&path).unwrap_or_default();
            all.push_str(&format!("== {:?}\n", path.file_name().unwrap_or_default()));
            all.push_str(&String::from_utf8_lossy(&bytes));
        }
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last: String = all.chars().rev().take(400).collect();
            let last: String = last.chars().rev().collect();
            return Err(format!("{}: {said}\n{last}", output.status));
        }
        Ok(all)
    }
}
