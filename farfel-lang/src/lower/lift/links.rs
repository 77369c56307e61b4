//! Replaces the links of a lifted subprogram to its hosts.

use super::{NestedUnits, Root};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    Arg, Attributes, Class, Dim, Entity, Expr, Name, Spec, SpecKind, StorageClass, SymId, Symbol,
};
use crate::lower::equivalenced;
use std::collections::HashMap;

impl NestedUnits {
    /// Turns links into dummy arguments, COMMON variables or constants.
    pub(super) fn replace_links(
        &mut self,
        node: usize,
        captured: &[Root],
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let args: Vec<SymId> = captured.iter().map(|r| self.view(node, *r)).collect();
        let links: Vec<(SymId, Root)> = self.nodes[node]
            .unit
            .symbols
            .iter()
            .filter(|(_, s)| matches!(s.storage_class, StorageClass::Host(_)))
            .map(|(id, _)| (id, self.root((node, id))))
            .collect();
        // Settling a link removes it, so the symbols to which links lead are looked up beforehand.
        let ours: HashMap<Root, SymId> = links.iter().map(|(id, root)| (*root, *id)).collect();
        let mut commons: Vec<(usize, Name)> = Vec::new();
        let mut constants = Vec::new();
        let mut pointees = Vec::new();
        let mut namelists = Vec::new();
        for (id, root) in &links {
            let mut s = self.seen(*root).clone();
            let map = &mut |x: &mut SymId| {
                let at = self.root((root.0, *x));
                *x = if at.0 == node {
                    at.1
                } else {
                    let link = ours.get(&at).copied();
                    link.or_else(|| self.same_anywhere(node, at)).unwrap_or(*x)
                };
            };
            let mut fix = |e: &mut Expr| e.for_each_symbol_mut(map);
            for Dim { lower, upper } in &mut s.dims {
                lower.iter_mut().chain(upper).for_each(&mut fix);
            }
            s.length.iter_mut().for_each(&mut fix);
            match &mut s.class {
                Class::Parameter(e) => fix(e),
                Class::StatementFunction(dummies, e) => {
                    fix(e);
                    // Its dummy arguments are names of their own.
                    dummies.iter_mut().for_each(|d| {
                        let mut name = Expr::var(*d, s.span);
                        fix(&mut name);
                        *d = name.base().unwrap_or(*d);
                    });
                }
                Class::Namelist(members) => members.iter_mut().for_each(&mut *map),
                _ => {}
            }
            if let StorageClass::Common(block) = &s.storage_class
                && !commons.contains(&(root.0, block.clone()))
            {
                commons.push((root.0, block.clone()));
            }
            let place = match &s.storage_class {
                StorageClass::Common(b) => StorageClass::Common(b.clone()),
                StorageClass::Pointee(pointer) => {
                    let mut pointer = *pointer;
                    map(&mut pointer);
                    pointees.push(*id);
                    StorageClass::Pointee(pointer)
                }
                _ if args.contains(id) => StorageClass::Dummy,
                _ => StorageClass::Local,
            };
            let is_constant = matches!(s.class, Class::Parameter(_) | Class::StatementFunction(..));
            let ours = &mut self.nodes[node].unit.symbols[*id];
            let (name, span) = (ours.name.clone(), ours.span);
            *ours = Symbol {
                name,
                span,
                storage_class: place,
                saved: false,
                init: None,
                ..s
            };
            ours.external = ours.class.is_procedure();
            if is_constant {
                constants.push((*root, *id));
            }
            if matches!(ours.class, Class::Namelist(_)) {
                namelists.push(*id);
            }
        }
        // Constants keep the order of the hosts, as they may depend on each other.
        constants.sort();
        let unit = &mut self.nodes[node].unit;
        let mut at = usize::from(
            unit.specs
                .first()
                .is_some_and(|s| s.kind == SpecKind::Implicit),
        );
        let mut formulas = Vec::new();
        for (_, id) in constants {
            let span = unit.symbols[id].span;
            let (class, ty) = (unit.symbols[id].class.clone(), unit.symbols[id].ty);
            if let (Class::Parameter(_), Some(ty)) = (&class, ty) {
                let kind = SpecKind::Type(
                    ty,
                    vec![Entity {
                        sym: id,
                        dims: false,
                    }],
                );
                unit.specs.insert(at, Spec { kind, span });
                unit.specs.insert(
                    at + 1,
                    Spec {
                        kind: SpecKind::Parameter(vec![id]),
                        span,
                    },
                );
                at += 2;
            } else {
                formulas.push(id);
            }
        }
        // Imported names are declared first: bounds of local arrays may depend on them.
        let own = unit.specs.split_off(at);
        for (owner, block) in commons {
            self.import_common(node, owner, &block, &ours, diagnostics);
        }
        self.import_ties(node, &links, &ours);
        let unit = &mut self.nodes[node].unit;
        for id in &args {
            let s = &mut unit.symbols[*id];
            if let Some(what) = s.reason_against_passing() {
                diagnostics.push(
                    Diagnostic::error(
                        &rules::UNSUPPORTED,
                        s.span,
                        format!(
                            "{} is {what}, and cannot be used in a nested subprogram",
                            s.name
                        ),
                    )
                    .help("pass it to the nested subprogram as an argument"),
                );
            }
            s.attributes = Attributes::default();
            unit.args.push(Arg::Dummy(*id));
        }
        // Arguments on which bounds and lengths depend come first.
        let mut declared = args;
        declared.sort_by_key(|id| {
            let s = &unit.symbols[*id];
            (s.is_array(), s.length.is_some())
        });
        declared.into_iter().for_each(|id| unit.declare(id));
        unit.specs.extend(own);
        for id in formulas {
            let span = unit.symbols[id].span;
            unit.add_spec(SpecKind::StatementFunction(id), span);
        }
        pointees.into_iter().for_each(|id| unit.declare(id));
        for id in namelists {
            let span = unit.symbols[id].span;
            unit.add_spec(SpecKind::Namelist(id), span);
        }
        self.check_namelists(node, &links, diagnostics);
    }

    /// Checks that variables in NAMELIST groups kept their names, by which input and output refer
    /// to them.
    fn check_namelists(
        &self,
        node: usize,
        links: &[(SymId, Root)],
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let symbols = &self.nodes[node].unit.symbols;
        for (id, _) in links {
            let group = &symbols[*id];
            let Class::Namelist(members) = &group.class else {
                continue;
            };
            let renamed = links.iter().find(|(m, root)| {
                members.contains(m) && symbols[*m].name != self.symbol(*root).name
            });
            if let Some((_, root)) = renamed {
                let name = &self.symbol(*root).name;
                diagnostics.push(
                    Diagnostic::error(
                        &rules::UNSUPPORTED,
                        group.span,
                        format!(
                            "{} has {name}, but here this name is another variable's",
                            group.name
                        ),
                    )
                    .help("give the local variable another name"),
                );
            }
        }
    }

    /// Declares a COMMON block of a host in a nested unit.
    fn import_common(
        &mut self,
        node: usize,
        owner: usize,
        block: &Name,
        ours: &HashMap<Root, SymId>,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let own = !self.common_members(node, block).is_empty();
        if own {
            let shown = if block.is_empty() {
                "blank COMMON".into()
            } else {
                format!("COMMON /{block}/")
            };
            diagnostics.push(
                Diagnostic::error(
                    &rules::UNSUPPORTED,
                    self.nodes[node].unit.name_span,
                    format!(
                        "{shown} is declared in {} and in its surroundings",
                        self.nodes[node].unit.name
                    ),
                )
                .help("leave the inner declaration out: the names of the outer one are visible"),
            );
            return;
        }
        let members = self.common_members(owner, block);
        let entities: Vec<Entity> = members
            .iter()
            .filter_map(|m| ours.get(&(owner, *m)))
            .map(|s| Entity {
                sym: *s,
                dims: false,
            })
            .collect();
        let unit = &mut self.nodes[node].unit;
        for e in &entities {
            unit.declare(e.sym);
        }
        let span = unit.span;
        unit.add_spec(SpecKind::Common(vec![(block.clone(), entities)]), span);
    }

    /// Declares the variables that EQUIVALENCE puts into COMMON, and their EQUIVALENCE groups.
    fn import_ties(&mut self, node: usize, links: &[(SymId, Root)], ours: &HashMap<Root, SymId>) {
        let mut tied: Vec<Root> = links
            .iter()
            .map(|(_, root)| *root)
            .filter(|(owner, root)| self.nodes[*owner].in_common.contains(root))
            .collect();
        tied.sort();
        let mut groups: Vec<Vec<Expr>> = Vec::new();
        for (owner, _) in &tied {
            for group in equivalenced::groups(&self.nodes[*owner].unit) {
                let mut known = true;
                let mut group = group.clone();
                let bases: Vec<Option<SymId>> = group.iter().map(Expr::base).collect();
                let concerned = |s: &Option<SymId>| s.is_some_and(|s| tied.contains(&(*owner, s)));
                for e in &mut group {
                    e.for_each_symbol_mut(&mut |s| match ours.get(&self.root((*owner, *s))) {
                        Some(id) => *s = *id,
                        None => known = false,
                    });
                }
                if known && bases.iter().any(concerned) && !groups.contains(&group) {
                    groups.push(group);
                }
            }
        }
        let unit = &mut self.nodes[node].unit;
        for root in tied {
            if let Some(id) = ours.get(&root) {
                unit.declare(*id);
            }
        }
        if !groups.is_empty() {
            let span = unit.span;
            unit.add_spec(SpecKind::Equivalence(groups), span);
        }
    }
}
