//! Generates AD blocks.

use super::Item;
use super::scope::{Shape, Var};
use super::unit::{CaseBuilder, LoopExit, Unit, line};

impl CaseBuilder<'_> {
    /// Returns a block, and statements that keep its derivatives small.
    pub fn ad_block(&mut self, u: &mut Unit, depth: usize) -> Vec<Item> {
        // Drivers differentiate these.
        if self.kind.flat {
            return self.statements(u, depth, 1);
        }
        // A block is left only at its end.
        let (loop_exits, returns) = (std::mem::take(&mut u.loop_exits), u.returns.take());
        let outside = std::mem::replace(&mut u.block, true);
        // The innermost blocks of a nest contain loops and branches, too.
        let depth = match self.random.once_in(4) {
            true => depth,
            false => depth.max(1),
        };
        let out = match self.kind.gradients && self.random.once_in(12) {
            true => self.complex_gradient(u, depth),
            false => self.any_block(u, depth),
        };
        (u.loop_exits, u.returns) = (loop_exits, returns);
        u.block = outside;
        out
    }

    /// Returns a block for the gradient of a real number with respect to a complex one.
    fn complex_gradient(&mut self, u: &mut Unit, depth: usize) -> Vec<Item> {
        let (re, im) = (self.value(u, 1), self.value(u, 0));
        let set = line(&format!("CZ = DCMPLX({re}, {im})"));
        let value = self.value(u, 1);
        let mut out = match self.random.below(3) {
            0 => vec![line(&format!(
                "ADR(COTANGENT(CY) = DCMPLX({value}, {value}))"
            ))],
            1 => vec![line("ADR(COTANGENT(CY) = (0.3D0, -0.6D0))")],
            _ => vec![line(&format!("ADR(COTANGENT(CY) = {value})"))],
        };
        let count = self.random.below(2);
        let factor = self.value(u, 1);
        out.push(line(&format!(
            "CY = CZ*DCMPLX(0.3D0, {factor}) - DCONJG(CZ)*CZ*0.1D0"
        )));
        out.extend(self.statements(u, depth, count));
        let more = self.value(u, 1);
        out.push(line(&match self.random.below(3) {
            0 => format!("CY = CY*CZ*0.2D0 + {more}"),
            1 => format!("CY = DCMPLX(SIN(DBLE(CY)), {more})"),
            _ => format!("CY = EXP(0.2D0*CY)*{more}"),
        }));
        out.push(line("END ADR(CY = COTANGENT(CZ))"));
        let mut out = vec![set, Item::Group(out)];
        if let Some((_, target)) = self.target(u) {
            let text = format!("{target} = SIN(DBLE(CY)) + 0.3D0*ATAN(DIMAG(CY))");
            out.push(line(&text));
        }
        vec![Item::Group(out)]
    }

    fn any_block(&mut self, u: &mut Unit, depth: usize) -> Vec<Item> {
        let numbers: Vec<Var> = u
            .scope
            .vars
            .iter()
            .filter(|v| v.shape.is_number())
            .cloned()
            .collect();
        let targets = self.assignable(u, Shape::is_number);
        let (false, false) = (numbers.is_empty(), targets.is_empty()) else {
            return Vec::new();
        };
        let independent = self.random.pick(&numbers).clone();
        u.effects.reads.insert(independent.entity);
        let dependent = self.random.pick(&targets).clone();
        u.effects.writes.insert(dependent.entity);
        let scalar = |v: &Var| v.shape == Shape::Scalar;
        let reverse = self.kind.reverse
            && scalar(&independent)
            && scalar(&dependent)
            && self.random.once_in(2);
        if self.kind.gradients && self.random.once_in(3) {
            return self.gradient(u, depth, &numbers, &targets);
        }
        // Sometimes in a loop that the last line of the block ends.
        let around = match self.random.once_in(8) {
            true => u.free_loops.pop(),
            false => None,
        };
        let mut out = Vec::new();
        let mut count = self.random.below(3);
        let label = self.label_of_end(u, around.is_some());
        // A constant, since derivatives may pass through COMMON.
        let several = self.random.once_in(4);
        let directions = several.then(|| self.random.below(2) + 2);
        if reverse {
            out.push(match directions {
                None => line(&format!("ADR({})", dependent.name)),
                Some(n) => {
                    let k = self.random.below(n) + 1;
                    let given = format!("COTANGENT({}, {k}) = 1", dependent.name);
                    line(&format!("ADR(DIRECTIONS = {n}, {given})"))
                }
            });
            count += 1;
        } else {
            let opening = self.opening(u, &independent, &numbers);
            out.push(match directions {
                None => line(&format!("ADF({})", opening.join(", "))),
                Some(n) => {
                    let long = opening.into_iter().map(|i| match i.contains("TANGENT") {
                        true => i,
                        false => format!("TANGENT({i}) = 1"),
                    });
                    let long: Vec<String> = long.collect();
                    let text = self.in_directions(&long.join(", "), n);
                    line(&format!("ADF(DIRECTIONS = {n}, {text})"))
                }
            });
        }
        u.loops.extend(around.clone());
        out.extend(self.statements(u, depth, count));
        u.loops
            .truncate(u.loops.len() - usize::from(around.is_some()));
        u.loop_exits.clear();
        // The dependent variable is computed from the independent one.
        out.push(self.depend(u, &independent, &dependent));
        let dest = self.random.pick(&targets).clone();
        u.effects.writes.insert(dest.entity);
        if reverse {
            let to = self.element(u, &dest);
            let end = format!("END ADR({to} = COTANGENT({}))", independent.name);
            let end = match directions {
                None => end,
                Some(n) => self.in_directions(&end, n),
            };
            out.push(line(&format!("{label}{end}")));
            let out = Self::looped(u, around, &label, out);
            return vec![out, line(&format!("{to} = 0.7D0*ATAN({to})"))];
        }
        let (end, after) = self.closing(u, &dependent, &independent, &dest, &targets);
        let end = match directions {
            None => end,
            Some(n) => self.in_directions(&end, n),
        };
        out.push(line(&format!("{label}{end}")));
        let mut out = vec![Self::looped(u, around, &label, out)];
        out.extend(after);
        out
    }

    /// Returns the label of the last line of a block, if it has one. Statements in the block may
    /// jump there.
    fn label_of_end(&mut self, u: &mut Unit, needed: bool) -> String {
        if !needed && !self.random.once_in(4) {
            return String::new();
        }
        let label = u.new_label();
        u.loop_exits.push(LoopExit {
            label,
            ..LoopExit::default()
        });
        format!("{label} ")
    }

    /// Returns a block in a loop that ends with it.
    fn looped(u: &mut Unit, around: Option<String>, label: &str, block: Vec<Item>) -> Item {
        let Some(var) = around else {
            return Item::Group(block);
        };
        let begin = line(&format!("DO {label}{var} = 1, 2"));
        u.free_loops.push(var);
        Item::Group(vec![begin, Item::Group(block)])
    }

    /// Returns an ADR block with arrays, computed cotangents, and several independent and dependent
    /// variables.
    fn gradient(
        &mut self,
        u: &mut Unit,
        depth: usize,
        numbers: &[Var],
        targets: &[Var],
    ) -> Vec<Item> {
        let mut out = Vec::new();
        let mut opening = Vec::new();
        let mut dependents: Vec<Var> = Vec::new();
        let mut assignments = Vec::new();
        for _ in 0..self.random.below(2) + 1 {
            let v = self.random.pick(targets).clone();
            if dependents.iter().any(|d| d.entity == v.entity) {
                continue;
            }
            u.effects.writes.insert(v.entity);
            let value = self.value(u, 1);
            let looped = u.free_loops.last().cloned();
            opening.push(match (v.shape, self.random.below(3), looped) {
                (Shape::Array { whole: true, .. }, 0, _) => {
                    format!("COTANGENT({}) = {value}", v.name)
                }
                (Shape::Array { lower, .. }, 1, Some(i)) => {
                    let range = self.range(lower);
                    let name = &v.name;
                    format!("(COTANGENT({name}({i})) = {value} + 0.2D0*{i}, {i} = {range})")
                }
                (Shape::Array { .. }, ..) | (Shape::Matrix { whole: false, .. }, ..) => {
                    format!("COTANGENT({}) = {value}", self.element(u, &v))
                }
                (Shape::Matrix { lower, .. }, 1, Some(i)) => {
                    let (range, name, j) = (self.range(lower), &v.name, self.random.below(3) + 1);
                    format!("(COTANGENT({name}({i}, {j})) = {value}*{i}, {i} = {range})")
                }
                (_, 0, _) => v.name.clone(),
                // The value that the block computes.
                (_, 1, _) => format!("COTANGENT({0}) = {0} - 0.3D0", v.name),
                _ => format!("COTANGENT({}) = {value}", v.name),
            });
            dependents.push(v);
        }
        let directions = self.random.once_in(4).then(|| self.random.below(2) + 2);
        out.push(match directions {
            None => line(&format!("ADR({})", opening.join(", "))),
            Some(n) => {
                let long = opening.into_iter().map(|i| match i.contains("COTANGENT") {
                    true => i,
                    false => format!("COTANGENT({i}) = 1"),
                });
                let long: Vec<String> = long.collect();
                let text = self.in_directions(&long.join(", "), n);
                line(&format!("ADR(DIRECTIONS = {n}, {text})"))
            }
        });
        let mut independents: Vec<Var> = Vec::new();
        for _ in 0..self.random.below(2) + 1 {
            let v = self.random.pick(numbers).clone();
            if !independents.iter().any(|d| d.entity == v.entity) {
                u.effects.reads.insert(v.entity);
                independents.push(v);
            }
        }
        let count = self.random.below(3) + 1;
        let label = self.label_of_end(u, false);
        assignments.extend(self.statements(u, depth, count));
        u.loop_exits.clear();
        for v in &dependents {
            let from = self.random.pick(&independents).clone();
            assignments.push(self.depend(u, &from, v));
        }
        out.extend(assignments);
        let mut closing = Vec::new();
        let mut after = Vec::new();
        let mut taken = Vec::new();
        for v in &independents {
            let dest = self.random.pick(targets).clone();
            if taken.contains(&dest.entity) {
                continue;
            }
            taken.push(dest.entity);
            u.effects.writes.insert(dest.entity);
            let looped = u.free_loops.last().cloned();
            match (v.shape, dest.shape, looped) {
                (
                    Shape::Array {
                        lower, extent: n, ..
                    },
                    Shape::Array {
                        lower: to,
                        extent: m,
                        whole,
                    },
                    Some(i),
                ) => {
                    let fits = matches!(v.shape, Shape::Array { whole: true, .. }) && n == m;
                    if fits && whole && self.random.once_in(2) {
                        closing.push(format!("{} = COTANGENT({})", dest.name, v.name));
                    } else {
                        let (shift, range) = (to - lower, self.range(lower));
                        closing.push(format!(
                            "({}({i}+({shift})) = COTANGENT({}({i})), {i} = {range})",
                            dest.name, v.name
                        ));
                    }
                    for k in to..to + m {
                        after.push(line(&format!("{0}({k}) = 0.7D0*ATAN({0}({k}))", dest.name)));
                    }
                }
                _ => {
                    // Its place must be known before the block.
                    let from = match v.shape {
                        Shape::Array { lower, .. } => {
                            format!("{}({})", v.name, lower + self.random.below(3) as i64)
                        }
                        Shape::Matrix { lower, .. } => {
                            let i = lower + self.random.below(3) as i64;
                            format!("{}({i}, {})", v.name, self.random.below(3) + 1)
                        }
                        _ => v.name.clone(),
                    };
                    let to = self.element(u, &dest);
                    closing.push(format!("{to} = COTANGENT({from})"));
                    after.push(line(&format!("{to} = 0.7D0*ATAN({to})")));
                }
            }
        }
        let closing = closing.join(", ");
        let closing = match directions {
            None => closing,
            Some(n) => self.in_directions(&closing, n),
        };
        out.push(line(&format!("{label}END ADR({closing})")));
        let mut out = vec![Item::Group(out)];
        out.extend(after);
        out
    }

    /// Returns an assignment to a dependent variable from an independent one.
    fn depend(&mut self, u: &mut Unit, from: &Var, to: &Var) -> Item {
        if self.random.once_in(2)
            && let Some(parts) = self.parts_of(u, from, to)
        {
            return parts;
        }
        let (from, value) = (self.element(u, from), self.value(u, 2));
        let factor = self.value(u, 1);
        let to = self.element(u, to);
        line(&format!("{to} = SIN({from})*{factor} + 0.5D0*{value}"))
    }

    /// Returns the tangents of some variables, including the independent one.
    fn opening(&mut self, u: &mut Unit, v: &Var, numbers: &[Var]) -> Vec<String> {
        let mut items = vec![self.tangent(u, v)];
        if self.random.once_in(3) {
            let other = self.random.pick(numbers).clone();
            if other.entity != v.entity {
                u.effects.reads.insert(other.entity);
                items.push(self.tangent(u, &other));
            }
        }
        items
    }

    /// Adds a direction to each TANGENT or COTANGENT in a list.
    fn in_directions(&mut self, list: &str, count: usize) -> String {
        let word = "TANGENT(";
        let mut out = String::new();
        let mut rest = list;
        while let Some(at) = rest.find(word) {
            let (before, after) = rest.split_at(at + word.len());
            let mut depth = 1;
            let end = after.bytes().position(|b| {
                depth += i32::from(b == b'(') - i32::from(b == b')');
                depth == 0
            });
            let (variable, behind) = after.split_at(end.unwrap_or(after.len()));
            let direction = self.random.below(count) + 1;
            out.push_str(&format!("{before}{variable}, {direction}"));
            rest = behind;
        }
        out + rest
    }

    fn tangent(&mut self, u: &mut Unit, v: &Var) -> String {
        let name = &v.name;
        if let Shape::Matrix { lower, whole } = v.shape {
            let value = self.value(u, 1);
            return match (self.random.below(3), u.free_loops.last().cloned()) {
                (0, _) if whole => format!("TANGENT({name}) = {value}"),
                (1, Some(i)) => {
                    let (range, j) = (self.range(lower), self.random.below(3) + 1);
                    format!("(TANGENT({name}({i}, {j})) = {value}, {i} = {range})")
                }
                _ => format!("TANGENT({}) = {value}", self.element(u, v)),
            };
        }
        let Shape::Array { lower, whole, .. } = v.shape else {
            return match self.random.below(3) {
                0 => format!("TANGENT({name}) = {}", self.value(u, 1)),
                1 => format!("TANGENT({name}) = 1"),
                _ => name.clone(),
            };
        };
        let arrays: Vec<Var> = u
            .scope
            .vars
            .iter()
            .filter(|w| w.shape != Shape::Scalar && w.shape == v.shape && w.entity != v.entity)
            .cloned()
            .collect();
        let value = self.value(u, 1);
        let outer = u.free_loops.iter().rev().nth(1).cloned();
        match (self.random.below(6), u.free_loops.last().cloned()) {
            (0, _) if whole => format!("TANGENT({name}) = {value}"),
            (1, _) if whole && !arrays.is_empty() => {
                let from = self.random.pick(&arrays);
                u.effects.reads.insert(from.entity);
                format!("TANGENT({name}) = {}", from.name)
            }
            (2, Some(i)) => {
                let range = self.range(lower);
                format!("(TANGENT({name}({i})) = {value}, {i} = {range})")
            }
            (3, Some(i)) => {
                let range = self.range(lower);
                format!("(TANGENT({name}({i})) = {name}({i})*0.5D0 + {i}, {i} = {range})")
            }
            // The last iteration counts.
            (4, Some(i)) if outer.is_some() => {
                let (range, j) = (self.range(lower), outer.unwrap_or_default());
                let value = format!("{name}({i})*0.1D0*{j}");
                format!("((TANGENT({name}({i})) = {value}, {i} = {range}), {j} = 1, 2)")
            }
            _ => format!("TANGENT({}) = {value}", self.element(u, v)),
        }
    }

    fn range(&mut self, lower: i64) -> String {
        let upper = lower + 2;
        match self.random.below(4) {
            0 => format!("{lower}, {upper}, 2"),
            1 => format!("{upper}, {lower}, -1"),
            2 => format!("{}, {upper}", lower + 1),
            _ => format!("{lower}, {upper}"),
        }
    }

    /// Returns the destinations of the tangents, and statements after the block that make them
    /// small.
    fn closing(
        &mut self,
        u: &mut Unit,
        dependent: &Var,
        independent: &Var,
        dest: &Var,
        targets: &[Var],
    ) -> (String, Vec<Item>) {
        if self.random.once_in(12) {
            return ("END ADF".into(), Vec::new());
        }
        let mut items = Vec::new();
        let mut after = Vec::new();
        let name = &dependent.name;
        let looped = u.free_loops.last().cloned();
        match (dependent.shape, dest.shape, looped) {
            (
                Shape::Array {
                    lower,
                    whole: a,
                    extent: n,
                    ..
                },
                Shape::Array {
                    lower: to,
                    whole: b,
                    extent: m,
                },
                Some(i),
            ) => {
                let element = match to - lower {
                    0 => i.clone(),
                    by if by > 0 => format!("{i}+{by}"),
                    by => format!("{i}{by}"),
                };
                let d = &dest.name;
                let range = self.range(lower);
                if a && b && n == m && self.random.once_in(2) {
                    items.push(format!("{d} = TANGENT({name})"));
                } else {
                    items.push(format!(
                        "({d}({element}) = TANGENT({name}({i})), {i} = {range})"
                    ));
                }
                for k in to..to + m {
                    after.push(line(&format!("{d}({k}) = 0.7D0*ATAN({d}({k}))")));
                }
            }
            _ => {
                let (to, from) = (self.element(u, dest), self.element(u, dependent));
                items.push(format!("{to} = TANGENT({from})"));
                after.push(line(&format!("{to} = 0.7D0*ATAN({to})")));
            }
        }
        if self.random.once_in(3) {
            let second = self.random.pick(targets).clone();
            let of = if self.random.once_in(2) {
                independent
            } else {
                dependent
            };
            if second.entity != dest.entity {
                u.effects.writes.insert(second.entity);
                let (to, from) = (self.element(u, &second), self.element(u, of));
                items.push(format!("{to} = TANGENT({from})"));
                after.push(line(&format!("{to} = 0.7D0*ATAN({to})")));
            }
        }
        (format!("END ADF({})", items.join(", ")), after)
    }
}
