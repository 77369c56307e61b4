//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use farfel_driver::ExpandStage;

use crate::shell::{MessageFormat, Verbosity};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::BrightGreen.on_default().bold())
    .usage(AnsiColor::BrightGreen.on_default().bold())
    .literal(AnsiColor::BrightCyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Builds programs of Farfel, Fortran and Rust
#[derive(Debug, Parser)]
#[command(name = "farfel", bin_name = "farfel", version, styles = STYLES)]
#[command(
    after_help = "Exit codes: 0 fine; 1 faults in the code, the settings, files or tools;\n\
    2 a wrong command line, or farfel itself could not work. `run` and `test`\n\
    hand on the exit code of what they run."
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Args)]
pub struct Global {
    /// Say what runs
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Say nothing but errors
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Colours: auto, always or never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    color: Color,
    /// How errors and warnings are shown: human, short, json, github or sarif
    #[arg(long, global = true, value_name = "FORMAT", default_value = "human")]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub message_format: MessageFormat,
    /// Work in this directory
    #[arg(short = 'C', global = true, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Look for faults of Farfel itself after every pass, as FARFEL_VERIFY_PASSES=1
    #[arg(long, global = true)]
    verify_passes: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

impl Global {
    pub fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, 0) => Verbosity::Normal,
            (false, _) => Verbosity::Verbose,
        }
    }

    /// The option, or the variable where it is not given.
    pub fn verifies_passes(&self) -> bool {
        let asked = std::env::var(farfel_driver::VERIFY_PASSES);
        self.verify_passes || asked.is_ok_and(|v| !v.is_empty() && v != "0")
    }

    pub fn color(&self) -> anstream::ColorChoice {
        match self.color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a new project in a new directory
    New(New),
    /// Make the current directory a Farfel project
    Init(Init),
    /// Compile a project, or a main program in one file
    #[command(visible_alias = "b")]
    Build(Build),
    /// Compile and run a project, or a main program in one file
    #[command(visible_alias = "r")]
    Run(Run),
    /// Run the tests of a project
    #[command(visible_alias = "t")]
    Test(Test),
    /// Look for faults without compiling
    #[command(visible_alias = "c")]
    Check(Check),
    /// Run the benchmarks of a project
    Bench(Bench),
    /// Write the documentation of a project, with the comments of its Fortran
    Doc(Doc),
    /// Remove what was built; the build cache stays
    Clean(Clean),
    /// Add a dependency: cargo add
    Add(ToCargo),
    /// Take newer versions of dependencies: cargo update
    Update(ToCargo),
    /// Show what the project depends on: cargo tree
    Tree(ToCargo),
    /// Install the programs of a project: cargo install
    Install(ToCargo),
    /// Run a command again when a source changes
    #[command(hide = true)]
    Watch(ToCargo),
    /// Hold the derivatives of all AD blocks against differences, where a program or tests come
    Verify(Verify),
    /// Print the program after a stage of the compiler
    Expand(Expand),
    /// Lay source text out: indentation, blanks, continuation lines, source form
    Fmt(Fmt),
    /// Say what a fault is about and what to do, by its code or name
    Explain(Explain),
    /// Show who calls whom and which derivatives that takes, or the steps of a build
    Graph(Graph),
    /// Show where variables lie in COMMON and EQUIVALENCE
    Storage(Storage),
    /// Show what procedures do with their arguments and with COMMON, through all calls
    Intents(Intents),
    /// Differentiate Fortran 77 by Tapenade's command line, without Tapenade
    Tapenade(Tapenade),
    /// Inspect and clean the build cache
    Cache(Cache),
    /// Say which tools are there and which are missing
    Doctor(Doctor),
    /// Print the manual page, or write those of all commands
    Man(Man),
    /// Serve a build script
    #[command(hide = true)]
    BuildScript(BuildScript),
    /// Print completions for a shell
    Completions {
        /// The shell to complete for
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
pub struct BuildScript {
    /// The version of the protocol
    #[arg(long)]
    pub protocol: u32,
}

#[derive(Debug, Args)]
pub struct Man {
    /// The directory for the pages of all commands
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// What is handed on to cargo as it is.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct ToCargo {
    /// Options and arguments of cargo's command; `--help` shows them
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    pub arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct Bench {
    /// Only benchmarks whose names contain this
    pub name: Option<String>,
    /// Compile, but do not run
    #[arg(long)]
    pub no_run: bool,
    /// Optimise, as benchmarks always are
    #[arg(short, long)]
    pub release: bool,
    #[command(flatten)]
    pub cargo: CargoOptions,
    #[command(flatten)]
    pub targets: Targets,
    /// What the benchmarks get
    #[arg(last = true)]
    pub arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct Doc {
    /// Open it in a browser
    #[arg(long)]
    pub open: bool,
    /// Leave dependencies out
    #[arg(long)]
    pub no_deps: bool,
    /// Private items, too
    #[arg(long)]
    pub document_private_items: bool,
    /// Optimise
    #[arg(short, long)]
    pub release: bool,
    #[command(flatten)]
    pub cargo: CargoOptions,
}

#[derive(Debug, Args)]
pub struct Clean {
    /// Only what was optimised
    #[arg(short, long)]
    pub release: bool,
    #[command(flatten)]
    pub cargo: CargoOptions,
}

#[derive(Debug, Args)]
pub struct New {
    /// Where to put the project; its last part is the project's name
    pub path: PathBuf,
    #[command(flatten)]
    pub options: NewOptions,
}

#[derive(Debug, Args)]
pub struct Init {
    /// The directory
    #[arg(default_value = ".")]
    pub path: PathBuf,
    #[command(flatten)]
    pub options: NewOptions,
}

#[derive(Debug, Args)]
pub struct NewOptions {
    /// A program, the default: the template `bin`
    #[arg(long, conflicts_with = "template")]
    pub bin: bool,
    /// A library: the template `lib`
    #[arg(long, conflicts_with_all = ["bin", "template"])]
    pub lib: bool,
    /// What to start from
    #[arg(long, value_name = "NAME")]
    pub template: Option<crate::template::Template>,
    /// The package's name, when it is not that of the directory
    #[arg(long)]
    pub name: Option<String>,
    /// Version control: git unless the project lands in a repository
    #[arg(long, value_name = "VCS")]
    pub vcs: Option<Vcs>,
    /// Directory with the farfel-build and farfel-runtime that the project shall use
    #[arg(long, value_name = "DIR", env = "FARFEL_PATH", hide_env_values = true)]
    pub farfel_path: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Vcs {
    Git,
    None,
}

/// Which parts of the packages; without any, those that cargo's command takes by itself.
#[derive(Debug, Clone, Default, Args)]
pub struct Targets {
    /// The library
    #[arg(long, help_heading = "Project")]
    pub lib: bool,
    /// All programs
    #[arg(long, help_heading = "Project")]
    pub bins: bool,
    /// All examples
    #[arg(long, help_heading = "Project")]
    pub examples: bool,
    /// All tests
    #[arg(long, help_heading = "Project")]
    pub tests: bool,
    /// All benchmarks
    #[arg(long, help_heading = "Project")]
    pub benches: bool,
    /// All of these
    #[arg(long, help_heading = "Project")]
    pub all_targets: bool,
}

/// What cargo understands too and is handed on to it.
#[derive(Debug, Clone, Default, Args)]
pub struct CargoOptions {
    /// The project's Cargo.toml
    #[arg(long, value_name = "PATH", help_heading = "Project")]
    pub manifest_path: Option<PathBuf>,
    /// Only this package
    #[arg(short, long, value_name = "SPEC", help_heading = "Project")]
    pub package: Vec<String>,
    /// All packages of the workspace
    #[arg(long, help_heading = "Project")]
    pub workspace: bool,
    /// All packages of the workspace but this one
    #[arg(
        long,
        value_name = "SPEC",
        help_heading = "Project",
        requires = "workspace"
    )]
    pub exclude: Vec<String>,
    /// Only this program
    #[arg(long, value_name = "NAME", help_heading = "Project")]
    pub bin: Vec<String>,
    /// Only this example
    #[arg(long, value_name = "NAME", help_heading = "Project")]
    pub example: Vec<String>,
    /// Features to turn on
    #[arg(short = 'F', long, value_name = "FEATURES", help_heading = "Project")]
    pub features: Vec<String>,
    /// Turn all features on
    #[arg(long, help_heading = "Project")]
    pub all_features: bool,
    /// Leave the default features off
    #[arg(long, help_heading = "Project")]
    pub no_default_features: bool,
    /// The profile to build with
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Project",
        conflicts_with = "release"
    )]
    pub profile: Option<String>,
    /// The machine to build for
    #[arg(long, value_name = "TRIPLE", help_heading = "Project")]
    pub target: Option<String>,
    /// Where to put what is built
    #[arg(long, value_name = "DIR", help_heading = "Project")]
    pub target_dir: Option<PathBuf>,
    /// How many jobs at once
    #[arg(short, long, value_name = "N", help_heading = "Project")]
    pub jobs: Option<String>,
    /// Use Cargo.lock as it is
    #[arg(long, help_heading = "Project")]
    pub locked: bool,
    /// Stay off the network
    #[arg(long, help_heading = "Project")]
    pub offline: bool,
}

/// How single files are read and compiled; a project says so in its Cargo.toml.
#[derive(Debug, Args)]
pub struct FileOptions {
    /// Bytes of a REAL
    #[arg(
        long,
        value_name = "BYTES",
        requires = "files",
        help_heading = "Single files"
    )]
    #[arg(value_parser = real_kind)]
    pub real_kind: Option<u8>,
    /// Source form, when it shall not be detected
    #[arg(long, requires = "files", help_heading = "Single files")]
    pub form: Option<SourceForm>,
    /// The Fortran compiler
    #[arg(
        long,
        value_name = "PATH",
        requires = "files",
        help_heading = "Single files"
    )]
    pub fc: Option<PathBuf>,
    /// Where INCLUDE looks after the directory of the including file
    #[arg(
        short = 'I',
        long,
        value_name = "DIR",
        requires = "files",
        help_heading = "Single files"
    )]
    pub include: Vec<PathBuf>,
}

fn real_kind(text: &str) -> Result<u8, String> {
    match text {
        "4" => Ok(4),
        "8" => Ok(8),
        _ => Err("a REAL has 4 or 8 bytes".into()),
    }
}

/// Levels of warnings. A name outdoes `all` and `warnings`, whatever the order.
#[derive(Debug, Args)]
pub struct LintOptions {
    /// Do not show this warning; `farfel explain` lists them
    #[arg(short = 'A', long, value_name = "NAME", help_heading = "Warnings")]
    pub allow: Vec<String>,
    /// Show this warning
    #[arg(short = 'W', long, value_name = "NAME", help_heading = "Warnings")]
    pub warn: Vec<String>,
    /// Make this warning an error; `warnings` are all that are shown
    #[arg(short = 'D', long, value_name = "NAME", help_heading = "Warnings")]
    pub deny: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Explain {
    /// Code or name of a fault; without, all are listed
    pub name: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SourceForm {
    Fixed,
    Free,
}

#[derive(Debug, Args)]
pub struct Build {
    /// A main program and what belongs to it; without, the project is built
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The executable to make of the files
    #[arg(
        short,
        long,
        value_name = "OUT",
        requires = "files",
        help_heading = "Single files"
    )]
    pub output: Option<PathBuf>,
    /// Optimise
    #[arg(short, long)]
    pub release: bool,
    /// Write a page about what ran when and what came from the cache
    #[arg(long)]
    pub timings: bool,
    #[command(flatten)]
    pub lints: LintOptions,
    #[command(flatten)]
    pub file_options: FileOptions,
    #[command(flatten)]
    pub cargo: CargoOptions,
    #[command(flatten)]
    pub targets: Targets,
}

#[derive(Debug, Args)]
pub struct Run {
    /// A main program and what belongs to it; without, the project is run
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What the program gets
    #[arg(last = true)]
    pub arguments: Vec<OsString>,
    /// Optimise
    #[arg(short, long)]
    pub release: bool,
    #[command(flatten)]
    pub file_options: FileOptions,
    #[command(flatten)]
    pub cargo: CargoOptions,
}

#[derive(Debug, Args)]
pub struct Test {
    /// Only tests whose names contain this
    pub name: Option<String>,
    /// Compile, but do not run
    #[arg(long)]
    pub no_run: bool,
    /// Run all tests whether or not some fail
    #[arg(long)]
    pub no_fail_fast: bool,
    /// Optimise
    #[arg(short, long)]
    pub release: bool,
    #[command(flatten)]
    pub cargo: CargoOptions,
    #[command(flatten)]
    pub targets: Targets,
    /// What the test programs get
    #[arg(last = true)]
    pub arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct Check {
    /// What to read, as one program; without, the project is checked
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// As if optimising
    #[arg(short, long)]
    pub release: bool,
    #[command(flatten)]
    pub lints: LintOptions,
    #[command(flatten)]
    pub file_options: FileOptions,
    #[command(flatten)]
    pub cargo: CargoOptions,
    #[command(flatten)]
    pub targets: Targets,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Each block is checked where it is executed: at the points that the program, or the\n\
    tests of the project, come to. Its statements run at points around, in processes of\n\
    their own; what they write goes nowhere. The exit code is 1 if a derivative is wrong.\n\n\
    Examples:\n  \
    farfel verify                         the tests of the project\n  \
    farfel verify model.ff -- 3 7         a program with its arguments\n  \
    farfel verify --points 10 model.ff    the first ten executions of each block"
)]
pub struct Verify {
    /// A main program and what belongs to it; without, the tests of the project, or its
    /// programs if there are none
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// How many executions of each block are checked, the first ones
    #[arg(long, value_name = "N", default_value = "3")]
    pub points: u32,
    /// After how many seconds a run of a block is given up
    #[arg(long, value_name = "N", default_value = "60")]
    pub seconds: u32,
    /// Compile REAL as DOUBLE PRECISION, so that differences tell more
    #[arg(long)]
    pub double: bool,
    /// As what: text or json
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    #[arg(hide_possible_values = true)]
    pub format: TextFormat,
    /// Optimise
    #[arg(short, long)]
    pub release: bool,
    /// What the program, or the test programs, get
    #[arg(last = true)]
    pub arguments: Vec<OsString>,
    #[command(flatten)]
    pub file_options: FileOptions,
    #[command(flatten)]
    pub cargo: CargoOptions,
}

#[derive(Debug, Args)]
pub struct Expand {
    /// What to read, as one program; without, the sources of the project
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// After which stage: parse, lift, specialize, prune, outline, stage or final
    #[arg(long, value_name = "STAGE", default_value = "final")]
    pub stage: ExpandStage,
    /// Only this subprogram and what it needs, by its name after the stage
    #[arg(long, value_name = "NAME", conflicts_with_all = ["html", "view"])]
    pub root: Vec<String>,
    /// Instead of the program: which call made which copy of a subprogram, and why
    #[arg(long, conflicts_with = "stage", group = "view")]
    pub explain: bool,
    /// Instead of the program: in which contexts subprograms are differentiated, and what is active
    #[arg(long, conflicts_with = "stage", group = "view")]
    pub analysis: bool,
    /// Write a page with the sources and what is compiled side by side
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stage", "view"])]
    pub html: Option<PathBuf>,
    /// With --explain or --analysis, as what: text or json
    #[arg(long, value_name = "FORMAT", default_value = "text", requires = "view")]
    #[arg(hide_possible_values = true)]
    pub format: TextFormat,
    #[command(flatten)]
    pub file_options: FileOptions,
    #[command(flatten)]
    pub project: OneProject,
}

#[derive(Debug, Args)]
pub struct Fmt {
    /// What to lay out; without, the sources of the project
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write nothing; say which files would change, and fail if there are any
    #[arg(long, conflicts_with = "stdout")]
    pub check: bool,
    /// Write nothing; show what would change
    #[arg(long, conflicts_with = "stdout")]
    pub diff: bool,
    /// Write to standard output, not to the files
    #[arg(long, requires = "files")]
    pub stdout: bool,
    /// Convert to this source form
    #[arg(long)]
    pub form: Option<SourceForm>,
    /// The sources of all packages of the workspace
    #[arg(long, conflicts_with_all = ["files", "package"], help_heading = "Project")]
    pub all: bool,
    /// Letters of names and keywords: keep, lower or upper
    #[arg(long, value_name = "CASE", default_value = "keep")]
    #[arg(hide_possible_values = true)]
    pub case: LetterCase,
    #[command(flatten)]
    pub project: OneProject,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LetterCase {
    Keep,
    Lower,
    Upper,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    farfel graph                          the project's subprograms, as a tree\n  \
    farfel graph --root solve             what SOLVE calls\n  \
    farfel graph --plan                   the steps of a build\n  \
    farfel graph --format svg -o calls.svg   a drawing\n  \
    farfel graph --format html -o calls.html   a page to search, fold and follow, for large programs")]
pub struct Graph {
    /// What to read, as one program; without, the sources of the project
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The steps of a build, in place of subprograms
    #[arg(long)]
    pub plan: bool,
    /// Only what is needed for this subprogram or step
    #[arg(long, value_name = "NAME")]
    pub root: Vec<String>,
    /// As what: tree, mermaid, dot, svg or html
    #[arg(long, value_name = "FORMAT", default_value = "tree")]
    #[arg(hide_possible_values = true)]
    pub format: GraphFormat,
    /// The file to write, in place of standard output
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub file_options: FileOptions,
    #[command(flatten)]
    pub project: OneProject,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    Tree,
    Mermaid,
    Dot,
    Svg,
    Html,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    farfel storage                        the COMMON blocks of the project, unit by unit\n  \
    farfel storage old.f more.f           those of files, as one program\n  \
    farfel storage --format json          for other programs")]
pub struct Storage {
    #[command(flatten)]
    pub view: View,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    farfel intents                        in, out, inout or unused, for the project\n  \
    farfel intents old.f more.f           those of files, as one program\n  \
    farfel intents --format json          for other programs")]
pub struct Intents {
    #[command(flatten)]
    pub view: View,
}

/// What a table is about, and how it is shown.
#[derive(Debug, Args)]
pub struct View {
    /// What to read, as one program; without, the sources of the project
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// As what: text or json
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    #[arg(hide_possible_values = true)]
    pub format: TextFormat,
    #[command(flatten)]
    pub file_options: FileOptions,
    #[command(flatten)]
    pub project: OneProject,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    Text,
    Json,
}

/// One package, for what shows things.
#[derive(Debug, Args)]
pub struct OneProject {
    /// The project's Cargo.toml
    #[arg(
        long,
        value_name = "PATH",
        help_heading = "Project",
        conflicts_with = "files"
    )]
    pub manifest_path: Option<PathBuf>,
    /// The package, when the workspace has several
    #[arg(
        short,
        long,
        value_name = "SPEC",
        help_heading = "Project",
        conflicts_with = "files"
    )]
    pub package: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    override_usage = "farfel tapenade [OPTIONS] FILE..."
)]
pub struct Tapenade {
    /// Options and files as Tapenade takes them; `-help` shows them
    #[arg(last = true, value_name = "OPTIONS")]
    pub arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct Cache {
    #[command(subcommand)]
    pub action: CacheAction,
}

#[derive(Debug, Subcommand)]
pub enum CacheAction {
    /// Show where it is, how large it is, and how often it helped
    Stats,
    /// Read every entry and remove those that are damaged
    Verify,
    /// Remove what was used least recently until the rest is within the bound
    Gc {
        /// How many MiB may stay, when not as many as the settings say
        #[arg(long, value_name = "MIB")]
        max_size: Option<u64>,
    },
    /// Remove all entries
    Clear,
}

#[derive(Debug, Args)]
pub struct Doctor {
    /// Install what is missing and can be installed
    #[arg(long)]
    pub fix: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn arguments_of_the_program_stand_after_two_dashes() {
        let cli = Cli::try_parse_from(["farfel", "run", "a.ff", "-q", "--", "-v", "b"]).unwrap();
        assert_eq!(cli.global.verbosity(), Verbosity::Quiet);
        let Command::Run(run) = cli.command else {
            panic!("not run")
        };
        assert_eq!(run.files, [PathBuf::from("a.ff")]);
        assert_eq!(run.arguments, ["-v", "b"]);
    }

    /// README.md and the pages in `docs` show commands that exist.
    #[test]
    fn commands_of_the_documentation() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut pages = vec![root.join("README.md")];
        let docs = std::fs::read_dir(root.join("docs")).unwrap();
        pages.extend(
            docs.map(|entry| entry.unwrap().path())
                .filter(|p| p.is_file()),
        );
        let mut tried = 0;
        for page in pages {
            let text = std::fs::read_to_string(&page).unwrap();
            for block in text.split("```sh\n").skip(1) {
                let lines = block.split("```").next().unwrap_or_default().lines();
                for line in lines.flat_map(|l| l.split('#').next()) {
                    for command in line.split("&&").map(str::trim) {
                        // What follows `farfel tapenade` is another command line.
                        if !command.starts_with("farfel ") || command.contains("tapenade") {
                            continue;
                        }
                        let words = command.split_whitespace();
                        let parsed = Cli::try_parse_from(words);
                        assert!(parsed.is_ok(), "{}: {command}", page.display());
                        tried += 1;
                    }
                }
            }
        }
        assert!(tried > 30, "{tried} commands");
    }
}
