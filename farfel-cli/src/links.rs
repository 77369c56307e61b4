//! Links from generated files to the sources.

use std::path::{Component, Path, PathBuf};

use farfel_driver::graph::Graph;

/// Links the nodes of a graph that is written to `out`, or to standard output, to their sources. File names
/// are relative to `root`. Names without a file, such as derivatives from the settings, get no link.
pub fn to_sources(graph: &mut Graph, root: &Path, out: Option<&Path>) {
    // Standard output is usually redirected to a file in the current directory.
    let folder = out.and_then(Path::parent).unwrap_or(Path::new("."));
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let Ok(folder) = folder.canonicalize() else {
        return;
    };
    graph.link(|name| {
        let file = root.join(name);
        match file.is_file() {
            true => relative(&folder, &file.canonicalize().ok()?),
            false => None,
        }
    });
}

/// Returns the address of a file relative to the folder of a page. Both are absolute. `None` if there is no
/// path from one to the other, as between two drives.
fn relative(folder: &Path, file: &Path) -> Option<String> {
    let (from, to): (Vec<Component>, Vec<Component>) =
        (folder.components().collect(), file.components().collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    if shared == 0 {
        return None;
    }
    let up = from[shared..].iter().map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(to[shared..].iter().copied()).collect();
    let parts = way.components().map(|part| encoded(part.as_os_str()));
    Some(parts.collect::<Vec<String>>().join("/"))
}

/// Encodes a path component for a URL: characters with a meaning become `%XX`.
fn encoded(part: &std::ffi::OsStr) -> String {
    let mut out = String::new();
    for byte in part.as_encoded_bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' => out.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => out.push(char::from(*byte)),
            byte => out += &format!("%{byte:02X}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_from_pages_to_sources() {
        for (folder, file, way) in [
            ("/p", "/p/a.f", "a.f"),
            ("/p/out", "/p/src/a.f", "../src/a.f"),
            ("/q/out", "/p/a.f", "../../p/a.f"),
            (
                "/p",
                "/p/javascript:x/\"<é>#?%.f",
                "javascript%3Ax/%22%3C%C3%A9%3E%23%3F%25.f",
            ),
        ] {
            let found = relative(Path::new(folder), Path::new(file));
            assert_eq!(found.as_deref(), Some(way));
        }
    }
}
