//! Procedures whose derivatives are not derived from their source.

use super::bundled;
use crate::locations::{Context, Set, differentiable};
use farfel_lang::Span;
use farfel_lang::effects::described;
use farfel_lang::ir::{
    ArgumentUsage, Name, ProcedureDirective, Program, StorageClass, Unit, UnitKind,
};
use std::collections::{HashMap, HashSet};

/// A procedure without source, whose derivative the user must supply.
#[derive(Debug, Clone)]
pub struct UserDerivative {
    /// Its name.
    pub procedure: Name,
    /// The name of the derivative that is called.
    pub derivative: Name,
    /// The number of arguments with which the procedure is called.
    pub args: usize,
    /// The arguments that have a derivative; the slot after the last argument is the result.
    pub active: Set,
}

/// A given derivative of a procedure, which always has the same arguments.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The subroutine that computes tangents.
    pub tangent: Option<Name>,
    /// The subroutine that computes adjoints.
    pub adjoint: Option<Name>,
    /// The number of arguments of the procedure.
    pub args: usize,
    /// The positions of the arguments whose derivatives are read.
    pub inputs: Vec<usize>,
    /// The positions of the arguments whose derivatives are set; the position after the last
    /// argument is the result of a function.
    pub outputs: Vec<usize>,
    /// The positions of arguments without derivatives that are assigned.
    pub sets: Vec<usize>,
    /// The positions of arguments with derivatives whose values the adjoint does not read.
    pub unread: Vec<usize>,
    /// Whether no derivatives propagate through the procedure.
    pub constant: bool,
    /// Whether nothing is specified: it is assumed to read and assign everything that it can. Its
    /// adjoint does not receive the value of a function.
    pub assumed: bool,
    /// Outputs that are not assigned as a whole, or for which this is unknown.
    partial: Vec<usize>,
    /// The position of the user's directive; [`Span::NONE`] for a bundled rule.
    pub span: Span,
}

impl Rule {
    fn of(given: &ProcedureDirective, text: Option<&Unit>, is_function: bool) -> Rule {
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
        let read = given.values.as_ref().map(|_| positions(&given.values));
        let unread = match read {
            Some(read) => (0..args).filter(|i| !read.contains(i)).collect(),
            None => Vec::new(),
        };
        Rule {
            tangent: given.tangent.clone(),
            adjoint: given.adjoint.clone(),
            args,
            inputs: positions(&given.inputs),
            outputs,
            sets: positions(&Some(given.sets.clone())),
            unread,
            constant: given.is_constant(),
            assumed: false,
            partial,
            span: given.span,
        }
    }

    /// Creates the rule for a procedure of which only the number of arguments and the active ones
    /// are known, and possibly a description of its arguments.
    pub(crate) fn assumed(args: usize, active: &Set, usage: Option<&[ArgumentUsage]>) -> Rule {
        let usage = ProcedureDescription(usage);
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
            unread: Vec::new(),
            constant: false,
            assumed: true,
            partial: Vec::new(),
            span: Span::NONE,
        }
    }

    /// Whether the argument at a position, or the result, is followed by its derivative.
    pub fn is_active(&self, position: usize) -> bool {
        self.inputs.contains(&position) || self.outputs.contains(&position)
    }

    /// Returns the context of every call that would need the context `asked`. Slots beyond the rule
    /// are included, and are an error: see [`Rule::beyond`].
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

    /// Returns a slot whose derivative a call would need but the rule does not provide.
    pub fn beyond(&self, context: &Context) -> Option<usize> {
        let is_output = |o: &usize| self.outputs.contains(o);
        let read = |i: &usize| self.inputs.contains(i) || self.outputs.contains(i);
        let mut outputs = context.outputs.ones();
        let output = outputs.find(|o| !is_output(o));
        output.or_else(|| context.inputs.ones().find(|i| !read(i)))
    }

    /// Returns the slots on which the value of a slot on exit depends; `None` if the rule does not
    /// specify it.
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

/// Returns the placeholder name under which linear code calls the derivative of a procedure, until
/// reverse mode replaces it.
pub(crate) fn placeholder_name(procedure: &str) -> Name {
    format!("{}GIVEN_{procedure}", bundled::PREFIX).into()
}

/// The description of the arguments of a procedure without source. Without a description, it may
/// read and assign all of them.
#[derive(Debug, Clone, Copy)]
pub struct ProcedureDescription<'r>(Option<&'r [ArgumentUsage]>);

impl ProcedureDescription<'_> {
    fn at(&self, position: usize) -> ArgumentUsage {
        let anything = ArgumentUsage {
            reads: true,
            writes: true,
        };
        let nothing = ArgumentUsage {
            reads: false,
            writes: false,
        };
        // The procedure does not know of surplus arguments.
        let usage_at = |u: &[ArgumentUsage]| u.get(position).copied().unwrap_or(nothing);
        self.0.map_or(anything, usage_at)
    }

    /// Whether it may read the argument at a position.
    pub fn reads(&self, position: usize) -> bool {
        self.at(position).reads
    }

    /// Whether it may assign the argument at a position.
    pub fn writes(&self, position: usize) -> bool {
        self.at(position).writes
    }
}

/// The rules of a program.
#[derive(Debug, Default)]
pub struct Rules {
    by_name: HashMap<Name, Rule>,
    /// Descriptions of procedures without source.
    usage: HashMap<Name, Vec<ArgumentUsage>>,
}

/// Whether a directive is about a dummy procedure of its unit, whose name does not hold elsewhere.
fn is_of_dummy(unit: &Unit, given: &ProcedureDirective) -> bool {
    let named = unit.symbols.find(&given.procedure);
    given.dummy_of.is_some()
        && named.is_some_and(|s| unit.symbols[s].storage_class == StorageClass::Dummy)
}

impl Rules {
    /// Collects the rules from directives, and the bundled rules for procedures without source.
    pub fn of(program: &Program) -> Rules {
        let text: HashMap<&Name, &Unit> = program.units.iter().map(|u| (&u.name, u)).collect();
        let Rules {
            by_name: mut rules,
            usage,
        } = Rules::without_derivatives(&program.units.iter().collect::<Vec<_>>());
        // One directive may give the tangent of a procedure, and another one the adjoint.
        let mut given: Vec<ProcedureDirective> = Vec::new();
        let mut places: HashMap<&Name, usize> = HashMap::new();
        for unit in &program.units {
            let own = unit.directives.iter().filter(|g| g.usage.is_none());
            for directive in own.filter(|g| !is_of_dummy(unit, g)) {
                if rules.contains_key(&directive.procedure) {
                    continue;
                }
                match places.get(&directive.procedure) {
                    // If they do not agree, the first one counts. That is an error elsewhere.
                    Some(place) => {
                        given[*place].unite(directive);
                    }
                    None => {
                        places.insert(&directive.procedure, given.len());
                        given.push(directive.clone());
                    }
                }
            }
        }
        for given in given {
            let own = text.get(&given.procedure).copied();
            let function = match own {
                Some(u) => u.kind == UnitKind::Function,
                None => is_function(program, &given.procedure),
            };
            let rule = Rule::of(&given, own, function);
            rules.insert(given.procedure, rule);
        }
        let mut seen: HashSet<&Name> = HashSet::new();
        for unit in &program.units {
            for (_, s) in unit.symbols.iter() {
                if s.storage_class == StorageClass::Global
                    && s.class.is_procedure()
                    && !text.contains_key(&s.name)
                    && seen.insert(&s.name)
                    && !rules.contains_key(&s.name)
                    && let Some((given, function)) = bundled::rule(&s.name)
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

    /// Collects constant procedures, and descriptions of procedures without source.
    pub(crate) fn without_derivatives(units: &[&Unit]) -> Rules {
        let units = || units.iter().copied();
        let mut rules = HashMap::new();
        for unit in units().filter(|u| u.constant) {
            let given = ProcedureDirective::constant(unit.name.clone(), unit.span);
            rules.insert(unit.name.clone(), Rule::of(&given, Some(unit), false));
        }
        let given = units().flat_map(|u| u.directives.iter().filter(|g| !is_of_dummy(u, g)));
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

    /// Returns rules for procedures without source whose adjoints the user supplies. `tangents` are
    /// the rules with which the tangents were generated.
    pub(crate) fn assumed(user_derivatives: &[UserDerivative], tangents: &Rules) -> Rules {
        let rule = |p: &UserDerivative| Rule {
            adjoint: Some(p.derivative.clone()),
            ..Rule::assumed(p.args, &p.active, tangents.described(&p.procedure).0)
        };
        let rules = user_derivatives
            .iter()
            .map(|p| (p.procedure.clone(), rule(p)));
        Rules {
            by_name: rules.collect(),
            usage: tangents.usage.clone(),
        }
    }

    /// Returns the description of the arguments of a procedure without source.
    pub fn described(&self, procedure: &str) -> ProcedureDescription<'_> {
        ProcedureDescription(self.usage.get(procedure).map(Vec::as_slice))
    }

    /// Returns the rule of a procedure.
    pub fn get(&self, procedure: &str) -> Option<&Rule> {
        self.by_name.get(procedure)
    }

    /// Returns the rule for a placeholder name, with the name of the procedure.
    pub(crate) fn by_placeholder(&self, name: &str) -> Option<(&Name, &Rule)> {
        let name = name.strip_prefix(bundled::PREFIX)?.strip_prefix("GIVEN_")?;
        self.by_name.get_key_value(name)
    }

    /// All rules.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Rule)> {
        self.by_name.iter()
    }
}

fn is_function(program: &Program, name: &str) -> bool {
    let units = program.units.iter();
    let mut symbols = units.filter_map(|u| u.symbols.find(name).map(|s| &u.symbols[s]));
    symbols.any(|s| s.class == farfel_lang::ir::Class::Function)
}

/// Whether the dummy argument at a position has a differentiable type.
pub(crate) fn is_differentiable_dummy(unit: &Unit, position: usize) -> bool {
    let dummy = unit.args.get(position).and_then(|a| a.sym());
    dummy.is_some_and(|s| differentiable(&unit.symbols[s]))
}
