//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use farfel_driver::ExpandStage;

use crate::shell::{MessageFormat, Verbosity};

/// The heading of the options that all commands have.
const GLOBAL: &str = "Global options";

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::BrightGreen.on_default().bold())
    .usage(AnsiColor::BrightGreen.on_default().bold())
    .literal(AnsiColor::BrightCyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Build system and project manager for Farfel, Fortran and Rust
#[derive(Debug, Parser)]
#[command(name = "farfel", bin_name = "farfel", version, styles = STYLES)]
#[command(
    after_help = "Exit codes: 0 success; 1 errors in code, settings, files or tools; 2 invalid command line, \
    or farfel could not start. `run` and `test` return the exit code of the program or tests that they ran."
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Args)]
pub struct Global {
    /// Show the commands that run
    #[arg(short, long, global = true, help_heading = GLOBAL, action = ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Print errors only
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    quiet: bool,
    /// Colours: auto, always or never
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "WHEN", default_value = "auto")]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    color: Color,
    /// Format of errors and warnings: human, short, json, github or sarif
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "FORMAT", default_value = "human")]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub message_format: MessageFormat,
    /// Change to DIR before doing anything else
    #[arg(short = 'C', global = true, help_heading = GLOBAL, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Check the compiler itself after every pass, like FARFEL_VERIFY_PASSES=1
    #[arg(long, global = true, help_heading = GLOBAL)]
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

    /// Whether the option or the environment variable asks for the checks.
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
    /// Create a project in a new directory
    New(New),
    /// Create a project in an existing directory, with or without Fortran
    Init(Init),
    /// Compile a project, or a program in a single file
    #[command(visible_alias = "b")]
    Build(Build),
    /// Compile and run a project, or a program in a single file
    #[command(visible_alias = "r")]
    Run(Run),
    /// Run the tests of a project
    #[command(visible_alias = "t")]
    Test(Test),
    /// Check for errors without compiling
    #[command(visible_alias = "c")]
    Check(Check),
    /// Run the benchmarks of a project
    Bench(Bench),
    /// Build the documentation of a project, including its Fortran comments
    Doc(Doc),
    /// Remove build output but not the build cache
    Clean(Clean),
    /// Add a dependency: cargo add
    Add(ToCargo),
    /// Update dependencies: cargo update
    Update(ToCargo),
    /// Show the dependency tree: cargo tree
    Tree(ToCargo),
    /// Install the programs of a project: cargo install
    Install(ToCargo),
    /// Run a command again when a source changes
    #[command(hide = true)]
    Watch(ToCargo),
    /// Compare the derivatives of AD blocks with finite differences
    Verify(Verify),
    /// Print the program after a compiler stage
    Expand(Expand),
    /// Make a shared library with a C header, or a Python package
    Export(Export),
    /// Format source files: indentation, blanks, continuation lines, source form
    Fmt(Fmt),
    /// Explain an error or a warning, with examples
    Explain(Explain),
    /// Show the call graph with its derivatives, or the steps of a build
    Graph(Graph),
    /// Show the storage layout of COMMON and EQUIVALENCE
    Storage(Storage),
    /// Show which arguments and COMMON variables each procedure reads and assigns
    Intents(Intents),
    /// Differentiate Fortran 77 with Tapenade's command line, without Tapenade
    Tapenade(Tapenade),
    /// Inspect and clean the build cache
    Cache(Cache),
    /// Report which tools are installed and which are missing
    Doctor(Doctor),
    /// Print the manual page, or write the pages of all commands
    Man(Man),
    /// Serve a build script
    #[command(hide = true)]
    BuildScript(BuildScript),
    /// Print shell completions
    Completions {
        /// The shell
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
    /// Write the pages of all commands to this directory
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// Arguments that are passed to cargo unchanged.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct ToCargo {
    /// Options and arguments of the cargo command; `--help` lists them
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
    /// Compile but do not run
    #[arg(long)]
    pub no_run: bool,
    /// Build optimised (benchmarks always are)
    #[arg(short, long)]
    pub release: bool,
    #[command(flatten)]
    pub cargo: CargoOptions,
    #[command(flatten)]
    pub targets: Targets,
    /// Arguments for the benchmarks
    #[arg(last = true)]
    pub arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct Doc {
    /// Open the documentation in a browser
    #[arg(long)]
    pub open: bool,
    /// Leave out dependencies
    #[arg(long)]
    pub no_deps: bool,
    /// Include private items
    #[arg(long)]
    pub document_private_items: bool,
    /// Build optimised, with the release profile
    #[arg(short, long)]
    pub release: bool,
    #[command(flatten)]
    pub cargo: CargoOptions,
}

#[derive(Debug, Args)]
pub struct Clean {
    /// Remove only the output of the release profile
    #[arg(short, long)]
    pub release: bool,
    #[command(flatten)]
    pub cargo: CargoOptions,
}

#[derive(Debug, Args)]
pub struct New {
    /// The directory to create; its name becomes the project's name
    pub path: PathBuf,
    #[command(flatten)]
    pub options: NewOptions,
}

#[derive(Debug, Args)]
pub struct Init {
    /// The directory of the project
    #[arg(default_value = ".")]
    pub path: PathBuf,
    #[command(flatten)]
    pub options: NewOptions,
}

#[derive(Debug, Args)]
pub struct NewOptions {
    /// Use the template `bin`, a program (default)
    #[arg(long, conflicts_with = "template")]
    pub bin: bool,
    /// Use the template `lib`, a library
    #[arg(long, conflicts_with_all = ["bin", "template"])]
    pub lib: bool,
    /// The template to start from
    #[arg(long, value_name = "NAME")]
    pub template: Option<crate::template::Template>,
    /// The package name [default: the directory name]
    #[arg(long)]
    pub name: Option<String>,
    /// Version control [default: git, unless the directory is in a repository]
    #[arg(long, value_name = "VCS")]
    pub vcs: Option<Vcs>,
    /// Directory with the farfel-build and farfel-runtime crates to depend on
    #[arg(long, value_name = "DIR", env = "FARFEL_PATH", hide_env_values = true)]
    pub farfel_path: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Vcs {
    Git,
    None,
}

/// Which targets of the packages; without any, cargo's default.
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
    /// All targets
    #[arg(long, help_heading = "Project")]
    pub all_targets: bool,
}

/// Options that are passed to cargo.
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
    /// All packages of the workspace except this one
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
    /// Features to activate
    #[arg(short = 'F', long, value_name = "FEATURES", help_heading = "Project")]
    pub features: Vec<String>,
    /// Activate all features
    #[arg(long, help_heading = "Project")]
    pub all_features: bool,
    /// Do not activate the default features
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
    /// The target triple to build for
    #[arg(long, value_name = "TRIPLE", help_heading = "Project")]
    pub target: Option<String>,
    /// Directory for build output
    #[arg(long, value_name = "DIR", help_heading = "Project")]
    pub target_dir: Option<PathBuf>,
    /// Number of parallel jobs
    #[arg(short, long, value_name = "N", help_heading = "Project")]
    pub jobs: Option<String>,
    /// Require that Cargo.lock stays unchanged
    #[arg(long, help_heading = "Project")]
    pub locked: bool,
    /// Do not access the network
    #[arg(long, help_heading = "Project")]
    pub offline: bool,
}

/// How single files are read and compiled; projects have settings in Cargo.toml.
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
    /// Source form, instead of detecting it
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
    /// Search this directory for INCLUDE files, after that of the including file
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

/// Levels of warnings. A name takes precedence over `all` and `warnings`, in any order.
#[derive(Debug, Args)]
pub struct LintOptions {
    /// Hide this warning; `farfel explain` lists the names
    #[arg(short = 'A', long, value_name = "NAME", help_heading = "Warnings")]
    pub allow: Vec<String>,
    /// Show this warning
    #[arg(short = 'W', long, value_name = "NAME", help_heading = "Warnings")]
    pub warn: Vec<String>,
    /// Turn this warning into an error; `warnings` means all that are shown
    #[arg(short = 'D', long, value_name = "NAME", help_heading = "Warnings")]
    pub deny: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Explain {
    /// A code such as F0107, or a name; lists all codes if omitted
    pub name: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SourceForm {
    Fixed,
    Free,
}

#[derive(Debug, Args)]
pub struct Build {
    /// The source files of one program, instead of the project
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The executable to write
    #[arg(
        short,
        long,
        value_name = "OUT",
        requires = "files",
        help_heading = "Single files"
    )]
    pub output: Option<PathBuf>,
    /// Build optimised, with the release profile
    #[arg(short, long)]
    pub release: bool,
    /// Write an HTML report of build times and cache hits
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
    /// The source files of one program, instead of the project
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Arguments for the program
    #[arg(last = true)]
    pub arguments: Vec<OsString>,
    /// Build optimised, with the release profile
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
    /// Compile but do not run
    #[arg(long)]
    pub no_run: bool,
    /// Run all tests even if some fail
    #[arg(long)]
    pub no_fail_fast: bool,
    /// Build optimised, with the release profile
    #[arg(short, long)]
    pub release: bool,
    #[command(flatten)]
    pub cargo: CargoOptions,
    #[command(flatten)]
    pub targets: Targets,
    /// Arguments for the test programs
    #[arg(last = true)]
    pub arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct Check {
    /// Source files to check as one program, instead of the project
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Check with the release profile
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
    after_help = "Blocks are checked as the program, or the tests of the project, execute them: at the values \
    that occur. For the differences, the statements of a block also run at nearby values, in separate \
    processes, and their output is discarded. The exit code is 1 if a derivative is wrong.\n\n\
    Examples:\n  \
    farfel verify                         the tests of the project\n  \
    farfel verify model.ff -- 3 7         a program with its arguments\n  \
    farfel verify --points 10 model.ff    the first ten executions of each block"
)]
pub struct Verify {
    /// The source files of one program, instead of the project's tests (or its programs, if it
    /// has no tests)
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Check the first N executions of each block
    #[arg(long, value_name = "N", default_value = "3")]
    pub points: u32,
    /// Abort a run of a block after N seconds
    #[arg(long, value_name = "N", default_value = "60")]
    pub seconds: u32,
    /// Compile REAL as DOUBLE PRECISION, for more accurate differences
    #[arg(long)]
    pub double: bool,
    /// Output format: text or json
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    #[arg(hide_possible_values = true)]
    pub format: TextFormat,
    /// Build optimised, with the release profile
    #[arg(short, long)]
    pub release: bool,
    /// Arguments for the program or the tests
    #[arg(last = true)]
    pub arguments: Vec<OsString>,
    #[command(flatten)]
    pub file_options: FileOptions,
    #[command(flatten)]
    pub cargo: CargoOptions,
}

#[derive(Debug, Args)]
pub struct Expand {
    /// Source files to read as one program, instead of the project
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The stage: parse, lift, specialize, prune, outline, stage or final
    #[arg(long, value_name = "STAGE", default_value = "final")]
    pub stage: ExpandStage,
    /// Only this subprogram and what it calls, by its name after the stage
    #[arg(long, value_name = "NAME", conflicts_with_all = ["html", "view"])]
    pub root: Vec<String>,
    /// Show which call made which copy of a subprogram, and why
    #[arg(long, conflicts_with = "stage", group = "view")]
    pub explain: bool,
    /// Show in which contexts subprograms are differentiated, and which variables are active
    #[arg(long, conflicts_with = "stage", group = "view")]
    pub analysis: bool,
    /// Write an HTML page with the sources and the generated code side by side
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stage", "view"])]
    pub html: Option<PathBuf>,
    /// Output format of --explain and --analysis: text or json
    #[arg(long, value_name = "FORMAT", default_value = "text", requires = "view")]
    #[arg(hide_possible_values = true)]
    pub format: TextFormat,
    #[command(flatten)]
    pub file_options: FileOptions,
    #[command(flatten)]
    pub project: OneProject,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    farfel export c                       target/export/c: NAME.h and a shared library\n  \
    farfel export python                  target/export/python: a package for `pip install`\n  \
    farfel export python solve.f -o out   the subprograms of a file, without a project\n\n\
    Cargo builds the library. Its functions return errors, and never end the process.")]
pub struct Export {
    /// What is to call the subprograms: c or python
    #[arg(value_name = "LANGUAGE", hide_possible_values = true)]
    pub language: ExportLanguage,
    /// Source files to read as one program, instead of the project
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write to this folder [default: target/export/LANGUAGE, or NAME-LANGUAGE for files]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub file_options: FileOptions,
    #[command(flatten)]
    pub project: OneProject,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportLanguage {
    /// A C header and a shared library
    C,
    /// A Python package that calls the shared library by cffi
    Python,
}

impl ExportLanguage {
    /// Returns its name on the command line.
    pub fn word(self) -> &'static str {
        match self {
            ExportLanguage::C => "c",
            ExportLanguage::Python => "python",
        }
    }
}

#[derive(Debug, Args)]
pub struct Fmt {
    /// Source files to format, instead of those of the project
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// List the files that would change, and fail if there are any; write nothing
    #[arg(long, conflicts_with = "stdout")]
    pub check: bool,
    /// Show the changes as a diff; write nothing
    #[arg(long, conflicts_with = "stdout")]
    pub diff: bool,
    /// Write to standard output instead of the files
    #[arg(long, requires = "files")]
    pub stdout: bool,
    /// Convert to this source form
    #[arg(long)]
    pub form: Option<SourceForm>,
    /// Format all packages of the workspace
    #[arg(long, conflicts_with_all = ["files", "package"], help_heading = "Project")]
    pub all: bool,
    /// Case of names and keywords: keep, lower or upper
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
    farfel graph --format html -o calls.html   a page with search and folding, for large programs")]
pub struct Graph {
    /// Source files to read as one program, instead of the project
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Show the steps of a build instead of subprograms
    #[arg(long)]
    pub plan: bool,
    /// Only this subprogram or step and what it needs
    #[arg(long, value_name = "NAME")]
    pub root: Vec<String>,
    /// Output format: tree, mermaid, dot, svg or html
    #[arg(long, value_name = "FORMAT", default_value = "tree")]
    #[arg(hide_possible_values = true)]
    pub format: GraphFormat,
    /// Write to this file instead of standard output
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
    farfel storage old.f more.f           those of these files, as one program\n  \
    farfel storage --format json          machine-readable")]
pub struct Storage {
    #[command(flatten)]
    pub view: View,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    farfel intents                        in, out, inout or unused, for the project\n  \
    farfel intents old.f more.f           these files, as one program\n  \
    farfel intents --format json          machine-readable")]
pub struct Intents {
    #[command(flatten)]
    pub view: View,
}

/// The sources of a table and its output format.
#[derive(Debug, Args)]
pub struct View {
    /// Source files to read as one program, instead of the project
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Output format: text or json
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

/// The package, for commands that only show things.
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
    /// The package, if the workspace has several
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
    /// Options and files of Tapenade; `-help` lists them
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
    /// Show location, size and hit rate
    Stats,
    /// Read all entries and remove damaged ones
    Verify,
    /// Remove the least recently used entries until the rest fits the size limit
    Gc {
        /// The size limit in MiB, instead of the one in the settings
        #[arg(long, value_name = "MIB")]
        max_size: Option<u64>,
    },
    /// Remove all entries
    Clear,
}

#[derive(Debug, Args)]
pub struct Doctor {
    /// Install missing tools where possible
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
