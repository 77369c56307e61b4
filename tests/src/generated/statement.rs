//! Statements.

use super::Item;
use super::scope::{Shape, Var};
use super::unit::{Unit, World, line};

impl World<'_> {
    /// A list of statements, with constructs of so many levels.
    pub fn statements(&mut self, u: &mut Unit, depth: usize, count: usize) -> Vec<Item> {
        let mut out = Vec::new();
        for _ in 0..count {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            out.extend(self.statement(u, depth));
        }
        out
    }

    /// Variables of a shape that statements may assign.
    pub fn assignable(&self, u: &Unit, wanted: impl Fn(Shape) -> bool) -> Vec<Var> {
        let vars = u.scope.vars.iter();
        vars.filter(|v| v.assignable && wanted(v.shape))
            .cloned()
            .collect()
    }

    /// A variable or element to assign.
    pub fn target(&mut self, u: &mut Unit) -> Option<(Var, String)> {
        let vars = self.assignable(u, |s| s != Shape::Integer);
        if vars.is_empty() {
            return None;
        }
        let v = self.random.pick(&vars).clone();
        let text = self.element(u, &v);
        u.effects.writes.insert(v.entity);
        Some((v, text))
    }

    fn assignment(&mut self, u: &mut Unit) -> Vec<Item> {
        let value = self.value(u, 2);
        match self.target(u) {
            Some((_, target)) => vec![line(&format!("{target} = {value}"))],
            None => Vec::new(),
        }
    }

    fn statement(&mut self, u: &mut Unit, depth: usize) -> Vec<Item> {
        let form = self.random.below(if depth == 0 { 8 } else { 20 });
        match form {
            3 => self.whole_array(u),
            4 | 5 => self.call(u).unwrap_or_else(|| self.assignment(u)),
            6 => {
                let vars = self.assignable(u, |s| s == Shape::Integer);
                if vars.is_empty() {
                    return self.assignment(u);
                }
                let v = self.random.pick(&vars);
                u.effects.reads.insert(v.entity);
                u.effects.writes.insert(v.entity);
                vec![line(&format!("{0} = MOD({0} + 1, 3)", v.name))]
            }
            7 => {
                let condition = self.condition(u);
                match self.assignment(u).pop() {
                    Some(Item::Line(s)) => vec![line(&format!("IF ({condition}) {s}"))],
                    _ => Vec::new(),
                }
            }
            8 | 9 => vec![self.branch(u, depth)],
            10 | 11 => vec![self.repeat(u, depth)],
            12 => vec![self.jump(u, depth)],
            13 => vec![self.choice(u, depth)],
            14..=16 => self.ad_block(u, depth - 1),
            17 if !u.pure => {
                let value = self.value(u, 0);
                vec![line(&format!("PRINT *, '{}', {value}", self.name))]
            }
            18 => self.complex(u),
            19 => self.letters(u),
            _ => self.assignment(u),
        }
    }

    /// A number by way of a COMPLEX variable.
    fn complex(&mut self, u: &mut Unit) -> Vec<Item> {
        let (re, im) = (self.value(u, 1), self.leaf_value(u));
        let factor = self.leaf_value(u);
        let Some((_, target)) = self.target(u) else {
            return Vec::new();
        };
        vec![Item::Group(vec![
            line(&format!("CZ = DCMPLX({re}, {im})")),
            line(&format!("CZ = CZ*DCMPLX(0.4D0, {factor}) - DCONJG(CZ)")),
            line(&format!("{target} = SIN(DBLE(CZ)) + 0.3D0*ATAN(DIMAG(CZ))")),
        ])]
    }

    /// A choice by way of a CHARACTER variable.
    fn letters(&mut self, u: &mut Unit) -> Vec<Item> {
        let (condition, value) = (self.condition(u), self.value(u, 1));
        let Some((_, target)) = self.target(u) else {
            return Vec::new();
        };
        vec![Item::Group(vec![
            line("CH = 'AB'"),
            line(&format!("IF ({condition}) CH = CH(2:2)//'A'")),
            line(&format!("IF (CH .GT. 'B') {target} = {value}")),
        ])]
    }

    fn whole_array(&mut self, u: &mut Unit) -> Vec<Item> {
        let whole = |s| {
            matches!(
                s,
                Shape::Array {
                    whole: true,
                    extent: 3,
                    ..
                }
            )
        };
        let targets = self.assignable(u, whole);
        if targets.is_empty() {
            return self.assignment(u);
        }
        let target = self.random.pick(&targets).clone();
        let sources: Vec<Var> = u
            .scope
            .vars
            .iter()
            .filter(|v| whole(v.shape))
            .cloned()
            .collect();
        let source = self.random.pick(&sources).clone();
        let factor = self.leaf_value(u);
        u.effects.reads.insert(source.entity);
        u.effects.writes.insert(target.entity);
        let text = match self.random.below(3) {
            0 => format!("{} = SIN({factor})", target.name),
            1 => format!("{} = SIN({factor}*{})", target.name, source.name),
            _ => format!(
                "{} = 0.3D0*{} - 0.6D0*COS({})",
                target.name, target.name, source.name
            ),
        };
        vec![line(&text)]
    }

    fn leaf_value(&mut self, u: &mut Unit) -> String {
        self.value(u, 0)
    }

    fn call(&mut self, u: &mut Unit) -> Option<Vec<Item>> {
        let callee = self.callable(u, false)?;
        let mut args = self.arguments(u, &callee, 2)?;
        let label = callee.signature.alternate.then(|| u.new_label());
        args.extend(label.map(|l| format!("*{l}")));
        let mut out = vec![line(&format!("CALL {}({})", callee.name, args.join(", ")))];
        if let Some(label) = label {
            // What the alternate return leaves out.
            out.extend(self.assignment(u));
            out.push(line(&format!("{label} CONTINUE")));
        }
        Some(vec![Item::Group(out)])
    }

    fn branch(&mut self, u: &mut Unit, depth: usize) -> Item {
        let condition = self.condition(u);
        let mut out = vec![line(&format!("IF ({condition}) THEN"))];
        out.extend(self.statements(u, depth - 1, 2));
        if self.random.once_in(3) {
            let condition = self.condition(u);
            out.push(line(&format!("ELSE IF ({condition}) THEN")));
            out.extend(self.statements(u, depth - 1, 1));
        }
        if self.random.once_in(2) {
            out.push(line("ELSE"));
            out.extend(self.statements(u, depth - 1, 2));
        }
        out.push(line("END IF"));
        Item::Group(out)
    }

    fn repeat(&mut self, u: &mut Unit, depth: usize) -> Item {
        let Some(var) = u.free_loops.pop() else {
            return Item::Group(self.assignment(u));
        };
        let range = *self
            .random
            .pick(&["1, 3", "1, 2", "3, 1, -1", "1, 3, 2", "2, 3"]);
        let form = self.random.below(5);
        let label = u.new_label();
        let mut out = Vec::new();
        match form {
            // Loops made of GOTO.
            3 | 4 => {
                out.push(line(&format!("{var} = 1")));
                out.push(line(&format!("{label} CONTINUE")));
            }
            0 => out.push(line(&format!("DO {label} {var} = {range}"))),
            1 => out.push(line(&format!("DO {var} = {range}"))),
            _ => {
                out.push(line(&format!("{var} = 1")));
                out.push(line(&format!("DO WHILE ({var} .LT. 3)")));
            }
        }
        u.loops.push(var.clone());
        let count = self.random.below(2) + 1;
        out.extend(self.statements(u, depth - 1, count));
        let again = (form == 4).then(|| self.condition(u));
        u.loops.pop();
        match form {
            3 | 4 => {
                out.push(line(&format!("{var} = {var} + 1")));
                // One of two ways out.
                if let Some(condition) = again {
                    let end = u.new_label();
                    out.push(line(&format!("IF ({condition}) GOTO {end}")));
                    out.extend(self.assignment(u));
                    out.push(line(&format!("IF ({var} .LT. 3) GOTO {label}")));
                    out.push(line(&format!("{end} CONTINUE")));
                } else {
                    out.push(line(&format!("IF ({var} .LT. 4) GOTO {label}")));
                }
            }
            0 => out.push(line(&format!("{label} CONTINUE"))),
            1 => out.push(line("END DO")),
            _ => {
                out.push(line(&format!("{var} = {var} + 1")));
                out.push(line("END DO"));
            }
        }
        u.free_loops.push(var);
        Item::Group(out)
    }

    fn jump(&mut self, u: &mut Unit, depth: usize) -> Item {
        let (a, b, end) = (u.new_label(), u.new_label(), u.new_label());
        let mut out = Vec::new();
        let integers: Vec<Var> = u
            .scope
            .vars
            .iter()
            .filter(|v| v.shape == Shape::Integer)
            .cloned()
            .collect();
        if integers.is_empty() || self.random.once_in(2) {
            let condition = self.condition(u);
            out.push(line(&format!("IF ({condition}) GOTO {end}")));
            out.extend(self.statements(u, depth - 1, 2));
            out.push(line(&format!("{end} CONTINUE")));
            return Item::Group(out);
        }
        let v = self.random.pick(&integers).clone();
        u.effects.reads.insert(v.entity);
        out.push(line(&match self.random.below(2) {
            0 => format!("GOTO ({a}, {b}, {end}), {}", v.name),
            _ => format!("IF ({} - 1) {a}, {b}, {end}", v.name),
        }));
        out.push(line(&format!("{a} CONTINUE")));
        out.extend(self.statements(u, depth - 1, 1));
        out.push(line(&format!("GOTO {end}")));
        out.push(line(&format!("{b} CONTINUE")));
        out.extend(self.statements(u, depth - 1, 1));
        out.push(line(&format!("{end} CONTINUE")));
        Item::Group(out)
    }

    fn choice(&mut self, u: &mut Unit, depth: usize) -> Item {
        let selector = match u.loops.first() {
            Some(l) => l.clone(),
            None => match u.scope.vars.iter().find(|v| v.shape == Shape::Integer) {
                Some(v) => {
                    u.effects.reads.insert(v.entity);
                    v.name.clone()
                }
                None => "2".into(),
            },
        };
        let mut out = vec![
            line(&format!("SELECT CASE ({selector})")),
            line("CASE (:1)"),
        ];
        out.extend(self.statements(u, depth - 1, 1));
        out.push(line("CASE (2)"));
        out.extend(self.statements(u, depth - 1, 1));
        if self.random.once_in(2) {
            out.push(line("CASE DEFAULT"));
            out.extend(self.statements(u, depth - 1, 1));
        }
        out.push(line("END SELECT"));
        Item::Group(out)
    }
}
