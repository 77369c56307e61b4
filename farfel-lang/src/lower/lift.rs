//! Turns nested subprograms into top-level ones.
//!
//! A nested subprogram INNER of OUTER becomes OUTER_INNER. The variables and dummy procedures that
//! it uses from its hosts are appended to its arguments in alphabetical order, and calls pass them
//! along. Where INNER is an actual argument, it becomes an [`ExprKind::Closure`] that holds them
//! (Johnsson, "Lambda lifting", 1985).

mod links;

use super::bounds::{self, EntryBounds};
use super::calls;
use super::compact::compact;
use super::equivalenced;
use super::naming::{Families, taken_names};
use crate::diagnostic::Diagnostic;
use crate::ir::{
    Class, Expr, ExprKind, Implicit, Name, Program, Spec, SpecKind, StorageClass, SymId, Symbol,
    Unit, unused_name,
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A unit, taken out of its host.
struct Node {
    unit: Unit,
    parent: Option<usize>,
    children: HashMap<Name, usize>,
    /// Its name at the top level.
    name: Name,
    /// Its variables that EQUIVALENCE puts into COMMON.
    in_common: HashSet<SymId>,
    /// The values on entry on which its array bounds depend; nested units see the bounds with these
    /// values.
    on_entry: EntryBounds,
    /// Its variables as nested units see them, where that differs from their declaration.
    seen: HashMap<SymId, Symbol>,
}

/// The symbol at the end of a chain of links, with the node that declares it.
type Root = (usize, SymId);

/// Lifts all nested subprograms. Returns the subprogram of the source to which each of them
/// belongs.
pub(super) fn lift(program: &mut Program, diagnostics: &mut Vec<Diagnostic>) -> Families {
    let mut taken = taken_names(program);
    let changing = bounds::changing_around(program);
    let mut nodes = Vec::new();
    let mut order = Vec::new();
    for unit in std::mem::take(&mut program.units) {
        flatten(unit, None, &mut taken, &mut nodes, &mut order);
    }
    for (node, changing) in nodes.iter_mut().zip(changing) {
        node.on_entry = EntryBounds::of(changing);
    }
    let mut forest = NestedUnits { nodes };
    forest.link_everything_needed(&taken);
    for node in &mut forest.nodes {
        let body = std::mem::take(&mut node.unit.body);
        node.unit.body = node.on_entry.save_at_entries(&node.unit, body);
    }
    let captured: Vec<Vec<Root>> = (0..forest.nodes.len())
        .map(|n| forest.captured(n))
        .collect();
    // Innermost first: links are followed outwards, and finishing a unit ends its links. All work
    // on a unit is done at once where possible, while it is in the processor's cache.
    for n in &order {
        forest.finish(*n, &captured, diagnostics);
        if forest.stands_alone(*n) {
            complete(&mut forest.nodes[*n].unit);
        }
    }
    let alone: Vec<bool> = order.iter().map(|n| forest.stands_alone(*n)).collect();
    let mut families = forest.families();
    for (node, captured) in forest.nodes.iter().zip(&captured) {
        if node.parent.is_some() {
            families.set_captured(node.name.clone(), captured.len());
        }
    }
    let mut units: Vec<Option<Unit>> = forest.nodes.into_iter().map(|n| Some(n.unit)).collect();
    program.units = order.into_iter().filter_map(|n| units[n].take()).collect();
    for (unit, alone) in program.units.iter_mut().zip(alone) {
        if !alone {
            complete(unit);
        }
    }
    families
}

/// Completes a unit that has no links. As this is the first pass, it also removes names that were
/// never used.
fn complete(unit: &mut Unit) {
    calls::declare_procedures(unit, &|_| true);
    compact(unit);
}

/// Takes the nested units out. `order` lists the nodes innermost first.
fn flatten(
    mut unit: Unit,
    parent: Option<usize>,
    taken: &mut HashSet<Name>,
    nodes: &mut Vec<Node>,
    order: &mut Vec<usize>,
) -> usize {
    let nested = std::mem::take(&mut unit.nested);
    let name = match parent {
        None => unit.name.clone(),
        Some(p) => {
            let wanted = format!("{}_{}", nodes[p].name, unit.name);
            let name = unused_name(&wanted, &|n| taken.contains(n));
            taken.insert(name.clone());
            name
        }
    };
    let index = nodes.len();
    let in_common = match nested.is_empty() {
        true => HashSet::new(),
        false => equivalenced::in_common(&unit),
    };
    nodes.push(Node {
        unit,
        parent,
        children: HashMap::new(),
        name,
        in_common,
        on_entry: EntryBounds::default(),
        seen: HashMap::new(),
    });
    for n in nested {
        let (name, child) = (n.name.clone(), flatten(n, Some(index), taken, nodes, order));
        nodes[index].children.insert(name, child);
    }
    order.push(index);
    index
}

struct NestedUnits {
    nodes: Vec<Node>,
}

impl NestedUnits {
    /// Returns the families of the nested units.
    fn families(&self) -> Families {
        let mut families = Families::default();
        // A node follows its hosts.
        for node in &self.nodes {
            if let Some(parent) = node.parent {
                let family = families.of(&self.nodes[parent].name).clone();
                families.insert(node.name.clone(), family);
            }
        }
        families
    }

    fn symbol(&self, at: Root) -> &Symbol {
        &self.nodes[at.0].unit.symbols[at.1]
    }

    fn root(&self, mut at: Root) -> Root {
        while let (StorageClass::Host(h), Some(p)) =
            (&self.symbol(at).storage_class, self.nodes[at.0].parent)
        {
            at = (p, *h);
        }
        at
    }

    /// Returns the nested unit for which a symbol of `node` stands.
    fn nested(&self, node: usize, id: SymId) -> Option<usize> {
        let s = self.symbol((node, id));
        if !s.class.is_procedure() {
            return None;
        }
        let (owner, id) = self.root((node, id));
        let s = self.symbol((owner, id));
        (s.storage_class == StorageClass::Local)
            .then(|| self.nodes[owner].children.get(&s.name).copied())
            .flatten()
    }

    /// Returns the symbol of `node` for `root`, which must belong to `node` or to one of its hosts.
    /// Adds links through all levels between them where necessary.
    fn view(&mut self, node: usize, root: Root) -> SymId {
        if node == root.0 {
            return root.1;
        }
        if let Some(same) = self.same_anywhere(node, root) {
            return same;
        }
        let Some(parent) = self.nodes[node].parent else {
            return root.1;
        };
        let above = self.view(parent, root);
        let symbols = &self.nodes[node].unit.symbols;
        if let Some((id, _)) = symbols
            .iter()
            .find(|(_, s)| s.storage_class == StorageClass::Host(above))
        {
            return id;
        }
        let seen = self.symbol(root).clone();
        let name = symbols.unused(&seen.name, &|_| false);
        self.nodes[node].unit.symbols.add(Symbol {
            name,
            storage_class: StorageClass::Host(above),
            saved: false,
            init: None,
            ..seen
        })
    }

    /// Returns the symbol of `node` for `root` if that is an intrinsic or top-level procedure: it
    /// is the same everywhere and needs no link.
    pub(super) fn same_anywhere(&self, node: usize, root: Root) -> Option<SymId> {
        let global = |s: &Symbol| s.storage_class == StorageClass::Global && s.class.is_procedure();
        let theirs = self.symbol(root);
        let ours = self.nodes[node].unit.symbols.find(&theirs.name)?;
        let s = self.symbol(self.root((node, ours)));
        let same = match theirs.class {
            Class::Intrinsic(_) => s.class == theirs.class,
            _ => global(theirs) && global(s),
        };
        same.then_some(ours)
    }

    /// Whether a unit has neither a host nor nested units, and so never has links.
    fn stands_alone(&self, node: usize) -> bool {
        self.nodes[node].parent.is_none() && self.nodes[node].children.is_empty()
    }

    /// Returns a symbol as nested units see it.
    fn seen(&self, at: Root) -> &Symbol {
        let seen = self.nodes[at.0].seen.get(&at.1);
        seen.unwrap_or_else(|| self.symbol(at))
    }

    /// Determines how a nested unit sees a symbol of a host: bounds stay what they are on entry to
    /// the unit that declares the symbol.
    fn settle_bounds(&mut self, node: usize, id: SymId, taken: &HashSet<Name>) {
        let (owner, root) = self.root((node, id));
        let of = &mut self.nodes[owner];
        if owner == node || of.seen.contains_key(&root) || of.on_entry.is_steady() {
            return;
        }
        if bounds::bounds(&of.unit.symbols[root]).next().is_some() {
            let seen = of.on_entry.seen(&mut of.unit, root, taken);
            of.seen.insert(root, seen);
        }
    }

    /// Adds the links that calls of nested subprograms, array bounds and definitions require, until
    /// a fixed point is reached.
    fn link_everything_needed(&mut self, taken: &HashSet<Name>) {
        loop {
            let before: usize = self.nodes.iter().map(|n| n.unit.symbols.len()).sum();
            for node in 0..self.nodes.len() {
                if self.stands_alone(node) {
                    continue;
                }
                let ids: Vec<SymId> = self.nodes[node].unit.symbols.ids().collect();
                for id in ids {
                    self.settle_bounds(node, id, taken);
                    for needed in self.needed(node, id) {
                        self.view(node, needed);
                    }
                }
            }
            if self
                .nodes
                .iter()
                .map(|n| n.unit.symbols.len())
                .sum::<usize>()
                == before
            {
                return;
            }
        }
    }

    /// Returns the symbols of its hosts that `node` must see to use the symbol `id`.
    fn needed(&self, node: usize, id: SymId) -> Vec<Root> {
        let mut found = Vec::new();
        if let Some(nested) = self.nested(node, id) {
            // Only those outside of the unit itself, as it has its own variables.
            found.extend(
                self.captured(nested)
                    .into_iter()
                    .filter(|r| self.is_around(r.0, node)),
            );
        }
        let (owner, root) = self.root((node, id));
        if owner == node {
            return found;
        }
        let s = self.seen((owner, root));
        let mut look = |e: &Expr| e.for_each_symbol(&mut |x| found.push(self.root((owner, x))));
        bounds::bounds(s).for_each(&mut look);
        match &s.class {
            Class::Parameter(e) => look(e),
            Class::StatementFunction(dummies, e) => {
                look(e);
                found.extend(dummies.iter().map(|d| (owner, *d)));
            }
            Class::Namelist(members) => {
                found.extend(members.iter().map(|m| self.root((owner, *m))));
            }
            _ => {}
        }
        if let StorageClass::Pointee(pointer) = s.storage_class {
            found.push(self.root((owner, pointer)));
        }
        if let StorageClass::Common(block) = &s.storage_class {
            found.extend(
                self.common_members(owner, block)
                    .into_iter()
                    .map(|m| (owner, m)),
            );
        }
        if self.nodes[owner].in_common.contains(&root) {
            // With everything that ties it to its place.
            let groups = equivalenced::groups(&self.nodes[owner].unit);
            for group in groups.filter(|g| g.iter().any(|e| e.base() == Some(root))) {
                let mut look = |x: SymId| found.push(self.root((owner, x)));
                group.iter().for_each(|e| e.for_each_symbol(&mut look));
            }
        }
        found
    }

    fn is_around(&self, outer: usize, mut node: usize) -> bool {
        loop {
            if node == outer {
                return true;
            }
            match self.nodes[node].parent {
                Some(p) => node = p,
                None => return false,
            }
        }
    }

    fn common_members(&self, node: usize, block: &Name) -> Vec<SymId> {
        self.nodes[node]
            .unit
            .specs
            .iter()
            .filter_map(|s| match &s.kind {
                SpecKind::Common(blocks) => Some(blocks),
                _ => None,
            })
            .flatten()
            .filter(|(n, _)| n == block)
            .flat_map(|(_, l)| l.iter().map(|e| e.sym))
            .collect()
    }

    /// Returns the symbols of its hosts that a unit receives as arguments, in alphabetical order.
    fn captured(&self, node: usize) -> Vec<Root> {
        if self.nodes[node].parent.is_none() {
            return Vec::new();
        }
        let mut found: Vec<Root> = self.nodes[node]
            .unit
            .symbols
            .iter()
            .filter(|(_, s)| matches!(s.storage_class, StorageClass::Host(_)))
            .map(|(id, _)| self.root((node, id)))
            .filter(|r| {
                let s = self.symbol(*r);
                match s.class {
                    Class::Variable => {
                        !matches!(
                            s.storage_class,
                            StorageClass::Common(_) | StorageClass::Pointee(_)
                        ) && !self.nodes[r.0].in_common.contains(&r.1)
                    }
                    _ => s.class.is_procedure() && s.storage_class == StorageClass::Dummy,
                }
            })
            .collect();
        found.sort_by(|a, b| (&self.symbol(*a).name, a).cmp(&(&self.symbol(*b).name, b)));
        found.dedup();
        found
    }

    /// Turns a node into a top-level unit.
    fn finish(&mut self, node: usize, captured: &[Vec<Root>], diagnostics: &mut Vec<Diagnostic>) {
        self.rewrite_calls(node, captured);
        if self.nodes[node].parent.is_none() {
            return;
        }
        // This comes first, as it decides what needs a declaration.
        self.nodes[node].unit.implicit = self.effective_implicit(node);
        self.replace_links(node, &captured[node], diagnostics);
        let name = self.nodes[node].name.clone();
        let unit = &mut self.nodes[node].unit;
        if !unit.implicit.is_empty() && !unit.specs.iter().any(|s| s.kind == SpecKind::Implicit) {
            unit.specs.insert(
                0,
                Spec {
                    kind: SpecKind::Implicit,
                    span: unit.span,
                },
            );
        }
        if let Some(r) = unit.result
            && unit.symbols[r].name == unit.name
        {
            unit.symbols.rename(r, name.clone());
        }
        unit.name = name;
        let ids: Vec<SymId> = unit
            .result
            .into_iter()
            .chain(unit.args.iter().filter_map(|a| a.sym()))
            .collect();
        for id in ids {
            unit.declare(id);
        }
    }

    /// Turns every reference to a nested subprogram into one to its top-level form.
    fn rewrite_calls(&mut self, node: usize, captured: &[Vec<Root>]) {
        let ids: Vec<SymId> = match self.stands_alone(node) {
            true => Vec::new(),
            false => self.nodes[node].unit.symbols.ids().collect(),
        };
        let mut closures: BTreeMap<SymId, Vec<SymId>> = BTreeMap::new();
        for id in ids {
            let Some(target) = self.nested(node, id) else {
                continue;
            };
            let taken = captured[target]
                .iter()
                .map(|r| self.view(node, *r))
                .collect();
            closures.insert(id, taken);
        }
        if let Some(own) = self.separate_result(node) {
            let taken = captured[node].iter().map(|r| self.view(node, *r)).collect();
            closures.insert(own, taken);
        }
        if closures.is_empty() {
            return;
        }
        let names: Vec<(SymId, Name)> = closures
            .keys()
            .filter_map(|id| Some((*id, self.nodes[self.nested(node, *id)?].name.clone())))
            .collect();
        let unit = &mut self.nodes[node].unit;
        let Unit { body, .. } = unit;
        crate::ir::rewrite_exprs(body, &mut |e| {
            if let ExprKind::Var(s) = e.kind
                && let Some(taken) = closures.get(&s)
            {
                e.kind = ExprKind::Closure(s, taken.clone());
            }
        });
        calls::for_each_call_mut(body, &mut |callee, args| {
            if let Some(taken) = closures.get(callee) {
                args.extend(taken.iter().map(|s| Expr::var(*s, crate::Span::NONE)));
            }
        });
        for (id, name) in names {
            unit.undeclare(id);
            // A nested subprogram cannot have two names here, as links share the name.
            unit.symbols.rename(id, name);
            let s = &mut unit.symbols[id];
            s.storage_class = StorageClass::Global;
            s.external = false;
            s.typed = false;
            if s.class == Class::Function {
                unit.declare(id);
            }
        }
    }

    /// In a function that calls itself, one name stands for both the result and the function.
    /// Renames the result and returns the symbol of the function.
    fn separate_result(&mut self, node: usize) -> Option<SymId> {
        let name = self.nodes[node].name.clone();
        let unit = &mut self.nodes[node].unit;
        let result = unit.result?;
        let mut recursive = false;
        calls::for_each_call(&unit.body, &mut |callee, _| recursive |= callee == result);
        if !recursive {
            return None;
        }
        unit.recursive = true;
        let (ty, span) = (unit.symbols[result].ty, unit.symbols[result].span);
        let other = unit
            .symbols
            .unused(&format!("{}_RESULT", unit.name), &|_| false);
        unit.symbols.rename(result, other);
        let own = unit.symbols.add(Symbol {
            ty,
            class: Class::Function,
            storage_class: StorageClass::Global,
            ..Symbol::new(name, span)
        });
        calls::for_each_call_mut(&mut unit.body, &mut |callee, _| {
            if *callee == result {
                *callee = own;
            }
        });
        unit.declare(result);
        Some(own)
    }
    /// Returns the IMPLICIT rules that hold in a unit, including those of its hosts.
    fn effective_implicit(&self, node: usize) -> Implicit {
        let mut rules = Implicit::default();
        let mut chain = vec![node];
        while let Some(p) = self.nodes[chain[chain.len() - 1]].parent {
            chain.push(p);
        }
        for n in chain.into_iter().rev() {
            let own = &self.nodes[n].unit.implicit;
            if own.none {
                rules = Implicit {
                    none: true,
                    ..Implicit::default()
                };
            }
            for (to, from) in rules.letters.iter_mut().zip(&own.letters) {
                if from.is_some() {
                    *to = *from;
                }
            }
        }
        rules
    }
}
