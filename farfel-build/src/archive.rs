//! The static library.

use crate::names::Names;
use crate::plan::objects::{Means, Object};
use crate::{Error, files};
use std::fs;
use std::path::Path;

/// Makes the static library of the objects on the shelf, with the archiver that cc knows for
/// the target, whole or not at all.
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
    archive.objects(objects.iter().filter_map(|o| means.shelf.object(&o.name)));
    if objects.iter().any(|o| o.about.needs_stack) {
        for (i, code) in (means.stack)()?.iter().enumerate() {
            let path = scratch.path().join(format!("farfel-stack{i}.o"));
            files::write_if_changed(&path, code)?;
            archive.object(path);
        }
    }
    archive
        .try_compile(&names.library())
        .map_err(|e| Error::Command {
            command: format!("archiving {}", library.display()),
            reason: e.to_string(),
        })?;
    let made = scratch.path().join(format!("lib{}.a", names.library()));
    fs::rename(&made, library).map_err(Error::io(library))
}
