//! Which procedures have a derivative that does not come from their text.

use super::shipped;
use crate::locations::{Context, Set, differentiable};
use farfel_lang::Span;
use farfel_lang::effects::described;
use farfel_lang::ir::{Given, Name, Place, Program, Unit, UnitKind, Usage};
use std::collections::{HashMap, HashSet};

/// A procedure without text, whose derivative somebody must provide.
#[derive(Debug, Clone)]
pub struct Provide {
    /// Its name.
    pub procedure: Name,
    /// The derivative that is called.
    pub derivative: Name,
    /// How many arguments the procedure has, where it is called.
    pub args: usize,
    /// Which of them have a derivative; the one behind the last is the result.
    pub active: Set,
}

/// The derivative of a procedure as somebody gives it: always with the same arguments.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The subroutine that computes tangents.
    pub tangent: Option<Name>,
    /// The subroutine that computes adjoints.
    pub adjoint: Option<Name>,
    /// How many arguments the procedure has.
    pub args: usize,
    /// Arguments whose derivatives are read, by position.
    pub inputs: Vec<usize>,
    /// Arguments whose derivatives are set; the position behind the last argument is the
    /// result of a function.
    pub outputs: Vec<usize>,
    /// Arguments without derivatives that get a value.
    pub sets: Vec<usize>,
    /// No derivatives go through the procedure.
    pub constant: bool,
    /// Nobody tells: whatever the procedure can read and assign, it may. Its adjoint does not
    /// get the value of a function.
    pub assumed: bool,
    /// Outputs that are not assigned as a whole, or of which that is not known.
    partial: Vec<usize>,
    /// Where the user says so; [`Span::NONE`] for a rule that comes along.
    pub span: Span,
}

impl Rule {
    fn of(given: &Given, text: Option<&Unit>, is_function: bool) -> Rule {
        let arguments = given.arguments.as_deref().unwrap_or_default();
        let positions = |names: &Option<Vec<Name>>| -> Vec<usize> {
            let list = names.as_deref().unwrap_or_default();
            let found = arguments.iter().enumerate();
            found
                .filter(|(_, n)| list.contains(n))
                .map(|(i, _)| i)
                .collect()
        };
        let args = text.map_or(arguments.len(), |u| u.args.len());
        let mut outputs = positions(&given.outputs);
        let scalar = |i: usize| {
            let symbol = text.and_then(|u| Some(&u.symbols[u.args.get(i)?.sym()?]));
            symbol.is_some_and(|s| !s.is_array())
        };
        let partial = outputs.iter().copied().filter(|i| !scalar(*i)).collect();
        if is_function && !given.is_constant() {
            outputs.push(args);
        }
        Rule {
            tangent: given.tangent.clone(),
            adjoint: given.adjoint.clone(),
            args,
            inputs: positions(&given.inputs),
            outputs,
            sets: positions(&Some(given.sets.clone())),
            constant: given.is_constant(),
            assumed: false,
            partial,
            span: given.span,
        }
    }

    /// Of a procedure of which only its arguments are known, and which of them have a derivative; with
    /// what is said of its arguments.
    pub(crate) fn assumed(args: usize, active: &Set, usage: Option<&[Usage]>) -> Rule {
        let usage = Described(usage);
        let writes = |i: &usize| *i == args || usage.writes(*i);
        Rule {
            tangent: None,
            adjoint: None,
            args,
            inputs: active
                .ones()
                .filter(|i| *i < args && usage.reads(*i))
                .collect(),
            outputs: active.ones().filter(|i| *i <= args && writes(i)).collect(),
            sets: (0..args)
                .filter(|i| !active.contains(*i) && writes(i))
                .collect(),
            constant: false,
            assumed: true,
            partial: Vec::new(),
            span: Span::NONE,
        }
    }

    /// Is the argument at a position, or the result, followed by its derivative?
    pub fn is_active(&self, position: usize) -> bool {
        self.inputs.contains(&position) || self.outputs.contains(&position)
    }

    /// The context of every call for which `asked` would be needed. What goes beyond the rule
    /// stays in it, and is an error: see [`Rule::beyond`].
    pub fn context(&self, asked: &Context) -> Context {
        let mut context = asked.clone();
        let slots = context.inputs.len().max(self.args + 1);
        context.inputs.grow(slots);
        context.outputs.grow(slots);
        context.inputs.extend(self.inputs.iter().copied());
        context.inputs.extend(self.partial.iter().copied());
        context.outputs.extend(self.outputs.iter().copied());
        context
    }

    /// A slot whose derivative a call would need, and the rule does not tell.
    pub fn beyond(&self, context: &Context) -> Option<usize> {
        let told = |o: &usize| self.outputs.contains(o);
        let read = |i: &usize| self.inputs.contains(i) || self.outputs.contains(i);
        let mut outputs = context.outputs.ones();
        let output = outputs.find(|o| !told(o));
        output.or_else(|| context.inputs.ones().find(|i| !read(i)))
    }

    /// What the value of a slot on exit depends on; `None` where the rule says nothing.
    pub(crate) fn depends(&self, slot: usize, slots: usize) -> Option<Set> {
        if slot > self.args {
            return None;
        }
        let mut set = Set::with_capacity(slots);
        if self.outputs.contains(&slot) {
            set.extend(self.inputs.iter().copied());
            if self.partial.contains(&slot) {
                set.insert(slot);
            }
        }
        Some(set)
    }
}

/// By which name linear code calls the derivative of a procedure: reverse mode makes of it what
/// it needs.
pub(crate) fn stand_in(procedure: &str) -> Name {
    format!("{}GIVEN_{procedure}", shipped::PREFIX).into()
}

/// What is said of the arguments of a procedure without text. Where nothing is said, it may read and
/// write them all.
#[derive(Debug, Clone, Copy)]
pub struct Described<'r>(Option<&'r [Usage]>);

impl Described<'_> {
    fn at(&self, position: usize) -> Usage {
        let anything = Usage {
            reads: true,
            writes: true,
        };
        let nothing = Usage {
            reads: false,
            writes: false,
        };
        // It knows nothing of what it gets too much.
        let told = |u: &[Usage]| u.get(position).copied().unwrap_or(nothing);
        self.0.map_or(anything, told)
    }

    /// May it read the argument at a position?
    pub fn reads(&self, position: usize) -> bool {
        self.at(position).reads
    }

    /// May it give the argument at a position another value?
    pub fn writes(&self, position: usize) -> bool {
        self.at(position).writes
    }
}

/// The rules of a program.
#[derive(Debug, Default)]
pub struct Rules {
    by_name: HashMap<Name, Rule>,
    /// What is said of procedures without text, besides.
    usage: HashMap<Name, Vec<Usage>>,
}

impl Rules {
    /// What directives say, and the rules that come along for procedures without text.
    pub fn of(program: &Program) -> Rules {
        let text: HashMap<&Name, &Unit> = program.units.iter().map(|u| (&u.name, u)).collect();
        let Rules {
            by_name: mut rules,
            usage,
        } = Rules::without_derivatives(&program.units.iter().collect::<Vec<_>>());
        for unit in &program.units {
            for given in unit.given.iter().filter(|g| g.usage.is_none()) {
                if rules.contains_key(&given.procedure) {
                    continue;
                }
                let own = text.get(&given.procedure).copied();
                let function = match own {
                    Some(u) => u.kind == UnitKind::Function,
                    None => is_function(program, &given.procedure),
                };
                rules.insert(given.procedure.clone(), Rule::of(given, own, function));
            }
        }
        let mut seen: HashSet<&Name> = HashSet::new();
        for unit in &program.units {
            for (_, s) in unit.symbols.iter() {
                if s.place == Place::Global
                    && s.class.is_procedure()
                    && !text.contains_key(&s.name)
                    && seen.insert(&s.name)
                    && !rules.contains_key(&s.name)
                    && let Some((given, function)) = shipped::rule(&s.name)
                {
                    rules.insert(s.name.clone(), Rule::of(given, None, *function));
                }
            }
        }
        Rules {
            by_name: rules,
            usage,
        }
    }

    /// What is constant, and what is said of procedures without text.
    pub(crate) fn without_derivatives(units: &[&Unit]) -> Rules {
        let units = || units.iter().copied();
        let mut rules = HashMap::new();
        for unit in units().filter(|u| u.constant) {
            let given = Given::constant(unit.name.clone(), unit.span);
            rules.insert(unit.name.clone(), Rule::of(&given, Some(unit), false));
        }
        let given = units().flat_map(|u| &u.given);
        for given in given.filter(|g| g.is_constant()) {
            let text = || units().find(|u| u.name == given.procedure);
            let rule = rules.entry(given.procedure.clone());
            rule.or_insert_with(|| Rule::of(given, text(), false));
        }
        let usage = described(units());
        Rules {
            by_name: rules,
            usage: usage.map(|(n, u)| (n.clone(), u.to_vec())).collect(),
        }
    }

    /// Rules for procedures without text, by the adjoints that somebody provides. `tangents`: the
    /// rules by which tangents were made.
    pub(crate) fn assumed(provide: &[Provide], tangents: &Rules) -> Rules {
        let rule = |p: &Provide| Rule {
            adjoint: Some(p.derivative.clone()),
            ..Rule::assumed(p.args, &p.active, tangents.described(&p.procedure).0)
        };
        let rules = provide.iter().map(|p| (p.procedure.clone(), rule(p)));
        Rules {
            by_name: rules.collect(),
            usage: tangents.usage.clone(),
        }
    }

    /// What is said of the arguments of a procedure without text.
    pub fn described(&self, procedure: &str) -> Described<'_> {
        Described(self.usage.get(procedure).map(Vec::as_slice))
    }

    /// The rule of a procedure.
    pub fn get(&self, procedure: &str) -> Option<&Rule> {
        self.by_name.get(procedure)
    }

    /// The rule for which a name stands in, with the name of the procedure.
    pub(crate) fn stood_in(&self, name: &str) -> Option<(&Name, &Rule)> {
        let name = name.strip_prefix(shipped::PREFIX)?.strip_prefix("GIVEN_")?;
        self.by_name.get_key_value(name)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Rule)> {
        self.by_name.iter()
    }
}

fn is_function(program: &Program, name: &str) -> bool {
    let units = program.units.iter();
    let mut symbols = units.filter_map(|u| u.symbols.find(name).map(|s| &u.symbols[s]));
    symbols.any(|s| s.class == farfel_lang::ir::Class::Function)
}

/// Does the dummy argument at a position have a type with derivatives?
pub(crate) fn carries(unit: &Unit, position: usize) -> bool {
    let dummy = unit.args.get(position).and_then(|a| a.sym());
    dummy.is_some_and(|s| differentiable(&unit.symbols[s]))
}
