//! CMake's lists of files, flags and libraries, as far as they can be evaluated without CMake.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::paths;

/// The contents of the lists.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// The name of the project.
    pub name: Option<String>,
    /// Possible sources, relative to the folder.
    pub files: BTreeSet<PathBuf>,
    /// Flags of the Fortran compiler.
    pub flags: Vec<String>,
    /// The same of single files.
    pub flags_of_files: BTreeMap<PathBuf, Vec<String>>,
    /// Libraries.
    pub link: Vec<String>,
    /// The items that targets are linked with: libraries, or other targets.
    named: Vec<String>,
    /// The targets of the project, which are not libraries of others.
    targets: BTreeSet<String>,
    variables: BTreeMap<String, Vec<String>>,
    read: BTreeSet<PathBuf>,
    /// Functions and macros, with their parameters and commands.
    functions: BTreeMap<String, (Vec<String>, Vec<Command>)>,
    /// The current nesting depth of conditions, loops and functions.
    depth: usize,
    /// The existing sources, for patterns.
    sources: Vec<PathBuf>,
    steps: usize,
}

/// A command, in lower case, and its arguments.
type Command = (String, Vec<String>);

const NAME: &str = "CMakeLists.txt";

/// The maximum length of lists and words: longer ones name no sources, and a few lines can double a variable
/// without end.
const MOST_WORDS: usize = 10_000;
const MOST_LETTERS: usize = 10_000;

/// The maximum total work: a step is a command that is executed, or a hundred characters.
const MOST_STEPS: usize = 1_000_000;
const LETTERS_IN_A_STEP: usize = 100;

/// The maximum nesting depth of conditions, loops and functions, and the maximum length of a condition.
const DEEPEST: usize = 100;
const LONGEST_CONDITION: usize = 1000;

/// Reads the lists of a folder with these sources; `None` if there are none.
pub(super) fn lists(dir: &Path, sources: &[PathBuf]) -> Option<Lists> {
    let mut lists = Lists {
        sources: sources.to_owned(),
        ..Lists::default()
    };
    lists.folder(dir, Path::new(""))?;
    let plain = std::mem::take(&mut lists.named);
    let libraries = plain.into_iter().filter(|l| !lists.targets.contains(l));
    lists.link.extend(libraries);
    Some(lists)
}

impl Lists {
    /// Reads the list of a folder, and the lists of the folders that it adds.
    fn folder(&mut self, dir: &Path, here: &Path) -> Option<()> {
        let text = fs::read(dir.join(here).join(NAME)).ok()?;
        if !self.read.insert(here.to_owned()) {
            return None;
        }
        self.run(&commands(&String::from_utf8_lossy(&text)), dir, here);
        Some(())
    }

    /// Executes commands: those of conditions that may hold, and those of loops for each value.
    fn run(&mut self, commands: &[Command], dir: &Path, here: &Path) {
        if self.depth < DEEPEST {
            self.depth += 1;
            self.run_all(commands, dir, here);
            self.depth -= 1;
        }
    }

    fn run_all(&mut self, commands: &[Command], dir: &Path, here: &Path) {
        let mut at = 0;
        while let Some((command, words)) = commands.get(at) {
            if self.steps > MOST_STEPS {
                return;
            }
            let end = match command.as_str() {
                "if" => block_end(commands, at, "if", "endif"),
                "foreach" => block_end(commands, at, "foreach", "endforeach"),
                "function" => block_end(commands, at, "function", "endfunction"),
                "macro" => block_end(commands, at, "macro", "endmacro"),
                _ => at,
            };
            self.steps += 1 + (end - at);
            match command.as_str() {
                "if" => self.branches(&commands[at..end], dir, here),
                "foreach" => self.each(words, commands.get(at + 1..end), dir, here),
                "function" | "macro" => {
                    if let (Some((name, parameters)), Some(body)) =
                        (words.split_first(), commands.get(at + 1..end))
                    {
                        let function = (parameters.to_vec(), body.to_vec());
                        self.functions.insert(name.to_ascii_lowercase(), function);
                    }
                }
                _ if self.functions.contains_key(command) => {
                    let words = self.all_expanded(words);
                    self.call(command, &words, dir, here);
                }
                _ => {
                    let words = self.all_expanded(words);
                    self.command(command, &words, dir, here);
                }
            }
            at = end + 1;
        }
    }

    fn all_expanded(&mut self, words: &[String]) -> Vec<String> {
        let words = words.iter().flat_map(|w| self.expanded(w));
        let mut letters = 0;
        let few = words.take(MOST_WORDS).take_while(|w| {
            letters += w.len();
            letters < LETTERS_IN_A_STEP * MOST_LETTERS
        });
        let few = few.collect();
        self.steps += letters / LETTERS_IN_A_STEP;
        few
    }

    /// Executes the branches of an `if` that may be taken: all that are not known to be false, up to one that
    /// is known to be true.
    fn branches(&mut self, commands: &[Command], dir: &Path, here: &Path) {
        let mut depth = 0;
        let mut starts: Vec<usize> = Vec::new();
        for (at, (command, _)) in commands.iter().enumerate() {
            match command.as_str() {
                "if" => depth += 1,
                "endif" => depth -= 1,
                _ => {}
            }
            if at == 0 || depth == 1 && (command == "elseif" || command == "else") {
                starts.push(at);
            }
        }
        for (i, start) in starts.iter().enumerate() {
            let end = starts.get(i + 1).copied().unwrap_or(commands.len());
            let (command, words) = &commands[*start];
            let holds = match command.as_str() {
                "else" => Some(true),
                _ => self.condition(words),
            };
            if holds != Some(false) {
                self.run(&commands[start + 1..end], dir, here);
            }
            if holds == Some(true) {
                break;
            }
        }
    }

    /// Executes a function with its arguments as variables.
    fn call(&mut self, name: &str, words: &[String], dir: &Path, here: &Path) {
        let Some((parameters, body)) = self.functions.get(name).cloned() else {
            return;
        };
        self.steps += body.len();
        for (parameter, word) in parameters.iter().zip(words) {
            self.variables.insert(parameter.clone(), vec![word.clone()]);
        }
        let rest = words.get(parameters.len()..).unwrap_or_default();
        self.variables.insert("ARGN".into(), rest.to_vec());
        self.variables.insert("ARGV".into(), words.to_vec());
        self.run(&body, dir, here);
    }

    fn each(&mut self, words: &[String], body: Option<&[Command]>, dir: &Path, here: &Path) {
        let (Some((name, rest)), Some(body)) = (words.split_first(), body) else {
            return;
        };
        let values = match rest.first().map(String::as_str) {
            Some("IN") => {
                let lists = rest.iter().skip(1);
                let lists = lists.flat_map(|w| match self.variables.get(w) {
                    Some(value) => value.clone(),
                    None => self.expanded(w),
                });
                lists.filter(|w| w != "LISTS" && w != "ITEMS").collect()
            }
            Some("RANGE") => Vec::new(),
            _ => self.all_expanded(rest),
        };
        for value in values.into_iter().take(MOST_WORDS) {
            self.variables.insert(name.clone(), vec![value]);
            self.run(body, dir, here);
        }
        self.variables.remove(name);
    }

    /// Whether a condition holds for gfortran on this system; `None` if unknown.
    fn condition(&self, words: &[String]) -> Option<bool> {
        if words.len() > LONGEST_CONDITION {
            return None;
        }
        let at = |word: &str| {
            let mut depth = 0;
            words.iter().position(|w| {
                depth += match w.as_str() {
                    "(" => 1,
                    ")" => -1,
                    _ => 0,
                };
                depth == 0 && w == word
            })
        };
        if let Some(or) = at("OR") {
            let (one, other) = (
                self.condition(&words[..or]),
                self.condition(&words[or + 1..]),
            );
            return match (one, other) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
        }
        if let Some(and) = at("AND") {
            let (one, other) = (
                self.condition(&words[..and]),
                self.condition(&words[and + 1..]),
            );
            return match (one, other) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
        }
        let plain: Vec<&str> = words.iter().map(String::as_str).collect();
        match plain[..] {
            ["NOT", ..] => self.condition(&words[1..]).map(|holds| !holds),
            ["(", .., ")"] => self.condition(&words[1..words.len() - 1]),
            [name] => self.holds(name),
            [one, "STREQUAL", other] => Some(self.value(one)? == self.value(other)?),
            [one, "MATCHES", pattern] => {
                let letter = |c: char| c.is_alphanumeric() || "_-|".contains(c);
                let names = pattern.trim_start_matches(['^', '(']);
                let names = names.trim_end_matches(['$', ')', '*', '.']);
                let value = self.value(one)?;
                let mut alternatives = names.split('|');
                let is = alternatives.any(|name| value.contains(name));
                names.chars().all(letter).then_some(is)
            }
            _ => None,
        }
    }

    /// Whether a variable or constant is true; `None` if unknown.
    fn holds(&self, name: &str) -> Option<bool> {
        let constant = |text: &str| match text.to_ascii_uppercase().as_str() {
            "ON" | "YES" | "TRUE" | "Y" | "1" => Some(true),
            "OFF" | "NO" | "FALSE" | "N" | "0" | "IGNORE" | "NOTFOUND" => Some(false),
            _ => None,
        };
        let unix = !cfg!(windows);
        match name {
            "UNIX" => Some(unix),
            "LINUX" => Some(cfg!(target_os = "linux")),
            "WIN32" => Some(!unix),
            "APPLE" => Some(cfg!(target_os = "macos")),
            "CMAKE_COMPILER_IS_GNUG77" | "CMAKE_COMPILER_IS_GNUFC" => Some(true),
            "MSVC" | "MINGW" | "CYGWIN" | "MSYS" | "BORLAND" => Some(false),
            _ => constant(name).or_else(|| match self.variables.get(name) {
                Some(value) => {
                    let value = value.first().map_or("", String::as_str);
                    Some(constant(value).unwrap_or(!value.is_empty()))
                }
                // An unset variable is false, except for those that CMake sets itself.
                None => {
                    let is_found = name.ends_with("_FOUND") || name.starts_with("HAVE_");
                    (!is_found && !name.starts_with("CMAKE_") && !name.contains('$'))
                        .then_some(false)
                }
            }),
        }
    }

    /// Returns the value of a word in a comparison, if it is known.
    fn value(&self, word: &str) -> Option<String> {
        let expanded = self.expanded(word).join(";");
        match expanded.trim_start_matches("${").trim_end_matches('}') {
            "CMAKE_Fortran_COMPILER_ID" | "CMAKE_C_COMPILER_ID" => Some("GNU".into()),
            "CMAKE_Fortran_COMPILER" | "Fortran_COMPILER_NAME" => Some("gfortran".into()),
            "CMAKE_SYSTEM_NAME" if cfg!(target_os = "linux") => Some("Linux".into()),
            _ if expanded.contains('$') => None,
            name => match self.variables.get(name) {
                Some(value) => Some(value.join(";")),
                // A variable of CMake itself is not literal text.
                None => (!name.starts_with("CMAKE_") && !name.is_empty()).then(|| name.to_owned()),
            },
        }
    }

    fn command(&mut self, command: &str, words: &[String], dir: &Path, here: &Path) {
        let Some((first, rest)) = words.split_first() else {
            return;
        };
        match command {
            "project" => {
                let top = vec![format!("{TOP}{}", here.display())];
                self.variables.insert(format!("{first}_SOURCE_DIR"), top);
                self.variables
                    .insert("PROJECT_NAME".into(), vec![first.clone()]);
                self.name = self.name.take().or_else(|| Some(first.clone()));
            }
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
            "get_filename_component" => {
                if let [word, part, ..] = rest {
                    let path = Path::new(word);
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    let value = match part.as_str() {
                        "NAME" => name.into_owned(),
                        "NAME_WE" => name.split('.').next().unwrap_or_default().to_owned(),
                        "DIRECTORY" | "PATH" => {
                            let folder = path.parent().unwrap_or(Path::new(""));
                            folder.to_string_lossy().into_owned()
                        }
                        _ => word.clone(),
                    };
                    self.variables.insert(first.clone(), vec![value]);
                }
            }
            "unset" => {
                self.variables.remove(first);
            }
            // An option is off unless the list or the user turns it on.
            "option" => {
                let value = rest.get(1).cloned().unwrap_or_else(|| "OFF".into());
                let entry = self.variables.entry(first.clone());
                entry.or_insert_with(|| vec![value]);
            }
            "string"
                if first == "APPEND"
                    && rest.first().is_some_and(|n| n == "CMAKE_Fortran_FLAGS") =>
            {
                self.flags(&rest[1..]);
            }
            "list" if first == "APPEND" => {
                if let Some((name, more)) = rest.split_first() {
                    let list = self.variables.entry(name.clone()).or_default();
                    list.extend_from_slice(more);
                    list.truncate(MOST_WORDS);
                }
            }
            "file" if first.starts_with("GLOB") => {
                if let Some((name, patterns)) = rest.split_first() {
                    let found = self.globbed(patterns, first == "GLOB_RECURSE", here);
                    self.variables.insert(name.clone(), found);
                }
            }
            "include" if first.ends_with(".cmake") => self.included(first, dir, here),
            "add_subdirectory" => {
                let _ = self.folder(dir, &joined(here, first));
            }
            // The former name of `add_subdirectory`.
            "subdirs" => {
                for folder in words {
                    let _ = self.folder(dir, &joined(here, folder));
                }
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
            "set_target_properties" => {
                for (name, values) in properties(words).1 {
                    let flags = flags_of_property(name, values);
                    self.flags(&flags);
                }
            }
            "set_source_files_properties" => {
                let (files, properties) = properties(words);
                for (name, values) in properties {
                    self.flags_of_files(files, name, values, here);
                }
            }
            "set_property" => {
                let mut parts = rest.splitn(2, |w| w == "PROPERTY");
                let named = parts.next().unwrap_or_default();
                if let Some((name, values)) = parts.next().and_then(<[String]>::split_first) {
                    match first.as_str() {
                        "SOURCE" => self.flags_of_files(named, name, values, here),
                        "TARGET" => {
                            let flags = flags_of_property(name, values);
                            self.flags(&flags);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// Includes a file of commands, unless it is one of CMake's own.
    fn included(&mut self, name: &str, dir: &Path, here: &Path) {
        let file = joined(here, name);
        if let Ok(text) = fs::read(dir.join(&file))
            && self.read.insert(file)
        {
            self.run(&commands(&String::from_utf8_lossy(&text)), dir, here);
        }
    }

    /// Returns the sources that match patterns, as paths from the top folder.
    fn globbed(&self, patterns: &[String], recursive: bool, here: &Path) -> Vec<String> {
        // RELATIVE and its folder come before the patterns.
        let patterns = match patterns.iter().position(|p| p == "RELATIVE") {
            Some(at) => patterns.get(at + 2..).unwrap_or_default(),
            None => patterns,
        };
        let patterns = patterns.iter().map(|p| {
            let path = joined(here, p).to_string_lossy().replace('\\', "/");
            match path.rsplit_once('/') {
                Some((folder, name)) if recursive => format!("{folder}/**{name}"),
                None if recursive => format!("**{path}"),
                _ => path,
            }
        });
        let patterns: Vec<String> = patterns.collect();
        let names = self
            .sources
            .iter()
            .map(|s| s.to_string_lossy().replace('\\', "/"));
        let fits = |name: &String| patterns.iter().any(|p| paths::matches(p, name));
        names
            .filter(fits)
            .map(|name| format!("{TOP}{name}"))
            .collect()
    }

    fn flags(&mut self, words: &[String]) {
        add_flags(&mut self.flags, words);
    }

    /// A property of sources, with its values.
    fn flags_of_files(&mut self, files: &[String], name: &str, values: &[String], here: &Path) {
        let words = flags_of_property(name, values);
        let mut flags = Vec::new();
        add_flags(&mut flags, &words);
        if flags.is_empty() {
            return;
        }
        self.steps += files.len() * flags.len();
        for file in files {
            let of_file = self.flags_of_files.entry(joined(here, file)).or_default();
            let new = flags.iter().filter(|f| !of_file.contains(f));
            let new: Vec<String> = new.cloned().collect();
            of_file.extend(new);
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
            // `find_package` provides BLAS and LAPACK as variables and as targets.
            let known = ["LAPACK", "BLAS"]
                .into_iter()
                .find(|l| *word == format!("${{{l}_LIBRARIES}}") || *word == format!("{l}::{l}"));
            match known {
                Some(library) => self.link.push(library.to_ascii_lowercase()),
                None => self.named.push(word.trim_start_matches("-l").to_owned()),
            }
        }
    }

    /// Expands the known variables in a word; a single variable may be several words.
    fn expanded(&self, word: &str) -> Vec<String> {
        // Unknown variables stay. Values are not expanded again: `set(A "${A} b")` leaves a name in them.
        const UNKNOWN: char = '\u{1}';
        if word.len() > MOST_LETTERS {
            return vec![word.to_owned()];
        }
        let done = |text: &str| text.replace("${", "\u{1}").replace('}', "\u{2}");
        let mut text = word.to_owned();
        while let Some(end) = text.find('}') {
            let Some(start) = text[..end].rfind("${") else {
                text.replace_range(end..=end, "\u{2}");
                continue;
            };
            let name = &text[start + 2..end];
            let value = match name {
                "PROJECT_SOURCE_DIR" | "CMAKE_SOURCE_DIR" => vec![TOP.to_owned()],
                "CMAKE_CURRENT_SOURCE_DIR" | "CMAKE_CURRENT_LIST_DIR" => vec![".".to_owned()],
                _ => match self.variables.get(name) {
                    Some(value) if start == 0 && end + 1 == text.len() => return value.clone(),
                    Some(value) => value.clone(),
                    None => vec![format!("{UNKNOWN}{name}\u{2}")],
                },
            };
            text.replace_range(start..=end, &done(&value.join(" ")));
            if text.len() > MOST_LETTERS {
                break;
            }
        }
        vec![text.replace(UNKNOWN, "${").replace('\u{2}', "}")]
    }
}

/// Adds the flags for gfortran in words.
fn add_flags(flags: &mut Vec<String>, words: &[String]) {
    let words = words.iter().filter_map(|w| for_gfortran(w));
    let words = words.flat_map(|w| w.split(|c: char| c.is_whitespace() || c == ';'));
    for flag in words.filter(|w| w.starts_with('-') && !w.contains('$')) {
        if !flags.iter().any(|f| f == flag) {
            flags.push(flag.to_owned());
        }
    }
}

/// What stands before PROPERTIES, and the names and values behind it.
fn properties(words: &[String]) -> (&[String], Vec<(&String, &[String])>) {
    let mut parts = words.splitn(2, |w| w == "PROPERTIES");
    let named = parts.next().unwrap_or_default();
    let pairs = parts.next().unwrap_or_default().chunks(2);
    let pairs = pairs.filter_map(<[String]>::split_first);
    (named, pairs.collect())
}

/// The flags that a property of a target or a source stands for.
fn flags_of_property(name: &str, values: &[String]) -> Vec<String> {
    match name {
        "COMPILE_FLAGS" | "COMPILE_OPTIONS" => values.to_vec(),
        "COMPILE_DEFINITIONS" => {
            let defines = values.iter().flat_map(|v| v.split(';'));
            let defines = defines.map(|d| d.trim_start_matches("-D"));
            let defines = defines.filter(|d| !d.is_empty());
            defines.map(|d| format!("-D{d}")).collect()
        }
        "Fortran_FORMAT" => {
            let form = values.first().map_or("", String::as_str);
            match form.to_ascii_uppercase().as_str() {
                "FREE" => vec!["-ffree-form".to_owned()],
                "FIXED" => vec!["-ffixed-form".to_owned()],
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// Evaluates a generator expression (`$<...:...>`) for a build with gfortran: `None` if its condition is
/// false.
fn for_gfortran(word: &str) -> Option<&str> {
    let Some(inside) = word.strip_prefix("$<").and_then(|w| w.strip_suffix('>')) else {
        return Some(word);
    };
    let (condition, value) = match inside.strip_prefix("$<") {
        Some(inside) => inside.split_once(">:")?,
        None => inside.split_once(':')?,
    };
    let is_ours = [
        "BUILD_INTERFACE",
        "COMPILE_LANGUAGE:Fortran",
        "COMPILE_LANG_AND_ID:Fortran,GNU",
        "Fortran_COMPILER_ID:GNU",
    ];
    let is_ours = is_ours.iter().any(|c| condition.starts_with(c));
    (is_ours && !value.contains("$<")).then_some(value)
}

/// The representation of the project's top folder at the beginning of a path.
const TOP: &str = "//";

/// Returns a path from a list, relative to the top folder of the project.
fn joined(here: &Path, word: &str) -> PathBuf {
    match word.strip_prefix(TOP) {
        Some(inside) => paths::joined(Path::new(""), inside.trim_start_matches('/')),
        None => paths::joined(here, word),
    }
}

/// Whether a word is a scope keyword of the following ones.
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

/// Parses the commands of a list, in lower case, with their arguments. Quoted text is one argument.
fn commands(text: &str) -> Vec<Command> {
    let mut commands = Vec::new();
    let mut letters = text.chars().peekable();
    let mut name = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '#' => while letters.next_if(|c| *c != '\n').is_some() {},
            '(' => {
                let name = std::mem::take(&mut name).to_ascii_lowercase();
                let words = words(&mut letters, name.ends_with("if"));
                commands.push((name, words));
            }
            _ if letter.is_alphanumeric() || letter == '_' => name.push(letter),
            _ => {}
        }
    }
    commands
}

/// Returns the index of the end of the block that begins at a command; the number of commands if it does not
/// end.
fn block_end(commands: &[Command], start: usize, opens: &str, closes: &str) -> usize {
    let mut depth = 0;
    for (at, (command, _)) in commands.iter().enumerate().skip(start) {
        if command == opens {
            depth += 1;
        } else if command == closes {
            depth -= 1;
            if depth == 0 {
                return at;
            }
        }
    }
    commands.len()
}

/// Parses the arguments up to the closing parenthesis. Parentheses inside are words of conditions.
fn words(letters: &mut std::iter::Peekable<std::str::Chars>, in_condition: bool) -> Vec<String> {
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
            '(' | ')' => {
                depth = if letter == '(' { depth + 1 } else { depth - 1 };
                if depth == 0 {
                    break;
                }
                if in_condition {
                    words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                    words.push(letter.to_string());
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
    use super::super::tests::folder;
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
                ("if".to_owned(), word(&["NOT", "(", "A", "OR", "B", ")"])),
                ("endif".to_owned(), Vec::new()),
            ]
        );
        // Unterminated text is read up to the end.
        assert_eq!(commands("set(A \"b").len(), 1);
    }

    /// Malicious input, except for the first case: a variable that refers to itself while it has no value.
    #[test]
    fn whatever_is_written_comes_to_an_end() {
        let many = |text: &str, times| text.repeat(times);
        for (text, files) in [
            (
                "set(A \"${A}\")\nset(B \"x${A}\")\nset(B \"${B}.f\")\nadd_library(l ${B} b.f)\n"
                    .to_owned(),
                1,
            ),
            (
                format!(
                    "if({}A)\nendif()\nadd_library(l b.f)\n",
                    many("NOT ", 100_000)
                ),
                1,
            ),
            (
                format!("{}add_library(l b.f)\n", many("if(UNIX)\n", 50_000)),
                0,
            ),
            (
                format!("set(A \"{}\")\nadd_library(l b.f)\n", many("}", 200_000)),
                1,
            ),
            (
                format!(
                    "set(V {})\nforeach(A ${{V}})\nforeach(B ${{V}})\nif(OFF)\n{}endif()\nendforeach()\nendforeach()\n",
                    many("a ", 5000),
                    many("x()\n", 1000)
                ),
                0,
            ),
            (
                format!(
                    "set(A {})\n{}",
                    "x".repeat(9000),
                    many("set(A \"${A}${A}\" ${A} ${A})\n", 2000)
                ),
                0,
            ),
        ] {
            let dir = folder(&[(NAME, &text)]);
            let lists = lists(dir.path(), &[]).unwrap();
            let found = lists.files.iter().filter(|f| f.ends_with("b.f")).count();
            assert_eq!(found, files, "{}", &text[..60]);
        }
    }

    #[test]
    fn lists_of_folders() {
        let dir = folder(&[
            (
                NAME,
                "project(model Fortran)\nset(CMAKE_Fortran_FLAGS \"${CMAKE_Fortran_FLAGS} -fdefault-real-8\")\n\
             find_package(LAPACK)\nadd_subdirectory(lib)\nadd_subdirectory(none)\n\
             add_executable(main app/main.f)\ntarget_link_libraries(main PRIVATE solve LAPACK::LAPACK fft)\n",
            ),
            (
                "lib/CMakeLists.txt",
                "set(SRC a.f)\nlist(APPEND SRC ${CMAKE_CURRENT_SOURCE_DIR}/b.f ${PROJECT_SOURCE_DIR}/c.f ../d.f)\n\
             add_library(solve STATIC ${SRC} ${UNKNOWN})\ntarget_include_directories(solve PUBLIC inc)\n\
             target_compile_definitions(solve PRIVATE N=3)\nadd_subdirectory(..)\nsubdirs(one two)\n",
            ),
            ("lib/one/CMakeLists.txt", "add_executable(e e.f)\n"),
            ("lib/two/CMakeLists.txt", "add_executable(f f.f)\n"),
        ]);
        let lists = lists(dir.path(), &[]).unwrap();
        assert_eq!(lists.name.as_deref(), Some("model"));
        for file in [
            "lib/a.f",
            "lib/b.f",
            "c.f",
            "d.f",
            "app/main.f",
            "lib/one/e.f",
            "lib/two/f.f",
        ] {
            assert!(lists.files.contains(Path::new(file)), "{:?}", lists.files);
        }
        assert_eq!(lists.flags, ["-fdefault-real-8", "-Ilib/inc", "-DN=3"]);
        assert_eq!(lists.link, ["lapack", "fft"]);
    }

    #[test]
    fn conditions_loops_and_patterns() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("cmake")).unwrap();
        fs::write(
            dir.path().join("cmake/flags.cmake"),
            "if(CMAKE_Fortran_COMPILER_ID MATCHES \"^(Intel|PGI)$\")\n  set(CMAKE_Fortran_FLAGS -fpp)\n\
             elseif(\"${CMAKE_Fortran_COMPILER_ID}\" STREQUAL GNU)\n  set(CMAKE_Fortran_FLAGS -fbackslash)\nelse()\n\
             set(CMAKE_Fortran_FLAGS -fno)\nendif()\n",
        )
        .unwrap();
        fs::write(
            dir.path().join(NAME),
            "project(x Fortran)\noption(OLD \"old\" OFF)\noption(NEW \"new\" ON)\ninclude(cmake/flags.cmake)\n\
             set(TOOLS one two)\nforeach(TOOL ${TOOLS} three)\n  add_executable(${TOOL} tools/${TOOL}.f)\nendforeach()\n\
             foreach(T IN LISTS TOOLS)\n  add_library(l${T} ${T}.f)\nendforeach()\n\
             if(OLD)\n add_library(a old.f)\nelse()\n add_library(a new.f)\nendif()\n\
             if(NEW AND NOT (OLD OR MSVC))\n if(UNKNOWN_FOUND)\n  add_library(b may.f)\n else()\n  add_library(b be.f)\n endif()\nendif()\n\
             file(GLOB G \"src/*.f\")\nadd_library(g ${G})\nfile(GLOB_RECURSE R deep/*.f90)\nadd_library(r ${R})\n\
             target_compile_options(r PRIVATE $<$<COMPILE_LANG_AND_ID:Fortran,GNU>:-fcray-pointer> $<$<CONFIG:Debug>:-fcheck=all>)\n\
             set_target_properties(r PROPERTIES COMPILE_FLAGS \"-fno-range-check -w\")\n",
        )
        .unwrap();
        let sources = ["src/a.f", "src/sub/b.f", "deep/c.f90", "deep/er/d.f90"].map(PathBuf::from);
        let lists = lists(dir.path(), &sources).unwrap();
        let has = |file: &str| lists.files.contains(Path::new(file));
        for file in [
            "tools/one.f",
            "tools/two.f",
            "tools/three.f",
            "one.f",
            "two.f",
            "new.f",
            "may.f",
            "be.f",
            "src/a.f",
            "deep/c.f90",
            "deep/er/d.f90",
        ] {
            assert!(has(file), "{file}");
        }
        assert!(!has("old.f") && !has("src/sub/b.f"));
        assert_eq!(
            lists.flags,
            ["-fbackslash", "-fcray-pointer", "-fno-range-check", "-w"]
        );
    }

    #[test]
    fn flags_of_single_files() {
        let dir = folder(&[
            (
                NAME,
                "project(x Fortran)\nset(SRC one.f two.f)\nadd_library(l ${SRC})\nadd_subdirectory(deep)\n\
                 set_source_files_properties(${SRC} PROPERTIES COMPILE_FLAGS \"-O0 -fbackslash\" GENERATED OFF)\n\
                 set_source_files_properties(two.f PROPERTIES Fortran_FORMAT FREE COMPILE_DEFINITIONS \"N=2;M\")\n\
                 set_property(SOURCE one.f APPEND PROPERTY COMPILE_OPTIONS -w $<$<CONFIG:Debug>:-fcheck=all>)\n\
                 set_property(TARGET l PROPERTY COMPILE_OPTIONS -fno-range-check)\n\
                 set_property(PROPERTY)\nset_property(SOURCE PROPERTY)\nset_source_files_properties(PROPERTIES)\n\
                 set_source_files_properties(one.f PROPERTIES COMPILE_FLAGS)\nset_target_properties(l)\n",
            ),
            (
                "deep/CMakeLists.txt",
                "set_source_files_properties(three.f PROPERTIES COMPILE_OPTIONS -fcray-pointer)\n",
            ),
        ]);
        let lists = lists(dir.path(), &[]).unwrap();
        assert_eq!(lists.flags, ["-fno-range-check"]);
        let of = |file: &str| lists.flags_of_files[Path::new(file)].join(" ");
        assert_eq!(of("one.f"), "-O0 -fbackslash -w");
        assert_eq!(of("two.f"), "-O0 -fbackslash -ffree-form -DN=2 -DM");
        assert_eq!(of("deep/three.f"), "-fcray-pointer");
    }

    #[test]
    fn functions_and_what_is_never_set() {
        let dir = tempfile::tempdir().unwrap();
        let text = "project(arp Fortran)\n\
                    function(tests list_name extra)\n  foreach(l ${${list_name}})\n    get_filename_component(lwe ${l} NAME_WE)\n\
                    add_executable(${lwe} ${arp_SOURCE_DIR}/tst/${l} ${lwe}.inc)\n    target_link_libraries(${lwe} ${extra})\n\
                    endforeach()\nendfunction(tests)\n\
                    set(all_list a.f b.f)\ntests(all_list lapack)\n\
                    function(never)\n  add_executable(n n.f)\n  target_link_libraries(n nothing)\nendfunction()\n\
                    if(MPI)\n  add_executable(p p.f)\nendif()\nmacro(again)\n  again()\nendmacro()\nagain()\n";
        fs::write(dir.path().join(NAME), text).unwrap();
        let lists = lists(dir.path(), &[]).unwrap();
        let files: Vec<&Path> = lists.files.iter().map(PathBuf::as_path).collect();
        assert_eq!(
            files,
            ["a.inc", "b.inc", "tst/a.f", "tst/b.f"].map(Path::new)
        );
        assert_eq!(lists.link, ["lapack", "lapack"]);
    }

    #[test]
    fn blocks_without_end_end() {
        let dir = tempfile::tempdir().unwrap();
        let nested = "foreach(A 1 2 3 4 5 6 7 8 9)\n".repeat(40);
        fs::write(
            dir.path().join(NAME),
            format!("{nested}if(A\nadd_library(x a.f)\n"),
        )
        .unwrap();
        assert!(lists(dir.path(), &[]).is_some());
        fs::write(
            dir.path().join(NAME),
            "endif()\nelse()\nendforeach()\nif(OR)\nadd_library(x a.f)\n",
        )
        .unwrap();
        let lists = lists(dir.path(), &[]).unwrap();
        assert!(lists.files.contains(Path::new("a.f")));
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
        let lists = lists(dir.path(), &[]).unwrap();
        assert!(lists.files.contains(Path::new("a.f")));
    }
}
