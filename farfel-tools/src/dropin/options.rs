//! Tapenade's command line.
//!
//! Its options have a single dash, with values in the next word, which common option parsers do not
//! support. An unknown option is an error here (Tapenade takes it for a file name and continues
//! without it).

use super::heads::{HeadSpec, HeadSyntaxError, names, parse_heads};
use farfel_ad::layout::Pattern;
use farfel_ad::reverse::ExecutedOnce;
use std::path::PathBuf;

/// The requested action.
#[derive(Debug, Clone)]
pub enum Action {
    /// `-help`, `--help`, or nothing at all.
    Help,
    /// `-version`
    Version,
    /// Differentiate.
    Differentiate(Box<Options>),
}

/// The kinds of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// `-d`
    Tangent,
    /// `-b`
    Adjoint,
    /// `-b` and `-d` together.
    Both,
    /// `-p`: read and print.
    Print,
}

/// How names are formed: suffixes, or patterns with `%` for the original name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patterns {
    /// For subprograms, as written, and for file names.
    pub units: String,
    /// For variables.
    pub variables: String,
}

impl Patterns {
    fn new(units: &str, variables: &str) -> Self {
        Patterns {
            units: units.to_owned(),
            variables: variables.to_owned(),
        }
    }
}

/// A parsed command line.
#[derive(Debug, Clone)]
pub struct Options {
    /// What to generate.
    pub mode: Mode,
    /// Whether to generate vector mode.
    pub vector: bool,
    /// What to differentiate.
    pub heads: Vec<HeadSpec>,
    /// `-o`: everything goes into one file of this name, plus the suffix.
    pub output: Option<String>,
    /// `-O`
    pub directory: PathBuf,
    /// Whether to write one file for each subprogram.
    pub split: bool,
    /// Names of tangents.
    pub tangent: Patterns,
    /// Names of adjoints.
    pub adjoint: Patterns,
    /// The maximum number of directions, unless it is a constant defined by the user.
    pub most_directions: Option<i64>,
    /// Whether to keep irrelevant independents and dependents.
    pub fix_interface: bool,
    /// Whether derivatives must not get names that the sources mention anywhere. Tapenade 3.16 does
    /// so; older releases, which only know `-difffuncname`, do not rename a derivative that a
    /// caller already refers to.
    pub avoid_mentioned: bool,
    /// The subprograms whose calls are not executed again to save memory: `-nocheckpoint`, or with
    /// `-defaultnocheckpoint` all.
    pub executed_once: ExecutedOnce,
    /// `-openmp`: whether directives of OpenMP are followed.
    pub openmp: bool,
    /// Whether the user does not want to define the sizes of arrays.
    pub no_isize: bool,
    /// The size of a default REAL in bytes: 8 with `-r8`, so that REAL and DOUBLE PRECISION are one
    /// type.
    pub real: u8,
    /// The size of a default INTEGER in bytes: 8 with `-i8`.
    pub integer: u8,
    /// `-combinedivisions`: whether quotients are computed with one division each.
    pub combine_divisions: bool,
    /// Additional directories for INCLUDE files.
    pub include: Vec<PathBuf>,
    /// Files with descriptions of procedures without source.
    pub descriptions: Vec<PathBuf>,
    /// The sources.
    pub files: Vec<PathBuf>,
    /// Notes for the user about options that are accepted and ignored.
    pub notes: Vec<String>,
}

/// Why a command line cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    /// Unknown option.
    #[error("unknown option `{0}`")]
    Unknown(String),
    /// The value is missing.
    #[error("`{0}` needs a value")]
    NoValue(String),
    /// The value is not a number.
    #[error("`{0} {1}`: not a number of directions")]
    Number(String, String),
    /// There are no source files.
    #[error("no input files")]
    NoFiles,
    /// Another language than Fortran 77.
    #[error(
        "`{option} {language}`: only Fortran 77 is read and written (`fortran77` or `fortran`)"
    )]
    Language {
        /// The option.
        option: String,
        /// Its value.
        language: String,
    },
    /// A suffix does not form Fortran names.
    #[error("`{option} {value}`: this makes no Fortran names")]
    Pattern {
        /// The option.
        option: String,
        /// Its value.
        value: String,
    },
    /// A head that cannot be parsed.
    #[error(transparent)]
    Head(#[from] HeadSyntaxError),
}

/// Ignored options with a value, with a note if there should be one.
const IGNORED_WITH_VALUE: &[(&str, Option<&str>)] = &[
    ("-adjmodulename", None),
    ("-tgtmodulename", None),
    ("-modulename", None),
    ("-diffmodulename", None),
    ("-extad", Some("descriptions of derivatives are not read")),
    ("-copyname", None),
    ("-linelength", None),
    ("-msglevel", None),
    ("-tracelevel", None),
    ("-java", None),
    ("-dump", Some("nothing is dumped")),
    ("-dumpunit", None),
    ("-nooptim", None),
    (
        "-specializeactivity",
        Some("each subprogram has one derivative, good for all its calls"),
    ),
    ("-parserfileseparator", None),
    ("-outputfiletype", None),
    ("-include", None),
    ("-traceactivity", None),
    ("-split", None),
];

/// Ignored options without a value.
const IGNORED: &[(&str, Option<&str>)] = &[
    ("-nolib", None),
    ("-html", Some("no pages are written")),
    ("-noinclude", None),
    (
        "-context",
        Some("derivatives are not validated at run time"),
    ),
    (
        "-debugtgt",
        Some("derivatives are not validated at run time"),
    ),
    (
        "-debugadj",
        Some("derivatives are not validated at run time"),
    ),
    (
        "-directvalid",
        Some("derivatives are not validated at run time"),
    ),
    ("-msginfile", Some("messages are in the .msg file only")),
    ("-nocomment", None),
    ("-numberpushpops", None),
    ("-viewcallgraph", None),
    ("-i2", Some("sizes are those that the program declares")),
    ("-dr4", None),
    ("-dr8", None),
    ("-dr16", None),
    ("-p4", None),
    ("-p8", None),
];

/// Parses a command line, without the name of the command.
///
/// # Errors
///
/// The first word that cannot be parsed.
pub fn parse(arguments: &[String]) -> Result<Action, UsageError> {
    let mut options = Options {
        mode: Mode::Tangent,
        vector: false,
        heads: Vec::new(),
        output: None,
        directory: PathBuf::from("."),
        split: false,
        tangent: Patterns::new("_d", "d"),
        adjoint: Patterns::new("_b", "b"),
        most_directions: None,
        avoid_mentioned: true,
        fix_interface: false,
        executed_once: ExecutedOnce::default(),
        openmp: false,
        no_isize: false,
        real: 4,
        integer: 4,
        combine_divisions: false,
        include: Vec::new(),
        descriptions: Vec::new(),
        files: Vec::new(),
        notes: Vec::new(),
    };
    if arguments.is_empty() {
        return Ok(Action::Help);
    }
    let (mut tangent, mut adjoint, mut print) = (false, false, false);
    let (mut vars, mut outvars) = (None, None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || {
            let value = words.next().cloned();
            value.ok_or_else(|| UsageError::NoValue(word.clone()))
        };
        match word.as_str() {
            "-help" | "--help" | "-h" => return Ok(Action::Help),
            "-version" | "--version" => return Ok(Action::Version),
            "-d" | "-tangent" | "-forward" => tangent = true,
            "-b" | "-reverse" | "-backward" | "-cl" => adjoint = true,
            "-p" | "-preprocess" => print = true,
            "-r8" => options.real = 8,
            "-r4" => options.real = 4,
            "-i8" => options.integer = 8,
            "-i4" => options.integer = 4,
            "-multi" | "-vector" => options.vector = true,
            "-head" | "-root" | "-variables" => options.heads.extend(parse_heads(&value()?)?),
            "-vars" => vars = Some(names(&value()?)),
            "-outvars" => outvars = Some(names(&value()?)),
            "-o" | "-output" => options.output = Some(value()?),
            "-O" | "-outputdirectory" => options.directory = PathBuf::from(value()?),
            "-splitoutputfiles" => options.split = true,
            "-tgtfuncname" => options.tangent.units = pattern(word, value()?)?,
            "-tgtvarname" => options.tangent.variables = pattern(word, value()?)?,
            "-adjfuncname" => options.adjoint.units = pattern(word, value()?)?,
            "-adjvarname" => options.adjoint.variables = pattern(word, value()?)?,
            "-difffuncname" => {
                options.tangent.units = pattern(word, value()?)?;
                options.adjoint.units.clone_from(&options.tangent.units);
                options.avoid_mentioned = false;
                options.notes.push(deprecated(word, "-tgtfuncname"));
            }
            "-diffvarname" => {
                options.tangent.variables = pattern(word, value()?)?;
                options
                    .adjoint
                    .variables
                    .clone_from(&options.tangent.variables);
                options.notes.push(deprecated(word, "-tgtvarname"));
            }
            "-nbdirsmax" => {
                let text = value()?;
                let number = text.parse().ok().filter(|n| *n > 0);
                options.most_directions =
                    Some(number.ok_or_else(|| UsageError::Number(word.clone(), text))?);
            }
            "-fixinterface" => options.fix_interface = true,
            "-nocheckpoint" => {
                let found = names(&value()?).into_iter().map(Into::into);
                options.executed_once.subprograms.extend(found);
            }
            "-defaultnocheckpoint" => options.executed_once.all = true,
            "-openmp" => options.openmp = true,
            "-combinedivisions" => options.combine_divisions = true,
            "-noisize" | "-noisize77" => options.no_isize = true,
            "-ext" => options.descriptions.push(PathBuf::from(value()?)),
            "-I" => options.include.push(PathBuf::from(value()?)),
            "-inputlanguage" | "-outputlanguage" => {
                let language = value()?;
                if !["fortran", "fortran77"].contains(&language.to_lowercase().as_str()) {
                    let option = word.clone();
                    return Err(UsageError::Language { option, language });
                }
            }
            other => {
                let lower = other.to_lowercase();
                let find = |list: &[(&str, Option<&str>)]| {
                    list.iter()
                        .find(|(name, _)| *name == lower)
                        .map(|(_, note)| note.map(|n| format!("`{other}`: {n}")))
                };
                if let Some(note) = find(IGNORED_WITH_VALUE) {
                    value()?;
                    options.notes.extend(note);
                } else if let Some(note) = find(IGNORED) {
                    options.notes.extend(note);
                } else if let Some(dir) = other.strip_prefix("-I") {
                    options.include.push(PathBuf::from(dir));
                } else if other.starts_with('-') && other.len() > 1 {
                    return Err(UsageError::Unknown(other.to_owned()));
                } else {
                    options.files.push(PathBuf::from(other));
                }
            }
        }
    }
    options.mode = match (print, tangent, adjoint) {
        (true, ..) => Mode::Print,
        (_, _, false) => Mode::Tangent,
        (_, false, true) => Mode::Adjoint,
        (_, true, true) => Mode::Both,
    };
    if options.files.is_empty() {
        return Err(UsageError::NoFiles);
    }
    if vars.is_some() || outvars.is_some() {
        // They belong to the last head, or to the one that is found without `-head`.
        if options.heads.is_empty() {
            options.heads.push(HeadSpec::default());
        }
        if let Some(head) = options.heads.last_mut() {
            head.independents = vars.or(head.independents.take());
            head.dependents = outvars.or(head.dependents.take());
        }
    }
    Ok(Action::Differentiate(Box::new(options)))
}

fn deprecated(old: &str, new: &str) -> String {
    format!("`{old}` is the old name of `{new}`")
}

fn pattern(option: &str, value: String) -> Result<String, UsageError> {
    match Pattern::new(&value).is_valid() {
        true => Ok(value),
        false => Err(UsageError::Pattern {
            option: option.to_owned(),
            value,
        }),
    }
}

impl Options {
    /// Returns the base name of a file: formed with the suffix for subprograms, in vector mode with
    /// a `v`.
    pub fn file_stem(&self, of: &str) -> String {
        let pattern = match self.mode {
            Mode::Print => "_p",
            Mode::Tangent => &self.tangent.units,
            Mode::Adjoint => &self.adjoint.units,
            Mode::Both => "_db",
        };
        let v = match self.vector && self.mode != Mode::Print {
            true => "v",
            false => "",
        };
        match pattern.split_once('%') {
            Some((before, after)) => format!("{before}{of}{after}{v}"),
            None => format!("{of}{pattern}{v}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &[&str]) -> Options {
        let words: Vec<String> = line.iter().map(|w| (*w).to_owned()).collect();
        match parse(&words) {
            Ok(Action::Differentiate(options)) => *options,
            other => panic!("{other:?}"),
        }
    }

    fn error(line: &[&str]) -> String {
        let words: Vec<String> = line.iter().map(|w| (*w).to_owned()).collect();
        parse(&words).unwrap_err().to_string()
    }

    #[test]
    fn the_usual_command_line() {
        let o = options(&[
            "-d",
            "-head",
            "f(y)/(x)",
            "-tgtfuncname",
            "_g2",
            "-tgtvarname",
            "_g2",
            "-o",
            "out",
            "-O",
            "gen",
            "a.f",
            "b.f",
        ]);
        assert_eq!(o.mode, Mode::Tangent);
        assert_eq!(o.heads.len(), 1);
        assert_eq!(o.file_stem("out"), "out_g2");
        assert_eq!(o.directory, PathBuf::from("gen"));
        assert_eq!(o.files, [PathBuf::from("a.f"), PathBuf::from("b.f")]);
        assert!(o.notes.is_empty());
    }

    #[test]
    fn old_spellings_mean_the_same() {
        let o = options(&[
            "-forward",
            "-root",
            "f",
            "-vars",
            "x, z",
            "-outvars",
            "y",
            "-difffuncname",
            "_g",
            "-diffvarname",
            "_g",
            "-output",
            "o",
            "-outputdirectory",
            "p",
            "a.f",
        ]);
        assert_eq!(
            o.heads[0].independents.as_deref(),
            Some(&["X".into(), "Z".into()][..])
        );
        assert_eq!(o.heads[0].dependents.as_deref(), Some(&["Y".into()][..]));
        assert_eq!(o.tangent, Patterns::new("_g", "_g"));
        assert_eq!(o.adjoint, o.tangent);
        assert_eq!(o.notes.len(), 2);
    }

    #[test]
    fn vector_mode_adds_a_letter() {
        assert_eq!(options(&["-multi", "a.f"]).file_stem("a"), "a_dv");
        let o = options(&["-vector", "-tgtfuncname", "g_%", "a.f"]);
        assert_eq!(o.file_stem("a"), "g_av");
    }

    #[test]
    fn what_means_nothing_here_is_accepted() {
        let o = options(&[
            "-r8",
            "-i4",
            "-dr8",
            "-linelength",
            "72",
            "-msglevel",
            "20",
            "-copyname",
            "_c",
            "-noinclude",
            "-nolib",
            "-java",
            "-mx1g",
            "-nocheckpoint",
            "f g",
            "-tgtmodulename",
            "_m",
            "-inputlanguage",
            "Fortran77",
            "-outputlanguage",
            "fortran",
            "-Iinc",
            "-I",
            "inc2",
            "a.f",
        ]);
        assert!(o.notes.is_empty(), "{:?}", o.notes);
        assert_eq!(o.include.len(), 2);
        assert_eq!(options(&["-html", "a.f"]).notes.len(), 1);
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        assert_eq!(error(&["-foo", "a.f"]), "unknown option `-foo`");
        assert_eq!(error(&["a.f", "-head"]), "`-head` needs a value");
        assert_eq!(error(&["-d"]), "no input files");
        assert!(error(&["-inputlanguage", "c", "a.c"]).contains("only Fortran 77"));
        assert!(error(&["-tgtvarname", "1%", "a.f"]).contains("no Fortran names"));
    }

    #[test]
    fn modes() {
        assert_eq!(options(&["a.f"]).mode, Mode::Tangent);
        let adjoint = options(&["-backward", "-adjfuncname", "_r", "a.f"]);
        assert_eq!(adjoint.mode, Mode::Adjoint);
        assert_eq!(adjoint.file_stem("a"), "a_r");
        assert_eq!(options(&["-d", "-b", "a.f"]).mode, Mode::Both);
        assert_eq!(options(&["-p", "a.f"]).mode, Mode::Print);
    }
}
