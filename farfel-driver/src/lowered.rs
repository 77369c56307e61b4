//! Lowered libraries, or parts of them, with the subprograms that Rust can call and their bindings.

use crate::bind::{self, Bindings, BindingsPart};
use crate::bounds_checks::BoundsCheckPlan;
use crate::config::Trap;
use crate::facts::{Facts, MemoryModel};
use crate::instances;
use crate::names::Names;
use crate::plan::interfaces::interfaces;
use crate::plan::objects::{BuildTools, Layout, Objects, Target};
use crate::read::{CheckedProgram, callable};
use crate::staged::{self, Staged};
use crate::{Config, Error};
use farfel_lang::effects::{Assigned, DummyAssumptions};
use farfel_lang::ir::{Name, Unit};
use farfel_lang::lower::{Options, Stage, lower_with};
use std::collections::BTreeSet;

/// The settings and tools for lowering and building a library.
pub(crate) struct LibraryContext<'a> {
    pub config: &'a Config,
    pub names: &'a Names,
    pub tools: &'a BuildTools<'a>,
    /// Whether the tool's reverse-mode code uses state that is not in the program.
    pub adjoints_share_state: bool,
}

/// A lowered program, or a part of one.
pub(crate) struct Lowered {
    pub staged: Staged,
    pub part: BindingsPart,
    exports: Vec<Name>,
    facts: Facts,
    /// Whether this is a part of a larger library.
    more: bool,
    by_instance: bool,
    traps: Vec<Trap>,
}

/// Notes what the closures of derivatives that the settings request only read: which derivatives they get
/// depends on it. What calls them is known after lowering.
pub(crate) fn describe_closures_of_derived(
    read: &mut CheckedProgram,
    exports: Option<&[String]>,
    config: &Config,
) {
    let options = read.options(exports);
    let lower = |program, exported: &[Name]| {
        let exports = options.exports.as_ref();
        let options = Options {
            companions: Vec::new(),
            exports: exports.map(|all| [all, exported].concat()),
            ..options.clone()
        };
        lower_with(program, Stage::Stage, &options).program
    };
    bind::describe_derived(&mut read.program, &lower, config);
}

impl Lowered {
    /// Lowers a program that was read; `home` are the subprograms that Rust may call, if they can be
    /// exported.
    ///
    /// # Errors
    ///
    /// [`Error::Diagnostics`], [`Error::Export`].
    pub(crate) fn new(
        mut read: CheckedProgram,
        home: Option<&BTreeSet<&str>>,
        config: &Config,
        names: &Names,
        adjoints_share_state: bool,
    ) -> Result<Lowered, Error> {
        let mut written = std::mem::take(&mut read.written);
        read.part = home.is_some();
        let exports: Option<Vec<String>> = match home {
            None => config.exports.clone(),
            Some(home) => {
                written.retain(|w| home.contains(&*w.name));
                let asked = |name: &str| {
                    let exports = config.exports.as_ref()?;
                    let unit = read.program.unit(name);
                    let entries = unit.into_iter().flat_map(Unit::entry_points);
                    let mut names = std::iter::once(name).chain(entries.map(|e| e.name.as_str()));
                    let named = |n: &str| exports.iter().any(|e| e.eq_ignore_ascii_case(n));
                    Some(names.any(named))
                };
                let callable: Vec<&Name> = callable(&written).map(|w| &w.name).collect();
                let wanted = written
                    .iter()
                    .filter(|w| asked(&w.name).unwrap_or_else(|| callable.contains(&&w.name)));
                Some(wanted.map(|w| w.name.to_string()).collect())
            }
        };
        describe_closures_of_derived(&mut read, exports.as_deref(), config);
        let mut staged = staged::stage(read, exports.as_deref())?;
        let units = staged.program.units.len();
        let derivatives = interfaces(&staged, adjoints_share_state);
        staged.program.units.extend(derivatives);
        bind::describe_closures(&mut staged.program, config);
        let program = &staged.program;
        let assigned = Assigned::with(program, DummyAssumptions::Closures);
        let commons = bind::commons(program, &staged.report.sources, config)?;
        let mut known_to_others = staged.by_name.clone();
        known_to_others.extend(commons.iter().cloned());
        let memory = MemoryModel {
            all_static: config.is_static(),
            known_to_others: &known_to_others,
            by_instance: config.instance.is_some(),
            part: home.is_some(),
            float_errors: !config.float_errors.is_empty(),
            openmp: config.has_openmp(),
            placement: config.placement(),
        };
        let plan = BoundsCheckPlan::of(
            program,
            &staged.by_name,
            config.unchecked.names(),
            config.real_bytes(),
        );
        let facts = Facts::of(program, &assigned, memory, plan);
        if let Some(name) = &config.instance
            && let Some((unit, reason)) = instances::obstacle(program, &staged.by_name)
        {
            return Err(Error::Instance {
                name: name.clone(),
                unit: unit.to_ascii_lowercase(),
                reason,
            });
        }
        let exports = match home {
            None => bind::choose(program, &written, config, &facts.plan)?,
            Some(_) => bind::choose_among(program, &written, config, &facts.plan)?,
        };
        let signatures = bind::signatures(program, &exports, config, &assigned)?;
        let part = Bindings {
            program,
            exports: &exports,
            names,
            sources: &staged.report.sources,
            config,
            facts: &facts,
            assigned: &assigned,
            signatures: signatures.as_ref(),
            by_name: &staged.by_name,
            commons: &commons,
        }
        .part();
        staged.program.units.truncate(units);
        if config.verify {
            crate::verify::prepare(&mut staged, config);
        }
        Ok(Lowered {
            staged,
            part,
            exports: exports.names,
            facts,
            more: home.is_some(),
            by_instance: config.instance.is_some(),
            traps: config.float_errors.clone(),
        })
    }

    fn target<'a>(&'a self, names: &'a Names) -> Target<'a> {
        Target::Library {
            exports: &self.exports,
            names,
            facts: &self.facts,
            part: self.more,
            by_instance: self.by_instance,
            traps: &self.traps,
        }
    }

    /// Determines the objects.
    pub(crate) fn objects<'a>(&'a self, names: &'a Names) -> Objects<'a> {
        Objects::new(&self.staged, self.target(names))
    }

    /// Like [`Lowered::objects`], with a known layout.
    pub(crate) fn objects_with<'a>(&'a self, names: &'a Names, layout: Layout) -> Objects<'a> {
        Objects::with(&self.staged, self.target(names), layout)
    }
}
