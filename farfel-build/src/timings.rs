//! What ran when.
use serde::{Deserialize, Serialize};

/// All steps of a build.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Timings {
    /// The steps.
    pub steps: Vec<StepTime>,
    /// How many could run at once.
    pub jobs: usize,
    /// How long all of it took.
    pub total_ms: f64,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepTime {
    /// What it made.
    pub name: String,
    /// parse, lower, request, generate, compile, archive, bind
    pub kind: String,
    /// When it began.
    pub start_ms: f64,
    /// When it ended.
    pub end_ms: f64,
    /// Where its result came from.
    pub from: From,
    /// On which worker.
    pub worker: usize,
    /// Why it ran.
    pub reason: Option<String>,
}

/// Where a result came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum From {
    /// It was made.
    Ran,
    /// The cache had it.
    Cache,
    /// The second cache had it.
    Remote,
    /// There was nothing to do.
    Fresh,
}
