//! Imports names of one unit into another.

use crate::ir::{
    Attribute, Class, Dim, Entity, Expr, Name, Spec, SpecKind, StorageClass, SymId, Symbol,
    Symbols, Unit,
};
use std::collections::{BTreeSet, HashMap};

/// Imports names of one unit into another, with everything on which they depend.
///
/// Constants, statement functions, NAMELIST groups, procedures and COMMON variables are imported as
/// they are. Variables must be mapped beforehand with [`Import::bind`], as only the pass knows how
/// they get their values.
pub(super) struct Import<'a> {
    from: &'a Unit,
    map: HashMap<SymId, SymId>,
}

impl<'a> Import<'a> {
    pub fn new(from: &'a Unit) -> Self {
        Import {
            from,
            map: HashMap::new(),
        }
    }

    /// Maps `theirs` of the source unit to `ours` of the target unit.
    pub fn bind(&mut self, theirs: SymId, ours: SymId) {
        self.map.insert(theirs, ours);
    }

    /// Returns the symbol of `to` for a symbol of the source unit.
    pub fn symbol(&mut self, to: &mut Unit, id: SymId) -> SymId {
        if let Some(known) = self.map.get(&id) {
            return *known;
        }
        let theirs = &self.from.symbols[id];
        if let StorageClass::Common(block) = &theirs.storage_class {
            self.common(to, block);
            if let Some(known) = self.map.get(&id) {
                return *known;
            }
        }
        let shared = matches!(theirs.class, Class::Intrinsic(_))
            || theirs.storage_class == StorageClass::Global && theirs.class.is_procedure();
        if shared
            && let Some(same) = to.symbols.find(&theirs.name)
            && to.symbols[same].class == theirs.class
        {
            self.map.insert(id, same);
            return same;
        }
        let place = match &theirs.storage_class {
            StorageClass::Pointee(pointer) => StorageClass::Pointee(self.symbol(to, *pointer)),
            place => place.clone(),
        };
        let ours = self.add(to, id, place);
        match &theirs.class {
            Class::Parameter(_) => to.add_spec(SpecKind::Parameter(vec![ours]), theirs.span),
            Class::StatementFunction(..) => {
                to.specs.push(Spec {
                    kind: SpecKind::StatementFunction(ours),
                    span: theirs.span,
                });
            }
            Class::Namelist(_) => to.add_spec(SpecKind::Namelist(ours), theirs.span),
            _ => {}
        }
        ours
    }

    /// Adds a symbol with the facts of `id` and with `place`, under the same name if that is
    /// unused, and declares it.
    pub fn add(&mut self, to: &mut Unit, id: SymId, place: StorageClass) -> SymId {
        let theirs = self.from.symbols[id].clone();
        let name = to.symbols.unused(&theirs.name, &|_| false);
        let saved = theirs.saved && matches!(place, StorageClass::Common(_));
        let ours = to.symbols.add(Symbol {
            name,
            saved,
            dims: Vec::new(),
            length: None,
            init: None,
            // A dummy argument with attributes would require an explicit interface.
            attributes: match place {
                StorageClass::Dummy => theirs.attributes.only(Attribute::Constant),
                _ => theirs.attributes,
            },
            storage_class: place,
            class: Class::Unknown,
            ..theirs.clone()
        });
        self.map.insert(id, ours);
        let class = match theirs.class {
            Class::Parameter(e) => Class::Parameter(Box::new(self.expr(to, *e))),
            Class::StatementFunction(dummies, e) => {
                let dummies = dummies.into_iter().map(|d| self.dummy(to, d)).collect();
                Class::StatementFunction(dummies, Box::new(self.expr(to, *e)))
            }
            Class::Namelist(members) => {
                Class::Namelist(members.into_iter().map(|m| self.symbol(to, m)).collect())
            }
            other => other,
        };
        let dims = theirs
            .dims
            .into_iter()
            .map(|Dim { lower, upper }| Dim {
                lower: lower.map(|e| self.expr(to, e)),
                upper: upper.map(|e| self.expr(to, e)),
            })
            .collect();
        let length = theirs.length.map(|e| self.expr(to, e));
        let symbol = &mut to.symbols[ours];
        symbol.class = class;
        symbol.dims = dims;
        symbol.length = length;
        if symbol.class.is_procedure() && symbol.storage_class == StorageClass::Dummy {
            symbol.external = true;
        }
        if !matches!(symbol.class, Class::StatementFunction(..)) || symbol.typed {
            to.declare(ours);
        }
        ours
    }

    /// Imports a dummy argument of a statement function. In the source unit it may be a variable or
    /// an argument as well; in the target unit only its name and type matter.
    fn dummy(&mut self, to: &mut Unit, id: SymId) -> SymId {
        match self.map.get(&id) {
            Some(known) => *known,
            None => self.add(to, id, StorageClass::Local),
        }
    }

    /// Imports an expression, with its names replaced.
    pub fn expr(&mut self, to: &mut Unit, mut e: Expr) -> Expr {
        e.for_each_symbol_mut(&mut |s| *s = self.symbol(to, *s));
        e
    }

    /// Declares a complete COMMON block, so that its layout does not change.
    fn common(&mut self, to: &mut Unit, block: &Name) {
        for spec in &self.from.specs {
            let SpecKind::Common(blocks) = &spec.kind else {
                continue;
            };
            for (name, members) in blocks.iter().filter(|(n, _)| n == block) {
                let mut entities = Vec::new();
                for m in members {
                    let place = self.from.symbols[m.sym].storage_class.clone();
                    let ours = match self.map.get(&m.sym) {
                        Some(s) => *s,
                        None => self.add(to, m.sym, place),
                    };
                    entities.push(Entity {
                        sym: ours,
                        dims: false,
                    });
                }
                to.add_spec(SpecKind::Common(vec![(name.clone(), entities)]), spec.span);
            }
        }
    }
}

/// Returns the variables and dummy procedures among `symbols` and everything on which their bounds,
/// lengths and definitions depend: these must be passed for `symbols` to have the same meaning
/// elsewhere. COMMON variables are excluded, because they are the same everywhere.
pub(super) fn variables_needed(
    symbols: &Symbols,
    wanted: impl IntoIterator<Item = SymId>,
) -> BTreeSet<SymId> {
    let mut seen = BTreeSet::new();
    let mut found = BTreeSet::new();
    let mut open: Vec<SymId> = wanted.into_iter().collect();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let s = &symbols[id];
        let mut look = |e: &Expr| e.for_each_symbol(&mut |s| open.push(s));
        match &s.class {
            Class::Parameter(e) => look(e),
            Class::Namelist(members) => open.extend(members),
            Class::StatementFunction(dummies, e) => {
                // In its definition the dummy arguments are names of their own, not variables.
                e.for_each_symbol(&mut |s| {
                    if !dummies.contains(&s) {
                        open.push(s);
                    }
                });
            }
            Class::Variable => {
                for d in &s.dims {
                    d.lower.iter().chain(&d.upper).for_each(&mut look);
                }
                s.length.iter().for_each(look);
                match s.storage_class {
                    StorageClass::Common(_) => {}
                    // The pointer gives access to it.
                    StorageClass::Pointee(pointer) => open.push(pointer),
                    _ => {
                        found.insert(id);
                    }
                }
            }
            c if c.is_procedure() && s.storage_class == StorageClass::Dummy => {
                found.insert(id);
            }
            _ => {}
        }
    }
    found
}
