//! Views of a program for people: diagnostics, Fortran after a stage, graphs, tables. They compile and write
//! nothing.

use crate::annotate;
use crate::assemble;
use crate::bind;
use crate::bounds_checks::BoundsCheckPlan;
use crate::facts::{Facts, MemoryModel};
use crate::plan::interfaces::interfaces;
use crate::plan::objects::{Objects, Target};
use crate::plan::view;
use crate::read::{CheckedProgram, Goal, WrittenSubprogram, finish_report, has_main};
use crate::session::Session;
use crate::side_by_side::{ByUnits, Outline};
use crate::stage::ExpandStage;
use crate::staged::{self, References, Staged};
use crate::{Error, Report, verify};
use crate::{analysis, copies, graph, intents, storage};
use farfel_lang::effects::{Assigned, DummyAssumptions};
use farfel_lang::ir::Name;
use farfel_lang::print::{Options, print_program};

impl Session {
    /// Reports all errors in syntax, names, types and lowering, and everything that the AD tool cannot
    /// differentiate. In a project, also checks that the exports exist.
    ///
    /// # Errors
    ///
    /// [`Error::Diagnostics`] if there are errors, [`Error::Io`] if a file cannot be read, [`Error::Export`].
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

    /// Returns the program after a stage as Fortran text. [`ExpandStage::Final`] is what gets compiled,
    /// without line markers: a program if there is a main program, else a library.
    ///
    /// # Errors
    ///
    /// Same as [`Session::check`].
    pub fn expand(&self, stage: ExpandStage) -> Result<(String, Report), Error> {
        let Some(until) = stage.lowered() else {
            return self.expand_read(self.read()?, false);
        };
        let (lowered, report) = staged::lower_to(self.read()?, until, None)?;
        Ok((print_program(&lowered.program, &Options::default()), report))
    }

    /// Like [`Session::expand`], for some subprograms, by the names that they have after the stage, and
    /// everything that they need. At the final stage the result has the form of a program, whoever calls the
    /// subprograms.
    ///
    /// # Errors
    ///
    /// Same as [`Session::check`]; [`Error::NoSubprogram`].
    pub fn expand_below(
        &self,
        stage: ExpandStage,
        roots: &[String],
    ) -> Result<(String, Report), Error> {
        let read = self.read()?;
        let (mut program, requests, report) = match stage.lowered() {
            Some(until) => {
                let (lowered, report) = staged::lower_to(read, until, None)?;
                (lowered.program, lowered.requests, report)
            }
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

    /// Returns the program at [`ExpandStage::Final`] beside its sources, both divided into program units,
    /// with the source lines that each generated line comes from.
    ///
    /// # Errors
    ///
    /// Same as [`Session::expand`].
    pub fn expand_by_units(&self) -> Result<(ByUnits, Report), Error> {
        let read = self.read()?;
        let outline = Outline::of(&read.program, &read.report.sources);
        let (text, report) = self.expand_read(read, true)?;
        Ok((ByUnits::of(&text, &report.sources, &outline), report))
    }

    fn expand_read(
        &self,
        mut read: CheckedProgram,
        line_markers: bool,
    ) -> Result<(String, Report), Error> {
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

    /// Returns the facts about the program with its derivatives, and the subprograms that Rust can call.
    fn exported(
        &self,
        staged: &Staged,
        written: &[WrittenSubprogram],
        adjoints_share_state: bool,
    ) -> Result<(Facts, Vec<Name>), Error> {
        let mut program = staged.program.clone();
        program
            .units
            .extend(interfaces(staged, adjoints_share_state));
        let assigned = Assigned::with(&program, DummyAssumptions::Closures);
        let memory = MemoryModel {
            all_static: self.config.is_static(),
            known_to_others: &staged.by_name,
            by_instance: self.config.instance.is_some(),
            part: false,
            float_errors: !self.config.float_errors.is_empty(),
            openmp: self.config.has_openmp(),
            placement: self.config.placement(),
        };
        let plan = BoundsCheckPlan::of(
            &program,
            &staged.by_name,
            self.config.unchecked.names(),
            self.config.real_bytes(),
        );
        let exports = bind::choose(&program, written, &self.config, &plan)?;
        // What is wrong there is said.
        bind::signatures(&program, &exports, &self.config, &assigned)?;
        let facts = Facts::of(&program, &assigned, memory, plan);
        Ok((facts, exports.names))
    }

    /// Returns the built-in engine's analysis of the AD blocks.
    ///
    /// # Errors
    ///
    /// Same as [`Session::check`].
    pub fn activity(&self) -> Result<(analysis::Activity, Report), Error> {
        let (staged, _) = self.staged()?;
        let ad = self.ad()?;
        let derivatives = staged.derivatives(&*ad.tool);
        self.make_all(&staged, &derivatives);
        let mut reported = staged.report.diagnostics.clone();
        let mut blocks = Vec::new();
        for block in verify::blocks(&staged, &self.config) {
            let program = derivatives.seen_by(block.request);
            let request = &staged.requests[block.request];
            let tape = self.config.tape_bytes();
            match farfel_ad::analysis::analyse(&program, request, tape) {
                Ok(found) => blocks.push((block, found)),
                Err(errors) => {
                    // Errors in the derivatives that this one needs say more than the fact that one is
                    // missing.
                    let below =
                        derivatives.diagnostics(derivatives.needs(block.request).iter().copied());
                    let errors = if below.is_empty() { errors } else { below };
                    let new = errors.into_iter().filter(|d| !reported.contains(d));
                    let new: Vec<_> = new.collect();
                    reported.extend(new);
                }
            }
        }
        let report = finish_report(staged.report.sources.clone(), reported, &staged.lints)?;
        let activity = analysis::Activity::new(blocks, &staged.report.sources);
        Ok((activity, report))
    }

    /// Returns the program's call graph with the derivatives that it requests: see
    /// [`graph::Graph::of_calls`].
    ///
    /// # Errors
    ///
    /// Same as [`Session::check`], except for the AD tool's errors.
    pub fn call_graph(&self) -> Result<(graph::Graph, Report), Error> {
        let (staged, _) = self.staged()?;
        let sources = &staged.report.sources;
        let graph = graph::Graph::of_calls(&staged.program, &staged.requests, sources);
        Ok((graph, staged.report))
    }

    /// Returns the steps of a build as a graph. A step's note is the beginning of a hash of all sources that
    /// the step depends on: as long as it stays the same, so does the step's result.
    ///
    /// # Errors
    ///
    /// Same as [`Session::call_graph`]; for a library also [`Error::Export`].
    pub fn plan(&self) -> Result<(graph::Graph, Report), Error> {
        let (staged, written) = self.staged()?;
        let mut passed = self.pass_through_files()?.files.iter();
        let graph = match has_main(&staged.program) || passed.any(|f| f.has_main()) {
            true => view::graph(&staged, None, self.pass_through_files()?),
            false => {
                let (_, exports) = self.exported(&staged, &written, false)?;
                view::graph(&staged, Some(&exports), self.pass_through_files()?)
            }
        };
        Ok((graph, staged.report))
    }

    /// Returns the COMMON blocks and EQUIVALENCE classes in the sources.
    ///
    /// # Errors
    ///
    /// Same as [`Session::check`], except for errors of lowering and of the AD tool.
    pub fn storage(&self) -> Result<(storage::Storage, Report), Error> {
        let read = self.read()?;
        let storage = storage::Storage::of(&read.program, self.config.real_bytes());
        Ok((storage, read.report))
    }

    /// Returns what the procedures in the sources do with their arguments and with COMMON.
    ///
    /// # Errors
    ///
    /// Same as [`Session::storage`].
    pub fn intents(&self) -> Result<(intents::Intents, Report), Error> {
        let read = self.read()?;
        let intents = intents::Intents::of(&read.program, self.config.real_bytes());
        Ok((intents, read.report))
    }

    /// Returns which subprograms are copied for the procedures that they receive as arguments and for which
    /// calls, and which are not copied.
    ///
    /// # Errors
    ///
    /// Same as [`Session::check`], except for the AD tool's errors.
    pub fn copies(&self) -> Result<(copies::Copies, Report), Error> {
        let read = self.read()?;
        let is_library = !has_main(&read.program);
        staged::explain(read, self.config.exports.as_deref().filter(|_| is_library))
    }

    /// Returns the lowered program and the subprograms that the user wrote.
    fn staged(&self) -> Result<(Staged, Vec<WrittenSubprogram>), Error> {
        let mut read: CheckedProgram = self.read()?;
        // If nothing can be exported, the view shows all subprograms.
        if read.exports.as_ref().is_some_and(Vec::is_empty) {
            read.exports = Some(read.written.iter().map(|w| w.name.to_string()).collect());
        }
        let is_library = !has_main(&read.program);
        let exports = self.config.exports.as_deref().filter(|_| is_library);
        let written = std::mem::take(&mut read.written);
        Ok((self.stage(read, exports)?, written))
    }
}
