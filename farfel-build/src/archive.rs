//! The static library, and what is known of how it was made.

use crate::cache::Key;
use crate::names::Names;
use crate::plan::objects::{Means, Object, Objects};
use crate::{Error, files};
use farfel_lang::Diagnostic;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The directory of OUT_DIR with the Fortran of each object, for people to read.
const TEXTS: &str = "farfel";

/// Makes the static library with the archiver that cc knows for the target, whole or not
/// at all.
pub(crate) fn write(
    objects: &[Object],
    means: &Means,
    library: &Path,
    names: &Names,
    out: &Path,
) -> Result<(), Error> {
    let scratch = files::Scratch::new_in(out)?;
    let mut archive = cc::Build::new();
    archive.cargo_metadata(false).out_dir(scratch.path());
    let mut add = |name: &str, code: &[u8]| {
        let path = scratch.path().join(format!("{name}.o"));
        files::write_if_changed(&path, code)?;
        archive.object(path);
        Ok::<(), Error>(())
    };
    for object in objects {
        add(&object.name, &object.code)?;
    }
    if objects.iter().any(|o| o.needs_stack) {
        add("farfel_stack", &(means.stack)()?)?;
    }
    let failed = |reason: String| Error::Command {
        command: format!("archiving {}", library.display()),
        reason,
    };
    archive
        .try_compile(&names.library())
        .map_err(|e| failed(e.to_string()))?;
    let made = scratch.path().join(format!("lib{}.a", names.library()));
    fs::rename(&made, library).map_err(Error::io(library))?;

    // What is not among them any more goes.
    let texts = out.join(TEXTS);
    fs::create_dir_all(&texts).map_err(Error::io(&texts))?;
    let wanted: BTreeMap<String, &Object> = objects
        .iter()
        .map(|o| (format!("{}.f", o.name), o))
        .collect();
    for entry in fs::read_dir(&texts).map_err(Error::io(&texts))?.flatten() {
        if !wanted.contains_key(&*entry.file_name().to_string_lossy()) {
            files::remove(&entry.path())?;
        }
    }
    for (name, object) in wanted {
        files::write_if_changed(&texts.join(name), &object.text)?;
    }
    Ok(())
}

/// What the library in OUT_DIR was made from.
#[derive(Serialize, Deserialize, Default)]
pub(crate) struct State {
    /// The keys of its objects, in order.
    keys: Vec<String>,
    /// The hash of the library.
    library: String,
    /// What the compiler and the AD tool said, and the places that it is about.
    messages: Vec<u8>,
    places: String,
    /// What each object was made from, by its name.
    pub recipes: BTreeMap<String, String>,
}

impl State {
    fn path(out: &Path) -> std::path::PathBuf {
        out.join("farfel.state")
    }

    /// What was written last; nothing where that is damaged.
    pub(crate) fn read(out: &Path) -> State {
        fs::read(State::path(out))
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    /// Is the library made from these objects, and what it was? Then adds what was said when
    /// they were made.
    pub(crate) fn holds(
        &self,
        keys: &[Key],
        library: &Path,
        objects: &Objects,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> bool {
        if !self
            .keys
            .iter()
            .map(String::as_str)
            .eq(keys.iter().map(Key::hex))
        {
            return false;
        }
        if hash(library).is_none_or(|h| h != self.library) {
            return false;
        }
        match objects.recall(&self.messages, &self.places) {
            Some(said) => {
                diagnostics.extend(said);
                true
            }
            None => false,
        }
    }

    /// Notes what the library is made from, after it has been made. `said` is what was said
    /// since `objects` were known.
    pub(crate) fn write(
        out: &Path,
        keys: &[Key],
        library: &Path,
        objects: &Objects,
        said: &[Diagnostic],
    ) -> Result<(), Error> {
        let (messages, places) = objects.remember(said);
        let state = State {
            keys: keys.iter().map(Key::hex).collect(),
            library: hash(library).unwrap_or_default(),
            messages,
            places,
            recipes: objects
                .groups
                .iter()
                .zip(keys)
                .map(|(g, k)| (g.name.clone(), k.recipe().to_owned()))
                .collect(),
        };
        let bytes = serde_json::to_vec(&state).unwrap_or_default();
        files::write_if_changed(&State::path(out), &bytes)?;
        Ok(())
    }
}

fn hash(file: &Path) -> Option<String> {
    Some(blake3::hash(&fs::read(file).ok()?).to_hex().to_string())
}
