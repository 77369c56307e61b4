//! Timings of a build: when each step ran, and which results came from the cache.
//!
//! A build writes them to OUT_DIR as [`FILE`]; `farfel build --timings` renders them as a page.

use crate::{Error, files};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The name of the file in OUT_DIR: [`Timings`] as JSON.
pub const FILE: &str = "farfel-timings.json";

/// The steps of one build.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Timings {
    /// The steps, in the order of the plan.
    pub steps: Vec<StepTime>,
    /// The maximum number of parallel steps.
    pub jobs: usize,
    /// The duration of the whole build in milliseconds.
    pub total_ms: f64,
    /// The time spent in compiler passes during the steps that ran, the longest first.
    #[serde(default)]
    pub passes: Vec<PassTime>,
}

/// The total time of one pass. If several builds run in one process at the same time, their passes are
/// included, too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassTime {
    /// The name of the pass as the verifier reports it; `verify` is the verifier itself.
    pub name: String,
    /// How many times it ran.
    pub runs: u64,
    /// The total time in milliseconds, without nested passes.
    pub total_ms: f64,
}

/// When one step ran. Times are milliseconds since the build began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepTime {
    /// The name shown to people, such as `tangent of Y by X in SLOPE`.
    pub name: String,
    /// `parse`, `lower`, `request`, `generate`, `compile`, `archive` or `bind`.
    pub kind: String,
    /// When the step began.
    pub start_ms: f64,
    /// When the step ended.
    pub end_ms: f64,
    /// Where its result came from.
    pub from: StepOrigin,
    /// The worker that ran it, from 0.
    pub worker: usize,
    /// Why it ran: the inputs that have changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For a result from a cache, how long it took to compute originally, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_ms: Option<f64>,
}

/// The origin of a step's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepOrigin {
    /// It was computed in this build.
    Ran,
    /// From the local cache.
    Cache,
    /// From the remote cache.
    Remote,
    /// It was up to date, so there was nothing to do.
    Fresh,
}

impl StepTime {
    /// Returns the step's duration in milliseconds.
    pub fn duration_ms(&self) -> f64 {
        (self.end_ms - self.start_ms).max(0.0)
    }
}

impl Timings {
    /// Returns the total duration of all steps in milliseconds.
    pub fn busy_ms(&self) -> f64 {
        self.steps.iter().map(StepTime::duration_ms).sum()
    }

    /// Returns the fraction of the workers' time that was spent on steps: 1 if all of them were always busy.
    pub fn parallelism(&self) -> f64 {
        let all = self.jobs.max(1) as f64 * self.total_ms;
        if all > 0.0 {
            (self.busy_ms() / all).min(1.0)
        } else {
            0.0
        }
    }

    /// Returns the number of steps whose result has this origin.
    pub fn count(&self, from: StepOrigin) -> usize {
        self.steps.iter().filter(|s| s.from == from).count()
    }

    /// Returns how much longer the build would have taken without a cache, running one step after the other,
    /// in milliseconds, as far as this is known.
    pub fn saved_ms(&self) -> f64 {
        let saved = |s: &StepTime| Some((s.saved_ms? - s.duration_ms()).max(0.0));
        self.steps.iter().filter_map(saved).sum()
    }

    /// Writes the timings to a directory.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn write(&self, directory: &Path) -> Result<(), Error> {
        let path = directory.join(FILE);
        let text = serde_json::to_vec_pretty(self)
            .map_err(|e| Error::io(&path)(std::io::Error::other(e)))?;
        files::write_if_changed(&path, &text)?;
        Ok(())
    }

    /// Reads the timings that a build has written to a directory; `None` if there is no such file.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the file cannot be read or parsed.
    pub fn read(directory: &Path) -> Result<Option<Timings>, Error> {
        let path = directory.join(FILE);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io(path)(e)),
        };
        serde_json::from_slice(&text)
            .map(Some)
            .map_err(|e| Error::io(path)(std::io::Error::other(e)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(start_ms: f64, end_ms: f64, from: StepOrigin) -> StepTime {
        StepTime {
            name: "compile \"A\"".into(),
            kind: "compile".into(),
            start_ms,
            end_ms,
            from,
            worker: 0,
            reason: None,
            saved_ms: None,
        }
    }

    #[test]
    fn sums() {
        let timings = Timings {
            steps: vec![
                step(0.0, 60.0, StepOrigin::Ran),
                step(0.0, 90.0, StepOrigin::Ran),
                StepTime {
                    saved_ms: Some(40.0),
                    ..step(90.0, 100.0, StepOrigin::Cache)
                },
                step(5.0, 4.0, StepOrigin::Fresh),
            ],
            jobs: 2,
            total_ms: 100.0,
            passes: Vec::new(),
        };
        assert_eq!(timings.busy_ms(), 160.0);
        assert_eq!(timings.parallelism(), 0.8);
        assert_eq!(timings.saved_ms(), 30.0);
        assert_eq!(timings.count(StepOrigin::Ran), 2);
        assert_eq!(Timings::default().parallelism(), 0.0);
    }

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Timings::read(dir.path()).unwrap(), None);
        let timings = Timings {
            steps: vec![StepTime {
                reason: Some("the text of F".into()),
                ..step(0.25, 60.5, StepOrigin::Remote)
            }],
            jobs: 2,
            total_ms: 61.0,
            passes: vec![PassTime {
                name: "lift".into(),
                runs: 1,
                total_ms: 0.5,
            }],
        };
        timings.write(dir.path()).unwrap();
        assert_eq!(Timings::read(dir.path()).unwrap(), Some(timings));
        std::fs::write(dir.path().join(FILE), "{").unwrap();
        assert!(Timings::read(dir.path()).is_err());
    }
}
