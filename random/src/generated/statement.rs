//! Generates statements.

use super::Item;
use super::expression::integers;
use super::scope::{Shape, Var};
use super::unit::{CaseBuilder, LoopExit, Returns, Unit, line};

impl CaseBuilder<'_> {
    /// Returns a list of statements, with constructs nested to a depth.
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

    /// Returns the variables of a shape that statements may assign.
    pub fn assignable(&self, u: &Unit, wanted: impl Fn(Shape) -> bool) -> Vec<Var> {
        let vars = u.scope.vars.iter();
        vars.filter(|v| v.assignable && wanted(v.shape))
            .cloned()
            .collect()
    }

    /// Returns a variable or element to assign.
    pub fn target(&mut self, u: &mut Unit) -> Option<(Var, String)> {
        let vars = self.assignable(u, Shape::is_number);
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
        let form = match depth {
            // In loops, more statements that leave them; in blocks, more calls and loops.
            _ if !u.loop_exits.is_empty() && self.random.once_in(4) => 20,
            _ if u.block && self.random.once_in(3) => 4,
            0 => *self
                .random
                .pick(&[0, 1, 3, 4, 5, 6, 7, 20, 21, 24, 25, 26, 28]),
            _ if u.changing.is_some() && self.random.once_in(3) => 29,
            _ if u.block && self.random.once_in(4) => 10,
            _ => self.random.below(29),
        };
        match form {
            3 => self.whole_array(u),
            4 | 5 => self.call(u).unwrap_or_else(|| self.assignment(u)),
            6 => {
                let vars = self.assignable(u, |s| s == Shape::Integer);
                if vars.is_empty() {
                    return self.assignment(u);
                }
                let v = self.random.pick(&vars).clone();
                u.effects.reads.insert(v.entity);
                u.effects.writes.insert(v.entity);
                if self.random.once_in(3) {
                    let value = self.value(u, 1);
                    return vec![line(&format!("{} = NINT(ABS(1.9D0*SIN({value})))", v.name))];
                }
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
            17 if !u.pure && !self.kind.flat => {
                let value = self.value(u, 0);
                vec![line(&format!("PRINT *, '{}', {value}", self.name))]
            }
            18 => self.complex(u),
            19 => self.letters(u),
            20 => self.leave(u),
            21 | 22 => self.sweep(u),
            23 => self.switch(u, depth),
            24 => self.rough(u),
            25 | 26 => self.parts(u),
            27 | 28 => self.masked(u),
            29 => self.other_extent(u, depth),
            _ => self.assignment(u),
        }
    }

    /// Computes a number by means of a COMPLEX variable.
    fn complex(&mut self, u: &mut Unit) -> Vec<Item> {
        let targets = self.assignable(u, |s| s == Shape::Complex);
        if !targets.is_empty() && self.random.once_in(2) {
            let v = self.random.pick(&targets).clone();
            u.effects.reads.insert(v.entity);
            let (re, im) = (self.value(u, 1), self.leaf_value(u));
            u.effects.writes.insert(v.entity);
            let name = v.name;
            return vec![line(&match self.random.below(3) {
                0 => format!("{name} = DCMPLX(SIN({re}), {im})"),
                1 => format!("{name} = {name}*(0.2D0, 0.3D0)*SIN({re}) - 0.3D0*DCONJG({name})"),
                _ => format!("{name} = 0.5D0*{name} + SIN({re})"),
            })];
        }
        let (re, im) = (self.value(u, 1), self.leaf_value(u));
        let factor = self.leaf_value(u);
        let Some((_, target)) = self.target(u) else {
            return Vec::new();
        };
        vec![Item::Group(vec![
            line(&format!("CZ = DCMPLX({re}, {im})")),
            line(&match self.random.below(5) {
                0 => format!("CZ = CZ/DCMPLX(2.3D0, {factor})"),
                1 => "CZ = CZ**2*(0.2D0, 0.1D0) + 0.3D0".into(),
                2 => format!("CZ = EXP(0.3D0*CZ)*{factor}"),
                _ => format!("CZ = CZ*DCMPLX(0.4D0, {factor}) - DCONJG(CZ)"),
            }),
            line(&match self.random.below(3) {
                0 => format!("{target} = SIN(ABS(CZ + (1.7D0, 0.3D0)))"),
                _ => format!("{target} = SIN(DBLE(CZ)) + 0.3D0*ATAN(DIMAG(CZ))"),
            }),
        ])]
    }

    /// Makes a decision by means of a CHARACTER variable.
    fn letters(&mut self, u: &mut Unit) -> Vec<Item> {
        if let Some(switch) = u.switch.clone()
            && self.random.once_in(2)
        {
            let condition = self.condition(u);
            return vec![line(&format!("{switch} = {condition}"))];
        }
        if self.random.once_in(2) {
            return self.kept_text(u);
        }
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

    /// Changes a text that is kept between statements, or makes the value of something else depend
    /// on it.
    fn kept_text(&mut self, u: &mut Unit) -> Vec<Item> {
        let dummy = match u.texts.is_empty() {
            true => None,
            false => Some(self.random.pick(&u.texts).clone()),
        };
        let dummy = dummy.filter(|_| self.random.once_in(2));
        if self.random.once_in(2) {
            let changed = match &dummy {
                Some(t) => {
                    let values = ["CW(#:#)", "CHAR(65+MOD(ICHAR(@(1:1)),5))", "'C'"];
                    let value = self.text(u, &values).replace('@', t);
                    format!("{t}(1:1) = {value}")
                }
                None => self.text(
                    u,
                    &[
                        "CW = CW(2:)//CW(1:1)",
                        "CW(#:#+1) = 'BD'",
                        "CW(#:) = 'AE'//CW(3:)",
                        "CW(#:#) = CHAR(65+#)",
                        "CW = 'CAB'",
                    ],
                ),
            };
            let condition = self.random.once_in(3).then(|| self.condition(u));
            let only = condition.map(|c| format!("IF ({c}) ")).unwrap_or_default();
            return vec![line(&format!("{only}{changed}"))];
        }
        let letter = match dummy {
            Some(t) => format!("{t}(1:1)"),
            None => self.text(u, &["CW(#:#)"]),
        };
        let value = self.value(u, 1);
        let Some((_, target)) = self.target(u) else {
            return Vec::new();
        };
        vec![line(&match self.random.once_in(3) {
            true => format!("IF ({letter} .GT. 'B') {target} = {value}"),
            false => format!("{target} = SIN({value})*(ICHAR({letter})-67)*0.4D0"),
        })]
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

    /// Returns statements during which the number that bounds depend on has another value.
    fn other_extent(&mut self, u: &mut Unit, depth: usize) -> Vec<Item> {
        let Some(name) = u.changing.take() else {
            return self.assignment(u);
        };
        let extents = std::mem::take(&mut u.extents);
        // It must be three again wherever the statements end.
        let outside = (std::mem::take(&mut u.loop_exits), u.returns.take());
        let mut out = vec![line(&match self.random.below(3) {
            0 => format!("{name} = {name} - 1"),
            1 => format!("{name} = 2*{name}"),
            _ => format!("{name} = {}", self.random.below(9)),
        })];
        let count = self.random.below(2) + 1;
        out.extend(self.whole_array(u));
        out.extend(self.statements(u, depth - 1, count));
        out.push(line(&format!("{name} = 3")));
        (u.loop_exits, u.returns) = outside;
        u.extents = extents;
        u.changing = Some(name);
        vec![Item::Group(out)]
    }

    fn leaf_value(&mut self, u: &mut Unit) -> String {
        self.value(u, 0)
    }

    fn call(&mut self, u: &mut Unit) -> Option<Vec<Item>> {
        let callee = self.callable(u, false)?;
        let mut args = self.arguments(u, &callee, 2)?;
        let labels = callee.signature.alternate;
        let labels: Vec<u32> = (0..labels).map(|_| u.new_label()).collect();
        args.extend(labels.iter().map(|l| format!("*{l}")));
        let mut out = vec![line(&format!("CALL {}({})", callee.name, args.join(", ")))];
        for label in labels {
            // The statements that the alternate return skips.
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
        let form = match u.block && self.random.once_in(2) {
            true => self.random.below(3),
            false => self.random.below(7),
        };
        let long = form == 1 && !u.long && u.loops.is_empty() && self.random.once_in(3);
        let range = match long {
            true => format!("1, {}", self.random.below(6) + 4),
            false => self.rounds(u),
        };
        let label = u.new_label();
        let mut out = Vec::new();
        // Directives about the adjoint require loops that are only left at their end.
        let mut name = None;
        let marked = form < 2 && self.kind.gradients && self.random.once_in(6);
        let outside = (std::mem::take(&mut u.loop_exits), u.returns.take());
        if marked {
            let states = self.random.below(3) + 1;
            out.push(line(&format!("!farfel: checkpoint({states})")));
        } else {
            (u.loop_exits, u.returns) = outside.clone();
            let leave = u.new_label();
            name = (form == 1 && self.random.once_in(2)).then(|| format!("NM{label}"));
            u.loop_exits.push(LoopExit {
                exit: form < 3,
                cycle: form < 2,
                name: name.clone(),
                label: leave,
                used: false,
            });
        }
        let entry = (form == 5).then(|| (self.condition(u), u.new_label()));
        match form {
            // Loops made of GOTO.
            3..=5 => {
                out.push(line(&format!("{var} = 1")));
                // A second entry into the loop.
                if let Some((condition, label)) = &entry {
                    out.push(line(&format!("IF ({condition}) GOTO {label}")));
                }
                out.push(line(&format!("{label} CONTINUE")));
            }
            0 => out.push(line(&format!("DO {label} {var} = {range}"))),
            1 => {
                let colon = name.as_ref().map(|n| format!("{n}: ")).unwrap_or_default();
                out.push(line(&format!("{colon}DO {var} = {range}")));
            }
            _ => {
                out.push(line(&format!("{var} = 1")));
                out.push(line(&format!("DO WHILE ({var} .LT. 3)")));
            }
        }
        let was_long = u.long;
        u.long |= long;
        if !long {
            u.loops.push(var.clone());
        }
        let count = self.random.below(2) + 1;
        out.extend(self.statements(u, depth - 1, count));
        if u.loop_exits.last().is_some_and(|w| w.exit) && self.random.once_in(2) {
            out.extend(self.leave(u));
            out.extend(self.statements(u, depth - 1, 1));
        }
        if let Some((_, label)) = &entry {
            out.push(line(&format!("{label} CONTINUE")));
            out.extend(self.statements(u, depth - 1, count));
        }
        let again = (form == 4).then(|| self.condition(u));
        if !long {
            u.loops.pop();
        }
        u.long = was_long;
        match form {
            3..=5 => {
                out.push(line(&format!("{var} = {var} + 1")));
                // One of two exits.
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
            1 => {
                let name = name.map(|n| format!(" {n}")).unwrap_or_default();
                out.push(line(&format!("END DO{name}")));
            }
            _ => {
                out.push(line(&format!("{var} = {var} + 1")));
                out.push(line("END DO"));
            }
        }
        u.free_loops.push(var);
        if marked {
            (u.loop_exits, u.returns) = outside;
        } else if let Some(way) = u.loop_exits.pop()
            && way.used
        {
            out.push(line(&format!("{} CONTINUE", way.label)));
        }
        Item::Group(out)
    }

    /// Returns the first, the last and the step of a loop over subscripts from 1 to 3.
    fn rounds(&mut self, u: &mut Unit) -> String {
        let fixed = ["1, 3", "1, 2", "3, 1, -1", "1, 3, 2", "2, 3", "2, 1"];
        let outer = u.loops.last().cloned();
        let integers = integers(u);
        match (self.random.below(10), outer, u.extents.first()) {
            (0, Some(i), _) => format!("1, {i}"),
            (1, Some(i), _) => format!("{i}, 3"),
            (2, Some(i), _) => format!("3, {i}, -1"),
            (3, _, Some(n)) => format!("1, {n}"),
            (4, _, Some(n)) => format!("{n}, 1, -1"),
            (5, ..) if !integers.is_empty() => {
                let v = self.random.pick(&integers);
                u.effects.reads.insert(v.entity);
                format!("1, MOD({}, 4)", v.name)
            }
            _ => (*self.random.pick(&fixed)).into(),
        }
    }

    /// Leaves a loop, or the unit.
    fn leave(&mut self, u: &mut Unit) -> Vec<Item> {
        let condition = self.condition(u);
        let innermost = u.loop_exits.last().cloned().unwrap_or_default();
        let far = self.random.below(u.loop_exits.len());
        let named = u.loop_exits.get(far).and_then(|w| w.name.clone());
        match (self.random.below(6), named) {
            (0 | 1, Some(name)) => {
                let word = self.random.pick(&["EXIT", "CYCLE"]);
                vec![line(&format!("IF ({condition}) {word} {name}"))]
            }
            (0 | 2, _) if innermost.exit => vec![line(&format!("IF ({condition}) EXIT"))],
            (1 | 3, _) if innermost.cycle => vec![line(&format!("IF ({condition}) CYCLE"))],
            (2..5, _) if far < u.loop_exits.len() => {
                let way = &mut u.loop_exits[far];
                way.used = true;
                vec![line(&format!("IF ({condition}) GOTO {}", way.label))]
            }
            _ => match u.returns.clone() {
                None => self.assignment(u),
                Some(Returns {
                    function: Some(name),
                    ..
                }) => {
                    let value = self.value(u, 1);
                    vec![Item::Group(vec![
                        line(&format!("IF ({condition}) THEN")),
                        line(&format!("{name} = {value}")),
                        line("RETURN"),
                        line("END IF"),
                    ])]
                }
                Some(r) => {
                    let which = match self.random.below(r.alternate + 1) {
                        0 => String::new(),
                        n => format!(" {n}"),
                    };
                    vec![line(&format!("IF ({condition}) RETURN{which}"))]
                }
            },
        }
    }

    /// Makes a decision that takes effect later.
    fn switch(&mut self, u: &mut Unit, depth: usize) -> Vec<Item> {
        let condition = self.condition(u);
        let mut out = Vec::new();
        // A block and its surroundings use different variables.
        let variable = match self.random.once_in(2) {
            true => u.label_variables.pop(),
            false => None,
        };
        let Some(variable) = variable else {
            out.push(line(&format!("LO = {condition}")));
            out.extend(self.statements(u, depth - 1, 1));
            out.push(line("IF (LO) THEN"));
            out.extend(self.statements(u, depth - 1, 1));
            out.push(line("END IF"));
            return vec![Item::Group(out)];
        };
        let (a, b, end) = (u.new_label(), u.new_label(), u.new_label());
        out.push(line(&format!("ASSIGN {a} TO {variable}")));
        out.push(line(&format!("IF ({condition}) ASSIGN {b} TO {variable}")));
        out.push(line(&format!("GOTO {variable}, ({a}, {b})")));
        out.push(line(&format!("{a} CONTINUE")));
        out.extend(self.statements(u, depth - 1, 1));
        if self.random.once_in(2) {
            out.push(line(&format!("GOTO {end}")));
        }
        out.push(line(&format!("{b} CONTINUE")));
        out.extend(self.statements(u, depth - 1, 1));
        out.push(line(&format!("{end} CONTINUE")));
        vec![Item::Group(out)]
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
