//! `farfel cache`.

use std::fmt::Write;

use farfel_driver::cache::{self, Stats};
use farfel_driver::{CacheSettings, Config};

use crate::args::CacheAction;
use crate::error::{Error, Result};
use crate::manifest;
use crate::shell::Shell;

/// Shows, verifies or shrinks the cache.
pub fn run(action: &CacheAction, shell: &mut Shell) -> Result {
    let settings = settings()?;
    match action {
        CacheAction::Stats => {
            let stats = cache::stats(&settings)?;
            shell
                .out(&table(&stats))
                .map_err(|e| Error::invalid(format!("cannot write to standard output: {e}")))
        }
        CacheAction::Verify => {
            let found = cache::verify(&settings)?;
            if found.removed > 0 {
                shell.warn(format_args!(
                    "{} damaged and removed; builds make them again",
                    was(found.removed)
                ));
            }
            shell.status("Verified", entries(found.good));
            Ok(())
        }
        CacheAction::Gc { max_size } => {
            let settings = CacheSettings {
                max_size: max_size.unwrap_or(settings.max_size),
                ..settings
            };
            match cache::gc(&settings)? {
                Some(done) => shell.status(
                    "Removed",
                    format_args!(
                        "{}, {}; {}, {} left",
                        entries(done.removed),
                        size(done.removed_bytes),
                        entries(done.left),
                        size(done.left_bytes)
                    ),
                ),
                None => shell.note("another process is collecting at this moment"),
            }
            Ok(())
        }
        CacheAction::Clear => {
            let done = cache::clear(&settings)?;
            shell.status(
                "Removed",
                format_args!("{}, {}", entries(done.removed), size(done.removed_bytes)),
            );
            Ok(())
        }
    }
}

/// Returns the cache settings of the project in the current directory, or else those of the environment.
fn settings() -> Result<CacheSettings> {
    let dir = manifest::manifest_dir(None).unwrap_or_else(|_| ".".into());
    Ok(Config::load(&dir)?.cache)
}

fn table(stats: &Stats) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:>9}  {value}");
    };
    row("directory", &stats.directory.display().to_string());
    row("entries", &stats.entries.to_string());
    row(
        "size",
        &format!("{} of {}", size(stats.bytes), size(stats.bound)),
    );
    if let Some(remote) = &stats.remote {
        row("remote", remote);
    }
    if !stats.enabled {
        row("in use", "no: the settings have it off");
    }
    let width = stats.kinds.keys().map(String::len).max().unwrap_or(0);
    let mut name = "hits";
    for (kind, counts) in &stats.kinds {
        let all = counts.hits.saturating_add(counts.misses);
        if all > 0 {
            let percent = u128::from(counts.hits) * 100 / u128::from(all);
            row(
                name,
                &format!("{kind:width$}  {} of {all}, {percent} %", counts.hits),
            );
            name = "";
        }
    }
    text
}

fn entries(n: u64) -> String {
    match n {
        1 => "1 entry".into(),
        n => format!("{n} entries"),
    }
}

fn was(n: u64) -> String {
    match n {
        1 => "1 entry was".into(),
        n => format!("{n} entries were"),
    }
}

/// Formats a number of bytes in a suitable unit.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    let mut tenths = u128::from(bytes) * 10;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} bytes"),
        _ => format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_in_their_units() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (5 << 30, "5.0 GiB"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
