//! The static library.

use crate::names::Names;
use crate::plan::objects::{Means, Object};
use crate::process::{self, Limits};
use crate::{Error, files};
use std::fs;
use std::path::{Path, PathBuf};

/// How many files are put into an archive by one run of the archiver.
const MOST_MEMBERS: usize = 2000;

/// Makes the static library of the objects on the shelf, with the archiver that cc knows for
/// the target, whole or not at all.
pub(crate) fn write(
    objects: &[Object],
    means: &Means,
    library: &Path,
    names: &Names,
) -> Result<(), Error> {
    // Not beside the library: an archiver that finds its disk full may say nothing of it.
    let scratch = files::Scratch::new()?;
    let failed = |reason: String| Error::Command {
        command: format!("archiving {}", library.display()),
        reason,
    };
    let mut members: Vec<PathBuf> = objects
        .iter()
        .filter_map(|o| means.shelf.object(&o.name))
        .collect();
    if objects.iter().any(|o| o.about.needs_stack) {
        for (i, code) in (means.stack)()?.iter().enumerate() {
            let path = scratch.path().join(format!("farfel-stack{i}.o"));
            files::write_if_changed(&path, code)?;
            members.push(path);
        }
    }
    let made = scratch.path().join(format!("lib{}.a", names.library()));
    // One run over all of them where cc would make several, each of which reads what those
    // before have written. A command line has its limits.
    for some in members.chunks(MOST_MEMBERS) {
        let mut archiver = cc::Build::new()
            .cargo_metadata(false)
            .try_get_archiver()
            .map_err(|e| failed(e.to_string()))?;
        archiver
            .env("ZERO_AR_DATE", "1")
            .arg("qcs")
            .arg(&made)
            .args(some);
        let ran =
            process::run(&mut archiver, &Limits::COMPILER).map_err(|e| failed(e.to_string()))?;
        if !ran.status.success() {
            return Err(failed(format!(
                "{}\n{}",
                ran.status,
                String::from_utf8_lossy(&ran.stderr)
            )));
        }
    }
    if members.is_empty() {
        // An archive of nothing.
        fs::write(&made, b"!<arch>\n").map_err(Error::io(&made))?;
    }
    let mut bytes = fs::read(&made).map_err(Error::io(&made))?;
    forget(&mut bytes);
    files::write_if_changed(library, &bytes)?;
    Ok(())
}

/// Removes from an archive who made it when: not every archiver leaves that out.
fn forget(archive: &mut [u8]) {
    const START: usize = b"!<arch>\n".len();
    const HEADER: usize = 60;
    let mut at = START;
    while let Some(header) = archive.get_mut(at..at + HEADER) {
        // Where it ends is not known, so nothing more is.
        let size = str::from_utf8(&header[48..58])
            .ok()
            .and_then(|s| s.trim().parse::<usize>().ok());
        let (Some(size), b"`\n") = (size, &header[58..]) else {
            return;
        };
        // Time, owner and group, then the mode, each with blanks after it. Tables of the
        // archive itself may have no owner.
        for (field, value) in [
            (16..28, &b"0"[..]),
            (28..34, b"0"),
            (34..40, b"0"),
            (40..48, b"644"),
        ] {
            let field = &mut header[field];
            if field[0] != b' ' {
                field.fill(b' ');
                field[..value.len()].copy_from_slice(value);
            }
        }
        at = at
            .saturating_add(HEADER)
            .saturating_add(size)
            .saturating_add(size % 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_made_it_when_is_forgotten() {
        let member = |name: &str, about: &str, content: &str| {
            let size = content.len();
            let pad = &"\n"[..size % 2];
            format!("{name:<16}{about:<32}{size:<10}`\n{content}{pad}")
        };
        let archive = |about: &str| {
            let table = member("//", "", "a-long-name.o/\n");
            let one = member("/0", about, "abc");
            let other = member("b.o/", about, "1234567890  501   20    100600  ");
            format!("!<arch>\n{table}{one}{other}").into_bytes()
        };
        let mut made = archive("1234567890  501   20    100600  ");
        forget(&mut made);
        let expected = archive("0           0     0     644     ");
        assert_eq!(String::from_utf8(made), String::from_utf8(expected));
        // Whatever it gets, it stays within it.
        for bytes in [
            &b""[..],
            b"!<arch>\n",
            b"!<thin>\nxyz",
            &[b' '; 200],
            &[b'9'; 200],
        ] {
            let mut copy = bytes.to_vec();
            forget(&mut copy);
            assert_eq!(copy, bytes);
        }
    }
}
