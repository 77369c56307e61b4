//! The stages that can be displayed.

use farfel_lang::lower::Stage;
use std::fmt;
use std::str::FromStr;

/// A stage of the compilation whose program can be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExpandStage {
    /// The source as it was parsed.
    Parse,
    /// With nested subprograms moved to the top level.
    Lift,
    /// With copies for closures; no dummy procedures remain where the call graph determines them.
    Specialize,
    /// Without unreachable units.
    Prune,
    /// With AD blocks replaced by calls.
    Outline,
    /// With calls of the requested derivatives.
    Stage,
    /// The Fortran that is compiled, including derivatives.
    Final,
}

impl ExpandStage {
    /// All stages in order.
    pub const ALL: [ExpandStage; 7] = [
        ExpandStage::Parse,
        ExpandStage::Lift,
        ExpandStage::Specialize,
        ExpandStage::Prune,
        ExpandStage::Outline,
        ExpandStage::Stage,
        ExpandStage::Final,
    ];

    /// Returns the corresponding stage of the lowering; `None` after the derivatives.
    pub(crate) fn lowered(self) -> Option<Stage> {
        Some(match self {
            ExpandStage::Parse => Stage::Parse,
            ExpandStage::Lift => Stage::Lift,
            ExpandStage::Specialize => Stage::Specialize,
            ExpandStage::Prune => Stage::Prune,
            ExpandStage::Outline => Stage::Outline,
            ExpandStage::Stage => Stage::Stage,
            ExpandStage::Final => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            ExpandStage::Parse => "parse",
            ExpandStage::Lift => "lift",
            ExpandStage::Specialize => "specialize",
            ExpandStage::Prune => "prune",
            ExpandStage::Outline => "outline",
            ExpandStage::Stage => "stage",
            ExpandStage::Final => "final",
        }
    }
}

impl fmt::Display for ExpandStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is not the name of a stage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a stage; the stages are parse, lift, specialize, prune, outline, stage, final"
)]
pub struct UnknownStage(String);

impl FromStr for ExpandStage {
    type Err = UnknownStage;

    fn from_str(name: &str) -> Result<Self, UnknownStage> {
        ExpandStage::ALL
            .into_iter()
            .find(|s| s.name() == name)
            .ok_or_else(|| UnknownStage(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::ExpandStage;

    #[test]
    fn names_go_there_and_back() {
        for stage in ExpandStage::ALL {
            assert_eq!(stage.to_string().parse(), Ok(stage));
        }
        let unknown = "lifted".parse::<ExpandStage>().unwrap_err().to_string();
        for stage in ExpandStage::ALL {
            assert!(unknown.contains(&stage.to_string()));
        }
    }
}
