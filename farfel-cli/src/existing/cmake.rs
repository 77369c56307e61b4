//! CMake's lists of files, flags and libraries, as far as they are literal.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// What the lists say.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// The name of the project.
    pub name: Option<String>,
    /// What may be a source, relative to the folder.
    pub files: BTreeSet<PathBuf>,
    /// Flags of the Fortran compiler.
    pub flags: Vec<String>,
    /// Libraries.
    pub link: Vec<String>,
    /// What targets are linked with: libraries, or other targets.
    named: Vec<String>,
    /// The targets of the project, which are no libraries of others.
    targets: BTreeSet<String>,
    variables: BTreeMap<String, Vec<String>>,
    read: BTreeSet<PathBuf>,
}

const NAME: &str = "CMakeLists.txt";

/// Lists and words that are longer name no sources: a few lines can double a variable without end.
const MOST_WORDS: usize = 10_000;
const MOST_LETTERS: usize = 10_000;

/// The lists of a folder; `None` where there are none.
pub(super) fn lists(dir: &Path) -> Option<Lists> {
    let mut lists = Lists::default();
    lists.folder(dir, Path::new(""))?;
    let plain = std::mem::take(&mut lists.named);
    let libraries = plain.into_iter().filter(|l| !lists.targets.contains(l));
    lists.link.extend(libraries);
    Some(lists)
}

impl Lists {
    /// Reads the list of a folder, and those of the folders that it adds.
    fn folder(&mut self, dir: &Path, here: &Path) -> Option<()> {
        let text = fs::read(dir.join(here).join(NAME)).ok()?;
        if !self.read.insert(here.to_owned()) {
            return None;
        }
        for (command, words) in commands(&String::from_utf8_lossy(&text)) {
            let words = words.iter().flat_map(|w| self.expanded(w));
            let words: Vec<String> = words.take(MOST_WORDS).collect();
            self.command(&command, &words, dir, here);
        }
        Some(())
    }

    fn command(&mut self, command: &str, words: &[String], dir: &Path, here: &Path) {
        let Some((first, rest)) = words.split_first() else {
            return;
        };
        match command {
            "project" => self.name = self.name.take().or_else(|| Some(first.clone())),
            "set" => {
                let value = rest
                    .iter()
                    .take_while(|w| *w != "CACHE" && *w != "PARENT_SCOPE");
                let value: Vec<String> = value.cloned().collect();
                if first == "CMAKE_Fortran_FLAGS" {
                    self.flags(&value);
                }
                self.variables.insert(first.clone(), value);
            }
            "list" if first == "APPEND" => {
                if let Some((name, more)) = rest.split_first() {
                    let list = self.variables.entry(name.clone()).or_default();
                    list.extend_from_slice(more);
                    list.truncate(MOST_WORDS);
                }
            }
            "add_subdirectory" => {
                let _ = self.folder(dir, &joined(here, first));
            }
            "add_library" | "add_executable" => {
                self.targets.insert(first.clone());
                self.files.extend(rest.iter().map(|w| joined(here, w)));
            }
            "target_sources" => self.files.extend(rest.iter().map(|w| joined(here, w))),
            "target_link_libraries" => self.libraries(rest),
            "link_libraries" => self.libraries(words),
            "add_compile_options" | "add_definitions" => self.flags(words),
            "target_compile_options" => self.flags(rest),
            "add_compile_definitions" => self.defines(words),
            "target_compile_definitions" => self.defines(rest),
            "include_directories" => self.include(words, here),
            "target_include_directories" => self.include(rest, here),
            _ => {}
        }
    }

    fn flags(&mut self, words: &[String]) {
        let words = words.iter().flat_map(|w| w.split_whitespace());
        let flags = words.filter(|w| w.starts_with('-') && !w.contains('$'));
        for flag in flags {
            if !self.flags.iter().any(|f| f == flag) {
                self.flags.push(flag.to_owned());
            }
        }
    }

    fn defines(&mut self, words: &[String]) {
        let names = words.iter().filter(|w| !is_scope(w));
        let flags: Vec<String> = names
            .map(|w| format!("-D{}", w.trim_start_matches("-D")))
            .collect();
        self.flags(&flags);
    }

    fn include(&mut self, words: &[String], here: &Path) {
        let folders = words.iter().filter(|w| !is_scope(w) && !w.contains('$'));
        let flags: Vec<String> = folders
            .map(|w| format!("-I{}", joined(here, w).display()))
            .collect();
        self.flags(&flags);
    }

    fn libraries(&mut self, words: &[String]) {
        for word in words.iter().filter(|w| !is_scope(w)) {
            // `find_package` gives BLAS and LAPACK as variables and as targets.
            let known = ["LAPACK", "BLAS"]
                .into_iter()
                .find(|l| *word == format!("${{{l}_LIBRARIES}}") || *word == format!("{l}::{l}"));
            match known {
                Some(library) => self.link.push(library.to_ascii_lowercase()),
                None => self.named.push(word.trim_start_matches("-l").to_owned()),
            }
        }
    }

    /// A word with the variables that are known replaced; one variable alone may be several words.
    fn expanded(&self, word: &str) -> Vec<String> {
        if let Some(name) = word.strip_prefix("${").and_then(|w| w.strip_suffix('}'))
            && let Some(value) = self.variables.get(name)
        {
            return value.clone();
        }
        let mut text = word.to_owned();
        for top in ["PROJECT_SOURCE_DIR", "CMAKE_SOURCE_DIR"] {
            text = text.replace(&format!("${{{top}}}"), TOP);
        }
        let here = ["CMAKE_CURRENT_SOURCE_DIR", "CMAKE_CURRENT_LIST_DIR"];
        for name in here {
            text = text.replace(&format!("${{{name}}}"), ".");
        }
        for (name, value) in &self.variables {
            let wanted = format!("${{{name}}}");
            let letters = text.len() + value.iter().map(String::len).sum::<usize>();
            if letters < MOST_LETTERS && text.contains(&wanted) {
                text = text.replace(&wanted, &value.join(" "));
            }
        }
        vec![text]
    }
}

/// What stands for the folder of the whole project at the beginning of a path.
const TOP: &str = "//";

/// A path in a list, relative to the folder of the whole project.
fn joined(here: &Path, word: &str) -> PathBuf {
    let path = match word.strip_prefix(TOP) {
        Some(inside) => PathBuf::from(inside.trim_start_matches('/')),
        None => here.join(word),
    };
    let mut joined = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                joined.pop();
            }
            Component::CurDir => {}
            part => joined.push(part),
        }
    }
    joined
}

/// A word that says for whom the others are.
fn is_scope(word: &str) -> bool {
    let scopes = [
        "PUBLIC",
        "PRIVATE",
        "INTERFACE",
        "SYSTEM",
        "BEFORE",
        "AFTER",
        "general",
        "optimized",
        "debug",
    ];
    scopes.contains(&word)
}

/// The commands of a list, in lower case, with their words. What stands in quotes is one word.
fn commands(text: &str) -> Vec<(String, Vec<String>)> {
    let mut commands = Vec::new();
    let mut letters = text.chars().peekable();
    let mut name = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '#' => while letters.next_if(|c| *c != '\n').is_some() {},
            '(' => {
                let words = words(&mut letters);
                commands.push((std::mem::take(&mut name).to_ascii_lowercase(), words));
            }
            _ if letter.is_alphanumeric() || letter == '_' => name.push(letter),
            _ => {}
        }
    }
    commands
}

/// The words up to the parenthesis that closes.
fn words(letters: &mut std::iter::Peekable<std::str::Chars>) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut depth = 1;
    while let Some(letter) = letters.next() {
        match letter {
            '#' => while letters.next_if(|c| *c != '\n').is_some() {},
            '"' => {
                let mut quoted = String::new();
                while let Some(letter) = letters.next() {
                    match letter {
                        '"' => break,
                        '\\' => quoted.extend(letters.next()),
                        _ => quoted.push(letter),
                    }
                }
                word.push_str(&quoted);
            }
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            _ if letter.is_whitespace() || letter == ';' => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(letter),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_their_words() {
        let text = "# a comment (with) parentheses\nProject(demo Fortran) # more\n\
                    set(FLAGS \"-O2 -fbackslash\" # no\n  b;c)\nif(NOT (A OR B))\nendif()\n";
        let word = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            commands(text),
            [
                ("project".to_owned(), word(&["demo", "Fortran"])),
                (
                    "set".to_owned(),
                    word(&["FLAGS", "-O2 -fbackslash", "b", "c"])
                ),
                ("if".to_owned(), word(&["NOT", "A", "OR", "B"])),
                ("endif".to_owned(), Vec::new()),
            ]
        );
        // What does not end is read as far as it goes.
        assert_eq!(commands("set(A \"b").len(), 1);
    }

    #[test]
    fn lists_of_folders() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            NAME,
            "project(model Fortran)\nset(CMAKE_Fortran_FLAGS \"${CMAKE_Fortran_FLAGS} -fdefault-real-8\")\n\
             find_package(LAPACK)\nadd_subdirectory(lib)\nadd_subdirectory(none)\n\
             add_executable(main app/main.f)\ntarget_link_libraries(main PRIVATE solve LAPACK::LAPACK fft)\n",
        );
        write(
            "lib/CMakeLists.txt",
            "set(SRC a.f)\nlist(APPEND SRC ${CMAKE_CURRENT_SOURCE_DIR}/b.f ${PROJECT_SOURCE_DIR}/c.f ../d.f)\n\
             add_library(solve STATIC ${SRC} ${UNKNOWN})\ntarget_include_directories(solve PUBLIC inc)\n\
             target_compile_definitions(solve PRIVATE N=3)\nadd_subdirectory(..)\n",
        );
        let lists = lists(dir.path()).unwrap();
        assert_eq!(lists.name.as_deref(), Some("model"));
        for file in ["lib/a.f", "lib/b.f", "c.f", "d.f", "app/main.f"] {
            assert!(lists.files.contains(Path::new(file)), "{:?}", lists.files);
        }
        assert_eq!(lists.flags, ["-fdefault-real-8", "-Ilib/inc", "-DN=3"]);
        assert_eq!(lists.link, ["lapack", "fft"]);
    }

    #[test]
    fn lists_that_double_without_end_end() {
        let dir = tempfile::tempdir().unwrap();
        let words = "set(A ${A} ${A})\n".repeat(60);
        let letters = "set(B x${B}${B})\n".repeat(60);
        let more = "list(APPEND A ${A})\n".repeat(60);
        let text =
            format!("set(A a.f)\nset(B b)\n{words}{letters}{more}add_library(x ${{A}} ${{B}})\n");
        fs::write(dir.path().join(NAME), text).unwrap();
        let lists = lists(dir.path()).unwrap();
        assert!(lists.files.contains(Path::new("a.f")));
    }
}
