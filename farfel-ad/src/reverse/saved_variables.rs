//! Variables that are saved before a call, each perhaps only under a condition.

use super::sweep::Sweeper;
use farfel_lang::Span;
use farfel_lang::ir::{Block, Expr};

/// The statements that save some variables, and those that restore them.
#[derive(Default)]
pub(super) struct SavedVariables {
    groups: Vec<SavedGroup>,
}

/// Variables that are saved under the same condition.
struct SavedGroup {
    test: Option<Expr>,
    push: Block,
    pops: Vec<Block>,
}

impl SavedVariables {
    /// Adds a variable that is saved if a condition holds.
    pub fn add(&mut self, test: Option<Expr>, (push, pop): (Block, Block)) {
        let same = |g: &&mut SavedGroup| match (&g.test, &test) {
            (None, None) => true,
            (Some(a), Some(b)) => a.equals_ignoring_spans(b),
            _ => false,
        };
        match self.groups.iter_mut().find(same) {
            Some(g) => {
                g.push.extend(push);
                g.pops.push(pop);
            }
            None => self.groups.push(SavedGroup {
                test,
                push,
                pops: vec![pop],
            }),
        }
    }

    /// Whether any of them is saved under a condition.
    pub fn has_tests(&self) -> bool {
        self.groups.iter().any(|g| g.test.is_some())
    }

    /// The statements that save the variables, and those that restore them, in reverse order.
    pub fn sweeps(self, sweeper: &mut Sweeper, span: Span) -> (Block, Block) {
        let (mut pushes, mut pops) = (Vec::new(), Vec::new());
        for g in self.groups {
            let pop = g.pops.into_iter().rev().flatten().collect();
            let (push, pop) = match g.test {
                Some(test) => sweeper.guarded(test, g.push, pop, span),
                None => (g.push, pop),
            };
            pushes.extend(push);
            pops.push(pop);
        }
        (pushes, pops.into_iter().rev().flatten().collect())
    }
}
