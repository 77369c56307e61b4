//! The stages that can be looked at.

use farfel_lang::lower::Stage;
use std::fmt;
use std::str::FromStr;

/// A stage of the way from source to compiler whose program can be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExpandStage {
    /// The source as understood.
    Parse,
    /// Nested subprograms are at the top level.
    Lift,
    /// Copies for closures; no dummy procedures where the call graph decides.
    Specialize,
    /// Only what is reached.
    Prune,
    /// AD blocks are calls.
    Outline,
    /// Derivatives are called and requested.
    Stage,
    /// What is compiled, derivatives included.
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

    /// The stage of the lowering that it is; `None` after the derivatives.
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

/// A name that is not one of a stage.
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
