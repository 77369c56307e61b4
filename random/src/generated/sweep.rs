//! Generates typical loops over arrays, and single-precision arithmetic.

use super::Item;
use super::scope::{Shape, Var};
use super::unit::{CaseBuilder, Unit, line};

/// Returns the element with subscript `i`, counted from the lower bound and shifted.
fn at(v: &Var, i: &str, shift: i64) -> String {
    let lower = match v.shape {
        Shape::Array { lower, .. } | Shape::Matrix { lower, .. } => lower,
        _ => return v.name.clone(),
    };
    format!("{}({i}+({}))", v.name, lower - 1 + shift)
}

impl CaseBuilder<'_> {
    /// Returns a loop over arrays: independent iterations, a recurrence, a sum, or a product with a
    /// matrix.
    pub fn sweep(&mut self, u: &mut Unit) -> Vec<Item> {
        let is_array = |s| matches!(s, Shape::Array { .. });
        let targets: Vec<Var> = self.assignable(u, is_array);
        let arrays: Vec<Var> = u.scope.vars.clone();
        let matrix = arrays
            .iter()
            .find(|v| matches!(v.shape, Shape::Matrix { .. }));
        let arrays: Vec<Var> = arrays
            .iter()
            .filter(|v| is_array(v.shape))
            .cloned()
            .collect();
        let (Some(i), false, false) = (u.free_loops.pop(), targets.is_empty(), arrays.is_empty())
        else {
            return self.rough(u);
        };
        let (x, y) = (
            self.random.pick(&arrays).clone(),
            self.random.pick(&targets).clone(),
        );
        u.effects.reads.extend([x.entity, y.entity]);
        u.effects.writes.insert(y.entity);
        // A factor that does not change between iterations.
        let factor = self.value(u, 1);
        let mut out = Vec::new();
        let (to, from) = (at(&y, &i, 0), at(&x, &i, 0));
        let mut range = "1, 3";
        match self.random.below(7) {
            0 => {
                out.push(line(&format!("{to} = SIN({from})*{factor}")));
                if self.random.once_in(2) {
                    out.push(line(&format!("{to} = 0.4D0*{to} - {to}*{from}*0.3D0")));
                }
            }
            // Each element from the one before it, or from the one after it.
            1 => {
                range = *self.random.pick(&["2, 3", "3, 2, -1"]);
                let before = at(&y, &i, -1);
                out.push(line(&format!(
                    "{to} = 0.6D0*SIN({before}*{to}) + 0.2D0*{from}*{factor}"
                )));
            }
            2 => {
                range = *self.random.pick(&["1, 2", "2, 1, -1"]);
                let next = at(&y, &i, 1);
                out.push(line(&format!(
                    "{to} = 0.5D0*{next}*COS({to}) - 0.1D0*{from}"
                )));
            }
            // Sums.
            3 | 4 => {
                let Some((_, sum)) = self.target(u) else {
                    u.free_loops.push(i);
                    return Vec::new();
                };
                out.push(line(&match self.random.below(3) {
                    0 => format!("{sum} = {sum} + 0.2D0*{from}*{to}"),
                    1 => format!("{sum} = 0.5D0*{sum} + SIN({from})*{factor}"),
                    _ => format!("{sum} = 0.9D0*MAX(0D0 + {sum}, {from}*0.8D0)"),
                }));
                let after = line(&format!("{sum} = 1.3D0*ATAN({sum})"));
                let before = line(&format!("{sum} = SIN({sum})"));
                let before = self.random.once_in(2).then_some(before);
                let out = self.closed(u, i, range, out);
                return before.into_iter().chain([out, after]).collect();
            }
            // A computed subscript.
            5 => {
                let place = format!("MOD(2*{i},3)+1");
                let (there, here) = (at(&y, &place, 0), at(&x, &place, 0));
                out.push(line(&format!(
                    "{there} = 0.4D0*{there} + SIN({here}*{factor})*0.5D0"
                )));
            }
            // A column of a matrix.
            _ if !u.levels.is_empty() && matrix.is_some() && self.random.once_in(2) => {
                let Some(m) = matrix.cloned() else {
                    u.free_loops.push(i);
                    return Vec::new();
                };
                let Shape::Matrix { lower, .. } = m.shape else {
                    u.free_loops.push(i);
                    return Vec::new();
                };
                u.effects.reads.insert(m.entity);
                let level = self.random.pick(&u.levels).clone();
                let element = format!("{}({i}+({}), {level})", m.name, lower - 1);
                out.push(line(&match m.assignable && self.random.below(3) < 2 {
                    true => {
                        u.effects.writes.insert(m.entity);
                        format!("{element} = 0.7D0*{element} + 0.2D0*SIN({from})*{factor}")
                    }
                    false => format!("{to} = 0.6D0*{to} + 0.3D0*{element}*SIN({from})"),
                }));
            }
            _ => match (matrix.cloned(), u.free_loops.pop()) {
                (Some(m), Some(j)) => {
                    let Shape::Matrix { lower, .. } = m.shape else {
                        u.free_loops.extend([j, i]);
                        return Vec::new();
                    };
                    u.effects.reads.insert(m.entity);
                    let element = format!("{}({i}+({}), {j})", m.name, lower - 1);
                    let inner = at(&x, &j, 0);
                    let text = match m.assignable && self.random.once_in(3) {
                        true => {
                            u.effects.writes.insert(m.entity);
                            format!(
                                "{element} = 0.8D0*{element} + 0.1D0*{from}*{}",
                                at(&y, &j, 0)
                            )
                        }
                        false => format!("{to} = 0.7D0*{to} + 0.2D0*{element}*SIN({inner})"),
                    };
                    let first = *self.random.pick(&["1, 3", "1, 3", "1, I", "I, 3"]);
                    let first = first.replace('I', &i);
                    let inside = self.closed(u, j, &first, vec![line(&text)]);
                    out.push(inside);
                }
                (_, j) => {
                    u.free_loops.extend(j);
                    out.push(line(&format!("{to} = COS({from}*{factor})")));
                }
            },
        }
        vec![self.closed(u, i, range, out)]
    }

    /// Returns a loop with these statements.
    fn closed(&mut self, u: &mut Unit, i: String, range: &str, body: Vec<Item>) -> Item {
        let mut out = vec![line(&format!("DO {i} = {range}"))];
        out.extend(body);
        out.push(line("END DO"));
        u.free_loops.push(i);
        Item::Group(out)
    }

    /// Returns an assignment in single precision, if there is a variable for it.
    pub fn rough(&mut self, u: &mut Unit) -> Vec<Item> {
        let singles = |v: &&Var| v.single && v.shape.is_number();
        let all: Vec<Var> = u.scope.vars.iter().filter(singles).cloned().collect();
        let targets: Vec<Var> = all.iter().filter(|v| v.assignable).cloned().collect();
        if targets.is_empty() {
            let value = self.value(u, 2);
            return match self.target(u) {
                Some((_, target)) => vec![line(&format!("{target} = {value}"))],
                None => Vec::new(),
            };
        }
        let to = self.random.pick(&targets).clone();
        let (a, b) = (
            self.random.pick(&all).clone(),
            self.random.pick(&all).clone(),
        );
        u.effects.reads.extend([a.entity, b.entity]);
        u.effects.writes.insert(to.entity);
        let (a, b, to) = (
            self.element(u, &a),
            self.element(u, &b),
            self.element(u, &to),
        );
        let value = self.value(u, 1);
        vec![line(&match self.random.below(7) {
            0 => format!("{to} = SIN({a} + {b})"),
            1 => format!("{to} = 0.6*{a}*COS({b})"),
            2 => format!("{to} = MAX({a}, {b})*0.9"),
            3 => format!("{to} = {value}"),
            4 => format!("{to} = SIN({value})*{a}"),
            5 => format!("{to} = SQRT(1.0 + {a}**2)*0.7 - ABS({b} + 0.0171)"),
            _ => format!("{to} = DPROD(SIN({a}), {b}) + {value}*0.3D0"),
        })]
    }
}
