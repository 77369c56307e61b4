//! Writes the static library.

use crate::plan::objects::{BuildTools, Object};
use crate::{Error, files};
use ar_archive_writer::{
    ArchiveKind, DEFAULT_OBJECT_READER, NewArchiveMember, write_archive_to_stream,
};
use std::io::Cursor;
use std::path::Path;

/// Writes the static library of the objects atomically, in the format of the given target. Returns its
/// contents.
///
/// The system's archivers are not used: they disagree about what belongs in an archive, and there may be none
/// where only rustc's linker is installed.
pub(crate) fn write(
    objects: &[&Object],
    tools: &BuildTools,
    library: &Path,
    target: &str,
) -> Result<Vec<u8>, Error> {
    let mut members: Vec<(String, &[u8])> = objects
        .iter()
        .map(|o| (format!("{}.o", o.name), &o.code[..]))
        .collect();
    let stack = match objects.iter().any(|o| o.about.needs_stack) {
        true => (tools.stack)()?,
        false => Vec::new(),
    };
    for (i, code) in stack.iter().enumerate() {
        members.push((format!("farfel-stack{i}.o"), code));
    }
    let bytes = archive(members, kind(target)).map_err(|e| Error::Command {
        command: format!("archiving {}", library.display()),
        reason: e.to_string(),
    })?;
    files::write_if_changed(library, &bytes)?;
    Ok(bytes)
}

/// Returns an archive of files with these names and contents, without time, owner or path.
fn archive(members: Vec<(String, &[u8])>, kind: ArchiveKind) -> std::io::Result<Vec<u8>> {
    let members: Vec<NewArchiveMember> = members
        .into_iter()
        .map(|(name, code)| NewArchiveMember::new(code, &DEFAULT_OBJECT_READER, name))
        .collect();
    let mut bytes = Cursor::new(Vec::new());
    write_archive_to_stream(&mut bytes, &members, kind, false, None)?;
    Ok(bytes.into_inner())
}

/// Returns the format that the linkers of a target read.
fn kind(target: &str) -> ArchiveKind {
    match target {
        t if t.contains("-apple-") => ArchiveKind::Darwin,
        t if t.ends_with("-windows-msvc") => ArchiveKind::Coff,
        t if t.ends_with("-aix") => ArchiveKind::AixBig,
        _ => ArchiveKind::Gnu,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_target_has_its_kind() {
        for (target, expected) in [
            ("x86_64-unknown-linux-gnu", ArchiveKind::Gnu),
            ("x86_64-pc-windows-gnu", ArchiveKind::Gnu),
            ("x86_64-pc-windows-msvc", ArchiveKind::Coff),
            ("aarch64-apple-darwin", ArchiveKind::Darwin),
            ("powerpc64-ibm-aix", ArchiveKind::AixBig),
            ("", ArchiveKind::Gnu),
        ] {
            assert_eq!(kind(target), expected, "{target}");
        }
    }

    #[test]
    fn an_archive_of_nothing() {
        let bytes = archive(Vec::new(), ArchiveKind::Gnu).unwrap();
        assert_eq!(bytes, b"!<arch>\n");
        let bytes = archive(Vec::new(), ArchiveKind::Darwin).unwrap();
        assert!(bytes.starts_with(b"!<arch>\n"));
    }

    /// A member that is not an object has no symbols and does no harm.
    #[test]
    fn whatever_the_members_are() {
        let name = "a-name-that-is-longer-than-sixteen.o".to_owned();
        for code in [&b""[..], b"abc", b"\x7fELF", &[0xff; 200]] {
            for kind in [ArchiveKind::Gnu, ArchiveKind::Darwin, ArchiveKind::Coff] {
                if let Ok(bytes) = archive(vec![(name.clone(), code)], kind) {
                    let found = bytes.windows(code.len().max(1)).any(|w| w == code);
                    assert!(found || code.is_empty(), "{kind:?} {code:?}");
                }
            }
        }
    }
}
