//! What ran when, and what came from the cache.
//!
//! A build writes it to OUT_DIR as [`FILE`]; `farfel build --timings` makes a page of it.

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
    /// How many could run at once.
    pub jobs: usize,
    /// How long all of it took, in milliseconds.
    pub total_ms: f64,
    /// What passes of the compiler took in the steps that ran, the longest first.
    #[serde(default)]
    pub passes: Vec<PassTime>,
}

/// What one pass took in all. Where several builds run in one process at once, theirs count, too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassTime {
    /// Its name, as the verifier says it; `verify` is the verifier itself.
    pub name: String,
    /// How often it ran.
    pub runs: u64,
    /// How long in all, in milliseconds, without the passes that it ran itself.
    pub total_ms: f64,
}

/// When one step ran. Times are milliseconds since the build began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepTime {
    /// What people call it: `tangent of Y by X in SLOPE`.
    pub name: String,
    /// `parse`, `lower`, `request`, `generate`, `compile`, `archive` or `bind`.
    pub kind: String,
    /// When it began.
    pub start_ms: f64,
    /// When it ended.
    pub end_ms: f64,
    /// Where its result is from.
    pub from: From,
    /// Which of those that work side by side did it, from 0.
    pub worker: usize,
    /// Why it ran: what of that it depends on has changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For what came from a cache, how long it took when it was made, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_ms: Option<f64>,
}

/// Where the result of a step is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum From {
    /// It was made in this build.
    Ran,
    /// From the cache on this machine.
    Cache,
    /// From the cache that is shared with others.
    Remote,
    /// It was there already: there was nothing to do.
    Fresh,
}

impl StepTime {
    /// How long it took, in milliseconds.
    pub fn duration_ms(&self) -> f64 {
        (self.end_ms - self.start_ms).max(0.0)
    }
}

impl Timings {
    /// How long all steps took together, in milliseconds.
    pub fn busy_ms(&self) -> f64 {
        self.steps.iter().map(StepTime::duration_ms).sum()
    }

    /// Which part of the workers' time was spent on steps: 1 when all were always at work.
    pub fn parallelism(&self) -> f64 {
        let all = self.jobs.max(1) as f64 * self.total_ms;
        if all > 0.0 {
            (self.busy_ms() / all).min(1.0)
        } else {
            0.0
        }
    }

    /// How many steps have a result from there.
    pub fn count(&self, from: From) -> usize {
        self.steps.iter().filter(|s| s.from == from).count()
    }

    /// How much longer the build would have taken without a cache, one step after the
    /// other, in milliseconds; as far as that is known.
    pub fn saved_ms(&self) -> f64 {
        let saved = |s: &StepTime| Some((s.saved_ms? - s.duration_ms()).max(0.0));
        self.steps.iter().filter_map(saved).sum()
    }

    /// Writes it to a directory.
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

    /// What a build has written to a directory; `None` where there is no such file.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when it cannot be read or is something else.
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

    fn step(start_ms: f64, end_ms: f64, from: From) -> StepTime {
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
                step(0.0, 60.0, From::Ran),
                step(0.0, 90.0, From::Ran),
                StepTime {
                    saved_ms: Some(40.0),
                    ..step(90.0, 100.0, From::Cache)
                },
                step(5.0, 4.0, From::Fresh),
            ],
            jobs: 2,
            total_ms: 100.0,
            passes: Vec::new(),
        };
        assert_eq!(timings.busy_ms(), 160.0);
        assert_eq!(timings.parallelism(), 0.8);
        assert_eq!(timings.saved_ms(), 30.0);
        assert_eq!(timings.count(From::Ran), 2);
        assert_eq!(Timings::default().parallelism(), 0.0);
    }

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Timings::read(dir.path()).unwrap(), None);
        let timings = Timings {
            steps: vec![StepTime {
                reason: Some("the text of F".into()),
                ..step(0.25, 60.5, From::Remote)
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
