//! Where the cache is when nobody says so.

use std::ffi::OsString;
use std::path::PathBuf;

/// `farfel` in the user's directory for caches; none if the user has no home.
pub(super) fn directory() -> Option<PathBuf> {
    choose(&|name| std::env::var_os(name), std::env::home_dir())
}

fn choose(variable: &dyn Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> Option<PathBuf> {
    // Relative ones do not count: the XDG specification says so, and a cache that is
    // elsewhere for each working directory is none.
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
