//! What a program is, for people: faults, Fortran after a stage, graphs, tables. Nothing is compiled
//! and nothing written.

use crate::annotate;
use crate::assemble;
use crate::bind;
use crate::facts::{Facts, Memory};
use crate::guard::Plan;
use crate::plan::interfaces::interfaces;
use crate::plan::objects::{Objects, Target};
use crate::plan::view;
use crate::read::{Goal, Read, Written, has_main, settle};
use crate::session::Session;
use crate::side_by_side::{ByUnits, Outline};
use crate::stage::ExpandStage;
use crate::staged::{self, References, Staged};
use crate::{Error, Report, verify};
use crate::{analysis, copies, graph, intents, storage};
use farfel_lang::effects::{Assigned, Dummies};
use farfel_lang::ir::Name;
use farfel_lang::print::{Options, print_program};

impl Session {
    /// Reports every fault: syntax, names and types, lowering, and what the AD tool cannot
    /// differentiate. In a project, what the settings export must exist.
    ///
    /// # Errors
    ///
    /// [`Error::Diagnostics`] when there are faults, [`Error::Io`] when a file cannot be read,
    /// [`Error::Export`].
    pub fn check(&self) -> Result<Report, Error> {
        let mut read = self.read()?;
        let written = std::mem::take(&mut read.written);
        let exports = match self.goal {
            Goal::Library => self.config.exports.as_deref(),
            Goal::Program | Goal::First => None,
        };
        let staged = self.stage(read, exports)?;
        let ad = self.ad()?;
        let report = self.differentiate(&staged, &staged.derivatives(&*ad.tool))?;
        if self.goal == Goal::Library {
            self.exported(&staged, &written, false)?;
        }
        Ok(report)
    }

    /// The program after a stage as Fortran text. [`ExpandStage::Final`] is what is compiled,
    /// without line markers: a program where there is a main program, else a library.
    ///
    /// # Errors
    ///
    /// Those of [`Session::check`].
    pub fn expand(&self, stage: ExpandStage) -> Result<(String, Report), Error> {
        let Some(until) = stage.lowered() else {
            return self.expand_read(self.read()?, false);
        };
        let (program, _, report) = staged::lower_to(self.read()?, until, None)?;
        Ok((print_program(&program, &Options::default()), report))
    }

    /// The same of some subprograms, by the names that they have after the stage, and of what they need. At
    /// the end they stand as subprograms of a program, whoever calls them.
    ///
    /// # Errors
    ///
    /// Those of [`Session::check`]; [`Error::NoSubprogram`].
    pub fn expand_below(
        &self,
        stage: ExpandStage,
        roots: &[String],
    ) -> Result<(String, Report), Error> {
        let read = self.read()?;
        let (mut program, requests, report) = match stage.lowered() {
            Some(until) => staged::lower_to(read, until, None)?,
            None => {
                let staged = self.stage(read, None)?;
                let ad = self.ad()?;
                let derivatives = staged.derivatives(&*ad.tool);
                let report = self.differentiate(&staged, &derivatives)?;
                let (units, requests) = (staged.program.units.len(), staged.requests.len());
                let program = derivatives.program(0..units, 0..requests);
                (program, Vec::new(), report)
            }
        };
        let references = References::of(&program, &requests);
        let mut found = Vec::new();
        for root in roots {
            let name = root.to_ascii_uppercase();
            match references.graph().index(&name) {
                Some(unit) => found.push(unit),
                None => {
                    let names = program.units.iter().map(|u| u.name.to_string());
                    let begins = format!("{name}_");
                    let copies = names.filter(|n| n.starts_with(&begins)).collect();
                    return Err(Error::NoSubprogram {
                        name,
                        stage,
                        copies,
                    });
                }
            }
        }
        let kept = references.reached(found);
        let mut position = 0;
        program.units.retain(|_| {
            position += 1;
            kept.contains(&(position - 1))
        });
        let text = match stage.lowered() {
            Some(_) => print_program(&program, &Options::default()),
            None => {
                let text = assemble::program_text(&program, &report.sources, true);
                annotate::annotated(&text, &report.sources)
            }
        };
        Ok((text, report))
    }

    /// The program as [`ExpandStage::Final`] has it beside its sources, both by program units, with the
    /// lines of the sources that each line comes from.
    ///
    /// # Errors
    ///
    /// Those of [`Session::expand`].
    pub fn expand_by_units(&self) -> Result<(ByUnits, Report), Error> {
        let read = self.read()?;
        let outline = Outline::of(&read.program, &read.report.sources);
        let (text, report) = self.expand_read(read, true)?;
        Ok((ByUnits::of(&text, &report.sources, &outline), report))
    }

    fn expand_read(&self, mut read: Read, line_markers: bool) -> Result<(String, Report), Error> {
        let is_library = !has_main(&read.program);
        let exports = self.config.exports.as_deref().filter(|_| is_library);
        let written = std::mem::take(&mut read.written);
        let staged = self.stage(read, exports)?;
        let ad = self.ad()?;
        let derivatives = staged.derivatives(&*ad.tool);
        let report = self.differentiate(&staged, &derivatives)?;
        let names = self.names();
        let (exports, facts);
        let target = if is_library {
            (facts, exports) = self.exported(&staged, &written, ad.adjoints_share_state)?;
            Target::Library {
                exports: &exports,
                names: &names,
                facts: &facts,
                part: false,
                by_instance: self.config.instance.is_some(),
                traps: &self.config.float_errors,
            }
        } else {
            Target::Program
        };
        let objects = Objects::new(&staged, target);
        let texts = objects.groups().iter().map(|g| {
            let (text, _) = objects.text(g, &derivatives, true);
            let text = match line_markers {
                true => text,
                false => annotate::annotated(&text, &report.sources),
            };
            match g.alone {
                true => text,
                false => format!("C     Object file {}.o\n{text}", g.name),
            }
        });
        let texts: Vec<String> = texts.collect();
        Ok((texts.join("\n"), report))
    }

    /// What is known of the program with its derivatives, and what Rust can call of it.
    fn exported(
        &self,
        staged: &Staged,
        written: &[Written],
        adjoints_share_state: bool,
    ) -> Result<(Facts, Vec<Name>), Error> {
        let mut program = staged.program.clone();
        program
            .units
            .extend(interfaces(staged, adjoints_share_state));
        let assigned = Assigned::with(&program, Dummies::Closures);
        let memory = Memory {
            all_static: self.config.is_static(),
            known_to_c: &staged.by_name,
            by_instance: self.config.instance.is_some(),
            part: false,
            float_errors: !self.config.float_errors.is_empty(),
        };
        let plan = Plan::of(
            &program,
            &staged.by_name,
            self.config.unchecked.names(),
            self.config.real_bytes(),
        );
        let exports = bind::choose(&program, written, &self.config, &plan)?;
        let facts = Facts::of(&program, &assigned, memory, plan);
        Ok((facts, exports.names))
    }

    /// What the built-in engine finds out about AD blocks.
    ///
    /// # Errors
    ///
    /// Those of [`Session::check`].
    pub fn activity(&self) -> Result<(analysis::Activity, Report), Error> {
        let (staged, _) = self.staged()?;
        let ad = self.ad()?;
        let derivatives = staged.derivatives(&*ad.tool);
        self.make_all(&staged, &derivatives);
        let mut said = staged.report.diagnostics.clone();
        let mut blocks = Vec::new();
        for block in verify::blocks(&staged, &self.config) {
            let program = derivatives.seen_by(block.request);
            let request = &staged.requests[block.request];
            let tape = self.config.tape_bytes();
            match farfel_ad::analysis::analyse(&program, request, tape) {
                Ok(found) => blocks.push((block, found)),
                Err(faults) => {
                    // What is missing below says more than that it is missing.
                    let below = derivatives.said(derivatives.needs(block.request).iter().copied());
                    let faults = if below.is_empty() { faults } else { below };
                    let new = faults.into_iter().filter(|d| !said.contains(d));
                    let new: Vec<_> = new.collect();
                    said.extend(new);
                }
            }
        }
        let report = settle(staged.report.sources.clone(), said, &staged.lints)?;
        let activity = analysis::Activity::new(blocks, &staged.report.sources);
        Ok((activity, report))
    }

    /// Who calls whom in a program, with the derivatives that it asks for: see
    /// [`graph::Graph::of_calls`].
    ///
    /// # Errors
    ///
    /// Those of [`Session::check`], but for what the AD tool would find.
    pub fn call_graph(&self) -> Result<(graph::Graph, Report), Error> {
        let (staged, _) = self.staged()?;
        let sources = &staged.report.sources;
        let graph = graph::Graph::of_calls(&staged.program, &staged.requests, sources);
        Ok((graph, staged.report))
    }

    /// The steps of a build. The notes have the beginning of a hash of all sources that the step
    /// depends on: as long as it stays, so does what the step makes.
    ///
    /// # Errors
    ///
    /// Those of [`Session::call_graph`]; for a library also [`Error::Export`].
    pub fn plan(&self) -> Result<(graph::Graph, Report), Error> {
        let (staged, written) = self.staged()?;
        let mut passed = self.passed()?.files.iter();
        let graph = match has_main(&staged.program) || passed.any(|f| f.has_main()) {
            true => view::graph(&staged, None, self.passed()?),
            false => {
                let (_, exports) = self.exported(&staged, &written, false)?;
                view::graph(&staged, Some(&exports), self.passed()?)
            }
        };
        Ok((graph, staged.report))
    }

    /// COMMON blocks and EQUIVALENCE classes, as they are written.
    ///
    /// # Errors
    ///
    /// Those of [`Session::check`], but for what lowering and the AD tool would find.
    pub fn storage(&self) -> Result<(storage::Storage, Report), Error> {
        let read = self.read()?;
        let storage = storage::Storage::of(&read.program, self.config.real_bytes());
        Ok((storage, read.report))
    }

    /// What procedures do with their arguments and with COMMON, as they are written.
    ///
    /// # Errors
    ///
    /// Those of [`Session::storage`].
    pub fn intents(&self) -> Result<(intents::Intents, Report), Error> {
        let read = self.read()?;
        let intents = intents::Intents::of(&read.program, self.config.real_bytes());
        Ok((intents, read.report))
    }

    /// Which subprograms are copied for the procedures that they get as arguments, for which
    /// calls, and which are not.
    ///
    /// # Errors
    ///
    /// Those of [`Session::check`], but for what the AD tool would find.
    pub fn copies(&self) -> Result<(copies::Copies, Report), Error> {
        let read = self.read()?;
        let is_library = !has_main(&read.program);
        staged::explain(read, self.config.exports.as_deref().filter(|_| is_library))
    }

    /// What lowering makes of the program, and what the user wrote in it.
    fn staged(&self) -> Result<(Staged, Vec<Written>), Error> {
        let mut read: Read = self.read()?;
        // There is something to see also where nothing is compiled yet.
        if read.exports.as_ref().is_some_and(Vec::is_empty) {
            read.exports = Some(read.written.iter().map(|w| w.name.to_string()).collect());
        }
        let is_library = !has_main(&read.program);
        let exports = self.config.exports.as_deref().filter(|_| is_library);
        let written = std::mem::take(&mut read.written);
        Ok((self.stage(read, exports)?, written))
    }
}
