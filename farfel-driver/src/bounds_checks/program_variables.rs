//! Determines which arguments may be variables of the program: in COMMON, saved, or local to some caller.
//!
//! A closure that receives such a variable might also reach it by a further call of the library. Therefore it
//! gets a copy, while variables that the caller of the library has lent are passed on directly.

use crate::calls::{for_each_call, for_each_passed};
use farfel_lang::ir::{Arg, EntryPoint, Expr, ExprKind, Name, Program, StorageClass, SymId, Unit};
use std::collections::{HashMap, HashSet};

/// A dummy argument: the name of its unit, and its own.
type Dummy = (Name, Name);

/// The dummy arguments that may be variables of the program; see [the module](self).
#[derive(Debug, Default)]
pub(crate) struct ProgramVariableArguments(HashSet<Dummy>);

impl ProgramVariableArguments {
    /// Determines these arguments for a program.
    pub(crate) fn of(program: &Program) -> ProgramVariableArguments {
        let points = program.units.iter().flat_map(Unit::entry_points);
        let points: HashMap<&Name, EntryPoint> = points.map(|p| (p.name, p)).collect();
        // The possible targets of calls of dummy procedures.
        let mut passed: HashSet<Name> = HashSet::new();
        for unit in &program.units {
            for_each_passed(unit, &mut |name| {
                passed.insert(name.clone());
            });
        }
        // Which dummy arguments are passed on as which others.
        let mut on: HashMap<Dummy, Vec<Dummy>> = HashMap::new();
        let mut open: Vec<Dummy> = Vec::new();
        for unit in &program.units {
            for_each_call(unit, &mut |callee, args| {
                let symbol = &unit.symbols[callee];
                let targets: Vec<&EntryPoint> = match symbol.storage_class {
                    StorageClass::Global => points.get(&symbol.name).into_iter().collect(),
                    StorageClass::Result => points.get(&unit.name).into_iter().collect(),
                    _ => passed.iter().filter_map(|n| points.get(n)).collect(),
                };
                for target in targets {
                    for (actual, dummy) in args.iter().zip(target.args) {
                        let (Arg::Dummy(d), Some(passed)) = (dummy, variable(unit, actual)) else {
                            continue;
                        };
                        let dummy = &target.unit.symbols[*d].name;
                        let dummy = (target.unit.name.clone(), dummy.clone());
                        match unit.symbols[passed].storage_class {
                            StorageClass::Dummy => {
                                on.entry(named(unit, passed)).or_default().push(dummy)
                            }
                            _ => open.push(dummy),
                        }
                    }
                }
            });
        }
        let mut found = HashSet::new();
        while let Some(dummy) = open.pop() {
            if found.insert(dummy.clone()) {
                open.extend(on.remove(&dummy).into_iter().flatten());
            }
        }
        ProgramVariableArguments(found)
    }

    /// Whether an actual argument is, or may be, a variable of the program.
    pub(crate) fn is_passed(&self, unit: &Unit, actual: &Expr) -> bool {
        variable(unit, actual).is_some_and(|s| {
            unit.symbols[s].storage_class != StorageClass::Dummy || self.0.contains(&named(unit, s))
        })
    }
}

/// Returns the variable that an actual argument is, or is part of.
fn variable(unit: &Unit, actual: &Expr) -> Option<SymId> {
    let actual = match &actual.kind {
        ExprKind::Paren(e) => e,
        _ => actual,
    };
    actual.base().filter(|s| unit.symbols[*s].is_variable())
}

fn named(unit: &Unit, s: SymId) -> Dummy {
    (unit.name.clone(), unit.symbols[s].name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfel_lang::Sources;
    use farfel_lang::resolve::resolve;
    use farfel_lang::syntax::{NoIncludes, parse};

    #[test]
    fn what_comes_from_the_program_is_found_through_calls() {
        let text = "      SUBROUTINE TOP(F, X)
      COMMON /C/ A(5), T
      DIMENSION X(*)
      EXTERNAL F
      CALL MIDDLE(F, X, T)
      CALL MIDDLE(F, X(2), 1.0)
      CALL BY(OTHER)
      END
      SUBROUTINE MIDDLE(G, Y, S)
      DIMENSION Y(*)
      CALL G(Y, S)
      END
      SUBROUTINE BY(P)
      SAVE B
      CALL P(B, 2.0)
      END
      SUBROUTINE OTHER(U, V)
      ENTRY SECOND(V)
      END
      SUBROUTINE LAST(V)
      CALL SECOND(V)
      END
";
        let mut sources = Sources::new();
        let file = sources.add("s.f", text);
        let mut program = parse(&mut sources, file, None, &mut NoIncludes).program;
        resolve(&mut program);
        let mut found: Vec<String> = (ProgramVariableArguments::of(&program).0.into_iter())
            .map(|(unit, dummy)| format!("{unit} {dummy}"))
            .collect();
        found.sort();
        assert_eq!(found, ["MIDDLE S", "OTHER U", "OTHER V"]);
    }
}
