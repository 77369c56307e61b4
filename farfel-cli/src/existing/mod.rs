//! Analysis of a folder of Fortran that is to become a project: its sources, and the information about them
//! in a makefile, `fpm.toml` or CMake's lists, as far as it can be evaluated.

mod c;
mod cmake;
mod includes;
mod makefile;
mod paths;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use farfel_driver::messages::Message;
use farfel_driver::{Config, Session};
use farfel_lang::diagnostic::rules;
use toml_edit::{Array, DocumentMut, Item, Table, value};

use self::makefile::Makefile;
use crate::error::Result;

/// The contents of a folder.
#[derive(Debug, Default)]
pub struct Existing {
    /// The name in `fpm.toml` or CMake's list.
    pub name: Option<String>,
    /// The file that describes the previous build.
    pub build_file: Option<&'static str>,
    /// The information taken from that file, in words for people.
    pub taken: Vec<String>,
    /// Flags in that file that have no meaning here.
    pub dropped: Vec<String>,
    /// A flag of that file that makes INTEGER 8 bytes long, which Farfel cannot.
    pub wide_integers: Option<String>,
    /// Packages on which it depends, and which are not added.
    pub needed: Vec<String>,
    /// All sources, relative to the folder.
    pub sources: Vec<PathBuf>,
    /// The sources with a main program.
    pub programs: Vec<PathBuf>,
    /// Main programs in the folders for tests.
    pub tests: Vec<PathBuf>,
    /// All sources in these folders.
    test_sources: Vec<PathBuf>,
    /// Sources that gfortran compiles as they are, with the reason if Farfel would reject them.
    pub passed: Vec<(PathBuf, Option<String>)>,
    /// Sources that are left out, with the reasons.
    pub left_out: Vec<(PathBuf, String)>,
    /// Whether no Fortran is left.
    pub is_empty: bool,
    settings: Settings,
    /// Flags of single sources in that file.
    flags_of_files: BTreeMap<PathBuf, Vec<String>>,
    /// Included files, with the sources that include them.
    included: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
}

/// The settings for the manifest.
#[derive(Debug, Default)]
struct Settings {
    sources: Option<Vec<PathBuf>>,
    exclude: Vec<PathBuf>,
    pass_through: Vec<PathBuf>,
    link: Vec<String>,
    defines: Vec<String>,
    include: Vec<PathBuf>,
    flags: Vec<String>,
    file_flags: BTreeMap<PathBuf, Vec<String>>,
    real_kind: Option<u8>,
    /// The optimisation levels in its flags.
    levels: BTreeSet<String>,
    unoptimized: bool,
    line_length: Option<usize>,
    form: Option<&'static str>,
    save_all: bool,
    preprocess: bool,
    debug_lines: bool,
}

/// The whole folder, as settings name it.
const ALL: &str = ".";

/// Folders that contain no sources of the project itself.
const NOT_OURS: [&str; 7] = ["target", "build", "_build", "bin", "obj", "test", "tests"];

/// Analyses a folder that becomes a library, or programs if it has any and `as_library` is false. `None` if
/// it has no Fortran.
///
/// # Errors
///
/// Its files cannot be read.
pub fn find(dir: &Path, as_library: bool) -> Result<Option<Existing>> {
    let mut found = Existing {
        sources: all_sources(dir)?,
        ..Existing::default()
    };
    if !found
        .sources
        .iter()
        .any(|s| farfel_driver::is_source_name(s))
    {
        return Ok(None);
    }
    let mut chosen: Option<BTreeSet<PathBuf>> = None;
    if let Some(fpm) = read(dir, "fpm.toml").and_then(|text| text.parse::<DocumentMut>().ok()) {
        found.build_file = Some("fpm.toml");
        chosen = Some(found.fpm(&fpm, as_library));
    } else if let Some(lists) =
        cmake::lists(dir, &found.sources).filter(|lists| found.has_any(lists))
    {
        found.build_file = Some("CMakeLists.txt");
        chosen = Some(found.cmake(dir, lists));
    } else if let Some(name) = makefile::NAMES
        .into_iter()
        .find(|name| dir.join(name).is_file())
    {
        found.build_file = Some(name);
        chosen = Some(found.makefile(dir));
    }
    // A file that names no source explicitly uses patterns.
    let chosen = chosen.filter(|c| !c.is_empty());
    if let (Some(chosen), Some(file)) = (&chosen, found.build_file) {
        for source in found.sources.iter().filter(|s| !chosen.contains(*s)) {
            found
                .left_out
                .push((source.clone(), format!("not in {file}")));
        }
    }
    let mut chosen = chosen.unwrap_or_else(|| found.sources.iter().cloned().collect());
    found.share_flags_of_files(dir, &chosen);
    found.take_no_optimisation();
    found.drop_flags_that_are_not_known();
    found.one_form(&chosen);
    found.look_for_directives(dir, &chosen);
    found.look_for_includes(dir, &mut chosen);
    found.leave_out_programs_in_c(dir, &mut chosen);
    found.settings.sources = entries(&found.sources, &chosen);
    let config = found.config(dir);
    let absolute: Vec<PathBuf> = chosen.iter().map(|s| dir.join(s)).collect();
    let programs = farfel_driver::main_programs(&absolute, &config).unwrap_or_default();
    found.programs = programs.iter().filter_map(|p| relative(dir, p)).collect();
    found.look_for_tests(dir);
    found.pass_on_what_has_flags(dir, &chosen);
    if found.programs.is_empty() || as_library {
        // Nothing that is passed on whole is a library for Rust.
    } else if let Some(flag) = &found.wide_integers {
        let flags = BTreeMap::from([(PathBuf::from(ALL), vec![flag.clone()])]);
        found.settings.file_flags.extend(flags);
        found.settings.pass_through = vec![ALL.into()];
    }
    found.leave_out_what_is_refused(dir, &chosen, as_library);
    found.name_what_is_passed(dir, &chosen);
    Ok(Some(found))
}

fn read(dir: &Path, name: &str) -> Option<String> {
    let bytes = fs::read(dir.join(name)).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn relative(dir: &Path, path: &Path) -> Option<PathBuf> {
    // Without `.` components.
    path.strip_prefix(dir)
        .ok()
        .map(|p| p.components().collect())
}

fn all_sources(dir: &Path) -> Result<Vec<PathBuf>> {
    let config = Config {
        root: dir.to_owned(),
        sources: Some(vec![PathBuf::from(".")]),
        exclude: NOT_OURS
            .iter()
            .map(PathBuf::from)
            .filter(|name| dir.join(name).exists())
            .collect(),
        ..Config::default()
    };
    let mut all = farfel_driver::source_files(&config)?;
    all.extend(farfel_driver::c_source_files(&config)?);
    let mut all: Vec<PathBuf> = all.iter().filter_map(|p| relative(dir, p)).collect();
    all.sort();
    Ok(all)
}

/// Returns the setting `sources` for the chosen ones of all sources: folders all of whose sources are chosen,
/// and files. `None` if the default is right.
fn entries(all: &[PathBuf], chosen: &BTreeSet<PathBuf>) -> Option<Vec<PathBuf>> {
    let top = |path: &PathBuf| {
        path.components()
            .next()
            .map(|c| PathBuf::from(c.as_os_str()))
    };
    let whole = |folder: &PathBuf| {
        let mut inside = all.iter().filter(|s| s.starts_with(folder));
        inside.all(|s| chosen.contains(s))
    };
    let mut entries = BTreeSet::new();
    for source in chosen {
        match top(source).filter(|t| t != source && whole(t)) {
            Some(folder) => entries.insert(folder),
            None => entries.insert(source.clone()),
        };
    }
    let by_default = |entry: &PathBuf| entry == Path::new("src") || entry == Path::new("fortran");
    let default_folders = all.iter().filter_map(top).filter(by_default);
    let defaults: BTreeSet<PathBuf> = default_folders.collect();
    (entries != defaults).then(|| entries.into_iter().collect())
}

/// A build target of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
enum BuildTarget {
    Library,
    /// A main program, by its source file.
    Program(PathBuf),
    /// A test, by its source file.
    Test(PathBuf),
}

impl Existing {
    /// Takes the settings from `fpm.toml`; returns the sources.
    fn fpm(&mut self, fpm: &DocumentMut, as_library: bool) -> BTreeSet<PathBuf> {
        self.name = fpm.get("name").and_then(Item::as_str).map(str::to_owned);
        let text = |table: &Item, key: &str| Some(table.get(key)?.as_str()?.to_owned());
        let mut folders = Vec::new();
        let library = fpm.get("library").and_then(|l| text(l, "source-dir"));
        folders.push(library.unwrap_or_else(|| "src".into()));
        folders.extend(fpm_folders(fpm, "executable", "app"));
        // A library for Rust does not need them.
        if !as_library {
            folders.extend(fpm_folders(fpm, "example", "example"));
        }
        self.settings.form = match fpm.get("fortran").and_then(|f| text(f, "source-form")) {
            Some(form) if form == "free" => Some("free"),
            Some(form) if form == "fixed" => Some("fixed"),
            _ => None,
        };
        if let Some(cpp) = fpm.get("preprocess").and_then(|p| p.get("cpp")) {
            let texts = |key: &str| {
                let list = cpp.get(key).and_then(Item::as_array);
                let texts = list.into_iter().flatten();
                let texts = texts.filter_map(|t| t.as_str().map(str::to_owned));
                texts.collect::<Vec<String>>()
            };
            let suffixes = texts("suffixes");
            let is_small = |s: &String| !s.contains(|c: char| c.is_ascii_uppercase());
            self.settings.preprocess = suffixes.is_empty() || suffixes.iter().any(is_small);
            // Macros with braces are placeholders that fpm fills in.
            let defines = texts("macros").into_iter().filter(|m| !m.contains('{'));
            self.settings.defines.extend(defines);
        }
        if let Some(link) = fpm.get("build").and_then(|b| b.get("link")) {
            let one = link.as_str().map(str::to_owned).into_iter();
            let many = link.as_array().into_iter().flatten();
            let many = many.filter_map(|l| l.as_str().map(str::to_owned));
            one.chain(many).for_each(|l| self.link(&l));
        }
        if let Some(needed) = fpm.get("dependencies").and_then(Item::as_table_like) {
            // These are provided by compilers.
            let known = ["openmp", "mpi", "hdf5", "netcdf"];
            let names = needed.iter().map(|(name, _)| name.to_owned());
            self.needed = names.filter(|n| !known.contains(&n.as_str())).collect();
        }
        let inside = |s: &&PathBuf| folders.iter().any(|f| s.starts_with(f));
        self.sources.iter().filter(inside).cloned().collect()
    }

    /// Whether CMake's lists name existing sources.
    fn has_any(&self, lists: &cmake::Lists) -> bool {
        self.sources.iter().any(|s| lists.files.contains(s))
    }

    /// Takes the settings from CMake's lists; returns the sources that they name.
    fn cmake(&mut self, dir: &Path, lists: cmake::Lists) -> BTreeSet<PathBuf> {
        self.name = lists.name;
        for flag in &lists.flags {
            self.flag(dir, flag);
        }
        self.flags_of_files = lists.flags_of_files;
        for library in &lists.link {
            self.link(library);
        }
        let named = self.sources.iter().filter(|s| lists.files.contains(*s));
        named.cloned().collect()
    }

    /// Takes the settings from a makefile; returns the sources that it names.
    fn makefile(&mut self, dir: &Path) -> BTreeSet<PathBuf> {
        let Some(make) = Makefile::of(dir, Path::new(""), &self.sources) else {
            return BTreeSet::new();
        };
        for flag in make.flags(&self.sources) {
            self.flag(dir, &flag);
        }
        let has_c = self
            .sources
            .iter()
            .any(|s| farfel_driver::is_c_source_name(s));
        for flag in make.flags_of_c(&self.sources).into_iter().filter(|_| has_c) {
            if !self.taken.contains(&flag) {
                self.flag(dir, &flag);
            }
        }
        let mut named = BTreeSet::new();
        // Objects may be in another folder than their sources.
        let mut elsewhere = Vec::new();
        for word in make.words(&self.sources) {
            if let Some(library) = word.strip_prefix("-l") {
                self.link(library);
            }
            let path = PathBuf::from(word);
            if self.sources.contains(&path) {
                named.insert(path);
            } else if path.extension().is_some_and(|e| e == "o") {
                let same = |s: &&PathBuf| s.with_extension("") == path.with_extension("");
                match self.sources.iter().find(same) {
                    Some(source) => {
                        named.insert(source.clone());
                    }
                    None => elsewhere.push(path),
                }
            }
        }
        for object in elsewhere {
            let same = |s: &&PathBuf| s.file_stem() == object.file_stem();
            let mut found = self.sources.iter().filter(same);
            if let (Some(only), None) = (found.next(), found.next()) {
                named.insert(only.clone());
            }
        }
        named
    }

    fn link(&mut self, library: &str) {
        // The compiler's own libraries are always linked.
        let of_compiler = ["m", "c", "gfortran", "quadmath", "g2c", "f2c", "gcc"];
        let is_name = |c: char| c.is_alphanumeric() || "_-.+".contains(c);
        let library = match library {
            // CMake's variable.
            "${X11_LIBRARIES}" | "X11::X11" => "X11",
            other => other,
        };
        let known = self.settings.link.iter().any(|l| l == library);
        if !known
            && !library.is_empty()
            && library.chars().all(is_name)
            && !of_compiler.contains(&library)
            && !is_of_measurement(library)
        {
            self.settings.link.push(library.to_owned());
            self.taken.push(format!("-l{library}"));
        }
    }

    /// Takes a flag of the Fortran compiler.
    fn flag(&mut self, dir: &Path, flag: &str) {
        let settings = &mut self.settings;
        let line_length = flag.strip_prefix("-ffixed-line-length-");
        match flag {
            "-fdefault-real-8" | "-r8" | "-freal-4-real-8" => settings.real_kind = Some(8),
            "-ffixed-form" | "-fixed" => settings.form = Some("fixed"),
            "-ffree-form" | "-free" => settings.form = Some("free"),
            "-fno-automatic" | "-save" | "-static" => settings.save_all = true,
            "-cpp" | "-fpp" => settings.preprocess = true,
            "-fd-lines-as-code" => settings.debug_lines = true,
            "-extend-source" => settings.line_length = Some(132),
            "-fdefault-integer-8" | "-finteger-4-integer-8" => {
                self.wide_integers = Some(flag.to_owned());
                return;
            }
            // As ifort calls it.
            "-i8" => {
                self.wide_integers = Some("-fdefault-integer-8".to_owned());
                return;
            }
            // Cargo's profiles set the level, but some programs work only without optimisation.
            _ if flag.starts_with("-O") => {
                settings.levels.insert(flag.to_owned());
                return;
            }
            _ if line_length.is_some() => {
                let columns = line_length.and_then(|n| n.parse().ok());
                // `none` and 0 mean no limit.
                let columns: usize = columns.filter(|n| *n > 0).unwrap_or(1000);
                settings.line_length = Some(columns.clamp(72, 1000));
            }
            _ => {
                if let Some(define) = flag.strip_prefix("-D").filter(|d| !d.is_empty()) {
                    settings.defines.push(define.to_owned());
                } else if let Some(folder) = flag.strip_prefix("-I") {
                    if folder.is_empty() {
                        return;
                    }
                    if !dir.join(folder).is_dir() {
                        return self.dropped.push(flag.to_owned());
                    }
                    settings.include.push(folder.into());
                } else if flag.starts_with("-f")
                    && !flag.starts_with("-fdefault-")
                    && !is_of_measurement(flag)
                    && flag != "-fimplicit-none"
                {
                    settings.flags.push(flag.to_owned());
                } else {
                    if !is_of_profile(flag) && !is_of_measurement(flag) {
                        self.dropped.push(flag.to_owned());
                    }
                    return;
                }
            }
        }
        self.taken.push(flag.to_owned());
    }

    /// Flags that are said of each source by itself are those of all.
    fn share_flags_of_files(&mut self, dir: &Path, chosen: &BTreeSet<PathBuf>) {
        self.flags_of_files
            .retain(|f, _| chosen.contains(f) && farfel_driver::is_source_name(f));
        let sources = chosen.iter().filter(|s| farfel_driver::is_source_name(s));
        if self.flags_of_files.is_empty() || self.flags_of_files.len() < sources.count() {
            return;
        }
        let mut lists = self.flags_of_files.values();
        let mut shared = lists.next().cloned().unwrap_or_default();
        lists.for_each(|list| shared.retain(|f| list.contains(f)));
        for flag in &shared {
            self.flag(dir, flag);
        }
        for list in self.flags_of_files.values_mut() {
            list.retain(|f| !shared.contains(f));
        }
    }

    /// Sources with flags of their own that matter are passed on, as Farfel compiles all of its own together.
    fn pass_on_what_has_flags(&mut self, dir: &Path, chosen: &BTreeSet<PathBuf>) {
        let compiler = farfel_driver::toolchain::find(&Config::default()).ok();
        for (file, list) in std::mem::take(&mut self.flags_of_files) {
            let known = compiler.as_ref().map(|c| c.known(&list));
            let known = known.unwrap_or_default();
            let may_be_passed = chosen.contains(&file) && may_be_passed(&dir.join(&file));
            let mut taken = Vec::new();
            for flag in list {
                // Which level is the best is ours to say, but some files work without optimisation only. The form is
                // seen in the file.
                let is_level = flag.starts_with("-O") && flag != "-O0";
                let is_form = flag == "-ffree-form" || flag == "-ffixed-form";
                if is_level || is_form || is_of_profile(&flag) || is_of_measurement(&flag) {
                    continue;
                }
                if flag.starts_with("-I") {
                    self.flag(dir, &flag);
                    continue;
                }
                match may_be_passed && (known.contains(&flag) || flag.starts_with("-D")) {
                    true => taken.push(flag),
                    false => self.dropped.push(format!("{flag} ({})", file.display())),
                }
            }
            if !taken.is_empty() {
                self.settings.pass_through.push(file.clone());
                self.settings.file_flags.insert(file, taken);
            }
        }
    }

    /// Why a file is passed on that Farfel could read.
    fn why_passed(&self, file: &Path) -> Option<String> {
        let build_file = self.build_file.unwrap_or_default();
        let own_flags = |flags: &Vec<String>| {
            let flags = flags.join(" ");
            format!("{build_file} has flags for it: {flags}")
        };
        let wide = |flags: &Vec<String>| {
            let flags = flags.join(" ");
            format!("{build_file} has {flags}, and Farfel's INTEGER has 4 bytes")
        };
        let of = &self.settings.file_flags;
        let own = of.get(file).map(own_flags);
        own.or_else(|| of.get(Path::new(ALL)).map(wide))
    }

    /// Keeps `-O0` if it is the only level, since the program may need it.
    fn take_no_optimisation(&mut self) {
        let settings = &mut self.settings;
        settings.unoptimized = settings.levels.iter().eq(["-O0"]);
        if settings.unoptimized {
            self.taken.push("-O0".to_owned());
        }
    }

    /// Drops flags of other compilers, which gfortran does not know.
    fn drop_flags_that_are_not_known(&mut self) {
        let flags = &mut self.settings.flags;
        if flags.is_empty() {
            return;
        }
        if let Ok(compiler) = farfel_driver::toolchain::find(&Config::default()) {
            let known = compiler.known(flags);
            let unknown: Vec<String> = flags.extract_if(.., |f| !known.contains(f)).collect();
            self.taken.retain(|f| !unknown.contains(f));
            self.dropped.extend(unknown);
        }
    }

    /// Drops a flag for the source form if the names of the sources imply different forms.
    fn one_form(&mut self, chosen: &BTreeSet<PathBuf>) {
        let is_free = |s: &&PathBuf| {
            let ending = s.extension().unwrap_or_default().to_string_lossy();
            matches!(&*ending.to_ascii_lowercase(), "f90" | "f95" | "f03" | "f08")
        };
        let fortran = || chosen.iter().filter(|s| farfel_driver::is_source_name(s));
        if fortran().any(|s| is_free(&s)) && !fortran().all(|s| is_free(&s)) {
            self.settings.form = None;
        }
    }

    /// Enables the preprocessor for sources with directives, whatever their names are.
    fn look_for_directives(&mut self, dir: &Path, chosen: &BTreeSet<PathBuf>) {
        let words = ["if", "ifdef", "ifndef", "define", "include", "undef"];
        let is_directive = |line: &[u8]| {
            let Some(rest) = line.strip_prefix(b"#") else {
                return false;
            };
            let rest = rest.trim_ascii_start();
            let end = rest.iter().position(|b| !b.is_ascii_alphabetic());
            let word = &rest[..end.unwrap_or(rest.len())];
            words.iter().any(|w| w.as_bytes() == word)
        };
        let is_small = |s: &&PathBuf| {
            let ending = s.extension().unwrap_or_default().to_string_lossy();
            farfel_driver::is_source_name(s) && !ending.contains(|c: char| c.is_ascii_uppercase())
        };
        let mut small = chosen.iter().filter(is_small);
        self.settings.preprocess |= small.any(|source| {
            let text = fs::read(dir.join(source)).unwrap_or_default();
            text.split(|b| *b == b'\n').any(is_directive)
        });
    }

    /// Adds the folders of included files, and removes included files from the sources.
    fn look_for_includes(&mut self, dir: &Path, chosen: &mut BTreeSet<PathBuf>) {
        let included = includes::of(dir, chosen, &self.settings.include);
        self.settings.include.extend(included.folders);
        for (file, by) in &included.files {
            if let Some(first) = by.first()
                && chosen.remove(file)
            {
                let why = format!("{} includes it", first.display());
                self.left_out.push((file.clone(), why));
            }
        }
        self.included = included.files;
    }

    /// Each file of C is linked to all programs, or to the library.
    fn leave_out_programs_in_c(&mut self, dir: &Path, chosen: &mut BTreeSet<PathBuf>) {
        let has_main = |file: &PathBuf| {
            let text = fs::read(dir.join(file)).unwrap_or_default();
            farfel_driver::is_c_source_name(file) && c::has_main(&text)
        };
        chosen.retain(|file| {
            let is_program = has_main(file);
            if is_program {
                let why = "it has a main program in C, and Farfel builds those in Fortran";
                self.left_out.push((file.clone(), why.to_owned()));
            }
            !is_program
        });
    }

    /// Finds the tests in the folders for tests. Files that cannot be read as Fortran are left out.
    fn look_for_tests(&mut self, dir: &Path) {
        let config = self.config(dir);
        let mut sources = farfel_driver::test_files(&config).unwrap_or_default();
        sources.retain(|file| {
            farfel_driver::main_programs(std::slice::from_ref(file), &config).is_ok()
        });
        let tests = farfel_driver::main_programs(&sources, &config).unwrap_or_default();
        self.tests = tests.iter().filter_map(|p| relative(dir, p)).collect();
        self.test_sources = sources.iter().filter_map(|p| relative(dir, p)).collect();
    }

    /// Returns the sources that consist of a file or include it.
    fn sources_with(&self, file: &Path) -> Vec<PathBuf> {
        let mut found = BTreeSet::new();
        let mut queue = vec![file.to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(file) = queue.pop() {
            match self.included.get(&file) {
                Some(by) if seen.insert(file.clone()) => queue.extend(by.iter().cloned()),
                Some(_) => {}
                None => {
                    let is_ours = self.sources.contains(&file) || self.test_sources.contains(&file);
                    found.extend(is_ours.then_some(file));
                }
            }
        }
        found.into_iter().collect()
    }

    fn config(&self, dir: &Path) -> Config {
        let s = &self.settings;
        Config {
            root: dir.to_owned(),
            sources: s.sources.clone(),
            exclude: s.exclude.clone(),
            pass_through: s.pass_through.clone(),
            defines: s.defines.clone(),
            include: s.include.clone(),
            flags: s.flags.clone(),
            file_flags: s.file_flags.clone(),
            real_kind: s.real_kind.unwrap_or(4),
            line_length: s.line_length.unwrap_or(72),
            form: s.form.map(|form| match form {
                "free" => farfel_lang::syntax::Form::Free,
                _ => farfel_lang::syntax::Form::Fixed,
            }),
            preprocess: s.preprocess,
            debug_lines: s.debug_lines,
            save_all: s.save_all,
            ..Config::default()
        }
    }

    /// Writes the setting `pass-through`, so that builds print no note about these files.
    fn name_what_is_passed(&mut self, dir: &Path, chosen: &BTreeSet<PathBuf>) {
        let kept = |s: &&PathBuf| !self.settings.exclude.contains(*s);
        let files = chosen.iter().filter(kept).chain(&self.test_sources);
        let absolute: Vec<PathBuf> = files.map(|s| dir.join(s)).collect();
        let config = self.config(dir);
        let passed = farfel_driver::passed_through(&absolute, &config).unwrap_or_default();
        let passed: BTreeSet<PathBuf> = passed.iter().filter_map(|p| relative(dir, p)).collect();
        let is_fortran = |s: &&PathBuf| farfel_driver::is_source_name(s);
        let fortran = self.sources.iter().chain(&self.test_sources);
        let fortran: Vec<PathBuf> = fortran.filter(is_fortran).cloned().collect();
        self.settings
            .file_flags
            .retain(|file, _| file == Path::new(ALL) || passed.contains(file));
        self.settings.pass_through = match self.settings.file_flags.contains_key(Path::new(ALL)) {
            true => vec![ALL.into()],
            false => whole_folders(&fortran, &passed),
        };
        self.passed.retain(|(file, _)| passed.contains(file));
        for file in passed {
            if !self.passed.iter().any(|(p, _)| *p == file) {
                let why = self.why_passed(&file);
                self.passed.push((file, why));
            }
        }
        self.passed.sort();
    }

    /// Leaves files with errors out until no errors remain, so that the rest builds. Files that Farfel cannot
    /// read but gfortran accepts are passed through.
    fn leave_out_what_is_refused(
        &mut self,
        dir: &Path,
        chosen: &BTreeSet<PathBuf>,
        as_library: bool,
    ) {
        // The targets to check. Each is checked until it has no errors; if a file is left out, targets that
        // had no errors with it are checked again.
        let mut open = VecDeque::from(self.builds(as_library));
        let mut clean = Vec::new();
        while let Some(build) = open.pop_front() {
            if self.is_left_out(&build) {
                continue;
            }
            let refused = self.refuse_all(&self.errors(dir, chosen, &build), dir, chosen);
            if refused.is_empty() {
                clean.push(build);
                continue;
            }
            let is_program = |f: &PathBuf| self.programs.contains(f) || self.tests.contains(f);
            if !refused.iter().all(is_program) {
                open.extend(clean.drain(..));
            }
            open.push_front(build);
            let excluded = &self.settings.exclude;
            self.programs.retain(|p| !excluded.contains(p));
            self.tests.retain(|p| !excluded.contains(p));
            self.test_sources.retain(|p| !excluded.contains(p));
            let is_listed =
                open.contains(&BuildTarget::Library) || clean.contains(&BuildTarget::Library);
            if self.programs.is_empty() && !is_listed {
                // Without a program, the folder is a library.
                open.push_back(BuildTarget::Library);
            }
        }
        let kept = |s: &&PathBuf| !self.settings.exclude.contains(*s);
        self.is_empty = !chosen
            .iter()
            .filter(|s| farfel_driver::is_source_name(s))
            .any(|s| kept(&s));
    }

    /// A file with an error is passed through if gfortran may take it and it is none of Farfel's own, and else
    /// left out. `again` says that it had an error in this round already. Whether anything has changed.
    fn refuse(&mut self, dir: &Path, file: PathBuf, message: &Message, again: bool) -> bool {
        let named = self.settings.pass_through.iter().position(|p| *p == file);
        let first = self.passed.iter().position(|(p, _)| *p == file);
        let unread = gfortran_may_take(message.code);
        let why = message.short("");
        match named {
            Some(_) if unread && again => return false,
            None if unread && may_be_passed(&dir.join(&file)) => {
                self.passed.push((file.clone(), Some(why)));
                self.settings.pass_through.push(file);
            }
            _ => {
                // Farfel's message says more.
                let reason = first.and_then(|at| self.passed.remove(at).1);
                if let Some(at) = named {
                    self.settings.pass_through.remove(at);
                }
                self.left_out.push((file.clone(), reason.unwrap_or(why)));
                self.settings.exclude.push(file);
            }
        }
        true
    }

    /// Returns the build targets of the folder: each program with all sources that have none, or the library;
    /// and the tests.
    fn builds(&self, as_library: bool) -> Vec<BuildTarget> {
        let mut builds = match as_library || self.programs.is_empty() {
            true => vec![BuildTarget::Library],
            false => self
                .programs
                .iter()
                .cloned()
                .map(BuildTarget::Program)
                .collect(),
        };
        builds.extend(self.tests.iter().cloned().map(BuildTarget::Test));
        builds
    }

    fn is_left_out(&self, build: &BuildTarget) -> bool {
        match build {
            BuildTarget::Library => false,
            BuildTarget::Program(file) | BuildTarget::Test(file) => {
                self.settings.exclude.contains(file)
            }
        }
    }

    /// Rejects the files with errors, and returns them.
    fn refuse_all(
        &mut self,
        errors: &[Message],
        dir: &Path,
        chosen: &BTreeSet<PathBuf>,
    ) -> Vec<PathBuf> {
        let mut refused = Vec::new();
        let mut seen = BTreeSet::new();
        for message in errors {
            let place = message.places.iter().find(|p| p.primary);
            let Some(file) = place.map(|p| PathBuf::from(&p.file)) else {
                continue;
            };
            let mut all = self.sources_with(&file);
            all.retain(|f| chosen.contains(f) || self.test_sources.contains(f));
            for file in all {
                if !self.settings.exclude.contains(&file) {
                    let again = !seen.insert(file.clone());
                    if self.refuse(dir, file.clone(), message, again) {
                        refused.push(file);
                    }
                }
            }
        }
        refused
    }

    /// Returns the errors in a build target, without those in files that are left out.
    fn errors(&self, dir: &Path, chosen: &BTreeSet<PathBuf>, build: &BuildTarget) -> Vec<Message> {
        let config = self.config(dir);
        let common = chosen
            .iter()
            .filter(|s| !self.settings.exclude.contains(*s) && !self.programs.contains(s));
        let common = common.map(|s| dir.join(s));
        let helpers = self.test_sources.iter().filter(|s| !self.tests.contains(s));
        let with = |program: &PathBuf, others: Vec<PathBuf>| {
            let files = [&[dir.join(program)], &others[..]].concat();
            Session::of_main(&files, &config)
        };
        let session = match build {
            BuildTarget::Library => Session::of_project(&config),
            BuildTarget::Program(program) => with(program, common.collect()),
            BuildTarget::Test(test) => {
                with(test, common.chain(helpers.map(|s| dir.join(s))).collect())
            }
        };
        let checked = session.and_then(|session| {
            session.check()?;
            session.check_c()?;
            session.check_passed_through()
        });
        let mut errors = match checked {
            Err(farfel_driver::Error::Diagnostics(report)) => {
                farfel_driver::messages::messages(&report)
            }
            _ => Vec::new(),
        };
        errors.retain(|m| m.level == "error");
        errors
    }

    /// Adds the settings to a manifest.
    pub fn write_settings(&self, manifest: &mut DocumentMut) {
        let Settings {
            sources,
            exclude,
            pass_through,
            link,
            defines,
            include,
            flags,
            file_flags,
            real_kind,
            levels: _,
            unoptimized,
            line_length,
            form,
            save_all,
            preprocess,
            debug_lines,
        } = &self.settings;
        let shown = |list: &[PathBuf]| -> Vec<String> {
            let texts = list.iter().map(|p| p.to_string_lossy().replace('\\', "/"));
            texts.collect()
        };
        let mut table = Table::new();
        for (name, list) in [
            ("sources", shown(sources.as_deref().unwrap_or_default())),
            ("exclude", shown(exclude)),
            ("pass-through", shown(pass_through)),
            ("link", link.clone()),
            ("defines", defines.clone()),
            ("include", shown(include)),
            ("flags", flags.clone()),
        ] {
            if !list.is_empty() {
                table.insert(name, value(lines(&list)));
            }
        }
        if let Some(bytes) = real_kind {
            table.insert("real-kind", value(i64::from(*bytes)));
        }
        if *unoptimized {
            table.insert("opt-level", value(0));
        }
        if let Some(columns) = line_length {
            table.insert("line-length", value(*columns as i64));
        }
        if let Some(form) = form {
            table.insert("form", value(*form));
        }
        for (name, is_set) in [
            ("save-all", save_all),
            ("preprocess", preprocess),
            ("debug-lines", debug_lines),
        ] {
            if *is_set {
                table.insert(name, value(true));
            }
        }
        if !file_flags.is_empty() {
            let mut of_files = Table::new();
            for (file, flags) in file_flags {
                let file = file.to_string_lossy().replace('\\', "/");
                of_files.insert(&file, value(lines(flags)));
            }
            table.insert("file-flags", Item::Table(of_files));
        }
        let mut metadata = Table::new();
        metadata.set_implicit(true);
        metadata.insert("farfel", Item::Table(table));
        manifest["package"]["metadata"] = Item::Table(metadata);
    }
}

/// Returns the folders of the programs of one kind in `fpm.toml`: those that it names, or else the default
/// one unless it is disabled.
fn fpm_folders(fpm: &DocumentMut, kind: &str, usual: &str) -> Vec<String> {
    let tables = fpm.get(kind).and_then(Item::as_array_of_tables);
    let folder = |table: &Table| {
        let named = table.get("source-dir").and_then(Item::as_str);
        named.unwrap_or(usual).to_owned()
    };
    let mut folders: Vec<String> = tables.iter().flat_map(|t| t.iter()).map(folder).collect();
    let finds = fpm
        .get("build")
        .and_then(|b| b.get(format!("auto-{kind}s"))?.as_bool());
    if folders.is_empty() && finds != Some(false) {
        folders.push(usual.to_owned());
    }
    folders
}

/// Whether a flag is not needed: optimisation and debug information are those of cargo's profiles, and the standard is
/// ours. Where module files go as well, and `-fimplicit-none` only complains. What is for the linker is taken apart
/// from these.
fn is_of_profile(flag: &str) -> bool {
    let starts = [
        "-o",
        "-l",
        "-L",
        "-module",
        "-g",
        "-W",
        "-w",
        "-c",
        "-p",
        "-std=",
        "-J",
        "-fimplicit-none",
    ];
    starts.iter().any(|s| flag.starts_with(s))
}

/// Whether a flag or a library is for instrumentation: profiling, coverage or sanitizers.
fn is_of_measurement(flag: &str) -> bool {
    let starts = ["-fprofile-", "-ftest-coverage", "--coverage", "-fsanitize"];
    flag == "gcov" || starts.iter().any(|s| flag.starts_with(s))
}

/// Whether gfortran may take what has an error with this code: what Farfel does not read, or what it understands in
/// another way. gfortran compiles each file by itself, and does not see that two of them disagree.
fn gfortran_may_take(code: &str) -> bool {
    let of_the_linker = [&rules::DUPLICATE_UNIT, &rules::PACKAGE_CONFLICT];
    (code.starts_with("F00") || code.starts_with("F01"))
        && !of_the_linker.iter().any(|rule| rule.code == code)
}

/// Whether gfortran may accept a file that Farfel rejects: one without AD blocks, if gfortran is installed.
fn may_be_passed(file: &Path) -> bool {
    if file
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("ff"))
    {
        return false;
    }
    let text = fs::read(file).unwrap_or_default().to_ascii_uppercase();
    let mut lines = text.split(|b| *b == b'\n');
    let closes = |line: &[u8]| {
        let words: Vec<u8> = line.iter().copied().filter(|b| *b != b' ').collect();
        words.starts_with(b"ENDADF") || words.starts_with(b"ENDADR")
    };
    !lines.any(closes) && farfel_driver::toolchain::find(&Config::default()).is_ok()
}

/// Returns the topmost folders all of whose sources are chosen, and the chosen files outside of them.
fn whole_folders(all: &[PathBuf], chosen: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let whole = |folder: &&Path| {
        let mut inside = all.iter().filter(|s| s.starts_with(folder));
        !folder.as_os_str().is_empty() && inside.all(|s| chosen.contains(s))
    };
    let entry = |file: &PathBuf| {
        let highest = file.ancestors().skip(1).filter(whole).last();
        highest.map_or_else(|| file.clone(), Path::to_owned)
    };
    let entries: BTreeSet<PathBuf> = chosen.iter().map(entry).collect();
    entries.into_iter().collect()
}

/// Formats a list, on several lines if it is long.
fn lines(list: &[String]) -> Array {
    let mut array: Array = list.iter().map(String::as_str).collect();
    if list.iter().map(String::len).sum::<usize>() > 60 {
        for item in array.iter_mut() {
            item.decor_mut().set_prefix("\n    ");
        }
        array.set_trailing("\n");
        array.set_trailing_comma(true);
    }
    array
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a folder with some files.
    pub(super) fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    fn settings(found: &Existing) -> String {
        let mut manifest: DocumentMut = "[package]\nname = \"x\"\n".parse().unwrap();
        found.write_settings(&mut manifest);
        let text = manifest.to_string();
        let (_, settings) = text.split_once("[package.metadata.farfel]\n").unwrap();
        settings.to_owned()
    }

    const MAIN: &str = "      CALL ONE(X)\n      PRINT *, X\n      END\n";
    const ONE: &str = "      SUBROUTINE ONE(X)\n      X = 1\n      END\n";

    #[test]
    fn a_makefile_says_what_belongs_to_it() {
        let make = "# old\nFC = f77\nOPT := -O2\nFFLAGS = $(OPT) -fdefault-real-8 \\\n\t-ffixed-line-length-132 -DN=3 -Iinc -Inone -fno-automatic -xHost -fbackslash\n\
                    OBJ = main.o sub/one.o\nLIBS = -llapack -lblas -lm\n\nprog: $(OBJ)\n\t$(FC) -o $@ $(OBJ) $(LIBS)\n";
        let dir = folder(&[
            ("Makefile", make),
            ("main.f", MAIN),
            ("sub/one.f", ONE),
            ("old.f", ONE),
            ("inc/a.inc", ""),
        ]);
        let found = find(dir.path(), false).unwrap().unwrap();
        assert_eq!(
            settings(&found),
            "sources = [\"main.f\", \"sub\"]\nlink = [\"lapack\", \"blas\"]\ndefines = [\"N=3\"]\n\
             include = [\"inc\"]\nflags = [\"-fbackslash\"]\nreal-kind = 8\nline-length = 132\nsave-all = true\n"
        );
        assert_eq!(found.programs, [PathBuf::from("main.f")]);
        assert_eq!(found.dropped, ["-Inone", "-xHost"]);
        let old = (PathBuf::from("old.f"), "not in Makefile".to_owned());
        assert_eq!(found.left_out, [old]);
    }

    /// `-O0` counts if there is no other level; instrumentation flags never count.
    #[test]
    fn flags_that_optimise_and_measure() {
        let make = |flags: &str| {
            format!(
                "FFLAGS = {flags}\ncov: main.f\n\tgfortran -ftest-coverage --coverage main.f -lgcov\n"
            )
        };
        for (flags, expected) in [
            ("-O0 -g", "sources = [\"main.f\"]\nopt-level = 0\n"),
            ("-O0 -O2", "sources = [\"main.f\"]\n"),
            ("-O3", "sources = [\"main.f\"]\n"),
        ] {
            let dir = folder(&[("Makefile", &make(flags)), ("main.f", MAIN)]);
            let found = find(dir.path(), false).unwrap().unwrap();
            assert_eq!(settings(&found), expected, "{flags}");
            assert!(found.dropped.is_empty(), "{:?}", found.dropped);
        }
    }

    /// Main programs in the folders for tests are listed, and those that need missing files are left out.
    #[test]
    fn tests_beside_the_sources() {
        let uses =
            |module: &str| format!("program t\n  use {module}\n  call one(x)\nend program\n");
        let fpm = "name = \"m\"\n[build]\nauto-executables = false\n[[example]]\nname = \"e\"\nsource-dir = \"show\"\n";
        let files = [
            ("fpm.toml", fpm),
            ("src/one.f", ONE),
            ("show/e.f", MAIN),
            ("test/a.f", MAIN),
            ("test/b.f90", &uses("helper")),
            ("test/helper.f90", "module helper\nend module\n"),
            ("test/c.f90", &uses("nowhere")),
        ];
        let dir = folder(&files);
        let found = find(dir.path(), false).unwrap().unwrap();
        assert_eq!(found.programs, [PathBuf::from("show/e.f")]);
        assert_eq!(found.tests, ["test/a.f", "test/b.f90"].map(PathBuf::from));
        assert_eq!(
            settings(&found),
            "sources = [\"show\", \"src\"]\nexclude = [\"test/c.f90\"]\n\
             pass-through = [\"test/b.f90\", \"test/helper.f90\"]\n"
        );
        let [(file, why)] = &found.left_out[..] else {
            panic!("{found:?}")
        };
        assert_eq!(file, Path::new("test/c.f90"));
        assert!(why.contains("F0401"), "{why}");
        // A library has no examples.
        let found = find(dir.path(), true).unwrap().unwrap();
        assert!(
            found
                .left_out
                .contains(&(PathBuf::from("show/e.f"), "not in fpm.toml".to_owned()))
        );
        assert_eq!(found.tests.len(), 2);
    }

    #[test]
    fn without_a_literal_list_all_belongs_to_it() {
        let make = "SRC = $(wildcard *.f)\nprog: $(SRC:.f=.o)\n\t$(FC) $^\n";
        let dir = folder(&[("makefile", make), ("main.f", MAIN), ("one.f", ONE)]);
        let found = find(dir.path(), false).unwrap().unwrap();
        assert_eq!(settings(&found), "sources = [\"main.f\", \"one.f\"]\n");
        assert!(found.left_out.is_empty());
    }

    #[test]
    fn fpm_and_files_that_are_refused() {
        let fpm = "name = \"model\"\n[build]\nlink = \"blas\"\n";
        let dir = folder(&[
            ("fpm.toml", fpm),
            ("app/main.f", MAIN),
            ("src/one.f", ONE),
            (
                "src/broken.f",
                "      SUBROUTINE TWO(X)\n      X = (1 +\n      END\n",
            ),
            ("test/check.f", MAIN),
        ]);
        let found = find(dir.path(), false).unwrap().unwrap();
        assert_eq!(found.name.as_deref(), Some("model"));
        assert_eq!(
            settings(&found),
            "sources = [\"app\", \"src\"]\nexclude = [\"src/broken.f\"]\nlink = [\"blas\"]\n"
        );
        let [(file, why)] = &found.left_out[..] else {
            panic!("{found:?}")
        };
        assert_eq!(file, Path::new("src/broken.f"));
        assert!(
            why.starts_with("src/broken.f:2:15: F0001 expected"),
            "{why}"
        );
    }

    #[test]
    fn cmake_says_what_belongs_to_it() {
        let lists = "cmake_minimum_required(VERSION 3.10)\nproject(model Fortran)\nset(SRC one.f)\n\
                     add_executable(main main.f ${SRC})\ntarget_link_libraries(main lapack m)\n";
        let dir = folder(&[
            ("CMakeLists.txt", lists),
            ("main.f", MAIN),
            ("one.f", ONE),
            ("old.f", ONE),
        ]);
        let found = find(dir.path(), false).unwrap().unwrap();
        assert_eq!(found.name.as_deref(), Some("model"));
        assert_eq!(
            settings(&found),
            "sources = [\"main.f\", \"one.f\"]\nlink = [\"lapack\"]\n"
        );
        let old = (PathBuf::from("old.f"), "not in CMakeLists.txt".to_owned());
        assert_eq!(found.left_out, [old]);
    }

    /// Programs are built separately: they may have subprograms of the same name.
    #[test]
    fn programs_with_subprograms_of_one_name() {
        let program = "      CALL ONE(X)\n      CALL OWN(X)\n      END\n      SUBROUTINE OWN(X)\n      X = 2\n      END\n";
        let faulty = format!("{program}      SUBROUTINE TWO(X)\n      X = (1 +\n      END\n");
        let dir = folder(&[
            ("a.f", program),
            ("b.f", program),
            ("c.f", &faulty),
            ("one.f", ONE),
        ]);
        let found = find(dir.path(), false).unwrap().unwrap();
        assert_eq!(found.programs, [PathBuf::from("a.f"), PathBuf::from("b.f")]);
        let [(file, why)] = &found.left_out[..] else {
            panic!("{found:?}")
        };
        assert_eq!(file, Path::new("c.f"));
        assert!(why.starts_with("c.f:8:15: F0001"), "{why}");
        // A library has one of each.
        let found = find(dir.path(), true).unwrap().unwrap();
        assert!(found.left_out.iter().any(|(_, why)| why.contains("F0105")));
    }

    /// Files with flags of their own are passed on, if the flags matter.
    #[test]
    fn flags_of_single_files() {
        let lists = |more: &str| {
            format!("project(m Fortran)\nadd_executable(m main.f one.f two.ff)\n{more}")
        };
        let flags = |files: &str, flags: &str| {
            let text = format!(
                "set_source_files_properties({files} PROPERTIES COMPILE_FLAGS \"{flags}\")\n"
            );
            lists(&text)
        };
        let two = "      SUBROUTINE TWO\n      END\n";
        let sources = "sources = [\"main.f\", \"one.f\", \"two.ff\"]\n";
        for (lists, expected, dropped) in [
            (flags("one.f", "-O2 -g -w -ffixed-form"), "", ""),
            (
                flags("main.f one.f two.ff", "-fbackslash"),
                "flags = [\"-fbackslash\"]\n",
                "",
            ),
            (
                flags("one.f", "-O0 -fbackslash -fno-such-flag"),
                "pass-through = [\"one.f\"]\n\n[package.metadata.farfel.file-flags]\n\"one.f\" = [\"-O0\", \"-fbackslash\"]\n",
                "-fno-such-flag (one.f)",
            ),
            (
                flags("two.ff none.f", "-fbackslash"),
                "",
                "-fbackslash (two.ff)",
            ),
        ] {
            let files = [
                ("CMakeLists.txt", lists.as_str()),
                ("main.f", MAIN),
                ("one.f", ONE),
                ("two.ff", two),
            ];
            let dir = folder(&files);
            let found = find(dir.path(), false).unwrap().unwrap();
            assert_eq!(settings(&found), format!("{sources}{expected}"), "{lists}");
            assert_eq!(found.dropped.join(" "), dropped, "{lists}");
            assert_eq!(found.left_out, []);
        }
    }

    /// Where INTEGER is to have 8 bytes, gfortran gets all of a program, and no library can have it.
    #[test]
    fn integers_of_eight_bytes() {
        let make = "FFLAGS = -fdefault-integer-8 -O2\nm: main.f sub/one.f sub/bad.f\n";
        let dir = folder(&[
            ("makefile", make),
            ("main.f", MAIN),
            ("sub/one.f", ONE),
            ("sub/bad.f", "      X = (1 +\n      END\n"),
        ]);
        let found = find(dir.path(), false).unwrap().unwrap();
        assert_eq!(
            settings(&found),
            "sources = [\"main.f\", \"sub\"]\nexclude = [\"sub/bad.f\"]\npass-through = [\".\"]\n\n\
             [package.metadata.farfel.file-flags]\n\".\" = [\"-fdefault-integer-8\"]\n"
        );
        let why = "makefile has -fdefault-integer-8, and Farfel's INTEGER has 4 bytes".to_owned();
        let passed = ["main.f", "sub/one.f"].map(|f| (PathBuf::from(f), Some(why.clone())));
        assert_eq!(found.passed, passed);
        assert!(found.left_out[0].1.contains("F0401"), "{found:?}");
        let found = find(dir.path(), true).unwrap().unwrap();
        assert_eq!(found.wide_integers.as_deref(), Some("-fdefault-integer-8"));
        assert!(!settings(&found).contains("file-flags"));
    }

    /// Files that gfortran accepts are passed through, as folders if these are complete, and files that it
    /// rejects are left out together with those that use them.
    #[test]
    fn modern_fortran_is_passed_through() {
        let module = |name: &str, body: &str| format!("module {name}\n{body}\nend module\n");
        let dir = folder(&[
            ("src/one.f", ONE),
            ("src/new/a.f90", &module("a", "  use b")),
            ("src/new/deep/b.f90", &module("b", "  integer :: n = 1")),
            ("src/new/make.ff", "      SUBROUTINE MORE\n      END\n"),
            ("src/mixed/c.f90", &module("c", "  use a")),
            ("src/mixed/d.f90", "subroutine d\nend\n"),
            ("src/mixed/e.f90", &module("e", "  use nowhere")),
            ("src/mixed/f.f90", &module("f", "  use e")),
            (
                "src/union.f",
                "      SUBROUTINE U\n      FORALL (I = 1:3) J = I\n      END\n",
            ),
            (
                "app/main.f90",
                "program p\n  use c\n  call one(x)\nend program\n",
            ),
        ]);
        let found = find(dir.path(), false).unwrap().unwrap();
        assert_eq!(
            settings(&found),
            "sources = [\"app\", \"src\"]\nexclude = [\"src/mixed/e.f90\", \"src/mixed/f.f90\"]\n\
             pass-through = [\"app\", \"src/mixed/c.f90\", \"src/new/a.f90\", \"src/new/deep\", \"src/union.f\"]\n"
        );
        assert_eq!(found.programs, [PathBuf::from("app/main.f90")]);
        let (_, why) = &found.left_out[0];
        assert!(
            why.starts_with("src/mixed/e.f90:2:3: F0401 Cannot open module file"),
            "{why}"
        );
    }

    /// gfortran compiles each file by itself, and does not see that a function has another type in the other file.
    #[test]
    fn files_that_disagree_are_passed_on() {
        let half =
            "      DOUBLE PRECISION FUNCTION HALF(X)\n      HALF = X/2\n      END\n".to_owned();
        let main = "      PRINT *, HALF(3.0)\n      END\n".to_owned();
        let dir = folder(&[("main.f", &main), ("half.f", &half)]);
        let found = find(dir.path(), false).unwrap().unwrap();
        assert_eq!(
            settings(&found),
            "sources = [\"half.f\", \"main.f\"]\npass-through = [\"main.f\"]\n"
        );
        let [(file, Some(why))] = &found.passed[..] else {
            panic!("{found:?}")
        };
        assert_eq!(file, Path::new("main.f"));
        assert!(
            why.contains("F0104 HALF is REAL here, but the function is DOUBLE PRECISION"),
            "{why}"
        );
        // In one file it does.
        let dir = folder(&[("one.f", &(main + &half)), ("main.f", MAIN)]);
        let found = find(dir.path(), false).unwrap().unwrap();
        assert!(found.passed.is_empty());
        assert_eq!(found.left_out[0].0, Path::new("one.f"));
        assert!(found.left_out[0].1.contains("F0104"));
        // Two definitions are two, whoever compiles them.
        let twice = half.clone() + &half;
        let dir = folder(&[("a.f", &twice), ("main.f", MAIN)]);
        let found = find(dir.path(), false).unwrap().unwrap();
        assert!(found.passed.is_empty());
        assert!(found.left_out[0].1.contains("F0105"));
    }

    #[test]
    fn main_programs_in_c_are_left_out() {
        let dir = folder(&[
            ("main.f", MAIN),
            ("one.f", ONE),
            ("tool.c", "int main(void) { return 0; }\n"),
            ("help.c", "int help_(void) { return 0; }\n"),
        ]);
        let found = find(dir.path(), false).unwrap().unwrap();
        assert_eq!(
            settings(&found),
            "sources = [\"help.c\", \"main.f\", \"one.f\"]\n"
        );
        assert_eq!(found.left_out.len(), 1);
        assert_eq!(found.left_out[0].0, Path::new("tool.c"));
    }

    #[test]
    fn nothing_is_left() {
        let dir = folder(&[("src/m.ff", "      MODULE M\n      END MODULE\n")]);
        let found = find(dir.path(), false).unwrap().unwrap();
        assert!(found.is_empty);
        let dir = folder(&[("one.f", ONE)]);
        assert!(!find(dir.path(), false).unwrap().unwrap().is_empty);
    }

    #[test]
    fn fpm_that_wants_no_programs() {
        let fpm = "name = \"m\"\n[build]\nauto-executables = false\n[library]\nsource-dir = \"lib\"\n\
                   [fortran]\nsource-form = \"fixed\"\n";
        let dir = folder(&[("fpm.toml", fpm), ("app/main.f", MAIN), ("lib/one.f", ONE)]);
        let found = find(dir.path(), false).unwrap().unwrap();
        assert_eq!(settings(&found), "sources = [\"lib\"]\nform = \"fixed\"\n");
        assert!(found.programs.is_empty());
    }

    #[test]
    fn no_fortran() {
        let dir = folder(&[("notes.txt", ""), ("a.c", "int a;")]);
        assert!(find(dir.path(), false).unwrap().is_none());
        let dir = folder(&[("src/one.f", ONE)]);
        assert_eq!(settings(&find(dir.path(), false).unwrap().unwrap()), "");
    }
}
