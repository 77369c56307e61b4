//! Subprograms.

use super::scope::{Callable, Effects, Entity, Param, Scope, Shape, Signature, Var};
use super::{Case, Item, Kind, Random};

/// What all units of a case share.
pub struct World<'r> {
    pub random: &'r mut Random,
    pub kind: Kind,
    /// The name of the case.
    pub name: String,
    /// How many entities there are.
    pub entities: Entity,
    /// How many subprograms there are.
    pub units: usize,
    /// How many statements are left.
    pub budget: usize,
    /// The type of a number, as declarations write it.
    pub number: &'static str,
    /// The COMMON block is divided otherwise in other units.
    pub divided: bool,
    /// EQUIVALENCE ties variables of the subroutine that is called.
    pub tied: bool,
}

/// One unit while it is written.
pub struct Unit {
    pub scope: Scope,
    /// Assigns only its own variables.
    pub pure: bool,
    pub effects: Effects,
    /// Entities that callers do not see.
    pub own: Vec<Entity>,
    /// Its dummy procedures.
    pub own_procedures: Vec<String>,
    /// Loop variables that are not in use, and those that are.
    pub free_loops: Vec<String>,
    pub loops: Vec<String>,
    pub label: u32,
    pub calls_left: usize,
    /// Dummy arguments that are three.
    pub extents: Vec<String>,
    /// How the loops around can be left, the innermost last.
    pub ways: Vec<Way>,
    /// What RETURN needs before it, where it is allowed.
    pub returns: Option<Returns>,
    /// In a loop with many rounds.
    pub long: bool,
    /// Variables for ASSIGN that are not in use.
    pub label_variables: Vec<&'static str>,
}

/// How a loop can be left.
#[derive(Clone, Default)]
pub struct Way {
    /// By EXIT and CYCLE.
    pub exit: bool,
    pub cycle: bool,
    /// By a jump to this label, and whether there is one.
    pub label: u32,
    pub used: bool,
}

/// What a unit needs for RETURN.
#[derive(Clone)]
pub struct Returns {
    /// The function, which must have a value.
    pub function: Option<String>,
    pub alternate: bool,
}

/// What every unit has for statements that need another type for a moment.
const SCRATCH: [&str; 4] = [
    "COMPLEX*16 CZ, CY",
    "CHARACTER CH*2",
    "INTEGER LB, LC, LD",
    "LOGICAL LO",
];

const ARRAY: Shape = Shape::Array {
    lower: 1,
    extent: 3,
    whole: true,
};

pub fn case(random: &mut Random, name: &str, kind: Kind) -> Case {
    let budget = 10 + random.below(50);
    let mut world = World {
        random,
        kind,
        name: name.into(),
        entities: 0,
        units: 0,
        budget,
        number: if kind.real {
            "REAL"
        } else {
            "DOUBLE PRECISION"
        },
        divided: false,
        tied: false,
    };
    world.tied = world.random.once_in(4);
    let mut units = Vec::new();
    let mut scope = Scope::default();
    // A variable and an array in COMMON, that all units know by names of their own.
    let common = world.random.once_in(2);
    let (first, second) = (world.entity(), world.entity());
    world.divided = common && world.random.once_in(3);
    let shared = (first, if world.divided { first } else { second });
    for i in 0..world.random.below(3) {
        let name = format!("{}{name}", ["G", "H"][i]);
        let seen = common && world.random.once_in(2);
        let (item, callables) = world.top_level(&name, &scope, seen.then_some(shared));
        units.push(item);
        callables.into_iter().for_each(|c| scope.add_procedure(c));
    }
    let item = world.main_unit(scope, common.then_some(shared));
    units.push(item);
    Case {
        name: name.into(),
        units,
    }
}

impl World<'_> {
    pub fn entity(&mut self) -> Entity {
        self.entities += 1;
        self.entities
    }

    fn implicit(&self) -> Vec<Item> {
        match self.kind.real {
            true => Vec::new(),
            false => vec![line("IMPLICIT DOUBLE PRECISION (A-H,O-Z)")],
        }
    }

    fn var(&mut self, name: &str, shape: Shape) -> Var {
        Var {
            entity: self.entity(),
            name: name.into(),
            shape,
            assignable: true,
            common: false,
            single: false,
        }
    }

    fn unit(&mut self, scope: Scope, pure: bool) -> Unit {
        Unit {
            scope,
            pure,
            effects: Effects::default(),
            own: Vec::new(),
            own_procedures: Vec::new(),
            free_loops: Vec::new(),
            loops: Vec::new(),
            label: 0,
            calls_left: 4,
            extents: Vec::new(),
            ways: Vec::new(),
            returns: None,
            long: false,
            label_variables: vec!["LB", "LC", "LD"],
        }
    }

    fn in_common(
        &self,
        u: &mut Unit,
        out: &mut Vec<Item>,
        names: (&str, &str),
        e: (Entity, Entity),
    ) {
        let (scalar, array) = names;
        out.push(line(&format!(
            "COMMON /B{}/ {scalar}, {array}(3)",
            self.name
        )));
        for (name, entity, shape) in [(scalar, e.0, Shape::Scalar), (array, e.1, ARRAY)] {
            u.scope.add_var(Var {
                entity,
                name: name.into(),
                shape,
                assignable: true,
                common: true,
                single: false,
            });
        }
    }

    /// The same block as one array.
    fn undivided_common(&self, u: &mut Unit, out: &mut Vec<Item>, entity: Entity) {
        out.push(line(&format!("COMMON /B{}/ RR(4)", self.name)));
        u.scope.add_var(Var {
            entity,
            name: "RR".into(),
            shape: Shape::Array {
                lower: 1,
                extent: 4,
                whole: true,
            },
            assignable: true,
            common: true,
            single: false,
        });
    }

    /// The beginning of the same block.
    fn short_common(&self, u: &mut Unit, out: &mut Vec<Item>, entity: Entity) {
        out.push(line(&format!("COMMON /B{}/ R", self.name)));
        u.scope.add_var(Var {
            entity,
            name: "R".into(),
            shape: Shape::Scalar,
            assignable: true,
            common: true,
            single: false,
        });
    }

    /// Two names of one piece of storage.
    fn equivalence(&mut self, u: &mut Unit, out: &mut Vec<Item>) {
        let (with, text, shape) = match self.random.below(4) {
            0 => (
                "D",
                "E(6)",
                Shape::Array {
                    lower: 1,
                    extent: 6,
                    whole: true,
                },
            ),
            1 => ("D(2)", "E(3)", ARRAY),
            2 => ("D(5)", "E0", Shape::Scalar),
            _ if u.scope.vars.iter().any(|v| v.name == "Q") => ("Q(2)", "E0", Shape::Scalar),
            _ => ("A(2)", "E0", Shape::Scalar),
        };
        let name = text.split('(').next().unwrap_or_default();
        let other = with.split('(').next().unwrap_or_default();
        if shape != Shape::Scalar {
            out.push(line(&format!("DIMENSION {text}")));
        }
        out.push(line(&format!("EQUIVALENCE ({with}, {name})")));
        let tied = u.scope.vars.iter_mut().find(|v| v.name == other);
        if let Some(tied) = tied {
            tied.common = true;
            let entity = tied.entity;
            u.scope.add_var(Var {
                entity,
                name: name.into(),
                shape,
                assignable: true,
                common: true,
                single: false,
            });
        }
    }

    /// Variables of single precision, and their values.
    fn singles(&mut self, u: &mut Unit, names: [&str; 2], out: &mut Vec<Item>) -> Vec<Item> {
        let [scalar, array] = names;
        out.push(line(&format!("REAL*4 {scalar}, {array}(3)")));
        let mut start = Vec::new();
        for (name, shape) in [(scalar, Shape::Scalar), (array, ARRAY)] {
            let mut v = self.var(name, shape);
            v.single = true;
            u.own.push(v.entity);
            u.scope.add_var(v);
            let value = self.random.below(89) as f64 / 50.0 - 0.87;
            match shape {
                Shape::Scalar => start.push(line(&format!("{name} = {value:.4}"))),
                _ => start.extend((1..=3).map(|i| {
                    let value = value + 0.137 * f64::from(i);
                    line(&format!("{name}({i}) = {value:.4}"))
                })),
            }
        }
        start
    }

    /// The subroutine that is called, with what is nested in it.
    fn main_unit(&mut self, scope: Scope, common: Option<(Entity, Entity)>) -> Item {
        let mut out = vec![line(&format!("SUBROUTINE {}", self.name))];
        out.extend(self.implicit());
        out.extend(externals(&scope));
        out.push(line("DIMENSION A(3), B(0:2), D(6)"));
        out.extend(SCRATCH.map(line));
        let mut u = self.unit(scope, false);
        let mut start = Vec::new();
        if let Some(e) = common {
            self.in_common(&mut u, &mut out, ("P", "Q"), e);
        }
        if self.random.once_in(3) {
            out.push(line("PARAMETER (CONST = 0.75D0, LIMIT = 3)"));
        }
        for name in ["X", "Y", "Z", "W"] {
            let v = self.var(name, Shape::Scalar);
            u.scope.add_var(v);
        }
        for (name, lower, extent) in [("A", 1, 3), ("B", 0, 3), ("D", 1, 6)] {
            let whole = true;
            let shape = Shape::Array {
                lower,
                extent,
                whole,
            };
            let v = self.var(name, shape);
            u.scope.add_var(v);
        }
        for name in ["K", "L"] {
            let v = self.var(name, Shape::Integer);
            u.scope.add_var(v);
        }
        if self.random.once_in(2) {
            out.push(line("DIMENSION HM(0:2, 3)"));
            let (lower, whole) = (0, true);
            let v = self.var("HM", Shape::Matrix { lower, whole });
            u.scope.add_var(v);
        }
        if self.tied {
            self.equivalence(&mut u, &mut out);
        }
        let vars = u.scope.vars.clone();
        if self.kind.mixed {
            start = self.singles(&mut u, ["RX", "RA"], &mut out);
        }
        for v in vars {
            let value = self.random.below(89) as f64 / 50.0 - 0.87;
            match v.shape {
                Shape::Scalar => start.push(line(&format!("{} = {value:.4}D0", v.name))),
                Shape::Integer => {
                    start.push(line(&format!("{} = {}", v.name, self.random.below(3))));
                }
                Shape::Array { lower, extent, .. } => {
                    for i in lower..lower + extent {
                        let value = value + 0.117 * i as f64;
                        start.push(line(&format!("{}({i}) = {value:.4}D0", v.name)));
                    }
                }
                Shape::Matrix { lower, .. } => {
                    for (i, j) in (0..9).map(|n| (n % 3, n / 3)) {
                        let value = value + 0.113 * i as f64 - 0.077 * j as f64;
                        let i = lower + i;
                        let name = &v.name;
                        start.push(line(&format!("{name}({i}, {}) = {value:.4}D0", j + 1)));
                    }
                }
            }
        }
        start.push(line("NTHREE = 3"));
        u.free_loops = ["I1", "I2", "I3", "I4"].map(String::from).to_vec();
        if self.random.once_in(3) {
            let (item, f) = self.statement_function(&mut u);
            out.push(item);
            u.scope.add_procedure(f);
        }
        for _ in 0..self.random.below(4) + 1 {
            let (item, callables) = match self.random.once_in(6) {
                true => self.pair(&u.scope),
                false => self.nested(&u.scope, 1),
            };
            out.push(item);
            callables.into_iter().for_each(|c| u.scope.add_procedure(c));
        }
        out.extend(start);
        u.calls_left = 8;
        out.extend(self.statements(&mut u, 3, 7));
        for _ in 0..2 {
            out.extend(self.ad_block(&mut u, 2));
        }
        for chunk in u.scope.vars.chunks(4) {
            let names: Vec<&str> = chunk.iter().map(|v| &v.name[..]).collect();
            out.push(line(&format!(
                "PRINT *, '{}', {}",
                self.name,
                names.join(", ")
            )));
        }
        out.push(line("END"));
        Item::Group(out)
    }

    /// A subprogram at the top.
    fn top_level(
        &mut self,
        name: &str,
        scope: &Scope,
        common: Option<(Entity, Entity)>,
    ) -> (Item, Vec<Callable>) {
        let signature = self.signature(2, None);
        let mut scope = scope.clone();
        scope.vars.clear();
        self.subprogram(name, signature, &scope, common, 0, None)
    }

    /// Two functions in a unit that call each other.
    fn pair(&mut self, scope: &Scope) -> (Item, Vec<Callable>) {
        let mut signature = self.signature(0, Some(true));
        if !signature.params.contains(&Param::Integer) {
            signature.params.push(Param::Integer);
        }
        let names = [1, 2].map(|i| format!("F{}", self.units + i));
        self.units += 2;
        let mut items = Vec::new();
        let mut both = Vec::new();
        for (name, other) in [(&names[0], &names[1]), (&names[1], &names[0])] {
            let (item, callables) =
                self.subprogram(name, signature.clone(), scope, None, 1, Some(other));
            items.push(item);
            both.extend(callables);
        }
        let mut effects = Effects::default();
        both.iter().for_each(|c| effects.add(&c.effects));
        both.iter_mut().for_each(|c| c.effects = effects.clone());
        (Item::Group(items), both)
    }

    /// A subprogram in a unit.
    fn nested(&mut self, scope: &Scope, depth: usize) -> (Item, Vec<Callable>) {
        self.units += 1;
        // Sometimes what a procedure that is already there wants to get.
        let wanted: Vec<Signature> = scope
            .procedures
            .iter()
            .flat_map(|p| &p.signature.params)
            .filter_map(|p| match p {
                Param::Procedure(s) => Some(s.clone()),
                _ => None,
            })
            .collect();
        let signature = match wanted.is_empty() || self.random.once_in(3) {
            true => self.signature(2, None),
            false => self.random.pick(&wanted).clone(),
        };
        let letter = if signature.function { "F" } else { "S" };
        let name = format!("{letter}{}", self.units);
        self.subprogram(&name, signature, scope, None, depth, None)
    }

    fn signature(&mut self, order: usize, function: Option<bool>) -> Signature {
        let function = function.unwrap_or_else(|| self.random.below(3) > 0);
        let mut params = Vec::new();
        if order > 0 && self.random.once_in(2) {
            for _ in 0..self.random.below(2) + 1 {
                let of = if function { Some(true) } else { None };
                params.push(Param::Procedure(self.signature(order - 1, of)));
            }
        }
        for _ in 0..self.random.below(2) + 1 {
            if self.random.once_in(4) && !params.contains(&Param::Extent) {
                params.push(Param::Extent);
            }
            params.push(match self.random.below(6) {
                0 if self.random.once_in(4) => Param::Matrix(!function && self.random.once_in(2)),
                0 => Param::Array(!function && self.random.once_in(2)),
                1 => Param::Integer,
                2 | 3 if !function => Param::Out,
                _ => Param::In,
            });
        }
        Signature {
            function,
            params,
            alternate: !function && self.random.once_in(6),
        }
    }

    fn subprogram(
        &mut self,
        name: &str,
        signature: Signature,
        scope: &Scope,
        common: Option<(Entity, Entity)>,
        depth: usize,
        other: Option<&str>,
    ) -> (Item, Vec<Callable>) {
        let mut u = self.unit(scope.clone(), signature.function);
        let nested = depth > 0;
        if u.pure {
            // Variables of the surroundings can be read.
            u.scope.vars.iter_mut().for_each(|v| v.assignable = false);
        }
        let mut specs = if nested { Vec::new() } else { self.implicit() };
        if !nested {
            specs.extend(externals(scope));
        }
        let mut start = Vec::new();
        let mut names = Vec::new();
        let mut externals = Vec::new();
        let mut taken = vec![name.to_owned()];
        for (i, p) in signature.params.iter().enumerate() {
            let pool: &[&str] = match p {
                Param::In | Param::Out => &["X", "T", "U", "Y"],
                Param::Array(_) => &["A", "V", "B"],
                Param::Matrix(_) => &["HM", "HN"],
                Param::Integer => &["K", "N"],
                Param::Extent => &["NLEN", "MLEN"],
                Param::Procedure(s) if s.function => &["F", "G"],
                Param::Procedure(_) => &["S", "SUB"],
            };
            let picked = (*self.random.pick(pool)).to_owned();
            let own = match taken.contains(&picked) {
                true => format!("{picked}X{i}"),
                false => picked,
            };
            taken.push(own.clone());
            names.push(own.clone());
            let mut var = match p {
                Param::Procedure(s) => {
                    externals.push(own.clone());
                    u.own_procedures.push(own.clone());
                    u.scope.add_procedure(Callable {
                        name: own,
                        signature: s.clone(),
                        effects: Effects::default(),
                        passable: true,
                        dummy: true,
                    });
                    continue;
                }
                Param::In => self.var(&own, Shape::Scalar),
                Param::Out => self.var(&own, Shape::Scalar),
                Param::Integer => self.var(&own, Shape::Integer),
                Param::Extent => {
                    specs.push(line(&format!("INTEGER {own}")));
                    u.extents.push(own);
                    continue;
                }
                Param::Matrix(_) => {
                    let extent = u.extents.first().cloned();
                    let n = extent.unwrap_or_else(|| "3".into());
                    let (bounds, lower, whole) = match self.random.below(4) {
                        0 => ("3, *".into(), 1, false),
                        1 => (format!("0:{n}-1, {n}"), 0, true),
                        2 => (format!("{n}, *"), 1, false),
                        _ => (format!("{n}, {n}"), 1, true),
                    };
                    specs.push(line(&format!("DIMENSION {own}({bounds})")));
                    self.var(&own, Shape::Matrix { lower, whole })
                }
                Param::Array(_) => {
                    let adjustable = u.extents.first().map(|n| [n.clone(), format!("0:{n} - 1")]);
                    let (bounds, lower, whole) = match self.random.below(6) {
                        4 | 5 => match &adjustable {
                            Some([bounds, from_zero]) => match self.random.once_in(3) {
                                true => (&from_zero[..], 0, true),
                                false => (&bounds[..], 1, true),
                            },
                            None => ("3", 1, true),
                        },
                        0 => ("*", 1, false),
                        1 => ("0:2", 0, true),
                        // A bound that the surroundings have.
                        2 if nested => ("NTHREE", 1, true),
                        _ => ("3", 1, true),
                    };
                    specs.push(line(&format!("DIMENSION {own}({bounds})")));
                    let extent = 3;
                    self.var(
                        &own,
                        Shape::Array {
                            lower,
                            extent,
                            whole,
                        },
                    )
                }
            };
            var.assignable = matches!(p, Param::Out | Param::Array(true) | Param::Matrix(true));
            u.own.push(var.entity);
            u.scope.add_var(var);
        }
        if !externals.is_empty() && (!nested || self.random.once_in(2)) {
            specs.push(line(&format!("EXTERNAL {}", externals.join(", "))));
        }
        if let Some(e) = common {
            match self.random.below(3) {
                0 if self.divided => self.undivided_common(&mut u, &mut specs, e.0),
                1 if self.divided => self.short_common(&mut u, &mut specs, e.0),
                _ => self.in_common(&mut u, &mut specs, ("R", "S0"), e),
            }
            let pure = u.pure;
            let common = u.scope.vars.iter_mut().filter(|v| v.common);
            common.for_each(|v| v.assignable = !pure);
        }
        specs.extend(SCRATCH.map(line));
        // Variables of its own; some hide others.
        for pool in [["X", "T1", "T2"], ["Z", "T3", "T4"], ["E1", "E2", "W"]] {
            let own = *self.random.pick(&pool);
            if taken.iter().any(|t| t == own) {
                continue;
            }
            taken.push(own.to_owned());
            let array = own.starts_with('E') || self.random.once_in(5);
            let (shape, bounds) = if array {
                (ARRAY, "(3)")
            } else {
                (Shape::Scalar, "")
            };
            specs.push(line(&format!("{} {own}{bounds}", self.number)));
            let value = 0.1 + self.random.below(17) as f64 / 13.0;
            match array {
                false => start.push(line(&format!("{own} = {value:.4}D0"))),
                true => start.extend((1..=3).map(|i| {
                    let value = value - 0.217 * f64::from(i);
                    line(&format!("{own}({i}) = {value:.4}D0"))
                })),
            }
            let v = self.var(own, shape);
            u.own.push(v.entity);
            u.scope.add_var(v);
        }
        if self.random.once_in(4) {
            self.kept(&mut u, &mut specs);
        }
        if self.kind.mixed && self.random.once_in(2) {
            let names = *self.random.pick(&[["RX", "RB"], ["RW", "RA"]]);
            start.extend(self.singles(&mut u, names, &mut specs));
        }
        // Loop variables: its own, or implicit and so of the top, where nothing can call it
        // while it runs.
        let closed = u.scope.procedures.iter().all(|p| !p.dummy);
        let unit = self.units;
        let implicit = nested && closed && !u.pure && self.random.once_in(2);
        u.free_loops = (1..=3).map(|i| format!("J{unit}{i}")).collect();
        if !implicit {
            specs.push(line(&format!("INTEGER {}", u.free_loops.join(", "))));
        }
        if signature.alternate {
            names.push("*".into());
        }
        let header = if signature.function {
            "FUNCTION"
        } else {
            "SUBROUTINE"
        };
        let mut out = vec![line(&format!("{header} {name}({})", names.join(", ")))];
        out.extend(specs);
        // A function's result is a variable from the beginning.
        if signature.function {
            start.push(line(&format!("{name} = 0")));
        }
        if depth < 3 && self.random.once_in(3) {
            for _ in 0..self.random.below(2) + 1 {
                let (item, callables) = self.nested(&u.scope, depth + 1);
                out.push(item);
                callables.into_iter().for_each(|c| u.scope.add_procedure(c));
            }
        }
        if !nested {
            start.insert(0, line("NTHREE = 3"));
        }
        let mut entry = None;
        if !nested && !signature.function && self.random.once_in(3) {
            // The entry leaves the first statements out.
            for v in u
                .scope
                .vars
                .iter()
                .filter(|v| v.assignable && v.shape == Shape::Scalar)
            {
                if names.contains(&v.name) {
                    out.push(line(&format!("{0} = SIN({0})", v.name)));
                }
            }
            let name = format!("E{name}");
            out.push(line(&format!("ENTRY {name}({})", names.join(", "))));
            entry = Some(name);
        }
        out.extend(start);
        u.returns = Some(Returns {
            function: signature.function.then(|| name.to_owned()),
            alternate: signature.alternate,
        });
        let count = self.random.below(3) + 1;
        let body = self.statements(&mut u, 2, count);
        out.extend(body);
        if self.random.once_in(2) {
            out.extend(self.ad_block(&mut u, 1));
        }
        if nested
            && signature.params.contains(&Param::Integer)
            && (other.is_some() || self.random.once_in(3))
        {
            out.extend(self.recursion(&mut u, other.unwrap_or(name), &signature));
        }
        if signature.function {
            let value = self.value(&mut u, 2);
            out.push(line(&format!("{name} = {value}")));
        }
        if signature.alternate {
            let condition = self.condition(&mut u);
            out.push(line(&format!("IF ({condition}) RETURN 1")));
        }
        out.push(line("END"));
        let own = u.own;
        let mut effects = u.effects;
        effects.reads.retain(|e| !own.contains(e));
        effects.writes.retain(|e| !own.contains(e));
        let callable = Callable {
            name: name.into(),
            signature,
            effects,
            passable: true,
            dummy: false,
        };
        let also = entry.map(|name| Callable {
            name,
            ..callable.clone()
        });
        (
            Item::Group(out),
            [Some(callable), also].into_iter().flatten().collect(),
        )
    }

    /// Variables that keep their values; functions only read them.
    fn kept(&mut self, u: &mut Unit, specs: &mut Vec<Item>) {
        let unit = self.units;
        let (name, shape, bounds, value) = match self.random.below(2) {
            0 => (format!("SV{unit}"), Shape::Scalar, "", "0.37D0"),
            _ => (format!("SA{unit}"), ARRAY, "(3)", "2*0.41D0, -0.23D0"),
        };
        specs.push(line(&format!("{} {name}{bounds}", self.number)));
        if self.random.once_in(2) {
            specs.push(line(&format!("SAVE {name}")));
        }
        specs.push(line(&format!("DATA {name} /{value}/")));
        let mut v = self.var(&name, shape);
        v.assignable = !u.pure;
        u.scope.add_var(v);
    }

    /// A call of the unit itself, or of one that calls it, with an INTEGER argument that gets smaller.
    fn recursion(&mut self, u: &mut Unit, name: &str, signature: &Signature) -> Option<Item> {
        let at = signature.params.iter().position(|p| *p == Param::Integer)?;
        let own = u.scope.vars.iter().filter(|v| u.own.contains(&v.entity));
        let mut counters = own.filter(|v| v.shape == Shape::Integer);
        let counter = counters.next_back()?.name.clone();
        let itself = Callable {
            name: name.into(),
            signature: signature.clone(),
            effects: u.effects.clone(),
            passable: false,
            dummy: false,
        };
        let mut args = self.arguments(u, &itself, 1)?;
        for (i, p) in signature.params.iter().enumerate() {
            if *p == Param::Integer {
                args[i] = "0".into();
            }
        }
        args[at] = format!("{counter} - 1");
        let condition = format!("IF ({counter} .GT. 0)");
        let args = args.join(", ");
        if !signature.function {
            let label = u.new_label();
            let end = if signature.alternate {
                format!(", *{label}")
            } else {
                String::new()
            };
            return Some(Item::Group(vec![
                line(&format!("{condition} CALL {name}({args}{end})")),
                line(&format!("{label} CONTINUE")),
            ]));
        }
        let (_, target) = self.target(u)?;
        Some(line(&format!("{condition} {target} = {name}({args})")))
    }

    fn statement_function(&mut self, u: &mut Unit) -> (Item, Callable) {
        self.units += 1;
        let name = format!("SF{}", self.units);
        let mut inner = self.unit(u.scope.clone(), true);
        inner.scope.procedures.clear();
        let dummy = *self.random.pick(&["T", "X"]);
        let v = self.var(dummy, Shape::Scalar);
        inner.own.push(v.entity);
        inner.scope.add_var(v);
        let value = self.value(&mut inner, 2);
        let text = format!("{name}({dummy}) = {dummy}*0.5D0 + {value}");
        let mut effects = inner.effects;
        effects.reads.retain(|e| !inner.own.contains(e));
        let signature = Signature {
            function: true,
            params: vec![Param::In],
            alternate: false,
        };
        let callable = Callable {
            name,
            signature,
            effects,
            passable: false,
            dummy: false,
        };
        (line(&text), callable)
    }
}

impl Unit {
    /// A new label.
    pub fn new_label(&mut self) -> u32 {
        self.label += 10;
        self.label
    }
}

/// What is passed to a dummy procedure must be known as a procedure.
fn externals(scope: &Scope) -> Option<Item> {
    let names: Vec<&str> = scope.procedures.iter().map(|p| &p.name[..]).collect();
    (!names.is_empty()).then(|| line(&format!("EXTERNAL {}", names.join(", "))))
}

pub fn line(text: &str) -> Item {
    Item::Line(text.into())
}
