//! The records of which copies of subprograms were made, for which calls, and why.

use crate::ir::Name;
use crate::source::Span;
use std::collections::HashMap;

/// A copy of a subprogram in which dummy procedures are bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubprogramCopy {
    /// Its name, such as `ROOT_1`.
    pub name: Name,
    /// The original, such as `ROOT`: a subprogram of the source, a lifted one, or another copy.
    pub of: Name,
    /// The dummy procedures that are bound in it, in the order of the arguments.
    pub bound: Vec<BoundDummy>,
    /// The calls that need it, first the one for which it was made.
    pub uses: Vec<CopyUse>,
    /// Whether the program needs it. Otherwise it only exists to be copied again. Only
    /// [`explain`](super::explain) sets this.
    pub reached: bool,
}

impl SubprogramCopy {
    /// Renames copies.
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

/// The binding of a dummy procedure in a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundDummy {
    /// The name of the dummy procedure in the original.
    pub dummy: Name,
    /// The procedure for which it stands.
    pub procedure: Name,
    /// The variables of the procedure's host that the copy receives.
    pub captured: Vec<CapturedVariable>,
}

/// A captured variable of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedVariable {
    /// Its name in the procedure that uses it.
    pub name: Name,
    /// The argument of the copy that is the same variable, if one serves for both.
    pub same_as: Option<Name>,
}

/// A call, or a procedure passed as an argument, that needs a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyUse {
    /// The unit that contains it, which may be a copy itself.
    pub unit: Name,
    /// The place in the source.
    pub span: Span,
}
