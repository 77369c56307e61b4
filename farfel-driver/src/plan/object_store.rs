//! The shelf: the objects of the last build, in OUT_DIR. Objects that are still valid need not even be taken
//! from the cache.

use crate::codec::{Reader, Writer, unsealed};
use crate::{Error, files};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Facts about an object besides its contents.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ObjectInfo {
    /// Whether it calls the stack that the AD tool's adjoints use.
    pub needs_stack: bool,
    /// The diagnostics of the AD tool and the compiler; see `messages`.
    pub messages: String,
    /// If there are messages, the digest of the places that they refer to.
    pub places: Option<String>,
    /// How long it took to make, in milliseconds.
    pub took_ms: f64,
}

/// An object made in the last build.
#[derive(Debug, Clone, PartialEq)]
struct StoredObject {
    key: String,
    /// The fields that the key was made from.
    recipe: String,
    /// The hash of the object file.
    code: String,
    /// The hash of the text beside it.
    text: String,
    about: ObjectInfo,
}

/// The objects of the last build and of the current one.
#[derive(Default)]
pub(crate) struct ObjectStore {
    /// The directory of the files; `None` for an empty store.
    directory: Option<PathBuf>,
    state: State,
    /// The hashes of code and text of the objects that the current build has stored.
    put: Mutex<BTreeMap<String, (String, String)>>,
}

#[derive(Debug, Default, PartialEq)]
struct State {
    objects: BTreeMap<String, StoredObject>,
    /// The hash of the library that was made from them.
    library: String,
}

impl State {
    fn encoded(&self) -> Vec<u8> {
        let State { objects, library } = self;
        let mut to = Writer::default();
        to.text(library);
        for (name, known) in objects {
            let StoredObject {
                key,
                recipe,
                code,
                text,
                about:
                    ObjectInfo {
                        needs_stack,
                        messages,
                        places,
                        took_ms,
                    },
            } = known;
            for part in [name, key, recipe, code, text, messages] {
                to.text(part);
            }
            to.text(places.as_deref().unwrap_or_default());
            to.number(u64::from(*needs_stack));
            to.number(took_ms.to_bits());
        }
        to.sealed()
    }

    fn decode(bytes: &[u8]) -> Option<State> {
        let mut from = Reader(bytes);
        let mut state = State {
            objects: BTreeMap::new(),
            library: from.text()?.to_owned(),
        };
        while !from.0.is_empty() {
            let mut text = || Some(from.text()?.to_owned());
            let name = text()?;
            let known = StoredObject {
                key: text()?,
                recipe: text()?,
                code: text()?,
                text: text()?,
                about: ObjectInfo {
                    messages: text()?,
                    places: text().map(|p| (!p.is_empty()).then_some(p))?,
                    needs_stack: from.number()? != 0,
                    took_ms: f64::from_bits(from.number()?),
                },
            };
            state.objects.insert(name, known);
        }
        Some(state)
    }
}

/// The names of the directory and the state file in OUT_DIR.
const DIRECTORY: &str = "farfel";
const STATE: &str = "farfel.state";

impl ObjectStore {
    /// Opens the object store of a build script; empty if its state is damaged.
    pub(crate) fn open(out: &Path) -> Result<ObjectStore, Error> {
        let directory = out.join(DIRECTORY);
        fs::create_dir_all(&directory).map_err(Error::io(&directory))?;
        // Cargo runs one build script at a time in OUT_DIR, so these files were left by one that was killed.
        files::remove_temporary(out);
        files::remove_temporary(&directory);
        let state = unsealed(&out.join(STATE))
            .and_then(|bytes| State::decode(&bytes))
            .unwrap_or_default();
        Ok(ObjectStore {
            directory: Some(directory),
            state,
            put: Mutex::default(),
        })
    }

    /// Returns the facts about an object and its contents, if it was made with this key and is undamaged.
    pub(crate) fn find(&self, name: &str, key: &str) -> Option<(&ObjectInfo, Vec<u8>)> {
        let (about, code, _) = self.find_with_text(name, key)?;
        Some((about, code))
    }

    /// Like [`ObjectStore::find`], and also returns the text beside the object.
    pub(crate) fn find_with_text(
        &self,
        name: &str,
        key: &str,
    ) -> Option<(&ObjectInfo, Vec<u8>, Vec<u8>)> {
        let known = self.state.objects.get(name).filter(|k| k.key == key)?;
        let directory = self.directory.as_ref()?;
        let object = directory.join(format!("{name}.o"));
        let is = |path: &Path, expected: &str| {
            let bytes = fs::read(path).ok()?;
            (hash(&bytes) == expected).then_some(bytes)
        };
        let text = is(&directory.join(text_file(name)), &known.text)?;
        Some((&known.about, is(&object, &known.code)?, text))
    }

    /// Returns the recipe of an object in the last build.
    pub(crate) fn recipe(&self, name: &str) -> Option<&str> {
        self.state.objects.get(name).map(|k| k.recipe.as_str())
    }

    /// Stores an object, and its text beside it.
    pub(crate) fn put(&self, name: &str, code: &[u8], text: &[u8]) -> Result<(), Error> {
        if let Some(directory) = &self.directory {
            files::write_if_changed(&directory.join(format!("{name}.o")), code)?;
            files::write_if_changed(&directory.join(text_file(name)), text)?;
            let mut put = self.put.lock().unwrap_or_else(PoisonError::into_inner);
            put.insert(name.to_owned(), (hash(code), hash(text)));
        }
        Ok(())
    }

    /// Whether the library was made from exactly these objects and is undamaged.
    pub(crate) fn has_library(&self, library: &Path, mut wanted: Vec<(&str, &str)>) -> bool {
        let keys = self
            .state
            .objects
            .iter()
            .map(|(n, k)| (n.as_str(), k.key.as_str()));
        wanted.sort();
        keys.eq(wanted) && fs::read(library).is_ok_and(|l| hash(&l) == self.state.library)
    }

    /// Whether these are the facts already recorded about the objects.
    pub(crate) fn has_infos(&self, objects: &[(&str, &ObjectInfo)]) -> bool {
        let known = |name: &str| self.state.objects.get(name).map(|k| &k.about);
        objects
            .iter()
            .all(|(name, about)| known(name) == Some(about))
    }

    /// Records the objects that the library was made from, each with its name, key, recipe and facts, and
    /// removes all others. `library` has the bytes of the new library, or is `None` if it is unchanged.
    ///
    /// The recorded hashes are those of what was found or made, whatever the files may have become since.
    pub(crate) fn close(
        &self,
        out: &Path,
        library: Option<&[u8]>,
        objects: Vec<(String, String, String, ObjectInfo)>,
    ) -> Result<(), Error> {
        let mut state = State {
            objects: BTreeMap::new(),
            library: library.map_or_else(|| self.state.library.clone(), hash),
        };
        let mut put = self.put.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, key, recipe, about) in objects {
            let hashes = put.remove(&name).or_else(|| {
                let known = self.state.objects.get(&name)?;
                Some((known.code.clone(), known.text.clone()))
            });
            // Any other object was not in the object store, so it will be unknown next time.
            if let Some((code, text)) = hashes {
                let known = StoredObject {
                    key,
                    recipe,
                    code,
                    text,
                    about,
                };
                state.objects.insert(name, known);
            }
        }
        files::write_if_changed(&out.join(STATE), &state.encoded())?;
        let directory = out.join(DIRECTORY);
        for entry in fs::read_dir(&directory)
            .map_err(Error::io(&directory))?
            .flatten()
        {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let name = name.rsplit_once('.').map_or(&*name, |(name, _)| name);
            if !state.objects.contains_key(name) {
                files::remove(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// Returns the name of the file beside an object: the Fortran that it was compiled from, preprocessed C, or
/// the module files of a source that was passed through.
fn text_file(object: &str) -> String {
    match object.rsplit_once('.') {
        Some((_, "c")) => format!("{object}.i"),
        // Only objects of sources are named like files.
        Some(_) => format!("{object}.modules"),
        None => format!("{object}.f"),
    }
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_read_again() {
        let known = |places: Option<&str>| StoredObject {
            key: "0a".into(),
            recipe: "object\nflags = -g\n".into(),
            code: "c".into(),
            text: String::new(),
            about: ObjectInfo {
                needs_stack: places.is_some(),
                messages: "[]".into(),
                places: places.map(str::to_owned),
                took_ms: 12.75,
            },
        };
        let objects = [("a", known(None)), ("b", known(Some("f0")))];
        let state = State {
            objects: objects.map(|(n, k)| (n.to_owned(), k)).into(),
            library: "l".into(),
        };
        let bytes = state.encoded();
        assert_eq!(State::decode(&bytes[32..]).unwrap(), state);
        assert!(State::decode(&bytes[32..bytes.len() - 1]).is_none());
    }
}
