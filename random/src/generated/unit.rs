//! Generates programs: what their units share, and the subroutine that is called.

use super::scope::{Effects, Entity, Scope, Shape, Var};
use super::{Case, Item, Kind, Random};

/// The data that all units of a case share.
pub struct CaseBuilder<'r> {
    pub random: &'r mut Random,
    pub kind: Kind,
    /// The name of the case.
    pub name: String,
    /// The number of entities.
    pub entities: Entity,
    /// The number of subprograms.
    pub units: usize,
    /// The number of statements left.
    pub budget: usize,
    /// The type of a number, as in declarations.
    pub number: &'static str,
    /// A variable and an array in COMMON that BLOCK DATA sets.
    pub data: Option<(Entity, Entity)>,
    /// A COMPLEX and an INTEGER in COMMON, together with a LOGICAL.
    pub assorted: Option<(Entity, Entity)>,
    /// Whether other units divide the COMMON block differently.
    pub divided: bool,
    /// Whether EQUIVALENCE ties variables of the subroutine that is called.
    pub tied: bool,
}

/// A unit that is being generated.
pub struct Unit {
    pub scope: Scope,
    /// Whether it assigns only its own variables.
    pub pure: bool,
    pub effects: Effects,
    /// The entities that callers do not see.
    pub own: Vec<Entity>,
    /// Its dummy procedures.
    pub own_procedures: Vec<String>,
    /// The loop variables that are not in use; `loops` holds those in use.
    pub free_loops: Vec<String>,
    pub loops: Vec<String>,
    pub label: u32,
    pub calls_left: usize,
    /// The dummy arguments whose value is three.
    pub extents: Vec<String>,
    /// The names of numbers from 1 to 3 by which columns of matrices are chosen.
    pub levels: Vec<String>,
    /// The one of `extents` that it may assign for a while, as arrays keep their bounds.
    pub changing: Option<String>,
    /// How the enclosing loops can be left, innermost last.
    pub loop_exits: Vec<LoopExit>,
    /// What RETURN requires before it, if it is allowed.
    pub returns: Option<Returns>,
    /// Whether the current statement is in a loop with many iterations.
    pub long: bool,
    /// Whether it is in a block.
    pub block: bool,
    /// The variables for ASSIGN that are not in use.
    pub label_variables: Vec<&'static str>,
    /// A LOGICAL that statements may assign.
    pub switch: Option<String>,
    /// The dummy arguments of type CHARACTER that statements may assign.
    pub texts: Vec<String>,
}

/// The ways to leave a loop.
#[derive(Clone, Default)]
pub struct LoopExit {
    /// Whether EXIT leaves it; `cycle` says the same for CYCLE.
    pub exit: bool,
    pub cycle: bool,
    /// The name by which these also leave it from inner loops.
    pub name: Option<String>,
    /// The label of a jump that leaves it; `used` says whether there is one.
    pub label: u32,
    pub used: bool,
}

/// What a unit requires for RETURN.
#[derive(Clone)]
pub struct Returns {
    /// The function, which must have a value.
    pub function: Option<String>,
    pub alternate: usize,
}

/// The declarations in every unit for statements that briefly need a variable of another type.
pub const SCRATCH: [&str; 4] = [
    "COMPLEX*16 CZ, CY",
    "CHARACTER CH*2, CW*5",
    "INTEGER LB, LC, LD",
    "LOGICAL LO",
];

pub const ARRAY: Shape = Shape::Array {
    lower: 1,
    extent: 3,
    whole: true,
};

pub fn case(random: &mut Random, name: &str, kind: Kind) -> Case {
    let budget = 10 + random.below(50);
    let mut world = CaseBuilder {
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
        data: None,
        assorted: None,
        divided: false,
        tied: false,
    };
    world.tied = world.random.once_in(4);
    let mut units = Vec::new();
    let mut scope = Scope::default();
    // A variable and an array in COMMON, for which each unit has names of its own.
    let common = world.random.once_in(2);
    let (first, second) = (world.entity(), world.entity());
    world.divided = common && world.random.once_in(3);
    let shared = (first, if world.divided { first } else { second });
    if common && world.random.once_in(3) {
        world.assorted = Some((world.entity(), world.entity()));
    }
    if world.random.once_in(4) {
        world.data = Some((world.entity(), world.entity()));
        units.push(world.block_data());
    }
    let count = match kind.flat {
        true => 1 + world.random.below(4),
        false => world.random.below(3),
    };
    for i in 0..count {
        let name = format!("{}{name}", ["G", "H", "U", "V"][i]);
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

impl CaseBuilder<'_> {
    pub fn entity(&mut self) -> Entity {
        self.entities += 1;
        self.entities
    }

    pub fn implicit(&self) -> Vec<Item> {
        match self.kind.real {
            true => Vec::new(),
            false => vec![line("IMPLICIT DOUBLE PRECISION (A-H,O-Z)")],
        }
    }

    pub fn var(&mut self, name: &str, shape: Shape) -> Var {
        Var {
            entity: self.entity(),
            name: name.into(),
            shape,
            assignable: true,
            common: false,
            single: false,
        }
    }

    pub fn unit(&mut self, scope: Scope, pure: bool) -> Unit {
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
            levels: Vec::new(),
            changing: None,
            loop_exits: Vec::new(),
            returns: None,
            long: false,
            block: false,
            label_variables: vec!["LB", "LC", "LD"],
            switch: None,
            texts: Vec::new(),
        }
    }

    pub fn in_common(
        &self,
        u: &mut Unit,
        out: &mut Vec<Item>,
        names: (&str, &str),
        e: (Entity, Entity),
        counter: Option<&str>,
    ) {
        let (scalar, array) = names;
        let last = counter.map_or_else(String::new, |c| format!(", {c}"));
        out.push(line(&format!(
            "COMMON /B{}/ {scalar}, {array}(3){last}",
            self.name
        )));
        for (name, entity, shape) in [(scalar, e.0, Shape::Scalar), (array, e.1, ARRAY)] {
            u.scope.add_var(Var::shared(name, entity, shape));
        }
    }

    /// Declares only the scalar or only the array of the same block.
    pub fn in_common_partly(
        &self,
        u: &mut Unit,
        out: &mut Vec<Item>,
        scalar: bool,
        entity: Entity,
        counter: Option<&str>,
    ) {
        let (members, name, shape) = match scalar {
            true => ("R, UNUSED(2), UNUSD2", "R", Shape::Scalar),
            false => ("UNUSED(1), S0(3)", "S0", ARRAY),
        };
        let last = counter.map_or_else(String::new, |c| format!(", {c}"));
        out.push(line(&format!("COMMON /B{}/ {members}{last}", self.name)));
        u.scope.add_var(Var::shared(name, entity, shape));
    }

    fn block_data(&mut self) -> Item {
        let name = &self.name;
        let number = self.number;
        let mut out = vec![
            line(&format!("BLOCK DATA I{name}")),
            line(&format!("{number} DA, DB(3)")),
            line(&format!("COMMON /D{name}/ DA, DB")),
        ];
        out.push(line(match self.random.below(3) {
            0 => "DATA DA, DB /0.61D0, 3*-0.47D0/",
            1 => "DATA DA /0.61D0/, (DB(I), I = 1, 3) /0.3D0, 2*0.5D0/",
            _ => "DATA (DB(I), I = 3, 1, -1), DA /2*0.3D0, 0.7D0, -0.2D0/",
        }));
        out.push(line("END"));
        Item::Group(out)
    }

    /// Declares the block that BLOCK DATA sets.
    pub fn in_data(
        &mut self,
        u: &mut Unit,
        out: &mut Vec<Item>,
        names: (&str, &str),
        e: (Entity, Entity),
    ) {
        let (scalar, array) = names;
        let (number, block) = (self.number, &self.name);
        out.push(line(&format!("{number} {scalar}, {array}(3)")));
        out.push(line(&format!("COMMON /D{block}/ {scalar}, {array}")));
        if self.random.once_in(3) {
            out.push(line(&format!("SAVE /D{block}/")));
        }
        for (name, entity, shape) in [(scalar, e.0, Shape::Scalar), (array, e.1, ARRAY)] {
            u.scope.add_var(Var::shared(name, entity, shape));
        }
    }

    /// Declares the block with several types.
    pub fn in_assorted(&mut self, u: &mut Unit, out: &mut Vec<Item>, names: [&str; 3]) {
        let Some((number, integer)) = self.assorted else {
            return;
        };
        let [c, k, l] = names;
        out.push(line(&format!("COMPLEX*16 {c}")));
        out.push(line(&format!("LOGICAL {l}")));
        out.push(line(&format!("COMMON /Z{}/ {c}, {k}, {l}", self.name)));
        let vars = [(c, number, Shape::Complex), (k, integer, Shape::Integer)];
        for (name, entity, shape) in vars {
            u.scope.add_var(Var::shared(name, entity, shape));
        }
        u.scope.flags.push(l.into());
        u.switch = (!u.pure).then(|| l.into());
    }

    /// Declares the same block as one array.
    pub fn undivided_common(&self, u: &mut Unit, out: &mut Vec<Item>, entity: Entity) {
        out.push(line(&format!("COMMON /B{}/ RR(4)", self.name)));
        u.scope.add_var(Var::shared(
            "RR",
            entity,
            Shape::Array {
                lower: 1,
                extent: 4,
                whole: true,
            },
        ));
    }

    /// Declares the beginning of the same block.
    pub fn short_common(&self, u: &mut Unit, out: &mut Vec<Item>, entity: Entity) {
        out.push(line(&format!("COMMON /B{}/ R", self.name)));
        u.scope.add_var(Var::shared("R", entity, Shape::Scalar));
    }

    /// Adds two names for the same storage.
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
            u.scope.add_var(Var::shared(name, entity, shape));
        }
    }

    /// Adds single-precision variables, and returns the statements that set them.
    pub fn singles(&mut self, u: &mut Unit, names: [&str; 2], out: &mut Vec<Item>) -> Vec<Item> {
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

    /// Generates the subroutine that is called, with everything nested in it.
    fn main_unit(&mut self, scope: Scope, common: Option<(Entity, Entity)>) -> Item {
        let flat = self.kind.flat;
        let mut out = vec![line(&match flat {
            true => format!("SUBROUTINE H{}X(XI, YO)", self.name),
            false => format!("SUBROUTINE {}", self.name),
        })];
        out.extend(self.implicit());
        out.extend(externals(&scope));
        out.push(line("DIMENSION A(3), B(0:2), D(6)"));
        out.extend(SCRATCH.map(line));
        let mut u = self.unit(scope, false);
        if flat {
            out.push(line("DIMENSION XI(3), YO(6)"));
            let mut v = self.var("XI", ARRAY);
            v.assignable = false;
            u.own.push(v.entity);
            u.scope.add_var(v);
        }
        let mut start = Vec::new();
        if let Some(e) = common {
            // The counter of a loop may be in the block, too. The other units that have it do not use it.
            let counter = self.random.once_in(3).then_some("I1");
            self.in_common(&mut u, &mut out, ("P", "Q"), e, counter);
        }
        if self.assorted.is_some() {
            self.in_assorted(&mut u, &mut out, ["CM", "KM", "LM"]);
            start.push(line("LM = .TRUE."));
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
        if let Some(e) = self.data {
            self.in_data(&mut u, &mut out, ("DA", "DB"), e);
        }
        if self.kind.mixed {
            start.extend(self.singles(&mut u, ["RX", "RA"], &mut out));
        }
        for (i, v) in vars.into_iter().filter(|v| v.name != "XI").enumerate() {
            let more = match flat {
                true => format!(" + 0.7D0*XI({})", i % 3 + 1),
                false => String::new(),
            };
            let value = self.random.below(89) as f64 / 50.0 - 0.87;
            match v.shape {
                Shape::Scalar => start.push(line(&format!("{} = {value:.4}D0{more}", v.name))),
                Shape::Integer => {
                    start.push(line(&format!("{} = {}", v.name, self.random.below(3))));
                }
                Shape::Complex => {
                    let name = &v.name;
                    start.push(line(&format!("{name} = DCMPLX({value:.4}D0{more}, 0.4D0)")));
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
        start.push(line("CW = 'ABCDE'"));
        u.free_loops = ["I1", "I2", "I3", "I4"].map(String::from).to_vec();
        if self.random.once_in(3) {
            let (item, f) = self.statement_function(&mut u);
            out.push(item);
            u.scope.add_procedure(f);
        }
        let nested = match flat {
            true => 0,
            false => self.random.below(4) + 1,
        };
        for _ in 0..nested {
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
        if flat {
            let in_common = |v: &&Var| v.common && v.shape.is_number();
            let p = match u.scope.vars.iter().find(in_common) {
                Some(v) => {
                    let v = v.clone();
                    self.element(&mut u, &v)
                }
                None => "W".into(),
            };
            let values = ["X", "Y*Z", "A(1)*A(2) + A(3)", "B(0) + B(1) + B(2)"];
            for (i, value) in values.iter().enumerate() {
                out.push(line(&format!("YO({}) = {value}", i + 1)));
            }
            out.push(line("YO(5) = D(1) + D(2)*D(6) - D(4)"));
            let c = u.scope.vars.iter().find(|v| v.shape == Shape::Complex);
            let c = c.map(|v| format!(" + DBLE({0}) - 2*DIMAG({0})", v.name));
            let c = c.unwrap_or_default();
            out.push(line(&format!("YO(6) = W + {p}{c}")));
            out.push(line("END"));
            return Item::Group(out);
        }
        for chunk in u.scope.vars.chunks(4) {
            let text = |v: &Var| match v.shape {
                Shape::Complex => format!("DBLE({0}), DIMAG({0})", v.name),
                _ => v.name.clone(),
            };
            let names: Vec<String> = chunk.iter().map(text).collect();
            out.push(line(&format!(
                "PRINT *, '{}', {}",
                self.name,
                names.join(", ")
            )));
        }
        out.push(line("END"));
        Item::Group(out)
    }
}

impl Unit {
    /// Returns a new label.
    pub fn new_label(&mut self) -> u32 {
        self.label += 10;
        self.label
    }
}

/// Declares the procedures EXTERNAL, so that they can be passed to a dummy procedure.
pub fn externals(scope: &Scope) -> Option<Item> {
    let names: Vec<&str> = scope.procedures.iter().map(|p| &p.name[..]).collect();
    (!names.is_empty()).then(|| line(&format!("EXTERNAL {}", names.join(", "))))
}

pub fn line(text: &str) -> Item {
    Item::Line(text.into())
}
