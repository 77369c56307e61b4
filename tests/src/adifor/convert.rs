//! Conversion of the engine's derivatives to the names and layout of ADIFOR 2.

use super::MARK;
use super::script::Script;
use farfel_ad::locations::common_members;
use farfel_lang::ir::{
    Class, Entity, Expr, ExprKind, Name, Program, Request, SaveItem, SpecKind, Stmt, StmtKind,
    StorageClass, SymId, Symbol, Type, Unit, UnitKind,
};
use std::collections::{BTreeMap, HashMap};

/// Returns the units with ADIFOR's names and arguments, each with the name of the unit that it
/// differentiates.
pub fn convert(
    program: &Program,
    request: &Request,
    script: &Script,
    made: Vec<Unit>,
) -> Result<Vec<(Name, Unit)>, String> {
    let layouts = super::directions::layouts(&made);
    let prefix = &script.prefix;
    let derivative = |of: &str| format!("{prefix}_{of}");
    // Names of units.
    let mut names: BTreeMap<Name, (Name, Name)> = BTreeMap::new();
    for u in &made {
        let (of, number) = split(&u.name).ok_or_else(|| format!("no name for {}", u.name))?;
        names.insert(
            u.name.clone(),
            (of.into(), format!("{}{number}", derivative(of)).into()),
        );
    }
    let mut out = Vec::new();
    for mut u in made {
        let (of, name) = names[&u.name].clone();
        if program.unit(&name).is_some() {
            return Err(format!("{name} is the name of two subprograms"));
        }
        let original = program.unit(&of).ok_or("a derivative of nothing")?;
        u.name = name;
        u.comments.clear();
        if request.vector {
            super::directions::lay_out(&mut u, script, &layouts)?;
        }
        super::arrays::by_element(&mut u);
        do_not_zero_common(&mut u);
        save_locals(&mut u);
        rename(&mut u, original, prefix, &names)?;
        whole_blocks(&mut u, program, prefix);
        debug_assert!(u.kind == UnitKind::Subroutine);
        out.push((of, u));
    }
    Ok(out)
}

/// Splits the engine's name FOO_QQAD_2 into `FOO` and `2`.
fn split(name: &str) -> Option<(&str, &str)> {
    let (of, number) = name.rsplit_once(MARK)?;
    Some((of, number))
}

/// Removes assignments of zero to derivatives in COMMON: ADIFOR keeps the caller's values, while the engine
/// sets those that it reads to zero first.
fn do_not_zero_common(unit: &mut Unit) {
    let target = |unit: &Unit, s: &Stmt| -> Option<SymId> {
        let mut s = s;
        while let StmtKind::Do(d) = &s.kind
            && let [only] = d.body.as_slice()
        {
            s = only;
        }
        match &s.kind {
            StmtKind::Assign(to, value) => {
                let zero = matches!(&value.kind, ExprKind::Real(t) if t.starts_with("0.0"));
                let to = to.base()?;
                let common = matches!(&unit.symbols[to].storage_class, StorageClass::Common(b) if b.contains(MARK));
                (zero && common).then_some(to)
            }
            _ => None,
        }
    };
    let leading = unit
        .body
        .iter()
        .take_while(|s| target(unit, s).is_some())
        .count();
    let next = unit.body.get(leading).and_then(|s| match &s.kind {
        StmtKind::Assign(to, _) => to.base().map(|b| unit.symbols[b].name.clone()),
        _ => None,
    });
    let keep = |unit: &Unit, s: &Stmt| {
        // The derivative of `a = 5` is zero: that is not an initialisation.
        let of = target(unit, s).map(|t| unit.symbols[t].name.to_string());
        let of = of
            .as_deref()
            .and_then(|n| split(n).map(|(of, _)| of.to_owned()));
        of.as_deref() == next.as_deref()
    };
    let body = std::mem::take(&mut unit.body);
    unit.body = body
        .into_iter()
        .enumerate()
        .filter(|(i, s)| *i >= leading || keep(unit, s))
        .map(|(_, s)| s)
        .collect();
}

/// Gives local derivatives the SAVE attribute.
fn save_locals(unit: &mut Unit) {
    let locals: Vec<SymId> = unit
        .symbols
        .iter()
        .filter(|(_, s)| {
            let fixed = s.dims.iter().all(|d| {
                let bounds = d.lower.iter().chain(&d.upper);
                bounds
                    .into_iter()
                    .all(|e| matches!(e.kind, ExprKind::Int(_)))
            });
            let fresh = s.is_variable() && s.storage_class == StorageClass::Local && !s.saved;
            fresh && fixed && s.name.contains(MARK)
        })
        .map(|(id, _)| id)
        .collect();
    if !locals.is_empty() {
        let items = locals.into_iter().map(SaveItem::Var).collect();
        unit.add_spec(SpecKind::Save(items), unit.span);
    }
}

/// Renames everything as ADIFOR would.
fn rename(
    unit: &mut Unit,
    original: &Unit,
    prefix: &str,
    units: &BTreeMap<Name, (Name, Name)>,
) -> Result<(), String> {
    let ids: Vec<SymId> = unit.symbols.ids().collect();
    let mut temporaries: HashMap<char, u32> = HashMap::new();
    for id in ids {
        let s = &unit.symbols[id];
        let name = s.name.clone();
        let new = if let Some((_, new)) = units.get(&name) {
            new.to_string()
        } else if name.starts_with("ND") && original.symbols.find(&name).is_none() {
            format!("{prefix}_I_")
        } else if name.starts_with("TEMP") && original.symbols.find(&name).is_none() {
            // d1_w, d2_w, …; r1_w in single precision; their derivatives g_d1_w, …
            let letter = match s.ty {
                Some(Type::Real(8)) => 'D',
                _ => 'R',
            };
            let n = temporaries.entry(letter).or_insert(0);
            *n += 1;
            let of = if name.contains(MARK) {
                format!("{prefix}_")
            } else {
                String::new()
            };
            unit.symbols
                .unused(&format!("{of}{letter}{n}_W"), &|_| false)
                .to_string()
        } else if let Some((of, number)) = split(&name) {
            let wanted = format!("{prefix}_{of}");
            // A function's derivative has the name of the subroutine that it became.
            if wanted == unit.name.as_str() || !number.is_empty() {
                unit.symbols
                    .unused(&format!("{wanted}_R"), &|_| false)
                    .to_string()
            } else if unit.symbols.find(&wanted).is_some() {
                return Err(format!("{wanted} is the name of two variables"));
            } else {
                wanted
            }
        } else {
            continue;
        };
        let was_typed = unit.symbols[id].ty.is_some();
        unit.symbols.rename(id, new.as_str().into());
        if was_typed && unit.symbols[id].is_variable() {
            unit.symbols[id].typed = true;
            unit.declare(id);
        }
    }
    for s in unit.symbols.ids().collect::<Vec<_>>() {
        if let StorageClass::Common(b) = &mut unit.symbols[s].storage_class
            && let Some((of, _)) = split(b)
        {
            *b = format!("{prefix}_{of}").into();
        }
    }
    for spec in &mut unit.specs {
        if let SpecKind::Common(blocks) = &mut spec.kind {
            for (b, _) in blocks {
                if let Some((of, _)) = split(b) {
                    *b = format!("{prefix}_{of}").into();
                }
            }
        }
    }
    Ok(())
}

/// Adds a derivative for every member of an active block, whatever its type.
fn whole_blocks(unit: &mut Unit, program: &Program, prefix: &str) {
    let blocks: Vec<Name> = common_members(unit)
        .into_keys()
        .filter(|b| b.starts_with(&format!("{prefix}_")))
        .collect();
    for block in blocks {
        let primal = &block[prefix.len() + 1..];
        let Some((owner, members)) = program
            .units
            .iter()
            .find_map(|u| common_members(u).remove(primal).map(|m| (u, m)))
        else {
            continue;
        };
        let real = common_members(unit).remove(&block).unwrap_or_default();
        let mut real = real.into_iter();
        let mut entities = Vec::new();
        for m in members {
            let of = &owner.symbols[m];
            let sym = if farfel_ad::locations::differentiable(of) {
                match real.next() {
                    Some(s) => s,
                    None => continue,
                }
            } else {
                let dims = of.dims.clone();
                let constant = dims.iter().all(|d| {
                    let bounds = d.lower.iter().chain(&d.upper);
                    bounds
                        .into_iter()
                        .all(|e: &Expr| matches!(e.kind, ExprKind::Int(_)))
                });
                if !constant || !matches!(of.ty, Some(Type::Integer(_))) {
                    continue;
                }
                let name = unit
                    .symbols
                    .unused(&format!("{prefix}_{}", of.name), &|_| false);
                let id = unit.symbols.add(Symbol {
                    dims,
                    ty: of.ty,
                    typed: true,
                    class: Class::Variable,
                    storage_class: StorageClass::Common(block.clone()),
                    ..Symbol::new(name, unit.span)
                });
                unit.declare(id);
                id
            };
            entities.push(Entity { sym, dims: false });
        }
        unit.specs.retain(|s| match &s.kind {
            SpecKind::Common(l) => !l.iter().any(|(b, _)| *b == block),
            _ => true,
        });
        unit.add_spec(SpecKind::Common(vec![(block, entities)]), unit.span);
    }
}
