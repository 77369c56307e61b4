//! Assigns the most frequent value of a generated variable before the branches that would assign it.
//!
//! ```fortran
//!       IF (N .LT. 0) THEN                  IWAY = 2
//!         IWAY = 1                          IF (N .LT. 0) THEN
//!       ELSE IF (N .EQ. 0) THEN               IWAY = 1
//!         CALL F(X)                         ELSE IF (N .EQ. 0) THEN
//!         IWAY = 2                            CALL F(X)
//!       ELSE                                END IF
//!         IWAY = 2
//!       END IF
//! ```
//!
//! These are the variables that take the place of jumps, and those that record for a reverse sweep which arm was executed.
//! Nothing may read the variable in the branches, and either all paths through them assign it, or nothing else assigns a
//! variable that takes the place of jumps: on the other paths, it has no value that is used.

use super::empty_arms::{as_if, without_empty_arms, without_empty_cases};
use super::increments::assignment;
use crate::legal::structure::calls;
use farfel_lang::Span;
use farfel_lang::ir::{
    Block, BlockDelimiter, Expr, ExprKind, Name, Origin, Stmt, StmtKind, SymId, Unit,
    for_each_symbol, walk_block,
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Assigns frequent values before branches in a block. `pushes` are the subprograms that only read their first arguments;
/// `generated` tells whether a variable is a generated scalar that nothing else shares.
pub(super) fn assign_before_branches(
    unit: &Unit,
    pushes: &HashSet<Name>,
    generated: &dyn Fn(SymId) -> bool,
    body: &mut Block,
) {
    let mut pass = Pass {
        unit,
        generated,
        assigned: HashMap::new(),
    };
    pass.assigned = pass.assigned_in(pushes, body);
    pass.block(body);
}

/// A value that is the same whenever it is assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Constant {
    Int(i64),
    Logical(bool),
}

impl Constant {
    fn to_expr(self, span: Span) -> Expr {
        match self {
            Constant::Int(n) => Expr::int(n, span),
            Constant::Logical(value) => Expr::logical(value, span),
        }
    }
}

/// The statements of a unit that may assign a variable.
#[derive(Default)]
struct Assigned {
    /// The number of those that assign a constant.
    constants: usize,
    /// Whether there are others.
    otherwise: bool,
}

/// How a statement and those in it name a variable.
#[derive(Default)]
struct Use {
    /// By value, the number of assignments.
    constants: BTreeMap<Constant, usize>,
    /// Whether it is named in another way, too.
    otherwise: bool,
}

struct Pass<'a> {
    unit: &'a Unit,
    generated: &'a dyn Fn(SymId) -> bool,
    assigned: HashMap<SymId, Assigned>,
}

impl Pass<'_> {
    fn assigned_in(&self, pushes: &HashSet<Name>, body: &Block) -> HashMap<SymId, Assigned> {
        let mut found: HashMap<SymId, Assigned> = HashMap::new();
        walk_block(body, &mut |s| {
            if let Some((v, _)) = self.constant(s) {
                found.entry(v).or_default().constants += 1;
                return;
            }
            let reads = match &s.kind {
                StmtKind::Call(f, _) => pushes.contains(&self.unit.symbols[*f].name),
                StmtKind::Assign(target, _) => {
                    if let ExprKind::Var(v) = target.kind {
                        found.entry(v).or_default().otherwise = true;
                    }
                    true
                }
                _ => !s.blocks().is_empty(),
            };
            let mut other = |v: SymId| found.entry(v).or_default().otherwise = true;
            // The variable of a loop.
            s.for_each_own_symbol(&mut other);
            if !reads {
                for_each_symbol(std::slice::from_ref(s), &mut other);
            }
        });
        found
    }

    /// The generated variable to which a statement assigns a constant.
    fn constant(&self, s: &Stmt) -> Option<(SymId, Constant)> {
        let (target, value) = assignment(s).filter(|_| s.label.is_none())?;
        let ExprKind::Var(v) = target.kind else {
            return None;
        };
        let constant = match value.kind {
            ExprKind::Int(n) => Constant::Int(n),
            ExprKind::Logical(value) => Constant::Logical(value),
            _ => return None,
        };
        (self.generated)(v).then_some((v, constant))
    }

    fn block(&self, block: &mut Block) {
        let mut done = Block::with_capacity(block.len());
        for mut s in std::mem::take(block) {
            while let Some(before) = self.take_default(&mut s) {
                done.push(before);
            }
            if !matches!(s.kind, StmtKind::Where(_)) {
                for inner in s.blocks_mut() {
                    self.block(inner);
                }
            }
            done.push(s);
        }
        *block = done;
    }

    /// Takes a value out of the branches of a statement that is to be assigned before it. Returns the assignment.
    fn take_default(&self, s: &mut Stmt) -> Option<Stmt> {
        if !is_plain_branch(s) {
            return None;
        }
        for (variable, of) in self.uses(s)? {
            if of.otherwise || of.constants.is_empty() {
                continue;
            }
            let own: usize = of.constants.values().sum();
            let only_here = self.unit.symbols[variable].origin == Origin::Jump
                && self
                    .assigned
                    .get(&variable)
                    .is_some_and(|all| !all.otherwise && all.constants == own);
            if !only_here && !assigns(std::slice::from_ref(s), variable, self) {
                continue;
            }
            // Of two that save as much, the one of the last arm, which is the larger number.
            let shorter = of.constants.keys().filter_map(|value| {
                let mut without = vec![s.clone()];
                let mut others = false;
                self.remove(&mut without, variable, *value, &mut others);
                self.tidy(&mut without);
                let shorter = lines(std::slice::from_ref(s)).checked_sub(lines(&without) + 1)?;
                (shorter > 0).then_some((shorter, *value, without))
            });
            let Some((_, value, mut without)) = shorter.max_by_key(|(n, value, _)| (*n, *value))
            else {
                continue;
            };
            let span = s.span;
            *s = without.pop()?;
            let target = Expr::var(variable, span);
            return Some(Stmt::assign(target, value.to_expr(span), span));
        }
        None
    }

    /// How the branches of a statement name generated variables, in the order of their first assignments. `None` if there
    /// are jumps or labels in them.
    fn uses(&self, s: &Stmt) -> Option<Vec<(SymId, Use)>> {
        let mut found: HashMap<SymId, Use> = HashMap::new();
        let mut order = Vec::new();
        let mut plain = true;
        s.walk(&mut |inner| {
            plain &= inner.label.is_none() && !jumps(inner);
            if let StmtKind::LogicalIf(_, action) = &inner.kind {
                plain &= !jumps(action);
            }
            if let Some((v, constant)) = self.constant(inner) {
                if !found.contains_key(&v) {
                    order.push(v);
                }
                let of = found.entry(v).or_default();
                *of.constants.entry(constant).or_default() += 1;
                return;
            }
            let mut named = |v: SymId| {
                if (self.generated)(v) {
                    found.entry(v).or_default().otherwise = true;
                }
            };
            if inner.blocks().is_empty() {
                for_each_symbol(std::slice::from_ref(inner), &mut named);
            } else {
                inner.for_each_own_symbol(&mut named);
                inner.for_each_own_expr(&mut |e| e.for_each_symbol(&mut named));
            }
        });
        let uses = order.into_iter();
        let uses = uses.filter_map(|v| found.remove(&v).map(|of| (v, of)));
        plain.then(|| uses.collect())
    }

    /// Removes the assignments of a value that the variable still has from before the block, because nothing has assigned
    /// others.
    fn remove(&self, block: &mut Block, variable: SymId, value: Constant, others: &mut bool) {
        block.retain_mut(|s| {
            match self.constant(s) {
                Some((v, constant)) if v == variable => {
                    let stays = constant != value || *others;
                    *others = constant != value;
                    return stays;
                }
                _ => {}
            }
            let repeated = matches!(s.kind, StmtKind::Do(_));
            let before = *others
                || repeated && self.assigns_another(std::slice::from_ref(s), variable, value);
            let mut after = *others;
            for inner in s.blocks_mut() {
                let mut in_arm = before;
                self.remove(inner, variable, value, &mut in_arm);
                after |= in_arm;
            }
            *others = after;
            true
        });
    }

    /// Whether statements assign another value to a variable.
    fn assigns_another(&self, block: &[Stmt], variable: SymId, value: Constant) -> bool {
        let mut found = false;
        for s in block {
            s.walk(&mut |s| {
                found |= self
                    .constant(s)
                    .is_some_and(|(v, constant)| v == variable && constant != value);
            });
        }
        found
    }

    /// Removes arms without statements, and branches in which no arm is left.
    fn tidy(&self, block: &mut Block) {
        let pure = |c: &Expr| !calls(self.unit, c);
        for s in block.iter_mut() {
            for inner in s.blocks_mut() {
                self.tidy(inner);
            }
            match &mut s.kind {
                StmtKind::If(b) if is_plain(b.name.is_none(), b.end_label, &b.marks) => {
                    without_empty_arms(self.unit, b, &pure);
                }
                StmtKind::Select(select) => {
                    without_empty_cases(select);
                    if let Some(simpler) = as_if(select) {
                        s.kind = simpler;
                    }
                }
                _ => {}
            }
        }
        let nothing = |s: &Stmt| match &s.kind {
            StmtKind::If(b) => {
                b.blocks().iter().all(|b| b.is_empty()) && b.arms.iter().all(|(c, _)| pure(c))
            }
            StmtKind::Select(select) => select.cases.is_empty() && pure(&select.selector),
            _ => false,
        };
        // The statement itself stays: something follows from it.
        if let [only] = block.as_slice()
            && nothing(only)
        {
            return;
        }
        block.retain(|s| !nothing(s));
    }
}

fn is_plain(unnamed: bool, end: Option<u32>, marks: &[BlockDelimiter]) -> bool {
    unnamed && end.is_none() && marks.iter().all(|m| m.label.is_none())
}

/// Whether a statement is an IF or a SELECT CASE without names and labels.
fn is_plain_branch(s: &Stmt) -> bool {
    let plain = match &s.kind {
        StmtKind::If(b) => is_plain(b.name.is_none(), b.end_label, &b.marks),
        StmtKind::Select(select) => {
            select.name.is_none()
                && select.end.label.is_none()
                && select.cases.iter().all(|c| c.mark.label.is_none())
        }
        _ => false,
    };
    plain && s.label.is_none()
}

/// Whether all paths through statements that only assign constants to a variable do so.
fn assigns(block: &[Stmt], variable: SymId, pass: &Pass) -> bool {
    block.iter().any(|s| match &s.kind {
        StmtKind::If(b) => {
            b.otherwise.is_some() && b.blocks().iter().all(|b| assigns(b, variable, pass))
        }
        StmtKind::Select(select) => {
            select.cases.iter().any(|c| c.values.is_none())
                && select
                    .cases
                    .iter()
                    .all(|c| assigns(&c.body, variable, pass))
        }
        _ => pass.constant(s).is_some_and(|(v, _)| v == variable),
    })
}

/// About the number of lines of statements.
fn lines(block: &[Stmt]) -> usize {
    block
        .iter()
        .map(|s| {
            let inner: usize = s.blocks().iter().map(|b| lines(b)).sum();
            let own = match &s.kind {
                StmtKind::If(b) => b.arms.len() + usize::from(b.otherwise.is_some()) + 1,
                StmtKind::Select(select) => select.cases.len() + 2,
                _ if s.blocks().is_empty() => 1,
                _ => 2,
            };
            own + inner
        })
        .sum()
}

/// Whether a statement may continue elsewhere than with the next one.
fn jumps(s: &Stmt) -> bool {
    matches!(
        s.kind,
        StmtKind::Goto(_)
            | StmtKind::ComputedGoto(..)
            | StmtKind::AssignedGoto(..)
            | StmtKind::ArithmeticIf(..)
            | StmtKind::Exit(_)
            | StmtKind::Cycle(_)
            | StmtKind::Return(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfel_lang::{Sources, resolve::resolve, syntax};

    /// The values that a subroutine assigns to IWAY, which takes the place of jumps, in the order of the text.
    fn assigned(body: &str) -> Vec<Constant> {
        let mut sources = Sources::new();
        let text = format!("      SUBROUTINE S(A, B)\n      REAL A, B\n{body}      END\n");
        let file = sources.add("s.f", text);
        let mut parsed = syntax::parse(&mut sources, file, None, &mut syntax::NoIncludes);
        let errors = resolve(&mut parsed.program);
        assert!(errors.is_empty(), "{errors:?}");
        let unit = &mut parsed.program.units[0];
        let way = unit.symbols.find("IWAY").unwrap();
        unit.symbols[way].origin = Origin::Jump;
        let mut block = std::mem::take(&mut unit.body);
        assign_before_branches(unit, &HashSet::new(), &|s| s == way, &mut block);
        let pass = Pass {
            unit,
            generated: &|s| s == way,
            assigned: HashMap::new(),
        };
        let mut found = Vec::new();
        for s in &block {
            s.walk(&mut |s| found.extend(pass.constant(s).map(|(_, value)| value)));
        }
        found
    }

    fn numbers(all: &[i64]) -> Vec<Constant> {
        all.iter().copied().map(Constant::Int).collect()
    }

    #[test]
    fn the_most_frequent_value_moves() {
        let body = "      IF (A .GT. 0) THEN\n        IWAY = 1\n      ELSE IF (A .LT. -1) THEN\n        B = A\n        \
                    IWAY = 2\n      ELSE\n        IWAY = 2\n      END IF\n      IF (IWAY .EQ. 2) THEN\n        B = 0\n      END IF\n";
        assert_eq!(assigned(body), numbers(&[2, 1]));
        // Not every path assigns it, but nothing else does.
        let body = "      IF (A .GT. 0) THEN\n        B = A\n        IWAY = 2\n      ELSE IF (A .LT. -1) THEN\n        B = 2\n        \
                    IWAY = 2\n      END IF\n      IF (IWAY .EQ. 2) THEN\n        B = 0\n      END IF\n";
        assert_eq!(assigned(body), numbers(&[2]));
    }

    #[test]
    fn a_value_after_another_one_stays() {
        let last = "      ELSE IF (A .LT. -1) THEN\n        IWAY = 2\n      ELSE\n        B = 1\n        IWAY = 2\n      END IF\n      \
                    IF (IWAY .EQ. 2) THEN\n        B = 0\n      END IF\n";
        let first = [
            // One after the other, and in a branch behind another one.
            "        IWAY = 1\n        B = A\n        IWAY = 2\n",
            "        IF (B .GT. 0) THEN\n          A = 1\n          IWAY = 1\n        END IF\n        B = A\n        IWAY = 2\n",
            // In the iteration before.
            "        DO I = 1, 3\n          IF (B .GT. I) THEN\n            A = 1\n            IWAY = 2\n          ELSE\n            \
             B = 1\n            IWAY = 1\n          END IF\n        END DO\n",
        ];
        let expected: [&[i64]; 3] = [&[2, 1, 2], &[2, 1, 2], &[2, 2, 1]];
        for (arm, expected) in first.iter().zip(expected) {
            let body = format!("      IF (A .GT. 0) THEN\n{arm}{last}");
            assert_eq!(assigned(&body), numbers(expected), "{body}");
        }
    }

    #[test]
    fn nothing_moves_where_another_value_may_be_read() {
        let bodies = [
            // It is read in a branch.
            "      IWAY = 1\n      IF (A .GT. 0) THEN\n        IF (IWAY .EQ. 1) B = 1\n        IWAY = 2\n      ELSE\n        B = 2\n        \
             IWAY = 2\n      END IF\n      IF (IWAY .EQ. 2) THEN\n        B = 0\n      END IF\n",
            // A path keeps the value from before.
            "      IWAY = 1\n      IF (A .GT. 0) THEN\n        B = A\n        IWAY = 2\n      ELSE IF (A .LT. -1) THEN\n        B = 2\n        \
             IWAY = 2\n      END IF\n      IF (IWAY .EQ. 2) THEN\n        B = 0\n      END IF\n",
            // A path leaves the branches before.
            "      IWAY = 1\n      IF (A .GT. 0) THEN\n        IF (B .GT. 0) GOTO 10\n        IWAY = 2\n      ELSE\n        B = 2\n        \
             IWAY = 2\n      END IF\n   10 IF (IWAY .EQ. 2) THEN\n        B = 0\n      END IF\n",
        ];
        for body in bodies {
            assert_eq!(assigned(body), numbers(&[1, 2, 2]), "{body}");
        }
    }
}
