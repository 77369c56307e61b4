//! Generates expressions whose values stay small, and arguments.

use super::ASSIGNED_CONSTANTS;
use super::scope::{Callable, Effects, Entity, Param, Shape, Var};
use super::unit::{CaseBuilder, Unit};

impl CaseBuilder<'_> {
    /// Returns a number of absolute value at most three that is a smooth function of all variables.
    pub fn value(&mut self, u: &mut Unit, depth: usize) -> String {
        if depth == 0 {
            return self.leaf(u);
        }
        let form = self.random.below(28);
        if form < 3
            && let Some(call) = self.function(u, depth)
        {
            return call;
        }
        let a = self.value(u, depth - 1);
        let b = self.leaf(u);
        match form {
            3 => format!("SIN({a} + {b})"),
            4 => format!("COS({a}*{b})"),
            5 => format!("(0.6D0*{a} - 0.3D0*{b})"),
            6 => format!("{b}/(2 + ({a})**2)"),
            7 => format!("EXP(-(({a})**2))"),
            8 => format!("(SQRT(1.3D0 + ({a})**2) - 1)"),
            9 => format!("SIN({a})*{b}"),
            10 => format!("0.4D0*LOG(2 + ({a})**2)*COS({b})"),
            11 => format!("ATAN({a} - {b})"),
            12 => format!("(-({a})/2 + 0.25D0*{b}**2)"),
            13 => format!("MAX({a}, {b})"),
            14 => format!("MIN({b}, {a}, 1.7D0)"),
            // Not at zeros, which are derivatives: the order of the computation determines whether
            // they have a minus sign.
            15 => format!("ABS({a} + 0.0173D0)"),
            16 => format!("SIGN({a} + 0.0171D0, {b} + 0.0137D0)"),
            17 => format!("0.07D0*({a})**3"),
            18 => format!("(1.1D0 + SIN({a})**2)**(0.4D0*{b})"),
            19 => match integers(u) {
                list if list.is_empty() => format!("(1.5D0 + ({a})**2)**(-2)"),
                list => {
                    let v = self.random.pick(&list).clone();
                    u.effects.reads.insert(v.entity);
                    format!("SIN({a})**MOD({}, 3)", v.name)
                }
            },
            20 => match self.random.below(4) {
                0 => format!("ATAN2({a}, 1.5D0 + ({b})**2)"),
                1 => format!("ATAN2(1.3D0 + ({a})**2, {b})"),
                2 => format!("0.5D0*DIM({a}, {b})"),
                _ => format!("MOD({a}, 0.7D0 + 0.1D0*({b})**2)"),
            },
            21 => match self.random.below(6) {
                0 => format!("TAN(0.4D0*SIN({a}))"),
                1 => format!("ASIN(0.7D0*SIN({a}))"),
                2 => format!("ACOS(0.6D0*COS({a}))"),
                3 => format!("0.6D0*SINH(SIN({a}))"),
                4 => format!("0.6D0*COSH(SIN({a}))"),
                _ => format!("LOG10(1.2D0 + ({a})**2)"),
            },
            22 => match self.random.below(3) {
                0 => format!("({b} + 0.1D0*AINT(3.1D0*SIN({a})))"),
                1 => format!("({b} + 0.1D0*DBLE(NINT(2.9D0*SIN({a}))))"),
                _ => format!("({b} + 0.1D0*ANINT(2.7D0*SIN({a})))"),
            },
            23 if self.random.once_in(2) => self.reduction(u),
            23 => match self.whole_arrays(u) {
                list if list.is_empty() => format!("({a} + {b})/2"),
                list => {
                    let x = self.random.pick(&list).clone();
                    let y = self.random.pick(&list).clone();
                    u.effects.reads.extend([x.entity, y.entity]);
                    match self.random.below(2) {
                        0 => format!("SIN(SUM({}) + {b})", x.name),
                        _ => format!("COS(DOT_PRODUCT({}, {}))", x.name, y.name),
                    }
                }
            },
            24 => format!("{b}/(1.5D0 + ABS({a} - 0.0171D0))"),
            25 => format!("SQRT(0.3D0 + ({a})**2 + ({b})**2)/2"),
            26 | 27 => format!("({})", self.by_one(u)),
            _ => format!("TANH({a})*{b}"),
        }
    }

    /// Returns a variable with an operator whose derivative is one.
    fn by_one(&mut self, u: &mut Unit) -> String {
        let x = self.leaf(u);
        match self.random.below(12) {
            0 => format!("+{x}"),
            1 => format!("{x}*1"),
            2 => format!("1*{x}"),
            3 => format!("{x}/1"),
            4 => format!("DBLE({x})"),
            5 => format!("{x}**1"),
            6 => format!("{x} - {}", self.leaf(u)),
            7 => format!("{x} + SIN({})", self.leaf(u)),
            8 => format!("0.25D0 + {x}"),
            9 => format!("{x} - 0.25D0"),
            _ => format!("({x})"),
        }
    }

    /// Whether callees may assign arguments that are constants. In Fortran 77 they must not.
    fn constants(&self) -> bool {
        ASSIGNED_CONSTANTS && !self.kind.flat
    }

    /// Returns an argument passed by value: a callee that assigns it changes a copy.
    fn by_value(&mut self, u: &mut Unit, depth: usize) -> String {
        if !self.constants() {
            // gfortran treats an expression that it can evaluate as a constant.
            let has_variable = |x: &String| {
                let rest = x.replace("DBLE(", "").replace("SIN(", "");
                rest.bytes().any(|b| b.is_ascii_alphabetic() && b != b'D')
            };
            let x = Some(self.by_one(u)).filter(has_variable);
            return x.unwrap_or_else(|| "0.2D0*NTHREE".into());
        }
        match self.random.below(5) {
            // In Fortran 77 a constant must not be assigned under any name.
            0 => format!("0.{}D0", self.random.below(89) + 10),
            1 => format!("({})", self.value(u, depth)),
            _ => self.by_one(u),
        }
    }

    /// Returns a number that is only read: a variable, if nothing assigns it during the call.
    fn by_name(&mut self, u: &mut Unit, effects: &Effects, outs: &[Entity]) -> Option<String> {
        let mut fitting = u.scope.vars.clone();
        fitting.retain(|v| {
            let number = v.shape.is_number() && !v.single;
            let known = !effects.unknown || u.own.contains(&v.entity);
            let assigned = effects.writes.contains(&v.entity) || outs.contains(&v.entity);
            number && known && !assigned
        });
        if fitting.is_empty() {
            return None;
        }
        let v = self.random.pick(&fitting).clone();
        u.effects.reads.insert(v.entity);
        Some(self.element(u, &v))
    }

    fn leaf(&mut self, u: &mut Unit) -> String {
        let complex = self.random.once_in(8);
        let numbers: Vec<Var> = u
            .scope
            .vars
            .iter()
            .filter(|v| v.shape.is_number() || complex && v.shape == Shape::Complex)
            .cloned()
            .collect();
        if numbers.is_empty() || self.random.once_in(7) {
            return format!("0.{}D0", self.random.below(89) + 10);
        }
        let v = self.random.pick(&numbers).clone();
        u.effects.reads.insert(v.entity);
        if v.shape == Shape::Complex {
            let part = self.random.pick(&["DBLE", "DIMAG"]);
            return format!("{part}({})", v.name);
        }
        let element = self.element(u, &v);
        // Expressions have double precision.
        match v.single {
            true => format!("DBLE({element})"),
            false => element,
        }
    }

    /// Returns arrays of three numbers whose extent is known here.
    pub fn whole_arrays(&self, u: &Unit) -> Vec<Var> {
        let whole = |v: &&Var| {
            let three = matches!(
                v.shape,
                Shape::Array {
                    whole: true,
                    extent: 3,
                    ..
                }
            );
            three && !v.single
        };
        u.scope.vars.iter().filter(whole).cloned().collect()
    }

    /// Returns a variable, or an element of an array.
    pub fn element(&mut self, u: &mut Unit, v: &Var) -> String {
        match v.shape {
            Shape::Array { lower, extent, .. } => {
                let last = extent > 3 && self.random.once_in(2);
                let lower = lower + if last { extent - 3 } else { 0 };
                let index = self.index(u, lower, extent.min(3));
                format!("{}({index})", v.name)
            }
            Shape::Matrix { lower, .. } => {
                let i = self.index(u, lower, 3);
                let j = match u.levels.is_empty() || self.random.once_in(2) {
                    true => self.index(u, 1, 3),
                    false => self.random.pick(&u.levels).clone(),
                };
                format!("{}({i}, {j})", v.name)
            }
            _ => v.name.clone(),
        }
    }

    /// Returns the number of a column.
    pub fn column(&mut self, u: &Unit) -> String {
        match self.random.below(4) {
            0 | 1 if !u.levels.is_empty() => self.random.pick(&u.levels).clone(),
            0..=2 if !u.loops.is_empty() => self.random.pick(&u.loops).clone(),
            _ => (self.random.below(3) + 1).to_string(),
        }
    }

    pub fn index(&mut self, u: &mut Unit, lower: i64, extent: i64) -> String {
        let shifted = |text: String, by: i64| match by {
            0 => text,
            1.. => format!("{text}+{by}"),
            _ => format!("{text}{by}"),
        };
        let integers: Vec<Var> = integers(u);
        match self.random.below(4) {
            0 if !u.loops.is_empty() => shifted(self.random.pick(&u.loops).clone(), lower - 1),
            1 if !integers.is_empty() => {
                let v = self.random.pick(&integers);
                u.effects.reads.insert(v.entity);
                shifted(format!("MOD({},3)", v.name), lower)
            }
            _ => (lower + self.random.below(extent as usize) as i64).to_string(),
        }
    }

    /// Returns a condition that does not depend on rounding.
    pub fn condition(&mut self, u: &mut Unit) -> String {
        let integers = integers(u);
        if !u.scope.flags.is_empty() && self.random.once_in(4) {
            let flag = self.random.pick(&u.scope.flags).clone();
            return match self.random.once_in(2) {
                true => format!(".NOT. ({flag})"),
                false => flag,
            };
        }
        match self.random.below(4) {
            0 => {
                let a = self.value(u, 1);
                format!("{a} .GT. 0.{}173D0", self.random.below(9))
            }
            1 if !u.loops.is_empty() => {
                format!(
                    "{} .NE. {}",
                    self.random.pick(&u.loops),
                    self.random.below(3) + 1
                )
            }
            2 => {
                let (a, b) = (self.condition(u), self.condition(u));
                let op = self.random.pick(&[".AND.", ".OR."]);
                format!("({a}) {op} .NOT. ({b})")
            }
            _ if !integers.is_empty() => {
                let v = self.random.pick(&integers).clone();
                u.effects.reads.insert(v.entity);
                format!("MOD({}, 2) .EQ. {}", v.name, self.random.below(2))
            }
            _ => {
                let a = self.value(u, 0);
                format!("{a} .LT. 0.{}219D0", self.random.below(9))
            }
        }
    }

    /// Returns a reference to a function, if one can be called.
    fn function(&mut self, u: &mut Unit, depth: usize) -> Option<String> {
        let callable = self.callable(u, true)?;
        let args = self.arguments(u, &callable, depth)?;
        Some(format!("{}({})", callable.name, args.join(", ")))
    }

    /// Returns a function or subroutine to call.
    pub fn callable(&mut self, u: &mut Unit, function: bool) -> Option<Callable> {
        // Statements are limited separately.
        if function && u.calls_left == 0 {
            return None;
        }
        let known: Vec<Callable> = u
            .scope
            .procedures
            .iter()
            .filter(|p| p.signature.function == function)
            .cloned()
            .collect();
        if known.is_empty() {
            return None;
        }
        u.calls_left -= usize::from(function);
        Some(self.random.pick(&known).clone())
    }

    /// Returns arguments for a call that obey Fortran's rules about assigned aliases; `None` if
    /// there are none.
    pub fn arguments(
        &mut self,
        u: &mut Unit,
        callee: &Callable,
        depth: usize,
    ) -> Option<Vec<String>> {
        let mut effects = self.effects(u, callee);
        let mut procedures = Vec::new();
        for p in &callee.signature.params {
            let Param::Procedure(signature) = p else {
                continue;
            };
            let fitting: Vec<Callable> = u
                .scope
                .procedures
                .iter()
                .filter(|c| c.passable && c.signature == *signature)
                .cloned()
                .collect();
            if fitting.is_empty() {
                return None;
            }
            let chosen = self.random.pick(&fitting).clone();
            effects.add(&self.effects(u, &chosen));
            procedures.push(chosen.name);
        }
        if u.pure && (effects.unknown || !effects.writes.iter().all(|e| u.own.contains(e))) {
            let subroutines = !callee.signature.function;
            if subroutines {
                return None;
            }
        }
        let free = self.kind.aliases && self.random.once_in(2);
        let mut given = Vec::new();
        let mut outs = Vec::new();
        let mut procedures = procedures.into_iter();
        let mut args = vec![String::new(); callee.signature.params.len()];
        // The arguments that are assigned are chosen first.
        for (i, p) in callee.signature.params.iter().enumerate() {
            let array = match p {
                Param::Out | Param::Complex(true) => false,
                Param::Array(true) | Param::Matrix(true) => true,
                _ => continue,
            };
            let matrix = matches!(p, Param::Matrix(_));
            let fitting: Vec<Var> = u
                .scope
                .vars
                .iter()
                .filter(|v| match p {
                    Param::Complex(_) => v.shape == Shape::Complex,
                    _ => v.shape.is_number(),
                })
                .filter(|v| v.assignable && !outs.contains(&v.entity))
                .filter(|v| !array || v.shape != Shape::Scalar)
                .filter(|v| !matrix || matches!(v.shape, Shape::Matrix { .. }))
                .filter(|v| !v.single)
                .filter(|v| !effects.unknown || u.own.contains(&v.entity))
                .filter(|v| {
                    let known =
                        effects.reads.contains(&v.entity) || effects.writes.contains(&v.entity);
                    !known || free && !v.common
                })
                .cloned()
                .collect();
            if fitting.is_empty() {
                return None;
            }
            let v = self.random.pick(&fitting).clone();
            outs.push(v.entity);
            u.effects.reads.insert(v.entity);
            u.effects.writes.insert(v.entity);
            args[i] = match array {
                true if matrix => v.name.clone(),
                true => self.array(u, &v, callee, !free),
                false => self.element(u, &v),
            };
        }
        for (i, p) in callee.signature.params.iter().enumerate() {
            args[i] = match p {
                Param::Out | Param::Array(true) | Param::Matrix(true) | Param::Complex(true) => {
                    continue;
                }
                Param::Complex(false) => self.complex_argument(u, &effects, &outs),
                Param::Logical(assigned) => {
                    let plain = |f: &&String| f.starts_with("LU");
                    let known: Vec<String> = u.scope.flags.iter().filter(plain).cloned().collect();
                    match known.is_empty() || self.random.once_in(2) {
                        true if self.constants() || !assigned => {
                            (*self.random.pick(&[".TRUE.", ".FALSE."])).into()
                        }
                        true => "NTHREE .EQ. 3".into(),
                        false if *assigned => format!("({})", self.random.pick(&known)),
                        false => self.random.pick(&known).clone(),
                    }
                }
                Param::Text(true) => {
                    let assigned = |p: &&Param| matches!(p, Param::Text(true));
                    match callee.signature.params[..i].iter().any(|p| assigned(&p)) {
                        true => "(CW)".into(),
                        false => self.text(u, &["CW", "CW(#:)", "CW(#:#+1)"]),
                    }
                }
                Param::Text(false) => {
                    let assigned = |p: &Param| matches!(p, Param::Text(true));
                    let any = callee.signature.params.iter().any(assigned);
                    match any || self.random.once_in(2) {
                        true => self.text(u, &["'N'", "'T'", "'NO'", "'T'//'N'", "(CW)"]),
                        false => self.text(u, &["CW", "(CW)", "CW(#:)", "CW(#:#+1)", "(CW(#:#))"]),
                    }
                }
                Param::Extent(assigned) => match u.extents.first() {
                    Some(n) if self.random.once_in(2) => match assigned {
                        true => format!("({n})"),
                        false => n.clone(),
                    },
                    _ if *assigned && !self.constants() => "(NTHREE)".into(),
                    _ => "3".into(),
                },
                Param::Copy => self.by_value(u, depth.saturating_sub(1)),
                Param::IntegerCopy => match self.integer(u) {
                    i if !self.constants() => format!("MOD(NTHREE + {i}, 3)"),
                    i => match i.bytes().all(|b| b.is_ascii_digit()) {
                        true => i,
                        false => format!("({i})"),
                    },
                },
                Param::ArrayCopy => {
                    let arrays = self.whole_arrays(u);
                    if arrays.is_empty() {
                        return None;
                    }
                    let v = self.random.pick(&arrays).clone();
                    u.effects.reads.insert(v.entity);
                    match self.random.below(4) {
                        0 => format!("{} + 0.25D0", v.name),
                        1 => format!("{}*{}", v.name, self.leaf(u)),
                        2 => format!("SIN({})", v.name),
                        _ => format!("({})", v.name),
                    }
                }
                Param::Procedure(_) => procedures.next()?,
                Param::Integer => self.integer(u),
                Param::Level => self.column(u),
                Param::In if self.random.once_in(3) && !free => {
                    match self.by_name(u, &effects, &outs) {
                        Some(name) => name,
                        None => self.by_value(u, 0),
                    }
                }
                Param::In => {
                    let value = self.value(u, depth.saturating_sub(1));
                    match callee.signature.function || free {
                        true => value,
                        // An expression, which nothing else can access.
                        false => format!("({value})"),
                    }
                }
                Param::Array(false) | Param::Matrix(false) => {
                    let matrix = matches!(p, Param::Matrix(_));
                    let fitting: Vec<Var> = u
                        .scope
                        .vars
                        .iter()
                        .filter(|v| match v.shape {
                            Shape::Array { .. } => !matrix,
                            Shape::Matrix { .. } => true,
                            _ => false,
                        })
                        .filter(|v| !v.single)
                        .filter(|v| !outs.contains(&v.entity))
                        .filter(|v| !effects.unknown || u.own.contains(&v.entity))
                        .filter(|v| free && !v.common || !effects.writes.contains(&v.entity))
                        .cloned()
                        .collect();
                    if fitting.is_empty() {
                        return None;
                    }
                    let v = self.random.pick(&fitting).clone();
                    u.effects.reads.insert(v.entity);
                    given.push(v.entity);
                    match matrix {
                        true => v.name.clone(),
                        false => self.array(u, &v, callee, !free),
                    }
                }
            };
            // A free choice must not use a variable that the call assigns through another argument.
            if free && matches!(p, Param::In) && !callee.signature.function {
                args[i] = format!("({})", args[i]);
            }
        }
        u.effects.add(&effects);
        Some(args)
    }

    /// Returns a COMPLEX number that is only read.
    fn complex_argument(&mut self, u: &mut Unit, effects: &Effects, outs: &[Entity]) -> String {
        let mut fitting = u.scope.vars.clone();
        fitting.retain(|v| {
            let known = !effects.unknown || u.own.contains(&v.entity);
            let assigned = effects.writes.contains(&v.entity) || outs.contains(&v.entity);
            v.shape == Shape::Complex && known && !assigned
        });
        if fitting.is_empty() || self.random.once_in(2) {
            let (re, im) = (self.leaf(u), self.leaf(u));
            return format!("DCMPLX({re}, {im})");
        }
        let v = self.random.pick(&fitting).clone();
        u.effects.reads.insert(v.entity);
        match self.random.below(4) {
            0 => format!("({})", v.name),
            1 => format!("{}*{}", v.name, self.leaf(u)),
            2 => format!("DCONJG({})", v.name),
            _ => v.name,
        }
    }

    /// Returns one of some texts, with `#` replaced by positions from 1 to 3.
    pub fn text(&mut self, u: &mut Unit, of: &[&str]) -> String {
        let one = *self.random.pick(of);
        match one.contains('#') {
            true => one.replace('#', &self.index(u, 1, 3)),
            false => one.into(),
        }
    }

    fn effects(&self, u: &Unit, callee: &Callable) -> Effects {
        let mut effects = callee.effects.clone();
        // Callers know what they pass; what a host received is unknown here.
        effects.unknown |= callee.dummy && !u.own_procedures.contains(&callee.name);
        effects
    }

    /// Returns an array of three numbers as an argument.
    fn array(&mut self, u: &mut Unit, v: &Var, callee: &Callable, sections: bool) -> String {
        if sections
            && self.random.once_in(4)
            && let Some(part) = self.three(u, v, callee.signature.function)
        {
            return part;
        }
        match v.shape {
            Shape::Array { lower, extent, .. } if extent > 3 || self.random.once_in(4) => {
                let last = lower + extent - 3;
                let from = lower + self.random.below((last - lower + 1) as usize) as i64;
                format!("{}({from})", v.name)
            }
            // A column.
            Shape::Matrix { lower, .. } => {
                format!("{}({lower}, {})", v.name, self.column(u))
            }
            _ => v.name.clone(),
        }
    }

    fn integer(&mut self, u: &mut Unit) -> String {
        let integers = integers(u);
        match self.random.below(3) {
            0 if !u.loops.is_empty() => format!("({})", self.random.pick(&u.loops)),
            1 if !integers.is_empty() => {
                let v = self.random.pick(&integers);
                u.effects.reads.insert(v.entity);
                format!("MOD({}, 3)", v.name)
            }
            _ => self.random.below(3).to_string(),
        }
    }
}

pub fn integers(u: &Unit) -> Vec<Var> {
    let integers = u.scope.vars.iter().filter(|v| v.shape == Shape::Integer);
    integers.cloned().collect()
}
