//! Generates statements with array sections, and WHERE.

use super::Item;
use super::expression::integers;
use super::scope::{Shape, Var};
use super::unit::{CaseBuilder, Unit, line};

/// The size of the array sections in a statement.
#[derive(Clone)]
enum Size {
    /// This many elements of a vector.
    Line(i64),
    /// As many elements as an expression says that the program computes, from 0 to 3.
    UpTo(String),
    /// Rows and columns.
    Block(i64, i64),
}

impl Size {
    /// Whether an array has a section of this size.
    fn fits(&self, shape: Shape) -> bool {
        match (shape, self) {
            (Shape::Array { extent, .. }, Size::Line(n)) => *n <= extent,
            (Shape::Array { extent, .. }, Size::UpTo(_)) => extent >= 3,
            (Shape::Matrix { .. }, _) => true,
            _ => false,
        }
    }
}

impl CaseBuilder<'_> {
    /// Chooses a size that some array has, preferably one that can be assigned.
    fn size(&mut self, u: &mut Unit) -> Size {
        let matrices = |v: &&Var| matches!(v.shape, Shape::Matrix { .. });
        let has_matrix = u
            .scope
            .vars
            .iter()
            .filter(|v| v.assignable)
            .any(|v| matrices(&v));
        let integers = integers(u);
        match self.random.below(8) {
            0 | 1 if has_matrix => {
                let mut sides = || 2 + self.random.below(2) as i64;
                Size::Block(sides(), sides())
            }
            2 if !u.loops.is_empty() => Size::UpTo(self.random.pick(&u.loops).clone()),
            2 | 3 if !integers.is_empty() => {
                let v = self.random.pick(&integers);
                u.effects.reads.insert(v.entity);
                // Patterns do not consider that there may be no elements.
                Size::UpTo(match self.kind.flat {
                    true => format!("(1 + MOD({}, 3))", v.name),
                    false => format!("MOD({}, 4)", v.name),
                })
            }
            4 => Size::Line(2),
            _ => Size::Line(3),
        }
    }

    /// Returns a section of an array with a size; the array must have one.
    fn part(&mut self, u: &mut Unit, v: &Var, size: &Size) -> String {
        let name = &v.name;
        let (rows, columns) = match v.shape {
            Shape::Array {
                lower,
                extent,
                whole,
            } => {
                let whole_fits = whole && matches!(size, Size::Line(n) if *n == extent);
                if whole_fits && self.random.once_in(3) {
                    return name.clone();
                }
                if let Size::Line(n) = size
                    && self.random.once_in(6)
                {
                    return format!("{name}({})", self.places(lower, extent, *n));
                }
                return format!("{name}({})", self.bounds(u, lower, extent, whole, size));
            }
            Shape::Matrix { lower, whole } => ((lower, true), (1, whole)),
            _ => return name.clone(),
        };
        if let Size::Block(m, n) = size {
            if rows.1 && columns.1 && (*m, *n) == (3, 3) && self.random.once_in(3) {
                return name.clone();
            }
            let down = self.bounds(u, rows.0, 3, rows.1, &Size::Line(*m));
            let across = self.bounds(u, columns.0, 3, columns.1, &Size::Line(*n));
            return format!("{name}({down}, {across})");
        }
        match self.random.once_in(2) {
            true => {
                let (down, j) = (self.bounds(u, rows.0, 3, rows.1, size), self.index(u, 1, 3));
                format!("{name}({down}, {j})")
            }
            false => {
                let across = self.bounds(u, columns.0, 3, columns.1, size);
                format!("{name}({}, {across})", self.index(u, rows.0, 3))
            }
        }
    }

    /// Returns a vector of subscripts.
    fn places(&mut self, lower: i64, extent: i64, count: i64) -> String {
        let mut left: Vec<i64> = (lower..lower + extent).collect();
        let mut next = || left.swap_remove(self.random.below(left.len()));
        let list: Vec<String> = (0..count).map(|_| next().to_string()).collect();
        format!("(/ {} /)", list.join(", "))
    }

    /// Returns a section of three elements as an argument; `None` if that would not work.
    pub fn three(&mut self, u: &mut Unit, v: &Var, function: bool) -> Option<String> {
        let part = self.part(u, v, &Size::Line(3));
        // gfortran 12 copies such arguments back after the assignment that contains the function,
        // overwriting whatever it has assigned.
        if part.contains("(/") {
            return None;
        }
        let steps = part.matches(':').count() > 1 || matches!(v.shape, Shape::Matrix { .. });
        (!function || !steps).then_some(part)
    }

    /// Returns the first, the last and the step of as many subscripts as required.
    fn bounds(
        &mut self,
        u: &mut Unit,
        lower: i64,
        extent: i64,
        whole: bool,
        size: &Size,
    ) -> String {
        let upper = lower + extent - 1;
        let count = match size {
            Size::Line(n) | Size::Block(n, _) => *n,
            Size::UpTo(i) => {
                return match self.random.below(4) {
                    0 => format!("{lower}+{i}-1:{lower}:-1"),
                    1 => format!("{upper}-{i}+1:{upper}"),
                    2 if extent > 5 => format!("{lower}:{lower}+2*{i}-2:2"),
                    _ => format!("{lower}:{lower}+{i}-1"),
                };
            }
        };
        let mut steps = vec![1, 1, -1, 2, -2];
        steps.retain(|s: &i64| (count - 1) * s.abs() < extent);
        let step = *self.random.pick(&steps);
        let starts = extent - (count - 1) * step.abs();
        let integers = integers(u);
        if step == 1 && starts > 1 && !integers.is_empty() && self.random.once_in(2) {
            let v = self.random.pick(&integers);
            u.effects.reads.insert(v.entity);
            let first = format!("MOD({}, {starts})+({lower})", v.name);
            return format!("{first}:{first}+{}", count - 1);
        }
        let nearest = lower + self.random.below(starts as usize) as i64;
        let farthest = nearest + (count - 1) * step.abs();
        let (first, last) = match step > 0 {
            true => (nearest, farthest),
            false => (farthest, nearest),
        };
        // Bounds may be omitted. The step makes no difference.
        let mut bound = |at: i64, open: bool| match open && self.random.once_in(2) {
            true => String::new(),
            false => at.to_string(),
        };
        let from = bound(first, first == lower);
        let to = bound(last, last == upper && whole);
        match step {
            1 => format!("{from}:{to}"),
            _ => format!("{from}:{to}:{step}"),
        }
    }

    /// Returns an expression with array sections; `None` if no array has such a section.
    fn array_value(&mut self, u: &mut Unit, size: &Size, depth: usize) -> Option<String> {
        let mut arrays = u.scope.vars.clone();
        arrays.retain(|v| size.fits(v.shape) && v.shape.is_number());
        if arrays.is_empty() {
            return None;
        }
        if depth == 0 {
            let v = self.random.pick(&arrays).clone();
            u.effects.reads.insert(v.entity);
            let part = self.part(u, &v, size);
            return Some(match v.single {
                true => format!("DBLE({part})"),
                false => part,
            });
        }
        let a = self.array_value(u, size, depth - 1)?;
        let b = self.array_value(u, size, 0)?;
        Some(match self.random.below(16) {
            13 | 14 => match size {
                Size::Line(3) if self.random.once_in(2) => {
                    let two = self.array_value(u, &Size::Line(2), 1)?;
                    format!("((/ {}, {two} /) + {a})", self.value(u, 1))
                }
                Size::Line(n) => {
                    let items: Vec<String> = (0..*n).map(|_| self.value(u, 1)).collect();
                    format!("SIN((/ {} /)*{b})", items.join(", "))
                }
                _ => a,
            },
            0 => format!("SIN({a})*{}", self.value(u, 1)),
            1 => format!("(0.4D0*{a} - 0.3D0*{b})"),
            2 => format!("({a})*{b}"),
            3 => format!("{b}/(1.5D0 + ({a})**2)"),
            4 => format!("MAX({a}, {})", self.value(u, 1)),
            5 => format!("MIN({a}, 1.1D0, {b} + 0.0213D0)"),
            6 => format!("(SQRT(1.3D0 + ({a})**2) - {b})"),
            7 => format!("EXP(-({a})**2)"),
            8 => format!("ABS({a} + 0.0173D0)"),
            9 => format!("SIGN({a} + 0.0171D0, {b} + 0.0137D0)"),
            10 => format!("({} + {a})", self.value(u, 1)),
            11 => format!("SIN({a})**2*{}", self.reduction(u)),
            12 => match self.mask(u, size) {
                Some(mask) => format!("MERGE({a}, 0.5D0*{b}, {mask})"),
                None => a,
            },
            _ => format!("COS({a} + {b})"),
        })
    }

    /// Returns a number computed from array sections.
    pub fn reduction(&mut self, u: &mut Unit) -> String {
        let size = self.size(u);
        let Some(a) = self.array_value(u, &size, 1) else {
            return self.value(u, 0);
        };
        match (self.random.below(6), &size) {
            (0 | 1, Size::Line(_) | Size::UpTo(_)) => match self.array_value(u, &size, 0) {
                Some(b) => format!("COS(DOT_PRODUCT({a}, {b}))"),
                None => self.value(u, 0),
            },
            // For an empty section this is a huge number.
            (2, Size::Line(_) | Size::Block(..)) => format!("SIN(MAXVAL({a}))"),
            (3, Size::Line(_) | Size::Block(..)) => format!("SIN(MINVAL({a}))"),
            (4, _) => format!("ATAN(PRODUCT({a}))"),
            _ => format!("SIN(SUM({a}))"),
        }
    }

    /// Returns a condition for each element that does not depend on rounding.
    fn mask(&mut self, u: &mut Unit, size: &Size) -> Option<String> {
        let a = self.array_value(u, size, 0)?;
        Some(match self.random.below(5) {
            0 => {
                let b = self.array_value(u, size, 0)?;
                format!("{a} .LT. {b} + 0.0219D0")
            }
            1 => {
                let b = self.array_value(u, size, 0)?;
                let op = self.random.pick(&[".AND.", ".OR."]);
                format!("({a} .GT. 0.1173D0) {op} .NOT. ({b} .GT. 0.3219D0)")
            }
            2 => format!("{a}*{a} .LT. 0.{}219D0", self.random.below(9)),
            _ => format!("{a} .GT. 0.{}173D0", self.random.below(9)),
        })
    }

    /// Returns an assignment to an array section.
    fn part_assignment(&mut self, u: &mut Unit, size: &Size, masked: bool) -> Option<Item> {
        let targets = self.assignable(u, |s| size.fits(s));
        if targets.is_empty() {
            return None;
        }
        let v = self.random.pick(&targets).clone();
        let value = self.array_value(u, size, 2)?;
        u.effects.writes.insert(v.entity);
        let to = self.part(u, &v, size);
        Some(line(&match self.random.below(6) {
            0 => {
                u.effects.reads.insert(v.entity);
                let from = if v.single {
                    format!("DBLE({to})")
                } else {
                    to.clone()
                };
                format!("{to} = 0.3D0*{from} - 0.6D0*COS({value})")
            }
            1 => format!("{to} = 0.7D0*ATAN({value})"),
            // In WHERE, gfortran 12 evaluates expressions without arrays again for each element.
            2 if !masked => format!("{to} = SIN({})", self.value(u, 1)),
            _ => format!("{to} = SIN({value})"),
        }))
    }

    /// Returns an assignment to an array section from sections of other arrays.
    pub fn parts(&mut self, u: &mut Unit) -> Vec<Item> {
        let size = self.size(u);
        self.part_assignment(u, &size, false).into_iter().collect()
    }

    /// Returns an assignment to sections of the dependent array from sections of the independent
    /// one.
    pub fn parts_of(&mut self, u: &mut Unit, from: &Var, to: &Var) -> Option<Item> {
        let size = self.size(u);
        if !size.fits(to.shape) {
            return None;
        }
        let from = match from.shape {
            shape if size.fits(shape) => self.part(u, from, &size),
            _ => self.element(u, from),
        };
        let (target, factor) = (self.part(u, to, &size), self.value(u, 1));
        let more = self.array_value(u, &size, 1)?;
        Some(line(&format!(
            "{target} = SIN({from})*{factor} + 0.4D0*SIN({more})"
        )))
    }

    /// Returns assignments to some elements.
    pub fn masked(&mut self, u: &mut Unit) -> Vec<Item> {
        let size = self.size(u);
        let Some(mask) = self.mask(u, &size) else {
            return Vec::new();
        };
        if self.random.once_in(2) {
            let condition = match self.random.once_in(4) {
                true => format!("IF ({}) ", self.condition(u)),
                false => String::new(),
            };
            return match self.part_assignment(u, &size, true) {
                Some(Item::Line(s)) => vec![line(&format!("{condition}WHERE ({mask}) {s}"))],
                _ => Vec::new(),
            };
        }
        let mut out = vec![line(&format!("WHERE ({mask})"))];
        let arms = self.random.below(3);
        for arm in 0..=arms {
            let before = out.len();
            if arm > 0 {
                let mask = match arm == 1 && self.random.once_in(2) {
                    true => self.mask(u, &size),
                    false => None,
                };
                let text = mask
                    .as_ref()
                    .map_or("ELSEWHERE".into(), |m| format!("ELSEWHERE ({m})"));
                out.push(line(&text));
                // The last branch.
                if mask.is_none() {
                    out.extend(self.part_assignment(u, &size, true));
                    break;
                }
            }
            for _ in 0..self.random.below(2) + 1 {
                out.extend(self.part_assignment(u, &size, true));
            }
            if out.len() - before < 1 + usize::from(arm > 0) || before == 0 {
                return Vec::new();
            }
        }
        out.push(line("END WHERE"));
        vec![Item::Group(out)]
    }
}
