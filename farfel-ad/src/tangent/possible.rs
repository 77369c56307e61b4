//! Determines which statements have a tangent in their present form.
//!
//! Both [`needs`](super::needs) and the generator ask for this: the former by the source alone, before
//! anything is generated, so that the program comes in forms in which all of it has tangents; the generator
//! at each statement, by the tangents that it has made so far.

use crate::activity::{Problem, Site, is_pop};
use crate::calls::{CallSite, calls_in};
use crate::legal::cleared::clears;
use crate::locations::{Set, differentiable};
use farfel_lang::intrinsics::{Intrinsic, Op, Shape};
use farfel_lang::ir::{DoControl, Expr, ExprKind, SymId, Type};

/// A statement, and what is active there.
#[derive(Clone, Copy)]
pub(super) struct StatementActivity<'a> {
    pub problem: &'a Problem<'a>,
    /// The locations that are varied while it is executed.
    pub varied: &'a Set,
    /// The live derivatives after it.
    pub after: &'a Set,
    /// These, and those that are live after any of the calls in it.
    pub live: &'a Set,
}

impl StatementActivity<'_> {
    /// Whether the value of an expression varies with the independent variables.
    pub fn is_varied(&self, e: &Expr) -> bool {
        let Problem { unit, space, .. } = self.problem;
        let mut from = Set::with_capacity(space.len);
        self.problem.dependence.depends(unit, space, e, &mut from);
        !from.is_disjoint(self.varied)
    }

    /// The derivatives that a call passes on. `wanted` says whether that of its result is used.
    pub fn site(&self, call: CallSite, wanted: bool) -> Option<Site> {
        self.problem.site(call, self.varied, self.live, wanted)
    }

    /// Whether the derivative of a variable is live after the statement.
    fn is_live(&self, s: SymId) -> bool {
        let Problem { unit, space, .. } = self.problem;
        differentiable(&unit.symbols[s]) && self.after.contains(space.loc(s))
    }

    /// Whether an assignment gets a tangent.
    pub fn is_active(&self, target: &Expr, value: &Expr) -> bool {
        let Problem { unit, space, .. } = self.problem;
        target.base().is_some_and(|s| {
            differentiable(&unit.symbols[s])
                && (self.is_live(s)
                    || is_pop(unit, value) && self.is_varied(value)
                    || clears(unit, target, value) && self.varied.contains(space.loc(s)))
        })
    }

    /// Whether the variable of a loop has a live derivative, which the loop changes.
    pub fn is_live_counter(&self, control: &DoControl) -> bool {
        matches!(control, DoControl::Count { var, .. } if self.is_live(*var))
    }

    /// Whether the variable of a loop has a live derivative and its start or step varies. Nothing can be done
    /// about this between the iterations.
    pub fn counts_active(&self, control: &DoControl) -> bool {
        let DoControl::Count { from, step, .. } = control else {
            return false;
        };
        self.is_live_counter(control)
            && (self.is_varied(from) || step.as_ref().is_some_and(|s| self.is_varied(s)))
    }

    /// Whether an expression calls a procedure with derivatives, even if that of its result is not used. Such
    /// a call must come before the statement: conditions of DO WHILE and implied DOs have no place for it.
    pub fn calls_active(&self, e: &Expr) -> bool {
        let mut found = false;
        calls_in(self.problem.unit, e, &mut |call| {
            found |= matches!(self.site(call, false), Some(Site::Known(_)));
        });
        found
    }
}

/// Whether an actual argument that is not a variable lacks a variable for its tangent. There is none for an
/// array expression whose tangent the callee assigns, and none for an array expression in several directions.
pub(super) fn lacks_variable(is_array: bool, is_result: bool, several: bool) -> bool {
    is_array && (is_result || several)
}

/// An actual argument of an intrinsic function.
pub(super) struct Operand<'e> {
    /// Its keyword, if it has one.
    pub keyword: Option<&'e str>,
    /// Whether it is an array.
    pub array: bool,
    /// Whether its tangent is an array, if it has one.
    pub tangent: Option<bool>,
}

impl<'e> Operand<'e> {
    /// The keyword of an argument.
    pub fn keyword_of(e: &'e Expr) -> Option<&'e str> {
        match &e.kind {
            ExprKind::Keyword(name, _) => Some(name),
            _ => None,
        }
    }
}

/// Why a reference to an intrinsic function has no tangent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// In a pattern: the result is an array whose elements depend on other elements.
    Pattern,
    /// The tangent of a scalar counts for each element of an array.
    Spread,
    /// The result has values from other arguments than the array.
    Fills,
    /// Each element needs its own case distinction.
    EachElement,
    /// Arguments have keywords.
    Keywords,
    /// There is no rule.
    NoRule,
}

impl Obstacle {
    /// The reason and a suggestion, for the message.
    pub fn message(self) -> [&'static str; 2] {
        let elements = "write a DO loop over the elements";
        match self {
            Obstacle::Pattern => [
                "patterns do not go through functions that give arrays",
                elements,
            ],
            Obstacle::Spread => [
                "the derivative of a scalar would be spread over an array",
                elements,
            ],
            Obstacle::Fills => ["fills up with other values", elements],
            Obstacle::EachElement => ["needs a case distinction for each element", elements],
            Obstacle::Keywords => ["has keyword arguments", "write them by position"],
            Obstacle::NoRule => [
                "derivatives would go through this",
                "compute the value by other functions, or in a DO loop; then it can be differentiated",
            ],
        }
    }

    /// Whether the obstacle may disappear when array statements are written element by element. For a scalar,
    /// either there is a rule or there is none.
    pub fn goes_by_elements(self, i: &Intrinsic, operands: &[Operand]) -> bool {
        let keywords = operands.iter().any(|o| o.keyword.is_some());
        self != Obstacle::NoRule || i.shape != Shape::Elemental || keywords
    }
}

/// The keywords of arguments of linear functions other than the array. These arguments do not vary and apply
/// to the derivative as well.
const PASSIVE: [&str; 9] = [
    "DIM", "MASK", "SHAPE", "ORDER", "NCOPIES", "SHIFT", "I", "KIND", "BACK",
];

/// The index of the argument that a linear function is linear in.
pub(super) fn linear_in(operands: &[Operand]) -> usize {
    let array = |o: &Operand| o.keyword.is_none_or(|k| !PASSIVE.contains(&k));
    operands.iter().position(array).unwrap_or(0)
}

/// Returns why a reference to an intrinsic function with these arguments has no tangent, if it has none.
/// `gives_array` says whether its value is an array. In a `pattern`, cases are not distinguished.
pub(super) fn obstacle(
    i: &Intrinsic,
    operands: &[Operand],
    gives_array: bool,
    pattern: bool,
) -> Option<Obstacle> {
    if operands.iter().all(|o| o.tangent.is_none()) {
        return None;
    }
    let arrays = operands.iter().any(|o| o.array);
    if pattern && arrays && i.shape != Shape::Elemental {
        return gives_array.then_some(Obstacle::Pattern);
    }
    let keywords = operands.iter().any(|o| o.keyword.is_some());
    let spread = || operands.iter().any(|o| o.array && o.tangent == Some(false));
    match i.op {
        Op::Opaque if !keywords && special(i, operands.len()).is_some() => None,
        Op::Linear | Op::Bilinear | Op::Opaque if spread() => Some(Obstacle::Spread),
        Op::Linear => {
            let fills = matches!(i.name, "EOSHIFT" | "RESHAPE" | "PACK") && operands.len() > 2;
            let array = linear_in(operands);
            let mut all = operands.iter().enumerate();
            let others = all.any(|(k, o)| k != array && o.tangent.is_some());
            (fills || others).then_some(Obstacle::Fills)
        }
        Op::Bilinear => None,
        Op::Merge => keywords.then_some(Obstacle::NoRule),
        Op::Opaque => Some(Obstacle::NoRule),
        _ if keywords => Some(Obstacle::Keywords),
        Op::Gamma | Op::LogGamma => arrays.then_some(Obstacle::EachElement),
        _ => None,
    }
}

/// The functions with special rules: the names that [`special`] gives the rules, and the numbers of arguments.
const SPECIAL: &[(&str, usize)] = &[
    ("ASINH", 1),
    ("ACOSH", 1),
    ("ATANH", 1),
    ("COTAN", 1),
    ("SIND", 1),
    ("COSD", 1),
    ("TAND", 1),
    ("COTAND", 1),
    ("ASIND", 1),
    ("ACOSD", 1),
    ("ATAND", 1),
    ("ATAN2D", 2),
    ("J0", 1),
    ("J1", 1),
    ("JN", 2),
    ("Y0", 1),
    ("Y1", 1),
    ("YN", 2),
    ("ERFC_SCALED", 1),
    ("NEAREST", 2),
    ("HYPOT", 2),
    ("NORM2", 1),
    ("COMPLEX", 2),
];

/// The name of the special rule of a function, if it has one.
pub(super) fn special(i: &Intrinsic, arguments: usize) -> Option<&'static str> {
    // DASINH and ASINH have the same rule; DBESJ0 and BESJ0 are BESSEL_J0.
    let name = match (i.name, i.takes) {
        (name, Some(Type::Real(8))) => name.strip_prefix('D').unwrap_or(name),
        (name, _) => name.strip_prefix("DBES").map_or(name, |_| &name[1..]),
    };
    let name = match name.strip_prefix("BES") {
        Some(kind) => kind.strip_prefix("SEL_").unwrap_or(kind),
        None => name,
    };
    let mut rules = SPECIAL.iter();
    let rule = rules.find(|(rule, count)| *rule == name && *count == arguments);
    rule.map(|(name, _)| *name)
}
