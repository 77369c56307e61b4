//! Reads the settings from `Cargo.toml`, from the builder and from the environment.

use crate::Error;
use crate::derive::{self, DerivedSubprogram};
use farfel_lang::Span;
use farfel_lang::diagnostic::Level;
use farfel_lang::ir::ProcedureDirective;
use farfel_lang::lints::Lints;
use farfel_lang::syntax::{FixedFormLayout, Form, ReadOptions};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The variable that makes a build instrument what it compiles.
pub const VERIFY: &str = "FARFEL_VERIFY";

/// A library that a package uses, directly or by way of another one.
#[derive(Debug, Clone)]
pub struct Library {
    /// Its name and version, where it is, and how its sources are read.
    pub config: Config,
    /// Its sources.
    pub files: Vec<PathBuf>,
    /// Those that gfortran gets as they are.
    pub passed: Vec<PathBuf>,
    /// The libraries that it uses directly, by their positions in [`Config::libraries`].
    pub uses: Vec<usize>,
    /// The package itself uses it.
    pub direct: bool,
}

/// The settings for building a project. [`Config::default`] holds those of a project without
/// settings.
///
/// Settings are read from `[package.metadata.farfel]` in `Cargo.toml`, in kebab case; see the
/// fields. The builder in `build.rs` overrides them, and the environment variables `FARFEL_FC`,
/// `FARFEL_AD_TOOL`, `FARFEL_CACHE_DIR`, `FARFEL_CACHE_REMOTE`, `FARFEL_FFLAGS`, `FARFEL_LINTS` and
/// `FARFEL_INSTALL` override both.
#[derive(Debug, Clone)]
pub struct Config {
    /// The directory of the project: where `Cargo.toml` is. Relative paths of the settings
    /// start here, and INCLUDE reads nothing outside of it and of [`Config::include`].
    pub root: PathBuf,
    /// Name of the package.
    pub name: String,
    /// Version of the package.
    pub version: String,
    /// `sources`: files and directories. Directories are searched for `.ff`, `.f`, `.for`,
    /// `.f77`, `.f90`, `.f95`, `.f03`, `.f08` and `.c` files in all their depth. Without it: `src` and `fortran`.
    pub sources: Option<Vec<PathBuf>>,
    /// `exclude`: files and directories that are left out of the sources.
    pub exclude: Vec<PathBuf>,
    /// `pass-through`: files and directories that gfortran gets as they are.
    pub pass_through: Vec<PathBuf>,
    /// `file-flags`: more flags for the Fortran compiler, for files and directories that gfortran gets as
    /// they are.
    pub file_flags: BTreeMap<PathBuf, Vec<String>>,
    /// `link`: libraries that the sources call, by the names that a linker knows: `["lapack", "blas"]`.
    pub link: Vec<String>,
    /// `ad-tool`: what makes derivatives: `builtin`, `tapenade` or `adifor`.
    pub ad_tool: String,
    /// `tapenade`: where it is and how it is run.
    pub tapenade: ToolSettings,
    /// `adifor`: where it is and how it is run.
    pub adifor: ToolSettings,
    /// `cache`: where results are kept.
    pub cache: CacheSettings,
    /// `real-kind`: how many bytes a REAL has, 4 or 8. With 8, REAL and COMPLEX (and their
    /// constants) are double precision, DOUBLE PRECISION stays what it is.
    pub real_kind: u8,
    /// `form`: `"fixed"` or `"free"`. Without it each file tells by itself.
    pub form: Option<Form>,
    /// `line-length`: the last column that is read in fixed form, 72 to 1000. Without it 72.
    pub line_length: usize,
    /// `preprocess`: run the preprocessor on all sources, not only on those whose names end in
    /// capital letters: `.F`, `.FF`, `.F90`, `.FOR`, `.F77`, `.FTN`, `.FPP`.
    pub preprocess: bool,
    /// `defines`: names that the preprocessor knows, `"NAME"` or `"NAME=value"`.
    pub defines: Vec<String>,
    /// `debug-lines`: lines with `D` in column 1 are code. Otherwise they are comments.
    pub debug_lines: bool,
    /// `exports`: the subprograms that Rust can call. Without it: all that can be.
    pub exports: Option<Vec<String>>,
    /// `unchecked`: the subprograms whose subscripts are not checked: `true` for all, or a list of
    /// names. Functions that reach them are `unsafe`.
    pub unchecked: Unchecked,
    /// `float-errors`: the floating-point exceptions that make a call from Rust an error.
    pub float_errors: Vec<Trap>,
    /// `instance`: the name of a type in Rust. Its values have COMMON and saved variables of their own, and the
    /// subprograms that use some are its methods.
    pub instance: Option<String>,
    /// `signatures`: the arguments that functions in Rust have.
    pub signatures: Signatures,
    /// `signature`: a table with the names of subprograms, each with what is said of its arguments for short functions.
    pub signature: BTreeMap<String, SignatureSettings>,
    /// `max-copies`: how many copies of one subprogram there may be for the procedures that it
    /// gets as arguments. Without it [`MOST_COPIES`](farfel_lang::lower::MOST_COPIES).
    pub max_copies: Option<usize>,
    /// `max-tape`: how many megabytes the built-in engine allots to a tape of a reverse sweep at
    /// most. Without it 1024.
    pub max_tape: Option<u32>,
    /// `flags`: more flags for the Fortran compiler.
    pub flags: Vec<String>,
    /// `include`: directories in which INCLUDE looks after that of the including file. They
    /// may be outside of the project.
    pub include: Vec<PathBuf>,
    /// `opt-level`: 0 to 3, `"s"`, `"z"` or `"fast"`. Without it that of cargo's profile;
    /// 2 outside of cargo.
    pub opt_level: Option<String>,
    /// `debug`: debug information. Without it that of cargo's profile.
    pub debug: Option<bool>,
    /// `save-all`: local variables keep their values between calls everywhere, as old
    /// compilers had it, not only where SAVE says so. Programs that rely on it cannot be
    /// called from several threads at once.
    pub save_all: bool,
    /// `fc`: the Fortran compiler.
    pub fc: Option<PathBuf>,
    /// `install`: install the Fortran compiler with the system's package manager when it
    /// is missing.
    pub install: bool,
    /// `lints`: a table with the names of warnings, each `"allow"`, `"warn"` or `"deny"`:
    /// `unused-variable = "allow"`. `all` stands for all of them, `warnings` for those that
    /// are shown so far. `farfel explain` lists them. `FARFEL_LINTS` has the same as
    /// `unused-variable=allow,warnings=deny`.
    pub lints: Lints,
    /// `derivatives`: a table with the names of procedures, each `"constant"` or a table with
    /// `tangent`, `adjoint`, `arguments`, `in` and `out`: as the directive
    /// `!farfel: derivative(…)` in a source.
    pub derivatives: Vec<ProcedureDirective>,
    /// `derive`: a table with the names of subprograms that are to be made, each the derivative of one that the
    /// sources have: `cost_gradient = { gradient = "cost", by = "x" }`.
    pub derive: Vec<DerivedSubprogram>,
    /// The libraries that the package uses: those of its dependencies that have Farfel sources
    /// and a `links` key. No setting: cargo says which they are.
    pub libraries: Vec<Library>,
    /// Compile programs that check their derivatives: see [`crate::verify`]. No setting: `farfel
    /// verify` says it, to build scripts by the variable `FARFEL_VERIFY`.
    pub verify: bool,
    /// Verify the program after every pass of the compiler. No setting: `--verify-passes` or the
    /// variable `FARFEL_VERIFY_PASSES` says it.
    pub verify_passes: bool,
    /// What stands before the names of files in messages, in place of [`Config::root`].
    pub shown_as: Option<String>,
    /// INCLUDE may read files anywhere. For single files: whoever names them names what they
    /// include. A project stays within its own directory and [`Config::include`].
    pub include_anywhere: bool,
}

/// `[package.metadata.farfel.tapenade]` and `[….adifor]`: an AD tool that is an external program.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ToolSettings {
    /// `home`: the directory of its installation, with `bin/` in it. Without it the
    /// environment (`TAPENADE_HOME`, `AD_HOME`), then the command in `PATH`.
    pub home: Option<PathBuf>,
    /// `java-options`: options for the Java machine: `["-Xmx4g"]`. Tapenade only.
    pub java_options: Vec<String>,
    /// `options`: more options for the tool itself. For ADIFOR, lines `KEY = value` of its
    /// script.
    pub options: Vec<String>,
    /// `timeout`: after how many seconds a run is given up.
    pub timeout: u64,
    /// `allow-unknown`: procedures without text whose derivatives are taken to be zero.
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

/// `[package.metadata.farfel.cache]`: where results are kept between builds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct CacheSettings {
    /// `enabled`: keep results at all.
    pub enabled: bool,
    /// `directory`: where. Without it `FARFEL_CACHE_DIR`, then the user's cache directory.
    pub directory: Option<PathBuf>,
    /// `max-size`: how many MiB it may take; what was not used for longest goes first.
    pub max_size: u64,
    /// `remote`: the address of a second cache that is shared with others:
    /// `redis://…`, `s3://…`, `webdav://…`, `file:///…`. None without it.
    pub remote: Option<String>,
    /// `remote-read-only`: read from the second cache, never write to it.
    pub remote_read_only: bool,
    /// `remote-timeout`: after how many milliseconds the second cache is given up for the
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
            signatures: Signatures::default(),
            signature: BTreeMap::new(),
            max_copies: None,
            max_tape: None,
            verify_passes: false,
            flags: Vec::new(),
            include: Vec::new(),
            opt_level: None,
            debug: None,
            save_all: false,
            fc: None,
            install: false,
            lints: Lints::default(),
            derivatives: Vec::new(),
            derive: Vec::new(),
            libraries: Vec::new(),
            verify: false,
            shown_as: None,
            include_anywhere: false,
        }
    }
}

/// The last column of a card that belongs to a statement.
const CARD: usize = 72;

/// The name of the built-in AD engine.
const BUILTIN: &str = "builtin";

/// The names of all AD tools.
const AD_TOOLS: [&str; 3] = [BUILTIN, "tapenade", "adifor"];

/// The environment variables that decide what is built: those that [`Config`] reads, and
/// those by which compilers and tools are found.
pub(crate) const VARIABLES: &[&str] = &[
    "FARFEL_FC",
    "FC",
    "FARFEL_AD_TOOL",
    "FARFEL_CACHE_DIR",
    "FARFEL_CACHE_REMOTE",
    "FARFEL_FFLAGS",
    "FARFEL_INSTALL",
    "FARFEL_LINTS",
    "FARFEL_VERIFY",
    "FARFEL_VERIFY_PASSES",
    "TAPENADE_HOME",
    "AD_HOME",
    "JAVA_HOME",
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
    signatures: Option<Signatures>,
    signature: Option<BTreeMap<String, SignatureSettings>>,
    max_copies: Option<usize>,
    max_tape: Option<u32>,
    flags: Option<Vec<String>>,
    pass_through: Option<Vec<PathBuf>>,
    file_flags: Option<BTreeMap<PathBuf, Vec<String>>>,
    include: Option<Vec<PathBuf>>,
    opt_level: Option<OptLevel>,
    debug: Option<bool>,
    save_all: Option<bool>,
    fc: Option<PathBuf>,
    install: Option<bool>,
    lints: Option<BTreeMap<String, LevelName>>,
    derivatives: Option<BTreeMap<String, DerivativeSettings>>,
    derive: Option<BTreeMap<String, derive::Settings>>,
}

/// What is said of the derivative of a procedure.
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
    tangent: Option<String>,
    adjoint: Option<String>,
}

impl DerivativeSettings {
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

/// What counts as an error, by the names of gfortran's option `-ffpe-trap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trap {
    /// An operation without a value: `0.0/0.0`, the root of a negative number.
    Invalid,
    /// A division of another number by zero.
    Zero,
    /// A result that is too large.
    Overflow,
    /// A result that is too small.
    Underflow,
}

/// The arguments that functions in Rust have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signatures {
    /// All arguments of the Fortran subprogram.
    #[default]
    Fortran,
    /// Those that a person would ask for; the functions with all arguments are in a module `raw`.
    Rust,
}

/// `[package.metadata.farfel.signature.NAME]`: what is said of the arguments of a subprogram. Arrays may have bounds, as `x(n)`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SignatureSettings {
    /// `keep`: arguments that stay as they are.
    pub keep: Vec<String>,
    /// `shapes`: the bounds of arrays whose declarations do not tell.
    pub shapes: Vec<String>,
    /// `outputs`: arguments whose values do not matter before the call.
    pub outputs: Vec<String>,
    /// `workspaces`: arrays whose values do not matter before the call nor after it.
    pub workspaces: Vec<String>,
    /// `errors`: arguments that say how it went, each with the values that are errors: `"/= 0"`.
    pub errors: BTreeMap<String, Values>,
}

/// Values of an argument: `"< 0"`, or several of such.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Values {
    /// One condition.
    One(String),
    /// Any of these.
    Several(Vec<String>),
}

impl Values {
    /// The conditions.
    pub(crate) fn list(&self) -> &[String] {
        match self {
            Values::One(one) => std::slice::from_ref(one),
            Values::Several(several) => several,
        }
    }
}

/// What `unchecked` names.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Unchecked {
    /// Everything, or nothing.
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
    /// The names, as programs have them; `None` for all.
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

/// A setting that a build script changes. Names are those of `Cargo.toml`, with dots where tables
/// lie in tables: `cache.max-size`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The setting has this value.
    Set(String, Value),
    /// The setting is a list with one more value.
    Add(String, Value),
}

/// Where the settings of a build script stand.
const BUILD_SCRIPT: &str = "build.rs";

/// Reads a manifest as whatever is wanted of it.
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

/// The settings of a manifest after the changes.
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
    /// The bytes of a default REAL.
    pub(crate) fn real_bytes(&self) -> u8 {
        if self.real_kind == 8 { 8 } else { 4 }
    }

    /// The most bytes of a tape, where a setting says so.
    pub(crate) fn tape_bytes(&self) -> Option<u64> {
        self.max_tape.map(|most| u64::from(most) << 20)
    }

    /// The settings of the project in a directory, with those of the environment. A
    /// directory without `Cargo.toml` has none.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when `Cargo.toml` cannot be read, [`Error::Config`] when a setting is
    /// unknown or has a value that it cannot have.
    pub fn load(manifest_dir: &Path) -> Result<Config, Error> {
        let mut config = Config::from_manifest(manifest_dir)?;
        config.apply_environment(&|name| std::env::var(name).ok())?;
        config.check()?;
        Ok(config)
    }

    /// The settings of `Cargo.toml` alone.
    ///
    /// # Errors
    ///
    /// Those of [`Config::load`].
    pub fn from_manifest(dir: &Path) -> Result<Config, Error> {
        Config::from_build_script(dir, &[])
    }

    /// The settings of `Cargo.toml` with what a build script changes of them, in this order.
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

    fn apply(&mut self, settings: Settings, origin: &str) -> Result<(), Error> {
        // Without `..`: a new setting must be handled here.
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
            signatures,
            signature,
            max_copies,
            max_tape,
            flags,
            include,
            opt_level,
            debug,
            save_all,
            fc,
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
        // What is asked for is to be called.
        let derived = self.derive.iter().map(|d| d.name.clone());
        self.exports = exports.map(|named| named.into_iter().chain(derived).collect());
        self.unchecked = unchecked.unwrap_or_default();
        self.float_errors = float_errors.unwrap_or_default();
        self.instance = instance;
        self.signatures = signatures.unwrap_or_default();
        self.signature = signature.unwrap_or_default();
        self.max_copies = max_copies;
        self.max_tape = max_tape;
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

    /// How sources are read.
    pub(crate) fn read_options(&self) -> ReadOptions {
        ReadOptions {
            form: self.form,
            layout: FixedFormLayout {
                line_length: self.line_length,
                debug_lines: self.debug_lines,
            },
        }
    }

    /// Overrides settings by environment variables. `FC` is not one of them: it only names
    /// a compiler to try where nothing is set, so the toolchain reads it.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] when a variable has a value that it cannot have.
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
        self.verify |= set(VERIFY).is_some();
        if set(crate::passes::VERIFY_PASSES).is_some_and(|v| v != "0") {
            crate::passes::verify_passes();
        }
        self.verify_passes = farfel_lang::verify::is_requested();
        if let Some(install) = set("FARFEL_INSTALL") {
            self.install = match install.as_str() {
                "1" => true,
                "0" => false,
                other => {
                    return Err(Error::Config {
                        origin: "FARFEL_INSTALL".into(),
                        message: format!("`{other}` is neither 1 nor 0"),
                    });
                }
            };
        }
        Ok(())
    }

    /// Do local variables live in static memory, by `save-all` or by a flag? Then threads
    /// share them. The check for recursion keeps a static mark for each subprogram.
    pub(crate) fn is_static(&self) -> bool {
        self.save_all
            || self.flags.iter().any(|f| {
                f == "-fno-automatic"
                    || f.starts_with("-fmax-stack-var-size")
                    || f.strip_prefix("-fcheck=")
                        .is_some_and(|c| c.split(',').any(|c| c == "all" || c == "recursion"))
            })
    }

    /// Flags that change what the types mean; the bindings would not know.
    const TYPE_FLAGS: [&str; 4] = ["-fdefault-", "-freal-", "-finteger-4-", "-flogical-4-"];

    /// Checks the values that are not checked by their type.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] when a setting has a value that it cannot have.
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
        // They are lines for cargo and arguments of the linker.
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
        if let Some(name) = &self.instance {
            // As Rust names types, and so neither a keyword nor a function.
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
        if self.signatures == Signatures::Fortran
            && let Some(name) = self.signature.keys().next()
        {
            let message = "functions have all arguments without `signatures = \"rust\"`";
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
        assert!(c.save_all && !c.install);
    }

    #[test]
    fn derivatives_are_read() {
        let c = load(
            "[package.metadata.farfel.derivatives]\ntable = 'constant'\n\
             solve = { tangent = 'solve_d', arguments = ['a', 'k', 'x'], in = ['a'], out = ['x'], sets = ['k'] }",
        )
        .unwrap();
        let [solve, table] = &c.derivatives[..] else {
            panic!("{:?}", c.derivatives)
        };
        assert!(table.is_constant() && table.procedure == "TABLE");
        assert_eq!(solve.tangent.as_deref(), Some("SOLVE_D"));
        assert!(solve.is_active("A") && solve.is_active("X") && !solve.is_active("K"));
        assert_eq!(solve.sets, ["K"]);
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
                "FARFEL_INSTALL" => "1".into(),
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
        assert!(c.install);
        use farfel_lang::diagnostic::rules;
        // Names outdo groups.
        assert_eq!(c.lints.level(&rules::UNKNOWN_PROCEDURE), Level::Warn);
        assert_eq!(c.lints.level(&rules::COMPILER), Level::Deny);
        assert!(matches!(c.check(), Err(Error::AdTool(t)) if t == "adolc"));
        assert!(c.apply_environment(&|_| Some("yes".into())).is_err());
    }

    /// The page has every setting, each with a value that is one.
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
        // These are tables of their own, with places of their own in the documentation.
        let tables = ["tapenade", "adifor", "cache", "lints"];
        let names = known.split('`').skip(1).step_by(2);
        let missing = names.filter(|n| !tables.contains(n) && !documented.contains(n));
        assert_eq!(missing.collect::<Vec<_>>(), Vec::<&str>::new());
    }
}
