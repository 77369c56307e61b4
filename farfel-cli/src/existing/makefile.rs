//! Makefiles: their variables and rules, and the functions that construct lists of files.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::paths::{joined, matches};

/// The names of makefiles, in the order in which `make` looks for them.
pub(super) const NAMES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// The variables with flags of the Fortran compiler, which implicit rules use.
const FLAG_VARIABLES: [&str; 6] = ["FFLAGS", "FCFLAGS", "F77FLAGS", "F90FLAGS", "FOPTS", "FOPT"];

/// Fortran compilers, without version and target.
const COMPILERS: [&str; 16] = [
    "gfortran",
    "f77",
    "g77",
    "f90",
    "f95",
    "fort77",
    "ifort",
    "ifx",
    "flang",
    "nagfor",
    "pgf77",
    "pgf90",
    "pgfortran",
    "mpif77",
    "mpif90",
    "mpifort",
];

/// The maximum length of a text, beyond which it is cut: a few lines can double a variable without end.
const MOST_LETTERS: usize = 100_000;

/// The maximum number of variables and functions that are expanded in one text.
const MOST_STEPS: usize = 10_000;

/// The maximum work of a function: the product of the lengths of its arguments.
const MOST_WORK: usize = 100_000_000;

/// The maximum nesting depth of variables.
const DEEPEST: usize = 20;

/// The contents of a makefile.
#[derive(Debug, Default)]
pub(super) struct Makefile {
    /// The makefile's folder, relative to the project's.
    here: PathBuf,
    variables: BTreeMap<String, String>,
    /// The other lines: rules and commands.
    rules: Vec<String>,
    read: BTreeSet<PathBuf>,
    /// Whether a rule is open. Lines that begin with a tab are commands: the last line that does not is the
    /// head of a rule.
    in_rule: bool,
    /// The number of variables and functions expanded so far in the current text.
    steps: Cell<usize>,
    /// The makefiles of folders in which it runs `make`.
    below: Vec<Makefile>,
}

impl Makefile {
    /// Reads the makefile of a folder of the project `root`, with those that it includes and runs; `None` if
    /// there is none.
    pub(super) fn of(root: &Path, here: &Path, sources: &[PathBuf]) -> Option<Makefile> {
        Makefile::below(root, here, sources, 0)
    }

    fn below(root: &Path, here: &Path, sources: &[PathBuf], depth: usize) -> Option<Makefile> {
        let folder = root.join(here);
        let name = NAMES.into_iter().find(|name| folder.join(name).is_file())?;
        let mut make = Makefile {
            here: here.to_owned(),
            ..Makefile::default()
        };
        make.read(root, &folder.join(name), sources);
        if depth < 5 {
            let folders = make.folders_of_makes(sources);
            let below = folders.iter().filter(|f| *f != here);
            let below = below.filter_map(|f| Makefile::below(root, f, sources, depth + 1));
            make.below = below.collect();
        }
        Some(make)
    }

    fn read(&mut self, root: &Path, file: &Path, sources: &[PathBuf]) {
        let Ok(text) = fs::read(file) else {
            return;
        };
        if !self.read.insert(file.to_owned()) {
            return;
        }
        let text = String::from_utf8_lossy(&text).replace('\r', "");
        let text = text.replace("\\\n", " ");
        // Whether the lines inside each open condition count: `None` if unknown.
        let mut conditions: Vec<Option<bool>> = Vec::new();
        let mut in_definition = false;
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let (first, rest) = split_word(line);
            if in_definition {
                in_definition = first != "endef";
                continue;
            }
            match first {
                "define" => in_definition = true,
                "ifeq" | "ifneq" | "ifdef" | "ifndef" => {
                    conditions.push(self.condition(first, rest, sources));
                }
                "else" => {
                    let before = conditions.pop().flatten();
                    let (word, rest) = split_word(rest);
                    conditions.push(match before {
                        Some(true) => Some(false),
                        Some(false) if !word.is_empty() => self.condition(word, rest, sources),
                        other => other.map(|is| !is),
                    });
                }
                "endif" => {
                    conditions.pop();
                }
                _ if conditions.contains(&Some(false)) => {}
                "include" | "-include" | "sinclude" => {
                    for name in self.expanded(rest, sources).split_whitespace() {
                        let file = root.join(&self.here).join(name);
                        self.read(root, &file, sources);
                    }
                }
                _ => self.line(line, conditions.contains(&None), sources),
            }
        }
    }

    /// Reads a line that is not a condition.
    fn line(&mut self, line: &str, in_doubt: bool, sources: &[PathBuf]) {
        let is_command = line.starts_with('\t') && self.in_rule;
        let assigned = line.split_once('=').filter(|_| !is_command);
        if !line.starts_with('\t') && !line.trim().is_empty() {
            self.in_rule = assigned.is_none();
        }
        let Some((name, text)) = assigned else {
            let rule = line.trim().trim_start_matches(['@', '-']);
            self.rules.push(rule.to_owned());
            return;
        };
        let operator = name.trim_end_matches([':', '?', '+', '!']);
        let adds = name.ends_with('+');
        let only_unset = name.ends_with('?');
        let at_once = name.ends_with(':');
        let text = text.trim();
        // Target-specific variables count if nothing else sets them.
        let (name, of_target) = match operator.rsplit_once(':') {
            Some((_, name)) => (name, true),
            None => (operator, false),
        };
        let name = name.trim().trim_start_matches("export ").trim();
        let name = name.trim_start_matches("override ").trim();
        let old = self.variables.get(name).filter(|old| !old.is_empty());
        let new = match old {
            Some(old) if adds => format!("{old} {text}"),
            Some(_) if in_doubt || only_unset || of_target => return,
            _ => text.to_owned(),
        };
        // The value may refer to the variable itself.
        let itself = [format!("$({name})"), format!("${{{name}}}")];
        let new = match at_once || itself.iter().any(|i| new.contains(i)) {
            true => self.expanded(&new, sources),
            false => new,
        };
        if new.len() < MOST_LETTERS {
            self.variables.insert(name.to_owned(), new);
        }
    }

    /// Whether a condition holds; `None` if unknown.
    fn condition(&self, word: &str, rest: &str, sources: &[PathBuf]) -> Option<bool> {
        let is_set = |name: &str| self.variables.get(name).is_some_and(|v| !v.is_empty());
        match word {
            "ifdef" => return Some(is_set(rest.trim())),
            "ifndef" => return Some(!is_set(rest.trim())),
            "ifeq" | "ifneq" => {}
            _ => return None,
        }
        let text = self.expanded(rest.trim(), sources);
        if text.contains(UNKNOWN) {
            return None;
        }
        let text = text.replace('$', "");
        let inside = text.strip_prefix('(').and_then(|t| t.strip_suffix(')'));
        let (one, other) = match inside {
            Some(inside) => inside.split_once(',')?,
            None => text.split_once(' ')?,
        };
        let plain = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
        Some((plain(one) == plain(other)) == (word == "ifeq"))
    }

    /// Expands the variables and functions in a text. A `$` stays if a variable has no value.
    fn expanded(&self, text: &str, sources: &[PathBuf]) -> String {
        if text.len() > MOST_LETTERS {
            return text.to_owned();
        }
        let mut out = String::new();
        self.steps.set(0);
        self.expand(text, sources, 0, &mut out);
        out
    }

    fn expand(&self, text: &str, sources: &[PathBuf], depth: usize, out: &mut String) {
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let Some(end) = closing(rest) else {
                out.push('$');
                if rest.starts_with(['(', '{']) {
                    // Unterminated: the rest stays as it is.
                    break;
                }
                continue;
            };
            let inside = &rest[1..end];
            rest = &rest[end + 1..];
            self.steps.set(self.steps.get() + 1);
            if depth > DEEPEST || out.len() > MOST_LETTERS || self.steps.get() > MOST_STEPS {
                out.push('$');
                continue;
            }
            match self.variables.get(inside) {
                Some(value) => self.expand(value, sources, depth + 1, out),
                None => self.call(inside, sources, depth, out),
            }
        }
        out.push_str(rest);
    }

    /// Expands a function, or a variable with a suffix replacement.
    fn call(&self, inside: &str, sources: &[PathBuf], depth: usize, out: &mut String) {
        let expand = |text: &str| {
            let mut expanded = String::new();
            self.expand(text, sources, depth + 1, &mut expanded);
            expanded
        };
        if let Some((name, endings)) = inside.split_once(':')
            && let Some((from, to)) = endings.split_once('=')
        {
            let value = match self.variables.contains_key(name) {
                true => expand(&format!("$({name})")),
                false => expand(name),
            };
            let (from, to) = (expand(from), expand(to));
            let any = |text: &str| match text.contains('%') {
                true => text.to_owned(),
                false => format!("%{text}"),
            };
            return out.push_str(&each(&value, |w| Some(patsubst(w, &any(&from), &any(&to)))));
        }
        let (name, arguments) = split_word(inside);
        if arguments.is_empty() {
            return out.push('$');
        }
        let arguments: Vec<String> = arguments_of(arguments).into_iter().map(expand).collect();
        let argument = |at: usize| arguments.get(at).map_or("", String::as_str);
        let last = arguments.last().map_or("", String::as_str);
        let stem = |w: &str| match w.rsplit_once('.') {
            Some((stem, ending)) if !ending.contains('/') => stem.to_owned(),
            _ => w.to_owned(),
        };
        let work = last.len() * (argument(0).len() + argument(1).len() + 1);
        let result = match name {
            _ if arguments.len() > 1 && work > MOST_WORK => UNKNOWN.to_owned(),
            "wildcard" => self.matching(last.split_whitespace(), sources),
            // In lists of files by the shell, the patterns are known.
            "shell" if ["ls", "find"].contains(&split_word(argument(0)).0) => {
                let anywhere = split_word(argument(0)).0 == "find";
                let words = arguments.iter().flat_map(|a| a.split_whitespace());
                let words = words.map(|w| w.trim_matches(['"', '\'', '\\']));
                let patterns = words.filter(|w| w.contains('*'));
                let patterns: Vec<String> = match anywhere {
                    true => patterns.map(|p| format!("**{p}")).collect(),
                    false => patterns.map(str::to_owned).collect(),
                };
                self.matching(patterns.iter().map(String::as_str), sources)
            }
            "patsubst" => each(last, |w| {
                Some(patsubst(w, argument(0).trim(), argument(1).trim()))
            }),
            "subst" if !argument(0).is_empty() => last.replace(argument(0), argument(1)),
            "addprefix" => each(last, |w| Some(format!("{}{w}", argument(0)))),
            "addsuffix" => each(last, |w| Some(format!("{w}{}", argument(0)))),
            "notdir" => each(last, |w| w.rsplit('/').next().map(str::to_owned)),
            "basename" => each(last, |w| Some(stem(w))),
            "filter" | "filter-out" => each(last, |w| {
                let mut patterns = argument(0).split_whitespace();
                let fits = patterns.any(|p| matches(&p.replace('%', "**"), w));
                (fits == (name == "filter")).then(|| w.to_owned())
            }),
            "sort" | "strip" => each(last, |w| Some(w.to_owned())),
            _ => UNKNOWN.to_owned(),
        };
        if out.len() + result.len() < MOST_LETTERS {
            out.push_str(&result);
        }
    }

    /// Returns the sources, and folders with sources, that match one of the patterns, as this makefile names
    /// them.
    fn matching<'a>(&self, patterns: impl Iterator<Item = &'a str>, sources: &[PathBuf]) -> String {
        let plain = |p: &'a str| p.trim_start_matches("./").trim_end_matches('/');
        let patterns: Vec<&str> = patterns.map(plain).collect();
        let relative = |path: &PathBuf| {
            let path = path.strip_prefix(&self.here).ok()?;
            Some(path.to_string_lossy().into_owned())
        };
        let all = sources
            .iter()
            .flat_map(|s| s.ancestors().map(Path::to_owned));
        let all: BTreeSet<PathBuf> = all.collect();
        let names = all.iter().filter_map(relative);
        let is_meant =
            |name: &String| !name.is_empty() && patterns.iter().any(|p| matches(p, name));
        names.filter(is_meant).collect::<Vec<String>>().join(" ")
    }

    /// Returns the folders in which rules run `make`.
    fn folders_of_makes(&self, sources: &[PathBuf]) -> BTreeSet<PathBuf> {
        let mut folders = BTreeSet::new();
        for rule in &self.rules {
            if !rule.contains("make") && !rule.contains("MAKE") {
                continue;
            }
            let rule = rule.replace("$(MAKE)", "make").replace("${MAKE}", "make");
            let rule = self.expanded(&rule, sources).replace(['(', ')'], " ");
            let rule = rule.replace("&&", ";");
            let mut inside = self.here.clone();
            for command in rule.split(';') {
                let words: Vec<&str> = command.split_whitespace().collect();
                match words[..] {
                    ["cd", folder, ..] => inside = joined(&inside, folder),
                    ["make", ..] => {
                        let option = words.iter().position(|w| *w == "-C");
                        let named = option.and_then(|at| words.get(at + 1));
                        let folder = named.map_or(inside.clone(), |f| joined(&inside, f));
                        folders.insert(folder);
                    }
                    _ => {}
                }
            }
        }
        folders
    }

    /// Returns the flags with which the Fortran compiler is run, without duplicates.
    pub(super) fn flags(&self, sources: &[PathBuf]) -> Vec<String> {
        let values = FLAG_VARIABLES.iter().filter_map(|n| self.variables.get(*n));
        let mut texts: Vec<String> = values.map(|v| self.expanded(v, sources)).collect();
        for text in self.variables.values().chain(&self.rules) {
            let text = self.expanded(text, sources);
            let (first, rest) = split_word(&text);
            if is_compiler(first) {
                let rest = rest.split([';', '&', '|', '>']).next().unwrap_or_default();
                texts.push(rest.to_owned());
            }
        }
        let mut flags = Vec::new();
        for word in literal(&texts) {
            // Paths are relative to the makefile's folder.
            let flag = match word.strip_prefix("-I").filter(|f| !f.is_empty()) {
                Some(folder) => match joined(&self.here, folder) {
                    here if here.as_os_str().is_empty() => "-I.".to_owned(),
                    folder => format!("-I{}", folder.display()),
                },
                None => word,
            };
            if flag.starts_with('-') && !flags.contains(&flag) {
                flags.push(flag);
            }
        }
        for make in &self.below {
            flags.extend(make.flags(sources));
        }
        let mut once = BTreeSet::new();
        flags.retain(|f| once.insert(f.clone()));
        flags
    }

    /// Returns the preprocessor flags for C sources.
    pub(super) fn flags_of_c(&self, sources: &[PathBuf]) -> Vec<String> {
        let values = ["CPPFLAGS", "CFLAGS"].map(|n| self.variables.get(n));
        let values = values.iter().flatten();
        let texts: Vec<String> = values.map(|v| self.expanded(v, sources)).collect();
        let mut flags = literal(&texts);
        flags.retain(|f| f.starts_with("-D"));
        let below = self.below.iter().flat_map(|make| make.flags_of_c(sources));
        flags.extend(below);
        flags
    }

    /// Returns all words that name files or libraries, without duplicates: paths are relative to the
    /// project's folder.
    pub(super) fn words(&self, sources: &[PathBuf]) -> Vec<String> {
        let texts = self.variables.values().chain(&self.rules);
        let texts: Vec<String> = texts.map(|t| self.expanded(t, sources)).collect();
        let texts = without_objects_that_nothing_needs(texts);
        let mut words: Vec<String> = Vec::new();
        for word in literal(&texts) {
            let word = word.trim_matches([':', '"', '\'', '(', ')', ';']);
            words.push(match word.starts_with('-') {
                true => word.to_owned(),
                false => joined(&self.here, word).to_string_lossy().into_owned(),
            });
        }
        words.extend(self.made_by_patterns(&words, sources));
        words.extend(self.below.iter().flat_map(|make| make.words(sources)));
        words
    }

    /// Returns the sources from which pattern rules, such as `%.exe: %.f`, make the files that these words
    /// name.
    fn made_by_patterns(&self, words: &[String], sources: &[PathBuf]) -> Vec<String> {
        let mut made = BTreeSet::new();
        for rule in self.rules.iter().filter(|rule| rule.contains('%')) {
            let rule = self.expanded(rule, sources);
            let Some((targets, needed)) = rule.rsplit_once(':') else {
                continue;
            };
            let patterns = targets.split([':', ' ']).filter(|t| t.contains('%'));
            let patterns = patterns.map(|t| joined(&self.here, t).to_string_lossy().into_owned());
            for pattern in patterns {
                for needed in needed.split_whitespace().filter(|n| n.contains('%')) {
                    let needed = joined(&self.here, needed).to_string_lossy().into_owned();
                    let source = |word: &String| {
                        let source = PathBuf::from(made_from(word, &pattern, &needed)?);
                        sources.contains(&source).then_some(source)
                    };
                    made.extend(words.iter().filter_map(source));
                }
            }
        }
        made.iter()
            .map(|s| s.to_string_lossy().into_owned())
            .collect()
    }
}

/// Removes the rules that only make an object that is named nowhere else, with or without its extension.
fn without_objects_that_nothing_needs(mut texts: Vec<String>) -> Vec<String> {
    fn object(text: &str) -> Option<&str> {
        let (target, _) = text.split_once(':')?;
        let target = target.trim();
        (target.ends_with(".o") && !target.contains(char::is_whitespace)).then_some(target)
    }
    let named = texts.iter().flat_map(|text| {
        let needed = match object(text) {
            Some(_) => text.split_once(':').map_or("", |(_, needed)| needed),
            None => text,
        };
        needed.split(|c: char| c.is_whitespace() || c == ':')
    });
    let named: BTreeSet<String> = named.map(str::to_owned).collect();
    let is_needed = |target: &str| {
        let program = target.trim_end_matches(".o");
        named.contains(target) || named.contains(program)
    };
    texts.retain(|text| object(text).is_none_or(is_needed));
    texts
}

/// Returns the prerequisite of a word that matches the pattern of a rule.
fn made_from(word: &str, pattern: &str, needed: &str) -> Option<String> {
    let (before, after) = pattern.split_once('%')?;
    let stem = word.strip_prefix(before)?.strip_suffix(after)?;
    (!stem.is_empty()).then(|| needed.replace('%', stem))
}

/// The placeholder for a function whose value is unknown.
const UNKNOWN: &str = "$?";

/// Whether a word of a rule is a Fortran compiler.
fn is_compiler(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let name = name.trim_end_matches('-');
    COMPILERS.iter().any(|c| {
        let target = name.strip_suffix(c);
        // The digits at the end of `f77` are not a version.
        word.rsplit('/').next() == Some(c)
            || target.is_some_and(|t| t.is_empty() || t.ends_with('-'))
    })
}

/// Splits a text into the first word and the rest.
fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once(char::is_whitespace).unwrap_or((text, ""))
}

/// Returns the position of the parenthesis that closes the one at the beginning of a text.
fn closing(text: &str) -> Option<usize> {
    let (open, close) = match text.as_bytes().first()? {
        b'(' => ('(', ')'),
        b'{' => ('{', '}'),
        _ => return None,
    };
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        if letter == open {
            depth += 1;
        } else if letter == close {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

/// Splits the arguments of a function, at the commas outside of parentheses.
fn arguments_of(text: &str) -> Vec<&str> {
    let mut arguments = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '{' => depth += 1,
            ')' | '}' => depth -= 1,
            ',' if depth == 0 => {
                arguments.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    arguments.push(&text[start..]);
    arguments
}

/// Applies a function to each word.
fn each(text: &str, change: impl Fn(&str) -> Option<String>) -> String {
    let words: Vec<String> = text.split_whitespace().filter_map(change).collect();
    words.join(" ")
}

/// Rewrites a word by the pattern `to` if it matches `from`.
fn patsubst(word: &str, from: &str, to: &str) -> String {
    let (before, after) = from.split_once('%').unwrap_or((from, ""));
    let inner = word
        .strip_prefix(before)
        .and_then(|w| w.strip_suffix(after))
        .filter(|inner| from.contains('%') || inner.is_empty());
    match inner {
        Some(inner) => to.replacen('%', inner, 1),
        None => word.to_owned(),
    }
}

/// Returns the words without variables, without duplicates.
fn literal(texts: &[String]) -> Vec<String> {
    let mut known = BTreeSet::new();
    let mut words: Vec<String> = Vec::new();
    for word in texts.iter().flat_map(|t| t.split_whitespace()) {
        if !word.contains('$') && known.insert(word) {
            words.push(word.to_owned());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::tests::folder;
    use super::*;

    fn expanded(make: &str, text: &str) -> String {
        let dir = folder(&[("Makefile", make)]);
        let sources = ["a.f", "b.f", "sub/c.f90"].map(PathBuf::from);
        let make = Makefile::of(dir.path(), Path::new(""), &sources).unwrap();
        make.expanded(text, &sources)
    }

    #[test]
    fn functions_of_lists() {
        for (text, value) in [
            ("$(wildcard *.f)", "a.f b.f"),
            ("$(wildcard sub/*.f90 ./b*)", "b.f sub/c.f90"),
            ("$(wildcard s*) $(wildcard none)", "sub "),
            ("$(SRC:.f=.o)", "x.o y.f90"),
            ("${SRC:%.f=obj/%.o}", "obj/x.o y.f90"),
            ("$(patsubst %.f, $(DIR)/%.o, $(SRC))", "lib/x.o y.f90"),
            ("$(addprefix $(DIR)/,$(SRC))", "lib/x.f lib/y.f90"),
            ("$(addsuffix .o,$(basename $(SRC)))", "x.o y.o"),
            ("$(notdir src/a.f b.f)", "a.f b.f"),
            ("$(filter %.f,$(SRC)) $(filter-out x%,$(SRC))", "x.f y.f90"),
            ("$(subst .f,.g,$(strip  x.f ))", "x.g"),
            ("$(shell date)", "$?"),
            ("$(shell ls -1 *.f | grep -v x)", "a.f b.f"),
            ("$(shell find . -name '*.f90')", "sub/c.f90"),
            ("$(NONE) $< $$x", "$ $< $$x"),
            ("$(LOOP)", "$ a"),
        ] {
            let make = "SRC = x.f y.f90\nDIR := lib\nLOOP = $(LOOP) a\n";
            assert_eq!(expanded(make, text), value, "{text}");
        }
    }

    #[test]
    fn conditions() {
        let make = "FC ?= gfortran\nifeq ($(FC),ifort)\n  F = -fast\nelse ifeq ($(FC), gfortran)\n  F = -O2\nelse\n  F = -O1\nendif\n\
                    ifdef DEBUG\n  F += -g\nendif\nifneq \"$(F)\" \"\"\nA = yes\nelse\nA = no\nendif\n\
                    ifeq ($(shell uname),Linux)\nL = -lx\nelse\nL = -ly\nendif\nV = 1\nV = 2\n";
        assert_eq!(expanded(make, "$(F) $(A) $(L) $(V)"), "-O2 yes -lx 2");
    }

    #[test]
    fn makefiles_below_and_included() {
        let dir = folder(&[
            (
                "Makefile",
                "include config/gnu.inc none.inc Makefile\nall:\n\tcd lib && $(MAKE) all\n\t$(MAKE) -C app CC=cc\n",
            ),
            ("config/gnu.inc", "FC = gfortran-12 -fno-range-check\n"),
            (
                "lib/makefile",
                "OBJ = one.o ../two.o\nlib.a: $(OBJ)\n\tar r $@ $^\n.f.o:\n\t@/usr/bin/f77 -fbackslash -I../inc -c $< > log -x\n\t$(CC) -fno\n",
            ),
            (
                "app/GNUmakefile",
                "p: main.f\n\t$(FC) -o $@ main.f -L../lib -lone\n\tmake -C ..\n",
            ),
        ]);
        let make = Makefile::of(dir.path(), Path::new(""), &[]).unwrap();
        assert_eq!(
            make.flags(&[]),
            ["-fno-range-check", "-fbackslash", "-Iinc", "-c"]
        );
        let words = make.words(&[]);
        for word in ["lib/one.o", "two.o", "app/main.f", "-lone"] {
            assert!(words.iter().any(|w| w == word), "{words:?}");
        }
    }

    /// Lines that begin with a tab are commands only below the head of a rule.
    #[test]
    fn assignments_behind_tabs() {
        let make = "ifeq (a, a)\n\tA = one\nendif\nx: y\n\tA=two $(FC)\n\nB = $(A)\n\tC = $(B)\n";
        assert_eq!(expanded(make, "$(A) $(C)"), "one one");
    }

    #[test]
    fn rules_with_patterns_name_sources() {
        let make = "all: a.exe other.exe b\n%.exe: lib.f %.f\n\t$(FC) $^\n$(B): sub/%: sub/%.f90\nB = sub/c\n";
        let dir = folder(&[("Makefile", make)]);
        let sources = ["a.f", "b.f", "sub/c.f90"].map(PathBuf::from);
        let make = Makefile::of(dir.path(), Path::new(""), &sources).unwrap();
        let words = make.words(&sources);
        let has = |word: &str| words.iter().any(|w| w == word);
        assert!(has("a.f") && has("sub/c.f90"), "{words:?}");
        assert!(!has("b.f") && !has("other.f"), "{words:?}");
    }

    #[test]
    fn objects_that_nothing_needs() {
        let make = "OBJ = a.o\nprog: $(OBJ)\n\t$(FC) -o $@ $(OBJ)\na.o: a.f\nold.o: old.f\nalone.o: alone.f\n\
                    all: prog alone\n";
        let dir = folder(&[("Makefile", make)]);
        let make = Makefile::of(dir.path(), Path::new(""), &[]).unwrap();
        let words = make.words(&[]);
        let has = |word: &str| words.iter().any(|w| w == word);
        assert!(has("a.f") && has("alone.f") && !has("old.f"), "{words:?}");
    }

    #[test]
    fn variables_that_double_without_end_end() {
        let doubled = "A := $(A) $(A) a\n".repeat(60);
        let later: String = (0..60)
            .map(|i| format!("V{i} = $(V{0}) $(V{0})\n", i + 1))
            .collect();
        assert!(expanded(&doubled, "$(A)").len() <= MOST_LETTERS);
        let letters = |letter: &str| letter.repeat(90_000);
        let long = format!("A = {}\nB = {}\n", letters("a"), letters("b"));
        assert_eq!(expanded(&long, "$(subst a,$(B),$(A))"), UNKNOWN);
        assert_eq!(expanded("A = b", &"$(".repeat(40_000)).len(), 80_000);
        assert!(expanded(&later, "$(V0)").len() <= 3 * MOST_LETTERS);
    }

    #[test]
    fn compilers() {
        for word in [
            "gfortran",
            "f77",
            "/usr/bin/gfortran-12",
            "x86_64-linux-gnu-gfortran",
            "gfortran12",
        ] {
            assert!(is_compiler(word), "{word}");
        }
        for word in ["gcc", "xgfortran", "ar", "", "77"] {
            assert!(!is_compiler(word), "{word}");
        }
    }
}
