//! The AD tool chosen in the settings: finding it, caching its runs, and the run-time support of its
//! adjoints.

use crate::cache::{Cache, Entry, Key};
use crate::process::{self, Limits};
use crate::toolchain::{Compiler, Family};
use crate::tools::{self, InstalledTool, ToolRunner};
use crate::{Config, Error, files, flang};
use farfel_ad::{AdTool, Bounded, Builtin, WithThreads};
use farfel_tools::external::{Job, RunError, RunResult, Runner};
use farfel_tools::{adifor, tapenade};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// An AD tool that is available.
pub(crate) struct SelectedTool {
    pub tool: Box<dyn AdTool>,
    /// The identity of the tool: name, version, options. Tools with equal identities give equal results.
    pub identity: String,
    /// Whether its reverse-mode code shares state that is not in the program.
    pub adjoints_share_state: bool,
    /// The directory with the run-time support of its adjoints.
    kit: Option<PathBuf>,
    /// Whether programs are compiled that check themselves.
    checks: bool,
    /// The object files of the run-time support, once they have been asked for.
    stack: Mutex<Option<Vec<Vec<u8>>>>,
}

/// Finds the AD tool that the settings name. Its runs are cached.
///
/// # Errors
///
/// [`Error::AdTool`] if there is no tool with this name; the errors of [`tools::tapenade`] and
/// [`tools::adifor`].
pub(crate) fn choose(config: &Config, cache: &Arc<Cache>) -> Result<SelectedTool, Error> {
    match config.ad_tool.as_str() {
        "builtin" => Ok(SelectedTool {
            tool: match (config.tape_bytes(), config.has_openmp()) {
                (None, false) => Box::new(Builtin),
                (None, true) => Box::new(WithThreads(Builtin)),
                (Some(tape), false) => Box::new(Bounded { tape }),
                (Some(tape), true) => Box::new(WithThreads(Bounded { tape })),
            },
            identity: {
                let mut identity = "builtin".to_owned();
                if let Some(most) = config.max_tape {
                    identity.push_str(&format!(" with {most} MB of tape"));
                }
                if config.has_openmp() {
                    identity.push_str(", parallel");
                }
                // Cached results may not have been verified.
                if config.verify_passes {
                    identity.push_str(", verified");
                }
                identity
            },
            adjoints_share_state: false,
            kit: None,
            checks: config.verify,
            stack: Mutex::default(),
        }),
        "tapenade" => {
            let found = tools::tapenade(config)?;
            let version: tapenade::Version = found
                .version
                .parse()
                .map_err(|e: tapenade::NoVersion| broken("Tapenade", &found, e.to_string()))?;
            let mut options = tapenade::Options {
                extra: config.tapenade.options.clone(),
                java: config.tapenade.java_options.clone(),
                allow_unknown: config.tapenade.allow_unknown.clone(),
                // The version string of our drop-in.
                allocates: found.version.contains("compatible: farfel"),
            };
            if config.real_kind == 8 {
                options.extra.push("-r8".into());
            }
            let identity = format!("tapenade {} {options:?}", found.version);
            let kit = found.kit.clone();
            Ok(SelectedTool {
                tool: Box::new(tapenade::Tapenade {
                    version,
                    options,
                    runner: runner(found, &identity, config.tapenade.timeout, cache),
                }),
                identity,
                adjoints_share_state: true,
                kit,
                checks: config.verify,
                stack: Mutex::default(),
            })
        }
        "adifor" => {
            let found = tools::adifor(config)?;
            let version = adifor::Version::find(&found.version)
                .or_else(|| adifor::Version::find(&found.program.to_string_lossy()))
                .ok_or_else(|| {
                    broken(
                        "ADIFOR",
                        &found,
                        format!("no version in `{}`", found.version),
                    )
                })?;
            let options = adifor::Options {
                extra: config.adifor.options.clone(),
                allow_unknown: config.adifor.allow_unknown.clone(),
            };
            let identity = format!("adifor {version} {options:?}");
            Ok(SelectedTool {
                tool: Box::new(adifor::Adifor {
                    version,
                    options,
                    runner: runner(found, &identity, config.adifor.timeout, cache),
                }),
                identity,
                adjoints_share_state: false,
                kit: None,
                checks: config.verify,
                stack: Mutex::default(),
            })
        }
        other => Err(Error::AdTool(other.to_owned())),
    }
}

fn broken(tool: &'static str, found: &InstalledTool, reason: String) -> Error {
    Error::ToolBroken {
        tool,
        program: found.program.clone(),
        reason,
    }
}

fn runner(
    found: InstalledTool,
    identity: &str,
    seconds: u64,
    cache: &Arc<Cache>,
) -> Arc<dyn Runner> {
    Arc::new(CachingRunner {
        runner: ToolRunner::new(found.program, [], Duration::from_secs(seconds)),
        identity: identity.to_owned(),
        cache: Arc::clone(cache),
        known: Mutex::default(),
    })
}

/// Runs a tool only for jobs that are not in the cache.
struct CachingRunner {
    runner: ToolRunner,
    identity: String,
    cache: Arc<Cache>,
    /// The keys of runs that are in the cache already and need not be stored again.
    known: Mutex<HashSet<String>>,
}

impl CachingRunner {
    fn key(&self, job: &Job) -> Key {
        let mut key = Key::builder("derivative")
            .field("tool", &self.identity)
            .field("arguments", job.args.join("\n"));
        for (name, text) in &job.inputs {
            key = key.field(&format!("file {name}"), text);
        }
        key.finish()
    }

    fn known(&self) -> MutexGuard<'_, HashSet<String>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of the file with the tool's output in a cache entry. No file of a tool can have this name.
const SAID: &str = "/said";

impl Runner for CachingRunner {
    fn run(&self, job: &Job) -> Result<RunResult, RunError> {
        let key = self.key(job);
        if let Some(ran) = self.cache.get(&key).and_then(ran) {
            self.known().insert(key.hex());
            return Ok(ran);
        }
        self.runner.run(job)
    }

    // Only a good run is cached: a failure for lack of memory, or a truncated file, must not become
    // permanent.
    fn accept(&self, job: &Job, ran: &RunResult) {
        let key = self.key(job);
        if !self.known().insert(key.hex()) {
            return;
        }
        let mut entry = Entry {
            files: vec![(SAID.to_owned(), ran.output.clone().into_bytes())],
        };
        for (name, text) in &ran.files {
            entry.files.push((name.clone(), text.clone().into_bytes()));
        }
        self.cache.put(&key, &entry);
    }
}

/// Decodes an entry; `None` if it is not the result of a run.
fn ran(entry: Entry) -> Option<RunResult> {
    let mut ran = RunResult::default();
    let mut said = None;
    for (name, bytes) in entry.files {
        let text = String::from_utf8(bytes).ok()?;
        if name == SAID {
            said = Some(text);
        } else {
            ran.files.insert(name, text);
        }
    }
    ran.output = said?;
    Some(ran)
}

impl SelectedTool {
    /// Returns the object files of the stack that the tool's adjoints use: from its own kit if it has one,
    /// else ours.
    ///
    /// # Errors
    ///
    /// [`Error::Command`] if it cannot be compiled.
    pub(crate) fn stack(&self, compiler: &Compiler, cache: &Cache) -> Result<Vec<Vec<u8>>, Error> {
        let mut known = self.stack.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(objects) = &*known {
            return Ok(objects.clone());
        }
        let mut sources = Vec::new();
        if self.adjoints_share_state || !self.checks {
            sources = self.stack_sources()?;
        }
        if self.checks {
            sources.push(("verify.f90", crate::verify::SUPPORT.into()));
        }
        let objects: Vec<Vec<u8>> = sources
            .into_iter()
            .map(|(name, text)| support(name, &text, compiler, cache))
            .collect::<Result<_, _>>()?;
        *known = Some(objects.clone());
        Ok(objects)
    }

    /// Returns the sources of the stack, with their names.
    fn stack_sources(&self) -> Result<Vec<(&'static str, Vec<u8>)>, Error> {
        let ours = || vec![("adStack.c", tapenade::SUPPORT.into())];
        let Some(kit) = &self.kit else {
            return Ok(ours());
        };
        let read = |name: &str| {
            let path = kit.join(name);
            if path.is_file() {
                std::fs::read(&path).map(Some).map_err(Error::io(path))
            } else {
                Ok(None)
            }
        };
        let Some(stack) = read("adStack.c")? else {
            return Ok(ours());
        };
        // Older kits keep single values in buffers that are written in Fortran; newer ones are all in C.
        let complete = String::from_utf8_lossy(&stack)
            .to_ascii_lowercase()
            .contains("pushcontrol");
        if complete {
            return Ok(vec![("adStack.c", stack)]);
        }
        Ok(match read("adBuffer.f")? {
            Some(buffer) => vec![("adStack.c", stack), ("adBuffer.f", buffer)],
            None => ours(),
        })
    }
}

/// Compiles a file of the run-time support.
fn support(name: &str, text: &[u8], compiler: &Compiler, cache: &Cache) -> Result<Vec<u8>, Error> {
    const FLAGS: [&str; 6] = ["-O2", "-fPIC", "-w", "-std=legacy", "-fexceptions", "-c"];
    let is_c = Path::new(name).extension().is_some_and(|e| e == "c");
    let flags: Vec<String> = FLAGS
        .into_iter()
        .filter(|f| !(is_c && *f == "-std=legacy"))
        .map(str::to_owned)
        .collect();
    let key = Key::builder("support")
        .field("compiler", compiler.identity(&[]))
        .field("flags", flags.join(" "))
        .field("text", text)
        .finish();
    if let Some(entry) = cache.get(&key)
        && let Some((_, code)) = entry.files.into_iter().next()
    {
        return Ok(code);
    }
    let scratch = files::Scratch::new()?;
    let source = scratch.path().join(name);
    let output = scratch.path().join("output");
    files::write_if_changed(&source, text)?;
    let (mut command, flags) = match (compiler.family, is_c) {
        // gfortran is a front end of GCC, which recognizes C by the file's name.
        (Family::Gfortran, _) => (compiler.command(), flags),
        (Family::Flang, true) => (std::process::Command::new("cc"), flags),
        (Family::Flang, false) => (compiler.command(), flang::flags(&flags)),
    };
    command.env("TMPDIR", scratch.path());
    command.args(&flags).arg("-o").arg(&output).arg(&source);
    if name.ends_with(".f90") {
        command.arg("-J").arg(scratch.path());
    }
    let failed = |reason: String| Error::Command {
        command: format!("compiling {name} of the AD tool's run-time support"),
        reason,
    };
    let ran = process::run(&mut command, &Limits::COMPILER).map_err(|e| failed(e.to_string()))?;
    if !ran.status.success() {
        return Err(failed(String::from_utf8_lossy(&ran.stderr).into_owned()));
    }
    let code = std::fs::read(&output).map_err(Error::io(&output))?;
    let entry = Entry {
        files: vec![("code".into(), code.clone())],
    };
    cache.put(&key, &entry);
    Ok(code)
}
