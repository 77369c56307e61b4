//! The memory of generated code: `programs/peak.c` counts the bytes that it has on the heap.

use crate::Error;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Command;

/// The memory of compiled code can be counted: the assembler is GNU's.
pub const IS_COUNTED: bool = cfg!(target_os = "linux");

/// How many bytes more than its tapes an adjoint may have on the heap: the system rounds sizes.
pub const ALLOWANCE: f64 = 1024.0;

/// Gives the names of the C library's functions another meaning in the assembler's input.
const COUNTING: &str = "\t.set malloc, peak_malloc\n\t.set calloc, peak_calloc\n\t.set realloc, peak_realloc\n\t.set free, peak_free\n";

/// Compiles `peak.c` to a file whose name begins with `stem`, and returns the compiler's arguments for a program whose
/// memory it counts, between `CALL PEAKST` and `PEAKRD()`, which returns the peak in bytes: 0 if it is not counted.
///
/// # Errors
///
/// If the file cannot be written, or the C compiler rejects `peak.c`.
pub fn counting(stem: &Path) -> Result<Vec<OsString>, Error> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/peak.c");
    let [object, first] = ["o", "s"].map(|e| stem.with_extension(e));
    let failed = |program: &Path, source: io::Error| Error::Io {
        program: program.to_owned(),
        source,
    };
    let cc = Path::new("cc");
    let made = (Command::new(cc).args(["-O2", "-c"]))
        .arg(&source)
        .arg("-o")
        .arg(&object)
        .output()
        .map_err(|e| failed(cc, e))?;
    if !made.status.success() {
        return Err(Error::Failed {
            program: cc.to_owned(),
            status: made.status,
            stderr: String::from_utf8_lossy(&made.stderr).into_owned(),
        });
    }
    if !IS_COUNTED {
        return Ok(vec![object.into()]);
    }
    std::fs::write(&first, COUNTING).map_err(|e| failed(&first, e))?;
    Ok(vec!["-Xassembler".into(), first.into(), object.into()])
}
