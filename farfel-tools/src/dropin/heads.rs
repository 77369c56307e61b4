//! What to differentiate, as specified by Tapenade's option `-head`, and which parts of that are
//! relevant.

use farfel_ad::depend::{Dependence, Summary};
use farfel_ad::locations::{Context, Set, Space, differentiable};
use farfel_ad::passes::{Form, Forms, Goal, Legal, kept_by_divided_units, legalise};
use farfel_ad::tangent::Head;
use farfel_lang::callgraph::{ReachableUnits, references};
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{Name, Program, StorageClass, SymId, Unit, UnitKind};
use std::borrow::Cow;
use std::collections::HashSet;

/// A head as written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeadSpec {
    /// The subprogram; `None` for the topmost one.
    pub unit: Option<String>,
    /// The independents; `None` for all that can be relevant.
    pub independents: Option<Vec<String>>,
    /// The dependents, likewise.
    pub dependents: Option<Vec<String>>,
}

/// The error for a head that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`-head {text}`: {reason}")]
pub struct HeadSyntaxError {
    text: String,
    reason: &'static str,
}

/// Parses heads: `f(out)/(in)`, `f(in)\(out)`, `f(in)>(out)`, `f(out)`, `f`, with commas or blanks
/// between names and between heads.
///
/// # Errors
///
/// What is wrong with the text.
pub fn parse_heads(text: &str) -> Result<Vec<HeadSpec>, HeadSyntaxError> {
    let error = |reason| HeadSyntaxError {
        text: text.to_owned(),
        reason,
    };
    let separator = |c: char| c.is_whitespace() || c == ',' || c == ';';
    let mut heads = Vec::new();
    let mut rest = text.trim_start_matches(separator);
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$'))
            .unwrap_or(rest.len());
        let name;
        (name, rest) = rest.split_at(end);
        if name.is_empty() {
            return Err(error("expected the name of a subprogram"));
        }
        let mut spec = HeadSpec {
            unit: Some(name.to_ascii_uppercase()),
            ..HeadSpec::default()
        };
        let first = list(&mut rest).map_err(error)?;
        let mark = rest.trim_start().chars().next();
        if let Some(mark @ ('/' | '\\' | '>')) = mark {
            rest = &rest.trim_start()[1..];
            let Some(second) = list(&mut rest).map_err(error)? else {
                return Err(error("a list of variables in parentheses should follow"));
            };
            (spec.dependents, spec.independents) = match mark {
                '/' => (first, Some(second)),
                _ => (Some(second), first),
            };
        } else {
            spec.dependents = first;
        }
        heads.push(spec);
        rest = rest.trim_start_matches(separator);
    }
    match heads.is_empty() {
        true => Err(error("expected the name of a subprogram")),
        false => Ok(heads),
    }
}

/// Parses names that are separated by blanks or commas.
pub(super) fn names(text: &str) -> Vec<String> {
    text.split(|c: char| c.is_whitespace() || c == ',' || c == ';')
        .filter(|n| !n.is_empty())
        .map(str::to_ascii_uppercase)
        .collect()
}

/// Parses a list of names in parentheses, if one follows.
fn list(rest: &mut &str) -> Result<Option<Vec<String>>, &'static str> {
    let Some(inner) = rest.trim_start().strip_prefix('(') else {
        return Ok(None);
    };
    let Some((inside, after)) = inner.split_once(')') else {
        return Err("a parenthesis is not closed");
    };
    *rest = after;
    Ok(Some(names(inside)))
}

/// The heads of a program, with their relevant independents and dependents, and messages about
/// them.
pub(super) struct ChosenHeads {
    pub heads: Vec<Head>,
    pub messages: Vec<String>,
}

/// The forms in which heads are chosen. The engine establishes all others that derivatives need, and
/// renumbers the variables of COMMON then; but if units declare a block with different sizes, it
/// cannot tell which variables are meant.
const FORMS: Forms = Forms::of(&[Form::NoCalledEntries, Form::FixedTapes, Form::EqualBlocks]);

/// Returns the program in which heads are chosen, with a subprogram for each ENTRY point below
/// them, if one is called.
///
/// # Errors
///
/// A unit that keeps variables from call to call cannot be split.
pub(super) fn legal<'p>(
    program: &'p Program,
    specs: &[HeadSpec],
) -> Result<Legal<'p>, Vec<Diagnostic>> {
    let named = (specs.iter()).flat_map(|s| s.independents.iter().chain(&s.dependents));
    let named: Vec<&str> = named.flatten().map(String::as_str).collect();
    let goal = Goal {
        heads: &names_of(program, specs),
        request: None,
        named: &named,
        tag: "",
    };
    legalise(Cow::Borrowed(program), FORMS, &goal)
}

/// Returns the units with ENTRY points below these heads that keep variables from call to call, and
/// that will be split into a subprogram for each entry point.
pub(super) fn kept_by_entries(
    program: &Program,
    specs: &[HeadSpec],
    adjoint: bool,
) -> HashSet<Name> {
    kept_by_divided_units(program, &names_of(program, specs), adjoint)
}

/// Returns the names of the heads.
fn names_of<'a>(program: &'a Program, specs: &'a [HeadSpec]) -> Vec<&'a str> {
    let top = on_top(program).map(|u| u.name.as_str());
    let mut names: Vec<&str> = specs.iter().filter_map(|s| s.unit.as_deref()).collect();
    if names.len() < specs.len().max(1) {
        names.extend(top);
    }
    names
}

/// Finds the units and variables of the heads in the program.
///
/// # Errors
///
/// A head or a variable does not exist.
pub(super) fn choose(
    program: &Program,
    specs: &[HeadSpec],
    fix_interface: bool,
    adjoint: bool,
) -> Result<ChosenHeads, Vec<Diagnostic>> {
    let top = [HeadSpec::default()];
    let specs = if specs.is_empty() { &top } else { specs };
    let mut messages = Vec::new();
    let mut errors = Vec::new();
    let mut units: Vec<(&Unit, &HeadSpec)> = Vec::new();
    for spec in specs {
        match &spec.unit {
            Some(name) => match program.unit(name) {
                Some(u) if matches!(u.kind, UnitKind::Subroutine | UnitKind::Function) => {
                    units.push((u, spec));
                }
                Some(u) => errors.push(error(
                    format!("the head {name} is not a subroutine or function"),
                    u,
                )),
                None => errors.push(absent(format!("the head {name} is not in the sources"))),
            },
            None => match on_top(program) {
                Some(u) => {
                    messages.push(format!("Command: Took {} as the head", u.name));
                    units.push((u, spec));
                }
                None => errors.push(absent("there is no subprogram to differentiate".to_owned())),
            },
        }
    }
    let graph = ReachableUnits::of(program, units.iter().map(|(u, _)| u.name.as_str()));
    let dependence = Dependence::of(&graph);
    let mut heads = Vec::new();
    for (unit, spec) in units {
        let slots = HeadSlots::of(unit, &dependence);
        let independents = slots.find(&spec.independents, &mut messages, &mut errors);
        let dependents = slots.find(&spec.dependents, &mut messages, &mut errors);
        let Some(summary) = dependence.summary(&unit.name) else {
            continue;
        };
        let mut context = Context {
            inputs: independents,
            outputs: dependents,
        };
        if !fix_interface {
            context = match adjoint {
                false => slots.relevant_context(summary, &context, spec, &mut messages),
                true => slots.relevant_adjoint_context(summary, &context, spec, &mut messages),
            };
        }
        if context.outputs.is_clear() {
            messages.push(format!(
                "{}: (AD06) nothing that is asked for varies with the independents",
                unit.name.to_lowercase()
            ));
        } else {
            heads.push(Head {
                unit: unit.name.clone(),
                context,
            });
        }
    }
    match errors.is_empty() {
        true => Ok(ChosenHeads { heads, messages }),
        false => Err(errors),
    }
}

fn absent(message: String) -> Diagnostic {
    Diagnostic::error(&rules::UNKNOWN_PROCEDURE, farfel_lang::Span::NONE, message)
}

fn error(message: String, unit: &Unit) -> Diagnostic {
    Diagnostic::error(&rules::AD_UNSUPPORTED, unit.name_span, message)
}

/// Returns the first subprogram that is not called, except by the main program.
fn on_top(program: &Program) -> Option<&Unit> {
    let subprogram = |u: &&Unit| matches!(u.kind, UnitKind::Subroutine | UnitKind::Function);
    let called: HashSet<Name> = program
        .units
        .iter()
        .filter(subprogram)
        .flat_map(|u| {
            let mut called = references(u);
            // A recursive call does not count.
            called.retain(|c| *c != u.name);
            called
        })
        .collect();
    let mut candidates = program.units.iter().filter(subprogram);
    candidates
        .clone()
        .find(|u| !called.contains(&u.name))
        .or_else(|| candidates.next())
}

/// The slots of a head by name.
struct HeadSlots<'a> {
    unit: &'a Unit,
    names: Vec<(Name, bool)>,
    /// COMMON variables, by their names in this unit.
    len: usize,
}

impl<'a> HeadSlots<'a> {
    fn of(unit: &'a Unit, dependence: &Dependence) -> Self {
        let space = Space::of(unit, &dependence.commons);
        let known = |s: SymId| {
            let s = &unit.symbols[s];
            (s.name.clone(), differentiable(s))
        };
        let mut names: Vec<(Name, bool)> = unit
            .args
            .iter()
            .map(|a| a.sym().map_or((Name::default(), false), known))
            .collect();
        names.push(match unit.result {
            Some(r) => (unit.name.clone(), known(r).1),
            None => (Name::default(), false),
        });
        for (k, var) in dependence.commons.vars.iter().enumerate() {
            let here = unit.symbols.iter().find(|(id, s)| {
                matches!(s.storage_class, StorageClass::Common(_))
                    && space.loc(*id) == space.common(k)
            });
            let name = here.map_or_else(Name::default, |(_, s)| s.name.clone());
            names.push((name, var.differentiable));
        }
        HeadSlots {
            unit,
            len: names.len(),
            names,
        }
    }

    fn find(
        &self,
        list: &Option<Vec<String>>,
        messages: &mut Vec<String>,
        errors: &mut Vec<Diagnostic>,
    ) -> Set {
        let mut set = Set::with_capacity(self.len);
        let Some(list) = list else {
            set.extend((0..self.len).filter(|i| self.names[*i].1));
            return set;
        };
        for name in list {
            match self.names.iter().position(|(n, _)| n == name) {
                Some(i) if self.names[i].1 => set.insert(i),
                Some(_) => messages.push(format!(
                    "{}: Command: {} has no derivative: it is not REAL, DOUBLE PRECISION or COMPLEX",
                    self.unit.name.to_lowercase(),
                    name.to_lowercase()
                )),
                None => errors.push(error(
                    format!(
                        "{} has no argument and no COMMON variable named {name}",
                        self.unit.name
                    ),
                    self.unit,
                )),
            }
        }
        set
    }

    /// Returns the independents that influence dependents, and the dependents that are varied.
    ///
    /// A derivative that is passed in and overwritten counts as wanted: the caller must not
    /// continue with the old one.
    fn relevant_context(
        &self,
        summary: &Summary,
        requested: &Context,
        spec: &HeadSpec,
        messages: &mut Vec<String>,
    ) -> Context {
        let Context {
            inputs: independents,
            outputs: dependents,
        } = requested;
        let result = summary.args;
        let assigned = |o: usize| o == result || summary.assigned.contains(o);
        let mut outputs = Set::with_capacity(self.len);
        outputs.extend(dependents.ones().filter(|o| {
            assigned(*o) && (independents.contains(*o) || summary.depends.meets(*o, independents))
        }));
        let mut inputs = Set::with_capacity(self.len);
        loop {
            for o in outputs.ones() {
                summary.depends.add_to(o, &mut inputs);
            }
            inputs.intersect_with(independents);
            let before = outputs.count_ones(..);
            outputs.extend(inputs.ones().filter(|i| assigned(*i)));
            if outputs.count_ones(..) == before {
                break;
            }
        }
        self.report_differences(
            spec,
            requested,
            &Context {
                inputs: inputs.clone(),
                outputs: outputs.clone(),
            },
            messages,
        );
        Context { inputs, outputs }
    }

    /// Like [`Self::relevant_context`], for an adjoint.
    ///
    /// The adjoint of a dependent that is assigned has a different value afterwards: the dependent
    /// is an independent, too. If an independent keeps its value, its adjoint is added to the
    /// incoming one.
    fn relevant_adjoint_context(
        &self,
        summary: &Summary,
        requested: &Context,
        spec: &HeadSpec,
        messages: &mut Vec<String>,
    ) -> Context {
        let result = summary.args;
        let assigned = |o: usize| o == result || summary.assigned.contains(o);
        let Context {
            inputs: independents,
            outputs: dependents,
        } = requested;
        let mut context = Context {
            inputs: Set::with_capacity(self.len),
            outputs: Set::with_capacity(self.len),
        };
        context.outputs.extend(dependents.ones().filter(|o| {
            assigned(*o) && (independents.contains(*o) || summary.depends.meets(*o, independents))
        }));
        for o in context.outputs.ones() {
            summary.depends.add_to(o, &mut context.inputs);
        }
        context.inputs.intersect_with(independents);
        let kept = context.inputs.intersection(dependents);
        let kept: Vec<usize> = kept.filter(|i| !assigned(*i)).collect();
        self.report_differences(spec, requested, &context, messages);
        context.outputs.extend(kept);
        let changed = context.outputs.ones().filter(|o| *o != result);
        let changed: Vec<usize> = changed.collect();
        context.inputs.extend(changed);
        context
    }

    /// Reports irrelevant variables in the specification, and relevant ones that it does not
    /// contain.
    fn report_differences(
        &self,
        spec: &HeadSpec,
        requested: &Context,
        found: &Context,
        messages: &mut Vec<String>,
    ) {
        let Context { inputs, outputs } = found;
        let (independents, dependents) = (&requested.inputs, &requested.outputs);
        let mut say = |set: Vec<usize>, what: &str| {
            if !set.is_empty() {
                let list: Vec<String> = set
                    .iter()
                    .map(|i| self.names[*i].0.to_lowercase())
                    .collect();
                messages.push(format!(
                    "{}: Command: {} {what}",
                    self.unit.name.to_lowercase(),
                    list.join(", ")
                ));
            }
        };
        if spec.independents.is_some() {
            let gone = independents.difference(inputs).collect();
            say(gone, "without influence, removed from independents");
        }
        if spec.dependents.is_some() {
            let gone = dependents.difference(outputs).collect();
            say(gone, "not influenced, removed from dependents");
            let more = outputs.difference(dependents).collect();
            say(more, "independent and assigned, added to dependents");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(unit: &str, ins: Option<&[&str]>, outs: Option<&[&str]>) -> HeadSpec {
        let list = |l: &[&str]| l.iter().map(|n| (*n).to_owned()).collect();
        HeadSpec {
            unit: Some(unit.to_owned()),
            independents: ins.map(list),
            dependents: outs.map(list),
        }
    }

    #[test]
    fn all_syntaxes_say_the_same() {
        let wanted = [spec("F", Some(&["X", "Z"]), Some(&["Y"]))];
        for text in [
            "f(y)/(x z)",
            "F(Y)/(X,Z)",
            "f(x, z)\\(y)",
            "f(x z)>(y)",
            " f (y) / ( x , z ) ",
        ] {
            assert_eq!(parse_heads(text).unwrap(), wanted, "{text}");
        }
    }

    #[test]
    fn lists_can_be_left_out() {
        assert_eq!(parse_heads("f").unwrap(), [spec("F", None, None)]);
        assert_eq!(
            parse_heads("f(y)").unwrap(),
            [spec("F", None, Some(&["Y"]))]
        );
        assert_eq!(
            parse_heads("f/(x)").unwrap(),
            [spec("F", Some(&["X"]), None)]
        );
    }

    #[test]
    fn several_heads_stand_in_one_text() {
        let heads = parse_heads("f(y)/(x) g, h(a)\\(b)").unwrap();
        let wanted = [
            spec("F", Some(&["X"]), Some(&["Y"])),
            spec("G", None, None),
            spec("H", Some(&["A"]), Some(&["B"])),
        ];
        assert_eq!(heads, wanted);
    }

    #[test]
    fn what_is_no_head_is_an_error() {
        for text in ["", "f(y", "f(y)/x", "(y)/(x)", "f(y)/", "f:g"] {
            assert!(parse_heads(text).is_err(), "{text}");
        }
    }
}
