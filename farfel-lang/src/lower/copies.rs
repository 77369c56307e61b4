//! Which copies of subprograms were made, for which calls, and why.

use crate::ir::Name;
use crate::source::Span;
use std::collections::HashMap;

/// A copy of a subprogram in which dummy procedures are bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// Its name, `ROOT_1`.
    pub name: Name,
    /// What it is a copy of, `ROOT`: a subprogram of the source, a lifted one, or a copy.
    pub of: Name,
    /// The dummy procedures that are bound in it, in the order of the arguments.
    pub bound: Vec<Bound>,
    /// Who needs it: first the one it was made for.
    pub uses: Vec<Use>,
    /// The program needs it; otherwise it is there to be copied again. Only
    /// [`explain`](super::explain) says so.
    pub reached: bool,
}

impl Copy {
    /// Gives copies other names.
    pub(super) fn rename(&mut self, new: &HashMap<Name, Name>) {
        let bound = self.bound.iter_mut().map(|b| &mut b.procedure);
        let uses = self.uses.iter_mut().map(|u| &mut u.unit);
        for name in [&mut self.name, &mut self.of]
            .into_iter()
            .chain(bound)
            .chain(uses)
        {
            if let Some(new) = new.get(name) {
                *name = new.clone();
            }
        }
    }
}

/// What a dummy procedure of a copy stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// The dummy procedure, by its name in the subprogram that was copied.
    pub dummy: Name,
    /// The procedure that it stands for.
    pub procedure: Name,
    /// The variables of its surroundings that the copy takes along.
    pub captured: Vec<Captured>,
}

/// A variable that a copy takes along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// Its name in the procedure that uses it.
    pub name: Name,
    /// The argument of the copy that is the same variable, where one serves for both.
    pub same_as: Option<Name>,
}

/// A call, or a procedure as an argument, that needs a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The unit that it stands in, maybe a copy itself.
    pub unit: Name,
    /// Where it stands in the source.
    pub span: Span,
}
