//! Checks several directions in one sweep: `DIRECTIONS = n` and `PATTERN = n`.

use super::Checker;
use super::blocks::DerivativeList;
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{AdAssign, AdMode, Expr, Type, Unit, VectorMode};
use crate::storage::constant::integer;
use crate::types::{rank, type_of};

impl Checker<'_, '_> {
    /// Checks the number of directions.
    pub(super) fn vector_mode(
        &mut self,
        unit: &Unit,
        mode: AdMode,
        vector_mode: &VectorMode,
        doubt: &dyn Fn(&Expr) -> bool,
    ) {
        let VectorMode { count, .. } = vector_mode;
        let word = vector_mode.word();
        if mode == AdMode::Reverse && vector_mode.pattern {
            self.error(
                Diagnostic::error(
                    &rules::AD_DIRECTIONS,
                    count.span,
                    format!("ADR blocks have no {word}"),
                )
                .help("an ADF block tells which derivatives can be other than zero"),
            );
            return;
        }
        if doubt(count) {
            return;
        }
        self.value(unit, count, false);
        self.whole_number(unit, count, "the number of directions");
        if integer(unit, count).is_some_and(|n| n < 1) {
            self.error(
                Diagnostic::error(
                    &rules::BAD_CONSTANT,
                    count.span,
                    "there must be at least one direction",
                )
                .label(word),
            );
        }
    }

    fn whole_number(&mut self, unit: &Unit, e: &Expr, what: &str) {
        let is = match type_of(unit, e) {
            _ if rank(unit, e) > 0 => "an array".to_owned(),
            Some(Type::Integer(_)) | None => return,
            Some(t) => t.to_string(),
        };
        self.error(Diagnostic::error(
            &rules::TYPE_MISMATCH,
            e.span,
            format!("{what} is an INTEGER, but this is {is}"),
        ));
    }

    /// Checks the direction in `TANGENT(v, direction)`.
    pub(super) fn direction(&mut self, list: &DerivativeList<'_>, a: &AdAssign) {
        let unit = list.unit;
        let (vector_mode, direction) = match (list.vector_mode, &a.direction) {
            (None, None) => return,
            (None, Some(direction)) => {
                let help = match list.word {
                    "TANGENT" => {
                        "begin the opening with `DIRECTIONS = n`, for instance `ADF(DIRECTIONS = N, (TANGENT(X(K), K) = 1, K = 1, N))`"
                    }
                    _ => {
                        "begin the opening with `DIRECTIONS = n`, for instance `ADR(DIRECTIONS = M, (COTANGENT(Y(K), K) = 1, K = 1, M))`"
                    }
                };
                self.error(
                    Diagnostic::error(
                        &rules::SYNTAX,
                        direction.span,
                        "a direction, but the opening does not say how many there are",
                    )
                    .help(help),
                );
                return;
            }
            (Some(vector_mode), None) => {
                let message = format!("{} does not say in which direction", list.word);
                let mut error = Diagnostic::error(&rules::SYNTAX, a.var.span, message);
                error = error.related(vector_mode.count.span, "there are several");
                self.error(error.help(format!("write `{}(variable, direction)`", list.word)));
                return;
            }
            (Some(vector_mode), Some(direction)) => (vector_mode, direction),
        };
        if (list.doubt)(direction) {
            return;
        }
        self.value(unit, direction, false);
        self.whole_number(unit, direction, "the direction");
        let Some(k) = integer(unit, direction) else {
            return;
        };
        let most = Some(&vector_mode.count)
            .filter(|c| !(list.doubt)(c))
            .and_then(|c| integer(unit, c));
        if k < 1 || most.is_some_and(|n| n >= 1 && k > n) {
            let message = format!("there is no direction {k}");
            let mut error = Diagnostic::error(&rules::BAD_CONSTANT, direction.span, message);
            error = error.related(vector_mode.count.span, "how many there are");
            self.error(error);
        }
    }
}
