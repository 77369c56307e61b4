//! Generates subprograms that others call, at the top level and nested.

use super::Item;
use super::scope::{Callable, Effects, Entity, Param, Scope, Shape, Signature};
use super::unit::{ARRAY, CaseBuilder, Returns, SCRATCH, Unit, externals, line};

impl CaseBuilder<'_> {
    /// Generates a top-level subprogram.
    pub fn top_level(
        &mut self,
        name: &str,
        scope: &Scope,
        common: Option<(Entity, Entity)>,
    ) -> (Item, Vec<Callable>) {
        let signature = self.signature(2, None);
        let mut scope = scope.clone();
        scope.vars.clear();
        scope.flags.clear();
        self.subprogram(name, signature, &scope, common, 0, None)
    }

    /// Generates two functions in a unit that call each other.
    pub fn pair(&mut self, scope: &Scope) -> (Item, Vec<Callable>) {
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

    /// Generates a subprogram nested in a unit.
    pub fn nested(&mut self, scope: &Scope, depth: usize) -> (Item, Vec<Callable>) {
        self.units += 1;
        // Sometimes with the signature that an existing procedure requires of its argument.
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
        let function = function.unwrap_or_else(|| self.random.once_in(2));
        let mut params = Vec::new();
        if order > 0 && self.random.once_in(2) {
            for _ in 0..self.random.below(2) + 1 {
                let of = if function { Some(true) } else { None };
                params.push(Param::Procedure(self.signature(order - 1, of)));
            }
        }
        for _ in 0..self.random.below(2) + 1 {
            let extent = |p: &Param| matches!(p, Param::Extent(_));
            if self.random.once_in(4) && !params.iter().any(extent) {
                params.push(Param::Extent(self.random.once_in(2)));
            }
            let param = match self.random.below(11) {
                9 => match self.random.below(3) {
                    0 => Param::Text(!function && self.random.once_in(2)),
                    n => Param::Logical(n == 1),
                },
                10 => Param::Complex(!function && self.random.once_in(2)),
                6 | 7 => match self.random.below(4) {
                    0 => Param::ArrayCopy,
                    1 => Param::IntegerCopy,
                    _ => Param::Copy,
                },
                0 if self.random.once_in(4) => Param::Matrix(!function && self.random.once_in(2)),
                0 => Param::Array(!function && self.random.once_in(2)),
                1 => Param::Integer,
                2 | 3 if !function => Param::Out,
                _ => Param::In,
            };
            let has_columns = matches!(param, Param::Matrix(_));
            params.push(param);
            if has_columns && self.random.once_in(2) {
                params.push(Param::Level);
            }
        }
        Signature {
            function,
            params,
            alternate: match !function && self.random.once_in(2) {
                true => self.random.below(2) + 1,
                false => 0,
            },
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
            // Variables of the host can be read.
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
                Param::In | Param::Out | Param::Copy => &["X", "T", "U", "Y"],
                Param::Array(_) | Param::ArrayCopy => &["A", "V", "B"],
                Param::Matrix(_) => &["HM", "HN"],
                Param::Integer | Param::IntegerCopy => &["K", "N"],
                Param::Extent(_) => &["NLEN", "MLEN"],
                Param::Level => &["LV", "LW"],
                Param::Complex(_) => &["CU", "CV"],
                Param::Logical(_) | Param::Text(_) => &["LU"],
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
                Param::Out | Param::Copy => self.var(&own, Shape::Scalar),
                Param::Integer | Param::IntegerCopy => self.var(&own, Shape::Integer),
                Param::Complex(_) => {
                    specs.push(line(&format!("COMPLEX*16 {own}")));
                    self.var(&own, Shape::Complex)
                }
                Param::Logical(assigned) => {
                    // A name that nothing nested uses.
                    let unit = self.units;
                    let flag = format!("LU{unit}X{i}");
                    specs.push(line(&format!("LOGICAL {flag}")));
                    if *assigned {
                        start.push(line(&format!("{flag} = .NOT. {flag}")));
                    }
                    names.pop();
                    names.push(flag.clone());
                    u.scope.flags.push(flag);
                    continue;
                }
                Param::Text(assigned) => {
                    let unit = self.units;
                    let text = format!("CU{unit}X{i}");
                    specs.push(line(&format!("CHARACTER*(*) {text}")));
                    names.pop();
                    names.push(text.clone());
                    u.scope.flags.push(match self.random.below(4) {
                        0 => format!("{text} .EQ. 'N'"),
                        1 => format!("{text}(1:1) .NE. 'T'"),
                        2 => format!("{text}(1:1) .GT. 'B'"),
                        _ => format!("LEN({text}) .GT. 1"),
                    });
                    if *assigned {
                        u.texts.push(text);
                    }
                    continue;
                }
                Param::Extent(assigned) => {
                    specs.push(line(&format!("INTEGER {own}")));
                    if *assigned {
                        u.changing = Some(own.clone());
                    }
                    u.extents.push(own);
                    continue;
                }
                Param::Level => {
                    specs.push(line(&format!("INTEGER {own}")));
                    u.levels.push(own);
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
                Param::Array(_) | Param::ArrayCopy => {
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
                        // A bound from the host.
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
            var.assignable = matches!(
                p,
                Param::Out
                    | Param::Array(true)
                    | Param::Matrix(true)
                    | Param::Copy
                    | Param::Complex(true)
            ) || matches!(p, Param::ArrayCopy | Param::IntegerCopy);
            u.own.push(var.entity);
            u.scope.add_var(var);
        }
        if !externals.is_empty() && (!nested || self.random.once_in(2)) {
            specs.push(line(&format!("EXTERNAL {}", externals.join(", "))));
        }
        if let Some(e) = self.data
            && !nested
            && self.random.once_in(2)
        {
            self.in_data(&mut u, &mut specs, ("DC", "DD"), e);
        }
        if let Some(e) = common {
            if self.random.once_in(4) {
                specs.push(line(&format!("SAVE /B{}/", self.name)));
            }
            if self.assorted.is_some() && self.random.once_in(2) {
                let names = ["CN", "KN", "LN"];
                self.in_assorted(&mut u, &mut specs, names);
            }
            match self.random.below(3) {
                0 if self.divided => self.undivided_common(&mut u, &mut specs, e.0),
                1 if self.divided => self.short_common(&mut u, &mut specs, e.0),
                _ => {
                    let counter = self.random.once_in(3).then_some("NR");
                    // It may use only a part of the block, and declare something else instead of the rest.
                    match self.random.below(6) {
                        0 => self.in_common_partly(&mut u, &mut specs, true, e.0, counter),
                        1 => self.in_common_partly(&mut u, &mut specs, false, e.1, counter),
                        _ => self.in_common(&mut u, &mut specs, ("R", "S0"), e, counter),
                    }
                }
            }
        }
        if u.pure {
            let common = u.scope.vars.iter_mut().filter(|v| v.common);
            common.for_each(|v| v.assignable = false);
        }
        specs.extend(SCRATCH.map(line));
        start.push(line("CW = 'EDCBA'"));
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
        let enters = other.is_none() && self.random.once_in(3);
        if self.random.once_in(4) {
            // Saved variables of a nested subprogram with ENTRY points must be named.
            let named = nested && enters;
            start.extend(self.kept(&mut u, &mut specs, named));
        }
        if self.kind.mixed && self.random.once_in(2) {
            let names = *self.random.pick(&[["RX", "RB"], ["RW", "RA"]]);
            start.extend(self.singles(&mut u, names, &mut specs));
        }
        // Loop variables: its own, or implicit ones, which belong to the top level, if nothing can
        // call it while it runs.
        let closed = u.scope.procedures.iter().all(|p| !p.dummy);
        let unit = self.units;
        let implicit = nested && closed && !u.pure && self.random.once_in(2);
        u.free_loops = (1..=3).map(|i| format!("J{unit}{i}")).collect();
        if !implicit {
            specs.push(line(&format!("INTEGER {}", u.free_loops.join(", "))));
        }
        let labels = vec!["*".to_owned(); signature.alternate];
        let header = if signature.function {
            "FUNCTION"
        } else {
            "SUBROUTINE"
        };
        let all = [&names[..], &labels].concat().join(", ");
        let mut out = vec![line(&format!("{header} {name}({all})"))];
        out.extend(specs);
        // The result of a function is a variable from the beginning.
        if signature.function {
            start.push(line(&format!("{name} = 0")));
        }
        if depth < 3 && !self.kind.flat && self.random.once_in(3) {
            for _ in 0..self.random.below(2) + 1 {
                let (item, callables) = self.nested(&u.scope, depth + 1);
                out.push(item);
                callables.into_iter().for_each(|c| u.scope.add_procedure(c));
            }
        }
        if !nested {
            start.insert(0, line("NTHREE = 3"));
        }
        let mut entries = Vec::new();
        let mut params = signature.params.clone();
        let loop_exits = match enters {
            true => 1 + usize::from(self.random.once_in(3)),
            false => 0,
        };
        for way in 1..=loop_exits {
            // The entry skips the first statements.
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
            let name = format!("{}{name}", "E".repeat(way));
            // Sometimes with its arguments in another order.
            if self.random.once_in(2) {
                names.reverse();
                params.reverse();
            }
            let all = [&names[..], &labels].concat().join(", ");
            out.push(line(&format!("ENTRY {name}({all})")));
            entries.push((name, params.clone()));
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
        // A subprogram that calls itself has no ENTRY points.
        if nested
            && entries.is_empty()
            && signature.params.contains(&Param::Integer)
            && (other.is_some() || self.random.once_in(3))
        {
            out.extend(self.recursion(&mut u, other.unwrap_or(name), &signature));
        }
        if signature.function {
            let value = self.value(&mut u, 2);
            out.push(line(&format!("{name} = {value}")));
        }
        for i in 1..=signature.alternate {
            let condition = self.condition(&mut u);
            out.push(line(&format!("IF ({condition}) RETURN {i}")));
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
        let also = entries.into_iter().map(|(name, params)| Callable {
            name,
            signature: Signature {
                params,
                ..callable.signature.clone()
            },
            ..callable.clone()
        });
        let also: Vec<Callable> = also.collect();
        let all = std::iter::once(callable).chain(also);
        (Item::Group(out), all.collect())
    }

    /// Adds variables that keep their values, which functions only read, and returns the statements
    /// that set them first.
    fn kept(&mut self, u: &mut Unit, specs: &mut Vec<Item>, named: bool) -> Vec<Item> {
        let unit = self.units;
        let form = self.random.below(if u.pure { 5 } else { 7 });
        let matrix = Shape::Matrix {
            lower: 0,
            whole: true,
        };
        let (name, shape, bounds, data) = match form {
            0 => ("SV", Shape::Scalar, "", "# /0.37D0/"),
            1 => ("SA", ARRAY, "(3)", "# /2*0.41D0, -0.23D0/"),
            2 => (
                "SA",
                ARRAY,
                "(3)",
                "(#(JD), JD = 1, 2) /2*0.41D0/, #(3) /0.31D0/",
            ),
            3 => (
                "SM",
                matrix,
                "(0:2, 3)",
                "((#(JD, JE), JD = 0, 2), JE = 1, 3) /4*0.41D0, 5*-0.29D0/",
            ),
            4 | 5 => ("KS", Shape::Integer, "", "# /1/"),
            _ => ("SV", Shape::Scalar, "", ""),
        };
        let name = format!("{name}{unit}");
        let ty = match shape {
            Shape::Integer => "INTEGER",
            _ => self.number,
        };
        specs.push(line(&format!("{ty} {name}{bounds}")));
        // Otherwise they would be variables of the host.
        if data.contains("JD") {
            specs.push(line("INTEGER JD, JE"));
        }
        let first = format!("FI{unit}");
        let mut saved = name.clone();
        if data.is_empty() {
            specs.push(line(&format!("LOGICAL {first}")));
            saved = format!("{name}, {first}");
        }
        // A dummy procedure may call this unit again in the middle of one of its loops.
        let open = u.scope.procedures.iter().any(|p| p.dummy);
        match self.random.below(3) {
            0 => specs.push(line(&format!("SAVE {saved}"))),
            1 if !named && !open => specs.push(line("SAVE")),
            // DATA implies SAVE.
            _ if data.is_empty() => specs.push(line(&format!("SAVE {saved}"))),
            _ => {}
        }
        let mut v = self.var(&name, shape);
        v.assignable = !u.pure;
        u.scope.add_var(v);
        if data.is_empty() {
            specs.push(line(&format!("DATA {first} /.TRUE./")));
            return vec![Item::Group(vec![
                line(&format!("IF ({first}) THEN")),
                line(&format!("{name} = 0.43D0")),
                line(&format!("{first} = .FALSE.")),
                line("END IF"),
            ])];
        }
        specs.push(line(&format!("DATA {}", data.replace('#', &name))));
        Vec::new()
    }

    /// Returns a call of the unit itself, or of one that calls it, with an INTEGER argument that
    /// decreases.
    fn recursion(&mut self, u: &mut Unit, name: &str, signature: &Signature) -> Option<Item> {
        let at = signature.params.iter().position(|p| *p == Param::Integer)?;
        let own = u.scope.vars.iter().filter(|v| u.own.contains(&v.entity));
        let mut counters = own.filter(|v| v.shape == Shape::Integer && !v.assignable);
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
            let end = format!(", *{label}").repeat(signature.alternate);
            return Some(Item::Group(vec![
                line(&format!("{condition} CALL {name}({args}{end})")),
                line(&format!("{label} CONTINUE")),
            ]));
        }
        let (_, target) = self.target(u)?;
        Some(line(&format!("{condition} {target} = {name}({args})")))
    }

    pub fn statement_function(&mut self, u: &mut Unit) -> (Item, Callable) {
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
            alternate: 0,
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
