//! Reads the settings from `Cargo.toml`, from the builder and from the environment.

use crate::Error;
use crate::derive::{self, DerivedSubprogram};
use farfel_lang::Span;
use farfel_lang::diagnostic::Level;
use farfel_lang::ir::{DefaultSizes, ProcedureDirective};
use farfel_lang::lints::Lints;
use farfel_lang::syntax::{FixedFormLayout, Form, ReadOptions};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where the compiler puts local variables of fixed size.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LocalPlacement {
    /// Large ones into static memory.
    BySize,
    /// All onto the stack.
    Stack,
    /// All into static memory.
    Static,
}

/// The environment variable that makes a build instrument the programs that it compiles; see
/// [`Config::verify`].
pub const VERIFY: &str = "FARFEL_VERIFY";

/// A library that a package uses, directly or through another library.
#[derive(Debug, Clone)]
pub struct Library {
    /// The settings of the library, with its name, version and directory.
    pub config: Config,
    /// The source files, without those in `passed`.
    pub files: Vec<PathBuf>,
    /// The source files that gfortran compiles unchanged.
    pub passed: Vec<PathBuf>,
    /// The libraries that it uses directly, as indices into [`Config::libraries`].
    pub uses: Vec<usize>,
    /// Whether the package itself uses it.
    pub direct: bool,
}

/// The settings for building a project. [`Config::default`] holds those of a project without
/// settings.
///
/// Settings are read from `[package.metadata.farfel]` in `Cargo.toml`, in kebab case; see the
/// fields. The builder in `build.rs` overrides them, and the environment variables `FARFEL_FC`,
/// `FARFEL_AD_TOOL`, `FARFEL_CACHE_DIR`, `FARFEL_CACHE_REMOTE`, `FARFEL_FFLAGS`, `FARFEL_LINTS`,
/// `FARFEL_STATIC_RUNTIME` and `FARFEL_INSTALL` override both.
#[derive(Debug, Clone)]
pub struct Config {
    /// The directory of the project, which contains `Cargo.toml`. Relative paths in the settings are
    /// relative to it. INCLUDE only reads files in it and in [`Config::include`].
    pub root: PathBuf,
    /// The name of the package.
    pub name: String,
    /// The version of the package.
    pub version: String,
    /// `sources`: files and directories. Directories are searched recursively for `.ff`, `.f`, `.for`,
    /// `.f77`, `.f90`, `.f95`, `.f03`, `.f08` and `.c` files. The default is `src` and `fortran`.
    pub sources: Option<Vec<PathBuf>>,
    /// `exclude`: files and directories to leave out of the sources.
    pub exclude: Vec<PathBuf>,
    /// `pass-through`: files and directories that gfortran compiles unchanged.
    pub pass_through: Vec<PathBuf>,
    /// `file-flags`: additional flags for the Fortran compiler, for files and directories that gfortran
    /// compiles unchanged.
    pub file_flags: BTreeMap<PathBuf, Vec<String>>,
    /// `link`: libraries that the sources call, by their linker names: `["lapack", "blas"]`.
    pub link: Vec<String>,
    /// `ad-tool`: the AD tool: `builtin`, `tapenade` or `adifor`.
    pub ad_tool: String,
    /// `tapenade`: the settings for Tapenade.
    pub tapenade: ToolSettings,
    /// `adifor`: the settings for ADIFOR.
    pub adifor: ToolSettings,
    /// `cache`: the settings for the cache.
    pub cache: CacheSettings,
    /// `real-kind`: the size of a REAL in bytes, 4 or 8. With 8, REAL and COMPLEX, including their
    /// constants, are in double precision; DOUBLE PRECISION is unchanged.
    pub real_kind: u8,
    /// `form`: the source form, `"fixed"` or `"free"`. By default it is detected for each file.
    pub form: Option<Form>,
    /// `line-length`: the last column that is read in fixed form, from 72 to 1000. The default is 72.
    pub line_length: usize,
    /// `preprocess`: whether to run the preprocessor on all sources, not only on those with an extension
    /// in capital letters: `.F`, `.FF`, `.F90`, `.FOR`, `.F77`, `.FTN`, `.FPP`.
    pub preprocess: bool,
    /// `defines`: preprocessor definitions, `"NAME"` or `"NAME=value"`.
    pub defines: Vec<String>,
    /// `debug-lines`: whether lines with `D` in column 1 are code. Otherwise they are comments.
    pub debug_lines: bool,
    /// `exports`: the subprograms to export to Rust. The default is all that can be exported.
    pub exports: Option<Vec<String>>,
    /// `unchecked`: the subprograms whose subscripts are not checked: `true` for all, or a list of
    /// names. Functions that call them, directly or indirectly, are `unsafe`.
    pub unchecked: Unchecked,
    /// `float-errors`: the floating-point exceptions that make a call from Rust an error.
    pub float_errors: Vec<Trap>,
    /// `instance`: the name of a Rust type. Each of its values has its own COMMON and saved variables.
    /// The subprograms that use such variables become its methods.
    pub instance: Option<String>,
    /// `commons`: the COMMON blocks that Rust can read and set.
    pub commons: Vec<String>,
    /// `signatures`: the style of the argument lists of the Rust functions.
    pub signatures: Signatures,
    /// `signature`: a table that maps subprograms to the treatment of their arguments in short functions.
    pub signature: BTreeMap<String, SignatureSettings>,
    /// `max-copies`: the maximum number of copies of one subprogram, one for each combination of procedure
    /// arguments. The default is [`MOST_COPIES`](farfel_lang::lower::MOST_COPIES).
    pub max_copies: Option<usize>,
    /// `max-tape`: the maximum size in MiB of a tape that the built-in engine allocates for a reverse
    /// sweep. The default is 1024.
    pub max_tape: Option<u32>,
    /// `combine-divisions`: whether products with several divisors are divided once.
    pub combine_divisions: bool,
    /// `openmp`: whether directives of OpenMP are followed, in derivatives as well. `-fopenmp` in
    /// `flags` sets it, too.
    pub openmp: bool,
    /// `flags`: additional flags for the Fortran compiler.
    pub flags: Vec<String>,
    /// `include`: directories that INCLUDE searches after that of the including file. They may be
    /// outside of the project.
    pub include: Vec<PathBuf>,
    /// `opt-level`: the optimization level, 0 to 3, `"s"`, `"z"` or `"fast"`. The default is that of cargo's
    /// profile, and 2 outside of cargo.
    pub opt_level: Option<String>,
    /// `debug`: whether to generate debug information. The default is the setting of cargo's profile.
    pub debug: Option<bool>,
    /// `save-all`: whether all local variables keep their values between calls, as with old compilers,
    /// and not only those with SAVE. Programs that rely on this cannot be called from several threads at
    /// once.
    pub save_all: bool,
    /// `fc`: the Fortran compiler.
    pub fc: Option<PathBuf>,
    /// `static-runtime`: whether to link the Fortran compiler's run-time libraries statically. Otherwise the
    /// program needs them where it runs.
    pub static_runtime: bool,
    /// `install`: whether to install the Fortran compiler with the system's package manager if it is missing.
    pub install: bool,
    /// `lints`: a table that maps warnings to levels, `"allow"`, `"warn"` or `"deny"`:
    /// `unused-variable = "allow"`. `all` stands for all warnings, `warnings` for those that are enabled
    /// so far. `farfel explain` lists the warnings. The format of `FARFEL_LINTS` is
    /// `unused-variable=allow,warnings=deny`.
    pub lints: Lints,
    /// `derivatives`: a table that maps procedures to `"constant"` or to a table with `tangent`, `adjoint`,
    /// `arguments`, `in`, `out`, `sets` and `values`, like the directive `!farfel: derivative(…)` in a source.
    pub derivatives: Vec<ProcedureDirective>,
    /// `derive`: a table of subprograms to generate, each the derivative of a subprogram in the sources:
    /// `cost_gradient = { gradient = "cost", by = "x" }`.
    pub derive: Vec<DerivedSubprogram>,
    /// The libraries that the package uses: its dependencies with Farfel sources and a `links` key. This
    /// is not a setting: cargo provides the list.
    pub libraries: Vec<Library>,
    /// Whether to compile programs that check their derivatives; see [`crate::verify`]. This is not a
    /// setting: `farfel verify` enables it, in build scripts through the environment variable
    /// `FARFEL_VERIFY`.
    pub verify: bool,
    /// Whether to verify the program after every pass of the compiler. This is not a setting:
    /// `--verify-passes` or the environment variable `FARFEL_VERIFY_PASSES` enables it.
    pub verify_passes: bool,
    /// Whether to build a library for C: the bindings then have all arguments, and functions for C in front
    /// of them. This is not a setting: `farfel export` enables it.
    pub c_interface: bool,
    /// The prefix of file names in messages, in place of [`Config::root`].
    pub shown_as: Option<String>,
    /// Whether INCLUDE may read files anywhere. This is for single files, where the user who names a
    /// file is also responsible for what it includes. A project is limited to its own directory and
    /// [`Config::include`].
    pub include_anywhere: bool,
}

/// `[package.metadata.farfel.tapenade]` and `[….adifor]`: an AD tool that is an external program.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ToolSettings {
    /// `home`: the installation directory, which contains `bin/`. The default is the environment variable
    /// (`TAPENADE_HOME`, `AD_HOME`), then the command in `PATH`.
    pub home: Option<PathBuf>,
    /// `java-options`: options for the Java virtual machine: `["-Xmx4g"]`. Tapenade only.
    pub java_options: Vec<String>,
    /// `options`: additional options for the tool itself. For ADIFOR, these are `KEY = value` lines of
    /// its script.
    pub options: Vec<String>,
    /// `timeout`: the number of seconds after which a run is aborted. The default is 600.
    pub timeout: u64,
    /// `allow-unknown`: procedures without source whose derivatives are assumed to be zero.
    pub allow_unknown: Vec<String>,
}

impl Default for ToolSettings {
    fn default() -> Self {
        ToolSettings {
            home: None,
            java_options: Vec::new(),
            options: Vec::new(),
            timeout: 600,
            allow_unknown: Vec::new(),
        }
    }
}

/// `[package.metadata.farfel.cache]`: the cache of results between builds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct CacheSettings {
    /// `enabled`: whether results are cached. The default is `true`.
    pub enabled: bool,
    /// `directory`: the directory of the cache, which `FARFEL_CACHE_DIR` overrides. The default is in
    /// the user's cache directory.
    pub directory: Option<PathBuf>,
    /// `max-size`: the maximum size in MiB. The least recently used entries are removed first.
    pub max_size: u64,
    /// `remote`: the URL of a second, shared cache: `redis://…`, `s3://…`, `webdav://…`, `file:///…`. By
    /// default there is none.
    pub remote: Option<String>,
    /// `remote-read-only`: whether the second cache is only read and never written.
    pub remote_read_only: bool,
    /// `remote-timeout`: the number of milliseconds after which the second cache is abandoned for the
    /// rest of the build.
    pub remote_timeout: u64,
}

impl Default for CacheSettings {
    fn default() -> Self {
        CacheSettings {
            enabled: true,
            directory: None,
            max_size: 5 * 1024,
            remote: None,
            remote_read_only: false,
            remote_timeout: 2000,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config {
            root: PathBuf::from("."),
            name: "farfel_program".into(),
            version: "0.0.0".into(),
            sources: None,
            exclude: Vec::new(),
            pass_through: Vec::new(),
            file_flags: BTreeMap::new(),
            link: Vec::new(),
            ad_tool: BUILTIN.into(),
            tapenade: ToolSettings::default(),
            adifor: ToolSettings::default(),
            cache: CacheSettings::default(),
            real_kind: 4,
            form: None,
            line_length: CARD,
            preprocess: false,
            defines: Vec::new(),
            debug_lines: false,
            exports: None,
            unchecked: Unchecked::default(),
            float_errors: Vec::new(),
            instance: None,
            commons: Vec::new(),
            signatures: Signatures::default(),
            signature: BTreeMap::new(),
            max_copies: None,
            max_tape: None,
            combine_divisions: false,
            openmp: false,
            verify_passes: false,
            flags: Vec::new(),
            include: Vec::new(),
            opt_level: None,
            debug: None,
            save_all: false,
            fc: None,
            static_runtime: false,
            install: false,
            lints: Lints::default(),
            derivatives: Vec::new(),
            derive: Vec::new(),
            libraries: Vec::new(),
            verify: false,
            c_interface: false,
            shown_as: None,
            include_anywhere: false,
        }
    }
}

/// The last column of the statement field on a punched card.
const CARD: usize = 72;

/// The name of the built-in AD engine.
const BUILTIN: &str = "builtin";

/// The names of all AD tools.
const AD_TOOLS: [&str; 3] = [BUILTIN, "tapenade", "adifor"];

/// The variable that names the compiler command of MPI.
pub(crate) const MPI_COMPILER: &str = "MPIFC";

/// The environment variables that affect the result of a build: those that [`Config`] reads, and those that
/// locate compilers and tools.
pub(crate) const VARIABLES: &[&str] = &[
    "FARFEL_FC",
    "FC",
    "FARFEL_AD_TOOL",
    "FARFEL_CACHE_DIR",
    "FARFEL_CACHE_REMOTE",
    "FARFEL_FFLAGS",
    "FARFEL_INSTALL",
    "FARFEL_LINTS",
    "FARFEL_STATIC_RUNTIME",
    "FARFEL_VERIFY",
    "FARFEL_VERIFY_PASSES",
    MPI_COMPILER,
    "TAPENADE_HOME",
    "AD_HOME",
    "JAVA_HOME",
    // Without it, what documentation does not need must be compiled.
    "DOCS_RS",
];

#[derive(Deserialize)]
struct Manifest {
    package: Option<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: Option<toml::Value>,
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Metadata {
    farfel: Option<Settings>,
}

/// `[package.metadata.farfel]`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Settings {
    sources: Option<Vec<PathBuf>>,
    exclude: Option<Vec<PathBuf>>,
    link: Option<Vec<String>>,
    ad_tool: Option<String>,
    tapenade: Option<ToolSettings>,
    adifor: Option<ToolSettings>,
    cache: Option<CacheSettings>,
    real_kind: Option<u8>,
    form: Option<FormName>,
    line_length: Option<usize>,
    preprocess: Option<bool>,
    defines: Option<Vec<String>>,
    debug_lines: Option<bool>,
    exports: Option<Vec<String>>,
    unchecked: Option<Unchecked>,
    float_errors: Option<Vec<Trap>>,
    instance: Option<String>,
    commons: Option<Vec<String>>,
    signatures: Option<Signatures>,
    signature: Option<BTreeMap<String, SignatureSettings>>,
    max_copies: Option<usize>,
    max_tape: Option<u32>,
    combine_divisions: Option<bool>,
    openmp: Option<bool>,
    flags: Option<Vec<String>>,
    pass_through: Option<Vec<PathBuf>>,
    file_flags: Option<BTreeMap<PathBuf, Vec<String>>>,
    include: Option<Vec<PathBuf>>,
    opt_level: Option<OptLevel>,
    debug: Option<bool>,
    save_all: Option<bool>,
    fc: Option<PathBuf>,
    static_runtime: Option<bool>,
    install: Option<bool>,
    lints: Option<BTreeMap<String, LevelName>>,
    derivatives: Option<BTreeMap<String, DerivativeSettings>>,
    derive: Option<BTreeMap<String, derive::Settings>>,
}

/// An entry of the table `derivatives`.
#[derive(Deserialize)]
#[serde(untagged)]
enum DerivativeSettings {
    Constant(ConstantWord),
    Given(GivenSettings),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ConstantWord {
    Constant,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct GivenSettings {
    arguments: Option<Vec<String>>,
    r#in: Option<Vec<String>>,
    out: Option<Vec<String>>,
    sets: Option<Vec<String>>,
    values: Option<Vec<String>>,
    tangent: Option<String>,
    adjoint: Option<String>,
}

impl DerivativeSettings {
    /// Converts the entry for a procedure.
    fn of(self, procedure: &str, origin: &str) -> Result<ProcedureDirective, Error> {
        let name = |n: &str| -> farfel_lang::ir::Name { n.to_ascii_uppercase().into() };
        let names = |l: Option<Vec<String>>| l.map(|l| l.iter().map(|n| name(n)).collect());
        let constant = ProcedureDirective::constant(name(procedure), Span::NONE);
        match self {
            DerivativeSettings::Constant(ConstantWord::Constant) => Ok(constant),
            DerivativeSettings::Given(g) if g.tangent.is_none() && g.adjoint.is_none() => {
                Err(Error::Config {
                    origin: format!("{origin}, setting `derivatives.{procedure}`"),
                    message: "it names neither a `tangent` nor an `adjoint`".into(),
                })
            }
            DerivativeSettings::Given(g) => Ok(ProcedureDirective {
                arguments: names(g.arguments),
                inputs: names(g.r#in),
                outputs: names(g.out),
                sets: names(g.sets).unwrap_or_default(),
                values: names(g.values),
                tangent: g.tangent.as_deref().map(name),
                adjoint: g.adjoint.as_deref().map(name),
                ..constant
            }),
        }
    }
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum LevelName {
    Allow,
    Warn,
    Deny,
}

impl From<LevelName> for Level {
    fn from(name: LevelName) -> Self {
        match name {
            LevelName::Allow => Level::Allow,
            LevelName::Warn => Level::Warn,
            LevelName::Deny => Level::Deny,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FormName {
    Fixed,
    Free,
}

/// A floating-point exception, by its name in gfortran's option `-ffpe-trap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trap {
    /// An invalid operation: `0.0/0.0`, the square root of a negative number.
    Invalid,
    /// A division of a nonzero number by zero.
    Zero,
    /// A result that is too large to represent.
    Overflow,
    /// A result that is too small to represent.
    Underflow,
}

/// The style of the argument lists of the Rust functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signatures {
    /// Only the arguments that the caller must supply. The functions with all arguments are in a module
    /// `raw`.
    #[default]
    Rust,
    /// All arguments of the Fortran subprogram.
    Fortran,
}

/// `[package.metadata.farfel.signature.NAME]`: the treatment of the arguments of a subprogram in short
/// functions. Arrays may have bounds, such as `x(n)`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SignatureSettings {
    /// `keep`: arguments to keep.
    pub keep: Vec<String>,
    /// `shapes`: the bounds of arrays whose declarations do not specify them.
    pub shapes: Vec<String>,
    /// `outputs`: arguments whose values on entry do not matter.
    pub outputs: Vec<String>,
    /// `workspaces`: work arrays, whose values matter neither on entry nor on return.
    pub workspaces: Vec<String>,
    /// `errors`: status arguments, each with the values that are errors: `"/= 0"`.
    pub errors: BTreeMap<String, Values>,
    /// `closures`: procedure arguments, each with what it does with its own arguments.
    pub closures: BTreeMap<String, Vec<ClosureIntent>>,
}

/// What a closure does with an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClosureIntent {
    /// It only reads it.
    In,
    /// It sets it.
    Out,
    /// It reads and changes it.
    InOut,
}

/// Values of an argument, as one or more conditions: `"< 0"`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Values {
    /// One condition.
    One(String),
    /// Several conditions, of which at least one must hold.
    Several(Vec<String>),
}

impl Values {
    /// Returns the conditions.
    pub(crate) fn list(&self) -> &[String] {
        match self {
            Values::One(one) => std::slice::from_ref(one),
            Values::Several(several) => several,
        }
    }
}

/// The value of the setting `unchecked`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Unchecked {
    /// All subprograms, or none.
    All(bool),
    /// These subprograms.
    Some(Vec<String>),
}

impl Default for Unchecked {
    fn default() -> Self {
        Unchecked::All(false)
    }
}

impl Unchecked {
    /// Returns the names in upper case, as in programs; `None` for all subprograms.
    pub(crate) fn names(&self) -> Option<std::collections::HashSet<farfel_lang::ir::Name>> {
        let named = match self {
            Unchecked::All(true) => return None,
            Unchecked::All(false) => &[][..],
            Unchecked::Some(named) => named,
        };
        Some(
            named
                .iter()
                .map(|n| n.to_ascii_uppercase().into())
                .collect(),
        )
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OptLevel {
    Number(u8),
    Name(String),
}

/// A change of a setting by a build script. Names are those of `Cargo.toml`, with dots for nested tables:
/// `cache.max-size`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Sets the setting to a value.
    Set(String, Value),
    /// Appends a value to a list.
    Add(String, Value),
}

/// The origin of changed settings in error messages.
const BUILD_SCRIPT: &str = "build.rs";

/// Deserializes a manifest, and reports errors with the line in `Cargo.toml`.
fn parse<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, Error> {
    toml::from_str(text).map_err(|e| {
        let line = e
            .span()
            .and_then(|s| text.get(..s.start))
            .map(|before| format!(":{}", before.matches('\n').count() + 1));
        Error::Config {
            origin: format!("Cargo.toml{}", line.unwrap_or_default()),
            message: e.message().lines().collect::<Vec<_>>().join(", "),
        }
    })
}

/// Returns the settings of a manifest after changes by a build script.
fn changed(manifest: &str, changes: &[Change]) -> Result<Settings, Error> {
    let error = |message| Error::Config {
        origin: BUILD_SCRIPT.into(),
        message,
    };
    let mut manifest: Value = parse(manifest)?;
    let settings = manifest
        .pointer_mut("/package/metadata/farfel")
        .map(Value::take);
    let mut settings = settings.unwrap_or_else(|| Value::Object(Default::default()));
    for change in changes {
        let (name, value) = match change {
            Change::Set(name, value) | Change::Add(name, value) => (name, value),
        };
        let mut place = &mut settings;
        for part in name.split('.') {
            if place.is_null() {
                *place = Value::Object(Default::default());
            }
            let Value::Object(table) = place else {
                return Err(error(format!("setting `{name}`: there is no such table")));
            };
            place = table.entry(part).or_insert(Value::Null);
        }
        match (change, &mut *place) {
            (Change::Set(..), _) => *place = value.clone(),
            (Change::Add(..), Value::Array(list)) => list.push(value.clone()),
            (Change::Add(..), Value::Null) => *place = Value::Array(vec![value.clone()]),
            (Change::Add(..), _) => {
                return Err(error(format!("setting `{name}` is not a list")));
            }
        }
    }
    serde_json::from_value(settings).map_err(|e| error(e.to_string()))
}

impl Config {
    /// Returns the size of a default REAL in bytes.
    pub(crate) fn real_bytes(&self) -> u8 {
        if self.real_kind == 8 { 8 } else { 4 }
    }

    /// Returns the maximum size of a tape in bytes, if it is set.
    pub(crate) fn tape_bytes(&self) -> Option<u64> {
        self.max_tape.map(|most| u64::from(most) << 20)
    }

    /// Loads the settings of the project in a directory, and applies those of the environment. Without a
    /// `Cargo.toml` the settings are the default ones.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if `Cargo.toml` cannot be read, [`Error::Config`] if a setting is unknown or has an
    /// invalid value, [`Error::AdTool`] if the AD tool is unknown.
    pub fn load(manifest_dir: &Path) -> Result<Config, Error> {
        let mut config = Config::from_manifest(manifest_dir)?;
        config.apply_environment(&|name| std::env::var(name).ok())?;
        config.check()?;
        Ok(config)
    }

    /// Loads the settings of `Cargo.toml`, without those of the environment.
    ///
    /// # Errors
    ///
    /// Those of [`Config::load`].
    pub fn from_manifest(dir: &Path) -> Result<Config, Error> {
        Config::from_build_script(dir, &[])
    }

    /// Loads the settings of `Cargo.toml` and applies the changes of a build script in order.
    ///
    /// # Errors
    ///
    /// Those of [`Config::load`].
    pub fn from_build_script(dir: &Path, changes: &[Change]) -> Result<Config, Error> {
        let path = dir.join("Cargo.toml");
        let mut config = Config {
            root: dir.to_owned(),
            ..Config::default()
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(config),
            Err(e) => return Err(Error::io(path)(e)),
        };
        let manifest: Manifest = parse(&text)?;
        let Some(package) = manifest.package else {
            return Ok(config);
        };
        config.name = package.name;
        if let Some(version) = package.version.as_ref().and_then(|v| v.as_str()) {
            config.version = version.to_owned();
        }
        let settings = package.metadata.and_then(|m| m.farfel).unwrap_or_default();
        config.apply(settings, "Cargo.toml")?;
        if !changes.is_empty() {
            config.apply(changed(&text, changes)?, BUILD_SCRIPT)?;
        }
        Ok(config)
    }

    /// Replaces all settings by those of a manifest. `origin` is the origin in error messages.
    fn apply(&mut self, settings: Settings, origin: &str) -> Result<(), Error> {
        // The pattern has no `..`, so that a new setting cannot be forgotten here.
        let Settings {
            sources,
            exclude,
            pass_through,
            file_flags,
            link,
            ad_tool,
            tapenade,
            adifor,
            cache,
            real_kind,
            form,
            line_length,
            preprocess,
            defines,
            debug_lines,
            exports,
            unchecked,
            float_errors,
            instance,
            commons,
            signatures,
            signature,
            max_copies,
            max_tape,
            combine_divisions,
            openmp,
            flags,
            include,
            opt_level,
            debug,
            save_all,
            fc,
            static_runtime,
            install,
            lints,
            derivatives,
            derive,
        } = settings;
        let derive = derive.unwrap_or_default().into_iter();
        self.derive = derive
            .map(|(name, asked)| {
                asked.of(&name).map_err(|message| Error::Config {
                    origin: format!("{origin}, setting `derive.{name}`"),
                    message,
                })
            })
            .collect::<Result<_, _>>()?;
        let derivatives = derivatives.unwrap_or_default().into_iter();
        self.derivatives = derivatives
            .map(|(procedure, d)| d.of(&procedure, origin))
            .collect::<Result<_, _>>()?;
        self.sources = sources;
        self.exclude = exclude.unwrap_or_default();
        self.pass_through = pass_through.unwrap_or_default();
        self.file_flags = file_flags.unwrap_or_default();
        self.link = link.unwrap_or_default();
        self.form = form.map(|f| match f {
            FormName::Fixed => Form::Fixed,
            FormName::Free => Form::Free,
        });
        self.line_length = line_length.unwrap_or(CARD);
        self.debug_lines = debug_lines.unwrap_or(false);
        self.preprocess = preprocess.unwrap_or(false);
        self.defines = defines.unwrap_or_default();
        // Requested derivatives are always exported.
        let derived = self.derive.iter().map(|d| d.name.clone());
        self.exports = exports.map(|named| named.into_iter().chain(derived).collect());
        self.unchecked = unchecked.unwrap_or_default();
        self.float_errors = float_errors.unwrap_or_default();
        self.instance = instance;
        self.commons = commons.unwrap_or_default();
        self.signatures = signatures.unwrap_or_default();
        self.signature = signature.unwrap_or_default();
        self.max_copies = max_copies;
        self.max_tape = max_tape;
        self.combine_divisions = combine_divisions.unwrap_or(false);
        self.openmp = openmp.unwrap_or(false);
        self.flags = flags.unwrap_or_default();
        self.include = include.unwrap_or_default();
        self.opt_level = opt_level.map(|o| match o {
            OptLevel::Number(n) => n.to_string(),
            OptLevel::Name(n) => n,
        });
        self.debug = debug;
        self.fc = fc;
        self.ad_tool = ad_tool.unwrap_or_else(|| BUILTIN.into());
        self.tapenade = tapenade.unwrap_or_default();
        self.adifor = adifor.unwrap_or_default();
        self.cache = cache.unwrap_or_default();
        if let Some(directory) = &mut self.cache.directory {
            *directory = self.root.join(&*directory);
        }
        self.real_kind = real_kind.unwrap_or(4);
        self.save_all = save_all.unwrap_or(false);
        self.static_runtime = static_runtime.unwrap_or(false);
        self.install = install.unwrap_or(false);
        let lints = lints.unwrap_or_default();
        let levels = lints
            .iter()
            .map(|(name, level)| (name.as_str(), (*level).into()));
        self.lints.set_all(levels).map_err(|message| Error::Config {
            origin: format!("{origin}, setting `lints`"),
            message,
        })
    }

    /// Returns the sizes of the default types.
    pub(crate) fn sizes(&self) -> DefaultSizes {
        DefaultSizes {
            real: self.real_kind,
            ..DefaultSizes::default()
        }
    }

    /// Returns the options for reading sources.
    pub(crate) fn read_options(&self) -> ReadOptions {
        ReadOptions {
            form: self.form,
            layout: FixedFormLayout {
                line_length: self.line_length,
                debug_lines: self.debug_lines,
            },
            sizes: self.sizes(),
        }
    }

    /// Overrides settings by environment variables. `FC` is not among them: it only names a compiler to
    /// try if none is set, and is read by the toolchain.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] if a variable has an invalid value.
    pub fn apply_environment(
        &mut self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), Error> {
        let set = |name| variable(name).filter(|v| !v.trim().is_empty());
        if let Some(fc) = set("FARFEL_FC") {
            self.fc = Some(fc.into());
        }
        if let Some(tool) = set("FARFEL_AD_TOOL") {
            self.ad_tool = tool;
        }
        if let Some(directory) = set("FARFEL_CACHE_DIR") {
            self.cache.directory = Some(directory.into());
        }
        if let Some(remote) = set("FARFEL_CACHE_REMOTE") {
            self.cache.remote = Some(remote);
        }
        if let Some(flags) = set("FARFEL_FFLAGS") {
            self.flags
                .extend(flags.split_whitespace().map(str::to_owned));
        }
        if let Some(lints) = set("FARFEL_LINTS") {
            let error = |message| Error::Config {
                origin: "FARFEL_LINTS".into(),
                message,
            };
            let levels = lints.split(',').map(|item| {
                let (name, level) = item.split_once('=').unwrap_or((item, ""));
                let level = Level::ALL.into_iter().find(|l| l.word() == level.trim());
                let level = level.ok_or_else(|| {
                    format!("`{item}` is not `NAME=allow`, `NAME=warn` or `NAME=deny`")
                })?;
                Ok((name.trim(), level))
            });
            let levels: Vec<_> = levels.collect::<Result<_, _>>().map_err(error)?;
            self.lints.set_all(levels).map_err(error)?;
        }
        self.verify |= set(VERIFY).is_some_and(|v| v != "0");
        if set(crate::passes::VERIFY_PASSES).is_some_and(|v| v != "0") {
            crate::passes::verify_passes();
        }
        self.verify_passes = farfel_lang::verify::is_requested();
        for (name, setting) in [
            ("FARFEL_INSTALL", &mut self.install),
            ("FARFEL_STATIC_RUNTIME", &mut self.static_runtime),
        ] {
            *setting = match set(name).as_deref() {
                None => continue,
                Some("1") => true,
                Some("0") => false,
                Some(other) => {
                    return Err(Error::Config {
                        origin: name.into(),
                        message: format!("`{other}` is neither 1 nor 0"),
                    });
                }
            };
        }
        Ok(())
    }

    /// Whether directives of OpenMP are followed.
    pub(crate) fn has_openmp(&self) -> bool {
        self.openmp || self.flags.iter().any(|f| f == "-fopenmp")
    }

    /// Checks whether `save-all` or a flag places local variables in static memory, where all threads
    /// share them. The check for recursion counts, because it keeps a static mark for each subprogram.
    pub(crate) fn is_static(&self) -> bool {
        self.save_all
            || self.flags.iter().any(|f| {
                f == "-fno-automatic"
                    || f.starts_with("-fmax-stack-var-size")
                    || f.strip_prefix("-fcheck=")
                        .is_some_and(|c| c.split(',').any(|c| c == "all" || c == "recursion"))
            })
    }

    /// Determines where the compiler puts local variables of fixed size.
    pub(crate) fn placement(&self) -> LocalPlacement {
        let given = |name: &str| self.flags.iter().any(|f| f.starts_with(name));
        if self.save_all || given("-fno-automatic") {
            LocalPlacement::Static
        } else if self.has_openmp() || given("-fmax-stack-var-size") || given("-frecursive") {
            LocalPlacement::Stack
        } else {
            LocalPlacement::BySize
        }
    }

    /// The prefixes of flags that change the sizes of types, which the bindings could not take into account.
    const TYPE_FLAGS: [&str; 4] = ["-fdefault-", "-freal-", "-finteger-4-", "-flogical-4-"];

    /// Checks the values of settings beyond what their types ensure.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] if a setting has an invalid value, [`Error::AdTool`] if the AD tool is unknown.
    pub fn check(&self) -> Result<(), Error> {
        let error = |setting: &str, message: String| {
            Err(Error::Config {
                origin: format!("setting `{setting}`"),
                message,
            })
        };
        if !AD_TOOLS.contains(&self.ad_tool.as_str()) {
            return Err(Error::AdTool(self.ad_tool.clone()));
        }
        for (name, tool) in [("tapenade", &self.tapenade), ("adifor", &self.adifor)] {
            if tool.timeout == 0 {
                return error(&format!("{name}.timeout"), "0 is not at least 1".into());
            }
        }
        if !matches!(self.real_kind, 4 | 8) {
            return error(
                "real-kind",
                format!("{} is neither 4 nor 8", self.real_kind),
            );
        }
        if let (Some(name), false) = (&self.instance, self.commons.is_empty()) {
            return error(
                "commons",
                format!(
                    "leave it out: with `instance = \"{name}\"` all COMMON blocks are parts of its values"
                ),
            );
        }
        let is_name = |d: &&String| {
            let name = d.split('=').next().unwrap_or("");
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && !d.contains(char::is_control)
        };
        if let Some(wrong) = self.defines.iter().find(|d| !is_name(d)) {
            return error(
                "defines",
                format!("`{wrong}` is neither NAME nor NAME=value"),
            );
        }
        if !(CARD..=1000).contains(&self.line_length) {
            return error(
                "line-length",
                format!("{} is not from {CARD} to 1000", self.line_length),
            );
        }
        // Names become lines of output for cargo, and arguments of the linker.
        let is_library = |l: &&String| {
            let of_names = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+');
            !l.is_empty() && !l.starts_with('-') && l.chars().all(of_names)
        };
        if let Some(wrong) = self.link.iter().find(|l| !is_library(l)) {
            let name = wrong.trim_start_matches("-l");
            return error(
                "link",
                format!("`{wrong}` is not the name of a library, such as `{name}`"),
            );
        }
        let of_types = |f: &&String| Self::TYPE_FLAGS.iter().any(|t| f.starts_with(t));
        if let Some(flag) = self.flags.iter().find(of_types) {
            return error(
                "flags",
                format!("`{flag}` changes what the types mean; `real-kind = 8` does that safely"),
            );
        }
        if self.has_openmp() && self.is_static() {
            let message = "it cannot be with `save-all`, or a flag that makes variables static: all threads would \
                           share them";
            return error("openmp", message.into());
        }
        if let Some(name) = &self.instance {
            // A capitalized name cannot clash with a keyword other than `Self`, or with a function.
            let is_type = name.starts_with(|c: char| c.is_ascii_uppercase())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && name != "Self";
            if !is_type {
                let message =
                    format!("`{name}` is not the name of a type in Rust, such as `Model`");
                return error("instance", message);
            }
            if self.is_static() {
                let message = "it cannot be with `save-all`, or a flag that makes all variables static: say SAVE in \
                               the subprograms that rely on it";
                return error("instance", message.into());
            }
        }
        if !self.commons.is_empty() && self.flags.iter().any(|f| f == "-fno-align-commons") {
            let message = "it cannot be with `-fno-align-commons`, which places variables where Rust structs do not";
            return error("commons", message.into());
        }
        if self.signatures == Signatures::Fortran
            && let Some(name) = self.signature.keys().next()
        {
            let message = "functions have all arguments with `signatures = \"fortran\"`";
            return error(&format!("signature.{name}"), message.into());
        }
        if let Some(level) = &self.opt_level
            && !["0", "1", "2", "3", "s", "z", "fast"].contains(&level.as_str())
        {
            return error(
                "opt-level",
                format!("`{level}` is not one of 0, 1, 2, 3, s, z, fast"),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(settings: &str) -> Result<Config, Error> {
        let dir = tempfile::tempdir().unwrap();
        let manifest = format!(
            "[package]\nname = \"demo\"\nversion = \"0.3.1\"\n[package.metadata.farfel]\n{settings}"
        );
        std::fs::write(dir.path().join("Cargo.toml"), manifest).unwrap();
        let config = Config::from_manifest(dir.path())?;
        config.check()?;
        Ok(config)
    }

    #[test]
    fn settings_are_read() {
        let c = load(
            "sources = ['numerics', 'a b.f']\nreal-kind = 8\nform = 'free'\nexports = ['eqlbrm']\n\
             max-copies = 40\n\
             max-tape = 64\n\
             combine-divisions = true\n\
             flags = ['-fcheck=all']\ninclude = ['inc']\nopt-level = 3\nsave-all = true",
        )
        .unwrap();
        assert_eq!((c.name.as_str(), c.version.as_str()), ("demo", "0.3.1"));
        assert_eq!(c.sources.unwrap()[1], PathBuf::from("a b.f"));
        assert_eq!((c.real_kind, c.form), (8, Some(Form::Free)));
        assert_eq!(
            (c.exports.unwrap(), c.max_copies, c.max_tape),
            (vec!["eqlbrm".to_owned()], Some(40), Some(64))
        );
        assert_eq!(c.opt_level.as_deref(), Some("3"));
        assert!(c.save_all && c.combine_divisions && !c.install);
    }

    #[test]
    fn derivatives_are_read() {
        let c = load(
            "[package.metadata.farfel.derivatives]\ntable = 'constant'\n\
             solve = { tangent = 'solve_d', arguments = ['a', 'k', 'x'], in = ['a'], out = ['x'], sets = ['k'], values = [] }",
        )
        .unwrap();
        let [solve, table] = &c.derivatives[..] else {
            panic!("{:?}", c.derivatives)
        };
        assert!(table.is_constant() && table.procedure == "TABLE");
        assert_eq!(solve.tangent.as_deref(), Some("SOLVE_D"));
        assert!(solve.is_active("A") && solve.is_active("X") && !solve.is_active("K"));
        assert_eq!(solve.sets, ["K"]);
        assert_eq!(solve.values, Some(Vec::new()));
        let e = load("derivatives = { solve = { in = ['a'] } }").unwrap_err();
        assert!(
            e.to_string()
                .contains("neither a `tangent` nor an `adjoint`"),
            "{e}"
        );
    }

    #[test]
    fn a_build_script_changes_settings() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = "[package]\nname = 'demo'\nversion.workspace = true\n\
             [package.metadata.farfel]\nflags = ['-a']\nreal-kind = 4\n\
             lints = { all = 'deny' }\n[package.metadata.other]\nday = 2026-11-24\n";
        std::fs::write(dir.path().join("Cargo.toml"), manifest).unwrap();
        let with = |changes: &str| {
            let changes: Vec<Change> = serde_json::from_str(changes).unwrap();
            Config::from_build_script(dir.path(), &changes)
        };
        let c = with(
            r#"[{"add": ["flags", "-b"]}, {"set": ["real-kind", 8]}, {"add": ["sources", "one"]},
                {"set": ["cache.max-size", 7]}, {"set": ["lints.unknown-procedure", "allow"]},
                {"set": ["opt-level", 3]}, {"set": ["opt-level", "s"]}]"#,
        )
        .unwrap();
        assert_eq!((c.flags, c.real_kind), (vec!["-a".into(), "-b".into()], 8));
        assert_eq!(c.sources, Some(vec![PathBuf::from("one")]));
        assert_eq!((c.cache.max_size, c.opt_level.as_deref()), (7, Some("s")));
        use farfel_lang::diagnostic::rules;
        assert_eq!(c.lints.level(&rules::UNKNOWN_PROCEDURE), Level::Allow);
        assert_eq!(c.lints.level(&rules::COMPILER), Level::Deny);
        for (changes, expected) in [
            (
                r#"[{"set": ["real-knd", 8]}]"#,
                "build.rs: unknown field `real-knd`, expected one of `sources`",
            ),
            (
                r#"[{"add": ["real-kind", 8]}]"#,
                "build.rs: setting `real-kind` is not a list",
            ),
            (
                r#"[{"set": ["flags.first", 8]}]"#,
                "build.rs: setting `flags.first`: there is no such table",
            ),
            (
                r#"[{"set": ["lints.unknown-procedur", "deny"]}]"#,
                "build.rs, setting `lints`: unknown warning `unknown-procedur`; did you mean",
            ),
        ] {
            let error = with(changes).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn no_manifest_and_no_settings_are_fine() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Config::from_manifest(dir.path()).unwrap().real_kind, 4);
        std::fs::write(dir.path().join("Cargo.toml"), "[workspace]\n").unwrap();
        assert_eq!(
            Config::from_manifest(dir.path()).unwrap().ad_tool,
            "builtin"
        );
    }

    #[test]
    fn errors_name_what_is_allowed() {
        for (settings, expected) in [
            (
                "flags = ['-O2', '-fdefault-real-8']",
                "`real-kind = 8` does that safely",
            ),
            (
                "real-knd = 8",
                "Cargo.toml:5: unknown field `real-knd`, expected one of `sources`, `exclude`, `link`, `ad-tool`",
            ),
            ("real-kind = 5", "setting `real-kind`: 5 is neither 4 nor 8"),
            (
                "ad-tool = 'tapernade'",
                "unknown AD tool `tapernade`; use `builtin`, `tapenade` or `adifor`",
            ),
            (
                "tapenade.timeout = 0",
                "setting `tapenade.timeout`: 0 is not at least 1",
            ),
            (
                "form = 'loose'",
                "unknown variant `loose`, expected `fixed` or `free`",
            ),
            (
                "link = ['-llapack']",
                "setting `link`: `-llapack` is not the name of a library, such as `lapack`",
            ),
            ("opt-level = 7", "`7` is not one of 0, 1, 2, 3, s, z, fast"),
            ("sources = 'src'", "invalid type"),
            (
                "lints.all = 'forbid'",
                "unknown variant `forbid`, expected one of `allow`, `warn`, `deny`",
            ),
            (
                "lints.unknown-procedur = 'deny'",
                "Cargo.toml, setting `lints`: unknown warning `unknown-procedur`; did you mean `unknown-procedure`?",
            ),
            (
                "lints.syntax = 'allow'",
                "`syntax` is always an error and cannot be set to `allow`",
            ),
        ] {
            let error = load(settings).unwrap_err();
            assert_eq!(error.exit_code(), 1);
            assert!(error.to_string().contains(expected), "{settings}: {error}");
        }
    }

    #[test]
    fn flags_that_make_locals_static() {
        for (settings, expected) in [
            ("", false),
            ("save-all = true", true),
            ("flags = ['-O2', '-fno-automatic']", true),
            ("flags = ['-fcheck=bounds']", false),
            ("flags = ['-fcheck=bounds,recursion']", true),
        ] {
            assert_eq!(load(settings).unwrap().is_static(), expected, "{settings}");
        }
    }

    #[test]
    fn the_environment_overrides() {
        let mut c = load("flags = ['-a']\nfc = 'f1'").unwrap();
        c.apply_environment(&|name| {
            Some(match name {
                "FARFEL_FC" => "f2".into(),
                "FARFEL_FFLAGS" => " -b  -c ".into(),
                "FARFEL_INSTALL" | "FARFEL_STATIC_RUNTIME" => "1".into(),
                "FARFEL_AD_TOOL" => "adolc".into(),
                "FARFEL_CACHE_DIR" => "/c".into(),
                "FARFEL_CACHE_REMOTE" => "redis://r".into(),
                "FARFEL_LINTS" => "unknown-procedure=warn, all=deny".into(),
                VERIFY | crate::passes::VERIFY_PASSES => String::new(),
                other => panic!("{other} is not documented"),
            })
        })
        .unwrap();
        assert_eq!(c.fc.as_deref(), Some(Path::new("f2")));
        assert_eq!(c.flags, ["-a", "-b", "-c"]);
        assert!(c.install && c.static_runtime);
        use farfel_lang::diagnostic::rules;
        // Individual names take precedence over groups.
        assert_eq!(c.lints.level(&rules::UNKNOWN_PROCEDURE), Level::Warn);
        assert_eq!(c.lints.level(&rules::COMPILER), Level::Deny);
        assert!(matches!(c.check(), Err(Error::AdTool(t)) if t == "adolc"));
        assert!(c.apply_environment(&|_| Some("yes".into())).is_err());
        for (value, verify) in [("0", false), ("1", true)] {
            let mut c = Config::default();
            c.apply_environment(&|name| (name == VERIFY).then(|| value.into()))
                .unwrap();
            assert_eq!(c.verify, verify);
        }
    }

    /// Checks that the page lists every setting, and that its examples are valid.
    #[test]
    fn settings_are_those_of_the_documentation() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let page = std::fs::read_to_string(root.join("docs/settings.md")).unwrap();
        let (table, _) = page.split_once("\n\nThe cache").unwrap();
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
        let rows: Vec<&str> = rows.map(|row| row.split('`').next().unwrap()).collect();
        for row in rows.iter().filter(|row| row.contains(" = ")) {
            if let Err(error) = toml::from_str::<Settings>(row) {
                panic!("{row}: {error}");
            }
        }
        let documented: Vec<&str> = rows.iter().filter_map(|r| r.split(' ').next()).collect();
        let unknown = toml::from_str::<Settings>("xyzzy = 1").err().unwrap();
        let unknown = unknown.to_string();
        let (_, known) = unknown.split_once("expected one of").unwrap();
        // These tables are documented in other places.
        let tables = ["tapenade", "adifor", "cache", "lints"];
        let names = known.split('`').skip(1).step_by(2);
        let missing = names.filter(|n| !tables.contains(n) && !documented.contains(n));
        assert_eq!(missing.collect::<Vec<_>>(), Vec::<&str>::new());
    }
}
