//! The default location of the cache.

use std::ffi::OsString;
use std::path::PathBuf;

/// Returns `farfel` in the user's cache directory; `None` if the user has no home directory.
pub(super) fn directory() -> Option<PathBuf> {
    choose(&|name| std::env::var_os(name), std::env::home_dir())
}

fn choose(variable: &dyn Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> Option<PathBuf> {
    // Relative paths are ignored, as the XDG specification demands: a cache that depends on the working
    // directory is useless.
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let named = |name| variable(name).map(PathBuf::from).and_then(absolute);
    let home = || home.clone().and_then(absolute);
    let base = if cfg!(windows) {
        named("LOCALAPPDATA").or_else(|| home().map(|home| home.join("AppData").join("Local")))
    } else if cfg!(target_os = "macos") {
        named("XDG_CACHE_HOME").or_else(|| home().map(|home| home.join("Library/Caches")))
    } else {
        named("XDG_CACHE_HOME").or_else(|| home().map(|home| home.join(".cache")))
    }?;
    Some(base.join("farfel"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_environment_then_the_home_directory() {
        let home = || Some(PathBuf::from("/h"));
        let xdg = |value: &'static str| {
            move |name: &str| (name == "XDG_CACHE_HOME").then(|| OsString::from(value))
        };
        assert_eq!(
            choose(&xdg("/x"), home()).as_deref(),
            Some(Path::new("/x/farfel"))
        );
        let by_home = if cfg!(target_os = "macos") {
            Path::new("/h/Library/Caches/farfel")
        } else {
            Path::new("/h/.cache/farfel")
        };
        assert_eq!(choose(&xdg("x"), home()).as_deref(), Some(by_home));
        assert_eq!(choose(&|_| None, home()).as_deref(), Some(by_home));
        assert_eq!(choose(&|_| None, None), None);
    }
}
