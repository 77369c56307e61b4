//! Floating-point exceptions as errors: `float-errors` in the settings.
//!
//! The processor remembers in flags that an operation had no result. The `bind(C)` subroutine puts the flags down before it calls a
//! subprogram, looks at them behind, and ends the call where one is up. gfortran gives the caller its own flags back. So
//! this tells of numbers that went bad, and not where: nothing stops at the operation, and what closures of Rust do counts, too.

use crate::border::Around;
use crate::config::Trap;
use crate::support::Ending;

impl Trap {
    /// The flag in the module IEEE_EXCEPTIONS.
    fn flag(self) -> &'static str {
        match self {
            Trap::Invalid => "IEEE_INVALID",
            Trap::Zero => "IEEE_DIVIDE_BY_ZERO",
            Trap::Overflow => "IEEE_OVERFLOW",
            Trap::Underflow => "IEEE_UNDERFLOW",
        }
    }

    /// For people.
    fn said(self) -> &'static str {
        match self {
            Trap::Invalid => "an invalid operation",
            Trap::Zero => "a division by zero",
            Trap::Overflow => "an overflow",
            Trap::Underflow => "an underflow",
        }
    }
}

/// What stands around the call of a subprogram that is defined at a place.
pub(crate) fn around(traps: &[Trap], place: &str) -> Around {
    let mut made = Around::default();
    if traps.is_empty() {
        return made;
    }
    let numbered = || traps.iter().zip(1..);
    let flags = numbered().map(|(t, n)| format!("FARFEL_FLAG{n} => {}", t.flag()));
    made.uses.push(format!(
        "USE, INTRINSIC :: IEEE_EXCEPTIONS, ONLY: FARFEL_SET => IEEE_SET_FLAG, FARFEL_GET => IEEE_GET_FLAG, {}",
        flags.collect::<Vec<_>>().join(", ")
    ));
    made.declarations.push("LOGICAL FARFEL_UP".into());
    let place = place.replace('\'', "''");
    for (trap, n) in numbered() {
        made.before
            .push(format!("CALL FARFEL_SET(FARFEL_FLAG{n}, .FALSE.)"));
        made.after
            .push(format!("CALL FARFEL_GET(FARFEL_FLAG{n}, FARFEL_UP)"));
        let end = Ending::Float.call("0", &format!("'{}'", trap.said()), &format!("'{place}'"));
        made.after.push(format!("IF (FARFEL_UP) {end}"));
    }
    made
}
