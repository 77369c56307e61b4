//! The AD tool of the settings.

use crate::cache::Cache;
use crate::plan::derivatives::Tool;
use crate::toolchain::Compiler;
use crate::{Config, Error};
use farfel_ad::Builtin;

/// An AD tool that is there.
pub(crate) struct Chosen {
    pub tool: Box<Tool>,
    /// What distinguishes it from others: name, version, options. Results of tools with
    /// equal identities are equal.
    pub identity: String,
    /// Does what it generates share state that is not in the program?
    pub adjoints_share_state: bool,
}

/// Finds the AD tool of the settings.
///
/// # Errors
///
/// [`Error::AdTool`] when there is none of that name.
pub(crate) fn choose(config: &Config, cache: &Cache) -> Result<Chosen, Error> {
    let _ = cache;
    match config.ad_tool.as_str() {
        "builtin" => Ok(Chosen {
            tool: Box::new(Builtin),
            identity: "builtin".into(),
            adjoints_share_state: false,
        }),
        other => Err(Error::AdTool(other.to_owned())),
    }
}

impl Chosen {
    /// The object file with the stack that the tool's adjoints use.
    pub(crate) fn stack(&self, compiler: &Compiler, cache: &Cache) -> Result<Vec<u8>, Error> {
        let _ = (compiler, cache);
        Ok(Vec::new())
    }
}
