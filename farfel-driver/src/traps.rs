//! Floating-point exceptions as errors: `float-errors` in the settings.
//!
//! The processor records invalid operations in sticky flags. The `bind(C)` subroutine clears the flags before
//! it calls a subprogram, tests them afterwards, and ends the call if one is set. gfortran restores the
//! caller's own flags. Hence this reports that a number went bad, but not where: nothing stops at the
//! operation, and operations in Rust closures count, too.

use crate::border::WrapperStatements;
use crate::config::Trap;
use crate::support::Ending;

impl Trap {
    /// Returns the flag's name in the module IEEE_EXCEPTIONS.
    fn flag(self) -> &'static str {
        match self {
            Trap::Invalid => "IEEE_INVALID",
            Trap::Zero => "IEEE_DIVIDE_BY_ZERO",
            Trap::Overflow => "IEEE_OVERFLOW",
            Trap::Underflow => "IEEE_UNDERFLOW",
        }
    }

    /// Returns the description for people.
    fn description(self) -> &'static str {
        match self {
            Trap::Invalid => "an invalid operation",
            Trap::Zero => "a division by zero",
            Trap::Overflow => "an overflow",
            Trap::Underflow => "an underflow",
        }
    }
}

/// Returns the statements around the call of a subprogram that is defined at a place.
pub(crate) fn around(traps: &[Trap], place: &str) -> WrapperStatements {
    let mut made = WrapperStatements::default();
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
        let end = Ending::Float.call(
            "0",
            &format!("'{}'", trap.description()),
            &format!("'{place}'"),
        );
        made.after.push(format!("IF (FARFEL_UP) {end}"));
    }
    made
}
