//! The records that are kept between builds, in OUT_DIR.

use super::summary::Summary;
use crate::bind::BindingsPart;
use crate::codec::{Reader, Writer, unsealed};
use crate::{Error, files};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The name of the file.
const FILE: &str = "farfel.partitions";

/// A hash of all inputs of a result.
pub(super) type Digest = [u8; 32];

/// The results of a partition, apart from its object files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    pub objects: Vec<PlannedObject>,
    pub part: BindingsPart,
    /// The warnings; see `plan::messages`.
    pub warnings: String,
}

/// An object of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlannedObject {
    pub name: String,
    /// Its key in hexadecimal.
    pub key: String,
    /// The units in it that other objects call by name.
    pub shared: Vec<String>,
}

/// The records of the last build, in serialized form.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    files: HashMap<Digest, Vec<u8>>,
    partitions: HashMap<Digest, Vec<u8>>,
}

/// The records of the current build: only those that it uses are kept.
#[derive(Debug, Default)]
pub(crate) struct NextMemo {
    files: BTreeMap<Digest, Vec<u8>>,
    partitions: BTreeMap<Digest, Vec<u8>>,
}

impl Memo {
    /// Reads the records of the last build; empty if there are none or they are damaged.
    pub(crate) fn open(out: &Path) -> Memo {
        unsealed(&out.join(FILE))
            .and_then(|bytes| Memo::decode(&bytes))
            .unwrap_or_default()
    }

    fn decode(bytes: &[u8]) -> Option<Memo> {
        let mut from = Reader(bytes);
        let mut table = || {
            let entries = from.list(|from| {
                let digest = Digest::try_from(from.bytes()?).ok()?;
                Some((digest, from.bytes()?.to_vec()))
            });
            Some(entries?.into_iter().collect())
        };
        Some(Memo {
            files: table()?,
            partitions: table()?,
        })
    }

    /// Returns what is known about the units of a file.
    pub(super) fn file(&self, digest: &Digest) -> Option<Vec<Summary>> {
        Reader(self.files.get(digest)?).list(Summary::read)
    }

    /// Returns the results of a partition.
    pub(super) fn partition(&self, digest: &Digest) -> Option<Outcome> {
        let mut from = Reader(self.partitions.get(digest)?);
        let text = |from: &mut Reader| Some(from.text()?.to_owned());
        let pair = |from: &mut Reader| Some((from.text()?.to_owned(), from.text()?.to_owned()));
        Some(Outcome {
            objects: from.list(|from| {
                Some(PlannedObject {
                    name: text(from)?,
                    key: text(from)?,
                    shared: from.list(text)?,
                })
            })?,
            part: BindingsPart {
                skipped: from.list(pair)?,
                functions: from.list(pair)?,
                raw: from.list(pair)?,
                exposed: from.list(pair)?,
                state: String::new(),
                c: Vec::new(),
                locks: from.number()?.try_into().ok()?,
            },
            warnings: text(&mut from)?,
        })
    }
}

impl NextMemo {
    pub(super) fn note_file(&mut self, digest: Digest, units: &[Summary]) {
        let mut to = Writer::default();
        to.list(units, |to, unit| unit.write(to));
        self.files.insert(digest, to.0);
    }

    pub(super) fn note_partition(&mut self, digest: Digest, outcome: &Outcome) {
        let Outcome {
            objects,
            part:
                BindingsPart {
                    skipped,
                    functions,
                    raw,
                    exposed,
                    locks,
                    // With instances or COMMON blocks for Rust, and for C, there are no partitions.
                    state: _,
                    c: _,
                },
            warnings,
        } = outcome;
        let mut to = Writer::default();
        to.list(objects, |to, PlannedObject { name, key, shared }| {
            to.text(name);
            to.text(key);
            to.list(shared, |to, name| to.text(name));
        });
        for list in [skipped, functions, raw, exposed] {
            to.list(list, |to, (name, text)| {
                to.text(name);
                to.text(text);
            });
        }
        to.number(*locks as u64);
        to.text(warnings);
        self.partitions.insert(digest, to.0);
    }

    /// Removes the record of a file.
    pub(super) fn forget_file(&mut self, digest: &Digest) {
        self.files.remove(digest);
    }

    /// Keeps the last build's record of a file.
    pub(super) fn keep_file(&mut self, digest: &Digest, memo: &Memo) {
        if let Some(bytes) = memo.files.get(digest) {
            self.files.insert(*digest, bytes.clone());
        }
    }

    /// Keeps the last build's record of a partition.
    pub(super) fn keep_partition(&mut self, digest: &Digest, memo: &Memo) {
        if let Some(bytes) = memo.partitions.get(digest) {
            self.partitions.insert(*digest, bytes.clone());
        }
    }

    /// Writes the records for the next build.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(crate) fn write(&self, out: &Path) -> Result<(), Error> {
        let mut to = Writer::default();
        for table in [&self.files, &self.partitions] {
            to.number(table.len() as u64);
            for (digest, bytes) in table {
                to.bytes(digest);
                to.bytes(bytes);
            }
        }
        files::write_if_changed(&out.join(FILE), &to.sealed())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::summaries;
    use super::*;
    use std::fs;

    #[test]
    fn notes_are_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let units = summaries(
            "SUBROUTINE A(X, F, *); COMMON /Q/ Y; CALL B(F, X); ENTRY AE; END\nPROGRAM M; END\n",
        );
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let outcome = Outcome {
            objects: vec![PlannedObject {
                name: "a".into(),
                key: "0a".into(),
                shared: vec!["B".into(), "C".into()],
            }],
            part: BindingsPart {
                skipped: vec![pair("B", "why")],
                functions: vec![pair("A", "fn a() {}\n")],
                raw: vec![pair("A", "fn a(n: i32) {}\n")],
                exposed: vec![pair("A", "it has ENTRY points")],
                state: String::new(),
                c: Vec::new(),
                locks: 1,
            },
            warnings: "[]".into(),
        };
        let mut next_memo = NextMemo::default();
        next_memo.note_file([1; 32], &units);
        next_memo.note_partition([2; 32], &outcome);
        next_memo.write(dir.path()).unwrap();
        let memo = Memo::open(dir.path());
        assert_eq!(memo.file(&[1; 32]).unwrap(), units);
        assert_eq!(memo.partition(&[2; 32]).unwrap(), outcome);
        assert!(memo.file(&[2; 32]).is_none() && memo.partition(&[1; 32]).is_none());
        // Records that are kept are unchanged; the others are gone.
        let mut next = NextMemo::default();
        next.keep_partition(&[2; 32], &memo);
        next.keep_partition(&[3; 32], &memo);
        next.write(dir.path()).unwrap();
        let memo = Memo::open(dir.path());
        assert_eq!(memo.partition(&[2; 32]).unwrap(), outcome);
        assert!(memo.file(&[1; 32]).is_none());
        // Changing any byte invalidates everything.
        let file = dir.path().join(FILE);
        let bytes = fs::read(&file).unwrap();
        for i in (0..bytes.len()).step_by(7) {
            let mut damaged = bytes.clone();
            damaged[i] ^= 1;
            for damaged in [&damaged[..], &bytes[..i]] {
                fs::write(&file, damaged).unwrap();
                assert!(unsealed(&file).is_none(), "{i}");
            }
        }
    }
}
